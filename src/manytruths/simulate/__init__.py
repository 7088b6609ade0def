"""Phantoms with a known truth, and raters with known faults.

Nothing here was drawn by a person, so every estimate of the library can be held against what is true:
the outline of each lesion, how far each rater draws outside it, how often each one misses a lesion.
"""

from .phantoms import GROUPS, Lesion, Phantom, phantom
from .raters import Marking, SimulatedRater
from .studies import SimulatedCase, SimulatedStudy, simulate_study

__all__ = [
    "GROUPS",
    "Lesion",
    "Marking",
    "Phantom",
    "SimulatedCase",
    "SimulatedRater",
    "SimulatedStudy",
    "phantom",
    "simulate_study",
]

"""Phantoms with a known truth, and raters with known faults or none.

Nothing here was drawn by a person, so every estimate of the library can be held against what is true:
the outline of each lesion, how far each rater draws outside it, how often each one misses a lesion; or, in a
contrast echo, the muscle that five raters draw differently because the image leaves it open.
"""

from .echo import EchoFrame, EchoStudy, simulate_echo
from .echo_raters import ECHO_RATERS, EchoRater
from .phantoms import GROUPS, Lesion, Phantom, phantom
from .raters import Marking, SimulatedRater
from .studies import SimulatedCase, SimulatedStudy, simulate_study

__all__ = [
    "ECHO_RATERS",
    "GROUPS",
    "EchoFrame",
    "EchoRater",
    "EchoStudy",
    "Lesion",
    "Marking",
    "Phantom",
    "SimulatedCase",
    "SimulatedRater",
    "SimulatedStudy",
    "phantom",
    "simulate_echo",
    "simulate_study",
]

"""Simulated studies with a known truth, and raters with known faults or none.

Every estimate of the library can be compared with what is true: the outline of each lesion, how far each rater draws
outside it, how often each one misses a lesion; or, in a contrast echo, the muscle that five raters draw differently
because the image leaves it open.
"""

from .echo import ECHO_RATERS, EchoFrame, EchoRater, EchoStudy, simulate_echo
from .phantoms import GROUPS, Lesion, Phantom, phantom
from .studies import Marking, SimulatedCase, SimulatedRater, SimulatedStudy, simulate_study

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

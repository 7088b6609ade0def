"""Where an algorithm stands beside the raters, in words that are no surer than the intervals.

A verdict goes by differences from each rater on the same cases. It is certain where the intervals of these differences
say the same; where they do not, the words say what else they leave open.
"""

from __future__ import annotations

import math

from ...analyses.evaluate.human_range import HumanRange
from ...analyses.printing import number

PLACES = {"above": "better than every rater", "below": "worse than every rater", "inside": "among the raters"}
PAIRED = (
    "Verdicts go by differences from each rater on the same cases, not by comparing the means: an algorithm whose mean "
    "lies outside the raters' means can still be among them."
)


SHORT = {"above": "better", "inside": "among them", "below": "worse"}
LONG = {"above": "better than all of them", "inside": "among them", "below": "worse than all of them"}
UNSURE = " (too few cases to be sure)"


def verdict_words(human: HumanRange, algorithm: str) -> str:
    """``among the raters, or better``."""
    verdict = human.verdict(algorithm)
    if not verdict:
        return "no verdict"
    open_ = "".join(f", or {SHORT[other]}" for other in _others(human, algorithm))
    return PLACES[verdict] + (UNSURE if human.certain(algorithm) is None else open_)


def _others(human: HumanRange, algorithm: str) -> list[str]:
    """Which other verdicts the intervals of the differences leave open; none where the verdict is certain."""
    apart = [d for d in human.differences[algorithm].values() if not math.isnan(d.value)]
    better, worse = [d.low > 0 for d in apart], [d.high < 0 for d in apart]
    possible = {
        "above": not any(worse),
        "inside": not all(better) and not all(worse),
        "below": not any(better),
    }
    return [place for place, left in possible.items() if left and place != human.verdict(algorithm)]


def place_words(human: HumanRange, algorithm: str, mean: float, *, first: bool = True) -> str:
    """To follow a mean: ``within the raters' own range 0.46–0.73, though it may be better than all of them``."""
    verdict = human.verdict(algorithm)
    if not verdict:
        return "without a verdict"
    raters = f"raters' own range {range_words(human, 2)}" if first else "raters' range"
    place = f"within the {raters}"
    # as they are shown: 0.731 is within 0.46–0.73
    if verdict != "inside" or not round(human.low, 2) <= round(mean, 2) <= round(human.high, 2):
        place = f"{PLACES[verdict]} on the same cases" + (f" ({raters})" if first else "")
    left = " or ".join(LONG[other] for other in _others(human, algorithm))
    unsure = human.certain(algorithm) is None
    return place + (UNSURE if unsure else f", though it may be {left}" if left else "")


def range_words(human: HumanRange, digits: int) -> str:
    """``0.46–0.73``, the lowest and the highest of the raters' own means."""
    return "–" if math.isnan(human.low) else f"{number(human.low, digits)}–{number(human.high, digits)}"

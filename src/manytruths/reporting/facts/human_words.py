"""Where an algorithm stands beside the raters, in words that are no surer than the intervals.

What is measured is how closely an algorithm and each rater agree with the same judges, mostly the other raters, and not
who is right. A verdict goes by differences from each rater on the same cases. It is certain where the intervals of
these differences say the same; where they do not, the words say what else they leave open.
"""

from __future__ import annotations

import math

from ...analyses.evaluate.human_range import OTHERS, HumanRange
from ...analyses.evaluate.notes import ONE_MORE
from ...analyses.plan.topics import word
from ...analyses.printing import number
from ...core.notes import code_of
from ..findings import Findings

INSIDE = "among the raters"
PLACES = {
    "above": "agreeing with the raters more closely than any of them does with the others",
    "below": "agreeing with the raters less closely than any of them does with the others",
    "inside": f"{INSIDE} on the same cases",
}
"""To follow a mean."""
OPEN = {
    "above": "agree more closely than any of them",
    "inside": "lie among them",
    "below": "agree less closely than any of them",
}
SHORT_PLACES = {"above": "closer", "inside": "among them", "below": "further off"}
PAIRED = (
    "Verdicts go by differences from each rater on the same cases, not by comparing the means: an algorithm whose mean "
    "lies outside the raters' means can still be among them."
)
UNSURE = " (too few cases to be sure)"
"""How the note starts that says how often a rater would lie outside as well."""


def verdict_text(human: HumanRange, algorithm: str) -> str:
    """``among the raters, or closer``; closer to whom they are judged by."""
    verdict = human.verdict(algorithm)
    if not verdict:
        return "no verdict"
    judge = "the others" if human.against == OTHERS else "it"
    texts = {"above": f"closer to {judge} than every rater", "below": f"further from {judge} than every rater"}
    left = "".join(f", or {SHORT_PLACES[other]}" for other in _open_verdicts(human, algorithm))
    return texts.get(verdict, INSIDE) + (UNSURE if human.certain(algorithm) is None else left)


def _open_verdicts(human: HumanRange, algorithm: str) -> list[str]:
    """Which other verdicts the intervals of the differences leave open; none where the verdict is certain."""
    apart = [d for d in human.differences[algorithm].values() if not math.isnan(d.value)]
    better, worse = [d.low > 0 for d in apart], [d.high < 0 for d in apart]
    possible = {
        "above": not any(worse),
        "inside": not all(better) and not all(worse),
        "below": not any(better),
    }
    return [place for place, left in possible.items() if left and place != human.verdict(algorithm)]


def place_text(human: HumanRange, algorithm: str, mean: float, *, first: bool = True) -> str:
    """To follow a mean: ``within the raters' own range 0.46–0.73, though it may …``."""
    verdict = human.verdict(algorithm)
    if not verdict:
        return "without a verdict"
    raters = f"raters' own range {range_text(human, 2)}" if first else "raters' range"
    place = f"within the {raters}"
    # as they are shown: 0.731 is within 0.46–0.73
    if verdict != "inside" or not round(human.low, 2) <= round(mean, 2) <= round(human.high, 2):
        place = PLACES[verdict] + (f" ({raters})" if first else "")
    left = " or ".join(OPEN[other] for other in _open_verdicts(human, algorithm))
    unsure = human.certain(algorithm) is None
    return place + (UNSURE if unsure else f", though it may {left}" if left else "")


def one_more_rater(findings: Findings) -> str:
    """How often a further rater would lie above or below all: what a verdict must be read beside."""
    notes, raters = findings.evaluation.notes if findings.evaluation else (), len(findings.study.rater_names)
    if not any(code_of(note) == ONE_MORE for note in notes):
        return ""
    of = f"two of {word(raters + 1)} studies"
    return f"One more rater like these {word(raters)} would agree more, or less, closely than all others in about {of}."


def range_text(human: HumanRange, digits: int) -> str:
    """``0.46–0.73``, the lowest and the highest of the raters' own means."""
    return "–" if math.isnan(human.low) else f"{number(human.low, digits)}–{number(human.high, digits)}"

"""Where an algorithm stands beside the raters, in words."""

from __future__ import annotations

import math

import pytest

from manytruths.analyses.evaluate.human_range import HumanRange
from manytruths.report.facts.human_words import place_words, verdict_words
from manytruths.resampling import Interval


def human(*differences: tuple[float, float]) -> HumanRange:
    """Five raters from 0.4 to 0.8, and the intervals of an algorithm's differences from some of them."""
    made = {f"r{i}": Interval((a + b) / 2, a, b, 0.95, "bca", 12) for i, (a, b) in enumerate(differences)}
    return HumanRange("dice", "raters", {f"r{i}": 0.4 + i / 10 for i in range(5)}, {"net": made})


BETTER, WORSE, ABOVE, BELOW = (0.1, 0.3), (-0.3, -0.1), (-0.1, 0.3), (-0.3, 0.1)


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        ((BETTER, BETTER, BETTER), "better than every rater"),
        ((BETTER, BETTER, ABOVE), "better than every rater, or among them"),
        ((ABOVE, ABOVE, ABOVE), "better than every rater, or among them, or worse"),
        ((WORSE, WORSE, WORSE), "worse than every rater"),
        ((WORSE, WORSE, BELOW), "worse than every rater, or among them"),
        ((BETTER, BETTER, WORSE), "among the raters"),
        ((BETTER, BETTER, BELOW), "among the raters, or better"),
        ((WORSE, WORSE, ABOVE), "among the raters, or worse"),
        ((ABOVE, ABOVE, BELOW), "among the raters, or better, or worse"),
        (((math.nan, math.nan),) * 3, "no verdict"),
    ],
)
def test_verdicts_are_no_surer_than_the_intervals(differences: tuple[tuple[float, float], ...], words: str) -> None:
    made = human(*differences)
    assert verdict_words(made, "net") == words
    assert made.certain("net") is (None if words == "no verdict" else ", or " not in words)


def test_places_follow_the_means() -> None:
    made = human(BETTER, BETTER, BELOW)
    inside = "within the raters' own range 0.40–0.80, though it may be better than all of them"
    assert place_words(made, "net", 0.803) == inside
    outside = (
        "among the raters on the same cases (raters' own range 0.40–0.80), though it may be better than all of them"
    )
    assert place_words(made, "net", 0.85) == outside
    assert place_words(made, "net", 0.7, first=False).startswith("within the raters' range, ")

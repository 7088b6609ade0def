"""Where an algorithm stands beside the raters, in words."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from manytruths import Interval
from manytruths.analyses.evaluate.mask_scores import HumanRange
from manytruths.reporting.sections.algorithm_scores import place_text, verdict_text


def human(*differences: tuple[float, float]) -> HumanRange:
    """Five raters from 0.4 to 0.8, and the intervals of an algorithm's differences from some of them."""
    made = {f"r{i}": Interval((a + b) / 2, a, b, 0.95, "bca", 12) for i, (a, b) in enumerate(differences)}
    return HumanRange("dice", "raters", {f"r{i}": 0.4 + i / 10 for i in range(5)}, {"net": made})


BETTER, WORSE, ABOVE, BELOW = (0.1, 0.3), (-0.3, -0.1), (-0.1, 0.3), (-0.3, 0.1)


@pytest.mark.parametrize(
    ("differences", "words"),
    [
        ((BETTER, BETTER, BETTER), "closer to the others than every rater"),
        ((BETTER, BETTER, ABOVE), "closer to the others than every rater, or among them"),
        ((ABOVE, ABOVE, ABOVE), "closer to the others than every rater, or among them, or further off"),
        ((WORSE, WORSE, WORSE), "further from the others than every rater"),
        ((WORSE, WORSE, BELOW), "further from the others than every rater, or among them"),
        ((BETTER, BETTER, WORSE), "among the raters"),
        ((BETTER, BETTER, BELOW), "among the raters, or closer"),
        ((WORSE, WORSE, ABOVE), "among the raters, or further off"),
        ((ABOVE, ABOVE, BELOW), "among the raters, or closer, or further off"),
        (((math.nan, math.nan),) * 3, "no verdict"),
    ],
)
def test_verdicts_are_no_surer_than_the_intervals(differences: tuple[tuple[float, float], ...], words: str) -> None:
    made = human(*differences)
    assert verdict_text(made, "net") == words
    assert made.certain("net") is (None if words == "no verdict" else ", or " not in words)


def test_places_follow_the_means() -> None:
    made = human(BETTER, BETTER, BELOW)
    inside = "within the raters' own range 0.40–0.80, though it may agree more closely than any of them"
    assert place_text(made, "net", 0.803) == inside
    outside = (
        "among the raters on the same cases (raters' own range 0.40–0.80), "
        "though it may agree more closely than any of them"
    )
    assert place_text(made, "net", 0.85) == outside
    assert place_text(made, "net", 0.7, first=False).startswith("within the raters' range, ")


def test_what_is_measured_is_agreement_with_the_judges() -> None:
    best, worst = human(BETTER, BETTER, BETTER), human(WORSE, WORSE, WORSE)
    assert place_text(best, "net", 0.9).startswith("agreeing with the raters more closely than any of them does with")
    assert place_text(worst, "net", 0.1).startswith("agreeing with the raters less closely than any of them does with")
    assert verdict_text(replace(best, against="biopsy"), "net") == "closer to it than every rater"
    for words in (place_text(best, "net", 0.9), verdict_text(best, "net")):
        assert "better" not in words


def test_too_few_cases_are_said_to_be() -> None:
    few = human(*(((math.nan, math.nan),) * 3))
    known = {rater: replace(d, value=0.1) for rater, d in few.differences["net"].items()}
    few = replace(few, differences={"net": known})
    assert few.certain("net") is None
    assert place_text(few, "net", 0.9).endswith("(too few cases to be sure)")
    assert verdict_text(few, "net").endswith("(too few cases to be sure)")

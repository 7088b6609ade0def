"""The table of coverage, with fewer studies than ``make coverage`` has."""

import math
from pathlib import Path

import pytest
from tests.simulations.coverage import MARKS, WANTED, Line, all_lines, both_lines, format_line, mean_lines

FEWER = 600
"""Studies a point: the standard error of a coverage of 0.95 is 0.009."""


@pytest.mark.slow
def test_what_is_promised_covers():
    found = list(all_lines(FEWER))
    assert {"mean Dice", "mean kappa", "paired differences", "σ", "mean Dice over `both`"} <= {
        one.quantity for one in found if one.promised
    }
    for one in found:
        if one.promised:
            assert min(c for c in one.coverage if not math.isnan(c)) > WANTED - 3 * 0.01, one


def test_means_and_both_cover_where_cases_alone_do_not():
    means = {(one.quantity, one.model): one for one in mean_lines(300)}
    assert min(means["mean Dice", "beta(8, 2), mean 0.80"].coverage) > 0.89
    assert min(c for one in means.values() if "failures" in one.quantity for c in one.coverage) < 0.8
    of_both, alone = list(both_lines(60))[2:4]
    assert min(of_both.coverage) > 0.8 > max(alone.coverage) - 0.1
    assert alone.coverage[2] < 0.6


def test_the_page_has_the_table():
    page = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text(encoding="utf-8")
    text = page.partition(MARKS[0])[2].partition(MARKS[1])[0]
    for quantity in (
        "mean Dice",
        "mean kappa",
        "paired differences",
        "σ",
        "ρ, accuracies by the reference",
        "pooled Dice",
        "smallest detectable change, as a factor",
        "ICC(A,1)",
        "ratio to the sizes of a given reference",
        "FROC score",
        "agreement within a group of raters",
        "difference of two groups of raters",
        "ordinal alpha",
        "share of decisions",
    ):
        assert f"| {quantity} |" in text


def test_lines_say_where_there_is_no_interval():
    one = Line("pooled Dice", "a model", (math.nan, 0.5, 0.95), (1.0, 0.25, 0.0))
    assert format_line(one) == "| pooled Dice | a model | no interval | 0.500 (25% without) | 0.950 |"

"""Sentences about raters: none contradicts another, and each says what its number rests on."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.core.undefined import code

SIZE = 64
Y, X = np.mgrid[:SIZE, :SIZE]


def disc(pixels, y=32.0, x=32.0):
    return ((Y - y) ** 2 + (X - x) ** 2 < pixels / np.pi).astype(np.uint8)


def discs(sizes, cases=12, seed=0):
    """A disc a case for every rater, of the size given, with errors of size and place."""
    rng = np.random.default_rng(seed)
    return {
        f"p{k:02}": {r: disc(size * rng.lognormal(0, 0.05), *rng.normal(32, 0.4, 2)) for r, size in sizes.items()}
        for k in range(cases)
    }


def half_discs(cases, rater, seed=1):
    """The cases with half of what a rater marked left out, on another side each time."""
    rng = np.random.default_rng(seed)
    for masks in cases.values():
        angle = rng.uniform(0, 2 * np.pi)
        masks[rater] = masks[rater] * (np.cos(angle) * (Y - 32) + np.sin(angle) * (X - 32) < 2)
    return cases


def agreed(cases, **options):
    return mt.agree(mt.Study.from_arrays(cases, **options), pictures=False)


def made(result, *ids):
    return [claim.text for claim in result.claims.of(*ids).made]


def test_an_outlier_is_not_denied_where_no_case_was_read_by_all():
    cases = half_discs(discs(dict.fromkeys("ABCDE", 600), 20), "E")
    for k, masks in enumerate(cases.values()):
        del masks["ABCD"[k % 4]]
    result = agreed(cases)
    (outlier,) = made(result, "raters.outlier")
    assert outlier.startswith("Rater E is an outlier: over 20 cases, ")
    (design,) = made(result, "raters.different_cases")
    assert design.startswith("No case was read by all raters (no mask of ")
    assert design.endswith(
        "): raters are compared within the cases that they share, so that nobody gains by leaving out a hard one; "
        "pooled Dice distances are of different cases for different pairs."
    )


def test_the_distance_of_an_outlier_is_not_said_to_be_over_the_cases_that_all_read():
    cases = half_discs(discs(dict.fromkeys("ABCDE", 600), 16), "E")
    for masks in list(cases.values())[:4]:
        del masks["A"]
    result = agreed(cases)
    assert result.tables["raters"].find("excess_distance", "mean", rater="E").n == 16
    assert result.tables["raters"].find("mean_difference", "pooled", rater="E").n == 12
    (outlier,) = made(result, "raters.outlier")
    assert "over 16 cases, their mean Dice distance" in outlier
    assert "with all cases pooled, they miss" in outlier
    (design,) = made(result, "raters.different_cases")
    assert "raters are compared within the cases that they share" in design
    assert design.endswith("pooled Dice distances are over the twelve cases that all of them read.")


def test_who_draws_larger_than_most_is_not_given_a_ratio_below_one():
    # C draws larger than A and B, and far smaller than D, beside whom C is below the mean of the others
    result = agreed(discs({"A": 300, "B": 300, "C": 400, "D": 1800}))
    texts = {claim.about: claim.text for claim in result.claims.of("raters.larger").made}
    assert result.tables["raters"].find("relative_size", "mean", rater="C").value < 1
    assert texts["C"] == "Rater C draws larger than A and B."
    assert "times the size of the others (geometric mean over them and cases)" in texts["D"]


def test_a_ratio_to_all_others_is_called_so_where_some_of_them_are_named():
    rng = np.random.default_rng(3)
    cases = discs({"A": 300, "B": 300, "C": 300, "E": 600})
    for masks in cases.values():  # as large as E, but too unlike themselves to be told apart
        masks["D"] = disc(450 * rng.lognormal(0, 0.6))
    (text,) = made(agreed(cases), "raters.larger")
    assert text.startswith("Rater E draws larger than A, B and C: ")
    assert text.endswith("times the size of all the others (geometric mean over them and cases).")


def test_shared_errors_are_said_to_be_of_all_cases_pooled():
    cases = discs(dict.fromkeys("ABCD", 600), 10)
    known = {case: {"expert": disc(600)} for case in cases}
    result = agreed(cases, references=known)
    (text,) = made(result, "raters.dependence")
    assert text.startswith("Given STAPLE's estimate of the truth from all cases pooled, the raters' errors have")
    (text,) = made(result, "raters.effective")
    assert "expert, with all cases pooled, the raters' errors have" in text


@pytest.mark.parametrize("statistic", ["sensitivity", "specificity", "ppv", "cohen_kappa"])
def test_intervals_against_the_others_end_at_one(statistic):
    table = agreed(discs(dict.fromkeys("ABC", 600), 10, seed=5)).tables["raters"]
    for rater in "ABC":
        row = table.find(f"{statistic}_against_others", "mean", rater=rater)
        assert row.low < row.value < row.high < 1, rater
        middle = (row.low + row.high) / 2
        assert middle < row.value, "on the logit or Fisher's z, the longer side is away from 1"


def test_two_raters_are_not_tested_for_want_of_raters():
    table = agreed(discs({"A": 600, "B": 640})).tables["raters"]
    for statistic in ("larger_p", "smaller_p", "outlier_p"):
        assert code(table.find(statistic, "mean", rater="A").value) == "too_few_raters_to_test", statistic
    few = agreed(discs({"A": 600, "B": 640}, 3)).tables["raters"]
    assert code(few.find("larger_p", "mean", rater="A").value) == "too_few_subjects"

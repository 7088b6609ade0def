"""Sentences about raters: none contradicts another, and each says what its number rests on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

import manytruths as mt
from manytruths.claims.masks import describe_doubts
from manytruths.claims.raters import describe_tests
from manytruths.claims.sentences import join_names, number_word, plain_text
from manytruths.core.undefined import code, reason

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
        "): tests compare raters within cases, and pooled Dice distances and Williams' index are of different cases "
        "for different pairs; every other number of a rater is over that rater's own cases, so that these numbers give "
        "no order of raters."
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
    assert "pooled Dice distances and Williams' index are over the twelve cases that all of them read; every" in design


def test_outliers_that_others_hide_are_told_in_one_tense():
    rng, y, x = np.random.default_rng(0), *np.mgrid[:60, :60]
    errors = {**dict.fromkeys("ABCDE", 0.5), "F": 1.0, "G": 2.0}
    cases = {
        f"p{i:02}": {
            r: (np.hypot(y - 30 - e * rng.normal(), x - 30 - e * rng.normal()) < 15).astype(np.uint8)
            for r, e in errors.items()
        }
        for i in range(20)
    }
    claims = {claim.about: claim for claim in agreed(cases).claims.of("raters.outlier").made}
    assert claims["F"].text.startswith("Rater F is an outlier once G is left out: ")
    assert plain_text(claims["F"].result).startswith("Rater F was an outlier once G was left out: ")


def test_half_of_the_raters_are_no_outliers():
    """Of eight raters, four err by more and more, and each is far from those who err less."""
    rng, (y, x) = np.random.default_rng(0), np.mgrid[:70, :70]
    rough = {**dict.fromkeys("ABCD", 0.8), "E": 2.2, "F": 2.6, "G": 3.2, "H": 4.0}
    cases = {
        f"p{i:02}": {
            r: (np.hypot(y - 35, x - 35) + e * 5 * gaussian_filter(rng.normal(size=y.shape), 3) < 20).astype(np.uint8)
            for r, e in rough.items()
        }
        for i in range(24)
    }
    result = agreed(cases)
    facts, claims = result.raters.facts, {claim.about: claim for claim in result.claims.of("raters.outlier")}
    assert facts.tests.outliers.p_value[4:].max() < 0.01
    assert facts.tests.outliers.step[4:].tolist() == [3, 2, 1, 0]
    assert not any(claim.made for claim in claims.values())
    assert {claims[rater].why_not.code for rater in "EFGH"} == {"no_majority"}
    assert [plain_text(sentence) for sentence in describe_tests(facts, result.claims)] == [
        "The test would call raters H, G, F and E outliers; this is not said, because one after another, half of the "
        "raters or more would be outliers."
    ]


def test_who_draws_larger_than_most_is_not_given_a_ratio_below_one():
    # C draws larger than A and B, and far smaller than D, beside whom C is below the mean of the others
    result = agreed(discs({"A": 300, "B": 300, "C": 350, "D": 700}))
    texts = {claim.about: claim.text for claim in result.claims.of("raters.larger").made}
    assert result.tables["raters"].find("relative_size", "mean", rater="C").value < 1
    start = "Rater C draws larger than A and B: the mean ratios of sizes are A to C 0.85 ("
    assert texts["C"].startswith(start)
    assert "geometric average" not in texts["C"]
    assert texts["D"].endswith(" times as large (over twelve cases).")


def test_a_ratio_to_all_others_is_called_so_where_some_of_them_are_named():
    rng = np.random.default_rng(3)
    cases = discs({"A": 300, "B": 300, "C": 300, "E": 600})
    for masks in cases.values():  # as large as E, but too unlike themselves to be told apart
        masks["D"] = disc(450 * rng.lognormal(0, 0.6))
    (text,) = made(agreed(cases), "raters.larger")
    assert text.startswith("Rater E draws larger than A, B and C: on geometric average ")
    assert text.endswith(" times as large (over twelve cases).")


def test_shared_errors_are_said_to_be_of_all_cases_pooled():
    cases = discs(dict.fromkeys("ABCD", 600), 10)
    known = {case: {"expert": disc(600)} for case in cases}
    result = agreed(cases, references=known)
    (text,) = made(result, "raters.dependence")
    assert text.startswith("Given STAPLE's estimate of the truth from all cases pooled, the raters' errors have")
    (text,) = made(result, "raters.effective")
    assert "expert, with all cases pooled, the raters' errors have" in text
    assert ": four raters are worth about " in text


def test_raters_who_seldom_read_a_case_together_are_not_said_to_be_worth_more_in_all():
    """Printed before: "three raters are worth about 1.9 raters", of whom one had read a single case."""
    cases = discs(dict.fromkeys("ABC", 600), 12)
    for case in list(cases)[1:]:
        del cases[case]["C"]
    result = agreed(cases, references={case: {"expert": disc(600)} for case in cases})
    (claim,) = result.claims.of("raters.effective").made
    where = ": in a case that all of them read (one of twelve), three raters {} worth about "
    assert where.format("are") in claim.text
    assert where.format("were") in plain_text(claim.result)


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


# -- what was tested, and what was not -------------------------------------------------------------


def told(result):
    return " ".join(plain_text(s) for s in describe_tests(result.raters.facts, result.claims))


def refusals(result, kind):
    return {claim.about: claim.why_not.code for claim in result.claims.of(kind) if not claim.made}


def mostly_empty(cases, marked):
    """The cases, of which all masks after the first so many are empty."""
    for masks in list(cases.values())[marked:]:
        for rater in masks:
            masks[rater] = masks[rater] * 0
    return cases


def test_sizes_that_could_not_be_tested_are_not_called_equal():
    result = agreed(mostly_empty(discs(dict.fromkeys("ABCD", 600)), 7))
    for kind in ("raters.larger", "raters.smaller"):
        (claim,) = result.claims.of(kind)
        assert claim.why_not.code == "too_few_shared_subjects"
        assert math.isnan(claim.p_value)
    assert (
        "who draws larger or smaller (seven cases in which both raters of a pair marked something; it takes ten)"
        in told(result)
    )
    assert "by the tests over twelve cases of who is an outlier, and whether there are two groups." in told(result)
    row = result.tables["raters"].find("larger_p", "mean", rater="A")
    assert code(row.value) == "too_few_shared_subjects"
    assert "there are 7 in which" in reason(row.value)
    low = result.tables["raters"].find("relative_size", "mean", rater="A").low
    assert (code(low), row.n) == ("too_few_subjects", 7)
    assert "there are 7 in which" in reason(low)


def test_a_rater_with_few_cases_is_said_not_to_be_tested():
    cases = discs({"A": 600, "B": 600, "C": 600, "D": 600})
    for masks in list(cases.values())[:3]:
        del masks["D"]
    result = agreed(cases)
    for kind in ("raters.outlier", "raters.larger", "raters.smaller"):
        assert refusals(result, kind)["D"] == "too_few_shared_subjects", kind
    assert refusals(result, "raters.clusters") == {"": "too_few_shared_subjects"}
    assert "Not tested: whether D is an outlier (nine cases" in told(result)
    assert "whether D draws larger or smaller (nine cases in which both raters of a pair marked something; it" in told(
        result
    )
    assert "whether there are two groups (nine cases that every two raters share; it takes ten)" in told(result)
    low = result.tables["raters"].find("excess_distance", "mean", rater="D").low
    assert "there are 9 with three raters" in reason(low)


def test_three_raters_are_not_said_to_be_tested_for_groups():
    text = told(agreed(discs(dict.fromkeys("ABC", 600))))
    assert "whether there are two groups (there are 3 raters; it takes 4)" in text
    assert "two groups" not in text.partition("Not tested")[0]


def test_half_of_the_pairs_are_no_test_of_more_than_half():
    """B, C and D never read a case together: nobody but A can be larger than more than half of the others."""
    sizes = np.full((36, 4), np.nan)
    sizes[:, 0] = 200
    for k in range(36):
        sizes[k, 1 + k % 3] = 100 + k
    tests = mt.rater_size_tests(sizes)
    assert np.isnan(tests.larger[0]).tolist() == [False, True, True, True]
    assert tests.decisive_n(0, 0) == 12
    assert tests.decisive_n(0, 1) == 0


# -- masks in doubt --------------------------------------------------------------------------------


def far_off(cases, rater):
    """The cases, in which a rater marks half on another side, and nothing in the first two."""
    cases = half_discs(cases, rater)
    for masks in list(cases.values())[:2]:
        masks[rater] = masks[rater] * 0
    return cases


def test_empty_masks_do_not_silence_an_outlier_and_are_said_to_be_lost_perhaps():
    result = agreed(far_off(discs(dict.fromkeys("ABCDE", 900), 16), "E"))
    assert {(s.kind, s.raters) for s in result.suspicions} == {("missing_marks", ("E",))}
    assert result.raters.facts.broken == ()
    (text,) = made(result, "raters.outlier")
    lost = [s.case for s in result.suspicions]
    assert text.endswith(f"; {number_word(len(lost))} of their masks ({join_names(lost)}) are empty where the others "
                         "mark much, and may be lost.")  # fmt: skip


def test_an_outlier_with_a_broken_mask_is_withheld_and_that_is_said():
    cases = half_discs(discs(dict.fromkeys("ABCDE", 900), 16), "E")
    cases["p00"]["E"] = 1 - disc(900)
    result = agreed(cases)
    assert result.raters.facts.broken == ("E",)
    (claim,) = [claim for claim in result.claims.of("raters.outlier") if claim.about == "E"]
    assert (claim.why_not.code, claim.p_value <= claim.alpha) == ("broken_mask", True)
    assert "The test would call rater E an outlier; this is not said, because a mask of this" in told(result)
    assert "can be told from the others" not in told(result)


def noisy(cases, rater, which, seed=2):
    """The cases with scattered pixels in place of some of a rater's masks."""
    rng = np.random.default_rng(seed)
    for name in which:
        cases[name][rater] = (rng.random((SIZE, SIZE)) < 0.03).astype(np.uint8)
    return cases


@pytest.mark.parametrize(("broken", "why"), [(15, "too little is left to test it"), (10, "it does not hold")])
def test_broken_masks_do_not_make_a_rater_draw_smaller(broken, why):
    """A careless rater: noise in some masks, and in the others as large as the rest."""
    cases = discs(dict.fromkeys("ABCDE", 600), 20)
    result = agreed(noisy(cases, "E", list(cases)[:broken]))
    assert result.raters.tests.sizes.smaller[0, 4] < 0.05, "or nothing was withheld"
    assert made(result, "raters.smaller", "raters.larger", "raters.outlier") == []
    [claim] = [c for c in result.claims.of("raters.smaller") if c.about == "E"]
    assert claim.why_not.endswith(why)
    assert made(result, "masks.speckle")


def test_a_rater_who_draws_smaller_in_whole_masks_too_does_so():
    cases = discs({**dict.fromkeys("ABCD", 600), "E": 300}, 14)
    (smaller,) = made(agreed(noisy(cases, "E", list(cases)[:2])), "raters.smaller")
    assert smaller.startswith("Rater E draws smaller than all the other raters")


@pytest.mark.slow
def test_a_broken_mask_is_not_the_reason_where_the_test_shows_nothing():
    cases = discs(dict.fromkeys("ABCDE", 900), 16)
    cases["p00"]["E"] = 1 - disc(900)
    result = agreed(cases)
    claims = [claim for claim in result.claims.of("raters.outlier") if claim.about == "E"]
    assert result.raters.facts.broken == ("E",)
    assert [claim.why_not.code for claim in claims] == ["not_significant"]


def test_equal_sessions_do_not_make_a_rater_broken():
    cases = {
        case: {(rater, "1"): mask for rater, mask in masks.items()} | {("A", "2"): masks["A"].copy()}
        for case, masks in discs(dict.fromkeys("ABC", 900)).items()
    }
    result = agreed(cases)
    assert {s.kind for s in result.suspicions} == {"identical_sessions"}
    assert result.counted_suspicions == ()
    assert result.raters.facts.broken == ()


def test_masks_that_recur_in_another_case_are_not_called_broken():
    cases = discs(dict.fromkeys("ABC", 900), 12)
    cases["p03"]["A"] = cases["p01"]["A"].copy()
    suspicions = [s for s in agreed(cases).suspicions if s.kind == "identical_cases"]
    (text,) = {plain_text(describe_doubts(suspicions[:1]))}
    assert text == f"a mask of rater A is the same as of another case ({suspicions[0].case})"


def test_the_numbers_of_one_case_are_not_said_of_others():
    cases = discs(dict.fromkeys("ABCDE", 900), 12)
    for masks in list(cases.values())[:3]:
        masks["E"] = masks["E"] * 0
    result = agreed(cases)
    (text,) = made(result, "masks.missing_marks")
    lost = [s.case for s in result.suspicions]
    assert len(lost) > 1
    assert text.startswith(f"In case {lost[0]}, rater E marked nothing, where the others marked ")
    assert text.endswith(f"; likewise in {join_names(lost[1:])} (numbers in masks.csv).")
    doubts = f"{number_word(len(lost))} masks of rater E may be lost ({join_names(lost)})"
    assert plain_text(describe_doubts(result.suspicions)) == doubts
    assert refusals(result, "masks.inverted") == {"": "none_found"}


# -- a reference that holds a rater's marks --------------------------------------------------------


def test_no_effective_number_against_a_raters_own_mask():
    cases = discs(dict.fromkeys("ABCD", 600), 10)
    known = {case: {"own": masks["A"], "expert": disc(600)} for case, masks in cases.items()}
    table = agreed(cases, references=known).tables["raters"]
    for statistic in ("error_correlation_against_reference", "effective_raters"):
        assert code(table.find(statistic, "pooled", rater="own").value) == "raters_own_marks", statistic
        assert code(table.find(statistic, "pooled", rater="expert").value) == "", statistic


def test_a_rater_between_the_others_has_the_ratios_of_the_pairs_that_were_tested():
    """E draws smaller than A, B and C and much larger than D: the mean ratio to all others is near 1."""
    rng, masks = np.random.default_rng(4), {}
    y, x = np.mgrid[:96, :96]
    for i in range(14):
        radius, (down, across) = rng.uniform(20, 30), rng.uniform(34, 62, 2)
        sizes = {"A": 1.0, "B": 1.0, "C": 1.0, "D": 0.74, "E": 0.94}
        masks[f"p{i:02}"] = {
            r: (np.hypot(y - down, x - across) < radius * times * rng.uniform(0.99, 1.01)).astype(np.uint8)
            for r, times in sizes.items()
        }
    result = mt.agree(mt.Study.from_arrays(masks), pictures=False, measure="none")
    row = result.tables["raters"].find("relative_size", "mean", rater="E")
    assert row.high > 1
    (claim,) = [claim for claim in result.claims.of("raters.smaller").made if claim.about == "E"]
    assert claim.text.startswith("Rater E draws smaller than A, B and C: the mean ratios of sizes are A to E 1.1")
    ratios = [number for number in claim.numbers if ",size_ratio" in number.at]
    assert len(ratios) == 3
    assert all(float(number.low) > 1 for number in ratios)
    assert "geometric average" not in claim.text

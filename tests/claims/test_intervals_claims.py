"""Failures are said beside the mean, and n beneath means of some subjects only."""

import numpy as np
import pytest
from scipy import stats

import manytruths as mt
from manytruths.claims.claim import ClaimLog
from manytruths.claims.intervals import consider_failures
from manytruths.claims.numbers import TableIndex, number_cell


def disc(x=20, radius=8):
    rows, columns = np.mgrid[:40, :60]
    return ((columns - x) ** 2 + (rows - 20) ** 2 < radius**2).astype(np.uint8)


def study(failed=2, empty=1, cases=20):
    """Three raters; in some cases no two of them overlap, in one nobody marked anything."""
    rng, masks = np.random.default_rng(0), {}
    for i in range(cases):
        if i < failed:
            masks[f"c{i:02}"] = {"A": disc(10, 4), "B": disc(30, 4), "C": disc(50, 4)}
        elif i < failed + empty:
            masks[f"c{i:02}"] = dict.fromkeys("ABC", np.zeros((40, 60), np.uint8))
        else:
            masks[f"c{i:02}"] = {name: disc(20 + rng.normal(0, 1.5), 8 + rng.normal()) for name in "ABC"}
    return mt.Study.from_arrays(masks)


def test_failures_have_their_share_with_an_exact_interval_and_the_mean_without_them():
    found = mt.agree(study())
    values = np.array([row.value for row in found.agreement.all("dice", "case")])
    defined = values[~np.isnan(values)]
    share = found.agreement.find("dice_failures", "mean")
    wanted = stats.binomtest(2, 19).proportion_ci(method="exact")
    assert (share.value, share.n, share.n_undefined) == (2 / 19, 19, 1)
    assert (share.low, share.high) == pytest.approx((wanted.low, wanted.high))
    rest = found.agreement.find("dice_without_failures", "mean")
    assert rest.value == pytest.approx(defined[defined > 0].mean())
    assert (rest.n, rest.n_undefined) == (17, 3)


def test_agree_says_how_many_failed(capsys):
    found = mt.agree(study())
    [claim] = found.claims.of("agreement.failures")
    mean, rest = (found.agreement.find(name, "mean") for name in ("dice", "dice_without_failures"))
    assert claim.made
    assert claim.text == (
        "In 2 of 19 cases (c00 and c01), 11% (1%–33%), no two raters overlap: the mean Dice of two raters is "
        f"{mean.value:.2f} ({mean.low:.2f}–{mean.high:.2f}) with these cases and "
        f"{rest.value:.2f} ({rest.low:.2f}–{rest.high:.2f}) without."
    )
    assert len(claim.numbers) == 5
    found.print()
    assert "no two raters overlap" in " ".join(capsys.readouterr().out.split())


def test_failures_are_counted_by_case_and_not_by_the_means_of_patients():
    """A patient whose other case overlaps has failed, too: no mean over their cases is 0."""
    rng, masks = np.random.default_rng(1), {}
    for i in range(24):
        near = {name: disc(20 + rng.normal(0, 1.5), 8) for name in "ABC"}
        masks[f"c{i:02}"] = {"A": disc(10, 4), "B": disc(30, 4), "C": disc(50, 4)} if i in (0, 1, 2) else near
    subjects = {case: f"s{int(case[1:]) // 2:02}" for case in masks}
    found = mt.agree(mt.Study.from_arrays(masks, subjects=subjects), pictures=False)
    count, share, rest = (
        found.agreement.find(f"dice_{part}", "mean") for part in ("failed_cases", "failures", "without_failures")
    )
    exact = stats.binomtest(2, 12).proportion_ci(method="exact")
    assert (count.value, count.n) == (3, 24)
    assert (share.value, share.n) == (2 / 12, 12)
    assert (share.low, share.high) == pytest.approx((exact.low, exact.high))
    assert rest.n == 11, "both cases of one patient failed"
    [claim] = found.claims.of("agreement.failures")
    assert claim.text.startswith(
        "In 3 of 24 cases (c00, c01 and c02) no two raters overlap; two of 12 patients have such a case, 17% (2%–48%): "
    )


def test_a_case_that_one_rater_alone_marked_is_called_so():
    masks = {f"c{i:02}": {name: disc(20 + i % 2, 8) for name in "ABC"} for i in range(12)}
    masks["c03"] = {"A": disc(), "B": disc() * 0, "C": disc() * 0}
    [claim] = mt.agree(mt.Study.from_arrays(masks), pictures=False).claims.of("agreement.failures")
    assert claim.text.startswith("In 1 of 12 cases (c03), 8% (0%–38%), only one rater marked anything: ")
    masks["c04"] = {"A": disc(10, 4), "B": disc(30, 4), "C": disc() * 0}
    [claim] = mt.agree(mt.Study.from_arrays(masks), pictures=False).claims.of("agreement.failures")
    assert "the Dice of two raters is 0 (in one (c03) only one rater marked anything; in one (c04) no two" in claim.text


def test_without_failures_it_is_considered_and_not_said():
    log = ClaimLog()
    consider_failures(log, TableIndex("agree/agreement.csv", mt.agree(study(failed=0)).agreement))
    [claim] = log.settle()
    assert not claim.made
    assert claim.why_not.code == "no_failure"


def test_a_mean_of_some_subjects_has_n_beneath_it():
    table = mt.agree(study()).agreement
    assert number_cell("agree/agreement.csv", table.find("dice", "mean")).below == "n = 19"
    assert number_cell("agree/agreement.csv", table.find("percent_agreement", "mean")).below == ""
    assert number_cell("agree/agreement.csv", table.find("dice", "pooled")).below == ""


def test_headlines_have_an_interval_over_subjects_and_raters(capsys):
    found = mt.agree(study())
    for name in ("dice", "fleiss_kappa", "krippendorff_alpha", "percent_agreement", "positive_agreement"):
        cases, both = (found.agreement.find(f"{name}{suffix}", "mean") for suffix in ("", "_over_both"))
        statistic = mt.MeanPairwise(mt.dice) if name == "dice" else getattr(mt, name)
        wanted = mt.confidence_interval(statistic, found.tallies, over="both", of="mean")
        assert both.value == pytest.approx(cases.value)
        assert (both.low, both.high) == pytest.approx((wanted.low, wanted.high))
        assert both.high - both.low > cases.high - cases.low
    found.print()
    assert "over both: other subjects and other raters" in " ".join(capsys.readouterr().out.split())


def test_two_raters_have_no_interval_over_both(capsys):
    masks = {f"c{i:02}": {"A": disc(20 + i % 3), "B": disc(21)} for i in range(12)}
    found = mt.agree(mt.Study.from_arrays(masks))
    assert not found.agreement.all("dice_over_both", "mean")
    found.print()
    assert "over both" not in capsys.readouterr().out


def test_two_raters_are_said_to_tell_nothing_about_others():
    masks = {f"c{i:02}": {"A": disc(20, 8), "B": disc(20 + i % 3, 7)} for i in range(12)}
    [claim] = mt.agree(mt.Study.from_arrays(masks)).claims.of("agreement.these_raters")
    assert claim.text == (
        "The intervals are for other cases and these two raters: how far others would agree cannot be told from two."
    )
    slots = {name: list(case.values()) for name, case in masks.items()}
    assert not mt.agree(mt.Study.from_arrays(slots, raters="exchangeable")).claims.of("agreement.these_raters")
    few = dict(list(masks.items())[:3])
    [claim] = mt.agree(mt.Study.from_arrays(few)).claims.of("agreement.these_raters")
    assert not claim.made, "there is no interval over cases"
    [claim] = mt.agree(study(failed=0, empty=0)).claims.of("agreement.these_raters")
    assert not claim.made, "three raters"

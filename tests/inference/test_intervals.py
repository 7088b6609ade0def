"""Student's t, jackknife and both populations, against SciPy and the formulas by hand."""

import math
import re

import numpy as np
import pytest
from scipy import stats

import manytruths as mt
from manytruths import InputError, Tallies, Undefined
from manytruths.inference.intervals import (
    MIN_EFFECTIVE,
    effective_subjects,
    few_effective_subjects,
    mean_intervals,
    mean_over_both,
    pooled_intervals,
    values_without_raters,
)


def logit(x):
    return math.log(x / (1 - x))


def study(cases=12, raters=4, seed=0, items=80, noise=0.1):
    rng = np.random.default_rng(seed)
    tables = {}
    for i in range(cases):
        truth = rng.random(items) < rng.uniform(0.2, 0.5)
        flips = [truth ^ (rng.random(items) < noise * (1 + r)) for r in range(raters)]
        tables[f"c{i}"] = mt.tally(dict(zip("ABCDEFGH", flips, strict=False)), labels=[0, 1])
    return tables


# -- means -----------------------------------------------------------------------------------------


def test_the_mean_of_a_share_has_students_interval_on_its_logit():
    values = np.random.default_rng(1).beta(8, 2, 14)
    found = mean_intervals(values[:, None], "share", level=0.9)[0]
    mean, error = values.mean(), values.std(ddof=1) / math.sqrt(14)
    reach = stats.t.ppf(0.95, 13) * error / (mean * (1 - mean))
    assert (logit(found.low), logit(found.high)) == pytest.approx((logit(mean) - reach, logit(mean) + reach), rel=1e-9)
    assert (found.value, found.n, found.method, found.level) == (pytest.approx(mean), 14, "logit-t", 0.9)


def test_the_mean_of_differences_has_the_interval_of_scipys_t_test():
    values = np.random.default_rng(2).normal(0.02, 0.05, (11, 3))
    for found, column in zip(mean_intervals(values), values.T, strict=True):
        wanted = stats.ttest_1samp(column, 0).confidence_interval()
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), rel=1e-9)
        assert found.method == "t"


def test_the_mean_of_distances_is_that_of_the_cases_and_never_that_of_their_logarithms():
    values = np.random.default_rng(3).lognormal(0, 1, 40)
    found = mean_intervals(values[:, None], "positive")[0]
    reach = stats.t.ppf(0.975, 39) * values.std(ddof=1) / math.sqrt(40) / values.mean()
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((values.mean() * math.exp(-reach), values.mean() * math.exp(reach)))
    assert found.low > math.exp(np.log(values).mean()) * 0.9


def test_confidence_interval_of_a_mean_is_students_by_default():
    tables = study()
    dice = mt.MeanPairwise(mt.dice)
    values = np.array([dice(t) for t in tables.values()])
    found = mt.confidence_interval(dice, tables, of="mean")
    assert (found.method, found.low) == ("logit-t", mean_intervals(values[:, None], "share")[0].low)
    assert mt.confidence_interval(mt.fleiss_kappa, tables, of="mean").method == "fisher-t"
    assert mt.confidence_interval(dice, tables, of="mean", scale="plain").method == "t"
    assert mt.confidence_interval(dice, tables, of="mean", method="bca").method == "bca"


def test_equal_values_have_no_interval_and_say_why():
    for scale, value in (
        ("plain", 0.0),
        ("share", 0.8),
        ("share", 1.0),
        ("share", 0.0),
        ("kappa", 1.0),
        ("positive", 0.0),
    ):
        found = mean_intervals(np.full((12, 1), value), scale)[0]
        assert found.value == pytest.approx(value)
        assert isinstance(found.low, Undefined)
        assert found.low.code == "no_spread"
    # 0.1 added up and divided again misses 0.1 by the last bit
    assert math.isnan(mean_intervals(np.full((13, 1), 0.1) * 3, "share")[0].high)


def test_zeros_and_ones_have_the_exact_interval_of_a_proportion():
    for count in (1, 3, 11):
        values = np.r_[np.ones(count), np.zeros(12 - count)]
        found = mean_intervals(values[:, None], "share")[0]
        wanted = stats.binomtest(count, 12).proportion_ci(method="exact")
        assert (found.low, found.high) == pytest.approx((wanted.low, wanted.high), abs=1e-10)
        assert found.method == "exact"


def test_nine_values_have_no_interval():
    values = np.r_[np.random.default_rng(0).random(9), np.nan, np.nan]
    found = mean_intervals(values[:, None], "share")[0]
    assert (found.n, found.low.code) == (9, "too_few_subjects")
    assert found.value == pytest.approx(values[:9].mean())


# -- pooled numbers --------------------------------------------------------------------------------


def test_pooled_numbers_have_the_jackknife_interval_over_subjects():
    tables = Tallies(study(40, 3))
    found = pooled_intervals([mt.fleiss_kappa], tables)[0]
    names = list(tables)
    left_out = [mt.fleiss_kappa(mt.pool(tables.select([n for n in names if n != gone]))) for gone in names]
    error = math.sqrt(39 / 40 * sum((np.array(left_out) - np.mean(left_out)) ** 2))
    sizes = np.array([int(t.counts[t.marked > 0].sum()) for t in tables.values()], float)
    df = sizes.sum() ** 2 / (sizes**2).sum() - 1
    centre, reach = math.atanh(found.value), stats.t.ppf(0.975, df) * error / (1 - found.value**2)
    assert (found.low, found.high) == pytest.approx((math.tanh(centre - reach), math.tanh(centre + reach)), rel=1e-9)
    assert (found.value, found.method, found.n) == (mt.fleiss_kappa(mt.pool(tables)), "jackknife", 40)


def test_a_pooled_number_of_few_large_subjects_has_no_interval():
    small, large = study(60, 3, items=40), study(2, 3, seed=9, items=60_000)
    tables = Tallies({**small, "big": large["c0"], "huge": large["c1"]})
    found = pooled_intervals([mt.fleiss_kappa, mt.percent_agreement], tables)
    for interval in found:
        assert interval.low.code == "few_effective_subjects"
        assert re.search(r"at least 30 and at least half of the subjects; there are 2\.\d of 62", interval.low.reason)
        assert not math.isnan(interval.value)
    with pytest.raises(InputError, match="effective number"):
        mt.confidence_interval(mt.fleiss_kappa, tables, of="pooled")
    # the mean over subjects counts them alike
    assert mt.confidence_interval(mt.fleiss_kappa, tables, of="mean").n == 62


def test_equal_sizes_count_in_full_and_size_is_what_was_marked():
    assert effective_subjects([7] * 30) == pytest.approx(MIN_EFFECTIVE)
    assert effective_subjects([0, 0, 9]) == 1
    assert effective_subjects([0, 0]) == 0
    # images of one size, of which one holds nearly all of what was marked
    masks = [np.arange(1000) < (900 if i == 0 else 5 + i % 3) for i in range(40)]
    tables = Tallies({str(i): mt.tally({"A": m, "B": np.roll(m, 1), "C": m}) for i, m in enumerate(masks)})
    assert pooled_intervals([mt.fleiss_kappa], tables)[0].low.code == "few_effective_subjects"


def test_kappa_rests_on_the_rarer_label_even_if_it_is_the_background():
    """Sixty subjects whose lesions all four raters find, but for one lesion of two subjects, which one rater finds."""
    found = np.ones(3, bool)
    alone = np.array([True, False, True])
    tables = Tallies(
        {str(i): mt.tally({"A": found, **dict.fromkeys("BCD", alone if i < 2 else found)}) for i in range(60)}
    )
    kappa, alpha, positive = pooled_intervals([mt.fleiss_kappa, mt.krippendorff_alpha, mt.positive_agreement], tables)
    assert kappa.low.code == kappa.high.code == alpha.low.code == "few_subjects_with_the_rarer_label"
    assert 0.6 < kappa.value < 0.7
    assert positive.low < positive.value < positive.high
    often = Tallies({str(i): mt.tally({"A": found, **dict.fromkeys("BCD", (alone, found)[i % 2])}) for i in range(80)})
    assert not math.isnan(pooled_intervals([mt.fleiss_kappa], often)[0].low)


def test_a_pooled_number_needs_half_of_the_subjects_that_have_a_size():
    """Empty subjects do not count; with sizes that differ much, an effective 30 may be a few of many."""
    some = [1] * 90 + [20] * 30
    assert MIN_EFFECTIVE < effective_subjects(some) < 60
    assert few_effective_subjects(some).code == "few_effective_subjects"
    assert few_effective_subjects([1] * 40 + [0] * 200) is None
    assert few_effective_subjects([1] * 60 + [3] * 60) is None


def test_a_pooled_number_of_one_subject_has_no_interval():
    empty = mt.tally([np.zeros(9, int)] * 3, labels=[0, 1])
    tables = Tallies({str(i): empty for i in range(40)} | {"one": mt.tally([[1, 0], [1, 1], [1, 0]])})
    found = pooled_intervals([mt.fleiss_kappa], tables)[0]
    assert found.low.code == "few_effective_subjects"


# -- both ------------------------------------------------------------------------------------------


def by_hand(values, without):
    """METHODS: V = V_c + V_r − V_cr, at least the larger of the two, and its degrees of freedom."""
    n, r = without.shape
    theta = values.mean()
    no_case = np.array([np.delete(values, c).mean() for c in range(n)])
    no_rater = without.mean(axis=0)
    neither = np.array([[np.delete(without[:, k], c).mean() for k in range(r)] for c in range(n)])
    v_c = (n - 1) / n * ((no_case - no_case.mean()) ** 2).sum()
    v_r = (r - 1) / r * ((no_rater - no_rater.mean()) ** 2).sum()
    v_cr = (n - 1) * (r - 1) / (n * r) * ((neither - no_case[:, None] - no_rater[None] + theta) ** 2).sum()
    v = max(v_c + v_r - v_cr, v_c, v_r)
    return v, v**2 / (v_c**2 / (n - 1) + v_r**2 / (r - 1))


@pytest.mark.parametrize("statistic", [mt.fleiss_kappa, mt.MeanPairwise(mt.dice), mt.positive_agreement])
def test_over_both_by_hand(statistic):
    tables = study(13, 4)
    values = np.array([statistic(t) for t in tables.values()])
    without = np.array([[statistic(t.without(name)) for name in "ABCD"] for t in tables.values()])
    v, df = by_hand(values, without)
    found = mt.confidence_interval(statistic, tables, over="both", of="mean", scale="plain", level=0.9)
    reach = stats.t.ppf(0.95, df) * math.sqrt(v)
    assert found.value == pytest.approx(values.mean())
    assert (found.low, found.high) == pytest.approx((found.value - reach, found.value + reach), rel=1e-9)


@pytest.mark.parametrize(
    "statistic", [mt.fleiss_kappa, mt.krippendorff_alpha, mt.MeanPairwise(mt.dice), lambda t: mt.percent_agreement(t)]
)
def test_values_without_a_rater_are_those_of_the_smaller_tally(statistic):
    tables = Tallies(study(6, 4))
    tables["c2"] = tables["c2"].without("B")
    tables["c3"] = tables["c3"].without("A", "C")
    found = values_without_raters(statistic, tables)
    for i, t in enumerate(tables.values()):
        for k, name in enumerate("ABCD"):
            rest = t.without(name) if name in t.rater_names else t
            wanted = statistic(rest) if len(rest.raters) > 1 else math.nan
            assert found[i, k] == pytest.approx(wanted, abs=1e-12, nan_ok=True)


def test_a_rater_who_differs_widens_the_interval_over_both_but_not_that_over_subjects():
    rng = np.random.default_rng(4)
    alike = rng.normal(0.8, 0.02, (20, 1)) + rng.normal(0, 0.002, (20, 5))
    apart = alike + np.array([0.06, 0, 0, 0, 0])
    narrow, wide = (mean_over_both(x.mean(axis=1), x, scale="share", level=0.95) for x in (alike, apart))
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    over_subjects = mean_intervals(alike.mean(axis=1)[:, None], "share")[0]
    assert narrow.high - narrow.low >= over_subjects.high - over_subjects.low - 1e-12


def test_pooled_over_both_leaves_out_subjects_and_raters_together():
    tables = Tallies(study(36, 3))
    found = mt.confidence_interval(mt.fleiss_kappa, tables, over="both", of="pooled", scale="plain")
    names, whole = list(tables), mt.fleiss_kappa(mt.pool(tables))

    def value(gone, rater=None):
        rest = mt.pool([t for name, t in tables.items() if name != gone])
        return mt.fleiss_kappa(rest.without(rater) if rater else rest)

    no_case, no_rater = np.array([value(c) for c in names]), np.array([value(None, r) for r in "ABC"])
    neither = np.array([[value(c, r) for r in "ABC"] for c in names])
    v_c, v_r = 35 * no_case.var(), 2 * no_rater.var()
    v_cr = 35 * 2 / (36 * 3) * ((neither - no_case[:, None] - no_rater + whole) ** 2).sum()
    v = max(v_c + v_r - v_cr, v_c, v_r)
    reach = stats.t.ppf(0.975, v**2 / (v_c**2 / 35 + v_r**2 / 2)) * math.sqrt(v)
    assert (found.low, found.high) == pytest.approx((whole - reach, whole + reach), rel=1e-9)


def test_over_both_needs_three_named_raters_and_ten_subjects():
    with pytest.raises(InputError, match="over='both' leaves raters out one at a time and needs at least three"):
        mt.confidence_interval(mt.fleiss_kappa, study(12, 2), over="both", of="mean")
    with pytest.raises(InputError, match="at least 10 of them"):
        mt.confidence_interval(mt.fleiss_kappa, study(9, 4), over="both", of="mean")
    slots = {str(i): mt.tally([[1, 0], [1, 1], [0, 1]], raters="exchangeable") for i in range(12)}
    with pytest.raises(mt.CallError, match="not a person"):
        mt.confidence_interval(mt.fleiss_kappa, slots, over="both", of="mean")

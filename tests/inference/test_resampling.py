"""Intervals against a plain bootstrap, SciPy's, and the hand."""

import math
import time
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

import manytruths as mt
from manytruths import CallError, Column, InputError, Labels, Tallies, Tally, Undefined, reason
from manytruths.inference.intervals import mean_intervals, pooled_intervals


def case(rng, raters=3, items=60, noise=0.2):
    truth = rng.random(items) < rng.uniform(0.1, 0.6)
    return mt.tally([truth ^ (rng.random(items) < noise) for _ in range(raters)], labels=[0, 1])


def cases(number=15, seed=0, **options):
    rng = np.random.default_rng(seed)
    return {f"c{i:02}": case(rng, **options) for i in range(number)}


def share(tally):
    return float(mt.prevalence(tally)[1])


def of_shares(marked, items=1000):
    """One case a value: that share of the items is marked."""
    columns, labels = (Column("A"), Column("B")), Labels((0, 1))
    return {
        str(i): Tally(columns, labels, np.array([[0, 0], [1, 1]]), np.array([items - k, k]))
        for i, k in enumerate(marked)
    }


def draws(n, resamples, seed):
    """Which subjects each resample holds, each as often as it was drawn."""
    for weights in np.random.default_rng(seed).multinomial(n, [1 / n] * n, size=resamples):
        yield np.repeat(np.arange(n), weights)


@pytest.mark.parametrize("statistic", [mt.fleiss_kappa, mt.positive_agreement, mt.krippendorff_alpha, mt.smyth_bound])
def test_pooled_against_adding_the_tables_again(statistic):
    tables = cases(12)
    found = mt.confidence_interval(statistic, tables, of="pooled", method="percentile", resamples=80, seed=5)
    listed = list(tables.values())
    replicates = [statistic(mt.pool([listed[i] for i in drawn])) for drawn in draws(12, 80, 5)]
    assert found.value == pytest.approx(statistic(mt.pool(tables)), abs=1e-14)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(replicates, [2.5, 97.5])), abs=1e-12)
    assert (found.n, found.n_undefined, found.level, found.method) == (12, 0, 0.95, "percentile")


def test_mean_against_drawing_the_values_again():
    tables = cases(12)
    values = np.array([mt.fleiss_kappa(t) for t in tables.values()])
    found = mt.confidence_interval(
        mt.fleiss_kappa, tables, of="mean", method="percentile", resamples=300, level=0.9, seed=2
    )
    replicates = [values[drawn].mean() for drawn in draws(12, 300, 2)]
    assert found.value == pytest.approx(values.mean(), abs=1e-15)
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(replicates, [5, 95])), abs=1e-12)


SKEWED = (1000 * np.random.default_rng(3).beta(0.5, 4, 25)).astype(int)


def test_bca_of_the_same_draws_is_that_of_scipy():
    values = SKEWED / 1000
    found = mt.confidence_interval(share, of_shares(SKEWED), of="mean", method="bca", resamples=999, seed=7)
    replicates = np.array([values[drawn].mean() for drawn in draws(25, 999, 7)])
    expected = stats.bootstrap(
        (values,), np.mean, method="BCa", n_resamples=0,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=replicates),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_draws_that_tie_with_the_value_count_half():
    marked = np.array([1000] * 6 + [0] * 6)
    found = mt.confidence_interval(share, of_shares(marked), of="mean", method="bca", resamples=999, level=0.8, seed=7)
    replicates = np.array([(marked / 1000)[drawn].mean() for drawn in draws(12, 999, 7)])
    assert (replicates == 0.5).sum() > 100
    expected = stats.bootstrap(
        (marked / 1000,), np.mean, method="BCa", n_resamples=0, confidence_level=0.8,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=replicates),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_pooled_bca_of_the_same_draws_is_that_of_scipy():
    tables = list(cases(14, seed=4).values())
    found = mt.confidence_interval(mt.fleiss_kappa, tables, of="pooled", method="bca", resamples=99, seed=1)

    def kappa(chosen):
        return mt.fleiss_kappa(mt.pool([tables[int(i)] for i in chosen]))

    replicates = np.array([kappa(drawn) for drawn in draws(14, 99, 1)])
    expected = stats.bootstrap(
        (np.arange(14),), kappa, method="BCa", n_resamples=0, vectorized=False,
        bootstrap_result=SimpleNamespace(bootstrap_distribution=replicates),
    ).confidence_interval  # fmt: skip
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_bca_is_scipys_within_the_noise_of_independent_draws():
    # with 40,000 draws each an end has a standard error of about 0.025 σ (quantile and bias together), the
    # difference of two 0.035 σ; 0.15 σ is four of those, and the percentile interval lies farther off
    tables, values = of_shares(SKEWED), SKEWED / 1000
    found = mt.confidence_interval(share, tables, of="mean", resamples=40_000, seed=1, method="bca")
    plain = mt.confidence_interval(share, tables, of="mean", resamples=40_000, seed=1, method="percentile")
    theirs = stats.bootstrap((values,), np.mean, method="BCa", n_resamples=40_000, rng=np.random.default_rng(99))
    sigma = theirs.standard_error
    assert abs(found.low - theirs.confidence_interval.low) < 0.15 * sigma
    assert abs(found.high - theirs.confidence_interval.high) < 0.15 * sigma
    assert abs(plain.high - theirs.confidence_interval.high) > 0.15 * sigma


def test_jackknife_over_raters_by_hand():
    tables = cases(4, raters=5)
    found = mt.confidence_interval(mt.fleiss_kappa, tables, of="pooled", over="raters", level=0.9)
    whole = mt.pool(tables)
    left_out = np.array([mt.fleiss_kappa(whole.without(name)) for name in whole.rater_names])
    error = math.sqrt(4 / 5 * sum((left_out - left_out.mean()) ** 2))
    assert (found.value, found.n, found.method) == (mt.fleiss_kappa(whole), 5, "jackknife")
    centre, reach = math.atanh(found.value), stats.t.ppf(0.95, 4) * error / (1 - found.value**2)
    assert (found.low, found.high) == pytest.approx((math.tanh(centre - reach), math.tanh(centre + reach)), abs=1e-12)
    mean = mt.confidence_interval(mt.fleiss_kappa, tables, over="raters", of="mean")
    assert mean.value == pytest.approx(np.mean([mt.fleiss_kappa(t) for t in tables.values()]), abs=1e-15)


def test_a_rater_leaves_with_all_his_sessions_and_from_cases_that_he_alone_marked():
    tables = [
        mt.tally({("A", "1"): [1, 0, 1, 0], ("A", "2"): [1, 1, 1, 0], "B": [1, 0, 0, 0], "C": [1, 1, 1, 0]}),
        mt.tally({"A": [1, 0]}),
    ]
    seen = []

    def names(tally):
        seen.append({c.name for c in tally.columns})
        return 0.5

    mt.confidence_interval(names, tables, of="pooled", over="raters")
    assert [{"B", "C"}, {"A", "C"}, {"A", "B"}] == seen[1:]
    assert mt.confidence_interval(mt.percent_agreement, tables, over="raters", of="mean").n == 3


def test_copies_of_a_subjects_cases_do_not_narrow_the_interval():
    tables = cases(32)
    copied = {f"{name}/{i}": t for name, t in tables.items() for i in range(5)}
    patients = {name: name.partition("/")[0] for name in copied}
    for of in ("pooled", "mean"):
        once = mt.confidence_interval(mt.fleiss_kappa, tables, of=of)
        many = mt.confidence_interval(mt.fleiss_kappa, Tallies(copied, patients), of=of)
        blind = mt.confidence_interval(mt.fleiss_kappa, copied, of=of)
        assert (many.low, many.high) == pytest.approx((once.low, once.high), abs=1e-12)
        assert (many.n, blind.n) == (32, 160)
        assert blind.high - blind.low < 0.7 * (many.high - many.low)


def test_ten_cases_of_nine_patients_are_too_few():
    tables = Tallies(cases(10), {"c01": "c00"})
    for of in ("pooled", "mean"):
        with pytest.raises(InputError, match="at least 10 of them; there are 9"):
            mt.confidence_interval(mt.fleiss_kappa, tables, of=of)
    assert mt.confidence_interval(mt.fleiss_kappa, cases(10), of="mean").n == 10


def test_subjects_without_a_value_are_left_out_and_must_leave_ten():
    tables = cases(11) | {"empty": mt.tally([np.zeros(9, int)] * 3, labels=[0, 1])}
    found = mt.confidence_interval(mt.fleiss_kappa, tables, of="mean")
    assert found.n == 11
    assert found.value == pytest.approx(np.mean([mt.fleiss_kappa(t) for t in cases(11).values()]), abs=1e-15)
    few = cases(9) | {f"e{i}": tables["empty"] for i in range(5)}
    with pytest.raises(InputError, match="defined for 9"):
        mt.confidence_interval(mt.fleiss_kappa, few, of="mean")


def test_undefined_resamples_are_counted_and_undefined_values_say_why():
    empty = mt.tally([np.zeros(9, int)] * 3, labels=[0, 1])
    tables = {str(i): empty for i in range(11)} | {"one": mt.tally([[1, 0], [1, 1], [1, 0]])}
    found = mt.confidence_interval(mt.fleiss_kappa, tables, of="pooled", resamples=400, method="percentile")
    missed = np.mean([11 not in drawn for drawn in draws(12, 400, 0)])
    assert found.n_undefined == round(400 * missed) > 0
    nothing = mt.confidence_interval(mt.fleiss_kappa, {str(i): empty for i in range(30)}, of="pooled")
    assert "one and the same label" in reason(nothing.value)
    assert isinstance(nothing.low, Undefined)
    assert reason(nothing.high)


def test_seeds():
    tables = cases(12)
    for of in ("pooled", "mean"):
        first, again, other = (
            mt.confidence_interval(mt.fleiss_kappa, tables, of=of, method="bca", resamples=200, seed=s)
            for s in (3, 3, 4)
        )
        assert first == again
        assert first != other


def test_the_order_of_cases_does_not_matter_to_the_value_nor_much_to_the_ends():
    tables = cases(20)
    turned = dict(reversed(tables.items()))
    asked = {"of": "pooled", "resamples": 4000, "method": "percentile"}
    a, b = (mt.confidence_interval(mt.fleiss_kappa, t, **asked) for t in (tables, turned))
    assert a.value == b.value
    assert (a.low, a.high) == pytest.approx((b.low, b.high), abs=0.1 * (a.high - a.low))


def test_several_statistics_share_their_draws():
    tables = Tallies(cases(12))
    both = pooled_intervals([mt.fleiss_kappa, mt.smyth_bound], tables, method="bca", resamples=100)
    # a function of a tally is read off one table at a time
    alone = [
        mt.confidence_interval(lambda t, s=s: s(t), tables, of="pooled", method="bca", resamples=100)
        for s in (mt.fleiss_kappa, mt.smyth_bound)
    ]
    for one, other in zip(both, alone, strict=True):
        assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high), abs=1e-12)
    values = np.array([[mt.fleiss_kappa(t), mt.smyth_bound(t)] for t in tables.values()])
    # seed 0 draws every subject once, a mean that ties with the value but for the last bit
    means = mean_intervals(values, method="bca", resamples=100)
    for found, statistic in zip(means, (mt.fleiss_kappa, mt.smyth_bound), strict=True):
        alone = mt.confidence_interval(statistic, tables, of="mean", method="bca", resamples=100)
        assert (found.value, found.low, found.high) == pytest.approx((alone.value, alone.low, alone.high), abs=1e-12)


def test_columns_and_labels_may_differ_between_cases():
    rng = np.random.default_rng(0)
    tables = [mt.tally({n: rng.integers(0, 2 + i % 2, 30) for n in "ABCD"[i % 2 :]}) for i in range(12)]
    found = mt.confidence_interval(mt.percent_agreement, tables, of="pooled", resamples=50, method="percentile")
    replicates = [mt.percent_agreement(mt.pool([tables[i] for i in drawn])) for drawn in draws(12, 50, 0)]
    assert (found.low, found.high) == pytest.approx(tuple(np.percentile(replicates, [2.5, 97.5])), abs=1e-12)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"over": "pixels"}, CallError, "'subjects', 'raters' or 'both'; got 'pixels'"),
        ({"of": "median"}, CallError, "'pooled' or 'mean'; got 'median'"),
        ({"method": "normal"}, CallError, "'t', 'bca' or 'percentile'; got 'normal'"),
        ({"level": 95}, CallError, "between 0 and 1"),
        ({"resamples": 0}, CallError, "from 1 to 100,000; got 0"),
    ],
)
def test_wrong_calls(options, error, words):
    with pytest.raises(error, match=words):
        mt.confidence_interval(mt.fleiss_kappa, cases(12), **options)


def test_refusals():
    with pytest.raises(CallError, match="tallies is empty"):
        mt.confidence_interval(mt.fleiss_kappa, {})
    with pytest.raises(InputError, match="at least three; there are 2"):
        mt.confidence_interval(mt.fleiss_kappa, cases(12, raters=2), over="raters")
    slots = {str(i): mt.tally([[1, 0], [1, 1], [0, 1]], raters="exchangeable") for i in range(12)}
    with pytest.raises(CallError, match="not a person"):
        mt.confidence_interval(mt.fleiss_kappa, slots, over="raters")
    assert mt.confidence_interval(mt.fleiss_kappa, slots, of="pooled", method="bca", resamples=20).n == 12


def test_how_it_reads():
    assert str(mt.Interval(0.4444, 0.4, 0.5, 0.95, "bca", 12)) == "0.444 (95% CI 0.400 to 0.500)"


def test_two_thousand_resamples_of_a_thousand_cases():
    tables = cases(1000, raters=5)
    mt.confidence_interval(mt.fleiss_kappa, cases(12), of="pooled", method="bca", resamples=10)
    started = time.perf_counter()
    found = mt.confidence_interval(mt.fleiss_kappa, tables, of="pooled", method="bca")
    took = time.perf_counter() - started
    assert found.low < found.value < found.high
    assert took < 4, f"{took:.1f} s; 2 s are wanted of a quiet machine"

"""Limits of agreement: Bland and Altman's own data, exact intervals against integration, and laws."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

import manytruths as mt
from evidence.measurements import IC, MINI, RV, SUBJECT, SYSTOLIC, WRIGHT

HALF = 0.5 + 1e-9
"""Of a unit in the last digit: what rounding changes at most."""


def printed_ends(middle, t, error):
    """As the papers compute an interval by hand, from a rounded middle, t quantile and standard error."""
    return [round(middle - t * error, 1), round(middle + t * error, 1)]


def furthest(factor, t, share, sd, step):
    """How far the end of an interval can be from the printed one, which is made of rounded numbers.

    Bias and SD are rounded to ``step``, limits (bias ± ``factor`` SD) to 0.1 where that is coarser, standard errors
    (``share`` of the SD) to ``step``, t quantiles to 0.01, and the result to 0.1.
    """
    middle = HALF * (step + factor * step + 0.1 * (factor > 0 and step < 0.1))
    error = HALF * step * (1 + share)
    return middle + t * error + HALF * 0.01 * (share * sd + error) + HALF * 0.1


def approximate_ends(d, factor):
    """Bland and Altman's intervals without rounding: bias ± t s/√n, limits ± t s √((1 + factor²/2)/n)."""
    n, mean, sd = len(d), d.mean(), math.sqrt(((d - d.mean()) ** 2).sum() / (len(d) - 1))
    t = stats.t.ppf(0.975, n - 1)
    ends = {}
    for name, sign in (("bias", 0), ("lower", -factor), ("upper", factor)):
        middle, reach = mean + sign * sd, t * sd * math.sqrt((1 + sign**2 / 2) / n)
        ends[name] = middle - reach, middle + reach
    return ends


def compare_with_paper(found, d, factor, printed, limits, errors, t, step):
    """Unrounded intervals are the formula's; rounded as in the paper they are the printed ones, to every digit."""
    bias, sd = round(found.bias.value, len(str(step)) - 2), round(found.sd, len(str(step)) - 2)
    middles = {"bias": bias, "lower": limits[0], "upper": limits[1]}
    exact, n = approximate_ends(d, factor), len(d)
    for name, ends in printed.items():
        interval, of_limit = getattr(found, name), name != "bias"
        assert (interval.low, interval.high) == pytest.approx(exact[name], abs=1e-9)
        assert printed_ends(middles[name], t, errors[of_limit]) == list(ends)
        share = math.sqrt((1 + of_limit * factor**2 / 2) / n)
        assert abs(share * sd - errors[of_limit]) <= HALF * step
        reach = furthest(of_limit * factor, t, share, sd, step)
        assert max(abs(interval.low - ends[0]), abs(interval.high - ends[1])) <= reach


def test_peak_flow_1986():
    """The paper goes on from rounded numbers: bias −2.1, SD 38.8, limits at 2 SD, standard errors of 9.4 and 16.3.

    The tests of R's blandr quote all of these digits, and the six ends, from the paper.
    """
    found = mt.bland_altman(WRIGHT[:, 0], MINI[:, 0], factor=2, interval="approximate")
    assert (round(found.bias.value, 1), round(found.sd, 1), found.n) == (-2.1, 38.8, 17)
    limits = -79.7, 75.5
    assert (round(-2.1 - 2 * 38.8, 1), round(-2.1 + 2 * 38.8, 1)) == limits
    assert round(stats.t.ppf(0.975, 16), 2) == 2.12
    printed = {"bias": (-22.0, 17.8), "lower": (-114.3, -45.1), "upper": (40.9, 110.1)}
    assert (round(math.sqrt(38.8**2 / 17), 1), round(math.sqrt(3 * 38.8**2 / 17), 1)) == (9.4, 16.3)
    compare_with_paper(found, WRIGHT[:, 0] - MINI[:, 0], 2, printed, limits, (9.4, 16.3), 2.12, 0.1)


@pytest.mark.parametrize(("meter", "sd", "coefficient"), [(WRIGHT, 21.6, 43.2), (MINI, 28.2, 56.4)])
def test_repeatability_1986(meter, sd, coefficient):
    """Twice the SD of the differences between two readings with a meter, about a mean of 0: 43.2 and 56.4 l/min.

    Of the mini meter the paper also prints the sum of the squared differences, 13479.
    """
    assert ((MINI[:, 0] - MINI[:, 1]) ** 2).sum() == 13479
    found = mt.repeatability(meter)
    of_differences = math.sqrt(((meter[:, 0] - meter[:, 1]) ** 2).mean())
    assert math.sqrt(2) * found.within_sd == pytest.approx(of_differences, abs=1e-9)
    assert found.repeatability.value == pytest.approx(1.96 * of_differences, abs=1e-9)
    assert round(of_differences, 1) == sd
    assert round(2 * sd, 1) == coefficient


def test_systolic_pressure_1999():
    """Pages 136 to 142: the intervals of the limits are −54.7 and 22.1, plus and minus 1.99 × 3.64."""
    j, s = SYSTOLIC[:, 0], SYSTOLIC[:, 3]
    found = mt.bland_altman(j, s, interval="approximate")
    assert (round(found.bias.value, 2), round(found.sd, 2)) == (-16.29, 19.61)
    limits = round(found.lower.value, 1), round(found.upper.value, 1)
    assert limits == (-54.7, 22.1)
    assert round(stats.t.ppf(0.975, 84), 2) == 1.99
    # the bias has its interval to the digit without rounding on the way
    assert (round(found.bias.low, 1), round(found.bias.high, 1)) == (-20.5, -12.1)
    printed = {"bias": (-20.5, -12.1), "lower": (-61.9, -47.5), "upper": (14.9, 29.3)}
    compare_with_paper(found, j - s, 1.96, printed, limits, (2.13, 3.64), 1.99, 0.01)
    kept = ~np.isin(np.arange(1, 86), (78, 80))
    without = mt.bland_altman(j[kept], s[kept])
    assert (round(without.lower.value, 1), round(without.upper.value, 1)) == (-43.6, 15.0)


def test_repeatability_1999():
    """Within-subject variances 37.408 and 83.141 mmHg², repeatability coefficients 17 and 25 mmHg."""
    for columns, variance, coefficient in ((slice(0, 3), 37.408, 17), (slice(3, 6), 83.141, 25)):
        found = mt.repeatability(SYSTOLIC[:, columns])
        assert round(found.within_sd**2, 3) == variance
        assert round(found.repeatability.value) == coefficient
        assert found.freedom == 170
        assert found.reproducibility.value.code == "one_rater"


def test_several_differences_a_subject():
    """Bland & Altman 2007 print the mean and variance of the subjects' means, and the residual mean square."""
    found = mt.bland_altman(RV, IC, subjects=SUBJECT)
    assert found.bias.value == pytest.approx(0.7092361, abs=1e-7)
    counts = np.unique(SUBJECT, return_counts=True)[1]
    share = 1 - np.mean(1 / counts)
    assert found.sd**2 == pytest.approx(0.91269114 + share * 0.170714026, abs=1e-7)
    assert (found.n, found.n_subjects, found.lower.method) == (60, 12, "mover")
    # Zou's formulas, written out
    q = stats.chi2.ppf
    terms = [(0.91269114, 11), (share * 0.170714026, 48)]
    high = found.sd**2 + math.sqrt(sum((v * (df / q(0.025, df) - 1)) ** 2 for v, df in terms))
    low = found.sd**2 - math.sqrt(sum((v * (1 - df / q(0.975, df))) ** 2 for v, df in terms))
    around = stats.t.ppf(0.975, 11) ** 2 * 0.91269114 / 12
    far = math.sqrt(around + 1.96**2 * (math.sqrt(high) - found.sd) ** 2)
    near = math.sqrt(around + 1.96**2 * (found.sd - math.sqrt(low)) ** 2)
    upper = found.bias.value + 1.96 * found.sd
    assert (found.upper.low, found.upper.high) == pytest.approx((upper - near, upper + far), abs=1e-5)
    assert found.upper.high > mt.bland_altman(RV, IC).upper.high  # as if there were 60 subjects


def test_one_repeated_subject_hardly_changes_the_interval():
    """One degree of freedom within subjects tells nothing about that variance: it must not blow up the interval."""
    rng = np.random.default_rng(0)
    d = rng.normal(size=17)
    found = mt.bland_altman(d, np.zeros(17), subjects=[0, *range(16)]).upper
    alone = mt.bland_altman(d, np.zeros(17)).upper
    assert 0.8 < (found.high - found.low) / (alone.high - alone.low) < 1.25


@pytest.mark.parametrize("n", [5, 17, 85])
def test_exact_intervals_by_integration(n):
    """The ends of the upper limit's interval are exceeded with the probability that the level says."""
    d = np.sin(np.arange(n) * 12.9898) * 3 + 1
    found = mt.bland_altman(d, np.zeros(n), level=0.9)
    mean, sd = d.mean(), d.std(ddof=1)

    def probability(end):
        # of mean + k sd, with the k of this end, to lie above μ + 1.96 σ, given the chi-square of the variance
        k = (end - mean) / sd
        df = n - 1

        def inner(v):
            z = math.sqrt(n) * (1.96 - k * math.sqrt(v / df))
            return stats.norm.sf(z) * stats.chi2.pdf(v, df)

        return integrate.quad(inner, 0, df + 60 * math.sqrt(df), limit=400, epsabs=1e-10)[0]

    assert probability(found.upper.low) == pytest.approx(0.05, abs=1e-6)
    assert probability(found.upper.high) == pytest.approx(0.95, abs=1e-6)
    assert found.lower.high - found.lower.low == pytest.approx(found.upper.high - found.upper.low)


def test_nist_tolerance_factors():
    """One-sided normal tolerance factors are the same distribution: k = 2.911, 2.396, 2.220 (NIST 7.2.6.3)."""
    z = stats.norm.ppf(0.95)
    for n, k in ((10, 2.911), (20, 2.396), (30, 2.220)):
        d = np.cos(np.arange(n) * 7.77)
        found = mt.bland_altman(d, np.zeros(n), factor=z, level=0.9)
        assert (found.upper.high - d.mean()) / d.std(ddof=1) == pytest.approx(k, abs=6e-4)


def test_log_scale_gives_ratios_and_counts_zeros():
    a = np.array([10, 22, 31, 0, 55, 0, np.nan, 80.0])
    b = np.array([9, 20, 33, 4, 50, 0, 7, 70.0])
    found = mt.bland_altman(a, b, log=True)
    assert (found.n, found.n_zero, found.n_missing) == (5, 2, 1)
    plain = mt.bland_altman(np.log(a[[0, 1, 2, 4, 7]]), np.log(b[[0, 1, 2, 4, 7]]))
    for name in ("bias", "lower", "upper"):
        ratio, difference = getattr(found, name), getattr(plain, name)
        assert [ratio.value, ratio.low, ratio.high] == pytest.approx(
            [math.exp(v) for v in (difference.value, difference.low, difference.high)]
        )
    assert found.differences == pytest.approx(a[[0, 1, 2, 4, 7]] / b[[0, 1, 2, 4, 7]])
    nothing = mt.bland_altman([0, 0, 1], [1, 0, 0], log=True)
    assert (nothing.bias.value.code, nothing.n_zero) == ("no_size_above_zero", 3)
    with pytest.raises(mt.CallError, match="sizes below 0"):
        mt.bland_altman([-1, 2], [1, 2], log=True)


def test_too_little_to_say():
    assert mt.bland_altman([1.0], [2.0]).lower.value.code == "fewer_than_two_subjects"
    assert mt.bland_altman([1.0], [2.0]).bias.value == -1
    same = mt.bland_altman([1.1, 2.1, 3.1], [1.0, 2.0, 3.0])
    assert same.upper.value == pytest.approx(0.1)
    assert same.upper.low.code == "no_spread"
    two = mt.bland_altman([1, 2, 3, 4], [1, 2, 2, 5], subjects="aabb")
    assert two.lower.low < two.lower.value < two.upper.value < two.upper.high


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mt.bland_altman([1, 2], [1, 2, 3]), "a has 2 sizes and b 3"),
        (lambda: mt.bland_altman([1, 2], [1, np.inf]), "infinite size"),
        (lambda: mt.bland_altman([1, 2], [1, 2], subjects="a"), "subjects names 1 pairs"),
        (lambda: mt.bland_altman([1, 2], [1, 2], factor=0), "factor must be above 0"),
        (lambda: mt.bland_altman([1, 2], [1, 2], interval="t"), "'exact' or 'approximate'"),
        (lambda: mt.repeatability([1, 2]), r"\(subjects, raters, sessions\)"),
        (lambda: mt.limits_with_mean([[1, -2]], log=True), "sizes below 0"),
    ],
)
def test_wrong_calls(call, words):
    with pytest.raises(mt.CallError, match=words):
        call()


@given(st.integers(0, 10_000), st.floats(0.1, 100))
@settings(max_examples=30, deadline=None)
def test_laws(seed, scale):
    """Swapping raters turns limits round; a unit scales them; ratios do not depend on it."""
    rng = np.random.default_rng(seed)
    a, b = rng.uniform(1, 5, (2, 12))
    there, back, larger = mt.bland_altman(a, b), mt.bland_altman(b, a), mt.bland_altman(scale * a, scale * b)
    assert back.lower.low == pytest.approx(-there.upper.high)
    assert larger.upper.high == pytest.approx(scale * there.upper.high)
    ratios = mt.bland_altman(a, b, log=True), mt.bland_altman(scale * a, scale * b, log=True)
    assert ratios[0].upper.high == pytest.approx(ratios[1].upper.high)
    assert ratios[0].upper.value == pytest.approx(1 / mt.bland_altman(b, a, log=True).lower.value)
    names = rng.integers(0, 5, 12)
    first, second = mt.bland_altman(a, b, subjects=names), mt.bland_altman(a, b, subjects=[f"p{s}" for s in names])
    assert first.upper == second.upper


def test_limits_with_the_mean():
    """±1.96 √((SSR + SSE)/N), and Christensen's interval written out."""
    table = SYSTOLIC[:, [0, 3]]
    table = np.column_stack([table, SYSTOLIC[:, 1] + 3])
    n, k = table.shape
    rater = n * ((table.mean(axis=0) - table.mean()) ** 2).sum()
    error = ((table - table.mean(axis=0) - table.mean(axis=1)[:, None] + table.mean()) ** 2).sum()
    found = mt.limits_with_mean(table)
    assert found.limit.value == pytest.approx(1.96 * math.sqrt((rater + error) / (n * k)))
    df, q = (k - 1, (n - 1) * (k - 1)), stats.chi2.ppf
    below = math.hypot(*(ss * (1 - d / q(0.975, d)) for ss, d in zip((rater, error), df, strict=True)))
    above = math.hypot(*(ss * (d / q(0.025, d) - 1) for ss, d in zip((rater, error), df, strict=True)))
    ends = [1.96 * math.sqrt((rater + error + move) / (n * k)) for move in (-below, above)]
    assert [found.limit.low, found.limit.high] == pytest.approx(ends)
    # about what deviations from the mean show
    away = np.abs(table - table.mean(axis=1, keepdims=True))
    assert 0.9 < (away < found.limit.value).mean() < 0.99
    one_way = mt.limits_with_mean(table, exchangeable=True)
    assert one_way.limit.value == pytest.approx(1.96 * math.sqrt(((away**2).sum() / n / (k - 1)) * (k - 1) / k))
    some = table.copy()
    some[3, 1] = np.nan
    assert mt.limits_with_mean(some).limit.value == pytest.approx(found.limit.value, rel=0.02)
    zero = table.copy()
    zero[:2, 0] = 0
    ratio = mt.limits_with_mean(zero, log=True)
    assert (ratio.n_zero, ratio.n_subjects) == (2, 83)
    assert ratio.limit.value > 1
    several = mt.limits_with_mean(np.repeat(table, 2, axis=0), subjects=np.repeat(np.arange(n), 2))
    assert several.limit.value == pytest.approx(found.limit.value, rel=0.01)
    assert mt.limits_with_mean(np.zeros((4, 3)), log=True).limit.value.code == "no_size_above_zero"


def test_reproducibility_from_the_mean_squares_of_sessions():
    """Complete: σ²_rater + σ²_subject×rater + σ²_error by the three-way analysis of variance."""
    table = np.stack([SYSTOLIC[:, :3], SYSTOLIC[:, 3:]], axis=1)
    n, k, m = table.shape
    cells, subjects, raters = table.mean(axis=2), table.mean(axis=(1, 2)), table.mean(axis=(0, 2))
    error = ((table - cells[:, :, None]) ** 2).sum() / (n * k * (m - 1))
    both = m * ((cells - subjects[:, None] - raters + table.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    rater = n * m * ((raters - table.mean()) ** 2).sum() / (k - 1)
    parts = (rater - both) / (n * m), (both - error) / m, error
    found = mt.repeatability(table)
    assert found.reproducibility.value == pytest.approx(1.96 * math.sqrt(2) * math.sqrt(sum(parts)))
    assert found.repeatability.value == pytest.approx(1.96 * math.sqrt(2 * error))
    assert found.reproducibility.low < found.reproducibility.value < found.reproducibility.high
    assert (found.n_subjects, found.n_raters) == (85, 2)


def test_sessions_of_some():
    table = np.stack([SYSTOLIC[:12, :2], SYSTOLIC[:12, 3:5]], axis=1)
    table[6:, 1, 1] = np.nan
    table[:2, 0, 1] = np.nan
    found = mt.repeatability(table, log=True)
    assert (found.freedom, found.n_subjects, found.n_raters) == (16, 12, 2)
    assert 1 < found.repeatability.low < found.repeatability.value < found.reproducibility.value
    several = mt.repeatability(table, subjects=np.arange(12) // 2)
    assert several.within_sd == pytest.approx(mt.repeatability(table).within_sd)
    assert several.repeatability.low < several.repeatability.value < several.repeatability.high
    assert mt.repeatability(table[:, :, :1]).repeatability.value.code == "measured_once"
    assert mt.repeatability(np.repeat(table[:, :, :1], 2, axis=2)).repeatability.low.code == "no_spread"


def test_one_subject_alone_differs():
    """Without that subject there is no spread within raters, so that the jackknife has no interval."""
    table = np.repeat(SYSTOLIC[:12, :2, None], 2, axis=2)
    table[0, 0, 1] += 5
    found = mt.repeatability(table, subjects=np.arange(12) // 2)
    assert found.repeatability.low.code == "undefined_without_a_subject"
    assert found.reproducibility.low.code == "undefined_without_a_subject"
    assert mt.repeatability(table).repeatability.low > 0


def test_masked_sizes_are_missing():
    """As nan is, in every function of sizes."""
    rng = np.random.default_rng(3)
    table = np.round(rng.uniform(1, 9, (14, 1)) + rng.normal(size=(14, 3)), 3)
    hidden = np.zeros(table.shape, bool)
    hidden[2, 0] = hidden[5, 1] = True
    gaps, masked = np.where(hidden, np.nan, table), np.ma.masked_array(table, hidden)
    whole = np.ma.masked_equal([[9, 2], [6, 999], [8, 4], [7, 1], [10, 6]], 999)
    assert mt.icc(masked) == mt.icc(gaps) != mt.icc(table)
    assert mt.icc(whole) == mt.icc([[9, 2], [6, math.nan], [8, 4], [7, 1], [10, 6]])
    assert mt.icc([*masked]) == mt.icc(gaps)
    assert mt.limits_with_mean(masked) == mt.limits_with_mean(gaps)
    for values in ((masked, gaps), (masked[:, None], gaps[:, None])):
        assert len({str(mt.repeatability(v)) for v in values}) == 1
    for function in (mt.bland_altman, mt.deming, mt.passing_bablok):
        found = function(masked[:, 0], masked[:, 1])
        assert found == function(gaps[:, 0], gaps[:, 1])
        assert found.n_missing == 2
    assert mt.repeatability(masked).freedom == 26

"""Intraclass correlation: published tables, R's psych and lme4 (numbers from oracles.R), and laws."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import manytruths as mt
from evidence.measurements import SHROUT
from manytruths.measures.variance_components import _fit_reml, fit_sizes

KINDS = ("1", "A,1", "C,1", "k", "A,k", "C,k")


def made(n, k, rater):
    i, j = np.arange(1, n + 1)[:, None], np.arange(1, k + 1)[None]
    return 40 + 12 * np.sin(1.7 * i) + rater * np.cos(2.3 * j) + 2 * np.sin(12.9898 * i + 78.233 * j)


def gaps(table):
    i, j = np.indices(table.shape) + 1
    return np.where((7 * i + 3 * j) % 10 < 3, np.nan, table)


def few():
    table = SHROUT.copy()
    table[0, 1] = table[3, 2] = table[5, 0] = np.nan
    return table


def once():
    table = made(8, 3, 3)
    table[1:, 2] = np.nan
    return table


def test_the_six_of_shrout_and_fleiss():
    assert [round(float(mt.icc(SHROUT, kind)), 2) for kind in KINDS] == [0.17, 0.29, 0.71, 0.44, 0.62, 0.91]
    r = mt.icc(SHROUT)
    assert (round(r.low, 3), round(r.high, 3)) == (0.019, 0.761)  # their interval of (2,1)
    assert r.name == "two-way random, absolute agreement, single rater"
    assert mt.icc(SHROUT, "A,k").name == "two-way random, absolute agreement, mean of 4 raters"
    assert (r.n_subjects, r.n_raters, r.method, r.level) == (6, 4, "F", 0.95)


PSYCH = {
    "shrout": [
        (0.165741768405, -0.1329323248748, 0.722560062328), (0.289763779528, 0.0187865133747, 0.761084369649),
        (0.714840714841, 0.3424647650339, 0.945858259955), (0.442797133679, -0.8844421552381, 0.912415420341),
        (0.620050547599, 0.0711368153025, 0.927232040168), (0.909315542377, 0.6756747138163, 0.985891678169),
    ],
    "made(12, 3, 3)": [
        (0.922629376029, 0.815018844357, 0.974719277346), (0.923871880037, 0.604502706679, 0.980644767120),
        (0.970634482126, 0.924701473995, 0.990689539118), (0.972807174773, 0.929665967740, 0.991428632200),
        (0.973267215600, 0.820961374323, 0.993463917440), (0.990016037897, 0.973573928511, 0.996877129463),
    ],
    "made(40, 5, 0.5)": [
        (0.968695993746, 0.951014051352, 0.981548384974), (0.968699131697, 0.950993893888, 0.981555923957),
        (0.969184892882, 0.951695451686, 0.981856358359), (0.993578380824, 0.989803210755, 0.996254386906),
        (0.993579041067, 0.989798843616, 0.996255940213), (0.993681207154, 0.989950750782, 0.996317825224),
    ],
}  # fmt: skip
"""psych::ICC in the order of KINDS: value, lower and upper bound."""


PRINTED = {
    # R's DescToolsX, on icc; the first two are in Stata's overview of icc, too ("webuse judges")
    "1": ("-.1329323", ".7225601"), "k": ("-.8844422", ".9124154"),
    "A,1": (".0187865", ".7610844"), "C,1": (".3424648", ".9458583"), "A,k": (".0711368", ".9272320"),
    "C,k": (".6756747", ".9858917"),
}  # fmt: skip
PSYCH_PRINTS = {
    "1": ("-0.133", "0.72"), "A,1": ("0.019", "0.76"), "C,1": ("0.342", "0.95"), "k": ("-0.884", "0.91"),
    "A,k": ("0.071", "0.93"), "C,k": ("0.676",),
}  # fmt: skip
"""The documentation of psych::ICC, without the last end, which was not seen in print."""
IRR_PRINTS = {"A,1": ("0.019", "0.761")}
"""R's irr::icc(ratings, "twoway", "agreement")."""


@pytest.mark.parametrize("printed", [PRINTED, PSYCH_PRINTS, IRR_PRINTS], ids=["Stata, DescToolsX", "psych", "irr"])
def test_intervals_as_other_programs_print_them(printed):
    """McGraw and Wong's intervals of Shrout and Fleiss' example: every printed digit."""
    for kind, ends in printed.items():
        r = mt.icc(SHROUT, kind)
        for end, text in zip((r.low, r.high), ends, strict=False):
            digits = len(text.partition(".")[2])
            assert round(end, digits) == float(text), (kind, text)


@pytest.mark.parametrize("name", PSYCH)
def test_psych(name):
    table = SHROUT if name == "shrout" else eval(name)
    found = [mt.icc(table, kind) for kind in KINDS]
    np.testing.assert_allclose([(float(r), r.low, r.high) for r in found], PSYCH[name], rtol=0, atol=1e-9)


LME4 = {
    "few()": ([2.526598688627, 5.016223729349, 0.821139064804], [1.89478585750, 5.55073852354]),
    "gaps(made(20, 5, 3))": ([75.56505107964, 5.34248177967, 2.51111513646], [69.98034731862, 7.58653910785]),
    "gaps(made(30, 4, 0))": ([74.6464136332, 0.0, 2.69141581725], [74.64641798483, 2.69141573466]),
    "once()": ([89.18816775589, 11.18129819819, 1.07974077156], [90.26475127337, 9.62012088975]),
}
"""lme4::lmer: variances of subjects, raters and errors; of subjects and errors in the one-way model."""


@pytest.mark.parametrize("name", LME4)
def test_lme4_on_tables_with_gaps(name):
    two, one = mt.icc(eval(name)), mt.icc(eval(name), "1")
    parts = two.components
    np.testing.assert_allclose([parts.subject, parts.rater, parts.error], LME4[name][0], rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose([one.components.subject, one.components.error], LME4[name][1], rtol=1e-6)
    assert float(two) == pytest.approx(LME4[name][0][0] / sum(LME4[name][0]), abs=1e-7)
    assert two.method == "bootstrap"
    assert 0 <= two.low < two < two.high <= 1


@pytest.mark.parametrize("one_way", [True, False])
def test_reml_of_a_complete_table_is_the_analysis_of_variance(one_way):
    table = made(15, 4, 3)
    whole = fit_sizes(table, one_way=one_way)
    fitted = _fit_reml(table, np.ones(table.shape, bool), np.arange(15), one_way, 40_000, 0)
    np.testing.assert_allclose(fitted.components, whole.components, rtol=1e-7)
    np.testing.assert_allclose(fitted.squares[[0, 2]], whole.squares[[0, 2]], rtol=1e-9)
    # and simulated intervals are those by F
    from manytruths.measures.intraclass import icc_of_model

    for kind in ("1", "k") if one_way else ("C,1", "C,k"):
        exact, drawn = icc_of_model(whole, kind), icc_of_model(fitted, kind)
        assert (drawn.low, drawn.high) == pytest.approx((exact.low, exact.high), abs=0.006)


def test_simulated_squares_have_the_moments_of_whole_tables():
    """Drawn by patterns of raters, mean squares are distributed as those of tables that are drawn size by size."""
    from manytruths.measures.variance_components import _Design

    there = ~np.isnan(gaps(made(12, 4, 1)))
    design, rng, (s, r, e) = _Design(there, False), np.random.default_rng(1), (2.0, 0.5, 1.0)
    drawn = design.draw(np.array([s, r, e]), 40_000, 0)
    y = np.sqrt(e) * rng.standard_normal((40_000, *there.shape)) + np.sqrt(s) * rng.standard_normal((40_000, 12, 1))
    y = np.where(there, y + np.sqrt(r) * rng.standard_normal((40_000, 1, 4)), 0.0)
    rows, numbers = y.sum(axis=2), there.sum(axis=1)
    sums = y.sum(axis=1), (rows / numbers) @ there, (y**2).sum(axis=(1, 2)), (rows**2 / numbers).sum(axis=1)
    slow = design.squares(*sums)
    expected = [e + design.per_subject * s, e + design.per_rater * r, e]
    np.testing.assert_allclose(drawn.mean(axis=0), expected, rtol=0.02)
    np.testing.assert_allclose(slow.mean(axis=0), expected, rtol=0.02)
    np.testing.assert_allclose(drawn.std(axis=0), slow.std(axis=0), rtol=0.03)


def test_standard_errors_of_measurement():
    r, c, one = (mt.icc(SHROUT, kind) for kind in ("A,1", "C,1", "1"))
    between, error = (32.4861111 - 1.0194444) / 6, 1.0194444  # from the mean squares of the paper
    assert r.sem_agreement == pytest.approx(math.sqrt(between + error), rel=1e-6)
    assert r.sem_consistency == pytest.approx(math.sqrt(error), rel=1e-6)
    assert r.smallest_detectable_change == pytest.approx(1.96 * math.sqrt(2) * r.sem_agreement)
    assert c.smallest_detectable_change == pytest.approx(1.96 * math.sqrt(2) * r.sem_consistency)
    assert one.sem_agreement == pytest.approx(math.sqrt(6.2638889), rel=1e-6)
    assert mt.reason(one.sem_consistency) == "in a one-way model, differences between raters are part of the error"


def test_a_float_with_more_to_it():
    r = mt.icc(SHROUT)
    assert isinstance(r, float)
    assert f"{r:.2f}" == "0.29"
    for other in (pickle.loads(pickle.dumps(r)), copy.deepcopy(r)):
        assert (float(other), other.low, other.kind, other.components) == (float(r), r.low, r.kind, r.components)
    assert mt.icc(SHROUT, "A,k", k=4) == mt.icc(SHROUT, "A,k") > mt.icc(SHROUT, "A,k", k=2) > r
    assert mt.icc(SHROUT, level=0.8).high < r.high


@pytest.mark.parametrize(
    ("table", "kind", "code"),
    [
        (np.full((5, 3), 0.1), "A,1", "constant_sizes"),
        ([[1.0, 2.0]], "A,1", "fewer_than_two_subjects"),
        ([[1.0, np.nan], [2.0, np.nan]], "A,1", "fewer_than_two_raters"),
        ([[1.0, np.nan], [np.nan, 2.0]], "1", "no_size_given_twice"),
        ([[1.0, 2.0], [3.0, np.nan]], "A,1", "errors_not_separable"),
        ([[1.0, np.inf], [3.0, 2.0]], "A,1", "infinite_size"),
        ([[1.0, 2.0], [1.0, 2.0], [1.0, 2.0]], "C,1", "subjects_do_not_differ"),
        (np.empty((0, 3)), "A,1", "fewer_than_two_subjects"),
        ([[1e200, 2e200], [4e200, 3e200], [5e200, 7e200]], "A,1", "sizes_out_of_range"),
        ([[1.7e308, -1.7e308], [0.0, 1.0]], "A,1", "sizes_out_of_range"),
        ([[1e-200, 2e-200], [4e-200, 3e-200], [5e-200, 7e-200]], "1", "sizes_out_of_range"),
        ([[1e-200, 2e-200], [4e-200, np.nan], [5e-200, 7e-200]], "A,1", "sizes_out_of_range"),
        ([[1e-320, 2e-320], [4e-320, np.nan], [5e-320, 7e-320]], "1", "sizes_out_of_range"),
    ],
)
def test_undefined_with_a_code(table, kind, code):
    r = mt.icc(table, kind)
    assert isinstance(r, mt.Undefined)
    assert math.isnan(r)
    assert (r.code, mt.reason(r.low)) == (code, mt.reason(r))
    assert (r.kind, pickle.loads(pickle.dumps(r)).code, copy.deepcopy(r).code) == (kind, code, code)
    assert mt.reason(r.sem_agreement) or code == "subjects_do_not_differ"


@pytest.mark.parametrize("gap", [False, True])
def test_raters_without_error_have_no_interval(gap):
    table = np.array([0.1, 0.7, 1.9, 3.3, 8.2])[:, None] + np.array([0.0, 0.3, 0.1])
    table[0, 0] = np.nan if gap else table[0, 0]
    agreement, consistency = mt.icc(table), mt.icc(table, "C,1")
    assert consistency == 1
    assert 0.98 < agreement < 1
    assert agreement.low.code == consistency.high.code == "raters_identical"
    same = np.repeat(table[:, 2:], 3, axis=1)
    same[0, 0] = np.nan if gap else same[0, 0]
    assert mt.icc(same) == pytest.approx(1, abs=1e-12)
    assert mt.icc(same, "1").low.code == "raters_identical"


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: mt.icc(SHROUT, "2,1"), "kind must be one of '1', 'A,1'"),
        (lambda: mt.icc(SHROUT, "C,k", exchangeable=True), r"ICC\(C,k\) needs to know who is who"),
        (lambda: mt.icc([1, 2, 3]), r"an array \(subjects, raters\); got an array of shape \(3,\)"),
        (lambda: mt.icc([["a", "b"]]), "must be numbers"),
        (lambda: mt.icc(SHROUT, level=95), "level must be between 0 and 1"),
        (lambda: mt.icc(SHROUT, "A,k", k=0), "k must be a number of raters"),
        (lambda: mt.icc(SHROUT, resamples=0), "resamples must be from 1"),
        (lambda: mt.icc(SHROUT, interval="F"), "interval must be one of 'mcgraw-wong', 'generalized'; got 'F'"),
        (lambda: mt.icc(SHROUT, subjects=[1, 2]), "subjects names 2 rows, and there are 6"),
    ],
)
def test_wrong_calls(call, words):
    with pytest.raises(mt.CallError, match=words):
        call()


def test_exchangeable_raters_one_way_whatever_their_order():
    rng, table = np.random.default_rng(0), gaps(made(20, 5, 1))
    value = mt.icc(table, "1", exchangeable=True)
    shuffled = rng.permuted(table, axis=1)
    assert mt.icc(shuffled, "1", exchangeable=True) == pytest.approx(float(value), abs=1e-9)
    assert mt.icc(table, "k", exchangeable=True).name == "one-way random, mean of 5 raters"


def on_ratio_scale(single, k):
    return np.log((1 + (k - 1) * np.asarray(single)) / (1 - np.asarray(single)))


def test_several_rows_of_a_subject_count_as_one_subject():
    """Every row twice: the value of all rows, with the interval of the tables without one subject, by Student's t."""
    rng = np.random.default_rng(3)
    once_each = 2 * rng.normal(size=(80, 1)) + rng.normal(size=(80, 3))
    twice, names = np.repeat(once_each, 2, axis=0), np.repeat(np.arange(80), 2)
    t = stats.t.ppf(0.975, 79)
    for kind in ("A,1", "C,1", "1"):
        paired, naive = mt.icc(twice, kind, subjects=names), mt.icc(twice, kind)
        assert paired == float(naive)
        assert paired.method == "jackknife"
        without = on_ratio_scale([float(mt.icc(twice[names != s], kind)) for s in range(80)], 3)
        reach = t * math.sqrt(79 / 80 * ((without - without.mean()) ** 2).sum())
        ends = on_ratio_scale([paired.low, paired.high], 3) - on_ratio_scale(float(paired), 3)
        assert ends == pytest.approx([-reach, reach], abs=1e-9)
        mean = mt.icc(twice, kind[:-1] + "k", subjects=names)
        assert (mean.low, mean.high) == pytest.approx([3 * r / (1 + 2 * r) for r in (paired.low, paired.high)])
    assert mt.icc(once_each, subjects=range(80)).method == "F"
    some = np.where(np.arange(160)[:, None] == np.arange(3), np.nan, twice)
    r = mt.icc(some, "C,1", subjects=names)
    assert r.method == "jackknife"
    whole = mt.icc(twice, "C,1", subjects=names)
    assert [float(r), r.low, r.high] == pytest.approx([float(whole), whole.low, whole.high], abs=0.01)


@pytest.mark.parametrize("kind", ["A,1", "C,1", "1"])
def test_the_jackknife_knows_the_spread_of_estimates(kind):
    """The mean of its squared standard errors is the variance of estimates over tables, within Monte Carlo error.

    In one table the standard error is itself an estimate, from 80 subjects: its width against that by F has an SD of
    0.12, so that one table tells little. Subjects that count twice would halve the variance.
    """
    rng, names, t = np.random.default_rng(3), np.repeat(np.arange(80), 2), stats.t.ppf(0.975, 79)
    estimates, squares = [], []
    for _ in range(300):
        table = 2 * rng.normal(size=(80, 1)) + rng.normal(size=(80, 3))
        r = mt.icc(np.repeat(table, 2, axis=0), kind, subjects=names)
        value, high = on_ratio_scale([float(r), r.high], 3)
        estimates.append(value)
        squares.append(((high - value) / t) ** 2)
    ratio = np.mean(squares) / np.var(estimates, ddof=1)
    # of a variance of 300 normal numbers, and of the mean of the squares
    error = ratio * math.sqrt(2 / 299 + np.var(squares) / np.mean(squares) ** 2 / 300)
    assert error < 0.1
    assert abs(ratio - 1) < 3 * error


@pytest.mark.parametrize("name", ["SHROUT", "made(12, 3, 3)", "made(40, 5, 0.5)", "made(9, 2, 1)", "made(300, 3, 9)"])
def test_generalized_interval_by_another_integration(name):
    """At its ends the correlation of variances that are drawn, given the mean squares, is exceeded as the level says.

    S, R and E are mean squares, u, v and w chi-squares over their degrees of freedom. Here v and w are quantiles at
    normal numbers, over which the trapezoidal rule runs.
    """
    table = eval(name)
    fit, r = fit_sizes(table), mt.icc(table, interval="generalized")
    n, k = table.shape
    (s, rater, e), (between, raters, within) = fit.squares, fit.freedom
    assert (r.method, float(r)) == ("generalized", float(mt.icc(table)))
    z = np.linspace(-7, 7, 1401)
    weight = stats.norm.pdf(z) * (z[1] - z[0])
    v = (stats.chi2.ppf(stats.norm.cdf(z), raters) / raters)[:, None]
    w = stats.chi2.ppf(stats.norm.cdf(z[::20]), within) / within
    for end, wanted in ((r.low, 0.025), (r.high, 0.975)):
        x = k * end / (1 - end)
        noise = e / w + x * (rater / n / v + (1 - 1 / n) * e / w)
        found = weight @ stats.chi2.sf(between * s / noise, between) @ (20 * weight[::20])
        assert found == pytest.approx(wanted, abs=1e-7)


def test_generalized_intervals_of_other_kinds_are_those_by_f():
    for kind in ("1", "k", "C,1", "C,k"):
        r, f = mt.icc(SHROUT, kind, interval="generalized"), mt.icc(SHROUT, kind)
        assert (r.low, r.high, r.method) == (f.low, f.high, "F")
    single, mean = mt.icc(SHROUT, interval="generalized"), mt.icc(SHROUT, "A,k", interval="generalized")
    assert (mean.low, mean.high) == pytest.approx([4 * r / (1 + 3 * r) for r in (single.low, single.high)])
    gap = mt.icc(few(), interval="generalized")
    assert gap.method == "generalized"
    assert gap.low < gap < gap.high
    assert mt.icc(few(), interval="generalized", resamples=10) == gap
    assert mt.icc(SHROUT, subjects=[0, 0, 1, 1, 2, 2], interval="generalized").method == "jackknife"


def test_jackknife_of_a_table_with_gaps_is_refitting_it():
    table, names = gaps(made(24, 4, 2)), np.arange(24) // 2
    model = fit_sizes(table, subjects=[f"{name:02}" for name in names])
    for subject in (0, 5, 11):
        without = fit_sizes(table[names != subject])
        np.testing.assert_allclose(model.replicates[subject], without.components, rtol=1e-6, atol=1e-8)


@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-1000, 1000), st.sampled_from(KINDS))
@settings(max_examples=40, deadline=None)
def test_laws(seed, scale, shift, kind):
    """Order of subjects and raters, unit and origin do not matter; the interval holds the value."""
    rng = np.random.default_rng(seed)
    n, k = rng.integers(4, 12), rng.integers(2, 5)
    table = rng.normal(size=(n, 1)) * 2 + rng.normal(size=(1, k)) + rng.normal(size=(n, k))
    table[rng.random((n, k)) < (0.15 if seed % 2 else 0)] = np.nan
    interval = "generalized" if seed % 3 else "mcgraw-wong"
    r = mt.icc(table, kind, interval=interval)
    moved = mt.icc(shift + scale * table[rng.permutation(n)][:, rng.permutation(k)], kind, interval=interval)
    if isinstance(r, mt.Undefined):
        assert moved.code == r.code
        return
    assert float(moved) == pytest.approx(float(r), rel=1e-5, abs=1e-5)
    if r.method in ("F", "generalized") and not math.isnan(r.low):
        assert (moved.low, moved.high) == pytest.approx((r.low, r.high), rel=1e-5, abs=1e-5)
        assert r.low <= r <= r.high


def test_nobody_waits_for_sixty_thousand():
    rng = np.random.default_rng(0)
    table = 2 * rng.normal(size=(60_000, 1)) + rng.normal(size=(60_000, 2))
    assert mt.icc(table) == pytest.approx(0.8, abs=0.01)
    table[::1000, 0] = np.nan
    r = mt.icc(table)
    assert r.low < 0.8 < r.high


def test_an_interval_over_subjects_that_one_decides():
    """Raters differ in one subject only: without it there is no error."""
    table = np.repeat(np.arange(12.0)[:, None], 3, axis=1)
    table[0] += [0, 1, 3]
    r = mt.icc(table, subjects=np.arange(12) // 2)
    assert r < 1
    assert not math.isnan(r.low) or r.low.code == "undefined_without_a_subject"
    two = mt.icc(table[[0, 1, 5]], subjects=[0, 0, 1])
    assert two.method == "jackknife"
    assert math.isnan(two.low)


def test_gaps_and_subjects_without_whom_nothing_is_left():
    table = [[1.0, 2.0], [2.0, 2.5], [np.nan, 4.0], [5.0, 4.0]]
    for names, known in (([0, 0, 1, 2], False), ([0, 0, 0, 1], False), ([0, 1, 2, 3], True)):
        r = mt.icc(table, subjects=names)
        assert math.isnan(r.low) is not known
        assert known or r.low.code == "undefined_without_a_subject"


def test_intervals_of_subjects_with_the_same_mean_are_undefined():
    """The mean square of subjects is 0: its ratio has no distribution."""
    for kind in ("1", "A,1", "C,1"):
        r = mt.icc([[2, 2], [2, 2], [3, 1]], kind)
        assert r == pytest.approx(-1)
        assert r.low.code == r.high.code == "subjects_do_not_differ"
    assert mt.icc([[2, 2], [2, 2], [3, 1]], "A,k").code == "subjects_do_not_differ"
    r = mt.icc([[1.004, -0.618], [1.822, -1.32], [-0.662, 0.935]])
    assert r.low.code == r.high.code == "subjects_differ_too_little"


def test_intervals_of_opposite_raters_have_no_width_of_zero():
    """Two raters of twelve cases, the second 4 less the first: the estimate is -n/(n - 1) / (2 - n/(n - 1))."""
    first = np.tile([1.0, 2.0, 3.0], 4)
    r = mt.icc(np.column_stack([first, 4 - first]))
    assert r == pytest.approx(-1.2)
    assert r.low.code == "subjects_do_not_differ"
    first += 0.1 * np.arange(12)
    r = mt.icc(np.column_stack([first, 0.3 - first]))
    assert r < 0
    assert r.low.code == "subjects_do_not_differ"
    beyond = mt.icc([[1, 0], [0, 1.5], [1, 0], [0.2, 1]])
    assert beyond < -1
    assert beyond.low.code == "subjects_differ_too_little"
    r = mt.icc([[3, 3, 1], [2, 0, 3]])
    assert r.low == -1 < r < r.high


SMALL = st.tuples(st.integers(2, 5), st.integers(2, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(
            st.one_of(st.integers(0, 3), st.floats(-3, 3), st.just(math.nan)), min_size=shape[1], max_size=shape[1]
        ),
        min_size=shape[0],
        max_size=shape[0],
    )
)
COMPLETE = st.tuples(st.integers(2, 5), st.integers(2, 4)).flatmap(
    lambda shape: st.lists(
        st.lists(st.integers(0, 3), min_size=shape[1], max_size=shape[1]), min_size=shape[0], max_size=shape[0]
    )
)


@pytest.mark.parametrize("unit", [2.0**-225, 2.0**225])
@pytest.mark.parametrize("gap", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_unit_does_not_matter(kind, gap, unit):
    """Up to sizes of 1e68 and from differences of 1e-68 on."""
    table = np.array(SHROUT, float)
    if gap:
        table[0, 1] = np.nan
    r, moved = mt.icc(table, kind), mt.icc(table * unit, kind)
    assert (moved, moved.low, moved.high) == pytest.approx((r, r.low, r.high), rel=1e-9)
    assert moved.sem_agreement == pytest.approx(r.sem_agreement * unit, rel=1e-9)


@settings(max_examples=150, deadline=None)
@given(st.one_of(SMALL, COMPLETE), st.sampled_from(KINDS), st.sampled_from(("mcgraw-wong", "generalized")))
def test_small_tables_never_raise(table, kind, interval):
    r = mt.icc(table, kind, resamples=50, interval=interval)
    if isinstance(r, mt.Undefined):
        assert r.code
        return
    assert r <= 1 + 1e-12
    if math.isnan(r.low) or math.isnan(r.high):
        assert r.low.code == r.high.code != ""
        return
    assert r.low <= r + 1e-9
    assert r <= r.high + 1e-9
    assert r.low < r.high <= 1 + 1e-12
    assert not kind.endswith("1") or r.low >= -1 - 1e-12

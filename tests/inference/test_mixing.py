"""Mixing distributions of votes: known mixtures, published figures of the demo's raters, other algorithms."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from manytruths.inference.mixing import (
    VoteTable,
    binomial_matrix,
    fit_mixing,
    identified_ranges,
    mixing_grid,
    resample_raters,
    thin_votes,
)
from manytruths.ratings.planning.targets import accuracy_target, match_target, tie_target

DEMO = np.array([1279149.0, 25919, 8986, 13559, 23345, 25298])
"""Pixels by votes of the demo's five raters, in the 21 cases that all five read."""


def table_of(counts, *, given_marked=True, resampled=None):
    counts = np.atleast_2d(np.asarray(counts, np.float64))
    drawn = np.zeros((0, counts.shape[1])) if resampled is None else np.asarray(resampled, np.float64)
    chance = np.full(len(drawn), 1 / max(len(drawn), 1))
    people = counts.shape[1] - 1 if len(drawn) else 0
    return VoteTable(counts, drawn, chance, np.zeros(len(drawn), np.int64), people, given_marked)


def fresh_panel(k, pilot):
    """A panel of k new raters agrees with all such raters on items that any of the pilot's marked, by SciPy."""
    p = mixing_grid()
    marks = binom.sf(k // 2, k, p)
    return (1 - (1 - p) ** pilot) * np.where(p >= 0.5, marks, 1 - marks)


def test_the_demos_raters_without_allowance():
    own, eleven = identified_ranges(table_of(DEMO), [match_target(5, 5, given_marked=True), fresh_panel(11, 5)], None)
    assert (own.low, own.high) == pytest.approx((0.871, 0.951), abs=0.0015)
    assert (eleven.low, eleven.high) == pytest.approx((0.884, 0.990), abs=0.0015)
    assert (own.value, eleven.value) == pytest.approx((0.927, 0.956), abs=0.002)
    # truth from 100 more raters of each kind
    assert own.low < 0.938 < own.high
    assert eleven.low < 0.954 < eleven.high


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.floats(0.01, 1), st.floats(0.02, 1)), min_size=1, max_size=6), st.integers(2, 8))
def test_the_range_holds_what_a_known_distribution_gives(points, raters):
    """Points of the grid, so that the distribution is one of those searched."""
    grid = mixing_grid()
    weights = np.zeros(len(grid))
    for p, weight in points:
        weights[np.abs(grid - p).argmin()] += weight
    counts = 1e6 * binomial_matrix(raters) @ weights / weights.sum()
    for k in (1, raters, raters + 3):
        target = match_target(k, raters, given_marked=True)
        (found,) = identified_ranges(table_of(counts), [target], None)
        seen = 1 - binomial_matrix(raters)[0]
        assert found.low - 1e-4 <= target @ weights / (seen @ weights) <= found.high + 1e-4
        assert found.low <= found.value <= found.high


def test_panels_no_larger_than_the_pilot_are_determined_against_a_reference():
    counts = 1000 * binomial_matrix(5) @ fit_mixing([10, 20, 30, 80, 200, 400])
    small, large = identified_ranges(
        table_of(counts, given_marked=False), [accuracy_target(3, 2), accuracy_target(9, 2)], None
    )
    expected = binom.sf(1, 3, mixing_grid()) @ fit_mixing([10, 20, 30, 80, 200, 400])
    assert (small.low, small.high) == pytest.approx((expected, expected), abs=1e-4)
    assert large.high - large.low > 10 * (small.high - small.low)


def test_two_raters_by_every_distribution_of_three_points():
    """The smallest and largest value of a programme with three equations lie at distributions of three points."""
    shares = np.array([0.6, 0.1, 0.3])
    grid, best = np.round(np.linspace(0, 1, 41), 6), [1.0, 0.0]
    chances = np.stack([binom.pmf(a, 2, grid) for a in range(3)])
    agrees = chances[1] / 2 + chances[2] * (grid > 0.5) + chances[2] * (grid == 0.5) / 2
    for i in range(41):
        for j in range(i):
            for k in range(j):
                corner = chances[:, [i, j, k]]
                if abs(np.linalg.det(corner)) > 1e-9:
                    weights = np.linalg.solve(corner, shares)
                    if weights.min() >= -1e-12:
                        value = agrees[[i, j, k]] @ weights / 0.4
                        best = [min(best[0], value), max(best[1], value)]
    (found,) = identified_ranges(table_of(1000 * shares), [match_target(2, 2, given_marked=True)], None)
    assert found.low <= best[0] + 1e-6
    assert found.high >= best[1] - 1e-6
    assert (found.low, found.high) == pytest.approx(tuple(best), abs=0.03)


def test_the_estimate_has_the_largest_likelihood():
    counts = np.array([40.0, 3, 9, 2, 30])
    shares, chances = counts / counts.sum(), binomial_matrix(4)
    weights = np.full(chances.shape[1], 1 / chances.shape[1])
    for _ in range(20_000):  # EM, slow and sure
        weights *= shares @ (chances / (chances @ weights)[:, None])
    by_em = shares @ np.log(chances @ weights)
    ours = shares @ np.log(chances @ fit_mixing(counts))
    assert ours >= by_em - 1e-7
    assert ours == pytest.approx(by_em, abs=1e-4)


def test_allowance_widens_and_never_narrows():
    random = np.random.default_rng(0)
    subjects = random.multinomial(2000, DEMO / DEMO.sum(), size=20)
    target = [match_target(5, 5, given_marked=True)]
    (bare,), (with_subjects,) = (identified_ranges(table_of(subjects), target, level) for level in (None, 0.95))
    drawn = random.multinomial(2000, DEMO / DEMO.sum(), size=50)
    (with_raters,) = identified_ranges(table_of(subjects, resampled=drawn), target, 0.95)
    assert with_subjects.low < bare.low
    assert with_subjects.high > bare.high
    assert with_raters.low < with_subjects.low


def test_shares_that_were_never_seen_are_not_impossible():
    """Ten items, all unanimous: the rule of three."""
    few, many = (table_of([0.6 * n, 0, 0, 0.4 * n], given_marked=False) for n in (10, 100_000))
    target = [match_target(3, 3, given_marked=False)]
    (small,), (large,) = identified_ranges(few, target), identified_ranges(many, target)
    assert small.low < 0.95
    assert large.low > 0.999


def test_only_marked_items_counted():
    """Where unmarked pixels were not counted, the range is nearly that of the whole image."""
    whole, part = table_of(DEMO), table_of([0, *DEMO[1:]])
    target = [match_target(5, 5, given_marked=True)]
    (one,), (two,) = identified_ranges(whole, target, None), identified_ranges(part, target, None)
    assert (one.low, one.high) == pytest.approx((two.low, two.high), abs=1e-3)


def test_resamples_of_raters():
    draws = resample_raters(4)
    assert len(draws.times) == 35
    assert (draws.times.sum(axis=1) == 4).all()
    assert draws.chance.sum() == pytest.approx(1)
    apart = draws.times - 1
    np.testing.assert_allclose((draws.chance[:, None] * apart).T @ apart, np.eye(4) - 0.25, atol=1e-12)
    # five ways to share four among four
    assert len(set(draws.kinds.tolist())) == 5
    some = resample_raters(12, most=300, seed=1)
    assert some.times.shape == (300, 12)
    assert (np.sort(some.times[:20], axis=1) == np.sort(some.times[0])).all()


def test_raters_who_are_alike_need_little_allowance():
    """Independent raters of one kind: what differs between resamples of one kind is chance, not raters."""
    random = np.random.default_rng(0)
    p = random.choice([0.05, 0.4, 0.9], 20_000, p=[0.7, 0.1, 0.2])
    alike, unlike = (random.random((len(p), 5)) < p[:, None] * np.array(f) for f in ([1.0] * 5, [1, 1, 0.2, 1, 0.5]))
    errors = []
    for marks in (alike, unlike):
        draws = resample_raters(5)
        resampled = np.stack([np.bincount(marks @ times, minlength=6) for times in draws.times]).astype(float)
        counts = np.bincount(marks.sum(axis=1), minlength=6)[None].astype(float)
        table = VoteTable(counts, resampled, draws.chance, draws.kinds, 5, True)
        errors.append(np.sqrt(table.over_raters.diagonal()).max())
    assert errors[0] < 0.01 < 5 * errors[0] < errors[1]


def test_thinned_votes_and_targets_by_counting():
    np.testing.assert_allclose(thin_votes(4, 2)[:, 2], [1 / 6, 4 / 6, 1 / 6])
    p = mixing_grid()
    # the pilot's two and one more, on items that one of the two marked; a panel of three never ties
    expected = np.where(p > 0.5, 2 * p**2 * (1 - p) + p**2, np.where(p < 0.5, 2 * p * (1 - p) ** 2, np.nan))
    keep = p != 0.5
    np.testing.assert_allclose(match_target(3, 2, given_marked=True)[keep], expected[keep], atol=1e-12)
    np.testing.assert_allclose(tie_target(2, 2, given_marked=True), 2 * p * (1 - p), atol=1e-12)
    np.testing.assert_allclose(tie_target(4, 2, given_marked=False), 6 * (p * (1 - p)) ** 2, atol=1e-12)
    assert not tie_target(3, 2, given_marked=True).any()

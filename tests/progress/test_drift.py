"""Tests for drift: correlations against other implementations, error rates, who is named, and looks."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from tests.simulations.progress import draw_readings as readings
from tests.simulations.progress import drifts_of, is_named

from manytruths.inference.drift_tests import (
    choose_looks,
    excess_distances,
    log_ratios_to_others,
    rank_trend,
    size_drift,
    spent,
)
from manytruths.inference.onsets import find_onset

# -- trends ------------------------------------------------------------------------------------------


def test_without_anything_beside_it_is_spearman():
    rng = np.random.default_rng(0)
    values, times = rng.normal(size=30), np.repeat(np.arange(10), 3)
    theirs = stats.spearmanr(values, times)
    found = rank_trend(values, times)
    assert found.correlation == pytest.approx(theirs.statistic, abs=1e-12)
    assert found.p_value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_beside_a_size_it_is_the_partial_correlation_of_ranks():
    rng = np.random.default_rng(1)
    size = rng.normal(size=40)
    times, values = size + rng.normal(size=40), size + rng.normal(size=40)
    a, b, c = (stats.rankdata(each) for each in (values, times, size))
    ab, ac, bc = (np.corrcoef(*pair)[0, 1] for pair in ((a, b), (a, c), (b, c)))
    found = rank_trend(values, times, size)
    assert found.correlation == pytest.approx((ab - ac * bc) / math.sqrt((1 - ac**2) * (1 - bc**2)), abs=1e-12)


def test_a_group_that_comes_later_is_no_trend():
    rng = np.random.default_rng(2)
    groups = np.repeat([0, 1], 20)
    p_values = []
    for _ in range(200):
        values = 3 * groups + rng.normal(size=40)
        assert rank_trend(values, np.arange(40)).p_value < 0.001
        p_values.append(rank_trend(values, np.arange(40), groups=groups).p_value)
    # ranks of two groups that do not overlap leave the order within groups
    assert np.mean(np.array(p_values) < 0.05) < 0.1


def test_where_time_and_group_are_the_same_nothing_is_said():
    times = np.repeat([0, 1, 2], 10)
    found = rank_trend(np.arange(30), times, groups=times)
    assert math.isnan(found.p_value)
    assert math.isnan(rank_trend(np.arange(9), np.arange(9)).p_value), "fewer than ten"
    assert math.isnan(rank_trend(np.arange(30), np.repeat([0, 1], 15)).p_value), "two times are no trend"
    assert math.isnan(rank_trend(np.ones(30), np.arange(30)).p_value), "all the same"


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_a_trend_does_not_depend_on_the_order_of_subjects_nor_on_gaps(seed, gaps):
    rng = np.random.default_rng(seed)
    values, times, size = rng.normal(size=(3, 25))
    if gaps:
        values[::5] = np.nan
    order = rng.permutation(25)
    found, other = rank_trend(values, times, size), rank_trend(values[order], times[order], size[order])
    assert found.correlation == pytest.approx(other.correlation, abs=1e-9)
    assert found.n == other.n == (20 if gaps else 25)


@pytest.mark.parametrize("n", [10, 20, 60])
def test_p_values_are_right_far_out(n):
    """Looks are tested at a thousandth: permutations of independent ranks."""
    rng = np.random.default_rng(n)
    p = np.array([
        rank_trend(rng.normal(size=n), np.arange(n), rng.normal(size=n)).p_value for _ in range(4000)
    ])  # fmt: skip
    for level in (0.05, 0.005):
        assert np.mean(p <= level) < level + 4 * math.sqrt(level / 4000)


# -- who drifts --------------------------------------------------------------------------------------


def test_looks_come_when_subjects_have_grown_by_a_quarter():
    data = readings(np.random.default_rng(0))
    # 12, 16, 20, 28, 36 and 48 subjects
    assert choose_looks(data, 11) == (2, 3, 4, 6, 8, 11)
    assert choose_looks(data, 5) == (2, 3, 4), "nobody knows of later ones"
    assert choose_looks(data, -1) == ()


def test_never_more_than_all_is_spent():
    shares = [spent(n) for n in range(10, 10_000)]
    assert shares == sorted(shares)
    assert 0 < shares[0] < 0.1
    assert shares[-1] < 1


def test_what_was_seen_stays_seen():
    """Later looks only add: whoever is named in week 6 is named in week 12, and the look is the same."""
    data = readings(np.random.default_rng(3), drift=1.5)
    seen = [size_drift(data, choose_looks(data, last)) for last in range(4, 12)]
    p_values = [found.p_value[0, 0] for found in seen]
    assert p_values == sorted(p_values, reverse=True)
    first = [int(found.look[0, 0]) for found in seen if found.p_value[0, 0] <= 0.025]
    assert first
    assert len(set(first)) == 1


@pytest.mark.parametrize(
    ("raters", "missing"), [(3, 0.0), (5, 0.0), (5, 0.3), pytest.param(12, 0.0, marks=pytest.mark.slow)]
)
def test_nobody_is_named_where_nobody_drifts(raters, missing):
    rng = np.random.default_rng(raters)
    named = 0
    for _ in range(40):
        named += any(map(is_named, drifts_of(readings(rng, raters, missing=missing))))
    assert named <= 6, "more than 5% of 40, by more than chance"


def test_who_drifts_is_named_and_nobody_else():
    rng = np.random.default_rng(5)
    found = innocent = 0
    for _ in range(15):
        sizes, _ = drifts_of(readings(rng, drift=0.6))
        found += is_named(sizes, 0)
        innocent += any(is_named(sizes, rater) for rater in (1, 2, 3))
        assert not is_named(sizes, 0) or sizes.sign[0, 0] == 1
    assert found >= 13
    assert innocent <= 2


def test_who_goes_away_is_named_and_nobody_else():
    rng = np.random.default_rng(6)
    found = innocent = 0
    for _ in range(15):
        _, distances = drifts_of(readings(rng, away=0.6))
        found += is_named(distances, 0)
        innocent += any(is_named(distances, rater) for rater in (1, 2, 3))
    assert found >= 13
    assert innocent <= 2


def test_of_two_raters_nobody_is_named():
    sizes, distances = drifts_of(readings(np.random.default_rng(7), raters=2, drift=3))
    assert np.isnan(sizes.p_value).all()
    assert np.isnan(distances.p_value).all()


def test_a_rater_who_joins_late_is_compared_while_they_read():
    data = readings(np.random.default_rng(8), raters=5, drift=1)
    data.sizes[0, :30, 4] = np.nan
    data.times[:30, 4] = np.nan
    data.looks[:30, 4] = -1
    sizes, _ = drifts_of(data)
    assert sizes.p_value[0, 0] <= 0.025
    assert sizes.n[0, 4] == 18


# -- the numbers -------------------------------------------------------------------------------------


def test_ratios_and_excess_by_hand():
    ratios = log_ratios_to_others(np.array([[8.0, 2.0, 4.0], [8.0, 0.0, 4.0], [np.nan, 2.0, 4.0]]))
    # two others at least; an empty mask has no size
    assert ratios[0] == pytest.approx(np.log([8 / 3, 2 / 6, 4 / 5]) + np.log([3, 6, 5]) - [
        np.median(np.log([2, 4])), np.median(np.log([8, 4])), np.median(np.log([8, 2]))
    ])  # fmt: skip
    assert np.isnan(ratios[1:]).all()
    d = np.array([[[0, 0.1, 0.3], [0.1, 0, 0.2], [0.3, 0.2, 0]]])
    apart, mean, among = excess_distances(d)
    assert mean[0] == pytest.approx([0.2, 0.15, 0.25])
    assert among[0] == pytest.approx([0.2, 0.3, 0.1])
    assert apart[0] == pytest.approx([0, -0.15, 0.15])


# -- onsets ------------------------------------------------------------------------------------------


@given(st.lists(st.booleans(), min_size=2, max_size=30))
def test_an_onset_is_the_best_point(marked):
    found = find_onset(marked, range(len(marked)))
    shares = [
        (sum(marked[:k]) / k, sum(marked[k:]) / (len(marked) - k)) for k in range(1, len(marked))
    ]  # fmt: skip
    if found is None:
        assert all(before >= after for before, after in shares)
        return
    assert found.first <= found.before <= found.last
    assert (found.marked_before, found.marked_after) == (sum(marked[: found.before]), sum(marked[found.before :]))
    table = [
        [found.marked_before, found.before - found.marked_before],
        [found.marked_after, found.after - found.marked_after],
    ]
    fisher = stats.fisher_exact(table, alternative="less").pvalue
    assert found.p_value == pytest.approx(min(1, (len(marked) - 1) * fisher), rel=1e-9)


def test_chance_is_rarely_an_onset():
    rng = np.random.default_rng(9)
    found = [find_onset((rng.random(40) < 0.2).tolist(), range(40)) for _ in range(2000)]
    assert sum(each is not None and each.p_value <= 0.01 for each in found) <= 20


@pytest.mark.parametrize(("before", "after"), [(0.05, 0.8), (0.0, 1.0), (0.2, 0.9), (0.0, 0.5)])
def test_the_range_holds_where_it_began(before, after):
    rng, held, said = np.random.default_rng(10), 0, 0
    for _ in range(400):
        start = int(rng.integers(5, 36))
        marked = rng.random(40) < np.where(np.arange(40) < start, before, after)
        found = find_onset(marked.tolist(), range(40))
        if found is not None and found.p_value <= 0.01:
            said += 1
            held += found.first <= start <= found.last
    assert said > 150
    assert held / said > 0.92, "95% but for chance"


@given(st.lists(st.booleans(), min_size=2, max_size=15))
def test_the_range_of_a_series_that_is_its_own_mirror_lies_in_the_middle(half):
    marked = [*half, *(not one for one in reversed(half))]
    found = find_onset(marked, range(len(marked)))
    assert found is None or found.first + found.last == len(marked)


def test_readings_of_one_time_are_not_parted():
    found = find_onset([False, True, True, False] + [True] * 8, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2])
    assert found is not None
    assert found.before == 4
    assert find_onset([False, True], [0, 0]) is None

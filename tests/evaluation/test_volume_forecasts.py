"""Forecasts of volumes: integrals by quadrature, SciPy's distances, and the challenge's score that saturates."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad
from scipy.interpolate import interp1d

import manytruths as mt
from manytruths import CallError, InputError, Volumes
from manytruths.core.undefined import code

NUMBERS = st.lists(st.integers(0, 30).map(float), min_size=1, max_size=5)


def naive_crps(values, y):
    return np.mean([abs(v - y) for v in values]) - np.mean([abs(v - w) for v in values for w in values]) / 2


@given(NUMBERS, NUMBERS)
def test_crps_is_the_loop_and_the_integral(values, raters):
    found = mt.crps_volume(Volumes(values), Volumes(raters))
    assert found == pytest.approx(np.mean([naive_crps(values, y) for y in raters]), abs=1e-12)
    grid = np.arange(0, 31)
    integral = np.mean([sum((np.mean(np.array(values) <= v) - (y <= v)) ** 2 for v in grid) for y in raters])
    assert found == pytest.approx(integral, abs=1e-12)


@given(NUMBERS, NUMBERS)
def test_cramer_distance_is_half_an_energy_distance_and_what_crps_is_above_its_least(values, raters):
    found = mt.cramer_distance(Volumes(values), Volumes(raters))
    assert found == pytest.approx(stats.energy_distance(values, raters) ** 2 / 2, abs=1e-9)
    least = mt.crps_volume(Volumes(raters), Volumes(raters))
    assert found == pytest.approx(mt.crps_volume(Volumes(values), Volumes(raters)) - least, abs=1e-12)
    assert mt.cramer_distance(Volumes(raters), Volumes(raters * 2)) == pytest.approx(0, abs=1e-12)


@given(NUMBERS)
def test_the_unbiased_score_leaves_out_pairs_of_a_sample_with_itself(values):
    found = mt.crps_volume(Volumes(values), Volumes([7.0]), unbiased=True)
    n = len(values)
    if n < 2:
        assert code(found) == "fewer_than_two_samples"
        return
    pairs = sum(abs(v - w) for v in values for w in values) / (n * (n - 1))
    assert found == pytest.approx(np.mean([abs(v - 7) for v in values]) - pairs / 2, abs=1e-12)


def test_masks_tallies_and_volumes_are_one_door():
    rng = np.random.default_rng(0)
    masks, samples = rng.integers(0, 3, (3, 50)), rng.integers(0, 3, (4, 50))
    raters, drawn = dict(zip("abc", masks, strict=True)), dict(zip("wxyz", samples, strict=True))
    table = mt.tally(raters, predictions=drawn)
    for label in (None, 1, 2):
        sizes = [[0.5 * (m == label if label else m > 0).sum() for m in stack] for stack in (samples, masks)]
        expected = np.mean([naive_crps(sizes[0], y) for y in sizes[1]])
        for found in (
            mt.crps_volume(samples, masks, label=label, item=0.5),
            mt.crps_volume(None, table, label=label, item=0.5),
            mt.crps_volume(list(drawn), table, label=label, item=0.5),
            mt.crps_volume(Volumes(sizes[0]), Volumes(sizes[1])),
        ):
            assert found == pytest.approx(expected, abs=1e-12)


def test_masks_without_a_label_have_a_volume_of_nothing():
    """A model that never drew a label, raters of whom nobody marked it."""
    drawn, masks = [[1, 0, 0]], [[2, 0, 0], [1, 2, 2]]
    assert mt.crps_volume(drawn, masks, label=2) == 1.5
    assert mt.crps_volume(masks, drawn, label=2) == mt.crps_volume(mt.Volumes([1, 2]), mt.Volumes([0]))
    assert mt.cramer_distance(drawn, masks, label=2) == mt.cramer_distance(mt.Volumes([0]), mt.Volumes([1, 2]))
    assert mt.Volumes.of_masks(drawn, label=2).values.tolist() == [0]
    held = mt.compare_held_out(mt.crps_volume, drawn, masks, label=2, unbiased=False)
    assert (held.model.tolist(), held.another.tolist()) == ([1, 2], [1, 1])
    with pytest.raises(CallError, match="no label 2"):
        mt.crps_volume(["x"], mt.tally({"a": [1, 0]}, predictions={"x": [1, 0]}), label=2)


def test_a_map_is_a_forecast_of_sets_at_all_thresholds():
    p = np.array([0.9, 0.5, 0.5, 0.1])
    forecast = Volumes.of_probability(p, item=2.0)
    assert forecast.mean == pytest.approx(2 * p.sum())
    rng = np.random.default_rng(1)
    by_chance = [2.0 * (p >= t).sum() for t in 1 - rng.random(20_000)]
    for size in range(5):
        assert forecast.share[forecast.values == 2 * size].sum() == pytest.approx(
            np.mean(np.array(by_chance) == 2 * size), abs=0.02
        )
    assert Volumes.of_probability(p, pixels="mean").values.tolist() == [p.sum()]
    assert mt.crps_volume(Volumes.of_probability(p, pixels="mean"), Volumes([3.0])) == pytest.approx(1)
    # the share of raters who are nested is a forecast of their volumes
    nested = np.tril(np.ones((5, 5)))
    assert mt.cramer_distance(Volumes.of_probability(nested.mean(axis=0)), nested.astype(int)) == pytest.approx(0)


def as_published(prediction, volumes):
    """The steps of the challenge: a table of the normal distribution, and quadrature between its limits."""
    mean, spread = np.mean(volumes), np.std(volumes)
    normal = stats.norm(mean, spread)
    x = np.linspace(normal.ppf(0.01), normal.ppf(0.99), 100)
    cdf = interp1d(x, normal.cdf(x), bounds_error=False, fill_value=(0, 1))

    def square(v):
        return (cdf(v) - (v >= prediction)) ** 2

    low, high = mean - 3 * spread, mean + 3 * spread
    # in pieces, as quadrature is blind to jumps
    cuts = np.unique(np.clip([low, prediction, *x, high], low, high))
    return sum(quad(square, a, b)[0] for a, b in itertools.pairwise(cuts))


@pytest.mark.parametrize("prediction", [50, 96.2, 98, 100, 101.3, 104.5, 104.8, 110])
def test_the_challenge_is_its_published_steps(prediction):
    volumes = [98.0, 100.0, 102.0]
    assert mt.curvas_crps(prediction, Volumes(volumes)) == pytest.approx(as_published(prediction, volumes), abs=1e-6)


def test_the_score_of_the_challenge_saturates_and_the_crps_does_not():
    raters = Volumes([98.0, 100.0, 102.0])
    assert mt.curvas_crps(110, raters) == mt.curvas_crps(950, raters)
    assert mt.crps_volume(Volumes([950]), raters) > mt.crps_volume(Volumes([110]), raters) + 800
    assert mt.curvas_crps(110, raters) == pytest.approx(mt.curvas_crps(90, raters), abs=1e-12)
    assert code(mt.curvas_crps(5, Volumes([3.0, 3.0]))) == "constant_sizes"
    masks = [[1, 1, 0, 0], [1, 1, 1, 0]]
    assert mt.curvas_crps(masks, masks) == pytest.approx(as_published(2.5, [2, 3]), abs=1e-6)


def test_what_is_no_volume():
    with pytest.raises(InputError, match="one or more finite numbers"):
        Volumes([])
    with pytest.raises(InputError, match="one or more finite numbers"):
        Volumes([np.nan])
    with pytest.raises(InputError, match="weights are not negative"):
        Volumes([1, 2], [0, 0])
    with pytest.raises(CallError, match="pixels is 'together' or 'mean'"):
        Volumes.of_probability([0.5], pixels="apart")
    with pytest.raises(CallError, match="masks of every sample"):
        mt.crps_volume(None, [[1, 0]])
    with pytest.raises(CallError, match="lists its columns by name"):
        mt.crps_volume([[1, 0]], mt.tally([[1, 0]]))
    assert repr(Volumes([1, 3])) == "<Volumes of 2 values, mean 2>"
    assert len(Volumes([1, 3])) == 2

"""Recalibration: scikit-learn's isotonic regression, the likelihood on a grid, and splits of simulated cases."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.special import expit, logit
from sklearn.isotonic import IsotonicRegression

import manytruths as mt
from manytruths import InputError

SIZE = 15
MAP = arrays(np.float64, SIZE, elements=st.sampled_from([0.0, 0.1, 0.2, 0.35, 0.5, 0.8, 0.9, 1.0]))
MASKS = arrays(np.uint8, (3, SIZE), elements=st.integers(0, 1))


def drawn(seed, rate=2.0, cases=1):
    """Maps that are too sure of themselves, and three raters drawn from the true probabilities."""
    rng = np.random.default_rng(seed)
    for _ in range(cases):
        z = rng.normal(0, 1.5, (60, 60)).round(2)
        yield expit(rate * z), rng.random((3, 60, 60)) < expit(z)


@given(MAP, MASKS)
def test_isotonic_is_scikit_learn(p, masks):
    assume(len(np.unique(p)) > 1 and 0 < masks.sum() < masks.size)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(np.tile(p, 3), masks.ravel())
    at = np.linspace(0, 1, 41)
    assert mt.fit_isotonic(p, masks).apply(at) == pytest.approx(theirs.predict(at), abs=1e-12)


@given(MAP, MASKS)
def test_isotonic_has_the_least_brier_score_and_calibrates_what_it_learnt_from(p, masks):
    assume(len(np.unique(p)) > 1 and 0 < masks.sum() < masks.size)
    better = mt.fit_isotonic(p, masks).apply(p)
    assert mt.brier(better, masks) <= mt.brier(p, masks) + 1e-12
    assert mt.reliability_diagram(better, masks, bins=None).brier_parts.reliability == pytest.approx(0, abs=1e-12)


def test_the_temperature_is_the_one_that_the_forecast_was_spoilt_by():
    p, masks = next(drawn(0))
    found = mt.fit_temperature(p, masks)
    assert found.temperature == pytest.approx(2, abs=0.1)
    z, y = logit(p), masks.mean(axis=0)

    def loss(t):
        return np.mean(np.logaddexp(0, z / t) - y * z / t)

    grid = np.linspace(1, 3, 401)
    assert loss(found.temperature) <= min(loss(t) for t in grid) + 1e-12
    assert found.apply(p) == pytest.approx(expit(z / found.temperature), abs=1e-15)
    assert found.items == 3 * 3600
    assert found.certain == 0


def test_what_is_learnt_on_a_split_improves_the_rest():
    cases = list(drawn(1, cases=6))
    learnt = sum(mt.count_forecasts(p, m) for p, m in cases[:3])
    for fit in (mt.fit_temperature, mt.fit_isotonic):
        change = fit(learnt)
        for p, masks in cases[3:]:
            better = change.apply(p)
            assert better.shape == p.shape
            assert mt.brier(better, masks) < mt.brier(p, masks) - 0.005
            assert mt.expected_calibration_error(better, masks) < mt.expected_calibration_error(p, masks) / 3


def test_what_is_certain_stays_certain():
    masks = [[1, 1, 0, 0, 1, 0], [1, 0, 0, 1, 1, 0]]
    found = mt.fit_temperature([0.9, 0.9, 0.1, 0.1, 1.0, 0.0], masks)
    assert found.certain == 4
    assert found.items == 8
    assert found.apply([0.0, 1.0]).tolist() == [0.0, 1.0]


def test_what_nothing_can_be_learnt_from():
    masks = np.array([[1, 0, 0, 0]])
    p = [0.9, 0.8, 0.2, 0.1]
    for fit in (mt.fit_temperature, mt.fit_isotonic):
        with pytest.raises(InputError, match=r"0\.3 everywhere"):
            fit(np.full(4, 0.3), masks)
        with pytest.raises(InputError, match="marked nothing, or everything"):
            fit(p, np.zeros((2, 4), int))
        with pytest.raises(InputError, match="nobody marked anything"):
            fit(p, np.zeros((2, 4), int), region="union")
    with pytest.raises(InputError, match="0 or 1, which no temperature changes"):
        mt.fit_temperature([1.0, 0, 0, 0], masks)
    with pytest.raises(InputError, match="the best temperature is infinite"):
        mt.fit_temperature([0.2, 0.9, 0.8, 0.7], masks)
    # raters mark more where the map is higher, but everywhere more often than it says
    with pytest.raises(InputError, match="the best temperature is infinite: one half everywhere is more likely"):
        mt.fit_temperature([0.1, 0.1, 0.3, 0.3], np.array([[1, 0, 1, 1], [0, 1, 1, 1]]))
    with pytest.raises(InputError, match="the best temperature is 0"):
        mt.fit_temperature([0.9, 0.2, 0.3, 0.4], masks)
    with pytest.raises(InputError, match="lie between 0 and 1"):
        mt.fit_isotonic(p, masks).apply([2.0])

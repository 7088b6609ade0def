"""P̄ against the integral that defines it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate

from manytruths import CallError, mean_precision, prevalence_range

RATES = (1e-12, 1e-6, 0.01, 0.3, 0.5, 0.95, 1.0)
NEARLY = (0.5 * (1 + 1e-15), 0.5 * (1 - 1e-9), 0.5 * (1 + 1e-4), 0.45, 0.46, 0.549, 0.551, 0.56)
LIMITS = ((0.1, 0.5), (0.0, 1.0), (0.0, 1e-3), (0.999, 1.0), (0.0, 0.5), (0.3, 0.3 + 1e-9), (1e-6, 0.02))


def precision(pi: float, t: float, f: float) -> float:
    return pi * t / (pi * t + (1 - pi) * f)


def by_quad(t: float, f: float, low: float, high: float) -> float:
    """Cut where precision bends, since a quadrature alone misses what happens next to 0 and 1."""
    bend = f / (t + f)
    inside = sorted(min(max(bend * 10.0**k, low), high) for k in range(-6, 7))
    back = sorted(min(max(1 - (1 - bend) * 10.0**k, low), high) for k in range(-6, 7))
    cuts = sorted({low, *inside, *back, high})
    parts = (integrate.quad(precision, a, b, (t, f), epsabs=1e-15, epsrel=1e-13) for a, b in itertools.pairwise(cuts))
    return float(sum(area for area, _ in parts) / (high - low))


@pytest.mark.parametrize("limits", LIMITS)
def test_it_is_the_mean_over_prevalences(limits: tuple[float, float]) -> None:
    pairs = [*itertools.product(RATES, RATES), *((0.5, f) for f in NEARLY), *((t, 0.5) for t in NEARLY)]
    t, f = np.array(pairs).T
    wanted = [by_quad(*pair, *limits) for pair in pairs]
    assert mean_precision(t, f, *limits) == pytest.approx(wanted, rel=1e-11, abs=1e-12)


rate = st.floats(1e-9, 1)


@given(rate, rate, st.floats(0, 1), st.floats(0, 1))
def test_it_lies_between_the_precisions_at_the_limits(t: float, f: float, a: float, b: float) -> None:
    low, high = min(a, b), max(a, b)
    found = float(mean_precision(t, f, low, high))
    assert precision(low, t, f) - 1e-12 <= found <= precision(high, t, f) + 1e-12


@given(rate, rate)
def test_swapping_the_classes_swaps_the_prevalences(t: float, f: float) -> None:
    """πt / (πt + (1 − π)f) and its complement are one another's mirror images."""
    mirrored = 1 - mean_precision(f, t, 0.5, 0.9)
    assert float(mean_precision(t, f, 0.1, 0.5)) == pytest.approx(float(mirrored), abs=1e-12)


@given(rate, rate, st.floats(0.05, 0.45))
def test_ranges_add(t: float, f: float, middle: float) -> None:
    parts = middle * mean_precision(t, f, 0, middle) + (0.5 - middle) * mean_precision(t, f, middle, 0.5)
    assert float(parts / 0.5) == pytest.approx(float(mean_precision(t, f, 0, 0.5)), abs=1e-12)


def test_the_ends() -> None:
    assert mean_precision([0.4, 0.0, 1e-300], [0.0, 0.3, 0.0], 0, 1).tolist() == [1, 0, 1]
    assert np.isnan(mean_precision(0.0, 0.0, 0.1, 0.5))
    assert float(mean_precision(0.6, 0.2, 0.3, 0.3)) == pytest.approx(precision(0.3, 0.6, 0.2), abs=1e-15)
    assert mean_precision(0.7, 0.7, 0.1, 0.5) == pytest.approx(0.3, abs=1e-15)
    assert mean_precision([[0.5], [0.6]], [0.1, 0.2, 0.3], 0.1, 0.5).shape == (2, 3)


@pytest.mark.parametrize("limits", [(0.5, 0.1), (-0.1, 0.5), (0.5, 1.1), (float("nan"), 0.5)])
def test_ranges_that_are_none(limits: tuple[float, float]) -> None:
    with pytest.raises(CallError, match="low to high within 0 to 1"):
        mean_precision(0.5, 0.5, *limits)


def test_limits_from_the_prevalences_of_a_study() -> None:
    seen = [0.10, 0.12, 0.13, 0.15]
    spread = 3 * np.std(seen, ddof=1)
    assert prevalence_range(seen) == pytest.approx((0.125 - spread, 0.125 + spread))
    assert prevalence_range([*seen, float("nan")]) == prevalence_range(seen)
    assert prevalence_range([0.01, 0.02, 0.09]).low == 0
    assert prevalence_range([0.2, 0.9, 0.99]).high == 1
    with pytest.raises(CallError, match="two or more"):
        prevalence_range([0.1])
    with pytest.raises(CallError, match="from 0 to 1"):
        prevalence_range([10, 12])

"""Deming and Passing–Bablok lines: a published example, a slow count of slopes, and laws."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import manytruths as mt
from evidence.measurements import X, Y


def test_published_deming():
    """Intercept −0.0897 (standard error 1.7220), slope 1.0012 (0.1872), by the jackknife with n − 2 degrees."""
    line, t = mt.deming(X, Y, ratio=1 / 4), stats.t.ppf(0.975, 8)
    assert (round(line.intercept.value, 4), round(line.slope.value, 4)) == (-0.0897, 1.0012)
    assert round((line.intercept.high - line.intercept.value) / t, 4) == 1.7220
    assert round((line.slope.high - line.slope.value) / t, 4) == 0.1872


def test_deming_by_leaving_out_one_by_one():
    x, y = np.array(X), np.array(Y)
    slopes = [mt.deming(np.delete(x, i), np.delete(y, i)).slope.value for i in range(10)]
    error = math.sqrt(9 / 10 * ((slopes - np.mean(slopes)) ** 2).sum())
    line = mt.deming(x, y)
    assert line.slope.high - line.slope.value == pytest.approx(error * stats.t.ppf(0.975, 8))


def slow_passing_bablok(x, y, level=0.95):
    """As the paper words it."""
    slopes = []
    for i, j in combinations(range(len(x)), 2):
        dx, dy = x[i] - x[j], y[i] - y[j]
        if dx == 0 and dy == 0:
            continue
        slope = dy / dx if dx else math.copysign(math.inf, dy)
        if slope != -1:
            slopes.append(slope)
    slopes.sort()
    n, k = len(slopes), sum(s < -1 for s in slopes)
    middle = slopes[(n + 1) // 2 + k - 1] if n % 2 else (slopes[n // 2 + k - 1] + slopes[n // 2 + k]) / 2
    c = stats.norm.ppf((1 + level) / 2) * math.sqrt(len(x) * (len(x) - 1) * (2 * len(x) + 5) / 18)
    first = round((n - c) / 2)
    low, high = slopes[first + k - 1], slopes[n - first + k]
    medians = [float(np.median(np.array(y) - b * np.array(x))) for b in (middle, high, low)]
    return [middle, low, high, *medians]


@pytest.mark.parametrize("seed", range(6))
def test_passing_bablok_by_counting(seed):
    rng = np.random.default_rng(seed)
    x = np.round(rng.uniform(0, 20, 25), 0 if seed % 2 else 3)
    y = np.round(1 + 1.2 * x + rng.normal(size=25), 0 if seed % 2 else 3)
    line = mt.passing_bablok(x, y)
    found = [line.slope.value, line.slope.low, line.slope.high]
    found += [line.intercept.value, line.intercept.low, line.intercept.high]
    assert found == pytest.approx(slow_passing_bablok(x.tolist(), y.tolist()), rel=1e-12)


def test_by_hand():
    """Four points: slopes 1, 1, 1, 2, 3/2, 4/3, their median (1 + 4/3)/2; residuals of the intercept likewise."""
    line = mt.passing_bablok([1, 2, 3, 4], [1, 2, 3, 5])
    assert line.slope.value == pytest.approx(7 / 6)
    assert line.intercept.value == pytest.approx(np.median([-1 / 6, -1 / 3, -1 / 2, 1 / 3]))
    assert line.slope.low.code == "interval_open"
    assert mt.passing_bablok([1, 2, 3, 4, 5, 6], [3, 5, 7, 9, 11, 40]).slope.value == 2


@given(st.integers(0, 10_000), st.floats(0.2, 5))
@settings(max_examples=30, deadline=None)
def test_laws(seed, ratio):
    """Methods swapped: the other side of the same line. Units scale it."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(1, 10, 15)
    y = 0.5 + 1.1 * x + rng.normal(0, 0.4, 15)
    there, back = mt.deming(x, y, ratio=ratio), mt.deming(y, x, ratio=1 / ratio)
    assert back.slope.value == pytest.approx(1 / there.slope.value)
    there, back = mt.passing_bablok(x, y), mt.passing_bablok(y, x)
    assert back.slope.value == pytest.approx(1 / there.slope.value)  # 105 slopes: one of them is the median
    assert back.slope.low == pytest.approx(1 / there.slope.high)
    assert mt.passing_bablok(x, 3 + y).intercept.value == pytest.approx(3 + there.intercept.value)
    exact = mt.deming(x, 2 * x - 1)
    assert (exact.slope.value, exact.intercept.value) == pytest.approx((2, -1))


@pytest.mark.parametrize("line", [mt.deming, mt.passing_bablok])
def test_undefined_and_refused(line):
    assert line([1.0, np.nan], [2.0, 3.0]).slope.value.code == "fewer_than_two_subjects"
    assert line([1, 1, 1], [2, 3, 4]).intercept.value.code == "constant_method"
    assert line([1, 2, 3, 4], [2, 3, 4, np.nan]).n_missing == 1
    for values, words in (([[1]], "a list of sizes"), ([1, 2, 3], "3 sizes and method 2"), ([1, np.inf], "infinite")):
        with pytest.raises(mt.CallError, match=words):
            line(values, [1, 2])
    with pytest.raises(mt.CallError, match="level must be"):
        line([1, 2], [1, 2], level=1)


def test_no_line():
    assert mt.deming([1, 2, 1, 2], [1, 1, 2, 2]).slope.value.code == "no_line"
    assert mt.passing_bablok([1, 2, 3, 4], [8, 6, 4, 1]).slope.value.code == "no_line"


def test_limits_of_the_call():
    with pytest.raises(mt.CallError, match="ratio must be above 0"):
        mt.deming([1, 2], [1, 2], ratio=0)
    with pytest.raises(mt.CallError, match="at most 10,000 subjects"):
        mt.passing_bablok(np.arange(10_001), np.arange(10_001))

"""A method or rater against a reference: the line between two methods that both have errors.

Ordinary regression takes the reference for free of error and finds too flat a line where it is not. Deming's line
minimises the squared distances of both, where the ratio of the two error variances is known, from repeated measurements
or from elsewhere; its intervals come from the jackknife (Linnet 1993). Passing and Bablok's is the median of the slopes
between all pairs of points, shifted so that it does not matter which method is called the reference; it needs no ratio,
and outliers hardly move it.

Deming WE. Statistical adjustment of data. Wiley, 1943. Linnet K. Evaluation of regression procedures for methods
comparison studies. Clin Chem 1993;39:424–432. doi:10.1093/clinchem/39.3.424. Passing H, Bablok W. A new biometrical
procedure for testing the equality of measurements from two different analytical methods. J Clin Chem Clin Biochem
1983;21:709–720. doi:10.1515/cclm.1983.21.11.709
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import CallError
from ..core.undefined import Undefined
from ..inference.intervals import Interval
from ..inference.quantiles import student_quantile
from .variance_components import Values, as_sizes, check_level

MOST_POINTS = 10_000
"""Pairs of points grow with the square of their number."""


@dataclass(frozen=True)
class MethodLine:
    """The line method = intercept + slope · reference.

    Attributes
    ----------
    slope : Interval
        1 where methods differ by a constant at most.
    intercept : Interval
        0 where they differ by a factor at most.
    n : int
        Number of subjects.
    n_missing : int
        Subjects left out because one of the two is missing.
    method : str
        ``"deming"`` or ``"passing_bablok"``.
    """

    slope: Interval
    intercept: Interval
    n: int
    n_missing: int
    method: str

    def __str__(self) -> str:
        return f"{self.intercept.value:.4g} + {self.slope.value:.4g} × reference"


def deming(reference: ArrayLike, method: ArrayLike, *, ratio: float = 1.0, level: float = 0.95) -> MethodLine:
    """Deming regression: the line between two methods whose errors have a known ratio of variances.

    Parameters
    ----------
    reference, method : array_like
        Sizes of the same subjects; nan, or masked, where one is missing.
    ratio : float
        Variance of the errors of the method over that of the errors of the reference: 1 where both are as precise, the
        ratio of squared ``within_sd`` of :func:`repeatability` where both were repeated.
    level : float
        Confidence level of the intervals, from the jackknife over subjects.

    Returns
    -------
    MethodLine
        Slope and intercept with intervals.

    References
    ----------
    Linnet K. Evaluation of regression procedures for methods comparison studies. Clin Chem 1993;39:424–432.
    doi:10.1093/clinchem/39.3.424.

    Examples
    --------
    >>> import manytruths as mt
    >>> reference = [7, 8.3, 10.5, 9, 5.1, 8.2, 10.2, 10.3, 7.1, 5.9]
    >>> method = [7.9, 8.2, 9.6, 9, 6.5, 7.3, 10.2, 10.6, 6.3, 5.2]
    >>> print(mt.deming(reference, method, ratio=0.25))
    -0.08974 + 1.001 × reference
    """
    check_level(level)
    if not (ratio > 0 and math.isfinite(ratio)):
        raise CallError(f"ratio must be above 0: the error variance of the method over the reference's; got {ratio}")
    x, y, missing = _pairs(reference, method)
    n, few = len(x), _too_few(x, y)
    if few is not None:
        return _undefined(few, n, missing, level, "deming")
    whole, replicates = _deming_lines(x, y, ratio)
    slope, intercept = whole
    if not math.isfinite(slope):
        return _undefined(Undefined("no_line"), n, missing, level, "deming")
    lines = []
    for value, found in zip((slope, intercept), replicates, strict=True):
        if n < 4 or not np.isfinite(found).all():
            why = Undefined("interval_open" if n < 4 else "undefined_without_a_subject")
            lines.append(Interval(value, why, why, level, "jackknife", n))
            continue
        error = math.sqrt((n - 1) / n * float(((found - found.mean()) ** 2).sum()))
        reach = student_quantile((1 + level) / 2, n - 2) * error
        lines.append(Interval(value, value - reach, value + reach, level, "jackknife", n))
    return MethodLine(lines[0], lines[1], n, missing, "deming")


def _deming_lines(x: Values, y: Values, ratio: float) -> tuple[tuple[float, float], tuple[Values, Values]]:
    """Slope and intercept of all points, and those without each of them; nan where they do not vary together."""
    n, mx, my = len(x), float(x.mean()), float(y.mean())
    dx, dy = x - mx, y - my
    products = dx**2, dy**2, dx * dy
    sums = [float(p.sum()) for p in products]
    slope = float(_deming_slope([np.array([s]) for s in sums], ratio)[0])
    # without a point, the mean moves by its distance / (n − 1)
    slopes = _deming_slope([s - n / (n - 1) * p for s, p in zip(sums, products, strict=True)], ratio)
    intercepts = (my - dy / (n - 1)) - slopes * (mx - dx / (n - 1))
    return (slope, my - slope * mx), (slopes, np.asarray(intercepts))


def _deming_slope(sums: list[Values], ratio: float) -> Values:
    """From the sums of squares of both, and of their products."""
    sxx, syy, sxy = sums
    apart, slope = syy - ratio * sxx, np.full(sxx.shape, np.nan)
    np.divide(apart + np.sqrt(apart**2 + 4 * ratio * sxy**2), 2 * sxy, out=slope, where=sxy != 0)
    return slope


def passing_bablok(reference: ArrayLike, method: ArrayLike, *, level: float = 0.95) -> MethodLine:
    """Passing–Bablok regression: the line between two methods, without assumptions about their errors.

    The two must measure the same quantity, so that the slope is above 0; their relation must be linear.

    Parameters
    ----------
    reference, method : array_like
        Sizes of the same subjects; nan, or masked, where one is missing.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    MethodLine
        Slope and intercept with intervals. An interval needs enough subjects, six or so at 95%.

    References
    ----------
    Passing H, Bablok W. A new biometrical procedure for testing the equality of measurements from two different
    analytical methods. J Clin Chem Clin Biochem 1983;21:709–720. doi:10.1515/cclm.1983.21.11.709.

    Examples
    --------
    >>> import manytruths as mt
    >>> print(mt.passing_bablok([1, 2, 3, 4, 5, 6], [3, 5, 7, 9, 11, 40]))
    1 + 2 × reference
    """
    check_level(level)
    x, y, missing = _pairs(reference, method)
    n, few = len(x), _too_few(x, y)
    if few is not None:
        return _undefined(few, n, missing, level, "passing_bablok")
    if n > MOST_POINTS:
        raise CallError(f"passing_bablok takes at most {MOST_POINTS:,} subjects, and there are {n:,}; take a sample")
    slopes, shift = _pair_slopes(x, y)
    if not len(slopes) or 2 * shift >= len(slopes):
        return _undefined(Undefined("no_line"), n, missing, level, "passing_bablok")
    slope = _shifted_median(slopes, shift)
    if not math.isfinite(slope):
        return _undefined(Undefined("no_line"), n, missing, level, "passing_bablok")
    intercept = float(np.median(y - slope * x))
    reach = NormalDist().inv_cdf((1 + level) / 2) * math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    first = round((len(slopes) - reach) / 2)
    last = len(slopes) - first + 1
    places = [place + shift - 1 for place in (first, last)]
    ends = [float(slopes[p]) for p in places] if first >= 1 and places[1] < len(slopes) else [math.nan]
    if not np.isfinite(ends).all():
        why = Undefined("interval_open")
        lines = [Interval(v, why, why, level, "ranks", n) for v in (slope, intercept)]
        return MethodLine(lines[0], lines[1], n, missing, "passing_bablok")
    low, high = ends
    least, most = (float(np.median(y - end * x)) for end in (high, low))
    across = Interval(intercept, least, most, level, "ranks", n)
    return MethodLine(Interval(slope, low, high, level, "ranks", n), across, n, missing, "passing_bablok")


def _pair_slopes(x: Values, y: Values) -> tuple[Values, int]:
    """The sorted slopes between all points, without those of −1, and how many are below −1."""
    i, j = np.triu_indices(len(x), 1)
    dx, dy = x[i] - x[j], y[i] - y[j]
    apart = (dx != 0) | (dy != 0)
    dx, dy = dx[apart], dy[apart]
    slopes = np.sort(np.where(dx == 0, np.copysign(np.inf, dy), dy / np.where(dx == 0, 1.0, dx)))
    slopes = slopes[slopes != -1]
    return slopes, int((slopes < -1).sum())


def _shifted_median(slopes: Values, shift: int) -> float:
    middle = slopes[(len(slopes) - 1) // 2 + shift : len(slopes) // 2 + shift + 1]
    return float(middle.mean()) if np.isfinite(middle).all() else math.inf


def _pairs(reference: ArrayLike, method: ArrayLike) -> tuple[Values, Values, int]:
    x, y = as_sizes(reference, 1, "a list of sizes, one a subject"), as_sizes(method, 1, "a list, one a subject")
    if len(x) != len(y):
        raise CallError(f"reference has {len(x)} sizes and method {len(y)}; they go in pairs, nan where one is missing")
    if np.isinf(x).any() or np.isinf(y).any():
        raise CallError("reference or method has an infinite size; use nan where a size is missing")
    there = ~(np.isnan(x) | np.isnan(y))
    return x[there], y[there], int((~there).sum())


def _too_few(x: Values, y: Values) -> Undefined | None:
    if len(x) < 2:
        return Undefined("fewer_than_two_subjects")
    if x.min() == x.max() or y.min() == y.max():
        return Undefined("constant_method")
    return None


def _undefined(why: Undefined, n: int, missing: int, level: float, method: str) -> MethodLine:
    none = Interval(why, why, why, level, "", n)
    return MethodLine(none, none, n, missing, method)

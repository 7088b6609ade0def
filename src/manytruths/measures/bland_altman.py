"""Limits of agreement: between two raters, of many raters with their mean, and of one rater with themselves.

Two raters: the mean difference d̄ (bias) and d̄ ± 1.96 s hold 95% of the differences. The intervals of the limits are
exact where each subject has one difference: (μ + 1.96 σ − d̄) √n / s has a noncentral t distribution (Carkeet 2015).
Where subjects have several, d̄ is the mean over subjects, the variance is s²_d̄ + (1 − 1/m) s²_w, with the variance of
the subjects' means, the pooled variance within subjects and the harmonic mean m of their numbers of differences; the
intervals are recovered from those of d̄ and of the two variances (MOVER, Zou 2013), or of their sum where fewer than ten
differences are beyond the first of their subject.

On a logarithmic scale, differences are those of logarithms, and what is given are ratios of the first to the second.

Bland JM, Altman DG. Statistical methods for assessing agreement between two methods of clinical measurement. Lancet
1986;327:307–310. doi:10.1016/S0140-6736(86)90837-8. Bland JM, Altman DG. Measuring agreement in method comparison
studies. Stat Methods Med Res 1999;8:135–160. doi:10.1177/096228029900800204. Carkeet A. Exact parametric confidence
intervals for Bland–Altman limits of agreement. Optom Vis Sci 2015;92:e71–e80. doi:10.1097/OPX.0000000000000513. Zou GY.
Confidence interval estimation for the Bland–Altman limits of agreement with multiple observations per individual. Stat
Methods Med Res 2013;22:630–642. doi:10.1177/0962280211402548
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from ..core.undefined import Undefined
from ..inference.intervals import Interval
from ..inference.quantiles import student_quantile
from .intraclass import LIMIT
from .variance_components import (
    MOST,
    ROUNDING,
    Values,
    as_sizes,
    check_level,
    combine_variances,
    fit_sizes,
    jackknife_interval,
)

FEW_REPEATS = 10
"""Fewer differences beyond the first of each subject do not have an interval of their own variance."""


@dataclass(frozen=True)
class BlandAltman:
    """Bias and limits of agreement of two raters.

    Attributes
    ----------
    bias : Interval
        Mean of first − second; on a logarithmic scale the geometric mean of first / second.
    lower, upper : Interval
        Limits of agreement with their intervals; on a logarithmic scale ratios.
    sd : float
        Standard deviation of the differences; on a logarithmic scale of those of natural logarithms.
    log : bool
        Whether all of it speaks of ratios.
    n : int
        Number of differences.
    n_subjects : int
        Number of subjects.
    n_missing : int
        Pairs left out because one of the two is missing.
    n_zero : int
        Pairs left out on a logarithmic scale because one of the two is 0.
    differences, means : numpy.ndarray
        Of the pairs that were used, in their order: differences and arithmetic means; ratios and geometric means on a
        logarithmic scale. What a Bland–Altman plot shows.
    """

    bias: Interval
    lower: Interval
    upper: Interval
    sd: float
    log: bool
    n: int
    n_subjects: int
    n_missing: int
    n_zero: int
    differences: Values = field(repr=False, compare=False)
    means: Values = field(repr=False, compare=False)

    def __str__(self) -> str:
        what = "ratio" if self.log else "bias"
        return f"{what} {self.bias.value:.4g}, limits of agreement {self.lower.value:.4g} to {self.upper.value:.4g}"


def bland_altman(
    a: ArrayLike,
    b: ArrayLike,
    *,
    log: bool = False,
    level: float = 0.95,
    subjects: Sequence[object] | None = None,
    factor: float = LIMIT,
    interval: Literal["exact", "approximate"] = "exact",
) -> BlandAltman:
    """Bias and limits of agreement between two raters, methods or sessions, with intervals.

    Parameters
    ----------
    a, b : array_like
        Sizes of the same cases; nan, or masked, where one is missing.
    log : bool
        Whether to compare logarithms, so that bias and limits are ratios: for sizes whose differences grow with the
        size. Pairs with a size of 0 have no ratio; they are left out and counted in ``n_zero``.
    level : float
        Confidence level of the intervals.
    subjects : sequence, optional
        The subject of each pair, where subjects have several: limits are still those of single differences, and
        intervals go by subjects (MOVER).
    factor : float
        Standard deviations between the bias and each limit: 1.96 for 95% of the differences; Bland and Altman's first
        paper took 2.
    interval : {"exact", "approximate"}
        Intervals of limits by the noncentral t distribution, or Bland and Altman's approximation with a standard error
        of s √((1 + factor²/2)/n), for comparison with published ones. With several differences a subject
        both are MOVER's.

    Returns
    -------
    BlandAltman
        ``bias``, ``lower`` and ``upper`` with intervals, and the ``differences`` and ``means`` to plot.

    References
    ----------
    Bland JM, Altman DG. Stat Methods Med Res 1999;8:135–160. doi:10.1177/096228029900800204. Carkeet A. Optom Vis Sci
    2015;92:e71–e80. doi:10.1097/OPX.0000000000000513. Zou GY. Stat Methods Med Res 2013;22:630–642.
    doi:10.1177/0962280211402548.

    Examples
    --------
    >>> import manytruths as mt
    >>> anna, ben = [512, 430, 520, 428, 500, 600, 364, 380], [494, 395, 516, 434, 476, 557, 413, 442]
    >>> limits = mt.bland_altman(anna, ben)
    >>> print(limits)
    bias 0.875, limits of agreement -74.18 to 75.93
    >>> print(f"{limits.lower.low:.0f} to {limits.lower.high:.0f}")
    -162 to -41
    """
    check_level(level)
    first, second = _pair(a, b)
    names = np.array([str(s) for s in subjects]) if subjects is not None else np.arange(len(first))
    if len(names) != len(first):
        raise CallError(f"subjects names {len(names)} pairs, and there are {len(first)}; give one name for each")
    if not factor > 0:
        raise CallError(f"factor must be above 0, such as 1.96; got {factor}")
    if interval not in ("exact", "approximate"):
        raise CallError(f"interval must be 'exact' or 'approximate'; got {interval!r}")
    there = ~(np.isnan(first) | np.isnan(second))
    positive = (first > 0) & (second > 0) if log else np.ones_like(there)
    if log and ((first < 0) | (second < 0)).any():
        raise CallError("log=True compares ratios, and there are sizes below 0; use log=False")
    used = there & positive
    x, y = (np.log(v[used]) if log else v[used] for v in (first, second))
    missing, zero = int((~there).sum()), int((there & ~positive).sum())
    mean = (x + y) / 2
    counted = len(np.unique(names[used]))
    bias, lower, upper, sd = _limits(x - y, names[used], level, factor, interval, zero)
    ends = [_exponential(part) for part in (bias, lower, upper)] if log else [bias, lower, upper]
    shown = (np.exp(x - y), np.exp(mean)) if log else (x - y, mean)
    return BlandAltman(ends[0], ends[1], ends[2], sd, log, int(used.sum()), counted, missing, zero, *shown)


def _pair(a: ArrayLike, b: ArrayLike) -> tuple[Values, Values]:
    first, second = as_sizes(a, 1, "a list of sizes, one a case"), as_sizes(b, 1, "a list of sizes, one a case")
    if len(first) != len(second):
        raise CallError(f"a has {len(first)} sizes and b {len(second)}; they go in pairs, nan where one is missing")
    if np.isinf(first).any() or np.isinf(second).any():
        raise CallError("a or b has an infinite size; use nan where a size is missing")
    return first, second


def _exponential(interval: Interval) -> Interval:
    """On the scale of ratios."""
    value, low, high = (v if math.isnan(v) else _exp(v) for v in (interval.value, interval.low, interval.high))
    return Interval(value, low, high, interval.level, interval.method, interval.n)


def _exp(value: float) -> float:
    return math.exp(min(value, MOST))


def _limits(
    d: Values, names: NDArray[Any], level: float, factor: float, interval: str, zero: int
) -> tuple[Interval, Interval, Interval, float]:
    """Bias, lower and upper limit, and the standard deviation."""
    owners, owner, counts = np.unique(names, return_inverse=True, return_counts=True)
    n = len(owners)
    if n < 2:
        why = Undefined("fewer_than_two_subjects" if n or not zero else "no_size_above_zero")
        none = Interval(why, why, why, level, "exact", n)
        bias = Interval(float(d.mean()), why, why, level, "t", n) if n else none
        return bias, none, none, why
    of_subject = np.bincount(owner, d) / counts
    mean, between = float(of_subject.mean()), float(of_subject.var(ddof=1))
    within = float(((d - of_subject[owner]) ** 2).sum() / (len(d) - n)) if len(d) > n else 0.0
    variance = between + (1 - float((1 / counts).mean())) * within
    sd, error = math.sqrt(variance), math.sqrt(between / n)
    if sd <= ROUNDING * np.abs(d).max():
        why = Undefined("no_spread")
        same = Interval(mean, why, why, level, "exact", n)
        return same, same, same, 0.0
    t = student_quantile((1 + level) / 2, n - 1)
    bias = Interval(mean, mean - t * error, mean + t * error, level, "t", n)
    if len(d) > n:
        rest = variance - between
        if len(d) - n < FEW_REPEATS:
            # too few to know their variance by itself: degrees of freedom of the sum (Satterthwaite)
            freedom = variance**2 / (between**2 / (n - 1) + rest**2 / (len(d) - n))
            _, low, high = combine_variances([(variance, freedom)], level)
        else:
            _, low, high = combine_variances([(between, n - 1), (rest, len(d) - n)], level)
        near = math.hypot(t * error, factor * (sd - math.sqrt(max(low, 0.0))))
        far = math.hypot(t * error, factor * (math.sqrt(high) - sd))
        method = "mover"
    elif interval == "approximate":
        near = far = t * sd * math.sqrt((1 + factor**2 / 2) / n)
        method = "approximate"
    else:
        near, far = _exact_reach(sd, n, factor, level)
        method = "exact"
    above, below = mean + factor * sd, mean - factor * sd
    upper = Interval(above, above - near, above + far, level, method, n)
    return bias, Interval(below, below - far, below + near, level, method, n), upper, sd


def _exact_reach(sd: float, n: int, factor: float, level: float) -> tuple[float, float]:
    """How far the interval of a limit reaches towards the bias and away from it."""
    from scipy.special import nctdtrit

    root = math.sqrt(n)
    near, far = (float(nctdtrit(n - 1, factor * root, p)) for p in ((1 - level) / 2, (1 + level) / 2))
    return sd * (factor - near / root), sd * (far / root - factor)


# -- many raters with their mean ---------------------------------------------------------------------


@dataclass(frozen=True)
class LimitsWithMean:
    """How far one rater's size lies from the mean of all raters of the subject.

    Attributes
    ----------
    limit : Interval
        95% of sizes lie within ± this of the mean of the subject; on a logarithmic scale, within a factor of it.
    log : bool
        Whether the limit is a factor.
    n_subjects, n_raters : int
        Of the table.
    n_zero : int
        Subjects left out on a logarithmic scale because a size is 0.
    """

    limit: Interval
    log: bool
    n_subjects: int
    n_raters: int
    n_zero: int

    def __str__(self) -> str:
        return f"limits of agreement with the mean: {'×/÷' if self.log else '±'} {self.limit.value:.4g}"


def limits_with_mean(
    values: ArrayLike,
    *,
    log: bool = False,
    level: float = 0.95,
    exchangeable: bool = False,
    subjects: Sequence[object] | None = None,
) -> LimitsWithMean:
    """Limits of agreement of many raters with their mean: ±1.96 √((σ²_rater + σ²_error)(R − 1)/R).

    They say how far a rater lies from the mean of all R raters, themselves included. They are not limits of agreement
    between two raters, which are wider; see :func:`bland_altman`.

    Parameters
    ----------
    values : array_like
        Sizes (subjects, raters), nan or masked where one is missing.
    log : bool
        Whether to compare logarithms, so that the limit is a factor. Subjects with a size of 0 are left out and counted
        in ``n_zero``.
    level : float
        Confidence level of the interval.
    exchangeable : bool
        Whether columns are not the same rater in every row; differences between raters are then part of the error.
    subjects : sequence, optional
        The subject of each row, where subjects have several rows. The interval then comes from the jackknife over
        subjects, and speaks of other subjects with these raters.

    Returns
    -------
    LimitsWithMean
        The limit with its interval.

    References
    ----------
    Jones M, Dobson A, O'Brian S. A graphical method for assessing agreement with the mean between multiple observers
    using continuous measures. Int J Epidemiol 2011;40:1308–1313. doi:10.1093/ije/dyr109. Christensen HS, Borgbjerg J,
    Børty L, Bøgsted M. On Jones et al.'s method for extending Bland-Altman plots to limits of agreement with the mean
    for multiple observers. BMC Med Res Methodol 2020;20:304. doi:10.1186/s12874-020-01182-w.

    Examples
    --------
    >>> import manytruths as mt
    >>> sizes = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    >>> print(mt.limits_with_mean(sizes))
    limits of agreement with the mean: ± 4.248
    """
    check_level(level)
    table, names, zero = _on_scale(values, subjects, log)
    fit = fit_sizes(table, one_way=exchangeable, subjects=names)
    if isinstance(fit, Undefined):
        why = Undefined("no_size_above_zero") if zero and not len(table) else fit
        return LimitsWithMean(Interval(why, why, why, level, "", 0), log, 0, 0, zero)
    share = (fit.n_raters - 1) / fit.n_raters
    limit = spread_interval(fit.error_variance(True, level), LIMIT * math.sqrt(share), level, fit.n_subjects, log)
    return LimitsWithMean(limit, log, fit.n_subjects, fit.n_raters, zero)


def _on_scale(
    values: ArrayLike, subjects: Sequence[object] | None, log: bool
) -> tuple[Values, Sequence[object] | None, int]:
    """Sizes or their logarithms, their subjects, and how many rows were left out because a size is 0."""
    table = as_sizes(values, 2, "an array (subjects, raters)")
    if not log:
        return table, subjects, 0
    if (table < 0).any():
        raise CallError("log=True compares ratios, and there are sizes below 0; use log=False")
    zero = (table == 0).any(axis=1)
    kept = None if subjects is None else [s for s, z in zip(subjects, zero.tolist(), strict=True) if not z]
    return np.log(table[~zero]), kept, int(zero.sum())


def spread_interval(
    variance: tuple[float, float, float], times: float, level: float, n: int, log: bool = False
) -> Interval:
    """A multiple of a standard deviation from a variance and its interval; with ``log`` the factor it stands for."""
    value, low, high = (v if math.isnan(v) else times * math.sqrt(max(v, 0.0)) for v in variance)
    interval = Interval(value, low, high, level, "variance", n)
    return _exponential(interval) if log else interval


# -- the same rater twice ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Repeatability:
    """How much sizes of the same subject differ: by one rater twice, and by two raters.

    Attributes
    ----------
    repeatability : Interval
        1.96 √2 s_w: 95% of the differences between two sizes that one rater gave lie below; on a logarithmic scale a
        factor.
    reproducibility : Interval
        1.96 √2 √(σ²_rater + σ²_subject×rater + s²_w): the same of two sizes that two raters gave; :class:`Undefined`
        of one rater.
    within_sd : float
        s_w, the standard deviation of a rater's sizes of one subject; on a logarithmic scale of natural logarithms.
    log : bool
        Whether the coefficients are factors.
    n_subjects, n_raters : int
        Those with a size that was measured twice.
    freedom : int
        Degrees of freedom of s_w: the number of sizes beyond the first of each rater and subject.
    n_zero : int
        Subjects left out on a logarithmic scale because a size is 0.
    """

    repeatability: Interval
    reproducibility: Interval
    within_sd: float
    log: bool
    n_subjects: int
    n_raters: int
    freedom: int
    n_zero: int


def repeatability(
    values: ArrayLike, *, log: bool = False, level: float = 0.95, subjects: Sequence[object] | None = None
) -> Repeatability:
    """Repeatability and reproducibility coefficients of sizes that raters measured in several sessions.

    Parameters
    ----------
    values : array_like
        Sizes (subjects, raters, sessions), or (subjects, sessions) of one rater; nan or masked where one is
        missing.
    log : bool
        Whether to compare logarithms, so that coefficients are factors. Subjects with a size of 0 are left out and
        counted in ``n_zero``.
    level : float
        Confidence level of the intervals.
    subjects : sequence, optional
        The subject of each row, where subjects have several rows. Intervals then come from the jackknife over subjects.

    Returns
    -------
    Repeatability
        Both coefficients with their intervals.

    References
    ----------
    Bland JM, Altman DG. Stat Methods Med Res 1999;8:135–160, section 4. doi:10.1177/096228029900800204. Raunig DL,
    McShane LM, Pennello G et al. Quantitative imaging biomarkers: a review of statistical methods for technical
    performance assessment. Stat Methods Med Res 2015;24:27–67. doi:10.1177/0962280214537344.

    Examples
    --------
    >>> import manytruths as mt
    >>> twice = [[494, 490], [395, 397], [516, 512], [434, 401], [476, 470], [557, 611]]
    >>> found = mt.repeatability(twice)
    >>> print(f"{found.within_sd:.1f} {found.repeatability.value:.1f}")
    18.4 51.1
    """
    check_level(level)
    try:
        axes = 2 if np.ndim(values) == 2 else 3
    except ValueError:  # rows that differ in length, which as_sizes refuses
        axes = 3
    table = as_sizes(values, axes, "an array (subjects, raters, sessions)")
    table = table[:, None] if axes == 2 else table
    if np.isinf(table).any():
        raise CallError("values has an infinite size; use nan where a size is missing")
    flat, names, zero = _on_scale(table.reshape(len(table), -1), subjects, log)
    table = flat.reshape(len(flat), *table.shape[1:])
    counts = (~np.isnan(table)).sum(axis=2)
    twice = counts > 1
    freedom = int((counts[twice] - 1).sum())
    about = log, int(twice.any(axis=1).sum()), int(twice.any(axis=0).sum()), freedom, zero
    if not freedom:
        why = Undefined("measured_once")
        none = Interval(why, why, why, level, "", 0)
        return Repeatability(none, none, why, *about)
    within, between = _session_variances(table, counts, names, level)
    times, n = LIMIT * math.sqrt(2), about[1]
    coefficients = [spread_interval(v, times, level, n, log) for v in (within, between)]
    return Repeatability(coefficients[0], coefficients[1], math.sqrt(within[0]), *about)


Variance = tuple[float, float, float]


def _session_variances(
    table: Values, counts: NDArray[np.intp], names: Sequence[object] | None, level: float
) -> tuple[Variance, Variance]:
    """Variance of sizes by one rater, and by several, with intervals."""
    sums = np.nansum(table, axis=2)
    mean = np.divide(sums, counts, out=np.full(sums.shape, np.nan), where=counts > 0)
    left = np.nansum((table - mean[:, :, None]) ** 2, axis=2)
    freedom = np.maximum(counts - 1, 0)
    variance = float(left.sum() / freedom.sum())
    groups = None if names is None else np.unique([str(s) for s in names], return_inverse=True)[1]
    repeated = groups is not None and groups.max() + 1 < len(groups)
    if variance == 0:
        none = Undefined("no_spread")
        within: Variance = (0.0, none, none)
    elif repeated and groups is not None:
        by_subject = [np.bincount(groups, part.sum(axis=1)) for part in (left, freedom)]
        within = _ratio_jackknife(by_subject[0], by_subject[1], level)
    else:
        within = combine_variances([(variance, int(freedom.sum()))], level)
    fit = fit_sizes(mean, subjects=names)
    if isinstance(fit, Undefined):
        why = Undefined("one_rater") if fit.code == "fewer_than_two_raters" else fit
        return within, (why, why, why)
    # means of several sessions have less error than one: what they lack is added
    harmonic = float(np.mean(1 / counts[counts > 0]))
    lacking, low, high = (v if math.isnan(v) else (1 - harmonic) * v for v in within)
    return within, _add([fit.error_variance(True, level), (lacking, low, high)])


def _ratio_jackknife(left: NDArray[Any], freedom: NDArray[Any], level: float) -> Variance:
    """Σ left / Σ freedom with an interval over subjects, on the logarithm."""
    value, rest = float(left.sum() / freedom.sum()), freedom.sum() - freedom
    without = np.divide(left.sum() - left, rest, out=np.zeros(len(left)), where=rest > 0)
    found = np.log(without, out=np.full(len(left), np.nan), where=without > 0)
    ends = jackknife_interval(math.log(value), found, level)
    low, high = (end if math.isnan(end) else _exp(end) for end in ends)
    return value, low, high


def _add(parts: Sequence[Variance]) -> Variance:
    """The sum of independent estimates, its interval recovered from theirs (MOVER)."""
    value = sum(part[0] for part in parts)
    gaps = [end for part in parts if part[0] > 0 for end in part[1:] if math.isnan(end)]
    if gaps:
        return value, gaps[0], gaps[0]
    below = math.sqrt(sum((part[0] - part[1]) ** 2 for part in parts if part[0] > 0))
    above = math.sqrt(sum((part[2] - part[0]) ** 2 for part in parts if part[0] > 0))
    return value, max(value - below, 0.0), value + above

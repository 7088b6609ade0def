"""How many subjects the interval of a mean needs to be as narrow as wanted, from those that there are.

Further subjects are taken to be like those so far. What is not known well is their standard deviation: of skewed values
Bonett's interval for it is used, so that the number of subjects is a range, too.

Bonett DG. Approximate confidence interval for standard deviation of nonnormal distributions. Comput Stat Data Anal
2006;50:775–782. doi:10.1016/j.csda.2004.10.003
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import CallError
from ...inference.intervals import MIN_SUBJECTS, t_interval
from ...inference.scales import Scale

MOST = 1 << 24
"""More subjects no study has."""


@dataclass(frozen=True)
class SubjectsNeeded:
    """How many subjects an interval of a mean needs.

    Attributes
    ----------
    subjects : int
        The number, as far as can be told.
    low, high : int
        Its range.
    so_far : int
        Subjects that it is told from.
    width : float
        Width of their interval.
    """

    subjects: int
    low: int
    high: int
    so_far: int
    width: float


def subjects_for_width(
    values: ArrayLike, width: float, scale: Scale = "plain", level: float = 0.95
) -> SubjectsNeeded | None:
    """How many subjects the t interval of their mean needs to be as narrow as wanted.

    Parameters
    ----------
    values : array_like
        One for each subject so far; NaN where it is undefined.
    width : float
        Of the interval, from end to end.
    scale : {"share", "kappa", "positive", "plain"}
        Range of the values, as for :func:`manytruths.confidence_interval`.
    level : float
        Confidence level of the interval.

    Returns
    -------
    SubjectsNeeded or None
        The number and its range; None with fewer than ten subjects, or where all have the same value.

    References
    ----------
    Bonett DG. Comput Stat Data Anal 2006;50:775–782. doi:10.1016/j.csda.2004.10.003

    Examples
    --------
    >>> found = subjects_for_width([0.7, 0.9, 0.8, 0.6, 0.85, 0.75, 0.9, 0.8, 0.7, 0.8], 0.05)
    >>> found.subjects, found.low, found.high
    (58, 26, 205)
    """
    if not width > 0:
        raise CallError(f"width of an interval is above 0; got {width:g}")
    each = np.asarray(values, np.float64)
    each = each[~np.isnan(each)]
    n = len(each)
    if n < MIN_SUBJECTS:
        return None
    mean, deviation = float(each.mean()), float(each.std(ddof=1))
    now = t_interval(mean, deviation / math.sqrt(n), n - 1, scale=scale, level=level, n=n)
    if math.isnan(now.low):
        return None
    low, high = _deviation_range(each, level)
    needed, least, most = (_smallest(mean, spread, width, scale, level) for spread in (deviation, low, high))
    return SubjectsNeeded(needed, least, most, n, now.high - now.low)


def _deviation_range(values: np.ndarray, level: float) -> tuple[float, float]:
    """Bonett's interval of the standard deviation."""
    n, z = len(values), NormalDist().inv_cdf((1 + level) / 2)
    variance = float(values.var(ddof=1))
    # deviations from a trimmed mean, so that a long tail counts
    cut = int(n / (2 * math.sqrt(n - 4)))
    middle = float(np.sort(values)[cut : n - cut].mean())
    kurtosis = n * float(((values - middle) ** 4).sum()) / float(((values - values.mean()) ** 2).sum()) ** 2
    c = n / (n - z)
    error = c * math.sqrt(max(kurtosis - (n - 3) / n, 0) / (n - 1))
    return math.sqrt(c * variance * math.exp(-z * error)), math.sqrt(c * variance * math.exp(z * error))


def _smallest(mean: float, deviation: float, width: float, scale: Scale, level: float) -> int:
    """The fewest subjects with an interval that is narrow enough."""

    def enough(n: int) -> bool:
        found = t_interval(mean, deviation / math.sqrt(n), n - 1, scale=scale, level=level, n=n)
        return math.isnan(found.low) or found.high - found.low <= width

    high = MIN_SUBJECTS
    while high < MOST and not enough(high):
        high *= 2
    low = max(MIN_SUBJECTS, high // 2)
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle + 1, high)
    return high

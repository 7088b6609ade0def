"""P̄: precision over a range of prevalences that a data set might have had.

With t the true-positive rate and f the false-positive rate, precision at prevalence π is πt / (πt + (1 − π)f). Its mean
over π from ``low`` to ``high`` is ::

    t / (t − f) · [π − f / (t − f) · ln(π(t − f) + f)]   between the limits, over high − low

so that truths with few and with many positives can be compared. f = 0 gives 1, t = 0 gives 0; t = f = 0, nothing
detected, is undefined. Where the argument of the logarithm changes by less than a tenth the formula cancels, and
precision is so smooth that eight Gauss–Legendre points give it to the last digit.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, eq. 7. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import CallError

Values = NDArray[np.float64]

CANCELS = 0.1
"""The relative change of the logarithm's argument below which points are taken instead."""
POINTS, WEIGHTS = np.polynomial.legendre.leggauss(8)


class SkewLimits(NamedTuple):
    """The least and the largest prevalence to be reckoned with."""

    low: float
    high: float


def mean_precision(t: ArrayLike, f: ArrayLike, low: float, high: float) -> Values:
    """P̄ of rates t and f; nan where nothing is detected. ``low == high`` gives the precision at that prevalence.

    >>> mean_precision([1.0, 0.8, 0.8, 0.0], [0.0, 0.1, 0.8, 0.2], 0.1, 0.5).round(4)
    array([1.    , 0.7455, 0.3   , 0.    ])
    """
    check_limits(low, high)
    t, f = np.broadcast_arrays(np.asarray(t, np.float64), np.asarray(f, np.float64))
    out = np.where(t > 0, 1.0, np.where(f > 0, 0.0, np.nan))
    open_ = (t > 0) & (f > 0)
    out[open_] = _between(t[open_], f[open_], low, high)
    return out


def _between(t: Values, f: Values, low: float, high: float) -> Values:
    first, last = low * t + (1 - low) * f, high * t + (1 - high) * f
    smooth = np.abs(last - first) < CANCELS * first
    out = np.empty_like(t)
    out[smooth] = _by_points(t[smooth], f[smooth], low, high)
    t, f, first, last = (x[~smooth] for x in (t, f, first, last))
    out[~smooth] = t / (t - f) * (1 - f / (t - f) * np.log(last / first) / (high - low))
    return out


def _by_points(t: Values, f: Values, low: float, high: float) -> Values:
    at = (low + high) / 2 + (high - low) / 2 * POINTS
    hit, false = np.multiply.outer(t, at), np.multiply.outer(f, 1 - at)
    return np.asarray((hit / (hit + false)) @ (WEIGHTS / 2))


def skew_limits(prevalences: ArrayLike) -> SkewLimits:
    """The mean of a study's own prevalences ± 3 sample standard deviations, cut to [0, 1]; nan are left out.

    >>> skew_limits([0.25, 0.5, 0.75])
    SkewLimits(low=0.0, high=1.0)
    """
    known = np.asarray(prevalences, np.float64).ravel()
    known = known[~np.isnan(known)]
    if len(known) < 2 or known.min() < 0 or known.max() > 1:
        raise CallError(
            f"skew_limits wants two or more prevalences from 0 to 1; got {known.tolist()}; or say low, high"
        )
    mean, spread = float(known.mean()), 3 * float(known.std(ddof=1))
    return SkewLimits(max(0.0, mean - spread), min(1.0, mean + spread))


def check_limits(low: float, high: float) -> None:
    """Refuse what is no range of prevalences."""
    if not 0 <= low <= high <= 1:
        raise CallError(f"prevalences run from low to high within 0 to 1; got low={low!r}, high={high!r}")

"""Whether forecast probabilities differ from what is observed, with subjects as the unit.

For every subject there are the mean forecast p of some pixels and the share o of them that raters marked. If forecasts
are right given the image, o − p has the mean 0 for every subject. Student's t alone finds differences where there are
none: where all raters of all ten subjects happen to mark pixels that were called 90% likely, which is right in a third
of such studies, the shares do not vary at all. Pixels of one image and raters of one image may depend on each other in
any way, but the variance of a share is never above p(1 − p), that of one decision a subject. The standard error is
therefore at least that of so many ``decisions`` a subject; the fewer, the more cautious.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .intervals import MIN_SUBJECTS


@dataclass(frozen=True)
class ShareGap:
    """The mean of observed shares minus forecasts, and whether it is 0."""

    mean: float
    error: float
    """The standard error, at least that of some decisions a subject."""
    n: int
    """Subjects who have such pixels."""
    p: float
    """Two-sided; nan with fewer than ten subjects."""


def compare_share(forecast: ArrayLike, observed: ArrayLike, *, decisions: float = 1.0) -> ShareGap:
    """Compare forecasts with shares that were observed, by subject.

    Parameters
    ----------
    forecast, observed : array_like
        Of every subject; NaN where there is nothing.
    decisions : float
        The standard error is at least that of so many independent decisions a subject.

    Returns
    -------
    ShareGap
        The mean difference and its p value.

    Examples
    --------
    >>> said, marked = [0.8] * 20, [0.3, 0.5] * 10
    >>> found = compare_share(said, marked)
    >>> round(found.mean, 2), round(found.p, 4)
    (-0.4, 0.0003)
    >>> round(compare_share([0.9] * 10, [1.0] * 10).p, 2)
    0.32
    """
    from scipy.special import stdtr

    p, o = np.asarray(forecast, np.float64), np.asarray(observed, np.float64)
    known = ~(np.isnan(p) | np.isnan(o))
    p, gaps, n = p[known], (o - p)[known], int(known.sum())
    mean = float(gaps.mean()) if n else math.nan
    if n < MIN_SUBJECTS:
        return ShareGap(mean, math.nan, n, math.nan)
    least = float((p * (1 - p)).mean()) / decisions
    error = math.sqrt(max(float(gaps.var(ddof=1)), least) / n)
    if not error:
        return ShareGap(mean, error, n, 1.0 if not mean else 0.0)
    return ShareGap(mean, error, n, float(2 * stdtr(n - 1, -abs(mean) / error)))

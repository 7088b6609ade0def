"""By how much two algorithms differ: the mean over subjects of the differences of their scores, with an interval.

p says how surely there is a difference, not how large it is. The difference is paired: a subject that is hard for both
adds nothing to the width of the interval, which is why this is narrower than what two intervals of means suggest.

Cumming G. The new statistics: why and how. Psychol Sci 2014;25:7–29. doi:10.1177/0956797613504966
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...core.undefined import Undefined
from ...inference.intervals import mean_intervals, too_few_subjects
from .scores import Values


@dataclass(frozen=True, eq=False)
class Differences:
    """Row less column, in the metric's own units, with an interval; nan ends with too few subjects."""

    value: Values
    low: Values
    high: Values
    refusal: Undefined | None = None
    """Why there is no interval."""


def mean_differences(values: Values, resamples: int = 1000, level: float = 0.95, seed: int = 0) -> Differences:
    """Mean differences between all rows of algorithms × subjects (BCa over subjects, as everywhere in the package).

    >>> mean_differences(np.array([[0.9, 0.8], [0.7, 0.8]])).value.round(3)
    array([[ 0. ,  0.1],
           [-0.1,  0. ]])
    """
    count, subjects = values.shape
    found, low, high = np.zeros((3, count, count))
    first, second = np.triu_indices(count, 1)
    apart = values[first] - values[second]
    found[first, second], found[second, first] = apart.mean(axis=1), -apart.mean(axis=1)
    refusal = too_few_subjects(subjects)
    if refusal is not None:
        nothing = np.full_like(found, np.nan)
        return Differences(found, nothing, nothing, refusal)
    ends = np.array([(i.low, i.high) for i in mean_intervals(apart.T, "bca", resamples, level, seed)])
    low[first, second], high[first, second] = ends.T
    low[second, first], high[second, first] = -ends[:, 1], -ends[:, 0]
    return Differences(found, low, high)

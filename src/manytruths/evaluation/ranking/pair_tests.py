"""Every two algorithms compared by Wilcoxon's signed-rank test, adjusted after Holm.

For the subjects' differences d = a − b, one-sided ("a is better"): differences of 0 are dropped; the n others are
ranked by |d|, ties at their mean rank; W is the sum of the ranks of positive differences ::

    p = P(W* ≥ W),  W* = Σ rᵢ sᵢ,  every sᵢ 0 or 1 with probability ½

Up to 50 differences this is counted out over all signs, with the ranks as they are, ties or not. Beyond, it is normal,
with t the sizes of the ties and c half a step of W (a quarter of the greatest common divisor of all 2rᵢ), at least ½ ::

    z = (W − c − n(n + 1)/4) / √(n(n + 1)(2n + 1)/24 − Σ(t³ − t)/48)

Without ties c is ½; where all differences are as large, this is the sign test with its own correction. The resamples of
the scheme ``test`` are so many that they take the normal form at any size, with c = 0; a subject drawn twice is a tie.

Differences that agree to twelve digits of the values are ties. Holm's adjustment is over all ordered pairs: p₍ₖ₎ times
(m − k + 1), made to rise with k.

Wilcoxon F. Biometrics Bull 1945;1:80–83. doi:10.2307/3001968. Pratt JW. Remarks on zeros and ties in the Wilcoxon
signed rank procedures. J Am Stat Assoc 1959;54:655–667. doi:10.1080/01621459.1959.10501526. Holm S. A simple
sequentially rejective multiple test procedure. Scand J Stat 1979;6:65–70.

The mean difference is paired, too: a subject that is hard for both algorithms adds nothing to the width of its
interval, which is therefore narrower than two intervals of means suggest.

Cumming G. The new statistics: why and how. Psychol Sci 2014;25:7–29. doi:10.1177/0956797613504966
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.undefined import Undefined
from ...inference.intervals import mean_intervals, too_few_subjects
from .scores import Values

EXACT = 50
"""The most differences for which the distribution of W is counted out."""
FINE = 1e-12
WHOLE = 2000
"""Up to so many subjects, sums of ranks are exact in 32 bits."""
BLOCK = 25
AT_ONCE = 250
"""Resamples whose weights stay in the processor's cache."""

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Estimates:
    """Means, medians or differences in the metric's own units, with intervals; nan ends with too few subjects."""

    value: Values
    low: Values
    high: Values
    refusal: Undefined | None = None
    """Why there is no interval."""


@dataclass(frozen=True, eq=False)
class PairTests:
    """Row against column: the one-sided p that the row is better, as it is and adjusted; 1 on the diagonal.

    All are nan where too few subjects allow no test.
    """

    p_value: Values
    p_holm: Values

    def beats(self, alpha: float = 0.05) -> NDArray[np.bool_]:
        """Whether the row is significantly better than the column."""
        return np.asarray(self.p_holm < alpha)


def pair_tests(gains: ArrayLike) -> PairTests:
    """Tests between all rows of algorithms × subjects, where higher is better.

    >>> pair_tests([[0.9, 0.8, 0.85, 0.7], [0.8, 0.6, 0.55, 0.3]]).p_value
    array([[1.    , 0.0625],
           [1.    , 1.    ]])
    """
    values = np.asarray(gains, np.float64)
    count = len(values)
    p = np.ones((count, count))
    first, second = np.triu_indices(count, 1)
    p[first, second], p[second, first] = _both_sides(rounded_differences(values, first, second))
    adjusted = np.ones_like(p)
    pairs = ~np.eye(count, dtype=bool)
    adjusted[pairs] = holm(p[pairs])
    return PairTests(p, adjusted)


def no_tests(algorithms: int) -> PairTests:
    """The tests of too few subjects: none."""
    nothing = np.full((algorithms, algorithms), np.nan)
    return PairTests(nothing, nothing)


def holm(p: ArrayLike) -> Values:
    """Holm's adjusted p-values along the last axis.

    >>> holm([0.01, 0.04, 0.03]).round(3)
    array([0.03, 0.06, 0.06])
    """
    values = np.asarray(p, np.float64)
    order = np.argsort(values, axis=-1, kind="stable")
    count = values.shape[-1]
    rising = np.take_along_axis(values, order, -1) * np.arange(count, 0, -1)
    adjusted = np.empty_like(values)
    np.put_along_axis(adjusted, order, np.minimum(np.maximum.accumulate(rising, axis=-1), 1), -1)
    return adjusted


def rounded_differences(values: Values, first: NDArray[np.intp], second: NDArray[np.intp]) -> Values:
    """Differences of pairs of rows in steps of the twelfth digit, so that rounding makes and hides no tie."""
    apart = values[first] - values[second]
    size = np.abs(values).max(axis=1)
    step = np.maximum(np.maximum(size[first], size[second]), np.finfo(float).tiny) * FINE
    return np.asarray(np.round(apart / step[:, None]))


def _both_sides(apart: Values) -> tuple[Values, Values]:
    """p of "the first is better" and of "the second is better" for each row of differences."""
    from scipy.special import ndtr

    size = np.where(apart == 0, np.inf, np.abs(apart))
    order = np.argsort(size, axis=1, kind="stable")
    double, ties = _double_ranks(np.take_along_axis(size, order, 1))
    w = (double / 2).sum(axis=1, where=np.take_along_axis(apart, order, 1) > 0)
    n = np.count_nonzero(double, axis=1).astype(np.float64)
    half = np.maximum(np.gcd.reduce(double, axis=1) / 4, 0.5)
    p_values = ndtr(-_z(w - half, n, ties)), ndtr(_z(w + half, n, ties))
    for row in np.flatnonzero(n <= EXACT):
        tail = _at_least(tuple(double[row][double[row] > 0].tolist()))
        reached = round(2 * w[row])
        p_values[0][row], p_values[1][row] = tail[reached], tail[len(tail) - 1 - reached]
    return p_values


def _double_ranks(size: Values) -> tuple[NDArray[np.int64], Values]:
    """Twice the rank of each size in sorted rows, which is whole (0 of an infinite size), and Σ(t³ − t) of each row."""
    places = np.broadcast_to(np.arange(size.shape[1]), size.shape)
    starts = np.ones(size.shape, bool)
    starts[:, 1:] = size[:, 1:] != size[:, :-1]
    ends = np.ones(size.shape, bool)
    ends[:, :-1] = starts[:, 1:]
    begin = np.maximum.accumulate(np.where(starts, places, 0), axis=1)
    finish = np.minimum.accumulate(np.where(ends, places, size.shape[1])[:, ::-1], axis=1)[:, ::-1]
    counts = np.isfinite(size)
    ties = ((finish - begin + 1.0) ** 2 - 1).sum(axis=1, where=counts)
    return np.where(counts, begin + finish + 2, 0), ties


def _z(w: Values, n: Values, ties: Values) -> Values:
    variance = n * (n + 1) * (2 * n + 1) / 24 - ties / 48
    apart = w - n * (n + 1) / 4
    # without any difference nobody is better: p is 1/2 from here in resamples, and 1 from the exact distribution
    return np.asarray(np.divide(apart, np.sqrt(variance), out=np.zeros_like(apart), where=variance > 0))


@lru_cache(maxsize=64)
def _at_least(double: tuple[int, ...]) -> Values:
    """P(2W ≥ w) for w = 0, 1, …, Σ 2rᵢ, from twice the ranks: one rank after the other is added, or is not."""
    ways = np.zeros(sum(double) + 1)
    ways[0] = 1
    for rank in double:
        ways[rank:] += ways[:-rank].copy()
    return np.asarray(ways[::-1].cumsum()[::-1] / 2.0 ** len(double))


def resampled_wins(gains: Values, weights: Values, alpha: float = 0.05) -> Values:
    """How many others each algorithm beats in each resample; ``weights`` says how often each subject is drawn."""
    from scipy.special import ndtr

    first, second = np.triu_indices(len(gains), 1)
    apart = rounded_differences(gains, first, second)
    wins = np.zeros((len(weights), len(gains)))
    for start in range(0, len(weights), AT_ONCE):
        block = slice(start, start + AT_ONCE)
        z = ResampledTests(weights[block]).z(apart)
        won = holm(np.concatenate([ndtr(-z), ndtr(z)]).T) < alpha
        for pair, winner in enumerate(np.concatenate([first, second])):
            wins[block, winner] += won[:, pair]
    return wins


class ResampledTests:
    """Signed ranks in many resamples at once, in memory that serves one pair after the other.

    The order of |d| is that of the whole: with weights w in that order and their sums C up to each tie, a tie has
    the mean rank (C_before + C_after + 1)/2. So nothing is sorted again.
    """

    def __init__(self, weights: Values) -> None:
        resamples, subjects = weights.shape
        kind = np.float32 if subjects <= WHOLE else np.float64
        self.weights = np.ascontiguousarray(weights.T, kind)
        self.blocks = -(-subjects // BLOCK)
        self.triangle = np.tril(np.ones((BLOCK, BLOCK), kind))
        self.drawn = np.zeros((self.blocks * BLOCK, resamples), kind)
        self.reached = np.zeros((self.blocks * BLOCK + 1, resamples), kind)
        self.spare = [np.empty((subjects, resamples), kind) for _ in range(4)]

    def z(self, apart: Values) -> Values:
        """z of each row of differences (pairs × subjects), in every resample."""
        return np.stack([self._of_pair(row) for row in apart])

    def _of_pair(self, apart: Values) -> Values:
        where = np.flatnonzero(apart)
        if not len(where):
            return np.zeros(self.weights.shape[1])
        where = where[np.argsort(np.abs(apart[where]), kind="stable")]
        starts = np.flatnonzero(np.diff(np.abs(apart[where]), prepend=-1.0))
        sizes = np.diff(starts, append=len(where))
        reached = self._cumulate(where)
        before, after = _rows(reached, starts, self.spare[0]), _rows(reached, starts + sizes, self.spare[1])
        positive = np.flatnonzero(apart[where] > 0)
        drawn = _rows(self.drawn, positive, self.spare[2])
        n = reached[-1].astype(np.float64)
        ties = self._ties(before, after, whole=len(starts) == len(where)) - n
        before += after
        before += 1
        group = np.repeat(np.arange(len(starts)), sizes)[positive]
        # twice W, as halves would cost a digit
        double = np.einsum("sr,sr->r", drawn, _rows(before, group, self.spare[3])).astype(np.float64)
        return _z(double / 2, n, ties)

    def _ties(self, before: Array, after: Array, *, whole: bool) -> Values:
        """Σ t³: in a subject drawn t times, and, where there are ties of subjects, in all of them."""
        size = np.subtract(after, before, out=self.spare[3][: len(after)])
        size = size if whole else size.astype(np.float64)
        return np.asarray(np.einsum("sr,sr,sr->r", size, size, size), np.float64)

    def _cumulate(self, where: NDArray[np.intp]) -> Array:
        """Sums of the first 0, 1, 2, … weights: products with a triangle of ones are far quicker than ``cumsum``."""
        _rows(self.weights, where, self.drawn)
        self.drawn[len(where) :] = 0
        shape = (self.blocks, BLOCK, -1)
        inner = self.reached[1:].reshape(shape)
        np.matmul(self.triangle, self.drawn.reshape(shape), out=inner)
        inner[1:] += np.cumsum(inner[:-1, -1], axis=0)[:, None]
        return self.reached[: len(where) + 1]


def _rows(table: Array, where: NDArray[np.intp], into: Array) -> Array:
    """Rows of a table, in memory that is there already."""
    return np.take(table, where, axis=0, out=into[: len(where)], mode="clip")


def mean_differences(values: Values, level: float = 0.95) -> Estimates:
    """Mean differences, row less column, of all rows of algorithms × subjects, with Student's t intervals.

    >>> mean_differences(np.array([[0.9, 0.8], [0.7, 0.8]])).value.round(3)
    array([[ 0. ,  0.1],
           [-0.1,  0. ]])
    """
    count, subjects = values.shape
    means, low, high = np.zeros((3, count, count))
    first, second = np.triu_indices(count, 1)
    differences = values[first] - values[second]
    means[first, second], means[second, first] = differences.mean(axis=1), -differences.mean(axis=1)
    refusal = too_few_subjects(subjects)
    if refusal is not None:
        nothing = np.full_like(means, np.nan)
        return Estimates(means, nothing, nothing, refusal)
    intervals = mean_intervals(differences.T, level=level)
    low[first, second], high[first, second] = [i.low for i in intervals], [i.high for i in intervals]
    low[second, first], high[second, first] = -high[first, second], -low[first, second]
    return Estimates(means, low, high)

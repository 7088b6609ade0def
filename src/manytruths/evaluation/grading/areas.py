"""Areas under ROC curves of one layer, or of several whose pairs are put together, with intervals over subjects.

In a layer every positive is compared with every negative. Over layers, such as algorithms, won and all pairs add::

    area = Σ (#{positive better than negative} + ½ #{equal}) / Σ (positives × negatives)

It is the area within layers, each weighing by its number of pairs; with one layer, that of Hanley and McNeil.

Hanley JA, McNeil BJ. The meaning and use of the area under a receiver operating characteristic (ROC) curve. Radiology
1982;143:29–36. doi:10.1148/radiology.143.1.7063747. Efron B, Tibshirani RJ. An Introduction to the Bootstrap. 1993,
ch. 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.undefined import Undefined
from ...inference.intervals import Interval, too_few_subjects
from ..grey.curves import Curve, cumulated, descending
from ..ranking.stability import draws

Values = NDArray[np.float64]
Counts = NDArray[np.int64]
Flags = NDArray[np.bool_]
Places = NDArray[np.intp]

CELLS = 2_000_000
"""Resamples × distinct values that are held at a time."""


@dataclass(frozen=True, eq=False)
class Layer:
    """By subject and by distinct value, how many of either class there are."""

    levels: Values
    positive: Counts
    negative: Counts

    @classmethod
    def of(cls, goodness: Values, positive: Flags, owner: Places, subjects: int) -> Layer:
        """From the goodness, class and subject (a number below ``subjects``) of every item."""
        levels, at = np.unique(goodness, return_inverse=True)
        counts = np.zeros((2, subjects, len(levels)), np.int64)
        np.add.at(counts, (positive.astype(np.intp), owner, at), 1)
        return cls(levels, counts[1], counts[0])

    @property
    def curve(self) -> Curve:
        """Of all subjects together."""
        return cumulated(self.levels, self.positive.sum(axis=0), self.negative.sum(axis=0))

    def pairs(self, weights: Values) -> tuple[Values, Values]:
        """In each of (resamples, subjects) weights: pairs that were won, ties counting half, and all pairs."""
        step = max(1, CELLS // max(1, len(self.levels)))
        found = [self._pairs(weights[start : start + step]) for start in range(0, len(weights), step)]
        return np.concatenate([won for won, _ in found]), np.concatenate([of for _, of in found])

    def _pairs(self, weights: Values) -> tuple[Values, Values]:
        tp, fp = (descending((weights @ c).astype(np.int64)) for c in (self.positive, self.negative))
        twice = (np.diff(fp, axis=-1) * (tp[:, 1:] + tp[:, :-1])).sum(axis=-1)
        return np.asarray(twice / 2, np.float64), np.asarray(tp[:, -1] * fp[:, -1], np.float64)


def layered_area(
    layers: Sequence[Layer],
    subjects: int,
    none: Undefined,
    *,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> Interval:
    """The area within layers, and percentiles of a bootstrap over subjects; ``none`` where there is no pair.

    >>> one = Layer.of(np.array([1.0, 2.0]), np.array([False, True]), np.array([0, 1]), 2)
    >>> two = Layer.of(np.array([5.0, 4.0, 4.0]), np.array([False, True, False]), np.array([0, 0, 1]), 2)
    >>> layered_area([one, two], 2, Undefined("undefined")).value
    0.5
    """
    value = float(_areas(layers, np.ones((1, subjects)))[0])
    few = too_few_subjects(subjects)
    if np.isnan(value) or few:
        nothing = few if few and not np.isnan(value) else none
        return Interval(nothing if np.isnan(value) else value, nothing, nothing, level, "percentile", subjects)
    found = _areas(layers, draws(subjects, resamples, seed))
    known = found[~np.isnan(found)]
    if not len(known):
        nothing = Undefined("no_resample_with_both_classes")
        return Interval(value, nothing, nothing, level, "percentile", subjects, len(found))
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return Interval(value, float(low), float(high), level, "percentile", subjects, len(found) - len(known))


def _areas(layers: Sequence[Layer], weights: Values) -> Values:
    """One area for each row of weights; nan where there is no pair."""
    won, of = np.zeros((2, len(weights)))
    for layer in layers:
        more, pairs = layer.pairs(weights)
        won, of = won + more, of + pairs
    return np.asarray(np.divide(won, of, out=np.full(len(weights), np.nan), where=of > 0))

"""Counts of matched boundary pixels at each threshold, and what they give: points, curves, a data set as a whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.undefined import Undefined

Numbers = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class BoundaryCounts:
    """Pixels at each threshold; counts of several images add."""

    found: Integers
    """Pixels of the prediction."""
    found_matched: Integers
    """Those matched in any truth."""
    wanted: Integers
    """Pixels of all truths."""
    wanted_matched: Integers
    """Those that are matched."""

    def __add__(self, other: BoundaryCounts) -> BoundaryCounts:
        return BoundaryCounts(*(a + b for a, b in zip(self._columns(), other._columns(), strict=True)))

    def at(self, threshold: int) -> BoundaryCounts:
        """The counts at one threshold, by its number."""
        return BoundaryCounts(*(column[threshold : threshold + 1] for column in self._columns()))

    @property
    def precision(self) -> Numbers:
        return _shares(self.found_matched, self.found)

    @property
    def recall(self) -> Numbers:
        return _shares(self.wanted_matched, self.wanted)

    @property
    def f(self) -> Numbers:
        p, r = self.precision, self.recall
        harmonic = _shares(2 * p * r, p + r)
        return np.where((p == 0) | (r == 0), 0.0, harmonic)

    def _columns(self) -> tuple[Integers, ...]:
        return self.found, self.found_matched, self.wanted, self.wanted_matched


@dataclass(frozen=True)
class BoundaryPoint:
    """One point of the curve of precision over recall."""

    threshold: float
    precision: float
    recall: float
    f: float


@dataclass(frozen=True, eq=False)
class BoundaryCurve:
    """Precision, recall and F at each threshold; nan where undefined, with the reason in ``point``."""

    thresholds: Numbers
    """What is found is the prediction at or above these; 1 for a prediction of yes and no."""
    counts: BoundaryCounts

    def __repr__(self) -> str:
        return f"{type(self).__name__}(best={self.best}, {len(self.thresholds)} thresholds)"

    @property
    def precision(self) -> Numbers:
        return self.counts.precision

    @property
    def recall(self) -> Numbers:
        return self.counts.recall

    @property
    def f(self) -> Numbers:
        return self.counts.f

    def point(self, threshold: int) -> BoundaryPoint:
        """The numbers at one threshold, by its number."""
        return _point(float(self.thresholds[threshold]), self.counts.at(threshold))

    @property
    def best(self) -> BoundaryPoint:
        """Where F is largest; of equal ones, where the fewest found pixels are wrong, then the lowest threshold."""
        return self.point(_best(self.counts))

    @property
    def average_precision(self) -> float:
        """The area under precision over recall, between the smallest and the largest recall that was reached."""
        p, r = self.precision, self.recall
        there = np.isfinite(p) & np.isfinite(r)
        recalls, at = np.unique(r[there], return_inverse=True)
        if len(recalls) < 2:
            return Undefined("fewer_than_two_recalls")
        precisions = np.zeros(len(recalls))
        np.maximum.at(precisions, at, p[there])
        return float(np.trapezoid(precisions, recalls))


@dataclass(frozen=True, eq=False, repr=False)
class BoundaryScores(BoundaryCurve):
    """The curve of one image; ``best`` is its own best threshold."""

    tolerance: float
    """In pixels."""
    truths: int
    """How many there were."""


@dataclass(frozen=True, eq=False, repr=False)
class PooledBoundaryScores(BoundaryCurve):
    """The curve of a data set; ``best`` is the best threshold for all images."""

    images: tuple[BoundaryScores, ...]

    @property
    def ods(self) -> BoundaryPoint:
        """The best point with one threshold for the whole data set."""
        return self.best

    @property
    def ois(self) -> BoundaryPoint:
        """The point with the best threshold of each image; it has no threshold of its own."""
        counts = [image.counts.at(_best(image.counts)) for image in self.images]
        return _point(Undefined("own_threshold"), reduce(BoundaryCounts.__add__, counts))


def pooled_boundaries(scores: Iterable[BoundaryScores]) -> PooledBoundaryScores:
    """The scores of a data set, from those of its images, which must have the same thresholds."""
    images = tuple(scores)
    if not images:
        raise CallError("there are no scores to pool; give those of at least one image")
    for number, image in enumerate(images[1:], start=2):
        if not np.array_equal(image.thresholds, images[0].thresholds):
            raise CallError(
                f"image {number} was cut at other thresholds than the first; give boundary_scores the same thresholds="
            )
    counts = reduce(BoundaryCounts.__add__, (image.counts for image in images))
    return PooledBoundaryScores(images[0].thresholds, counts, images)


def _shares(part: NDArray[Any], whole: NDArray[Any]) -> Numbers:
    shares = np.full(len(whole), np.nan)
    np.divide(part, whole, out=shares, where=whole > 0)
    return shares


def _best(counts: BoundaryCounts) -> int:
    wrong = counts.found - counts.found_matched
    return int(np.lexsort((wrong, -np.nan_to_num(counts.f)))[0])


def _point(threshold: float, counts: BoundaryCounts) -> BoundaryPoint:
    """One threshold's numbers, with the reasons of those that are undefined."""
    p, r, f = (float(x[0]) for x in (counts.precision, counts.recall, counts.f))
    return BoundaryPoint(
        threshold,
        p if counts.found[0] else Undefined("no_boundary_found"),
        r if counts.wanted[0] else Undefined("no_boundary_in_truth"),
        f if counts.found[0] or counts.wanted[0] else Undefined("no_boundary_at_all"),
    )

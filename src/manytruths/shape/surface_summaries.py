"""The distances between two surfaces, and the numbers made of them.

With d the distance of an element of one surface to the nearest element of the other, and s its size ::

    percentile p    the smallest distance at which Σ s of the elements so near reaches p% of Σ s
    Hausdorff       the larger of the two directions' largest distances; of their percentiles, the robust one (HD95)
    mean            Σ s d / Σ s over the elements of both surfaces together (ASSD)
    surface Dice    Σ s of the elements of both surfaces that are within a tolerance / Σ s of all of them

Nikolov S et al. Clinically applicable segmentation of head and neck anatomy for radiotherapy. J Med Internet Res
2021;23:e26151. doi:10.2196/26151. Huttenlocher DP et al. IEEE Trans Pattern Anal Mach Intell 1993;15:850–863.
doi:10.1109/34.232073
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.undefined import Undefined

Values = NDArray[np.float64]

ROUNDING = 1e-9
"""A distance that exceeds a tolerance by no more than this share is rounding (3 × 0.1 > 0.3) and within it."""
TIE = 1e-12
"""The same of a sum of sizes and the share that it should reach, and of two distances that are one."""


@dataclass(frozen=True, eq=False)
class DirectedDistances:
    """From the elements of one surface to the other: distinct distances in rising order, with the size at each."""

    distances: Values
    sizes: Values
    undefined: str = ""
    """Why there are none, where there are none."""

    @property
    def size(self) -> float:
        """The length or area of the surface."""
        return float(self.sizes.sum())

    def mean(self) -> float:
        """The mean distance, weighted by size."""
        if self.undefined:
            return Undefined(self.undefined)
        return float(self.distances @ self.sizes / self.size)

    def percentile(self, percent: float) -> float:
        """The smallest distance within which that percentage of the surface lies."""
        if not 0 <= percent <= 100:
            raise CallError(f"a percentile is from 0 to 100; got {percent!r}")
        if self.undefined:
            return Undefined(self.undefined)
        if percent == 100:
            return float(self.distances[-1])
        reached = np.cumsum(self.sizes)
        return float(self.distances[np.searchsorted(reached, percent / 100 * reached[-1] * (1 - TIE))])

    def within(self, tolerance: float) -> float:
        """The share of the surface that is no further off than the tolerance."""
        near = self.size_within(tolerance)
        return Undefined(self.undefined) if self.undefined else near / self.size

    def size_within(self, tolerance: float) -> float:
        """The size of what is no further off than the tolerance."""
        if not tolerance >= 0:
            raise CallError(f"a tolerance is a distance, 0 or larger; got {tolerance!r}")
        count = np.searchsorted(self.distances, tolerance * (1 + ROUNDING), side="right")
        return float(self.sizes[:count].sum())


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """The distances between the surfaces of two masks, in both directions. Small: masks are no longer needed.

    Every number is undefined where one of the two masks, or both, marked nothing.
    """

    a_to_b: DirectedDistances
    b_to_a: DirectedDistances

    def __repr__(self) -> str:
        if self.undefined:
            return f"<SurfaceDistances: {Undefined(self.undefined).reason}>"
        figures = f"Hausdorff {self.hausdorff():.6g}, 95% {self.hausdorff(95):.6g}, mean {self.mean():.6g}"
        return f"<SurfaceDistances: {figures}>"

    @property
    def undefined(self) -> str:
        """The code why there are no distances; empty where there are."""
        return self.a_to_b.undefined

    def hausdorff(self, percent: float = 100) -> float:
        """The larger of the two directions' percentiles: Hausdorff's distance, or with 95 the 95% Hausdorff distance.

        MedPy takes the 95% of both directions together, and it and MONAI interpolate: theirs can differ from this one.
        """
        found = [self.a_to_b.percentile(percent), self.b_to_a.percentile(percent)]
        return max(found) if not self.undefined else found[0]

    def mean(self) -> float:
        """The mean distance over both surfaces together."""
        if self.undefined:
            return Undefined(self.undefined)
        both = (self.a_to_b, self.b_to_a)
        return float(sum(one.distances @ one.sizes for one in both) / sum(one.size for one in both))

    def dice(self, tolerance: float) -> float:
        """The share of both surfaces together that is within the tolerance of the other."""
        near = self.a_to_b.size_within(tolerance) + self.b_to_a.size_within(tolerance)
        return Undefined(self.undefined) if self.undefined else near / (self.a_to_b.size + self.b_to_a.size)


def rater_tolerance(distances: Iterable[SurfaceDistances], percent: float = 95) -> float:
    """The tolerance that raters need among themselves: a percentile of all distances between them (Nikolov 2021).

    Pooled over the pairs given and both directions, weighted by size; pairs in which somebody marked nothing
    have no distances, and do not count.
    """
    return _pooled(distances).percentile(percent)


def _pooled(pairs: Iterable[SurfaceDistances]) -> DirectedDistances:
    parts = [part for pair in pairs if not pair.undefined for part in (pair.a_to_b, pair.b_to_a)]
    if not parts:
        return undefined("no_two_surfaces")
    return summed(np.concatenate([p.distances for p in parts]), np.concatenate([p.sizes for p in parts]))


def summed(distances: Values, sizes: Values) -> DirectedDistances:
    """Elements put together by distance; distances that differ by rounding are one."""
    distinct = np.unique(distances)
    distinct = distinct[np.append(True, np.diff(distinct) > TIE * distinct[1:])]
    where = np.searchsorted(distinct, distances, side="right") - 1
    return DirectedDistances(distinct, np.asarray(np.bincount(where, sizes), np.float64))


def undefined(code: str) -> DirectedDistances:
    """No distances, by the code given."""
    return DirectedDistances(np.empty(0), np.empty(0), code)

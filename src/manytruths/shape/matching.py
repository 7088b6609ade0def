"""Boundary pixels matched one to one within a tolerance, in 2-D.

Two pixels may be matched when their centres are no further apart than the tolerance, by default 0.0075 of the image's
diagonal. Of all one-to-one matchings, those with the most pairs are taken, and of these one with the smallest total
distance. The number of pairs, which precision and recall read, is the same for all of them. Which pixels are matched
is not: it matters where a pixel counts as right when any of several truths has it, and where the smallest
distance is reached in several ways it may still differ.

The Berkeley benchmark minimises distance plus 100 tolerances for an unmatched pixel, with distances rounded to a
hundredth of a pixel and a few ways to stay unmatched drawn at random for each. It gives up a pair only where that
shortens others by some hundred tolerances in all; otherwise the problem is the same.

Martin DR, Fowlkes CC, Malik J. Learning to detect natural image boundaries using local brightness, color, and texture
cues. IEEE Trans Pattern Anal Mach Intell 2004;26:530–549. doi:10.1109/TPAMI.2004.1273918
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError
from ..core.undefined import ratio
from .assignment import Reach, apart, largest, shortest
from .thinning import Flags, Indices, boundary_map

SHARE = 0.0075
"""The benchmark's tolerance as a share of the image's diagonal."""


@dataclass(frozen=True, eq=False)
class BoundaryMatch:
    """Which pixels of two boundary maps were matched, and with which."""

    shape: tuple[int, int]
    tolerance: float
    """In pixels."""
    found: int
    """How many pixels the first map has."""
    wanted: int
    """How many the second has."""
    found_at: Indices
    """Row and column of the first pixel of each pair, (pairs, 2)."""
    wanted_at: Indices
    """Row and column of the second."""

    def __repr__(self) -> str:
        return (
            f"BoundaryMatch({self.pairs} pairs of {self.found} found and {self.wanted} wanted pixels, "
            f"tolerance {self.tolerance:.4g})"
        )

    @property
    def pairs(self) -> int:
        return len(self.found_at)

    @property
    def precision(self) -> float:
        """Of the found pixels, the share that is matched."""
        return ratio(self.pairs, self.found, "no_boundary_found")

    @property
    def recall(self) -> float:
        """Of the wanted pixels, the share that is matched."""
        return ratio(self.pairs, self.wanted, "no_boundary_in_truth")

    @property
    def distances(self) -> NDArray[np.float64]:
        """How far apart the pixels of each pair are."""
        return apart(self.found_at, self.wanted_at)

    @property
    def found_map(self) -> Flags:
        """The matched pixels of the first map."""
        return self._drawn(self.found_at)

    @property
    def wanted_map(self) -> Flags:
        """The matched pixels of the second map."""
        return self._drawn(self.wanted_at)

    def _drawn(self, at: Indices) -> Flags:
        drawn = np.zeros(self.shape, bool)
        drawn[at[:, 0], at[:, 1]] = True
        return drawn


def match_boundaries(found: ArrayLike, wanted: ArrayLike, tolerance: float | None = None) -> BoundaryMatch:
    """Match two boundary maps as they are; ``thin`` them first where lines are thicker than a pixel.

    >>> match_boundaries([[1, 1, 1, 1], [0, 0, 0, 0]], [[0, 0, 0, 0], [0, 1, 1, 0]], tolerance=1)
    BoundaryMatch(2 pairs of 4 found and 2 wanted pixels, tolerance 1)
    """
    first, second = boundary_map(found, "the found map"), boundary_map(wanted, "the wanted map")
    if first.shape != second.shape:
        raise GridError(f"the found map is {first.shape} but the wanted one is {second.shape}; resample one of them")
    reached = tolerance_in_pixels(first.shape, tolerance)
    reach = Nearby.of(second, reached).reach(first)
    partner = shortest(reach, largest(reach))
    matched = partner >= 0
    at, to = reach.row_at[matched], reach.column_at[partner[matched]]
    return BoundaryMatch(_sizes(first), reached, reach.height, reach.width, at, to)


def tolerance_in_pixels(shape: Sequence[int], tolerance: float | None = None, share: float = SHARE) -> float:
    """The tolerance in pixels: what was given, or a share of the image's diagonal."""
    name, given = ("share", share) if tolerance is None else ("tolerance", tolerance)
    if not (given > 0 and math.isfinite(given)):
        raise CallError(f"{name} is a finite number above 0; got {given!r}")
    return float(given) if tolerance is not None else float(share * math.hypot(*shape))


@dataclass(frozen=True, eq=False)
class Nearby:
    """The wanted pixels, ready to be looked up around any pixel: sums along the rows count those in each stretch."""

    shape: tuple[int, int]
    at: Indices
    before: Indices
    """How many wanted pixels come before each pixel, in reading order."""
    down: Indices
    """The rows of the disc, from the pixel's own."""
    sideways: Indices
    """How far each row of the disc goes to either side."""

    @classmethod
    def of(cls, wanted: Flags, tolerance: float) -> Nearby:
        most = np.arange(min(math.floor(tolerance), max(wanted.shape)) + 1)
        inside = np.sqrt(most[:, None] ** 2 + most**2) <= tolerance
        half = inside.sum(axis=1) - 1
        down, sideways = np.append(-most[:0:-1], most), np.append(half[:0:-1], half)
        before = np.append(0, np.cumsum(wanted.reshape(-1)))
        return cls(_sizes(wanted), np.argwhere(wanted), before, down, sideways)

    def reach(self, found: Flags) -> Reach:
        """For each found pixel, the wanted ones within the tolerance."""
        height, width = self.shape
        at = np.argwhere(found)
        rows, columns = at[:, :1] + self.down, at[:, 1:]
        starts = np.clip(rows, 0, height - 1) * width
        low = self.before[starts + np.maximum(columns - self.sideways, 0)]
        high = self.before[starts + np.minimum(columns + self.sideways, width - 1) + 1]
        counts = np.where((rows >= 0) & (rows < height), high - low, 0).reshape(-1)
        ends = np.append(0, np.cumsum(counts))
        members = np.arange(ends[-1]) - np.repeat(ends[:-1] - low.reshape(-1), counts)
        return Reach(ends[:: len(self.down)], members, at, self.at)


def _sizes(flags: Flags) -> tuple[int, int]:
    height, width = flags.shape
    return height, width

"""Outlines of many parts: run lengths of a whole image, and several outlines that make one thing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import FormatError
from .outlines import NOWHERE
from .reads import Mask, Outline, Window


@dataclass(frozen=True, eq=False)
class WholeRuns:
    """So many pixels out, so many in, and so on, along the rows or the columns of the image.

    They become pixels when they are drawn, and no more than the rows or columns that hold some.
    """

    lengths: NDArray[np.int32]
    by_column: bool = False

    @classmethod
    def of(cls, lengths: ArrayLike, shape: tuple[int, ...], by_column: bool = False) -> WholeRuns:
        """Once it is sure that they are as many pixels as the image has."""
        runs, size = np.asarray(lengths, np.int64), int(np.prod(shape, dtype=np.int64))
        if runs.ndim != 1:
            raise FormatError("its run lengths are no list of whole numbers; export it again")
        if runs.size and (runs.min() < 0 or runs.max() > size):
            raise FormatError(f"it has a run of {min(int(runs.min()), 0) or int(runs.max())} pixels; export it again")
        if (total := int(runs.sum())) != size:
            raise FormatError(f"its run lengths hold {total} pixels, and the image has {size}; export it again")
        return cls(runs.astype(np.int32), by_column)

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        length = shape[0] if self.by_column else shape[1]
        ends = np.cumsum(self.lengths, dtype=np.int64)
        there = np.flatnonzero(self.lengths[1::2])
        if not len(there):
            return NOWHERE, np.zeros((0, 0), bool)
        first, last = 2 * int(there[0]) + 1, 2 * int(there[-1]) + 1
        start, stop = int(ends[first - 1]) // length, -(-int(ends[last]) // length)
        before, behind = ends[first - 1] - start * length, stop * length - ends[last]
        runs = np.concatenate([[before], self.lengths[first : last + 1], [behind]])
        inside = np.repeat(np.arange(len(runs)) % 2 == 1, runs).reshape(stop - start, length)
        if self.by_column:
            return (slice(0, length), slice(start, stop)), inside.T
        return (slice(start, stop), slice(0, length)), inside


@dataclass(frozen=True, eq=False)
class United:
    """Several outlines, whatever lies in one of them."""

    parts: tuple[Outline, ...]

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        drawn = [part.pixels(shape) for part in self.parts]
        drawn = [(window, inside) for window, inside in drawn if inside.size]
        if not drawn:
            return NOWHERE, np.zeros((0, 0), bool)
        around = tuple(
            slice(min(w[k].start for w, _ in drawn), max(w[k].stop for w, _ in drawn)) for k in range(len(shape))
        )
        whole = np.zeros([part.stop - part.start for part in around], bool)
        for window, inside in drawn:
            whole[tuple(slice(w.start - a.start, w.stop - a.start) for w, a in zip(window, around, strict=True))] |= (
                inside
            )
        return around, whole

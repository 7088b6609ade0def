"""Arrays made smaller by blocks of so many items along every axis, tile by tile: sums, or the largest of each block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .tiles import Where

Array = NDArray[Any]


class Blocks:
    """What is known of every block of an array that comes in tiles, in any order; blocks at the end may be smaller.

    Parameters
    ----------
    shape : sequence of int
        Of the array.
    step : int
        Items of a block along every axis.
    kind : {"sum", "most"}
        What is kept of a block.
    channels : int
        Length of a last axis that is not made smaller; 0 where there is none.
    dtype : dtype
        Of what is kept.

    Examples
    --------
    >>> blocks = Blocks((2, 4), 2)
    >>> blocks.put((slice(0, 2), slice(0, 3)), [[1, 0, 1], [1, 0, 1]])
    >>> blocks.put((slice(0, 2), slice(3, 4)), 5)
    >>> blocks.values.tolist(), blocks.means.tolist()
    ([[2.0, 12.0]], [[0.5, 3.0]])
    """

    def __init__(
        self,
        shape: Sequence[int],
        step: int,
        kind: Literal["sum", "most"] = "sum",
        channels: int = 0,
        dtype: Any = None,
    ) -> None:
        self.shape, self.step, self.kind = tuple(shape), step, kind
        more = (channels,) if channels else ()
        self.values = np.zeros((*(-(-n // step) for n in shape), *more), dtype)

    def put(self, where: Where, tile: ArrayLike) -> None:
        """Add a part of the array; one number stands for all items of it."""
        values, at = np.asarray(tile), tuple(slice(p.start // self.step, -(-p.stop // self.step)) for p in where)
        reduce = np.add if self.kind == "sum" else np.maximum
        if values.ndim == 0:
            widths = [np.diff(self._edges(part)) for part in where]
            reduced = values.astype(self.values.dtype) * _outer(widths) if self.kind == "sum" else values
        else:
            reduced = values
            for axis, part in enumerate(where):
                starts = self._edges(part)[:-1] - part.start
                kept = self.values.dtype if self.kind == "sum" else None
                reduced = reduce.reduceat(reduced, starts, axis=axis, dtype=kept)
        self.values[at] = reduce(self.values[at], reduced)

    @property
    def means(self) -> NDArray[np.float64]:
        """The mean of every block, from sums."""
        widths = [np.diff(self._edges(slice(0, n))) for n in self.shape]
        items = _outer(widths)
        return np.asarray(self.values / items.reshape(*items.shape, *[1] * (self.values.ndim - items.ndim)))

    def _edges(self, part: slice) -> NDArray[np.int64]:
        """Where blocks begin in a part of an axis, and its end."""
        inner = np.arange(-(-part.start // self.step) * self.step, part.stop, self.step)
        first = inner if len(inner) and inner[0] == part.start else np.concatenate(([part.start], inner))
        return np.concatenate((first, [part.stop])).astype(np.int64)


def _outer(widths: Sequence[NDArray[np.int64]]) -> NDArray[np.int64]:
    product = np.ones((), np.int64)
    for width in widths:
        product = np.multiply.outer(product, width)
    return np.asarray(product)

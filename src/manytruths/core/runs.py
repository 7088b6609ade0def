"""What is marked in an array, as runs along its last axis: what neighbours need of an image too large for memory.

A slide of 100,000² pixels with smooth outlines is some hundred thousand runs. Components, lesions, sizes and surfaces
are found from them; arrays of the size of the image are never made.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .tiles import Array, LazyArray, Where, known_value, load, tile_slices

Integers = NDArray[np.int64]

MOST_RUNS = 1 << 27
"""Of one mask: 2 GB of positions."""


@dataclass(frozen=True, eq=False)
class LabelRuns:
    """Runs of equal marked pixels, in array order; what is 0 is not listed.

    Attributes
    ----------
    shape : tuple of int
        Of the whole array.
    starts, stops : ndarray of int64
        Flat positions of the first pixels, and behind the last ones; no run goes on in the next row.
    values : ndarray
        The value of each run, in the dtype of the array; never 0.
    """

    shape: tuple[int, ...]
    starts: Integers
    stops: Integers
    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.starts)

    def select(self, chosen: NDArray[np.bool_]) -> LabelRuns:
        """Some of the runs."""
        return LabelRuns(self.shape, self.starts[chosen], self.stops[chosen], self.values[chosen])


def read_runs(array: Array | LazyArray) -> LabelRuns:
    """The runs of an array, read by tile; of one that knows them (a method ``label_runs``), without pixels.

    >>> found = read_runs(np.array([[0, 1, 1, 2], [2, 0, 0, 0]]))
    >>> found.starts.tolist(), found.stops.tolist(), found.values.tolist()
    ([1, 3, 4], [3, 4, 5], [1, 2, 2])
    """
    own = getattr(array, "label_runs", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    parts, count = [], 0
    for where in tile_slices([array]):
        value = known_value(array, where)
        if value == 0:
            continue
        parts.append(_tile_runs(_load_filled(array, where), where, array.shape))
        count += len(parts[-1][0])
        if count > MOST_RUNS:
            raise InputError(
                f"the mask has more than {MOST_RUNS} runs of equal pixels, too many to look at neighbours; "
                "leave measures out (--measure none), or crop it"
            )
    empty = np.empty(0, np.int64)
    starts, stops, values = (
        np.concatenate(part) for part in zip(*(parts or [(empty, empty, np.empty(0, array.dtype))]), strict=True)
    )
    return LabelRuns(array.shape, *join_runs(starts, stops, values, array.shape[-1]))


def _load_filled(array: Array | LazyArray, where: Where) -> Array:
    """A tile, with 0 where it is masked."""
    return np.ma.filled(load(array, where), 0)


def _tile_runs(tile: Array, where: Where, shape: tuple[int, ...]) -> tuple[Integers, Integers, Array]:
    """Runs of a tile, at their places in the whole."""
    width = tile.shape[-1]
    rows = tile.reshape(-1, width)
    changes = np.ones((len(rows), width + 1), bool)
    np.not_equal(rows[:, 1:], rows[:, :-1], out=changes[:, 1:-1])
    row, column = np.nonzero(changes[:, :-1] & (rows != 0))
    # the next change of the same row ends the run; the column behind the last always is one
    edges = np.flatnonzero(changes)
    behind = edges[np.searchsorted(edges, row * (width + 1) + column) + 1] - row * (width + 1)
    place = np.unravel_index(row, tile.shape[:-1]) if tile.ndim > 1 else ()
    first = np.zeros(len(row), np.int64)
    for axis, at in enumerate(place):
        first += (at + where[axis].start) * math.prod(shape[axis + 1 :])
    first += where[-1].start
    return first + column, first + behind, rows[row, column]


def join_runs(starts: Integers, stops: Integers, values: Array, width: int) -> tuple[Integers, Integers, Array]:
    """Runs in order, with those united that tiles have cut."""
    order = np.argsort(starts, kind="stable")
    starts, stops, values = starts[order], stops[order], values[order]
    goes_on = (stops[:-1] == starts[1:]) & (values[:-1] == values[1:]) & (starts[1:] % width != 0)
    first, last = np.concatenate([[True], ~goes_on]), np.concatenate([~goes_on, [True]])
    return (starts[first], stops[last], values[first]) if len(starts) else (starts, stops, values)


def distinct(*positions: Integers) -> Integers:
    """All positions in order, each once; several times as fast as ``np.unique``, which hashes them."""
    every = np.sort(np.concatenate(positions))
    return every[np.concatenate([[True], every[1:] != every[:-1]])] if len(every) else every

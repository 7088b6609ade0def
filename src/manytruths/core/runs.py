"""What is marked in an array, as runs along its last axis: what neighbours need of an image too large for memory.

A slide of 100,000² pixels with smooth outlines is some hundred thousand runs. Components, lesions, sizes and surfaces
are found from them; arrays of the size of the image are never made.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import InputError
from .mask_arrays import BLOCK, HIDDEN, fill_masked
from .tiles import Array, LazyArray, Where, known_value, load, tile_slices

Integers = NDArray[np.int64]

MOST_RUNS = 1 << 24
"""Of one mask; what is made of them takes some hundred bytes each."""


class TooManyRuns(InputError):
    """A mask has more runs than memory."""


@dataclass(frozen=True, eq=False)
class LabelRuns:
    """Runs of equal marked pixels, in array order; what is 0 is not listed.

    It has a shape, a dtype and slices, so that it can stand for an array on disk.

    Attributes
    ----------
    shape : tuple of int
        Of the whole array.
    starts, stops : ndarray of int64
        Flat positions of the first pixels, and behind the last ones; no run goes on in the next row.
    values : ndarray
        The value of each run, in the dtype of the array; never 0. Masked pixels have the value ``HIDDEN``.
    """

    shape: tuple[int, ...]
    starts: Integers
    stops: Integers
    values: NDArray[Any]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.values.dtype

    @property
    def lengths(self) -> Integers:
        """Pixels of each run."""
        return self.stops - self.starts

    @cached_property
    def items(self) -> int:
        """Pixels of all runs."""
        return int(self.lengths.sum())

    def label_runs(self) -> LabelRuns:
        """Itself: nothing has to be read."""
        return self

    def astype(self, kind: Any) -> LabelRuns:
        """The same in another dtype."""
        return LabelRuns(self.shape, self.starts, self.stops, self.values.astype(kind))

    def select(self, chosen: NDArray[np.bool_]) -> LabelRuns:
        """Some of the runs."""
        return LabelRuns(self.shape, self.starts[chosen], self.stops[chosen], self.values[chosen])

    # -- as an array ---------------------------------------------------------------------------------

    __array_ufunc__ = None

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return self[...] if dtype is None else self[...].astype(dtype)

    def __getitem__(self, where: Any) -> Array:
        """A tile, painted."""
        parts = (slice(None),) * len(self.shape) if where is ... else where
        box = [part.indices(n)[:2] for part, n in zip(parts, self.shape, strict=True)]
        tile = np.zeros([max(0, stop - start) for start, stop in box], self.dtype)
        plane = math.prod(self.shape[1:])
        first, last = (
            np.searchsorted(self.stops, box[0][0] * plane, "right"),
            np.searchsorted(self.starts, box[0][1] * plane),
        )
        width, near = self.shape[-1], slice(int(first), int(last))
        row, begin = np.divmod(self.starts[near], width)
        end = begin + self.lengths[near]
        begin, end = np.maximum(begin, box[-1][0]), np.minimum(end, box[-1][1])
        inside, place = end > begin, np.zeros(len(row), np.int64)
        for (low, high), at in zip(box[:-1], np.unravel_index(row, self.shape[:-1]) if box[:-1] else (), strict=True):
            inside &= (at >= low) & (at < high)
            place = place * (high - low) + at - low
        first_pixel = (place * tile.shape[-1] + begin - box[-1][0])[inside]
        counts = (end - begin)[inside]
        tile.reshape(-1)[expand(first_pixel, counts)] = np.repeat(self.values[near][inside], counts)
        return tile

    # -- what is marked and what was not rated -------------------------------------------------------

    def hide(self, void: int | None) -> LabelRuns:
        """The same with pixels of a value as not rated."""
        if void == 0:
            return self.join(self.complement(HIDDEN))
        away = self.values == void
        if void is None or not away.any():
            return self
        return LabelRuns(self.shape, self.starts, self.stops, np.where(away, HIDDEN, self.values.astype(np.int64)))

    def binary(self, value: int | None = None, void: int | None = None) -> LabelRuns:
        """Marked (1) with one value or, where it is None, with any; pixels that were not rated stay hidden."""
        runs = self.hide(void)
        hidden = runs.values == HIDDEN
        marked = ~hidden if value is None else runs.values == value
        values = np.where(hidden, HIDDEN, 1) if hidden.any() else np.ones(len(runs), np.bool_)
        return LabelRuns(runs.shape, runs.starts, runs.stops, values).select(marked | hidden).join()

    def marks(self) -> LabelRuns:
        """What is marked with any value, as runs of True."""
        if self.dtype == np.bool_:
            return self
        whole = LabelRuns(self.shape, self.starts, self.stops, np.ones(len(self), np.bool_))
        return whole.select(self.values != HIDDEN).join()

    def hidden(self) -> LabelRuns | None:
        """What was not rated; None where all was."""
        away = self.values == HIDDEN if self.dtype != np.bool_ else np.zeros(0, np.bool_)
        return self.select(away) if away.any() else None

    # -- other runs ----------------------------------------------------------------------------------

    def intersect(self, other: LabelRuns) -> LabelRuns:
        """The parts of the runs that lie in runs of another array of the same shape, whatever their values."""
        first = np.searchsorted(other.stops, self.starts, side="right")
        counts = np.maximum(np.searchsorted(other.starts, self.stops, side="left") - first, 0)
        own, theirs = np.repeat(np.arange(len(self)), counts), expand(first, counts)
        starts = np.maximum(self.starts[own], other.starts[theirs])
        stops = np.minimum(self.stops[own], other.stops[theirs])
        return LabelRuns(self.shape, starts, stops, self.values[own]).join()

    def complement(self, value: Any = True) -> LabelRuns:
        """What is in no run, as runs of a value."""
        width, rows = self.shape[-1], math.prod(self.shape[:-1])
        edges = np.arange(rows + 1) * width
        starts = np.sort(np.concatenate([self.stops, edges[:-1]]))
        stops = np.sort(np.concatenate([self.starts, edges[1:]]))
        there = stops > starts
        return LabelRuns(self.shape, starts[there], stops[there], np.full(int(there.sum()), value))

    def join(self, other: LabelRuns | None = None) -> LabelRuns:
        """The runs together with those of what they do not cover; touching runs of one value are one."""
        parts = [self] if other is None else [self, other]
        starts, stops, values = (
            np.concatenate([getattr(part, name) for part in parts]) for name in ("starts", "stops", "values")
        )
        return LabelRuns(self.shape, *join_runs(starts, stops, values, self.shape[-1]))

    def turn(self, order: Sequence[int]) -> LabelRuns:
        """The runs of the transposed array."""
        order = tuple(order)
        if order == tuple(range(len(order))):
            return self
        shape, parts = tuple(self.shape[axis] for axis in order), list(_empty_parts(self.dtype))
        for where in self._bands(order[0]):
            tile = self[where].transpose(order)
            parts.append(_tile_runs(np.ascontiguousarray(tile), tuple(where[axis] for axis in order), shape))
        starts, stops, values = (np.concatenate(part) for part in zip(*parts, strict=True))
        return LabelRuns(shape, *join_runs(starts, stops, values, shape[-1]))

    def _bands(self, axis: int) -> Iterator[Where]:
        """The box around all runs, in pieces across an axis that are small enough to be painted."""
        if not len(self):
            return
        box = []
        *lead, column = np.unravel_index(self.starts, self.shape)
        for at, behind in (*((each, each + 1) for each in lead), (column, column + self.lengths)):
            box.append(slice(int(at.min()), int(behind.max())))
        step = max(1, TURNED // math.prod(part.stop - part.start for i, part in enumerate(box) if i != axis))
        for start in range(box[axis].start, box[axis].stop, step):
            yield (*box[:axis], slice(start, min(start + step, box[axis].stop)), *box[axis + 1 :])


TURNED = 1 << 25
"""Pixels that are painted at a time where the axes of runs are exchanged."""


def read_runs(array: Array | LazyArray) -> LabelRuns:
    """The runs of an array, read by tile; of one that knows them (a method ``label_runs``), without pixels.

    >>> found = read_runs(np.array([[0, 1, 1, 2], [2, 0, 0, 0]]))
    >>> found.starts.tolist(), found.stops.tolist(), found.values.tolist()
    ([1, 3, 4], [3, 4, 5], [1, 2, 2])
    """
    own = getattr(array, "label_runs", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    parts, count = list(_empty_parts(array.dtype)), 0
    for where in tile_slices([array]):
        value = known_value(array, where)
        if value == 0:
            continue
        parts.append(_tile_runs(fill_masked(load(array, where)), where, array.shape))
        count += len(parts[-1][0])
        if count > MOST_RUNS:
            raise TooManyRuns(
                f"the mask has more than {MOST_RUNS:,} runs of equal pixels, too many to look at neighbours; "
                "remove noise from it, or crop it"
            )
    starts, stops, values = (np.concatenate(part) for part in zip(*parts, strict=True))
    return LabelRuns(tuple(array.shape), *join_runs(starts, stops, values, array.shape[-1]))


def _empty_parts(dtype: Any) -> Iterator[tuple[Integers, Integers, Array]]:
    empty = np.empty(0, np.int64)
    yield empty, empty, np.empty(0, dtype)


def _tile_runs(tile: Array, where: Where, shape: tuple[int, ...]) -> tuple[Integers, Integers, Array]:
    """Runs of a tile, at their places in the whole."""
    width = tile.shape[-1]
    starts, stops, values = _scan(np.ascontiguousarray(tile).reshape(-1), width)
    if not len(starts):
        return starts, stops, values
    if tile.shape[1:] == shape[1:]:
        offset: Any = where[0].start * math.prod(shape[1:])
        return starts + offset, stops + offset, values
    row = starts // width
    first = np.full(len(row), where[-1].start, np.int64)
    for axis, at in enumerate(np.unravel_index(row, tile.shape[:-1])):
        first += (at + where[axis].start) * math.prod(shape[axis + 1 :])
    first -= row * width
    return starts + first, stops + first, values


def _scan(flat: Array, width: int) -> tuple[Integers, Integers, Array]:
    """Runs of equal pixels in rows of a width, without those of 0."""
    found = []
    step = max(1, BLOCK // width) * width
    for start in range(0, flat.size, step):
        block = flat[start : start + step]
        edges = np.flatnonzero(block[1:] != block[:-1]) + 1
        rows = np.flatnonzero(block[::width] != 0) * width
        if not len(edges) and not len(rows):
            continue
        # a row begins a run of its own, whatever the row before ends with
        edges = np.union1d(edges, rows)
        values = block[edges]
        marked = values != 0
        found.append((edges[marked] + start, np.append(edges[1:], block.size)[marked] + start, values[marked]))
    starts, stops, values = (np.concatenate(part) for part in zip(*_empty_parts(flat.dtype), *found, strict=True))
    return starts, stops, values


def join_runs(starts: Integers, stops: Integers, values: Array, width: int) -> tuple[Integers, Integers, Array]:
    """Runs in order, with those united that tiles have cut."""
    if not (starts[1:] >= starts[:-1]).all():
        order = np.argsort(starts, kind="stable")
        starts, stops, values = starts[order], stops[order], values[order]
    goes_on = (stops[:-1] == starts[1:]) & (values[:-1] == values[1:]) & (starts[1:] % width != 0)
    if not goes_on.any():
        return starts, stops, values
    first, last = np.concatenate([[True], ~goes_on]), np.concatenate([~goes_on, [True]])
    return starts[first], stops[last], values[first]


def divide_runs(arrays: Sequence[LabelRuns]) -> tuple[Integers, Integers, list[Array]]:
    """Runs in which none of several arrays changes: where they start and stop, and each array's value there.

    What is 0 in all of them is not listed.

    >>> one, other = (read_runs(np.array([row])) for row in ([1, 1, 0, 0, 0], [0, 2, 2, 0, 0]))
    >>> starts, stops, values = divide_runs([one, other])
    >>> starts.tolist(), stops.tolist(), [each.tolist() for each in values]
    ([0, 1, 2], [1, 2, 3], [[1, 1, 0], [0, 2, 2]])
    """
    edges = distinct(*(edge for runs in arrays for edge in (runs.starts, runs.stops)))
    values, there = [], np.zeros(max(0, len(edges) - 1), np.bool_)
    for runs in arrays:
        own = np.zeros(len(there), runs.dtype)
        first, last = np.searchsorted(edges, runs.starts), np.searchsorted(edges, runs.stops)
        covered = expand(first, last - first)
        own[covered] = np.repeat(runs.values, last - first)
        there[covered] = True
        values.append(own)
    return edges[:-1][there], edges[1:][there], [own[there] for own in values]


def expand(first: Integers, counts: Integers) -> Integers:
    """``first[k], first[k] + 1, …``, ``counts[k]`` of them, one k after the other."""
    ends = np.cumsum(counts)
    return np.arange(ends[-1] if len(ends) else 0) - np.repeat(ends - counts - first, counts)


def distinct(*positions: Integers) -> Integers:
    """All positions in order, each once; several times as fast as ``np.unique``, which hashes them."""
    every = np.sort(np.concatenate(positions))
    return every[np.concatenate([[True], every[1:] != every[:-1]])] if len(every) else every

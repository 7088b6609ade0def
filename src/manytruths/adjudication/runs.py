"""Runs of one box in another: what is stored by the box of a dispute is shown, and drawn, in a block of the image."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.boxed_runs import Box
from ..core.errors import CallError
from ..core.runs import LabelRuns

MOST_RUNS = 200_000
"""Of one drawing; more is refused."""


def shape_of(box: Box) -> tuple[int, ...]:
    """Pixels of a box along each axis."""
    return tuple(stop - start for start, stop in box)


def clip_runs(runs: LabelRuns, box: Box, view: Box) -> LabelRuns:
    """Runs in a box as runs in another one; what lies outside of it is left out."""
    shape = shape_of(view)
    if not len(runs):
        return LabelRuns(shape, runs.starts, runs.stops, runs.values)
    places = list(np.unravel_index(runs.starts, runs.shape))
    inside = np.ones(len(runs), bool)
    for axis, ((low, _), (start, stop)) in enumerate(zip(box, view, strict=True)):
        places[axis] = places[axis] + (low - start)
        if axis < len(box) - 1:
            inside &= (places[axis] >= 0) & (places[axis] < stop - start)
    first = np.maximum(places[-1], 0)
    last = np.minimum(places[-1] + runs.lengths, shape[-1])
    inside &= last > first
    rows = np.zeros(len(runs), np.int64)
    for axis in range(len(box) - 1):
        rows = rows * shape[axis] + places[axis]
    starts, stops = rows * shape[-1] + first, rows * shape[-1] + last
    return LabelRuns(shape, starts[inside], stops[inside], runs.values[inside])


def paint_drawing(drawn: Any, shape: Sequence[int], allowed: Sequence[int]) -> NDArray[np.int64]:
    """What a page has drawn, as an array of the block; anything that is no drawing is refused.

    >>> paint_drawing([[1, [1, 2]]], (2, 3), (1,)).tolist()
    [[0, 1, 1], [0, 0, 0]]
    """
    size = int(np.prod(shape, dtype=np.int64))
    painted = np.zeros(size, np.int64)
    if not isinstance(drawn, list) or sum(len(part[1]) for part in drawn if _is_part(part)) > 2 * MOST_RUNS:
        raise CallError(f"runs must be a list of at most {MOST_RUNS:,} runs")
    for part in drawn:
        if not _is_part(part):
            raise CallError("runs are written as [[value, [start, length, …]], …]")
        value, flat = part
        if value not in allowed:
            raise CallError(f"runs have the value {value}, which is no label of the study")
        try:
            pairs = np.array(flat, dtype=np.int64).reshape(-1, 2)
        except (ValueError, TypeError, OverflowError):
            raise CallError("runs must be pairs of whole numbers") from None
        starts, lengths = pairs[:, 0], pairs[:, 1]
        if (starts < 0).any() or (lengths < 1).any() or (starts > size).any() or (lengths > size).any():
            raise CallError("runs must lie inside of the block")
        if (starts + lengths > size).any() or int(lengths.sum()) > size:
            raise CallError("runs must lie inside of the block")
        edges = np.zeros(size + 1, np.int32)
        np.add.at(edges, starts, 1)
        np.add.at(edges, starts + lengths, -1)
        painted[np.cumsum(edges[:-1]) > 0] = value
    return painted.reshape(tuple(shape))


def _is_part(part: Any) -> bool:
    if not (isinstance(part, list) and len(part) == 2 and isinstance(part[1], list)):
        return False
    whole = isinstance(part[0], int) and not isinstance(part[0], bool)
    return whole and all(type(number) is int for number in part[1])


def crop_drawing(painted: NDArray[np.int64], view: Box, box: Box) -> tuple[Box, NDArray[np.int64]]:
    """The box of a dispute and of what was drawn, and the drawing in it; both in pixels of the masks."""
    bounds = []
    marked = np.nonzero(painted)
    for axis, ((low, high), (start, _)) in enumerate(zip(box, view, strict=True)):
        if len(marked[axis]):
            low = min(low, start + int(marked[axis].min()))
            high = max(high, start + int(marked[axis].max()) + 1)
        bounds.append((low, high))
    whole = tuple(bounds)
    values = np.zeros(shape_of(whole), np.int64)
    shared = [(max(low, start), min(high, stop)) for (low, high), (start, stop) in zip(whole, view, strict=True)]
    if all(first < last for first, last in shared):
        inner, outer = (
            tuple(slice(first - start, last - start) for (first, last), (start, _) in zip(shared, other, strict=True))
            for other in (whole, view)
        )
        values[inner] = painted[outer]
    return whole, values

"""Connected components of a mask, found in the smallest box around its marks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.runs import LabelRuns
from .runs import number_linked

Box = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class Components:
    """The components of one mask, numbered from 1 in array order.

    Attributes
    ----------
    numbers : ndarray of int32
        Number of the component at each pixel of ``box``; 0 outside all.
    box : tuple of slice
        Smallest box around all marks; empty slices where nothing is marked.
    count : int
        Number of components.
    """

    numbers: NDArray[np.int32]
    box: Box
    count: int

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of pixels of each component."""
        return np.bincount(self.numbers.reshape(-1), minlength=self.count + 1)[1:]

    @cached_property
    def boxes(self) -> list[Box]:
        """Smallest box around each component, in coordinates of the whole mask."""
        from scipy import ndimage

        return [
            tuple(
                slice(edge.start + whole.start, edge.stop + whole.start)
                for edge, whole in zip(box, self.box, strict=True)
            )
            for box in ndimage.find_objects(self.numbers)
        ]


def find_components(mask: NDArray[Any], connectivity: int | None = None) -> Components:
    """The connected components of what is not 0 in a mask.

    ``connectivity`` is the largest number of axes in which neighbours may differ, as in SciPy: 1 joins pixels that
    share a side, and the number of axes (the default) also those that share a corner.

    >>> found = find_components(np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]))
    >>> found.count, found.sizes.tolist(), found.boxes[1]
    (2, [2, 1], (slice(3, 4, None), slice(0, 1, None)))
    """
    from scipy import ndimage

    marks = np.asarray(mask) != 0
    box = _marked_box(marks)
    structure = ndimage.generate_binary_structure(marks.ndim, connectivity or marks.ndim)
    numbers, count = ndimage.label(marks[box], structure)
    return Components(numbers, box, count)


@dataclass(frozen=True, eq=False)
class NumberedRuns:
    """Runs of marked pixels along the last axis, and to which of ``count`` components each belongs, from 0."""

    starts: NDArray[np.int64]
    """Flat positions of the first pixels, rising."""
    stops: NDArray[np.int64]
    """Flat positions behind the last pixels."""
    owner: NDArray[np.int64]
    count: int


def number_runs(marks: NDArray[np.bool_] | LabelRuns, connectivity: int | None = None) -> NumberedRuns:
    """The component of each run of marked pixels, in array order.

    Runs are joined without an array of the size of the mask; masks in memory that have many short runs are left to
    SciPy.

    >>> found = number_runs(np.array([[0, 1, 1, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 0, 0, 0]], bool))
    >>> found.starts.tolist(), found.stops.tolist(), found.owner.tolist()
    ([1, 7, 12], [3, 8, 13], [0, 0, 1])
    """
    if not isinstance(marks, LabelRuns):
        marks = np.ascontiguousarray(marks)
    starts, stops = (marks.starts, marks.stops) if isinstance(marks, LabelRuns) else _find_runs(marks)
    if not isinstance(marks, LabelRuns) and RUN_COST * len(starts) > marks.size:
        found = find_components(marks, connectivity)
        place = np.unravel_index(starts, marks.shape)
        inside = tuple(at - edge.start for at, edge in zip(place, found.box, strict=True))
        return NumberedRuns(starts, stops, found.numbers[inside].astype(np.int64) - 1, found.count)
    count, owner = _join_runs(starts, stops, marks.shape, connectivity or len(marks.shape))
    return NumberedRuns(starts, stops, owner, count)


RUN_COST = 50
"""Joining a run takes as long as SciPy takes for so many pixels."""


def _find_runs(marks: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Flat positions of the first pixel of each run along the last axis, and behind its last."""
    flat, width = marks.reshape(-1), marks.shape[-1]
    edges = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    edges = np.concatenate([[0] if flat[:1].any() else [], edges, [flat.size] if flat[-1:].any() else []]).astype(int)
    starts, stops = edges[::2], edges[1::2]
    # a run that goes on in the next row is cut where the row ends
    rows = (stops - 1) // width - starts // width + 1 if flat.size else starts
    if (rows == 1).all():
        return starts, stops
    step = np.arange(rows.sum()) - np.repeat(np.cumsum(rows) - rows, rows)
    begin, end, first = np.repeat(starts, rows), np.repeat(stops, rows), np.repeat(starts // width, rows)
    return np.maximum(begin, (first + step) * width), np.minimum(end, (first + step + 1) * width)


def _join_runs(
    starts: NDArray[np.int64], stops: NDArray[np.int64], shape: tuple[int, ...], reach: int
) -> tuple[int, NDArray[np.int64]]:
    """The number of components, and that of each run: runs of neighbouring rows that touch are joined."""
    width, rows = shape[-1], shape[:-1]
    row = starts // width
    # rows are two pixels further apart, so that no run reaches into the next row
    first, last = starts + 2 * row, stops + 2 * row
    place = np.stack(np.unravel_index(row, rows)) if rows else np.zeros((0, len(row)), np.int64)
    one, other = [], []
    for offset in product((-1, 0, 1), repeat=len(rows)):
        axes = sum(map(abs, offset))
        if offset >= (0,) * len(rows) or axes > reach:
            continue  # the other half of the neighbours finds the same pairs
        inside = np.ones(len(row), bool)
        for at, step, length in zip(place, offset, rows, strict=True):
            inside &= (at + step >= 0) & (at + step < length)
        here = np.flatnonzero(inside)
        moved = (width + 2) * sum(step * int(np.prod(rows[k + 1 :])) for k, step in enumerate(offset))
        corner = int(axes < reach)
        low = np.searchsorted(last, first[here] + moved - corner, side="right")
        high = np.searchsorted(first, last[here] + moved + corner, side="left")
        touching = np.maximum(high - low, 0)
        one.append(np.repeat(here, touching))
        other.append(np.repeat(low - np.cumsum(touching) + touching, touching) + np.arange(touching.sum()))
    links = list(zip(other, one, strict=True)) or [(np.empty(0, np.int64),) * 2]
    owner = number_linked(len(starts), links)
    return int(owner.max(initial=-1)) + 1, owner


def _marked_box(marks: NDArray[np.bool_]) -> Box:
    edges = []
    for axis in range(marks.ndim):
        along = np.flatnonzero(marks.any(axis=tuple(a for a in range(marks.ndim) if a != axis)))
        edges.append(slice(int(along[0]), int(along[-1]) + 1) if along.size else slice(0, 0))
    return tuple(edges)

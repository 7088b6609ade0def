"""A mask as runs of marked pixels, and its connected components found from the runs alone.

A lesion of 20 × 20 × 10 voxels is 200 runs: what needs only the ends of rows, as diameters do, is far faster on runs
than on voxels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.runs import LabelRuns, expand

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs of marked pixels in the rows of a volume, in the order of slices, rows and columns.

    ``stops`` are the columns after the last ones. ``pieces`` are what hangs together within a slice, ``components``
    what hangs together at all; both are numbered from 0 in the order of the runs, and pixels that share a corner hang
    together.
    """

    slices: Integers
    rows: Integers
    starts: Integers
    stops: Integers
    pieces: Integers
    components: Integers

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Integers:
        return self.stops - self.starts


def find_runs(marks: NDArray[np.bool_] | LabelRuns) -> Runs:
    """The runs of a volume of shape (slices, rows, columns).

    >>> runs = find_runs(np.array([[[1, 1, 0, 1], [0, 0, 0, 1]]], bool))
    >>> runs.starts.tolist(), runs.stops.tolist(), runs.components.tolist()
    ([0, 3, 3], [2, 4, 4], [0, 1, 1])
    """
    depth, height, _ = marks.shape
    lines, starts, stops = _scan(marks)
    slices, rows = np.divmod(lines, height)
    return _connect(slices, rows, starts, stops, marks.shape, through=depth > 1)


def find_runs_of_images(images: Sequence[NDArray[np.bool_] | LabelRuns]) -> Runs:
    """The runs of several images of one size, as slices of which none hangs together with another."""
    found = [_scan(image) for image in images]
    slices = np.repeat(np.arange(len(found)), [len(lines) for lines, _, _ in found])
    rows, starts, stops = (np.concatenate(part) for part in zip(*found, strict=True))
    return _connect(slices, rows, starts, stops, (len(images), *images[0].shape), through=False)


def _scan(marks: NDArray[np.bool_] | LabelRuns) -> tuple[Integers, Integers, Integers]:
    """The line, the first column and the column after the last one of every run."""
    width = marks.shape[-1]
    if isinstance(marks, LabelRuns):
        line, starts = np.divmod(marks.starts, width)
        return line, starts, starts + marks.lengths
    lines = marks.reshape(-1, width)
    marked = np.flatnonzero(_any_by_line(lines))
    padded = np.zeros((len(marked), width + 2), np.bool_)
    np.take(lines, marked, axis=0, out=padded[:, 1:-1], mode="clip")
    flat = padded.reshape(-1)
    changes = np.flatnonzero(flat[1:] != flat[:-1])
    line, starts = np.divmod(changes[::2], width + 2)
    return marked[line], starts, changes[1::2] - line * (width + 2)


def _connect(
    slices: Integers, rows: Integers, starts: Integers, stops: Integers, shape: tuple[int, ...], *, through: bool
) -> Runs:
    """Runs with the numbers of their pieces and components; slices hang together where they go ``through``."""
    # a row before the first and after the last one, so that neighbours do not wrap around
    height, reach = shape[1] + 2, shape[2] + 2
    keys = slices * height + rows + 1
    within = _neighbours(keys, starts, stops, 1, reach)
    pieces = components = number_linked(len(starts), [within])
    if through:
        between = [_neighbours(keys, starts, stops, height + step, reach) for step in (-1, 0, 1)]
        count = int(pieces.max(initial=-1)) + 1
        links = [_different(pieces[own], pieces[other], count) for own, other in between]
        components = number_linked(count, links)[pieces]
    return Runs(slices, rows, starts, stops, pieces, components)


def _any_by_line(lines: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Which lines have a mark; eight pixels at a time where their number allows."""
    if lines.shape[1] % 8 == 0 and lines.flags.c_contiguous:
        words: NDArray[Any] = lines.view(np.uint64)
        return np.asarray(np.bitwise_or.reduce(words, axis=1) != 0)
    return np.asarray(lines.any(axis=1))


def _neighbours(keys: Integers, starts: Integers, stops: Integers, step: int, reach: int) -> tuple[Integers, Integers]:
    """Every two runs that touch, of which the second lies ``step`` lines after the first."""
    begins, ends = keys * reach + starts, keys * reach + stops
    first = np.searchsorted(ends, begins + step * reach, side="left")
    last = ends + step * reach
    # most runs touch one other at most, so that the last one is looked for where there are two
    padded = np.append(begins, [np.iinfo(np.int64).max] * 2)
    own = np.flatnonzero(padded[first] <= last)
    first, last = first[own], last[own]
    many = np.flatnonzero(padded[first + 1] <= last)
    if not len(many):
        return own, first
    counts = np.ones(len(own), np.int64)
    counts[many] = np.searchsorted(begins, last[many], side="right") - first[many]
    return np.repeat(own, counts), expand(first, counts)


def _different(one: Integers, other: Integers, count: int) -> tuple[Integers, Integers]:
    """The same pairs with few repetitions: most of ``count`` pieces have one partner, which is noted once."""
    partner = np.full(count, -1)
    partner[one] = other
    paired, more = np.flatnonzero(partner >= 0), np.flatnonzero(partner[one] != other)
    return np.concatenate([paired, one[more]]), np.concatenate([partner[paired], other[more]])


def number_linked(count: int, pairs: list[tuple[Integers, Integers]]) -> Integers:
    """Numbers of what pairs of runs hang together, from 0 in order; the second of a pair comes later."""
    own, other = pairs[0] if len(pairs) == 1 else (np.concatenate(side) for side in zip(*pairs, strict=True))
    # most runs hang together with the next one: chains of them are joined, not runs
    next_one, new = other - own == 1, np.ones(count, np.int64)
    new[other[next_one]] = 0
    chain = np.cumsum(new) - 1
    first, second = chain[own[~next_one]], chain[other[~next_one]]
    apart = first != second
    if not apart.any():
        return chain
    return _join(int(chain[-1]) + 1, first[apart], second[apart])[chain]


def _join(count: int, first: Integers, second: Integers) -> Integers:
    """The same of any pairs."""
    if len(first) > FEW:
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import connected_components

        graph = coo_array((np.ones(len(first), np.int8), (first, second)), shape=(count, count))
        return np.asarray(connected_components(graph, directed=False)[1], np.int64)
    parent = list(range(count))
    for a, b in zip(first.tolist(), second.tolist(), strict=True):
        while parent[a] != a:
            parent[a] = a = parent[parent[a]]
        while parent[b] != b:
            parent[b] = b = parent[parent[b]]
        parent[max(a, b)] = min(a, b)
    for k in range(count):  # the root is the first of all, and comes before
        parent[k] = parent[parent[k]]
    root = np.array(parent)
    return np.asarray((np.cumsum(root == np.arange(count)) - 1)[root], np.int64)


FEW = 1000
"""So many pairs are joined faster without SciPy's graphs, whose import takes a quarter of a second."""

"""Diameters of lesions as clinicians measure them: long and short axis in a slice, and the largest diameter in space.

A lesion is a connected component (pixels that share a corner hang together). Within a slice it may fall into pieces;
an axis belongs to one piece of one lesion in one slice, and never leaves it for another.

- Distances run from outer edge to outer edge: between the midpoints of the sides of pixels (of the faces of voxels), so
  that n pixels in a row measure n, not n − 1. These are the vertices of the outline at half height (marching squares).
- The **long axis** is the largest distance between two points of the outline of a piece, over all slices.
- The **short axis** is the longest straight line between two points of the same outline that is perpendicular to it.
- Both may cross a dent or a hole of their own piece, as calipers do, which are set at outer edges.
- Of several long axes of the same length the one with the longest short axis counts, so that flipping or turning a mask
  changes nothing.

The slices of a volume lie across the axis that is sampled otherwise than the others
(:func:`manytruths.shape.grid.slice_axis`).

Farthest points are vertices of the convex hull, which is found for all pieces at once from the first and last pixel of
each row.

Eisenhauer EA, Therasse P, Bogaerts J, et al. New response evaluation criteria in solid tumours: revised RECIST
guideline (version 1.1). Eur J Cancer 2009;45:228–247. doi:10.1016/j.ejca.2008.10.026
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError, InputError
from ..core.runs import LabelRuns, expand, read_runs
from ..core.tiles import LazyArray, is_lazy
from ..core.undefined import Undefined
from .grid import as_spacing, slice_axis, times
from .runs import Runs, find_runs, find_runs_of_images

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Point = tuple[float, ...]

MOST_COMPONENTS = 100_000
"""The most lesions of a mask that are measured one by one."""
_SAME = 1e-12
"""Squared lengths that differ by less, relatively, are the same."""
_BESIDE = 1e-9
"""How far beside its end a line still meets a side of the outline, relative to the long axis."""
_AT_ONCE = 1 << 21
"""Pairs of points that are compared at a time."""
_STRIPS = 64
"""Strips across a long axis."""
_BEYOND = 1e-5
"""How far beside its end a line still lies in a strip, in strips; far more than ``_BESIDE``."""
_DIRECTIONS = 8
"""Directions in which pieces are measured before their hulls are looked for."""
_FEW = 400
"""Points in space that are compared pair by pair without looking for their hull."""


@dataclass(frozen=True)
class LesionAxes:
    """The diameters of one connected component of a mask.

    Points are given in coordinates of the array, pixel centres being whole numbers.

    Attributes
    ----------
    long_axis, short_axis : float
        In mm, or in pixels where the spacing is not known.
    diameter_3d : float
        Largest distance between two points of the lesion in space; undefined in images of two axes.
    slice : int or None
        Index of the slice of both axes; None in images of two axes.
    long_ends, short_ends, ends_3d : tuple of points
        Where they begin and end.
    pixels : int
        Number of pixels or voxels.
    centroid : tuple of float
        Mean position of the pixels.
    """

    long_axis: float
    short_axis: float
    diameter_3d: float
    slice: int | None
    long_ends: tuple[Point, Point]
    short_ends: tuple[Point, Point]
    ends_3d: tuple[Point, Point] | None
    pixels: int
    centroid: Point


def diameters(
    mask: ArrayLike | LazyArray, spacing: Sequence[float] | None = None, *, axis: int | None = None
) -> tuple[LesionAxes, ...]:
    """Measure the long axis, short axis and largest diameter in space of every lesion of a mask.

    A lesion is a connected component. Its long axis (RECIST) is the largest distance, from outer edge to outer edge,
    within one of its pieces in one slice; the short axis is the longest line across the same piece that is
    perpendicular to it. Both may cross a dent or a hole of the piece, but never reach into another piece or lesion.

    Parameters
    ----------
    mask : array of two or three axes
        What is not 0 is marked. Masked pixels are not; nan is refused. An array on disk, such as a Zarr array, is read
        tile by tile.
    spacing : sequence of float, optional
        Size of a pixel along each axis, in mm; without it, lengths are in pixels.
    axis : int, optional
        Axis across which the slices of a volume lie; by default the one with the largest spacing, then the one with the
        fewest slices, then the last.

    Returns
    -------
    tuple of LesionAxes
        One for each lesion, in array order of their first pixels; empty where nothing is marked.

    References
    ----------
    Eisenhauer EA, et al. New response evaluation criteria in solid tumours: revised RECIST guideline (version 1.1).
    Eur J Cancer 2009;45:228–247. doi:10.1016/j.ejca.2008.10.026

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> mask = np.zeros((9, 12), int)
    >>> mask[2:5, 1:9] = 1
    >>> mask[7, 11] = 1
    >>> [(round(lesion.long_axis, 2), round(lesion.short_axis, 2)) for lesion in mt.diameters(mask, (0.5, 0.5))]
    [(4.12, 1.55), (0.5, 0.5)]
    """
    found = measure_axes(mask, spacing, axis)
    if found.count > MOST_COMPONENTS:
        raise InputError(
            f"mask has {found.count} connected components, more than {MOST_COMPONENTS}; remove the speckle first"
        )
    return found.lesions()


def measure_axes(
    mask: ArrayLike | LazyArray, spacing: Sequence[float] | None = None, axis: int | None = None
) -> MaskAxes:
    """The components of a mask, with their axes as far as they are asked for."""
    marks = read_runs(mask).marks() if is_lazy(mask) else _as_marks(mask)  # type: ignore[arg-type]
    shape, axes = marks.shape, len(marks.shape)
    if axes not in (2, 3):
        raise GridError(f"mask has {axes} axes; diameters are of images of two axes or volumes of three")
    if not math.prod(shape):
        raise CallError(f"mask has no pixel: its shape is {shape}; diameters need at least one along each axis")
    sides = (1.0,) * axes if spacing is None else as_spacing(spacing, axes)
    if len(sides) != axes or not all(0 < side < math.inf for side in sides):
        raise GridError(f"spacing is {times(sides)}; give a positive number for each of the {axes} axes")
    if axis is not None and (axes < 3 or axis not in range(-3, 3)):
        raise CallError(f"axis is {axis!r}; it is 0, 1 or 2 and for volumes of three axes")
    across = slice_axis(shape, spacing) if axis is None else axis % 3
    if isinstance(marks, LabelRuns):
        order = tuple(sorted(range(axes), key=lambda a: a != across))
        runs = find_runs(marks.turn(order)) if axes == 3 else find_runs_of_images([marks])
        return MaskAxes(runs, shape, sides, order)
    order = _memory_order(marks, across)
    turned = marks.transpose(order) if axes == 3 else marks.transpose(order)[None]
    return MaskAxes(find_runs(np.ascontiguousarray(turned)), shape, sides, order)


def _as_marks(mask: ArrayLike) -> NDArray[np.bool_]:
    """What is marked; masked pixels are not."""
    try:
        values = np.ma.filled(mask, 0) if isinstance(mask, np.ma.MaskedArray) else np.asarray(mask)
    except ValueError:
        raise GridError("mask must be an array; got rows that differ in length") from None
    if values.dtype == np.bool_:
        return values
    if values.dtype.kind not in "iuf":
        raise CallError(f"mask must hold numbers, 0 where nothing is marked; got an array of {values.dtype}")
    if values.dtype.kind == "f" and np.isnan(values).any():
        raise InputError("mask has nan, which is neither marked nor not; use 0 for what is not marked")
    return np.asarray(values != 0)


def measure_images(images: Sequence[NDArray[np.bool_] | LabelRuns], spacing: Sequence[float] | None = None) -> MaskAxes:
    """The components of several images of one size, found together: slices are the images."""
    sides = (1.0, 1.0) if spacing is None else tuple(float(side) for side in spacing)
    return MaskAxes(find_runs_of_images(images), images[0].shape, sides, (0, 1))


def _memory_order(marks: NDArray[np.bool_], across: int | None) -> tuple[int, ...]:
    """Slices first, and of the other axes the one that is contiguous in memory last."""
    plane = sorted((a for a in range(marks.ndim) if a != across), key=lambda a: (-abs(marks.strides[a]), a))
    return tuple(plane) if across is None else (across, *plane)


@dataclass(frozen=True, eq=False)
class MaskAxes:
    """Lesions of one mask; their axes are found when first asked for, all at once.

    Coordinates within are doubled, so that midpoints of sides are whole numbers.
    """

    runs: Runs
    shape: tuple[int, ...]
    sides: tuple[float, ...]
    """Size of a pixel by axis of the array."""
    order: tuple[int, ...]
    """The axis of the array of each axis of the runs (of an image, without the first)."""

    # -- sizes -------------------------------------------------------------------------------------

    @cached_property
    def count(self) -> int:
        """Number of components."""
        return int(self.runs.components.max(initial=-1)) + 1

    @cached_property
    def pixels(self) -> Integers:
        """Number of pixels of each component."""
        return np.bincount(self.runs.components, self.runs.lengths, self.count).astype(np.int64)

    @cached_property
    def _scaled(self) -> tuple[float, float, float]:
        """Half the size of a pixel by axis of the runs: slices, rows, columns."""
        across, down, along = self.sides_of_runs
        return across / 2, down / 2, along / 2

    @cached_property
    def sides_of_runs(self) -> tuple[float, float, float]:
        """Size of a pixel by axis of the runs; slices of an image are 1 apart."""
        sides = [self.sides[a] for a in self.order]
        return (sides[0], sides[1], sides[2]) if len(sides) == 3 else (1.0, sides[0], sides[1])

    @property
    def volume(self) -> bool:
        """Whether there are slices."""
        return len(self.shape) == 3

    @cached_property
    def centroids(self) -> Floats:
        """Mean position of each component by axis of the array."""
        runs = self.runs
        middle = (runs.starts + runs.stops - 1) / 2
        sums = [np.bincount(runs.components, runs.lengths * at, self.count) for at in (runs.slices, runs.rows, middle)]
        means = np.stack(sums, axis=1) / np.maximum(self.pixels, 1)[:, None]
        return self._to_array_axes(means)

    @cached_property
    def at_border(self) -> NDArray[np.bool_]:
        """Which components lie at the end of an axis that has more than one pixel."""
        runs, shape = self.runs, [self.shape[a] for a in self.order]
        depth, height, width = shape if self.volume else (1, *shape)
        ends = ((runs.slices, runs.slices, depth), (runs.rows, runs.rows, height), (runs.starts, runs.stops - 1, width))
        result = np.zeros(self.count, np.bool_)
        for low, high, n in ends:
            if n > 1:
                result[runs.components[(low == 0) | (high == n - 1)]] = True
        return result

    @cached_property
    def images(self) -> Integers:
        """The image that each component lies in; of a volume, a slice of it."""
        result = np.zeros(self.count, np.int64)
        result[self.runs.components] = self.runs.slices
        return result

    def component_at(self, index: Sequence[int]) -> int:
        """The component that holds a pixel; −1 where it is not marked."""
        z, y, x = ([0] if not self.volume else []) + [int(index[a]) for a in self.order]
        runs = self.runs
        here = np.flatnonzero((runs.slices == z) & (runs.rows == y) & (runs.starts <= x) & (runs.stops > x))
        return int(runs.components[here[0]]) if len(here) else -1

    def pixel_of(self, component: int) -> tuple[int, ...]:
        """The index of a pixel of a component."""
        runs, index = self.runs, dict[int, int]()
        first = int(np.flatnonzero(runs.components == component)[0])
        at = [int(part[first]) for part in (runs.slices, runs.rows, runs.starts)]
        index.update(zip(self.order, at[-len(self.order) :], strict=True))
        return tuple(index[a] for a in sorted(index))

    # -- long axes ---------------------------------------------------------------------------------

    @cached_property
    def hulls(self) -> _Hulls:
        """Vertices of the convex hull of every piece that may hold the long axis of its component."""
        return _find_hulls(self.runs, self.count, self._scaled)

    @cached_property
    def long_axes(self) -> Floats:
        """Long axis of each component."""
        best = np.zeros(self.count)
        np.maximum.at(best, self.hulls.components, self.hulls.widest)
        return np.sqrt(best)

    def find_axes(self, wanted: Integers) -> list[_Axes]:
        """Long and short axes of some components."""
        if not len(wanted):
            return []
        ties = _tied_pairs(self.hulls, self.long_axes**2, wanted)
        shorts = _short_axes(self.runs, ties, self._scaled)
        best: dict[int, _Axes] = {}
        for k, (component, z) in enumerate(zip(ties.components.tolist(), ties.slices.tolist(), strict=True)):
            length, ends = shorts.lengths[k], shorts.ends[k]
            old = best.get(component)
            if old is None or length > old.short_axis * (1 + _SAME):
                long_axis = float(self.long_axes[component])
                # across a long axis there may be another of the same length, but for rounding
                best[component] = _Axes(long_axis, min(float(length), long_axis), z, ties.ends[k], ends)
        return [best[component] for component in wanted.tolist()]

    # -- diameters in space ------------------------------------------------------------------------

    def find_diameter(self, component: int) -> tuple[float, Floats]:
        """Largest distance in space within one component, and its two ends in doubled coordinates of the runs."""
        return _farthest(self._surface[component], np.array(self._scaled))

    @cached_property
    def largest_diameter(self) -> float:
        """The largest of all components; those whose box is smaller than the best one so far are not looked at."""
        best = 0.0
        for component in np.argsort(-self._boxes).tolist():
            if self._boxes[component] <= best:
                break
            best = max(best, self.find_diameter(component)[0])
        return best

    @cached_property
    def _boxes(self) -> Floats:
        """Diagonal of the box around each component."""
        runs, total = self.runs, np.zeros(self.count)
        spans = ((runs.slices, runs.slices + 1), (runs.rows, runs.rows + 1), (runs.starts, runs.stops))
        for (low, high), side in zip(spans, self.sides_of_runs, strict=True):
            first, last = np.full(self.count, np.iinfo(np.int64).max), np.zeros(self.count, np.int64)
            np.minimum.at(first, runs.components, low)
            np.maximum.at(last, runs.components, high)
            total += (side * (last - first)) ** 2
        return np.sqrt(total)

    @cached_property
    def _surface(self) -> _Surfaces:
        return _Surfaces.of(self.runs, self.count)

    # -- results -----------------------------------------------------------------------------------

    def _to_array_axes(self, points: Floats) -> Floats:
        """Columns of slices, rows and columns in the order of the array's axes."""
        own = points if self.volume else points[:, 1:]
        turned = np.empty_like(own, dtype=np.float64)
        turned[:, list(self.order)] = own
        return turned

    def _points(self, doubled: Floats) -> tuple[Point, Point]:
        first, second = (tuple(point) for point in self._to_array_axes(doubled / 2).tolist())
        return min(first, second), max(first, second)

    def lesions(self) -> tuple[LesionAxes, ...]:
        """Every lesion with its diameters, in array order."""
        if not self.count:
            return ()
        found = self.find_axes(np.arange(self.count))
        centroids, result = self.centroids.tolist(), []
        for k in self._array_order.tolist():
            axes = found[k]
            long_ends, short_ends = (
                self._points(np.insert(ends, 0, 2 * axes.slice, axis=1)) for ends in (axes.long_ends, axes.short_ends)
            )
            space, ends = self.find_diameter(k) if self.volume else (Undefined("image_of_two_axes"), None)
            result.append(LesionAxes(
                axes.long_axis, axes.short_axis, space, axes.slice if self.volume else None, long_ends, short_ends,
                None if ends is None else self._points(ends), int(self.pixels[k]), tuple(centroids[k]),
            ))  # fmt: skip
        return tuple(result)

    @property
    def _array_order(self) -> Integers:
        """Components in the order of their first pixels in the array."""
        runs, steps = self.runs, [math.prod(self.shape[a + 1 :]) for a in self.order]
        steps = steps if self.volume else [0, *steps]
        at = runs.slices * steps[0] + runs.rows * steps[1] + runs.starts * steps[2]
        first = np.full(self.count, np.iinfo(np.int64).max)
        np.minimum.at(first, runs.components, at)
        return np.argsort(first)


@dataclass(frozen=True)
class _Axes:
    long_axis: float
    short_axis: float
    slice: int
    long_ends: Floats
    """Rows and columns of both ends, doubled."""
    short_ends: Floats


# -- convex hulls of pieces ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Hulls:
    """Vertices of the hulls of pieces, one piece after the other."""

    rows: Integers
    columns: Integers
    starts: Integers
    """Of each piece, and the end of the last one."""
    pieces: Integers
    components: Integers
    slices: Integers
    scale: tuple[float, float]

    def pairs(self, chosen: Integers) -> Iterator[tuple[Integers, Integers, Integers, Floats]]:
        """Of some pieces that have as many vertices: their positions, all pairs of vertices, squared distances."""
        sizes = np.diff(self.starts)[chosen]
        for size in np.unique(sizes).tolist():
            one, other = np.triu_indices(size, 1)
            same = chosen[sizes == size]
            step = max(1, _AT_ONCE // max(len(one), 1))
            for first in range(0, len(same), step):
                some = same[first : first + step]
                at = self.starts[some][:, None] + np.arange(size)
                rows, columns = self.rows[at], self.columns[at]
                down, along = rows[:, one] - rows[:, other], columns[:, one] - columns[:, other]
                yield some, at[:, one], at[:, other], squared_length(down, along, self.scale)

    @cached_property
    def widest(self) -> Floats:
        """Largest squared distance within each piece."""
        result = np.zeros(len(self.pieces))
        for some, _, _, squares in self.pairs(np.arange(len(self.pieces))):
            result[some] = squares.max(axis=1)
        return result


def squared_length(down: Any, along: Any, scale: tuple[float, float]) -> Any:
    """Squared length of a line over so many half pixels."""
    return scale[0] ** 2 * (down * down) + scale[1] ** 2 * (along * along)


def _find_hulls(runs: Runs, count: int, scale: tuple[float, float, float]) -> _Hulls:
    """Hulls of the pieces that may hold the long axis of their component."""
    # rows of pieces: their first and last pixel, rows of one piece being consecutive
    order = np.argsort(runs.pieces, kind="stable")
    pieces, rows = runs.pieces[order], runs.rows[order]
    new_piece = np.diff(pieces, prepend=-1) != 0
    new_row = new_piece | (np.diff(rows, prepend=-1) != 0)
    first = np.flatnonzero(new_row)
    last = np.append(first[1:], len(order)) - 1
    left, right, rows, pieces = runs.starts[order][first], runs.stops[order][last] - 1, rows[first], pieces[first]
    starts = np.flatnonzero(np.diff(pieces, prepend=-1) != 0)
    heights = np.diff(np.append(starts, len(pieces)))
    at = order[first[starts]]
    components, slices = runs.components[at], runs.slices[at]
    # between its longer side and its diagonal: the diameter of what fills a box
    down = (2 * scale[1] * heights) ** 2
    along = (2 * scale[2] * (np.maximum.reduceat(right, starts) - np.minimum.reduceat(left, starts) + 1)) ** 2
    least = np.zeros(count)
    np.maximum.at(least, components, np.maximum(down, along))
    kept = np.flatnonzero(down + along >= least[components] * (1 - _SAME))
    plane = (scale[1], scale[2])
    if len(kept) > count:
        chosen = expand(starts[kept], heights[kept])
        widths = _widths(rows[chosen], left[chosen], right[chosen], heights[kept], plane)
        least = np.zeros(count)
        np.maximum.at(least, components[kept], widths)
        kept = kept[widths >= least[components[kept]] * (math.cos(math.pi / (2 * _DIRECTIONS)) * (1 - _BESIDE))]
    chosen = expand(starts[kept], heights[kept])
    return _hulls_of_rows(
        rows[chosen], left[chosen], right[chosen], heights[kept], pieces[starts[kept]], components[kept], slices[kept],
        plane,
    )  # fmt: skip


def _widths(rows: Integers, left: Integers, right: Integers, heights: Integers, scale: tuple[float, float]) -> Floats:
    """The largest width of each piece in a few directions.

    Its diameter is no less, and it is no more than that divided by the cosine of half the angle between directions.
    """
    result, starts = np.zeros(len(heights)), np.cumsum(heights) - heights
    for k in range(_DIRECTIONS):
        angle = math.pi * k / _DIRECTIONS
        down, along = 2 * scale[0] * math.cos(angle), 2 * scale[1] * math.sin(angle)
        low, high = (left, right) if along >= 0 else (right, left)
        widest = np.maximum.reduceat(down * rows + along * high, starts)
        widest -= np.minimum.reduceat(down * rows + along * low, starts)
        np.maximum(result, widest + max(abs(down), abs(along)), out=result)
    return result


def _hulls_of_rows(
    rows: Integers, left: Integers, right: Integers, heights: Integers, pieces: Integers, components: Integers,
    slices: Integers, scale: tuple[float, float],
) -> _Hulls:  # fmt: skip
    """Hulls of pieces that are given by the first and last pixel of each of their rows."""
    count = len(heights)
    piece = np.repeat(np.arange(count), heights)
    ends = np.cumsum(heights)
    # a row of half pixels before, in and after each row: 2 h + 1 of them
    place = 2 * np.arange(len(rows)) + piece + 1
    total = 2 * len(rows) + count
    points = np.empty((2, total), np.int64)
    at_row, of_piece = np.empty(total, np.int64), np.repeat(np.arange(count), 2 * heights + 1)
    at_row[place], at_row[place - 1], at_row[place + 1] = 2 * rows, 2 * rows - 1, 2 * rows + 1
    for side, edge in enumerate((left, -right)):
        points[side, place] = 2 * edge - 1
        after = np.append(edge[1:], edge[-1:])
        after[ends - 1] = edge[ends - 1]
        points[side, place - 1] = 2 * edge  # of first rows; the others are overwritten
        points[side, place + 1] = 2 * np.minimum(edge, after)
    # both chains as one: lower hulls of (row, column), the right side with columns that fall
    row, column = np.concatenate([at_row, at_row]), points.reshape(-1)
    chain = np.concatenate([of_piece, of_piece + count])
    kept = _lower_hulls(row, column, chain)
    row, column, chain = row[kept], column[kept], chain[kept]
    column, of = np.where(chain < count, column, -column), chain % count
    order = np.argsort(of, kind="stable")
    row, column, of = row[order], column[order], of[order]
    starts = np.searchsorted(of, np.arange(count + 1))
    return _Hulls(row, column, starts, pieces, components, slices, scale)


def _lower_hulls(row: Integers, column: Integers, chain: Integers) -> Integers:
    """The points of each chain, sorted by row, that lie below every line between two others.

    A point that does not lie below the line between its neighbours is no vertex, whoever else is dropped; once none is
    left, the chain is convex.
    """
    kept = np.arange(len(row))
    while len(kept) > 2:
        y, x, c = row[kept], column[kept], chain[kept]
        inner = c[:-2] == c[2:]
        above = (x[1:-1] - x[:-2]) * (y[2:] - y[:-2]) >= (y[1:-1] - y[:-2]) * (x[2:] - x[:-2])
        drop = inner & above
        if not drop.any():
            break
        stay = np.ones(len(kept), np.bool_)
        stay[1:-1] = ~drop
        kept = kept[stay]
    return kept


@dataclass(frozen=True, eq=False)
class _Ties:
    """Long axes of components: mostly one of each."""

    components: Integers
    pieces: Integers
    slices: Integers
    ends: Integers
    """(ties, 2 ends, row and column), doubled."""


def _tied_pairs(hulls: _Hulls, best: Floats, wanted: Integers) -> _Ties:
    limits = np.full(len(best), np.inf)
    limits[wanted] = best[wanted] * (1 - _SAME)
    chosen = np.flatnonzero(hulls.widest >= limits[hulls.components])
    found: list[tuple[Integers, Integers, Integers]] = []
    for some, one, other, squares in hulls.pairs(chosen):
        k, pair = np.nonzero(squares >= limits[hulls.components[some]][:, None])
        found.append((some[k], one[k, pair], other[k, pair]))
    piece, one, other = (np.concatenate(part) for part in zip(*found, strict=True))
    ends = np.stack([np.stack([hulls.rows[at], hulls.columns[at]], axis=1) for at in (one, other)], axis=1)
    # the two chains of a hull may end in one point, so that pairs come twice, and either way round
    turned = (ends[:, 0, 0] > ends[:, 1, 0]) | ((ends[:, 0, 0] == ends[:, 1, 0]) & (ends[:, 0, 1] > ends[:, 1, 1]))
    ends[turned] = ends[turned, ::-1]
    different = np.unique(np.column_stack([piece, ends.reshape(-1, 4)]), axis=0)
    piece, ends = different[:, 0], different[:, 1:].reshape(-1, 2, 2)
    return _Ties(hulls.components[piece], hulls.pieces[piece], hulls.slices[piece], ends)


# -- short axes ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Shorts:
    lengths: Floats
    ends: Floats
    """(ties, 2 ends, row and column), doubled."""


def _short_axes(runs: Runs, ties: _Ties, scale: tuple[float, float, float]) -> _Shorts:
    """The longest line across the outline of each piece that is perpendicular to its long axis."""
    pieces, own = np.unique(ties.pieces, return_inverse=True)
    return _Shorts(*_cross(_trace_outlines(runs, pieces), own, ties.ends, (scale[1], scale[2])))


@dataclass(frozen=True, eq=False)
class _Outlines:
    """Outlines of pieces at half height: straight lines between midpoints of the sides of pixels, doubled."""

    vertices: Integers
    """(vertices, row and column), piece by piece."""
    vertex_starts: Integers
    sides: Integers
    """(sides, 2 ends, row and column), piece by piece."""
    side_starts: Integers


# of the four pixels around a corner (1, 2, 4, 8: rows from above), which of the midpoints between them (0 above,
# 1 below, 2 left, 3 right) a side of the outline joins; where pixels touch at the corner alone, they hang together
_MIDPOINTS = np.array([(0, 1), (2, 1), (1, 0), (1, 2)])
_SIDES = np.full((2, 16, 2), -1)
for _codes, _joined in (
    ((1, 14), (2, 0)), ((2, 13), (0, 3)), ((4, 11), (2, 1)), ((8, 7), (1, 3)), ((3, 12), (2, 3)), ((5, 10), (0, 1)),
    ((6,), (2, 0)), ((9,), (0, 3)),
):  # fmt: skip
    _SIDES[0, list(_codes)] = _joined
_SIDES[1, 6], _SIDES[1, 9] = (1, 3), (2, 1)


def _trace_outlines(runs: Runs, pieces: Integers) -> _Outlines:
    """The outlines of some pieces, which are sorted.

    Between two rows the outline changes its course only where a run of one of them begins or ends; elsewhere it runs
    along the border between the rows, or not at all.
    """
    at, own = _runs_of(runs, pieces)
    columns, rows = np.concatenate([runs.starts[at], runs.stops[at]]), np.tile(runs.rows[at], 2)
    own = np.tile(own, 2)
    # each end of a run between the row and the one before, where it lies below, and the one after, where it lies above
    place, below = np.concatenate([rows - 1, rows]), np.repeat([True, False], len(rows))
    owner, column = np.tile(own, 2), np.tile(columns, 2)
    # in the order of pieces, rows and columns; nothing depends on the order of ends that lie in one place
    reach, width = int(place.max(initial=0)) + 2, int(column.max(initial=0)) + 1
    key = (owner * reach + place + 1) * width + column
    order = np.argsort(key)
    place, below, owner, column = place[order], below[order], owner[order], column[order]
    first = np.flatnonzero(np.diff(key[order], prepend=-1) != 0)
    # who is marked to the right of each end: pixels change their state there, and begin unmarked
    above_right, below_right = np.cumsum(~below) & 1, np.cumsum(below) & 1
    last = np.append(first[1:], len(place)) - 1
    right = np.stack([above_right[last], below_right[last]])
    left = np.concatenate([np.zeros((2, 1), np.int64), right[:, :-1]], axis=1)
    place, owner, column = place[first], owner[first], column[first]
    code = left[0] + 2 * right[0] + 4 * left[1] + 8 * right[1]
    corner = 2 * np.stack([place, column - 1], axis=1)
    sides, of_side = [], []
    for table in _SIDES:
        joined = table[code]
        here = np.flatnonzero(joined[:, 0] >= 0)
        sides.append(corner[here][:, None] + _MIDPOINTS[joined[here]])
        of_side.append(owner[here])
    # from one change to the next along the border of the rows
    along = np.flatnonzero(right[0] != right[1])
    ends = np.stack([corner[along] + _MIDPOINTS[3], corner[along + 1] + _MIDPOINTS[2]], axis=1)
    apart = ends[:, 0, 1] < ends[:, 1, 1]
    sides.append(ends[apart])
    of_side.append(owner[along][apart])
    vertices = [np.stack([2 * rows, 2 * columns - 1], axis=1), ends[:, 0], ends[apart, 1]]
    of_vertex = [own, owner[along], owner[along][apart]]
    return _Outlines(
        *_by_piece(np.concatenate(vertices), np.concatenate(of_vertex), len(pieces)),
        *_by_piece(np.concatenate(sides), np.concatenate(of_side), len(pieces)),
    )


def _runs_of(runs: Runs, pieces: Integers) -> tuple[Integers, Integers]:
    """The runs of some pieces, which are sorted, and the position of the piece of each."""
    position = np.full(int(runs.pieces.max()) + 1, -1)
    position[pieces] = np.arange(len(pieces))
    own = position[runs.pieces]
    at = np.flatnonzero(own >= 0)
    return at, own[at]


def _by_piece(values: Integers, of: Integers, count: int) -> tuple[Integers, Integers]:
    order = np.argsort(of, kind="stable")
    return values[order], np.searchsorted(of[order], np.arange(count + 1))


def _cross(outlines: _Outlines, own: Integers, ends: Integers, scale: tuple[float, float]) -> tuple[Floats, Floats]:
    """Length and ends of the longest perpendicular of each axis.

    Along the axis, the upper and the lower edge of an outline are linear between its vertices, so that the longest
    perpendicular runs through one of them.
    """
    count = len(own)
    vector = (ends[:, 1] - ends[:, 0]) * np.array(scale)
    length = np.sqrt((vector**2).sum(axis=1))
    unit = vector / length[:, None]
    many = np.diff(outlines.vertex_starts)[own]
    of_vertex, points = np.repeat(np.arange(count), many), outlines.vertices[expand(outlines.vertex_starts[own], many)]
    many = np.diff(outlines.side_starts)[own]
    of_side, sides = np.repeat(np.arange(count), many), outlines.sides[expand(outlines.side_starts[own], many)]
    at, _ = project(points, unit[of_vertex], scale)
    along, across = project(sides, unit[of_side][:, None], scale)
    back = (along[:, 0] > along[:, 1])[:, None]
    along, across = np.where(back, along[:, ::-1], along), np.where(back, across[:, ::-1], across)
    # one axis after the other on a line; what is beside by rounding is found, too, and looked at again below
    lowest = np.minimum.reduceat(at, np.searchsorted(of_vertex, np.arange(count)))
    reach = float((at - lowest[of_vertex]).max()) + 2 * float(length.max())
    kept, met = _promising(at, of_vertex, along, across, of_side, lowest)
    at, of_vertex = at[kept], of_vertex[kept]
    along, across, of_side = along[met], across[met], of_side[met]
    order = np.lexsort((at, of_vertex))
    at, of_vertex = at[order], of_vertex[order]
    place = of_vertex * reach + (at - lowest[of_vertex])
    start = of_side * reach - lowest[of_side]
    beside = _BESIDE * length
    slack = beside[of_side] + 1e-12 * reach * count
    first = np.searchsorted(place, start + along[:, 0] - slack, side="left")
    last = np.searchsorted(place, start + along[:, 1] + slack, side="right")
    upper, lower = np.full(len(at), -np.inf), np.full(len(at), np.inf)
    some = np.maximum(last - first, 0)
    for part in _parts(some):
        side, vertex = np.repeat(part, some[part]), expand(first[part], some[part])
        t, low, high, off = at[vertex], along[side, 0], along[side, 1], beside[of_side[side]]
        met = (of_side[side] == of_vertex[vertex]) & (t >= low - off) & (t <= high + off)
        side, vertex = side[met], vertex[met]
        for some_vertices, heights in cross_heights(vertex, at[vertex], along[side], across[side]):
            np.maximum.at(upper, some_vertices, heights)
            np.minimum.at(lower, some_vertices, heights)
    extent = upper - lower
    starts = np.searchsorted(of_vertex, np.arange(count))
    longest = np.maximum.reduceat(extent, starts)
    near = np.flatnonzero(extent >= longest[of_vertex] * (1 - _SAME))
    best = near[np.searchsorted(of_vertex[near], np.arange(count))]
    normal = np.stack([-unit[:, 1], unit[:, 0]], axis=1)
    foot = at[best][:, None] * unit
    found = np.stack([foot + lower[best][:, None] * normal, foot + upper[best][:, None] * normal], axis=1)
    return extent[best], found / np.array(scale)


def _promising(
    at: Floats, of_vertex: Integers, along: Floats, across: Floats, of_side: Integers, lowest: Floats
) -> tuple[Integers, Integers]:
    """The vertices through which the longest perpendicular of their axis may run, and the sides that it may meet.

    In strips across each axis, what lies within a strip limits every perpendicular in it. Those through one vertex of
    the widest strip are a lower limit for the longest one.
    """
    count, starts = len(lowest), np.searchsorted(of_vertex, np.arange(len(lowest)))
    widest = np.maximum.reduceat(at, starts) - lowest
    scale = _STRIPS / (widest * (1 + _BESIDE) + np.finfo(np.float64).tiny)
    strip = ((at - lowest[of_vertex]) * scale[of_vertex]).astype(np.int64) + of_vertex * _STRIPS
    # a little more on either side, for what meets a line by rounding alone
    ends = (along - lowest[of_side][:, None]) * scale[of_side][:, None] + np.array([-_BEYOND, _BEYOND])
    first, last = np.clip(ends, 0, _STRIPS - 1).astype(np.int64).T
    many, first = last - first + 1, first + of_side * _STRIPS
    inside = expand(first, many)
    upper, lower = np.full(count * _STRIPS, -np.inf), np.full(count * _STRIPS, np.inf)
    np.maximum.at(upper, inside, np.repeat(np.maximum(across[:, 0], across[:, 1]), many))
    np.minimum.at(lower, inside, np.repeat(np.minimum(across[:, 0], across[:, 1]), many))
    limit = (upper - lower)[strip]
    # one vertex of the widest strip of each axis
    best = np.flatnonzero(limit >= np.maximum.reduceat(limit, starts)[of_vertex])
    chosen = best[np.searchsorted(of_vertex[best], np.arange(count))]
    t = at[chosen][of_side]
    met = np.flatnonzero((along[:, 0] <= t) & (t <= along[:, 1]))
    top, bottom = np.full(count, -np.inf), np.full(count, np.inf)
    for of, height in cross_heights(of_side[met], t[met], along[met], across[met]):
        np.maximum.at(top, of, height)
        np.minimum.at(bottom, of, height)
    kept = np.flatnonzero(limit >= (top - bottom)[of_vertex] * (1 - _BESIDE))
    before = np.zeros(count * _STRIPS + 1, np.int64)
    before[strip[kept] + 1] = 1
    np.cumsum(before, out=before)
    return kept, np.flatnonzero(before[first + many] > before[first])


def _parts(counts: Integers) -> Iterator[Integers]:
    """Positions, so many at a time that their counts together stay small."""
    number = np.cumsum(counts) // _AT_ONCE
    edges = np.flatnonzero(np.diff(number, prepend=-1))
    for first, last in zip(edges.tolist(), [*edges[1:].tolist(), len(counts)], strict=True):
        yield np.arange(first, last)


def project(points: Integers, unit: Floats, scale: tuple[float, float]) -> tuple[Floats, Floats]:
    """Where points lie along a direction, and across it."""
    y, x = points[..., 0] * scale[0], points[..., 1] * scale[1]
    return y * unit[..., 0] + x * unit[..., 1], x * unit[..., 0] - y * unit[..., 1]


def cross_heights(vertex: Integers, t: Floats, along: Floats, across: Floats) -> Iterator[tuple[Integers, Floats]]:
    """Where the lines through vertices, at ``t``, meet sides; sides that lie on such a line have two heights."""
    span = along[:, 1] - along[:, 0]
    flat = span <= 0
    if flat.any():
        yield vertex[flat], across[flat, 1]
        span[flat] = 1.0
    share = np.clip((t - along[:, 0]) / span, 0.0, 1.0)
    share[flat] = 0.0
    yield vertex, across[:, 0] + (across[:, 1] - across[:, 0]) * share


# -- in space --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Surfaces:
    """The first and last voxel of every row of every component, which hold all farthest points."""

    voxels: Integers
    """(voxels, slice, row, first and last column)."""
    starts: Integers

    @classmethod
    def of(cls, runs: Runs, count: int) -> _Surfaces:
        order = np.argsort(runs.components, kind="stable")
        component, z, y = runs.components[order], runs.slices[order], runs.rows[order]
        new = (np.diff(component, prepend=-1) != 0) | (np.diff(z, prepend=-1) != 0) | (np.diff(y, prepend=-1) != 0)
        first = np.flatnonzero(new)
        last = np.append(first[1:], len(order)) - 1
        rows = np.stack([z[first], y[first], runs.starts[order][first], runs.stops[order][last] - 1], axis=1)
        return cls(rows, np.searchsorted(component[first], np.arange(count + 1)))

    def __getitem__(self, component: int) -> Integers:
        """Midpoints of the faces of the voxels at the ends of rows, in doubled coordinates."""
        rows = self.voxels[self.starts[component] : self.starts[component + 1]]
        ends = np.concatenate([rows[:, [0, 1, 2]], rows[:, [0, 1, 3]]])
        outer = 2 * ends
        outer[: len(rows), 2] -= 1
        outer[len(rows) :, 2] += 1
        steps = [np.array(step) for step in ((-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0))]
        return np.concatenate([outer, *(2 * ends + step for step in steps)])


def _farthest(points: Integers, scale: Floats) -> tuple[float, Floats]:
    """The largest distance between two of some points, and these.

    A good pair gives a lower bound; both ends of a longer one would have to lie far from its middle, and be vertices of
    the convex hull.
    """
    at = points * scale
    one = int(((at - at.mean(axis=0)) ** 2).sum(axis=1).argmax())
    length, other = -1.0, one
    while True:
        squares = ((at - at[other]) ** 2).sum(axis=1)
        far = int(squares.argmax())
        if squares[far] <= length * (1 + _SAME):
            break
        one, other, length = other, far, float(squares[far])
    middle = (at[one] + at[other]) / 2
    away = np.sqrt(((at - middle) ** 2).sum(axis=1))
    kept = np.flatnonzero(away >= (math.sqrt(length) - away.max()) * (1 - _BESIDE))
    if len(kept) > _FEW:
        kept = kept[_hull(at[kept])]
    candidates = points[kept]
    best, pair = -1.0, (0, 0)
    step = max(1, _AT_ONCE // len(kept))
    for first in range(0, len(kept), step):
        apart = candidates[first : first + step, None] - candidates[None]
        squares = (scale**2 * (apart * apart)).sum(axis=2)
        k = int(squares.argmax())
        if squares.flat[k] > best:
            best, pair = float(squares.flat[k]), (first + k // len(kept), k % len(kept))
    return math.sqrt(best), candidates[list(pair)].astype(np.float64)


def _hull(points: Floats) -> Integers:
    from scipy.spatial import ConvexHull, QhullError

    try:
        return np.asarray(ConvexHull(points).vertices, np.int64)
    except QhullError:
        return np.arange(len(points))  # they lie in a plane

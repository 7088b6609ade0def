"""Shapes that raters draw, and the pixels that they hold; a pixel is inside where its centre is.

An outline becomes pixels only when :meth:`pixels` is called, within the part of the image that holds it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import FormatError, InputError
from ..shape.polygons import LARGEST, Points, Rule, check_point_count, check_ring, rasterise_polygon, rasterise_window
from .readings import Mask, Outline, Window

LONGEST = 1 << 20
"""Pixels along one outline, all its edges together: COCO's rule walks them all at once."""
NOWHERE = slice(0, 0), slice(0, 0)


@dataclass(frozen=True, eq=False)
class Polygon(Outline):
    """A polygon of one or more rings, filled by the even-odd rule.

    Attributes
    ----------
    rings : tuple of ndarray
        (points, 2) of x and y; the first pixel reaches from 0 to 1.
    rule : {"centre", "inclusive", "coco"}
        Which pixels it holds; see :func:`manytruths.rasterise_polygon`.
    """

    rings: tuple[Points, ...]
    rule: Rule = "centre"

    @classmethod
    def of(cls, rings: Sequence[ArrayLike], rule: Rule = "centre") -> Polygon:
        """Make a polygon after checking that its rings are finite and not too long.

        Parameters
        ----------
        rings : sequence of array_like
            (points, 2) of x and y.
        rule : {"centre", "inclusive", "coco"}
            Which pixels it holds.

        Returns
        -------
        Polygon
            The polygon.
        """
        points = tuple(check_ring(ring, k) for k, ring in enumerate(rings))
        check_point_count(sum(map(len, points)))
        if rule == "coco":
            _check_length(points)
        return cls(points, rule)

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        together = np.concatenate(self.rings)
        window = window_around(together.min(axis=0), together.max(axis=0), shape)
        if self.rule == "coco":  # rounds fifths of a pixel of the image, not of a part of it
            _check_length(self.rings)
            return window, rasterise_polygon(self.rings, (window[0].stop, window[1].stop), self.rule)[window]
        return window, rasterise_window([self.rings], window, self.rule)


@dataclass(frozen=True)
class Ellipse(Outline):
    """An ellipse.

    Attributes
    ----------
    x, y : float
        The centre.
    half_width, half_height : float
        Half axes in pixels.
    turned : float
        Rotation in degrees, from x to y.
    """

    x: float
    y: float
    half_width: float
    half_height: float
    turned: float = 0.0

    def __post_init__(self) -> None:
        check_finite(self.x, self.y, self.half_width, self.half_height, self.turned)
        if min(self.half_width, self.half_height) <= 0:
            raise InputError(f"an ellipse with half axes {self.half_width:g} and {self.half_height:g}; draw it again")

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        c, s = math.cos(math.radians(self.turned)), math.sin(math.radians(self.turned))
        reach = np.hypot([self.half_width * c, self.half_width * s], [self.half_height * s, self.half_height * c])
        centre = np.array([self.x, self.y])
        window = window_around(centre - reach, centre + reach, shape)
        y, x = (np.arange(part.start, part.stop) + 0.5 for part in window)
        dx, dy = x[None, :] - self.x, y[:, None] - self.y
        inside = np.empty(window_size(window), bool)
        for rows in _row_blocks(inside):
            along, across = dx * c + dy[rows] * s, dy[rows] * c - dx * s
            inside[rows] = (along / self.half_width) ** 2 + (across / self.half_height) ** 2 <= 1
        return window, inside


@dataclass(frozen=True, eq=False)
class Bitmap(Outline):
    """Pixels from a corner on; those outside the image are dropped.

    Attributes
    ----------
    top, left : int
        Row and column of the first pixel.
    inside : ndarray
        Which pixels are marked.
    """

    top: int
    left: int
    inside: NDArray[Any]

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        sizes = zip((self.top, self.left), self.inside.shape, shape, strict=True)
        window, part = zip(*(_overlap(*size) for size in sizes), strict=True)
        return window, np.asarray(self.inside[part], bool)


@dataclass(frozen=True, eq=False)
class Whole(Outline):
    """A mask of the whole grid.

    Attributes
    ----------
    inside : ndarray
        Which pixels or voxels are marked.
    """

    inside: NDArray[Any]

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        return tuple(slice(0, size) for size in shape), np.asarray(self.inside, bool)


@dataclass(frozen=True, eq=False)
class Line(Outline):
    """An open line with round ends.

    Attributes
    ----------
    points : ndarray
        (points, 2) of x and y.
    width : float
        Width in pixels.
    """

    points: Points
    width: float

    @classmethod
    def of(cls, points: ArrayLike, width: float) -> Line:
        """Make a line after checking that its points are finite and not too many.

        Parameters
        ----------
        points : array_like
            (points, 2) of x and y.
        width : float
            Width in pixels.

        Returns
        -------
        Line
            The line.
        """
        line = np.asarray(points, np.float64)
        if line.ndim != 2 or line.shape[1] != 2 or not len(line):
            raise InputError(f"a line is (points, 2) of x and y; got {line.shape}")
        check_point_count(len(line))
        check_finite(width, *line.ravel().tolist())
        return cls(line, width)

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        reach = self.width / 2
        window = window_around(self.points.min(axis=0) - reach, self.points.max(axis=0) + reach, shape)
        near = np.zeros(window_size(window), bool)
        ends = self.points[1:] if len(self.points) > 1 else self.points
        for first, last in zip(self.points, ends, strict=False):
            part = window_around(np.minimum(first, last) - reach, np.maximum(first, last) + reach, shape)
            near[_within(part, window)] |= _near_segment(part, first, last, reach)
        return window, near


def _near_segment(window: Window, first: Points, last: Points, reach: float) -> Mask:
    """Which centres lie no farther from a stretch than that."""
    y, x = (np.arange(part.start, part.stop) + 0.5 for part in window)
    dx, dy = x[None, :] - first[0], y[:, None] - first[1]
    run = last - first
    length = float(run @ run)
    near = np.empty((len(y), len(x)), bool)
    for rows in _row_blocks(near):
        along = np.clip((dx * run[0] + dy[rows] * run[1]) / length, 0, 1) if length else np.zeros((1, 1))
        near[rows] = (dx - along * run[0]) ** 2 + (dy[rows] - along * run[1]) ** 2 <= reach**2
    return near


def _row_blocks(mask: Mask) -> Iterator[slice]:
    """A million pixels at a time: with 64 bits each, a large image would not fit into memory."""
    step = max(1, (1 << 20) // max(1, mask.shape[1]))
    return (slice(start, start + step) for start in range(0, len(mask), step))


def box(
    x: float, y: float, width: float, height: float, turned: float = 0.0, about: str = "centre", rule: Rule = "centre"
) -> Polygon:
    """Make a rectangle from its upper left corner.

    Parameters
    ----------
    x, y : float
        The corner.
    width, height : float
        Size in pixels.
    turned : float
        Rotation in degrees, from x to y.
    about : {"centre", "corner"}
        What it is rotated about.
    rule : {"centre", "inclusive", "coco"}
        Which pixels it holds.

    Returns
    -------
    Polygon
        The rectangle.
    """
    check_finite(x, y, width, height, turned)
    corners = np.array([(0, 0), (width, 0), (width, height), (0, height)], np.float64)
    fixed = np.array([width / 2, height / 2]) if about == "centre" else np.zeros(2)
    c, s = math.cos(math.radians(turned)), math.sin(math.radians(turned))
    moved = (corners - fixed) @ np.array([[c, s], [-s, c]]) + fixed if turned else corners
    return Polygon.of([moved + np.array([x, y])], rule)


def window_around(low: Points, high: Points, shape: tuple[int, ...]) -> tuple[slice, slice]:
    """The pixels around what lies between two points (x, y), inside the image."""
    height, width = shape
    left, top = np.floor(np.clip(low, 0, (width, height))).astype(int).tolist()
    right, bottom = np.ceil(np.clip(high, 0, (width, height))).astype(int).tolist()
    return slice(top, max(top, bottom)), slice(left, max(left, right))


def window_size(window: Window) -> tuple[int, int]:
    height, width = (part.stop - part.start for part in window)
    return height, width


def _within(window: Window, around: Window) -> Window:
    """A part of the image as a part of a larger part."""
    return tuple(slice(w.start - a.start, w.stop - a.start) for w, a in zip(window, around, strict=True))


def _overlap(first: int, length: int, size: int) -> tuple[slice, slice]:
    """Of the image, and of the bitmap."""
    start, stop = max(0, first), max(max(0, first), min(size, first + length))
    return slice(start, stop), slice(start - first, stop - first)


def marked_window(mask: Mask) -> Window:
    """The smallest part of a mask that holds all that is marked; of no size where nothing is."""
    axes = range(mask.ndim)
    lines = [np.flatnonzero(mask.any(axis=tuple(other for other in axes if other != axis))) for axis in axes]
    return tuple(slice(int(line[0]), int(line[-1]) + 1) if line.size else slice(0, 0) for line in lines)


def check_finite(*numbers: float) -> None:
    """Refuse what is no place on any image."""
    for number in numbers:
        if not abs(number) <= LARGEST:
            raise InputError(f"it has the coordinate {number:g}; draw it again")


def _check_length(rings: Sequence[Points]) -> None:
    length = sum(float(np.abs(np.roll(ring, -1, axis=0) - ring).max(axis=1).sum()) for ring in rings)
    if length > LONGEST:
        raise InputError(f"its outline is {length:.0f} pixels long, more than {LONGEST}; simplify the outline")


@dataclass(frozen=True, eq=False)
class RunLengthMask(Outline):
    """Run lengths along the rows or columns of the whole image: unmarked, marked, and so on in turns.

    They become pixels when they are drawn, and only the rows or columns that hold any.
    """

    lengths: NDArray[np.int32]
    by_column: bool = False

    @classmethod
    def of(cls, lengths: ArrayLike, shape: tuple[int, ...], by_column: bool = False) -> RunLengthMask:
        """Make it after checking that the runs cover the image exactly."""
        runs, size = np.asarray(lengths, np.int64), int(np.prod(shape, dtype=np.int64))
        if runs.ndim != 1:
            raise FormatError("its run lengths are not a list of whole numbers; export it again")
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
class UnitedOutline(Outline):
    """The union of several outlines."""

    parts: tuple[Outline, ...]

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        drawn = [part.pixels(shape) for part in self.parts]
        drawn = [(window, inside) for window, inside in drawn if inside.size]
        if not drawn:
            return NOWHERE, np.zeros((0, 0), bool)
        axes = zip(*(window for window, _ in drawn), strict=True)
        around = tuple(slice(min(part.start for part in axis), max(part.stop for part in axis)) for axis in axes)
        whole = np.zeros(window_size(around), bool)
        for window, inside in drawn:
            whole[_within(window, around)] |= inside
        return around, whole

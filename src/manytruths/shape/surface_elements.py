"""How large the piece of surface is that runs through a cell of 2×2 or 2×2×2 pixels.

A cell's code has one bit a corner, set where the pixel is marked; the corner that comes first in the array has the
highest bit. The surface crosses each edge between a marked and an unmarked corner at its middle. In a plane it is the
segments between those points, in space it is triangles (marching cubes). Where that leaves a choice, the choice is the
one whose areas Google DeepMind's surface-distance has, so that numbers can be compared:

- Marked and unmarked change places without changing the surface: the fewer of the two are cut off.
- On a face with two of the fewer at opposite corners, each is cut off by itself.
- Points that a loop of edges joins are triangulated as a fan, from the point that gives the largest area in a cube.

Lorensen WE, Cline HE. Marching cubes: a high resolution 3D surface construction algorithm. SIGGRAPH Comput Graph
1987;21:163–169. doi:10.1145/37402.37422
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Corner = tuple[int, ...]
Point = tuple[float, ...]


def element_sizes(spacing: Sequence[float]) -> Values:
    """The length (2 axes) or area (3 axes) of the surface in a cell, for each of its 16 or 256 codes.

    >>> element_sizes((1, 3))[[0b0000, 0b0011, 0b0101, 0b1111]].tolist()
    [0.0, 3.0, 1.0, 0.0]
    """
    sides = np.asarray(spacing, np.float64)
    codes, normals = _pieces(len(sides))
    # across axis i, a piece stretches with the sides of all other axes
    sizes = np.sqrt(((normals * (sides.prod() / sides)) ** 2).sum(axis=1))
    first_half = np.bincount(codes, sizes, minlength=2 ** (2 ** len(sides) - 1))
    return np.concatenate([first_half, first_half[::-1]])


@cache
def _pieces(ndim: int) -> tuple[NDArray[np.intp], Values]:
    """Every segment or triangle in a cube of side 1: its code, and its normal, as long as the piece is large.

    Of the first half of the codes: the others are the same with marked and unmarked exchanged.
    """
    corners = list(product((0, 1), repeat=ndim))
    codes, normals = [], []
    for code in range(2 ** (len(corners) - 1)):
        marked = {corner for bit, corner in enumerate(reversed(corners)) if code >> bit & 1}
        fewer = marked if 2 * len(marked) <= len(corners) else set(corners) - marked
        for normal in _segment_normals(fewer) if ndim == 2 else _triangle_normals(fewer):
            codes.append(code)
            normals.append(normal)
    return np.array(codes), np.array(normals)


def _segment_normals(fewer: set[Corner]) -> Iterator[Values]:
    for start, end in _segments([(0, 0), (1, 0), (1, 1), (0, 1)], fewer):
        along = np.subtract(end, start)
        yield np.array([along[1], -along[0]])


def _triangle_normals(fewer: set[Corner]) -> Iterator[Values]:
    for loop in _loops(fewer):
        # up to four points lie in one plane, where all fans are the same
        fans = [_fan(np.roll(loop, shift, axis=0)) for shift in range(len(loop) if len(loop) > 4 else 1)]
        yield from max(fans, key=lambda fan: float(np.linalg.norm(fan, axis=1).sum()))


def _fan(loop: Values) -> Values:
    """The normals of the triangles between a loop's first point and each of its sides."""
    spokes = loop[1:] - loop[0]
    return np.cross(spokes[:-1], spokes[1:]) / 2


def _loops(fewer: set[Corner]) -> Iterator[Values]:
    """The closed lines in which the surface meets the six faces."""
    # two faces run along their common edge in opposite directions: where a segment ends on one, the next one starts
    follows: dict[Point, Point] = {}
    for face in _faces():
        follows.update(_segments(face, fewer))
    while follows:
        start = next(iter(follows))
        loop = [start]
        while (point := follows.pop(loop[-1])) != start:
            loop.append(point)
        yield np.array(loop)


def _faces() -> Iterator[list[Corner]]:
    """The corners of each face of a cube, counter-clockwise as seen from outside."""
    for axis, side in product(range(3), (0, 1)):
        around = [(0, 0), (1, 0), (1, 1), (0, 1)][:: 1 if side else -1]
        for_axes = np.array([(side, *pair) for pair in around])
        yield [tuple(corner) for corner in np.roll(for_axes, axis, axis=1).tolist()]


def _segments(square: list[Corner], fewer: set[Corner]) -> Iterator[tuple[Point, Point]]:
    """Around a square, from where each run of the fewer begins to where it ends."""
    for i in range(4):
        if square[i - 1] not in fewer and square[i] in fewer:
            last = next(j for j in range(i, i + 4) if square[(j + 1) % 4] not in fewer)
            yield _middle(square[i - 1], square[i]), _middle(square[last % 4], square[(last + 1) % 4])


def _middle(a: Corner, b: Corner) -> Point:
    return tuple((x + y) / 2 for x, y in zip(a, b, strict=True))

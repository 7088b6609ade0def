"""Polygons to pixels, exactly.

Coordinates are (x, y) with 0 at the left and upper edge of the first pixel, so that its centre is (½, ½). A pixel
belongs to a polygon where its centre does, by the even-odd rule over all its rings: holes and several parts need
nothing else. Of centres that lie on an edge, those on left and lower edges are out and those on right and upper ones
are in, so that polygons that share an edge share no pixel.

``inclusive`` adds every pixel whose centre lies on an edge: for outlines drawn through pixel centres. ``coco`` gives
what pycocotools makes of each ring: edges rounded to a fifth of a pixel, column by column.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, InputError

Points = NDArray[np.float64]
Places = NDArray[np.int64]
Rule = Literal["centre", "inclusive", "coco"]

FIFTH = 5
"""Steps of a pixel to which pycocotools rounds."""
SHORT = 128
"""Pixels of a run that are filled one by one, which is quicker for many short runs."""
MAX_CROSSINGS = 1 << 22
"""Of rows and edges that are held at a time."""
MAX_STEPS = 1 << 23
"""Of a walk along a ring: a million and a half pixels."""
LARGEST = 1e7
"""Coordinates beyond are no pixels of any image."""


def rasterise_polygon(rings: Sequence[ArrayLike], shape: tuple[int, int], rule: Rule = "centre") -> NDArray[np.bool_]:
    """Rasterise a polygon of one or more rings.

    Coordinates are (x, y) with 0 at the left and upper edge of the first pixel, so that its centre is (½, ½). A pixel
    belongs to a polygon where its centre does, by the even-odd rule over all its rings.

    Parameters
    ----------
    rings : sequence of array_like
        Each (points, 2) of x and y, closed by itself; holes and further parts are rings like any other.
    shape : tuple of int
        Height and width of the image.
    rule : {"centre", "inclusive", "coco"}
        ``"centre"``: of centres on an edge, those on right and upper edges belong, so that polygons that share an edge
        share no pixel. ``"inclusive"``: all of them belong, for outlines drawn through pixel centres. ``"coco"``: as
        pycocotools does.

    Returns
    -------
    numpy.ndarray
        The mask, as booleans.

    Examples
    --------
    >>> import manytruths as mt
    >>> rings = [[(0, 0), (3, 0), (3, 2), (0, 2)], [(1, 0), (2, 0), (2, 1), (1, 1)]]
    >>> mt.rasterise_polygon(rings, (3, 4)).astype(int)
    array([[1, 0, 1, 0],
           [1, 1, 1, 0],
           [0, 0, 0, 0]])
    """
    height, width = shape
    points = [check_ring(ring, k) for k, ring in enumerate(rings)]
    mask = np.zeros((height, width), bool)
    if rule == "coco":
        for ring in points:
            mask |= _coco(ring, height, width)
        return mask
    if rule not in ("centre", "inclusive"):
        raise CallError(f"rule is 'centre', 'inclusive' or 'coco'; got {rule!r}")
    if points and height and width:
        starts, ends = _edges(points)
        step = max(1, MAX_CROSSINGS // len(starts))
        for top in range(0, height, step):
            band = top, min(height, top + step)
            _fill(mask.reshape(-1), _crossings(starts, ends, band, width), width)
            if rule == "inclusive":
                _touch(mask, starts, ends, band)
    return mask


def check_ring(ring: ArrayLike, number: int = 0) -> Points:
    """The ring as (points, 2) in 64 bits; raises where it is not a ring."""
    points = np.asarray(ring, np.float64)
    if points.ndim != 2 or points.shape[1] != 2:
        raise InputError(f"ring {number} is {points.shape}; it must be (points, 2) of x and y")
    if len(points) < 3:
        raise InputError(f"ring {number} has {len(points)} points; an area needs at least three")
    if not (np.abs(points) <= LARGEST).all():
        raise InputError(f"ring {number} has coordinates that are not finite, or beyond {LARGEST:g}; draw it again")
    return points


def _edges(rings: Sequence[Points]) -> tuple[Points, Points]:
    """Both ends of every edge, the upper one first."""
    first = np.concatenate(rings)
    second = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
    down = (first[:, 1] <= second[:, 1])[:, None]
    return np.where(down, first, second), np.where(down, second, first)


def _crossings(starts: Points, ends: Points, band: tuple[int, int], width: int) -> Places:
    """Where rows through pixel centres cross edges: row × (width + 1) + the first column right of it, sorted."""
    top, bottom = (np.clip(np.ceil(y - 0.5), *band).astype(np.int64) for y in (starts[:, 1], ends[:, 1]))
    rows, edge = _spread(top, bottom - top)
    (x, y), (run, rise) = starts[edge].T, (ends - starts)[edge].T
    across = (rows + 0.5 - y) * run / rise + x
    columns = np.clip(np.floor(across + 0.5), 0, width).astype(np.int64)
    return np.sort(rows * (width + 1) + columns)


def _spread(first: Places, counts: Places) -> tuple[Places, Places]:
    """``first``, ``first + 1``, … so many each; and whose they are."""
    counts = np.maximum(counts, 0)
    owner = np.repeat(np.arange(len(first)), counts)
    before = np.cumsum(counts) - counts
    return np.arange(len(owner)) - before[owner] + first[owner], owner


def _fill(flat: NDArray[np.bool_], crossings: Places, width: int) -> None:
    """From every odd crossing to the next; a row has an even number of them."""
    rows, columns = np.divmod(crossings, width + 1)
    places = rows * width + columns
    start, length = places[::2], places[1::2] - places[::2]
    long = length > SHORT
    for first, last in zip(start[long].tolist(), (start + length)[long].tolist(), strict=True):
        flat[first:last] = True
    flat[_spread(start[~long], length[~long])[0]] = True


def _touch(mask: NDArray[np.bool_], starts: Points, ends: Points, band: tuple[int, int]) -> None:
    """Pixels of some rows whose centre lies on an edge: between its ends, and in line with them."""
    width = mask.shape[1]
    flat = starts[:, 1] == ends[:, 1]
    top = np.clip(np.ceil(starts[:, 1] - 0.5), *band).astype(np.int64)
    below = np.clip(np.floor(ends[:, 1] - 0.5) + 1, *band).astype(np.int64)
    rows, edge = _spread(top, np.where(flat, 0, below - top))
    (x, y), (run, rise) = starts[edge].T, (ends - starts)[edge].T
    column = (rows + 0.5 - y) * run / rise + x - 0.5
    on = (column == np.rint(column)) & (column >= 0) & (column < width)
    mask[rows[on], column[on].astype(np.int64)] = True
    for (start, y), (end, _) in zip(starts[flat], ends[flat], strict=True):
        row = y - 0.5
        if row == round(row) and band[0] <= row < band[1]:
            left, right = sorted((start, end))
            mask[int(row), max(0, int(np.ceil(left - 0.5))) : max(0, int(np.floor(right - 0.5)) + 1)] = True


def _coco(ring: Points, height: int, width: int) -> NDArray[np.bool_]:
    """As pycocotools: walk the edges in fifths of a pixel, and turn over at every column's boundary that is met."""
    corners = np.trunc(FIFTH * ring + 0.5).astype(np.int64)
    steps = int(np.abs(np.diff(corners, axis=0, append=corners[:1])).max(axis=1).sum())
    if steps > MAX_STEPS:
        raise InputError(f"its edges are {steps // FIFTH} pixels long in all, too long for rule 'coco'; use another")
    u, v = _walk(corners, np.roll(corners, -1, axis=0))
    step = np.flatnonzero(u[1:] != u[:-1]) + 1
    column = (np.minimum(u[step], u[step - 1]) + 0.5) / FIFTH - 0.5
    row = np.ceil(np.clip((np.minimum(v[step], v[step - 1]) + 0.5) / FIFTH - 0.5, 0, height))
    met = (column == np.floor(column)) & (column >= 0) & (column <= width - 1)
    places = np.sort((column[met] * height + row[met]).astype(np.int64))
    turned = np.zeros(height * width + 1, np.uint8)
    np.bitwise_xor.at(turned, places, 1)
    return np.bitwise_xor.accumulate(turned[:-1]).astype(bool).reshape(width, height).T


def _walk(starts: Places, ends: Places) -> tuple[Places, Places]:
    """Every step along the edges, one in x or y at a time, whichever is longer; both ends of an edge are steps."""
    dx, dy = np.abs(ends - starts).T
    wide = dx >= dy
    back = np.where(wide, starts[:, 0] > ends[:, 0], starts[:, 1] > ends[:, 1])
    low, high = np.where(back[:, None], ends, starts), np.where(back[:, None], starts, ends)
    length = np.maximum(dx, dy)
    rise = np.where(wide, high[:, 1] - low[:, 1], high[:, 0] - low[:, 0])
    slope = np.divide(rise, length, out=np.zeros(len(length)), where=length > 0)
    walked, edge = _spread(np.zeros_like(length), length + 1)
    along = np.where(back[edge], length[edge] - walked, walked)
    aside = np.where(wide, low[:, 1], low[:, 0])[edge]
    level = np.trunc(aside + slope[edge] * along + 0.5).astype(np.int64)
    ahead = np.where(wide, low[:, 0], low[:, 1])[edge] + along
    return np.where(wide[edge], ahead, level), np.where(wide[edge], level, ahead)

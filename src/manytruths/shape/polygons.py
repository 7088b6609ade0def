"""Polygons to pixels, exactly.

Coordinates are (x, y) with 0 at the left and upper edge of the first pixel, so that its centre is (½, ½). A pixel
belongs to a polygon where its centre does, by the even-odd rule over all its rings: holes and several parts need
nothing else. Of centres that lie on an edge, those on left and lower edges are out and those on right and upper ones
are in, so that polygons that share an edge share no pixel.

``inclusive`` adds every pixel whose centre lies on an edge: for outlines drawn through pixel centres. ``coco`` gives
what pycocotools makes of each ring: edges rounded to a fifth of a pixel, column by column.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

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
"""Crossings of rows and edges that are held at a time."""
MAX_STEPS = 1 << 23
"""Of a walk along a ring: a million and a half pixels."""
LARGEST = 1e7
"""Coordinates beyond are no pixels of any image."""

MOST_POINTS = 100_000
"""Points of one outline; a file with more is damaged or malicious."""


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
    if rule == "coco":
        mask = np.zeros((height, width), bool)
        for ring in points:
            mask |= _coco(ring, height, width)
        return mask
    return rasterise_window([points] if points else [], (slice(0, height), slice(0, width)), rule)


def rasterise_window(
    polygons: Sequence[Sequence[Points]], window: tuple[slice, slice], rule: Rule = "centre"
) -> NDArray[np.bool_]:
    """The pixels of a part of an image that any of several polygons holds; the same as those of the whole image."""
    height, width = (part.stop - part.start for part in window)
    mask = np.zeros((height, width), bool)
    for starts, stops in _band_runs(polygons, window, rule):
        fill_runs(mask.reshape(-1), starts, stops)
    return mask


def polygon_runs(
    polygons: Sequence[Sequence[Points]], shape: tuple[int, int], rule: Rule = "centre"
) -> tuple[Places, Places]:
    """Runs of pixels that any of several polygons holds, without an array of the image's size.

    They are what :func:`rasterise_polygon` marks: flat positions of the first pixels and behind the last ones, in
    order. No run touches the next one of its row, and none goes on in the next row.

    >>> starts, stops = polygon_runs([[np.array([(0.0, 0), (3, 0), (3, 2), (0, 2)])]], (3, 4))
    >>> starts.tolist(), stops.tolist()
    ([0, 4], [3, 7])
    """
    found = list(_band_runs(polygons, (slice(0, shape[0]), slice(0, shape[1])), rule))
    if not found:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    starts, stops = (np.concatenate(part) for part in zip(*found, strict=True))
    return starts, stops


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


def check_point_count(points: int) -> None:
    """Refuse an outline of more than :data:`MOST_POINTS`."""
    if points > MOST_POINTS:
        raise InputError(f"it has {points} points, more than {MOST_POINTS}; simplify the outline")


@dataclass(frozen=True, eq=False)
class _Edges:
    """Edges with their upper ends first, and the polygons that they belong to."""

    starts: Points
    ends: Points
    owners: Places

    @classmethod
    def of(cls, polygons: Sequence[Sequence[Points]]) -> _Edges:
        rings = [ring for polygon in polygons for ring in polygon]
        owners = np.repeat(np.arange(len(polygons)), [sum(map(len, polygon)) for polygon in polygons])
        first = np.concatenate(rings)
        second = np.concatenate([np.roll(ring, -1, axis=0) for ring in rings])
        down = (first[:, 1] <= second[:, 1])[:, None]
        return cls(np.where(down, first, second), np.where(down, second, first), owners)

    def rows(self, band: tuple[int, int], *, touching: bool = False) -> tuple[Places, Places]:
        """The first row of each edge whose centres it crosses, and the one behind the last; or touches at its end."""
        first = np.ceil(self.starts[:, 1] - 0.5)
        behind = np.floor(self.ends[:, 1] - 0.5) + 1 if touching else np.ceil(self.ends[:, 1] - 0.5)
        return np.clip(first, *band).astype(np.int64), np.clip(behind, *band).astype(np.int64)

    def select(self, chosen: NDArray[np.bool_]) -> _Edges:
        return self if chosen.all() else _Edges(self.starts[chosen], self.ends[chosen], self.owners[chosen])


def _band_runs(
    polygons: Sequence[Sequence[Points]], window: tuple[slice, slice], rule: Rule
) -> Iterator[tuple[Places, Places]]:
    """Runs of a part of an image that any polygon holds, some rows at a time; flat positions in that part."""
    if rule not in ("centre", "inclusive"):
        raise CallError(f"rule is 'centre', 'inclusive' or 'coco'; got {rule!r}")
    rows, columns = window
    width = columns.stop - columns.start
    if not polygons or not width or rows.stop <= rows.start:
        return
    edges = _Edges.of(polygons)
    for band in _bands(edges, (rows.start, rows.stop)):
        top, bottom = edges.rows(band, touching=rule == "inclusive")
        near = edges.select(bottom > top)
        pairs = _crossings(near, band, columns)
        starts, stops = pairs[::2], pairs[1::2]
        if rule == "inclusive":
            level = edges.select(edges.starts[:, 1] == edges.ends[:, 1])
            more = [_touched(near, band, columns), _touched_level(level, band, columns)]
            starts = np.concatenate([starts, *(own for own, _ in more)])
            stops = np.concatenate([stops, *(own for _, own in more)])
        starts, stops = _unite(starts, stops)
        # positions had one more for each row, so that rows stay apart
        row = starts // (width + 1)
        skipped = band[0] - rows.start
        yield starts - row + skipped * width, stops - row + skipped * width


def _bands(edges: _Edges, rows: tuple[int, int]) -> list[tuple[int, int]]:
    """Rows that are looked at together: as many as cross about :data:`MAX_CROSSINGS` edges."""
    top, bottom = edges.rows(rows)
    height = rows[1] - rows[0]
    begun, ended = (np.bincount(row - rows[0], minlength=height + 1) for row in (top, np.maximum(top, bottom)))
    crossed = np.cumsum(np.cumsum(begun - ended))
    cuts = np.searchsorted(crossed, np.arange(MAX_CROSSINGS, int(crossed[-1]), MAX_CROSSINGS)) + rows[0]
    return list(pairwise(np.unique([rows[0], *cuts.tolist(), rows[1]]).tolist()))


def _crossings(edges: _Edges, band: tuple[int, int], columns: slice) -> Places:
    """Where rows through pixel centres cross edges, in order for one polygon after the other.

    Rows and columns count from those of the part of the image: row × (width + 1) + the first column right of it.
    """
    top, bottom = edges.rows(band)
    rows, edge = _spread(top, bottom - top)
    (x, y), (run, rise) = edges.starts[edge].T, (edges.ends - edges.starts)[edge].T
    across = (rows + 0.5 - y) * run / rise + x
    column = np.clip(np.floor(across + 0.5), columns.start, columns.stop).astype(np.int64) - columns.start
    width = columns.stop - columns.start
    places: Places = (rows - band[0]) * (width + 1) + column
    owners = edges.owners[edge]
    span = (band[1] - band[0]) * (width + 1)
    if not len(owners) or owners[0] == owners[-1]:  # owners ascend: all edges are those of one polygon
        return np.sort(places)
    if span < (1 << 62) // (int(owners[-1]) + 1):
        places = np.sort(owners * span + places) % span
    else:
        places = places[np.lexsort((places, owners))]
    return places


def _unite(starts: Places, stops: Places) -> tuple[Places, Places]:
    """Runs in order, with those united that overlap or touch; empty ones go."""
    full = stops > starts
    starts, stops = starts[full], stops[full]
    if not len(starts):
        return starts, stops
    order = np.argsort(starts, kind="stable")
    starts, reached = starts[order], np.maximum.accumulate(stops[order])
    apart = starts[1:] > reached[:-1]
    return starts[np.concatenate([[True], apart])], reached[np.concatenate([apart, [True]])]


def _spread(first: Places, counts: Places) -> tuple[Places, Places]:
    """``first``, ``first + 1``, … so many each; and whose they are."""
    counts = np.maximum(counts, 0)
    owner = np.repeat(np.arange(len(first)), counts)
    before = np.cumsum(counts) - counts
    return np.arange(len(owner)) - before[owner] + first[owner], owner


def fill_runs(flat: NDArray[Any], starts: Places, stops: Places, values: NDArray[Any] | None = None) -> None:
    """Fill runs of a flat array, with 1 or with a value each."""
    values = np.ones(len(starts), flat.dtype) if values is None else values
    lengths = stops - starts
    long = lengths > SHORT
    for first, last, value in zip(starts[long].tolist(), stops[long].tolist(), values[long].tolist(), strict=True):
        flat[first:last] = value
    places, owner = _spread(starts[~long], lengths[~long])
    flat[places] = values[~long][owner]


def _touched(edges: _Edges, band: tuple[int, int], columns: slice) -> tuple[Places, Places]:
    """Pixels of some rows whose centre lies on an edge that is not level: between its ends, and in line with them."""
    top, below = edges.rows(band, touching=True)
    level = edges.starts[:, 1] == edges.ends[:, 1]
    rows, edge = _spread(top, np.where(level, 0, below - top))
    (x, y), (run, rise) = edges.starts[edge].T, (edges.ends - edges.starts)[edge].T
    column = (rows + 0.5 - y) * run / rise + x - 0.5
    on = (column == np.rint(column)) & (column >= columns.start) & (column < columns.stop)
    width = columns.stop - columns.start
    places = (rows[on] - band[0]) * (width + 1) + column[on].astype(np.int64) - columns.start
    return places, places + 1


def _touched_level(edges: _Edges, band: tuple[int, int], columns: slice) -> tuple[Places, Places]:
    """The same of level edges, which run through the centres of one row."""
    row = edges.starts[:, 1] - 0.5
    through = (row == np.rint(row)) & (row >= band[0]) & (row < band[1])
    ends = np.stack([edges.starts[through, 0], edges.ends[through, 0]])
    first = np.clip(np.ceil(ends.min(axis=0) - 0.5), columns.start, columns.stop).astype(np.int64)
    behind = np.clip(np.floor(ends.max(axis=0) - 0.5) + 1, columns.start, columns.stop).astype(np.int64)
    before = (row[through].astype(np.int64) - band[0]) * (columns.stop - columns.start + 1) - columns.start
    return before + first, before + behind


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

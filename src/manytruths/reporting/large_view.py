"""A case in the viewer that is too large to be shown at once: an overview, and disputed places at full resolution.

One pass over the tiles counts marks and disputed pixels in blocks, and samples the patterns. The windows with most
disputed pixels are then read at full resolution, one after another; nothing of the size of the image is ever made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..agreement import dispute_heatmap
from ..analyses.agree.case import MapOptions
from ..analyses.agree.large import overview_of_size
from ..analyses.fuse.case import CaseMaps
from ..claims.sentences import counted as count_words
from ..core.blocks import Blocks
from ..core.tiles import Where
from ..shape.grid import Grid, times
from ..study.case import Reading
from .case_view import (
    Layer,
    LayeredCase,
    Scene,
    ViewPlan,
    count_votes,
    draw_thumbnail,
    grey_range,
    layer_case,
    scene_data,
    shade,
)

Array = NDArray[Any]

OVERVIEW = 1500
"""Largest number of rows or columns of an overview."""
PLACES = 6
"""Largest number of places that are shown at full resolution."""
WINDOW = 1024
"""About so many rows and columns of a place."""
PLACE_BYTES = 400_000
"""Size of the data of a place, of which the outlines take what they need."""


@dataclass(frozen=True, eq=False)
class Overview:
    """A large case in blocks of so many rows and columns."""

    step: int
    maps: tuple[Array, ...]
    """Of the first row and column of every block."""
    marked: Blocks
    """How many raters marked the pixels of a block, added up."""
    disputed: Blocks
    """How many of its pixels are disputed."""


def large_view(reading: Reading, fusing: CaseMaps, maps: MapOptions, plan: ViewPlan) -> tuple[dict[str, Any], str]:
    """The data of the viewer, and the thumbnail, of a large image; ``fusing`` is made of its patterns."""
    counted = reading.by_pattern
    layered = layer_case(counted, fusing, maps, responses=False)
    overview = make_overview(counted, layered)
    windows = disputed_windows(overview.disputed, overview.step, reading.grid.shape)
    image = overview_of_size(reading, overview.maps[0].shape, overview.step) if plan.images else None
    grey = None if image is None else grey_range(image)
    table, step, grid = layered.table, overview.step, reading.grid
    small = Grid(overview.maps[0].shape, None if grid.spacing is None else tuple(step * s for s in grid.spacing))
    shown = LayeredCase(table, (overview.maps[0], *_shades(overview, table)), tuple(_overview_layers(overview, table)))
    problem = reading.pyramid[1] if plan.images else ""
    notes = [f"without its image: {problem}"] if problem else []
    if step > 1:
        notes.append(f"maps show means of {times((step, step))} pixels, outlines one of {step} rows and columns")
    notes.append(_how_chosen(windows, overview.disputed))
    scene = Scene(reading.case.name, small, shown, image, tuple(notes), step=step, grey=grey)
    data = scene_data(reading, scene, replace(plan, largest=plan.largest // 2))
    data["shown"] = DISPUTED
    data["parts"] = [
        _part(reading, layered, window, plan, grey, number) for number, window in enumerate(windows, start=1)
    ]
    heat = np.ceil(overview.marked.means).astype(np.int64)
    return data, draw_thumbnail(image, heat, max(1, len(table.raters)), plan)


def make_overview(counted: Reading, layered: LayeredCase) -> Overview:
    """Look at every tile once."""
    assert counted.pixels is not None
    shape, codes, table = counted.grid.shape, layered.maps[0], layered.table
    step = -(-max(shape) // OVERVIEW)
    votes = np.asarray(count_votes(table))[codes].astype(np.uint16)
    is_disputed = np.asarray(dispute_heatmap(table))[codes] > 0
    if not isinstance(counted.region, str):
        is_disputed &= np.asarray(counted.region) != 0
    marked, disputed = Blocks(shape, step), Blocks(shape, step)
    items = np.zeros([-(-n // step) for n in shape], np.int32)
    for where, tile in counted.pixels.tiles(_Squares(shape)):
        starts = [-(-part.start // step) for part in where]
        at = tuple(slice(a, -(-part.stop // step)) for a, part in zip(starts, where, strict=True))
        first = [a * step - part.start for a, part in zip(starts, where, strict=True)]
        items[at] = tile if tile.ndim == 0 else tile[first[0] :: step, first[1] :: step]
        marked.put(where, votes[tile])
        disputed.put(where, is_disputed[tile])
    return Overview(step, tuple(each[items] for each in layered.maps), marked, disputed)


class _Squares:
    """Tiles that are read also of masks in memory, so that no map of all of it is made."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.shape, self.chunks = shape, (1024, 1024)


MARKED, DISPUTED = "mean votes", "disputed share"


def _overview_layers(overview: Overview, table: Any) -> Iterator[Layer]:
    """Values of the shades of the maps after the first."""
    raters = max(1, len(table.raters))
    what = "rated" if table.labels.background is None else "marked"
    yield Layer(DISPUTED, "Share of disputed pixels", "value", shade(np.zeros(0), 1.0)[0], 1.0, 1)
    yield Layer(MARKED, f"Raters who {what} it, on average", "value", shade(np.zeros(0), raters)[0], raters, 2)


def _shades(overview: Overview, table: Any) -> Iterator[Array]:
    yield shade(overview.disputed.means, 1.0)[1]
    yield shade(overview.marked.means, max(1, len(table.raters)))[1]


@dataclass(frozen=True)
class Window:
    """A place that is shown at full resolution."""

    where: Where
    disputed: int
    """Of its pixels."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Rows and columns."""
        return tuple(part.stop - part.start for part in self.where)

    @property
    def share(self) -> float:
        """Of its pixels that are disputed."""
        return self.disputed / int(np.prod(self.shape))


def disputed_windows(disputed: Blocks, step: int, shape: tuple[int, ...], most: int = PLACES) -> list[Window]:
    """The windows with most disputed pixels, the first of all, and each other one of what those before it leave.

    Examples
    --------
    >>> blocks = Blocks((4000, 3000), 10)
    >>> blocks.put((slice(3000, 3100), slice(1000, 1500)), 1)
    >>> [window.where for window in disputed_windows(blocks, 10, (4000, 3000))]
    [(slice(2540, 3560, None), slice(740, 1760, None))]
    """
    left = disputed.values.copy()
    size = [min(max(1, WINDOW // step), n) for n in left.shape]
    windows: list[Window] = []
    while len(windows) < most and left.any():
        sums = _window_sums(left, size)
        row, column = np.unravel_index(int(sums.argmax()), sums.shape)
        best = int(row), int(column)
        inside = left[best[0] : best[0] + size[0], best[1] : best[1] + size[1]]
        middle = _middle(inside, best, size, sums.shape)
        corner = middle if sums[middle] >= sums[best] else best
        at = tuple(slice(a, a + n) for a, n in zip(corner, size, strict=True))
        where = tuple(slice(p.start * step, min(p.stop * step, n)) for p, n in zip(at, shape, strict=True))
        windows.append(Window(where, int(disputed.values[at].sum())))
        left[at] = 0
    return windows


def _window_sums(counts: Array, size: list[int]) -> NDArray[np.int64]:
    """The sum in every window that lies inside, by its upper left corner."""
    total = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1), np.int64)
    total[1:, 1:] = counts.cumsum(axis=0).cumsum(axis=1)
    rows, columns = size
    return np.asarray(
        total[rows:, columns:] - total[:-rows, columns:] - total[rows:, :-columns] + total[:-rows, :-columns]
    )


def _middle(inside: Array, corner: tuple[int, int], size: list[int], room: tuple[int, ...]) -> tuple[int, int]:
    """The window with what is disputed in its middle."""
    found = []
    for axis in (0, 1):
        weights = inside.sum(axis=1 - axis)
        centre = corner[axis] + float((weights * np.arange(len(weights))).sum() / weights.sum()) + 0.5
        found.append(int(np.clip(round(centre - size[axis] / 2), 0, room[axis] - 1)))
    return found[0], found[1]


def _part(
    reading: Reading,
    layered: LayeredCase,
    window: Window,
    plan: ViewPlan,
    grey: tuple[float, float] | None,
    number: int,
) -> dict[str, Any]:
    """The data of one place, every row and column of it."""
    pixels, picture = reading.by_pattern.pixels, reading.pyramid[0] if plan.images else None
    assert pixels is not None
    items, (rows, columns) = pixels.read(window.where), window.where
    maps = tuple(np.asarray(each[items]) for each in layered.maps)
    image = None if picture is None else picture.crop(window.where)
    scene = Scene(
        f"{reading.case.name}, place {number}", Grid(window.shape, reading.grid.spacing),
        LayeredCase(layered.table, maps, layered.layers), image, (), (rows.start, columns.start), 1, grey,
    )  # fmt: skip
    data = scene_data(reading, scene, replace(plan, largest=max(plan.largest // 10, PLACE_BYTES)))
    return data | {"about": _about(window, reading.grid), "box": [rows.start, columns.start, *window.shape]}


def _about(window: Window, grid: Grid) -> tuple[str, str]:
    """How much of a place is disputed, and where it is."""
    rows, columns = window.where
    where = f"x {columns.start:,}, y {rows.start:,}"
    if grid.spacing is not None:
        x, y = columns.start * grid.spacing[1], rows.start * grid.spacing[0]
        where += f" (at {x:.4g}, {y:.4g} mm)"
    share = f"{window.share:.1%}" if window.share >= 0.001 else "below 0.1%"
    return f"{share} disputed", where


def _how_chosen(windows: list[Window], disputed: Blocks) -> str:
    if not windows:
        return "no pixel is disputed, so that no place is shown at full resolution"
    covered = np.zeros(disputed.values.shape, bool)
    for window in windows:
        covered[tuple(slice(p.start // disputed.step, -(-p.stop // disputed.step)) for p in window.where)] = True
    share = disputed.values[covered].sum() / disputed.values.sum()
    held = "all disputed pixels" if share == 1 else f"{share:.0%} of the disputed pixels"
    size = times(windows[0].shape[::-1])
    return (
        f"{count_words(len(windows), 'place')} of {size} pixels "
        f"{'is' if len(windows) == 1 else 'are'} shown at full resolution: the one with most pixels on which raters "
        f"differ, then each time the one with most of those that are left; together they hold {held}"
    )

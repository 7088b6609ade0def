"""Draw a reading: write its masks, and its rank map."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ...exchange.outlines import Polygon, UnitedOutline
from ...exchange.readings import Mask, Outline, Reading, Window
from ...io import write_map
from ...io.documents import error_context
from ...io.geojson import ImageFields, write_geojson
from ...io.results import fingerprint
from ...io.writing import checksum
from ...shape.polygons import Points, polygon_runs
from .layout import Layout

Overlap = Literal["smaller", "z", "union"]
"""Structures of one rater that overlap: each whole, so that a study cuts the smaller out of the larger or unites
them; or cut already, so that each pixel is that of what lies on top."""
LARGEST_RANK = 255
RANK = ""
"""Where digests by structure hold that of the rank map; no structure has an empty name."""
HELD = 1 << 27
"""Bytes of drawn marks that are held at once; more of them are drawn again where they are needed."""


@dataclass(frozen=True)
class Drawn:
    """What was drawn of a reading."""

    checksum: str
    marked: int
    """Pixels of all of its masks together."""
    lost: int
    """Marks that hold no pixel's centre."""
    digests: Mapping[str, str]
    """Of what was drawn of each structure, and of the rank map under the name ``RANK``: of pixels, not of files."""


class _Pixels:
    """What each mark holds: a few shapes of the size of a large image would not fit into memory."""

    def __init__(self, read: Reading) -> None:
        self.read, self.cached, self.room = read, dict[int, tuple[Window, Mask]](), HELD

    def __getitem__(self, i: int) -> tuple[Window, Mask]:
        if i in self.cached:
            return self.cached[i]
        window, inside = self.read.marks[i].outline.pixels(self.read.grid.shape)
        if inside.nbytes <= self.room:
            self.cached[i], self.room = (window, inside), self.room - inside.nbytes
        return window, inside


def draw(read: Reading, folder: Path | None, layout: Layout, overlap: Overlap, ranked: bool) -> Drawn:
    """Write the masks of a reading; without a folder, find only what they would be."""
    with error_context(f"{read.source}: case {read.case}, rater {read.rater}" if read.source else f"case {read.case}"):
        if layout.kept:
            return _keep_outlines(read, folder, layout, overlap, ranked)
        return _draw_masks(read, folder, layout, overlap, ranked)


def _draw_masks(read: Reading, folder: Path | None, layout: Layout, overlap: Overlap, ranked: bool) -> Drawn:
    pixels = _Pixels(read)
    areas = [int(np.count_nonzero(pixels[i][1])) for i in range(len(read.marks))]
    heights = [mark.order for mark in read.marks] if overlap == "z" else [-area for area in areas]
    order = sorted(range(len(heights)), key=heights.__getitem__)
    on_top = _topmost(read, pixels, order) if overlap == "z" else None
    written, digests, marked = dict[str, Path](), dict[str, str](), 0
    for structure in layout.structures:
        mask = _structure_mask(read, pixels, structure) if on_top is None else _cut_mask(read, on_top, structure)
        if folder is not None:
            path = layout.mask(folder, read, structure)
            write_map(path, mask, read.grid)
            written[path.parent.name if len(layout.structures) > 1 else ""] = path
        marked += int(np.count_nonzero(mask))
        digests[structure] = _digest(np.packbits(mask))
        del mask
    if ranked:
        del on_top
        ranks = _rank_map(read, pixels, order)
        if folder is not None:
            write_map(layout.rank(folder, read), ranks, read.grid)
        digests[RANK] = _digest(ranks)
    return Drawn(checksum(written) if written else "", marked, areas.count(0), digests)


def _digest(pixels: NDArray[np.uint8]) -> str:
    return hashlib.sha256(np.ascontiguousarray(pixels).data).hexdigest()[:32]


def _keep_outlines(read: Reading, folder: Path | None, layout: Layout, overlap: Overlap, ranked: bool) -> Drawn:
    """Write the outlines themselves, on an image that is too large to be drawn on."""
    size = " × ".join(map(str, reversed(read.grid.shape)))
    if overlap == "z" or ranked:
        what = "ranks (--no-rank-maps)" if ranked else "--overlap z"
        raise InputError(f"an image of {size} pixels is too large to be drawn on; import it without {what}")
    shape = read.grid.shape[0], read.grid.shape[1]
    objects = [(mark.label, polygons_of(mark.outline, size)) for mark in read.marks]
    path = None if folder is None else layout.mask(folder, read, "")
    if path is not None:
        write_geojson(path, objects, ImageFields(*shape, read.grid.spacing))  # type: ignore[arg-type]
    areas = [int((stops - starts).sum()) for starts, stops in (polygon_runs(parts, shape) for _, parts in objects)]
    # one file holds all structures, whatever their names
    digests = dict.fromkeys(layout.structures, fingerprint((), objects)[:32])
    return Drawn("" if path is None else checksum({"": path}), sum(areas), areas.count(0), digests)


def polygons_of(outline: Outline, size: str) -> list[list[Points]]:
    """The polygons of an outline; the only ones that can be kept."""
    parts = outline.parts if isinstance(outline, UnitedOutline) else (outline,)
    kept = [part for part in parts if isinstance(part, Polygon) and part.rule == "centre"]
    if len(kept) < len(parts):
        raise InputError(
            f"an image of {size} pixels is too large to be drawn on, and outlines other than polygons cannot be kept; "
            "import it without --widen, and with --rule centre"
        )
    return [list(part.rings) for part in kept]


def _structure_mask(read: Reading, pixels: _Pixels, structure: str) -> NDArray[np.uint8]:
    mask = np.zeros(read.grid.shape, np.uint8)
    for i, mark in enumerate(read.marks):
        if mark.label == structure:
            window, inside = pixels[i]
            mask[window] |= inside
    return mask


def _cut_mask(read: Reading, on_top: NDArray[Any], structure: str) -> NDArray[np.uint8]:
    chosen = np.array([False, *(mark.label == structure for mark in read.marks)], np.uint8)
    mask = np.empty(read.grid.shape, np.uint8)
    for k, part in enumerate(on_top):
        mask[k] = chosen[part]
    return mask


def _topmost(read: Reading, pixels: _Pixels, order: Sequence[int]) -> NDArray[Any]:
    """The mark that lies on top of each pixel, counted from 1."""
    topmost = np.zeros(read.grid.shape, np.min_scalar_type(len(read.marks)))
    for i in order:
        window, inside = pixels[i]
        topmost[window][inside] = i + 1
    return topmost


def _rank_map(read: Reading, pixels: _Pixels, order: Sequence[int]) -> NDArray[np.uint8]:
    """The rank of what lies on top, 0 where nothing is marked."""
    ranks = np.zeros(read.grid.shape, np.uint8)
    for i in order:
        rank = read.marks[i].rank
        if rank is None:
            raise InputError(
                f"a {read.marks[i].label} has no rank, and others have one; give all of them ranks, or import without "
                "them (--no-rank-maps)"
            )
        if not 1 <= rank <= LARGEST_RANK:
            raise InputError(f"a {read.marks[i].label} has the rank {rank}; ranks are 1 to {LARGEST_RANK}")
        window, inside = pixels[i]
        ranks[window][inside] = rank
    return ranks

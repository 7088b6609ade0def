"""What the page shows of an image: a block around a dispute, cut from the file without holding the whole of it."""

from __future__ import annotations

import json
import math
import struct
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.tiles import Where
from ..io import Location, read_image
from ..io.decision_log import make_folder
from ..io.files import suffix_of
from ..io.images import probe
from ..io.nifti import open_voxels
from ..io.pyramids import open_pyramid
from ..io.results import fingerprint
from ..io.writing import atomic
from ..shape.grid import Grid, slice_axis

Array = NDArray[Any]
Box = tuple[tuple[int, int], ...]

LAYOUT = 1
"""Of blocks: what was drawn in a block of a file is read in the same block when the file comes back."""
SIDE = 768
"""Slices up to so many pixels a side are shown whole."""
FLAT_SIDE, VOLUME_SIDE = 512, 256
"""The same in a file that holds all blocks, of flat images and of volumes."""
MARGIN, THIN_MARGIN = 128, 16
"""Pixels around a dispute in the plane; and where a block would be too large otherwise."""
SLICES = 12
"""Slices before and behind a dispute."""
MOST_BYTES = 24 << 20
"""Of a block."""
IN_MEMORY = 1 << 26
"""Bytes of an image that is kept in memory; larger volumes are unpacked to a file and cut from there."""
KEPT_BYTES = 1 << 27
"""Bytes of images that are kept in memory together."""
KEPT_FILES = 3
"""Volumes that stay unpacked."""
BY_PART = 1 << 24
"""Pixels of a flat image from which on parts of it are read."""
TILE = 512
"""Pixels of a tile along each axis."""
OVERVIEW = 320
"""Pixels along the longer side of an overview."""
CT_WINDOWS = {"lung": (-1350.0, 150.0), "soft_tissue": (-160.0, 240.0), "bone": (-450.0, 1050.0), "brain": (0.0, 80.0)}
AIR = -200
"""An image with lower values than this is in Hounsfield units."""
SAMPLE = 1 << 20
"""Values from which windows are found."""


@dataclass(frozen=True)
class View:
    """The part of a case that the page shows with a dispute."""

    box: Box
    axis: int | None
    """Across which slices lie; None of a flat image."""
    clipped: bool
    """Whether the dispute is larger than what is shown."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Pixels along each axis."""
        return tuple(stop - start for start, stop in self.box)


def choose_view(
    shape: Sequence[int],
    box: Box,
    centre: Sequence[int],
    spacing: Sequence[float] | None,
    pixel_bytes: int,
    side: int = SIDE,
) -> View:
    """The block to show with a dispute: whole slices up to a ``side``, a window around it where they are larger.

    >>> choose_view((512, 512), ((10, 20), (30, 45)), (15, 37), None, 1).box
    ((0, 512), (0, 512))
    >>> choose_view((100, 4096, 2000), ((50, 52), (2000, 2010), (5, 30)), (51, 2005, 20), None, 2).box
    ((44, 58), (1621, 2389), (0, 768))
    """
    axis = slice_axis(shape, spacing)
    for slices, margin in ((SLICES, None), (6, None), (3, None), (SLICES, MARGIN), (3, MARGIN), (2, THIN_MARGIN)):
        view = tuple(
            _around(low, high, size, slices) if number == axis else _in_plane(low, high, size, margin, side)
            for number, ((low, high), size) in enumerate(zip(box, shape, strict=True))
        )
        if _pixels(view) * pixel_bytes <= MOST_BYTES:
            return View(view, axis, False)
    most = max(1, MOST_BYTES // pixel_bytes)
    sides = [stop - start for start, stop in view]
    while math.prod(sides) > most:
        longest = max(range(len(sides)), key=sides.__getitem__)
        sides[longest] = max(1, min(sides[longest] - 1, round(sides[longest] * 0.9)))
    clipped = tuple(
        (start, start + side)
        for (low, high), side, at in zip(view, sides, centre, strict=True)
        for start in [min(max(low, at - side // 2), high - side)]
    )
    return View(clipped, axis, True)


def _in_plane(low: int, high: int, size: int, margin: int | None, side: int) -> tuple[int, int]:
    if size <= side and margin is None:
        return 0, size
    around = MARGIN if margin is None else margin
    if margin is None:
        around = max(around, (side - (high - low)) // 2)
    start, stop = low - around, high + around
    if margin is None and stop - start < side:
        stop = start + side
    # a window that would leave the image is moved into it
    start, stop = (max(0, start - max(0, stop - size)), min(size, stop)) if start > 0 else (0, min(size, stop - start))
    return start, stop


def _around(low: int, high: int, size: int, by: int) -> tuple[int, int]:
    return max(0, low - by), min(size, high + by)


def _pixels(box: Box) -> int:
    return math.prod(stop - start for start, stop in box)


# -- images -------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Source:
    """An image of which parts can be read."""

    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    crop: Callable[[Where], Array]
    overview: Callable[[int | None, int], Array]
    """A slice across an axis, or the whole of a flat image, made smaller."""
    windows: tuple[tuple[str, float, float], ...]
    size: int
    """Bytes in memory."""
    grid: Grid | None = None
    """Where it lies."""
    tile: Callable[[int, int, int], Array] | None = None
    """A tile of :data:`TILE` pixels by zoom, row and column, of large flat images."""
    zooms: int = 0
    """How often such an image can be halved."""


class Images:
    """Images that were opened, the last ones kept; what is unpacked lies in a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kept: OrderedDict[Location, Source] = OrderedDict()
        self._lock = threading.Lock()

    def open(self, location: Location, spacing: Sequence[float] | None = None) -> Source:
        """An image; one that was opened before is not read again."""
        with self._lock:
            if location in self._kept:
                self._kept.move_to_end(location)
                return self._kept[location]
            self._make_room()
            source = self._open(location, spacing)
            self._kept[location] = source
            return source

    def _make_room(self) -> None:
        while self._kept and sum(source.size for source in self._kept.values()) > KEPT_BYTES - IN_MEMORY:
            self._kept.popitem(last=False)
        while len(self._kept) > 16:
            self._kept.popitem(last=False)

    def _open(self, location: Location, spacing: Sequence[float] | None) -> Source:
        grid = probe(location)
        if len(grid.shape) == 2 and math.prod(grid.shape) >= BY_PART:
            return _flat_source(location, grid, spacing)
        if len(grid.shape) == 3 and suffix_of(location.path.name) in (".nii", ".nii.gz") and location.index is None:
            return _source(open_voxels(location, self._unpacked(location)), grid, spacing, 0, _own_window(location))
        array = read_image(location).array
        if array.nbytes <= IN_MEMORY:
            return _source(array, grid, spacing, array.nbytes)
        path = self._unpacked(location)
        if not path.is_file():
            with atomic(path) as temporary, open(temporary, "wb") as stream:
                np.lib.format.write_array(stream, np.asarray(array), allow_pickle=False)
        return _source(np.load(path, mmap_mode="r", allow_pickle=False), grid, spacing, 0)

    def _unpacked(self, location: Location) -> Path:
        """Where an image is unpacked; the oldest of those that are there make room."""
        make_folder(self._folder)
        stat = location.path.stat()
        path = self._folder / f"{fingerprint(str(location), [stat.st_size, stat.st_mtime_ns])[:24]}.voxels"
        others = sorted(
            (each for each in self._folder.glob("*.voxels") if each != path), key=lambda p: p.stat().st_mtime
        )
        for old in others[: max(0, len(others) - KEPT_FILES + 1)]:
            old.unlink(missing_ok=True)
        return path


def _source(
    array: Any, grid: Grid, spacing: Sequence[float] | None, size: int, own: tuple[float, float] | None = None
) -> Source:
    axes = len(grid.shape)
    axis = slice_axis(grid.shape, grid.spacing or spacing)
    middle = [slice(None)] * axes
    if axis is not None:
        middle[axis] = slice(grid.shape[axis] // 2, grid.shape[axis] // 2 + 1)
    sample = np.asarray(array[tuple(middle)])

    def overview(at: int | None, pixels: int) -> Array:
        where: list[Any] = [slice(None)] * axes
        if axis is not None:
            where[axis] = at or 0
        plane = np.asarray(array[tuple(where)])
        step = max(1, -(-max(plane.shape[:2]) // pixels))
        return np.ascontiguousarray(plane[::step, ::step])

    return Source(
        grid.shape, grid.spacing or (None if spacing is None else tuple(spacing)),
        lambda where: np.asarray(array[where]), overview, find_windows(sample, own), size, grid,
    )  # fmt: skip


def _flat_source(location: Location, grid: Grid, spacing: Sequence[float] | None) -> Source:
    pyramid = open_pyramid(location)
    small = pyramid.overview(OVERVIEW)
    # a page asks for several parts at once, and not every library reads a file in several threads
    lock = threading.Lock()

    def crop(where: Where) -> Array:
        with lock:
            return pyramid.crop(where)

    def tile(zoom: int, row: int, column: int) -> Array:
        with lock:
            return pyramid.tile(zoom, row, column, TILE)

    return Source(
        pyramid.shape, grid.spacing or (None if spacing is None else tuple(spacing)),
        crop, lambda at, pixels: small, find_windows(small), small.nbytes, grid, tile, pyramid.zooms(TILE),
    )  # fmt: skip


def _own_window(location: Location) -> tuple[float, float] | None:
    """The window that a NIfTI header names."""
    from ..io.nifti import read_layout

    header, _, _ = read_layout(location)
    low, high = float(header["cal_min"]), float(header["cal_max"])
    return (low, high) if math.isfinite(low) and math.isfinite(high) and low < high else None


def find_windows(sample: Array, own: tuple[float, float] | None = None) -> tuple[tuple[str, float, float], ...]:
    """Windows for an image: that of the file, percentiles, and those of CT where it is in Hounsfield units."""
    if sample.ndim == 3 and sample.shape[-1] == 3 and sample.dtype == np.uint8:
        return ()
    flat = sample.reshape(-1)
    flat = flat[:: max(1, flat.size // SAMPLE)].astype(np.float64)
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        return (("percentile", 0.0, 1.0),)
    low, high = (float(number) for number in np.percentile(flat, [1, 99.5]))
    least = float(flat.min())
    found = [("file", *own)] if own else [("file", 0.0, 255.0)] if sample.dtype == np.uint8 else []
    found.append(("percentile", low, high if high > low else low + 1))
    if sample.dtype != np.uint8 and least < AIR:
        found += [(name, *ends) for name, ends in CT_WINDOWS.items()]
    return tuple(found)


# -- as bytes -----------------------------------------------------------------------------------------


def pack_block(values: Array, axes: int, head: dict[str, Any]) -> bytes:
    """A block as the page reads it: the length of a JSON head, the head, and values in the order of the array."""
    values, kind = plain_values(values)
    channels = values.shape[-1] if values.ndim > axes else 1
    full = {"shape": list(values.shape[:axes]), "dtype": kind, "channels": channels, **head}
    text = json.dumps(full).encode()
    # values start at a multiple of 8 bytes, so that a typed array can lie over them
    text += b" " * (-(4 + len(text)) % 8)
    return struct.pack("<I", len(text)) + text + np.ascontiguousarray(values).tobytes()


def plain_values(values: Array) -> tuple[Array, str]:
    """Values as one of the four kinds that the page knows."""
    kind = values.dtype
    if kind == np.uint8 or kind.kind == "b":
        return values.astype(np.uint8, copy=False), "u1"
    if kind.kind in "iu":
        low, high = (int(values.min()), int(values.max())) if values.size else (0, 0)
        if low >= 0 and high < 1 << 16:
            return values.astype("<u2"), "u2"
        if low >= -(1 << 15) and high < 1 << 15:
            return values.astype("<i2"), "i2"
    return values.astype("<f4"), "f4"


def slices_of(box: Box) -> Where:
    """A box as slices."""
    return tuple(slice(start, stop) for start, stop in box)


@dataclass(frozen=True, eq=False)
class Placed:
    """Another series, its axes turned as those of the image."""

    source: Source
    scales: tuple[float, ...]
    shifts: tuple[float, ...]
    """From edges of pixels of the image to those of the series, along each axis: scale · edge + shift."""

    def view(self, box: Box) -> Box:
        """The part of it that a part of the image shows; empty along an axis where it does not reach so far."""
        ends = []
        for (start, stop), scale, shift, size in zip(box, self.scales, self.shifts, self.source.shape, strict=True):
            first = min(max(0, math.floor(scale * start + shift)), size)
            ends.append((first, min(max(first, math.ceil(scale * stop + shift)), size)))
        return tuple(ends)


def place_series(image: Grid, other: Source, box: Box, centre: Sequence[int]) -> Placed:
    """How another series lies beside an image: by place in the patient, as both files tell it.

    Where one of them does not tell, or they share no place in ``box``, by the share of each axis. Of a series that is
    oblique to the image, the place is exact at ``centre``. Nothing is resampled.

    Examples
    --------
    >>> prior = Source((50, 60, 9), None, lambda where: None, lambda at, pixels: None, (), 0)
    >>> box = ((10, 20), (0, 60), (2, 5))
    >>> place_series(Grid((100, 60, 9)), prior, box, (12, 3, 4)).view(box)
    ((5, 10), (0, 60), (2, 5))
    """
    shared = Placed(other, tuple(b / a for a, b in zip(image.shape, other.shape, strict=True)), (0.0,) * len(box))
    one, two = (None if grid is None or not grid.oriented else grid.affine for grid in (image, other.grid))
    if one is None or two is None or len(box) != 3:
        return shared
    steps = np.linalg.solve(np.array(two), np.array(one))
    far = np.abs(steps[:3, :3]) * np.linalg.norm(np.array(two)[:3, :3], axis=0)[:, None]
    order = far.argmax(axis=0).tolist()
    if sorted(order) != [0, 1, 2]:
        return shared
    turned = _turned(other, order, [bool(steps[axis, number] < 0) for number, axis in enumerate(order)])
    at = steps @ [*centre, 1.0]
    scales, shifts = [], []
    for number, axis in enumerate(order):
        backwards, scale = steps[axis, number] < 0, abs(float(steps[axis, number]))
        here = other.shape[axis] - 1 - at[axis] if backwards else at[axis]
        scales.append(scale)
        shifts.append(float(here) + 0.5 - scale * (centre[number] + 0.5))
    placed = Placed(turned, tuple(scales), tuple(shifts))
    return placed if all(start < stop for start, stop in placed.view(box)) else shared


def _turned(source: Source, order: Sequence[int], backwards: Sequence[bool]) -> Source:
    """A volume with its axes in another order, some of them backwards."""
    shape = tuple(source.shape[axis] for axis in order)

    def crop(where: Where) -> Array:
        parts: list[slice] = [slice(None)] * 3
        for axis, part, size, back in zip(order, where, shape, backwards, strict=True):
            start, stop, _ = part.indices(size)
            parts[axis] = slice(size - stop, size - start) if back else slice(start, stop)
        found = source.crop(tuple(parts))
        found = np.transpose(found, [*order, *range(3, found.ndim)])
        return found[tuple(slice(None, None, -1 if back else 1) for back in backwards)]

    spacing = None if source.spacing is None else tuple(source.spacing[axis] for axis in order)
    return replace(source, shape=shape, spacing=spacing, crop=crop)

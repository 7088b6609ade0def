"""Images that are too large to be shown whole: as an overview of about so many pixels, and parts of full resolution.

A format gives the levels of an image, full resolution first; the overview comes from the smallest level that is large
enough, or from means of blocks, by tile. Files without levels are read whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.blocks import Blocks
from ..core.errors import FormatError
from ..core.tiles import Where, chunk_shape, load, tile_slices
from ..shape.grid import times
from . import images, slides, tiled_tiff, zarr_store
from .files import Location, check_file, format_errors, suffix_of

Array = NDArray[Any]

MOST_OF_TILE = 1 << 24
"""Stored pixels that one tile may be made of."""


@dataclass(frozen=True, eq=False)
class Level:
    """One resolution of an image, in memory or on disk."""

    array: Any
    colours_first: bool = False
    """Whether colours are the first axis instead of the last."""

    @property
    def colours(self) -> int:
        """How many there are; 0 of a grey image."""
        shape = self.array.shape
        if isinstance(self.array, tiled_tiff.TiledImage):
            return 0 if self.array.samples == 1 else 3
        return 0 if len(shape) == 2 else 3

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns."""
        rows, columns = self.array.shape[1:] if self.colours_first else self.array.shape[:2]
        return int(rows), int(columns)

    @property
    def dtype(self) -> np.dtype[Any]:
        """As stored."""
        kind: np.dtype[Any] = np.dtype(self.array.dtype)
        return kind

    @property
    def chunks(self) -> tuple[int, ...] | None:
        """Rows and columns that are read at once."""
        chunks = chunk_shape(self.array)
        return None if chunks is None else chunks[1:] if self.colours_first else chunks[:2]

    def __getitem__(self, where: Any) -> Array:
        """Rows and columns of it, with colours last and without opacity."""
        if self.colours_first:
            return np.moveaxis(load(self.array, (slice(None), *where)), 0, -1)
        piece = load(self.array, where)
        return piece[..., :3] if piece.ndim == 3 else piece


def open_levels(location: Location) -> list[Level]:
    """The levels of an image of two axes, full resolution first."""
    suffix = suffix_of(location.path.name)
    with format_errors(location):
        check_file(location)
        if slides.is_slide(location.path):
            slide = slides.open_slide(location)
            return [Level(slides.SlideLevel(slide, number)) for number in range(len(slide.shapes))]
        if location.index is None and suffix == ".zarr":
            stored = zarr_store.open_levels(location)
            return _of_two_axes(location, [Level(level, len(level.shape) == 3) for level in stored])
        if location.index is None and suffix in (".tif", ".tiff"):
            tiled = tiled_tiff.open_levels(location)
            if tiled:
                return [Level(level) for level in tiled]
    return _of_two_axes(location, [Level(images.read_image(location).array)])


def _of_two_axes(location: Location, levels: Sequence[Level]) -> list[Level]:
    for level in levels:
        shape = level.array.shape
        # colours are the last axis of what was read whole
        colours = shape[0 if level.colours_first else -1] if len(shape) == 3 else 3
        if len(shape) not in (2, 3) or colours not in (3, 4):
            raise FormatError(
                f"{location}: is {times(shape)}, but an image of two axes is needed; save one slice of it"
            )
    return list(levels)


@dataclass(frozen=True, eq=False)
class Pyramid:
    """An image of which parts are read when they are asked for."""

    levels: Sequence[Level]
    """Full resolution first."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns at full resolution."""
        return self.levels[0].shape

    def overview(self, pixels: int) -> Array:
        """The image with about so many pixels along its longer side, or all of a smaller one.

        It is the smallest level that is large enough, and means of blocks of it where it is far larger.
        """
        large = [level for level in self.levels if max(level.shape) >= pixels]
        level = min(large, key=lambda each: max(each.shape), default=self.levels[0])
        step = max(1, max(level.shape) // pixels)
        if step == 1:
            return level[slice(0, level.shape[0]), slice(0, level.shape[1])]
        blocks = _blocks(level, level.shape, step)
        for where in tile_slices([_Flat(level)]):
            blocks.put(where, level[where])
        return _rounded(blocks.means, level.dtype)

    def zooms(self, side: int) -> int:
        """How many times the image can be halved and still be read by :meth:`tile`: until one tile holds all of it, or
        a tile would be made of more than ``MOST_OF_TILE`` stored pixels."""
        zoom = 0
        while max(self.shape) > side << zoom:
            factor = self._factor(self._level(zoom + 1))
            if (side * 2 ** (zoom + 1) / factor) ** 2 > MOST_OF_TILE:
                break
            zoom += 1
        return zoom

    def tile(self, zoom: int, row: int, column: int, side: int) -> Array:
        """A tile of the image that was halved ``zoom`` times, of about ``side`` pixels along each axis.

        It is made of the smallest level that is fine enough, by means of blocks of it. Tiles at the end are smaller.

        Examples
        --------
        >>> image = np.arange(64).reshape(8, 8)
        >>> Pyramid([Level(image)]).tile(1, 0, 1, 2).tolist()
        [[8, 10], [24, 26]]
        """
        level = self._level(zoom)
        factor, reach = self._factor(level), side << zoom
        where = tuple(
            slice(int(at * reach / factor), min(size, -int(-min((at + 1) * reach, whole) // factor)))
            for at, size, whole in zip((row, column), level.shape, self.shape, strict=True)
        )
        step = max(1, round(2**zoom / factor))
        piece = level[where]
        if step == 1:
            return piece
        blocks = _blocks(level, piece.shape[:2], step)
        blocks.put(tuple(slice(0, size) for size in piece.shape[:2]), piece)
        return _rounded(blocks.means, level.dtype)

    def _level(self, zoom: int) -> Level:
        """The smallest level that is as fine as the image halved so many times."""
        fine = [level for level in self.levels if self._factor(level) <= 1.01 * 2**zoom]
        return min(fine, key=lambda level: max(level.shape))

    def _factor(self, level: Level) -> float:
        """Pixels of the image for one of a level."""
        return max(self.shape) / max(level.shape)

    def crop(self, where: Where) -> Array:
        """Some rows and columns at full resolution."""
        return self.levels[0][where]


def open_pyramid(location: Location) -> Pyramid:
    """An image, to be read in parts."""
    return Pyramid(open_levels(location))


def read_overview(location: Location, pixels: int) -> Array:
    """An image with about so many pixels along its longer side; see :meth:`Pyramid.overview`."""
    return open_pyramid(location).overview(pixels)


def read_crop(location: Location, where: Where) -> Array:
    """Some rows and columns of an image at full resolution."""
    return open_pyramid(location).crop(where)


def _blocks(level: Level, shape: tuple[int, ...], step: int) -> Blocks:
    kept = np.float64 if level.dtype.kind == "f" else np.int64
    return Blocks(shape, step, channels=level.colours, dtype=kept)


def _rounded(means: Array, kind: np.dtype[Any]) -> Array:
    return means if kind.kind == "f" else np.rint(means).astype(kind)


class _Flat:
    """A level as tiles are made for it: colours count as bytes of a pixel."""

    def __init__(self, level: Level) -> None:
        self.shape, self.chunks = level.shape, level.chunks
        self.dtype = np.dtype(f"V{level.dtype.itemsize * max(1, level.colours) * 8}")

    def __getitem__(self, where: Any) -> Any:
        raise NotImplementedError

"""Large images as tiled TIFF: read by tile through tifffile, and written by tile as BigTIFF."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..core.tiles import LARGEST_TILE, Where
from ..shape.grid import Grid, times
from . import files
from .files import Location, import_extra, raise_damaged
from .writing import atomic

SIDE = 256
"""Of the tiles that are written."""

Paint = Callable[[object], Iterator[tuple[Where, list[NDArray[Any]]]]]
"""Yields parts of one map along the chunks of what it is given, in order."""


@dataclass(frozen=True)
class _Bands:
    """What is written from left to right and from top to bottom."""

    shape: tuple[int, ...]

    @property
    def chunks(self) -> tuple[int, ...]:
        return SIDE, self.shape[1]


@dataclass(frozen=True, eq=False)
class TiledImage:
    """One page of a TIFF, by tile or strip; processes open it anew."""

    location: Location
    shape: tuple[int, ...]
    kind: str
    chunks: tuple[int, ...]
    level: int = 0
    """Of the pyramid."""
    samples: int = 1
    """Numbers a pixel; of several, what is read has one more axis."""

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.kind)

    @cached_property
    def _page(self) -> Any:
        with import_extra("tifffile", "tiff", self.location).TiffFile(self.location.path) as file:
            page = file.series[0].levels[self.level].keyframe
            # all that decoding needs is looked up while the file is open
            _ = page.dataoffsets, page.databytecounts, page.decode
            return page

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_page"}

    def __getitem__(self, where: Any) -> NDArray[Any]:
        where = where if isinstance(where, tuple) else (slice(None),) * 2
        spans = [range(*part.indices(n)) for part, n in zip(where, self.shape, strict=True)]
        more = () if self.samples == 1 else (self.samples,)
        out = np.zeros([*map(len, spans), *more], self.dtype)
        columns = -(-self.shape[1] // self.chunks[1])
        with open(self.location.path, "rb") as stream:
            for row in range(spans[0].start // self.chunks[0], -(-spans[0].stop // self.chunks[0])):
                for column in range(spans[1].start // self.chunks[1], -(-spans[1].stop // self.chunks[1])):
                    tile = self._tile(stream, row * columns + column)
                    if tile is not None:
                        _copy_part(tile, (row * self.chunks[0], column * self.chunks[1]), out, spans)
        return out

    def _tile(self, stream: IO[bytes], number: int) -> NDArray[Any] | None:
        """One tile or strip; None where it is left out, which stands for 0."""
        page = self._page
        try:
            size = page.databytecounts[number]
            stream.seek(page.dataoffsets[number])
            data = stream.read(size)
            if len(data) < size:
                raise ValueError("the file ends before it")
            decoded = page.decode(data, number, jpegtables=page.jpegtables)[0] if size else None
            if size and decoded is None:
                raise ValueError("it holds nothing")
        except MemoryError:
            raise
        except Exception as error:
            raise_damaged(self.location, f"tile {number} cannot be decoded: {error}", error)
        return None if decoded is None else np.asarray(decoded)[0, :, :, 0 if self.samples == 1 else slice(None)]


def _copy_part(tile: NDArray[Any], corner: tuple[int, int], out: NDArray[Any], spans: list[range]) -> None:
    """Copy what a tile and a part of the image have in common."""
    source, target = [], []
    for start, n, span in zip(corner, tile.shape[:2], spans, strict=True):
        low, high = max(start, span.start), min(start + n, span.stop)
        source.append(slice(low - start, high - start))
        target.append(slice(low - span.start, high - span.start))
    out[tuple(target)] = tile[tuple(source)]


def open_large(location: Location) -> TiledImage | None:
    """The image of a TIFF that stays on disk for its size; None of one that is small, or has several pages."""
    tifffile = import_extra("tifffile", "tiff", location)
    with tifffile.TiffFile(location.path) as file:
        full = [page for page in file.pages if not page.is_reduced]
        page = file.series[0].levels[0].keyframe
        if len(full) != 1 or len(page.shape) != 2 or page.size < files.LARGE:
            return None
        _check_levels(location, file)
        if page.samplesperpixel != 1 or page.dtype is None or page.dtype.kind not in "buif":
            raise FormatError(f"{location}: is no mask of one channel; save one of its channels")
        if "JPEG" in page.compression.name:
            raise FormatError(f"{location}: is JPEG-compressed, which changes labels; export it again without loss")
        chunks = page.chunks[:2]
        if math.prod(chunks) > LARGEST_TILE:
            return None  # one strip: there are no pieces to read
        wanted = math.prod(-(-n // step) for n, step in zip(page.shape, chunks, strict=True))
        if len(page.dataoffsets) != wanted:
            raise_damaged(location, f"{len(page.dataoffsets)} tiles or strips where its size needs {wanted}")
        return TiledImage(location, tuple(page.shape), page.dtype.str, tuple(chunks))


def large_shape(location: Location) -> tuple[int, ...] | None:
    """Rows and columns of a TIFF with one large image that is read by piece, in grey or colour; None of any other."""
    with import_extra("tifffile", "tiff", location).TiffFile(location.path) as file:
        full = [page for page in file.pages if not page.is_reduced]
        page = file.series[0].levels[0].keyframe
        shape = tuple(page.shape[:2])
        in_pieces = math.prod(page.chunks[:2]) <= LARGEST_TILE
        return shape if len(full) == 1 and in_pieces and math.prod(shape) >= files.LARGE else None


def open_levels(location: Location) -> list[TiledImage]:
    """Every level of an image to look at, in grey or colour, full resolution first; none where it is no such."""
    tifffile = import_extra("tifffile", "tiff", location)
    with tifffile.TiffFile(location.path) as file:
        full = [page for page in file.pages if not page.is_reduced]
        pages = [level.keyframe for level in file.series[0].levels]
        if len(full) != 1 or not all(_is_readable(page) for page in pages):
            return []
        _check_levels(location, file)
        return [
            TiledImage(location, tuple(p.shape[:2]), p.dtype.str, tuple(p.chunks[:2]), level, p.samplesperpixel)
            for level, p in enumerate(pages)
        ]


def _is_readable(page: Any) -> bool:
    """Whether a page is read by piece, and shown as it is stored."""
    colours = {1: ("MINISBLACK",), 3: ("RGB", "YCBCR"), 4: ("RGB",)}
    return (
        getattr(page.photometric, "name", "") in colours.get(page.samplesperpixel, ())
        and int(page.planarconfig) == 1
        and page.dtype is not None
        and page.dtype.kind in "buif"
        and math.prod(page.chunks) <= LARGEST_TILE
    )


def _check_levels(location: Location, file: Any) -> None:
    """Refuse a pyramid whose levels have other proportions than the image."""
    first, *others = [level.keyframe.shape[:2] for level in file.series[0].levels]
    # tifffile takes levels of other proportions for another image
    below = file.series[0].keyframe.pages
    others += [page.shape[:2] for page in below or () if page.shape[:2] not in (first, *others)]
    for number, shape in enumerate(others, start=1):
        ratios = [n / m for n, m in zip(first, shape, strict=False)]
        rounding = max(ratio / m for ratio, m in zip(ratios, shape, strict=True)) * 2 if len(shape) == len(first) else 0
        if len(shape) != len(first) or max(ratios) - min(ratios) > max(rounding, 0.02 * max(ratios)):
            raise FormatError(
                f"{location}: its pyramid disagrees: level {number} has {times(shape)} pixels, level 0 "
                f"{times(first)}; export it again"
            )


def write_tiles(path: Path, grid: Grid, dtype: np.dtype[Any], paint: Paint) -> None:
    """Write an image of two axes as BigTIFF in deflated tiles, while it is painted."""
    tifffile = import_extra("tifffile", "tiff", path)
    resolution = {}
    if grid.spacing is not None:
        resolution = {"resolution": tuple(10 / step for step in reversed(grid.spacing)), "resolutionunit": "CENTIMETER"}
    with atomic(path) as temporary:
        tifffile.imwrite(
            temporary, _tiles(grid.shape, dtype, paint), shape=grid.shape, dtype=dtype, bigtiff=True, tile=(SIDE, SIDE),
            compression="zlib", photometric="minisblack", metadata=None, maxworkers=1, **resolution,
        )  # fmt: skip


def _tiles(shape: tuple[int, ...], dtype: np.dtype[Any], paint: Paint) -> Iterator[NDArray[Any]]:
    """The tiles of a TIFF, row by row; those at the edge are filled up with 0."""
    for where, (painted,) in paint(_Bands(shape)):
        assert where[0].start % SIDE == where[1].start == 0, "tiles of a TIFF come row by row"
        band = np.broadcast_to(painted, [part.stop - part.start for part in where])
        for top in range(0, band.shape[0], SIDE):
            for left in range(0, band.shape[1], SIDE):
                tile = np.zeros((SIDE, SIDE), dtype)
                piece = band[top : top + SIDE, left : left + SIDE]
                tile[: piece.shape[0], : piece.shape[1]] = piece
                yield tile

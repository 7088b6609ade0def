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

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(self.kind)

    @cached_property
    def _page(self) -> Any:
        with import_extra("tifffile", "tiff", self.location).TiffFile(self.location.path) as file:
            page = file.series[0].levels[0].keyframe
            # all that decoding needs is looked up while the file is open
            _ = page.dataoffsets, page.databytecounts, page.decode
            return page

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_page"}

    def __getitem__(self, where: Any) -> NDArray[Any]:
        where = where if isinstance(where, tuple) else (slice(None),) * 2
        spans = [range(*part.indices(n)) for part, n in zip(where, self.shape, strict=True)]
        out = np.zeros([len(span) for span in spans], self.dtype)
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
        return None if decoded is None else np.asarray(decoded)[0, :, :, 0]


def _copy_part(tile: NDArray[Any], corner: tuple[int, int], out: NDArray[Any], spans: list[range]) -> None:
    """Copy what a tile and a part of the image have in common."""
    source, target = [], []
    for start, n, span in zip(corner, tile.shape, spans, strict=True):
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


def _check_levels(location: Location, file: Any) -> None:
    """Refuse a pyramid whose levels have other proportions than the image."""
    first, *others = [level.shape for level in file.series[0].levels]
    # tifffile takes levels of other proportions for another image
    below = file.series[0].keyframe.pages
    others += [page.shape for page in below or () if page.shape not in (first, *others)]
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

"""Large images as tiled TIFF: read by tile through tifffile, and written by tile as BigTIFF with a pyramid."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..core.tiles import LARGEST_TILE, Where
from ..shape.grid import Grid, times
from . import files
from .files import Location, import_extra, raise_damaged
from .halving import halve, level_shapes
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
        check_level(location, number, first, shape)


def check_level(location: Location, number: int, first: tuple[int, ...], shape: tuple[int, ...]) -> None:
    """Refuse a level of a pyramid that has other proportions than the first."""
    if len(shape) == len(first) and min(shape) > 0:
        ratios = [n / m for n, m in zip(first, shape, strict=True)]
        rounding = max(ratio / m for ratio, m in zip(ratios, shape, strict=True)) * 2
        if max(ratios) - min(ratios) <= max(rounding, 0.02 * max(ratios)):
            return
    raise FormatError(
        f"{location}: its pyramid disagrees: level {number} has {times(shape)} pixels, level 0 {times(first)}; "
        "export it again"
    )


def write_tiles(path: Path, grid: Grid, dtype: np.dtype[Any], paint: Paint, *, nearest: bool) -> None:
    """Write an image of two axes as BigTIFF in deflated tiles, with a pyramid, while it is painted.

    ``nearest`` says whether levels take single pixels or their means. What other software needs to find the levels is
    the description of OME-TIFF.
    """
    tifffile = import_extra("tifffile", "tiff", path)
    options: dict[str, Any] = {"tile": (SIDE, SIDE), "photometric": "minisblack", "metadata": None, "maxworkers": 1}
    resolution = {}
    if grid.spacing is not None:
        resolution = {"resolution": tuple(10 / step for step in reversed(grid.spacing)), "resolutionunit": "CENTIMETER"}
    with atomic(path) as temporary, ExitStack() as stack:
        shapes = [grid.shape, *level_shapes(grid.shape)]
        # the levels below wait deflated in files without a name, as they come after the image
        waiting = [stack.enter_context(TemporaryFile(dir=path.parent)) for _ in shapes[1:]]
        levels = [_Level(shape, dtype, file) for shape, file in zip(shapes[1:], waiting, strict=True)]
        for level, below in pairwise(levels):
            level.below = partial(below.put_halved, nearest=nearest)
        first = partial(levels[0].put_halved, nearest=nearest) if levels else None
        writer = stack.enter_context(tifffile.TiffWriter(temporary, bigtiff=True))
        writer.write(
            _tiles(grid.shape, dtype, paint, first), shape=grid.shape, dtype=dtype, subifds=len(levels) or None,
            description=_describe(grid, dtype), compression="zlib", **options, **resolution,
        )  # fmt: skip
        for level in levels:
            writer.write(
                level.deflated_tiles(), shape=level.shape, dtype=dtype, subfiletype=1, compression="zlib", **options
            )


_PIXEL_TYPES = {"u1": "uint8", "u2": "uint16", "u4": "uint32", "f4": "float"}
_OME = "http://www.openmicroscopy.org/Schemas/OME/2016-06"


def _describe(grid: Grid, dtype: np.dtype[Any]) -> str:
    """What OME-TIFF says of an image of one channel; sizes of pixels are in µm."""
    sizes = "".join(f' Size{axis}="{n}"' for axis, n in zip("XYCZT", (*reversed(grid.shape), 1, 1, 1), strict=True))
    if grid.spacing is not None:
        steps = zip("XY", reversed(grid.spacing), strict=True)
        sizes += "".join(f' PhysicalSize{axis}="{1000 * step:.15g}"' for axis, step in steps)
    kind = _PIXEL_TYPES[dtype.str[1:]]
    return (
        f'<?xml version="1.0" encoding="UTF-8"?><OME xmlns="{_OME}"><Image ID="Image:0"><Pixels ID="Pixels:0" '
        f'DimensionOrder="XYCZT" Type="{kind}"{sizes}><Channel ID="Channel:0:0" SamplesPerPixel="1"/>'
        '<TiffData IFD="0" PlaneCount="1"/></Pixels></Image></OME>'
    )


class _Level:
    """A level of a pyramid, made row by row of the level above it, and kept as deflated tiles in a file."""

    def __init__(self, shape: tuple[int, ...], dtype: np.dtype[Any], file: IO[bytes]) -> None:
        self.shape, self.file = shape, file
        self.below: Callable[[NDArray[Any]], None] | None = None
        self._rows = np.zeros((SIDE, shape[1]), dtype)
        self._filled, self._done = 0, 0
        self._sizes: list[int] = []
        self._plain: dict[Any, bytes] = {}

    def put_halved(self, above: NDArray[Any], nearest: bool) -> None:
        """Take the next rows of the level above, an even number of them unless they are the last."""
        rows = halve(above, nearest)
        while len(rows):
            count = min(SIDE - self._filled, len(rows))
            self._rows[self._filled : self._filled + count] = rows[:count]
            self._filled += count
            rows = rows[count:]
            if self._filled == SIDE or self._done + self._filled == self.shape[0]:
                self._finish_row()

    def _finish_row(self) -> None:
        band = self._rows[: self._filled]
        for tile in _cut(band):
            self._sizes.append(self.file.write(self._deflate(tile)))
        if self.below is not None:
            self.below(band)
        self._done += self._filled
        self._filled = 0

    def _deflate(self, tile: NDArray[Any]) -> bytes:
        value = tile[0, 0]
        if not (tile == value).all():
            return zlib.compress(tile.tobytes())
        # most tiles are one value
        if value not in self._plain:
            self._plain[value] = zlib.compress(tile.tobytes())
        return self._plain[value]

    def deflated_tiles(self) -> Iterator[bytes]:
        """All tiles, in the order of a TIFF."""
        self.file.seek(0)
        return (self.file.read(size) for size in self._sizes)


def _tiles(
    shape: tuple[int, ...], dtype: np.dtype[Any], paint: Paint, below: Callable[[NDArray[Any]], None] | None
) -> Iterator[NDArray[Any]]:
    """The tiles of a TIFF, row by row, whose rows the level below gets, too."""
    for where, (painted,) in paint(_Bands(shape)):
        assert where[0].start % SIDE == where[1].start == 0, "tiles of a TIFF come row by row"
        band = np.broadcast_to(painted, [part.stop - part.start for part in where]).astype(dtype, copy=False)
        if below is not None:
            below(band)
        yield from _cut(band)


def _cut(band: NDArray[Any]) -> Iterator[NDArray[Any]]:
    """The tiles of some rows; those at the edge are filled up with 0."""
    for top in range(0, band.shape[0], SIDE):
        for left in range(0, band.shape[1], SIDE):
            tile = np.zeros((SIDE, SIDE), band.dtype)
            piece = band[top : top + SIDE, left : left + SIDE]
            tile[: piece.shape[0], : piece.shape[1]] = piece
            yield tile

"""TIFF, decoded by Pillow where it can and by tifffile otherwise; several pages are a volume.

Pillow takes a stack that was cut between two pages for a shorter stack, and libtiff ignores check sums. So the
directories of a file are read first: everything that they point at must lie inside the file.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..shape.grid import Grid
from . import files, pillow, tiled_tiff
from .files import (
    Content,
    Location,
    Use,
    check_shape,
    first_bytes,
    import_extra,
    make_grid,
    muted_stderr,
    raise_damaged,
)

if TYPE_CHECKING:
    from PIL import Image

_Numbers = NDArray[np.uint64]
Order = Literal["little", "big"]
_ORDERS: dict[bytes, Order] = {b"II": "little", b"MM": "big"}
_CLASSIC, _BIG = 42, 43
_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SUBFILE, _BITS, _PHOTOMETRIC, _SAMPLES, _SAMPLE_FORMAT = 254, 258, 262, 277, 339
_WIDTH, _HEIGHT, _COMPRESSION, _FILL_ORDER, _BELOW = 256, 257, 259, 266, 330
_ROWS, _TILE_WIDTH, _TILE_HEIGHT = 278, 322, 323
_PIECES = ((273, 279), (324, 325))
"""Tags of the offsets and lengths of strips, and of tiles."""
_WHITE_IS_ZERO, _SIGNED = 0, 2
_DEFLATED = (8, 32946)
_SWAPPED = ("I;16BS", "I;32BS", "F;32BF")
_GREY = ("1", "L", "I", "F", "I;16", "I;16B", "I;16L", "I;16N")
_TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_WHOLE = {1: "u1", 3: "u2", 4: "u4", 13: "u4", 16: "u8", 18: "u8"}
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Every byte with its bits in the other order."""
_PIECE = 1 << 22
"""Bytes unpacked at a time."""


def probe(location: Location) -> Grid:
    check_directories(location)
    if _is_large(location) and (shape := tiled_tiff.large_shape(location)) is not None:
        return make_grid(location, shape)
    try:
        with pillow.open_image(location) as image:
            sizes = [(page.height, page.width) for page in _pages(image, location)]
            return make_grid(location, _stack_shape(sizes, location))
    except pillow.UnknownKind as error:
        return make_grid(location, _read_by_tifffile(location, error, decode=False)[0])


def read(location: Location, use: Use) -> Content:
    if use != "picture" and (large := open_large(location)) is not None:
        check_directories(location)
        return Content(large, make_grid(location, large.shape), "tiff")  # type: ignore[arg-type]
    check_directories(location, decode=True)
    try:
        with pillow.open_image(location, decode=True) as image, muted_stderr:
            return _read_pages(image, location, use)
    except pillow.UnknownKind as error:
        shape, array = _read_by_tifffile(location, error, decode=True, turn=use == "picture")
        return Content(array, make_grid(location, shape), "tiff")


def open_large(location: Location) -> tiled_tiff.TiledImage | None:
    """The one image of a file, where it is so large that it stays on disk."""
    return tiled_tiff.open_large(location) if _is_large(location) else None


def _is_large(location: Location) -> bool:
    """Whether the first image of a file is, by its first directory alone."""
    with open(location.path, "rb") as stream:
        start = stream.read(8)
        order = _ORDERS.get(start[:2])
        if order is None:
            return False
        version = int.from_bytes(start[2:4], order)
        if version not in (_CLASSIC, _BIG):
            return False
        tiff = _Directories(stream, order, version == _BIG, location)
        try:
            entries = next(tiff.read(), {})
            pixels = tiff.first_number(entries, _WIDTH) * tiff.first_number(entries, _HEIGHT)
        except (ValueError, LookupError):
            return False  # what is wrong with it is said where it is read
    return pixels >= files.LARGE


def _read_pages(image: Image.Image, location: Location, use: Use) -> Content:
    shape = _stack_shape([(page.height, page.width) for page in _pages(image, location, use)], location)
    image.seek(0)
    kind, mode = pillow.format_of(image), image.mode
    pages = [
        _as_unsigned(page, pillow.mask_pixels(page, location))
        if use == "mask"
        else _page_values(page, use == "picture")
        for page in _pages(image, location, use)
    ]
    if len({page.shape for page in pages}) > 1 or (len(pages) > 1 and pages[0].ndim > 2):
        raise FormatError(f"{location}: its {len(pages)} pages are not all grey; save one channel of each")
    array = pages[0] if len(shape) == 2 else np.stack(pages)
    return Content(array, make_grid(location, shape), kind, mode)


def _page_values(page: Image.Image, turn: bool) -> NDArray[Any]:
    """A page to look at, inverted where 0 is white; or its numbers as stored."""
    white = page.mode in _GREY and _number(page, _PHOTOMETRIC, 1) == _WHITE_IS_ZERO
    done = pillow.is_inverted(page)
    array = _as_unsigned(page, pillow.picture_pixels(page))
    return _invert(array) if white and done != turn else array


def _as_unsigned(page: Image.Image, array: NDArray[Any]) -> NDArray[Any]:
    """Pillow takes all 32-bit numbers for signed."""
    unsigned = _number(page, _SAMPLE_FORMAT, 1) == 1 and _number(page, _BITS, 1) == 32
    return array.view(np.uint32) if unsigned and array.dtype == np.int32 else array


def _invert(array: NDArray[Any], bits: int = 0) -> NDArray[Any]:
    """Grey from white to black instead of black to white."""
    if array.dtype.kind == "f":
        return np.asarray(array.min() + array.max() - array)
    return np.asarray((1 << bits) - 1 - array if bits and array.dtype.kind == "u" else ~array)


def _number(page: Image.Image, tag: int, otherwise: int) -> int:
    value: Any = getattr(page, "tag_v2", {}).get(tag, otherwise)
    return int(value[0] if isinstance(value, tuple) else value)


def _pages(image: Image.Image, location: Location, use: Use = "mask") -> Iterator[Image.Image]:
    """The pages at full size, one after the other; smaller copies for viewing are skipped."""
    try:
        for number in range(getattr(image, "n_frames", 1)):
            image.seek(number)
            if image.format == "TIFF":
                _refuse_misread(image, location, use)
            if not _number(image, _SUBFILE, 0) & 1:
                yield image
    except SyntaxError as error:
        raise pillow.UnknownKind(f"{location}: is damaged or cut short ({error}); export it again") from error


def _refuse_misread(image: Any, location: Location, use: Use) -> None:
    """Leave to tifffile what Pillow reads as something else, or not at all."""
    if _number(image, _SAMPLE_FORMAT, 1) == _SIGNED and _number(image, _BITS, 1) == 8:
        raise pillow.UnknownKind(f"{location}: holds signed bytes, which Pillow takes for unsigned")
    raw = pillow.raw_mode(image)
    if raw == "L;IR" or (use == "mask" and raw.startswith("P;") and raw.endswith("R")):
        raise pillow.UnknownKind(f"{location}: holds bits in reverse order, which Pillow does not know at this depth")
    if raw in _SWAPPED and image.tile[0][0] == "libtiff":
        raise pillow.UnknownKind(f"{location}: holds packed numbers in big-endian order, which Pillow swaps twice")
    channels = _number(image, _SAMPLES, 1)
    if use == "mask" and channels > 1 and image.mode in (*_GREY, "P"):
        raise FormatError(f"{location}: has {channels} channels, but a mask has one; save one of them")


def _stack_shape(sizes: list[tuple[int, int]], location: Location) -> tuple[int, ...]:
    if len(set(sizes)) != 1:
        shown = ", ".join(f"{height}×{width}" for height, width in sorted(set(sizes))) or "none at full size"
        raise FormatError(f"{location}: its pages differ in size ({shown}); save one page, or all of one size")
    return check_shape(location, sizes[0] if len(sizes) == 1 else (len(sizes), *sizes[0]))


def _read_by_tifffile(
    location: Location, reason: pillow.UnknownKind, decode: bool, turn: bool = False
) -> tuple[tuple[int, ...], NDArray[Any]]:
    if not first_bytes(location.path).startswith(_STARTS):
        raise reason
    tifffile = import_extra("tifffile", "tiff", location)
    with tifffile.TiffFile(location.path) as file:
        # pages that are shown otherwise are several series
        parts = file.series if len(file.series) == 1 else [page for page in file.pages if not page.is_reduced]
        if any("S" in part.axes for part in parts):
            raise FormatError(f"{location}: is a colour TIFF of type {parts[0].dtype}; save it with 8 bits a channel")
        shapes = [part.shape for part in parts]
        single = len(shapes) == 1
        shape = check_shape(location, shapes[0]) if single else _stack_shape([(h, w) for h, w in shapes], location)
        arrays = [_samples(part, turn) for part in parts] if decode else [np.empty(0)]
    return shape, arrays[0] if len(arrays) == 1 else np.stack(arrays)


def _samples(part: Any, turn: bool) -> NDArray[Any]:
    """The samples of a page or of a series of alike pages."""
    array, page = np.asarray(part.asarray()), part.keyframe
    return _invert(array, int(page.bitspersample)) if turn and page.photometric == _WHITE_IS_ZERO else array


# -- directories --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Entry:
    kind: int
    count: int
    at: int
    """Where its values begin."""

    @property
    def bytes(self) -> int:
        return _TYPE_BYTES.get(self.kind, 0) * self.count


def check_directories(location: Location, *, decode: bool = False) -> None:
    """Refuse a TIFF that ends before its directories, values or pixels do; other files pass.

    With ``decode``, the check sums of deflated pixels are verified as well: libtiff stops before it reaches them.
    """
    size = location.path.stat().st_size
    with open(location.path, "rb") as stream:
        start = stream.read(8)
        order = _ORDERS.get(start[:2])
        version = int.from_bytes(start[2:4], order) if order and len(start) == 8 else 0
        if order is None or version not in (_CLASSIC, _BIG):
            return
        tiff = _Directories(stream, order, version == _BIG, location)
        for entries in tiff.read():
            for entry in entries.values():
                _check_end(entry.at + entry.bytes, size, location)
            for offsets, lengths in _PIECES:
                if offsets in entries and lengths in entries:
                    ends = tiff.numbers(entries[offsets]), tiff.numbers(entries[lengths])
                    _check_end(_last_end(*ends), size, location)
                    if decode and tiff.first_number(entries, _COMPRESSION) in _DEFLATED:
                        tiff.check_sums(entries, *ends)
            for number, shape in enumerate(tiff.level_shapes(entries), start=1):
                tiled_tiff.check_level(location, number, tiff.shape(entries), shape)


class _Directories:
    """The directories of a TIFF file."""

    def __init__(self, stream: IO[bytes], order: Order, big: bool, location: Location) -> None:
        self.stream, self.order, self.location = stream, order, location
        # bytes of a count and of an offset
        self.count, self.offset = (8, 8) if big else (2, 4)

    def read(self) -> Iterator[dict[int, _Entry]]:
        self.stream.seek(self.offset)
        at, visited = self._whole_number(self.offset), set[int]()
        while at:
            if at in visited:
                raise_damaged(self.location, "its directories run in a circle")
            visited.add(at)
            entries = self._directory(at)
            at = self._whole_number(self.offset)
            yield entries

    def _directory(self, at: int) -> dict[int, _Entry]:
        self.stream.seek(at)
        return dict(self._entry() for _ in range(self._whole_number(self.count)))

    def shape(self, entries: dict[int, _Entry]) -> tuple[int, int]:
        """Rows and columns."""
        return self.first_number(entries, _HEIGHT), self.first_number(entries, _WIDTH)

    def level_shapes(self, entries: dict[int, _Entry]) -> list[tuple[int, int]]:
        """Rows and columns of the smaller copies that lie below an image."""
        if _BELOW not in entries:
            return []
        below = [self._directory(at) for at in self.numbers(entries[_BELOW]).tolist()]
        return [self.shape(each) for each in below if self.first_number(each, _SUBFILE, 0) & 1]

    def _entry(self) -> tuple[int, _Entry]:
        tag, kind, count = self._whole_number(2), self._whole_number(2), self._whole_number(self.offset)
        here, value = self.stream.tell(), self._whole_number(self.offset)
        is_inline = _TYPE_BYTES.get(kind, 0) * count <= self.offset
        return tag, _Entry(kind, count, here if is_inline else value)

    def _whole_number(self, size: int) -> int:
        data = self.stream.read(size)
        if len(data) < size:
            raise ValueError("it ends inside a directory")
        return int.from_bytes(data, self.order)

    def numbers(self, entry: _Entry) -> _Numbers:
        self.stream.seek(entry.at)
        dtype = np.dtype(_WHOLE[entry.kind]).newbyteorder("<" if self.order == "little" else ">")
        return np.frombuffer(self.stream.read(entry.bytes), dtype).astype(np.uint64)

    def first_number(self, entries: dict[int, _Entry], tag: int, otherwise: int = 1) -> int:
        return int(self.numbers(entries[tag])[0]) if tag in entries else otherwise

    def check_sums(self, entries: dict[int, _Entry], offsets: _Numbers, lengths: _Numbers) -> None:
        """Refuse deflated strips or tiles that are cut, or go on; no more is unpacked than one of them may hold."""
        width, height = (self.first_number(entries, tag) for tag in (_WIDTH, _HEIGHT))
        rows = min(height, self.first_number(entries, _ROWS, height))
        if _TILE_WIDTH in entries:
            width, rows = (self.first_number(entries, tag) for tag in (_TILE_WIDTH, _TILE_HEIGHT))
        bits = self.first_number(entries, _BITS) * self.first_number(entries, _SAMPLES)
        most, is_reversed = rows * ((width * bits + 7) // 8), self.first_number(entries, _FILL_ORDER) == 2
        for offset, length in zip(offsets.tolist(), lengths.tolist(), strict=True):
            self.stream.seek(offset)
            data = self.stream.read(length)
            self._check_sum(data.translate(_REVERSED) if is_reversed else data, most, offset)

    def _check_sum(self, data: bytes, most: int, offset: int) -> None:
        unpacked, left, rest = zlib.decompressobj(), most + 1, data
        while rest and left > 0 and not unpacked.eof:
            left -= len(unpacked.decompress(rest, min(left, _PIECE)))
            rest = unpacked.unconsumed_tail
        # a tile that is left out has no bytes
        if data and not unpacked.eof:
            raise_damaged(self.location, f"deflated pixels at byte {offset} are cut, or go on after the last one")


def _last_end(offsets: _Numbers, lengths: _Numbers) -> int:
    if offsets.size == 0 or offsets.size != lengths.size:
        raise ValueError("its strips have no offset or no length")
    largest = max(int(offsets.max()), int(lengths.max()))
    return largest if largest >= 2**62 else int((offsets + lengths).max())


def _check_end(end: int, size: int, location: Location) -> None:
    if end > size:
        raise_damaged(location, f"{size} bytes where its directories point to byte {end}")

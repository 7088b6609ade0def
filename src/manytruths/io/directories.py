"""The directories of a TIFF: does everything they point at lie inside the file?

Pillow takes a stack that was cut between two pages for a shorter stack, and libtiff prints to stderr.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO

import numpy as np
from numpy.typing import NDArray

from .location import Location
from .opening import raise_damaged

_Numbers = NDArray[np.uint64]
_PIECE = 1 << 22
"""Bytes unpacked at a time."""
_TYPE_BYTES = {1: 1, 2: 1, 3: 2, 4: 4, 5: 8, 6: 1, 7: 1, 8: 2, 9: 4, 10: 8, 11: 4, 12: 8, 13: 4, 16: 8, 17: 8, 18: 8}
_WHOLE = {1: "u1", 3: "u2", 4: "u4", 13: "u4", 16: "u8", 18: "u8"}
_PIECES = ((273, 279), (324, 325))
"""Tags of the offsets and lengths of strips, and of tiles."""

_WIDTH, _HEIGHT, _BITS, _COMPRESSION, _FILL_ORDER, _SAMPLES = 256, 257, 258, 259, 266, 277
_ROWS, _TILE_WIDTH, _TILE_HEIGHT = 278, 322, 323
_DEFLATED = (8, 32946)
_REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))
"""Every byte with its bits in the other order."""


@dataclass(frozen=True)
class _Layout:
    """Widths of the numbers: classic TIFF has offsets of 4 bytes, BigTIFF of 8."""

    order: str
    count: str
    offset: str

    def size(self, code: str) -> int:
        return struct.calcsize(self.order + code)


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

    Who wants to ``decode`` the pixels has the check sums of deflated ones checked: libtiff stops before it sees them.
    """
    size = location.path.stat().st_size
    with open(location.path, "rb") as stream:
        layout = _layout(stream.read(8))
        if layout is None:
            return
        for entries in _directories(stream, layout, location):
            for entry in entries.values():
                _inside(entry.at + entry.bytes, size, location)
            for offsets, lengths in _PIECES:
                if offsets in entries and lengths in entries:
                    ends = _numbers(stream, entries[offsets], layout), _numbers(stream, entries[lengths], layout)
                    _inside(_last_end(*ends), size, location)
                    if decode and _first(stream, entries, _COMPRESSION, layout) in _DEFLATED:
                        is_reversed = _first(stream, entries, _FILL_ORDER, layout) == 2
                        _check_sums(stream, ends, _most(stream, entries, layout), is_reversed, location)


def _layout(start: bytes) -> _Layout | None:
    order = {b"II": "<", b"MM": ">"}.get(start[:2])
    if order is None or len(start) < 8:
        return None
    version = struct.unpack(order + "H", start[2:4])[0]
    return {42: _Layout(order, "H", "I"), 43: _Layout(order, "Q", "Q")}.get(version)


def _directories(stream: IO[bytes], layout: _Layout, location: Location) -> Iterator[dict[int, _Entry]]:
    stream.seek(4 if layout.offset == "I" else 8)
    at, seen = _read(stream, layout, layout.offset), set[int]()
    while at:
        if at in seen:
            raise_damaged(location, "its directories run in a circle")
        seen.add(at)
        stream.seek(at)
        entries = dict(_entry(stream, layout) for _ in range(_read(stream, layout, layout.count)))
        at = _read(stream, layout, layout.offset)
        yield entries


def _entry(stream: IO[bytes], layout: _Layout) -> tuple[int, _Entry]:
    tag, kind = _read(stream, layout, "H"), _read(stream, layout, "H")
    count, here = _read(stream, layout, layout.offset), stream.tell()
    value = _read(stream, layout, layout.offset)
    is_inline = _TYPE_BYTES.get(kind, 0) * count <= layout.size(layout.offset)
    return tag, _Entry(kind, count, here if is_inline else value)


def _read(stream: IO[bytes], layout: _Layout, code: str) -> int:
    data = stream.read(layout.size(code))
    if len(data) < layout.size(code):
        raise ValueError("it ends inside a directory")
    return int.from_bytes(data, "little" if layout.order == "<" else "big")


def _numbers(stream: IO[bytes], entry: _Entry, layout: _Layout) -> _Numbers:
    stream.seek(entry.at)
    dtype = np.dtype(layout.order + _WHOLE[entry.kind])
    return np.frombuffer(stream.read(entry.bytes), dtype).astype(np.uint64)


def _last_end(offsets: _Numbers, lengths: _Numbers) -> int:
    if offsets.size == 0 or offsets.size != lengths.size:
        raise ValueError("its strips have no offset or no length")
    largest = max(int(offsets.max()), int(lengths.max()))
    return largest if largest >= 2**62 else int((offsets + lengths).max())


def _inside(end: int, size: int, location: Location) -> None:
    if end > size:
        raise_damaged(location, f"{size} bytes where its directories point to byte {end}")


def _first(stream: IO[bytes], entries: dict[int, _Entry], tag: int, layout: _Layout, otherwise: int = 1) -> int:
    """The first number of an entry."""
    return int(_numbers(stream, entries[tag], layout)[0]) if tag in entries else otherwise


def _most(stream: IO[bytes], entries: dict[int, _Entry], layout: _Layout) -> int:
    """The most bytes that one strip or tile may hold."""
    width, height = (_first(stream, entries, tag, layout) for tag in (_WIDTH, _HEIGHT))
    rows = min(height, _first(stream, entries, _ROWS, layout, height))
    if _TILE_WIDTH in entries:
        width, rows = (_first(stream, entries, tag, layout) for tag in (_TILE_WIDTH, _TILE_HEIGHT))
    bits = _first(stream, entries, _BITS, layout) * _first(stream, entries, _SAMPLES, layout)
    return rows * ((width * bits + 7) // 8)


def _check_sums(
    stream: IO[bytes], ends: tuple[_Numbers, _Numbers], most: int, is_reversed: bool, location: Location
) -> None:
    for offset, length in zip(*(numbers.tolist() for numbers in ends), strict=True):
        stream.seek(offset)
        unpacked, data, left = zlib.decompressobj(), stream.read(length), most + 1
        data = data.translate(_REVERSED) if is_reversed else data
        # A tile that is left out has no bytes.
        while data and left > 0 and not unpacked.eof:
            left -= len(unpacked.decompress(data, min(left, _PIECE)))
            data = unpacked.unconsumed_tail
        if length and not unpacked.eof:
            raise_damaged(location, f"deflated pixels at byte {offset} are cut, or go on behind the last one")

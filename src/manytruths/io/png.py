"""PNG to the last bit: every check sum holds, and there are as many pixels as the header says.

Pillow does not look at the check sums of pixels, and fills with zeros what a stream that ends early leaves open.
"""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image, ImageFile

START = b"\x89PNG\r\n\x1a\n"
_CRITICAL = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""First column and row of each pass of an interlaced picture, and the steps between them."""
_UNTOUCHED = 165
"""What stands in pixels that were not decoded: seldom in a whole row of a mask, so that few rows need a second look."""


def verify_png(data: bytes) -> bytes:
    """The same PNG with all its pixels in one chunk; ValueError where a chunk is damaged, missing or misplaced."""
    chunks = list(_chunks(data))
    kinds = [kind for kind, _ in chunks]
    if kinds[:1] != [b"IHDR"] or kinds.count(b"IHDR") != 1 or len(chunks[0][1]) != 25:
        raise ValueError("its header is not where it belongs")
    if kinds[-1] != b"IEND":
        raise ValueError("it ends without its last chunk, IEND")
    for kind in kinds:
        if kind not in _CRITICAL and kind[:1].isupper():
            raise ValueError(f"it has a chunk {kind.decode('ascii', 'replace')!r} that no reader may pass over")
    if b"IDAT" not in kinds:
        raise ValueError("it has no pixels")
    if kinds.count(b"IDAT") == 1:
        return data
    first = kinds.index(b"IDAT")
    after = first + kinds.count(b"IDAT")
    if kinds[first:after].count(b"IDAT") != after - first:
        raise ValueError("its pixels are in chunks that do not follow one another")
    # In one piece the decoder sees the check sum behind the last pixel, too; that of the new chunk nobody looks at.
    size = sum(len(chunk) - 12 for _, chunk in chunks[first:after])
    pieces = [chunk for _, chunk in chunks[:first]], [chunk[8:-4] for _, chunk in chunks[first:after]]
    rest = [chunk for _, chunk in chunks[after:]]
    return b"".join((START, *pieces[0], struct.pack(">I", size), b"IDAT", *pieces[1], bytes(4), *rest))


def _chunks(data: bytes, checked: bool = True) -> Iterator[tuple[bytes, memoryview]]:
    """Kind and bytes (length, kind, content, check sum) of every chunk up to IEND."""
    view, at, kind = memoryview(data), len(START), b""
    while at < len(data) and kind != b"IEND":
        end = at + 12 + int.from_bytes(view[at : at + 4])
        kind = bytes(view[at + 4 : at + 8])
        if end > len(data):
            raise ValueError(f"{len(data)} bytes where its chunks reach to byte {end}")
        if checked and zlib.crc32(view[at + 4 : end - 4]) != int.from_bytes(view[end - 4 : end]):
            raise ValueError(f"the check sum of chunk {kind.decode('ascii', 'replace')!r} at byte {at} does not hold")
        yield kind, view[at:end]
        at = end


def open_png(data: bytes) -> Image.Image:
    """A PNG picture, decoded; an error where it does not hold the pixels that were written."""
    from PIL import Image

    data = verify_png(data)
    image = Image.open(io.BytesIO(data), formats=("PNG",))
    prepare_decoding(image, data)
    check_filled(image, data)
    return image


def prepare_decoding(image: ImageFile.ImageFile, data: bytes) -> None:
    """Before the pixels of a verified PNG are decoded: all of them at once, and those that are not will show."""
    from PIL import Image

    empty = Image.new(image.mode, image.size, None)
    empty.paste(_blank_row(image), (0, image.height - 1))
    image.im = empty.im
    image.decodermaxblock = min(len(data), 2**30)


def check_filled(image: ImageFile.ImageFile, data: bytes) -> None:
    """Refuse a picture whose stream ended before its last row."""
    image.load()
    last = image.crop((0, image.height - 1, image.width, image.height))
    if image.info.get("interlace") or last.tobytes() == _blank_row(image).tobytes():
        _check_length(data)


def _blank_row(image: ImageFile.ImageFile) -> Image.Image:
    from PIL import Image

    bands = len(image.getbands())
    return Image.new(image.mode, (image.width, 1), (_UNTOUCHED,) * bands if bands > 1 else _UNTOUCHED)


def _check_length(data: bytes) -> None:
    """Refuse a stream that ends before the last row does."""
    chunks = dict(_chunks(data, checked=False))
    width, height, bits, colours, _, _, interlaced = struct.unpack(">IIBBBBB", chunks[b"IHDR"][8:-4])
    passes = _PASSES if interlaced else ((0, 0, 1, 1),)
    sizes = [(-(-(width - x) // dx), -(-(height - y) // dy)) for x, y, dx, dy in passes]
    wanted = sum(h * (1 + (w * bits * _CHANNELS[colours] + 7) // 8) for w, h in sizes if w > 0 and h > 0)
    found = len(zlib.decompressobj().decompress(chunks[b"IDAT"][8:-4], wanted))
    if found < wanted:
        raise ValueError(f"its pixels end after {found} of {wanted} bytes")

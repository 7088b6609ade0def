"""PNG, JPEG, GIF, BMP and most TIFF images, decoded by Pillow.

Pillow does not check the check sums of PNG pixels, and fills with zeros what a stream that ends early leaves open. Here
every check sum must hold, and there must be as many pixels as the header says.
"""

from __future__ import annotations

import io
import re
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..shape.grid import Grid
from .files import Content, Location, Shared, Use, check_shape, first_bytes, make_grid, raise_damaged

if TYPE_CHECKING:
    from PIL import Image, ImageFile

PNG_START = b"\x89PNG\r\n\x1a\n"
_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF")
_STARTS = (PNG_START, b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SINGLE = {"1", "L", "P", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"}
_MOST_PIXELS_A_BYTE = 2**14
"""PNG of 1 bit packs at most 8,256 pixels into a byte, GIF and JPEG fewer."""
_RAW = re.compile(r"[1L];(?P<bits>[24])?(?P<inverted>I)?R?")
"""What Pillow does to stored grey of few bits: spread over 0 to 255, inverted where 0 is white, reversed bits."""
_LEVELS = {"2": 85, "4": 17}
_CRITICAL = (b"IHDR", b"PLTE", b"IDAT", b"IEND")
_CHANNELS = {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}
_PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))
"""First column and row of each pass of an interlaced picture, and the steps between them."""
_HEAD = 29
"""Bytes up to the end of the header of a PNG."""
_GREY, _INDEXED = (bytes((8, colours, 0, 0, 0)) for colours in (0, 3))
"""What the header of a PNG says of one byte a pixel, not interlaced."""
_UNTOUCHED = 165
"""Value of pixels that were not decoded: seldom in a whole row of a mask, so that few rows are checked twice."""


class UnknownKind(FormatError):
    """The file starts like an image, but Pillow cannot read its header."""


def probe(location: Location) -> Grid:
    with open_image(location) as image:
        return make_grid(location, (image.height, image.width))


def read(location: Location, use: Use) -> Content:
    plain = _read_plain_png(location)
    if plain is not None and (use == "mask" or plain.colour == "L"):
        return plain
    with open_image(location, decode=True) as image:
        frames = getattr(image, "n_frames", 1)
        if frames > 1 and format_of(image) != "jpeg":
            raise FormatError(f"{location}: is an animation of {frames} frames; save each frame as one picture")
        _refuse_few_greys(image, location)
        array = mask_pixels(image, location) if use == "mask" else picture_pixels(image)
        return Content(array, make_grid(location, array.shape[:2]), format_of(image), image.mode)


def _refuse_few_greys(image: Image.Image, location: Location) -> None:
    """Refuse a BMP with few greys in its palette: Pillow takes the depth of its pixels from their number."""
    wanted = {"1": 1, "L": 8}.get(image.mode)
    if image.format != "BMP" or wanted is None:
        return
    with open(location.path, "rb") as stream:
        start = stream.read(30)
    at = 24 if start[14] == 12 else 28
    bits = int.from_bytes(start[at : at + 2], "little")
    if bits != wanted:
        raise FormatError(f"{location}: is a BMP of {bits} bits with a palette of few greys; save it as PNG")


def mask_pixels(image: Image.Image, location: Location) -> NDArray[Any]:
    """The values as stored: palette indices, grey values, or 0 and 1, even where 0 is shown as white."""
    if image.mode not in _SINGLE:
        raise FormatError(
            f"{location}: is an {image.mode} picture, not a mask: it has {len(image.getbands())} channels; "
            "save one channel, or an index per label"
        )
    raw = _RAW.fullmatch(raw_mode(image))
    array = _decode(image)
    if image.mode == "I" and image.format == "PNG":
        return array.astype(np.uint16)
    if raw is None:
        return array
    array = ~array if raw["inverted"] else array
    return array // np.uint8(_LEVELS[raw["bits"]]) if raw["bits"] else array


def picture_pixels(image: Image.Image) -> NDArray[Any]:
    """Grey, or RGB without alpha, to look at."""
    if image.mode == "1":
        return np.asarray(image.convert("L"))
    if image.mode in _SINGLE - {"P"}:
        return _decode(image)
    if image.mode in ("LA", "La"):
        return np.asarray(image.getchannel("L"))
    if image.mode == "P" and "transparency" in image.info:
        return np.asarray(image.convert("RGBA"))[..., :3]
    return np.asarray(image.convert("RGB") if image.mode != "RGBA" else image)[..., :3]


def _decode(image: Any) -> NDArray[Any]:
    """The pixels as Pillow has them, without a copy where they were decoded into an array."""
    image.load()
    return np.asarray(getattr(image, "pixels", image))


def is_inverted(image: Image.Image) -> bool:
    """Whether Pillow will invert the grey of an image, not decoded yet, in which 0 is white."""
    raw = _RAW.fullmatch(raw_mode(image))
    return raw is not None and raw["inverted"] is not None


def raw_mode(image: Image.Image) -> str:
    """How Pillow will decode a picture that is not decoded yet, such as ``L;2I``."""
    tiles: Any = getattr(image, "tile", None)
    arguments = tiles[0][3] if tiles else ""
    return str(arguments[0] if isinstance(arguments, tuple) and arguments else arguments)


def format_of(image: Image.Image) -> str:
    """``png``, ``jpeg``, ``tiff``, … by content, whatever the file is called."""
    name = (image.format or "").lower()
    return "jpeg" if name == "mpo" else name


# -- opening ------------------------------------------------------------------------------------------


@contextmanager
def _limits() -> Iterator[None]:
    # The size is checked by check_shape; a cut file must fail even if a program told Pillow to accept those.
    from PIL import Image, ImageFile

    before = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES
    Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES = None, False
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES = before


_strict = Shared(_limits)


@contextmanager
def open_image(location: Location, *, decode: bool = False) -> Iterator[Image.Image]:
    """The image before its pixels are decoded; with ``decode``, the check sums of a PNG are verified."""
    from PIL import Image, TiffImagePlugin, UnidentifiedImageError  # noqa: F401  (registers TIFF)

    with open(location.path, "rb") as stream, _strict:
        start = stream.read(len(PNG_START))
        data = verify_png(start + stream.read()) if decode and start == PNG_START else b""
        try:
            image = Image.open(io.BytesIO(data) if data else stream, formats=_FORMATS)
        except UnidentifiedImageError as error:
            _raise_unidentified(location, error)
        with image:
            check_shape(location, (image.height, image.width))
            # refused before memory is allocated: more pixels than the bytes can hold
            size = location.path.stat().st_size
            if image.format != "TIFF" and image.width * image.height > size * _MOST_PIXELS_A_BYTE:
                raise_damaged(location, f"{size} bytes cannot hold {image.height}×{image.width} pixels")
            if data:
                prepare_decoding(image, data)
            yield image
            if data:
                check_filled(image, data)


def _raise_unidentified(location: Location, error: Exception) -> NoReturn:
    start = first_bytes(location.path)
    if any(start.startswith(known) or known.startswith(start) for known in _STARTS):
        raise UnknownKind(f"{location}: is damaged or cut short (no usable header); export it again") from error
    kind = location.path.suffix[1:].upper()
    raise FormatError(f"{location}: is not a {kind} picture: it starts with {start!r}; export it again") from error


# -- PNG ----------------------------------------------------------------------------------------------


def open_png(data: bytes) -> Image.Image:
    """A PNG picture, decoded; an error where it does not hold the pixels that were written."""
    from PIL import Image

    data = verify_png(data)
    image = Image.open(io.BytesIO(data), formats=("PNG",))
    prepare_decoding(image, data)
    check_filled(image, data)
    return image


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
            raise ValueError(f"it has a chunk {kind.decode('ascii', 'replace')!r} that no reader may ignore")
    if b"IDAT" not in kinds:
        raise ValueError("it has no pixels")
    if kinds.count(b"IDAT") == 1:
        return data
    first = kinds.index(b"IDAT")
    after = first + kinds.count(b"IDAT")
    if kinds[first:after].count(b"IDAT") != after - first:
        raise ValueError("its pixels are in chunks that do not follow one another")
    # in one piece, the decoder also sees the check sum after the last pixel; that of the new chunk is not checked
    size = sum(len(chunk) - 12 for _, chunk in chunks[first:after])
    pieces = [chunk for _, chunk in chunks[:first]], [chunk[8:-4] for _, chunk in chunks[first:after]]
    rest = [chunk for _, chunk in chunks[after:]]
    return b"".join((PNG_START, *pieces[0], struct.pack(">I", size), b"IDAT", *pieces[1], bytes(4), *rest))


def _chunks(data: bytes, checked: bool = True) -> Iterator[tuple[bytes, memoryview]]:
    """Kind and bytes (length, kind, content, check sum) of every chunk up to IEND."""
    view, at, kind = memoryview(data), len(PNG_START), b""
    while at < len(data) and kind != b"IEND":
        end = at + 12 + int.from_bytes(view[at : at + 4])
        kind = bytes(view[at + 4 : at + 8])
        if end > len(data):
            raise ValueError(f"{len(data)} bytes where its chunks reach to byte {end}")
        if checked and zlib.crc32(view[at + 4 : end - 4]) != int.from_bytes(view[end - 4 : end]):
            raise ValueError(f"the check sum of chunk {kind.decode('ascii', 'replace')!r} at byte {at} does not hold")
        yield kind, view[at:end]
        at = end


def _read_plain_png(location: Location) -> Content | None:
    """The bytes of a PNG of one byte a pixel, as most masks are; None for all other files.

    Pillow decodes the pixels, but does not look at the file: that takes longer than the pixels of a small mask.
    """
    with open(location.path, "rb") as stream:
        data = stream.read(_HEAD)
        if data[: len(PNG_START)] != PNG_START or data[24:29] not in (_GREY, _INDEXED):
            return None
        data += stream.read()
    width, height = struct.unpack(">II", data[16:24])
    check_shape(location, (height, width))
    if height * width > len(data) * _MOST_PIXELS_A_BYTE:
        raise_damaged(location, f"{len(data)} bytes cannot hold {height}×{width} pixels")
    data = verify_png(data)
    chunks = dict(_chunks(data, checked=False))
    if chunks.keys() - set(_CRITICAL) or (data[24:29] == _INDEXED) != (b"PLTE" in chunks):
        return None
    from PIL import Image

    mode = "P" if b"PLTE" in chunks else "L"
    pixels = np.zeros((height, width), np.uint8)
    image = Image.frombuffer(mode, (width, height), pixels, "raw", mode, 0, 1)
    pixels[-1] = _UNTOUCHED
    image.frombytes(chunks[b"IDAT"][8:-4], "zip", mode)
    if (pixels[-1] == _UNTOUCHED).all():
        _check_length(data)
    return Content(pixels, make_grid(location, pixels.shape), "png", mode)


def prepare_decoding(image: Any, data: bytes) -> None:
    """Before a verified PNG is decoded: decode it in one go, and fill the last row so that missing pixels show.

    Bytes are decoded into an array, ``image.pixels``: Pillow would copy them twice to make one of them.
    """
    from PIL import Image

    if image.mode in ("L", "P") and getattr(image, "n_frames", 1) == 1:
        image.pixels = np.zeros((image.height, image.width), np.uint8)
        empty = Image.frombuffer(image.mode, image.size, image.pixels, "raw", image.mode, 0, 1)
        image.pixels[-1] = _UNTOUCHED
    else:
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
    size = len(zlib.decompressobj().decompress(chunks[b"IDAT"][8:-4], wanted))
    if size < wanted:
        raise ValueError(f"its pixels end after {size} of {wanted} bytes")

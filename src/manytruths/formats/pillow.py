"""Pictures that Pillow decodes: PNG, JPEG, GIF, BMP and most TIFF."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError
from . import png
from .grid import Grid
from .location import Location
from .opening import Content, check_shape, damaged, grid_of, start_of
from .quiet import Shared

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF")
_STARTS = (png.START, b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SINGLE = {"1", "L", "P", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"}
_MOST_PIXELS_A_BYTE = 2**14
"""PNG of 1 bit packs at most 8,256 pixels into a byte, GIF and JPEG fewer."""
_LEVELS = {"L;2": 85, "L;4": 17}
"""Pillow spreads grey of 2 and 4 bits over 0 to 255; the labels are what stood before."""


@contextmanager
def _limits() -> Iterator[None]:
    # The size is checked by check_shape, and a cut file must fail even where a program asked Pillow for leniency.
    from PIL import Image, ImageFile

    kept = Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES
    Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES = None, False
    try:
        yield
    finally:
        Image.MAX_IMAGE_PIXELS, ImageFile.LOAD_TRUNCATED_IMAGES = kept


_strict = Shared(_limits)


class UnknownKind(FormatError):
    """The file starts like a picture, but Pillow makes nothing of its header."""


@contextmanager
def opened(location: Location, *, decode: bool = False) -> Iterator[Image.Image]:
    """The picture before its pixels are decoded; where that is wanted, the check sums of a PNG are checked."""
    from PIL import Image, TiffImagePlugin, UnidentifiedImageError  # noqa: F401  (registers TIFF)

    with open(location.path, "rb") as stream, _strict:
        start = stream.read(len(png.START))
        data = png.verified(start + stream.read()) if decode and start == png.START else b""
        try:
            image = Image.open(io.BytesIO(data) if data else stream, formats=_FORMATS)
        except UnidentifiedImageError as error:
            _unidentified(location, error)
        with image:
            check_shape(location, (image.height, image.width))
            _check_promise(image, location)
            if data:
                png.prepare(image, data)
            yield image
            if data:
                png.check_filled(image, data)


def _check_promise(image: Image.Image, location: Location) -> None:
    """Refuse a picture of more pixels than its bytes can hold, before memory is taken for them."""
    size = location.path.stat().st_size
    if image.format != "TIFF" and image.width * image.height > size * _MOST_PIXELS_A_BYTE:
        damaged(location, f"{size} bytes cannot hold {image.height}×{image.width} pixels")


def _unidentified(location: Location, error: Exception) -> NoReturn:
    start = start_of(location.path)
    if any(start.startswith(known) or known.startswith(start) for known in _STARTS):
        raise UnknownKind(f"{location}: is damaged or cut short (no usable header); export it again") from error
    kind = location.path.suffix[1:].upper()
    raise FormatError(f"{location}: is not a {kind} picture: it starts with {start!r}; export it again") from error


def format_of(image: Image.Image) -> str:
    """``png``, ``jpeg``, ``tiff``, … by content, whatever the file is called."""
    name = (image.format or "").lower()
    return "jpeg" if name == "mpo" else name


def probe(location: Location) -> Grid:
    with opened(location) as image:
        return grid_of(location, (image.height, image.width))


def read(location: Location, as_picture: bool) -> Content:
    with opened(location, decode=True) as image:
        _refuse_animation(image, location)
        array = picture_pixels(image) if as_picture else mask_pixels(image, location)
        return Content(array, grid_of(location, array.shape[:2]), format_of(image), image.mode)


def _refuse_animation(image: Image.Image, location: Location) -> None:
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and format_of(image) != "jpeg":
        raise FormatError(f"{location}: is an animation of {frames} frames; save each frame as one picture")


def mask_pixels(image: Image.Image, location: Location) -> NDArray[Any]:
    """The values as they stand in the file: palette indices, grey values, 0 and 1."""
    if image.mode not in _SINGLE:
        raise FormatError(
            f"{location}: is an {image.mode} picture, not a mask: it has {len(image.getbands())} channels; "
            "save one channel, or an index per label"
        )
    levels = _LEVELS.get(_raw_mode(image), 1)
    array = np.asarray(image)
    if image.mode == "I" and image.format == "PNG":
        return array.astype(np.uint16)
    return array // np.uint8(levels) if levels > 1 else array


def picture_pixels(image: Image.Image) -> NDArray[Any]:
    """Grey, or RGB without alpha, to look at."""
    if image.mode == "1":
        return np.asarray(image.convert("L"))
    if image.mode in _SINGLE - {"P"}:
        return np.asarray(image)
    if image.mode in ("LA", "La"):
        return np.asarray(image.getchannel("L"))
    if image.mode == "P" and "transparency" in image.info:
        return np.asarray(image.convert("RGBA"))[..., :3]
    return np.asarray(image.convert("RGB") if image.mode != "RGBA" else image)[..., :3]


def _raw_mode(image: Image.Image) -> str:
    tiles: Any = getattr(image, "tile", None)
    arguments = tiles[0][3] if tiles else ""
    return str(arguments[0] if isinstance(arguments, tuple) and arguments else arguments)

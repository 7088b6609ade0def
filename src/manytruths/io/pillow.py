"""Pictures that Pillow decodes: PNG, JPEG, GIF, BMP and most TIFF."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..shape.grid import Grid
from . import png
from .location import Location
from .opening import Content, Use, check_shape, first_bytes, make_grid, raise_damaged
from .quiet import Shared

if TYPE_CHECKING:
    from PIL import Image

_FORMATS = ("PNG", "JPEG", "GIF", "BMP", "TIFF")
_STARTS = (png.START, b"\xff\xd8\xff", b"GIF8", b"BM", b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SINGLE = {"1", "L", "P", "I", "F", "I;16", "I;16B", "I;16L", "I;16N"}
_MOST_PIXELS_A_BYTE = 2**14
"""PNG of 1 bit packs at most 8,256 pixels into a byte, GIF and JPEG fewer."""
_RAW = re.compile(r"[1L];(?P<bits>[24])?(?P<inverted>I)?R?")
"""What Pillow does to stored grey of few bits: spread over 0 to 255, turned where 0 is white, bits in reverse order."""
_LEVELS = {"2": 85, "4": 17}


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
def open_image(location: Location, *, decode: bool = False) -> Iterator[Image.Image]:
    """The picture before its pixels are decoded; where that is wanted, the check sums of a PNG are checked."""
    from PIL import Image, TiffImagePlugin, UnidentifiedImageError  # noqa: F401  (registers TIFF)

    with open(location.path, "rb") as stream, _strict:
        start = stream.read(len(png.START))
        data = png.verify_png(start + stream.read()) if decode and start == png.START else b""
        try:
            image = Image.open(io.BytesIO(data) if data else stream, formats=_FORMATS)
        except UnidentifiedImageError as error:
            _unidentified(location, error)
        with image:
            check_shape(location, (image.height, image.width))
            _check_promise(image, location)
            if data:
                png.prepare_decoding(image, data)
            yield image
            if data:
                png.check_filled(image, data)


def _check_promise(image: Image.Image, location: Location) -> None:
    """Refuse a picture of more pixels than its bytes can hold, before memory is taken for them."""
    size = location.path.stat().st_size
    if image.format != "TIFF" and image.width * image.height > size * _MOST_PIXELS_A_BYTE:
        raise_damaged(location, f"{size} bytes cannot hold {image.height}×{image.width} pixels")


def _unidentified(location: Location, error: Exception) -> NoReturn:
    start = first_bytes(location.path)
    if any(start.startswith(known) or known.startswith(start) for known in _STARTS):
        raise UnknownKind(f"{location}: is damaged or cut short (no usable header); export it again") from error
    kind = location.path.suffix[1:].upper()
    raise FormatError(f"{location}: is not a {kind} picture: it starts with {start!r}; export it again") from error


def format_of(image: Image.Image) -> str:
    """``png``, ``jpeg``, ``tiff``, … by content, whatever the file is called."""
    name = (image.format or "").lower()
    return "jpeg" if name == "mpo" else name


def probe(location: Location) -> Grid:
    with open_image(location) as image:
        return make_grid(location, (image.height, image.width))


def read(location: Location, use: Use) -> Content:
    with open_image(location, decode=True) as image:
        _refuse_animation(image, location)
        _refuse_few_greys(image, location)
        array = mask_pixels(image, location) if use == "mask" else picture_pixels(image)
        return Content(array, make_grid(location, array.shape[:2]), format_of(image), image.mode)


def _refuse_animation(image: Image.Image, location: Location) -> None:
    frames = getattr(image, "n_frames", 1)
    if frames > 1 and format_of(image) != "jpeg":
        raise FormatError(f"{location}: is an animation of {frames} frames; save each frame as one picture")


def _refuse_few_greys(image: Image.Image, location: Location) -> None:
    """Of a BMP, Pillow takes the depth of its pixels from the number of greys in the palette."""
    wanted = {"1": 1, "L": 8}.get(image.mode)
    if image.format != "BMP" or wanted is None:
        return
    with open(location.path, "rb") as stream:
        start = stream.read(30)
    at = 24 if start[14] == 12 else 28
    bits = int.from_bytes(start[at : at + 2], "little")
    if bits != wanted:
        raise FormatError(
            f"{location}: is a BMP of {bits} bits with a palette of few greys, which cannot be read; save it as PNG"
        )


def mask_pixels(image: Image.Image, location: Location) -> NDArray[Any]:
    """The values as they stand in the file: palette indices, grey values, 0 and 1, also where 0 is shown as white."""
    if image.mode not in _SINGLE:
        raise FormatError(
            f"{location}: is an {image.mode} picture, not a mask: it has {len(image.getbands())} channels; "
            "save one channel, or an index per label"
        )
    raw = _RAW.fullmatch(raw_mode(image))
    array = np.asarray(image)
    if image.mode == "I" and image.format == "PNG":
        return array.astype(np.uint16)
    if raw is None:
        return array
    array = ~array if raw["inverted"] else array
    return array // np.uint8(_LEVELS[raw["bits"]]) if raw["bits"] else array


def is_inverted(image: Image.Image) -> bool:
    """Whether Pillow turns the grey of a picture, not decoded yet, in which 0 is white."""
    raw = _RAW.fullmatch(raw_mode(image))
    return raw is not None and raw["inverted"] is not None


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


def raw_mode(image: Image.Image) -> str:
    """How Pillow will decode a picture that is not decoded yet, such as ``L;2I``."""
    tiles: Any = getattr(image, "tile", None)
    arguments = tiles[0][3] if tiles else ""
    return str(arguments[0] if isinstance(arguments, tuple) and arguments else arguments)

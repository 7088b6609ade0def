"""TIFF: Pillow where it can, tifffile for what Pillow does not know; several pages are a volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..shape.grid import Grid
from . import pillow
from .directories import check_directories
from .location import Location
from .opening import Content, Use, check_shape, first_bytes, import_extra, make_grid
from .quiet import muted_stderr

if TYPE_CHECKING:
    from PIL import Image

_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SUBFILE, _BITS, _PHOTOMETRIC, _SAMPLES, _SAMPLE_FORMAT = 254, 258, 262, 277, 339
_WHITE_IS_ZERO, _SIGNED = 0, 2
_SWAPPED = ("I;16BS", "I;32BS", "F;32BF")
_GREY = ("1", "L", "I", "F", "I;16", "I;16B", "I;16L", "I;16N")


def probe(location: Location) -> Grid:
    check_directories(location)
    try:
        with pillow.open_image(location) as image:
            sizes = [(page.height, page.width) for page in _pages(image, location)]
            return make_grid(location, _stacked(sizes, location))
    except pillow.UnknownKind as error:
        return make_grid(location, _by_tifffile(location, error, decode=False)[0])


def read(location: Location, use: Use) -> Content:
    check_directories(location, decode=True)
    try:
        with pillow.open_image(location, decode=True) as image, muted_stderr:
            return _read_pages(image, location, use)
    except pillow.UnknownKind as error:
        shape, array = _by_tifffile(location, error, decode=True, turn=use == "picture")
        return Content(array, make_grid(location, shape), "tiff")


def _read_pages(image: Image.Image, location: Location, use: Use) -> Content:
    shape = _stacked([(page.height, page.width) for page in _pages(image, location, use)], location)
    image.seek(0)
    kind, mode = pillow.format_of(image), image.mode
    pages = [
        _unsigned(page, pillow.mask_pixels(page, location)) if use == "mask" else _shown(page, use == "picture")
        for page in _pages(image, location, use)
    ]
    if len({page.shape for page in pages}) > 1 or (len(pages) > 1 and pages[0].ndim > 2):
        raise FormatError(f"{location}: its {len(pages)} pages are not all grey; save one channel of each")
    array = pages[0] if len(shape) == 2 else np.stack(pages)
    return Content(array, make_grid(location, shape), kind, mode)


def _shown(page: Image.Image, turn: bool) -> NDArray[Any]:
    """A page to look at, turned where 0 is white; or its numbers as they are stored."""
    white = page.mode in _GREY and _number(page, _PHOTOMETRIC, 1) == _WHITE_IS_ZERO
    done = pillow.is_inverted(page)
    array = _unsigned(page, pillow.picture_pixels(page))
    return _turned(array) if white and done != turn else array


def _unsigned(page: Image.Image, array: NDArray[Any]) -> NDArray[Any]:
    """Pillow takes all 32 bits for signed."""
    unsigned = _number(page, _SAMPLE_FORMAT, 1) == 1 and _number(page, _BITS, 1) == 32
    return array.view(np.uint32) if unsigned and array.dtype == np.int32 else array


def _turned(array: NDArray[Any], bits: int = 0) -> NDArray[Any]:
    """Grey from white to black instead of from black to white."""
    if array.dtype.kind == "f":
        return np.asarray(array.min() + array.max() - array)
    return np.asarray((1 << bits) - 1 - array if bits and array.dtype.kind == "u" else ~array)


def _number(page: Image.Image, tag: int, otherwise: int) -> int:
    found: Any = getattr(page, "tag_v2", {}).get(tag, otherwise)
    return int(found[0] if isinstance(found, tuple) else found)


def _pages(image: Image.Image, location: Location, use: Use = "mask") -> Iterator[Image.Image]:
    """The pages at full size, one after the other; smaller copies for viewing are passed over."""
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
        raise FormatError(f"{location}: has {channels} channels, not one: it is no mask; save one of them")


def _stacked(sizes: list[tuple[int, int]], location: Location) -> tuple[int, ...]:
    if len(set(sizes)) != 1:
        found = ", ".join(f"{height}×{width}" for height, width in sorted(set(sizes))) or "none at full size"
        raise FormatError(f"{location}: its pages differ in size ({found}); save one page, or all of one size")
    return check_shape(location, sizes[0] if len(sizes) == 1 else (len(sizes), *sizes[0]))


def _by_tifffile(
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
        shape = _joined([part.shape for part in parts], location)
        arrays = [_stored(part, turn) for part in parts] if decode else [np.empty(0)]
    return shape, arrays[0] if len(arrays) == 1 else np.stack(arrays)


def _joined(shapes: list[tuple[int, ...]], location: Location) -> tuple[int, ...]:
    return check_shape(location, shapes[0]) if len(shapes) == 1 else _stacked([(h, w) for h, w in shapes], location)


def _stored(part: Any, turn: bool) -> NDArray[Any]:
    """The samples of a page or of a series of alike pages."""
    array, page = np.asarray(part.asarray()), part.keyframe
    return _turned(array, int(page.bitspersample)) if turn and page.photometric == _WHITE_IS_ZERO else array

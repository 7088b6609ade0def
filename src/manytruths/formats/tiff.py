"""TIFF: Pillow where it can, tifffile for what Pillow does not know; several pages are a volume."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError
from . import pillow
from .directories import check_directories
from .grid import Grid
from .location import Location
from .opening import Content, check_shape, grid_of, needs, start_of

if TYPE_CHECKING:
    from PIL import Image

_STARTS = (b"II*\0", b"MM\0*", b"II+\0", b"MM\0+")
_SUBFILE, _BITS, _SAMPLE_FORMAT = 254, 258, 339
_SIGNED = 2


def probe(location: Location) -> Grid:
    check_directories(location)
    try:
        with pillow.opened(location) as image:
            sizes = [(page.height, page.width) for page in _pages(image, location)]
            return grid_of(location, _stacked(sizes, location))
    except pillow.UnknownKind as error:
        return grid_of(location, _by_tifffile(location, error, decode=False)[0])


def read(location: Location, as_picture: bool) -> Content:
    check_directories(location, decode=True)
    try:
        with pillow.opened(location, decode=True) as image:
            return _read_pages(image, location, as_picture)
    except pillow.UnknownKind as error:
        shape, array = _by_tifffile(location, error, decode=True)
        return Content(array, grid_of(location, shape), "tiff")


def _read_pages(image: Image.Image, location: Location, as_picture: bool) -> Content:
    shape = _stacked([(page.height, page.width) for page in _pages(image, location)], location)
    image.seek(0)
    kind, mode = pillow.format_of(image), image.mode
    pages = [
        pillow.picture_pixels(page) if as_picture else pillow.mask_pixels(page, location)
        for page in _pages(image, location)
    ]
    if len({page.shape for page in pages}) > 1 or (len(pages) > 1 and pages[0].ndim > 2):
        raise FormatError(f"{location}: its {len(pages)} pages are not all grey; save one channel of each")
    array = pages[0] if len(shape) == 2 else np.stack(pages)
    return Content(array, grid_of(location, shape), kind, mode)


def _pages(image: Image.Image, location: Location) -> Iterator[Image.Image]:
    """The pages at full size, one after the other; smaller copies for viewing are passed over."""
    for number in range(getattr(image, "n_frames", 1)):
        image.seek(number)
        tags: Any = getattr(image, "tag_v2", {})
        if tags.get(_SAMPLE_FORMAT, (1,))[0] == _SIGNED and tags.get(_BITS, (1,))[0] == 8:
            raise pillow.UnknownKind(f"{location}: holds signed bytes, which Pillow takes for unsigned")
        if not int(tags.get(_SUBFILE, 0)) & 1:
            yield image


def _stacked(sizes: list[tuple[int, int]], location: Location) -> tuple[int, ...]:
    if len(set(sizes)) != 1:
        found = ", ".join(f"{height}×{width}" for height, width in sorted(set(sizes))) or "none at full size"
        raise FormatError(f"{location}: its pages differ in size ({found}); save one page, or all of one size")
    return check_shape(location, sizes[0] if len(sizes) == 1 else (len(sizes), *sizes[0]))


def _by_tifffile(location: Location, reason: pillow.UnknownKind, decode: bool) -> tuple[tuple[int, ...], NDArray[Any]]:
    if not start_of(location.path).startswith(_STARTS):
        raise reason
    tifffile = needs("tifffile", "tiff", location)
    with tifffile.TiffFile(location.path) as file:
        series = file.series[0]
        shape = check_shape(location, series.shape)
        if "S" in series.axes:
            raise FormatError(f"{location}: is a colour TIFF of type {series.dtype}; save it with 8 bits a channel")
        return shape, np.asarray(series.asarray()) if decode else np.empty(0)

"""Slides of scanners as images: through OpenSlide, and DICOM whole slide images through wsidicom.

They are images, never masks. Size and spacing come from the header; pixels are read from any level of the pyramid.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError, ManytruthsError
from ..core.tiles import Where
from ..shape.grid import Grid
from . import files
from .files import DICOM, SLIDES, Content, Location, Use, import_extra, make_grid, raise_damaged, suffix_of

WHOLE_SLIDE = "1.2.840.10008.5.1.4.1.1.77.1.6"
"""SOP class of whole slide images in DICOM."""
MOST_FILES = 4096
"""Files of a folder of DICOM that are looked at."""
AT_ONCE = 1 << 24
"""Pixels that are decoded at a time: each takes some ten bytes until it is three."""
TILE = 512
"""Rows and columns that are read together: a few tiles of any scanner."""
MICROMETRES = 1000
"""In a millimetre."""


def is_slide(path: Path) -> bool:
    """Whether a path is a slide: a file of a scanner, or DICOM."""
    return suffix_of(path.name) in (*SLIDES, DICOM) or files.is_dicom_folder(path)


def _dicom_files(folder: Path) -> Iterator[Path]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if suffix_of(entry.name) == DICOM and entry.is_file():
                yield Path(entry.path)


@dataclass(frozen=True, eq=False)
class Slide:
    """An image of a scanner, by level; processes open it anew.

    Attributes
    ----------
    location : Location
        The file, or the folder of DICOM files.
    shapes : tuple of (int, int)
        Height and width of every level; the first one is the full image.
    levels : tuple of float
        How many times smaller each level is than the first.
    spacing : (float, float), optional
        Size of a pixel of the first level in mm, along height and width.
    """

    location: Location
    shapes: tuple[tuple[int, int], ...]
    levels: tuple[float, ...]
    spacing: tuple[float, float] | None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_file"}

    @property
    def shape(self) -> tuple[int, int, int]:
        """Height, width and three colours of the full image."""
        return *self.shapes[0], 3

    @property
    def dtype(self) -> np.dtype[Any]:
        """Bytes."""
        return np.dtype(np.uint8)

    @cached_property
    def _file(self) -> Any:
        return _open(self.location)

    def read(self, level: int, where: Where) -> NDArray[np.uint8]:
        """Read a part of one level.

        Parameters
        ----------
        level : int
            Which one; 0 is the full image.
        where : tuple of slice
            Rows and columns of this level.

        Returns
        -------
        ndarray
            (rows, columns, 3) of red, green and blue; white where the scanner took no image.
        """
        (top, bottom), (left, right) = (part.indices(n)[:2] for part, n in zip(where, self.shapes[level], strict=True))
        if bottom <= top or right <= left:
            return np.empty((max(0, bottom - top), max(0, right - left), 3), np.uint8)
        out = np.empty((bottom - top, right - left, 3), np.uint8)
        rows = max(1, AT_ONCE // (right - left))
        with _slide_errors(self.location, f"rows {top} to {bottom}, columns {left} to {right} of level {level}"):
            for row in range(top, bottom, rows):
                size = right - left, min(rows, bottom - row)
                out[row - top : row - top + rows] = self._file.read(level, self.levels[level], (left, row), size)
        return out

    def __getitem__(self, where: Any) -> NDArray[np.uint8]:
        """A part of the full image; slices alone."""
        parts = where if isinstance(where, tuple) else (where,)
        parts = tuple(slice(None) if part is ... else part for part in parts) + (slice(None),) * (3 - len(parts))
        return self.read(0, parts[:2])[:, :, parts[2]]


@dataclass(frozen=True, eq=False)
class SlideLevel:
    """One level of a slide as an array that is read in parts."""

    slide: Slide
    level: int

    @property
    def shape(self) -> tuple[int, int, int]:
        return *self.slide.shapes[self.level], 3

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.slide.dtype

    @property
    def chunks(self) -> tuple[int, int, int]:
        return TILE, TILE, 3

    def __getitem__(self, where: Any) -> NDArray[np.uint8]:
        return self.slide.read(self.level, where[:2])


class _ThroughOpenSlide:
    def __init__(self, location: Location) -> None:
        openslide = import_extra("openslide", "slides", location)
        with _slide_errors(location, "its header"):
            self.slide = openslide.OpenSlide(str(location.path))
        properties = self.slide.properties
        self.shapes = tuple((height, width) for width, height in self.slide.level_dimensions)
        self.levels = tuple(float(smaller) for smaller in self.slide.level_downsamples)
        sizes = [_positive(properties.get(f"openslide.mpp-{axis}")) for axis in "yx"]
        self.spacing = None if None in sizes else tuple(size / MICROMETRES for size in sizes if size)
        colour = properties.get("openslide.background-color", "FFFFFF")
        self.background = np.array([int(colour[k : k + 2], 16) for k in (0, 2, 4)], np.float32)

    def read(self, level: int, smaller: float, corner: tuple[int, int], size: tuple[int, int]) -> NDArray[np.uint8]:
        full = round(corner[0] * smaller), round(corner[1] * smaller)
        pixels = np.asarray(self.slide.read_region(full, level, size))
        colours, seen = pixels[..., :3], pixels[..., 3:]
        if seen.min() == 255:
            return np.ascontiguousarray(colours)
        share = seen.astype(np.float32) / 255
        return np.rint(colours * share + self.background * (1 - share)).astype(np.uint8)


class _ThroughWsidicom:
    def __init__(self, location: Location) -> None:
        wsidicom = import_extra("wsidicom", "slides", location)
        paths = _whole_slide_files(location)
        with _slide_errors(location, "its header"):
            self.slide = wsidicom.WsiDicom.open(paths)
            levels = list(self.slide.levels)
        self.numbers = [level.level for level in levels]
        self.shapes = tuple((level.size.height, level.size.width) for level in levels)
        self.levels = tuple(self.shapes[0][1] / width for _, width in self.shapes)
        step = levels[0].pixel_spacing
        sizes = [_positive(size) for size in ((step.height, step.width) if step else (None, None))]
        self.spacing = None if None in sizes else tuple(size for size in sizes if size)

    def read(self, level: int, smaller: float, corner: tuple[int, int], size: tuple[int, int]) -> NDArray[np.uint8]:
        return np.asarray(self.slide.read_region(corner, self.numbers[level], size).convert("RGB"))


def _positive(text: Any) -> float | None:
    try:
        number = float(text)
    except (TypeError, ValueError):
        return None
    return number if 0 < number < math.inf else None


def _open(location: Location) -> _ThroughOpenSlide | _ThroughWsidicom:
    own = suffix_of(location.path.name) in SLIDES
    return _ThroughOpenSlide(location) if own else _ThroughWsidicom(location)


@contextmanager
def _slide_errors(location: Location, what: str) -> Iterator[None]:
    """Errors of the libraries as one line which says what could not be read."""
    try:
        with files.quiet:
            yield
    except (ManytruthsError, MemoryError):
        raise
    except Exception as error:
        raise_damaged(location, f"{what} cannot be read: {error}", error)


def _whole_slide_files(location: Location) -> list[Path]:
    """The files of one DICOM slide; those of several in one folder are refused."""
    path = location.path
    pydicom = import_extra("pydicom", "slides", location)
    paths = sorted(_dicom_files(path)) if path.is_dir() else [path]
    if len(paths) > MOST_FILES:
        raise FormatError(
            f"{location}: holds {len(paths)} DICOM files, more than {MOST_FILES}; give each slide a folder"
        )
    series, volume = dict[str, list[Path]](), False
    tags = ["SOPClassUID", "SeriesInstanceUID", "ImageType"]
    for one in paths:
        with _slide_errors(location, f"the header of {one.name}"):
            header = pydicom.dcmread(one, stop_before_pixels=True, specific_tags=tags)
        if header.get("SOPClassUID") == WHOLE_SLIDE:
            series.setdefault(str(header.get("SeriesInstanceUID", "")), []).append(one)
            volume = volume or "VOLUME" in header.get("ImageType", ())
    if len(series) > 1:
        raise FormatError(f"{location}: holds {len(series)} slides (series of DICOM); give each a folder of its own")
    if not series:
        raise FormatError(f"{location}: holds no whole slide image in DICOM; correct the path, or export it again")
    if not volume:
        raise FormatError(
            f"{location}: holds a label or an overview alone, not the slide; copy the files of its levels"
        )
    return next(iter(series.values()))


def open_slide(location: Location) -> Slide:
    """Open a slide by its header.

    Parameters
    ----------
    location : Location
        The file, or the folder of DICOM files.

    Returns
    -------
    Slide
        What it holds; no pixel was read yet.
    """
    opened = _open(location)
    shapes, spacing = opened.shapes, opened.spacing
    if not shapes or min(min(shape) for shape in shapes) < 1:
        raise FormatError(f"{location}: has no image of the slide; export it again")
    _check_levels(location, shapes)
    slide = Slide(location, shapes, opened.levels, None if spacing is None else (spacing[0], spacing[1]))
    slide.__dict__["_file"] = opened
    return slide


def _check_levels(location: Location, shapes: Sequence[tuple[int, int]]) -> None:
    """Refuse levels of other proportions than the full image."""
    for number, shape in enumerate(shapes[1:], start=1):
        down, across = (n / m for n, m in zip(shapes[0], shape, strict=True))
        # a level may be cut to whole tiles or rounded
        if abs(down - across) > max(2 * max(down / shape[0], across / shape[1]), 0.05 * max(down, across)):
            full, own = ("×".join(map(str, size)) for size in (shapes[0], shape))
            raise FormatError(
                f"{location}: its pyramid disagrees: level {number} has {own} pixels, level 0 {full}; export it again"
            )


def fitting_level(location: Location, shape: Sequence[int]) -> int | None:
    """The level of a slide that has a size; None where none has it."""
    shapes = open_slide(location).shapes
    return next((level for level, size in enumerate(shapes) if tuple(shape) == size), None)


def probe(location: Location) -> Grid:
    slide = open_slide(location)
    return make_grid(location, slide.shapes[0], slide.spacing)


def read(location: Location, use: Use) -> Content:
    if use != "picture":
        raise FormatError(
            f"{location}: is a slide, which is an image; give it as images, and masks as TIFF, OME-Zarr or outlines"
        )
    slide: Any = open_slide(location)
    grid = make_grid(location, slide.shapes[0], slide.spacing)
    small = math.prod(grid.shape) < files.LARGE
    return Content(slide.read(0, (slice(None), slice(None))) if small else slide, grid, "slide", "RGB")

"""Read masks and images, whatever the format, and look at their grids without decoding them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..shape.grid import Grid
from . import arrays, nifti, nrrd_file, pillow, tiff
from .location import Location, suffix_of
from .opening import Content, Reader, Use, check_file, format_errors
from .values import whole_numbers, zeros_and_ones

_FAMILIES: dict[str, Reader] = {
    ".png": pillow, ".bmp": pillow, ".gif": pillow, ".jpg": pillow, ".jpeg": pillow,
    ".tif": tiff, ".tiff": tiff, ".npy": arrays, ".npz": arrays,
    ".nii": nifti, ".nii.gz": nifti, ".nrrd": nrrd_file,
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Mask:
    """One rater's marks on one case: non-negative integers, as they stand in the file."""

    array: NDArray[Any]
    grid: Grid
    format: str
    """``png``, ``jpeg``, ``gif``, ``bmp``, ``tiff``, ``npy``, ``npz``, ``nifti`` or ``nrrd``, by content."""
    largest: float = math.inf
    """What the numbers of the file can hold at most."""


@dataclass(frozen=True, eq=False)
class Picture:
    """An image to look at: grey of 2 or 3 axes, or RGB with a last axis of 3 that its grid does not have."""

    array: NDArray[Any]
    grid: Grid
    format: str


def read_mask(location: Location | Path | str) -> Mask:
    """A mask with its values as they are stored, whatever they are shown as; floats must be whole numbers."""
    location = Location.of(location)
    if location.blank:
        return _empty(location)
    content = _content(location, "mask")
    with format_errors(location):
        return Mask(whole_numbers(content.array, location), content.grid, content.format, _largest(content.array.dtype))


def _largest(kind: np.dtype[Any]) -> float:
    if kind.kind == "b":
        return 1
    return int(np.iinfo(kind).max) if kind.kind in "ui" else math.inf


def read_image(location: Location | Path | str) -> Picture:
    """An image to look at: grey of 8 bits, 16 bits or floats, or RGB without alpha; black is the least."""
    return _picture(Location.of(location), "picture")


def read_response(location: Location | Path | str) -> Picture:
    """A map of numbers such as probabilities: as :func:`read_image`, but never turned to be looked at."""
    return _picture(Location.of(location), "response")


def _picture(location: Location, use: Use) -> Picture:
    content = _content(location, use)
    array = content.array.astype(content.array.dtype.newbyteorder("="), copy=False)
    return Picture(zeros_and_ones(array) if array.dtype.kind == "b" else array, content.grid, content.format)


def probe(location: Location | Path | str) -> Grid:
    """Size and geometry from the header alone."""
    location = Location.of(location)
    return _checked(_indexed_grid(_whole(location), location), location)


def _empty(location: Location) -> Mask:
    """Nothing marked, on the grid of another mask or of the image, which may be in colour."""
    grid = probe(location) if location.blank == "mask" else _content(location, "picture").grid
    return Mask(np.zeros(grid.shape, np.uint8), grid, "empty")


def first_axis_length(location: Location) -> int:
    """How many indices a file has along its first axis."""
    return _whole(location).shape[0]


def _whole(location: Location) -> Grid:
    with format_errors(location):
        check_file(location)
        return _FAMILIES[suffix_of(location.path.name)].probe(location)


def _content(location: Location, use: Use) -> Content:
    with format_errors(location):
        check_file(location)
        content = _FAMILIES[suffix_of(location.path.name)].read(location, use)
    grid = _checked(_indexed_grid(content.grid, location), location)
    array = content.array if location.index is None else content.array[location.index]
    return Content(array, grid, content.format, content.colour)


def _indexed_grid(grid: Grid, location: Location) -> Grid:
    """The grid behind one index of the first axis; its position in space is not known any more."""
    if location.index is None:
        return grid
    if location.index >= grid.shape[0] or len(grid.shape) < 3:
        size = "×".join(map(str, grid.shape))
        raise FormatError(f"{location}: there is no index {location.index} in an array of {size}; correct the index")
    return Grid(grid.shape[1:], None if grid.spacing is None else grid.spacing[1:])


def _checked(grid: Grid, location: Location) -> Grid:
    if len(grid.shape) not in (2, 3):
        size = "×".join(map(str, grid.shape))
        raise FormatError(
            f"{location}: is an array of {size}, wanted are 2 or 3 axes; where the first axis is the rater, "
            "end the template in [{rater}]"
        )
    return grid

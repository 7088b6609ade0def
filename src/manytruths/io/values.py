"""The values of a mask: whole numbers that are not negative, as they stand in the file."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import LabelError
from .location import Location

_NEAR = 40
"""How far from 0 and 255 JPEG moves most pixels of a two-valued mask."""


def whole_numbers(array: NDArray[Any], location: Location) -> NDArray[Any]:
    """The array as non-negative integers of the file's own type; floats become the smallest type that fits."""
    if array.dtype.kind == "b":
        return zeros_and_ones(array)
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    if array.dtype.kind == "f":
        return _from_floats(array, location)
    if array.dtype.kind == "i" and array.min() < 0:
        _refuse(array[array < 0], location)
    return array


def zeros_and_ones(array: NDArray[np.bool]) -> NDArray[np.uint8]:
    """Booleans as bytes, without a copy where they are 0 and 1 already."""
    # Pillow's two-valued pictures come as booleans whose byte is 255, and np.save keeps it.
    stored = array.view(np.uint8)
    return stored if stored.max() <= 1 else (stored != 0).view(np.uint8)


def _from_floats(array: NDArray[Any], location: Location) -> NDArray[Any]:
    with np.errstate(invalid="ignore"):
        small = array.astype(np.uint8)
        if (small == array).all():
            return small
        wrong = ~np.isfinite(array) | (array < 0) | (array != np.trunc(array)) | (array >= 2**32)
    if wrong.any():
        _refuse(array[wrong], location)
    return array.astype(np.min_scalar_type(int(array.max())))


def _refuse(wrong: NDArray[Any], location: Location) -> None:
    shown = ", ".join(f"{value:.6g}" for value in np.unique(wrong)[:5].tolist())
    raise LabelError(
        f"{location}: {wrong.size} values are no labels, such as {shown}; "
        "labels are whole numbers from 0 on: threshold or renumber the mask"
    )


def looks_compressed(values: NDArray[Any]) -> bool:
    """Whether the pixels look like a two-valued mask (0 and 255, or 0.0 and 1.0) that went through JPEG.

    Such a mask has several values close to each end and few pixels in between; one whose labels are few,
    such as 0, 1, 2 and 255, has not.

    >>> looks_compressed(np.array([0, 0, 1, 3, 2, 255, 254, 251, 252, 255]))
    True
    >>> looks_compressed(np.array([0, 1, 2, 3, 255]))
    False
    """
    if values.size == 0 or not 0 <= values.min() <= values.max() <= 255:
        return False
    if values.dtype.kind == "f" and values.max() <= 1:
        values = values * 255
    counts = np.bincount(np.rint(values).astype(np.uint8).ravel(), minlength=256)
    low, high = counts[: _NEAR + 1], counts[255 - _NEAR :]
    several = np.count_nonzero(low[1:]) >= 3 and np.count_nonzero(high[:-1]) >= 3
    return bool(several and low.sum() + high.sum() >= 0.8 * values.size)

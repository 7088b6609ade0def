"""Arrays of any size to pictures of a size that can be looked at."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError

LONGEST, SHORTEST = 1600, 400
"""Pixels along the longest side of a picture."""

NEUTRAL = 32
"""The grey where there is no image."""

LUMA = np.array([0.299, 0.587, 0.114])


@dataclass(frozen=True)
class Scale:
    """Whole factors, so that no value is invented between two pixels."""

    shrink: int
    grow: int

    @classmethod
    def of(cls, shape: tuple[int, ...], longest: int = LONGEST, shortest: int = SHORTEST) -> Scale:
        """The scale at which an array's longest side lies between the two."""
        side = max(shape)
        if min(shape) == 0:
            raise CallError(f"nothing to draw: the array is {size_text(shape)}")
        return cls(shrink=-(-side // longest), grow=max(1, -(-shortest // side)))

    def most(self, array: NDArray[Any]) -> NDArray[Any]:
        """Each block's largest value: a thin vessel stays visible in a small picture."""
        for axis in (0, 1) if self.shrink > 1 else ():
            array = np.maximum.reduceat(array, self._starts(array, axis), axis=axis)
        return self._repeat(array)

    def mean(self, array: NDArray[Any]) -> NDArray[Any]:
        """Each block's mean."""
        for axis in (0, 1) if self.shrink > 1 else ():
            starts = self._starts(array, axis)
            widths = np.diff(np.append(starts, array.shape[axis]))
            sums = np.add.reduceat(array, starts, axis=axis, dtype=np.float64)
            array = sums / widths.reshape([-1 if a == axis else 1 for a in range(array.ndim)])
        return self._repeat(array)

    def _starts(self, array: NDArray[Any], axis: int) -> NDArray[np.intp]:
        return np.arange(0, array.shape[axis], self.shrink)

    def _repeat(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.repeat(self.grow, axis=0).repeat(self.grow, axis=1) if self.grow > 1 else array


def background(image: NDArray[Any] | None, shape: tuple[int, ...], scale: Scale) -> NDArray[np.uint8]:
    """An image in grey at the picture's scale, as red, green and blue.

    Bytes stay as they are; 16-bit and real-valued images are stretched over the middle 99% of their values.
    """
    if image is None:
        grey = scale.most(np.full(shape, NEUTRAL, np.uint8))
    else:
        image = np.asarray(image)
        if image.shape[:2] != shape:
            raise GridError(f"the image is {size_text(image.shape[:2])} but what lies over it is {size_text(shape)}")
        grey = as_bytes(_one_channel(scale.mean(image)), image.dtype)
    return np.repeat(grey[..., None], 3, axis=2)


def _one_channel(image: NDArray[Any]) -> NDArray[Any]:
    if image.ndim == 2:
        return image
    return np.asarray(image[..., :3] @ LUMA if image.shape[2] >= 3 else image[..., 0])


def as_bytes(values: NDArray[Any], kind: np.dtype[Any], ends: tuple[float, float] | None = None) -> NDArray[np.uint8]:
    """Values of an image of some type as bytes; what are no bytes is stretched between ``ends``, or its middle 99%."""
    if values.dtype == np.uint8:
        return values
    if kind.kind == "b":
        values = values * 255.0
    elif kind != np.uint8:
        low, high = ends or middle(values)
        # A constant image has nothing to stretch; it becomes middle grey.
        values = np.nan_to_num((values - low) / (high - low) if high > low else np.full(values.shape, 0.5)) * 255
    rounded: NDArray[np.uint8] = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return rounded


def middle(values: NDArray[Any]) -> tuple[float, float]:
    """Between which values the middle 99% lie."""
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, (0.5, 99.5)) if finite.size else (0.0, 0.0)
    return float(low), float(high)


def size_text(shape: tuple[int, ...]) -> str:
    """``512×512``."""
    return "×".join(str(side) for side in shape)

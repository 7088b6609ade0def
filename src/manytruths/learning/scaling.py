"""Sizes and grey levels that a network is fed with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Scaling:
    """Grey levels from ``low`` to ``high`` become 0 to 1; bytes stay bytes, of which 255 is 1."""

    low: float = 0.0
    high: float = 255.0
    bytes: bool = True

    @classmethod
    def of(cls, images: Sequence[Array]) -> Scaling:
        """Bytes as they are; of others all but the half percent at either end, which may be wild.

        >>> Scaling.of([np.arange(0, 4096, dtype=np.uint16)])
        Scaling(low=20.475, high=4074.525, bytes=False)
        """
        if all(image.dtype == np.uint8 for image in images):
            return cls()
        some = np.concatenate([image.ravel()[:: max(1, image.size // 100_000)].astype(np.float64) for image in images])
        low, high = np.quantile(some, [0.005, 0.995])
        return cls(float(low), float(high if high > low else low + 1), bytes=False)

    def __call__(self, image: Array) -> Array:
        """As the network's tensors hold it."""
        if self.bytes and image.dtype == np.uint8:
            return image
        return ((image.astype(np.float32) - self.low) / (self.high - self.low)).clip(0, 1)


def smaller(shape: Sequence[int], size: int | None) -> tuple[int, int]:
    """Height and width that fit into ``size``.

    >>> smaller((960, 1000), 500), smaller((100, 50), 500)
    ((480, 500), (100, 50))
    """
    height, width = int(shape[0]), int(shape[1])
    scale = 1.0 if size is None else min(1.0, size / max(height, width))
    return max(1, round(height * scale)), max(1, round(width * scale))


def reduced(image: Array, size: int | None) -> Array:
    """An image made smaller, each new pixel the mean of those it covers (or nearly: a triangle as wide)."""
    shape = smaller(image.shape, size)
    if shape == image.shape[:2]:
        return image
    from PIL import Image

    planes = [
        np.asarray(
            Image.fromarray(np.ascontiguousarray(plane, np.float32)).resize(shape[::-1], Image.Resampling.BILINEAR)
        )
        for plane in np.atleast_3d(image).transpose(2, 0, 1)
    ]
    made = np.stack(planes, axis=-1).reshape(*shape, *image.shape[2:])
    return np.rint(made).astype(image.dtype) if image.dtype.kind in "ui" else made


def reduced_labels(stack: Array, size: int | None) -> Array:
    """Label maps (…, H, W) made smaller: each new pixel is the old one at its middle."""
    shape = smaller(stack.shape[-2:], size)
    if shape == stack.shape[-2:]:
        return stack
    rows, columns = (
        ((np.arange(new) + 0.5) * old / new).astype(np.intp) for new, old in zip(shape, stack.shape[-2:], strict=True)
    )
    return np.ascontiguousarray(stack[..., rows[:, None], columns])

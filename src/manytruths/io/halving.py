"""Levels of a pyramid: each has half the pixels of the one above it along every axis."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

SMALLEST_LEVEL = 512
"""A pyramid ends with the first level that is not larger along any axis."""


def level_shapes(shape: tuple[int, ...]) -> list[tuple[int, ...]]:
    """The levels below an image of a shape."""
    shapes = [shape]
    while max(shapes[-1]) > SMALLEST_LEVEL:
        shapes.append(tuple(-(-n // 2) for n in shapes[-1]))
    return shapes[1:]


def halve(piece: NDArray[Any], nearest: bool) -> NDArray[Any]:
    """The first of each 2 × 2 (× 2) pixels; or their mean, at the edge of those that there are."""
    if nearest:
        return piece[(slice(None, None, 2),) * piece.ndim]
    if any(n % 2 for n in piece.shape):
        piece = np.pad(piece, [(0, n % 2) for n in piece.shape], mode="edge")
    first, *others = itertools.product((0, 1), repeat=piece.ndim)
    total = piece[tuple(slice(start, None, 2) for start in first)].copy()
    for starts in others:
        total += piece[tuple(slice(start, None, 2) for start in starts)]
    total /= 2**piece.ndim
    return total

"""Masks with smooth outlines, and masks of noise."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Masks = list[NDArray[np.uint8]]


def smooth(raters: int, size: int, seed: int = 0) -> Masks:
    """A blob, its outline moved a little by every rater."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[0:size, 0:size] / size - 0.5
    angle, radius = np.arctan2(y, x).astype(np.float32), np.hypot(y, x).astype(np.float32)
    masks = []
    for _ in range(raters):
        edge = np.full_like(angle, 0.3 + 0.01 * rng.standard_normal())
        for wave in range(2, 9):
            edge += 0.006 * rng.standard_normal() * np.cos(wave * angle + rng.uniform(0, 2 * np.pi))
        masks.append((radius < edge).astype(np.uint8))
    return masks


def noise(raters: int, size: int, seed: int = 0) -> Masks:
    """Every pixel of every rater drawn for itself: the worst there is."""
    rng = np.random.default_rng(seed)
    return [rng.integers(0, 2, (size, size), dtype=np.uint8) for _ in range(raters)]

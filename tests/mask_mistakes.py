"""Mistakes that happen to masks, made on purpose: one mask of a study, or all masks of a rater."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

Mask = np.ndarray

MISTAKES: dict[str, Callable[[Mask, np.random.Generator], Mask]] = {}
"""By the kind of suspicion that should follow: a function of a mask and random numbers."""


def mistake(function):
    MISTAKES[function.__name__] = function
    return function


@mistake
def all_marked(mask, rng):
    return np.full_like(mask, mask.max())


@mistake
def inverted(mask, rng):
    return np.where(mask == 0, mask.max(), 0).astype(mask.dtype)


@mistake
def turned(mask, rng):
    return np.flip(mask, rng.integers(mask.ndim)).copy()


@mistake
def shifted(mask, rng):
    """By a tenth of the image along one axis; what leaves the image is lost."""
    axis = rng.integers(mask.ndim)
    return move(mask, {axis: int(rng.choice((-1, 1))) * max(2, mask.shape[axis] // 10)})


def move(mask, steps):
    moved = np.zeros_like(mask)
    mine, theirs = [slice(None)] * mask.ndim, [slice(None)] * mask.ndim
    for axis, step in steps.items():
        n = mask.shape[axis]
        mine[axis], theirs[axis] = slice(max(0, -step), n - max(0, step)), slice(max(0, step), n - max(0, -step))
    moved[tuple(theirs)] = mask[tuple(mine)]
    return moved


@mistake
def scaled(mask, rng):
    """Drawn at half the resolution, and saved into the corner of an empty image."""
    small = mask[(slice(None, None, 2),) * mask.ndim]
    result = np.zeros_like(mask)
    result[tuple(slice(n) for n in small.shape)] = small
    return result


@mistake
def speckle(mask, rng):
    noise = rng.random(mask.shape) < 0.01
    return np.where(noise, mask.max(), mask).astype(mask.dtype)


@mistake
def pinholes(mask, rng):
    return np.where(rng.random(mask.shape) < 0.1, 0, mask).astype(mask.dtype)


@mistake
def missing_marks(mask, rng):
    return np.zeros_like(mask)


@mistake
def other_labels(mask, rng):
    """Labels in the reverse order."""
    labels = [value for value in np.unique(mask).tolist() if value]
    table = np.arange(max(labels, default=0) + 1, dtype=mask.dtype)
    table[labels] = labels[::-1]
    return table[mask]

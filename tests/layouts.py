"""The same array in every order in memory."""

from __future__ import annotations

import tempfile

import numpy as np


def _strided(array: np.ndarray) -> np.ndarray:
    """Every second item of a larger array, along every axis."""
    larger = np.full([2 * n + 1 for n in array.shape], 9, array.dtype)
    view = larger[tuple(slice(1, None, 2) for _ in array.shape)]
    view[...] = array
    return view


def _reversed(array: np.ndarray) -> np.ndarray:
    back = tuple(slice(None, None, -1) for _ in array.shape)
    return array[back].copy()[back]


def _transposed(array: np.ndarray) -> np.ndarray:
    """The axes turned in memory: neither C nor Fortran order in three dimensions."""
    turned = [*range(1, array.ndim), 0]
    return array.transpose(turned).copy().transpose(np.argsort(turned))


def _memmap(array: np.ndarray) -> np.ndarray:
    if not array.size:
        return array
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, array.dtype, "w+", shape=array.shape)
    mapped[...] = array
    return mapped


LAYOUTS = {
    "C": np.ascontiguousarray,
    "F": np.asfortranarray,
    "transposed": _transposed,
    "reversed": _reversed,
    "strided": _strided,
    "memmap": _memmap,
}

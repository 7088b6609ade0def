"""Boundary maps in 2-D: made of regions, and thinned to lines one pixel wide.

Thinning takes pixels away from both sides of a line in turn, until none can go. Whether a pixel goes depends on its
eight neighbours x1 … x8 (east, then counter-clockwise) alone, so it is a table of 256 answers for each side. With
``C`` the number of times that a neighbour at a side is empty and one of the two after it is not, and ``N`` the smaller
of the two numbers of occupied pairs (x1 x2, x3 x4, … and x2 x3, …, x8 x1), a pixel goes if ::

    C = 1,    2 ≤ N ≤ 3,    and    (x2 ∨ x3 ∨ ¬x8) ∧ x1 = 0    in one turn,    (x6 ∨ x7 ∨ ¬x4) ∧ x5 = 0    in the other

This keeps every 8-connected part; the older rule of Zhang and Suen makes 2 × 2 squares vanish.

Guo Z, Hall RW. Parallel thinning with two-subiteration algorithms. Commun ACM 1989;32:359–373. doi:10.1145/62065.62074
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, InputError, LabelError

Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]

NEIGHBOURS = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))
"""x1 … x8 as rows and columns from the pixel: bits 0 … 7 of its code."""


def thin(mask: ArrayLike) -> Flags:
    """The mask worn down to lines one pixel wide, each connected part (diagonals included) still one part.

    >>> thin([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]]).astype(int)
    array([[0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0],
           [0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0]])
    """
    solid = boundary_map(mask, "the mask")
    framed = np.pad(solid, 1).astype(np.uint8)
    steps = np.array([down * framed.shape[1] + right for down, right in NEIGHBOURS])
    _wear(framed.reshape(-1), steps)
    return framed[1:-1, 1:-1].astype(bool)


def boundary_of(labels: ArrayLike) -> Flags:
    """Where regions meet: pixels whose right, lower or lower right neighbour has another label.

    The rule of the Berkeley benchmark. The line lies half a pixel up and left of the true one; the edge of the image
    is no boundary. Two maps made by the same rule can be compared; a drawn line is half a pixel away.

    >>> boundary_of([[1, 1, 2], [1, 1, 2], [3, 3, 3]]).astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 0, 0]])
    """
    regions = plane(labels, "the label map")
    edges = np.zeros(regions.shape, bool)
    edges[:, :-1] |= regions[:, :-1] != regions[:, 1:]
    edges[:-1] |= regions[:-1] != regions[1:]
    edges[:-1, :-1] |= regions[:-1, :-1] != regions[1:, 1:]
    return edges


def plane(values: ArrayLike, what: str) -> NDArray[Any]:
    """A 2-D array of finite numbers, or an error that says what it is."""
    array = np.asarray(values)
    if array.ndim != 2:
        raise CallError(
            f"{what} has shape {array.shape}; boundaries are compared in 2-D only: give one slice at a time"
        )
    if array.dtype.kind not in "biuf":
        raise CallError(f"{what} holds {array.dtype}; give booleans or numbers")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{what} has {(~np.isfinite(array)).sum()} values that are not finite; replace them first")
    return array


def boundary_map(values: ArrayLike, what: str) -> Flags:
    """A 2-D map of what is marked: 0 and one other value."""
    array = plane(values, what)
    marked: Flags = array != 0
    if array.dtype != bool and np.unique(array[marked]).size > 1:
        some = ", ".join(f"{v:g}" for v in np.unique(array)[:5])
        raise LabelError(f"{what} has values {some}; it takes 0 and one other. boundary_of makes such a map of labels")
    return marked


def _wear(flat: NDArray[np.uint8], steps: Indices) -> None:
    """Take away what can go, looking only at pixels whose neighbours changed since the same table saw them."""
    everything = np.flatnonzero(flat)
    due, place = [everything, everything], np.zeros(flat.size, np.intp)
    turn = 0
    while len(due[0]) or len(due[1]):
        looked = _once_each(due[turn][flat[due[turn]] > 0], place)
        gone = looked[_TABLES[turn][_codes(flat, looked, steps)]]
        flat[gone] = 0
        changed = (gone[:, None] + steps).reshape(-1)
        due[turn] = changed
        due[1 - turn] = np.concatenate([due[1 - turn], changed])
        turn = 1 - turn


def _once_each(indices: Indices, place: Indices) -> Indices:
    """Each index once, in order of its last mention; ``place`` is room to write in."""
    order = np.arange(len(indices))
    place[indices] = order
    last: Indices = indices[place[indices] == order]
    return last


def _codes(flat: NDArray[np.uint8], at: Indices, steps: Indices) -> NDArray[np.uint8]:
    codes = np.zeros(len(at), np.uint8)
    for bit, step in enumerate(steps):
        codes |= flat[at + step] << np.uint8(bit)
    return codes


def _tables() -> tuple[Flags, Flags]:
    """For each code, whether the pixel goes: in the first and in the second turn."""
    x = (np.arange(256)[:, None] >> np.arange(8) & 1).astype(bool)
    sides, corners = x[:, 0::2], x[:, 1::2]
    after = np.roll(sides, -1, axis=1)
    crossings = (~sides & (corners | after)).sum(axis=1)
    pairs = np.minimum((sides | corners).sum(axis=1), (corners | after).sum(axis=1))
    may = (crossings == 1) & (pairs >= 2) & (pairs <= 3)
    x1, x2, x3, x4, x5, x6, x7, x8 = x.T
    return may & ~((x2 | x3 | ~x8) & x1), may & ~((x6 | x7 | ~x4) & x5)


_TABLES = _tables()

"""Boundary maps in 2-D: found between regions, thinned to lines one pixel wide, and matched one to one.

Thinning takes pixels away from both sides of a line in turn, until none can go. Whether a pixel goes depends on its
eight neighbours x1 … x8 (east, then counter-clockwise) alone, so it is a table of 256 answers for each side. With
``C`` the number of times that a neighbour at a side is empty and one of the two after it is not, and ``N`` the smaller
of the two numbers of occupied pairs (x1 x2, x3 x4, … and x2 x3, …, x8 x1), a pixel goes if ::

    C = 1,    2 ≤ N ≤ 3,    and    (x2 ∨ x3 ∨ ¬x8) ∧ x1 = 0    in one turn,    (x6 ∨ x7 ∨ ¬x4) ∧ x5 = 0    in the other

This keeps every 8-connected part; the older rule of Zhang and Suen makes 2 × 2 squares vanish.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError, InputError, LabelError
from ..core.undefined import ratio
from .assignment import Flags, Indices, Reach, maximum_matching, pixel_distances, shortest_matching

SHARE = 0.0075
"""The benchmark's tolerance as a share of the image's diagonal."""
NEIGHBOURS = ((0, 1), (-1, 1), (-1, 0), (-1, -1), (0, -1), (1, -1), (1, 0), (1, 1))
"""x1 … x8 as rows and columns from the pixel: bits 0 … 7 of its code."""


def thin(mask: ArrayLike) -> Flags:
    """Thin a mask to lines one pixel wide.

    Each connected part, diagonals included, stays one part.

    Parameters
    ----------
    mask : array_like
        A 2-D mask: 0 and one other value.

    Returns
    -------
    numpy.ndarray
        The lines, as booleans.

    References
    ----------
    Guo Z, Hall RW. Parallel thinning with two-subiteration algorithms. Commun ACM 1989;32:359–373.
    doi:10.1145/62065.62074

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.thin([[0, 0, 0, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1]]).astype(int)
    array([[0, 0, 0, 0, 0],
           [0, 0, 0, 0, 0],
           [0, 1, 1, 1, 0],
           [0, 0, 0, 0, 0]])
    """
    solid = check_boundary_map(mask, "the mask")
    framed = np.pad(solid, 1).astype(np.uint8)
    steps = np.array([down * framed.shape[1] + right for down, right in NEIGHBOURS])
    _thin_in_place(framed.reshape(-1), steps)
    return framed[1:-1, 1:-1].astype(bool)


def find_boundaries(labels: ArrayLike) -> Flags:
    """Find where regions meet: pixels whose right, lower or lower right neighbour has another label.

    The rule of the Berkeley benchmark. The line lies half a pixel up and left of the true one; the edge of the image
    is no boundary. Two maps made by the same rule can be compared; a drawn line is half a pixel away.

    Parameters
    ----------
    labels : array_like
        A 2-D label map.

    Returns
    -------
    numpy.ndarray
        The boundaries, as booleans.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.find_boundaries([[1, 1, 2], [1, 1, 2], [3, 3, 3]]).astype(int)
    array([[0, 1, 0],
           [1, 1, 1],
           [0, 0, 0]])
    """
    regions = check_plane(labels, "the label map")
    edges = np.zeros(regions.shape, bool)
    edges[:, :-1] |= regions[:, :-1] != regions[:, 1:]
    edges[:-1] |= regions[:-1] != regions[1:]
    edges[:-1, :-1] |= regions[:-1, :-1] != regions[1:, 1:]
    return edges


def check_plane(values: ArrayLike, what: str) -> NDArray[Any]:
    """The values as a 2-D array of finite numbers; raises with ``what`` in the message where they are not."""
    array = np.asarray(values)
    if array.ndim != 2:
        raise CallError(f"{what} has shape {array.shape}; boundaries are compared in 2-D only: give one slice each")
    if array.dtype.kind not in "biuf":
        raise CallError(f"{what} holds {array.dtype}; give booleans or numbers")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{what} has {(~np.isfinite(array)).sum()} values that are not finite; replace them first")
    return array


def check_boundary_map(values: ArrayLike, what: str) -> Flags:
    """Where a 2-D map of 0 and one other value is marked."""
    array = check_plane(values, what)
    marked: Flags = array != 0
    if array.dtype != bool and np.unique(array[marked]).size > 1:
        some = ", ".join(f"{v:g}" for v in np.unique(array)[:5])
        raise LabelError(f"{what} has values {some}; give 0 and one other; find_boundaries makes such a map of labels")
    return marked


def _thin_in_place(flat: NDArray[np.uint8], steps: Indices) -> None:
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


@dataclass(frozen=True, eq=False)
class BoundaryMatch:
    """Which pixels of two boundary maps were matched, and with which.

    Attributes
    ----------
    shape : tuple of int
        Height and width of the maps.
    tolerance : float
        Largest distance of two matched pixels, in pixels.
    n_prediction : int
        Number of boundary pixels in the prediction.
    n_reference : int
        Number of boundary pixels in the reference standard.
    prediction_at : numpy.ndarray
        (pairs, 2): row and column of the predicted pixel of each pair.
    reference_at : numpy.ndarray
        (pairs, 2): row and column of the reference standard's pixel of each pair.
    """

    shape: tuple[int, int]
    tolerance: float
    n_prediction: int
    n_reference: int
    prediction_at: Indices
    reference_at: Indices

    def __repr__(self) -> str:
        return (
            f"BoundaryMatch({self.pairs} pairs of {self.n_prediction} predicted and {self.n_reference} reference "
            f"pixels, tolerance {self.tolerance:.4g})"
        )

    @property
    def pairs(self) -> int:
        """Number of matched pairs."""
        return len(self.prediction_at)

    @property
    def precision(self) -> float:
        """Share of the predicted pixels that are matched."""
        return ratio(self.pairs, self.n_prediction, "no_boundary_found")

    @property
    def recall(self) -> float:
        """Share of the reference standard's pixels that are matched."""
        return ratio(self.pairs, self.n_reference, "no_boundary_in_truth")

    @property
    def distances(self) -> NDArray[np.float64]:
        """Distance between the two pixels of each pair."""
        return pixel_distances(self.prediction_at, self.reference_at)

    @property
    def prediction_map(self) -> Flags:
        """Map of the matched pixels of the prediction."""
        return self._draw(self.prediction_at)

    @property
    def reference_map(self) -> Flags:
        """Map of the matched pixels of the reference standard."""
        return self._draw(self.reference_at)

    def _draw(self, at: Indices) -> Flags:
        mask = np.zeros(self.shape, bool)
        mask[at[:, 0], at[:, 1]] = True
        return mask


def match_boundaries(prediction: ArrayLike, reference: ArrayLike, tolerance: float | None = None) -> BoundaryMatch:
    """Match the pixels of two boundary maps one to one, within a tolerance.

    Two pixels may be matched when their centres are no further apart than the tolerance. Of all one-to-one matchings,
    those with the most pairs are taken, and of these one with the smallest total distance. The number of pairs, which
    precision and recall read, is the same for all of them; which pixels are matched may differ where the smallest
    distance is reached in several ways.

    The Berkeley benchmark minimises distance plus 100 tolerances for an unmatched pixel, with distances rounded to a
    hundredth of a pixel and a few ways to stay unmatched drawn at random for each. It gives up a pair only where that
    shortens others by some hundred tolerances in all; otherwise the problem is the same.

    Parameters
    ----------
    prediction, reference : array_like
        2-D boundary maps of one shape; :func:`thin` them first where lines are thicker than a pixel.
    tolerance : float, optional
        In pixels; by default 0.0075 of the image's diagonal.

    Returns
    -------
    BoundaryMatch
        The pairs, and the precision and recall that follow from them.

    References
    ----------
    Martin DR, Fowlkes CC, Malik J. Learning to detect natural image boundaries using local brightness, color, and
    texture cues. IEEE Trans Pattern Anal Mach Intell 2004;26:530–549. doi:10.1109/TPAMI.2004.1273918

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.match_boundaries([[1, 1, 1, 1], [0, 0, 0, 0]], [[0, 0, 0, 0], [0, 1, 1, 0]], tolerance=1)
    BoundaryMatch(2 pairs of 4 predicted and 2 reference pixels, tolerance 1)
    """
    first, second = check_boundary_map(prediction, "the prediction"), check_boundary_map(reference, "the reference")
    if first.shape != second.shape:
        raise GridError(f"the prediction is {first.shape} but the reference is {second.shape}; resample one of them")
    reached = tolerance_in_pixels(first.shape, tolerance)
    reach = Nearby.of(second, reached).reach(first)
    partner = shortest_matching(reach, maximum_matching(reach))
    matched = partner >= 0
    at, to = reach.row_at[matched], reach.column_at[partner[matched]]
    return BoundaryMatch(_sizes(first), reached, reach.height, reach.width, at, to)


def tolerance_in_pixels(shape: Sequence[int], tolerance: float | None = None, share: float = SHARE) -> float:
    """The tolerance in pixels: what was given, or a share of the image's diagonal."""
    name, given = ("share", share) if tolerance is None else ("tolerance", tolerance)
    if not (given > 0 and math.isfinite(given)):
        raise CallError(f"{name} must be a finite number above 0; got {given!r}")
    return float(given) if tolerance is not None else float(share * math.hypot(*shape))


@dataclass(frozen=True, eq=False)
class Nearby:
    """The reference pixels, ready to be looked up around any pixel: sums along the rows count those in each stretch."""

    shape: tuple[int, int]
    at: Indices
    before: Indices
    """How many reference pixels come before each pixel, in reading order."""
    down: Indices
    """The rows of the disc, from the pixel's own."""
    sideways: Indices
    """How far each row of the disc goes to either side."""

    @classmethod
    def of(cls, reference: Flags, tolerance: float) -> Nearby:
        most = np.arange(min(math.floor(tolerance), max(reference.shape)) + 1)
        inside = np.sqrt(most[:, None] ** 2 + most**2) <= tolerance
        half = inside.sum(axis=1) - 1
        down, sideways = np.append(-most[:0:-1], most), np.append(half[:0:-1], half)
        before = np.append(0, np.cumsum(reference.reshape(-1)))
        return cls(_sizes(reference), np.argwhere(reference), before, down, sideways)

    def reach(self, prediction: Flags) -> Reach:
        """For each predicted pixel, the reference pixels within the tolerance."""
        height, width = self.shape
        at = np.argwhere(prediction)
        rows, columns = at[:, :1] + self.down, at[:, 1:]
        starts = np.clip(rows, 0, height - 1) * width
        low = self.before[starts + np.maximum(columns - self.sideways, 0)]
        high = self.before[starts + np.minimum(columns + self.sideways, width - 1) + 1]
        counts = np.where((rows >= 0) & (rows < height), high - low, 0).reshape(-1)
        ends = np.append(0, np.cumsum(counts))
        members = np.arange(ends[-1]) - np.repeat(ends[:-1] - low.reshape(-1), counts)
        return Reach(ends[:: len(self.down)], members, at, self.at)


def _sizes(flags: Flags) -> tuple[int, int]:
    height, width = flags.shape
    return height, width

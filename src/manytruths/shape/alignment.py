"""Move a mask onto another voxel grid: exactly where both share a lattice, else by nearest neighbour on request.

Two grids share a lattice if, were both large enough, every voxel of one would lie on a voxel of the other: the same
axes, possibly flipped or in another order, the same spacing, and origins a whole number of voxels apart. An array then
moves from one to the other without any of its values changing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError
from .grid import MAX_ITEMS, TOLERANCE, Grid, longest, times

Array = NDArray[Any]
Floats = NDArray[np.float64]

RESAMPLED = "(resampled)"
"""Follows the name of the region in rows of results for which masks were resampled."""
ROUNDING = 1e-9
"""Corners nearer to each other than this, in voxels, differ by the rounding of 64-bit numbers alone."""
_AT_ONCE = 1 << 20
"""Voxels that are looked up at a time."""
_FAR = 1 << 40
"""Voxels; an origin farther away than this is a mistake in a header."""
_HALF = 0.5 + 1e-6
"""Half-way between two voxels counts as the later one, also where rounding has moved it a little."""


@dataclass(frozen=True)
class Alignment:
    """What was done to an array, and how far it went."""

    how: str = ""
    """Nothing, ``jitter`` (accepted as it is), ``cropped``, ``padded``, ``reoriented`` or ``resampled``: of several
    the last in this order."""
    detail: str = ""


@dataclass(frozen=True, eq=False)
class Aligned:
    """An array on the grid it was wanted on."""

    array: Array
    done: Alignment


@dataclass(frozen=True)
class Steps:
    """How to get from one grid to another in whole voxels."""

    axes: tuple[int, ...]
    """For each axis of the target, the array's own that runs along it."""
    back: tuple[bool, ...]
    """Which of them run the other way."""
    start: tuple[int, ...]
    """Where on the target the turned array begins."""
    apart: float
    """How far its voxels lie beside the target's at most, in voxels."""

    def turn(self, array: Array) -> Array:
        """The array with its axes as the target has them."""
        return array.transpose(self.axes)[tuple(slice(None, None, -1) if back else slice(None) for back in self.back)]

    def size(self, grid: Grid) -> tuple[int, ...]:
        """The array's size on the target."""
        return tuple(grid.shape[axis] for axis in self.axes)


def lattice_steps(grid: Grid, onto: Grid) -> Steps | None:
    """The way from a volume's grid to another; None where they share no lattice or do not say where they lie."""
    between = _between(grid, onto)
    if between is None:
        return None
    turn = np.rint(between[:3, :3])
    if not (_one_each(turn) and np.abs(between).max() < _FAR):
        return None
    middle = (np.array(grid.shape) - 1) / 2
    shift = np.rint((between[:3, :3] - turn) @ middle + between[:3, 3])
    apart = _apart(grid, onto, turn, shift)
    if apart > TOLERANCE:
        return None
    axes = tuple(int(axis) for axis in np.abs(turn).argmax(axis=1))
    back = tuple(bool(turn[k, axis] < 0) for k, axis in enumerate(axes))
    start = tuple(int(s) - (grid.shape[axis] - 1 if b else 0) for s, axis, b in zip(shift, axes, back, strict=True))
    return Steps(axes, back, start, apart)


def _between(grid: Grid, onto: Grid) -> Floats | None:
    """From an index on one grid to that on another."""
    if not (grid.placed and onto.placed):
        return None
    try:
        matrix = np.linalg.solve(onto.matrix(), grid.matrix()).astype(np.float64)
    except np.linalg.LinAlgError:
        return None
    return matrix if np.isfinite(matrix).all() else None


def _one_each(turn: Floats) -> bool:
    """Whether each axis goes along one other, the same way or back."""
    ways = np.abs(turn)
    return bool((ways.max() <= 1) and (ways.sum(axis=0) == 1).all() and (ways.sum(axis=1) == 1).all())


def _apart(grid: Grid, onto: Grid, turn: Floats, shift: Floats) -> float:
    # one step at least: a single slice has a thickness, too
    ends = [(0, max(n - 1, 1)) for n in grid.shape]
    corners = np.array(list(product(*ends)), np.float64)
    own, wanted = grid.matrix(), onto.matrix()
    here = corners @ own[:3, :3].T + own[:3, 3]
    there = (corners @ turn.T + shift) @ wanted[:3, :3].T + wanted[:3, 3]
    return longest(here - there) / _voxel(grid, onto)


def _voxel(*grids: Grid) -> float:
    return min(side for grid in grids for side in grid.spacing or (1.0,))


def obstacle(grid: Grid, onto: Grid) -> str:
    """What keeps an array from being put exactly onto another grid; empty where nothing does."""
    differs = grid.difference(onto)
    if not differs or lattice_steps(grid, onto) is not None:
        return ""
    return _lattices(grid, onto) if can_resample(grid, onto) else differs


def can_resample(grid: Grid, onto: Grid) -> bool:
    """Whether both say where they lie, so that nearest neighbours can be found."""
    return _between(grid, onto) is not None and _between(onto, grid) is not None


def _lattices(grid: Grid, onto: Grid) -> str:
    """How two lattices differ, in words."""
    sides = np.array(grid.spacing), np.array(onto.spacing)
    own, wanted = grid.matrix()[:3, :3] / sides[0], onto.matrix()[:3, :3] / sides[1]
    along = np.abs(wanted.T @ own)
    axes = along.argmax(axis=1)
    if len(set(axes.tolist())) < 3:
        return "affine: axes oriented otherwise"
    reach = np.maximum(np.array(grid.shape)[axes] - 1, 1)
    mine = sides[0][axes]
    if (np.abs(mine - sides[1]) * reach > TOLERANCE * _voxel(grid, onto)).any():
        return f"spacing {times(mine.tolist())} mm instead of {times(sides[1].tolist())} mm"
    sine = np.linalg.norm(np.cross(own[:, axes], wanted, axis=0), axis=0)
    if (sine * reach * mine > TOLERANCE * _voxel(grid, onto)).any():
        return f"affine: axes turned by {np.degrees(np.arcsin(min(1.0, sine.max()))):.3g}°"
    away = longest((grid.matrix() - onto.matrix())[None, :3, 3])
    return f"affine: the origin is {away:.4g} mm away, no whole number of voxels"


def bounding_grid(first: Grid, others: Iterable[Grid]) -> Grid:
    """The smallest box on a grid's lattice that holds it and all others that share the lattice."""
    low, high = [0] * len(first.shape), list(first.shape)
    for other in others:
        way = lattice_steps(other, first)
        if way is not None:
            low = [min(a, b) for a, b in zip(low, way.start, strict=True)]
            ends = [a + n for a, n in zip(way.start, way.size(other), strict=True)]
            high = [max(a, b) for a, b in zip(high, ends, strict=True)]
    shape = tuple(b - a for a, b in zip(low, high, strict=True))
    if shape == first.shape:
        return first
    if math.prod(shape) > MAX_ITEMS:
        raise GridError(
            f"the masks lie so far apart that the box around them is {times(shape)}, more than {MAX_ITEMS} voxels; "
            "correct the affines"
        )
    affine = first.matrix()
    affine[:3, 3] += affine[:3, :3] @ np.array(low)
    return Grid(shape, first.spacing, tuple(map(tuple, affine.tolist())))


def plan_alignment(grid: Grid, onto: Grid, resample: str | None = None) -> Alignment:
    """What :func:`align` will do, as far as headers say; a GridError where it would refuse."""
    if resample not in (None, "nearest"):
        raise CallError(f"resample is None or 'nearest'; got {resample!r}")
    differs = grid.difference(onto)
    if not differs:
        apart = grid.apart(onto)
        return Alignment("jitter", _beside(apart)) if apart > ROUNDING else Alignment()
    way = lattice_steps(grid, onto)
    if way is not None:
        return _describe(way, grid, onto)
    differs = obstacle(grid, onto)
    if can_resample(grid, onto) and resample:
        return Alignment("resampled", f"nearest neighbour: {differs}")
    offer = ", or give resample='nearest' (--resample nearest)" if can_resample(grid, onto) else ""
    raise GridError(f"{differs}; resample it{offer}")


def _beside(apart: float) -> str:
    return f"corners {apart:.2g} voxels apart"


def _describe(way: Steps, grid: Grid, onto: Grid) -> Alignment:
    size, how, details = way.size(grid), "", list[str]()
    if way.apart > ROUNDING:
        how, details = "jitter", [_beside(way.apart)]
    after = [n - s - m for n, s, m in zip(onto.shape, way.start, size, strict=True)]
    more, less = _margins(way.start, after), _margins([-s for s in way.start], [-a for a in after])
    if less:
        how, details = "cropped", [f"cropped by {less}", *details]
    if more:
        how, details = "padded", [f"padded by {more}", *details]
    turns = [f"axes in the order {' '.join(str(a + 1) for a in way.axes)}"] if way.axes != (0, 1, 2) else []
    flipped = " and ".join(str(k + 1) for k, back in enumerate(way.back) if back)
    turns += [f"axis {flipped} flipped"] if flipped else []
    return Alignment("reoriented" if turns else how, ", ".join([*turns, *details]))


def _margins(before: Sequence[int], after: Sequence[int]) -> str:
    """``2+0 × 0+0 × 0+3`` voxels before and after, axis by axis; empty where there are none."""
    pairs = [(max(a, 0), max(b, 0)) for a, b in zip(before, after, strict=True)]
    return " × ".join(f"{a}+{b}" for a, b in pairs) if any(map(any, pairs)) else ""


def align(array: Array, grid: Grid, onto: Grid, resample: str | None = None) -> Aligned:
    """An array of one grid on another.

    Grids that are the same, or nearly (corners within 0.1% of a voxel): the array as it is. Volumes on one lattice:
    turned, padded with 0, and cropped where nothing but 0 is lost. Else a GridError; with ``resample="nearest"``, and
    where both grids say how they lie in the patient, the value of the nearest voxel, and 0 outside.

    >>> mine = Grid((2, 1, 1), affine=((-1, 0, 0, 1), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)))
    >>> wanted = Grid((3, 1, 1), affine=((1, 0, 0, 0), (0, 1, 0, 0), (0, 0, 1, 0), (0, 0, 0, 1)))
    >>> moved = align(np.array([[[7]], [[8]]]), mine, wanted)
    >>> moved.array.ravel().tolist(), moved.done.how, moved.done.detail
    ([8, 7, 0], 'reoriented', 'axis 1 flipped, padded by 0+1 × 0+0 × 0+0')
    """
    done = plan_alignment(grid, onto, resample)
    if done.how in ("", "jitter"):
        return Aligned(array, done)
    way = lattice_steps(grid, onto)
    if way is not None:
        return Aligned(_move(array, way, onto), done)
    lost = _count_outside(array, grid, onto)
    note = f"; {lost} of {np.count_nonzero(array)} voxels that are not 0 lie outside and are lost" if lost else ""
    return Aligned(resample_nearest(array, grid, onto), replace(done, detail=done.detail + note))


def _move(array: Array, way: Steps, onto: Grid) -> Array:
    turned = way.turn(array)
    both = list(zip(way.start, turned.shape, onto.shape, strict=True))
    own = turned[tuple(slice(min(n, max(0, -s)), max(0, min(n, m - s))) for s, n, m in both)]
    if own.shape != turned.shape:
        marked = np.count_nonzero(array)
        lost = marked - np.count_nonzero(own)
        if lost:
            raise GridError(f"{lost} of {marked} voxels that are not 0 outside of the wanted grid")
    # in the memory order of the file: masks that are counted together are read fastest in one order
    order: Any = "F" if array.flags.f_contiguous else "C"
    result = np.zeros(onto.shape, array.dtype, order=order)
    result[tuple(slice(max(0, s), max(0, s) + n) for (s, _, _), n in zip(both, own.shape, strict=True))] = own
    return result


def resample_nearest(array: Array, grid: Grid, onto: Grid) -> Array:
    """The value of the nearest voxel (half-way: the one with the larger index), and 0 outside."""
    way = _between(onto, grid)
    assert way is not None
    result = np.zeros(onto.shape, array.dtype)
    rows = result.reshape(-1, onto.shape[2])
    last = np.arange(onto.shape[2])
    for first in range(0, len(rows), max(1, _AT_ONCE // onto.shape[2])):
        part = rows[first : first + max(1, _AT_ONCE // onto.shape[2])]
        i, j = np.divmod(np.arange(first, first + len(part)), onto.shape[1])
        positions = [(w[0] * i + w[1] * j + w[3])[:, None] + w[2] * last for w in way[: len(grid.shape)]]
        # -1 or the size itself wherever they lie outside
        sized = zip(positions, grid.shape, strict=True)
        places = [np.floor(at + _HALF).clip(-1, n).astype(np.int64) for at, n in sized]
        inside = np.logical_and.reduce([(p >= 0) & (p < n) for p, n in zip(places, grid.shape, strict=True)])
        part[inside] = array[tuple(p[inside] for p in places)]
    return result


def _count_outside(array: Array, grid: Grid, onto: Grid) -> int:
    """How many voxels that are not 0 have their centre outside of a grid."""
    way = _between(grid, onto)
    assert way is not None
    lost = 0
    for number, part in enumerate(array):
        places = np.argwhere(part) @ way[:3, 1:3].T + way[:3, 0] * number + way[:3, 3]
        index = np.floor(places + _HALF)
        lost += int(np.count_nonzero(((index < 0) | (index >= np.array(onto.shape))).any(axis=1)))
    return lost

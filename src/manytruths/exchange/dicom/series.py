"""Where the slices of DICOM series lie in the patient, and the stacks that they make.

A voxel (i, j, k) is column i, row j of slice k; slices are in the order of their place along the normal, as SimpleITK
and dcm2niix have them. DICOM counts to the left and to the back, grids here to the right and to the front.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.errors import GridError
from ...shape.grid import TOLERANCE, Grid
from ..opening import LARGEST_SIDE
from .planes import LARGEST_VOLUME, Numbers, Planes

NEAR = 0.01
"""Tools round positions when they write them: frames lie on slices up to so much of a voxel."""
PARALLEL = 1e-4
"""How much the cosines of slices of one stack may differ."""
_TO_RIGHT_AND_FRONT = np.diag([-1.0, -1.0, 1.0, 1.0])


@dataclass(frozen=True, eq=False)
class Stack:
    """A volume of slices."""

    grid: Grid
    order: tuple[int, ...] = ()
    """For each slice, which of the planes it is; of several at one place, the first."""


# -- stacks ----------------------------------------------------------------------------------------------


def stacked(planes: Planes, *, filled: bool = False) -> Stack:
    """The volume that slices make, once it is sure that they do.

    Parameters
    ----------
    filled
        Whether slices that are not there are empty ones, as in files that hold what is marked alone.
    """
    along, spacing = _one_way(planes)
    heights = planes.positions @ along[2]
    order = np.argsort(heights, kind="stable")
    levels = _distinct(heights[order])
    order, heights = order[levels], heights[order][levels]
    step = _step(heights, planes, filled)
    up = _upwards(planes.positions[order], along[2], heights, step, float(spacing.min()))
    slices = 1 + round(float(heights[-1] - heights[0]) / step)
    if slices > LARGEST_SIDE or slices * planes.rows * planes.columns > LARGEST_VOLUME >> filled:
        raise GridError(f"would be a stack of {slices} slices; export it again")
    affine = np.eye(4)
    affine[:3, 0], affine[:3, 1], affine[:3, 2] = along[0] * spacing[1], along[1] * spacing[0], up
    affine[:3, 3] = planes.positions[order[0]]
    grid = Grid((planes.columns, planes.rows, slices), affine=_rows(_TO_RIGHT_AND_FRONT @ affine))
    return Stack(grid, tuple(int(k) for k in order))


def _rows(affine: Numbers) -> tuple[tuple[float, ...], ...]:
    # without the minus of a zero that was turned round
    return tuple(tuple(row) for row in (affine + 0.0).tolist())


def _one_way(planes: Planes) -> tuple[Numbers, Numbers]:
    """The ways along a row, along a column and from slice to slice, and the spacing of all slices."""
    if not np.isfinite(planes.spacings).all():
        raise GridError("some slices have no PixelSpacing; export them with their geometry")
    turned = np.abs(planes.orientations - planes.orientations[0]).max()
    wider = np.abs(planes.spacings / planes.spacings[0] - 1).max()
    if turned > PARALLEL or wider > PARALLEL:
        what = "orientations" if turned > PARALLEL else "spacings"
        raise GridError(f"holds slices of several {what}; keep those of one stack (scouts are often in it, too)")
    across, down = planes.orientations[0].reshape(2, 3)
    lengths = np.linalg.norm([across, down], axis=1)
    if not np.allclose(lengths, 1, atol=1e-3) or abs(across @ down) > 1e-3:
        raise GridError(f"its ImageOrientationPatient is {planes.orientations[0].tolist()}, which is no orientation")
    across = across / lengths[0]
    down = down - (down @ across) * across
    down /= np.linalg.norm(down)
    return np.array([across, down, np.cross(across, down)]), planes.spacings[0]


def _distinct(heights: Numbers) -> NDArray[np.bool_]:
    """The first at each place: series of several times or echoes have as many."""
    gaps = np.diff(heights)
    least = TOLERANCE * float(gaps.max(initial=0.0))
    return np.concatenate([[True], gaps > max(least, 1e-6)])


def _upwards(positions: Numbers, normal: Numbers, heights: Numbers, step: float, spacing: float) -> Numbers:
    """The way from slice to slice: that of the positions, whose cosines are rounded less."""
    counts = np.round((heights - heights[0]) / step)
    if not counts[-1]:
        return normal * step
    up: Numbers = (positions[-1] - positions[0]) / counts[-1]
    beside = positions - positions[0] - np.outer(counts, up)
    if (
        np.linalg.norm(up - (up @ normal) * normal) > NEAR * step
        or np.linalg.norm(beside, axis=1).max() > NEAR * spacing
    ):
        raise GridError("its slices do not lie straight above each other (a tilted gantry?); resample the series")
    return up


def _step(heights: Numbers, planes: Planes, filled: bool) -> float:
    """From slice to slice."""
    gaps = np.diff(heights)
    if not len(gaps):
        known = [gap for gap in (planes.between, planes.thickness) if math.isfinite(gap) and gap > 0]
        if not known:
            raise GridError("is a single slice that does not say how thick it is; name its series, too")
        return known[0]
    if filled:
        return _common(heights, gaps, planes.between)
    step = float(heights[-1] - heights[0]) / len(gaps)
    off = np.abs(heights - heights[0] - step * np.arange(len(heights)))
    if off.max() > TOLERANCE * step:
        _irregular(heights, gaps)
    return step


def _common(heights: Numbers, gaps: Numbers, between: float) -> float:
    """The step of which all gaps are whole numbers."""
    for step in (between, float(gaps.min())):
        if not (math.isfinite(step) and step > 0):
            continue
        counts = np.round((heights - heights[0]) / step)
        if counts[-1] < 1 or (np.diff(counts) < 1).any():
            continue
        # the mean step takes the rounding of positions away
        mean = float(heights[-1] - heights[0]) / float(counts[-1])
        if np.abs(heights - heights[0] - counts * mean).max() <= NEAR * mean:
            return mean
    raise GridError("its frames lie at irregular distances; name the series that it was drawn on, too")


def _irregular(heights: Numbers, gaps: Numbers) -> None:
    usual = float(np.median(gaps))
    worst = int(np.argmax(np.abs(gaps - usual)))
    at = f"{gaps[worst]:.6g} mm between {heights[worst]:.6g} and {heights[worst + 1]:.6g} mm, {usual:.6g} elsewhere"
    if gaps[worst] > 1.5 * usual and np.abs(gaps / usual - np.round(gaps / usual)).max() <= NEAR:
        raise GridError(f"slices are missing: {at}; copy the whole series")
    raise GridError(f"its slices lie at irregular distances: {at}; resample the series")


# -- frames on stacks ------------------------------------------------------------------------------------


def places(planes: Planes, grid: Grid) -> NDArray[np.int64] | None:
    """(planes, 3): the voxel of the first pixel of each; none where they lie on another lattice, or stand out."""
    if grid.affine is None or not planes.placed:
        return None
    back = np.linalg.inv(np.array(grid.affine)) @ _TO_RIGHT_AND_FRONT
    found = planes.positions @ back[:3, :3].T + back[:3, 3]
    voxels = np.round(found)
    if np.abs(found - voxels).max() > NEAR or not _same_ways(planes, back):
        return None
    last = voxels + np.array([planes.columns - 1, planes.rows - 1, 0])
    if (voxels < 0).any() or (last >= np.array(grid.shape)).any() or (voxels[:, :2] != voxels[0, :2]).any():
        return None
    return np.asarray(voxels, np.int64)


def _same_ways(planes: Planes, back: Numbers) -> bool:
    """Whether a row is a row there, and a column a column, up to the last pixel."""
    ways = planes.orientations.reshape(-1, 2, 3) * planes.spacings[:, ::-1, None]
    steps = ways @ back[:3, :3].T
    reach = np.array([planes.columns, planes.rows], np.float64)[None, :, None]
    wanted = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    off = np.abs(steps - wanted) * np.maximum(reach - 1, 1)
    return bool(np.isfinite(off).all() and off.max() <= 5 * NEAR)

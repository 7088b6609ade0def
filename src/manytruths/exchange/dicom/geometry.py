"""Positions of DICOM slices and frames in the patient, and the stacks that they make.

Voxel (i, j, k) is column i, row j of slice k; slices are ordered along the normal, as in SimpleITK and dcm2niix. DICOM
coordinates point left and posterior (LPS), those of grids here right and anterior (RAS).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, GridError
from ...shape.grid import TOLERANCE, Grid
from ..documents import LARGEST_SIDE

LARGEST_VOLUME = 1 << 29
"""Voxels: 2048 slices of 512 × 512; half as many where most of them may be empty ones that no file holds."""
GEOMETRY_TAGS = (
    "Rows", "Columns", "NumberOfFrames", "ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing",
    "ImagerPixelSpacing", "SliceThickness", "SpacingBetweenSlices", "SharedFunctionalGroupsSequence",
)  # fmt: skip
"""What says where slices lie."""
GROUPS = (
    "PlanePositionSequence", "PlaneOrientationSequence", "PixelMeasuresSequence", "DerivationImageSequence",
    "SegmentIdentificationSequence",
)  # fmt: skip
"""What is said of frames."""

NEAR = 0.01
"""Tools round positions when they write them: frames lie on slices up to so much of a voxel."""
PARALLEL = 1e-4
"""How much the cosines of slices of one stack may differ."""
LPS_TO_RAS = np.diag([-1.0, -1.0, 1.0, 1.0])

Numbers = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Planes:
    """Slices or frames of one size; nan where a file does not say."""

    rows: int
    columns: int
    positions: Numbers
    """(planes, 3): the centre of the first pixel."""
    orientations: Numbers
    """(planes, 6): the way along a row, and along a column."""
    spacings: Numbers
    """(planes, 2): between rows, and between columns."""
    between: float = math.nan
    """From slice to slice, where the file says so."""
    thickness: float = math.nan

    @property
    def placed(self) -> bool:
        """Whether every one has a place in the patient."""
        return bool(len(self.positions)) and bool(np.isfinite(self.positions).all() and self.oriented)

    @property
    def oriented(self) -> bool:
        return bool(np.isfinite(self.orientations).all())


@dataclass(frozen=True)
class Frame:
    """What is said of a frame, or of a slice; nothing where nothing is."""

    position: tuple[float, ...] = ()
    orientation: tuple[float, ...] = ()
    spacing: tuple[float, ...] = ()
    between: float = math.nan
    thickness: float = math.nan
    image: str = ""
    """The UID of the image that it was drawn on."""
    segment: int | None = None


def frame_of(groups: Any) -> Frame:
    """By its groups of attributes, or those that all frames share."""
    if not groups:
        return Frame()
    kinds = ("PlanePositionSequence", "PlaneOrientationSequence", "PixelMeasuresSequence")
    image = first_item(first_item(groups, "DerivationImageSequence"), "SourceImageSequence")
    segment = first_item(groups, "SegmentIdentificationSequence")
    return replace(
        _placed_frame(*(first_item(groups, kind) for kind in kinds)),
        image=str((image.get("ReferencedSOPInstanceUID") if image else None) or ""),
        segment=None if segment is None else segment.get("ReferencedSegmentNumber"),
    )


def _placed_frame(position: Any, orientation: Any, measures: Any) -> Frame:
    """By the parts of a header that say where a frame lies; all of them are the header itself for a single slice."""
    return Frame(
        _numbers(position, "ImagePositionPatient", 3),
        _numbers(orientation, "ImageOrientationPatient", 6),
        _spacing(measures),
        _number(measures, "SpacingBetweenSlices"),
        _number(measures, "SliceThickness"),
    )


def planes_of(dataset: Any, frames: Sequence[Frame]) -> Planes:
    """Of a slice, or of all frames of a file of many."""
    rows, columns = (whole_number(dataset, name) for name in ("Rows", "Columns"))
    if not (1 <= rows <= LARGEST_SIDE and 1 <= columns <= LARGEST_SIDE and rows * columns <= LARGEST_VOLUME):
        raise FormatError(f"its frames are {columns} × {rows} pixels by its header; export it again")
    groups = first_item(dataset, "SharedFunctionalGroupsSequence")
    shared = frame_of(groups) if groups else _placed_frame(dataset, dataset, dataset)
    every = frames or [shared]
    return Planes(
        rows,
        columns,
        _table([frame.position or shared.position for frame in every], 3),
        _table([frame.orientation or shared.orientation for frame in every], 6),
        _table([frame.spacing or shared.spacing for frame in every], 2),
        every[0].between if math.isfinite(every[0].between) else shared.between,
        every[0].thickness if math.isfinite(every[0].thickness) else shared.thickness,
    )


def _table(rows: Sequence[tuple[float, ...]], width: int) -> Numbers:
    return np.array([row or (math.nan,) * width for row in rows], np.float64).reshape(-1, width)


def first_item(dataset: Any, name: str) -> Any:
    """The first item of a sequence, or none."""
    items = dataset.get(name) if dataset is not None else None
    return items[0] if items else None


def _numbers(dataset: Any, name: str, width: int) -> tuple[float, ...]:
    value = dataset.get(name) if dataset is not None else None
    if value is None or value == "":
        return ()
    numbers = tuple(float(number) for number in value)
    if len(numbers) != width or not all(abs(number) < 1e9 for number in numbers):
        raise FormatError(f"its {name} is {list(numbers)}, expected {width} finite numbers; export it again")
    return numbers


def _spacing(measures: Any) -> tuple[float, ...]:
    spacing = _numbers(measures, "PixelSpacing", 2) or _numbers(measures, "ImagerPixelSpacing", 2)
    if spacing and min(spacing) <= 0:
        raise FormatError(f"its PixelSpacing is {list(spacing)}, expected two positive numbers; export it again")
    return spacing


def _number(dataset: Any, name: str) -> float:
    value = dataset.get(name) if dataset is not None else None
    return math.nan if value is None or value == "" else abs(float(value))


def whole_number(dataset: Any, name: str, default: int | None = None) -> int:
    """A count, as a file has it."""
    value = dataset.get(name, default)
    if not isinstance(value, int | np.integer) and not (isinstance(value, str) and value.strip().isdigit()):
        raise FormatError(f"its {name} is {value!r}, expected a whole number; export it again")
    return int(value)


def join_planes(planes: Iterable[Planes]) -> Planes:
    """Those of several files, which must be of one size."""
    parts = list(planes)
    first = parts[0]
    for other in parts:
        if (other.rows, other.columns) != (first.rows, first.columns):
            raise GridError(
                f"holds slices of {first.columns} × {first.rows} and of {other.columns} × {other.rows} pixels; "
                "keep one kind"
            )
    return replace(
        first,
        positions=np.concatenate([part.positions for part in parts]),
        orientations=np.concatenate([part.orientations for part in parts]),
        spacings=np.concatenate([part.spacings for part in parts]),
    )


# -- stacks ----------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Stack:
    """A volume of slices."""

    grid: Grid
    order: tuple[int, ...] = ()
    """For each slice, which of the planes it is; of several at one place, the first."""


def stack_planes(planes: Planes, *, filled: bool = False) -> Stack:
    """The volume that slices make, once it is sure that they do.

    Parameters
    ----------
    filled
        Whether slices that are not there are empty ones, as in files that hold what is marked alone.
    """
    along, spacing = _directions(planes)
    heights = planes.positions @ along[2]
    order = np.argsort(heights, kind="stable")
    # the first at each place: series of several times or echoes have as many
    gaps = np.diff(heights[order])
    levels = np.concatenate([[True], gaps > max(TOLERANCE * float(gaps.max(initial=0.0)), 1e-6)])
    order, heights = order[levels], heights[order][levels]
    step = _step(heights, planes, filled)
    up = _slice_direction(planes.positions[order], along[2], heights, step, float(spacing.min()))
    slices = 1 + round(float(heights[-1] - heights[0]) / step)
    if slices > LARGEST_SIDE or slices * planes.rows * planes.columns > LARGEST_VOLUME >> filled:
        raise GridError(f"would be a stack of {slices} slices; export it again")
    affine = np.eye(4)
    affine[:3, 0], affine[:3, 1], affine[:3, 2] = along[0] * spacing[1], along[1] * spacing[0], up
    affine[:3, 3] = planes.positions[order[0]]
    # 0.0 takes away the minus of a zero that was turned round
    grid = Grid((planes.columns, planes.rows, slices), affine=(LPS_TO_RAS @ affine + 0.0).tolist())
    return Stack(grid, tuple(int(k) for k in order))


def _directions(planes: Planes) -> tuple[Numbers, Numbers]:
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
        raise GridError(f"its ImageOrientationPatient is {planes.orientations[0].tolist()}, not an orientation")
    across = across / lengths[0]
    down = down - (down @ across) * across
    down /= np.linalg.norm(down)
    return np.array([across, down, np.cross(across, down)]), planes.spacings[0]


def _slice_direction(positions: Numbers, normal: Numbers, heights: Numbers, step: float, spacing: float) -> Numbers:
    """The way from slice to slice: that of the positions, whose cosines are rounded less."""
    counts = np.round((heights - heights[0]) / step)
    if not counts[-1]:
        return normal * step
    up: Numbers = (positions[-1] - positions[0]) / counts[-1]
    beside = positions - positions[0] - np.outer(counts, up)
    tilted = np.linalg.norm(up - (up @ normal) * normal) > NEAR * step
    if tilted or np.linalg.norm(beside, axis=1).max() > NEAR * spacing:
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
        return _common_step(heights, gaps, planes.between)
    step = float(heights[-1] - heights[0]) / len(gaps)
    off = np.abs(heights - heights[0] - step * np.arange(len(heights)))
    if off.max() > TOLERANCE * step:
        _refuse_irregular(heights, gaps)
    return step


def _common_step(heights: Numbers, gaps: Numbers, between: float) -> float:
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


def _refuse_irregular(heights: Numbers, gaps: Numbers) -> None:
    usual = float(np.median(gaps))
    worst = int(np.argmax(np.abs(gaps - usual)))
    at = f"{gaps[worst]:.6g} mm between {heights[worst]:.6g} and {heights[worst + 1]:.6g} mm, {usual:.6g} elsewhere"
    if gaps[worst] > 1.5 * usual and np.abs(gaps / usual - np.round(gaps / usual)).max() <= NEAR:
        raise GridError(f"slices are missing: {at}; copy the whole series")
    raise GridError(f"its slices lie at irregular distances: {at}; resample the series")


# -- frames on stacks ------------------------------------------------------------------------------------


def find_voxels(planes: Planes, grid: Grid) -> NDArray[np.int64] | None:
    """(planes, 3): the voxel of the first pixel of each; none where they lie on another lattice, or stand out."""
    if grid.affine is None or not planes.placed:
        return None
    back = np.linalg.inv(np.array(grid.affine)) @ LPS_TO_RAS
    indices = planes.positions @ back[:3, :3].T + back[:3, 3]
    voxels = np.round(indices)
    if np.abs(indices - voxels).max() > NEAR or not _same_directions(planes, back):
        return None
    last = voxels + np.array([planes.columns - 1, planes.rows - 1, 0])
    if (voxels < 0).any() or (last >= np.array(grid.shape)).any() or (voxels[:, :2] != voxels[0, :2]).any():
        return None
    return np.asarray(voxels, np.int64)


def _same_directions(planes: Planes, back: Numbers) -> bool:
    """Whether a row is a row there, and a column a column, up to the last pixel."""
    ways = planes.orientations.reshape(-1, 2, 3) * planes.spacings[:, ::-1, None]
    steps = ways @ back[:3, :3].T
    reach = np.array([planes.columns, planes.rows], np.float64)[None, :, None]
    wanted = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    off = np.abs(steps - wanted) * np.maximum(reach - 1, 1)
    return bool(np.isfinite(off).all() and off.max() <= 5 * NEAR)

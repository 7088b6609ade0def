"""What DICOM files say of where their slices or frames lie in the patient."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, GridError
from ..opening import LARGEST_SIDE

LARGEST_VOLUME = 1 << 29
"""Voxels: 2048 slices of 512 × 512; half as many where most of them may be empty ones that no file holds."""
TAGS = (
    "Rows",
    "Columns",
    "NumberOfFrames",
    "ImagePositionPatient",
    "ImageOrientationPatient",
    "PixelSpacing",
    "ImagerPixelSpacing",
    "SliceThickness",
    "SpacingBetweenSlices",
    "SharedFunctionalGroupsSequence",
)
"""What says where slices lie."""
GROUPS = (
    "PlanePositionSequence",
    "PlaneOrientationSequence",
    "PixelMeasuresSequence",
    "DerivationImageSequence",
    "SegmentIdentificationSequence",
)
"""What is said of frames."""

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
    measures = first(groups, "PixelMeasuresSequence")
    image = first(first(groups, "DerivationImageSequence"), "SourceImageSequence")
    segment = first(groups, "SegmentIdentificationSequence")
    return Frame(
        _numbers(first(groups, "PlanePositionSequence"), "ImagePositionPatient", 3),
        _numbers(first(groups, "PlaneOrientationSequence"), "ImageOrientationPatient", 6),
        _spacing(measures),
        _number(measures, "SpacingBetweenSlices"),
        _number(measures, "SliceThickness"),
        str((image.get("ReferencedSOPInstanceUID") if image else None) or ""),
        None if segment is None else segment.get("ReferencedSegmentNumber"),
    )


def slice_of(dataset: Any) -> Frame:
    """An image that is one slice."""
    return Frame(
        _numbers(dataset, "ImagePositionPatient", 3),
        _numbers(dataset, "ImageOrientationPatient", 6),
        _spacing(dataset),
        _number(dataset, "SpacingBetweenSlices"),
        _number(dataset, "SliceThickness"),
    )


def planes_of(dataset: Any, frames: Sequence[Frame]) -> Planes:
    """Of a slice, or of all frames of a file of many."""
    rows, columns = (whole(dataset.get(name), name) for name in ("Rows", "Columns"))
    if not (1 <= rows <= LARGEST_SIDE and 1 <= columns <= LARGEST_SIDE and rows * columns <= LARGEST_VOLUME):
        raise FormatError(f"its frames are {columns} × {rows} pixels by its header; export it again")
    groups = first(dataset, "SharedFunctionalGroupsSequence")
    shared = frame_of(groups) if groups else slice_of(dataset)
    every = frames or [shared]
    return Planes(
        rows,
        columns,
        _table([one.position or shared.position for one in every], 3),
        _table([one.orientation or shared.orientation for one in every], 6),
        _table([one.spacing or shared.spacing for one in every], 2),
        every[0].between if math.isfinite(every[0].between) else shared.between,
        every[0].thickness if math.isfinite(every[0].thickness) else shared.thickness,
    )


def _table(rows: Sequence[tuple[float, ...]], width: int) -> Numbers:
    return np.array([row or (math.nan,) * width for row in rows], np.float64).reshape(-1, width)


def first(dataset: Any, name: str) -> Any:
    """The first item of a sequence, or none."""
    found = dataset.get(name) if dataset is not None else None
    return found[0] if found else None


def _numbers(dataset: Any, name: str, width: int) -> tuple[float, ...]:
    found = dataset.get(name) if dataset is not None else None
    if found is None or found == "":
        return ()
    numbers = tuple(float(number) for number in found)
    if len(numbers) != width or not all(abs(number) < 1e9 for number in numbers):
        raise FormatError(f"its {name} is {list(numbers)}, wanted are {width} finite numbers; export it again")
    return numbers


def _spacing(measures: Any) -> tuple[float, ...]:
    found = _numbers(measures, "PixelSpacing", 2) or _numbers(measures, "ImagerPixelSpacing", 2)
    if found and min(found) <= 0:
        raise FormatError(f"its PixelSpacing is {list(found)}, wanted are two positive numbers; export it again")
    return found


def _number(dataset: Any, name: str) -> float:
    found = dataset.get(name) if dataset is not None else None
    return math.nan if found is None or found == "" else abs(float(found))


def whole(value: Any, name: str) -> int:
    """A count, as a file has it."""
    if not isinstance(value, int | np.integer) and not (isinstance(value, str) and value.strip().isdigit()):
        raise FormatError(f"its {name} is {value!r}, wanted is a whole number; export it again")
    return int(value)


def together(planes: Iterable[Planes]) -> Planes:
    """Those of several files, which must be of one size."""
    found = list(planes)
    one = found[0]
    for other in found:
        if (other.rows, other.columns) != (one.rows, one.columns):
            raise GridError(
                f"holds slices of {one.columns} × {one.rows} and of {other.columns} × {other.rows} pixels; "
                "keep one kind"
            )
    return Planes(
        one.rows,
        one.columns,
        np.concatenate([each.positions for each in found]),
        np.concatenate([each.orientations for each in found]),
        np.concatenate([each.spacings for each in found]),
        one.between,
        one.thickness,
    )

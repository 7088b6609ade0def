"""Write a read as a DICOM segmentation of the series that it was drawn on.

Every slice of the series has its frame for every segment, also where nothing is marked: readers then give the whole
stack back. What raters drew is manual; a consensus is the work of an algorithm, which is named with its version.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import GridError, InputError, LabelError, ManytruthsError
from ...io import atomic
from ...io.files import import_extra, quiet
from ...shape.alignment import align, obstacle
from ...shape.grid import Grid
from ..readings import Mask, Reading, SegmentKey
from .header import dicom_errors
from .segmentations import NOTHING, UNFINISHED, sort_files
from .series import Series

OURS = "manytruths"
LONGEST = 64
"""Signs of a name."""

_EMPTY_WHERE_UNKNOWN = (
    "PatientID", "PatientName", "PatientBirthDate", "PatientSex",
    "AccessionNumber", "StudyID", "StudyDate", "StudyTime",
)  # fmt: skip
_UTF_8 = "ISO_IR 192"


@dataclass(frozen=True, eq=False)
class SeriesFolder:
    """The series of a folder, looked at once for many reads."""

    where: str
    series: tuple[Series, ...]


def find_series(paths: Sequence[Path | str] | Path | str) -> SeriesFolder:
    """The series in folders and files."""
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    series = sort_files(given)[1]
    if not series:
        raise InputError(f"{given[0]}: holds no DICOM images; name the folder of the series that was marked")
    return SeriesFolder(str(given[0]), tuple(series.values()))


def write_dicom_seg(
    path: Path | str,
    read: Reading,
    series: SeriesFolder | Sequence[Path | str] | Path | str,
    *,
    automatic: bool | None = None,
    structures: Sequence[str] = (),
) -> None:
    """Write a reading as a DICOM segmentation of the series that it was drawn on.

    There is a segment for every structure and rank, and a frame for every slice of the series.

    Parameters
    ----------
    path : str or Path
        The DICOM file.
    read : Reading
        What to write.
    series : SeriesFolder, str, Path or sequence of them
        Where the images are. Of several series, the one of the reading's subject that lies where the masks do is taken.
    automatic : bool, optional
        Whether an algorithm of this package made the reading; by default, whether the reading's tool is this package.
    structures : sequence of str
        Names that get a segment even where nothing is marked.
    """
    path = Path(path)
    import_extra("highdicom", "dicom", path)
    _check(read, path)
    folder = series if isinstance(series, SeriesFolder) else find_series(series)
    chosen, grid = _matching_series(read, folder)
    marked: list[SegmentKey] = [(mark.label, mark.rank) for mark in read.marks]
    keys = list(dict.fromkeys([*marked, *((name, None) for name in structures)])) or [(NOTHING, None)]
    with dicom_errors(chosen.where):
        images, order = _images(chosen, grid)
    pixels = _label_stack(read, grid, keys, order)
    try:
        with quiet:
            made = read.tool == OURS if automatic is None else automatic
            segmentation = _build_segmentation(read, images, pixels, keys, made)
            with atomic(path) as temporary:
                segmentation.save_as(temporary)
    except ManytruthsError:
        raise
    except Exception as error:
        short = " ".join(str(error).split())[:160] or type(error).__name__
        raise InputError(f"{path}: cannot be written as a DICOM segmentation ({short}); check the series") from error


def _check(read: Reading, path: Path) -> None:
    if read.status == "unread":
        raise InputError(f"{path}: {read.rater} has not read {read.image}, so there is nothing to write")
    for name in (read.rater, *(mark.label for mark in read.marks)):
        if not name or name != name.strip() or len(name) > LONGEST - 1 or not name.isprintable() or "\\" in name:
            raise LabelError(f"the name {name!r} is not valid in DICOM: use up to {LONGEST - 1} characters without \\")
    if set(read.rater) & set("^="):
        raise LabelError(
            f"the rater's name {read.rater!r} holds ^ or =, which separate parts of names in DICOM; rename the rater"
        )


# -- the series -------------------------------------------------------------------------------------------


def _matching_series(read: Reading, folder: SeriesFolder) -> tuple[Series, Grid]:
    """The one series that lies where the masks do."""
    own = [series for series in folder.series if read.subject and series.patient == read.subject] or list(folder.series)
    if len(read.grid.shape) == 2:
        flat = [(series, series.planes[0]) for series in own if series.stack() is None]
        same = fitting = [(series, read.grid) for series, p in flat if (p.rows, p.columns) == read.grid.shape]
    else:
        grids = [(series, stack.grid) for series in own if (stack := series.stack()) is not None]
        fitting = [(series, grid) for series, grid in grids if not obstacle(read.grid, grid)]
        same = [(series, grid) for series, grid in fitting if not read.grid.difference(grid)]
    chosen = same or fitting
    name = read.case or read.image
    if not chosen:
        raise GridError(f"{folder.where}: holds no series that lies where the masks of {name} do; name its folder")
    if len(chosen) > 1:
        raise InputError(f"{folder.where}: {len(chosen)} series fit the masks of {name}; name the folder of one")
    return chosen[0]


def _images(series: Series, grid: Grid) -> tuple[list[Any], NDArray[np.int64]]:
    """The images of the stack from the lowest, and which slice of the grid each of their frames is."""
    pydicom = import_extra("pydicom", "dicom", series.where)
    stack = series.stack()
    order = stack.order if stack is not None else (0,)
    paths = [series.paths[k] for k in order]
    datasets = [pydicom.dcmread(path, stop_before_pixels=True) for path in dict.fromkeys(paths)]
    for dataset in datasets:
        for name in _EMPTY_WHERE_UNKNOWN:
            if name not in dataset:
                setattr(dataset, name, "")
    frames = int(datasets[0].get("NumberOfFrames") or 1)
    if frames == 1:
        return datasets, np.arange(len(order))
    if len(datasets) > 1 or frames != len(order):
        raise InputError("its frames are not one stack in one file; save the stack as a series of slices")
    return datasets, np.argsort(order)


def _label_stack(read: Reading, grid: Grid, keys: list[SegmentKey], order: NDArray[np.int64]) -> NDArray[Any]:
    """(slices, rows, columns) of numbers where segments lie apart, else one more axis for them."""
    numbers = np.zeros(grid.shape, np.uint8 if len(keys) < 256 else np.uint16)
    overlap = False
    for number, key in enumerate(keys, 1):
        mask = _mask(read, key, grid)
        overlap = overlap or bool(numbers[mask].any())
        numbers[mask] = number
    if not overlap:
        return _slices(numbers)[order]
    return np.stack([_slices(_mask(read, key, grid))[order] for key in keys], axis=-1).astype(np.uint8)


def _mask(read: Reading, key: SegmentKey, grid: Grid) -> Mask:
    whole = np.zeros(read.grid.shape, bool)
    for mark in read.marks:
        if (mark.label, mark.rank) == key:
            window, inside = mark.outline.pixels(read.grid.shape)
            whole[window] |= inside
    return np.asarray(align(whole, read.grid, grid).array, bool)


def _slices(array: NDArray[Any]) -> NDArray[Any]:
    return array[None] if array.ndim == 2 else array.transpose(2, 1, 0)


# -- the file ---------------------------------------------------------------------------------------------


def _build_segmentation(
    read: Reading, images: list[Any], pixels: NDArray[Any], keys: list[SegmentKey], automatic: bool
) -> Any:
    highdicom, uid = (import_extra(name, "dicom", Path(read.source)) for name in ("highdicom", "pydicom.uid"))
    digest = hashlib.sha256(np.ascontiguousarray(pixels).tobytes()).hexdigest()
    own = [str(images[0].SeriesInstanceUID), read.rater, read.session, repr(keys), digest, version(OURS)]
    segmentation = highdicom.seg.Segmentation(
        source_images=images,
        pixel_array=pixels,
        segmentation_type="BINARY",
        segment_descriptions=[_describe_segment(key, number, automatic) for number, key in enumerate(keys, 1)],
        # the same masks have the same name, whenever they are written
        series_instance_uid=uid.generate_uid(entropy_srcs=["series", *own]),
        sop_instance_uid=uid.generate_uid(entropy_srcs=["instance", *own]),
        series_number=int(images[0].get("SeriesNumber") or 0) + 1000,
        instance_number=1,
        manufacturer=OURS,
        manufacturer_model_name=OURS,
        software_versions=version(OURS),
        device_serial_number="1",
        content_creator_name=f"{read.rater}^",
        content_description=UNFINISHED if read.status == "unfinished" else None,
        omit_empty_frames=False,
        specific_character_set=_UTF_8,
        series_description=read.rater,
    )
    for item, (_, rank) in zip(segmentation.SegmentSequence, keys, strict=True):
        if rank is not None:
            item.SegmentDescription = f"rank {rank}"
    day = re.match(r"(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d):(\d\d))?", read.started)
    if day:
        segmentation.ContentDate = "".join(day.groups()[:3])
        segmentation.ContentTime = "".join(part or "00" for part in day.groups()[3:])
    return segmentation


def _describe_segment(key: SegmentKey, number: int, automatic: bool) -> Any:
    """A segment; what it is made of is not known beyond its name, so it is tissue."""
    highdicom = import_extra("highdicom", "dicom", Path(key[0]))
    codes = import_extra("pydicom.sr.codedict", "dicom", Path(key[0])).codes
    algorithm = highdicom.AlgorithmIdentificationSequence(
        name=OURS, version=version(OURS), family=codes.cid7162.ClusterAnalysis
    )
    return highdicom.seg.SegmentDescription(
        segment_number=number,
        segment_label=key[0],
        segmented_property_category=codes.SCT.Tissue,
        segmented_property_type=codes.SCT.Tissue,
        algorithm_type="AUTOMATIC" if automatic else "MANUAL",
        algorithm_identification=algorithm if automatic else None,
    )

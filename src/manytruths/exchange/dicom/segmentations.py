"""Read DICOM segmentations on the grid of the series that they were drawn on.

The header says who drew a segmentation, on which series, and which frames hold which segment. A reading lies on the
whole stack of the series, not only on the marked slices. Files of the series may be anywhere among the paths; without
them, the grid spans the frames of the segmentation, and the reading's ``tool`` says so. Frames are decoded when they
are drawn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, GridError
from ...shape.grid import Grid
from ..documents import Source, find_sources
from ..readings import ImportOptions, Mark, Reading
from .geometry import (
    GEOMETRY_TAGS,
    GROUPS,
    Frame,
    Planes,
    find_voxels,
    first_item,
    frame_of,
    join_planes,
    planes_of,
    stack_planes,
    whole_number,
)
from .header import Header, PixelData, dicom_errors, is_dicom, read_header
from .pixels import Pixels, SegmentFrames, any_marked, is_binary
from .series import Series, SeriesPicture

BINARY, LABEL_MAP = "1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7"
SEGMENTATIONS = (BINARY, LABEL_MAP)
SURFACES = ("1.2.840.10008.5.1.4.1.1.66.5",)
UNFINISHED = "unfinished"
"""The description of a segmentation that its rater has not finished."""
NOTHING = "(nothing)"
"""The segment of a file in which nothing is marked: it must have one."""
SEGMENT_TAGS = (
    "PatientID", "StudyDate", "StudyInstanceUID", "FrameOfReferenceUID", "ReferencedSeriesSequence",
    "ContentCreatorName", "ContentDescription", "ContentDate", "ContentTime", "OperatorsName", "SegmentationType",
    "MaximumFractionalValue", "SegmentSequence", "BitsAllocated", "SamplesPerPixel", "DimensionOrganizationType",
)  # fmt: skip
_RANK = re.compile(r"rank (\d{1,6})")
TOOL = "DICOM SEG"
IMAGE_TAGS = (
    "SOPClassUID", "SOPInstanceUID", "SeriesInstanceUID", "SeriesNumber", "SeriesDescription", "PatientID",
    "FrameOfReferenceUID", *GEOMETRY_TAGS,
)  # fmt: skip
"""What is looked at in images."""
_DIRECTORY = "1.2.840.10008.1.3.10"


@dataclass(frozen=True)
class Segment:
    """One structure."""

    number: int
    label: str
    rank: int | None
    attributes: Mapping[str, str]


@dataclass(frozen=True, eq=False)
class Segmentation:
    """One file."""

    source: Source
    rater: str
    patient: str
    study: str
    study_date: str
    frame_of_reference: str
    references: tuple[str, ...]
    """The series that it was drawn on, by their UIDs."""
    images: tuple[str, ...]
    """For each frame the image that it was drawn on; none where a frame does not say."""
    planes: Planes
    segments: tuple[Segment, ...]
    frame_segments: NDArray[np.int64] | None
    """For each frame the number of its segment; none where pixels hold the numbers."""
    pixels: Pixels
    largest: int
    """The value that stands for 1, of fractions; otherwise 0."""
    started: str
    unfinished: bool


def parse_segmentation(source: Source, header: Header) -> Segmentation:
    """A file by its header, once it is sure that all that it names is there."""
    dataset = header.dataset
    if str(dataset.get("DimensionOrganizationType", "")).startswith("TILED"):
        raise FormatError("holds tiles of a slide, not a stack of slices; export it as an image")
    planes = planes_of(dataset, header.frames)
    shared = frame_of(first_item(dataset, "SharedFunctionalGroupsSequence"))
    frames = _frames(dataset, header.frames)
    segments = tuple(_segment(item) for item in dataset.get("SegmentSequence") or ())
    twice = [segment.number for segment in segments if sum(other.number == segment.number for other in segments) > 1]
    if not segments or twice:
        what = f"two segments of number {twice[0]}" if twice else "no segments"
        raise FormatError(f"describes {what}; export it again")
    raters = (person_name(dataset.get(name)) for name in ("ContentCreatorName", "OperatorsName"))
    fractional = text_at(dataset, "SegmentationType") == "FRACTIONAL"
    label_map = str(dataset.get("SegmentationType", "")) == "LABELMAP" or str(dataset.SOPClassUID) == LABEL_MAP
    return Segmentation(
        source=source,
        rater=next(filter(None, raters), "") or text_at(dataset, "SeriesDescription"),
        patient=text_at(dataset, "PatientID"),
        study=text_at(dataset, "StudyInstanceUID"),
        study_date=text_at(dataset, "StudyDate"),
        frame_of_reference=text_at(dataset, "FrameOfReferenceUID"),
        references=tuple(text_at(item, "SeriesInstanceUID") for item in dataset.get("ReferencedSeriesSequence") or ()),
        images=tuple(frame.image or shared.image for frame in frames),
        planes=planes,
        segments=tuple(segment for segment in segments if segment.number or not label_map),
        frame_segments=None if label_map else _segments_of_frames(frames, shared, segments),
        pixels=_pixels(dataset, header.pixels, len(frames)),
        largest=whole_number(dataset, "MaximumFractionalValue") if fractional else 0,
        started=start_time(dataset),
        unfinished=text_at(dataset, "ContentDescription") == UNFINISHED,
    )


def text_at(dataset: Any, name: str) -> str:
    """A value as text; several of them as the file has them."""
    value = dataset.get(name) if dataset is not None else None
    if value is None:
        return ""
    several = not isinstance(value, str) and hasattr(value, "__iter__") and not hasattr(value, "alphabetic")
    return ("\\".join(str(part) for part in value) if several else str(value)).strip("\0 ")


# -- frames -------------------------------------------------------------------------------------------------


def _frames(dataset: Any, frames: Sequence[Frame]) -> Sequence[Frame]:
    count = whole_number(dataset, "NumberOfFrames", 1)
    if not frames and count == 1:
        return [Frame()]
    if len(frames) != count or not count:
        raise FormatError(f"has {count} frames by its header and says of {len(frames)} where they lie; export it again")
    return frames


def _segments_of_frames(frames: Sequence[Frame], shared: Frame, segments: tuple[Segment, ...]) -> NDArray[np.int64]:
    known = {segment.number for segment in segments}
    numbers = [shared.segment if frame.segment is None else frame.segment for frame in frames]
    for k, number in enumerate(numbers):
        if number not in known:
            what = "does not say of which segment it is"
            if number is not None:
                what = f"is of segment {number}, which is not described"
            raise FormatError(f"frame {k + 1} {what}; export it again")
    return np.array(numbers, np.int64)


def _pixels(dataset: Any, data: PixelData | None, frames: int) -> Pixels:
    if data is None:
        raise FormatError("has no pixels; export it again")
    bits, colours = whole_number(dataset, "BitsAllocated"), whole_number(dataset, "SamplesPerPixel", 1)
    if bits not in (1, 8, 16) or colours != 1:
        raise FormatError(f"has {colours} × {bits} bits a pixel, expected 1, 8 or 16; export it again")
    pixels = Pixels(data, whole_number(dataset, "Rows"), whole_number(dataset, "Columns"), frames, bits)
    pixels.check()
    return pixels


# -- segments and people ------------------------------------------------------------------------------------


def _segment(item: Any) -> Segment:
    kind = text_at(first_item(item, "SegmentedPropertyTypeCodeSequence"), "CodeMeaning")
    known = {
        "algorithm": text_at(item, "SegmentAlgorithmType"),
        "algorithm_name": text_at(item, "SegmentAlgorithmName"),
        "category": text_at(first_item(item, "SegmentedPropertyCategoryCodeSequence"), "CodeMeaning"),
        "type": kind,
    }
    rank = _RANK.fullmatch(text_at(item, "SegmentDescription"))
    return Segment(
        whole_number(item, "SegmentNumber"),
        text_at(item, "SegmentLabel") or kind,
        int(rank[1]) if rank else None,
        {name: text for name, text in known.items() if text},
    )


def person_name(name: Any) -> str:
    """A person as one says it, the first of several: ``Doe^Jane^M.^Dr.`` is Jane M. Doe."""
    if name is None:
        return ""
    if not hasattr(name, "alphabetic") and not isinstance(name, str):
        return next(filter(None, map(person_name, name)), "")
    for group in str(name).split("="):
        family, given, middle, title, suffix = (part.strip("\0 ") for part in [*group.split("^"), *5 * [""]][:5])
        if family or given or middle or title or suffix:
            return " ".join(part for part in (given, middle, family, suffix) if part)
    return ""


def start_time(dataset: Any, names: tuple[str, str] = ("ContentDate", "ContentTime")) -> str:
    """As ``2026-01-31T09:30:00``; empty where the file does not say, or nonsense."""
    date, time = (text_at(dataset, name) for name in names)
    if not re.fullmatch(r"\d{8}", date):
        return ""
    day = f"{date[:4]}-{date[4:6]}-{date[6:]}"
    return f"{day}T{time[:2]}:{time[2:4]}:{time[4:6]}" if re.match(r"\d{6}", time) else day


def read_dicom_seg(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read DICOM segmentations: one reading for every segmentation among the files.

    The rater is, in this order, the one of the path (``RATER=PATH``, ``{rater}``), the content's creator, the first
    operator, the description of the series, or the name of the file. Files of the series that was marked may be among
    the paths.

    Parameters
    ----------
    paths : sequence of str or Path
        DICOM files, folders of them, ``RATER=PATH``, or templates such as ``segs/{rater}/{case}.dcm``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every segmentation.
    """
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    segmentations, series = sort_files(given)
    if not segmentations:
        raise FormatError(f"{given[0]}: holds no DICOM segmentation; export one (modality SEG), or correct the path")
    names = name_images([(_key(each), _name_candidates(each, series)) for each in segmentations])
    return [_reading(segmentation, series, names[_key(segmentation)]) for segmentation in segmentations]


def sort_files(given: Sequence[Path | str]) -> tuple[list[Segmentation], dict[str, Series]]:
    """The segmentations, and the series by their UIDs."""
    segmentations: list[Segmentation] = []
    series: dict[str, Series] = {}
    for source in dicom_sources(given):
        _sort_file(source, segmentations, series)
    return segmentations, series


def dicom_sources(given: Sequence[Path | str]) -> Iterator[Source]:
    """The DICOM files that paths stand for."""
    # a folder stands for all files in it, of which some may be others'
    named = {Path(text if Path(text).exists() else text.partition("=")[2]) for text in map(str, given)}
    folders = {path for path in named if path.is_dir()}
    for source in find_sources(given, ("",)):
        if is_dicom(source.path):
            yield source
        elif not folders.intersection(source.path.parents):
            raise FormatError(f"{source.path}: is not a DICOM file; export it again, or name the folder that it is in")


def _sort_file(source: Source, segmentations: list[Segmentation], series: dict[str, Series]) -> None:
    with dicom_errors(source.path):
        header = read_header(source.path, (*IMAGE_TAGS, *SEGMENT_TAGS), GROUPS, frame_of)
        dataset = header.dataset
        kind = str(dataset.get("SOPClassUID", ""))
        if kind in SURFACES:
            raise FormatError("is a segmentation by surfaces; export it as a binary one")
        if kind in SEGMENTATIONS:
            segmentations.append(parse_segmentation(source, header))
        else:
            add_image(source.path, header, series)


def add_image(path: Path, header: Header, series: dict[str, Series]) -> None:
    """Put a file with its series; one that holds no image belongs to none."""
    dataset = header.dataset
    if str(dataset.get("SOPClassUID", "")) != _DIRECTORY and "Rows" in dataset and dataset.get("SeriesInstanceUID"):
        series.setdefault(str(dataset.SeriesInstanceUID), Series(path.parent)).add(path, header)


# -- one read ---------------------------------------------------------------------------------------------


def _reading(segmentation: Segmentation, series: dict[str, Series], image: str) -> Reading:
    fields = segmentation.source.fields
    if segmentation.largest and not is_binary(segmentation.pixels, segmentation.largest):
        raise FormatError(
            f"{segmentation.source.path}: holds fractions, not only 0 and {segmentation.largest}; "
            "export it as a binary segmentation, with a threshold that you choose"
        )
    own = _find_series(segmentation, series)
    grid, voxels, how = _place_on_grid(segmentation, own)
    return Reading(
        image=image,
        rater=segmentation.source.rater(segmentation.rater),
        grid=grid,
        marks=tuple(_marks(segmentation, voxels)),
        session=fields.get("session", ""),
        status="unfinished" if segmentation.unfinished else "done" if any_marked(segmentation.pixels) else "empty",
        tool=f"{TOOL}{how}",
        started=segmentation.started,
        subject=fields.get("subject") or segmentation.patient,
        case=fields.get("case", ""),
        picture=_picture(segmentation, grid, own),
        source=str(segmentation.source.path),
    )


def _marks(segmentation: Segmentation, voxels: NDArray[np.int64]) -> list[Mark]:
    marks, of_frames = [], segmentation.frame_segments
    for segment in segmentation.segments:
        if segment.label == NOTHING:
            continue
        if of_frames is None:
            numbers, value = np.arange(len(voxels)), segment.number
        else:
            numbers, value = np.flatnonzero(of_frames == segment.number), 0
        outline = SegmentFrames(segmentation.pixels, numbers, voxels[numbers], value)
        marks.append(Mark(segment.label, outline, segment.number, segment.rank, segment.attributes))
    return marks


def _find_series(segmentation: Segmentation, series: dict[str, Series]) -> list[Series]:
    """Those that it names, or whose images its frames name."""
    named = [series[uid] for uid in segmentation.references if uid in series]
    images = {image for image in segmentation.images if image}
    return named or [each for each in series.values() if images.intersection(each.images)]


def _place_on_grid(segmentation: Segmentation, series: list[Series]) -> tuple[Grid, NDArray[np.int64], str]:
    """The grid, the voxel of each frame's first pixel, and what is to be said of it."""
    planes = segmentation.planes if segmentation.planes.placed else _planes_of_images(segmentation, series)
    stacks = [stack for stack in (each.stack() for each in series) if stack is not None]
    with dicom_errors(segmentation.source.path):
        if not planes.placed:
            return _flat_grid(segmentation, planes)
        for stack in stacks:
            voxels = find_voxels(planes, stack.grid)
            if voxels is not None:
                return stack.grid, voxels, ""
        own = stack_planes(planes, filled=True).grid
        voxels = find_voxels(planes, own)
        if voxels is None:
            raise GridError("its frames lie on no common grid; export it again")
        return own, voxels, ", on a grid of its own" if stacks else ", without its series"


def _planes_of_images(segmentation: Segmentation, series: list[Series]) -> Planes:
    """Frames that have no place in the patient have that of the images that they name."""
    for each in series:
        at = {image: k for k, image in enumerate(each.images)}
        # of an image of many frames it is not enough to name the image
        if len(at) == len(each.images) and all(image in at for image in segmentation.images):
            every = join_planes(each.planes)
            own = [at[image] for image in segmentation.images]
            return replace(
                segmentation.planes, positions=every.positions[own], orientations=every.orientations[own],
                spacings=every.spacings[own], between=every.between, thickness=every.thickness,
            )  # fmt: skip
    return segmentation.planes


def _flat_grid(segmentation: Segmentation, planes: Planes) -> tuple[Grid, NDArray[np.int64], str]:
    """An image, which has no place in the patient: a frame for each segment."""
    of_frames = segmentation.frame_segments
    often = [len(planes.positions)] if of_frames is None else np.unique(of_frames, return_counts=True)[1]
    if max(often, default=0) > 1 or len(set(segmentation.images)) > 1:
        raise GridError("its frames do not say where they lie; name the series that it was drawn on, too")
    spacing = planes.spacings[0] if len(planes.spacings) and np.isfinite(planes.spacings[0]).all() else None
    grid = Grid((planes.rows, planes.columns), None if spacing is None else tuple(spacing.tolist()))
    return grid, np.zeros((len(planes.positions), 3), np.int64), ""


def _picture(segmentation: Segmentation, grid: Grid, series: list[Series]) -> SeriesPicture | None:
    """The stack whose grid it has, or the flat image that its frames name."""
    named = {image for image in segmentation.images if image}
    for each in series:
        if len(grid.shape) == 3:
            stack = each.stack()
            if stack is not None and stack.grid is grid:
                return each.picture(grid, stack.order)
            continue
        own = [k for k, image in enumerate(each.images) if image in named or not named]
        if len(own) == 1:
            return each.picture(grid, own)
    return None


# -- names of images --------------------------------------------------------------------------------------


def _key(segmentation: Segmentation) -> str:
    """The same for all segmentations of the same images."""
    if not segmentation.planes.oriented and segmentation.images:
        return segmentation.images[0]
    if segmentation.references:
        return segmentation.references[0]
    return f"{segmentation.study} {segmentation.frame_of_reference}"


def _name_candidates(segmentation: Segmentation, series: dict[str, Series]) -> tuple[str, ...]:
    """Names of its images, each one longer: the patient, the day, the number of the series."""
    known = _find_series(segmentation, series)
    parts = [segmentation.patient or "unnamed", segmentation.study_date, known[0].number if known else ""]
    return tuple("_".join(part for part in parts[: count + 1] if part) for count in range(len(parts)))


def name_images(wanted: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, str]:
    """By key: the shortest name of its ladder that no other key has.

    >>> name_images([("1.2", ("ann", "ann_1")), ("1.3", ("ann", "ann_2")), ("1.4", ("bob", "bob_1"))])
    {'1.2': 'ann_1', '1.3': 'ann_2', '1.4': 'bob'}
    """
    ladders = {key: (*(_plain(name) for name in names), _plain(f"{names[0]}_{key}")) for key, names in wanted}
    rungs = dict.fromkeys(ladders, 0)
    while True:
        names = {key: ladder[rungs[key]] for key, ladder in ladders.items()}
        taken = [*names.values()]
        higher = [key for key, name in names.items() if taken.count(name) > 1 and rungs[key] + 1 < len(ladders[key])]
        if not higher:
            return names
        for key in higher:
            rungs[key] += 1


def _plain(name: str) -> str:
    """Without what would be a folder or an ending."""
    return "".join(sign if sign.isalnum() or sign in "-_ +" else "_" for sign in name).strip()

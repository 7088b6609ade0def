"""What the header of a DICOM segmentation says: who drew it, on what, and which frames hold which segment."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError
from ..sources import Source
from .frames import Pixels
from .opening import Header, PixelData
from .planes import Frame, Planes, first, frame_of, planes_of, whole

BINARY, LABEL_MAP = "1.2.840.10008.5.1.4.1.1.66.4", "1.2.840.10008.5.1.4.1.1.66.7"
SEGMENTATIONS = (BINARY, LABEL_MAP)
SURFACES = ("1.2.840.10008.5.1.4.1.1.66.5",)
UNFINISHED = "unfinished"
"""The description of a segmentation that its rater has not finished."""
NOTHING = "(nothing)"
"""The segment of a file in which nothing is marked: it must have one."""
TAGS = (
    "PatientID",
    "StudyDate",
    "StudyInstanceUID",
    "FrameOfReferenceUID",
    "ReferencedSeriesSequence",
    "ContentCreatorName",
    "ContentDescription",
    "ContentDate",
    "ContentTime",
    "OperatorsName",
    "SegmentationType",
    "MaximumFractionalValue",
    "SegmentSequence",
    "BitsAllocated",
    "SamplesPerPixel",
    "DimensionOrganizationType",
)
_RANK = re.compile(r"rank (\d{1,6})")


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
    belongs: NDArray[np.int64] | None
    """For each frame the number of its segment; none where pixels hold the numbers."""
    pixels: Pixels
    largest: int
    """The value that stands for 1, of fractions; otherwise 0."""
    started: str
    unfinished: bool


def segmentation(source: Source, found: Header) -> Segmentation:
    """A file by its header, once it is sure that all that it names is there."""
    dataset = found.dataset
    if str(dataset.get("DimensionOrganizationType", "")).startswith("TILED"):
        raise FormatError("is of tiles of a slide, which has no stack; export it as an image")
    planes = planes_of(dataset, found.frames)
    shared = frame_of(first(dataset, "SharedFunctionalGroupsSequence"))
    frames = _frames(dataset, found.frames)
    segments = tuple(_segment(item) for item in dataset.get("SegmentSequence") or ())
    twice = [one.number for one in segments if sum(other.number == one.number for other in segments) > 1]
    if not segments or twice:
        what = f"two segments of number {twice[0]}" if twice else "no segments"
        raise FormatError(f"describes {what}; export it again")
    label_map = str(dataset.get("SegmentationType", "")) == "LABELMAP" or str(dataset.SOPClassUID) == LABEL_MAP
    return Segmentation(
        source=source,
        rater=_rater(dataset),
        patient=_text(dataset, "PatientID"),
        study=_text(dataset, "StudyInstanceUID"),
        study_date=_text(dataset, "StudyDate"),
        frame_of_reference=_text(dataset, "FrameOfReferenceUID"),
        references=tuple(_text(item, "SeriesInstanceUID") for item in dataset.get("ReferencedSeriesSequence") or ()),
        images=tuple(frame.image or shared.image for frame in frames),
        planes=planes,
        segments=tuple(one for one in segments if one.number or not label_map),
        belongs=None if label_map else _belonging(frames, shared, segments),
        pixels=_pixels(dataset, found.pixels, len(frames)),
        largest=_largest(dataset),
        started=_started(dataset),
        unfinished=_text(dataset, "ContentDescription") == UNFINISHED,
    )


def _text(dataset: Any, name: str) -> str:
    """A value as text; several of them as the file has them."""
    value = dataset.get(name) if dataset is not None else None
    if value is None:
        return ""
    several = not isinstance(value, str) and hasattr(value, "__iter__") and not hasattr(value, "alphabetic")
    return ("\\".join(str(one) for one in value) if several else str(value)).strip("\0 ")


# -- frames -------------------------------------------------------------------------------------------------


def _frames(dataset: Any, frames: Sequence[Frame]) -> Sequence[Frame]:
    count = whole(dataset.get("NumberOfFrames", 1), "NumberOfFrames")
    if not frames and count == 1:
        return [Frame()]
    if len(frames) != count or not count:
        raise FormatError(f"has {count} frames by its header and says of {len(frames)} where they lie; export it again")
    return frames


def _belonging(frames: Sequence[Frame], shared: Frame, segments: tuple[Segment, ...]) -> NDArray[np.int64]:
    known = {one.number for one in segments}
    found = [shared.segment if frame.segment is None else frame.segment for frame in frames]
    for k, number in enumerate(found):
        if number not in known:
            what = "does not say of which segment it is" if number is None else f"is of segment {number}, which is none"
            raise FormatError(f"frame {k + 1} {what}; export it again")
    return np.array(found, np.int64)


def _pixels(dataset: Any, data: PixelData | None, frames: int) -> Pixels:
    if data is None:
        raise FormatError("has no pixels; export it again")
    bits = whole(dataset.get("BitsAllocated"), "BitsAllocated")
    colours = whole(dataset.get("SamplesPerPixel", 1), "SamplesPerPixel")
    if bits not in (1, 8, 16) or colours != 1:
        raise FormatError(f"has {colours} × {bits} bits a pixel, wanted are 1, 8 or 16; export it again")
    rows, columns = (whole(dataset.get(name), name) for name in ("Rows", "Columns"))
    found = Pixels(data, rows, columns, frames, bits)
    found.check()
    return found


def _largest(dataset: Any) -> int:
    if _text(dataset, "SegmentationType") != "FRACTIONAL":
        return 0
    return whole(dataset.get("MaximumFractionalValue"), "MaximumFractionalValue")


# -- segments and people ------------------------------------------------------------------------------------


def _segment(item: Any) -> Segment:
    kind = _text(first(item, "SegmentedPropertyTypeCodeSequence"), "CodeMeaning")
    known = {
        "algorithm": _text(item, "SegmentAlgorithmType"),
        "algorithm_name": _text(item, "SegmentAlgorithmName"),
        "category": _text(first(item, "SegmentedPropertyCategoryCodeSequence"), "CodeMeaning"),
        "type": kind,
    }
    rank = _RANK.fullmatch(_text(item, "SegmentDescription"))
    return Segment(
        whole(item.get("SegmentNumber"), "SegmentNumber"),
        _text(item, "SegmentLabel") or kind,
        int(rank[1]) if rank else None,
        {name: text for name, text in known.items() if text},
    )


def _rater(dataset: Any) -> str:
    named = (person(dataset.get(name)) for name in ("ContentCreatorName", "OperatorsName"))
    return next(filter(None, named), "") or _text(dataset, "SeriesDescription")


def person(name: Any) -> str:
    """A person as one says it, the first of several: ``Doe^Jane^M.^Dr.`` is Jane M. Doe."""
    if name is None:
        return ""
    if not hasattr(name, "alphabetic") and not isinstance(name, str):
        return next(filter(None, map(person, name)), "")
    groups = (group.split("^") for group in str(name).split("="))
    family, given, middle, _, suffix = next((g for g in map(_five, groups) if any(g)), ("",) * 5)
    return " ".join(part for part in (given, middle, family, suffix) if part)


def _five(parts: list[str]) -> tuple[str, ...]:
    """Family, given, middle, title, and what stands behind."""
    return tuple(part.strip("\0 ") for part in [*parts, "", "", "", "", ""][:5])


def _started(dataset: Any) -> str:
    """As ``2026-01-31T09:30:00``; empty where the file does not say, or nonsense."""
    date, time = (_text(dataset, name) for name in ("ContentDate", "ContentTime"))
    if not re.fullmatch(r"\d{8}", date):
        return ""
    day = f"{date[:4]}-{date[4:6]}-{date[6:]}"
    return f"{day}T{time[:2]}:{time[2:4]}:{time[4:6]}" if re.match(r"\d{6}", time) else day

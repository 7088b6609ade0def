"""Read DICOM structure sets (RTSTRUCT): contours in patient coordinates, on the grid of the series they were drawn on.

A contour lies on one slice. Its points become columns and rows of that slice by the inverse of the series' affine, and
a voxel belongs to a structure where its centre is inside by the even-odd rule over all contours of the structure on the
slice. So a contour inside another is a hole; a keyhole, whose channel goes there and back along one line, is a hole,
too. Reference: DICOM PS3.3, C.8.8.6, ROI Contour Module.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, GridError
from ...shape.grid import Grid
from ...shape.polygons import MOST_POINTS, Points
from ..documents import Source
from ..outlines import Line, Polygon
from ..readings import ImportOptions, Mark, Mask, Outline, Reading, Window
from .geometry import GROUPS, LPS_TO_RAS, first_item, frame_of, whole_number
from .header import dicom_errors, read_header, read_sop_class
from .segmentations import IMAGE_TAGS, add_image, dicom_sources, name_images, person_name, start_time, text_at
from .series import Series

STRUCTURE_SET = "1.2.840.10008.5.1.4.1.1.481.3"
TOOL = "DICOM RTSTRUCT"
LARGEST_FILE, MOST_ITEMS = 1 << 27, 1 << 18
"""Bytes of a structure set, and items of its sequences: some two for each contour."""
MOST_POINTS_OF_FILE = 5_000_000
OFF_SLICE = 0.1
"""How far from a slice, in slices, the points of a contour may lie: coordinates are rounded when they are written."""
STEPS = float(1 << 20)
"""Steps of a pixel to which points are rounded, so that points on voxel centres stay there."""
AREAS = ("CLOSED_PLANAR", "CLOSEDPLANAR_XOR")
LINE, KINDS = "OPEN_PLANAR", {"POINT": "points", "OPEN_PLANAR": "polyline", "OPEN_NONPLANAR": "nonplanar"}
"""What other contours are called where they are left out."""
_TAGS = (
    "SOPClassUID", "SOPInstanceUID", "PatientID", "StudyDate", "StudyInstanceUID", "FrameOfReferenceUID",
    "OperatorsName", "StructureSetDate", "StructureSetTime", "ReferencedFrameOfReferenceSequence",
    "StructureSetROISequence", "ROIContourSequence", "RTROIObservationsSequence",
)  # fmt: skip
_POINTS = 0x30060050


@dataclass(frozen=True, eq=False)
class Contour:
    """One contour of a structure."""

    kind: str
    points: Points
    """(points, 3), in mm, left-posterior-superior."""
    image: str
    """The UID of the image that it was drawn on; empty where the file does not say."""


@dataclass(frozen=True, eq=False)
class Structure:
    """One region of interest."""

    number: int
    name: str
    interpreter: str
    contours: tuple[Contour, ...]
    attributes: dict[str, str]


@dataclass(frozen=True, eq=False)
class StructureSet:
    """One file."""

    source: Source
    operator: str
    patient: str
    study: str
    study_date: str
    frames_of_reference: tuple[str, ...]
    references: tuple[str, ...]
    """The series that it was drawn on, by their UIDs."""
    structures: tuple[Structure, ...]
    started: str

    @property
    def images(self) -> set[str]:
        """The images that contours name."""
        return {contour.image for each in self.structures for contour in each.contours if contour.image}


@dataclass(frozen=True, eq=False)
class SliceContours(Outline):
    """Shapes on slices along the last axis of a volume."""

    slices: dict[int, tuple[Outline, ...]] = field(default_factory=dict)
    """By number: what was drawn there, in x and y of columns and rows."""

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        columns, rows, _ = shape
        drawn = {
            (level, n): outline.pixels((rows, columns))
            for level, outlines in self.slices.items()
            for n, outline in enumerate(outlines)
        }
        drawn = {key: (window, inside) for key, (window, inside) in drawn.items() if inside.size}
        if not drawn:
            return tuple(slice(0, 0) for _ in shape), np.zeros((0,) * len(shape), bool)
        top, left = (min(window[axis].start for window, _ in drawn.values()) for axis in (0, 1))
        bottom, right = (max(window[axis].stop for window, _ in drawn.values()) for axis in (0, 1))
        low, high = min(level for level, _ in drawn), max(level for level, _ in drawn) + 1
        whole = np.zeros((high - low, bottom - top, right - left), bool)
        for (level, _), ((down, across), inside) in drawn.items():
            whole[level - low, down.start - top : down.stop - top, across.start - left : across.stop - left] |= inside
        return (slice(left, right), slice(top, bottom), slice(low, high)), whole.transpose(2, 1, 0)


def read_rtstruct(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read DICOM structure sets (RTSTRUCT): one reading for every file, or for every interpreter in it.

    The rater is, in this order, the one of the path (``RATER=PATH``, ``{rater}``), the interpreter of the structure,
    the first operator, or the name of the file. The series that was marked must be among the paths.

    Parameters
    ----------
    paths : sequence of str or Path
        DICOM files, folders of them, ``RATER=PATH``, or templates such as ``plans/{rater}/{case}.dcm``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every structure set, or for every interpreter where a structure set names several.

    References
    ----------
    DICOM Standards Committee. DICOM PS3.3, C.8.8.6: ROI Contour Module.
    https://dicom.nema.org/medical/dicom/current/output/chtml/part03/sect_C.8.8.6.html
    """
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    sets, series = list[StructureSet](), dict[str, Series]()
    for source in dicom_sources(given):
        with dicom_errors(source.path):
            if read_sop_class(source.path) == STRUCTURE_SET:
                sets.append(_parse(source))
            else:
                add_image(source.path, read_header(source.path, IMAGE_TAGS, GROUPS, frame_of), series)
    if not sets:
        raise FormatError(f"{given[0]}: holds no DICOM structure set; export one (RTSTRUCT), or correct the path")
    found = [(each, *_find_series(each, series)) for each in sets]
    names = name_images([(uid, _name_candidates(each, own)) for each, uid, own in found])
    return [read for each, uid, own in found for read in _readings(each, own, names[uid], options or ImportOptions())]


# -- the file -----------------------------------------------------------------------------------------------


def _parse(source: Source) -> StructureSet:
    dataset = read_header(source.path, _TAGS, (), frame_of, (LARGEST_FILE, MOST_ITEMS)).dataset
    places = list(dataset.get("ReferencedFrameOfReferenceSequence") or ())
    regions = list(dataset.get("StructureSetROISequence") or ())
    if not regions:
        raise FormatError("describes no structures; export it again")
    frames = [text_at(item, "FrameOfReferenceUID") for item in places]
    frames += [text_at(item, "ReferencedFrameOfReferenceUID") for item in regions]
    return StructureSet(
        source=source,
        operator=person_name(dataset.get("OperatorsName")),
        patient=text_at(dataset, "PatientID"),
        study=text_at(dataset, "StudyInstanceUID"),
        study_date=text_at(dataset, "StudyDate"),
        frames_of_reference=tuple(dict.fromkeys(filter(None, [*frames, text_at(dataset, "FrameOfReferenceUID")]))),
        references=tuple(dict.fromkeys(_referenced_series(places))),
        structures=tuple(_structures(dataset, regions)),
        started=start_time(dataset, ("StructureSetDate", "StructureSetTime")),
    )


def _referenced_series(places: Sequence[Any]) -> Iterator[str]:
    for place in places:
        for study in place.get("RTReferencedStudySequence") or ():
            for item in study.get("RTReferencedSeriesSequence") or ():
                yield text_at(item, "SeriesInstanceUID")


def _structures(dataset: Any, regions: Sequence[Any]) -> Iterator[Structure]:
    contours: dict[int, list[Contour]] = {}
    known = [whole_number(item, "ROINumber") for item in regions]
    twice = next((number for number, count in Counter(known).items() if count > 1), None)
    if twice is not None:
        raise FormatError(f"describes two structures of number {twice}; export it again")
    left = MOST_POINTS_OF_FILE
    for item in dataset.get("ROIContourSequence") or ():
        number = whole_number(item, "ReferencedROINumber")
        if number not in known:
            raise FormatError(f"has contours of structure {number}, which is not described; export it again")
        for k, contour in enumerate(item.get("ContourSequence") or ()):
            contours.setdefault(number, []).append(_contour(contour, f"contour {k + 1} of structure {number}"))
            left -= len(contours[number][-1].points)
            if left < 0:
                raise FormatError(f"has more than {MOST_POINTS_OF_FILE} points; export it in parts")
    notes: dict[int, Any] = {}
    for item in dataset.get("RTROIObservationsSequence") or ():
        notes.setdefault(whole_number(item, "ReferencedROINumber"), item)
    for number, item in zip(known, regions, strict=True):
        note = notes.get(number)
        fields = {"algorithm": text_at(item, "ROIGenerationAlgorithm"), "type": text_at(note, "RTROIInterpretedType")}
        yield Structure(
            number,
            text_at(item, "ROIName") or text_at(note, "ROIObservationLabel") or f"ROI {number}",
            person_name(note.get("ROIInterpreter")) if note is not None else "",
            tuple(contours.get(number, ())),
            {name: text for name, text in fields.items() if text},
        )


def _contour(item: Any, where: str) -> Contour:
    kind = text_at(item, "ContourGeometricType").upper()
    if kind not in (*AREAS, *KINDS):
        raise FormatError(f"{where} is of type {kind[:40]!r}, expected CLOSED_PLANAR; export it again")
    numbers = _contour_numbers(item, where)
    points = numbers.reshape(-1, 3)
    told = item.get("NumberOfContourPoints")
    if told not in (None, "") and whole_number(item, "NumberOfContourPoints") != len(points):
        raise FormatError(f"{where} has {len(points)} points where its header says {told}; export it again")
    return Contour(kind, points, text_at(first_item(item, "ContourImageSequence"), "ReferencedSOPInstanceUID"))


def _contour_numbers(item: Any, where: str) -> NDArray[np.float64]:
    """The coordinates; pydicom would make an object of each."""
    element = item.get_item(_POINTS)
    value = b"" if element is None else element.value
    if isinstance(value, bytes):
        if value.count(b"\\") >= 3 * MOST_POINTS:
            raise FormatError(f"{where} has more than {MOST_POINTS} points; simplify it")
        value = value.strip(b" \0").split(b"\\") if value.strip(b" \0") else []
    elif value is None or isinstance(value, str | float):
        value = [] if value in (None, "") else [value]
    try:
        numbers = np.array([float(number) for number in value], np.float64)
    except ValueError:
        raise FormatError(f"{where} has coordinates that are not numbers; export it again") from None
    if len(numbers) % 3 or not len(numbers) or not (np.abs(numbers) < 1e9).all():
        raise FormatError(f"{where} is not a list of points (x, y, z); export it again")
    return numbers


# -- the series ---------------------------------------------------------------------------------------------


def _find_series(structures: StructureSet, series: dict[str, Series]) -> tuple[str, Series]:
    """The series whose images its contours name, or that it names itself, or the only one in its coordinate system."""
    images = structures.images
    named = [uid for uid, each in series.items() if images.intersection(each.images)]
    if not named:
        named = [uid for uid in structures.references if uid in series]
    if not named:
        frames = structures.frames_of_reference
        named = [uid for uid, each in series.items() if each.frame_of_reference and each.frame_of_reference in frames]
    if len(named) != 1:
        path = structures.source.path
        if not named:
            raise GridError(f"{path}: the series that it was drawn on is not among the paths; name its folder, too")
        raise GridError(f"{path}: was drawn on one of {len(named)} series and does not say which; name one of them")
    return named[0], series[named[0]]


def _name_candidates(structures: StructureSet, own: Series) -> tuple[str, ...]:
    """Names of its images, each one longer: the patient, the day, the number of the series."""
    parts = [structures.patient or "unnamed", structures.study_date, own.number]
    return tuple("_".join(part for part in parts[: count + 1] if part) for count in range(len(parts)))


# -- readings -----------------------------------------------------------------------------------------------


def _readings(structures: StructureSet, own: Series, image: str, options: ImportOptions) -> Iterator[Reading]:
    stack = own.stack()
    if stack is None:
        raise GridError(f"{own.where}: its series does not say where it lies; export it with its geometry")
    source, fields = structures.source, structures.source.fields
    by_rater: dict[str, list[Structure]] = {}
    for each in structures.structures:
        by_rater.setdefault(source.rater(each.interpreter or structures.operator), []).append(each)
    for rater, drawn in by_rater.items():
        left_out = Counter[str]()
        with dicom_errors(source.path):
            marks = tuple(_mark(each, stack.grid, options, left_out) for each in drawn)
        yield Reading(
            image=image,
            rater=rater,
            grid=stack.grid,
            marks=marks,
            session=fields.get("session", ""),
            status="done" if any(each.contours for each in drawn) else "empty",
            tool=TOOL,
            started=structures.started,
            subject=fields.get("subject") or structures.patient,
            case=fields.get("case", ""),
            picture=own.picture(stack.grid, stack.order),
            left_out=dict(left_out),
            source=str(source.path),
        )


def _mark(structure: Structure, grid: Grid, options: ImportOptions, left_out: Counter[str]) -> Mark:
    back = np.linalg.inv(grid.matrix()) @ LPS_TO_RAS
    rings: dict[int, list[Points]] = {}
    lines: dict[int, list[Points]] = {}
    for k, contour in enumerate(structure.contours):
        is_line = contour.kind == LINE and options.widen is not None
        if contour.kind not in AREAS and not is_line:
            left_out[KINDS[contour.kind]] += 1
            continue
        indices = contour.points @ back[:3, :3].T + back[:3, 3]
        level = _slice_of(indices[:, 2], grid, f"{structure.name!r}: contour {k + 1}")
        points = np.round((indices[:, :2] + 0.5) * STEPS) / STEPS
        if is_line:
            lines.setdefault(level, []).append(points)
        elif len(points) > 2:  # fewer points hold no area
            rings.setdefault(level, []).append(points)
    slices: dict[int, tuple[Outline, ...]] = {
        level: (Polygon.of(own, options.rule),) for level, own in sorted(rings.items())
    }
    for level, own in lines.items():
        slices[level] = (*slices.get(level, ()), *(Line.of(points, options.widen or 0.0) for points in own))
    return Mark(structure.name, SliceContours(slices), structure.number, None, structure.attributes)


def _slice_of(heights: Points, grid: Grid, where: str) -> int:
    """The slice that a contour lies on, by the third index of its points."""
    level = round(float(np.median(heights)))
    if float(heights.max() - heights.min()) > 2 * OFF_SLICE:
        raise GridError(
            f"{where} is not drawn on a slice: it reaches from slice {heights.min():.2f} to {heights.max():.2f} of the "
            "series; name the series that it was drawn on"
        )
    off = float(np.abs(heights - level).max())
    if off > OFF_SLICE:
        raise GridError(
            f"{where} lies between slices ({off:.2f} of a slice from slice {level}), more than {OFF_SLICE:g}; name the "
            "series that it was drawn on"
        )
    if not 0 <= level < grid.shape[2]:
        raise GridError(
            f"{where} lies on slice {level} of a series of {grid.shape[2]}, counted from 0; name the whole series"
        )
    return level

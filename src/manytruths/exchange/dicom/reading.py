"""DICOM segmentations with the series that they were drawn on: on the whole stack, not on the marked slices alone.

The series' files may stand anywhere among the paths; without them a segmentation spans what its own frames do, and the
read says so. Frames are decoded when they are drawn.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, GridError
from ...shape.grid import Grid
from ..reads import Choices, Mark, Read, Status
from ..sources import Source, sources
from .frames import Frames, marked, of_two_values
from .opening import Header, decoding, header, is_dicom
from .pictures import SeriesPicture
from .planes import GROUPS, TAGS, Planes, frame_of, planes_of, together
from .segments import NOTHING, SEGMENTATIONS, SURFACES, Segmentation, segmentation
from .segments import TAGS as SEGMENT_TAGS
from .series import Stack, places, stacked

TOOL = "DICOM SEG"
_MINE = ("SOPClassUID", "SOPInstanceUID", "SeriesInstanceUID", "SeriesNumber", "SeriesDescription")
_DIRECTORY = "1.2.840.10008.1.3.10"


@dataclass(eq=False)
class Series:
    """The images of one series, as far as they were found."""

    where: Path
    patient: str = ""
    number: str = ""
    images: list[str] = field(default_factory=list)
    """By their SOP instance UIDs, once for each plane."""
    paths: list[Path] = field(default_factory=list)
    """Likewise."""
    planes: list[Planes] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _stack: Stack | None = None

    def add(self, path: Path, told: Header) -> None:
        dataset = told.dataset
        image = str(dataset.get("SOPInstanceUID") or path)
        if image in self._known:
            return  # a copy
        self._known.add(image)
        planes = planes_of(dataset, told.frames)
        self.patient = self.patient or str(dataset.get("PatientID") or "")
        self.number = self.number or str(dataset.get("SeriesNumber") or "")
        self.images += [image] * len(planes.positions)
        self.paths += [path] * len(planes.positions)
        self.planes.append(planes)

    def picture(self, grid: Grid, order: Iterable[int]) -> SeriesPicture:
        """These planes, from the first slice to the last."""
        starts: dict[Path, int] = {}
        for k, path in enumerate(self.paths):
            starts.setdefault(path, k)
        return SeriesPicture(self.where, grid, tuple((self.paths[k], k - starts[self.paths[k]]) for k in order))

    def stack(self) -> Stack | None:
        """All of them as a volume; none where they have no place in the patient."""
        if self._stack is None:
            with decoding(f"{self.where}: its series"):
                joined = together(self.planes)
                self._stack = stacked(joined) if joined.placed else None
        return self._stack


def read_dicom_seg(paths: Sequence[Path | str] | Path | str, choices: Choices | None = None) -> list[Read]:
    """One read for each segmentation among the files.

    The rater is, in this order, as the path says (``NAME=path``, ``{rater}``), the content's creator, the first
    operator, the description of the series, or the file's name.
    """
    given = [paths] if isinstance(paths, Path | str) else list(paths)
    found, series = sorted_out(given)
    if not found:
        raise FormatError(f"{given[0]}: holds no DICOM segmentation; export one (modality SEG), or correct the path")
    names = image_names([(_key(one), _ladder(one, series)) for one in found])
    return [_read(one, series, names[_key(one)]) for one in found]


def sorted_out(given: Sequence[Path | str]) -> tuple[list[Segmentation], dict[str, Series]]:
    """The segmentations, and the series by their UIDs."""
    folders = {path for path in map(_folder, map(str, given)) if path}
    found: list[Segmentation] = []
    series: dict[str, Series] = {}
    for source in sources(given, ("",)):
        if is_dicom(source.path):
            _sort(source, found, series)
        elif not folders.intersection(source.path.parents):
            raise FormatError(f"{source.path}: is no DICOM file; export it again, or name the folder that it is in")
    return found, series


def _folder(text: str) -> Path | None:
    """What stands for all files in it, of which some may be others'."""
    named = Path(text if Path(text).exists() else text.partition("=")[2])
    return named if named.is_dir() else None


def _sort(source: Source, found: list[Segmentation], series: dict[str, Series]) -> None:
    with decoding(source.path):
        told = header(source.path, (*_MINE, *TAGS, *SEGMENT_TAGS), GROUPS, frame_of)
        dataset = told.dataset
        kind = str(dataset.get("SOPClassUID", ""))
        if kind in SURFACES:
            raise FormatError("is a segmentation by surfaces; export it as a binary one")
        if kind in SEGMENTATIONS:
            found.append(segmentation(source, told))
        elif kind != _DIRECTORY and "Rows" in dataset and dataset.get("SeriesInstanceUID"):
            one = series.setdefault(str(dataset.SeriesInstanceUID), Series(source.path.parent))
            one.add(source.path, told)


# -- one read ---------------------------------------------------------------------------------------------


def _read(one: Segmentation, series: dict[str, Series], image: str) -> Read:
    fields = one.source.fields
    _only_two_values(one)
    own = _its_series(one, series)
    grid, voxels, how = _on_its_grid(one, own)
    return Read(
        image=image,
        rater=one.source.rater(one.rater),
        grid=grid,
        marks=tuple(_marks(one, voxels)),
        session=fields.get("session", ""),
        status=_status(one),
        tool=f"{TOOL}{how}",
        started=one.started,
        subject=fields.get("subject") or one.patient,
        case=fields.get("case", ""),
        picture=_picture(one, grid, own),
        source=str(one.source.path),
    )


def _status(one: Segmentation) -> Status:
    if one.unfinished:
        return "unfinished"
    return "done" if marked(one.pixels) else "empty"


def _only_two_values(one: Segmentation) -> None:
    if one.largest and not of_two_values(one.pixels, one.largest):
        raise FormatError(
            f"{one.source.path}: holds fractions, not only 0 and {one.largest}; export it as a binary segmentation, "
            "with a threshold that you choose"
        )


def _marks(one: Segmentation, voxels: NDArray[np.int64]) -> list[Mark]:
    marks = []
    for segment in one.segments:
        if segment.label == NOTHING:
            continue
        numbers = np.flatnonzero(one.belongs == segment.number) if one.belongs is not None else np.arange(len(voxels))
        value = segment.number if one.belongs is None else 0
        outline = Frames(one.pixels, numbers, voxels[numbers], value)
        marks.append(Mark(segment.label, outline, segment.number, segment.rank, segment.attributes))
    return marks


def _its_series(one: Segmentation, series: dict[str, Series]) -> list[Series]:
    """Those that it names, or whose images its frames name."""
    named = [series[uid] for uid in one.references if uid in series]
    images = {image for image in one.images if image}
    return named or [each for each in series.values() if images.intersection(each.images)]


def _on_its_grid(one: Segmentation, series: list[Series]) -> tuple[Grid, NDArray[np.int64], str]:
    """The grid, the voxel of each frame's first pixel, and what is to be said of it."""
    planes = one.planes if one.planes.placed else _as_its_images(one, series)
    stacks = [stack for stack in (each.stack() for each in series) if stack is not None]
    with decoding(one.source.path):
        if not planes.placed:
            return _flat(one, planes)
        for stack in stacks:
            voxels = places(planes, stack.grid)
            if voxels is not None:
                return stack.grid, voxels, ""
        own = stacked(planes, filled=True).grid
        voxels = places(planes, own)
        if voxels is None:
            raise GridError("its frames lie on no common grid; export it again")
        return own, voxels, ", on a grid of its own" if stacks else ", without its series"


def _as_its_images(one: Segmentation, series: list[Series]) -> Planes:
    """Frames that have no place in the patient have that of the images that they name."""
    for each in series:
        at = {image: k for k, image in enumerate(each.images)}
        # of an image of many frames it is not enough to name the image
        if len(at) == len(each.images) and all(image in at for image in one.images):
            every = together(each.planes)
            own = [at[image] for image in one.images]
            return replace(
                one.planes,
                positions=every.positions[own],
                orientations=every.orientations[own],
                spacings=every.spacings[own],
                between=every.between,
                thickness=every.thickness,
            )
    return one.planes


def _flat(one: Segmentation, planes: Planes) -> tuple[Grid, NDArray[np.int64], str]:
    """An image, which has no place in the patient: a frame for each segment."""
    often = np.unique(one.belongs, return_counts=True)[1] if one.belongs is not None else [len(planes.positions)]
    if max(often, default=0) > 1 or len(set(one.images)) > 1:
        raise GridError("its frames do not say where they lie; name the series that it was drawn on, too")
    spacing = planes.spacings[0] if len(planes.spacings) and np.isfinite(planes.spacings[0]).all() else None
    grid = Grid((planes.rows, planes.columns), None if spacing is None else tuple(spacing.tolist()))
    return grid, np.zeros((len(planes.positions), 3), np.int64), ""


def _picture(one: Segmentation, grid: Grid, series: list[Series]) -> SeriesPicture | None:
    """The stack whose grid it has, or the flat image that its frames name."""
    named = {image for image in one.images if image}
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


def _key(one: Segmentation) -> str:
    """The same for all segmentations of the same images."""
    if not one.planes.oriented and one.images:
        return one.images[0]
    return one.references[0] if one.references else f"{one.study} {one.frame_of_reference}"


def _ladder(one: Segmentation, series: dict[str, Series]) -> tuple[str, ...]:
    """Names of its images, each one longer: the patient, the day, the number of the series."""
    found = _its_series(one, series)
    parts = [one.patient or "unnamed", one.study_date, found[0].number if found else ""]
    return tuple("_".join(part for part in parts[: count + 1] if part) for count in range(len(parts)))


def image_names(wanted: Sequence[tuple[str, tuple[str, ...]]]) -> dict[str, str]:
    """By key: the shortest name of its ladder that no other key has.

    >>> image_names([("1.2", ("ann", "ann_1")), ("1.3", ("ann", "ann_2")), ("1.4", ("bob", "bob_1"))])
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

"""The consensus, and where raters disagree, as files that annotation tools open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import InputError
from ...exchange.outlines import Bitmap, Whole
from ...exchange.readings import Mark, Outline, Reading
from ...io import safe_name, write_text
from ...io.results import SUMMARY, replacing, write_summary, written_files
from ...io.tables import read_table
from ...study import Case, Progress, Study
from ...study.grids import is_resampled
from ..importing.layout import IMAGES
from ..result import Tables
from .result import Export, check_folder
from .targets import Numbering, check_consensus, targets_of

DISPUTED = "disputed"
PLANE = ("cvat", "labelstudio", "coco")
"""Tools of images; the others are those of volumes."""


@dataclass(frozen=True)
class ToolOptions:
    """What goes into the files of an annotation tool."""

    consensus: str = "staple"
    """A method of ``fuse``."""
    mark_disputed: bool = True
    """Whether what raters disagree on is a structure of its own."""
    series: Path | None = None
    """The DICOM images that the study was made of."""

    def __post_init__(self) -> None:
        check_consensus(self.consensus)


def export_annotations(
    study: Study, tool: str, folder: Path, options: ToolOptions, *, jobs: int = 1, progress: Progress | None = None
) -> Export:
    """Write the consensus of every case in the format of an annotation tool."""
    check_folder(folder, tool)
    numbering = Numbering.of(next(iter(study.tally(jobs=jobs).values())).labels)
    _check_axes(study, tool)
    work = partial(consensus_reading, numbering=numbering, options=options, images=_image_names(study))
    readings = (reading for _, reading in study.map(work, jobs=jobs, progress=progress))
    names = (*numbering.names, *([_disputed_name(numbering)] if options.mark_disputed else ()))
    details = {
        "reference": options.consensus,
        "cases": len(study),
        "structures": list(names),
        "raters": list(study.rater_names),
    }
    lines = (f"{len(study)} cases: {options.consensus} of {len(study.rater_names)} raters, as {', '.join(names)}",)
    result = Export(study, tool, folder, (), Tables([]), tuple(_notes(study)), details, lines, ())
    with replacing(folder.resolve()) as (stage,):
        check_folder(folder, tool)
        _WRITERS[tool](stage, readings, options)
        files = written_files(stage)
        write_summary(stage, result.summary(), [stage / path for path in files])
    shown = ", ".join(map(str, files[:4])) + (", …" if len(files) > 4 else "")
    return replace(result, files=files, after=(f"written to {folder}: {shown}",))


def _notes(study: Study) -> Iterator[str]:
    moved = [case.name for case in study if is_resampled(case)]
    if moved:
        shown = ", ".join(moved[:4]) + (", …" if len(moved) > 4 else "")
        yield f"masks of {shown} were resampled by nearest neighbour: their edges are off by up to half a voxel"


def _image_names(study: Study) -> dict[str, str]:
    """By case, what the tool that it was imported from calls its image."""
    if study.options.reads is None:
        return {}
    path = Path(study.options.reads).with_name(IMAGES)
    return {case: row["image"] for case, row in read_table(str(path), "case").items()} if path.is_file() else {}


def _check_axes(study: Study, tool: str) -> None:
    first = next(iter(study))
    axes = len(first.read().grid.shape)
    if (tool in PLANE) != (axes == 2):
        kind, others = ("images", PLANE) if axes == 2 else ("volumes", ("slicer", "dicomseg", "bids"))
        raise InputError(f"the study is of {kind}, which {tool} does not take; export to {', '.join(others)}")


def _disputed_name(numbering: Numbering) -> str:
    return DISPUTED if DISPUTED not in numbering.names else f"{DISPUTED} by raters"


def consensus_reading(case: Case, numbering: Numbering, options: ToolOptions, images: Mapping[str, str]) -> Reading:
    """The consensus as if a rater had drawn it."""
    targets = targets_of(case.read(), numbering)
    hard = targets.hard(targets.consensus(options.consensus))
    parts = {name: hard == number for number, name in enumerate(numbering.names, start=1)}
    if options.mark_disputed:
        parts[_disputed_name(numbering)] = targets.disputed
    marks = tuple(Mark(name, _crop(mask), order) for order, (name, mask) in enumerate(parts.items()) if mask.any())
    image = images.get(case.name) or (case.image.path.name if case.image is not None else f"{case.name}.png")
    return Reading(
        image, options.consensus, targets.reading.grid, marks, tool="manytruths", subject=case.subject, case=case.name,
        status="done" if marks else "empty",
    )  # fmt: skip


def _crop(mask: NDArray[Any]) -> Outline:
    """Of a plane, what is inside its frame: whole masks of all cases would not fit into memory."""
    if mask.ndim > 2:
        return Whole(mask)
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    top, left = int(rows[0]), int(columns[0])
    return Bitmap(top, left, mask[top : rows[-1] + 1, left : columns[-1] + 1].copy())


def _write_cvat(folder: Path, reads: Iterator[Reading], options: ToolOptions) -> None:
    from ...exchange.cvat import write_cvat

    write_cvat(folder / "annotations.xml", list(reads))


def _write_labelstudio(folder: Path, reads: Iterator[Reading], options: ToolOptions) -> None:
    from ...exchange.labelstudio import labelstudio_configuration, write_labelstudio

    readings = list(reads)
    write_labelstudio(folder / "predictions.json", readings, kind="predictions")
    write_text(folder / "labelling-configuration.xml", labelstudio_configuration(readings))


def _write_coco(folder: Path, reads: Iterator[Reading], options: ToolOptions) -> None:
    from ...exchange.coco import write_coco

    write_coco(folder / "annotations.json", list(reads))


def _write_slicer(folder: Path, reads: Iterator[Reading], options: ToolOptions) -> None:
    from ...exchange.slicer import write_slicer

    for read in reads:
        write_slicer(folder / f"{safe_name(read.case)}.seg.nrrd", read)


def _write_dicomseg(folder: Path, reads: Iterator[Reading], options: ToolOptions) -> None:
    from ...exchange.dicom.writing import find_series, write_dicom_seg

    assert options.series is not None
    series = find_series(options.series)
    for read in reads:
        write_dicom_seg(folder / f"{safe_name(read.case)}.dcm", read, series)


def _write_bids(folder: Path, reads: Iterator[Reading], options: ToolOptions) -> None:
    from ...exchange.bids import write_bids

    write_bids(folder, reads)
    # the export's own summary is no part of the data set
    write_text(folder / ".bidsignore", f"{SUMMARY}\n")


_WRITERS: dict[str, Callable[[Path, Iterator[Reading], ToolOptions], None]] = {
    "cvat": _write_cvat,
    "labelstudio": _write_labelstudio,
    "coco": _write_coco,
    "slicer": _write_slicer,
    "dicomseg": _write_dicomseg,
    "bids": _write_bids,
}

"""The consensus, and where raters disagree, as files that annotation tools open."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
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
from ...study import Case, Progress, Study
from ..importing.layout import image_names
from ..result import Tables
from .result import Export, adjudication_notes, check_folder, resampled_notes
from .targets import Numbering, targets_of

DISPUTED = "disputed"
PLANE = ("cvat", "labelstudio", "coco")
"""Tools of images; the others are those of volumes."""


def export_annotations(
    study: Study, tool: str, folder: Path, consensus: str, mark_disputed: bool, series: Path | None,
    *, jobs: int = 1, progress: Progress | None = None,
) -> Export:  # fmt: skip
    """Write the consensus of every case in the format of an annotation tool.

    ``mark_disputed``: what raters disagree on is a structure of its own. ``series``: the DICOM images that the study
    was made of.
    """
    check_folder(folder, tool)
    numbering = Numbering.of(next(iter(study.tally(jobs=jobs).values())).labels)
    _check_axes(study, tool)
    free = DISPUTED if DISPUTED not in numbering.names else f"{DISPUTED} by raters"
    disputed = free if mark_disputed else ""
    images = image_names(study)
    work = partial(consensus_reading, numbering=numbering, consensus=consensus, disputed=disputed, images=images)
    readings = (reading for _, reading in study.map(work, jobs=jobs, progress=progress))
    names, raters = list(filter(None, (*numbering.names, disputed))), list(study.rater_names)
    details = {"reference": consensus, "cases": len(study), "structures": names, "raters": raters}
    lines = (f"{len(study)} cases: {consensus} of {len(raters)} raters, as {', '.join(names)}",)
    notes = (*adjudication_notes(study, consensus, jobs), *resampled_notes(study))
    result = Export(study, tool, folder, (), Tables([]), notes, details, lines, ())
    with replacing(folder.resolve()) as (stage,):
        check_folder(folder, tool)
        _write_files(stage, tool, readings, series)
        files = written_files(stage)
        write_summary(stage, result.summary(), [stage / path for path in files])
    shown = ", ".join(map(str, files[:4])) + (", …" if len(files) > 4 else "")
    return replace(result, files=files, after=(f"written to {folder}: {shown}",))


def _check_axes(study: Study, tool: str) -> None:
    first = next(iter(study))
    axes = len(first.read().grid.shape)
    if (tool in PLANE) != (axes == 2):
        kind, others = ("images", PLANE) if axes == 2 else ("volumes", ("slicer", "dicomseg", "bids"))
        raise InputError(f"the study is of {kind}, which {tool} does not take; export to {', '.join(others)}")


def consensus_reading(
    case: Case, numbering: Numbering, consensus: str, disputed: str, images: Mapping[str, str]
) -> Reading:
    """The consensus as if a rater had drawn it; what is disputed is a structure where it has a name."""
    targets = targets_of(case.read(), numbering)
    hard = targets.hard(targets.consensus(consensus))
    parts = {name: hard == number for number, name in enumerate(numbering.names, start=1)}
    if disputed:
        parts[disputed] = targets.disputed
    marks = tuple(Mark(name, _crop(mask), order) for order, (name, mask) in enumerate(parts.items()) if mask.any())
    image = images.get(case.name) or (case.image.path.name if case.image is not None else f"{case.name}.png")
    return Reading(
        image, consensus, targets.reading.grid, marks, tool="manytruths", subject=case.subject, case=case.name,
        status="done" if marks else "empty",
    )  # fmt: skip


def _crop(mask: NDArray[Any]) -> Outline:
    """Of a plane, what is inside its frame: whole masks of all cases would not fit into memory."""
    if mask.ndim > 2:
        return Whole(mask)
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    top, left = int(rows[0]), int(columns[0])
    return Bitmap(top, left, mask[top : rows[-1] + 1, left : columns[-1] + 1].copy())


def _write_files(folder: Path, tool: str, readings: Iterator[Reading], series: Path | None) -> None:
    if tool == "cvat":
        from ...exchange.cvat import write_cvat

        write_cvat(folder / "annotations.xml", list(readings))
    elif tool == "labelstudio":
        from ...exchange.labelstudio import labelstudio_configuration, write_labelstudio

        tasks = list(readings)
        write_labelstudio(folder / "predictions.json", tasks, kind="predictions")
        write_text(folder / "labelling-configuration.xml", labelstudio_configuration(tasks))
    elif tool == "coco":
        from ...exchange.coco import write_coco

        write_coco(folder / "annotations.json", list(readings))
    elif tool == "slicer":
        from ...exchange.slicer import write_slicer

        for reading in readings:
            write_slicer(folder / f"{safe_name(reading.case)}.seg.nrrd", reading)
    elif tool == "dicomseg":
        from ...exchange.dicom.writing import find_series, write_dicom_seg

        assert series is not None
        images = find_series(series)
        for reading in readings:
            write_dicom_seg(folder / f"{safe_name(reading.case)}.dcm", reading, images)
    else:
        from ...exchange.bids import write_bids

        write_bids(folder, readings)
        # the export's own summary is no part of the data set
        write_text(folder / ".bidsignore", f"{SUMMARY}\n")

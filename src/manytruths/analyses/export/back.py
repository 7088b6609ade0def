"""The way back into annotation tools: the consensus, and where raters disagree, as files that these tools open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError, InputError
from ...exchange.outlines import Bitmap, Whole
from ...exchange.reads import Mark, Outline, Read
from ...fusion.registry import estimator
from ...io import safe_name, write_text
from ...io.replacing import replacing, written_files
from ...io.results import SUMMARY, write_summary
from ...io.tables import read_table
from ...study import Case, Progress, Study
from ...study.placing import resampled
from ..files import summary_of
from ..intake.verb import IMAGES
from .folder import check_folder
from .numbering import Numbering
from .targets import targets_of

DISPUTED = "disputed"
PLANE = ("cvat", "labelstudio", "coco")
"""Tools of images; the others are those of volumes."""


@dataclass(frozen=True)
class BackPlan:
    """What goes back."""

    reference: str = "staple"
    """A method of ``fuse``."""
    disputed: bool = True
    """Whether what raters disagree on is a structure of its own."""
    series: Path | None = None
    """The DICOM images that the study was made of."""

    def __post_init__(self) -> None:
        if "," in self.reference:
            raise CallError(f"--reference is one method, as staple or vote:0.5; got {self.reference!r}")
        estimator(self.reference)


@dataclass(frozen=True)
class Returned:
    """What was written."""

    study: Study
    tool: str
    folder: Path
    files: tuple[Path, ...]
    structures: tuple[str, ...]
    plan: BackPlan


def export_back(
    study: Study,
    tool: str,
    to: Path | str,
    plan: BackPlan | None = None,
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Returned:
    """The consensus of every case in the format of an annotation tool, in the folder ``to``.

    Parameters
    ----------
    tool
        ``cvat``, ``labelstudio``, ``coco``, ``slicer``, ``dicomseg`` or ``bids``.
    """
    plan, folder = plan or BackPlan(), Path(to)
    if tool == "dicomseg" and plan.series is None:
        raise CallError("a DICOM SEG refers to the images it was drawn on; say where they are with --series")
    check_folder(folder, tool)
    numbering = Numbering.of(next(iter(study.tally(jobs=jobs).values())).labels)
    _check_axes(study, tool)
    work = partial(consensus_read, numbering=numbering, plan=plan, images=_called(study))
    reads = (read for _, read in study.map(work, jobs=jobs, progress=progress))
    names = (*numbering.names, *([_disputed_name(numbering)] if plan.disputed else ()))
    summary = summary_of(
        "export", (), target=tool, reference=plan.reference, cases=len(study), structures=list(names),
        raters=list(study.rater_names), notes=list(_notes(study)),
    )  # fmt: skip
    with replacing(folder.resolve()) as (stage,):
        check_folder(folder, tool)
        _WRITERS[tool](stage, reads, plan)
        files = written_files(stage)
        write_summary(stage, summary, [stage / path for path in files])
    return Returned(study, tool, folder, files, names, plan)


def _notes(study: Study) -> Iterator[str]:
    moved = [case.name for case in study if resampled(case)]
    if moved:
        shown = ", ".join(moved[:4]) + (", …" if len(moved) > 4 else "")
        yield f"masks of {shown} were resampled by nearest neighbour: their edges are off by up to half a voxel"


def _called(study: Study) -> dict[str, str]:
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


def consensus_read(case: Case, numbering: Numbering, plan: BackPlan, images: Mapping[str, str]) -> Read:
    """The consensus as if a rater had drawn it."""
    targets = targets_of(case.read(), numbering)
    hard = targets.hard(targets.reference(plan.reference))
    parts = {name: hard == number for number, name in enumerate(numbering.names, start=1)}
    if plan.disputed:
        parts[_disputed_name(numbering)] = targets.disputed
    marks = tuple(Mark(name, _cropped(mask), order) for order, (name, mask) in enumerate(parts.items()) if mask.any())
    image = images.get(case.name) or (case.image.path.name if case.image is not None else f"{case.name}.png")
    return Read(
        image, plan.reference, targets.reading.grid, marks, tool="manytruths", subject=case.subject, case=case.name,
        status="done" if marks else "empty",
    )  # fmt: skip


def _cropped(mask: NDArray[Any]) -> Outline:
    """Of a plane, what is inside its frame: whole masks of all cases would not fit into memory."""
    if mask.ndim > 2:
        return Whole(mask)
    rows, columns = (np.flatnonzero(mask.any(axis=axis)) for axis in (1, 0))
    top, left = int(rows[0]), int(columns[0])
    return Bitmap(top, left, mask[top : rows[-1] + 1, left : columns[-1] + 1].copy())


def _cvat(folder: Path, reads: Iterator[Read], plan: BackPlan) -> None:
    from ...exchange.cvat.writing import write_cvat

    write_cvat(folder / "annotations.xml", list(reads))


def _labelstudio(folder: Path, reads: Iterator[Read], plan: BackPlan) -> None:
    from ...exchange.labelstudio.writing import labelstudio_configuration, write_labelstudio

    found = list(reads)
    write_labelstudio(folder / "predictions.json", found, kind="predictions")
    write_text(folder / "labelling-configuration.xml", labelstudio_configuration(found))


def _coco(folder: Path, reads: Iterator[Read], plan: BackPlan) -> None:
    from ...exchange.coco.writing import write_coco

    write_coco(folder / "annotations.json", list(reads))


def _slicer(folder: Path, reads: Iterator[Read], plan: BackPlan) -> None:
    from ...exchange.slicer.writing import write_slicer

    for read in reads:
        write_slicer(folder / f"{safe_name(read.case)}.seg.nrrd", read)


def _dicomseg(folder: Path, reads: Iterator[Read], plan: BackPlan) -> None:
    from ...exchange.dicom.writing import dicom_sources, write_dicom_seg

    assert plan.series is not None
    series = dicom_sources(plan.series)
    for read in reads:
        write_dicom_seg(folder / f"{safe_name(read.case)}.dcm", read, series)


def _bids(folder: Path, reads: Iterator[Read], plan: BackPlan) -> None:
    from ...exchange.bids.writing import write_bids

    write_bids(folder, reads)
    # the export's own summary is no part of the data set
    write_text(folder / ".bidsignore", f"{SUMMARY}\n")


_WRITERS: dict[str, Callable[[Path, Iterator[Read], BackPlan], None]] = {
    "cvat": _cvat, "labelstudio": _labelstudio, "coco": _coco, "slicer": _slicer, "dicomseg": _dicomseg, "bids": _bids,
}  # fmt: skip


def told(found: Returned) -> Sequence[str]:
    """What there is, in a few lines."""
    shown = ", ".join(map(str, found.files[:4])) + (", …" if len(found.files) > 4 else "")
    return [
        f"{len(found.study)} cases: {found.plan.reference} of {len(found.study.rater_names)} raters, "
        f"as {', '.join(found.structures)}",
        *(f"note: {note}" for note in _notes(found.study)),
        f"written to {found.folder}: {shown}",
    ]

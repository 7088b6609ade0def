"""The verb ``export``: look at everything, then write all of a data set or nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Protocol

from ...core.errors import CallError, few
from ...io import write_csv
from ...io.results import replacing, write_summary, written_files
from ...study import Case, Progress, Study
from ...study.grids import is_resampled
from ..files import summary_of
from ..resampled import write_marked
from . import datalist, nnunet
from .folder import check_folder, check_number
from .job import Job, Made, job_of
from .looking import survey
from .plan import ExportPlan

CASES = ("name", "case", "subject", "fold", "rater", "raters", "pixels", "disputed", "not_rated", "image")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")


class WriteCase(Protocol):
    """What a target does with a case."""

    def __call__(self, case: Case, job: Job) -> Made: ...


@dataclass(frozen=True)
class Exported:
    """A data set that was written."""

    study: Study
    target: str
    job: Job
    made: Mapping[str, Made]
    files: tuple[Path, ...]
    """Relative to the folder."""

    @property
    def folder(self) -> Path:
        """Where it is."""
        return self.job.folder

    @property
    def disputed(self) -> float:
        """The share of rated pixels on which raters disagree."""
        rated = sum(one.pixels - one.not_rated for one in self.made.values())
        return sum(one.disputed for one in self.made.values()) / rated if rated else 0.0

    @property
    def notes(self) -> tuple[str, ...]:
        """What to know before training on it."""
        return tuple(_notes(self))


def export_nnunet(
    study: Study,
    to: str | Path,
    plan: ExportPlan | None = None,
    *,
    number: int = 501,
    name: str = "Manytruths",
    found_before: Sequence[Exception] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Exported:
    """A data set for nnU-Net v2 in the folder ``to``, which is nnU-Net's ``nnUNet_raw``.

    Parameters
    ----------
    study
        A study with images.
    to
        Gets a folder such as ``Dataset501_Manytruths``.
    plan
        Reference standard, disputed pixels, folds.
    number, name
        Of the data set: from 1 to 999, and letters, digits, dashes and underscores.
    found_before
        Problems met while the study was opened; they are told with the others.
    """
    plan = plan or ExportPlan()
    nnunet.check_plan(plan)
    if not 1 <= number <= 999:
        raise CallError(f"--id is a number from 1 to 999; got {number}")
    if not _NAME.fullmatch(name):
        raise CallError(f"--name is made of letters, digits, dashes and underscores; got {name!r}")
    folder = Path(to) / f"Dataset{number:03}_{name}"
    check_number(folder, f"Dataset{number:03}_")
    lists = nnunet.write_lists
    return _export(study, "nnunet", folder, plan, nnunet.write_case, lists, found_before, jobs, progress)


def export_monai(
    study: Study,
    to: str | Path,
    plan: ExportPlan | None = None,
    *,
    found_before: Sequence[Exception] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Exported:
    """A data list for MONAI, ``datalist.json``, and its files in the folder ``to``; as :func:`export_nnunet`."""
    lists = partial(datalist.write_lists, study)
    plan = plan or ExportPlan()
    return _export(study, "monai", Path(to), plan, datalist.write_case, lists, found_before, jobs, progress)


def _export(
    study: Study,
    target: str,
    folder: Path,
    plan: ExportPlan,
    write_case: WriteCase,
    write_lists: Callable[[Job, Mapping[str, Made]], None],
    found_before: Sequence[Exception],
    jobs: int,
    progress: Progress | None,
) -> Exported:
    check_folder(folder, target)
    common = survey(study, found_before, jobs=jobs, progress=progress)
    job = job_of(study, plan, common, folder)
    with replacing(folder.resolve()) as (stage,):
        check_folder(folder, target)
        there = replace(job, folder=stage)
        work = partial(write_case, job=there)
        made = {case.name: one for case, one in study.map(work, jobs=jobs, progress=progress)}
        write_lists(there, made)
        moved = {case.name for case in study if is_resampled(case)}
        touched = [item.case in moved for item in job.items]
        write_marked(stage / "cases.csv", _rows(study, job, made), CASES, touched)
        write_csv(stage / "labels.csv", job.survey.numbering.rows(), ("number", "value", "name"))
        files = written_files(stage)
        found = Exported(study, target, job, made, files)
        write_summary(stage, _summary(found), [stage / path for path in files])
    return found


def _rows(study: Study, job: Job, made: Mapping[str, Made]) -> Iterator[tuple[object, ...]]:
    for item in job.items:
        one = made[item.case]
        rated = one.pixels - one.not_rated
        shares = (one.disputed / rated if rated else None, one.not_rated / one.pixels)
        told = (item.name, item.case, item.subject, item.fold, item.rater, "; ".join(one.raters), one.pixels)
        yield (*told, *shares, study[item.case].image)


def _summary(found: Exported) -> dict[str, object]:
    job = found.job
    return summary_of(
        "export",
        (),
        target=found.target,
        reference=job.plan.reference,
        disputed=job.plan.disputed,
        seed=job.plan.seed,
        folds=job.folds,
        cases=len(found.study),
        subjects=len(found.study.subjects),
        raters=list(found.study.rater_names),
        training_cases=len(job.items),
        disputed_share=found.disputed,
        notes=list(found.notes),
    )


def _notes(found: Exported) -> Iterator[str]:
    job, numbering = found.job, found.job.survey.numbering
    if job.folds == 1:
        yield "there is one subject, so that nothing can be held back: train on all (fold all)"
    moved = [case.name for case in found.study if is_resampled(case)]
    if moved:
        yield f"masks of {few(moved, 5)} were resampled by nearest neighbour: their edges are off by up to half a voxel"
    alone = [name for name, one in found.made.items() if len(one.raters) == 1]
    if alone:
        yield f"only one rater marked {few(alone, 5)}: nothing is disputed there, and he alone is the reference"
    for number, name in enumerate(numbering.names, start=1):
        if not any(one.counts[number] for one in found.made.values()):
            yield f"label {name} occurs in no training label: nothing can be learnt of it"
    if job.plan.disputed == "replicate" and found.study.options.exchangeable:
        yield "raters are exchangeable: a replica's rater is a slot, not the same person in every case"
    changed = [item.case for item in job.items if item.name != "__".join(filter(None, (item.case, item.rater)))]
    if changed:
        yield f"names that not every program takes were changed, such as {changed[0]!r}; cases.csv says which is which"

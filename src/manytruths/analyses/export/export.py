"""The folder of a data set: ours, new, or left alone.

The verb ``export``: look at everything, then write all of a data set or nothing.

What is printed of an export.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Protocol

from ...core.errors import CallError, InputError, few
from ...io import write_csv
from ...io.replacing import replacing, written_files
from ...io.results import SUMMARY, write_summary
from ...io.writing import PART
from ...study import Case, Progress, Study
from ...study.placing import resampled
from ..files import summary_of
from ..printing import counted
from ..resampled import write_marked
from . import monai, nnunet
from .survey import survey
from .training_set import ExportPlan, Job, Made, job_of

if TYPE_CHECKING:
    from rich.console import Console


def check_folder(folder: Path, target: str) -> None:
    """Refuse a folder that holds what no export to this target wrote."""
    if not folder.exists() and not folder.is_symlink():
        return
    if not folder.is_dir():
        raise InputError(f"{folder}: is no folder; choose another one with --to")
    if any(not path.name.startswith(PART) for path in folder.iterdir()) and _target_of(folder / SUMMARY) != target:
        raise InputError(f"{folder}: holds something that is no export to {target}; choose another folder with --to")


def check_number(folder: Path, number: str) -> None:
    """Refuse a number that another data set beside this one has: nnU-Net knows data sets by it."""
    others = [path.name for path in _folders(folder.parent) if path.name.startswith(number) and path != folder]
    if others:
        raise InputError(f"{folder.parent}: {others[0]} has that number already; choose another one with --id")


def _folders(parent: Path) -> Sequence[Path]:
    return sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []


def _target_of(summary: Path) -> str:
    import msgspec

    try:
        found = msgspec.json.decode(summary.read_bytes())
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ""
    ours = isinstance(found, dict) and found.get("verb") == "export"
    return str(found.get("target", "")) if ours else ""


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
    lists = partial(monai.write_lists, study)
    plan = plan or ExportPlan()
    return _export(study, "monai", Path(to), plan, monai.write_case, lists, found_before, jobs, progress)


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
        moved = {case.name for case in study if resampled(case)}
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
    moved = [case.name for case in found.study if resampled(case)]
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


def print_export(found: Exported, console: Console) -> None:
    """How much there is, how much of it is disputed, what to know, and how to go on."""
    for line in (*_told(found), *(f"note: {note}" for note in found.notes), "", *_next(found)):
        console.print(line, markup=False, highlight=False, soft_wrap=True)


def _told(found: Exported) -> list[str]:
    job, study = found.job, found.study
    named = job.survey.numbering.named
    labels = ", ".join(name if name == str(number) else f"{number} {name}" for name, number in named.items())
    return [
        f"{counted(len(job.items), 'training case')} of {counted(len(study), 'case')}, "
        f"{counted(len(study.subjects), 'subject')}, {counted(job.folds, 'fold')}; labels: {labels}",
        f"{found.disputed:.2%} of the pixels are disputed: {_USED[job.plan.disputed].format(job.plan.reference)}",
    ]


_USED = {
    "reference": "they have the label of {}",
    "ignore": "they are ignored",
    "soft": "they have the probability of {}",
    "replicate": "they have every rater's label, one after the other",
}


def _next(found: Exported) -> list[str]:
    if found.target == "monai":
        return [f"written to {found.folder}: datalist.json and its files"]
    number, raw = int(found.folder.name[7:10]), quote(str(found.folder.parent))
    return [
        f"written to {found.folder}",
        f"next: nnUNet_raw={raw} nnUNetv2_plan_and_preprocess -d {number} --verify_dataset_integrity",
    ]

"""``manytruths export``: write a study as a data set to train on, or its consensus for an annotation tool."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from pathlib import Path
from shlex import quote
from typing import Any, Literal, get_args

from ...claims.sentences import counted
from ...core.errors import CallError, InputError, few
from ...io.result_tables import PlainTable
from ...io.results import replacing, write_summary, written_files
from ...study import Progress, Study
from ...study.consensus import prepare
from ...study.grids import is_resampled
from ..result import Tables, need_pixels, open_study
from ..tables import marked_rows
from .annotation_tools import export_annotations
from .result import Export, adjudication_notes, check_folder, resampled_notes
from .targets import check_consensus
from .training_formats import (
    TRAINER,
    TRAINER_FOLDER,
    write_monai_case,
    write_monai_lists,
    write_nnunet_case,
    write_nnunet_lists,
)
from .training_set import CaseCounts, Disputed, TrainingOptions, TrainingSet, plan_training_set, survey_study

Format = Literal["nnunet", "monai", "cvat", "labelstudio", "coco", "slicer", "bids", "dicomseg"]
CASES = ("name", "case", "subject", "fold", "rater", "raters", "pixels", "disputed", "not_rated", "image")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_TRAINING = ("disputed", "folds", "seed", "channel")
_OPTIONS = {
    "nnunet": (*_TRAINING, "id", "name"),
    "monai": (*_TRAINING, "link"),
    "dicomseg": ("mark_disputed", "series"),
}
"""The options of a format beside ``consensus``; other annotation tools have ``mark_disputed``."""
_WRITERS = {"nnunet": (write_nnunet_case, write_nnunet_lists), "monai": (write_monai_case, write_monai_lists)}
_USED = {
    "consensus": "they have the label of {}",
    "ignore": "they are ignored",
    "soft": "they have the probability of {}",
    "replicate": "there is one training case per rater",
}


def export(
    study: Study | str | Path,
    format: Format,
    *,
    to: str | Path,
    consensus: str = "staple",
    disputed: Disputed = "consensus",
    folds: int | None = None,
    seed: int = 0,
    channel: str = "image",
    id: int = 501,
    name: str = "Manytruths",
    link: bool = False,
    mark_disputed: bool = True,
    series: str | Path | None = None,
    opening_errors: Sequence[Exception] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Export:
    """Write a study as a data set to train on, or its consensus as files that annotation tools open.

    Parameters
    ----------
    study : Study, str or Path
        A study, or what :meth:`Study.open` takes. Training formats need its images.
    format : {"nnunet", "monai", "cvat", "labelstudio", "coco", "slicer", "bids", "dicomseg"}
        A raw data set of nnU-Net v2, a data list for MONAI, or an annotation tool: CVAT, Label Studio and COCO take
        images, 3D Slicer, BIDS and DICOM SEG volumes.
    to : str or Path
        Folder for the files; for nnU-Net the folder ``nnUNet_raw``, which gets a folder such as
        ``Dataset501_Manytruths``. An earlier export to the same format is replaced.
    consensus : str
        The consensus method, as in :func:`fuse`: ``staple``, ``vote:0.5``, ``simple``, ``plurality``, …
    disputed : {"consensus", "ignore", "soft", "replicate"}
        Training formats: pixels on which raters disagree get the label of the consensus, the label to ignore, the
        probability of the consensus (nnU-Net: of one label, with a trainer of our own), or every rater's label in a
        training case of their own.
    folds : int, optional
        Training formats: folds of the cross-validation over subjects; 5, or as many as there are subjects.
    seed : int
        Training formats: seed of the folds.
    channel : str
        Training formats: name of the channel of grey images, such as ``CT``, by which some trainers (nnU-Net) choose
        the normalisation.
    id, name : int and str
        nnU-Net: number (1 to 999) and name of the data set.
    link : bool
        MONAI: name the images where they lie instead of writing copies.
    mark_disputed : bool
        Annotation tools: add the pixels on which raters disagree as a structure of its own.
    series : str or Path, optional
        DICOM SEG: folder of the DICOM images that the study was made of.
    opening_errors : sequence of Exception
        Training formats: errors that ``Study.open(…, complain=errors.append)`` collected, reported with the others.
    jobs : int
        Number of worker processes. Files do not depend on it.
    progress : callable, optional
        Called after each case.

    Returns
    -------
    Export
        Folder, files, tables and notes.

    Raises
    ------
    CallError
        If an argument is wrong, or not one of the format; nothing is read or written then.
    InputError
        If the study cannot be exported; nothing is written then.

    Examples
    --------
    >>> import tempfile, numpy as np, manytruths as mt
    >>> a, b = np.zeros((8, 8), int), np.zeros((8, 8), int)
    >>> a[2:6, 2:6], b[2:6, 3:6] = 1, 1
    >>> study = mt.Study.from_arrays({"p1": {"anna": a, "ben": b}})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     result = mt.export(study, "coco", to=f"{folder}/coco", consensus="vote:0.5")
    ...     print(*result.files)
    annotations.json
    """
    if format not in get_args(Format):
        raise CallError(f"no format {format!r}; there are {', '.join(get_args(Format))}")
    given: dict[str, Any] = {
        "disputed": disputed, "folds": folds, "seed": seed, "channel": channel, "id": id, "name": name, "link": link,
        "mark_disputed": mark_disputed, "series": series,
    }  # fmt: skip
    options_of_format = _OPTIONS.get(format, ("mark_disputed",))
    for option, value in given.items():
        if option not in options_of_format and value != signature(export).parameters[option].default:
            takes = ", ".join(("consensus", *options_of_format))
            raise CallError(f"{option} is not an option of {format}, which takes {takes}")
    if format == "dicomseg" and series is None:
        raise CallError("a DICOM SEG refers to the images it was drawn on; say where they are with --series")
    folder = Path(to)
    if format not in _WRITERS:
        check_consensus(consensus)
        images, opened = None if series is None else Path(series), _open(study, format, consensus)
        return export_annotations(
            opened, format, folder, consensus, mark_disputed, images, jobs=jobs, progress=progress
        )  # fmt: skip
    options = TrainingOptions(consensus, disputed, folds, seed, channel, link)
    if format == "nnunet":
        folder = _numbered_folder(folder, id, name)
    return _export_training_set(
        _open(study, format, consensus), format, folder, options, opening_errors, jobs, progress
    )


def _open(study: Study | str | Path, format: str, consensus: str) -> Study:
    opened = open_study(study)
    need_pixels(opened, f"export {format}")
    return prepare(opened, [consensus])


def _numbered_folder(parent: Path, number: int, name: str) -> Path:
    """The folder of a data set of nnU-Net, which knows data sets by their numbers."""
    if not 1 <= number <= 999:
        raise CallError(f"--id must be a number from 1 to 999; got {number}")
    if not _NAME.fullmatch(name):
        raise CallError(f"--name is made of letters, digits, dashes and underscores; got {name!r}")
    folder = parent / f"Dataset{number:03}_{name}"
    beside = sorted(path for path in parent.iterdir() if path.is_dir()) if parent.is_dir() else []
    others = [path.name for path in beside if path.name.startswith(f"Dataset{number:03}_") and path != folder]
    if others:
        raise InputError(f"{parent}: {others[0]} has that number already; choose another one with --id")
    return folder


# -- training sets -----------------------------------------------------------------------------------


def _export_training_set(
    study: Study,
    format: str,
    folder: Path,
    options: TrainingOptions,
    opening_errors: Sequence[Exception],
    jobs: int,
    progress: Progress | None,
) -> Export:
    check_folder(folder, format)
    survey = survey_study(study, opening_errors, jobs=jobs, progress=progress)
    if format == "nnunet" and options.disputed == "soft" and len(survey.numbering.values) > 1:
        raise InputError(
            f"there are {len(survey.numbering.values)} labels, and nnU-Net gets soft labels of one: unite them with "
            "--foreground any, choose one, take --disputed replicate, or export to monai; nothing was written"
        )
    plan = plan_training_set(study, options, survey, folder)
    with replacing(folder.resolve()) as (stage,):
        check_folder(folder, format)
        staged = replace(plan, folder=stage)
        write_case, write_lists = _WRITERS[format]
        work = partial(write_case, training=staged)
        counts = {case.name: result for case, result in study.map(work, jobs=jobs, progress=progress)}
        write_lists(study, staged, counts)
        result = _result(study, format, plan, counts)
        for table in result.tables.values():
            table.write(stage)
        result = replace(result, files=written_files(stage))
        write_summary(stage, result.summary(), [stage / path for path in result.files])
    return result


def _result(study: Study, format: str, plan: TrainingSet, counts: Mapping[str, CaseCounts]) -> Export:
    options = plan.options
    rated = sum(case.pixels - case.not_rated for case in counts.values())
    share = sum(case.disputed for case in counts.values()) / rated if rated else 0.0
    labels = PlainTable("labels", ("number", "value", "name"), plan.survey.numbering.rows())
    tables = Tables([_cases_table(study, plan, counts), labels])
    details = {
        "reference": options.consensus,
        "disputed": options.disputed,
        "seed": options.seed,
        "folds": plan.folds,
        "cases": len(study),
        "subjects": len(study.subjects),
        "raters": list(study.rater_names),
        "training_cases": len(plan.cases),
        "disputed_share": share,
    }
    notes = tuple(_notes(study, plan, counts))
    lines = _lines(study, plan, share)
    return Export(study, format, plan.folder, (), tables, notes, details, lines, _next_steps(format, plan))


def _cases_table(study: Study, plan: TrainingSet, counts: Mapping[str, CaseCounts]) -> PlainTable:
    """One row for each training case; where any masks were resampled, a last column marks them."""
    rows = []
    for item in plan.cases:
        case = counts[item.case]
        rated = case.pixels - case.not_rated
        shares = (case.disputed / rated if rated else None, case.not_rated / case.pixels)
        names = (item.name, item.case, item.subject, item.fold, item.rater, "; ".join(case.raters), case.pixels)
        rows.append((*names, *shares, study[item.case].image))
    touched = [is_resampled(study[item.case]) for item in plan.cases]
    return PlainTable("cases", *marked_rows(rows, CASES, touched))


def _notes(study: Study, plan: TrainingSet, counts: Mapping[str, CaseCounts]) -> Iterator[str]:
    if plan.folds == 1:
        yield "there is one subject, so that nothing can be held back: train on all (fold all)"
    yield from adjudication_notes(study, plan.options.consensus)
    yield from resampled_notes(study)
    alone = [name for name, case in counts.items() if len(case.raters) == 1]
    if alone:
        yield f"only one rater marked {few(alone, 5)}: nothing is disputed there, and that rater alone is the reference"
    for number, name in enumerate(plan.survey.numbering.names, start=1):
        if not any(case.counts[number] for case in counts.values()):
            yield f"label {name} occurs in no training label: nothing can be learnt of it"
    if plan.options.disputed == "replicate" and study.options.exchangeable:
        yield "raters are exchangeable: a replica's rater is a slot, not the same person in every case"
    changed = [item.case for item in plan.cases if item.name != "__".join(filter(None, (item.case, item.rater)))]
    if changed:
        yield f"names that not every program takes were changed, such as {changed[0]!r}; cases.csv says which is which"


def _lines(study: Study, plan: TrainingSet, share: float) -> tuple[str, ...]:
    named = plan.survey.numbering.named
    labels = ", ".join(name if name == str(number) else f"{number} {name}" for name, number in named.items())
    return (
        f"{counted(len(plan.cases), 'training case')} of {counted(len(study), 'case')}, "
        f"{counted(len(study.subjects), 'subject')}, {counted(plan.folds, 'fold')}; labels: {labels}",
        f"{share:.2%} of the pixels are disputed: {_USED[plan.options.disputed].format(plan.options.consensus)}",
    )


def _next_steps(format: str, plan: TrainingSet) -> tuple[str, ...]:
    folder = plan.folder
    if format == "monai":
        return "", f"written to {folder}: datalist.json and its files"
    number, raw = int(folder.name[7:10]), quote(str(folder.parent))
    steps = (
        "",
        f"written to {folder}",
        f"next: nnUNet_raw={raw} nnUNetv2_plan_and_preprocess -d {number} --verify_dataset_integrity",
    )
    if plan.options.disputed != "soft":
        return steps
    trainer = quote(str(folder / TRAINER_FOLDER))
    command = f"nnUNetv2_train {number} CONFIGURATION FOLD -tr {TRAINER.stem}"
    return (*steps, f"then, with nnU-Net 2.8.0 or later: nnUNet_extTrainer={trainer} {command}")

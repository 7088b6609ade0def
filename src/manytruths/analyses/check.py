"""The command ``check``: all masks by case and rater, and every problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import manytruths

from ..core.columns import Column
from ..core.errors import CallError, ManytruthsError
from ..io import Location
from ..io.tables import read_rows
from ..io.writing import checksum
from ..shape.alignment import RESAMPLED
from ..study import Case, Progress, Study
from ..study.mask_values import find_other_values, other_classes
from ..study.problems import Checked, Problem, UnknownCase, check_case, find_unknown_cases
from ..study.reading_log import name_reading
from .data_table import DataTable, PlainTable
from .printing import counted, grid
from .result import Result, Tables, console_or_stdout, results_folder
from .rows import Row, Table

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True, repr=False)
class Check(Result):
    """The result of :func:`manytruths.check`.

    Attributes
    ----------
    study : Study
        The study that was checked.
    cases : dict
        What was read of each case.
    problems : list of Problem
        Every problem, errors first.
    """

    command: ClassVar[str] = "check"

    study: Study
    cases: dict[str, Checked]
    problems: list[Problem]
    notes: tuple[str, ...] = ()

    @property
    def errors(self) -> list[Problem]:
        """The problems that keep the study from being analysed."""
        return [p for p in self.problems if p.severity == "error"]

    @property
    def moved(self) -> dict[str, int]:
        """The number of files on other grids, by what was done to them."""
        return dict(Counter(move.done.how for checked in self.cases.values() for move in checked.moves))

    @cached_property
    def tables(self) -> Tables[DataTable]:  # type: ignore[override]
        """``coverage``, ``problems`` and ``grids``."""
        header = ("severity", "kind", "case", "rater", "message")
        problems = [(p.severity, p.kind, p.case, p.rater, p.message) for p in self.problems]
        moves = [(name, m.what, m.name, m.done.how, m.done.detail) for name, c in self.cases.items() for m in c.moves]
        grids = PlainTable("grids", ("case", "what", "rater", "how", "detail"), moves)
        return Tables([coverage_table(self), PlainTable("problems", header, problems), grids])

    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds."""
        return {
            "schema_version": 1,
            "manytruths": manytruths.__version__,
            "verb": "check",
            "cases": len(self.study),
            "subjects": len(self.study.subjects),
            "raters": list(self.study.rater_names),
            "errors": len(self.errors),
            "warnings": len(self.problems) - len(self.errors),
            "grids": self.moved,
            "problems": self.problems,
        }

    def describe(self) -> str:
        """What was checked, in one line."""
        errors = len(self.errors)
        found = f"{counted(errors, 'error')}, {counted(len(self.problems) - errors, 'warning')}"
        return f"{counted(len(self.study), 'case')}, {counted(len(self.study.rater_names), 'rater')}; {found}"

    def print(self, console: Any = None) -> None:
        """Print coverage by rater, then every problem."""
        _print_check(self, console_or_stdout(console))


def check(
    study: Study | str | Path,
    *,
    out: str | Path | None = None,
    found_before: Sequence[Exception] = (),
    jobs: int = 1,
    progress: Progress | None = None,
) -> Check:
    """List all masks by case and rater, and report every problem found.

    Parameters
    ----------
    study : Study, str or Path
        A study, or what :meth:`Study.open` takes; a template is opened so that all problems are collected.
    out : str or Path, optional
        Folder for the results, written to ``out/check/``; by default nothing is written.
    found_before : sequence of exceptions
        Problems found when the study was opened with ``complain=``.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    Check
        Tables ``coverage``, ``problems`` and ``grids``; ``errors`` lists what keeps the study from being analysed.
    """
    before = list(found_before)
    study = study if isinstance(study, Study) else Study.open(study, complain=before.append)
    if jobs < 1:
        raise CallError(f"jobs is at least 1; got {jobs}")
    with results_folder(out, "check", jobs=jobs) as folder:
        cases = {case.name: checked for case, checked in study.map(check_case, jobs=jobs, progress=progress)}
        problems = [Problem("error", "files", str(error)) for error in before]
        problems += [p for checked in cases.values() for p in checked.problems]
        problems += _between_cases(study, cases)
        result = Check(study, cases, sorted(problems, key=lambda p: p.severity))
        if folder is not None:
            result.write_into(folder)
    return result


def _between_cases(study: Study, cases: dict[str, Checked]) -> Iterator[Problem]:
    """What only shows when all cases are seen together."""
    tables = {name: found.tally for name, found in cases.items() if found.tally is not None}
    try:
        tallies = study.labelled(tables)
    except ManytruthsError as error:
        yield Problem("error", "label", str(error))
    else:
        for odd in () if study.knows_labels else find_other_values(tallies):
            yield Problem("error", "label", str(odd.error), odd.case, str(odd.column or ""))
    said = {(p.case, p.rater) for found in cases.values() for p in found.problems if p.kind == "prediction"}
    for wrong in other_classes(tables) if study.options.labels is None else ():
        if (wrong.case, str(wrong.column)) not in said:
            yield Problem("error", "prediction", str(wrong.error), wrong.case, str(wrong.column))
    for case in study:
        for column in case.absent:
            why = absence(study, case, column)
            message = f"rater {column} {why} case {case.name}: counted as absent, not as empty"
            yield Problem("warning", "gap", message, case.name, str(column))
    yield from read_problems(study, cases)
    yield from _strangers(study, "predictions")
    yield from _strangers(study, "references")
    known = {column.name for column in read_columns(study)}
    for rater in study.properties:
        if rater not in known:
            yield Problem("warning", "raters", f"raters.csv describes {rater!r}, of whom there is no mask", "", rater)
    untold = [name for name in study.rater_names if study.properties and name not in study.properties]
    if untold:
        message = f"{study.options.raters} does not describe {', '.join(untold[:5])}, who marked cases"
        yield Problem("warning", "raters", f"{message}; add a line for each rater")
    missing = [case.name for case in study if not case.groups]
    if 0 < len(missing) < len(study):
        yield Problem("warning", "cases", f"{len(missing)} cases have no group: {', '.join(missing[:5])}")


def _strangers(study: Study, what: Literal["predictions", "references"]) -> Iterator[Problem]:
    """Files of cases that nobody marked; an error where there are no others."""
    kind = what[:-1]
    others = find_unknown_cases(study.options, [case.name for case in study], what)
    if others and not any(getattr(case, what) for case in study):
        template = study.options.predictions if what == "predictions" else study.options.reference
        message = f"{template!r} has no {kind} of any case of the study ({_first(others)}); "
        yield Problem("error", kind, message + "name the cases as the masks do")
        return
    for one in (o for o in others if o.near):
        yield Problem("warning", kind, f"{kind} of a case that nobody marked, not used: {one}", one.case)
    rest = [one for one in others if not one.near]
    if rest:
        yield Problem(
            "warning", kind, f"{what} of {counted(len(rest), 'case')} that nobody marked are not used: {_first(rest)}"
        )


def _first(others: Sequence[UnknownCase], most: int = 5) -> str:
    return ", ".join(map(str, others[:most])) + (f", and {len(others) - most} more" if len(others) > most else "")


def coverage_table(found: Check) -> Table:
    """Case × rater: 1 where there is a mask, and how many items it marks."""
    study = found.study
    table = Table("coverage", ("rater", "size", *(REGISTERED if study.options.reads else ())))
    for case in found.study:
        checked = found.cases[case.name]
        size = "×".join(map(str, checked.grid.shape)) if checked.grid else ""
        moved = {(move.what, move.name, move.done.how) for move in checked.moves}
        for column in read_columns(study):
            extra = (str(column), size, *registered(study, case, column))
            here = column in case.masks
            group = "; ".join(case.groups)
            table.append(Row("case", "present", float(here), case.name, group, extra=extra))
            items = checked.marked.get(str(column))
            if here and items is not None:
                mark = RESAMPLED if ("mask", str(column), "resampled") in moved else ""
                table.append(Row("case", "marked", float(items), case.name, group, extra=extra, mark=mark))
    return table


REGISTERED = ("status", "based_on")
"""The columns of ``coverage.csv`` where there is a register."""


def read_columns(study: Study) -> tuple[Column, ...]:
    """Every rater in every session who has a mask, or a row in the register."""
    named = {column for case in study for column in case.statuses}
    return tuple(sorted(named.union(study.columns), key=lambda column: column.order))


def registered(study: Study, case: Case, column: Column) -> tuple[str, ...]:
    """What the register says of a read; nothing where there is none."""
    if study.options.reads is None:
        return ()
    edit = case.edits.get(column)
    return case.statuses.get(column, ""), name_reading(edit.parent) if edit else ""


def absence(study: Study, case: Case, column: Column) -> str:
    """Why a rater does not count in a case."""
    if case.name in study.options.exclude.get(column.name, ()):
        return "is excluded from"
    if column in case.edits:
        return f"edited the mask of {case.edits[column].parent} in"
    return {"unread": "has not read", "unfinished": "has not finished"}.get(
        case.statuses.get(column, ""), "has no mask of"
    )


def read_problems(study: Study, cases: Mapping[str, Checked]) -> Iterator[Problem]:
    """Where register and masks do not say the same, and what is left out."""
    for case in study:
        for column, status in case.statuses.items():
            items = cases[case.name].marked.get(str(column))
            if items is not None and (items > 0) != (status != "empty"):
                what = "marks something" if items else "marks nothing that is counted"
                message = f"rater {column} {what} in case {case.name}, but is {status} in {study.options.reads}"
                yield Problem("warning", "reads", message, case.name, str(column))
    yield from _changed(study)
    for name, why in study.left_out.items():
        yield Problem("warning", "reads", f"case {name} is left out: {why}", name)


def _changed(study: Study) -> Iterator[Problem]:
    """Masks that are not those that the register was written with."""
    if study.options.reads is None:
        return
    cases = {case.name: case for case in study}
    for _, row in read_rows(study.options.reads, ("case", "rater"), lambda error: None):
        case = cases.get(row["case"])
        column = Column(row["rater"], "rater", row.get("session", ""))
        if case is None or column not in case.masks or not row.get("checksum"):
            continue
        files = {
            label: one.path for label, one in case.masks[column].items() if isinstance(one, Location) and not one.blank
        }
        if files and all(path.is_file() for path in files.values()) and checksum(files) != row["checksum"]:
            message = f"the mask of rater {column} in case {case.name} is not the one that {study.options.reads} knows"
            yield Problem("warning", "reads", message, case.name, str(column))


def _print_check(found: Check, console: Console) -> None:
    """Coverage by rater, then every problem."""
    study = found.study
    sizes = {"×".join(map(str, c.grid.shape)) for c in found.cases.values() if c.grid}
    console.print(
        f"[bold]{counted(len(study), 'case')}, {counted(len(study.subjects), 'subject')}, "
        f"{counted(len(study.rater_names), 'rater')}[/bold]; "
        f"sizes: {', '.join(sorted(sizes)[:4])}{', …' if len(sizes) > 4 else ''}\n"
    )
    console.print(_coverage(found))
    if found.moved:
        told = ", ".join(f"{count} {how}" for how, count in found.moved.items())
        console.print(f"files on other grids: {told} (grids.csv)", markup=False, highlight=False)
    for problem in found.problems:
        style = "bold red" if problem.severity == "error" else "yellow"
        console.print(f"[{style}]{problem.severity}[/{style}] ", end="")
        console.print(problem.message, markup=False, highlight=False, soft_wrap=True)
    errors, warnings = len(found.errors), len(found.problems) - len(found.errors)
    console.print(f"\n[bold]{counted(errors, 'error')}, {counted(warnings, 'warning')}[/bold]")


def _coverage(found: Check) -> Any:
    rows = []
    for column in found.study.columns:
        here = [case for case in found.study if column in case.masks]
        empty = sum(found.cases[case.name].marked.get(str(column)) == 0 for case in here)
        gaps = [case.name for case in found.study if column not in case.masks]
        missing = ", ".join(gaps[:4]) + (", …" if len(gaps) > 4 else "")
        rows.append([str(column), f"{len(here)} of {len(found.study)}", str(empty), missing])
    return grid("Coverage", ["rater", "cases", "empty masks", "absent from"], rows)

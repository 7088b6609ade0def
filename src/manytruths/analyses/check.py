"""The command ``check``: all masks by case and rater, and every problem."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import manytruths

from ..claims.algorithms import EqualMasks
from ..claims.claim import ClaimLog, Claims
from ..claims.masks import KINDS, consider_masks, count_masks, describe_suspicion, mask_notes, suspicions_table
from ..claims.numbers import TableIndex
from ..claims.sentences import counted
from ..core.columns import Column
from ..core.errors import CallError, ManytruthsError, few
from ..io import Location
from ..io.result_tables import DataTable, PlainTable, Row, Table
from ..io.tables import read_rows
from ..io.writing import checksum
from ..shape.alignment import RESAMPLED
from ..study import Case, Progress, Study
from ..study.mask_values import find_other_values, other_classes
from ..study.problems import Checked, Problem, check_case, find_unknown_cases, has_file
from ..study.reading_dates import find_doubtful_dates, read_dates
from ..study.reading_log import name_reading
from ..study.suspicions import Suspicion, find_suspicions
from .printing import grid
from .result import Result, Tables, console_or_stdout, need_pixels, results_folder

if TYPE_CHECKING:
    from rich.console import Console

READING_LOG = ("status", "based_on")
"""The columns of ``coverage.csv`` where there is a reading log."""


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
    notes : tuple of str
        Empty: everything is a problem or in a table.
    suspicions : tuple of Suspicion
        Masks that are probably broken: filled, inverted, turned, shifted, copied, …; each is a warning, too.
    """

    command: ClassVar[str] = "check"

    study: Study
    cases: dict[str, Checked]
    problems: list[Problem]
    notes: tuple[str, ...] = ()
    suspicions: tuple[Suspicion, ...] = ()

    @cached_property
    def claims(self) -> Claims:
        """Which masks are probably broken, and what was looked for and not found."""
        log = ClaimLog()
        masks = TableIndex("check/masks.csv", suspicions_table(self.suspicions))
        consider_masks(log, self.suspicions, masks, count_masks(self.study))
        return log.settle()

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
        """``coverage``, ``problems``, ``grids`` and, where masks are probably broken, ``masks`` with the evidence."""
        header = ("severity", "kind", "case", "rater", "message")
        problems = [(p.severity, p.kind, p.case, p.rater, p.message) for p in self.problems]
        moves = [(name, m.what, m.name, m.done.how, m.done.detail) for name, c in self.cases.items() for m in c.moves]
        grids = PlainTable("grids", ("case", "what", "rater", "how", "detail"), moves)
        evidence = [suspicions_table(self.suspicions)] if self.suspicions else []
        return Tables([coverage_table(self), PlainTable("problems", header, problems), grids, *evidence])

    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` holds."""
        return {
            "schema_version": 1,
            "manytruths": manytruths.__version__,
            "command": "check",
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
        return f"{counted(len(self.study), 'case')}, {counted(len(self.study.rater_names), 'rater')}; {self._counts}"

    @property
    def _counts(self) -> str:
        errors = len(self.errors)
        return f"{counted(errors, 'error')}, {counted(len(self.problems) - errors, 'warning')}"

    def print(self, console: Any = None) -> None:
        """Print coverage by rater, then every problem."""
        _print_check(self, console_or_stdout(console))


def check(
    study: Study | str | Path,
    *,
    out: str | Path | None = None,
    opening_errors: Sequence[Exception] = (),
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
    opening_errors : sequence of exceptions
        Errors that ``Study.open(…, complain=errors.append)`` collected, to be listed with the others.
    jobs : int
        Number of worker processes. Results do not depend on it.
    progress : callable, optional
        Called with the number of cases that are done and of all cases.

    Returns
    -------
    Check
        Tables ``coverage``, ``problems`` and ``grids``; ``errors`` lists what keeps the study from being analysed,
        ``suspicions`` which masks are probably broken.
    """
    before = list(opening_errors)
    study = study if isinstance(study, Study) else Study.open(study, complain=before.append)
    need_pixels(study, "check")
    if jobs < 1:
        raise CallError(f"jobs must be at least 1; got {jobs}")
    with results_folder(out, "check", jobs=jobs, keeps=True) as folder:
        found = study.map(check_case, jobs=jobs, progress=progress, keep=True)
        cases = {case.name: checked for case, checked in found}
        problems = [Problem("error", "files", str(error)) for error in before]
        suspicions = find_suspicions(study, {name: checked.review for name, checked in cases.items()})
        problems += [_suspected(suspicion) for suspicion in suspicions]
        lost = {(s.case, str(c)) for s in suspicions if s.kind == "missing_marks" for c in s.columns}
        own = (p for checked in cases.values() for p in checked.problems)
        problems += [p for p in own if p.kind != "empty" or (p.case, p.rater) not in lost]
        problems += _between_cases(study, cases)
        result = Check(study, cases, sorted(problems, key=lambda p: p.severity), suspicions=suspicions)
        if folder is not None:
            result.write_into(folder)
    return result


def _suspected(suspicion: Suspicion) -> Problem:
    who = " or ".join(map(str, suspicion.columns))
    return Problem("warning", suspicion.kind, describe_suspicion(suspicion), suspicion.case, who)


def _between_cases(study: Study, cases: dict[str, Checked]) -> Iterator[Problem]:
    """What only shows when all cases are seen together."""
    tables = {name: checked.tally for name, checked in cases.items() if checked.tally is not None}
    try:
        tallies = study.labelled(tables)
    except ManytruthsError as error:
        yield Problem("error", "label", str(error))
    else:
        for odd in () if study.knows_labels else find_other_values(tallies):
            yield Problem("error", "label", str(odd.error), odd.case, str(odd.column or ""))
    reported = {(p.case, p.rater) for checked in cases.values() for p in checked.problems if p.kind == "prediction"}
    for wrong in other_classes(tables) if study.options.labels is None else ():
        if (wrong.case, str(wrong.column)) not in reported:
            yield Problem("error", "prediction", str(wrong.error), wrong.case, str(wrong.column))
    yield from _not_evaluable(study)
    for case in study:
        for column in (c for c in case.absent if case.statuses.get(c) != "not_evaluable"):
            why = absence(study, case, column)
            message = f"rater {column} {why} case {case.name}: counted as absent, not as empty"
            yield Problem("warning", "gap", message, case.name, str(column))
    yield from _missing_images(study)
    yield from read_problems(study, cases)
    yield from _unknown_cases(study, "predictions")
    yield from _unknown_cases(study, "references")
    yield from _copied_references(study, cases)
    known = {column.name for column in read_columns(study)}
    for rater in study.properties:
        if rater not in known:
            yield Problem("warning", "raters", f"raters.csv describes {rater!r}, of whom there is no mask", "", rater)
    undescribed = [name for name in study.rater_names if study.properties and name not in study.properties]
    if undescribed:
        message = f"{study.options.raters} does not describe {', '.join(undescribed[:5])}, who marked cases"
        yield Problem("warning", "raters", f"{message}; add a line for each rater")
    missing = [case.name for case in study if not case.groups]
    if 0 < len(missing) < len(study):
        yield Problem("warning", "cases", f"{len(missing)} cases have no group: {', '.join(missing[:5])}")


def _not_evaluable(study: Study) -> Iterator[Problem]:
    """Readings that could not be made, which are no problem of the files but have to be reported."""
    for reading in study.unused:
        if reading.why == "not_evaluable":
            reason = f" ({reading.reason})" if reading.reason else ""
            message = f"rater {reading.column} could not evaluate case {reading.case}{reason}: "
            message += "counted as not evaluable, neither as absent nor as empty"
            yield Problem("warning", "not_evaluable", message, reading.case, str(reading.column))


def _missing_images(study: Study) -> Iterator[Problem]:
    """One warning for all images that are not there, and one for those of cases without masks."""
    without = [case.name for case in study if case.image is not None and not has_file(case.image)]
    if without and len(without) == len(study):
        message = f"no case has an image: no file is where {study.options.images!r} says; correct images (--images)"
        yield Problem("warning", "image", message)
    elif without:
        has = "has" if len(without) == 1 else "have"
        message = f"{counted(len(without), 'case')} of {len(study)} {has} no image ({few(without, 5)}); "
        yield Problem("warning", "image", f"{message}there is no such file as {study[without[0]].image}")
    known = [*(case.name for case in study), *study.left_out, *(reading.case for reading in study.unused)]
    unmarked = [] if len(without) == len(study) else find_unknown_cases(study.options, dict.fromkeys(known), "images")
    if unmarked:
        message = f"images of {counted(len(unmarked), 'case')} that nobody marked are not used: "
        yield Problem("warning", "image", message + few(list(map(str, unmarked)), 5))


def _copied_references(study: Study, cases: Mapping[str, Checked]) -> Iterator[Problem]:
    """Given references that are a rater's masks: not independent of that rater."""
    given = Counter(column.name for case in study for column in case.references)
    marked: dict[tuple[str, str], list[str]] = {}
    empty: Counter[tuple[str, str]] = Counter()
    for name, checked in cases.items():
        for reference, rater, marks in checked.copied:
            if marks:
                marked.setdefault((reference, rater), []).append(name)
            else:
                empty[reference, rater] += 1
    for (reference, rater), names in marked.items():
        where = EqualMasks(tuple(names), empty[reference, rater], given[reference])
        message = f"the given reference {reference} is the mask of rater {rater} in {where}, pixel by pixel: "
        yield Problem("warning", "reference", f"{message}it is not independent of this rater", "", rater)


def _unknown_cases(study: Study, what: Literal["predictions", "references"]) -> Iterator[Problem]:
    """Files of cases that nobody marked; an error where there are no others."""
    kind = what[:-1]
    others = find_unknown_cases(study.options, [case.name for case in study], what)
    if others and not any(getattr(case, what) for case in study):
        template = study.options.predictions if what == "predictions" else study.options.reference
        message = f"{template!r} has no {kind} of any case of the study ({few(list(map(str, others)), 5)}); "
        yield Problem("error", kind, message + "name the cases as the masks do")
        return
    for other in (other for other in others if other.near):
        yield Problem("warning", kind, f"{kind} of a case that nobody marked, not used: {other}", other.case)
    rest = [str(other) for other in others if not other.near]
    if rest:
        message = f"{what} of {counted(len(rest), 'case')} that nobody marked are not used: {few(rest, 5)}"
        yield Problem("warning", kind, message)


def coverage_table(result: Check) -> Table:
    """Case × rater: 1 where there is a mask, and how many pixels it marks."""
    study = result.study
    table = Table("coverage", ("rater", "size", *(READING_LOG if study.options.reads else ())))
    for case in study:
        checked = result.cases[case.name]
        size = "×".join(map(str, checked.grid.shape)) if checked.grid else ""
        moved = {(move.what, move.name, move.done.how) for move in checked.moves}
        for column in read_columns(study):
            extra = (str(column), size, *reading_log_cells(study, case, column))
            here = column in case.masks
            group = "; ".join(case.groups)
            table.append(Row("case", "present", float(here), case.name, group, extra=extra))
            items = checked.marked.get(str(column))
            if here and items is not None:
                mark = RESAMPLED if ("mask", str(column), "resampled") in moved else ""
                table.append(Row("case", "marked", float(items), case.name, group, extra=extra, mark=mark))
            if here and (absent := checked.absent_chunks.get(str(column))) is not None:
                table.append(Row("case", "absent_chunks", float(absent), case.name, group, extra=extra))
    return table


def read_columns(study: Study) -> tuple[Column, ...]:
    """Every rater in every session who has a mask, or a row in the reading log."""
    named = {column for case in study for column in case.statuses}
    return tuple(sorted(named.union(study.columns), key=lambda column: column.order))


def reading_log_cells(study: Study, case: Case, column: Column) -> tuple[str, ...]:
    """What the reading log says of a reading; nothing where there is none."""
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
    reasons = {"unread": "has not read", "unfinished": "has not finished"}
    return reasons.get(case.statuses.get(column, ""), "has no mask of")


def read_problems(study: Study, cases: Mapping[str, Checked]) -> Iterator[Problem]:
    """Where the reading log and the masks differ, and what is left out."""
    for case in study:
        for column, status in case.statuses.items():
            items = cases[case.name].marked.get(str(column))
            if items is not None and (items > 0) != (status != "empty"):
                what = "marks something" if items else "marks nothing that is counted"
                message = f"rater {column} {what} in case {case.name}, but is {status} in {study.options.reads}"
                yield Problem("warning", "reads", message, case.name, str(column))
    yield from _changed_masks(study)
    for line in find_doubtful_dates(read_dates(study.options.reads)) if study.options.reads else ():
        yield Problem("warning", "reads", line)
    for name, why in study.left_out.items():
        yield Problem("warning", "reads", f"case {name} is left out: {why}", name)


def _changed_masks(study: Study) -> Iterator[Problem]:
    """Masks that are not those that the reading log was written with."""
    if study.options.reads is None:
        return
    cases = {case.name: case for case in study}
    for _, row in read_rows(study.options.reads, ("case", "rater"), lambda error: None):
        case = cases.get(row["case"])
        column = Column(row["rater"], "rater", row.get("session", ""))
        if case is None or column not in case.masks or not row.get("checksum"):
            continue
        locations = case.masks[column].items()
        files = {label: at.path for label, at in locations if isinstance(at, Location) and not at.blank}
        if files and all(path.is_file() for path in files.values()) and checksum(files) != row["checksum"]:
            message = f"the mask of rater {column} in case {case.name} is not the one that {study.options.reads} knows"
            yield Problem("warning", "reads", message, case.name, str(column))


def _print_check(result: Check, console: Console) -> None:
    """Coverage by rater, then every problem."""
    study = result.study
    sizes = {"×".join(map(str, c.grid.shape)) for c in result.cases.values() if c.grid}
    console.print(
        f"[bold]{counted(len(study), 'case')}, {counted(len(study.subjects), 'subject')}, "
        f"{counted(len(study.rater_names), 'rater')}[/bold]; "
        f"sizes: {', '.join(sorted(sizes)[:4])}{', …' if len(sizes) > 4 else ''}\n"
    )
    console.print(_coverage(result))
    if result.moved:
        counts = ", ".join(f"{count} {how}" for how, count in result.moved.items())
        console.print(f"files on other grids: {counts} (grids.csv)", markup=False, highlight=False)
    for problem in result.errors:
        _print_problem(console, "error", problem.message)
    for note in mask_notes(result.suspicions, count_masks(result.study)):
        _print_problem(console, "warning", note)
    for problem in result.problems:
        if problem.severity != "error" and problem.kind not in KINDS:
            _print_problem(console, "warning", problem.message)
    console.print(f"\n[bold]{result._counts}[/bold]")


def _print_problem(console: Console, severity: str, message: str) -> None:
    style = "bold red" if severity == "error" else "yellow"
    console.print(f"[{style}]{severity}[/{style}] ", end="")
    console.print(message, markup=False, highlight=False, soft_wrap=True)


def _coverage(result: Check) -> Any:
    rows = []
    for column in result.study.columns:
        here = [case for case in result.study if column in case.masks]
        empty = sum(result.cases[case.name].marked.get(str(column)) == 0 for case in here)
        absent = few([case.name for case in result.study if column not in case.masks], 4)
        rows.append([str(column), f"{len(here)} of {len(result.study)}", str(empty), absent])
    return grid("Coverage", ["rater", "cases", "empty masks", "absent from"], rows)

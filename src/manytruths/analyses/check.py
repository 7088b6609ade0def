"""The verb ``check``: what is there, and everything that is wrong with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import manytruths

from ..core.errors import ManytruthsError
from ..io import write_csv
from ..io.results import write_summary
from ..shape.alignment import RESAMPLED
from ..study import Progress, Study
from ..study.checking import Checked, Problem, check_case
from ..study.other_values import other_values
from ..study.predicted import other_classes
from ..study.strangers import Stranger, strangers
from .check_reads import REGISTERED, absence, read_columns, read_problems, registered
from .printing import counted
from .rows import Row, Table


@dataclass(frozen=True)
class Check:
    """What ``check`` found."""

    study: Study
    cases: dict[str, Checked]
    problems: list[Problem]

    @property
    def errors(self) -> list[Problem]:
        """What keeps the study from being analysed."""
        return [p for p in self.problems if p.severity == "error"]

    @property
    def moved(self) -> dict[str, int]:
        """How many files lie on other grids, by what was done to them."""
        return dict(Counter(move.done.how for found in self.cases.values() for move in found.moves))


def check(
    study: Study, *, found_before: Sequence[Exception] = (), jobs: int = 1, progress: Progress | None = None
) -> Check:
    """Read every file once and list all problems, not the first; ``found_before`` are those met while opening."""
    cases = {case.name: found for case, found in study.map(check_case, jobs=jobs, progress=progress)}
    problems = [Problem("error", "files", str(error)) for error in found_before]
    problems += [p for found in cases.values() for p in found.problems]
    problems += _between_cases(study, cases)
    return Check(study, cases, sorted(problems, key=lambda p: p.severity))


def _between_cases(study: Study, cases: dict[str, Checked]) -> Iterator[Problem]:
    """What only shows when all cases are seen together."""
    tables = {name: found.tally for name, found in cases.items() if found.tally is not None}
    try:
        tallies = study.labelled(tables)
    except ManytruthsError as error:
        yield Problem("error", "label", str(error))
    else:
        for odd in () if study.knows_labels else other_values(tallies):
            yield Problem("error", "label", str(odd.error), odd.case, odd.rater)
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
    others = strangers(study.options, [case.name for case in study], what)
    if others and not any(getattr(case, what) for case in study):
        message = f"{getattr(study.options, what)!r} has no {kind} of any case of the study ({_first(others)}); "
        yield Problem("error", kind, message + "name the cases as the masks do")
        return
    for one in (o for o in others if o.near):
        yield Problem("warning", kind, f"{kind} of a case that nobody marked, not used: {one}", one.case)
    rest = [one for one in others if not one.near]
    if rest:
        yield Problem(
            "warning", kind, f"{what} of {counted(len(rest), 'case')} that nobody marked are not used: {_first(rest)}"
        )


def _first(others: Sequence[Stranger], most: int = 5) -> str:
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
            table.rows.append(Row("case", "present", float(here), case.name, group, extra=extra))
            items = checked.marked.get(str(column))
            if here and items is not None:
                mark = RESAMPLED if ("mask", str(column), "resampled") in moved else ""
                table.rows.append(Row("case", "marked", float(items), case.name, group, extra=extra, mark=mark))
    return table


def write(found: Check, folder: Path) -> list[Path]:
    """``coverage.csv``, ``problems.csv``, ``grids.csv`` and ``summary.json``."""
    coverage = coverage_table(found)
    header = ("severity", "kind", "case", "rater", "message")
    rows = [(p.severity, p.kind, p.case, p.rater, p.message) for p in found.problems]
    write_csv(folder / "problems.csv", rows, header)
    write_csv(folder / "grids.csv", _moves(found), ("case", "what", "rater", "how", "detail"))
    paths = [coverage.write(folder), folder / "problems.csv", folder / "grids.csv"]
    return [*paths, write_summary(folder, _summary(found), paths)]


def _moves(found: Check) -> list[tuple[str, str, str, str, str]]:
    """What was done to files that lie on other grids than their case is counted on."""
    return [(name, m.what, m.name, m.done.how, m.done.detail) for name, c in found.cases.items() for m in c.moves]


def _summary(found: Check) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "manytruths": manytruths.__version__,
        "verb": "check",
        "cases": len(found.study),
        "subjects": len(found.study.subjects),
        "raters": list(found.study.rater_names),
        "errors": len(found.errors),
        "warnings": len(found.problems) - len(found.errors),
        "grids": found.moved,
        "problems": found.problems,
    }

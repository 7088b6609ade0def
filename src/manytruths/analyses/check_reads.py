"""What ``check`` says of a register of reads."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ..core.columns import Column
from ..io import Location
from ..io.tables import read_rows
from ..io.writing import checksum
from ..study import Case, Study
from ..study.checking import Checked, Problem
from ..study.reads import written

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
    return case.statuses.get(column, ""), written(edit.parent) if edit else ""


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

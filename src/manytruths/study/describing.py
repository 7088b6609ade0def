"""What ``cases.csv`` says of cases: whose they are, and in which groups."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from ..core.errors import FormatError, StudyError, few, find_name_fault
from ..io.tables import check_listed, read_table, subjects_of
from ..io.walking import Complain

MOST_COLUMNS = 64
"""Columns of groups."""
MOST_GROUPS = 100
"""Groups of one column."""


def described(
    path: str | None, cases: Mapping[str, Mapping[str, str]], known: Collection[str], complain: Complain
) -> dict[str, dict[str, str]]:
    """The rows of ``cases.csv``: of all cases, here with what their paths say, and of no others that are not known."""
    if path is None:
        return {}
    table = read_table(path, "case")
    _check_groups(path, table)
    unknown = [name for name in table if name not in known]
    if unknown:
        problem = (
            f"{path}: has rows of cases without a mask, {len(unknown)} in all: {', '.join(unknown[:5])}; "
            f"correct or remove them: cases are called {', '.join(list(known)[:5])}"
        )
        complain(StudyError(problem))
    try:
        check_listed(path, table, cases)
        # a template may say whose a case is, too
        subjects_of(path, table, [name for name, fields in cases.items() if "subject" not in fields])
    except FormatError as error:
        complain(StudyError(str(error)))
    return table


def _check_groups(path: str, table: Mapping[str, Mapping[str, str]]) -> None:
    """Refuse more groups than anybody reads: each gets all of the numbers, and their intervals."""
    columns = [column for column in next(iter(table.values()), {}) if column != "subject"]
    if len(columns) > MOST_COLUMNS:
        raise StudyError(
            f"{path}: has {len(columns)} columns of groups ({few(columns, 3)}); at most {MOST_COLUMNS}: keep those "
            "whose values are groups of cases"
        )
    for column in columns:
        values = {row[column] for row in table.values()} - {""}
        for value in values:
            if fault := find_name_fault(value):
                raise StudyError(f'{path}: {column} {value[:40]!r} {fault}; is a quote (") not closed?')
        if len(values) > MOST_GROUPS:
            raise StudyError(
                f"{path}: column {column!r} has {len(values)} different values, and each would be a group; at most "
                f"{MOST_GROUPS}: remove it, or write ranges"
            )


def group_names(row: Mapping[str, str]) -> tuple[str, ...]:
    """What groups a row of ``cases.csv`` puts its case in: the value, or column=value where there are several."""
    columns = {k: v for k, v in row.items() if k != "subject" and v}
    alone = len([k for k in row if k != "subject"]) == 1
    return tuple(v if alone else f"{k}={v}" for k, v in columns.items())

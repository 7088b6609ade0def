"""The numbers that sentences quote: rows of the tables with their address."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, TypeGuard

from ..core.labels import MACRO
from ..core.undefined import reason
from ..io.result_tables import Row, Rows, Table
from ..io.writing import csv_line
from .sentences import Cell, number, text_cell


def csv_text(value: object) -> str:
    """A value as the CSV files have it."""
    if value is None:
        return ""
    return float.__repr__(value) if isinstance(value, float) else str(value)


def address(file: str, row: Row) -> str:
    """The address of a number: the file, and the cells of its row up to the statistic."""
    return f"{file}#{csv_line(row.cells()[: 6 + len(row.extra)])}"


def number_cell(
    file: str, row: Row, digits: int = 2, *, percent: bool = False, interval: bool = True, level: str = ""
) -> Cell:
    """A number of a table, with its interval where it has one: ``0.44 (0.37–0.50)``.

    ``level`` names the interval, as in ``95% CI``; ``percent`` shows a share as a percentage. Beneath a mean that is
    not defined for all subjects stands for how many it is.
    """
    ends = [None if end is None or math.isnan(end) else end for end in (row.low, row.high)]
    known = interval and None not in ends
    shown = _number_text(row.value, digits, percent)
    if known:
        low_text, high_text = (_number_text(end, digits, percent) for end in ends)
        around = f"{low_text}{' to ' if '−' in low_text else '–'}{high_text}"
        shown += f" ({level} {around})" if level else f" ({around})"
    low, high = (csv_text(None if end is None else float(end)) if known else "" for end in ends)
    return Cell(
        shown, csv_text(float(row.value)), low, high, address(file, row), reason(row.value), below=_count_text(row)
    )


def _count_text(row: Row) -> str:
    """For how many subjects a mean is defined, where that is not for all."""
    return f"n = {row.n}" if row.scope == "mean" and row.n_undefined and row.n else ""


def _number_text(value: float | None, digits: int, percent: bool) -> str:
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}%}" if percent else number(value, digits)
    # a number that is rounded to zero has no sign
    return text.replace("-", "−" if any(sign in "123456789" for sign in text) else "")


class TableIndex:
    """A table under the name of its file, with its rows by statistic, scope, case, group and label.

    Where no label is named, rows are those that stand for the whole study: about all labels at once or, of what is
    measured for each label, the macro mean.
    """

    def __init__(self, file: str, table: Table) -> None:
        self.file, self.table, self.rows = file, table, table.rows
        assert isinstance(self.rows, Rows)
        self._rows = {self._key(row): row for row in self.rows.alone()}
        self._of_cases = {(part.statistic, part.extra, part.label): part for part in self.rows.of_cases()}

    @staticmethod
    def _key(row: Row) -> tuple[object, ...]:
        # rows of cases are looked up without their group
        group = "" if row.scope == "case" else row.group
        return (row.statistic, row.scope, row.extra, row.case, group, row.label)

    def row(
        self, statistic: str, scope: str = "mean", *extra: object, case: str = "", group: str = "", label: str = ""
    ) -> Row | None:
        """The row of a statistic; None where the table has none."""
        row = self._row(statistic, scope, extra, case, group, label)
        return row or (None if label else self._row(statistic, scope, extra, case, group, MACRO))

    def _row(
        self, statistic: str, scope: str, extra: tuple[object, ...], case: str, group: str, label: str
    ) -> Row | None:
        part = self._of_cases.get((statistic, extra, label)) if scope == "case" and not group else None
        at = None if part is None else part.about.places.get(case)
        if part is None or at is None:
            return self._rows.get((statistic, scope, extra, case, group, label))
        return part.row(at)

    def cell(
        self, statistic: str, scope: str = "mean", *extra: object, case: str = "", group: str = "", label: str = "",
        **how: Any,
    ) -> Cell:  # fmt: skip
        """The number with its address; an empty cell where the table has none."""
        row = self.row(statistic, scope, *extra, case=case, group=group, label=label)
        return text_cell("") if row is None else self.quote(row, **how)

    def quote(self, row: Row, digits: int = 2, **how: Any) -> Cell:
        """A row of this table with its address."""
        return number_cell(self.file, row, digits, **how)

    def all(self, statistic: str, scope: str, *, label: str | None = "") -> Iterator[Row]:
        """Every row of a statistic at a scope, of one label unless that is None."""
        rows = self.table.all(statistic, scope)
        if label == "" and rows and all(r.label for r in rows):
            label = MACRO
        return (r for r in rows if label is None or r.label == label)


def telling_digits(value: float, digits: int = 2, *, percent: bool = False) -> int:
    """So many digits that a number between 0 and 1 is shown neither as 0 nor as 1, up to six; ``percent``: of a share.

    >>> telling_digits(0.9995), telling_digits(0.9), telling_digits(1.0), telling_digits(0.00003, percent=True)
    (4, 2, 2, 3)
    """
    decimals = digits + 2 * percent
    while 0 < value < 1 and round(value, decimals) in (0, 1) and decimals < MOST_DIGITS:
        decimals += 1
    return decimals - 2 * percent


MOST_DIGITS = 6


def significant_digits(value: float, figures: int = 3) -> int:
    """So many decimals that a number has three figures, or more before the point.

    >>> significant_digits(2528.2), significant_digits(12.34), significant_digits(0.5)
    (0, 1, 3)
    """
    if not value or not math.isfinite(value):
        return figures - 1
    return min(MOST_DIGITS, max(0, figures - 1 - math.floor(math.log10(abs(value)))))


def is_defined(row: Row | None) -> TypeGuard[Row]:
    """Whether a row has a number."""
    return row is not None and not reason(row.value)


def has_interval(row: Row | None) -> TypeGuard[Row]:
    """Whether a row has an interval."""
    return is_defined(row) and row.low is not None and not reason(row.low)


def undefined_share(row: Row | None) -> str:
    """For how many subjects a statistic is undefined: ``2 of 21``."""
    if row is None or not row.n_undefined:
        return "0"
    return f"{row.n_undefined} of {(row.n or 0) + row.n_undefined}"

"""The numbers that sections quote: rows of the tables, and counts of the study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeGuard

from ..analyses.tables import Row, Table
from ..core.undefined import reason
from ..study import Study
from .building import number_cell, text_cell
from .elements import Cell


class TableIndex:
    """A table under the name of its file, with its rows by statistic, scope, case, group and label."""

    def __init__(self, file: str, table: Table) -> None:
        self.file, self.table, self.rows = file, table, table.rows
        self._rows = {self._key(row): row for row in table.rows}

    @staticmethod
    def _key(row: Row) -> tuple[object, ...]:
        # rows of cases are looked up without their group
        group = "" if row.scope == "case" else row.group
        return (row.statistic, row.scope, row.extra, row.case, group, row.label)

    def row(
        self, statistic: str, scope: str = "mean", *extra: object, case: str = "", group: str = "", label: str = ""
    ) -> Row | None:
        """The row of a statistic; None where the table has none."""
        return self._rows.get((statistic, scope, extra, case, group, label))

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
        return (r for r in self.table.all(statistic, scope) if label is None or r.label == label)


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


LEAST_JACKKNIFED = 5
"""Fewest raters for intervals over raters."""


@dataclass(frozen=True)
class StudyCounts:
    """How many raters, cases, subjects and masks a study has."""

    study: Study

    @property
    def raters(self) -> int:
        """Raters who marked at least one case; of exchangeable raters, the most of any case."""
        return len(self.study.rater_names)

    @property
    def cases(self) -> int:
        """Images or volumes."""
        return len(self.study)

    @property
    def subjects(self) -> int:
        """Patients, or cases where no patient is named."""
        return len(self.study.subjects)

    @property
    def grouped(self) -> bool:
        """Whether a subject has several cases."""
        return self.subjects < self.cases

    @property
    def wanted(self) -> int:
        """Masks if every rater had marked every case."""
        return self.raters * self.cases

    @cached_property
    def there(self) -> int:
        """Of these, how many there are; repeated readings count once."""
        return sum(len({column.name for column in case.masks}) for case in self.study)

    @property
    def missing(self) -> int:
        """Of these, how many are missing."""
        return self.wanted - self.there

    @cached_property
    def repeated(self) -> dict[str, int]:
        """By rater, the cases that they marked more than once."""
        readings = (Counter(column.name for column in case.masks) for case in self.study)
        return dict(Counter(name for by_rater in readings for name, times in by_rater.items() if times > 1))

    @cached_property
    def groups(self) -> dict[str, int]:
        """Cases by group."""
        return dict(Counter(name for case in self.study for name in case.groups))

    @property
    def predictions_missing(self) -> int:
        """Missing predictions, over all algorithms."""
        return sum(len(case.missing) for case in self.study)

    @property
    def jackknifed(self) -> bool:
        """Whether there are enough raters for jackknife intervals over them."""
        return self.raters >= LEAST_JACKKNIFED

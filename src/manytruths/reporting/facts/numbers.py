"""Numbers of the tables, found by what they are about."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeGuard

from ...analyses.rows import Row, Table
from ...core.undefined import reason
from ..findings import Findings
from ..parts import Cell, number_cell, text_cell


class TableIndex:
    """A table under the name of its file; every row is one look-up away."""

    def __init__(self, file: str, table: Table) -> None:
        self.file, self.table = file, table
        self._rows = {self._key(row): row for row in table.rows}

    @staticmethod
    def _key(row: Row) -> tuple[object, ...]:
        # the group of a case is told, not asked for
        group = "" if row.scope == "case" else row.group
        return (row.statistic, row.scope, row.extra, row.case, group, row.label)

    def row(
        self, statistic: str, scope: str = "mean", *extra: object, case: str = "", group: str = "", label: str = ""
    ) -> Row | None:
        """The row of a statistic; None where the table has none."""
        return self._rows.get((statistic, scope, extra, case, group, label))

    def cell(
        self,
        statistic: str,
        scope: str = "mean",
        *extra: object,
        case: str = "",
        group: str = "",
        label: str = "",
        **how: Any,
    ) -> Cell:
        """The number with its address; an empty cell where the table has none."""
        row = self.row(statistic, scope, *extra, case=case, group=group, label=label)
        return text_cell("") if row is None else self.quote(row, **how)

    def quote(self, row: Row, digits: int = 2, **how: Any) -> Cell:
        """A row of this table with its address."""
        return number_cell(self.file, row, digits, **how)

    def all(self, statistic: str, scope: str, *, label: str | None = "") -> Iterator[Row]:
        """Every row of a statistic at a scope, of one label unless that is None."""
        return (r for r in self.table.all(statistic, scope) if label is None or r.label == label)


def find_table(findings: Findings, verb: str, name: str) -> TableIndex:
    """A table by the verb that made it and the name of its file; empty where it was not made."""
    table = next((t for t in _tables_of(findings, verb) if t.name == name), Table(name))
    # kept with the table, which does not change any more and is asked for by every part of the page
    index: TableIndex = table.__dict__.get("_numbers") or TableIndex(f"{verb}/{name}.csv", table)
    table.__dict__["_numbers"] = index
    return index


def _tables_of(findings: Findings, verb: str) -> Sequence[Table]:
    if verb == "agree":
        return list(findings.agreement.tables.values())
    if verb == "fuse":
        return (findings.fusion.performance, findings.fusion.differences, findings.fusion.complexity)
    if verb == "evaluate":
        return findings.evaluation.tables if findings.evaluation else ()
    if verb == "rank":
        return findings.ranking.tables if findings.ranking else ()
    return (findings.plan.table,) if findings.plan else ()


def all_tables(findings: Findings) -> Iterator[tuple[str, Table]]:
    """Every table of every verb, as ``agree/agreement.csv`` and the table."""
    for verb in ("agree", "fuse", "evaluate", "rank", "plan"):
        yield from ((f"{verb}/{table.name}.csv", table) for table in _tables_of(findings, verb))


def is_defined(row: Row | None) -> TypeGuard[Row]:
    """Whether there is a number."""
    return row is not None and not reason(row.value)


def has_interval(row: Row | None) -> TypeGuard[Row]:
    """Whether it has an interval."""
    return is_defined(row) and row.low is not None and not reason(row.low)


def undefined_share(row: Row | None) -> str:
    """For how many it has no value: ``2 of 21``."""
    if row is None or not row.n_undefined:
        return "0"
    return f"{row.n_undefined} of {(row.n or 0) + row.n_undefined}"

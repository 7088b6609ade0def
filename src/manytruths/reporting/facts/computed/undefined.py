"""Numbers without a value, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from ....analyses.rows import Row
from ....core.errors import few
from ....core.undefined import REASONS, code, reason
from ...findings import Findings
from ...parts import Block, Cell, Column, PageTable, Paragraphs, text_cell
from ..numbers import all_tables
from ..wording import subject_word

MOST_CASES, MOST_STATISTICS = 3, 8
"""So many cases, and so many statistics, are named."""
MANY_ROWS = 12
"""With more lines the table is closed, and can be filtered."""

Key = tuple[str, str, str]
"""File, what is missing, why."""

WHERE = {
    "pooled": "all cases together",
    "mean": "mean over {}s",
    "std": "standard deviation",
    "group": "all cases together",
    "subject": "a patient",
    "ranking": "a ranking",
    "overall": "the overall ranking",
}


@dataclass
class _Gap:
    """Values of one file that lack for one reason."""

    count: int = 0
    statistics: dict[str, None] = field(default_factory=dict)
    cases: dict[str, None] = field(default_factory=dict)
    scopes: dict[str, None] = field(default_factory=dict)

    def add(self, row: Row, unit: str) -> None:
        self.count += 1
        self.statistics[row.statistic] = None
        if row.scope == "case":
            self.cases[row.case] = None
        else:
            where = WHERE.get(row.scope, row.scope).format(unit)
            self.scopes[where + (", by group" if row.group else "")] = None


def undefined_block(findings: Findings) -> Block:
    """A line for every file and reason, with the numbers and cases that it is true of."""
    gaps = dict(_gaps(findings))
    if not gaps:
        return Paragraphs((("Every value and every interval is defined.",),), "Undefined values")
    columns = (
        Column("Numbers", "By their names in the file.", number=False), Column("Missing", number=False),
        Column("Why", number=False), Column("How many"), Column("Where", number=False), Column("File", number=False),
    )  # fmt: skip
    rows = tuple(_gap_row(*key, gap) for key, gap in gaps.items())
    note = "Undefined values are left out of means and counted; nothing is put in their place."
    many = len(rows) > MANY_ROWS
    return PageTable("undefined", "Undefined values and why", columns, rows, note, filter=many, closed=many)


def _gaps(findings: Findings) -> Iterable[tuple[Key, _Gap]]:
    gaps: dict[Key, _Gap] = {}
    for file, table in all_tables(findings):
        for row in table.rows:
            for missing, why in _missing_parts(row):
                gaps.setdefault((file, missing, why), _Gap()).add(row, subject_word(findings))
    return sorted(gaps.items(), key=lambda item: item[0][1] != "value")


def _missing_parts(row: Row) -> Iterator[tuple[str, str]]:
    if code(row.value) and row.scope != "subject":  # of a subject it follows from its cases
        yield "value", reason(row.value)
    elif not code(row.value) and row.low is not None and code(row.low):
        yield "interval", REASONS[code(row.low)]


def _gap_row(file: str, missing: str, why: str, gap: _Gap) -> tuple[Cell, ...]:
    titles = list(gap.statistics)
    where = [*([few(list(gap.cases), MOST_CASES)] if gap.cases else []), *gap.scopes]
    return (
        text_cell(few(titles, MOST_STATISTICS), why=", ".join(titles) if len(titles) > MOST_STATISTICS else ""),
        text_cell(missing),
        text_cell(why),
        text_cell(f"{gap.count:,}"),
        text_cell("; ".join(where)),
        text_cell(file),
    )

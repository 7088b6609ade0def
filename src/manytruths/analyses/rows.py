"""The tidy tables that every verb writes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..core.undefined import code, reason
from .data_table import DataTable

HEAD = ("scope", "case", "group", "label", "region")
TAIL = ("statistic", "value", "low", "high", "n", "n_undefined", "reason", "code")


@dataclass(slots=True)
class Row:
    """One number and everything it depends on."""

    scope: str
    statistic: str
    value: float
    case: str = ""
    group: str = ""
    label: str = ""
    region: str = ""
    extra: tuple[object, ...] = ()
    low: float | None = None
    high: float | None = None
    n: int | None = None
    n_undefined: int | None = None
    mark: str = ""
    """What stands behind the region in the file: whether masks were resampled for it."""
    columns: tuple[str, ...] = field(default=(), repr=False, compare=False)
    """The names of ``extra``, which the table sets."""

    def __getitem__(self, column: str) -> Any:
        """What stands in one of the table's own columns."""
        return self.extra[self.columns.index(column)]

    def cells(self) -> list[object]:
        """In the order of the file; the reason is that of the value, else that of its missing interval."""
        gap = self.value if self.low is None or math.isnan(self.value) else self.low
        ends = [None if end is None or math.isnan(end) else end for end in (self.low, self.high)]
        region = f"{self.region} {self.mark}".strip() if self.mark else self.region
        return [
            self.scope, self.case, self.group, self.label, region, *self.extra,
            self.statistic, float(self.value), *ends, self.n, self.n_undefined, reason(gap), code(gap),
        ]  # fmt: skip


@dataclass(repr=False)
class Table(DataTable):
    """Rows of one file; ``extra`` names its own columns."""

    name: str
    extra: tuple[str, ...] = ()
    rows: list[Row] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rows, rows = [], self.rows
        self.add(rows)

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the file."""
        return (*HEAD, *self.extra, *TAIL)

    def records(self) -> Iterator[list[object]]:
        """The cells of every row."""
        return (row.cells() for row in self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Iterable[Row]) -> None:
        """More rows."""
        for row in rows:
            self.append(row)

    def append(self, row: Row) -> None:
        """One more row."""
        row.columns = self.extra or row.columns
        self.rows.append(row)

    def find(self, statistic: str, scope: str = "pooled", **fields: object) -> Row:
        """The one row of a statistic at a scope; fields that are not given must be empty."""
        return next(row for row in self.all(statistic, scope) if self._fits(row, fields))

    def all(self, statistic: str, scope: str) -> list[Row]:
        """Every row of a statistic at a scope."""
        return [row for row in self.rows if row.statistic == statistic and row.scope == scope]

    def _fits(self, row: Row, fields: dict[str, object]) -> bool:
        own = dict(zip(self.extra, row.extra, strict=True)) | {"case": row.case, "group": row.group, "label": row.label}
        return all(own.get(name) == fields.get(name, "") for name in own if name in fields or name in HEAD)


def write_all(tables: Sequence[Table], folder: Path) -> list[Path]:
    """Every table into a folder."""
    return [table.write(folder) for table in tables]

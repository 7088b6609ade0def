"""The tables of results: rows with everything their number depends on, as CSV files and data frames."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import CallError, InputError, few
from ..core.undefined import code, reason
from .writing import write_csv

if TYPE_CHECKING:
    import pandas as pd


SHOWN = 8
"""Rows of a table that a notebook shows."""


HEAD = ("scope", "case", "group", "label", "region")


TAIL = ("statistic", "value", "low", "high", "n", "n_undefined", "reason", "code")


UNIT = "unit"
"""The last column of tables in which any number has a unit."""


class DataTable(ABC):
    """Rows under a header, called as their file is."""

    name: str

    @property
    @abstractmethod
    def header(self) -> Sequence[str]:
        """The columns of the file."""

    @abstractmethod
    def records(self) -> Iterable[Sequence[object]]:
        """The cells of every row, in the order of the header."""

    @abstractmethod
    def __len__(self) -> int: ...

    def to_frame(self) -> pd.DataFrame:
        """The table as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            One column for each column of the file; undefined numbers are NaN.
        """
        try:
            import pandas as pd
        except ImportError:
            raise InputError('to_frame needs pandas; install it with pip install "manytruths[tables]"') from None
        return pd.DataFrame([list(record) for record in self.records()], columns=list(self.header))

    def write(self, folder: Path) -> Path:
        """Write the CSV file, whole or not at all."""
        path = folder / f"{self.name}.csv"
        write_csv(path, self.records(), self.header)
        return path

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self)} rows of {', '.join(self.header)}>"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{escape(name)}</th>" for name in self.header)
        body = "".join(
            "<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in record) + "</tr>"
            for record in islice(self.records(), SHOWN)
        )
        rest = len(self) - SHOWN
        more = f"<p>and {rest} more rows</p>" if rest > 0 else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    return "" if value is None else escape(str(value))


class PlainTable(DataTable):
    """A table with columns of its own.

    Parameters
    ----------
    name : str
        Name of the file without its ending.
    header : sequence of str
        The columns.
    rows : iterable of sequences
        The cells of every row.
    """

    def __init__(self, name: str, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
        self.name = name
        self._header = tuple(header)
        self._rows = [tuple(row) for row in rows]

    @property
    def header(self) -> tuple[str, ...]:
        return self._header

    def records(self) -> list[tuple[object, ...]]:
        return self._rows

    def __len__(self) -> int:
        return len(self._rows)


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
    unit: str = ""
    """Of the value, as in ``mm``; empty for numbers without one."""
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
        return (*HEAD, *self.extra, *TAIL, *([UNIT] if self.has_units else []))

    @property
    def has_units(self) -> bool:
        """Whether any number has a unit."""
        return any(row.unit for row in self.rows)

    def records(self, rows: Sequence[Row] | None = None) -> Iterator[list[object]]:
        """The cells of every row, or of some of them."""
        chosen = self.rows if rows is None else rows
        if self.has_units:
            return ([*row.cells(), row.unit] for row in chosen)
        return (row.cells() for row in chosen)

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
        row = next((row for row in self.all(statistic, scope) if self._fits(row, fields)), None)
        if row is None:
            raise CallError(self._describe_missing(statistic, scope, fields))
        return row

    def _describe_missing(self, statistic: str, scope: str, fields: dict[str, object]) -> str:
        statistics = list(dict.fromkeys(row.statistic for row in self.rows))
        if statistic not in statistics:
            return f"no statistic {statistic!r} in {self.name}; there are {few(statistics, 40) or 'none'}"
        scopes = list(dict.fromkeys(row.scope for row in self.rows if row.statistic == statistic))
        if scope not in scopes:
            return f"{statistic} in {self.name} has no scope {scope!r}; there are {', '.join(scopes)}"
        given = ", ".join(f"{name}={value!r}" for name, value in fields.items()) or "empty case, group and label"
        own = ", ".join(("case", "group", "label", *self.extra))
        return f"no row of {statistic} ({scope}) in {self.name} has {given}; rows can be chosen by {own}"

    def all(self, statistic: str, scope: str) -> list[Row]:
        """Every row of a statistic at a scope."""
        return [row for row in self.rows if row.statistic == statistic and row.scope == scope]

    def _fits(self, row: Row, fields: dict[str, object]) -> bool:
        has = dict(zip(self.extra, row.extra, strict=True)) | {"case": row.case, "group": row.group, "label": row.label}
        return all(has.get(name) == fields.get(name, "") for name in has if name in fields or name in HEAD)

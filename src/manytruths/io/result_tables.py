"""The tables of results: rows with everything their number depends on, as CSV files and data frames."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import numpy as np

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


@dataclass(frozen=True, eq=False)
class CaseColumns:
    """What rows of every case of a study share, whatever the statistic."""

    cases: Sequence[str]
    groups: Sequence[str]
    regions: Sequence[str]
    items: Sequence[int]

    @cached_property
    def places(self) -> dict[str, int]:
        """Where each case stands."""
        return {case: i for i, case in enumerate(self.cases)}


class CaseRows:
    """Rows of one statistic of every case, kept as columns: a study of 10,000 cases has half a million of them."""

    scope = "case"

    def __init__(
        self, statistic: str, values: Sequence[float], about: CaseColumns, label: str = "",
        extra: tuple[object, ...] = (),
    ) -> None:  # fmt: skip
        self.statistic, self.label, self.extra, self.about = statistic, label, extra, about
        self.columns: tuple[str, ...] = ()
        self.marks: Sequence[str] | None = None
        self._values = np.array(values, np.float64)
        self._undefined = {i: values[i] for i in np.flatnonzero(np.isnan(self._values)).tolist()}

    def __len__(self) -> int:
        return len(self._values)

    def __iter__(self) -> Iterator[Row]:
        return map(self.row, range(len(self)))

    def row(self, i: int) -> Row:
        """The row of one case."""
        about, mark = self.about, "" if self.marks is None else self.marks[i]
        return Row(
            "case", self.statistic, self._value(i), about.cases[i], about.groups[i], self.label, about.regions[i],
            self.extra, n=about.items[i], mark=mark, columns=self.columns,
        )  # fmt: skip

    def _value(self, i: int) -> float:
        value: float = self._undefined[i] if i in self._undefined else self._values[i].item()
        return value

    def cells(self) -> Iterator[list[object]]:
        """As :meth:`Row.cells`, of every case."""
        if self.marks is not None or self._undefined:
            yield from (row.cells() for row in self)
            return
        about, label, more, none = self.about, self.label, (*self.extra, self.statistic), (None, None)
        each = zip(about.cases, about.groups, about.regions, self._values.tolist(), about.items, strict=True)
        for case, group, region, value, items in each:
            yield ["case", case, group, label, region, *more, value, *none, items, None, "", ""]


class Rows(Sequence[Row]):
    """The rows of a table; those of :class:`CaseRows` are made when they are asked for, and are not kept."""

    def __init__(self) -> None:
        self.parts: list[list[Row] | CaseRows] = []

    def append(self, row: Row) -> None:
        if not self.parts or isinstance(self.parts[-1], CaseRows):
            self.parts.append([])
        part = self.parts[-1]
        assert isinstance(part, list)
        part.append(row)

    def __iter__(self) -> Iterator[Row]:
        return chain.from_iterable(self.parts)

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @overload
    def __getitem__(self, at: int) -> Row: ...

    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...

    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, slice):
            return list(islice(self, *at.indices(len(self)))) if (at.step or 1) > 0 else list(self)[at]
        return next(islice(self, range(len(self))[at], None))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    def alone(self) -> Iterator[Row]:
        """The rows that are kept one by one."""
        return chain.from_iterable(part for part in self.parts if isinstance(part, list))

    def of_cases(self) -> Iterator[CaseRows]:
        """The others."""
        return (part for part in self.parts if isinstance(part, CaseRows))

    def chosen(self, statistic: str, scope: str) -> Iterator[Row]:
        """Those of a statistic at a scope."""
        for part in self.parts:
            if isinstance(part, list):
                yield from (row for row in part if row.statistic == statistic and row.scope == scope)
            elif part.statistic == statistic and part.scope == scope:
                yield from part


@dataclass(repr=False)
class Table(DataTable):
    """Rows of one file; ``extra`` names its own columns."""

    name: str
    extra: tuple[str, ...] = ()
    rows: Rows | Sequence[Row] = ()

    def __post_init__(self) -> None:
        rows, self.rows = self.rows, Rows()
        self.add(rows)

    @property
    def header(self) -> tuple[str, ...]:
        """The columns of the file."""
        return (*HEAD, *self.extra, *TAIL, *([UNIT] if self.has_units else []))

    @property
    def has_units(self) -> bool:
        """Whether any number has a unit."""
        return any(row.unit for row in self._rows.alone())

    @property
    def _rows(self) -> Rows:
        assert isinstance(self.rows, Rows)
        return self.rows

    def records(self, rows: Sequence[Row] | None = None) -> Iterator[list[object]]:
        """The cells of every row, or of some of them."""
        parts: Sequence[Iterable[Row] | CaseRows] = self._rows.parts if rows is None else [rows]
        of_units = [""] if self.has_units else []
        for part in parts:
            if isinstance(part, CaseRows):
                yield from ([*cells, *of_units] for cells in part.cells())
            else:
                yield from ([*row.cells(), row.unit] if of_units else row.cells() for row in part)

    def __len__(self) -> int:
        return len(self.rows)

    def add(self, rows: Iterable[Row | CaseRows]) -> None:
        """More rows."""
        for row in rows:
            if isinstance(row, CaseRows):
                row.columns = self.extra
                self._rows.parts.append(row)
            else:
                self.append(row)

    def single_rows(self) -> Iterator[Row]:
        """The rows but for those of cases that are kept as columns."""
        return self._rows.alone()

    def mark(self, mark: Callable[[Row], str]) -> None:
        """Say of every row what stands behind its region."""
        for row in self._rows.alone():
            row.mark = mark(row)
        for part in self._rows.of_cases():
            part.marks = [mark(row) for row in part]

    def append(self, row: Row) -> None:
        """One more row."""
        row.columns = self.extra or row.columns
        self._rows.append(row)

    def find(self, statistic: str, scope: str = "pooled", **fields: object) -> Row:
        """The one row of a statistic at a scope; fields that are not given must be empty."""
        row = next((row for row in self._rows.chosen(statistic, scope) if self._fits(row, fields)), None)
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
        return list(self._rows.chosen(statistic, scope))

    def _fits(self, row: Row, fields: dict[str, object]) -> bool:
        has = dict(zip(self.extra, row.extra, strict=True)) | {"case": row.case, "group": row.group, "label": row.label}
        return all(has.get(name) == fields.get(name, "") for name in has if name in fields or name in HEAD)

"""The cells of a table of ratings, in text, Parquet or Excel, and what is wrong with them."""

from __future__ import annotations

import csv
import io
import math
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..errors import CallError, FormatError
from .opening import needs
from .score_sheet import MOST_TOLD, parsed
from .tables import read_text

ROLES: dict[str, tuple[str, ...]] = {
    "case": ("case",),
    "rater": ("rater", "reader"),
    "label": ("label", "rating"),
    "confidence": ("confidence",),
    "subject": ("subject", "patient"),
    "reference": ("reference", "truth"),
}
"""What a column may hold, and the names under which it is known."""

PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")


@dataclass
class Faults:
    """What is wrong with a file, line by line."""

    path: Path | str
    unit: str = "line"
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, message: str) -> None:
        """One more."""
        self.found.append((line, message))

    def insist(self) -> None:
        """Raise if there is any, with the first ten."""
        told = [f"{self.unit} {line}: {message}" for line, message in sorted(self.found)]
        if len(told) == 1:
            raise FormatError(f"{self.path}, {told[0]}")
        if told:
            more = [f"and {len(told) - MOST_TOLD} more"] if len(told) > MOST_TOLD else []
            head = f"{self.path}: {len(told)} cells or lines cannot be used; correct them"
            raise FormatError("\n  ".join([head, *told[:MOST_TOLD], *more]))


@dataclass(frozen=True)
class Cells:
    """A file, column by column, as text without blanks at the ends."""

    path: Path | str
    header: list[str]
    lines: list[int]
    columns: list[list[str]]
    faults: Faults

    def __getitem__(self, name: str) -> list[str]:
        return self.columns[self.header.index(name)]

    def keep(self, rows: Sequence[int]) -> Cells:
        """Some of the lines."""
        columns = [[column[i] for i in rows] for column in self.columns]
        return Cells(self.path, self.header, [self.lines[i] for i in rows], columns, self.faults)


def read_cells(path: Path | str) -> Cells:
    """Read a file by its ending; rows with too few or too many cells are faults."""
    ending = Path(path).suffix.lower()
    if ending == ".xls":
        raise FormatError(f"{path}: is of the old Excel; save it as .xlsx")
    faults = Faults(path, "row" if ending in PARQUET else "line")
    lines, rows = (_parquet if ending in PARQUET else _excel if ending in EXCEL else _text)(path)
    top = next((i for i, cells in enumerate(rows) if _filled(cells)), None)
    if top is None:
        raise FormatError(f"{path}: is empty; give a table with a header")
    header = [cell.strip() for cell in rows[top]]
    if "" in header:
        raise FormatError(f"{path}: column {header.index('') + 1} has no name; give it one")
    if len(set(header)) < len(header):
        raise FormatError(f"{path}: two columns have the same name among {', '.join(header)}; rename one")
    lines, rows = _whole(lines[top + 1 :], rows[top + 1 :], len(header), faults)
    columns = [list(map(str.strip, column)) for column in zip(*rows, strict=True)] or [[] for _ in header]
    found = Cells(path, header, lines, columns, faults)
    blank = [i for i, first in enumerate(columns[0]) if not first and not any(column[i] for column in columns)]
    return found.keep(sorted(set(range(len(lines))) - set(blank))) if blank else found


def _filled(cells: list[str]) -> bool:
    return any(cell and not cell.isspace() for cell in cells)


def _whole(lines: list[int], rows: list[list[str]], width: int, faults: Faults) -> Rows:
    """Rows as wide as the header; blank lines go, others are faults."""
    if set(map(len, rows)) <= {width}:
        return lines, rows
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != width and _filled(cells):
            faults.add(line, f"has {len(cells)} cells, the header {width}")
    good = [i for i, cells in enumerate(rows) if len(cells) == width]
    return [lines[i] for i in good], [rows[i] for i in good]


Rows = tuple[list[int], list[list[str]]]
"""The numbers of lines, and their cells."""


def _text(path: Path | str) -> Rows:
    text = read_text(path)
    separator = max(",;\t", key=text.partition("\n")[0].count)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    lines: list[int] = []
    rows: list[list[str]] = []
    try:
        for cells in reader:
            lines.append(reader.line_num)
            rows.append(cells)
    except csv.Error as error:
        raise FormatError(f"{path}, line {reader.line_num}: is not a table: {error}") from None
    return lines, rows


def _parquet(path: Path | str) -> Rows:
    needs("pyarrow", "tables", Path(path))
    frame = _read(path, "read_parquet")
    if any(name is not None for name in frame.index.names):
        frame = frame.reset_index()
    columns = [[_cell(value) for value in frame[name].astype(object)] for name in frame.columns]
    body = [list(cells) for cells in zip(*columns, strict=True)]
    return list(range(len(body) + 1)), [[str(name) for name in frame.columns], *body]


def _excel(path: Path | str) -> Rows:
    needs("openpyxl", "tables", Path(path))
    # 'none' and 'NA' may be labels: only what is empty is empty
    frame = _read(path, "read_excel", header=None, dtype=object, keep_default_na=False, na_values=[""])
    body = [[_cell(value) for value in cells] for cells in frame.itertuples(index=False)]
    return list(range(1, len(body) + 1)), body


def _read(path: Path | str, how: str, **options: Any) -> Any:
    pandas = needs("pandas", "tables", Path(path))
    try:
        return getattr(pandas, how)(path, **options)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        told = getattr(error, "strerror", None) or str(error).partition("\n")[0]
        raise FormatError(f"{path}: cannot be read: {told}; check the path and the file") from None


def _cell(value: Any) -> str:
    """Whole numbers without a point: a column with gaps holds 1 as 1.0."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("NaT", "<NA>"):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()


def places(cells: Cells, columns: Mapping[str, str], ignored: Iterable[str] = ()) -> dict[str, str]:
    """Which column plays which role; ``columns`` says so where a name is not known."""
    unknown = [role for role in columns if role not in ROLES]
    absent = [name for name in columns.values() if name not in cells.header]
    if unknown:
        raise CallError(f"--columns knows {', '.join(ROLES)}; got {unknown[0]!r}")
    if absent:
        raise CallError(f"{cells.path}: has no column {absent[0]!r} but {', '.join(cells.header)}; correct --columns")
    found, plain = dict(columns), {name.casefold(): name for name in reversed(cells.header)}
    taken = {*columns.values(), *ignored}
    for role, names in ROLES.items():
        known = [plain[name] for name in names if name in plain and plain[name] not in taken]
        if role not in found and known:
            found[role] = known[0]
    if "case" not in found:
        raise FormatError(
            f"{cells.path}: has no column 'case' but {', '.join(cells.header)}; say which it is: --columns case=NAME"
        )
    return found


def filtered(cells: Cells, wanted: Mapping[str, str], *, lenient: bool = False) -> Cells:
    """The lines whose columns hold what is wanted; ``lenient`` passes over columns that are not there."""
    rows = list(range(len(cells.lines)))
    for column, value in wanted.items():
        if column not in cells.header:
            if lenient:
                continue
            raise CallError(f"{cells.path}: has no column {column!r} to filter by but {', '.join(cells.header)}")
        number, held = parsed(value), cells[column]
        same = {text for text in set(held) if text == value or (number is not None and parsed(text) == number)}
        if not same:
            known = ", ".join(sorted(set(held))[:MOST_TOLD])
            raise CallError(f"{cells.path}: no line has {column}={value}; there are {known}")
        rows = [i for i in rows if held[i] in same]
    if wanted and not rows:
        raise CallError(f"{cells.path}: no line has {', '.join(f'{k}={v}' for k, v in wanted.items())} at once")
    return cells.keep(rows) if wanted else cells

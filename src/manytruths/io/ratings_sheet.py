"""The cells of a table of ratings, in text, Parquet or Excel, and what is wrong with them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..core.errors import CallError, FormatError, few
from .ratings_workbook import Rows, excel_rows, parquet_rows
from .score_sheet import MOST_TOLD, parse_number
from .tables import parse_csv, read_text

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
FOREIGN = {".xls": "the old Excel", ".ods": "LibreOffice", ".numbers": "Numbers"}
SEPARATOR = re.compile(r"\s*\"?sep=([,;\t])\"?[ \r]*", re.IGNORECASE)
"""A first line by which Excel is told the separator."""


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
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> list[str]:
        return self.columns[self.header.index(name)]

    def keep(self, rows: Sequence[int]) -> Cells:
        """Some of the lines."""
        columns = [[column[i] for i in rows] for column in self.columns]
        return replace(self, lines=[self.lines[i] for i in rows], columns=columns)


def read_cells(path: Path | str) -> Cells:
    """Read a file by its ending; rows with too few or too many cells are faults."""
    ending = Path(path).suffix.lower()
    if ending in FOREIGN:
        raise FormatError(f"{path}: is of {FOREIGN[ending]}; save it as .xlsx or .csv")
    faults = Faults(path, "row" if ending in PARQUET else "line")
    notes: tuple[str, ...] = ()
    if ending in EXCEL:
        (lines, rows), notes = excel_rows(path)
    else:
        lines, rows = parquet_rows(path) if ending in PARQUET else _text(path)
    top = next((i for i, cells in enumerate(rows) if _filled(cells)), None)
    if top is None:
        raise FormatError(f"{path}: is empty; give a table with a header")
    lines, rows = lines[top:], _without_blank_columns(rows[top:])
    header = [cell.strip() for cell in rows[0]]
    if "" in header:
        raise FormatError(f"{path}: column {header.index('') + 1} has no name; give it one")
    if len(set(header)) < len(header):
        raise FormatError(f"{path}: two columns have the same name among {few(header)}; rename one")
    lines, rows = _whole(lines[1:], rows[1:], len(header), faults)
    columns = [list(map(str.strip, column)) for column in zip(*rows, strict=True)] or [[] for _ in header]
    found = Cells(path, header, lines, columns, faults, notes)
    blank = [i for i, first in enumerate(columns[0]) if not first and not any(column[i] for column in columns)]
    return found.keep(sorted(set(range(len(lines))) - set(blank))) if blank else found


def _filled(cells: list[str]) -> bool:
    return any(cell and not cell.isspace() for cell in cells)


def _without_blank_columns(rows: list[list[str]]) -> list[list[str]]:
    """A spreadsheet may save columns to the right that hold nothing, not even a name."""
    blank = {i for i, cell in enumerate(rows[0]) if not cell.strip()}
    for cells in rows[1:] if blank else ():
        blank -= {i for i in blank if i < len(cells) and cells[i].strip()}
    if not blank:
        return rows
    return [[cell for i, cell in enumerate(cells) if i not in blank] for cells in rows]


def _whole(lines: list[int], rows: list[list[str]], width: int, faults: Faults) -> Rows:
    """Rows as wide as the header; blank lines go, others are faults."""
    if set(map(len, rows)) <= {width}:
        return lines, rows
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != width and _filled(cells):
            faults.add(line, f"has {len(cells)} cells, the header {width}")
    good = [i for i, cells in enumerate(rows) if len(cells) == width]
    return [lines[i] for i in good], [rows[i] for i in good]


def _text(path: Path | str) -> Rows:
    text = read_text(path)
    first = next((line for line in text.splitlines() if line.strip()), "")
    told = SEPARATOR.fullmatch(first)
    read = parse_csv(path, text, told[1] if told else max(",;\t", key=first.count))
    lines, rows = [line for line, _ in read], [cells for _, cells in read]
    top = next((i for i, cells in enumerate(rows) if _filled(cells)), 0) + 1 if told else 0
    return lines[top:], rows[top:]


def places(cells: Cells, columns: Mapping[str, str], ignored: Iterable[str] = ()) -> dict[str, str]:
    """Which column plays which role; ``columns`` says so where a name is not known."""
    unknown = [role for role in columns if role not in ROLES]
    absent = [name for name in columns.values() if name not in cells.header]
    if unknown:
        raise CallError(f"--columns knows {', '.join(ROLES)}; got {unknown[0]!r}")
    if absent:
        raise CallError(f"{cells.path}: has no column {absent[0]!r} but {few(cells.header)}; correct --columns")
    found, plain = dict(columns), {name.casefold(): name for name in reversed(cells.header)}
    taken = {*columns.values(), *ignored}
    for role, names in ROLES.items():
        known = [plain[name] for name in names if name in plain and plain[name] not in taken]
        if role not in found and known:
            found[role] = known[0]
    if "case" not in found:
        sheets = f" ({cells.notes[0]})" if cells.notes else ""
        raise FormatError(
            f"{cells.path}: has no column 'case' but {few(cells.header)}; say which it is: --columns case=NAME{sheets}"
        )
    return found


def filtered(cells: Cells, wanted: Mapping[str, str], *, lenient: bool = False) -> Cells:
    """The lines whose columns hold what is wanted; ``lenient`` passes over columns that are not there."""
    rows = list(range(len(cells.lines)))
    for column, value in wanted.items():
        if column not in cells.header:
            if lenient:
                continue
            raise CallError(f"{cells.path}: has no column {column!r} to filter by but {few(cells.header)}")
        number, held = parse_number(value), cells[column]
        same = {text for text in set(held) if text == value or (number is not None and parse_number(text) == number)}
        if not same:
            known = ", ".join(sorted(set(held))[:MOST_TOLD])
            raise CallError(f"{cells.path}: no line has {column}={value}; there are {known}")
        rows = [i for i in rows if held[i] in same]
    if wanted and not rows:
        raise CallError(f"{cells.path}: no line has {', '.join(f'{k}={v}' for k, v in wanted.items())} at once")
    return cells.keep(rows) if wanted else cells

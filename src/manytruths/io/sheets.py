"""Tables as users keep them: text, Parquet or Excel, read as columns of text, and what is wrong with them.

Everything is read within bounds. Faults are collected line by line, so that one error lists them all.
"""

from __future__ import annotations

import math
import re
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ..core.errors import CallError, FormatError, ManytruthsError, few
from .files import check_regular_file, import_extra, quiet
from .tables import parse_csv, read_text

Rows = tuple[list[int], list[list[str]]]
"""Line numbers, and the cells of each line."""
PARQUET = (".parquet", ".pq")
EXCEL = (".xlsx", ".xlsm")
FOREIGN = {".xls": "the old Excel", ".ods": "LibreOffice", ".numbers": "Numbers"}
SEPARATOR = re.compile(r"\s*\"?sep=([,;\t])\"?[ \r]*", re.IGNORECASE)
"""A first line that tells Excel the separator."""
GAPS = frozenset({"", "na", "n/a", "nan", "none", "null", "-", "–"})
"""Cells of numbers that are not known, in any case of letters."""
MOST_SHOWN = 10
"""Most faulty lines in a message."""
MOST_CELLS = 1 << 24
"""Most cells of a table, filled or not."""
LARGEST_SHEET = 1 << 28
"""Most bytes of a sheet, uncompressed; it is read row by row."""
LARGEST_REST = 1 << 25
"""Most bytes of everything else in a workbook; it is held whole and takes twenty times as much memory."""


@dataclass
class Faults:
    """What is wrong with a file, line by line."""

    path: Path | str
    unit: str = "line"
    messages: list[tuple[int, str]] = field(default_factory=list)

    def add(self, line: int, message: str) -> None:
        """Note what is wrong with a line."""
        self.messages.append((line, message))

    def raise_any(self) -> None:
        """Raise a FormatError with the first ten, if there are any."""
        lines = [f"{self.unit} {line}: {message}" for line, message in sorted(self.messages)]
        if len(lines) == 1:
            raise FormatError(f"{self.path}, {lines[0]}")
        if lines:
            more = [f"and {len(lines) - MOST_SHOWN} more"] if len(lines) > MOST_SHOWN else []
            head = f"{self.path}: {len(lines)} cells or lines cannot be used; correct them"
            raise FormatError("\n  ".join([head, *lines[:MOST_SHOWN], *more]))


@dataclass(frozen=True)
class Sheet:
    """A table column by column, as text without spaces at the ends."""

    path: Path | str
    header: list[str]
    lines: list[int]
    columns: list[list[str]]
    faults: Faults
    notes: tuple[str, ...] = ()

    def __getitem__(self, name: str) -> list[str]:
        return self.columns[self.header.index(name)]

    def keep(self, rows: Sequence[int]) -> Sheet:
        """The sheet with some of its lines."""
        columns = [[column[i] for i in rows] for column in self.columns]
        return replace(self, lines=[self.lines[i] for i in rows], columns=columns)


def read_sheet(path: Path | str) -> Sheet:
    """Read a table from text, Parquet or Excel (its first sheet); rows with too few or too many cells are faults."""
    ending = Path(path).suffix.lower()
    if ending in FOREIGN:
        raise FormatError(f"{path}: is a file of {FOREIGN[ending]}; save it as .xlsx or .csv")
    faults = Faults(path, "row" if ending in PARQUET else "line")
    notes: tuple[str, ...] = ()
    if ending in EXCEL:
        (lines, rows), notes = excel_rows(path)
    else:
        lines, rows = parquet_rows(path) if ending in PARQUET else _text_rows(path)
    top = next((i for i, cells in enumerate(rows) if _is_filled(cells)), None)
    if top is None:
        raise FormatError(f"{path}: is empty; give a table with a header")
    lines, rows = lines[top:], _without_blank_columns(rows[top:])
    header = [cell.strip() for cell in rows[0]]
    if "" in header:
        raise FormatError(f"{path}: column {header.index('') + 1} has no name; give it one")
    if len(set(header)) < len(header):
        raise FormatError(f"{path}: two columns have the same name among {few(header)}; rename one")
    lines, rows = _complete_rows(lines[1:], rows[1:], len(header), faults)
    columns = [list(map(str.strip, column)) for column in zip(*rows, strict=True)] or [[] for _ in header]
    sheet = Sheet(path, header, lines, columns, faults, notes)
    blank = [i for i, first in enumerate(columns[0]) if not first and not any(column[i] for column in columns)]
    return sheet.keep(sorted(set(range(len(lines))) - set(blank))) if blank else sheet


def _is_filled(cells: list[str]) -> bool:
    return any(cell and not cell.isspace() for cell in cells)


def _without_blank_columns(rows: list[list[str]]) -> list[list[str]]:
    """Drop columns without a name or content, which spreadsheets may save at the right."""
    blank = {i for i, cell in enumerate(rows[0]) if not cell.strip()}
    for cells in rows[1:] if blank else ():
        blank -= {i for i in blank if i < len(cells) and cells[i].strip()}
    if not blank:
        return rows
    return [[cell for i, cell in enumerate(cells) if i not in blank] for cells in rows]


def _complete_rows(lines: list[int], rows: list[list[str]], width: int, faults: Faults) -> Rows:
    """Rows as wide as the header; blank ones are dropped, others are faults."""
    if set(map(len, rows)) <= {width}:
        return lines, rows
    for line, cells in zip(lines, rows, strict=True):
        if len(cells) != width and _is_filled(cells):
            faults.add(line, f"has {len(cells)} cells, the header {width}")
    good = [i for i, cells in enumerate(rows) if len(cells) == width]
    return [lines[i] for i in good], [rows[i] for i in good]


def _text_rows(path: Path | str) -> Rows:
    text = read_text(path)
    first = next((line for line in text.splitlines() if line.strip()), "")
    declared = SEPARATOR.fullmatch(first)
    parsed = parse_csv(path, text, declared[1] if declared else max(",;\t", key=first.count))
    lines, rows = [line for line, _ in parsed], [cells for _, cells in parsed]
    top = next((i for i, cells in enumerate(rows) if _is_filled(cells)), 0) + 1 if declared else 0
    return lines[top:], rows[top:]


def find_columns(
    path: Path | str,
    header: Sequence[str],
    columns: Mapping[str, str],
    roles: Mapping[str, Sequence[str]],
    *,
    ignored: Iterable[str] = (),
    options: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Which column plays which role: as ``columns`` says, else by the names under which a role is known.

    ``options`` has the option that named the column of a role, where it is not ``--columns``.
    """
    unknown = [role for role in columns if role not in roles]
    absent = [(role, name) for role, name in columns.items() if name not in header]
    if unknown:
        raise CallError(f"--columns knows {', '.join(roles)}; got {unknown[0]!r}")
    if absent:
        role, name = absent[0]
        option = options.get(role, "--columns")
        raise CallError(f"{path}: has no column {name!r} but {few(header)}; correct {option}")
    result, by_name = dict(columns), {name.casefold(): name for name in reversed(header)}
    taken = {*columns.values(), *ignored}
    for role, names in roles.items():
        known = [by_name[name] for name in names if name in by_name and by_name[name] not in taken]
        if role not in result and known:
            result[role] = known[0]
    return result


def select_lines(sheet: Sheet, wanted: Mapping[str, str], *, lenient: bool = False) -> Sheet:
    """The lines whose columns hold the wanted values; ``lenient`` ignores columns that do not exist."""
    rows = list(range(len(sheet.lines)))
    for column, value in wanted.items():
        if column not in sheet.header:
            if lenient:
                continue
            raise CallError(f"{sheet.path}: has no column {column!r} to filter by but {few(sheet.header)}")
        number, held = parse_number(value), sheet[column]
        same = {text for text in set(held) if text == value or (number is not None and parse_number(text) == number)}
        if not same:
            known = ", ".join(sorted(set(held))[:MOST_SHOWN])
            raise CallError(f"{sheet.path}: no line has {column}={value}; there are {known}")
        rows = [i for i in rows if held[i] in same]
    if wanted and not rows:
        raise CallError(f"{sheet.path}: no line has {', '.join(f'{k}={v}' for k, v in wanted.items())} at once")
    return sheet.keep(rows) if wanted else sheet


# -- cells --------------------------------------------------------------------------------------------


def parse_number(cell: str) -> float | None:
    """A number, or None."""
    try:
        return float(cell) if "_" not in cell else None
    except ValueError:
        return None


def has_decimal_comma(cell: str) -> bool:
    """``0,85``."""
    return re.fullmatch(r"[+-]?\d*,\d+", cell) is not None


def is_numeric(cells: Iterable[str]) -> bool:
    """Whether at least half of the cells that are filled are numbers; the others are then mistakes, not words."""
    known = [cell for cell in map(str.strip, cells) if cell.casefold() not in GAPS]
    numbers = sum(parse_number(cell) is not None or has_decimal_comma(cell) for cell in known)
    return bool(known) and 2 * numbers >= len(known)


# -- Parquet and Excel --------------------------------------------------------------------------------


def parquet_rows(path: Path | str) -> Rows:
    """The header as line 0, and every row."""
    for name in ("pandas", "pyarrow"):
        import_extra(name, "tables", Path(path))
    parquet = import_extra("pyarrow.parquet", "tables", Path(path))
    check_regular_file(path)
    with _readable(path):
        with parquet.ParquetFile(path) as file:
            about = file.metadata
            if about.num_rows * about.num_columns > MOST_CELLS:
                raise FormatError(_too_many(path, f"{about.num_rows:,} rows of {about.num_columns:,} columns"))
            frame = file.read().to_pandas()
        if any(name is not None for name in frame.index.names):
            frame = frame.reset_index()
        columns = [[_cell(value) for value in frame[name].astype(object)] for name in frame.columns]
    body = [list(cells) for cells in zip(*columns, strict=True)]
    return list(range(len(body) + 1)), [[str(name) for name in frame.columns], *body]


def excel_rows(path: Path | str) -> tuple[Rows, tuple[str, ...]]:
    """The rows of the first sheet that hold anything, and a note on the others."""
    openpyxl = import_extra("openpyxl", "tables", Path(path))
    check_regular_file(path)
    lines: list[int] = []
    rows: list[list[str]] = []
    with _readable(path):
        _check_size(path)
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        try:
            for line, cells in _filled_rows(path, book.worksheets[0]):
                lines.append(line)
                rows.append(cells + [""] * (len(rows[0]) - len(cells) if rows else 0))
                if len(cells) > len(rows[0]):
                    raise FormatError(
                        f"{path}, line {line}: column {len(cells)} holds {cells[-1][:40]!r} and has no name; name it "
                        f"in line {lines[0]}, or empty the cell"
                    )
            first, *others = book.sheetnames
        finally:
            book.close()
    return (lines, rows), (f"the first sheet, {first!r}, was read; not read: {few(others, 10)}",) if others else ()


def _filled_rows(path: Path | str, sheet: Any) -> Iterator[tuple[int, list[str]]]:
    """Every row with something in it, up to its last filled cell."""
    # the size that a sheet declares would be filled with empty cells: billions, for one cell in the last corner
    sheet.reset_dimensions()
    count = 0
    for line, row in enumerate(sheet.iter_rows(), start=1):
        count += len(row)
        if count > MOST_CELLS:
            raise FormatError(_too_many(path, f"more than {MOST_CELLS:,} cells in {line:,} lines"))
        cells = ["" if cell.data_type == "e" else _cell(cell.value) for cell in row]
        while cells and not cells[-1]:
            del cells[-1]
        if cells:
            yield line, cells


def _check_size(path: Path | str) -> None:
    """Refuse a workbook that would decompress to more than any table holds; zip members end at their stated size."""
    with zipfile.ZipFile(path) as archive:
        members = [member for member in archive.infolist() if member.filename.lower().endswith((".xml", ".rels"))]
    sheets = [member.file_size for member in members if member.filename.startswith("xl/worksheets/sheet")]
    rest = sum(member.file_size for member in members) - sum(sheets)
    if max(sheets, default=0) > LARGEST_SHEET or rest > LARGEST_REST:
        raise FormatError(_too_many(path, f"{(sum(sheets) + rest) >> 20:,} MB once it is decompressed"))


def _too_many(path: Path | str, what: str) -> str:
    return f"{path}: holds {what}, more than a table of ratings has; remove everything else, or save it as .csv"


@contextmanager
def _readable(path: Path | str) -> Iterator[None]:
    """Turn whatever a library raises on bad bytes into a FormatError; its warnings are dropped."""
    try:
        with quiet:
            yield
    except ManytruthsError:
        raise
    except MemoryError:
        raise FormatError(f"{path}: does not fit into memory; split it, or save it as .csv") from None
    except Exception as error:
        reason = getattr(error, "strerror", None) or str(error).partition("\n")[0][:160] or type(error).__name__
        raise FormatError(f"{path}: cannot be read: {reason}; check the path and the file") from None


def _cell(value: Any) -> str:
    """A cell as text; whole numbers without a point, since a column with gaps holds 1 as 1.0."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("NaT", "<NA>"):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()

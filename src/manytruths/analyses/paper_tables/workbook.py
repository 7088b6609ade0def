"""One workbook: what its sheets are, tables for a paper, and all tables of the command."""

from __future__ import annotations

import io
import math
import re
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import manytruths

from ...core.csv_text import escape_cell
from ...core.undefined import Undefined
from ...io.result_tables import DataTable
from ...io.writing import MOMENT, write_zip
from .formats import Tabled, settings_text
from .wide import Kind, PaperTable, digits, kind_of

if TYPE_CHECKING:
    from openpyxl import Workbook

FORMATS: dict[Kind, str] = {"count": "#,##0", "percent": "0.0%", "p": '[<0.001]"<0.001";0.000'}
DECIMALS = {3: "0.000", 2: "0.00", 1: "#,##0.0"}
MOST_ROWS = 1_048_576
"""Rows of a sheet, its head among them."""
NARROWEST, WIDEST = 8, 48
_FORBIDDEN = re.compile(r"[\[\]:*?/\\]")
_CONTROLS = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_MODIFIED = re.compile(rb"(<dcterms:(?:created|modified)[^>]*>)[^<]*")

Cell = tuple[object, str]
"""A value, and its number format."""


def write_workbook(path: Path, commands: Sequence[Tabled], name: str) -> Path:
    """Write the sheets of some commands to one workbook, the same bytes for the same numbers."""
    from openpyxl import Workbook

    book, sheets = Workbook(write_only=True), _Sheets()
    papers = [(one, table, sheets.name(f"{k} {table.name}")) for k, (one, table) in enumerate(_papers(commands), 1)]
    several = len(commands) > 1
    whole = [(one, table, sheets.name(_file(one, table, several))) for one in commands for table in one.tables]
    _add_about(book, name, commands, papers, whole)
    for _, paper, title in papers:
        _add_sheet(book, title, *_paper_cells(paper))
    for _, table, title in whole:
        if len(table) < MOST_ROWS:
            _add_sheet(book, title, list(table.header), _long_cells(table))
    stream = io.BytesIO()
    book.save(stream)
    with zipfile.ZipFile(stream) as made:
        parts = {part: made.read(part) for part in made.namelist()}
    # the library writes the time of saving
    core = "docProps/core.xml"
    write_zip(path, parts | {core: _MODIFIED.sub(rb"\g<1>" + MOMENT.encode(), parts[core])})
    return path


def _papers(commands: Sequence[Tabled]) -> list[tuple[Tabled, PaperTable]]:
    return [(one, table) for one in commands for table in one.papers]


def _file(one: Tabled, table: DataTable, several: bool) -> str:
    return f"{one.command} {table.name}.csv" if several else f"{table.name}.csv"


class _Sheets:
    """Names of sheets: short enough, without signs that are not allowed, and different."""

    def __init__(self) -> None:
        self.taken = {"about", "history"}

    def name(self, wanted: str) -> str:
        base = _CONTROLS.sub("", _FORBIDDEN.sub("_", wanted)).strip("'")[:31]
        name, k = base, 1
        while name.lower() in self.taken:
            k += 1
            name = f"{base[: 31 - len(f' {k}')]} {k}"
        self.taken.add(name.lower())
        return name


def _add_about(
    book: Workbook, name: str, commands: Sequence[Tabled],
    papers: Sequence[tuple[Tabled, PaperTable, str]], whole: Sequence[tuple[Tabled, DataTable, str]],
) -> None:  # fmt: skip
    """The first sheet: what each table is, the version, and the settings."""
    rows: list[list[Cell]] = [[(name, ""), (f"manytruths {manytruths.__version__}", "")]]
    rows += [[(one.command, ""), (one.about, "")] for one in commands]
    rows += [[("", "")], [("Sheet", ""), ("What it is", ""), ("Numbers", "")]]
    rows += [[(sheet, ""), (table.title, ""), (table.note, "")] for _, table, sheet in papers]
    for one, table, sheet in whole:
        size = f"{len(table)} rows" if len(table) < MOST_ROWS else "too many rows for a sheet: see the file"
        rows.append([(sheet, ""), (f"The table {one.command}/{table.name}.csv as it is", ""), (size, "")])
    rows += [[("", "")], [("Setting", ""), ("Value", "")]]
    for one in commands:
        first = f"{one.command}: " if len(commands) > 1 else ""
        rows += [[(first + key, ""), (settings_text(value), "")] for key, value in one.settings.items()]
    _add_sheet(book, "About", [], rows)


def _paper_cells(table: PaperTable) -> tuple[list[str], Iterable[list[Cell]]]:
    """Numbers as numbers: a column with intervals becomes three."""
    heads, wide = list[str](), [table.has_interval(k) for k in range(len(table.columns))]
    for k, title in enumerate(table.columns):
        ends = [f"{title}, {table.intervals[k]} {end}" for end in ("low", "high")] if wide[k] else []
        heads += [title, *ends]
    rows = []
    for row in table.rows:
        cells: list[Cell] = []
        for entry, has in zip(row, wide, strict=True):
            form = _number_format(entry.value, entry.kind)
            cells.append((_undefined_as_dash(entry.value), form))
            cells += [(entry.low, form), (entry.high, form)] if has else []
        rows.append(cells)
    return heads, rows


def _undefined_as_dash(value: object) -> object:
    return "–" if isinstance(value, float) and math.isnan(value) else value


def _long_cells(table: DataTable) -> Iterable[list[Cell]]:
    header = list(table.header)
    named = "statistic" in header
    for record in table.records():
        statistic = record[header.index("statistic")] if named else ""
        yield [_long_cell(head, value, str(statistic)) for head, value in zip(header, record, strict=True)]


def _long_cell(head: str, value: object, statistic: str) -> Cell:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return value, ""
    if head in ("value", "low", "high") and statistic:
        kind = kind_of(statistic)
        return value, _number_format(value, "number" if kind == "count" and value != value // 1 else kind)
    if head.startswith("p_") or head.endswith("_p"):
        return value, FORMATS["p"]
    return value, FORMATS["count"] if head in ("n", "n_undefined") else ""


def _number_format(value: object, kind: Kind) -> str:
    if kind == "text" or not isinstance(value, int | float):
        return ""
    return FORMATS.get(kind) or DECIMALS[digits(value)]


def _add_sheet(book: Workbook, title: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """A sheet with its head frozen, filters, and columns as wide as their first rows."""
    from openpyxl.styles import Font
    from openpyxl.utils import get_column_letter

    sheet, lines = book.create_sheet(title), list(rows)
    if heads:
        sheet.freeze_panes = "A2"
        sheet.auto_filter.ref = f"A1:{get_column_letter(len(heads))}{len(lines) + 1}"
    for k, width in enumerate(_widths(heads, lines), 1):
        sheet.column_dimensions[get_column_letter(k)].width = width
    bold = Font(bold=True)
    sheet_heads = [_cell(sheet, head, "") for head in heads]
    for cell in sheet_heads:
        cell.font = bold
    if heads:
        sheet.append(sheet_heads)
    for line in lines:
        sheet.append([_cell(sheet, value, form) for value, form in line])


def _widths(heads: Sequence[str], lines: Sequence[Sequence[Cell]]) -> list[int]:
    """Of the columns, in characters, by the first rows."""
    count = max([len(heads), *(len(line) for line in lines[:200])])
    shown = [[len(head)] for head in heads] + [[0] for _ in range(count - len(heads))]
    for line in lines[:200]:
        for column, (value, form) in zip(shown, line, strict=False):
            column.append(len(str(value)) if isinstance(value, str) or not form else 8)
    return [min(max(NARROWEST, *column) + 2, WIDEST) for column in shown]


def _cell(sheet: Any, value: object, form: str) -> Any:
    """A cell; text is never taken for a formula, an error or a number."""
    from openpyxl.cell import WriteOnlyCell

    if value is None or value == "" or isinstance(value, Undefined) or (isinstance(value, float) and math.isnan(value)):
        return None
    if isinstance(value, int | float) and (isinstance(value, bool) or math.isfinite(value)):
        cell = WriteOnlyCell(sheet, value)
        cell.number_format = form or cell.number_format
        return cell
    text = _CONTROLS.sub("�", str(value))[:32_767]
    cell = WriteOnlyCell(sheet, "text")
    cell._value, cell.data_type = text, "s"
    # as typed with an apostrophe: it stays text when the cell is edited
    cell.quotePrefix = escape_cell(text) != text
    return cell

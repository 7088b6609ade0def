"""Tables of ratings that are no text: Parquet and Excel, as rows of cells; nothing is unpacked without a bound."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core.errors import FormatError, ManytruthsError, few
from .files import check_regular_file, import_extra, quiet

MOST_CELLS = 1 << 24
"""Of a table, filled or not."""
LARGEST_SHEET = 1 << 28
"""Bytes of a sheet, unpacked; it is read row by row."""
LARGEST_REST = 1 << 25
"""Bytes of all else in a workbook that is read, which is held whole and takes twenty times as much memory."""

Rows = tuple[list[int], list[list[str]]]
"""The numbers of lines, and their cells."""


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
    # what a sheet says of its own size would fill it up with empty cells, billions for one in the last corner
    sheet.reset_dimensions()
    seen = 0
    for line, row in enumerate(sheet.iter_rows(), start=1):
        seen += len(row)
        if seen > MOST_CELLS:
            raise FormatError(_too_many(path, f"more than {MOST_CELLS:,} cells in {line:,} lines"))
        cells = ["" if cell.data_type == "e" else _cell(cell.value) for cell in row]
        while cells and not cells[-1]:
            del cells[-1]
        if cells:
            yield line, cells


def _check_size(path: Path | str) -> None:
    """Refuse a workbook that would unpack to more than any table; what is beyond a stated size is not unpacked."""
    with zipfile.ZipFile(path) as archive:
        members = [one for one in archive.infolist() if one.filename.lower().endswith((".xml", ".rels"))]
    sheets = [one.file_size for one in members if one.filename.startswith("xl/worksheets/sheet")]
    rest = sum(one.file_size for one in members) - sum(sheets)
    if max(sheets, default=0) > LARGEST_SHEET or rest > LARGEST_REST:
        raise FormatError(_too_many(path, f"{(sum(sheets) + rest) >> 20:,} MB once it is unpacked"))


def _too_many(path: Path | str, what: str) -> str:
    return f"{path}: holds {what}, more than a table of ratings has; remove what is no rating, or save it as .csv"


@contextmanager
def _readable(path: Path | str) -> Iterator[None]:
    """Whatever a library raises on bad bytes is an error of the file; its remarks on styles help nobody here."""
    try:
        with quiet:
            yield
    except ManytruthsError:
        raise
    except MemoryError:
        raise FormatError(f"{path}: does not fit into memory; split it, or save it as .csv") from None
    except Exception as error:
        told = getattr(error, "strerror", None) or str(error).partition("\n")[0][:160] or type(error).__name__
        raise FormatError(f"{path}: cannot be read: {told}; check the path and the file") from None


def _cell(value: Any) -> str:
    """Whole numbers without a point: a column with gaps holds 1 as 1.0."""
    if value is None or (isinstance(value, float) and math.isnan(value)) or str(value) in ("NaT", "<NA>"):
        return ""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value).strip()

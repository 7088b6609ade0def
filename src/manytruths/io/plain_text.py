"""Text that somebody gives: a regular file of a bounded size, in UTF-8; and the rows of CSV, none of them swallowed."""

from __future__ import annotations

import codecs
import csv
import io
from collections.abc import Mapping
from pathlib import Path

from ..core.csv_text import unescape_cell
from ..core.errors import FormatError, find_name_fault
from .opening import regular_file

LARGEST = 1 << 28
"""Bytes of a text file, unless told otherwise."""
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SHOWN = 40
"""So many signs of a cell are enough in a message."""

Lines = list[tuple[int, list[str]]]
"""The numbers of the lines in which rows begin, and their cells."""


def read_text(path: Path | str, most: int = LARGEST) -> str:
    """A text file in UTF-8, its lines ended by ``\\n`` whatever ended them in the file."""
    regular_file(path, most=most)
    try:
        data = Path(path).read_bytes()
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        kind = "is text in UTF-16, not" if data.startswith(UTF_16) else "is not text in"
        raise FormatError(f"{path}: {kind} UTF-8; save it again as UTF-8") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be opened: {error.strerror}; check the path and its rights") from None
    if "\0" in text:
        line = text.count("\n", 0, text.index("\0")) + 1
        raise FormatError(f"{path}, line {line}: holds a NUL sign, which no text has; save it again as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def csv_lines(path: Path | str, text: str, separator: str) -> Lines:
    """The rows of CSV; a quote that is never closed, or closed within a cell, is refused: it would swallow rows."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    rows: Lines = []
    start = 1
    try:
        for cells in reader:
            rows.append((start, [unescape_cell(cell) for cell in cells]))
            start = reader.line_num + 1
    except csv.Error as error:
        raise FormatError(f"{path}, line {start}: {_reason(str(error))}") from None
    return rows


def _reason(error: str) -> str:
    if "unexpected end of data" in error:
        return 'a quote (") is opened here and never closed; close or remove it'
    if "expected after" in error:
        return 'a quote (") ends within a cell: one before it is not closed, perhaps; for the sign itself write ""'
    if "field limit" in error:
        return f'a cell has more than {csv.field_size_limit():,} signs; is a quote (") not closed?'
    return f"is not a table: {error}; save it again as CSV"


def check_names(path: Path | str, line: int, names: Mapping[str, str]) -> None:
    """Refuse names, by column, with signs that are not seen; most of all ends of lines.

    A quote that is closed only rows later makes one cell of all that stands between.
    """
    for column, name in names.items():
        fault = find_name_fault(name)
        if fault:
            shown = name if len(name) <= SHOWN else f"{name[:SHOWN]}…"
            hint = 'is a quote (") not closed?' if "\n" in name else "type it again"
            raise FormatError(f"{path}, line {line}: {column} {shown!r} {fault}; {hint}")

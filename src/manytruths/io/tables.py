"""Small text files: CSV tables, TOML files, and tallies on disk.

Text is read from regular files of a bounded size, in UTF-8. A quote that is not closed is an error: it would swallow
rows.
"""

from __future__ import annotations

import codecs
import csv
import io
import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.csv_text import unescape_cell
from ..core.errors import FormatError, few, find_name_fault, raise_error
from ..core.tally import Tally
from .files import check_regular_file
from .writing import write_text

LARGEST = 1 << 28
"""Most bytes of a text file, by default."""
LARGEST_TOML = 1 << 20
"""Most bytes of a study file."""
UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
SHOWN = 40
"""Most characters of a cell in a message."""
_KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
DEEP_KEY = re.compile(rf"(?<![\w-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{64}}")
"""``a.b.c…`` with 64 dots or more: no study is so deep, and thousands of parts would take minutes to parse."""
NAMES = ("case", "rater", "subject", "session", "status", "based_on", "code", "kind", "algorithm")
"""Columns whose cells are names, wherever they stand."""
Lines = list[tuple[int, list[str]]]
"""The numbers of the lines in which rows begin, and their cells."""


def read_text(path: Path | str, most: int = LARGEST) -> str:
    """A text file in UTF-8, its lines ended by ``\\n`` whatever ended them in the file."""
    check_regular_file(path, most=most)
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
        raise FormatError(f"{path}, line {line}: holds a NUL character, which no text has; save it again as UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


# -- CSV ----------------------------------------------------------------------------------------------


def parse_csv(path: Path | str, text: str, separator: str) -> Lines:
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
        return 'a quote (") ends within a cell: one before it is perhaps not closed; for the character itself write ""'
    if "field limit" in error:
        return f'a cell has more than {csv.field_size_limit():,} characters; is a quote (") not closed?'
    return f"is not a table: {error}; save it again as CSV"


def check_names(path: Path | str, line: int, names: Mapping[str, str]) -> None:
    """Refuse names, by column, with characters that cannot be seen, above all line ends.

    A quote that is closed only rows later makes one cell of everything in between.
    """
    for column, name in names.items():
        fault = find_name_fault(name)
        if fault:
            shown = name if len(name) <= SHOWN else f"{name[:SHOWN]}…"
            hint = 'is a quote (") not closed?' if "\n" in name else "type it again"
            raise FormatError(f"{path}, line {line}: {column} {shown!r} {fault}; {hint}")


def read_table(path: Path | str, key: str) -> dict[str, dict[str, str]]:
    """A CSV whose column ``key`` names its rows; every row once."""
    rows: dict[str, dict[str, str]] = {}
    for number, row in read_rows(path, (key,)):
        name = row.pop(key)
        if not name or name in rows:
            raise FormatError(f"{path}, line {number}: {key} {name!r} is {'listed twice' if name else 'empty'}")
        rows[name] = row
    return rows


def read_rows(
    path: Path | str, required: Sequence[str], complain: Callable[[FormatError], None] = raise_error
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV with their lines; ``complain`` gets rows that have more or fewer cells than the header."""
    text = read_text(path)
    lines = parse_csv(path, text, ";" if ";" in text.partition("\n")[0] else ",")
    header = [name.strip() for name in lines[0][1]] if lines else []
    for key in required:
        if key not in header:
            raise FormatError(f"{path}: has no column {key!r} but {few(header) or 'nothing'}; add it")
    if len(set(header)) < len(header):
        raise FormatError(f"{path}: two columns have the same name among {few(header)}; rename one")
    for number, cells in lines[1:]:
        if cells and len(cells) != len(header):
            wrong = f"has another number of cells than the header, {len(cells)} instead of {len(header)}"
            complain(FormatError(f"{path}, line {number}: {wrong}; correct it"))
        elif cells:
            row = {column: cell.strip() for column, cell in zip(header, cells, strict=True)}
            check_names(path, number, {column: row[column] for column in header if column in (*required, *NAMES)})
            yield number, row


def subjects_of(path: Path | str, table: Mapping[str, Mapping[str, str]], cases: Iterable[str]) -> dict[str, str]:
    """The subject of every case by a table of cases; empty if it has no column ``subject``, or an empty one.

    A table that gives a subject for only some of the cases is refused: the others would count as subjects of their
    own, and intervals would be too narrow.
    """
    if not any(row.get("subject") for row in table.values()):
        return {}
    listed = list(cases)
    without = [case for case in listed if not table.get(case, {}).get("subject")]
    if without:
        raise FormatError(
            f"{path}: gives no subject for {len(without)} of {len(listed)} cases ({few(without, 5)}); write one for "
            "each, its own name where no other case is of the same subject"
        )
    return {case: table[case]["subject"] for case in listed}


def check_listed(path: Path | str, table: Container[str], cases: Iterable[str]) -> None:
    """Refuse a table of cases that has no row of some."""
    absent = [case for case in cases if case not in table]
    if absent:
        raise FormatError(
            f"{path}: does not list {few(absent, 10)}; add a line for each case, its cells empty where nothing is known"
        )


# -- TOML and tallies ---------------------------------------------------------------------------------


def read_toml(path: Path | str) -> dict[str, Any]:
    """A TOML file."""
    text = read_text(path, LARGEST_TOML)
    try:
        if DEEP_KEY.search(text):
            raise RecursionError
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: is not valid TOML: {error}") from None
    except RecursionError:
        raise FormatError(f"{path}: is nested too deeply for a study; write it again") from None
    except ValueError as error:
        # a number of thousands of digits
        raise FormatError(f"{path}: is not valid TOML: {error}") from None


def write_tally(tally: Tally, path: Path | str) -> None:
    """Write a tally as CSV, to be shared without the pixels.

    Parameters
    ----------
    tally : Tally
        The table of counts.
    path : Path or str
        The file; one that exists is replaced.
    """
    write_text(path, tally.to_csv())


def read_tally(path: Path | str) -> Tally:
    """Read a tally that :func:`write_tally` wrote.

    Parameters
    ----------
    path : Path or str
        The file.

    Returns
    -------
    Tally
        Equal in every field to the one that was written.

    Raises
    ------
    FormatError
        If the file is not such a table.
    """
    text = read_text(path)
    try:
        return Tally.from_csv(text)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None

"""Small text files: tables of cases and raters, study files, and tallies on disk."""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..errors import FormatError, insist
from ..tallies import Tally
from .writing import write_text


def read_text(path: Path | str) -> str:
    """A text file in UTF-8."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise FormatError(f"{path}: is not text in UTF-8; save it again as UTF-8") from None
    except OSError as error:
        raise FormatError(f"{path}: cannot be opened: {error.strerror}; check the path") from None


def read_table(path: Path | str, key: str) -> dict[str, dict[str, str]]:
    """A CSV whose column ``key`` names its rows; every row once."""
    rows: dict[str, dict[str, str]] = {}
    for number, row in read_rows(path, (key,)):
        name = row.pop(key)
        if not name or name in rows:
            raise FormatError(f"{path}, line {number}: {key} {name!r} is {'there twice' if name else 'empty'}")
        rows[name] = row
    return rows


def read_rows(
    path: Path | str, required: Sequence[str], complain: Callable[[FormatError], None] = insist
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV with their lines; ``complain`` gets rows that have more or fewer cells than the header."""
    try:
        yield from _rows(path, required, complain)
    except csv.Error as error:
        raise FormatError(f"{path}: is no table of text: {error}; save it again as CSV") from None


def _rows(
    path: Path | str, required: Sequence[str], complain: Callable[[FormatError], None]
) -> Iterator[tuple[int, dict[str, str]]]:
    text = read_text(path)
    lines = csv.DictReader(text.splitlines(), delimiter=";" if ";" in text.partition("\n")[0] else ",")
    header = [name.strip() for name in lines.fieldnames or ()]
    lines.fieldnames = header
    for key in required:
        if key not in header:
            raise FormatError(f"{path}: has no column {key!r} but {', '.join(header) or 'nothing'}; add it")
    if len(set(header)) < len(header):
        raise FormatError(f"{path}: two columns have the same name among {', '.join(header)}; rename one")
    for line in lines:
        if None in line or None in line.values():
            complain(FormatError(f"{path}, line {lines.line_num}: has another number of cells than the header"))
        else:
            yield lines.line_num, {column: value.strip() for column, value in line.items()}


def read_toml(path: Path | str) -> dict[str, Any]:
    """A TOML file."""
    try:
        return tomllib.loads(read_text(path))
    except tomllib.TOMLDecodeError as error:
        raise FormatError(f"{path}: is not valid TOML: {error}") from None


def save(tally: Tally, path: Path | str) -> None:
    """Write a tally as CSV, to be shared without the pixels."""
    write_text(path, tally.to_csv())


def load(path: Path | str) -> Tally:
    """Read a tally that :func:`save` wrote; equal in every field."""
    try:
        return Tally.from_csv(read_text(path))
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None

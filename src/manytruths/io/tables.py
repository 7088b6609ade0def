"""Small text files: tables of cases and raters, study files, and tallies on disk."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..core.errors import FormatError, few, raise_error
from ..core.tally import Tally
from .plain_text import check_names, csv_lines, read_text
from .writing import write_text

LARGEST_TOML = 1 << 20
"""Bytes of a study file."""
_KEY = r"""(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')"""
DEEP_KEY = re.compile(rf"(?<![\w-]){_KEY}(?:[ \t]*+\.[ \t]*+{_KEY}){{64}}")
"""``a.b.c…``, so deep that no study has it; of thousands of parts it would take minutes to read."""
NAMES = ("case", "rater", "subject", "session", "status", "based_on", "code", "kind", "algorithm")
"""Columns whose cells are names, wherever they stand."""


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
    path: Path | str, required: Sequence[str], complain: Callable[[FormatError], None] = raise_error
) -> Iterator[tuple[int, dict[str, str]]]:
    """The rows of a CSV with their lines; ``complain`` gets rows that have more or fewer cells than the header."""
    text = read_text(path)
    lines = csv_lines(path, text, ";" if ";" in text.partition("\n")[0] else ",")
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
    """The subject of every case by a table of cases; empty where its column ``subject`` is not there, or not filled.

    Cases of which only some have a subject are refused: taken for subjects of their own they would make intervals too
    narrow.
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
        raise FormatError(f"{path}: is nested too deeply for a study; write it anew") from None
    except ValueError as error:
        # a number of thousands of digits
        raise FormatError(f"{path}: is not valid TOML: {error}") from None


def save(tally: Tally, path: Path | str) -> None:
    """Write a tally as CSV, to be shared without the pixels."""
    write_text(path, tally.to_csv())


def load(path: Path | str) -> Tally:
    """Read a tally that :func:`save` wrote; equal in every field."""
    text = read_text(path)
    try:
        return Tally.from_csv(text)
    except FormatError as error:
        raise FormatError(f"{path}: {error}") from None

"""Which formats tables for a paper have, and writing them."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...core.errors import CallError, InputError
from ...io.result_tables import DataTable
from .wide import PaperTable

FORMATS = ("xlsx", "latex", "docx", "html", "redcap")
WITHOUT_CASES = ("rank", "plan")
"""Commands that have no numbers by case, so that there are no records for REDCap."""


@dataclass(frozen=True)
class Tabled:
    """What is written of one command."""

    command: str
    about: str
    """What was analysed, in one line."""
    settings: Mapping[str, object]
    papers: Sequence[PaperTable]
    tables: Sequence[DataTable]
    subjects: Mapping[str, str] = field(default_factory=dict)
    """The subject of every case, where they are known."""


def parse_formats(tables: str | Sequence[str], out: object, command: str) -> tuple[str, ...]:
    """The formats that were asked for, checked before anything is computed."""
    names = tables.split(",") if isinstance(tables, str) else list(tables)
    formats = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    unknown = [name for name in formats if name not in FORMATS]
    if unknown:
        raise CallError(f"tables must be some of {', '.join(FORMATS)}; got {unknown[0]!r}")
    if formats and out is None:
        raise CallError("tables= writes files; say where with out=, or call write(out, tables=...) on the result")
    if "redcap" in formats and command in WITHOUT_CASES:
        raise CallError(f"tables: {command} has no numbers by case, so that there are no records for redcap")
    if "xlsx" in formats:
        try:
            importlib.import_module("openpyxl")
        except ImportError:
            raise InputError('tables: xlsx needs openpyxl; install it with pip install "manytruths[tables]"') from None
    return formats


def write_formats(formats: Sequence[str], commands: Sequence[Tabled], folder: Path, name: str) -> list[Path]:
    """Write the tables of commands in every format that is asked for; the paths. ``name``: of all of it together."""
    paths: list[Path] = []
    writers = {"xlsx": _workbook, "latex": _latex, "docx": _word, "html": _page, "redcap": _redcap}
    for wanted in formats:
        paths += writers[wanted](commands, folder, name)
    return paths


def _workbook(commands: Sequence[Tabled], folder: Path, name: str) -> list[Path]:
    from .workbook import write_workbook

    return [write_workbook(folder / "tables.xlsx", commands, name)]


def _latex(commands: Sequence[Tabled], folder: Path, name: str) -> list[Path]:
    from .latex import write_latex

    return [path for one in commands for path in write_latex(_inside(folder, commands, one), one)]


def _word(commands: Sequence[Tabled], folder: Path, name: str) -> list[Path]:
    from .word import write_word

    return [write_word(folder / "tables.docx", [table for one in commands for table in one.papers], name)]


def _page(commands: Sequence[Tabled], folder: Path, name: str) -> list[Path]:
    from .page import write_page

    return [write_page(folder / "tables.html", [table for one in commands for table in one.papers], name)]


def _redcap(commands: Sequence[Tabled], folder: Path, name: str) -> list[Path]:
    from .redcap import write_redcap

    return write_redcap(folder / "redcap", commands)


def _inside(folder: Path, commands: Sequence[Tabled], one: Tabled) -> Path:
    """A folder of its own for each command where there are several."""
    return folder / "latex" / one.command if len(commands) > 1 else folder / "latex"


def settings_text(value: Any) -> str:
    """A setting in one cell."""
    if isinstance(value, str):
        return value
    if isinstance(value, Sequence):
        return ", ".join(map(settings_text, value))
    return "" if value is None else str(value)

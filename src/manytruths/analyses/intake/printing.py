"""What is printed of an import."""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING

from ...core.errors import one_line
from ..printing import counted
from .verb import WRITTEN, Imported

if TYPE_CHECKING:
    from rich.console import Console


def print_import(found: Imported, console: Console) -> None:
    """Who read what, what to know, and how to go on."""
    lines = (*_told(found), *(f"note: {note}" for note in found.notes), *_next(found))
    for line in lines:
        console.print(one_line(line), markup=False, highlight=False, soft_wrap=True)


def _told(found: Imported) -> list[str]:
    gathered = found.gathered
    statuses = ", ".join(f"{count} {status}" for status, count in sorted(found.statuses.items()))
    return [
        f"{counted(len(gathered.cases), 'case')}, {counted(len(gathered.raters), 'rater')} "
        f"({_some(gathered.raters)}): {counted(len(found.rows), 'read')}, {statuses}",
        f"structures: {_some(gathered.structures) or 'none was marked'}",
    ]


def _some(names: tuple[str, ...], most: int = 8) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _next(found: Imported) -> list[str]:
    study = quote(str(found.folder / "study.toml"))
    there = ", ".join(name for name in WRITTEN if (found.folder / name).exists())
    return [f"written to {found.folder}: {there}", f"next: manytruths report {study}"]

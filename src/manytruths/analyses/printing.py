"""What a person reads in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..claims.sentences import number
from ..io.results import SUMMARY, listed_files

if TYPE_CHECKING:
    from rich.console import Console

    from ..claims.claim import Claims
    from ..inference.intervals import Interval
    from ..io.result_tables import Row


def with_interval(value: Row | Interval, digits: int = 3) -> str:
    """``0.44 (0.37–0.50)``; ``-0.22 (-0.23 to -0.21)``."""
    known = value.low is not None and not math.isnan(value.low)
    low, high = number(value.low, digits), number(value.high, digits)
    return number(value.value, digits) + (f" ({low}{' to ' if low.startswith('-') else '–'}{high})" if known else "")


def with_count(row: Row, subjects: int) -> str:
    """A mean with its interval and, unless it is defined for all subjects, for how many: ``0.44 (0.37–0.50), n 19``."""
    return with_interval(row) + (f", n {row.n}" if row.n != subjects else "")


def grid(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> Any:
    """A table for the terminal, its first column names and the others numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table as Grid
    from rich.text import Text

    table = Grid(box=SIMPLE_HEAD, pad_edge=False)
    for i, name in enumerate(header):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=i == 0)
    for row in rows:
        # a name such as [left] is no markup
        table.add_row(*map(Text, row))
    # a title of the table itself would wrap at the table's width
    return Group(Text(title, style="bold"), table)


def print_parts(console: Console, parts: Iterable[Any], notes: Iterable[str], claims: Claims | None = None) -> None:
    """Print tables, those that there are, claims that were made, and notes."""
    for part in parts:
        if part is not None:
            console.print(part)
    for claim in claims.made if claims else ():
        console.print(claim.text, markup=False, highlight=False)
    for note in notes:
        console.print(f"• {note}", markup=False, highlight=False)


def print_written(folder: Path, console: Console, *more: str) -> None:
    """Print where everything was written; ``more`` are files that the summary does not list."""
    _print_names(map(Path, (*listed_files(folder), SUMMARY, *more)), folder, console)


def print_files(paths: Sequence[Path], stage: Path, folder: Path, console: Console) -> None:
    """Where everything was written: what was put together in ``stage`` lies in ``folder`` now."""
    _print_names((path.relative_to(stage) for path in paths), folder, console)


def _print_names(paths: Iterable[Path], folder: Path, console: Console) -> None:
    names = ", ".join(dict.fromkeys(path.parts[0] for path in paths))
    console.print(f"\nwritten to {folder}: {names}", markup=False, highlight=False, soft_wrap=True)

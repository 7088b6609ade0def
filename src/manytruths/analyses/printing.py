"""What a person reads in the terminal."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .rows import Row

if TYPE_CHECKING:
    from rich.console import Console

    from .check import Check


def number(value: float | None, digits: int = 3) -> str:
    """A number, or a dash where it is undefined."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"


def counted(count: int, thing: str) -> str:
    """``1 case``, ``2 cases``."""
    return f"{count} {thing}{'' if count == 1 else 's'}"


def with_interval(row: Row) -> str:
    """``0.44 (0.37–0.50)``."""
    known = row.low is not None and not math.isnan(row.low)
    return f"{number(row.value)} ({number(row.low)}–{number(row.high)})" if known else number(row.value)


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


def print_check(found: Check, console: Console) -> None:
    """Coverage by rater, then every problem."""
    study = found.study
    sizes = {"×".join(map(str, c.grid.shape)) for c in found.cases.values() if c.grid}
    console.print(
        f"[bold]{counted(len(study), 'case')}, {counted(len(study.subjects), 'subject')}, "
        f"{counted(len(study.rater_names), 'rater')}[/bold]; "
        f"sizes: {', '.join(sorted(sizes)[:4])}{', …' if len(sizes) > 4 else ''}\n"
    )
    console.print(_coverage(found))
    if found.moved:
        told = ", ".join(f"{count} {how}" for how, count in found.moved.items())
        console.print(f"files on other grids: {told} (grids.csv)", markup=False, highlight=False)
    for problem in found.problems:
        style = "bold red" if problem.severity == "error" else "yellow"
        console.print(f"[{style}]{problem.severity}[/{style}] ", end="")
        console.print(problem.message, markup=False, highlight=False, soft_wrap=True)
    errors, warnings = len(found.errors), len(found.problems) - len(found.errors)
    console.print(f"\n[bold]{counted(errors, 'error')}, {counted(warnings, 'warning')}[/bold]")


def _coverage(found: Check) -> Any:
    rows = []
    for column in found.study.columns:
        here = [case for case in found.study if column in case.masks]
        empty = sum(found.cases[case.name].marked.get(str(column)) == 0 for case in here)
        gaps = [case.name for case in found.study if column not in case.masks]
        missing = ", ".join(gaps[:4]) + (", …" if len(gaps) > 4 else "")
        rows.append([str(column), f"{len(here)} of {len(found.study)}", str(empty), missing])
    return grid("Coverage", ["rater", "cases", "empty masks", "absent from"], rows)


def print_files(paths: Sequence[Path], stage: Path, folder: Path, console: Console) -> None:
    """Where everything was written: what was put together in ``stage`` lies in ``folder`` now."""
    names = ", ".join(dict.fromkeys(str(p.relative_to(stage).parts[0]) for p in paths))
    console.print(f"\nwritten to {folder}: {names}", markup=False, highlight=False, soft_wrap=True)

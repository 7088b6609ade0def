"""What a person reads in the terminal."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..claims.sentences import number
from ..io.results import SUMMARY, listed_files

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions

    from ..claims.claim import Claims
    from ..inference.intervals import Interval
    from ..io.result_tables import Row

SEPARATION = 3
"""Characters between two columns."""


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
    from rich.console import Group
    from rich.text import Text

    # a title of the table itself would wrap at the table's width
    return Group(Text(title, style="bold"), _Grid(header, rows))


@dataclass(frozen=True)
class _Grid:
    """A table of which every number is shown, however narrow the terminal: headers and names wrap first."""

    header: Sequence[str]
    rows: Sequence[Sequence[str]]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Any]:
        """The table, as wide as there is space."""
        from rich.box import SIMPLE_HEAD
        from rich.table import Table
        from rich.text import Text

        table = Table(box=SIMPLE_HEAD, pad_edge=False)
        for i, (name, width) in enumerate(zip(self.header, self.widths(options.max_width), strict=True)):
            table.add_column(name, justify="left" if i == 0 else "right", width=width, overflow="fold")
        for row in self.rows:
            # a name such as [left] is no markup
            table.add_row(*map(Text, row))
        yield table

    def widths(self, space: int) -> list[int]:
        """The width of each column: if space is short, headers are wrapped, then names, then numbers between words."""
        from rich.cells import cell_len

        cells = list(zip(*self.rows, strict=True)) if self.rows else [()] * len(self.header)
        words = [max(map(cell_len, " ".join((name, *own)).split()), default=1)
                 for name, own in zip(self.header, cells, strict=True)]  # fmt: skip
        whole = [max(map(cell_len, (*own, "")), default=0) for own in cells]
        widths = [max(cell_len(name), most, 1) for name, most in zip(self.header, whole, strict=True)]
        without_header = [max(most, word) for most, word in zip(whole, words, strict=True)]
        for floor in (without_header, [words[0], *without_header[1:]], words, [1] * len(words)):
            while sum(widths) + SEPARATION * len(widths) > space:
                above = [i for i, least in enumerate(floor) if widths[i] > least]
                if not above:
                    break
                widths[max(above, key=lambda i: widths[i])] -= 1
        return widths


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

"""What a page is made of: numbers with their address, sentences, tables, charts, texts, sections."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from ..analyses.printing import number
from ..analyses.rows import Row
from ..core.undefined import reason
from ..io.writing import csv_line


@dataclass(frozen=True, slots=True)
class Cell:
    """Words, or a number as it is shown with what the file has of it."""

    shown: str
    value: str = ""
    """As in the file: all digits. Empty where these are words."""
    low: str = ""
    high: str = ""
    at: str = ""
    """Where it stands: ``agree/agreement.csv#`` and the cells of its line before the value."""
    why: str = ""
    """Why it is undefined, or what else to say under the pointer."""
    case: str = ""
    """The case that a click opens."""
    colour: str = ""
    """Of the rater or algorithm that it names: ``#e69f00``."""
    below: str = ""
    """What it means, in small letters beneath it."""


Sentence = tuple[str | Cell, ...]
"""Words and numbers that follow each other."""


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    title: str
    help: str = ""
    """What it means, in a line."""
    number: bool = True


@dataclass(frozen=True)
class PageTable:
    """A table that can be sorted, copied and saved as CSV."""

    name: str
    """Unique on the page; that of the file it is saved as."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    filter: bool = False
    """Whether there is a box to filter lines by a word."""
    closed: bool = False
    """Whether it is shown only when asked for."""


@dataclass(frozen=True)
class Chart:
    """A drawing with what it shows in words."""

    name: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Beside:
    """Blocks next to each other where there is room."""

    blocks: tuple[Block, ...]


@dataclass(frozen=True)
class Paragraphs:
    """Sentences, one paragraph each, or as a list."""

    sentences: tuple[Sentence, ...]
    title: str = ""
    listed: bool = False
    kind: str = ""
    """``note`` is set apart."""


@dataclass(frozen=True)
class Text:
    """Something to take away: a methods paragraph, BibTeX, checksums."""

    name: str
    title: str
    text: str
    button: str = "Copy"
    file: str = ""
    """Under which name it can be saved; not at all where empty."""
    exact: bool = False
    """Whether line ends and spaces matter."""
    closed: bool = False


@dataclass(frozen=True)
class Cases:
    """Where the cases are browsed and looked at: a table whose lines open the viewer."""

    table: PageTable


Block = PageTable | Chart | Beside | Paragraphs | Text | Cases


@dataclass(frozen=True)
class Section:
    """A part of the page."""

    name: str
    title: str
    lead: tuple[Sentence, ...] = ()
    blocks: tuple[Block, ...] = field(default=())


def csv_text(value: object) -> str:
    """A cell as the CSV files have it."""
    if value is None:
        return ""
    return float.__repr__(value) if isinstance(value, float) else str(value)


def address(file: str, row: Row) -> str:
    """Where a number stands: the file and the cells of its line up to the statistic."""
    return f"{file}#{csv_line(row.cells()[: 6 + len(row.extra)])}"


def number_cell(
    file: str, row: Row, digits: int = 2, *, percent: bool = False, interval: bool = True, level: str = ""
) -> Cell:
    """A number of a table, with its interval where it has one: ``0.44 (0.37–0.50)``.

    ``level`` is said in the interval, as in ``95% interval``; ``percent`` shows a share as such.
    """
    ends = [None if end is None or math.isnan(end) else end for end in (row.low, row.high)]
    known = interval and None not in ends
    shown = _number_text(row.value, digits, percent)
    if known:
        around = "–".join(_number_text(end, digits, percent) for end in ends)
        shown += f" ({level} {around})" if level else f" ({around})"
    low, high = (csv_text(None if end is None else float(end)) if known else "" for end in ends)
    return Cell(shown, csv_text(float(row.value)), low, high, address(file, row), reason(row.value))


def _number_text(value: float | None, digits: int, percent: bool) -> str:
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}%}" if percent else number(value, digits)
    # what is rounded to nothing has no sign
    return text.replace("-", "−" if any(sign in "123456789" for sign in text) else "")


def text_cell(text: object, **more: str) -> Cell:
    """A cell without a number."""
    return Cell(str(text), **more)


def plain_text(sentence: Sequence[str | Cell]) -> str:
    """A sentence as text."""
    return "".join(part if isinstance(part, str) else part.shown for part in sentence)

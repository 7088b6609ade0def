"""The elements of a page: cells with the address of their number, sentences, tables, charts, texts, sections."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from string import Formatter
from typing import TypeVar


@dataclass(frozen=True, slots=True)
class Cell:
    """Text, or a number as shown and as in its file."""

    shown: str
    value: str = ""
    """The number as in the file, with all digits; empty for text."""
    low: str = ""
    high: str = ""
    at: str = ""
    """Where the number is: ``agree/agreement.csv#`` and the cells of its row before the value."""
    why: str = ""
    """Why the number is undefined, or another tooltip."""
    case: str = ""
    """The case that a click opens."""
    colour: str = ""
    """Colour of the rater or algorithm that the cell names: ``#e69f00``."""
    below: str = ""
    """An explanation in small type beneath the cell."""


INTERVAL = re.compile(r"(.+?) \((?:(.+) )?(\S+?)(?:–| to )(\S+)\)")
"""A number with its interval as shown: value, name, low, high."""
Sentence = tuple[str | Cell, ...]
"""Texts and numbers in sequence."""


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    title: str
    help: str = ""
    """An explanation in one line."""
    number: bool = True


def text_column(title: str, help: str = "") -> Column:
    """The head of a column of names or texts."""
    return Column(title, help, number=False)


@dataclass(frozen=True)
class PageTable:
    """A table that can be sorted, copied and saved as CSV."""

    name: str
    """Name of the table, unique on the page, and of the file that it is saved as."""
    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    filter: bool = False
    """Whether there is a box to filter rows by a word."""
    closed: bool = False
    """Whether the table is collapsed at first."""


T = TypeVar("T")
ColumnOf = tuple[Column, Callable[[T], Cell]]
"""A column, and the function that makes its cell from the item of a row."""


def make_table(
    name: str, title: str, items: Iterable[T], columns: Iterable[ColumnOf[T]], note: str = "", *,
    filter: bool = False, closed: bool = False,
) -> PageTable:  # fmt: skip
    """A table with a row for each item."""
    heads, makers = zip(*columns, strict=True)
    rows = tuple(tuple(make(item) for make in makers) for item in items)
    return PageTable(name, title, heads, rows, note, filter, closed)


def text_table(
    name: str, title: str, heads: Sequence[str], rows: Iterable[Sequence[object]], note: str = "", *,
    filter: bool = False, closed: bool = False,
) -> PageTable:  # fmt: skip
    """A table of texts."""
    columns = tuple(text_column(head) for head in heads)
    return PageTable(
        name, title, columns, tuple(tuple(Cell(str(value)) for value in row) for row in rows), note, filter, closed
    )


@dataclass(frozen=True)
class Chart:
    """A chart with its caption."""

    name: str
    svg: str
    caption: str


@dataclass(frozen=True)
class Beside:
    """Blocks side by side where there is room."""

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
    """A text to copy or save: a methods paragraph, BibTeX, checksums."""

    name: str
    title: str
    text: str
    button: str = "Copy"
    file: str = ""
    """Name of the file that it can be saved as; empty where it cannot."""
    exact: bool = False
    """Whether line breaks and spaces are kept."""
    closed: bool = False


@dataclass(frozen=True)
class Cases:
    """The table of cases, whose rows open the viewer."""

    table: PageTable


Block = PageTable | Chart | Beside | Paragraphs | Text | Cases


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str
    title: str
    lead: tuple[Sentence, ...] = ()
    blocks: tuple[Block, ...] = field(default=())


def spell_intervals(sentence: Sequence[str | Cell], interval: str) -> Sentence:
    """The sentence with its intervals as words: ``0.63 (95% CI 0.51 to 0.69)``; ``interval`` is their name."""
    return tuple(part if isinstance(part, str) else _spell_interval(part, interval) for part in sentence)


def _spell_interval(cell: Cell, interval: str) -> Cell:
    match = INTERVAL.fullmatch(cell.shown) if cell.low else None
    if match is None:
        return cell
    value, name, low, high = match.groups()
    return replace(cell, shown=f"{value} ({name or interval} {low} to {high})")


def spell_section(section: Section, interval: str) -> Section:
    """The section with the intervals of its sentences as words; tables keep theirs."""
    lead = tuple(spell_intervals(sentence, interval) for sentence in section.lead)
    return replace(section, lead=lead, blocks=_spell_blocks(section.blocks, interval))


def _spell_blocks(blocks: tuple[Block, ...], interval: str) -> tuple[Block, ...]:
    spelled: list[Block] = []
    for block in blocks:
        if isinstance(block, Beside):
            block = replace(block, blocks=_spell_blocks(block.blocks, interval))
        elif isinstance(block, Paragraphs):
            block = replace(block, sentences=tuple(spell_intervals(s, interval) for s in block.sentences))
        spelled.append(block)
    return tuple(spelled)


def compose(text: str, *parts: str | Cell | Sentence, **named: str | Cell | Sentence) -> Sentence:
    """The text with numbers, names and parts of sentences in place of its ``{}`` and ``{name}``.

    >>> plain_text(compose("kappa is {} in {case}", Cell("0.44"), case=("p1", " and ", "p2")))
    'kappa is 0.44 in p1 and p2'
    """
    sentence: list[str | Cell] = []
    unnamed = iter(parts)
    for literal, field_name, *_ in Formatter().parse(text):
        sentence += [literal] if literal else []
        if field_name is not None:
            part = named[field_name] if field_name else next(unnamed)
            sentence += part if isinstance(part, tuple) else (part,)
    return tuple(sentence)


def plain_text(sentence: Sequence[str | Cell]) -> str:
    """A sentence as text."""
    return "".join(part if isinstance(part, str) else part.shown for part in sentence)

"""The elements of a page: cells with the address of their number, sentences, tables, charts, texts, sections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ..claims.sentences import Cell, Sentence, spell_intervals


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    title: str
    help: str = ""
    """An explanation in one line."""
    number: bool = True


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


@dataclass(frozen=True)
class Chart:
    """A chart with its caption."""

    name: str
    svg: str
    caption: str
    tall: bool = False
    """Whether it may be higher than a screen, and then scrolls."""


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
class ColourKey:
    """What colours stand for, from the first to the last."""

    words: str
    colours: tuple[str, ...]
    """``#rrggbb``."""
    first: str
    last: str = ""


@dataclass(frozen=True)
class Cases:
    """The table of cases, whose rows open the viewer, and what the colours of their small pictures stand for."""

    table: PageTable
    key: ColourKey | None = None
    large: bool = False
    """Whether the pictures are large enough to tell outlines apart."""


Block = PageTable | Chart | Beside | Paragraphs | Text | Cases


@dataclass(frozen=True)
class Section:
    """A section of the page."""

    name: str
    title: str
    lead: tuple[Sentence, ...] = ()
    blocks: tuple[Block, ...] = field(default=())


def spell_section(section: Section, interval: str) -> Section:
    """The section with the intervals of its sentences as words; tables keep theirs."""
    return _change_sentences(section, lambda sentence: spell_intervals(sentence, interval))


def colour_names(section: Section, colours: Mapping[str, str]) -> Section:
    """The section with every cell that names a rater in their colour."""

    def paint(part: str | Cell) -> str | Cell:
        is_name = isinstance(part, Cell) and not part.at and not part.colour and part.shown in colours
        return replace(part, colour=colours[part.shown]) if is_name and isinstance(part, Cell) else part

    return _change_sentences(section, lambda sentence: tuple(paint(part) for part in sentence))


def _change_sentences(section: Section, change: Callable[[Sentence], Sentence]) -> Section:
    lead = tuple(change(sentence) for sentence in section.lead)
    return replace(section, lead=lead, blocks=_change_blocks(section.blocks, change))


def _change_blocks(blocks: tuple[Block, ...], change: Callable[[Sentence], Sentence]) -> tuple[Block, ...]:
    changed: list[Block] = []
    for block in blocks:
        if isinstance(block, Beside):
            block = replace(block, blocks=_change_blocks(block.blocks, change))
        elif isinstance(block, Paragraphs):
            block = replace(block, sentences=tuple(map(change, block.sentences)))
        changed.append(block)
    return tuple(changed)

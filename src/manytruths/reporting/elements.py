"""The elements of a page: cells with the address of their number, sentences, tables, charts, texts, sections."""

from __future__ import annotations

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

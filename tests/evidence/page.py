"""The page ``docs/evidence.md``: sections from tables, and a head that counts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path

from . import cabitza, gordon, lampert, measurements, textbooks, vandyke, yang, zeng
from .registry import BASES, SOURCES, Row, Table, is_number, minus

PAGE = Path(__file__).parents[2] / "docs" / "evidence.md"
HEAD = """# Evidence: published numbers, recomputed

`make evidence` writes this page: published numbers that can be recomputed from data at hand, theirs beside ours.
A number *comes out* if ours, rounded to the digits that were printed, is what was printed. There is no tolerance.
A test compares the page with a fresh run. Data sets belong to their authors and are not part of this package: the
environment variable `MANYTRUTHS_DATA` names the folder that holds them. The code of each table is in `tests/evidence/`.
"""


def all_tables() -> list[Table]:
    """Every table, in the order of the page."""
    rooms = (lampert, gordon, cabitza, yang, zeng, textbooks, measurements, vandyke)
    return [table for room in rooms for table in room.tables()]


def head(tables: Sequence[Table]) -> str:
    """What there is, and what does not come out."""
    lines = [HEAD, "| ours is computed from | numbers | come out |", "|---|---|---|"]
    for basis, words in BASES.items():
        of = [table for table in tables if table.basis == basis]
        lines.append(f"| {words} | {_count(of)} | {_count(of) - _count(of, missed=True)} |")
    lines.append(f"| **together** | **{_count(tables)}** | **{_count(tables) - _count(tables, missed=True)}** |")
    words = [name for table in tables for name, text in table.printed.items() if not is_number(text)]
    missed = [name for table in tables for name in table.tried if not is_number(table.printed[name])]
    lines.append(f"\nIn addition {len(words)} words and rankings, of which {len(words) - len(missed)} come out.")
    lines.append("\n## What does not come out\n")
    lines.append("| | what | printed | why, or what was tried |\n|---|---|---|---|")
    for table in tables:
        for reason, names in groupby(table.tried, table.tried.__getitem__):
            cells = [(name, minus(table.printed[name])) for name in names]
            what, printed = ("; ".join(texts) for texts in zip(*cells, strict=True))
            lines.append(f"| {table.source} | {what} | {printed} | {reason} |")
    return "\n".join(lines) + "\n"


def _count(tables: Iterable[Table], *, missed: bool = False) -> int:
    """Numbers, or those of them that do not come out."""
    names = [(table, name) for table in tables for name in (table.tried if missed else table.printed)]
    return sum(is_number(table.printed[name]) for table, name in names)


def section(table: Table, rows: Sequence[Row] | None = None) -> str:
    """One table, by a fresh run."""
    rows = table.rows() if rows is None else rows
    lines = [f"### {table.source}: {table.title}\n", f"`{table.line}`\n"]
    lines += [f"{table.note}\n"] if table.note else []
    lines += ["| | printed | ours | difference | comes out |", "|---|---|---|---|---|"]
    lines += [f"| {' | '.join(row.cells())} |" for row in rows]
    if table.attempts:
        lines.append("\nAlso computed:\n")
        lines += [f"- {what}: {result}" for what, result in table.attempts().items()]
    return "\n".join(lines) + "\n"


def parts() -> Iterator[str]:
    """The page by parts: the head, the sections, the references."""
    tables = all_tables()
    yield head(tables)
    yield "## Table by table\n"
    yield from map(section, tables)
    yield references()


def references() -> str:
    """Where the numbers were printed."""
    return "\n".join(["## Sources\n", *(f"- **{name}**: {text}" for name, text in SOURCES.items())]) + "\n"

"""Builders of the elements of a page: cells of numbers and texts, tables, sentences."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from string import Formatter
from typing import TypeVar

from ..analyses.printing import number
from ..analyses.tables import Row
from ..core.undefined import reason
from ..io.writing import csv_line
from .elements import Cell, Column, PageTable, Sentence


def csv_text(value: object) -> str:
    """A value as the CSV files have it."""
    if value is None:
        return ""
    return float.__repr__(value) if isinstance(value, float) else str(value)


def address(file: str, row: Row) -> str:
    """The address of a number: the file, and the cells of its row up to the statistic."""
    return f"{file}#{csv_line(row.cells()[: 6 + len(row.extra)])}"


def number_cell(
    file: str, row: Row, digits: int = 2, *, percent: bool = False, interval: bool = True, level: str = ""
) -> Cell:
    """A number of a table, with its interval where it has one: ``0.44 (0.37–0.50)``.

    ``level`` names the interval, as in ``95% CI``; ``percent`` shows a share as a percentage.
    """
    ends = [None if end is None or math.isnan(end) else end for end in (row.low, row.high)]
    known = interval and None not in ends
    shown = _number_text(row.value, digits, percent)
    if known:
        low_text, high_text = (_number_text(end, digits, percent) for end in ends)
        around = f"{low_text}{' to ' if '−' in low_text else '–'}{high_text}"
        shown += f" ({level} {around})" if level else f" ({around})"
    low, high = (csv_text(None if end is None else float(end)) if known else "" for end in ends)
    return Cell(shown, csv_text(float(row.value)), low, high, address(file, row), reason(row.value))


def _number_text(value: float | None, digits: int, percent: bool) -> str:
    if value is None or math.isnan(value):
        return "–"
    text = f"{value:.{digits}%}" if percent else number(value, digits)
    # a number that is rounded to zero has no sign
    return text.replace("-", "−" if any(sign in "123456789" for sign in text) else "")


def text_cell(text: object, **more: str) -> Cell:
    """A cell without a number."""
    return Cell(str(text), **more)


def text_column(title: str, help: str = "") -> Column:
    """The head of a column of names or texts."""
    return Column(title, help, number=False)


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
        name, title, columns, tuple(tuple(text_cell(value) for value in row) for row in rows), note, filter, closed
    )


def compose(text: str, *parts: str | Cell | Sentence, **named: str | Cell | Sentence) -> Sentence:
    """The text with numbers, names and parts of sentences in place of its ``{}`` and ``{name}``.

    >>> compose("kappa is {} in {cases}", "0.44", cases=("p1", " and ", "p2"))
    ('kappa is ', '0.44', ' in ', 'p1', ' and ', 'p2')
    """
    sentence: list[str | Cell] = []
    unnamed = iter(parts)
    for literal, field_name, *_ in Formatter().parse(text):
        sentence += [literal] if literal else []
        if field_name is not None:
            part = named[field_name] if field_name else next(unnamed)
            sentence += part if isinstance(part, tuple) else (part,)
    return tuple(sentence)

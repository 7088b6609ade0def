"""Builders of the elements of a page: cells of numbers and texts, tables, sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from ..claims.sentences import Cell, text_cell
from .elements import Column, PageTable


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

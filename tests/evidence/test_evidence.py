"""The page of evidence is what a fresh run gives, and what does not come out is explained."""

from __future__ import annotations

import pytest

from . import registry
from .page import PAGE, all_tables, head, references, section
from .registry import SOURCES, Row, Table, is_number

TABLES = all_tables()
TEXT = PAGE.read_text(encoding="utf-8")


SLOW = ("Lampert 2016", "Yang 2023")
"""Sources with images."""


@pytest.mark.parametrize(
    "table",
    [pytest.param(t, marks=pytest.mark.slow) if t.source in SLOW else t for t in TABLES],
    ids=lambda t: f"{t.source}: {t.title}",
)
def test_the_page_is_what_a_fresh_run_gives(table: Table) -> None:
    rows = table.rows()
    assert {row.name for row in rows if not row.comes_out} == set(table.tried)
    assert section(table, rows) in TEXT


def test_head_and_sources() -> None:
    assert TEXT.startswith(head(TABLES))
    assert TEXT.endswith(references())
    assert {table.source for table in TABLES} == set(SOURCES)
    assert TEXT.count("\n### ") == len(TABLES), "a section of a table that is gone"


def test_there_are_enough() -> None:
    names = [
        (table.source, table.title, name) for table in TABLES for name, text in table.printed.items() if is_number(text)
    ]
    assert len(set(names)) == len(names) >= 120


def test_what_does_not_come_out_has_a_reason() -> None:
    for table in TABLES:
        assert set(table.tried) <= set(table.printed)
        assert all(table.tried.values()), table.title


@pytest.mark.parametrize(
    ("ours", "printed", "same"),
    [
        (0.43024, "0.430", True), (0.4305, "0.430", False), (62.5, "63", True), (-0.00001, "0.0000", True),
        (-0.05827, "-0.0582", False), (0.9999, "1.00", True), (2.675, "2.68", True), ("a > b", "b > a", False),
    ],
)  # fmt: skip
def test_digits_decide(ours: float | str, printed: str, same: bool) -> None:
    assert Row("", printed, ours).comes_out == same


def test_a_row_shows_two_more_digits() -> None:
    assert Row("r", "-0.58", -0.5827).cells() == ["r", "−0.58", "−0.5827", "−0.0027", "yes"]
    assert Row("r", "0.50", 0.5127).cells()[2:] == ["0.5127", "+0.0127", "**no**"]
    assert registry.rounded(-1e-9, 2) == "0.00"

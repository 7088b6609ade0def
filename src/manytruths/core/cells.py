"""Text in cells of tables, so that a spreadsheet shows it instead of computing it."""

from __future__ import annotations

import re

_STARTS = ("=", "+", "-", "@", "\t", "\r", "'")
_FORMULA = re.compile(r"'*[=+\-@\t\r]")
_NUMBER = re.compile(r"[+-]?\d+(\.\d*)?([eE][+-]?\d+)?")
_SIGNED = re.compile(r"""[+-](?<=[,\n"][+-])(?!(?:\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf)(?:[,\n]|$))""")


def shown_cell(text: str) -> str:
    """A name such as ``=cmd`` with an apostrophe before it, which spreadsheets take for "this is text".

    Numbers stay as they are. :func:`read_cell` takes the apostrophe away again.

    >>> shown_cell("=A1"), shown_cell("-x"), shown_cell("-5"), shown_cell("anna"), shown_cell("'=A1")
    ("'=A1", "'-x", '-5', 'anna', "''=A1")
    """
    if not text.startswith(_STARTS) or not _FORMULA.match(text) or _NUMBER.fullmatch(text):
        return text
    return f"'{text}"


def may_be_computed(table: str) -> bool:
    """Whether CSV may hold a cell that :func:`shown_cell` changes; never wrong where it says no."""
    return any(sign in table for sign in "=@\t\r'") or _SIGNED.search(f"\n{table}") is not None


def read_cell(text: str) -> str:
    """The text that :func:`shown_cell` was given.

    >>> read_cell("'=A1"), read_cell("''=A1"), read_cell("'tis"), read_cell("-5")
    ('=A1', "'=A1", "'tis", '-5')
    """
    return text[1:] if text.startswith("'") and _FORMULA.match(text) else text

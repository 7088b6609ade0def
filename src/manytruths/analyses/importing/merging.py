"""Merge what an update would write with what was edited by hand: tables cell by cell, ``study.toml`` line by line."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ...core.columns import compose_name
from ...core.errors import StudyError

Cells = Mapping[str, str]
_TABLE = re.compile(r"\s*\[")
_ENTRY = re.compile(r"""\s*("(?:[^"\\]|\\.)*"|[\w-]+)\s*=""")


@dataclass(frozen=True)
class MergedTable:
    """A table with the edits of both sides.

    Attributes
    ----------
    header : tuple of str
        The columns, first those of the file that was there.
    rows : list of mapping
        The cells of every row.
    conflicts : list of (tuple, str, str, str)
        The key of a row, a column, and what stands there by hand and by the update. The former is kept.
    """

    header: tuple[str, ...]
    rows: list[dict[str, str]]
    conflicts: list[tuple[tuple[str, ...], str, str, str]]


def merge_tables(
    mine: Sequence[Cells], base: Iterable[Cells], theirs: Sequence[Cells], key: Sequence[str], added: Iterable[object]
) -> MergedTable:
    """Three-way merge of tables: ``mine`` by hand and ``theirs`` by an update, both made from ``base``.

    Rows that were removed by hand stay away, unless their key is among ``added``. Rows of ``base`` that are not among
    theirs go, unless somebody edited them.
    """
    old, new = {_key(row, key): row for row in base}, {_key(row, key): row for row in theirs}
    forced = set(added)
    header = dict.fromkeys((*(mine[0] if mine else ()), *(theirs[0] if theirs else ())))
    rows, conflicts, seen = list[dict[str, str]](), list[tuple[tuple[str, ...], str, str, str]](), set[object]()
    for row in mine:
        at = _key(row, key)
        seen.add(at)
        before, wanted = old.get(at), new.get(at)
        if wanted is None:
            if before is None or any(row.get(column, "") != cell for column, cell in before.items()):
                rows.append(dict(row))
            continue
        merged = dict(row)
        for column, cell in wanted.items():
            was = "" if before is None else before.get(column, "")
            now = row.get(column, "")
            if column in key or now == cell:
                continue
            if now == was:
                merged[column] = cell
            elif cell != was:
                conflicts.append((at, column, now, cell))
        rows.append(merged)
    more = [dict(row) for at, row in new.items() if at not in seen and (at not in old or at in forced)]
    whole = [{column: row.get(column, "") for column in header} for row in (*rows, *more)]
    return MergedTable(tuple(header), whole, conflicts)


def _key(row: Cells, key: Sequence[str]) -> tuple[str, ...]:
    return tuple(compose_name(row.get(column, "")) for column in key)


def merge_toml(mine: str, base: str, theirs: str, name: str) -> str:
    """``study.toml`` as it was edited by hand, with the lines that an update changes.

    Both generated texts have one entry a line, and one table at their end.
    """
    old, new = _entries(base), _entries(theirs)
    lines = mine.splitlines()
    for at in {**old, **new}:
        was, wanted = old.get(at), new.get(at)
        if was == wanted or (wanted is not None and wanted in lines):
            continue
        if was is not None and was not in lines:
            raise StudyError(
                f"{name}: the update needs {wanted or f'no line {was}'!r}, and somebody edited this line; write it so, "
                "and update again"
            )
        if was is None:
            assert wanted is not None
            _insert(lines, at[0], wanted)
        else:
            lines[lines.index(was) : lines.index(was) + 1] = [wanted] if wanted is not None else []
    return "\n".join(lines) + "\n"


def _entries(text: str) -> dict[tuple[str, str], str]:
    """The lines of a generated text by table and key."""
    table, entries = "", dict[tuple[str, str], str]()
    for line in text.splitlines():
        if _TABLE.match(line):
            table = line.strip()
        elif found := _ENTRY.match(line):
            entries[table, found.group(1)] = line
    return entries


def _insert(lines: list[str], table: str, line: str) -> None:
    """Add a line at the end of a table, or of the entries before all tables."""
    if table and table not in (text.strip() for text in lines):
        lines += ["", table, line]
        return
    start = 0 if not table else [text.strip() for text in lines].index(table) + 1
    end = next((i for i in range(start, len(lines)) if _TABLE.match(lines[i])), len(lines))
    while end > start and not lines[end - 1].strip():
        end -= 1
    lines.insert(end, line)

"""Whom a consensus left out."""

from __future__ import annotations

from collections.abc import Sequence

from ..core.undefined import Note
from ..io.result_tables import Row
from .claim import ClaimKind, ClaimLog
from .numbers import TableIndex
from .sentences import Cell, Sentence, compose, counted, join_parts

LEFT_OUT = ClaimKind(
    "consensus.left_out", "description",
    "A method left a rater out of the consensus in so many cases.",
    "The method may leave raters out (excl, simple), and raters are named.",
)  # fmt: skip
KINDS = (LEFT_OUT,)


def consider_left_out(log: ClaimLog, table: TableIndex, methods: Sequence[str]) -> None:
    """Say of every method that may leave raters out whom it left out, and how often, from the table ``left_out``."""
    if not table.rows:
        why = Note("none_leaves_out", "no method was asked for that leaves named raters out")
        log.consider(LEFT_OUT, (LEFT_OUT.says,), why_not=why)
    for method in methods:
        rows = [row for row in table.all("left_out", "pooled") if row["method"] == method]
        out = sorted((row for row in rows if row.value), key=lambda row: -row.value)
        if rows:
            nobody: Sentence = (f"no rater out in any of {counted(max(row.n or 0 for row in rows), 'case')}.",)
            whom = compose("out {}.", _raters(table, out)) if out else nobody
            rests = [table.quote(row, 0) for row in rows if row not in out]
            now, then = (compose("{} {} {}", method, verb, whom) for verb in ("leaves", "left"))
            log.consider(LEFT_OUT, now, about=method, result=then, rests_on=rests)


def _raters(table: TableIndex, rows: Sequence[Row]) -> Sentence:
    """``rater D in 21 of 24 cases, rater B in 2 and rater A in 1``; cases are repeated where they differ."""
    parts: list[Sentence] = []
    for i, row in enumerate(rows):
        of = f" of {counted(row.n or 0, 'case')}" if i == 0 or row.n != rows[i - 1].n else ""
        parts.append(compose("rater {} in {}{}", Cell(str(row["rater"])), table.quote(row, 0), of))
    return join_parts(parts)

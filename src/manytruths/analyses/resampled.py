"""Say what was done to masks that lay on other grids: which numbers resampling touched, and once as a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import GridError
from ..io import write_csv
from ..shape.alignment import RESAMPLED
from ..shape.grid import TOLERANCE
from ..study import Case, Study
from ..study.grids import Move, find_moves, find_target
from .printing import counted
from .rows import Row, Table

COLUMN = "resampled"
"""The last one of tables that have no region, where anything was resampled."""
_NAMED = 5
_EXACTLY = {
    "reoriented": "reoriented",
    "padded": "padded with 0",
    "cropped": "cropped of empty margins",
    "jitter": f"less than {TOLERANCE:.1%} of a voxel off and taken as they are",
}


@dataclass(frozen=True)
class Moved:
    """What was done to the files of a study."""

    cases: frozenset[str] = frozenset()
    """Those with a resampled mask."""
    notes: tuple[str, ...] = ()


NOTHING_MOVED = Moved()


def mark_resampled(study: Study, tables: Iterable[Table], *, judged: bool = False) -> Moved:
    """Mark the rows that depend on a case with a resampled mask; what was moved, and the notes that say so.

    ``judged``: predictions and given truths count, too. Nothing but headers is read for it.
    """
    done = {case.name: _moves(case, judged) for case in study}
    cases = [name for name, own in done.items() if any(move.done.how == "resampled" for move in own)]
    if cases:
        touched = _Touched(study, frozenset(cases))
        for table in tables:
            for row in table.rows:
                row.mark = RESAMPLED if touched.by(row) else ""
    notes = [_resampled(cases, len(study), judged)] if cases else []
    return Moved(frozenset(cases), (*notes, *_exact([move for own in done.values() for move in own])))


def mark_all(tables: Iterable[Table]) -> None:
    """Mark every row of tables that depend on all cases together."""
    for table in tables:
        for row in table.rows:
            row.mark = RESAMPLED


def write_marked(
    path: Path, rows: Iterable[Sequence[object]], header: Sequence[str], touched: Iterable[bool]
) -> None:  # fmt: skip
    """A table without regions; where resampling touched a row, a last column says so of each."""
    header, rows = marked_rows(rows, header, touched)
    write_csv(path, rows, header)


def marked_rows(
    rows: Iterable[Sequence[object]], header: Sequence[str], touched: Iterable[bool]
) -> tuple[Sequence[str], Iterable[Sequence[object]]]:
    """Header and rows; where resampling touched a row, with a last column that says so of each."""
    marks = list(touched)
    if not any(marks):
        return header, rows
    return (*header, COLUMN), [(*row, "yes" if mark else "") for row, mark in zip(rows, marks, strict=True)]


def _moves(case: Case, judged: bool) -> tuple[Move, ...]:
    try:
        return tuple(find_moves(case, find_target(case), judged=judged))
    except GridError:
        return ()  # refused where it is read


def _resampled(cases: list[str], of: int, judged: bool) -> str:
    named = ", ".join(cases[:_NAMED]) + (f" and {len(cases) - _NAMED} more" if len(cases) > _NAMED else "")
    return (
        f"masks{' or predictions' if judged else ''} of {len(cases)} of {counted(of, 'case')} ({named}) lay on another "
        "lattice and were resampled by nearest neighbour: their edges are off by up to half a voxel, and numbers that "
        "depend on them are marked as resampled in every table"
    )


def _exact(done: Sequence[Move]) -> list[str]:
    """What was moved without changing a value; nothing where nothing was."""
    exact = [move for move in done if move.done.how in _EXACTLY]
    if not exact:
        return []
    counts = Counter(move.done.how for move in exact)
    told = ", ".join(f"{counts[how]} {words}" for how, words in _EXACTLY.items() if counts[how])
    what = "masks" if all(move.what == "mask" for move in exact) else "files"
    return [f"{what} on other grids: {told}; every value is as it was (check lists them in grids.csv)"]


class _Touched:
    """Which rows depend on one of some cases."""

    def __init__(self, study: Study, cases: frozenset[str]) -> None:
        self.cases = cases
        self.names = {case.name for case in study}
        self.subjects = {case.subject for case in study if case.name in cases}
        self.groups = {group for case in study for group in case.groups}
        self.touched = {group for case in study if case.name in cases for group in case.groups}

    def by(self, row: Row) -> bool:
        """A row of a case or subject by that; of a group by its cases; any other by all of them."""
        if row.scope == "subject":
            return row.case in self.subjects
        if row.case in self.names:
            return row.case in self.cases
        return row.group in self.touched if row.group in self.groups else True

"""Say of every number whether masks were resampled for it: behind the region, and once as a note."""

from __future__ import annotations

from collections.abc import Iterable

from ..formats.aligning import MARK
from ..study import Study
from ..study.placing import resampled
from .printing import counted
from .rows import Row, Table

_NAMED = 5


def mark_resampled(study: Study, tables: Iterable[Table], *, judged: bool = False) -> tuple[str, ...]:
    """Mark the rows that depend on a case with a resampled mask; the note that says so, where there is any.

    ``judged``: predictions and given truths count, too. Headers are read for it, and only where resampling is allowed.
    """
    if study.options.resample is None:
        return ()
    cases = [case.name for case in study if resampled(case, judged=judged)]
    if not cases:
        return ()
    touched = _Touched(study, frozenset(cases))
    for table in tables:
        for row in table.rows:
            row.mark = MARK if touched.by(row) else ""
    return (_note(cases, len(study), judged),)


def _note(cases: list[str], of: int, judged: bool) -> str:
    named = ", ".join(cases[:_NAMED]) + (f" and {len(cases) - _NAMED} more" if len(cases) > _NAMED else "")
    return (
        f"masks{' or predictions' if judged else ''} of {len(cases)} of {counted(of, 'case')} ({named}) lay on another "
        "lattice and were resampled by nearest neighbour: their edges are off by up to half a voxel, and numbers that "
        f"depend on them are marked {MARK} behind the region"
    )


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

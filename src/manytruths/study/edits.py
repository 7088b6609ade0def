"""Reads that started from another: pre-labelled by a model, corrected by one rater and then by the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ..core.columns import Column
from ..core.errors import ManytruthsError
from ..core.tally import Tally
from .case import Case, Source
from .options import merged
from .other_values import refuse_two_values
from .refusals import about


@dataclass(frozen=True)
class Edit:
    """A read that started from another's mask of the same case."""

    source: Mapping[str, Source]
    parent: Column
    origin: Mapping[str, Source] | None
    """The parent's mask, wherever else it is left out; None where there is no file of it."""
    step: int
    """1 where the parent started from nothing, 2 where the parent is an edit of such a read, …"""


def edit_tally(case: Case, column: Column, region: str | None = None) -> Tally | None:
    """The table of an edit and what it started from; None where that was not kept."""
    edit = case.edits[column]
    if edit.origin is None:
        return None
    with about(f"edit of {edit.parent} by {column}"):
        table = _alone(case, column, edit.origin).read().tally(region, judged=False)
        if case.options.labels is None:
            refuse_two_values(table, f"case {case.name}: ")
    return table.pair(edit.parent, column)


def _alone(case: Case, column: Column, origin: Mapping[str, Source]) -> Case:
    """The case as if nobody but these two had seen it."""
    edit = case.edits[column]
    masks = {edit.parent: origin, column: edit.source}
    named = merged(case.options, exchangeable=False)
    return replace(case, masks=masks, absent=(), options=named, ranks={}, predictions={}, references={}, edits={})


def unreadable_edits(case: Case) -> Iterator[tuple[Column, ManytruthsError]]:
    """Edits that cannot be compared with what they started from, and why."""
    for column in case.edits:
        try:
            edit_tally(case, column)
        except ManytruthsError as error:
            yield column, error

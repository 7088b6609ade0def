"""What was changed where a read started from another: ``edits.csv``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...agreement import contingency, dice
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Note, Undefined, ratio
from ...study import Case, Study
from ...study.reading_log import edit_tally
from ..printing import counted
from ..rows import Row, Table
from ..summaries import Series, Settings, region_of, summarise

COUNTS = ("added", "removed", "changed")
"""Items marked by the edit alone, by what it started from alone, and by both with other labels."""
NOT_KEPT = "basis_not_kept"
MIXED = "mixed_units"

Extra = tuple[str, str, int]
"""Rater, based_on, step."""


@dataclass(frozen=True)
class Edit:
    """A read beside what it started from."""

    rater: str
    based_on: str
    step: int
    tally: Tally | None
    """None where the mask that it started from was not kept."""

    @property
    def extra(self) -> Extra:
        """The columns of the file that say which edit it is."""
        return self.rater, self.based_on, self.step


def edits_of(case: Case, region: str | None = None) -> Iterator[Edit]:
    """Every edit of a case."""
    for column, edit in sorted(case.edits.items(), key=lambda item: (item[1].step, item[0].order)):
        yield Edit(str(column), str(edit.parent), edit.step, edit_tally(case, column, region))


def edits_table(study: Study, seen: Mapping[str, Sequence[Edit]], settings: Settings) -> Table:
    """By case, subject and group, mean and deviation over subjects; sums (of shares and Dice, the whole) as pooled."""
    table = Table("edits", ("rater", "based_on", "step"))
    tables = [one.tally for edits in seen.values() for one in edits if one.tally is not None]
    statistics = tuple(name for name in COUNTS if name != "changed" or any(len(t.labels.marks) > 1 for t in tables))
    statistics += ("edited_volume", "edited_share", "dice")
    for extra in sorted({one.extra for edits in seen.values() for one in edits}, key=lambda e: (e[2], e[1], e[0])):
        own = {case: one.tally for case, edits in seen.items() for one in edits if one.extra == extra}
        table.add(_rows(study, own, extra, statistics, settings))
    return table


def _rows(
    study: Study, own: Mapping[str, Tally | None], extra: Extra, statistics: Sequence[str], settings: Settings
) -> Iterator[Row]:
    found = study.labelled({case: table for case, table in own.items() if table is not None})
    if found:
        numbers = [_numbers(table) for table in found.values()]
        series = [Series(name, [one[name] for one in numbers], extra=extra) for name in statistics]
        yield from summarise(series, found, replace(settings, without=()))
        whole, region = _whole(found), region_of(found)
        yield from (Row("pooled", name, whole[name], region=region, extra=extra, n=len(found)) for name in statistics)
    for case in (case for case, table in own.items() if table is None):
        group = "; ".join(study[case].groups)
        yield from (Row("case", name, Undefined(NOT_KEPT), case, group, extra=extra) for name in statistics)


def _numbers(table: Tally) -> dict[str, float]:
    """Of one edit; the first column is what it started from."""
    pairs, marks, background = contingency(table)[0, 1], list(table.labels.marks), table.labels.background
    both = pairs[np.ix_(marks, marks)]
    none = background is None
    added, removed = (
        (0.0, 0.0) if none else (float(line.sum()) for line in (pairs[background, marks], pairs[marks, background]))
    )
    changed = float(both.sum() - np.trace(both))
    edited = added + removed + changed
    return {
        "added": added,
        "removed": removed,
        "changed": changed,
        "edited_volume": edited * (table.unit.size if table.unit else 1),
        "edited_share": ratio(edited, float(pairs[marks].sum()), "basis_empty"),
        "dice": Undefined("no_background") if none else dice.value(pairs, table.labels),
    }


def _whole(found: Tallies) -> dict[str, float]:
    """Of all cases together; volumes are summed, as items may differ in size."""
    together = _numbers(pool(found, mixed=True))
    units = {table.unit and table.unit.name for table in found.values()}
    volume = sum(_numbers(table)["edited_volume"] for table in found.values())
    return together | {"edited_volume": Undefined(MIXED) if len(units) > 1 else volume}


def edit_notes(study: Study) -> Iterator[str]:
    """How many reads are edits, and what is left out for it."""
    count = sum(len(case.edits) for case in study)
    if count:
        what = "1 read is an edit of another" if count == 1 else f"{count} reads are edits of another"
        if study.options.edited == "keep":
            told = "counted all the same (--edited keep): agreement looks better than it is; edits.csv"
        else:
            told = "left out of agreement: edits.csv"
        yield Note("edits", f"{what} and {told}")
    for case, why in list(study.left_out.items())[:3]:
        yield f"case {case} is left out: {why}"
    if len(study.left_out) > 3:
        yield f"and so {counted(len(study.left_out) - 3, 'more case')} are left out"


def declared(study: Study) -> set[frozenset[str]]:
    """Pairs of raters of whom one is known to have edited the other's masks."""
    return {frozenset((child.name, edit.parent.name)) for case in study for child, edit in case.edits.items()}

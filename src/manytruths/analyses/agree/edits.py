"""What was changed where a read started from another: ``edits.csv``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ...agreement import contingency, dice
from ...claims.sentences import counted
from ...core.tally import Tallies, Tally, pool
from ...core.undefined import Note, Undefined, ratio
from ...io.result_tables import Row, Table
from ...study import Case, Study
from ...study.reading_log import edit_tally
from ..tables import Series, Settings, region_of, summarise

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


def edits_of(case: Case) -> Iterator[Edit]:
    """Every edit of a case."""
    for column, edit in sorted(case.edits.items(), key=lambda item: (item[1].step, item[0].order)):
        yield Edit(str(column), str(edit.parent), edit.step, edit_tally(case, column))


def edits_table(study: Study, by_case: Mapping[str, Sequence[Edit]], settings: Settings) -> Table:
    """By case, subject and group, mean and deviation over subjects; sums (of shares and Dice, the whole) as pooled."""
    table = Table("edits", ("rater", "based_on", "step"))
    edits = [edit for case_edits in by_case.values() for edit in case_edits]
    several = any(len(edit.tally.labels.marks) > 1 for edit in edits if edit.tally is not None)
    statistics = ("added", "removed", *(["changed"] if several else []), "edited_volume", "edited_share", "dice")
    for extra in sorted({edit.extra for edit in edits}, key=lambda e: (e[2], e[1], e[0])):
        tallies = {case: edit.tally for case, edits in by_case.items() for edit in edits if edit.extra == extra}
        table.add(_rows(study, tallies, extra, statistics, settings))
    return table


def _rows(
    study: Study, by_case: Mapping[str, Tally | None], extra: Extra, statistics: Sequence[str], settings: Settings
) -> Iterator[Row]:
    tallies = study.labelled({case: table for case, table in by_case.items() if table is not None})
    if tallies:
        numbers = [_numbers(table) for table in tallies.values()]
        series = [Series(name, [values[name] for values in numbers], extra=extra) for name in statistics]
        yield from summarise(series, tallies, replace(settings, exclude_group=()))
        whole, region = _whole(tallies), region_of(tallies)
        yield from (Row("pooled", name, whole[name], region=region, extra=extra, n=len(tallies)) for name in statistics)
    for case in (case for case, table in by_case.items() if table is None):
        group = "; ".join(study[case].groups)
        yield from (Row("case", name, Undefined("basis_not_kept"), case, group, extra=extra) for name in statistics)


def _numbers(table: Tally) -> dict[str, float]:
    """Of one edit, whose first column is what it started from.

    Items marked by the edit alone, by what it started from alone, and by both with other labels; and sums of these.
    """
    pairs, marks, background = contingency(table)[0, 1], list(table.labels.marks), table.labels.background
    both = pairs[np.ix_(marks, marks)]
    added = removed = 0.0
    if background is not None:
        added, removed = float(pairs[background, marks].sum()), float(pairs[marks, background].sum())
    changed = float(both.sum() - np.trace(both))
    edited = added + removed + changed
    return {
        "added": added,
        "removed": removed,
        "changed": changed,
        "edited_volume": edited * (table.unit.size if table.unit else 1),
        "edited_share": ratio(edited, float(pairs[marks].sum()), "basis_empty"),
        "dice": Undefined("no_background") if background is None else dice.value(pairs, table.labels),
    }


def _whole(tallies: Tallies) -> dict[str, float]:
    """Of all cases together; volumes are summed, as items may differ in size."""
    units = {table.unit and table.unit.name for table in tallies.values()}
    volume = sum(_numbers(table)["edited_volume"] for table in tallies.values())
    volume = Undefined("mixed_units") if len(units) > 1 else volume
    return _numbers(pool(tallies, mixed=True)) | {"edited_volume": volume}


def edit_notes(study: Study) -> Iterator[str]:
    """How many reads are edits, and what is left out for it."""
    count = sum(len(case.edits) for case in study)
    if count:
        what = "1 read is an edit of another" if count == 1 else f"{count} reads are edits of another"
        if study.options.edited == "keep":
            how = "counted all the same (--edited keep): agreement looks better than it is; edits.csv"
        else:
            how = "left out of agreement: edits.csv"
        yield Note("edits", f"{what} and {how}")
    for case, why in list(study.left_out.items())[:3]:
        yield f"case {case} is left out: {why}"
    if len(study.left_out) > 3:
        yield f"and so {counted(len(study.left_out) - 3, 'more case')} are left out"


def edited_pairs(study: Study) -> set[frozenset[str]]:
    """Pairs of raters of whom one is known to have edited the other's masks."""
    return {frozenset((child.name, edit.parent.name)) for case in study for child, edit in case.edits.items()}

"""Where a study has many raters or many cases: what tables leave out, so that files stay small and can be read.

Two hundred raters have 19,900 pairs, which fill hundreds of megabytes with a row for each statistic, case and scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..claims.sentences import counted
from ..core.errors import few
from ..core.undefined import Note, code
from ..io.result_tables import Row
from ..study import Study
from .agree.flow import name_gaps

MOST_PAIRS = 1000
"""Of raters, up to which every pair has all of its rows: those of 45 raters."""
SHOWN_PAIRS = 50
"""Of more pairs, so many have all of their rows: the most different ones."""
MOST_PAIR_CASES = 20_000
"""Pairs times cases up to which pairs have rows of single cases."""
MOST_ROWS = 10_000
"""Of a table, up to which ``summary.json`` repeats all of them."""


ABSENT = ("absent", "rater_absent", "one_absent", "not_read", "no_item_rated_by_both")
"""Codes of numbers that are undefined because a rater did not read the case."""


def without_absent(rows: Iterable[Row], raters: int) -> Iterator[Row]:
    """The rows; of many raters without those of cases that the rater did not read."""
    if not many_raters(raters):
        return iter(rows)
    return (row for row in rows if row.scope not in ("case", "subject") or code(row.value) not in ABSENT)


def pair_count(raters: int) -> int:
    """The number of pairs of so many raters."""
    return raters * (raters - 1) // 2


def many_raters(raters: int) -> bool:
    """Whether so many raters have more pairs than tables hold in full."""
    return pair_count(raters) > MOST_PAIRS


def absence_notes(study: Study) -> Iterator[Note]:
    """Raters without a mask of some cases, of many raters how many; nothing of exchangeable ones, who are nobody."""
    if study.options.exchangeable:
        return
    whose = {case.name: {column.name for column in case.masks} for case in study}
    gaps = {name: [case for case, names in whose.items() if name not in names] for name in study.rater_names}
    absent, of = {name: cases for name, cases in gaps.items() if cases}, counted(len(study), "case")
    if absent and many_raters(len(gaps)):
        counts = sorted(map(len, absent.values()))
        text = f"{len(absent)} of {len(gaps)} raters have no mask of some cases: {counts[0]} to {counts[-1]} of {of}"
        yield Note("absent_rater", text)
        return
    for name, cases in absent.items():
        which = few(name_gaps(study, name, cases, "{}: not evaluable"), 3)
        yield Note("absent_rater", f"rater {name} has no mask of {len(cases)} of {of} ({which})")


def missing_references(study: Study) -> dict[str, list[str]]:
    """The cases that lack a given reference standard which others have."""
    missing: dict[str, list[str]] = {}
    for case in study:
        for column in case.missing_references:
            missing.setdefault(column.name, []).append(case.name)
    return missing


def reference_notes(study: Study) -> Iterator[str]:
    """Given reference standards of some cases only."""
    of = counted(len(study), "case")
    for name, cases in missing_references(study).items():
        which = f"{len(cases)} of {of} ({few(cases, 3)})"
        yield f"there is no reference of {name} in {which}: it counts in the others alone"

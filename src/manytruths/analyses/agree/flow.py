"""How many readings there should be, and what became of them: ``flow.csv``, for the flow diagram of STARD.

Bossuyt PM, et al. STARD 2015: an updated list of essential items for reporting diagnostic accuracy studies.
BMJ 2015;351:h5527. doi:10.1136/bmj.h5527
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

import numpy as np

from ...claims.sentences import counted
from ...core.columns import Column, natural_key
from ...core.tally import Tallies
from ...core.undefined import Note
from ...io.result_tables import Row, Table
from ...study import Study

Reading = tuple[str, Column]
"""The case, and rater and session."""

UNUSED = {
    "not_evaluable": "not_evaluable", "unread": "unread", "unfinished": "unfinished", "edit": "edits",
    "excluded": "excluded_masks", "rater_excluded": "excluded_raters", "other_session": "other_sessions",
}  # fmt: skip
"""Why readings do not count, and the statistic that counts them."""


def flow_table(study: Study, tallies: Tallies) -> Table:
    """Cases and readings in total and by rater; expected readings are those with a mask, those that are not and why.

    Of cases that the reading log knows, it says which readings were expected; of others, one of each rater.
    """
    table = Table("flow", ("rater", "session", "why"))
    used = [(case.name, column) for case in study for column in case.masks]
    empty, missing = _empty(tallies), list(_missing(study))
    table.add(_cases(study))
    table.add(_readings(study, used, empty, missing, None))
    if not study.options.exchangeable:
        columns = {column for _, column in (*used, *missing)} | {reading.column for reading in study.unused}
        for column in sorted(columns, key=lambda c: (natural_key(c.name), natural_key(c.session))):
            table.add(_readings(study, used, empty, missing, column))
    return table


def _cases(study: Study) -> Iterator[Row]:
    others = {reading.case for reading in study.unused} - {case.name for case in study}
    numbers = {"subjects": len(study.subjects), "cases": len(study) + len(others), "cases_analysed": len(study)}
    numbers["cases_left_out"] = len(others)
    for statistic, number in numbers.items():
        yield Row("pooled", statistic, float(number), extra=("", "", ""))


def _readings(
    study: Study, used: Iterable[Reading], empty: set[Reading], missing: Iterable[Reading], only: Column | None
) -> Iterator[Row]:
    masks = [reading for reading in used if only in (None, reading[1])]
    gaps = sum(only in (None, column) for _, column in missing)
    unused = [reading for reading in study.unused if only in (None, reading.column)]
    expected = len(masks) + gaps + len(unused)
    why = Counter(reading.why for reading in unused)
    numbers = {"readings_expected": expected, "masks": len(masks), "empty_masks": sum(m in empty for m in masks)}
    numbers |= {statistic: why[kind] for kind, statistic in UNUSED.items()}
    if not study.options.exchangeable:
        numbers["missing"] = gaps
    name, session = (only.name, only.session) if only else ("", "")
    for statistic, number in numbers.items():
        yield Row("pooled", statistic, float(number), extra=(name, session, ""), n=expected)
        if statistic == "not_evaluable":
            reasons = Counter(reading.reason for reading in unused if reading.why == "not_evaluable" and reading.reason)
            for reason, count in sorted(reasons.items()):
                yield Row("pooled", statistic, float(count), extra=(name, session, reason), n=expected)


def _empty(tallies: Tallies) -> set[Reading]:
    """Masks without a mark in what counts."""
    found: set[Reading] = set()
    for case, table in tallies.items():
        rows = table.patterns[table.counts > 0]
        marked = np.asarray(np.isin(rows, table.labels.marks).any(axis=0))
        found |= {(case, column) for column, any_mark in zip(table.columns, marked, strict=True) if not any_mark}
    return found


def _missing(study: Study) -> Iterator[Reading]:
    """Readings of raters who have none of a case, in any session, that the reading log does not know either."""
    first = {name: next(c for c in study.columns if c.name == name) for name in study.rater_names}
    known = {(reading.case, reading.column.name) for reading in study.unused}
    for case in study:
        if case.statuses or study.options.exchangeable:
            continue
        here = {column.name for column in case.masks}
        yield from ((case.name, c) for name, c in first.items() if name not in here and (case.name, name) not in known)


def not_evaluable_cases(study: Study) -> dict[str, tuple[str, ...]]:
    """The cases that raters found not evaluable, by rater, where no session of theirs is there instead."""
    found: dict[str, tuple[str, ...]] = {}
    there = {(case.name, column.name) for case in study for column in case.masks}
    for reading in study.unused:
        name = reading.column.name
        if reading.why == "not_evaluable" and (reading.case, name) not in there:
            found[name] = tuple(dict.fromkeys((*found.get(name, ()), reading.case)))
    return found


def name_gaps(study: Study, rater: str, cases: Iterable[str], shown: str = "{} (not evaluable)") -> list[str]:
    """Cases of which a rater has no mask that counts, by name; it is said which were not evaluable to the rater."""
    seen = not_evaluable_cases(study).get(rater, ())
    return [shown.format(case) if case in seen else case for case in cases]


def flow_notes(study: Study) -> Iterator[Note]:
    """How many readings are not evaluable."""
    count = sum(reading.why == "not_evaluable" for reading in study.unused)
    if count:
        are, they = ("is", "it is") if count == 1 else ("are", "they are")
        text = f"{counted(count, 'reading')} {are} not evaluable: {they} counted in flow.csv, and in no other number"
        yield Note("not_evaluable", text)

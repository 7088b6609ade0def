"""When readings began and how long they took, where the reading log tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from ..core.columns import compose_name
from ..io.tables import read_rows
from .reading_dates import parse_started
from .study import Study

Place = tuple[str, str, str]
"""Case, rater and session, in one spelling."""


@dataclass(frozen=True)
class ReadTime:
    """What the reading log tells of the time of a reading.

    Attributes
    ----------
    line : int
        Its line in the reading log.
    status : str
        Its status, as written.
    started : datetime or None
        When it began, in UTC and without a time zone; None where that is not known.
    text : str
        The same as written.
    seconds : float or None
        How long it took.
    """

    line: int
    status: str
    started: datetime | None
    text: str
    seconds: float | None


def read_day(text: str) -> date | None:
    """The day of a date; None where it is none.

    >>> read_day("2026-03-02T10:15:00+01:00"), read_day("2/3/2026")
    (datetime.date(2026, 3, 2), None)
    """
    found = parse_started(text)
    return None if found is None else found.date()


def read_times(study: Study) -> Mapping[Place, ReadTime]:
    """What the reading log tells, by case, rater and session as :func:`name_place` gives them; empty without a log."""
    if not study.options.reads or study.coded or study.tallied is not None:
        return {}
    names = _case_names(study)
    times: dict[Place, ReadTime] = {}
    for line, row in read_rows(study.options.reads, ("case", "rater")):
        seconds, text = row.get("seconds", ""), row.get("started", "")
        place = name_place(names.get(compose_name(row["case"]), row["case"]), row["rater"], row.get("session", ""))
        started = parse_started(text)
        when = None if started is None else started.replace(tzinfo=None)
        times[place] = ReadTime(line, row.get("status", ""), when, text, float(seconds) if seconds else None)
    return times


def name_place(case: str, rater: str, session: str) -> Place:
    """A reading in one spelling."""
    return compose_name(case), compose_name(rater), compose_name(session)


def _case_names(study: Study) -> dict[str, str]:
    """The study's name of every case that the log may name without its subject."""
    known = {case.name for case in study} | {one.case for one in study.unused}
    short = Counter(compose_name(name.rpartition("/")[2]) for name in known)
    names = {compose_name(name.rpartition("/")[2]): name for name in known}
    return {name: full for name, full in names.items() if short[name] == 1} | {compose_name(n): n for n in known}

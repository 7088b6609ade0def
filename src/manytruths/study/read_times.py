"""When readings began and how long they took, where the reading log tells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from ..core.columns import compose_name
from ..io.tables import read_rows
from .study import Study

Place = tuple[str, str, str]
"""Case, rater and session, in one spelling."""
WRITTEN = ("%Y/%m/%d %H:%M:%S", "%Y/%m/%d %H:%M", "%Y/%m/%d", "%d.%m.%Y %H:%M:%S", "%d.%m.%Y %H:%M", "%d.%m.%Y")
"""How tools and people write dates besides ISO 8601; not 1/2/2026, which is two days."""


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
        When it began, in universal time where the log has a time zone; None where that is not known.
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


def parse_time(text: str) -> datetime | None:
    """A date with or without a time; None where it is none.

    >>> parse_time("2026-03-02T10:15:00+01:00"), parse_time("2.3.2026"), parse_time("3/2/2026")
    (datetime.datetime(2026, 3, 2, 9, 15), datetime.datetime(2026, 3, 2, 0, 0), None)
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        for pattern in WRITTEN:
            try:
                return datetime.strptime(text, pattern)
            except ValueError:
                continue
        return None
    try:
        return found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
    except OverflowError:  # the year 1 in a time zone to the east
        return None


def read_times(study: Study) -> Mapping[Place, ReadTime]:
    """What the reading log tells, by case, rater and session as :func:`name_place` gives them; empty without a log."""
    if not study.options.reads or study.coded or study.tallied is not None:
        return {}
    names = _case_names(study)
    times: dict[Place, ReadTime] = {}
    for line, row in read_rows(study.options.reads, ("case", "rater")):
        seconds, text = row.get("seconds", ""), row.get("started", "")
        place = name_place(names.get(compose_name(row["case"]), row["case"]), row["rater"], row.get("session", ""))
        started = parse_time(text) if text else None
        times[place] = ReadTime(line, row.get("status", ""), started, text, float(seconds) if seconds else None)
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

"""When readings were made: by the dates of the reading log or, without them, by the updates of an imported study."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Literal

from ...claims.sentences import counted
from ...core.columns import Column
from ...core.errors import CallError
from ...io.tables import read_rows
from ...study import Study
from ...study.read_times import Place, ReadTime, name_place, read_day
from ...study.reading_dates import AHEAD, find_doubtful_dates
from ..importing.layout import UPDATES

Key = tuple[str, Column]
"""Case, and rater with session."""
TAKEN = ("added", "replaced", "restored")
"""Changes of an update by which a reading is that of the update."""


@dataclass(frozen=True)
class Calendar:
    """When the readings of a study were made.

    Attributes
    ----------
    source : {"started", "updates", ""}
        What the times are: dates of the reading log, numbers of updates, or nothing.
    times : mapping
        By case and column: days since the first reading, or the number of the update (0 for the first import).
    periods : mapping
        By case and column: the number of the period, from 0 on.
    names : tuple of str
        Of the periods: ``2026-01-05 to 2026-01-11``, ``update 3``.
    over : int
        The last period that is over; −1 where there is none.
    dates : mapping
        By case and column: when the reading began, where that is known.
    seconds : mapping
        By case and column: how long it took.
    first : date or None
        Of the first reading.
    today : date
        The day that lateness is counted from.
    length : int
        Days of a period.
    notes : tuple of str
        What is odd about the dates.
    """

    source: Literal["started", "updates", ""]
    times: Mapping[Key, float]
    periods: Mapping[Key, int]
    names: tuple[str, ...]
    over: int
    dates: Mapping[Key, datetime]
    seconds: Mapping[Key, float]
    first: date | None
    today: date
    length: int
    notes: tuple[str, ...] = field(default=())

    def period_name(self, period: int) -> str:
        """Of one period."""
        return self.names[period] if 0 <= period < len(self.names) else ""

    def period_end(self, period: int) -> str:
        """Its last day, or its name."""
        return self.period_name(period).rpartition(" to ")[2]

    def describe(self, key: Key) -> str:
        """When a reading was made: its date, or its update; empty where that is not known."""
        if self.source == "started" and key in self.times:
            return self.dates[key].date().isoformat()
        return self.period_name(self.periods[key]) if key in self.periods else ""


def parse_today(today: str | date | None) -> date:
    """The day that is given, or today."""
    if today is None:
        return datetime.now(UTC).date()
    if isinstance(today, date):
        return today.date() if isinstance(today, datetime) else today
    found = read_day(today)
    if found is None:
        raise CallError(f"--today is a date such as 2026-03-31; got {today!r}")
    return found


def make_calendar(
    study: Study, made: Mapping[Key, bool], log: Mapping[Place, ReadTime], today: date, length: int
) -> Calendar:
    """The times of the readings that were made; ``made`` has them with whether they count."""
    rows = {key: log.get(_place(key)) for key in made}
    seconds = {key: row.seconds for key, row in rows.items() if row is not None and row.seconds}
    dated = {key: row.started for key, row in rows.items() if row is not None and row.started is not None}
    end = datetime.combine(today, time.max)
    dates = {key: when for key, when in dated.items() if when <= end + AHEAD}
    texts = ((key[0], str(key[1]), row.text) for key, row in rows.items() if row is not None)
    notes = [f"{line}; not used until then" for line in find_doubtful_dates(texts, end.replace(tzinfo=UTC))]
    counted_dates = [key for key, counts in made.items() if counts and key in dates]
    if 2 * len(counted_dates) >= max(1, sum(made.values())):
        return _by_dates(dates, seconds, made, today, length, notes)
    updates = _read_updates(study, made)
    if updates:
        if not dated:
            notes.append("the reading log has no dates: order and periods are those of the updates (updates.csv)")
        else:
            notes.append(
                f"{counted(len(counted_dates), 'reading')} of {sum(made.values())} have a date, fewer than half: order "
                "and periods are those of the updates (updates.csv)"
            )
        return _by_updates(study, updates, dates, seconds, made, today, length, notes)
    if made:
        why = "neither dates of readings (started in reads.csv) nor updates (updates.csv)"
        notes.append(f"there are {why}: nothing is said about time, drift, or when something began")
    return Calendar("", {}, {}, (), -1, dates, seconds, None, today, length, tuple(notes))


def _place(key: Key) -> Place:
    return name_place(key[0], key[1].name, key[1].session)


def _by_dates(
    dates: Mapping[Key, datetime],
    seconds: Mapping[Key, float],
    made: Mapping[Key, bool],
    today: date,
    length: int,
    notes: list[str],
) -> Calendar:
    counts = {key: when for key, when in dates.items() if made[key]}
    begin = min(counts.values())
    first = begin.date()
    midnight = datetime(first.year, first.month, first.day)
    times = {key: (when - midnight).total_seconds() / 86_400 for key, when in counts.items()}
    periods = {key: int(days // length) for key, days in times.items()}
    last = max(periods.values())
    names = tuple(_period_name(first, k, length) for k in range(last + 1))
    over = min(last, ((today - first).days // length) - 1)
    without = sum(made.values()) - len(counts)
    if without:
        is_, its = ("reading has", "it is") if without == 1 else ("readings have", "they are")
        notes.append(f"{without} {is_} no date: {its} left out of what is said about time")
    return Calendar("started", times, periods, names, over, dates, seconds, first, today, length, tuple(notes))


def _period_name(first: date, k: int, length: int) -> str:
    start, end = first + timedelta(days=k * length), first + timedelta(days=(k + 1) * length - 1)
    return start.isoformat() if length == 1 else f"{start.isoformat()} to {end.isoformat()}"


def _by_updates(
    study: Study,
    updates: Mapping[Place, int],
    dates: Mapping[Key, datetime],
    seconds: Mapping[Key, float],
    made: Mapping[Key, bool],
    today: date,
    length: int,
    notes: list[str],
) -> Calendar:
    periods = {key: updates.get(_place(key), 0) for key, counts in made.items() if counts}
    last = max(updates.values())
    names = ("first import", *(f"update {k}" for k in range(1, last + 1)))
    times = {key: float(period) for key, period in periods.items()}
    return Calendar("updates", times, periods, names, last, dates, seconds, None, today, length, tuple(notes))


def _read_updates(study: Study, made: Mapping[Key, bool]) -> dict[Place, int]:
    """The last update that took each reading; empty where a study has no updates."""
    if not study.options.reads or study.coded or study.tallied is not None:
        return {}
    path = Path(study.options.reads).with_name(UPDATES)
    if not path.is_file():
        return {}
    found: dict[Place, int] = {}
    for _, row in read_rows(str(path), ("update", "case", "rater", "change")):
        if row["change"] in TAKEN and row["update"].isdecimal():
            place = name_place(row["case"], row["rater"], row.get("session", ""))
            found[place] = max(int(row["update"]), found.get(place, 0))
    return found

"""When readings were started, as annotation tools and people write it, and dates that cannot be right."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ..core.errors import few
from ..io.tables import read_rows

AHEAD = timedelta(days=1)
"""How far ahead a date may lie: a log without time zones may have been written elsewhere."""
SHOWN = 3

Started = tuple[str, str, str]
"""Case, rater, and when the reading was started, as it is written."""


def parse_started(text: str) -> datetime | None:
    """A date, with or without a time, in UTC; None where it is none. Without a time zone it is taken for UTC.

    >>> parse_started("2026-03-01T10:15:00+02:00")
    datetime.datetime(2026, 3, 1, 8, 15, tzinfo=datetime.timezone.utc)
    >>> parse_started("2026-03-01"), parse_started("last week")
    (datetime.datetime(2026, 3, 1, 0, 0, tzinfo=datetime.timezone.utc), None)
    """
    try:
        found = datetime.fromisoformat(text.strip())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def find_doubtful_dates(readings: Iterable[Started], now: datetime | None = None) -> Iterator[str]:
    """One line about dates in the future, and one about what is no date; readings without any are left alone."""
    future, unread, last = list[str](), list[str](), (now or datetime.now(UTC)) + AHEAD
    for case, rater, text in readings:
        found = parse_started(text)
        if text and found is None:
            unread.append(f"{rater} in {case}: {text[:40]!r}")
        elif found is not None and found > last:
            future.append(f"{rater} in {case}: {text[:40]}")
    if future:
        how = "correct started in the reading log"
        yield f"{_readings(len(future))} a date in the future ({few(future, SHOWN)}); {how}"
    if unread:
        how = "write started as 2026-03-01 or 2026-03-01T10:15"
        yield f"{_readings(len(unread))} a date that cannot be read ({few(unread, SHOWN)}); {how}"


def read_dates(path: str | Path) -> Iterator[Started]:
    """The dates of a reading log; rows that cannot be read are passed over."""
    for _, row in read_rows(path, ("case", "rater"), lambda error: None):
        yield row["case"], row["rater"], row.get("started", "")


def _readings(count: int) -> str:
    return "1 reading has" if count == 1 else f"{count} readings have"

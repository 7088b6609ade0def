"""Where a study has many raters or many cases: what tables leave out, so that files stay small and can be read.

Two hundred raters have 19,900 pairs, which fill hundreds of megabytes with a row for each statistic, case and scope.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..core.undefined import code
from ..io.result_tables import Row

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

"""Where a study has many raters or many cases: what tables leave out, so that files stay small and can be read.

Two hundred raters have 19,900 pairs, which fill hundreds of megabytes with a row for each statistic, case and scope.
"""

from __future__ import annotations

MOST_PAIRS = 1000
"""Of raters, up to which every pair has all of its rows: those of 45 raters."""
SHOWN_PAIRS = 50
"""Of more pairs, so many have all of their rows: the most different ones."""
MOST_PAIR_CASES = 20_000
"""Pairs times cases up to which pairs have rows of single cases."""
MOST_ROWS = 10_000
"""Of a table, up to which ``summary.json`` repeats all of them."""


def pair_count(raters: int) -> int:
    """The number of pairs of so many raters."""
    return raters * (raters - 1) // 2


def many_raters(raters: int) -> bool:
    """Whether so many raters have more pairs than tables hold in full."""
    return pair_count(raters) > MOST_PAIRS

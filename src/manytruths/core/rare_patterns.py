"""Patterns of few items, merged into others, so that a table that is passed on does not show them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .errors import CallError
from .labels import VOID
from .tally import Counts, Rows, Tally

_AT_ONCE = 1 << 24
"""Cells that are compared at once, so that memory stays small."""


def merge_rare_patterns(tally: Tally, least: int) -> tuple[Tally, int]:
    """Give the items of patterns that fewer than ``least`` items show to the nearest pattern that more show.

    The nearest differs in the fewest decisions, and of several it is the most frequent; whether somebody rated weighs
    more than what they said. The number of items stays the same. If no pattern has enough items, all go to the most
    frequent one.

    Parameters
    ----------
    tally : Tally
        The table of one case.
    least : int
        Smallest count that a pattern may have; with 1 nothing is merged.

    Returns
    -------
    Tally
        The table with fewer patterns.
    int
        Number of items that have another pattern now.

    Examples
    --------
    >>> import manytruths as mt
    >>> table = mt.tally({"A": [1, 1, 1, 1, 0, 0, 0], "B": [1, 1, 1, 0, 0, 0, 0]})
    >>> merged, changed = merge_rare_patterns(table, 2)
    >>> merged.counts, changed
    (array([4, 3]), 1)
    """
    if least < 1:
        raise CallError(f"least is the smallest number of pixels of a pattern, 1 or more; got {least}")
    rare = tally.counts < least
    if not rare.any():
        return tally, 0
    if rare.all():
        rare = np.arange(len(tally.counts)) != int(tally.counts.argmax())
    kept, gone = tally.patterns[~rare], tally.patterns[rare]
    counts = tally.counts[~rare].copy()
    np.add.at(counts, _nearest(gone, kept, tally.counts[~rare]), tally.counts[rare])
    return replace(tally, patterns=kept, counts=counts), int(tally.counts[rare].sum())


def _nearest(rows: Rows, kept: Rows, counts: Counts) -> Counts:
    """For each row, the position of the nearest of those that are kept."""
    columns = rows.shape[1]
    # by falling count, so that the first of several nearest is the most frequent
    order = np.argsort(-counts, kind="stable")
    nearest, step = np.empty(len(rows), np.int64), max(1, _AT_ONCE // max(1, len(kept) * columns))
    for start in range(0, len(rows), step):
        here, others = rows[start : start + step, None], kept[None, order]
        apart = (here != others).sum(axis=2) + columns * ((here == VOID) != (others == VOID)).sum(axis=2)
        nearest[start : start + step] = order[apart.argmin(axis=1)]
    return nearest

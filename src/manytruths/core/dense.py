"""Few binary masks: the joint table from intersections of bit sets, whatever the masks look like.

Masks are packed to bits, every subset of them is intersected and counted, and the counts of intersections
become those of patterns by Möbius inversion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

MOST_COLUMNS = 6
"""All subsets of this many are looked at: beyond it, runs are faster."""


def dense_patterns(block: Sequence[Array]) -> tuple[list[Array], NDArray[np.int64]] | None:
    """Values of every pattern by column, and how often it occurs; None where this way does not apply."""
    if len(block) > MOST_COLUMNS or any(a.dtype not in (np.uint8, np.bool_) for a in block):
        return None
    pages = [a.view(np.uint8) for a in block]
    tops = [_only_value(a) for a in pages]
    if None in tops:
        return None
    counts = _pattern_counts(_intersections(pages))
    patterns = np.flatnonzero(counts)
    values = [((patterns >> j) & 1).astype(np.uint8) * np.uint8(top or 0) for j, top in enumerate(tops)]
    return values, counts[patterns]


def _only_value(page: NDArray[np.uint8]) -> int | None:
    """The one value that is not 0 (0 where there is none); None where there are several."""
    top = int(page.max())
    return top if top <= 1 or 256 - int(np.negative(page).max()) == top else None


def _intersections(pages: Sequence[NDArray[np.uint8]]) -> NDArray[np.int64]:
    """For every subset of the masks, how many items all of them mark."""
    items = len(pages[0])
    words = -(-items // 64)
    sets = np.empty((1 << len(pages), words), np.uint64)
    sets[0] = ~np.uint64(0)
    for j, page in enumerate(pages):
        bits = np.zeros(words * 8, np.uint8)
        bits[: -(-items // 8)] = np.packbits(page)
        np.bitwise_and(sets[: 1 << j], bits.view(np.uint64), out=sets[1 << j : 2 << j])
    counts = np.bitwise_count(sets).sum(axis=1, dtype=np.uint32).astype(np.int64)
    counts[0] = items
    return np.asarray(counts)


def _pattern_counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Möbius inversion: from "at least these marked" to "these and no others"."""
    columns = len(counts).bit_length() - 1
    for j in range(columns):
        pairs = counts.reshape(-1, 2, 1 << j)
        pairs[:, 0] -= pairs[:, 1]
    return counts

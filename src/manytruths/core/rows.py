"""Rows of a tally in their one canonical order."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .labels import VOID

Rows = NDArray[np.uint8]
Counts = NDArray[np.int64]


def row_codes(rows: Rows, n_labels: int) -> tuple[NDArray[np.uint64], int]:
    """A number per row that sorts as the rows do (VOID last), and how many bits it takes.

    Columns are packed into 64 bits; when those are full, the codes so far are replaced by their ranks,
    which keeps the order and makes room: nothing of size labels^raters is ever made.
    """
    has_void = bool((rows == VOID).any())
    bits = max(1, (n_labels if has_void else n_labels - 1).bit_length())
    codes, used = np.zeros(len(rows), np.uint64), 0
    for column in rows.T:
        if used + bits > 64:
            distinct, ranks = np.unique(codes, return_inverse=True)
            codes, used = ranks.astype(np.uint64), len(distinct).bit_length()
        codes <<= np.uint64(bits)
        codes |= np.where(column == VOID, n_labels, column).astype(np.uint64) if has_void else column
        used += bits
    return codes, used


def merge(rows: Rows, counts: Counts, n_labels: int) -> tuple[Rows, Counts]:
    """Equal rows become one, their counts added; rows in lexicographic order, none with count 0."""
    keep = counts != 0
    if not keep.all():
        rows, counts = rows[keep], counts[keep]
    if not len(rows):
        return rows, counts
    codes, used = row_codes(rows, n_labels)
    # 16-bit keys get NumPy's radix sort, several times faster than comparing 64-bit ones
    order = np.argsort(codes.astype(np.uint16) if used <= 16 else codes, kind="stable")
    codes = codes[order]
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1])))
    return np.ascontiguousarray(rows[order[starts]]), np.add.reduceat(counts[order], starts)

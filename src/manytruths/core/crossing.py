"""Contingency tables of every two columns."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .rows import Counts, Rows

_ROWS = 8192
"""Patterns a matrix product takes at once, so that its one-hot operand stays small."""


def crossed(patterns: Rows, counts: Counts, columns: Sequence[int], labels: int) -> NDArray[np.float64]:
    """(C, C, L, L) items by the labels that the first and the second column gave, where both did.

    They are whole numbers below 2^53, so that float64 holds them, and their sums, exactly.
    """
    where, width = list(columns), len(columns) * labels
    total = np.zeros((width, width))
    for start in range(0, len(counts), _ROWS):
        rows = patterns[start : start + _ROWS, where]
        chosen = (rows[:, :, None] == np.arange(labels)).reshape(len(rows), width).astype(np.float64)
        total += (chosen * counts[start : start + _ROWS, None]).T @ chosen
    return total.reshape(len(where), labels, len(where), labels).transpose(0, 2, 1, 3)

"""Arrays walked through in cache-sized one-dimensional blocks, whatever their order in memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

BLOCK = 1 << 20
"""Items a block: what is made of it stays in the cache, and the overhead of a block is small beside it."""

Array = NDArray[Any]


def flat_blocks(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """The same items of every array as 1-D pieces of at most :data:`BLOCK`.

    Pieces are views where all arrays share an order in memory, else small copies, so that memory-mapped
    and strided arrays are never copied whole.
    """
    if all(a.flags.f_contiguous for a in arrays):
        arrays = [a.T for a in arrays]
    if all(a.flags.c_contiguous for a in arrays):
        flat = [a.reshape(-1) for a in arrays]
        for start in range(0, flat[0].size, BLOCK):
            yield [a[start : start + BLOCK] for a in flat]
    else:
        yield from _slabs(arrays)


def _slabs(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """Slices along the first axis, thin enough to be copied one at a time."""
    length = arrays[0].shape[0]
    inner = arrays[0][0].size if length else 0
    if inner > BLOCK:
        for i in range(length):
            yield from flat_blocks([a[i] for a in arrays])
    elif inner:
        step = max(1, BLOCK // inner)
        for i in range(0, length, step):
            yield [np.ascontiguousarray(a[i : i + step]).reshape(-1) for a in arrays]


def run_starts(block: Sequence[Array]) -> NDArray[np.intp]:
    """Where a new run begins: the first item, and every item at which any array changes its value.

    Masks are made of long runs of equal patterns, so that what follows has thousands of runs to look at,
    not millions of items, and the cost of a pass is two cheap comparisons a byte.
    """
    length = len(block[0])
    changed = np.empty(length, bool)
    changed[0] = True
    np.not_equal(block[0][1:], block[0][:-1], out=changed[1:])
    differs = np.empty(length - 1, bool)
    for array in block[1:]:
        np.not_equal(array[1:], array[:-1], out=differs)
        np.logical_or(changed[1:], differs, out=changed[1:])
    return np.flatnonzero(changed)

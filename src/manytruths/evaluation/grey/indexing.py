"""Which pattern of a table each item shows: made once for all algorithms.

Up to 16 two-valued columns are packed to one number an item; the few numbers that occur are then counted and looked up
as if they were the image. All else is counted and painted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.columns import Column
from ...core.counting import tally
from ...core.labels import Labels
from ...core.mask_arrays import Inputs, Masks, flat_blocks, gather_inputs
from ...core.painting import paint
from ...core.tally import Tally

Array = NDArray[Any]
Index = NDArray[np.integer[Any]]
Columns = dict[Column, Array | None]
References = Mapping[Any, ArrayLike | None] | None

BITS = 16
"""Columns that are packed: a table of all their patterns is still small."""


@dataclass(frozen=True, eq=False)
class Indexed:
    """A table, and the map of the pattern numbers of its items."""

    tally: Tally
    index: Index


def indexed(
    masks: Masks,
    *,
    references: References = None,
    raters: Sequence[str] | str | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    void: int | None = None,
    foreground: str | None = None,
) -> Indexed:
    """Count masks, as :func:`manytruths.tally` does, and say where each pattern is, in one go.

    >>> found = indexed({"A": [[1, 1, 0, 0]], "B": [[1, 0, 0, 0]]})
    >>> found.index, found.tally.counts
    (array([[2, 1, 0, 0]], dtype=int32), array([2, 1, 1]))
    """
    inputs = gather_inputs(masks, raters, None, references)
    packed = _packed(inputs)
    columns = _columns(inputs, packed)
    slots = raters if isinstance(raters, str) else None
    table = tally(columns, raters=slots, labels=labels, void=void, foreground=foreground)
    numbers = _numbers(columns, table, void, foreground)
    if packed is not None:
        table = table.recount(np.bincount(numbers, packed.counts, len(table.counts)))
    return Indexed(table, _spread(numbers, packed))


def pattern_index(
    masks: Masks,
    tally: Tally,
    *,
    references: References = None,
    raters: Sequence[str] | str | None = None,
    void: int | None = None,
    foreground: str | None = None,
) -> Index:
    """The map of the numbers of a table's patterns, −1 where the table, a region's or a pooled one, has no such.

    >>> import manytruths as mt
    >>> masks = {"A": [[1, 1, 0, 0]], "B": [[1, 0, 0, 0]]}
    >>> pattern_index(masks, mt.tally(masks, region="union"))
    array([[ 1,  0, -1, -1]], dtype=int32)
    """
    inputs = gather_inputs(masks, raters, None, references)
    packed = _packed(inputs)
    return _spread(_numbers(_columns(inputs, packed), tally, void, foreground), packed)


def _numbers(columns: Columns, table: Tally, void: int | None, foreground: str | None) -> Index:
    numbers = np.arange(len(table.counts), dtype=np.int32)
    return paint(numbers, columns, table, void=void, fill=-1, foreground=foreground)


@dataclass(frozen=True, eq=False)
class _Packed:
    """A number of bits an item, those that occur, how often, and what every column holds there."""

    codes: NDArray[np.uint16]
    met: NDArray[np.intp]
    counts: NDArray[np.int64]
    columns: list[Array]


def _columns(inputs: Inputs, packed: _Packed | None) -> Columns:
    """What is to be counted: the image, or the numbers that occur in it."""
    columns: Columns = dict(zip(inputs.columns, inputs.arrays, strict=True))
    if packed is not None:
        columns.update({inputs.columns[i]: held for i, held in zip(inputs.present, packed.columns, strict=True)})
    return columns


def _spread(numbers: Index, packed: _Packed | None) -> Index:
    if packed is None:
        return numbers
    table = np.zeros(1 << len(packed.columns), numbers.dtype)
    table[packed.met] = numbers
    return np.asarray(table[packed.codes])


def _packed(inputs: Inputs) -> _Packed | None:
    """None where columns are many, masked, or of more than two values."""
    arrays = [a for a in inputs.arrays if a is not None]
    if len(arrays) > BITS or any(isinstance(a, np.ma.MaskedArray) or a.dtype not in (bool, np.uint8) for a in arrays):
        return None
    marks = [int(a.max(initial=0)) for a in arrays]
    order: Literal["C", "F"] = "F" if all(a.flags.f_contiguous for a in arrays) else "C"
    codes = np.empty(inputs.shape, np.uint16, order)
    for *block, target in flat_blocks([*arrays, codes]):
        target[:] = 0
        for i, column in enumerate(block):
            bits = column == marks[i] if marks[i] > 1 else column
            if marks[i] > 1 and np.count_nonzero(bits) < np.count_nonzero(column):
                return None
            target |= bits.astype(np.uint16) << np.uint16(i)
    counts = np.bincount(codes.ravel(order="K"), minlength=1 << len(arrays))
    met = np.flatnonzero(counts)
    held = [((met >> i) & 1).astype(np.uint8) * np.uint8(mark) for i, mark in enumerate(marks)]
    return _Packed(codes, met, counts[met], held)

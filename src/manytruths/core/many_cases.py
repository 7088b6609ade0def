"""Tallies and maps of many small cases, in one pass over all of their pixels.

The pixels of a few binary masks take less time than the calls that count them. So the masks of all cases are laid one
after the other, each case from a new byte on, and packed to bits; all intersections are counted as in
:mod:`.counting`, but summed case by case. Cases that this does not fit are counted on their own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .columns import Column
from .counting import MAX_DENSE_COLUMNS, tally
from .errors import CallError
from .labels import Labels
from .mask_arrays import Array, Masks
from .painting import paint
from .tally import Tallies, Tally

SMALL = 1 << 17
"""Pixels of a case beyond which it is counted on its own."""

BATCH = 1 << 22
"""Pixels of the cases that are laid side by side at once."""

_BINARY = Labels((0, 1))

_BYTES = (np.uint8, np.bool_)


def tally_each(cases: Mapping[str, Masks], **options: Any) -> Tallies:
    """Run :func:`tally` on the masks of each of several cases; the tables are the same.

    Parameters
    ----------
    cases : mapping of str to masks
        The masks of every case, as :func:`tally` takes them.
    **options : object
        Other arguments of :func:`tally`.

    Returns
    -------
    Tallies
        Tables by case.

    Examples
    --------
    >>> import manytruths as mt
    >>> cases = {"p1": {"A": [1, 1, 0], "B": [1, 0, 0]}, "p2": {"A": [0, 1], "B": [0, 1]}}
    >>> [table.items for table in mt.tally_each(cases).values()]
    [3, 2]
    """
    stacks = {} if options else {name: stack for name, masks in cases.items() if (stack := _stack(masks))}
    tables: dict[str, Tally] = {}
    for names in _batches(stacks):
        tables.update(_count({name: stacks[name] for name in names}))
    return Tallies({name: tables[name] if name in tables else tally(masks, **options) for name, masks in cases.items()})


def paint_each(values: Mapping[str, NDArray[Any]], cases: Mapping[str, Masks], **options: Any) -> dict[str, Array]:
    """Run :func:`paint` on each of several cases; the maps are the same.

    Parameters
    ----------
    values : mapping of str to ndarray
        For every case a value per pattern that knows its tally: the ``probability`` or ``hard`` of a consensus.
    cases : mapping of str to masks
        The masks of every case.
    **options : object
        Other arguments of :func:`paint`.

    Returns
    -------
    dict of str to ndarray
        Maps by case.

    Examples
    --------
    >>> import manytruths as mt
    >>> cases = {"p1": {"A": [1, 1, 0], "B": [1, 0, 0]}, "p2": {"A": [0, 1], "B": [0, 1]}}
    >>> votes = {case: mt.vote(table).hard for case, table in mt.tally_each(cases).items()}
    >>> mt.paint_each(votes, cases)
    {'p1': array([ True,  True, False]), 'p2': array([False,  True])}
    """
    if missing := [name for name in cases if name not in values]:
        raise CallError(f"values has no case {missing[0]!r}; it needs one value per pattern for every case")
    maps: dict[str, Array] = {}
    for name, masks in cases.items():
        stack = None if options else _stack(masks)
        painted = _paint(values[name], stack) if stack else None
        maps[name] = paint(values[name], masks, **options) if painted is None else painted
    return maps


class _Stack(NamedTuple):
    """A few small byte masks of one shape; what they hold is not looked at."""

    columns: tuple[Column, ...]
    masks: tuple[Array, ...]


def _stack(masks: Masks) -> _Stack | None:
    """Masks that can be counted beside those of other cases, if they are such."""
    if not isinstance(masks, Mapping | Sequence | np.ndarray):
        return None
    names: list[Any] = list(masks) if isinstance(masks, Mapping) else list(map(str, range(1, len(masks) + 1)))
    arrays = tuple(masks.values()) if isinstance(masks, Mapping) else tuple(masks)
    if not 1 <= len(arrays) <= MAX_DENSE_COLUMNS or not all(type(name) is str for name in names):
        return None
    shape = getattr(arrays[0], "shape", ())
    for array in arrays:
        if type(array) is not np.ndarray or array.dtype not in _BYTES or array.shape != shape:
            return None
        if not array.flags.c_contiguous or not 0 < array.size <= SMALL:
            return None
    return _Stack(_columns(tuple(names)), arrays)  # type: ignore[arg-type]


@lru_cache(maxsize=1024)
def _columns(names: tuple[str, ...]) -> tuple[Column, ...]:
    return tuple(map(Column, names))


def _batches(stacks: Mapping[str, _Stack]) -> list[list[str]]:
    """Names of cases to count at once: of the same raters, up to :data:`BATCH` pixels."""
    batches: dict[tuple[tuple[Column, ...], int], list[str]] = {}
    filled: dict[tuple[Column, ...], int] = {}
    for name, stack in stacks.items():
        filled[stack.columns] = filled.get(stack.columns, 0) + stack.masks[0].size
        batches.setdefault((stack.columns, filled[stack.columns] // BATCH), []).append(name)
    return list(batches.values())


def _count(stacks: Mapping[str, _Stack]) -> dict[str, Tally]:
    """The tables of cases of the same raters, where masks hold 0 and 1, and somebody marked something."""
    sizes = np.array([stack.masks[0].size for stack in stacks.values()])
    ends = np.cumsum(-(-sizes // 8))
    starts, columns = np.concatenate([[0], ends[:-1]]), next(iter(stacks.values())).columns
    bits = np.empty((len(columns), int(ends[-1])), np.uint8)
    binary, laid = np.ones(len(stacks), bool), np.zeros(bits.shape[1] * 8, np.uint8)
    for rater, packed in enumerate(bits):
        for stack, start in zip(stacks.values(), (starts * 8).tolist(), strict=True):
            page = stack.masks[rater].reshape(-1).view(np.uint8)
            laid[start : start + len(page)] = page
        if laid.max(initial=0) > 1:
            binary &= np.maximum.reduceat(laid, starts * 8) <= 1
        packed[:] = np.packbits(laid)
    counts, patterns = _pattern_counts(bits, starts, sizes), _patterns(len(columns))
    binary &= counts[:, 0] < sizes
    rows = zip(stacks, counts, binary.tolist(), strict=True)
    return {name: _table(columns, patterns, row) for name, row, good in rows if good}


def _patterns(raters: int) -> NDArray[np.uint8]:
    """(2^raters, raters): all patterns, in the order of a tally."""
    return np.indices((2,) * raters, np.uint8).reshape(raters, -1).T


def _pattern_counts(bits: NDArray[np.uint8], starts: NDArray[np.intp], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """(cases, patterns) counts: those of all intersections, then Möbius inversion."""
    raters = len(bits)
    counts = np.empty((1 << raters, len(starts)), np.int64)
    counts[0] = sizes
    marked: dict[int, NDArray[np.uint8]] = {}
    for subset in range(1, 1 << raters):
        rest, rater = subset & (subset - 1), raters - (subset & -subset).bit_length()
        marked[subset] = bits[rater] & marked[rest] if rest else bits[rater]
        counts[subset] = np.add.reduceat(np.bitwise_count(marked[subset]), starts, dtype=np.int64)
    for j in range(raters):
        pairs = counts.reshape(-1, 2, 1 << j, len(starts))
        pairs[:, 0] -= pairs[:, 1]
    return counts.T


def _table(columns: tuple[Column, ...], patterns: NDArray[np.uint8], counts: NDArray[np.int64]) -> Tally:
    """A tally from all patterns in order; those without pixels go."""
    there = counts > 0
    table = object.__new__(Tally)
    table.__dict__.update(
        columns=columns, labels=_BINARY, patterns=patterns[there], counts=counts[there],
        region="whole", unit=None, exchangeable=False,
    )  # fmt: skip
    return table


def _paint(values: NDArray[Any], stack: _Stack) -> Array | None:
    """The map of one case, by the numbers of its patterns; None where masks or table do not fit."""
    table, raters = getattr(values, "tally", None), len(stack.masks)
    if not isinstance(table, Tally) or table.columns != stack.columns or table.labels != _BINARY:
        return None
    if values.shape != table.counts.shape or int(table.patterns.max(initial=0)) > 1:
        return None
    numbers = table.patterns @ (1 << np.arange(raters - 1, -1, -1))
    lookup, there = np.zeros(1 << raters, values.dtype), np.zeros(1 << raters, bool)
    lookup[numbers], there[numbers] = values, True
    number: NDArray[Any] = stack.masks[0].view(np.uint8)
    any_mark = number
    for mask in stack.masks[1:]:
        page = mask.view(np.uint8)
        number, any_mark = (number << 1) | page, any_mark | page
    if int(any_mark.max()) > 1 or not (there.all() or there[number].all()):
        return None
    return np.asarray(lookup[number])

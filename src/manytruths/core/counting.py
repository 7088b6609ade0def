"""Masks to a tally, in one pass.

A block of pixels is counted in one of two ways. A few binary masks are packed to bits, every subset of them is
intersected and counted, and the counts of intersections become those of patterns by Möbius inversion: the cost does not
depend on what the masks look like. All other masks are counted by runs of equal patterns. Masks that are made of
outlines know their runs, so that no pixel of them is drawn.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .columns import Unit
from .errors import CallError, InputError
from .labels import VOID, Labels
from .mask_arrays import (
    Array,
    Coder,
    Inputs,
    Masks,
    fill_masked,
    flat_blocks,
    gather_inputs,
    read_tiles,
    region_mask,
    run_starts,
)
from .runs import LabelRuns, distinct, read_runs
from .tally import REGIONS, Counts, Rows, Tally, merge_rows
from .tiles import Band, LazyArray, Spread, tile_bands

MAX_DENSE_COLUMNS = 6
"""All subsets of this many are looked at: beyond it, runs are faster."""

_PIECE = 1 << 18
"""Bytes that are looked at and packed in one go; a multiple of 64."""

_PENDING = 1 << 19
"""Runs that may wait before they are merged: bounds the memory of noisy masks."""

_MERGING = 8
"""Merging a table takes so many times its own bytes, at most."""


def tally(
    masks: Masks,
    *,
    raters: Sequence[str] | str | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    predictions: Mapping[Any, ArrayLike | LazyArray | None] | None = None,
    references: Mapping[Any, ArrayLike | LazyArray | None] | None = None,
    region: str | ArrayLike | LazyArray = "whole",
    unit: Unit | tuple[float, str] | None = None,
    void: int | None = None,
    foreground: str | None = None,
    counts: ArrayLike | None = None,
    spread: Spread | None = None,
) -> Tally:
    """Count how often each pattern of decisions occurs in masks of the same image.

    Parameters
    ----------
    masks : dict, sequence or numpy.ndarray
        One array per rater, of any dimension and memory order: a list, a stack, or ``{rater: mask}``;
        ``{(rater, session): mask}`` for repeated readings. None stands for a rater who was absent.
        Where a masked array is masked, the rater did not rate. Arrays that are not in memory (Zarr, HDF5, Dask,
        anything with a shape, a dtype and slices) are read tile by tile, along their chunks. Masks of outlines
        (:class:`OutlineMask`) are counted without being drawn.
    raters : sequence of str or "exchangeable", optional
        Names, in the order of the masks; or ``"exchangeable"`` where slots are not people.
    labels : Labels, dict or iterable of int, optional
        The values allowed, ``{1: "gland"}`` or a :class:`Labels`; by default those that occur.
    predictions, references : dict, optional
        Masks of algorithms and reference standards by name. A prediction is scored by being one more column.
    region : str or array_like
        ``"whole"``, ``"union"``, ``"modified_background"``, or a mask of the pixels to count.
    unit : Unit or tuple, optional
        The size of a pixel, ``(0.25, "mm²")``.
    void : int, optional
        The value that means "not rated".
    foreground : "any", optional
        ``"any"`` unites all labels but 0.
    counts : array_like, optional
        How many pixels each item of the masks stands for, where they list patterns instead of pixels.
    spread : callable, optional
        Called like the built-in ``map`` to count bands of tiles elsewhere, as ``ProcessPoolExecutor(4).map`` does. The
        table is the same.

    Returns
    -------
    Tally
        The table that all statistics read.

    Examples
    --------
    >>> import manytruths as mt
    >>> a, b = [[1, 1, 0, 0]], [[1, 0, 0, 0]]
    >>> print(mt.tally({"A": a, "B": b}).to_csv().partition("\\n")[2])
    A,B,count
    0,0,2
    1,0,1
    1,1,1
    """
    if foreground not in (None, "any"):
        raise CallError(f"foreground is None or 'any'; got {foreground!r}")
    inputs = gather_inputs(masks, raters, predictions, references, lazy=True)
    if len([c for c in inputs.columns if c.role == "rater"]) < 1:
        raise CallError("a tally needs at least one rater")
    declared = None if labels is None else Labels.of(labels)
    coder = Coder([str(inputs.columns[i]) for i in inputs.present], declared, void, foreground == "any")
    weights = None if counts is None else _weights(counts, inputs)
    rows, numbers, used = _count(inputs, coder, _region_mask(region, inputs), weights, spread)
    unit = Unit(*unit) if isinstance(unit, tuple | list) else unit
    name = "whole" if isinstance(region, str) else "mask"
    table = Tally(inputs.columns, used, rows, numbers, name, unit, isinstance(raters, str) and raters == "exchangeable")
    if not isinstance(region, str) or region == "whole":
        return table
    if region == "modified_background" and (table.role("algorithm") or table.role("reference")):
        raise CallError("region='modified_background' with predictions needs a band of pixels; give region= as a mask")
    return table.restrict(region)


def _region_mask(region: str | ArrayLike | LazyArray, inputs: Inputs) -> Array | None:
    if isinstance(region, str):
        if region not in REGIONS:
            raise CallError(f"region is one of {', '.join(REGIONS)}, or a mask; got {region!r}")
        return None
    return region_mask(region, inputs.shape, lazy=True)


def _weights(counts: ArrayLike, inputs: Inputs) -> Counts:
    weights = np.asarray(counts, np.int64)
    if weights.shape != inputs.shape:
        raise CallError(f"counts needs one number per item, {inputs.shape}; got shape {weights.shape}")
    return weights


def _count(
    inputs: Inputs, coder: Coder, region: Array | None, weights: Counts | None = None, spread: Spread | None = None
) -> tuple[Rows, Counts, Labels]:
    """Rows over all columns, in final codes."""
    present = inputs.present
    arrays = [array for array in inputs.arrays if array is not None]
    every = [*arrays, *([] if region is None else [region])]
    pile = _Pile(len(present))
    if weights is not None:
        inside = np.ones(weights.shape, bool) if region is None else np.asarray(region)
        pile.add(coder.encode([fill_masked(array)[inside] for array in arrays]).T, weights[inside], coder)
    elif spread is None or _know_runs(every):
        for rows, numbers in _count_batches(arrays, region, coder):
            pile.add(rows, numbers, coder)
    else:
        bands = tile_bands(every)
        for rows, numbers, learnt in spread(partial(_count_band, arrays=arrays, region=region, coder=coder), bands):
            pile.add(coder.adopt(rows, learnt), numbers, coder)
    codes, counts = pile.sum()
    if region is not None and not len(counts):
        raise InputError("the region is empty: no pixel of it is set, so there is nothing to count")
    labels = coder.labels()
    rows = np.full((len(codes), len(inputs.columns)), VOID, np.uint8)
    rows[:, present] = coder.table(labels)[codes]
    return rows, counts, labels


class _Pile:
    """Patterns and counts as they come in, merged whenever they have doubled: memory is that of the distinct ones."""

    def __init__(self, columns: int) -> None:
        self._parts: list[tuple[Rows, Counts]] = [(np.empty((0, columns), np.uint8), np.empty(0, np.int64))]
        self._rows = self._merged = 0

    def add(self, rows: Rows, counts: Counts, coder: Coder) -> None:
        self._parts.append((rows, counts))
        self._rows += len(counts)
        if self._rows > max(2 * self._merged, 4 * _PENDING):
            self._parts = [merge_rows(*self.sum(), len(coder.codes))]
            self._rows = self._merged = len(self._parts[0][1])
            _refuse_too_many(self._parts[0])

    def sum(self) -> tuple[Rows, Counts]:
        return np.concatenate([rows for rows, _ in self._parts]), np.concatenate([counts for _, counts in self._parts])


def _refuse_too_many(table: tuple[Rows, Counts]) -> None:
    """Refuse masks whose patterns do not fit into memory, before the system ends the process."""
    left = _memory_left()
    if left is not None and _MERGING * sum(part.nbytes for part in table) > left:
        raise InputError(
            f"the masks show more than {len(table[1]):,} distinct patterns, as noise does, and the table of all would "
            f"not fit into the {left / 1e9:.1f} GB of memory that are left; leave out raters (--exclude-rater), count "
            "a region of interest (--roi), or remove the noise from the masks"
        )


def _memory_left() -> int | None:
    """Bytes that can still be allocated; None where the system does not tell."""
    left = []
    try:
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        if limit != resource.RLIM_INFINITY:
            used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
            left.append(limit - used)
        with suppress(FileNotFoundError):  # a container's own limit; "max" where it has none
            group = Path("/sys/fs/cgroup")
            most = (group / "memory.max").read_text().strip()
            if most != "max":
                used = int((group / "memory.current").read_text())
                # files that were read are dropped when memory is needed
                cached = [line for line in (group / "memory.stat").read_text().splitlines() if line.startswith("file ")]
                left.append(int(most) - used + int(cached[0].split()[1]))
        lines = Path("/proc/meminfo").read_text().splitlines()
        left += [int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")]
    except (ImportError, OSError, ValueError, IndexError):
        pass
    return min(left, default=None)


def _count_band(band: Band, arrays: Sequence[Array], region: Array | None, coder: Coder) -> tuple[Rows, Counts, Coder]:
    """The patterns of some tiles, merged, and what their codes stand for."""
    own, pile = coder.copy(), _Pile(len(arrays))
    for rows, counts in _count_batches(arrays, region, own, band):
        pile.add(rows, counts, own)
    return *merge_rows(*pile.sum(), len(own.codes)), own


def _count_batches(
    arrays: Sequence[Array], region: Array | None, coder: Coder, band: Band | None = None
) -> Iterator[tuple[Rows, Counts]]:
    """Rows, a batch of blocks at a time; all but the last batch merged, since the tally merges again."""
    codes: list[Rows] = []
    lengths: list[Counts] = []
    waiting = 0
    for values, length in _patterns([*arrays, *([] if region is None else [region])], band):
        if region is not None:
            inside = values[-1].astype(bool)
            values, length = [v[inside] for v in values[:-1]], length[inside]
        codes.append(coder.encode(values))
        lengths.append(length)
        waiting += len(length)
        if waiting > _PENDING:
            yield merge_rows(np.concatenate(codes, axis=1).T, np.concatenate(lengths), len(coder.codes))
            codes, lengths, waiting = [], [], 0
    if waiting:
        yield np.concatenate(codes, axis=1).T, np.concatenate(lengths)


def _patterns(arrays: Sequence[Array], band: Band | None = None) -> Iterator[tuple[list[Array], Counts]]:
    """Values by column and how many items show them, block by block."""
    if _know_runs(arrays):
        yield from interval_patterns([read_runs(array) for array in arrays])
        return
    for tile in read_tiles(arrays, band=band):
        if tile.is_constant:
            yield [value.reshape(1) for value in tile.arrays], np.array([tile.items])
            continue
        for block in flat_blocks(tile.arrays):
            yield dense_patterns(block) or _run_patterns(block)


def _know_runs(arrays: Iterable[object]) -> bool:
    """Whether nothing needs to be decoded: then there are no tiles, either."""
    return all(hasattr(array, "label_runs") for array in arrays)


def _run_patterns(block: list[Array]) -> tuple[list[Array], NDArray[np.int64]]:
    starts = run_starts(block)
    return [a[starts] for a in block], np.diff(starts, append=len(block[0]))


def interval_patterns(masks: Sequence[LabelRuns]) -> Iterator[tuple[list[Array], Counts]]:
    """The same of masks that know their runs: between two ends of runs, whosever they are, the pattern is one."""
    items, step = math.prod(masks[0].shape), max(1, _PENDING // len(masks))
    # between two cuts no mask has more runs than that
    cuts = distinct(np.array([0, items]), *(runs.starts[::step] for runs in masks))
    for low, high in pairwise(cuts.tolist()):
        near = [slice(*_near(runs, low, high)) for runs in masks]
        own = [
            (np.maximum(runs.starts[n], low), np.minimum(runs.stops[n], high))
            for runs, n in zip(masks, near, strict=True)
        ]
        ends = distinct(np.array([low, high]), *(part for parts in own for part in parts))
        yield (
            [
                _interval_values(ends, starts, stops, runs.values[n])
                for runs, n, (starts, stops) in zip(masks, near, own, strict=True)
            ],
            np.diff(ends),
        )


def _near(runs: LabelRuns, low: int, high: int) -> tuple[int, int]:
    return int(np.searchsorted(runs.stops, low, "right")), int(np.searchsorted(runs.starts, high))


def _interval_values(ends: Counts, starts: Counts, stops: Counts, values: Array) -> Array:
    """What a mask holds from each end to the next."""
    change = np.zeros(len(ends), np.int64)
    change[np.searchsorted(ends, starts)] += values
    change[np.searchsorted(ends, stops)] -= values
    return np.cumsum(change)[:-1].astype(values.dtype)


def dense_patterns(block: Sequence[Array]) -> tuple[list[Array], NDArray[np.int64]] | None:
    """Values of every pattern by column, and how often it occurs; None where this way does not apply."""
    if len(block) > MAX_DENSE_COLUMNS or any(a.dtype not in (np.uint8, np.bool_) for a in block):
        return None
    items = len(block[0])
    words = -(-items // 64)
    tops, sets, varying = [], [], []
    for array in block:
        bits = np.zeros(words * 8, np.uint8)
        top = _pack(array.view(np.uint8), bits)
        if top is None:
            return None
        marked = int(np.bitwise_count(bits.view(np.uint64)).sum(dtype=np.int64)) if top else 0
        # a mask that is one value here parts no pattern in two
        varying.append(0 < marked < items)
        sets += [bits.view(np.uint64)] if varying[-1] else []
        tops.append(np.uint8(top))
    counts = _pattern_counts(_intersections(sets, items))
    patterns = np.flatnonzero(counts)
    positions = iter(range(len(sets)))
    values = [
        ((patterns >> next(positions)) & 1).astype(np.uint8) * top if varies else np.full(len(patterns), top)
        for varies, top in zip(varying, tops, strict=True)
    ]
    return values, counts[patterns]


def _pack(page: NDArray[np.uint8], bits: NDArray[np.uint8]) -> int | None:
    """Pack what is not 0 into bits; the one value that is not 0 (0 where there is none), None where there are several.

    Values are looked at while a piece of the page is in the cache.
    """
    only = 0
    for start in range(0, len(page), _PIECE):
        piece = page[start : start + _PIECE]
        top = int(piece.max())
        if not top:
            continue
        if only not in (0, top) or (top > 1 and 256 - int(np.negative(piece).max()) != top):
            return None
        only = top
        packed = np.packbits(piece)
        bits[start // 8 : start // 8 + len(packed)] = packed
    return only


def _intersections(sets: Sequence[NDArray[np.uint64]], items: int) -> NDArray[np.int64]:
    """For every subset of the masks, how many items all of them mark."""
    every = np.empty((1 << len(sets), len(sets[0]) if sets else 0), np.uint64)
    for j, bits in enumerate(sets):
        every[1 << j] = bits
        np.bitwise_and(every[1 : 1 << j], bits, out=every[(1 << j) + 1 : 2 << j])
    counts = np.empty(len(every), np.int64)
    counts[0] = items
    counts[1:] = np.bitwise_count(every[1:]).sum(axis=1, dtype=np.uint32)
    return counts


def _pattern_counts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Möbius inversion: from "at least these marked" to "these and no others"."""
    columns = len(counts).bit_length() - 1
    for j in range(columns):
        pairs = counts.reshape(-1, 2, 1 << j)
        pairs[:, 0] -= pairs[:, 1]
    return counts

"""The lesions that each rater drew in one image, and how many pixels every two of them share.

A *mark* is one lesion of one rater: a connected component of their mask or, of an instance map, all pixels of a value.
All raters' marks are numbered together. Only runs of marked pixels along the last axis are looked at, cut where
anybody's mark changes, so that all overlaps of all pairs of raters come from one short list.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column
from ..core.errors import CallError, InputError, LabelError, few
from ..core.mask_arrays import Masks, gather_inputs, region_mask, run_starts
from ..core.runs import LabelRuns, expand, read_runs
from ..core.tiles import LazyArray, is_lazy
from ..shape.components import NumberedRuns, number_runs
from ..shape.grid import as_spacing

MANY_RATERS = 20
"""Overlaps of marks of more raters are not counted pair by pair."""
_RUNS = 8192
"""That a product takes at once."""
Whole = NDArray[np.int64]
Values = NDArray[np.float64]
Flags = NDArray[np.bool_]

MOST = 100_000
"""Marks of all raters together, in one image and of one label."""


class TooManyLesions(InputError):
    """A case has more lesions than can be matched."""


@dataclass(frozen=True, eq=False)
class Overlaps:
    """Pairs of marks of two raters that share pixels."""

    first: NDArray[np.intp]
    """Mark of the rater who comes first."""
    second: NDArray[np.intp]
    shared: Whole
    """Number of pixels that both hold."""


@dataclass(frozen=True, eq=False)
class Marks:
    """All raters' lesions of one image, numbered from 0, those of one rater together."""

    raters: tuple[str, ...]
    absent: Flags
    """(raters,) whether a rater did not read the image."""
    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None
    owner: NDArray[np.intp]
    """(marks,) number of the rater."""
    size: Whole
    """(marks,) pixels."""
    centre: Values
    """(marks, axes) mean position, in pixels."""
    cut: Flags
    """(marks,) whether it touches the border of the image."""
    first_pixel: Whole
    rank: Whole
    """(marks,) order by geometry alone; marks of the same pixels have the same rank."""
    starts: Whole
    """Flat positions of the first pixels of runs in which nobody's mark changes, rising."""
    lengths: Whole
    runs: NDArray[np.int32]
    """(raters, runs) the mark in each run; −1 for none."""
    hidden: Mapping[int, LabelRuns]
    """Pixels that were not rated, of the raters who have any."""

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def place(self) -> Values:
        """(marks, axes) centres in the unit of the spacing, or in pixels."""
        return self.centre if self.spacing is None else self.centre * np.asarray(self.spacing)

    @cached_property
    def counts(self) -> Whole:
        """Number of marks of each rater."""
        return np.bincount(self.owner, minlength=len(self.raters))

    @cached_property
    def pixels(self) -> Whole:
        """Flat positions of all pixels that anybody marked, rising."""
        return expand(self.starts, self.lengths)

    @cached_property
    def numbers(self) -> NDArray[np.int32]:
        """(raters, pixels) the mark at each pixel; −1 for none."""
        return np.repeat(self.runs, self.lengths, axis=1)

    @cached_property
    def unrated(self) -> Flags | None:
        """(raters, pixels) pixels that a rater did not rate; None where all were rated."""
        if not self.hidden:
            return None
        unrated = np.zeros((len(self.raters), len(self.pixels)), bool)
        for rater, hidden in self.hidden.items():
            run = np.searchsorted(hidden.starts, self.pixels, side="right") - 1
            unrated[rater] = (run >= 0) & (self.pixels < hidden.stops[run])
        return unrated

    def rated_runs(self, rater: int) -> Flags:
        """(runs,) whether a rater rated any pixel of each run."""
        if rater not in self.hidden:
            return np.ones(len(self.starts), bool)
        hidden = self.hidden[rater]
        before = np.append(0, np.cumsum(hidden.lengths))

        def count(places: Whole) -> Whole:
            run = np.searchsorted(hidden.starts, places, side="right")
            last = np.maximum(run - 1, 0)
            return np.asarray(before[run] - np.maximum(hidden.stops[last] - places, 0) * (run > 0))

        stops = self.starts + self.lengths
        return np.asarray(count(stops) - count(self.starts) < self.lengths)

    @cached_property
    def overlaps(self) -> Overlaps:
        """All pairs of marks of two raters that share a pixel."""
        if len(self.raters) > MANY_RATERS:
            return self._overlaps_of_many()
        count, parts, runs, lengths = len(self), [], self.runs, self.lengths
        there = runs >= 0
        for i, j in combinations(np.flatnonzero(self.counts).tolist(), 2):
            both = np.flatnonzero(there[i] & there[j])
            keys, where = np.unique(runs[i, both].astype(np.int64) * count + runs[j, both], return_inverse=True)
            parts.append((keys, np.bincount(where, lengths[both], len(keys)).astype(np.int64)))
        keys = np.concatenate([keys for keys, _ in parts]) if parts else np.empty(0, np.int64)
        shared = np.concatenate([shared for _, shared in parts]) if parts else np.empty(0, np.int64)
        first, second = np.divmod(keys, max(count, 1))
        return Overlaps(first.astype(np.intp), second.astype(np.intp), shared)

    def _overlaps_of_many(self) -> Overlaps:
        """The same: largest marks of all raters by one product, the other marks by the few runs that they have."""
        drawn = np.flatnonzero(self.counts)
        starts = np.cumsum(self.counts) - self.counts
        largest = np.array([starts[i] + self.size[self.owner == i].argmax() for i in drawn], np.int64)
        shared = np.zeros((len(drawn), len(drawn)))
        for start in range(0, len(self.lengths), _RUNS):
            at = slice(start, start + _RUNS)
            here = (self.runs[drawn, at] == largest[:, None]).astype(np.float64)
            shared += (here * self.lengths[at]) @ here.T
        i, j = np.nonzero(np.triu(shared, 1))
        found = [(largest[i], largest[j], shared[i, j].astype(np.int64))]
        is_largest = np.zeros(len(self), bool)
        is_largest[largest] = True
        for rater in drawn.tolist():
            own = self.runs[rater]
            place = np.flatnonzero((own >= 0) & ~is_largest[own])
            others = self.runs[:, place]
            # two marks that are both not the largest are met twice, and counted where the second rater comes later
            met = (others >= 0) & (is_largest[others] | (np.arange(len(others)) > rater)[:, None])
            met[rater] = False
            who, where = np.nonzero(met)
            keys = own[place[where]].astype(np.int64) * len(self) + others[who, where]
            distinct, group = np.unique(keys, return_inverse=True)
            sums = np.bincount(group, self.lengths[place[where]], len(distinct)).astype(np.int64)
            found.append((*np.divmod(distinct, len(self)), sums))
        one, other, sums = (np.concatenate(each) for each in zip(*found, strict=True))
        first, second = np.minimum(one, other), np.maximum(one, other)
        order = np.lexsort((second, first, self.owner[second], self.owner[first]))
        return Overlaps(first[order].astype(np.intp), second[order].astype(np.intp), sums[order])

    @cached_property
    def iou(self) -> Values:
        """Intersection over union of each overlapping pair."""
        o = self.overlaps
        return o.shared / (self.size[o.first] + self.size[o.second] - o.shared)

    @cached_property
    def share(self) -> Values:
        """Share of the smaller one that each overlapping pair has in common."""
        o = self.overlaps
        return o.shared / np.minimum(self.size[o.first], self.size[o.second])

    @cached_property
    def dice(self) -> Values:
        """Dice coefficient of each overlapping pair."""
        o = self.overlaps
        return 2 * o.shared / (self.size[o.first] + self.size[o.second])


def find_marks(
    masks: Masks,
    *,
    spacing: Sequence[float] | None = None,
    connectivity: int | None = None,
    instances: bool = False,
    region: ArrayLike | LazyArray | None = None,
    void: int | None = None,
    most: int = MOST,
) -> Marks:
    """The lesions that each rater drew; see :func:`match_lesions` for the arguments."""
    inputs = gather_inputs(masks, None, None, None, lazy=True)
    names, shape = _names(inputs.columns), inputs.shape
    _check(connectivity, spacing, shape)
    inside = read_runs(region_mask(region, shape, lazy=True)).marks() if is_lazy(region) else region
    drawn = {i: _marked(names[i], inputs.arrays[i], void, inside) for i in inputs.present}  # type: ignore[arg-type]
    if not instances:
        _refuse_labels({
            names[i]: marked.values if isinstance(marked, LabelRuns) else marked for i, (marked, _) in drawn.items()
        })  # fmt: skip
    own = {i: _number(values, connectivity, instances) for i, (values, _) in drawn.items()}
    counts = np.array([own[i].count if i in own else 0 for i in range(len(names))], np.int64)
    total = int(counts.sum())
    if total > most:
        raise TooManyLesions(
            f"the raters drew {total:,} lesions in one image, and at most {most:,} can be matched; "
            "remove specks from the masks, or do not match lesions"
        )
    absent = np.ones(len(names), bool)
    absent[inputs.present] = False
    return Marks(
        names, absent, shape, None if spacing is None else tuple(float(s) for s in spacing),
        **_measure(own, counts, shape), **_divide(own, counts, shape),
        hidden={i: hidden for i, (_, hidden) in drawn.items() if hidden is not None},
    )  # fmt: skip


def _names(columns: Sequence[Column]) -> tuple[str, ...]:
    names = tuple(map(str, columns))
    if len(set(names)) < len(names):
        raise CallError(f"each rater has one mask; got {few(names)}")
    return names


def _check(connectivity: int | None, spacing: Sequence[float] | None, shape: tuple[int, ...]) -> None:
    axes = len(shape)
    if connectivity is not None and connectivity not in range(1, axes + 1):
        raise CallError(f"connectivity must be from 1 to {axes}, the number of axes of the masks; got {connectivity!r}")
    sides = () if spacing is None else as_spacing(spacing, axes)
    if spacing is not None and (len(sides) != axes or not all(0 < side < np.inf for side in sides)):
        raise CallError(f"spacing must be {axes} positive numbers, one for each axis; got {sides}")


def _marked(
    name: str, array: NDArray[Any] | None, void: int | None, region: ArrayLike | LabelRuns | None
) -> tuple[NDArray[Any] | LabelRuns, LabelRuns | None]:
    """The values of a mask, 0 where nothing is counted, and the pixels that were not rated, where there are any.

    Of a mask that is not in memory, and of one whose region is not, the runs.
    """
    assert array is not None
    if array.dtype.kind not in "biuf":
        raise LabelError(f"{name}: a mask holds numbers; got an array of {array.dtype}")
    if is_lazy(array) or isinstance(region, LabelRuns):
        return _marked_runs(name, read_runs(array).hide(void), region)
    values, hidden = np.ma.getdata(array), None
    if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
        hidden = np.ma.getmaskarray(array)
    if void is not None and (values == void).any():
        hidden = (values == void) if hidden is None else hidden | (values == void)
    if region is not None:
        outside = ~region_mask(region, values.shape)
        values = np.where(outside, 0, values)
    values = values if hidden is None else np.where(hidden, 0, values)
    _refuse_odd(name, values)
    return values, None if hidden is None else read_runs(hidden)


def _marked_runs(
    name: str, runs: LabelRuns, region: ArrayLike | LabelRuns | None
) -> tuple[LabelRuns, LabelRuns | None]:
    """The same of runs."""
    hidden = runs.hidden()
    if hidden is not None:
        runs = runs.select(runs.values != hidden.values[0])
    if region is not None:
        inside = region if isinstance(region, LabelRuns) else read_runs(region_mask(region, runs.shape))
        runs = runs.intersect(inside)
    _refuse_odd(name, runs.values)
    return runs, hidden


def _refuse_odd(name: str, values: NDArray[Any]) -> None:
    """Refuse what is neither marked nor unmarked."""
    if values.dtype.kind not in "if" or not values.size:
        return
    least = values.min()  # nan where there is one
    if np.isnan(least):
        raise LabelError(f"{name}: the mask has nan; use 0 where nothing is marked, a masked array where not rated")
    if least < 0:
        raise LabelError(f"{name}: the mask has values below 0, such as {least:g}; use void={least:g} if not rated")


def _refuse_labels(values: Mapping[str, NDArray[Any]]) -> None:
    """Refuse several values in one mask, which may be labels or lesions."""
    for name, array in values.items():
        if array.dtype == bool or not array.size:
            continue
        top = array.max()
        other = array[(array != 0) & (array != top)]
        if other.size:
            raise LabelError(
                f"{name}: the mask holds the values {other.flat[0]:g} and {top:g}; give one label at a time, as in "
                "mask == 1, or instances=True where each value is a lesion"
            )


def _number(values: NDArray[Any] | LabelRuns, connectivity: int | None, instances: bool) -> NumberedRuns:
    """The runs of one rater's marks."""
    if not instances:
        marks = values.marks() if isinstance(values, LabelRuns) else values if values.dtype == bool else values != 0
        return number_runs(marks, connectivity)
    if isinstance(values, LabelRuns):
        starts, stops, numbers = values.starts, values.stops, values.values
    else:
        flat, width = np.ascontiguousarray(values).reshape(-1), values.shape[-1]
        begin = run_starts([flat]) if flat.size else np.empty(0, np.intp)
        begin = np.union1d(begin, np.arange(0, flat.size, max(width, 1)))
        marked = flat[begin] != 0
        starts, stops, numbers = begin[marked], np.append(begin[1:], flat.size)[marked], flat[begin[marked]]
    found, owner = np.unique(numbers, return_inverse=True)
    if found.size and (found[0] < 0 or (found.dtype.kind == "f" and (found != np.floor(found)).any())):
        raise LabelError("instance maps hold whole numbers of at least 0; got others")
    return NumberedRuns(starts, stops, owner, len(found))


def _divide(own: Mapping[int, NumberedRuns], counts: Whole, shape: tuple[int, ...]) -> dict[str, Any]:
    """The runs of all raters, cut where anybody's mark changes, and whose mark each of them is."""
    ends = [edge for runs in own.values() for edge in (runs.starts, runs.stops)]
    size = int(np.prod(shape))
    if DENSE * sum(map(len, ends)) > size:
        here = np.zeros(size + 1, bool)
        for edge in ends:
            here[edge] = True
        edges = np.flatnonzero(here)
    else:
        edges = np.sort(np.concatenate(ends))
        edges = edges[np.diff(edges, prepend=-1) > 0]
    starts, lengths = edges[:-1], np.diff(edges)
    table, before = np.full((len(counts), len(starts)), -1, np.int32), np.cumsum(counts) - counts
    for i, runs in own.items():
        first, last = (np.searchsorted(starts, edge) for edge in (runs.starts, runs.stops))
        covered = last - first
        at = expand(first, covered)
        table[i, at] = np.repeat(runs.owner + before[i], covered)
    marked = (table >= 0).any(axis=0)
    return {"starts": starts[marked], "lengths": lengths[marked], "runs": table[:, marked]}


DENSE = 16
"""Where runs have more ends than one of so many pixels, they are sorted by marking them in an array of all pixels."""


def _measure(own: Mapping[int, NumberedRuns], counts: Whole, shape: tuple[int, ...]) -> dict[str, Any]:
    """Size, centre, border and place in the order by geometry of every mark, from its runs along the last axis."""
    total, axes, before = int(counts.sum()), len(shape), np.cumsum(counts) - counts
    size, first = np.zeros(total, np.int64), np.zeros(total, np.int64)
    sums, cut, trace = np.zeros((axes, total)), np.zeros(total, bool), np.zeros(total)
    for i, runs in own.items():
        start, length, mark = runs.starts, runs.stops - runs.starts, runs.owner + before[i]
        size += np.bincount(mark, length, total).astype(np.int64)
        first[mark[::-1]] = start[::-1]  # the last one that is written is the first pixel
        trace += np.bincount(mark, _scatter(2 * start) + _scatter(2 * (start + length) + 1), total)
        for axis, (place, count) in enumerate(zip(np.unravel_index(start, shape), shape, strict=True)):
            middle, end = (place + (length - 1) / 2, place + length - 1) if axis == axes - 1 else (place, place)
            sums[axis] += np.bincount(mark, middle * length, total)
            if count > 1:  # a single slice has no border along its own axis
                cut[mark[(place == 0) | (end == count - 1)]] = True
    order = np.lexsort((trace, size, first))
    different = np.ones(total, bool)
    different[1:] = np.any([np.diff(each[order]) != 0 for each in (trace, size, first)], axis=0)
    rank = np.empty(total, np.int64)
    rank[order] = np.cumsum(different)
    return {
        "owner": np.repeat(np.arange(len(counts)), counts), "size": size, "centre": (sums / np.maximum(size, 1)).T,
        "cut": cut, "first_pixel": first, "rank": rank,
    }  # fmt: skip


def _scatter(pixels: Whole) -> Values:
    """A number for each end of a run, by which marks of one size and first pixel are told apart (Murmur's finaliser).

    Their sums are those of whole numbers below 2**32 in floating point: the same for the same pixels.
    """
    mixed = pixels.astype(np.uint64)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        mixed ^= mixed >> np.uint64(33)
        mixed *= np.uint64(factor)
    return (mixed >> np.uint64(32)).astype(np.float64)

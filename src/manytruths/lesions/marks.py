"""The lesions that each rater drew in one image, and how many pixels every two of them share.

A *mark* is one lesion of one rater: a connected component of their mask or, of an instance map, all pixels of a value.
All raters' marks are numbered together. Only marked pixels are looked at, and of these only the runs in which nobody's
mark changes, so that all overlaps of all pairs of raters come from one short list.
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
from ..shape.components import number_marked_pixels

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
    pixels: Whole
    """Flat positions of all pixels that anybody marked, rising."""
    numbers: NDArray[np.int32]
    """(raters, pixels) the mark at each pixel; −1 for none."""
    unrated: Flags | None
    """(raters, pixels) pixels that a rater did not rate; None where all were rated."""

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
    def overlaps(self) -> Overlaps:
        """All pairs of marks of two raters that share a pixel."""
        count, parts = len(self), []
        starts = run_starts(list(self.numbers)) if self.pixels.size else np.empty(0, np.intp)
        lengths = np.diff(np.append(starts, self.pixels.size))
        runs = self.numbers[:, starts]
        there = runs >= 0
        for i, j in combinations(np.flatnonzero(self.counts).tolist(), 2):
            both = np.flatnonzero(there[i] & there[j])
            keys, where = np.unique(runs[i, both].astype(np.int64) * count + runs[j, both], return_inverse=True)
            parts.append((keys, np.bincount(where, lengths[both], len(keys)).astype(np.int64)))
        keys = np.concatenate([keys for keys, _ in parts]) if parts else np.empty(0, np.int64)
        shared = np.concatenate([shared for _, shared in parts]) if parts else np.empty(0, np.int64)
        first, second = np.divmod(keys, max(count, 1))
        return Overlaps(first.astype(np.intp), second.astype(np.intp), shared)

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
    region: ArrayLike | None = None,
    void: int | None = None,
    most: int = MOST,
) -> Marks:
    """The lesions that each rater drew; see :func:`match_lesions` for the arguments."""
    inputs = gather_inputs(masks, None, None, None)
    names, shape = _names(inputs.columns), inputs.shape
    _check(connectivity, spacing, shape)
    drawn = {i: _marked(names[i], inputs.arrays[i], void, region) for i in inputs.present}
    if not instances:
        _refuse_labels({names[i]: values for i, (values, _) in drawn.items()})
    numbers, pixels, counts = _number(drawn, len(names), connectivity, instances)
    total = int(counts.sum())
    if total > most:
        raise TooManyLesions(
            f"the raters drew {total:,} lesions in one image, and at most {most:,} can be matched; "
            "remove specks from the masks, or do not match lesions"
        )
    unrated = None
    if any(hidden is not None for _, hidden in drawn.values()):
        unrated = np.zeros((len(names), len(pixels)), bool)
        for i, (_, hidden) in drawn.items():
            if hidden is not None:
                unrated[i] = hidden.reshape(-1)[pixels]
    absent = np.ones(len(names), bool)
    absent[inputs.present] = False
    return Marks(
        names, absent, shape, None if spacing is None else tuple(float(s) for s in spacing),
        **_measure(numbers, pixels, counts, shape), pixels=pixels, numbers=numbers, unrated=unrated,
    )  # fmt: skip


def _names(columns: Sequence[Column]) -> tuple[str, ...]:
    names = tuple(map(str, columns))
    if len(set(names)) < len(names):
        raise CallError(f"each rater has one mask; got {few(names)}")
    return names


def _check(connectivity: int | None, spacing: Sequence[float] | None, shape: tuple[int, ...]) -> None:
    axes = len(shape)
    if connectivity is not None and not 1 <= connectivity <= axes:
        raise CallError(f"connectivity must be from 1 to {axes}, the number of axes of the masks; got {connectivity}")
    if spacing is not None and (len(spacing) != axes or not all(0 < s < np.inf for s in spacing)):
        raise CallError(f"spacing must be {axes} positive numbers, one for each axis; got {tuple(spacing)}")


def _marked(
    name: str, array: NDArray[Any] | None, void: int | None, region: ArrayLike | None
) -> tuple[NDArray[Any], Flags | None]:
    """The values of a mask, 0 where nothing is counted, and the pixels that were not rated, where there are any."""
    assert array is not None
    values, hidden = np.ma.getdata(array), None
    if values.dtype.kind not in "biuf":
        raise LabelError(f"{name}: a mask holds numbers; got an array of {values.dtype}")
    if isinstance(array, np.ma.MaskedArray) and np.ma.getmaskarray(array).any():
        hidden = np.ma.getmaskarray(array)
    if void is not None and (values == void).any():
        hidden = (values == void) if hidden is None else hidden | (values == void)
    if region is not None:
        outside = ~region_mask(region, values.shape)
        values = np.where(outside, 0, values)
    return (values if hidden is None else np.where(hidden, 0, values)), hidden


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


def _number(
    drawn: Mapping[int, tuple[NDArray[Any], Flags | None]],
    raters: int,
    connectivity: int | None,
    instances: bool,
) -> tuple[NDArray[np.int32], Whole, Whole]:
    """The mark of each rater at each marked pixel, these pixels, and how many marks each rater has."""
    flags = {i: np.ascontiguousarray(values != 0) for i, (values, _) in drawn.items()}
    anywhere = np.zeros_like(next(iter(flags.values())))
    for own in flags.values():
        anywhere |= own
    pixels = np.flatnonzero(anywhere)
    numbers, counts, total = np.full((raters, len(pixels)), -1, np.int32), np.zeros(raters, np.int64), 0
    for i, (values, _) in drawn.items():
        own = flags[i].reshape(-1)[pixels]
        number: NDArray[Any]
        if instances:
            found, number = np.unique(values.reshape(-1)[pixels[own]], return_inverse=True)
            if found.size and (found[0] < 0 or (found.dtype.kind == "f" and (found != np.floor(found)).any())):
                raise LabelError("instance maps hold whole numbers of at least 0; got others")
            counts[i] = len(found)
        else:
            number, counts[i] = number_marked_pixels(flags[i], connectivity)
        numbers[i, own] = number + total
        total += int(counts[i])
    return numbers, pixels, counts


def _measure(numbers: NDArray[np.int32], pixels: Whole, counts: Whole, shape: tuple[int, ...]) -> dict[str, Any]:
    """Size, centre, border and place in the order by geometry of every mark, from its runs along the last axis."""
    total, axes, width = int(counts.sum()), len(shape), shape[-1]
    size, first = np.zeros(total, np.int64), np.zeros(total, np.int64)
    sums, cut, trace = np.zeros((axes, total)), np.zeros(total, bool), np.zeros(total)
    for row in numbers:
        here = np.flatnonzero(row >= 0)
        if not len(here):
            continue
        at, own = pixels[here], row[here]
        new = (np.diff(at) != 1) | (own[1:] != own[:-1]) | (at[1:] % width == 0)
        begin = np.append(0, np.flatnonzero(new) + 1)
        length = np.diff(np.append(begin, len(here)))
        mark, start = own[begin], at[begin]
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

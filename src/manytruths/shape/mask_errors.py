"""Traces of mistakes in masks: turned, shifted or scaled against another mask, single pixels and holes of one pixel.

A mask that was saved in another orientation, place or resolution fits other raters' masks far better after it is moved
back: that tells a mistake from another opinion. Single pixels and holes come from conversions of files, not from hands.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import permutations, product
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import GridError
from ..core.runs import LabelRuns, expand
from .components import number_runs
from .mask_bits import PackedMasks, Words, between, compress_mask, decompress_mask, neighbours, windows

Array = NDArray[Any]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Mask = NDArray[np.bool_]
Marks = Mask | LabelRuns
"""A mask in memory, or the runs of a large one: what is found is the same."""

ALIKE = 0.5
"""Dice from which two masks fit."""
NEARLY = 0.8
"""Where other raters fit each other less well: the part of their Dice that is enough."""
LEAST = 0.3
"""Dice below which nothing fits, however little the other raters agree."""
ODDS = 9
"""How many times as large the odds of Dice must be after a change: from 0.1 to 0.5, or from 0.3 to 0.8."""
RESTORED, FEWER_ODDS = 0.9, 4
"""The same where a mask fits after the change about as well as the others fit each other: this part of their Dice."""
SAME_SIZE = 0.5
"""The smaller of two sizes over the larger, from which they may be the same thing."""
RATIOS = (1 / 4, 1 / 3, 1 / 2, 2 / 3, 3 / 4, 4 / 3, 3 / 2, 2.0, 3.0, 4.0)
"""Ratios of resolutions that are tried along each axis."""
MOST_CHANCE = 0.5
"""The largest Dice that is put down to chance."""
MOST_AT_ONCE = 2**20
"""Pixels of masks that are summarised side by side."""
MOST_CORRELATED = 2**17
"""Pixels of a mask that are correlated at once."""
STEPS = 0.3
"""Weight of the correlation of steps."""
_PLATEAU = 1 - 1e-9
"""Shifts with the largest correlation but for rounding; the smallest of them is taken."""


def fits_far_better(
    before: float, after: float, common: float = math.nan, chance: float = 0.0, *, free: bool = False
) -> bool:
    """Whether a mask fits others after a change, and far better than as it is.

    ``common`` is the Dice of the others with each other: no mask can be expected to fit better. ``chance`` is that of
    masks that have nothing to do with each other, the share of the image that they mark; all Dice are taken beyond it.
    A change is ``free`` where the best of very many was chosen.

    >>> fits_far_better(0.02, 0.6), fits_far_better(0.3, 0.6), fits_far_better(0.02, 0.4, common=0.45)
    (True, False, True)
    >>> fits_far_better(0.3, 0.7, common=0.7), fits_far_better(0.3, 0.7, common=0.9)
    (True, False)
    >>> fits_far_better(0.3, 0.6, chance=0.01), fits_far_better(0.3, 0.7, chance=0.3)
    (False, True)
    """
    before, after, common = (max(0.0, (x - chance) / (1 - chance)) if x == x else x for x in (before, after, common))
    known = not math.isnan(common)
    enough = max(LEAST, min(ALIKE, NEARLY * common)) if known else ALIKE
    odds = FEWER_ODDS if not free and known and common >= ALIKE and after >= RESTORED * common else ODDS
    return after >= enough and after * (1 - before) >= odds * before * (1 - after)


# -- what is kept of a mask ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MaskTrace:
    """What is kept of a mask to compare it with those of other cases.

    Attributes
    ----------
    shape : tuple of int
        Size of the mask.
    marked : int
        Marked pixels.
    digest : bytes
        Equal for masks with the same values.
    packed : bytes
        The mask at regularly spaced points, by :func:`~.mask_bits.compress_mask`.
    specks : int
        Marked pixels without a marked neighbour.
    pinholes : int
        Unmarked pixels between marked neighbours along all axes.
    outline : int
        Marked pixels that are not between marked neighbours along all axes.
    """

    shape: tuple[int, ...]
    marked: int
    digest: bytes
    packed: bytes
    specks: int
    pinholes: int
    outline: int

    @property
    def points(self) -> Mask:
        """The mask at regularly spaced points."""
        shape = tuple(len(_places(n, len(self.shape))) for n in self.shape)
        return decompress_mask(self.packed, shape)

    @property
    def share(self) -> float:
        """The share of the image that is marked."""
        return self.marked / max(1, math.prod(self.shape))


def trace_mask(mask: Marks, values: Array | LabelRuns | None = None, part: Marks | None = None) -> MaskTrace:
    """Summarise a mask; ``values`` are its labels where there are several, ``part`` those that points are kept of.

    >>> mask = np.zeros((8, 8), bool)
    >>> mask[1:6, 1:6], mask[3, 3], mask[7, 7] = True, False, True
    >>> trace = trace_mask(mask)
    >>> trace.marked, trace.specks, trace.pinholes
    (25, 1, 1)
    """
    if isinstance(mask, LabelRuns):
        return _trace_runs(mask, values if isinstance(values, LabelRuns) else mask, mask if part is None else part)
    assert not isinstance(values, LabelRuns)
    packed = PackedMasks.of([mask])
    # an array that is neither in the order of C nor in that of Fortran
    packed = PackedMasks.of([np.ascontiguousarray(mask)]) if packed is None else packed
    assert packed is not None
    # the memory order of the file: counts do not depend on it
    held = None if values is None else np.ascontiguousarray(values.T if values.flags.f_contiguous else values)
    return _trace_packed(packed, None if held is None else [held], [mask if part is None else part])[0]


def trace_masks(masks: Sequence[Marks], packed: PackedMasks | None = None) -> list[MaskTrace]:
    """Summarise masks of one case; small ones side by side, as most of their time is the overhead of calls.

    ``packed`` are the same masks, where they are packed already.

    >>> mask = np.eye(4, dtype=bool)
    >>> trace_masks([mask, ~mask]) == [trace_mask(mask), trace_mask(~mask)]
    True
    """
    arrays = [mask for mask in masks if not isinstance(mask, LabelRuns)]
    if len(arrays) == len(masks) and sum(mask.size for mask in arrays) <= MOST_AT_ONCE:
        packed = PackedMasks.of(arrays) if packed is None else packed
        if packed is not None:
            return _trace_packed(packed, None, arrays)
    return [trace_mask(mask) for mask in masks]


def _trace_packed(packed: PackedMasks, held: Sequence[Array] | None, shown: Sequence[Marks]) -> list[MaskTrace]:
    """Summaries of masks side by side; what is hashed and shown of each is given."""
    near = packed.words
    around = between(near)
    marked, specks, gaps, inside = (_counts(each) for each in (near, near & ~neighbours(near), around, around & near))
    shape = shown[0].shape
    key = str(shape).encode()[:64]
    digests = [hashlib.blake2b(each.tobytes(), digest_size=16, key=key).digest() for each in held or packed.whole]
    points = [_pack_points(each) for each in shown]
    return [
        MaskTrace(shape, m, digest, kept, s, b - i, m - i)
        for m, s, b, i, digest, kept in zip(marked, specks, gaps, inside, digests, points, strict=True)
    ]


def _counts(words: Words) -> list[int]:
    """Marked pixels of each mask of a stack."""
    counts: list[int] = np.bitwise_count(words).sum(axis=tuple(range(1, words.ndim)), dtype=np.int64).tolist()
    return counts


def _trace_runs(marks: LabelRuns, values: LabelRuns, shown: Marks) -> MaskTrace:
    """The same of runs; digests are equal to those of runs alone."""
    digest = hashlib.blake2b(digest_size=16, key=f"runs {marks.shape}".encode()[:64])
    for part in (values.starts, values.stops, values.values):
        digest.update(np.ascontiguousarray(part).tobytes())
    numbered = number_runs(marks)
    specks = np.bincount(numbered.owner, marks.lengths, numbered.count) == 1
    counts = int(specks.sum()), _count_pinholes(marks), marks.items - _count_inside(marks)
    return MaskTrace(marks.shape, marks.items, digest.digest(), _pack_points(shown), *counts)


def _count_inside(marks: LabelRuns) -> int:
    """Marked pixels between marked ones along every axis."""
    long = marks.lengths > 2
    inside = LabelRuns(marks.shape, marks.starts[long] + 1, marks.stops[long] - 1, marks.values[long])
    for axis, sign in product(range(len(marks.shape) - 1), (1, -1)):
        beside = _shift(marks, [sign if k == axis else 0 for k in range(len(marks.shape))])
        inside = inside.intersect(cast(LabelRuns, beside))
    return inside.items


def _pack_points(shown: Marks) -> bytes:
    """A mask at regularly spaced points along each axis, as a few bytes; all of a small one."""
    axes = len(shown.shape)
    if not isinstance(shown, LabelRuns) and max(shown.shape) <= _most_places(axes):
        points = shown
    else:
        points = _take(shown, [_places(n, axes) for n in shown.shape])
    return compress_mask(points)


def _take(marks: Marks, places: Sequence[NDArray[np.intp]]) -> Mask:
    """A mask at some places along each axis."""
    if not isinstance(marks, LabelRuns):
        return np.asarray(marks[np.ix_(*places)])
    at = np.ravel_multi_index(np.ix_(*places), marks.shape)
    return _is_in(marks, at)


def _is_in(marks: LabelRuns, at: Array) -> Mask:
    """Whether flat positions lie in runs."""
    if not len(marks):
        return np.zeros(at.shape, bool)
    run = np.searchsorted(marks.starts, at, side="right") - 1
    return np.asarray((run >= 0) & (at < marks.stops[run]))


def _count_pinholes(marks: LabelRuns) -> int:
    """Gaps of one pixel in a row that lie between marked pixels along the other axes, too."""
    gap = marks.starts[1:] - marks.stops[:-1] == 1
    at = marks.stops[:-1][gap & (marks.starts[1:] // marks.shape[-1] == marks.stops[:-1] // marks.shape[-1])]
    at = at[at % marks.shape[-1] > 0]
    for axis, n in enumerate(marks.shape[:-1]):
        step = math.prod(marks.shape[axis + 1 :])
        place = at // step % n
        at = at[(place > 0) & (place < n - 1)]
        at = at[_is_in(marks, at - step) & _is_in(marks, at + step)]
    return len(at)


def count_marked(marks: Marks) -> int:
    """Marked pixels."""
    return marks.items if isinstance(marks, LabelRuns) else int(np.count_nonzero(marks))


def count_shared(marks: Marks, others: Marks) -> int:
    """Pixels that both mark."""
    if isinstance(marks, LabelRuns):
        assert isinstance(others, LabelRuns)
        return marks.intersect(others).items
    return int(np.count_nonzero(marks & np.asarray(others)))


def _most_places(axes: int) -> int:
    return max(4, round(2 ** (16 / axes)) // 2 * 2)


def _places(length: int, axes: int) -> NDArray[np.intp]:
    """Regularly spaced places along an axis, the same from both ends."""
    most = _most_places(axes)
    if length <= most:
        return np.arange(length)
    half = ((np.arange(most // 2) + 0.5) * length / most).astype(np.intp)
    return np.concatenate([half, length - 1 - half[::-1]])


# -- turned ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Turn:
    """How a mask is turned to fit another, and the Dice before and after."""

    order: tuple[int, ...]
    """Which axis takes the place of each."""
    flipped: tuple[int, ...]
    """Axes that run backwards then."""
    before: float
    after: float

    @property
    def changes(self) -> int:
        """How many axes are flipped or swapped."""
        return len(self.flipped) + sum(axis != other for axis, other in enumerate(self.order))

    def __str__(self) -> str:
        swapped = [str(axis + 1) for axis, other in enumerate(self.order) if axis != other]
        changes = [f"axes {' and '.join(swapped)} are swapped"] if swapped else []
        if self.flipped:
            axes = " and ".join(str(axis + 1) for axis in self.flipped)
            changes.append(f"axis {axes} is flipped" if len(self.flipped) == 1 else f"axes {axes} are flipped")
        return " and ".join(changes)


def find_turn(mask: ArrayLike, *others: ArrayLike, lengths: Sequence[int] = ()) -> Turn | None:
    """How ``mask`` must be turned to fit most ``others`` far better; None where it fits as it is, or no turn helps.

    Flips of every axis and swaps of axes of the same length are tried. Where these are points of larger masks,
    ``lengths`` are those of the masks.

    >>> a = np.zeros((8, 8), bool)
    >>> a[1:3, 1:4] = True
    >>> print(find_turn(a[::-1], a))
    axis 1 is flipped
    """
    a, bs = np.asarray(mask) != 0, [np.asarray(other) != 0 for other in others]
    if wrong := [b.shape for b in bs if b.shape != a.shape]:
        raise GridError(f"mask has shape {a.shape}, but other has {wrong[0]}")
    size = int(np.count_nonzero(a))
    bs = [b for b in bs if are_similar_sizes(size, int(np.count_nonzero(b)))]
    if not bs:
        return None
    before = _median_dice(a, bs)
    turned = ((way, np.flip(a.transpose(way[0]), way[1])) for way in _ways(tuple(lengths) or a.shape))
    turns = [Turn(*way, before, _median_dice(mask, bs)) for way, mask in turned]
    best = max(turns, key=lambda turn: (turn.after, -turn.changes))
    chance = float(np.median([b.mean() for b in bs]))
    return best if best.changes and fits_far_better(before, best.after, LEAST, min(chance, MOST_CHANCE)) else None


def _median_dice(mask: Mask, others: Sequence[Mask]) -> float:
    size = int(np.count_nonzero(mask))
    return float(np.median([_dice(mask, other, max(1, size + int(np.count_nonzero(other)))) for other in others]))


def are_similar_sizes(a: int, b: int, least: float = SAME_SIZE) -> bool:
    """Whether two masks mark about as many pixels."""
    return 0 < least * max(a, b) <= min(a, b)


def _ways(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for order in permutations(range(len(shape))):
        if tuple(shape[axis] for axis in order) == shape:
            for back in product((False, True), repeat=len(shape)):
                yield order, tuple(axis for axis, flip in enumerate(back) if flip)


def _dice(a: Mask, b: Mask, size: int) -> float:
    return float(2 * np.count_nonzero(a & b) / size)


# -- shifted and scaled ----------------------------------------------------------------------------


def turn_mask(mask: Marks, turn: Turn) -> Marks:
    """The mask turned."""
    if not isinstance(mask, LabelRuns):
        return np.flip(mask.transpose(turn.order), turn.flipped)
    turned = mask.turn(turn.order)
    *lead, first = np.unravel_index(turned.starts, turned.shape)
    sizes = list(enumerate(turned.shape[:-1]))
    places = [n - 1 - lead[axis] if axis in turn.flipped else lead[axis] for axis, n in sizes]
    width = turned.shape[-1]
    if len(lead) in turn.flipped:
        first = width - first - turned.lengths
    return _at_places(turned.shape, places, first, first + turned.lengths)


def _at_places(shape: tuple[int, ...], lead: Sequence[Integers], first: Integers, last: Integers) -> LabelRuns:
    """Runs by their places along all axes but the last, and by their ends along this."""
    row = np.zeros(len(first), np.int64)
    for at, n in zip(lead, shape[:-1], strict=True):
        row = row * n + at
    starts = row * shape[-1] + first
    return LabelRuns(shape, starts, starts + last - first, np.ones(len(starts), np.bool_)).join()


def profiles_of(mask: Marks) -> tuple[Floats, ...]:
    """Marked pixels at each place along each axis."""
    if isinstance(mask, LabelRuns):
        *lead, first = np.unravel_index(mask.starts, mask.shape)
        by_line = [np.bincount(at, mask.lengths, n) for at, n in zip(lead, mask.shape, strict=False)]
        n = mask.shape[-1] + 1
        ends = np.bincount(first, minlength=n) - np.bincount(first + mask.lengths, minlength=n)
        return (*(each.astype(np.float64) for each in by_line), np.cumsum(ends)[:-1].astype(np.float64))
    counts = mask.view(np.uint8)
    axes = range(mask.ndim)
    return tuple(
        np.add.reduce(counts, axis=tuple(a for a in axes if a != axis), dtype=np.uint32).astype(np.float64)
        for axis in axes
    )


def find_lags(profiles: Sequence[Floats], among: Floats) -> list[tuple[int, ...]]:
    """By how many pixels each of some masks must move along each axis to lie where some of the others lie.

    ``profiles`` are of all masks, (masks, length) for each axis; ``among`` tells with which others each is compared.
    It is the lag of the largest correlation of profiles and, with less weight, of their steps. Profiles alone say
    little where marks lie all over the image, steps alone where they are one round thing.

    >>> a = np.zeros((20, 20), bool)
    >>> a[2:6, 3:9] = True
    >>> both = zip(profiles_of(a), profiles_of(np.roll(a, (5, -1), (0, 1))))
    >>> find_lags([np.stack(axis) for axis in both], np.array([[0.0, 1.0], [1.0, 0.0]]))
    [(5, -1), (-5, 1)]
    """
    cut = [axis[:, _support(axis)] for axis in profiles]
    most = max(1, *(axis.shape[1] for axis in cut))
    mine = np.zeros((2, len(cut), len(among), most))
    for k, axis in enumerate(cut):
        mine[0, k, :, : axis.shape[1]] = axis
        mine[1, k, :, : max(0, axis.shape[1] - 1)] = np.diff(axis)
    theirs = among @ mine
    norms = np.sqrt(np.einsum("skij,skij->ski", mine, mine) * np.einsum("skij,skij->ski", theirs, theirs))
    weights = np.array([1.0, STEPS])[:, None, None] / np.where(norms == 0, 1.0, norms)
    size = 1 << (2 * most - 1).bit_length()
    mine_there, theirs_there = np.fft.rfft(np.stack([mine, theirs]), size)
    correlations = np.fft.irfft((theirs_there * mine_there.conj() * weights[..., None]).sum(axis=0), size)
    known = mine[0].any(axis=-1) & theirs[0].any(axis=-1)
    return list(zip(*np.where(known, _nearest_peaks(correlations), 0).tolist(), strict=True))


def _support(profiles: Floats) -> slice:
    """Where anything is marked, with a place on either side for the steps."""
    places = np.flatnonzero(profiles.any(axis=0))
    return slice(max(0, int(places[0]) - 1), int(places[-1]) + 2) if len(places) else slice(0, 0)


def _nearest_peaks(correlations: Floats) -> Integers:
    """The lag of the largest correlation, along the last axis; of several the smallest."""
    lags = _lags(correlations.shape[-1] // 2)
    high = correlations >= _PLATEAU * correlations.max(axis=-1, keepdims=True)
    return np.asarray(lags[high[..., lags].argmax(axis=-1)])


@lru_cache
def _lags(half: int) -> Integers:
    """Lags from the smallest to the largest, of equal ones the positive first."""
    return np.array([0, *(lag for step in range(1, half) for lag in (step, -step)), -half])


def best_offset(mask: Marks, others: Sequence[Marks]) -> tuple[int, ...]:
    """By how many pixels a mask must move to mark most of what others mark; by correlating whole masks.

    Large masks are first correlated at every second, third, … pixel, and then moved by less and less.

    >>> a = np.zeros((20, 20), bool)
    >>> a[2:6, 3:9] = True
    >>> best_offset(a, [np.roll(a, (5, -1), (0, 1))])
    (5, -1)
    """
    shape, axes = mask.shape, len(mask.shape)
    step = max(1, math.ceil((math.prod(shape) / MOST_CORRELATED) ** (1 / axes)))
    every = [np.arange(0, n, step) for n in shape]
    summed = np.asarray(np.sum([_take(other, every) for other in others], axis=0), np.float32)
    offset = np.array(_correlate(_take(mask, every).astype(np.float32), summed)) * step
    while step > 1:
        step = (step + 1) // 2 if step > 2 else 1
        near = [offset + step * np.array(way) for way in product((0, -1, 1), repeat=axes)]
        overlaps = [sum(shifted_overlap(mask, other, way.tolist()) for other in others) for way in near]
        offset = near[int(np.argmax(overlaps))]
    return tuple(offset.tolist())


def _correlate(mine: NDArray[np.float32], theirs: NDArray[np.float32]) -> list[int]:
    from scipy import fft

    sizes = [fft.next_fast_len(2 * n, real=True) for n in mine.shape]
    product_of = fft.rfftn(theirs, sizes) * fft.rfftn(mine, sizes).conj()
    correlation = fft.irfftn(product_of, sizes)
    best = np.unravel_index(int(correlation.argmax()), correlation.shape)
    return [int(lag) if lag < size // 2 else int(lag) - size for lag, size in zip(best, sizes, strict=True)]


def _shift(marks: Marks, offset: Sequence[int], back: bool = False) -> Marks:
    """What stays in the image when a mask is moved; ``back``, what of the other mask lies where it can be met.

    Both in their window of the image, runs where they lie when the first has moved.
    """
    if not isinstance(marks, LabelRuns):
        return marks[windows(marks.shape, offset)[1 if back else 0]]
    *lead, first = np.unravel_index(marks.starts, marks.shape)
    last = first + marks.lengths
    low = [max(0, step) for step in offset]
    high = [n + min(0, step) for n, step in zip(marks.shape, offset, strict=True)]
    moves = [0] * len(low) if back else list(offset)
    lead = [at + step for at, step in zip(lead, moves, strict=False)]
    first, last = np.maximum(first + moves[-1], low[-1]), np.minimum(last + moves[-1], high[-1])
    inside = last > first
    for at, a, b in zip(lead, low, high, strict=False):
        inside &= (at >= a) & (at < b)
    return _at_places(marks.shape, [at[inside] for at in lead], first[inside], last[inside])


def shifted_overlap(mask: Marks, other: Marks, offset: Sequence[int]) -> int:
    """Pixels that a mask marks together with another after it is moved by whole pixels."""
    return count_shared(_shift(mask, offset), _shift(other, offset, back=True))


def shifted_dice(mask: Marks, other: Marks, offset: Sequence[int]) -> float:
    """Dice after a mask is moved, where it still shows something; 0 where that leaves less than half of either.

    A mask that was shifted has lost what left the image: there it says nothing.
    """
    mine, theirs = _shift(mask, offset), _shift(other, offset, back=True)
    here, there = count_marked(mine), count_marked(theirs)
    whole = count_marked(mask), count_marked(other)
    if 2 * here < whole[0] or 2 * there < whole[1] or not are_similar_sizes(here, there):
        return 0.0
    return float(2 * count_shared(mine, theirs) / (here + there))


@dataclass(frozen=True)
class Scale:
    """By what a mask must be scaled along each axis, and what stays in place."""

    factors: tuple[float, ...]
    anchor: str
    """``corner`` (the first pixel) or ``centre``."""

    def __str__(self) -> str:
        unique = sorted(set(self.factors))
        factors = f"{unique[0]:.3g}" if len(unique) == 1 else " × ".join(f"{f:.3g}" for f in self.factors)
        return f"{factors} about the {'first pixel' if self.anchor == 'corner' else 'centre'} of the image"


def find_scales(mask: Mask, others: Sequence[Mask], most: int = 2) -> list[Scale]:
    """Ratios of resolutions after which a mask fits others best; of masks, or of points of them.

    One ratio along all axes, or along one of a volume, about the first pixel or the centre.

    >>> a = np.zeros((24, 24), bool)
    >>> a[4:12, 6:20] = True
    >>> half = np.zeros((24, 24), bool)
    >>> half[:12, :12] = a[::2, ::2]
    >>> str(find_scales(half, [a])[0])
    '2 about the first pixel of the image'
    """
    size, theirs = np.count_nonzero(mask), int(np.median([np.count_nonzero(other) for other in others]))
    axes, tried = range(mask.ndim), []
    for ratio in RATIOS:
        ways = {(ratio,) * mask.ndim}
        if mask.ndim > 2:  # slices and pixels may have been taken for each other
            ways |= {tuple(ratio if axis == k else 1.0 for axis in axes) for k in axes}
        for factors in sorted(ways):
            if are_similar_sizes(int(size * math.prod(factors)), theirs):
                scales = [Scale(factors, anchor) for anchor in ("corner", "centre")]
                tried += [(_median_dice(np.asarray(scale_mask(mask, scale)), others), scale) for scale in scales]
    return [scale for _, scale in sorted(tried, key=lambda each: -each[0])[:most]]


def scale_mask(mask: Marks, scale: Scale) -> Marks:
    """The mask drawn larger or smaller on a grid of the same size, by nearest neighbour."""
    sources = []
    for length, factor in zip(mask.shape, scale.factors, strict=True):
        fixed = 0.0 if scale.anchor == "corner" else length / 2
        sources.append(np.floor((np.arange(length) + 0.5 - fixed) / factor + fixed).astype(np.intp))
    if isinstance(mask, LabelRuns):
        return _scale_runs(mask, sources)
    inside = [(at >= 0) & (at < n) for at, n in zip(sources, mask.shape, strict=True)]
    result: Mask = mask[np.ix_(*(at.clip(0, n - 1) for at, n in zip(sources, mask.shape, strict=True)))]
    for axis, here in enumerate(inside):
        result[(slice(None),) * axis + (~here,)] = False
    return result


def _scale_runs(marks: LabelRuns, sources: Sequence[NDArray[np.intp]]) -> LabelRuns:
    """Runs drawn where their pixels are looked up: ``sources`` are the places along each axis, and rise."""
    *lead, first = np.unravel_index(marks.starts, marks.shape)
    last = np.searchsorted(sources[-1], first + marks.lengths)
    ends = [np.searchsorted(sources[-1], first), last]
    for axis in range(len(lead)):
        low, high = (np.searchsorted(sources[axis], lead[axis] + more) for more in (0, 1))
        lead = [np.repeat(at, high - low) for at in lead]
        ends = [np.repeat(at, high - low) for at in ends]
        lead[axis] = expand(low, high - low)
    there = ends[1] > ends[0]
    return _at_places(marks.shape, [at[there] for at in lead], ends[0][there], ends[1][there])

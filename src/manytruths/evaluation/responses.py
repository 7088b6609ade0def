"""How often each value of a probability map occurs with each pattern of the raters' decisions.

One pass over a prediction; every curve under every reference standard is then read off the counts, without the pixels.
Responses may be of any number type: whole numbers and up to 65,536 distinct values are kept as they are, more are
rounded to so many equal steps of the limits given, or of the range found.

The map of pattern numbers is made once for all algorithms. Up to 16 two-valued columns are packed to one number per
pixel; the few numbers that occur are then counted and looked up as if they were the image. All else is counted and
painted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column
from ..core.counting import tally
from ..core.errors import CallError, GridError, InputError, LabelError
from ..core.mask_arrays import Inputs, Masks, flat_blocks, format_shape, gather_inputs
from ..core.painting import paint
from ..core.tally import Tally
from .curves import ResponseCounts
from .references import ReferenceStandards

Array = NDArray[Any]
Blocks = Callable[[], Iterator[Array]]
Limits = tuple[float, float] | None

Codes = NDArray[np.int64]
Index = NDArray[np.integer[Any]]
References = Mapping[Any, ArrayLike | None] | None

BITS = 16
"""Columns that are packed: a table of all their patterns is still small."""
MOST = 65_536
"""More distinct values than this are rounded to so many."""
DENSE = 4
"""A table of all patterns and levels is made where it has at most so many entries a pixel; else pixels are sorted."""
PENDING = 1 << 22
"""Pixels that may wait before their pairs are merged."""


@dataclass(frozen=True, eq=False)
class Levels:
    """Ascending values that a response may take, and the way from a response to its level."""

    values: NDArray[np.float64]
    step: float = 0.0
    """Between neighbours, where they are evenly spaced; 0 where they are not."""
    rounded: bool = False
    """Whether responses were rounded to these."""

    def codes(self, values: Array) -> NDArray[np.integer[Any]]:
        """The number of the level of each value."""
        if not self.step:
            return np.searchsorted(self.values, values)
        if self.rounded:
            return np.asarray(np.rint((values - self.values[0]) / self.step), np.int64)
        low = int(self.values[0])
        # bytes are their own level
        return values if values.dtype == np.uint8 and not low else values.astype(np.int64) - low


def find_levels(blocks: Blocks, dtype: np.dtype[Any], limits: Limits) -> Levels:
    """The levels of what the blocks hold; they are walked through once or twice."""
    if dtype.kind not in "biuf":
        raise LabelError(f"a response is a number; got an array of {dtype}")
    if dtype.kind == "b" or (dtype == np.uint8 and limits is None):
        return Levels(np.arange(256.0), 1.0)
    low, high = _range(blocks(), limits)
    if dtype.kind != "f" and high - low < MOST:
        return Levels(np.arange(low, high + 1), 1.0)
    distinct = _distinct(blocks())
    if distinct is not None:
        return Levels(distinct)
    low, high = limits or (low, high)
    return Levels(np.linspace(low, high, MOST), (high - low) / (MOST - 1), True)


def _range(blocks: Iterable[Array], limits: Limits) -> tuple[float, float]:
    """The smallest and the largest value; an error where one is not finite or beyond the limits."""
    low, high = limits or (-np.inf, np.inf)
    least, most, strange, example, items = np.inf, -np.inf, 0, np.nan, 0
    for block in blocks:
        items += len(block)
        bad = ~(np.isfinite(block) & (block >= low) & (block <= high))
        if bad.any():
            example = float(block[bad][0]) if not strange else example
            strange += int(bad.sum())
        elif len(block):
            least, most = min(least, float(block.min())), max(most, float(block.max()))
    if strange:
        within = f"from {low:g} to {high:g}" if limits else "finite"
        raise InputError(
            f"responses must be {within}, but {strange:,} of {items:,} are not, such as {example:g}; "
            "mend them, exclude the pixels, or give a masked array"
        )
    return (least, most) if items else (0.0, 0.0)


def _distinct(blocks: Iterable[Array]) -> NDArray[np.float64] | None:
    """The distinct values; None as soon as there are too many."""
    distinct = np.empty(0)
    for block in blocks:
        distinct = np.union1d(distinct, np.unique(block).astype(np.float64))
        if len(distinct) > MOST:
            return None
    return distinct


@dataclass(frozen=True, eq=False)
class IndexedMasks:
    """A table, and the map of the pattern numbers of its pixels."""

    tally: Tally
    index: Index


def index_masks(
    masks: Masks,
    table: Tally | None = None,
    *,
    references: References = None,
    raters: Sequence[str] | str | None = None,
    void: int | None = None,
    foreground: str | None = None,
) -> IndexedMasks:
    """Count masks, as :func:`manytruths.tally` does, and map where each pattern is.

    With the table of a region or a pooled one, its patterns are mapped: −1 where it has no such.

    >>> masks = {"A": [[1, 1, 0, 0]], "B": [[1, 0, 0, 0]]}
    >>> indexed = index_masks(masks)
    >>> indexed.index, indexed.tally.counts
    (array([[2, 1, 0, 0]], dtype=int32), array([2, 1, 1]))
    >>> index_masks(masks, tally(masks, region="union")).index
    array([[ 1,  0, -1, -1]], dtype=int32)
    """
    inputs = gather_inputs(masks, raters, None, references)
    packed = _pack(inputs)
    # what is counted: the image, or the numbers that occur in it
    columns: dict[Column, Array | None] = dict(zip(inputs.columns, inputs.arrays, strict=True))
    if packed is not None:
        columns |= {inputs.columns[i]: values for i, values in zip(inputs.present, packed.columns, strict=True)}
    slots = raters if isinstance(raters, str) else None
    known = tally(columns, raters=slots, void=void, foreground=foreground) if table is None else table
    patterns = np.arange(len(known.counts), dtype=np.int32)
    numbers: Index = paint(patterns, columns, known, void=void, fill=-1, foreground=foreground)
    if packed is None:
        return IndexedMasks(known, numbers)
    if table is None:
        known = known.recount(np.bincount(numbers, packed.counts, len(known.counts)))
    by_code = np.zeros(1 << len(packed.columns), numbers.dtype)
    by_code[packed.occurring] = numbers
    return IndexedMasks(known, np.asarray(by_code[packed.codes]))


@dataclass(frozen=True, eq=False)
class _Packed:
    """A number of bits a pixel, those that occur, how often, and what every column holds there."""

    codes: NDArray[np.uint16]
    occurring: NDArray[np.intp]
    counts: NDArray[np.int64]
    columns: list[Array]


def _pack(inputs: Inputs) -> _Packed | None:
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
    occurring = np.flatnonzero(counts)
    columns = [((occurring >> i) & 1).astype(np.uint8) * np.uint8(mark) for i, mark in enumerate(marks)]
    return _Packed(codes, occurring, counts[occurring], columns)


@dataclass(frozen=True, eq=False)
class Responses:
    """The pairs of pattern and response that occur, and how many pixels show each."""

    tally: Tally
    """The table of the patterns. It may count more pixels: parts can be excluded for one algorithm."""
    levels: NDArray[np.float64]
    """The responses that occur, ascending."""
    pattern: NDArray[np.intp]
    """The pattern of each pair."""
    level: NDArray[np.intp]
    """The position of its response in ``levels``."""
    counts: NDArray[np.int64]
    """How many pixels."""
    rounded: bool = False
    """Whether there were too many distinct responses to keep them all."""

    def __repr__(self) -> str:
        rounded = " (rounded)" if self.rounded else ""
        return f"<Responses of {self.items:,} items: {len(self.levels):,} levels{rounded}, {len(self.counts):,} pairs>"

    @property
    def items(self) -> int:
        """How many pixels were counted."""
        return int(self.counts.sum())

    @property
    def constant(self) -> bool:
        """Whether every pixel has the same response, so that no threshold separates them."""
        return len(self.levels) < 2

    def against(self, references: ReferenceStandards) -> ResponseCounts:
        """Positives and negatives of every reference standard by response.

        Parameters
        ----------
        references : ReferenceStandards
            Reference standards of this table, or of a pooled one.

        Returns
        -------
        ResponseCounts
            Counts from which curves are read off.
        """
        here = references.onto(self.tally)
        positives = np.stack([self._by_level(row) for row in here.positive])
        whole = self._by_level(np.ones(len(self.tally.counts), bool))
        counted = np.stack([whole if row.all() else self._by_level(row) for row in here.rated])
        rated = np.flatnonzero(self.tally.rated > 0)
        shares, group = np.unique(self.tally.marked[rated] / self.tally.rated[rated], return_inverse=True)
        where = np.full(len(self.tally.counts), -1)
        where[rated] = group
        return ResponseCounts(
            references=here.names,
            levels=self.levels,
            positives=positives,
            negatives=counted - positives,
            shares=shares,
            by_share=self._by_group(where, len(shares)),
            rounded=self.rounded,
        )

    def _by_level(self, chosen: NDArray[np.bool_]) -> NDArray[np.int64]:
        """How many pixels of the patterns chosen show each response."""
        keep = np.flatnonzero(chosen[self.pattern])
        # weights are floats, and whole numbers among them exact up to 2^53
        return np.bincount(self.level[keep], self.counts[keep], len(self.levels)).astype(np.int64)

    def _by_group(self, group: NDArray[np.intp], groups: int) -> NDArray[np.int64]:
        """(groups, levels) pixels, of patterns sorted into groups, −1 for none."""
        to = group[self.pattern]
        keep, width = to >= 0, len(self.levels)
        counts = np.bincount(to[keep] * width + self.level[keep], self.counts[keep], groups * width)
        return counts.astype(np.int64).reshape(groups, width)


def count_responses(
    prediction: ArrayLike,
    masks: Masks,
    tally: Tally | None = None,
    *,
    references: Mapping[str, ArrayLike | None] | None = None,
    region: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    limits: tuple[float, float] | None = None,
    raters: Sequence[str] | str | None = None,
    void: int | None = None,
    foreground: str | None = None,
) -> Responses:
    """Count a probability map against the masks of the same image.

    Parameters
    ----------
    prediction : array_like
        One number per pixel, the higher the more certain. Masked pixels of a masked array do not count.
    masks : masks by rater
        As for :func:`manytruths.tally`; so are ``references``, ``raters``, ``void`` and ``foreground``.
    tally : Tally, optional
        The table of these masks, where it has been counted already.
    references : mapping of str to array_like, optional
        Given reference standards by name.
    region, exclude : array_like, optional
        Masks of the pixels to count, and of those to leave out: what the algorithm was trained on.
    limits : tuple of float, optional
        The smallest and the largest possible response; others are an error. Give them where several cases are to be
        added, so that all are rounded alike.
    raters : sequence of str or str, optional
        Names of the raters, or ``"exchangeable"``.
    void : int, optional
        The value that means "not rated".
    foreground : {"any"}, optional
        Unite all labels but 0.

    Returns
    -------
    Responses
        Counts by pattern and response; ``against(reference_standards(tally))`` gives curves.

    Examples
    --------
    >>> masks = {"A": [[1, 1, 0, 0]], "B": [[1, 0, 0, 0]]}
    >>> count_responses([[200, 90, 90, 10]], masks)
    <Responses of 4 items: 3 levels, 4 pairs>
    """
    indexed = index_masks(masks, tally, references=references, raters=raters, void=void, foreground=foreground)
    return count_indexed_responses(
        prediction, indexed.index, indexed.tally, region=region, exclude=exclude, limits=limits
    )  # fmt: skip


def count_indexed_responses(
    values: ArrayLike,
    index: Index,
    tally: Tally,
    *,
    region: ArrayLike | None = None,
    exclude: ArrayLike | None = None,
    limits: tuple[float, float] | None = None,
) -> Responses:
    """Count one prediction of several over a map of pattern numbers, negative where a pixel does not count.

    :func:`index_masks` makes such a map; other arguments are those of :func:`count_responses`.

    >>> masks = index_masks({"A": [[1, 1, 0, 0]], "B": [[1, 0, 0, 0]]})
    >>> count_indexed_responses([[0.9, 0.2, 0.1, 0.1]], masks.index, masks.tally, exclude=[[0, 0, 0, 1]]).levels
    array([0.1, 0.2, 0.9])
    """
    if limits is not None and not -np.inf < limits[0] < limits[1] < np.inf:
        raise CallError(f"limits are two finite numbers, the lower first; got {limits!r}")
    array = np.ma.getdata(values) if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
    array = array.view(np.uint8) if array.dtype == bool else array
    masked = values.mask if isinstance(values, np.ma.MaskedArray) and values.mask is not np.ma.nomask else None
    parts = {"prediction": array, "region": region, "part to exclude": exclude, "prediction's mask": masked}
    for name, mask in parts.items():
        if mask is not None and np.shape(mask) != index.shape:
            got, wanted = format_shape(np.shape(mask)), format_shape(index.shape)
            raise GridError(f"the {name} is {got} but the masks are {wanted}")
    inside = [] if region is None else [np.asarray(region).astype(bool)]
    inside += [~np.asarray(mask).astype(bool) for mask in (exclude, masked) if mask is not None]

    def blocks() -> Iterator[tuple[Array, Index]]:
        """Responses and pattern numbers, without what does not count."""
        for responses, patterns, *masks in flat_blocks([array, index, *inside]):
            keep = np.logical_and.reduce([patterns >= 0, *masks])
            yield (responses, patterns) if keep.all() else (responses[keep], patterns[keep])

    return count_response_blocks(blocks, array.dtype, tally, limits=limits)


def count_response_blocks(
    blocks: Callable[[], Iterable[tuple[Array, Index]]],
    dtype: np.dtype[Any],
    tally: Tally,
    *,
    limits: tuple[float, float] | None = None,
) -> Responses:
    """Count a prediction that comes in flat blocks of responses and pattern numbers; they are walked through up to
    three times.

    >>> masks = index_masks({"A": [[1, 1, 0, 0]], "B": [[1, 0, 0, 0]]})
    >>> blocks = lambda: [(np.array([200, 90], np.uint8), masks.index[0, :2])]
    >>> count_response_blocks(blocks, np.dtype(np.uint8), masks.tally)
    <Responses of 2 items: 2 levels, 2 pairs>
    """
    levels = find_levels(lambda: (responses for responses, _ in blocks()), dtype, limits)
    return _count_pairs(blocks(), levels, tally)


def _count_pairs(blocks: Iterable[tuple[Array, Index]], levels: Levels, tally: Tally) -> Responses:
    """The pairs that occur. The commonest pattern, which most pixels show, is what the others leave of all."""
    width, common = len(levels.values), int(np.argmax(tally.counts)) if len(tally.counts) else 0
    most = width * len(tally.counts)
    # short numbers sort faster
    wide = np.dtype(np.int32 if most < 1 << 31 else np.int64)
    whole, pairs = np.zeros(width, np.int64), _Pairs(most, wide)
    for values, index in blocks:
        codes, rare = levels.codes(values), np.flatnonzero(index != common)
        whole += np.bincount(codes, minlength=width)
        pairs.add(index[rare].astype(wide) * wide.type(width) + codes[rare].astype(wide))
    distinct, counts = pairs.merged()
    whole -= np.bincount(distinct % width, counts, width).astype(np.int64)
    left = np.flatnonzero(whole)
    at = int(np.searchsorted(distinct, common * width))
    distinct, counts = np.insert(distinct, at, common * width + left), np.insert(counts, at, whole[left])
    pattern, level = np.divmod(distinct, width)
    used = np.bincount(level, minlength=width) > 0
    return Responses(tally, levels.values[used], pattern, (np.cumsum(used) - 1)[level], counts, levels.rounded)


class _Pairs:
    """Distinct codes below ``most`` and how often each occurs; so many wait before they are counted."""

    def __init__(self, most: int, dtype: np.dtype[Any]) -> None:
        self.most, self.waiting = most, 0
        self.codes: list[Array] = [np.empty(0, dtype)]
        self.counted: list[tuple[Codes, Codes]] = []

    def add(self, codes: Array) -> None:
        self.codes.append(codes)
        self.waiting += len(codes)
        if self.waiting > PENDING:
            self._count()

    def _count(self) -> None:
        codes = np.concatenate(self.codes)
        self.codes, self.waiting = [codes[:0]], 0
        if self.most <= DENSE * len(codes):
            counts = np.bincount(codes)
            distinct = np.flatnonzero(counts)
            self.counted.append((distinct, counts[distinct]))
        else:
            distinct, counts = np.unique(codes, return_counts=True)
            self.counted.append((distinct.astype(np.int64), counts))

    def merged(self) -> tuple[Codes, Codes]:
        """The codes, ascending, and their counts."""
        if self.waiting or not self.counted:
            self._count()
        if len(self.counted) == 1:
            return self.counted[0]
        codes, counts = (np.concatenate(parts) for parts in zip(*self.counted, strict=True))
        distinct, where = np.unique(codes, return_inverse=True)
        return distinct, np.bincount(where, counts, len(distinct)).astype(np.int64)

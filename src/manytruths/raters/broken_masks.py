"""Masks of one case that are probably broken: a mistake of saving or conversion rather than another opinion.

A mask is compared with those of the other raters, each in the first session. It is suspected where one change makes it
fit most of them far better: inverted, turned, shifted, scaled, or with labels numbered otherwise. It fits where Dice is
0.5 or more, or nearly that of the other raters with each other; far better where the odds of Dice are nine times as
large. With two raters the change explains the disagreement, but not who is wrong.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.labels import VOID
from ..core.mask_arrays import HIDDEN
from ..core.runs import LabelRuns
from ..core.tally import Tally, cross_tabulate
from ..shape.mask_bits import PackedMasks
from ..shape.mask_errors import (
    ALIKE,
    MOST_CHANCE,
    Marks,
    MaskTrace,
    are_similar_sizes,
    best_offset,
    count_marked,
    count_shared,
    find_lags,
    find_scales,
    find_turn,
    fits_far_better,
    profiles_of,
    scale_mask,
    shifted_dice,
    shifted_overlap,
    trace_mask,
    trace_masks,
    turn_mask,
)

Array = NDArray[Any]
Floats = NDArray[np.float64]

FULL = 0.95
"""Share of the image from which nearly all of it is marked."""
LEFT = 0.8
"""The largest share that the others may mark then, so that the difference is not a matter of the border."""
FEW = 20
"""Single pixels or holes from which on there are many."""
MANY = 0.01
"""Their number over that of marked pixels; hand-drawn masks are below 0.004 but for the smallest."""
MORE = 5
"""How many times as large this must be as in the other raters' masks: some structures are single pixels."""
WORSE = 0.7
"""A mask is looked at where its Dice with the others is below this part of theirs with each other, or below 0.5."""
LEAST_SHIFT = 2
"""Pixels; outlines that are filled by different rules may lie one pixel apart."""
FREEDOM = 0.15
"""By how much Dice must be larger after a shift, which is free, than after another change."""
CUT = 0.25
"""The smaller of two sizes over the larger, where one mask may have left the image in part."""
ENOUGH = 7
"""Raters that a mask is compared with."""
OUTLINE = 200
"""Pixels of outline from which two equal masks are no chance: raters who agree about 98% of these pixels would draw the
same mask in 2 of 100 cases."""
MOST_LABELS = 32
"""With more labels, their numbering is not looked at."""


@dataclass(frozen=True)
class BrokenMask:
    """A mask that is probably broken, and the evidence.

    Attributes
    ----------
    kind : str
        ``all_marked``, ``inverted``, ``turned``, ``shifted``, ``scaled``, ``other_labels``, ``speckle``, ``pinholes``
        or ``identical``.
    columns : tuple of Column
        Whose mask it is: of two raters who fit each other after the change, both; both of two identical masks.
    before, after : float
        Median Dice with the other raters' masks as it is, and after the change; NaN where nothing is changed.
    change : str
        The change, in words.
    share : float
        Of the image that is marked (``all_marked``), or of the marked pixels that are single or holes.
    others : float
        The same of the other raters: their median.
    count : int
        Single pixels, holes, or pixels of the outline of identical masks.
    """

    kind: str
    columns: tuple[Column, ...]
    before: float = math.nan
    after: float = math.nan
    change: str = ""
    share: float = math.nan
    others: float = math.nan
    count: int = 0


@dataclass(frozen=True, slots=True)
class Offset:
    """Where a mask lies against the others' masks."""

    pixels: tuple[int, ...]
    """By how much it must move to lie where the others lie."""
    before: float
    """Median Dice with the others as it is."""
    after: float
    """The same after it is moved."""


@dataclass(frozen=True, slots=True)
class MaskReview:
    """What the masks of one case show about themselves.

    Attributes
    ----------
    broken : tuple of BrokenMask
        Masks that are probably broken.
    traces : mapping of Column to MaskTrace
        What is kept of each mask, to compare it with those of other cases.
    offsets : mapping of Column to Offset
        Where each mask lies against the others.
    fits : mapping of Column to float
        Median Dice of each mask with those of the other raters; NaN where nothing can be compared.
    common : mapping of Column to float
        Median Dice among the other raters' masks; NaN where there are none or one.
    apart : mapping of Column to float
        Pixels in which each mask differs from the nearest other rater's, over its outline.
    """

    broken: tuple[BrokenMask, ...] = ()
    traces: Mapping[Column, MaskTrace] = field(default_factory=dict)
    offsets: Mapping[Column, Offset] = field(default_factory=dict)
    fits: Mapping[Column, float] = field(default_factory=dict)
    common: Mapping[Column, float] = field(default_factory=dict)
    apart: Mapping[Column, float] = field(default_factory=dict)


def review_masks(tally: Tally, masks: Mapping[Column, Array | LabelRuns], void: int | None = None) -> MaskReview:
    """Look for broken masks among those of one case.

    Parameters
    ----------
    tally : Tally
        The patterns of the whole image.
    masks : mapping of Column to array or LabelRuns
        The masks that were counted, by rater and session; of large ones the runs.
    void : int, optional
        The value that means "not rated".

    Returns
    -------
    MaskReview
        The masks that are probably broken, and what is kept to compare cases.
    """
    case = _Case.of(tally, masks, void)
    if case is None:
        return MaskReview()
    broken = [*_identical(case), *_dotted(case, "speckle"), *_dotted(case, "pinholes")]
    full = {case.columns.index(mask.columns[0]): mask for mask in _all_marked(case)}
    said = {case.columns.index(c) for mask in broken if mask.kind == "speckle" for c in mask.columns} | set(full)
    broken += [_find_change(case, i, said, (_inverted,)) or mask for i, mask in full.items()]
    for i in range(len(case.columns)):
        if i not in said and (found := _find_change(case, i, said)) is not None:
            broken.append(found)
            said |= {case.columns.index(c) for c in found.columns}
    columns = case.columns
    offsets = {columns[i]: offset for i, offset in case.offsets().items()}
    fits = {column: case.median_fit(i) for i, column in enumerate(columns)}
    common = {column: case.common_fit(i) for i, column in enumerate(columns)}
    apart = {column: far for i, column in enumerate(columns) if not math.isnan(far := case.apart(i))}
    return MaskReview(tuple(broken), dict(zip(columns, case.traces, strict=True)), offsets, fits, common, apart)


@dataclass(frozen=True, eq=False)
class _Case:
    """The masks of a case as marked or not, and how they overlap; masks are named by their position."""

    columns: tuple[Column, ...]
    first: tuple[int, ...]
    """Each rater in the first session that there is."""
    masks: list[Marks]
    """Of several labels, every second one."""
    packed: PackedMasks | None
    """The same as bits; None of runs."""
    traces: list[MaskTrace]
    """Of all labels."""
    both: Floats
    """Pixels that two masks mark, of the labels that are looked at."""
    labels: Floats | None
    """(columns, columns, labels, labels) pixels, where there are several labels."""
    names: tuple[str, ...]
    """Of the labels."""
    base_is_background: bool

    @classmethod
    def of(cls, tally: Tally, masks: Mapping[Column, Array | LabelRuns], void: int | None) -> _Case | None:
        columns = tuple(c for c in tally.columns if c in masks and c.role == "rater")
        if tally.labels.background is None or not columns:
            return None
        where = [tally.columns.index(c) for c in columns]
        base, several = _most_frequent(tally, where), len(tally.labels.marks) > 1
        shown = _looked_at(tally, base)
        is_shown = np.zeros(VOID + 1)
        is_shown[shown] = 1
        chosen = is_shown[tally.patterns[:, where]]
        by_label = None
        if several and len(tally.labels) <= MOST_LABELS:
            by_label = cross_tabulate(tally.patterns, tally.counts, where, len(tally.labels))
        values = [masks[c] if isinstance(masks[c], LabelRuns) else np.ma.getdata(masks[c]) for c in columns]
        marked = [_is_marked(v, tally.labels.values[base], void) for v in values]
        chosen_values = [tally.labels.values[code] for code in shown]
        looked_at = [_has_value(v, chosen_values) for v in values] if several else marked
        packed = PackedMasks.of(looked_at)
        if several:
            traces = [trace_mask(m, v, part) for m, v, part in zip(marked, values, looked_at, strict=True)]
        else:
            traces = trace_masks(marked, packed)
        first: dict[str, int] = {}
        for i in sorted(range(len(columns)), key=lambda i: columns[i].order):
            first.setdefault(columns[i].name, i)
        both = (chosen * tally.counts[:, None]).T @ chosen
        is_background = base == tally.labels.background
        names = tally.labels.names
        return cls(columns, tuple(first.values()), looked_at, packed, traces, both, by_label, names, is_background)

    @cached_property
    def dice(self) -> Floats:
        """Dice of every two masks; 0 where both are empty."""
        size = np.diag(self.both)
        return np.asarray(2 * self.both / np.maximum(size[:, None] + size[None, :], 1))

    @cached_property
    def sizes(self) -> list[int]:
        """Marked pixels."""
        return [int(size) for size in np.diag(self.both)]

    def others(self, i: int) -> list[int]:
        """The other raters who marked anything; of many some, which is enough to see who is unlike most."""
        return self._others[i]

    @cached_property
    def _others(self) -> list[list[int]]:
        marked = [(k, self.columns[k].name) for k in self.first if self.sizes[k]]
        others = [[k for k, name in marked if name != column.name] for column in self.columns]
        return [each[:: math.ceil(len(each) / ENOUGH)] if len(each) > ENOUGH else each for each in others]

    def median_fit(self, i: int) -> float:
        """Median Dice with the other raters."""
        return self._median_fits[i]

    @cached_property
    def _median_fits(self) -> list[float]:
        fits = [[row[k] for k in others] for row, others in zip(self.dice.tolist(), self._others, strict=True)]
        return [_median(each) if each and size else math.nan for each, size in zip(fits, self.sizes, strict=True)]

    def common_fit(self, i: int) -> float:
        """Median Dice among the other raters."""
        return self._common_fits[i]

    @cached_property
    def _common_fits(self) -> list[float]:
        dice: list[list[float]] = self.dice.tolist()
        pairs = [[dice[a][b] for a, b in combinations(others, 2)] for others in self._others]
        return [_median(each) if each else math.nan for each in pairs]

    def chance(self, i: int) -> float:
        """Dice with the other raters of a mask that has nothing to do with them: the share of the image they mark."""
        return min(MOST_CHANCE, _median([self.sizes[k] for k in self.others(i)]) / math.prod(self.masks[i].shape))

    def apart(self, i: int) -> float:
        """Pixels in which a mask differs from the nearest other rater's, over its outline; NaN if there is none."""
        others = self.others(i)
        if not others or not self.sizes[i]:
            return math.nan
        differ = [self.sizes[i] + self.sizes[k] - 2 * float(self.both[i, k]) for k in others]
        return min(differ) / self.traces[i].outline

    def common_label_fit(self, others: list[int]) -> float:
        """Median over pairs of other raters of the mean Dice of their labels."""
        assert self.labels is not None
        pairs = [_label_dice(self.labels[a, b]) for a, b in combinations(others, 2)]
        return _median([np.diag(dice).mean() for dice in pairs]) if pairs else math.nan

    def is_odd(self, i: int, others: list[int]) -> bool:
        """Whether a mask fits others badly, or much less than they fit each other."""
        common = self.common_fit(i)
        enough = max(ALIKE, WORSE * (0 if math.isnan(common) else common))
        return bool(others) and _median(self.dice[i, others].tolist()) < enough

    @property
    def profiles(self) -> list[Floats]:
        """Profiles of all masks along each axis, (masks, length); each of sum 1 where anything is marked."""
        if self.packed is not None:
            counts = self.packed.profiles()
        else:
            counts = [np.stack(axis) for axis in zip(*map(profiles_of, self.masks), strict=True)]
        return [axis / np.maximum(1, self.sizes)[:, None] for axis in counts]

    def moved_dice(self, i: int, others: Sequence[int], pixels: Sequence[int]) -> list[float]:
        """Dice of a mask that is moved with others."""
        if self.packed is not None:
            shared = self.packed.shifted_overlaps(i, others, pixels)
        else:
            shared = [shifted_overlap(self.masks[i], self.masks[k], pixels) for k in others]
        return [2 * both / (self.sizes[i] + self.sizes[k]) for both, k in zip(shared, others, strict=True)]

    def offsets(self) -> dict[int, Offset]:
        """Where each mask lies against the other raters' masks."""
        among = np.zeros((len(self.columns), len(self.columns)))
        for i, others in enumerate(self._others):
            among[i, others] = 1
        found = dict[int, Offset]()
        for i, pixels in enumerate(find_lags(self.profiles, among)):
            if self.sizes[i] and self.others(i):
                before = after = self.median_fit(i)
                if max(map(abs, pixels)) >= LEAST_SHIFT:
                    after = _median(self.moved_dice(i, self.others(i), pixels))
                found[i] = Offset(pixels, before, after)
        return found


def _looked_at(tally: Tally, base: int) -> NDArray[np.int64]:
    """The labels whose marks are compared: all but that which counts as not marked; of several, every second one.

    All labels together may fill the image, and fit whatever is done to them.
    """
    used = [code for code in range(len(tally.labels)) if code != base]
    odd = [code for code in used if tally.labels.values[code] % 2]
    if len(tally.labels.marks) > 1 and (tally.counts @ np.isin(tally.patterns, odd).any(axis=1)):
        used = odd
    return np.array(used, np.int64)


def _median(numbers: Sequence[float] | Floats) -> float:
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    return float(ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2)


def _most_frequent(tally: Tally, where: Sequence[int]) -> int:
    """The label that counts as not marked: background, or of several labels the most frequent."""
    background = tally.labels.background
    assert background is not None
    if len(tally.labels.marks) < 2:
        return background
    rows = tally.patterns[:, list(where)]
    totals = [int(tally.counts @ (rows == code).sum(axis=1)) for code in range(len(tally.labels))]
    # an image that is all foreground, such as a map of tissues
    return int(np.argmax(totals)) if totals[background] < max(totals) else background


def _is_marked(values: Array | LabelRuns, base: int, void: int | None) -> Marks:
    if isinstance(values, LabelRuns):
        kept = values.hide(void)
        marked = kept.select((kept.values != base) & (kept.values != HIDDEN)).marks()
        return marked if base == 0 else marked.join(values.complement()).join()
    marked = values != base
    return marked if void is None else np.asarray(marked & (values != void))


def _has_value(values: Array | LabelRuns, wanted: Sequence[int]) -> Marks:
    if isinstance(values, LabelRuns):
        marked = values.select(np.isin(values.values, wanted)).marks()
        return marked.join(values.complement()) if 0 in wanted else marked
    return np.isin(values, wanted)


# -- one mask against the others -------------------------------------------------------------------


Change = tuple[str, list[float], str]
"""The kind of a change, Dice with the others after it, and what it is in words."""


def _find_change(
    case: _Case, i: int, said: set[int], ways: Sequence[Callable[[_Case, int, list[int]], Iterator[Change]]] = ()
) -> BrokenMask | None:
    """What must be changed so that a mask fits most others; of several changes the one after which it fits best."""
    others = [k for k in case.others(i) if k not in said]
    if not others or not case.sizes[i]:
        return None
    numbered = _other_labels(case, i, others)
    if numbered is not None or not case.is_odd(i, others):
        return numbered
    before, common = case.dice[i, others].tolist(), case.common_fit(i)
    found = []
    for kind, after, change in chain(*(way(case, i, others) for way in ways or WAYS)):
        free, chance = kind == "shifted", case.chance(i)
        better = [fits_far_better(b, a, common, chance, free=free) for b, a in zip(before, after, strict=True)]
        if 2 * sum(better) > len(others):
            share = case.traces[i].share if kind == "inverted" else math.nan
            found.append(BrokenMask(kind, _suspects(case, i, others), _median(before), _median(after), change, share))
    return max(found, key=lambda mask: mask.after - FREEDOM * (mask.kind == "shifted"), default=None)


def _suspects(case: _Case, i: int, others: list[int]) -> tuple[Column, ...]:
    """Whose mask is broken: of two raters nobody can say."""
    both = (case.columns[i],) if len(others) > 1 else (case.columns[i], case.columns[others[0]])
    return tuple(sorted(both, key=lambda column: column.order))


def _inverted(case: _Case, i: int, others: list[int]) -> Iterator[Change]:
    if case.base_is_background:
        left, fits = math.prod(case.masks[i].shape) - case.sizes[i], list[float]()
        for k in others:
            size = case.sizes[k]
            overlap = 2 * (size - case.both[i, k]) / (left + size)
            fits.append(overlap if are_similar_sizes(left, size) else 0.0)
        yield "inverted", fits, "inverted"


def _turned(case: _Case, i: int, others: list[int]) -> Iterator[Change]:
    trace = case.traces[i]
    way = find_turn(trace.points, *(case.traces[k].points for k in others), lengths=trace.shape)
    if way is not None:
        turned = turn_mask(case.masks[i], way)
        yield "turned", [_similar_dice(case, turned, k) for k in others], str(way)


def _similar_dice(case: _Case, changed: Marks, k: int) -> float:
    """Dice of a changed mask with another rater's, if they are of about the same size."""
    size, other = count_marked(changed), case.sizes[k]
    if not are_similar_sizes(size, other):
        return 0.0
    return float(2 * count_shared(changed, case.masks[k]) / (size + other))


def _shifted(case: _Case, i: int, others: list[int]) -> Iterator[Change]:
    alike = [k for k in others if are_similar_sizes(case.sizes[i], case.sizes[k], CUT)]
    pixels = best_offset(case.masks[i], [case.masks[k] for k in alike]) if alike else ()
    if any(pixels):
        yield "shifted", [shifted_dice(case.masks[i], case.masks[k], pixels) for k in others], name_offset(pixels)


def pixel_name(axes: int) -> str:
    """``voxel`` where images have three axes."""
    return "voxel" if axes > 2 else "pixel"


def name_offset(pixels: Sequence[int]) -> str:
    """``12 pixels along axis 1 and −3 along axis 2``.

    >>> name_offset((12, -3)), name_offset((0, 1))
    ('12 pixels along axis 1 and −3 along axis 2', '1 pixel along axis 2')
    """
    steps = [(step, axis) for axis, step in enumerate(pixels, start=1) if step]
    unit = f" {pixel_name(len(pixels))}" + ("" if steps and abs(steps[0][0]) == 1 else "s")
    words = [f"{step}{'' if i else unit} along axis {axis}" for i, (step, axis) in enumerate(steps)]
    return " and ".join(words).replace("-", "−")


def _scaled(case: _Case, i: int, others: list[int]) -> Iterator[Change]:
    for scale in find_scales(case.traces[i].points, [case.traces[k].points for k in others]):
        changed = scale_mask(case.masks[i], scale)
        # a mask like that of another rater is of a school that draws smaller or larger, not of another resolution
        if (case.dice[i, others] < ALIKE).all():
            yield "scaled", [_similar_dice(case, changed, k) for k in others], str(scale)


WAYS = (_inverted, _turned, _shifted, _scaled)
"""Changes that are tried."""


def _other_labels(case: _Case, i: int, others: list[int]) -> BrokenMask | None:
    """Labels numbered otherwise than by most others."""
    if case.labels is None:
        return None
    common = case.common_label_fit(others)
    found = [_renumbering(case.labels[i, k], common) for k in others]
    named = Counter(pairs for pairs, *_ in found if pairs)
    if not named or 2 * named.most_common(1)[0][1] <= len(others):
        return None
    pairs = named.most_common(1)[0][0]
    before = _median([fit for moved, fit, _ in found if moved == pairs])
    after = _median([fit for moved, _, fit in found if moved == pairs])
    change = ", ".join(f"{case.names[a]} read as {case.names[b]}" for a, b in pairs)
    return BrokenMask("other_labels", _suspects(case, i, others), before, after, change)


def _label_dice(table: Floats) -> Floats:
    """Dice of every label of one mask but the first with every one of another."""
    sizes = table.sum(axis=1)[:, None] + table.sum(axis=0)[None, :]
    return np.asarray(2 * table / np.maximum(sizes, 1))[1:, 1:]


def _renumbering(table: Floats, common: float = math.nan) -> tuple[tuple[tuple[int, int], ...], float, float]:
    """Which labels must be read as which to fit, and the mean Dice of these labels before and after."""
    from scipy.optimize import linear_sum_assignment

    marks = _label_dice(table)
    rows, columns = linear_sum_assignment(-marks)
    own = table.sum(axis=1)[1:] > 0
    moved = [(int(a), int(b)) for a, b in zip(rows, columns, strict=True) if a != b and own[a] and marks[a, b] > 0]
    if not moved:
        return (), math.nan, math.nan
    before = float(np.mean([marks[a, a] for a, _ in moved]))
    after = float(np.mean([marks[a, b] for a, b in moved]))
    pairs = tuple((a + 1, b + 1) for a, b in moved)
    return (pairs, before, after) if fits_far_better(before, after, common) else ((), before, after)


# -- masks by themselves, and beside each other ----------------------------------------------------


def _all_marked(case: _Case) -> Iterator[BrokenMask]:
    """Masks of nearly the whole image where the others leave much of it."""
    for i, column in enumerate(case.columns if case.base_is_background else ()):
        share = case.traces[i].share
        others = [case.traces[k].share for k in case.first if case.columns[k].name != column.name]
        if share >= FULL and others and _median(others) <= LEFT:
            yield BrokenMask("all_marked", (column,), share=share, others=_median(others))


def _identical(case: _Case) -> Iterator[BrokenMask]:
    """Pairs of masks that are the same, pixel by pixel."""
    equal: dict[bytes, list[int]] = {}
    for i, trace in enumerate(case.traces):
        if trace.marked:
            equal.setdefault(trace.digest, []).append(i)
    for same in equal.values():
        for a, b in combinations(same, 2):
            yield BrokenMask("identical", (case.columns[a], case.columns[b]), count=case.traces[a].outline)


def _dotted(case: _Case, kind: str) -> Iterator[BrokenMask]:
    """Masks with many single pixels, or many holes of one pixel."""
    counts = [trace.specks if kind == "speckle" else trace.pinholes for trace in case.traces]
    shares = [count / max(1, trace.marked) for count, trace in zip(counts, case.traces, strict=True)]
    for i, column in enumerate(case.columns):
        if counts[i] >= FEW and shares[i] >= MANY:
            others = _median([shares[k] for k in case.others(i)] or [0.0])
            if shares[i] > MORE * others:
                yield BrokenMask(kind, (column,), share=shares[i], others=others, count=counts[i])

"""Masks of a study that are probably broken, lost or copied: what a case shows, and what shows between cases."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.runs import TooManyRuns
from ..core.tally import Tally
from ..raters.broken_masks import (
    LEAST_SHIFT,
    OUTLINE,
    BrokenMask,
    MaskReview,
    Offset,
    name_offset,
    pixel_name,
    review_masks,
)
from ..shape.mask_errors import MOST_CHANCE, RESTORED, MaskTrace, are_similar_sizes, fits_far_better
from .case import Case, Reading

if TYPE_CHECKING:
    from .study import Study

Floats = NDArray[np.float64]

SEVERAL = 5
"""Cases from which on a shift can be called constant."""
MOST = 2 / 3
"""Share of a rater's cases that are shifted in the same direction."""
STEADY = 5
"""How many standard errors the median shift must be from 0; those of sound raters were below 2."""
NEARER = 0.75
"""How much of the Dice distance to the others a constant shift may leave."""
CLOSER, GAIN = 0.5, 0.03
"""Or how much of the way to the others' Dice with each other it must go; and how much Dice it must gain."""
CANDIDATES = 3
"""Cases that look most like a mask and are compared with it point by point."""
AS_USUAL = 0.9
"""Part of the usual Dice of the study that a mask must reach after it is moved."""
ALMOST = 0.95
"""The same between two masks alone."""
SURE = 0.8
"""Dice that is enough between two masks alone, and that is needed in a study of few cases."""
UNLIKE = 0.3
"""Dice with the other raters below which a mask is compared with other cases, or half of what is usual."""
HALF = 0.5
SAMPLE = 100
"""Masks that fit in their case, by which it is seen how well a mask fits in another case by chance."""
CASE_OUTLINE = 60
"""Pixels of outline from which equal masks of two cases are no chance."""
FEW_MASKS, NEAREST, DIFFER = 20, 0.2, 30
"""From so many masks on, the nearest raters (this quantile) show how many pixels of an outline differ; equal masks are
no chance where so many should. Where many masks are equal, as discs drawn by a tool are, it is 0."""
NEARLY_ALL = 0.8
"""Share of the cases in which a smaller mask of a rater must be the same."""
AGREED = 0.5
"""Dice among the other raters from which they marked the same."""


@dataclass(frozen=True)
class Suspicion:
    """A mask of a study that is probably broken, lost or a copy, and the evidence.

    Attributes
    ----------
    kind : str
        ``all_marked``, ``inverted``, ``turned``, ``shifted``, ``always_shifted``, ``scaled``, ``other_case``,
        ``other_labels``, ``identical_raters``, ``identical_sessions``, ``identical_cases``, ``missing_marks``,
        ``speckle`` or ``pinholes``.
    case : str
        The case; empty where it is about all cases of a rater.
    columns : tuple of Column
        Whose mask it is: one rater, or two of whom one cannot say whose mask is broken.
    before, after : float
        Median Dice with the other raters' masks as it is, and after the change.
    change : str
        What would make it fit, in words.
    other : str
        Another case that it fits, or that has the same mask.
    share, others : float
        Of the image, or of the marked pixels: in this mask, and in the other raters' (median).
    count : int
        Pixels, or cases where it is about all cases of a rater.
    total : int
        Of how many cases.
    compared : int
        Number of other raters in the case.
    names : tuple of str
        The columns as they are named to people: with the session where a rater has several.
    item : {"pixel", "voxel"}
        What its masks consist of.
    """

    kind: str
    case: str
    columns: tuple[Column, ...]
    before: float = math.nan
    after: float = math.nan
    change: str = ""
    other: str = ""
    share: float = math.nan
    others: float = math.nan
    count: int = 0
    total: int = 0
    compared: int = 0
    names: tuple[str, ...] = ()
    item: str = "pixel"

    @property
    def raters(self) -> tuple[str, ...]:
        """The names of the raters, once each."""
        return tuple(dict.fromkeys(column.name for column in self.columns))

    @property
    def broken(self) -> bool:
        """Whether the mask itself is wrong: an empty one may be an opinion, and of two equal ones one is sound."""
        return self.kind not in UNBROKEN


UNBROKEN = ("missing_marks", "identical_raters", "identical_sessions")
"""Kinds of masks that may be what the rater meant."""


def review_reading(reading: Reading, table: Tally) -> MaskReview:
    """Look for broken masks of a case; ``table`` holds the whole image. Large ones of noise are not looked at."""
    # those of tally files were looked at where the masks are
    if reading.counts is not None:
        return MaskReview()
    try:
        masks = {c: reading.runs(mask) if reading.is_large else mask for c, mask in reading.masks.items()}
    except TooManyRuns:
        return MaskReview()
    return review_masks(table, masks, reading.case.options.void)


def find_suspicions(study: Study, reviews: Mapping[str, MaskReview]) -> tuple[Suspicion, ...]:
    """All masks of a study that are probably broken, lost or copied, by what each case shows and by comparing cases."""
    twice = Counter(column.name for column in study.columns)
    if study.tallied is not None:
        return tuple(replace(each, names=_names(each.columns, twice)) for each in study.tallied.suspicions)
    reviews = {name: review for name, review in reviews.items() if review.traces}
    usual = _usual_fit(reviews)
    alone = [(name, mask) for name, review in reviews.items() for mask in review.broken if mask.kind != "identical"]
    found = [
        _of_case(name, m) for name, m in alone if m.kind != "shifted" or _is_shifted(m, usual, reviews[name].common)
    ]
    found += _identical(study, reviews)
    found += _equal_cases(study, reviews)
    known = {(s.case, column) for s in found if s.kind != "shifted" for column in s.columns}
    mixed_up = list(_other_cases(reviews, known))
    # a mask that fits in another case as it is need not be moved
    said = {(s.case, column) for s in mixed_up for column in s.columns}
    found = [s for s in found if s.kind != "shifted" or not any((s.case, c) in said for c in s.columns)]
    found += mixed_up
    found += _missing_marks(reviews)
    always = [] if study.options.exchangeable else list(_always_shifted(reviews))
    whole = {suspicion.columns for suspicion in always}
    found = [*always, *(s for s in found if s.kind != "shifted" or s.columns not in whole)]
    return tuple(_name_columns(suspicion, twice, reviews) for suspicion in found)


def _name_columns(suspicion: Suspicion, sessions: Mapping[str, int], reviews: Mapping[str, MaskReview]) -> Suspicion:
    names = _names(suspicion.columns, sessions)
    others = {c.name for c in reviews[suspicion.case].traces} - {suspicion.columns[0].name} if suspicion.case else ()
    traces = reviews[suspicion.case or next(iter(reviews))].traces
    item = pixel_name(len(next(iter(traces.values())).shape))
    return replace(suspicion, names=names, compared=len(others), item=item)


def _names(columns: Sequence[Column], sessions: Mapping[str, int]) -> tuple[str, ...]:
    return tuple(str(c) if sessions[c.name] > 1 else c.name for c in columns)


def _usual_fit(reviews: Mapping[str, MaskReview]) -> float:
    """Dice that a mask which is only shifted should reach: nearly that of two raters in this study.

    Round things of similar size overlap wherever they come from, once one is moved onto the other.
    """
    return AS_USUAL * _median_fit(reviews) if len(reviews) >= SEVERAL else SURE


def _median_fit(reviews: Mapping[str, MaskReview]) -> float:
    """Median Dice of a mask with those of the other raters."""
    fits = [fit for review in reviews.values() for fit in review.fits.values() if not math.isnan(fit)]
    return float(np.median(fits)) if fits else math.nan


def _is_shifted(mask: BrokenMask, usual: float, common: Mapping[Column, float]) -> bool:
    if len(mask.columns) > 1:
        return mask.after >= max(usual, min(SURE, usual * ALMOST / AS_USUAL))
    return mask.after >= min(usual, _or_all(RESTORED * common[mask.columns[0]]))


def _or_all(number: float) -> float:
    return 1.0 if math.isnan(number) else number


def _of_case(case: str, mask: BrokenMask) -> Suspicion:
    return Suspicion(
        mask.kind, case, mask.columns, mask.before, mask.after, mask.change, share=mask.share, others=mask.others,
        count=mask.count,
    )  # fmt: skip


# -- equal masks -----------------------------------------------------------------------------------


def _identical(study: Study, reviews: Mapping[str, MaskReview]) -> Iterator[Suspicion]:
    """Two raters, or two sessions of a rater, with the same mask of a case."""
    equal: dict[tuple[Column, ...], dict[str, int]] = defaultdict(dict)
    for name, review in reviews.items():
        for mask in review.broken:
            if mask.kind == "identical" and not _is_edit(study[name], *mask.columns):
                equal[mask.columns][name] = mask.count
    enough = _enough_outline(reviews)
    for pair, outlines in equal.items():
        always = not study.options.exchangeable and _always_equal(reviews, pair, outlines)
        for name, outline in outlines.items():
            if outline >= enough or always:
                kind = "identical_sessions" if pair[0].name == pair[1].name else "identical_raters"
                yield Suspicion(kind, name, pair, count=reviews[name].traces[pair[0]].marked)


def _enough_outline(reviews: Mapping[str, MaskReview]) -> float:
    """Pixels of outline from which equal masks are no chance: fewer where even the nearest raters differ in many."""
    apart = [far for review in reviews.values() for far in review.apart.values()]
    if len(apart) < FEW_MASKS:
        return OUTLINE
    nearest = float(np.quantile(apart, NEAREST))
    return min(OUTLINE, DIFFER / nearest) if nearest else OUTLINE


def _is_edit(case: Case, a: Column, b: Column) -> bool:
    """Whether the reading log says that one was made from the other."""
    return any(one in case.edits and case.edits[one].parent == other for one, other in ((a, b), (b, a)))


def _always_equal(reviews: Mapping[str, MaskReview], pair: tuple[Column, ...], outlines: Mapping[str, int]) -> bool:
    """Whether two are the same wherever both marked anything, too often for chance."""
    marked = [n for n, r in reviews.items() if all(c in r.traces and r.traces[c].marked for c in pair)]
    return len(marked) > 1 and set(marked) == set(outlines) and sum(outlines.values()) >= OUTLINE


def _equal_cases(study: Study, reviews: Mapping[str, MaskReview]) -> Iterator[Suspicion]:
    """Two cases with the same mask; the case is named in which it fits less well."""
    equal: dict[bytes, list[tuple[str, Column]]] = defaultdict(list)
    marked = Counter(c for review in reviews.values() for c, trace in review.traces.items() if trace.marked)
    for name, review in reviews.items():
        for column, trace in review.traces.items():
            if trace.marked and math.prod(trace.shape) - trace.marked >= CASE_OUTLINE:
                equal[trace.digest].append((name, column))
    for places in equal.values():
        trace = reviews[places[0][0]].traces[places[0][1]]
        if trace.outline >= CASE_OUTLINE or (not study.options.exchangeable and _is_always(marked, places)):
            yield from _equal_pairs(reviews, places, trace.marked)


def _is_always(marked: Mapping[Column, int], places: Sequence[tuple[str, Column]]) -> bool:
    """Whether it is one rater's mask in most of five cases or more, and nobody else's in any: those may be alike.

    ``marked`` counts the cases in which each marked anything.
    """
    (column, *others) = {column for _, column in places}
    return not others and marked[column] >= SEVERAL and len(places) >= NEARLY_ALL * marked[column]


def _equal_pairs(
    reviews: Mapping[str, MaskReview], places: Sequence[tuple[str, Column]], marked: int
) -> Iterator[Suspicion]:
    """Each case with the one in which the mask fits best."""
    case, source = max(places, key=lambda place: _fit(reviews[place[0]], place[1]))
    for name, column in places:
        if name != case:
            whose = (column,) if column == source else (column, source)
            yield Suspicion("identical_cases", name, whose, other=case, count=marked)


def _fit(review: MaskReview, column: Column) -> float:
    return 0.5 if math.isnan(review.fits[column]) else review.fits[column]


# -- masks of other cases --------------------------------------------------------------------------


def _other_cases(reviews: Mapping[str, MaskReview], known: set[tuple[str, Column]]) -> Iterator[Suspicion]:
    """Masks that do not fit in their case and fit in another one."""
    shapes: dict[tuple[int, ...], list[str]] = defaultdict(list)
    for name, review in reviews.items():
        shapes[next(iter(review.traces.values())).shape].append(name)
    for names in shapes.values():
        here = {name: reviews[name] for name in names}
        limit = max(UNLIKE, HALF * _median_fit(here))
        unlike = [(n, c) for n, r in here.items() for c, fit in r.fits.items() if fit < limit and (n, c) not in known]
        if unlike and len(names) > 1:
            yield from _merge_pairs(here, _find_other_cases(here, unlike))


def _find_other_cases(reviews: Mapping[str, MaskReview], unlike: Sequence[tuple[str, Column]]) -> Iterator[Suspicion]:
    looks = {n: {c: _look(t) for c, t in r.traces.items() if t.marked} for n, r in reviews.items()}
    fitting = [(n, c) for n, r in reviews.items() for c, fit in r.fits.items() if fit >= UNLIKE]
    chance = [_best_elsewhere(reviews, looks, *each).fit for each in fitting[:: math.ceil(len(fitting) / SAMPLE) or 1]]
    for name, column in unlike:
        best, before = _best_elsewhere(reviews, looks, name, column), reviews[name].fits[column]
        share = min(MOST_CHANCE, float(reviews[name].traces[column].points.mean()))
        if fits_far_better(before, best.fit, best.common, share) and best.fit > max(chance, default=0.0):
            yield Suspicion("other_case", name, (column,), before, best.fit, other=best.case)


@dataclass(frozen=True)
class _Place:
    """A case that a mask fits, how well, and how well the others fit each other there."""

    case: str = ""
    fit: float = 0.0
    common: float = math.nan


def _best_elsewhere(
    reviews: Mapping[str, MaskReview], looks: Mapping[str, Mapping[Column, Floats]], name: str, column: Column
) -> _Place:
    """The other case that a mask fits best: those that look most like it are compared with it."""
    scores = {n: _likeness(looks[name][column], looks[n], column) for n in reviews if n != name}
    near = sorted(scores, key=lambda n: -scores[n])[:CANDIDATES]
    mine = reviews[name].traces[column]
    places = [_Place(n, _fit_elsewhere(mine, reviews[n], column), _common(reviews[n], column)) for n in near]
    return max(places, key=lambda place: place.fit, default=_Place())


def _look(trace: MaskTrace) -> Floats:
    """A small picture of a mask, of length 1."""
    picture = trace.points.astype(np.float64)
    for axis, length in enumerate(picture.shape):
        bins = min(length, 16 if picture.ndim < 3 else 6)
        picture = np.add.reduceat(picture, np.arange(bins) * length // bins, axis=axis)
    flat = picture.ravel()
    return np.asarray(flat / np.linalg.norm(flat)) if flat.any() else flat


def _likeness(mine: Floats, looks: Mapping[Column, Floats], column: Column) -> float:
    others = [look for c, look in looks.items() if c.name != column.name]
    return float(max((mine @ look for look in others), default=-1.0))


def _fit_elsewhere(trace: MaskTrace, review: MaskReview, column: Column) -> float:
    """Median Dice of a mask with the other raters' masks of another case, by points."""
    mine = _bits(trace)
    fits = []
    for other, theirs in review.traces.items():
        if other.name != column.name and are_similar_sizes(trace.marked, theirs.marked):
            points = _bits(theirs)
            sizes = _count(mine) + _count(points)
            fits.append(2 * _count(mine & points) / max(1, sizes))
        elif other.name != column.name and theirs.marked:
            fits.append(0.0)
    return float(np.median(fits)) if fits else 0.0


@lru_cache(maxsize=4096)
def _bits(trace: MaskTrace) -> NDArray[np.uint64]:
    """The points of a mask, 64 in a word."""
    bits = np.packbits(trace.points)
    return np.pad(bits, (0, -len(bits) % 8)).view(np.uint64)


def _count(bits: NDArray[np.uint64]) -> int:
    return int(np.bitwise_count(bits).sum(dtype=np.int64))


def _common(review: MaskReview, column: Column) -> float:
    """Median Dice among the raters of another case but for the one whose mask is tried there."""
    return review.common.get(column, math.nan)


def _merge_pairs(reviews: Mapping[str, MaskReview], found: Iterator[Suspicion]) -> Iterator[Suspicion]:
    """Of two raters who both fit in another case, one suspicion: nobody can say who is wrong."""
    by_case: dict[str, list[Suspicion]] = defaultdict(list)
    for suspicion in found:
        by_case[suspicion.case].append(suspicion)
    for case, here in by_case.items():
        raters = {c.name for c in reviews[case].traces}
        if len(raters) > 2 or len(here) == 1:
            yield from here
        else:
            first, *rest = here
            columns = tuple(dict.fromkeys((*first.columns, *(c for s in rest for c in s.columns))))
            yield Suspicion("other_case", case, columns, first.before, first.after, other=first.other)


# -- nothing where others mark, and constant shifts ------------------------------------------------


def _missing_marks(reviews: Mapping[str, MaskReview]) -> Iterator[Suspicion]:
    """Empty masks where the other raters agree about something that is not small for this study."""
    sizes = [trace.share for review in reviews.values() for trace in review.traces.values() if trace.marked]
    if not sizes:
        return
    usual = float(np.median(sizes))
    for name, review in reviews.items():
        for column, trace in review.traces.items():
            others = [t.share for c, t in review.traces.items() if c.name != column.name]
            if trace.marked or not others or min(others) == 0 or float(np.median(others)) < usual:
                continue
            common = review.common[column]
            if math.isnan(common) or common >= AGREED:
                yield Suspicion("missing_marks", name, (column,), before=common, others=float(np.median(others)))


def _always_shifted(reviews: Mapping[str, MaskReview]) -> Iterator[Suspicion]:
    """Raters whose masks lie beside the others' by the same number of pixels in most cases."""
    offsets: dict[Column, list[Offset]] = defaultdict(list)
    common: dict[Column, list[float]] = defaultdict(list)
    for review in reviews.values():
        for column, offset in review.offsets.items():
            offsets[column].append(offset)
            common[column].append(review.common[column])
    tried = (_constant_shift(column, each, float(np.mean(common[column]))) for column, each in offsets.items())
    found = [shift for shift in tried if shift is not None]
    raters = {column.name for column in offsets}
    if len(raters) == 2 and len(found) == 2:
        first, second = (shift.suspicion for shift in found)
        yield replace(first, columns=(*first.columns, *second.columns))
    elif found:
        # whoever is compared with a shifted rater seems shifted the other way
        main = max(found, key=lambda shift: shift.suspicion.after - shift.suspicion.before)
        yield from (shift.suspicion for shift in found if float(shift.pixels @ main.pixels) > 0)


@dataclass(frozen=True, eq=False)
class _Shift:
    """A constant shift, and the pixels by which the masks must move."""

    suspicion: Suspicion
    pixels: Floats


def _constant_shift(column: Column, offsets: Sequence[Offset], common: float) -> _Shift | None:
    if len(offsets) < SEVERAL or len({len(offset.pixels) for offset in offsets}) > 1:
        return None
    pixels = np.array([offset.pixels for offset in offsets], np.float64)
    usual = np.median(pixels, axis=0)
    errors = np.array([_median_error(steps) for steps in pixels.T])
    axis = int((np.abs(usual) / errors).argmax())
    same = int(np.count_nonzero(np.sign(pixels[:, axis]) == np.sign(usual[axis])))
    if abs(usual[axis]) < max(LEAST_SHIFT, STEADY * errors[axis]) or same < MOST * len(offsets):
        return None
    before, after = (float(np.mean([getattr(o, when) for o in offsets])) for when in ("before", "after"))
    if after - before < min((1 - NEARER) * (1 - before), _or_all(CLOSER * (common - before))) or after - before < GAIN:
        return None
    change = name_offset([int(step) for step in np.rint(usual)])
    return _Shift(
        Suspicion("always_shifted", "", (column,), before, after, change, count=same, total=len(offsets)), usual
    )


def _median_error(values: Floats) -> float:
    """Standard error of a median by the median deviation; a third of a pixel at least, as shifts are whole pixels."""
    spread = 1.4826 * np.median(np.abs(values - np.median(values)))
    return float(1.2533 * max(spread, 1 / 3) / math.sqrt(len(values)))

"""Masks as ratings: every item of an image is a case, and what a rater marked there is his label.

Items that show one pattern have the same σ, so that a row stands for all of them and weighs as many; the result is
that of the items one by one. Confidence is none, one number a rater, or a map. Maps are counted jointly with the
masks: a row is then a pattern of labels and levels, and the result is exact as long as a map has at most 255 levels.

Background items are ratings too, and mostly easy ones: on the whole image σ is near 1, and so is everybody's accuracy.
What raters disagree about is in the union of their markings (``region="union"``); σ depends on the region as
percent agreement does, and says the same where nobody gave a confidence.

Cabitza F et al. The elephant in the machine. Appl Sci 2020;10:4014. doi:10.3390/app10114014
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.columns import Column
from ..core.errors import CallError, GridError, InputError
from ..core.labels import MAX_LABELS, VOID, Labels
from ..core.mask_arrays import Coder, Inputs, Masks, fill_masked, flat_blocks, format_shape, gather_inputs, run_starts
from ..core.tally import Counts, Rows, Tally, merge_rows
from .ratings import MISSING, Ratings, Values

Array = NDArray[Any]
Confidence = Mapping[str, float] | float | None


@dataclass(frozen=True, eq=False, repr=False)
class MaskRatings(Ratings):
    """The items of masks as ratings, counted jointly with how sure everybody was."""

    rounded: tuple[str, ...] = ()
    """Raters whose map had more than 255 levels, and was rounded to 254ths."""


def ratings_of(tally: Tally, confidence: Confidence = None, *, reference: str | None = None) -> Ratings:
    """A table of masks as ratings: one row a pattern, in the table's order, weighing as many items as it counts.

    Parameters
    ----------
    confidence
        None, one number for all, or one a rater.
    reference
        A column of the table that is the truth: a reference, or a consensus that was appended.

    As rows are patterns, σ by row can be painted:

    >>> import manytruths as mt
    >>> from manytruths.ratings import sigma
    >>> masks = {"A": [[1, 1, 0, 0]], "B": [[1, 0, 0, 0]], "C": [[1, 0, 0, 1]]}
    >>> t = mt.tally(masks)
    >>> found = sigma(ratings_of(t))
    >>> round(found.value, 4), round(mt.percent_agreement(t), 4)
    (0.6667, 0.6667)
    >>> mt.paint(found.by_case, masks, t).round(2)
    array([[1.  , 0.33, 1.  , 0.33]])
    """
    if tally.exchangeable and isinstance(confidence, Mapping):
        raise CallError("raters are exchangeable: a slot is not a person, so that no confidence is its own")
    names, rows = tally.rater_names, tally.patterns[:, tally.raters]
    codes = _coded(rows)
    truth = None
    if reference is not None:
        truth = _coded(tally.patterns[:, tally.position(Column(reference, "reference"))])
    return Ratings(
        _numbered(len(rows)), names, tally.labels.names, codes, _constant(confidence, names, codes),
        reference=truth, weights=tally.counts,
    )  # fmt: skip


def mask_ratings(
    masks: Masks,
    confidence: Mapping[str, ArrayLike] | float | None = None,
    *,
    levels: int | None = None,
    raters: Sequence[str] | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    region: str | ArrayLike = "whole",
    void: int | None = None,
    foreground: str | None = None,
) -> MaskRatings:
    """Masks of one image as ratings, with a map of confidence a rater.

    Parameters
    ----------
    confidence
        By rater a map over the image, or a number; or one number for all. nan, and what is masked in a masked array,
        is no confidence: such a rating takes no part where others have one.
    levels
        Where confidence is ordinal, its highest level: 5 makes level 3 a confidence of 3/5. Without it, confidence runs
        from 0 to 1.
    masks, raters, labels, void, foreground
        As in :func:`manytruths.tally`. Of repeated readings the first counts.
    region
        ``"whole"``, ``"union"``, or a mask of the items to count.

    σ can only fall below percent agreement. By how much depends on where raters are unsure: where they disagree, it
    costs nothing; spread evenly, the same mean confidence also makes doubtful what they agree about.

    >>> from manytruths.ratings import sigma
    >>> masks = {"A": [[0, 0, 1, 1, 1, 0]], "B": [[0, 1, 1, 1, 0, 0]]}
    >>> border, even = [[1.0, 0.2, 1.0, 1.0, 0.2, 1.0]], 4.4 / 6
    >>> for sure in (None, {"A": border, "B": border}, even):
    ...     print(round(sigma(mask_ratings(masks, sure)).value, 3))
    0.667
    0.667
    0.477
    """
    inputs = first_readings(gather_inputs(masks, raters, None, None))
    names = [column.name for column in inputs.columns]
    present = inputs.present
    declared = None if labels is None else Labels.of(labels)
    coder = Coder([names[i] for i in present], declared, void, foreground == "any")
    given = _by_rater(confidence, [names[i] for i in present])
    maps = [_map(name, value, inputs.shape, levels) for name, value in given.items()]
    rows, counts = _count(inputs, [m.codes for m in maps], coder, _inside(region, inputs))
    found, width = coder.labels(), len(present)
    decided = coder.table(found)[rows[:, :width]]
    if isinstance(region, str) and region == "union":
        keep = np.isin(decided, found.marks).any(axis=1)
        rows, counts, decided = rows[keep], counts[keep], decided[keep]
    codes = np.full((len(rows), len(names)), MISSING, np.int16)
    codes[:, present] = _coded(decided)
    sure = np.full(codes.shape, np.nan)
    for k, (i, m) in enumerate(zip(present, maps, strict=bool(maps))):
        sure[:, i] = np.where(codes[:, i] == MISSING, np.nan, m.table[rows[:, width + k]])
    rounded = tuple(name for name, m in zip(given, maps, strict=True) if m.rounded)
    shown = _numbered(len(rows)), tuple(names), found.names
    return MaskRatings(*shown, codes, sure, weights=counts, rounded=rounded)


@dataclass(frozen=True)
class _Map:
    """A map of confidence as codes of levels."""

    codes: Rows
    table: Values
    """The confidence of each code; nan for VOID."""
    rounded: bool


def _map(rater: str, given: ArrayLike, shape: tuple[int, ...], levels: int | None) -> _Map:
    values = np.ma.filled(np.ma.asarray(given, np.float64), np.nan)
    if values.ndim and values.shape != shape:
        raise GridError(
            f"confidence of {rater}: the map is {format_shape(values.shape)} but the masks are "
            f"{format_shape(shape)}; resample it to their grid"
        )
    values = values / _highest(rater, values, levels)
    known = np.unique(values[~np.isnan(values)])
    rounded = len(known) > MAX_LABELS
    if rounded:
        known = np.linspace(0, 1, MAX_LABELS)
        values = np.rint(values * (MAX_LABELS - 1)) / (MAX_LABELS - 1)
    table = np.full(256, np.nan)
    table[: len(known)] = known
    # the middle between two levels, so that no level is missed by its last bit
    codes = np.searchsorted((known[1:] + known[:-1]) / 2, values).astype(np.uint8)
    codes = np.where(np.isnan(values), np.uint8(VOID), codes)
    return _Map(codes if codes.ndim else np.full(shape, codes, np.uint8), table, rounded)


def _highest(rater: str, values: Values, levels: int | None) -> int:
    """What values are divided by, after a look at their range."""
    known, top = values[~np.isnan(values)], levels or 1
    wrong = known[(known < 0) | (known > top)] if levels is None else known[~np.isin(known, np.arange(top + 1))]
    if wrong.size:
        wanted = "from 0 to 1; where it has levels, say how many (levels=5)" if levels is None else (
            f"one of the levels 0 to {top}"
        )  # fmt: skip
        raise InputError(f"confidence of {rater}: got {wrong.flat[0]:g}; it is {wanted}")
    return top


def _by_rater(given: Mapping[str, ArrayLike] | float | None, names: list[str]) -> dict[str, ArrayLike]:
    if given is None:
        return {}
    by_rater = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    missing = [name for name in names if name not in by_rater]
    if missing:
        raise CallError(f"there is no confidence of {missing[0]}; give a map or a number for each of "
                        f"{', '.join(names)}")  # fmt: skip
    return {name: by_rater[name] for name in names}


def first_readings(inputs: Inputs) -> Inputs:
    """Each rater in the first session only, as a table of masks has it."""
    nothing = Tally(inputs.columns, Labels((0,)), np.empty((0, len(inputs.columns)), np.uint8), np.empty(0, np.int64))
    return Inputs(
        tuple(inputs.columns[i] for i in nothing.raters),
        tuple(inputs.arrays[i] for i in nothing.raters),
    )


def _inside(region: str | ArrayLike, inputs: Inputs) -> Array | None:
    if isinstance(region, str):
        if region not in ("whole", "union"):
            raise CallError(f"region is 'whole', 'union' or a mask; got {region!r}. For 'modified_background', which "
                            "has no maps, take ratings_of(tally(masks, region=…))")  # fmt: skip
        return None
    mask = np.asarray(region).astype(bool)
    if mask.shape != inputs.shape:
        raise GridError(f"the region is {format_shape(mask.shape)} but the masks are {format_shape(inputs.shape)}")
    return mask


def _count(inputs: Inputs, maps: list[Rows], coder: Coder, region: Array | None) -> tuple[Rows, Counts]:
    """Rows of the coder's labels, then levels, each once, and how often each occurs."""
    arrays = [fill_masked(inputs.arrays[i]) for i in inputs.present]
    parts = list(_parts([*arrays, *maps], len(arrays), coder, region))
    if not parts:
        return np.empty((0, len(arrays) + len(maps)), np.uint8), np.empty(0, np.int64)
    return merge_rows(np.concatenate([r for r, _ in parts]), np.concatenate([c for _, c in parts]), MAX_LABELS)


def _parts(arrays: list[Array], masks: int, coder: Coder, region: Array | None) -> Iterator[tuple[Rows, Counts]]:
    for block in flat_blocks(arrays if region is None else [*arrays, region]):
        starts = run_starts(block)
        lengths = np.diff(starts, append=len(block[0]))
        values = [a[starts] for a in block]
        if region is not None:
            inside = values.pop()
            values, lengths = [v[inside] for v in values], lengths[inside]
        yield merge_rows(np.vstack([coder.encode(values[:masks]), *values[masks:]]).T, lengths, MAX_LABELS)


def _coded(rows: Rows) -> NDArray[np.int16]:
    return np.where(rows == VOID, MISSING, rows.astype(np.int16)).astype(np.int16)


def _numbered(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(1, count + 1)))


def _constant(confidence: Confidence, names: Sequence[str], codes: NDArray[np.int16]) -> Values:
    if confidence is None:
        return np.full(codes.shape, np.nan)
    by_rater = _by_rater(confidence, list(names))
    return np.where(codes == MISSING, np.nan, [float(np.asarray(by_rater[name])) for name in names])

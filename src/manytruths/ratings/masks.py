"""Masks as ratings: every pixel of an image is a case, and what a rater marked there is their label.

Pixels with the same pattern of labels have the same σ, so one row stands for all of them, with their number as weight;
the result is the same as pixel by pixel. Confidence is absent, one number for each rater, or a map. Maps are counted
jointly with the masks: a row is then a pattern of labels and confidence levels, and the result is exact if a map has at
most 255 levels.

Background pixels are ratings too, and mostly easy ones: on the whole image σ and the raters' accuracies are near 1.
Disagreement lies in the union of the marked areas (``region="union"``). σ depends on the region as percent agreement
does, and equals it if nobody gave a confidence.

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
from ..core.mask_arrays import (
    Coder,
    Inputs,
    Masks,
    fill_masked,
    flat_blocks,
    format_shape,
    gather_inputs,
    region_mask,
    run_starts,
)
from ..core.tally import Counts, Rows, Tally, merge_rows
from .ratings import MISSING, Ratings, Values

Array = NDArray[Any]
Confidence = Mapping[str, float] | float | None


@dataclass(frozen=True, eq=False, repr=False)
class MaskRatings(Ratings):
    """Result of :func:`mask_ratings`: :class:`Ratings` of which each row is a pattern of labels and confidence levels.

    Attributes
    ----------
    cases : tuple of str
        Names of the patterns, which are numbered.
    raters : tuple of str
        The raters.
    labels : tuple of str
        The labels, in their order.
    codes : ndarray of int16
        (patterns, raters) positions in ``labels``; −1 for a missing rating.
    confidence : ndarray of float
        (patterns, raters) from 0 to 1; nan where none was given.
    kind : {"nominal", "ordinal", "numeric"}
        Level of measurement of the labels.
    reference : ndarray of int16, optional
        Label of each pattern in the reference standard; −1 where it is unknown.
    subjects : tuple of str
        Subject of each pattern.
    weights : ndarray of int64
        Number of pixels of each pattern.
    rounded : tuple of str
        Raters whose confidence map had more than 255 levels and was rounded to multiples of 1/254.
    """

    rounded: tuple[str, ...] = ()


def ratings_from_tally(tally: Tally, confidence: Confidence = None, *, reference: str | None = None) -> Ratings:
    """The ratings of a tally: one row for each pattern, in the order of the tally, weighted by its number of pixels.

    Parameters
    ----------
    tally : Tally
        The raters' decisions.
    confidence : float or mapping, optional
        One number for all raters, or one for each.
    reference : str, optional
        Name of a column of the tally that is the reference standard, or a consensus that was appended.

    Returns
    -------
    Ratings
        The ratings, with the number of pixels of each row as ``weights``.

    Examples
    --------
    Since rows are patterns, σ by row can be painted:

    >>> import manytruths as mt
    >>> from manytruths.ratings import sigma
    >>> masks = {"A": [[1, 1, 0, 0]], "B": [[1, 0, 0, 0]], "C": [[1, 0, 0, 1]]}
    >>> t = mt.tally(masks)
    >>> result = sigma(ratings_from_tally(t))
    >>> round(result.value, 4), round(mt.percent_agreement(t), 4)
    (0.6667, 0.6667)
    >>> mt.paint(result.by_case, masks, t).round(2)
    array([[1.  , 0.33, 1.  , 0.33]])
    """
    if tally.exchangeable and isinstance(confidence, Mapping):
        raise CallError("raters are exchangeable: a column is not a person, so confidence must be one number for all")
    names, codes = tally.rater_names, _rating_codes(tally.patterns[:, tally.raters])
    sure = np.full(codes.shape, np.nan)
    if confidence is not None:
        by_rater = _by_rater(confidence, list(names))
        sure = np.where(codes == MISSING, np.nan, [float(np.asarray(by_rater[name])) for name in names])
    answers = None
    if reference is not None:
        answers = _rating_codes(tally.patterns[:, tally.position(Column(reference, "reference"))])
    axes = _row_names(len(codes)), names, tally.labels.names
    return Ratings(*axes, codes, sure, reference=answers, weights=tally.counts)


def mask_ratings(
    masks: Masks,
    confidence: Mapping[str, ArrayLike] | float | None = None,
    *,
    confidence_levels: int | None = None,
    raters: Sequence[str] | None = None,
    labels: Labels | Mapping[int, str] | Iterable[int] | None = None,
    region: str | ArrayLike = "whole",
    void: int | None = None,
    foreground: str | None = None,
) -> MaskRatings:
    """Masks of one image as ratings, with a confidence map for each rater.

    σ is at most percent agreement. The difference depends on where raters are unsure: doubt where raters disagree costs
    nothing; the same mean confidence spread evenly also discounts what they agree about.

    Parameters
    ----------
    masks : mapping or sequence of array_like
        The raters' masks, as in :func:`manytruths.tally`. Of repeated readings, the first counts.
    confidence : float or mapping of array_like, optional
        A map over the image or a number for each rater, or one number for all. nan, or a masked pixel of a masked
        array, is a missing confidence; such a rating does not count where others have one.
    confidence_levels : int, optional
        Highest level of an ordinal confidence: with 5, level 3 is a confidence of 3/5. By default confidence is from 0
        to 1.
    raters : sequence of str, optional
        Names of the raters, as in :func:`manytruths.tally`.
    labels : Labels, mapping of int to str or iterable of int, optional
        All labels, as in :func:`manytruths.tally`; by default those that occur.
    region : {"whole", "union"} or array_like
        What to count: the whole image, the union of the marked areas, or a mask.
    void : int, optional
        Value of pixels that were not rated.
    foreground : {"any"}, optional
        With ``"any"``, all labels but background count as one.

    Returns
    -------
    MaskRatings
        One row for each pattern of labels and confidence levels.

    Examples
    --------
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
    maps = [_code_map(name, value, inputs.shape, confidence_levels) for name, value in given.items()]
    rows, counts = _count(inputs, [m.codes for m in maps], coder, _region_mask(region, inputs))
    known, width = coder.labels(), len(present)
    decided = coder.table(known)[rows[:, :width]]
    if isinstance(region, str) and region == "union":
        keep = np.isin(decided, known.marks).any(axis=1)
        rows, counts, decided = rows[keep], counts[keep], decided[keep]
    codes = np.full((len(rows), len(names)), MISSING, np.int16)
    codes[:, present] = _rating_codes(decided)
    sure = np.full(codes.shape, np.nan)
    for k, (i, m) in enumerate(zip(present, maps, strict=bool(maps))):
        sure[:, i] = np.where(codes[:, i] == MISSING, np.nan, m.table[rows[:, width + k]])
    rounded = tuple(name for name, m in zip(given, maps, strict=True) if m.rounded)
    axes = _row_names(len(rows)), tuple(names), known.names
    return MaskRatings(*axes, codes, sure, weights=counts, rounded=rounded)


@dataclass(frozen=True)
class _Map:
    """A confidence map as codes of levels."""

    codes: Rows
    table: Values
    """The confidence of each code; nan for VOID."""
    rounded: bool


def _code_map(rater: str, given: ArrayLike, shape: tuple[int, ...], levels: int | None) -> _Map:
    values = np.ma.filled(np.ma.asarray(given, np.float64), np.nan)
    if values.ndim and values.shape != shape:
        raise GridError(
            f"confidence of {rater}: the map is {format_shape(values.shape)} but the masks are "
            f"{format_shape(shape)}; resample it to their grid"
        )
    values = values / _highest_level(rater, values, levels)
    known = np.unique(values[~np.isnan(values)])
    rounded = len(known) > MAX_LABELS
    if rounded:
        known = np.linspace(0, 1, MAX_LABELS)
        values = np.rint(values * (MAX_LABELS - 1)) / (MAX_LABELS - 1)
    table = np.full(256, np.nan)
    table[: len(known)] = known
    # halfway between two levels, so that rounding does not matter
    codes = np.searchsorted((known[1:] + known[:-1]) / 2, values).astype(np.uint8)
    codes = np.where(np.isnan(values), np.uint8(VOID), codes)
    return _Map(codes if codes.ndim else np.full(shape, codes, np.uint8), table, rounded)


def _highest_level(rater: str, values: Values, levels: int | None) -> int:
    """The divisor of the values, after a check of their range."""
    known, top = values[~np.isnan(values)], levels or 1
    wrong = known[(known < 0) | (known > top)] if levels is None else known[~np.isin(known, np.arange(top + 1))]
    if wrong.size:
        wanted = f"one of the levels 0 to {top}"
        if levels is None:
            wanted = "from 0 to 1; where it has levels, say how many (confidence_levels=5)"
        raise InputError(f"confidence of {rater}: got {wrong.flat[0]:g}; it is {wanted}")
    return top


def _by_rater(given: Mapping[str, ArrayLike] | float | None, names: list[str]) -> dict[str, ArrayLike]:
    if given is None:
        return {}
    by_rater = given if isinstance(given, Mapping) else dict.fromkeys(names, given)
    missing = [name for name in names if name not in by_rater]
    if missing:
        known = ", ".join(names)
        raise CallError(f"confidence of {missing[0]} is missing; give a map or a number for each of {known}")
    return {name: by_rater[name] for name in names}


def first_readings(inputs: Inputs) -> Inputs:
    """The first session of each rater, as a tally has it."""
    nothing = Tally(inputs.columns, Labels((0,)), np.empty((0, len(inputs.columns)), np.uint8), np.empty(0, np.int64))
    return Inputs(
        tuple(inputs.columns[i] for i in nothing.raters),
        tuple(inputs.arrays[i] for i in nothing.raters),
    )


def _region_mask(region: str | ArrayLike, inputs: Inputs) -> Array | None:
    if isinstance(region, str):
        if region not in ("whole", "union"):
            raise CallError(
                f"region must be 'whole', 'union' or a mask; got {region!r}. For 'modified_background' use "
                "ratings_from_tally(tally(masks, region=…)), which takes no maps"
            )
        return None
    return region_mask(region, inputs.shape)


def _count(inputs: Inputs, maps: list[Rows], coder: Coder, region: Array | None) -> tuple[Rows, Counts]:
    """Distinct rows of label codes and confidence levels, and how often each occurs."""
    arrays = [fill_masked(inputs.arrays[i]) for i in inputs.present]
    parts = list(_count_blocks([*arrays, *maps], len(arrays), coder, region))
    if not parts:
        return np.empty((0, len(arrays) + len(maps)), np.uint8), np.empty(0, np.int64)
    return merge_rows(np.concatenate([r for r, _ in parts]), np.concatenate([c for _, c in parts]), MAX_LABELS)


def _count_blocks(arrays: list[Array], masks: int, coder: Coder, region: Array | None) -> Iterator[tuple[Rows, Counts]]:
    for block in flat_blocks(arrays if region is None else [*arrays, region]):
        starts = run_starts(block)
        lengths = np.diff(starts, append=len(block[0]))
        values = [a[starts] for a in block]
        if region is not None:
            inside = values.pop()
            values, lengths = [v[inside] for v in values], lengths[inside]
        yield merge_rows(np.vstack([coder.encode(values[:masks]), *values[masks:]]).T, lengths, MAX_LABELS)


def _rating_codes(rows: Rows) -> NDArray[np.int16]:
    return np.where(rows == VOID, MISSING, rows.astype(np.int16)).astype(np.int16)


def _row_names(count: int) -> tuple[str, ...]:
    return tuple(map(str, range(1, count + 1)))

"""Probability maps as forecasts: how many pixels have each value, and how often raters marked them.

These counts are all that the Brier score, calibration and recalibration read. They add over cases. Up to 65,536
distinct probabilities are kept as they are; more are rounded to steps of 1/65,535 (:func:`count_responses`).

A forecast is held against one of these:

- ``"raters"``: every rater's decision on every pixel that they rated. It is what a rater picked at random would say;
- ``"share"``: the share of the raters of a pixel who marked it, one number a pixel;
- the name of a rater, or of a given reference standard;
- the name of a consensus method, such as ``"vote:0.5"`` or ``"staple"``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.columns import Column
from ...core.errors import CallError, GridError, InputError, few
from ...core.labels import VOID, Labels
from ...core.mask_arrays import Masks, format_shape
from ...core.tally import Tally, find_rows
from ...core.undefined import Undefined
from ...fusion import estimate
from ...fusion.result import first_readings
from ..responses import IndexedMasks, Responses, count_indexed_responses, count_responses, index_masks

Values = NDArray[np.float64]
Region = Literal["image", "union"]
REGIONS: tuple[Region, ...] = ("image", "union")
POOLED = ("raters", "share")
"""References that are made of all raters."""

BACKGROUND = (0, "0", "background")
"""What the background is called among maps by label."""
UNEVEN = 0.01
"""Probabilities of all labels may miss 1 by as much: what rounding to bytes or half precision makes of them."""


@dataclass(frozen=True, eq=False)
class ForecastCounts:
    """How many pixels have each forecast probability, and how often they were marked; adds over cases.

    >>> counts = ForecastCounts(np.array([0.2, 0.8]), np.array([5.0, 5.0]), np.array([1.0, 4.0]), 5.0)
    >>> (counts + counts).items, counts.prevalence
    (20.0, 0.5)
    """

    values: Values
    """The probabilities that occur, ascending."""
    counts: Values
    """How many pixels have each; against ``"raters"``, how many decisions of raters on such pixels."""
    observed: Values
    """The sum of what was observed: how many were marked, or the sum of the shares."""
    squares: float
    """The sum of the squares of what was observed: the same as of ``observed``, unless it is a share."""
    reference: str = "raters"
    """What the forecast is held against."""
    region: str = "image"
    """The pixels that were counted."""
    rounded: bool = False
    """Whether there were too many distinct probabilities to keep them all."""

    def __repr__(self) -> str:
        rounded = " (rounded)" if self.rounded else ""
        where = "" if self.region == "image" else f" in the {self.region}"
        return f"<ForecastCounts of {len(self.values):,} probabilities{rounded} against {self.reference}{where}>"

    @property
    def items(self) -> float:
        """How many pixels, or decisions, were counted."""
        return float(self.counts.sum())

    @property
    def prevalence(self) -> float:
        """The share that was marked."""
        return float(self.observed.sum()) / self.items if self.items else self.why_empty

    @property
    def constant(self) -> bool:
        """Whether every pixel has the same probability."""
        return len(self.values) < 2

    @property
    def why_empty(self) -> Undefined:
        """Why nothing was counted."""
        return Undefined("nobody_marked" if self.region == "union" else "not_rated")

    def __add__(self, other: ForecastCounts) -> ForecastCounts:
        return add_forecasts([self, other]) if isinstance(other, ForecastCounts) else NotImplemented

    def __radd__(self, other: object) -> ForecastCounts:
        return self if other == 0 else NotImplemented


def add_forecasts(parts: Iterable[ForecastCounts]) -> ForecastCounts:
    """The sum over cases, on the union of their probabilities."""
    every = list(parts)
    if not every:
        raise CallError("there are no forecasts to add")
    first = every[0]
    for part in every:
        if (part.reference, part.region) != (first.reference, first.region):
            raise CallError(f"forecasts add against the same reference in the same region; got {first} and {part}")
    values, where = np.unique(np.concatenate([p.values for p in every]), return_inverse=True)
    counts = add_up(where, np.concatenate([p.counts for p in every]), len(values))
    observed = add_up(where, np.concatenate([p.observed for p in every]), len(values))
    squares, rounded = sum(p.squares for p in every), any(p.rounded for p in every)
    return ForecastCounts(values, counts, observed, squares, first.reference, first.region, rounded)


def add_up(where: NDArray[np.intp], weights: NDArray[Any], width: int) -> Values:
    """The sum of the weights at each place."""
    return np.bincount(where, weights, width).astype(np.float64, copy=False)


Probability = ArrayLike | Responses | ForecastCounts | Mapping[Any, ArrayLike]
Raters = Masks | IndexedMasks | Tally
"""The raters' masks; those of several maps of one image are indexed once (``responses.index_masks``)."""


def count_forecasts(
    probability: ArrayLike | Responses | ForecastCounts,
    masks: Raters | None = None,
    *,
    reference: str | Column | ArrayLike = "raters",
    region: Region = "image",
    label: int | str | None = None,
) -> ForecastCounts:
    """Count a probability map against raters: the numbers from which every score of a forecast is computed.

    Parameters
    ----------
    probability : array_like, Responses or ForecastCounts
        The map; or one probability per pattern, with a :class:`Tally` as masks: a consensus, the share of other raters;
        or what :func:`count_responses` or this function returned, without masks.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks.
    reference : str, Column or array_like
        ``"raters"``, ``"share"``, a rater, a given reference standard, a consensus method; or one number from 0 to 1
        per pattern of the tally, NaN for what does not count.
    region : {"image", "union"}
        All pixels, or those that any rater marked. In the union no pixel counts that only the forecast calls likely.
    label : int or str, optional
        The label that the map is of. Where masks have several labels, it must be named. A value that no mask has counts
        as a label that nobody gave.

    Returns
    -------
    ForecastCounts
        Which :func:`brier`, :func:`expected_calibration_error`, :func:`reliability_diagram`, :func:`fit_isotonic` and
        :func:`fit_temperature` take.

    Examples
    --------
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> counts = count_forecasts([0.9, 0.6, 0.2, 0.2], masks)
    >>> counts.values, counts.counts, counts.observed
    (array([0.2, 0.6, 0.9]), array([4., 2., 2.]), array([0., 1., 2.]))
    """
    if isinstance(probability, ForecastCounts):
        if masks is not None:
            raise CallError("forecasts that are counted already have their raters in them; leave masks= out")
        return probability
    check_region(region)
    responses = as_responses(probability, masks, label)
    observed = observe(responses.tally, reference, label)
    inside = observed.weight > 0
    if region == "union":
        inside &= observed.marked > 0
    keep = np.flatnonzero(inside[responses.pattern])
    level, pattern, items = responses.level[keep], responses.pattern[keep], responses.counts[keep]
    width = len(responses.levels)
    counts = add_up(level, items * observed.weight[pattern], width)
    total = add_up(level, items * observed.total[pattern], width)
    squares = float(items @ observed.squares[pattern])
    used = counts > 0
    return ForecastCounts(
        responses.levels[used], counts[used], total[used], squares, observed.name, region, responses.rounded
    )


def as_responses(probability: ArrayLike | Responses, masks: Raters | None, label: int | str | None = None) -> Responses:
    """Probabilities by pattern and value; masks say nothing of labels that nobody gave, tables list them all."""
    if isinstance(probability, Responses):
        if masks is not None:
            raise CallError("responses that are counted already have their raters in them; leave masks= out")
        if len(probability.levels) and not 0 <= probability.levels[0] <= probability.levels[-1] <= 1:
            low, high = probability.levels[[0, -1]].tolist()
            raise InputError(f"probabilities lie between 0 and 1, but the responses run from {low:g} to {high:g}")
        return probability
    if masks is None:
        raise CallError("give the raters' masks, or their tally, as the second argument")
    if isinstance(masks, Tally):
        values = np.asarray(probability, np.float64)
        if values.shape != masks.counts.shape:
            raise CallError(f"with a tally there is one probability a pattern, {len(masks.counts)}; got {values.shape}")
        known = np.flatnonzero(~np.isnan(values))
        check_probability(values[known])
        levels, level = np.unique(values[known], return_inverse=True)
        return Responses(masks, levels, known, level.reshape(-1), masks.counts[known])
    check_probability(probability)
    limits = (0.0, 1.0) if np.asarray(probability).dtype.kind == "f" else None
    if isinstance(masks, IndexedMasks):
        responses = count_indexed_responses(probability, masks.index, masks.tally, limits=limits)
    else:
        responses = count_responses(probability, masks, limits=limits)
    return responses if label is None else replace(responses, tally=with_label(responses.tally, label))


def check_region(region: str) -> None:
    """Refuse what is no region."""
    if region not in REGIONS:
        raise CallError(f"region is one of {', '.join(REGIONS)}; got {region!r}")


@dataclass(frozen=True, eq=False)
class Observed:
    """What a pixel of each pattern is held against."""

    name: str
    weight: Values
    """How many observations a pixel is; 0 where it does not count."""
    total: Values
    """Their sum."""
    squares: Values
    """The sum of their squares."""
    marked: NDArray[np.int64] = field(repr=False)
    """How many raters marked it."""


def observe(tally: Tally, reference: str | Column | ArrayLike, label: int | str | None) -> Observed:
    """What is observed by pattern, under a reference."""
    named = isinstance(reference, str | Column)
    # numbers by pattern say themselves what is observed, whatever the labels
    codes = marked_codes(tally, label) if named or label is not None else list(tally.labels.marks)
    flags, rated = np.isin(tally.patterns, codes), tally.patterns != VOID
    raters = list(tally.raters)
    votes, number = flags[:, raters].sum(axis=1), rated[:, raters].sum(axis=1)

    def of(name: str, value: NDArray[Any], known: NDArray[np.bool_]) -> Observed:
        value = np.where(known, value, 0.0).astype(np.float64)
        return Observed(name, known.astype(np.float64), value, value**2, votes)

    if not isinstance(reference, str | Column):
        given = np.asarray(reference, np.float64)
        if given.shape != tally.counts.shape:
            raise CallError(f"a reference is a name, or one number a pattern, {len(tally.counts)}; got {given.shape}")
        known = ~np.isnan(given)
        check_probability(given[known], "numbers of a reference")
        return of("given", given, known)
    if reference == "raters":
        many = votes.astype(np.float64)
        return Observed(reference, number.astype(np.float64), many, many, votes)
    if reference == "share":
        return of(reference, votes / np.maximum(number, 1), number > 0)
    if isinstance(reference, Column) or any(reference in (str(c), c.name) for c in tally.columns):
        i = tally.position(reference)
        return of(str(tally.columns[i]), flags[:, i], rated[:, i])
    binary = np.where(rated, flags, VOID).astype(np.uint8)
    united = tally.foreground() if label is None else tally.only(label)
    source = first_readings(united)
    where = find_rows(source, binary[:, [tally.position(c) for c in source.columns]])
    decided = estimate(source, reference).hard
    return of(reference, np.asarray(decided)[where], number > 0)


def marked_codes(tally: Tally, label: int | str | None) -> list[int]:
    """The codes of what counts as marked."""
    if label is not None:
        return [tally.labels.index(label)]
    if tally.labels.several:
        names = ", ".join(tally.labels.names[m] for m in tally.labels.marks)
        raise CallError(f"the masks have several labels ({names}): name the one that the map is of with label=")
    return list(tally.labels.marks)


def count_by_label(
    probabilities: Mapping[Any, ArrayLike],
    masks: Raters,
    *,
    reference: str = "raters",
    region: Region = "image",
) -> dict[str, ForecastCounts]:
    """Count one probability map a label, each against the rest.

    Parameters
    ----------
    probabilities : dict
        ``{label: map}``; the map of 0 is that of the background, with which all must add up to 1. Without it they may
        add up to less.
    masks : dict, sequence or numpy.ndarray of masks, or Tally
        The raters' masks.
    reference : str
        As for :func:`count_forecasts`.
    region : {"image", "union"}
        All pixels, or those that any rater marked with the label.

    Returns
    -------
    dict of str to ForecastCounts
        By label, without background.

    Examples
    --------
    >>> maps = {1: [0.9, 0.1, 0.0], 2: [0.1, 0.8, 0.1]}
    >>> list(count_by_label(maps, {"A": [1, 2, 0], "B": [1, 2, 2]}))
    ['1', '2']
    """
    check_label_sums(probabilities)
    found = {}
    known = masks if isinstance(masks, Tally | IndexedMasks) else index_masks(masks)
    labels = (known if isinstance(known, Tally) else known.tally).labels
    for label, values in marked_labels(probabilities, labels):
        responses = as_responses(values, known)
        there = replace(responses, tally=with_label(responses.tally, label))
        found[str(label)] = count_forecasts(there, reference=reference, region=region, label=label)
    return found


def marked_labels(probabilities: Mapping[Any, ArrayLike], labels: Labels) -> list[tuple[Any, ArrayLike]]:
    """The maps by label, without that of the background; every label of the masks needs one."""
    marks = [(labels.values[m], labels.names[m]) for m in labels.marks]
    without = [name for value, name in marks if value not in probabilities and name not in probabilities]
    if without:
        raise InputError(
            f"the masks have labels without a probability map: {few(without)}; give a map of each, of zeros where the "
            "model does not know the label"
        )
    return [(label, values) for label, values in probabilities.items() if label not in BACKGROUND]


def with_label(tally: Tally, label: int | str) -> Tally:
    """The same table where a label that nobody gave is one of the labels; patterns keep their order."""
    labels = tally.labels
    if label in labels.values or label in labels.names or not str(label).isdecimal():
        return tally
    more = labels.union(Labels((int(label),), zero_is_background=labels.zero_is_background))
    return tally.relabel(more)


# -- what cannot be used -----------------------------------------------------------------------------------------------


def check_probability(probability: ArrayLike, what: str = "probabilities") -> None:
    """Refuse numbers that are no probabilities, saying how many and where."""
    values = probability if isinstance(probability, np.ma.MaskedArray) else np.asarray(probability)
    if values.dtype.kind not in "biuf":
        raise InputError(f"{what} are numbers from 0 to 1; got an array of {values.dtype}")
    if not values.size or (values.min() >= 0 and values.max() <= 1):
        return
    bad = np.ma.filled(~((values >= 0) & (values <= 1)), False)
    if not bad.any():
        return
    where = tuple(int(i) for i in np.argwhere(bad)[0])
    known = np.ma.compressed(np.ma.masked_invalid(values) if values.dtype.kind == "f" else np.ma.asarray(values))
    range_ = f"they run from {known.min():g} to {known.max():g}, and " if known.size else ""
    advice = "; divide bytes by 255" if values.dtype == np.uint8 else ""
    raise InputError(
        f"{what} lie between 0 and 1, but {int(bad.sum()):,} of {values.size:,} do not: {range_}that at {where} is "
        f"{values[where]:g}{advice}"
    )


def check_label_sums(probabilities: Mapping[Any, ArrayLike], tolerance: float = UNEVEN) -> None:
    """Refuse maps of labels that do not add up to 1, or exceed 1 without background; say by how much, and where."""
    maps: dict[Any, Any] = {label: np.ma.asarray(values) for label, values in probabilities.items()}
    if not maps:
        raise CallError("there is no probability map; give {label: map}")
    shapes: Sequence[tuple[int, ...]] = [values.shape for values in maps.values()]
    for label, values in maps.items():
        if values.shape != shapes[0]:
            got, wanted = format_shape(values.shape), format_shape(shapes[0])
            raise GridError(f"the map of label {label} is {got} but that of label {next(iter(maps))} is {wanted}")
        check_probability(values, f"probabilities of label {label}")
    total = np.ma.filled(sum(values.astype(np.float64) for values in maps.values()), 1.0)
    whole = any(label in BACKGROUND for label in maps)
    excess = np.abs(total - 1) if whole else total - 1
    if excess.size and excess.max() > tolerance:
        where = np.unravel_index(int(excess.argmax()), excess.shape)
        wanted = "add up to 1" if whole else "add up to at most 1"
        raise InputError(
            f"probabilities of all labels must {wanted}, but those of {int((excess > tolerance).sum()):,} of "
            f"{excess.size:,} pixels do not: at {tuple(int(i) for i in where)} they add up to {total[where]:.4g}"
        )

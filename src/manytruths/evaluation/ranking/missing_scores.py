"""How missing and undefined scores count, so that every algorithm is compared on the same cases.

For each metric and reference standard, the cases are those that any algorithm has a score for; a case that is
undefined for all of them (sensitivity where the reference is empty) cannot separate algorithms and stays out. Then ::

    worst      a gap counts as the metric's worst bound, that of a distance as the diagonal of the case's image; where
               there is none, or it is not known, as the worst value in the whole table
    a number   a gap counts as that number
    exclude    only cases for which every algorithm has a value

A score that is undefined since neither reference nor prediction marked anything counts as the best: nothing was there,
and nothing was found. So does any other metric of the same prediction that is undefined there.

The best and worst values are the metric's bounds. Where it has none, or values lie beyond, they are the best and the
worst that any algorithm got.

References
----------
Maier-Hein L et al. Why rankings of biomedical image analysis competitions should be interpreted with care. Nat Commun
2018;9:5217. doi:10.1038/s41467-018-07619-7
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError, InputError
from .scores import (
    BOTH_EMPTY,
    MISSING,
    NO_REFERENCE,
    NONE_GIVEN,
    PRESENT,
    UNDEFINED,
    Scores,
    Values,
    best_value,
    direction,
    is_distance,
    worst_value,
)

Missing = Literal["worst", "exclude"] | float
Counts = NDArray[np.int64]
ANYBODY = "a gap counts as the worst value that anybody got, so that leaving out the hardest case can pay"
TOO_LONG = "some values are longer than the diagonal of their image; give both in the same unit"


@dataclass(frozen=True)
class MetricRange:
    """What counts as the worst and the best of a metric, and what is to be said when the worst is used."""

    worst: float
    best: float
    note: str = ""
    scaled: bool = False
    """Whether values are better than the best there is, so that nothing is known of their scale."""


@dataclass(frozen=True, eq=False)
class GapValues:
    """What a gap in each case counts, and in which cases that is the diagonal of the image."""

    values: Values
    diagonal: NDArray[np.bool_]
    note: str = ""


def metric_range(metric: str, values: Values, higher: bool) -> MetricRange:
    """From a metric's name and all values that anybody got."""
    low, top = (float(end(values[np.isfinite(values)])) for end in ((np.min, np.max) if higher else (np.max, np.min)))
    bound, peak = worst_value(metric), best_value(metric)
    advice = f"{ANYBODY}: give {'a column diagonal in --cases, or ' if is_distance(metric) else ''}--missing VALUE"
    if peak is not None and _better(top, peak, higher):
        meaning = "what is missing counts as the worst value that anybody got, what both left empty as the best"
        return MetricRange(low, top, f"{metric} has values beyond its bounds: {meaning}", scaled=True)
    best = top if peak is None else peak
    if bound is None:
        return MetricRange(low, best, f"{metric}: {advice}")
    if _better(bound, low, higher):
        return MetricRange(low, best, f"{metric} has values worse than {bound:g}: {advice}")
    return MetricRange(bound, best)


def _better(value: float, other: float, higher: bool) -> bool:
    """By more than rounding: 1.0000000002 is 1."""
    return value - other > 1e-9 if higher else other - value > 1e-9


def gap_values(metric: str, values: Values, lengths: Values, low: float) -> GapValues:
    """The diagonal of each case's image for a distance, else the worst; never better than what anybody got there."""
    known = np.isfinite(lengths) & is_distance(metric)
    longest = np.nan_to_num(values, nan=0.0).max(axis=0)
    note = f"{metric}: {TOO_LONG}" if (longest[known] > lengths[known] * (1 + 1e-9)).any() else ""
    return GapValues(np.where(known, np.fmax(lengths, longest), low), known, note)


@dataclass(frozen=True, eq=False)
class Board:
    """One metric against one reference standard, without gaps.

    ``values`` are algorithms × cases, ``subject_values`` their means by subject (algorithms × ``subjects``, which are
    numbers of the table's subjects). The counts are by algorithm.
    """

    metric: str
    truth: str
    higher: bool
    values: Values
    owners: NDArray[np.intp]
    missing: Counts
    undefined: Counts
    both_empty: Counts
    left_out: int
    """Cases with a reference that were left out: undefined for everybody, or for somebody with ``exclude``."""
    fill: float
    """What a gap counts; nan where there was none, none is filled, or all count as the diagonal of their image."""
    by_diagonal: bool = False
    """Whether there are gaps that count as the diagonal of their image."""
    notes: tuple[str, ...] = ()
    unread: tuple[str, ...] = ()
    """Cases of which the reference standard has no mask."""

    @property
    def subjects(self) -> NDArray[np.intp]:
        """The numbers of the subjects that have a case here."""
        return np.unique(self.owners)

    @property
    def subject_values(self) -> Values:
        """Means over each subject's cases."""
        return by_subject(self.values, self.owners)

    @property
    def gains(self) -> Values:
        """The values by subject, turned so that higher is better."""
        return self.subject_values if self.higher else -self.subject_values

    @property
    def means(self) -> Values:
        """Each algorithm's mean over subjects; exact sums do not depend on the order of the subjects."""
        return np.array([math.fsum(row) / len(row) for row in self.subject_values])

    @property
    def title(self) -> str:
        """``dice against staple``."""
        return f"{self.metric} against {self.truth}"


def by_subject(values: Values, owners: NDArray[np.intp]) -> Values:
    """(…, cases) to (…, subjects): means over each subject's cases."""
    names, place = np.unique(owners, return_inverse=True)
    if len(names) == len(owners):
        return np.asarray(values[..., np.argsort(place)])
    total = np.zeros((*values.shape[:-1], len(names)))
    np.add.at(total.T, place, values.T)
    return np.asarray(total / np.bincount(place))


def make_boards(
    scores: Scores, metrics: Sequence[str], missing: Missing = "worst", given: Mapping[str, str] = NONE_GIVEN
) -> list[Board]:
    """A board for every metric and reference standard that two algorithms or more have a score for."""
    higher = {metric: direction(metric, given) == "higher" for metric in metrics}
    _check(missing, higher)
    # where one metric says that both marked nothing, that is why the others are undefined
    nothing = (scores.gaps == BOTH_EMPTY).any(axis=-1, keepdims=True) & (scores.gaps == UNDEFINED)
    gaps = np.where(nothing, np.uint8(BOTH_EMPTY), scores.gaps)
    boards = []
    for m, metric in ((scores.metrics.index(metric), metric) for metric in metrics):
        for layer, truth in enumerate(scores.references):
            kinds = scores.gaps[:, :, layer, m]
            judged = ((kinds == PRESENT) | (kinds == BOTH_EMPTY)).any(axis=0)
            # where only one algorithm is scored, as a rater against the others, there is nothing to rank
            if judged.any() and (kinds != MISSING).any(axis=1).sum() > 1 and np.isfinite(scores.values[..., m]).any():
                holes = gaps[:, :, layer, m]
                boards.append(_board(scores, holes, judged, metric, truth, higher[metric], missing))
    if not boards:
        raise InputError(f"no two algorithms have a value of {', '.join(metrics)}; give scores to rank by")
    return boards


def _check(missing: Missing, higher: Mapping[str, bool]) -> None:
    if isinstance(missing, str):
        if missing not in ("worst", "exclude"):
            raise CallError(f"missing is 'worst', 'exclude' or a number; got {missing!r}")
    elif not np.isfinite(missing):
        raise CallError(f"missing is 'worst', 'exclude' or a finite number; got {missing}")
    elif len(set(higher.values())) > 1:
        better = next(metric for metric, up in higher.items() if not up)
        raise CallError(
            f"missing={missing:g} would be bad for one metric and good for another ({better}); use 'worst', or rank by "
            "one metric at a time"
        )


def _board(
    scores: Scores, gaps: NDArray[np.uint8], judged: NDArray[np.bool_], metric: str, truth: str, higher: bool,
    missing: Missing,
) -> Board:  # fmt: skip
    m, layer = scores.metrics.index(metric), scores.references.index(truth)
    chosen = judged & (gaps == PRESENT).all(axis=0) if missing == "exclude" else judged
    if not chosen.any():
        raise InputError(
            f"{metric} against {truth}: no case has a value of every algorithm; use --missing worst, or leave an "
            "algorithm out with --algorithm"
        )
    values, holes, lengths = scores.values[:, chosen, layer, m], gaps[:, chosen], scores.lengths[chosen]
    ends = metric_range(metric, scores.values[..., m], higher)
    if not isinstance(missing, str):
        ends, lengths = MetricRange(float(missing), ends.best, ends.note, ends.scaled), np.full(len(lengths), np.nan)
    fills = gap_values(metric, values, lengths, ends.worst)
    empties = holes == BOTH_EMPTY
    unfilled = (holes != PRESENT) & ~empties
    longest, plain = bool(unfilled[:, fills.diagonal].any()), bool(unfilled[:, ~fills.diagonal].any())
    noted = (plain and missing == "worst") or (ends.scaled and bool(empties.any()))
    absent, undefined, empty = ((gaps[:, judged] == kind).sum(axis=1) for kind in (MISSING, UNDEFINED, BOTH_EMPTY))
    kinds = scores.gaps[:, :, layer, m]
    somebody, unread = (kinds != MISSING).any(axis=0), (kinds == NO_REFERENCE).any(axis=0) & ~judged
    return Board(
        metric, truth, higher, np.where(empties, ends.best, np.where(unfilled, fills.values, values)),
        scores.owners[chosen], absent, undefined, empty, int((somebody & ~unread).sum() - chosen.sum()),
        ends.worst if plain else float("nan"), longest,
        (*([ends.note] if noted and ends.note else []), *([fills.note] if longest and fills.note else [])),
        tuple(case for case, absent_there in zip(scores.cases, unread, strict=True) if absent_there),
    )  # fmt: skip

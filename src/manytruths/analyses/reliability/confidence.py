"""How sure raters were, and how often they were wrong when they were."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ...core.undefined import ratio
from ...ratings.accuracy import comparison_labels
from ...ratings.ratings import MISSING, Ratings, Values
from ..rows import Row, Table

MOST_LEVELS = 12
"""With more distinct values, confidence is shown in ten bins."""


@dataclass(frozen=True, eq=False)
class ConfidenceLevels:
    """Ratings by rater and by confidence."""

    raters: tuple[str, ...]
    names: tuple[str, ...]
    """Of the levels: a value, or the range of a bin."""
    centres: Values
    count: NDArray[np.int64]
    """(raters, levels): ratings of that confidence."""
    judged: NDArray[np.int64]
    """Of those, the ones of which it is known whether they are right."""
    wrong: NDArray[np.int64]
    source: str
    """What is right: ``reference``, or ``majority`` of the others."""


def confidence_levels(ratings: Ratings) -> ConfidenceLevels | None:
    """Ratings by confidence; None where there is none."""
    sure = ratings.given & ~np.isnan(ratings.confidence)
    if not sure.any():
        return None
    names, centres, level = _levels(ratings.confidence[sure])
    source = "majority" if ratings.reference is None else "reference"
    key = comparison_labels(ratings, source)[sure]
    judged = key != MISSING
    wrong = judged & (key != ratings.codes[sure])
    rater = np.broadcast_to(np.arange(len(ratings.raters)), sure.shape)[sure]
    place, size = rater * len(names) + level, len(ratings.raters) * len(names)

    def counted(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(place[which], minlength=size).reshape(-1, len(names)).astype(np.int64)

    everything = np.ones(len(place), bool)
    return ConfidenceLevels(
        ratings.raters, names, centres, counted(everything), counted(judged), counted(wrong), source
    )


def _levels(values: Values) -> tuple[tuple[str, ...], Values, NDArray[np.intp]]:
    # 0.6 may come as 3 / 5 or as a difference from a cut
    distinct, level = np.unique(values.round(9), return_inverse=True)
    if len(distinct) <= MOST_LEVELS:
        return tuple(f"{value:.3g}" for value in distinct), distinct, level
    edges = np.linspace(0, 1, 11)
    names = tuple(f"{a:.1f}–{b:.1f}" for a, b in pairwise(edges.tolist()))
    inside = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, 9)
    return names, (edges[:-1] + edges[1:]) / 2, inside


def confidence_table(found: ConfidenceLevels) -> Table:
    """``confidence.csv``: of each rater, and (with no rater named) of all, by confidence."""
    table = Table("confidence", ("rater", "confidence", "source"))
    everybody = [("", found.count.sum(axis=0), found.judged.sum(axis=0), found.wrong.sum(axis=0))]
    each = [(rater, found.count[i], found.judged[i], found.wrong[i]) for i, rater in enumerate(found.raters)]
    for rater, count, judged, wrong in [*everybody, *each]:
        table.add(_rows(found, rater, count, judged, wrong))
    return table


def _rows(
    found: ConfidenceLevels, rater: str, count: NDArray[np.int64], judged: NDArray[np.int64], wrong: NDArray[np.int64]
) -> Iterator[Row]:
    total = int(count.sum())
    for k, name in enumerate(found.names):
        share = ratio(int(count[k]), total, "no_confidence")
        yield Row("pooled", "share", share, extra=(rater, name, ""), n=total)
        errors = ratio(int(wrong[k]), int(judged[k]), "no_rating_of_confidence_judged")
        yield Row("pooled", "wrong_share", errors, extra=(rater, name, found.source), n=int(judged[k]))

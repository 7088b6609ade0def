"""``raters.csv``: how competent and how sure each rater is, and what is strange about him."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ...core.undefined import Undefined, ratio, undefined_like
from ...ratings.ratings import MISSING, Ratings, Values
from ..rows import Row, Table
from .sources import Source

if TYPE_CHECKING:
    from .verb import Reliability

NORMAL = 1.959963984540054
"""Standard errors to each side of a 95% interval."""


@dataclass(frozen=True)
class Operating:
    """Where a rater stands in ROC space."""

    sensitivity: float
    specificity: float
    positives: int
    negatives: int


def raters_table(found: Reliability) -> Table:
    """All of it, rater by rater."""
    table = Table("raters", ("rater", "source"))
    operating = operating_points(found)
    odd = strange(found.ratings)
    for i, rater in enumerate(found.ratings.raters):
        table.add(_own(found, i))
        for source in found.sources:
            table.add(_by_source(source, i, rater))
        if rater in operating:
            point = operating[rater]
            ends = (
                ("sensitivity", point.sensitivity, point.positives),
                ("specificity", point.specificity, point.negatives),
            )
            for statistic, value, n in ends:
                table.append(Row("pooled", statistic, value, extra=(rater, "reference"), n=n))
        for statistic, who in odd.items():
            table.append(Row("pooled", statistic, float(rater in who), extra=(rater, "")))
    return table


def _own(found: Reliability, i: int) -> Iterator[Row]:
    ratings = found.ratings
    extra, given = (ratings.raters[i], ""), ratings.given[:, i]
    yield Row("pooled", "ratings", float(given.sum()), extra=extra, n=len(ratings))
    sure = ratings.confidence[given & ~np.isnan(ratings.confidence[:, i]), i]
    mean = float(sure.mean()) if len(sure) else Undefined("no_confidence")
    yield Row("pooled", "mean_confidence", mean, extra=extra, n=len(sure))
    alone = Undefined("no_case_rated_by_another")
    yield Row("pooled", "sigma", _told(found.sigma.by_rater[i], alone), extra=extra, n=int(given.sum()))


def _by_source(source: Source, i: int, rater: str) -> Iterator[Row]:
    extra, n = (rater, source.name), int(source.n[i])
    why = undefined_like(source.value, "not_compared_on_any_case")
    yield Row("pooled", "accuracy", _told(source.accuracy[i], why), extra=extra, n=n)
    if source.rho is not None:
        yield Row("pooled", "rho", _told(source.rho.by_rater[i], why), extra=extra, n=n)
    model = source.rasch
    if model is not None:
        ability, error = float(model.ability[i]), float(model.ability_error[i])
        row = Row("pooled", "ability", _told(ability, why), extra=extra, n=n)
        if not math.isnan(error):
            row.low, row.high = ability - NORMAL * error, ability + NORMAL * error
        yield row
        for name, values in (("ability_error", model.ability_error), ("infit", model.infit), ("outfit", model.outfit)):
            yield Row("pooled", name, _told(float(values[i]), why), extra=extra, n=n)


def _told(value: float, otherwise: Undefined) -> float:
    return otherwise if math.isnan(value) else float(value)


def operating_points(found: Reliability) -> dict[str, Operating]:
    """Of two labels with a reference, where each rater stands; empty otherwise."""
    ratings = found.ratings
    if ratings.reference is None or len(ratings.labels) != 2:
        return {}
    positive = ratings.labels.index(found.settings.positive or ratings.labels[-1])
    points = {}
    for i, rater in enumerate(ratings.raters):
        known = ratings.given[:, i] & (ratings.reference != MISSING)
        says, true = ratings.codes[known, i] == positive, ratings.reference[known] == positive
        hits, ill, well = int((says & true).sum()), int(true.sum()), int((~true).sum())
        points[rater] = Operating(
            ratio(hits, ill, "no_case_with_label_rated"),
            ratio(int((~says & ~true).sum()), well, "no_case_without_label_rated"),
            ill,
            well,
        )
    return points


def strange(ratings: Ratings) -> dict[str, tuple[str, ...]]:
    """Raters who gave one label only, and those who never agree with anybody."""
    one = (ratings.given.sum(axis=0) > 1) & (_distinct(ratings) == 1)
    met = ratings.given & (ratings.rated > 1)[:, None]
    same = np.zeros(ratings.codes.shape, bool)
    rows, columns = np.nonzero(met)
    same[rows, columns] = ratings.votes[rows, ratings.codes[rows, columns]] > 1
    never = met.any(axis=0) & ~same.any(axis=0)
    names = np.array(ratings.raters, object)
    return {"one_label": tuple(names[one]), "never_agrees": tuple(names[never])}


def _distinct(ratings: Ratings) -> Values:
    return np.array([len(np.unique(column[column != MISSING])) for column in ratings.codes.T], np.float64)

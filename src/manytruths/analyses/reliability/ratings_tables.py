"""The tables of the reliability of ratings: ``reliability``, ``raters``, ``majorities`` and ``confidence``.

In ``reliability.csv``, ``source`` names the source of the accuracies that a ρ uses; rows of scope ``pooled`` with two
raters are of that pair, those with a label are of the ratings that gave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...agreement import cohen_kappa, contingency
from ...core.labels import VOID
from ...core.undefined import Undefined, divide, ratio, undefined_like
from ...inference.intervals import Interval
from ...ratings.accuracy import comparison_labels
from ...ratings.concordance import ALONE, CONTRADICTION, Concordance
from ...ratings.ratings import MISSING, Ratings, Values
from ..tables import Row, Table
from .intervals import Source

if TYPE_CHECKING:
    from .reliability import Reliability


KINDS = {
    "tied": "tied",
    "slim": "slim_majority",
    "overwhelming": "overwhelming_majority",
    "wrong": "wrong_majority",
    "wrong_overwhelming": "wrong_overwhelming_majority",
}
"""Kinds of majorities, and the names of their shares."""
ONE_RATER = "fewer_than_two_raters"
NEVER_MET = "no_case_rated_by_both"
NOT_GIVEN = "label_not_given_where_another_rated"
BEYOND_CHANCE = ("percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1")
NORMAL = 1.959963984540054
"""Standard errors on each side of a 95% interval."""
MAX_LEVELS = 12
"""With more distinct values, confidence is grouped into ten bins."""


def reliability_table(result: Reliability) -> Table:
    """``reliability.csv``."""
    table = Table("reliability", ("source", "rater_a", "rater_b"))
    table.add(_whole_rows(result))
    table.add(_label_rows(result))
    table.add(_pair_rows(result))
    table.add(_case_rows(result))
    return table


def _scores(result: Reliability) -> Iterator[tuple[str, str, Concordance]]:
    """Statistic, source and values of σ and of every ρ."""
    yield "sigma", "", result.sigma
    for source in result.sources:
        if source.rho is not None:
            yield "rho", source.name, source.rho


def _whole_rows(result: Reliability) -> Iterator[Row]:
    cases = len(result.ratings)
    yield _headline_row("sigma", "", result.headline["sigma"], result.sigma.n, cases - result.sigma.n)
    for source in result.sources:
        n = source.rho.n if source.rho is not None else 0
        yield _headline_row("rho", source.name, result.headline[f"rho {source.name}"], n, cases - n)
    for name in BEYOND_CHANCE:
        yield _headline_row(name, "", result.headline[name], result.majorities.n, cases - result.majorities.n)
    for source in result.sources:
        if source.rho is not None:
            pairs = float(source.rho.undefined)
            yield Row("pooled", "contradictions", pairs, extra=(source.name, "", ""))


def _headline_row(statistic: str, source: str, value: Interval, n: int, undefined: int) -> Row:
    row = Row("pooled", statistic, value.value, extra=(source, "", ""), low=value.low, high=value.high)
    row.n, row.n_undefined = n, undefined
    return row


def _label_rows(result: Reliability) -> Iterator[Row]:
    counts = result.ratings.votes.sum(axis=0).tolist()
    for statistic, source, score in _scores(result):
        for label, value, n in zip(score.labels, score.by_label.tolist(), counts, strict=True):
            known = _or_undefined(value, NOT_GIVEN)
            yield Row("pooled", statistic, known, label=label, extra=(source, "", ""), n=n)


def _pair_rows(result: Reliability) -> Iterator[Row]:
    ratings = result.ratings
    met = ratings.given.T.astype(np.int64) @ ratings.given
    every = [(statistic, source, score.pairs) for statistic, source, score in _scores(result)]
    every += [(name, "", values) for name, values in _pair_statistics(ratings).items()]
    for i, j in combinations(range(len(ratings.raters)), 2):
        for statistic, source, values in every:
            why = NEVER_MET if not met[i, j] else _undefined_code(statistic)
            extra = (source, ratings.raters[i], ratings.raters[j])
            yield Row("pooled", statistic, _or_undefined(float(values[i, j]), why), extra=extra, n=int(met[i, j]))


def _pair_statistics(ratings: Ratings) -> dict[str, Values]:
    if len(ratings.labels) >= VOID:
        return {}
    tally = ratings.tally()
    tables = contingency(tally)
    share = divide(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-1, -2)))
    return {"percent_agreement": share, "cohen_kappa": cohen_kappa.of(tables, tally.labels)}


def _case_rows(result: Reliability) -> Iterator[Row]:
    ratings, m = result.ratings, result.ratings.rated
    disagreements = m * m - (ratings.votes**2).sum(axis=1)
    share = 1 - divide(disagreements, m * (m - 1))
    columns = [("percent_agreement", "", share)]
    columns += [(statistic, source, score.by_case) for statistic, source, score in _scores(result)]
    rated = m.tolist()
    for statistic, source, values in columns:
        extra, lost = (source, "", ""), _undefined_code(statistic)
        for case, value, n in zip(ratings.cases, values.tolist(), rated, strict=True):
            known = value if value == value else Undefined(ONE_RATER if n < 2 else lost)
            yield Row("case", statistic, known, case, extra=extra, n=n)
    for source_found in result.sources:
        model = source_found.rasch
        if model is not None:
            extra = (source_found.name, "", "")
            for case, value, n in zip(ratings.cases, model.difficulty.tolist(), rated, strict=True):
                yield Row("case", "difficulty", value, case, extra=extra, n=n)


def _undefined_code(statistic: str) -> str:
    if statistic == "rho":
        return CONTRADICTION
    return cohen_kappa.undefined if statistic == "cohen_kappa" else ALONE if statistic != "sigma" else "no_confidence"


def _or_undefined(value: float, code: str) -> float:
    return Undefined(code) if math.isnan(value) else value


def majorities_table(result: Reliability) -> Table:
    """``majorities.csv``: shares of the data set; then every case, the votes of its winner of n and p."""
    won, labels = result.majorities, result.ratings.labels
    table = Table("majorities", ("winner", "reference", "slim", "overwhelming", "wrong"))
    for kind, name in KINDS.items():
        value, n = result.headline[name], won.n_judged if kind.startswith("wrong") else won.n
        if n:
            nothing = ("",) * 5
            row = Row("pooled", name, value.value, extra=nothing, low=value.low, high=value.high)
            row.n, row.n_undefined = n, len(result.ratings) - n
            table.append(row)
    names = {MISSING: ""} | dict(enumerate(labels))
    columns = zip(
        won.cases, won.winner.tolist(), won.reference.tolist(), won.votes.tolist(), won.rated.tolist(),
        won.p.tolist(), won.slim.tolist(), won.overwhelming.tolist(), won.wrong.tolist(), won.judged.tolist(),
        strict=True,
    )  # fmt: skip
    for case, winner, expected, votes, rated, p, slim, much, wrong, judged in columns:
        right = ("no", "yes")[wrong] if judged else ""
        extra = (names[winner], names[expected], ("no", "yes")[slim], ("no", "yes")[much], right)
        table.append(Row("case", "votes", float(votes), case, extra=extra, n=rated))
        p_value = p if p == p else Undefined(ONE_RATER if rated < 2 else "tied")
        table.append(Row("case", "p_value", p_value, case, extra=extra, n=rated))
    return table


# -- raters ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class OperatingPoint:
    """A rater's point in ROC space."""

    sensitivity: float
    specificity: float
    positives: int
    negatives: int


def raters_table(result: Reliability) -> Table:
    """``raters.csv``: accuracy, confidence, ability and conspicuous behaviour of each rater."""
    table = Table("raters", ("rater", "source"))
    operating = operating_points(result)
    odd = conspicuous_raters(result.ratings)
    for i, rater in enumerate(result.ratings.raters):
        table.add(_rater_rows(result, i))
        for source in result.sources:
            table.add(_source_rows(source, i, rater))
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


def _rater_rows(result: Reliability, i: int) -> Iterator[Row]:
    ratings = result.ratings
    extra, given = (ratings.raters[i], ""), ratings.given[:, i]
    yield Row("pooled", "ratings", float(given.sum()), extra=extra, n=len(ratings))
    sure = ratings.confidence[given & ~np.isnan(ratings.confidence[:, i]), i]
    mean = float(sure.mean()) if len(sure) else Undefined("no_confidence")
    yield Row("pooled", "mean_confidence", mean, extra=extra, n=len(sure))
    alone = Undefined("no_case_rated_by_another")
    yield Row("pooled", "sigma", _defined(result.sigma.by_rater[i], alone), extra=extra, n=int(given.sum()))


def _source_rows(source: Source, i: int, rater: str) -> Iterator[Row]:
    extra, n = (rater, source.name), int(source.n[i])
    why = undefined_like(source.value, "not_compared_on_any_case")
    yield Row("pooled", "accuracy", _defined(source.accuracy[i], why), extra=extra, n=n)
    if source.rho is not None:
        yield Row("pooled", "rho", _defined(source.rho.by_rater[i], why), extra=extra, n=n)
    model = source.rasch
    if model is not None:
        ability, error = float(model.ability[i]), float(model.ability_error[i])
        row = Row("pooled", "ability", _defined(ability, why), extra=extra, n=n)
        if not math.isnan(error):
            row.low, row.high = ability - NORMAL * error, ability + NORMAL * error
        yield row
        for name, values in (("ability_error", model.ability_error), ("infit", model.infit), ("outfit", model.outfit)):
            yield Row("pooled", name, _defined(float(values[i]), why), extra=extra, n=n)


def _defined(value: float, otherwise: Undefined) -> float:
    return otherwise if math.isnan(value) else float(value)


def operating_points(result: Reliability) -> dict[str, OperatingPoint]:
    """Sensitivity and specificity of each rater, for two labels with a reference; otherwise empty."""
    ratings = result.ratings
    if ratings.reference is None or len(ratings.labels) != 2:
        return {}
    positive = ratings.labels.index(result.settings.positive or ratings.labels[-1])
    points = {}
    for i, rater in enumerate(ratings.raters):
        known = ratings.given[:, i] & (ratings.reference != MISSING)
        says, true = ratings.codes[known, i] == positive, ratings.reference[known] == positive
        hits, positives, negatives = int((says & true).sum()), int(true.sum()), int((~true).sum())
        points[rater] = OperatingPoint(
            ratio(hits, positives, "no_case_with_label_rated"),
            ratio(int((~says & ~true).sum()), negatives, "no_case_without_label_rated"),
            positives,
            negatives,
        )
    return points


def conspicuous_raters(ratings: Ratings) -> dict[str, tuple[str, ...]]:
    """Raters who gave one label only, and raters who never agree with anybody."""
    single = (ratings.given.sum(axis=0) > 1) & (_count_labels(ratings) == 1)
    met = ratings.given & (ratings.rated > 1)[:, None]
    same = np.zeros(ratings.codes.shape, bool)
    rows, columns = np.nonzero(met)
    same[rows, columns] = ratings.votes[rows, ratings.codes[rows, columns]] > 1
    never = met.any(axis=0) & ~same.any(axis=0)
    names = np.array(ratings.raters, object)
    return {"one_label": tuple(names[single]), "never_agrees": tuple(names[never])}


def _count_labels(ratings: Ratings) -> Values:
    return np.array([len(np.unique(column[column != MISSING])) for column in ratings.codes.T], np.float64)


# -- confidence ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ConfidenceLevels:
    """Ratings by rater and by confidence."""

    raters: tuple[str, ...]
    names: tuple[str, ...]
    """A value, or the range of a bin."""
    centres: Values
    count: NDArray[np.int64]
    """(raters, levels): number of ratings."""
    judged: NDArray[np.int64]
    """Ratings of which it is known whether they are right."""
    wrong: NDArray[np.int64]
    source: str
    """What defines the right label: ``reference``, or ``majority`` of the others."""


def confidence_levels(ratings: Ratings) -> ConfidenceLevels | None:
    """Ratings by confidence; None if no confidence was given."""
    sure = ratings.given & ~np.isnan(ratings.confidence)
    if not sure.any():
        return None
    names, centres, level = _find_levels(ratings.confidence[sure])
    source = "majority" if ratings.reference is None else "reference"
    expected = comparison_labels(ratings, source)[sure]
    judged = expected != MISSING
    wrong = judged & (expected != ratings.codes[sure])
    rater = np.broadcast_to(np.arange(len(ratings.raters)), sure.shape)[sure]
    place, size = rater * len(names) + level, len(ratings.raters) * len(names)

    def count(which: NDArray[np.bool_]) -> NDArray[np.int64]:
        return np.bincount(place[which], minlength=size).reshape(-1, len(names)).astype(np.int64)

    everything = np.ones(len(place), bool)
    return ConfidenceLevels(ratings.raters, names, centres, count(everything), count(judged), count(wrong), source)


def _find_levels(values: Values) -> tuple[tuple[str, ...], Values, NDArray[np.intp]]:
    # 0.6 may be 3 / 5 or the distance from a cut
    distinct, level = np.unique(values.round(9), return_inverse=True)
    if len(distinct) <= MAX_LEVELS:
        return tuple(f"{value:.3g}" for value in distinct), distinct, level
    edges = np.linspace(0, 1, 11)
    names = tuple(f"{a:.1f}–{b:.1f}" for a, b in pairwise(edges.tolist()))
    inside = np.clip(np.searchsorted(edges, values, side="right") - 1, 0, 9)
    return names, (edges[:-1] + edges[1:]) / 2, inside


def confidence_table(levels: ConfidenceLevels) -> Table:
    """``confidence.csv``: ratings and errors by confidence, of each rater and (with no rater named) of all."""
    table = Table("confidence", ("rater", "confidence", "source"))
    everybody = [("", levels.count.sum(axis=0), levels.judged.sum(axis=0), levels.wrong.sum(axis=0))]
    each = [(rater, levels.count[i], levels.judged[i], levels.wrong[i]) for i, rater in enumerate(levels.raters)]
    for rater, count, judged, wrong in [*everybody, *each]:
        table.add(_confidence_rows(levels, rater, count, judged, wrong))
    return table


def _confidence_rows(
    levels: ConfidenceLevels, rater: str, count: NDArray[np.int64], judged: NDArray[np.int64], wrong: NDArray[np.int64]
) -> Iterator[Row]:
    total = int(count.sum())
    for k, name in enumerate(levels.names):
        share = ratio(int(count[k]), total, "no_confidence")
        yield Row("pooled", "share", share, extra=(rater, name, ""), n=total)
        errors = ratio(int(wrong[k]), int(judged[k]), "no_rating_of_confidence_judged")
        yield Row("pooled", "wrong_share", errors, extra=(rater, name, levels.source), n=int(judged[k]))

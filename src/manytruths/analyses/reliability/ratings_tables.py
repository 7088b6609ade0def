"""The tables of the reliability of ratings: ``reliability``, ``raters``, ``majorities`` and ``confidence``.

In ``reliability.csv``, ``source`` names the source of the accuracies that a ρ uses; rows of scope ``pooled`` with two
raters are of that pair, those with a label are of the ratings that gave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations, pairwise
from statistics import NormalDist
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...agreement import cohen_kappa, contingency
from ...core.labels import VOID
from ...core.undefined import Undefined, divide, or_undefined, ratio, undefined_like
from ...inference.intervals import Interval
from ...io.result_tables import Row, Table
from ...ratings.accuracy import comparison_labels
from ...ratings.concordance import ALONE, CONTRADICTION, Concordance
from ...ratings.ratings import MISSING, Ratings, Values
from .intervals import Source
from .ordered import ordered_rows

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
UNDEFINED = {
    "sigma": "no_confidence",
    "rho": CONTRADICTION,
    "percent_agreement": ALONE,
    "cohen_kappa": cohen_kappa.undefined,
    "difficulty": "undefined",
}
"""Codes of statistics that are undefined although two raters rated."""
BEYOND_CHANCE = ("percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1")
MAX_LEVELS = 12
"""With more distinct values, confidence is grouped into ten bins."""


def reliability_table(result: Reliability) -> Table:
    """``reliability.csv``."""
    table = Table("reliability", ("source", "rater_a", "rater_b"))
    table.add(_whole_rows(result))
    table.add(_label_rows(result))
    table.add(_pair_rows(result))
    if result.ordered is not None:
        table.add(ordered_rows(result.ratings, result.ordered))
    table.add(_case_rows(result))
    return table


def _scores(result: Reliability) -> Iterator[tuple[str, str, Concordance]]:
    """Statistic, source and values of σ and of every ρ."""
    yield "sigma", "", result.sigma
    for source in result.sources:
        if source.rho is not None:
            yield "rho", source.name, source.rho


def _whole_rows(result: Reliability) -> Iterator[Row]:
    cases, rated = len(result.ratings), result.majorities.n
    yield _interval_row("sigma", result.headline["sigma"], result.sigma.n, cases, ("", "", ""))
    for source in result.sources:
        n = source.rho.n if source.rho is not None else 0
        yield _interval_row("rho", result.headline[f"rho {source.name}"], n, cases, (source.name, "", ""))
    for name in BEYOND_CHANCE:
        yield _interval_row(name, result.headline[name], rated, cases, ("", "", ""))
    for source in result.sources:
        if source.rho is not None:
            yield Row("pooled", "contradictions", float(source.rho.undefined), extra=(source.name, "", ""))


def _interval_row(statistic: str, value: Interval, n: int, cases: int, extra: tuple[object, ...]) -> Row:
    """A number of the data set with its interval, defined for n of the cases."""
    row = Row("pooled", statistic, value.value, extra=extra, low=value.low, high=value.high)
    row.n, row.n_undefined = n, cases - n
    return row


def _label_rows(result: Reliability) -> Iterator[Row]:
    counts = result.ratings.votes.sum(axis=0).tolist()
    for statistic, source, score in _scores(result):
        for label, value, n in zip(score.labels, score.by_label.tolist(), counts, strict=True):
            known = or_undefined(value, "label_not_given_where_another_rated")
            yield Row("pooled", statistic, known, label=label, extra=(source, "", ""), n=n)


def _pair_rows(result: Reliability) -> Iterator[Row]:
    ratings = result.ratings
    met = ratings.given.T.astype(np.int64) @ ratings.given
    every = [(statistic, source, score.pairs) for statistic, source, score in _scores(result)]
    every += [(name, "", values) for name, values in _pair_statistics(ratings).items()]
    for i, j in combinations(range(len(ratings.raters)), 2):
        for statistic, source, values in every:
            code = UNDEFINED[statistic] if met[i, j] else "no_case_rated_by_both"
            extra = (source, ratings.raters[i], ratings.raters[j])
            yield Row("pooled", statistic, or_undefined(values[i, j], code), extra=extra, n=int(met[i, j]))


def _pair_statistics(ratings: Ratings) -> dict[str, Values]:
    if len(ratings.labels) >= VOID:
        return {}
    tally = ratings.tally()
    tables = contingency(tally)
    share = divide(np.trace(tables, axis1=-2, axis2=-1), tables.sum(axis=(-1, -2)))
    return {"percent_agreement": share, "cohen_kappa": cohen_kappa.of(tables, tally.labels)}


def _case_rows(result: Reliability) -> Iterator[Row]:
    ratings, m = result.ratings, result.ratings.rated
    columns = [("percent_agreement", "", agreement_by_case(ratings))]
    columns += [(statistic, source, score.by_case) for statistic, source, score in _scores(result)]
    columns += [("difficulty", s.name, s.rasch.difficulty) for s in result.sources if s.rasch is not None]
    for statistic, source, values in columns:
        for case, value, n in zip(ratings.cases, values.tolist(), m.tolist(), strict=True):
            known = or_undefined(value, ONE_RATER if n < 2 else UNDEFINED[statistic])
            yield Row("case", statistic, known, case, extra=(source, "", ""), n=n)


def agreement_by_case(ratings: Ratings) -> Values:
    """Share of the pairs of raters of each case who agree; nan with fewer than two raters."""
    m = ratings.rated
    return 1 - divide(m * m - (ratings.votes**2).sum(axis=1), m * (m - 1))


def majorities_table(result: Reliability) -> Table:
    """``majorities.csv``: shares of the data set; then every case, the votes of its winner of n and p."""
    won, cases = result.majorities, len(result.ratings)
    table = Table("majorities", ("winner", "reference", "slim", "overwhelming", "wrong"))
    for kind, name in KINDS.items():
        n = won.n_judged if kind.startswith("wrong") else won.n
        if n:
            table.append(_interval_row(name, result.headline[name], n, cases, ("",) * 5))
    names = {MISSING: ""} | dict(enumerate(result.ratings.labels))
    words = ("no", "yes")
    columns = zip(
        won.cases, won.winner.tolist(), won.reference.tolist(), won.votes.tolist(), won.rated.tolist(),
        won.p.tolist(), won.slim.tolist(), won.overwhelming.tolist(), won.wrong.tolist(), won.judged.tolist(),
        strict=True,
    )  # fmt: skip
    for case, winner, expected, votes, rated, p, slim, much, wrong, judged in columns:
        extra = (names[winner], names[expected], words[slim], words[much], words[wrong] if judged else "")
        table.append(Row("case", "votes", float(votes), case, extra=extra, n=rated))
        p_value = or_undefined(p, ONE_RATER if rated < 2 else "tied")
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
    operating, odd = operating_points(result), conspicuous_raters(result.ratings)
    for i, rater in enumerate(result.ratings.raters):
        table.add(_rater_rows(result, i))
        for source in result.sources:
            table.add(_source_rows(source, i, rater, result.settings.level))
        if rater in operating:
            p, extra = operating[rater], (rater, "reference")
            table.append(Row("pooled", "sensitivity", p.sensitivity, extra=extra, n=p.positives))
            table.append(Row("pooled", "specificity", p.specificity, extra=extra, n=p.negatives))
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
    sigma = or_undefined(result.sigma.by_rater[i], "no_case_rated_by_another")
    yield Row("pooled", "sigma", sigma, extra=extra, n=int(given.sum()))


def _source_rows(source: Source, i: int, rater: str, level: float) -> Iterator[Row]:
    values = {"accuracy": source.accuracy}
    if source.rho is not None:
        values["rho"] = source.rho.by_rater
    model = source.rasch
    if model is not None:
        values |= {name: getattr(model, name) for name in ("ability", "ability_error", "infit", "outfit")}
    why = undefined_like(source.value, "not_compared_on_any_case")
    for name, by_rater in values.items():
        value = float(by_rater[i])
        row = Row("pooled", name, why if math.isnan(value) else value, extra=(rater, source.name), n=int(source.n[i]))
        if name == "ability" and model is not None and not math.isnan(model.ability_error[i]):
            reach = NormalDist().inv_cdf((1 + level) / 2) * float(model.ability_error[i])
            row.low, row.high = value - reach, value + reach
        yield row


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
    labels = np.array([len(np.unique(column[column != MISSING])) for column in ratings.codes.T])
    single = (ratings.given.sum(axis=0) > 1) & (labels == 1)
    met = ratings.given & (ratings.rated > 1)[:, None]
    same = np.zeros(ratings.codes.shape, bool)
    rows, columns = np.nonzero(met)
    same[rows, columns] = ratings.votes[rows, ratings.codes[rows, columns]] > 1
    never = met.any(axis=0) & ~same.any(axis=0)
    names = np.array(ratings.raters, object)
    return {"one_label": tuple(names[single]), "never_agrees": tuple(names[never])}


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
    for i, rater in enumerate(("", *levels.raters)):
        chosen = slice(None) if i == 0 else slice(i - 1, i)
        count, judged, wrong = (x[chosen].sum(axis=0).tolist() for x in (levels.count, levels.judged, levels.wrong))
        for name, given, known, errors in zip(levels.names, count, judged, wrong, strict=True):
            share = ratio(given, sum(count), "no_confidence")
            table.append(Row("pooled", "share", share, extra=(rater, name, ""), n=sum(count)))
            share = ratio(errors, known, "no_rating_of_confidence_judged")
            table.append(Row("pooled", "wrong_share", share, extra=(rater, name, levels.source), n=known))
    return table

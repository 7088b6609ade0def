"""The tables of ``reliability``: the data set, its cases, pairs and labels; raters; majorities.

In ``reliability.csv``, ``source`` says where the raters' competence comes from that a ρ goes by; rows of scope
``pooled`` with two raters are of that pair, those with a label are of the ratings that gave it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import combinations

import numpy as np

from ...agreement import cohen_kappa, contingency
from ...core.labels import VOID
from ...core.undefined import Undefined
from ...inference.intervals import Interval
from ...ratings.concordance import ALONE, CONTRADICTION, Concordance
from ...ratings.ratings import MISSING, Ratings, Values
from ..rows import Row, Table
from .raters import raters_table
from .verb import KINDS, Reliability

__all__ = ["majorities_table", "raters_table", "reliability_table"]

ONE_RATER = "fewer_than_two_raters"
NEVER_MET = "no_case_rated_by_both"
NOT_GIVEN = "label_not_given_where_another_rated"
BEYOND_CHANCE = ("percent_agreement", "krippendorff_alpha", "fleiss_kappa", "gwet_ac1")


def reliability_table(found: Reliability) -> Table:
    """``reliability.csv``."""
    table = Table("reliability", ("source", "rater_a", "rater_b"))
    table.add(_whole(found))
    table.add(_labels(found))
    table.add(_pairs(found))
    table.add(_cases(found))
    return table


def scores(found: Reliability) -> Iterator[tuple[str, str, Concordance]]:
    """Statistic, source and values of σ and of every ρ."""
    yield "sigma", "", found.sigma
    for source in found.sources:
        if source.rho is not None:
            yield "rho", source.name, source.rho


def _whole(found: Reliability) -> Iterator[Row]:
    cases = len(found.ratings)
    yield _headline("sigma", "", found.headline["sigma"], found.sigma.n, cases - found.sigma.n)
    for source in found.sources:
        n = source.rho.n if source.rho is not None else 0
        yield _headline("rho", source.name, found.headline[f"rho {source.name}"], n, cases - n)
    for name in BEYOND_CHANCE:
        yield _headline(name, "", found.headline[name], found.majorities.n, cases - found.majorities.n)
    for source in found.sources:
        if source.rho is not None:
            pairs = float(source.rho.undefined)
            yield Row("pooled", "contradictions", pairs, extra=(source.name, "", ""))


def _headline(statistic: str, source: str, value: Interval, n: int, undefined: int) -> Row:
    row = Row("pooled", statistic, value.value, extra=(source, "", ""), low=value.low, high=value.high)
    row.n, row.n_undefined = n, undefined
    return row


def _labels(found: Reliability) -> Iterator[Row]:
    counts = found.ratings.votes.sum(axis=0).tolist()
    for statistic, source, score in scores(found):
        for label, value, n in zip(score.labels, score.by_label.tolist(), counts, strict=True):
            told = _told(value, NOT_GIVEN)
            yield Row("pooled", statistic, told, label=label, extra=(source, "", ""), n=n)


def _pairs(found: Reliability) -> Iterator[Row]:
    ratings = found.ratings
    met = ratings.given.T.astype(np.int64) @ ratings.given
    every = [(statistic, source, score.pairs) for statistic, source, score in scores(found)]
    every += [(name, "", values) for name, values in _pair_statistics(ratings).items()]
    for i, j in combinations(range(len(ratings.raters)), 2):
        for statistic, source, values in every:
            why = NEVER_MET if not met[i, j] else _why(statistic)
            extra = (source, ratings.raters[i], ratings.raters[j])
            yield Row("pooled", statistic, _told(float(values[i, j]), why), extra=extra, n=int(met[i, j]))


def _pair_statistics(ratings: Ratings) -> dict[str, Values]:
    if len(ratings.labels) >= VOID:
        return {}
    tally = ratings.tally()
    tables = contingency(tally)
    both = tables.sum(axis=(-1, -2))
    same = np.trace(tables, axis1=-2, axis2=-1)
    share = np.divide(same, both, out=np.full(both.shape, np.nan), where=both > 0)
    return {"percent_agreement": share, "cohen_kappa": cohen_kappa.of(tables, tally.labels)}


def _cases(found: Reliability) -> Iterator[Row]:
    ratings, m = found.ratings, found.ratings.rated
    apart = m * m - (ratings.votes**2).sum(axis=1)
    share = 1 - np.divide(apart, m * (m - 1), out=np.full(len(m), np.nan), where=m > 1)
    columns = [("percent_agreement", "", share)]
    columns += [(statistic, source, score.by_case) for statistic, source, score in scores(found)]
    rated = m.tolist()
    for statistic, source, values in columns:
        extra, lost = (source, "", ""), _why(statistic)
        for case, value, n in zip(ratings.cases, values.tolist(), rated, strict=True):
            told = value if value == value else Undefined(ONE_RATER if n < 2 else lost)
            yield Row("case", statistic, told, case, extra=extra, n=n)
    for source_found in found.sources:
        model = source_found.rasch
        if model is not None:
            extra = (source_found.name, "", "")
            for case, value, n in zip(ratings.cases, model.difficulty.tolist(), rated, strict=True):
                yield Row("case", "difficulty", value, case, extra=extra, n=n)


def _why(statistic: str) -> str:
    if statistic == "rho":
        return CONTRADICTION
    return cohen_kappa.undefined if statistic == "cohen_kappa" else ALONE if statistic != "sigma" else "no_confidence"


def _told(value: float, code: str) -> float:
    return Undefined(code) if math.isnan(value) else value


def majorities_table(found: Reliability) -> Table:
    """``majorities.csv``: shares of the data set; then every case, the votes of its winner of n and p."""
    won, labels = found.majorities, found.ratings.labels
    table = Table("majorities", ("winner", "reference", "slim", "overwhelming", "wrong"))
    for kind, name in KINDS.items():
        value, n = found.headline[name], won.n_judged if kind.startswith("wrong") else won.n
        if n:
            nothing = ("",) * 5
            row = Row("pooled", name, value.value, extra=nothing, low=value.low, high=value.high)
            row.n, row.n_undefined = n, len(found.ratings) - n
            table.append(row)
    names = {MISSING: ""} | dict(enumerate(labels))
    columns = zip(
        won.cases, won.winner.tolist(), won.reference.tolist(), won.votes.tolist(), won.rated.tolist(),
        won.p.tolist(), won.slim.tolist(), won.overwhelming.tolist(), won.wrong.tolist(), won.judged.tolist(),
        strict=True,
    )  # fmt: skip
    for case, winner, truth, votes, rated, p, slim, much, wrong, judged in columns:
        right = ("no", "yes")[wrong] if judged else ""
        extra = (names[winner], names[truth], ("no", "yes")[slim], ("no", "yes")[much], right)
        table.append(Row("case", "votes", float(votes), case, extra=extra, n=rated))
        told = p if p == p else Undefined(ONE_RATER if rated < 2 else "tied")
        table.append(Row("case", "p_value", told, case, extra=extra, n=rated))
    return table

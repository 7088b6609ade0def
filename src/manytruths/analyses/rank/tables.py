"""The tables of ``rank``: rankings, pairs of algorithms, and how far rankings agree.

Scope ``ranking`` is one metric against one truth; in scope ``overall`` an empty metric or truth stands for all of
them; in scope ``without_truth`` the truth named is left out.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ...core.undefined import Undefined
from ...evaluation.ranking.missing_scores import Board
from ...evaluation.ranking.ranking import Ranking, best_first
from ...evaluation.ranking.standings import Standing, competition_ranks
from ..tables import Row, Table

SCORES = {"rank": "mean_rank", "test": "wins"}


def rankings_table(ranking: Ranking) -> Table:
    """Ranks with intervals, what they go by, shares of first places, and gaps."""
    table = Table("rankings", ("scheme", "against", "metric", "rank", "algorithm"))
    for standing in ranking.standings:
        table.add(_standing_rows(ranking, standing))
    for board in ranking.boards:
        table.add(_gap_rows(ranking, board))
    for without in ranking.without_truth:
        ranks = competition_ranks(without.ranks)
        for i in best_first(without.ranks, ranking.algorithms):
            extra = (ranking.scheme, without.truth, "", int(ranks[i]), ranking.algorithms[i])
            table.append(Row("without_truth", "rank", float(ranks[i]), extra=extra))
    return table


def scope(truth: str, metric: str) -> str:
    """``ranking`` for one metric and truth, else ``overall``."""
    return "ranking" if truth and metric else "overall"


def _standing_rows(ranking: Ranking, standing: Standing) -> Iterator[Row]:
    where = scope(standing.truth, standing.metric)
    low, high = (_ends(end, standing.refusal) for end in standing.interval)
    name, score, ends = _scores(ranking, standing)
    n, undefined = standing.subjects, standing.undefined
    for i in best_first(standing.ranks, ranking.algorithms):
        extra = (standing.scheme, standing.truth, standing.metric, int(standing.places[i]), ranking.algorithms[i])
        yield Row(
            where, "rank", float(standing.places[i]), extra=extra, low=low[i], high=high[i], n=n, n_undefined=undefined
        )
        yield Row(where, name, score[i], extra=extra, low=ends[0][i], high=ends[1][i], n=n)
        yield Row(where, "first_share", float(standing.first_share[i]), extra=extra, n=n, n_undefined=undefined)


def _ends(values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], refusal: Undefined | None) -> list[float]:
    return [float(value) if refusal is None else refusal for value in values]


def _scores(ranking: Ranking, standing: Standing) -> tuple[str, list[float], tuple[list[float | None], ...]]:
    """By what a scheme ranks, under its name, and its interval where there is one."""
    nothing: list[float | None] = [None] * len(ranking.algorithms)
    if standing.scheme != "mean" or not (standing.truth and standing.metric):
        name = SCORES.get(standing.scheme, "mean_rank") if standing.truth and standing.metric else "mean_rank"
        return name, standing.score.tolist(), (nothing, nothing)
    at = next(i for i, b in enumerate(ranking.boards) if (b.truth, b.metric) == (standing.truth, standing.metric))
    means = ranking.means[at]
    return (
        ranking.aggregate,
        means.value.tolist(),
        (list(_ends(means.low, means.refusal)), list(_ends(means.high, means.refusal))),
    )


def _gap_rows(ranking: Ranking, board: Board) -> Iterator[Row]:
    cases = board.values.shape[1]
    for i, algorithm in enumerate(ranking.algorithms):
        extra = ("", board.truth, board.metric, "", algorithm)
        for kind, counts in (
            ("missing", board.missing), ("undefined", board.undefined), ("both_empty", board.both_empty)
        ):  # fmt: skip
            yield Row("ranking", kind, float(counts[i]), extra=extra, n=cases)


def pairs_table(ranking: Ranking) -> Table:
    """Of ordered pairs: tests, the mean difference (the first less the second), and how often the first is ahead."""
    table = Table("pairs", ("scheme", "against", "metric", "algorithm_a", "algorithm_b"))
    for board, tests in zip(ranking.boards, ranking.tests, strict=True):
        for a, b, first, second in _pairs(ranking):
            extra = ("test", board.truth, board.metric, first, second)
            for statistic, p in (("p_value", tests.p_value), ("p_holm", tests.p_holm)):
                table.append(Row("ranking", statistic, float(p[a, b]), extra=extra, n=len(board.subjects)))
    table.add(_difference_rows(ranking))
    if len(ranking.boards) > 1:
        largest = ranking.evidence().p
        for a, b, first, second in _pairs(ranking):
            table.append(Row("overall", "p_holm", float(largest[a, b]), extra=("test", "", "", first, second)))
    for standing in ranking.standings:
        where, count = scope(standing.truth, standing.metric), len(standing.sampled) - standing.undefined
        for a, b, first, second in _pairs(ranking):
            extra = (standing.scheme, standing.truth, standing.metric, first, second)
            share = float(standing.ahead_share[a, b])
            table.append(Row(where, "ahead_share", share, extra=extra, n=count, n_undefined=standing.undefined))
    return table


def _difference_rows(ranking: Ranking) -> Iterator[Row]:
    for board, differences in zip(ranking.boards, ranking.mean_differences, strict=True):
        for a, b, first, second in _pairs(ranking):
            low, high = _ends(np.array([differences.low[a, b], differences.high[a, b]]), differences.refusal)
            extra, n = ("mean", board.truth, board.metric, first, second), len(board.subjects)
            yield Row(
                "ranking", "mean_difference", float(differences.value[a, b]), extra=extra, low=low, high=high, n=n
            )


def _pairs(ranking: Ranking) -> Iterator[tuple[int, int, str, str]]:
    names = ranking.algorithms
    return ((a, b, names[a], names[b]) for a in range(len(names)) for b in range(len(names)) if a != b)


def tau_table(ranking: Ranking) -> Table:
    """Kendall's τ_b between schemes, truths and metrics, and the mean over resamples with the whole ranking."""
    table = Table("tau", ("between", "scheme", "against", "metric", "a", "b"))
    for tau in ranking.taus:
        extra = (tau.between, tau.scheme, tau.truth, tau.metric, tau.first, tau.second)
        single = (tau.truth or tau.between == "truths") and (tau.metric or tau.between == "metrics")
        table.append(Row("ranking" if single else "overall", "kendall_tau", tau.value, extra=extra))
    for standing in ranking.standings:
        value, undefined = standing.tau
        extra = ("resamples", standing.scheme, standing.truth, standing.metric, "", "")
        where, count = scope(standing.truth, standing.metric), len(standing.sampled)
        row = Row(where, "mean_kendall_tau", value, extra=extra, n=count - undefined, n_undefined=undefined)
        table.append(row)
    return table

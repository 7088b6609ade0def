"""The tables and charts of ``rank``: rankings, pairs of algorithms, and how far rankings agree.

The ends of ``rank`` are its simultaneous set (see ``Ranking.rank_sets``), those of ``resampled_rank`` a bootstrap
range, which is no confidence interval. Scope ``ranking`` is one metric against one reference standard; in scope
``overall`` an empty metric or reference standard stands for all of them; in scope ``without_truth`` the reference
standard named is left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

import numpy as np

from ...charts.rankings import rank_blobs, rank_table, rank_whiskers, significance_map
from ...core.undefined import Undefined, or_undefined
from ...evaluation.ranking.ranking import Ranking, best_first
from ...evaluation.ranking.scores import Values
from ...evaluation.ranking.standings import Standing, competition_ranks
from ...inference.intervals import too_few_to_test
from ...io import safe_name
from ...io.result_tables import Row, Table

MOST_BOARDS = 24
"""With more metrics × reference standards, only the overall charts are drawn."""


def rankings_table(ranking: Ranking) -> Table:
    """Ranks with their simultaneous sets, what they go by, ranks in resamples, shares of first places, and gaps."""
    table = Table("rankings", ("scheme", "against", "metric", "rank", "algorithm"))
    for standing in ranking.standings:
        table.add(_standing_rows(ranking, standing))
    for board in ranking.boards:
        cases = board.values.shape[1]
        for i, algorithm in enumerate(ranking.algorithms):
            extra = ("", board.truth, board.metric, "", algorithm)
            for kind in ("missing", "undefined", "both_empty"):
                table.append(Row("ranking", kind, float(getattr(board, kind)[i]), extra=extra, n=cases))
    for without in ranking.without_truth:
        ranks = competition_ranks(without.ranks)
        for i in best_first(without.ranks, ranking.algorithms):
            names = (ranking.scheme, without.truth, "", int(ranks[i]), ranking.algorithms[i])
            table.append(Row("without_truth", "rank", float(ranks[i]), extra=names))
    return table


def scope_of(standing: Standing) -> str:
    """``ranking`` for one metric and reference standard, else ``overall``."""
    return "ranking" if standing.truth and standing.metric else "overall"


def _standing_rows(ranking: Ranking, standing: Standing) -> Iterator[Row]:
    """Ranks, the scores that they go by, ranks in resamples, and shares of first places."""
    scope, n, undefined = scope_of(standing), standing.subjects, standing.undefined
    low, high = (_ends(end, standing.refusal) for end in ranking.rank_sets(standing.truth, standing.metric))
    start, end = (_ends(each, standing.refusal) for each in standing.resampled_range)
    name = "wins" if standing.scheme == "test" and scope == "ranking" else "mean_rank"
    scores = standing.score.tolist()
    lows: list[float | None] = [None] * len(low)
    highs = lows
    if standing.scheme == "mean" and scope == "ranking":
        boards = [(board.truth, board.metric) for board in ranking.boards]
        means, name = ranking.means[boards.index((standing.truth, standing.metric))], ranking.aggregate
        scores = means.value.tolist()
        lows, highs = [*_ends(means.low, means.refusal)], [*_ends(means.high, means.refusal)]
    few = too_few_to_test(standing.fewest)
    if name == "wins" and few is not None:
        scores = [few] * len(scores)
    for i in best_first(standing.ranks, ranking.algorithms):
        place, first_share = int(standing.places[i]), _tested(standing.first_share[i], few)
        extra = (standing.scheme, standing.truth, standing.metric, place, ranking.algorithms[i])
        yield Row(scope, "rank", float(place), extra=extra, low=low[i], high=high[i], n=n)
        yield Row(
            scope, "resampled_rank", float(place), extra=extra, low=start[i], high=end[i], n=n, n_undefined=undefined
        )  # fmt: skip
        yield Row(scope, name, scores[i], extra=extra, low=lows[i], high=highs[i], n=n)
        yield Row(scope, "first_share", first_share, extra=extra, n=n, n_undefined=undefined)


def _ends(values: Values, refusal: Undefined | None) -> list[float]:
    return [or_undefined(value, "no_spread") if refusal is None else refusal for value in values]


def _tested(value: float, few: Undefined | None) -> float:
    """A p value or a share of the resamples, or why there is none."""
    return float(value) if few is None else few


def pairs_table(ranking: Ranking) -> Table:
    """Of ordered pairs: tests, the mean difference (the first less the second), and how often the first is ahead."""
    table = Table("pairs", ("scheme", "against", "metric", "algorithm_a", "algorithm_b"))
    names = ranking.algorithms
    pairs = [(a, b, (names[a], names[b])) for a, b in permutations(range(len(names)), 2)]
    for board, tests in zip(ranking.boards, ranking.tests, strict=True):
        n = len(board.subjects)
        for a, b, both in pairs:
            extra = ("test", board.truth, board.metric, *both)
            for statistic, p in (("p_value", tests.p_value), ("p_holm", tests.p_holm)):
                table.append(Row("ranking", statistic, _tested(p[a, b], too_few_to_test(n)), extra=extra, n=n))
    for board, estimates in zip(ranking.boards, ranking.mean_differences, strict=True):
        for a, b, both in pairs:
            low, high = _ends(np.array([estimates.low[a, b], estimates.high[a, b]]), estimates.refusal)
            extra, value = ("mean", board.truth, board.metric, *both), float(estimates.value[a, b])
            n = len(board.subjects)
            table.append(Row("ranking", "mean_difference", value, extra=extra, low=low, high=high, n=n))
    if len(ranking.boards) > 1:
        largest, few = ranking.evidence().p, too_few_to_test(ranking.overall.fewest)
        for a, b, both in pairs:
            table.append(Row("overall", "p_holm", _tested(largest[a, b], few), extra=("test", "", "", *both)))
    for standing in ranking.standings:
        scope, n = scope_of(standing), len(standing.sampled) - standing.undefined
        for a, b, both in pairs:
            extra = (standing.scheme, standing.truth, standing.metric, *both)
            share = _tested(standing.ahead_share[a, b], too_few_to_test(standing.fewest))
            table.append(Row(scope, "ahead_share", share, extra=extra, n=n, n_undefined=standing.undefined))
    return table


def tau_table(ranking: Ranking) -> Table:
    """Kendall's τ_b between schemes, reference standards and metrics, and the mean over resamples."""
    table = Table("tau", ("between", "scheme", "against", "metric", "a", "b"))
    for tau in ranking.taus:
        extra = (tau.between, tau.scheme, tau.truth, tau.metric, tau.first, tau.second)
        single = (tau.truth or tau.between == "truths") and (tau.metric or tau.between == "metrics")
        table.append(Row("ranking" if single else "overall", "kendall_tau", tau.value, extra=extra))
    for standing in ranking.standings:
        value, undefined = standing.tau
        extra = ("resamples", standing.scheme, standing.truth, standing.metric, "", "")
        n = len(standing.sampled) - undefined
        row = Row(scope_of(standing), "mean_kendall_tau", value, extra=extra, n=n, n_undefined=undefined)
        table.append(row)
    return table


# -- charts ------------------------------------------------------------------------------------------


def charts(ranking: Ranking) -> dict[str, str]:
    """SVG by name."""
    overall, algorithms = ranking.overall, ranking.algorithms
    order = best_first(overall.ranks, algorithms)
    names, places = [algorithms[i] for i in order], [float(overall.places[i]) for i in order]
    title, drawn = "Ranks in resamples of the subjects", {}
    if not overall.refusal:
        drawn["stability"] = rank_blobs(overall.shares[order], names, title, ranks=places)
    if len(ranking.boards) == 1:
        board = ranking.boards[0]
        return drawn | _rank_charts(ranking, "overall", board.title, board.truth, board.metric)
    drawn |= _rank_charts(ranking, "overall", "All metrics and reference standards", "", "")
    if len(ranking.references) > 1:
        table = np.stack([ranking.find(truth).places[order] for truth in ranking.references], axis=1)
        drawn["truths"] = rank_table(table, names, ranking.references, "Rank under each reference standard")
    for board in ranking.boards if len(ranking.boards) <= MOST_BOARDS else ():
        name = safe_name(f"{board.metric}-{board.truth}".replace(":", "-"))
        while f"ranks-{name}" in drawn:
            name += "-2"
        drawn |= _rank_charts(ranking, name, board.title, board.truth, board.metric)
    return drawn


def _rank_charts(ranking: Ranking, name: str, title: str, truth: str, metric: str) -> dict[str, str]:
    """The ranks with their simultaneous sets and groups, and the tests of all pairs."""
    standing = ranking.find(truth, metric)
    low, high = ranking.rank_sets(truth, metric)
    order = best_first(standing.ranks, ranking.algorithms)
    names = [ranking.algorithms[i] for i in order]
    rows = {ranking.algorithms[i]: (float(standing.places[i]), float(low[i]), float(high[i])) for i in order}
    groups = [group.algorithms for group in ranking.groups(truth, metric)]
    bars = [(names.index(group[0]), names.index(group[-1])) for group in groups]
    evidence = ranking.evidence(truth, metric)
    every = evidence.several.every if evidence.several else ""
    drawn = {f"ranks-{name}": rank_whiskers(rows, f"{title}: ranks by {standing.scheme}", groups=bars, every=every)}
    if not evidence.refusal:
        p, about = evidence.p[np.ix_(order, order)], f"{title}: who beats whom"
        drawn[f"significance-{name}"] = significance_map(p, names, about, alpha=ranking.alpha, every=every)
    return drawn

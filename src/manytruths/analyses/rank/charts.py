"""The charts of ``rank``."""

from __future__ import annotations

import numpy as np

from ...charts.rankings import rank_blobs, rank_table, rank_whiskers, significance_map
from ...evaluation.ranking.ranking import Group, Ranking, best_first
from ...evaluation.ranking.standings import Standing
from ...io import safe_name

MOST_BOARDS = 24
"""With more metrics × truths, only the overall charts are drawn."""


def charts(ranking: Ranking) -> dict[str, str]:
    """SVG by name."""
    drawn = {"stability": _stability(ranking)}
    if len(ranking.boards) == 1:
        board = ranking.boards[0]
        return drawn | _pair(ranking, "overall", board.title, board.truth, board.metric)
    drawn |= _pair(ranking, "overall", "All metrics and reference standards", "", "")
    truths = tuple(t for t in ranking.truths)
    if len(truths) > 1:
        drawn["truths"] = _truths(ranking, truths)
    for board in ranking.boards if len(ranking.boards) <= MOST_BOARDS else ():
        name = safe_name(f"{board.metric}-{board.truth}".replace(":", "-"))
        while f"ranks-{name}" in drawn:
            name += "-2"
        drawn |= _pair(ranking, name, board.title, board.truth, board.metric)
    return drawn


def _pair(ranking: Ranking, name: str, title: str, truth: str, metric: str) -> dict[str, str]:
    standing, evidence = ranking.find(truth, metric), ranking.evidence(truth, metric)
    order = best_first(standing.ranks, ranking.algorithms)
    names = [ranking.algorithms[i] for i in order]
    best = evidence.p[np.ix_(order, order)]
    return {
        f"ranks-{name}": _whiskers(standing, order, names, ranking.groups(truth, metric), title),
        f"significance-{name}": significance_map(best, names, f"{title}: who beats whom", alpha=ranking.alpha),
    }


def _whiskers(standing: Standing, order: list[int], names: list[str], groups: tuple[Group, ...], title: str) -> str:
    low, high = standing.interval
    rows = {
        name: (float(standing.places[i]), float(low[i]), float(high[i])) for i, name in zip(order, names, strict=True)
    }
    bars = [(names.index(g.algorithms[0]), names.index(g.algorithms[-1])) for g in groups]
    return rank_whiskers(rows, f"{title}: ranks by {standing.scheme}", groups=bars)


def _stability(ranking: Ranking) -> str:
    standing = ranking.overall
    order = best_first(standing.ranks, ranking.algorithms)
    names = [ranking.algorithms[i] for i in order]
    places = [float(standing.places[i]) for i in order]
    return rank_blobs(standing.shares[order], names, "Ranks in resamples of the subjects", ranks=places)


def _truths(ranking: Ranking, truths: tuple[str, ...]) -> str:
    order = best_first(ranking.overall.ranks, ranking.algorithms)
    table = np.stack([ranking.find(truth).places[order] for truth in truths], axis=1)
    return rank_table(table, [ranking.algorithms[i] for i in order], truths, "Rank under each reference standard")

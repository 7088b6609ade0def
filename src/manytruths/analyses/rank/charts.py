"""The charts of ``rank``."""

from __future__ import annotations

import numpy as np

from ...charts.rankings import rank_blobs, rank_table, rank_whiskers, significance_map
from ...evaluation.ranking.ranking import Group, Ranking, best_first
from ...evaluation.ranking.standings import Standing
from ...io import safe_name

MOST_BOARDS = 24
"""With more metrics × truths, only the overall charts are drawn."""


def charts(found: Ranking) -> dict[str, str]:
    """SVG by name."""
    drawn = {"stability": _stability(found)}
    if len(found.boards) == 1:
        board = found.boards[0]
        return drawn | _pair(found, "overall", board.title, board.truth, board.metric)
    drawn |= _pair(found, "overall", "All metrics and truths", "", "")
    truths = tuple(t for t in found.truths)
    if len(truths) > 1:
        drawn["truths"] = _truths(found, truths)
    for board in found.boards if len(found.boards) <= MOST_BOARDS else ():
        name = safe_name(f"{board.metric}-{board.truth}".replace(":", "-"))
        while f"ranks-{name}" in drawn:
            name += "-2"
        drawn |= _pair(found, name, board.title, board.truth, board.metric)
    return drawn


def _pair(found: Ranking, name: str, title: str, truth: str, metric: str) -> dict[str, str]:
    standing, evidence = found.find(truth, metric), found.evidence(truth, metric)
    order = best_first(standing.ranks, found.algorithms)
    names = [found.algorithms[i] for i in order]
    best = evidence.p[np.ix_(order, order)]
    return {
        f"ranks-{name}": _whiskers(standing, order, names, found.groups(truth, metric), title),
        f"significance-{name}": significance_map(best, names, f"{title}: who beats whom", alpha=found.alpha),
    }


def _whiskers(standing: Standing, order: list[int], names: list[str], groups: tuple[Group, ...], title: str) -> str:
    low, high = standing.interval
    rows = {
        name: (float(standing.places[i]), float(low[i]), float(high[i])) for i, name in zip(order, names, strict=True)
    }
    bars = [(names.index(g.algorithms[0]), names.index(g.algorithms[-1])) for g in groups]
    return rank_whiskers(rows, f"{title}: ranks by {standing.scheme}", groups=bars)


def _stability(found: Ranking) -> str:
    standing = found.overall
    order = best_first(standing.ranks, found.algorithms)
    names = [found.algorithms[i] for i in order]
    places = [float(standing.places[i]) for i in order]
    return rank_blobs(standing.shares[order], names, "Ranks in resamples of the subjects", ranks=places)


def _truths(found: Ranking, truths: tuple[str, ...]) -> str:
    order = best_first(found.overall.ranks, found.algorithms)
    table = np.stack([found.find(truth).places[order] for truth in truths], axis=1)
    return rank_table(table, [found.algorithms[i] for i in order], truths, "Rank under each truth")

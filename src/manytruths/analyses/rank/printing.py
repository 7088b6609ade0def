"""What a person reads after ``rank``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ...evaluation.ranking.ranking import best_first
from ..printing import counted, grid, number

if TYPE_CHECKING:
    from rich.console import Console

    from ...evaluation.ranking.ranking import Ranking
    from .rank import RankResult

MOST_COLUMNS = 6
MOST_RANKINGS = 8
MOST_GROUPS = 4


def print_ranking(result: RankResult, console: Console) -> None:
    """The order with intervals, ranks under each truth, the distinct rankings, the verdict, groups and notes."""
    ranking = result.ranking
    console.print(f"[bold]{result.describe()}[/bold]\n")
    for part in (_order(result), _truths(ranking), _distinct(ranking)):
        if part is not None:
            console.print(part)
    console.print(ranking.verdict.sentence, style="bold", markup=False, highlight=False)
    groups = [str(group) for group in ranking.groups()]
    if len(groups) > MOST_GROUPS:
        groups = [
            *groups[:MOST_GROUPS],
            f"{len(groups) - MOST_GROUPS} more such groups are bars in charts/ranks-overall",
        ]
    for line in (*groups, *result.notes):
        console.print(f"• {line}", markup=False, highlight=False)


def _order(result: RankResult) -> Any:
    ranking, overall = result.ranking, result.ranking.overall
    low, high = overall.interval
    columns = _columns(ranking)
    rows = []
    for i in best_first(overall.ranks, ranking.algorithms):
        place = str(overall.places[i])
        known = not np.isnan(low[i])
        place += f" ({low[i]:.0f}–{high[i]:.0f})" if known else ""
        gaps = sum(int(b.missing[i] + b.undefined[i]) for b in ranking.boards)
        first = "–" if overall.refusal or np.isnan(low[i]) else f"{overall.first_share[i]:.0%}"
        rows.append([ranking.algorithms[i], place, first, *(cells[i] for cells in columns.values()), str(gaps)])
    intervals = "" if overall.refusal else f", with {result.settings.level:.0%} intervals over subjects"
    title = f"By {_scheme(ranking)}{intervals}"
    return grid(title, ["", "rank", "first in", *columns, "gaps"], rows)


def _scheme(ranking: Ranking) -> str:
    ways = {"mean": ranking.aggregate, "rank": "mean rank in the cases", "test": "significant wins"}
    return ways[ranking.scheme] + (", mean of ranks over metrics and references" if len(ranking.boards) > 1 else "")


def _columns(ranking: Ranking) -> dict[str, list[str]]:
    """Means with their intervals where there is one board, else the mean rank and each metric's means over truths."""
    if len(ranking.boards) == 1:
        means, name = ranking.means[0], f"{ranking.aggregate} {ranking.metrics[0]}"
        known = zip(means.value, means.low, means.high, strict=True)
        return {name: [number(v) + ("" if np.isnan(a) else f" ({number(a)}–{number(b)})") for v, a, b in known]}
    columns = {"mean rank": [number(value, 2) for value in ranking.overall.score]}
    for metric in ranking.metrics[:MOST_COLUMNS]:
        values = [m.value for m, b in zip(ranking.means, ranking.boards, strict=True) if b.metric == metric]
        columns[metric] = [number(value) for value in np.mean(values, axis=0)]
    return columns


def _truths(ranking: Ranking) -> Any:
    if not 1 < len(ranking.truths) <= MOST_COLUMNS + 2:
        return None
    places = {truth: ranking.find(truth).places for truth in ranking.truths}
    order = best_first(ranking.overall.ranks, ranking.algorithms)
    rows = [[ranking.algorithms[i], *(str(ranks[i]) for ranks in places.values())] for i in order]
    return grid("Rank under each reference standard", ["", *places], rows)


def _distinct(ranking: Ranking) -> Any:
    rankings = ranking.distinct()
    if len(ranking.truths) < 2 or len(ranking.algorithms) > MOST_COLUMNS:
        return None
    rows = [[entry.ranking, str(len(entry.truths)), ", ".join(entry.truths)] for entry in rankings[:MOST_RANKINGS]]
    count = counted(len(rankings), "distinct ranking")
    return grid(f"{count} under {counted(len(ranking.truths), 'reference standard')}", ["", "references", ""], rows)

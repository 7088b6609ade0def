"""Algorithms ranked under every truth, as ``rank`` would rank them by their means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...core.errors import InputError
from ...core.undefined import code
from ...evaluation.grey.truth_rankings import TruthRankings, truth_rankings
from ...evaluation.ranking.directions import describes_the_case, direction
from ...evaluation.ranking.gaps import Board, boards
from ...evaluation.ranking.schemes import DIGITS
from ...evaluation.ranking.scores import MISSING, PRESENT, Scores
from ...io.scores import gap_of
from ..rows import Row
from .gaps import Missing
from .hard import HardScores, Part, algorithms_of, truths_of

Orders = TruthRankings


def orders_of(found: HardScores, missing: Missing) -> dict[tuple[str, str], Orders]:
    """Rankings by label and metric. A case without anything to find counts as the best where nothing was found."""
    orders: dict[tuple[str, str], Orders] = {}
    for part in found.parts:
        if len(algorithms_of(part)) > 1:
            orders |= {(part.label, metric): order for metric, order in _orders(scores_of(part), missing).items()}
    return orders


def _orders(scores: Scores, missing: Missing) -> dict[str, Orders]:
    try:
        found = boards(scores, scores.metrics, missing)
    except InputError:
        return {}  # nobody has a score, or no case has all of them
    by_metric: dict[str, list[Board]] = {}
    for board in found:
        by_metric.setdefault(board.metric, []).append(board)
    return {metric: _ranked(scores.algorithms, own) for metric, own in by_metric.items()}


def _ranked(algorithms: Sequence[str], found: Sequence[Board]) -> Orders:
    # what differs by rounding alone is tied
    table = np.stack([np.round(board.means if board.higher else -board.means, DIGITS) for board in found], axis=1)
    return truth_rankings(table, algorithms, [board.truth for board in found])


def scores_of(part: Part) -> Scores:
    """The scores of a label as ``rank`` reads them: against raters and truths, but not against their mean."""
    algorithms, truths = algorithms_of(part), truths_of(part)
    keys = [(a, t) for a in algorithms for t in truths]
    metrics = [n for n in dict.fromkeys(n for key in keys for n in part.statistics(key)) if not describes_the_case(n)]
    shape = len(algorithms), len(part.tallies), len(truths), len(metrics)
    values, gaps = np.full(shape, np.nan), np.full(shape, MISSING, np.uint8)
    for i, algorithm in enumerate(algorithms):
        for k, truth in enumerate(truths):
            for m, metric in enumerate(metrics):
                if metric in part.statistics((algorithm, truth)):
                    series = part.series(algorithm, truth, metric)
                    values[i, :, k, m] = series
                    gaps[i, :, k, m] = [gap_of(code(v)) if code(v) else PRESENT for v in series]
    cases = tuple(part.tallies)
    return Scores(
        tuple(a.name for a in algorithms), cases, tuple(part.tallies.subjects[c] for c in cases),
        tuple(t.name for t in truths), tuple(metrics), values, gaps,
        diagonals=tuple(part.diagonals[c] for c in cases),
    )  # fmt: skip


def rank_rows(orders: Mapping[tuple[str, str], Orders], region: str) -> Iterator[Row]:
    """A row for every label, metric, truth and algorithm, the best first."""
    for (label, metric), found in orders.items():
        sign = 1 if direction(metric) == "higher" else -1
        for truth, column in zip(found.truths, found.scores.T, strict=True):
            if truth in found.undefined:
                continue
            for algorithm, value in sorted(zip(found.algorithms, column.tolist(), strict=True), key=lambda at: -at[1]):
                extra = (truth, metric, 1 + int((column > value).sum()), algorithm)
                yield Row("mean", metric, sign * value + 0.0, label=label, region=region, extra=extra)

"""Algorithms ranked by their means under every truth."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from ...evaluation.grey.truth_rankings import TruthRankings, truth_rankings
from ...evaluation.ranking.directions import describes_the_case, direction
from ..rows import Row
from .hard import MEAN, HardScores

Orders = TruthRankings


def orders_of(found: HardScores) -> dict[tuple[str, str], Orders]:
    """Rankings by label and metric, of means over subjects."""
    means: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for row in found.scores.rows:
        algorithm, against = map(str, row.extra)
        if row.scope == "mean" and not row.group and against != MEAN.name and not describes_the_case(row.statistic):
            means.setdefault((row.label, row.statistic), {})[algorithm, against] = row.value
    return {key: _ranked(values, key[1]) for key, values in means.items() if len({a for a, _ in values}) > 1}


def _ranked(values: Mapping[tuple[str, str], float], metric: str) -> Orders:
    algorithms = list(dict.fromkeys(a for a, _ in values))
    truths = list(dict.fromkeys(t for _, t in values))
    table = np.array([[values.get((a, t), np.nan) for t in truths] for a in algorithms], np.float64)
    return truth_rankings(table if direction(metric) == "higher" else -table, algorithms, truths)


def rank_rows(orders: Mapping[tuple[str, str], Orders]) -> Iterator[Row]:
    """A row for every label, metric, truth and algorithm, the best first."""
    for (label, metric), found in orders.items():
        sign = 1 if direction(metric) == "higher" else -1
        for truth, column in zip(found.truths, found.scores.T, strict=True):
            if truth in found.undefined:
                continue
            for algorithm, value in sorted(zip(found.algorithms, column.tolist(), strict=True), key=lambda at: -at[1]):
                extra = (truth, metric, 1 + int((column > value).sum()), algorithm)
                yield Row("mean", metric, sign * value + 0.0, label=label, extra=extra)

"""How far every two raters agree, and every rater with himself: ``pairs.csv``."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...agreement import PairStatistic, bias_index, cohen_kappa, contingency, dice, iou, volume_difference
from ...core.columns import Column
from ...core.labels import Labels
from ...core.tally import Tallies, Tally, pool
from ..rows import Row, Table
from ..summaries import Series, Settings, region_of, summarise

STATISTICS: tuple[PairStatistic, ...] = (cohen_kappa, dice, iou, volume_difference, bias_index)


def pairs_table(tallies: Tallies, settings: Settings) -> Table:
    """Pair statistics by case, pooled, mean and deviation; between raters, and within one between sessions."""
    table = Table("pairs", ("rater_a", "rater_b", "relation"))
    whole = pool(tallies, mixed=True)
    pairs = column_pairs(whole)
    chosen = [s for s in STATISTICS if whole.labels.background is not None or s is cohen_kappa]
    counts = {case: _pair_counts(t, pairs) for case, t in tallies.items()}
    series = [
        Series(s.__name__, _values(s, [c[k] for c in counts.values()], whole.labels), extra=name)
        for k, name in enumerate(map(_named, pairs))
        for s in chosen
    ]
    table.add(summarise(series, tallies, settings))
    total = np.sum(list(counts.values()), axis=0)
    for k, pair in enumerate(pairs):
        for s in chosen:
            value = s.value(total[k], whole.labels)
            row = Row("pooled", s.__name__, value, region=region_of(tallies), extra=_named(pair), n=int(total[k].sum()))
            table.append(row)
    return table


def column_pairs(tally: Tally) -> list[tuple[Column, Column]]:
    """Every two raters in their first session, then every two sessions of one rater."""
    first = [tally.columns[i] for i in tally.raters]
    again = [pair for pair in combinations(tally.role("rater"), 2) if pair[0].name == pair[1].name]
    return [*combinations(first, 2), *again]


def _named(pair: tuple[Column, Column]) -> tuple[object, ...]:
    a, b = pair
    return (str(a), str(b), "within") if a.name == b.name else (a.name, b.name, "between")


def _pair_counts(tally: Tally, pairs: list[tuple[Column, Column]]) -> NDArray[np.float64]:
    where = {column: i for i, column in enumerate(tally.columns)}
    tables = contingency(tally, range(len(tally.columns)))
    return np.stack([tables[where[a], where[b]] for a, b in pairs])


def _values(statistic: PairStatistic, tables: list[NDArray[np.float64]], labels: Labels) -> list[float]:
    found = statistic.of(np.stack(tables), labels)
    return [statistic.value(t, labels) if np.isnan(v) else float(v) for t, v in zip(tables, found, strict=True)]

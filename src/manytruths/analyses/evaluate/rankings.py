"""Rankings of algorithms under every reference standard, by their means as ``rank`` has them; and a table for papers.

The table has algorithms down, reference standards across, and ``mean(std)`` in the cells (Zeng's Tables 2 and 3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ...core.errors import InputError
from ...core.undefined import code
from ...evaluation.ranking.by_reference import ReferenceRankings, rank_by_reference
from ...evaluation.ranking.missing_scores import Board, make_boards
from ...evaluation.ranking.score_tables import gap_of
from ...evaluation.ranking.scores import MISSING, PRESENT, Scores, describes_the_case, direction
from ...evaluation.ranking.standings import DIGITS
from ..tables import Row, Table
from .case_scores import DISTANCES, EVERYBODY
from .mask_scores import LabelScores, MaskScores, algorithms_of, references_of
from .missing_scores import Missing

Orders = ReferenceRankings


def rank_masks(masks: MaskScores, missing: Missing) -> dict[tuple[str, str], Orders]:
    """Rankings by label and metric. A case without anything to find counts as the best where nothing was found."""
    orders: dict[tuple[str, str], Orders] = {}
    for part in masks.parts:
        if len(algorithms_of(part)) > 1:
            orders |= {(part.label, metric): order for metric, order in _orders(scores_of(part), missing).items()}
    return orders


def _orders(scores: Scores, missing: Missing) -> dict[str, Orders]:
    try:
        boards = make_boards(scores, scores.metrics, missing)
    except InputError:
        return {}  # nobody has a score, or no case has all of them
    by_metric: dict[str, list[Board]] = {}
    for board in boards:
        by_metric.setdefault(board.metric, []).append(board)
    return {metric: _ranked(scores.algorithms, own) for metric, own in by_metric.items()}


def _ranked(algorithms: Sequence[str], boards: Sequence[Board]) -> Orders:
    # what differs by rounding alone is tied
    table = np.stack([np.round(board.means if board.higher else -board.means, DIGITS) for board in boards], axis=1)
    return rank_by_reference(table, algorithms, [board.truth for board in boards])


def scores_of(part: LabelScores) -> Scores:
    """The scores of a label as ``rank`` reads them: against raters and truths, but not against their mean."""
    algorithms, truths = algorithms_of(part), references_of(part)
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


def ranking_rows(orders: Mapping[tuple[str, str], Orders], region: str) -> Iterator[Row]:
    """A row for every label, metric, truth and algorithm, the best first."""
    for (label, metric), rankings in orders.items():
        sign = 1 if direction(metric) == "higher" else -1
        for truth, column in zip(rankings.truths, rankings.scores.T, strict=True):
            if truth in rankings.undefined:
                continue
            for algorithm, value in sorted(
                zip(rankings.algorithms, column.tolist(), strict=True), key=lambda at: -at[1]
            ):
                extra = (truth, metric, 1 + int((column > value).sum()), algorithm)
                yield Row("mean", metric, sign * value + 0.0, label=label, region=region, extra=extra)


SHOWN = ("dice", "iou", "hausdorff")
"""As the paper has it; everything else is in ``scores.csv``."""
GREY = ("pbar_area",)


def paper_table(scores: Table) -> tuple[Sequence[str], list[list[str]]]:
    """Header and rows, from the means and standard deviations over subjects of ``scores.csv``."""
    means, deviations = _cells(scores, "mean"), _cells(scores, "std")
    labels = list(dict.fromkeys(label for label, *_ in means))
    columns = [
        (label, truth, statistic)
        for label in labels
        for truth in dict.fromkeys(t for own, _, t, _ in means if own == label)
        for statistic in (("extended_dice",) if truth == EVERYBODY.name else (*SHOWN, *GREY))
        if any(key[0] == label and key[2:] == (truth, statistic) for key in means)
    ]
    algorithms = list(dict.fromkeys(a for _, a, _, _ in means))
    header = [
        "algorithm",
        *(f"{label + ', ' if label else ''}{truth}: {statistic}" for label, truth, statistic in columns),
    ]
    rows = [
        [a, *(_written(means.get((o, a, t, s)), deviations.get((o, a, t, s))) for o, t, s in columns)]
        for a in algorithms
    ]
    return header, rows


def _cells(scores: Table, scope: str) -> dict[tuple[str, str, str, str], Row]:
    return {
        (r.label, str(r["algorithm"]), str(r["against"]), r.statistic): r
        for r in scores.rows
        if r.scope == scope and not r.group
    }


def _written(mean: Row | None, deviation: Row | None) -> str:
    """``0.780(.08)``, and ``35.4(15.1)`` of distances."""
    if mean is None or math.isnan(mean.value):
        return "–"
    digits = 1 if mean.statistic in DISTANCES[:3] else 3
    value = f"{mean.value:.{digits}f}"
    if deviation is None or math.isnan(deviation.value):
        return value
    return f"{value}({f'{deviation.value:.{min(digits, 2)}f}'.removeprefix('0')})"

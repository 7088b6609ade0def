"""A table to paste into a paper: algorithms down, truths across, ``mean(std)`` in the cells (Zeng's Tables 2 and 3)."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..rows import Row, Table
from .measures import DISTANCES, EVERYBODY

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

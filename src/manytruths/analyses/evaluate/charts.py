"""The charts of ``evaluate``: the human range, curves under every truth, and rankings."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...charts import line_chart, rater_difference_chart
from ...evaluation.curves import mean_precision
from ...evaluation.ranking.scores import is_distance
from ...io import safe_name
from .grading import grading_chart
from .human_range import OTHERS
from .printing import NAMES, unit_of, verdict_words
from .probability_maps import ProbabilityScores

if TYPE_CHECKING:
    from .evaluate import Evaluation

Values = NDArray[np.float64]

STEP = 0.01
"""Recall between two points of a curve as drawn."""

DRAWN = ("dice", "hausdorff_95", "mean_surface_distance", "surface_dice")
"""What is drawn beside the human range; all of it is in ``verdicts.csv``."""


def charts(result: Evaluation) -> dict[str, str]:
    """SVG by name."""
    drawn = dict(_ranges(result))
    if result.probability_scores is not None:
        drawn |= dict(_levels(result.probability_scores))
        drawn |= dict(_truths(result.probability_scores))
        drawn |= dict(_rankings(result.probability_scores))
    if result.intensity_curves is not None:
        drawn |= {f"frames-{safe_name(subject)}": svg for subject, svg in result.intensity_curves.charts().items()}
    if result.graded is not None:
        drawn["grades"] = grading_chart(result.graded)
    return drawn


def _ranges(result: Evaluation) -> Iterator[tuple[str, str]]:
    """How far each algorithm is better or worse than each rater, both judged by the other raters."""
    for part in result.mask_scores.parts if result.mask_scores else ():
        suffix = f"-{safe_name(part.label)}" if part.label else ""
        for statistic in DRAWN:
            human = result.mask_scores.ranges.get((part.label, OTHERS, statistic)) if result.mask_scores else None
            if human is None or not human.raters:
                continue
            apart = {a: {r: (d.value, d.low, d.high) for r, d in by.items()} for a, by in human.differences.items()}
            unit = f", {unit_of(part)}" if is_distance(statistic) else ""
            title = f"{NAMES[statistic]}: algorithms against each rater, both judged by the other raters"
            about = f"{part.label}: {title}" if part.label else title
            verdicts = {a: verdict_words(human, a) for a in apart}
            label = f"better by ({NAMES[statistic]}{unit})"
            yield f"human-{statistic}{suffix}", rater_difference_chart(apart, label, about, verdicts=verdicts)


def _points(scores: ProbabilityScores, algorithm: str, truth: str) -> tuple[Values, Values]:
    """Recall and P̄; between thresholds both rates grow in a straight line, which P̄ does not follow."""
    column = next(c for c in scores.counts if c.name == algorithm)
    curve = scores.curve(column, truth).thinned()
    steps = np.maximum(1, np.ceil(np.diff(curve.recall) / STEP))
    if not np.isfinite(steps).all():
        return np.full(1, np.nan), np.full(1, np.nan)
    at = np.concatenate([i + np.arange(n) / n for i, n in enumerate(steps)] + [[float(len(steps))]])
    recall, fall_out = (np.interp(at, np.arange(len(steps) + 1), rate) for rate in (curve.recall, curve.fall_out))
    drawn = recall > 0
    return recall[drawn], mean_precision(recall[drawn], fall_out[drawn], *scores.skew)


def _area(scores: ProbabilityScores, algorithm: str, truth: str) -> str:
    rows = scores.scores.all("pbar_area", "pooled")
    value = next(r.value for r in rows if (r["algorithm"], r["against"]) == (algorithm, truth))
    return "–" if math.isnan(value) else f"{value:.3f}"


def _levels(scores: ProbabilityScores) -> Iterator[tuple[str, str]]:
    """Each algorithm at every level of agreement (Lampert's Fig. 12)."""
    levels = [name for name, kind in scores.kinds.items() if kind == "votes"]
    for algorithm in (c.name for c in scores.counts):
        curves = {f"≥ {name[7:]}": _points(scores, algorithm, name) for name in levels}
        areas = {f"≥ {name[7:]}": _area(scores, algorithm, name) for name in levels}
        title = f"{algorithm}: P̄-R as more raters must agree"
        drawn = line_chart(curves, "recall", "mean precision P̄", title, notes=areas, ordered=True)
        yield f"levels-{safe_name(algorithm)}", drawn


def _truths(scores: ProbabilityScores) -> Iterator[tuple[str, str]]:
    """Each algorithm under every truth (Fig. 14)."""
    for algorithm in (c.name for c in scores.counts):
        curves = {truth: _points(scores, algorithm, truth) for truth in scores.truths}
        areas = {truth: _area(scores, algorithm, truth) for truth in scores.truths}
        title = f"{algorithm}: P̄-R under every reference standard"
        raters = [name for name, kind in scores.kinds.items() if kind == "rater"]
        drawn = line_chart(curves, "recall", "mean precision P̄", title, notes=areas, faint=raters, faint_name="raters")
        yield f"truths-{safe_name(algorithm)}", drawn


def _rankings(scores: ProbabilityScores) -> Iterator[tuple[str, str]]:
    """All algorithms, under one truth of each distinct ranking (Fig. 13)."""
    for number, ranking in enumerate(scores.orders.rankings if scores.orders else (), start=1):
        truth = next((t for t in reversed(ranking.truths)), "")
        curves = {algorithm: _points(scores, algorithm, truth) for algorithm in ranking.order}
        areas = {algorithm: _area(scores, algorithm, truth) for algorithm in ranking.order}
        title = f"Ranking {number}, under {truth} and {len(ranking.truths) - 1} more reference standards"
        if len(ranking.truths) == 1:
            title = f"Ranking {number}, under {truth} alone"
        yield f"ranking-{number}", line_chart(curves, "recall", "mean precision P̄", title, notes=areas)

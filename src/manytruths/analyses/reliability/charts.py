"""The charts of ``reliability``."""

from __future__ import annotations

import numpy as np

from ...charts.pairs import matrix
from ...charts.reliability import confidence_errors, confidence_ridges, roc_space
from .confidence import ConfidenceLevels
from .raters import operating_points
from .sources import TITLES
from .verb import Reliability


def charts(found: Reliability) -> dict[str, str]:
    """SVG by name."""
    drawn = {"sigma-between-raters": matrix(found.sigma.pairs, found.ratings.raters, "sigma between raters")}
    points = {rater: (1 - p.specificity, p.sensitivity) for rater, p in operating_points(found).items()}
    if points:
        positive = found.settings.positive or found.ratings.labels[-1]
        drawn["roc-space"] = roc_space(points, "Raters against the reference", positive=positive)
    if found.confidence is not None:
        drawn |= _confidence(found, found.confidence)
    return drawn


def _confidence(found: Reliability, levels: ConfidenceLevels) -> dict[str, str]:
    counts = dict(zip(levels.raters, levels.count, strict=True))
    sure = found.ratings.confidence
    means = {rater: float(np.nanmean(sure[:, i])) for i, rater in enumerate(levels.raters) if counts[rater].any()}
    judged, wrong = levels.judged.sum(axis=0), levels.wrong.sum(axis=0)
    return {
        "confidence": confidence_ridges(
            counts, levels.names, "How sure raters were", means=means | {"": float(np.nanmean(sure))}
        ),
        "confidence-errors": confidence_errors(
            levels.names, judged, wrong, "How often raters were wrong, by confidence", truth=TITLES[levels.source]
        ),
    }

"""Boundaries of predictions matched with those of raters and references: ``boundaries.csv``. 2-D images only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import astuple, replace

import numpy as np

from ...core.errors import CallError
from ...evaluation.boundaries import (
    BoundaryCounts,
    BoundaryPoint,
    BoundaryScores,
    boundary_scores,
    pool_boundary_scores,
)
from ...io.result_tables import Row, Table
from ...shape import find_boundaries
from ...study import Study
from ...study.mask_values import about
from .case_scores import EVERYBODY
from .marks import Array, CaseMarks, EvaluatePlan

THRESHOLDS = 33
"""Of probability maps, evenly spaced, the same for every case."""

CaseBoundaries = dict[tuple[str, str], BoundaryScores]
"""By algorithm and what it is against."""


def match_case_boundaries(whole: CaseMarks) -> CaseBoundaries:
    """Match the boundaries of every algorithm of a case."""
    case, reading, label = whole.case, whole.reading, whole.together
    if len(reading.grid.shape) != 2:
        raise CallError(f"case {case.name}: boundaries are matched in images of two axes; leave --boundaries out")
    masks = label.marks | label.maps | label.consensus_maps(everywhere=True)
    lines = {c: _line(mask, whole.plan) for c, mask in masks.items()}
    first = [c for c in (label.base.columns[i] for i in label.base.raters) if c in lines]
    references: dict[str, Array | list[Array]] = {
        c.name: lines[c] for c in (*first, *(c for c in lines if c.role == "reference"))
    }
    references[EVERYBODY.name] = [lines[c] for c in first]
    nothing, scores = np.zeros(reading.grid.shape, bool), {}
    with about(f"case {case.name}"):
        for algorithm in (*case.predictions, *case.missing):
            if algorithm in case.missing:
                judged, thresholds = nothing, None
            elif algorithm in lines:
                judged, thresholds = lines[algorithm], None
            else:
                judged = reading.predictions[algorithm]
                thresholds = _thresholds(judged, case.options.limits)
            for name, lines_of in references.items():
                scores[algorithm.name, name] = boundary_scores(
                    judged, lines_of, share=whole.plan.share, thresholds=thresholds
                )  # fmt: skip
    return scores


def _line(mask: Array, plan: EvaluatePlan) -> Array:
    marked = np.ma.filled(mask, False).astype(bool)
    return np.asarray(find_boundaries(marked)) if plan.boundaries == "outlines" else marked


def _thresholds(response: Array, limits: tuple[float, float] | None) -> tuple[float, ...]:
    """Between the limits, 0 and the largest number of unsigned whole numbers, or 0 and 1."""
    largest = float(np.iinfo(response.dtype).max) if response.dtype.kind == "u" else 1.0
    low, high = limits or (0.0, largest)
    return tuple(np.linspace(low, high, THRESHOLDS + 1)[1:].tolist())


def boundary_table(study: Study, cases: Mapping[str, CaseBoundaries], plan: EvaluatePlan) -> Table:
    """Precision, recall and F of every algorithm against each rater, each reference, and all raters together.

    A missing prediction finds no boundary; or its case is excluded, for all algorithms.
    """
    table = Table("boundaries", ("algorithm", "against", "threshold"))
    missing = {(name, column.name) for name in cases for column in study[name].missing}
    predicted: dict[tuple[str, str], BoundaryScores] = {}
    for name, by_key in cases.items():
        for key, scores in by_key.items():
            if (name, key[0]) not in missing:
                table.add(_rows("case", key, scores.best, name, "; ".join(study[name].groups)))
                predicted.setdefault(key, scores)
    pooled_cases = [by_key for n, by_key in cases.items() if plan.missing == "worst" or not study[n].missing]
    for key in dict.fromkeys(key for by_key in cases.values() for key in by_key):
        own_scores = [by_key[key] for by_key in pooled_cases if key in by_key]
        if not own_scores:
            continue
        thresholds = predicted.get(key, own_scores[0]).thresholds
        pooled = pool_boundary_scores(_at(scores, thresholds) for scores in own_scores)
        table.add(_rows("pooled", key, pooled.ods))
        if len(pooled.thresholds) > 1:
            values = {"f_own_thresholds": pooled.ois.f, "average_precision": pooled.average_precision}
            for name, value in values.items():
                table.append(Row("pooled", f"boundary_{name}", value, region="whole", extra=(*key, None)))
    return table


def _at(scores: BoundaryScores, thresholds: Array) -> BoundaryScores:
    """A missing prediction, which has one threshold, finds as little at every one of the others."""
    if len(scores.thresholds) == len(thresholds):
        return scores
    columns = (np.repeat(column, len(thresholds)) for column in astuple(scores.counts))
    return replace(scores, thresholds=thresholds, counts=BoundaryCounts(*columns))


def _rows(scope: str, key: tuple[str, str], point: BoundaryPoint, case: str = "", group: str = "") -> Iterator[Row]:
    for name in ("precision", "recall", "f"):
        value, extra = getattr(point, name), (*key, point.threshold)
        yield Row(scope, f"boundary_{name}", value, case, group, region="whole", extra=extra)

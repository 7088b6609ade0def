"""Boundaries of predictions matched with those of raters and truths: ``boundaries.csv``. Images of two axes only."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from ...core.errors import CallError, ManytruthsError
from ...evaluation.boundaries import boundary_scores
from ...evaluation.boundary_curve import BoundaryPoint, BoundaryScores, pooled_boundaries
from ...evaluation.columns import estimates
from ...shape import boundary_of
from ...study import Case, Progress, Study
from ...study.consensus import binary_mask
from ..rows import Row, Table
from .gaps import Missing
from .measures import EVERYBODY
from .scenes import Array, EvaluatePlan, Scene, counted, decided, spatial

THRESHOLDS = 33
"""Of grey predictions, evenly spaced, the same for every case."""

Found = dict[tuple[str, str], BoundaryScores]
"""By algorithm and what it is against."""


def boundary_table(
    study: Study,
    plan: EvaluatePlan,
    missing: Missing = "worst",
    *,
    jobs: int = 1,
    progress: Progress | None = None,
) -> Table:
    """Precision, recall and F of every algorithm against each rater, each truth, and all raters together.

    A prediction that is missing finds no boundary; or its case is left out of the whole, for all.
    """
    table = Table("boundaries", ("algorithm", "against", "threshold"))
    work = partial(boundary_case, plan=plan, thresholds=_thresholds(study, plan))
    seen = {c.name: (c, found) for c, found in study.map(work, jobs=jobs, progress=progress)}
    for name, (case, found) in seen.items():
        gone = {column.name for column in case.missing}
        for extra, scores in found.items():
            if extra[0] in gone:
                continue
            table.add(_rows("case", extra, scores.best, name, "; ".join(case.groups)))
    for extra in dict.fromkeys(key for _, found in seen.values() for key in found):
        kept = [found for case, found in seen.values() if missing == "worst" or not case.missing]
        whole = pooled_boundaries(found[extra] for found in kept if extra in found)
        table.add(_rows("pooled", extra, whole.ods))
        if len(whole.thresholds) > 1:
            own = Row("pooled", "boundary_f_own_thresholds", whole.ois.f, region="whole", extra=(*extra, None))
            area = Row("pooled", "boundary_average_precision", whole.average_precision, region="whole")
            area.extra = (*extra, None)
            table.add([own, area])
    return table


def _rows(scope: str, extra: tuple[str, str], point: BoundaryPoint, case: str = "", group: str = "") -> Iterator[Row]:
    for name in ("precision", "recall", "f"):
        value, where = getattr(point, name), (*extra, point.threshold)
        yield Row(scope, f"boundary_{name}", value, case, group, region="whole", extra=where)


def _thresholds(study: Study, plan: EvaluatePlan) -> tuple[float, ...] | None:
    """Those of grey lines: between the limits, 0 and 255 of bytes, or 0 and 1."""
    if not study.options.grey or plan.threshold is not None:
        return None
    if plan.boundaries == "outlines":
        raise CallError("grey predictions have no outlines; cut them with --threshold, or say --boundaries lines")
    low, high = study.options.limits or _range(study)
    return tuple(np.linspace(low, high, THRESHOLDS + 1)[1:].tolist())


def _range(study: Study) -> tuple[float, float]:
    case = next(case for case in study if case.predictions)
    values = case.response(next(iter(case.predictions)), None)
    if values.dtype.kind == "u":
        return 0.0, float(np.iinfo(values.dtype).max)
    return 0.0, 1.0


def boundary_case(case: Case, plan: EvaluatePlan, thresholds: tuple[float, ...] | None) -> Found:
    """Every algorithm of a case."""
    scene = Scene.of(case.read(), plan.threshold)
    if len(scene.reading.grid.shape) != 2:
        raise CallError(f"case {case.name}: boundaries are matched in images of two axes; leave --boundaries out")
    marks = {c: binary_mask(a, None, case.options.void) for c, a in scene.marks.items()}
    readings = scene.readings_of(None)
    maps, _ = spatial(readings, plan)
    try:
        base = counted(scene, marks | maps)
        found = estimates(base, plan.by_pattern, plan.options, raters=readings.table)
        drawn = {c: decided(readings, e.found) for c, e in found.items()}
        lines = {c: _line(a, plan.boundaries) for c, a in (marks | maps | drawn).items()}
        first = [base.columns[i] for i in base.raters if base.columns[i] in lines]
        truths = {c.name: lines[c] for c in (*first, *(c for c in lines if c.role == "reference"))}
        judged = lines if thresholds is None else {c: case.response(c, scene.reading.grid) for c in case.predictions}
        judged = {**judged, **dict.fromkeys(case.missing, np.zeros(scene.reading.grid.shape, bool))}
        return {
            (algorithm.name, name): boundary_scores(judged[algorithm], truth, share=plan.share, thresholds=thresholds)
            for algorithm in (*case.predictions, *case.missing)
            for name, truth in (truths | {EVERYBODY.name: [lines[c] for c in first]}).items()
        }
    except ManytruthsError as error:
        raise type(error)(f"case {case.name}: {error}") from None


def _line(mask: Array, kind: str | None) -> Array:
    marked = np.ma.filled(mask, False).astype(bool)
    return np.asarray(boundary_of(marked)) if kind == "outlines" else marked

"""What ``evaluate`` does with one case: one table of raters, predictions and truths a label, and distances."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import combinations

import numpy as np

from ...core.columns import Column
from ...core.errors import ManytruthsError
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...evaluation.columns import Estimated, appended, estimates
from ...fusion import balanced_accuracy, gordon_f, soft_accuracy
from ...fusion.result import first_readings
from ...shape import Surface, SurfaceDistances, surface, surface_distances
from ...shape.surface_summaries import undefined
from ...study import Case
from ...study.consensus import binary_mask
from .scenes import Array, EvaluatePlan, Scene, consensus_notes, counted, decided, spatial

Pair = tuple[Column, Column]

SOFT = {"soft_accuracy": soft_accuracy, "gordon_f": gordon_f, "balanced_accuracy": balanced_accuracy}
"""Gordon's measures against a probability."""

NOT_THERE = SurfaceDistances(*[undefined("one_absent")] * 2)
UNKNOWN = "nothing_true_or_false"


@dataclass(frozen=True)
class Judged:
    """One label of one case."""

    tally: Tally
    """Raters, algorithms, given truths, those made of the raters, and those made of all but one of them."""
    distances: Mapping[Pair, SurfaceDistances]
    soft: Mapping[tuple[Column, Column, str], float]
    """By who is judged, the truth, and the statistic."""
    absent: frozenset[Column]
    """Who is not there in this case."""
    raters: Tally
    """The raters, with labels as they are."""
    diagonal: float
    """Of the image, in mm or pixels."""
    axes: int
    notes: tuple[str, ...] = ()


def evaluate_case(case: Case, plan: EvaluatePlan) -> dict[str, Judged]:
    """Everything about a case, by label; ``""`` is all labels but background together."""
    scene = Scene.of(case.read(), plan.threshold)
    together, labels = _judged(scene, None, plan), scene.table.labels
    if case.options.grey or case.options.foreground:
        return {"": together}
    named = [(labels.names[m], labels.values[m]) for m in labels.marks]
    if len(named) == 1 and _only(named[0][1], scene):
        return {"": together, named[0][0]: together}
    return {"": together, **{name: _judged(scene, value, plan) for name, value in named}}


def _only(value: int, scene: Scene) -> bool:
    """Whether given truths, too, mark with this value alone."""
    known = [0, value, scene.reading.case.options.void or 0]
    return all(np.isin(array, known).all() for array in scene.references.values())


def _judged(scene: Scene, value: int | None, plan: EvaluatePlan) -> Judged:
    case = scene.reading.case
    marks = {c: binary_mask(a, value, case.options.void) for c, a in scene.marks.items()}
    readings = scene.readings_of(value)
    maps, notes = spatial(readings, plan)
    try:
        base = counted(scene, marks | maps)
        found = estimates(base, plan.by_pattern, plan.options, left_out=True, raters=readings.table)
    except ManytruthsError as error:
        raise type(error)(f"case {case.name}: {error}") from None
    notes += [said for c, e in found.items() if not c.left_out for said in consensus_notes(c.name, e.found)]
    joint = appended(base, found)
    distances: dict[Pair, SurfaceDistances] = {}
    if plan.distances:
        drawn = {c: decided(readings, e.found) for c, e in found.items()}
        distances = _distances(scene, marks | maps | drawn, joint, plan)
    absent = frozenset((*case.absent, *case.missing, *case.missing_references))
    grid = scene.reading.grid
    diagonal = math.hypot(*(n * s for n, s in zip(grid.shape, grid.spacing or (1.0,) * len(grid.shape), strict=True)))
    raters = first_readings(scene.table)
    return Judged(joint, distances, _soft(base, found), absent, raters, diagonal, len(grid.shape), tuple(notes))


def _distances(
    scene: Scene, marks: Mapping[Column, Array], joint: Tally, plan: EvaluatePlan
) -> dict[Pair, SurfaceDistances]:
    """Distances of all that are compared; what was not rated is not marked, and outside of a region nothing is.

    Nor is anything in the area that an algorithm is not judged by, in it or in what it is compared with.
    """
    case, grid = scene.reading.case, scene.reading.grid
    region = case.region(grid)
    inside = True if isinstance(region, str) else region.astype(bool)

    @cache
    def made(column: Column, judged: Column | None) -> Surface:
        mask = np.ma.filled(marks[column], False).astype(bool) & inside
        counts = mask if judged is None else mask & ~scene.areas[judged]
        return surface(counts, grid.spacing, definition=plan.definition)

    def apart(a: Column, b: Column) -> SurfaceDistances:
        area = a if a in scene.areas else None
        return surface_distances(made(a, area), made(b, area)) if a in marks and b in marks else NOT_THERE

    return {(a, b): apart(a, b) for a, b in compared(joint, scene.references)}


def compared(joint: Tally, given: Collection[Column] = ()) -> Iterator[Pair]:
    """Raters with each other, algorithms with all, a rater with what the others say and with what was given."""
    raters, truths = [joint.columns[i] for i in joint.raters], joint.role("reference")
    yield from combinations(raters, 2)
    yield from ((a, b) for a in joint.role("algorithm") for b in (*raters, *truths))
    yield from ((r, t) for r in raters for t in truths if t in given or t.left_out == r.name)


def _soft(base: Tally, found: Mapping[Column, Estimated]) -> dict[tuple[Column, Column, str], float]:
    """Algorithms against each probability, and raters against that of the others."""
    values: dict[tuple[Column, Column, str], float] = {}
    for truth, estimate in found.items():
        left_out = [c for c in (base.columns[i] for i in base.raters) if truth.left_out == c.name]
        judged = [*base.role("algorithm"), *left_out]
        for name, measure in SOFT.items():
            numbers = measure(base, estimate.probability, judged) if judged else ()
            values |= {
                (c, truth, name): Undefined(UNKNOWN) if np.isnan(x) else float(x)
                for c, x in zip(judged, numbers, strict=True)
            }
    return values

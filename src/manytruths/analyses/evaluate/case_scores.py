"""Scores of one case: every algorithm against every rater and reference standard, and every rater against the others.

One table of raters, predictions, given references and consensuses per label gives overlaps and extended Dice; surface
distances are measured between masks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations

import numpy as np

from ...core.columns import Column
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...evaluation.consensus_columns import PatternEstimate
from ...evaluation.extended_dice import extended_dice_counts
from ...evaluation.overlap import OVERLAPS, overlaps
from ...fusion import balanced_accuracy, gordon_f, soft_accuracy
from ...fusion.result import first_readings
from ...shape import Surface, SurfaceDistances, extract_surface, surface_distances
from ...shape.surfaces import no_distances
from .marks import Array, CaseMarks, LabelMarks
from .missing_scores import NO_PREDICTION

Key = tuple[Column, Column]
"""Who is scored, and against whom."""
Values = dict[str, float]

SOFT = {"soft_accuracy": soft_accuracy, "gordon_f": gordon_f, "balanced_accuracy": balanced_accuracy}
"""Gordon's measures against a probability."""
EVERYBODY = Column("all raters", "reference")
"""What extended Dice is against: what all raters marked, and what any did."""
DISTANCES = ("hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice")
STATISTICS = (*(s.__name__ for s in OVERLAPS), *DISTANCES, *SOFT, "extended_dice", "inner_outer_ratio")
"""In the order in which they are written."""
ABSENT = {"algorithm": NO_PREDICTION, "rater": "rater_absent", "reference": "reference_absent"}
NOT_THERE = SurfaceDistances(*[no_distances("one_absent")] * 2)


@dataclass(frozen=True)
class LabelCounts:
    """What was counted and measured of one label of one case."""

    tally: Tally
    """Raters, algorithms, given references, consensuses, and consensuses without one of the raters."""
    distances: Mapping[Key, SurfaceDistances]
    soft: Mapping[tuple[Column, Column, str], float]
    """By who is scored, the reference standard, and the statistic."""
    absent: frozenset[Column]
    """Raters, algorithms and references that are missing in this case."""
    raters: Tally
    """The raters, with labels as they are."""
    diagonal: float
    """Of the image, in mm or pixels."""
    axes: int
    notes: tuple[str, ...] = ()


def count_labels(whole: CaseMarks) -> dict[str, LabelCounts]:
    """Count and measure the masks of a case, by label; ``""`` is all labels but background together."""
    together, labels, options = _count(whole.together), whole.table.labels, whole.case.options
    if options.probability or options.foreground:
        return {"": together}
    named = [(labels.names[m], labels.values[m]) for m in labels.marks]
    if len(named) == 1 and _is_only_value(named[0][1], whole):
        return {"": together, named[0][0]: together}
    return {"": together, **{name: _count(LabelMarks(whole, value)) for name, value in named}}


def _is_only_value(value: int, whole: CaseMarks) -> bool:
    """Whether given references, too, mark with this value alone."""
    known = [0, value, whole.case.options.void or 0]
    return all(np.isin(array, known).all() for array in whole.reading.references.values())


def _count(label: LabelMarks) -> LabelCounts:
    whole = label.whole
    case, grid = whole.case, whole.reading.grid
    distances: dict[Key, SurfaceDistances] = {}
    if whole.plan.distances:
        distances = _surface_distances(whole, label.marks | label.maps | label.drawn(left_out=True), label.joint)
    absent = frozenset((*case.absent, *case.missing, *case.missing_references))
    diagonal = math.hypot(*(n * s for n, s in zip(grid.shape, grid.spacing or (1.0,) * len(grid.shape), strict=True)))
    return LabelCounts(
        label.joint, distances, _soft_scores(label.base, label.estimates), absent, first_readings(whole.table),
        diagonal, len(grid.shape), tuple(label.notes),
    )  # fmt: skip


def _surface_distances(whole: CaseMarks, marks: Mapping[Column, Array], joint: Tally) -> dict[Key, SurfaceDistances]:
    """Distances of all that are compared; what was not rated is not marked, and nothing is outside of a region.

    Nor is anything in the area that an algorithm is not judged by, in it or in what it is compared with.
    """
    grid, region = whole.reading.grid, whole.reading.region
    inside = True if isinstance(region, str) else region.astype(bool)

    @cache
    def make_surface(column: Column, judged: Column | None) -> Surface:
        mask = np.ma.filled(marks[column], False).astype(bool) & inside
        counts = mask if judged is None else mask & ~whole.areas[judged]
        return extract_surface(counts, grid.spacing, definition=whole.plan.definition)

    def measure(a: Column, b: Column) -> SurfaceDistances:
        area = a if a in whole.areas else None
        if a not in marks or b not in marks:
            return NOT_THERE
        return surface_distances(make_surface(a, area), make_surface(b, area))

    return {(a, b): measure(a, b) for a, b in _compared(joint, whole.reading.references)}


def _compared(joint: Tally, given: Collection[Column]) -> Iterator[Key]:
    """Raters with each other, algorithms with all, a rater with the others' consensus and with what was given."""
    raters, references = [joint.columns[i] for i in joint.raters], joint.role("reference")
    yield from combinations(raters, 2)
    yield from ((a, b) for a in joint.role("algorithm") for b in (*raters, *references))
    yield from ((r, t) for r in raters for t in references if t in given or t.left_out == r.name)


def _soft_scores(
    base: Tally, estimates: Mapping[Column, PatternEstimate]
) -> dict[tuple[Column, Column, str], float]:  # fmt: skip
    """Algorithms against each probability, and raters against that of the others."""
    values: dict[tuple[Column, Column, str], float] = {}
    for reference, estimate in estimates.items():
        left_out = [c for c in (base.columns[i] for i in base.raters) if reference.left_out == c.name]
        judged = [*base.role("algorithm"), *left_out]
        for name, measure in SOFT.items():
            numbers = measure(base, estimate.probability, judged) if judged else ()
            values |= {
                (c, reference, name): Undefined("nothing_true_or_false") if np.isnan(x) else float(x)
                for c, x in zip(judged, numbers, strict=True)
            }
    return values


def score_label(counts: LabelCounts, tolerance: float) -> dict[Key, Values]:
    """Scores of every algorithm against every reference, of every rater against every other and against the others."""
    table = counts.tally
    scores: dict[Key, Values] = {}
    for (who, whom), values in _overlap_scores(table).items():
        scores[who, whom] = values | _distance_scores(counts.distances, who, whom, tolerance)
    for (who, whom, name), value in counts.soft.items():
        scores[who, whom][name] = value
    scores |= _extended_dice_scores(table, counts.absent)
    gone = {c: ABSENT[c.role] for c in counts.absent}
    # against a missing reference nobody is scored, also not a missing prediction
    return {key: _or_absent(values, gone.get(key[1]) or gone.get(key[0])) for key, values in scores.items()}


def _raters(table: Tally) -> list[Column]:
    return [table.columns[i] for i in table.raters]


def _or_absent(values: Values, code: str | None) -> Values:
    """Undefined for the one reason that counts: one of the two is missing."""
    return values if code is None else {name: Undefined(code) for name in values}


def _overlap_scores(table: Tally) -> dict[Key, Values]:
    raters, references = _raters(table), list(table.role("reference"))
    judged = [*table.role("algorithm"), *raters]
    counts = overlaps(table, judged, [*raters, *references])
    wanted = [(a, b) for a in judged for b in (*raters, *references) if a != b and _is_scored(a, b)]
    values = {s: counts.values(s) for s in OVERLAPS}
    place = {c: i for i, c in enumerate(counts.against)}
    rows = {c: i for i, c in enumerate(judged)}
    return {
        (a, b): {
            s.__name__: counts.value(a, b, s) if np.isnan(v[rows[a], place[b]]) else float(v[rows[a], place[b]])
            for s, v in values.items()
        }
        for a, b in wanted
    }


def _is_scored(who: Column, whom: Column) -> bool:
    """A rater is scored against the other raters, given references, and the consensus of the others."""
    return who.role == "algorithm" or whom.role == "rater" or whom.left_out in ("", who.name)


def _distance_scores(distances: Mapping[Key, SurfaceDistances], a: Column, b: Column, tolerance: float) -> Values:
    apart = distances.get((a, b)) or distances.get((b, a))
    if apart is None:
        return {}
    within = Undefined("no_tolerance") if np.isnan(tolerance) else apart.dice(tolerance)
    return dict(zip(DISTANCES, (apart.hausdorff(), apart.hausdorff(95), apart.mean(), within), strict=True))


def _extended_dice_scores(table: Tally, absent: Collection[Column]) -> dict[Key, Values]:
    """Extended Dice of algorithms against all raters and against all but one, and of raters against the others."""
    raters = [c for c in _raters(table) if c not in absent]
    scores = {(a, EVERYBODY): _extended_dice(table, a) for a in table.role("algorithm")}
    if len(raters) < 2:
        return scores
    for rater in raters:
        scores[rater, EVERYBODY] = _extended_dice(table, rater)
        readings = [c for c in table.role("rater") if c.name == rater.name]  # their second reading is theirs, too
        others, reference = table.without(*readings), replace(EVERYBODY, left_out=rater.name)
        scores |= {(a, reference): _extended_dice(others, a) for a in table.role("algorithm")}
    return scores


def _extended_dice(table: Tally, column: Column) -> Values:
    counts = extended_dice_counts(table, column)
    return {"extended_dice": counts.value, "inner_outer_ratio": counts.inner_outer_ratio}


def in_order(names: Iterable[str]) -> Sequence[str]:
    """Statistics in the order in which they are written."""
    met = set(names)
    return [name for name in STATISTICS if name in met]

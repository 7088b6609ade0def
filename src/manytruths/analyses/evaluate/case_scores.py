"""Scores of one case: every algorithm against every rater and reference standard, and every rater against the others.

One table of raters, predictions, given references and consensuses per label gives overlaps and extended Dice; surface
distances are measured between masks. Missing and undefined scores count in means so that leaving out a hard case does
not pay.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import combinations

import numpy as np

from ...core.columns import Column
from ...core.tally import Tally
from ...core.undefined import Undefined, code, undefined_like
from ...evaluation.extended_dice import extended_dice_counts
from ...evaluation.overlap import OVERLAPS, overlaps
from ...evaluation.ranking.score_tables import PERFECT
from ...evaluation.ranking.scores import best_value, describes_the_case, direction, is_distance, worst_value
from ...evaluation.references import PatternEstimate
from ...fusion import balanced_accuracy, gordon_f, soft_accuracy
from ...fusion.result import first_readings
from ...lesions import LesionPair
from ...shape import Surface, SurfaceDistances, surface_distances
from ...study.outlines import NOT_THERE
from ..agree.distances import DISTANCES, distance_values
from ..agree.lesion_scores import LESIONS, lesion_scores
from ..agree.references import SIZES, size_values
from .lesions import lesion_pairs
from .marks import CaseMarks, LabelMarks, Missing

Key = tuple[Column, Column]
"""Who is scored, and against whom."""
Values = dict[str, float]

SOFT = {"soft_accuracy": soft_accuracy, "gordon_f": gordon_f, "balanced_accuracy": balanced_accuracy}
"""Gordon's measures against a probability."""
EVERYBODY = Column("all raters", "reference")
"""What extended Dice is against: what all raters marked, and what any did."""
STATISTICS = (
    *(s.__name__ for s in OVERLAPS), *DISTANCES, *LESIONS, *SOFT, "extended_dice", "inner_outer_ratio", *SIZES,
    "brier", "brier_union", "expected_calibration_error", "expected_calibration_error_union", "soft_dice",
    "continuous_dice", "crps_volume", "curvas_dice", "curvas_crps", "curvas_calibration_error",
    "energy_distance", "energy_distance_unbiased_samples",
    "energy_distance_unbiased", "matched_iou", "d_max", "sample_diversity", "rater_diversity", "diversity_difference",
)  # fmt: skip
"""In the order in which they are written."""
NAMES = {
    "dice": "Dice",
    "iou": "IoU",
    "sensitivity": "sensitivity",
    "specificity": "specificity",
    "ppv": "PPV",
    "cohen_kappa": "Cohen's kappa",
    "volume_difference": "size differs by",
    "hausdorff": "Hausdorff",
    "hausdorff_95": "95% Hausdorff",
    "mean_surface_distance": "mean surface distance",
    "surface_dice": "surface Dice",
    "lesion_sensitivity": "lesions found",
    "lesion_precision": "lesions that are true",
    "lesion_f1": "F1 of lesions",
    "lesion_pq": "PQ",
    "lesion_sq": "SQ",
    "lesion_rq": "RQ",
    "soft_accuracy": "soft accuracy",
    "gordon_f": "Gordon's F",
    "balanced_accuracy": "balanced accuracy",
    "extended_dice": "extended Dice",
    "inner_outer_ratio": "|I|/|O|",
    "size_difference": "difference of sizes",
    "log_size_ratio": "logarithm of the ratio of sizes",
    "pbar_area": "P̄-R area",
    "pr_area": "P-R area",
    "roc_area": "ROC area",
    "brier": "Brier score",
    "brier_union": "Brier score in the union",
    "expected_calibration_error": "calibration error",
    "expected_calibration_error_union": "calibration error in the union",
    "soft_dice": "soft Dice",
    "continuous_dice": "continuous Dice",
    "crps_volume": "CRPS of the volume",
    "curvas_dice": "CURVAS's Dice in areas of consensus",
    "curvas_crps": "CURVAS's score of the volume",
    "curvas_calibration_error": "CURVAS's calibration error",
    "energy_distance": "energy distance",
    "energy_distance_unbiased_samples": "energy distance, unbiased in the samples",
    "energy_distance_unbiased": "energy distance, unbiased in samples and raters",
    "matched_iou": "matched IoU",
    "d_max": "maximum Dice matching",
    "sample_diversity": "distance between samples",
    "rater_diversity": "distance between raters",
    "diversity_difference": "distance between samples minus that between raters",
}
"""How statistics are called in print."""
NO_PREDICTION = "no_prediction"
ONE_EMPTY = "one_empty"
"""Code of scores that are undefined and count as bad: distances to nothing."""
OF_MATCHED = "lesion_sq"
"""The score of matched lesions alone, left out of means where there are none."""
AGAINST_ALL = "undefined_against_all"
ABSENT = {"algorithm": NO_PREDICTION, "rater": "rater_absent", "reference": "reference_absent"}


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
    pixel: float
    """The shortest side of a pixel, in mm or 1."""
    notes: tuple[str, ...] = ()
    axes: int = 2
    """Of the image."""
    given: frozenset[Column] = frozenset()
    """Given references, against which sizes are compared too."""
    lesions: Mapping[Key, LesionPair | None] = field(default_factory=dict)
    """Matched lesions, of those who are scored against those whom they are scored against."""


def count_labels(whole: CaseMarks) -> dict[str, LabelCounts]:
    """Count and measure the masks of a case, by label; ``""`` is all labels but background together."""
    together, labels, options = _count(whole.together), whole.table.labels, whole.case.options
    if options.probability or options.foreground:
        return {"": together}
    named = {labels.names[m]: labels.values[m] for m in labels.marks}
    known = [0, *named.values(), options.void or 0]
    if len(named) == 1 and all(np.isin(array, known).all() for array in whole.reading.references.values()):
        return {"": together, **dict.fromkeys(named, together)}
    return {"": together, **{name: _count(LabelMarks(whole, value)) for name, value in named.items()}}


def _count(label: LabelMarks) -> LabelCounts:
    whole = label.whole
    case, grid = whole.case, whole.reading.grid
    distances: dict[Key, SurfaceDistances] = {}
    if whole.plan.distances:
        distances = _surface_distances(label)
    pairs = _pairs_to_measure(label.joint, whole.reading.references) if whole.plan.lesions else ()
    lesions = lesion_pairs(label, pairs)
    absent = frozenset((*case.absent, *case.missing, *case.missing_references))
    diagonal = math.hypot(*(n * s for n, s in zip(grid.shape, grid.spacing or (1.0,) * len(grid.shape), strict=True)))
    return LabelCounts(
        label.joint, distances, _soft_scores(label.base, label.estimates), absent, first_readings(whole.table),
        diagonal, min(grid.spacing or (1.0,)), tuple(label.notes), len(grid.shape),
        frozenset((*case.references, *case.missing_references)), lesions,
    )  # fmt: skip


def _surface_distances(label: LabelMarks) -> dict[Key, SurfaceDistances]:
    """Distances of all that are compared; those between raters and given references are shared with other analyses.

    Nothing counts in the area that an algorithm is not judged by, in its mask or in what it is compared with.
    """
    whole, definition = label.whole, label.whole.plan.definition
    outlines, marks = whole.near.outlines, label.marks | label.maps | label.consensus_maps()

    @cache
    def make_surface(column: Column, judged: Column | None) -> Surface:
        if judged is None and column in outlines:
            return outlines.of(column, label.value, definition).surface
        counts = marks[column] if judged is None else np.ma.filled(marks[column], False) & ~whole.areas[judged]
        return outlines.make(whole.on_pixels(counts), definition).surface

    def measure(a: Column, b: Column) -> SurfaceDistances:
        area = a if a in whole.areas else None
        if a not in marks or b not in marks:
            return NOT_THERE
        if area is None and a in outlines and b in outlines:
            return outlines.distances(a, b, label.value, definition)
        return surface_distances(make_surface(a, area), make_surface(b, area))

    return {(a, b): measure(a, b) for a, b in _pairs_to_measure(label.joint, whole.reading.references)}


def _pairs_to_measure(joint: Tally, given: Collection[Column]) -> Iterator[Key]:
    """Raters with each other, algorithms with all, a rater with the others' consensus and with what was given."""
    raters, references = rater_columns(joint), joint.role("reference")
    yield from combinations(raters, 2)
    yield from ((a, b) for a in joint.role("algorithm") for b in (*raters, *references))
    yield from ((r, t) for r in raters for t in references if t in given or t.left_out == r.name)


def rater_columns(table: Tally) -> list[Column]:
    """The raters of a table, each in the first session."""
    return [table.columns[i] for i in table.raters]


def _soft_scores(
    base: Tally, estimates: Mapping[Column, PatternEstimate]
) -> dict[tuple[Column, Column, str], float]:  # fmt: skip
    """Algorithms against each probability, and raters against that of the others."""
    values: dict[tuple[Column, Column, str], float] = {}
    for reference, estimate in estimates.items():
        judged = [*base.role("algorithm"), *(c for c in rater_columns(base) if reference.left_out == c.name)]
        for name, measure in SOFT.items() if judged else ():
            for column, value in zip(judged, measure(base, estimate.probability, judged), strict=True):
                undefined = Undefined("nothing_true_or_false")
                values[column, reference, name] = undefined if np.isnan(value) else float(value)
    return values


# -- scores ------------------------------------------------------------------------------------------


def score_label(counts: LabelCounts, tolerance: float) -> dict[Key, Values]:
    """Scores of every algorithm against every reference, of every rater against every other and against the others."""
    scores = _overlap_scores(counts.tally, counts.given)
    for (who, whom), values in scores.items():
        distances = counts.distances.get((who, whom)) or counts.distances.get((whom, who))
        if distances is not None:
            values |= distance_values(distances, tolerance)
        if (who, whom) in counts.lesions:
            values |= lesion_scores(counts.lesions[who, whom])
        elif (whom, who) in counts.lesions:
            values |= lesion_scores(counts.lesions[whom, who], turned=True)
        elif counts.lesions and (who in counts.absent or whom in counts.absent):
            values |= dict.fromkeys(LESIONS, Undefined("one_absent"))
    for (who, whom, name), value in counts.soft.items():
        scores[who, whom][name] = value
    scores |= _extended_dice_scores(counts.tally, counts.absent)
    absent = {column: Undefined(ABSENT[column.role]) for column in counts.absent}
    for (who, whom), values in scores.items():
        if who in absent or whom in absent:
            # against a missing reference nobody is scored, also not a missing prediction
            scores[who, whom] = dict.fromkeys(values, absent[whom] if whom in absent else absent[who])
    return scores


def _overlap_scores(table: Tally, given: Collection[Column]) -> dict[Key, Values]:
    """Overlaps and, with what was given, differences of size."""
    raters = rater_columns(table)
    counts = overlaps(table, [*table.role("algorithm"), *raters], [*raters, *table.role("reference")])
    values = {s: counts.values(s) for s in OVERLAPS}
    return {
        (a, b): {s.__name__: counts.value(a, b, s) if np.isnan(v[i, j]) else float(v[i, j]) for s, v in values.items()}
        | (size_values(counts.tables[i, j], table) if b in given else {})
        for i, a in enumerate(counts.judged)
        for j, b in enumerate(counts.against)
        if a != b and _is_scored(a, b)
    }


def _is_scored(who: Column, whom: Column) -> bool:
    """A rater is scored against the other raters, given references, and the consensus of the others."""
    return who.role == "algorithm" or whom.role == "rater" or whom.left_out in ("", who.name)


def _extended_dice_scores(table: Tally, absent: Collection[Column]) -> dict[Key, Values]:
    """Extended Dice of algorithms against all raters and against all but one, and of raters against the others."""
    raters = [c for c in rater_columns(table) if c not in absent]
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
    present = set(names)
    return [name for name in STATISTICS if name in present]


# -- missing and undefined scores --------------------------------------------------------------------


def worst_score(statistic: str, diagonal: float) -> float:
    """The worst score: the metric's bound, and of distances the image's diagonal; nan where there is none."""
    if is_distance(statistic):
        return diagonal
    bound = None if describes_the_case(statistic) else worst_value(statistic)
    return math.nan if bound is None else bound


def average(values: Iterable[float], statistic: str, diagonal: float) -> float:
    """The mean of a case's values against several raters or references.

    Where one of the two is empty, it counts as the worst; where both are, as the best, unless that is so against all of
    them: then it is undefined. The SQ of lesions is left out wherever none is matched.
    """
    values = list(values)
    codes = [code(v) for v in values]
    if NO_PREDICTION in codes:
        return Undefined(NO_PREDICTION)
    perfect = all(c in PERFECT for c in codes)
    if not perfect:
        top = math.nan if statistic == OF_MATCHED else best_value(statistic)
        worst = worst_score(statistic, diagonal)
        replacements = {ONE_EMPTY: worst, **dict.fromkeys(PERFECT, top)}
        counted = [replacements.get(c, v) for c, v in zip(codes, values, strict=True)]
        defined = [v for v in counted if v is not None and not math.isnan(v)]
        if defined:
            return float(np.mean(defined) if len(defined) > 1 else defined[0])
    alike = perfect or len(set(codes)) == 1
    return undefined_like(values[0]) if values and alike else Undefined(AGAINST_ALL)


def average_labels(values: Iterable[float], statistic: str, diagonal: float) -> float:
    """The mean of a case's values over labels, without those that neither of the two used.

    A distance to or from an empty mask counts as the worst.
    """
    values = list(values)
    codes = [code(v) for v in values]
    if NO_PREDICTION in codes:
        return Undefined(NO_PREDICTION)
    worst = worst_score(statistic, diagonal)
    counted = [worst if c == ONE_EMPTY else v for c, v in zip(codes, values, strict=True)]
    defined = [v for v in counted if not math.isnan(v)]
    return float(np.mean(defined)) if defined else undefined_like(values[0])


def fill_missing(
    statistic: str, values: Sequence[Sequence[float]], missing: Missing, diagonals: Sequence[float]
) -> list[list[float]]:
    """(algorithms, cases) values as they go into means.

    A distance to or from an empty mask counts as the worst. So does a missing prediction, or, with ``exclude`` and for
    statistics without a worst value, its case is excluded for all algorithms. Where values lie below the metric's bound
    (a kappa below 0), the smallest is the worst.
    """
    if describes_the_case(statistic):
        return [list(row) for row in values]
    # without a worst value, a case that one algorithm has no prediction of would only count for the others
    unbounded = worst_value(statistic) is None and not is_distance(statistic)
    excluded = excluded_cases(values, "exclude" if unbounded else missing)
    known = [v for row in values for v in row if not math.isnan(v)]
    worst = [_worst(statistic, diagonal, known) for diagonal in diagonals]

    def count(case: int, value: float) -> float:
        if case in excluded:
            return math.nan
        return worst[case] if code(value) in (NO_PREDICTION, ONE_EMPTY) else value

    return [[count(case, value) for case, value in enumerate(row)] for row in values]


def _worst(statistic: str, diagonal: float, known: Sequence[float]) -> float:
    bound = worst_score(statistic, diagonal)
    if is_distance(statistic) or math.isnan(bound) or not known:
        return bound
    return min(bound, *known) if direction(statistic) == "higher" else max(bound, *known)


def excluded_cases(values: Sequence[Sequence[float]], missing: Missing) -> list[int]:
    """The cases, by position, that ``exclude`` leaves out, for the raters beside the algorithms too."""
    if missing != "exclude":
        return []
    return sorted({i for row in values for i, v in enumerate(row) if code(v) == NO_PREDICTION})

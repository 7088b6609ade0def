"""Lesions of algorithms, raters and reference standards: one-to-one matches of every two that are scored, and FROC.

Scores are of lesions that are matched greedily by falling IoU, under the rule of the study. A free-response curve
(FROC) goes over thresholds of a probability map: at each, the components of what lies above it are the algorithm's
lesions.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan

import numpy as np

from ...charts import line_chart
from ...core.columns import Column
from ...core.undefined import Undefined, ratio
from ...io import safe_name
from ...io.result_tables import Row, Table
from ...lesions.marks import TooManyLesions, find_marks
from ...lesions.matching import LesionMatch, LesionPair
from ...shape.components import find_components
from ...study import Study
from ...study.lesions import lesion_mask
from .marks import Array, CaseMarks, LabelMarks

Key = tuple[Column, Column]
LESIONS = ("lesion_sensitivity", "lesion_precision", "lesion_f1", "lesion_pq", "lesion_sq", "lesion_rq")
LEVELS = 19
"""Thresholds of a free-response curve, evenly spaced inside the range of the probability map."""


def lesion_pairs(label: LabelMarks, pairs: Iterable[Key]) -> dict[Key, LesionPair | None]:
    """The matched lesions of who is scored and whom they are scored against; None where there are too many lesions."""
    whole = label.whole
    masks, found = _masks(label), dict[Key, LesionPair | None]()
    by_area: dict[Column | None, list[Key]] = {}
    for who, whom in pairs:
        if who in masks and whom in masks:
            by_area.setdefault(who if who in whole.areas else None, []).append((who, whom))
    for area, keys in by_area.items():
        columns = list(dict.fromkeys(column for key in keys for column in key))
        names = {column: str(i) for i, column in enumerate(columns)}
        try:
            match = _marks({names[c]: masks[c] for c in columns}, whole, area)
        except TooManyLesions:
            found |= dict.fromkeys(keys)
            continue
        found |= {(who, whom): match.pair(names[whom], names[who]) for who, whom in keys}
    return found


def _masks(label: LabelMarks) -> dict[Column, Array]:
    """What lesions are found in: masks of one label, or instance maps, in which a consensus is numbered, too."""
    whole = label.whole
    drawn, decided = dict(label.marks), label.maps | label.consensus_maps()
    if not whole.case.options.instances:
        return drawn | decided
    raw = {**whole.reading.masks, **whole.reading.references}
    if not whole.case.options.probability:
        raw |= whole.predictions
    drawn |= {c: lesion_mask(array, None, whole.reading) for c, array in raw.items()}
    decided |= {c: drawn[c] for c in whole.predictions if c not in raw}  # cut probability maps
    return drawn | {c: _number(mask) for c, mask in decided.items()}


def _number(mask: Array) -> Array:
    """A mask as an instance map of its components."""
    marks = np.ma.filled(mask, False).astype(bool)
    found, numbers = find_components(marks), np.zeros(marks.shape, np.int32)
    numbers[found.box] = found.numbers
    return numbers


def _marks(masks: Mapping[str, Array], whole: CaseMarks, area: Column | None = None) -> LesionMatch:
    """All marks, of which only pairs are looked at."""
    region, options = whole.reading.region, whole.case.options
    inside = None if isinstance(region, str) else np.asarray(region) != 0
    if area is not None:
        outside = ~whole.areas[area]
        inside = outside if inside is None else inside & outside
    marks = find_marks(masks, spacing=whole.reading.grid.spacing, instances=options.instances, region=inside)
    return LesionMatch(marks, options.lesions, np.zeros(len(marks), np.intp))


def lesion_scores(pair: LesionPair | None, *, turned: bool = False) -> dict[str, float]:
    """The scores of the second of a pair against the first, or the other way round."""
    if pair is None:
        return dict.fromkeys(LESIONS, Undefined("too_many_lesions"))
    reference, judged = (pair.count_b, pair.count_a) if turned else (pair.count_a, pair.count_b)
    if not reference and not judged:
        return dict.fromkeys(LESIONS, Undefined("both_empty"))
    values = (
        ratio(pair.matched, reference, "second_empty"), ratio(pair.matched, judged, "first_empty"),
        pair.f1, pair.pq, pair.sq, pair.rq,
    )  # fmt: skip
    return dict(zip(LESIONS, values, strict=True))


# -- free-response curves ----------------------------------------------------------------------------


@dataclass(frozen=True)
class FreeResponses:
    """Lesions of one case at every threshold: hits, lesions of the reference standard, and false positives."""

    thresholds: tuple[float, ...] = ()
    counts: Mapping[tuple[str, str], Sequence[tuple[int, int, int]]] = field(default_factory=dict)
    """By algorithm and reference standard, one for each threshold."""
    too_many: bool = False


def count_free_responses(whole: CaseMarks) -> FreeResponses | None:
    """Of every algorithm against every rater, consensus and given reference; None where no range is known.

    A missing prediction finds nothing.
    """
    options, reading = whole.case.options, whole.reading
    responses = reading.predictions
    unit = all(v.min(initial=0) >= 0 and v.max(initial=0) <= 1 for v in responses.values())
    if options.limits is None and not unit:
        return None
    low, high = options.limits or (0.0, 1.0)
    thresholds = tuple(round(low + (high - low) * k / (LEVELS + 1), 12) for k in range(1, LEVELS + 1))
    label = whole.without_predictions().together
    every = _masks(label)
    shown = {c.name: c for c in every if _is_reference(c, label)}
    counts: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    try:
        for column, values in responses.items():
            cut = {f"at {k}": values >= t for k, t in enumerate(thresholds)}
            if options.instances:
                cut = {name: _number(mask) for name, mask in cut.items()}
            area = column if column in reading.training_areas else None
            judged = CaseMarks(reading, whole.plan, {}, whole.table, reading.training_areas)
            match = _marks({**{f"of {name}": every[c] for name, c in shown.items()}, **cut}, judged, area)
            for name in shown:
                found = [match.pair(f"of {name}", at) for at in cut]
                counts[column.name, name] = [(p.matched, p.count_a, p.count_b - p.matched) for p in found]
    except TooManyLesions:
        return FreeResponses(thresholds, too_many=True)
    for column in whole.case.missing:
        for name, c in shown.items():
            lesions = _marks({"a": every[c], "b": np.zeros(reading.grid.shape, bool)}, label.whole).pair("a", "b")
            counts[column.name, name] = [(0, lesions.count_a, 0)] * LEVELS
    return FreeResponses(thresholds, counts)


def _is_reference(column: Column, label: LabelMarks) -> bool:
    """Whether a mask is a reference standard: a second reading of a rater is none."""
    table = label.whole.table
    return not column.left_out and (column.role != "rater" or column in [table.columns[i] for i in table.raters])


def froc_table(study: Study, cases: Mapping[str, FreeResponses]) -> Table:
    """Sensitivity over all lesions, and false positives per case, at every threshold; without cases of too many."""
    table = Table("froc", ("algorithm", "against", "threshold"))
    counted = {name: case for name, case in cases.items() if not case.too_many}
    keys = dict.fromkeys(key for case in counted.values() for key in case.counts)
    slots = set(study.rater_names) if study.options.exchangeable else set()
    for key in (key for key in keys if key[1] not in slots):
        here = [case for case in counted.values() if key in case.counts]
        total = np.array([case.counts[key] for case in here]).sum(axis=0)
        for threshold, (hits, lesions, false) in zip(here[0].thresholds, total.tolist(), strict=True):
            extra, left_out = (*key, threshold), len(cases) - len(here)
            found = ratio(hits, lesions, "no_lesion")
            table.append(Row("pooled", "lesion_sensitivity", found, extra=extra, n=lesions, n_undefined=left_out))
            rate = float(false / len(here))
            table.append(Row("pooled", "false_positives", rate, extra=extra, n=len(here), n_undefined=left_out))
    return table


def froc_charts(table: Table, study: Study) -> dict[str, str]:
    """A chart for each consensus and given reference: sensitivity over false positives per case, by algorithm."""
    lines: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    for sensitivity, false in zip(table.rows[::2], table.rows[1::2], strict=True):
        if sensitivity["against"] not in study.rater_names and not isnan(sensitivity.value):
            of = lines.setdefault(sensitivity["against"], {}).setdefault(sensitivity["algorithm"], ([], []))
            of[0].append(false.value)
            of[1].append(sensitivity.value)
    return {
        f"froc-{safe_name(against)}": line_chart(
            curves, "false positives per case", "share of lesions found", f"Lesions found, against {against}",
            xlim=(0.0, max(1.0, *(x for xs, _ in curves.values() for x in xs))),
        )
        for against, curves in lines.items()
    }  # fmt: skip

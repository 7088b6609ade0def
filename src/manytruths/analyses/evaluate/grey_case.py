"""What ``evaluate`` does with the grey predictions of one case: responses counted under every truth."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...core.columns import Column
from ...core.errors import ManytruthsError
from ...core.tally import Tally
from ...core.undefined import Undefined
from ...evaluation.columns import appended, estimates
from ...evaluation.grey.counting import count_responses
from ...evaluation.grey.counts import ResponseCounts
from ...evaluation.grey.curves import NO_NEGATIVES, NO_POSITIVES
from ...evaluation.grey.indexing import pattern_index
from ...evaluation.grey.truths import Truths, truths
from ...study import Case
from ...study.consensus import binary_mask
from .scenes import Array, EvaluatePlan, Scene, counted, spatial

AREAS = ("pbar_area", "pr_area", "roc_area")


@dataclass(frozen=True)
class GreyCase:
    """The responses of every algorithm in one case."""

    tally: Tally
    """Raters, given truths and those made of the raters."""
    kinds: Mapping[str, str]
    """Every truth, and what it is: a rater, a reference, a level of votes."""
    counts: Mapping[Column, ResponseCounts]
    """Without what an algorithm is not judged by."""
    whole: Mapping[Column, ResponseCounts]
    """Of all items, for algorithms with such an area."""
    silent: Mapping[Column, ResponseCounts]
    """Algorithms without a prediction: what it counts where nothing is detected before everything else."""
    notes: tuple[str, ...] = ()


def grey_case(case: Case, plan: EvaluatePlan) -> GreyCase:
    """Every algorithm of a case."""
    scene = Scene.of(case.read())
    marks = {c: binary_mask(a, None, case.options.void) for c, a in scene.marks.items()}
    readings = scene.readings_of(None)
    maps, notes = spatial(readings, plan)
    try:
        base = counted(scene, marks | maps)
        joint = appended(base, estimates(base, plan.by_pattern, plan.options, raters=readings.table))
        # further columns are functions of the pattern, and leave the patterns in their order
        index = pattern_index(marks | maps, base)
        found = truths(joint, levels=True)
    except ManytruthsError as error:
        raise type(error)(f"case {case.name}: {error}") from None
    if len(scene.table.labels.marks) > 1:
        notes.append("labels are united: a grey prediction is judged by what is marked at all")
    counts: dict[Column, ResponseCounts] = {}
    whole: dict[Column, ResponseCounts] = {}
    for column in case.predictions:
        values, area = case.response(column, scene.reading.grid), case.training_area(column, scene.reading.grid)
        region, limits = case.region(scene.reading.grid), case.options.limits or _limits(values)
        inside = None if isinstance(region, str) else region
        counts[column] = count_responses(values, index, joint, region=inside, exclude=area, limits=limits).against(
            found
        )
        if area is not None:
            whole[column] = count_responses(values, index, joint, region=inside, limits=limits).against(found)
        if not counts[column].levels.size:
            notes.append(f"{column}: all that counts is excluded, so that it is not judged")
        elif counts[column].constant:
            level = counts[column].levels[0]
            notes.append(f"{column}: the response is {level:g} everywhere, so that no threshold tells anything")
    return GreyCase(
        joint,
        dict(zip(found.names, found.kinds, strict=True)),
        counts,
        whole,
        _silent(case, joint, found),
        tuple(notes),
    )


def _silent(case: Case, joint: Tally, found: Truths) -> dict[Column, ResponseCounts]:
    positives = (found.positive @ joint.counts)[:, None]
    negatives = ((found.rated & ~found.positive) @ joint.counts)[:, None]
    none = ResponseCounts(
        found.names, np.array([-np.inf]), positives, negatives, np.zeros(1), np.zeros((1, 1), np.int64)
    )
    return dict.fromkeys(case.missing, none)


def _limits(values: Array) -> tuple[float, float] | None:
    """Shares from 0 to 1 are rounded alike in every case, where there are too many of them."""
    shares = values.dtype.kind == "f" and values.min(initial=0) >= 0 and values.max(initial=0) <= 1
    return (0.0, 1.0) if shares else None


def areas(counts: ResponseCounts, skew: tuple[float, float]) -> dict[tuple[str, str], float]:
    """By truth and statistic, with the reason where it is undefined."""
    values = {"pbar_area": counts.pbar_areas(*skew), "pr_area": counts.pr_areas(), "roc_area": counts.roc_areas()}
    return {(t, name): _defined(v[i], counts, i) for name, v in values.items() for i, t in enumerate(counts.truths)}


def _defined(value: np.float64, counts: ResponseCounts, truth: int) -> float:
    if not np.isnan(value):
        return float(value)
    return Undefined(NO_NEGATIVES if counts.positives[truth].any() else NO_POSITIVES)

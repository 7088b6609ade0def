"""Lesions of algorithms, raters and reference standards: one-to-one matches of every two that are scored.

Scores are of lesions that are matched greedily by falling IoU, under the rule of the study. For free-response curves
(FROC), a probability map is cut once: the components are the algorithm's lesions, each with its largest response as
score.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from ...core.columns import Column
from ...core.runs import LabelRuns, TooManyRuns, read_runs
from ...core.tiles import LazyArray, is_at_least, load, tile_slices
from ...lesions.marks import TooManyLesions
from ...lesions.matching import LesionMatch, LesionPair
from ...study.lesions import lesion_mask
from ..agree.lesion_scores import Key, find_lesions, match_pairs, number_components
from .marks import Array, CaseMarks, LabelMarks, are_shares


def lesion_pairs(label: LabelMarks, pairs: Iterable[Key]) -> dict[Key, LesionPair | None]:
    """The matched lesions of who is scored and whom they are scored against; None where there are too many lesions."""
    whole = label.whole
    masks, found = {c: whole.on_pixels(m) for c, m in _masks(label).items()}, dict[Key, LesionPair | None]()
    by_area: dict[Column | None, list[Key]] = {}
    for who, whom in pairs:
        if who in masks and whom in masks:
            by_area.setdefault(who if who in whole.areas else None, []).append((who, whom))
    for area, keys in by_area.items():
        outside = None if area is None else whole.on_pixels(whole.areas[area])
        found |= match_pairs(whole.near, masks, keys, outside)
    return found


def _masks(label: LabelMarks) -> dict[Column, Array]:
    """What lesions are found in: masks of one label, or instance maps, in which a consensus is numbered, too."""
    whole = label.whole
    drawn, decided = dict(label.marks), label.maps | label.consensus_maps()
    if not whole.case.options.instances:
        return drawn | decided
    # patterns of a large case know what is marked, and not which lesion it is
    near = whole.near
    raw = {**near.masks, **near.references}
    if not whole.case.options.probability:
        raw |= whole.predictions if near is whole.reading else near.predictions
    drawn |= {c: lesion_mask(array, None, near) for c, array in raw.items()}
    decided |= {c: drawn[c] for c in whole.predictions if c not in raw}  # cut probability maps
    return drawn | {c: number_components(whole.marks_of(mask)) for c, mask in decided.items()}


# -- free-response curves ----------------------------------------------------------------------------


@dataclass(frozen=True)
class FreeResponse:
    """The lesions of an algorithm in one case against a reference standard: their scores, and how many there were."""

    hits: tuple[float, ...]
    false: tuple[float, ...]
    lesions: int
    """Of the reference standard."""


@dataclass(frozen=True)
class FreeResponses:
    """What is kept of one case."""

    by_pair: Mapping[tuple[str, str], FreeResponse] = field(default_factory=dict)
    """By algorithm and reference standard."""
    too_many: bool = False


def count_free_responses(whole: CaseMarks) -> FreeResponses | None:
    """Of every algorithm against every rater, consensus and given reference; None where it is not known where to cut.

    A missing prediction finds nothing.
    """
    reading, options = whole.near, whole.case.options
    cut = _cut(whole)
    if cut is None:
        return None
    label = whole.without_predictions().together
    try:
        every = {c: whole.on_pixels(mask) for c, mask in _masks(label).items() if _is_reference(c, label)}
        shown = {f"of {c.name}": c for c in every}
        found: dict[tuple[str, str], FreeResponse] = {}
        for column in (*reading.predictions, *whole.case.missing):
            values = reading.predictions.get(column)
            own = {"own": _cut_lesions(values, cut, reading.grid.shape, numbered=options.instances)}
            masks = {name: every[c] for name, c in shown.items()} | own
            match = find_lesions(reading, masks, reading.training_areas.get(column))
            top = _highest(match, values)
            for name, c in shown.items():
                found[column.name, c.name] = _free_response(match, name, top)
    except (TooManyLesions, TooManyRuns):
        return FreeResponses(too_many=True)
    return FreeResponses(found)


def _cut_lesions(values: Array | LazyArray | None, cut: float, shape: tuple[int, ...], *, numbered: bool) -> Array:
    """Where an algorithm sees lesions, as runs; with a number for each where masks are instance maps."""
    nothing = np.empty(0, np.int64)
    mask = LabelRuns(shape, nothing, nothing, nothing) if values is None else read_runs(is_at_least(values, cut))
    return number_components(mask) if numbered else mask  # type: ignore[return-value]


def _cut(whole: CaseMarks) -> float | None:
    """Where lesions of a probability map are outlined: at the threshold given, or in the middle of its range."""
    limits = whole.case.options.limits
    if whole.plan.threshold is not None or limits is not None:
        return whole.plan.threshold if limits is None or whole.plan.threshold is not None else sum(limits) / 2
    return 0.5 if all(map(are_shares, whole.near.predictions.values())) else None


def _highest(match: LesionMatch, values: Array | LazyArray | None) -> Array:
    """The largest response in each mark of the algorithm, which comes last; nan for the marks of others."""
    marks, top = match.marks, np.full(len(match.marks), np.nan)
    row = marks.runs[-1]
    here = np.flatnonzero(row >= 0)
    if values is None or not len(here):
        return top
    top[row[here]] = -np.inf
    starts = marks.starts[here]
    own = LabelRuns(marks.shape, starts, starts + marks.lengths[here], row[here] + 1)
    for where in tile_slices([values]):
        numbers = own[where]
        inside = np.flatnonzero(numbers)
        if len(inside):
            responses = load(values, where).reshape(-1)[inside]
            np.maximum.at(top, numbers.reshape(-1)[inside] - 1, responses.astype(np.float64))
    return top


def _free_response(match: LesionMatch, reference: str, top: Array) -> FreeResponse:
    number, count = match.raters.index(reference), len(match.raters)
    own = np.flatnonzero(match.marks.owner == count - 1)
    hit = match.matched_marks(reference, "own")
    scores = top[own].tolist()
    return FreeResponse(
        tuple(score for mark, score in zip(own.tolist(), scores, strict=True) if mark in hit),
        tuple(score for mark, score in zip(own.tolist(), scores, strict=True) if mark not in hit),
        int(match.marks.counts[number]),
    )


def _is_reference(column: Column, label: LabelMarks) -> bool:
    """Whether a mask is a reference standard: a second reading of a rater is none."""
    table = label.whole.table
    return not column.left_out and (column.role != "rater" or column in [table.columns[i] for i in table.raters])

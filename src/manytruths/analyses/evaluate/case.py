"""One case, read once: everything that ``evaluate`` takes from it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...core.columns import Column
from ...evaluation.intensity_curves import mask_intensity
from ...study import Case
from ...study.case import Reading
from .boundaries import CaseBoundaries, match_case_boundaries
from .case_scores import LabelCounts, count_labels
from .grading import draw_case_sheet
from .marks import CaseMarks, EvaluatePlan
from .probability_maps import PackedResponses
from .second_look import CaseLook, find_case_places


@dataclass(frozen=True)
class CaseEvaluation:
    """What is kept of a case; None for what was not asked for."""

    masks: Mapping[str, LabelCounts] | None = None
    """By label."""
    responses: PackedResponses | None = None
    """Of probability maps."""
    boundaries: CaseBoundaries | None = None
    second_look: CaseLook | None = None
    intensity: Mapping[Column, float] | None = None
    """The mean intensity of the image inside each mask."""
    drawn_without_image: bool = False
    """Whether the case is on the grading sheet without its image."""


def analyse_case(case: Case, plan: EvaluatePlan) -> CaseEvaluation:
    """One case, read once."""
    return analyse_reading(case.read(), plan)


def analyse_reading(reading: Reading, plan: EvaluatePlan) -> CaseEvaluation:
    """The same of a case whose masks are in memory; predictions, references and the image are read where needed."""
    case = reading.case
    whole = CaseMarks.of(reading, plan)
    responses = PackedResponses.of(whole) if case.options.probability else None
    masks = count_labels(whole) if whole.scored else None
    boundaries = match_case_boundaries(whole) if plan.boundaries else None
    if not whole.scored:
        return CaseEvaluation(responses=responses, boundaries=boundaries)
    without_image = draw_case_sheet(whole)
    look = find_case_places(whole) if plan.second_look else None
    image = reading.picture[0] if plan.intensity_curves else None
    intensity = None if image is None else mask_intensity(image, whole.by_rater | whole.by_algorithm)
    return CaseEvaluation(masks, responses, boundaries, look, intensity, without_image)

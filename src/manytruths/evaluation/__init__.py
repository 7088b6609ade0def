"""Predictions against raters, against every consensus and given reference, and against each other."""

from .boundaries import BoundaryPoint, BoundaryScores, PooledBoundaryScores, boundary_scores, pool_boundary_scores
from .curves import (
    OperatingPoint,
    ResponseCounts,
    ThresholdCurve,
    correlation_in_image,
    correlation_in_object,
    mean_precision,
    prevalence_range,
)
from .extended_dice import ExtendedDiceCounts, extended_dice, extended_dice_counts
from .grading import Grade, GradeScale, MetricRoc, grade_counts, metric_roc
from .intensity_curves import IntensityCurves, mask_intensity
from .overlap import Overlaps, overlaps
from .ranking.by_reference import ReferenceRanking, ReferenceRankings, rank_by_reference
from .ranking.ranking import Ranking, rank_scores
from .ranking.scores import Scores
from .references import ReferenceStandards, reference_standards, with_consensus
from .responses import Responses, count_responses
from .second_look import SecondLook, SecondLookPlace, second_look

__all__ = [
    "BoundaryPoint",
    "BoundaryScores",
    "ExtendedDiceCounts",
    "Grade",
    "GradeScale",
    "IntensityCurves",
    "MetricRoc",
    "OperatingPoint",
    "Overlaps",
    "PooledBoundaryScores",
    "Ranking",
    "ReferenceRanking",
    "ReferenceRankings",
    "ReferenceStandards",
    "ResponseCounts",
    "Responses",
    "Scores",
    "SecondLook",
    "SecondLookPlace",
    "ThresholdCurve",
    "boundary_scores",
    "correlation_in_image",
    "correlation_in_object",
    "count_responses",
    "extended_dice",
    "extended_dice_counts",
    "grade_counts",
    "mask_intensity",
    "mean_precision",
    "metric_roc",
    "overlaps",
    "pool_boundary_scores",
    "prevalence_range",
    "rank_by_reference",
    "rank_scores",
    "reference_standards",
    "second_look",
    "with_consensus",
]

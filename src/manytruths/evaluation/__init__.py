"""Predictions against raters, against every truth made of them, and against each other."""

from .boundaries import boundary_scores
from .boundary_curve import BoundaryPoint, BoundaryScores, PooledBoundaryScores, pooled_boundaries
from .columns import with_truths
from .extended_dice import Acceptance, acceptance, extended_dice
from .grading.grades import Grade, GradeScale, MetricRoc, grade_counts, metric_roc
from .grey.correlation import cci, cco
from .grey.counting import Responses, responses
from .grey.counts import ResponseCounts
from .grey.curves import Curve, OperatingPoint
from .grey.mean_precision import mean_precision, skew_limits
from .grey.truth_rankings import TruthRanking, TruthRankings, truth_rankings
from .grey.truths import Truths, truths
from .intensity import FrameCurves, frame_intensity
from .overlaps import Overlaps, overlaps
from .ranking.rank import Ranking, rank
from .ranking.scores import Scores
from .second_look import Place, SecondLook, second_look

__all__ = [
    "Acceptance",
    "BoundaryPoint",
    "BoundaryScores",
    "Curve",
    "FrameCurves",
    "Grade",
    "GradeScale",
    "MetricRoc",
    "OperatingPoint",
    "Overlaps",
    "Place",
    "PooledBoundaryScores",
    "Ranking",
    "ResponseCounts",
    "Responses",
    "Scores",
    "SecondLook",
    "TruthRanking",
    "TruthRankings",
    "Truths",
    "acceptance",
    "boundary_scores",
    "cci",
    "cco",
    "extended_dice",
    "frame_intensity",
    "grade_counts",
    "mean_precision",
    "metric_roc",
    "overlaps",
    "pooled_boundaries",
    "rank",
    "responses",
    "second_look",
    "skew_limits",
    "truth_rankings",
    "truths",
    "with_truths",
]

"""Predictions against raters, against every truth made of them, and against each other."""

from .boundaries import boundary_scores
from .boundary_curve import BoundaryPoint, BoundaryScores, PooledBoundaryScores, pooled_boundaries
from .columns import with_truths
from .correlation import cci, cco
from .curves import Curve, OperatingPoint
from .extended_dice import Acceptance, acceptance, extended_dice
from .grades import Grade, GradeScale, MetricRoc, grade_counts, metric_roc
from .intensity import FrameCurves, frame_intensity
from .mean_precision import mean_precision, skew_limits
from .overlaps import Overlaps, overlaps
from .rank_scores import Scores
from .ranking import Ranking, rank
from .response_counts import ResponseCounts
from .responses import Responses, responses
from .second_look import Place, SecondLook, second_look
from .truth_rankings import TruthRanking, TruthRankings, truth_rankings
from .truths import Truths, truths

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

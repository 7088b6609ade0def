"""What the raters are like: how far each is from the others, what he tends to do, and whom he copies."""

from .dependence import Dependence, PossibleCopy, rater_dependence
from .differences import Clustering, RaterDifferences, WilliamsIndex, cluster, rater_differences, williams_index
from .performance import RaterPerformance, RaterTendency, rater_performance, rater_tendency

__all__ = [
    "Clustering",
    "Dependence",
    "PossibleCopy",
    "RaterDifferences",
    "RaterPerformance",
    "RaterTendency",
    "WilliamsIndex",
    "cluster",
    "rater_dependence",
    "rater_differences",
    "rater_performance",
    "rater_tendency",
    "williams_index",
]

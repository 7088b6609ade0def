"""What the raters are like: how far each is from the others, what he tends to do, and whom he copies."""

from .clustering import Clustering, cluster
from .dependence import Dependence, PossibleCopy, rater_dependence
from .difference import RaterDifferences, rater_differences
from .performance import RaterPerformance, rater_performance
from .tendency import RaterTendency, rater_tendency
from .williams import WilliamsIndex, williams_index

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

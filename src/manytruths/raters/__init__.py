"""Raters: how far each is from the others, how they perform, what they tend to do, and who depends on whom."""

from .dependence import RaterDependence, rater_dependence
from .differences import (
    RaterClustering,
    RaterDifferences,
    WilliamsIndex,
    cluster_raters,
    connected_raters,
    label_dice,
    rater_differences,
    williams_index,
)
from .performance import RaterPerformance, RaterTendency, rater_performance, rater_tendency

__all__ = [
    "RaterClustering",
    "RaterDependence",
    "RaterDifferences",
    "RaterPerformance",
    "RaterTendency",
    "WilliamsIndex",
    "cluster_raters",
    "connected_raters",
    "label_dice",
    "rater_dependence",
    "rater_differences",
    "rater_performance",
    "rater_tendency",
    "williams_index",
]

"""Complexity of cases: descriptors from a tally, classifiers of cases, and tasks compared."""

from .classifiers import GroupClassifier, ThresholdClassifier, fit_complexity_groups, fit_complexity_threshold
from .comparison import TaskComparison, TaskComplexity, compare_task_complexity
from .descriptors import NO_OVERLAP, STATISTICS, Complexity, case_complexity

__all__ = [
    "NO_OVERLAP",
    "STATISTICS",
    "Complexity",
    "GroupClassifier",
    "TaskComparison",
    "TaskComplexity",
    "ThresholdClassifier",
    "case_complexity",
    "compare_task_complexity",
    "fit_complexity_groups",
    "fit_complexity_threshold",
]

"""How hard a case is to mark: numbers from a tally, classifiers of cases, and tasks compared."""

from .classifiers import GroupClassifier, ThresholdClassifier, fit_groups, fit_threshold
from .comparison import Task, TaskComparison, compare_tasks
from .descriptors import NO_OVERLAP, STATISTICS, Complexity, case_complexity

__all__ = [
    "NO_OVERLAP",
    "STATISTICS",
    "Complexity",
    "GroupClassifier",
    "Task",
    "TaskComparison",
    "ThresholdClassifier",
    "case_complexity",
    "compare_tasks",
    "fit_groups",
    "fit_threshold",
]

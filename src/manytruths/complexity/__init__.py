"""How hard a case is to mark: numbers from a tally, classifiers of cases, and tasks compared."""

from .descriptors import NO_OVERLAP, STATISTICS, Complexity, case_complexity
from .groups import GroupClassifier, fit_groups
from .tasks import Task, TaskComparison, compare_tasks
from .thresholds import ThresholdClassifier, fit_threshold

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

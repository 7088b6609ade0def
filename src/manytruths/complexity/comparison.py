"""Two tasks compared: is one more complex than the other?"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import compress

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.undefined import Undefined, reason, undefined_like
from ..inference.intervals import MIN_SUBJECTS, Interval, t_interval
from .descriptors import NO_OVERLAP, STATISTICS, Complexity, rater_note

Values = NDArray[np.float64]

EMPTY = "no_case_with_value"
DEPENDENT = "subjects have several cases: p assumes that they are independent, the interval does not"


@dataclass(frozen=True)
class TaskComplexity:
    """Complexity of the cases of one task.

    Attributes
    ----------
    values : tuple of float
        The statistic of every case that has one.
    mean : float
        Their mean.
    std : float
        Their sample standard deviation.
    no_overlap : int
        Number of cases left out, as no pixel was marked by two raters.
    undefined : int
        Number of cases left out for another reason.
    """

    values: tuple[float, ...]
    mean: float
    std: float
    no_overlap: int
    undefined: int

    @property
    def n(self) -> int:
        """Number of cases that have a value."""
        return len(self.values)


@dataclass(frozen=True)
class TaskComparison:
    """Whether one task is more complex than another.

    Attributes
    ----------
    statistic : str
        The statistic compared.
    a : TaskComplexity
        The first task.
    b : TaskComplexity
        The second task.
    difference : Interval
        Difference of the means, a minus b.
    probability : float
        Probability that a random case of a is more complex than one of b; ties count half.
    p : float
        Two-sided p of Mann and Whitney's test.
    note : str
        What to know before using it.
    """

    statistic: str
    a: TaskComplexity
    b: TaskComplexity
    difference: Interval
    probability: float
    p: float
    note: str = ""


def compare_task_complexity(
    a: Sequence[Complexity],
    b: Sequence[Complexity],
    *,
    statistic: str = "esm",
    subjects: tuple[Sequence[str], Sequence[str]] | None = None,
    level: float = 0.95,
) -> TaskComparison:
    """Compare the complexity of two tasks.

    Over the cases of each task that have a complexity: mean and sample standard deviation, their difference with an
    interval over subjects (Student's t, with the degrees of freedom of the task of fewer subjects), and the probability
    P(a > b) + ½ P(a = b) = U / (n_a n_b) that a case of the first is more complex than one of the second, with Mann and
    Whitney's U. Cases without any overlap are counted and left out.

    Parameters
    ----------
    a, b : sequence of Complexity
        The cases of each task.
    statistic : {"esm", "entropy", "std", "mean", "ssm"}
        What to compare.
    subjects : tuple of two sequences of str, optional
        Subject of each case, for a and for b: all cases of a subject are counted together, so that those marked for
        both tasks are compared with themselves. By default every case is its own subject.
    level : float
        Confidence level.

    Returns
    -------
    TaskComparison
        The two tasks, their difference and its test.

    References
    ----------
    Gordon S et al. Evaluation of uterine cervix segmentations using ground truth from multiple experts. Comput Med
    Imaging Graph 2009;33:205–216, 4.2, Fig. 6. doi:10.1016/j.compmedimag.2008.12.002
    Mann HB, Whitney DR. On a test of whether one of two random variables is stochastically larger than the other. Ann
    Math Stat 1947;18:50–60. doi:10.1214/aoms/1177730491

    Examples
    --------
    >>> import manytruths as mt
    >>> cases = [[mt.Complexity(e, 0.1, 0.8, e / 0.64, 0.2, 2, 50) for e in (x, x + 0.1)] for x in (0.5, 0.2)]
    >>> comparison = mt.compare_task_complexity(*cases)
    >>> round(comparison.difference.value, 3), comparison.probability
    (0.469, 1.0)
    """
    if statistic not in STATISTICS:
        raise CallError(f"statistic is one of {', '.join(STATISTICS)}; got {statistic!r}")
    if not 0 < level < 1:
        raise CallError(f"level must be between 0 and 1; got {level}")
    whose = subjects or ([f"a{i}" for i in range(len(a))], [f"b{i}" for i in range(len(b))])
    if [len(names) for names in whose] != [len(a), len(b)]:
        raise CallError(f"subjects= needs {len(a)} and {len(b)} names, one per case; got {[len(w) for w in whose]}")
    first, second = _summarise(a, statistic), _summarise(b, statistic)
    with_value = [[not reason(getattr(case, statistic)) for case in cases] for cases in (a, b)]
    owners_of = [list(compress(names, chosen)) for names, chosen in zip(whose, with_value, strict=True)]
    difference = _difference_interval(first, second, owners_of, level)
    probability, p = _mann_whitney(first.values, second.values)
    repeated = subjects is not None and len({*owners_of[0], *owners_of[1]}) < first.n + second.n
    notes = (rater_note(case for case in (*a, *b) if not case.reason), DEPENDENT if repeated else "")
    return TaskComparison(statistic, first, second, difference, probability, p, "; ".join(filter(None, notes)))


def _summarise(cases: Sequence[Complexity], statistic: str) -> TaskComplexity:
    values = tuple(v for case in cases if not reason(v := float(getattr(case, statistic))))
    apart = sum(case.code == NO_OVERLAP for case in cases)
    mean = float(np.mean(values)) if values else Undefined(EMPTY)
    std = float(np.std(values, ddof=1)) if len(values) > 1 else Undefined("single_case")
    return TaskComplexity(values, mean, std if values else Undefined(EMPTY), apart, len(cases) - len(values) - apart)


def _difference_interval(a: TaskComplexity, b: TaskComplexity, subjects: list[list[str]], level: float) -> Interval:
    """Student's t, from what each subject contributes to the difference."""
    names = sorted({*subjects[0], *subjects[1]})
    value = a.mean - b.mean if a.n and b.n else Undefined(EMPTY)
    fewest = min(len(set(owners)) for owners in subjects)
    if fewest < MIN_SUBJECTS:
        refused = undefined_like(value, "too_few_subjects", f"a task has {fewest}")
        return Interval(value, refused, refused, level, "t", len(names))
    parts = np.zeros(len(names))
    for task, owners, sign in zip((a, b), subjects, (1, -1), strict=True):
        np.add.at(parts, np.searchsorted(names, owners), sign * (np.array(task.values) - task.mean) / task.n)
    error = math.sqrt(float(parts @ parts) * fewest / (fewest - 1))
    return t_interval(value, error, fewest - 1, scale="plain", level=level, n=len(names))


def _mann_whitney(a: Sequence[float], b: Sequence[float]) -> tuple[float, float]:
    """The probability that a is more complex than b, and p."""
    if not a or not b:
        return Undefined(EMPTY), Undefined(EMPTY)
    if min(*a, *b) == max(*a, *b):
        return 0.5, 1.0
    from scipy.stats import mannwhitneyu

    test = mannwhitneyu(a, b, alternative="two-sided")
    return float(test.statistic / (len(a) * len(b))), float(test.pvalue)

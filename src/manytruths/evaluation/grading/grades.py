"""Does a metric find what needs correction? Per-case metrics against the grades that experts gave.

A prediction graded ``best`` or higher needs no correction and is positive, every other is negative. A metric calls
positive whatever is at least as good as a threshold; over all thresholds that is its ROC curve, and the area under it
is the chance that a prediction which needs no correction has the better value, ties counting half (Mann–Whitney)::

    area = (#{positive better than negative} + ½ #{equal}) / (positives × negatives)

Where one algorithm is graded better than another, any metric that tells the two apart has a large area, whether or
not it tells a good prediction of either from a bad one. The area within algorithms takes the same share of those
pairs only whose predictions are of one algorithm; see ``areas.py``.

Intervals of areas: percentiles of a bootstrap that draws subjects, with all their cases, algorithms and graders.

Zeng D et al. Segmentation with multiple acceptable annotations: a case study of myocardial segmentation in contrast
echocardiography. IPMI 2021:478–491, 4.2 and 4.3. doi:10.1007/978-3-030-78191-0_37. Hanley JA, McNeil BJ. The meaning
and use of the area under a receiver operating characteristic (ROC) curve. Radiology 1982;143:29–36.
doi:10.1148/radiology.143.1.7063747
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError
from ...core.undefined import Undefined
from ...inference.intervals import Interval
from ..grey.curves import Curve
from ..ranking.directions import NONE_GIVEN, Direction, direction
from .areas import Layer, layered_area

Item = tuple[str, str]
"""A case, and the algorithm whose prediction of it was graded."""
Values = NDArray[np.float64]

NONE_WITHIN = "no_algorithm_with_both_classes"


@dataclass(frozen=True)
class GradeScale:
    """Whole numbers from ``lowest`` (worst) to ``highest``; from ``best`` on, no correction is needed.

    >>> GradeScale().levels, GradeScale().best
    ((1, 2, 3, 4), 4)
    """

    lowest: int = 1
    highest: int = 4
    best: int = -1
    """By default the highest."""

    def __post_init__(self) -> None:
        if self.best == -1:
            object.__setattr__(self, "best", self.highest)
        if not 0 <= self.lowest < self.best <= self.highest:
            raise CallError(
                f"grades go from a worst that is at least 0 up, and the best lies above the worst; got "
                f"{self.lowest} to {self.highest}, no correction from {self.best} on"
            )

    @property
    def levels(self) -> tuple[int, ...]:
        """Every grade, the worst first."""
        return tuple(range(self.lowest, self.highest + 1))


@dataclass(frozen=True)
class Grade:
    """What one grader gave to one prediction; ``showing`` is 2 where he saw it for the second time."""

    case: str
    algorithm: str
    grade: int
    grader: str = ""
    showing: int = 1

    @property
    def item(self) -> Item:
        """The prediction."""
        return self.case, self.algorithm


@dataclass(frozen=True, eq=False)
class MetricRoc:
    """How well a metric tells predictions that need no correction from those that do."""

    metric: str
    algorithm: str
    """Whose predictions; empty for those of all."""
    grader: str
    """By whose grades; empty for those of all."""
    direction: Direction
    curve: Curve
    """Over goodness: the metric's values, with the sign changed where lower is better."""
    area: Interval
    within: Interval
    """The area of pairs of predictions of the same algorithm; of one algorithm alone, it is the same."""
    unscored: int
    """Grades of predictions for which the metric has no row."""
    undefined: int
    """Grades of predictions for which it is undefined."""
    ungraded: int
    """Values of the metric that have no grade."""

    @property
    def thresholds(self) -> Values:
        """In the metric's own units, from the strictest; the first, which nothing reaches, is infinite."""
        return self.curve.thresholds if self.direction == "higher" else -self.curve.thresholds

    @property
    def sensitivity(self) -> Values:
        """The share of what needs no correction that is at least as good as each threshold."""
        return self.curve.recall

    @property
    def fall_out(self) -> Values:
        """The share of what needs correction that is at least as good as each threshold."""
        return self.curve.fall_out

    @property
    def positives(self) -> int:
        """Grades that need no correction."""
        return self.curve.positives

    @property
    def negatives(self) -> int:
        """Grades that do."""
        return self.curve.negatives


def metric_roc(
    metric: str,
    values: Mapping[Item, float],
    grades: Iterable[Grade],
    *,
    scale: GradeScale | None = None,
    algorithm: str = "",
    grader: str = "",
    subjects: Mapping[str, str] | None = None,
    directions: Mapping[str, str] = NONE_GIVEN,
    resamples: int = 2000,
    level: float = 0.95,
    seed: int = 0,
) -> MetricRoc:
    """The ROC curve of a metric against grades.

    Parameters
    ----------
    metric
        Its name, by which it is known whether higher is better: ``dice``, ``hausdorff [vote:0.5]``.
    values
        By case and algorithm; nan (perhaps with a reason) is left out and counted.
    grades
        Of a prediction that was shown twice, the first grade counts. Grades of several graders count each.
    algorithm, grader
        Take only these; empty takes all.
    subjects
        The subject of each case, for the interval; by default each case is its own.

    >>> values = {("a", "unet"): 0.9, ("b", "unet"): 0.7, ("c", "unet"): 0.8}
    >>> found = metric_roc("dice", values, [Grade("a", "unet", 4), Grade("b", "unet", 2), Grade("c", "unet", 4)])
    >>> found.area.value, found.positives, found.negatives
    (1.0, 2, 1)
    """
    scale = scale or GradeScale()
    way = direction(metric, directions)
    chosen = [g for g in firsts(grades) if algorithm in ("", g.algorithm) and grader in ("", g.grader)]
    known = [g for g in chosen if not math.isnan(values.get(g.item, math.nan))]
    unscored = sum(g.item not in values for g in chosen)
    graded = {g.item for g in chosen}
    own = (item for item, v in values.items() if algorithm in ("", item[1]) and not math.isnan(v))
    held = _Graded.of(known, values, scale, way, subjects or {})
    curve = held.whole.curve
    area_of = partial(layered_area, subjects=held.subjects, resamples=resamples, level=level, seed=seed)
    why = None if curve.positives and curve.negatives else _one_class(curve, scale)
    return MetricRoc(
        metric, algorithm, grader, way, curve,
        area_of([held.whole], none=why or Undefined("undefined")),
        area_of(held.by_algorithm, none=why or Undefined(NONE_WITHIN)),
        unscored, len(chosen) - len(known) - unscored, sum(item not in graded for item in own),
    )  # fmt: skip


def firsts(grades: Iterable[Grade]) -> list[Grade]:
    """Without what was given at a second showing."""
    return [g for g in grades if g.showing == 1]


@dataclass(frozen=True, eq=False)
class _Graded:
    """Grades of predictions that have a value, as layers."""

    grades: Sequence[Grade]
    goodness: Values
    positive: NDArray[np.bool_]
    owner: NDArray[np.intp]
    subjects: int

    @classmethod
    def of(
        cls, grades: Sequence[Grade], values: Mapping[Item, float], scale: GradeScale, way: Direction,
        subjects: Mapping[str, str],
    ) -> _Graded:  # fmt: skip
        sign = 1.0 if way == "higher" else -1.0
        goodness = np.array([sign * float(values[g.item]) for g in grades], np.float64)
        positive = np.array([g.grade >= scale.best for g in grades], bool)
        names = [subjects.get(g.case, g.case) for g in grades]
        owners = {name: i for i, name in enumerate(dict.fromkeys(names))}
        return cls(grades, goodness, positive, np.array([owners[n] for n in names], np.intp), len(owners))

    @property
    def whole(self) -> Layer:
        """All of them."""
        return Layer.of(self.goodness, self.positive, self.owner, self.subjects)

    @property
    def by_algorithm(self) -> list[Layer]:
        """Each algorithm's own."""
        names = np.array([g.algorithm for g in self.grades], object)
        chosen = [names == name for name in dict.fromkeys(names.tolist())]
        return [Layer.of(self.goodness[at], self.positive[at], self.owner[at], self.subjects) for at in chosen]


def _one_class(curve: Curve, scale: GradeScale) -> Undefined:
    if not (curve.positives or curve.negatives):
        return Undefined("no_grade_with_value")
    wanted = f"{scale.best}" + ("" if scale.best == scale.highest else " or better")
    return Undefined("no_grade_high_enough" if not curve.positives else "every_grade_high_enough", wanted)


@dataclass(frozen=True)
class GradeCounts:
    """How often one algorithm got each grade."""

    algorithm: str
    grader: str
    counts: Mapping[int, int]
    """By grade, the worst first."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self.counts.values())


def grade_counts(
    grades: Iterable[Grade], algorithms: Sequence[str], scale: GradeScale | None = None, grader: str = ""
) -> list[GradeCounts]:
    """For every algorithm, how often each grade was given, by one grader or by all; second showings do not count."""
    chosen = [g for g in firsts(grades) if grader in ("", g.grader)]
    levels = (scale or GradeScale()).levels
    return [
        GradeCounts(a, grader, {n: sum(g.grade == n for g in chosen if g.algorithm == a) for n in levels})
        for a in algorithms
    ]

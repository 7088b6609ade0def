"""Experts' grades of predictions: which metric finds those that need correction, and how consistent graders are.

A prediction graded ``best`` or higher needs no correction and is positive, every other is negative. A metric calls
positive whatever is at least as good as a threshold; over all thresholds that is its ROC curve. The area under it is
the probability that a prediction which needs no correction has the better value, ties counting half (Mann–Whitney)::

    area = (#{positive better than negative} + ½ #{equal}) / (positives × negatives)

Where one algorithm is graded better than another, any metric that separates the two has a large area, whether or not
it separates a good prediction of either from a bad one. The area within algorithms counts only pairs of predictions
of the same algorithm; won pairs and all pairs are summed over algorithms::

    area within = Σ (#{positive better than negative} + ½ #{equal}) / Σ (positives × negatives)

Intervals are Student's t on the logit, with the standard error of the jackknife over subjects, with all their cases,
algorithms and graders.

Graders are compared with themselves, where a prediction was shown twice, and with each other by Cohen's kappa with
quadratic weights. Grading sheets are blinded: predictions have codes, in random order, and some are shown twice.

References
----------
Zeng D et al. Segmentation with multiple acceptable annotations: a case study of myocardial segmentation in contrast
echocardiography. IPMI 2021:478–491, 4.2 and 4.3. doi:10.1007/978-3-030-78191-0_37. Hanley JA, McNeil BJ. The meaning
and use of the area under a receiver operating characteristic (ROC) curve. Radiology 1982;143:29–36.
doi:10.1148/radiology.143.1.7063747. Efron B, Tibshirani RJ. An Introduction to the Bootstrap. 1993, ch. 13.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..agreement import weighted_kappa
from ..core.counting import tally
from ..core.errors import CallError
from ..core.labels import Labels
from ..core.undefined import Undefined
from ..inference.intervals import Interval, jackknife_interval, too_few_subjects
from .curves import Counts, ThresholdCurve, Values, cumulate_descending, divide, make_curve
from .ranking.scores import NONE_GIVEN, Direction, direction

Item = tuple[str, str]
"""A case, and the algorithm whose prediction of it was graded."""
NONE_WITHIN = "no_algorithm_with_both_classes"
CELLS = 2_000_000
"""Rows of weights × distinct values that are held at a time."""
LETTERS = "BCDFGHJKMNPQRTVWXZ"
"""No vowels, so that codes are no words; no digits, so that a spreadsheet does not take them for numbers or dates."""
SHORTEST = 4


@dataclass(frozen=True)
class GradeScale:
    """A scale of grades in whole numbers.

    Parameters
    ----------
    lowest, highest : int
        The worst and the highest grade.
    best : int
        The grade from which no correction is needed; by default the highest.

    Examples
    --------
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
    """The grade that one grader gave to one prediction.

    Parameters
    ----------
    case, algorithm : str
        Which prediction.
    grade : int
        The grade.
    grader : str
        Who gave it.
    showing : int
        2 where the grader saw the prediction for the second time.
    """

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
    """Its name."""
    algorithm: str
    """Whose predictions; empty for those of all."""
    grader: str
    """By whose grades; empty for those of all."""
    direction: Direction
    """Which values are better: ``"higher"`` or ``"lower"``."""
    curve: ThresholdCurve
    """Over goodness: the metric's values, with the sign changed where lower is better."""
    area: Interval
    """The area under the ROC curve, over all pairs of predictions."""
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
    level: float = 0.95,
) -> MetricRoc:
    """ROC curve of a metric against experts' grades.

    Parameters
    ----------
    metric : str
        Its name, by which it is known whether higher is better: ``dice``, ``hausdorff [vote:0.5]``.
    values : mapping of (case, algorithm) to float
        The metric's values; nan is left out and counted.
    grades : iterable of Grade
        Of a prediction that was shown twice, the first grade counts. Grades of several graders count each.
    scale : GradeScale, optional
        Which grades need no correction.
    algorithm, grader : str
        Take only these; empty takes all.
    subjects : mapping of str to str, optional
        The subject of each case, for the interval; by default each case is its own.
    directions : mapping of str to str
        ``"higher"`` or ``"lower"`` for metrics that are not known.
    level : float
        Confidence level of the interval.

    Returns
    -------
    MetricRoc
        The curve, and the areas over all predictions and within algorithms.

    References
    ----------
    Hanley JA, McNeil BJ. Radiology 1982;143:29–36. doi:10.1148/radiology.143.1.7063747

    Examples
    --------
    >>> values = {("a", "unet"): 0.9, ("b", "unet"): 0.7, ("c", "unet"): 0.8}
    >>> roc = metric_roc("dice", values, [Grade("a", "unet", 4), Grade("b", "unet", 2), Grade("c", "unet", 4)])
    >>> roc.area.value, roc.positives, roc.negatives
    (1.0, 2, 1)
    """
    scale = scale or GradeScale()
    way = direction(metric, directions)
    chosen = [g for g in first_showings(grades) if algorithm in ("", g.algorithm) and grader in ("", g.grader)]
    known = [g for g in chosen if not math.isnan(values.get(g.item, math.nan))]
    unscored = sum(g.item not in values for g in chosen)
    scored = {item for item, v in values.items() if algorithm in ("", item[1]) and not math.isnan(v)}
    whole, by_algorithm, count = _layers(known, values, scale, way, subjects or {})
    area_of = partial(layered_area, subjects=count, level=level)
    curve = whole.curve
    why = None if curve.positives and curve.negatives else _one_class(curve, scale)
    return MetricRoc(
        metric, algorithm, grader, way, curve,
        area_of([whole], none=why or Undefined("undefined")),
        area_of(by_algorithm, none=why or Undefined(NONE_WITHIN)),
        unscored, len(chosen) - len(known) - unscored, len(scored - {g.item for g in chosen}),
    )  # fmt: skip


def first_showings(grades: Iterable[Grade]) -> list[Grade]:
    """Without what was given at a second showing."""
    return [g for g in grades if g.showing == 1]


def _layers(
    grades: Sequence[Grade], values: Mapping[Item, float], scale: GradeScale, way: Direction,
    subjects: Mapping[str, str],
) -> tuple[Layer, list[Layer], int]:  # fmt: skip
    """Grades of predictions that have a value: all together, by algorithm, and the number of subjects."""
    sign = 1.0 if way == "higher" else -1.0
    goodness = np.array([sign * float(values[g.item]) for g in grades], np.float64)
    positive = np.array([g.grade >= scale.best for g in grades], bool)
    names = [subjects.get(g.case, g.case) for g in grades]
    numbers = {name: i for i, name in enumerate(dict.fromkeys(names))}
    owner = np.array([numbers[name] for name in names], np.intp)
    algorithms = np.array([g.algorithm for g in grades], object)
    chosen = [np.ones(len(grades), bool), *(algorithms == name for name in dict.fromkeys(algorithms.tolist()))]
    whole, *layers = (Layer.of(goodness[at], positive[at], owner[at], len(numbers)) for at in chosen)
    return whole, layers, len(numbers)


def _one_class(curve: ThresholdCurve, scale: GradeScale) -> Undefined:
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

    def fine(self, scale: GradeScale) -> int:
        """Those that need no correction."""
        return sum(count for grade, count in self.counts.items() if grade >= scale.best)


def grade_counts(
    grades: Iterable[Grade], algorithms: Sequence[str], scale: GradeScale | None = None, grader: str = ""
) -> list[GradeCounts]:
    """Count how often each algorithm got each grade; second showings do not count.

    Parameters
    ----------
    grades : iterable of Grade
        The grades.
    algorithms : sequence of str
        Algorithms in the order in which they are listed.
    scale : GradeScale, optional
        The possible grades.
    grader : str
        Count only the grades of this grader; empty counts all.

    Returns
    -------
    list of GradeCounts
        One for each algorithm.
    """
    chosen = [g for g in first_showings(grades) if grader in ("", g.grader)]
    levels = (scale or GradeScale()).levels
    return [
        GradeCounts(a, grader, {n: sum(g.grade == n for g in chosen if g.algorithm == a) for n in levels})
        for a in algorithms
    ]


@dataclass(frozen=True, eq=False)
class Layer:
    """By subject and by distinct value, how many of either class there are."""

    levels: Values
    positive: Counts
    negative: Counts

    @classmethod
    def of(cls, goodness: Values, positive: NDArray[np.bool_], owner: NDArray[np.intp], subjects: int) -> Layer:
        """From the goodness, class and subject (a number below ``subjects``) of every item."""
        levels, at = np.unique(goodness, return_inverse=True)
        counts = np.zeros((2, subjects, len(levels)), np.int64)
        np.add.at(counts, (positive.astype(np.intp), owner, at), 1)
        return cls(levels, counts[1], counts[0])

    @property
    def curve(self) -> ThresholdCurve:
        """Of all subjects together."""
        return make_curve(self.levels, self.positive.sum(axis=0), self.negative.sum(axis=0))


def layered_area(layers: Sequence[Layer], subjects: int, none: Undefined, *, level: float = 0.95) -> Interval:
    """The area within layers, with its interval over subjects; ``none`` where there is no pair.

    >>> one = Layer.of(np.array([1.0, 2.0]), np.array([False, True]), np.array([0, 1]), 2)
    >>> two = Layer.of(np.array([5.0, 4.0, 4.0]), np.array([False, True, False]), np.array([0, 0, 1]), 2)
    >>> layered_area([one, two], 2, Undefined("undefined")).value
    0.5
    """
    value = float(_areas(layers, np.ones((1, subjects)))[0])
    few = too_few_subjects(subjects)
    if np.isnan(value) or few:
        nothing = few if few and not np.isnan(value) else none
        return Interval(nothing if np.isnan(value) else value, nothing, nothing, level, "jackknife", subjects)
    left_out = _areas(layers, 1 - np.eye(subjects))
    return jackknife_interval(value, left_out, subjects - 1, "share", level, subjects)


def _areas(layers: Sequence[Layer], weights: Values) -> Values:
    """One area for each row of (…, subjects) weights, ties counting half; nan where there is no pair."""
    won, pairs = np.zeros((2, len(weights)))
    for layer in layers:
        step = max(1, CELLS // max(1, len(layer.levels)))
        for rows in (slice(start, start + step) for start in range(0, len(weights), step)):
            counts = [(weights[rows] @ c).astype(np.int64) for c in (layer.positive, layer.negative)]
            tp, fp = map(cumulate_descending, counts)
            won[rows] += (np.diff(fp, axis=-1) * (tp[:, 1:] + tp[:, :-1])).sum(axis=-1) / 2
            pairs[rows] += tp[:, -1] * fp[:, -1]
    return divide(won, pairs)


@dataclass(frozen=True)
class GraderAgreement:
    """Two graders, or one grader at two showings, over what both graded."""

    first: str
    second: str
    kappa: float
    """Weighted (quadratic)."""
    same: float
    """The share of predictions that got the same grade."""
    n: int

    @property
    def within(self) -> bool:
        """Whether it is one grader at two showings."""
        return self.first == self.second


def grader_agreement(grades: Iterable[Grade], scale: GradeScale | None = None) -> list[GraderAgreement]:
    """Every grader's first against their second showings, then every two graders over what both graded.

    >>> first = [Grade("a", "unet", 4), Grade("b", "unet", 2), Grade("c", "unet", 3)]
    >>> again = [Grade("a", "unet", 4, showing=2), Grade("b", "unet", 1, showing=2), Grade("c", "unet", 3, showing=2)]
    >>> agreement = grader_agreement([*first, *again])[0]
    >>> round(agreement.kappa, 4), round(agreement.same, 4), agreement.n
    (0.8571, 0.6667, 3)
    """
    grades, scale = list(grades), scale or GradeScale()
    names = list(dict.fromkeys(g.grader for g in grades))
    shown = {name: {g.item: g.grade for g in first_showings(grades) if g.grader == name} for name in names}
    again = {name: {g.item: g.grade for g in grades if g.grader == name and g.showing > 1} for name in names}
    within = [_agreement(name, name, shown[name], again[name], scale) for name in names]
    return within + [_agreement(a, b, shown[a], shown[b], scale) for a, b in combinations(names, 2)]


def _agreement(a: str, b: str, first: dict[Item, int], second: dict[Item, int], scale: GradeScale) -> GraderAgreement:
    shared = [item for item in first if item in second]
    pairs = [first[item] for item in shared], [second[item] for item in shared]
    if not shared:
        nothing = Undefined("none_graded_twice" if a == b else "no_common_grades")
        return GraderAgreement(a, b, nothing, nothing, 0)
    same = sum(x == y for x, y in zip(*pairs, strict=True)) / len(shared)
    kappa = weighted_kappa(tally(dict(zip(("first", "second"), pairs, strict=True)), labels=Labels(scale.levels)))
    return GraderAgreement(a, b, kappa, same, len(shared))


@dataclass(frozen=True)
class Ticket:
    """One line of a grading sheet; ``showing`` is 2 where the same prediction has come before."""

    code: str
    case: str
    algorithm: str
    showing: int = 1


def make_tickets(items: Sequence[Item], *, repeats: float = 0.1, seed: int = 0) -> tuple[Ticket, ...]:
    """A code for every prediction, in a random order that does not depend on the order of ``items``.

    A share ``repeats`` of them (at least one, where it is not 0) comes twice, half a sheet apart, under two codes.

    >>> [t.case for t in make_tickets([("a", "unet"), ("b", "unet"), ("c", "unet")], repeats=0, seed=1)]
    ['b', 'c', 'a']
    """
    if not 0 <= repeats <= 1:
        raise CallError(f"repeats is the share of predictions to show twice, from 0 to 1; got {repeats!r}")
    if len(set(items)) < len(items):
        raise CallError("items names a prediction twice; each case and algorithm once")
    items, rng = sorted(items), np.random.default_rng(seed)
    count = len(items)
    twice = rng.permutation(count)[: math.ceil(round(repeats * count, 9))]
    place = rng.permutation(count) / max(1, count)
    # half a sheet later, those of the second half before: so they are never neighbours on a long sheet
    shown = sorted([(p, i) for i, p in enumerate(place)] + [((place[i] + 0.5) % 1, int(i)) for i in twice])
    order, showings = [i for _, i in shown], Counter[int]()
    tickets = []
    for code, i in zip(_codes(len(shown), rng), order, strict=True):
        showings[i] += 1
        tickets.append(Ticket(code, *items[i], showing=showings[i]))
    return tuple(tickets)


def _codes(count: int, rng: np.random.Generator) -> list[str]:
    """Distinct words of as few letters as leave most words unused, so that no code can be guessed from others."""
    length = SHORTEST
    while len(LETTERS) ** length < 50 * count:
        length += 1
    numbers = rng.choice(len(LETTERS) ** length, size=count, replace=False)
    return ["".join(LETTERS[n // len(LETTERS) ** k % len(LETTERS)] for k in range(length)) for n in numbers.tolist()]


def draw_cases(subjects: Mapping[str, str], per_subject: int | None, seed: int = 0) -> tuple[str, ...]:
    """So many cases of every subject, drawn at random; all of them where ``per_subject`` is None.

    ``subjects`` names the subject of every case.
    """
    if per_subject is None:
        return tuple(subjects)
    if per_subject < 1:
        raise CallError(f"per_subject must be at least 1; got {per_subject!r}")
    rng, by_subject = np.random.default_rng(seed), dict[str, list[str]]()
    for case, subject in subjects.items():
        by_subject.setdefault(subject, []).append(case)
    chosen = {c for cases in by_subject.values() for c in rng.permutation(np.array(cases, object))[:per_subject]}
    return tuple(case for case in subjects if case in chosen)

"""Interchangeability: would an algorithm in a rater's place agree with the other raters as that rater did?

With the Dice distance d = 1 − Dice of two masks (two empty masks: 0; one empty: 1; of several labels, the mean over
those that anybody marked in the case), the algorithm's distances to raters j are held against those between raters ::

    γ = mean over subjects of [mean_j d(algorithm, j) − mean_{j<k} d(j, k)]

Every case is compared with itself, so that a hard case is hard for both. The interval is Student's t over subjects,
corrected for skewness (``inference.equivalence``). An
algorithm is interchangeable with a rater within a margin δ where the upper end of an interval of 99% (beside one of
95%) lies below δ, as a small sample may hold none of the cases that fail; the smallest margin for which that holds is
this end. By rater ::

    γ_j = mean over subjects of [d(algorithm, j) − mean_{k≠j} d(k, j)]

whose mean over raters is γ where every rater marked every case. A mask between all raters' masks, such as a smooth one,
can lie nearer to each of them than they to each other, so that γ is below 0; this does not mean that it could be taken
for a rater's.

References
----------
Obuchowski NA, Subhas N, Schoenhagen P. Testing for interchangeability of imaging tests. Acad Radiol 2014;21:1483–1489.
doi:10.1016/j.acra.2014.07.004
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..agreement import contingency
from ..core.columns import Column
from ..core.errors import CallError
from ..core.labels import VOID
from ..core.tally import Tallies, Tally
from ..core.undefined import Undefined
from ..inference.equivalence import CAUTION, MeanLimits, Verdict, judge_margin, mean_limits
from ..inference.intervals import MIN_SUBJECTS, Interval, subject_values, too_few_subjects

Values = NDArray[np.float64]

LEAST_RATERS = 3
"""Fewer raters give numbers, but no verdict."""


@dataclass(frozen=True, eq=False)
class Interchangeability:
    """How much further an algorithm lies from the raters than they lie from each other.

    Attributes
    ----------
    algorithm : str
        Its name.
    raters : tuple of str
        The raters that it was compared with.
    gamma : Interval
        The mean difference of Dice distances, with its interval over subjects; above 0 where the algorithm is further
        from the raters than they are from each other. With fewer than ten subjects it has no interval.
    to_raters, between_raters : float
        The two mean distances whose difference it is.
    by_rater : mapping of str to Interval
        The same for each rater: the algorithm's distance to them minus that of the other raters.
    margin : float or None
        The largest difference that does not matter.
    differences : array
        The differences by subject, NaN where a subject has no two raters.
    empty : int
        Number of cases in which neither the raters nor the algorithm marked anything: all distances are 0 there.
    exchangeable : bool
        Whether raters are not the same people in every case.
    """

    algorithm: str
    raters: tuple[str, ...]
    gamma: Interval
    to_raters: float
    between_raters: float
    by_rater: Mapping[str, Interval]
    margin: float | None
    differences: Values
    empty: int = 0
    exchangeable: bool = False

    @property
    def smallest_margin(self) -> float:
        """The smallest margin within which it is interchangeable: the upper end at 99% (beside 95%), at least 0.

        Undefined with too few raters or subjects for a verdict.
        """
        high = self.gamma.high
        if math.isnan(high):
            return high
        if not self.enough:
            return Undefined("too_few_raters_for_margin")
        return max(0.0, float(self.limits.bound))

    @property
    def caution(self) -> float:
        """The level of the interval whose upper end must lie below a margin: 0.99 beside 0.95."""
        return 1 - (1 - self.gamma.level) / CAUTION

    @property
    def enough(self) -> bool:
        """Whether there are enough raters and subjects for a verdict."""
        return len(self.raters) >= LEAST_RATERS and self.gamma.n >= MIN_SUBJECTS

    @property
    def verdict(self) -> Verdict | None:
        """What the interval says about the margin; None without a margin, and with too few raters or subjects."""
        if self.margin is None or not self.enough:
            return None
        return judge_margin(self.gamma.low, float(self.limits.bound), self.margin)

    @property
    def limits(self) -> MeanLimits:
        """The mean and its standard error, for tests against other margins."""
        return mean_limits(self.differences, self.gamma.level)

    def __repr__(self) -> str:
        verdict = f"; {self.verdict}" if self.verdict else ""
        return f"<Interchangeability of {self.algorithm} with {len(self.raters)} raters: {self.gamma}{verdict}>"


def interchangeability(
    tallies: Mapping[str, Tally] | Iterable[Tally],
    algorithm: str | None = None,
    *,
    margin: float | None = None,
    exclude_rater: Collection[str] = (),
    level: float = 0.95,
) -> Interchangeability:
    """Compare an algorithm's distances to the raters with the distances between raters.

    Parameters
    ----------
    tallies : mapping or iterable of Tally
        Tallies by case of raters and predictions, as ``mt.tally(masks, predictions={"unet": mask})`` makes them. A case
        without the prediction gets the worst distance, 1.
    algorithm : str, optional
        Which algorithm; need not be named where there is one.
    margin : float, optional
        The largest difference of Dice that does not matter; without it there is no verdict.
    exclude_rater : collection of str
        Raters to leave out.
    level : float
        Confidence level of the intervals.

    Returns
    -------
    Interchangeability
        γ with its interval over subjects, the smallest margin, the verdict, and the same by rater.

    References
    ----------
    Obuchowski NA, Subhas N, Schoenhagen P. Testing for interchangeability of imaging tests. Acad Radiol
    2014;21:1483–1489. doi:10.1016/j.acra.2014.07.004

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> rng = np.random.default_rng(0)
    >>> def draw(): return (np.abs(np.arange(60) - 30) < rng.integers(10, 16)).astype(int)
    >>> cases = [mt.tally({"A": draw(), "B": draw(), "C": draw()}, predictions={"unet": draw()}) for _ in range(12)]
    >>> found = mt.interchangeability(cases, margin=0.1)
    >>> print(found.gamma, found.verdict)
    0.018 (95% CI -0.016 to 0.055) within
    """
    tables = Tallies.of(tallies)
    _check(tables, margin, level)
    column = _algorithm_column(tables, algorithm)
    names = [n for n in dict.fromkeys(n for t in tables.values() for n in t.rater_names) if n not in exclude_rater]
    if not names:
        raise CallError("every rater is excluded; leave at least two in")
    cases, empty = [], 0
    for table in tables.values():
        distances = label_distances(table, column, names)
        empty += not distances.used.any()
        cases.append(case_distances([distances], missing=column not in table.columns or _is_void(table, column)))
    exchangeable = any(t.exchangeable for t in tables.values())
    return compare_with_raters(column.name, names, tables, cases, margin, level, exchangeable=exchangeable, empty=empty)


def _check(tables: Tallies, margin: float | None, level: float) -> None:
    if not tables:
        raise CallError("tallies is empty: there is nothing to compare")
    check_margin(margin)
    if not 0 < level < 1:
        raise CallError(f"level lies between 0 and 1; got {level}")


def check_margin(margin: float | None) -> None:
    """Raise where a margin is no difference of Dice."""
    if margin is not None and not 0 < margin < 1:
        raise CallError(f"margin is a difference of Dice between 0 and 1, such as 0.05; got {margin}")


def _algorithm_column(tables: Tallies, name: str | None) -> Column:
    columns = list(dict.fromkeys(c for t in tables.values() for c in t.role("algorithm")))
    known = ", ".join(c.name for c in columns) or "none: give them as predictions= of tally"
    chosen = [c for c in columns if name in (None, c.name)]
    if len(chosen) != 1:
        raise CallError(f"algorithm is one of {known}; got {name!r}")
    return chosen[0]


def _is_void(table: Tally, column: Column) -> bool:
    return bool((table.patterns[:, table.position(column)] == VOID).all())


@dataclass(frozen=True, eq=False)
class LabelDistances:
    """The Dice distances of one case, label by label."""

    to_raters: Values
    """(raters, labels) from the algorithm; NaN where the two cannot be compared."""
    between: Values
    """(raters, raters, labels), NaN on the diagonal."""
    used: NDArray[np.bool_]
    """(labels): whether anybody marked it."""


def label_distances(table: Tally, algorithm: Column, raters: Sequence[str]) -> LabelDistances:
    """Distances of an algorithm and some raters, by label; NaN of those that the table does not have."""
    where = {table.columns[i].name: i for i in table.raters}
    marks, count = list(table.labels.marks), len(raters)
    distances = np.full((count + 1, count + 1, len(marks)), np.nan)
    present = [k for k, name in enumerate(raters) if name in where]
    columns = [where[raters[k]] for k in present]
    if algorithm in table.columns:
        present, columns = [*present, count], [*columns, table.position(algorithm)]
    used = np.zeros(len(marks), bool)
    if columns:
        counts = contingency(table, columns)
        distances[np.ix_(present, present)] = _dice_distances(counts)[..., marks]
        used = np.einsum("iill->il", counts)[:, marks].any(axis=0)
    distances[np.arange(count + 1), np.arange(count + 1)] = np.nan
    return LabelDistances(distances[count, :count], distances[:count, :count], used)


def _dice_distances(counts: Values) -> Values:
    """(…, L) distances from (…, L, L) tables: 0 where neither has the label, NaN where nothing was rated by both."""
    both = np.einsum("...ll->...l", counts)
    marked = counts.sum(axis=-1) + counts.sum(axis=-2)
    distances = 1 - 2 * np.divide(both, marked, out=np.full_like(both, 0.5), where=marked > 0)
    return np.where(counts.sum(axis=(-2, -1))[..., None] > 0, distances, np.nan)


def case_distances(parts: Sequence[LabelDistances], *, missing: bool = False) -> tuple[Values, Values]:
    """(raters) distances from the algorithm and (raters, raters) between raters: means over the labels in use.

    A missing prediction is as far as can be from every rater who marked the case.
    """
    used = np.concatenate([p.used for p in parts])
    to = np.concatenate([p.to_raters for p in parts], axis=-1)
    between = np.concatenate([p.between for p in parts], axis=-1)
    if used.any():
        to, between = to[..., used], between[..., used]
    mean_between = between.mean(axis=-1)
    if missing:
        return np.where(np.isnan(mean_between).all(axis=-1), np.nan, 1.0), mean_between
    return to.mean(axis=-1), mean_between


def distance_differences(to_raters: Values, between: Values) -> tuple[Values, Values]:
    """(…) the algorithm's mean distance to the raters minus that between raters, and (…, raters) the same by rater.

    ``to_raters`` is (…, raters), ``between`` (…, raters, raters) with NaN on the diagonal and where raters are absent.

    >>> between = np.array([[np.nan, 0.2, 0.4], [0.2, np.nan, 0.3], [0.4, 0.3, np.nan]])
    >>> whole, by_rater = distance_differences(np.array([0.4, 0.4, 0.4]), between)
    >>> round(float(whole), 3), by_rater.round(3)
    (0.1, array([0.1 , 0.15, 0.05]))
    """
    first, second = np.triu_indices(between.shape[-1], 1)
    pairs = _mean(between[..., first, second])
    return _mean(to_raters) - pairs, to_raters - _mean(between)


def _mean(values: Values) -> Values:
    known = ~np.isnan(values)
    total, n = np.where(known, values, 0.0).sum(axis=-1), known.sum(axis=-1)
    return np.asarray(np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0))


def compare_with_raters(
    algorithm: str,
    raters: Sequence[str],
    tables: Tallies,
    cases: Sequence[tuple[Values, Values]],
    margin: float | None = None,
    level: float = 0.95,
    *,
    exchangeable: bool = False,
    empty: int = 0,
) -> Interchangeability:
    """The comparison from the distances of every case; slots of exchangeable raters are not compared one by one."""
    to, between = np.stack([c[0] for c in cases]), np.stack([c[1] for c in cases])
    whole, by_rater = distance_differences(to, between)
    first, second = np.triu_indices(len(raters), 1)
    lone = np.isnan(whole)
    sides = np.stack([_mean(to), _mean(between[:, first, second])], axis=1)
    sides[lone] = np.nan
    differences = subject_values(tables, whole)
    means = np.nanmean(subject_values(tables, sides), axis=0) if not lone.all() else np.full(2, np.nan)
    read: NDArray[np.bool_] = np.asarray(~np.isnan(between).all(axis=(0, 2)))
    present = tuple(name for name, known in zip(raters, read, strict=True) if known)
    each = {} if exchangeable else {
        name: _interval(subject_values(tables, by_rater[:, k]), level) for k, name in enumerate(raters) if read[k]
    }  # fmt: skip
    return Interchangeability(
        algorithm, present, _interval(differences, level), float(means[0]), float(means[1]), each, margin, differences,
        empty, exchangeable,
    )  # fmt: skip


def _interval(values: Values, level: float) -> Interval:
    limits = mean_limits(values, level)
    n = int(limits.n)
    if not n:
        nothing = Undefined("no_two_raters_comparable")
        return Interval(nothing, nothing, nothing, level, "t", 0)
    refused = too_few_subjects(n)
    ends = (refused, refused) if refused is not None else (float(limits.low), float(limits.high))
    return Interval(float(limits.mean), *ends, level, "t", n)

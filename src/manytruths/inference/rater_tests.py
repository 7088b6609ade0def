"""Tests about raters, over subjects: who draws larger, who is an outlier, whether there are two groups of raters.

Sizes: for every two raters the subjects' log ratios of sizes have mean 0 under the null hypothesis (paired t test); p
values are adjusted by Holm's method over pairs and labels. A rater draws larger if they draw larger than more than half
of the others. Against the mean of the others, one rater who draws large would make all others small.

Outliers and groups: if raters are equal, their names can be exchanged within each subject. With d_ij the distance of
two raters in a case ::

    excess of rater i     mean_j d_ij − mean_{j,k ≠ i} d_jk
    gap of two groups     mean between them − the larger of the two means within them

The largest excess over its standard error, and the largest gap over all divisions of the raters, are compared with
those after permutations of the raters within subjects. Both are differences within cases, so that the level of a hard
case which a rater did not read cancels. Each excess is a mean over the rater's own subjects: of raters with different
subjects it gives no order.

Holm S. A simple sequentially rejective multiple test procedure. Scand J Stat 1979;6:65–70.
Westfall PH, Young SS. Resampling-Based Multiple Testing. 1993, 2.6 (max-T, step-down).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from itertools import permutations as all_orders
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from ..core.undefined import divide
from .intervals import MIN_SUBJECTS

Values = NDArray[np.float64]
Indices = NDArray[np.intp]

FEWEST_RATERS = 3
"""Fewer raters give numbers, but no test."""
FEWEST_IN_GROUPS = 4
"""Two groups of at least two raters each."""
ALL_DIVISIONS = 10
"""Of more raters, only divisions along the first principal coordinate of their distances are looked at."""
MOST_IN_GROUPS = 30
"""Groups of more raters are not looked for."""
PERMUTATIONS = 2000
FEWEST_PERMUTATIONS = 199
_WORK = 15_000_000
"""Numbers that the permutations of one test may move, which bounds its time for many raters."""
_LISTED = 6
"""All permutations of so many raters are listed; of more, they are drawn by sorting."""
_ROUNDING = 1e-12


@dataclass(frozen=True)
class RaterSizeTests:
    """Whether raters draw larger or smaller than others; arrays begin with an axis of labels.

    Attributes
    ----------
    first, second : numpy.ndarray
        Positions of the two raters of every pair.
    log_ratio : numpy.ndarray
        (labels, pairs) mean over subjects of log(size of the first / size of the second).
    low, high : numpy.ndarray
        Its t interval; NaN with fewer than ten subjects.
    n : numpy.ndarray
        Subjects in which both marked something.
    n_undefined : numpy.ndarray
        Subjects that both read, and in which one or both marked nothing.
    p_value : numpy.ndarray
        Two-sided, of the paired t test; NaN with fewer than ten subjects.
    p_holm : numpy.ndarray
        Adjusted over all pairs and labels.
    larger, smaller : numpy.ndarray
        (labels, raters) p value of drawing larger (smaller) than more than half of the others, adjusted likewise; NaN
        where the rater has ten subjects with half of the others or fewer.
    relative_size : numpy.ndarray
        (labels, raters) ratio of a rater's sizes to those of the others: geometric mean over the others and subjects.
    relative_low, relative_high : numpy.ndarray
        Its interval; NaN with fewer than ten subjects.
    relative_n : numpy.ndarray
        Subjects in which the rater and another marked something.
    by_subject : numpy.ndarray
        (labels, subjects, pairs) log ratios, NaN where undefined.
    level : float
        Level of the intervals.
    """

    first: Indices
    second: Indices
    log_ratio: Values
    low: Values
    high: Values
    n: NDArray[np.int64]
    n_undefined: NDArray[np.int64]
    p_value: Values
    p_holm: Values
    larger: Values
    smaller: Values
    relative_size: Values
    relative_low: Values
    relative_high: Values
    relative_n: NDArray[np.int64]
    by_subject: Values
    level: float

    def decisive_n(self, label: int, rater: int) -> int:
        """Subjects of the rater with more than half of the others: fewer than ten where larger was not tested."""
        of_pairs = self.n[label, (self.first == rater) | (self.second == rater)]
        return int(np.sort(of_pairs)[::-1][len(of_pairs) // 2]) if len(of_pairs) else 0

    def between_groups(self, group: ArrayLike) -> tuple[Values, Values, Values]:
        """Geometric mean ratio of the sizes of group 0 to those of group 1 for each label, with its interval."""
        side = np.asarray(group)
        sign = np.sign(side[self.second] - side[self.first])
        ratios, known = self.by_subject * sign, ~np.isnan(self.by_subject) & (sign != 0)
        each = divide(np.where(known, ratios, 0).sum(axis=2), known.sum(axis=2))
        mean, error, n = _mean_and_error(each, axis=1)
        low, high = _t_interval(mean, error, n, self.level)
        return np.exp(mean), np.exp(low), np.exp(high)


def rater_size_tests(
    sizes: ArrayLike, subjects: Sequence[object] | None = None, *, level: float = 0.95
) -> RaterSizeTests:
    """Test between all pairs of raters who draws larger.

    Sizes of a subject are added over the cases that both raters of a pair read. Subjects in which one of the two marked
    nothing have no ratio: they are left out and counted.

    Parameters
    ----------
    sizes : array_like
        (cases, raters), or (labels, cases, raters): how much each rater marked; NaN where they did not read the case.
    subjects : sequence, optional
        The subject of every case; by default each case is one.
    level : float
        Level of the intervals.

    Returns
    -------
    RaterSizeTests
        Ratios, p values, and who draws larger or smaller than more than half of the others.

    References
    ----------
    Holm S. A simple sequentially rejective multiple test procedure. Scand J Stat 1979;6:65–70.

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> sizes = np.random.default_rng(0).lognormal(5, 0.1, (20, 4)) * [1.4, 1, 1, 1]
    >>> tests = mt.rater_size_tests(sizes)
    >>> (tests.larger[0] < 0.05).tolist(), (tests.smaller[0] < 0.05).tolist()
    ([True, False, False, False], [False, False, False, False])
    """
    given = np.asarray(sizes, np.float64)
    each = given[None] if given.ndim == 2 else given
    if each.ndim != 3:
        raise CallError(f"sizes are (cases, raters) or (labels, cases, raters); got shape {given.shape}")
    raters = each.shape[2]
    first, second = np.triu_indices(raters, 1)
    ratios, read = _log_ratios(each, _positions(subjects, each.shape[1]), first, second)
    mean, error, n = _mean_and_error(ratios, axis=1)
    low, high = _t_interval(mean, error, n, level)
    p = _t_test(mean, error, n)
    adjusted = holm(p.ravel()).reshape(p.shape)
    relative = _relative_sizes(ratios, raters, first, second, level)
    return RaterSizeTests(
        first, second, mean, low, high, n, np.asarray(read.sum(axis=1) - n, np.int64), p, adjusted,
        _beyond_half(adjusted, mean, raters, first, second), _beyond_half(adjusted, -mean, raters, first, second),
        *relative, ratios, level,
    )  # fmt: skip


def _positions(subjects: Sequence[object] | None, cases: int) -> Indices:
    """The position of the subject of every case."""
    if subjects is None:
        return np.arange(cases)
    if len(subjects) != cases:
        raise CallError(f"subjects names one for each of {cases} cases; got {len(subjects)}")
    known = {subject: k for k, subject in enumerate(dict.fromkeys(subjects))}
    return np.array([known[subject] for subject in subjects], np.intp)


def _log_ratios(sizes: Values, subject: Indices, first: Indices, second: Indices) -> tuple[Values, NDArray[np.bool_]]:
    """(labels, subjects, pairs) log ratios of sizes summed over shared cases; and who shares any case."""
    known = ~np.isnan(sizes)
    both = known[..., first] & known[..., second]
    sums = np.stack([_add_cases(np.where(both, sizes[..., side], 0), subject, 1) for side in (first, second)])
    positive = (sums > 0).all(axis=0)
    logs = np.log(np.where(positive, sums, 1))
    return np.where(positive, logs[0] - logs[1], np.nan), _add_cases(both, subject, 1) > 0


def _add_cases(values: NDArray[Any], subject: Indices, axis: int = 0) -> NDArray[Any]:
    """Sums over the cases of each subject."""
    if np.array_equal(subject, np.arange(len(subject))):
        return values
    order = np.argsort(subject, kind="stable")
    starts = np.flatnonzero(np.diff(subject[order], prepend=-1))
    return np.add.reduceat(np.take(values, order, axis), starts, axis=axis, dtype=np.float64)


def _mean_and_error(values: Values, axis: int) -> tuple[Values, Values, NDArray[np.int64]]:
    """Mean, standard error and number of the values that are there."""
    known = ~np.isnan(values)
    n = known.sum(axis=axis)
    mean = divide(np.where(known, values, 0).sum(axis=axis), n)
    apart = np.where(known, values - np.expand_dims(mean, axis), 0)
    squares = np.sum(apart**2, axis=axis)
    # differences that are equal up to rounding have no spread
    squares = np.where(squares <= n * (_ROUNDING * np.abs(mean)) ** 2, 0, squares)
    return mean, np.sqrt(divide(squares, n * np.maximum(n - 1, 0))), n


def _t_interval(mean: Values, error: Values, n: NDArray[np.int64], level: float) -> tuple[Values, Values]:
    from scipy.special import stdtrit

    reach = np.where(n >= MIN_SUBJECTS, stdtrit(np.maximum(n - 1, 1), (1 + level) / 2) * error, np.nan)
    return mean - reach, mean + reach


def _t_test(mean: Values, error: Values, n: NDArray[np.int64]) -> Values:
    """Two-sided p values; NaN with too few subjects."""
    from scipy.special import stdtr

    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(error > 0, np.abs(mean) / error, np.where(mean == 0, 0.0, np.inf))
    return np.where(n >= MIN_SUBJECTS, 2 * stdtr(np.maximum(n - 1, 1), -t), np.nan)


def holm(p: Values) -> Values:
    """Holm's adjusted p values of the tests that were made."""
    adjusted = np.full_like(p, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    order = tested[np.argsort(p[tested], kind="stable")]
    rising = np.maximum.accumulate(p[order] * np.arange(len(order), 0, -1))
    adjusted[order] = np.minimum(rising, 1)
    return adjusted


def _beyond_half(adjusted: Values, apart: Values, raters: int, first: Indices, second: Indices) -> Values:
    """(labels, raters) p value of being above more than half of the others: the last one needed decides.

    NaN where so few pairs were tested that it could be no other than 1.
    """
    p = np.ones((len(adjusted), raters, raters))
    p[:, first, second] = np.where(apart > 0, np.nan_to_num(adjusted, nan=1.0), 1)
    p[:, second, first] = np.where(apart < 0, np.nan_to_num(adjusted, nan=1.0), 1)
    tested = np.zeros(p.shape, bool)
    tested[:, first, second] = tested[:, second, first] = ~np.isnan(adjusted)
    p[:, np.arange(raters), np.arange(raters)] = np.inf
    half = (raters - 1) // 2
    decisive = np.sort(p, axis=-1)[..., half]
    return np.where((tested.sum(axis=-1) > half) & (raters >= FEWEST_RATERS), decisive, np.nan)


def _relative_sizes(
    ratios: Values, raters: int, first: Indices, second: Indices, level: float
) -> tuple[Values, Values, Values, NDArray[np.int64]]:
    """(labels, raters) geometric mean ratios to the others, with intervals over subjects, and how many these are."""
    known, sides = ~np.isnan(ratios), np.zeros((len(first), raters))
    sides[np.arange(len(first)), first], sides[np.arange(len(first)), second] = 1, -1
    total, count = np.where(known, ratios, 0) @ sides, known @ np.abs(sides)
    mean, error, n = _mean_and_error(divide(total, count), axis=1)
    low, high = _t_interval(mean, error, n, level)
    return np.exp(mean), np.exp(low), np.exp(high), n


# -- outliers --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RaterOutlierTest:
    """Who is farther from the others than they are from each other; arrays of one value per rater.

    Attributes
    ----------
    excess : numpy.ndarray
        Mean over subjects of a rater's mean distance to the others minus the mean distance among the others.
    low, high : numpy.ndarray
        Its t interval; NaN with fewer than ten subjects.
    p_value : numpy.ndarray
        Adjusted for all raters (max-T, step-down); NaN where a rater has fewer than ten subjects with three raters.
    step : numpy.ndarray
        How many outliers were left out when the rater was last tested.
    step_excess, step_low, step_high : numpy.ndarray
        The excess without the outliers that were found before, with its interval.
    n : numpy.ndarray
        Subjects with at least three raters who read all of their cases, this one among them.
    permutations : int
        Number of permutations.
    """

    excess: Values
    low: Values
    high: Values
    p_value: Values
    step: NDArray[np.int64]
    step_excess: Values
    step_low: Values
    step_high: Values
    n: NDArray[np.int64]
    permutations: int

    def no_majority(self, alpha: float = 0.05) -> bool:
        """Whether half of the raters or more would be outliers, one after another: the others are no majority then.

        Of raters who all differ, each is farther from those who are left once the ones before are left out.
        """
        return bool(2 * np.count_nonzero((self.p_value <= alpha) & (self.step_excess > 0)) >= len(self.p_value))


def rater_outlier_test(
    distances: ArrayLike,
    subjects: Sequence[object] | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    level: float = 0.95,
) -> RaterOutlierTest:
    """Test which raters are outliers by permuting raters within subjects.

    All cases of a subject are permuted together. An outlier is left out before the next is looked for, so that one of
    them hides no other.

    Parameters
    ----------
    distances : array_like
        (cases, raters, raters) distances of every two raters, such as 1 − Dice; NaN where one did not read the case.
    subjects : sequence, optional
        The subject of every case; by default each case is one.
    permutations : int
        Most permutations; for very many raters there are fewer.
    seed : int
        Seed of the permutations.
    level : float
        Level of the intervals.

    Returns
    -------
    RaterOutlierTest
        Each rater's excess distance, and its adjusted p value.

    References
    ----------
    Westfall PH, Young SS. Resampling-Based Multiple Testing. Wiley, 1993, 2.6.

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(0, 1, (20, 4)) + [0, 0, 0, 6]
    >>> test = mt.rater_outlier_test(np.abs(x[:, :, None] - x[:, None, :]))
    >>> (test.p_value < 0.05).tolist()
    [False, False, False, True]
    """
    cases, subject = _check_distances(distances, subjects)
    cases = _without_partial_readings(cases, subject)
    excess = subject_excess(cases, subject)
    mean, error, n = _mean_and_error(excess, axis=0)
    low, high = _t_interval(mean, error, n, level)
    count = _affordable(permutations, int(np.count_nonzero(~np.isnan(excess))))
    p, step = _step_down(cases, subject, count, np.random.default_rng(seed))
    each = np.stack([mean, low, high])
    for k in range(1, int(step.max(initial=0)) + 1):
        left = np.flatnonzero(step >= k)
        m, e, counts = _mean_and_error(subject_excess(cases[:, left][:, :, left], subject), axis=0)
        each[:, left] = np.stack([m, *_t_interval(m, e, counts, level)])
    return RaterOutlierTest(mean, low, high, p, step, each[0], each[1], each[2], n, count)


def _check_distances(distances: ArrayLike, subjects: Sequence[object] | None) -> tuple[Values, Indices]:
    cases = np.asarray(distances, np.float64)
    if cases.ndim != 3 or cases.shape[1] != cases.shape[2]:
        raise CallError(f"distances are (cases, raters, raters); got shape {cases.shape}")
    return cases, _positions(subjects, len(cases))


def _without_partial_readings(cases: Values, subject: Indices) -> Values:
    """The distances without raters of a subject who did not read all of its cases: they cannot be permuted."""
    raters = cases.shape[1]
    known = ~np.isnan(cases) & ~np.eye(raters, dtype=bool)
    present = known.any(axis=2)
    absent = _add_cases(np.logical_not(present), subject) > 0
    kept = ~absent[subject]
    return np.where(known & kept[:, :, None] & kept[:, None, :], cases, np.nan)


def subject_excess(cases: Values, subject: Indices) -> Values:
    """(subjects, raters) distance to the others minus that among the others; NaN with fewer than three raters."""
    known = ~np.isnan(cases)
    rows = np.where(known, cases, 0).sum(axis=2)
    others = known.sum(axis=2)
    others = np.where(others >= FEWEST_RATERS - 1, others, 0)
    total = rows.sum(axis=1, keepdims=True) / 2
    each = divide(rows, others) - divide(total - rows, others * (others - 1) / 2)
    return _subject_means(each, subject)


def _subject_means(values: Values, subject: Indices) -> Values:
    """Means over the cases of each subject, of what is there."""
    known = ~np.isnan(values)
    return divide(_add_cases(np.where(known, values, 0), subject), _add_cases(known, subject))


def _affordable(wanted: int, numbers: int) -> int:
    """So many permutations that their time is bounded."""
    return min(wanted, max(FEWEST_PERMUTATIONS, _WORK // max(1, numbers)))


def _step_down(
    cases: Values, subject: Indices, count: int, rng: np.random.Generator
) -> tuple[Values, NDArray[np.int64]]:
    """Adjusted p values, and how many were left out before: the rater with the largest statistic is tested, left out,
    and so on until one is no outlier."""
    raters = cases.shape[1]
    p, step, floor, left = np.full(raters, np.nan), np.zeros(raters, np.int64), 0.0, list(range(raters))
    while len(left) >= FEWEST_RATERS:
        excess = subject_excess(cases[:, left][:, :, left], subject)
        statistic = _studentised(excess.sum(axis=0, where=~np.isnan(excess)), *_moments(excess))
        if not (tested := ~np.isnan(statistic)).any():
            break
        largest = _largest_statistics(excess, tested, count, rng)
        reached = largest[:, None] >= statistic[None] - _ROUNDING * np.abs(statistic)
        found = np.where(tested, np.maximum((1 + reached.sum(axis=0)) / (1 + count), floor), np.nan)
        most = int(np.nanargmax(statistic))
        floor = float(found[most])
        p[left], step[left] = np.where(np.isnan(found), p[left], found), raters - len(left)
        if floor > NOTICED:
            break
        left.pop(most)
    return p, step


NOTICED = 0.1
"""Above this p value no further outlier is looked for."""


def _moments(excess: Values) -> tuple[Values, Values]:
    """Sum of squares and number of subjects of every rater: what permutations within subjects also need."""
    known = ~np.isnan(excess)
    return np.where(known, excess**2, 0).sum(axis=0), known.sum(axis=0).astype(np.float64)


def _studentised(total: Values, squares: Values, n: Values) -> Values:
    """Mean over its standard error; NaN with too few subjects."""
    mean = divide(total, n)
    spread = np.maximum(squares - n * mean**2, (_ROUNDING * np.abs(total)) ** 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        t = np.where(spread > 0, mean / np.sqrt(spread / (n * (n - 1))), 0.0)
    return np.where(n >= MIN_SUBJECTS, t, np.nan)


def _largest_statistics(excess: Values, tested: NDArray[np.bool_], count: int, rng: np.random.Generator) -> Values:
    """The largest statistic of each permutation."""
    known = ~np.isnan(excess)
    total, squares = np.zeros((count, excess.shape[1])), np.zeros((count, excess.shape[1]))
    for values, here in zip(excess, known, strict=True):
        present = np.flatnonzero(here)
        moved = values[present][_draw_orders(len(present), count, rng)]
        total[:, present] += moved
        squares[:, present] += moved**2
    n = known.sum(axis=0).astype(np.float64)
    return np.asarray(np.where(tested, _studentised(total, squares, n), -np.inf).max(axis=1))


def _draw_orders(raters: int, count: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """(count, raters) random orders of raters."""
    if raters > _LISTED:
        return rng.random((count, raters)).argsort(axis=1)
    listed = np.array(list(all_orders(range(raters))), np.intp)
    return listed[rng.integers(len(listed), size=count)]


# -- groups ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class RaterGroupTest:
    """The two groups of raters between which the gap is largest.

    Attributes
    ----------
    group : numpy.ndarray
        0 or 1 for every rater, 0 for the first; −1 where groups could not be looked for.
    within : tuple of float
        Mean distance within each group.
    between : float
        Mean distance between the groups.
    gap : float
        ``between`` minus the larger of ``within``.
    p_value : float
        Of the largest gap; NaN with fewer than four raters, or where two of them share fewer than ten subjects.
    n : int
        Subjects that the two raters share who share fewest.
    permutations : int
        Number of permutations.
    """

    group: NDArray[np.int64]
    within: tuple[float, float]
    between: float
    gap: float
    p_value: float
    n: int
    permutations: int


def rater_group_test(
    distances: ArrayLike, subjects: Sequence[object] | None = None, *, permutations: int = PERMUTATIONS, seed: int = 0
) -> RaterGroupTest:
    """Test whether raters fall into two groups (schools) by permuting raters within subjects.

    Of up to ten raters, all divisions into two groups of at least two raters each are tried; of more, those along the
    first principal coordinate of their distances. One rater far from all others makes no gap: a group with two raters
    who do not agree has a large distance within.

    Parameters
    ----------
    distances : array_like
        (cases, raters, raters) distances of every two raters, such as 1 − Dice; NaN where one did not read the case.
    subjects : sequence, optional
        The subject of every case; by default each case is one.
    permutations : int
        Most permutations; for very many raters there are fewer.
    seed : int
        Seed of the permutations.

    Returns
    -------
    RaterGroupTest
        The groups, the distances within and between them, and the p value.

    References
    ----------
    Good P. Permutation, Parametric and Bootstrap Tests of Hypotheses. 3rd ed. Springer, 2005.

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(0, 1, (20, 4)) + [0, 3, 0, 3]
    >>> test = mt.rater_group_test(np.abs(x[:, :, None] - x[:, None, :]))
    >>> test.group.tolist(), test.p_value < 0.01
    ([0, 1, 0, 1], True)
    """
    cases, subject = _check_distances(distances, subjects)
    raters = cases.shape[1]
    nothing = RaterGroupTest(np.full(raters, -1), (np.nan, np.nan), np.nan, np.nan, np.nan, 0, 0)
    if not FEWEST_IN_GROUPS <= raters <= MOST_IN_GROUPS:
        return nothing
    first, second = np.triu_indices(raters, 1)
    pairs = _subject_means(_without_partial_readings(cases, subject), subject)[:, first, second]
    n = int((~np.isnan(pairs)).sum(axis=0).min(initial=len(pairs)))
    if not n:
        return nothing
    mean, _, _ = _mean_and_error(_centred(pairs), axis=0)
    gaps, groups = _largest_gaps(mean[None], raters)
    p, count = np.nan, 0
    if n >= MIN_SUBJECTS:
        count = _affordable(permutations, pairs.size)
        others = _permuted_gaps(_centred(pairs), raters, count, np.random.default_rng(seed))
        p = float((1 + np.count_nonzero(others >= gaps[0] - _ROUNDING)) / (1 + count))
    within, between = _group_distances(np.nanmean(pairs, axis=0), groups[0], first, second)
    return RaterGroupTest(groups[0].astype(np.int64), within, between, between - max(within), p, n, count)


def _centred(pairs: Values) -> Values:
    """Distances minus the subject's mean, so that hard cases which some did not read make no difference."""
    known = ~np.isnan(pairs)
    return pairs - divide(np.where(known, pairs, 0).sum(axis=1), known.sum(axis=1))[:, None]


def _group_distances(
    mean: Values, group: NDArray[np.bool_], first: Indices, second: Indices
) -> tuple[tuple[float, float], float]:
    same = group[first] == group[second]
    within = [float(mean[same & (group[first] == side)].mean()) for side in (False, True)]
    return (within[0], within[1]), float(mean[~same].mean())


def _permuted_gaps(pairs: Values, raters: int, count: int, rng: np.random.Generator) -> Values:
    """The largest gap of each permutation."""
    first, second = np.triu_indices(raters, 1)
    position = np.zeros((raters, raters), np.intp)
    position[first, second] = position[second, first] = np.arange(len(first))
    known = ~np.isnan(pairs)
    total = np.zeros((count, len(first)))
    for values, here in zip(pairs, known, strict=True):
        present = np.union1d(first[here], second[here])
        orders = present[_draw_orders(len(present), count, rng)]
        i, j = np.triu_indices(len(present), 1)
        taken = np.take(position.ravel(), orders[:, i] * raters + orders[:, j])
        total[:, position[present[i], present[j]]] += np.take(values, taken)
    gaps, _ = _largest_gaps(total / known.sum(axis=0), raters)
    return gaps


def _largest_gaps(mean: Values, raters: int) -> tuple[Values, NDArray[np.bool_]]:
    """The largest gap over divisions of each row of pair distances, and the second group of that division."""
    return _try_divisions(mean, raters) if raters <= ALL_DIVISIONS else _try_cuts(mean, raters)


def _try_divisions(mean: Values, raters: int) -> tuple[Values, NDArray[np.bool_]]:
    groups = _divisions(raters)
    first, second = np.triu_indices(raters, 1)
    one, two = groups[:, first], groups[:, second]
    between, within = one != two, [~one & ~two, one & two]
    means = [mean @ (part / part.sum(axis=1, keepdims=True)).T for part in (between, *within)]
    gaps = means[0] - np.maximum(means[1], means[2])
    return gaps.max(axis=1), groups[gaps.argmax(axis=1)]


def _divisions(raters: int) -> NDArray[np.bool_]:
    """Every division into two groups of at least two; the first rater is in the first group."""
    others = range(1, raters)
    chosen = [two for size in range(2, raters - 1) for two in combinations(others, size)]
    groups = np.zeros((len(chosen), raters), bool)
    for row, two in zip(groups, chosen, strict=True):
        row[list(two)] = True
    return groups


def _try_cuts(mean: Values, raters: int) -> tuple[Values, NDArray[np.bool_]]:
    """Divisions along the first principal coordinate."""
    first, second = np.triu_indices(raters, 1)
    matrix = np.zeros((len(mean), raters, raters))
    matrix[:, first, second] = matrix[:, second, first] = mean
    # centred distances have a mean of 0; a constant added to all of them changes no direction but that of ones
    centred = matrix - matrix.mean(axis=1, keepdims=True)
    centred -= centred.mean(axis=2, keepdims=True)
    order = _principal_coordinate(-centred).argsort(axis=1, kind="stable")
    rows = np.take_along_axis(np.take_along_axis(matrix, order[:, :, None], 1), order[:, None, :], 2)
    upper = np.triu(rows, 1)
    low = upper.sum(axis=1).cumsum(axis=1)[:, 1:-2]
    high = upper.sum(axis=2)[:, ::-1].cumsum(axis=1)[:, ::-1][:, 2:-1]
    size = np.arange(2, raters - 1)
    rest = raters - size
    apart = (mean.sum(axis=1)[:, None] - low - high) / (size * rest)
    gaps = apart - np.maximum(low / (size * (size - 1) / 2), high / (rest * (rest - 1) / 2))
    best = gaps.argmax(axis=1)
    ranks = order.argsort(axis=1)
    groups = ranks >= (best + 2)[:, None]
    return gaps.max(axis=1), groups ^ groups[:, :1]


def _principal_coordinate(matrices: Values) -> Values:
    """The first eigenvector of each matrix by power iteration, which many threads of a solver would only slow down."""
    start = np.diagonal(matrices, axis1=1, axis2=2).argmax(axis=1)
    vectors = np.take_along_axis(matrices, start[:, None, None], axis=2)
    lift = np.abs(matrices).sum(axis=2, keepdims=True).max(axis=1, keepdims=True)  # makes all eigenvalues positive
    for _ in range(_ITERATIONS):
        vectors = matrices @ vectors + lift * vectors
        vectors = vectors / np.maximum(np.abs(vectors).max(axis=1, keepdims=True), np.finfo(float).tiny)
    return vectors[:, :, 0]


_ITERATIONS = 30


@dataclass(frozen=True)
class RaterTests:
    """The tests about the raters of a study.

    Attributes
    ----------
    raters : tuple of str
        The raters, in the order of all arrays.
    labels : tuple of str
        The labels, in the order of the arrays of ``sizes``; one empty name where there is one label.
    subjects : int
        Number of subjects.
    sizes : RaterSizeTests
        Who draws larger or smaller.
    outliers : RaterOutlierTest
        Who is far from the others.
    groups : RaterGroupTest
        Whether there are two groups of raters.
    """

    raters: tuple[str, ...]
    labels: tuple[str, ...]
    subjects: int
    sizes: RaterSizeTests
    outliers: RaterOutlierTest
    groups: RaterGroupTest

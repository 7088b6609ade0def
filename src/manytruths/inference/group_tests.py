"""Groups that are known beforehand: do the raters of one group agree more than those of another, and do cases differ?

Raters: with a_ij the agreement of two raters in a case (such as Dice), the agreement within a group is the mean over
its pairs of raters, then over the cases of a subject, then over subjects. Only subjects count that all raters of both
groups read, so that the level of a hard case cancels. Whole raters are exchanged between the groups, in all ways that
keep their sizes, or in random ones where there are too many. Two differences are compared with those after exchanges ::

    within        the mean of a_ij over pairs within the first group minus that within the second
    by rater      the mean of s_i over the first group minus that over the second, with a_ij = s_i + s_j
                  fitted within each group

The first is exact where all raters are alike. Where the groups draw in different ways, as with two tools, groups after
exchanges are mixtures, among which raters of unequal care are not seen: with five raters a group up to 13% of studies
were then called different. The second uses no pair of raters of different groups, and needs three raters in each. As
s_i and s_j come from the same pairs, the mean of s over a group varies more than exchanges show: with raters of unequal
care up to 6% were called different. So Welch's t test of s is the third, and the largest of the three p values counts.

Cases: the difference of means over subjects is compared with that after exchanging whole subjects between the groups.
It is divided by its standard error (Welch), so that the test holds for equal means also where one group is larger and
its values spread more. Where values are skewed, too, Welch's interval covers too little: as for single means
(:mod:`manytruths.inference.equivalence`) it is moved out at the end of the skewness, and the larger p value counts, of
the permutations and of this interval. The skewness of few values is too small on average, so each end takes twice the
larger of two estimates: from the third moments of both groups, and from the skewness of all values, standardised within
their group. Where one group spreads 1.5 times as much as the other and has fewer than 20 subjects, the error rate of
the interval is halved. Without these two, equal means were called different in up to 7% of studies with a skewness of
2.3 of which one group spreads three times as much.

Among few arrangements no difference could be found: fewer than 40 are no test.

Of several labels, means are taken over subjects for each label, then over labels.

Good P. Permutation, Parametric and Bootstrap Tests of Hypotheses. 3rd ed. Springer, 2005.
Chung E, Romano JP. Exact and asymptotically robust permutation tests. Ann Stat 2013;41:484–507. doi:10.1214/13-AOS1090
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from ..core.undefined import Undefined, divide, undefined_like
from .equivalence import MeanLimits
from .intervals import MIN_SUBJECTS, Interval, t_interval
from .rater_tests import FEWEST_RATERS, PERMUTATIONS
from .scales import Scale

Values = NDArray[np.float64]
Indices = NDArray[np.intp]

FEWEST_ARRANGEMENTS = 40
"""Of fewer arrangements no p value is given: the smallest possible one is near or above 0.05."""
MOST_LISTED = 5000
"""Up to so many arrangements are all tried."""
UNEQUAL, FEW_SUBJECTS = 1.5, 20
"""A group that spreads so many times as much as the other and has fewer subjects: its mean may be far off."""
SKEWNESS_FACTOR = 2.0
"""How many times the estimated skewness of a difference of means its interval allows for."""
_ROUNDING = 1e-12
_WORK = 4_000_000
"""Numbers that are held at a time."""


@dataclass(frozen=True)
class GroupComparison:
    """Two groups, of raters or of cases.

    Attributes
    ----------
    first, second : Interval
        Agreement within each group of raters, or the mean of each group of cases, over its own subjects.
    between : Interval
        Agreement between raters of the two groups; undefined for cases.
    difference : Interval
        ``first`` minus ``second``; for raters, over the subjects that all of them read.
    p_value : float
        Of the permutation test, two-sided; undefined with a reason where it is not tested.
    arrangements : int
        Number of different divisions into groups of these sizes.
    tried : int
        How many of them the test compares with, the true one included; 0 where it is not made.
    smallest_p : float
        The smallest p value that so many arrangements allow; undefined where it is not tested.
    """

    first: Interval
    second: Interval
    between: Interval
    difference: Interval
    p_value: float
    arrangements: int
    tried: int
    smallest_p: float


def compare_rater_groups(
    agreement: ArrayLike,
    first: Sequence[int],
    second: Sequence[int],
    subjects: Sequence[object] | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    level: float = 0.95,
    scale: Scale = "plain",
) -> GroupComparison:
    """Compare how far the raters of two groups agree, by exchanging whole raters between the groups.

    Parameters
    ----------
    agreement : array_like
        (cases, raters, raters) agreement of every two raters, such as Dice, or (cases, raters, raters, labels); NaN
        where it is undefined. A rater who has no value with anybody did not read the case.
    first, second : sequence of int
        Positions of the raters of each group.
    subjects : sequence, optional
        The subject of every case; by default each case is one.
    permutations : int
        Number of random divisions where there are more than 5,000; otherwise all are tried.
    seed : int
        Seed of the random divisions.
    level : float
        Level of the intervals over subjects, which are for these raters.
    scale : {"share", "kappa", "positive", "plain"}
        Range of the numbers, which decides the transform of the intervals of means; differences have none.

    Returns
    -------
    GroupComparison
        Agreement within and between the groups, the difference of the two within, and its p value.

    References
    ----------
    Good P. Permutation, Parametric and Bootstrap Tests of Hypotheses. 3rd ed. Springer, 2005.

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> rng = np.random.default_rng(0)
    >>> points = rng.normal(0, [1, 1, 1, 1, 2, 2, 2, 2], (20, 8))
    >>> found = mt.compare_rater_groups(np.exp(-np.abs(points[:, :, None] - points[:, None])), range(4), range(4, 8))
    >>> print(f"{found.first.value:.2f} and {found.second.value:.2f}, p = {found.p_value:.3f}")
    0.44 and 0.25, p = 0.029
    """
    values = _check_agreement(agreement)
    owner, groups = _owners(subjects, len(values)), _check_groups(first, second, values.shape[1], "raters")
    chosen = np.concatenate(groups)
    sizes, raters = (len(groups[0]), len(groups[1])), len(chosen)
    i, j = np.triu_indices(raters, 1)
    here = values[:, chosen][:, :, chosen]
    pairs = here[:, i, j]
    true = np.arange(raters) < sizes[0]
    masks = np.stack([true[i] & true[j], ~true[i] & ~true[j], true[i] != true[j]]).astype(np.float64)
    each = _subject_means(_means_of_pairs(pairs, masks), owner)
    of_group = [_mean_interval(each[k], level, scale) if masks[k].any() else _one_rater(level) for k in range(3)]
    arrangements = math.comb(raters, sizes[0])
    if min(sizes) < 2:
        alone = _one_rater(level)
        return GroupComparison(of_group[0], of_group[1], of_group[2], alone, alone.value, arrangements, 0, alone.value)
    shared = _read_by_all(here, owner)
    difference = _mean_interval((each[0] - each[1])[shared], level)
    why, tried = _refuse_raters(sizes, difference, arrangements), 0
    p: float = math.nan if why is None else why
    smallest = p
    if why is None:
        mean = _label_means(_subject_means(pairs.transpose(1, 0, 2), owner)[:, shared])
        divisions = _divisions(raters, sizes[0], permutations, np.random.default_rng(seed))
        p, tried, smallest = _test_raters(mean, divisions, i, j), len(divisions), _smallest_p(divisions, sizes)
    return GroupComparison(of_group[0], of_group[1], of_group[2], difference, p, arrangements, tried, smallest)


def compare_case_groups(
    values: ArrayLike,
    first: Sequence[int],
    second: Sequence[int],
    subjects: Sequence[object] | None = None,
    *,
    permutations: int = PERMUTATIONS,
    seed: int = 0,
    level: float = 0.95,
    scale: Scale = "plain",
) -> GroupComparison:
    """Compare the means of two groups of cases, by exchanging whole subjects between the groups.

    Parameters
    ----------
    values : array_like
        (cases,) numbers, or (cases, labels); NaN where undefined.
    first, second : sequence of int
        Positions of the cases of each group.
    subjects : sequence, optional
        The subject of every case; by default each case is one. Subjects with cases in both groups are not tested.
    permutations : int
        Number of random arrangements where there are more than 5,000; otherwise all are tried.
    seed : int
        Seed of the random arrangements.
    level : float
        Level of the intervals over subjects; that of the difference is Welch's.
    scale : {"share", "kappa", "positive", "plain"}
        Range of the numbers, which decides the transform of the intervals of means; differences have none.

    Returns
    -------
    GroupComparison
        The mean of each group, their difference, and its p value.

    References
    ----------
    Chung E, Romano JP. Exact and asymptotically robust permutation tests. Ann Stat 2013;41:484–507.
    doi:10.1214/13-AOS1090

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> dice = np.random.default_rng(0).normal(0.8, 0.05, 30) - 0.06 * (np.arange(30) >= 15)
    >>> found = mt.compare_case_groups(dice, range(15), range(15, 30))
    >>> print(f"{found.difference.value:.3f} ({found.difference.low:.3f} to {found.difference.high:.3f})")
    0.049 (0.013 to 0.080)
    >>> found.p_value < 0.05
    True
    """
    given = np.asarray(values, np.float64)
    by_case = given[:, None] if given.ndim == 1 else given
    if by_case.ndim != 2:
        raise CallError(f"values are (cases,) or (cases, labels); got shape {given.shape}")
    owner, groups = _owners(subjects, len(by_case)), _check_groups(first, second, len(by_case), "cases")
    parts = [_subject_means(by_case[group], np.unique(owner[group], return_inverse=True)[1]) for group in groups]
    known = [~np.isnan(part).all(axis=1) for part in parts]
    whose = [np.unique(owner[group])[there].tolist() for group, there in zip(groups, known, strict=True)]
    parts = [part[there] for part, there in zip(parts, known, strict=True)]
    one, two = (_mean_interval(part, level, scale) for part in parts)
    mixed = bool(set(owner[groups[0]].tolist()) & set(owner[groups[1]].tolist()))
    sizes = len(parts[0]), len(parts[1])
    total = sum(sizes)
    arrangements = math.comb(total, sizes[0])
    difference, p_welch = _welch(parts, level, mixed)
    if mixed:  # who has cases in both groups is one subject
        difference = replace(difference, n=len({*whose[0], *whose[1]}))
    none = _undefined_interval(Undefined("groups_of_cases"), level)
    why = _refuse_cases(sizes, difference, arrangements, mixed)
    if why is not None:
        return GroupComparison(one, two, none, difference, why, arrangements, 0, why)
    every = np.concatenate(parts)
    divisions = _divisions(total, sizes[0], permutations, np.random.default_rng(seed))
    blocks = _blocks(divisions, total)
    found = np.concatenate([_studentised(every, block) for block in blocks])
    p = _share_as_large(found)
    p = p if math.isnan(p_welch) else max(p, p_welch)
    smallest = _smallest_p(divisions, sizes)
    return GroupComparison(one, two, none, difference, p, arrangements, len(divisions), smallest)


# -- what is given ---------------------------------------------------------------------------------


def _check_agreement(agreement: ArrayLike) -> Values:
    values = np.asarray(agreement, np.float64)
    if values.ndim == 3:
        values = values[..., None]
    if values.ndim != 4 or values.shape[1] != values.shape[2]:
        raise CallError(f"agreement is (cases, raters, raters) or with labels behind; got shape {values.shape}")
    return values


def _check_groups(first: Sequence[int], second: Sequence[int], count: int, what: str) -> tuple[Indices, Indices]:
    groups = np.array(list(first), np.intp), np.array(list(second), np.intp)
    both = np.concatenate(groups)
    if not (len(groups[0]) and len(groups[1])):
        raise CallError(f"each group needs {what}; the {'first' if not len(groups[0]) else 'second'} is empty")
    if len(set(both.tolist())) < len(both) or both.min() < 0 or both.max() >= count:
        raise CallError(f"groups name different {what} from 0 to {count - 1}, each once")
    return groups


def _owners(subjects: Sequence[object] | None, cases: int) -> Indices:
    if subjects is None:
        return np.arange(cases)
    if len(subjects) != cases:
        raise CallError(f"subjects names one for each of {cases} cases; got {len(subjects)}")
    known = {subject: k for k, subject in enumerate(dict.fromkeys(subjects))}
    return np.array([known[subject] for subject in subjects], np.intp)


# -- means and intervals ---------------------------------------------------------------------------


def _means_of_pairs(pairs: Values, masks: Values) -> Values:
    """(masks, cases, labels) means over the pairs that a row of ``masks`` chooses, of (cases, pairs, labels)."""
    known = ~np.isnan(pairs)
    cases, count, labels = pairs.shape
    sums = masks @ np.where(known, pairs, 0).transpose(1, 0, 2).reshape(count, -1)
    counts = masks @ known.transpose(1, 0, 2).reshape(count, -1).astype(np.float64)
    return divide(sums, counts).reshape(len(masks), cases, labels)


def _subject_means(values: Values, owner: Indices) -> Values:
    """(…, cases, labels) to (…, subjects, labels): means over the cases of a subject that are defined."""
    if np.array_equal(owner, np.arange(len(owner))):
        return values
    by_case = np.moveaxis(values, -2, 0)
    known = ~np.isnan(by_case)
    sums, counts = np.zeros((2, int(owner.max(initial=-1)) + 1, *by_case.shape[1:]))
    np.add.at(sums, owner, np.where(known, by_case, 0))
    np.add.at(counts, owner, known)
    return np.moveaxis(divide(sums, counts), 0, -2)


def _label_means(values: Values) -> Values:
    """(…, subjects, labels): means over subjects, then over the labels that any of them has."""
    known = ~np.isnan(values)
    means = divide(np.where(known, values, 0).sum(axis=-2), known.sum(axis=-2))
    used = ~np.isnan(means)
    return divide(np.where(used, means, 0).sum(axis=-1), used.sum(axis=-1))


@dataclass(frozen=True)
class _Moments:
    """Of a mean over subjects, then labels: its standard error, third central moment, and how many subjects it has."""

    mean: float
    error: float
    third: float
    n: int


def _moments(values: Values) -> _Moments:
    """Of (subjects, labels) values."""
    known = ~np.isnan(values)
    n, counts = int(known.any(axis=1).sum()), known.sum(axis=0)
    mean = float(_label_means(values)) if n else math.nan
    if n < 2:
        return _Moments(mean, math.nan, math.nan, n)
    used = counts > 0
    means = divide(np.where(known, values, 0).sum(axis=0), counts)
    # what each subject adds to the mean
    apart = np.where(known, values - means, 0)[:, used] / counts[used]
    parts = apart.sum(axis=1) / used.sum()
    third = float((parts**3).sum()) * n**2 / ((n - 1) * (n - 2)) if n > 2 else math.nan
    return _Moments(mean, math.sqrt(float((parts**2).sum()) * n / (n - 1)), third, n)


def _few(values: Values, n: int) -> Undefined | None:
    """Why a mean has no interval over subjects."""
    if n < MIN_SUBJECTS:
        return Undefined("too_few_subjects", f"it is defined for {n}")
    counts = (~np.isnan(values)).sum(axis=0)
    rare = int(counts[counts > 0].min(initial=n))
    return Undefined("label_of_few_subjects", f"one has {rare}") if rare < MIN_SUBJECTS else None


def _mean_interval(values: Values, level: float, scale: Scale = "plain") -> Interval:
    found = _moments(values)
    n, error = found.n, found.error
    value = Undefined("undefined_for_every_subject") if math.isnan(found.mean) else found.mean
    few = _few(values, n)
    if few is not None or math.isnan(error):
        end = few or undefined_like(value, "too_few_subjects")
        return Interval(value, end, end, level, "t", n, len(values) - n)
    return t_interval(value, error, n - 1, scale=scale, level=level, n=n, undefined=len(values) - n)


def _undefined_interval(why: Undefined, level: float) -> Interval:
    return Interval(why, why, why, level, "t", 0)


def _one_rater(level: float) -> Interval:
    return _undefined_interval(Undefined("one_rater_in_group"), level)


def _welch(parts: Sequence[Values], level: float, mixed: bool) -> tuple[Interval, float]:
    """The difference of the means of two groups with Welch's interval, moved out for skewness, and its p value."""
    one, two = (_moments(part) for part in parts)
    n, value = one.n + two.n, one.mean - two.mean
    if math.isnan(value):
        nothing = _undefined_interval(Undefined("undefined_for_every_subject"), level)
        return nothing, math.nan
    few = next((why for part, m in zip(parts, (one.n, two.n), strict=True) if (why := _few(part, m))), None)
    variance = one.error**2 + two.error**2
    p = math.nan
    if variance > _ROUNDING**2 and not math.isnan(one.third + two.third):
        df = variance**2 / (one.error**4 / (one.n - 1) + two.error**4 / (two.n - 1))
        caution = 2 if _is_unequal(one, two) else 1
        # the skewness of a mean of df + 1 values
        ends = [skewness * math.sqrt(df + 1) for skewness in _skewness_of_difference(one, two)]
        mean, error, n_like = (np.asarray(x) for x in (value, math.sqrt(variance), df + 1))
        below, above = (MeanLimits(mean, error, n_like, np.asarray(k), 1 - (1 - level) / caution) for k in ends)
        p = min(1.0, caution * float(below.p_above(0) if value > 0 else above.p_under(0)))
        if few is None and not mixed:
            return Interval(value, float(below.low), float(above.high), level, "welch", n), p
    why = Undefined("subject_in_two_groups") if mixed else few or Undefined("no_spread")
    return Interval(value, why, why, level, "welch", n), p


def _skewness_of_difference(one: _Moments, two: _Moments) -> tuple[float, float]:
    """The skewness of the difference of two means, as the lower and as the upper end of its interval allow for it."""
    scale = (one.error**2 + two.error**2) ** 1.5
    own = (one.third - two.third) / scale
    cubes = [m.error**3 / math.sqrt(m.n) for m in (one, two)]
    known = [(m.n, m.third / cube) for m, cube in zip((one, two), cubes, strict=True) if m.error > _ROUNDING]
    shape = sum(n * skewness for n, skewness in known) / sum(n for n, _ in known)
    shared = shape * (cubes[0] - cubes[1]) / scale
    return SKEWNESS_FACTOR * min(own, shared), SKEWNESS_FACTOR * max(own, shared)


def _is_unequal(one: _Moments, two: _Moments) -> bool:
    """Whether the group that spreads more does so by far, and is small."""
    wide, narrow = sorted(((m.error * math.sqrt(m.n), m.n) for m in (one, two)), reverse=True)
    return wide[0] > UNEQUAL * narrow[0] and wide[1] < FEW_SUBJECTS


# -- tests -----------------------------------------------------------------------------------------


def _read_by_all(values: Values, owner: Indices) -> NDArray[np.bool_]:
    """Which subjects have cases that all of these raters read, and no others."""
    known = np.asarray(~np.isnan(values).all(axis=3))
    diagonal = np.arange(values.shape[1])
    known[:, diagonal, diagonal] = False
    # a case in which nobody has a value, as where all masks are empty, says nothing about who read it
    complete = np.asarray(known.any(axis=2)).all(axis=1) | ~known.any(axis=(1, 2))
    shared = np.ones(int(owner.max(initial=-1)) + 1, bool)
    shared[owner[~complete]] = False
    return shared


def _refuse_raters(sizes: tuple[int, int], difference: Interval, arrangements: int) -> Undefined | None:
    """Why there is no test of groups of raters."""
    if min(sizes) < FEWEST_RATERS:
        return Undefined("too_few_raters_in_group", f"one has {min(sizes)}")
    if difference.n < MIN_SUBJECTS:
        return Undefined("too_few_shared_subjects", f"there are {difference.n}")
    return _refuse_few(arrangements)


def _test_raters(mean: Values, divisions: NDArray[np.bool_], i: Indices, j: Indices) -> float:
    """The p value from the mean agreement of every pair, (pairs,)."""
    if np.isnan(mean).any():
        return Undefined("undefined_for_every_pair")
    one, two = (side[:, i] & side[:, j] for side in (divisions, ~divisions))
    within = one @ mean / one.sum(axis=1) - two @ mean / two.sum(axis=1)
    effects = np.zeros(divisions.shape[1])
    for side in (divisions[0], ~divisions[0]):
        effects[side] = _rater_effects(mean, side, i, j)
    by_rater = divisions @ effects / divisions.sum(axis=1) - ~divisions @ effects / (~divisions).sum(axis=1)
    return max(
        _share_as_large(within), _share_as_large(by_rater), _welch_p(effects[divisions[0]], effects[~divisions[0]])
    )


def _welch_p(one: Values, two: Values) -> float:
    """Of Welch's t test; 0 where the values of each group are the same, and differ between the groups."""
    from scipy.special import stdtr

    parts = [float(values.var(ddof=1)) / len(values) for values in (one, two)]
    difference, variance = float(one.mean() - two.mean()), sum(parts)
    if variance <= _ROUNDING**2:
        return float(abs(difference) <= _ROUNDING)
    df = variance**2 / sum(part**2 / (len(values) - 1) for part, values in zip(parts, (one, two), strict=True))
    return float(2 * stdtr(df, -abs(difference) / math.sqrt(variance)))


def _rater_effects(mean: Values, group: NDArray[np.bool_], i: Indices, j: Indices) -> Values:
    """s_i of the least-squares fit a_ij = s_i + s_j over the pairs within a group."""
    n, here = int(group.sum()), group[i] & group[j]
    sums = np.bincount(i[here], mean[here], len(group)) + np.bincount(j[here], mean[here], len(group))
    return np.asarray((sums[group] - mean[here].sum() / (n - 1)) / (n - 2))


def _refuse_cases(sizes: tuple[int, int], difference: Interval, arrangements: int, mixed: bool) -> Undefined | None:
    """Why there is no test of groups of cases."""
    if mixed:
        return Undefined("subject_in_two_groups")
    if sum(sizes) < MIN_SUBJECTS:
        return Undefined("too_few_subjects_to_test", f"there are {sum(sizes)}")
    if min(sizes) < 2:
        return Undefined("fewer_than_two_subjects")
    return _refuse_few(arrangements) or (undefined_like(difference.value) if math.isnan(difference.value) else None)


def _refuse_few(arrangements: int) -> Undefined | None:
    if arrangements < FEWEST_ARRANGEMENTS:
        return Undefined("too_few_arrangements", f"there are {arrangements}")
    return None


def _divisions(count: int, size: int, permutations: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """(divisions, count) members of the first group; the true division, of the first ``size``, comes first."""
    if math.comb(count, size) <= MOST_LISTED:
        chosen = np.array(list(combinations(range(count), size)), np.intp)
    else:
        drawn = rng.random((permutations, count)).argsort(axis=1)[:, :size]
        chosen = np.concatenate([np.arange(size)[None], drawn])
    members = np.zeros((len(chosen), count), bool)
    np.put_along_axis(members, chosen, True, axis=1)
    return members


def _smallest_p(divisions: NDArray[np.bool_], sizes: tuple[int, int]) -> float:
    """Groups of equal sizes that change places have as large a difference."""
    listed = len(divisions) == math.comb(sum(sizes), sizes[0])
    return (2 if listed and sizes[0] == sizes[1] else 1) / len(divisions)


def _blocks(divisions: NDArray[np.bool_], numbers: int) -> list[NDArray[np.bool_]]:
    rows = max(1, _WORK // max(1, numbers))
    return [divisions[k : k + rows] for k in range(0, len(divisions), rows)]


def _share_as_large(found: Values) -> float:
    """The share of arrangements, the true one among them, with a difference as large as that of the true one."""
    size = np.abs(found)
    if math.isnan(size[0]):
        return Undefined("undefined_for_every_subject")
    # what cannot be computed counts as large
    reached = ~(size < size[0] - _ROUNDING * max(1.0, float(size[0]) if math.isfinite(size[0]) else 1.0))
    return float(reached.sum() / len(found))


def _studentised(values: Values, first: NDArray[np.bool_]) -> Values:
    """The difference of means over its standard error, for each division of the subjects of (subjects, labels)."""
    known = ~np.isnan(values)
    filled = np.where(known, values, 0)
    means, errors = [], []
    for side in (first, ~first):
        weights = side.astype(np.float64)
        counts = weights @ known
        by_label = divide(weights @ filled, counts)
        used = counts > 0
        labels = used.sum(axis=1)
        means.append(divide(np.where(used, by_label, 0).sum(axis=1), labels))
        share = np.where(used, 1 / np.maximum(counts, 1), 0)
        apart = (share @ filled.T - (share * np.nan_to_num(by_label)) @ known.T) * weights
        n = (weights * known.any(axis=1)).sum(axis=1)
        spread = divide((apart**2).sum(axis=1), labels**2) * divide(n, n - 1)
        errors.append(np.where(spread > _ROUNDING**2, spread, 0))
    difference, error = means[0] - means[1], np.sqrt(errors[0] + errors[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(error > 0, difference / error, np.where(np.abs(difference) <= _ROUNDING, 0.0, np.inf))

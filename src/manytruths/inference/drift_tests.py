"""Whether a rater drifts: who comes to draw larger or smaller beside the others, or to lie farther from them.

Everything is a difference within subjects, so that hard or large cases that come early or late cancel. With s_i the
size of rater i's mask of a subject, d_ij the distance of two masks and t_i when rater i read it ::

    log s_i − median_j log s_j              against t_i, for sizes
    mean_j d_ij − mean_{j,k ≠ i} d_jk       against t_i, for distances

is tested by the partial rank correlation given the subject's size and group: small lesions have larger ratios, and one
centre may come after the other. Of a drift, the others seem to drift the other way. So a rater is said to drift only
if the same is seen, at 0.01, beside more than half of the others one by one; and to come to lie farther off,
only if their own distance rises, and rises as a ratio.

A study is looked at again and again. Looks are made when so many periods are over that the number of subjects has grown
by a quarter, however often somebody asks. Until there are n subjects, the share 1 − 3 / √n of the error rate may be
spent: little at first, when nothing could be seen, and never more than all of it.

Holm S. A simple sequentially rejective multiple test procedure. Scand J Stat 1979;6:65–70.
DeMets DL, Lan KKG. Interim analysis: the alpha spending function approach. Stat Med 1994;13:1341–1352.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.undefined import divide
from .intervals import MIN_SUBJECTS
from .rater_tests import FEWEST_RATERS, holm

Values = NDArray[np.float64]
Indices = NDArray[np.intp]

PAIR_LEVEL = 0.01
"""Of the tests against others one by one: with several looks and one who drifts, others are named in 5% of studies."""
SEEN = 0.025
"""Adjusted p value from which on a look stays the one that is told of: the error rate that two kinds of drift share."""
ENOUGH = 0.05
"""Error rate of all looks together."""
SAVED = 9
"""So many subjects would be the first to spend nothing."""
GROWTH = 1.25
"""How many times as many subjects a look needs as the one before."""
MOST_RATERS = 30
"""Of more raters drift is not tested: no study has the cases for it, and each look would take seconds."""
FEWEST_TIMES = 3
"""Different times of a rater's readings that a trend needs."""
FREE = 3
"""Degrees of freedom that a trend needs."""
_FLAT = 1e-9


@dataclass(frozen=True)
class Trend:
    """A partial rank correlation with time; NaN where there is none.

    Attributes
    ----------
    correlation : float
        From −1 to 1.
    rising, falling : float
        One-sided p values.
    n : int
        Number of values.
    """

    correlation: float
    rising: float
    falling: float
    n: int

    @property
    def p_value(self) -> float:
        """Two-sided."""
        return min(1.0, 2 * min(self.rising, self.falling)) if self.rising == self.rising else math.nan


def rank_trend(values: ArrayLike, times: ArrayLike, given: ArrayLike = (), groups: ArrayLike = ()) -> Trend:
    """Partial rank correlation of values with time.

    Parameters
    ----------
    values, times : array_like
        One for each subject; NaN where there is none.
    given : array_like
        A number of each subject whose influence is taken away, by ranks.
    groups : array_like
        The group of each subject, as a whole number: differences between groups are taken away, too.

    Returns
    -------
    Trend
        Correlation and p values; NaN with fewer than ten subjects, or where time tells nothing beside the rest.

    References
    ----------
    Conover WJ, Iman RL. Rank transformations as a bridge between parametric and nonparametric statistics. Am Stat
    1981;35:124–129. doi:10.1080/00031305.1981.10479327

    Examples
    --------
    >>> found = rank_trend([1, 3, 2, 4, 6, 5, 7, 9, 8, 10], range(10))
    >>> round(found.correlation, 2), found.rising < 0.001
    (0.96, True)
    """
    from scipy.special import stdtr
    from scipy.stats import rankdata

    y, t = np.asarray(values, np.float64), np.asarray(times, np.float64)
    size, group = np.asarray(given, np.float64), np.asarray(groups, np.intp)
    known = ~(np.isnan(y) | np.isnan(t))
    if len(size):
        known &= ~np.isnan(size)
    n = int(known.sum())
    nothing = Trend(math.nan, math.nan, math.nan, n)
    if n < MIN_SUBJECTS or len(np.unique(t[known])) < FEWEST_TIMES:
        return nothing
    beside = [np.ones((n, 1))]
    if len(size):
        beside.append(rankdata(size[known])[:, None] - (n + 1) / 2)
    if len(group):
        beside.append((group[known][:, None] == np.unique(group[known])[1:]).astype(np.float64))
    design = np.hstack(beside)
    basis, singular, _ = np.linalg.svd(design, full_matrices=False)
    basis = basis[:, singular > _FLAT * singular[0]]
    ranks = np.stack([rankdata(t[known]), rankdata(y[known])])
    moved, own = ranks - ranks @ basis @ basis.T
    free = n - basis.shape[1] - 1
    flat = _FLAT * n**3
    if free < FREE or moved @ moved <= flat or own @ own <= flat:
        return nothing
    r = float(np.clip(moved @ own / math.sqrt((moved @ moved) * (own @ own)), -1, 1))
    score = r * math.sqrt(free / (1 - r * r)) if abs(r) < 1 else math.copysign(math.inf, r)
    return Trend(r, float(stdtr(free, -score)), float(stdtr(free, score)), n)


@dataclass(frozen=True, eq=False)
class Readings:
    """The readings of a study with their times.

    Attributes
    ----------
    sizes : numpy.ndarray
        (labels, subjects, raters) how much each marked; NaN where they did not read it.
    distances : numpy.ndarray
        (subjects, raters, raters) between masks; NaN where there is none.
    times : numpy.ndarray
        (subjects, raters) when each read it; NaN where that is not known.
    looks : numpy.ndarray
        (subjects, raters) the period of the reading, from 0 on; negative where it is not known.
    groups : numpy.ndarray
        (subjects) their group.
    """

    sizes: Values
    distances: Values
    times: Values
    looks: Indices
    groups: Indices

    def until(self, period: int) -> Readings:
        """Those of the periods up to this one."""
        there = (self.looks >= 0) & (self.looks <= period)
        both = there[:, :, None] & there[:, None, :]
        times = np.where(there, self.times, np.nan)
        return Readings(
            np.where(there, self.sizes, np.nan), np.where(both, self.distances, np.nan), times, self.looks, self.groups
        )

    def count(self) -> int:
        """Subjects that three raters or more have read."""
        return int((self.there.sum(axis=1) >= FEWEST_RATERS).sum())

    @property
    def there(self) -> NDArray[np.bool_]:
        """(subjects, raters) whether there is a reading whose time is known."""
        return np.asarray(~np.isnan(self.times) & ~np.isnan(self.sizes[0] if len(self.sizes) else self.times))


@dataclass(frozen=True, eq=False)
class Drift:
    """What was seen of drift over all looks; arrays begin with an axis of labels for sizes, of 1 for distances.

    Attributes
    ----------
    p_value : numpy.ndarray
        (labels, raters) of drifting, adjusted for raters, labels and looks; NaN where it was never tested.
    look : numpy.ndarray
        (labels, raters) the period at whose end it was seen first, or was nearest to being seen; −1 without a test.
    sign : numpy.ndarray
        (labels, raters) 1 for larger (farther), −1 for smaller at that look.
    n : numpy.ndarray
        (labels, raters) subjects at the last look.
    correlation : numpy.ndarray
        (labels, raters) with time, at the last look.
    periods : tuple of int
        The periods at whose ends was looked.
    """

    p_value: Values
    look: Indices
    sign: Indices
    n: Indices
    correlation: Values
    periods: tuple[int, ...]


def choose_looks(readings: Readings, last: int) -> tuple[int, ...]:
    """The periods at whose end is looked, up to the last one that is over."""
    chosen: list[int] = []
    needed = float(MIN_SUBJECTS)
    for period in range(last + 1):
        count = readings.until(period).count()
        if count >= needed:
            chosen.append(period)
            needed = GROWTH * count
    return tuple(chosen)


def spent(subjects: int) -> float:
    """The share of the error rate that may be spent until there are so many subjects.

    >>> [round(spent(n), 2) for n in (10, 20, 40, 80, 1000)]
    [0.05, 0.33, 0.53, 0.66, 0.91]
    """
    return 1 - math.sqrt(SAVED / subjects)


def size_drift(readings: Readings, periods: Sequence[int]) -> Drift:
    """Who comes to draw larger or smaller than the others.

    Parameters
    ----------
    readings : Readings
        The readings.
    periods : sequence of int
        At whose ends is looked, as :func:`choose_looks` gives them.

    Returns
    -------
    Drift
        What was seen.
    """
    return _over_looks(readings, periods, len(readings.sizes), _size_look)


def distance_drift(readings: Readings, periods: Sequence[int]) -> Drift:
    """Who comes to lie farther from the others than they lie from each other.

    Parameters
    ----------
    readings : Readings
        The readings.
    periods : sequence of int
        At whose ends is looked, as :func:`choose_looks` gives them.

    Returns
    -------
    Drift
        What was seen.
    """
    return _over_looks(readings, periods, 1, _distance_look)


@dataclass(frozen=True, eq=False)
class _Look:
    """P values of one look before they are adjusted, 1 where the others speak against it; signs, numbers, trends."""

    p: Values
    sign: Indices
    n: Indices
    correlation: Values


def _over_looks(readings: Readings, periods: Sequence[int], labels: int, look_at: Callable[[Readings], _Look]) -> Drift:
    shape = (labels, readings.times.shape[1])
    best, at = np.full(shape, np.nan), np.full(shape, -1)
    sign, n, correlation = np.zeros(shape, np.intp), np.zeros(shape, np.intp), np.full(shape, np.nan)
    so_far = 0.0
    for period in periods:
        until = readings.until(period)
        seen, share = look_at(until), spent(until.count()) - so_far
        so_far += share
        adjusted = np.minimum(holm(seen.p.ravel()).reshape(shape) / share, 1)
        # the first look that is enough stays the one that is told of
        better = ~np.isnan(adjusted) & (np.isnan(best) | ((adjusted < best) & ~(best <= SEEN)))
        at, sign = np.where(better, period, at), np.where(better, seen.sign, sign)
        best = np.fmin(best, adjusted)
        n, correlation = seen.n, seen.correlation
    return Drift(best, at, sign, n, correlation, tuple(periods))


def _log_sizes(sizes: Values) -> Values:
    return np.log(np.where(sizes > 0, sizes, np.nan))


def log_ratios_to_others(sizes: Values) -> Values:
    """(subjects, raters) log of a rater's size over the median of the others', of whom there must be two."""
    logs = _log_sizes(sizes)
    found = np.full(logs.shape, np.nan)
    for i in range(logs.shape[1]):
        others = np.delete(logs, i, axis=1)
        # against two others at least: of two raters, nobody knows who drifts
        enough = (~np.isnan(others)).sum(axis=1) >= FEWEST_RATERS - 1
        found[:, i] = np.where(enough, logs[:, i] - _medians(others), np.nan)
    return found


def excess_distances(distances: Values) -> tuple[Values, Values, Values]:
    """(subjects, raters) mean distance to the others minus theirs among themselves; and both of these."""
    known = ~np.isnan(distances) & ~np.eye(distances.shape[1], dtype=bool)
    filled = np.where(known, distances, 0)
    total, pairs = filled.sum(axis=(1, 2))[:, None], known.sum(axis=(1, 2))[:, None]
    own, mine = filled.sum(axis=2), known.sum(axis=2)
    mean, among = divide(own, mine), divide(total - 2 * own, pairs - 2 * mine)
    return mean - among, mean, among


def _size_look(readings: Readings) -> _Look:
    labels, raters = len(readings.sizes), readings.times.shape[1]
    p, correlation = np.full((2, labels, raters), np.nan)
    sign, n = np.zeros((2, labels, raters), np.intp)
    for label in range(labels):
        logs, ratios = _log_sizes(readings.sizes[label]), log_ratios_to_others(readings.sizes[label])
        usual = _means(logs)
        for i in range(raters):
            found = rank_trend(ratios[:, i], readings.times[:, i], usual, readings.groups)
            n[label, i], correlation[label, i] = found.n, found.correlation
            if math.isnan(found.correlation):
                continue
            sign[label, i] = 1 if found.correlation > 0 else -1
            # what is not enough alone need not be seen beside the others
            seen = found.p_value > ENOUGH or _beside_most(logs, i, readings, usual, sign[label, i], found.n)
            p[label, i] = found.p_value if seen else 1.0
    return _Look(p, sign, n, correlation)


def _beside_most(logs: Values, i: int, readings: Readings, usual: Values, sign: int, n: int) -> bool:
    """Whether a drift is seen beside more than half of the others with whom the rater shares half of the subjects."""
    seen = tested = 0
    for j in range(logs.shape[1]):
        if j == i:
            continue
        found = rank_trend(logs[:, i] - logs[:, j], readings.times[:, i], usual, readings.groups)
        if not math.isnan(found.correlation) and 2 * found.n >= n:
            tested += 1
            seen += (found.rising if sign > 0 else found.falling) <= PAIR_LEVEL
    return tested >= FEWEST_RATERS - 1 and 2 * seen > tested


def _distance_look(readings: Readings) -> _Look:
    raters = readings.times.shape[1]
    p, correlation = np.full((2, 1, raters), np.nan)
    sign, n = np.ones((1, raters), np.intp), np.zeros((1, raters), np.intp)
    usual = _means(_log_sizes(np.nansum(readings.sizes, axis=0))) if len(readings.sizes) else np.zeros(0)
    excess, near, far = excess_distances(readings.distances)
    for i in range(raters):
        apart, mean, among = excess[:, i], near[:, i], far[:, i]
        found = rank_trend(apart, readings.times[:, i], usual, readings.groups)
        n[0, i], correlation[0, i] = found.n, found.correlation
        if math.isnan(found.correlation):
            continue
        alone = rank_trend(np.where(np.isnan(apart), np.nan, mean), readings.times[:, i], usual, readings.groups)
        ratio = rank_trend(_ratios(mean, among), readings.times[:, i], usual, readings.groups)
        p[0, i] = found.rising if alone.rising <= PAIR_LEVEL and ratio.rising <= PAIR_LEVEL else 1.0
    return _Look(p, sign, n, correlation)


def _ratios(mean: Values, among: Values) -> Values:
    """Distances over those of the others; as a difference from 1 within which ranks do not depend on zeros."""
    return divide(mean - among, mean + among)


def _means(values: Values) -> Values:
    known = ~np.isnan(values)
    return divide(np.where(known, values, 0).sum(axis=1), known.sum(axis=1))


def _medians(values: Values) -> Values:
    """The median of each row without gaps; NaN of none."""
    ordered, counts = np.sort(values, axis=1), (~np.isnan(values)).sum(axis=1)  # NaN come last
    rows, middle = np.arange(len(values)), np.maximum(counts - 1, 0)
    found = (ordered[rows, middle // 2] + ordered[rows, (middle + 1) // 2]) / 2
    return np.where(counts > 0, found, np.nan)

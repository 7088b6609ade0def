"""What the votes of R raters say about p, the share of all such raters who would mark an item.

An item that a share p of the population would mark gets a votes of R raters with probability Bin(a; R, p). The R + 1
shares of items with 0, 1, …, R votes are mixtures of these over the unknown distribution of p. They fix R moments of
it and nothing else: distributions that differ in all higher moments give the same shares. So a target such as the
probability that a majority of eleven says what most raters would has a smallest and a largest value, its *identified
range*, and no more data of the same R raters narrow it.

The range is taken over all mixing distributions whose shares lie in a confidence set. Its covariance is that over
subjects (jackknife) plus that over raters, since the same raters read every case. Raters are drawn with replacement
for it: large parts of an image stand or fall with one rater's decision, which moves shares too far for the linear
jackknife (leaving one rater out held the truth in 35 to 72% of subsets of four crowd workers on two large objects).
Only resamples that repeat equally many raters are compared, as repeating a rater in itself makes votes more extreme.
Where a target is about items that somebody marked, it is a ratio: a linear-fractional programme, which the
transformation of Charnes and Cooper makes linear. The set is an ellipsoid; planes that cut it off are added until
the optimum lies close to it, so that the range is never too narrow by that.

Lindsay BG. Mixture Models: Theory, Geometry and Applications. 1995, ch. 2. doi:10.1214/cbms/1462106013.
Charnes A, Cooper WW. Programming with linear fractional functionals. Nav Res Logist Q 1962;9:181–186.
doi:10.1002/nav.3800090303. Wang Y. On fast computation of the non-parametric maximum likelihood estimate of a mixing
distribution. J R Stat Soc B 2007;69:185–198. doi:10.1111/j.1467-9868.2007.00583.x
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations_with_replacement

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError

Values = NDArray[np.float64]

MAX_CUTS, KEPT_CUTS = 6, 16
"""Planes that are added for one optimum, and of all added the latest that are kept for the next."""
OUTSIDE = 1.02
"""An optimum so close to the ellipsoid, in its radii, needs no further plane."""
ZERO_COUNT = 1.5
"""Standard error of a share, in items, that was never seen: twice this is the 'rule of three'."""
UNMARKED = 99.0
"""Unmarked items for each marked one where only marked items were counted; targets hardly depend on it."""


@lru_cache(maxsize=1)
def mixing_grid() -> Values:
    """Values of p: evenly spaced, and denser near 0, ½ and 1, where the targets bend or jump."""
    near = 10.0 ** np.linspace(-6, -2, 25)
    middle = np.array([1e-4, 5e-4])
    return np.unique(np.concatenate([np.linspace(0, 1, 201), near, 1 - near, 0.5 - middle, 0.5 + middle]).clip(0, 1))


@lru_cache(maxsize=256)
def binomial_matrix(n: int) -> Values:
    """(n + 1, grid): probability of each number of votes of n raters, at each p of the grid."""
    p, a = mixing_grid(), np.arange(n + 1)[:, None]
    ways = np.array([float(math.comb(n, k)) for k in range(n + 1)])[:, None]
    return np.asarray(ways * p**a * (1 - p) ** (n - a))


def thin_votes(n: int, to: int) -> Values:
    """(to + 1, n + 1): probabilities of the votes of ``to`` raters drawn from n, given the votes of all n."""
    whole = math.comb(n, to)
    return np.array([[math.comb(a, b) * math.comb(n - a, to - b) / whole for a in range(n + 1)] for b in range(to + 1)])


# -- the point estimate ----------------------------------------------------------------------------


def fit_mixing(counts: ArrayLike) -> Values:
    """Nonparametric maximum likelihood estimate of the mixing distribution, as weights of :func:`mixing_grid`.

    ``counts`` are those of items with 0, 1, …, R votes. By Wang's constrained Newton method; where several
    distributions have the largest likelihood, one of few points is returned.

    >>> weights = fit_mixing([50, 0, 0, 50])
    >>> [(float(p), round(float(w), 3)) for p, w in zip(mixing_grid(), weights) if w > 1e-6]
    [(0.0, 0.5), (1.0, 0.5)]
    """
    from scipy.optimize import nnls

    counts = np.asarray(counts, np.float64)
    shares, chances = counts / counts.sum(), binomial_matrix(len(counts) - 1)
    seen = shares > 0
    rows, wanted = chances[seen], shares[seen]
    scale = 1 / np.sqrt(wanted)
    weights = nnls(np.vstack([rows * scale[:, None], np.full(rows.shape[1], 1e3)]), np.append(wanted * scale, 1e3))[0]
    weights /= weights.sum()
    best = float(wanted @ np.log(np.maximum(rows @ weights, 1e-300)))
    for _ in range(50):
        slopes = rows / np.maximum(rows @ weights, 1e-300)[:, None]
        gain = float((wanted @ slopes).max() - 1)
        if gain < 1e-9:
            break
        root = np.sqrt(wanted)
        system = np.vstack([slopes * root[:, None], np.full(rows.shape[1], 1e3)])
        target = nnls(system, np.append(2 * root, 1e3))[0]
        weights, improved = _step_towards(weights, target / target.sum(), rows, wanted, best)
        if improved <= best + 1e-14:
            break
        best = improved
    return np.asarray(weights)


def _step_towards(weights: Values, target: Values, rows: Values, wanted: Values, best: float) -> tuple[Values, float]:
    """The longest step of 1, ½, ¼, … that increases the likelihood."""
    for step in 0.5 ** np.arange(20):
        moved = weights + step * (target - weights)
        value = float(wanted @ np.log(np.maximum(rows @ moved, 1e-300)))
        if value > best:
            return moved, value
    return weights, best


# -- the confidence set ----------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class VoteTable:
    """Items by their number of votes, with one rater left out too.

    Attributes
    ----------
    by_subject : numpy.ndarray
        (subjects, R + 1): items with 0, 1, …, R votes.
    resampled : numpy.ndarray
        (resamples, R + 1): the same counts where R raters are drawn from the R with replacement; no row where a slot
        is not a person.
    chance, kinds : numpy.ndarray
        (resamples,): probability of each resample, and its kind: only resamples of one kind are compared.
    n_people : int
        Number of raters.
    given_marked : bool
        Whether targets are about items that at least one of the R raters marked.
    """

    by_subject: Values
    resampled: Values
    chance: Values
    kinds: NDArray[np.int64]
    n_people: int
    given_marked: bool

    @cached_property
    def counts(self) -> Values:
        """Items by votes; where only marked items were counted, with an assumed number of unmarked ones."""
        return self._with_unmarked(self.by_subject.sum(axis=0))

    def _with_unmarked(self, counts: Values) -> Values:
        if not self.given_marked or self.by_subject[:, 0].any():
            return counts
        return np.concatenate([[UNMARKED * counts[1:].sum()], counts[1:]])

    @property
    def n_raters(self) -> int:
        """R."""
        return int(self.by_subject.shape[1] - 1)

    @cached_property
    def counted(self) -> Values:
        """(subjects,): items that count; where targets are about marked items, those."""
        return np.asarray(self.by_subject[:, 1 if self.given_marked else 0 :].sum(axis=1))

    @property
    def n_subjects(self) -> int:
        """Number of subjects that have items that count."""
        return int((self.counted > 0).sum())

    @property
    def allowance(self) -> tuple[str, ...]:
        """What the confidence set allows for: ``subjects``, ``raters``, both or nothing."""
        made = {"subjects": self.n_subjects > 1, "raters": self.n_people > 1}
        return tuple(name for name, allowed in made.items() if allowed)

    @cached_property
    def weights(self) -> Values:
        """The fitted mixing distribution."""
        return fit_mixing(self.counts)

    @cached_property
    def given(self) -> Values:
        """(grid,): probability that an item counts for the targets."""
        # a sum as in the targets, so that no ratio of the two exceeds 1
        return binomial_matrix(self.n_raters)[1:].sum(axis=0) if self.given_marked else np.ones(len(mixing_grid()))

    def shares(self, counts: Values) -> Values:
        """(…, R) shares of items with 1 … R votes among those marked, or (…, R + 1) shares of all."""
        kept = counts[..., 1:] if self.given_marked else counts
        return np.asarray(kept / kept.sum(axis=-1, keepdims=True))

    @cached_property
    def chances(self) -> Values:
        """Rows of the binomial matrix whose mixtures are the shares."""
        return binomial_matrix(self.n_raters)[1:] if self.given_marked else binomial_matrix(self.n_raters)

    @cached_property
    def over_subjects(self) -> Values:
        """Jackknife covariance of the shares over subjects, not below that of a share that was never seen."""
        size = len(self.chances)
        covariance = np.zeros((size, size))
        if self.n_subjects > 1:
            # a subject without items that count does not move the shares
            covariance = _jackknife(self.shares(self.by_subject.sum(axis=0) - self.by_subject[self.counted > 0]))
        least = (ZERO_COUNT / float(self.counted.sum())) ** 2
        return np.asarray(covariance + np.diag(np.maximum(least - covariance.diagonal(), 0)))

    @cached_property
    def over_raters(self) -> Values:
        """Bootstrap covariance of the shares over raters."""
        size = len(self.chances)
        usable = self.resampled[:, 1:].sum(axis=1) > 0 if self.given_marked else self.resampled.sum(axis=1) > 0
        if self.n_people < 2 or not usable.any():
            return np.zeros((size, size))
        shares, chance = self.shares(self.resampled[usable]), self.chance[usable] / self.chance[usable].sum()
        _, kind = np.unique(self.kinds[usable], return_inverse=True)
        total = np.bincount(kind, chance)
        middle = np.zeros((len(total), size))
        np.add.at(middle, kind, shares * chance[:, None])
        apart = shares - (middle / total[:, None])[kind]
        return np.asarray(self.n_people / (self.n_people - 1) * (apart * chance[:, None]).T @ apart)


def _jackknife(left_out: Values) -> Values:
    """Covariance of a vector from its values with one unit left out."""
    apart, n = left_out - left_out.mean(axis=0), len(left_out)
    return np.asarray((n - 1) / n * apart.T @ apart)


@dataclass(frozen=True)
class TargetRange:
    """A target by the fitted distribution, and its identified range.

    Attributes
    ----------
    value : float
        By the fitted distribution, one of many that fit equally well.
    low, high : float
        Smallest and largest value over all distributions whose shares lie in the confidence set.
    """

    value: float
    low: float
    high: float


def identified_ranges(table: VoteTable, targets: Sequence[Values], level: float | None = 0.95) -> list[TargetRange]:
    """The identified range of each target, (grid,) values of p; with ``level=None`` without allowance for sampling.

    A target is the probability that an item is marked (where the table says so) *and* has the wanted property, given
    p. All ranges use the same confidence set.
    """
    if level is not None and not 0 < level < 1:
        raise CallError(f"level lies between 0 and 1; got {level}")
    programme = _Programme(table, level)
    return [programme.range_of(np.asarray(target, np.float64)) for target in targets]


def possible_range(table: VoteTable, target: Values) -> tuple[float, float]:
    """The smallest and largest value of a target before any data: no mixture exceeds its value at a single p."""
    counted = table.given > 0
    # targets are probabilities or differences of two; rounding may lead them beyond 1
    at_each = np.clip(target[counted] / table.given[counted], -1.0, 1.0)
    return float(at_each.min()), float(at_each.max())


class _Programme:
    """The linear programme of a table: weights of the grid, scaled so that the items that count have mass 1."""

    def __init__(self, table: VoteTable, level: float | None) -> None:
        self.table, self.level = table, level
        self.observed = table.shares(table.counts)
        self.scaled = table.weights / float(table.given @ table.weights)
        self.fitted = table.chances @ self.scaled
        total = table.over_subjects + table.over_raters
        self.covariance = total
        self.spread = np.sqrt(total.diagonal().max()) if level is not None else 0.0
        self.planes: list[Values] = []
        self.reach: list[float] = []
        self.known: dict[bytes, TargetRange] = {}
        for axis in np.linalg.eigh(total)[1].T:
            self._cut(axis)
            self._cut(-axis)
        self.axes = len(self.planes)

    def _cut(self, direction: Values) -> None:
        """Bound the shares in a direction."""
        self.planes.append(direction)
        self.reach.append(self._half_width(direction))

    def _half_width(self, direction: Values) -> float:
        """Student's t times the standard error along a direction; at least the distance of the fit."""
        apart = abs(float(direction @ (self.fitted - self.observed))) * (1 + 1e-9)
        if self.level is None:
            return apart
        from scipy.special import stdtrit

        table = self.table
        cases, raters = (max(float(direction @ v @ direction), 0.0) for v in (table.over_subjects, table.over_raters))
        total = cases + raters
        if not total:
            return apart
        subjects, people = max(table.n_subjects - 1, 1), max(table.n_people - 1, 1)
        freedom = total**2 / (cases**2 / subjects + raters**2 / people) if table.n_subjects > 1 else people
        return max(apart, float(stdtrit(freedom, (1 + self.level) / 2)) * math.sqrt(total))

    def range_of(self, target: Values) -> TargetRange:
        """The range of a target; that of an even panel is often that of the odd one before."""
        key = (target.round(12) + 0.0).tobytes()
        if key not in self.known:
            self.known[key] = self._range_of(target)
        return self.known[key]

    def _range_of(self, target: Values) -> TargetRange:
        # the solver's tolerances may lead it beyond what any distribution gives
        least, most = possible_range(self.table, target)
        ends = np.clip([-self._largest(-target), self._largest(target)], least, most).tolist()
        value = float(np.clip(target @ self.scaled, least, most))
        return TargetRange(value, min(ends[0], value), max(ends[1], value))

    def _largest(self, target: Values) -> float:
        """Cut the ellipsoid's outside off until the optimum is close to it."""
        value = math.inf
        for cuts in (self.planes, self.reach):
            del cuts[self.axes : -KEPT_CUTS]
        for _ in range(MAX_CUTS):
            weights, value = self._solve(target)
            if self.level is None:
                return value
            away = self.table.chances @ weights - self.observed
            ridge = 1e-10 * self.spread**2 * np.eye(len(away))
            direction = np.asarray(np.linalg.solve(self.covariance + ridge, away), np.float64)
            length = float(np.linalg.norm(direction))
            if not length:
                return value
            direction /= length
            if float(direction @ away) <= OUTSIDE * self._half_width(direction):
                return value
            self._cut(direction)
        return value

    def _solve(self, target: Values) -> tuple[Values, float]:
        from scipy.optimize import linprog

        table = self.table
        planes, reach = np.array(self.planes), np.array(self.reach)
        # scaled by its size, so that the solver's absolute tolerances are small in each of them
        size = np.maximum(reach, 1e-9)
        rows = planes @ table.chances / size[:, None]
        bound = planes @ self.observed / size + np.maximum(reach / size, 1e-7 if self.level is None else 0)
        given = {"A_ub": rows, "b_ub": bound, "A_eq": table.given[None], "b_eq": [1.0], "bounds": (0, None)}
        found = linprog(-target, **given, method="highs-ds", options={"presolve": False})
        if found.status != 0:
            found = linprog(-target, **given, method="highs")
        if found.status != 0:
            return self.scaled, possible_range(table, target)[1]
        return np.asarray(found.x), -float(found.fun)


@dataclass(frozen=True, eq=False)
class RaterDraws:
    """Raters drawn with replacement.

    Attributes
    ----------
    times : numpy.ndarray
        (resamples, raters): how often each rater is drawn.
    chance : numpy.ndarray
        (resamples,): probability of each resample.
    kinds : numpy.ndarray
        (resamples,): resamples that repeat equally many raters equally often are of one kind.
    """

    times: NDArray[np.int64]
    chance: Values
    kinds: NDArray[np.int64]


PERMUTED = 20
"""Random resamples of each kind, where there are too many for all."""


@lru_cache(maxsize=32)
def resample_raters(n: int, most: int = 500, seed: int = 0) -> RaterDraws:
    """All resamples of n raters where there are at most so many, or some; with two raters all are of one kind."""
    if math.comb(2 * n - 1, n) > most:
        random, kinds = np.random.default_rng(seed), max(most // PERMUTED, 1)
        drawn = np.repeat(random.multinomial(n, np.full(n, 1 / n), size=kinds), PERMUTED, axis=0)
        kind = np.repeat(np.arange(kinds), PERMUTED)
        return RaterDraws(random.permuted(drawn, axis=1).astype(np.int64), np.full(len(drawn), 1 / len(drawn)), kind)
    drawn = np.array([np.bincount(c, minlength=n) for c in combinations_with_replacement(range(n), n)])
    ways = [math.factorial(n) / math.prod(map(math.factorial, row)) for row in drawn.tolist()]
    _, kind = np.unique(np.sort(drawn, axis=1), axis=0, return_inverse=True)
    # two raters are too few to see how much raters vary: that a rater is repeated counts as well
    return RaterDraws(drawn, np.array(ways) / n**n, kind.ravel() if n > 2 else np.zeros(len(drawn), np.int64))

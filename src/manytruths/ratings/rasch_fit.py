"""The marginal likelihood of the Rasch model, its maximum by Newton's method, the posteriors, and the fit of answers.

**Likelihood.** All that a case tells about its difficulty d is which raters were compared on it, and how many of them,
r, were right; cases that are alike in both form one group. With S the raters compared ::

    log L = Σ_i a_i · (how often i was right) + Σ_g n_g log Z_g
    Z_g = ∫ exp(−r d) Π_(i in S) 1 / (1 + exp(a_i − d)) N(d; 0, s²) dd

The integral is a sum over equally spaced nodes, the same for all groups. For integrands like these its error decreases
as exp(−2π² / (κ h²)), with h the spacing and κ = 1/s² + R/4 at least the precision of any posterior, until the poles of
the logistic function, π away from the real line, limit it to exp(−2π² / h). Gauss–Hermite nodes, which scale with s
alone, are far too wide for a case with many raters.

**Fit.** Mean squares are of the residuals of right (1) and wrong (0), averaged over the posterior of each difficulty,
as is the variance that the model expects ::

    infit  = Σ E[(x − P)²] / Σ E[P (1 − P)]          outfit = mean of E[(x − P)² / (P (1 − P))]

over the cases of a rater, or the raters of a case. Where the model holds, outfit has expectation 1, and the two sums of
infit have the same expectation; the infit of one case, a ratio of few terms, is below 1 on average. Values well above 1
indicate surprising answers, values well below 1 answers that are too regular.

Trefethen LN, Weideman JAC. The exponentially convergent trapezoidal rule. SIAM Rev 2014;56:385–458.
doi:10.1137/130932132. Louis TA. J R Stat Soc B 1982;44:226–233 (information). doi:10.1111/j.2517-6161.1982.tb01203.x.
Adams RJ, Wu ML. The mixed-coefficients multinomial logit model. In: von Davier M, Carstensen CH (eds). Multivariate and
mixture distribution Rasch models. Springer 2007:57–75. doi:10.1007/978-0-387-49839-3_4
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..core.undefined import divide
from .ratings import Values

STEP = 0.8
"""Spacing of the nodes in units of the smallest possible posterior standard deviation: an error of 4·10⁻¹⁴."""
WIDEST = 0.5
"""Widest spacing, because of the poles: an error of 7·10⁻¹⁸."""
REACH = 8.5
"""How far the nodes extend beyond the outermost possible posterior mode, in units of s."""
BLOCK = 2_000_000
"""Largest number of values in an array of groups × nodes: 16 MB."""
NEAR = 1e-4
"""Abilities closer than this count as equal in the product of two probabilities."""
NO_SPREAD = 1e-3
"""A smaller spread counts as 0."""
MAX_SPREAD = 20.0
"""A larger spread is unbounded: hardly any answer is random, and the likelihood is almost flat."""


@dataclass(frozen=True, eq=False)
class Scores:
    """Cases in groups: who was compared, how many of them were right, and the number of cases."""

    judged: Values
    """(groups, raters): 1 where the rater was compared."""
    score: Values
    """Number of raters who were right, in each group."""
    count: Values
    """Number of items of each group."""
    right: Values
    """Number of items about which each rater was right."""

    @classmethod
    def of(
        cls, judged: NDArray[np.bool_], right: NDArray[np.bool_], items: NDArray[np.int64]
    ) -> tuple[Scores, NDArray[np.intp]]:
        """From answers (cases, raters); also the group of every case."""
        score = right.sum(axis=1)
        rows = np.column_stack([np.packbits(judged, axis=1), score >> 8, score & 255]).astype(np.uint8)
        _, first, group = np.unique(rows, axis=0, return_index=True, return_inverse=True)
        group = group.reshape(-1)
        count = np.asarray(np.bincount(group, items, len(first)), np.float64)
        total = np.asarray(items @ right, np.float64)
        return cls(judged[first].astype(np.float64), score[first].astype(np.float64), count, total), group

    def blocks(self, nodes: Nodes) -> Iterator[slice]:
        """Blocks of groups of bounded memory."""
        size = max(1, BLOCK // len(nodes.at))
        for start in range(0, len(self.count), size):
            yield slice(start, start + size)

    def part(self, where: slice) -> Scores:
        """Some of the groups."""
        return replace(self, judged=self.judged[where], score=self.score[where], count=self.count[where])


@dataclass(frozen=True, eq=False)
class Nodes:
    """Nodes of the integrals, and the logarithm of prior × spacing there."""

    at: Values
    log_weight: Values

    @classmethod
    def of(cls, ability: Values, spread: float, finer: float = 1.0) -> Nodes:
        """As many nodes as the parameters require; one, at 0, where all cases are equally difficult."""
        if spread == 0:
            return cls(np.zeros(1), np.zeros(1))
        spacing = min(WIDEST, STEP / np.sqrt(spread**-2 + len(ability) / 4)) / finer
        low, high = _outermost_modes(ability, spread)
        count = int(np.ceil((high - low + 2 * REACH * spread) / spacing)) + 1
        at = low - REACH * spread + spacing * np.arange(count)
        return cls(at, -0.5 * (at / spread) ** 2 + np.log(spacing / (spread * np.sqrt(2 * np.pi))))


def _outermost_modes(ability: Values, spread: float) -> tuple[float, float]:
    """Posterior modes of a case that all got right, and of one that all got wrong, by bisection."""
    limit = spread**2 * len(ability)
    low, high = np.array([-limit, -limit]), np.array([limit, limit])
    score = np.array([len(ability), 0.0])
    for _ in range(60):
        middle = (low + high) / 2
        above = middle / spread**2 > success_probability(ability, middle).sum(axis=1) - score
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return float(low[0]), float(high[1])


def success_probability(ability: Values, difficulty: Values) -> Values:
    """(difficulties, raters): the logistic function of ability − difficulty."""
    return np.asarray(np.exp(-np.logaddexp(0, np.subtract.outer(difficulty, ability))))


def log_posterior(scores: Scores, ability: Values, nodes: Nodes) -> tuple[Values, Values]:
    """(groups, nodes) logarithms of the posterior weight of each node; and log Z of each group."""
    wrong = np.logaddexp(0, np.subtract.outer(ability, nodes.at))
    joint = nodes.log_weight - np.outer(scores.score, nodes.at) - scores.judged @ wrong
    top = joint.max(axis=1, keepdims=True)
    log_z = top + np.log(np.exp(joint - top).sum(axis=1, keepdims=True))
    return joint - log_z, log_z[:, 0]


def log_likelihood(scores: Scores, ability: Values, spread: float, nodes: Nodes | None = None) -> float:
    """Log-likelihood of the answers."""
    nodes = Nodes.of(ability, spread) if nodes is None else nodes
    parts = map(scores.part, scores.blocks(nodes))
    groups = sum(float(part.count @ log_posterior(part, ability, nodes)[1]) for part in parts)
    return float(scores.right @ ability) + groups


@dataclass(frozen=True, eq=False)
class Derivatives:
    """The log-likelihood and its derivatives with respect to the abilities and, last, log s."""

    value: float
    gradient: Values
    hessian: Values


def differentiate(scores: Scores, ability: Values, spread: float) -> Derivatives:
    """Derivatives of the likelihood for known difficulties, averaged over the posteriors (Louis 1982)."""
    nodes = Nodes.of(ability, spread)
    size = len(ability)
    value, gradient, hessian = 0.0, np.zeros(size + 1), np.zeros((size + 1, size + 1))
    for part in map(scores.part, scores.blocks(nodes)):
        own = _differentiate_part(part, ability, spread, nodes)
        value, gradient, hessian = value + own.value, gradient + own.gradient, hessian + own.hessian
    gradient[:size] += scores.right
    return Derivatives(value + float(scores.right @ ability), gradient, hessian)


def _differentiate_part(scores: Scores, ability: Values, spread: float, nodes: Nodes) -> Derivatives:
    """Derivatives of the sum over some groups."""
    log_weight, log_z = log_posterior(scores, ability, nodes)
    weight, count, judged = np.exp(log_weight), scores.count, scores.judged
    chance, square = success_probability(ability, nodes.at), (nodes.at / spread) ** 2
    mean, squared = judged * (weight @ chance), judged * (weight @ chance**2)
    spreads, size = weight @ square, len(ability)
    gradient = np.append(-count @ mean, count @ (spreads - 1))
    hessian = np.zeros((size + 1, size + 1))
    hessian[:size, :size] = _both_right(scores, ability, mean, squared) - mean.T @ (count[:, None] * mean)
    hessian[np.arange(size), np.arange(size)] -= count @ (mean - squared)
    cross = judged * (weight @ (chance * square[:, None])) - mean * spreads[:, None]
    hessian[size, :size] = hessian[:size, size] = -count @ cross
    hessian[size, size] = count @ (weight @ square**2 - spreads**2 - 2 * spreads)
    return Derivatives(float(count @ log_z), gradient, hessian)


def _both_right(scores: Scores, ability: Values, mean: Values, squared: Values) -> Values:
    """(raters, raters): E[P_i P_j], summed over the cases on which both were compared.

    For two logistic functions of one difficulty, P_i P_j = (P_j − r P_i) / (1 − r) with r = exp(a_j − a_i), so the
    means of P suffice. Where the abilities are almost equal, (P_i² + P_j²) / 2 has an error of 10⁻⁹.
    """
    weighted = scores.count[:, None] * scores.judged
    first, own = mean.T @ weighted, squared.T @ weighted
    gap = np.subtract.outer(ability, ability)
    near = np.abs(gap) < NEAR
    distance = np.where(near, 1.0, np.abs(gap))
    other = (first.T - np.exp(-distance) * first) / -np.expm1(-distance)
    return np.where(near, (own + own.T) / 2, np.where(gap > 0, other, other.T))


# -- the maximum of the likelihood -----------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Maximum:
    """The maximum of the likelihood."""

    ability: Values
    spread: float
    ability_error: Values
    """nan where the information is singular."""
    spread_error: float
    level: Values
    """Abilities if all cases were equally difficult."""
    iterations: int
    convergence: str


def maximise(scores: Scores, tol: float, max_iter: int) -> Maximum:
    """By Newton's method from a spread of 1; with spread 0 if no positive spread is more likely."""
    asked = scores.count @ scores.judged
    level = np.log(scores.right) - np.log(asked - scores.right)
    equal = log_likelihood(scores, level, 0.0)
    start = np.append(level * np.sqrt(1 + 1 / 3), 0.0)
    point, last, iterations, convergence = _newton(scores, start, tol, max_iter)
    if np.exp(point[-1]) <= NO_SPREAD or last.value <= equal:
        error = np.sqrt(asked / (scores.right * (asked - scores.right)))
        return Maximum(level, 0.0, error, np.nan, level, iterations, "converged")
    errors, spread = _standard_errors(last.hessian), float(np.exp(point[-1]))
    return Maximum(point[:-1], spread, errors[:-1], spread * float(errors[-1]), level, iterations, convergence)


def _newton(scores: Scores, point: Values, tol: float, max_iter: int) -> tuple[Values, Derivatives, int, str]:
    """Iterate until no parameter changes by more than ``tol``, or the spread vanishes or grows without bound."""
    now = differentiate(scores, point[:-1], float(np.exp(point[-1])))
    for iteration in range(1, max_iter + 1):
        step, before = _newton_step(now), now
        point, now = _take_step(scores, point, step, now)
        spread = float(np.exp(point[-1]))
        if np.abs(step).max() <= tol or spread <= NO_SPREAD:
            return point, now, iteration, "converged"
        if spread >= MAX_SPREAD or now is before:
            return point, now, iteration, "stopped"
    return point, now, max_iter, "stopped"


def _newton_step(now: Derivatives) -> Values:
    """Newton's step with absolute curvatures, so that it always goes uphill; at most 1 in log s."""
    curve, axes = np.linalg.eigh(-now.hessian)
    curve = np.maximum(np.abs(curve), 1e-9 * np.abs(curve).max())
    step = np.asarray(axes @ ((axes.T @ now.gradient) / curve))
    return step / max(1.0, abs(float(step[-1])), float(np.abs(step).max()) / 5)


def _take_step(scores: Scores, point: Values, step: Values, now: Derivatives) -> tuple[Values, Derivatives]:
    """Take the step, halved until the likelihood does not decrease."""
    rounding = 1e-11 * abs(now.value)
    for _ in range(30):
        after = differentiate(scores, point[:-1] + step[:-1], float(np.exp(point[-1] + step[-1])))
        if after.value >= now.value - rounding:
            return point + step, after
        step = step / 2
    return point, now


def _standard_errors(hessian: Values) -> Values:
    """Standard errors, from the observed information."""
    try:
        np.linalg.cholesky(-hessian)
    except np.linalg.LinAlgError:
        return np.full(len(hessian), np.nan)
    return np.sqrt(np.diagonal(np.linalg.inv(-hessian)))


# -- posteriors, and the fit of answers ------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Posterior:
    """Posterior of the difficulty of each group."""

    mean: Values
    deviation: Values
    chance: Values
    """(groups, raters): E[P]."""
    chance_squared: Values
    """(groups, raters): E[P²]."""
    rising: Values
    """E[exp(d)]; 0 where nobody was right and it is not needed."""
    falling: Values
    """E[exp(−d)]; 0 where nobody was wrong."""

    @classmethod
    def of(cls, scores: Scores, ability: Values, spread: float) -> Posterior:
        """Computed in blocks of groups."""
        nodes = Nodes.of(ability, spread)
        chance = success_probability(ability, nodes.at)
        blocks = [_moments(scores.part(b), ability, nodes, chance) for b in scores.blocks(nodes)]
        return cls(*(np.concatenate(column) for column in zip(*blocks, strict=True)))


def _moments(scores: Scores, ability: Values, nodes: Nodes, chance: Values) -> tuple[Values, ...]:
    log_weight, _ = log_posterior(scores, ability, nodes)
    weight, wrong = np.exp(log_weight), scores.judged.sum(axis=1) - scores.score
    mean = weight @ nodes.at
    variance = (weight * (nodes.at - mean[:, None]) ** 2).sum(axis=1)
    rising, falling = np.zeros(len(mean)), np.zeros(len(mean))
    for values, sign, some in ((rising, 1, scores.score > 0), (falling, -1, wrong > 0)):
        values[some] = np.exp(log_weight[some] + sign * nodes.at).sum(axis=1)
    return mean, np.sqrt(variance), weight @ chance, weight @ chance**2, rising, falling


@dataclass(frozen=True, eq=False)
class MeanSquares:
    """Infit and outfit of raters and of cases; nan where nobody was compared."""

    infit: Values
    outfit: Values
    case_infit: Values
    case_outfit: Values


def mean_squares(
    judged: NDArray[np.bool_],
    right: NDArray[np.bool_],
    items: NDArray[np.int64],
    group: NDArray[np.intp],
    posterior: Posterior,
    ability: Values,
) -> MeanSquares:
    """Infit and outfit; (x − P)² / (P (1 − P)) is exp(d − a) if the answer is right, otherwise exp(a − d)."""
    chance, squared = posterior.chance[group], posterior.chance_squared[group]
    expected = judged * (chance - squared)
    inner = judged * (right - 2 * right * chance + squared)
    outer = right * np.outer(posterior.rising[group], np.exp(-ability))
    outer += (judged & ~right) * np.outer(posterior.falling[group], np.exp(ability))
    return MeanSquares(
        divide(items @ inner, items @ expected),
        divide(items @ outer, items @ judged),
        divide(inner.sum(axis=1), expected.sum(axis=1)),
        divide(outer.sum(axis=1), judged.sum(axis=1)),
    )

"""The Rasch model's maximum by Newton's method, the posteriors of the difficulties, and how well the answers fit.

Mean squares are of the residuals of right (1) and wrong (0), averaged over the posterior of each difficulty, as is the
variance that the model expects ::

    infit  = Σ E[(x − P)²] / Σ E[P (1 − P)]          outfit = mean of E[(x − P)² / (P (1 − P))]

over the cases of a rater, or the raters of a case. Where the model holds, outfit has the expectation 1, and infit's two
sums have the same; the infit of one case, a ratio of few terms, is below 1 on average. Well above 1: answers that
surprise; well below: too regular ones.

Adams RJ, Wu ML. The mixed-coefficients multinomial logit model. In: von Davier M, Carstensen CH (eds). Multivariate and
mixture distribution Rasch models. Springer 2007:57–75. doi:10.1007/978-0-387-49839-3_4
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .rasch_likelihood import Nodes, Scores, Slopes, log_likelihood, log_posterior, right_chance, slopes
from .ratings import Values

NO_SPREAD = 1e-3
"""A spread this small is none."""
MOST_SPREAD = 20.0
"""A spread this large has no bound: hardly any answer is left to chance, and the likelihood is all but flat."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the likelihood is largest."""

    ability: Values
    spread: float
    ability_error: Values
    """nan where the information has no inverse."""
    spread_error: float
    level: Values
    """The abilities were all cases equally hard."""
    iterations: int
    ended: str


def maximum(scores: Scores, tolerance: float, most: int) -> Maximum:
    """By Newton's method from a spread of 1; or equally hard cases, where no spread is more likely."""
    asked = scores.count @ scores.judged
    level = np.log(scores.right) - np.log(asked - scores.right)
    equal = log_likelihood(scores, level, 0.0)
    start = np.append(level * np.sqrt(1 + 1 / 3), 0.0)
    point, found, iterations, ended = _newton(scores, start, tolerance, most)
    if np.exp(point[-1]) <= NO_SPREAD or found.value <= equal:
        error = np.sqrt(asked / (scores.right * (asked - scores.right)))
        return Maximum(level, 0.0, error, np.nan, level, iterations, "converged")
    errors, spread = _errors(found.hessian), float(np.exp(point[-1]))
    return Maximum(point[:-1], spread, errors[:-1], spread * float(errors[-1]), level, iterations, ended)


def _newton(scores: Scores, point: Values, tolerance: float, most: int) -> tuple[Values, Slopes, int, str]:
    """Until no parameter moves more than the tolerance, or the spread has vanished or grows without bound."""
    found = slopes(scores, point[:-1], float(np.exp(point[-1])))
    for iteration in range(1, most + 1):
        step, before = _uphill(found), found
        point, found = _improved(scores, point, step, found)
        spread = float(np.exp(point[-1]))
        if np.abs(step).max() <= tolerance or spread <= NO_SPREAD:
            return point, found, iteration, "converged"
        if spread >= MOST_SPREAD or found is before:
            return point, found, iteration, "stopped"
    return point, found, most, "stopped"


def _uphill(found: Slopes) -> Values:
    """Newton's step; where the likelihood is not curved downwards, with the curvature turned. At most 1 in log s."""
    curve, axes = np.linalg.eigh(-found.hessian)
    curve = np.maximum(np.abs(curve), 1e-9 * np.abs(curve).max())
    step = np.asarray(axes @ ((axes.T @ found.gradient) / curve))
    return step / max(1.0, abs(float(step[-1])), float(np.abs(step).max()) / 5)


def _improved(scores: Scores, point: Values, step: Values, found: Slopes) -> tuple[Values, Slopes]:
    """The step, halved until the likelihood does not fall."""
    rounding = 1e-11 * abs(found.value)
    for _ in range(30):
        after = slopes(scores, point[:-1] + step[:-1], float(np.exp(point[-1] + step[-1])))
        if after.value >= found.value - rounding:
            return point + step, after
        step = step / 2
    return point, found


def _errors(hessian: Values) -> Values:
    """Standard errors, from the observed information."""
    try:
        np.linalg.cholesky(-hessian)
    except np.linalg.LinAlgError:
        return np.full(len(hessian), np.nan)
    return np.sqrt(np.diagonal(np.linalg.inv(-hessian)))


@dataclass(frozen=True, eq=False)
class Posterior:
    """What the answers of each group say of its difficulty."""

    mean: Values
    deviation: Values
    chance: Values
    """(groups, raters): E[P]."""
    chance_squared: Values
    """(groups, raters): E[P²]."""
    rising: Values
    """E[exp(d)]; 0 where nobody was right, and nobody needs it."""
    falling: Values
    """E[exp(−d)]; 0 where nobody was wrong."""

    @classmethod
    def of(cls, scores: Scores, ability: Values, spread: float) -> Posterior:
        """Group by group, a block at a time."""
        nodes = Nodes.of(ability, spread)
        chance = right_chance(ability, nodes.at)
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
    """Infit and outfit of raters and of cases; nan where nobody was judged."""

    infit: Values
    outfit: Values
    case_infit: Values
    case_outfit: Values


def mean_squares(
    judged: NDArray[np.bool_],
    right: NDArray[np.bool_],
    items: NDArray[np.int64],
    group: NDArray[np.intp],
    found: Posterior,
    ability: Values,
) -> MeanSquares:
    """Of the residuals; (x − P)² / (P (1 − P)) is exp(d − a) where the answer is right, exp(a − d) where it is not."""
    chance, squared = found.chance[group], found.chance_squared[group]
    expected = judged * (chance - squared)
    inner = judged * (right - 2 * right * chance + squared)
    outer = right * np.outer(found.rising[group], np.exp(-ability))
    outer += (judged & ~right) * np.outer(found.falling[group], np.exp(ability))
    return MeanSquares(
        _ratio(items @ inner, items @ expected),
        _ratio(items @ outer, items @ judged),
        _ratio(inner.sum(axis=1), expected.sum(axis=1)),
        _ratio(outer.sum(axis=1), judged.sum(axis=1)),
    )


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Values:
    return np.asarray(np.divide(part, whole, out=np.full(len(part), np.nan), where=whole > 0))

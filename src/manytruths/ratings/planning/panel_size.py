"""How many raters a wanted accuracy takes, and how far panels differ.

For odd k the majority gains by two more raters ::

    g(k + 2) − g(k) = C(2m − 1, m) E[(p (1 − p))^m (2p − 1)],    k = 2m − 1

p being the accuracy in a case: always more where raters are right more often than not. Correlated errors set a ceiling,
the share of cases with p > ½ (with L labels p > 1 / L): in the others more raters only make the error surer.

Cabitza F et al. Appl Sci 2020;10:4014, Figs. 1 and 2. doi:10.3390/app10114014
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import CallError
from ..ratings import Values
from .majority import (
    REACH,
    case_accuracy,
    check_model,
    checked_labels,
    checked_panel,
    convolved,
    normal_nodes,
    right_votes,
    wins,
)

MOST = 10_001
"""Raters beyond which nobody looks."""
MOST_PLURALITY = 99
"""The same with more than two labels, where every k is computed by itself."""


@dataclass(frozen=True)
class RatersNeeded:
    """The smallest panel that reaches an accuracy, or why none does."""

    wanted: float
    accuracy: float
    """Of a rater, the mean where they differ."""
    raters: int | None
    """Odd, where there are two labels; None where no panel is large enough."""
    reached: float
    """By these raters; where none are enough, by the best panel."""
    ceiling: float
    """What endlessly many raters reach."""
    reason: str = ""
    """Why no panel is large enough."""


@dataclass(frozen=True, eq=False)
class Band:
    """The majority's accuracy in panels drawn from a population of raters (Fig. 2)."""

    raters: tuple[int, ...]
    average: Values
    low: Values
    """The worst panel met."""
    high: Values
    """The best."""
    mean: float
    std: float


def raters_needed(
    wanted: float, accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0, labels: int = 2
) -> RatersNeeded:
    """The smallest panel whose majority is right in a share ``wanted`` of the cases.

    Accuracies that differ are those of a population: each rater is drawn from it, which for independent raters is as
    good as its mean. Models and ties are those of :func:`majority_accuracy`.

    >>> raters_needed(0.95, 0.85).raters
    5
    >>> raters_needed(0.95, 0.85, correlation=0.3).reason
    'with errors that correlate by 0.3 no panel is right in more than 0.921 of the cases'
    """
    if not 0 < wanted < 1:
        raise CallError(f"wanted lies between 0 and 1; got {wanted:g}")
    population = checked_panel(np.size(accuracy), accuracy)
    check_model(correlation, spread)
    a, top = float(population.mean()), ceiling(population, correlation=correlation, spread=spread, labels=labels)
    if a >= wanted:
        return RatersNeeded(wanted, a, 1, a, top)
    if a <= 1 / labels:
        why = f"raters who are right in {a:g} of the cases, no more than chance gives, do not improve by numbers"
        return RatersNeeded(wanted, a, None, a, top, why)
    sizes, reached = _curve(population, correlation, spread, labels)
    # a sum may miss a number that it equals by its last bits
    enough = np.flatnonzero(reached >= wanted - 1e-12)
    if enough.size and wanted < top:
        return RatersNeeded(wanted, a, int(sizes[enough[0]]), float(reached[enough[0]]), top)
    return RatersNeeded(wanted, a, None, float(reached.max()), top, _why(wanted, top, correlation, spread, sizes))


def _why(wanted: float, top: float, correlation: float, spread: float, sizes: Values) -> str:
    if wanted < top:
        return f"more than {sizes[-1]:,.0f} raters would be needed"
    cause = f"errors that correlate by {correlation:g}" if correlation else f"cases that spread by {spread:g} logits"
    return f"with {cause} no panel is right in more than {top:.3f} of the cases"


def _curve(population: Values, correlation: float, spread: float, labels: int) -> tuple[Values, Values]:
    """Sizes of panels, and what each reaches."""
    if labels == 2:
        return np.arange(1.0, MOST + 1, 2), odd_majorities(population, correlation, spread, (MOST + 1) // 2)
    sizes = range(1, MOST_PLURALITY + 1)
    votes = (drawn_votes(k, population, correlation=correlation, spread=spread) for k in sizes)
    return np.array(sizes, np.float64), np.array([v @ wins(k, labels) for k, v in zip(sizes, votes, strict=True)])


def drawn_votes(k: int, population: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0) -> Values:
    """The chances of 0, 1, …, k right votes, each rater being drawn at random from a population."""
    raters = checked_panel(np.size(population), population)
    check_model(correlation, spread)
    if not spread:
        return right_votes(k, raters.mean(), correlation=correlation)
    z, weight = normal_nodes(spread)
    mean = case_accuracy(raters, spread, z).mean(axis=1, keepdims=True)
    return np.asarray(weight @ convolved(np.repeat(mean, k, axis=1)))


def odd_majorities(population: Values, correlation: float, spread: float, count: int) -> Values:
    """The majority's accuracy for k = 1, 3, 5, …, so many of them, of raters drawn from a population."""
    a, rho, m = float(population.mean()), correlation, np.arange(1.0, count)
    grown = np.cumsum(np.log(np.concatenate([[1.0], 2 * (2 * m[:-1] + 1) / (m[:-1] + 1)])))[: len(m)]
    if spread:
        z, weight = normal_nodes(spread)
        p = case_accuracy(population, spread, z).mean(axis=1)
        doubt = np.maximum(p * (1 - p), np.finfo(float).tiny)
        gain = np.array([weight @ (np.exp(g + n * np.log(doubt)) * (2 * p - 1)) for n, g in zip(m, grown, strict=True)])
    elif rho == 1 or a in (0, 1):
        gain = np.zeros(len(m))
    else:
        # E[(p (1 − p))^m] as a product; without correlation every factor is a (1 − a)
        factors = (a * (1 - rho) + (m - 1) * rho) * ((1 - a) * (1 - rho) + (m - 1) * rho)
        factors /= (1 - rho + (2 * m - 2) * rho) * (1 - rho + (2 * m - 1) * rho)
        gain = np.exp(grown + np.cumsum(np.log(factors))) * (2 * a - 1) * (1 - rho) / (1 - rho + 2 * m * rho)
    return np.asarray(a + np.concatenate([[0.0], np.cumsum(gain)]))


def ceiling(accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0, labels: int = 2) -> float:
    """The accuracy of the majority of endlessly many raters: the share of cases that most raters get right."""
    population, chance = checked_panel(np.size(accuracy), accuracy), 1 / checked_labels(labels)
    check_model(correlation, spread)
    a = float(population.mean())
    if spread:
        return _share_above(population, spread, chance)
    # below, the Beta is a point in double precision
    if correlation < 1e-12 or a in (0, 1):
        return chance if a == chance else float(a > chance)
    if correlation == 1:
        return a
    from scipy.special import betaincc

    whole = (1 - correlation) / correlation
    return float(betaincc(a * whole, (1 - a) * whole, chance))


def _share_above(population: Values, spread: float, chance: float) -> float:
    """The share of cases so easy that raters beat chance; easiness z and accuracy rise together."""
    low, high = -REACH, REACH
    for _ in range(60):
        z = (low + high) / 2
        beats = float(case_accuracy(population, spread, np.array([z])).mean()) > chance
        low, high = (low, z) if beats else (z, high)
    return NormalDist().cdf(-high)


def majority_band(
    k: int | Sequence[int],
    mean: float = 0.85,
    std: float = 0.01,
    *,
    population: int = 100,
    samples: int = 1000,
    seed: int = 0,
) -> Band:
    """Fig. 2: the average, least and largest accuracy of the majority over panels of independent raters.

    ``population`` raters have accuracies from a normal distribution, cut off at 0 and 1; every sample draws k of them
    without repetition, and its majority's accuracy is exact. Labels are two.

    >>> band = majority_band([3], 0.85, 0.01)
    >>> bool(band.low[0] < 0.939 < band.high[0])
    True
    """
    sizes = (k,) if isinstance(k, int) else tuple(k)
    if not 0 <= mean <= 1 or std < 0:
        raise CallError(f"mean runs from 0 to 1 and std is not negative; got {mean:g} and {std:g}")
    if not sizes or min(sizes) < 1 or max(sizes) > population or samples < 1:
        raise CallError(f"panels have 1 to {population} raters, all there are; got {sizes} and {samples} samples")
    random = np.random.default_rng(seed)
    raters = np.clip(random.normal(mean, std, population), 0, 1)
    found = np.array([_spread_of_panels(raters, size, samples, random) for size in sizes])
    return Band(sizes, found[:, 0], found[:, 1], found[:, 2], mean, std)


def _spread_of_panels(raters: Values, k: int, samples: int, random: np.random.Generator) -> list[float]:
    drawn = random.permuted(np.broadcast_to(raters, (samples, len(raters))), axis=1)[:, :k]
    reached = convolved(drawn) @ wins(k, 2)
    return [float(reached.mean()), float(reached.min()), float(reached.max())]

"""How often the majority of k raters is right.

With r right votes of k, the majority is right where r > k / 2, and half of the time where r = k / 2: so an even k gains
nothing over k − 1. Three models of r:

independent
    r is binomial, or Poisson-binomial where accuracies a_i differ: exact, by convolution.
correlation ρ
    Cases differ. Each has its own accuracy, p ~ Beta(a (1 − ρ) / ρ, (1 − a) (1 − ρ) / ρ), so that r is beta-binomial
    and the correctness of any two raters has the correlation ρ. For raters of equal accuracy.
spread s
    Cases differ, and raters too: logit P(rater i is right) = θ_i + s z, z ~ N(0, 1) for each case, as in the Rasch
    model, θ_i such that rater i is right in a share a_i of all cases. The integral over z is a trapezoidal sum.

The first is the rosiest: shared errors do not cancel. With L > 2 labels the wrong votes fall evenly on the other L − 1,
each for itself, the label with the most votes wins, and those that tie share; r is as above.

Condorcet 1785; Grofman B, Owen G, Feld SL. Thirteen theorems in search of the truth. Theory Decis 1983;15:261–278.
doi:10.1007/BF00125672. Ladha KK. The Condorcet jury theorem, free speech, and correlated votes. Am J Polit Sci
1992;36:617–634. doi:10.2307/2111584. Cabitza F et al. Appl Sci 2020;10:4014, Fig. 3. doi:10.3390/app10114014

How many raters a wanted accuracy takes, and how far panels differ.

For odd k the majority gains by two more raters ::

    g(k + 2) − g(k) = C(2m − 1, m) E[(p (1 − p))^m (2p − 1)],    k = 2m − 1

p being the accuracy in a case: always more where raters are right more often than not. Correlated errors set a ceiling,
the share of cases with p > ½ (with L labels p > 1 / L): in the others more raters only make the error surer.

Cabitza F et al. Appl Sci 2020;10:4014, Figs. 1 and 2. doi:10.3390/app10114014
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import CallError
from ...core.labels import MOST_LABELS
from ..ratings import Values

REACH = 8.5
"""Standard deviations to which the normal is summed; beyond lie less than 1e-16."""


def majority_accuracy(
    k: int, accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0, labels: int = 2
) -> float:
    """The chance that the majority (with more labels, the plurality) of k raters is right; ties count their share.

    Parameters
    ----------
    accuracy
        Of every rater, or one number each.
    correlation
        ρ, from 0 to 1, between the errors of raters of equal accuracy.
    spread
        s, for raters who differ: how far the cases' difficulties spread, in logits.

    >>> round(majority_accuracy(3, 0.85), 5), round(majority_accuracy(3, [0.8, 0.9, 0.85]), 5)
    (0.93925, 0.941)
    >>> round(majority_accuracy(3, 0.85, correlation=0.3), 4)
    0.8836
    """
    return float(right_votes(k, accuracy, correlation=correlation, spread=spread) @ wins(k, checked_labels(labels)))


def right_votes(k: int, accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0) -> Values:
    """The chances that 0, 1, …, k raters are right."""
    panel = checked_panel(k, accuracy)
    check_model(correlation, spread)
    if spread:
        z, weight = normal_nodes(spread)
        return np.asarray(weight @ convolved(case_accuracy(panel, spread, z)))
    if not correlation:
        return convolved(panel)
    if np.ptp(panel) > 0:
        raise CallError("correlation= is for raters of equal accuracy; for raters who differ give spread=")
    *_, last = urn(k, panel[0], np.float64(correlation))
    return last


def slim_share(k: int, accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0) -> float:
    """The share of cases with a slim majority: by one vote, so that one rater could turn it; k is odd, labels two.

    >>> [slim_share(k, 0.5) for k in (3, 5, 7)]
    [0.75, 0.625, 0.546875]
    """
    if k % 2 == 0:
        raise CallError(f"a majority by one vote wants an odd number of raters; got {k}")
    votes = right_votes(k, accuracy, correlation=correlation, spread=spread)
    return float(votes[k // 2] + votes[k // 2 + 1])


def convolved(accuracy: Values) -> Values:
    """(…, k) accuracies of independent raters to the (…, k + 1) chances of so many right votes."""
    k = accuracy.shape[-1]
    votes = np.zeros((*accuracy.shape[:-1], k + 1))
    votes[..., 0] = 1
    for i in range(k):
        right = accuracy[..., i, None]
        moved = votes[..., : i + 1] * right
        votes[..., : i + 1] *= 1 - right
        votes[..., 1 : i + 2] += moved
    return votes


def urn(most: int, accuracy: ArrayLike, correlation: ArrayLike) -> Iterator[Values]:
    """The beta-binomial for k = 1, 2, …, ``most``, for any number of accuracies and correlations at once.

    Pólya's urn: after s right votes of n, the next is right with the chance (a (1 − ρ) + s ρ) / (1 − ρ + n ρ).
    """
    a, rho = np.broadcast_arrays(np.asarray(accuracy, np.float64), np.asarray(correlation, np.float64))
    a, rho = a[..., None], rho[..., None]
    votes = np.ones((*a.shape[:-1], 1))
    for n in range(most):
        right = (a * (1 - rho) + np.arange(n + 1) * rho) / (1 - rho + n * rho) if n else a
        longer = np.zeros((*votes.shape[:-1], n + 2))
        longer[..., :-1] = votes * (1 - right)
        longer[..., 1:] += votes * right
        votes = longer
        yield votes


@lru_cache(maxsize=256)
def wins(k: int, labels: int) -> Values:
    """(k + 1): the chance that so many right votes of k win."""
    if labels == 2:
        return np.asarray((np.sign(2 * np.arange(k + 1) - k) + 1) / 2)
    return np.array([0.0, *(_win(right, k - right, labels - 1) for right in range(1, k + 1))])


def _win(right: int, wrong: int, others: int) -> float:
    """That ``wrong`` votes, evenly over the others, leave each at most ``right``; where t are level, 1 / (t + 1).

    Votes by label are independent Poisson numbers given their sum; those below ``right`` are convolved.
    """
    if not wrong:
        return 1.0
    count = np.arange(wrong + 1)
    factorial = np.array([math.lgamma(n + 1) for n in count])
    chance = np.exp(-wrong / others + count * math.log(wrong / others) - factorial)
    below = np.where(count < right, chance, 0.0)
    level = min(others, wrong // right)
    lower, total = _power(below, others - level), 0.0
    for t in range(level, -1, -1):
        share = math.comb(others, t) * chance[right] ** t / (t + 1) if t else 1.0
        total += share * lower[wrong - t * right]
        lower = np.convolve(lower, below)[: wrong + 1]
    return float(total / math.exp(-wrong + wrong * math.log(wrong) - factorial[wrong]))


def _power(series: Values, exponent: int) -> Values:
    """A power series to a power, cut at its length."""
    out = np.zeros_like(series)
    out[0] = 1
    for bit in f"{exponent:b}":
        out = np.convolve(out, out)[: len(series)]
        if bit == "1":
            out = np.convolve(out, series)[: len(series)]
    return out


def normal_nodes(spread: float) -> tuple[Values, Values]:
    """Places and weights of a trapezoidal sum over a standard normal.

    For functions that have no pole nearer than π / spread to the real line its error falls exponentially with the
    number of places, faster than that of Gauss–Hermite sums (Trefethen and Weideman 2014, doi:10.1137/130932132).
    """
    z = np.linspace(-REACH, REACH, 401 + 2 * round(20 * spread))
    weight = np.exp(-(z**2) / 2)
    return z, weight / weight.sum()


def case_accuracy(panel: Values, spread: float, z: Values) -> Values:
    """(places, raters): how often each rater is right in cases of easiness z, so that his mean is his accuracy."""
    nodes, weight = normal_nodes(spread)
    low, high = np.full(len(panel), -60 * (1 + spread)), np.full(len(panel), 60 * (1 + spread))
    for _ in range(80):
        theta = (low + high) / 2
        less = weight @ logistic(theta + spread * nodes[:, None]) < panel
        low, high = np.where(less, theta, low), np.where(less, high, theta)
    found = logistic((low + high) / 2 + spread * z[:, None])
    return np.where((panel == 0) | (panel == 1), panel, found)


def logistic(x: Values) -> Values:
    """1 / (1 + exp(−x)), whatever the size of x."""
    return np.asarray((1 + np.tanh(x / 2)) / 2)


def pair_correlation(accuracy: ArrayLike, spread: float) -> float:
    """The mean correlation between two raters' being right, under a spread; the same number as ρ of equal raters.

    >>> round(pair_correlation([0.85, 0.85], 2.0), 3)
    0.322
    """
    panel = np.atleast_1d(np.asarray(accuracy, np.float64))
    checked_panel(len(panel), panel)
    check_model(0.0, spread)
    if len(panel) < 2 or ((panel == 0) | (panel == 1)).any():
        raise CallError(f"a correlation wants two raters or more who are neither always nor never right; got {panel}")
    z, weight = normal_nodes(spread)
    right = case_accuracy(panel, spread, z)
    both = (right * weight[:, None]).T @ right - np.outer(panel, panel)
    error = np.sqrt(panel * (1 - panel))
    return float((both / np.outer(error, error))[np.triu_indices(len(panel), 1)].mean())


def spread_for(accuracy: ArrayLike, correlation: float, widest: float = 50.0) -> float:
    """The spread that gives raters this mean correlation, where one does."""
    check_model(correlation, 0.0)
    if not correlation:
        return 0.0
    reached = pair_correlation(accuracy, widest)
    if reached < correlation:
        raise CallError(f"raters of such accuracies have a mean correlation below {reached:.2f}; got {correlation:g}")
    low, high = 0.0, widest
    while high - low > 1e-10 * widest:
        middle = (low + high) / 2
        low, high = (middle, high) if pair_correlation(accuracy, middle) < correlation else (low, middle)
    return high


def checked_panel(k: int, accuracy: ArrayLike) -> Values:
    """One accuracy for each of k raters."""
    if k < 1 or k != int(k):
        raise CallError(f"a panel has one rater or more; got {k}")
    values = np.asarray(accuracy, np.float64)
    if values.ndim > 1 or values.size not in (1, k):
        raise CallError(f"accuracy is one number, or one for each of {k} raters; got {values.size}")
    if not ((values >= 0) & (values <= 1)).all():
        raise CallError(f"accuracy runs from 0 to 1; got {values.min():g} to {values.max():g}")
    return np.array(np.broadcast_to(values, int(k)))


def check_model(correlation: float, spread: float) -> None:
    """A correlation, a spread, or neither."""
    if not 0 <= correlation <= 1:
        raise CallError(f"correlation runs from 0 to 1; got {correlation:g}")
    if not 0 <= spread <= 50:
        raise CallError(f"spread runs from 0 to 50 logits; got {spread:g}")
    if correlation and spread:
        raise CallError("give correlation= (raters of equal accuracy) or spread= (raters who differ), not both")


def checked_labels(labels: int) -> int:
    """Two labels or more, and not more than a mask holds."""
    if not 2 <= labels <= MOST_LABELS or labels != int(labels):
        raise CallError(f"there are two to {MOST_LABELS} labels; got {labels}")
    return int(labels)


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

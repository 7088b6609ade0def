"""Accuracy of the majority of k raters, and the number of raters that a wanted accuracy requires.

With r correct votes of k, the majority is correct if r > k / 2, and half of the time if r = k / 2; so an even k gains
nothing over k − 1. There are three models of r:

independent
    r is binomial, or Poisson-binomial if accuracies a_i differ: exact, by convolution.
correlation ρ
    Cases differ. Each has its own accuracy, p ~ Beta(a (1 − ρ) / ρ, (1 − a) (1 − ρ) / ρ), so r is beta-binomial and the
    correctness of any two raters has correlation ρ. For raters of equal accuracy.
spread s
    Cases and raters differ: logit P(rater i is correct) = θ_i + s z with z ~ N(0, 1) for each case, as in the Rasch
    model, with θ_i such that rater i is correct in a share a_i of all cases. The integral over z is a trapezoidal sum.

Independence is the most optimistic model: shared errors do not cancel. With L > 2 labels, wrong votes are distributed
evenly and independently over the other L − 1 labels, the most frequent label wins, and ties share; r is as above.

For odd k, two more raters improve the majority by ::

    g(k + 2) − g(k) = C(2m − 1, m) E[(p (1 − p))^m (2p − 1)],    k = 2m − 1

with p the accuracy in a case: always an improvement if raters are correct more often than not. Correlated errors set a
ceiling, the share of cases with p > ½ (with L labels, p > 1 / L): in the other cases more raters only confirm the
error.

Condorcet 1785; Grofman B, Owen G, Feld SL. Thirteen theorems in search of the truth. Theory Decis 1983;15:261–278.
doi:10.1007/BF00125672. Ladha KK. The Condorcet jury theorem, free speech, and correlated votes. Am J Polit Sci
1992;36:617–634. doi:10.2307/2111584. Cabitza F et al. Appl Sci 2020;10:4014, Figs. 1 to 3. doi:10.3390/app10114014
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
from ...core.labels import MAX_LABELS
from ..ratings import Values

REACH = 8.5
"""Standard deviations up to which the normal distribution is summed; less than 1e-16 lies beyond."""
MAX_PANEL = 10_001
"""Largest panel that is searched."""
MAX_PLURALITY_PANEL = 99
"""Largest panel for more than two labels, where every size is computed separately."""


def majority_accuracy(
    n_raters: int, accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0, n_labels: int = 2
) -> float:
    """Probability that the majority (with more than two labels, the plurality) is correct; ties count in part.

    Parameters
    ----------
    n_raters : int
        Size of the panel.
    accuracy : float or array_like
        Accuracy of all raters, or one number for each.
    correlation : float
        Correlation of the errors of raters of equal accuracy, from 0 to 1.
    spread : float
        Standard deviation of the cases' difficulty in logits, for raters who differ.
    n_labels : int
        Number of labels.

    Returns
    -------
    float
        The probability.

    References
    ----------
    Grofman B, Owen G, Feld SL. Thirteen theorems in search of the truth. Theory Decis 1983;15:261–278.
    doi:10.1007/BF00125672
    Ladha KK. The Condorcet jury theorem, free speech, and correlated votes. Am J Polit Sci 1992;36:617–634.
    doi:10.2307/2111584

    Examples
    --------
    >>> round(majority_accuracy(3, 0.85), 5), round(majority_accuracy(3, [0.8, 0.9, 0.85]), 5)
    (0.93925, 0.941)
    >>> round(majority_accuracy(3, 0.85, correlation=0.3), 4)
    0.8836
    """
    votes = correct_votes(n_raters, accuracy, correlation=correlation, spread=spread)
    return float(votes @ win_probability(n_raters, check_labels(n_labels)))


def correct_votes(k: int, accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0) -> Values:
    """Probabilities that 0, 1, …, k raters are correct."""
    panel = panel_accuracies(k, accuracy)
    check_model(correlation, spread)
    if spread:
        z, weight = normal_nodes(spread)
        return np.asarray(weight @ convolve_votes(case_accuracy(panel, spread, z)))
    if not correlation:
        return convolve_votes(panel)
    if np.ptp(panel) > 0:
        raise CallError("correlation= is for raters of equal accuracy; use spread= for raters who differ")
    *_, last = beta_binomial_votes(k, panel[0], np.float64(correlation))
    return last


def slim_majority_share(n_raters: int, accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0) -> float:
    """Share of cases that are decided by one vote, for an odd number of raters and two labels.

    Parameters
    ----------
    n_raters : int
        Size of the panel; odd.
    accuracy : float or array_like
        Accuracy of all raters, or one number for each.
    correlation : float
        Correlation of the errors of raters of equal accuracy, from 0 to 1.
    spread : float
        Standard deviation of the cases' difficulty in logits, for raters who differ.

    Returns
    -------
    float
        The share, from 0 to 1.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> [slim_majority_share(k, 0.5) for k in (3, 5, 7)]
    [0.75, 0.625, 0.546875]
    """
    if n_raters % 2 == 0:
        raise CallError(f"n_raters must be odd for a majority by one vote; got {n_raters}")
    votes = correct_votes(n_raters, accuracy, correlation=correlation, spread=spread)
    return float(votes[n_raters // 2] + votes[n_raters // 2 + 1])


def convolve_votes(accuracy: Values) -> Values:
    """Probabilities (…, k + 1) of each number of correct votes, from accuracies (…, k) of independent raters."""
    k = accuracy.shape[-1]
    votes = np.zeros((*accuracy.shape[:-1], k + 1))
    votes[..., 0] = 1
    for i in range(k):
        right = accuracy[..., i, None]
        moved = votes[..., : i + 1] * right
        votes[..., : i + 1] *= 1 - right
        votes[..., 1 : i + 2] += moved
    return votes


def beta_binomial_votes(largest: int, accuracy: ArrayLike, correlation: ArrayLike) -> Iterator[Values]:
    """Beta-binomial distributions for k = 1, 2, …, ``largest``, for any number of accuracies and correlations at once.

    By Pólya's urn: after s correct votes of n, the next is correct with probability
    (a (1 − ρ) + s ρ) / (1 − ρ + n ρ).
    """
    a, rho = np.broadcast_arrays(np.asarray(accuracy, np.float64), np.asarray(correlation, np.float64))
    a, rho = a[..., None], rho[..., None]
    votes = np.ones((*a.shape[:-1], 1))
    for n in range(largest):
        right = (a * (1 - rho) + np.arange(n + 1) * rho) / (1 - rho + n * rho) if n else a
        longer = np.zeros((*votes.shape[:-1], n + 2))
        longer[..., :-1] = votes * (1 - right)
        longer[..., 1:] += votes * right
        votes = longer
        yield votes


@lru_cache(maxsize=256)
def win_probability(k: int, labels: int) -> Values:
    """(k + 1): probability that each number of correct votes of k wins."""
    if labels == 2:
        return np.asarray((np.sign(2 * np.arange(k + 1) - k) + 1) / 2)
    return np.array([0.0, *(_win(right, k - right, labels - 1) for right in range(1, k + 1))])


def _win(right: int, wrong: int, others: int) -> float:
    """Probability that no other label gets more votes than the correct one; 1 / (t + 1) if t labels tie with it.

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
    """A truncated power series to a power."""
    out = np.zeros_like(series)
    out[0] = 1
    for bit in f"{exponent:b}":
        out = np.convolve(out, out)[: len(series)]
        if bit == "1":
            out = np.convolve(out, series)[: len(series)]
    return out


def normal_nodes(spread: float) -> tuple[Values, Values]:
    """Nodes and weights of a trapezoidal sum over a standard normal distribution.

    For functions without a pole nearer than π / spread to the real line, its error decreases exponentially with the
    number of nodes, faster than that of Gauss–Hermite sums (Trefethen and Weideman 2014, doi:10.1137/130932132).
    """
    z = np.linspace(-REACH, REACH, 401 + 2 * round(20 * spread))
    weight = np.exp(-(z**2) / 2)
    return z, weight / weight.sum()


def case_accuracy(panel: Values, spread: float, z: Values) -> Values:
    """(nodes, raters): accuracy of each rater in cases of easiness z; its mean over z is the rater's accuracy."""
    nodes, weight = normal_nodes(spread)
    low, high = np.full(len(panel), -60 * (1 + spread)), np.full(len(panel), 60 * (1 + spread))
    for _ in range(80):
        theta = (low + high) / 2
        less = weight @ logistic(theta + spread * nodes[:, None]) < panel
        low, high = np.where(less, theta, low), np.where(less, high, theta)
    accuracy = logistic((low + high) / 2 + spread * z[:, None])
    return np.where((panel == 0) | (panel == 1), panel, accuracy)


def logistic(x: Values) -> Values:
    """1 / (1 + exp(−x)), without overflow."""
    return np.asarray((1 + np.tanh(x / 2)) / 2)


def pair_correlation(accuracy: ArrayLike, spread: float) -> float:
    """Mean correlation of two raters' correctness, given a spread; for raters of equal accuracy this is ρ.

    >>> round(pair_correlation([0.85, 0.85], 2.0), 3)
    0.322
    """
    panel = np.atleast_1d(np.asarray(accuracy, np.float64))
    panel_accuracies(len(panel), panel)
    check_model(0.0, spread)
    if len(panel) < 2 or ((panel == 0) | (panel == 1)).any():
        raise CallError(f"a correlation needs at least two raters, with accuracies between 0 and 1; got {panel}")
    z, weight = normal_nodes(spread)
    right = case_accuracy(panel, spread, z)
    both = (right * weight[:, None]).T @ right - np.outer(panel, panel)
    error = np.sqrt(panel * (1 - panel))
    return float((both / np.outer(error, error))[np.triu_indices(len(panel), 1)].mean())


def spread_for_correlation(accuracy: ArrayLike, correlation: float, widest: float = 50.0) -> float:
    """The spread that gives raters this mean correlation."""
    check_model(correlation, 0.0)
    if not correlation:
        return 0.0
    reached = pair_correlation(accuracy, widest)
    if reached < correlation:
        raise CallError(f"correlation must be below {reached:.2f} for raters of such accuracies; got {correlation:g}")
    low, high = 0.0, widest
    while high - low > 1e-10 * widest:
        middle = (low + high) / 2
        low, high = (middle, high) if pair_correlation(accuracy, middle) < correlation else (low, middle)
    return high


def panel_accuracies(k: int, accuracy: ArrayLike) -> Values:
    """One accuracy for each of k raters."""
    if k < 1 or k != int(k):
        raise CallError(f"n_raters must be a whole number of at least 1; got {k}")
    values = np.asarray(accuracy, np.float64)
    if values.ndim > 1 or values.size not in (1, k):
        raise CallError(f"accuracy must be one number, or one for each of {k} raters; got {values.size}")
    if not ((values >= 0) & (values <= 1)).all():
        raise CallError(f"accuracy must be from 0 to 1; got {values.min():g} to {values.max():g}")
    return np.array(np.broadcast_to(values, int(k)))


def check_model(correlation: float, spread: float) -> None:
    """Reject correlation and spread together, or out of range."""
    if not 0 <= correlation <= 1:
        raise CallError(f"correlation must be from 0 to 1; got {correlation:g}")
    if not 0 <= spread <= 50:
        raise CallError(f"spread must be from 0 to 50 logits; got {spread:g}")
    if correlation and spread:
        raise CallError("give correlation= (raters of equal accuracy) or spread= (raters who differ), not both")


def check_labels(labels: int) -> int:
    """The number of labels, if it is at least two and not more than a mask can hold."""
    if not 2 <= labels <= MAX_LABELS or labels != int(labels):
        raise CallError(f"n_labels must be from 2 to {MAX_LABELS}; got {labels}")
    return int(labels)


# -- the number of raters needed -------------------------------------------------------------------


@dataclass(frozen=True)
class RatersNeeded:
    """Result of :func:`raters_needed`: the smallest panel that reaches an accuracy, or why none does.

    Attributes
    ----------
    wanted : float
        Accuracy that the majority is to have.
    accuracy : float
        Accuracy of a rater; the mean if they differ.
    n_raters : int or None
        Odd if there are two labels; None if no panel is large enough.
    reached : float
        Accuracy of this panel; if no panel is large enough, of the best one.
    ceiling : float
        Accuracy of infinitely many raters.
    reason : str
        Why no panel is large enough.
    """

    wanted: float
    accuracy: float
    n_raters: int | None
    reached: float
    ceiling: float
    reason: str = ""


@dataclass(frozen=True, eq=False)
class PanelBand:
    """Accuracy of the majority in panels drawn from a population of raters (Fig. 2)."""

    sizes: tuple[int, ...]
    average: Values
    low: Values
    """Of the worst panel drawn."""
    high: Values
    """Of the best panel drawn."""


def raters_needed(
    wanted: float, accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0, n_labels: int = 2
) -> RatersNeeded:
    """The smallest panel whose majority has a wanted accuracy.

    Parameters
    ----------
    wanted : float
        Accuracy that the majority is to have, between 0 and 1.
    accuracy : float or array_like
        Accuracy of the raters. Different accuracies are those of a population from which raters are drawn; for
        independent raters only their mean matters.
    correlation : float
        Correlation of the errors of raters of equal accuracy, from 0 to 1.
    spread : float
        Standard deviation of the cases' difficulty in logits, for raters who differ.
    n_labels : int
        Number of labels.

    Returns
    -------
    RatersNeeded
        The size of the panel and its accuracy, or why no panel is large enough.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> raters_needed(0.95, 0.85).n_raters
    5
    >>> raters_needed(0.95, 0.85, correlation=0.3).reason
    'with errors that correlate by 0.3 no panel is right in more than 0.921 of the cases'
    """
    if not 0 < wanted < 1:
        raise CallError(f"wanted must be between 0 and 1; got {wanted:g}")
    population = panel_accuracies(np.size(accuracy), accuracy)
    a, top = float(population.mean()), ceiling(population, correlation=correlation, spread=spread, n_labels=n_labels)
    if a >= wanted:
        return RatersNeeded(wanted, a, 1, a, top)
    if a <= 1 / n_labels:
        why = f"raters with accuracy {a:g} are no better than chance; adding raters does not help"
        return RatersNeeded(wanted, a, None, a, top, why)
    sizes, reached = _accuracy_by_size(population, correlation, spread, n_labels)
    # allow for rounding
    enough = np.flatnonzero(reached >= wanted - 1e-12)
    if enough.size and wanted < top:
        return RatersNeeded(wanted, a, int(sizes[enough[0]]), float(reached[enough[0]]), top)
    return RatersNeeded(wanted, a, None, float(reached.max()), top, _why(wanted, top, correlation, spread, sizes))


def _why(wanted: float, top: float, correlation: float, spread: float, sizes: Values) -> str:
    if wanted < top:
        return f"more than {sizes[-1]:,.0f} raters would be needed"
    cause = f"errors that correlate by {correlation:g}" if correlation else f"cases that spread by {spread:g} logits"
    return f"with {cause} no panel is right in more than {top:.3f} of the cases"


def _accuracy_by_size(population: Values, correlation: float, spread: float, n_labels: int) -> tuple[Values, Values]:
    """Sizes of panels, and the accuracy of each."""
    if n_labels == 2:
        sizes = np.arange(1.0, MAX_PANEL + 1, 2)
        return sizes, odd_majority_accuracies(population, correlation, spread, len(sizes))
    model = {"correlation": correlation, "spread": spread}
    panels = range(1, MAX_PLURALITY_PANEL + 1)
    reached = [random_panel_votes(k, population, **model) @ win_probability(k, n_labels) for k in panels]
    return np.array(panels, np.float64), np.array(reached)


def random_panel_votes(k: int, population: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0) -> Values:
    """Probabilities of 0, 1, …, k correct votes of raters drawn at random from a population."""
    raters = panel_accuracies(np.size(population), population)
    check_model(correlation, spread)
    if not spread:
        return correct_votes(k, raters.mean(), correlation=correlation)
    z, weight = normal_nodes(spread)
    mean = case_accuracy(raters, spread, z).mean(axis=1, keepdims=True)
    return np.asarray(weight @ convolve_votes(np.repeat(mean, k, axis=1)))


def odd_majority_accuracies(population: Values, correlation: float, spread: float, count: int) -> Values:
    """Accuracy of the majority for the first ``count`` odd panel sizes, of raters drawn from a population."""
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


def ceiling(accuracy: ArrayLike, *, correlation: float = 0.0, spread: float = 0.0, n_labels: int = 2) -> float:
    """Accuracy of the majority of infinitely many raters: the share of cases that most raters get right."""
    population, chance = panel_accuracies(np.size(accuracy), accuracy), 1 / check_labels(n_labels)
    check_model(correlation, spread)
    a = float(population.mean())
    if spread:
        return _share_above(population, spread, chance)
    # for a lower correlation the Beta distribution is a point in double precision
    if correlation < 1e-12 or a in (0, 1):
        return chance if a == chance else float(a > chance)
    if correlation == 1:
        return a
    from scipy.special import betaincc

    whole = (1 - correlation) / correlation
    return float(betaincc(a * whole, (1 - a) * whole, chance))


def _share_above(population: Values, spread: float, chance: float) -> float:
    """Share of cases so easy that raters are better than chance; accuracy increases with easiness z."""
    low, high = -REACH, REACH
    for _ in range(60):
        z = (low + high) / 2
        beats = float(case_accuracy(population, spread, np.array([z])).mean()) > chance
        low, high = (low, z) if beats else (z, high)
    return NormalDist().cdf(-high)


def majority_band(
    sizes: Sequence[int],
    mean: float = 0.85,
    std: float = 0.01,
    *,
    population: int = 100,
    samples: int = 1000,
    seed: int = 0,
) -> PanelBand:
    """Average, lowest and highest accuracy of the majority over random panels of independent raters (Fig. 2).

    ``population`` raters have accuracies from a normal distribution, truncated at 0 and 1; every sample draws a panel
    of each size without replacement, and the accuracy of its majority is exact. For two labels.

    >>> band = majority_band([3], 0.85, 0.01)
    >>> bool(band.low[0] < 0.939 < band.high[0])
    True
    """
    if not 0 <= mean <= 1 or std < 0:
        raise CallError(f"mean must be from 0 to 1 and std 0 or more; got {mean:g} and {std:g}")
    if not sizes or min(sizes) < 1 or max(sizes) > population or samples < 1:
        raise CallError(
            f"panels must have 1 to {population} raters, and samples must be at least 1; got {sizes} and {samples}"
        )
    random = np.random.default_rng(seed)
    raters = np.clip(random.normal(mean, std, population), 0, 1)
    reached = []
    for size in sizes:
        panels = random.permuted(np.broadcast_to(raters, (samples, population)), axis=1)[:, :size]
        reached.append(convolve_votes(panels) @ win_probability(size, 2))
    by_size = np.stack(reached)
    return PanelBand(tuple(sizes), by_size.mean(axis=1), by_size.min(axis=1), by_size.max(axis=1))

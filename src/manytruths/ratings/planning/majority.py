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
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import CallError
from ...core.labels import MAX_LABELS
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
    if not 2 <= labels <= MAX_LABELS or labels != int(labels):
        raise CallError(f"there are two to {MAX_LABELS} labels; got {labels}")
    return int(labels)

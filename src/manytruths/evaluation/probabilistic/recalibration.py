"""Recalibration: what a probability should have been, learnt on some cases and applied to others.

**Temperature**: p becomes σ(logit(p) / T), with the T > 0 of the largest likelihood (Guo et al. 2017). One number is
learnt, and the order of pixels is kept. Probabilities of exactly 0 and 1 stay what they are at every T, so they take no
part in the estimate; how many there are is said.

**Isotonic regression**: the non-decreasing function of p with the smallest Brier score, by pooling neighbouring values
that are out of order. Between the values that were seen it is a straight line, beyond them constant.

Both are learnt from counts by value (:func:`count_forecasts`), added over the cases of a split, and take as long for a
thousand cases as for one. A split without cases, a constant map and raters who marked nothing are refused.

References
----------
Guo C et al. On calibration of modern neural networks. ICML 2017. doi:10.48550/arXiv.1706.04599. Zadrozny B, Elkan C.
Transforming classifier scores into accurate multiclass probability estimates. KDD 2002:694–699.
doi:10.1145/775047.775151
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.columns import Column
from ...core.errors import InputError
from ..responses import Responses
from .forecasts import ForecastCounts, Raters, Region, Values, check_probability, count_forecasts

LEAST_RATE, MOST_RATE = 1e-6, 1e6
"""Inverse temperatures between which the best is looked for."""


@dataclass(frozen=True)
class Temperature:
    """A temperature by which logits are divided."""

    temperature: float
    """Above 1 where the forecast is too sure of itself, below 1 where it is not sure enough."""
    items: float
    """How many pixels, or decisions, it was learnt from."""
    certain: float
    """How many more had a probability of exactly 0 or 1, which no temperature changes."""

    def apply(self, probability: ArrayLike) -> NDArray[np.float64]:
        """Recalibrate a probability map.

        Parameters
        ----------
        probability : array_like
            From 0 to 1.

        Returns
        -------
        numpy.ndarray
            Of the same shape.
        """
        from scipy.special import expit, logit

        check_probability(probability)
        return np.asarray(expit(logit(np.asarray(probability, np.float64)) / self.temperature))


def fit_temperature(
    probability: ArrayLike | Responses | ForecastCounts,
    masks: Raters | None = None,
    *,
    reference: str | Column = "raters",
    region: Region = "image",
    label: int | str | None = None,
) -> Temperature:
    """Learn the temperature under which what raters marked is most likely.

    Parameters
    ----------
    probability : array_like, Responses or ForecastCounts
        As for :func:`count_forecasts`; counts of several cases are added first.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks.
    reference : str or Column
        As for :func:`count_forecasts`.
    region : {"image", "union"}
        All pixels, or those that any rater marked.
    label : int or str, optional
        The label that the map is of.

    Returns
    -------
    Temperature
        With a method ``apply(probability)``.

    References
    ----------
    Guo C et al. ICML 2017. doi:10.48550/arXiv.1706.04599

    Examples
    --------
    >>> masks = {"A": [1, 1, 1, 0, 0, 0], "B": [1, 1, 0, 1, 0, 0]}
    >>> found = fit_temperature([0.99, 0.99, 0.99, 0.01, 0.01, 0.01], masks)
    >>> round(found.temperature, 3), found.apply([0.99]).round(3)
    (2.855, array([0.833]))
    """
    from scipy.optimize import brentq
    from scipy.special import expit, logit

    counts = _usable(count_forecasts(probability, masks, reference=reference, region=region, label=label))
    between = (counts.values > 0) & (counts.values < 1)
    n, y, certain = counts.counts[between], counts.observed[between], float(counts.counts[~between].sum())
    if not between.any():
        raise InputError("every probability is 0 or 1, which no temperature changes")
    z = logit(counts.values[between])

    def slope(rate: float) -> float:
        """The derivative of minus the logarithm of the likelihood, which rises with the rate."""
        return float(n @ (z * expit(rate * z)) - y @ z)

    if slope(LEAST_RATE) >= 0:
        raise InputError(
            "what raters marked speaks against the map, so that the best temperature is infinite: one half everywhere "
            "is more likely; an isotonic function may do better"
        )
    if slope(MOST_RATE) <= 0:
        raise InputError("raters marked exactly what the map calls more likely than not: the best temperature is 0")
    rate = brentq(slope, LEAST_RATE, MOST_RATE, xtol=1e-12, rtol=1e-12)
    return Temperature(1 / rate, float(n.sum()), certain)


@dataclass(frozen=True, eq=False)
class Isotonic:
    """A non-decreasing function of probabilities."""

    values: Values
    """Probabilities at which it bends, ascending."""
    calibrated: Values
    """What becomes of them."""
    items: float
    """How many pixels, or decisions, it was learnt from."""

    def __repr__(self) -> str:
        return f"<Isotonic of {len(self.values):,} values learnt from {self.items:,.0f} items>"

    def apply(self, probability: ArrayLike) -> NDArray[np.float64]:
        """Recalibrate a probability map.

        Parameters
        ----------
        probability : array_like
            From 0 to 1.

        Returns
        -------
        numpy.ndarray
            Of the same shape.
        """
        check_probability(probability)
        return np.asarray(np.interp(np.asarray(probability, np.float64), self.values, self.calibrated))


def fit_isotonic(
    probability: ArrayLike | Responses | ForecastCounts,
    masks: Raters | None = None,
    *,
    reference: str | Column = "raters",
    region: Region = "image",
    label: int | str | None = None,
) -> Isotonic:
    """Learn the non-decreasing function of the probability with the smallest Brier score.

    Parameters
    ----------
    probability : array_like, Responses or ForecastCounts
        As for :func:`count_forecasts`; counts of several cases are added first.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks.
    reference : str or Column
        As for :func:`count_forecasts`.
    region : {"image", "union"}
        All pixels, or those that any rater marked.
    label : int or str, optional
        The label that the map is of.

    Returns
    -------
    Isotonic
        With a method ``apply(probability)``.

    References
    ----------
    Zadrozny B, Elkan C. KDD 2002:694–699. doi:10.1145/775047.775151

    Examples
    --------
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> fit_isotonic([0.9, 0.6, 0.2, 0.3], masks).apply([0.9, 0.6, 0.25])
    array([1. , 0.5, 0. ])
    """
    counts = _usable(count_forecasts(probability, masks, reference=reference, region=region, label=label))
    calibrated = pool_violators(counts.observed / counts.counts, counts.counts)
    # within a block of equal values only its ends matter
    bends = np.ones(len(calibrated), bool)
    bends[1:-1] = (calibrated[1:-1] != calibrated[:-2]) | (calibrated[1:-1] != calibrated[2:])
    return Isotonic(counts.values[bends], calibrated[bends], counts.items)


def pool_violators(values: Values, weights: Values) -> Values:
    """The closest non-decreasing values in the sense of weighted least squares.

    >>> pool_violators(np.array([1.0, 3.0, 2.0]), np.ones(3))
    array([1. , 2.5, 2.5])
    """
    means: list[float] = []
    masses: list[float] = []
    sizes: list[int] = []
    for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
        size = 1
        while means and means[-1] >= value:
            before, mass = means.pop(), masses.pop()
            value = (value * weight + before * mass) / (weight + mass)
            weight, size = weight + mass, size + sizes.pop()
        means.append(value)
        masses.append(weight)
        sizes.append(size)
    return np.repeat(np.array(means), sizes)


def _usable(counts: ForecastCounts) -> ForecastCounts:
    if not counts.items:
        raise InputError(f"there is nothing to learn from: {counts.why_empty.reason}")
    if counts.constant:
        raise InputError(
            f"the map is {counts.values[0]:g} everywhere, so that there is no function of it to learn; "
            "the share that raters marked is its prevalence"
        )
    if not 0 < counts.observed.sum() < counts.items:
        raise InputError("raters marked nothing, or everything: there is nothing to learn from; give more cases")
    return counts

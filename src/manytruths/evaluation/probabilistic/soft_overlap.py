"""Dice of a probability map with the vote share: over thresholds, as the QUBIQ challenge scores it, and continuous.

With p the map and s the share of the raters of a pixel who marked it, ``soft_dice`` is the mean, over thresholds t, of
the Dice of {p ≥ t} and {s ≥ t}. QUBIQ takes t = 0.1, 0.2, …, 0.9. What to know of it:

- Shares of five raters lie on thresholds, so that ≥ and > give different scores; here it is ≥, and shares are compared
  as fractions, not as rounded numbers.
- With R raters there are only R different sets {s ≥ t}. Of three raters, each is compared at three thresholds with
  three sets {p ≥ t}, and p = s is best, but any p with the same sets at nine thresholds scores as much.
- A threshold at which neither has a pixel counts as 1, such as 0.9 where raters never all agree and no p is above it.
  The description of the challenge does not say. Where no threshold has a pixel, the score is undefined.
- Dice is not a proper score: to state one's true probabilities does not give the best expected value.

``continuous_dice`` needs no threshold. Its form ``"minimum"``, 2 Σ min(p, s) / (Σ p + Σ s), is 1 only for p = s;
Σ min(p, s) is the integral of |{p ≥ t} ∩ {s ≥ t}| over t. The forms of losses, ``"product"``, 2 Σ ps / (Σ p + Σ s), and
``"squares"``, 2 Σ ps / (Σ p² + Σ s²), are given beside it; the product is below 1 even for p = s.

References
----------
Li HB et al. QUBIQ: uncertainty quantification for biomedical image segmentation challenge. 2024.
doi:10.48550/arXiv.2405.18435. Milletari F et al. V-Net. 3DV 2016:565–571. doi:10.1109/3DV.2016.79
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import CallError
from ...core.undefined import Undefined
from ..responses import Responses
from .forecasts import Raters, Values, as_responses, observe

QUBIQ_THRESHOLDS = tuple(k / 10 for k in range(1, 10))
"""The thresholds of the QUBIQ challenge."""

Form = Literal["minimum", "product", "squares"]
FORMS: dict[Form, Callable[[Values, Values], tuple[Values, Values]]] = {
    "minimum": lambda p, s: (2 * np.minimum(p, s), p + s),
    "product": lambda p, s: (2 * p * s, p + s),
    "squares": lambda p, s: (2 * p * s, p**2 + s**2),
}
"""Numerator and denominator of a pixel."""


def soft_dice(
    probability: ArrayLike | Responses,
    masks: Raters | None = None,
    *,
    thresholds: Sequence[float] = QUBIQ_THRESHOLDS,
    label: int | str | None = None,
) -> float:
    """Dice of a probability map and the vote share, in the mean over thresholds, as the QUBIQ challenge defines it.

    Parameters
    ----------
    probability : array_like or Responses
        As for :func:`count_forecasts`.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks.
    thresholds : sequence of float
        Above 0, up to 1. Both maps are cut where they are at least as high.
    label : int or str, optional
        The label that the map is of.

    Returns
    -------
    float
        From 0 to 1, the higher the better; a threshold that nothing reaches counts as 1, and the score is undefined
        where nothing reaches any.

    References
    ----------
    Li HB et al. QUBIQ: uncertainty quantification for biomedical image segmentation challenge. 2024.
    doi:10.48550/arXiv.2405.18435

    Examples
    --------
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> round(soft_dice([0.9, 0.6, 0.2, 0.2], masks), 4)
    0.8889
    """
    wanted = np.asarray(thresholds, np.float64)
    if wanted.ndim != 1 or not len(wanted) or not ((wanted > 0) & (wanted <= 1)).all():
        raise CallError(f"thresholds lie above 0, up to 1; got {thresholds!r}")
    responses = as_responses(probability, masks, label)
    votes, number, items = _shares(responses, label)
    values = []
    for t in wanted.tolist():
        # a map in single precision holds 0.7 as 0.69999999
        first = responses.levels[responses.level] >= min(t, float(np.float32(t)))
        second = _at_least(votes, number, t)
        sizes = items @ first + items @ second
        values.append(2 * (items @ (first & second)) / sizes if sizes else np.nan)
    if np.isnan(values).all():
        return Undefined("both_empty")
    return float(np.nan_to_num(values, nan=1.0).mean())


def continuous_dice(
    probability: ArrayLike | Responses,
    masks: Raters | None = None,
    *,
    form: Form = "minimum",
    label: int | str | None = None,
) -> float:
    """Dice of a probability map and the vote share without thresholds.

    Parameters
    ----------
    probability : array_like or Responses
        As for :func:`count_forecasts`.
    masks : dict, sequence or numpy.ndarray of masks, or Tally, optional
        The raters' masks.
    form : {"minimum", "product", "squares"}
        2 Σ min(p, s) / (Σ p + Σ s), which is 1 only for p = s; 2 Σ ps / (Σ p + Σ s); or 2 Σ ps / (Σ p² + Σ s²).
    label : int or str, optional
        The label that the map is of.

    Returns
    -------
    float
        From 0 to 1, the higher the better; :class:`Undefined` where both are 0 everywhere.

    References
    ----------
    Milletari F et al. V-Net. 3DV 2016:565–571. doi:10.1109/3DV.2016.79

    Examples
    --------
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> round(continuous_dice([0.9, 0.6, 0.2, 0.2], masks), 4), continuous_dice([1.0, 0.5, 0, 0], masks)
    (0.8235, 1.0)
    """
    if form not in FORMS:
        raise CallError(f"form is one of {', '.join(FORMS)}; got {form!r}")
    responses = as_responses(probability, masks, label)
    votes, number, items = _shares(responses, label)
    above, below = FORMS[form](responses.levels[responses.level], votes / np.maximum(number, 1))
    whole = float(items @ below)
    return float(items @ above) / whole if whole else Undefined("both_empty")


def _shares(responses: Responses, label: int | str | None) -> tuple[NDArray[np.int64], NDArray[np.int64], Values]:
    """Of every pair of pattern and value: how many raters marked it, how many rated it, and its pixels."""
    observed = observe(responses.tally, "raters", label)
    number = observed.weight.astype(np.int64)[responses.pattern]
    votes = observed.marked[responses.pattern]
    return votes, number, np.where(number > 0, responses.counts, 0).astype(np.float64)


def _at_least(votes: NDArray[np.int64], number: NDArray[np.int64], threshold: float) -> NDArray[np.bool_]:
    """Whether votes / number ≥ threshold, in whole numbers: 0.6 is 3 of 5."""
    exact = Fraction(threshold).limit_denominator(1_000_000)
    return np.asarray((votes * exact.denominator >= number * exact.numerator) & (number > 0))

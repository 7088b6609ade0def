"""The nomogram from agreement to the accuracy of a consensus to the actual accuracy of an algorithm, and back.

For two labels and k independent raters of the same accuracy a > ½ who are sure of their labels ::

    Po = a² + (1 − a)²,   so that   a = (1 + √(2 Po − 1)) / 2
    ρ = a²                                 the share of agreement that is correct
    g = I_a(m, m), m = ⌈k / 2⌉             accuracy of the majority; I is the regularised incomplete beta function

An algorithm that agrees with such a majority in a share x of the cases is itself correct in ::

    x g                                    in the paper: being right against a wrong majority does not count
    x g + (1 − x) (1 − g)                  if its errors and those of the majority are independent
    |x + g − 1| … 1 − |x − g|              bounds for any dependence

An algorithm that was trained on the majority tends to repeat its errors, and lies towards the lower bound.

Cabitza F et al. Appl Sci 2020;10:4014, Figs. 4 and 9, section 5. doi:10.3390/app10114014
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import CallError
from ...core.undefined import Undefined, reason, undefined_like
from ..ratings import Values

Formula = Literal["product", "independent"]


@dataclass(frozen=True)
class Nomogram:
    """Result of :func:`nomogram`; undefined numbers are nan with a reason.

    Attributes
    ----------
    n_raters : int
        Number of raters whose majority is taken.
    agreement : float
        Po, the share of cases on which two raters agree.
    rho : float
        ρ at confidence 1.
    rater_accuracy : float
        Accuracy of a rater.
    majority_accuracy : float
        g, the accuracy of the raters' majority.
    reported : float
        x, the accuracy of an algorithm measured against that majority.
    product : float
        Actual accuracy of the algorithm as in the paper.
    independent : float
        Actual accuracy if errors are independent.
    low, high : float
        Bounds of the actual accuracy for any dependence.
    """

    n_raters: int
    agreement: float
    rho: float
    rater_accuracy: float
    majority_accuracy: float
    reported: float
    product: float
    independent: float
    low: float
    high: float


NUMBERS = tuple(field.name for field in fields(Nomogram) if field.name != "n_raters")


def nomogram(
    n_raters: int,
    *,
    agreement: float | None = None,
    rho: float | None = None,
    rater_accuracy: float | None = None,
    majority_accuracy: float | None = None,
    reported: float | None = None,
) -> Nomogram:
    """Accuracy of the majority and actual accuracy of an algorithm, from agreement or the raters' accuracy.

    Give exactly one of ``agreement``, ``rho``, ``rater_accuracy`` and ``majority_accuracy``; the others follow from it
    for independent raters of equal accuracy and two labels.

    Parameters
    ----------
    n_raters : int
        Number of raters whose majority is taken.
    agreement : float, optional
        Share of cases on which two raters agree.
    rho : float, optional
        Weighted concordance at confidence 1.
    rater_accuracy : float, optional
        Accuracy of a rater.
    majority_accuracy : float, optional
        Accuracy of the majority.
    reported : float, optional
        Accuracy of an algorithm measured against the majority.

    Returns
    -------
    Nomogram
        All numbers of the nomogram.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> result = nomogram(3, agreement=0.745, reported=0.9)
    >>> round(result.rater_accuracy, 3), round(result.majority_accuracy, 5), round(result.product, 3)
    (0.85, 0.93925, 0.845)
    >>> round(nomogram(1, majority_accuracy=0.85, reported=0.98).product, 3)
    0.833
    """
    given = {"agreement": agreement, "rho": rho, "rater_accuracy": rater_accuracy}
    given["majority_accuracy"] = majority_accuracy
    known = {name: value for name, value in given.items() if value is not None}
    if len(known) != 1:
        raise CallError(f"give exactly one of {', '.join(given)}; got {', '.join(known) or 'none'}")
    _check_shares(**known, **({} if reported is None else {"reported": reported}))
    if n_raters < 1:
        raise CallError(f"n_raters must be at least 1; got {n_raters}")
    (name, value), x = next(iter(known.items())), Undefined("not_reported") if reported is None else float(reported)
    known = {name: float(value)}
    a = _accuracy(n_raters, name, float(value))
    if reason(a):
        return Nomogram(n_raters, **{**dict.fromkeys(NUMBERS, undefined_like(a)), "reported": x, **known})
    # the number that was given is kept exactly
    g = known.get("majority_accuracy", float(majority_from_accuracy(n_raters, a)))
    numbers = {"agreement": agreement_from_accuracy(a), "rho": a * a, "rater_accuracy": a, "majority_accuracy": g}
    return Nomogram(n_raters, **{**numbers, **known}, reported=x, **_actual_accuracy(x, g))


def _accuracy(n_raters: int, name: str, value: float) -> float:
    """Accuracy of a rater, from the number that was given."""
    if name == "agreement":
        return accuracy_from_agreement(value)
    if name == "majority_accuracy":
        return float(accuracy_from_majority(n_raters, value))
    return math.sqrt(value) if name == "rho" else value


def _actual_accuracy(x: float, g: float) -> dict[str, float]:
    if reason(x):
        return dict.fromkeys(("product", "independent", "low", "high"), undefined_like(x))
    return {
        "product": x * g,
        "independent": x * g + (1 - x) * (1 - g),
        "low": abs(x + g - 1),
        "high": 1 - abs(x - g),
    }


def nomogram_for_accuracy(n_raters: int, wanted: float, *, reported: float, formula: Formula = "product") -> Nomogram:
    """The inverse nomogram: agreement, ρ and accuracies needed for an algorithm to have an actual accuracy.

    Parameters
    ----------
    n_raters : int
        Number of raters whose majority is taken.
    wanted : float
        Actual accuracy that the algorithm is to have.
    reported : float
        Its accuracy measured against the majority.
    formula : {"product", "independent"}
        How the actual accuracy follows from the reported one; see :class:`Nomogram`.

    Returns
    -------
    Nomogram
        All numbers of the nomogram.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> round(nomogram_for_accuracy(3, 0.9, reported=0.95).rho, 2)
    0.74
    """
    _check_shares(wanted=wanted, reported=reported)
    g = _other_factor(wanted, float(reported), formula, "not_reached_without_error")
    if reason(g):
        return Nomogram(n_raters, **{**dict.fromkeys(NUMBERS, g), "reported": reported})
    return nomogram(n_raters, majority_accuracy=g, reported=reported)


def reported_accuracy_for(wanted: float, majority_accuracy: float, formula: Formula = "product") -> float:
    """Accuracy that an algorithm must reach against such a majority to have an actual accuracy of ``wanted``.

    >>> round(reported_accuracy_for(0.833, 0.85), 2)
    0.98
    """
    _check_shares(wanted=wanted, majority_accuracy=majority_accuracy)
    return _other_factor(wanted, majority_accuracy, formula, "not_reached_on_such_a_truth")


def _check_shares(**shares: float) -> None:
    for name, value in shares.items():
        if not 0 <= value <= 1:
            raise CallError(f"{name} must be from 0 to 1; got {value:g}")


def _other_factor(wanted: float, factor: float, formula: Formula, code: str) -> float:
    """x from g, or g from x: the formulas are symmetric."""
    if formula == "product":
        other = wanted / factor if factor else math.inf
    elif formula == "independent":
        if factor == 0.5:
            return Undefined("right_half_of_the_time")
        other = (wanted - (1 - factor)) / (2 * factor - 1)
    else:
        raise CallError(f"formula must be 'product' or 'independent'; got {formula!r}")
    # a quotient may exceed 1 by rounding
    if 0 <= other <= 1 + 1e-12:
        return min(other, 1.0)
    return Undefined(code, f"with an accuracy of {factor:g}, where {wanted:g} is wanted")


def accuracy_from_agreement(agreement: float) -> float:
    """a from Po, the root above ½; undefined for an agreement below ½."""
    if agreement < 0.5:
        return Undefined("agreement_below_half")
    return (1 + math.sqrt(2 * agreement - 1)) / 2


def agreement_from_accuracy(accuracy: float) -> float:
    """Po of two independent raters of equal accuracy, for two labels."""
    return accuracy**2 + (1 - accuracy) ** 2


def majority_from_accuracy(n_raters: int, accuracy: ArrayLike) -> Values:
    """g from a, for any number of accuracies at once."""
    from scipy.special import betainc

    half = (n_raters + 1) // 2
    return np.asarray(betainc(half, half, np.asarray(accuracy, np.float64)))


def accuracy_from_majority(n_raters: int, accuracy: ArrayLike) -> Values:
    """a from g."""
    from scipy.special import betaincinv

    half = (n_raters + 1) // 2
    return np.asarray(betaincinv(half, half, np.asarray(accuracy, np.float64)))

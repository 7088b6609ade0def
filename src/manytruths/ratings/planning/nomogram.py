"""From agreement to the accuracy of the truth to the actual accuracy of an algorithm, and back.

Two labels, k independent raters of the same accuracy a, who are right more often than not, and sure of what they say::

    Po = a² + (1 − a)²,   so that   a = (1 + √(2 Po − 1)) / 2
    ρ = a²                                 what agrees and is right
    g = I_a(m, m), m = ⌈k / 2⌉             the majority's accuracy; I is the regularised incomplete beta function

An algorithm that agrees with such a truth in a share x of the cases is itself right in ::

    x g                                    as the paper has it: right against a wrong truth does not count
    x g + (1 − x) (1 − g)                  where its errors and the truth's are independent
    |x + g − 1| … 1 − |x − g|              whatever their dependence: these are the bounds

Trained on that truth, an algorithm tends to repeat its errors, and lies towards the lower end.

Cabitza F et al. Appl Sci 2020;10:4014, Figs. 4 and 9, section 5. doi:10.3390/app10114014
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from ...core.errors import CallError
from ...core.undefined import Undefined, reason, undefined_like
from ..ratings import Values

Formula = Literal["product", "independent"]

NO_SUCH_AGREEMENT = "agreement_below_half"
NOT_REPORTED = "not_reported"


@dataclass(frozen=True)
class Nomogram:
    """One way through the nomogram for k raters; numbers without a value say why."""

    raters: int
    agreement: float
    """Po: how often two raters agree."""
    rho: float
    """ρ at confidence 1."""
    rater_accuracy: float
    truth_accuracy: float
    """g, of their majority."""
    reported: float
    """x, of an algorithm against that majority."""
    product: float
    """The algorithm's actual accuracy as the paper has it."""
    independent: float
    """The same where errors are independent."""
    low: float
    """The least that is possible."""
    high: float
    """The most."""


def nomogram(
    raters: int,
    *,
    agreement: float | None = None,
    rho: float | None = None,
    rater_accuracy: float | None = None,
    truth_accuracy: float | None = None,
    reported: float | None = None,
) -> Nomogram:
    """Everything that follows from one of agreement, ρ, the raters' accuracy, or that of their majority.

    >>> found = nomogram(3, agreement=0.745, reported=0.9)
    >>> round(found.rater_accuracy, 3), round(found.truth_accuracy, 5), round(found.product, 3)
    (0.85, 0.93925, 0.845)
    >>> round(nomogram(1, truth_accuracy=0.85, reported=0.98).product, 3)
    0.833
    """
    given = {"agreement": agreement, "rho": rho, "rater_accuracy": rater_accuracy, "truth_accuracy": truth_accuracy}
    known = {name: value for name, value in given.items() if value is not None}
    if len(known) != 1:
        raise CallError(f"give one of {', '.join(given)}; got {', '.join(known) or 'none'}")
    for name, value in {**known, "reported": reported}.items():
        if value is not None and not 0 <= value <= 1:
            raise CallError(f"{name} runs from 0 to 1; got {value:g}")
    if raters < 1:
        raise CallError(f"a panel has one rater or more; got {raters}")
    (name, value), x = next(iter(known.items())), Undefined(NOT_REPORTED) if reported is None else float(reported)
    a = _accuracy(raters, name, float(value))
    return _through(raters, a, x, {name: float(value)} if name != "rater_accuracy" else {})


def _accuracy(raters: int, name: str, value: float) -> float:
    """A rater's, from what was given."""
    if name == "agreement":
        return accuracy_of_agreement(value)
    if name == "truth_accuracy":
        return float(accuracy_of_majority(raters, value))
    return math.sqrt(value) if name == "rho" else value


def _through(raters: int, a: float, x: float, given: dict[str, float]) -> Nomogram:
    """All numbers; those that were given stay as they were."""
    if reason(a):
        nothing = undefined_like(a)
        rest = dict.fromkeys(("rho", "truth_accuracy", "product", "independent", "low", "high"), nothing)
        return Nomogram(raters=raters, reported=x, rater_accuracy=nothing, **{"agreement": nothing, **rest, **given})
    g = given.get("truth_accuracy", float(majority_of(raters, a)))
    numbers = {"agreement": agreement_of(a), "rho": a * a, "truth_accuracy": g, **given}
    return Nomogram(raters=raters, rater_accuracy=a, reported=x, **numbers, **_actual(x, g))


def _actual(x: float, g: float) -> dict[str, float]:
    if reason(x):
        return dict.fromkeys(("product", "independent", "low", "high"), undefined_like(x))
    return {
        "product": x * g,
        "independent": x * g + (1 - x) * (1 - g),
        "low": abs(x + g - 1),
        "high": 1 - abs(x - g),
    }


def nomogram_for(raters: int, wanted: float, *, reported: float, formula: Formula = "product") -> Nomogram:
    """The way back: the least agreement, ρ and accuracies that make a reported accuracy an actual one of ``wanted``.

    >>> round(nomogram_for(3, 0.9, reported=0.95).rho, 2)
    0.74
    """
    _check_wanted(wanted, reported, "reported")
    g = _other_factor(wanted, float(reported), formula, "not_reached_without_error")
    if reason(g):
        rest = ("agreement", "rho", "rater_accuracy", "truth_accuracy", "product", "independent", "low", "high")
        return Nomogram(raters=raters, reported=reported, **dict.fromkeys(rest, g))
    return nomogram(raters, truth_accuracy=g, reported=reported)


def reported_for(wanted: float, truth_accuracy: float, formula: Formula = "product") -> float:
    """The accuracy that an algorithm must show on such a truth to be right in a share ``wanted``.

    >>> round(reported_for(0.833, 0.85), 2)
    0.98
    """
    _check_wanted(wanted, truth_accuracy, "truth_accuracy")
    return _other_factor(wanted, truth_accuracy, formula, "not_reached_on_such_a_truth")


def _check_wanted(wanted: float, other: float, name: str) -> None:
    for what, value in (("wanted", wanted), (name, other)):
        if not 0 <= value <= 1:
            raise CallError(f"{what} runs from 0 to 1; got {value:g}")


def _other_factor(wanted: float, one: float, formula: Formula, code: str) -> float:
    """x from g, or g from x: the formulas treat both alike."""
    if formula == "product":
        found = wanted / one if one else math.inf
    elif formula == "independent":
        if one == 0.5:
            return Undefined("right_half_of_the_time")
        found = (wanted - (1 - one)) / (2 * one - 1)
    else:
        raise CallError(f"formula is 'product' or 'independent'; got {formula!r}")
    # a quotient may pass 1 by its last bit
    if 0 <= found <= 1 + 1e-12:
        return min(found, 1.0)
    return Undefined(code, f"with an accuracy of {one:g}, where {wanted:g} is wanted")


def accuracy_of_agreement(agreement: float) -> float:
    """a from Po, the root above ½; undefined for an agreement below ½."""
    if agreement < 0.5:
        return Undefined(NO_SUCH_AGREEMENT)
    return (1 + math.sqrt(2 * agreement - 1)) / 2


def agreement_of(accuracy: float) -> float:
    """Po of two independent raters of an accuracy, two labels."""
    return accuracy**2 + (1 - accuracy) ** 2


def majority_of(raters: int, accuracy: ArrayLike) -> Values:
    """g from a, for any number of accuracies at once."""
    from scipy.special import betainc

    half = (raters + 1) // 2
    return np.asarray(betainc(half, half, np.asarray(accuracy, np.float64)))


def accuracy_of_majority(raters: int, accuracy: ArrayLike) -> Values:
    """a from g."""
    from scipy.special import betaincinv

    half = (raters + 1) // 2
    return np.asarray(betaincinv(half, half, np.asarray(accuracy, np.float64)))

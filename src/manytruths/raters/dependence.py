"""Do raters err together? What is left between two of them once STAPLE has explained what it can.

STAPLE takes raters for independent, given the truth. With w the mean of W over the n items that two raters rated,
p and q their fitted rates, both mark an item with ::

    e_ij = w p_i p_j + (1 − w) (1 − q_i) (1 − q_j)                      expected
    s²   = w p_i (1 − p_i) p_j (1 − p_j) + (1 − w) q_i (1 − q_i) q_j (1 − q_j)
    v_i  = w p_i (1 − p_i) + (1 − w) q_i (1 − q_i)                      the part of a rater's decisions that is error

and from the share o_ij of items that both did mark come ::

    excess          z_ij = (o_ij − e_ij) √n / s
    correlation     ρ_ij = (o_ij − e_ij) / √(v_i v_j), of the decisions given the truth
    effective       R / (1 + (R − 1) ρ̄), ρ̄ the mean over pairs, taken as 0 where it is less

The last is Kish's: the mean of so many independent raters errs as much as the mean of these. With the estimated
prior the fit gives back what each rater marked, so that o − e is the covariance of the two raters' errors, and 0 up
to chance where they are independent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..agreement import PairMatrix, contingency, dice, pairwise
from ..core.labels import VOID
from ..core.tally import Tally
from ..core.undefined import Undefined
from ..fusion import Staple, staple
from ..fusion.staple import Prior
from .differences import check_named_raters

Values = NDArray[np.float64]

COPY = 0.98
"""Two raters with a larger Dice may be copies, or one an edit of the other."""
FEWEST = 4
"""STAPLE explains any three raters by independence, as it has as many unknowns as there are patterns."""


@dataclass(frozen=True)
class PossibleCopy:
    """Two raters too much alike to be independent."""

    rater_a: str
    rater_b: str
    dice: float


@dataclass(frozen=True)
class RaterDependence:
    """What two raters share beyond the truth, for every two raters; NaN where it cannot be estimated.

    Attributes
    ----------
    raters : tuple of str
        The raters.
    observed : PairMatrix
        Share of the items that both rated which both marked.
    expected : PairMatrix
        The same, were they independent given the truth.
    excess : PairMatrix
        Observed minus expected in standard deviations of independent items.
    correlation : PairMatrix
        Correlation of the two raters' errors; 1 where they never differ, 0 where one of them makes none.
    mean_correlation : float
        Mean correlation over the pairs.
    effective_raters : float
        Number of raters with independent errors whose mean errs as much as that of these.
    copies : tuple of PossibleCopy
        Pairs with a Dice above the limit.
    fit : Staple
        The model that they are compared with.
    """

    raters: tuple[str, ...]
    observed: PairMatrix
    expected: PairMatrix
    excess: PairMatrix
    correlation: PairMatrix
    mean_correlation: float
    effective_raters: float
    copies: tuple[PossibleCopy, ...]
    fit: Staple


def rater_dependence(tally: Tally, prior: Prior = "estimated", copy: float = COPY) -> RaterDependence:
    """Estimate how far raters err together, and how many independent raters they are worth.

    Pairs of raters are compared with what STAPLE, which takes raters for independent given the truth, expects of them.
    What *all* raters share (a border that nobody can see) goes into the estimated truth, so that errors may have more
    in common. Where some pixels are harder than others, raters who never met err on the same ones: a correlation does
    not say that they influenced each other. Pixels are not independent: read the excess as an order among pairs, not as
    a test.

    Parameters
    ----------
    tally : Tally
        Table of four or more raters: STAPLE explains any three by independence.
    prior : float or str
        Prior of :func:`staple`.
    copy : float
        Two raters with a larger Dice are named as possible copies, or one an edit of the other.

    Returns
    -------
    RaterDependence
        Observed and expected pairs, their correlation, and the effective number of raters.

    References
    ----------
    Qu Y, Tan M, Kutner MH. Random effects models in latent class analysis for evaluating accuracy of diagnostic tests.
    Biometrics 1996;52:797–810. doi:10.2307/2533043
    Kish L. Survey Sampling. Wiley, 1965.

    Examples
    --------
    >>> import numpy as np, manytruths as mt
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random(20_000) < 0.3
    >>> masks = [truth ^ (rng.random(20_000) < 0.1) for _ in range(5)]
    >>> round(mt.rater_dependence(mt.tally(masks)).effective_raters, 1)
    5.0
    """
    check_named_raters(tally, "dependence")
    table = tally.foreground()
    fit, pairs = staple(table, prior), contingency(table)
    both, items = pairs[:, :, 1, 1], pairs.sum(axis=(-1, -2))
    rated = (table.patterns[:, table.raters] != VOID).astype(np.float64)
    marked = (rated * (table.counts * fit.probability)[:, None]).T @ rated  # Σ W over the items of every two raters
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        observed, true = both / items, marked / items
        expected, excess, correlation = _compare(fit, observed, true, items)
    correlation = _resolve_zero_by_zero(pairs, expected, correlation)
    values = {"observed": observed, "expected": expected, "excess": excess, "correlation": correlation}
    matrices = {name: PairMatrix(name, fit.raters, matrix) for name, matrix in values.items()}
    mean = matrices["correlation"].mean()
    copies = tuple(PossibleCopy(a, b, value) for a, b, value in pairwise(dice, table).pairs() if value > copy)
    return RaterDependence(
        fit.raters,
        **matrices,
        mean_correlation=mean,
        effective_raters=_effective_number(len(fit.raters), mean),
        copies=copies,
        fit=fit,
    )


def _compare(fit: Staple, observed: Values, true: Values, items: Values) -> tuple[Values, Values, Values]:
    """Expected share, excess, correlation; 0/0 where a rater makes no errors."""
    p, q = fit.sensitivity, fit.specificity
    hit, spared = p * (1 - p), q * (1 - q)
    expected = true * np.outer(p, p) + (1 - true) * np.outer(1 - q, 1 - q)
    spread = true * np.outer(hit, hit) + (1 - true) * np.outer(spared, spared)
    error = true * hit[:, None] + (1 - true) * spared[:, None]
    apart = observed - expected
    return expected, apart * np.sqrt(items / spread), apart / np.sqrt(error * error.T)


def _resolve_zero_by_zero(pairs: Values, expected: Values, correlation: Values) -> Values:
    """What 0/0 stands for: raters who never differ err as one; a rater who never errs errs with nobody."""
    differ = pairs[:, :, 0, 1] + pairs[:, :, 1, 0]
    settled = np.where(np.isfinite(correlation), correlation, 0.0)
    return np.where(np.isnan(expected), np.nan, np.where(differ == 0, 1.0, settled))


def _effective_number(raters: int, mean: float) -> float:
    if raters < FEWEST:
        return Undefined("too_few_raters_for_dependence")
    if np.isnan(mean):
        return Undefined("no_two_rates_known")
    return raters / (1 + (raters - 1) * max(mean, 0.0))

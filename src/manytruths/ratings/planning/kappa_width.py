"""How many cases and raters are needed for a confidence interval of Fleiss' kappa of a given width.

The model has two labels. Each case is marked by each of m raters with its own probability, which follows a Beta
distribution with the prevalence π as mean and κ as intraclass correlation. The votes v of a case are then
beta-binomial, and Fleiss' kappa of many cases is κ. With d = 2 v (m − v) / (m (m − 1)) and C = 2 π (1 − π), by the
delta method ::

    ψ = −d / C + (1 − κ) (2 − 4π) (v / m) / C
    width = 2 z √(Var ψ / n)

For two raters, Var ψ is that of Bloch and Kraemer for any model. With few cases the width is slightly too small: in
simulations by 2 to 5% for 30 cases, and by 1 to 2% for 60.

Bloch DA, Kraemer HC. Biometrics 1989;45:269–287. doi:10.2307/2532052. Donner A, Eliasziw M. Stat Med
1992;11:1511–1519. doi:10.1002/sim.4780111109
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np

from ...core.errors import CallError
from ...inference.intervals import MIN_SUBJECTS
from .panels import correct_votes

LEAST_SHARE = 1e-6
"""The lowest prevalence for which cases are computed."""
LEAST_WIDTH = 1e-4


@dataclass(frozen=True)
class KappaWidth:
    """Expected width of a confidence interval of Fleiss' kappa, as :func:`kappa_width` computes it.

    Attributes
    ----------
    n_cases, n_raters : int
        Size of the study.
    kappa, prevalence : float
        Expected kappa, and expected share of cases that a rater marks.
    level : float
        Confidence level.
    error : float
        Standard error of kappa.
    width : float
        Of the interval, from end to end.
    """

    n_cases: int
    n_raters: int
    kappa: float
    prevalence: float
    level: float
    error: float
    width: float

    @property
    def n_ratings(self) -> int:
        """Number of ratings to collect: cases × raters."""
        return self.n_cases * self.n_raters


def kappa_width(n_cases: int, n_raters: int, kappa: float, prevalence: float, level: float = 0.95) -> KappaWidth:
    """Expected width of the confidence interval of Fleiss' kappa.

    Parameters
    ----------
    n_cases, n_raters : int
        Size of the study.
    kappa : float
        Expected kappa, from 0 to below 1.
    prevalence : float
        Expected share of cases that a rater marks.
    level : float
        Confidence level.

    Returns
    -------
    KappaWidth
        Standard error of kappa, and width of its interval.

    References
    ----------
    Bloch DA, Kraemer HC. Biometrics 1989;45:269–287. doi:10.2307/2532052
    Donner A, Eliasziw M. Stat Med 1992;11:1511–1519. doi:10.1002/sim.4780111109

    Examples
    --------
    >>> round(kappa_width(100, 5, kappa=0.6, prevalence=0.3).width, 3)
    0.216
    """
    if n_cases < MIN_SUBJECTS:
        raise CallError(f"n_cases must be at least {MIN_SUBJECTS}; got {n_cases}")
    error = math.sqrt(_variance(n_raters, kappa, prevalence) / n_cases)
    return KappaWidth(n_cases, n_raters, kappa, prevalence, level, error, 2 * _quantile(level) * error)


def cases_for_kappa_width(
    width: float,
    kappa: float,
    prevalence: float,
    n_raters: Iterable[int] = range(2, 11),
    level: float = 0.95,
) -> tuple[KappaWidth, ...]:
    """Number of cases needed for a confidence interval of Fleiss' kappa of a given width, for each number of raters.

    Parameters
    ----------
    width : float
        Largest acceptable width of the interval.
    kappa, prevalence : float
        As for :func:`kappa_width`.
    n_raters : iterable of int
        Numbers of raters to compute.
    level : float
        Confidence level.

    Returns
    -------
    tuple of KappaWidth
        One for each number of raters, with ten cases at least.

    References
    ----------
    Bloch DA, Kraemer HC. Biometrics 1989;45:269–287. doi:10.2307/2532052
    Donner A, Eliasziw M. Stat Med 1992;11:1511–1519. doi:10.1002/sim.4780111109

    Examples
    --------
    >>> [(plan.n_raters, plan.n_cases) for plan in cases_for_kappa_width(0.2, 0.6, 0.3, [2, 5])]
    [(2, 296), (5, 117)]
    """
    if not LEAST_WIDTH <= width < 2:
        raise CallError(f"width must be from {LEAST_WIDTH:g} to below 2, the range of kappa; got {width:g}")
    plans = []
    for m in n_raters:
        wanted = (2 * _quantile(level) / width) ** 2 * _variance(m, kappa, prevalence)
        plans.append(kappa_width(max(MIN_SUBJECTS, math.ceil(wanted - 1e-9)), m, kappa, prevalence, level))
    return tuple(plans)


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise CallError(f"level must be between 0 and 1; got {level:g}")
    return NormalDist().inv_cdf((1 + level) / 2)


def _variance(raters: int, kappa: float, prevalence: float) -> float:
    """Var ψ."""
    if raters < 2:
        raise CallError(f"n_raters must be at least 2; got {raters}")
    if not 0 <= kappa < 1:
        raise CallError(f"kappa must be from 0 to below 1 in this model; got {kappa:g}")
    if not LEAST_SHARE <= prevalence <= 1 - LEAST_SHARE:
        raise CallError(f"prevalence must be from {LEAST_SHARE:g} to 1 − {LEAST_SHARE:g}; got {prevalence:g}")
    chance, votes = correct_votes(raters, prevalence, correlation=kappa), np.arange(raters + 1)
    disagreement = 2 * votes * (raters - votes) / (raters * (raters - 1))
    within = 2 * prevalence * (1 - prevalence)
    influence = (-disagreement + (1 - kappa) * (2 - 4 * prevalence) * votes / raters) / within
    mean = chance @ influence
    return float(chance @ (influence - mean) ** 2)

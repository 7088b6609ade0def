"""How many cases and raters an interval of Fleiss' kappa takes.

The model: two labels; a case is marked by each of m raters with its own chance, which follows the Beta distribution
whose mean is the prevalence π and whose intra-class correlation is κ. The votes v of a case are then beta-binomial, and
Fleiss' kappa of many cases is κ. With d = 2 v (m − v) / (m (m − 1)) and C = 2 π (1 − π), by the delta method ::

    ψ = −d / C + (1 − κ) (2 − 4π) (v / m) / C
    width = 2 z √(Var ψ / n)

For two raters Var ψ is that of Bloch and Kraemer, whatever the model. For few cases the width is on the small side: in
simulations of 30 cases by 2 to 5 %, of 60 by 1 to 2 %.

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
from .majority import right_votes

LEAST_SHARE = 1e-6
"""The rarest mark that cases are counted for."""
LEAST_WIDTH = 1e-4


@dataclass(frozen=True)
class KappaWidth:
    """How wide an interval of Fleiss' kappa is to be expected."""

    cases: int
    raters: int
    kappa: float
    prevalence: float
    level: float
    error: float
    """The standard error of kappa."""
    width: float
    """Of the interval, from end to end."""

    @property
    def ratings(self) -> int:
        """What has to be collected: cases × raters."""
        return self.cases * self.raters


def kappa_width(cases: int, raters: int, kappa: float, prevalence: float, level: float = 0.95) -> KappaWidth:
    """The expected width of the interval of Fleiss' kappa.

    >>> round(kappa_width(100, 5, kappa=0.6, prevalence=0.3).width, 3)
    0.216
    """
    if cases < MIN_SUBJECTS:
        raise CallError(f"an interval wants {MIN_SUBJECTS} cases or more; got {cases}")
    error = math.sqrt(_variance(raters, kappa, prevalence) / cases)
    return KappaWidth(cases, raters, kappa, prevalence, level, error, 2 * _quantile(level) * error)


def cases_for_width(
    width: float,
    kappa: float,
    prevalence: float,
    raters: Iterable[int] = range(2, 11),
    level: float = 0.95,
) -> tuple[KappaWidth, ...]:
    """For each number of raters the fewest cases whose interval is no wider; never fewer than ten.

    >>> [(one.raters, one.cases) for one in cases_for_width(0.2, 0.6, 0.3, [2, 5])]
    [(2, 296), (5, 117)]
    """
    if not LEAST_WIDTH <= width < 2:
        raise CallError(f"width lies between {LEAST_WIDTH:g} and 2, the whole range of kappa; got {width:g}")
    found = []
    for m in raters:
        wanted = (2 * _quantile(level) / width) ** 2 * _variance(m, kappa, prevalence)
        found.append(kappa_width(max(MIN_SUBJECTS, math.ceil(wanted - 1e-9)), m, kappa, prevalence, level))
    return tuple(found)


def _quantile(level: float) -> float:
    if not 0 < level < 1:
        raise CallError(f"level lies between 0 and 1; got {level:g}")
    return NormalDist().inv_cdf((1 + level) / 2)


def _variance(raters: int, kappa: float, prevalence: float) -> float:
    """Var ψ, the sum over all v."""
    if raters < 2:
        raise CallError(f"kappa wants two raters or more; got {raters}")
    if not 0 <= kappa < 1:
        raise CallError(f"kappa runs from 0 to below 1 under this model; got {kappa:g}")
    if not LEAST_SHARE <= prevalence <= 1 - LEAST_SHARE:
        raise CallError(f"prevalence lies between 0 and 1, at least {LEAST_SHARE:g} from both; got {prevalence:g}")
    chance, votes = right_votes(raters, prevalence, correlation=kappa), np.arange(raters + 1)
    apart = 2 * votes * (raters - votes) / (raters * (raters - 1))
    within = 2 * prevalence * (1 - prevalence)
    influence = (-apart + (1 - kappa) * (2 - 4 * prevalence) * votes / raters) / within
    mean = chance @ influence
    return float(chance @ (influence - mean) ** 2)

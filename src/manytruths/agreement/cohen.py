"""Cohen's kappa: agreement of two raters beyond chance.

With O the contingency table, E the product of its margins over n, and w a disagreement weight (1 off the
diagonal)::

    kappa = 1 − Σ w O / Σ w E

Cohen J. A coefficient of agreement for nominal scales. Educ Psychol Meas 1960;20:37–46.
doi:10.1177/001316446002000104; weighted: Psychol Bull 1968;70:213–220. doi:10.1037/h0026256
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally
from .pairs import PairStatistic, Tables, pair_statistic

SAME = "one_label_by_both"


def _kappa(tables: Tables, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    rows, columns = tables.sum(axis=-1), tables.sum(axis=-2)
    observed = (weights * tables).sum(axis=(-1, -2))
    expected = np.einsum("...i,ij,...j->...", rows, weights, columns) / tables.sum(axis=(-1, -2))
    return np.asarray(1 - observed / expected)


@pair_statistic(undefined=SAME)
def cohen_kappa(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Cohen's kappa of two raters.

    One rater empty and the other not gives 0, both marked without overlap gives less than 0, both empty is
    undefined.

    >>> import manytruths as mt
    >>> mt.cohen_kappa(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.5
    """
    return _kappa(tables, 1.0 - np.eye(len(labels)))


def weighted_kappa(tally: Tally, weights: str = "quadratic") -> float:
    """Cohen's kappa with disagreements weighted by how far apart the labels' numbers are."""
    powers = {"linear": 1, "quadratic": 2}
    if weights not in powers:
        raise CallError(f"weights is 'linear' or 'quadratic'; got {weights!r}")
    numbers = np.array(tally.labels.numbers)
    distance = np.abs(numbers[:, None] - numbers) ** powers[weights]

    def weighted_kappa(tables: Tables, labels: Labels) -> NDArray[np.float64]:
        return _kappa(tables, distance)

    return PairStatistic(weighted_kappa, SAME)(tally)

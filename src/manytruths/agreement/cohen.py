"""Cohen's kappa: agreement of two raters beyond chance.

With O the contingency table, E the product of its margins over n, and w a disagreement weight (1 off the
diagonal)::

    kappa = 1 − Σ w O / Σ w E
"""

from __future__ import annotations

from typing import Literal

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
    """Cohen's kappa: agreement of two raters beyond chance.

    It is 0 where one rater marked nothing and the other did, below 0 where both marked without overlap, and undefined
    where both marked nothing.

    References
    ----------
    Cohen J. A coefficient of agreement for nominal scales. Educ Psychol Meas 1960;20:37–46.
    doi:10.1177/001316446002000104

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.cohen_kappa(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.5
    """
    return _kappa(tables, 1.0 - np.eye(len(labels)))


def weighted_kappa(tally: Tally, weights: Literal["linear", "quadratic"] = "quadratic") -> float:
    """Cohen's weighted kappa: disagreements count by how far apart the labels' numbers are.

    Parameters
    ----------
    tally : Tally
        Table of two raters.
    weights : {"linear", "quadratic"}
        Whether a disagreement counts by the distance of the two labels or by its square.

    Returns
    -------
    float
        Weighted kappa, or :class:`Undefined` where both raters gave one and the same label to every item.

    References
    ----------
    Cohen J. Weighted kappa. Psychol Bull 1968;70:213–220. doi:10.1037/h0026256

    Examples
    --------
    >>> import manytruths as mt
    >>> round(mt.weighted_kappa(mt.tally({"A": [1, 2, 3, 3], "B": [1, 2, 2, 3]})), 4)
    0.8
    """
    powers = {"linear": 1, "quadratic": 2}
    if weights not in powers:
        raise CallError(f"weights is 'linear' or 'quadratic'; got {weights!r}")
    numbers = np.array(tally.labels.numbers)
    distance = np.abs(numbers[:, None] - numbers) ** powers[weights]

    def weighted_kappa(tables: Tables, labels: Labels) -> NDArray[np.float64]:
        return _kappa(tables, distance)

    return PairStatistic(weighted_kappa, SAME)(tally)

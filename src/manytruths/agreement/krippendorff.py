"""Krippendorff's alpha: agreement beyond chance, for nominal, ordinal, interval and ratio labels.

From the coincidences o_ck = Σ over items with m ≥ 2 of n_c (n_k − [c = k]) / (m − 1), their sums n_c and n::

    alpha = 1 − (n − 1) Σ o_ck δ_ck / Σ n_c n_k δ_ck

with δ = [c ≠ k] (nominal), (Σ_{g=c..k} n_g − (n_c + n_k) / 2)² (ordinal), (v_c − v_k)² (interval),
((v_c − v_k) / (v_c + v_k))² (ratio), v being the labels' numbers.
"""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.tally import Tally
from ..core.undefined import Undefined, divide
from .votes import ALONE, ONE_LABEL

Metric = Literal["nominal", "ordinal", "interval", "ratio"]


def coincidences(tally: Tally) -> NDArray[np.float64]:
    """(L, L): how often two labels meet in one item, each item weighing as its number of raters."""
    m = tally.rated
    votes = tally.votes[m > 1]
    weights = tally.counts[m > 1] / (m[m > 1] - 1)
    return np.asarray((votes * weights[:, None]).T @ votes - np.diag(weights @ votes))


class KrippendorffAlpha:
    """The statistic :func:`krippendorff_alpha`, which :meth:`batch` computes for many tallies at once."""

    __name__ = "krippendorff_alpha"

    def __init__(self) -> None:
        self.__doc__ = type(self).__call__.__doc__

    def __call__(self, tally: Tally, metric: Metric = "nominal") -> float:
        """Krippendorff's alpha: agreement of any number of raters beyond chance.

        Like Fleiss' kappa, but corrected for small numbers of ratings, and for labels that are ordered or measured.

        Parameters
        ----------
        tally : Tally
            Table of two or more raters.
        metric : {"nominal", "ordinal", "interval", "ratio"}
            How far two labels are apart: all alike, by rank, by the difference of their numbers, or by their ratio.

        Returns
        -------
        float
            Alpha, or :class:`Undefined` where every rater gave the same label to every item or no item was rated by
            two raters.

        References
        ----------
        Krippendorff K. Content Analysis, 3rd ed. 2013, ch. 11.
        Hayes AF, Krippendorff K. Answering the call for a standard reliability measure for coding data. Commun Methods
        Meas 2007;1:77–89. doi:10.1080/19312450709336664

        Examples
        --------
        >>> import manytruths as mt
        >>> round(mt.krippendorff_alpha(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]})), 4)
        0.5333
        """
        together = coincidences(tally)
        totals = together.sum(axis=1)
        if not totals.any():
            return Undefined(ALONE)
        distance = _distance(metric, totals, np.array(tally.labels.numbers))
        expected = totals @ distance @ totals
        if not expected:
            return Undefined(ONE_LABEL)
        return float(1 - (totals.sum() - 1) * (together * distance).sum() / expected)

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """The nominal alpha of every row of ``counts`` over the patterns of ``tally``, NaN where undefined."""
        m, votes = tally.rated, tally.votes
        weights = np.where(m > 1, counts, 0).astype(np.float64)
        totals = weights @ votes
        disagreements = weights @ ((m * m - (votes**2).sum(axis=1)) / np.maximum(m - 1, 1))
        expected = ((totals @ (1 - np.eye(len(tally.labels)))) * totals).sum(axis=1)
        observed = (totals.sum(axis=1) - 1) * disagreements
        return 1 - divide(observed, expected)

    def __repr__(self) -> str:
        return f"<statistic {self.__name__}>"


krippendorff_alpha = KrippendorffAlpha()


def _distance(metric: str, totals: NDArray[np.float64], numbers: NDArray[np.float64]) -> NDArray[np.float64]:
    """δ of every two labels."""
    apart = numbers[:, None] - numbers
    if metric == "nominal":
        return (1 - np.eye(len(numbers))).astype(np.float64)
    if metric == "ordinal":
        order = np.argsort(numbers)
        middle = (np.cumsum(totals[order]) - totals[order] / 2)[np.argsort(order)]
        return np.asarray((middle[:, None] - middle) ** 2)
    if metric == "interval":
        return np.asarray(apart**2)
    if metric == "ratio":
        if (numbers < 0).any():
            raise CallError("metric 'ratio' is for numbers from 0 on, but a label has a negative one; use 'interval'")
        both = numbers[:, None] + numbers
        return np.nan_to_num(divide(apart, both)) ** 2
    raise CallError(f"metric is nominal, ordinal, interval or ratio; got {metric!r}")

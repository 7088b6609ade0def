"""Williams' index: does a rater agree with the others as they agree among themselves?

With a_ij the agreement of two raters, for rater j among R::

    I_j = mean of a_jk over the others k / mean of a_kl over pairs of the others

1 says that he is like any of them; less, that he agrees with the group less than its members do.

Williams GW. Comparing the joint agreement of several raters with another rater. Biometrics 1976;32:619–627.
doi:10.2307/2529750. Chalana V, Kim Y. IEEE Trans Med Imaging 1997;16:642–652. doi:10.1109/42.640755
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..agreement import PairStatistic, dice, pairwise
from ..core.errors import CallError
from ..core.tally import Tally
from ..core.undefined import Undefined
from .difference import mean_with_others
from .identity import refuse_exchangeable

Values = NDArray[np.float64]


@dataclass(frozen=True)
class WilliamsIndex:
    """The index of each rater."""

    statistic: str
    raters: tuple[str, ...]
    index: Values
    """nan where it is undefined, for the reason that :meth:`value` gives."""
    with_others: Values
    """The mean agreement of the rater with the others."""
    among_others: Values
    """The mean agreement of the others with each other."""

    def value(self, rater: str) -> float:
        """One rater's index, with the reason where it is undefined."""
        if rater not in self.raters:
            raise CallError(f"no rater {rater!r}; there are {', '.join(self.raters)}")
        i = self.raters.index(rater)
        if np.isnan(self.with_others[i]):
            return Undefined("rater_not_comparable")
        if np.isnan(self.among_others[i]):
            return Undefined("no_two_others_comparable")
        return float(self.index[i]) if self.among_others[i] > 0 else Undefined("others_do_not_agree")


def williams_index(tally: Tally, statistic: PairStatistic = dice) -> WilliamsIndex:
    """Williams' index of every rater, over the pairs for which the statistic is defined.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 1, 0, 0], "C": [1, 0, 1, 0]})
    >>> williams_index(t).index.round(3)
    array([1.5, 1.5, 0.5])
    """
    refuse_exchangeable(tally, "Williams' index")
    pairs = pairwise(statistic, tally)
    near, among = mean_with_others(pairs.values), _among_others(pairs.values)
    index = np.divide(near, among, out=np.full(len(near), np.nan), where=among > 0)
    return WilliamsIndex(pairs.statistic, pairs.names, index, near, among)


def _among_others(values: Values) -> Values:
    """The mean over the pairs that leave each rater out; nan where there is none."""
    upper = np.triu(np.ones(values.shape, bool), 1) & ~np.isnan(values)
    out = np.full(len(values), np.nan)
    for i in range(len(values)):
        others = upper.copy()
        others[i, :] = others[:, i] = False
        if others.any():
            out[i] = values[others].mean()
    return out

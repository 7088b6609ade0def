"""Raters must be people before anything is said about one of them.

How far each rater is from the others, and who is an outlier.

With F_ij the F1 score (Dice) of two raters, a rater's mean difference is the mean of 1 − F_ij over the *other*
raters, and an outlier's exceeds the raters' mean plus one *sample* standard deviation.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 3.3. doi:10.1109/TIP.2016.2544703

Williams' index: does a rater agree with the others as they agree among themselves?

With a_ij the agreement of two raters, for rater j among R::

    I_j = mean of a_jk over the others k / mean of a_kl over pairs of the others

1 says that he is like any of them; less, that he agrees with the group less than its members do.

Williams GW. Comparing the joint agreement of several raters with another rater. Biometrics 1976;32:619–627.
doi:10.2307/2529750. Chalana V, Kim Y. IEEE Trans Med Imaging 1997;16:642–652. doi:10.1109/42.640755

Which raters are alike: Ward's clustering of 1 − F1.

SciPy's ``ward`` is the variant that R calls ward.D2: Lance and Williams' update on squared differences, heights as
differences. Differences of 1 − F1 are not Euclidean, so that a height is a criterion and no variance.

Ward JH. J Am Stat Assoc 1963;58:236–244. doi:10.1080/01621459.1963.10500845. Murtagh F, Legendre P. J Classif
2014;31:274–295. doi:10.1007/s00357-014-9161-z. Lampert TA et al. 2016, 3.3. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..agreement import PairMatrix, PairStatistic, dice, pairwise
from ..core.errors import CallError
from ..core.tally import Tally
from ..core.undefined import Undefined


def check_named_raters(tally: Tally, what: str) -> None:
    """Raise where slots are not people."""
    if tally.exchangeable:
        raise CallError(
            f"{what} is about each rater, but raters are exchangeable here: a slot is not the same person in every "
            "case; name the raters when counting, or use statistics of all raters together"
        )


@dataclass(frozen=True)
class RaterDifferences:
    """Differences between raters."""

    raters: tuple[str, ...]
    pairs: PairMatrix
    """1 − F1 of every two raters; nan where both marked nothing, or no item was rated by both."""
    mean_difference: NDArray[np.float64]
    """Of each rater to the others with whom he can be compared; nan where there is none."""
    mean: float
    """Of the mean differences."""
    std: float
    """Their sample standard deviation."""
    threshold: float
    """Mean plus standard deviation."""
    outliers: tuple[str, ...]
    """The raters whose mean difference is above the threshold."""


def rater_differences(tally: Tally) -> RaterDifferences:
    """1 − F1 between raters, and who is further from the others than most.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [1, 1, 1, 0, 0], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> rater_differences(t).outliers
    ('D',)
    """
    check_named_raters(tally, "the difference between raters")
    found = pairwise(dice, tally)
    pairs = PairMatrix("f1_difference", found.names, 1 - found.values)
    each = mean_with_others(pairs.values)
    mean, std = _spread(each)
    outliers = tuple(name for name, value in zip(pairs.names, each, strict=True) if value > mean + std)
    return RaterDifferences(pairs.names, pairs, each, mean, std, _threshold(mean, std), outliers)


def mean_with_others(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The mean of each row but for its own place, over the pairs that are defined; nan where none is."""
    known = ~np.isnan(values) & ~np.eye(len(values), dtype=bool)
    mean = np.full(len(values), np.nan)
    np.divide(np.where(known, values, 0).sum(axis=1), known.sum(axis=1), out=mean, where=known.any(axis=1))
    return mean


def _spread(values: NDArray[np.float64]) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if len(known) else Undefined("no_two_raters_comparable")
    return mean, float(known.std(ddof=1)) if len(known) > 1 else Undefined("fewer_than_two_raters_comparable")


def _threshold(mean: float, std: float) -> float:
    return std if isinstance(std, Undefined) else mean + std


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
    check_named_raters(tally, "Williams' index")
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


@dataclass(frozen=True)
class RaterClustering:
    """A dendrogram of raters."""

    raters: tuple[str, ...]
    """Those clustered; the numbers in ``linkage`` are their positions."""
    linkage: NDArray[np.float64]
    """SciPy's: for each merger the two clusters, their height, and how many raters they hold."""
    order: tuple[str, ...]
    """The leaves of the dendrogram from one side to the other."""
    apart: tuple[str, ...] = ()
    """Raters left out, as they cannot be compared with all the others."""


def cluster_raters(tally: Tally) -> RaterClustering:
    """Ward's clustering of the raters by 1 − F1.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [0, 0, 1, 1, 1], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> cluster_raters(t).order
    ('A', 'C', 'B', 'D')
    """
    check_named_raters(tally, "clustering")
    differences = rater_differences(tally).pairs
    keep = _comparable(differences.values)
    names = tuple(differences.names[i] for i in keep)
    apart = tuple(name for name in differences.names if name not in names)
    if len(keep) < 2:
        return RaterClustering(names, np.empty((0, 4)), names, apart)
    linkage, order = _ward(differences.values[np.ix_(keep, keep)])
    return RaterClustering(names, linkage, tuple(names[i] for i in order), apart)


def _comparable(values: NDArray[np.float64]) -> list[int]:
    """Raters with a difference between every two, those who lack most left out first."""
    keep = list(range(len(values)))
    while keep:
        missing = np.isnan(_apart(values[np.ix_(keep, keep)])).sum(axis=1)
        if not missing.any():
            break
        keep.pop(int(np.argmax(missing)))
    return keep


def _apart(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Differences to the others; a rater who marked nothing has none to himself, which is no gap."""
    return np.where(np.eye(len(values), dtype=bool), 0, values)


def _ward(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    from scipy.cluster import hierarchy

    linkage = hierarchy.linkage(values[np.triu_indices(len(values), 1)], "ward")
    return linkage, hierarchy.leaves_list(linkage)

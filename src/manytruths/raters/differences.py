"""Raters compared with each other: Dice distances and outliers, Williams' index, clustering."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..agreement import PairMatrix, PairStatistic, contingency, pairwise
from ..agreement.pairs import Tables, pair_statistic
from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally
from ..core.undefined import Undefined, divide
from ..fusion.vote import mean_with_others

Values = NDArray[np.float64]


def check_named_raters(tally: Tally, what: str) -> None:
    """Raise CallError where raters are exchangeable, so that nothing can be said about one of them."""
    if tally.exchangeable:
        raise CallError(
            f"{what} is about each rater, but raters are exchangeable here: a slot is not the same person in every "
            "case; name the raters when counting, or use statistics of all raters together"
        )


@pair_statistic(undefined="both_empty")
def label_dice(tables: Tables, labels: Labels) -> Values:
    """Dice's coefficient of two raters, of several labels the mean over those that either of the two used.

    With one label besides background this is :func:`dice`.

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 2], "B": [1, 1, 2, 2]})
    >>> round(label_dice(t), 4)
    0.7333
    """
    marks = list(labels.marks)
    same = tables[..., marks, marks]
    values = 2 * same / (tables.sum(axis=-1)[..., marks] + tables.sum(axis=-2)[..., marks])
    known = ~np.isnan(values)
    return divide(np.where(known, values, 0).sum(axis=-1), known.sum(axis=-1))


def connected_raters(tally: Tally) -> tuple[tuple[str, ...], ...]:
    """Groups of raters who can be compared, directly or through others: two share some item that both rated.

    Raters of different groups read different cases, so that nothing says how they would compare.

    Parameters
    ----------
    tally : Tally
        Table of one or more raters.

    Returns
    -------
    tuple of tuple of str
        The raters of each group, the largest group first; one group where all can be compared. Who rated nothing is in
        none.

    Examples
    --------
    >>> import manytruths as mt
    >>> first = mt.tally({"A": [1, 0], "B": [1, 1], "C": None})
    >>> second = mt.tally({"A": None, "B": None, "C": [0, 1]})
    >>> mt.connected_raters(first + second)
    (('A', 'B'), ('C',))
    """
    shared = contingency(tally).sum(axis=(-1, -2)) > 0
    left, groups = np.flatnonzero(shared.diagonal()).tolist(), []
    while left:
        group, new = set(), {left[0]}
        while new:
            group |= new
            new = set(np.flatnonzero(shared[sorted(new)].any(axis=0)).tolist()) - group
        groups.append(sorted(group))
        left = [i for i in left if i not in group]
    groups.sort(key=lambda group: -len(group))
    return tuple(tuple(tally.rater_names[i] for i in group) for group in groups)


@dataclass(frozen=True)
class RaterDifferences:
    """Dice distances between raters, and outliers.

    Attributes
    ----------
    raters : tuple of str
        The raters.
    pairs : PairMatrix
        1 − Dice of every two raters, of several labels the mean over labels; NaN where both marked nothing, or no item
        was rated by both.
    mean_difference : numpy.ndarray
        Mean distance of each rater to the others with whom they can be compared; NaN where there is none.
    mean : float
        Mean of the mean distances.
    std : float
        Their sample standard deviation.
    threshold : float
        Mean plus standard deviation.
    outliers : tuple of str
        The raters whose mean distance is above the threshold; see :func:`rater_outlier_test` for a test.
    """

    raters: tuple[str, ...]
    pairs: PairMatrix
    mean_difference: Values
    mean: float
    std: float
    threshold: float
    outliers: tuple[str, ...]


def rater_differences(tally: Tally) -> RaterDifferences:
    """Compute Dice distances between raters, and name outliers by Lampert's rule.

    A rater's mean distance is the mean of 1 − Dice over the *other* raters; an outlier's exceeds the raters' mean plus
    one *sample* standard deviation. One rater mostly does, even when all are equally good: :func:`rater_outlier_test`
    tests it over subjects. With several labels, Dice is the mean over labels. Where some raters share no item with the
    others, not even through others, there is no threshold.

    Parameters
    ----------
    tally : Tally
        Table of two or more raters.

    Returns
    -------
    RaterDifferences
        The distances and the outliers.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
    algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 3.3. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [1, 1, 1, 0, 0], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> mt.rater_differences(t).outliers
    ('D',)
    """
    check_named_raters(tally, "the difference between raters")
    overlap = pairwise(label_dice, tally)
    pairs = PairMatrix("f1_difference", overlap.names, 1 - overlap.values)
    each = mean_with_others(pairs.values)
    mean, std = _mean_and_std(each)
    threshold = std if isinstance(std, Undefined) else mean + std
    if len(connected_raters(tally)) > 1:
        mean = std = threshold = Undefined("disconnected_raters")
    outliers = tuple(name for name, value in zip(pairs.names, each, strict=True) if value > threshold)
    return RaterDifferences(pairs.names, pairs, each, mean, std, threshold, outliers)


def _mean_and_std(values: Values) -> tuple[float, float]:
    known = values[~np.isnan(values)]
    mean = float(known.mean()) if len(known) else Undefined("no_two_raters_comparable")
    return mean, float(known.std(ddof=1)) if len(known) > 1 else Undefined("fewer_than_two_raters_comparable")


@dataclass(frozen=True)
class WilliamsIndex:
    """Williams' index of each rater.

    Attributes
    ----------
    statistic : str
        Name of the statistic of agreement.
    raters : tuple of str
        The raters.
    index : numpy.ndarray
        The index of each rater; NaN where undefined, for the reason that :meth:`value` gives.
    with_others : numpy.ndarray
        Mean agreement of the rater with the others.
    among_others : numpy.ndarray
        Mean agreement of the others with each other.
    """

    statistic: str
    raters: tuple[str, ...]
    index: Values
    with_others: Values
    among_others: Values

    def value(self, rater: str) -> float:
        """The index of one rater, with the reason where it is undefined."""
        if rater not in self.raters:
            raise CallError(f"no rater {rater!r}; there are {', '.join(self.raters)}")
        i = self.raters.index(rater)
        if np.isnan(self.with_others[i]):
            return Undefined("rater_not_comparable")
        if np.isnan(self.among_others[i]):
            return Undefined("no_two_others_comparable")
        return float(self.index[i]) if self.among_others[i] > 0 else Undefined("others_do_not_agree")


def williams_index(tally: Tally, statistic: PairStatistic = label_dice) -> WilliamsIndex:
    """Williams' index: a rater's agreement with the others over the agreement of the others with each other.

    The mean agreement of a rater with the others over the mean agreement of the others with each other, over the pairs
    for which it is defined. 1: the rater is like any of them; below 1: they agree with the group less than its members
    do.

    Parameters
    ----------
    tally : Tally
        Table of three or more raters.
    statistic : PairStatistic
        How to measure agreement; by default Dice, of several labels the mean over labels.

    Returns
    -------
    WilliamsIndex
        The index of every rater.

    References
    ----------
    Williams GW. Comparing the joint agreement of several raters with another rater. Biometrics 1976;32:619–627.
    doi:10.2307/2529750
    Chalana V, Kim Y. A methodology for evaluation of boundary detection algorithms on medical images. IEEE Trans Med
    Imaging 1997;16:642–652. doi:10.1109/42.640755

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0, 0], "B": [1, 1, 0, 0], "C": [1, 0, 1, 0]})
    >>> mt.williams_index(t).index.round(3)
    array([1.5, 1.5, 0.5])
    """
    check_named_raters(tally, "Williams' index")
    pairs = pairwise(statistic, tally)
    near, among = mean_with_others(pairs.values), _among_others(pairs.values)
    return WilliamsIndex(pairs.statistic, pairs.names, divide(near, among), near, among)


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
    """A dendrogram of raters.

    Attributes
    ----------
    raters : tuple of str
        Those clustered; the numbers in ``linkage`` are their positions.
    linkage : numpy.ndarray
        As SciPy has it: for each merger the two clusters, their height, and how many raters they hold.
    order : tuple of str
        The leaves of the dendrogram from one side to the other.
    apart : tuple of str
        Raters left out, as they cannot be compared with all the others.
    """

    raters: tuple[str, ...]
    linkage: Values
    order: tuple[str, ...]
    apart: tuple[str, ...] = ()


def cluster_raters(tally: Tally) -> RaterClustering:
    """Cluster raters by Ward's method on their Dice distances.

    SciPy's ``ward`` is the variant that R calls ward.D2: Lance and Williams' update on squared distances, heights as
    distances. Dice distances are not Euclidean, so heights are not variances.

    Parameters
    ----------
    tally : Tally
        Table of two or more raters.

    Returns
    -------
    RaterClustering
        The dendrogram.

    References
    ----------
    Ward JH. Hierarchical grouping to optimize an objective function. J Am Stat Assoc 1963;58:236–244.
    doi:10.1080/01621459.1963.10500845
    Murtagh F, Legendre P. Ward's hierarchical agglomerative clustering method. J Classif 2014;31:274–295.
    doi:10.1007/s00357-014-9161-z
    Lampert TA, Stumpf A, Gançarski P. IEEE Trans Image Process 2016;25:2557–2572, 3.3. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0, 0], "B": [0, 0, 1, 1, 1], "C": [1, 1, 0, 0, 0], "D": [0, 0, 0, 1, 1]})
    >>> mt.cluster_raters(t).order
    ('A', 'C', 'B', 'D')
    """
    check_named_raters(tally, "clustering")
    differences = rater_differences(tally).pairs
    keep = _select_comparable(differences.values)
    names = tuple(differences.names[i] for i in keep)
    apart = tuple(name for name in differences.names if name not in names)
    if len(keep) < 2:
        return RaterClustering(names, np.empty((0, 4)), names, apart)
    linkage, order = _ward(differences.values[np.ix_(keep, keep)])
    return RaterClustering(names, linkage, tuple(names[i] for i in order), apart)


def _select_comparable(values: Values) -> list[int]:
    """Raters with a distance between every two, those who lack most left out first."""
    keep = list(range(len(values)))
    while keep:
        # a rater who marked nothing has no distance to themselves, which is no gap
        missing = (np.isnan(values[np.ix_(keep, keep)]) & ~np.eye(len(keep), dtype=bool)).sum(axis=1)
        if not missing.any():
            break
        keep.pop(int(np.argmax(missing)))
    return keep


def _ward(values: Values) -> tuple[Values, NDArray[np.int64]]:
    from scipy.cluster import hierarchy

    linkage = hierarchy.linkage(values[np.triu_indices(len(values), 1)], "ward")
    return linkage, hierarchy.leaves_list(linkage)

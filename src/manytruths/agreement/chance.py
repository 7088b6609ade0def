"""Agreement of raters, observed and beyond chance, and words for it.

With n_j the raters who gave label j to an item, m those who rated it, p_j the mean of n_j / m over items with
m ≥ 1, and D the mean over items with m ≥ 2 of the share of disagreeing pairs, 1 − Σ n_j (n_j − 1) / m (m − 1)::

    percent agreement   1 − D
    Fleiss' kappa       1 − D / Σ p_j (1 − p_j)
    Gwet's AC1          1 − D / (1 − Σ p_j (1 − p_j) / (L − 1))
    PABAK               1 − D / (1 − 1 / L)

All are for unequal numbers of raters (Gwet 2014). Written with disagreements, no digits cancel where nearly
all items are background. With unequal numbers Fleiss' kappa can fall below −1.

Cohen's kappa of two raters, with O the contingency table, E the product of its margins over n, and w a disagreement
weight (1 off the diagonal), is ::

    kappa = 1 − Σ w O / Σ w E

Krippendorff's alpha is for nominal, ordinal, interval and ratio labels. From the coincidences
o_ck = Σ over items with m ≥ 2 of n_c (n_k − [c = k]) / (m − 1), their sums n_c and n::

    alpha = 1 − (n − 1) Σ o_ck δ_ck / Σ n_c n_k δ_ck

with δ = [c ≠ k] (nominal), (Σ_{g=c..k} n_g − (n_c + n_k) / 2)² (ordinal), (v_c − v_k)² (interval),
((v_c − v_k) / (v_c + v_k))² (ratio), v being the labels' numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import Labels
from ..core.tally import Tally, check_tally
from ..core.undefined import Undefined, divide
from .pairs import PairStatistic, Tables, pair_statistic
from .votes import ALONE, ONE_LABEL, Values, VoteSums, VoteTable, vote_statistic, vote_sums, votes_without

NOT_RATED = "not_rated"


def prevalence(tally: Tally) -> NDArray[np.float64]:
    """Share of each label, every rated item counting the same.

    Parameters
    ----------
    tally : Tally
        Table of one or more raters.

    Returns
    -------
    numpy.ndarray
        One share per label of ``tally.labels``; NaN where no item was rated.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.prevalence(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    array([0.625, 0.375])
    """
    check_tally(tally, "prevalence")
    sums = vote_sums(tally)
    return sums.prevalence if sums.rated else np.full(len(tally.labels), np.nan)


@vote_statistic(undefined=ONE_LABEL)
def percent_agreement(sums: VoteSums) -> Values:
    """Probability that two raters of a random item agree, as a share of 1.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.percent_agreement(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.75
    """
    return 1 - sums.disagreement


@vote_statistic(undefined=ONE_LABEL)
def fleiss_kappa(sums: VoteSums) -> Values:
    """Fleiss' kappa: agreement of any number of raters beyond chance.

    Chance agreement follows from the shares of the labels over all raters. The more background is counted, the higher
    kappa is for the same markings, so compare kappas of the same kind of region only.

    References
    ----------
    Fleiss JL. Measuring nominal scale agreement among many raters. Psychol Bull 1971;76:378–382.
    doi:10.1037/h0031619

    Examples
    --------
    >>> import manytruths as mt
    >>> round(mt.fleiss_kappa(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]})), 4)
    0.4667
    """
    return 1 - sums.disagreement / sums.chance


@vote_statistic(undefined="only_one_label")
def gwet_ac1(sums: VoteSums) -> Values:
    """Gwet's AC1: chance-corrected agreement that does not collapse when one label is rare.

    References
    ----------
    Gwet KL. Computing inter-rater reliability and its variance in the presence of high agreement. Br J Math Stat
    Psychol 2008;61:29–48. doi:10.1348/000711006X126600
    Gwet KL. Handbook of Inter-Rater Reliability, 4th ed. 2014 (for unequal numbers of raters).

    Examples
    --------
    >>> import manytruths as mt
    >>> round(mt.gwet_ac1(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]})), 4)
    0.5294
    """
    return 1 - sums.disagreement / (1 - sums.chance / (len(sums.labels) - 1))


@vote_statistic(undefined="only_one_label")
def pabak(sums: VoteSums) -> Values:
    """Prevalence- and bias-adjusted kappa: chance agreement taken as 1 / number of labels.

    References
    ----------
    Byrt T, Bishop J, Carlin JB. Bias, prevalence and kappa. J Clin Epidemiol 1993;46:423–429.
    doi:10.1016/0895-4356(93)90018-V

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.pabak(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.5
    """
    return 1 - sums.disagreement / np.float64(1 - 1 / len(sums.labels))


@vote_statistic(undefined=NOT_RATED, alone=NOT_RATED, background=True)
def prevalence_index(sums: VoteSums) -> Values:
    """Absolute difference between the share of marked and of unmarked ratings.

    The nearer to 1, the lower kappa is for the same agreement.

    References
    ----------
    Byrt T, Bishop J, Carlin JB. Bias, prevalence and kappa. J Clin Epidemiol 1993;46:423–429.
    doi:10.1016/0895-4356(93)90018-V

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.prevalence_index(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.25
    """
    return np.abs(1 - 2 * sums.prevalence[..., sums.labels.background])


@vote_statistic(undefined="nobody_marked", background=True)
def positive_agreement(sums: VoteSums) -> Values:
    """Positive specific agreement: probability that a second rater marked an item that a first one marked.

    It is Dice's coefficient for two raters and, where all raters rated all items, the limit of kappa for an infinite
    background. It does not depend on how much background is counted.

    Examples
    --------
    >>> import manytruths as mt
    >>> round(mt.positive_agreement(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]})), 4)
    0.6667
    """
    return sums.marks_met / sums.marks


@vote_statistic(undefined="everybody_marked_everything", background=True)
def negative_agreement(sums: VoteSums) -> Values:
    """Negative specific agreement: probability that a second rater left unmarked what a first one left unmarked.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.negative_agreement(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.8
    """
    return sums.blanks_met / sums.blanks


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
    check_tally(tally, "weighted_kappa")
    powers = {"linear": 1, "quadratic": 2}
    if weights not in powers:
        raise CallError(f"weights must be 'linear' or 'quadratic'; got {weights!r}")
    numbers = np.array(tally.labels.numbers)
    distance = np.abs(numbers[:, None] - numbers) ** powers[weights]

    def weighted_kappa(tables: Tables, labels: Labels) -> NDArray[np.float64]:
        return _kappa(tables, distance)

    return PairStatistic(weighted_kappa, SAME)(tally)


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
        check_tally(tally, self.__name__)
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
        return self._of_votes(tally, counts)

    def without_each(self, tally: Tally, raters: Sequence[str]) -> NDArray[np.float64]:
        """The nominal alpha without each of some raters, NaN where undefined."""
        return self._of_votes(*votes_without(tally, raters))

    def _of_votes(self, tally: Tally | VoteTable, counts: NDArray[np.int64]) -> NDArray[np.float64]:
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


KAPPA_SCALES: dict[str, tuple[tuple[float, str], ...]] = {
    "landis_koch": (
        (math.nextafter(0, -1), "poor"),
        (0.2, "slight"),
        (0.4, "fair"),
        (0.6, "moderate"),
        (0.8, "substantial"),
        (1.0, "almost perfect"),
    ),
    "fleiss": ((math.nextafter(0.4, 0), "poor"), (0.75, "fair to good"), (1.0, "excellent")),
    "altman": ((0.2, "poor"), (0.4, "fair"), (0.6, "moderate"), (0.8, "good"), (1.0, "very good")),
    "shrout": ((0.1, "virtually none"), (0.4, "slight"), (0.6, "fair"), (0.8, "moderate"), (1.0, "substantial")),
}
"""By author: the upper ends of the ranges (included) and their words."""  # fmt: skip


def interpret_kappa(value: float, scale: str = "landis_koch") -> str:
    """Put a kappa into words, by the scale of a named author.

    Parameters
    ----------
    value : float
        A kappa, or a similar coefficient of agreement; at most 1.
    scale : {"landis_koch", "fleiss", "altman", "shrout"}
        Whose words to use. The ranges are conventions: say which one was used.

    Returns
    -------
    str
        The word for the range, or ``"undefined"`` for NaN.

    References
    ----------
    Landis JR, Koch GG. The measurement of observer agreement for categorical data. Biometrics 1977;33:159–174.
    doi:10.2307/2529310
    Fleiss JL. Statistical Methods for Rates and Proportions, 2nd ed. 1981.
    Altman DG. Practical Statistics for Medical Research. 1991.
    Shrout PE. Measurement reliability and agreement in psychiatry. Stat Methods Med Res 1998;7:301–317.
    doi:10.1177/096228029800700306

    Examples
    --------
    >>> interpret_kappa(0.374), interpret_kappa(0.4122), interpret_kappa(0.4, "fleiss")
    ('fair', 'moderate', 'fair to good')
    >>> interpret_kappa(-0.003), interpret_kappa(0.0)
    ('poor', 'slight')
    """
    if scale not in KAPPA_SCALES:
        raise CallError(f"scale must be one of {', '.join(KAPPA_SCALES)}; got {scale!r}")
    if math.isnan(value):
        return "undefined"
    # Fleiss' kappa of unequal numbers of raters can fall below −1
    if value > 1 + 1e-9:
        raise CallError(f"a kappa must be at most 1; got {value:g}")
    return next((name for top, name in KAPPA_SCALES[scale] if value <= top), KAPPA_SCALES[scale][-1][1])


def interpret_interval(low: float, high: float, scale: str = "landis_koch") -> str:
    """Put the confidence interval of a kappa into words: that of its lower limit and, where it differs, of its upper.

    Parameters
    ----------
    low, high : float
        Limits of the interval.
    scale : {"landis_koch", "fleiss", "altman", "shrout"}
        Whose words to use.

    Returns
    -------
    str
        ``"moderate"``, ``"moderate to substantial"``, or ``"undefined"`` for NaN.

    Examples
    --------
    >>> interpret_interval(0.45, 0.55), interpret_interval(0.55, 0.72)
    ('moderate', 'moderate to substantial')
    """
    words = list(dict.fromkeys(interpret_kappa(value, scale) for value in (low, high)))
    return "undefined" if "undefined" in words else " to ".join(words)


def interpret_alpha(low: float, high: float = 1.0) -> str:
    """Say what Krippendorff's alpha allows, by Krippendorff's rule: 0.8 for conclusions, 0.667 for tentative ones.

    Parameters
    ----------
    low, high : float
        Limits of alpha's confidence interval; without the upper one, nothing is called unreliable.

    Returns
    -------
    str
        ``"reliable"`` (the lower limit is 0.8 or more), ``"tentative conclusions only"`` (it is 0.667 or more), ``"not
        reliable"`` (the upper limit is below 0.667), ``"cannot be told"``, or ``"undefined"`` for NaN.

    References
    ----------
    Krippendorff K. Content Analysis, 3rd ed. 2013.

    Examples
    --------
    >>> interpret_alpha(0.7, 0.8), interpret_alpha(0.5, 0.6), interpret_alpha(0.5, 0.7)
    ('tentative conclusions only', 'not reliable', 'cannot be told')
    """
    if math.isnan(low) or math.isnan(high):
        return "undefined"
    if low >= 0.667:
        return "reliable" if low >= 0.8 else "tentative conclusions only"
    return "not reliable" if high < 0.667 else "cannot be told"

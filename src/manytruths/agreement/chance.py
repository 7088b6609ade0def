"""Agreement of any number of raters, observed and beyond chance.

With n_j the raters who gave label j to an item, m those who rated it, p_j the mean of n_j / m over items with
m ≥ 1, and D the mean over items with m ≥ 2 of the share of disagreeing pairs, 1 − Σ n_j (n_j − 1) / m (m − 1)::

    percent agreement   1 − D
    Fleiss' kappa       1 − D / Σ p_j (1 − p_j)
    Gwet's AC1          1 − D / (1 − Σ p_j (1 − p_j) / (L − 1))
    PABAK               1 − D / (1 − 1 / L)

All are for unequal numbers of raters (Gwet 2014). Written with disagreements, no digits cancel where nearly
all items are background. With unequal numbers Fleiss' kappa can fall below −1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tally
from .votes import ONE_LABEL, Values, VoteSums, vote_statistic, vote_sums

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

"""Agreement of any number of raters, as it is and beyond chance.

With n_j the raters who gave label j to an item, m those who rated it, p_j the mean of n_j / m over items with
m ≥ 1, and D the mean over items with m ≥ 2 of the share of disagreeing pairs, 1 − Σ n_j (n_j − 1) / m (m − 1)::

    percent agreement   1 − D
    Fleiss' kappa       1 − D / Σ p_j (1 − p_j)
    Gwet's AC1          1 − D / (1 − Σ p_j (1 − p_j) / (L − 1))
    PABAK               1 − D / (1 − 1 / L)

All are for unequal numbers of raters (Gwet 2014). Written with disagreements, no digits cancel where nearly
all items are background. With unequal numbers Fleiss' kappa can fall below −1.

Fleiss JL. Psychol Bull 1971;76:378–382. doi:10.1037/h0031619. Gwet KL. Br J Math Stat Psychol 2008;61:29–48.
doi:10.1348/000711006X126600. Gwet KL. Handbook of Inter-Rater Reliability, 4th ed. 2014.
Byrt T et al. J Clin Epidemiol 1993;46:423–429. doi:10.1016/0895-4356(93)90018-V
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tally
from .votes import ONE_LABEL, Values, VoteSums, vote_statistic, vote_sums

NOT_RATED = "not_rated"


def prevalence(tally: Tally) -> NDArray[np.float64]:
    """p_j: the share of each label, every rated item counting the same."""
    found = vote_sums(tally)
    return found.prevalence if found.seen else np.full(len(tally.labels), np.nan)


@vote_statistic(undefined=ONE_LABEL)
def percent_agreement(found: VoteSums) -> Values:
    """The chance that two raters of a random item agree about it, as a share of 1."""
    return 1 - found.disagreement


@vote_statistic(undefined=ONE_LABEL)
def fleiss_kappa(found: VoteSums) -> Values:
    """Fleiss' kappa.

    >>> import manytruths as mt
    >>> round(mt.fleiss_kappa(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]})), 4)
    0.4667
    """
    return 1 - found.disagreement / found.chance


@vote_statistic(undefined="only_one_label")
def gwet_ac1(found: VoteSums) -> Values:
    """Gwet's AC1, which does not collapse when one label is rare."""
    return 1 - found.disagreement / (1 - found.chance / (len(found.labels) - 1))


@vote_statistic(undefined="only_one_label")
def pabak(found: VoteSums) -> Values:
    """Prevalence- and bias-adjusted kappa: chance taken as 1 / labels (Byrt 1993; Brennan and Prediger 1981)."""
    return 1 - found.disagreement / np.float64(1 - 1 / len(found.labels))


@vote_statistic(undefined=NOT_RATED, alone=NOT_RATED, background=True)
def prevalence_index(found: VoteSums) -> Values:
    """|share marked − share not marked|: the nearer to 1, the lower a kappa for the same agreement (Byrt 1993)."""
    return np.abs(1 - 2 * found.prevalence[..., found.labels.background])


@vote_statistic(undefined="nobody_marked", background=True)
def positive_agreement(found: VoteSums) -> Values:
    """Positive specific agreement: a rater having marked an item, the chance that another has too.

    Dice's coefficient for two raters and, where all rated all, kappa's limit for an infinite background.
    """
    return found.marks_met / found.marks


@vote_statistic(undefined="everybody_marked_everything", background=True)
def negative_agreement(found: VoteSums) -> Values:
    """Negative specific agreement: a rater having left an item, the chance that another has too."""
    return found.blanks_met / found.blanks

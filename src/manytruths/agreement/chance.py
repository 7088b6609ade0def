"""Agreement of any number of raters, as it is and beyond chance.

With n_j the raters who gave label j to an item, m those who rated it, p_j the mean of n_j / m over items with
m ≥ 1, and D the mean over items with m ≥ 2 of the share of disagreeing pairs, 1 − Σ n_j (n_j − 1) / m (m − 1)::

    percent agreement   1 − D
    Fleiss' kappa       1 − D / Σ p_j (1 − p_j)
    Gwet's AC1          1 − D / (1 − Σ p_j (1 − p_j) / (L − 1))
    PABAK               1 − D / (1 − 1 / L)

All are for unequal numbers of raters (Gwet 2014). Written with disagreements, no digits cancel where nearly
all items are background.

Fleiss JL. Psychol Bull 1971;76:378–382. doi:10.1037/h0031619. Gwet KL. Br J Math Stat Psychol 2008;61:29–48.
doi:10.1348/000711006X126600. Gwet KL. Handbook of Inter-Rater Reliability, 4th ed. 2014.
Byrt T et al. J Clin Epidemiol 1993;46:423–429. doi:10.1016/0895-4356(93)90018-V
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..errors import CallError
from ..labels import Undefined, ratio, reason
from ..tallies import Tally

ALONE = "no item was rated by two raters"
ONE_LABEL = "every rater gave one and the same label to every item, so that chance agreement is complete"


def disagreement(tally: Tally) -> float:
    """D: the chance that two raters of a random item disagree about it."""
    m = tally.rated
    pairs = m * (m - 1)
    apart = (m * m - (tally.votes**2).sum(axis=1)) / np.maximum(pairs, 1)
    return ratio(float(apart @ tally.counts), float(tally.counts[pairs > 0].sum()), ALONE)


def prevalence(tally: Tally) -> NDArray[np.float64]:
    """p_j: the share of each label, every rated item counting the same."""
    m = tally.rated
    seen = int(tally.counts[m > 0].sum())
    weights = tally.counts / np.maximum(m, 1)
    return (weights @ tally.votes) / seen if seen else np.full(len(tally.labels), np.nan)


def _beyond(tally: Tally, chance_disagreement: float) -> float:
    observed = disagreement(tally)
    if reason(observed):
        return observed
    return 1 - observed / chance_disagreement if chance_disagreement > 0 else Undefined(ONE_LABEL)


def percent_agreement(tally: Tally) -> float:
    """The chance that two raters of a random item agree about it, as a share of 1."""
    observed = disagreement(tally)
    return observed if reason(observed) else 1 - observed


def fleiss_kappa(tally: Tally) -> float:
    """Fleiss' kappa.

    >>> import manytruths as mt
    >>> round(mt.fleiss_kappa(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]})), 4)
    0.4667
    """
    p = prevalence(tally)
    # Σ p_j p_k over j ≠ k: 1 − p_j would lose the digits of a rare label, and be 0 only roughly for a lone one
    return _beyond(tally, float(p @ (1 - np.eye(len(p))) @ p))


def gwet_ac1(tally: Tally) -> float:
    """Gwet's AC1, which does not collapse when one label is rare."""
    if len(tally.labels) < 2:
        return Undefined("there is only one label")
    p = prevalence(tally)
    return _beyond(tally, 1 - float((p * (1 - p)).sum()) / (len(tally.labels) - 1))


def pabak(tally: Tally) -> float:
    """Prevalence- and bias-adjusted kappa: chance taken as 1 / labels (Byrt 1993; Brennan and Prediger 1981)."""
    if len(tally.labels) < 2:
        return Undefined("there is only one label")
    return _beyond(tally, 1 - 1 / len(tally.labels))


def prevalence_index(tally: Tally) -> float:
    """|share marked − share not marked|: the nearer to 1, the lower a kappa for the same agreement (Byrt 1993)."""
    _background(tally)
    background = prevalence(tally)[tally.labels.background]
    return float(abs(1 - 2 * background)) if not np.isnan(background) else Undefined("no item was rated")


def positive_agreement(tally: Tally) -> float:
    """Positive specific agreement: a rater having marked an item, the chance that another has too.

    Dice's coefficient for two raters, and kappa's limit for an infinite background.
    """
    return _specific(tally, tally.marked, "nobody marked anything")


def negative_agreement(tally: Tally) -> float:
    """Negative specific agreement: a rater having left an item, the chance that another has too."""
    return _specific(tally, tally.rated - tally.marked, "everybody marked everything")


def _specific(tally: Tally, chosen: NDArray[np.int64], otherwise: str) -> float:
    _background(tally)
    m = tally.rated
    weights = np.where(m > 1, tally.counts, 0)
    agreeing = float((weights * chosen * (chosen - 1) / np.maximum(m - 1, 1)).sum())
    return ratio(agreeing, float(weights @ chosen), otherwise if weights.any() else ALONE)


def _background(tally: Tally) -> None:
    if tally.labels.background is None:
        raise CallError(f"no label is background (0) among {', '.join(tally.labels.describe())}")

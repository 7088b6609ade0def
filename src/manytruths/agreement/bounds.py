"""What the votes alone tell: Smyth's bound, the agreement curve, unanimity, and Yang's two conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..core.labels import VOID
from ..core.tally import Tally, check_tally
from .votes import Values, VoteSums, vote_statistic

SMYTH_LIMIT = 0.1
"""The largest bound that Smyth recommends accepting."""


@vote_statistic(undefined="not_rated", alone="not_rated")
def smyth_bound(sums: VoteSums) -> Values:
    """Smyth's lower bound of the raters' mean error rate, whatever the truth.

    Σ (m − max_j n_j) / Σ m, with n_j the raters who gave an item label j and m those who rated it. Two raters reach
    the largest value with any disagreement and an odd number never reaches 0.5, so bounds of different numbers of
    raters do not compare (Lampert 2016, 5.1).

    References
    ----------
    Smyth P. Bounds on the mean classification error rate of multiple experts. Pattern Recogn Lett 1996;17:1253–1257.
    doi:10.1016/0167-8655(96)00105-5
    Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
    algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.smyth_bound(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.125
    """
    return sums.minority / sums.ratings


@dataclass(frozen=True)
class AgreementCurve:
    """Share of the marked items that at least n raters marked, for every n.

    Attributes
    ----------
    raters : numpy.ndarray
        n, from 1 to the number of raters.
    share : numpy.ndarray
        Of the items that any rater marked, the share that at least n raters marked.
    """

    raters: NDArray[np.int64]
    share: NDArray[np.float64]


def agreement_curve(tally: Tally) -> AgreementCurve:
    """Share of the marked items that at least n raters marked, for n from 1 to all raters.

    An item that a rater did not rate cannot reach the full number: with absent raters the curve falls lower.

    Parameters
    ----------
    tally : Tally
        Table of one or more raters.

    Returns
    -------
    AgreementCurve
        The curve; its shares are NaN where nobody marked anything.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
    algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, eq. 3. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.agreement_curve(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]})).share
    array([1. , 0.5])
    """
    check_tally(tally, "agreement_curve")
    numbers = np.arange(1, len(tally.raters) + 1)
    items = np.array([tally.counts[tally.marked >= n].sum() for n in numbers], np.float64)
    return AgreementCurve(numbers, items / items[0] if items[0] else np.full(len(numbers), np.nan))


@vote_statistic(undefined="nobody_marked")
def unanimous(sums: VoteSums) -> Values:
    """Share of the marked items that all raters marked, over the items that two or more raters rated.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
    algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.unanimous(mt.tally({"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}))
    0.5
    """
    return sums.agreed / sums.marked


def case_condition(tally: Tally) -> Literal["", "nothing_marked", "one_empty", "no_overlap"]:
    """Tell cases apart in which kappa does not measure agreement.

    Parameters
    ----------
    tally : Tally
        Table of one case.

    Returns
    -------
    str
        ``"nothing_marked"``: no rater marked anything. ``"one_empty"`` (Yang's condition 1): some raters marked
        something and some did not. ``"no_overlap"`` (condition 2): all raters marked something, but no item was marked
        by two. ``""``: none of these.

    References
    ----------
    Yang F et al. Assessing inter-annotator agreement for medical image segmentation. IEEE Access 2023;11:21300–21312.
    doi:10.1109/ACCESS.2023.3249759

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.case_condition(mt.tally({"A": [1, 1, 0, 0], "B": [0, 0, 0, 0]}))
    'one_empty'
    """
    check_tally(tally, "case_condition")
    rows = tally.patterns[:, tally.raters]
    rows = rows[tally.counts > 0]
    present = np.any(rows != VOID, axis=0)
    marked = np.atleast_1d(np.any(np.isin(rows, tally.labels.marks), axis=0))[present]
    if not marked.any():
        return "nothing_marked"
    if not marked.all():
        return "one_empty"
    overlap = ((tally.marked > 1) & (tally.counts > 0)).any()
    return "" if overlap or len(marked) < 2 else "no_overlap"

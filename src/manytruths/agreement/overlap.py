"""Overlap of two raters' markings, and one rater held against the other.

With a items marked by both, b by the first only, c by the second only, d by neither. Where there are more
than two labels, everything but background counts as marked; ``tally.only(label)`` looks at one of them.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.labels import Labels
from .pairs import Tables, pair_statistic, two_by_two

NOTHING = "both_empty"


@pair_statistic(undefined=NOTHING)
def dice(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Dice's coefficient (F1 score) of two raters: 2a / (2a + b + c).

    With a items marked by both raters, b by the first only, c by the second only.

    References
    ----------
    Dice LR. Measures of the amount of ecologic association between species. Ecology 1945;26:297–302.
    doi:10.2307/1932409

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.dice(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]}))
    0.5
    """
    a, b, c, _ = two_by_two(tables, labels)
    return 2 * a / (2 * a + b + c)


@pair_statistic(undefined=NOTHING)
def iou(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Intersection over union (Jaccard's index) of two raters: a / (a + b + c).

    With a items marked by both raters, b by the first only, c by the second only.

    References
    ----------
    Jaccard P. The distribution of the flora in the alpine zone. New Phytol 1912;11:37–50.
    doi:10.1111/j.1469-8137.1912.tb05611.x

    Examples
    --------
    >>> import manytruths as mt
    >>> round(mt.iou(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]})), 4)
    0.3333
    """
    a, b, c, _ = two_by_two(tables, labels)
    return a / (a + b + c)


@pair_statistic(undefined="second_empty")
def sensitivity(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Sensitivity (recall) of the first rater: the share of what the second marked that the first marked.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.sensitivity(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]}))
    1.0
    """
    a, _, c, _ = two_by_two(tables, labels)
    return a / (a + c)


@pair_statistic(undefined="second_full")
def specificity(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Specificity of the first rater: the share of what the second left unmarked that the first left unmarked.

    Examples
    --------
    >>> import manytruths as mt
    >>> round(mt.specificity(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]})), 4)
    0.3333
    """
    _, b, _, d = two_by_two(tables, labels)
    return d / (b + d)


@pair_statistic(undefined="first_empty")
def ppv(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Positive predictive value (precision): the share of what the first rater marked that the second marked.

    Examples
    --------
    >>> import manytruths as mt
    >>> round(mt.ppv(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]})), 4)
    0.3333
    """
    a, b, _, _ = two_by_two(tables, labels)
    return a / (a + b)


@pair_statistic(undefined="first_full")
def npv(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Negative predictive value: the share of what the first rater left unmarked that the second left unmarked.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.npv(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]}))
    1.0
    """
    _, _, c, d = two_by_two(tables, labels)
    return d / (c + d)


@pair_statistic(undefined="no_item_rated_by_both")
def bias_index(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Bias index: the absolute difference between two raters' shares of marked items.

    References
    ----------
    Byrt T, Bishop J, Carlin JB. Bias, prevalence and kappa. J Clin Epidemiol 1993;46:423–429.
    doi:10.1016/0895-4356(93)90018-V

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.bias_index(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]}))
    0.5
    """
    a, b, c, d = two_by_two(tables, labels)
    return np.abs(b - c) / (a + b + c + d)


@pair_statistic(undefined=NOTHING)
def volume_difference(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """Relative volume difference: the absolute difference of two raters' areas or volumes over their mean.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.volume_difference(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]}))
    1.0
    """
    a, b, c, _ = two_by_two(tables, labels)
    return np.abs(b - c) / (a + (b + c) / 2)

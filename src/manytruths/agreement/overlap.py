"""Overlap of two raters' markings, and one judged by the other.

With a items marked by both, b by the first only, c by the second only, d by neither. Where there are more
than two labels, everything but background counts as marked; ``tally.only(label)`` looks at one of them.

Dice LR. Ecology 1945;26:297–302. doi:10.2307/1932409. Jaccard P. New Phytol 1912;11:37–50.
doi:10.1111/j.1469-8137.1912.tb05611.x. Byrt T, Bishop J, Carlin JB. Bias, prevalence and kappa.
J Clin Epidemiol 1993;46:423–429. doi:10.1016/0895-4356(93)90018-V
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.labels import Labels
from .pairs import Tables, pair_statistic, two_by_two

NOTHING = "both_empty"


@pair_statistic(undefined=NOTHING)
def dice(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """2a / (2a + b + c): Dice's coefficient, the F1 score.

    >>> import manytruths as mt
    >>> mt.dice(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]}))
    0.5
    """
    a, b, c, _ = two_by_two(tables, labels)
    return 2 * a / (2 * a + b + c)


@pair_statistic(undefined=NOTHING)
def iou(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """a / (a + b + c): intersection over union, Jaccard's index."""
    a, b, c, _ = two_by_two(tables, labels)
    return a / (a + b + c)


@pair_statistic(undefined="second_empty")
def sensitivity(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """a / (a + c): of what the second marked, the share that the first marked."""
    a, _, c, _ = two_by_two(tables, labels)
    return a / (a + c)


@pair_statistic(undefined="second_full")
def specificity(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """d / (b + d): of what the second left, the share that the first left."""
    _, b, _, d = two_by_two(tables, labels)
    return d / (b + d)


@pair_statistic(undefined="first_empty")
def ppv(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """a / (a + b): positive predictive value."""
    a, b, _, _ = two_by_two(tables, labels)
    return a / (a + b)


@pair_statistic(undefined="first_full")
def npv(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """d / (c + d): negative predictive value."""
    _, _, c, d = two_by_two(tables, labels)
    return d / (c + d)


@pair_statistic(undefined="no_item_rated_by_both")
def bias_index(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """|b − c| / n: how far apart the two raters' shares of marked items are (Byrt 1993)."""
    a, b, c, d = two_by_two(tables, labels)
    return np.abs(b - c) / (a + b + c + d)


@pair_statistic(undefined=NOTHING)
def volume_difference(tables: Tables, labels: Labels) -> NDArray[np.float64]:
    """|b − c| over the mean of what the two marked: by how much their areas or volumes differ."""
    a, b, c, _ = two_by_two(tables, labels)
    return np.abs(b - c) / (a + (b + c) / 2)

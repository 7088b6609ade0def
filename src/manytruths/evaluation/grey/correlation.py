"""Does an algorithm respond more strongly where more raters agree? Pearson's r of the response with the raters' share.

The share is A / m: the raters who marked an item of those who rated it. ``cco`` looks at the items that anybody marked,
``cci`` at all: the further it lies below ``cco``, the more the algorithm responds where nobody marked. p is two-sided
and takes items for independent, which neighbours are not: it is smaller than it should be.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 3.4. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ...agreement import Correlation
from ...core.undefined import Undefined
from .counts import ResponseCounts

Values = NDArray[np.float64]


def cco(counts: ResponseCounts) -> Correlation:
    """The correlation within what anybody marked (within the object)."""
    marked = counts.shares > 0
    return _pearson(counts.shares[marked], counts.levels, counts.by_share[marked], "nobody_marked_two_items")


def cci(counts: ResponseCounts) -> Correlation:
    """The correlation over all items (in the image).

    >>> import manytruths as mt
    >>> from manytruths.evaluation.grey.counting import responses
    >>> from manytruths.evaluation.grey.truths import truths
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 0, 0]}
    >>> found = responses([9, 7, 2, 2], masks)
    >>> round(cci(found.against(truths(found.tally))).r, 4)
    0.9782
    """
    return _pearson(counts.shares, counts.levels, counts.by_share, "fewer_than_two_items")


def _pearson(shares: Values, levels: Values, counts: NDArray[np.int64], none: str) -> Correlation:
    """From how many items have each share and each level; centred first, so that nothing cancels."""
    by_share, by_level = counts.sum(axis=1), counts.sum(axis=0)
    n = int(by_share.sum())
    if n < 2 or (by_share > 0).sum() < 2 or (by_level > 0).sum() < 2:
        lone = "constant_response" if (by_level > 0).sum() < 2 else "constant_share"
        why = Undefined(none if n < 2 else lone)
        return Correlation(why, why, n)
    x, y = shares - by_share @ shares / n, levels - by_level @ levels / n
    r = float(np.clip(x @ (counts @ y) / np.sqrt((by_share @ x**2) * (by_level @ y**2)), -1, 1))
    return Correlation(r, _two_sided(r, n), n)


def _two_sided(r: float, n: int) -> float:
    from scipy import special

    if n == 2:
        return Undefined("two_items")
    if abs(r) == 1:
        return 0.0
    return float(2 * special.stdtr(n - 2, -abs(r) * np.sqrt((n - 2) / ((1 - r) * (1 + r)))))

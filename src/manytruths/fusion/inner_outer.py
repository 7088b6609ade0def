"""Inner and outer region: what all raters marked, what any did, and what lies between.

An acceptable segmentation P holds the inner region I (intersection) and stays within the outer one O (union); the
items of O \\ I may be in it or not. |I| / |O| is 1 where all raters agree and small where they differ much. With absent
raters, those who rated an item decide on it.

Zeng D et al. Segmentation with multiple acceptable annotations. IPMI 2021, LNCS 12729, eqs. 1–2.
doi:10.1007/978-3-030-78191-0_37
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ..core.painting import PatternValues
from ..core.tally import Tally
from ..core.undefined import ratio
from .vote import decided


def inner_region(tally: Tally) -> NDArray[np.bool_]:
    """I: whether everybody who rated the items of a pattern marked them."""
    return _region(tally, "all")


def outer_region(tally: Tally) -> NDArray[np.bool_]:
    """O: whether anybody marked the items of a pattern."""
    return _region(tally, "any")


def acceptable_region(tally: Tally) -> NDArray[np.bool_]:
    """O \\ I: what some marked and some left, where a segmentation may do either.

    >>> import manytruths as mt
    >>> masks = {"A": [1, 1, 0, 0], "B": [1, 0, 1, 0]}
    >>> mt.paint(acceptable_region(mt.tally(masks)), masks)
    array([False,  True,  True, False])
    """
    return outer_region(tally) & ~inner_region(tally)


def inner_outer_ratio(tally: Tally) -> float:
    """|I| / |O|: the share of what anybody marked that all marked.

    >>> import manytruths as mt
    >>> inner_outer_ratio(mt.tally({"A": [1, 1, 1, 0], "B": [1, 0, 0, 0]}))
    0.3333333333333333
    """
    inner, outer = tally.counts @ inner_region(tally), tally.counts @ outer_region(tally)
    return ratio(float(inner), float(outer), "nobody_marked")


def _region(tally: Tally, threshold: str) -> NDArray[np.bool_]:
    return PatternValues(decided(tally, threshold, np.ones(len(tally.raters)))[1], tally)

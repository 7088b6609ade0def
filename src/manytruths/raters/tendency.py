"""What a rater tends to do: draw large or small, miss, mark what nobody else does.

For rater j, over the items that he and at least one other rated, with A and m those of the *others*::

    relative area   what he marked / Σ A / m             above 1: he draws large
    misses          of what has A / m ≥ 0.5, the share he left
    extra           of what he marked, the share with A = 0

With every rater present, relative area is his area over the mean area of the others.

After Lampert TA et al. IEEE Trans Image Process 2016;25:2557–2572, 3.3. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.labels import VOID
from ..core.tally import Tally
from ..fusion import others_share
from .identity import refuse_exchangeable

Values = NDArray[np.float64]


@dataclass(frozen=True)
class RaterTendency:
    """What each rater tends to do."""

    raters: tuple[str, ...]
    relative_area: Values
    """Area marked over the mean of the others'; nan where the others marked nothing."""
    misses: Values
    """The share of the others' consensus that he left; nan where that is empty."""
    extra: Values
    """The share of what he marked that nobody else did; nan where he marked nothing."""


def rater_tendency(tally: Tally) -> RaterTendency:
    """Relative area, misses and extras of every rater; all labels but background count as marked.

    >>> import manytruths as mt
    >>> found = rater_tendency(mt.tally({"A": [1, 1, 1, 1, 0], "B": [1, 1, 0, 0, 0], "C": [1, 1, 0, 0, 0]}))
    >>> found.relative_area.round(2), found.extra
    (array([2.  , 0.67, 0.67]), array([0.5, 0. , 0. ]))
    """
    refuse_exchangeable(tally, "tendency")
    rows = tally.patterns[:, tally.raters]
    share = others_share(tally)
    counted = (rows != VOID) & ~np.isnan(share)
    marked = counted & np.isin(rows, tally.labels.marks)
    consensus = counted & (share >= 0.5)
    area = tally.counts @ marked
    return RaterTendency(
        tally.rater_names,
        _ratio(area, tally.counts @ np.where(counted, share, 0)),
        _ratio(tally.counts @ (consensus & ~marked), tally.counts @ consensus),
        _ratio(tally.counts @ (marked & (share == 0)), area),
    )


def _ratio(part: NDArray[Any], whole: NDArray[Any]) -> Values:
    share = np.full(len(part), np.nan)
    np.divide(part, whole, out=share, where=whole != 0)
    return share

"""Votes: what enough of the raters marked.

With A the raters who marked an item and m those who rated it, the item belongs to the consensus where ::

    A / m ≥ τ

so that a tie at τ = 0.5 is marked; with weights, A and m are sums of weights. An item that nobody rated is
background.

Lampert TA et al. IEEE Trans Image Process 2016;25:2557–2572, eq. 6. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.labels import VOID
from ..core.painting import PatternValues
from ..core.tally import Tally
from .notes import left_out, notes
from .result import Consensus, Values, binary_labels, refuse_slots

TIE = 1e-9
"""Shares of weights that are not whole numbers meet a threshold up to so much."""


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Vote(Consensus):
    """A vote, by pattern; ``probability`` is the share, and 0 where nobody rated."""

    threshold: float | str
    """τ, or ``any`` or ``all``."""
    share: Values
    """A / m; nan where nobody rated."""
    weights: Values
    """The weight of each rater, in the order of ``tally.raters``."""
    excluded: tuple[str, ...] = ()
    """The raters who were left out."""


def vote(tally: Tally, threshold: float | str = 0.5, weights: Mapping[str, float] | None = None) -> Vote:
    """What at least a share ``threshold`` of the raters marked; all labels but background count as marked.

    Parameters
    ----------
    threshold
        τ in (0, 1]; or ``"any"``, ``"all"``: what anybody, what everybody marked who rated it.
    weights
        Of each rater by name, at least 0; a rater of weight 0 has no say.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 1, 0], "B": [1, 1, 0, 0], "C": [1, 0, 0, 0]})
    >>> vote(t).hard
    array([False, False,  True,  True])
    """
    each = _weights(tally, weights)
    share, hard = decided(tally, threshold, each)
    return Vote(
        method=f"vote:{threshold}" + ("" if weights is None else " weighted"),
        raters=tally.rater_names,
        labels=binary_labels(tally),
        probability=PatternValues(np.nan_to_num(share), tally),
        hard=PatternValues(hard, tally),
        notes=(*notes(tally), *(left_out(tally, each > 0) if len(each) > 1 else [])),
        threshold=threshold,
        share=PatternValues(share, tally),
        weights=each,
    )


def decided(tally: Tally, threshold: float | str, weights: Values) -> tuple[Values, NDArray[np.bool_]]:
    """The share of each pattern (nan where nobody of weight rated), and whether it is enough."""
    rows = tally.patterns[:, tally.raters]
    rated = (rows != VOID) & (weights > 0)
    marked = rated & np.isin(rows, tally.labels.marks)
    share = divided(marked @ weights, rated @ weights)
    return share, _hard(share, marked, rated, threshold)


def divided(part: Values, whole: Values) -> Values:
    """``part / whole``, nan where there is nothing to divide by."""
    share = np.full(np.shape(part), np.nan)
    np.divide(part, whole, out=share, where=whole > 0)
    return share


def _hard(
    share: Values, marked: NDArray[np.bool_], rated: NDArray[np.bool_], threshold: float | str
) -> NDArray[np.bool_]:
    if threshold == "any":
        return np.asarray(marked.any(axis=1))
    if threshold == "all":
        return np.asarray(marked.any(axis=1) & (marked == rated).all(axis=1))
    if isinstance(threshold, str) or not 0 < threshold <= 1:
        raise CallError(f"threshold is 'any', 'all', or a share above 0 and up to 1; got {threshold!r}")
    return np.asarray(share >= threshold - TIE)


def _weights(tally: Tally, weights: Mapping[str, float] | None) -> Values:
    names = tally.rater_names
    if weights is None:
        return np.ones(len(names))
    refuse_slots(tally, "have a weight")
    if set(weights) != set(names):
        raise CallError(f"weights= wants one for each of {', '.join(names)}; got {', '.join(map(str, weights))}")
    each = np.array([weights[name] for name in names], np.float64)
    if not (np.isfinite(each).all() and each.min() >= 0 and each.any()):
        raise CallError(f"weights are at least 0, finite, and not all 0; got {dict(weights)}")
    return each


def others_share(tally: Tally) -> Values:
    """(patterns, raters): of the other raters of an item, the share who marked it; nan where there is no other.

    >>> import manytruths as mt
    >>> others_share(mt.tally({"A": [1, 0], "B": [1, 1], "C": [0, 0]}))
    array([[0.5, 0. , 0.5],
           [0.5, 0.5, 1. ]])
    """
    rows = tally.patterns[:, tally.raters]
    marked = tally.marked[:, None] - np.isin(rows, tally.labels.marks)
    return divided(marked.astype(np.float64), (tally.rated[:, None] - (rows != VOID)).astype(np.float64))

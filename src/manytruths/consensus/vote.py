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

from ..errors import CallError
from ..labels import VOID
from ..tallies import PatternValues, Tally

Values = NDArray[np.float64]


@dataclass(frozen=True)
class Vote:
    """A vote, by pattern."""

    threshold: float | str
    """τ, or ``any`` or ``all``."""
    share: Values
    """A / m; nan where nobody rated."""
    hard: NDArray[np.bool_]
    """Whether the pattern belongs to the consensus."""
    weights: Values
    """The weight of each rater, in the order of ``tally.raters``."""

    @property
    def probability(self) -> Values:
        """The share, under the name that it has in every consensus."""
        return self.share


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
    rows = tally.patterns[:, tally.raters]
    rated = (rows != VOID) & (each > 0)
    marked = rated & np.isin(rows, tally.labels.marks)
    share = _share(marked @ each, rated @ each)
    hard = _hard(share, marked, rated, threshold)
    return Vote(threshold, PatternValues(share, tally), PatternValues(hard, tally), each)


def _share(marked: Values, rated: Values) -> Values:
    share = np.full(np.shape(marked), np.nan)
    np.divide(marked, rated, out=share, where=rated > 0)
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
    return np.asarray(share >= threshold)


def _weights(tally: Tally, weights: Mapping[str, float] | None) -> Values:
    names = tally.rater_names
    if weights is None:
        return np.ones(len(names))
    if tally.exchangeable:
        raise CallError("raters are exchangeable: a slot is not a person, so it cannot have a weight")
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
    return _share(marked.astype(np.float64), (tally.rated[:, None] - (rows != VOID)).astype(np.float64))


@dataclass(frozen=True)
class Plurality:
    """The label that most raters gave, by pattern."""

    label: NDArray[np.int64]
    """Its value, as in the masks; background where nobody rated, or −1 where no label is background."""
    share: Values
    """Of the raters of the item, those who gave it; nan where nobody rated."""
    tied: NDArray[np.bool_]
    """Whether another label was given as often."""


def plurality(tally: Tally) -> Plurality:
    """The label that most raters gave; of labels given equally often, the one of the lower value.

    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 1, 0], "B": [1, 2, 0], "C": [2, 0, 0]})
    >>> plurality(t).label
    array([0, 1, 0])
    """
    most = tally.votes.max(axis=1, initial=0)
    values = np.array(tally.labels.values, np.int64)
    label = values[tally.votes.argmax(axis=1)] if len(most) else np.empty(0, np.int64)
    nobody = 0 if tally.labels.background is not None else -1
    return Plurality(
        np.where(tally.rated > 0, label, nobody),
        _share(most.astype(np.float64), tally.rated.astype(np.float64)),
        np.asarray((tally.rated > 0) & ((tally.votes == most[:, None]).sum(axis=1) > 1)),
    )

"""Positives and negatives of every truth by response: what curves, areas and correlations are read off.

Counts of cases add, exactly, whatever responses occur in which.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError
from .curves import Curve, cumulated, descending, over, pbar_areas, pr_areas, roc_areas

Counts = NDArray[np.int64]
Values = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class ResponseCounts:
    """How many items show each response, by truth and by the share of raters who marked them."""

    truths: tuple[str, ...]
    levels: Values
    """The responses, ascending."""
    positives: Counts
    """(truths, levels): positive items."""
    negatives: Counts
    """(truths, levels): negative items. What does not count under a truth is in neither."""
    shares: Values
    """A / m, ascending: the shares of the raters of an item who marked it."""
    by_share: Counts
    """(shares, levels): items that somebody rated."""
    rounded: bool = False
    """Whether responses were rounded."""

    def __repr__(self) -> str:
        return f"<ResponseCounts of {len(self.levels):,} levels under {', '.join(self.truths)}>"

    @property
    def constant(self) -> bool:
        """Whether every item got the same response."""
        return len(self.levels) < 2

    @property
    def prevalence(self) -> Values:
        """The share of positives under each truth; nan where nothing counts."""
        positives, negatives = self.positives.sum(axis=1), self.negatives.sum(axis=1)
        return over(positives, positives + negatives)

    def curve(self, truth: str) -> Curve:
        """The curve under one truth."""
        if truth not in self.truths:
            raise CallError(f"no truth {truth!r}; there are {', '.join(self.truths)}")
        i = self.truths.index(truth)
        return cumulated(self.levels, self.positives[i], self.negatives[i])

    def roc_areas(self) -> Values:
        """The area under the ROC curve of each truth; nan where a class is empty."""
        return roc_areas(descending(self.positives), descending(self.negatives))

    def pr_areas(self) -> Values:
        """The area under the P-R curve of each truth; nan where there is no positive."""
        return pr_areas(descending(self.positives), descending(self.negatives))

    def pbar_areas(self, low: float, high: float) -> Values:
        """The area under the P̄-R curve of each truth; nan where a class is empty."""
        return pbar_areas(descending(self.positives), descending(self.negatives), low, high)

    def __add__(self, other: ResponseCounts) -> ResponseCounts:
        return added([self, other]) if isinstance(other, ResponseCounts) else NotImplemented

    def __radd__(self, other: object) -> ResponseCounts:
        return self if other == 0 else NotImplemented


def added(parts: Iterable[ResponseCounts]) -> ResponseCounts:
    """The exact sum over cases or tiles, on the union of their responses."""
    parts = list(parts)
    if not parts:
        raise CallError("there are no counts of responses to add")
    for part in parts:
        if part.truths != parts[0].truths:
            names = " and ".join(", ".join(p.truths) for p in (parts[0], part))
            raise CallError(f"counts add under the same truths in the same order; got {names}")
    levels = np.unique(np.concatenate([p.levels for p in parts]))
    shares = np.unique(np.concatenate([p.shares for p in parts]))
    positives, negatives = np.zeros((2, len(parts[0].truths), len(levels)), np.int64)
    by_share = np.zeros((len(shares), len(levels)), np.int64)
    for part in parts:
        at = np.searchsorted(levels, part.levels)
        positives[:, at] += part.positives
        negatives[:, at] += part.negatives
        by_share[np.ix_(np.searchsorted(shares, part.shares), at)] += part.by_share
    return ResponseCounts(
        parts[0].truths, levels, positives, negatives, shares, by_share, any(p.rounded for p in parts)
    )

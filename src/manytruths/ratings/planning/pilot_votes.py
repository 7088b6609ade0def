"""Votes of a pilot, and the Dirichlet-multinomial that fits them.

With T_ci the cases in which outcome c got more than i votes, U_i those with more than i raters, and p_c the outcome's
share, the log-likelihood of ρ is ::

    Σ T_ci log(p_c (1 − ρ) + i ρ) − Σ U_i log(1 − ρ + i ρ)

linear in T and U, so that a resample of subjects is fitted from sums over its subjects.

Mosimann JE. Biometrika 1962;49:65–82. doi:10.1093/biomet/49.1-2.65
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ratings import Values

HIGHEST = 1 - 1e-6
"""Of ρ: where all votes of every case agree, the likelihood rises up to 1."""
GOLDEN = (5**0.5 - 1) / 2


@dataclass(frozen=True, eq=False)
class Votes:
    """Votes by row and outcome, and their sums by subject."""

    outcomes: NDArray[np.int64]
    """(rows, outcomes) how many raters."""
    weights: NDArray[np.int64]
    """Items that each row stands for."""
    tails: Values
    """(subjects, outcomes, most votes) T."""

    @classmethod
    def of(cls, outcomes: NDArray[np.int64], weights: NDArray[np.int64], owner: NDArray[np.int64]) -> Votes:
        """Rows without a vote or without an item are left out, and so are subjects without a row."""
        kept = (outcomes.sum(axis=1) > 0) & (weights > 0)
        outcomes, weights = outcomes[kept], weights[kept]
        subjects, owner = np.unique(owner[kept], return_inverse=True)
        most = int(outcomes.sum(axis=1).max(initial=0))
        tails = np.zeros((len(subjects), outcomes.shape[1], most))
        for i in range(most):
            np.add.at(tails[:, :, i], owner, (outcomes > i) * weights[:, None])
        raters = outcomes.sum(axis=1)
        both = np.zeros((len(subjects), most))
        for i in range(most):
            np.add.at(both[:, i], owner, (raters > i) * weights)
        # U goes along as a last outcome
        return cls(outcomes, weights, np.concatenate([tails, both[:, None]], axis=1))

    @property
    def cases(self) -> int:
        """Items."""
        return int(self.weights.sum())

    @property
    def most(self) -> int:
        """Raters of the case that has most."""
        return int(self.tails.shape[-1])


@dataclass(frozen=True, eq=False)
class Fit:
    """Shares of the outcomes and correlation, one row a resample."""

    shares: Values
    correlation: Values


def fitted(tails: Values) -> Fit:
    """The fits of (resamples, outcomes and U, most votes) sums: a coarse search over ρ, then a golden section."""
    votes = tails.sum(axis=-1)
    shares = votes[:, :-1] / votes[:, -1:]
    coarse = np.concatenate([[0.0], np.linspace(0, 1, 61)[1:-1], [HIGHEST]])
    values = np.stack([_likelihood(tails, shares, np.full(len(tails), rho)) for rho in coarse], axis=1)
    top = values.argmax(axis=1)
    low, high = coarse[np.maximum(top - 1, 0)], coarse[np.minimum(top + 1, len(coarse) - 1)]
    for _ in range(40):
        left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
        rising = _likelihood(tails, shares, left) < _likelihood(tails, shares, right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return Fit(shares, (low + high) / 2)


def _likelihood(tails: Values, shares: Values, rho: Values) -> Values:
    rho, i = rho[:, None, None], np.arange(tails.shape[-1])
    both = np.concatenate([shares, np.ones((len(shares), 1))], axis=1)
    chance = both[:, :, None] * (1 - rho) + i * rho
    signs = np.where(np.arange(tails.shape[1]) < tails.shape[1] - 1, 1.0, -1.0)
    logs = np.log(chance, out=np.zeros_like(chance), where=(tails > 0) & (chance > 0))
    return np.asarray((tails * logs).sum(axis=-1) @ signs)

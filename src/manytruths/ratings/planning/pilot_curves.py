"""The accuracy of the majority of k raters under a pilot's fit; see :mod:`manytruths.ratings.planning.pilot`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..ratings import Values
from .majority import urn, wins
from .pilot_votes import Fit

SIMULATED, RESIMULATED = 20_000, 2_000
"""Cases simulated where there is no closed form: for the pilot itself, and for each resample."""
LEAST = 1e-5
"""Below such a ρ cases do not differ."""


@dataclass(frozen=True, eq=False)
class Curves:
    """One row a fit."""

    accuracy: Values
    correlation: Values
    majority: Values
    """(fits, k) for k = 1, 2, …"""


def curves(fit: Fit, source: str, labels: int, most: int, seed: int) -> Curves:
    """The majority's accuracy, by the closed form that there is."""
    if source == "reference":
        majority = np.stack(
            [v @ wins(k, labels) for k, v in enumerate(urn(most, fit.shares[:, 0], fit.correlation), 1)], axis=1
        )
    elif labels == 2:
        majority = panel_curve(fit.shares[:, 0], fit.correlation, most)
    else:
        random, size = np.random.default_rng(seed), SIMULATED if len(fit.shares) == 1 else RESIMULATED
        pairs = zip(fit.shares, fit.correlation, strict=True)
        majority = np.stack([simulated_curve(p, rho, most, size, random) for p, rho in pairs])
    return Curves(majority[:, 0], fit.correlation, majority)


def panel_curve(share: Values, correlation: Values, most: int) -> Values:
    """(fits, k): how often the majority of k says what most raters would; two labels.

    The increments of :mod:`~manytruths.ratings.planning.panel_size` with |2q − 1| for 2p − 1: most are right.
    """
    from scipy.special import betainc

    rho = np.maximum(correlation, LEAST)
    alpha, beta = (np.maximum(p, LEAST) * (1 - rho) / rho for p in (share, 1 - share))

    def margin(a: Values, b: Values) -> Values:
        """E|2q − 1| for q ~ Beta(a, b)."""
        mean = a / (a + b)
        return np.asarray(2 * mean - 1 - 2 * (2 * mean * betainc(a + 1, b, 0.5) - betainc(a, b, 0.5)))

    reached = (1 + margin(alpha, beta)) / 2
    out, term = [reached], np.ones_like(reached)
    for m in range(1, (most + 1) // 2 + 1):
        # C(2m − 1, m) E[(q (1 − q))^m], from that of m − 1
        whole = alpha + beta + 2 * m - 2
        term = term * (1 if m == 1 else 2 * (2 * m - 1) / m)
        term = term * (alpha + m - 1) * (beta + m - 1) / (whole * (whole + 1))
        out.append(reached)  # an even panel is worth the odd one before
        reached = reached + term * margin(alpha + m, beta + m)
        out.append(reached)
    return np.stack(out[:most], axis=1)


def simulated_curve(shares: Values, rho: float, most: int, cases: int, random: np.random.Generator) -> Values:
    """How often the plurality of k says what most raters would, over simulated cases; ties share."""
    rho, p = max(float(rho), LEAST), shares[shares > 0]
    q = random.dirichlet(p / p.sum() * (1 - rho) / rho, size=cases)
    truth = q.argmax(axis=1)
    given = (random.random((cases, most, 1)) > q.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    votes = (given[:, :, None] == np.arange(len(p))).cumsum(axis=1)
    level = votes == votes.max(axis=2, keepdims=True)
    right = np.take_along_axis(level, truth[:, None, None], axis=2)[..., 0]
    return np.asarray((right / level.sum(axis=2)).mean(axis=0))


def observed_majority(outcomes: NDArray[np.int64], weights: NDArray[np.int64], most: int) -> Values:
    """The mean over all panels of k of a case's own raters, and over the cases that have so many; nan where none has.

    Of r right votes among m, a panel of k holds a hypergeometric number; no model is needed.
    """
    pairs, row = np.unique(outcomes, axis=0, return_inverse=True)
    count = np.bincount(row.ravel(), weights, len(pairs))
    found = np.full(most, np.nan)
    for k in range(1, most + 1):
        enough = pairs.sum(axis=1) >= k
        if enough.any():
            right = [_drawn(int(r), int(w), k) @ wins(k, 2) for r, w in pairs[enough]]
            found[k - 1] = np.average(right, weights=count[enough])
    return found


def _drawn(right: int, wrong: int, k: int) -> Values:
    """Hypergeometric: chances of 0 … k right ones."""
    from math import comb

    whole = comb(right + wrong, k)
    return np.array([comb(right, n) * comb(wrong, k - n) / whole for n in range(k + 1)])

"""Potts smoothing: neighbours that want the same label.

A map of labels T has the probability ::

    P(T) ∝ exp( Σ_i λ_i[T_i] + β Σ_(i~j) 1[T_i = T_j] )

with λ_i[k] the log-probability of label k at item i on its own, and i~j items that share a face. Mean field takes the
closest distribution in which items are independent, by solving W_i[k] ∝ exp(λ_i[k] + β Σ_(j~i) W_j[k]) one colour of a
checkerboard at a time: neighbours have the other colour, so that each half sweep is an exact maximum and the bound on
the log-partition function never falls.

Warfield SK, Zou KH, Wells WM. IEEE Trans Med Imaging 2004;23:903–921. doi:10.1109/TMI.2004.828354. Zhang J. The
mean field theory in EM procedures for Markov random fields. IEEE Trans Signal Process 1992;40:2570–2583.
doi:10.1109/78.157297
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError

Values = NDArray[np.float64]
Place = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class Smoothed:
    """A smooth map of probabilities."""

    weight: Values
    """W: (…, labels)."""
    sweeps: int
    """How many times every item was looked at."""
    ended: str
    """``converged`` or ``stopped``."""


def potts(log_weight: Values, beta: float, *, tolerance: float = 1e-4, most: int = 200) -> Smoothed:
    """Mean-field marginals of a Potts field over (…, labels) log-probabilities.

    Parameters
    ----------
    log_weight
        λ: up to a constant an item; −∞ where a label cannot be.
    beta
        What each pair of equal neighbours is worth, in nats; 0 changes nothing.
    tolerance, most
        Stop when no W moves more than the tolerance in a sweep, or after so many sweeps.

    >>> import numpy as np
    >>> lonely = np.log([[0.9, 0.1], [0.3, 0.7], [0.9, 0.1]])
    >>> potts(lonely, 1.0).weight[1].round(2)
    array([0.71, 0.29])
    """
    if not 0 <= beta < np.inf:
        raise CallError(f"smoothing is at least 0 and finite; got {beta!r}")
    around = [(1, 1)] * (log_weight.ndim - 1)
    padded = np.pad(normal(log_weight), [*around, (0, 0)])
    lattices, sweeps, moved = _lattices(log_weight.shape[:-1]), 0, np.inf
    while sweeps < most and moved > tolerance:
        moved = max(_updated(padded, log_weight, beta, *lattice) for lattice in lattices)
        sweeps += 1
    inside = tuple(slice(1, -1) for _ in around)
    return Smoothed(padded[inside].copy(), sweeps, "converged" if moved <= tolerance else "stopped")


def _lattices(shape: tuple[int, ...]) -> list[tuple[Place, Place, list[Place]]]:
    """Every second item along each axis, white ones first: their place, that in the padded map, their neighbours'."""
    found = []
    for start in sorted(product((0, 1), repeat=len(shape)), key=lambda s: sum(s) % 2):
        ends = list(zip(start, shape, strict=True))
        own = tuple(slice(o, n, 2) for o, n in ends)
        middle = tuple(slice(o + 1, n + 1, 2) for o, n in ends)
        beside = [
            tuple(slice(o + step, n + step, 2) if axis == a else middle[a] for a, (o, n) in enumerate(ends))
            for axis in range(len(shape))
            for step in (0, 2)
        ]
        found.append((own, middle, beside))
    return found


def _updated(padded: Values, log_weight: Values, beta: float, own: Place, middle: Place, beside: list[Place]) -> float:
    """W of one lattice, in place, and how far it moved."""
    wanted = normal(log_weight[own] + beta * sum((padded[place] for place in beside[1:]), padded[beside[0]]))
    moved = float(np.abs(wanted - padded[middle]).max(initial=0))
    padded[middle] = wanted
    return moved


def normal(log_weight: Values) -> Values:
    """Probabilities, from logarithms up to a constant."""
    weight = np.exp(log_weight - log_weight.max(axis=-1, keepdims=True))
    weight /= weight.sum(axis=-1, keepdims=True)
    return np.asarray(weight)


def potts_bound(log_weight: Values, weight: Values, beta: float) -> float:
    """What mean field raises: Σ W (λ − ln W) + β Σ_(i~j) W_i · W_j, a lower bound on the log-partition function."""
    seen = weight > 0
    alone = weight[seen] @ (log_weight[seen] - np.log(weight[seen]))
    pairs = 0.0
    for axis in range(weight.ndim - 1):
        along = np.moveaxis(weight, axis, 0)
        pairs += float(np.sum(along[1:] * along[:-1]))
    return float(alone + beta * pairs)

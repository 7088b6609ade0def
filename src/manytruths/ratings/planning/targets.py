"""What is asked about a panel of k raters, as a function of p, the share of all such raters who would mark an item.

The panel holds the pilot's R raters, or k of them where k is smaller, and k − R more. In masks only items count that at
least one of the R marked; so every target is the probability, given p, that the item counts *and* the panel does what
is asked. A tie of an even panel is half a decision.
"""

from __future__ import annotations

import numpy as np

from ...inference.mixing import binomial_matrix, mixing_grid, thin_votes
from ..ratings import Values
from .panels import win_probability


def majority_by_votes(k: int, pilot: int) -> Values:
    """(R + 1, grid): probability that the majority of k marks an item that a = 0, 1, …, R of the pilot's marked."""
    decides = win_probability(k, 2)
    if k <= pilot:
        return np.repeat((decides @ thin_votes(pilot, k))[:, None], len(mixing_grid()), axis=1)
    more = binomial_matrix(k - pilot)
    return np.stack([decides[a : a + k - pilot + 1] @ more for a in range(pilot + 1)])


def match_target(k: int, pilot: int, *, given_marked: bool, others: int | None = None) -> Values:
    """The majority of k decides as that of ``others`` further raters; None: as that of all such raters."""
    p = mixing_grid()
    marks = (np.sign(2 * p - 1) + 1) / 2 if others is None else win_probability(others, 2) @ binomial_matrix(others)
    by_votes = majority_by_votes(k, pilot)
    agrees = binomial_matrix(pilot) * (by_votes * marks + (1 - by_votes) * (1 - marks))
    return np.asarray(agrees[1 if given_marked else 0 :].sum(axis=0))


def accuracy_target(k: int, n_labels: int) -> Values:
    """The majority of k is right, where p is the share of raters who are right about the item."""
    return np.asarray(win_probability(k, n_labels) @ binomial_matrix(k))


def tie_target(k: int, pilot: int, *, given_marked: bool) -> Values:
    """The k raters tie."""
    if k % 2:
        return np.zeros(len(mixing_grid()))
    first = 1 if given_marked else 0
    if k <= pilot:
        tied = np.repeat(thin_votes(pilot, k)[k // 2][:, None], len(mixing_grid()), axis=1)
    else:
        more = binomial_matrix(k - pilot)
        reached = [k // 2 - a for a in range(pilot + 1)]
        tied = np.stack([more[b] if 0 <= b <= k - pilot else np.zeros(more.shape[1]) for b in reached])
    return np.asarray((binomial_matrix(pilot) * tied)[first:].sum(axis=0))


def change_target(pilot: int, more: int, *, given_marked: bool) -> Values:
    """The vote of the pilot's raters changes when more raters are added; a tie marks, as in ``vote:0.5``."""
    votes, new = np.arange(pilot + 1)[:, None], np.arange(more + 1)[None, :]
    changed = (2 * votes >= pilot) != (2 * (votes + new) >= pilot + more)
    by_votes = changed @ binomial_matrix(more)
    return np.asarray((binomial_matrix(pilot) * by_votes)[1 if given_marked else 0 :].sum(axis=0))

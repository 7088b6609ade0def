"""Three ways from scores to ranks, for one metric and one truth.

``mean``
    Aggregate, then rank: the mean (or median) over subjects of each subject's mean.
``rank``
    Rank, then aggregate: ranks in every case (ties at their mean rank), their mean over each subject's cases and then
    over subjects.
``test``
    Test, then rank: by how many others an algorithm beats significantly (see ``wilcoxon``).

Several metrics or truths are put together by the mean of ranks, ties at their mean rank: over the truths of each
metric, then over metrics, so that every metric counts the same. A place that is printed is the smallest of its tie:
1, 2, 2, 4.

Maier-Hein L et al. Nat Commun 2018;9:5217. doi:10.1038/s41467-018-07619-7. Wiesenfarth M et al. Methods and open-source
toolkit for analyzing and visualizing challenge results. Sci Rep 2021;11:2369. doi:10.1038/s41598-021-82017-6
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .gaps import Board, by_subject
from .scores import Values
from .wilcoxon import PairTests

Scheme = Literal["mean", "rank", "test"]
Aggregate = Literal["mean", "median"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

DIGITS = 12


def ranks(scores: ArrayLike) -> Values:
    """Ranks along the last axis, the highest score first and ties at their mean rank; nan where one is nan.

    >>> ranks([0.9, 0.7, 0.9, 0.1])
    array([1.5, 3. , 1.5, 4. ])
    """
    values = np.asarray(scores, np.float64)
    flat = values.reshape(-1, values.shape[-1])
    found = np.empty_like(flat)
    step = max(1, 4_000_000 // max(1, values.shape[-1] ** 2))
    for start in range(0, len(flat), step):
        mine, others = flat[start : start + step, :, None], flat[start : start + step, None, :]
        found[start : start + step] = (others > mine).sum(axis=2) + ((others == mine).sum(axis=2) + 1) / 2
    found[np.isnan(flat).any(axis=1)] = np.nan
    return found.reshape(values.shape)


def places(mean_ranks: ArrayLike) -> NDArray[np.int64]:
    """The ranks that are printed, from those of :func:`ranks`: the smallest of a tie.

    >>> places([1.5, 3.0, 1.5, 4.0])
    array([1, 3, 1, 4])
    """
    values = np.asarray(mean_ranks, np.float64)
    ahead = values[..., None, :] < values[..., :, None]
    return np.asarray(1 + ahead.sum(axis=-1), np.int64)


def settled(scores: Values) -> Values:
    """Scores in steps of the twelfth digit of the largest in the row: sums in another order are still ties."""
    largest = np.abs(scores).max(axis=-1, keepdims=True)
    digits = np.floor(np.log10(np.where(largest > 0, largest, 1.0)))
    return np.asarray(np.round(scores / 10.0 ** (digits - DIGITS + 1)))


def case_ranks(board: Board) -> Values:
    """Algorithms × subjects: ranks in every case, their mean over each subject's cases."""
    gains = board.values if board.higher else -board.values
    return by_subject(ranks(gains.T).T, board.owners)


def aggregated(board: Board, aggregate: Aggregate) -> Values:
    """The mean or median over subjects, in the metric's own units."""
    return np.asarray(np.median(board.subject_values, axis=1)) if aggregate == "median" else board.means


def score(board: Board, scheme: Scheme, aggregate: Aggregate, tests: PairTests, alpha: float) -> Values:
    """By what a scheme ranks: a mean (or median), a mean rank, or a number of wins."""
    if scheme == "mean":
        return aggregated(board, aggregate)
    if scheme == "rank":
        return np.asarray(case_ranks(board).mean(axis=1))
    return np.asarray(tests.beats(alpha).sum(axis=1), np.float64)


def scheme_ranks(board: Board, scheme: Scheme, scores: Values) -> Values:
    """Ranks from what :func:`score` gives."""
    up = board.higher if scheme == "mean" else scheme == "test"
    return ranks(settled(scores if up else -scores))

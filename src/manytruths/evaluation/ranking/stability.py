"""How far a ranking depends on which subjects were drawn, and how far two rankings agree.

Subjects are drawn again with replacement, the same draws for every scheme, metric and truth, and everything after the
scores is done again in each resample. Kendall's τ_b of two rankings, with ties left out of both scales ::

    τ_b = Σ sign(a_i − a_j) sign(b_i − b_j) / √(Σ sign²(a_i − a_j) · Σ sign²(b_i − b_j))

Kendall MG. The treatment of ties in ranking problems. Biometrika 1945;33:239–251. doi:10.1093/biomet/33.3.239.
Wiesenfarth M et al. Sci Rep 2021;11:2369. doi:10.1038/s41598-021-82017-6
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from ...core.undefined import Undefined
from .gaps import Board
from .schemes import Aggregate, Scheme, case_ranks, places, ranks, settled
from .scores import Values
from .wilcoxon import resampled_wins

ALL_TIED = "all_tied"

TEST_WORK = 2e9
"""So many subjects × pairs × boards × resamples are tested at most; beyond, with fewer resamples."""
FEWEST = 100


def draws(subjects: int, resamples: int, seed: int) -> Values:
    """How often each subject is drawn in each resample."""
    shares = np.full(subjects, 1 / subjects)
    return np.random.default_rng(seed).multinomial(subjects, shares, size=resamples).astype(np.float64)


def resamples_of_tests(algorithms: int, subjects: int, boards: int, resamples: int) -> int:
    """In how many resamples all tests are repeated."""
    work = algorithms * (algorithms - 1) / 2 * subjects * boards
    return min(resamples, max(FEWEST, int(TEST_WORK / max(work, 1))))


def resampled_ranks(board: Board, scheme: Scheme, aggregate: Aggregate, weights: Values, alpha: float) -> Values:
    """Resamples × algorithms; nan in a resample that has no subject of the board."""
    own = weights[:, board.subjects]
    drawn = own.sum(axis=1, keepdims=True)
    if scheme == "test":
        found = ranks(resampled_wins(board.gains, own, alpha))
        found[drawn[:, 0] == 0] = np.nan
        return found
    if scheme == "mean" and aggregate == "median":
        return ranks(settled(np.stack([_medians(row, own) for row in board.gains], axis=1)))
    gains = board.gains if scheme == "mean" else -case_ranks(board)
    total = own @ gains.T
    return ranks(settled(np.divide(total, drawn, out=np.full_like(total, np.nan), where=drawn > 0)))


def resampled_medians(board: Board, weights: Values) -> Values:
    """Resamples × algorithms: medians over the subjects drawn, in the metric's own units."""
    return np.stack([_medians(row, weights[:, board.subjects]) for row in board.subject_values], axis=1)


def _medians(values: Values, weights: Values) -> Values:
    """The median in each resample: of an even number, the mean of the two in the middle."""
    order = np.argsort(values, kind="stable")
    reached = np.cumsum(weights[:, order], axis=1)
    n = reached[:, -1]
    lower, upper = ((reached > k[:, None]).argmax(axis=1) for k in (np.floor((n - 1) / 2), np.floor(n / 2)))
    return np.where(n > 0, (values[order][lower] + values[order][upper]) / 2, np.nan)


def ahead_share(sampled: Values) -> Values:
    """Row before column: the share of resamples in which it is ahead, ties counting half; ½ on the diagonal."""
    known = sampled[~np.isnan(sampled).any(axis=1)]
    count = sampled.shape[1]
    found = np.full((count, count), np.nan if not len(known) else 0.5)
    for row in range(count if len(known) else 0):
        ahead = known[:, [row]] < known
        tied = known[:, [row]] == known
        found[row] = ahead.mean(axis=0) + tied.mean(axis=0) / 2
    return found


def first_shares(sampled: Values) -> Values:
    """The share of resamples in which each is first; who share a first place get equal parts of it, so all sum to 1."""
    known = sampled[~np.isnan(sampled).any(axis=1)]
    if not len(known):
        return np.full(sampled.shape[1], np.nan)
    first = known == known.min(axis=1, keepdims=True)
    return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))


def rank_shares(sampled: Values) -> Values:
    """Algorithm × place (from first): the share of resamples in which it has that place, alone or with others."""
    known = sampled[~np.isnan(sampled).any(axis=1)]
    count = sampled.shape[1]
    if not len(known):
        return np.full((count, count), np.nan)
    found = _places(known)
    return np.stack([(found == place + 1).mean(axis=0) for place in range(count)], axis=1)


def rank_interval(sampled: Values, level: float) -> tuple[Values, Values]:
    """The places between which each algorithm lies in ``level`` of the resamples."""
    known = sampled[~np.isnan(sampled).any(axis=1)]
    if not len(known):
        return np.full(sampled.shape[1], np.nan), np.full(sampled.shape[1], np.nan)
    tails = [(1 - level) / 2, (1 + level) / 2]
    low, high = np.quantile(_places(known), tails, axis=0, method="inverted_cdf")
    return low.astype(np.float64), high.astype(np.float64)


def _places(sampled: Values) -> Values:
    """Places in blocks, as all comparisons at once would be large."""
    step = max(1, 4_000_000 // sampled.shape[1] ** 2)
    return np.concatenate([places(sampled[i : i + step]) for i in range(0, len(sampled), step)]).astype(np.float64)


def kendall_tau(a: ArrayLike, b: ArrayLike) -> float:
    """τ_b of two rankings of the same algorithms; undefined where one of them ties everybody.

    >>> kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666666
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    found = _taus(first, second[None])[0]
    return Undefined(ALL_TIED) if np.isnan(found) else float(found)


def mean_tau(whole: Values, sampled: Values) -> tuple[float, int]:
    """The mean τ_b of the resamples' rankings with the whole one, and in how many it is undefined."""
    found = _taus(whole, sampled)
    known = found[~np.isnan(found)]
    value = float(known.mean()) if len(known) else Undefined(ALL_TIED)
    return value, len(found) - len(known)


def _taus(whole: Values, others: Values) -> Values:
    """τ_b of one ranking with each of several; nan where it is undefined."""
    first, second = np.triu_indices(len(whole), 1)
    signs = np.sign(whole[first] - whole[second])
    apart = np.sign(others[:, first] - others[:, second])
    both, mine, theirs = apart @ signs, (signs**2).sum(), (apart**2).sum(axis=1)
    size = np.sqrt(mine * theirs)
    return np.asarray(np.divide(both, size, out=np.full(len(others), np.nan), where=size > 0))

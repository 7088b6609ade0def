"""Rankings by every scheme, for every metric and truth, and put together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...core.undefined import Undefined
from ...inference.intervals import mean_intervals, too_few_subjects
from .gaps import Board
from .schemes import SCHEMES, Aggregate, Scheme, aggregated, places, ranks, scheme_ranks, score, settled
from .scores import Values
from .stability import (
    ahead_share,
    first_shares,
    mean_tau,
    rank_interval,
    rank_shares,
    resampled_medians,
    resampled_ranks,
    resamples_of_tests,
)
from .wilcoxon import PairTests


@dataclass(frozen=True, eq=False)
class Standing:
    """One ranking. An empty ``truth`` or ``metric`` stands for all of them."""

    scheme: Scheme
    truth: str
    metric: str
    score: Values
    """By what they are ranked: a mean or median, a mean rank, or a number of wins."""
    ranks: Values
    """Ties at their mean rank."""
    sampled: Values
    """The same in every resample (resamples × algorithms); nan where a resample has no subject of a board."""
    subjects: int
    level: float

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Ranks as they are printed: the smallest of a tie."""
        return places(self.ranks)

    @cached_property
    def interval(self) -> tuple[Values, Values]:
        """The places between which each algorithm lies in ``level`` of the resamples; nan with too few subjects."""
        if self.refusal:
            return np.full(len(self.ranks), np.nan), np.full(len(self.ranks), np.nan)
        return rank_interval(self.sampled, self.level)

    @property
    def refusal(self) -> Undefined | None:
        """Why there is no interval; None where there is one."""
        return too_few_subjects(self.subjects)

    @cached_property
    def shares(self) -> Values:
        """Algorithm × place: the share of resamples in which it has that place, alone or with others."""
        return rank_shares(self.sampled)

    @cached_property
    def first_share(self) -> Values:
        """The share of resamples in which each is first, a shared first place in equal parts: they sum to 1."""
        return first_shares(self.sampled)

    @cached_property
    def ahead_share(self) -> Values:
        """Row before column: the share of resamples in which it is ahead, ties counting half."""
        return ahead_share(self.sampled)

    @cached_property
    def tau(self) -> tuple[float, int]:
        """Mean Kendall's τ_b of the resamples with this ranking, and in how many it is undefined."""
        return mean_tau(self.ranks, self.sampled)

    @property
    def undefined(self) -> int:
        """Resamples without a ranking."""
        return int(np.isnan(self.sampled).any(axis=1).sum())


@dataclass(frozen=True, eq=False)
class Means:
    """Mean or median over subjects of each algorithm on a board, with an interval; nan ends with too few subjects."""

    value: Values
    low: Values
    high: Values
    refusal: Undefined | None = None
    """Why there is no interval."""


def board_standings(
    found: Sequence[Board],
    tests: Sequence[PairTests],
    weights: Values,
    aggregate: Aggregate,
    alpha: float,
    level: float,
) -> list[Standing]:
    """Every scheme on every board."""
    standings = []
    for board, test in zip(found, tests, strict=True):
        fewer = resamples_of_tests(len(board.values), len(board.subjects), len(found), len(weights))
        for scheme in SCHEMES:
            value = score(board, scheme, aggregate, test, alpha)
            drawn = weights[:fewer] if scheme == "test" else weights
            sampled = resampled_ranks(board, scheme, aggregate, drawn, alpha)
            order = scheme_ranks(board, scheme, value)
            standings.append(
                Standing(scheme, board.truth, board.metric, value, order, sampled, len(board.subjects), level)
            )
    return standings


def all_standings(parts: Sequence[Standing]) -> Iterator[Standing]:
    """Boards, then, where there are several, all metrics of a truth, all truths of a metric, and always all of all."""
    yield from parts
    truths, metrics = (tuple(dict.fromkeys(getattr(p, side) for p in parts)) for side in ("truth", "metric"))
    for scheme in SCHEMES:
        own = [p for p in parts if p.scheme == scheme]
        if len(metrics) > 1:
            yield from (combined([p for p in own if p.truth == truth], truth, "") for truth in truths)
        if len(truths) > 1:
            yield from (combined([p for p in own if p.metric == metric], "", metric) for metric in metrics)
        yield combined(own, "", "")


def combined(parts: Sequence[Standing], truth: str, metric: str) -> Standing:
    """The mean of ranks over the truths of each metric, then over metrics."""
    truths = Counter(p.metric for p in parts)
    shares = [1 / (len(truths) * truths[p.metric]) for p in parts]
    value = sum(share * p.ranks for share, p in zip(shares, parts, strict=True))
    sampled = sum(share * p.sampled for share, p in zip(shares, _same_length(parts), strict=True))
    whole, drawn = np.asarray(value), np.asarray(sampled)
    one = parts[0]
    return Standing(
        one.scheme, truth, metric, whole, ranks(settled(-whole)), ranks(settled(-drawn)),
        max(p.subjects for p in parts), one.level,
    )  # fmt: skip


def _same_length(parts: Sequence[Standing]) -> list[Standing]:
    """As many resamples of each as the one with the fewest has; the first ones of all are the same draws."""
    fewest = min(len(p.sampled) for p in parts)
    return [
        p if len(p.sampled) == fewest else
        Standing(p.scheme, p.truth, p.metric, p.score, p.ranks, p.sampled[:fewest], p.subjects, p.level)
        for p in parts
    ]  # fmt: skip


def means(board: Board, aggregate: Aggregate, weights: Values, level: float, seed: int) -> Means:
    """Intervals for means (BCa, as everywhere in the package), or for medians (percentiles of the resamples)."""
    values = board.subject_values
    value, nothing = aggregated(board, aggregate), np.full(len(values), np.nan)
    refusal = too_few_subjects(values.shape[1])
    if refusal is not None:
        return Means(value, nothing, nothing, refusal)
    if aggregate == "mean":
        found = mean_intervals(values.T, resamples=len(weights), level=level, seed=seed)
        return Means(value, np.array([i.low for i in found]), np.array([i.high for i in found]))
    low, high = np.nanquantile(resampled_medians(board, weights), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Means(value, low, high)

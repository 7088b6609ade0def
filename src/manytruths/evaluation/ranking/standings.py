"""Ranks of algorithms by three schemes, in the whole study and in resamples of its subjects.

``mean``
    Aggregate, then rank: the mean (or median) over subjects of each subject's mean.
``rank``
    Rank, then aggregate: ranks in every case (ties at their mean rank), their mean over each subject's cases and then
    over subjects.
``test``
    Test, then rank: by how many others an algorithm beats significantly (see ``pair_tests``).

Several metrics or reference standards are combined by the mean of ranks, ties at their mean rank: over the reference
standards of each metric, then over metrics, so that every metric counts the same. A rank that is printed is the
smallest of its tie: 1, 2, 2, 4.

Subjects are drawn again with replacement, the same draws for every scheme, metric and reference standard, and
everything after the scores is repeated in each resample. Kendall's τ_b of two rankings, with ties left out of both
scales, is ::

    τ_b = Σ sign(a_i − a_j) sign(b_i − b_j) / √(Σ sign²(a_i − a_j) · Σ sign²(b_i − b_j))

References
----------
Maier-Hein L et al. Nat Commun 2018;9:5217. doi:10.1038/s41467-018-07619-7. Wiesenfarth M et al. Methods and open-source
toolkit for analyzing and visualizing challenge results. Sci Rep 2021;11:2369. doi:10.1038/s41598-021-82017-6. Kendall
MG. The treatment of ties in ranking problems. Biometrika 1945;33:239–251. doi:10.1093/biomet/33.3.239
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.undefined import Undefined
from ...inference.intervals import mean_intervals, too_few_subjects, too_few_to_test
from ...inference.scales import scale_of
from .missing_scores import Board, by_subject
from .pair_tests import Estimates, PairTests, resampled_wins
from .scores import Values

Scheme = Literal["mean", "rank", "test"]
Aggregate = Literal["mean", "median"]
SCHEMES: tuple[Scheme, ...] = get_args(Scheme)

DIGITS = 12
ALL_TIED = "all_tied"
TEST_WORK = 2e9
"""So many subjects × pairs × boards × resamples are tested at most; beyond, with fewer resamples."""
FEWEST = 100


def fractional_ranks(scores: ArrayLike) -> Values:
    """Ranks along the last axis, the highest score first and ties at their mean rank; nan where one is nan.

    >>> fractional_ranks([0.9, 0.7, 0.9, 0.1])
    array([1.5, 3. , 1.5, 4. ])
    """
    values = np.asarray(scores, np.float64)
    higher, equal = _count_higher_and_equal(values)
    ranks: Values = higher + (equal + 1) / 2
    ranks[np.isnan(values).any(axis=-1)] = np.nan
    return ranks


def competition_ranks(mean_ranks: ArrayLike) -> NDArray[np.int64]:
    """The ranks that are printed, from those of :func:`fractional_ranks`: the smallest of a tie.

    >>> competition_ranks([1.5, 3.0, 1.5, 4.0])
    array([1, 3, 1, 4])
    """
    return np.asarray(1 + _count_higher_and_equal(-np.asarray(mean_ranks, np.float64))[0])


def _count_higher_and_equal(values: Values) -> NDArray[np.int64]:
    """How many along the last axis are higher than each, and as high; in blocks, as all at once would be large."""
    flat = values.reshape(-1, values.shape[-1])
    counts = np.empty((2, *flat.shape), np.int64)
    step = max(1, 4_000_000 // max(1, values.shape[-1] ** 2))
    for start in range(0, len(flat), step):
        mine, others = flat[start : start + step, :, None], flat[start : start + step, None, :]
        counts[:, start : start + step] = (others > mine).sum(axis=2), (others == mine).sum(axis=2)
    return counts.reshape(2, *values.shape)


def round_scores(scores: Values) -> Values:
    """Scores in steps of the twelfth digit of the largest in the row: sums in another order are still ties."""
    largest = np.abs(scores).max(axis=-1, keepdims=True)
    digits = np.floor(np.log10(np.where(largest > 0, largest, 1.0)))
    return np.asarray(np.round(scores / 10.0 ** (digits - DIGITS + 1)))


def case_ranks(board: Board) -> Values:
    """Algorithms × subjects: ranks in every case, their mean over each subject's cases."""
    gains = board.values if board.higher else -board.values
    return by_subject(fractional_ranks(gains.T).T, board.owners)


def aggregate_scores(board: Board, aggregate: Aggregate) -> Values:
    """The mean or median over subjects, in the metric's own units."""
    return np.asarray(np.median(board.subject_values, axis=1)) if aggregate == "median" else board.means


def scheme_scores(board: Board, scheme: Scheme, aggregate: Aggregate, tests: PairTests, alpha: float) -> Values:
    """By what a scheme ranks: a mean (or median), a mean rank, or a number of wins."""
    if scheme == "mean":
        return aggregate_scores(board, aggregate)
    if scheme == "rank":
        return np.asarray(case_ranks(board).mean(axis=1))
    return np.asarray(tests.beats(alpha).sum(axis=1), np.float64)


def scheme_ranks(board: Board, scheme: Scheme, scores: Values) -> Values:
    """Ranks from what :func:`scheme_scores` gives."""
    up = board.higher if scheme == "mean" else scheme == "test"
    return fractional_ranks(round_scores(scores if up else -scores))


def draw_subjects(subjects: int, resamples: int, seed: int) -> Values:
    """How often each subject is drawn in each resample."""
    shares = np.full(subjects, 1 / subjects)
    return np.random.default_rng(seed).multinomial(subjects, shares, size=resamples).astype(np.float64)


def resamples_of_tests(algorithms: int, subjects: int, boards: int, resamples: int) -> int:
    """In how many resamples all tests are repeated."""
    work = algorithms * (algorithms - 1) / 2 * subjects * boards
    return min(resamples, max(FEWEST, int(TEST_WORK / max(work, 1))))


def resampled_ranks(board: Board, scheme: Scheme, aggregate: Aggregate, weights: Values, alpha: float) -> Values:
    """Resamples × algorithms; nan in a resample that has no subject of the board."""
    draws = weights[:, board.subjects]
    drawn = draws.sum(axis=1, keepdims=True)
    if scheme == "test":
        ranks = fractional_ranks(resampled_wins(board.gains, draws, alpha))
        ranks[drawn[:, 0] == 0] = np.nan
        return ranks
    if scheme == "mean" and aggregate == "median":
        return fractional_ranks(round_scores(np.stack([_medians(row, draws) for row in board.gains], axis=1)))
    gains = board.gains if scheme == "mean" else -case_ranks(board)
    total = draws @ gains.T
    return fractional_ranks(round_scores(np.divide(total, drawn, out=np.full_like(total, np.nan), where=drawn > 0)))


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


def kendall_tau(a: ArrayLike, b: ArrayLike) -> float:
    """τ_b of two rankings of the same algorithms; undefined where one of them ties everybody.

    >>> kendall_tau([1, 2, 3, 4], [1, 3, 2, 4])
    0.6666666666666666
    """
    first, second = np.asarray(a, np.float64), np.asarray(b, np.float64)
    tau = _taus(first, second[None])[0]
    return Undefined(ALL_TIED) if np.isnan(tau) else float(tau)


def _taus(whole: Values, others: Values) -> Values:
    """τ_b of one ranking with each of several; nan where it is undefined."""
    first, second = np.triu_indices(len(whole), 1)
    signs = np.sign(whole[first] - whole[second])
    apart = np.sign(others[:, first] - others[:, second])
    both, mine, theirs = apart @ signs, (signs**2).sum(), (apart**2).sum(axis=1)
    size = np.sqrt(mine * theirs)
    return np.asarray(np.divide(both, size, out=np.full(len(others), np.nan), where=size > 0))


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
    """The same in every resample (resamples × algorithms), none with too few subjects; nan where a resample has no
    subject of a board."""
    subjects: int
    level: float
    fewest: int
    """The smallest number of subjects that a metric and reference standard of the ranking has."""

    @cached_property
    def places(self) -> NDArray[np.int64]:
        """Ranks as they are printed: the smallest of a tie."""
        return competition_ranks(self.ranks)

    @cached_property
    def _known(self) -> Values:
        """The resamples that have a ranking."""
        return self.sampled[~np.isnan(self.sampled).any(axis=1)]

    @cached_property
    def _sampled_places(self) -> NDArray[np.int64]:
        return competition_ranks(self._known)

    @cached_property
    def resampled_range(self) -> tuple[Values, Values]:
        """The places between which each algorithm lies in ``level`` of the resamples; nan with too few subjects.

        This is no confidence interval: near ties it holds the true rank less often than ``level``.
        """
        if self.refusal or not len(self._known):
            return np.full(len(self.ranks), np.nan), np.full(len(self.ranks), np.nan)
        tails = [(1 - self.level) / 2, (1 + self.level) / 2]
        low, high = np.quantile(self._sampled_places, tails, axis=0, method="inverted_cdf")
        return low.astype(np.float64), high.astype(np.float64)

    @property
    def refusal(self) -> Undefined | None:
        """Why there are no sets, tests and resamples; None where there are."""
        return too_few_subjects(self.fewest)

    @cached_property
    def shares(self) -> Values:
        """Algorithm × place: the share of resamples in which it has that place, shared places in equal parts."""
        count = len(self.ranks)
        if not len(self._known):
            return np.full((count, count), np.nan)
        first, size = self._sampled_places, 2 * (self._known - self._sampled_places) + 1
        parts = [((first <= place) & (place < first + size)) / size for place in range(1, count + 1)]
        return np.stack([part.mean(axis=0) for part in parts], axis=1)

    @cached_property
    def first_share(self) -> Values:
        """The share of resamples in which each is first, a shared first place in equal parts: they sum to 1."""
        if not len(self._known):
            return np.full(len(self.ranks), np.nan)
        first = self._known == self._known.min(axis=1, keepdims=True)
        return np.asarray((first / first.sum(axis=1, keepdims=True)).mean(axis=0))

    @cached_property
    def ahead_share(self) -> Values:
        """Row before column: the share of resamples in which it is ahead, ties counting half; ½ on the diagonal."""
        if not len(self._known):
            return np.full((len(self.ranks), len(self.ranks)), np.nan)
        rows = [self._known[:, [row]] for row in range(len(self.ranks))]
        return np.stack([(r < self._known).mean(axis=0) + (r == self._known).mean(axis=0) / 2 for r in rows])

    @cached_property
    def tau(self) -> tuple[float, int]:
        """Mean Kendall's τ_b of the resamples with this ranking, and in how many it is undefined."""
        if few := too_few_to_test(self.fewest):
            return few, 0
        taus = _taus(self.ranks, self.sampled)
        known = taus[~np.isnan(taus)]
        return float(known.mean()) if len(known) else Undefined(ALL_TIED), len(taus) - len(known)

    @property
    def undefined(self) -> int:
        """Resamples without a ranking."""
        return len(self.sampled) - len(self._known)


def board_standings(
    boards: Sequence[Board],
    tests: Sequence[PairTests],
    weights: Values,
    aggregate: Aggregate,
    alpha: float,
    level: float,
) -> list[Standing]:
    """Every scheme on every board; subjects are drawn again only where there are enough."""
    standings = []
    for board, test in zip(boards, tests, strict=True):
        count = len(board.subjects)
        draws = weights[:0] if too_few_subjects(count) else weights
        fewer = resamples_of_tests(len(board.values), len(board.subjects), len(boards), len(weights))
        for scheme in SCHEMES:
            value = scheme_scores(board, scheme, aggregate, test, alpha)
            drawn = draws[:fewer] if scheme == "test" else draws
            sampled = resampled_ranks(board, scheme, aggregate, drawn, alpha)
            order = scheme_ranks(board, scheme, value)
            standings.append(Standing(scheme, board.truth, board.metric, value, order, sampled, count, level, count))
    return standings


def all_standings(parts: Sequence[Standing]) -> Iterator[Standing]:
    """Boards; where there are several, all metrics of a reference standard and all references of a metric; then all."""
    yield from parts
    references, metrics = (tuple(dict.fromkeys(getattr(p, side) for p in parts)) for side in ("truth", "metric"))
    for scheme in SCHEMES:
        of_scheme = [p for p in parts if p.scheme == scheme]
        if len(metrics) > 1:
            yield from (
                combine_standings([p for p in of_scheme if p.truth == truth], truth, "") for truth in references
            )
        if len(references) > 1:
            yield from (
                combine_standings([p for p in of_scheme if p.metric == metric], "", metric) for metric in metrics
            )
        yield combine_standings(of_scheme, "", "")


def combine_standings(parts: Sequence[Standing], truth: str, metric: str) -> Standing:
    """The mean of ranks over the reference standards of each metric, then over metrics."""
    references = Counter(p.metric for p in parts)
    shares = [1 / (len(references) * references[p.metric]) for p in parts]
    # the first resamples of all are the same draws
    fewest = min(len(p.sampled) for p in parts)
    whole = np.asarray(sum(share * p.ranks for share, p in zip(shares, parts, strict=True)))
    sampled = np.asarray(sum(share * p.sampled[:fewest] for share, p in zip(shares, parts, strict=True)))
    return Standing(
        parts[0].scheme, truth, metric, whole,
        fractional_ranks(round_scores(-whole)), fractional_ranks(round_scores(-sampled)),
        max(p.subjects for p in parts), parts[0].level, min(p.fewest for p in parts),
    )  # fmt: skip


def board_means(board: Board, aggregate: Aggregate, weights: Values, level: float) -> Estimates:
    """Each algorithm's mean (Student's t, as everywhere in the package) or median (percentiles of the resamples)."""
    value, refusal = aggregate_scores(board, aggregate), too_few_subjects(len(board.subjects))
    if refusal is not None:
        nothing = np.full(len(value), np.nan)
        return Estimates(value, nothing, nothing, refusal)
    if aggregate == "mean":
        intervals = mean_intervals(board.subject_values.T, scale_of(board.metric), level=level)
        return Estimates(value, np.array([i.low for i in intervals]), np.array([i.high for i in intervals]))
    low, high = np.nanquantile(resampled_medians(board, weights), [(1 - level) / 2, (1 + level) / 2], axis=0)
    return Estimates(value, low, high)

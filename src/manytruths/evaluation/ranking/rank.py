"""Ranking of algorithms by their scores, and how far it can be trusted.

Every metric against every truth is ranked by three schemes (``schemes``); what is missing counts as the worst, unless
told otherwise (``gaps``); all rankings are repeated in resamples of the subjects (``stability``); and no winner is
declared unless tests and resamples agree on it under every truth (``words``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np

from ...core.errors import CallError, InputError
from ...core.notes import Note
from ...inference.intervals import check_resamples
from .directions import NONE_GIVEN, describes_the_case, direction, has_direction, plain
from .effects import Differences, mean_differences
from .gaps import Board, Missing, boards
from .schemes import SCHEMES, Aggregate, Scheme
from .scores import Scores, Values
from .stability import draws, kendall_tau, resamples_of_tests
from .standings import Means, Standing, all_standings, board_standings, combined, means
from .wilcoxon import PairTests, pair_tests
from .words import Distinct, Evidence, Group, Verdict, distinct, groups, ordered, verdict

MEANS = ("mean of raters",)
"""What a score can be against that is no truth of its own."""
MANY = 3
"""With more metrics than this, the main ones are taken alone: many of them measure much the same."""
MAIN = ("dice", "dsc", "pbar_area")
NO_SUBJECTS = Note(
    "no_subjects",
    "no subjects are named: every case counts as a patient of its own; cases of one patient make intervals too narrow "
    "(--cases)",
)


@dataclass(frozen=True)
class Tau:
    """Kendall's τ_b of two rankings that differ in ``between``: schemes, truths or metrics."""

    between: str
    scheme: str
    truth: str
    metric: str
    first: str
    second: str
    value: float


@dataclass(frozen=True)
class LeftOut:
    """The overall ranking without one truth."""

    truth: str
    ranks: Values
    changed: bool
    first_changed: bool


@dataclass(frozen=True, eq=False)
class Ranking:
    """Everything about a table of scores. An empty truth or metric stands for all of them."""

    algorithms: tuple[str, ...]
    truths: tuple[str, ...]
    metrics: tuple[str, ...]
    subjects: int
    cases: int
    boards: tuple[Board, ...]
    tests: tuple[PairTests, ...]
    standings: tuple[Standing, ...]
    means: tuple[Means, ...]
    scheme: Scheme
    """By which the overall order and the verdict go."""
    aggregate: Aggregate
    alpha: float
    level: float = 0.95
    resamples: int = 1000
    seed: int = 0
    notes: tuple[str, ...] = ()

    def find(self, truth: str = "", metric: str = "", scheme: Scheme | None = None) -> Standing:
        """One ranking; where there is only one truth or metric, it need not be named."""
        wanted, truths, metrics = scheme or self.scheme, _same(truth, self.truths), _same(metric, self.metrics)
        for standing in self.standings:
            if standing.scheme == wanted and standing.truth in truths and standing.metric in metrics:
                return standing
        raise CallError(f"no ranking by {wanted} for {metric or 'all metrics'} against {truth or 'all truths'}")

    @property
    def overall(self) -> Standing:
        """Over all metrics and truths, by the chosen scheme."""
        return next(s for s in reversed(self.standings) if s.scheme == self.scheme)

    @property
    def order(self) -> tuple[str, ...]:
        """Algorithms, best first; ties by name."""
        return tuple(self.algorithms[i] for i in ordered(self.overall.ranks, self.algorithms))

    def evidence(self, truth: str = "", metric: str = "") -> Evidence:
        """What can be said of a ranking rests on this."""
        standing = self.find(truth, metric)
        rows = [i for i, b in enumerate(self.boards) if truth in ("", b.truth) and metric in ("", b.metric)]
        stack = np.stack([self.tests[i].p_holm for i in rows])
        titles = np.array([self.boards[i].title if len(rows) > 1 else "" for i in rows], object)
        shares = [self.find(t, metric).first_share for t in dict.fromkeys(self.boards[i].truth for i in rows)]
        return Evidence(
            self.algorithms, standing.ranks, stack.max(axis=0), titles[stack.argmax(axis=0)], standing.ahead_share,
            np.min(shares, axis=0), self.alpha, standing.refusal,
        )  # fmt: skip

    @cached_property
    def verdict(self) -> Verdict:
        """Whether there is a winner, in a sentence."""
        return verdict(self.evidence())

    def groups(self, truth: str = "", metric: str = "") -> tuple[Group, ...]:
        """Neighbours in a ranking that cannot be told apart."""
        return groups(self.evidence(truth, metric))

    def distinct(self, metric: str = "", scheme: Scheme | None = None) -> tuple[Distinct, ...]:
        """The different rankings and which truths give each."""
        truths = dict.fromkeys(b.truth for b in self.boards if metric in ("", b.metric))
        return distinct(self.algorithms, {t: self.find(t, metric, scheme).ranks for t in truths})

    @cached_property
    def without_truth(self) -> tuple[LeftOut, ...]:
        """The overall ranking with each truth left out; nothing where there is only one."""
        return tuple(self._left_out()) if len(self.truths) > 1 else ()

    def _left_out(self) -> Iterator[LeftOut]:
        own = [s for s in self.standings if s.scheme == self.scheme and s.truth and s.metric]
        whole = self.overall.ranks
        for truth in self.truths:
            rest = combined([s for s in own if s.truth != truth], "", "").ranks
            changed, first = bool((rest != whole).any()), (rest == rest.min()) != (whole == whole.min())
            yield LeftOut(truth, rest, changed, bool(first.any()))

    @cached_property
    def mean_differences(self) -> tuple[Differences, ...]:
        """On every board, the mean paired difference of every two, with its interval."""
        return tuple(mean_differences(b.subject_values, self.resamples, self.level, self.seed) for b in self.boards)

    @cached_property
    def taus(self) -> tuple[Tau, ...]:
        """Agreement of rankings between schemes, between truths and between metrics."""
        return tuple(self._taus())

    def _taus(self) -> Iterator[Tau]:
        kinds = {"schemes": "scheme", "truths": "truth", "metrics": "metric"}
        for between, field in kinds.items():
            for a, b in combinations(self.standings, 2):
                apart = [f for f in kinds.values() if getattr(a, f) != getattr(b, f)]
                if apart == [field] and getattr(a, field) and getattr(b, field):
                    scheme, truth, metric = ("" if f == field else getattr(a, f) for f in kinds.values())
                    first, second = getattr(a, field), getattr(b, field)
                    yield Tau(between, scheme, truth, metric, first, second, kendall_tau(a.ranks, b.ranks))

    def __repr__(self) -> str:
        places = self.overall.places
        told = ", ".join(f"{places[self.algorithms.index(name)]}. {name}" for name in self.order)
        return f"Ranking({told}; by {self.scheme}, {len(self.boards)} × metric and truth, {self.subjects} subjects)"


def rank(
    scores: Scores,
    *,
    metrics: Sequence[str] | None = None,
    truths: Sequence[str] | None = None,
    directions: Mapping[str, str] = NONE_GIVEN,
    missing: Missing = "worst",
    scheme: Scheme = "mean",
    aggregate: Aggregate = "mean",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    alpha: float = 0.05,
) -> Ranking:
    """Rank algorithms by every scheme, and say how far the ranking can be trusted.

    Parameters
    ----------
    scores
        Made by :func:`read_scores` or ``Scores.of``.
    metrics
        By which to rank; by default all whose direction is known, or, of more than three, Dice and the area under P̄-R
        where they are among them. ``["all"]`` ranks by all.
    truths
        Under which to rank; by default all but the mean of raters, who are truths themselves.
    directions
        ``"higher"`` or ``"lower"`` for metrics that are not known.
    missing
        What a missing or undefined score counts: ``"worst"`` (see ``gaps``), a number, or ``"exclude"`` the case for
        everybody.
    scheme
        The one that the overall order goes by: ``"mean"``, ``"rank"`` or ``"test"``. All three are computed.
    aggregate
        ``"mean"`` or ``"median"`` over subjects, for the scheme ``mean``.

    >>> table = Scores.of([[0.9, 0.8, 0.9], [0.7, 0.6, 0.8]], ["unet", "vnet"])
    >>> rank(table)
    Ranking(1. unet, 2. vnet; by mean, 1 × metric and truth, 3 subjects)
    """
    _check(scores, scheme, aggregate, resamples, level, alpha, seed)
    scores = scores.select(truths=_truths(scores) if truths is None else truths)
    chosen, notes = _chosen(scores, metrics, directions)
    found = boards(scores, chosen, missing, directions)
    tests = [pair_tests(board.gains) for board in found]
    subjects = len(scores.subject_names)
    if scores.subjects == scores.cases:
        notes.append(NO_SUBJECTS)
    weights = draws(subjects, resamples, seed)
    parts = board_standings(found, tests, weights, aggregate, alpha, level)
    fewest = min(resamples_of_tests(len(scores.algorithms), len(b.subjects), len(found), resamples) for b in found)
    if fewest < resamples:
        told = f"so many tests: the scheme test was repeated in only {fewest} of the {resamples} resamples"
        notes.append(Note("fewer_tests", told))
    return Ranking(
        scores.algorithms, tuple(t for t in scores.truths if any(b.truth == t for b in found)),
        tuple(m for m in chosen if any(b.metric == m for b in found)), subjects, len(scores.cases),
        tuple(found), tuple(tests), tuple(all_standings(parts)),
        tuple(means(board, aggregate, weights, level, seed) for board in found),
        scheme, aggregate, alpha, level, resamples, seed, (*scores.notes, *notes),
    )  # fmt: skip


def _same(asked: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """What stands for the one asked for: where there is only one, "all" is the same."""
    return ("", *names) if len(names) == 1 and asked in ("", *names) else (asked,)


def _check(scores: Scores, scheme: str, aggregate: str, resamples: int, level: float, alpha: float, seed: int) -> None:
    for name, value, allowed in (("scheme", scheme, SCHEMES), ("aggregate", aggregate, ("mean", "median"))):
        if value not in allowed:
            raise CallError(f"{name} is {' or '.join(map(repr, allowed))}; got {value!r}")
    check_resamples(resamples)
    if not 0 < level < 1 or not 0 < alpha < 1 or seed < 0:
        raise CallError(
            f"level and alpha lie between 0 and 1, and seed is not negative; got {level}, {alpha} and {seed}"
        )
    if len(scores.algorithms) < 2:
        raise InputError(f"there is only one algorithm, {', '.join(scores.algorithms)}; a ranking needs two or more")


def _chosen(
    scores: Scores, metrics: Sequence[str] | None, directions: Mapping[str, str]
) -> tuple[tuple[str, ...], list[str]]:
    """The metrics to rank by, and what is said about those that are left out."""
    if metrics is not None:
        every = [m for m in scores.metrics if has_direction(m, directions) and not describes_the_case(m)]
        everything = [name.casefold() for name in metrics] == ["all"]
        picked = scores.select(metrics=every if everything else metrics).metrics
        for metric in picked:
            direction(metric, directions)
        return picked, []
    known = tuple(m for m in scores.metrics if has_direction(m, directions) and not describes_the_case(m))
    unknown = [m for m in scores.metrics if not has_direction(m, directions) and not describes_the_case(m)]
    if not known:
        direction((unknown or list(scores.metrics))[0], directions)
        raise CallError(f"{', '.join(scores.metrics)}: describes cases, not algorithms; name another with --metric")
    if len(known) > MANY:
        main = tuple(m for m in known if plain(m) in MAIN)
        if main:
            told = f"ranked by {', '.join(main)}, the first of {len(known)} metrics; --metric chooses others, or all"
            return main, [Note("metrics_chosen", told)]
    told = f"not ranked by {', '.join(unknown)}: whether higher or lower is better is not known (--direction says it)"
    many = f"ranked by all {len(known)} metrics, some of which measure much the same; --metric chooses"
    return known, [*([told] if unknown else []), *([Note("metrics_chosen", many)] if len(known) > MANY else [])]


def _truths(scores: Scores) -> list[str]:
    """All but means over truths, where there are others."""
    return [truth for truth in scores.truths if truth not in MEANS] or list(scores.truths)

"""Ranking of algorithms by their scores, and how far it can be trusted.

Every metric against every reference standard is ranked by three schemes (``standings``); missing scores count as the
worst, unless asked otherwise (``missing_scores``); all rankings are repeated in resamples of the subjects.

Two algorithms are separated if one is significantly better (one-sided Wilcoxon test after Holm) under every metric and
every reference standard of the ranking: the largest p counts (an intersection–union test). A winner is declared only if
the first algorithm is separated from every other in this way, and is first in at least 95% of the resamples under every
reference standard. With fewer than ten subjects under one of them nothing is tested, and subjects are not resampled.

References
----------
Berger RL. Multiparameter hypothesis testing and acceptance sampling. Technometrics 1982;24:295–300.
doi:10.1080/00401706.1982.10487790. Groups as bars over neighbours: Demšar J. Statistical comparisons of classifiers
over multiple data sets. J Mach Learn Res 2006;7:1–30.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, pairwise

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError, InputError
from ...core.undefined import Note, Undefined
from ...inference.intervals import MIN_SUBJECTS, check_resamples, too_few_subjects
from .missing_scores import Board, Missing, make_boards
from .pair_tests import Estimates, PairTests, mean_differences, no_tests, pair_tests
from .scores import (
    NONE_GIVEN,
    Scores,
    Values,
    describes_the_case,
    direction,
    has_direction,
    metric_name,
    names_among,
)
from .standings import (
    SCHEMES,
    Aggregate,
    Scheme,
    Standing,
    all_standings,
    board_means,
    board_standings,
    combine_standings,
    draw_subjects,
    kendall_tau,
    resamples_of_tests,
)

SURE = 0.95
"""The share of resamples in which a winner is first."""
NAMED = 3
MEANS = ("mean of raters",)
"""What a score can be against that is no reference standard of its own."""
MANY = 3
"""With more metrics than this, the main ones are taken alone: many of them measure much the same."""
MAIN = ("dice", "dsc", "pbar_area")


@dataclass(frozen=True)
class Basis:
    """By what algorithms are ranked: a scheme, metrics and reference standards."""

    scheme: str
    """What a single board is ranked by: ``mean``, ``median``, ``mean rank in the cases`` or ``significant wins``."""
    metrics: tuple[str, ...]
    references: tuple[str, ...]
    boards: int
    """Pairs of a metric and a reference standard."""
    same: tuple[tuple[str, ...], ...] = ()
    """Reference standards that give the same scores in every case."""

    @property
    def distinct(self) -> int:
        """Number of reference standards, those that give the same scores counted once."""
        return len(self.references) - sum(len(group) - 1 for group in self.same)

    @property
    def distinct_words(self) -> str:
        """``8 are distinct``."""
        return f"{self.distinct} {'is' if self.distinct == 1 else 'are'} distinct"

    @property
    def every(self) -> str:
        """`` under every metric and reference standard``; nothing where there is one of each."""
        metrics, references = len(self.metrics), len(self.references)
        if metrics > 1 and references > 1:
            return " under every metric and reference standard"
        kind, count = ("metric", metrics) if metrics > 1 else ("reference standard", references)
        return {1: "", 2: f" under both {kind}s"}.get(count, f" under every {kind}")

    def part(self, count: int) -> str:
        """``6 of 9``; of several metrics and reference standards, what is counted is named."""
        both = len(self.metrics) > 1 and len(self.references) > 1
        return f"{count} of {self.boards}{' pairs of metric and reference standard' if both else ''}"

    def __str__(self) -> str:
        if self.boards == 1:
            return f"{self.scheme} {self.metrics[0]} against {self.references[0]}"
        by = f" by {self.metrics[0]}" if len(self.metrics) == 1 else ""
        sizes = [f"{len(names)} {kind}s" for names, kind in
                 ((self.metrics, "metric"), (self.references, "reference standard")) if len(names) > 1]  # fmt: skip
        against = f" against {self.references[0]}" if len(self.references) == 1 else ""
        distinct = f" ({self.distinct} distinct)" if self.same else ""
        return f"the mean of ranks{by} over {' and '.join(sizes)}{against}{distinct}"


@dataclass(frozen=True)
class Group:
    """Neighbours in a ranking of whom none is significantly better than another under every metric and reference."""

    algorithms: tuple[str, ...]
    basis: Basis | None = None
    """Metrics and reference standards of the ranking, where there are several."""
    wins: tuple[int, int] = (0, 0)
    """Of two: under how many of them the first is significantly better, and the second."""

    def __str__(self) -> str:
        names = self.algorithms
        who = (
            f"{len(names)} algorithms, from {names[0]} to {names[-1]}" if len(names) > 2 * NAMED else join_names(names)
        )
        if self.basis is None:
            return f"{who} cannot be told apart"
        if len(names) > 2:
            return f"{who}: none is significantly better than another{self.basis.every}"
        counts = f"{names[0]} under {self.basis.part(self.wins[0])}, {names[1]} under {self.wins[1]}"
        return f"{who}: neither is significantly better{self.basis.every} ({counts})"


@dataclass(frozen=True)
class DistinctRanking:
    """A ranking, best first (ties joined by =), and the reference standards that give it."""

    ranking: str
    references: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Evidence:
    """What a verdict rests on: the order, all pairs' largest p, and shares of resamples."""

    algorithms: tuple[str, ...]
    ranks: Values
    p: Values
    """Row better than column: the largest adjusted p over metrics and reference standards."""
    where: NDArray[np.object_]
    """The metric and reference standard that have it."""
    ahead: Values
    """Row before column: the share of resamples."""
    least_first: Values
    """Each algorithm's smallest share of first places over the reference standards."""
    alpha: float
    refusal: Undefined | None = None
    """Why nothing is tested."""
    basis: Basis | None = None
    """By what they are ranked."""
    wins: NDArray[np.int64] | None = None
    """Row significantly better than column: under how many metrics and reference standards."""
    few: str = ""
    """Where too few subjects allow no test: ``from 4 cases``."""

    @property
    def several(self) -> Basis | None:
        """The metrics and reference standards, where there are several pairs of them."""
        return self.basis if self.basis is not None and self.basis.boards > 1 else None

    @property
    def order(self) -> list[int]:
        """Best first, ties by name."""
        return best_first(self.ranks, self.algorithms)


@dataclass(frozen=True)
class Verdict:
    """Whether there is a winner, and the sentence to print."""

    winner: str | None
    sentence: str
    code: str = ""
    """Why there is none: ``too_few_subjects``, or ``no_winner``; empty where there is one."""


def best_first(ranks: Values, algorithms: Sequence[str]) -> list[int]:
    """Positions best first, ties by name."""
    return sorted(range(len(algorithms)), key=lambda i: (ranks[i], algorithms[i]))


def rank_sets(p: Values, alpha: float) -> tuple[Values, Values]:
    """The smallest and largest rank of each algorithm, from adjusted p values of "the row is better than the column".

    Where no true difference is declared, or its direction is wrong, with a probability above ``alpha``, the sets of all
    algorithms together hold their ranks with a probability of at least 1 − ``alpha``.

    Mogstad M, Romano JP, Shaikh AM, Wilhelm D. Inference for ranks with applications to mobility across neighbourhoods
    and academic achievement across countries. Rev Econ Stud 2024;91:476–518. doi:10.1093/restud/rdad006

    >>> p = np.array([[1, 0.01, 0.2], [1, 1, 1], [1, 0.3, 1]])
    >>> rank_sets(p, 0.05)
    (array([1., 2., 1.]), array([2., 3., 3.]))
    """
    better = p < alpha
    return 1.0 + better.sum(axis=-2), p.shape[-1] - 0.0 - better.sum(axis=-1)


def find_groups(evidence: Evidence) -> tuple[Group, ...]:
    """The longest runs of neighbours of whom none is better than another; none without tests. Runs may overlap."""
    if evidence.refusal:
        return ()
    order = evidence.order
    better = evidence.p < evidence.alpha
    apart = better | better.T
    runs: list[tuple[int, int]] = []
    for start in range(len(order)):
        end = start
        while end + 1 < len(order) and not apart[order[end + 1], order[start : end + 1]].any():
            end += 1
        if end > start and (not runs or end > runs[-1][1]):
            runs.append((start, end))
    return tuple(_group(evidence, order[a : b + 1]) for a, b in runs)


def _group(evidence: Evidence, places: list[int]) -> Group:
    first, last = places[0], places[-1]
    wins = (0, 0) if evidence.wins is None else (int(evidence.wins[first, last]), int(evidence.wins[last, first]))
    return Group(tuple(evidence.algorithms[i] for i in places), evidence.several, wins)


def find_verdict(evidence: Evidence) -> Verdict:
    """The winner, if there is one, and why there is none if not."""
    names, order = evidence.algorithms, evidence.order
    leaders = join_names([names[i] for i in order if evidence.ranks[i] == evidence.ranks[order[0]]])
    first, others = order[0], order[1:]
    tied = leaders != names[first]
    by = f"by {evidence.basis}, " if evidence.basis else ""
    head = by[:1].upper() + by[1:] + (f"{leaders} share the first place" if tied else f"{names[first]} is first")
    if evidence.refusal:
        few = f"no winner can be named {evidence.few or 'from so few subjects'}: not tested, it takes {MIN_SUBJECTS}"
        return Verdict(None, f"{head}, but {few}.", "too_few_subjects")
    if tied:
        return _no_winner(head)
    rivals = [i for i in others if evidence.p[first, i] >= evidence.alpha]
    better = [i for i in rivals if evidence.p[i, first] < evidence.alpha]
    every = evidence.several.every if evidence.several else ""
    if better:
        names_of = join_names([f"{names[i]} {_evidence(evidence, i, first)}" for i in better[:NAMED]])
        return _no_winner(f"{head}, but the test has a better one{every}, {names_of}")
    if rivals:
        return _no_winner(f"{head}, but not significantly better{every} than {_rivals(evidence, first, rivals)}")
    return _significant(evidence, first, others)


def _no_winner(why: str) -> Verdict:
    return Verdict(None, f"{why}: no winner is declared.", "no_winner")


def _rivals(evidence: Evidence, first: int, rivals: list[int]) -> str:
    others = [f"{evidence.algorithms[i]} {_evidence(evidence, first, i)}" for i in rivals[:NAMED]]
    if len(rivals) > NAMED:
        others.append(f"{len(rivals) - NAMED} more")
    return join_names(others)


def _significant(evidence: Evidence, first: int, others: list[int]) -> Verdict:
    name, share, several = evidence.algorithms[first], evidence.least_first[first], evidence.several
    closest = max(others, key=lambda i: evidence.p[first, i])
    whom, such = evidence.algorithms[closest], ""
    if len(others) > 1:
        whom, such = "every other algorithm", f", such as {whom}"
    by = f"By {join_names(evidence.basis.metrics)}, " if evidence.basis else ""
    every = several.every if several else ""
    claim = f"{by}{name} is better than {whom}{every}{such} {_evidence(evidence, first, closest)}"
    one, each = (
        f" under {which} of the reference standards" if several and len(several.references) > 1 else ""
        for which in ("one", "each")
    )
    if not share >= SURE:
        rarely = f"first in only {np.floor(share * 100):.0f}% of the resamples{one}"
        return Verdict(None, f"{claim}, but {rarely}: no winner is declared below {SURE:.0%}.", "no_winner")
    often = "all" if share == 1 else f"at least {np.floor(share * 100):.0f}%"
    return Verdict(name, f"{claim}, and first in {often} of the resamples{each}.")


def _evidence(evidence: Evidence, first: int, other: int) -> str:
    """``(significantly better under 6 of 9, worse under 1; largest Holm p = 0.21, dice against staple; …)``."""
    several, parts = evidence.several, []
    if several and evidence.wins is not None and evidence.p[first, other] >= evidence.alpha:
        better, worse = int(evidence.wins[first, other]), int(evidence.wins[other, first])
        parts.append(f"significantly better under {several.part(better)}, worse under {worse}")
    where = f", {evidence.where[first, other]}" if evidence.where[first, other] else ""
    parts.append(f"{'largest ' if several else ''}Holm p {format_p(float(evidence.p[first, other]))}{where}")
    ahead = float(evidence.ahead[first, other])
    if not np.isnan(ahead):
        parts.append(f"{evidence.algorithms[first]} ahead in {format_share(ahead)} of resamples")
    return f"({'; '.join(parts)})"


def format_share(share: float) -> str:
    """A share of the resamples as a percentage; what happened in some of them is neither 0% nor 100%.

    >>> format_share(0.997), format_share(1.0), format_share(0.914), format_share(0.001)
    ('> 99%', '100%', '91%', '< 1%')
    """
    if 0 < share < 0.005:
        return "< 1%"
    return "> 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def format_p(p: float) -> str:
    """``= 0.21``, ``< 0.001``."""
    return "< 0.001" if p < 0.001 else f"= {p:.2f}" if p >= 0.1 else f"= {p:.3f}"


def distinct_rankings(algorithms: Sequence[str], rankings: dict[str, Values]) -> tuple[DistinctRanking, ...]:
    """The different rankings and the reference standards that give each, the most frequent first (Lampert's Table 8).

    >>> distinct_rankings(["a", "b"], {"x": np.array([1.0, 2.0]), "y": np.array([2.0, 1.0]), "z": np.array([1.0, 2.0])})
    (DistinctRanking(ranking='a > b', references=('x', 'z')), DistinctRanking(ranking='b > a', references=('y',)))
    """
    givers: dict[str, list[str]] = {}
    for truth, ranks in rankings.items():
        givers.setdefault(ranking_text(algorithms, ranks), []).append(truth)
    distinct = [DistinctRanking(text, tuple(references)) for text, references in givers.items()]
    return tuple(sorted(distinct, key=lambda d: -len(d.references)))


def ranking_text(algorithms: Sequence[str], ranks: Values) -> str:
    """``unet > vnet = baseline``."""
    order = best_first(ranks, algorithms)
    text = algorithms[order[0]]
    for before, after in pairwise(order):
        text += (" = " if ranks[before] == ranks[after] else " > ") + algorithms[after]
    return text


def join_names(names: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


@dataclass(frozen=True)
class Tau:
    """Kendall's τ_b of two rankings that differ in ``between``: schemes, truths (reference standards) or metrics."""

    between: str
    scheme: str
    truth: str
    metric: str
    first: str
    second: str
    value: float


@dataclass(frozen=True)
class RankingWithout:
    """The overall ranking without one reference standard."""

    truth: str
    ranks: Values
    changed: bool
    first_changed: bool


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranking of a table of scores. An empty reference standard or metric stands for all of them."""

    algorithms: tuple[str, ...]
    """Names, in the order of the scores."""
    references: tuple[str, ...]
    """Reference standards that algorithms are ranked under."""
    metrics: tuple[str, ...]
    """Metrics that they are ranked by."""
    subjects: int
    """Number of subjects."""
    cases: int
    """Number of cases."""
    boards: tuple[Board, ...]
    """Scores without gaps, of every metric against every reference standard."""
    tests: tuple[PairTests, ...]
    """Tests between all algorithms, board by board."""
    standings: tuple[Standing, ...]
    """Rankings by every scheme: of each board, and of several together."""
    means: tuple[Estimates, ...]
    """Mean or median of every algorithm with its interval, board by board."""
    scheme: Scheme
    """Scheme of the overall order and the verdict."""
    aggregate: Aggregate
    """How subjects are summarised, ``"mean"`` or ``"median"``."""
    alpha: float
    """Significance level of the tests."""
    level: float = 0.95
    """Confidence level of intervals."""
    resamples: int = 1000
    """Number of resamples of the subjects."""
    seed: int = 0
    """Seed of the resampling."""
    notes: tuple[str, ...] = ()
    """What to know about the ranking."""
    same: tuple[tuple[str, ...], ...] = ()
    """Reference standards that give every algorithm the same scores in every case and metric."""
    subject_word: str = "subject"
    """``"patient"`` where subjects are named, else ``"case"``."""

    def find(self, truth: str = "", metric: str = "", scheme: Scheme | None = None) -> Standing:
        """One ranking; where there is only one reference standard or metric, it need not be named."""
        wanted, references, metrics = scheme or self.scheme, _same(truth, self.references), _same(metric, self.metrics)
        for standing in self.standings:
            if standing.scheme == wanted and standing.truth in references and standing.metric in metrics:
                return standing
        against = truth or "all reference standards"
        raise CallError(f"no ranking by {wanted} for {metric or 'all metrics'} against {against}")

    @property
    def overall(self) -> Standing:
        """Over all metrics and reference standards, by the chosen scheme."""
        return next(s for s in reversed(self.standings) if s.scheme == self.scheme)

    @property
    def order(self) -> tuple[str, ...]:
        """Algorithms, best first; ties by name."""
        return tuple(self.algorithms[i] for i in best_first(self.overall.ranks, self.algorithms))

    def evidence(self, truth: str = "", metric: str = "") -> Evidence:
        """The tests and shares of resamples that a verdict rests on."""
        standing = self.find(truth, metric)
        rows = [i for i, b in enumerate(self.boards) if truth in ("", b.truth) and metric in ("", b.metric)]
        stack = np.stack([self.tests[i].p_holm for i in rows])
        titles = np.array([self.boards[i].title if len(rows) > 1 else "" for i in rows], object)
        shares = [self.find(t, metric).first_share for t in dict.fromkeys(self.boards[i].truth for i in rows)]
        return Evidence(
            self.algorithms, standing.ranks, stack.max(axis=0), titles[stack.argmax(axis=0)], standing.ahead_share,
            np.min(shares, axis=0), self.alpha, standing.refusal, self.basis(truth, metric),
            (stack < self.alpha).sum(axis=0), self._too_few(standing, [self.boards[i] for i in rows]),
        )  # fmt: skip

    def _too_few(self, standing: Standing, boards: Sequence[Board]) -> str:
        """``from 4 cases``, or ``with 8 cases for dice against C``; empty where there are enough."""
        if not standing.refusal:
            return ""
        few = bool(too_few_subjects(standing.subjects))
        count = standing.subjects if few else standing.fewest
        cases = f"{count} {self.subject_word}{'' if count == 1 else 's'}"
        if few:
            return f"from {cases}"
        return f"with {cases} for {next(b.title for b in boards if len(b.subjects) == count)}"

    def basis(self, truth: str = "", metric: str = "") -> Basis:
        """By what a ranking orders the algorithms."""
        boards = [b for b in self.boards if truth in ("", b.truth) and metric in ("", b.metric)]
        references = tuple(dict.fromkeys(b.truth for b in boards))
        by = {"mean": self.aggregate, "rank": "mean rank in the cases by", "test": "significant wins by"}[self.scheme]
        metrics = tuple(dict.fromkeys(b.metric for b in boards))
        return Basis(by, metrics, references, len(boards), names_among(self.same, references))

    def rank_sets(self, truth: str = "", metric: str = "") -> tuple[Values, Values]:
        """The smallest and largest rank of each algorithm, simultaneously with confidence 1 − α.

        From the tests under every metric and reference standard of the ranking; nan with too few subjects.
        """
        standing, evidence = self.find(truth, metric), self.evidence(truth, metric)
        if standing.refusal:
            nothing = np.full(len(self.algorithms), np.nan)
            return nothing, nothing
        low, high = rank_sets(evidence.p, self.alpha)
        # tests by ranks of differences may order two algorithms unlike their means
        return np.minimum(low, standing.places), np.maximum(high, standing.places)

    @cached_property
    def verdict(self) -> Verdict:
        """Whether there is a winner, in a sentence."""
        return find_verdict(self.evidence())

    def groups(self, truth: str = "", metric: str = "") -> tuple[Group, ...]:
        """Neighbours of whom none is significantly better than another under every metric and reference standard."""
        return find_groups(self.evidence(truth, metric))

    def distinct(self, metric: str = "", scheme: Scheme | None = None) -> tuple[DistinctRanking, ...]:
        """The distinct rankings and the reference standards that give each."""
        references = dict.fromkeys(b.truth for b in self.boards if metric in ("", b.metric))
        return distinct_rankings(self.algorithms, {t: self.find(t, metric, scheme).ranks for t in references})

    @cached_property
    def without_truth(self) -> tuple[RankingWithout, ...]:
        """The overall ranking with each reference standard left out; empty where there is only one."""
        return tuple(self._left_out()) if len(self.references) > 1 else ()

    def _left_out(self) -> Iterator[RankingWithout]:
        boards = [s for s in self.standings if s.scheme == self.scheme and s.truth and s.metric]
        whole = self.overall.ranks
        for truth in self.references:
            rest = combine_standings([s for s in boards if s.truth != truth], "", "").ranks
            changed, first = bool((rest != whole).any()), (rest == rest.min()) != (whole == whole.min())
            yield RankingWithout(truth, rest, changed, bool(first.any()))

    @cached_property
    def mean_differences(self) -> tuple[Estimates, ...]:
        """On every board, the mean paired difference of every two, with its interval."""
        return tuple(mean_differences(b.subject_values, self.level) for b in self.boards)

    @cached_property
    def taus(self) -> tuple[Tau, ...]:
        """Agreement of rankings between schemes, between reference standards and between metrics."""
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
        order = ", ".join(f"{places[self.algorithms.index(name)]}. {name}" for name in self.order)
        pairs = f"{len(self.boards)} metric–reference pair{'' if len(self.boards) == 1 else 's'}"
        return f"Ranking({order}; by {self.scheme}, {pairs}, {self.subjects} subjects)"


def rank_scores(
    scores: Scores,
    *,
    metrics: Sequence[str] | None = None,
    references: Sequence[str] | None = None,
    directions: Mapping[str, str] = NONE_GIVEN,
    missing: Missing = "worst",
    scheme: Scheme = "mean",
    aggregate: Aggregate = "mean",
    resamples: int = 1000,
    seed: int = 0,
    level: float = 0.95,
    alpha: float = 0.05,
) -> Ranking:
    """Rank algorithms by every scheme, and measure how stable the ranking is.

    Parameters
    ----------
    scores : Scores
        Made by :func:`read_scores` or ``Scores.of``.
    metrics : sequence of str, optional
        By which to rank; by default all whose direction is known, or, of more than three, Dice and the area under P̄-R
        where they are among them. ``["all"]`` ranks by all.
    references : sequence of str, optional
        Reference standards to rank under; by default all but the mean of raters.
    directions : mapping of str to str
        ``"higher"`` or ``"lower"`` for metrics that are not known.
    missing : {"worst", "exclude"} or float
        How a missing or undefined score counts: as the worst (see ``missing_scores``), as a number, or its case is
        excluded for all algorithms.
    scheme : {"mean", "rank", "test"}
        Scheme of the overall order. All three are computed.
    aggregate : {"mean", "median"}
        Over subjects, for the scheme ``mean``.
    resamples, seed : int
        Number of resamples of the subjects, and their seed.
    level : float
        Confidence level of intervals.
    alpha : float
        Significance level of the tests.

    Returns
    -------
    Ranking
        Order, intervals, tests, groups and verdict.

    References
    ----------
    Wiesenfarth M et al. Methods and open-source toolkit for analyzing and visualizing challenge results. Sci Rep
    2021;11:2369. doi:10.1038/s41598-021-82017-6

    Examples
    --------
    >>> table = Scores.of([[0.9, 0.8, 0.9], [0.7, 0.6, 0.8]], ["unet", "vnet"])
    >>> rank_scores(table)
    Ranking(1. unet, 2. vnet; by mean, 1 metric–reference pair, 3 subjects)
    """
    _check(scores, scheme, aggregate, resamples, level, alpha, seed)
    # means over reference standards are left out, where there are others
    if references is None:
        references = [reference for reference in scores.references if reference not in MEANS] or None
    scores = scores.select(references=references)
    chosen, notes = _choose_metrics(scores, metrics, directions)
    boards = make_boards(scores, chosen, missing, directions)
    tests = [
        no_tests(len(scores.algorithms)) if too_few_subjects(len(board.subjects)) else pair_tests(board.gains)
        for board in boards
    ]
    subjects = len(scores.subject_names)
    named = scores.subjects != scores.cases
    if not named and subjects > 1:
        notes.append(_no_subjects(subjects))
    same = names_among(scores.same_references(chosen), {board.truth for board in boards})
    weights = draw_subjects(subjects, resamples, seed)
    parts = board_standings(boards, tests, weights, aggregate, alpha, level)
    fewest = min(resamples_of_tests(len(scores.algorithms), len(b.subjects), len(boards), resamples) for b in boards)
    if fewest < resamples and not all(too_few_subjects(len(b.subjects)) for b in boards):
        text = f"so many tests: the scheme test was repeated in only {fewest} of the {resamples} resamples"
        notes.append(Note("fewer_tests", text))
    return Ranking(
        scores.algorithms, tuple(t for t in scores.references if any(b.truth == t for b in boards)),
        tuple(m for m in chosen if any(b.metric == m for b in boards)), subjects, len(scores.cases),
        tuple(boards), tuple(tests), tuple(all_standings(parts)),
        tuple(board_means(board, aggregate, weights, level) for board in boards),
        scheme, aggregate, alpha, level, resamples, seed, (*scores.notes, *notes), same,
        "patient" if named else "case",
    )  # fmt: skip


def _no_subjects(cases: int) -> Note:
    narrow = "" if too_few_subjects(cases) else "; cases of one patient make intervals too narrow"
    return Note("no_subjects", f"no subjects are named: every case counts as a patient of its own{narrow} (--cases)")


def _same(asked: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """What stands for the one asked for: where there is only one, "all" is the same."""
    return ("", *names) if len(names) == 1 and asked in ("", *names) else (asked,)


def _check(scores: Scores, scheme: str, aggregate: str, resamples: int, level: float, alpha: float, seed: int) -> None:
    for name, value, allowed in (("scheme", scheme, SCHEMES), ("aggregate", aggregate, ("mean", "median"))):
        if value not in allowed:
            raise CallError(f"{name} must be {' or '.join(map(repr, allowed))}; got {value!r}")
    check_resamples(resamples)
    if not 0 < level < 1 or not 0 < alpha < 1 or seed < 0:
        raise CallError(
            f"level and alpha must be between 0 and 1, and seed at least 0; got {level}, {alpha} and {seed}"
        )
    if len(scores.algorithms) < 2:
        raise InputError(f"there is only one algorithm, {', '.join(scores.algorithms)}; a ranking needs two or more")


def _choose_metrics(
    scores: Scores, metrics: Sequence[str] | None, directions: Mapping[str, str]
) -> tuple[tuple[str, ...], list[str]]:
    """The metrics to rank by, and notes on those that are left out."""
    metrics_of_algorithms = [m for m in scores.metrics if not describes_the_case(m)]
    known = [m for m in metrics_of_algorithms if has_direction(m, directions)]
    if metrics is not None:
        everything = [name.casefold() for name in metrics] == ["all"]
        picked = scores.select(metrics=known if everything else metrics).metrics
        for metric in picked:
            direction(metric, directions)
        return picked, []
    unknown = [m for m in metrics_of_algorithms if m not in known]
    if not known:
        direction((unknown or list(scores.metrics))[0], directions)
        raise CallError(f"{', '.join(scores.metrics)}: describes cases, not algorithms; name another with --metric")
    main = tuple(m for m in known if metric_name(m) in MAIN)
    if len(known) > MANY and main:
        text = f"ranked by {', '.join(main)}, the first of {len(known)} metrics; --metric chooses others, or all"
        return main, [Note("metrics_chosen", text)]
    text = f"not ranked by {', '.join(unknown)}: whether higher or lower is better is not known (give --direction)"
    many = f"ranked by all {len(known)} metrics, some of which measure much the same; --metric chooses"
    notes = [*([text] if unknown else []), *([Note("metrics_chosen", many)] if len(known) > MANY else [])]
    return tuple(known), notes

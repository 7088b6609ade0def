"""Rankings of algorithms under every reference standard, and what holds under all of them.

Lampert takes the consensus of any rater and that of three quarters of the votes as bounds of an algorithm's score.
They need not be: single raters can score it lower or higher, and so the smallest and largest over all are given too.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 3.5 and Table 8. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...core.errors import CallError
from ...core.undefined import Undefined
from .scores import names_among

Values = NDArray[np.float64]


@dataclass(frozen=True)
class ReferenceRanking:
    """One order of the algorithms, and the reference standards that give it."""

    places: tuple[tuple[str, ...], ...]
    """The best first; several in a place are tied."""
    references: tuple[str, ...]
    """The reference standards."""

    @property
    def order(self) -> tuple[str, ...]:
        """The algorithms from the best on, tied ones as they were given."""
        return tuple(name for place in self.places for name in place)

    @property
    def ties(self) -> tuple[tuple[str, ...], ...]:
        """The places that several share."""
        return tuple(place for place in self.places if len(place) > 1)

    def __str__(self) -> str:
        return " > ".join(" = ".join(place) for place in self.places)


@dataclass(frozen=True)
class AreaBounds:
    """The range of an algorithm's score over the reference standards."""

    algorithm: str
    smallest: float
    smallest_under: str
    largest: float
    largest_under: str
    loose: float
    """Under the reference standard taken as the lower bound (what any rater marked)."""
    strict: float
    """Under the reference standard taken as the upper bound (three quarters of the votes)."""
    below: tuple[str, ...]
    """Reference standards that score it below ``loose``."""
    above: tuple[str, ...]
    """Reference standards that score it above ``strict``."""


@dataclass(frozen=True)
class Separation:
    """Whether one algorithm is ahead of another whatever the reference standard."""

    first: str
    second: str
    ahead: tuple[str, ...]
    """Reference standards under which the first scores higher."""
    behind: tuple[str, ...]
    """Reference standards under which it scores lower."""
    of: int
    """Number of reference standards under which both have a score."""
    smallest: float
    """The first's smallest score, under any reference standard."""
    largest: float
    """The second's largest."""

    @property
    def under_each(self) -> bool:
        """Whether the first is ahead under every reference standard."""
        return 0 < self.of == len(self.ahead)

    @property
    def whatever(self) -> bool:
        """Whether the first's smallest score exceeds the second's largest, each over all reference standards."""
        return self.smallest > self.largest


@dataclass(frozen=True, eq=False)
class ReferenceRankings:
    """The algorithms ranked under every reference standard."""

    algorithms: tuple[str, ...]
    """Names of the algorithms."""
    references: tuple[str, ...]
    """Names of the reference standards."""
    scores: Values
    """(algorithms, references): the higher the better; nan where undefined."""
    rankings: tuple[ReferenceRanking, ...]
    """The distinct ones, the most common first."""
    undefined: tuple[str, ...]
    """Reference standards under which some algorithm has no score, and so none are ranked."""
    same: tuple[tuple[str, ...], ...] = ()
    """Reference standards that give the same scores in every case."""

    def of(self, truth: str) -> ReferenceRanking:
        """The ranking under a reference standard."""
        for ranking in self.rankings:
            if truth in ranking.references:
                return ranking
        gives = "gives no ranking: an algorithm has no score" if truth in self.undefined else "is not there"
        ranked = ", ".join(t for t in self.references if t not in self.undefined)
        raise CallError(f"reference standard {truth!r} {gives}; those that give one: {ranked}")

    def without(self, references: Collection[str]) -> ReferenceRankings:
        """The same without some reference standards."""
        kept = [i for i, name in enumerate(self.references) if name not in references]
        names = [self.references[i] for i in kept]
        return rank_by_reference(self.scores[:, kept], self.algorithms, names, self.same)

    def bounds(self, loose: str | None = None, strict: str | None = None) -> tuple[AreaBounds, ...]:
        """The smallest and largest score of each algorithm, and those under two references taken as bounds."""
        return tuple(self._bound(i, loose, strict) for i in range(len(self.algorithms)))

    def _bound(self, i: int, loose: str | None, strict: str | None) -> AreaBounds:
        values = zip(self.references, self.scores[i].tolist(), strict=True)
        known = {truth: value for truth, value in values if not math.isnan(value)}
        low, high = self._score_under(known, loose), self._score_under(known, strict)
        least, most = (pick(known, key=known.__getitem__, default="") for pick in (min, max))
        none = Undefined("no_truth_with_score")
        return AreaBounds(
            self.algorithms[i], known.get(least, none), least, known.get(most, none), most, low, high,
            below=tuple(truth for truth, value in known.items() if value < low),
            above=tuple(truth for truth, value in known.items() if value > high),
        )  # fmt: skip

    def _score_under(self, known: Mapping[str, float], truth: str | None) -> float:
        if truth is None:
            return Undefined("no_truth_named")
        if truth not in self.references:
            raise CallError(f"no reference standard {truth!r}; there are {', '.join(self.references)}")
        return known.get(truth, Undefined("truth_without_score", truth))

    def separate(self, first: str, second: str) -> Separation:
        """Compare two algorithms over all reference standards."""
        for name in (first, second):
            if name not in self.algorithms:
                raise CallError(f"no algorithm {name!r}; there are {', '.join(self.algorithms)}")
        a, b = (self.scores[self.algorithms.index(name)] for name in (first, second))
        both = ~(np.isnan(a) | np.isnan(b))
        none = Undefined("no_truth_with_both_scores")
        return Separation(
            first=first,
            second=second,
            ahead=tuple(t for t, more in zip(self.references, a > b, strict=True) if more),
            behind=tuple(t for t, less in zip(self.references, a < b, strict=True) if less),
            of=int(both.sum()),
            smallest=float(a[both].min()) if both.any() else none,
            largest=float(b[both].max()) if both.any() else none,
        )


def rank_by_reference(
    scores: ArrayLike, algorithms: Sequence[str], references: Sequence[str], same: Sequence[Sequence[str]] = ()
) -> ReferenceRankings:
    """Rank algorithms under every reference standard, and find the distinct rankings.

    Parameters
    ----------
    scores : array_like
        (algorithms, references): the higher the better; nan where undefined. Only equal scores are tied.
    algorithms, references : sequence of str
        Names of the algorithms and of the reference standards.
    same : sequence of sequence of str
        Reference standards that are known to give the same scores in every case, as :meth:`Scores.same_references`
        finds them.

    Returns
    -------
    ReferenceRankings
        The distinct rankings, the most common first, and comparisons over all reference standards.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. IEEE Trans Image Process 2016;25:2557–2572, 3.5. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> rankings = rank_by_reference([[0.9, 0.8, 0.4], [0.5, 0.7, 0.6]], ["net", "filter"], ["A", "B", "C"])
    >>> [(str(r), r.references) for r in rankings.rankings]
    [('net > filter', ('A', 'B')), ('filter > net', ('C',))]
    >>> rankings.separate("net", "filter").whatever
    False
    """
    table, algorithms, references = np.asarray(scores, np.float64), tuple(algorithms), tuple(references)
    if table.shape != (len(algorithms), len(references)):
        wanted = f"{len(algorithms)} algorithms × {len(references)} reference standards"
        raise CallError(f"scores have one row per algorithm and one column per reference standard, {wanted}; "
                        f"got shape {table.shape}")  # fmt: skip
    givers: dict[tuple[tuple[str, ...], ...], list[str]] = {}
    undefined = []
    for truth, column in zip(references, table.T.tolist(), strict=True):
        if any(map(math.isnan, column)):
            undefined.append(truth)
            continue
        steps = sorted(set(column), reverse=True)
        places = tuple(tuple(n for n, v in zip(algorithms, column, strict=True) if v == step) for step in steps)
        givers.setdefault(places, []).append(truth)
    common = sorted(givers.items(), key=lambda item: -len(item[1]))
    rankings = tuple(ReferenceRanking(places, tuple(who)) for places, who in common)
    ranked = [reference for reference in references if reference not in undefined]
    return ReferenceRankings(algorithms, references, table, rankings, tuple(undefined), names_among(same, ranked))

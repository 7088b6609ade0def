"""Majorities: which label won each case, by how much, and whether it is the right one.

Of m raters of a case, v gave the label with the most votes and u the next one. Cases with m ≥ 2 count.

tied
    v = u: nobody won.
slim
    v − u = 1: won by one vote. With two labels and an even m nothing is; there the closest outcome is a tie.
overwhelming
    P(X ≥ v) < level for X binomial with m draws of probability ½: more than half of all raters, not just of these,
    would say so. The probability can be taken as 1 / L instead: then the label is merely more frequent than if every
    rater drew one of L labels at random. With two labels the tests are the same. 10 votes of 13: p = 0.046.
wrong
    The winner is not the reference, where that is known.

Cabitza F et al. Appl Sci 2020;10:4014, section 4. doi:10.3390/app10114014
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.undefined import ratio
from .competence import most_frequent
from .ratings import MISSING, Ratings, Values

Flags = NDArray[np.bool_]

FEW = "no_case_rated_twice"
NO_KEY = "no_reference_for_cases"


@dataclass(frozen=True, eq=False)
class Majorities:
    """The majority of every case; shares are of the items that at least two raters rated."""

    level: float
    cases: tuple[str, ...]
    labels: tuple[str, ...]
    winner: NDArray[np.int16]
    """Positions in ``labels``; −1 where there is a tie, or nobody rated."""
    votes: NDArray[np.int64]
    """v, of the label with the most."""
    lead: NDArray[np.int64]
    """v − u."""
    rated: NDArray[np.int64]
    """m."""
    p: Values
    """Of the binomial test; nan where there is no winner, or fewer than two raters."""
    reference: NDArray[np.int16]
    """The true label of each case, −1 where it is not known."""
    items: NDArray[np.int64]
    """How many items each row stands for."""

    @property
    def counted(self) -> Flags:
        """Cases that at least two raters rated."""
        return np.asarray(self.rated > 1)

    @property
    def judged(self) -> Flags:
        """Of those, the ones whose reference is known."""
        return np.asarray(self.counted & (self.reference != MISSING))

    @property
    def tied(self) -> Flags:
        """Nobody won."""
        return np.asarray(self.counted & (self.lead == 0))

    @property
    def slim(self) -> Flags:
        """Won by one vote."""
        return np.asarray(self.counted & (self.lead == 1))

    @property
    def overwhelming(self) -> Flags:
        """Won by more than chance would."""
        return np.asarray(self.p < self.level)

    @property
    def wrong(self) -> Flags:
        """The winner is not the reference."""
        return np.asarray(self.judged & (self.winner != MISSING) & (self.winner != self.reference))

    @property
    def wrong_overwhelming(self) -> Flags:
        """Both at once."""
        return self.wrong & self.overwhelming

    @property
    def n(self) -> int:
        """Items that at least two raters rated."""
        return int(self.items[self.counted].sum())

    @property
    def n_judged(self) -> int:
        """Of those, the ones whose reference is known."""
        return int(self.items[self.judged].sum())

    def count(self, kind: Literal["tied", "slim", "overwhelming", "wrong", "wrong_overwhelming"]) -> int:
        """Items of a kind."""
        return int(self.items[getattr(self, kind)].sum())

    @property
    def tied_share(self) -> float:
        """Of all items."""
        return ratio(self.count("tied"), self.n, FEW)

    @property
    def slim_share(self) -> float:
        """Of all items."""
        return ratio(self.count("slim"), self.n, FEW)

    @property
    def overwhelming_share(self) -> float:
        """Of all items."""
        return ratio(self.count("overwhelming"), self.n, FEW)

    @property
    def wrong_share(self) -> float:
        """Of the items whose reference is known."""
        return ratio(self.count("wrong"), self.n_judged, NO_KEY)

    @property
    def wrong_overwhelming_share(self) -> float:
        """Of the items whose reference is known."""
        return ratio(self.count("wrong_overwhelming"), self.n_judged, NO_KEY)

    def __repr__(self) -> str:
        told = f"{self.count('slim')} slim, {self.count('overwhelming')} overwhelming, {self.count('tied')} tied"
        wrong = f", {self.count('wrong')} wrong" if self.n_judged else ""
        return f"<majorities of {self.n} items: {told}{wrong}>"


def majorities(ratings: Ratings, level: float = 0.05, against: Literal["half", "labels"] = "half") -> Majorities:
    """The majority of every case.

    Parameters
    ----------
    level
        Below which p a majority is overwhelming.
    against
        The probability of the binomial test: ``"half"``, ½, or ``"labels"``, 1 / L.

    >>> from manytruths.ratings import Ratings
    >>> majorities(Ratings.of([[1] * 10 + [0] * 3, [1] * 7 + [0] * 6], reference=[0, 1]))
    <majorities of 2 items: 1 slim, 1 overwhelming, 0 tied, 1 wrong>
    """
    if not 0 < level < 1:
        raise CallError(f"level lies between 0 and 1; got {level}")
    if against not in ("half", "labels"):
        raise CallError(f"against is 'half' or 'labels'; got {against!r}")
    votes, rated = ratings.votes, ratings.rated
    two = np.sort(np.pad(votes, ((0, 0), (2, 0))), axis=1)[:, -2:]
    winner = most_frequent(votes)
    chance = 0.5 if against == "half" else 1 / max(2, len(ratings.labels))
    reference = np.full(len(ratings), MISSING, np.int16) if ratings.reference is None else ratings.reference
    p = np.array([tail(v, m, chance) for v, m in zip(two[:, 1].tolist(), rated.tolist(), strict=True)])
    return Majorities(
        level, ratings.cases, ratings.labels, winner, two[:, 1], two[:, 1] - two[:, 0], rated,
        np.where((winner != MISSING) & (rated > 1), p, np.nan), reference, ratings.items,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def tail(votes: int, raters: int, chance: float = 0.5) -> float:
    """P(X ≥ votes) for X binomial.

    >>> round(tail(10, 13), 4), round(tail(9, 13), 4)
    (0.0461, 0.1334)
    """
    terms = (math.comb(raters, k) * chance**k * (1 - chance) ** (raters - k) for k in range(votes, raters + 1))
    return min(1.0, math.fsum(terms))

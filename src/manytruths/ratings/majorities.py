"""Majorities: which label won each case, by how many votes, and whether it is correct.

Of the m raters of a case, v gave the most frequent label and u the next one. Cases with m ≥ 2 count. A majority is

tied
    if v = u.
slim
    if v − u = 1: it was won by one vote. With two labels and an even m this is impossible; there the closest outcome is
    a tie.
overwhelming
    if P(X ≥ v) < alpha for X binomial with m draws of probability ½: more than half of all raters, not just of these,
    would give the label. With probability 1 / L instead, the label is only more frequent than if every rater chose one
    of L labels at random. With two labels both tests are the same. For 10 votes of 13, p = 0.046.
wrong
    if the label is not that of the reference standard, where it is known.

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
from .accuracy import most_frequent
from .ratings import MISSING, Ratings, Values

Flags = NDArray[np.bool_]

FEW = "no_case_rated_twice"
NO_KEY = "no_reference_for_cases"


@dataclass(frozen=True, eq=False)
class Majorities:
    """Result of :func:`majorities`; shares are of the items that at least two raters rated.

    Attributes
    ----------
    alpha : float
        Significance level below which a majority is overwhelming.
    cases, labels : tuple of str
    winner : ndarray of int16
        Position of the winning label in ``labels``; −1 where there is a tie, or nobody rated.
    votes : ndarray of int64
        Votes of the most frequent label.
    lead : ndarray of int64
        Votes of the most frequent label minus those of the next.
    rated : ndarray of int64
        Number of raters of each case.
    p : ndarray of float
        Of the binomial test; nan where there is no winner, or fewer than two raters.
    reference : ndarray of int16
        Label of each case in the reference standard; −1 where it is unknown.
    items : ndarray of int64
        Number of items that each row stands for.
    """

    alpha: float
    cases: tuple[str, ...]
    labels: tuple[str, ...]
    winner: NDArray[np.int16]
    votes: NDArray[np.int64]
    lead: NDArray[np.int64]
    rated: NDArray[np.int64]
    p: Values
    reference: NDArray[np.int16]
    items: NDArray[np.int64]

    @property
    def counted(self) -> Flags:
        """Cases that at least two raters rated."""
        return np.asarray(self.rated > 1)

    @property
    def judged(self) -> Flags:
        """Cases that at least two raters rated and whose reference label is known."""
        return np.asarray(self.counted & (self.reference != MISSING))

    @property
    def tied(self) -> Flags:
        """Cases without a winner."""
        return np.asarray(self.counted & (self.lead == 0))

    @property
    def slim(self) -> Flags:
        """Cases won by one vote."""
        return np.asarray(self.counted & (self.lead == 1))

    @property
    def overwhelming(self) -> Flags:
        """Cases in which the binomial test is significant."""
        return np.asarray(self.p < self.alpha)

    @property
    def wrong(self) -> Flags:
        """Cases in which the winner is not the reference label."""
        return np.asarray(self.judged & (self.winner != MISSING) & (self.winner != self.reference))

    @property
    def wrong_overwhelming(self) -> Flags:
        """Cases with a significant majority that is wrong."""
        return self.wrong & self.overwhelming

    @property
    def n(self) -> int:
        """Items that at least two raters rated."""
        return int(self.items[self.counted].sum())

    @property
    def n_judged(self) -> int:
        """Cases that at least two raters rated and whose reference label is known."""
        return int(self.items[self.judged].sum())

    def count(self, kind: Literal["tied", "slim", "overwhelming", "wrong", "wrong_overwhelming"]) -> int:
        """Number of items of a kind."""
        return int(self.items[getattr(self, kind)].sum())

    @property
    def tied_share(self) -> float:
        """Share of the items that at least two raters rated."""
        return ratio(self.count("tied"), self.n, FEW)

    @property
    def slim_share(self) -> float:
        """Share of the items that at least two raters rated."""
        return ratio(self.count("slim"), self.n, FEW)

    @property
    def overwhelming_share(self) -> float:
        """Share of the items that at least two raters rated."""
        return ratio(self.count("overwhelming"), self.n, FEW)

    @property
    def wrong_share(self) -> float:
        """Share of the items whose reference label is known."""
        return ratio(self.count("wrong"), self.n_judged, NO_KEY)

    @property
    def wrong_overwhelming_share(self) -> float:
        """Share of the items whose reference label is known."""
        return ratio(self.count("wrong_overwhelming"), self.n_judged, NO_KEY)

    def __repr__(self) -> str:
        kinds = f"{self.count('slim')} slim, {self.count('overwhelming')} overwhelming, {self.count('tied')} tied"
        wrong = f", {self.count('wrong')} wrong" if self.n_judged else ""
        return f"<majorities of {self.n} items: {kinds}{wrong}>"


def majorities(ratings: Ratings, alpha: float = 0.05, against: Literal["half", "labels"] = "half") -> Majorities:
    """The majority of each case: its label, its lead, and whether it is overwhelming or wrong.

    Parameters
    ----------
    ratings : Ratings
    alpha : float
        Significance level below which a majority is overwhelming.
    against : {"half", "labels"}
        Probability of the binomial test: ½, or 1 / number of labels.

    Returns
    -------
    Majorities

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> from manytruths.ratings import Ratings
    >>> majorities(Ratings.of([[1] * 10 + [0] * 3, [1] * 7 + [0] * 6], reference=[0, 1]))
    <majorities of 2 items: 1 slim, 1 overwhelming, 0 tied, 1 wrong>
    """
    if not 0 < alpha < 1:
        raise CallError(f"alpha must be between 0 and 1; got {alpha}")
    if against not in ("half", "labels"):
        raise CallError(f"against must be 'half' or 'labels'; got {against!r}")
    votes, rated = ratings.votes, ratings.rated
    top_two = np.sort(np.pad(votes, ((0, 0), (2, 0))), axis=1)[:, -2:]
    winner = most_frequent(votes)
    chance = 0.5 if against == "half" else 1 / max(2, len(ratings.labels))
    reference = np.full(len(ratings), MISSING, np.int16) if ratings.reference is None else ratings.reference
    p = np.array([binomial_tail(v, m, chance) for v, m in zip(top_two[:, 1].tolist(), rated.tolist(), strict=True)])
    return Majorities(
        alpha, ratings.cases, ratings.labels, winner, top_two[:, 1], top_two[:, 1] - top_two[:, 0], rated,
        np.where((winner != MISSING) & (rated > 1), p, np.nan), reference, ratings.items,
    )  # fmt: skip


@lru_cache(maxsize=4096)
def binomial_tail(votes: int, raters: int, chance: float = 0.5) -> float:
    """P(X ≥ votes) for X binomial.

    >>> round(binomial_tail(10, 13), 4), round(binomial_tail(9, 13), 4)
    (0.0461, 0.1334)
    """
    terms = (math.comb(raters, k) * chance**k * (1 - chance) ** (raters - k) for k in range(votes, raters + 1))
    return min(1.0, math.fsum(terms))

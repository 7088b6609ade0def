"""Accuracy of each rater, against a reference standard or the majority of the others; and the majority of each case.

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
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.undefined import divide, ratio
from .ratings import MISSING, Ratings, Values

Flags = NDArray[np.bool_]

FEW = "no_case_rated_twice"
NO_KEY = "no_reference_for_cases"


@dataclass(frozen=True, eq=False)
class RaterAccuracy:
    """Result of :func:`rater_accuracy`.

    Attributes
    ----------
    source : {"reference", "majority", "given"}
        What the raters were compared with; ``majority`` is that of the other raters.
    raters : tuple of str
        The raters.
    accuracy : ndarray of float
        Of each rater; nan for a rater who could not be compared.
    n : ndarray of int64
        Number of items on which each rater was compared.
    """

    source: str
    raters: tuple[str, ...]
    accuracy: Values
    n: NDArray[np.int64]

    def __repr__(self) -> str:
        shown = ", ".join(f"{r} {a:.2f}" for r, a in list(zip(self.raters, self.accuracy, strict=True))[:6])
        return f"<rater accuracy by {self.source}: {shown}{', …' if len(self.raters) > 6 else ''}>"

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``) with one row for each rater."""
        import pandas

        return pandas.DataFrame({"accuracy": self.accuracy, "n": self.n}, self.raters)


def rater_accuracy(ratings: Ratings, by: str | Mapping[str, float] = "majority") -> RaterAccuracy:
    """Accuracy of each rater.

    Parameters
    ----------
    ratings : Ratings
        The ratings.
    by : {"majority", "reference"} or mapping
        ``"reference"``: share of a rater's labels that equal the reference standard. ``"majority"``: share that equal
        the most frequent label of the other raters; cases in which these tie do not count. Or known accuracies, by
        rater.

    Returns
    -------
    RaterAccuracy
        Accuracy of each rater, and the number of items it rests on.

    Examples
    --------
    >>> from manytruths.ratings import Ratings
    >>> rater_accuracy(Ratings.of({"A": [1, 0, 1, 1], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})).accuracy
    array([0.66666667, 1.        , 0.66666667])
    """
    if isinstance(by, Mapping):
        unknown = [r for r in ratings.raters if r not in by]
        values = np.array([by.get(r, np.nan) for r in ratings.raters], np.float64)
        if unknown or not ((values >= 0) & (values <= 1)).all():
            raise CallError(
                f"accuracies must be from 0 to 1, one for each of {', '.join(ratings.raters)}; got {dict(by)}"
            )
        return RaterAccuracy("given", ratings.raters, values, ratings.items @ ratings.given)
    expected = comparison_labels(ratings, by)
    compared = ratings.given & (expected != MISSING)
    n = ratings.items @ compared
    right = ratings.items @ (compared & (ratings.codes == expected))
    return RaterAccuracy(by, ratings.raters, divide(right, n), n)


def common_accuracy(raters: RaterAccuracy) -> RaterAccuracy:
    """One accuracy for all raters, of all their items together: that of exchangeable raters, whose slots are arbitrary.

    >>> from manytruths.ratings import Ratings
    >>> each = rater_accuracy(Ratings.of({"A": [1, 0, 1, 1], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]}))
    >>> common_accuracy(each).accuracy
    array([0.75, 0.75, 0.75])
    """
    right = np.rint(np.where(raters.n > 0, raters.accuracy, 0.0) * raters.n).sum()
    value = ratio(float(right), float(raters.n.sum()), FEW)
    return RaterAccuracy(raters.source, raters.raters, np.full(len(raters.raters), float(value)), raters.n)


def comparison_labels(ratings: Ratings, by: str) -> NDArray[np.int16]:
    """(cases, raters): the label that each rater is compared with; −1 where there is none."""
    if by == "reference":
        if ratings.reference is None:
            raise CallError("the ratings have no reference; give one, or use the majority of the others")
        return np.repeat(ratings.reference[:, None], len(ratings.raters), axis=1)
    if by != "majority":
        raise CallError(f"by must be 'reference', 'majority', or accuracies by rater; got {by!r}")
    expected = np.full(ratings.codes.shape, MISSING, np.int16)
    for i in range(len(ratings.raters)):
        given = ratings.codes[:, i, None] == np.arange(len(ratings.labels))
        expected[:, i] = most_frequent(ratings.votes - given)
    return expected


def most_frequent(votes: NDArray[np.int64]) -> NDArray[np.int16]:
    """The label with the most votes in each row; −1 where there is no vote, or a tie."""
    top = votes.max(axis=1, initial=0)
    alone = (votes == top[:, None]).sum(axis=1) == 1
    best = votes.argmax(axis=1) if votes.shape[1] else np.zeros(len(votes), np.int64)
    return np.where(alone & (top > 0), best, MISSING).astype(np.int16)


@dataclass(frozen=True, eq=False)
class Majorities:
    """Result of :func:`majorities`; shares are of the items that at least two raters rated.

    Attributes
    ----------
    alpha : float
        Significance level below which a majority is overwhelming.
    cases, labels : tuple of str
        The cases and the labels.
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
        The ratings.
    alpha : float
        Significance level below which a majority is overwhelming.
    against : {"half", "labels"}
        Probability of the binomial test: ½, or 1 / number of labels.

    Returns
    -------
    Majorities
        Winner, votes, lead and p of each case.

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

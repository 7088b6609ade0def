"""Accuracy of each rater, against a reference standard or against the majority of the other raters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from ..core.undefined import divide
from .ratings import MISSING, Ratings, Values


@dataclass(frozen=True, eq=False)
class RaterAccuracy:
    """Result of :func:`rater_accuracy`.

    Attributes
    ----------
    source : {"reference", "majority", "given"}
        What the raters were compared with; ``majority`` is that of the other raters.
    raters : tuple of str
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
    by : {"majority", "reference"} or mapping
        ``"reference"``: share of a rater's labels that equal the reference standard. ``"majority"``: share that equal
        the most frequent label of the other raters; cases in which these tie do not count. Or known accuracies, by
        rater.

    Returns
    -------
    RaterAccuracy

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
        own = ratings.codes[:, i, None] == np.arange(len(ratings.labels))
        expected[:, i] = most_frequent(ratings.votes - own)
    return expected


def most_frequent(votes: NDArray[np.int64]) -> NDArray[np.int16]:
    """The label with the most votes in each row; −1 where there is no vote, or a tie."""
    top = votes.max(axis=1, initial=0)
    alone = (votes == top[:, None]).sum(axis=1) == 1
    best = votes.argmax(axis=1) if votes.shape[1] else np.zeros(len(votes), np.int64)
    return np.where(alone & (top > 0), best, MISSING).astype(np.int16)

"""How often each rater is right: against a reference, or against the majority of the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from .ratings import MISSING, Ratings, Values


@dataclass(frozen=True, eq=False)
class Competence:
    """The accuracy of every rater, and where it comes from."""

    source: str
    """``reference``, ``majority`` (of the others) or ``given``."""
    raters: tuple[str, ...]
    accuracy: Values
    """nan for a rater who could not be compared."""
    n: NDArray[np.int64]
    """Items that each could be compared on."""

    def __repr__(self) -> str:
        shown = ", ".join(f"{r} {a:.2f}" for r, a in list(zip(self.raters, self.accuracy, strict=True))[:6])
        return f"<competence by {self.source}: {shown}{', …' if len(self.raters) > 6 else ''}>"

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``), one row a rater."""
        import pandas

        return pandas.DataFrame({"accuracy": self.accuracy, "n": self.n}, self.raters)


def competence(ratings: Ratings, by: str | Mapping[str, float] = "majority") -> Competence:
    """The raters' accuracies.

    Parameters
    ----------
    by
        ``"reference"``: the share of a rater's labels that are the true ones. ``"majority"``: the share that the most
        frequent label of the others confirms; where they tie, cases do not count. Or accuracies by rater.

    >>> from manytruths.ratings import Ratings
    >>> competence(Ratings.of({"A": [1, 0, 1, 1], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]})).accuracy
    array([0.66666667, 1.        , 0.66666667])
    """
    if isinstance(by, Mapping):
        unknown = [r for r in ratings.raters if r not in by]
        values = np.array([by.get(r, np.nan) for r in ratings.raters], np.float64)
        if unknown or not ((values >= 0) & (values <= 1)).all():
            raise CallError(f"accuracies are one for each of {', '.join(ratings.raters)}, from 0 to 1; got {dict(by)}")
        return Competence("given", ratings.raters, values, ratings.items @ ratings.given)
    key = answers(ratings, by)
    compared = ratings.given & (key != MISSING)
    n = ratings.items @ compared
    right = ratings.items @ (compared & (ratings.codes == key))
    accuracy = np.divide(right, n, out=np.full(len(n), np.nan), where=n > 0)
    return Competence(by, ratings.raters, accuracy, n)


def answers(ratings: Ratings, by: str) -> NDArray[np.int16]:
    """(cases, raters): the label that a rater is held against; −1 where there is none."""
    if by == "reference":
        if ratings.reference is None:
            raise CallError("there is no reference; give one, or take the majority of the others")
        return np.repeat(ratings.reference[:, None], len(ratings.raters), axis=1)
    if by != "majority":
        raise CallError(f"competence is by 'reference', by 'majority', or given by rater; got {by!r}")
    key = np.full(ratings.codes.shape, MISSING, np.int16)
    for i in range(len(ratings.raters)):
        own = ratings.codes[:, i, None] == np.arange(len(ratings.labels))
        key[:, i] = most_frequent(ratings.votes - own)
    return key


def most_frequent(votes: NDArray[np.int64]) -> NDArray[np.int16]:
    """The label with the most votes in each row; −1 where there is no vote, or several tie."""
    top = votes.max(axis=1, initial=0)
    alone = (votes == top[:, None]).sum(axis=1) == 1
    best = votes.argmax(axis=1) if votes.shape[1] else np.zeros(len(votes), np.int64)
    return np.where(alone & (top > 0), best, MISSING).astype(np.int16)

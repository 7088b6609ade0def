"""σ and ρ as statistics of a table of masks or lesions, of one table or of thousands of resampled ones at once.

Where confidence and chance are fixed, every pattern has its own σ, and that of a table is a mean of them. ρ is not
linear in the counts, as the raters' accuracies come from the same table; but it is a sum over pairs of raters of a
linear part times the probability that the two are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tally
from .competence import answers, competence
from .concordance import Chance, correct, genuineness, rho, sigma
from .masks import Confidence, ratings_of
from .ratings import MISSING, Ratings, Values

_AT_ONCE = 1 << 22
"""Numbers that are held for a few pairs of raters at a time."""


@dataclass(frozen=True, eq=False)
class SigmaStatistic:
    """σ of a table; see :func:`manytruths.ratings.sigma`.

    >>> import manytruths as mt
    >>> round(SigmaStatistic(confidence=0.8)(mt.tally({"A": [1, 0, 1], "B": [1, 0, 0]})), 3)
    0.527
    """

    confidence: Confidence = None
    chance: Chance = "uniform"
    __name__ = "sigma"

    def __call__(self, tally: Tally) -> float:
        return sigma(ratings_of(tally, self.confidence), self.chance).value

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> Values:
        """The same for every row of ``counts`` over the patterns of ``tally``, nan where undefined."""
        if self.chance == "empirical" and self.confidence is not None:
            return np.array([self(tally.recount(row)) for row in counts], np.float64)
        by_pattern = sigma(ratings_of(tally, self.confidence), self.chance).by_case
        many = counts.astype(np.float64)
        return _over(many @ np.nan_to_num(by_pattern), many @ ~np.isnan(by_pattern))


@dataclass(frozen=True, eq=False)
class RhoStatistic:
    """ρ of a table, with the raters' accuracies from the same table, or given.

    ``accuracy`` is ``"majority"`` (of the others), or numbers by rater; with ``reference``, the name of a column that
    is the truth, accuracies are against that.
    """

    accuracy: str | Mapping[str, float] = "majority"
    confidence: Confidence = None
    chance: Chance = "uniform"
    reference: str | None = None
    __name__ = "rho"

    def __call__(self, tally: Tally) -> float:
        ratings = ratings_of(tally, self.confidence, reference=self.reference)
        return rho(ratings, competence(ratings, self._source).accuracy, self.chance).value

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> Values:
        """The same for every row of ``counts`` over the patterns of ``tally``, nan where undefined."""
        if self.chance == "empirical" and self.confidence is not None:
            return np.array([self(tally.recount(row)) for row in counts], np.float64)
        ratings = ratings_of(tally, self.confidence, reference=self.reference)
        many = counts.astype(np.float64)
        value, lost = _rhos(ratings, genuineness(ratings, self.chance), many, self._accuracies(ratings, many))
        for row in np.flatnonzero(lost):
            value[row] = self(tally.recount(counts[row]))
        return value

    @property
    def _source(self) -> str | Mapping[str, float]:
        return self.accuracy if self.reference is None else "reference"

    def _accuracies(self, ratings: Ratings, many: Values) -> Values:
        """(tables, raters)."""
        if isinstance(self._source, Mapping):
            return np.broadcast_to(competence(ratings, self._source).accuracy, (len(many), len(ratings.raters)))
        key = answers(ratings, self._source)
        compared = ratings.given & (key != MISSING)
        return _over(many @ (compared & (ratings.codes == key)), many @ compared)


def _rhos(ratings: Ratings, genuine: Values, many: Values, accuracy: Values) -> tuple[Values, NDArray[np.bool_]]:
    """ρ of every table, and which of them have ratings that must be left out."""
    known = ~np.isnan(genuine)
    present = known.sum(axis=1)
    met = present * (present - 1) // 2
    sure = np.where(known, genuine, 0.0)
    total, lost = np.zeros(len(many)), np.asarray((np.isnan(accuracy) & (many @ known > 0)).any(axis=1))
    pairs = np.array(list(combinations(range(len(ratings.raters)), 2)), np.intp).reshape(-1, 2)
    step = max(1, _AT_ONCE // max(1, len(met)))
    for start in range(0, len(pairs), step):
        i, j = pairs[start : start + step].T
        agree = ratings.codes[:, i] == ratings.codes[:, j]
        part = many @ (agree * sure[:, i] * sure[:, j] / np.maximum(met, 1)[:, None])
        right = correct(accuracy[:, i], accuracy[:, j], len(ratings.labels))
        total += (part * np.nan_to_num(right)).sum(axis=1)
        lost |= (np.isnan(right) & (part > 0)).any(axis=1)
    return _over(total, many @ (met > 0)), lost


def _over(part: Values, whole: Values) -> Values:
    return np.asarray(np.divide(part, whole, out=np.full(part.shape, np.nan), where=whole > 0))

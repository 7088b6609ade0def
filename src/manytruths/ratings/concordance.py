"""σ and ρ: how much of the agreement is genuine, and how much of it is right.

A rater who gives label l with confidence c has either chosen it, with probability c, or drawn it at random, from a
chance distribution p. That he chose it, given that it is l, has the probability ::

    ĉ = c / (c + (1 − c) p(l))                                                        (1)
    GA(i, j) = ĉ_i ĉ_j where the two agree, else 0                                    (2)
    σ = mean over cases of the mean of GA over the pairs of raters of a case          (3, 4)
    P(i, j) = a_i a_j / (a_i a_j + (1 − a_i)(1 − a_j) / (L − 1))                      (6)
    ρ = the same mean of GA · P                                                       (7, 8)

with a the raters' accuracies, of the data set or of each case, and L the number of labels (the paper has two). Where
one of two who agree is always right and the other never, P is undefined, and the pair is left out and counted; so is,
without being counted, every pair with somebody whose accuracy is not known. Ordinal labels may agree in part: GA is
then multiplied by 1 − |l_i − l_j| / (L − 1), or by 1 minus its square, l being ranks; for numeric labels l are the
numbers, and their range stands for L − 1.

Without any confidence σ is percent agreement. A rating that lacks its confidence, where others have one, takes no part.

Cabitza F, Campagner A, Albano D et al. The elephant in the machine: proposing a new metric of data reliability and its
application to a medical case to assess classification reliability. Appl Sci 2020;10:4014. doi:10.3390/app10114014

σ and ρ as statistics of a table of masks or lesions, of one table or of thousands of resampled ones at once.

Where confidence and chance are fixed, every pattern has its own σ, and that of a table is a mean of them. ρ is not
linear in the counts, as the raters' accuracies come from the same table; but it is a sum over pairs of raters of a
linear part times the probability that the two are right.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from ..core.tally import Tally
from ..core.undefined import Undefined
from .competence import answers, competence
from .masks import Confidence, ratings_of
from .ratings import MISSING, Ratings, Values

Chance = Literal["uniform", "empirical"] | Mapping[str, float]
Partial = Literal["none", "linear", "quadratic"]

ALONE = "no_case_rated_twice"
CONTRADICTION = "contradiction"


@dataclass(frozen=True, eq=False)
class Concordance:
    """σ or ρ, of the data set, by case, rater, pair and label; nan where undefined."""

    statistic: str
    """``sigma`` or ``rho``."""
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    value: float
    """Of the data set: the mean over cases."""
    by_case: Values
    """nan for a case that fewer than two raters rated."""
    by_rater: Values
    """The mean over all pairs that a rater is in."""
    by_label: Values
    """Given that somebody gave the label, the mean over all others who rated the case."""
    pairs: Values
    """(raters, raters) mean over the cases that both rated; nan on the diagonal."""
    n: int
    """Items that at least two raters rated."""
    undefined: int = 0
    """Pairs of ratings left out, as eq. 6 has no value for them."""

    def __repr__(self) -> str:
        return f"<{self.statistic} {self.value:.3f} of {len(self.raters)} raters>"

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``) of the pairs."""
        import pandas

        return pandas.DataFrame(self.pairs, self.raters, self.raters)


def chance_distribution(ratings: Ratings, chance: Chance = "uniform") -> Values:
    """p: uniform over the labels, their shares among all ratings, or as given by label."""
    if isinstance(chance, Mapping):
        unknown = set(chance) ^ set(ratings.labels)
        values = np.array([chance.get(label, np.nan) for label in ratings.labels], np.float64)
        if unknown or not (values >= 0).all() or abs(values.sum() - 1) > 1e-6:
            raise CallError(
                f"chance wants a share for each of {', '.join(ratings.labels)}, together 1; got {dict(chance)}"
            )
        return values
    if chance == "uniform":
        return np.full(len(ratings.labels), 1 / max(1, len(ratings.labels)))
    if chance != "empirical":
        raise CallError(f"chance is 'uniform', 'empirical' or a share by label; got {chance!r}")
    counts = ratings.items @ ratings.votes
    return np.asarray(counts / max(1, counts.sum()), np.float64)


def genuineness(ratings: Ratings, chance: Chance = "uniform") -> Values:
    """ĉ of every rating (eq. 1): 1 without any confidence; nan where it is missing, or 0 and p is 0.

    >>> from manytruths.ratings import Ratings
    >>> genuineness(Ratings.of([["ill", "ill"], ["well", "ill"]], confidence=[0.5, 1.0])).round(4)
    array([[0.6667, 1.    ],
           [0.6667, 1.    ]])
    """
    share = chance_distribution(ratings, chance)
    if np.isnan(ratings.confidence).all():
        return np.where(ratings.given, 1.0, np.nan)
    p = share[ratings.codes]
    c = np.where(ratings.given, ratings.confidence, np.nan)
    whole = c + (1 - c) * p
    return np.asarray(np.divide(c, whole, out=np.full(c.shape, np.nan), where=whole > 0))


def sigma(ratings: Ratings, chance: Chance = "uniform", partial: Partial = "none") -> Concordance:
    """The degree of concordance: the share of agreement that is genuine.

    >>> from manytruths.ratings import Ratings
    >>> sigma(Ratings.of({"A": [1, 0, 1], "B": [1, 0, 0]}, confidence=0.8))
    <sigma 0.527 of 2 raters>
    """
    return _means("sigma", ratings, genuineness(ratings, chance), None, partial)


def rho(ratings: Ratings, accuracy: ArrayLike, chance: Chance = "uniform", partial: Partial = "none") -> Concordance:
    """The weighted reliability score: the share of agreement that is genuine and right.

    ``accuracy`` is one number a rater, or (cases, raters) numbers; see :func:`competence` and :func:`rasch`.
    """
    right = np.asarray(accuracy, np.float64)
    if right.shape not in ((len(ratings.raters),), ratings.codes.shape):
        raise CallError(f"accuracy is one number a rater, {len(ratings.raters)}, or one a rating; got {right.shape}")
    known = right[~np.isnan(right)]
    if known.size and not 0 <= known.min() <= known.max() <= 1:
        raise CallError(f"accuracy runs from 0 to 1; got {known.min():g} to {known.max():g}")
    return _means("rho", ratings, genuineness(ratings, chance), right, partial)


def correct(a: ArrayLike, b: ArrayLike, labels: int = 2) -> Values:
    """The probability that two who agree are right (eq. 6); nan where one is always right and the other never.

    >>> correct([0.9, 1.0, 1.0], [0.8, 0.5, 0.0]).round(4)
    array([0.973, 1.   ,    nan])
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    both, neither = x * y, (1 - x) * (1 - y) / max(1, labels - 1)
    out = np.full(np.broadcast(x, y).shape, np.nan)
    return np.asarray(np.divide(both, both + neither, out=out, where=both + neither > 0))


def near(numbers: ArrayLike, partial: Partial) -> Values:
    """(labels, labels): how far two labels agree, by their numbers.

    >>> near([0, 1, 4], "linear")
    array([[1.  , 0.75, 0.  ],
           [0.75, 1.  , 0.25],
           [0.  , 0.25, 1.  ]])
    """
    values = np.asarray(numbers, np.float64)
    if partial == "none" or len(values) < 2:
        return np.eye(len(values))
    if partial not in ("linear", "quadratic"):
        raise CallError(f"partial is 'none', 'linear' or 'quadratic'; got {partial!r}")
    apart = np.abs(np.subtract.outer(values, values)) / np.ptp(values)
    return np.asarray(1 - (apart if partial == "linear" else apart**2))


def _means(name: str, ratings: Ratings, genuine: Values, accuracy: Values | None, partial: Partial) -> Concordance:
    """Pair by pair, so that nothing of pairs × cases is ever held."""
    if partial != "none" and ratings.kind == "nominal":
        raise CallError("nominal labels agree or do not; partial agreement is for ordinal and numeric ones")
    closeness, items = near(ratings.numbers, partial), ratings.items
    count, size = len(ratings.raters), len(ratings.cases)
    total, met = np.zeros(size), np.zeros(size, np.int64)
    pairs, undefined = np.full((count, count), np.nan), 0
    labelled, label_met = np.zeros(len(ratings.labels)), np.zeros(len(ratings.labels), np.int64)
    for i, j in combinations(range(count), 2):
        both = ~np.isnan(genuine[:, i]) & ~np.isnan(genuine[:, j])
        a, b = ratings.codes[:, i], ratings.codes[:, j]
        value = np.where(both, genuine[:, i] * genuine[:, j] * closeness[a, b], 0.0)
        if accuracy is not None:
            chance = correct(accuracy[..., i], accuracy[..., j], len(ratings.labels))
            both &= ~np.isnan(accuracy[..., i] + accuracy[..., j])
            value, both, lost = _weighted(value, both, np.broadcast_to(chance, size))
            undefined += int(items[lost].sum())
        total += value
        met += both
        weight = items * both
        pairs[i, j] = pairs[j, i] = _ratio(float(weight @ value), float(weight.sum()))
        for codes in (a, b):
            labelled += np.bincount(codes[both], (items * value)[both], len(labelled))
            label_met += np.bincount(codes[both], items[both], len(label_met)).astype(np.int64)
    by_case = np.divide(total, met, out=np.full(size, np.nan), where=met > 0)
    n = int(items[met > 0].sum())
    whole = float(items[met > 0] @ by_case[met > 0] / n) if n else Undefined(ALONE)
    by_rater = np.array([_ratio(*_row(pairs, i)) for i in range(count)])
    by_label = np.divide(labelled, label_met, out=np.full(len(labelled), np.nan), where=label_met > 0)
    return Concordance(name, ratings.raters, ratings.labels, whole, by_case, by_rater, by_label, pairs, n, undefined)


def _weighted(value: Values, both: NDArray[np.bool_], chance: Values) -> tuple[Values, NDArray[np.bool_], NDArray[Any]]:
    """Times the chance that both are right; pairs that agree and for which it has no value are left out."""
    lost = both & np.isnan(chance) & (value > 0)
    kept = both & ~lost
    return np.where(kept & (value > 0), value * np.nan_to_num(chance), 0.0), kept, lost


def _ratio(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def _row(pairs: Values, i: int) -> tuple[float, int]:
    known = pairs[i][~np.isnan(pairs[i])]
    return float(known.sum()), len(known)


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

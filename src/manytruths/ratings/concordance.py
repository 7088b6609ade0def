"""σ and ρ: the share of agreement that is genuine, and the share that is genuine and correct.

A rater who gives label l with confidence c has either chosen it, with probability c, or drawn it at random from a
chance distribution p. The probability that they chose it, given that it is l, is ::

    ĉ = c / (c + (1 − c) p(l))                                                        (1)
    GA(i, j) = ĉ_i ĉ_j if the two agree, otherwise 0                                  (2)
    σ = mean over cases of the mean of GA over the pairs of raters of a case          (3, 4)
    P(i, j) = a_i a_j / (a_i a_j + (1 − a_i)(1 − a_j) / (L − 1))                      (6)
    ρ = the same mean of GA · P                                                       (7, 8)

with a the raters' accuracies, overall or for each case, and L the number of labels (two in the paper). Where one of two
raters who agree is always right and the other never, P is undefined; such pairs are left out and counted. Pairs with a
rater of unknown accuracy are left out without being counted. Ordinal labels may agree partly: GA is then multiplied by
1 − |l_i − l_j| / (L − 1), or by 1 minus its square, with l the ranks; for numeric labels, l are the numbers and their
range replaces L − 1.

Without any confidence, σ is percent agreement. A rating without a confidence does not count where others have one.

As statistics of a tally (:class:`SigmaStatistic`, :class:`RhoStatistic`) both are computed for thousands of resampled
tables at once. Where confidence and chance are fixed, each pattern has its own σ, and that of a table is a weighted
mean. ρ is not linear in the counts, since the accuracies come from the same table; but it is a sum over pairs of raters
of a linear part times the probability that both are correct.

Cabitza F, Campagner A, Albano D et al. The elephant in the machine: proposing a new metric of data reliability and its
application to a medical case to assess classification reliability. Appl Sci 2020;10:4014. doi:10.3390/app10114014
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
from ..core.undefined import Undefined, divide
from .accuracy import common_accuracy, comparison_labels, rater_accuracy
from .masks import Confidence, ratings_from_tally
from .ratings import MISSING, Ratings, Values

Chance = Literal["uniform", "empirical"] | Mapping[str, float]
Partial = Literal["none", "linear", "quadratic"]

ALONE = "no_case_rated_twice"
CONTRADICTION = "contradiction"


@dataclass(frozen=True, eq=False)
class Concordance:
    """Result of :func:`sigma` or :func:`rho`; nan where undefined.

    Attributes
    ----------
    statistic : {"sigma", "rho"}
        Which of the two.
    raters, labels : tuple of str
        The raters and the labels.
    value : float
        Of the data set: the mean over cases.
    by_case : ndarray of float
        nan for a case that fewer than two raters rated.
    by_rater : ndarray of float
        Mean over all pairs of a rater.
    by_label : ndarray of float
        Given that a rater gave the label, the mean over all other raters of the case.
    pairs : ndarray of float
        (raters, raters) mean over the cases that both rated; nan on the diagonal.
    n : int
        Number of items that at least two raters rated.
    undefined : int
        Number of pairs of ratings left out because P is undefined.
    """

    statistic: str
    raters: tuple[str, ...]
    labels: tuple[str, ...]
    value: float
    by_case: Values
    by_rater: Values
    by_label: Values
    pairs: Values
    n: int
    undefined: int = 0

    def __repr__(self) -> str:
        return f"<{self.statistic} {self.value:.3f} of {len(self.raters)} raters>"

    def to_frame(self) -> Any:
        """A pandas DataFrame (extra ``tables``) of the pairs of raters."""
        import pandas

        return pandas.DataFrame(self.pairs, self.raters, self.raters)


def chance_distribution(ratings: Ratings, chance: Chance = "uniform") -> Values:
    """The chance distribution p: uniform, the shares of the labels among all ratings, or given by label."""
    if isinstance(chance, Mapping):
        unknown = set(chance) ^ set(ratings.labels)
        values = np.array([chance.get(label, np.nan) for label in ratings.labels], np.float64)
        if unknown or not (values >= 0).all() or abs(values.sum() - 1) > 1e-6:
            raise CallError(
                f"chance must have a share for each of {', '.join(ratings.labels)}, with the sum 1; got {dict(chance)}"
            )
        return values
    if chance == "uniform":
        return np.full(len(ratings.labels), 1 / max(1, len(ratings.labels)))
    if chance != "empirical":
        raise CallError(f"chance must be 'uniform', 'empirical', or shares by label; got {chance!r}")
    counts = ratings.items @ ratings.votes
    return np.asarray(counts / max(1, counts.sum()), np.float64)


def genuineness(ratings: Ratings, chance: Chance = "uniform") -> Values:
    """ĉ of every rating (eq. 1): 1 without any confidence; nan where it is missing, or both c and p are 0.

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
    return divide(c, c + (1 - c) * p)


def sigma(ratings: Ratings, chance: Chance = "uniform", partial: Partial = "none") -> Concordance:
    """Degree of concordance σ: the share of agreement that is genuine, not due to chance.

    Parameters
    ----------
    ratings : Ratings
        With confidences; without any, σ is percent agreement.
    chance : {"uniform", "empirical"} or mapping
        How a rater who does not know chooses: all labels alike, in proportion to all ratings, or with the given shares.
    partial : {"none", "linear", "quadratic"}
        Partial agreement of different ordinal or numeric labels.

    Returns
    -------
    Concordance
        The value of the data set, and by case, rater, label and pair of raters.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> from manytruths.ratings import Ratings
    >>> sigma(Ratings.of({"A": [1, 0, 1], "B": [1, 0, 0]}, confidence=0.8))
    <sigma 0.527 of 2 raters>
    """
    return _means("sigma", ratings, genuineness(ratings, chance), None, partial)


def rho(ratings: Ratings, accuracy: ArrayLike, chance: Chance = "uniform", partial: Partial = "none") -> Concordance:
    """Weighted concordance ρ: the share of agreement that is genuine and correct.

    Parameters
    ----------
    ratings : Ratings
        With confidences; without any, only the raters' accuracies discount agreement.
    accuracy : array_like
        One number for each rater, or (cases, raters) numbers; see :func:`rater_accuracy` and :func:`rasch`.
    chance : {"uniform", "empirical"} or mapping
        How a rater who does not know chooses, as for :func:`sigma`.
    partial : {"none", "linear", "quadratic"}
        Partial agreement of different ordinal or numeric labels.

    Returns
    -------
    Concordance
        The value of the data set, and by case, rater, label and pair of raters.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> from manytruths.ratings import Ratings, rater_accuracy
    >>> ratings = Ratings.of({"A": [1, 0, 1, 1], "B": [1, 0, 1, 0], "C": [1, 1, 1, 0]}, confidence=0.8)
    >>> rho(ratings, rater_accuracy(ratings).accuracy)
    <rho 0.500 of 3 raters>
    """
    accuracies = np.asarray(accuracy, np.float64)
    if accuracies.shape not in ((len(ratings.raters),), ratings.codes.shape):
        raise CallError(
            f"accuracy must have one number for each of {len(ratings.raters)} raters, or for each rating; "
            f"got {accuracies.shape}"
        )
    known = accuracies[~np.isnan(accuracies)]
    if known.size and not 0 <= known.min() <= known.max() <= 1:
        raise CallError(f"accuracy must be from 0 to 1; got {known.min():g} to {known.max():g}")
    return _means("rho", ratings, genuineness(ratings, chance), accuracies, partial)


def both_correct_probability(a: ArrayLike, b: ArrayLike, labels: int = 2) -> Values:
    """Probability that two raters who agree are correct (eq. 6); nan where one is always right and the other never.

    >>> both_correct_probability([0.9, 1.0, 1.0], [0.8, 0.5, 0.0]).round(4)
    array([0.973, 1.   ,    nan])
    """
    x, y = np.asarray(a, np.float64), np.asarray(b, np.float64)
    both, neither = x * y, (1 - x) * (1 - y) / max(1, labels - 1)
    return divide(both, both + neither)


def label_closeness(numbers: ArrayLike, partial: Partial) -> Values:
    """(labels, labels): partial agreement of two labels, given their numbers.

    >>> label_closeness([0, 1, 4], "linear")
    array([[1.  , 0.75, 0.  ],
           [0.75, 1.  , 0.25],
           [0.  , 0.25, 1.  ]])
    """
    values = np.asarray(numbers, np.float64)
    if partial == "none" or len(values) < 2:
        return np.eye(len(values))
    if partial not in ("linear", "quadratic"):
        raise CallError(f"partial must be 'none', 'linear' or 'quadratic'; got {partial!r}")
    distance = np.abs(np.subtract.outer(values, values)) / np.ptp(values)
    return np.asarray(1 - (distance if partial == "linear" else distance**2))


def _means(name: str, ratings: Ratings, genuine: Values, accuracy: Values | None, partial: Partial) -> Concordance:
    """Sum pair by pair, so that memory does not grow with pairs × cases."""
    if partial != "none" and ratings.kind == "nominal":
        raise CallError("partial agreement is for ordinal and numeric labels; these are nominal")
    if len(ratings.raters) > MANY_RATERS and (correct := _pair_correctness(ratings, accuracy)) is not None:
        known = genuine if accuracy is None else np.where(np.isnan(accuracy), np.nan, genuine)
        return _means_by_products(name, ratings, known, correct, partial, weighted=accuracy is not None)
    closeness, items = label_closeness(ratings.numbers, partial), ratings.items
    count, size, labels = len(ratings.raters), len(ratings.cases), len(ratings.labels)
    total, met = np.zeros(size), np.zeros(size, np.int64)
    pairs, undefined = np.full((count, count), np.nan), 0
    by_label, label_met = np.zeros(labels), np.zeros(labels)
    for i, j in combinations(range(count), 2):
        both = ~np.isnan(genuine[:, i]) & ~np.isnan(genuine[:, j])
        a, b = ratings.codes[:, i], ratings.codes[:, j]
        value = np.where(both, genuine[:, i] * genuine[:, j] * closeness[a, b], 0.0)
        if accuracy is not None:
            both &= ~np.isnan(accuracy[..., i] + accuracy[..., j])
            correct = both_correct_probability(accuracy[..., i], accuracy[..., j], labels)
            # pairs that agree but of which nobody can say whether they are right are left out
            lost = both & np.isnan(correct) & (value > 0)
            both &= ~lost
            value = np.where(both, value * np.nan_to_num(correct), 0.0)
            undefined += int(items[lost].sum())
        total += value
        met += both
        weight = items * both
        if weight.any():
            pairs[i, j] = pairs[j, i] = float(weight @ value) / float(weight.sum())
        for codes in (a, b):
            by_label += np.bincount(codes[both], (items * value)[both], labels)
            label_met += np.bincount(codes[both], items[both], labels)
    by_case, known = divide(total, met), met > 0
    n = int(items[known].sum())
    whole = float(items[known] @ by_case[known] / n) if n else Undefined(ALONE)
    by_rater = divide(np.nansum(pairs, axis=1), (~np.isnan(pairs)).sum(axis=1))
    means = by_case, by_rater, divide(by_label, label_met), pairs
    return Concordance(name, ratings.raters, ratings.labels, whole, *means, n, undefined)


MANY_RATERS = 20
"""Concordances of more raters are sums of matrix products, instead of sums over pairs of raters."""
_ROWS = 4096
"""Cases that a product takes at once."""


def _pair_correctness(ratings: Ratings, accuracy: Values | None) -> Values | None:
    """(raters, raters) probability that two who agree are right, 0 on the diagonal.

    None where it differs from case to case, or cannot be said of some pair.
    """
    if accuracy is None:
        return np.asarray(1 - np.eye(len(ratings.raters)))
    if accuracy.ndim > 1:
        return None
    correct = both_correct_probability(accuracy[:, None], accuracy, len(ratings.labels))
    np.fill_diagonal(correct, 0.0)
    unknown = np.isnan(accuracy)
    correct[unknown] = correct[:, unknown] = 0.0
    return None if np.isnan(correct).any() else correct


def _means_by_products(
    name: str, ratings: Ratings, genuine: Values, correct: Values, partial: Partial, *, weighted: bool
) -> Concordance:
    """The same means, over blocks of cases instead of pairs of raters; not ``weighted``, all pairs count alike."""
    closeness, items = label_closeness(ratings.numbers, partial), ratings.items
    count, size, labels = len(ratings.raters), len(ratings.cases), len(ratings.labels)
    total, met = np.zeros(size), np.zeros(size, np.int64)
    sums, weights = np.zeros((2, count, count))
    by_label, label_met = np.zeros(labels), np.zeros(labels)
    for start in range(0, size, _ROWS):
        at = slice(start, start + _ROWS)
        here = ~np.isnan(genuine[at])
        given = here[..., None] & (ratings.codes[at][..., None] == np.arange(labels))
        sure = np.where(given, np.nan_to_num(genuine[at])[..., None], 0.0)
        close = sure @ closeness
        present = here.sum(axis=1)
        for label in range(labels):
            other = close[..., label]
            others = other @ correct if weighted else other.sum(axis=1, keepdims=True) - other
            mine = sure[..., label] * others
            total[at] += mine.sum(axis=1) / 2
            by_label[label] += items[at] @ mine.sum(axis=1)
            label_met[label] += items[at] @ (given[..., label].sum(axis=1) * (present - 1))
            sums += (items[at, None] * sure[..., label]).T @ other
        met[at] = present * (present - 1) // 2
        there = here.astype(np.float64)
        weights += (items[at, None] * there).T @ there
    np.fill_diagonal(weights, 0.0)
    by_case, known = divide(total, met), met > 0
    n = int(items[known].sum())
    whole = float(items[known] @ by_case[known] / n) if n else Undefined(ALONE)
    pairs = divide(sums * correct, weights)
    by_rater = divide(np.nansum(pairs, axis=1), (~np.isnan(pairs)).sum(axis=1))
    means = by_case, by_rater, divide(by_label, label_met), pairs
    return Concordance(name, ratings.raters, ratings.labels, whole, *means, n)


_BLOCK = 1 << 22
"""Largest number of values held for several pairs of raters at a time."""


@dataclass(frozen=True, eq=False)
class SigmaStatistic:
    """σ as a statistic of a tally, for :func:`manytruths.confidence_interval`; see :func:`sigma`.

    Parameters
    ----------
    confidence : float or mapping, optional
        One number for all raters, or one for each.
    chance : {"uniform", "empirical"} or mapping
        As for :func:`sigma`.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> import manytruths as mt
    >>> round(SigmaStatistic(confidence=0.8)(mt.tally({"A": [1, 0, 1], "B": [1, 0, 0]})), 3)
    0.527
    """

    confidence: Confidence = None
    chance: Chance = "uniform"
    __name__ = "sigma"

    def __call__(self, tally: Tally) -> float:
        return sigma(ratings_from_tally(tally, self.confidence), self.chance).value

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> Values:
        """The statistic for every row of ``counts`` over the patterns of ``tally``; nan where undefined."""
        if self.chance == "empirical" and self.confidence is not None:
            return np.array([self(tally.recount(row)) for row in counts], np.float64)
        by_pattern = sigma(ratings_from_tally(tally, self.confidence), self.chance).by_case
        many = counts.astype(np.float64)
        return divide(many @ np.nan_to_num(by_pattern), many @ ~np.isnan(by_pattern))


@dataclass(frozen=True, eq=False)
class RhoStatistic:
    """ρ as a statistic of a tally, for :func:`manytruths.confidence_interval`; see :func:`rho`.

    Parameters
    ----------
    accuracy : "majority" or mapping
        Accuracies against the majority of the other raters in the same table, or given by rater. Exchangeable raters
        have one accuracy in common, as their slots are arbitrary.
    confidence : float or mapping, optional
        One number for all raters, or one for each.
    chance : {"uniform", "empirical"} or mapping
        As for :func:`sigma`.
    reference : str, optional
        Name of the column that is the reference standard; accuracies are then against it.

    References
    ----------
    Cabitza F, Campagner A, Albano D et al. The elephant in the machine. Appl Sci 2020;10:4014.
    doi:10.3390/app10114014

    Examples
    --------
    >>> import manytruths as mt
    >>> t = mt.tally({"A": [1, 0, 1, 1], "B": [1, 0, 0, 1], "C": [1, 0, 1, 0]})
    >>> round(RhoStatistic(confidence=0.8)(t), 3)
    0.5
    """

    accuracy: str | Mapping[str, float] = "majority"
    confidence: Confidence = None
    chance: Chance = "uniform"
    reference: str | None = None
    __name__ = "rho"

    def __call__(self, tally: Tally) -> float:
        ratings = ratings_from_tally(tally, self.confidence, reference=self.reference)
        return rho(ratings, self._accuracy(tally, ratings), self.chance).value

    def batch(self, tally: Tally, counts: NDArray[np.int64]) -> Values:
        """The statistic for every row of ``counts`` over the patterns of ``tally``; nan where undefined."""
        if self.chance == "empirical" and self.confidence is not None:
            return np.array([self(tally.recount(row)) for row in counts], np.float64)
        ratings = ratings_from_tally(tally, self.confidence, reference=self.reference)
        many = counts.astype(np.float64)
        accuracies = self._accuracies(ratings, many, common=tally.exchangeable)
        value, lost = _rho_of_tables(ratings, genuineness(ratings, self.chance), many, accuracies)
        for row in np.flatnonzero(lost):
            value[row] = self(tally.recount(counts[row]))
        return value

    @property
    def _source(self) -> str | Mapping[str, float]:
        return self.accuracy if self.reference is None else "reference"

    def _accuracy(self, tally: Tally, ratings: Ratings) -> Values:
        """(raters,): the same for all where a slot is not a person."""
        raters = rater_accuracy(ratings, self._source)
        return (common_accuracy(raters) if tally.exchangeable else raters).accuracy

    def _accuracies(self, ratings: Ratings, many: Values, *, common: bool) -> Values:
        """(tables, raters)."""
        if isinstance(self._source, Mapping):
            return np.broadcast_to(rater_accuracy(ratings, self._source).accuracy, (len(many), len(ratings.raters)))
        expected = comparison_labels(ratings, self._source)
        compared = ratings.given & (expected != MISSING)
        right, judged = many @ (compared & (ratings.codes == expected)), many @ compared
        if common:
            right, judged = (np.repeat(x.sum(axis=1, keepdims=True), x.shape[1], axis=1) for x in (right, judged))
        return divide(right, judged)


def _rho_of_tables(
    ratings: Ratings, genuine: Values, many: Values, accuracy: Values
) -> tuple[Values, NDArray[np.bool_]]:
    """ρ of every table, and which tables have ratings that must be left out."""
    known = ~np.isnan(genuine)
    present = known.sum(axis=1)
    met = present * (present - 1) // 2
    sure = np.where(known, genuine, 0.0)
    total, lost = np.zeros(len(many)), np.asarray((np.isnan(accuracy) & (many @ known > 0)).any(axis=1))
    pairs = np.array(list(combinations(range(len(ratings.raters)), 2)), np.intp).reshape(-1, 2)
    step = max(1, _BLOCK // max(1, len(met)))
    for start in range(0, len(pairs), step):
        i, j = pairs[start : start + step].T
        agree = ratings.codes[:, i] == ratings.codes[:, j]
        part = many @ (agree * sure[:, i] * sure[:, j] / np.maximum(met, 1)[:, None])
        correct = both_correct_probability(accuracy[:, i], accuracy[:, j], len(ratings.labels))
        total += (part * np.nan_to_num(correct)).sum(axis=1)
        lost |= (np.isnan(correct) & (part > 0)).any(axis=1)
    return divide(total, many @ (met > 0)), lost

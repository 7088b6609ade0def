"""Agreement of ordinal and numeric ratings: weighted kappas, Krippendorff's alphas and intraclass correlations.

All are functions of sums over cases, so that leaving a subject out subtracts its part. Of two raters with ratings x and
y, distances w = |x − y| or (x − y)², and the counts r and c of their labels ::

    weighted kappa = 1 − n Σ w(x, y) / Σ_ij r_i w_ij c_j

and of any raters, m of a case, with n_c the ratings of label c by cases of two raters or more, n of them, and u the
numbers of the labels (interval) or their middle ranks among all ratings (ordinal) ::

    alpha = 1 − (n − 1) Σ_cases Σ_{i≠j} (u_i − u_j)² / (m − 1)  /  Σ_ck n_c n_k (u_c − u_k)²

Middle ranks change when a subject is left out, and are computed anew. Ordinal labels have their ranks as numbers.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from ...core.labels import VOID
from ...core.undefined import Undefined, divide, or_undefined
from ...inference.intervals import (
    Interval,
    effective_subjects,
    few_effective_subjects,
    jackknife_interval,
    too_few_subjects,
)
from ...io.result_tables import Row
from ...measures.intraclass import icc_of_model
from ...measures.variance_components import fit_sizes
from ...ratings.ratings import MISSING, Ratings, Values
from ..tables import Settings

WEIGHTS = {"weighted_kappa_linear": 1, "weighted_kappa_quadratic": 2}
"""The power of the distance of two labels."""
ALPHAS = {"krippendorff_alpha_ordinal": True, "krippendorff_alpha_interval": False}
"""Whether labels count by their ranks."""
CORRELATIONS = ("A,1", "C,1", "A,k")
"""Two-way; the one-way ICC(1) is fitted apart."""
TITLES = {
    "weighted_kappa_linear": "weighted kappa, linear, mean of pairs",
    "weighted_kappa_quadratic": "weighted kappa, quadratic, mean of pairs",
    "krippendorff_alpha_ordinal": "Krippendorff's alpha (ordinal)",
    "krippendorff_alpha_interval": "Krippendorff's alpha (interval)",
    "icc_1": "ICC(1): one-way, single rater",
    "icc_a1": "ICC(A,1): agreement, single rater",
    "icc_c1": "ICC(C,1): consistency, single rater",
    "icc_ak": "ICC(A,k): agreement, mean of the raters",
}
MOST_PAIRS = 500
"""Of more pairs of raters, ICC are of all raters only."""

LeftOut = tuple[float, Values]
"""A number, and with each subject left out."""


@dataclass(frozen=True)
class OrderedAgreement:
    """The numbers of a table of ratings: over all raters, and of every two."""

    overall: dict[str, Interval]
    pairs: dict[tuple[int, int], dict[str, Interval]]


def ordered_agreement(ratings: Ratings, settings: Settings) -> OrderedAgreement | None:
    """Weighted kappas, alphas and ICC; None where labels have no order, or are too many."""
    if ratings.kind == "nominal" or len(ratings.labels) >= VOID:
        return None
    table = _Table(ratings)
    two = list(combinations(range(len(ratings.raters)), 2))
    kappas = {pair: {name: table.kappa(*pair, power) for name, power in WEIGHTS.items()} for pair in two}
    every = {name: _mean_of_pairs([kappas[pair][name] for pair in two]) for name in WEIGHTS}
    every |= {name: table.alpha(range(len(ratings.raters)), ranked) for name, ranked in ALPHAS.items()}
    overall = table.intervals(every, range(len(ratings.raters)), settings) | table.correlations(settings)
    pairs: dict[tuple[int, int], dict[str, Interval]] = {}
    for pair in two:
        found = kappas[pair] | {name: table.alpha(pair, ranked) for name, ranked in ALPHAS.items()}
        pairs[pair] = table.intervals(found, pair, settings)
        if len(two) <= MOST_PAIRS:
            pairs[pair] |= table.correlations(settings, pair)
    return OrderedAgreement(overall, pairs)


def ordered_rows(ratings: Ratings, found: OrderedAgreement) -> Iterator[Row]:
    """Rows of ``reliability.csv``: over all raters, then of every two."""
    rated = int((ratings.rated > 1).sum())
    for name, value in found.overall.items():
        yield _row(name, value, rated, len(ratings), ("", "", ""))
    for (i, j), values in found.pairs.items():
        both = int((ratings.given[:, i] & ratings.given[:, j]).sum())
        for name, value in values.items():
            yield _row(name, value, both, len(ratings), ("", ratings.raters[i], ratings.raters[j]))


def _row(name: str, value: Interval, n: int, cases: int, extra: tuple[object, ...]) -> Row:
    return Row("pooled", name, value.value, extra=extra, low=value.low, high=value.high, n=n, n_undefined=cases - n)


def _mean_of_pairs(pairs: list[LeftOut]) -> LeftOut:
    """The mean over the pairs for which a number is defined."""
    values, left_out = np.array([value for value, _ in pairs]), np.stack([without for _, without in pairs])
    known, here = ~np.isnan(values), ~np.isnan(left_out)
    mean = float(values[known].mean()) if known.any() else np.nan
    return mean, divide(np.where(here, left_out, 0).sum(axis=0), here.sum(axis=0))


class _Table:
    """Ratings as numbers, with the subject of every case."""

    def __init__(self, ratings: Ratings) -> None:
        self.codes, self.numbers = ratings.codes.astype(np.intp), np.array(ratings.numbers)
        self.labels = len(ratings.labels)
        place = {subject: k for k, subject in enumerate(dict.fromkeys(ratings.subjects))}
        self.owner = np.array([place[subject] for subject in ratings.subjects], np.intp)
        self.subjects = len(place)
        self.several = self.subjects < len(self.owner)

    def _by_subject(self, values: Values, owner: NDArray[np.intp]) -> Values:
        """Sums over the cases of each subject."""
        sums = np.zeros((self.subjects, *values.shape[1:]))
        np.add.at(sums, owner, values)
        return sums

    def _counts(self, codes: NDArray[np.intp], owner: NDArray[np.intp]) -> Values:
        """(subjects, labels) how often each label was given."""
        place = owner * self.labels + codes
        return np.bincount(place, minlength=self.subjects * self.labels).reshape(-1, self.labels).astype(np.float64)

    def kappa(self, i: int, j: int, power: int) -> LeftOut:
        """Weighted kappa of two raters, and with each subject left out."""
        both = (self.codes[:, i] != MISSING) & (self.codes[:, j] != MISSING)
        x, y, owner = self.codes[both, i], self.codes[both, j], self.owner[both]
        weights = np.abs(self.numbers[:, None] - self.numbers) ** power
        n = np.bincount(owner, minlength=self.subjects).astype(np.float64)
        apart = self._by_subject(weights[x, y], owner)
        rows, columns = self._counts(x, owner), self._counts(y, owner)

        def value(n: Values, apart: Values, rows: Values, columns: Values) -> Values:
            expected = ((rows @ weights) * columns).sum(axis=-1)
            return 1 - divide(n * apart, expected)

        whole = [part.sum(axis=0) for part in (n, apart, rows, columns)]
        each = (n, apart, rows, columns)
        without = value(*(total - part for total, part in zip(whole, each, strict=True)))
        return float(value(*whole)), without

    def alpha(self, raters: range | tuple[int, int], ranked: bool) -> LeftOut:
        """Krippendorff's alpha of some raters, and with each subject left out."""
        codes = self.codes[:, list(raters)]
        given = codes != MISSING
        m = given.sum(axis=1)
        kept = m > 1
        codes, given, m, owner = codes[kept], given[kept], m[kept].astype(np.float64), self.owner[kept]
        case, _ = np.nonzero(given)
        counts = self._counts(codes[given], owner[case])
        total = counts.sum(axis=0)
        size = counts.sum(axis=1)
        filled = np.where(given, codes, 0)

        def disagreement(u: Values) -> Values:
            """Σ_{i≠j} (u_i − u_j)² / (m − 1) of every case, with the numbers of its labels."""
            v = np.where(given, u, 0)
            return np.asarray(2 * (m * (v**2).sum(axis=1) - v.sum(axis=1) ** 2) / (m - 1))

        def expected(counts: Values, u: Values) -> Values:
            n = counts.sum(axis=-1)
            return np.asarray(2 * (n * (counts * u**2).sum(axis=-1) - (counts * u).sum(axis=-1) ** 2))

        if not ranked:
            apart = self._by_subject(disagreement(self.numbers[filled]), owner)
            value = 1 - divide((size.sum() - 1) * apart.sum(), expected(total, self.numbers))
            rest = size.sum() - size - 1
            without = 1 - divide(rest * (apart.sum() - apart), expected(total - counts, self.numbers))
            return float(value), without
        order = np.argsort(self.numbers)

        def middle(counts: Values) -> Values:
            """Middle ranks of the labels among all ratings."""
            sorted_ = counts[..., order]
            return (np.cumsum(sorted_, axis=-1) - sorted_ / 2)[..., np.argsort(order)]

        ranks = middle(total)
        value = 1 - divide((size.sum() - 1) * disagreement(ranks[filled]).sum(), expected(total, ranks))
        # the coincidences of labels, which the ranks without a subject are applied to
        weights = np.zeros((len(codes), self.labels))
        np.add.at(weights, (case, codes[given]), 1.0)
        together = (weights / (m - 1)[:, None]).T @ weights - np.diag((weights / (m - 1)[:, None]).sum(axis=0))
        sums = together.sum(axis=1)
        rest = middle(total - counts)
        all_cases = 2 * ((rest**2 * sums).sum(axis=1) - ((rest @ together) * rest).sum(axis=1))
        own = self._by_subject(disagreement(rest[owner[:, None], filled]), owner)
        n = size.sum() - size
        without = 1 - divide((n - 1) * (all_cases - own), expected(total - counts, rest))
        return float(value), without

    def intervals(
        self, found: dict[str, LeftOut], raters: range | tuple[int, int], settings: Settings
    ) -> dict[str, Interval]:
        """With intervals over subjects, by the jackknife."""
        codes = self.codes[:, list(raters)]
        compared = (codes != MISSING).sum(axis=1) > 1
        few: Undefined | None = too_few_subjects(len(np.unique(self.owner[compared])))
        # of all raters every case counts, as for kappas and alphas without weights
        kept = compared if len(raters) < self.codes.shape[1] else np.ones(len(codes), bool)
        here = np.unique(self.owner[kept])
        n, freedom = len(here), float(len(here) - 1)
        if few is None:
            sizes = np.bincount(self.owner[kept], compared[kept], self.subjects)[here]
            few, freedom = few_effective_subjects(sizes, by_cases=True), effective_subjects(sizes) - 1
        intervals = {}
        for name, (value, without) in found.items():
            number = or_undefined(value, "one_label" if compared.any() else "no_case_rated_twice")
            if few is not None:
                intervals[name] = Interval(number, few, few, settings.level, "jackknife", n)
            else:
                intervals[name] = jackknife_interval(number, without[here], freedom, "kappa", settings.level, n)
        return intervals

    def correlations(self, settings: Settings, pair: tuple[int, int] | None = None) -> dict[str, Interval]:
        """Intraclass correlations; of two raters, over the cases that both rated."""
        codes = self.codes if pair is None else self.codes[:, list(pair)]
        values, owner = np.where(codes == MISSING, np.nan, self.numbers[codes]), self.owner
        if pair is not None:
            both = ~np.isnan(values).any(axis=1)
            values, owner = values[both], owner[both]
        subjects = owner.tolist() if self.several else None
        found: dict[str, Interval] = {}
        two_way = fit_sizes(values, subjects=subjects, seed=settings.seed)
        models = [(kind, two_way) for kind in (CORRELATIONS if pair is None else ("A,1",))]
        if pair is None:
            models = [("1", fit_sizes(values, one_way=True, subjects=subjects, seed=settings.seed)), *models]
        for kind, fit in models:
            r = icc_of_model(fit, kind, level=settings.level, interval="generalized")
            name = f"icc_{kind.replace(',', '').lower()}"
            found[name] = Interval(r.value, r.low, r.high, settings.level, r.method, r.n_subjects)
        return found

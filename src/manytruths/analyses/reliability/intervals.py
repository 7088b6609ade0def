"""Confidence intervals of the numbers of rated data, over subjects.

σ, ρ, percent agreement and shares of majorities are means over cases. Their intervals are Student's t on the logit,
with the standard error of the jackknife over subjects, who may have several cases. Kappas and alpha depend on the
votes of a case only, so the ratings of a case can be sorted: few distinct rows remain, and leaving a case out is the
same for all cases with one row.

ρ depends on the raters' accuracies, which are estimated anew whenever a subject is left out. With fixed accuracies,
intervals would be a third too narrow. As for masks (:mod:`manytruths.ratings.concordance`), ρ is a sum over pairs ::

    ρ = Σ_ij P(a_i, a_j) Σ_x GA_x(i, j) / (pairs of x)  /  cases

of a part that is linear in the cases, and so a sum over subjects, times a probability that follows from the accuracies
without that subject. Where these do not determine the accuracy of a rater, or P of a pair, that of the whole data is
used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...agreement import fleiss_kappa, gwet_ac1, krippendorff_alpha
from ...core.columns import Column
from ...core.errors import InputError
from ...core.labels import VOID, Labels
from ...core.tally import Tallies, Tally, find_rows
from ...core.undefined import Undefined, divide, ratio
from ...inference.intervals import (
    MIN_SUBJECTS,
    Interval,
    batch_values,
    effective_subjects,
    few_effective_subjects,
    jackknife_interval,
    mean_intervals,
    pooled_intervals,
    proportion,
    subject_sizes,
    too_few_subjects,
)
from ...inference.scales import scale_of
from ...ratings.accuracy import comparison_labels, rater_accuracy
from ...ratings.concordance import (
    Chance,
    Concordance,
    Partial,
    both_correct_probability,
    genuineness,
    label_closeness,
    rho,
)
from ...ratings.rasch_model import Rasch, rasch
from ...ratings.ratings import MISSING, Kind, Ratings, Values
from ..tables import Settings

LEVELS: dict[Kind, Literal["nominal", "ordinal", "interval"]] = {
    "nominal": "nominal",
    "ordinal": "ordinal",
    "numeric": "interval",
}
"""Level of measurement of alpha."""
FEWEST = {"reference": MIN_SUBJECTS, "majority": 30}
"""An interval of ρ needs so many subjects, by the source of the accuracies.

With accuracies by the majority it covers 0.85 to 0.96 at 10 subjects, 0.92 to 0.96 at 20 and 0.94 to 0.97 from 30 on,
least with three raters of accuracies near 0.6. A limit on what turned out, such as the number of cases in which the
others had a majority, makes it worse: it chooses the studies in which raters happened to agree.
"""
BLOCK = 512
"""Number of jackknife tables computed at a time."""


def beyond_chance(ratings: Ratings, settings: Settings) -> dict[str, Interval]:
    """Krippendorff's alpha, Fleiss' kappa and Gwet's AC1, of all cases together."""
    # nominal alpha is computed for many tables at once, the others one by one
    level = LEVELS[ratings.kind]
    chosen: dict[str, Callable[[Tally], float]] = {
        "krippendorff_alpha": krippendorff_alpha if level == "nominal" else partial(krippendorff_alpha, metric=level),
        "fleiss_kappa": fleiss_kappa,
        "gwet_ac1": gwet_ac1,
    }
    if len(ratings.labels) >= VOID:
        nothing = Undefined("too_many_labels")
        return dict.fromkeys(chosen, Interval(nothing, nothing, nothing, settings.level, "jackknife", len(ratings)))
    # cases with a single rater do not count
    subjects = len({subject for subject, m in zip(ratings.subjects, ratings.rated.tolist(), strict=True) if m > 1})
    refused = too_few_subjects(subjects)
    if refused is not None:
        whole, rest = sorted_tally(ratings), (refused, refused, settings.level, "jackknife", subjects)
        return {name: Interval(statistic(whole), *rest) for name, statistic in chosen.items()}
    if len(set(ratings.subjects)) == len(ratings):
        intervals = _case_intervals(list(chosen.values()), ratings, settings)
    else:
        scales = [scale_of(name) for name in chosen]
        intervals = pooled_intervals(
            list(chosen.values()), sorted_tallies(ratings), scales, level=settings.level, by_cases=level != "nominal"
        )
    return dict(zip(chosen, intervals, strict=True))


def _case_intervals(
    statistics: Sequence[Callable[[Tally], float]], ratings: Ratings, settings: Settings
) -> list[Interval]:
    """The result of :func:`pooled_intervals` if cases are subjects, without counting every row in every case.

    Cases with the same row are equivalent in the jackknife.
    """
    whole = sorted_tally(ratings)
    where = find_rows(whole, _sort_ratings(ratings))
    size, n = len(whole.counts), len(where)
    ordered = ratings.kind != "nominal"
    own = (whole.rated > 1).astype(np.int64) if ordered else subject_sizes(whole, np.eye(size, dtype=np.int64))
    sizes = own[where]
    few, freedom = few_effective_subjects(sizes, by_cases=ordered), effective_subjects(sizes) - 1
    if few is not None:
        return [Interval(statistic(whole), few, few, settings.level, "jackknife", n) for statistic in statistics]
    rows = [np.arange(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]
    intervals = []
    for statistic in statistics:
        one_less = [batch_values(statistic, whole, whole.counts - (r[:, None] == np.arange(size))) for r in rows]
        left_out = np.concatenate(one_less)[where]
        interval = jackknife_interval(statistic(whole), left_out, freedom, "kappa", settings.level, n)
        intervals.append(interval)
    return intervals


def _sort_ratings(ratings: Ratings) -> NDArray[np.uint8]:
    """The ratings of each case, sorted by label; who gave which is lost."""
    return np.sort(np.where(ratings.given, ratings.codes, VOID).astype(np.uint8), axis=1)


def sorted_tally(ratings: Ratings) -> Tally:
    """One tally of all cases, with sorted ratings."""
    return next(iter(sorted_tallies(replace(ratings, subjects=("all",) * len(ratings))).values()))


def sorted_tallies(ratings: Ratings) -> Tallies:
    """One tally for each subject, with sorted ratings."""
    codes = _sort_ratings(ratings)
    labels = Labels(tuple(range(1, len(ratings.labels) + 1)), ratings.labels, ratings.numbers)
    slots = tuple(Column(str(i + 1)) for i in range(len(ratings.raters)))
    subjects, owner = _owners(ratings.subjects)
    rows = np.split(np.argsort(owner, kind="stable"), np.cumsum(np.bincount(owner))[:-1])
    return Tallies({
        subject: Tally(slots, labels, codes[cases], np.ones(len(cases), np.int64), exchangeable=True)
        for subject, cases in zip(subjects, rows, strict=True)
    })  # fmt: skip


def _owners(subjects: Sequence[str]) -> tuple[list[str], NDArray[np.intp]]:
    """All subjects, and the position among them of that of each case."""
    place = {subject: i for i, subject in enumerate(dict.fromkeys(subjects))}
    return list(place), np.array([place[subject] for subject in subjects], np.intp)


def case_means(values: Sequence[Values], ratings: Ratings, settings: Settings) -> list[Interval]:
    """Mean over cases of each of several values by case, which lie between 0 and 1; nan are left out."""
    by_case = np.stack(values, axis=1)
    subjects, owner = _owners(ratings.subjects)
    total, known = np.zeros((2, len(subjects), by_case.shape[1]))
    np.add.at(total, owner, np.nan_to_num(by_case))
    np.add.at(known, owner, ~np.isnan(by_case))
    return [_case_mean(total[:, k], known[:, k], settings.level) for k in range(len(values))]


def _case_mean(total: Values, known: Values, level: float) -> Interval:
    here = known > 0
    total, known, n = total[here], known[here], int(here.sum())
    value = ratio(float(total.sum()), float(known.sum()), "undefined_for_every_case")
    if (known == 1).all():
        if n >= MIN_SUBJECTS and np.isin(total, (0.0, 1.0)).all():
            return proportion(int(total.sum()), n, level)
        return replace(mean_intervals(total[:, None], "share", level=level)[0], value=value)
    effective = effective_subjects(known)
    if effective < MIN_SUBJECTS:
        refused = Undefined("too_few_subjects", f"with unequal numbers of cases they count as {effective:.1f}")
        return Interval(value, refused, refused, level, "jackknife", n)
    left_out = (total.sum() - total) / (known.sum() - known)
    return jackknife_interval(value, left_out, effective - 1, "share", level, n)


# -- ρ by source of the raters' accuracies ---------------------------------------------------------


TITLES = {
    "reference": "the reference",
    "majority": "the majority of the others",
    "given": "given accuracies",
    "rasch": "a Rasch model",
}


@dataclass(frozen=True, eq=False)
class Source:
    """One source of the raters' accuracies, with its ρ."""

    name: str
    """``reference``, ``majority``, ``given`` or ``rasch``."""
    accuracy: Values
    """By rater; for a Rasch model, the mean over the cases that they rated."""
    n: Values
    """Number of items of each accuracy."""
    rho: Concordance | None
    """None if the source gives no accuracies."""
    value: float
    """ρ, undefined with a reason if there is none."""
    rasch: Rasch | None = None

    @property
    def title(self) -> str:
        """Name of the source in texts."""
        return TITLES[self.name]


def competence_sources(
    ratings: Ratings, given: Mapping[str, float] | None, chance: Chance, partial: Partial
) -> list[Source]:
    """All sources that the data allow."""
    sources: list[Source] = []
    ways: list[str | Mapping[str, float]] = ["reference"] if ratings.reference is not None else []
    for by in [*ways, "majority", *([given] if given else [])]:
        raters = rater_accuracy(ratings, by)
        score = rho(ratings, raters.accuracy, chance, partial)
        sources.append(Source(raters.source, raters.accuracy, raters.n.astype(np.float64), score, score.value))
    return [*sources, _rasch_source(ratings, chance, partial)]


def _rasch_source(ratings: Ratings, chance: Chance, partial: Partial) -> Source:
    rated = ratings.given.sum(axis=0).astype(np.float64)
    try:
        model = rasch(ratings)
    except InputError as error:
        why = Undefined("rasch_not_fitted", str(error.args[0]))
        return Source("rasch", np.full(len(rated), np.nan), rated, None, why)
    score = rho(ratings, model.accuracy, chance, partial)
    mean = divide(np.where(ratings.given, model.accuracy, 0.0).sum(axis=0), rated)
    return Source("rasch", mean, rated, score, score.value, model)


def rho_interval(
    ratings: Ratings, source: str, score: Concordance, chance: Chance, partial: Partial, settings: Settings,
    fewest: Mapping[str, int] = FEWEST,
) -> Interval:  # fmt: skip
    """Interval of ρ, for accuracies against the reference or the majority; ``score`` has its value."""
    parts = _RhoParts(ratings, source, genuineness(ratings, chance), label_closeness(ratings.numbers, partial))
    known = parts.cases[:, 0] > 0
    subjects = int(known.sum())
    if subjects < fewest[source]:
        code = "too_few_subjects" if subjects < MIN_SUBJECTS else "few_subjects_by_majority"
        refused = Undefined(code, f"it is defined for {subjects}")
        return Interval(score.value, refused, refused, settings.level, "jackknife", subjects)
    judged = parts.least_judged
    if source == "reference" and judged < MIN_SUBJECTS:
        refused = Undefined("few_judged_subjects", f"a rater has {judged}")
        return Interval(score.value, refused, refused, settings.level, "jackknife", subjects)
    left_out = parts.rho(lambda part: part.sum(axis=0) - part)
    return jackknife_interval(score.value, left_out[known], subjects - 1, "share", settings.level, subjects)


class _RhoParts:
    """The parts of ρ, summed over the cases of each subject; pairs are processed one rater at a time."""

    def __init__(self, ratings: Ratings, source: str, genuine: Values, closeness: Values) -> None:
        expected = comparison_labels(ratings, source)
        judged = ratings.given & (expected != MISSING)
        self._codes, self._labels, self._closeness = ratings.codes, len(ratings.labels), closeness
        subjects, owner = _owners(ratings.subjects)
        self._order = np.argsort(owner, kind="stable")
        self._starts = np.searchsorted(owner[self._order], np.arange(len(subjects)))
        self.judged = self._by_subject(judged.astype(np.float64))
        self.right = self._by_subject((judged & (ratings.codes == expected)).astype(np.float64))
        self._accuracy = divide(self.right.sum(axis=0), self.judged.sum(axis=0))
        self._genuine = np.where(np.isnan(self._accuracy), np.nan, genuine)
        self._met = np.zeros(len(ratings), np.int64)
        for _, valid in self._pairs():
            self._met += valid.sum(axis=1)
        self.cases = self._by_subject((self._met > 0).astype(np.float64)[:, None])

    @property
    def least_judged(self) -> int:
        """Of the subjects on which a rater's accuracy rests, the smallest number."""
        counts = (self.judged > 0).sum(axis=0)
        return int(counts[counts > 0].min(initial=len(self.judged)))

    def _by_subject(self, values: Values) -> Values:
        return np.asarray(np.add.reduceat(values[self._order], self._starts, axis=0))

    def _pairs(self) -> Iterator[tuple[Values, NDArray[np.bool_]]]:
        """For each rater and all later ones: (cases, others) GA, and where it counts."""
        for i in range(self._codes.shape[1] - 1):
            value = self._genuine[:, i, None] * self._genuine[:, i + 1 :]
            value *= self._closeness[self._codes[:, i, None], self._codes[:, i + 1 :]]
            lost = np.isnan(both_correct_probability(self._accuracy[i], self._accuracy[i + 1 :], self._labels))
            yield value, ~np.isnan(value) & ~(lost & (value > 0))

    def rho(self, total: Callable[[Values], Values]) -> Values:
        """ρ of many sums over subjects; nan if one has no case. ``total`` maps (subjects, …) to (sums, …)."""
        accuracy = divide(total(self.right), total(self.judged))
        accuracy = np.where(np.isnan(accuracy), self._accuracy, accuracy)
        cases = total(self.cases)[:, 0]
        out = np.zeros(len(cases))
        for i, (value, valid) in enumerate(self._pairs()):
            part = np.where(valid, value, 0.0) / np.maximum(self._met, 1)[:, None]
            chance = both_correct_probability(accuracy[:, i, None], accuracy[:, i + 1 :], self._labels)
            whole = np.nan_to_num(both_correct_probability(self._accuracy[i], self._accuracy[i + 1 :], self._labels))
            out += (total(self._by_subject(part)) * np.where(np.isnan(chance), whole, chance)).sum(axis=1)
        return divide(out, cases)

"""Intervals of the numbers of a rated data set, over its subjects.

σ, ρ and shares of majorities are means over cases. Where subjects have several cases, subjects are drawn, and the mean
of a draw is that of all its cases. Kappas and alpha depend on a case through its votes alone, so that the ratings of a
case can be sorted: few distinct rows are left, and a draw is a count of each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...agreement import fleiss_kappa, gwet_ac1, krippendorff_alpha, percent_agreement
from ...core.columns import Column
from ...core.labels import VOID, Labels
from ...core.tallies import Tallies, find_rows
from ...core.tally import Tally
from ...core.undefined import Undefined, ratio
from ...inference.intervals import (
    MIN_SUBJECTS,
    Interval,
    batch_values,
    draw_subjects,
    make_interval,
    pooled_intervals,
    too_few_subjects,
)
from ...ratings.ratings import Kind, Ratings, Values
from ..summaries import Settings

LEVELS: dict[Kind, Literal["nominal", "ordinal", "interval"]] = {
    "nominal": "nominal",
    "ordinal": "ordinal",
    "numeric": "interval",
}
"""The level of measurement at which alpha is taken."""
AT_ONCE = 512
"""Tables of the jackknife that are held at a time."""
TOO_MANY = "too_many_labels"


def beyond_chance(ratings: Ratings, settings: Settings) -> dict[str, Interval]:
    """Percent agreement, Krippendorff's alpha, Fleiss' kappa and Gwet's AC1."""
    # nominal alpha is quick for many tables at once, the others one by one
    level = LEVELS[ratings.kind]
    alpha = krippendorff_alpha if level == "nominal" else partial(krippendorff_alpha, metric=level)
    chosen: dict[str, Callable[[Tally], float]] = {
        "percent_agreement": percent_agreement,
        "krippendorff_alpha": alpha,
        "fleiss_kappa": fleiss_kappa,
        "gwet_ac1": gwet_ac1,
    }
    if len(ratings.labels) >= VOID:
        nothing = Undefined(TOO_MANY)
        return dict.fromkeys(chosen, Interval(nothing, nothing, nothing, settings.level, "bca", len(ratings)))
    # who rated a case alone agrees with nobody, however many such cases there are
    subjects = len({subject for subject, m in zip(ratings.subjects, ratings.rated.tolist(), strict=True) if m > 1})
    refused = too_few_subjects(subjects)
    if refused is not None:
        whole = sorted_tally(ratings)
        return {
            name: Interval(f(whole), refused, refused, settings.level, "bca", subjects) for name, f in chosen.items()
        }
    if len(set(ratings.subjects)) == len(ratings):
        found = _of_cases(list(chosen.values()), ratings, settings)
    else:
        options = ("bca", settings.resamples, settings.level, settings.seed)
        found = pooled_intervals(list(chosen.values()), sorted_tallies(ratings), *options)
    return dict(zip(chosen, found, strict=True))


def _of_cases(statistics: Sequence[Callable[[Tally], float]], ratings: Ratings, settings: Settings) -> list[Interval]:
    """What :func:`pooled_intervals` gives where cases are subjects, without a count of every row in every case.

    Cases with the same row are worth the same to the jackknife.
    """
    whole = sorted_tally(ratings)
    where = find_rows(whole, _sorted(ratings))
    weights = draw_subjects(len(where), settings.resamples, settings.seed)
    size = len(whole.counts)
    drawn = np.stack([np.bincount(where, row, size) for row in weights]).astype(np.int64)
    rows = [np.arange(start, min(start + AT_ONCE, size)) for start in range(0, size, AT_ONCE)]
    found = []
    for statistic in statistics:
        one_less = [batch_values(statistic, whole, whole.counts - (r[:, None] == np.arange(size))) for r in rows]
        left_out, replicates = np.concatenate(one_less)[where], batch_values(statistic, whole, drawn)
        found.append(make_interval(statistic(whole), replicates, left_out, "bca", settings.level, len(where)))
    return found


def _sorted(ratings: Ratings) -> NDArray[np.uint8]:
    """The ratings of each case in order of their labels: who gave which is lost."""
    return np.sort(np.where(ratings.given, ratings.codes, VOID).astype(np.uint8), axis=1)


def sorted_tally(ratings: Ratings) -> Tally:
    """The table of all cases."""
    return next(iter(sorted_tallies(replace(ratings, subjects=("all",) * len(ratings))).values()))


def sorted_tallies(ratings: Ratings) -> Tallies:
    """A table a subject, the ratings of each case in order of their labels."""
    codes = _sorted(ratings)
    labels = Labels(tuple(range(1, len(ratings.labels) + 1)), ratings.labels, ratings.numbers)
    slots = tuple(Column(str(i + 1)) for i in range(len(ratings.raters)))
    rows: dict[str, list[int]] = {}
    for i, subject in enumerate(ratings.subjects):
        rows.setdefault(subject, []).append(i)
    ones = np.ones(len(codes), np.int64)
    return Tallies({
        subject: Tally(slots, labels, codes[own], ones[own], exchangeable=True) for subject, own in rows.items()
    })  # fmt: skip


def case_means(values: Sequence[Values], ratings: Ratings, settings: Settings) -> list[Interval]:
    """The mean over cases of each of several values by case; those that are nan are left out."""
    by_case = np.stack(values, axis=1)
    position = {subject: i for i, subject in enumerate(dict.fromkeys(ratings.subjects))}
    owner = np.array([position[subject] for subject in ratings.subjects])
    total, known = np.zeros((2, len(position), by_case.shape[1]))
    np.add.at(total, owner, np.nan_to_num(by_case))
    np.add.at(known, owner, ~np.isnan(by_case))
    drawn = np.split(_drawn(np.hstack([total, known]), settings), 2, axis=1)
    return [_mean(total[:, k], known[:, k], (drawn[0][:, k], drawn[1][:, k]), settings) for k in range(len(values))]


def _drawn(sums: Values, settings: Settings) -> Values:
    """The same sums in every resample, all from the same draws."""
    if len(sums) < MIN_SUBJECTS:
        return sums[:0]
    return np.asarray(draw_subjects(len(sums), settings.resamples, settings.seed) @ sums)


def _mean(total: Values, known: Values, drawn: tuple[Values, Values], settings: Settings) -> Interval:
    here = known > 0
    subjects = int(here.sum())
    value = ratio(float(total.sum()), float(known.sum()), "undefined_for_every_case")
    if subjects < MIN_SUBJECTS:
        refused = Undefined("too_few_subjects", f"it is defined for {subjects}")
        return Interval(value, refused, refused, settings.level, "bca", subjects)
    replicates = np.divide(*drawn, out=np.full(len(drawn[0]), np.nan), where=drawn[1] > 0)
    left_out = (total.sum() - total[here]) / (known.sum() - known[here])
    return make_interval(value, replicates, left_out, "bca", settings.level, subjects)

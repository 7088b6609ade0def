"""Confidence intervals of the numbers of rated data, over subjects.

σ, ρ and shares of majorities are means over cases. If subjects have several cases, subjects are resampled, and the mean
of a resample is that of all its cases. Kappas and alpha depend on the votes of a case only, so the ratings of a case
can be sorted: few distinct rows remain, and a resample is a count of each.
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
from ...core.tally import Tallies, Tally, find_rows
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
"""Level of measurement of alpha."""
BLOCK = 512
"""Number of jackknife tables computed at a time."""
TOO_MANY = "too_many_labels"


def beyond_chance(ratings: Ratings, settings: Settings) -> dict[str, Interval]:
    """Percent agreement, Krippendorff's alpha, Fleiss' kappa and Gwet's AC1."""
    # nominal alpha is computed for many tables at once, the others one by one
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
    # cases with a single rater do not count
    subjects = len({subject for subject, m in zip(ratings.subjects, ratings.rated.tolist(), strict=True) if m > 1})
    refused = too_few_subjects(subjects)
    if refused is not None:
        whole = sorted_tally(ratings)
        return {
            name: Interval(f(whole), refused, refused, settings.level, "bca", subjects) for name, f in chosen.items()
        }
    if len(set(ratings.subjects)) == len(ratings):
        intervals = _case_intervals(list(chosen.values()), ratings, settings)
    else:
        options = ("bca", settings.resamples, settings.level, settings.seed)
        intervals = pooled_intervals(list(chosen.values()), sorted_tallies(ratings), *options)
    return dict(zip(chosen, intervals, strict=True))


def _case_intervals(
    statistics: Sequence[Callable[[Tally], float]], ratings: Ratings, settings: Settings
) -> list[Interval]:
    """The result of :func:`pooled_intervals` if cases are subjects, without counting every row in every case.

    Cases with the same row are equivalent in the jackknife.
    """
    whole = sorted_tally(ratings)
    where = find_rows(whole, _sort_ratings(ratings))
    weights = draw_subjects(len(where), settings.resamples, settings.seed)
    size = len(whole.counts)
    drawn = np.stack([np.bincount(where, row, size) for row in weights]).astype(np.int64)
    rows = [np.arange(start, min(start + BLOCK, size)) for start in range(0, size, BLOCK)]
    intervals = []
    for statistic in statistics:
        one_less = [batch_values(statistic, whole, whole.counts - (r[:, None] == np.arange(size))) for r in rows]
        left_out, replicates = np.concatenate(one_less)[where], batch_values(statistic, whole, drawn)
        intervals.append(make_interval(statistic(whole), replicates, left_out, "bca", settings.level, len(where)))
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
    rows: dict[str, list[int]] = {}
    for i, subject in enumerate(ratings.subjects):
        rows.setdefault(subject, []).append(i)
    ones = np.ones(len(codes), np.int64)
    return Tallies({
        subject: Tally(slots, labels, codes[own], ones[own], exchangeable=True) for subject, own in rows.items()
    })  # fmt: skip


def case_means(values: Sequence[Values], ratings: Ratings, settings: Settings) -> list[Interval]:
    """Mean over cases of each of several values by case; nan are left out."""
    by_case = np.stack(values, axis=1)
    position = {subject: i for i, subject in enumerate(dict.fromkeys(ratings.subjects))}
    owner = np.array([position[subject] for subject in ratings.subjects])
    total, known = np.zeros((2, len(position), by_case.shape[1]))
    np.add.at(total, owner, np.nan_to_num(by_case))
    np.add.at(known, owner, ~np.isnan(by_case))
    resampled = np.split(_resample(np.hstack([total, known]), settings), 2, axis=1)
    return [
        _mean_interval(total[:, k], known[:, k], (resampled[0][:, k], resampled[1][:, k]), settings)
        for k in range(len(values))
    ]


def _resample(sums: Values, settings: Settings) -> Values:
    """Sums in every resample."""
    if len(sums) < MIN_SUBJECTS:
        return sums[:0]
    return np.asarray(draw_subjects(len(sums), settings.resamples, settings.seed) @ sums)


def _mean_interval(total: Values, known: Values, resampled: tuple[Values, Values], settings: Settings) -> Interval:
    here = known > 0
    subjects = int(here.sum())
    value = ratio(float(total.sum()), float(known.sum()), "undefined_for_every_case")
    if subjects < MIN_SUBJECTS:
        refused = Undefined("too_few_subjects", f"it is defined for {subjects}")
        return Interval(value, refused, refused, settings.level, "bca", subjects)
    replicates = np.divide(*resampled, out=np.full(len(resampled[0]), np.nan), where=resampled[1] > 0)
    left_out = (total.sum() - total[here]) / (known.sum() - known[here])
    return make_interval(value, replicates, left_out, "bca", settings.level, subjects)

"""Intervals of the numbers of a rated data set, over its subjects.

σ, ρ and shares of majorities are means over cases. Where subjects have several cases, subjects are drawn, and the mean
of a draw is that of all its cases. Kappas and alpha depend on a case through its votes alone, so that the ratings of a
case can be sorted: few distinct rows are left, and a draw is a sum of small tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..agreement import fleiss_kappa, gwet_ac1, krippendorff_alpha, percent_agreement
from ..labels import VOID, Labels, Undefined, ratio
from ..reliability.ratings import Kind, Ratings, Values
from ..resampling import LEAST_SUBJECTS, TOO_FEW, Interval, _ends, _weights, pooled_intervals
from ..tallies import Column, Tallies, Tally, pool
from .summaries import Settings

LEVELS: dict[Kind, Literal["nominal", "ordinal", "interval"]] = {
    "nominal": "nominal",
    "ordinal": "ordinal",
    "numeric": "interval",
}
"""The level of measurement at which alpha is taken."""
TOO_MANY = f"kappa and alpha want fewer than {VOID} labels; group them, or cut the scale with --cut"


def beyond_chance(ratings: Ratings, settings: Settings) -> dict[str, Interval]:
    """Percent agreement, Krippendorff's alpha, Fleiss' kappa and Gwet's AC1."""
    # nominal alpha is quick for many tables at once, the others one by one
    level = LEVELS[ratings.kind]
    alpha = krippendorff_alpha if level == "nominal" else partial(krippendorff_alpha, level=level)
    chosen: dict[str, Callable[[Tally], float]] = {
        "percent_agreement": percent_agreement,
        "krippendorff_alpha": alpha,
        "fleiss_kappa": fleiss_kappa,
        "gwet_ac1": gwet_ac1,
    }
    if len(ratings.labels) >= VOID:
        nothing = Undefined(TOO_MANY)
        return dict.fromkeys(chosen, Interval(nothing, nothing, nothing, settings.level, "bca", len(ratings)))
    tallies = sorted_tallies(ratings)
    subjects = len(tallies.by_subject())
    if subjects >= LEAST_SUBJECTS:
        options = ("bca", settings.resamples, settings.level, settings.seed)
        return dict(zip(chosen, pooled_intervals(list(chosen.values()), tallies, *options), strict=True))
    whole, refused = pool(tallies), Undefined(f"{TOO_FEW}; there are {subjects}")
    return {name: Interval(f(whole), refused, refused, settings.level, "bca", subjects) for name, f in chosen.items()}


def sorted_tallies(ratings: Ratings) -> Tallies:
    """A table a subject, the ratings of each case in order of their labels: who gave which is lost."""
    codes = np.sort(np.where(ratings.given, ratings.codes, VOID).astype(np.uint8), axis=1)
    labels = Labels(tuple(range(1, len(ratings.labels) + 1)), ratings.labels, ratings.numbers)
    slots = tuple(Column(str(i + 1)) for i in range(len(ratings.raters)))
    rows: dict[str, list[int]] = {}
    for i, subject in enumerate(ratings.subjects):
        rows.setdefault(subject, []).append(i)
    known: dict[bytes, Tally] = {}
    return Tallies({subject: _tally(codes[own], slots, labels, known) for subject, own in rows.items()})


def _tally(codes: NDArray[np.uint8], slots: tuple[Column, ...], labels: Labels, known: dict[bytes, Tally]) -> Tally:
    """Subjects with the same votes share one table: there are few."""
    key = codes.tobytes()
    if key not in known:
        known[key] = Tally(slots, labels, codes, np.ones(len(codes), np.int64), exchangeable=True)
    return known[key]


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
    if len(sums) < LEAST_SUBJECTS:
        return sums[:0]
    return np.asarray(_weights(len(sums), settings.resamples, settings.seed) @ sums)


def _mean(total: Values, known: Values, drawn: tuple[Values, Values], settings: Settings) -> Interval:
    here = known > 0
    subjects = int(here.sum())
    value = ratio(float(total.sum()), float(known.sum()), "undefined for every case")
    if subjects < LEAST_SUBJECTS:
        refused = Undefined(f"{TOO_FEW}; it is defined for {subjects}")
        return Interval(value, refused, refused, settings.level, "bca", subjects)
    replicates = np.divide(*drawn, out=np.full(len(drawn[0]), np.nan), where=drawn[1] > 0)
    left_out = (total.sum() - total[here]) / (known.sum() - known[here])
    return _ends(value, replicates, left_out, "bca", settings.level, subjects)

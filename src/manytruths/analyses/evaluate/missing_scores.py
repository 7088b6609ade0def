"""How missing and undefined scores count in means, so that leaving out a hard case does not pay."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Literal

import numpy as np

from ...core.undefined import Undefined, code, undefined_like
from ...evaluation.ranking.score_tables import PERFECT
from ...evaluation.ranking.scores import best_value, describes_the_case, direction, is_distance, worst_value

Missing = Literal["worst", "exclude"]

NO_PREDICTION = "no_prediction"
UNMARKED = "one_empty"
"""The code of a distance that is undefined and counts as bad."""
AGAINST_ALL = "undefined_against_all"


def worst_score(statistic: str, diagonal: float) -> float:
    """The worst score: the metric's bound, and of distances the image's diagonal; nan where there is none."""
    if is_distance(statistic):
        return diagonal
    bound = None if describes_the_case(statistic) else worst_value(statistic)
    return math.nan if bound is None else bound


def average(values: Iterable[float], statistic: str, diagonal: float) -> float:
    """The mean of a case's values against several raters or references.

    Where one of the two is empty, it counts as the worst; where both are, as the best, unless that is so against all of
    them: then it is undefined.
    """
    values = list(values)
    codes = [code(v) for v in values]
    if NO_PREDICTION in codes:
        return Undefined(NO_PREDICTION)
    silent = [c in PERFECT for c in codes]
    if not values or all(silent):
        return undefined_like(values[0]) if values else Undefined(AGAINST_ALL)
    counted = [_replacement(v, statistic, diagonal) for v in values]
    defined = [v for v in counted if not math.isnan(v)]
    if defined:
        return float(np.mean(defined))
    return undefined_like(values[0]) if len(set(codes)) == 1 else Undefined(AGAINST_ALL)


def _replacement(value: float, statistic: str, diagonal: float) -> float:
    why = code(value)
    if why == UNMARKED:
        return worst_score(statistic, diagonal)
    if why in PERFECT:
        top = best_value(statistic)
        return math.nan if top is None else top
    return value


def fill_missing(
    statistic: str, values: Sequence[Sequence[float]], missing: Missing, diagonals: Sequence[float]
) -> list[list[float]]:
    """(algorithms, cases) values as they go into means.

    A distance to or from an empty mask counts as the worst. So does a missing prediction, or, with ``exclude``, its
    case is excluded for all algorithms. Where values lie below the metric's bound (a kappa below 0), the smallest
    is the worst.
    """
    if describes_the_case(statistic):
        return [list(row) for row in values]
    gone = excluded_cases(values, missing)
    known = [v for row in values for v in row if not math.isnan(v)]
    table = []
    for row in values:
        bad = [_worst(statistic, diagonal, known) for diagonal in diagonals]
        counts = [b if code(v) in (NO_PREDICTION, UNMARKED) else v for v, b in zip(row, bad, strict=True)]
        table.append([math.nan if i in gone else v for i, v in enumerate(counts)])
    return table


def _worst(statistic: str, diagonal: float, known: Sequence[float]) -> float:
    bound = worst_score(statistic, diagonal)
    if is_distance(statistic) or math.isnan(bound) or not known:
        return bound
    return min(bound, *known) if direction(statistic) == "higher" else max(bound, *known)


def excluded_cases(values: Sequence[Sequence[float]], missing: Missing) -> list[int]:
    """The cases, by position, that ``exclude`` leaves out, for the raters beside the algorithms too."""
    if missing != "exclude":
        return []
    return sorted({i for row in values for i, v in enumerate(row) if code(v) == NO_PREDICTION})

"""What a score that is not there counts in a mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ...evaluation.ranking.directions import describes_the_case, direction, worst
from ...labels import reason

Missing = Literal["worst", "exclude"]

NO_PREDICTION = "no prediction"
UNMARKED = "one of the two marked nothing"
"""Why a distance is undefined that should count as bad."""


def filled(statistic: str, values: Sequence[Sequence[float]], missing: Missing) -> list[list[float]]:
    """(algorithms, cases) values as they go into means, so that leaving out a hard case does not pay.

    A prediction that is missing, or that marked nothing where a distance was wanted, counts as the worst there is: the
    metric's bound, else the worst value that any algorithm has. ``exclude`` leaves its case out, for all algorithms.
    """
    gap = _gaps(values)
    table = np.array(values, np.float64)
    if not gap.any() or describes_the_case(statistic):
        return [list(row) for row in values]
    if missing == "exclude":
        return [list(row) for row in np.where(gap.any(axis=0), np.nan, table).tolist()]
    return [list(row) for row in np.where(gap, worst_of(statistic, table), table).tolist()]


def worst_of(statistic: str, values: ArrayLike) -> float:
    """The metric's bound, else the worst of the values; nan where there is none."""
    if describes_the_case(statistic):
        return float("nan")
    bound, table = worst(statistic), np.asarray(values, np.float64)
    if bound is not None or np.isnan(table).all():
        return float("nan") if bound is None else bound
    return float((np.nanmin if direction(statistic) == "higher" else np.nanmax)(table))


def left_out(values: Sequence[Sequence[float]], missing: Missing) -> list[int]:
    """The cases, by position, that ``exclude`` leaves out: for raters, too, who are read beside the algorithms."""
    return np.flatnonzero(_gaps(values).any(axis=0)).tolist() if missing == "exclude" else []


def _gaps(values: Sequence[Sequence[float]]) -> NDArray[np.bool_]:
    return np.array([[reason(v) in (NO_PREDICTION, UNMARKED) for v in row] for row in values])

"""What counts for a score that is not there: the worst, or the best where nothing was there to find.

The ends are the metric's bounds. Where it has none, or values lie beyond, they are the worst and the best that anybody
got. A distance's worst is the diagonal of the image, where that is known.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .directions import best, is_distance, worst
from .scores import Values

ANYBODY = "a gap counts as the worst value that anybody got, so that leaving out the hardest case can pay"
TOO_LONG = "some values are longer than the diagonal of their image; give both in the same unit"


@dataclass(frozen=True)
class Ends:
    """What counts as the worst and the best of a metric, and what is to be said when the worst is used."""

    worst: float
    best: float
    note: str = ""
    scaled: bool = False
    """Whether values are better than the best there is, so that nothing is known of their scale."""


@dataclass(frozen=True, eq=False)
class Fills:
    """What a gap in each case counts, and in which cases that is the diagonal of the image."""

    values: Values
    diagonal: NDArray[np.bool_]
    note: str = ""


def ends_of(metric: str, values: Values, higher: bool) -> Ends:
    """From a metric's name and all values that anybody got."""
    low, top = (float(end(values[np.isfinite(values)])) for end in ((np.min, np.max) if higher else (np.max, np.min)))
    bound, peak = worst(metric), best(metric)
    advice = f"{ANYBODY}: give {'a column diagonal in --cases, or ' if is_distance(metric) else ''}--missing VALUE"
    if peak is not None and _better(top, peak, higher):
        told = "what is missing counts as the worst value that anybody got, what both left empty as the best"
        return Ends(low, top, f"{metric} has values beyond its bounds: {told}", scaled=True)
    if bound is None:
        return Ends(low, top if peak is None else peak, f"{metric}: {advice}")
    if _better(bound, low, higher):
        return Ends(low, top if peak is None else peak, f"{metric} has values worse than {bound:g}: {advice}")
    return Ends(bound, top if peak is None else peak)


def _better(one: float, other: float, higher: bool) -> bool:
    """By more than rounding: 1.0000000002 is 1."""
    return one - other > 1e-9 if higher else other - one > 1e-9


def fills_of(metric: str, values: Values, lengths: Values, low: float) -> Fills:
    """The diagonal of each case's image for a distance, else the worst; never better than what anybody got there."""
    known = np.isfinite(lengths) & is_distance(metric)
    longest = np.nan_to_num(values, nan=0.0).max(axis=0)
    note = f"{metric}: {TOO_LONG}" if (longest[known] > lengths[known] * (1 + 1e-9)).any() else ""
    return Fills(np.where(known, np.fmax(lengths, longest), low), known, note)

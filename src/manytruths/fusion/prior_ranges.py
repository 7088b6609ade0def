"""Which fixed priors of STAPLE decide a table as something else does: intervals, by scanning and bisection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..core.tally import Tally
from .staple import staple

Range = tuple[float, float]

STEPS = 33
"""Priors that are tried at first, evenly spaced in log odds."""
LIMIT = 1e-4
"""The smallest prior that is tried; the largest is one less it."""
FINE = 8
"""Into how many parts the steps beside the best prior are divided where none of the first fits."""
BISECTIONS = 14
"""After which an end is known to about 0.005% of its odds."""


@dataclass(eq=False)
class PriorScan:
    """STAPLE of one table by its prior, cut at one half."""

    table: Tally
    """First readings, marked or not."""
    _known: dict[float, NDArray[np.bool_]] = field(default_factory=dict)

    def decide(self, odds: float) -> NDArray[np.bool_]:
        """What is marked by the logarithm of the prior's odds."""
        if odds not in self._known:
            self._known[odds] = np.asarray(staple(self.table, to_prior(odds)).hard, bool)
        return self._known[odds]

    def differing(self, odds: float, given: NDArray[np.int64]) -> int:
        """Items that differ from a reference."""
        hard = self.decide(odds)
        return int(given[hard, 0].sum() + given[~hard, 1].sum())


def to_prior(odds: float) -> float:
    """The prior of the logarithm of its odds."""
    return float(1 / (1 + np.exp(-odds)))


def find_prior_ranges(scan: PriorScan, given: NDArray[np.int64]) -> list[Range]:
    """The intervals of fixed priors with which STAPLE makes a reference, cut at one half.

    A narrow interval far from the best prior that was tried may be missed.

    Parameters
    ----------
    scan : PriorScan
        The table of the raters.
    given : ndarray
        (patterns, 2) items by what the reference says: not marked, marked.

    Returns
    -------
    list of (float, float)
        Smallest and largest prior of each interval; those at the ends of what was tried are 0.0001 and 0.9999.
    """
    end = float(np.log((1 - LIMIT) / LIMIT))
    points = np.linspace(-end, end, STEPS).tolist()
    wrong = [scan.differing(point, given) for point in points]
    if min(wrong):
        best = int(np.argmin(wrong))
        low, high = points[max(best - 1, 0)], points[min(best + 1, STEPS - 1)]
        points = sorted({*points, *np.linspace(low, high, 2 * FINE + 1).tolist()})
        wrong = [scan.differing(point, given) for point in points]
    return [
        (
            to_prior(points[first] if first == 0 else _edge(scan, given, points[first - 1], points[first])),
            to_prior(points[last] if last == len(points) - 1 else _edge(scan, given, points[last + 1], points[last])),
        )
        for first, last in _runs([value == 0 for value in wrong])
    ]


def _runs(flags: Sequence[bool]) -> list[tuple[int, int]]:
    """First and last place of each run of what holds.

    >>> _runs([False, True, True, False, True])
    [(1, 2), (4, 4)]
    """
    edges = np.flatnonzero(np.diff(np.concatenate([[0], np.asarray(flags, np.int8), [0]])))
    return [(int(first), int(stop) - 1) for first, stop in edges.reshape(-1, 2)]


def _edge(scan: PriorScan, given: NDArray[np.int64], outside: float, inside: float) -> float:
    """The last that fits between what does not and what does."""
    for _ in range(BISECTIONS):
        middle = (outside + inside) / 2
        if scan.differing(middle, given):
            outside = middle
        else:
            inside = middle
    return inside


def intersect(ranges: Sequence[Sequence[Range]]) -> list[Range]:
    """What lies in an interval of every case.

    >>> intersect([[(0.1, 0.5)], [(0.05, 0.2), (0.4, 0.9)]])
    [(0.1, 0.2), (0.4, 0.5)]
    """
    common: list[Range] = list(ranges[0]) if ranges else []
    for others in ranges[1:]:
        common = [(max(a, c), min(b, d)) for a, b in common for c, d in others if max(a, c) <= min(b, d)]
    return common


def shortest(low: float, high: float) -> float:
    """The number of fewest decimals in an interval.

    >>> shortest(0.2831, 0.2979), shortest(0.05446, 0.1643)
    (0.29, 0.1)
    """
    middle = (low + high) / 2
    return next((x for digits in range(1, 12) if low <= (x := round(middle, digits)) <= high), middle)

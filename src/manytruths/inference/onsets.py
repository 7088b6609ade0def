"""When something began: the point in a series of readings from which on a mark is frequent that was rare before.

Fisher's exact test of the point at which the binomial likelihood of the two parts is largest, times the number of
points, says whether there was a change at all. Where it came is a range of 95%: with shares before and after that have
Jeffreys' prior and every point as likely as any other, the weight of a point with x of k marks before it and y of m
after it is ::

    B(x + ½, k − x + ½) · B(y + ½, m − y + ½)

Worsley KJ. The power of likelihood ratio and cumulative sum tests for a change in a binomial probability. Biometrika
1983;70:455–464. doi:10.1093/biomet/70.2.455
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb, exp, lgamma, log

HELD = 0.95
"""Of the weight of all points, how much the range has."""


@dataclass(frozen=True)
class Onset:
    """A change in a series; numbers of readings before and after the most likely point.

    Attributes
    ----------
    before, after : int
        Readings before the point and from it on.
    marked_before, marked_after : int
        Those of them that have the mark.
    first, last : int
        The range of the point: positions of the first reading of the new kind.
    p_value : float
        Of there being no change, adjusted for the points.
    """

    before: int
    after: int
    marked_before: int
    marked_after: int
    first: int
    last: int
    p_value: float


def find_onset(marked: Sequence[bool], times: Sequence[float]) -> Onset | None:
    """The point from which on a mark is more frequent; None where there is no such point.

    Parameters
    ----------
    marked : sequence of bool
        Whether each reading has the mark, in the order of time.
    times : sequence of float
        When each was made; readings of one time are not parted.

    Returns
    -------
    Onset or None
        The change.

    References
    ----------
    Worsley KJ. The power of likelihood ratio and cumulative sum tests for a change in a binomial probability.
    Biometrika 1983;70:455–464. doi:10.1093/biomet/70.2.455

    Examples
    --------
    >>> found = find_onset([False] * 30 + [True] * 30, range(60))
    >>> found.before, found.marked_after, found.first, found.last, found.p_value < 0.01
    (30, 30, 30, 30, True)
    """
    n, sums = len(marked), [0, *accumulate(map(int, marked))]
    points = [k for k in range(1, n) if times[k] > times[k - 1]]
    rising = [k for k in points if sums[k] * (n - k) < (sums[n] - sums[k]) * k]
    if not rising:
        return None
    parts = {k: ((sums[k], k), (sums[n] - sums[k], n - k)) for k in rising}
    best = max(rising, key=lambda k: sum(_fit(*part) for part in parts[k]))
    first, last = _range({k: sum(_weight(*part) for part in parts[k]) for k in rising})
    x = sums[best]
    p = sum(comb(best, i) * comb(n - best, sums[n] - i) for i in range(x + 1) if 0 <= sums[n] - i <= n - best)
    p_value = min(1.0, len(points) * p / comb(n, sums[n]))
    return Onset(best, n - best, x, sums[n] - x, min(first, best), max(last, best), p_value)


def _fit(marked: int, n: int) -> float:
    """Log likelihood of a part at its own share."""
    return sum(count * log(count / n) for count in (marked, n - marked) if count)


def _weight(marked: int, n: int) -> float:
    """Logarithm of B(x + ½, n − x + ½)."""
    return lgamma(marked + 0.5) + lgamma(n - marked + 0.5) - lgamma(n + 1)


def _range(weights: dict[int, float]) -> tuple[int, int]:
    """The ends of the points with the largest weights that have enough of it together."""
    most = max(weights.values())
    shares = {k: exp(weight - most) for k, weight in weights.items()}
    total, held, least = sum(shares.values()), 0.0, 1.0
    for least in sorted(shares.values(), reverse=True):
        held += least
        if held >= HELD * total:
            break
    # of points with the same weight, both or neither
    chosen = [k for k, share in shares.items() if share >= least * (1 - 1e-9)]
    return min(chosen), max(chosen)

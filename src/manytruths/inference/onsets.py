"""When something began: the point in a series of readings from which on a mark is frequent that was rare before.

With a readings before a point and b after it, of which x and y have the mark, the point is the one at which the
binomial likelihood of the two parts is largest. Fisher's exact test of that point, times the number of points, says
whether there was a change at all. Points whose log likelihood is less than 1.92 lower are the range in which it lies.

Worsley KJ. The power of likelihood ratio and cumulative sum tests for a change in a binomial probability. Biometrika
1983;70:455–464. doi:10.1093/biomet/70.2.455
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import comb, log

BELOW = 1.92
"""Half of the 95% quantile of χ² with one degree of freedom."""


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
    >>> found = find_onset([False] * 9 + [True] * 6, range(15))
    >>> found.before, found.marked_after, found.first, found.last, found.p_value < 0.01
    (9, 6, 9, 9, True)
    """
    n, sums = len(marked), [0, *accumulate(map(int, marked))]
    points = [k for k in range(1, n) if times[k] > times[k - 1]]
    fits = {k: _fit(sums[k], k) + _fit(sums[n] - sums[k], n - k) for k in points}
    rising = [k for k in points if sums[k] * (n - k) < (sums[n] - sums[k]) * k]
    if not rising:
        return None
    best = max(rising, key=lambda k: fits[k])
    near = [k for k in rising if fits[k] >= fits[best] - BELOW]
    x = sums[best]
    p = sum(comb(best, i) * comb(n - best, sums[n] - i) for i in range(x + 1) if 0 <= sums[n] - i <= n - best)
    p_value = min(1.0, len(points) * p / comb(n, sums[n]))
    return Onset(best, n - best, x, sums[n] - x, near[0], near[-1], p_value)


def _fit(marked: int, n: int) -> float:
    """Log likelihood of a part at its own share."""
    return sum(count * log(count / n) for count in (marked, n - marked) if count)

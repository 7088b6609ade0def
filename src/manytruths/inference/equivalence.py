"""Is a mean below a margin, above it, or can that not be told? Student's t over subjects, corrected for skewness.

With the mean m of n subjects, their standard error s = SD/√n, their skewness g, and t the quantile of Student's
distribution with n − 1 degrees of freedom, the ends of the interval are ::

    low, high        m ∓ t s
    and further out  by s c(t) at the end to which the values are skewed,  c(t) = |g|/√n · (2t² + 1)/6

    bound < δ        below the margin δ; where low > 0 too, above 0 by less than δ
    low > δ          above the margin

where the bound is the upper end of an interval of 1 − (1 − level)/5, of 99% beside one of 95%. Differences of Dice are
skewed: a few cases are far worse than the others. Student's upper end alone then lies below the true mean too often (in
4% to 7% instead of 2.5% of studies with a skewness of 1.4; with the correction 3% to 6%, and 2% to 5% with one of 1.1,
which readings of lung nodules have). Where a few cases fail altogether (a skewness of 4) it does in 5% to 10%, since a
small sample may hold none of them, and nothing in such a sample shows it: refusing samples with an outlier, or with a
large skewness, leaves 9% at ten subjects. So a claim that the mean is below the margin needs the bound, which lies
below the true mean in at most 5% of those studies. The p values that go with the ends are two-sided, and that of
"below" five times as large: they are at most 1 − level exactly where the end lies on one side of the margin.
Everything works along the last axis, so that many studies are judged at once.

Schuirmann DJ. A comparison of the two one-sided tests procedure and the power approach for assessing the equivalence
of average bioavailability. J Pharmacokinet Biopharm 1987;15:657–680. doi:10.1007/BF01068419. Hall P. Inverting an
Edgeworth expansion. Ann Stat 1983;11:569–576. doi:10.1214/aos/1176346162
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Values = NDArray[np.float64]
Verdict = Literal["within", "worse", "worse_within", "unknown"]
"""Of a mean that is better the smaller: below the margin; above it; between 0 and the margin; cannot be told."""
ROUNDING = 1e-12
"""Differences of Dice below it are rounding."""
CAUTION = 5
"""How many times as large the p value of "below the margin" is as Student's, for samples that hold no failure."""
SYMMETRIC = 1e-9
"""Skewness/√n below which nothing is corrected."""


@dataclass(frozen=True, eq=False)
class MeanLimits:
    """Means with intervals; NaN values are left out of them."""

    mean: Values
    error: Values
    """Standard error of the mean; NaN of fewer than two values."""
    n: NDArray[np.int64]
    """Number of values."""
    skewness: Values
    """Of the values, corrected for bias; 0 of fewer than three, and where they are all the same."""
    level: float = 0.95

    @property
    def low(self) -> Values:
        """Lower ends of the intervals."""
        return self.mean - self.error * self._reach(-self._k)

    @property
    def high(self) -> Values:
        """Upper ends of the intervals."""
        return self.mean + self.error * self._reach(self._k)

    @property
    def bound(self) -> Values:
        """What has to lie below a margin for the mean to be called so: the upper ends at a higher level."""
        return self.mean + self.error * self._reach(self._k, (1 - self.level) / CAUTION)

    def _reach(self, k: Values, error_rate: float | None = None) -> Values:
        """How many standard errors an end lies from the mean; ``k`` is above 0 where values are skewed to its side."""
        from scipy.special import stdtrit

        t = np.asarray(stdtrit(self._freedom, 1 - (1 - self.level if error_rate is None else error_rate) / 2))
        return np.asarray(t + np.maximum(k, 0) * (2 * t**2 + 1) / 6)

    @property
    def _freedom(self) -> NDArray[np.int64]:
        return np.maximum(self.n - 1, 1)

    @property
    def _k(self) -> Values:
        return np.asarray(self.skewness / np.sqrt(np.maximum(self.n, 1)))

    def p_below(self, margin: float) -> Values:
        """Cautious p of "the mean is not below the margin"; small where it is below."""
        return np.asarray(np.minimum(1.0, CAUTION * self._p(margin, 1)))

    def p_above(self, margin: float) -> Values:
        """Two-sided p of "the mean is not above the margin"; small where it is above."""
        return self._p(margin, -1)

    def p_under(self, margin: float) -> Values:
        """Two-sided p of "the mean is not below the margin", without the caution of :meth:`p_below`."""
        return self._p(margin, 1)

    def _p(self, margin: float, sign: int) -> Values:
        from scipy.special import stdtr

        # values that differ by rounding alone have no error: their mean is known
        error, apart = (np.where(np.abs(part) < ROUNDING, 0.0, part) for part in (self.error, margin - self.mean))
        with np.errstate(divide="ignore", invalid="ignore"):
            reached = np.where((error == 0) & (apart == 0), 0.0, sign * apart / error)
        return np.asarray(np.minimum(1.0, 2 * stdtr(self._freedom, -self._quantile_at(reached, sign * self._k))))

    def _quantile_at(self, reach: Values, k: Values) -> Values:
        """The t whose end lies so many standard errors from the mean: k t²/3 + t + k/6 = reach."""
        k = np.where(k > SYMMETRIC, k, SYMMETRIC)
        with np.errstate(invalid="ignore"):
            root = np.sqrt(np.maximum(1 + 4 * k / 3 * (reach - k / 6), 0))
        return np.where((k <= SYMMETRIC) | np.isinf(reach) | (reach <= k / 6), reach, (root - 1) * 3 / (2 * k))


def mean_limits(values: ArrayLike, level: float = 0.95) -> MeanLimits:
    """Means along the last axis (subjects) with their standard errors and skewness.

    >>> found = mean_limits([0.1, 0.2, 0.3, np.nan])
    >>> round(float(found.low), 3), round(float(found.high), 3), int(found.n)
    (-0.048, 0.448, 3)
    """
    table = np.asarray(values, np.float64)
    known = ~np.isnan(table)
    n = known.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean = np.where(known, table, 0.0).sum(axis=-1) / n
        apart = np.where(known, table - mean[..., None], 0.0)
        variance = (apart**2).sum(axis=-1) / n
        error = np.sqrt(variance / np.where(n > 1, n - 1, np.nan))
        skewness = (apart**3).sum(axis=-1) / n / variance**1.5 * np.sqrt(n * (n - 1.0)) / (n - 2)
    usable = (n > 2) & (error > ROUNDING)
    return MeanLimits(mean, error, n, np.where(usable, skewness, 0.0), level)


def judge_margin(low: float, bound: float, margin: float) -> Verdict:
    """What the lower end of an interval and the bound say about a margin.

    >>> [judge_margin(*ends, 0.1) for ends in ((-0.02, 0.05), (0.02, 0.05), (0.11, 0.2), (0.02, 0.2))]
    ['within', 'worse_within', 'worse', 'unknown']
    """
    if bound < margin:
        return "worse_within" if low > 0 else "within"
    return "worse" if low > margin else "unknown"

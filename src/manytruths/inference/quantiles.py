"""Quantiles of the beta and Student's distributions, without SciPy, whose import takes longer than ``agree`` computes.

The incomplete beta function is evaluated by its continued fraction (NIST Digital Library of Mathematical Functions,
8.17.22); quantiles are roots of it. Degrees of freedom need not be whole numbers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

TINY = 1e-300


@lru_cache(maxsize=256)
def student_quantile(probability: float, df: float) -> float:
    """Quantile of Student's distribution.

    >>> round(student_quantile(0.975, 9), 4), round(student_quantile(0.975, 6.5), 4)
    (2.2622, 2.402)
    """
    tail = 2 * min(probability, 1 - probability)
    if tail == 1:
        return 0.0
    # df / (df + t²) has a beta distribution
    x = beta_quantile(tail, df / 2, 0.5)
    t = math.sqrt(df * (1 - x) / x) if x > 0 else math.inf
    return t if probability >= 0.5 else -t


def proportion_interval(count: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Exact interval of a proportion: ``count`` of ``n``, which may be effective numbers.

    Clopper CJ, Pearson ES. The use of confidence or fiducial limits illustrated in the case of the binomial. Biometrika
    1934;26:404–413. doi:10.1093/biomet/26.4.404

    >>> [round(end, 3) for end in proportion_interval(2, 20)]
    [0.012, 0.317]
    """
    tail = (1 - level) / 2
    low = beta_quantile(tail, count, n - count + 1) if count else 0.0
    high = 1 - beta_quantile(tail, n - count, count + 1) if count < n else 1.0
    return low, high


def clustered_proportion_interval(
    counts: Sequence[int], sizes: Sequence[int], level: float = 0.95
) -> tuple[float, float]:
    """Interval of a proportion of items that come in clusters: ``counts`` of ``sizes`` in each; NaN of one cluster.

    The exact interval of as many independent items as tell as much, by the variance between clusters, and with
    Student's quantile for their number. Where all items answer alike, nothing tells how alike those of a cluster are,
    and each cluster counts as one item. Clusters of one item give the exact interval.

    Korn EL, Graubard BI. Confidence intervals for proportions with small expected number of positive counts estimated
    from survey data. Surv Methodol 1998;24:193–201.

    >>> [round(end, 3) for end in clustered_proportion_interval([2] + [0] * 9, [2] * 10)]
    [0.001, 0.508]
    >>> clustered_proportion_interval([1, 1] + [0] * 18, [1] * 20) == proportion_interval(2, 20)
    True
    """
    filled = [(count, size) for count, size in zip(counts, sizes, strict=True) if size]
    hits, items, clusters = sum(count for count, _ in filled), sum(size for _, size in filled), len(filled)
    if items == clusters:
        return proportion_interval(hits, items, level)
    if clusters < 2:
        return math.nan, math.nan
    share = hits / items
    if hits in (0, items):
        return proportion_interval(clusters if hits else 0, clusters, level)
    spread = sum((count - share * size) ** 2 for count, size in filled) * clusters / (clusters - 1)
    design = max(1.0, spread / (items * share * (1 - share)))
    quantile = (1 + level) / 2
    few = student_quantile(quantile, items - 1) / student_quantile(quantile, clusters - 1)
    effective = items / design * few**2
    return proportion_interval(share * effective, effective, level)


def beta_quantile(probability: float, a: float, b: float) -> float:
    """Quantile of a beta distribution: Newton's method, held between ends that bracket the root."""
    low, high, x = 0.0, 1.0, a / (a + b)
    for _ in range(200):
        error = beta_cdf(x, a, b) - probability
        low, high = (low, x) if error > 0 else (x, high)
        density = math.exp(_log_density(x, a, b))
        step = x - error / density if density > TINY else math.nan
        after = step if low < step < high else (low + high) / 2
        if abs(after - x) <= 1e-14 * x:
            return after
        x = after
    return x


def beta_cdf(x: float, a: float, b: float) -> float:
    """Cumulative distribution function of a beta distribution (the regularised incomplete beta function)."""
    if x <= 0 or x >= 1:
        return float(x >= 1)
    if x > (a + 1) / (a + b + 2):
        return 1 - beta_cdf(1 - x, b, a)
    return math.exp(_log_density(x, a, b)) * x * (1 - x) / a * _continued_fraction(x, a, b)


def _log_density(x: float, a: float, b: float) -> float:
    scale = math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
    return scale + (a - 1) * math.log(x) + (b - 1) * math.log1p(-x)


def _continued_fraction(x: float, a: float, b: float) -> float:
    """Lentz's algorithm; it converges fast below (a + 1) / (a + b + 2)."""
    c, d = 1.0, 1 / _away_from_zero(1 - (a + b) * x / (a + 1))
    value = d
    for m in range(1, 2000):
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        for term in (even, odd):
            d = 1 / _away_from_zero(1 + term * d)
            c = _away_from_zero(1 + term / c)
            value *= c * d
        if abs(c * d - 1) < 1e-16:
            break
    return value


def _away_from_zero(value: float) -> float:
    return value if abs(value) > TINY else TINY

"""Intraclass correlation of tens of thousands of targets, against the analysis of variance on a long table."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy.stats import f

from manytruths import icc

from .measuring import Result, at_most, best, side_by_side


def rated(targets: int, raters: int) -> np.ndarray:
    """Targets with a standard deviation of 2, errors of 1, raters of 0.1."""
    rng = np.random.default_rng(0)
    return 2 * rng.normal(size=(targets, 1)) + 0.1 * rng.normal(size=(1, raters)) + rng.normal(size=(targets, raters))


def by_long_table(table: pd.DataFrame) -> tuple[float, float, float]:
    """ICC(A,1) and its interval as pingouin has them: sums of squares of a long table, by groups."""
    n, k, mean = table["target"].nunique(), table["rater"].nunique(), table["size"].mean()
    subject = k * ((table.groupby("target")["size"].mean() - mean) ** 2).sum()
    rater = n * ((table.groupby("rater")["size"].mean() - mean) ** 2).sum()
    error = ((table["size"] - mean) ** 2).sum() - subject - rater
    s, r, e = subject / (n - 1), rater / (k - 1), error / ((n - 1) * (k - 1))
    value = (s - e) / (s + (k - 1) * e + k * (r - e) / n)
    ratio = r / e
    above = (k - 1) * (n - 1) * (k * value * ratio + n * (1 + (k - 1) * value) - k * value) ** 2
    below = (n - 1) * k**2 * value**2 * ratio**2 + (n * (1 + (k - 1) * value) - k * value) ** 2
    v = above / below
    upper, lower = f.ppf(0.975, n - 1, v), f.ppf(0.975, v, n - 1)
    low = n * (s - upper * e) / (upper * (k * r + e * (k * n - k - n)) + n * s)
    return value, low, n * (lower * s - e) / (k * r + e * (k * n - k - n) + n * lower * s)


def correlations() -> Iterator[Result]:
    sizes = rated(60_000, 2)
    table = pd.DataFrame({
        "target": np.repeat(np.arange(60_000), 2), "rater": np.tile([0, 1], 60_000), "size": sizes.ravel(),
    })  # fmt: skip
    found = icc(sizes)
    assert np.allclose((float(found), found.low, found.high), by_long_table(table), atol=1e-10), "they differ"
    ours, peer = side_by_side(lambda: icc(sizes), lambda: by_long_table(table))
    times = f"{ours * 1e3:.1f} ms, pandas {peer * 1e3:.1f} ms"
    yield at_most("ICC(A,1) with interval, 60,000 × 2", "long table in pandas", ours * 1e3, 50, times, unit="ms")
    some = sizes.copy()
    some[::100, 0] = np.nan
    fitted = icc(some)
    assert abs(fitted - found) < 0.001, "gaps change it"
    assert fitted.low < fitted < fitted.high, "there is no interval"
    yield at_most("  with 600 gaps: REML, 1,000 simulated tables", "", best(lambda: icc(some)) * 1e3, 500, unit="ms")


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"icc": correlations}

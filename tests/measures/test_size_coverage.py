"""How often intervals of tables with gaps, and of subjects with several cases, hold the true value."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt

pytestmark = pytest.mark.slow
STUDIES = 1000


@pytest.mark.parametrize("kind", ["A,1", "C,1"])
@pytest.mark.parametrize(("n", "k", "missing"), [(20, 4, 0.2), (12, 3, 0.3)])
def test_tables_with_gaps(kind, n, k, missing):
    """Variances 7 of subjects, 1 of raters, 2 of errors; those raters are a sample of many."""
    rng, truth, hits = np.random.default_rng(1), 0.7 if kind == "A,1" else 7 / 9, 0
    for _ in range(STUDIES):
        y = np.sqrt(7) * rng.standard_normal((n, 1)) + rng.standard_normal((1, k))
        y = y + np.sqrt(2) * rng.standard_normal((n, k))
        y[rng.random(y.shape) < missing] = np.nan
        found = mt.icc(y, kind, resamples=400)
        hits += found.low <= truth <= found.high
    assert 0.92 <= hits / STUDIES <= 0.98


@pytest.mark.parametrize(("n", "k", "missing"), [(20, 4, 0.2), (50, 3, 0.2)])
def test_generalized_intervals_of_tables_with_gaps(n, k, missing):
    """Variances 5 of subjects, 2 of raters, 1 of errors, where the other interval covers 87% and 78%."""
    rng, hits = np.random.default_rng(2), 0
    for _ in range(STUDIES):
        y = np.sqrt(5) * rng.standard_normal((n, 1)) + np.sqrt(2) * rng.standard_normal((1, k))
        y = y + rng.standard_normal((n, k))
        y[rng.random(y.shape) < missing] = np.nan
        found = mt.icc(y, resamples=1, interval="generalized")
        hits += found.low <= 5 / 8 <= found.high
    assert 0.93 <= hits / STUDIES <= 0.98


@pytest.mark.parametrize(("n", "m"), [(12, 3), (30, 3)])
def test_subjects_with_several_cases(n, m):
    """Cases of a subject are alike, and so are a rater's errors there."""
    rng, names = np.random.default_rng(1), np.repeat(np.arange(n), m)
    hits = dict.fromkeys(("icc", "limit", "mean"), 0)
    for _ in range(STUDIES):
        shared = 2 * rng.standard_normal((n, 1)) + np.sqrt(0.5) * rng.standard_normal((n, 3))
        y = (
            shared[names]
            + np.sqrt(3) * rng.standard_normal((n * m, 1))
            + np.sqrt(1.5) * rng.standard_normal((n * m, 3))
        )
        r = mt.icc(y, "C,1", subjects=names)
        hits["icc"] += r.low <= 7 / 9 <= r.high
        upper = mt.bland_altman(y[:, 0], y[:, 1], subjects=names).upper
        hits["limit"] += upper.low <= 1.96 * 2 <= upper.high
        limit = mt.limits_with_mean(y, subjects=names).limit
        hits["mean"] += limit.low <= 1.96 * np.sqrt(4 / 3) <= limit.high
    for name, count in hits.items():
        assert 0.92 <= count / STUDIES <= 0.98, name

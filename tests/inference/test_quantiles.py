"""Quantiles against SciPy's."""

import math

import numpy as np
import pytest
from scipy import stats

from manytruths.inference.quantiles import (
    beta_cdf,
    beta_quantile,
    clustered_proportion_interval,
    proportion_interval,
    student_quantile,
)


@pytest.mark.parametrize("df", [1, 2, 2.3, 4.5, 7, 9, 19.7, 49, 199, 1999])
def test_students_quantile_is_scipys_for_whole_and_fractional_degrees_of_freedom(df):
    for probability in (0.0005, 0.1, 0.5, 0.6, 0.9, 0.975, 0.9995, 1 - 1e-8):
        assert student_quantile(probability, df) == pytest.approx(stats.t.ppf(probability, df), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.5), (0.5, 20), (3, 7.5), (200, 1), (1000, 800)])
def test_the_beta_distribution_is_scipys(a, b):
    for probability in (1e-6, 0.025, 0.5, 0.975):
        x = stats.beta.ppf(probability, a, b)
        assert beta_cdf(x, a, b) == pytest.approx(probability, rel=1e-9)
        assert beta_quantile(probability, a, b) == pytest.approx(x, rel=1e-9)
    assert (beta_cdf(0, a, b), beta_cdf(1, a, b)) == (0, 1)


@pytest.mark.parametrize("n", [1, 10, 21, 500])
def test_proportions_have_the_interval_of_clopper_and_pearson(n):
    for count in {0, 1, n // 3, n - 1, n}:
        for level in (0.8, 0.95):
            wanted = stats.binomtest(count, n).proportion_ci(level, "exact")
            assert proportion_interval(count, n, level) == pytest.approx((wanted.low, wanted.high), abs=1e-10)


@pytest.mark.parametrize("seed", range(8))
def test_shares_of_clustered_items_against_the_formulas_of_a_survey(seed):
    """Korn and Graubard's interval, by SciPy's quantiles."""
    rng = np.random.default_rng(seed)
    sizes = 1 + rng.poisson(4, 12)
    counts = rng.binomial(sizes, rng.beta(0.6, 0.9, 12))
    n, p, m = sizes.sum(), counts.sum() / sizes.sum(), len(sizes)
    variance = m / (m - 1) * ((counts - p * sizes) ** 2).sum() / n**2
    effective = p * (1 - p) / max(variance, p * (1 - p) / n)
    effective *= (stats.t.ppf(0.975, n - 1) / stats.t.ppf(0.975, m - 1)) ** 2
    ends = [
        stats.beta.ppf(0.025, effective * p, effective * (1 - p) + 1),
        stats.beta.ppf(0.975, effective * p + 1, effective * (1 - p)),
    ]
    assert clustered_proportion_interval(counts.tolist(), sizes.tolist()) == pytest.approx(ends, rel=1e-9)


def test_clustered_items_that_tell_nothing_or_are_single():
    assert clustered_proportion_interval([1, 0, 1], [1, 1, 1]) == proportion_interval(2, 3)
    assert all(map(math.isnan, clustered_proportion_interval([2], [5])))
    # nothing tells how alike those of a cluster are: each counts as one
    assert clustered_proportion_interval([0, 0, 0], [4, 9, 1]) == proportion_interval(0, 3)
    assert clustered_proportion_interval([4, 9, 1], [4, 9, 1]) == proportion_interval(3, 3)
    assert clustered_proportion_interval([3, 0, 1], [5, 0, 5]) == clustered_proportion_interval([3, 1], [5, 5])

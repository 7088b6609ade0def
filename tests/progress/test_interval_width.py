"""How many subjects an interval of a mean needs."""

from __future__ import annotations

import numpy as np
import pytest

from manytruths import CallError
from manytruths.inference.intervals import mean_intervals
from manytruths.ratings.planning.interval_width import subjects_for_width


def width_of(values, scale):
    found = mean_intervals(values[:, None], scale)[0]
    return found.high - found.low


def test_so_many_subjects_like_these_have_that_width():
    """Values repeated have the same mean and, but for n − 1, the same deviation."""
    values = np.random.default_rng(0).beta(8, 2, 40)
    for scale in ("share", "plain"):
        found = subjects_for_width(values, 0.03, scale)
        times = round(found.subjects / 40)
        assert width_of(np.tile(values, times + 1), scale) < 0.03 < width_of(np.tile(values, times - 1), scale)
        assert found.width == pytest.approx(width_of(values, scale))
        assert found.so_far == 40
        assert found.low <= found.subjects <= found.high


@pytest.mark.parametrize("draw", [lambda rng, n: rng.normal(0.7, 0.1, n), lambda rng, n: rng.beta(8, 2, n),
                                  lambda rng, n: 1 - rng.gamma(2, 0.05, n)])  # fmt: skip
@pytest.mark.parametrize("n", [15, 40])
def test_the_range_holds_the_number_of_the_true_deviation(draw, n):
    rng = np.random.default_rng(n)
    many = draw(rng, 200_000)
    target = 2 * 1.96 * many.std() / np.sqrt(150)
    held = 0
    for _ in range(300):
        found = subjects_for_width(draw(rng, n), target, "plain")
        held += found.low <= 151 <= found.high
    assert held >= 300 * 0.88


def test_a_width_that_is_reached_needs_no_more():
    values = np.random.default_rng(1).normal(0.8, 0.01, 30)
    found = subjects_for_width(values, 0.1, "share")
    assert found.subjects == 10
    assert found.width < 0.1


def test_nothing_is_said_of_few_or_of_equal_values():
    assert subjects_for_width([0.5] * 9, 0.1) is None
    assert subjects_for_width([0.5] * 20, 0.1) is None
    assert subjects_for_width([0.5, 0.6] * 5 + [np.nan], 0.1).so_far == 10
    with pytest.raises(CallError, match="above 0"):
        subjects_for_width([0.5, 0.6] * 5, 0)

"""Claims about algorithms are made in at most 5% of the studies in which they are false."""

from __future__ import annotations

import pytest

from simulations.algorithms import interchangeability_rates, rank_set_coverage, skewed_rates, winner_rates

pytestmark = pytest.mark.slow
ALPHA = 0.05


def test_verdicts_on_interchangeability_at_their_least_favourable_points() -> None:
    rates = list(interchangeability_rates(1500, raters=(3, 8)))
    assert {rate.claim for rate in rates if rate.false} == {
        "algorithms.interchangeable", "algorithms.worse", "algorithms.worse_within",
    }  # fmt: skip
    assert [rate for rate in rates if rate.false and rate.lower_limit > ALPHA] == []
    power = [rate.rate for rate in rates if not rate.false and rate.subjects == 50]
    assert min(power) > 0.8, "and they are made where they are true"


def test_a_few_cases_that_fail_make_no_more_false_verdicts() -> None:
    """With the 95% limit in place of the bound, 10% of the studies of ten subjects had one."""
    rates = list(skewed_rates(3000, raters=(3, 8), labels=(1,)))
    assert {rate.subjects for rate in rates} == {10, 20, 50}
    assert [rate for rate in rates if rate.lower_limit > ALPHA] == []


def test_a_winner_among_equals() -> None:
    rates = list(winner_rates(600))
    assert [rate for rate in rates if rate.lower_limit > ALPHA] == []


def test_rank_sets_hold_the_ranks_near_ties_where_bootstrap_ranges_do_not() -> None:
    shares = rank_set_coverage(200)
    # 95% less three standard errors of 200 studies
    assert min(sets for sets, _ in shares.values()) > 0.95 - 3 * (0.95 * 0.05 / 200) ** 0.5
    assert min(ranges for _, ranges in shares.values()) < 0.9

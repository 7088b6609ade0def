"""Claims about groups are made in at most 5% of the studies in which they are false."""

from __future__ import annotations

import pytest

from simulations.groups import FAILING, CaseScenario, GroupScenario, case_group_rate, group_rates, rater_group_rate

pytestmark = pytest.mark.slow
ALPHA = 0.05


def test_groups_that_do_not_differ_are_not_called_different() -> None:
    rates = [rate for rate in group_rates(600) if rate.truth != FAILING]
    assert {rate.claim for rate in rates if rate.false} == {"groups.raters", "groups.cases"}
    assert [rate for rate in rates if rate.false and rate.lower_limit > ALPHA] == []


def test_groups_that_differ_are_found() -> None:
    assert rater_group_rate(GroupScenario(5, 5, care=0.1, worse=1.5), 20, 200) > 0.8
    assert case_group_rate(CaseScenario(lower=0.3), (20, 20), 200) > 0.65

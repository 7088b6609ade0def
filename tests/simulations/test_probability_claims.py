"""Claims about probability maps and samples are made in at most 5% of the studies in which they are false."""

from __future__ import annotations

import pytest

from simulations.probability import map_rates, spread_rates

pytestmark = pytest.mark.slow
ALPHA = 0.05


def test_calibrated_maps_are_not_called_anything_else() -> None:
    rates = list(map_rates(200))
    assert [rate for rate in rates if rate.false and rate.lower_limit > ALPHA] == []
    power = {(rate.claim, rate.subjects): rate.rate for rate in rates if not rate.false}
    assert power["probability.confidence", 20] > 0.9, "and what is false is found"


def test_samples_drawn_as_raters_draw_do_not_differ_from_them() -> None:
    rates = list(spread_rates(500))
    assert [rate for rate in rates if rate.false and rate.lower_limit > ALPHA] == []
    assert min(rate.rate for rate in rates if not rate.false) > 0.9

"""Claims about probability maps and samples are made in at most 5% of the studies in which they are false."""

from __future__ import annotations

import numpy as np
import pytest

from simulations.probability import claims_of_maps, draw_forecasts, map_rates, spread_rates

pytestmark = pytest.mark.slow
ALPHA = 0.05


def test_calibrated_maps_are_not_called_anything_else() -> None:
    rates = list(map_rates(200))
    assert [rate for rate in rates if rate.false and rate.lower_limit > ALPHA] == []
    power = {(rate.claim, rate.subjects): rate.rate for rate in rates if not rate.false}
    assert power["probability.confidence", 20] > 0.9, "and what is false is found"


def test_shares_of_samples_are_not_judged_as_probabilities_are() -> None:
    """By chance they are nearer to 0 and 1 than what is right: samples drawn as raters draw would be overconfident."""
    rng = np.random.default_rng(3)
    drawn = [draw_forecasts(rng, 20, 5, 0.0, 4, samples=4) for _ in range(100)]
    unguarded = np.mean([claims_of_maps(sums, 5) for sums in drawn], axis=0)
    assert unguarded.min() > 0.7
    assert not any(any(claims_of_maps(sums, 5, "4 samples")) for sums in drawn)


def test_samples_drawn_as_raters_draw_do_not_differ_from_them() -> None:
    rates = list(spread_rates(500))
    assert [rate for rate in rates if rate.false and rate.lower_limit > ALPHA] == []
    assert min(rate.rate for rate in rates if not rate.false) > 0.9

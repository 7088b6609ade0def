"""A model, the other raters and another rater, each against the same held-out rater: loops over raters."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths import CallError
from manytruths.core.undefined import code


@pytest.fixture
def raters():
    rng = np.random.default_rng(0)
    truth = np.cumsum(rng.normal(size=400)) > 0
    return {name: truth ^ (rng.random(400) < 0.1) for name in "ABCD"}


@pytest.mark.parametrize("metric", [mt.brier, mt.expected_calibration_error])
@pytest.mark.parametrize("region", ["image", "union"])
def test_forecasts_are_loops_over_raters(raters, metric, region):
    p = np.random.default_rng(1).random(400).round(2)
    found = mt.compare_held_out(metric, p, raters, region=region)
    inside = np.any(list(raters.values()), axis=0) if region == "union" else np.ones(400, bool)
    assert found.raters == tuple(raters)
    for i, name in enumerate(raters):
        own = [raters[name][inside]]
        others = [mask for other, mask in raters.items() if other != name]
        assert found.model[i] == pytest.approx(metric(p[inside], own), abs=1e-12)
        assert found.others[i] == pytest.approx(metric(np.mean(others, axis=0)[inside], own), abs=1e-12)
        alone = [metric(mask[inside].astype(float), own) for mask in others]
        assert found.another[i] == pytest.approx(np.mean(alone), abs=1e-12)
    assert found.mean_model == pytest.approx(found.model.mean())


def test_samples_are_loops_over_raters(raters):
    rng = np.random.default_rng(2)
    drawn = {f"s{i}": mask ^ (rng.random(400) < 0.05) for i, mask in enumerate(raters.values())}
    table = mt.tally(raters, predictions=drawn)
    for given, masks in ((drawn, raters), (None, table), (mt.sample_distances(drawn, raters), None)):
        energy = mt.compare_held_out(mt.energy_distance, given, masks)
        matched = mt.compare_held_out(mt.matched_iou, given, masks)
        for i, name in enumerate(raters):
            own, others = {name: raters[name]}, {k: v for k, v in raters.items() if k != name}
            assert energy.model[i] == pytest.approx(mt.energy_distance(drawn, own, unbiased="samples"), abs=1e-12)
            assert energy.others[i] == pytest.approx(mt.energy_distance(others, own, unbiased="samples"), abs=1e-12)
            single = [mt.energy_distance({k: v}, own) for k, v in others.items()]
            assert energy.another[i] == pytest.approx(np.mean(single), abs=1e-12)
            assert matched.others[i] == pytest.approx(mt.matched_iou(others, own), abs=1e-12)
    biased = mt.compare_held_out(mt.energy_distance, drawn, raters, unbiased=False)
    assert (biased.others > energy.others).all()


def test_volumes_are_loops_over_raters(raters):
    rng = np.random.default_rng(3)
    drawn = {f"s{i}": mask ^ (rng.random(400) < 0.05) for i, mask in enumerate(raters.values())}
    table = mt.tally(raters, predictions=drawn)
    sizes = {name: 0.5 * mask.sum() for name, mask in raters.items()}
    model = mt.Volumes([0.5 * mask.sum() for mask in drawn.values()])
    for given, masks in ((drawn, raters), (None, table), (model, raters)):
        found = mt.compare_held_out(mt.crps_volume, given, masks, item=0.5)
        for i, name in enumerate(raters):
            own = mt.Volumes([sizes[name]])
            others = [size for other, size in sizes.items() if other != name]
            assert found.model[i] == pytest.approx(mt.crps_volume(model, own, unbiased=True), abs=1e-12)
            assert found.others[i] == pytest.approx(mt.crps_volume(mt.Volumes(others), own, unbiased=True), abs=1e-12)
            assert found.another[i] == pytest.approx(np.mean(np.abs(np.array(others) - sizes[name])), abs=1e-12)


def test_a_model_that_says_the_share_of_all_raters_looks_better_than_they_can():
    """It has seen the held-out rater; the others have not."""
    rng = np.random.default_rng(4)
    masks = {name: rng.random(3000) < 0.5 for name in "ABC"}
    found = mt.compare_held_out(mt.brier, np.mean(list(masks.values()), axis=0), masks)
    assert found.mean_model < found.mean_others < found.mean_another
    assert found.to_frame().shape == (3, 3)
    assert repr(found).startswith("<HeldOut brier of 3 raters: model 0.1")


def test_two_raters_and_pixels_that_only_one_rated():
    masks = {"A": [1, 1, 0, 9], "B": [1, 0, 9, 9], "C": None}
    found = mt.compare_held_out(mt.brier, mt.count_responses([0.5, 0.5, 0.5, 0.5], masks, void=9))
    assert found.raters == ("A", "B")
    assert found.model.tolist() == [0.25, 0.25]
    assert found.others.tolist() == found.another.tolist() == [0.5, 0.5]
    energy = mt.compare_held_out(mt.energy_distance, [[1, 0], [1, 1]], [[1, 0], [1, 1]])
    assert np.isnan(energy.others).all()
    assert code(energy.mean_others) == "undefined_for_every_rater"


def test_what_cannot_be_compared(raters):
    with pytest.raises(CallError, match="metric is one of brier"):
        mt.compare_held_out(mt.dice, [0.5], [[1], [0]])
    with pytest.raises(CallError, match="at least two"):
        mt.compare_held_out(mt.brier, [0.5], [[1]])
    with pytest.raises(CallError, match="second argument"):
        mt.compare_held_out(mt.crps_volume, mt.Volumes([1.0]))

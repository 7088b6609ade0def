"""Energy distances of batches: those of the library, image by image, whatever the matrix product does."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import manytruths as mt
from batches import DEVICES, batches, drawn
from manytruths import CallError
from manytruths.learning import energy, energy_distance
from manytruths.learning.energy import intersections

FORMS = (False, "samples", "both", True)


def by_the_library(samples, masks, present, labels, unbiased):
    """Each image by itself; nan where the library says why there is no number."""
    found = []
    for n in range(len(samples)):
        own = masks[n] if present is None else masks[n][present[n]]
        if not len(own):
            found.append(np.nan)
            continue
        known = mt.sample_distances(list(samples[n].numpy()), list(own.numpy()), labels=range(labels))
        found.append(float(mt.energy_distance(known, unbiased=unbiased)))
    return found


@given(batches(raters=(2, 5), presence=(None, "image")), st.integers(2, 4), st.sampled_from(FORMS), st.randoms())
def test_it_is_that_of_the_library(batch, count, unbiased, random):
    masks, present, labels = batch
    samples = torch.zeros((len(masks), count, *masks.shape[2:]), dtype=torch.uint8)
    samples.flatten()[:] = torch.tensor([random.randrange(labels) for _ in range(samples.numel())])
    found = energy_distance(samples, masks, present, labels, unbiased)
    assert found.dtype == torch.float64
    wanted = by_the_library(samples, masks, present, labels, unbiased)
    assert found.numpy() == pytest.approx(wanted, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("labels", [2, 4])
@pytest.mark.parametrize("shape", [(3, 40, 37), (2, 7, 9, 8)])
def test_masks_as_networks_give_them(device, labels, shape):
    samples, masks = drawn(shape, 16, labels, 1), drawn(shape, 5, labels, 2)
    wanted = by_the_library(samples, masks, None, labels, "both")
    kinds = [torch.uint8, torch.int64, torch.float32] + [torch.bool] * (labels == 2)
    for kind in kinds:
        found = energy_distance(samples.to(device, kind), masks.to(device, kind), labels=labels, unbiased="both")
        assert found.cpu().numpy() == pytest.approx(wanted, abs=1e-12)


def test_one_sample_and_one_rater_are_twice_their_distance():
    sample, rater = torch.tensor([[[[1, 1, 0]]]]), torch.tensor([[[[1, 0, 0]]]])
    assert energy_distance(sample, rater).tolist() == [1.0]
    assert energy_distance(sample, sample).tolist() == [0.0]


def test_the_raters_repeated_are_no_distance_away():
    masks = drawn((3, 20, 20), 5)
    assert energy_distance(masks.repeat(1, 3, 1, 1), masks).numpy() == pytest.approx(0, abs=1e-15)


def test_empty_masks_are_equal():
    nothing, something = torch.zeros(1, 2, 3, 3), torch.ones(1, 2, 3, 3)
    assert energy_distance(nothing, nothing).tolist() == [0.0]
    assert energy_distance(nothing, something).tolist() == [2.0]


def test_what_an_absent_rater_holds_does_not_matter():
    samples, masks = drawn((2, 9, 9), 4), drawn((2, 9, 9), 3, seed=1)
    present = torch.tensor([[True, False, True], [True, True, True]])
    wanted = energy_distance(samples[:1], masks[:1, [0, 2]])
    for value in (0, 1, 255):
        other = masks.clone()
        other[0, 1] = value
        found = energy_distance(samples, other, present)
        assert found[0].item() == pytest.approx(wanted.item(), abs=1e-15)


def test_nobody_rated_or_only_one_did():
    samples, masks = drawn((3, 5, 5), 2), drawn((3, 5, 5), 2, seed=1)
    present = torch.tensor([[False, False], [True, False], [True, True]])
    assert energy_distance(samples, masks, present).isnan().tolist() == [True, False, False]
    assert energy_distance(samples, masks, present, unbiased="both").isnan().tolist() == [True, True, False]


@pytest.mark.parametrize("device", DEVICES)
def test_more_pixels_than_a_float_can_count(device):
    """In float32 the sum would end at 2²⁴."""
    height, width = 4099, 4097
    full = torch.ones(1, 1, height, width, dtype=torch.uint8, device=device)
    assert float(torch.tensor(height * width, dtype=torch.float32)) != height * width > 1 << 24
    assert (intersections(full, full) == height * width).all()


@pytest.mark.parametrize("most", [1, 97, 5000])
def test_parts_do_not_matter(most, monkeypatch):
    samples, masks = drawn((2, 30, 11), 4), drawn((2, 30, 11), 3, seed=1)
    whole = intersections(samples, masks)
    monkeypatch.setattr(energy, "NUMBERS_AT_ONCE", most)
    assert torch.equal(intersections(samples, masks), whole)


@pytest.mark.parametrize("device", DEVICES)
def test_products_in_fewer_bits_are_as_exact(device):
    samples, masks = (torch.ones(1, n, 600, 500, dtype=torch.bool, device=device) for n in (2, 3))
    masks[..., 0] = False
    usual = torch.get_float32_matmul_precision()
    try:
        torch.set_float32_matmul_precision("medium")
        with torch.autocast(device, dtype=torch.bfloat16):
            found = intersections(samples.view(torch.uint8), masks.view(torch.uint8))
    finally:
        torch.set_float32_matmul_precision(usual)
    assert found[0, 0].tolist() == [300_000.0] * 2 + [600.0 * 499] * 3


@pytest.mark.parametrize(
    ("samples", "masks", "options", "said"),
    [
        ((1, 2, 4, 4), (2, 2, 4, 4), {}, "all sizes but the second must be equal"),
        ((1, 2, 4, 4), (1, 2, 4, 5), {}, "all sizes but the second must be equal"),
        ((1, 2, 4, 4), (1, 2, 4), {}, "do not match"),
        ((1, 0, 4, 4), (1, 2, 4, 4), {}, "at least one rater"),
        ((1, 1, 4, 4), (1, 2, 4, 4), {"unbiased": "samples"}, "needs two samples or more; got 1"),
        ((1, 2, 4, 4), (1, 1, 4, 4), {"unbiased": "both"}, "needs two raters or more; got 1"),
        ((1, 2, 4, 4), (1, 1, 4, 4), {"unbiased": True}, "needs two raters or more; got 1"),
        ((1, 2, 4, 4), (1, 2, 4, 4), {"unbiased": "raters"}, "unbiased= is False, 'samples', 'both' or True"),
        ((1, 2, 4, 4), (1, 2, 4, 4), {"labels": 1}, "labels must be 2 or more"),
        ((1, 2, 4, 4), (1, 2, 4, 4), {"present": torch.ones(1, 2, 4, 4, dtype=torch.bool)}, "needs whole masks"),
    ],
)
def test_wrong_calls(samples, masks, options, said):
    with pytest.raises(CallError, match=said):
        energy_distance(torch.zeros(samples), torch.zeros(masks), **options)


def test_probabilities_are_refused():
    with pytest.raises(CallError, match=r"is 0\.5, but labels are 0 to 1"):
        energy_distance(torch.full((1, 2, 4, 4), 0.5), torch.zeros(1, 2, 4, 4))

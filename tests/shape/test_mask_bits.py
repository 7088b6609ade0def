"""Masks as bits and as few bytes, against the same by pixels."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manytruths.shape.mask_bits import PackedMasks, compress_mask, decompress_mask
from manytruths.shape.mask_errors import STEPS, find_lags, profiles_of, shifted_overlap


@st.composite
def stacks(draw, most=90):
    """Masks of one case: empty, sparse, smooth, full."""
    shape = tuple(draw(st.lists(st.integers(1, most), min_size=1, max_size=3)))
    shape = (*(min(n, 12) for n in shape[:-2]), *shape[-2:])
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    masks = [rng.random(shape) < share for share in draw(st.lists(st.sampled_from([0, 0.01, 0.5, 1]), min_size=1))]
    block = np.zeros(shape, bool)
    block[tuple(slice(*sorted(rng.integers(0, n + 1, 2))) for n in shape)] = True
    return [*masks, block]


@settings(max_examples=60, deadline=None)
@given(stacks())
def test_a_mask_comes_back_from_its_bytes(masks):
    for mask in masks:
        np.testing.assert_array_equal(decompress_mask(compress_mask(mask), mask.shape), mask)


def test_runs_may_be_longer_than_a_small_number_holds():
    mask = np.zeros((700, 700), bool)
    mask[300:] = True
    mask[10, 10] = True
    np.testing.assert_array_equal(decompress_mask(compress_mask(mask), mask.shape), mask)


@settings(max_examples=60, deadline=None)
@given(stacks(), st.booleans(), st.data())
def test_profiles_and_overlaps_of_bits_are_those_of_pixels(masks, fortran, data):
    masks = [np.asfortranarray(mask) if fortran else mask for mask in masks]
    packed = PackedMasks.of(masks)
    wanted = [np.stack(axis) for axis in zip(*map(profiles_of, masks), strict=True)]
    for found, profile in zip(packed.profiles(), wanted, strict=True):
        np.testing.assert_array_equal(found, profile)
    offset = [data.draw(st.integers(-n - 2, n + 2)) for n in masks[0].shape]
    others = range(len(masks))
    assert packed.shifted_overlaps(0, others, offset) == [shifted_overlap(masks[0], masks[k], offset) for k in others]


def test_masks_of_other_memory_orders_are_not_packed():
    mask = np.zeros((6, 8), bool)
    assert PackedMasks.of([mask, np.asfortranarray(mask)]) is None
    assert PackedMasks.of([np.zeros((12, 8), bool)[::2]]) is None


@pytest.mark.parametrize("seed", range(12))
def test_lags_are_those_of_the_largest_correlation(seed):
    rng = np.random.default_rng(seed)
    lengths = [int(n) for n in rng.integers(2, 60, 2)]
    profiles = [rng.integers(0, 9, (4, n)).astype(float) * (np.arange(n) % 7 < 4) for n in lengths]
    among = (rng.random((4, 4)) < 0.6) & ~np.eye(4, dtype=bool)

    def correlation(mine, theirs):
        norm = np.sqrt((mine @ mine) * (theirs @ theirs)) or 1.0
        # the lag by which the first must move, from −(n − 1) to n − 1
        return np.correlate(theirs, mine, "full") / norm

    found = find_lags(profiles, among.astype(float))
    for i, pixels in enumerate(found):
        for axis, lag in zip(profiles, pixels, strict=True):
            mine, theirs = axis[i], among[i] @ axis
            if not (mine.any() and theirs.any()):
                assert lag == 0
                continue
            steps = np.pad(correlation(np.diff(mine), np.diff(theirs)), 1)
            total = correlation(mine, theirs) + STEPS * steps
            best = np.flatnonzero(total >= total.max() - 1e-9) - (axis.shape[1] - 1)
            assert lag in best
            assert abs(lag) == abs(best).min()

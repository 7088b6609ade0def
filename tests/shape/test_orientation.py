"""Masks saved the other way round are recognised; other opinions are not."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from data_folder import data
from manytruths import GridError
from manytruths.shape.mask_errors import find_turn


def blob(shape):
    """Nothing of it is symmetric."""
    grid = np.indices(shape)
    centre = [0.2 + 0.05 * axis for axis in range(len(shape))]
    parts = enumerate(zip(grid, shape, centre, strict=True))
    return sum(((g / n - c) / (0.08 + 0.03 * k)) ** 2 for k, (g, n, c) in parts) < 1


@pytest.mark.parametrize("flipped", [f for n in (1, 2, 3) for f in itertools.combinations(range(3), n)])
def test_every_flip_of_a_volume_is_found(flipped):
    mask = blob((40, 44, 48))
    found = find_turn(np.flip(mask, flipped), mask)
    assert (found.order, found.flipped, found.after) == ((0, 1, 2), flipped, 1.0)


def test_swapped_axes_are_found_where_they_are_equally_long():
    mask = np.zeros((30, 30), bool)
    mask[2:20, 3:7] = True
    found = find_turn(mask.T, mask)
    assert found.order == (1, 0)
    assert found.after == 1.0
    assert "swapped" in str(found)


def test_another_opinion_is_no_turn():
    a, b = np.zeros((40, 40), bool), np.zeros((40, 40), bool)
    a[2:6, 2:30] = True
    b[20:34, 18:26] = True
    assert find_turn(a, b) is None  # unlike however it is turned
    assert find_turn(a, a) is None  # fits as it is
    assert find_turn(a, np.zeros_like(a)) is None
    b = np.zeros_like(a)
    b[-5:-3, -10:-6] = True
    assert find_turn(a, b) is None  # of another size


def test_masks_of_other_sizes_are_refused():
    with pytest.raises(GridError, match="shape"):
        find_turn(np.ones((2, 3)), np.ones((3, 2)))


def test_the_real_volume():
    """Of three raters' masks on the same grid, the second is the wrong way round."""
    nibabel = pytest.importorskip("nibabel")
    first, second, third = (np.asarray(nibabel.load(data("volume", f"seg_{k}.nii.gz")).dataobj) for k in (1, 2, 3))
    assert find_turn(third, first) is None
    found = find_turn(second, first)
    assert found.before < 0.1
    assert found.after > 0.7

"""Connected components by runs, against SciPy's."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import ndimage

from manytruths.shape import components


@pytest.mark.parametrize("cost", [0, 50])
@settings(max_examples=60, deadline=None)
@given(mask=arrays(bool, array_shapes(min_dims=1, max_dims=4, min_side=1, max_side=6)))
def test_runs_are_joined_as_pixels_are(cost, mask):
    usual, components.RUN_COST = components.RUN_COST, cost
    try:
        for connectivity in range(1, mask.ndim + 1):
            structure = ndimage.generate_binary_structure(mask.ndim, connectivity)
            wanted, count = ndimage.label(mask, structure)
            numbers, found = components.number_marked_pixels(mask, connectivity)
            assert found == count
            assert (numbers + 1).tolist() == wanted[mask].tolist()
    finally:
        components.RUN_COST = usual


def test_nothing_and_everything():
    for mask in (np.zeros((3, 4), bool), np.ones((3, 4), bool), np.zeros((0, 4), bool)):
        numbers, count = components.number_marked_pixels(mask)
        assert (len(numbers), count) == (mask.sum(), int(mask.any()))

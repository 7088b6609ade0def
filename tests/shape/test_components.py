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
            found = components.number_runs(mask, connectivity)
            assert found.count == count
            numbers = np.repeat(found.owner, found.stops - found.starts)
            assert (numbers + 1).tolist() == wanted[mask].tolist()
            # a run ends with its row
            assert (found.starts // mask.shape[-1]).tolist() == ((found.stops - 1) // mask.shape[-1]).tolist()
    finally:
        components.RUN_COST = usual


def test_nothing_and_everything():
    for mask in (np.zeros((3, 4), bool), np.ones((3, 4), bool), np.zeros((0, 4), bool)):
        found = components.number_runs(mask)
        assert ((found.stops - found.starts).sum(), found.count) == (mask.sum(), int(mask.any()))

"""Blocks of arrays that come in tiles: the same as of the whole, however it is cut."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from manytruths.core.blocks import Blocks


@given(
    shape=st.tuples(st.integers(1, 40), st.integers(1, 40)),
    cuts=st.tuples(st.integers(1, 17), st.integers(1, 17)),
    step=st.integers(1, 50),
    channels=st.sampled_from([0, 3]),
    seed=st.integers(0, 9),
)
def test_sums_and_largest_values_do_not_depend_on_tiles(shape, cuts, step, channels, seed):
    rng = np.random.default_rng(seed)
    more = (channels,) if channels else ()
    array = rng.integers(0, 200, (*shape, *more)).astype(np.uint8)
    array[: shape[0] // 2] = 7
    sums, most = Blocks(shape, step, channels=channels), Blocks(shape, step, "most", channels, np.uint8)
    tiles = [
        (slice(r, min(r + cuts[0], shape[0])), slice(c, min(c + cuts[1], shape[1])))
        for r in range(0, shape[0], cuts[0])
        for c in range(0, shape[1], cuts[1])
    ]
    for where in rng.permutation(len(tiles)):
        tile = array[tiles[where]]
        constant = not channels and (tile == tile.flat[0]).all()
        for blocks in (sums, most):
            blocks.put(tiles[where], tile.flat[0] if constant else tile)
    for row in range(sums.values.shape[0]):
        for column in range(sums.values.shape[1]):
            block = array[row * step : (row + 1) * step, column * step : (column + 1) * step].astype(np.int64)
            np.testing.assert_array_equal(sums.values[row, column], block.sum(axis=(0, 1)))
            np.testing.assert_array_equal(most.values[row, column], block.max(axis=(0, 1)))
            np.testing.assert_allclose(sums.means[row, column], block.mean(axis=(0, 1)), rtol=1e-15)

"""Cross tables, which are made of products of parts of a table."""

from __future__ import annotations

import numpy as np

from manytruths.core.tally import cross_tabulate


def test_cross_tables_of_many_patterns_are_those_of_whole_numbers():
    rng = np.random.default_rng(0)
    patterns = rng.integers(0, 3, (9000, 25)).astype(np.uint8)
    counts = rng.integers(1, 5, len(patterns))
    given = patterns[:, :, None] == np.arange(3)
    for a, b in ((0, 0), (3, 24), (11, 7)):
        wanted = np.einsum("n,ni,nj->ij", counts, given[:, a].astype(int), given[:, b].astype(int))
        np.testing.assert_array_equal(cross_tabulate(patterns, counts, range(25), 3)[a, b], wanted)

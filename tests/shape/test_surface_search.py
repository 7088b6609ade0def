"""Every way to search for the nearest cell, against all pairs of cells."""

from __future__ import annotations

import math
from itertools import combinations
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import gaussian_filter
from scipy.spatial import cKDTree
from scipy.spatial.distance import cdist

import manytruths as mt
from manytruths import surface_distances
from manytruths.shape import surface_search
from manytruths.shape.surface_search import NearestMaps
from manytruths.shape.surfaces import AllDistances

SEARCHES = {
    "columns": {"FEW": 0, "SPARSE": math.inf},
    "columns, then a tree": {"FEW": 0, "SPARSE": math.inf, "REACH": {2: 1.0, 3: 1.0}, "CROWDED": 0},
    "columns, then a transform": {"FEW": 0, "SPARSE": math.inf, "REACH": {2: 1.0, 3: 1.0}, "CROWDED": math.inf},
    "tree": {"FEW": math.inf},
}
sides = st.sampled_from([1.0, 0.3, 0.7, 0.9765625, 2.5, 5.0])


def searched(search: str, of: np.ndarray, to: np.ndarray, side: np.ndarray) -> np.ndarray:
    """The distances that one way to search finds."""
    with patch.multiple(surface_search, **SEARCHES[search]):
        return np.sqrt(surface_search.squared_distances(of, to, side, lambda: cKDTree(to * side)))


@st.composite
def clouds(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Two sets of cells, the second perhaps far off along one axis, and the sides of a cell."""
    ndim = draw(st.sampled_from([2, 3]))
    counts = st.tuples(st.integers(1, 40), st.just(ndim))
    of, to = (draw(arrays(np.int32, counts, elements=st.integers(-9, 9))) for _ in range(2))
    to[:, draw(st.integers(0, ndim - 1))] += draw(st.sampled_from([0, 0, 3, 40, 300, -600]))
    return of, to, np.array(draw(st.tuples(*[sides] * ndim)))


@pytest.mark.parametrize("search", SEARCHES)
@given(case=clouds())
def test_every_search_finds_the_nearest(search: str, case: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    of, to, side = case
    wanted = cdist(of * side, to * side).min(axis=1)
    np.testing.assert_allclose(searched(search, of, to, side), wanted, rtol=1e-12, atol=1e-12)


def test_columns_longer_than_a_byte_counts() -> None:
    """300 short steps down the same column are nearer than 5 long ones across."""
    of, to = np.array([[0, 0], [100, 0]], np.int32), np.array([[300, 0], [0, 5], [100, 5]], np.int32)
    assert searched("columns", of, to, np.array([1.0, 100.0])).tolist() == [300, 200]


@pytest.mark.parametrize("spacing", [(1, 1, 1), (4, 1, 1), (1, 0.01, 3)])
def test_large_masks_are_searched_as_small_ones_are(spacing: tuple[float, ...]) -> None:
    rng = np.random.default_rng(0)
    a = rng.random((40, 40, 40)) < 0.3
    b = np.zeros_like(a)
    b[3:12, 30:38, 5:20] = rng.random((9, 8, 15)) < 0.1
    ours = surface_distances(a, b, spacing)
    with patch.object(surface_search, "FEW", math.inf):
        by_tree = surface_distances(a, b, spacing)
    for one, other in ((ours.a_to_b, by_tree.a_to_b), (ours.b_to_a, by_tree.b_to_a)):
        assert one.mean() == pytest.approx(other.mean(), abs=1e-9)
        for percent in (0, 5, 50, 90, 95, 99, 100):
            assert one.percentile(percent) == pytest.approx(other.percentile(percent), abs=1e-9)


@pytest.mark.parametrize("spacing", [(1.0, 1.0), (0.7, 1.3), (1.0, 1.0, 1.0), (2.5, 0.7, 0.7)])
def test_many_surfaces_at_once(spacing):
    """One transform per surface gives the distances that trees give, also beside empty masks; packed, none is lost."""
    rng = np.random.default_rng(len(spacing))
    smooth = gaussian_filter(rng.standard_normal((24, *(18,) * len(spacing))), (0, *(2,) * len(spacing)))
    surfaces = [mt.extract_surface(each > 0.1, spacing) for each in smooth]
    surfaces[3] = surfaces[7] = mt.extract_surface(np.zeros(smooth.shape[1:], bool), spacing)
    assert NearestMaps.over([s.cells for s in surfaces if len(s)], surfaces[0].sides) is not None
    found = AllDistances(surfaces)
    pairs = (found[pair] for pair in combinations(range(24), 2))
    medians = [mt.rater_tolerance([each], 50) for each in pairs if not each.undefined]
    assert found.medians() == pytest.approx(medians, rel=1e-12)
    for i, j in combinations(range(24), 2):
        distances = found[i, j]
        expected = mt.surface_distances(surfaces[i], surfaces[j])
        assert distances.undefined == expected.undefined
        for side in ("a_to_b", "b_to_a"):
            ours, theirs = getattr(distances, side), getattr(expected, side)
            # of two cells equally far off, either may be found: the last bit of their distance can differ
            np.testing.assert_allclose(ours.distances, theirs.distances, rtol=1e-15, atol=0)
            assert ours.sizes.tolist() == theirs.sizes.tolist()

"""Regions of a heatmap, against a flood fill."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from manytruths import CallError, GridError, find_regions
from manytruths.shape import combine_labels

heats = arrays(np.int64, array_shapes(min_dims=1, max_dims=3, max_side=6), elements=st.sampled_from([0, 0, 0, 1, 2, 5]))


def flooded(heat: np.ndarray) -> list[list[tuple[int, ...]]]:
    """Connected items of heat > 0, one list a region."""
    left = {tuple(int(i) for i in item) for item in np.argwhere(heat > 0)}
    found = []
    while left:
        todo, region = [left.pop()], []
        while todo:
            item = todo.pop()
            region.append(item)
            near = {tuple(np.add(item, step).tolist()) for step in product((-1, 0, 1), repeat=heat.ndim)} & left
            left -= near
            todo += near
        found.append(region)
    return found


@given(heats)
def test_regions_are_those_of_a_flood_fill(heat: np.ndarray) -> None:
    wanted = sorted((-max(heat[i] for i in r), -np.mean([heat[i] for i in r]).round(9), -len(r)) for r in flooded(heat))
    found = find_regions(heat)
    assert [(-r.peak, -round(r.mean, 9), -r.area) for r in found] == wanted
    assert [r.rank for r in found] == list(range(1, len(found) + 1))


@given(heats)
def test_site_is_the_nearest_peak(heat: np.ndarray) -> None:
    by_items = {frozenset(r): r for r in flooded(heat)}
    for region in find_regions(heat):
        items = next(r for r in by_items if region.site in r)
        assert region.centroid == pytest.approx(np.mean(list(items), axis=0))
        distance = {i: np.sum(np.subtract(i, region.centroid) ** 2) for i in items if heat[i] == region.peak}
        assert distance[region.site] == pytest.approx(min(distance.values()))


def test_diagonal_neighbours_are_connected() -> None:
    assert len(find_regions(np.eye(4))) == 1
    cube = np.zeros((3, 3, 3))
    cube[0, 0, 0] = cube[1, 1, 1] = cube[2, 2, 2] = 1
    assert [r.area for r in find_regions(cube)] == [3]


def test_spacing_says_what_is_near() -> None:
    heat = np.ones((3, 5))
    heat[0, 2] = heat[1, 0] = 2
    assert find_regions(heat)[0].site == (0, 2)
    assert find_regions(heat, spacing=(10, 1))[0].site == (1, 0)
    with pytest.raises(CallError, match="2 in all"):
        find_regions(heat, spacing=(1, 1, 1))


def test_nothing_hot_and_unrated_items() -> None:
    assert find_regions(np.zeros((4, 4))) == []
    assert [r.area for r in find_regions(np.array([1, np.nan, 2.0, -1]))] == [1, 1]
    with pytest.raises(CallError):
        find_regions(3)


def test_smaller_is_cut_out_of_larger_in_any_order() -> None:
    large, small = np.ones((4, 4), bool), np.zeros((4, 4), bool)
    small[1:3, 1:3] = True
    one, two = combine_labels([large, small], [1, 7]), combine_labels([small, large], [7, 1])
    assert (one == two).all()
    assert (one == np.where(small, 7, 1)).all()


def test_partly_overlapping_and_equal_sizes() -> None:
    assert combine_labels([[1, 1, 0], [0, 1, 1]], [1, 2]).tolist() == [1, 2, 2]
    assert combine_labels([[0, 1, 1], [1, 1, 0]], [2, 1]).tolist() == [1, 1, 2]
    assert combine_labels([[1, 0]], [300]).tolist() == [300, 0]


@pytest.mark.parametrize("labels", [[1], [1, 0], [1, -2], [1, 1.5]])
def test_labels_are_positive_and_one_a_mask(labels: list[int]) -> None:
    with pytest.raises(CallError, match="each of 2 masks"):
        combine_labels([[1, 1], [0, 1]], labels)


def test_masks_that_do_not_fit_are_refused() -> None:
    with pytest.raises(GridError, match="2, 3"):
        combine_labels([[1, 1], [0, 1, 1]], [1, 2])
    with pytest.raises(CallError, match="no mask"):
        combine_labels([], [])

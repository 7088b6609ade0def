"""Matching within a tolerance: against exact assignment, and against trying everything."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from scipy import optimize

from manytruths import BoundaryMatch, CallError, GridError, match_boundaries
from manytruths.shape.assignment import find_spare_rows, maximum_matching
from manytruths.shape.boundaries import Nearby, tolerance_in_pixels

Mask = NDArray[np.bool_]
TOLERANCES = st.sampled_from([0.5, 1.0, 2**0.5, 2.0, 5**0.5, 13**0.5, 5.0, 40.0])
shapes = st.tuples(st.integers(1, 9), st.integers(1, 9))
pairs_of_maps = shapes.flatmap(lambda shape: st.tuples(arrays(np.bool_, shape), arrays(np.bool_, shape)))


def distances(found: Mask, wanted: Mask) -> NDArray[np.float64]:
    return np.linalg.norm(np.argwhere(found)[:, None] - np.argwhere(wanted)[None], axis=2)


def exact(found: Mask, wanted: Mask, tolerance: float) -> tuple[int, float]:
    """The most pairs and their smallest total distance, by the dense assignment problem."""
    apart = distances(found, wanted)
    near = apart <= tolerance + 1e-9
    costs = np.where(near, apart, 1e6)
    at, to = optimize.linear_sum_assignment(costs)
    taken = near[at, to]
    return int(taken.sum()), float(apart[at, to][taken].sum())


def check(match: BoundaryMatch, found: Mask, wanted: Mask, tolerance: float) -> None:
    assert (match.distances <= tolerance).all()
    assert len(np.unique(match.prediction_at, axis=0)) == len(np.unique(match.reference_at, axis=0)) == match.pairs
    assert not (match.prediction_map & ~found).any()
    assert not (match.reference_map & ~wanted).any()
    assert match.prediction_map.sum() == match.reference_map.sum() == match.pairs
    assert (match.n_prediction, match.n_reference) == (found.sum(), wanted.sum())


@settings(max_examples=300)
@given(pairs_of_maps, TOLERANCES)
def test_the_most_pairs_at_the_smallest_distance(maps: tuple[Mask, Mask], tolerance: float) -> None:
    found, wanted = maps
    match = match_boundaries(found, wanted, tolerance)
    check(match, found, wanted, tolerance)
    pairs, total = exact(found, wanted, tolerance)
    assert match.pairs == pairs
    assert match.distances.sum() == pytest.approx(total, abs=1e-9)


def tried(apart: NDArray[np.float64], tolerance: float) -> tuple[int, float]:
    """The same, by all permutations."""
    height, width = apart.shape
    padded = np.full((height, width + height), np.inf)
    padded[:, :width] = np.where(apart <= tolerance, apart, np.inf)
    best = (0, 0.0)
    for order in permutations(range(width + height), height):
        taken = padded[range(height), order]
        near = np.isfinite(taken)
        best = max(best, (int(near.sum()), -float(taken[near].sum())))
    return best[0], -best[1]


@pytest.mark.parametrize("seed", range(20))
def test_trying_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found, wanted = np.zeros((4, 4), bool), np.zeros((4, 4), bool)
    found.flat[rng.choice(16, 3, replace=False)] = True
    wanted.flat[rng.choice(16, 3, replace=False)] = True
    tolerance = [1.0, 1.5, 2.0][seed % 3]
    match = match_boundaries(found, wanted, tolerance)
    pairs, total = tried(distances(found, wanted), tolerance)
    assert (match.pairs, match.distances.sum()) == (pairs, pytest.approx(total, abs=1e-12))


@given(pairs_of_maps)
def test_half_a_pixel_is_the_intersection(maps: tuple[Mask, Mask]) -> None:
    found, wanted = maps
    match = match_boundaries(found, wanted, 0.5)
    assert (match.prediction_map == (found & wanted)).all()
    assert (match.reference_map == (found & wanted)).all()


@given(pairs_of_maps, TOLERANCES)
def test_swapping_the_maps_swaps_precision_and_recall(maps: tuple[Mask, Mask], tolerance: float) -> None:
    found, wanted = maps
    there, back = match_boundaries(found, wanted, tolerance), match_boundaries(wanted, found, tolerance)
    assert there.pairs == back.pairs
    assert (there.precision, there.recall) == pytest.approx((back.recall, back.precision), nan_ok=True)
    assert there.distances.sum() == pytest.approx(back.distances.sum(), abs=1e-9)


def test_a_moved_line() -> None:
    found, wanted = np.zeros((30, 40), bool), np.zeros((30, 40), bool)
    found[10, 5:35], wanted[12, 5:35] = True, True
    assert match_boundaries(found, wanted, 2).pairs == 30
    assert match_boundaries(found, wanted, 1.9).pairs == 0
    assert match_boundaries(found, wanted, 2).distances.max() == 2


@settings(max_examples=60)
@given(pairs_of_maps, TOLERANCES)
def test_left_out_are_those_that_can_be_spared(maps: tuple[Mask, Mask], tolerance: float) -> None:
    found, wanted = maps
    near = Nearby.of(wanted, tolerance)
    reach = near.reach(found)
    partner = maximum_matching(reach)
    for row, out in enumerate(find_spare_rows(reach, partner)):
        fewer = found.copy()
        fewer[tuple(reach.row_at[row])] = False
        spared = exact(fewer, wanted, tolerance)[0] == (partner >= 0).sum()
        assert spared == out


def test_long_lines_side_by_side_take_no_time() -> None:
    """Where searching each way again takes exponential time: dense parallel lines, more of them found than wanted."""
    found, wanted = np.zeros((200, 200), bool), np.zeros((200, 200), bool)
    found[::3], wanted[1::4] = True, True
    match = match_boundaries(found, wanted, 4.0)
    assert match.pairs == wanted.sum() == match.reference_map.sum()


@pytest.mark.parametrize("seed", range(3))
def test_larger_maps(seed: int) -> None:
    rng = np.random.default_rng(seed)
    found, wanted = rng.random((60, 70)) < 0.12, rng.random((60, 70)) < 0.15
    match = match_boundaries(found, wanted)
    check(match, found, wanted, match.tolerance)
    assert (match.pairs, match.distances.sum()) == pytest.approx(exact(found, wanted, match.tolerance))


def test_nothing_on_either_side() -> None:
    empty, full = np.zeros((3, 3), bool), np.ones((3, 3), bool)
    assert match_boundaries(empty, full, 1).precision.reason == "no boundary was found"  # type: ignore[attr-defined]
    assert match_boundaries(full, empty, 1).recall.reason == "the truth has no boundary"  # type: ignore[attr-defined]
    assert match_boundaries(full, empty, 1).precision == 0
    assert match_boundaries(np.zeros((0, 3)), np.zeros((0, 3)), 1).pairs == 0


def test_the_tolerance_is_a_share_of_the_diagonal() -> None:
    assert tolerance_in_pixels((321, 481)) == pytest.approx(4.3371, abs=1e-4)
    assert tolerance_in_pixels((30, 40), share=0.1) == 5
    assert match_boundaries(np.zeros((30, 40)), np.zeros((30, 40))).tolerance == 0.0075 * 50


def test_errors() -> None:
    with pytest.raises(CallError, match="2-D only"):
        match_boundaries(np.zeros((2, 2, 2)), np.zeros((2, 2)))
    with pytest.raises(GridError, match=r"\(2, 2\).*\(2, 3\)"):
        match_boundaries(np.zeros((2, 2)), np.zeros((2, 3)))
    for wrong in (0, -1, np.nan, np.inf):
        with pytest.raises(CallError, match="tolerance must be a finite number above 0"):
            match_boundaries(np.zeros((2, 2)), np.zeros((2, 2)), wrong)

"""Diameters of lesions against brute force over all outline points."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import manytruths as mt
from manytruths.shape.components import find_components
from manytruths.shape.diameters import measure_axes
from manytruths.shape.grid import slice_axis
from manytruths.shape.runs import find_runs

SPACINGS = st.sampled_from([(1.0, 1.0), (0.7, 0.7), (0.5, 2.0), (1.3, 0.4)])


def sides_of(piece: np.ndarray) -> np.ndarray:
    """Midpoints between marked and other pixels, in doubled coordinates."""
    padded = np.pad(piece, 1)
    points = []
    for i, j in np.argwhere(padded):
        for a, b in ((0, 1), (0, -1), (1, 0), (-1, 0)):
            if not padded[i + a, j + b]:
                points.append((2 * (i - 1) + a, 2 * (j - 1) + b))
    return np.array(points)


def outline_of(piece: np.ndarray) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Sides of the outline, corner by corner: between midpoints around one pixel, or two pixels side by side."""
    padded = np.pad(piece, 1).astype(bool)
    sides = []
    for i in range(padded.shape[0] - 1):
        for j in range(padded.shape[1] - 1):
            block = padded[i : i + 2, j : j + 2]
            row, column = 2 * (i - 1), 2 * (j - 1)
            middle = {"above": (row, column + 1), "below": (row + 2, column + 1)}
            middle |= {"left": (row + 1, column), "right": (row + 1, column + 2)}
            cut = {
                "above": block[0, 0] != block[0, 1], "below": block[1, 0] != block[1, 1],
                "left": block[0, 0] != block[1, 0], "right": block[0, 1] != block[1, 1],
            }  # fmt: skip
            crossed = [name for name, is_cut in cut.items() if is_cut]
            if len(crossed) == 2:
                sides.append((middle[crossed[0]], middle[crossed[1]]))
            elif len(crossed) == 4:
                # the two marked pixels hang together, so that sides go round the other two
                around = (
                    (("above", "left"), ("below", "right")) if block[0, 1] else (("above", "right"), ("below", "left"))
                )
                sides += [(middle[a], middle[b]) for a, b in around]
    return sides


def brute_axes(piece: np.ndarray, spacing: tuple[float, float]) -> tuple[float, float]:
    """Long axis and, over all long axes of the same length, the longest short axis, in half pixels of the spacing."""
    half = np.array(spacing) / 2
    points = sides_of(piece)
    apart = points[:, None] - points[None]
    squares = (half**2 * apart * apart).sum(axis=2)
    longest = squares.max()
    best = 0.0
    for a, b in np.argwhere(squares >= longest * (1 - 1e-12)):
        best = max(best, brute_perpendicular(piece, points[a], points[b], half))
    return math.sqrt(longest), best


def brute_perpendicular(piece: np.ndarray, a: np.ndarray, b: np.ndarray, half: np.ndarray) -> float:
    axis = (b - a) * half
    length = math.hypot(*axis)
    unit = axis / length
    normal = np.array([-unit[1], unit[0]])
    sides = np.array(outline_of(piece)) * half
    along, across = sides @ unit, sides @ normal
    best = 0.0
    for t in np.unique(along):
        heights = []
        for (u, w), (v, x) in zip(along, across, strict=True):
            if min(u, w) - 1e-9 * length <= t <= max(u, w) + 1e-9 * length:
                heights += [v, x] if abs(u - w) < 1e-9 * length else [v + (x - v) * min(1, max(0, (t - u) / (w - u)))]
        best = max(best, max(heights) - min(heights))
    return best


def brute_lesion(lesion: np.ndarray, spacing: tuple[float, float]) -> tuple[float, float]:
    """Over the slices (the first axis) and the pieces in them."""
    found = []
    for plane in lesion:
        parts = find_components(plane)
        for number in range(1, parts.count + 1):
            piece = np.zeros(plane.shape, bool)
            piece[parts.box] = parts.numbers == number
            found.append(brute_axes(piece, spacing))
    longest = max(long for long, _ in found)
    return longest, max(short for long, short in found if long >= longest * (1 - 1e-12))


def brute_space(lesion: np.ndarray, spacing: tuple[float, ...]) -> float:
    padded, points = np.pad(lesion, 1), []
    for index in np.argwhere(padded):
        for axis in range(3):
            for step in (-1, 1):
                other = index.copy()
                other[axis] += step
                if not padded[tuple(other)]:
                    point = 2.0 * index
                    point[axis] += step
                    points.append(point * np.array(spacing) / 2)
    return max((math.dist(a, b) for a, b in combinations(points, 2)), default=0.0)


@given(arrays.arrays(bool, st.tuples(st.integers(1, 7), st.integers(1, 7))), SPACINGS)
@settings(max_examples=60, deadline=None)
def test_axes_of_images_equal_brute_force(mask, spacing):
    found, parts = mt.diameters(mask, spacing), find_components(mask)
    assert len(found) == parts.count
    for number, lesion in enumerate(found, start=1):
        piece = np.zeros(mask.shape, bool)
        piece[parts.box] = parts.numbers == number
        long, short = brute_axes(piece, spacing)
        assert lesion.long_axis == pytest.approx(long, rel=1e-14)
        assert lesion.short_axis == pytest.approx(short, rel=1e-9)
        assert lesion.pixels == piece.sum()
        assert lesion.centroid == pytest.approx(np.argwhere(piece).mean(axis=0))
        for ends, length in ((lesion.long_ends, lesion.long_axis), (lesion.short_ends, lesion.short_axis)):
            assert math.dist(*(np.array(end) * spacing for end in ends)) == pytest.approx(length, rel=1e-9)
        along, across = (np.subtract(*ends) * spacing for ends in (lesion.long_ends, lesion.short_ends))
        assert abs(along @ across) < 1e-9 * max(1, long * short)


@given(arrays.arrays(bool, st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 5))), SPACINGS)
@settings(max_examples=40, deadline=None)
def test_axes_of_volumes_equal_brute_force(mask, spacing):
    found, parts = mt.diameters(mask, (3.0, *spacing), axis=0), find_components(mask)
    assert len(found) == parts.count
    for number, lesion in enumerate(found, start=1):
        own = np.zeros(mask.shape, bool)
        own[parts.box] = parts.numbers == number
        long, short = brute_lesion(own, spacing)
        assert (lesion.long_axis, lesion.short_axis) == (pytest.approx(long), pytest.approx(short, rel=1e-9))
        assert lesion.diameter_3d == pytest.approx(brute_space(own, (3.0, *spacing)), rel=1e-12)
        assert lesion.long_ends[0][0] == lesion.long_ends[1][0] == lesion.slice


def ragged_ball(shape: tuple[int, ...], radii: tuple[float, ...], seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    middle = [(n - 1) / 2 + rng.uniform(-0.5, 0.5) for n in shape]
    steps = np.meshgrid(*(np.arange(n) - c for n, c in zip(shape, middle, strict=True)), indexing="ij", sparse=True)
    away = np.sqrt(sum((s / r) ** 2 for s, r in zip(steps, radii, strict=True)))
    return away + 0.15 * rng.random(shape) < 1


@pytest.mark.parametrize("seed", range(2))
def test_axes_of_large_lesions_equal_brute_force(seed):
    mask = ragged_ball((5, 22, 26), (2.4, 9, 11), seed)
    found = max(mt.diameters(mask, (5, 0.8, 0.8)), key=lambda lesion: lesion.pixels)
    parts = find_components(mask)
    own = np.zeros(mask.shape, bool)
    own[parts.box] = parts.numbers == parts.sizes.argmax() + 1
    long, short = brute_lesion(own, (0.8, 0.8))
    assert (found.long_axis, found.short_axis) == (pytest.approx(long, rel=1e-14), pytest.approx(short, rel=1e-9))


def test_the_diameter_in_space_equals_all_pairs():
    mask = ragged_ball((20, 40, 44), (9, 18, 20), 0)
    (found,) = (lesion for lesion in mt.diameters(mask, (2, 0.8, 0.8)) if lesion.pixels > 100)
    padded = np.pad(mask, 1)
    faces = []
    for axis in range(3):
        change = np.argwhere(np.diff(padded.astype(np.int8), axis=axis))
        doubled = 2 * (change - 1)
        doubled[:, axis] += 1
        faces.append(doubled)
    points = np.concatenate(faces) * np.array((2, 0.8, 0.8)) / 2
    from scipy.spatial import ConvexHull
    from scipy.spatial.distance import pdist

    points = points[ConvexHull(points).vertices]
    assert found.diameter_3d == pytest.approx(pdist(points).max(), rel=1e-12)


def test_lengths_run_from_edge_to_edge():
    row, pixel = np.zeros((5, 9), int), np.zeros((5, 9), int)
    row[2, 1:8], pixel[2, 4] = 1, 1
    assert [lesion.long_axis for lesion in mt.diameters(row)] == [7.0]
    assert [lesion.short_axis for lesion in mt.diameters(row)] == [1.0]
    (one,) = mt.diameters(pixel, (0.5, 2.0))
    assert (one.long_axis, one.short_axis) == (2.0, 0.5)
    assert one.long_ends == ((2.0, 3.5), (2.0, 4.5))


def test_an_axis_never_leaves_a_lesion_for_another():
    mask = np.zeros((20, 20), int)
    mask[2:6, 2:6] = mask[2:6, 7:11] = 1  # one pixel apart
    assert [round(lesion.long_axis, 3) for lesion in mt.diameters(mask)] == [5.0, 5.0]
    box = np.zeros((20, 20), int)
    box[3:17, 3:17] = 1
    box[5:15, 5:15] = 0
    box[9:11, 9:11] = 1  # a lesion within a ring
    ring, inner = mt.diameters(box)
    assert inner.long_axis == pytest.approx(math.sqrt(5))
    assert ring.long_axis == pytest.approx(math.hypot(13, 14))


def test_pieces_of_one_lesion_in_a_slice_are_measured_apart():
    """An arch: two feet in the first slices, joined above."""
    mask = np.zeros((3, 12, 30), int)
    mask[:, 2:8, 2:6] = mask[:, 2:8, 24:28] = 1
    mask[2, 2:4, 2:28] = 1
    (lesion,) = mt.diameters(mask, (5.0, 1.0, 1.0))
    assert lesion.slice == 2
    feet = mask.copy()
    feet[2] = 0
    feet[2, 2:8, 2:6] = 1
    feet[1, 2, 2:28] = 0
    assert len(mt.diameters(feet, (5.0, 1.0, 1.0))) == 2
    low = mask.copy()
    low[2] = 0
    low[2, 2, 2:28] = 1  # one row: shorter than it would be across both feet
    (joined,) = mt.diameters(low, (5.0, 1.0, 1.0))
    assert joined.long_axis == pytest.approx(26.0)


def test_shapes_with_dents():
    """Axes may cross a dent of their own lesion, as calipers do."""
    corner = np.zeros((14, 14), int)
    corner[2:12, 2:5] = corner[9:12, 2:12] = 1  # an L
    (found,) = mt.diameters(corner)
    assert found.long_axis == pytest.approx(brute_axes(corner.astype(bool), (1, 1))[0])
    assert found.short_axis == pytest.approx(brute_axes(corner.astype(bool), (1, 1))[1])
    arch = np.zeros((14, 14), int)
    arch[2:12, 2:4] = arch[2:12, 10:12] = arch[10:12, 2:12] = 1  # a U
    (found,) = mt.diameters(arch)
    long, short = brute_axes(arch.astype(bool), (1, 1))
    assert (found.long_axis, found.short_axis) == (pytest.approx(long), pytest.approx(short))
    assert found.long_axis > 12  # from the end of one arm to the foot of the other, across the dent


@pytest.mark.parametrize("spacing", [(1.0, 1.0), (0.7, 1.1)])
def test_turned_and_flipped_masks_have_the_same_axes(spacing):
    mask = ragged_ball((30, 26), (12, 10), 3)
    wanted = [(x.long_axis, x.short_axis) for x in mt.diameters(mask, spacing)]
    for turned, sides in ((mask[::-1], spacing), (mask[:, ::-1], spacing), (mask.T, spacing[::-1])):
        found = [(x.long_axis, x.short_axis) for x in mt.diameters(turned, sides)]
        assert np.sort(found, axis=0) == pytest.approx(np.sort(wanted, axis=0))
    (square,) = mt.diameters(np.ones((5, 5)))
    assert square.short_axis == pytest.approx(brute_axes(np.ones((5, 5), bool), (1, 1))[1])


def test_memory_order_does_not_matter():
    mask = np.random.default_rng(0).random((6, 9, 5)) < 0.3
    orders = (mask, np.asfortranarray(mask), np.moveaxis(np.moveaxis(mask, 0, 2).copy(), 2, 0))
    found = [
        [(x.long_axis, x.short_axis, x.diameter_3d, x.pixels, x.centroid) for x in mt.diameters(order)]
        for order in orders
    ]
    assert found[0] == found[1] == found[2]


def test_slices_lie_across_the_coarsest_axis():
    mask = np.zeros((8, 8, 8), int)
    mask[1:7, 3, 3] = 1
    along = {axis: mt.diameters(mask, axis=axis)[0].long_axis for axis in range(3)}
    assert along == {0: 1.0, 1: 6.0, 2: 6.0}
    assert mt.diameters(mask, (4.0, 1.0, 1.0))[0].long_axis == 1.0
    assert mt.diameters(mask, (4.0, 1.0, 1.0))[0].diameter_3d == 24.0
    assert slice_axis((64, 64)) is None


def test_thin_slices_lie_across_the_axis_whose_spacing_is_its_own():
    """CT of the chest, whose slices are thinner than their pixels are wide."""
    assert slice_axis((512, 512, 600), (0.7, 0.7, 0.625)) == 2
    assert slice_axis((600, 512, 512), (0.625, 0.7, 0.7)) == 0
    assert slice_axis((512, 512, 300), (0.7, 0.71, 1.25)) == 2, "no two are alike: the coarsest"
    assert slice_axis((180, 200, 160), (1.0, 1.0, 1.0)) == 2, "all are alike: the fewest slices"


@given(arrays.arrays(bool, st.tuples(st.integers(1, 4), st.integers(1, 5), st.integers(1, 9))))
@settings(max_examples=60, deadline=None)
def test_components_of_runs_are_those_of_pixels(mask):
    runs, parts = find_runs(mask), find_components(mask)
    inside = parts.numbers[mask[parts.box]] - 1
    drawn = np.full(mask.shape, -1)
    for z, y, a, b, k in zip(runs.slices, runs.rows, runs.starts, runs.stops, runs.components, strict=True):
        drawn[z, y, a:b] = k
    assert (drawn[mask] == inside).all()
    assert ((drawn >= 0) == mask).all()


def test_nothing_marked_and_bad_calls():
    assert mt.diameters(np.zeros((4, 4))) == ()
    assert measure_axes(np.zeros((4, 4, 4))).count == 0
    with pytest.raises(mt.GridError, match="mask has 1 axes"):
        mt.diameters([1, 1])
    with pytest.raises(mt.GridError, match="spacing is 1×0"):
        mt.diameters(np.ones((2, 2)), (1, 0))
    with pytest.raises(mt.GridError, match="for each of the 2 axes"):
        mt.diameters(np.ones((2, 2)), (1, 1, 1))
    with pytest.raises(mt.CallError, match="axis is 3"):
        mt.diameters(np.ones((2, 2, 2)), axis=3)


def test_speckle_is_refused():
    speckle = np.zeros((700, 700), bool)
    speckle[::2, ::2] = True
    with pytest.raises(mt.InputError, match="122500 connected components, more than 100000"):
        mt.diameters(speckle)


def test_masked_pixels_are_not_marked_and_nan_is_refused():
    mask = np.ones((6, 8))
    hidden = np.zeros(mask.shape, bool)
    hidden[:, 3:] = True
    assert str(mt.diameters(np.ma.masked_array(mask, hidden))) == str(mt.diameters(np.where(hidden, 0, mask)))
    mask[0, 0] = math.nan
    with pytest.raises(mt.InputError, match="mask has nan"):
        mt.diameters(mask)


def test_the_short_axis_is_at_most_the_long_one():
    (cube,) = mt.diameters(np.ones((3, 3, 3)))
    assert cube.short_axis == cube.long_axis == pytest.approx(math.sqrt(13))


@pytest.mark.parametrize(
    ("mask", "options", "message"),
    [
        (np.ones((10, 4)), {"spacing": 2}, "spacing must be 2 positive numbers, one for each axis; got 2"),
        (np.ones((10, 4)), {"spacing": "ab"}, "spacing must be 2 positive numbers"),
        (np.zeros((0, 0)), {}, "mask has no pixel"),
        (np.ones((3, 3, 3)), {"axis": "x"}, "axis is 'x'"),
        (None, {}, "mask must hold numbers"),
    ],
)
def test_wrong_calls_have_one_line(mask, options, message):
    with pytest.raises(mt.CallError, match=message) as found:
        mt.diameters(mask, **options)
    assert "\n" not in str(found.value)


@pytest.mark.parametrize("axis", [0, 1, 2])
def test_a_pixel_of_a_component_lies_in_it(axis):
    mask = np.random.default_rng(8).random((7, 9, 11)) < 0.1
    for marks, found in ((mask, measure_axes(mask, axis=axis)), (mask[3], measure_axes(mask[3]))):
        for component in range(found.count):
            pixel = found.pixel_of(component)
            assert marks[pixel]
            assert found.component_at(pixel) == component

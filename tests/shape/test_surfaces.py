"""Surfaces and their distances, against Google DeepMind's surface-distance and against all pairs of elements."""

from __future__ import annotations

import math
import pickle
import warnings
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import cdist

from manytruths import (
    CallError,
    GridError,
    LabelError,
    Undefined,
    extract_surface,
    hausdorff,
    mean_surface_distance,
    rater_tolerance,
    surface_dice,
    surface_distances,
)
from manytruths.shape.surface_elements import element_sizes

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import surface_distance as peer
    from surface_distance import lookup_tables

PERCENTS = (0, 5, 50, 90, 95, 99, 100)
sides = st.sampled_from([1.0, 0.3, 0.7, 0.9765625, 2.5, 5.0])
DEFINITIONS = ("elements", "pixels")


@st.composite
def pairs(draw: st.DrawFn, least: int = 1) -> tuple[np.ndarray, np.ndarray, tuple[float, ...]]:
    """Two masks of which neither is empty, and a spacing."""
    ndim = draw(st.sampled_from([2, 3]))
    shape = draw(st.tuples(*[st.integers(least, 7)] * ndim))
    masks = [draw(arrays(bool, shape, elements=st.booleans())) for _ in range(2)]
    for mask in masks:
        mask[draw(st.tuples(*(st.integers(0, n - 1) for n in shape)))] = True
    return masks[0], masks[1], draw(st.tuples(*[sides] * ndim))


def blob(shape: tuple[int, ...], centre: tuple[float, ...], radius: float, seed: int) -> np.ndarray:
    """A ball with bumps."""
    rng = np.random.default_rng(seed)
    grid = [np.arange(n) - c for n, c in zip(shape, centre, strict=True)]
    steps = np.meshgrid(*grid, indexing="ij")
    bumps = math.prod(np.sin(s / rng.uniform(2, 4) + rng.uniform(0, 6)) for s in steps)
    return np.sqrt(sum(s**2 for s in steps)) + 0.15 * radius * bumps < radius


BLOBS = [
    (blob((70, 80), (30, 41), 22, 0), blob((70, 80), (35, 38), 20, 1)),
    (blob((34, 40, 37), (15, 21, 19), 12, 2), blob((34, 40, 37), (18, 19, 17), 13, 3)),
    (blob((34, 40, 37), (0, 2, 19), 12, 4), blob((34, 40, 37), (33, 38, 17), 9, 5)),
]


def peers(a: np.ndarray, b: np.ndarray, spacing: tuple[float, ...]) -> dict[str, np.ndarray]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it uses names that SciPy has moved
        return peer.compute_surface_distances(a, b, spacing)


def check_against_peer(a: np.ndarray, b: np.ndarray, spacing: tuple[float, ...]) -> None:
    theirs, ours = peers(a, b, spacing), surface_distances(a, b, spacing)
    for name, one in (("gt_to_pred", ours.a_to_b), ("pred_to_gt", ours.b_to_a)):
        distances, sizes = theirs[f"distances_{name}"], theirs[f"surfel_areas_{name.split('_')[0]}"]
        assert one.size == pytest.approx(sizes.sum(), abs=1e-9)
        assert (np.diff(one.distances) > 1e-9).all()
        near = np.searchsorted(distances, one.distances + 1e-9, side="right")
        np.testing.assert_allclose(np.cumsum(one.sizes), np.cumsum(sizes)[near - 1], atol=1e-6)
    means = ours.a_to_b.mean(), ours.b_to_a.mean()
    assert means == pytest.approx(peer.compute_average_surface_distance(theirs), abs=1e-9)
    for percent in PERCENTS:
        # where a sum of sizes is just the share, rounding decides whether the peer goes one distance further
        low, high = (peer.compute_robust_hausdorff(theirs, percent + slack) for slack in (-1e-7, 1e-7))
        assert low - 1e-9 <= ours.hausdorff(percent) <= high + 1e-9
    for tolerance in (0, 0.5123, 1.0123, 2.7123, 100):
        dice = peer.compute_surface_dice_at_tolerance(theirs, tolerance)
        assert ours.dice(tolerance) == pytest.approx(dice, abs=1e-9)
        shares = ours.a_to_b.within(tolerance), ours.b_to_a.within(tolerance)
        assert shares == pytest.approx(peer.compute_surface_overlap_at_tolerance(theirs, tolerance), abs=1e-9)


@pytest.mark.parametrize("spacing", [(1, 1, 1), (3, 1, 1), (0.3, 2.5, 0.9)])
def test_sizes_of_all_codes_are_the_peers(spacing: tuple[float, ...]) -> None:
    areas = lookup_tables.create_table_neighbour_code_to_surface_area(spacing)
    np.testing.assert_allclose(element_sizes(spacing), areas, atol=1e-12)
    lengths = lookup_tables.create_table_neighbour_code_to_contour_length(spacing[:2])
    np.testing.assert_allclose(element_sizes(spacing[:2]), lengths, atol=1e-12)


def test_sizes_do_not_depend_on_how_the_cell_is_turned() -> None:
    corners, sizes = list(product((0, 1), repeat=3)), element_sizes((1, 1, 1))
    bits = np.array([[code >> (7 - i) & 1 for i in range(8)] for code in range(256)])
    for order, mirror in product([(0, 1, 2), (1, 2, 0), (1, 0, 2)], corners):
        turned = [corners.index(tuple((np.array(c)[list(order)] ^ mirror).tolist())) for c in corners]
        np.testing.assert_allclose(sizes[bits[:, turned] @ 2 ** np.arange(8)[::-1]], sizes, atol=1e-12)


@given(pairs())
def test_small_masks_as_the_peer(case: tuple[np.ndarray, np.ndarray, tuple[float, ...]]) -> None:
    check_against_peer(*case)


@pytest.mark.parametrize("spacing", [(1, 1, 1), (2, 2, 2), (3, 0.7, 0.9), (0.5, 0.5, 4)])
@pytest.mark.parametrize("masks", BLOBS, ids=["plane", "space", "at the border"])
def test_blobs_as_the_peer(masks: tuple[np.ndarray, np.ndarray], spacing: tuple[float, ...]) -> None:
    check_against_peer(*masks, spacing[: masks[0].ndim])


def naive(mask: np.ndarray, spacing: tuple[float, ...], definition: str) -> tuple[np.ndarray, np.ndarray]:
    """Points and sizes of a surface, pixel by pixel."""

    def marked(place: tuple[int, ...]) -> bool:
        return all(0 <= i < n for i, n in zip(place, mask.shape, strict=True)) and bool(mask[place])

    points, sizes, table = [], [], element_sizes(spacing)
    for place in product(*(range(n + 1) for n in mask.shape)):
        if definition == "elements":
            cell = [marked(tuple(np.add(place, step) - 1)) for step in product((0, 1), repeat=mask.ndim)]
            if any(cell) and not all(cell):
                points.append(np.array(place) - 0.5)
                sizes.append(table[int("".join("01"[c] for c in cell), 2)])
        elif marked(place):
            steps = [sign * step for sign in (-1, 1) for step in np.eye(mask.ndim, dtype=int)]
            if not all(marked(tuple(np.add(place, step))) for step in steps):
                points.append(np.array(place, float))
                sizes.append(1.0)
    return np.array(points) * spacing, np.array(sizes)


@pytest.mark.parametrize("definition", DEFINITIONS)
@given(case=pairs())
def test_small_masks_as_all_pairs_of_elements(definition: str, case: tuple) -> None:
    a, b, spacing = case
    (p, s), (q, t) = (naive(mask, spacing, definition) for mask in (a, b))
    found = extract_surface(a, spacing, definition=definition)
    np.testing.assert_allclose(found.points, p, atol=1e-12)
    np.testing.assert_allclose(found.sizes, s)
    between = cdist(p, q)
    there, back = between.min(axis=1), between.min(axis=0)
    ours = surface_distances(found, b)
    assert ours.hausdorff() == pytest.approx(max(there.max(), back.max()), abs=1e-9)
    assert ours.mean() == pytest.approx((there @ s + back @ t) / (s.sum() + t.sum()), abs=1e-9)
    within = s[there <= 1.0123].sum() + t[back <= 1.0123].sum()
    assert ours.dice(1.0123) == pytest.approx(within / (s.sum() + t.sum()), abs=1e-9)
    for percent in (50, 95):
        wanted = max(reached(there, s, percent), reached(back, t, percent))
        assert ours.hausdorff(percent) == pytest.approx(wanted, abs=1e-9)


def reached(distances: np.ndarray, sizes: np.ndarray, percent: float) -> float:
    """The smallest distance within which the percentage of the size lies."""
    whole = sizes.sum()
    return min(d for d in distances if sizes[distances <= d + 1e-9].sum() >= percent / 100 * whole - 1e-9)


@pytest.mark.parametrize("definition", DEFINITIONS)
@given(case=pairs())
def test_laws(definition: str, case: tuple) -> None:
    a, b, spacing = case
    there = surface_distances(a, b, spacing, definition=definition)
    back = surface_distances(b, a, spacing, definition=definition)
    assert there.hausdorff(95) == back.hausdorff(95) <= there.hausdorff() == back.hausdorff()
    assert there.mean() == pytest.approx(back.mean(), rel=1e-12)
    same = surface_distances(a, a, spacing, definition=definition)
    assert (same.hausdorff(), same.mean(), same.dice(0)) == (0, 0, 1)
    tolerances = np.linspace(0, there.hausdorff(), 7)
    scores = [there.dice(t) for t in tolerances]
    assert all(x <= y for x, y in pairwise(scores))
    assert scores[-1] == 1
    assert there.dice(1) == back.dice(1)
    assert hausdorff(a, b, spacing, percentile=95, definition=definition) == there.hausdorff(95)
    assert mean_surface_distance(a, b, spacing, definition=definition) == there.mean()
    assert surface_dice(a, b, 1, spacing, definition=definition) == there.dice(1)


@pytest.mark.parametrize("definition", DEFINITIONS)
@given(case=pairs(), factor=st.floats(0.01, 100), low=st.integers(0, 3), high=st.integers(0, 3))
def test_larger_pixels_and_more_background(definition: str, case: tuple, factor: float, low: int, high: int) -> None:
    a, b, spacing = case
    one = surface_distances(a, b, spacing, definition=definition)
    wider = [np.pad(mask, (low, high)) for mask in (a, b)]
    moved = surface_distances(*wider, spacing, definition=definition)
    scaled = surface_distances(a, b, [s * factor for s in spacing], definition=definition)
    for percent in PERCENTS:
        assert moved.hausdorff(percent) == one.hausdorff(percent)
        assert scaled.hausdorff(percent) == pytest.approx(factor * one.hausdorff(percent), rel=1e-9)
    assert moved.mean() == one.mean()
    assert scaled.mean() == pytest.approx(factor * one.mean(), rel=1e-9)


@pytest.mark.parametrize("definition", DEFINITIONS)
@given(case=pairs())
def test_memory_order_and_type_change_nothing(definition: str, case: tuple) -> None:
    a, b, spacing = case
    plain = pickle.dumps(surface_distances(a, b, spacing, definition=definition))
    for kind in (np.uint8, np.int64, np.float32):
        other = np.asfortranarray(a.astype(kind) * 7), np.flip(np.flip(b).copy())
        assert pickle.dumps(surface_distances(*other, spacing, definition=definition)) == plain


def test_mirrored_and_turned_surfaces_are_as_large() -> None:
    mask = BLOBS[1][0]
    whole = extract_surface(mask).sizes.sum()
    for other in (mask[::-1], mask[:, ::-1, ::-1], mask.transpose(2, 0, 1)):
        assert extract_surface(other).sizes.sum() == pytest.approx(whole, rel=1e-12)


@pytest.mark.parametrize("radius", [10, 25])
def test_a_ball_and_a_box_are_about_as_large_as_they_should_be(radius: int) -> None:
    ball = sum((g - 31.5) ** 2 for g in np.ogrid[:64, :64, :64]) < radius**2
    # edges in the middle between 0 and 1 leave steps, which add some 8% to a ball
    assert 1 < extract_surface(ball).sizes.sum() / (4 * math.pi * radius**2) < 1.1
    box = np.zeros((64, 64, 64), bool)
    box[: 2 * radius, : 2 * radius, : 2 * radius] = True
    assert extract_surface(box, (1, 2, 3)).sizes.sum() == pytest.approx(2 * (2 + 3 + 6) * (2 * radius) ** 2, rel=0.05)


def test_a_distance_that_is_the_tolerance_but_for_rounding_is_within() -> None:
    a, b = np.zeros((2, 3, 9), np.uint8)
    a[1, 1:3], b[1, 1:6] = 1, 1
    assert 3 * 0.1 > 0.3
    assert surface_dice(a, b, 0.3, (0.1, 0.1)) == 1
    assert surface_dice(a, b, 0.29999, (0.1, 0.1)) < 1


def test_rater_tolerance_pools_pairs_and_directions() -> None:
    a, b, c = (blob((60, 60), (30, 30 + i), 15 + i, i) for i in range(3))
    found = [surface_distances(*two, (1, 0.8)) for two in ((a, b), (a, c), (b, c), (a, a * 0))]
    distances, sizes = (
        np.concatenate([getattr(one, name) for f in found for one in (f.a_to_b, f.b_to_a)])
        for name in ("distances", "sizes")
    )
    for percent in (50, 95):
        assert rater_tolerance(found, percent) == pytest.approx(reached(distances, sizes, percent), abs=1e-9)
    nothing = rater_tolerance(iter(found[3:]))
    assert isinstance(nothing, Undefined)
    assert nothing.reason == "no two of the raters have surfaces to compare"


@pytest.mark.parametrize("definition", DEFINITIONS)
@pytest.mark.parametrize("shape", [(4, 5), (3, 4, 5)])
def test_nothing_marked(definition: str, shape: tuple[int, ...]) -> None:
    empty, full = np.zeros(shape), np.ones(shape)
    reasons = {"both marked nothing": (empty, empty), "one of the two marked nothing": (full, empty)}
    for reason, (a, b) in [*reasons.items(), ("one of the two marked nothing", (empty, full))]:
        found = pickle.loads(pickle.dumps(surface_distances(a, b, definition=definition)))
        numbers = [found.hausdorff(), found.hausdorff(95), found.mean(), found.dice(1)]
        for one in (found.a_to_b, found.b_to_a):
            numbers += [one.mean(), one.percentile(95), one.within(1)]
        assert [n.reason for n in numbers] == [reason] * 10
        assert reason in repr(found)
    assert len(extract_surface(np.zeros((0, 5)), definition=definition)) == 0


def test_wrong_calls() -> None:
    mask = np.ones((3, 4), int)
    with pytest.raises(CallError, match="2 or 3 axes; got an array with 1"):
        extract_surface([1, 0])
    with pytest.raises(CallError, match="2 or 3 axes; got an array with 4"):
        extract_surface(np.ones((2, 2, 2, 2)))
    with pytest.raises(GridError, match="a is 3×4 and b is 4×3"):
        surface_distances(mask, mask.T)
    for spacing in ((1,), (1, 1, 1), (1, 0), (1, -1), (1, math.nan), (1, math.inf)):
        with pytest.raises(CallError, match="one positive size an axis, 2 in all"):
            hausdorff(mask, mask, spacing)
    for strange in (mask * 0.5, mask * math.nan, mask.astype(str)):
        with pytest.raises(LabelError, match="whole numbers"):
            extract_surface(strange)
    with pytest.raises(CallError, match="elements or pixels; got definition='voxels'"):
        extract_surface(mask, definition="voxels")  # type: ignore[arg-type]
    with pytest.raises(CallError, match="from 0 to 100; got 101"):
        hausdorff(mask, mask, percentile=101)
    for tolerance in (-1, math.nan):
        with pytest.raises(CallError, match="a tolerance is a distance"):
            surface_dice(mask, mask, tolerance)
    with pytest.raises(GridError, match=r"one surface has the spacing \(1.0, 2.0\), the other \(1.0, 1.0\)"):
        surface_distances(extract_surface(mask, (1, 2)), mask, (1, 1))
    with pytest.raises(CallError, match="one surface is of elements, the other of pixels"):
        surface_distances(extract_surface(mask), extract_surface(mask, definition="pixels"))


def test_surfaces_bring_their_spacing_and_definition() -> None:
    a, b = BLOBS[0]
    made = extract_surface(a, (2, 3), definition="pixels")
    plain = surface_distances(a, b, (2, 3), definition="pixels")
    assert pickle.dumps(surface_distances(made, b)) == pickle.dumps(plain)
    assert surface_distances(b, made).hausdorff() == plain.hausdorff()
    assert "70×80 mask" in repr(made)


def test_hidden_items_are_not_marked() -> None:
    shown = np.ma.masked_array([[1, 1, 1]], mask=[[False, False, True]])
    assert surface_distances(shown, [[1, 1, 0]]).hausdorff() == 0

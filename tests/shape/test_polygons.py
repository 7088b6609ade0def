"""Polygons to pixels: against rasterio, pycocotools and the rule itself, point by point."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pycocotools import mask as coco
from rasterio.features import rasterize

from manytruths import CallError, InputError, rasterise_polygon

COORDINATES = st.one_of(
    st.floats(-8, 40, allow_nan=False, width=32),
    st.integers(-3, 34).map(float),
    st.integers(-6, 68).map(lambda n: n / 2),
)
RINGS = st.lists(st.lists(st.tuples(COORDINATES, COORDINATES), min_size=3, max_size=12), min_size=1, max_size=3)
SHAPES = st.tuples(st.integers(1, 32), st.integers(1, 32))


def naive(rings, shape):
    """Every centre by itself: edges crossed to the left of it or at it, in fractions."""
    mask = np.zeros(shape, bool)
    for row, column in np.ndindex(shape):
        x, y, inside = Fraction(2 * column + 1, 2), Fraction(2 * row + 1, 2), False
        for ring in rings:
            exact = [(Fraction(a), Fraction(b)) for a, b in ring]
            for (x1, y1), (x2, y2) in zip(exact, exact[1:] + exact[:1], strict=True):
                if (y1 <= y) != (y2 <= y) and x1 + (y - y1) * (x2 - x1) / (y2 - y1) < x:
                    inside = not inside
        mask[row, column] = inside
    return mask


def on_an_edge(rings, shape):
    """Centres that lie on an edge, in fractions."""
    mask = np.zeros(shape, bool)
    for row, column in np.ndindex(shape):
        x, y = Fraction(2 * column + 1, 2), Fraction(2 * row + 1, 2)
        for ring in rings:
            exact = [(Fraction(a), Fraction(b)) for a, b in ring]
            for (x1, y1), (x2, y2) in zip(exact, exact[1:] + exact[:1], strict=True):
                level = (x2 - x1) * (y - y1) == (y2 - y1) * (x - x1)
                if level and min(x1, x2) <= x <= max(x1, x2) and min(y1, y2) <= y <= max(y1, y2):
                    mask[row, column] = True
    return mask


HALVES = st.integers(-4, 30).map(lambda n: n / 2)
HALF_RINGS = st.lists(st.lists(st.tuples(HALVES, HALVES), min_size=3, max_size=7), min_size=1, max_size=2)


@given(HALF_RINGS, st.tuples(st.integers(1, 14), st.integers(1, 14)))
def test_the_rule_itself(rings, shape):
    assert (rasterise_polygon(rings, shape) == naive(rings, shape)).all()


@given(HALF_RINGS, st.tuples(st.integers(1, 14), st.integers(1, 14)))
def test_inclusive_adds_the_centres_on_edges(rings, shape):
    assert (rasterise_polygon(rings, shape, "inclusive") == naive(rings, shape) | on_an_edge(rings, shape)).all()


def with_rasterio(rings, shape):
    closed = [[*map(tuple, ring), tuple(ring[0])] for ring in rings]
    return rasterize([({"type": "Polygon", "coordinates": closed}, 1)], out_shape=shape, dtype="uint8") == 1


@given(st.data(), SHAPES)
def test_as_rasterio(data, shape):
    # on rows of centres rasterio fills lower edges by a rule of its own
    away = COORDINATES.filter(lambda y: (2 * y) % 2 != 1)
    ring = st.lists(st.tuples(COORDINATES, away), min_size=3, max_size=12)
    rings = data.draw(st.lists(ring, min_size=1, max_size=3))
    assert (rasterise_polygon(rings, shape) == with_rasterio(rings, shape)).all()


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@given(RINGS, SHAPES)
def test_as_pycocotools(rings, shape):
    flat = [np.asarray(ring, float).ravel().tolist() for ring in rings if len(ring) > 2]
    wanted = coco.decode(coco.merge(coco.frPyObjects(flat, *shape)))
    assert (rasterise_polygon(rings, shape, "coco") == wanted.astype(bool)).all()


def test_large_outlines_as_rasterio():
    random = np.random.default_rng(0)
    for points in (7, 200):
        angle, radius = np.sort(random.uniform(0, 2 * np.pi, points)), random.uniform(100, 1400, points)
        ring = 1500 + radius[:, None] * np.stack([np.cos(angle), np.sin(angle)], axis=1)
        assert (rasterise_polygon([ring], (3000, 3000)) == with_rasterio([ring.tolist()], (3000, 3000))).all()


def test_polygons_that_share_edges_share_no_pixel_and_leave_none():
    corners = np.array([(0.5, 0.5), (9.5, 0.5), (9.5, 8.5), (0.5, 8.5)])
    middle = np.array([4.5, 3.5])
    parts = [rasterise_polygon([[corners[k], corners[(k + 1) % 4], middle]], (12, 12)).astype(int) for k in range(4)]
    assert (sum(parts) == rasterise_polygon([corners], (12, 12))).all()


@pytest.mark.parametrize(
    ("ring", "said"),
    [
        ([(0, 0), (1, 1)], "2 points"),
        ([(0, 0), (1, float("nan")), (2, 0)], "not finite"),
        ([(0, 0), (1, 1e300), (2, 0)], "not finite, or beyond"),
        ([1, 2, 3], r"\(3,\)"),
    ],
)
def test_what_is_no_ring(ring, said):
    with pytest.raises(InputError, match=said):
        rasterise_polygon([ring], (4, 4))


def test_an_unknown_rule():
    with pytest.raises(CallError, match="rule is"):
        rasterise_polygon([[(0, 0), (1, 0), (1, 1)]], (4, 4), "nearest")


def test_nothing_is_nothing():
    assert not rasterise_polygon([], (3, 3)).any()
    assert rasterise_polygon([[(0, 0), (1, 0), (1, 1)]], (0, 5)).shape == (0, 5)

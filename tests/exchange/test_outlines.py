"""Outlines against every pixel's centre, one by one."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manytruths import InputError, rasterise_polygon
from manytruths.exchange.outlines import Bitmap, Ellipse, Line, Polygon, Whole, box
from manytruths.shape.polygons import MOST_POINTS

SHAPE = (17, 23)


def drawn(outline, shape=SHAPE):
    window, inside = outline.pixels(shape)
    whole = np.zeros(shape, bool)
    assert inside.shape == whole[window].shape
    whole[window] = inside
    return whole


def by_centre(test, shape=SHAPE):
    return np.array([[test(x + 0.5, y + 0.5) for x in range(shape[1])] for y in range(shape[0])])


places = st.floats(-8, 30).map(lambda x: round(x * 4) / 4)
points = st.tuples(places, places)


@given(
    st.lists(st.lists(points, min_size=3, max_size=7), min_size=1, max_size=3), st.sampled_from(["centre", "inclusive"])
)
def test_a_polygon_in_its_window_is_the_polygon(rings, rule):
    assert (drawn(Polygon.of(rings, rule)) == rasterise_polygon(rings, SHAPE, rule)).all()


@given(st.lists(points, min_size=3, max_size=7))
def test_a_polygon_by_cocos_rule(ring):
    ring = [(max(0, x), max(0, y)) for x, y in ring]
    assert (drawn(Polygon.of([ring], "coco")) == rasterise_polygon([ring], SHAPE, "coco")).all()


@given(points, st.floats(0.3, 15), st.floats(0.3, 15), st.floats(-400, 400))
def test_an_ellipse(centre, a, b, turned):
    c, s = math.cos(math.radians(turned)), math.sin(math.radians(turned))

    def value(x, y):
        dx, dy = x - centre[0], y - centre[1]
        return ((dx * c + dy * s) / a) ** 2 + ((dy * c - dx * s) / b) ** 2

    found, wanted = drawn(Ellipse(*centre, a, b, turned)), by_centre(value)
    sure = np.abs(wanted - 1) > 1e-9
    assert (found == (wanted <= 1))[sure].all()


def test_a_turned_ellipse_is_turned_from_x_to_y():
    flat = drawn(Ellipse(11.5, 8.5, 8, 2, 45), (17, 23))
    assert flat[8 + 4, 11 + 4]
    assert flat[8 - 4, 11 - 4]
    assert not flat[8 + 4, 11 - 4]


@given(st.lists(points, min_size=1, max_size=5), st.floats(0.5, 6))
def test_a_line_so_many_pixels_across(line, width):
    def near(x, y):
        best = math.inf
        ends = line[1:] or line
        for (x0, y0), (x1, y1) in zip(line, ends, strict=False):
            length = (x1 - x0) ** 2 + (y1 - y0) ** 2
            t = 0 if not length else min(1, max(0, ((x - x0) * (x1 - x0) + (y - y0) * (y1 - y0)) / length))
            best = min(best, math.hypot(x - x0 - t * (x1 - x0), y - y0 - t * (y1 - y0)))
        return best

    found, wanted = drawn(Line.of(line, width)), by_centre(near)
    sure = np.abs(wanted - width / 2) > 1e-9
    assert (found == (wanted <= width / 2))[sure].all()


@given(st.integers(-9, 25), st.integers(-9, 25), st.integers(1, 12), st.integers(1, 12))
def test_a_bitmap_loses_what_lies_beyond_the_image(top, left, height, width):
    bits = np.random.default_rng(0).random((height, width)) < 0.5
    wanted = np.zeros((60, 60), bool)
    wanted[top + 20 : top + 20 + height, left + 20 : left + 20 + width] = bits
    assert (drawn(Bitmap(top, left, bits)) == wanted[20 : 20 + SHAPE[0], 20 : 20 + SHAPE[1]]).all()


def test_a_whole_volume():
    volume = np.random.default_rng(0).random((3, 4, 5)) < 0.5
    assert (drawn(Whole(volume.astype(np.uint8)), volume.shape) == volume).all()


def test_boxes_turn_about_their_centre_or_their_corner():
    assert (drawn(box(2, 3, 4, 2)) == by_centre(lambda x, y: 2 < x < 6 and 3 < y < 5)).all()
    assert (drawn(box(2, 3, 4, 2, 90)) == by_centre(lambda x, y: 3 < x < 5 and 2 < y < 6)).all()
    assert (drawn(box(8, 3, 4, 2, 90, about="corner")) == by_centre(lambda x, y: 6 < x < 8 and 3 < y < 7)).all()


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Polygon.of([[(0, 0), (1, math.nan), (2, 2)]]), "not finite"),
        (lambda: Polygon.of([[(0, 0), (1, 1)]]), "2 points"),
        (lambda: Polygon.of([np.zeros((MOST_POINTS + 1, 2))]), "simplify the outline"),
        (lambda: Ellipse(1, 1, 0, 3), "half axes"),
        (lambda: Ellipse(1, 1, math.inf, 3), "coordinate inf"),
        (lambda: Ellipse(1, math.nan, 3, 3), "coordinate nan"),
        (lambda: Line.of([(0, math.nan)], 2), "coordinate nan"),
        (lambda: Line.of([], 2), "a line is"),
        (lambda: box(0, 0, 1e9, 1), "coordinate 1e"),
    ],
)
def test_what_cannot_be_drawn(make, told):
    with pytest.raises(InputError, match=told):
        make()


@settings(max_examples=20)
@given(st.floats(-1e7, 1e7), st.floats(1e-3, 1e6))
def test_huge_ellipses_take_no_more_than_the_image(x, a):
    assert drawn(Ellipse(x, 5, a, a)).shape == SHAPE

"""Masks of outlines that are not drawn: the pixels of the rasteriser, and the tables and maps of those pixels."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_polygons import COORDINATES, RINGS, SHAPES, with_rasterio

import manytruths as mt
from manytruths.core import counting
from manytruths.core.runs import read_runs
from manytruths.shape import polygons
from manytruths.shape.polygons import polygon_runs, rasterise_window
from manytruths.shape.regions import combine_labels

POLYGONS = st.lists(RINGS, max_size=4)
RULES = st.sampled_from(["centre", "inclusive"])


def drawn(outlines, shape, rule="centre"):
    """The union of polygons, each drawn by itself."""
    mask = np.zeros(shape, bool)
    for rings in outlines:
        mask |= mt.rasterise_polygon(rings, shape, rule)
    return mask


def painted(outlines, values, shape):
    """Labels one by one as arrays, the smaller cut out of the larger."""
    labels = sorted(set(values))
    parts = [drawn([p for p, v in zip(outlines, values, strict=True) if v == label], shape) for label in labels]
    if not labels:
        return np.zeros(shape, np.uint8)
    # label 0 cannot be given to combine_labels: every label moves up by one, and down again
    one_up = combine_labels([*parts], [label + 1 for label in labels])
    return np.where(one_up == 0, 0, one_up.astype(int) - 1)


@given(POLYGONS, SHAPES, RULES, st.sampled_from([1, 7, 1 << 22]))
def test_runs_are_the_pixels_of_the_rasteriser(outlines, shape, rule, crossings):
    points = [[np.array(ring, float) for ring in rings] for rings in outlines]
    most, polygons.MAX_CROSSINGS = polygons.MAX_CROSSINGS, crossings
    try:
        starts, stops = polygon_runs(points, shape, rule)
    finally:
        polygons.MAX_CROSSINGS = most
    wanted = read_runs(drawn(outlines, shape, rule))
    assert starts.tolist() == wanted.starts.tolist()
    assert stops.tolist() == wanted.stops.tolist()


@given(st.data(), SHAPES)
def test_runs_are_the_pixels_of_rasterio(data, shape):
    away = COORDINATES.filter(lambda y: (2 * y) % 2 != 1)
    rings = data.draw(st.lists(st.lists(st.tuples(COORDINATES, away), min_size=3, max_size=12), min_size=1, max_size=3))
    assert (mt.OutlineMask([rings], shape)[...] == with_rasterio(rings, shape)).all()


@given(RINGS, SHAPES, RULES, st.data())
def test_a_part_of_the_image_has_the_same_pixels(rings, shape, rule, data):
    where = tuple(data.draw(slices(n)) for n in shape)
    points = [np.array(ring, float) for ring in rings]
    assert (rasterise_window([points], where, rule) == mt.rasterise_polygon(rings, shape, rule)[where]).all()


def slices(n):
    return st.tuples(st.integers(0, n), st.integers(0, n)).map(lambda ends: slice(min(ends), max(ends)))


def test_pixels_do_not_depend_on_the_corner_of_the_part():
    # a column that falls on an edge by rounding: with coordinates counted from the part's corner it would differ
    rng, differ = np.random.default_rng(1), 0
    for _ in range(300):
        ring = 40_000 + rng.integers(0, 40, (8, 2)) / 3
        where = slice(40_000, 40_014), slice(40_000, 40_014)
        own = rasterise_window([[ring]], where)
        assert (own == mt.OutlineMask([[ring]], (50_000, 50_000))[where]).all()
        differ += int((own != mt.rasterise_polygon([ring - 40_000], (14, 14))).any())
    assert differ, "the test tests nothing"


@given(POLYGONS, SHAPES, st.data())
def test_labels_overlap_as_drawn_masks_do(outlines, shape, data):
    values = data.draw(st.lists(st.integers(0, 3), min_size=len(outlines), max_size=len(outlines)))
    mask, wanted = mt.OutlineMask(outlines, shape, values), painted(outlines, values, shape)
    assert (mask[...] == wanted).all()
    runs, other = mask.label_runs(), read_runs(wanted)
    for name in ("starts", "stops", "values"):
        assert getattr(runs, name).tolist() == getattr(other, name).tolist()
    where = tuple(data.draw(slices(n)) for n in shape)
    assert (mask[where] == wanted[where]).all()
    known = mask.known_value(where)
    if wanted[where].size:
        assert known == (wanted[where].flat[0] if len(np.unique(wanted[where])) == 1 else None)


@given(st.lists(POLYGONS, min_size=1, max_size=4), SHAPES, st.sampled_from([1, 5, 1 << 19]), st.data())
def test_the_table_of_runs_is_the_table_of_pixels(raters, shape, pending, data):
    values = [data.draw(st.lists(st.integers(1, 2), min_size=len(own), max_size=len(own))) for own in raters]
    region = mt.OutlineMask([[[(0, 0), (40, 0), (40, 9.5), (0, 20)]]], shape)
    masks = {f"r{k}": mt.OutlineMask(own, shape, values[k]) for k, own in enumerate(raters)}
    pixels = {name: mask[...] for name, mask in masks.items()}
    most, counting._PENDING = counting._PENDING, pending
    try:
        by_runs, inside = mt.tally(masks), mt.tally(masks, region=region)
    finally:
        counting._PENDING = most
    assert by_runs == mt.tally(pixels)
    assert inside == mt.tally(pixels, region=region[...])
    # beside pixels, or in a region of pixels, they are read by tile
    first = next(iter(masks))
    assert mt.tally(masks | {first: pixels[first]}) == by_runs
    assert mt.tally(masks, region=region[...]) == inside


def test_maps_of_outlines_are_those_of_their_pixels():
    rng = np.random.default_rng(0)
    shape = 3000, 2500
    masks = {
        name: mt.OutlineMask([[rng.uniform(0, 3000, (9, 2))] for _ in range(3)], shape, [1, 2, 1]) for name in "ABC"
    }
    table = mt.tally(masks)
    values = mt.plurality(table).hard
    out = np.zeros(shape, np.uint8)
    mt.paint(values, masks, table, out=out)
    assert (out == mt.paint(values, {name: mask[...] for name, mask in masks.items()}, table)).all()


def test_nothing_of_the_size_of_the_slide_is_made():
    square = [[(10, 10), (90_000.5, 10), (90_000.5, 80_010), (10, 80_010)]]
    mask = mt.OutlineMask([square], (100_000, 100_000))
    assert mask.known_value((slice(500, 900), slice(500, 900))) == 1
    assert mask.known_value((slice(95_000, 96_000), slice(0, 1024))) == 0
    assert mask.known_value((slice(0, 100), slice(0, 100))) is None
    # the right edge runs through the centres of a column, which belong
    marked = 89_991 * 80_000
    assert mt.tally({"A": mask, "B": mt.OutlineMask([], mask.shape)}).counts.tolist() == [10**10 - marked, marked]
    again = pickle.loads(pickle.dumps(mask))
    assert len(pickle.dumps(mask)) < 2000
    assert again.label_runs().starts.tolist() == mask.label_runs().starts.tolist()


def test_outlines_that_reach_beyond_the_image_are_cut_off_and_counted():
    inside, beyond = [[(1, 1), (3, 1), (3, 3)]], [[(2, 2), (9, 2), (9, 9), (2, 9)]]
    mask = mt.OutlineMask([inside, beyond], (5, 6))
    assert mask.outside == 1
    assert mask[2:, 2:].sum() == 12


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (([[[(0, 0), (1, 1)]]], (4, 4)), "at least three"),
        (([[[(0, 0), (1, 1), (np.nan, 2)]]], (4, 4)), "not finite"),
        (([], (4, 4, 4)), "height and width"),
        (([], (0, 4)), "height and width"),
        (([[[(0, 0), (1, 1), (2, 0)]]], (4, 4), [1, 2]), "a label"),
        (([], (4, 4), None, "coco"), "'centre' or 'inclusive'"),
    ],
)
def test_what_is_no_mask_is_refused(arguments, says):
    with pytest.raises(mt.ManytruthsError, match=says):
        mt.OutlineMask(*arguments)


def test_a_mask_of_outlines_is_read_by_slices():
    mask = mt.OutlineMask([[[(0, 0), (4, 0), (4, 4), (0, 4)]]], (6, 6))
    assert mask[1:3].shape == (2, 6)
    assert mask[:, -3:].sum() == 4
    for where in (3, (slice(None, None, 2), slice(None)), (slice(None),) * 3):
        with pytest.raises(mt.CallError, match="by slices"):
            mask[where]

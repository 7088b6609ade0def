"""Grids: what differs, and in which words."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manytruths import Grid, GridError


def affine(spacing=(1.0, 2.0, 3.0), origin=(0.0, 0.0, 0.0), rotation=None):
    matrix = np.eye(4)
    matrix[:3, :3] = (np.eye(3) if rotation is None else rotation) @ np.diag(spacing)
    matrix[:3, 3] = origin
    return matrix.tolist()


SHAPE = (10, 20, 30)


@pytest.mark.parametrize(
    ("grid", "other", "text"),
    [
        (Grid((4, 5)), Grid((4, 5)), ""),
        (Grid((512, 500)), Grid((512, 512)), "size 512×500 instead of 512×512"),
        (Grid((4, 5), (0.5, 0.5)), Grid((4, 5), (0.5, 0.7)), "spacing 0.5×0.5 mm instead of 0.5×0.7 mm"),
        (Grid((4, 5), (0.5, 0.5)), Grid((4, 5)), "a spacing without a position instead of no position or spacing"),
        (
            Grid(SHAPE),
            Grid(SHAPE, affine=affine()),
            "no position or spacing instead of a position in space (an affine)",
        ),
        (
            Grid(SHAPE, affine=affine(origin=(0, 3.2, 0))),
            Grid(SHAPE, affine=affine()),
            "affine: the origin is 3.2 mm away",
        ),
        (Grid(SHAPE, affine=affine((-1, 2, 3))), Grid(SHAPE, affine=affine()), "affine: axis 1 flipped"),
        (Grid(SHAPE, affine=affine((-1, -2, 3))), Grid(SHAPE, affine=affine()), "affine: axis 1 and 2 flipped"),
        (
            Grid(SHAPE, affine=affine((1, 1, 1), rotation=np.eye(3)[[1, 0, 2]])),
            Grid(SHAPE, affine=affine((1, 1, 1))),
            "affine: axes oriented otherwise",
        ),
        (
            Grid(SHAPE, affine=affine((1, 2, 4))),
            Grid(SHAPE, affine=affine()),
            "spacing 1×2×4 mm instead of 1×2×3 mm",
        ),
    ],
)
def test_difference_says_what_differs(grid, other, text):
    assert grid.difference(other) == text
    assert bool(other.difference(grid)) == bool(text)


@given(st.floats(-0.0009, 0.0009), st.integers(0, 2))
def test_corners_within_a_thousandth_of_a_voxel_are_the_same(shift, axis):
    origin = [0.0, 0.0, 0.0]
    origin[axis] = shift
    assert Grid(SHAPE, affine=affine((1, 1, 1), origin)).difference(Grid(SHAPE, affine=affine((1, 1, 1)))) == ""


def test_a_small_error_of_spacing_counts_at_the_far_corner():
    near = Grid((3, 3), (1.0, 1.0001))
    assert near.difference(Grid((3, 3), (1.0, 1.0))) == ""
    assert Grid((3, 500), (1.0, 1.0001)).difference(Grid((3, 500), (1.0, 1.0))) != ""


def test_a_tiny_rotation_is_noticed():
    angle = 0.01
    turn = np.array([[math.cos(angle), -math.sin(angle), 0], [math.sin(angle), math.cos(angle), 0], [0, 0, 1]])
    assert "oriented" in Grid(SHAPE, affine=affine((1, 1, 1), rotation=turn)).difference(
        Grid(SHAPE, affine=affine((1, 1, 1)))
    )


@pytest.mark.parametrize("spacing", [(0.0, 1.0), (-1.0, 1.0), (math.nan, 1.0), (math.inf, 1.0), (1.0,)])
def test_bad_spacing_is_refused(spacing):
    with pytest.raises(GridError, match="spacing"):
        Grid((4, 5), spacing)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_bad_affine_is_refused(bad):
    with pytest.raises(GridError, match="affine"):
        Grid(SHAPE, affine=affine(origin=(bad, 0, 0)))
    with pytest.raises(GridError, match="spacing 0×2×3"):
        Grid(SHAPE, affine=affine((0, 2, 3)))
    with pytest.raises(GridError, match="does not fit"):
        Grid((1, 2, 3, 4), affine=affine())


def test_item_size():
    assert Grid((4, 5)).item_size is None
    assert Grid((4, 5), (0.5, 0.25)).item_size == (0.125, "mm²")
    assert Grid(SHAPE, affine=affine()).item_size == (6.0, "mm³")

"""Thinning keeps what is connected, and boundaries are where labels change."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from numpy.typing import NDArray
from scipy import ndimage

from manytruths import CallError, InputError, LabelError, find_boundaries, thin

Mask = NDArray[np.bool_]
EIGHT = np.ones((3, 3))
masks = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=14))


def goes(around: NDArray[np.int_], turn: int) -> bool:
    """Guo and Hall's conditions as they are printed, for one 3 × 3 neighbourhood."""
    x = dict(enumerate(around[[1, 0, 0, 0, 1, 2, 2, 2], [2, 2, 1, 0, 0, 0, 1, 2]], start=1))
    x[9] = x[1]
    crossings = sum((not x[2 * i - 1]) and bool(x[2 * i] or x[2 * i + 1]) for i in range(1, 5))
    first = sum(bool(x[2 * k - 1] or x[2 * k]) for k in range(1, 5))
    second = sum(bool(x[2 * k] or x[2 * k + 1]) for k in range(1, 5))
    held = (x[2] or x[3] or not x[8]) and x[1] if turn == 0 else (x[6] or x[7] or not x[4]) and x[5]
    return bool(crossings == 1 and 2 <= min(first, second) <= 3 and not held)


def thinned_slowly(mask: Mask) -> Mask:
    """Every pixel in every turn."""
    framed, turn, idle = np.pad(mask, 1).astype(int), 0, 0
    while idle < 2:
        away = [(y, x) for y, x in np.argwhere(framed) if goes(framed[y - 1 : y + 2, x - 1 : x + 2], turn)]
        for place in away:
            framed[place] = 0
        turn, idle = 1 - turn, 0 if away else idle + 1
    return framed[1:-1, 1:-1].astype(bool)


@given(masks)
def test_is_guo_and_hall_pixel_by_pixel(mask: Mask) -> None:
    assert (thin(mask) == thinned_slowly(mask)).all()


@given(masks)
def test_keeps_every_connected_part_and_is_done_in_one_go(mask: Mask) -> None:
    lines = thin(mask)
    parts, count = ndimage.label(mask, EIGHT)
    assert not (lines & ~mask).any()
    assert ndimage.label(lines, EIGHT)[1] == count
    assert set(parts[lines]) == set(range(1, count + 1))
    assert (thin(lines) == lines).all()


@pytest.mark.parametrize("shape", [(2, 2), (2, 7), (6, 2), (5, 5), (1, 1), (4, 9)])
def test_rectangles_never_vanish(shape: tuple[int, int]) -> None:
    assert thin(np.ones(shape, bool)).any()


def test_thick_lines_become_lines() -> None:
    thick = np.zeros((40, 60), bool)
    thick[10:15, 5:55] = True
    lines = thin(thick)
    assert (lines.sum(axis=0) <= 1).all()
    assert lines.sum() > 40
    assert not ndimage.binary_erosion(lines, np.ones((2, 2))).any()


def test_a_ring_stays_a_ring() -> None:
    y, x = np.mgrid[-20:21, -20:21]
    lines = thin((np.hypot(y, x) > 10) & (np.hypot(y, x) < 17))
    assert ndimage.label(~lines)[1] == 2


@given(masks)
def test_takes_any_two_values(mask: Mask) -> None:
    assert (thin(mask * np.uint8(255)) == thin(mask)).all()


@given(arrays(np.int8, array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8), elements=st.integers(0, 3)))
def test_boundary_is_where_a_neighbour_differs(labels: NDArray[np.int8]) -> None:
    height, width = labels.shape
    for y, x in np.ndindex(height, width):
        others = [(y + b, x + a) for b, a in ((0, 1), (1, 0), (1, 1)) if y + b < height and x + a < width]
        assert find_boundaries(labels)[y, x] == any(labels[y, x] != labels[place] for place in others)


def test_errors() -> None:
    with pytest.raises(CallError, match=r"the mask has shape \(2, 2, 2\).*2-D only"):
        thin(np.zeros((2, 2, 2)))
    with pytest.raises(LabelError, match=r"values 0, 1, 2.*find_boundaries"):
        thin([[0, 1, 2]])
    with pytest.raises(InputError, match="1 values that are not finite"):
        find_boundaries([[0.0, np.nan]])
    with pytest.raises(CallError, match="holds"):
        find_boundaries([["a", "b"]])

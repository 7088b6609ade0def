"""Painting: the value of every pattern, back in its place."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
import naive
from layouts import LAYOUTS
from manytruths import CallError, InputError, LabelError
from manytruths.core import mask_arrays
from panels import VOID, panels

SMALL = st.sampled_from([1, 2, 7, 1 << 20])


def counted(panel, **options):
    return mt.tally(panel.masks, labels=panel.labels, void=VOID, **options)


@settings(max_examples=100)
@given(panel=panels(absent=True), data=st.data(), block=SMALL)
def test_votes_painted_are_the_sum_of_the_masks(panel, data, block):
    table = counted(panel)
    laid = {
        rater: None if m is None else LAYOUTS[data.draw(st.sampled_from(list(LAYOUTS)))](m)
        for rater, m in panel.masks.items()
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_arrays, "BLOCK", block)
        painted = mt.paint(table.marked, laid, table, void=VOID)
    there = [m for m in panel.masks.values() if m is not None]
    np.testing.assert_array_equal(painted, sum((m != VOID) & (m != 0) for m in there))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("shape", [(9,), (4, 6), (3, 4, 5), (1, 7), (7, 1)])
def test_every_memory_order(layout, shape):
    masks = np.random.default_rng(1).integers(0, 2, (5, *shape)).astype(np.uint8)
    table = mt.tally(masks)
    painted = mt.paint(table.marked, [LAYOUTS[layout](m) for m in masks], table)
    np.testing.assert_array_equal(painted, masks.sum(axis=0))


@settings(max_examples=60)
@given(panel=panels(raters=(2, 4), absent=True), data=st.data())
def test_a_pooled_table_paints_any_of_its_cases(panel, data):
    other = data.draw(panels(raters=(2, 6), labels=(2, 3)))
    pooled = mt.pool([counted(panel), counted(other)])
    values = np.random.default_rng(0).permutation(len(pooled.counts)).astype(np.float32)
    by_pattern = dict(zip(naive.of_tally(pooled), values, strict=True))
    for case in (panel, other):
        painted = mt.paint(values, case.masks, pooled, void=VOID)
        full = [case.masks.get(c.name) for c in pooled.columns]
        assert painted.dtype == np.float32
        assert painted.reshape(-1).tolist() == [by_pattern[i] for i in naive.items(full, VOID)]


@settings(max_examples=40)
@given(panel=panels(missing=False))
def test_foreground(panel):
    table = mt.tally(panel.masks, foreground="any")
    painted = mt.paint(table.marked, panel.masks, table, foreground="any")
    np.testing.assert_array_equal(painted, sum(m != 0 for m in panel.masks.values()))


@settings(max_examples=40)
@given(panel=panels())
def test_fill_stands_outside_the_region(panel):
    table = counted(panel, region="union")
    painted = mt.paint(table.marked.astype(float), panel.masks, table, void=VOID, fill=np.nan)
    marked = sum((m != VOID) & (m != 0) for m in panel.masks.values())
    np.testing.assert_array_equal(painted, np.where(marked > 0, marked, np.nan))


@pytest.mark.parametrize(
    ("dtype", "fill", "wanted"),
    [
        ("u1", -1, "i2"),
        ("i1", 300, "i4"),
        ("i8", np.nan, "f8"),
        ("f4", np.nan, "f4"),
        ("?", 0, "u1"),
        ("u1", 7, "u1"),
    ],
)
def test_fill_is_never_wrapped_to_the_type_of_the_values(dtype, fill, wanted):
    masks = [[1, 1, 0], [1, 0, 0]]
    table = mt.tally(masks, region="union")
    painted = mt.paint((table.marked > 1).astype(dtype), masks, table, fill=fill)
    assert painted.dtype == np.dtype(wanted)
    np.testing.assert_array_equal(painted, [1, 0, fill])


def test_a_prediction_is_a_column_like_any_other():
    prediction = mt.Column("unet", "algorithm")
    table = mt.tally({"A": [1, 0], "B": [1, 1]}, predictions={"unet": [0, 1]})
    code = table.patterns[:, table.position(prediction)]
    np.testing.assert_array_equal(mt.paint(code, {"B": [1, 1], prediction: [0, 1], "A": [1, 0]}, table), [0, 1])


def test_masks_may_come_in_another_order_by_name():
    table = mt.tally({"A": [1, 0, 0], "B": [1, 1, 0]})
    alone = (table.patterns[:, 1] == 1) & (table.patterns[:, 0] == 0)
    np.testing.assert_array_equal(mt.paint(alone, {"B": [1, 1, 0], "A": [1, 0, 0]}, table), [False, True, False])


def test_refusals():
    masks = {"A": [1, 1, 0], "B": [1, 0, 0]}
    table = mt.tally(masks)
    with pytest.raises(CallError, match=r"3 in all; got shape \(2,\)"):
        mt.paint([1, 2], masks, table)
    with pytest.raises(InputError, match="fill="):
        mt.paint(table.restrict("union").marked, masks, table.restrict("union"))
    with pytest.raises(LabelError, match=r"B: found the value 3.*0=background, 1"):
        mt.paint(table.marked, masks | {"B": [3, 0, 0]}, table)
    with pytest.raises(CallError, match=r"no column 'C'; there are A, B"):
        mt.paint(table.marked, masks | {"C": [1, 0, 0]}, table)

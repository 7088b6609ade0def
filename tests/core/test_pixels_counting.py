"""Counting: against the loop over pixels, and bit for bit the same however it is done."""

import random
import tracemalloc

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
import naive
from layouts import LAYOUTS
from manytruths import Labels
from manytruths.core import counting, mask_arrays
from panels import VOID, panels

SMALL = st.sampled_from([1, 2, 3, 7, 64, 1 << 20])


def counted(panel, masks=None, **options):
    return mt.tally(panel.masks if masks is None else masks, labels=panel.labels, void=VOID, **options)


@settings(max_examples=150)
@given(panel=panels(absent=True), block=SMALL, pending=st.sampled_from([1, 5, 1 << 19]))
def test_equals_the_loop_over_pixels(panel, block, pending):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_arrays, "BLOCK", block)
        patch.setattr(counting, "_PENDING", pending)
        table = counted(panel)
    assert naive.of_tally(table) == naive.count(naive.items(list(panel.masks.values()), VOID))
    assert table.items == next(m.size for m in panel.masks.values() if m is not None)


@settings(max_examples=60)
@given(panel=panels(missing=False))
def test_labels_that_occur_are_learnt(panel):
    table = mt.tally(panel.masks)
    values = set(np.unique(np.stack(list(panel.masks.values()))).tolist())
    assert table.labels == Labels.of(values | {0} if len(values - {0}) < 2 else values)
    assert naive.of_tally(table) == naive.count(naive.items(list(panel.masks.values())))


@settings(max_examples=100)
@given(panel=panels(), data=st.data(), block=SMALL)
def test_memory_order_changes_no_bit(panel, data, block):
    laid = {rater: LAYOUTS[data.draw(st.sampled_from(list(LAYOUTS)))](m) for rater, m in panel.masks.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_arrays, "BLOCK", block)
        assert counted(panel, laid) == counted(panel)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_memory_order_by_itself(layout):
    masks = np.random.default_rng(1).integers(0, 3, (4, 6, 5, 7)).astype(np.uint8)
    laid = [LAYOUTS[layout](m) for m in masks]
    if layout not in ("C", "memmap"):
        assert not laid[0].flags.c_contiguous
    for m, original in zip(laid, masks, strict=True):
        np.testing.assert_array_equal(m, original)
    assert mt.tally(laid) == mt.tally(masks)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", [1, 7, 10, 36, 1000])
def test_no_piece_is_larger_than_a_block(layout, block, monkeypatch):
    monkeypatch.setattr(mask_arrays, "BLOCK", block)
    array = np.arange(5 * 6 * 7).reshape(5, 6, 7)
    pieces = [piece for (piece,) in mask_arrays.flat_blocks([LAYOUTS[layout](array)])]
    assert max(map(len, pieces)) <= block
    assert sorted(np.concatenate(pieces).tolist()) == array.reshape(-1).tolist()


def tiles(shape, data):
    """A cut along every axis, or none."""
    cuts = [data.draw(st.integers(0, n)) for n in shape]
    parts = [[slice(0, c), slice(c, n)] if 0 < c < n else [slice(0, n)] for c, n in zip(cuts, shape, strict=True)]
    return [tuple(p[i] for p, i in zip(parts, where, strict=True)) for where in np.ndindex(*map(len, parts))]


@settings(max_examples=100)
@given(panel=panels(absent=True), data=st.data())
def test_tiles_sum_to_the_whole_in_any_order(panel, data):
    shape = next(m.shape for m in panel.masks.values() if m is not None)
    pieces = [
        counted(panel, {r: None if m is None else m[where] for r, m in panel.masks.items()})
        for where in data.draw(st.permutations(tiles(shape, data)))
    ]
    assert mt.pool(pieces) == sum(pieces) == counted(panel)


@settings(max_examples=80)
@given(panel=panels(raters=(2, 8), labels=(2, 2), missing=False), value=st.sampled_from([1, 2, 255]), block=SMALL)
def test_bit_sets_equal_runs(panel, value, block):
    masks = {rater: (m != 0).astype(np.uint8) * np.uint8(value) for rater, m in panel.masks.items()}
    few = len(masks) <= counting.MAX_DENSE_COLUMNS
    assert (counting.dense_patterns([m.reshape(-1) for m in masks.values()]) is not None) == few
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_arrays, "BLOCK", block)
        by_bits = mt.tally(masks, labels=[0, value])
        by_runs = mt.tally({rater: m.astype(np.int16) for rater, m in masks.items()}, labels=[0, value])
    assert by_bits == by_runs
    assert naive.of_tally(by_bits) == naive.count(naive.items(list(masks.values())))


@settings(max_examples=30)
@given(panel=panels(raters=(2, 5), labels=(2, 2), missing=False))
def test_more_columns_leave_bit_sets_for_runs(panel):
    masks = {rater: (m != 0).astype(np.uint8) for rater, m in panel.masks.items()}
    padded = masks | {f"X{i}": masks["R1"] for i in range(counting.MAX_DENSE_COLUMNS)}
    assert mt.tally(padded, labels=[0, 1]).project(masks) == mt.tally(masks, labels=[0, 1])


@pytest.mark.parametrize("items", [1, 7, 8, 63, 64, 65, 127, 128, 1000])
def test_bit_sets_at_the_ends_of_words(items):
    masks = np.random.default_rng(items).integers(0, 2, (6, items)).astype(bool)
    assert naive.of_tally(mt.tally(masks)) == naive.count(naive.items(masks))


def test_each_rater_may_have_his_own_value_in_bit_sets():
    table = mt.tally([np.array([0, 255, 255], np.uint8), np.array([0, 1, 0], np.uint8)])
    assert naive.of_tally(table) == {(0, 0): 1, (255, 1): 1, (255, 0): 1}


@pytest.mark.parametrize("dtype", ["bool", "u1", "i1", "u2", "i2", ">u2", "i4", "i8", "u8", "f2", "f4", "f8"])
def test_types_of_numbers(dtype):
    masks = np.random.default_rng(2).integers(0, 2, (3, 40))
    assert mt.tally(masks.astype(dtype)) == mt.tally(masks)


@pytest.mark.parametrize("top", [1, 255])
def test_black_and_white(top):
    masks = np.random.default_rng(3).integers(0, 2, (3, 40)).astype(np.uint8)
    table = mt.tally(masks * np.uint8(top))
    assert table.labels.values == (0, top)
    assert table.patterns.tolist() == mt.tally(masks).patterns.tolist()


def test_large_values_of_wide_integers():
    table = mt.tally(np.array([[0, 300, 65535], [0, 300, 300]], np.uint16))
    assert table.labels.values == (0, 300, 65535)
    assert naive.of_tally(table) == {(0, 0): 1, (300, 300): 1, (65535, 300): 1}


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_as_many_labels_as_there_are_codes(dtype):
    values = np.arange(255).astype(dtype)
    masks = np.stack([values, values[::-1]])
    table = mt.tally(masks)
    assert len(table.labels) == 255
    assert naive.of_tally(table) == naive.count(naive.items(masks))
    with_void = mt.tally(np.stack([np.append(values, 255).astype(dtype), np.append(values[::-1], 0)]), void=255)
    assert naive.of_tally(with_void) == naive.count([*naive.items(masks), (None, 0)])


@settings(max_examples=60)
@given(panel=panels(missing=False), data=st.data())
def test_where_a_masked_array_is_masked_nobody_rated(panel, data):
    hide = {rater: data.draw(st.booleans()) for rater in panel.masks}
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    hidden = {rater: (rng.random(m.shape) < 0.5) & hide[rater] for rater, m in panel.masks.items()}
    for dtype in (np.int64, np.uint16, np.float64):
        masked = {rater: np.ma.array(m.astype(dtype), mask=hidden[rater]) for rater, m in panel.masks.items()}
        plain = {rater: np.where(hidden[rater], VOID, m) for rater, m in panel.masks.items()}
        assert counted(panel, masked) == counted(panel, plain)


@settings(max_examples=60)
@given(panel=panels(raters=(3, 5)), data=st.data())
def test_an_absent_rater_is_void_everywhere_and_changes_no_statistic(panel, data):
    gone = data.draw(st.sampled_from(list(panel.masks)))
    absent = counted(panel, panel.masks | {gone: None})
    assert absent == counted(panel, panel.masks | {gone: np.full_like(panel.masks[gone], VOID)})
    without = counted(panel, {rater: m for rater, m in panel.masks.items() if rater != gone})
    assert absent.without(gone) == without
    for statistic in (
        mt.percent_agreement, mt.fleiss_kappa, mt.gwet_ac1, mt.pabak, mt.krippendorff_alpha, mt.smyth_bound,
        mt.positive_agreement, mt.negative_agreement, mt.unanimous, mt.prevalence_index, mt.heatmap_score,
    ):  # fmt: skip
        assert statistic(absent) == pytest.approx(statistic(without), abs=1e-12, nan_ok=True)
    assert mt.case_condition(absent) == mt.case_condition(without)
    assert mt.mean_pairwise(mt.dice, absent) == pytest.approx(mt.mean_pairwise(mt.dice, without), nan_ok=True)


@settings(max_examples=60)
@given(panel=panels(absent=True), data=st.data(), block=SMALL)
def test_a_region_counts_the_items_inside_it(panel, data, block):
    shape = next(m.shape for m in panel.masks.values() if m is not None)
    region = np.random.default_rng(data.draw(st.integers(0, 99))).random(shape) < 0.5
    region.flat[0] = True
    region = LAYOUTS[data.draw(st.sampled_from(list(LAYOUTS)))](region)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mask_arrays, "BLOCK", block)
        table = counted(panel, region=region)
    cropped = counted(panel, {rater: None if m is None else m[region] for rater, m in panel.masks.items()})
    assert table.region == "mask"
    assert naive.of_tally(table) == naive.of_tally(cropped)
    assert table.items == region.sum()


def test_what_lies_outside_the_region_is_not_looked_at():
    table = mt.tally({"A": [np.nan, 1, 0], "B": [0.5, 1, 1]}, region=[0, 1, 1])
    assert naive.of_tally(table) == {(1, 1): 1, (0, 1): 1}


@settings(max_examples=80)
@given(panel=panels(absent=True))
def test_regions_that_the_table_knows(panel):
    items = naive.items(list(panel.masks.values()), VOID)
    whole = counted(panel)
    for name, kept in (("union", naive.union(items)), ("modified_background", naive.modified_background(items))):
        table = counted(panel, region=name)
        assert table.region == name
        assert naive.of_tally(table) == naive.count(kept)
        assert whole.restrict(name) == table


@settings(max_examples=40)
@given(panel=panels(missing=False))
def test_foreground_any_unites_the_labels(panel):
    united = {rater: m != 0 for rater, m in panel.masks.items()}
    table = mt.tally(panel.masks, foreground="any")
    assert table.labels.values == (0, 1)
    assert naive.of_tally(table) == naive.count(naive.items(list(united.values())))


def test_foregrounds_of_different_cases_pool():
    cases = [[[0, 1], [0, 1]], [[0, 255], [255, 0]], [[1, 2], [0, 0]], [[0, 0], [0, 0]], [[5, 5], [5, 5]]]
    pooled = mt.pool([mt.tally(c, foreground="any") for c in cases])
    assert naive.of_tally(pooled) == {(0, 0): 3, (1, 1): 3, (0, 1): 1, (1, 0): 3}


def test_a_declared_name_survives_foreground():
    assert mt.tally([[0, 1], [1, 1]], labels={1: "gland"}, foreground="any").labels.names == ("background", "gland")


def test_columns_roles_and_sessions():
    table = mt.tally(
        {("A", "1"): [1, 0], ("A", "2"): [1, 1], "B": [0, 0]},
        predictions={"unet": [1, 1], ("unet", "2"): None},
        references={"truth": [0, 1]},
        unit=(0.25, "mm²"),
    )
    assert list(map(str, table.columns)) == ["A@1", "A@2", "B", "unet", "unet@2", "truth"]
    assert [c.role for c in table.columns] == ["rater"] * 3 + ["algorithm"] * 2 + ["reference"]
    assert table.rater_names == ("A", "B")
    assert str(table.unit) == "0.25 mm²"


@pytest.mark.parametrize("shape", [(0,), (0, 5), (5, 0), (3, 0, 4)])
@pytest.mark.parametrize("layout", ["C", "F", "reversed"])
def test_no_items_make_an_empty_table(shape, layout):
    masks = [LAYOUTS[layout](np.zeros(shape, np.uint8))] * 2
    table = mt.tally(masks)
    assert table.items == len(table.counts) == 0
    assert "no item" in mt.reason(mt.fleiss_kappa(table))
    assert mt.paint(table.marked, masks, table).shape == shape
    assert mt.pool([table, mt.tally([[1, 0], [1, 1]])]).items == 2


def test_nobody_rated_anything():
    table = mt.tally([[9, 9], [9, 9]], void=9)
    assert naive.of_tally(table) == {(None, None): 2}
    assert "no item was rated" in mt.reason(mt.smyth_bound(table))


@pytest.mark.parametrize("kind", ["smooth bytes", "noisy bytes", "noisy wide"])
def test_memory_beyond_the_masks(kind):
    rng = np.random.default_rng(0)
    masks = rng.integers(0, 2, (5, 2048, 2048), np.uint8)
    if kind == "smooth bytes":
        masks = np.repeat(np.repeat(masks[:, :64, :64], 32, axis=1), 32, axis=2)
    if kind == "noisy wide":
        masks = masks.astype(np.int16)
    tracemalloc.start()
    try:
        table = mt.tally(masks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert table.items == 2048**2
    assert len(table.counts) == 32
    assert peak < 64 * 2**20, f"{peak / 2**20:.0f} MB"


def test_many_raters_never_make_a_table_of_all_patterns():
    rng = random.Random(0)
    masks = np.array([[rng.randrange(5) for _ in range(300)] for _ in range(202)])
    tracemalloc.start()
    try:
        table = mt.tally(masks)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert naive.of_tally(table) == naive.count(naive.items(masks))
    assert peak < 16 * 2**20

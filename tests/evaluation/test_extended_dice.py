"""Extended Dice: its laws, a toy example by hand, and where it saturates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from data_folder import data
from manytruths import CallError, extended_dice_counts, reason
from panels import VOID, panels

SIZE = 12
MASK = arrays(bool, SIZE)


def by_hand(p: np.ndarray, inner: np.ndarray, outer: np.ndarray) -> float:
    """Zeng's eq. 1, as it is printed."""
    return 1 - ((p & ~outer).sum() + (inner & ~p).sum()) / (p.sum() + inner.sum())


def test_the_toy_example_of_two_boundaries():
    # A row of ten pixels: A marks 2–6, B marks 4–8, so that I = 4–6, O = 2–8; P = 1–5 misses one of I and adds one.
    a, b, p = (np.isin(np.arange(10), range(*ends)) for ends in ((2, 7), (4, 9), (1, 6)))
    table = mt.tally({"A": a, "B": b}, predictions={"net": p})
    assert mt.extended_dice(table) == {"net": pytest.approx(1 - (1 + 1) / (5 + 3))}
    found = extended_dice_counts(table, "net")
    assert (found.marked, found.inner, found.outer, found.missed, found.extra) == (5, 3, 7, 1, 1)
    assert found.inner_outer_ratio == pytest.approx(3 / 7)


@given(MASK, MASK, MASK, MASK)
def test_it_is_the_printed_formula(a, b, c, p):
    value = mt.extended_dice(mt.tally({"A": a, "B": b, "C": c}, predictions={"net": p}))["net"]
    inner, outer = a & b & c, a | b | c
    if p.any() or inner.any():
        assert value == pytest.approx(by_hand(p, inner, outer), abs=1e-15)
        acceptable = not (inner & ~p).any() and not (p & ~outer).any()
        assert (value == 1) == acceptable
        assert 0 <= value <= 1
    else:
        assert reason(value)


@given(MASK, MASK)
def test_it_is_dice_where_raters_agree(a, p):
    table = mt.tally({"A": a, "B": a, "C": a}, predictions={"net": p})
    value, dice = mt.extended_dice(table)["net"], mt.dice(table.pair("net", "A"))
    assert value == pytest.approx(dice, abs=1e-15) or (math.isnan(value) and math.isnan(dice))


def test_its_edges():
    nothing, one = np.zeros(4, int), np.array([1, 0, 0, 0])
    apart = {"A": [1, 1, 0, 0], "B": [0, 0, 1, 1]}
    found = extended_dice_counts(mt.tally(apart, predictions={"net": one}), "net")
    assert found.value == 1
    assert "one pixel" in found.note
    assert mt.extended_dice(mt.tally(apart, predictions={"net": nothing}))["net"] != 1
    assert reason(mt.extended_dice(mt.tally(apart, predictions={"net": nothing}))["net"])
    both = {"A": one, "B": one}
    assert mt.extended_dice(mt.tally(both, predictions={"net": nothing}))["net"] == 0


@given(MASK, MASK, MASK, MASK)
def test_it_grows_with_the_outer_region_at_a_fixed_inner_one(a, b, more, p):
    inner = a & b
    wider = (a | more) & ~(b & ~a) | inner  # B stays, A may only gain outside of B
    small = mt.extended_dice(mt.tally({"A": a, "B": b}, predictions={"net": p}))["net"]
    large = mt.extended_dice(mt.tally({"A": wider, "B": b}, predictions={"net": p}))["net"]
    if not math.isnan(small):
        assert large >= small - 1e-15


def test_a_further_rater_can_lower_it():
    two = {"A": [1, 1, 0, 0], "B": [1, 1, 0, 0]}
    # C turns one of two certain pixels into a dispute; the one that is left is the one that P misses
    three = two | {"C": [1, 0, 0, 0]}
    p = [0, 1, 0, 0]
    assert mt.extended_dice(mt.tally(two, predictions={"net": p}))["net"] == pytest.approx(2 / 3)
    assert mt.extended_dice(mt.tally(three, predictions={"net": p}))["net"] == pytest.approx(1 / 2)


@given(panels(raters=(2, 4), labels=(2, 3)))
def test_a_rater_is_judged_by_the_others(panel):
    table = mt.tally({k: np.ma.masked_equal(m, VOID) for k, m in panel.masks.items()}, labels=panel.labels)
    name = table.rater_names[0]
    masks = dict(panel.masks)
    judged = np.ma.masked_equal(masks.pop(name), VOID)
    others = mt.tally({k: np.ma.masked_equal(m, VOID) for k, m in masks.items()}, labels=panel.labels,
                      predictions={"net": judged})  # fmt: skip
    assert extended_dice_counts(table, name) == extended_dice_counts(others, "net")


def test_what_was_not_decided_does_not_count():
    masks = {"A": np.ma.array([1, 1, 0, 0], mask=[0, 0, 0, 1]), "B": np.ma.array([1, 0, 0, 0], mask=[0, 0, 0, 1])}
    p = np.ma.array([1, 1, 1, 1], mask=[0, 0, 1, 0])
    found = extended_dice_counts(mt.tally(masks, predictions={"net": p}), "net")
    assert (found.marked, found.inner, found.outer) == (2, 1, 2)


def test_calls_that_make_no_sense():
    with pytest.raises(CallError, match="no algorithm"):
        mt.extended_dice(mt.tally({"A": [1], "B": [1]}))
    with pytest.raises(CallError, match="needs at least one other"):
        extended_dice_counts(mt.tally({"A": [1]}), "A")


def test_it_saturates_on_fissure():
    from PIL import Image

    folder = data("fissure", "raters")
    masks = {f.name: np.asarray(Image.open(f / "fissure.png")) > 0 for f in sorted(folder.iterdir())}
    votes = np.sum(list(masks.values()), axis=0)
    table = mt.tally(masks, predictions={str(k): votes >= k for k in (1, 2, 5, 7, 13)})
    assert set(mt.extended_dice(table).values()) == {1.0}
    assert "saturates" in extended_dice_counts(table, "7").note


@given(st.data())
def test_by_name_and_in_order(source):
    names = source.draw(st.permutations(["u", "v", "w"]))
    table = mt.tally({"A": [1, 0], "B": [1, 1]}, predictions={n: [1, 0] for n in names})
    assert list(mt.extended_dice(table)) == list(names)

"""Responses counted against patterns: pixel by pixel, tile by tile, whatever the numbers are."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats
from sklearn import metrics

import manytruths as mt
from manytruths import (
    CallError,
    Column,
    GridError,
    InputError,
    LabelError,
    ReferenceStandards,
    ResponseCounts,
    Undefined,
    correlation_in_image,
    correlation_in_object,
    count_responses,
    reference_standards,
)
from manytruths.evaluation.curves import add_counts
from manytruths.evaluation.responses import count_indexed_responses, index_masks
from panels import VOID, Panel, panels

room = import_module("manytruths.evaluation.responses")  # the room of that name, not the function

LIMITS = (0.1, 0.5)
NUMBERS = (bool, np.uint8, np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, np.float64)


def noisy(seed: int, shape: tuple[int, ...] = (40, 50), raters: int = 3) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Masks, and a response that goes with them."""
    rng = np.random.default_rng(seed)
    field = rng.normal(size=shape)
    masks = {f"R{i}": (field + 0.7 * rng.normal(size=shape) > 1).astype(np.uint8) for i in range(1, raters + 1)}
    return masks, field + 0.5 * rng.normal(size=shape)


def same(a: ResponseCounts, b: ResponseCounts) -> bool:
    fields = ("levels", "positives", "negatives", "shares", "by_share")
    return a.references == b.references and all(np.array_equal(getattr(a, f), getattr(b, f)) for f in fields)


# -- the index -----------------------------------------------------------------------------------


@given(panels(absent=True))
def test_one_go_is_counting_and_painting(panel: Panel) -> None:
    found = index_masks(panel.masks, void=VOID)
    table = mt.tally(panel.masks, void=VOID)
    assert found.tally == table
    painted = mt.paint(np.arange(len(table.counts)), panel.masks, table, void=VOID)
    assert (found.index == painted).all()
    assert (index_masks(panel.masks, table, void=VOID).index == painted).all()


@given(panels(labels=(2, 2), missing=False, absent=True), st.booleans(), st.sampled_from("CF"))
def test_bits_are_counted_and_painted_alike(panel: Panel, boolean: bool, order: Any) -> None:
    masks: dict[str, Any] = {}
    for i, (name, m) in enumerate(panel.masks.items()):
        bits = None if m is None else np.array(m > 0, order=order)
        masks[name] = bits if bits is None or boolean else bits * np.uint8(i % 2 * 254 + 1)
    found, table = index_masks(masks), mt.tally(masks)
    assert room._pack(room.gather_inputs(masks, None, None, None)) is not None
    assert found.tally == table
    assert (found.index == mt.paint(np.arange(len(table.counts)), masks, table)).all()
    assert found.tally.labels == table.labels


@pytest.mark.parametrize("third", [np.full((1, 4), 2, np.uint8), np.array([[0, 1, 2, 0]], np.uint8)])
def test_more_than_two_values_are_not_packed(third: np.ndarray) -> None:
    masks = {"A": np.array([[0, 1, 1, 0]], np.uint8), "B": third}
    assert index_masks(masks).tally == mt.tally(masks)
    table = mt.tally(masks, void=2)
    assert index_masks(masks, void=2).tally == table
    assert (index_masks(masks, void=2).index == mt.paint(np.arange(len(table.counts)), masks, table, void=2)).all()


def test_an_index_takes_what_a_tally_takes() -> None:
    masks = {"A": np.array([0, 5, 9]), "B": np.ma.array([0, 5, 0], mask=[0, 0, 1])}
    given_ = {"truth": np.array([0, 1, 1])}
    found = index_masks(masks, references=given_, foreground="any")
    assert found.tally == mt.tally(masks, references=given_, foreground="any")
    stack = np.array([[0, 1, 1], [0, 0, 1]], np.uint8)
    assert index_masks(stack, raters="exchangeable").tally == mt.tally(stack, raters="exchangeable")
    assert index_masks(stack, raters=["x", "y"]).tally == mt.tally(stack, raters=["x", "y"])


def test_patterns_that_a_table_does_not_have_do_not_count() -> None:
    masks = {"A": np.array([1, 1, 0, 0], np.uint8), "B": np.array([1, 0, 1, 0], np.uint8)}
    union = mt.tally(masks, region="union")
    assert index_masks(masks, union).index.tolist() == [2, 1, 0, -1]
    assert count_responses([4, 3, 2, 1], masks, union).levels.tolist() == [2, 3, 4]


# -- truths --------------------------------------------------------------------------------------


def by_pixel(truth: np.ndarray, counts: np.ndarray, response: np.ndarray) -> dict[float, tuple[int, int]]:
    """Positives and negatives by response, one item after another."""
    found: dict[float, list[int]] = {}
    for positive, counted, value in zip(truth.flat, counts.flat, response.flat, strict=True):
        found.setdefault(float(value), [0, 0])[0 if positive else 1] += bool(counted)
    return {v: (p, n) for v, (p, n) in found.items()}


@given(panels(absent=True), st.data())
def test_every_truth_pixel_by_pixel(panel: Panel, data: st.DataObject) -> None:
    shape = next(m.shape for m in panel.masks.values() if m is not None)
    response = data.draw(arrays(np.int8, shape, elements=st.integers(-3, 3)))
    found = count_responses(response, panel.masks, void=VOID)
    every = reference_standards(found.tally, {"vote": mt.vote(found.tally)}, levels=True)
    counts = found.against(every)
    stack = np.stack([np.full(shape, VOID) if m is None else m for m in panel.masks.values()])
    marked, rated = ((stack != 0) & (stack != VOID)).sum(axis=0), (stack != VOID).sum(axis=0)
    maps = {name: (m != 0, m != VOID) for name, m in zip(panel.masks, stack, strict=True)}
    most = np.max([(stack == label).sum(axis=0) for label in panel.labels[1:]], axis=0)
    maps["vote"] = (most * 2 >= rated, rated > 0)
    maps |= {f"votes>={k}": (marked >= k, rated >= k) for k in range(1, len(stack) + 1)}
    assert counts.references == tuple(maps)
    for i, (truth, counted) in enumerate(maps.values()):
        wanted = by_pixel(truth & counted, counted, response)
        got = zip(counts.levels.tolist(), counts.positives[i].tolist(), counts.negatives[i].tolist(), strict=True)
        assert {v: (p, n) for v, p, n in got} == wanted
    share = np.where(rated > 0, marked / np.maximum(rated, 1), np.nan)
    for s, row in zip(counts.shares, counts.by_share, strict=True):
        assert row.tolist() == [int(((share == s) & (response == v)).sum()) for v in counts.levels]
    positives = [float((t & c).sum()) / c.sum() if c.any() else np.nan for t, c in maps.values()]
    assert every.prevalence == pytest.approx(positives, nan_ok=True)
    assert counts.prevalence == pytest.approx(positives, nan_ok=True)


def test_references_are_truths_and_algorithms_are_not() -> None:
    masks = {("A", "1"): [1, 0, 0], ("A", "2"): [1, 1, 0], "B": [0, 0, 1]}
    table = mt.tally(masks, references={"gold": [1, 0, 255]}, predictions={"net": [1, 1, 1]}, void=255)
    found = reference_standards(table)
    assert found.names == ("A", "B", "gold")
    assert found.kinds == ("rater", "rater", "reference")
    assert (found.rated @ table.counts).tolist() == [3, 3, 2]
    assert reference_standards(table, raters=False).names == ("gold",)
    assert reference_standards(table, references=False).names == ("A", "B")


def test_a_consensus_of_any_table_over_these_raters() -> None:
    masks, response = noisy(0)
    alone = mt.tally(masks)
    wide = mt.tally(masks, references={"R1 again": masks["R1"]})
    both = [reference_standards(t, {"staple": mt.staple(alone)}, raters=False, references=False) for t in (alone, wide)]
    assert both[0].prevalence == pytest.approx(both[1].prevalence)
    as_booleans = reference_standards(alone, {"staple": np.asarray(mt.staple(alone).hard)}, raters=False)
    assert (as_booleans.positive == both[0].positive).all()
    pooled = mt.staple(mt.pool([alone, mt.tally(noisy(1)[0])]))
    assert reference_standards(alone, {"pooled": pooled}).names[-1] == "pooled"
    of_pooled = reference_standards(pooled.tally, {"pooled": pooled})  # type: ignore[arg-type]
    found = count_responses(response, masks)
    assert same(found.against(of_pooled), found.against(reference_standards(alone, {"pooled": pooled})))


def test_a_consensus_of_several_labels_is_positive_off_background() -> None:
    masks = {"A": [0, 1, 2, 2], "B": [0, 1, 2, 0], "C": [0, 1, 2, 0]}
    table = mt.tally(masks)
    found = reference_standards(table, {"plurality": mt.plurality(table)}, raters=False)
    assert found.prevalence.tolist() == [0.5]


def test_truths_that_cannot_be() -> None:
    masks, _ = noisy(0)
    table = mt.tally(masks)
    with pytest.raises(CallError, match="references="):
        reference_standards(table, {"lsml": mt.lsml(masks)})
    with pytest.raises(CallError, match="one boolean a pattern"):
        reference_standards(table, {"odd": np.ones(3, bool)})
    with pytest.raises(CallError, match="one boolean a pattern"):
        reference_standards(table, {"shares": np.ones(len(table.counts))})
    with pytest.raises(CallError, match="distinct names"):
        reference_standards(table, {"R1": mt.vote(table)})
    with pytest.raises(CallError, match="are not in the table"):
        reference_standards(table, {"other": mt.vote(mt.tally({"X": [0, 1]}))})
    with pytest.raises(CallError, match="are not in the table"):
        reference_standards(mt.tally({"A": [0, 2]}), {"other": mt.vote(mt.tally({"A": [0, 1]}))})
    with pytest.raises(CallError, match="there is no reference standard"):
        reference_standards(table, raters=False)
    slots = mt.tally(list(masks.values()), raters="exchangeable")
    assert reference_standards(slots, levels=True).names == ("votes>=1", "votes>=2", "votes>=3")


# -- counting ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "dtype", [bool, np.uint8, np.int8, np.uint16, np.int32, np.uint64, np.float16, np.float32, float]
)
@pytest.mark.parametrize("dense", [0, 10**9])
def test_every_number_type(dtype: type, dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "DENSE", dense)
    masks, field = noisy(2)
    low = -20 if np.issubdtype(dtype, np.signedinteger) else 0
    response = np.clip(np.round(field * 20 + 40), low, 100).astype(dtype)
    found = count_responses(response, masks)
    assert found.levels.tolist() == np.unique(response).astype(float).tolist()
    assert found.items == response.size
    assert not found.rounded
    counts = found.against(reference_standards(found.tally))
    for rater, area in zip(masks, counts.roc_areas(), strict=True):
        truth = masks[rater].ravel() > 0
        assert area == pytest.approx(metrics.roc_auc_score(truth, response.ravel().astype(float)), abs=1e-14)
        precision, recall, _ = metrics.precision_recall_curve(truth, response.ravel())
        assert counts.curve(rater).precision[1:] == pytest.approx(precision[-2::-1], abs=1e-15)
        assert counts.curve(rater).recall[1:] == pytest.approx(recall[-2::-1], abs=1e-15)


@pytest.mark.parametrize("order", ["C", "F"])
def test_memory_order_and_blocks_do_not_matter(order: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    from manytruths.core import mask_arrays

    masks, field = noisy(3)
    plain = count_responses(field, masks).against(reference_standards(mt.tally(masks)))
    monkeypatch.setattr(mask_arrays, "BLOCK", 128)
    monkeypatch.setattr(room, "PENDING", 300)
    turned = {name: np.array(m, order=order) for name, m in masks.items()}
    for response in (field, np.array(field, order="F"), field[::-1][::-1]):
        assert same(count_responses(response, turned).against(reference_standards(mt.tally(masks))), plain)


def test_regions_excluded_parts_and_masked_items() -> None:
    masks, field = noisy(4)
    rng = np.random.default_rng(0)
    out, inside = rng.random((2, *field.shape)) < [[[0.3]], [[0.8]]]
    table = mt.tally(masks)
    wanted = count_responses(field[~out], {name: m[~out] for name, m in masks.items()}, table).against(
        reference_standards(table)
    )
    assert same(count_responses(field, masks, exclude=out).against(reference_standards(table)), wanted)
    assert same(count_responses(field, masks, region=~out).against(reference_standards(table)), wanted)
    # what does not count may be anything
    assert same(
        count_responses(np.ma.array(np.where(out, np.nan, field), mask=out), masks).against(reference_standards(table)),
        wanted,
    )
    both = count_responses(field, masks, region=inside, exclude=out)
    assert both.items == int((inside & ~out).sum())
    nothing = count_responses(field, masks, exclude=np.ones(field.shape))
    assert nothing.items == 0
    assert np.isnan(nothing.against(reference_standards(table)).pbar_areas(*LIMITS)).all()


@given(st.integers(1, 39), st.integers(0, 5))
def test_tiles_add_up_to_the_whole(cut: int, seed: int) -> None:
    masks, field = noisy(seed)
    response = np.round(field, 1)
    table = mt.tally(masks)
    every = reference_standards(table, {"vote": mt.vote(table)}, levels=True)
    whole = count_responses(response, masks, table).against(every)
    parts = []
    for piece in (slice(0, cut), slice(cut, None)):
        tile = {name: m[piece] for name, m in masks.items()}
        # truths of the whole do for each tile, which has fewer patterns
        parts.append(count_responses(response[piece], tile).against(every))
    assert same(parts[0] + parts[1], whole)
    assert same(sum(parts), whole)  # type: ignore[arg-type]
    assert same(add_counts(parts[::-1]), whole)


def test_absent_raters_are_no_truth_of_their_case_but_add() -> None:
    masks, field = noisy(6)
    short: dict[str, Any] = {**noisy(7)[0], "R2": None}
    both = [count_responses(field, m) for m in (masks, short)]
    counts = [r.against(reference_standards(r.tally)) for r in both]
    assert counts[1].positives[1].sum() == counts[1].negatives[1].sum() == 0
    assert np.isnan(counts[1].pbar_areas(*LIMITS)).tolist() == [False, True, False]
    assert sum(counts).positives.sum(axis=1).tolist() == [  # type: ignore[attr-defined]
        masks["R1"].sum() + short["R1"].sum(),
        masks["R2"].sum(),
        masks["R3"].sum() + short["R3"].sum(),
    ]


def test_counts_that_do_not_add() -> None:
    masks, field = noisy(8)
    found = count_responses(field, masks)
    one, other = (
        found.against(reference_standards(found.tally)),
        found.against(reference_standards(found.tally, levels=True)),
    )
    with pytest.raises(CallError, match="the same reference standards"):
        _ = one + other
    with pytest.raises(CallError, match="no counts"):
        add_counts([])
    with pytest.raises(CallError, match="no reference standard 'R9'"):
        one.curve("R9")


# -- many distinct values ------------------------------------------------------------------------


def test_many_distinct_values_are_rounded_to_steps_of_the_range() -> None:
    masks, field = noisy(9, (400, 400))
    assert len(np.unique(field)) > room.MOST
    found = count_responses(field, masks)
    assert found.rounded
    assert len(found.levels) <= room.MOST
    assert (found.levels[0], found.levels[-1]) == pytest.approx((field.min(), field.max()), abs=1e-12)
    counts = found.against(reference_standards(found.tally))
    assert counts.rounded
    exact = [metrics.roc_auc_score(m.ravel(), field.ravel()) for m in masks.values()]
    assert counts.roc_areas() == pytest.approx(exact, abs=1e-5)


def test_with_limits_cases_are_rounded_alike() -> None:
    masks, field = noisy(10, (500, 400))
    share = 1 / (1 + np.exp(-field))
    every = reference_standards(mt.tally(masks))
    whole = count_responses(share, masks, limits=(0, 1)).against(every)
    halves = [
        count_responses(share[piece], {n: m[piece] for n, m in masks.items()}, limits=(0, 1)).against(every)
        for piece in (slice(0, 250), slice(250, None))
    ]
    assert same(sum(halves), whole)  # type: ignore[arg-type]
    assert np.isin(np.round(whole.levels * (room.MOST - 1), 6) % 1, [0, 1]).all()


def test_a_few_large_numbers_are_kept() -> None:
    masks = {"A": [1, 0, 1, 0]}
    assert count_responses(np.array([0, 10**9, -5, 7]), masks).levels.tolist() == [-5, 0, 7, 1e9]
    assert count_responses(np.array([65_000, 0, 3, 3], np.uint16), masks).levels.tolist() == [0, 3, 65_000]


# -- constants and refusals ----------------------------------------------------------------------


def test_a_constant_response_is_recorded() -> None:
    masks, _ = noisy(11)
    found = count_responses(np.full((40, 50), 0.25), masks)
    counts = found.against(reference_standards(found.tally))
    assert found.constant
    assert counts.constant
    assert counts.roc_areas().tolist() == [0.5] * 3
    for correlation in (correlation_in_object(counts), correlation_in_image(counts)):
        assert isinstance(correlation.r, Undefined)
        assert correlation.r.reason == "the response is constant"


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_refused(bad: float) -> None:
    masks, field = noisy(12)
    field[3, 4] = field[20, 7] = bad
    with pytest.raises(InputError, match=r"must be finite, but 2 of 2,000 are not, such as -?(nan|inf)"):
        count_responses(field, masks)
    field[[3, 20], [4, 7]] = 0
    assert count_responses(field, masks).items == 2000


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, float])
def test_what_is_outside_the_limits_is_refused(dtype: type) -> None:
    response = np.array([0, 100, 101, 200]).astype(dtype)
    with pytest.raises(InputError, match="from 0 to 100, but 2 of 4 are not, such as 101"):
        count_responses(response, {"A": [1, 0, 0, 1]}, limits=(0, 100))
    assert count_responses(response, {"A": [1, 0, 0, 1]}, limits=(0, 200)).items == 4


def test_calls_that_have_no_answer() -> None:
    masks = {"A": [1, 0, 0, 1]}
    with pytest.raises(GridError, match="prediction is 3 but the masks are 4"):
        count_responses([1, 2, 3], masks)
    with pytest.raises(GridError, match="the part to exclude is 2 but the masks are 4"):
        count_responses([1, 2, 3, 4], masks, exclude=[1, 0])
    with pytest.raises(CallError, match="the lower first"):
        count_responses([1, 2, 3, 4], masks, limits=(1, 0))
    with pytest.raises(LabelError, match="a response is a number"):
        count_responses(["a", "b", "c", "d"], masks)


# -- correlation ---------------------------------------------------------------------------------


@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_correlations_are_scipys(shift: float) -> None:
    masks, field = noisy(13)
    response = np.round(field, 1) + shift
    counts = count_responses(response, masks).against(reference_standards(mt.tally(masks)))
    votes = np.sum(list(masks.values()), axis=0)
    for mine, inside in ((correlation_in_object(counts), votes > 0), (correlation_in_image(counts), votes >= 0)):
        theirs = stats.pearsonr(votes[inside], response[inside])
        assert mine.r == pytest.approx(theirs.statistic, abs=1e-12)
        assert mine.p == pytest.approx(theirs.pvalue, rel=1e-6, abs=1e-300)
        assert mine.n == inside.sum()


def test_with_absent_raters_it_is_the_share_that_counts() -> None:
    masks = {"A": [1, 1, 0, 0, 1], "B": [1, -1, 0, 1, 0], "C": [0, -1, 0, -1, 0]}
    response = [5, 9, 1, 2, 4]
    counts = count_responses(response, masks, void=-1).against(reference_standards(mt.tally(masks, void=-1)))
    share = np.array([2 / 3, 1, 0, 1 / 2, 1 / 3])
    assert correlation_in_image(counts).r == pytest.approx(stats.pearsonr(share, response).statistic, abs=1e-14)
    assert correlation_in_object(counts).r == pytest.approx(
        stats.pearsonr(share[share > 0], np.array(response)[share > 0]).statistic
    )


@pytest.mark.parametrize(
    ("mask", "response", "why_object", "why_image"),
    [
        ([0, 0, 0], [1, 2, 3], "nobody marked two items", "the same share of raters marked every item"),
        ([1, 1, 0], [1, 2, 3], "the same share of raters marked every item", ""),
        ([1], [1], "nobody marked two items", "fewer than two items were rated"),
    ],
)
def test_correlations_that_are_undefined_say_why(mask: Any, response: Any, why_object: str, why_image: str) -> None:
    found = count_responses(response, {"A": mask})
    counts = found.against(reference_standards(found.tally))
    assert (mt.reason(correlation_in_object(counts).r), mt.reason(correlation_in_image(counts).r)) == (
        why_object,
        why_image,
    )


def test_two_items_always_correlate() -> None:
    found = count_responses([1, 2], {"A": [0, 1]})
    correlation = correlation_in_image(found.against(reference_standards(found.tally)))
    assert correlation.r == 1
    assert isinstance(correlation.p, Undefined)


def test_they_print_what_they_are() -> None:
    masks, field = noisy(14)
    found = count_responses(np.round(field), masks)
    assert repr(found).startswith("<Responses of 2,000 items: ")
    assert repr(found.against(reference_standards(found.tally))).endswith("under R1, R2, R3>")
    assert isinstance(reference_standards(found.tally), ReferenceStandards)
    assert count_indexed_responses(field, index_masks(masks).index, found.tally).items == 2000
    assert Column("R1") in found.tally.columns

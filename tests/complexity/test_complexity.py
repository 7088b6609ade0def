"""Complexity of a case: by hand, pixel by pixel, and its laws."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
import naive
from manytruths import CallError, Complexity, case_complexity, reason, staple
from manytruths.complexity import NO_OVERLAP, STATISTICS
from manytruths.complexity.descriptors import ALONE, NO_TRUTH, NOBODY, UPSIDE_DOWN, complexity_beside
from manytruths.core.undefined import code
from manytruths.fusion.em import PLAIN

VOID = 9
EDGES = np.arange(101) / 100
stacks = arrays(np.uint8, (3, 40), elements=st.sampled_from([0, 0, 1]))
gappy = arrays(np.uint8, (3, 40), elements=st.sampled_from([0, 0, 0, 1, 1, VOID]))


def numbers(found: Complexity) -> list[float]:
    return [getattr(found, statistic) for statistic in STATISTICS]


def two(first: int, second: int, both: int, ground: int = 10_000) -> mt.Tally:
    """Two raters, by how many items each marked alone, and both."""
    patterns = np.array([[1, 0], [0, 1], [1, 1], [0, 0]])
    return mt.Tally(
        (mt.Column("A"), mt.Column("B")), mt.Labels((0, 1)), patterns, np.array([first, second, both, ground])
    )


# -- by hand -------------------------------------------------------------------------------------


def test_a_small_marking_inside_a_larger_one() -> None:
    """π = 10/24, p = (1, 4/5), q = (6/7, 1) is where EM stays, with W = 1, ½, 0 for both, A alone, nobody."""
    found = case_complexity(two(2, 0, 4))
    entropy = math.log(3) - 2 / 3 * math.log(2)
    assert (found.raters, found.items, found.note, found.reason) == (2, 6, "", "")
    assert found.mean == pytest.approx(5 / 6)
    assert found.std == pytest.approx(math.sqrt(1 / 15))
    assert found.entropy == pytest.approx(entropy)
    assert found.esm == pytest.approx(entropy * 36 / 25)
    assert found.ssm == pytest.approx(math.sqrt(1 / 15) * 36 / 25)


@pytest.mark.parametrize(("inside", "around"), [(1, 1), (3, 17), (50, 2), (500, 500)])
def test_nested_markings_of_any_size(inside: int, around: int) -> None:
    found = case_complexity(two(around, 0, inside))
    share = inside / (inside + around)
    assert found.mean == pytest.approx((1 + share) / 2)
    assert found.entropy == pytest.approx(-share * math.log(share) - (1 - share) * math.log(1 - share))


@pytest.mark.parametrize("ground", [0, 1, 5, 1000])
def test_complete_agreement(ground: int) -> None:
    found = case_complexity(two(0, 0, 5, ground))
    assert numbers(found) == [0, 0, 1, 0, 0]
    assert math.copysign(1, found.entropy) == 1


def test_a_single_item_has_no_spread() -> None:
    found = case_complexity(two(0, 0, 1))
    assert (found.entropy, found.mean, found.esm, found.reason) == (0, 1, 0, "")
    assert reason(found.std) == reason(found.ssm) == "a single item has no spread"


# -- as Gordon saw it ----------------------------------------------------------------------------


def test_his_figure_3() -> None:
    """Agreement; some disagreement; and g, where entropy and spread are low although the raters differ."""
    agree, some, g = (
        case_complexity(two(30, 30, 1000)),
        case_complexity(two(300, 200, 600)),
        case_complexity(two(3000, 1, 60)),
    )
    assert agree.entropy < 0.3 < 0.6 < some.entropy
    assert g.entropy < agree.entropy
    assert g.std < some.std
    assert agree.mean > 0.95 > some.mean > g.mean
    assert agree.esm < g.esm
    assert agree.esm < some.esm
    assert agree.ssm < g.ssm
    assert agree.ssm < some.ssm


def test_the_prior_gives_his_table_1_and_no_other_does() -> None:
    y, x = (np.mgrid[:256, :256] + 0.5) / 256
    shapes = [
        (0.48, 0.487, 0.364, 0.11, -0.114),
        (0.559, 0.517, 0.161, 0.076, 0.47),
        (0.382, 0.554, 0.084, 0.179, 0.472),
        (0.562, 0.458, 0.147, 0.048, 0.656),
        (0.528, 0.478, 0.034, 0.154, -1.515),
    ]
    masks = []
    for cx, cy, a, b, turn in shapes:
        u, v = (x - cx) * np.cos(turn) + (y - cy) * np.sin(turn), (y - cy) * np.cos(turn) - (x - cx) * np.sin(turn)
        masks.append((u / a) ** 2 + (v / b) ** 2 <= 1)
    table = mt.tally(masks).restrict("modified_background")
    paper = [1.0, 0.67, 0.26, 0.46, 0.36]
    assert staple(table, "prevalence").sensitivity == pytest.approx(paper, abs=0.015)
    assert np.abs(staple(table, "marked").sensitivity - paper).max() > 0.3
    assert case_complexity(mt.tally(masks)).mean < 0.4


# -- pixel by pixel ------------------------------------------------------------------------------


def by_pixel(seen: list[tuple[int | None, ...]]) -> list[float]:
    """The map painted, stretched, and described with NumPy's own functions."""
    items = naive.modified_background(seen)
    columns = [[VOID if value is None else value for value in column] for column in zip(*items, strict=True)]
    table = mt.tally(columns, void=VOID, labels=[0, 1])
    w = mt.paint(np.asarray(staple(table).probability), columns, table, void=VOID)
    w = (w - w.min()) / (w.max() - w.min()) if w.max() > w.min() else w
    inside = w[[naive.marked(item) > 0 for item in items]]
    histogram, _ = np.histogram(np.round(inside, 6), EDGES)
    shares = histogram[histogram > 0] / len(inside)
    entropy, mean = -(shares * np.log(shares)).sum(), inside.mean()
    std = inside.std(ddof=1) if len(inside) > 1 else math.nan
    return [entropy, std, mean, entropy / mean**2, std / mean**2]


@given(gappy)
@settings(deadline=None)
def test_same_as_pixel_by_pixel(masks: np.ndarray) -> None:
    found = case_complexity(mt.tally(masks, void=VOID, labels=[0, 1]))
    assume(not found.reason)
    seen = naive.items(list(masks), void=VOID)
    assert found.items == len(naive.union(seen))
    assert numbers(found) == pytest.approx(by_pixel(seen), rel=1e-6, abs=1e-9, nan_ok=True)


# -- laws ----------------------------------------------------------------------------------------


def panel(seed: int, void: float = 0.0) -> np.ndarray:
    """Three raters who see the same truth, each with faults of his own.

    Arbitrary masks will not do: where two raters are mirror images EM may stand on a saddle, and rounding decides.
    """
    random = np.random.default_rng(seed)
    truth = random.random(300) < random.uniform(0.1, 0.5)
    p, q = random.uniform(0.6, 0.97, (2, 3, 1))
    masks = np.where(truth, random.random((3, 300)) < p, random.random((3, 300)) > q).astype(np.uint8)
    return np.where(random.random(masks.shape) < void, np.uint8(VOID), masks)


seeds = st.integers(0, 10**6)


@given(seeds, st.permutations(range(3)), st.sampled_from([0.0, 0.2]))
@settings(deadline=None, max_examples=40)
def test_the_order_of_raters_does_not_matter(seed: int, order: list[int], void: float) -> None:
    masks = panel(seed, void)
    one, other = (case_complexity(mt.tally(m, void=VOID, labels=[0, 1])) for m in (masks, masks[order]))
    assert numbers(one) == pytest.approx(numbers(other), rel=1e-6, nan_ok=True)
    assert (one.reason, one.raters, one.items) == (other.reason, other.raters, other.items)


@given(stacks, st.integers(0, 200))
@settings(deadline=None)
def test_background_beyond_the_modified_changes_nothing(masks: np.ndarray, more: int) -> None:
    enough = np.pad(masks, ((0, 0), (0, 40)))
    padded = np.pad(enough, ((0, 0), (more, 0)))
    one, other = (case_complexity(mt.tally(m, labels=[0, 1])) for m in (enough, padded))
    assert [repr(v) for v in numbers(one)] == [repr(v) for v in numbers(other)]


@given(seeds, st.integers(2, 50))
@settings(deadline=None, max_examples=40)
def test_the_same_image_many_times_changes_only_the_sample_correction(seed: int, times: int) -> None:
    one = mt.tally(panel(seed), labels=[0, 1])
    many = one.recount(one.counts * times)
    a, b = case_complexity(one), case_complexity(many)
    fits = [mt.staple(table.restrict("modified_background")) for table in (one, many)]
    if max(fit.iterations for fit in fits) > PLAIN:
        # so flat that EM extrapolates, where rounding decides at which of equally likely rates it ends
        likely = [fit.log_likelihood[-1] / fit.tally.items for fit in fits]
        assert likely[0] == pytest.approx(likely[1], rel=1e-9)
        return
    assert [b.entropy, b.mean, b.esm] == pytest.approx([a.entropy, a.mean, a.esm], rel=1e-6)
    n = a.items
    assert b.std == pytest.approx(a.std * math.sqrt((n - 1) * times / (n * times - 1)), rel=1e-6)


@given(gappy)
@settings(deadline=None)
def test_always_defined_or_with_a_reason(masks: np.ndarray) -> None:
    found = case_complexity(mt.tally(masks, void=VOID, labels=[0, 1]))
    for value in numbers(found):
        assert math.isfinite(value) or reason(value) not in ("", "undefined")
    if not found.reason:
        assert 0 <= found.entropy <= math.log(100)
        assert 0 <= found.mean <= 1


def test_only_raters_in_their_first_session_count() -> None:
    a, b = np.repeat([1, 0], [60, 140]), np.repeat([0, 1, 0], [10, 60, 130])
    plain = case_complexity(mt.tally({"A": a, "B": b}))
    beside = mt.tally({"A": a, "B": b, mt.Column("B", session="2"): 1 - b}, predictions={"unet": b})
    assert len(beside.columns) == 4
    assert case_complexity(beside) == plain
    assert case_complexity(mt.tally({"A": a, "B": b}).restrict("modified_background")) == plain
    assert case_complexity(mt.tally({"A": a, "B": b}, raters="exchangeable")) == plain


def test_all_labels_but_background_are_marks() -> None:
    a, b = np.repeat([1, 2, 0], [30, 30, 140]), np.repeat([0, 3, 0], [10, 60, 130])
    assert case_complexity(mt.tally([a, b])) == case_complexity(mt.tally([a > 0, b > 0]))


def test_an_absent_rater_is_not_counted() -> None:
    a, b = np.repeat([1, 0], [60, 140]), np.repeat([0, 1, 0], [10, 60, 130])
    found = case_complexity(mt.tally({"A": a, "B": b, "C": None}))
    assert found.raters == 2
    assert numbers(found) == pytest.approx(numbers(case_complexity(mt.tally({"A": a, "B": b}))))


# -- where nothing can be said -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("masks", "why", "raters", "items"),
    [
        ({"A": [1, 1, 0], "B": None}, ALONE, 1, 2),
        ({"A": [1, 1, 0]}, ALONE, 1, 2),
        ({"A": [0, 0, 0], "B": [0, 0, 0]}, NOBODY, 2, 0),
        ({"A": [1, 0, 0], "B": [0, 1, 0]}, NO_OVERLAP, 2, 2),
        ({"A": [1, 1, 0], "B": [0, 0, 0]}, NO_OVERLAP, 2, 2),
        ({"A": [1, 0, 0, 0], "B": [0, 1, 0, 0], "C": [0, 0, 1, 0]}, NO_OVERLAP, 3, 3),
    ],
)
def test_undefined_with_the_reason(masks: dict[str, list[int] | None], why: str, raters: int, items: int) -> None:
    found = case_complexity(mt.tally(masks, labels=[0, 1]))
    assert [code(v) for v in numbers(found)] == [why] * 5
    assert (found.code, found.raters, found.items) == (why, raters, items)


@pytest.mark.parametrize("marked", [(450, 450, 100), (4, 4, 1), (416, 416, 168)])
def test_a_map_that_is_flat_is_not_stretched(marked: tuple[int, int, int]) -> None:
    """No more overlap than by chance: W is the prior everywhere, up to where EM stops, which is no agreement."""
    found = case_complexity(two(*marked))
    assert [code(v) for v in numbers(found)] == [NO_TRUTH] * 5
    assert found.items == sum(marked)


def test_hardly_any_overlap_is_noted() -> None:
    found = case_complexity(two(600, 395, 5))
    assert found.note == UPSIDE_DOWN
    assert not found.reason
    assert case_complexity(two(600, 395, 300)).note == ""


def test_tables_that_cannot_be_used() -> None:
    with pytest.raises(CallError, match="whole image"):
        case_complexity(two(1, 1, 1).restrict("union"))
    with pytest.raises(CallError, match="background"):
        case_complexity(mt.tally([[1, 2], [2, 2]], labels=[1, 2]))
    with pytest.raises(AttributeError):
        case_complexity(two(1, 1, 1)).mean = 0.5  # type: ignore[misc]


# -- beside a consensus that is known ------------------------------------------------------------


def test_a_fit_of_the_same_table_is_not_estimated_again() -> None:
    """Where marks outnumber background nothing is cut, and STAPLE of the image is that of the complexity."""
    table = mt.tally(list(np.random.default_rng(4).integers(0, 2, (8, 30, 30))))
    fit = staple(table)
    assert repr(complexity_beside(table, fit)) == repr(case_complexity(table))
    other = replace(fit, probability=np.linspace(0, 1, len(table.counts)))
    assert complexity_beside(table, other) != case_complexity(table), "the fit is not looked at"


@pytest.mark.parametrize("options", [{"prior": "marked"}, {"max_iter": 3}, {"unanimous": "exclude"}])
def test_a_fit_with_other_options_is_not_taken(options: dict[str, Any]) -> None:
    table = mt.tally(list(np.random.default_rng(4).integers(0, 2, (8, 30, 30))))
    assert repr(complexity_beside(table, staple(table, **options))) == repr(case_complexity(table))


def test_a_fit_of_an_image_whose_background_is_cut_is_not_taken() -> None:
    table = two(2, 0, 4)
    other = replace(staple(table), probability=np.linspace(0, 1, len(table.counts)))
    assert repr(complexity_beside(table, other)) == repr(case_complexity(table))

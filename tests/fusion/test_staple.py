"""STAPLE, against SimpleITK, a loop over pixels, and the laws it must obey."""

from __future__ import annotations

import importlib
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import ndimage

import manytruths as mt
from manytruths import CallError, Column, Staple, Tally, staple

VOID = 9
stacks = arrays(np.uint8, (4, 30), elements=st.sampled_from([0, 0, 1]))
gappy = arrays(np.uint8, (4, 30), elements=st.sampled_from([0, 0, 1, VOID]))


def noise(seed: int, raters: int) -> list[np.ndarray]:
    """Independent raters of one hidden truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random((40, 50)) < 0.3
    return [(truth ^ (rng.random(truth.shape) < rng.uniform(0.05, 0.2))).astype(np.uint8) for _ in range(raters)]


def blobs(seed: int, raters: int) -> list[np.ndarray]:
    """Raters of one smooth shape."""
    rng = np.random.default_rng(seed)
    shape = ndimage.gaussian_filter(rng.normal(size=(60, 60)), 5)
    own = [ndimage.gaussian_filter(rng.normal(size=(60, 60)), 4) for _ in range(raters)]
    return [(shape + 0.6 * o > 0.04).astype(np.uint8) for o in own]


@pytest.mark.parametrize("raters", [2, 3, 5, 13])
@pytest.mark.parametrize("make", [noise, blobs])
def test_same_as_simpleitk(make: object, raters: int) -> None:
    sitk = importlib.import_module("SimpleITK")
    masks = make(raters, raters)  # type: ignore[operator]
    peer = sitk.STAPLEImageFilter()
    peer.SetForegroundValue(1)
    wanted = sitk.GetArrayFromImage(peer.Execute([sitk.GetImageFromArray(m) for m in masks]))
    table = mt.tally(masks)
    found = staple(table, like="itk")
    assert found.convergence == "converged"
    assert mt.paint(found.probability, masks, table) == pytest.approx(wanted, abs=1e-7)
    assert found.sensitivity == pytest.approx(peer.GetSensitivity(), abs=1e-9)
    assert found.specificity == pytest.approx(peer.GetSpecificity(), abs=1e-9)
    assert found.iterations == peer.GetElapsedIterations()


def by_pixel(masks: np.ndarray, prior: float, steps: int) -> tuple[list[float], list[float], list[float]]:
    """EM as it is written, pixel by pixel; None of VOID counts."""
    n = masks.shape[1]
    rated = [[j for j in range(len(masks)) if masks[j, i] != VOID] for i in range(n)]
    w = [sum(int(masks[j, i]) for j in rated[i]) / len(rated[i]) if rated[i] else 0.0 for i in range(n)]
    p, q = [0.0] * len(masks), [0.0] * len(masks)
    for _ in range(steps):
        for j in range(len(masks)):
            his = [i for i in range(n) if j in rated[i]]
            p[j] = sum(w[i] for i in his if masks[j, i] == 1) / sum(w[i] for i in his)
            q[j] = sum(1 - w[i] for i in his if masks[j, i] == 0) / sum(1 - w[i] for i in his)
        for i in range(n):
            a = prior * math.prod(p[j] if masks[j, i] else 1 - p[j] for j in rated[i])
            b = (1 - prior) * math.prod(1 - q[j] if masks[j, i] else q[j] for j in rated[i])
            w[i] = a / (a + b)
    return w, p, q


@pytest.mark.parametrize("share_void", [0.0, 0.3])
@pytest.mark.parametrize("steps", [1, 2, 7])
def test_same_as_pixel_by_pixel(steps: int, share_void: float) -> None:
    rng = np.random.default_rng(steps)
    masks = np.array([m.ravel()[:300] for m in noise(steps, 4)])
    masks[rng.random(masks.shape) < share_void] = VOID
    table = mt.tally(masks, void=VOID)
    found = staple(table, 0.2, tol=0, max_iter=steps)
    w, p, q = by_pixel(masks, 0.2, steps)
    assert mt.paint(found.probability, masks, table, void=VOID) == pytest.approx(w, abs=1e-12)
    assert found.sensitivity == pytest.approx(p, abs=1e-12)
    assert found.specificity == pytest.approx(q, abs=1e-12)
    assert (found.iterations, found.convergence) == (steps, "stopped")


def test_finds_the_rates_that_made_the_masks() -> None:
    rng = np.random.default_rng(1)
    truth = rng.random(200_000) < 0.15
    p, q = np.array([0.9, 0.8, 0.7, 0.95, 0.6]), np.array([0.97, 0.99, 0.95, 0.9, 0.98])
    masks = [np.where(truth, rng.random(truth.size) < p[j], rng.random(truth.size) > q[j]) for j in range(5)]
    found = staple(mt.tally(masks), "estimated")
    assert found.sensitivity == pytest.approx(p, abs=0.01)
    assert found.specificity == pytest.approx(q, abs=0.01)
    assert found.prior == pytest.approx(0.15, abs=0.005)


@given(gappy, st.sampled_from(["prevalence", "estimated", 0.1]))
@settings(deadline=None)
def test_never_nan_and_likelihood_rises(masks: np.ndarray, prior: object) -> None:
    found = staple(mt.tally(masks, void=VOID, labels=[0, 1]), prior, max_iter=60)  # type: ignore[arg-type]
    assert ((found.probability >= 0) & (found.probability <= 1)).all()
    assert np.isfinite(found.log_likelihood).all()
    assert (np.diff(found.log_likelihood) > -1e-9).all()


@given(stacks, st.permutations(range(4)))
@settings(deadline=None)
def test_permuting_raters_permutes_rates(masks: np.ndarray, order: list[int]) -> None:
    one = staple(mt.tally({str(j): masks[j] for j in range(4)}, labels=[0, 1]), max_iter=10, tol=0)
    two = staple(mt.tally({str(j): masks[j] for j in order}, labels=[0, 1]), max_iter=10, tol=0)
    assert [two.raters.index(str(j)) for j in order] == [0, 1, 2, 3]
    assert two.sensitivity == pytest.approx(one.sensitivity[order], nan_ok=True, abs=1e-9)
    assert two.specificity == pytest.approx(one.specificity[order], nan_ok=True, abs=1e-9)


@given(stacks, st.integers(0, 3))
@settings(deadline=None)
def test_duplicated_rater_counts_twice(masks: np.ndarray, which: int) -> None:
    """The copy has the rates of the original, and W is that of his factor squared."""
    found = staple(mt.tally([*masks, masks[which]], labels=[0, 1]), 0.2, max_iter=10, tol=0)
    assert found.sensitivity[4] == pytest.approx(found.sensitivity[which], nan_ok=True, abs=1e-12)
    assert found.specificity[4] == pytest.approx(found.specificity[which], nan_ok=True, abs=1e-12)


def test_duplicated_items_change_nothing() -> None:
    masks = np.array(noise(3, 4))
    one, two = staple(mt.tally(masks)), staple(mt.tally(np.concatenate([masks, masks], axis=1)))
    assert two.probability == pytest.approx(one.probability, abs=1e-9)
    assert two.log_likelihood == pytest.approx(2 * one.log_likelihood)


def test_tiles_change_nothing() -> None:
    masks = np.array(blobs(4, 5))
    tiles = [mt.tally(masks[:, y : y + 20, x : x + 30]) for y in range(0, 60, 20) for x in range(0, 60, 30)]
    one, two = staple(mt.tally(masks)), staple(mt.pool(tiles))
    assert (one.probability == two.probability).all()
    assert (one.log_likelihood == two.log_likelihood).all()


@given(stacks)
@settings(deadline=None)
def test_swapping_labels_swaps_the_rates(masks: np.ndarray) -> None:
    one = staple(mt.tally(masks, labels=[0, 1]), 0.3, max_iter=10, tol=0)
    two = staple(mt.tally(1 - masks, labels=[0, 1]), 0.7, max_iter=10, tol=0)
    assert two.specificity == pytest.approx(one.sensitivity, nan_ok=True, abs=1e-9)
    assert two.sensitivity == pytest.approx(one.specificity, nan_ok=True, abs=1e-9)
    assert two.probability[::-1] == pytest.approx(1 - one.probability, abs=1e-9)


@given(stacks, st.sampled_from(["prevalence", "estimated", 0.2]))
@settings(deadline=None)
def test_absent_rater_is_as_if_left_out(masks: np.ndarray, prior: object) -> None:
    here = {"A": masks[0], "B": masks[1], "D": masks[3]}
    alone = staple(mt.tally(here, labels=[0, 1]), prior, max_iter=30)  # type: ignore[arg-type]
    beside = staple(mt.tally({**here, "C": None}, labels=[0, 1]), prior, max_iter=30)  # type: ignore[arg-type]
    assert beside.probability == pytest.approx(alone.probability, abs=1e-12)
    assert beside.sensitivity[:3] == pytest.approx(alone.sensitivity, nan_ok=True, abs=1e-12)
    assert np.isnan([beside.sensitivity[3], beside.specificity[3]]).all()


@pytest.mark.parametrize("prior", ["prevalence", "marked", "estimated", 0.3])
def test_all_raters_empty(prior: object) -> None:
    found = staple(mt.tally(np.zeros((3, 8), int), labels=[0, 1]), prior)  # type: ignore[arg-type]
    assert found.probability.tolist() == [0]
    assert not found.hard.any()
    assert np.isnan([found.sensitivity, found.specificity]).all()
    assert found.convergence == "nothing marked"


@pytest.mark.parametrize("prior", ["prevalence", "marked", "estimated", 0.3])
def test_all_raters_full(prior: object) -> None:
    found = staple(mt.tally(np.ones((3, 8), int), labels=[0, 1]), prior)  # type: ignore[arg-type]
    assert found.probability.tolist() == [1]
    assert found.hard.tolist() == [True]
    assert np.isnan([found.sensitivity, found.specificity]).all()
    assert found.convergence == "everything marked"


@pytest.mark.parametrize("n", range(7, 60, 4))
def test_one_of_two_raters_empty_is_a_tie_and_background(n: int) -> None:
    found = staple(mt.tally({"A": np.arange(n) < 5, "B": np.zeros(n, bool)}))
    assert found.probability == pytest.approx([0, 0.5], abs=1e-12)
    assert not found.hard.any()
    assert (found.sensitivity[1], found.specificity[1]) == (0, 1)


def test_no_overlap_says_that_it_means_nothing() -> None:
    found = staple(mt.tally({"A": [1, 1, 1, 0, 0, 0, 0], "B": [0, 0, 0, 1, 0, 0, 0], "C": [0, 0, 0, 0, 1, 0, 0]}))
    assert "means nothing" in found.note
    assert staple(mt.tally({"A": [1, 1, 0], "B": [0, 1, 0]})).note == ""


def test_what_is_said_without_overlap_holds_of_an_empty_estimate_too() -> None:
    """Said before: "STAPLE's follows whoever marked most", also where it marks nothing."""
    found = staple(mt.tally({"A": [1, 0, 0], "B": [0, 0, 0], "C": [0, 0, 0], "D": [0, 0, 0]}))
    assert not found.hard.any()
    assert "means nothing, whether it marks anything or not" in found.note
    assert "follows" not in found.note


def test_slots_are_told_to_be_slots() -> None:
    assert "slots" in staple(mt.tally([[1, 1, 0], [0, 1, 0]], raters="exchangeable")).note


def test_unrated_items_have_the_prior_and_are_background() -> None:
    masks = {"A": [1, 1, 0, 0, VOID], "B": [1, 0, 0, 0, VOID], "C": [1, 1, 0, 0, VOID]}
    found = staple(mt.tally(masks, void=VOID), 0.6)
    rated = staple(mt.tally({k: v[:4] for k, v in masks.items()}), 0.6)
    assert found.probability[-1] == pytest.approx(0.6)
    assert not found.hard[-1]
    assert found.probability[:-1] == pytest.approx(rated.probability, abs=1e-12)
    assert found.log_likelihood == pytest.approx(rated.log_likelihood)


def test_patterns_without_items_change_nothing() -> None:
    masks = {"A": [1, 1, 0, 0, 0, 1], "B": [1, 0, 0, 0, 0, 0], "C": [1, 1, 0, 0, 1, 0]}
    table = mt.tally(masks)
    fewer = table.recount(np.where(table.patterns[:, 2] == 1, table.counts, 0) + (table.marked == 0))
    merged = Tally(fewer.columns, fewer.labels, fewer.patterns, fewer.counts)
    one, two = staple(fewer), staple(merged)
    assert np.isfinite(one.probability).all()
    assert one.probability[fewer.counts > 0] == pytest.approx(two.probability, abs=1e-12)
    assert one.sensitivity == pytest.approx(two.sensitivity, abs=1e-12)


def test_pooled_rows_in_any_order_give_the_same_bits() -> None:
    parts = [mt.tally(np.array(noise(s, 4))) for s in range(3)]
    one, two = staple(mt.pool(parts)), staple(mt.pool(parts[::-1]))
    assert (one.probability == two.probability).all()
    assert (one.log_likelihood == two.log_likelihood).all()


def test_only_raters_decide() -> None:
    masks = dict(zip("ABC", noise(0, 3), strict=True))
    plain = mt.tally(masks)
    both = mt.tally(masks, predictions={"unet": noise(5, 1)[0]})
    assert staple(both).sensitivity == pytest.approx(staple(plain).sensitivity, abs=1e-9)
    assert staple(both).raters == ("A", "B", "C")
    assert Column("unet", "algorithm") in both.columns


def test_calls_without_an_answer() -> None:
    table = mt.tally({"A": [1, 1, 0], "B": [0, 1, 0]})
    for wrong in ({"prior": 0.0}, {"prior": 1.0}, {"prior": "mean"}, {"like": "matlab"}, {"max_iter": 0}):
        with pytest.raises(CallError):
            staple(table, **wrong)  # type: ignore[arg-type]
    with pytest.raises(CallError, match="'prevalence'"):
        staple(table, "marked", like="itk")
    with pytest.raises(CallError, match="one a label"):
        staple(mt.tally({"A": [1, 2, 0], "B": [0, 1, 0]}), 0.3)
    with pytest.raises(CallError, match="union"):
        staple(table.restrict("union"), "marked")


def test_result_is_frozen_and_says_what_it_is() -> None:
    found = staple(mt.tally({"A": [1, 1, 0], "B": [0, 1, 0]}))
    assert isinstance(found, Staple)
    with pytest.raises(AttributeError):
        found.prior = 0.5  # type: ignore[misc]

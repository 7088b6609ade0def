"""Boundary precision, recall and F against several truths, and over data sets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from numpy.typing import NDArray
from PIL import Image

from data_folder import data
from manytruths import (
    BoundaryScores,
    CallError,
    GridError,
    InputError,
    LabelError,
    boundary_scores,
    find_boundaries,
    match_boundaries,
    pool_boundary_scores,
    reason,
    thin,
)
from manytruths.core.undefined import code
from manytruths.evaluation.boundaries import BoundaryCounts, BoundaryCurve

Mask = NDArray[np.bool_]
maps = arrays(np.bool_, (9, 11))
greys = arrays(np.uint8, (9, 11), elements=st.integers(0, 4)).filter(lambda a: a.min() < a.max())


def one_by_one(prediction: Mask, truths: list[Mask], tolerance: float) -> tuple[int, int, int, int]:
    """Every truth matched by itself, the matched pixels gathered on maps."""
    found = thin(prediction)
    matches = [match_boundaries(found, thin(truth), tolerance) for truth in truths]
    right = np.logical_or.reduce([match.prediction_map for match in matches])
    return int(found.sum()), int(right.sum()), sum(m.n_reference for m in matches), sum(m.pairs for m in matches)


def counts_of(scores: BoundaryCurve) -> list[list[int]]:
    c = scores.counts
    return [c.predicted.tolist(), c.predicted_matched.tolist(), c.reference.tolist(), c.reference_matched.tolist()]


@settings(max_examples=60)
@given(greys, st.lists(maps, min_size=1, max_size=4), st.sampled_from([1.0, 1.5, 3.0]))
def test_counts_are_those_of_each_truth_matched_by_itself(
    grey: NDArray[np.uint8], truths: list[Mask], tolerance: float
) -> None:
    scores = boundary_scores(grey, truths, tolerance=tolerance)
    assert scores.thresholds.tolist() == np.unique(grey)[1:].tolist()
    wanted = [one_by_one(grey >= cut, truths, tolerance) for cut in scores.thresholds]
    assert counts_of(scores) == np.transpose(wanted).tolist()


@given(maps, maps)
def test_one_truth_is_one_matching_and_swapping_swaps(prediction: Mask, truth: Mask) -> None:
    there = boundary_scores(prediction, truth, tolerance=1.5).best
    back = boundary_scores(truth, prediction, tolerance=1.5).best
    match = match_boundaries(thin(prediction), thin(truth), 1.5)
    assert (there.precision, there.recall) == pytest.approx((match.precision, match.recall), nan_ok=True)
    assert (there.precision, there.recall) == pytest.approx((back.recall, back.precision), nan_ok=True)
    assert there.f == pytest.approx(back.f, nan_ok=True)


@given(maps, maps, st.integers(2, 5))
def test_the_same_truth_several_times_scores_as_once(prediction: Mask, truth: Mask, times: int) -> None:
    once = boundary_scores(prediction, truth, tolerance=2).best
    often = boundary_scores(prediction, {str(n): truth for n in range(times)}, tolerance=2).best
    assert (once.precision, once.recall, once.f) == pytest.approx((often.precision, often.recall, often.f), nan_ok=True)


@given(maps, st.lists(maps, min_size=2, max_size=4))
def test_the_order_of_truths_does_not_matter(prediction: Mask, truths: list[Mask]) -> None:
    there, back = (boundary_scores(prediction, some, tolerance=2) for some in (truths, truths[::-1]))
    assert counts_of(there) == counts_of(back)


def test_each_truth_takes_its_nearest_pixel() -> None:
    """Either truth may take either pixel: only the smallest distance says that both found pixels are right."""
    found = np.array([[1, 0, 0, 1]], bool)
    scores = boundary_scores(found, [np.array([[0, 1, 0, 0]]), np.array([[0, 0, 1, 0]])], tolerance=2, thin=False)
    assert counts_of(scores) == [[2], [2], [2], [2]]
    assert scores.best.f == 1


def test_scores_by_hand() -> None:
    found = np.zeros((20, 20), bool)
    found[5, 2:18] = True
    near, far = np.zeros((20, 20), bool), np.zeros((20, 20), bool)
    near[6, 2:10], far[15, 2:18] = True, True
    scores = boundary_scores(found, {"near": near, "far": far}, tolerance=1)
    best = scores.best
    assert (best.precision, best.recall) == (8 / 16, 8 / 24)
    assert best.f == pytest.approx(0.4)
    assert scores.references == 2


def test_thick_lines_are_thinned_unless_told_otherwise() -> None:
    thick, line = np.zeros((20, 30), bool), np.zeros((20, 30), bool)
    thick[9:12, 2:28], line[10, 3:27] = True, True
    assert boundary_scores(thick, line, tolerance=1).best.precision == 1
    assert boundary_scores(thick, line, tolerance=1, thin=False).best.precision == pytest.approx(24 / 78)


def test_regions_by_their_boundaries() -> None:
    disc = np.hypot(*np.mgrid[-30:31, -30:31]) < 20
    larger = np.hypot(*np.mgrid[-30:31, -30:31]) < 22
    scores = boundary_scores(find_boundaries(larger), [find_boundaries(disc)], tolerance=3)
    assert scores.best.recall == 1
    assert 0.85 < scores.best.precision < 1


def test_thresholds_lie_within_the_range() -> None:
    grey = np.random.default_rng(0).random((20, 20))
    scores = boundary_scores(grey, grey > 0.9)
    assert len(scores.thresholds) == 33
    assert scores.thresholds == pytest.approx(np.linspace(grey.min(), grey.max(), 35)[1:-1])
    assert boundary_scores(grey, grey > 0.9, thresholds=[0.9, 0.5]).thresholds.tolist() == [0.5, 0.9]


def test_a_map_of_yes_and_no_is_the_same_in_numbers() -> None:
    found, wanted = np.random.default_rng(1).random((2, 15, 15)) < 0.2
    scores = [boundary_scores(f, wanted, tolerance=1) for f in (found, found.astype(np.uint8), found * 255.0)]
    assert counts_of(scores[0]) == counts_of(scores[1]) == counts_of(scores[2])


def curve(found: list[int], matched: list[int], wanted: list[int], wanted_matched: list[int]) -> BoundaryScores:
    counts = BoundaryCounts(*(np.array(c) for c in (found, matched, wanted, wanted_matched)))
    return BoundaryScores(np.arange(len(found)) / 10, counts, 1.0, 1)


def test_a_data_set_by_hand() -> None:
    one, two = curve([10, 5], [5, 5], [10, 10], [5, 5]), curve([10, 4], [10, 1], [10, 10], [10, 1])
    both = pool_boundary_scores([one, two])
    assert counts_of(both) == [[20, 9], [15, 6], [20, 20], [15, 6]]
    assert (both.ods.threshold, both.ods.f) == (0.0, 0.75)
    assert (both.ois.precision, both.ois.recall) == (15 / 15, 15 / 20)
    assert reason(both.ois.threshold) == "each image has its own"
    assert both.average_precision == pytest.approx((6 / 9 + 15 / 20) / 2 * (15 / 20 - 6 / 20))


def test_a_recall_reached_twice_counts_with_the_better_precision() -> None:
    scores = curve([10, 10, 10], [2, 8, 5], [10, 10, 10], [4, 4, 8])
    assert scores.average_precision == pytest.approx((0.8 + 0.5) / 2 * 0.4)


def test_where_nothing_is_wanted_the_best_threshold_finds_nothing() -> None:
    scores = curve([10, 3, 0], [0, 0, 0], [0, 0, 0], [0, 0, 0])
    assert scores.best.threshold == 0.2
    assert np.isnan(scores.best.f)
    assert np.array_equal(scores.f, [0, 0, np.nan], equal_nan=True)


@settings(max_examples=30)
@given(st.lists(st.tuples(greys, maps, maps), min_size=1, max_size=3))
def test_pooled_is_the_sum(cases: list[tuple[NDArray[np.uint8], Mask, Mask]]) -> None:
    scores = [boundary_scores(grey, truths, tolerance=1, thresholds=[1, 3]) for grey, *truths in cases]
    both = pool_boundary_scores(scores)
    assert counts_of(both) == np.sum([counts_of(s) for s in scores], axis=0).tolist()
    assert not both.ods.f > np.nextafter(1, 2)
    if len(scores) == 1:
        assert both.ois.f == pytest.approx(both.ods.f, nan_ok=True)


def test_undefined_has_a_reason() -> None:
    empty, full = np.zeros((6, 6), bool), np.eye(6, dtype=bool)
    nothing, none, neither = (boundary_scores(a, b).best for a, b in ((empty, full), (full, empty), (empty, empty)))
    assert (code(nothing.precision), nothing.recall, nothing.f) == ("no_boundary_found", 0, 0)
    assert (none.precision, code(none.recall), none.f) == (0, "no_boundary_in_truth", 0)
    assert code(neither.f) == "no_boundary_at_all"
    assert code(boundary_scores(full, full).average_precision) == "fewer_than_two_recalls"


def test_errors() -> None:
    line, grey = np.eye(5, dtype=bool), np.arange(25.0).reshape(5, 5)
    with pytest.raises(CallError, match="2-D only"):
        boundary_scores(np.zeros((3, 5, 5)), line)
    with pytest.raises(CallError, match=r"reference B has shape \(3, 5, 5\).*2-D only"):
        boundary_scores(line, {"A": line, "B": np.zeros((3, 5, 5))})
    with pytest.raises(GridError, match=r"reference 2 is \(4, 5\) but the prediction is \(5, 5\)"):
        boundary_scores(line, [line, line[:4]])
    with pytest.raises(LabelError, match="reference A has values"):
        boundary_scores(line, {"A": grey})
    with pytest.raises(CallError, match="tolerance must be a finite number above 0"):
        boundary_scores(line, line, tolerance=0)
    with pytest.raises(CallError, match="share must be a finite number above 0"):
        boundary_scores(line, line, share=-1)
    with pytest.raises(InputError, match=r"0\.5 everywhere"):
        boundary_scores(np.full((5, 5), 0.5), line)
    with pytest.raises(InputError, match="not finite"):
        boundary_scores(np.full((5, 5), np.nan), line)
    with pytest.raises(CallError, match="no thresholds"):
        boundary_scores(line, line, thresholds=[0.5])
    for wrong in ([], [np.nan]):
        with pytest.raises(CallError, match="one or more finite numbers"):
            boundary_scores(grey, line, thresholds=wrong)
    with pytest.raises(CallError, match="references is empty"):
        boundary_scores(line, [])
    with pytest.raises(CallError, match="at least one image"):
        pool_boundary_scores([])
    with pytest.raises(CallError, match="image 2 was cut at other thresholds"):
        pool_boundary_scores([boundary_scores(grey, line), boundary_scores(grey / 2, line)])


def test_vessels_of_two_raters() -> None:
    folder = data("chasedb1", "raters")
    first, second = (np.asarray(Image.open(sorted(rater.iterdir())[0])) > 0 for rater in sorted(folder.iterdir())[:2])
    there, back = boundary_scores(first, second), boundary_scores(second, first)
    assert (there.best.precision, there.best.recall) == (back.best.recall, back.best.precision)
    overlap = 2 * (first & second).sum() / (first.sum() + second.sum())
    assert 0.7 < overlap < there.best.f < 1

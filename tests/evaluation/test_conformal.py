"""Conformal margins: erosion and dilation by hand, what is refused, and the coverage that is promised."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import gaussian_filter

import manytruths as mt
from manytruths import CallError, GridError, InputError
from manytruths.evaluation.probabilistic.conformal import least_subjects

MASK = arrays(bool, (5, 6))
MAP = arrays(np.float64, (5, 6), elements=st.floats(0, 1))


def naive_margin(prediction, reference, spacing=(1.0, 1.0)):
    """The largest distance of a pixel on which both differ to the nearest pixel of the other kind in the prediction."""
    largest = 0.0
    for where in np.argwhere(prediction != reference):
        others = np.argwhere(prediction != prediction[tuple(where)])
        near = [math.hypot(*((a - b) * s for a, b, s in zip(where, o, spacing, strict=True))) for o in others]
        largest = max(largest, min(near, default=math.inf))
    return largest


@given(MASK, MASK)
def test_the_margin_is_a_loop_over_pixels(prediction, reference):
    for spacing in (None, (0.5, 2.0)):
        found = mt.smallest_margin(prediction, reference, spacing=spacing)
        assert found == pytest.approx(naive_margin(prediction, reference, spacing or (1.0, 1.0)), abs=1e-12)


@given(MASK, MASK)
def test_a_reference_lies_inside_the_band_from_its_margin_on(prediction, reference):
    margin = mt.smallest_margin(prediction, reference)
    for size in {0.0, 1.0, margin - 1e-9, margin, margin + 1}:
        if size >= 0:
            band = mt.ConformalMargin(size, 0.9, 9).around(prediction)
            assert band.holds(reference) == (size >= margin)
            assert not (band.inner & ~prediction).any()
            assert not (prediction & ~band.outer).any()


@given(MAP, MASK)
def test_a_reference_lies_inside_the_band_of_probabilities_from_its_margin_on(p, reference):
    margin = mt.smallest_margin(p, reference, band="probability")
    assert margin == pytest.approx(max(0.5 - p[reference].min(initial=0.5), p[~reference].max(initial=0.5) - 0.5))
    assert mt.ConformalMargin(margin, 0.9, 9, "probability").around(p).holds(reference)
    if margin > 1e-6:
        assert not mt.ConformalMargin(margin - 1e-7, 0.9, 9, "probability").around(p).holds(reference)


@given(st.integers(1, 60), st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99]))
def test_it_is_the_order_statistic_of_the_theorem(n, level):
    rank = math.ceil((n + 1) * Fraction(str(level)))
    if rank > n:
        with pytest.raises(InputError, match=f"needs at least {least_subjects(level)} calibration subjects"):
            mt.conformal_margin(margins=np.arange(n), coverage=level)
        assert n < 1 / (1 - Fraction(str(level))) - 1
    else:
        found = mt.conformal_margin(margins=np.arange(n)[::-1], coverage=level)
        assert found.margin == rank - 1
        assert found.subjects == n
        # of n + 1 subjects in any order, the new one is among the first so many
        assert level <= rank / (n + 1) + 1e-12
        assert rank / (n + 1) <= found.expected_coverage[1] + 1e-12


def test_cases_of_one_subject_count_once():
    rng = np.random.default_rng(0)
    masks = [rng.random((6, 6)) < 0.5 for _ in range(12)]
    references = [rng.random((6, 6)) < 0.5 for _ in range(12)]
    subjects = [f"s{i // 2}" for i in range(12)]
    each = [mt.smallest_margin(a, b) for a, b in zip(masks, references, strict=True)]
    by_subject = [max(each[2 * i : 2 * i + 2]) for i in range(6)]
    for found in (
        mt.conformal_margin(masks, references, subjects=subjects, coverage=0.8),
        mt.conformal_margin(
            dict(enumerate(masks)), dict(enumerate(references)), subjects=dict(enumerate(subjects)), coverage=0.8
        ),
        mt.conformal_margin(margins=by_subject, coverage=0.8),
    ):
        assert found.subjects == 6
        assert found.margin == sorted(by_subject)[5]
    assert mt.conformal_margin(masks, references, coverage=0.8).subjects == 12


def test_an_empty_prediction_has_no_finite_margin():
    nothing, some = np.zeros((3, 3), int), np.eye(3, dtype=int)
    assert mt.smallest_margin(nothing, some) == mt.smallest_margin(some | 1, some) == math.inf
    assert mt.smallest_margin(nothing, nothing) == 0
    found = mt.conformal_margin(margins=[0] * 5 + [math.inf] * 5, coverage=0.9)
    assert found.margin == math.inf
    band = found.around(some)
    assert band.outer.all()
    assert not band.inner.any()


def test_continuous_margins_cover_as_the_theorem_says():
    """200 calibration sets of 30, each for 2,000 further subjects."""
    rng = np.random.default_rng(1)
    for level in (0.8, 0.9):
        covered = []
        for _ in range(200):
            found = mt.conformal_margin(margins=rng.exponential(size=30), coverage=level)
            covered.append(np.mean(rng.exponential(size=2000) <= found.margin))
        low, high = found.expected_coverage
        assert low - 0.01 <= np.mean(covered) <= high + 0.01
        # of one calibration set it is no promise
        assert min(covered) < level - 0.05


@pytest.fixture(scope="module")
def phantom_margins():
    """Of every subject of 240 phantoms, for masks and for blurred masks as probabilities."""
    study = mt.simulate_study(cases=240, size=128, seed=5)
    margins: dict[str, dict[str, float]] = {"distance": {}, "probability": {}}
    for case in study:
        predicted, whose = case.predictions["net"], study.subjects[case.name]
        blurred = gaussian_filter(predicted.astype(float), 3)
        for band, forecast in (("distance", predicted), ("probability", blurred)):
            margin = mt.smallest_margin(forecast, case.truth, band=band)
            margins[band][whose] = max(margins[band].get(whose, 0.0), margin)
    return {band: np.array(list(found.values())) for band, found in margins.items()}


@pytest.mark.slow
@pytest.mark.parametrize(("band", "level"), [("distance", 0.8), ("distance", 0.9), ("probability", 0.8)])
@pytest.mark.parametrize("subjects", [40, 100])
def test_the_phantom_is_covered_as_often_as_promised(phantom_margins, band, level, subjects):
    """The mean over 200 random splits lies from 1 − α to 1 − α + 1/(n + 1), a point more or less."""
    low, high, found = coverage(phantom_margins[band], subjects, level)
    assert low - 0.01 <= found <= high + 0.01


@pytest.mark.slow
@pytest.mark.parametrize("subjects", [40, 100])
def test_subjects_that_tie_are_covered_more_often(phantom_margins, subjects):
    """Overlooked lesions have a probability of 0, and a margin of 0.5."""
    margins = phantom_margins["probability"]
    assert np.mean(margins == 0.5) > 0.02
    low, high, found = coverage(margins, subjects, 0.9)
    assert found > high + 0.01 > low


def coverage(margins, subjects, level):
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(200):
        order = rng.permutation(len(margins))
        learnt = mt.conformal_margin(margins=margins[order[:subjects]], coverage=level)
        covered.append(np.mean(margins[order[subjects:]] <= learnt.margin))
    return *learnt.expected_coverage, float(np.mean(covered))


def test_what_cannot_be_learnt():
    masks = [np.eye(3, dtype=int)] * 10
    few = "coverage of 0.9 needs at least 9 calibration subjects with prediction and reference, and there are 3"
    with pytest.raises(InputError, match=few):
        mt.conformal_margin(masks[:3], masks[:3])
    with pytest.raises(InputError, match="there are 0"):
        mt.conformal_margin([], [])
    with pytest.raises(InputError, match="there are 1"):
        mt.conformal_margin(masks, masks, subjects=["one"] * 10)
    with pytest.raises(CallError, match="coverage lies between 0 and 1"):
        mt.conformal_margin(masks, masks, coverage=1.0)
    with pytest.raises(CallError, match="prediction and a reference of every case"):
        mt.conformal_margin(masks)
    with pytest.raises(CallError, match="one of two for: 9"):
        mt.conformal_margin(masks, masks[:9])
    with pytest.raises(CallError, match="both lists"):
        mt.conformal_margin(masks, dict(enumerate(masks)))
    with pytest.raises(CallError, match="subject of every case"):
        mt.conformal_margin(masks, masks, subjects=["a"])
    with pytest.raises(CallError, match="and not both"):
        mt.conformal_margin(masks, masks, margins=[1])
    with pytest.raises(InputError, match="negative or nan"):
        mt.conformal_margin(margins=[-1.0] * 10)
    with pytest.raises(CallError, match="band is"):
        mt.smallest_margin(masks[0], masks[0], band="pixels")
    with pytest.raises(CallError, match="spacing is one positive number for each of 2 axes"):
        mt.smallest_margin(masks[0], 1 - masks[0], spacing=[1.0])
    with pytest.raises(InputError, match="give band='probability'"):
        mt.smallest_margin([0.5, 1], [0, 1])
    with pytest.raises(GridError, match="prediction is 3×3 but the reference is 2"):
        mt.smallest_margin(masks[0], [0, 1])

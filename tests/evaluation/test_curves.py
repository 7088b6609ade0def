"""Curves and areas against scikit-learn, SciPy's quadrature and the laws they obey."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate
from sklearn import metrics

from manytruths import CallError, ThresholdCurve, Undefined, mean_precision
from manytruths.evaluation.curves import make_curve, pbar_areas, pr_areas, roc_areas


def curve_of(truth: np.ndarray, response: np.ndarray) -> ThresholdCurve:
    levels, where = np.unique(response, return_inverse=True)
    positives, negatives = (np.bincount(where[truth == wanted], minlength=len(levels)) for wanted in (1, 0))
    return make_curve(levels, positives, negatives)


@st.composite
def judged(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Items of both classes, with responses that tie."""
    pairs = draw(st.lists(st.tuples(st.booleans(), st.integers(-4, 5)), min_size=2, max_size=40))
    truth, response = (np.array(side) for side in zip(*pairs, (True, 0), (False, 1), strict=True))
    return truth, response


def scene(seed: int, items: int = 400, levels: int = 25) -> ThresholdCurve:
    rng = np.random.default_rng(seed)
    truth = rng.random(items) < 0.2
    return curve_of(truth, np.round(rng.normal(truth * 1.2, 1) * levels / 6))


@given(judged())
def test_precision_and_recall_are_scikit_learns_at_every_threshold(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, response = pair
    found = curve_of(truth, response)
    precision, recall, thresholds = metrics.precision_recall_curve(truth, response)
    assert found.thresholds[1:].tolist() == thresholds[::-1].tolist()
    assert found.precision[1:] == pytest.approx(precision[-2::-1], abs=1e-15)
    assert found.recall[1:] == pytest.approx(recall[-2::-1], abs=1e-15)
    assert np.isnan(found.precision[0])
    assert found.recall[0] == 0


@given(judged())
def test_roc_is_scikit_learns(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, response = pair
    found = curve_of(truth, response)
    fall_out, recall, thresholds = metrics.roc_curve(truth, response, drop_intermediate=False)
    assert found.thresholds.tolist() == thresholds.tolist()
    assert found.fall_out == pytest.approx(fall_out, abs=1e-15)
    assert found.recall == pytest.approx(recall, abs=1e-15)
    assert found.roc_area() == pytest.approx(metrics.roc_auc_score(truth, response), abs=1e-14)


def by_quad(curve: ThresholdCurve, low: float, high: float) -> float:
    """∫ over recall and prevalence, piece by piece, with true and false positives linear in between."""
    t, f = curve.tp / curve.positives, curve.fp / curve.negatives

    def piece(i: int, pi: float) -> float:
        def precision(x: float) -> float:
            hit, false = t[i] + x * (t[i + 1] - t[i]), f[i] + x * (f[i + 1] - f[i])
            return float(pi * hit / (pi * hit + (1 - pi) * false)) if hit else 0.0

        return float(integrate.quad(precision, 0, 1, epsabs=1e-13, epsrel=1e-12)[0] * (t[i + 1] - t[i]))

    rising = [i for i in range(len(t) - 1) if t[i + 1] > t[i]]

    def whole(pi: float) -> float:
        return sum(piece(i, pi) for i in rising)

    if low == high:
        return whole(low)
    return float(integrate.quad(whole, low, high, epsabs=1e-12, epsrel=1e-12)[0] / (high - low))


@pytest.mark.parametrize("limits", [(0.1, 0.5), (0.0, 0.2), (0.02, 0.9)])
@pytest.mark.parametrize("seed", [0, 1])
def test_pbar_area_is_the_double_integral(seed: int, limits: tuple[float, float]) -> None:
    curve = scene(seed, items=60, levels=8)
    assert curve.pbar_area(*limits) == pytest.approx(by_quad(curve, *limits), abs=1e-10)


@pytest.mark.parametrize("seed", range(4))
def test_pr_area_is_the_integral(seed: int) -> None:
    curve = scene(seed)
    own = curve.positives / (curve.positives + curve.negatives)
    assert curve.pr_area() == pytest.approx(by_quad(curve, own, own), abs=1e-11)
    assert curve.pr_area() == pytest.approx(curve.pbar_area(own, own), abs=1e-14)


@pytest.mark.parametrize(
    ("tp", "fp"),
    [
        ([0, 0, 5, 9], [0, 4, 4, 400]),  # false positives first
        ([0, 3, 3, 7, 9], [0, 0, 2, 2, 400]),  # right first, then steps up and across
        ([0, 9, 9], [0, 0, 1000]),  # perfect
        ([0, 0, 9], [0, 1000, 1000]),  # as wrong as can be
        ([0, 1, 2, 10**6], [0, 1, 10**6, 10**6 + 1]),  # pieces of very different sizes
    ],
)
@pytest.mark.parametrize("limits", [(0.1, 0.5), (0.5, 0.5), (0.3, 0.99)])
def test_pieces_of_every_direction(tp: list[int], fp: list[int], limits: tuple[float, float]) -> None:
    curve = ThresholdCurve(np.arange(len(tp))[::-1] * 1.0, np.array(tp), np.array(fp), tp[-1], fp[-1])
    assert curve.pbar_area(*limits) == pytest.approx(by_quad(curve, *limits), abs=1e-10)


@pytest.mark.parametrize("limits", [(0.0, 1.0), (1e-9, 1e-3), (0.2, 1.0)])
def test_areas_are_means_of_pbar_over_recall(limits: tuple[float, float]) -> None:
    """The other order of integration: the closed form of P̄, then recall, by points that crowd at both ends."""
    curve = scene(3, items=80, levels=6)
    t, f = curve.tp / curve.positives, curve.fp / curve.negatives
    u, step = np.linspace(-4, 4, 401, retstep=True)
    x = 1 / (1 + np.exp(-np.pi * np.sinh(u)))
    weights = step * np.pi * np.cosh(u) * x * (1 - x)
    area = 0.0
    for t0, f0, dt, df in zip(t[:-1], f[:-1], np.diff(t), np.diff(f), strict=True):
        area += dt * (mean_precision(t0 + x * dt, f0 + x * df, *limits) @ weights)
    assert curve.pbar_area(*limits) == pytest.approx(area, abs=1e-12)


@given(judged(), st.sampled_from([np.exp, np.cbrt, lambda x: 7 * x - 3, lambda x: x.astype(np.int16)]))
def test_a_rising_change_of_responses_changes_nothing(pair: tuple[np.ndarray, np.ndarray], change: object) -> None:
    truth, response = pair
    before, after = curve_of(truth, response), curve_of(truth, change(response))  # type: ignore[operator]
    assert (before.tp == after.tp).all()
    assert (before.fp == after.fp).all()
    assert before.pbar_area(0.1, 0.5) == after.pbar_area(0.1, 0.5)


@given(judged())
def test_the_mirror_image_of_roc(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, response = pair
    assert curve_of(truth, -response).roc_area() == pytest.approx(1 - curve_of(truth, response).roc_area(), abs=1e-14)


@given(judged(), st.integers(2, 9))
def test_pbar_does_not_know_how_many_negatives_there_are(pair: tuple[np.ndarray, np.ndarray], times: int) -> None:
    """As many times all negatives: the same P̄-R, another P-R."""
    truth, response = pair
    few = curve_of(truth, response)
    again = np.repeat(response[~truth], times)
    many = curve_of(np.append(truth, np.zeros(len(again), bool)), np.append(response, again))
    assert many.pbar_area(0.1, 0.5) == pytest.approx(few.pbar_area(0.1, 0.5), abs=1e-14)
    assert many.pr_area() <= few.pr_area() + 1e-14


def test_a_constant_response_is_the_chord() -> None:
    curve = curve_of(np.array([1, 0, 0, 0, 1]), np.full(5, 3.0))
    assert curve.thresholds.tolist() == [np.inf, 3]
    assert curve.roc_area() == 0.5
    assert curve.pr_area() == pytest.approx(0.4, abs=1e-15)
    assert curve.pbar_area(0.1, 0.5) == pytest.approx(0.3, abs=1e-15)


def test_without_positives_or_negatives() -> None:
    none, all_ = curve_of(np.zeros(3), np.arange(3)), curve_of(np.ones(3), np.arange(3))
    for area in (none.roc_area(), none.pr_area(), none.pbar_area(0.1, 0.5)):
        assert isinstance(area, Undefined)
        assert area.code == "no_positives"
    for area in (all_.roc_area(), all_.pbar_area(0.1, 0.5)):
        assert isinstance(area, Undefined)
        assert area.code == "no_negatives"
    assert all_.pr_area() == 1
    assert np.isnan(none.recall).all()
    assert np.isnan(all_.fall_out).all()
    empty = curve_of(np.zeros(0), np.zeros(0))
    assert np.isnan([empty.roc_area(), empty.pr_area(), empty.pbar_area(0.1, 0.5)]).all()


def test_many_curves_at_once_are_each_alone() -> None:
    curves = [scene(seed, levels=25) for seed in range(5)]
    longest = max(len(c.tp) for c in curves)
    tp, fp = (np.stack([np.pad(getattr(c, n), (0, longest - len(c.tp)), "edge") for c in curves]) for n in ("tp", "fp"))
    assert roc_areas(tp, fp) == pytest.approx([c.roc_area() for c in curves], abs=1e-15)
    assert pr_areas(tp, fp) == pytest.approx([c.pr_area() for c in curves], abs=1e-14)
    assert pbar_areas(tp, fp, 0.1, 0.5) == pytest.approx([c.pbar_area(0.1, 0.5) for c in curves], abs=1e-14)


@given(judged(), st.floats(-6, 6))
def test_what_a_threshold_detects(pair: tuple[np.ndarray, np.ndarray], threshold: float) -> None:
    truth, response = pair
    point = curve_of(truth, response).at(threshold)
    marked = response >= threshold
    assert (point.tp, point.fp) == ((marked & truth).sum(), (marked & ~truth).sum())
    assert (point.fn, point.tn) == ((~marked & truth).sum(), (~marked & ~truth).sum())
    assert point.threshold == threshold


@given(judged())
def test_the_best_dice_is_the_best(pair: tuple[np.ndarray, np.ndarray]) -> None:
    truth, response = pair
    best = curve_of(truth, response).best_dice()
    scores = {float(at): metrics.f1_score(truth, response >= at) for at in np.unique(response)}
    assert best.dice == pytest.approx(max(scores.values()), abs=1e-15)
    assert best.threshold == max(at for at, score in scores.items() if score > best.dice - 1e-12)


def test_undefined_numbers_of_a_point_say_why() -> None:
    nothing = scene(0).at(1e9)
    assert isinstance(nothing.precision, Undefined)
    assert nothing.precision.reason == "nothing is detected"
    assert (nothing.recall, nothing.fall_out, nothing.dice) == (0, 0, 0)


def test_a_thinned_curve_keeps_its_ends_and_its_shape() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(60_000) < 0.1
    curve = curve_of(truth, rng.normal(truth * 1.5, 1))
    thin = curve.thinned(200)
    assert len(thin.tp) <= 200
    assert (thin.tp[0], thin.fp[0], thin.tp[-1], thin.fp[-1]) == (0, 0, curve.positives, curve.negatives)
    assert np.isin(thin.thresholds, curve.thresholds).all()
    assert thin.roc_area() == pytest.approx(curve.roc_area(), abs=1e-3)
    assert thin.pr_area() == pytest.approx(curve.pr_area(), abs=1e-3)
    assert thin.thinned(200) is thin
    with pytest.raises(CallError, match="two ends"):
        curve.thinned(1)


@pytest.mark.parametrize("limits", [(0.0, 0.0), (1.0, 1.0)])
def test_a_prevalence_at_which_precision_says_nothing(limits: tuple[float, float]) -> None:
    with pytest.raises(CallError, match="prevalence of 0 or 1"):
        scene(0).pbar_area(*limits)

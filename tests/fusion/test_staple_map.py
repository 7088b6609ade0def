"""STAPLE with a map of priors and with smoothing."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from manytruths import CallError, GridError, staple, staple_map
from manytruths.fusion import potts

VOID = 9
stacks = arrays(np.uint8, (3, 6, 7), elements=st.sampled_from([0, 0, 1]))


def noisy(seed: int, raters: int = 4, wrong: float = 0.25, side: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """A disc, and raters who scatter their errors over it."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:side, :side] - side / 2
    truth = (x**2 + y**2) < (side / 3) ** 2
    return truth, (truth ^ (rng.random((raters, side, side)) < wrong)).astype(np.uint8)


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


# -- a map of priors --------------------------------------------------------------------------------


@given(stacks)
def test_constant_map_is_a_number(masks: np.ndarray) -> None:
    number = staple(mt.tally(masks, labels=[0, 1]), 0.3, max_iter=30)
    found = staple_map(masks, np.full((6, 7), 0.3), labels=[0, 1], max_iter=30)
    if number.iterations:
        assert found.log_likelihood == pytest.approx(number.log_likelihood)
        assert found.prior == pytest.approx(0.3)
    assert found.probability == pytest.approx(mt.paint(number.probability, masks), abs=1e-9)
    assert found.kind == "map"


def test_map_pixel_by_pixel() -> None:
    _, masks = noisy(0, side=12)
    prior = np.random.default_rng(1).uniform(0.1, 0.9, (12, 12))
    found = staple_map(masks, prior, max_iter=5, tol=0)
    w = masks.mean(axis=0)
    for _ in range(5):
        p = [(w * m).sum() / w.sum() for m in masks]
        q = [((1 - w) * (1 - m)).sum() / (1 - w).sum() for m in masks]
        a, b = prior.copy(), 1 - prior
        for m, pj, qj in zip(masks, p, q, strict=True):
            a *= np.where(m == 1, pj, 1 - pj)
            b *= np.where(m == 1, 1 - qj, qj)
        w = a / (a + b)
    assert found.probability == pytest.approx(w, abs=1e-12)
    assert found.sensitivity == pytest.approx(p, abs=1e-12)
    assert found.specificity == pytest.approx(q, abs=1e-12)
    assert (np.diff(found.log_likelihood) > -1e-9).all()


def test_a_good_atlas_helps() -> None:
    truth, masks = noisy(2)
    atlas = np.where(truth, 0.8, 0.1)
    assert dice(staple_map(masks, atlas).hard, truth) > dice(staple_map(masks).hard, truth) + 0.02


def test_priors_of_0_and_1_are_certain() -> None:
    masks = [[1, 1, 0, 0, 0], [1, 0, 0, 1, 0], [1, 1, 0, 0, 0]]
    found = staple_map(masks, [0.0, 0.5, 1.0, 0.5, 0.2])
    assert (found.probability[0], found.probability[2]) == (0, 1)
    assert np.isfinite(found.probability).all()


def test_map_of_many_labels() -> None:
    rng = np.random.default_rng(0)
    masks = rng.integers(0, 3, (3, 8, 8))
    prior = np.broadcast_to([0.5, 0.3, 0.2], (8, 8, 3))
    number = staple(mt.tally(masks), (0.5, 0.3, 0.2), max_iter=20)
    found = staple_map(masks, prior, max_iter=20)
    assert found.probability.shape == (8, 8, 3)
    assert found.confusion == pytest.approx(number.confusion, abs=1e-9)
    assert (found.values == mt.paint(number.values, masks)).all()


def test_without_map_or_smoothing_it_is_staple() -> None:
    _, masks = noisy(3)
    masks[0, :5] = VOID
    for options in ({}, {"unanimous": "exclude"}, {"map_prior": (5, 1)}):
        plain = staple(mt.tally(masks, void=VOID), **options)
        found = staple_map(masks, void=VOID, **options)
        assert found.probability == pytest.approx(mt.paint(plain.probability, masks, void=VOID), abs=1e-9)
        assert (found.hard == mt.paint(plain.hard, masks, void=VOID)).all()


def test_rates_come_from_the_region() -> None:
    _, masks = noisy(4)
    region = np.zeros(masks[0].shape, bool)
    region[10:30, 10:30] = True
    wanted = staple(mt.tally(masks, region=region))
    for prior in ("prevalence", np.full(region.shape, wanted.prior)):
        found = staple_map(masks, prior, region=region)
        assert found.sensitivity == pytest.approx(wanted.sensitivity, abs=1e-6)
        assert found.probability.shape == region.shape
    union = staple(mt.tally(masks, region="union"), 0.5)
    assert staple_map(masks, 0.5, region="union").sensitivity == pytest.approx(union.sensitivity)
    both = staple_map(masks, np.full(region.shape, 0.5), region="union")
    assert both.sensitivity == pytest.approx(union.sensitivity, abs=1e-6)


@pytest.mark.parametrize("prior", ["prevalence", np.full(6, 0.2)])
def test_nothing_and_everything_marked(prior: object) -> None:
    empty = staple_map(np.zeros((3, 6), int), prior, labels=[0, 1])  # type: ignore[arg-type]
    assert (empty.convergence, empty.hard.any(), empty.probability.max()) == ("nothing marked", False, 0)
    full = staple_map(np.ones((3, 6), int), prior, labels=[0, 1], smoothing=1)  # type: ignore[arg-type]
    assert (full.convergence, full.hard.all(), full.probability.min()) == ("everything marked", True, 1)


def test_wrong_maps() -> None:
    _, masks = noisy(5)
    with pytest.raises(GridError, match="40×40"):
        staple_map(masks, np.full((4, 4), 0.5))
    with pytest.raises(CallError, match="from 0 to 1"):
        staple_map(masks, np.full((40, 40), 1.5))
    with pytest.raises(CallError, match="from 0 to 1"):
        staple_map(masks, np.full((40, 40), np.nan))
    with pytest.raises(CallError, match="a mask of the items"):
        staple_map(masks, np.full((40, 40), 0.5), region="modified_background")
    with pytest.raises(GridError, match="region"):
        staple_map(masks, region=np.ones((3, 3)))
    with pytest.raises(CallError, match="smoothing"):
        staple_map(masks, smoothing=-1)


# -- smoothing --------------------------------------------------------------------------------------


def test_smoothing_0_changes_nothing() -> None:
    log_weight = np.log(np.random.default_rng(0).dirichlet([1, 1, 1], (5, 6)))
    assert potts(log_weight, 0).weight == pytest.approx(np.exp(log_weight))


def potts_bound(log_weight: np.ndarray, weight: np.ndarray, beta: float) -> float:
    """What mean field raises: Σ W (λ − ln W) + β Σ_(i~j) W_i · W_j, a lower bound on the log-partition function."""
    known = weight > 0
    alone = weight[known] @ (log_weight[known] - np.log(weight[known]))
    along = [np.moveaxis(weight, axis, 0) for axis in range(weight.ndim - 1)]
    return float(alone + beta * sum(np.sum(w[1:] * w[:-1]) for w in along))


@given(st.integers(0, 1000), st.floats(0, 3), st.integers(2, 4))
def test_bound_never_falls_and_stays_below_the_partition_function(seed: int, beta: float, labels: int) -> None:
    """All maps of 2 × 3 items, one by one."""
    log_weight = np.random.default_rng(seed).normal(size=(2, 3, labels))
    bounds = [potts_bound(log_weight, potts(log_weight, beta, max_iter=n, tol=0).weight, beta) for n in range(8)]
    assert (np.diff(bounds) > -1e-9).all()
    pairs = [((y, x), (y, x + 1)) for y in range(2) for x in range(2)] + [((0, x), (1, x)) for x in range(3)]
    total = []
    for chosen in product(range(labels), repeat=6):
        codes = np.reshape(chosen, (2, 3))
        alone = sum(log_weight[y, x, codes[y, x]] for y in range(2) for x in range(3))
        total.append(alone + beta * sum(codes[a] == codes[b] for a, b in pairs))
    assert bounds[-1] <= np.logaddexp.reduce(total) + 1e-9


def test_mean_field_is_at_rest() -> None:
    """Every item has the weight that its neighbours want, along each axis and at the edges."""
    log_weight, beta = np.random.default_rng(3).normal(size=(3, 4, 5, 2)), 0.4
    weight = potts(log_weight, beta, tol=1e-12).weight
    for where in np.ndindex(3, 4, 5):
        wanted = log_weight[where].copy()
        for axis, step in product(range(3), (-1, 1)):
            other = list(where)
            other[axis] += step
            if 0 <= other[axis] < weight.shape[axis]:
                wanted += beta * weight[tuple(other)]
        assert weight[where] == pytest.approx(np.exp(wanted) / np.exp(wanted).sum(), abs=1e-9)


def test_smoothing_that_does_not_end_says_so() -> None:
    assert potts(np.broadcast_to([0, 1e-9], (4, 4, 2)), 3.0, tol=0, max_iter=2).convergence == "stopped"


def test_smoothing_helps_where_errors_are_scattered() -> None:
    truth, masks = noisy(6)
    plain, smooth = staple_map(masks), staple_map(masks, smoothing=0.8)
    assert dice(smooth.hard, truth) > dice(plain.hard, truth) + 0.03
    assert smooth.sensitivity == pytest.approx(plain.sensitivity)
    assert (smooth.method, smooth.note) == ("staple_map", "")


def test_smoothing_of_volumes_and_of_many_labels() -> None:
    rng = np.random.default_rng(1)
    truth = np.zeros((6, 12, 12), int)
    truth[:, 3:9, 3:9], truth[:, 5:7, 5:7] = 1, 2
    masks = np.where(rng.random((4, *truth.shape)) < 0.3, rng.integers(0, 3, (4, *truth.shape)), truth)
    plain, smooth = staple_map(masks), staple_map(masks, smoothing=0.5)
    assert (smooth.values == truth).mean() > (plain.values == truth).mean()

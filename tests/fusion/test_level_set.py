"""LSML and LSMLP: the authors' file, phantoms of known truth, the global optimum, and what must not go wrong."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image
from scipy import ndimage

import manytruths as mt
from data_folder import data
from manytruths import CallError, GridError, InputError, LevelSet, lsml, lsmlp
from manytruths.fusion.level_set import Scene
from manytruths.shape.narrow_band import FAR, Contour, outline_length

VOID = 9


def dice(a: np.ndarray, b: np.ndarray) -> float:
    return float(2 * (a & b).sum() / (a.sum() + b.sum()))


def ragged(seed: int, raters: int = 5, size: int = 120, ndim: int = 2) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """A smooth outline; raters whose outlines jitter finely around it, with single items wrong."""
    rng = np.random.default_rng(seed)
    at = np.indices((size,) * ndim) - size / 2
    wave = 1 + 0.15 * np.cos(2 * np.arctan2(at[0], at[1]) + 0.5)
    distance = np.sqrt((at**2).sum(axis=0)) - 0.28 * size * wave
    masks = {}
    for rater in range(raters):
        jitter = ndimage.gaussian_filter(rng.normal(size=distance.shape), 1.5)
        drawn = distance + 3 * jitter / jitter.std() + rng.normal() < 0
        masks[f"R{rater}"] = (drawn ^ (rng.random(distance.shape) < 0.02)).astype(np.uint8)
    return distance < 0, masks


@pytest.mark.slow
def test_the_authors_file() -> None:
    folder = data("fissure")
    masks = {p.name: np.asarray(Image.open(p / "fissure.png")) > 0 for p in sorted((folder / "raters").iterdir())}
    wanted = np.asarray(Image.open(folder / "published" / "gt_lsml.png")) > 0
    found = lsml(masks)
    assert dice(found.hard, wanted) >= 0.90
    assert found.convergence == "converged"
    assert found.energy[-1] < found.energy[0]


def test_better_than_staple_with_ragged_raters() -> None:
    gains, gains_with_prior = [], []
    for seed in range(10):
        truth, masks = ragged(seed)
        table = mt.tally(masks)
        peers = mt.staple(table).hard, mt.staple(table, 0.5).hard, mt.vote(table).hard
        best = max(dice(mt.paint(peer, masks), truth) for peer in peers)
        gains.append(dice(lsml(masks).hard, truth) - best)
        gains_with_prior.append(dice(lsmlp(masks).hard, truth) - best)
    assert min(gains + gains_with_prior) > 0
    assert np.mean(gains) > 0.003


def test_the_prior_keeps_detail_that_raters_draw() -> None:
    """At a price of length far too high for a star, LSML loses more of its points."""
    at = np.indices((100, 100)) - 50
    star = np.hypot(*at) < 28 * (1 + 0.35 * np.cos(24 * np.arctan2(*at)))
    rng = np.random.default_rng(0)
    masks = [star ^ (rng.random(star.shape) < 0.05) for _ in range(3)]
    assert dice(lsmlp(masks, 8).hard, star) > dice(lsml(masks, 8).hard, star)
    assert lsmlp(masks, 8).penalty < 8
    assert lsmlp(masks, leeway=1e6).hard.tolist() == lsml(masks).hard.tolist()


# -- the global optimum -------------------------------------------------------------------------


def gradient(u: np.ndarray) -> np.ndarray:
    return np.stack([np.diff(u, axis=a, append=np.take(u, [-1], axis=a)) for a in range(u.ndim)])


def divergence(flow: np.ndarray) -> np.ndarray:
    total = np.zeros(flow.shape[1:])
    for axis, part in enumerate(flow):
        part = np.moveaxis(part.copy(), axis, 0)
        part[-1] = 0
        total += np.moveaxis(np.diff(part, axis=0, prepend=0), 0, axis)
    return total


def denoised(r: np.ndarray, price: float, steps: int = 1500) -> np.ndarray:
    """The total-variation denoising of r by Chambolle's projection; {w > 0} is the best set, −Σ max(w, 0) a bound."""
    flow, time = np.zeros((r.ndim, *r.shape)), 1 / (2 * r.ndim)
    for _ in range(steps):
        slope = gradient(divergence(flow) + r / price)
        flow = (flow + time * slope) / (1 + time * np.sqrt((slope**2).sum(axis=0)))
    return r + price * divergence(flow)


@pytest.mark.parametrize(
    ("price", "ndim", "size", "gap"), [(1, 2, 80, 0.005), (2, 2, 80, 0.01), (6, 2, 80, 0.02), (2, 3, 32, 0.05)]
)
def test_within_a_small_gap_of_the_global_optimum(price: float, ndim: int, size: int, gap: float) -> None:
    """With the rates where they ended, no set has an energy below the bound, and thresholding does no better.

    An item whose |r| exceeds what its sides can cost is decided whatever its neighbours are: cutting r there changes
    all energies of sensible sets by the same amount, and makes the relative gap the strictest.
    """
    _, masks = ragged(3, size=size, ndim=ndim)
    found = lsml(masks, price)
    scene = Scene.of(masks, 0.5, raters=None, region="whole", void=None, foreground=None)
    rates = scene.rates(scene.inside(found.hard))
    ratio = np.clip(scene.painted(scene.log_a(rates) - scene.log_b(rates)), -2 * ndim * price, 2 * ndim * price)

    def energy(hard: np.ndarray) -> float:
        return float(price * outline_length(hard, np.ones(hard.shape)) - ratio[hard].sum())

    optimum = denoised(ratio, price)
    bound = -float(np.maximum(optimum, 0).sum())
    assert bound <= energy(found.hard) <= bound + gap * abs(bound)
    assert energy(found.hard) <= energy(optimum > 0) + 0.001 * abs(bound)
    assert energy(found.hard) < energy(scene.start)


def test_length_is_total_variation() -> None:
    hard = np.random.default_rng(0).random((9, 8, 7)) < 0.4
    wanted = np.sqrt((gradient(hard.astype(float)) ** 2).sum(axis=0)).sum()
    assert outline_length(hard, np.ones(hard.shape)) == pytest.approx(wanted)
    assert Contour(hard, np.ones(hard.shape)).length() == pytest.approx(wanted)


def test_energy_is_that_of_the_result_and_falls() -> None:
    _, masks = ragged(1)
    found = lsml(masks)
    scene = Scene.of(masks, 0.5, raters=None, region="whole", void=None, foreground=None)
    inside = scene.inside(found.hard)
    length = outline_length(found.hard, np.ones(found.hard.shape))
    assert found.energy[-1] == pytest.approx(scene.misfit(inside, scene.rates(inside)) + 2 * length)
    fall = found.energy[0] - found.energy[-1]
    assert fall > 0
    assert np.diff(found.energy).max() < 0.02 * fall  # single items: the contour is smooth, the mask has steps


# -- the band -----------------------------------------------------------------------------------


def test_values_outside_the_band_are_untouched() -> None:
    start = np.zeros((60, 60), bool)
    start[20:30, 20:30] = True
    contour = Contour(start, np.ones(start.shape))
    touched = np.zeros(start.size, bool)
    before = contour.phi
    for _ in range(8):
        contour.follow()
        touched[contour.band] = True
        contour.step(np.full(len(contour.band), 3.0), 1.0)
    rest = ~touched.reshape(start.shape)
    assert rest.any()
    assert touched.mean() < 0.2
    assert (contour.phi[rest] == before[rest]).all()
    assert (np.abs(before[rest]) == FAR).all()


def test_items_that_go_to_and_fro_do_not_keep_it_going() -> None:
    _, masks = ragged(9)
    found = lsml(masks)
    assert (found.convergence, found.iterations < 500) == ("converged", True)


def test_far_marks_are_not_found_and_near_ones_are() -> None:
    mask = np.zeros((40, 40), int)
    mask[5:15, 5:15] = 1
    more = mask.copy()
    more[30:35, 30:35] = 1
    more[5:15, 15:18] = 1
    found = lsml([mask, mask, mask, more, more])
    assert found.hard[10, 10]
    assert not found.hard[32, 32]


def test_a_circle_shrinks_as_it_should() -> None:
    """Under curvature alone, R² falls by 2 t."""
    start = np.hypot(*(np.indices((80, 80)) - 39.5)) < 25
    contour = Contour(start, np.ones(start.shape))
    for _ in range(400):
        contour.follow()
        contour.step(np.zeros(len(contour.band)), 1.0)
    radius = np.sqrt(contour.hard.sum() / np.pi)
    assert radius**2 == pytest.approx(25**2 - 2 * 400 / 4, rel=0.05)


# -- absent raters, regions, dimensions, orders ---------------------------------------------------


def same(a: LevelSet, b: LevelSet) -> bool:
    return bool((a.hard == b.hard).all() and (a.probability == b.probability).all() and a.iterations == b.iterations)


def test_deterministic_and_free_of_memory_order() -> None:
    _, masks = ragged(2, size=64)
    found = lsml(masks)
    assert same(found, lsml(masks))
    assert same(found, lsml({name: np.asfortranarray(mask) for name, mask in masks.items()}))
    assert same(found, lsml({name: mask.astype(np.int64)[::-1][::-1] for name, mask in masks.items()}))


def test_order_of_raters_does_not_matter() -> None:
    _, masks = ragged(2, size=64)
    found, turned = lsml(masks), lsml(dict(reversed(masks.items())))
    assert (found.hard == turned.hard).all()
    assert found.sensitivity == pytest.approx(turned.sensitivity[::-1])


def test_an_absent_rater_has_no_say() -> None:
    _, masks = ragged(4, size=64)
    found = lsml({**masks, "gone": None})
    assert (found.hard == lsml(masks).hard).all()
    assert np.isnan([found.sensitivity[-1], found.specificity[-1]]).all()
    assert not np.isnan(found.sensitivity[:-1]).any()
    assert not np.isnan(lsmlp({**masks, "gone": None}).probability).any()


def test_what_nobody_rated_is_background_and_outside() -> None:
    _, masks = ragged(4, size=64)
    gaps = {name: np.where(np.arange(64) < 32, mask, VOID) for name, mask in masks.items()}
    region = np.broadcast_to(np.arange(64) < 32, (64, 64))
    found, cut = lsml(gaps, void=VOID), lsml(masks, region=region)
    assert same(found, cut)
    assert not found.hard[:, 32:].any()
    assert found.hard[30:34, 31].all()
    assert not found.probability[:, 32:].any()
    assert same(cut, lsml({name: np.where(region, mask, 1 - mask) for name, mask in masks.items()}, region=region))


def test_a_contour_ends_at_the_border_at_no_cost() -> None:
    half = np.zeros((30, 30), int)
    half[:, :15] = 1
    assert (lsml([half, half, half], 50).hard == half).all()


def test_three_dimensions_and_spacing() -> None:
    truth, masks = ragged(0, size=36, ndim=3)
    found = lsml(masks, 4)
    assert dice(found.hard, truth) > dice(mt.paint(mt.vote(mt.tally(masks)).hard, masks), truth)
    assert same(found, lsml(masks, 4, spacing=(2, 2, 2)))
    thick = lsml({name: mask[::2] for name, mask in masks.items()}, 4, spacing=(2, 1, 1))
    assert thick.convergence == "converged"
    assert dice(thick.hard, truth[::2]) > 0.8


def test_slices_of_one_item_and_one_dimension() -> None:
    _, masks = ragged(1, size=64)
    flat, deep = lsml(masks), lsml({name: mask[None] for name, mask in masks.items()})
    assert dice(flat.hard, deep.hard[0]) > 0.99
    line = lsml([[0, 1, 1, 1, 0, 0], [0, 1, 1, 0, 0, 0], [0, 1, 1, 1, 1, 0]])
    assert line.hard.tolist() == [False, True, True, True, False, False]


# -- what can go wrong --------------------------------------------------------------------------

EMPTY, FULL = np.zeros((12, 12), int), np.ones((12, 12), int)
BLOCK = np.pad(np.ones((6, 6), int), 3)
CORNERS = [np.roll(np.pad(np.ones((3, 3), int), ((0, 9), (0, 9))), shift, (0, 1)) for shift in (0, 5, 9)]


@pytest.mark.parametrize("method", [lsml, lsmlp])
@pytest.mark.parametrize(
    ("masks", "options", "ended", "note"),
    [
        ([EMPTY, EMPTY], {}, "nothing marked", "no item is marked"),
        ([FULL, FULL], {}, "everything marked", "no item is background"),
        ([BLOCK, BLOCK, EMPTY], {}, "converged", "3 marked nothing"),
        ([BLOCK, EMPTY, EMPTY], {}, "converged", "33%"),
        (CORNERS, {}, "converged", "no item was marked by two raters"),
        ([BLOCK], {}, "converged", "only one rater"),
        ([BLOCK, BLOCK], {"region": "union"}, "everything marked", "no item is background"),
        ([BLOCK, BLOCK, FULL], {"region": BLOCK}, "everything marked", "no item is background"),
        ([BLOCK, EMPTY], {"region": "union"}, "no contour", "larger region"),
        ([BLOCK, BLOCK, BLOCK], {"length_penalty": 1e6}, "vanished", "smaller length_penalty"),
        ([BLOCK, np.roll(BLOCK, 3, 0), np.roll(BLOCK, 3, 1)], {"max_iter": 1}, "stopped", "max_iter="),
        ([FULL * VOID, FULL * VOID], {"void": VOID}, "nothing marked", "nobody rated"),
        (np.zeros((2, 0, 5), int), {}, "nothing marked", "nobody rated"),
        ([BLOCK, BLOCK, FULL], {"prior": "marked"}, "converged", "3 marked everything"),
    ],
)
def test_bad_input_is_defined_and_says_so(method: object, masks: list, options: dict, ended: str, note: str) -> None:
    found = method(masks, **options)  # type: ignore[operator]
    assert (found.convergence, note in found.note) == (ended, True), found
    assert found.hard.shape == found.probability.shape == np.shape(masks[0])
    assert np.isfinite(found.probability).all()
    assert np.isfinite(found.energy).all()
    assert np.isfinite(found.penalty)


@pytest.mark.parametrize(
    ("options", "error", "match"),
    [
        ({"length_penalty": -1}, CallError, "length_penalty"),
        ({"length_penalty": np.nan}, CallError, "length_penalty"),
        ({"prior": 1}, CallError, "prior"),
        ({"prior": "estimated"}, CallError, "prior"),
        ({"max_iter": 0}, CallError, "max_iter"),
        ({"tol": -1}, CallError, "tol"),
        ({"spacing": (1, 0)}, CallError, "spacing"),
        ({"spacing": (1, 1, 1)}, CallError, "spacing"),
        ({"region": "modified_background"}, CallError, "give a mask"),
        ({"region": EMPTY}, InputError, "region"),
        ({"region": EMPTY[1:]}, GridError, "region"),
    ],
)
def test_calls_without_an_answer(options: dict, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        lsml([BLOCK, BLOCK], **options)


def test_more_labels_and_no_leeway() -> None:
    with pytest.raises(CallError, match="foreground='any'"):
        lsml([BLOCK, 2 * BLOCK])
    assert lsml([BLOCK, 2 * BLOCK], foreground="any").hard.any()
    with pytest.raises(CallError, match="leeway"):
        lsmlp([BLOCK, BLOCK], leeway=0)


@given(arrays(np.uint8, (3, 7, 6), elements=st.sampled_from([0, 0, 1, VOID])), st.sampled_from([0.0, 0.5, 2.0, 20.0]))
@settings(max_examples=60)
def test_always_defined(masks: np.ndarray, price: float) -> None:
    for method in (lsml, lsmlp):
        found = method(masks, price, void=VOID, max_iter=60)
        assert ((found.probability >= 0) & (found.probability <= 1)).all()
        assert (found.probability[found.hard] >= 0.5).all()
        assert (found.probability[~found.hard] <= 0.5).all()
        assert np.isfinite(found.energy).all()
        assert found.iterations <= 60
        for rate in (found.sensitivity, found.specificity):
            assert ((rate >= 0) & (rate <= 1) | np.isnan(rate)).all()

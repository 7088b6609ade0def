"""Samples against raters: every statistic equals a loop over pairs, and the energy distance keeps its laws."""

from __future__ import annotations

import math
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from manytruths import CallError, GridError, LabelError
from manytruths.core.undefined import code
from manytruths.evaluation.probabilistic import samples as module

FORMS = (False, "samples", "both")


def masks_of(most: int, values: int = 1, shape: tuple[int, ...] = (3, 3)):
    return st.integers(1, most).flatmap(lambda n: arrays(np.uint8, (n, *shape), elements=st.integers(0, values)))


def iou(a, b):
    """Pixel by pixel."""
    both = sum(bool(x) and bool(y) for x, y in zip(a.flat, b.flat, strict=True))
    either = sum(bool(x) or bool(y) for x, y in zip(a.flat, b.flat, strict=True))
    return both / either if either else 1.0


def naive_energy(samples, masks, unbiased, labels=(1,)):
    def d(a, b):
        return np.mean([1 - iou(a == label, b == label) for label in labels])

    cross = np.mean([d(a, b) for a, b in product(samples, masks)])
    among = [[d(a, b) for i, a in enumerate(x) for j, b in enumerate(x) if i != j] for x in (samples, masks)]
    s, r = len(samples), len(masks)
    first = sum(among[0]) / (s * (s - 1) if unbiased else s**2)
    second = sum(among[1]) / (r * (r - 1) if unbiased == "both" else r**2)
    return 2 * cross - first - second


@given(masks_of(4), masks_of(3), st.sampled_from(FORMS))
def test_it_is_the_loop_over_all_pairs(samples, masks, unbiased):
    found = mt.energy_distance(samples, masks, unbiased=unbiased)
    if unbiased and len(samples) < 2:
        assert code(found) == "fewer_than_two_samples"
    elif unbiased == "both" and len(masks) < 2:
        assert code(found) == "fewer_than_two_raters"
    else:
        assert found == pytest.approx(naive_energy(samples, masks, unbiased), abs=1e-12)


@given(masks_of(3, 3), masks_of(3, 3))
def test_several_labels_are_the_mean_over_labels_of_each(samples, masks):
    known = mt.sample_distances(samples, masks, labels=(0, 1, 2, 3))
    expected = naive_energy(samples, masks, False, (1, 2, 3))
    assert mt.energy_distance(known) == pytest.approx(expected, abs=1e-12)
    alone = [mt.energy_distance(known, label=k) for k in (1, 2, 3)]
    for k, value in zip((1, 2, 3), alone, strict=True):
        assert value == pytest.approx(naive_energy(samples, masks, False, (k,)), abs=1e-12)
    assert mt.energy_distance(known) == pytest.approx(np.mean(alone), abs=1e-12)


@given(masks_of(3, 2), masks_of(3, 2))
@settings(max_examples=40)
def test_arrays_and_the_columns_of_a_tally_are_one_door(samples, masks):
    drawn = {f"s{i}": s for i, s in enumerate(samples)}
    raters = {f"r{i}": r for i, r in enumerate(masks)}
    table = mt.tally(raters, predictions=drawn)
    by_arrays = mt.sample_distances(drawn, raters)
    for by_columns in (mt.sample_distances(list(drawn), table), mt.sample_distances(None, table)):
        assert by_columns.samples == by_arrays.samples
        assert by_columns.raters == by_arrays.raters
        assert np.allclose(by_columns.similarity(), by_arrays.similarity(), atol=1e-15)
    for metric in (mt.energy_distance, mt.matched_iou, mt.d_max):
        values = [metric(drawn, raters), metric(list(drawn), table), metric(by_arrays)]
        assert values == pytest.approx([values[0]] * 3, abs=1e-15)


@given(masks_of(4), masks_of(4))
def test_the_v_form_is_zero_for_the_same_distribution_alone(samples, masks):
    value = mt.energy_distance(samples, masks)
    assert value >= 0
    shares = [{m.tobytes(): 0.0 for m in (*samples, *masks)} for _ in range(2)]
    for share, given_ in zip(shares, (samples, masks), strict=True):
        for mask in given_:
            share[mask.tobytes()] += 1 / len(given_)
    same = all(math.isclose(shares[0][key], shares[1][key], abs_tol=1e-12) for key in shares[0])
    assert same == (value < 1e-12)


def test_iou_is_a_strictly_positive_definite_kernel():
    """Why the V-form tells distributions apart: of all masks of four pixels, the empty one among them."""
    every = np.array(list(product((0, 1), repeat=4)))
    kernel = mt.sample_distances(every, every[:1]).among_samples()
    assert np.linalg.eigvalsh(kernel).min() > 0.019


def test_of_several_labels_it_is_zero_where_each_label_has_the_same_distribution():
    samples, masks = [[1, 0, 2, 0], [0, 1, 0, 2]], [[1, 0, 0, 2], [0, 1, 2, 0]]
    assert not {*map(tuple, samples)} & {*map(tuple, masks)}
    assert mt.energy_distance(samples, masks) == 0


def test_it_is_the_energy_distance_of_scipy():
    """Nested masks with d = |x − y| / max: with sizes as one-pixel lines, against scipy's distance of numbers."""
    from scipy.stats import energy_distance

    # IoU distance of a mask of k pixels of n and the empty mask is 1: two point masses
    samples, masks = np.array([[1], [1], [0], [1]]), np.array([[0], [1], [0]])
    assert mt.energy_distance(samples, masks) == pytest.approx(energy_distance([1, 1, 0, 1], [0, 1, 0]) ** 2, abs=1e-15)


def test_the_means_of_the_u_forms_are_the_distance_of_the_populations():
    """Over 4,000 draws of samples and raters from two populations of masks, within three standard errors."""
    rng = np.random.default_rng(0)
    every = rng.random((12, 20)) < 0.5
    model, raters = rng.dirichlet(np.ones(12)), rng.dirichlet(np.ones(12))
    d = 1 - mt.sample_distances(every, every[:1]).among_samples()
    truth = 2 * model @ d @ raters - model @ d @ model - raters @ d @ raters
    fixed = rng.choice(12, 3, p=raters)
    to_fixed = np.bincount(fixed, minlength=12) / 3
    against_fixed = 2 * model @ d @ to_fixed - model @ d @ model - to_fixed @ d @ to_fixed
    known = mt.sample_distances(every, every)
    names = known.samples
    values: dict[object, list[float]] = {False: [], "samples": [], "both": []}
    for _ in range(4000):
        drawn, rated = rng.choice(12, 4, p=model), rng.choice(12, 3, p=raters)
        both = known.select([names[i] for i in drawn], [names[i] for i in rated])
        some = known.select([names[i] for i in drawn], [names[i] for i in fixed])
        values["both"].append(mt.energy_distance(both, unbiased="both"))
        values["samples"].append(mt.energy_distance(some, unbiased="samples"))
        values[False].append(mt.energy_distance(some))
    for form, expected in (("both", truth), ("samples", against_fixed)):
        found = np.array(values[form])
        assert abs(found.mean() - expected) < 3 * found.std() / math.sqrt(len(found))
    # the V-form of four samples is larger, as it counts each sample with itself
    assert np.mean(values[False]) > against_fixed + 0.05
    assert min(values["both"]) < 0


def test_more_samples_of_one_model_lower_the_v_form_and_not_the_u_form():
    rng = np.random.default_rng(1)
    masks = rng.random((400, 16)) < 0.5
    few, many = masks[:5], masks[:300]
    raters = masks[300:]
    assert mt.energy_distance(few, raters) > mt.energy_distance(many, raters) + 0.05
    assert abs(mt.energy_distance(many, raters, unbiased=True)) < 0.01


@given(masks_of(4), masks_of(4))
@settings(max_examples=60)
def test_matched_iou_is_the_best_of_all_matchings(samples, masks):
    n = math.lcm(len(samples), len(masks))
    if n > 6:
        return
    table = np.array([[iou(a, b) for b in masks] for a in samples])
    repeated = np.tile(table, (n // len(samples), n // len(masks)))
    best = max(np.mean([repeated[i, j] for i, j in enumerate(order)]) for order in permutations(range(n)))
    assert mt.matched_iou(samples, masks) == pytest.approx(best, abs=1e-12)


def test_large_assignments_have_the_same_optimum(monkeypatch):
    rng = np.random.default_rng(2)
    samples, masks = rng.random((7, 30)) < 0.5, rng.random((5, 30)) < 0.5
    small = mt.matched_iou(samples, masks)
    monkeypatch.setattr(module, "LARGEST_ASSIGNMENT", 1)
    assert mt.matched_iou(samples, masks) == pytest.approx(small, abs=1e-9)


@given(masks_of(4), masks_of(3))
def test_d_max_is_the_best_dice_in_the_mean_over_all_choices(samples, masks):
    dice = np.array([[2 * iou(a, b) / (1 + iou(a, b)) for b in masks] for a in samples])
    for draws in range(1, len(samples) + 1):
        chosen = [dice[list(some)].max(axis=0).mean() for some in combinations(range(len(samples)), draws)]
        assert mt.d_max(samples, masks, draws=draws) == pytest.approx(np.mean(chosen), abs=1e-12)
    assert mt.d_max(samples, masks) == pytest.approx(dice.max(axis=0).mean(), abs=1e-12)


@given(masks_of(4))
def test_diversity_is_the_mean_over_pairs(samples):
    found = mt.sample_diversity(samples)
    if len(samples) < 2:
        assert code(found) == "fewer_than_two_samples"
    else:
        assert found == pytest.approx(np.mean([1 - iou(a, b) for a, b in combinations(samples, 2)]), abs=1e-12)


def test_every_size_of_image_and_block_counts_the_same(monkeypatch):
    """Words hold 64 pixels; whatever is left over, and wherever blocks are cut."""
    rng = np.random.default_rng(3)
    for size in (1, 63, 64, 65, 200):
        samples, masks = rng.random((3, size)) < 0.4, rng.random((2, size)) < 0.4
        expected = naive_energy(samples, masks, False)
        for block in (1 << 20, 64, 37):
            monkeypatch.setattr("manytruths.core.mask_arrays.BLOCK", block)
            assert mt.energy_distance(samples, masks) == pytest.approx(expected, abs=1e-12)


@given(
    arrays(np.uint8, (3, 8), elements=st.sampled_from([0, 1, 9])),
    arrays(np.uint8, (2, 8), elements=st.sampled_from([0, 1, 9])),
)
@settings(max_examples=40)
def test_pixels_that_were_not_rated_do_not_count(samples, masks):
    known = mt.sample_distances(samples, masks, void=9, labels=(0, 1))
    every = [*samples, *masks]
    for i, j in product(range(5), repeat=2):
        both = (every[i] != 9) & (every[j] != 9)
        value = known.similarity()[i, j]
        if not both.any():
            assert np.isnan(value)
        else:
            assert value == pytest.approx(iou(every[i][both], every[j][both]), abs=1e-15)
    # with arrays and tallies alike
    table = mt.tally(dict(zip("ab", masks, strict=True)), predictions=dict(zip("xyz", samples, strict=True)), void=9)
    there = [c for c in "ab" if (table.patterns[:, table.position(c)] != 255).any()]
    if len(there) == 2 and table.labels.marks:
        assert np.allclose(mt.sample_distances(["x", "y", "z"], table).similarity(), known.similarity(), equal_nan=True)


def test_the_v_form_may_be_negative_where_masks_leave_out_different_pixels():
    samples, masks = [[9, 9, 0, 0], [1, 1, 9, 1]], [[1, 0, 0, 0], [0, 1, 0, 9]]
    found = mt.sample_distances(samples, masks, labels=(0, 1), void=9)
    d = 1 - found.similarity()
    expected = 2 * d[:2, 2:].mean() - d[:2, :2].mean() - d[2:, 2:].mean()
    assert expected < -0.4
    assert mt.energy_distance(found) == pytest.approx(expected, abs=1e-15)


def test_samples_and_raters_that_share_no_pixel_are_undefined():
    known = mt.sample_distances([[1, 9], [1, 9]], [[9, 1]], void=9)
    for metric in (mt.energy_distance, mt.matched_iou, mt.d_max):
        assert code(metric(known)) == "no_item_rated_by_both"
    assert mt.sample_diversity(known) == 0


def test_nobody_marked_anything():
    empty = np.zeros((3, 4), int)
    assert mt.energy_distance(empty, empty[:2]) == 0
    assert mt.matched_iou(empty, empty[:2]) == 1
    one = np.array([[1, 0, 0, 0]])
    assert mt.energy_distance(empty, one) == 2
    assert mt.energy_distance(one, empty, unbiased=False) == 2


def test_an_absent_rater_is_left_out():
    assert mt.sample_distances([[1, 0]], {"A": [1, 0], "B": None}).raters == ("A",)


def test_what_cannot_be_compared():
    table = mt.tally({"A": [1, 0]}, predictions={"s": [1, 1]})
    with pytest.raises(CallError, match="second argument"):
        mt.energy_distance([[1, 0]])
    with pytest.raises(CallError, match="unbiased= is"):
        mt.energy_distance([[1, 0]], [[1, 0]], unbiased="raters")
    with pytest.raises(CallError, match="draws= is a number of samples from 1 to 1"):
        mt.d_max([[1, 0]], [[1, 0]], draws=2)
    with pytest.raises(CallError, match="lists its columns by name"):
        mt.energy_distance([[1, 0]], table)
    with pytest.raises(CallError, match="no column 't'"):
        mt.energy_distance(["t"], table)
    with pytest.raises(CallError, match="at least one sample"):
        mt.energy_distance(None, mt.tally({"A": [1, 0]}))
    with pytest.raises(CallError, match="no label 3"):
        mt.energy_distance([[1, 0]], [[1, 0]], label=3)
    with pytest.raises(CallError, match="leave masks= out"):
        mt.energy_distance(mt.sample_distances([[1, 0]], [[1, 0]]), [[1, 0]])
    with pytest.raises(GridError, match="mask of 1 is 3 but that of sample 1 is 2"):
        mt.energy_distance([[1, 0]], [[1, 0, 1]])
    with pytest.raises(LabelError, match="sample 1: labels are non-negative integers"):
        mt.energy_distance([[0.5, 0]], [[1, 0]])

"""Probability maps as forecasts: every score equals a loop over pixels and scikit-learn; the parts of Brier add up."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.calibration import calibration_curve
from sklearn.metrics import brier_score_loss

import manytruths as mt
from manytruths import CallError, GridError, InputError
from manytruths.core.undefined import code
from manytruths.evaluation.probabilistic.forecasts import check_label_sums, check_probability
from manytruths.evaluation.responses import index_masks

SIZE = 12
SHARES = st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.3, 0.5, 0.6, 0.7, 0.75, 0.9, 1.0])
MAP = arrays(np.float64, SIZE, elements=SHARES)
MASKS = st.integers(1, 4).flatmap(lambda n: arrays(np.uint8, (n, SIZE), elements=st.integers(0, 1)))
REFERENCES = ("raters", "share", "2", "vote:0.5")


def observations(p, masks, reference, region):
    """(forecast, observed) pairs, pixel by pixel."""
    pairs = []
    for i in range(len(p)):
        votes = int(masks[:, i].sum())
        if region == "union" and not votes:
            continue
        share = votes / len(masks)
        seen = {
            "raters": list(masks[:, i]),
            "share": [share],
            "2": [masks[1, i]] if len(masks) > 1 else [],
            "vote:0.5": [float(share >= 0.5)],
        }
        pairs += [(p[i], float(y)) for y in seen[reference]]
    return pairs


def in_bin(value, edges):
    """Whether each bin holds a value; bins hold their upper edge."""
    return [(low < value <= high) or (k == 0 and value == low) for k, (low, high) in enumerate(edges)]


@given(MAP, MASKS, st.sampled_from(REFERENCES), st.sampled_from(["image", "union"]))
def test_scores_are_loops_over_pixels(p, masks, reference, region):
    if reference == "2" and len(masks) < 2:
        return
    pairs = observations(p, masks, reference, region)
    chosen = {"reference": reference, "region": region}
    if not pairs:
        assert code(mt.brier(p, masks, **chosen)) == "nobody_marked"
        assert code(mt.expected_calibration_error(p, masks, **chosen)) == "nobody_marked"
        return
    assert mt.brier(p, masks, **chosen) == pytest.approx(np.mean([(a - b) ** 2 for a, b in pairs]), abs=1e-12)
    grid = np.linspace(0, 1, 5)
    edges = list(pairwise(grid))
    error = 0.0
    for k in range(4):
        inside = [(a, b) for a, b in pairs if in_bin(a, edges)[k]]
        if inside:
            error += len(inside) * abs(np.mean([a for a, _ in inside]) - np.mean([b for _, b in inside])) / len(pairs)
    assert mt.expected_calibration_error(p, masks, bins=4, **chosen) == pytest.approx(error, abs=1e-12)


@given(MAP, MASKS, st.sampled_from(["raters", "share"]), st.sampled_from([None, 1, 3, 10]), st.booleans())
def test_the_parts_of_brier_add_up(p, masks, reference, bins, equal_mass):
    diagram = mt.reliability_diagram(p, masks, reference=reference, bins=bins, equal_mass=equal_mass)
    parts = diagram.brier_parts
    assert parts.value == pytest.approx(mt.brier(p, masks, reference=reference), abs=1e-12)
    assert diagram.brier == pytest.approx(parts.value, abs=1e-12)
    assert min(parts.reliability, parts.resolution, parts.uncertainty + 1e-15, parts.within_bin_variance + 1e-15) >= 0
    if bins is None:
        assert parts.within_bin_variance == pytest.approx(0, abs=1e-14)
        assert parts.within_bin_covariance == pytest.approx(0, abs=1e-14)


@given(MAP, arrays(np.uint8, SIZE, elements=st.integers(0, 1)))
@settings(max_examples=50)
def test_it_is_scikit_learn(p, mask):
    if 0 < mask.sum() < SIZE:
        assert mt.brier(p, [mask]) == pytest.approx(brier_score_loss(mask, p), abs=1e-12)
        for bins, mass in product((1, 4, 10), (False, True)):
            observed, forecast = calibration_curve(mask, p, n_bins=bins, strategy="quantile" if mass else "uniform")
            diagram = mt.reliability_diagram(p, [mask], bins=bins, equal_mass=mass)
            filled = diagram.counts > 0
            assert diagram.mean_forecast[filled] == pytest.approx(forecast, abs=1e-12)
            assert diagram.observed_share[filled] == pytest.approx(observed, abs=1e-12)


def test_equal_masses_of_many_values_are_those_of_scikit_learn():
    rng = np.random.default_rng(0)
    p = rng.beta(0.5, 2, 5000)
    mask = rng.random(5000) < p
    observed, forecast = calibration_curve(mask, p, n_bins=15, strategy="quantile")
    diagram = mt.reliability_diagram(p, [mask], bins=15, equal_mass=True)
    assert diagram.mean_forecast == pytest.approx(forecast, abs=1e-12)
    assert diagram.observed_share == pytest.approx(observed, abs=1e-12)
    assert np.ptp(diagram.counts) <= 1


@given(MAP, MASKS)
@settings(max_examples=50)
def test_against_raters_it_is_that_against_the_share_and_what_nobody_can_avoid(p, masks):
    share = masks.mean(axis=0)
    gap = mt.brier(p, masks) - mt.brier(p, masks, reference="share")
    assert gap == pytest.approx((share * (1 - share)).mean(), abs=1e-12)
    each = [mt.brier(p, masks, reference=str(i + 1)) for i in range(len(masks))]
    assert mt.brier(p, masks) == pytest.approx(np.mean(each), abs=1e-12)
    first, second = (mt.reliability_diagram(p, masks, reference=r, bins=5) for r in ("raters", "share"))
    assert np.allclose(first.observed_share, second.observed_share, equal_nan=True)


@given(MAP, MASKS)
def test_the_share_is_the_best_forecast_of_a_rater_picked_at_random(p, masks):
    share = masks.mean(axis=0)
    assert mt.brier(share, masks) <= mt.brier(p, masks) + 1e-12
    assert mt.brier(share, masks, reference="share") == pytest.approx(0, abs=1e-15)
    assert mt.expected_calibration_error(share, masks) == pytest.approx(0, abs=1e-15)


@given(MAP, MASKS)
@settings(max_examples=50)
def test_maps_tallies_and_counts_are_one_door(p, masks):
    raters = dict(zip("abcd", masks, strict=False))
    responses = mt.count_responses(p, raters)
    counts = mt.count_forecasts(p, raters, reference="share", region="image")
    values = [
        mt.brier(p, raters, reference="share"),
        mt.brier(responses, reference="share"),
        mt.brier(counts),
    ]
    assert values == pytest.approx([values[0]] * 3, abs=1e-15)
    # a forecast by pattern is the map that it paints
    table = mt.tally(raters)
    vote = mt.vote(table).probability
    painted = mt.paint(vote, raters)
    assert mt.brier(vote, table) == pytest.approx(mt.brier(painted, raters), abs=1e-15)


def test_counts_and_diagrams_of_cases_add():
    rng = np.random.default_rng(1)
    cases = [(rng.random((8, 8)).round(2), rng.random((3, 8, 8)) < 0.4) for _ in range(3)]
    whole = np.concatenate([p for p, _ in cases]), np.concatenate([m for _, m in cases], axis=1)
    for reference in ("raters", "share"):
        counts = sum(mt.count_forecasts(p, m, reference=reference) for p, m in cases)
        assert mt.brier(counts) == pytest.approx(mt.brier(*whole, reference=reference), abs=1e-14)
        added = sum(mt.reliability_diagram(p, m, reference=reference) for p, m in cases)
        at_once = mt.reliability_diagram(*whole, reference=reference)
        assert added.expected_calibration_error == pytest.approx(at_once.expected_calibration_error, abs=1e-14)
        assert added.brier_parts.value == pytest.approx(at_once.brier_parts.value, abs=1e-14)
        assert added.observed_share == pytest.approx(at_once.observed_share, abs=1e-14)
    with pytest.raises(CallError, match="same reference"):
        _ = mt.count_forecasts(*cases[0]) + mt.count_forecasts(*cases[0], reference="share")
    with pytest.raises(CallError, match="same bins"):
        _ = mt.reliability_diagram(*cases[0]) + mt.reliability_diagram(*cases[0], bins=3)


def test_a_calibrated_forecast_has_a_reliability_of_nothing_but_chance():
    """Of 400 simulated maps: the mean of the reliability term is what binomial noise makes of 0, within its error."""
    rng = np.random.default_rng(2)
    p = rng.choice(np.linspace(0.05, 0.95, 10), 2000)
    terms, expected = [], []
    for _ in range(400):
        parts = mt.reliability_diagram(p, [rng.random(2000) < p], bins=None).brier_parts
        terms.append(parts.reliability)
    expected = np.sum(np.unique(p) * (1 - np.unique(p))) / 2000
    found = np.array(terms)
    assert abs(found.mean() - expected) < 3 * found.std() / 20
    assert found.mean() < 1e-3
    # one that is not: 0.1 too high everywhere
    shifted = mt.reliability_diagram(p + 0.05, [rng.random(2000) < p], bins=None).brier_parts
    assert shifted.reliability == pytest.approx(0.0025 + expected, abs=3e-3)


def test_many_distinct_probabilities_are_rounded_and_say_so():
    rng = np.random.default_rng(3)
    p = rng.random((400, 400))
    masks = rng.random((2, 400, 400)) < p
    counts = mt.count_forecasts(p, masks)
    assert counts.rounded
    exact = np.mean([(p - m) ** 2 for m in masks])
    assert mt.brier(counts) == pytest.approx(exact, abs=1e-7)
    observed, forecast = calibration_curve(masks[0].ravel(), p.ravel(), n_bins=15)
    diagram = mt.reliability_diagram(p, masks, reference="1")
    assert diagram.mean_forecast == pytest.approx(forecast, abs=2e-5)
    assert diagram.observed_share == pytest.approx(observed, abs=1e-3)


def test_raters_who_did_not_rate_a_pixel_do_not_count_there():
    masks = {"A": [1, 9, 0, 1], "B": [1, 1, 9, 9], "C": None}
    table = mt.tally(masks, void=9)
    responses = mt.count_responses([0.8, 0.6, 0.4, 0.3], masks, void=9)
    assert mt.brier(responses) == pytest.approx(np.mean([0.04, 0.04, 0.16, 0.16, 0.49]))
    assert mt.brier(responses, reference="share") == pytest.approx(np.mean([0.04, 0.16, 0.16, 0.49]))
    assert mt.brier(responses, reference="A") == pytest.approx(np.mean([0.04, 0.16, 0.49]))
    assert code(mt.brier(responses, reference="C")) == "not_rated"
    assert mt.brier(np.ones(len(table.counts)), table, reference="B") == 0


@given(
    arrays(np.uint8, (2, SIZE), elements=st.integers(0, 2)),
    arrays(np.float64, (2, SIZE), elements=st.sampled_from([0.0, 0.25, 0.5])),
)
@settings(max_examples=50)
def test_maps_by_label_are_scored_each_for_its_label(masks, maps):
    by_label = {1: maps[0], 2: maps[1]}
    scores = [mt.brier(p, [m == k for m in masks]) for k, p in by_label.items()]
    assert mt.brier(by_label, masks) == pytest.approx(np.mean(scores), abs=1e-12)
    errors = [mt.expected_calibration_error(p, [m == k for m in masks]) for k, p in by_label.items()]
    assert mt.expected_calibration_error(by_label, masks) == pytest.approx(np.mean(errors), abs=1e-12)
    if set(np.unique(masks)) >= {1, 2}:
        assert mt.brier(maps[0], masks, label=1) == pytest.approx(scores[0], abs=1e-12)
        with pytest.raises(CallError, match="several labels"):
            mt.brier(maps[0], masks)


def test_a_label_that_nobody_gave_counts():
    maps, masks = {1: [0.5, 0.0], 3: [0.5, 0.5]}, {"A": [1, 0], "B": [1, 0]}
    found = mt.count_by_label(maps, masks)
    assert found["3"].prevalence == 0
    assert mt.brier(found["3"]) == 0.25
    for known in (masks, index_masks(masks)):
        assert mt.brier(maps, known) == pytest.approx((0.125 + 0.25) / 2)


def test_a_label_that_is_in_no_mask_can_be_named():
    p, masks = [0.5, 0.5], {"A": [1, 0], "B": [0, 0]}
    for known in (masks, index_masks(masks)):
        assert mt.brier(p, known, label=2) == 0.25
        assert mt.expected_calibration_error(p, known, label=2) == 0.5
        assert mt.reliability_diagram(p, known, label=2, bins=None).observed.sum() == 0
        assert mt.count_forecasts(p, known, label=2).prevalence == 0
        assert mt.soft_dice(p, known, label=2) == pytest.approx(4 / 9)  # 0 up to a threshold of 0.5, then both empty
        assert mt.continuous_dice(p, known, label=2) == 0
    assert mt.compare_held_out(mt.brier, p, masks, label=2).model.tolist() == [0.25, 0.25]
    # a table lists its labels
    with pytest.raises(CallError, match="no label 2"):
        mt.brier([0.5, 0.5], mt.tally(masks), label=2)
    with pytest.raises(CallError, match="no label 'liver'"):
        mt.brier(p, masks, label="liver")


def test_a_label_without_a_map_is_refused():
    with pytest.raises(InputError, match="labels without a probability map: 2; give a map of each"):
        mt.brier({1: [0.5, 0.0]}, {"A": [1, 2]})
    with pytest.raises(InputError, match="without a probability map: 2"):
        mt.count_by_label({1: [0.5, 0.0]}, {"A": [1, 2]})
    # by pattern, with a tally
    table = mt.tally({"A": [1, 2, 0], "B": [1, 1, 0]})
    known = {k: (table.patterns == k).mean(axis=1) for k in (1, 2)}
    assert mt.brier(known, table) == pytest.approx((0.25 / 3 + 0.25 / 3) / 2)


def test_consensus_and_given_references():
    rng = np.random.default_rng(4)
    masks = {name: rng.random(200) < 0.5 for name in "ABC"}
    p = rng.random(200).round(1)
    majority = np.mean(list(masks.values()), axis=0) > 0.5
    assert mt.brier(p, masks, reference="vote:0.5") == pytest.approx(np.mean((p - majority) ** 2))
    truth = mt.paint(mt.staple(mt.tally(masks)).hard, masks)
    assert mt.brier(p, masks, reference="staple") == pytest.approx(np.mean((p - truth) ** 2))
    responses = mt.count_responses(p, masks, references={"adjudicated": majority})
    assert mt.brier(responses, reference="adjudicated") == pytest.approx(np.mean((p - majority) ** 2))


@given(
    arrays(np.uint8, (2, SIZE), elements=st.integers(0, 2)),
    arrays(np.float64, (2, SIZE), elements=st.sampled_from([0.0, 0.02, 0.25, 0.3, 0.5])),
)
@settings(max_examples=50)
def test_the_calibration_error_of_curvas_is_a_loop_over_pixels(masks, maps):
    errors = []
    for mask in masks:
        bins: dict[int, list[tuple[float, bool]]] = {}
        for pixel in range(SIZE):
            chances = [1 - maps[0][pixel] - maps[1][pixel], maps[0][pixel], maps[1][pixel]]
            best = max(range(3), key=lambda k: chances[k])
            number = sum(chances[best] >= edge for edge in np.linspace(0, 1, 51))
            bins.setdefault(number, []).append((chances[best], best == mask[pixel]))
        gaps = [abs(sum(p for p, _ in some) - sum(hit for _, hit in some)) for some in bins.values()]
        errors.append(sum(gaps) / SIZE)
    assert mt.curvas_calibration_error({1: maps[0], 2: maps[1]}, masks) == pytest.approx(np.mean(errors), abs=1e-12)
    whole = {0: 1 - maps.sum(axis=0), 1: maps[0], 2: maps[1]}
    assert mt.curvas_calibration_error(whole, masks) == pytest.approx(np.mean(errors), abs=1e-12)


@given(
    arrays(np.uint8, (3, SIZE), elements=st.integers(0, 3)),
    arrays(np.float64, (2, SIZE), elements=st.sampled_from([0.0, 0.02, 0.25, 0.3, 0.5])),
)
@settings(max_examples=100)
def test_the_dice_of_curvas_is_a_loop_over_pixels_on_which_raters_agree(masks, maps):
    """A rater who gave 3 did not rate the pixel."""
    found = mt.curvas_dice({1: maps[0], 2: maps[1]}, masks, void=3)
    assert set(found) == {1, 2}
    for label, dice in found.items():
        both = ours = theirs = 0
        for pixel in range(SIZE):
            given = [m[pixel] == label for m in masks if m[pixel] != 3]
            chances = [1 - maps[0][pixel] - maps[1][pixel], maps[0][pixel], maps[1][pixel]]
            if given and all(given) == any(given):
                here = max(range(3), key=lambda k: chances[k]) == label
                both, ours, theirs = both + (here and given[0]), ours + here, theirs + given[0]
        if theirs:
            assert dice == pytest.approx(2 * both / (ours + theirs), abs=1e-12)
        else:
            assert code(dice) == "no_item_marked_by_all"


def test_the_program_of_curvas_averages_dice_over_rows():
    """What the docs say of MONAI's metric, called as the challenge's program calls it."""
    import monai.metrics as metrics
    import torch

    rng = np.random.default_rng(0)
    masks = (rng.random((3, 4, 9, 11)) < 0.7).astype(np.uint8)
    chance = np.where(rng.random((4, 9, 11)) < 0.5, 0.9, 0.1)
    agreed, nobody = masks.all(axis=0), ~masks.any(axis=0)
    here = (chance > 0.5) & (agreed | nobody)
    metric = metrics.DiceMetric(include_background=False, reduction="mean", get_not_nans=False, ignore_empty=True)
    metric(torch.from_numpy(here.astype(np.uint8)), torch.from_numpy(agreed.astype(np.uint8)))
    by_slice = []
    for k in range(4):
        rows = [i for i in range(1, 9) if agreed[k, i].any()]
        by_slice.append(
            np.mean([2 * (here & agreed)[k, i].sum() / (here[k, i].sum() + agreed[k, i].sum()) for i in rows])
        )
    assert metric.aggregate().item() == pytest.approx(np.mean(by_slice), abs=1e-6)
    whole = 2 * (here & agreed).sum() / (here.sum() + agreed.sum())
    assert mt.curvas_dice({1: chance}, masks)[1] == pytest.approx(whole, abs=1e-12)
    assert abs(whole - np.mean(by_slice)) > 0.01


def test_certain_background_has_a_bin_of_its_own_in_curvas():
    """A probability of exactly 1 is not pooled with 0.99: the two errors would cancel in one bin."""
    maps = {1: [0.0, 0.005]}
    assert mt.curvas_calibration_error(maps, [[1, 0]]) == pytest.approx((1 + 0.005) / 2)
    assert code(mt.curvas_calibration_error({1: [0.5]}, [[9]], void=9)) == "not_rated"
    with pytest.raises(CallError, match="named by the values of labels, background is 0; got background"):
        mt.curvas_calibration_error({"background": [1.0]}, [[1]])


def test_thresholds_of_qubiq_by_hand():
    """Three raters, six pixels: shares 1, 2/3, 1/3, 0, 0, 0."""
    masks = [[1, 1, 1, 0, 0, 0], [1, 1, 0, 0, 0, 0], [1, 0, 0, 0, 0, 0]]
    p = [0.95, 0.5, 0.5, 0.25, 0.0, 0.0]
    # t = 0.1, 0.2: p has 4, s 3; 0.3: 3 and 3; 0.4, 0.5: 3 and 2; 0.6: 1 and 2; 0.7, 0.8, 0.9: 1 and 1
    expected = (2 * 6 / 7 + 1 + 2 * 4 / 5 + 2 / 3 + 3) / 9
    assert mt.soft_dice(p, masks) == pytest.approx(expected, abs=1e-15)


@given(MAP, MASKS, st.lists(st.sampled_from([0.1, 0.2, 0.3, 0.5, 0.7, 1.0]), min_size=1, max_size=4))
def test_soft_dice_is_a_loop_over_thresholds(p, masks, thresholds):
    values = []
    for t in thresholds:
        first = p >= t
        second = np.array([sum(column) >= t * len(masks) - 1e-9 for column in masks.T.astype(int)])
        sizes = first.sum() + second.sum()
        values.append(2 * (first & second).sum() / sizes if sizes else None)
    found = mt.soft_dice(p, masks, thresholds=thresholds)
    if all(v is None for v in values):
        assert code(found) == "both_empty"
    else:
        assert found == pytest.approx(np.mean([1.0 if v is None else v for v in values]), abs=1e-12)


def test_shares_on_a_threshold_reach_it_in_single_precision_too():
    masks = np.tril(np.ones((10, 10), int))
    share = masks.mean(axis=0)
    for dtype in (np.float32, np.float64):
        assert mt.soft_dice(share.astype(dtype), masks) == 1
    assert mt.continuous_dice(share, masks) == pytest.approx(1)


@given(MAP, MASKS)
def test_continuous_dice_is_its_formula(p, masks):
    s = masks.mean(axis=0)
    if p.sum() + s.sum() == 0:
        assert code(mt.continuous_dice(p, masks)) == "both_empty"
        return
    forms = {
        "minimum": 2 * np.minimum(p, s).sum() / (p + s).sum(),
        "product": 2 * (p * s).sum() / (p + s).sum(),
        "squares": 2 * (p * s).sum() / (p**2 + s**2).sum(),
    }
    for form, expected in forms.items():
        assert mt.continuous_dice(p, masks, form=form) == pytest.approx(expected, abs=1e-12)
    assert (forms["minimum"] > 1 - 1e-12) == np.allclose(p, s)


def test_probabilities_that_are_none_say_how_many_and_where():
    p = np.full((4, 4), 0.5)
    p[1, 2], p[3, 3] = 1.3, -0.2
    message = r"2 of 16 do not: they run from -0.2 to 1.3, and that at \(1, 2\) is 1.3"
    with pytest.raises(InputError, match=message):
        mt.brier(p, np.zeros((2, 4, 4), int))
    with pytest.raises(InputError, match="1 of 2 do not"):
        mt.soft_dice([np.nan, 0.5], [[1, 0]])
    with pytest.raises(InputError, match=r"2 of 2 do not: that at \(0,\) is nan"):
        mt.brier([np.nan, np.nan], [[1, 0]])
    with pytest.raises(InputError, match="divide bytes by 255"):
        mt.brier(np.array([255, 0], np.uint8), [[1, 0]])
    with pytest.raises(InputError, match="array of"):
        check_probability(np.array(["a"]))
    masked = np.ma.masked_array([7.0, 0.5], [True, False])
    assert mt.brier(masked, [[1, 0]]) == 0.25
    with pytest.raises(InputError, match="responses run from 0 to 9"):
        mt.brier(mt.count_responses([9, 0], [[1, 0]]))


def test_labels_that_do_not_add_up_say_by_how_much_and_where():
    maps = {0: [[0.5, 0.5]], 1: [[0.5, 0.7]]}
    uneven = r"add up to 1, but those of 1 of 2 pixels do not: at \(0, 1\) they add up to 1.2"
    with pytest.raises(InputError, match=uneven):
        mt.brier(maps, [[[0, 1]]])
    with pytest.raises(InputError, match="at most 1"):
        mt.brier({1: [0.6, 0.0], 2: [0.6, 0.0]}, [[1, 2]])
    with pytest.raises(GridError, match="map of label 2 is 1 but that of label 1 is 2"):
        mt.brier({1: [0.6, 0.0], 2: [0.6]}, [[1, 2]])
    check_label_sums({1: [0.3], 2: [0.3]})
    # halves of precision
    check_label_sums({0: [0.334], 1: [0.333], 2: [0.335]})


def test_raters_who_marked_nothing_and_constant_maps():
    empty = np.zeros((3, 5), int)
    p = np.full(5, 0.25)
    assert mt.brier(p, empty) == 0.0625
    parts = mt.reliability_diagram(p, empty).brier_parts
    assert (parts.reliability, parts.resolution, parts.uncertainty) == (0.0625, 0, 0)
    assert code(mt.brier(p, empty, region="union")) == "nobody_marked"
    diagram = mt.reliability_diagram(p, empty, region="union")
    assert code(diagram.brier_parts.reliability) == code(diagram.maximum_calibration_error) == "nobody_marked"
    assert np.isnan(diagram.mean_forecast).all()
    assert code(mt.soft_dice(np.zeros(5), empty)) == "both_empty"
    assert mt.count_forecasts(p, empty).constant
    constant = mt.reliability_diagram(p, [[1, 0, 0, 0, 0]])
    assert constant.brier_parts.resolution == pytest.approx(0, abs=1e-15)
    assert constant.expected_calibration_error == pytest.approx(0.05)
    assert constant.maximum_calibration_error == pytest.approx(0.05)


def test_what_is_called_wrongly():
    masks = [[1, 0], [0, 0]]
    p = [0.5, 0.5]
    with pytest.raises(CallError, match="region is one of image, union"):
        mt.brier(p, masks, region="whole")
    with pytest.raises(CallError, match="bins is a number"):
        mt.expected_calibration_error(p, masks, bins=0)
    with pytest.raises(CallError, match="edges of bins rise"):
        mt.reliability_diagram(p, masks, bins=np.array([0.0, 0.5]))
    with pytest.raises(CallError, match="second argument"):
        mt.brier(p)
    with pytest.raises(CallError, match="leave masks= out"):
        mt.brier(mt.count_forecasts(p, masks), masks)
    with pytest.raises(CallError, match="leave masks= out"):
        mt.brier(mt.count_responses(p, masks), masks)
    with pytest.raises(CallError, match="one probability a pattern"):
        mt.brier([0.5] * 9, mt.tally(masks))
    with pytest.raises(CallError, match="diagram is of one label"):
        mt.reliability_diagram({1: p}, masks)
    with pytest.raises(CallError, match="leave label= out"):
        mt.brier({1: p}, masks, label=1)
    with pytest.raises(CallError, match="thresholds lie above 0"):
        mt.soft_dice(p, masks, thresholds=[0.0])
    with pytest.raises(CallError, match="form is one of"):
        mt.continuous_dice(p, masks, form="dice")
    with pytest.raises(CallError):
        mt.brier(p, masks, reference="nobody")


@given(MAP, MASKS)
@settings(max_examples=30)
def test_masks_that_are_indexed_once_give_the_same(p, masks):
    indexed = index_masks(masks)
    for score in (mt.brier, mt.expected_calibration_error, mt.soft_dice, mt.continuous_dice):
        assert score(p, indexed) == pytest.approx(score(p, masks), nan_ok=True, abs=1e-15)
    binned = mt.bin_forecasts(p, indexed, bins=5)
    for reference, region in product(("raters", "share", "1"), ("image", "union")):
        found = binned.against(reference, region)
        counted = mt.reliability_diagram(mt.count_forecasts(p, masks, reference=reference, region=region), bins=5)
        for name in ("counts", "forecasts", "observed", "forecast_squares", "products", "observed_squares"):
            assert getattr(found, name) == pytest.approx(getattr(counted, name), abs=1e-12)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("bins", [1, 7, 10, 15, 50, 100])
def test_bins_are_those_of_the_edges_in_every_precision(dtype, bins):
    """On edges, just below and just above them, in runs and in noise."""
    rng = np.random.default_rng(5)
    edges = np.linspace(0, 1, bins + 1).astype(dtype)
    near = np.concatenate([edges, np.nextafter(edges, dtype(1)), np.nextafter(edges, dtype(0))])
    for p in (np.repeat(near, 50), rng.choice(near, 3000), rng.random(40_000).astype(dtype)):
        mask = rng.random(len(p)) < 0.5
        binned = mt.bin_forecasts(p, [mask], bins=bins).against("1")
        where = np.searchsorted(np.linspace(0, 1, bins + 1)[1:-1], p.astype(np.float64))
        assert np.array_equal(binned.counts, np.bincount(where, minlength=bins))
        assert binned.forecasts == pytest.approx(np.bincount(where, p.astype(np.float64), bins), abs=1e-9)
        assert np.array_equal(binned.observed, np.bincount(where, mask, bins))


def test_pixels_that_do_not_count_are_in_no_bin():
    masks = [[1, 1, 0, 0, 1]]
    p = np.ma.masked_array([0.9, 0.2, 0.4, 0.1, 0.3], [0, 1, 0, 0, 0])
    table = mt.tally(masks, region="union")
    binned = mt.bin_forecasts(p, index_masks(masks, table), bins=2)
    assert binned.counts.sum() == 2
    assert binned.against("1").forecasts.tolist() == [0.3, 0.9]
    assert "2 pixels in 2 bins" in repr(binned)
    with pytest.raises(GridError, match="probability map is 1 but the masks are 2"):
        mt.bin_forecasts([0.5], [[1, 0]])
    with pytest.raises(CallError, match="in bins keep these bins"):
        mt.expected_calibration_error(binned, equal_mass=True)
    with pytest.raises(CallError, match="leave masks= out"):
        mt.brier(binned, masks)

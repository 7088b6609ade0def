"""Disputes of a case: which there are, of which kind, and keys that change with their own pixels alone."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import ndimage

import manytruths as mt
from decision_logs import disputes_of, square, three_readers
from manytruths import CallError, InputError
from manytruths.core.runs import read_runs
from manytruths.study.case import Reading
from manytruths.study.disputes import (
    DisputeRule,
    TiedMajority,
    apply_rule,
    choose,
    choose_runs,
    count_disputes,
    count_votes,
    find_disputes,
)


def study_of(masks, **options):
    return mt.Study.from_arrays({"p": masks}, **options)


def found_in(masks, rule=None, **options):
    return disputes_of(study_of(masks, **options), rule)["p"]


def blobs(seed, raters=4, shape=(70, 80), labels=1):
    rng = np.random.default_rng(seed)
    y, x = np.indices(shape)
    masks = {}
    places = rng.uniform(12, 58, (5, 2))
    for rater in range(raters):
        mask = np.zeros(shape, np.uint8)
        for number, (top, left) in enumerate(places):
            if rng.random() < 0.25:
                continue
            size, (dy, dx) = rng.uniform(3, 7), rng.normal(0, 1.5, 2)
            inside = np.hypot(y - top - dy, x - left - dx) < size
            mask[inside] = 1 + number % labels
        masks[f"R{rater}"] = mask
    return masks


@pytest.mark.parametrize("seed", range(6))
def test_every_marked_pixel_is_in_a_dispute_with_what_each_rater_drew(seed):
    masks = blobs(seed)
    found = found_in(masks)
    put_together = {rater: np.zeros((70, 80), int) for rater in masks}
    for dispute in found:
        where = tuple(slice(*part) for part in dispute.box)
        for rater, runs in dispute.drawn.items():
            assert not (put_together[rater][where] & (runs[...] != 0)).any()
            put_together[rater][where] |= runs[...]
    for rater, mask in masks.items():
        assert np.array_equal(put_together[rater], mask)


@pytest.mark.parametrize("seed", range(6))
def test_measures_against_pixels(seed):
    masks = blobs(seed)
    for dispute in found_in(masks, spacing=(0.5, 0.5)):
        if not dispute.drawn:
            continue
        drawn = [runs[...] != 0 for runs in dispute.drawn.values()]
        union = np.logical_or.reduce(drawn)
        assert all(union.take(k, axis).any() for axis in (0, 1) for k in (0, -1))  # the box is tight
        assert dispute.size == np.mean([d.sum() for d in drawn])
        pairs = [2 * (a & b).sum() / (a.sum() + b.sum()) for i, a in enumerate(drawn) for b in drawn[:i]]
        assert dispute.worst_dice == pytest.approx(min(pairs, default=np.nan), nan_ok=True)
        if pairs:
            distances = [
                mt.surface_distances(a, b, (0.5, 0.5)).hausdorff() for i, a in enumerate(drawn) for b in drawn[:i]
            ]
            assert dispute.worst_mm == pytest.approx(max(distances))
        everybody = np.logical_and.reduce(drawn) if not dispute.missed_by else np.zeros_like(union)
        assert dispute.doubt == pytest.approx(1 - everybody.sum() / union.sum())
        centre = tuple(at - start for at, (start, _) in zip(dispute.centre, dispute.box, strict=True))
        votes = np.sum(drawn, axis=0)
        assert votes[centre] == votes.max()


def test_kinds():
    found = disputes_of(mt.Study.from_arrays(three_readers()))["p1"]
    border, seen, alone = found.disputes
    assert (border.kind, border.found_by) == ("border", ("anna", "ben", "clara"))
    assert (seen.kind, seen.found_by, seen.missed_by) == ("missed", ("anna", "ben"), ("clara",))
    assert (alone.kind, alone.found_by, alone.missed_by) == ("missed", ("clara",), ("anna", "ben"))
    assert np.isnan(alone.worst_dice)
    assert [each.kind for each in found.settled][:1] == ["unanimous"]
    assert {each.kind for each in found.settled[1:]} == {"unmarked"}
    assert all(each.label is None for each in found)


def test_thresholds_sort_the_same_lesions_again():
    masks = blobs(2)
    study = study_of(masks)
    loose = disputes_of(study, DisputeRule(min_dice=0.1))["p"]
    strict = disputes_of(study, DisputeRule(min_dice=0.99))["p"]
    again = apply_rule(loose, DisputeRule(min_dice=0.99))
    assert [(d.key, d.kind) for d in again.disputes] == [(d.key, d.kind) for d in strict.disputes]
    assert [(d.key, d.kind) for d in again.settled] == [(d.key, d.kind) for d in strict.settled]
    far = disputes_of(study, DisputeRule(min_dice=0.1, min_mm=1.0))["p"]
    assert {d.key for d in far.disputes if d.kind == "border"} == {
        d.key for d in loose if d.drawn and not d.missed_by and (d.worst_dice < 0.1 or d.worst_mm > 1.0)
    }
    rows = count_disputes([loose], (0.1, 0.99))
    assert [row.disputes for row in rows] == [len(loose.disputes), len(strict.disputes)]
    assert all(row.settled + row.disputes == len([d for d in loose if d.kind != "unmarked"]) for row in rows)
    assert rows[1].minutes == len(strict.disputes) / 3
    with pytest.raises(CallError, match="other thresholds alone"):
        apply_rule(loose, DisputeRule(unit="tile"))


def test_small_lesions_are_left_to_the_rule():
    masks = {
        "A": square((40, 60), (5, 15, 5, 15), (30, 31, 40, 42)), "B": square((40, 60), (5, 15, 5, 15)),
        "C": square((40, 60), (8, 15, 5, 12), (20, 22, 30, 34)),
    }  # fmt: skip
    study = study_of(masks)
    whole = disputes_of(study, DisputeRule())["p"]
    assert sorted((d.kind, d.size) for d in whole.disputes if d.kind == "missed") == [("missed", 2), ("missed", 8)]
    for least, left in ((2, 2), (3, 1), (9, 0)):
        rule = DisputeRule(lesion_min_size=least)
        found = disputes_of(study, rule)["p"]
        assert sum(d.kind == "missed" for d in found.disputes) == left
        assert sum(d.kind == "small" for d in found.settled) == 2 - left
        assert {d.key for d in found} == {d.key for d in whole}
        again = apply_rule(whole, rule)
        assert [(d.key, d.kind) for d in again] == [(d.key, d.kind) for d in found]
        (row,) = count_disputes([whole], (0.7,), lesion_min_size=least)
        assert (row.missed, row.settled + row.disputes) == (left, 3)
    with pytest.raises(CallError, match="was told apart already"):
        apply_rule(found, DisputeRule())
    with pytest.raises(CallError, match="lesion_min_size is a number"):
        DisputeRule(lesion_min_size=0)


def test_keys_change_with_the_pixels_of_their_own_lesion_alone():
    cases = three_readers()
    before = disputes_of(mt.Study.from_arrays(cases))
    keys = [dispute.key for dispute in before["p1"].disputes]
    assert len({*keys, *(d.key for d in before["p2"])}) == len(keys) + len(list(before["p2"]))
    cases["p1"]["ben"][12, 40] = 0
    after = [dispute.key for dispute in disputes_of(mt.Study.from_arrays(cases))["p1"].disputes]
    assert after[1:] == keys[1:]
    assert after[0] != keys[0]
    # the order of raters, a rater without a mark there, and thresholds do not matter
    cases = three_readers()
    turned = {"p1": dict(reversed(cases["p1"].items())), "p2": cases["p2"]}
    turned["p1"]["dora"] = np.zeros((64, 80), np.uint8)
    found = disputes_of(mt.Study.from_arrays(turned), DisputeRule(min_dice=0.3))["p1"]
    assert {d.key for d in found if d.drawn} == {d.key for d in before["p1"] if d.drawn}


def test_labels_in_one_place_are_one_dispute():
    size = (40, 50)
    here, near, there = (5, 15, 5, 20), (5, 15, 6, 20), (25, 32, 30, 44)
    masks = {
        "A": square(size, here, value=1) + square(size, there, value=2),
        "B": square(size, near, value=2) + square(size, there, value=2),
        "C": square(size, here, value=1) + square(size, there, value=2),
    }
    found = found_in(masks)
    (dispute,) = found.disputes
    assert (dispute.kind, dispute.label, dispute.labels) == ("label", None, (1, 2))
    assert (dispute.found_by, dispute.missed_by) == (("A", "B", "C"), ())
    assert dispute.worst_dice == 0
    majority = choose(dispute, "majority")
    assert np.array_equal(majority, np.ones((10, 15)))
    assert set(np.unique(choose(dispute, "rater:B"))) == {0, 2}
    agreed = [d for d in found.settled if d.kind == "unanimous"]
    assert [(d.label, d.labels) for d in agreed] == [(2, (2,))]
    # a disc and a cup within it are two structures that everybody drew
    cup = {r: square(size, (5, 25, 5, 25), value=1) + square(size, (10, 20, 10, 20), value=1) for r in "AB"}
    assert not found_in(cup).disputes


def test_who_did_not_rate_is_no_reason_for_a_dispute():
    size = (40, 40)
    masks = {
        "A": square(size, (5, 15, 5, 15)),
        "B": square(size, (5, 15, 5, 15)),
        "C": square(size, (0, 40, 0, 20), value=9),
    }
    study = mt.Study.from_arrays({"p": masks, "q": {"A": masks["A"], "B": masks["B"]}}, void=9)
    found = disputes_of(study)
    assert not found["p"].disputes
    assert not found["q"].disputes
    (lesion,) = (d for d in found["p"].settled if d.drawn)
    assert (lesion.found_by, lesion.missed_by, lesion.not_rated_by) == (("A", "B"), (), ("C",))
    (lesion,) = (d for d in found["q"].settled if d.drawn)
    assert lesion.not_rated_by == ("C",)


def test_second_sessions_have_no_say():
    size = (30, 30)
    a, b = square(size, (5, 15, 5, 15)), square(size, (5, 15, 5, 15))
    masks = {("A", "1"): a, ("A", "2"): square(size, (20, 25, 20, 25)), ("B", ""): b}
    found = found_in(masks)
    assert not found.disputes
    (lesion,) = (d for d in found if d.drawn)
    assert len(lesion.found_by) == 2


def test_choices():
    found = disputes_of(mt.Study.from_arrays(three_readers()))["p1"]
    border, seen, alone = found.disputes
    drawn = [runs[...] for runs in border.drawn.values()]
    assert np.array_equal(choose(border, "union"), np.maximum.reduce(drawn))
    assert np.array_equal(choose(border, "intersection"), np.minimum.reduce(drawn))
    assert np.array_equal(choose(border, "majority"), np.sum(drawn, axis=0) >= 2)
    assert not choose(border, "none").any()
    assert not choose(alone, "rater:anna").any()
    assert choose(seen, "majority").all()
    assert not choose(alone, "majority").any()
    for wrong in ("rater:nobody", "best", "drawn"):
        with pytest.raises(CallError):
            choose(border, wrong)
    assert np.array_equal(count_votes(border)[...], np.sum(drawn, axis=0))
    assert not len(count_votes(next(each for each in found.settled if each.kind == "unmarked")))


@pytest.mark.parametrize("seed", range(4))
def test_choices_are_runs_in_the_one_form_that_logs_compare(seed):
    """As they are read from an array: two ways to the same pixels give the same entry."""
    for dispute in found_in(blobs(seed, labels=1 + seed % 2)):
        for choice in ("union", "intersection", "majority", "none", *(f"rater:{name}" for name in dispute.raters)):
            try:
                runs = choose_runs(dispute, choice)
            except TiedMajority:
                continue
            array = read_runs(choose(dispute, choice))
            assert runs.shape == array.shape
            for name in ("starts", "stops", "values"):
                assert np.array_equal(getattr(runs, name), getattr(array, name)), (choice, name)


def test_ties_are_said():
    size = (30, 30)
    one, other = square(size, (5, 15, 5, 15)), square(size, (5, 15, 5, 25))
    (two,) = found_in({"A": one, "B": other}, DisputeRule(min_dice=0.9)).disputes
    with pytest.raises(TiedMajority, match="all disputed pixels are ties"):
        choose(two, "majority")
    nothing = np.zeros(size, np.uint8)
    (half,) = found_in({"A": one, "B": one, "C": nothing, "D": nothing}).disputes
    with pytest.raises(TiedMajority, match="2 of 4 raters found it"):
        choose(half, "majority")
    labels = {"A": one, "B": one, "C": one * 2, "D": one * 2}
    (dispute,) = found_in(labels).disputes
    with pytest.raises(TiedMajority, match="two labels"):
        choose(dispute, "majority")
    # a pixel that half of four marked is marked, as by vote:0.5
    four = {"A": one, "B": other, "C": other, "D": square(size, (5, 15, 5, 14))}
    (dispute,) = found_in(four, DisputeRule(min_dice=0.9)).disputes
    vote = mt.consensus(study_of(four), "vote:0.5")["p"].values
    where = tuple(slice(*part) for part in dispute.box)
    assert np.array_equal(choose(dispute, "majority"), vote[where])


def test_tiles():
    rng = np.random.default_rng(0)
    masks = {rater: (rng.random((100, 90)) < 0.02).astype(np.uint8) for rater in "AB"}
    masks["A"][:32, :32] = masks["B"][:32, :32] = square((32, 32), (4, 20, 4, 20))
    masks["B"][64:96, 64:90] = 0
    found = found_in(masks, DisputeRule(unit="tile", tile=32))
    for dispute in (*found.disputes, *(d for d in found.settled if d.drawn)):
        where = tuple(slice(*part) for part in dispute.box)
        for rater in "AB":
            runs = dispute.drawn.get(rater)
            assert np.array_equal(runs[...] if runs is not None else np.zeros(dispute.shape), masks[rater][where])
    boxes = {d.box: d for d in found}
    assert boxes[(0, 32), (0, 32)].kind == "unanimous"
    empty = boxes[(64, 96), (64, 90)]
    assert (empty.kind, empty.missed_by, empty.worst_dice) == ("tile", ("B",), 0.0)
    marked = {(y // 32, x // 32) for mask in masks.values() for y, x in zip(*np.nonzero(mask), strict=True)}
    assert len([d for d in found if d.drawn]) == len(marked)


def test_a_study_without_background_takes_tiles():
    masks = {"A": np.full((20, 20), 1, np.uint8), "B": np.full((20, 20), 2, np.uint8)}
    study = study_of(masks, background="none", labels=(1, 2))
    with pytest.raises(InputError, match="take --unit tile"):
        disputes_of(study)
    (tile,) = disputes_of(study, DisputeRule(unit="tile"))["p"].disputes
    assert tile.worst_dice == 0


def test_unmarked_regions_hold_nothing_and_lie_near_lesions():
    for seed in range(4):
        masks = blobs(seed, shape=(70, 80))
        union = np.logical_or.reduce([mask != 0 for mask in masks.values()])
        found = found_in(masks)
        empty = [d for d in found.settled if d.kind == "unmarked"]
        assert 0 < len(empty) <= 4
        for region in empty:
            assert not union[tuple(slice(*part) for part in region.box)].any()
            assert region.drawn == {}
            assert not choose(region, "union").any()
    nothing = found_in({r: np.zeros((40, 40), np.uint8) for r in "AB"})
    assert not nothing.disputes
    assert len(nothing.settled) > 0


def test_runs_give_what_arrays_give():
    rng = np.random.default_rng(4)
    masks = {f"R{r}": ndimage.binary_dilation(rng.random((12, 30, 28)) > 0.996, iterations=2) for r in range(4)}
    masks = {rater: mask.astype(np.uint8) for rater, mask in masks.items()}
    (case,) = study_of(masks, spacing=(2, 1, 1))
    dense = case.read()
    sparse = Reading(case, {column: read_runs(mask) for column, mask in dense.masks.items()}, dense.grid)
    one, other = find_disputes(dense), find_disputes(sparse)
    assert [d.key for d in one] == [d.key for d in other]
    for measure in ("worst_mm", "worst_dice", "doubt", "size"):
        values = [[getattr(d, measure) for d in found] for found in (one, other)]
        assert values[0] == pytest.approx(values[1], nan_ok=True)


def test_foreground_and_instances():
    numbered = np.zeros((40, 50), np.uint8)
    numbered[5:15, 5:15], numbered[5:15, 15:25] = 1, 2
    masks = {"A": numbered, "B": np.where(numbered == 2, 0, numbered).astype(np.uint8) * 7}
    (dispute,) = found_in(masks, instances=True).disputes
    assert (dispute.kind, dispute.found_by, dispute.labels) == ("missed", ("A",), (1,))
    (dispute,) = found_in({"A": masks["A"], "B": numbered * 0 + (numbered == 1) * 9}, foreground="any").disputes
    assert dispute.labels == (1,)


def test_rules_that_are_none():
    for wrong in (
        {"min_dice": 1.2},
        {"min_mm": -1.0},
        {"unit": "pixel"},
        {"tile": 2},
        {"below": "adjudicated"},
        {"below": "best"},
    ):
        with pytest.raises(CallError):
            DisputeRule(**wrong)
    assert replace(DisputeRule(), min_mm=2.0).disputes(0.9, 2.5)

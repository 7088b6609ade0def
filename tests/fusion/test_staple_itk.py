"""Versions of MultiLabelSTAPLE: counts in 32-bit floats, and what becomes of tied votes."""

from __future__ import annotations

import importlib

import numpy as np
import pytest
from numpy.typing import NDArray
from test_staple_labels import layers

import manytruths as mt
from manytruths import CallError, staple
from manytruths.core.tally import Tally
from manytruths.core.undefined import code_of
from manytruths.fusion.em import Decisions
from manytruths.fusion.staple_itk import LARGEST, SINGLE_RATES, Itk, _sum_in_single, parse_like

BALLS = {
    "000": 28546452, "001": 123198, "010": 312870, "011": 103743, "012": 1, "020": 2, "021": 18, "100": 759931,
    "101": 254066, "102": 6, "110": 604350, "111": 2017150, "112": 33914, "120": 160, "121": 86984, "122": 23982,
    "200": 18, "201": 162, "202": 1, "210": 612, "211": 214174, "212": 57970, "220": 10, "221": 136848, "222": 277810,
}  # fmt: skip
"""33,554,432 voxels of three raters; made, and given to SimpleITK, by ``python -m tests.simulations.itk_versions``."""
OF_SIMPLEITK = {"itk@2.5.6": [28546452, 4176298, 831682], "itk": [29742451, 3315371, 496610]}
"""Voxels by label in the output of SimpleITK 2.5.6 and of 2.5.7."""


def balls(part: int = 1) -> Tally:
    rows = np.array([[int(digit) for digit in name] for name in BALLS], np.uint8)
    labels = mt.tally([[0, 1, 2]]).labels
    columns = mt.tally([[0], [0], [0]]).columns
    return Tally(columns, labels, rows, np.array(list(BALLS.values())) // part)


def naive(masks: list[NDArray[np.uint8]], dtype: type, *, overflow: bool) -> tuple[NDArray[np.generic], int]:
    """MultiLabelSTAPLE pixel by pixel, in the order of pixels, and how often both steps were done."""
    flat = np.array([mask.ravel() for mask in masks])
    raters, labels = len(flat), int(flat.max()) + 1
    votes = np.stack([(flat == label).sum(axis=0) for label in range(labels)])
    tied = (votes == votes.max(axis=0)).sum(axis=0) > 1
    vote = np.where(tied, labels, votes.argmax(axis=0))
    rates = np.zeros((raters, labels + 1, labels), dtype)
    for rater in range(raters):
        cells = rates[rater].reshape(-1)
        keep = vote < labels if not overflow else np.ones(len(vote), bool)
        np.add.at(cells, (flat[rater].astype(int) * labels + vote)[keep], 1)
    rates /= np.where(rates.sum(axis=2, keepdims=True) > 0, rates.sum(axis=2, keepdims=True), 1)
    prior = np.bincount(flat.ravel(), minlength=labels).astype(dtype)
    prior /= prior.sum()
    steps = 0
    for _ in range(10_000):
        steps += 1
        weight = np.tile(prior, (flat.shape[1], 1))
        for rater in range(raters):
            weight *= rates[rater, flat[rater]]
        total = weight.sum(axis=1, keepdims=True)
        weight /= np.where(total > 0, total, 1)
        new = np.zeros_like(rates)
        for rater in range(raters):
            for label in range(labels):
                mass = weight[flat[rater] == label]
                new[rater, label] = np.add.accumulate(mass, axis=0, dtype=dtype)[-1] if len(mass) else 0
        new /= np.where(new.sum(axis=1, keepdims=True) > 0, new.sum(axis=1, keepdims=True), 1)
        moved, rates = np.abs(new - rates).max(), new
        if moved < 1e-5:
            break
    return rates[:, :labels].swapaxes(1, 2), steps


@pytest.mark.parametrize("like", OF_SIMPLEITK)
def test_what_simpleitk_marked_of_33_million_voxels(like: str) -> None:
    table = balls()
    assert table.items == 512 * 256 * 256
    found = staple(table, like=like)
    assert np.bincount(np.asarray(found.hard), table.counts).astype(int).tolist() == OF_SIMPLEITK[like]


def test_prior_stays_at_the_largest_count() -> None:
    table = balls()
    marked = table.counts @ table.votes[:, 1:]
    counts = np.array([LARGEST, *marked])
    assert staple(table, like="itk@2.5.6").prior == pytest.approx(counts / counts.sum(), rel=1e-6)
    assert staple(table, like="itk").prior == pytest.approx(table.counts @ table.votes / (3 * table.items), rel=1e-12)


def test_small_tables_are_alike_in_both_precisions() -> None:
    """So that what differs on large ones is the counts."""
    table = balls(1000)
    single, double = staple(table, like="itk@2.5.6"), staple(table, like="itk")
    assert single.confusion == pytest.approx(double.confusion, abs=2e-4)
    assert (single.hard == double.hard).all()
    assert not any(code_of(note) == SINGLE_RATES for note in (*single.notes, *double.notes))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("overflow", [True, False])
def test_same_as_pixel_by_pixel(seed: int, overflow: bool) -> None:
    masks = layers(seed, 4, 3, side=60)
    rates, steps = naive(masks, np.float64, overflow=overflow)
    found = staple(mt.tally(masks), like="itk" if overflow else "itk@main")
    assert found.confusion == pytest.approx(rates, abs=1e-9)
    assert found.iterations == steps


def test_ties_matter() -> None:
    """Or the test before would not tell the two apart: some masks lead to other rates."""
    masks = np.random.default_rng(0).integers(0, 3, (2, 400)).astype(np.uint8)
    overflown, left_out = (staple(mt.tally(masks), like=like) for like in ("itk", "itk@main"))
    assert np.abs(overflown.confusion - left_out.confusion).max() > 0.01
    sitk = importlib.import_module("SimpleITK")
    peer = sitk.MultiLabelSTAPLEImageFilter()
    peer.Execute([sitk.GetImageFromArray(mask.reshape(20, 20)) for mask in masks])
    rates = np.array([np.reshape(peer.GetConfusionMatrix(j), (4, 3))[:3].T for j in range(2)])
    assert overflown.confusion == pytest.approx(rates, abs=1e-9)


@pytest.mark.parametrize("seed", range(2))
def test_single_precision_pixel_by_pixel(seed: int) -> None:
    masks = layers(seed, 4, 3, side=60)
    rates, _ = naive(masks, np.float32, overflow=True)
    assert staple(mt.tally(masks), like="itk@2.5.6").confusion == pytest.approx(rates, abs=1e-3)


@pytest.mark.slow
def test_sums_in_single_precision() -> None:
    """Beside numbers added one after the other: a sum loses what is small beside it, and stays at 2²⁴."""
    rng = np.random.default_rng(0)
    table = mt.tally([rng.integers(0, 3, 4000), rng.integers(0, 3, 4000)]).recount(np.full(9, 3_000_000))
    decisions = Decisions.of(table)
    weight = rng.dirichlet([0.3, 0.3, 0.3], len(table.counts)).astype(np.float32)
    weight[0] = 1, 3e-7, 0
    items = decisions.table.sums(decisions.counts[:, None])
    found = _sum_in_single(decisions, weight, items)
    order = rng.permutation(np.repeat(np.arange(9), 3_000_000))
    for rater, label in ((0, 0), (0, 1), (1, 0)):
        chosen = order[np.isin(order, np.flatnonzero(table.patterns[:, rater] == label))]
        added = np.add.accumulate(weight[chosen], axis=0, dtype=np.float32)[-1]
        assert found[rater, :, label] == pytest.approx(added, rel=2e-3)
    lone = mt.tally([[0, 1, 2]]).recount([40_000_000, 1, 1])
    one = _sum_in_single(Decisions.of(lone), np.eye(3, dtype=np.float32), np.array([[[4e7, 1, 1]]]))
    assert one[0].tolist() == [[LARGEST, 0, 0], [0, 1, 0], [0, 0, 1]]


def test_notes_say_whom_it_concerns() -> None:
    for like, ending in (("itk@2.5.6", "copied here"), ("itk", "may be another one")):
        notes = [note for note in staple(balls(), like=like).notes if code_of(note) == SINGLE_RATES]
        assert len(notes) == 1
        assert ending in notes[0]
        assert "more than 16,777,216 votes" in notes[0]
    assert not any(code_of(note) == SINGLE_RATES for note in staple(balls()).notes)
    two = mt.tally([[0, 1], [0, 1]]).recount([40_000_000, 5])
    assert not any(code_of(note) == SINGLE_RATES for note in staple(two, like="itk@2.5.6").notes)


def test_versions() -> None:
    assert parse_like("itk") == parse_like("itk@2.5.7") == Itk()
    assert parse_like("itk@1.2.4") == parse_like("itk@2.1.1.2") == Itk(single=True)
    assert parse_like(None) is None
    for wrong in ("itk@", "itk@3.0.0", "itk@2.5.8", "plastimatch", "itk@new", 5):
        with pytest.raises(CallError, match="like is 'itk'"):
            parse_like(wrong)
    with pytest.raises(CallError, match=r"staple:itk@9.0: after the colon stands 'itk'"):
        mt.consensus(mt.tally([[0, 1], [0, 1]]), "staple:itk@9.0")


def test_by_name_as_commands_take_it() -> None:
    masks = layers(0, 4, 3, side=60)
    table = mt.tally(masks)
    named, called = mt.consensus(table, "staple:itk@2.5.6"), staple(table, like="itk@2.5.6")
    assert (named.hard == called.hard).all()
    assert (named.probability == called.probability).all()
    two = mt.tally([np.minimum(mask, 1) for mask in masks])
    assert (mt.consensus(two, "staple:itk@2.5.6").probability == staple(two, like="itk").probability).all()

"""Lampert's detectors of fissures under every ground truth: Tables 7 and 8, to every digit that was printed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from data_folder import data
from manytruths import (
    ReferenceRankings,
    ReferenceStandards,
    ResponseCounts,
    correlation_in_image,
    correlation_in_object,
    rank_by_reference,
    reference_standards,
)
from manytruths.evaluation.responses import IndexedMasks, count_indexed_responses, index_masks

pytestmark = pytest.mark.slow

DETECTORS = ("2D-GWLC", "Gauss", "C-S", "Top-Hat")
RATERS = tuple(f"A{i}" for i in range(1, 14))
ORDERS = {
    1: ("2D-GWLC", "Gauss", "C-S", "Top-Hat"),
    2: ("2D-GWLC", "C-S", "Gauss", "Top-Hat"),
    3: ("C-S", "2D-GWLC", "Gauss", "Top-Hat"),
}


def picture(*parts: str) -> np.ndarray:
    return np.asarray(Image.open(data("fissure", *parts)))


@pytest.fixture(scope="module")
def published() -> Any:
    return json.loads(data("fissure", "published.json").read_text())


@pytest.fixture(scope="module")
def found() -> IndexedMasks:
    masks = {name: picture("raters", name, "fissure.png") > 0 for name in RATERS}
    maps = {f"authors' {n}": picture("published", f"gt_{n}.png") > 0 for n in ("staple", "lsml")}
    return index_masks(masks, references={**maps, "lsml": mt.lsml(masks).hard})


@pytest.fixture(scope="module")
def every(found: IndexedMasks) -> ReferenceStandards:
    table = found.tally
    votes = {"any": mt.vote(table, 1 / 13), "0.5": mt.vote(table, 0.5), "0.75": mt.vote(table, 0.75)}
    estimated = {"staple": mt.staple(table), "staple, marked": mt.staple(table, "marked"), "simple": mt.simple(table)}
    return reference_standards(table, {**votes, **estimated, "excl": mt.vote_without_outliers(table, 0.5)})


def counts(found: IndexedMasks, every: ReferenceStandards, detector: str, whole: bool) -> ResponseCounts:
    """How a detector responds; the part it was trained on left out, or not."""
    trained = detector == "2D-GWLC" and not whole
    part = picture("training", detector, "fissure.png") > 0 if trained else None
    response = picture("predictions", detector, "fissure.png")
    return count_indexed_responses(response, found.index, found.tally, exclude=part).against(every)


@pytest.fixture(scope="module")
def rankings(found: IndexedMasks, every: ReferenceStandards, published: Any) -> ReferenceRankings:
    low, high = published["table8_skew_range"]
    areas = [counts(found, every, name, whole=False).pbar_areas(low, high) for name in DETECTORS]
    return rank_by_reference(areas, DETECTORS, every.names)


@pytest.mark.parametrize("detector", DETECTORS)
def test_table_7(detector: str, found: IndexedMasks, every: ReferenceStandards, published: Any) -> None:
    """Over all pixels, those that a detector was trained on among them."""
    responding = counts(found, every, detector, whole=True)
    within, all_over = correlation_in_object(responding), correlation_in_image(responding)
    assert [round(within.r, 4), round(all_over.r, 4)] == published["table7"][detector]
    assert max(within.p, all_over.p) < 5e-5
    assert all_over.n == 907 * 1426


def test_the_orders_are_the_published_ones(published: Any) -> None:
    assert {i: tuple(published["table8"][f"ranking{i}"]["order"]) for i in ORDERS} == ORDERS


@pytest.mark.parametrize("truth", [*RATERS, "any", "0.5", "0.75"])
def test_table_8_by_raters_and_votes(truth: str, rankings: ReferenceRankings, published: Any) -> None:
    wanted = next(r["order"] for r in published["table8"].values() if truth in r["ground_truths"])
    assert rankings.of(truth).order == tuple(wanted)
    assert not rankings.of(truth).ties


@pytest.mark.parametrize("truth", ["staple", "lsml"])
def test_table_8_by_the_authors_own_maps(truth: str, rankings: ReferenceRankings, published: Any) -> None:
    assert truth in published["table8"]["ranking1"]["ground_truths"]
    assert rankings.of(f"authors' {truth}").order == ORDERS[1]


@pytest.mark.parametrize(
    ("truth", "number"),
    [
        # the authors' STAPLE is that of a prior from what anybody marked, and not of the mean prevalence
        ("staple, marked", 1),
        ("staple", 2),
        ("lsml", 1),
        ("simple", 2),
        # printed under ranking 1; yet it is called all but the same as SIMPLE, which is printed under 2
        ("excl", 2),
    ],
)
def test_rankings_by_our_own_estimates(truth: str, number: int, rankings: ReferenceRankings) -> None:
    assert rankings.of(truth).order == ORDERS[number]


def test_three_rankings_and_no_more(rankings: ReferenceRankings) -> None:
    assert {r.order for r in rankings.rankings} == set(ORDERS.values())
    assert rankings.rankings[0].order == ORDERS[2]
    assert rankings.rankings[-1].references == ("0.75",)
    assert rankings.undefined == ()


def test_what_anybody_marked_is_no_lower_bound(rankings: ReferenceRankings) -> None:
    """Two raters score 2D-GWLC lower; the other detectors are within the bounds."""
    gwlc, *others = rankings.bounds("any", "0.75")
    assert (gwlc.algorithm, gwlc.below, gwlc.smallest_under) == ("2D-GWLC", ("A1", "A4"), "A1")
    assert [b.below for b in others] == [()] * 3
    assert [b.above for b in (gwlc, *others)] == [()] * 4


def test_only_top_hat_is_behind_under_every_truth(rankings: ReferenceRankings) -> None:
    for name in DETECTORS[:3]:
        pair = rankings.separate(name, "Top-Hat")
        assert pair.under_each
        # but some truth flatters Top-Hat more than some other does the best of them
        assert not pair.whatever
    near = rankings.separate("C-S", "2D-GWLC")
    assert near.ahead == ("0.75",)
    assert len(near.behind) == near.of - 1


def test_curves_rise_with_agreement(found: IndexedMasks) -> None:
    """Fig. 12: the more raters agree upon a fissure, the better it is detected."""
    levels = reference_standards(found.tally, raters=False, references=False, levels=True)
    for name in DETECTORS:
        areas = counts(found, levels, name, whole=False).pbar_areas(0.1, 0.5)
        assert (np.diff(areas[:11]) > 0).all()

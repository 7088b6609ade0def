"""In how many pixels the consensus would change if two more raters read."""

from __future__ import annotations

import math

import numpy as np
import pytest

import manytruths as mt
from manytruths.inference.mixing import mixing_grid
from manytruths.ratings.planning.pilot import change_by_more_raters
from manytruths.ratings.planning.targets import change_target


@pytest.mark.parametrize("raters", [3, 4, 5])
@pytest.mark.parametrize("more", [1, 2, 3])
def test_the_target_is_the_chance_of_another_vote(raters, more):
    rng = np.random.default_rng(raters)
    place = int(np.abs(mixing_grid() - 0.4).argmin())
    marks = rng.random((200_000, raters + more)) < mixing_grid()[place]
    before, after = 2 * marks[:, :raters].sum(axis=1) >= raters, 2 * marks.sum(axis=1) >= raters + more
    seen = marks[:, :raters].any(axis=1)
    assert change_target(raters, more, given_marked=False)[place] == pytest.approx((before != after).mean(), abs=4e-3)
    found = ((before != after) & seen).mean()
    assert change_target(raters, more, given_marked=True)[place] == pytest.approx(found, abs=4e-3)


def discs(cases, raters, spread, seed=0):
    """Discs whose border differs by rater and case."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:60, :60] - 30

    def border():
        waves, angle = rng.standard_normal((5, 2)), np.arctan2(y, x)
        wave = sum(a * np.cos(k * angle) + b * np.sin(k * angle) for k, (a, b) in enumerate(waves))
        return (np.hypot(x, y) < 18 + spread * wave / np.sqrt(5)).astype(np.uint8)

    return {f"p{k}": {r: border() for r in raters} for k in range(cases)}


def test_what_is_said():
    result = mt.next_reads(mt.Study.from_arrays(discs(12, "ABCD", 1)), budget=5)
    (claim,) = result.claims.of("plan.change")
    assert claim.made
    (found,) = result.changes
    assert (found.n_raters, found.more, found.n_cases) == (4, 2, 12)
    marked = sum(np.any([*masks.values()], axis=0).sum() for masks in discs(12, "ABCD", 1).values())
    assert found.n_items == marked
    assert claim.text.startswith(
        "If two more raters read the twelve cases that four raters have read, the consensus by"
    )
    share = result.tables["changes"].find("changed_share", raters=4, more=2, items=found.n_items)
    assert 0 < share.low < share.high < 1
    most = math.floor(share.high * found.n_items) + 1
    assert f"in fewer than {most:,} of {found.n_items:,}." in claim.text
    assert claim.text.endswith(
        "The range is made to hold in 95% of studies whose raters are a random sample of all such raters."
    )


def test_the_range_is_said_to_allow_for_what_it_allows_for():
    """Slots are no people, and one case is no sample of cases."""
    many, one = ({**discs(cases, "ABCD", 1)} for cases in (8, 1))
    for masks, raters, words, allowance in (
        (one, None, "is made to hold in 95% of studies whose raters are a random sample", ("raters",)),
        (many, "exchangeable", "allows, at 95%, for other cases alone, and takes the raters of a case", ("subjects",)),
        (one, "exchangeable", "is of these masks alone, and takes the raters of a case", ()),
    ):
        result = mt.next_reads(mt.Study.from_arrays(masks, raters=raters), budget=1)
        (claim,) = result.claims.of("plan.change")
        assert result.changes[0].allowance == allowance
        assert claim.made
        assert f"The range {words}" in claim.text


def test_raters_who_agree_change_less():
    close, apart = (
        change_by_more_raters(mt.Study.from_arrays(discs(10, "ABC", spread)).tally())[0].share for spread in (0.3, 3)
    )
    assert close.high < apart.high
    assert close.low < apart.low


def test_only_cases_with_the_same_number_of_readings_count():
    masks = discs(9, "ABC", 1)
    masks |= {f"q{k}": {r: m for r, m in of.items() if r != "C"} for k, of in enumerate(discs(20, "ABC", 1).values())}
    (found,) = mt.next_reads(mt.Study.from_arrays(masks), budget=1).changes
    assert (found.n_raters, found.n_cases) == (3, 9)


def test_nothing_is_said_of_two_raters_or_of_nothing():
    for masks in (discs(9, "AB", 1), {"p1": {r: np.zeros((5, 5), np.uint8) for r in "ABC"}}):
        result = mt.next_reads(mt.Study.from_arrays(masks), budget=1)
        (claim,) = result.claims
        assert not claim.made
        assert claim.why_not.code == "too_few_readings"


def test_nothing_is_said_of_doubtful_masks():
    masks = discs(8, "ABCD", 1)
    for of in masks.values():
        of["D"] = of["A"]
    result = mt.next_reads(mt.Study.from_arrays(masks), budget=1)
    (claim,) = result.claims
    assert not claim.made
    assert "some masks look like copies" in str(claim.why_not)


def test_of_several_labels_the_one_that_may_change_most():
    inner, outer = discs(8, "ABC", 0.2), discs(8, "ABC", 2, seed=1)
    masks = {
        case: {r: np.where(inner[case][r] > 0, 1, 2 * outer[case][r]).astype(np.uint8) for r in "ABC"} for case in inner
    }
    result = mt.next_reads(mt.Study.from_arrays(masks, labels={1: "core", 2: "rim"}), budget=1)
    assert [found.label for found in result.changes] == ["core", "rim"]
    core, rim = result.changes
    assert core.share.high < rim.share.high
    assert "For rim, whose range ends highest: if two more raters" in result.claims.made[0].text

"""Votes, against what each pixel would say."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import manytruths as mt
from manytruths import CallError, plurality, vote
from manytruths.fusion import others_share

VOID = 9
stacks = arrays(np.uint8, (4, 3, 5), elements=st.sampled_from([0, 1, VOID]))
labelled = arrays(np.uint8, (4, 3, 5), elements=st.sampled_from([0, 1, 2, 5, VOID]))
shares = st.sampled_from([(1, 4), (1, 3), (1, 2), (2, 3), (3, 4), (1, 1)])


@given(stacks, shares)
def test_vote_is_that_of_every_pixel(masks: np.ndarray, share: tuple[int, int]) -> None:
    table = mt.tally(masks, void=VOID, labels=[0, 1])
    found = mt.paint(vote(table, share[0] / share[1]).hard, masks, table, void=VOID)
    for y, x in np.ndindex(3, 5):
        a, m = int((masks[:, y, x] == 1).sum()), int((masks[:, y, x] != VOID).sum())
        assert found[y, x] == (m > 0 and Fraction(a, m) >= Fraction(*share))


@given(stacks)
def test_any_and_all(masks: np.ndarray) -> None:
    table = mt.tally(masks, void=VOID, labels=[0, 1])
    marked, left = (masks == 1).any(axis=0), (masks == 0).any(axis=0)
    assert (mt.paint(vote(table, "any").hard, masks, table, void=VOID) == marked).all()
    assert (mt.paint(vote(table, "all").hard, masks, table, void=VOID) == (marked & ~left)).all()
    assert (vote(table, "all").hard == vote(table, 1).hard).all()


def test_ties_are_marked_and_unrated_items_are_background() -> None:
    table = mt.tally({"A": [1, VOID], "B": [0, VOID]}, void=VOID)
    found = vote(table)
    assert found.hard.tolist() == [True, False]
    assert found.share[0] == found.probability[0] == 0.5
    assert np.isnan(found.share[1])


def test_weight_2_is_a_second_rater() -> None:
    rng = np.random.default_rng(0)
    a, b, c = (rng.random((3, 40)) < 0.4).astype(np.uint8)
    twice = mt.tally({"A": a, "A'": a, "B": b, "C": c})
    once = mt.tally({"A": a, "B": b, "C": c})
    weighted = vote(once, 0.5, {"C": 1, "A": 2, "B": 1})
    painted = mt.paint(weighted.hard, {"A": a, "B": b, "C": c}, once)
    assert (painted == mt.paint(vote(twice).hard, {"A": a, "A'": a, "B": b, "C": c}, twice)).all()
    assert (painted != mt.paint(vote(once).hard, {"A": a, "B": b, "C": c}, once)).any()


def test_weight_0_has_no_say() -> None:
    table = mt.tally({"A": [0, 0, 1], "B": [0, 1, 0], "C": [1, 1, 0]})
    for threshold in ("any", "all", 0.5):
        found = vote(table, threshold, {"A": 0, "B": 1, "C": 1})
        fewer = table.without("A")
        wanted = dict(zip(map(bytes, fewer.patterns), vote(fewer, threshold).hard, strict=True))
        assert [wanted[bytes(row[1:])] for row in table.patterns] == found.hard.tolist()


@pytest.mark.parametrize("threshold", [0, -1, 1.01, "most", float("nan")])
def test_thresholds_that_mean_nothing(threshold: float | str) -> None:
    with pytest.raises(CallError, match="threshold must be"):
        vote(mt.tally([[0, 1]]), threshold)


@pytest.mark.parametrize("weights", [{"A": 1}, {"A": 1, "B": -1}, {"A": 0, "B": 0}, {"A": 1, "B": float("nan")}])
def test_weights_that_mean_nothing(weights: dict[str, float]) -> None:
    with pytest.raises(CallError, match="weights"):
        vote(mt.tally({"A": [0, 1], "B": [1, 1]}), 0.5, weights)


def test_slots_vote_but_have_no_weights() -> None:
    table = mt.tally([[1, 0], [1, 1]], raters="exchangeable")
    assert vote(table).hard.tolist() == [True, True]
    with pytest.raises(CallError, match="exchangeable"):
        vote(table, 0.5, {"1": 1, "2": 2})


@given(stacks)
def test_share_of_the_others_is_the_vote_without_the_rater(masks: np.ndarray) -> None:
    table = mt.tally(masks, void=VOID, labels=[0, 1])
    found = others_share(table)
    for j in range(4):
        rest = np.delete(masks, j, axis=0)
        rated = (rest != VOID).sum(axis=0)
        wanted = np.where(rated > 0, (rest == 1).sum(axis=0) / np.maximum(rated, 1), np.nan)
        assert np.array_equal(mt.paint(found[:, j], masks, table, void=VOID), wanted, equal_nan=True)


@given(labelled)
def test_plurality_is_that_of_every_pixel(masks: np.ndarray) -> None:
    table = mt.tally(masks, void=VOID, labels=[0, 1, 2, 5])
    found = plurality(table)
    label, tied = (mt.paint(v, masks, table, void=VOID) for v in (found.label, found.tied))
    for y, x in np.ndindex(3, 5):
        given_ = [int(v) for v in masks[:, y, x] if v != VOID]
        most = [v for v in sorted(set(given_)) if given_.count(v) == max(map(given_.count, given_))]
        assert label[y, x] == (most[0] if most else 0)
        assert tied[y, x] == (len(most) > 1)


def test_plurality_of_ratings_nobody_gave() -> None:
    found = plurality(mt.tally({"A": [1, 2, VOID], "B": [1, 2, VOID]}, void=VOID, labels=[1, 2]))
    assert found.label.tolist() == [1, 2, -1]
    assert found.share[:2].tolist() == [1, 1]

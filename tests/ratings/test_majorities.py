"""Majorities: slim, overwhelming, tied and wrong ones, by hand and against SciPy."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manytruths import CallError, Ratings, majorities, reason
from manytruths.ratings.accuracy import binomial_tail


def votes(*counts: int, raters: int = 13) -> list[str | None]:
    """A case with so many votes for a, b, c; the others did not rate."""
    given = [label for label, n in zip("abc", counts, strict=False) for _ in range(n)]
    return given + [None] * (raters - len(given))


def test_ten_of_thirteen_is_overwhelming_and_nine_is_not():
    found = majorities(Ratings.of([votes(10, 3), votes(9, 4), votes(7, 6), votes(3, 10)]))
    assert found.p[:2] == pytest.approx([0.046142578125, 0.1334228515625])
    assert found.overwhelming.tolist() == [True, False, False, True]
    assert found.slim.tolist() == [False, False, True, False]
    assert [found.labels[w] for w in found.winner] == ["a", "a", "a", "b"]
    assert (found.overwhelming_share, found.slim_share, found.tied_share) == (0.5, 0.25, 0)
    assert reason(found.wrong_share) == "the reference of no case that two raters rated is known"


def test_even_numbers_tie_and_are_never_slim_with_two_labels():
    found = majorities(Ratings.of([votes(2, 2), votes(3, 1), votes(1, 1), votes(4), votes(5, 3)]))
    assert found.winner.tolist() == [-1, 0, -1, 0, 0]
    assert found.tied.tolist() == [True, False, True, False, False]
    assert not found.slim.any()
    assert np.isnan(found.p[[0, 2]]).all()
    assert found.lead.tolist() == [0, 2, 0, 4, 2]


def test_more_labels():
    ratings = Ratings.of([votes(2, 1, 1), votes(2, 2, 1), votes(6, 2, 2), votes(3, 2)])
    found = majorities(ratings)
    assert found.winner.tolist() == [0, -1, 0, 0]
    assert found.slim.tolist() == [True, False, False, True]
    # 6 of 10: no more than half by chance, but more than a third would be
    assert found.p[2] == pytest.approx(0.376953125)
    third = majorities(ratings, against="labels")
    assert third.p[2] == pytest.approx(0.07656, abs=1e-5)
    assert third.winner.tolist() == found.winner.tolist()


def test_cases_of_one_rater_do_not_count():
    found = majorities(Ratings.of([votes(1), votes(0), votes(2, 1)], reference=["b", "a", "b"]))
    assert found.counted.tolist() == [False, False, True]
    assert (found.n, found.n_judged, found.count("wrong")) == (1, 1, 1)
    assert np.isnan(found.p[:2]).all()
    assert found.wrong.tolist() == [False, False, True]
    nobody = majorities(Ratings.of([votes(1), votes(1)]))
    assert reason(nobody.slim_share) == "no case was rated by two raters"


def test_wrong_ones_are_of_the_cases_that_can_be_judged():
    rows = [votes(10, 3), votes(12, 1), votes(7, 6), votes(2, 2), votes(13)]
    found = majorities(Ratings.of(rows, reference=["b", "a", "b", "a", None]))
    assert found.wrong.tolist() == [True, False, True, False, False]
    assert found.wrong_overwhelming.tolist() == [True, False, False, False, False]
    assert (found.n, found.n_judged) == (5, 4)
    assert (found.wrong_share, found.wrong_overwhelming_share) == (0.5, 0.25)
    assert repr(found) == "<majorities of 5 items: 1 slim, 3 overwhelming, 1 tied, 2 wrong>"


@pytest.mark.parametrize(("raters", "share"), [(3, 0.75), (5, 0.625), (7, 0.546875), (2, 0), (4, 0)])
def test_slim_majorities_of_raters_who_toss_coins(raters, share):
    """The paper: 75, 63 and 55% for 3, 5 and 7 raters; here every outcome is listed."""
    found = majorities(Ratings.of(list(product([0, 1], repeat=raters))))
    assert found.slim_share == share


def test_weights_count_items():
    ratings = Ratings.of([votes(10, 3), votes(7, 6), votes(2, 2)], reference=["b", "a", "a"])
    found = majorities(replace(ratings, weights=np.array([3, 1, 4])))
    assert (found.n, found.overwhelming_share, found.slim_share, found.tied_share) == (8, 3 / 8, 1 / 8, 0.5)
    assert found.wrong_share == 3 / 8


@pytest.mark.parametrize("chance", [0.5, 1 / 3, 0.2])
def test_the_tail_against_scipy(chance):
    from scipy.stats import binom

    for m in (1, 2, 5, 13, 60):
        for v in range(m + 1):
            assert binomial_tail(v, m, chance) == pytest.approx(binom.sf(v - 1, m, chance), rel=1e-12)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.lists(st.sampled_from(["a", "b", "c", None]), min_size=4, max_size=4), min_size=1, max_size=6))
def test_against_counting(rows):
    found = majorities(Ratings.of(rows, labels=["a", "b", "c"]))
    for x, row in enumerate(rows):
        counts = sorted((row.count(label) for label in "abc"), reverse=True)
        assert (found.votes[x], found.lead[x], found.rated[x]) == (counts[0], counts[0] - counts[1], sum(counts))
        won = [k for k, label in enumerate("abc") if row.count(label) == counts[0] and counts[0]]
        assert found.winner[x] == (won[0] if len(won) == 1 else -1)
        assert found.tied[x] == (len(won) > 1)
        assert found.slim[x] == (sum(counts) > 1 and counts[0] - counts[1] == 1)


@pytest.mark.parametrize(
    ("options", "told"),
    [({"alpha": 0.0}, "alpha must be between 0 and 1"), ({"against": "third"}, "against must be 'half' or 'labels'")],
)
def test_wrong_calls(options, told):
    with pytest.raises(CallError, match=told):
        majorities(Ratings.of([[0, 1]]), **options)

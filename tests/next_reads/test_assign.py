"""``mt.assign``: who reads which case when a study starts."""

from __future__ import annotations

import csv
from collections import Counter, defaultdict
from itertools import combinations, pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from manytruths.cli import status
from manytruths.ratings.planning.designs import BLOCK, SHARED, assign_readings

CASES = [f"p{k:02}" for k in range(60)]


def readers(made):
    by_case = defaultdict(set)
    for one in made:
        by_case[one.case].add(one.rater)
    return by_case


@given(st.integers(1, 40), st.integers(1, 7), st.data())
@settings(max_examples=80, deadline=None)
def test_designs_are_balanced(n_cases, n_raters, data):
    k, shared = data.draw(st.integers(1, n_raters)), data.draw(st.integers(0, n_cases))
    raters = [f"r{i}" for i in range(n_raters)]
    made = assign_readings(CASES[:n_cases], raters, per_case=k, shared=shared, seed=n_cases)
    by_case = readers(made)
    assert set(by_case) == set(CASES[:n_cases])
    assert Counter(map(len, by_case.values())) == Counter([n_raters] * shared + [k] * (n_cases - shared))
    loads = Counter(one.rater for one in made)
    assert max(loads.values()) - min((loads[rater] for rater in raters), default=0) <= 1
    for rater in raters:
        own = [one for one in made if one.rater == rater]
        assert [one.order for one in own] == list(range(1, len(own) + 1))
        assert len({one.case for one in own}) == len(own)


def test_every_two_raters_meet_about_equally_often():
    made = assign_readings(CASES, list("abcdefghij"), per_case=3)
    met = Counter(pair for who in readers(made).values() for pair in combinations(sorted(who), 2))
    # 180 meetings of 45 pairs
    assert {met[pair] for pair in combinations("abcdefghij", 2)} <= {3, 4, 5}


def test_shared_cases_are_spread_in_one_order():
    made = assign_readings(CASES, list("abcd"), per_case=2, shared=8)
    orders = {r: [one for one in made if one.rater == r and one.kind == SHARED] for r in "abcd"}
    assert len({tuple(one.case for one in of) for of in orders.values()}) == 1
    places = [one.order for one in orders["a"]]
    gaps = {b - a for a, b in pairwise(places)}
    assert max(gaps) - min(gaps) <= 1
    # 8 shared cases and 26 others
    assert places[0] <= 4
    assert places[-1] >= 30
    own = {r: [one.case for one in made if one.rater == r and one.kind == BLOCK] for r in "abcd"}
    assert own["a"] != sorted(own["a"])


def test_everybody_everything_in_orders_of_their_own():
    made = assign_readings(CASES, list("abc"))
    assert {one.kind for one in made} == {SHARED}
    assert len({tuple(one.case for one in made if one.rater == r) for r in "abc"}) == 3
    assert assign_readings(CASES, list("abc")) == made
    assert assign_readings(CASES, list("abc"), seed=1) != made


def test_the_result(tmp_path):
    result = mt.assign(CASES, ["anna", "ben", "clara"], per_case=2, shared=6, out=tmp_path)
    with (tmp_path / "assign" / "assignment.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["rater"], row["case"]) for row in rows] == [(one.rater, one.case) for one in result.readings]
    # 54 cases of two raters, and six of all
    assert [row[2] for row in result.tables["pairs"].records()] == [24, 24, 24]
    assert result.notes == ("every two raters have 24 cases in common",)
    assert repr(result) == "<Assignment: 126 readings: 60 cases, 3 raters; tables: assignment, pairs>"


def test_what_cannot_be_compared_is_said():
    notes = mt.assign(CASES[:4], list("abcdef"), per_case=2).notes
    assert any("some raters have no case in common" in note for note in notes)
    assert any("nothing can be said about agreement" in note for note in mt.assign(CASES, "ab", per_case=1).notes)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"per_case": 4}, "--per-case is a number of raters from 1 to 3; got 4"),
        ({"per_case": 0}, "--per-case"),
        ({"shared": 61}, "--shared is a number of cases from 0 to 60; got 61"),
        ({"shared": -1}, "--shared"),
        ({"ask": ["a", "a"]}, "rater 'a' is named twice"),
        ({"ask": []}, "name at least one rater"),
        ({"cases": []}, "name at least one case"),
        ({"cases": ["p\n1"]}, "a case is called"),
    ],
)
def test_wrong_calls(wrong, told):
    with pytest.raises(mt.CallError, match=told):
        mt.assign(**{"cases": CASES, "ask": ["a", "b", "c"], **wrong})


def test_the_command(tmp_path, capsys):
    (tmp_path / "images").mkdir()
    for k in range(5):
        (tmp_path / "images" / f"p{k}.png").touch()
    out = ["--out", str(tmp_path / "out")]
    assert status(["assign", str(tmp_path / "images/{case}.png"), "--ask", "anna,ben", *out]) == 0
    assert "10 readings: 5 cases, 2 raters" in capsys.readouterr().out
    (tmp_path / "cases.csv").write_text("case,subject\nb2,s1\nb10,s2\n", encoding="utf-8")
    assert status(["assign", str(tmp_path / "cases.csv"), "--ask", "anna,ben", *out]) == 0
    assert status(["assign", str(tmp_path / "none/{case}.png"), "--ask", "anna", *out]) == 1
    assert status(["assign", str(tmp_path / "cases.csv"), "--ask", "anna", "--per-case", "2", *out]) == 2

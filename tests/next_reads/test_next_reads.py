"""``mt.next_reads``: which reading to ask for next."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import manytruths as mt
from exchange_reads import read, square
from manytruths.cli import status
from manytruths.ratings.planning.asking import (
    CaseReadings,
    expected_distances,
    plan_readings,
    relative_distances,
    vote_distances,
)


def case(name, raters, distances=(), size=100.0, closed=()):
    """A case whose pairs, in order, have these distances."""
    table = np.zeros((len(raters), len(raters)))
    table[np.triu_indices(len(raters), 1)] = distances
    return CaseReadings(name, tuple(raters), table + table.T, size, frozenset(closed))


# -- the model ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("raters", [2, 3, 4, 5, 9])
def test_vote_distances_are_those_of_shifted_borders(raters):
    """Against borders drawn at random: logistic shifts give the density 1 / (p (1 − p)) along the line."""
    rng = np.random.default_rng(raters)
    shifts = rng.logistic(size=(40_000, raters))

    def apart(first, second):
        return np.abs(first - second).mean()

    def border(some):
        # a pixel is marked where at least half of the raters reach it
        return np.sort(some, axis=1)[:, some.shape[1] // 2]

    two = apart(shifts[:, 0], shifts[:, 1])
    found = [apart(border(shifts[:, :m]), border(shifts)) / two for m in range(1, raters + 1)]
    assert vote_distances(raters) == pytest.approx(found, abs=0.02)


def test_vote_distances_of_all_and_of_many():
    assert vote_distances(1) == (0.0,)
    assert vote_distances(2) == pytest.approx((0.5, 0))
    many = vote_distances(200)
    assert many[-1] == 0
    assert all(math.isfinite(value) and value >= -1e-12 for value in many)


def test_expected_distances_follow_size_and_the_case_itself():
    rng = np.random.default_rng(0)
    cases = [case(f"p{k}", "ab", [min(3 / math.sqrt(n), 0.9)], n) for k, n in enumerate(rng.integers(30, 5000, 40))]
    small, large = case("small", "a", size=50.0), case("large", "a", size=4000.0)
    odd = case("odd", "abcde", [0.8] * 10, 4000.0)
    found = dict(
        zip([c.name for c in (*cases, small, large, odd)], expected_distances([*cases, small, large, odd]), strict=True)
    )
    assert found["small"] == pytest.approx(3 / math.sqrt(50), rel=0.15)
    assert found["large"] == pytest.approx(3 / math.sqrt(4000), rel=0.3)
    # four more readings than one against the two that the line is worth
    assert found["odd"] == pytest.approx((2 * found["large"] + 4 * 0.8) / 6, rel=0.01)


def test_without_pairs_something_is_assumed():
    assert expected_distances([case("p1", "a"), CaseReadings("p2")]).tolist() == [0.3, 0.3]
    assert expected_distances([]).size == 0


def test_raters_who_are_farther_from_others():
    cases = [case(f"p{k}", "abc", [0.1, 0.4, 0.4]) for k in range(30)]
    found = relative_distances(cases, expected_distances(cases), ["a", "b", "c", "new"])
    assert found["new"] == 1
    assert found["a"] == found["b"] < 1 < found["c"]
    few = relative_distances(cases[:1], expected_distances(cases)[:1], ["a", "b", "c"])
    assert 1 < few["c"] < found["c"]


# -- the order ---------------------------------------------------------------------------------------


def asked(plan):
    return [(one.case, one.rater) for one in plan.readings]


def test_unread_cases_come_first_then_disputed_ones():
    cases = [case("calm", "ab", [0.05]), case("torn", "ab", [0.6]), CaseReadings("new")]
    plan = plan_readings(cases, ["a", "b", "c"], 3)
    assert [name for name, _ in asked(plan)] == ["new", "torn", "calm"]
    assert asked(plan)[1] == ("torn", "c")


def test_the_rater_who_agrees_with_others_is_asked():
    cases = [case(f"p{k}", "abc", [0.1, 0.4, 0.4], closed={"d"}) for k in range(10)]
    cases += [case("x", "a"), case("y", "d")]
    assert {rater for _, rater in asked(plan_readings(cases, list("abcd"), 1))} <= {"a", "b"}
    plan = plan_readings([*cases, CaseReadings("new")], list("bcd"), 3)
    assert "c" not in [rater for _, rater in asked(plan)[:2]]


def test_minutes_count():
    cases = [case("p1", "ab", [0.3]), case("p2", "ab", [0.3])]
    quick = plan_readings(cases, list("abcd"), 2, minutes={"a": 5, "b": 5, "c": 10, "d": 2})
    assert [rater for _, rater in asked(quick)] == ["d", "d"]
    assert [one.minutes for one in quick.readings] == [2, 2]


def test_whom_to_ask_and_how_often():
    cases = [CaseReadings(f"p{k}") for k in range(6)]
    plan = plan_readings(cases, list("abc"), 6, ask=["b", "c"], most=2)
    assert sorted(rater for _, rater in asked(plan)) == ["b", "b", "c", "c"]
    assert plan.open == 12


def test_closed_readings_are_not_asked_for():
    cases = [case("p1", "a", closed={"b"}), case("p2", "abc", [0.2, 0.2, 0.2])]
    plan = plan_readings(cases, list("abc"), 9)
    assert asked(plan) == [("p1", "c")]
    assert plan.open == 1


SETS = st.lists(st.sets(st.integers(0, 4)), min_size=1, max_size=6)


@given(SETS, st.integers(1, 40), st.integers(0, 3))
@settings(max_examples=60, deadline=None)
def test_plans_are_complete_and_repeatable(readers, budget, seed):
    rng = np.random.default_rng(seed)
    names = list("abcde")
    cases = [
        case(f"p{k}", [names[i] for i in sorted(who)], rng.random(len(who) * (len(who) - 1) // 2), 10.0 + k)
        for k, who in enumerate(readers)
    ]
    plan = plan_readings(cases, names, budget, seed=seed)
    every = asked(plan)
    assert len(every) == len(set(every)) == min(budget, plan.open) == min(budget, sum(5 - len(who) for who in readers))
    read_by = {c.name: set(c.raters) for c in cases}
    assert all(rater not in read_by[name] for name, rater in every)
    assert all(one.gain >= 0 for one in plan.readings)
    assert asked(plan_readings(cases, names, budget, seed=seed)) == every
    # a smaller budget has the beginning of the same plan
    assert asked(plan_readings(cases, names, max(1, budget // 2), seed=seed)) == every[: max(1, budget // 2)]


# -- studies -----------------------------------------------------------------------------------------


def running(tmp_path, **more):
    """A study in which anna and ben have read some cases, clara none, with durations."""
    reads = [
        read(f"p0{k}.png", rater, [square(2 + k * (rater == "ben"), 3, 7)], seconds=60.0 if rater == "anna" else 240.0)
        for k in range(5)
        for rater in ("anna", "ben")
        if (k, rater) != (4, "ben")
    ]
    reads += [read("p05.png", "clara", status="unread"), read("p00.png", "clara", status="unfinished")]
    mt.import_study(reads, to=tmp_path / "study", **more)
    return tmp_path / "study"


def test_a_study_with_a_reading_log(tmp_path):
    result = mt.next_reads(running(tmp_path), budget=100, out=tmp_path / "out")
    found = asked(result)
    # nobody has read p05; clara has begun p00
    assert found[0][0] == "p05"
    assert found[0][1] in ("anna", "clara")
    assert ("p00", "clara") not in found
    assert sorted(found) == sorted(
        [("p04", "ben"), *((f"p0{k}", "clara") for k in (1, 2, 3, 4)), *(("p05", r) for r in ("anna", "ben", "clara"))]
    )
    assert any("the budget is 100, and 8 readings are open: the plan has all of them" in note for note in result.notes)
    raters = {
        row[0]: dict(zip(result.tables["raters"].header, row, strict=True)) for row in result.tables["raters"].records()
    }
    assert (raters["anna"]["minutes"], raters["ben"]["minutes"]) == (1, 4)
    assert (raters["clara"]["minutes"], raters["clara"]["timed"]) == (1, 0)
    with (tmp_path / "out" / "next" / "next.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(row["case"], row["rater"]) for row in rows] == found
    assert float(rows[0]["gain_per_minute"]) == pytest.approx(
        float(rows[0]["expected_gain"]) / float(rows[0]["minutes"])
    )
    assert {path.name for path in (tmp_path / "out" / "next").iterdir()} >= {"cases.csv", "raters.csv", "summary.json"}


def test_what_cannot_be_evaluated_is_not_asked_for_again(tmp_path):
    folder = running(tmp_path)
    text = (folder / "reads.csv").read_text(encoding="utf-8")
    (folder / "reads.csv").write_text(text.replace("p04,ben,,unread", "p04,ben,,not_evaluable"), encoding="utf-8")
    assert ("p04", "ben") not in asked(mt.next_reads(folder, budget=100))


def test_without_durations_the_gain_decides(tmp_path):
    masks = {f"p{k}": {"A": np.eye(8, dtype=np.uint8), "B": np.eye(8, k=k, dtype=np.uint8)} for k in range(3)}
    masks["p3"] = {"C": np.eye(8, dtype=np.uint8)}
    result = mt.next_reads(mt.Study.from_arrays(masks), budget=2)
    assert any("no durations" in note for note in result.notes)
    assert all(math.isnan(one.minutes) for one in result.readings)
    assert "p0" not in {one.case for one in result.readings}
    assert repr(result).startswith("<NextReads: 2 readings of")
    assert "next (2 rows)" in result._repr_html_()


def test_several_labels_and_empty_masks():
    rng = np.random.default_rng(1)
    base = rng.integers(0, 3, (9, 9)).astype(np.uint8)
    masks = {"same": {"A": base, "B": base}, "other": {"A": base, "B": rng.permutation(base.ravel()).reshape(9, 9)}}
    masks |= {"empty": {"A": base * 0, "B": base * 0}, "all": {"C": base}}
    cases = {c.name: c for c in map(describe, mt.Study.from_arrays(masks))}
    assert cases["same"].distance == 0
    assert cases["empty"].distance == 0
    assert cases["other"].distance > 0.3
    assert mt.next_reads(mt.Study.from_arrays(masks), budget=1).readings[0].case in ("other", "all")


def describe(one):
    from manytruths.analyses.next_reads.next_reads import describe_case

    return describe_case(one).readings


def test_one_rater_who_is_asked_for_most_is_named():
    rng = np.random.default_rng(0)
    base = np.hypot(*(np.mgrid[:30, :30] - 15)) < 9

    def mask(share):
        return np.where(rng.random((30, 30)) < share, ~base, base).astype(np.uint8)

    masks = {f"p{k}": {"A": mask(0.01), "B": mask(0.01), "C": mask(0.3)} for k in range(6)}
    masks |= {f"q{k}": {"C": mask(0.3)} for k in range(6)} | {"r": {"A": mask(0.01)}}
    result = mt.next_reads(mt.Study.from_arrays(masks), budget=11, ask=["A", "C"])
    assert [one.rater for one in result.readings] == ["A"] * 6 + ["C"]
    assert any("A is asked for 6 of the 7 readings; --most limits" in note for note in result.notes)
    some = mt.next_reads(mt.Study.from_arrays(masks), budget=7, ask=["A", "C"], most=3)
    assert not any("--most limits" in note for note in some.notes)


def test_a_complete_study(tmp_path):
    masks = {f"p{k}": {r: np.eye(5, dtype=np.uint8) for r in "AB"} for k in range(2)}
    result = mt.next_reads(mt.Study.from_arrays(masks))
    assert result.readings == ()
    assert result.describe() == "no reading is open: all 4 are done"
    assert result.states == {"done": 4}
    assert mt.next_reads(mt.Study.from_arrays(masks), ask=["B"]).describe() == "no reading by B is open: all 2 are done"


def test_what_became_of_readings_where_none_is_open(tmp_path, capsys):
    folder = running(tmp_path)
    text = (folder / "reads.csv").read_text(encoding="utf-8")
    text = text.replace("p05,anna,,unread", "p05,anna,,unfinished").replace("unread", "not_evaluable")
    (folder / "reads.csv").write_text(text, encoding="utf-8")
    assert status(["next", str(folder), "--out", str(tmp_path / "out")]) == 0
    printed = capsys.readouterr().out
    assert "no reading is open: of 18, 9 are done, 2 are unfinished and 7 are not evaluable" in printed
    assert "readings to ask for" not in printed
    assert "0 readings" not in printed
    with (tmp_path / "out" / "next" / "next.csv").open(encoding="utf-8", newline="") as file:
        assert list(csv.DictReader(file)) == []


def test_a_case_that_one_rater_found_not_evaluable_is_open_to_others(tmp_path):
    folder = running(tmp_path)
    lines = (folder / "reads.csv").read_text(encoding="utf-8").splitlines()
    lines = [line for line in lines if not line.startswith("p05")] + ["p05,anna,,not_evaluable,,,,,"]
    (folder / "reads.csv").write_text("\n".join(lines), encoding="utf-8")
    result = mt.next_reads(folder, budget=100)
    assert {rater for name, rater in asked(result) if name == "p05"} == {"ben", "clara"}
    assert result.states == {"done": 9, "open": 7, "unfinished": 1, "not_evaluable": 1}


def test_nobody_read_the_same_case():
    masks = {"p1": {"A": np.eye(5, dtype=np.uint8)}, "p2": {"B": np.eye(5, dtype=np.uint8)}}
    result = mt.next_reads(mt.Study.from_arrays(masks))
    assert sorted(asked(result)) == [("p1", "B"), ("p2", "A")]
    assert any("no case was read by two raters" in note for note in result.notes)


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ({"budget": 0}, "--budget is a number of readings"),
        ({"budget": 2.5}, "--budget is a number of readings"),
        ({"most": 0}, "--most is a number of readings"),
        ({"ask": ["eve"]}, "--ask eve: is not a rater of the study, which are A, B"),
    ],
)
def test_wrong_calls(wrong, told):
    study = mt.Study.from_arrays({"p1": {r: np.eye(5, dtype=np.uint8) for r in "AB"}})
    with pytest.raises(mt.CallError, match=told):
        mt.next_reads(study, **wrong)


def test_the_command(tmp_path, capsys):
    arguments = ["next", str(running(tmp_path)), "--budget", "3", "--out", str(tmp_path / "out"), "--ask", "ben,clara"]
    assert status(arguments) == 0
    printed = capsys.readouterr().out
    assert "3 readings of" in printed
    assert "readings to ask for, best first" in printed
    assert "anna" not in printed
    assert status(["next", str(tmp_path / "study"), "--budget", "x"]) == 2
    assert status(["next", str(tmp_path / "study"), "--budget", "0"]) == 2


def test_results_do_not_depend_on_processes(tmp_path):
    folder = running(tmp_path)
    one, two = (mt.next_reads(folder, budget=9, jobs=jobs) for jobs in (1, 2))
    assert asked(one) == asked(two)

"""Consensus methods that give the same masks are said to do so, and their overlap is not quoted as a finding."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.core.undefined import code, code_of
from manytruths.reporting.sections import cases, reference_standard, summary
from manytruths.reporting.sections.paper_texts import results_text
from reporting.small_findings import findings, lead, tables
from study_folders import disc


def made(study, methods=None) -> dict[str, str]:
    claims = mt.fuse(mt.Study.from_arrays(study), consensus=methods).claims
    return {claim.kind.id: claim.text for claim in claims.made}


def of_two(count: int = 3):
    return {f"p{i}": {"anna": disc(x=i % 2), "ben": disc(x=i % 2 + 2, radius=7)} for i in range(count)}


def test_staple_of_two_raters_is_their_intersection():
    """Printed before: that STAPLE finds the likely reference standard, and its Dice with the union."""
    study = of_two()
    masks = mt.consensus(mt.Study.from_arrays(study), "staple")
    for case, by in study.items():
        assert (masks[case].values.astype(bool) == (by["anna"] & by["ben"]).astype(bool)).all()
    told = "STAPLE marks exactly what both raters marked, in all three cases: "
    assert made(study) == {"consensus.bound": told + "with two raters it adds nothing to union and intersection."}


def test_the_overlap_of_union_and_intersection_is_not_quoted_beside_that_of_the_raters():
    """It is the same number: Dice of A ∪ B and A ∩ B is Dice of A and B."""
    found = findings(of_two())
    row = found.fusion.differences.find("dice", "mean", method_a="vote:0.5", method_b="staple")
    assert row.value == pytest.approx(found.agreement.agreement.find("dice", "mean").value)
    for text in (lead(reference_standard.section(found)), lead(summary.section(found)), results_text(found)):
        assert "exactly what both raters marked" in text
        assert "and STAPLE overlap" not in text
    assert "For comparison" not in lead(reference_standard.section(found))
    heads = [column.title for column in tables(cases.section(found))["cases"].columns]
    assert not [title for title in heads if "STAPLE" in title]


def test_equal_masks_of_two_methods_are_said():
    study = {f"p{i}": {r: disc(x=k, y=i % 3) for k, r in enumerate("ABC")} for i in range(4)}
    assert made(study) == {"consensus.same": "The majority vote and STAPLE give the same masks in all four cases."}
    assert "overlap by" not in lead(reference_standard.section(findings(study)))


def test_one_pixel_in_one_case_makes_them_different():
    study = {f"p{i}": {r: disc(x=k, y=i % 3) for k, r in enumerate("ABC")} for i in range(4)}
    study["p3"]["B"] = study["p3"]["A"].copy()
    study["p3"]["C"] = disc(x=9, y=9, radius=2)
    result = mt.fuse(mt.Study.from_arrays(study), consensus="vote:0.5,vote:any")
    claims = {claim.kind.id: claim for claim in result.claims}
    assert not claims["consensus.same"].made
    assert claims["consensus.same"].why_not.code == "masks_differ"
    assert result.same_masks.equal == ()


def test_a_method_that_is_made_to_be_the_union_is_not_said_to_be():
    study = {f"p{i}": {r: disc(x=k, y=i % 3) for k, r in enumerate("ABC")} for i in range(4)}
    result = mt.fuse(mt.Study.from_arrays(study), consensus="vote:any,vote:all")
    assert result.same_masks.bounds == {"vote:any": "union", "vote:all": "intersection"}
    assert not result.claims.made
    assert not result.same_masks.tells_nothing("vote:any", "vote:all"), "of three raters it is another number"


def test_nothing_is_said_where_nobody_marked():
    empty = np.zeros((8, 8), np.uint8)
    assert made({"p1": {"A": empty, "B": empty}, "p2": {"A": empty, "B": empty}}) == {}


def test_raters_who_never_differ_make_no_bounds():
    assert set(made({"p1": {"A": disc(), "B": disc()}})) == {"consensus.same"}


# -- cases that nobody is judged by ------------------------------------------------------------------


def with_a_false_alarm():
    """In p0 only C marked anything: no consensus of it means anything."""
    study = {f"p{i}": {r: disc(x=k, y=i % 3) for k, r in enumerate("ABCD")} for i in range(4)}
    study["p0"] = {r: disc() * (r == "C") for r in "ABCD"}
    return study


@pytest.mark.parametrize("statistic", ["dice", "iou", "specificity", "accuracy"])
def test_a_case_without_a_common_mark_is_left_out_for_all_raters(statistic):
    """Before, it counted as 0 for C and for nobody else."""
    result = mt.fuse(mt.Study.from_arrays(with_a_false_alarm()))
    rest = {name: by for name, by in with_a_false_alarm().items() if name != "p0"}
    wanted = mt.fuse(mt.Study.from_arrays(rest))
    for rater in "ABCD":
        for method in result.methods:
            chosen = {"method": method, "rater": rater}
            row = result.performance.find(statistic, "mean", **chosen)
            assert (row.n, row.n_undefined) == (3, 1)
            assert row.value == wanted.performance.find(statistic, "mean", **chosen).value
            if statistic != "accuracy":
                pooled = result.performance.find(statistic, "pooled", **chosen)
                assert pooled.value == wanted.performance.find(statistic, "pooled", **chosen).value
    gone = result.performance.find(statistic, "case", case="p0", method="staple", rater="A")
    assert code(gone.value) == "no_item_marked_twice"


def test_that_it_is_left_out_is_said():
    result = mt.fuse(mt.Study.from_arrays(with_a_false_alarm()))
    assert [note for note in result.notes if code_of(note) == "unjudged_cases" and "p0" in note]
    page = reference_standard.section(findings(with_a_false_alarm()))
    assert "without p0" in tables(page)["rater-rates"].note


def test_a_case_of_one_rater_is_judged_as_before():
    study = {"p1": {r: disc(x=k) for k, r in enumerate("ABC")}, "p2": {"A": disc()}}
    result = mt.fuse(mt.Study.from_arrays(study))
    assert result.performance.find("dice", "mean", method="vote:0.5", rater="A").n == 2


def test_no_case_at_all_is_left():
    empty = np.zeros((24, 24), np.uint8)
    result = mt.fuse(mt.Study.from_arrays({"p1": {"A": disc(), "B": empty, "C": empty}}))
    assert np.isnan(result.performance.find("dice", "pooled", method="staple", rater="A").value)


# -- groups by complexity ----------------------------------------------------------------------------


def spread(count: int, raters: str = "ABC"):
    random = np.random.default_rng(1)
    return {
        f"p{i:02}": {r: disc(x=random.normal(0, 0.4 + i / 4), y=k / 2, radius=6 + i % 3) for k, r in enumerate(raters)}
        for i in range(count)
    }


def why_no_groups(result) -> list[str]:
    return [note for note in result.notes if "not grouped" in note]


def test_only_cases_with_a_complexity_make_groups():
    """Before, cases without one counted among the ten that groups need."""
    study = spread(12)
    assert mt.fuse(mt.Study.from_arrays(study)).groups is not None
    for case in ("p00", "p05", "p09"):
        study[case] = {r: np.zeros((24, 24), np.uint8) for r in "ABC"}
    result = mt.fuse(mt.Study.from_arrays(study))
    assert result.groups is None
    assert why_no_groups(result) == [
        "complexity: the cases are not grouped: 9 cases have a complexity, and fewer than 10 make no groups"
    ]
    assert {row["class"] for row in result.complexity.all("esm", "case")} == {""}


def test_two_raters_make_no_groups():
    """ESM rests on three patterns there: A alone, B alone, both."""
    result = mt.fuse(mt.Study.from_arrays(spread(14, "AB")))
    assert result.groups is None
    assert "with two raters" in why_no_groups(result)[0]


def test_cases_of_two_raters_are_in_no_group():
    study = spread(14)
    for case in ("p01", "p02"):
        del study[case]["C"]
    result = mt.fuse(mt.Study.from_arrays(study))
    assert result.groups is not None
    assert (sum(result.groups.sizes), result.groups.left_out) == (12, 2)
    classes = {row.case: row["class"] for row in result.complexity.all("esm", "case")}
    assert [classes[case] for case in ("p01", "p02")] == ["undefined"] * 2


# -- n -----------------------------------------------------------------------------------------------


def test_every_number_of_the_terminal_says_over_how_many_cases_it_is(capsys):
    """Before, one n stood for all columns: that of IoU."""
    study = with_a_false_alarm()
    study["p4"] = {r: np.zeros((24, 24), np.uint8) for r in "ABCD"}
    mt.fuse(mt.Study.from_arrays(study), consensus="vote:0.5").print()
    text = capsys.readouterr().out
    assert "mean over 5 cases" in text
    line = next(line for line in text.splitlines() if line.split()[:2] == ["A", "vote:0.5"])
    assert [part.split()[0] for part in line.split(", n ")[1:]] == ["3", "3", "4", "4"]
    line = next(line for line in text.splitlines() if line.split()[:1] == ["mean"])
    *_, n, _, _, n_dice = line.split()
    assert (n, n_dice) == ("3", "4"), "Dice of two raters is 0 in p0"


def test_results_say_over_how_many_cases_methods_are_compared():
    study = spread(6, "ABCD")
    study["p00"] = {r: np.zeros((24, 24), np.uint8) for r in "ABCD"}
    found = findings(study, ("vote:0.5", "vote:any"))
    assert "over 5 of 6 cases" in results_text(found).partition("overlapped by")[2].partition("overlapped by")[2]

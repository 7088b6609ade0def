"""Changes of sizes over the ordered cases of a subject, RECIST responses of named targets, and the flow of readings."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from manytruths.core.undefined import code, code_of
from manytruths.study import Study
from study_folders import run, table

SHAPE = (40, 60)


def bars(*lengths, value=None):
    """Horizontal bars of one pixel's height, one below the other: their long axes are their lengths."""
    mask = np.zeros(SHAPE, np.uint8)
    for k, length in enumerate(lengths):
        mask[4 + 6 * k, 5 : 5 + length] = value or k + 1
    return mask


def write(folder: Path, masks, **tables):
    """Masks by rater and case, and CSV files by name."""
    for rater, cases in masks.items():
        (folder / "masks" / rater).mkdir(parents=True, exist_ok=True)
        for case, mask in cases.items():
            Image.fromarray(mask).save(folder / "masks" / rater / f"{case}.png")
    for name, lines in tables.items():
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return f"{folder}/masks/{{rater}}/{{case}}.png"


CASES = ("case,subject,order", "a1,s,1", "a2,s,2", "a3,s,10", "b1,t,")


@pytest.fixture(scope="module")
def longitudinal():
    masks = {"a1": (20, 10), "a2": (12,), "a3": (18,), "b1": (9,)}
    one = {case: {"A": bars(*lengths, value=1), "B": bars(*lengths, value=1)} for case, lengths in masks.items()}
    del one["a1"]["B"]
    subjects = {"a1": "s", "a2": "s", "a3": "s", "b1": "t"}
    order = {"a1": 1, "a2": 2, "a3": 10}
    return mt.sizes(Study.from_arrays(one, subjects=subjects, order=order, spacing=(1.0, 1.0)))


def change(result, case, rater, measure, since, statistic="change"):
    (row,) = (
        row
        for row in result.tables["changes"].all(statistic, "case")
        if (row.case, row["rater"], row["measure"], row["since"]) == (case, rater, measure, since)
    )
    return row


def test_changes_since_baseline_and_nadir(longitudinal):
    row = change(longitudinal, "a2", "A", "sum_long_axes", "baseline")
    assert (row.value, row["unit"], row["subject"], row["compared_with"]) == (-18.0, "mm", "s", "a1")
    assert change(longitudinal, "a3", "A", "sum_long_axes", "baseline").value == -12.0
    low = change(longitudinal, "a3", "A", "sum_long_axes", "nadir")
    assert (low.value, low["compared_with"], low.n) == (6.0, "a2", 2)
    share = change(longitudinal, "a3", "A", "sum_long_axes", "nadir", "relative_change")
    assert (share.value, share["unit"]) == (0.5, "")
    assert change(longitudinal, "a3", "A", "area", "baseline").value == -12.0
    assert {row["subject"] for row in longitudinal.tables["changes"].rows} == {"s"}


def test_a_rater_without_the_baseline_has_no_change_since_it(longitudinal):
    assert code(change(longitudinal, "a3", "B", "area", "baseline").value) == "no_baseline"
    assert change(longitudinal, "a3", "B", "area", "nadir").value == 6.0
    assert code(change(longitudinal, "a2", "B", "area", "nadir").value) == "no_earlier_reading"


def test_no_word_of_a_response_without_targets(longitudinal):
    assert "recist" not in longitudinal.tables


def test_a_baseline_of_zero_has_no_relative_change():
    empty, some = np.zeros(SHAPE, np.uint8), bars(10, value=1)
    study = Study.from_arrays(
        {"p1": {"A": empty, "B": some}, "p2": {"A": some, "B": some}}, subjects={"p1": "s", "p2": "s"},
        order={"p1": 0, "p2": 1}, spacing={"p1": (1.0, 1.0), "p2": (1.0, 1.0)},
    )  # fmt: skip
    result = mt.sizes(study)
    assert change(result, "p2", "A", "area", "baseline").value == 10.0
    assert code(change(result, "p2", "A", "area", "baseline", "relative_change").value) == "reference_size_zero"


def test_units_are_not_mixed():
    some = bars(10, value=1)
    study = Study.from_arrays(
        {"p1": {"A": some, "B": some}, "p2": {"A": some, "B": some}}, subjects={"p1": "s", "p2": "s"},
        order={"p1": 0, "p2": 1}, spacing={"p1": (1.0, 1.0)},
    )  # fmt: skip
    result = mt.sizes(study)
    assert {code(row.value) for row in result.tables["changes"].rows} == {"mixed_units"}


def test_exchangeable_raters_have_no_changes():
    some = bars(10, value=1)
    study = Study.from_arrays(
        {"p1": [some, some], "p2": [some, some]}, subjects={"p1": "s", "p2": "s"}, order={"p1": 0, "p2": 1},
        raters="exchangeable",
    )  # fmt: skip
    assert "changes" not in mt.sizes(study).tables


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        (("a1,s,1", "a2,s,1", "a3,s,2", "b1,t,"), "cases a1 and a2 of subject s have the same order '1'"),
        (("a1,s,1", "a2,s,", "a3,s,2", "b1,t,"), "gives no order for a2 of subject s; write one"),
        (("a1,s,first", "a2,s,1", "a3,s,2", "b1,t,"), "order of case a1 is 'first'; it is a number, or a date"),
        (("a1,s,nan", "a2,s,1", "a3,s,2", "b1,t,"), "order of case a1 is 'nan'"),
        (("a1,s,2024-01-02", "a2,s,1", "a3,s,2", "b1,t,"), "by numbers and by dates"),
    ],
)
def test_an_order_that_cannot_be_used_is_refused(tmp_path, rows, said):
    masks = {rater: {case: bars(5) for case in ("a1", "a2", "a3", "b1")} for rater in "AB"}
    template = write(tmp_path, masks, cases=("case,subject,order", *rows))
    with pytest.raises(mt.StudyError, match=said):
        Study.open(template, cases=f"{tmp_path}/cases.csv")


def test_dates_are_ordered_and_order_is_no_group(tmp_path):
    masks = {rater: {case: bars(5) for case in ("a1", "a2")} for rater in "AB"}
    rows = ("case,subject,order,scanner", "a1,s,2024-10-02,x", "a2,s,2024-09-30,y")
    study = Study.open(write(tmp_path, masks, cases=rows), cases=f"{tmp_path}/cases.csv")
    assert {case.name: case.order for case in study} == {"a1": 2, "a2": 1}
    assert study["a1"].groups == ("x",)


# -- RECIST ----------------------------------------------------------------------------------------

LABELS = {1: "liver 1", 2: "node 1", 3: "lung 1"}
TARGETS = ("subject,case,lesion,target,organ,node,label,position,status", "s,,liver 1,yes,liver,no,liver 1,,",
           "s,,node 1,yes,lymph node,yes,node 1,,", "s,,lung 1,no,lung,no,lung 1,,")  # fmt: skip


def thick(*sizes):
    """Bars by label: length and height."""
    mask = np.zeros(SHAPE, np.uint8)
    for label, (row, length, height) in enumerate(sizes, start=1):
        mask[row : row + height, 5 : 5 + length] = label
    return mask


@pytest.fixture(scope="module")
def responses(tmp_path_factory):
    folder = tmp_path_factory.mktemp("recist")
    first, second = thick((1, 40, 1), (4, 20, 16), (25, 9, 1)), thick((1, 20, 1), (4, 20, 9), (25, 9, 1))
    third = thick((1, 32, 1), (4, 20, 9), (25, 9, 1))
    masks = {"A": {"a1": first, "a2": second, "a3": third}, "B": {"a1": first, "a2": first, "a3": second}}
    template = write(folder, masks, cases=CASES[:4], targets=TARGETS)
    files = {name: f"{folder}/{name}.csv" for name in ("cases", "targets")}
    return mt.sizes(Study.open(template, labels=LABELS, spacing=(1.0, 1.0), **files))


def test_responses_of_named_targets(responses):
    found = {
        (row.case, row["rater"]): (
            row["response"],
            row["target_response"],
            row["non_target_response"],
            row["new_lesion"],
        )
        for row in responses.tables["recist"].rows
    }
    seen = "non-CR/non-PD"
    assert found == {
        ("a2", "A"): ("PR", "PR", seen, "no"), ("a3", "A"): ("PD", "PD", seen, "no"),
        ("a2", "B"): ("SD", "SD", seen, "no"), ("a3", "B"): ("PR", "PR", seen, "no"),
    }  # fmt: skip


def test_nodes_count_by_their_short_axis(responses):
    (row,) = (
        r for r in responses.tables["recist"].all("sum_of_diameters", "case") if (r.case, r["rater"]) == ("a2", "A")
    )
    node = mt.diameters(thick((1, 20, 1), (4, 20, 9)) == 2)[0]
    assert row.value == pytest.approx(20 + node.short_axis)
    assert row["unit"] == "mm"


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([f"s,,l{k},yes,organ {k},no,liver 1,," for k in range(6)], "s has 6 target lesions .* allows 5"),
        ([f"s,,l{k},yes,liver,no,liver 1,," for k in range(3)], "3 target lesions in liver .* allows 2 an organ"),
        (["s,,l1,maybe,liver,no,liver 1,,"], "line 2: target of lesion 'l1' is 'maybe'; it must be one of yes"),
        (["s,,l1,yes,,no,liver 1,,"], "line 2: target lesion 'l1' has no organ"),
        (["s,,l1,yes,liver,no,,,"], "line 2: target lesion 'l1' has neither label nor position"),
        (["s,,l1,yes,liver,perhaps,liver 1,,"], "node of lesion 'l1' is 'perhaps'; it must be yes or no"),
        (["s,a1,l1,yes,liver,no,,here,"], "position of lesion 'l1' is 'here'"),
        (["s,,l1,yes,liver,no,,4 4,"], "is given by its position, which holds for one case; name the case"),
        (["s,,l1,new,liver,no,,,"], "lesion 'l1' is new, which holds for one case"),
        (["q,,l1,yes,liver,no,liver 1,,"], "there is no subject 'q'; subjects are s"),
        ([",a9,l1,yes,liver,no,liver 1,,"], "there is no case 'a9'; cases are a1, a2, a3"),
        (["s,,l1,yes,liver,no,liver 1,,", "s,,l1,yes,liver,no,liver 1,,"], "listed twice"),
        (["s,a1,l1,yes,liver,no,liver 1,,", "s,a2,l1,yes,lung,no,liver 1,,"], "differ in target, organ or node"),
        (["s,,l1,yes,liver,no,liver 1,,", "s,,l2,yes,lung,no,liver 1,,"],
         "targets.csv: target lesions 'l1' and 'l2' of case a1 have the same label 'liver 1', so that one lesion"),
        (["s,a1,l1,yes,liver,no,,4 4,", "s,a1,l2,yes,lung,no,,4 4,"], "case a1 have the same position 4 4, so that"),
        ([], "targets.csv: names no lesion; write a row for each, or leave the table out"),
        (["s,,l1,yes,liver,no,liver 1,,worse"], "status of lesion 'l1' is 'worse'"),
    ],
)  # fmt: skip
def test_targets_that_cannot_be_used_are_refused(tmp_path, rows, said):
    masks = {rater: {case: thick((1, 40, 1)) for case in ("a1", "a2", "a3")} for rater in "AB"}
    template = write(tmp_path, masks, cases=CASES[:4], targets=(TARGETS[0], *rows))
    files = {name: f"{tmp_path}/{name}.csv" for name in ("cases", "targets")}
    with pytest.raises(mt.StudyError, match=said):
        Study.open(template, labels=LABELS, spacing=(1.0, 1.0), **files)


def small_study(folder, targets, cases=CASES[:4], **options):
    """Two raters who mark one liver lesion in three visits: 40, 20, and nothing by B."""
    masks = {rater: {"a1": bars(40, value=1), "a2": bars(20, value=1), "a3": bars(20, value=1)} for rater in "AB"}
    masks["B"]["a3"] = bars(0, value=1)
    template = write(folder, masks, cases=cases, targets=(TARGETS[0], *targets))
    files = {name: f"{folder}/{name}.csv" for name in ("cases", "targets")}
    return Study.open(template, **{"spacing": (1.0, 1.0), **files, **options})


def test_positions_new_lesions_and_missing_rows(tmp_path):
    by_position = [f"s,{case},l1,yes,liver,no,,4 10," for case in ("a1", "a2", "a3")]
    study = small_study(tmp_path, [*by_position, "s,a3,new one,new,,,,,"])
    found = {(r.case, r["rater"]): r["response"] for r in mt.sizes(study).tables["recist"].rows}
    assert found == {("a2", "A"): "PR", ("a3", "A"): "PD", ("a2", "B"): "PR", ("a3", "B"): "PD"}
    study = small_study(tmp_path, by_position[:2])
    found = {(r.case, r["rater"]): r["response"] for r in mt.sizes(study).tables["recist"].rows}
    assert found == {("a2", "A"): "PR", ("a3", "A"): "NE", ("a2", "B"): "PR", ("a3", "B"): "NE"}
    gone = {
        r["rater"]: r["response"]
        for r in mt.sizes(small_study(tmp_path, by_position)).tables["recist"].rows
        if r.case == "a3"
    }
    assert gone == {"A": "PR", "B": "CR"}
    outside = small_study(tmp_path, ["s,a1,l1,yes,liver,no,,400 10,"])
    with pytest.raises(mt.InputError, match="case a1: position 400 10 of lesion 'l1' is not in the image of 40×60"):
        mt.sizes(outside)


def test_a_mark_that_holds_two_targets_is_measured_for_neither(tmp_path):
    """A draws two lesions, B joins them at the second visit; l2 is found by its position, l1 by it or by its label."""
    apart, joined = bars(30, 20, value=1), bars(30, 20, value=1)
    joined[4:11, 5] = 1
    masks = {"A": dict.fromkeys(("a1", "a2", "a3"), apart), "B": {"a1": apart, "a2": joined, "a3": apart}}
    for where in (",4 10", "1,"):
        rows = [f"s,{case},l1,yes,liver,no,{where}," for case in masks["A"]]
        rows += [f"s,{case},l2,yes,lung,no,,10 10," for case in masks["A"]]
        template = write(tmp_path, masks, cases=CASES[:4], targets=(TARGETS[0], *rows))
        files = {name: f"{tmp_path}/{name}.csv" for name in ("cases", "targets")}
        recist = mt.sizes(Study.open(template, spacing=(1.0, 1.0), **files)).tables["recist"]
        found = {(r.case, r["rater"]): (r["response"], r.value) for r in recist.all("sum_of_diameters", "case")}
        assert found["a2", "A"] == found["a3", "A"] == found["a3", "B"] == ("SD", 50.0)
        assert (found["a2", "B"][0], code(found["a2", "B"][1])) == ("NE", "targets_in_one_lesion")


def noted(result):
    return {code_of(note): str(note) for note in result.notes if code_of(note)}


def test_targets_that_are_not_measurable_at_baseline_are_noted(tmp_path, responses):
    assert "target_not_measurable" not in noted(responses)
    first = thick((1, 9, 1), (4, 20, 11), (25, 9, 1))
    masks = {rater: dict.fromkeys(("a1", "a2", "a3"), first) for rater in "AB"}
    masks["B"]["a1"] = thick((1, 10, 1), (4, 20, 16), (25, 9, 1))
    template = write(tmp_path, masks, cases=CASES[:4], targets=TARGETS)
    files = {name: f"{tmp_path}/{name}.csv" for name in ("cases", "targets")}
    study = Study.open(template, labels=LABELS, spacing=(1.0, 1.0), **files)
    node = mt.diameters(first == 2)[0].short_axis
    assert node < 15
    for result in (mt.sizes(study), mt.agree(study, pictures=False)):
        text = noted(result)["target_not_measurable"]
        assert text.endswith(f"nonetheless: liver 1 of s by A (9 mm), node 1 of s by A ({int(node * 100) / 100:g} mm)")
        assert text in result.summary()["notes"]
        assert {r["response"] for r in result.tables["recist"].rows if r["rater"] == "A"} == {"SD"}


def test_an_order_without_subjects_is_noted(tmp_path, longitudinal):
    assert "no_subject_with_several_cases" not in noted(longitudinal)
    masks = {rater: {case: bars(5) for case in ("a1", "a2")} for rater in "AB"}
    template = write(tmp_path, masks, cases=("case,order", "a1,1", "a2,2"))
    result = mt.sizes(Study.open(template, cases=f"{tmp_path}/cases.csv"))
    assert "every case is its own subject" in noted(result)["no_subject_with_several_cases"]
    assert "changes" not in result.tables
    plain = mt.sizes(Study.open(template))
    assert "no_subject_with_several_cases" not in noted(plain)


def test_responses_need_mm_known_labels_and_an_order(tmp_path):
    rows = ["s,,l1,yes,liver,no,1,,"]
    with pytest.raises(mt.InputError, match="case a1: RECIST needs the pixel size in mm"):
        mt.sizes(small_study(tmp_path, rows, spacing=None))
    with pytest.raises(mt.StudyError, match="lesion 'l1' of case a1 has the label 'liver', which no mask has"):
        mt.sizes(small_study(tmp_path, ["s,,l1,yes,liver,no,liver,,"]))
    with pytest.raises(mt.StudyError, match="the cases of subject s have no order; add a column order"):
        small_study(tmp_path, rows, cases=("case,subject", "a1,s", "a2,s", "a3,s"))


def test_the_command_line_writes_changes_and_responses(tmp_path, capsys):
    small_study(tmp_path, ["s,,l1,yes,liver,no,1,,"])
    (tmp_path / "study.toml").write_text(
        'masks = "masks/{rater}/{case}.png"\ncases = "cases.csv"\ntargets = "targets.csv"\nspacing = [1.0, 1.0]\n'
    )
    done = run(capsys, "agree", tmp_path, "--no-pictures", "--jobs", 1, "--out", tmp_path / "out")
    assert done.status == 0
    rows = table(tmp_path / "out/agree/recist.csv")
    assert {(r["case"], r["rater"], r["response"]) for r in rows} == {
        ("a2", "A", "PR"), ("a3", "A", "PR"), ("a2", "B", "PR"), ("a3", "B", "CR"),
    }  # fmt: skip
    assert len(table(tmp_path / "out/agree/changes.csv")) == 2 * 2 * 2 * 2 * 2
    assert run(capsys, "report", tmp_path, "--to", tmp_path / "r.html").status == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    for words in ("CR: complete response", "PR: partial response", "PD: progression", "NE: not evaluable"):
        assert words in page


# -- readings that are not evaluable ---------------------------------------------------------------

READS = ("case,rater,status,reason", "p1,A,done,", "p1,B,done,", "p1,C,not evaluable,motion", "p2,A,done,",
         "p2,B,empty,", "p2,C,not_evaluable,motion", "p3,A,done,", "p3,B,unread,", "p3,C,done,",
         "p4,A,not_evaluable,no contrast", "p4,B,not_evaluable,")  # fmt: skip


@pytest.fixture(scope="module")
def read(tmp_path_factory):
    folder = tmp_path_factory.mktemp("reads")
    some = bars(20, value=1)
    masks = {"A": dict.fromkeys(("p1", "p2", "p3"), some), "B": {"p1": some}, "C": {"p2": some, "p3": some}}
    return folder, write(folder, masks, reads=READS)


def test_readings_that_are_not_evaluable_are_no_masks(read):
    folder, template = read
    study = Study.open(template, reads=f"{folder}/reads.csv")
    assert [case.name for case in study] == ["p1", "p2", "p3"]
    # C's mask of p2 is there, but the log says that nothing can be said
    assert {case.name: [str(c) for c in case.masks] for case in study} == {
        "p1": ["A", "B"], "p2": ["A", "B"], "p3": ["A", "C"],
    }  # fmt: skip
    assert study["p1"].reasons == {mt.Column("C"): "motion"}
    assert study.left_out == {"p4": "the read of A and of B is not evaluable"}
    result = mt.agree(study, pictures=False)
    assert [code_of(note) for note in result.notes if code_of(note) == "not_evaluable"]
    assert {(r.case, r["rater"]) for r in result.tables["sizes"].rows if r.scope == "case"} == {
        ("p1", "A"), ("p1", "B"), ("p2", "A"), ("p2", "B"), ("p3", "A"), ("p3", "C"),
    }  # fmt: skip
    assert {row.n for row in result.tables["agreement"].all("dice", "mean")} == {3}


def flow(result, rater="", session="", why=""):
    rows = [r for r in result.tables["flow"].rows if (r["rater"], r["session"], r["why"]) == (rater, session, why)]
    return {row.statistic: row.value for row in rows}


def test_the_flow_of_readings(read):
    folder, template = read
    result = mt.agree(Study.open(template, reads=f"{folder}/reads.csv"), pictures=False)
    assert flow(result) == {
        "subjects": 3, "cases": 4, "cases_analysed": 3, "cases_left_out": 1, "readings_expected": 11, "masks": 6,
        "empty_masks": 1, "not_evaluable": 4, "unread": 1, "unfinished": 0, "edits": 0, "excluded_masks": 0,
        "excluded_raters": 0, "other_sessions": 0, "missing": 0,
    }  # fmt: skip
    assert flow(result, why="motion") == {"not_evaluable": 2}
    assert flow(result, "A", why="no contrast") == {"not_evaluable": 1}
    assert flow(result, "C")["masks"] == 1
    assert flow(result, "B") | {} == {
        "readings_expected": 4, "masks": 2, "empty_masks": 1, "not_evaluable": 1, "unread": 1, "unfinished": 0,
        "edits": 0, "excluded_masks": 0, "excluded_raters": 0, "other_sessions": 0, "missing": 0,
    }  # fmt: skip


def test_check_lists_them(read, capsys):
    folder, template = read
    result = mt.check(Study.open(template, reads=f"{folder}/reads.csv"))
    said = [p.message for p in result.problems if p.kind == "not_evaluable"]
    assert said[0] == (
        "rater C could not evaluate case p1 (motion): counted as not evaluable, neither as absent nor as empty"
    )
    assert len(said) == 4
    assert not [p for p in result.problems if p.kind == "gap" and p.rater == "C"]
    statuses = {(r.case, r["rater"]): r["status"] for r in result.tables["coverage"].all("present", "case")}
    assert statuses["p1", "C"] == "not_evaluable"


def test_every_way_out_is_counted(tmp_path):
    some = bars(20, value=1)
    masks = {rater: dict.fromkeys(("p1", "p2", "p3"), some) for rater in "ABCD"}
    del masks["B"]["p3"]
    template = write(tmp_path, masks)
    study = Study.open(template, exclude={"A": ["p1"]}, exclude_rater=["D"])
    total = flow(mt.agree(study, pictures=False))
    assert (total["readings_expected"], total["masks"], total["missing"]) == (12, 7, 1)
    assert (total["excluded_masks"], total["excluded_raters"]) == (1, 3)


def test_a_case_that_is_not_evaluable_was_read(read):
    """It is not said of a rater to have read fewer cases; how many readings are not evaluable, and why, is said."""
    folder, template = read
    result = mt.agree(Study.open(template, reads=f"{folder}/reads.csv"), pictures=False)
    [claim] = result.claims.of("readings.not_evaluable").made
    assert claim.text == (
        "4 of 11 readings are not evaluable (one of A, one of B and two of C; reasons: motion (two) and no contrast "
        "(one)): they are in no other number."
    )
    [design] = result.claims.of("raters.different_cases").made
    assert design.text.startswith("No case has a mask of every rater (no mask of B in p3, not evaluable to C: p1 and ")
    assert "read" not in design.text


@pytest.mark.slow
def test_the_report_names_readings_that_are_not_evaluable(tmp_path, capsys):
    some = bars(20, 14, value=1)
    masks = {r: {f"p{k}": some for k in range(4) if (r, k) != ("C", 2)} for r in "ABC"}
    rows = [f"p{k},{r},{'not_evaluable,motion' if (r, k) == ('C', 2) else 'done,'}" for r in "ABC" for k in range(4)]
    template = write(tmp_path, masks, reads=("case,rater,status,reason", *rows))
    done = run(capsys, "report", template, "--reads", tmp_path / "reads.csv", "--to", tmp_path / "r.html")
    assert "Three raters read the same four cases." in done.out
    assert "1 of 12 readings is not evaluable (one of C; reason: motion (one)): it is in no other number." in done.out
    assert "C found one case not evaluable; votes and pairs are of fewer raters there." in done.out
    assert "absent" not in done.out
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "(1 of 12 readings not evaluable and left out)." in page
    assert "1 of 12 readings was not evaluable" in page


def test_a_study_of_which_nothing_is_evaluable_is_refused(tmp_path):
    some = bars(20, value=1)
    template = write(
        tmp_path, {"A": {"p1": some}, "B": {"p1": some}},
        reads=("case,rater,status,reason", "p1,A,done,", "p1,B,not_evaluable,motion"),
    )  # fmt: skip
    with pytest.raises(mt.StudyError, match=r"no case has reads of two raters left: .* 1 is not evaluable"):
        Study.open(template, reads=f"{tmp_path}/reads.csv")

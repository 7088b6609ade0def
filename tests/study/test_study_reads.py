"""The register of reads: who looked, who only began, who left nothing, and who started from another's mask."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import manytruths as mt
from manytruths import Column, FormatError, StudyError, case_condition
from manytruths.study.deidentification import Codes, code_study
from manytruths.study.reading_log import STATUSES, Names, edit_tally, find_cycles, read_log_entries
from study_folders import disc, write_nifti, write_npy, write_png, write_study

HEADER = "case,rater,session,status,based_on,tool,started,seconds,checksum"


def write_reads(folder, rows, header="case,rater,status,based_on"):
    path = folder / "reads.csv"
    path.write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return str(path)


def full(raters="ABC", cases=("p1", "p2"), **changed):
    """A row for every read, ``p1_B="empty,A"`` in place of ``done,``."""
    return [f"{case},{rater},{changed.get(f'{case}_{rater}', 'done,')}" for case in cases for rater in raters]


def opened(folder, rows, template=None, header="case,rater,status,based_on", **options):
    template = template or f"{folder}/masks/{{rater}}/{{case}}.png"
    return mt.Study.open(template, reads=write_reads(folder, rows, header), **options)


def problems(folder, rows, **options):
    met = []
    opened(folder, rows, complain=met.append, **options)
    return [str(problem) for problem in met]


def names(case):
    return [str(column) for column in case.masks]


# -- rows ------------------------------------------------------------------------------------------


def test_a_register_that_only_says_done_changes_nothing(tmp_path):
    template = write_study(tmp_path)
    study = opened(tmp_path, full())
    assert study.tally() == mt.Study.open(template).tally()
    assert study["p1"].statuses == {Column(rater): "done" for rater in "ABC"}


def test_only_case_and_rater_are_needed_and_more_columns_are_no_harm(tmp_path):
    write_study(tmp_path)
    study = opened(
        tmp_path, [f"{rater};{case};x" for case in ("p1", "p2") for rater in "ABC"], header="rater;case;mood"
    )
    assert names(study["p1"]) == ["A", "B", "C"]
    rows = [f"{case},{rater},,done,,CVAT,2024-05-01T10:00,12.5,abc" for case in ("p1", "p2") for rater in "ABC"]
    assert names(opened(tmp_path, rows, header=HEADER)["p2"]) == ["A", "B", "C"]


def test_a_case_that_the_register_does_not_name_is_as_without_one(tmp_path):
    write_study(tmp_path)
    study = opened(tmp_path, full(cases=("p2",)))
    assert names(study["p1"]) == ["A", "B", "C"]
    assert study["p1"].statuses == {}


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            "p1,B,doen,",
            "line 3: status is 'doen'; it must be one of done, empty, unread, unfinished, not_evaluable; "
            "did you mean done?",
        ),
        ("p1,B,Finished,", "one of done, empty, unread, unfinished, not_evaluable; did you mean done?"),
        ("p1,B,completed,", "one of done, empty, unread, unfinished, not_evaluable; did you mean done?"),
        ("p1,B", "line 3: has another number of cells than the header"),
        (",B,done,", "line 3: case is empty"),
        ("p1,,done,", "line 3: rater is empty"),
        ("p1,A,done,", "line 3: rater A of case p1 is listed twice, first in line 2"),
        ("p1,B,unread,", "line 3: rater B of case p1 is unread, but has a mask"),
        (
            "p1,B,done,D",
            "line 3: rater B of case p1 is based on 'D', of which there is no read; reads of it are of A, C",
        ),
        ("p1,B,done,a", "did you mean 'A'?"),
        ("p1,B,done,B", "line 3: case p1: reads are based on each other: B → B"),
        ("p1,Bob,done,", "line 3: rater Bob of case p1 is done, but has no mask; masks are of A, B, C"),
        ("p1,Bob,empty,", "line 3: rater Bob of case p1 is empty, and the rater has no mask of any case"),
        ("p01,B,done,", "line 3: rater B of case p01 is done, but has no mask; did you mean case 'p1'?"),
    ],
)
def test_what_is_wrong_with_a_row_is_one_line_with_file_and_row(tmp_path, row, said):
    write_study(tmp_path)
    rows = full()
    rows[1] = row
    met = problems(tmp_path, rows)
    assert any(said in one and one.startswith(f"{tmp_path}/reads.csv") and "\n" not in one for one in met), met
    with pytest.raises(StudyError):
        opened(tmp_path, rows)


@pytest.mark.parametrize("seconds", ["-1", "soon", "nan", "inf"])
def test_seconds_are_a_number_that_is_not_negative(tmp_path, seconds):
    write_study(tmp_path)
    rows = [f"{case},{rater},{seconds if rater == 'B' else '0'}" for case in ("p1", "p2") for rater in "ABC"]
    met = problems(tmp_path, rows, header="case,rater,seconds")
    assert sum(f"seconds is '{seconds}'" in one for one in met) == 2


def test_times_are_kept_where_they_are_known(tmp_path):
    rows = ["p1,A,2026-03-02T09:15:00Z,81.5", "p1,B,,"]
    same = Names(lambda text: ("", text), str, str)
    path = write_reads(tmp_path, rows, "case,rater,started,seconds")
    first, second = read_log_entries(path, same, pytest.fail)["", "p1"].values()
    assert (first.started, first.seconds) == ("2026-03-02T09:15:00Z", 81.5)
    assert (second.started, second.seconds) == ("", None)


def test_all_problems_are_found_at_once(tmp_path):
    write_study(tmp_path)
    met = problems(tmp_path, [*full(p1_A="dun,", p1_B="done,Z", p2_A="done,B", p2_B="done,A"), "p9,A,done,"])
    said = ("status is 'dun'", "masks of A, of whom there is no row", "based on 'Z'", "A → B → A", "case p9 is done")
    for one in said:
        assert sum(one in problem for problem in met) == 1, (one, met)


def test_a_mask_without_a_row_is_refused_where_the_register_names_its_case(tmp_path):
    write_study(tmp_path)
    with pytest.raises(StudyError, match="case p1 has masks of B, of whom there is no row"):
        opened(tmp_path, [row for row in full() if row != "p1,B,done,"])


def test_a_register_without_its_columns_or_its_file(tmp_path):
    write_study(tmp_path)
    with pytest.raises(FormatError, match="has no column 'rater'"):
        opened(tmp_path, ["p1"], header="case")
    with pytest.raises(FormatError, match="there is no such file"):
        mt.Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.png", reads=str(tmp_path / "none.csv"))


def test_study_toml_names_the_register_relative_to_itself(tmp_path):
    write_study(tmp_path)
    write_reads(tmp_path, full(p1_B="done,A"))
    (tmp_path / "study.toml").write_text('masks = "masks/{rater}/{case}.png"\nreads = "reads.csv"\n')
    assert names(mt.Study.open(tmp_path)["p1"]) == ["A", "C"]
    assert names(mt.Study.open(tmp_path, edited="keep")["p1"]) == ["A", "B", "C"]


# -- status ----------------------------------------------------------------------------------------


def test_unread_is_absent_and_unfinished_is_left_out(tmp_path):
    write_study(tmp_path)
    (tmp_path / "masks/A/p1.png").unlink()
    study = opened(tmp_path, full(p1_A="unread,", p2_B="unfinished,"))
    assert names(study["p1"]) == ["B", "C"]
    assert names(study["p2"]) == ["A", "C"]
    assert study["p2"].absent == (Column("B"),)
    assert study["p1"].statuses[Column("A")] == "unread"


def test_empty_without_a_mask_counts_as_an_empty_mask(tmp_path):
    write_study(tmp_path)
    (tmp_path / "masks/B/p1.png").unlink()
    study = opened(tmp_path, full(p1_B="empty,"))
    write_png(tmp_path / "masks/B/p1.png", disc() * 0)
    saved = mt.Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.png")
    assert study.tally() == saved.tally()
    assert mt.fleiss_kappa(study["p1"].tally()) == mt.fleiss_kappa(saved["p1"].tally()) < 0.6
    (tmp_path / "masks/B/p1.png").unlink()
    (tmp_path / "reads.csv").unlink()
    absent = mt.Study.open(f"{tmp_path}/masks/{{rater}}/{{case}}.png")
    assert mt.fleiss_kappa(absent["p1"].tally()) > 0.6


def test_an_empty_mask_lies_where_the_others_lie(tmp_path):
    for rater, case in ("A1", "A2", "B2"):
        write_nifti(tmp_path / f"masks/{rater}/{case}.nii.gz", np.stack([disc()] * 3, -1), spacing=(1, 2, 3), origin=5)
    template = f"{tmp_path}/masks/{{rater}}/{{case}}.nii.gz"
    study = opened(tmp_path, ["1,A,done,", "1,B,empty,", "2,A,done,", "2,B,done,"], template)
    reading = study["1"].read()
    assert reading.grid == study["2"].read().grid
    assert reading.grid.spacing == (1, 2, 3)
    assert not reading.masks[Column("B")].any()


def test_a_case_that_everybody_left_empty_has_the_size_of_its_image(tmp_path):
    write_study(tmp_path)
    write_png(tmp_path / "images/p3.png", np.zeros((24, 24, 3), np.uint8))
    rows = full(cases=("p1", "p2", "p3"), p3_A="empty,", p3_B="empty,", p3_C="unread,")
    study = opened(tmp_path, rows, images=f"{tmp_path}/images/{{case}}.png")
    table = study["p3"].tally()
    assert table.items == 24 * 24
    assert case_condition(table) == "nothing_marked"
    assert names(study["p3"]) == ["A", "B"]
    with pytest.raises(StudyError, match=r"rater A of case p3 is empty, and nobody has a mask .* give its image"):
        opened(tmp_path, rows)
    (tmp_path / "images/p3.png").unlink()
    with pytest.raises(StudyError, match=r"there is no image .*p3\.png either"):
        opened(tmp_path, rows, images=f"{tmp_path}/images/{{case}}.png")


def test_an_array_in_colour_sizes_an_empty_mask_and_a_volume_does_too(tmp_path):
    for rater in "AB":
        write_npy(tmp_path / f"masks/{rater}/1.npy", np.ones((6, 5, 3), np.uint8))
        write_npy(tmp_path / f"masks/{rater}/2.npy", np.ones((6, 5), np.uint8))
    write_npy(tmp_path / "masks/C/2.npy", np.ones((6, 5), np.uint8))
    write_npy(tmp_path / "images/3.npy", np.ones((6, 5, 3), np.uint8))
    rows = [f"{case},{rater},done," for case, rater in ("1A", "1B", "2A", "2B", "2C")]
    rows += ["1,C,empty,", "3,A,empty,", "3,B,empty,", "3,C,empty,"]
    template, images = f"{tmp_path}/masks/{{rater}}/{{case}}.npy", f"{tmp_path}/images/{{case}}.npy"
    study = opened(tmp_path, rows, template, images=images)
    assert study["1"].read().masks[Column("C")].shape == (6, 5, 3)
    assert study["3"].read().masks[Column("C")].shape == (6, 5)


def test_cases_that_nobody_has_read_yet_may_stand_in_cases_csv(tmp_path):
    write_study(tmp_path)
    (tmp_path / "cases.csv").write_text("case,subject\np1,s1\np2,s2\np3,s3\n")
    study = opened(tmp_path, [*full(), "p3,A,unread,"], cases=str(tmp_path / "cases.csv"))
    assert [case.name for case in study] == ["p1", "p2"]
    with pytest.raises(StudyError, match="p3"):
        opened(tmp_path, full(), cases=str(tmp_path / "cases.csv"))


def test_an_empty_read_can_be_excluded(tmp_path):
    write_study(tmp_path)
    (tmp_path / "masks/B/p1.png").unlink()
    study = opened(tmp_path, full(p1_B="empty,"), exclude={"B": ["p1"]})
    assert names(study["p1"]) == ["A", "C"]


# -- from what a read started ----------------------------------------------------------------------


def test_kappa_and_staple_are_those_without_the_edits(tmp_path):
    template = write_study(tmp_path, "ABCDE", ("p1", "p2", "p3"))
    edits = {"p1_B": "done,A", "p1_C": "done,B", "p2_E": "done,D"}
    study = opened(tmp_path, full("ABCDE", ("p1", "p2", "p3"), **edits))
    for key in edits:
        case, rater = key.split("_")
        (tmp_path / f"masks/{rater}/{case}.png").unlink()
    without = mt.Study.open(template).tally()
    assert study.tally() == without
    assert mt.fleiss_kappa(mt.pool(study.tally())) == mt.fleiss_kappa(mt.pool(without))
    one, other = mt.staple(mt.pool(study.tally())), mt.staple(mt.pool(without))
    assert np.array_equal(one.sensitivity, other.sensitivity)
    assert np.array_equal(one.probability, other.probability)


def test_edits_are_kept_beside_with_parent_and_step(tmp_path):
    write_study(tmp_path, "ABCD")
    study = opened(tmp_path, full("ABCD", p1_B="done,A", p1_C="done,B"))
    edits = study["p1"].edits
    assert {str(c): (str(e.parent), e.step) for c, e in edits.items()} == {"B": ("A", 1), "C": ("B", 2)}
    assert study["p1"].absent == (Column("B"), Column("C"))
    assert not study["p2"].edits
    table = edit_tally(study["p1"], Column("C"))
    assert table.rater_names == ("B", "C")
    assert mt.dice(table) == mt.dice(mt.tally({"B": disc(x=1), "C": disc(x=2)}))


def test_edits_can_be_kept_in(tmp_path):
    template = write_study(tmp_path)
    study = opened(tmp_path, full(p1_B="done,A"), edited="keep")
    assert study.tally() == mt.Study.open(template).tally()
    assert list(study["p1"].edits) == [Column("B")]


def test_sessions_of_one_rater(tmp_path):
    for session in "12":
        for rater in "AB":
            write_png(tmp_path / f"masks/{rater}/{session}/p1.png", disc(x=int(session)))
    template, header = f"{tmp_path}/masks/{{rater}}/{{session}}/{{case}}.png", "case,rater,session,based_on"
    rows = ["p1,A,1,", "p1,B,1,", "p1,A,2,A/1", "p1,B,2,A/2"]
    study = opened(tmp_path, rows, template, header=header)
    assert names(study["p1"]) == ["A@1", "B@1"]
    assert {str(c): (str(e.parent), e.step) for c, e in study["p1"].edits.items()} == {
        "A@2": ("A@1", 1),
        "B@2": ("A@2", 2),
    }
    rows[3] = "p1,B,2,A"
    with pytest.raises(StudyError, match="who read it more than once; write one of A/1, A/2"):
        opened(tmp_path, rows, template, header=header)
    rows[3] = "p1,B,2,A/3"
    with pytest.raises(StudyError, match=r"'A/3', of which there is no read; did you mean 'A/"):
        opened(tmp_path, rows, template, header=header)


def test_sessions_that_the_masks_do_not_have(tmp_path):
    write_study(tmp_path)
    with pytest.raises(StudyError, match=r"names sessions, but the masks' template has no \{session\}"):
        opened(tmp_path, ["p1,A,1"], header="case,rater,session")


def test_names_may_be_composed_in_another_way(tmp_path):
    """Some systems write ü as one letter, some as two."""
    raters, cases = ("Müller", "日本", "Ж"), ("naïve 1", "ø2")
    apart = [unicodedata.normalize("NFD", rater) for rater in raters]
    write_study(tmp_path, apart, cases)
    study = opened(tmp_path, [f"{c},{r},done,{'Müller' if r == 'Ж' else ''}" for c in cases for r in raters])
    assert sorted(names(study["naïve 1"])) == sorted(apart[:2])
    assert study["ø2"].edits[Column(apart[2])].parent == Column(apart[0])


def test_subjects_who_share_names_of_cases(tmp_path):
    for subject in ("s1", "s2"):
        for rater in "ABC":
            write_png(tmp_path / f"masks/{subject}/{rater}/1.png", disc())
    template = f"{tmp_path}/masks/{{subject}}/{{rater}}/{{case}}.png"
    study = opened(tmp_path, ["s1/1,A,done,", "s1/1,B,done,A", "s1/1,C,done,"], template)
    assert names(study["s1/1"]) == ["A", "C"]
    assert names(study["s2/1"]) == ["A", "B", "C"]
    with pytest.raises(StudyError, match="case '1' is there of several subjects; write s1/1"):
        opened(tmp_path, ["1,A,done,"], template)
    write_png(tmp_path / "images/s3/7.png", disc())
    images, rows = f"{tmp_path}/images/{{subject}}/{{case}}.png", ["s3/7,A,empty,", "s3/7,B,empty,"]
    assert names(opened(tmp_path, rows, template, images=images)["s3/7"]) == ["A", "B"]
    with pytest.raises(StudyError, match="write SUBJECT/7"):
        opened(tmp_path, ["7,A,empty,"], template, images=images)


def test_a_parent_may_be_unfinished_excluded_or_gone(tmp_path):
    write_study(tmp_path, "ABCD")
    study = opened(tmp_path, full("ABCD", p1_A="unfinished,", p1_B="done,A"))
    assert names(study["p1"]) == ["C", "D"]
    assert edit_tally(study["p1"], Column("B")) is not None
    study = opened(tmp_path, full("ABCD", p1_B="done,A"), exclude={"A": ["p1"]})
    assert names(study["p1"]) == ["C", "D"]
    assert edit_tally(study["p1"], Column("B")).rater_names == ("A", "B")
    (tmp_path / "masks/A/p1.png").unlink()
    study = opened(tmp_path, full("ABCD", p1_A="unfinished,", p1_B="done,A"))
    assert edit_tally(study["p1"], Column("B")) is None
    with pytest.raises(StudyError, match="is based on 'A', which is unread"):
        opened(tmp_path, full("ABCD", p1_A="unread,", p1_B="done,A"))


def test_an_edit_that_left_nothing_removes_everything(tmp_path):
    write_study(tmp_path)
    (tmp_path / "masks/B/p1.png").unlink()
    study = opened(tmp_path, full(p1_B="empty,A"))
    table = edit_tally(study["p1"], Column("B"))
    assert mt.dice(table) == 0
    assert table.contingency[0, 1][1, 0] == disc().sum()


def test_a_case_of_which_nothing_counts_is_left_out_and_told(tmp_path):
    write_study(tmp_path, "AB", ("p1", "p2"))
    study = opened(tmp_path, full("AB", p1_A="unfinished,", p1_B="done,A"))
    assert [case.name for case in study] == ["p2"]
    assert study.left_out == {"p1": "the read of B is an edit of A's and the read of A is not finished"}


@pytest.mark.parametrize("edits", [{"p1_B": "done,A", "p2_B": "done,A"}, {"p1_B": "done,A", "p2_A": "done,B"}])
def test_too_few_raters_are_left(tmp_path, edits):
    template = write_study(tmp_path, "AB")
    with pytest.raises(StudyError, match=r"no case has reads of two raters left: .*2 are edits .*--edited keep"):
        opened(tmp_path, full("AB", **edits))
    assert opened(tmp_path, full("AB", **edits), edited="keep").tally() == mt.Study.open(template).tally()


def test_nothing_left_because_nobody_finished(tmp_path):
    write_study(tmp_path, "AB", ("p1",))
    with pytest.raises(StudyError, match=r"1 is unfinished$"):
        opened(tmp_path, full("AB", ("p1",), p1_A="unfinished,"))
    met = []
    with pytest.raises(StudyError, match=r"2 are unfinished$"):
        opened(tmp_path, full("AB", ("p1",), p1_A="unfinished,", p1_B="unfinished,"), complain=met.append)


def test_one_of_1_and_one_of_255_is_no_edit(tmp_path):
    write_study(tmp_path)
    write_png(tmp_path / "masks/B/p1.png", disc() * 255)
    study = opened(tmp_path, full(p1_B="done,A"))
    with pytest.raises(mt.LabelError, match="edit of A by B: case p1: each rater marks with one value"):
        edit_tally(study["p1"], Column("B"))


def test_codes_cover_who_edited_and_what_he_started_from(tmp_path):
    for rater in ("model", "Ann", "Bob", "Cy"):
        for session in ("monday", "tuesday") if rater == "Ann" else ("monday",):
            write_png(tmp_path / f"masks/{rater}/{session}/p1.png", disc())
    template, header = f"{tmp_path}/masks/{{rater}}/{{session}}/{{case}}.png", "case,rater,session,status,based_on"
    rows = ["p1,model,monday,unfinished,", "p1,Ann,monday,done,", "p1,Ann,tuesday,done,model", "p1,Bob,monday,done,"]
    study = opened(tmp_path, [*rows, "p1,Cy,monday,done,Ann/tuesday"], template, header=header)
    under = code_study(study, Codes.of(study))
    case = next(iter(under))
    told = repr(
        [case.masks.keys(), case.absent, list(case.edits), [e.parent for e in case.edits.values()], case.statuses]
    )
    assert not any(name in told for name in ("Ann", "Bob", "Cy", "model", "monday", "tuesday"))
    assert sorted(edit.step for edit in case.edits.values()) == [1, 2]


# -- cycles ----------------------------------------------------------------------------------------

AS_WRITTEN = Names(lambda case: ("", case), str, str)


def has_cycle(parents):
    """Whether anybody comes back to himself."""
    for start in parents:
        at = start
        for _ in range(len(parents) + 1):
            at = parents.get(at)
        if at is not None:
            return True
    return False


@given(st.lists(st.integers(-1, 11), min_size=1, max_size=12), st.randoms(use_true_random=False))
def test_cycles_are_refused_and_nothing_else_is(tmp_path_factory, parents, random):
    links = {i: parent for i, parent in enumerate(parents) if 0 <= parent < len(parents)}
    rows = [
        f"p,r{i},{random.choice(['done', 'empty', 'unfinished'])},{f'r{links[i]}' if i in links else ''}"
        for i in range(len(parents))
    ]
    random.shuffle(rows)
    met = []
    path = write_reads(tmp_path_factory.getbasetemp(), rows)
    (reads,) = read_log_entries(path, AS_WRITTEN, met.append).values()
    assert bool(met) == has_cycle(links)
    for problem in met:
        way = str(problem).partition("each other: ")[2].partition(";")[0].split(" → ")
        assert way[0] == way[-1]
        assert all(links[int(child[1:])] == int(parent[1:]) for child, parent in pairwise(way))
    told = {int(name[1:]) for p in met for name in str(p).partition("each other: ")[2].partition(";")[0].split(" → ")}
    for column, read in reads.items():
        child = int(column.name[1:])
        assert (read.parent is not None) == (child in links and child not in told)


@given(st.dictionaries(st.integers(0, 8), st.integers(0, 8)))
def test_every_cycle_is_found_once(parents):
    found = [frozenset(cycle) for cycle in find_cycles(parents)]
    assert len(found) == len(set(found))
    inside = {start for start in parents if start in _ahead(parents, start)}
    assert set().union(*found) == inside


def _ahead(parents, start):
    """Everybody that a way from here comes to."""
    seen, at = set(), parents.get(start)
    while at is not None and at not in seen:
        seen.add(at)
        at = parents.get(at)
    return seen


def test_the_statuses_are_those_of_the_documentation():
    assert STATUSES == ("done", "empty", "unread", "unfinished", "not_evaluable")

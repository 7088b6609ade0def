"""Text files of every kind: no row is swallowed, no pipe waited for, no encoding guessed."""

from __future__ import annotations

import os
import time

import pytest

import manytruths as mt
from manytruths import FormatError, GradeScale, StudyError, read_ratings, read_scores, read_tally
from manytruths.evaluation.grade_sheets import read_grades
from manytruths.io.tables import read_table, read_toml
from study_folders import command, run, write_study


def grades(path):
    return read_grades(path, cases=("p1", "p2", "p3"), algorithms=("a", "b"), scale=GradeScale())


READERS = {
    "table": (lambda path: read_table(path, "case"), "case,subject,kind", "{},s{},k"),
    "ratings": (read_ratings, "case,A,B", "{},x{},y"),
    "scores": (read_scores, "case,algorithm,dice", "{},a{},0.5"),
    "grades": (grades, "case,algorithm,grade", "{},a{},3"),
}


@pytest.fixture(params=READERS)
def kind(request):
    return READERS[request.param]


def written(tmp_path, kind, *rows, encoding="utf-8", end="\n"):
    _, header, row = kind
    lines = [header, *(one if "," in one else row.format(one, "") for one in rows)]
    path = tmp_path / "file.csv"
    path.write_bytes((end.join(lines) + end).encode(encoding))
    return path


def refused(kind, path):
    with pytest.raises(FormatError) as caught:
        kind[0](path)
    told = str(caught.value)
    assert told.startswith(str(path))
    assert "\n" not in told
    return told


def test_an_open_quote_swallows_no_row(tmp_path, kind):
    told = refused(kind, written(tmp_path, kind, "p1", '"p2', "p3"))
    assert told.endswith('line 3: a quote (") is opened here and never closed; close or remove it')


def test_a_quote_that_is_closed_rows_later(tmp_path, kind):
    told = refused(kind, written(tmp_path, kind, '"p1', '"p2"'))
    assert 'line 2: a quote (") ends within a cell' in told
    # as many cells as the header has: only the end of a line in a name gives it away
    told = refused(kind, written(tmp_path, kind, kind[2].format('"p1', ""), kind[2].format('p2"', "")))
    assert "line 2: " in told
    assert told.endswith('holds a sign that is not seen; is a quote (") not closed?')


def test_a_quote_in_the_middle_is_a_sign(tmp_path):
    kind = READERS["table"]
    assert set(read_table(written(tmp_path, kind, 'p"1', '"p""2"'), "case")) == {'p"1', 'p"2'}


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_line_ends_and_marks_of_encoding(tmp_path, kind, end, encoding):
    plain = kind[0](written(tmp_path, kind, "p1", "p2"))
    again = kind[0](written(tmp_path, kind, "p1", "p2", encoding=encoding, end=end))
    assert repr(again) == repr(plain)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "latin-1"])
def test_other_encodings(tmp_path, kind, encoding):
    told = refused(kind, written(tmp_path, kind, "pü1", encoding=encoding))
    assert told.endswith("save it again as UTF-8")
    assert ("UTF-16" in told) == (encoding == "utf-16")


def test_nul_signs(tmp_path, kind):
    assert "line 3: holds a NUL character" in refused(kind, written(tmp_path, kind, "p1", "p\x002"))


@pytest.mark.parametrize("sign", ["\x0b", "\x0c", "\x1c", "\x85", "\u2028", "\u202e"])
def test_signs_that_others_take_for_line_ends(tmp_path, kind, sign):
    told = refused(kind, written(tmp_path, kind, f"p{sign}1"))
    assert "holds a sign that is not seen; type it again" in told
    assert "line 2" in told


def test_too_many_and_too_few_cells(tmp_path, kind):
    for row in (kind[2].format("p1", "") + ",x", "p1,x"):
        assert "cells" in refused(kind, written(tmp_path, kind, row))


def test_columns_of_one_name(tmp_path, kind):
    path = written(tmp_path, kind, "p1")
    path.write_text(path.read_text().replace("case,", "case,case,", 1).replace("p1,", "p1,p1,"))
    assert "two columns have the same name" in refused(kind, path)


# -- what is no file ---------------------------------------------------------------------------------


def toml(path):
    return read_toml(path)


OPENERS = [*(reader for reader, *_ in READERS.values()), toml, read_tally]


@pytest.mark.parametrize("opened", OPENERS)
def test_pipes_and_devices_are_not_opened(tmp_path, opened):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/null", "/dev/zero", "/dev/stdin"):
        with pytest.raises(FormatError, match=r"is not a regular file but a \w+; copy its content into one"):
            opened(path)
    with pytest.raises(FormatError, match="is a folder, not a file"):
        opened(tmp_path)
    with pytest.raises(FormatError, match=r"^\S+none: there is no such file; correct the path"):
        opened(tmp_path / "none")


@pytest.mark.parametrize("name", ["pipe.xlsx", "pipe.parquet", "pipe.csv", "pipe.toml", "pipe.json", "pipe.xml"])
def test_pipes_in_every_place_of_the_command_line(tmp_path, capsys, name):
    os.mkfifo(tmp_path / name)
    pipe = tmp_path / name
    study = write_study(tmp_path)
    calls = {
        "xlsx": [("reliability", pipe)],
        "parquet": [("reliability", pipe)],
        "toml": [("check", pipe), ("agree", pipe)],
        "json": [
            ("import", tool, pipe, "--to", tmp_path / "new") for tool in ("coco", "labelstudio", "labelme", "qupath")
        ],
        "xml": [("import", "cvat", pipe, "--to", tmp_path / "new")],
        "csv": [
            ("agree", study, "--cases", pipe),
            ("agree", study, "--raters", pipe),
            ("agree", study, "--reads", pipe),
            ("rank", pipe),
            ("plan", "--pilot", pipe),
        ],
    }
    for call in calls[pipe.suffix[1:]]:
        began = time.monotonic()
        done = run(capsys, *call, *(() if call[0] == "import" else ("--out", tmp_path / "out")))
        assert (done.status, str(pipe) in done.line) == (1, True), done
        assert time.monotonic() - began < 10
    assert not (tmp_path / "out").exists()


# -- study.toml --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("x = " + "[" * 5000, "nested too deeply"),
        ("x = " + "{a = " * 5000, "nested too deeply"),
        (".".join("a" * 200_000) + " = 1", "nested too deeply"),
        ("[" + ".".join(['"a"'] * 100_000) + "]", "nested too deeply"),
        ("void = " + "1" * 5000, "is not valid TOML"),
        ("# " + "x" * (1 << 21), "has 2.1 MB, more than the 1.0 MB"),
    ],
)
def test_study_files_that_no_study_has(tmp_path, text, told):
    (tmp_path / "study.toml").write_text(text)
    began = time.monotonic()
    with pytest.raises((FormatError, StudyError)) as caught:
        mt.Study.open(tmp_path)
    assert told in str(caught.value)
    assert len(str(caught.value)) < 300
    assert time.monotonic() - began < 5


def test_a_long_list_of_exclusions_is_read(tmp_path):
    names = ", ".join(f'"p{n}.a"' for n in range(20_000))
    (tmp_path / "study.toml").write_text(f'masks = "a"\n[exclude]\nB = [{names}]\n')
    assert len(read_toml(tmp_path / "study.toml")["exclude"]["B"]) == 20_000


# -- cases.csv and raters.csv ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("case,subject\np1,s\np2,s\n", "does not list p3; add a line for each case"),
        ("case,kind\np1,a\np2,b\n", "does not list p3; add a line for each case"),
        ("case,subject\np1,s\np2,s\np3,\n", "gives no subject for 1 of 3 cases (p3); write one for each"),
        ("case," + ",".join(f"c{n}" for n in range(3000)) + "\np1" + "," * 3000 + "\n", "has 3000 columns of groups"),
        ("case,kind\np1,a\np2,b\np3,\"c\nd\"\n", "kind 'c\\nd' holds a sign that is not seen"),
    ],
)  # fmt: skip
def test_tables_of_cases(tmp_path, capsys, text, told):
    (tmp_path / "cases.csv").write_text(text)
    template = write_study(tmp_path, cases=("p1", "p2", "p3"))
    began = time.monotonic()
    for verb in ("check", "agree"):
        done = run(capsys, verb, template, "--cases", tmp_path / "cases.csv", "--out", tmp_path / "out", "--jobs", 1)
        assert done.status == 1
        assert told in done.out + done.err
    assert time.monotonic() - began < 20


def test_a_value_for_every_case_is_no_group(tmp_path):
    names = [f"p{n}" for n in range(150)]
    (tmp_path / "cases.csv").write_text("\n".join(["case,id", *(f"{name},{name}" for name in names), ""]))
    template = write_study(tmp_path, raters="AB", cases=names)
    with pytest.raises(
        StudyError, match="column 'id' has 150 different values, and each would be a group; at most 100"
    ):
        mt.Study.open(template, cases=str(tmp_path / "cases.csv"))


def test_subjects_of_the_path_need_no_table(tmp_path):
    for rater in "AB":
        for subject in ("s1", "s2"):
            source = write_study(tmp_path / "from", raters=rater, cases=("p1",)).format(rater=rater, case="p1")
            target = tmp_path / subject / rater / f"{subject}p.png"
            target.parent.mkdir(parents=True)
            os.rename(source, target)
    (tmp_path / "cases.csv").write_text("case,subject\ns1p,mary\ns2p,\n")
    study = mt.Study.open(f"{tmp_path}/{{subject}}/{{rater}}/{{case}}.png", cases=str(tmp_path / "cases.csv"))
    assert study.subjects == ("mary", "s2")


def test_an_unclosed_quote_on_the_command_line(tmp_path):
    (tmp_path / "cases.csv").write_text('case,kind\np1,"a\np2,b\n')
    template = write_study(tmp_path)
    done = command("agree", template, "--cases", tmp_path / "cases.csv", "--out", tmp_path / "out")
    assert done.status == 1
    assert 'cases.csv, line 2: a quote (") is opened here and never closed; close or remove it' in done.line

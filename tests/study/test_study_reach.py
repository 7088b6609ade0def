"""Folders that may not be entered, links that lead nowhere, names that are no text: said, and never passed over."""

from __future__ import annotations

import os
import time

import pytest

import manytruths as mt
from manytruths import StudyError
from manytruths.io import Template
from rights import obedient
from study_folders import disc, files, run, table, write_png, write_study

NOT_TEXT = os.fsdecode(b"p\xff3")


@pytest.fixture
def closed():
    """Take the rights of folders for a while."""
    changed = []

    def close(path, mode):
        changed.append(path)
        path.chmod(mode)

    yield close
    for path in changed:
        path.chmod(0o755)


@pytest.mark.parametrize(("mode", "how"), [(0o444, "entered"), (0o000, "listed")])
def test_a_rater_whose_folder_is_closed_does_not_vanish(tmp_path, closed, mode, how):
    template = write_study(tmp_path)
    closed(tmp_path / "masks/B", mode)
    told = f"{tmp_path}/masks/B: cannot be {how}: Permission denied; check its rights"
    done = obedient("agree", template, "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.line) == (1, f"manytruths: {told}")
    assert not (tmp_path / "out").exists()
    done = obedient("check", template, "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (1, "")
    assert [row["message"] for row in table(tmp_path / "out/check/problems.csv")] == [told]


@pytest.mark.parametrize(
    ("option", "folder", "mode"),
    [
        ("", "masks", 0o444),
        ("", "", 0o444),
        ("--predictions", "other", 0o444),
        ("--reference", "other", 0o000),
        ("--roi", "other", 0o444),
    ],
)
def test_other_folders_that_are_closed(tmp_path, closed, option, folder, mode):
    home = tmp_path / "home"
    template = write_study(home)
    (home / "study.toml").write_text('masks = "masks/{rater}/{case}.png"\n')
    for case in ("p1", "p2"):
        write_png(home / f"other/{case}.png", disc())
    more = [option, f"{home}/other/{{case}}.png"] if option else []
    closed(home / folder, mode)
    command = "evaluate" if option in ("--predictions", "--reference") else "agree"
    done = obedient(command, template if folder else home, *more, "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 1
    assert str(home / folder) in done.line
    assert "Permission denied; check" in done.line
    assert not files(tmp_path / "out")


def test_a_mask_that_may_not_be_read(tmp_path, closed):
    template = write_study(tmp_path)
    closed(tmp_path / "masks/B/p1.png", 0o000)
    done = obedient("agree", template, "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 1
    assert f"{tmp_path}/masks/B/p1.png: cannot be opened: Permission denied" in done.line


@pytest.mark.parametrize(
    ("to", "told"),
    [("gone", "is a link that leads nowhere; repair or remove it"), ("B", "cannot be reached: Too many")],
)
def test_links_in_the_place_of_a_rater(tmp_path, to, told):
    template = write_study(tmp_path, raters="AC")
    (tmp_path / "masks/B").symlink_to(to)
    with pytest.raises(StudyError) as caught:
        mt.Study.open(template)
    assert str(caught.value).startswith(f"{tmp_path}/masks/B: {told}")
    met = []
    assert mt.Study.open(template, complain=met.append).rater_names == ("A", "C")
    assert [str(error) for error in met] == [str(caught.value)]


def test_a_link_to_the_folder_above_ends(tmp_path):
    template = write_study(tmp_path)
    (tmp_path / "masks/again").symlink_to("..")
    assert mt.Study.open(template).rater_names == ("A", "B", "C")


# -- names -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "shown", "fault"),
    [
        (NOT_TEXT, "p\\udcff3", "is not UTF-8"),
        ("p\n3", "p\\n3", "holds a sign that is not seen"),
        ("p\x1b[2J", "p\\x1b[2J", "holds a sign that is not seen"),
        ("p\u202e3", "p\\u202e3", "holds a sign that is not seen"),
        ("p\x853", "p\\x853", "holds a sign that is not seen"),
    ],
)
def test_names_that_cannot_be_written(tmp_path, capsys, name, shown, fault):
    template = write_study(tmp_path)
    write_png(tmp_path / "masks/A" / f"{name}.png", disc())
    told = f"{tmp_path}/masks/A/{shown}.png: its name {fault}; rename it"
    for command, to in (("agree", "--out"), ("fuse", "--out"), ("report", "--to")):
        done = run(capsys, command, template, to, tmp_path / "out", "--jobs", 1)
        assert (done.status, done.line) == (1, f"manytruths: {told}")
    assert not (tmp_path / "out").exists()
    done = run(capsys, "check", template, "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (1, "")
    assert [r["message"] for r in table(tmp_path / "out/check/problems.csv") if r["severity"] == "error"] == [told]


def test_a_folder_that_is_no_text(tmp_path, capsys):
    write_study(tmp_path / NOT_TEXT)
    done = run(capsys, "check", f"{tmp_path}/{NOT_TEXT}/masks/{{rater}}/{{case}}.png", "--out", tmp_path / "out")
    assert done.status == 1
    assert "p\\udcff3" in done.line
    assert "is not UTF-8; rename the folder" in done.line
    done = run(capsys, "check", f"{tmp_path}/*/masks/{{rater}}/{{case}}.png", "--out", tmp_path / "out")
    assert done.status == 1
    assert done.line.endswith("p\\udcff3: its name is not UTF-8; rename it")


def test_stray_names_that_are_no_text_are_passed_over(tmp_path):
    template = write_study(tmp_path)
    (tmp_path / "masks/A" / f"{NOT_TEXT}.txt").write_text("notes")
    assert len(mt.Study.open(template)) == 2


# -- templates that take for ever --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "told"),
    [
        ("*" * 60, "has 60 *; at most 8"),
        ("*a" * 60, "has 60 *; at most 8"),
        ("{case}" * 60, "has 61 placeholders; at most 8"),
        ("x" * 5000, "has 5,0"),
    ],
)
def test_templates_with_too_much_in_a_part(tmp_path, part, told):
    began = time.monotonic()
    with pytest.raises(StudyError) as caught:
        Template(f"{tmp_path}/{{rater}}/{part}{{case}}.png")
    assert told in str(caught.value)
    assert len(str(caught.value)) < 300
    assert time.monotonic() - began < 1


@pytest.mark.parametrize(
    "part",
    ["*a" * 8 + "b{rater}{case}", "*" * 8 + "{rater}_{case}", "{rater}{case}" * 4, "{case}{rater}{session}{label}b"],
)
def test_long_names_take_no_time(tmp_path, part):
    (tmp_path / "masks").mkdir()
    for number in range(10):
        (tmp_path / "masks" / ("a" * 240 + str(number))).write_text("")
    began = time.monotonic()
    with pytest.raises(StudyError, match=r"too many ways|matches nothing|reads it as"):
        Template(f"{tmp_path}/masks/{part}", require=("rater", "case")).find()
    assert time.monotonic() - began < 5


def test_many_stars_still_match(tmp_path):
    (tmp_path / "abcabcabc").write_text("")
    found = Template(f"{tmp_path}/*a*b*c*{{case}}").find
    with pytest.raises(StudyError, match="reads it as case"):
        found()
    assert [one.fields for one in Template(f"{tmp_path}/*b*b*b{{case}}").find()] == [{"case": "c"}]

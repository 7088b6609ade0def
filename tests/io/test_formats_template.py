"""Templates: names to fields and back."""

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from manytruths import FormatError, StudyError
from manytruths.io import Location, Template


def touch(*paths: Path) -> None:
    for path in paths:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")


def fields(template: Template) -> list[tuple[str, ...]]:
    return [tuple(one.fields[name] for name in template.fields) for one in template.find()]


def test_find_is_in_natural_order(tmp_path):
    touch(*(tmp_path / rater / f"p{n}.png" for rater in "BA" for n in (10, 2, 1)))
    template = Template(tmp_path / "{rater}/{case}.png", require=("rater", "case"))
    assert template.fields == ("rater", "case")
    assert fields(template) == [(r, c) for r in "AB" for c in ("p1", "p2", "p10")]


def test_relative_templates(tmp_path, monkeypatch):
    touch(tmp_path / "masks" / "A" / "p1.png")
    monkeypatch.chdir(tmp_path)
    for text in ("masks/{rater}/{case}.png", "./masks//{rater}/{case}.png", "masks/../masks/{rater}/{case}.png"):
        assert [one.fields for one in Template(text).find()] == [{"rater": "A", "case": "p1"}]


def test_a_repeated_placeholder_has_one_value(tmp_path):
    touch(tmp_path / "A" / "A_p_1.png", tmp_path / "A" / "B_p_2.png", tmp_path / "B" / "B_p_3.png")
    assert fields(Template(tmp_path / "{rater}/{rater}_{case}.png")) == [("A", "p_1"), ("B", "p_3")]


def test_a_later_segment_settles_an_earlier_one(tmp_path):
    touch(tmp_path / "a_b_c" / "c.png")
    assert fields(Template(tmp_path / "{rater}_{case}/{case}.png")) == [("a_b", "c")]


def test_two_readings_are_an_error_that_shows_both(tmp_path):
    touch(tmp_path / "a_b_c.png")
    with pytest.raises(StudyError, match=r"rater 'a', case 'b_c' or as rater 'a_b', case 'c'.*folders"):
        Template(tmp_path / "{rater}_{case}.png").find()


def test_hidden_files_and_stray_files_are_passed_over(tmp_path):
    touch(tmp_path / "A" / "p1.png", tmp_path / "A" / "._p1.png", tmp_path / ".git" / "p1.png", tmp_path / "README.md")
    assert fields(Template(tmp_path / "{rater}/{case}.png")) == [("A", "p1")]


def test_names_are_case_sensitive(tmp_path):
    touch(tmp_path / "A" / "p1.PNG", tmp_path / "A" / "p1.png")
    assert len(Template(tmp_path / "{rater}/{case}.png").find()) == 1


def test_a_folder_in_place_of_a_file(tmp_path):
    (tmp_path / "A" / "p1.png").mkdir(parents=True)
    with pytest.raises(StudyError, match=r"p1\.png: is a folder"):
        Template(tmp_path / "{rater}/{case}.png").find()


def test_odd_folder_names_are_no_syntax(tmp_path):
    folder = tmp_path / "a[1] (b)+{{c}}*$^.d".replace("{{", "{").replace("}}", "}")
    touch(folder / "A" / "p1.png", tmp_path / "a[1] (b)+{c}xx$^.d" / "A" / "p2.png")
    text = str(tmp_path / "a[1] (b)+{{c}}*$^.d" / "{rater}" / "{case}.png")
    assert ("A", "p1") in fields(Template(text))


def test_wildcards(tmp_path):
    touch(tmp_path / "run-7" / "p1_final.png", tmp_path / "run-7" / "p2_v2.png")
    assert fields(Template(tmp_path / "run-*/{case}_*.png")) == [("p1",), ("p2",)]


def test_a_final_star_is_an_ending_that_can_be_read(tmp_path):
    touch(tmp_path / "p1.nii.gz", tmp_path / "p1.json", tmp_path / "p2.5.PNG", tmp_path / "p3.jpg")
    template = Template(tmp_path / "{case}.*")
    assert fields(template) == [("p1",), ("p2.5",), ("p3",)]
    assert template.fill(case="p1").path.name == "p1.nii.gz"
    assert template.fill(case="p2.5").path.name == "p2.5.PNG"
    with pytest.raises(StudyError, match="matches nothing"):
        template.fill(case="p9")
    touch(tmp_path / "p1.png")
    for call in (template.find, lambda: template.fill(case="p1")):
        with pytest.raises(StudyError, match="for the same thing"):
            call()


def test_nothing_found_says_why(tmp_path):
    with pytest.raises(StudyError, match=r"there is no '.*/masks';"):
        Template(tmp_path / "masks/{rater}/{case}.png").find()
    (tmp_path / "masks" / "A").mkdir(parents=True)
    with pytest.raises(StudyError, match="is an empty folder"):
        Template(tmp_path / "masks/{rater}/{case}.png").find()
    touch(*(tmp_path / "masks" / "A" / f"p{n}.tif" for n in range(5)))
    with pytest.raises(
        StudyError, match=r"contains nothing like '\{case\}.png'; nearest names: p\d.tif, p\d.tif, p\d.tif$"
    ):
        Template(tmp_path / "masks/{rater}/{case}.png").find()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{ratr}/{case}.png", r"\{ratr\}.*\{subject\}.*did you mean \{rater\}"),
        ("{}/{case}.png", "not known"),
        ("{rater/{case}.png", "lone"),
        ("masks/{case}.png", r"has no \{rater\}"),
        ("", "has no|names no file"),
        ("x.npz/*{case}[{rater}]", r"\* inside an archive"),
        ("{case}.npy[{foo}]", r"\{foo\} is not known"),
    ],
)
def test_bad_templates(text, words):
    with pytest.raises(StudyError, match=words):
        Template(text, require=("rater", "case"))


def test_archives_are_folders_and_brackets_are_indices(tmp_path):
    np.savez(tmp_path / "m.npz", p1=np.zeros((2, 4, 5)), p10=np.zeros((3, 4, 5)), p2=np.zeros((1, 4, 5)))
    template = Template(tmp_path / "m.npz/{case}[{rater}]", require=("rater", "case"))
    assert fields(template) == [("p1", "0"), ("p1", "1"), ("p2", "0"), ("p10", "0"), ("p10", "1"), ("p10", "2")]
    assert str(template.find()[1].location) == f"{tmp_path}/m.npz/p1[1]"
    assert template.fill(case="p1", rater="1") == template.find()[1].location
    assert fields(Template(tmp_path / "m.npz/{case}")) == [("p1",), ("p2",), ("p10",)]
    with pytest.raises(StudyError, match=r"no array like 'x\{case\}', but p1"):
        Template(tmp_path / "m.npz/x{case}").find()
    with pytest.raises(StudyError, match="is not an index"):
        template.fill(case="p1", rater="A")


def test_an_archive_a_rater(tmp_path):
    for rater in "AB":
        np.savez(tmp_path / f"{rater}.npz", p1=np.zeros((4, 5)))
    assert fields(Template(tmp_path / "{rater}.npz/{case}")) == [("A", "p1"), ("B", "p1")]


def test_indices_of_plain_arrays(tmp_path):
    np.save(tmp_path / "p1.npy", np.zeros((2, 4, 5)))
    assert fields(Template(tmp_path / "{case}.npy[{rater}]")) == [("p1", "0"), ("p1", "1")]
    assert [one.location.index for one in Template(tmp_path / "{case}.npy[1]").find()] == [1]


def test_a_broken_archive_is_a_format_error(tmp_path):
    touch(tmp_path / "m.npz")
    with pytest.raises(FormatError, match=r"m\.npz"):
        Template(tmp_path / "m.npz/{case}").find()


def test_fill_needs_every_field_and_takes_more(tmp_path):
    template = Template("images/{case}.png")
    assert template.fill(case="p1", rater="A") == Location(Path("images/p1.png"))
    with pytest.raises(StudyError, match=r"needs \{case\}"):
        template.fill(rater="A")
    for bad in ("", "..", "a/b", "a\0"):
        with pytest.raises(StudyError, match="cannot stand in a path"):
            template.fill(case=bad)


def test_location_from_text():
    assert Location.of("a/m.npz/p1[3]") == Location(Path("a/m.npz"), "p1", 3)
    assert Location.of("a/m.npz/p1") == Location(Path("a/m.npz"), "p1")
    assert Location.of("a/m.npy[3]") == Location(Path("a/m.npy"), None, 3)
    assert Location.of(Path("a/b[3].png")) == Location(Path("a/b[3].png"))
    for text in ("m.npz", "m.npz/p1", "m.npz/p1[0]", "x.npy[12]", "a[1].png"):
        assert str(Location.of(text)) == text


ODD = st.text("ab1 .[](){}+*^$|\\é漢-_%#&'\"~", min_size=1, max_size=8).filter(lambda s: not s.startswith("."))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sets(st.tuples(ODD, ODD), min_size=1, max_size=6))
def test_fill_then_find_round_trip(tmp_path, pairs):
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    template = Template(folder / "{rater}/m {case}.png")
    for rater, case in pairs:
        touch(template.fill(rater=rater, case=case).path)
    found = template.find()
    assert {(one.fields["rater"], one.fields["case"]) for one in found} == pairs
    assert all(template.fill(**one.fields) == one.location for one in found)

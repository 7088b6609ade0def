"""Names, folders and numbers of reads that are meant, or happen, to do harm: one line, or a study that can be read."""

import base64
import csv
import json
import struct
import tomllib
from pathlib import Path

import pytest

import manytruths as mt
from exchange_reads import read, square
from manytruths import InputError, StudyError
from manytruths.cli import status
from manytruths.core.errors import one_line
from manytruths.exchange import write_cvat
from manytruths.exchange.readings import combine_readings
from manytruths.io.results import lock_folder

NAMES = [
    "a\nb",
    "a\tb",
    "a\u2028b",
    "a\x85b",
    ".hidden",
    "...",
    "x" * 300,
    "\x9b31mX",
    "a{case}b",
    "[a]*",
    "😀",
    "=1+1",
]


def cvat(folder, *reads):
    folder.mkdir(exist_ok=True)
    return [str(path) for path in write_cvat(folder, reads)]


@pytest.mark.parametrize("name", NAMES)
def test_whatever_raters_cases_and_sessions_are_called_the_study_opens(name, tmp_path):
    reads = [
        read(f"{case}.png", rater, [square(3, 4, 9)], (20, 30), session=session)
        for case in (name, "p02")
        for rater in (name, "ben")
        for session in ("1", name)
    ]
    mt.import_study(combine_readings(reads), to=tmp_path / "s")
    study = mt.Study.open(tmp_path / "s")
    assert len(study) == 2
    assert {len(case.read().masks) for case in study} == {4}


def test_parents_are_called_as_their_files(tmp_path):
    first = read("p.png", ".anna", [square(3, 4, 9)], (20, 30))
    second = read("p.png", "ben", [square(3, 4, 8)], (20, 30), based_on=".anna")
    third = read("p.png", "eva", [square(3, 5, 8)], (20, 30))
    mt.import_study(combine_readings([first, second, third]), to=tmp_path / "s")
    with (tmp_path / "s" / "reads.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert {row["based_on"] for row in rows} - {""} <= {row["rater"] for row in rows}
    assert len(mt.Study.open(tmp_path / "s")) == 1


def test_names_that_would_be_one_file_are_refused(tmp_path):
    from manytruths.io import safe_name

    for one, other in ((".a", safe_name(".a")), ("Anna", "anna"), ("a\u2028b", "a\u2029b")):
        reads = [read("p.png", rater, [square(3, 4, 9)], (20, 30)) for rater in (one, other)]
        with pytest.raises(StudyError, match="would be one file"):
            mt.import_study(combine_readings(reads), to=tmp_path / "s")
    reads = [read("p.png", "anna", [square(3, 4, 9)], (20, 30), session=session) for session in ("", "1")]
    with pytest.raises(StudyError, match="2 times in session 1"):
        mt.import_study(combine_readings(reads), to=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_message_is_one_line_whatever_it_names(tmp_path, capsys):
    assert one_line("a\nb\x1b[31m\u202e\u2028ü 😀") == "a\\nb\\x1b[31m\\u202e\\u2028ü 😀"
    paths = [*cvat(tmp_path / "a", read("p.png", "anna", [square(3, 4, 9)], (20, 30)))]
    again = tmp_path / "b\n.xml"
    again.write_bytes(Path(paths[0]).read_bytes())
    named = [f"a\nb\x1b[2J={path}" for path in (*paths, again)]
    assert status(["import", "cvat", *named, "--to", str(tmp_path / "s")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("manytruths: rater a\\nb\\x1b[2J read case p twice")
    assert len(told.splitlines()) == 1


def test_a_label_of_a_plane_beyond_the_first_comes_back(tmp_path):
    name = "l\U0010ffff\U000e0001"
    reads = [read("p.png", rater, [square(3, 4, 9, name)], (20, 30)) for rater in ("anna", "ben")]
    mt.import_study(combine_readings(reads), to=tmp_path / "s")
    assert tomllib.loads((tmp_path / "s" / "study.toml").read_text(encoding="utf-8"))["labels"] == {"1": name}
    assert len(mt.Study.open(tmp_path / "s")) == 1


def test_the_folder_that_one_is_in(tmp_path, monkeypatch, capsys):
    paths = cvat(tmp_path / "e", read("p.png", "anna", [square(3, 4, 9)], (20, 30)))
    home = tmp_path / "here"
    home.mkdir()
    monkeypatch.chdir(home)
    assert status(["import", "cvat", *paths, "--to", "."]) == 0, capsys.readouterr().err
    assert (home / "study.toml").is_file()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["e", "here"]


def test_images_that_somebody_put_there_outlive_a_second_import(tmp_path):
    reads = combine_readings([read("p.png", "anna", [square(3, 4, 9)], (20, 30))])
    mt.import_study(reads, to=tmp_path / "s")
    own = tmp_path / "s" / "images" / "p.png"
    own.parent.mkdir()
    own.write_bytes(b"mine")
    mt.import_study(reads, to=tmp_path / "s", replace=True)
    assert own.read_bytes() == b"mine"


def test_more_reads_than_anybody_has_are_refused(tmp_path):
    reads = [read(f"{k}.png", f"r{k}", [square(1, 1, 3)], (6, 6)) for k in range(1100)]
    with pytest.raises(StudyError, match="1100 cases of 1100 raters are more than"):
        mt.import_study(combine_readings(reads), to=tmp_path / "s")
    assert not (tmp_path / "s").exists()


def test_a_mark_of_the_order_of_bytes_does_no_harm(tmp_path):
    plain = '{"images":[{"id":1,"file_name":"p.png","width":9,"height":9}],"categories":[],"annotations":[]}'
    (tmp_path / "c.json").write_bytes(plain.encode("utf-8-sig"))
    assert status(["import", "coco", str(tmp_path / "c.json"), "--to", str(tmp_path / "s")]) == 0


def test_a_coloured_mask_is_refused_before_it_is_unpacked(tmp_path, capsys):
    header = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">IIBBBBB", 13000, 13000, 8, 6, 0, 0, 0)
    mask = base64.b64encode(header).decode()
    shape = {"label": "l", "shape_type": "mask", "points": [[0, 0], [12999, 12999]], "mask": mask}
    document = {"imagePath": "a.png", "imageWidth": 13000, "imageHeight": 13000, "shapes": [shape]}
    (tmp_path / "m.json").write_text(json.dumps(document))
    assert status(["import", "labelme", str(tmp_path / "m.json"), "--to", str(tmp_path / "s")]) == 1
    assert "RGBA picture, expected grey" in capsys.readouterr().err


def test_two_imports_into_one_folder_do_not_take_each_others_files(tmp_path):
    reads = combine_readings([read("p.png", "anna", [square(3, 4, 9)], (20, 30))])
    with lock_folder(tmp_path / "s"):
        with pytest.raises(InputError, match="another run writes there right now"):
            mt.import_study(reads, to=tmp_path / "s")
        mt.import_study(reads, to=tmp_path / "t")
    assert not (tmp_path / "s").exists()
    mt.import_study(reads, to=tmp_path / "s")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["s", "t"]

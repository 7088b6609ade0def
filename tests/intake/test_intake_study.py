"""Reads become a study: masks, study.toml and reads.csv, or nothing."""

import csv
import zipfile
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from exchange_reads import bits, read, square
from manytruths import Grid, GridError, InputError, StudyError
from manytruths.analyses.importing.tables import READS
from manytruths.exchange.readings import Stored, combine_readings
from manytruths.io import read_mask


def rows(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def three_raters():
    return [
        read("p01.png", "anna", [square(2, 2, 6)], started="2024-05-01T10:00:00", seconds=12.5, tool="CVAT"),
        read("p01.png", "ben", [square(3, 2, 6)]),
        read("p01.png", "Zoë", []),
        read("p02.png", "anna", [square(4, 4, 8)]),
        read("p02.png", "ben", [square(4, 5, 8)], status="unfinished"),
    ]


def test_a_study_of_one_structure(tmp_path):
    mt.import_study(combine_readings(three_raters()), to=tmp_path / "s")
    study = mt.Study.open(tmp_path / "s" / "study.toml")
    assert study.rater_names == ("Zoë", "anna", "ben")
    assert {c.name: sorted(str(k) for k in c.masks) for c in study} == {"p01": ["Zoë", "anna", "ben"], "p02": ["anna"]}
    masks = study["p01"].read().masks
    wanted = np.zeros((20, 30), bool)
    wanted[2:8, 2:8] = True
    assert (next(m for k, m in masks.items() if k.name == "anna").astype(bool) == wanted).all()
    assert study["p01"].labels.names == ("background", "lesion")


def test_the_register_tells_empty_from_unread(tmp_path):
    made = mt.import_study(combine_readings(three_raters()), to=tmp_path / "s")
    table = {(r["case"], r["rater"]): r for r in rows(tmp_path / "s" / "reads.csv")}
    assert list(next(iter(table.values()))) == list(READS)
    statuses = {key: row["status"] for key, row in table.items()}
    assert statuses == {
        ("p01", "anna"): "done", ("p01", "ben"): "done", ("p01", "Zoë"): "empty",
        ("p02", "anna"): "done", ("p02", "ben"): "unfinished", ("p02", "Zoë"): "unread",
    }  # fmt: skip
    first = table["p01", "anna"]
    assert (first["started"], first["seconds"], first["tool"]) == ("2024-05-01T10:00:00", "12.5", "CVAT")
    assert len(first["checksum"]) == 16
    assert table["p02", "ben"]["checksum"] == ""
    assert made.statuses == {"done": 3, "empty": 1, "unread": 1, "unfinished": 1}


def test_unfinished_reads_are_kept_on_request(tmp_path):
    mt.import_study(combine_readings(three_raters()), to=tmp_path / "s", unfinished="keep")
    assert {c.name for c in mt.Study.open(tmp_path / "s")["p02"].masks} == {"anna", "ben"}


def nested():
    """A small nodule drawn inside a large one, over and under it."""
    large, small = square(2, 2, 12, "clustered", order=1), square(4, 4, 4, "calcified", order=0)
    return [read(rater=name, marks=[small, large]) for name in ("anna", "ben")]


def test_overlapping_structures_are_kept_whole(tmp_path):
    mt.import_study(combine_readings(nested()), to=tmp_path / "s")
    home = tmp_path / "s" / "masks" / "anna"
    whole = {name: read_mask(home / name / "p01.png").array for name in ("clustered", "calcified")}
    assert (whole["clustered"].sum(), whole["calcified"].sum()) == (144, 16)
    mask = next(iter(mt.Study.open(tmp_path / "s")["p01"].read().masks.values()))
    assert sorted(np.unique(mask, return_counts=True)[1].tolist()) == [16, 128, 456]


def test_overlapping_structures_by_height(tmp_path):
    mt.import_study(combine_readings(nested()), to=tmp_path / "s", overlap="z")
    home = tmp_path / "s" / "masks" / "anna"
    assert read_mask(home / "clustered" / "p01.png").array.sum() == 144
    assert read_mask(home / "calcified" / "p01.png").array.sum() == 0


def test_overlapping_structures_united(tmp_path):
    mt.import_study(combine_readings(nested()), to=tmp_path / "s", overlap="union")
    assert mt.Study.open(tmp_path / "s").options.foreground == "any"


def test_ranks_come_through(tmp_path):
    reads = [read(rater=r, marks=[square(2, 2, 12, rank=3), square(4, 4, 4, rank=1)]) for r in ("anna", "ben")]
    mt.import_study(combine_readings(reads), to=tmp_path / "s")
    study = mt.Study.open(tmp_path / "s")
    ranks = read_mask(tmp_path / "s" / "ranks" / "anna" / "p01.png").array
    assert (ranks[5, 5], ranks[3, 3], ranks[0, 0]) == (1, 3, 0)
    assert set(study["p01"].ranks) == set(study["p01"].masks)


def test_ranks_that_some_marks_lack(tmp_path):
    reads = [read(marks=[square(2, 2, 12, rank=3), square(4, 4, 4)]), read(rater="ben")]
    with pytest.raises(InputError, match=r"anna\.xml: case p01, rater anna: a lesion has no rank, .*--no-rank-maps"):
        mt.import_study(combine_readings(reads), to=tmp_path / "s")
    assert not (tmp_path / "s").exists()
    mt.import_study(combine_readings(reads), to=tmp_path / "s", rank_maps=False)
    assert not (tmp_path / "s" / "ranks").exists()


def test_sessions(tmp_path):
    reads = [
        read(marks=[square(k, 2, 6)], rater=r, session=s)
        for k, (r, s) in enumerate([("anna", "a"), ("anna", "b"), ("ben", "")])
    ]
    mt.import_study(combine_readings(reads), to=tmp_path / "s")
    found = [(column.name, column.session) for column in mt.Study.open(tmp_path / "s").columns]
    assert found == [("anna", "a"), ("anna", "b"), ("ben", "1")]


def test_images_come_along(tmp_path):
    Image.fromarray(np.zeros((20, 30), np.uint8)).save(tmp_path / "p01.png")
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.write(tmp_path / "p01.png", "images/p02.png")
    reads = [read("p01.png", r, [square(2, 2, 6)], picture=Stored(tmp_path / "p01.png")) for r in ("anna", "ben")] + [
        read("p02.png", "anna", [square(2, 2, 6)], picture=Stored(tmp_path / "x.zip", "images/p02.png"))
    ]
    mt.import_study(combine_readings(reads), to=tmp_path / "s")
    study = mt.Study.open(tmp_path / "s")
    assert [case.picture().shape for case in study] == [(20, 30), (20, 30)]


def test_an_image_size_that_lies(tmp_path):
    Image.fromarray(np.zeros((20, 31), np.uint8)).save(tmp_path / "p01.png")
    reads = [read("p01.png", "anna", [square(2, 2, 6)], picture=Stored(tmp_path / "p01.png")), read(rater="ben")]
    with pytest.raises(GridError, match=r"case p01: anna\.xml says that its image has 30 × 20 pixels, .* 31 × 20"):
        mt.import_study(combine_readings(reads), to=tmp_path / "s")
    assert not (tmp_path / "s").exists()
    assert [p.name for p in tmp_path.iterdir()] == ["p01.png"]


def test_names_of_every_kind(tmp_path):
    odd = 'Ödem "{x}" [1]'
    reads = [read(f"fall {odd}.png", r, [square(2, 2, 6, odd), square(1, 1, 3, "b c")]) for r in ("Ann é", "{ben}")]
    mt.import_study(combine_readings(reads), to=tmp_path / "s {a}")
    study = mt.Study.open(tmp_path / "s {a}")
    assert study.rater_names == ("Ann é", "{ben}")
    assert [c.name for c in study] == [f"fall {odd}"]
    assert next(iter(study.tally().values())).labels.names[1:] == ("b c", odd)
    assert {c.read().grid.shape for c in study} == {(20, 30)}


def test_raters_whose_names_are_no_files(tmp_path):
    reads = [read("p01.png", rater, [square(2, 2, 6)]) for rater in (".anna", "b\ten", "x" * 300)]
    reads[1] = replace(reads[1], based_on=".anna")
    mt.import_study(combine_readings(reads), to=tmp_path / "s")
    (case,) = mt.Study.open(tmp_path / "s")
    assert (len(case.masks), len(case.edits)) == (2, 1)


@pytest.mark.parametrize("overlap", ["smaller", "z"])
def test_marks_that_do_not_fit_into_memory_together(tmp_path, monkeypatch, overlap):
    marks = [square(k, k, 9, "ab"[k % 2], rank=k + 1, order=-k) for k in range(6)]
    reads = [read("p01.png", "anna", marks), read("p01.png", "ben", marks)]
    rows = [mt.import_study(combine_readings(reads), to=tmp_path / "held", overlap=overlap).tables["reads"].records()]
    monkeypatch.setattr("manytruths.analyses.importing.masks.HELD", 100)
    rows += [mt.import_study(combine_readings(reads), to=tmp_path / "drawn", overlap=overlap).tables["reads"].records()]
    assert rows[0] == rows[1]
    ranks = [(tmp_path / name / "ranks" / "anna" / "p01.png").read_bytes() for name in ("held", "drawn")]
    assert ranks[0] == ranks[1]


def test_names_that_differ_in_capitals_alone(tmp_path):
    reads = [read(rater="anna", marks=[square(1, 1, 3)]), read(rater="Anna", marks=[square(1, 1, 3)])]
    with pytest.raises(StudyError, match="would be one file on many disks"):
        mt.import_study(combine_readings(reads), to=tmp_path / "s")


def test_a_folder_that_holds_something(tmp_path):
    found = combine_readings(three_raters())
    home = tmp_path / "s"
    home.mkdir()
    (home / "thesis.tex").touch()
    with pytest.raises(InputError, match=r"holds thesis\.tex; choose an empty"):
        mt.import_study(found, to=home, replace=True)
    (home / "thesis.tex").unlink()
    mt.import_study(found, to=home)
    (home / "thesis.tex").touch()
    with pytest.raises(
        InputError,
        match="holds an earlier import; add what is new with --update, or put this one in its place with --replace",
    ):
        mt.import_study(found, to=home)
    mt.import_study(combine_readings(nested()), to=home, replace=True)
    assert mt.Study.open(home).rater_names == ("anna", "ben")
    assert sorted(p.name for p in home.iterdir()) == [
        "images.csv",
        "imported.json",
        "masks",
        "reads.csv",
        "study.toml",
        "thesis.tex",
    ]
    (tmp_path / "f").touch()
    with pytest.raises(InputError, match="is a file"):
        mt.import_study(found, to=tmp_path / "f")


def test_volumes(tmp_path):
    volume = np.zeros((6, 7, 4), bool)
    volume[2:4, 3:5, 1] = True
    affine = ((-0.5, 0, 0, 10), (0, -0.5, 0, 20), (0, 0, 3.0, -7), (0, 0, 0, 1))
    from manytruths.exchange.outlines import Whole
    from manytruths.exchange.readings import Mark, Reading

    grid = Grid(volume.shape, None, affine)
    reads = [Reading("p1", r, grid, (Mark("nodule", Whole(volume)),), subject="s1") for r in ("anna", "ben")]
    mt.import_study(combine_readings(reads), to=tmp_path / "s")
    study = mt.Study.open(tmp_path / "s")
    reading = study["p1"].read()
    assert (np.asarray(next(iter(reading.masks.values()))) == volume).all()
    assert not reading.grid.difference(grid)
    assert study.subjects == ("s1",)


def test_pixels_do_not_depend_on_the_number_of_processes(tmp_path):
    found = combine_readings(three_raters())
    for jobs in (1, 2):
        mt.import_study(found, to=tmp_path / str(jobs), jobs=jobs)
    one, two = (
        {p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*") if p.is_file()} for n in "12"
    )
    assert one == two


def test_what_is_worth_knowing(tmp_path):
    same = [read(rater=r, marks=[square(2, 2, 6), square(40, 40, 3)]) for r in ("anna", "ben")]
    notes = mt.import_study(combine_readings([*same, read(rater="eva")]), to=tmp_path / "s").notes
    assert any("2 marks hold no pixel's centre" in note for note in notes)
    assert any("no mark of eva in p01: counted as read and found empty" in note for note in notes)
    assert any("anna and ben have identical masks in 1 of the cases" in note and "based_on" in note for note in notes)


def test_nobody_finished(tmp_path):
    with pytest.raises(StudyError, match="--unfinished keep"):
        mt.import_study(combine_readings([read(marks=[bits([[1]])], status="unfinished")]), to=tmp_path / "s")

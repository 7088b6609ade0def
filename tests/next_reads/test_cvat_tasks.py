"""Tasks for CVAT: backups as CVAT's source has them, in order, with their images; and read back when they were done."""

from __future__ import annotations

import json
import zipfile

import jsonschema
import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from exchange_reads import read, square
from manytruths.cli import status
from manytruths.exchange import ImportOptions, read_cvat, write_cvat

LABEL = {
    "type": "object",
    "required": ["name", "color", "attributes", "type", "sublabels"],
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 64},
        "color": {"type": "string", "pattern": "^#[0-9a-f]{6}$"},
        "attributes": {"const": []},
        "type": {"const": "any"},
        "sublabels": {"const": []},
    },
    "additionalProperties": False,
}
FRAME = {"type": "integer", "minimum": 0}
DATA = {
    "image_quality": {"type": "integer", "minimum": 1, "maximum": 100},
    "start_frame": FRAME,
    "stop_frame": FRAME,
    "storage_method": {"enum": ["cache", "file_system"]},
    "storage": {"const": "local"},
    "sorting_method": {"const": "predefined"},
    "chunk_type": {"const": "imageset"},
    "deleted_frames": {"const": []},
}
JOB = {
    "status": {"enum": ["annotation", "validation", "completed"]},
    "type": {"const": "annotation"},
    "start_frame": FRAME,
    "stop_frame": FRAME,
}


def closed(properties):
    return {"type": "object", "required": [*properties], "properties": properties, "additionalProperties": False}


TASK = closed(
    {
        "name": {"type": "string", "minLength": 1, "maxLength": 256},
        "bug_tracker": {"type": "string"},
        "status": JOB["status"],
        "subset": {"type": "string"},
        "labels": {"type": "array", "items": LABEL},
        "version": {"const": "1.0"},
        "data": closed(DATA),
        "jobs": {"type": "array", "items": closed(JOB), "minItems": 1, "maxItems": 1},
    }
)
"""What CVAT's importer of backups takes; every key beside these it drops."""
NOTHING = [{"version": 0, "tags": [], "shapes": [], "tracks": []}]


def opened(path):
    """The task and the images of a backup by name, in the order in which CVAT shows them."""
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        task = json.loads(archive.read("task.json"))
        jsonschema.Draft202012Validator(TASK).validate(task)
        assert json.loads(archive.read("annotations.json")) == NOTHING
        version, kind, *lines = map(json.loads, archive.read("data/manifest.jsonl").decode().splitlines())
        assert (version, kind) == ({"version": "1.1"}, {"type": "images"})
        members = set(archive.namelist()) - {"task.json", "annotations.json", "data/manifest.jsonl"}
        images = {}
        for line in lines:
            assert list(line) == ["name", "extension", "width", "height"]
            name = line["name"] + line["extension"]
            with archive.open(f"data/{name}") as member, Image.open(member) as image:
                assert image.size == (line["width"], line["height"])
                images[name] = np.asarray(image)
        # CVAT refuses files that the manifest does not list
        assert members == {f"data/{name}" for name in images}
    assert task["data"]["stop_frame"] == task["jobs"][0]["stop_frame"] == len(images) - 1
    return task, images


def pictures(folder, names, size=(6, 9)):
    for k, name in enumerate(names):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.full(size, 10 * k, np.uint8)).save(path)
    return folder


def test_tasks_of_a_design(tmp_path):
    pictures(tmp_path / "images", [f"p{k}.png" for k in range(6)])
    template = str(tmp_path / "images/{case}.png")
    given = {"per_case": 2, "shared": 2, "labels": {1: "lesion", 2: "vessel"}}
    made = mt.assign(template, ["anna", "dr. ben/x"], tasks="cvat", out=tmp_path / "out", **given)
    assert not any("no labels" in note for note in made.notes)
    files = sorted((tmp_path / "out" / "assign" / "cvat").iterdir())
    tasks = dict(opened(path)[0]["name"] and (opened(path)[0]["name"], opened(path)) for path in files)
    assert set(tasks) == {"anna", "dr. ben/x"}
    for rater, (task, images) in tasks.items():
        wanted = sorted((one for one in made.readings if one.rater == rater), key=lambda one: one.order)
        assert list(images) == [f"{one.case}.png" for one in wanted]
        assert [int(image[0, 0]) for image in images.values()] == [10 * int(one.case[1:]) for one in wanted]
        assert [label["name"] for label in task["labels"]] == ["lesion", "vessel"]
        assert len({label["color"] for label in task["labels"]}) == 2
    # the same plan makes the same bytes
    before = files[0].read_bytes()
    mt.assign(template, ["anna", "dr. ben/x"], tasks="cvat", out=tmp_path / "out", **given)
    assert files[0].read_bytes() == before


def test_without_labels_it_is_said(tmp_path):
    pictures(tmp_path, ["p1.png", "p2.png"])
    made = mt.assign(str(tmp_path / "{case}.png"), ["anna"], tasks="cvat", out=tmp_path / "out")
    assert "the tasks have no labels: name them (--labels 1=NAME), or add them in CVAT" in made.notes
    task, _ = opened(tmp_path / "out" / "assign" / "cvat" / "anna.zip")
    assert task["labels"] == []


def test_tasks_that_were_done_come_back(tmp_path):
    """Under the names that CVAT had before, in the order of the plan, by somebody who is not assigned."""
    names = [f"upload/p{k}.png" for k in range(3)]
    folder = pictures(tmp_path / "images", names, (12, 12))
    reads = [read(name, rater, [square(k, 2, 6)]) for k, name in enumerate(names) for rater in ("anna", "ben")][:-2]
    reads += [read(names[2], rater, status="unread") for rater in ("anna", "ben")]
    mt.import_study(reads, to=tmp_path / "study", images=str(folder / "upload/{case}.png"))
    asked = ["next", str(tmp_path / "study"), "--tasks", "cvat", "--out", str(tmp_path / "out")]
    assert status(asked) == 0
    backups = sorted((tmp_path / "out" / "next" / "cvat").iterdir())
    assert [path.name for path in backups] == ["anna.zip", "ben.zip"]
    done = []
    for path in backups:
        task, images = opened(path)
        assert list(images) == ["upload/p2.png"]
        assert [label["name"] for label in task["labels"]] == [square(0, 2, 6).label]
        # as CVAT calls the export of a task that nobody is assigned to
        file = tmp_path / f"task_{task['name']}_annotations_2026_03_01_10_00_00_cvat for images 1.1.zip"
        write_cvat(file, [read("upload/p2.png", "", [square(3, 2, 6)])])
        done.append(file)
    made = mt.import_study("cvat", [str(path) for path in done], to=tmp_path / "study", update=True)
    assert made.changes == {"added": 2, "elsewhere": 4}
    assert mt.next_reads(tmp_path / "study").describe() == "no reading is open: all 6 are done"


def test_a_task_that_nobody_began_is_read_as_unread(tmp_path):
    pictures(tmp_path, ["p1.png", "p2.png"])
    made = mt.assign(str(tmp_path / "{case}.png"), ["anna"], tasks="cvat", out=tmp_path / "out")
    reads = read_cvat(tmp_path / "out" / "assign" / "cvat" / "anna.zip", ImportOptions(blank="unread"))
    assert [(one.image, one.rater, one.status) for one in reads] == [
        (f"{one.case}.png", "anna", "unread") for one in made.readings
    ]
    assert all(one.picture.member == f"data/{one.image}" for one in reads)


def test_images_of_one_name_are_called_as_their_cases(tmp_path):
    folder = pictures(tmp_path, [f"{case}/scan.png" for case in ("p1", "p2")])
    for case, rater in (("p1", "A"), ("p1", "B"), ("p2", "A")):
        pictures(tmp_path / "masks", [f"{rater}/{case}.png"])
    study = mt.Study.open(str(tmp_path / "masks/{rater}/{case}.png"), images=str(folder / "{case}/scan.png"))
    mt.next_reads(study, tasks="cvat", out=tmp_path / "out")
    _, images = opened(tmp_path / "out" / "next" / "cvat" / "B.zip")
    assert list(images) == ["p2.png"]


def test_a_turned_image_has_the_size_that_is_shown(tmp_path):
    exif = Image.Exif()
    exif[274] = 6
    Image.fromarray(np.zeros((6, 9), np.uint8)).save(tmp_path / "p1.jpg", exif=exif)
    mt.assign(str(tmp_path / "{case}.jpg"), ["anna"], tasks="cvat", out=tmp_path / "out")
    with zipfile.ZipFile(tmp_path / "out" / "assign" / "cvat" / "anna.zip") as archive:
        last = json.loads(archive.read("data/manifest.jsonl").decode().splitlines()[-1])
    assert (last["width"], last["height"]) == (6, 9)


def test_images_that_are_not_there_are_told_in_one_line(tmp_path, capsys):
    out = ["--tasks", "cvat", "--out", str(tmp_path / "out")]
    (tmp_path / "cases.csv").write_text("case\np1\np2\n", encoding="utf-8")
    assert status(["assign", str(tmp_path / "cases.csv"), "--ask", "anna", *out]) != 0
    told = " ".join(capsys.readouterr().err.split())
    assert "its image is not there, and a CVAT task holds its images; say where they are" in told
    done = [read(f"p{k}.png", rater, [square(1, 2, 6)]) for k, rater in ((1, "anna"), (2, "anna"), (2, "ben"))]
    mt.import_study(done, to=tmp_path / "study")
    assert status(["next", str(tmp_path / "study"), *out]) != 0
    assert "case p1: its image is not there" in " ".join(capsys.readouterr().err.split())
    assert not (tmp_path / "out").exists() or not list((tmp_path / "out").rglob("*.zip"))


def test_what_cvat_cannot_hold_is_refused(tmp_path):
    np.save(tmp_path / "p1.npy", np.zeros((5, 5), np.uint8))
    with pytest.raises(mt.InputError, match=r"p1\.npy: CVAT takes images as files \.png, \.jpg"):
        mt.assign(str(tmp_path / "{case}.npy"), ["anna"], tasks="cvat", out=tmp_path / "out")
    pictures(tmp_path, ["p1.png"])
    for wrong, told in (
        ({"ask": ["a" * 300]}, "CVAT takes 256 characters"),
        ({"ask": ["anna"], "labels": {1: "b" * 65}}, "CVAT takes 64 characters"),
    ):
        with pytest.raises(mt.InputError, match=told):
            mt.assign(str(tmp_path / "{case}.png"), tasks="cvat", out=tmp_path / "out", **wrong)
    (tmp_path / "p2.png").write_bytes(b"no image")
    with pytest.raises(mt.FormatError, match=r"p2\.png"):
        mt.assign(str(tmp_path / "{case}.png"), ["anna"], tasks="cvat", out=tmp_path / "out")

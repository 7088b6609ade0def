"""Backups of tasks of CVAT: the same marks as its exports, and what a backup does not say is not made up."""

from __future__ import annotations

import io
import json
import zipfile

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from manytruths.exchange import ImportOptions, read_cvat

MANIFEST = [
    {"version": "1.1"},
    {"type": "images"},
    {"name": "a/p1", "extension": ".png", "width": 30, "height": 20, "meta": {"related_images": []}},
    {"name": "p2", "extension": ".png", "width": 30, "height": 20},
    {"name": "p3", "extension": ".png", "width": 30, "height": 20},
]


def shape(kind, points, frame=0, **more):
    usual = {"occluded": False, "outside": False, "z_order": 0, "rotation": 0.0, "group": 0, "source": "manual"}
    return (
        usual
        | {"type": kind, "points": points, "frame": frame, "attributes": [], "elements": [], "label": "lesion"}
        | more
    )


def job(start=0, stop=2, **more):
    return {"status": "annotation", "type": "annotation", "start_frame": start, "stop_frame": stop} | more


def backup(path, parts, *, jobs=None, data=None, manifest=MANIFEST, drop=()):
    """An archive as CVAT writes it; ``parts`` are the annotations of each job."""
    picture = io.BytesIO()
    Image.fromarray(np.zeros((20, 30), np.uint8)).save(picture, "PNG")
    about = {"start_frame": 0, "stop_frame": 2, "deleted_frames": [], "storage": "local"} | (data or {})
    task = {"name": "Anna B", "status": "annotation", "labels": [], "version": "1.0", "data": about}
    files = {
        "task.json": json.dumps(task | {"jobs": [job()] if jobs is None else jobs}),
        "annotations.json": json.dumps(
            [{"version": 0, "tags": [], "shapes": [], "tracks": []} | part for part in parts]
        ),
        "data/manifest.jsonl": "\n".join(map(json.dumps, manifest)) + "\n",
        "data/a/p1.png": picture.getvalue(),
        "data/p2.png": picture.getvalue(),
        "data/p3.png": picture.getvalue(),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            if name not in drop:
                archive.writestr(name, content)
    return path


SHAPES = [
    shape("polygon", [2.0, 3.0, 12.5, 3.25, 7.0, 15.0], z_order=2, occluded=True, group=3),
    shape("rectangle", [4.0, 4.0, 20.0, 10.0], rotation=30.0, attributes=[{"name": "rank", "value": "2"}]),
    shape("ellipse", [15.0, 10.0, 22.0, 6.0], label="vessel", attributes=[{"name": "sure", "value": "no"}]),
    shape("mask", [2.0, 3.0, 4.0, 5.0, 3.0, 9.0, 9.0, 10.0], label="vessel"),
]
"""The last has a frame of 7 × 2 from column 3, row 9: run lengths, then its first and last column and row."""
XML = """<annotations><version>1.1</version><meta></meta><image id="0" name="a/p1.png" width="30" height="20">
<polygon label="lesion" source="manual" occluded="1" group_id="3" points="2.0,3.0;12.5,3.25;7.0,15.0" z_order="2"/>
<box label="lesion" source="manual" occluded="0" xtl="4" ytl="4" xbr="20" ybr="10" rotation="30" z_order="0">
<attribute name="rank">2</attribute></box>
<ellipse label="vessel" source="manual" occluded="0" cx="15" cy="10" rx="7" ry="4" z_order="0">
<attribute name="sure">no</attribute></ellipse>
<mask label="vessel" source="manual" occluded="0" rle="2, 3, 4, 5" left="3" top="9" width="7" height="2" z_order="0"/>
</image></annotations>"""


def test_the_marks_of_a_backup_are_those_of_the_export(tmp_path):
    (tmp_path / "anna.xml").write_text(XML, encoding="utf-8")
    (wanted,) = read_cvat(tmp_path / "anna.xml")
    found, *others = read_cvat(backup(tmp_path / "anna.zip", [{"shapes": SHAPES}]))
    assert (found.image, found.rater, found.status, found.grid) == ("a/p1.png", "anna", "done", wanted.grid)
    assert len(found.marks) == len(wanted.marks) == 4
    for mine, theirs in zip(found.marks, wanted.marks, strict=True):
        assert (mine.label, mine.order, mine.rank, mine.attributes) == (
            theirs.label, theirs.order, theirs.rank, theirs.attributes,
        )  # fmt: skip
        for (window, inside), (other, pixels) in [(m.outline.pixels((20, 30)) for m in (mine, theirs))]:
            assert window == other
            assert inside.any()
            np.testing.assert_array_equal(inside, pixels)
    assert [(one.image, one.status, one.marks) for one in others] == [(f"p{k}.png", "empty", ()) for k in (2, 3)]
    assert {one.picture.member for one in (found, *others)} == {"data/a/p1.png", "data/p2.png", "data/p3.png"}


def test_what_was_opened_and_what_is_no_area(tmp_path):
    parts = [{"tags": [{"frame": 1, "label": "odd", "group": 0, "source": "manual", "attributes": []}],
              "shapes": [shape("points", [3.0, 4.0], 2), shape("cuboid", [1.0] * 16, 2)]}]  # fmt: skip
    reads = read_cvat(backup(tmp_path / "anna.zip", parts), ImportOptions(blank="unread"))
    assert [one.status for one in reads] == ["unread", "empty", "empty"]
    assert reads[2].left_out == {"points": 1, "cuboid": 1}


@pytest.mark.parametrize(
    ("name", "rater"),
    [
        ("anna.zip", "anna"),
        ("task_anna b_backup_2026_03_01_10_00_00.zip", "Anna B"),
        ("task_anna b_backup-lightweight_2026_03_01_10_00_00.zip", "Anna B"),
        ("task_anna b_backup of today.zip", "task_anna b_backup of today"),
    ],
)
def test_whose_it_is(tmp_path, name, rater):
    path = backup(tmp_path / name, [{}])
    assert {one.rater for one in read_cvat(path)} == {rater}
    assert {one.rater for one in read_cvat(f"ben={path}")} == {"ben"}


def test_several_jobs_and_deleted_frames(tmp_path):
    parts = [{"shapes": [shape("rectangle", [1.0, 1.0, 5.0, 5.0], 1)]},
             {"shapes": [shape("rectangle", [2.0, 1.0, 5.0, 5.0], 2), shape("points", [1.0, 1.0], 0)]}]  # fmt: skip
    jobs = [job(0, 1), job(2, 2)]
    reads = read_cvat(backup(tmp_path / "anna.zip", parts, jobs=jobs, data={"deleted_frames": [0]}))
    assert [(one.image, len(one.marks)) for one in reads] == [("p2.png", 1), ("p3.png", 1)]
    # a job may list its files in an order of its own
    jobs = [job(0, 2, files=["p3.png", "a/p1.png", "p2.png"])]
    reads = read_cvat(backup(tmp_path / "anna.zip", parts[:1], jobs=jobs, data={"custom_segments": True}))
    assert [(one.image, len(one.marks)) for one in reads] == [("p3.png", 0), ("a/p1.png", 1), ("p2.png", 0)]


def test_a_backup_becomes_a_study_with_its_images(tmp_path):
    files = [backup(tmp_path / f"{rater}.zip", [{"shapes": SHAPES[:1]}]) for rater in ("anna", "ben")]
    made = mt.import_study("cvat", [str(path) for path in files], to=tmp_path / "study")
    assert made.study().rater_names == ("anna", "ben")
    assert all(case.image is not None and case.image.path.is_file() for case in made.study())


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"parts": [{}, {}]}, "holds 1 jobs and annotations of 2"),
        ({"parts": [{"tracks": [{"frame": 0}]}]}, "holds tracks, which are of videos"),
        ({"parts": [{}, {}], "jobs": [job(), job(type="consensus_replica")]},
         "holds a job of the type 'consensus replica', and not whose it is"),
        ({"parts": [{}, {}], "jobs": [job(0, 1), job(1, 2)]}, "'p2.png' is in two jobs"),
        ({"parts": [{}], "jobs": [job(0, 1, files=["p2.png", "p2.png"])]}, "'p2.png' is there 2 times"),
        ({"parts": [{}], "jobs": [job(0, 1, files=["p2.png"])]}, "is damaged, or not a file of this tool"),
        ({"parts": [{}], "jobs": [job(0, 10**12)]}, "has frames 0 to 3, and 3 images"),
        ({"parts": [{}], "jobs": [job(-5, 1)]}, "has frames -5 to -2, and 3 images"),
        ({"parts": [{}], "jobs": []}, "holds 0 jobs and annotations of 1"),
        ({"parts": [{}], "data": {"start_frame": 5}}, "leaves out frames of its images"),
        ({"parts": [{}], "data": {"frame_filter": "step=2"}}, "leaves out frames of its images"),
        ({"parts": [{"shapes": [shape("rectangle", [1.0, 1.0, 5.0, 5.0], 7)]}]}, "frame 7: no image has that number"),
        ({"parts": [{"shapes": [shape("rectangle", [1.0, 1.0, 5.0])]}]}, "shape 1 of frame 0: is damaged"),
        ({"parts": [{"shapes": [shape("polygon", [1.0] * 7)]}]}, "shape 1 of frame 0: is damaged"),
        ({"parts": [{"shapes": [shape("mask", [3.0])]}]}, "shape 1 of frame 0: is damaged"),
        ({"parts": [{}], "drop": ["data/manifest.jsonl"]}, "holds no data/manifest.jsonl with the names of the images"),
        ({"parts": [{}], "drop": ["annotations.json"]}, "annotations.json: is damaged"),
        ({"parts": [{}], "manifest": [{"version": "1.1"}, {"type": "video"}, {}]}, "lists no images"),
        ({"parts": [{}], "manifest": [*MANIFEST[:2], {"name": "p1", "extension": ".png"}], "jobs": [job(0, 0)]},
         "does not say how large 'p1.png' is"),
    ],
)  # fmt: skip
def test_what_cannot_be_read_is_told_in_one_line(tmp_path, given, told):
    with pytest.raises(mt.InputError, match=told) as error:
        read_cvat(backup(tmp_path / "anna.zip", **given))
    assert "\n" not in str(error.value)
    assert "anna.zip" in str(error.value)


def test_a_backup_of_a_project_is_named(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("project.json", "{}")
    with pytest.raises(mt.FormatError, match="is a backup of a project; make one of each task"):
        read_cvat(tmp_path / "all.zip")

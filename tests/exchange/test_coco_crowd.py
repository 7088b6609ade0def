"""Outlines that a crowd drew on real photographs, through COCO and back."""

from __future__ import annotations

import csv
import json
from collections import defaultdict

import pytest

from data_folder import data
from manytruths import Grid, InputError
from manytruths.exchange.coco import read_coco, write_coco
from manytruths.exchange.outlines import Polygon
from manytruths.exchange.readings import Mark, Reading


def table(name):
    with open(data("crowd", name), newline="") as file:
        return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def crowd():
    """One read for each worker and image that he drew on; two outlines are none."""
    images = {row["id"]: row["filename"] for row in table("image.csv")}
    sizes = {row["filename"]: (int(row["height"]), int(row["width"])) for row in table("image_sizes.csv")}
    objects = {row["id"]: row for row in table("object.csv")}
    marks, unusable = defaultdict(list), 0
    for row in table("bounding_box.csv"):
        thing = objects[row["object_id"]]
        try:
            ring = list(zip(json.loads(row["x_locs"]), json.loads(row["y_locs"]), strict=True))
            mark = Mark(f"{thing['name']} {thing['id']}", Polygon.of([ring]))
            marks[f"worker-{row['worker_id']}", images[thing["image_id"]]].append(mark)
        except (InputError, ValueError):
            unusable += 1
    assert unusable == 2
    return [
        Reading(f"{image}.jpg", worker, Grid(sizes[image]), tuple(own))
        for (worker, image), own in sorted(marks.items())
    ]


def same(reads, again):
    found = {(one.rater, one.image): one for one in again}
    assert len(found) == len(again)
    assert found.keys() == {(one.rater, one.image) for one in reads}
    for one in reads:
        other = found[one.rater, one.image]
        assert other.grid.shape == one.grid.shape
        assert [(m.label, m.outline.rings[0].tolist()) for m in one.marks] == [
            (m.label, m.outline.rings[0].tolist()) for m in other.marks
        ]
    return sum(len(one.marks) for one in again)


def test_one_file_with_an_annotator_field(tmp_path, crowd):
    write_coco(tmp_path / "crowd.json", crowd)
    assert same(crowd, read_coco(tmp_path / "crowd.json")) == len(table("bounding_box.csv")) - 2


@pytest.mark.slow
def test_one_file_a_worker(tmp_path, crowd):
    workers = defaultdict(list)
    for one in crowd:
        workers[one.rater].append(one)
    for worker, own in workers.items():
        write_coco(tmp_path / f"{worker}.json", own)
        plain = json.loads((tmp_path / f"{worker}.json").read_text())
        for image in plain["images"]:
            del image["reads"]  # as other programs write it
        (tmp_path / f"{worker}.json").write_text(json.dumps(plain))
    assert same(crowd, read_coco(tmp_path)) == len(table("bounding_box.csv")) - 2
    assert same(crowd, read_coco(tmp_path / "{rater}.json")) == len(table("bounding_box.csv")) - 2


@pytest.mark.slow
def test_as_run_lengths_no_pixel_differs(tmp_path, crowd):
    write_coco(tmp_path / "crowd.json", crowd, exact=True)
    found = {(one.rater, one.image): one for one in read_coco(tmp_path / "crowd.json")}
    for one in crowd:
        mine, theirs = one.structures(), found[one.rater, one.image].structures()
        assert mine.keys() == theirs.keys()
        assert all((mine[label] == theirs[label]).all() for label in mine)

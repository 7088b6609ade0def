"""Outlines that a crowd drew on real photographs, through CVAT and back."""

from __future__ import annotations

import csv
import json
from collections import defaultdict

import pytest

from data_folder import data
from manytruths import Grid, InputError
from manytruths.exchange.cvat import read_cvat, write_cvat
from manytruths.exchange.outlines import Polygon
from manytruths.exchange.readings import Mark, Reading


def table(name: str) -> list[dict[str, str]]:
    with open(data("crowd", name), newline="") as file:
        return list(csv.DictReader(file))


def crowd() -> tuple[list[Reading], int]:
    """One read for each worker and image that he drew on, and how many outlines were none."""
    images = {row["id"]: row["filename"] for row in table("image.csv")}
    sizes = {row["filename"]: (int(row["height"]), int(row["width"])) for row in table("image_sizes.csv")}
    objects = {row["id"]: row for row in table("object.csv")}
    marks, unusable = defaultdict[tuple[str, str], list[Mark]](list), 0
    for row in table("bounding_box.csv"):
        thing = objects[row["object_id"]]
        try:
            ring = list(zip(json.loads(row["x_locs"]), json.loads(row["y_locs"]), strict=True))
            outline = Polygon.of([ring])
        except (InputError, ValueError):
            unusable += 1
            continue
        name = f"{thing['name']} {thing['id']}"
        marks[row["worker_id"], images[thing["image_id"]]].append(
            Mark(name, outline, attributes={"object": thing["id"]})
        )
    reads = [
        Reading(f"{image}.jpg", f"worker-{worker}", Grid(sizes[image]), tuple(own))
        for (worker, image), own in sorted(marks.items())
    ]
    return reads, unusable


@pytest.mark.slow
def test_every_outline_comes_back(tmp_path):
    reads, unusable = crowd()
    assert unusable == 2
    files = write_cvat(tmp_path / "crowd", reads)
    assert len(files) == len({read.rater for read in reads})
    back = {(read.rater, read.image): read for read in read_cvat(tmp_path / "crowd")}
    assert back.keys() == {(read.rater, read.image) for read in reads}
    outlines = 0
    for read in reads:
        other = back[read.rater, read.image]
        assert other.grid == read.grid
        for mine, theirs in zip(read.marks, other.marks, strict=True):
            assert isinstance(mine.outline, Polygon)
            assert isinstance(theirs.outline, Polygon)
            assert (mine.label, dict(mine.attributes)) == (theirs.label, dict(theirs.attributes))
            assert mine.outline.rings[0].tolist() == theirs.outline.rings[0].tolist()
            outlines += 1
        masks, others = read.structures(), other.structures()
        assert masks.keys() == others.keys()
        assert all((masks[label] == others[label]).all() for label in masks)
    assert outlines == len(table("bounding_box.csv")) - 2

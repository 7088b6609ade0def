"""LabelMe's files come back as they were."""

from __future__ import annotations

import base64
import io
import json
import pickle
from dataclasses import replace
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

from exchange_reads import bits, read, square
from json_exports import come_back, panels
from manytruths import CallError, InputError
from manytruths.exchange.coco import read_coco, write_coco
from manytruths.exchange.labelme import read_labelme, write_labelme
from manytruths.exchange.labelstudio import read_labelstudio, write_labelstudio
from manytruths.exchange.outlines import Polygon, UnitedOutline
from manytruths.exchange.readings import Mark

again = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def drawn(reads):
    """Without marks that hold no pixel, which are no shapes of LabelMe unless they are polygons."""
    return [
        replace(one, marks=tuple(m for m in one.marks if m.outline.pixels(one.grid.shape)[1].any())) for one in reads
    ]


@again
@given(panels(), st.booleans())
def test_everything_comes_back(tmp_path_factory, reads, exact):
    folder = tmp_path_factory.mktemp("labelme")
    write_labelme(folder, reads, exact=exact)
    files = sorted(folder.rglob("*.json"))
    assert len(files) == len(reads)
    found = read_labelme(folder) if reads else []
    come_back(drawn(reads), drawn(found), lambda name: PurePosixPath(name).name)


def test_a_mask_reaches_from_a_pixel_to_a_pixel(tmp_path):
    """As LabelMe's own reader has it: both corners are inside."""
    mask = np.array([[1, 0, 1], [0, 1, 1]], bool)
    write_labelme(tmp_path, [read(marks=[bits(mask, top=4, left=7), square(1, 1, 3, rank=2)])])
    found = json.loads((tmp_path / "anna" / "p01.json").read_text())
    shape, polygon = found["shapes"]
    assert (found["imagePath"], found["imageWidth"], found["imageHeight"]) == ("p01.png", 30, 20)
    assert (shape["shape_type"], shape["points"]) == ("mask", [[7, 4], [9, 5]])
    assert (np.asarray(Image.open(io.BytesIO(base64.b64decode(shape["mask"])))).astype(bool) == mask).all()
    assert (polygon["shape_type"], polygon["rank"]) == ("polygon", 2)
    assert polygon["points"] == [[1, 1], [4, 1], [4, 4], [1, 4]]


def test_what_is_said_of_a_read_comes_back(tmp_path):
    told = {"session": "2", "based_on": "unet", "tool": "CVAT", "started": "2024-05-01 10:00", "seconds": 12.5}
    write_labelme(tmp_path, [read(marks=[square(1, 1, 3)], session="1"), read(marks=[square(2, 2, 4)], **told)])
    first, second = sorted(read_labelme(tmp_path), key=lambda one: one.session)
    assert (first.session, first.structures()["lesion"].sum()) == ("1", 9)
    assert {name: getattr(second, name) for name in told} == told


def test_a_polygon_of_another_rule_is_written_as_it_was_drawn(tmp_path):
    ring = [(2.5, 2.5), (9.5, 2.5), (9.5, 8.5), (2.5, 8.5)]
    write_labelme(tmp_path, [read(marks=[Mark("lesion", Polygon.of([ring], "inclusive"))])])
    assert read_labelme(tmp_path)[0].structures()["lesion"].sum() == 8 * 7


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="3 axes"):
        write_labelme(tmp_path, [read(shape=(2, 20, 30))])
    with pytest.raises(CallError, match="two reads"):
        write_labelme(tmp_path, [read("a/p01.png"), read("b/p01.png")])
    assert not list(tmp_path.rglob("*.json"))


def test_reads_go_to_other_processes(tmp_path):
    hole = Polygon.of([[(1, 1), (9, 1), (9, 9), (1, 9)], [(3, 3), (5, 3), (5, 5), (3, 5)]])
    parts = UnitedOutline((Polygon.of([[(1, 1), (9, 1), (9, 9)]]), Polygon.of([[(1, 1), (19, 1), (9, 9)]])))
    reads = [read(marks=[square(1, 1, 3, rank=1), Mark("hole", hole), Mark("parts", parts)])]
    write_labelme(tmp_path / "labelme", reads)
    write_coco(tmp_path / "coco.json", reads)
    write_labelstudio(tmp_path / "labelstudio.json", reads)
    for found in (
        read_labelme(tmp_path / "labelme"),
        read_coco(tmp_path / "coco.json"),
        read_labelstudio(tmp_path / "labelstudio.json"),
    ):
        come_back(reads, pickle.loads(pickle.dumps(found)))

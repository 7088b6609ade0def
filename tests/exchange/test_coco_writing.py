"""COCO files come back as they were, and pycocotools opens them."""

from __future__ import annotations

import contextlib
import io
import json

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pycocotools import mask as peer
from pycocotools.coco import COCO

from exchange_reads import bits, read, square
from json_exports import SHAPE, come_back, marks, panels
from manytruths import Grid, GridError, InputError
from manytruths.exchange.coco import read_coco, write_coco
from manytruths.exchange.outlines import Polygon
from manytruths.exchange.readings import ImportOptions, Mark, Reading

pytestmark = pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
again = settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)


def as_pycocotools_has_it(path):
    """By image, rater and label: everything that was marked so."""
    with contextlib.redirect_stdout(io.StringIO()):
        found = COCO(str(path))
    whole = {}
    for one in found.anns.values():
        key = (
            found.imgs[one["image_id"]]["file_name"],
            one.get("annotator"),
            found.cats[one["category_id"]]["name"],
        )
        mask = found.annToMask(one).astype(bool)
        whole[key] = whole.get(key, False) | mask
    return whole


@again
@given(panels(), st.booleans())
def test_everything_comes_back(tmp_path, reads, exact):
    write_coco(tmp_path / "a.json", reads, exact=exact)
    come_back(reads, read_coco(tmp_path / "a.json"))


@again
@given(st.lists(marks, min_size=1, max_size=4), st.booleans())
def test_pycocotools_sees_the_same_pixels(tmp_path, found, exact):
    """Run lengths always; polygons where they were written for its rule."""
    reads = [Reading("p01.png", "anna", Grid(SHAPE), tuple(found))]
    write_coco(tmp_path / "a.json", reads, exact=exact, rule="coco")
    theirs = as_pycocotools_has_it(tmp_path / "a.json")
    mine = reads[0].structures()
    assert {label for *_, label in theirs} == mine.keys()
    assert all((theirs["p01.png", None, label] == mine[label]).all() for label in mine)
    come_back(reads, read_coco(tmp_path / "a.json", ImportOptions(rule="coco")))


@given(st.lists(st.tuples(st.integers(0, 2300), st.integers(0, 1700)), min_size=3, max_size=8))
def test_tenths_of_a_pixel_by_cocos_rule(points):
    """In a part of the image, tenths would be rounded otherwise."""
    ring = np.array(points) / 100
    window, inside = Polygon.of([ring + 200], "coco").pixels((240, 240))
    whole = np.zeros((240, 240), bool)
    whole[window] = inside
    wanted = peer.decode(peer.merge(peer.frPyObjects([(ring + 200).ravel().tolist()], 240, 240)))
    assert (whole == wanted.astype(bool)).all()


def test_polygons_stay_polygons_and_the_rest_becomes_run_lengths(tmp_path):
    hole = Mark("lesion", Polygon.of([[(1, 1), (9, 1), (9, 9), (1, 9)], [(3, 3), (5, 3), (5, 5), (3, 5)]]))
    write_coco(tmp_path / "a.json", [read(marks=[square(2, 3, 5), hole, bits([[1, 0], [1, 1]])])])
    found = json.loads((tmp_path / "a.json").read_text())["annotations"]
    assert found[0]["segmentation"] == [[2.0, 3.0, 7.0, 3.0, 7.0, 8.0, 2.0, 8.0]]
    assert (found[0]["area"], found[0]["bbox"]) == (25, [2, 3, 5, 5])
    assert [type(one["segmentation"]) for one in found[1:]] == [dict, dict]
    assert "annotator" not in found[0]


def test_a_polygon_of_another_rule_is_written_as_it_was_drawn(tmp_path):
    ring = [(2.5, 2.5), (9.5, 2.5), (9.5, 8.5), (2.5, 8.5)]
    write_coco(tmp_path / "a.json", [read(marks=[Mark("lesion", Polygon.of([ring], "inclusive"))])])
    back = read_coco(tmp_path / "a.json")[0]
    assert isinstance(json.loads((tmp_path / "a.json").read_text())["annotations"][0]["segmentation"], dict)
    assert back.structures()["lesion"].sum() == 8 * 7


def test_what_is_said_of_a_read_comes_back(tmp_path):
    told = {"session": "2", "based_on": "unet", "tool": "CVAT", "started": "2024-05-01 10:00", "seconds": 12.5}
    first = read(rater="anna", marks=[square(1, 1, 3)], session="1")
    second = read(rater="anna", marks=[square(2, 2, 4)], **told)
    write_coco(tmp_path / "a.json", [first, second, read(rater="unet", marks=[square(5, 5, 2)])])
    back = {(one.rater, one.session): one for one in read_coco(tmp_path / "a.json")}
    assert back.keys() == {("anna", "1"), ("anna", "2"), ("unet", "")}
    assert {name: getattr(back["anna", "2"], name) for name in told} == told
    assert back["anna", "1"].structures()["lesion"].sum() == 9


def test_one_rater_keeps_the_name(tmp_path):
    write_coco(tmp_path / "export.json", [read("p01.png", "anna"), read("p02.png", "anna", [square(1, 1, 3)])])
    assert [(one.rater, one.status) for one in read_coco(tmp_path / "export.json")] == [
        ("anna", "empty"),
        ("anna", "done"),
    ]
    assert {one.rater for one in read_coco(f"eva={tmp_path / 'export.json'}")} == {"eva"}


def test_scores_and_crowds(tmp_path):
    write_coco(tmp_path / "a.json", [read(marks=[square(1, 1, 3, attributes={"score": "0.75", "iscrowd": "1"})])])
    one = json.loads((tmp_path / "a.json").read_text())["annotations"][0]
    assert (one["score"], one["iscrowd"]) == (0.75, 1)
    assert dict(read_coco(tmp_path / "a.json")[0].marks[0].attributes) == {"score": "0.75", "iscrowd": "1"}


def test_what_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(InputError, match="3 axes"):
        write_coco(tmp_path / "a.json", [read(shape=(2, 20, 30))])
    with pytest.raises(GridError, match="björn"):
        write_coco(tmp_path / "a.json", [read(), read(rater="björn", shape=(9, 9))])
    assert not list(tmp_path.iterdir())

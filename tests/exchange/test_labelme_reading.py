"""LabelMe's files, honest and hostile."""

from __future__ import annotations

import base64
import io
import json
import tracemalloc
import zlib

import numpy as np
import pytest
from PIL import Image

from json_exports import grafted, refused, survives
from manytruths import InputError
from manytruths.exchange.labelme import read_labelme
from manytruths.exchange.readings import ImportOptions, combine_readings
from mutations import mutated


def png(mask, mode="L"):
    stream = io.BytesIO()
    Image.fromarray(np.asarray(mask, np.uint8)).convert(mode).save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def shape(points, kind="polygon", label="lesion", **more):
    return {"label": label, "points": points, "group_id": None, "shape_type": kind, "flags": {}, **more}


def document(*shapes, **more):
    return {
        "version": "5.5.0", "flags": {}, "shapes": list(shapes), "imagePath": "..\\images\\p01.png",
        "imageData": "AAAA", "imageHeight": 20, "imageWidth": 30, **more,
    }  # fmt: skip


def written(folder, *shapes, name="anna/p01.json", **more):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    found = {key: value for key, value in document(*shapes, **more).items() if value is not ...}
    path.write_text(json.dumps(found), "utf-8")
    return path


def test_one_of_everything(tmp_path):
    mask = np.random.default_rng(0).random((4, 5)) < 0.5
    path = written(
        tmp_path,
        shape([[2, 2], [8, 2], [8, 6], [2, 6]], "polygon", "polygon"),
        shape([[8, 6], [2, 2]], "rectangle", "rectangle"),
        shape([[10, 10], [13, 14]], "circle", "circle"),
        shape([[3, 4], [7, 7]], "mask", "mask", mask=png(mask)),
        shape([[2, 2], [8, 2], [8, 6], [2, 6]], None, "old"),
        shape([[5, 1], [9, 5], [5, 9], [1, 5]], "oriented_rectangle", "turned"),
    )
    (found,) = read_labelme(path)
    assert (found.image, found.rater, found.status, found.tool) == ("p01.png", "anna", "done", "LabelMe")
    masks = found.structures()
    assert masks["polygon"].sum() == masks["rectangle"].sum() == masks["old"].sum() == 24
    y, x = np.mgrid[:20, :30] + 0.5
    assert (masks["circle"] == ((x - 10) ** 2 + (y - 10) ** 2 <= 25)).all()
    wanted = np.zeros((20, 30), bool)
    wanted[4:8, 3:8] = mask
    assert (masks["mask"] == wanted).all()
    assert (masks["turned"] == (abs(x - 5) + abs(y - 5) < 4)).sum() > 590


def test_raters_are_folders_or_what_the_template_says(tmp_path):
    for rater in ("anna", "björn"):
        written(tmp_path, shape([[2, 2], [8, 2], [8, 6]]), name=f"{rater}/p01.json")
    written(tmp_path, name="björn/p02.json", imagePath="p02.png")
    assert {(one.rater, one.image, one.status) for one in read_labelme(tmp_path)} == {
        ("anna", "p01.png", "done"), ("björn", "p01.png", "done"), ("björn", "p02.png", "empty"),
    }  # fmt: skip
    found = read_labelme(tmp_path / "{rater}" / "{case}.json")
    assert {(one.rater, one.case) for one in found} == {("anna", "p01"), ("björn", "p01"), ("björn", "p02")}
    assert combine_readings(read_labelme([f"eva={tmp_path / 'anna'}", tmp_path / "björn"])).raters == ("björn", "eva")


def test_without_shapes_it_is_empty(tmp_path):
    assert read_labelme(written(tmp_path))[0].status == "empty"
    assert read_labelme(written(tmp_path, shapes=...))[0].status == "empty"
    assert read_labelme(written(tmp_path, flags={"unfinished": True}))[0].status == "unfinished"


def test_what_is_no_area_is_counted(tmp_path):
    line = [[1, 1], [9, 9]]
    shapes = [shape(line, "line"), shape([*line, [3, 9]], "linestrip"), shape([[1, 1]], "point"), shape(line, "points")]
    path = written(tmp_path, *shapes)
    (found,) = read_labelme(path)
    assert (found.left_out, found.status) == ({"polyline": 2, "points": 2}, "done")
    (wide,) = read_labelme(path, ImportOptions(widen=2.0))
    assert (len(wide.marks), wide.left_out) == (2, {"points": 2})


def test_ranks_flags_groups_and_descriptions(tmp_path):
    one = shape([[2, 2], [8, 2], [8, 6]], group_id=3, description="größer", rank=2, severity="4")
    one["flags"] = {"sure": True, "old": False}
    path = written(tmp_path, one)
    mark = read_labelme(path)[0].marks[0]
    assert mark.rank == 2
    assert dict(mark.attributes) == {"group_id": "3", "description": "größer", "sure": "true"}
    assert read_labelme(path, ImportOptions(rank="severity"))[0].marks[0].rank == 4


def test_sizes_from_the_picture(tmp_path):
    path = written(tmp_path, imageHeight=None, imageWidth=..., imagePath="p01.png")
    refused(read_labelme, path, "no size")
    Image.new("RGB", (9, 4)).save(path.parent / "p01.png")
    (found,) = read_labelme(path)
    assert (found.grid.shape, found.picture.path) == ((4, 9), path.parent / "p01.png")
    path = written(tmp_path, imageHeight=None, imagePath="../p01.png", name="anna/deep/p02.json")
    refused(read_labelme, path, "no size")


def bomb():
    """A picture that says it has 5 × 4 pixels and holds a gigabyte."""
    real = base64.b64decode(png(np.zeros((4, 5))))
    data = zlib.compress(bytes(1 << 24), 9)
    chunk = len(data).to_bytes(4) + b"IDAT" + data + zlib.crc32(b"IDAT" + data).to_bytes(4)
    return base64.b64encode(real[:33] + chunk * 8 + real[-12:]).decode()


@pytest.mark.parametrize(
    ("one", "said"),
    [
        (shape([[1, 1], [2, 2]]), "has 2 points"),
        (shape([[1, 1], [2, 2], [3, 1e300]]), "beyond"),
        (shape([[1, 1], [2, 2], [3, None]]), "damaged"),
        (shape([[1, 1], [2, 2], [3]]), "damaged"),
        (shape([[1, 2]] * 1_000_000), "1000000 points"),
        (shape(None), "has no points"),
        (shape([[1, 1], [2, 2], [3, 3]], label=" "), "has no label"),
        (shape([[1, 1]], "rectangle"), "has 1 points, expected two"),
        (shape([[1, 1], [1, 1]], "circle"), "half axes 0"),
        (shape([[1, 1], [4, 3]], "mask"), "has no mask"),
        (shape([[1, 1], [4, 3]], "mask", mask="AAAA"), "not a PNG of 4 × 3"),
        (shape([[1, 1], [4, 3]], "mask", mask="not base 64!"), "damaged"),
        (shape([[1, 1], [4, 3]], "mask", mask=png(np.ones((4, 3)))), "not a PNG of 4 × 3"),
        (shape([[1, 1], [4, 3]], "mask", mask=png(np.ones((3, 4)), "RGB")), "RGB picture"),
        (shape([[1, 1], [4, 3]], "mask", mask=png(np.ones((3, 4)), "I;16")), "16 bits a pixel"),
        (shape([[1, 1], [5, 4]], "mask", mask=png(np.ones((4, 5)))[:60]), "damaged"),
        (shape([[1, 1], [9000, 9000]], "mask", mask="AAAA"), "and the image 30 × 20"),
        (shape([[4, 3], [1, 1]], "mask", mask="AAAA"), "and the image 30 × 20"),
        (shape([[1e300, 3], [1, 1]], "mask", mask="AAAA"), "coordinate"),
        (shape([[1, 1], [2, 2], [3, 0]], rank="first"), "its 'rank' is 'first'"),
    ],
)
def test_hostile_shapes(tmp_path, one, said):
    refused(read_labelme, written(tmp_path, one), "shape 0", said)


def test_a_bomb_in_a_mask(tmp_path):
    """More than the picture needs is never unpacked."""
    path = written(tmp_path, shape([[1, 1], [5, 4]], "mask", mask=bomb()))
    tracemalloc.start()
    marked = read_labelme(path)[0].structures()["lesion"]
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert not marked.any()
    assert taken < 20e6


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"imageWidth": 10**6}, "it cannot be imported"),
        ({"imageWidth": 0}, "it cannot be imported"),
        ({"imageWidth": "wide"}, "damaged"),
        ({"imagePath": ...}, "imagePath"),
        ({"shapes": 3}, "shapes"),
        ({"shapes": [3]}, "shapes"),
        ({"shapes": [{"points": []}]}, "label"),
    ],
)
def test_hostile_documents(tmp_path, more, said):
    refused(read_labelme, written(tmp_path, **more), said)


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b"\xff", b'{"a":' * 100_000])
def test_what_is_no_json(tmp_path, data):
    (tmp_path / "a.json").write_bytes(data)
    refused(read_labelme, tmp_path / "a.json")


def test_a_name_that_is_none(tmp_path):
    with pytest.raises(InputError, match="not a name"):
        combine_readings(read_labelme(written(tmp_path, imagePath="/")))


def honest():
    mask = np.random.default_rng(0).random((6, 7)) < 0.5
    return document(
        shape([[2, 2], [8, 2], [8, 6]], rank=2, description="x"),
        shape([[3, 4], [9, 9]], "mask", "vessel", mask=png(mask)),
        shape([[8, 6], [2, 2]], "rectangle"),
        shape([[10, 10], [13, 14]], "circle", group_id=3),
        shape([[1, 1], [9, 9], [4, 5]], "linestrip"),
        shape([[1, 1]], "point"),
    )


@pytest.mark.slow
@pytest.mark.parametrize("choices", [ImportOptions(), ImportOptions(rule="coco", widen=2.0)])
def test_damaged_bytes(tmp_path, choices):
    data, path, used = json.dumps(honest()).encode(), tmp_path / "a.json", 0
    for seed in range(600):
        path.write_bytes(mutated(data, seed))
        used += survives(read_labelme, path, choices)
    assert 20 < used < 580


@pytest.mark.slow
def test_damaged_trees(tmp_path):
    tree, path, used = honest(), tmp_path / "a.json", 0
    for seed in range(1000):
        path.write_bytes(grafted(tree, seed))
        used += survives(read_labelme, path, ImportOptions(widen=2.0))
    assert 50 < used < 950

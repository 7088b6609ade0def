"""Label Studio's exports, with their traps."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from PIL import Image

from json_exports import refused
from manytruths import InputError, StudyError
from manytruths.exchange.labelstudio import read_labelstudio
from manytruths.exchange.readings import ImportOptions, combine_readings
from manytruths.exchange.run_lengths import encode_brush

WIDTH, HEIGHT = 40, 20


def result(kind, value, number="r1", name="tag", **more):
    found = {
        "id": number, "type": kind, "from_name": name, "to_name": "image", "original_width": WIDTH,
        "original_height": HEIGHT, "image_rotation": 0, "value": value, "origin": "manual", **more,
    }  # fmt: skip
    return {key: one for key, one in found.items() if one is not ...}


def polygon(points=((10, 10), (50, 10), (50, 60), (10, 60)), label="lesion", number="r1", **more):
    value = {"points": [list(point) for point in points], "polygonlabels": [label], **more.pop("value", {})}
    return result("polygonlabels", value, number, **more)


def said(kind, name, value, number="r1"):
    return result(kind, value, number, name)


def annotation(*results, by=1, **more):
    return {"id": 11, "completed_by": by, "result": list(results), "was_cancelled": False, **more}


def task(*annotations, number=1, **more):
    return {"id": number, "data": {"image": f"/data/upload/1/p0{number}.png"}, "annotations": list(annotations), **more}


def export(folder, *tasks, name="export.json"):
    (folder / name).write_text(json.dumps(tasks), "utf-8")
    return folder / name


def read_one(folder, *results, choices=None, **more):
    (found,) = read_labelstudio(export(folder, task(annotation(*results, **more))), choices)
    return found


def only(read):
    (mask,) = read.structures().values()
    return mask


# -- shapes ------------------------------------------------------------------------------------------


def test_a_polygon_in_percent(tmp_path):
    found = read_one(tmp_path, polygon())
    wanted = np.zeros((HEIGHT, WIDTH), bool)
    wanted[2:12, 4:20] = True
    assert (found.structures()["lesion"] == wanted).all()
    assert (found.image, found.rater, found.tool, found.grid.shape) == (
        "data/upload/1/p01.png", "1", "Label Studio", (HEIGHT, WIDTH)
    )  # fmt: skip


def test_a_rectangle_turns_about_its_upper_left_corner(tmp_path):
    """By 90 degrees: what was right of the corner is below it."""
    value = {"x": 50, "y": 20, "width": 25, "height": 10, "rotation": 90, "rectanglelabels": ["lesion"]}
    wanted = np.zeros((HEIGHT, WIDTH), bool)
    wanted[4:14, 18:20] = True
    assert (only(read_one(tmp_path, result("rectanglelabels", value))) == wanted).all()


def test_a_rectangle_turns_in_pixels_and_not_in_percent(tmp_path):
    value = {"x": 50, "y": 20, "width": 25, "height": 20, "rotation": 30, "rectanglelabels": ["lesion"]}
    found = only(read_one(tmp_path, result("rectanglelabels", value)))
    c, s = math.cos(math.radians(30)), math.sin(math.radians(30))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            dx, dy = x + 0.5 - 20, y + 0.5 - 4
            along, across = dx * c + dy * s, dy * c - dx * s
            assert found[y, x] == (0 < along < 10 and 0 < across < 4)


def test_an_ellipse_turns_about_its_centre(tmp_path):
    value = {"x": 50, "y": 50, "radiusX": 20, "radiusY": 10, "rotation": 60, "ellipselabels": ["lesion"]}
    found = only(read_one(tmp_path, result("ellipselabels", value)))
    c, s = math.cos(math.radians(60)), math.sin(math.radians(60))
    for y in range(HEIGHT):
        for x in range(WIDTH):
            dx, dy = x + 0.5 - 20, y + 0.5 - 10
            assert found[y, x] == (((dx * c + dy * s) / 8) ** 2 + ((dy * c - dx * s) / 2) ** 2 <= 1)


def test_a_brush(tmp_path):
    mask = np.random.default_rng(0).random((HEIGHT, WIDTH)) < 0.3
    value = {"format": "rle", "rle": list(encode_brush(mask)), "brushlabels": ["lesion"]}
    assert (only(read_one(tmp_path, result("brushlabels", value))) == mask).all()


def test_an_ellipse_after_a_brush_keeps_its_attributes_to_itself(tmp_path):
    brush = {"format": "rle", "rle": list(encode_brush(np.eye(20, 40, dtype=bool))), "brushlabels": ["vessel"]}
    ellipse = {"x": 50, "y": 50, "radiusX": 20, "radiusY": 10, "rotation": 0, "ellipselabels": ["lesion"]}
    found = read_one(
        tmp_path,
        result("brushlabels", brush, "b"),
        result("ellipselabels", ellipse, "e"),
        said("rating", "Rank", {**ellipse, "rating": 3}, "e"),
        said("choices", "shape", {**ellipse, "choices": ["round"]}, "e"),
        said("textarea", "note", {**ellipse, "text": ["größer als gestern"]}, "e"),
        said("number", "rank", {"number": 1.0}, "b"),
        said("choices", "quality", {"choices": ["good"]}, "whole image"),
    )
    vessel, lesion = found.marks
    assert (vessel.label, vessel.rank, dict(vessel.attributes)) == ("vessel", 1, {})
    assert (lesion.label, lesion.rank) == ("lesion", 3)
    assert dict(lesion.attributes) == {"shape": "round", "note": "größer als gestern"}


def test_labels_of_their_own_belong_to_the_shape_of_the_same_id(tmp_path):
    """With <Rectangle> and <Labels> a region has two results, and both have its place."""
    place = {"x": 10, "y": 10, "width": 50, "height": 50, "rotation": 0}
    found = read_one(
        tmp_path, result("rectangle", place), result("labels", {**place, "labels": ["lesion"]}), result("brush", {
            "format": "rle", "rle": list(encode_brush(np.eye(20, 40, dtype=bool)))}, "r2", name="stroke"),
    )  # fmt: skip
    assert [mark.label for mark in found.marks] == ["lesion", "stroke"]
    assert found.structures()["lesion"].sum() == 20 * 10


def test_two_labels_of_a_region_are_two_structures(tmp_path):
    found = read_one(tmp_path, polygon(value={"polygonlabels": ["lesion", "größte"]}))
    masks = found.structures()
    assert masks.keys() == {"lesion", "größte"}
    assert (masks["lesion"] == masks["größte"]).all()


def test_what_is_no_area_is_counted(tmp_path):
    results = [
        polygon(number="a"),
        result("keypointlabels", {"x": 1, "y": 1, "width": 0.4, "keypointlabels": ["lesion"]}, "b"),
        result("keypoint", {"x": 1, "y": 1, "width": 0.4}, "c"),
        polygon(number="d", value={"closed": False}),
        result("vectorlabels", {"vertices": [], "vectorlabels": ["x"]}, "e"),
        result("bitmask", {"imageDataURL": "data:"}, "f"),
        {"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"},
    ]
    found = read_one(tmp_path, *results)
    assert found.left_out == {"points": 2, "polyline": 2, "bitmask": 1}
    assert len(found.marks) == 1
    with pytest.raises(InputError, match="2 points"):
        combine_readings([found])
    wide = read_one(tmp_path, *results[:4], choices=ImportOptions(widen=3))
    assert (len(wide.marks), wide.left_out) == (2, {"points": 2})


def test_a_turned_image_is_refused(tmp_path):
    path = export(tmp_path, task(annotation(polygon(image_rotation=90))))
    refused(read_labelstudio, path, "task 1: annotation 11: region r1", "turned by 90 degrees")
    read_one(tmp_path, polygon(image_rotation=360))


# -- raters and what they did ------------------------------------------------------------------------


def test_several_annotations_are_several_raters(tmp_path):
    people = {"id": 2, "email": "björn@x.org", "first_name": "Björn"}
    found = read_labelstudio(
        export(
            tmp_path,
            task(annotation(polygon(), by=1, lead_time=4.5, created_at="2024-05-01T10:00:00Z"), annotation(by=people)),
            task(annotation(polygon(), by=2), number=2),
        )
    )
    assert [(one.rater, one.status) for one in found] == [
        ("1", "done"),
        ("björn@x.org", "empty"),
        ("björn@x.org", "done"),
    ]
    assert (found[0].seconds, found[0].started) == (4.5, "2024-05-01T10:00:00Z")


def test_a_rater_that_nobody_named_is_the_file(tmp_path):
    path = export(tmp_path, task({"result": [polygon()]}), name="eva.json")
    assert read_labelstudio(path)[0].rater == "eva"
    assert read_labelstudio(f"maria={path}")[0].rater == "maria"


def test_empty_unread_and_unfinished(tmp_path):
    drafts = [
        {"id": 5, "user": "c@d.org", "result": [polygon()], "annotation": None, "lead_time": 2.0},
        {"id": 6, "user": "e@f.org", "result": [result("brushlabels", {"touches": []})], "annotation": None},
        {"id": 7, "user": "a@b.org", "result": [polygon()], "annotation": 11},
    ]
    cancelled = annotation(polygon(), by="x", was_cancelled=True)
    found = read_labelstudio(
        export(
            tmp_path,
            task(annotation(by="a@b.org"), cancelled, drafts=drafts),
            task(number=2),
        )
    )
    assert [(one.rater, one.status, len(one.marks)) for one in found] == [
        ("a@b.org", "empty", 0), ("x", "unfinished", 1), ("c@d.org", "unfinished", 1), ("e@f.org", "unfinished", 0),
    ]  # fmt: skip


def test_the_same_rater_twice(tmp_path):
    first = annotation(polygon(), created_at="2024-02-01")
    second = annotation(polygon(), created_at="2024-01-01", id=12)
    found = read_labelstudio(export(tmp_path, task(first, second)))
    with pytest.raises(StudyError, match="twice"):
        combine_readings(found)
    assert [one.session for one in combine_readings(found, sessions=True).reads] == ["1", "2"]


def test_ground_truth_is_an_attribute(tmp_path):
    assert dict(read_one(tmp_path, polygon(), ground_truth=True).marks[0].attributes) == {"ground_truth": "true"}


def test_what_an_annotation_started_from(tmp_path):
    models = [
        {"id": 5, "model_version": "unet", "result": [polygon()], "score": 0.9},
        {"id": 6, "model_version": "other", "result": [polygon()]},
    ]
    found = read_labelstudio(
        export(
            tmp_path,
            task(
                annotation(polygon(), by="a", parent_prediction=5, id=1),
                annotation(polygon(), by="b", parent_annotation=1, id=2),
                annotation(polygon(), by="b", parent_annotation=2, id=3, created_at="2024"),
                predictions=models,
            ),
        )
    )
    assert [(one.rater, one.based_on) for one in found] == [
        ("a", "unet"), ("b", "a"), ("b", "b/1"), ("unet", "")
    ]  # fmt: skip
    assert len(combine_readings(found, sessions=True).reads) == 4


def test_a_parent_that_is_not_in_the_file(tmp_path):
    path = export(tmp_path, task(annotation(polygon(), parent_prediction=5), predictions=[5]))
    with pytest.raises(StudyError, match="based on 'prediction 5'"):
        combine_readings(read_labelstudio(path))


def test_a_parent_inside_the_annotation(tmp_path):
    embedded = {"id": 5, "model_version": "unet", "result": [polygon()]}
    found = read_labelstudio(export(tmp_path, task(annotation(polygon(), prediction=embedded))))
    assert [(one.rater, one.based_on) for one in found] == [("1", "unet"), ("unet", "")]
    assert read_one(tmp_path, polygon(), prediction={}).based_on == ""


def test_predictions_alone(tmp_path):
    models = [{"model_version": name, "result": [polygon()]} for name in ("unet", "")]
    found = read_labelstudio(export(tmp_path, task(predictions=models)))
    assert [one.rater for one in found] == ["unet", "model"]


# -- images ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "image"),
    [
        ({"image": "/data/local-files/?d=set%201/p01.png"}, "set 1/p01.png"),
        ({"img": "https://x.org/a/p01.png?X-Amz=1&y=2", "text": "hello"}, "a/p01.png"),
        ({"image": "s3://bucket/a/p01.dcm"}, "a/p01.dcm"),
        ({"patient": "p01", "scan": "a\\p01.tif"}, "a\\p01.tif"),
        ({"image": "p01.png", "thumb": "t.png"}, "p01.png"),
        ({"picture": "größe.png", "meta": {"a": [1, {"b": 2}]}, "n": 3}, "größe.png"),
    ],
)
def test_what_the_image_is_called(tmp_path, data, image):
    found = read_labelstudio(export(tmp_path, {**task(annotation(polygon())), "data": data}))
    assert found[0].image == image


@pytest.mark.parametrize(
    "data",
    [{}, {"a": "x", "b": "y"}, {"a": 1}, {"image": ["a.png", "b.png"]}, {"image": "data:image/png;base64,AA"}, None],
)
def test_no_image_at_all(tmp_path, data):
    refused(read_labelstudio, export(tmp_path, {**task(annotation(polygon())), "data": data}), "task 1")


def test_the_size_of_an_image_without_marks(tmp_path):
    """From another annotation, from the picture beside the file, or from nowhere."""
    alone = task(annotation(), number=2)
    (tmp_path / "other").mkdir()
    path = export(tmp_path, task(annotation(by="a"), annotation(polygon(), by="b")), alone)
    refused(read_labelstudio, path, "task 2", "p02.png", "--images")
    Image.new("L", (7, 5)).save(tmp_path / "other" / "p02.png")
    assert [one.grid.shape for one in read_labelstudio(path, ImportOptions(images=tmp_path / "other"))][-1] == (5, 7)
    refused(read_labelstudio, path, "--images")
    (tmp_path / "other" / "p02.png").rename(tmp_path / "p02.png")
    found = read_labelstudio(path)
    assert [one.grid.shape for one in found] == [(HEIGHT, WIDTH)] * 2 + [(5, 7)]
    assert found[-1].picture.path == tmp_path / "p02.png"


def test_two_sizes_of_one_image(tmp_path):
    path = export(tmp_path, task(annotation(polygon()), annotation(polygon(original_width=41), by=2)))
    refused(read_labelstudio, path, "40 × 20 and 41 × 20")


# -- the short form ----------------------------------------------------------------------------------


def test_the_short_form(tmp_path):
    sizes = {"original_width": WIDTH, "original_height": HEIGHT}
    shape = polygon()["value"]
    brush = {"format": "rle", "rle": list(encode_brush(np.eye(20, 40, dtype=bool))), "brushlabels": ["vessel"]}
    items = [
        {"image": "/data/upload/p01.png", "id": 1, "tag": [{**shape, **sizes}], "brush": [{**brush, **sizes}],
         "quality": "good", "annotator": 3, "annotation_id": 9, "created_at": "2024-01-01", "lead_time": 2.5},
        {"image": "/data/upload/p01.png", "id": 1, "annotator": 4, "annotation_id": 10},
    ]  # fmt: skip
    first, second = read_labelstudio(export(tmp_path, *items))
    assert (first.rater, first.status, first.started, first.seconds) == ("3", "done", "2024-01-01", 2.5)
    assert {label: int(mask.sum()) for label, mask in first.structures().items()} == {"lesion": 160, "vessel": 20}
    assert (second.rater, second.status, second.grid.shape) == ("4", "empty", (HEIGHT, WIDTH))


def test_one_task_alone(tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(task(annotation(polygon()))))
    assert len(read_labelstudio(tmp_path / "a.json")) == 1

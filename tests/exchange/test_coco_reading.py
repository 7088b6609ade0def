"""COCO files as tools and scripts write them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image
from pycocotools import mask as peer

from json_exports import refused
from manytruths import CallError, InputError
from manytruths.exchange.coco import read_coco
from manytruths.exchange.outlines import RunLengthMask, UnitedOutline
from manytruths.exchange.readings import ImportOptions, combine_readings

SQUARE = [[2, 2, 8, 2, 8, 6, 2, 6]]
RNG = np.random.default_rng(3)


def annotation(number=1, image=1, category=1, segmentation=SQUARE, **more):
    found = {"id": number, "image_id": image, "category_id": category, "segmentation": segmentation, **more}
    return {key: value for key, value in found.items() if value is not ...}


def document(*annotations, images=2, categories=("lesion", "vessel"), **more):
    return {
        "info": {"year": 2024},
        "images": [
            {"id": k, "file_name": f"p0{k}.png", "width": 20, "height": 12, "date_captured": "2024-01-01", "license": 1}
            for k in range(1, images + 1)
        ],
        "categories": [{"id": k, "name": name, "supercategory": ""} for k, name in enumerate(categories, 1)],
        "annotations": list(annotations),
        **more,
    }


def written(folder, *annotations, name="anna.json", **more):
    path = folder / name
    path.write_text(json.dumps(document(*annotations, **more)), "utf-8")
    return path


def test_a_file_is_one_raters(tmp_path):
    first, second = read_coco(written(tmp_path, annotation()))
    assert (first.image, first.rater, first.status, first.tool) == ("p01.png", "anna", "done", "COCO")
    assert (second.image, second.rater, second.status) == ("p02.png", "anna", "empty")
    assert first.structures()["lesion"].sum() == 24
    assert first.structures()["lesion"][2:6, 2:8].all()


def test_an_image_without_annotations_may_be_unread(tmp_path):
    found = read_coco(written(tmp_path, annotation()), ImportOptions(blank="unread"))
    assert [one.status for one in found] == ["done", "unread"]


def test_a_name_for_the_file(tmp_path):
    path = written(tmp_path, annotation(annotator="x"))
    assert {one.rater for one in read_coco(f"eva={path}")} == {"eva"}


@pytest.mark.parametrize("field", ["annotator", "annotator_id", "worker_id", "created_by", "user"])
def test_an_annotator_field(tmp_path, field):
    """An image that somebody has nothing on, nobody knows whether he opened."""
    path = written(tmp_path, annotation(**{field: 7}), annotation(2, image=2, **{field: "björn"}))
    assert [(one.image, one.rater) for one in read_coco(path)] == [("p01.png", "7"), ("p02.png", "björn")]


def test_an_annotator_field_of_the_callers_choice(tmp_path):
    path = written(tmp_path, annotation(**{"drawn by": {"email": "a@b.org", "id": 3}}))
    assert [one.rater for one in read_coco(path, ImportOptions(rater_field="drawn by"))] == ["a@b.org"]
    with pytest.raises(InputError, match="names no rater"):
        read_coco(path, ImportOptions(rater_field="painted by"))


def test_an_annotator_field_that_some_lack(tmp_path):
    refused(read_coco, written(tmp_path, annotation(worker=1), annotation(2)), "1 of 2 annotations", "'worker'")


def test_the_image_may_say_who_looked(tmp_path):
    images = [
        {"id": 1, "file_name": "a.png", "width": 20, "height": 12,
         "reads": [{"annotator": "anna", "status": "empty"}, {"annotator": "eva", "status": "unfinished"}]},
        {"id": 2, "file_name": "b.png", "width": 20, "height": 12},
    ]  # fmt: skip
    path = tmp_path / "a.json"
    path.write_text(json.dumps({**document(annotation(annotator="eva")), "images": images}))
    assert {(one.image, one.rater, one.status) for one in read_coco(path)} == {
        ("a.png", "anna", "empty"),
        ("a.png", "eva", "unfinished"),
    }


def runs(mask, packed):
    rle = peer.encode(np.asfortranarray(mask, np.uint8))
    if packed:
        return {"size": list(mask.shape), "counts": rle["counts"].decode()}
    flat = mask.T.ravel()
    turns = np.flatnonzero(np.diff(flat.astype(int), prepend=0, append=2))
    return {"size": list(mask.shape), "counts": np.diff(turns, prepend=0).tolist()}


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("share", [0, 0.1, 0.5, 1])
def test_run_lengths(tmp_path, packed, share):
    mask = RNG.random((12, 20)) < share
    path = written(tmp_path, annotation(segmentation=runs(mask, packed)))
    found = read_coco(path)[0]
    assert isinstance(found.marks[0].outline, RunLengthMask)
    assert (found.structures()["lesion"] == mask).all()


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_packed_run_lengths_that_python_wrote_as_bytes(tmp_path):
    """Some of them hold a backslash, which Python doubles."""
    for seed in range(40):
        mask = np.random.default_rng(seed).random((12, 20)) < 0.3
        counts = peer.encode(np.asfortranarray(mask, np.uint8))["counts"]
        path = written(tmp_path, annotation(segmentation={"size": [12, 20], "counts": str(counts)}))
        assert (read_coco(path)[0].structures()["lesion"] == mask).all()


def test_rings_are_parts_and_never_holes(tmp_path):
    inner = [3, 3, 5, 3, 5, 5, 3, 5]
    found = read_coco(written(tmp_path, annotation(segmentation=[*SQUARE, inner])))[0]
    assert isinstance(found.marks[0].outline, UnitedOutline)
    assert found.structures()["lesion"].sum() == 24


def test_cocos_own_rule(tmp_path):
    ring = [2.4, 2.6, 9.1, 3.3, 7.7, 9.9]
    path = written(tmp_path, annotation(segmentation=[ring]))
    wanted = peer.decode(peer.merge(peer.frPyObjects([ring], 12, 20))).astype(bool)
    assert (read_coco(path, ImportOptions(rule="coco"))[0].structures()["lesion"] == wanted).all()
    assert (read_coco(path)[0].structures()["lesion"] != wanted).any()


test_cocos_own_rule = pytest.mark.filterwarnings("ignore:__array__ implementation")(test_cocos_own_rule)


def test_what_is_no_area_is_counted(tmp_path):
    path = written(
        tmp_path,
        annotation(1, segmentation=..., bbox=[1, 1, 5, 5]),
        annotation(2, segmentation=[], bbox=[1, 1, 5, 5]),
        annotation(3, segmentation=None, bbox=[1, 1, 5, 5]),
        annotation(4, segmentation=[], bbox=[0, 0, 0, 0]),
        annotation(5, keypoints=[3, 3, 2, 0, 0, 0], num_keypoints=1),
        annotation(6, keypoints=[0, 0, 0]),
    )
    first = read_coco(path)[0]
    assert first.left_out == {"bbox": 3, "keypoints": 1}
    assert len(first.marks) == 2
    with pytest.raises(InputError, match="3 bbox"):
        combine_readings([first])
    assert combine_readings([first], skip=["bbox", "keypoints"]).left_out["p01", "anna", "bbox"] == 3


def test_ranks_attributes_scores_and_crowds(tmp_path):
    said = {"Rank": 2, "sure": False, "note": "größer", "occluded": True}
    mark = read_coco(written(tmp_path, annotation(attributes=said, score=0.5, iscrowd=1)))[0].marks[0]
    assert mark.rank == 2
    assert dict(mark.attributes) == {
        "sure": "false", "note": "größer", "occluded": "true", "score": "0.5", "iscrowd": "1"
    }  # fmt: skip
    path = written(tmp_path, annotation(attributes={"severity": "3", "rank": "x"}))
    assert read_coco(path, ImportOptions(rank="severity"))[0].marks[0].rank == 3
    refused(read_coco, path, "annotation 1", "its 'rank' is 'x'")


def test_names_count_and_not_numbers(tmp_path):
    one = written(tmp_path, annotation(category=1), name="anna.json", categories=["lesion", "vessel"])
    other = written(tmp_path, annotation(category=2), name="eva.json", categories=["vessel", "lesion"])
    assert combine_readings(read_coco([one, other])).structures == ("lesion",)


def test_pictures_beside_the_file(tmp_path):
    (tmp_path / "images").mkdir()
    Image.new("L", (20, 12)).save(tmp_path / "images" / "p01.png")
    outside = tmp_path / "project"
    outside.mkdir()
    first, second = read_coco(written(tmp_path, annotation()))
    assert (str(first.picture), second.picture) == (str(tmp_path / "images" / "p01.png"), None)
    Image.new("L", (20, 12)).save(tmp_path / "p02.png")
    path = outside / "a.json"
    path.write_text((tmp_path / "anna.json").read_text().replace("p02.png", "../p02.png"))
    assert [one.picture for one in read_coco(path)] == [None, None]


def test_a_results_file(tmp_path):
    path = tmp_path / "results.json"
    path.write_text(json.dumps([annotation(score=0.4)]))
    refused(read_coco, path, "is a list, as COCO's results are", "images, categories and annotations")


def test_a_field_of_cocos_own_names_nobody(tmp_path):
    with pytest.raises(CallError, match="'image_id' is COCO's own"):
        read_coco(written(tmp_path, annotation()), ImportOptions(rater_field="image_id"))

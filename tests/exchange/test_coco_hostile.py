"""COCO files made to hurt: one line each, and memory within bounds."""

from __future__ import annotations

import json

import pytest
from test_coco_reading import annotation, document, written

from json_exports import memory, refused
from manytruths import InputError
from manytruths.exchange.coco import MOST_ANNOTATIONS, read_coco
from manytruths.exchange.readings import ImportOptions, combine_readings


def packed(counts, size=(12, 20)):
    return {"size": list(size), "counts": counts}


@pytest.mark.parametrize(
    ("segmentation", "said"),
    [
        ([[1, 1, 2, 2]], "has 2 points"),
        ([[1, 1, 2, 2, 3]], "5 numbers, not pairs"),
        ([[1, 1, 2, 2, 3, 1e9]], "beyond"),
        ([[1, 1, 2, 2, 3, None]], "null"),
        ([[1, 1, 2, 2, 3, "x"]], "damaged"),
        ([1, 2, 3], "not pairs of x and y"),
        ([1, 2, 3, "x"], "damaged"),
        ("polygon", "damaged"),
        ([[1, 2] * 1_000_000], "1000000 points"),
        (packed([240, 1]), "241 pixels"),
        (packed([-1, 241]), "run of -1"),
        (packed([100]), "100 pixels, and the image has 240"),
        (packed([2**70]), "damaged"),
        (packed([1.5, 238.5]), "damaged"),
        (packed("0"), "0 pixels"),
        (packed("~~~"), "invalid characters"),
        (packed("ooo"), "end too early"),
        (packed("é"), "damaged"),
        (packed("oooooooooooo0"), "too long"),
        (packed([240], (20, 12)), "12 × 20 pixels, and this one has 20 × 12"),
        (packed([240], (12,)), "damaged"),
        ({"counts": [240]}, "size"),
        ({"size": [12, 20]}, "counts"),
        (packed([0, 2**31], (2**20, 2**11)), "this one has"),
    ],
)
def test_segmentations(tmp_path, segmentation, said):
    refused(read_coco, written(tmp_path, annotation(segmentation=segmentation)), "annotation 1", "'p01.png'", said)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda d: d["annotations"].append(annotation()), "two of its annotations have the id 1"),
        (lambda d: d["annotations"].append(annotation(2, image=9)), "annotation 2 is of image 9"),
        (lambda d: d["annotations"].append(annotation(2, category=9)), "annotation 2 is of category 9"),
        (lambda d: d["images"].append(d["images"][0]), "two of its image entries have the id 1"),
        (lambda d: d["categories"].append(d["categories"][0]), "two of its category entries"),
        (lambda d: d["images"][0].update(width=70000), "it cannot be imported"),
        (lambda d: d["images"][0].update(width=65536, height=65536), "it cannot be imported"),
        (lambda d: d["images"][0].update(width=-3), "it cannot be imported"),
        (lambda d: d["images"][0].update(width=2.5), "2.5"),
        (lambda d: d["images"][0].update(width=None), "width"),
        (lambda d: d["images"][0].pop("file_name"), "file_name"),
        (lambda d: d.pop("images"), "images"),
        (lambda d: d.pop("categories"), "categories"),
        (lambda d: d.update(annotations={}), "annotations"),
        (lambda d: d["annotations"][0].pop("category_id"), "category_id"),
        (lambda d: d["annotations"][0].update(keypoints=["x"]), "annotation 1"),
        (lambda d: d["annotations"][0].update(attributes=[1]), "annotation 1"),
    ],
)
def test_documents(tmp_path, change, said):
    path, found = tmp_path / "a.json", document(annotation())
    change(found)
    path.write_text(json.dumps(found))
    refused(read_coco, path, said)


@pytest.mark.parametrize(
    "data",
    [b"", b" \n", b"\0\0\0", b"{", b'{"images": [', b"\xff\xfe{}", b"null", b"1", b'{"images":' + b"[" * 100_000],
)
def test_what_is_no_json(tmp_path, data):
    path = tmp_path / "a.json"
    path.write_bytes(data)
    refused(read_coco, path)


@pytest.mark.parametrize("name", ["../p01.png", "a\0b.png", "/", "a/../../b.png"])
def test_names_that_lead_out(tmp_path, name):
    found = document(annotation())
    found["images"][0]["file_name"] = name
    (tmp_path / "a.json").write_text(json.dumps(found))
    with pytest.raises(InputError, match="an image is called"):
        combine_readings(read_coco(tmp_path / "a.json"))


def test_an_endless_outline_by_cocos_rule(tmp_path):
    path = written(tmp_path, annotation(segmentation=[[-9e6, 0, 9e6, 0, 0, 9e6]]))
    with pytest.raises(InputError, match="pixels long"):
        read_coco(path, ImportOptions(rule="coco"))
    assert read_coco(path)[0].structures()["lesion"].sum() == 240


def test_too_many(tmp_path):
    found = document()
    text = json.dumps(found).replace(
        '"annotations": []', '"annotations": [' + '{"image_id":1,"category_id":1},' * MOST_ANNOTATIONS + "{}]"
    )
    (tmp_path / "a.json").write_text(text.replace("{}]", '{"image_id":1,"category_id":1}]'))
    refused(read_coco, tmp_path / "a.json", "split it")


@pytest.mark.slow
def test_a_thousand_masks_of_a_large_image_fit_into_memory(tmp_path):
    """Each has 2²⁸ pixels, and a few bytes in the file."""
    many = [annotation(k, segmentation=packed([5, 2**28 - 5], (2**14, 2**14))) for k in range(1, 1001)]
    found = document(*many[:1], images=1) | {"annotations": many}
    found["images"][0] |= {"width": 2**14, "height": 2**14}
    (tmp_path / "a.json").write_text(json.dumps(found))
    said, taken = memory(read_coco, tmp_path / "a.json")
    assert said == f"1000 {2**28 - 5}"
    assert taken < 1000


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "often", "times", "end"),
    [
        (b"", b'{"image_id":1,"category_id":1,"segmentation":[[1,1,9,1,9,9]]},', MOST_ANNOTATIONS - 1, b""),
        (b"", b'{"image_id":1,"category_id":1},', 2_000_000, b""),
        (b'{"image_id":1,"category_id":1,"segmentation":[[', b"0,", 60_000_000, b"0]]},"),
        (b'{"image_id":1,"category_id":1,"segmentation":{"size":[12,20],"counts":[', b"0,", 8_000_000, b"240]}},"),
        (b'{"image_id":1,"category_id":1,"attributes":{', b'"a":[],', 4_000_000, b'"a":1}},'),
    ],
)
def test_long_files_fit_into_memory(tmp_path, start, often, times, end):
    head = json.dumps(document(images=1)).encode()
    last = b'{"image_id":1,"category_id":1,"segmentation":[[2,2,8,2,8,6]]}]'
    inside = b'"annotations": [' + start + often * times + end + last
    (tmp_path / "a.json").write_bytes(head.replace(b'"annotations": []', inside))
    del inside
    said, taken = memory(read_coco, tmp_path / "a.json")
    assert said
    assert taken < 1000, said

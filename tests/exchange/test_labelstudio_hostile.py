"""Label Studio files made to hurt: one line each, and memory within bounds."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_labelstudio_reading import annotation, export, polygon, result, task

from json_exports import memory, refused
from manytruths import InputError
from manytruths.exchange.labelstudio import read_labelstudio
from manytruths.exchange.readings import combine_readings
from manytruths.exchange.run_lengths import encode_brush

BRUSH = list(encode_brush(np.eye(20, 40, dtype=bool)))


def brush(rle, **more):
    return result("brushlabels", {"format": "rle", "rle": rle, "brushlabels": ["a"]}, **more)


def shape(kind, **value):
    return result(kind, {f"{kind}": ["a"], **value})


@pytest.mark.parametrize(
    ("region", "said"),
    [
        (polygon([(1, 1), (2, 2)]), "has 2 points"),
        (polygon([(1, 1), (2, 2), (3, 1e12)]), "beyond"),
        (polygon([(1, 1), (2, 2), (3, None)]), "damaged"),
        (polygon([(1, 1), (2, 2), (3, 3, 3)]), "damaged"),
        pytest.param(lambda: polygon([(1, 1)] * 1_000_000), "1000000 points", marks=pytest.mark.slow),
        (polygon(value={"points": None}), "has no points"),
        (polygon(value={"points": "1,1 2,2"}), "damaged"),
        (polygon(value={"polygonlabels": 3}), "damaged"),
        (polygon(original_width=10**6), "it cannot be imported"),
        (polygon(original_width=-4), "it cannot be imported"),
        (polygon(original_width=2.5), "2.5"),
        (polygon(image_rotation=45), "turned by 45"),
        (polygon(item_index=2), "further page"),
        (brush(BRUSH[:-2]), "end too early"),
        (brush([]), "end too early"),
        (brush([256, *BRUSH]), "damaged"),
        (brush([-1, *BRUSH]), "damaged"),
        (brush([255] * 50), "and the image has 800"),
        (brush(BRUSH, original_width=41), "800 pixels, and the image has 820"),
        (brush({"counts": "abc", "size": [20, 40]}), "damaged"),
        (brush(None), "without run lengths"),
        (shape("rectanglelabels", x=1, y=1, width=3), "has no height"),
        (shape("rectanglelabels", x=1, y=1, width=3, height=1e300), "coordinate"),
        (shape("rectanglelabels", x=1, y=1, width=3, height=3, rotation=1e300), "coordinate"),
        (shape("ellipselabels", x=1, y=1, radiusX=0, radiusY=2), "half axes 0"),
        (shape("ellipselabels", x=1, y=1, radiusX=1), "has no radiusY"),
        (shape("ellipselabels", x="left", y=1, radiusX=1, radiusY=1), "damaged"),
    ],
)
def test_regions(tmp_path, region, said):
    path = export(tmp_path, task(annotation(region() if callable(region) else region)))
    refused(read_labelstudio, path, "task 1", "region r1", said)


def test_a_rank_that_is_none(tmp_path):
    rank = result("number", {"number": 1.5}, name="rank")
    refused(read_labelstudio, export(tmp_path, task(annotation(polygon(), rank))), "region r1", "its 'rank' is '1.5'")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"null",
        b"[",
        b"[1]",
        b'[{"id": 1, "annotations": 3}]',
        b'[{"id": 1, "annotations": [{"result": [{}]}]}]',
        b'[{"id": 1, "annotations": [{"result": []}]}]',
        b'[{"id": 1, "data": [], "annotations": [{"result": []}]}]',
        b'[{"annotator": 1, "image": "a.png", "tag": [{"original_width": 1}]}]',
        b'[{"annotator": 1, "image": "a.png", "tag": [{"original_width": "x", "original_height": 2}]}]',
        pytest.param(b"[" + b'{"data":' * 100_000, id="deep"),
        json.dumps([task(annotation(polygon()))]).encode()[:-20],
    ],
)
def test_documents(tmp_path, data):
    (tmp_path / "a.json").write_bytes(data)
    refused(read_labelstudio, tmp_path / "a.json")


@pytest.mark.parametrize("name", ["../p01.png", "/data/local-files/?d=..%2F..%2Fp01.png", "a%00b.png"])
def test_names_that_lead_out(tmp_path, name):
    (tmp_path / "project").mkdir()
    (tmp_path / "p01.png").write_bytes(b"not to be opened")
    found = {**task(annotation(polygon())), "data": {"image": name}}
    reads = read_labelstudio(export(tmp_path / "project", found))
    assert reads[0].picture is None
    if "%00" not in name:
        with pytest.raises(InputError, match="an image is called"):
            combine_readings(reads)


HEAD = b'[{"id":1,"data":{"image":"a.png"},"annotations":[{"result":['
SIZED = b'"original_width":40,"original_height":20,"from_name":"a","id":"r"}]}]}]'


@pytest.mark.slow
@pytest.mark.parametrize(
    ("start", "often", "times", "end"),
    [
        (HEAD, b'{"type":""},', 3_000_000, b'{"type":""}]}]}]'),
        (HEAD + b'{"type":"polygon","value":{"points":[', b"[0,0],", 20_000_000, b"[0,0]]}," + SIZED),
        (HEAD + b'{"type":"brush","value":{"rle":[', b"0,", 60_000_000, b"0]}," + SIZED),
        (HEAD + b']}],"predictions":[', b"999,", 30_000_000, b"1]}]"),
        (b'[{"id":1,"data":{"image":"a.png","x":[', b"[],", 40_000_000, b'1]},"annotations":[{"result":[]}]}]'),
        (b'[{"annotator":1,"image":"a.png",', b'"a":1,', 9_000_000, b'"b":1}]'),
    ],
    ids=["results", "points", "brush", "numbers", "data", "fields"],
)
def test_long_files_fit_into_memory(tmp_path, start, often, times, end):
    (tmp_path / "a.json").write_bytes(start + often * times + end)
    said, taken = memory(read_labelstudio, tmp_path / "a.json")
    assert said
    assert taken < 1000, said

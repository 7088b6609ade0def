"""A thousand damaged Label Studio files and more: each is read and drawn, or refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_labelstudio_reading import annotation, polygon, result, task

from json_exports import grafted, survives
from manytruths.exchange.labelstudio import read_labelstudio
from manytruths.exchange.readings import ImportOptions
from manytruths.exchange.run_lengths import encode_brush
from mutations import mutated


def honest():
    """One of everything."""
    brush = list(encode_brush(np.random.default_rng(0).random((20, 40)) < 0.02))
    results = [
        polygon(number="a"),
        result("number", {"number": 2}, "a", "rank"),
        result("choices", {"choices": ["round"]}, "a", "form"),
        result("brushlabels", {"format": "rle", "rle": brush, "brushlabels": ["vessel"]}, "b"),
        result("rectangle", {"x": 10, "y": 20, "width": 30, "height": 40, "rotation": 12.5}, "c"),
        result("labels", {"x": 10, "y": 20, "width": 30, "height": 40, "labels": ["lesion"]}, "c"),
        result("ellipselabels", {"x": 50, "y": 50, "radiusX": 9, "radiusY": 5, "ellipselabels": ["lesion"]}, "d"),
        result("keypointlabels", {"x": 50, "y": 50, "width": 1}, "e"),
    ]
    models = [{"id": 5, "model_version": "unet", "result": [polygon()]}]
    people = {"id": 2, "email": "a@b.org"}
    drafts = [{"user": "c", "result": [polygon()], "annotation": None}]
    first = annotation(*results, by=people, parent_prediction=5, lead_time=2.5, created_at="2024")
    return [
        task(first, annotation(polygon(), id=12, by=3, parent_annotation=11), predictions=models, drafts=drafts),
        task(annotation(was_cancelled=True), annotation(polygon(), by=2, ground_truth=True), number=2),
    ]


def short():
    sizes = {"original_width": 40, "original_height": 20}
    value = {**polygon()["value"], **sizes}
    return [{"image": "p.png", "id": k, "tag": [value, value], "annotator": 3, "lead_time": 2.5} for k in range(2)]


@pytest.mark.slow
@pytest.mark.parametrize("make", [honest, short])
@pytest.mark.parametrize("choices", [ImportOptions(), ImportOptions(rule="coco", widen=2.0)])
def test_damaged_bytes(tmp_path, make, choices):
    data, path = json.dumps(make()).encode(), tmp_path / "a.json"
    path.write_bytes(data)
    assert survives(read_labelstudio, path, choices)
    used = 0
    for seed in range(500):
        path.write_bytes(mutated(data, seed))
        used += survives(read_labelstudio, path, choices)
    assert 20 < used < 480


@pytest.mark.slow
@pytest.mark.parametrize("make", [honest, short])
def test_damaged_trees(tmp_path, make):
    tree, path, used = make(), tmp_path / "a.json", 0
    for seed in range(1000):
        path.write_bytes(grafted(tree, seed))
        used += survives(read_labelstudio, path, ImportOptions(widen=2.0))
    assert 50 < used < 950

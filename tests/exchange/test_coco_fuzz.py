"""A thousand damaged COCO files and more: each is read and drawn, or refused in one line."""

from __future__ import annotations

import json

import numpy as np
import pytest

from exchange_reads import bits, read, square
from json_exports import grafted, survives
from manytruths.exchange.coco import read_coco, write_coco
from manytruths.exchange.readings import ImportOptions
from mutations import mutated


@pytest.fixture
def honest(tmp_path):
    """One of everything."""
    ragged = np.random.default_rng(1).random((7, 8)) < 0.5
    marks = [square(2, 3, 6, rank=2, attributes={"sure": "no", "score": "0.5"}), bits(ragged, "vessel", 3, 4)]
    write_coco(tmp_path / "a.json", [read(f"p{k}.png", rater, marks) for k in range(2) for rater in ("anna", "eva")])
    found = json.loads((tmp_path / "a.json").read_text())
    counts = {"size": [20, 30], "counts": [100, 20, 480]}
    found["annotations"][0] |= {"segmentation": counts, "keypoints": [1, 2, 2]}
    found["annotations"][1] |= {"segmentation": [[1, 1, 9, 2, 3.5, 9], [4, 4, 12, 4, 9, 15]]}
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "choices", [ImportOptions(), ImportOptions(rule="coco"), ImportOptions(rule="inclusive", rater_field="annotator")]
)
def test_damaged_bytes(tmp_path, honest, choices):
    data, path = json.dumps(honest).encode(), tmp_path / "a.json"
    path.write_bytes(data)
    assert survives(read_coco, path, choices)
    used = 0
    for seed in range(700):
        path.write_bytes(mutated(data, seed))
        used += survives(read_coco, path, choices)
    assert 20 < used < 680


@pytest.mark.slow
def test_damaged_trees(tmp_path, honest):
    path, used = tmp_path / "a.json", 0
    for seed in range(1000):
        path.write_bytes(grafted(honest, seed))
        used += survives(read_coco, path, ImportOptions(widen=2.0))
    assert 50 < used < 950

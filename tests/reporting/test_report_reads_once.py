"""``report`` opens every mask, image, prediction and reference once."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from counted_reads import count_reads
from study_folders import disc, write_png, write_study


@pytest.fixture
def opened(monkeypatch):
    """How often each file was read, by its path."""
    return count_reads(monkeypatch)


def write_files(folder, predictions):
    """Masks of two cases, and everything that can come with them; returns the study's options."""
    masks = write_study(folder)
    for case in ("p1", "p2"):
        write_png(folder / f"images/{case}.png", disc() * 90)
        write_png(folder / f"roi/{case}.png", np.ones_like(disc()))
        write_png(folder / f"references/gold/{case}.png", disc())
        write_png(folder / f"training/{case}.png", np.zeros_like(disc()))
        for rater in "AB":
            write_png(folder / f"ranks/{rater}/{case}.png", disc() * 2)
        for name, values in predictions.items():
            write_png(folder / f"predictions/{name}/{case}.png", values)
    templates = {
        "images": "images/{case}.png", "roi": "roi/{case}.png", "reference": "references/{reference}/{case}.png",
        "training": "training/{case}.png", "ranks": "ranks/{rater}/{case}.png",
        "predictions": "predictions/{algorithm}/{case}.png",
    }  # fmt: skip
    return masks, {name: f"{folder}/{template}" for name, template in templates.items()}


@pytest.mark.parametrize("grey", [False, True], ids=["masks", "probabilities"])
def test_every_file_is_read_once(grey, tmp_path, opened):
    spot = disc()
    spot[:4, :4] = 1
    scale = 200 if grey else 1
    masks, options = write_files(tmp_path, {"unet": spot * scale, "vnet": disc(x=2) * scale})
    study = mt.Study.open(masks, probability=grey, **options)
    opened.clear()
    threshold = 128 if grey else None
    made = mt.report(
        study, to=tmp_path / "out/r.html", consensus=["vote:0.5", "staple", "lsml"], threshold=threshold, resamples=10
    )
    assert {"agree/pairs", "fuse/performance", "evaluate/scores"} <= set(made.tables)
    assert set(opened) == {str(path) for path in tmp_path.rglob("*.png") if "out" not in path.parts}
    assert not [path for path, times in opened.items() if times > 1]

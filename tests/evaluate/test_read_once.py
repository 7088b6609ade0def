"""``evaluate`` opens every file once, whatever is asked for."""

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


def folder_with(path, predictions):
    """Masks of two cases, and everything that may lie beside them; the paths of all files."""
    masks = write_study(path)
    for case in ("p1", "p2"):
        write_png(path / f"images/{case}.png", disc() * 90)
        write_png(path / f"roi/{case}.png", np.ones_like(disc()))
        write_png(path / f"references/gold/{case}.png", disc())
        write_png(path / f"training/{case}.png", np.zeros_like(disc()))
        for name, values in predictions.items():
            write_png(path / f"pred/{name}/{case}.png", values)
    return masks


def open_study(path, masks, **options):
    return mt.Study.open(
        masks, images=f"{path}/images/{{case}}.png", roi=f"{path}/roi/{{case}}.png",
        reference=f"{path}/references/{{reference}}/{{case}}.png", training=f"{path}/training/{{case}}.png",
        predictions=f"{path}/pred/{{algorithm}}/{{case}}.png", **options,
    )  # fmt: skip


def test_masks(tmp_path, opened):
    spot = disc()
    spot[:4, :4] = 1
    masks = folder_with(tmp_path, {"unet": spot, "vnet": spot})
    study = open_study(tmp_path, masks)
    opened.clear()
    options = {"boundaries": "outlines", "intensity_curves": True, "grading_sheet": True}
    result = mt.evaluate(study, out=tmp_path / "out", consensus=["vote:0.5", "staple", "lsml"], **options)
    assert result.second_look.ranked, "a place was drawn"
    assert {"scores", "boundaries", "second_look", "frames", "cases", "by_truth", "orders"} <= set(result.tables)
    wanted = {str(p) for p in tmp_path.rglob("*.png") if "out" not in p.parts}
    assert set(opened) == wanted
    assert set(opened.values()) == {1}


@pytest.mark.parametrize("skew", [None, (0.1, 0.5)])
def test_probability_maps(tmp_path, opened, skew):
    soft = disc() * 200
    soft[:4, :4] = 130
    masks = folder_with(tmp_path, {"unet": soft, "vnet": soft // 2 + 30})
    study = open_study(tmp_path, masks, probability=True)
    opened.clear()
    result = mt.evaluate(study, out=tmp_path / "out", threshold=128, skew=skew, boundaries="lines")
    assert {"scores", "curves", "correlations", "boundaries", "second_look"} <= set(result.tables)
    assert set(opened.values()) == {1}
    assert {str(p) for p in tmp_path.rglob("*.png") if "out" not in p.parts} - set(opened) <= {
        str(tmp_path / f"images/{case}.png") for case in ("p1", "p2")
    }


def test_samples(tmp_path, opened):
    masks = write_study(tmp_path)
    for name in ("1", "2"):
        for case in ("p1", "p2"):
            write_png(tmp_path / f"draws/unet/{case}/{name}.png", np.roll(disc(), int(name), 0))
    study = mt.Study.open(masks, samples=f"{tmp_path}/draws/{{algorithm}}/{{case}}/{{sample}}.png")
    opened.clear()
    result = mt.evaluate(study, out=tmp_path / "out")
    assert "energy_distance" in {row.statistic for row in result.tables["scores"].rows}
    assert set(opened) == {str(path) for path in tmp_path.rglob("*.png") if "out" not in path.parts}
    assert set(opened.values()) == {1}

"""Masks of algorithms: checked, and without a say in the raters' agreement."""

from __future__ import annotations

import pytest

from manytruths.io import read_mask
from study_folders import run, table, write_png, write_study


@pytest.fixture
def study(tmp_path):
    template = write_study(tmp_path)
    for case in ("p1", "p2"):
        write_png(tmp_path / "unet" / f"{case}.png", read_mask(tmp_path / "masks/A" / f"{case}.png").array)
    return template


@pytest.mark.slow
def test_they_have_no_say(study, tmp_path, capsys):
    toml = 'masks = "raters/{rater}/{case}.png"\npredictions = "{algorithm}/{case}.png"\n'
    (tmp_path / "study.toml").write_text(toml)
    assert run(capsys, "agree", study, "--out", tmp_path / "plain", "--no-pictures").status == 0
    (tmp_path / "masks").rename(tmp_path / "raters")
    done = run(capsys, "agree", tmp_path, "--out", tmp_path / "out", "--no-pictures")
    assert done.status == 0
    for one, other in zip(*(table(tmp_path / o / "agree/agreement.csv") for o in ("plain", "out")), strict=True):
        assert float(one["value"]) == pytest.approx(float(other["value"]), abs=1e-12, nan_ok=True)


def test_one_of_another_size_is_told(study, tmp_path, capsys):
    write_png(tmp_path / "unet/p2.png", read_mask(tmp_path / "masks/A/p2.png").array[:-1])
    done = run(capsys, "check", study, "--predictions", tmp_path / "unet/{case}.png", "--out", tmp_path / "out")
    assert done.status == 1
    messages = [row["message"] for row in table(tmp_path / "out/check/problems.csv") if row["severity"] == "error"]
    assert len(messages) == 1
    assert "p2" in messages[0]
    assert "prediction" in messages[0]

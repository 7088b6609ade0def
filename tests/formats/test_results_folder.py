"""A second run into the same folder leaves nothing of the first that it did not write itself."""

from __future__ import annotations

import json

import pytest

from manytruths.errors import InputError
from manytruths.formats.results import cleared, staged, write_summary


def test_what_only_the_run_before_wrote_goes(tmp_path):
    for name in ("pairs.csv", "heatmaps/ranking/p01.tif", "heatmaps/p01.tif", "agreement.csv"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("old")
    first = [tmp_path / n for n in ("pairs.csv", "heatmaps/ranking/p01.tif", "heatmaps/p01.tif", "agreement.csv")]
    write_summary(tmp_path, {"verb": "agree"}, first)
    (tmp_path / "heatmaps" / "mine.txt").write_text("the user's")
    write_summary(tmp_path, {"verb": "agree"}, [tmp_path / "agreement.csv"])
    left = sorted(p.relative_to(tmp_path).as_posix() for p in tmp_path.rglob("*"))
    assert left == ["agreement.csv", "heatmaps", "heatmaps/mine.txt", "summary.json"]
    assert json.loads((tmp_path / "summary.json").read_text())["files"] == ["agreement.csv"]


def test_a_summary_from_elsewhere_removes_nothing_outside(tmp_path):
    folder, outside = tmp_path / "out", tmp_path / "precious.txt"
    folder.mkdir()
    outside.write_text("keep")
    for files in (["../precious.txt", str(outside)], "precious.txt", [3], None):
        (folder / "summary.json").write_text(json.dumps({"files": files}))
        write_summary(folder, {}, [])
        assert outside.read_text() == "keep"


def test_a_broken_summary_is_replaced(tmp_path):
    (tmp_path / "summary.json").write_text("{not json")
    assert json.loads(write_summary(tmp_path, {"a": 1}, []).read_text()) == {"a": 1, "files": []}


def _half_way(folder):
    with staged(folder) as stage:
        stage.mkdir()
        (stage / "p01.tif").write_text("new")
        raise ZeroDivisionError


def test_a_failing_run_leaves_what_was_there(tmp_path):
    folder = tmp_path / "heatmaps"
    (folder / "ranking").mkdir(parents=True)
    (folder / "p01.tif").write_text("old")
    with pytest.raises(ZeroDivisionError):
        _half_way(folder)
    assert (folder / "p01.tif").read_text() == "old"
    with staged(folder) as stage:
        (stage / "ranking").mkdir(parents=True)
        (stage / "ranking" / "p01.tif").write_text("new")
    assert (folder / "ranking" / "p01.tif").read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["heatmaps"]


def test_only_our_own_folders_are_cleared(tmp_path):
    mark = tmp_path / "study" / "study.toml"
    cleared(tmp_path, ("study", "known"), mark, "ours")
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "precious.png").write_text("keep")
    with pytest.raises(InputError, match=r"something else.*--out"):
        cleared(tmp_path, ("study", "known"), mark, "ours")
    assert (tmp_path / "study" / "precious.png").is_file()
    mark.write_text("ours")
    cleared(tmp_path, ("study", "known"), mark, "ours")
    assert not (tmp_path / "study").exists()

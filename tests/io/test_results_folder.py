"""What ``summary.json`` lists: a second run leaves nothing of the first that it did not write itself."""

from __future__ import annotations

import json

import pytest

from manytruths.io.results import listed_files, remove_inside, write_summary


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
    for files in (["../precious.txt", str(outside), "", "."], "precious.txt", [3], None):
        (folder / "summary.json").write_text(json.dumps({"files": files}))
        write_summary(folder, {}, [])
        assert outside.read_text() == "keep"


def test_a_name_that_leads_through_a_link_removes_nothing(tmp_path):
    folder, outside = tmp_path / "out", tmp_path / "elsewhere"
    (outside / "deep").mkdir(parents=True)
    (outside / "deep/precious.txt").write_text("keep")
    folder.mkdir()
    (folder / "link").symlink_to(outside)
    (folder / "summary.json").write_text(json.dumps({"files": ["link/deep/precious.txt", "link/deep", "link"]}))
    write_summary(folder, {}, [])
    assert (outside / "deep/precious.txt").read_text() == "keep"
    assert not (folder / "link").is_symlink()


def test_a_broken_summary_is_replaced(tmp_path):
    (tmp_path / "summary.json").write_text("{not json")
    assert json.loads(write_summary(tmp_path, {"a": 1}, []).read_text()) == {"a": 1, "files": []}


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', '{"files": ["a/../../b", "/c", "d"]}'])
def test_names_that_lead_out_of_the_folder_are_not_listed(tmp_path, text):
    (tmp_path / "summary.json").write_text(text)
    assert listed_files(tmp_path) == (["d"] if '"d"' in text else [])


def test_a_file_that_is_gone_is_no_loss(tmp_path):
    remove_inside(tmp_path, "a/b/c.csv")
    assert not list(tmp_path.iterdir())

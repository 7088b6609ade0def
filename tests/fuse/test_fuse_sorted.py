"""The raters' masks sorted by Gordon's measures, and what STAPLE takes for granted."""

from __future__ import annotations

import json

import pytest

from manytruths.cli import status
from manytruths.demo import demo
from study_folders import table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("sorted")
    demo(root, cases=10, size=64)
    assert (
        status(["fuse", str(root / "study"), "--consensus", "staple,vote:0.5", "--out", str(root / "out"), "-q"]) == 0
    )
    return root


def test_one_picture_a_case_for_staple_alone(folder):
    names = {p.relative_to(folder / "out/fuse/sorted").as_posix() for p in (folder / "out/fuse").rglob("sorted/*/*")}
    assert names == {f"staple/p{i:02d}.png" for i in range(1, 11)}
    listed = json.loads((folder / "out/fuse/summary.json").read_text())["files"]
    assert {name for name in listed if name.startswith("sorted/")} == {f"sorted/{name}" for name in names}


def test_dependence_stands_beside_the_rates(folder):
    rows = {r["statistic"]: r for r in table(folder / "out/fuse/performance.csv") if r["rater"] == ""}
    assert set(rows) == {"effective_raters", "error_correlation"}
    assert -1 < float(rows["error_correlation"]["value"]) < 1
    assert (rows["effective_raters"]["value"], rows["effective_raters"]["code"]) == (
        "nan",
        "no_reference_for_dependence",
    )


def test_it_comes_back_when_it_is_gone(folder):
    picture = folder / "out/fuse/sorted/staple/p03.png"
    before = picture.read_bytes()
    picture.unlink()
    arguments = ["--consensus", "staple,vote:0.5", "--out", str(folder / "out"), "-q"]
    assert status(["fuse", str(folder / "study"), *arguments]) == 0
    assert picture.read_bytes() == before

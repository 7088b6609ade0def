"""``mt.fuse``: the command as a function."""

from __future__ import annotations

from pathlib import Path

import pytest

import manytruths as mt
from study_folders import disc, files, run, write_png, write_study

OPTIONS = {"consensus": ["vote:0.5", "staple", "lsml"]}


def content(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files(folder)}


def test_the_function_writes_what_the_command_writes(capsys, tmp_path):
    template = write_study(tmp_path)
    line = ["fuse", template, "--out", tmp_path / "command", "--consensus", "vote:0.5,staple,lsml"]
    assert run(capsys, *line, "--quiet").status == 0
    mt.fuse(template, out=tmp_path / "function", **OPTIONS)
    later = mt.fuse(mt.Study.open(template), **OPTIONS)
    assert not (tmp_path / "manytruths-out").exists()
    paths = later.write(tmp_path / "later")
    wanted = content(tmp_path / "command/fuse")
    wanted.pop("run.json", None)
    for name in ("function", "later"):
        mine = content(tmp_path / name / "fuse")
        mine.pop("run.json", None)
        assert mine == wanted
    assert {path.relative_to(tmp_path / "later/fuse").as_posix() for path in paths} == set(wanted)


def test_without_pictures_the_masks_are_written(tmp_path):
    result = mt.fuse(write_study(tmp_path), **OPTIONS)
    written = {path.parts[len(tmp_path.parts) + 2] for path in result.write(tmp_path / "out", pictures=False)}
    assert {"consensus", "probability", "performance.csv", "summary.json"} <= written
    assert not {"pictures", "charts", "sorted"} & written


def test_what_is_in_the_result(tmp_path):
    pd = pytest.importorskip("pandas")
    result = mt.fuse(write_study(tmp_path), **OPTIONS)
    assert list(result.tables) == ["performance", "differences", "complexity", "convergence"]
    assert all(isinstance(table.to_frame(), pd.DataFrame) for table in result.tables.values())
    assert set(result.tables["convergence"].to_frame()["method"]) == {"vote:0.5", "staple", "lsml"}
    assert repr(result).startswith("<Fusion: 3 methods, 2 cases, 3 raters; tables: performance, ")
    assert "iou-staple" in result.charts
    assert result.tables["convergence"]._repr_html_() in result._repr_html_()


def test_options_of_methods_arrive(tmp_path):
    template = write_study(tmp_path)
    result = mt.fuse(template, consensus="simple,lsml,staple", simple_alpha=0.1, length_penalty=0.0, smoothing=0.5)
    assert result.methods == ("simple", "lsml", "staple_map")
    assert result.plan.options["simple"] == {"alpha": 0.1}
    assert result.plan.options["lsml"] == {"length_penalty": 0.0}
    assert result.plan.options["staple_map"]["smoothing"] == 0.5
    pooled = mt.fuse(template, consensus="staple", rates="pooled", unanimous="exclude")
    assert pooled.plan.pooled["staple"].options.unanimous == "exclude"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"consensus": ""}, "consensus is one or more different methods"),
        ({"consensus": ["vote", "vote"]}, "consensus is one or more different methods"),
        ({"consensus": "stable"}, "did you mean 'staple'"),
        ({"rates": "all"}, "rates is 'case' or 'pooled'; got 'all'"),
        ({"consensus": "lsml", "rates": "pooled"}, "rates cannot be pooled"),
    ],
)
def test_wrong_calls_touch_nothing(options, words, tmp_path):
    write_png(tmp_path / "out/fuse/own.png", disc())
    with pytest.raises(mt.CallError, match=words):
        mt.fuse(write_study(tmp_path), out=tmp_path / "out", **options)
    assert [path.name for path in files(tmp_path / "out")] == ["own.png"]

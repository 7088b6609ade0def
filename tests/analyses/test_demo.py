"""The demo: what it leaves, that it is repeatable, and that the careless rater is found."""

from __future__ import annotations

import csv

import pytest

from manytruths.cli import status
from manytruths.demo import STUDY_TOML, demo


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    return demo(tmp_path_factory.mktemp("demo"), cases=12, size=96)


def test_it_leaves_a_study_and_pictures(shown):
    folder = shown.folder
    assert len(list((folder / "study/images").glob("*.png"))) == 12
    assert (folder / "study/study.toml").is_file()
    for pictures in ("contours", "agree/heatmaps", "agree/heatmaps/ranking"):
        assert len(list((folder / pictures).glob("*.png"))) == 12
    assert {p.stem for p in (folder / "agree/charts").glob("*.svg")} >= {"dendrogram", "kappa-by-group"}


def test_estimates_come_close_to_the_truth(shown):
    with open(shown.folder / "agree/truth.csv", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    overlap = {row["source"]: float(row["value"]) for row in rows if row["statistic"] == "dice" and not row["rater"]}
    assert overlap["vote:0.5"] > 0.85
    true = {(r["rater"], r["statistic"]): float(r["value"]) for r in rows if r["source"] == "truth" and r["rater"]}
    assert true["C", "relative_area"] < 0.9 < 1.1 < true["E", "relative_area"]
    assert min("ABCDE", key=lambda r: true[r, "dice"]) == "D"
    assert shown.agreement.raters.differences.outliers == ("D",)


@pytest.mark.slow
def test_a_second_demo_in_the_same_folder_is_a_new_one(tmp_path):
    demo(tmp_path, cases=11, size=64, seed=3)
    again = demo(tmp_path, cases=10, size=64)
    assert len(again.agreement.study) == 10
    assert not list(tmp_path.rglob("p11*"))


def test_what_is_not_ours_stays(tmp_path, capsys):
    (tmp_path / "study").mkdir()
    (tmp_path / "study/mine.png").write_text("precious")
    assert status(["demo", "--out", str(tmp_path), "--n-cases", "10", "--size", "64"]) == 1
    assert "something else" in capsys.readouterr().err
    assert (tmp_path / "study/mine.png").read_text() == "precious"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--n-cases", "0"), "cases is 0; it must be 1 or more"),
        (("--size", "10"), "64 pixels or more"),
        (("--seed", "-1"), "seed must be at least 0"),
        (("--jobs", "0"), "jobs must be at least 1"),
    ],
)
def test_a_wrong_argument_leaves_an_earlier_demo_alone(arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    study = tmp_path / "manytruths-demo/study"
    study.mkdir(parents=True)
    (study / "study.toml").write_text(STUDY_TOML)
    (study / "cases.csv").write_text("case\n")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    assert status(["demo", *arguments]) == 2
    assert message in capsys.readouterr().err
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before

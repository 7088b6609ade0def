"""What ``evaluate`` makes beyond scores, from the command line: sheet and grades, frames, boundaries, a second look."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from manytruths import simulate_study
from manytruths.cli import status
from manytruths.evaluation.curves import divide

ALGORITHMS = ("net", "cautious", "filter")


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Twelve phantoms as frames of three subjects, three algorithms."""
    folder = tmp_path_factory.mktemp("extras")
    for i, case in enumerate(simulate_study(cases=12, size=96, seed=8)):
        name = f"f{i:02d}"
        arrays = {f"images/{name}": case.image}
        arrays |= {f"masks/{r}/{name}": m.mask.astype(np.uint8) for (r, s), m in case.readings.items() if s == "1"}
        arrays |= {f"pred/{a}/{name}": m.astype(np.uint8) for a, m in case.predictions.items()}
        for path, array in arrays.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(array).save(folder / f"{path}.png")
    lines = ["case,subject", *(f"f{i:02d},s{i // 4}" for i in range(12))]
    (folder / "cases.csv").write_text("\n".join(lines) + "\n")
    return folder


def call(study, out, *more):
    line = [
        "evaluate",
        f"{study}/masks/{{rater}}/{{case}}.png",
        "--predictions",
        f"{study}/pred/{{algorithm}}/{{case}}.png",
    ]
    line += ["--images", f"{study}/images/{{case}}.png", "--cases", f"{study}/cases.csv", "--out", out, "--jobs", 1]
    return status([str(part) for part in (*line, *more)])


def rows(path):
    with path.open(encoding="utf-8", newline="") as lines:
        return list(csv.DictReader(lines))


@pytest.mark.slow
def test_a_sheet_is_graded_and_read_again(study, tmp_path, capsys):
    assert call(study, tmp_path, "--grading-sheet", "--grading-repeats", 0.2, "--no-distances") == 0
    assert "grading" in capsys.readouterr().out.splitlines()[-1]
    sheet, key = rows(tmp_path / "evaluate/grading/sheet.csv"), rows(tmp_path / "evaluate/grading/key.csv")
    assert len(sheet) == len(key) > 36
    assert {p.stem for p in (tmp_path / "evaluate/grading/pictures").iterdir()} == {line["code"] for line in sheet}
    own = {line["code"]: (line["case"], line["algorithm"]) for line in key}
    dice = {
        (r["case"], r["algorithm"]): r["value"] for r in rows(tmp_path / "evaluate/scores.csv")
        if (r["scope"], r["statistic"], r["against"]) == ("case", "dice", "mean of raters")
    }  # fmt: skip
    grades = {code: 4 if float(dice[item] or "nan") > 0.6 else 2 for code, item in own.items()}
    filled = tmp_path / "evaluate/grading/sheet.csv"
    filled.write_text("code,grade,remark\n" + "".join(f"{line['code']},{grades[line['code']]},\n" for line in sheet))
    assert call(study, tmp_path / "again", "--grades", filled) == 0
    said = capsys.readouterr().out
    assert "extended_dice" in said or "extended Dice" in said
    counts = rows(tmp_path / "again/evaluate/grades.csv")
    assert {r["algorithm"] for r in counts} >= set(ALGORITHMS)
    areas = {r["metric"]: r for r in rows(tmp_path / "again/evaluate/grading.csv")
             if r["statistic"] == "roc_area" and not r["algorithm"] and not r["grader"]}  # fmt: skip
    assert float(areas["dice [mean of raters]"]["value"]) == 1, "the grades were made of it"
    assert float(areas["hausdorff_95 [mean of raters]"]["value"]) > 0.5
    assert (tmp_path / "again/evaluate/charts/grades.svg").stat().st_size > 1000
    # grades that somebody filled in are not written over
    assert call(study, tmp_path, "--grading-sheet") == 1
    assert "holds grades" in capsys.readouterr().err


def test_wrong_grades_are_listed_with_their_lines(study, tmp_path, capsys):
    (tmp_path / "grades.csv").write_text("case,algorithm,grade\nf00,net,5\nf99,net,3\nf01,nobody,2\nf02,net,good\n")
    assert call(study, tmp_path, "--grades", tmp_path / "grades.csv") == 1
    said = capsys.readouterr().err
    assert all(f"line {n}" in said for n in (2, 3, 4, 5))


def test_intensity_along_frames(study, tmp_path):
    assert call(study, tmp_path, "--intensity-curves", "--no-distances") == 0
    found = rows(tmp_path / "evaluate/frames.csv")
    image = np.asarray(Image.open(study / "images/f05.png"), float) @ [0.2989, 0.587, 0.114]
    mask = np.asarray(Image.open(study / "masks/A/f05.png")) > 0
    one = next(r for r in found if (r["case"], r["who"], r["statistic"]) == ("f05", "A", "intensity"))
    assert float(one["value"]) == pytest.approx(image[mask].mean())
    assert one["frame"] == "2"
    assert {r["who"] for r in found if r["scope"] == "mean"} == {*"ABCDE", *ALGORITHMS}
    assert len(list((tmp_path / "evaluate/charts").glob("frames-*.svg"))) == 3


def test_frames_want_images(study, tmp_path, capsys):
    line = [
        "evaluate",
        f"{study}/masks/{{rater}}/{{case}}.png",
        "--predictions",
        f"{study}/pred/{{algorithm}}/{{case}}.png",
    ]
    assert status([*line, "--intensity-curves", "--out", str(tmp_path)]) == 2
    assert "--images" in capsys.readouterr().err


def test_boundaries_of_regions(study, tmp_path):
    assert call(study, tmp_path, "--boundaries", "outlines", "--boundary-share", 0.02, "--no-distances") == 0
    found = rows(tmp_path / "evaluate/boundaries.csv")
    assert {r["against"] for r in found} == {*"ABCDE", "vote:0.5", "staple", "all raters"}
    counts = np.zeros(4, np.int64)
    for i in range(12):
        path = study / "masks/B" / f"f{i:02d}.png"
        truth, own = (np.asarray(Image.open(p)) > 0 for p in (path, study / "pred/net" / path.name))
        scores = mt.boundary_scores(mt.find_boundaries(own), mt.find_boundaries(truth), share=0.02).counts
        counts += [
            int(c[0]) for c in (scores.predicted, scores.predicted_matched, scores.reference, scores.reference_matched)
        ]
    wanted = {"boundary_precision": divide(counts[1], counts[0]), "boundary_recall": divide(counts[3], counts[2])}
    for name, value in wanted.items():
        row = next(r for r in found if r["scope"] == "pooled" and r["statistic"] == name
                   and (r["algorithm"], r["against"]) == ("net", "B"))  # fmt: skip
        assert float(row["value"]) == pytest.approx(float(value))


def test_a_second_look_lists_what_nobody_marked(study, tmp_path):
    stray = tmp_path / "pred"
    for algorithm in ALGORITHMS:
        for i in range(12):
            mask = np.array(Image.open(study / f"pred/{algorithm}/f{i:02d}.png"))
            if i == 3 and algorithm != "cautious":
                mask[2:12, 2:12] = 1
            (stray / algorithm).mkdir(parents=True, exist_ok=True)
            Image.fromarray(mask).save(stray / algorithm / f"f{i:02d}.png")
    line = ["evaluate", f"{study}/masks/{{rater}}/{{case}}.png", "--predictions", f"{stray}/{{algorithm}}/{{case}}.png"]
    assert status([*line, "--out", str(tmp_path), "--no-distances", "--jobs", "1"]) == 0
    first = rows(tmp_path / "evaluate/second_look.csv")[0]
    assert (first["case"], float(first["value"]), first["n_algorithms"]) == ("f03", 100, "2")
    assert (tmp_path / "evaluate/second_look/001.png").is_file()
    summary = json.loads((tmp_path / "evaluate/summary.json").read_text())
    assert summary["tables"]["second_look"][0]["case"] == "f03"


@pytest.mark.slow
def test_a_raters_own_masks_are_said_to_be_neither_better_nor_among_raters(study, tmp_path, capsys):
    """The raters' own masks as predictions: no table and no line gives a place among the raters."""
    masks = f"{study}/masks"
    line = ["evaluate", f"{masks}/{{rater}}/{{case}}.png", "--predictions", f"{masks}/{{algorithm}}/{{case}}.png"]
    assert status([*line, "--out", str(tmp_path), "--jobs", "1"]) == 0
    beside = rows(tmp_path / "evaluate/beside_raters.csv")
    assert len(beside) > 100
    assert "verdict" not in beside[0]
    assert not re.search("among the raters|than every rater", capsys.readouterr().out)

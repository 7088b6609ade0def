"""The files of ``fuse`` that other programs rely on: names, columns, numbers, formats; the same for any jobs."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from study_folders import command, disc, files, pixels, run, table, untidy, write_png

HEAD = ["scope", "case", "group", "label", "region"]
TAIL = ["statistic", "value", "low", "high", "n", "n_undefined", "reason", "code"]
EXTRA = {
    "performance": ["method", "rater"],
    "differences": ["method_a", "method_b"],
    "left_out": ["method", "rater"],
    "complexity": ["class"],
}
CASES = [f"p{i}" for i in range(1, 7)]
METHODS = ["vote:0.5", "vote:any", "excl:0.5", "staple", "simple", "plurality", "lsml"]
FOLDERS = [m.replace(":", "-") for m in METHODS]


def write_everything(folder):
    """Groups, subjects, images, an absent rater, an empty mask, values 0 and 255."""
    for y, case in enumerate(CASES):
        for x, rater in enumerate("ABC"):
            write_png(folder / f"masks/{rater}/{case}.png", disc(x=x + y * x % 3, y=y % 4) * 255)
        write_png(folder / f"images/{case}.png", disc(y=y, radius=8) * 100 + 20)
    write_png(folder / "masks/B/p6.png", disc() * 0)
    (folder / "masks/C/p5.png").unlink()
    rows = [f"{case},s{i // 2},{'ab'[i % 2]}" for i, case in enumerate(CASES)]
    (folder / "cases.csv").write_text("\n".join(["case,subject,kind", *rows, ""]))
    (folder / "study.toml").write_text(
        'masks = "masks/{rater}/{case}.png"\nimages = "images/{case}.png"\ncases = "cases.csv"\n'
    )


def fuse(folder, out, jobs, *options):
    names = ",".join(METHODS)
    done = command("fuse", folder, "--out", out, "--jobs", jobs, "--consensus", names, *options)
    assert (done.status, done.err) == (0, "")
    return done


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    write_everything(folder)
    for jobs in (1, 3):
        assert fuse(folder, folder / f"out{jobs}", jobs, "--quiet").out == ""
    return folder


def test_every_table_has_its_columns(everything):
    found = {path.stem: path for path in (everything / "out1/fuse").glob("*.csv")}
    assert set(found) == {*EXTRA, "claims", "convergence"}
    for name, extra in EXTRA.items():
        with open(found[name], newline="", encoding="utf-8") as stream:
            unit = ["unit"] * (name == "performance")  # of distances
            assert next(csv.reader(stream)) == [*HEAD, *extra, *TAIL, *unit]
    assert found["convergence"].read_text().splitlines()[0] == "case,method,ended,iterations,left_out,tied,gaps,note"


def test_rows(everything):
    for name in EXTRA:
        rows = table(everything / f"out1/fuse/{name}.csv")
        keys = [tuple(v for k, v in row.items() if k not in (*TAIL, "unit") or k == "statistic") for row in rows]
        assert len(keys) == len(set(keys)), name
        for row in rows:
            assert row["scope"] in ("case", "subject", "group", "pooled", "mean", "std"), row
            assert row["statistic"].replace("_", "").isalnum(), row
            assert (row["case"] != "") == (row["scope"] in ("case", "subject")), row
            assert (row["reason"] != "") >= math.isnan(float(row["value"])), row
            assert row["reason"] != "undefined", row


def test_promised_rows(everything):
    rows = table(everything / "out1/fuse/performance.csv")
    assert {row["method"] for row in rows} == set(METHODS)
    together = [row for row in rows if row["rater"] == ""]
    assert {row["statistic"] for row in together} == {"effective_raters", "error_correlation"}
    rows = [row for row in rows if row not in together]
    assert {row["rater"] for row in rows} == set("ABC")
    hard = {"iou", "sensitivity", "specificity", "dice"}
    assert {row["statistic"] for row in rows} == hard | {
        "accuracy", "gordon_f", "balanced_accuracy", "dice_failed_cases", "dice_failures",
        "dice_without_failures", "hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice",
    }  # fmt: skip
    for scope, number in (("case", 6), ("subject", 3), ("pooled", 1)):
        own = (scope, "staple", "A", "iou")
        assert sum((r["scope"], r["method"], r["rater"], r["statistic"]) == own for r in rows) == number
    assert {row["group"] for row in rows if row["scope"] == "mean"} == {"", "a", "b"}
    absent = [r for r in rows if (r["case"], r["rater"], r["statistic"]) == ("p5", "C", "iou")]
    assert [r["value"] for r in absent] == ["nan"] * len(METHODS)
    between = table(everything / "out1/fuse/differences.csv")
    assert {row["statistic"] for row in between} == {"dice", "iou", "volume_difference", "changed"}
    pairs = {(row["method_a"], row["method_b"]) for row in between}
    assert ("vote:0.5", "lsml") in pairs
    assert ("staple", "staple on the modified background") in pairs
    shape = table(everything / "out1/fuse/complexity.csv")
    assert {row["statistic"] for row in shape} == {
        "entropy", "std", "mean", "esm", "ssm", "dice", "esm_dice_correlation"
    }  # fmt: skip
    assert {row["class"] for row in shape} == {""}, "fewer than ten cases make no groups"
    overlap = {"dice", "esm_dice_correlation"}
    assert {row["region"] for row in shape if row["statistic"] not in overlap} == {"modified_background"}
    ends = table(everything / "out1/fuse/convergence.csv")
    assert [(row["case"], row["method"]) for row in ends] == [(c, m) for c in CASES for m in METHODS]


def test_the_summary_holds_the_same_numbers(everything):
    summary = json.loads((everything / "out1/fuse/summary.json").read_text())
    assert (summary["schema_version"], summary["command"]) == (1, "fuse")
    assert (summary["cases"], summary["subjects"], summary["raters"]) == (6, 3, ["A", "B", "C"])
    assert summary["methods"] == METHODS
    assert set(summary["tables"]) == set(EXTRA)
    for name, rows in summary["tables"].items():
        written = table(everything / f"out1/fuse/{name}.csv")
        assert len(rows) == len(written)
        for one, other in zip(rows, written, strict=True):
            assert list(one) == list(other)
            for key, found in one.items():
                if found is None:
                    assert other[key] in ("", "nan")
                elif isinstance(found, float):
                    assert float(other[key]) == found
                else:
                    assert other[key] == str(found)
    shown = {p.relative_to(everything / "out1/fuse").as_posix() for p in files(everything / "out1/fuse")}
    assert set(summary["files"]) == shown - {"summary.json"}


def test_maps(everything):
    out = everything / "out1/fuse"
    for kind, suffix in (("consensus", ".png"), ("probability", ".tif"), ("pictures", ".png")):
        assert sorted(p.name for p in (out / kind).iterdir()) == sorted(FOLDERS)
        for folder in FOLDERS:
            assert sorted(p.name for p in (out / kind / folder).iterdir()) == [f"{c}{suffix}" for c in CASES]
    for folder in FOLDERS:
        for case in CASES:
            hard, soft = (
                pixels(out / f"consensus/{folder}/{case}.png"),
                pixels(out / f"probability/{folder}/{case}.tif"),
            )
            assert (hard.dtype, soft.dtype, hard.shape) == (np.uint8, np.float32, (24, 24))
            assert set(np.unique(hard)) <= {0, 255}
            assert np.isfinite(soft).all()
            assert soft.min() >= 0
            assert soft.max() <= 1
            assert soft[0, 0] < 0.05  # how likely marked, not how likely as decided
    charts = {p.name for p in (out / "charts").iterdir()}
    assert charts == {*(f"iou-{f}.svg" for f in FOLDERS), "complexity.svg", "esm.svg"}
    assert not untidy(out)


def test_votes_are_counted(everything):
    masks = [pixels(everything / f"masks/{r}/p1.png") > 0 for r in "ABC"]
    for method in ("vote-0.5", "plurality"):
        share = pixels(everything / f"out1/fuse/probability/{method}/p1.tif")
        assert np.allclose(share, sum(m.astype(float) for m in masks) / 3, atol=1e-7)
    assert ((pixels(everything / "out1/fuse/consensus/vote-0.5/p1.png") > 0) == (sum(masks) >= 2)).all()


def test_the_number_of_jobs_does_not_matter(everything):
    first, other = everything / "out1", everything / "out3"
    assert [p.relative_to(first) for p in files(first)] == [p.relative_to(other) for p in files(other)]
    for path in files(first):
        again = other / path.relative_to(first)
        assert path.read_bytes() == again.read_bytes(), path


@pytest.mark.slow
def test_a_second_run_gives_the_same_files(everything):
    before = {path: path.read_bytes() for path in files(everything / "out3")}
    printed = fuse(everything, everything / "out3", 3).out
    assert {path: path.read_bytes() for path in files(everything / "out3")} == before
    again = fuse(everything, everything / "out1", 1).out
    assert printed.splitlines()[:-1] == again.splitlines()[:-1]


@pytest.mark.slow
def test_one_method_less_and_its_files_go(capsys, tmp_path):
    write_everything(tmp_path)
    for names in ("vote:0.5,staple", "staple"):
        assert run(capsys, "fuse", tmp_path, "--out", tmp_path / "o", "--consensus", names).status == 0
    found = files(tmp_path / "o/fuse")
    assert not [p for p in found if "vote" in str(p.relative_to(tmp_path))]
    assert len([p for p in found if p.parent.name == "staple"]) == 4 * len(CASES)

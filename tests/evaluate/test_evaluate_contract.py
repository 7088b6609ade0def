"""The files of ``evaluate`` that other programs rely on: names, columns, numbers; the same for any jobs and any run."""

from __future__ import annotations

import csv
import json
import math
import os
import subprocess
import time
from collections import Counter

import numpy as np
import pytest

import manytruths as mt
from study_folders import MANYTRUTHS, disc, files, run, table, untidy, value, volume, write_nifti, write_png

HEAD = ["scope", "case", "group", "label", "region"]
TAIL = ["statistic", "value", "low", "high", "n", "n_undefined", "reason", "code"]
HARD = {
    "scores": ["algorithm", "against"],
    "rankings": ["against", "metric", "rank", "algorithm"],
    "human": ["rater", "against"],
    "beside_raters": ["algorithm", "against", "human_low", "human_high"],
    "interchangeability": ["algorithm", "rater", "without"],
}
GREY = {
    "scores": HARD["scores"],
    "rankings": HARD["rankings"],
    "curves": ["algorithm", "against", "threshold"],
    "froc": ["algorithm", "against", "threshold"],
    "correlations": ["algorithm"],
    "reach": ["forecast", "against"],
    "calibration": ["algorithm", "against", "from", "to"],
}
CASES = [f"p{i}" for i in range(1, 7)]
ALGORITHMS = ("unet", "atlas", "level set")
TRUTHS = ["A", "B", "C", "gold", "vote:0.5", "staple"]
WORDS = {
    "dice", "iou", "sensitivity", "specificity", "ppv", "cohen_kappa", "volume_difference", "hausdorff", "hausdorff_95",
    "mean_surface_distance", "surface_dice", "soft_accuracy", "gordon_f", "balanced_accuracy", "extended_dice",
    "lesion_sensitivity", "lesion_precision", "lesion_f1", "lesion_pq", "lesion_sq", "lesion_rq",
    "inner_outer_ratio", "dice_failed_cases", "dice_failures", "dice_without_failures", "size_difference",
    "log_size_ratio",
}  # fmt: skip
WITH_UNITS = {"hard": ("scores", "human", "beside_raters"), "grey": ("scores", "reach")}
"""Tables with distances or sizes, whose last column is their unit."""
FORECASTS = {"brier", "brier_union", "expected_calibration_error", "expected_calibration_error_union", "crps_volume"}
"""Against raters."""
LIMITS = (("hard", HARD), ("grey", GREY))


def write_everything(folder):
    """Groups, subjects, an absent rater, an empty mask, a missing prediction, a truth of some cases, an area."""
    for y, case in enumerate(CASES):
        for x, rater in enumerate("ABC"):
            write_png(folder / f"masks/{rater}/{case}.png", disc(x=x + y * x % 3, y=y % 4, radius=6 + x / 3))
        for x, name in enumerate(ALGORITHMS):
            mask = disc(x=x, y=y % 4 + 1, radius=5 + x / 2)
            write_png(folder / f"hard/{name}/{case}.png", mask)
            grey = mask * 90 + disc(x=x + 1, radius=9) * (30 + 10 * y) + disc(x=2, radius=3) * 40
            write_png(folder / f"grey/{name}/{case}.png", grey)
        if y < 4:
            write_png(folder / f"given/gold/{case}.png", disc(x=1, y=y % 4))
    write_png(folder / "masks/B/p6.png", disc() * 0)
    (folder / "masks/C/p5.png").unlink()
    for kind in ("hard", "grey"):
        (folder / kind / "atlas/p2.png").unlink()
    write_png(folder / "seen/unet/p1.png", disc(x=-6, radius=5))
    rows = [f"{case},s{i // 2},{'ab'[i % 2]}" for i, case in enumerate(CASES)]
    (folder / "cases.csv").write_text("\n".join(["case,subject,kind", *rows, ""]))
    for kind, more in (("hard", ""), ("grey", "probability = true\nlimits = [0, 255]\n")):
        (folder / f"{kind}.toml").write_text(
            'masks = "masks/{rater}/{case}.png"\ncases = "cases.csv"\n'
            f'predictions = "{kind}/{{algorithm}}/{{case}}.png"\nreference = "given/{{reference}}/{{case}}.png"\n'
            f'training = "seen/{{algorithm}}/{{case}}.png"\n{more}'
        )


def evaluate(folder, kind, out, jobs, *options, seed="0"):
    """As a user starts it; what is printed."""
    line = [MANYTRUTHS, "evaluate", folder / f"{kind}.toml", "--out", out, "--jobs", jobs, *options]
    environment = {**os.environ, "PYTHONHASHSEED": seed}
    done = subprocess.run([str(p) for p in line], capture_output=True, text=True, env=environment, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    write_everything(folder)
    for jobs in (1, 3):
        assert evaluate(folder, "hard", folder / f"hard{jobs}", jobs, "--quiet", seed=str(jobs)) == ""
    for jobs in (1, 2):
        assert evaluate(folder, "grey", folder / f"grey{jobs}", jobs, "--quiet", seed=str(7 * jobs)) == ""
    return folder


@pytest.mark.parametrize(("kind", "tables"), LIMITS)
def test_every_table_has_its_columns(everything, kind, tables):
    found = {path.stem: path for path in (everything / f"{kind}1/evaluate").glob("*.csv")}
    assert set(tables) <= set(found)
    assert not (set(HARD) | set(GREY)) - set(tables) & set(found)
    for name, extra in tables.items():
        with open(found[name], newline="", encoding="utf-8") as stream:
            unit = ["unit"] * (name in WITH_UNITS[kind])
            assert next(csv.reader(stream)) == [*HEAD, *extra, *TAIL, *unit]
    assert found["orders"].read_text().splitlines()[0] == "label,metric,ranking,order,truths"
    assert not untidy(everything / f"{kind}1")


@pytest.mark.parametrize(("kind", "tables"), LIMITS)
def test_rows(everything, kind, tables):
    for name in tables:
        rows = table(everything / f"{kind}1/evaluate/{name}.csv")
        assert rows
        keys = Counter(tuple(v for k, v in row.items() if k not in TAIL or k == "statistic") for row in rows)
        assert max(keys.values()) == 1, keys.most_common(1)
        for row in rows:
            assert row["scope"] in ("case", "subject", "group", "pooled", "mean", "std"), row
            assert row["statistic"].replace("_", "").isalnum(), row
            assert (row["case"] != "") == (row["scope"] in ("case", "subject")), row
            assert (row["reason"] != "") >= math.isnan(float(row["value"])), row
            assert row["reason"] != "undefined", row
            # where a value is defined, the reason is that of its interval
            with_interval = row["scope"] == "mean" or name in ("froc", "calibration")
            assert not row["reason"] or with_interval or math.isnan(float(row["value"])), row


def test_promised_rows_of_masks(everything):
    rows = table(everything / "hard1/evaluate/scores.csv")
    assert {row["algorithm"] for row in rows} == set(ALGORITHMS)
    assert list(dict.fromkeys(row["against"] for row in rows)) == [*TRUTHS, "all raters", "mean of raters"]
    assert {row["statistic"] for row in rows} == WORDS
    for scope, number in (("case", 6), ("subject", 3)):
        own = (scope, "staple", "unet", "dice")
        assert sum((r["scope"], r["against"], r["algorithm"], r["statistic"]) == own for r in rows) == number
    assert {row["group"] for row in rows if row["scope"] == "mean"} == {"", "a", "b"}
    whys = {(r["case"], r["algorithm"], r["against"]): r["reason"] for r in rows if r["statistic"] == "hausdorff"}
    assert whys["p2", "atlas", "A"] == "no prediction"
    assert whys["p5", "unet", "C"] == "the rater is absent"
    assert whys["p5", "unet", "gold"] == "the reference is not there"
    assert whys["p6", "unet", "B"] == "one of the two marked nothing"
    human = table(everything / "hard1/evaluate/human.csv")
    assert {row["rater"] for row in human} == set("ABC")
    others = {f"{m} of the others" for m in ("vote:0.5", "staple", "all raters")}
    assert {row["against"] for row in human} == set("ABC") | others | {"gold"}
    beside = table(everything / "hard1/evaluate/beside_raters.csv")
    assert {row["against"] for row in beside} == {"raters", "gold", "vote:0.5", "staple", "all raters"}
    compared = table(everything / "hard1/evaluate/interchangeability.csv")
    assert {row["rater"] for row in compared} == {"", *"ABC"}
    assert {row["algorithm"] for row in compared} == set(ALGORITHMS)


def test_promised_rows_of_grey_predictions(everything):
    out = everything / "grey1/evaluate"
    rows = table(out / "scores.csv")
    named = ["A", "B", "C", "gold", "vote:any", "vote:0.5", "vote:0.75", "staple"]
    others = [*(f"votes>={k}" for k in (1, 2, 3)), "vote share", "mean of raters"]
    assert list(dict.fromkeys(row["against"] for row in rows)) == [*named, *others]
    areas, of_shares = {"pbar_area", "pr_area", "roc_area"}, {"soft_dice", "continuous_dice"}
    assert {row["statistic"] for row in rows} == areas | FORECASTS | of_shares
    assert {row["statistic"] for row in rows if row["against"] == "vote share"} == FORECASTS - {
        "crps_volume"
    } | of_shares
    reach = table(out / "reach.csv")
    assert {row["forecast"] for row in reach} == {"vote share of the others", "another rater"}
    assert {row["against"] for row in reach} == {*"ABC", "mean of raters"}
    assert {row["statistic"] for row in reach} == FORECASTS
    bins = table(out / "calibration.csv")
    assert {row["region"] for row in bins} == {"whole", "union"}
    assert {row["against"] for row in bins} == {*named, "vote share"}
    assert {row["scope"] for row in rows} == {"case", "subject", "mean", "std", "pooled"}
    curves = table(out / "curves.csv")
    assert {row["statistic"] for row in curves} == {"recall", "fall_out", "precision", "pbar"}
    most = Counter((r["algorithm"], r["against"]) for r in curves if r["statistic"] == "recall")
    assert max(most.values()) <= 102
    assert {row["statistic"] for row in table(out / "correlations.csv")} == {"cco", "cci", "cco_p_value", "cci_p_value"}
    assert {row["against"] for row in table(out / "rankings.csv")} == {*named, "vote share"}


@pytest.mark.parametrize(("kind", "tables"), LIMITS)
def test_the_summary_holds_the_same_numbers(everything, kind, tables):
    out = everything / f"{kind}1/evaluate"
    summary = json.loads((out / "summary.json").read_text())
    assert (summary["schema_version"], summary["command"], summary["missing"]) == (1, "evaluate", "worst")
    assert (summary["cases"], summary["subjects"], summary["raters"]) == (6, 3, ["A", "B", "C"])
    assert sorted(summary["algorithms"]) == sorted(ALGORITHMS)
    assert set(tables) - {"curves", "froc", "calibration"} <= set(summary["tables"])
    assert not {"curves", "froc"} & set(summary["tables"])
    for name, rows in summary["tables"].items():
        written = table(out / f"{name}.csv")
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
    orders = [(o["metric"], "; ".join(o["truths"])) for o in summary["orders"]]
    assert orders == [(r["metric"], r["truths"]) for r in table(out / "orders.csv")]
    shown = {p.relative_to(out).as_posix() for p in files(out)}
    assert set(summary["files"]) == shown - {"summary.json"}
    assert summary["notes"]


def same_files(first, other):
    assert [p.relative_to(first) for p in files(first)] == [p.relative_to(other) for p in files(other)]
    for path in files(first):
        again = other / path.relative_to(first)
        assert path.read_bytes() == again.read_bytes(), path


@pytest.mark.parametrize(("kind", "jobs"), [("hard", 3), ("grey", 2)])
def test_jobs_and_hash_seeds_do_not_matter(everything, kind, jobs):
    same_files(everything / f"{kind}1", everything / f"{kind}{jobs}")


@pytest.mark.parametrize("kind", ["hard", "grey"])
def test_a_second_run_gives_the_same_files(everything, kind, capsys):
    out = everything / f"{kind}1"
    before = {path: path.read_bytes() for path in files(out)}
    line = ["evaluate", everything / f"{kind}.toml", "--jobs", 1]
    printed = run(capsys, *line, "--out", out).out
    assert {path: path.read_bytes() for path in files(out)} == before
    # all but where it was written
    assert (
        printed.partition("written to")[0]
        == run(capsys, *line, "--out", everything / "o").out.partition("written to")[0]
    )


@pytest.mark.slow
def test_options_less_and_their_files_go(capsys, tmp_path):
    write_everything(tmp_path)
    line = ["evaluate", tmp_path / "grey.toml", "--out", tmp_path / "o", "--jobs", 1]
    assert run(capsys, *line, "--threshold", 60).status == 0
    names = {p.name for p in files(tmp_path / "o/evaluate")}
    assert {"human.csv", "beside_raters.csv", "interchangeability.csv", "curves.csv", "human-dice.svg"} <= names
    assert run(capsys, *line, "--no-pictures").status == 0
    left = {p.name for p in files(tmp_path / "o/evaluate")}
    assert not {"human.csv", "beside_raters.csv", "interchangeability.csv"} & left
    assert not [name for name in left if name.endswith(".svg")]


@pytest.mark.slow
@pytest.mark.parametrize("number", [1, 4, 8])
def test_a_killed_run_leaves_nothing_half_written(everything, tmp_path, number):
    """Killed when so many files are there: each is what a whole run writes, and the next run completes."""
    whole = {p.name: p.read_bytes() for p in files(everything / "hard1") if p.name != "summary.json"}
    line = [MANYTRUTHS, "evaluate", everything / "hard.toml", "--out", tmp_path, "--jobs", "1", "--quiet"]
    process = subprocess.Popen([str(p) for p in line])
    while process.poll() is None and len(files(tmp_path)) < number:
        time.sleep(0.0005)
    process.kill()
    process.wait(timeout=20)
    there = {p.name: p.read_bytes() for p in files(tmp_path) if not p.name.startswith(".")}
    assert {name: there[name] for name in there if name in whole} == {
        name: whole[name] for name in there if name in whole
    }
    if number == 1:
        evaluate(everything, "hard", tmp_path, 1)
        assert {p.name: p.read_bytes() for p in files(tmp_path) if p.name in whole} == whole


# -- kinds of studies ----------------------------------------------------------------------------


def judged(capsys, folder, masks, predictions, *options):
    line = ["evaluate", folder / masks, "--predictions", folder / predictions, "--out", folder / "o"]
    done = run(capsys, *line, "--jobs", 1, "--no-pictures", *options)
    assert (done.status, done.err) == (0, "")
    return {p.stem: table(p) for p in (folder / "o/evaluate").glob("*.csv")}, done.out


def dice(first, second):
    return 2 * np.count_nonzero(first & second) / (np.count_nonzero(first) + np.count_nonzero(second))


def test_volumes_are_measured_in_mm(capsys, tmp_path):
    masks = {r: volume(x=x) for r, x in (("A", 0), ("B", 1), ("C", 3))}
    for case in ("p1", "p2"):
        for rater, mask in masks.items():
            write_nifti(tmp_path / f"m/{rater}/{case}.nii.gz", mask, spacing=(0.5, 0.5, 3))
        write_nifti(tmp_path / f"p/net/{case}.nii.gz", volume(x=2, depth=5), spacing=(0.5, 0.5, 3))
    found, printed = judged(capsys, tmp_path, "m/{rater}/{case}.nii.gz", "p/{algorithm}/{case}.nii.gz")
    for rater, mask in masks.items():
        apart = mt.surface_distances(volume(x=2), mask, (0.5, 0.5, 3))
        key = {"case": "p1", "algorithm": "net", "against": rater}
        assert value(found["scores"], "hausdorff", "case", **key) == apart.hausdorff()
        assert value(found["scores"], "mean_surface_distance", "case", **key) == apart.mean()
        assert 0.5 <= apart.hausdorff() <= 1
    assert "95% Hausdorff, mm" in printed
    assert " mm" in printed.split("tolerance of")[1].splitlines()[0]


def test_spacing_given_for_pictures(capsys, tmp_path):
    for rater, x in (("A", 0), ("B", 2)):
        write_png(tmp_path / f"m/{rater}/p1.png", disc(x=x))
    write_png(tmp_path / "p/p1.png", disc(x=1))
    found, printed = judged(capsys, tmp_path, "m/{rater}/{case}.png", "p/{case}.png", "--spacing", "0.25,0.25")
    key = {"case": "p1", "algorithm": "prediction", "against": "A"}
    assert value(found["scores"], "hausdorff", "case", **key) == mt.hausdorff(disc(x=1), disc(), (0.25, 0.25))
    assert "mm" in printed


LAYERS = {case: {r: disc(x=x, y=y) + (case != "p1") * disc(x=x, y=y, radius=3) for x, r in enumerate("ABC")}
          for y, case in enumerate(("p1", "p2", "p3"))}  # fmt: skip
"""One label in the first case, two in the others."""


def write_layers(folder):
    for y, (case, by_rater) in enumerate(LAYERS.items()):
        for rater, mask in by_rater.items():
            write_png(folder / f"m/{rater}/{case}.png", mask)
        write_png(folder / f"p/net/{case}.png", disc(x=1, y=y + 1) + (case != "p1") * disc(x=2, y=y, radius=3))


@pytest.mark.parametrize("options", [(), ("--labels", "1=1,2=2"), ("--labels", "1=gland,2=tumour")])
def test_labels_one_by_one(options, capsys, tmp_path):
    """A label counts in every case that has it, whatever other labels there are, declared or not."""
    write_layers(tmp_path)
    found, _ = judged(capsys, tmp_path, "m/{rater}/{case}.png", "p/{algorithm}/{case}.png", *options)
    names = {1: "gland", 2: "tumour"} if "gland" in str(options) else {1: "1", 2: "2"}
    assert {r["label"] for r in found["scores"]} == {"macro mean", *names.values()}
    assert {r["label"] for r in found["beside_raters"]} == {"macro mean", *names.values()}
    each = {"case": "p2", "algorithm": "net", "against": "A"}
    dices = [value(found["scores"], "dice", "case", label=name, **each) for name in names.values()]
    assert value(found["scores"], "dice", "case", label="macro mean", **each) == pytest.approx(np.mean(dices))
    for number, name in names.items():
        values = []
        for y, (case, by_rater) in enumerate(LAYERS.items()):
            net = disc(x=1, y=y + 1) + (case != "p1") * disc(x=2, y=y, radius=3)
            if number in net:
                values.append(dice(net == number, by_rater["A"] == number))
                key = {"case": case, "label": name, "algorithm": "net", "against": "A"}
                assert value(found["scores"], "dice", "case", **key) == pytest.approx(values[-1])
        assert len(values) == (3 if number == 1 else 2)
        mean = value(found["scores"], "dice", "mean", label=name, algorithm="net", against="A")
        assert mean == pytest.approx(np.mean(values))


def test_labels_united(capsys, tmp_path):
    write_layers(tmp_path)
    found, _ = judged(capsys, tmp_path, "m/{rater}/{case}.png", "p/{algorithm}/{case}.png", "--foreground", "any")
    assert {r["label"] for r in found["scores"]} == {""}
    key = {"case": "p2", "algorithm": "net", "against": "B"}
    net = disc(x=1, y=2) + disc(x=2, y=1, radius=3) > 0
    assert value(found["scores"], "dice", "case", **key) == pytest.approx(dice(net, LAYERS["p2"]["B"] > 0))


def test_a_file_for_every_structure(capsys, tmp_path):
    """Predictions in files of their own give what one file with labels gives."""
    for case in ("p1", "p2"):
        for name, radius in (("liver", 7), ("tumour", 3)):
            for x, rater in enumerate("ABC"):
                write_png(tmp_path / f"m/{rater}/{case}_{name}.png", disc(x=x, radius=radius))
            write_png(tmp_path / f"p/net/{case}_{name}.png", disc(x=1, y=1, radius=radius))
        write_png(tmp_path / f"q/net/{case}.png", disc(x=1, y=1, radius=7) + disc(x=1, y=1, radius=3))
    masks = "m/{rater}/{case}_{label}.png"
    several, _ = judged(capsys, tmp_path, masks, "p/{algorithm}/{case}_{label}.png")
    together, _ = judged(capsys, tmp_path, masks, "q/{algorithm}/{case}.png")
    assert several["scores"] == together["scores"]
    assert {r["label"] for r in several["scores"]} == {"macro mean", "liver", "tumour"}


def test_exchangeable_raters_are_nobody(capsys, tmp_path):
    for y, case in enumerate(("p1", "p2")):
        for x, rater in enumerate("ABC"):
            write_png(tmp_path / f"m/{rater}/{case}.png", disc(x=x, y=y))
        for name, x in (("net", 1), ("filter", 4)):
            write_png(tmp_path / f"p/{name}/{case}.png", disc(x=x, y=y))
    line = ("m/{rater}/{case}.png", "p/{algorithm}/{case}.png", "--raters", "exchangeable")
    for more in ((), ("--probability", "--skew", "0.1,0.5")):
        found, _ = judged(capsys, tmp_path, *line, *more)
        assert not {"A", "B", "C"} & {r["against"] for r in (*found["scores"], *found["rankings"])}
        assert not {"A", "B", "C"} & {t for r in found["orders"] for t in r["truths"].split("; ")}
    found, _ = judged(capsys, tmp_path, *line)
    assert not {"human", "beside_raters"} & set(found), "slots are nobody"
    assert {r["rater"] for r in found["interchangeability"]} == {""}
    mean = value(found["scores"], "dice", "case", case="p1", algorithm="filter", against="mean of raters")
    assert mean == pytest.approx(np.mean([dice(disc(x=4), disc(x=x)) for x in range(3)]))


def test_second_sessions_do_not_count(capsys, tmp_path):
    for y, case in enumerate(("p1", "p2")):
        for x, rater in enumerate("ABC"):
            write_png(tmp_path / f"m/{rater}/1/{case}.png", disc(x=x, y=y))
            write_png(tmp_path / f"m/{rater}/2/{case}.png", disc(x=x + 2, y=y))
        for name, x in (("net", 1), ("filter", 3)):
            write_png(tmp_path / f"p/{name}/{case}.png", disc(x=x, y=y))
    for more in ((), ("--probability", "--skew", "0.1,0.5")):
        both, _ = judged(capsys, tmp_path, "m/{rater}/{session}/{case}.png", "p/{algorithm}/{case}.png", *more)
        first, _ = judged(capsys, tmp_path, "m/{rater}/1/{case}.png", "p/{algorithm}/{case}.png", *more)
        for name in first.keys() & {"scores", "rankings", "human", "correlations"}:
            one, other = ([{k: v for k, v in r.items() if k != "value"} for r in t[name]] for t in (both, first))
            assert one == other
            # sums over more patterns, in another order
            one, other = ([float(r["value"]) for r in t[name]] for t in (both, first))
            assert one == pytest.approx(other, abs=1e-12, nan_ok=True)


def test_subjects_with_cases_of_one_name(capsys, tmp_path):
    for y, subject in enumerate(("s1", "s2", "s3")):
        for case in ("base", "later"):
            for x, rater in enumerate("ABC"):
                write_png(tmp_path / f"m/{rater}/{subject}/{case}.png", disc(x=x, y=y))
            if (subject, case) != ("s2", "later"):
                write_png(tmp_path / f"p/net/{subject}/{case}.png", disc(x=y, y=y))
    found, printed = judged(capsys, tmp_path, "m/{rater}/{subject}/{case}.png", "p/{algorithm}/{subject}/{case}.png")
    own = [r for r in found["scores"] if (r["against"], r["statistic"]) == ("A", "dice")]
    assert [r["case"] for r in own if r["scope"] == "case"] == [
        f"s{i}/{c}" for i in (1, 2, 3) for c in ("base", "later")
    ]
    assert [r["case"] for r in own if r["scope"] == "subject"] == ["s1", "s2", "s3"]
    each = [1.0, dice(disc(x=1), disc()) / 2, dice(disc(x=2), disc())]
    assert value(own, "dice", "mean", algorithm="net") == pytest.approx(np.mean(each))
    assert "net has no prediction of 1 of 6 cases (s2/later)" in " ".join(printed.split())


def test_what_was_not_rated_does_not_count(capsys, tmp_path):
    for x, rater in enumerate("ABC"):
        mask = disc(x=x)
        mask[:12, : 2 * x] = 9
        write_png(tmp_path / f"m/{rater}/p1.png", mask)
    write_png(tmp_path / "p/net/p1.png", disc(x=1))
    found, _ = judged(capsys, tmp_path, "m/{rater}/{case}.png", "p/{algorithm}/{case}.png", "--void", 9)
    for x, rater in enumerate("ABC"):
        rated = np.ones((24, 24), bool)
        rated[:12, : 2 * x] = False
        wanted = dice(disc(x=1).astype(bool) & rated, disc(x=x).astype(bool) & rated)
        assert value(found["scores"], "dice", "case", case="p1", algorithm="net", against=rater) == pytest.approx(
            wanted
        )
    assert {r["label"] for r in found["scores"]} == {""}


def test_what_an_algorithm_is_not_judged_by(capsys, tmp_path):
    """Neither its marks there nor the raters', in overlaps and in distances; everybody else is judged by all."""
    for x, rater in enumerate("ABC"):
        write_png(tmp_path / f"m/{rater}/p1.png", disc(x=x) | disc(x=9, y=9, radius=2))
    for name in ("net", "other"):
        write_png(tmp_path / f"p/{name}/p1.png", disc(x=1))
    area = np.zeros((24, 24), np.uint8)
    area[17:, 17:] = 1
    write_png(tmp_path / "seen/net/p1.png", area)
    line = ("m/{rater}/{case}.png", "p/{algorithm}/{case}.png")
    found, _ = judged(capsys, tmp_path, *line, "--training", tmp_path / "seen/{algorithm}/{case}.png")
    full, cut = disc() | disc(x=9, y=9, radius=2), disc() & (area == 0)
    for name, truth in (("net", cut), ("other", full)):
        key = {"case": "p1", "algorithm": name, "against": "A"}
        assert value(found["scores"], "dice", "case", **key) == pytest.approx(dice(disc(x=1), truth))
        assert value(found["scores"], "hausdorff", "case", **key) == mt.hausdorff(disc(x=1), truth)


def test_a_union_is_that_of_all_labels(capsys, tmp_path):
    """And estimates are made on it, as ``fuse`` makes them."""
    write_layers(tmp_path)
    found, _ = judged(capsys, tmp_path, "m/{rater}/{case}.png", "p/{algorithm}/{case}.png", "--region", "union")
    inside = np.any([m > 0 for m in LAYERS["p2"].values()], axis=0)
    rows = [r for r in found["scores"] if (r["scope"], r["case"], r["algorithm"]) == ("case", "p2", "net")]
    assert {int(r["n"]) for r in rows} == {int(inside.sum())}
    assert {r["region"] for r in rows} == {"union"}
    net = disc(x=1, y=2) + disc(x=2, y=1, radius=3)
    for label in (1, 2):
        left = inside & (LAYERS["p2"]["A"] != label)
        wanted = (left & (net != label)).sum() / left.sum()
        key = {"case": "p2", "label": str(label), "algorithm": "net", "against": "A"}
        assert value(found["scores"], "specificity", "case", **key) == pytest.approx(wanted)
    masks = {r: (m == 2)[inside] for r, m in LAYERS["p2"].items()}
    t = mt.tally(masks)
    hard = np.asarray(mt.paint(mt.staple(t).hard, masks, t), bool)
    key = {"case": "p2", "label": "2", "algorithm": "net", "against": "staple"}
    assert value(found["scores"], "dice", "case", **key) == pytest.approx(dice((net == 2)[inside], hard))


def test_a_case_of_which_nobody_left_anything(capsys, tmp_path):
    """Where all mark everything there is no background, and still one label."""
    for x, rater in enumerate("ABC"):
        write_png(tmp_path / f"m/{rater}/p1.png", disc(x=x))
        write_png(tmp_path / f"m/{rater}/p2.png", disc() * 0 + 1)
    for case, mask in (("p1", disc(x=1)), ("p2", disc() * 0 + 1)):
        write_png(tmp_path / f"p/net/{case}.png", mask)
    found, _ = judged(capsys, tmp_path, "m/{rater}/{case}.png", "p/{algorithm}/{case}.png")
    assert {r["label"] for r in found["scores"]} == {""}
    assert value(found["scores"], "dice", "case", case="p2", algorithm="net", against="A") == 1


def test_rank_reads_the_scores(everything, capsys):
    done = run(capsys, "rank", everything / "hard1/evaluate/scores.csv", "--out", everything / "ranked", "--quiet")
    assert (done.status, done.err) == (0, "")

"""The files that other programs rely on: names, columns, scopes, numbers; the same whatever the number of jobs."""

from __future__ import annotations

import csv
import json
import math

import numpy as np
import pytest

from study_folders import command, disc, files, pixels, table, write_png, write_study

HEAD = ["scope", "case", "group", "label", "region"]
TAIL = ["statistic", "value", "low", "high", "n", "n_undefined", "reason", "code"]
EXTRA = {
    "agreement": [],
    "confusions": ["label_a", "label_b"],
    "curve": ["raters"],
    "detection": ["rater", "against"],
    "detection_curve": ["rater", "against", "threshold"],
    "features": ["feature"],
    "flow": ["rater", "session", "why"],
    "masks": ["kind", "rater", "change", "other_case"],
    "pairs": ["rater_a", "rater_b", "relation"],
    "raters": ["rater"],
    "regions": ["rank", "centroid", "site"],
    "size_agreement": ["size", "unit", "scale", "relation", "rater_a", "rater_b"],
    "sizes": ["rater", "session", "unit"],
}
CASES = [f"p{i}" for i in range(1, 7)]


def write_everything(folder):
    """Two labels, groups, subjects, images, an absent rater, an empty mask."""
    write_study(folder, cases=CASES)
    for y, case in enumerate(CASES):
        for x, rater in enumerate("ABC"):
            two = np.where(disc(x=x, y=y - 3, radius=3), 2, disc(x=x, y=y % 5))
            write_png(folder / f"masks/{rater}/{case}.png", two.astype(np.uint8))
        write_png(folder / f"images/{case}.png", disc(y=y, radius=8) * 100 + 20)
    write_png(folder / "masks/B/p6.png", disc() * 0)
    (folder / "masks/C/p5.png").unlink()
    rows = [f"{case},s{i // 2},{'ab'[i % 2]}" for i, case in enumerate(CASES)]
    (folder / "cases.csv").write_text("\n".join(["case,subject,kind", *rows, ""]))
    (folder / "raters.csv").write_text("rater,expertise\nA,expert\nB,novice\nC,novice\n")
    (folder / "study.toml").write_text(
        'masks = "masks/{rater}/{case}.png"\nimages = "images/{case}.png"\n'
        'cases = "cases.csv"\nraters = "raters.csv"\nlabels = { 1 = "gland", 2 = "tumour" }\n'
    )


@pytest.fixture(scope="module")
def everything(tmp_path_factory):
    folder = tmp_path_factory.mktemp("contract")
    write_everything(folder)
    for jobs in (1, 3):
        for verb, options in (("check", ()), ("agree", ("--exclude-group", "b"))):
            done = command(verb, folder, "--out", folder / f"out{jobs}", "--jobs", jobs, "--quiet", *options)
            assert (done.status, done.err) == (0, "")
    return folder


def test_every_table_has_its_columns(everything):
    found = {path.stem: path for path in (everything / "out1/agree").glob("*.csv")}
    claims = found.pop("claims").read_text(encoding="utf-8").splitlines()[0]
    assert claims == "claim,about,made,text,why_not,code,kind,p_value,alpha,numbers"
    lesions = found.pop("lesions").read_text(encoding="utf-8").splitlines()[0]
    assert lesions.startswith("case,group,label,lesion,found,rated,found_by,missed_by,not_rated_by,sizes,extent,unit,")
    assert set(found) == set(EXTRA)
    for name, path in found.items():
        with open(path, newline="", encoding="utf-8") as stream:
            unit = ["unit"] * (name in ("agreement", "pairs"))  # of distances
            assert next(csv.reader(stream)) == [*HEAD, *EXTRA[name], *TAIL, *unit]
    coverage = (everything / "out1/check/coverage.csv").read_text().splitlines()[0]
    assert coverage == ",".join([*HEAD, "rater", "size", *TAIL])
    problems = (everything / "out1/check/problems.csv").read_text().splitlines()[0]
    assert problems == "severity,kind,case,rater,message"


def test_scopes_statistics_and_reasons(everything):
    for name in EXTRA:
        rows = table(everything / f"out1/agree/{name}.csv")
        assert {row["scope"] for row in rows} <= {"case", "subject", "group", "pooled", "mean", "std"}
        for row in rows:
            assert row["statistic"].replace("_", "").isalnum()
            assert row["statistic"] == row["statistic"].lower()
            undefined = math.isnan(float(row["value"]))
            assert row["reason"] if undefined else True, row
            assert row["reason"] != "undefined", row
            assert (row["case"] != "") == (row["scope"] in ("case", "subject")), row
            assert (row["low"] == "") == (row["high"] == "")
            if row["low"]:
                assert float(row["low"]) <= float(row["high"])


def test_promised_statistics(everything):
    names = {name: {row["statistic"] for row in table(everything / f"out1/agree/{name}.csv")} for name in EXTRA}
    promised = (
        "fleiss_kappa cohen_kappa krippendorff_alpha percent_agreement smyth_bound gwet_ac1 pabak positive_agreement "
        "negative_agreement prevalence_index dice iou condition_1 condition_2 fleiss_kappa_without_condition_1 "
        "cohen_kappa_without_conditions_1_2"
    )
    assert set(promised.split()) <= names["agreement"]
    sizes = {"size_ratio", "log_size_ratio", "size_p_value", "size_p_holm", "same_label"}
    distances = {"hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice", "distances_one_empty"}
    assert distances | {"surface_tolerance"} <= names["agreement"]
    overlaps = {"cohen_kappa", "dice", "iou", "bias_index", "volume_difference"}
    assert sizes | overlaps | distances == names["pairs"]
    assert {"sensitivity", "specificity", "ppv", "npv", "cohen_kappa", "mean_difference", "outlier",
            "sensitivity_against_others", "williams_index", "staple_sensitivity"} <= names["raters"]  # fmt: skip


def test_every_row_is_there_once(everything):
    for path in (everything / "out1/agree").glob("*.csv"):
        keys = [tuple(v for k, v in row.items() if k not in TAIL or k == "statistic") for row in table(path)]
        assert len(keys) == len(set(keys)), path


def test_the_summary_holds_the_same_numbers(everything):
    summary = json.loads((everything / "out1/agree/summary.json").read_text())
    assert summary["schema_version"] == 1
    assert (summary["command"], summary["cases"], summary["subjects"]) == ("agree", 6, 3)
    assert summary["raters"] == ["A", "B", "C"]
    assert summary["settings"]["exclude_group"] == ["b"]
    assert set(summary["tables"]) == set(EXTRA)
    for name, rows in summary["tables"].items():
        written = table(everything / f"out1/agree/{name}.csv")
        assert len(rows) == len(written)
        for one, other in zip(rows, written, strict=True):
            assert list(one) == list(other)
            for key, value in one.items():
                if value is None:
                    assert other[key] in ("", "nan")
                elif isinstance(value, float):
                    assert float(other[key]) == value
                else:
                    assert other[key] == str(value)


def test_heatmaps_are_exact(everything):
    """Of several labels: how many raters differ from the most frequent one."""
    for case in CASES:
        masks = [everything / f"masks/{rater}/{case}.png" for rater in "ABC"]
        read = np.stack([pixels(path) for path in masks if path.exists()])
        wanted = len(read) - np.max([(read == label).sum(axis=0) for label in range(3)], axis=0)
        heat = pixels(everything / f"out1/agree/heatmaps/{case}.tif")
        assert heat.dtype == np.uint8
        assert (heat == wanted).all()
        assert pixels(everything / f"out1/agree/heatmaps/{case}.png").shape[2] == 3
    assert len(files(everything / "out1/agree/heatmaps")) == 2 * len(CASES)


def test_the_number_of_jobs_does_not_matter(everything):
    first, other = everything / "out1", everything / "out3"
    assert [p.relative_to(first) for p in files(first)] == [p.relative_to(other) for p in files(other)]
    for path in files(first):
        again = other / path.relative_to(first)
        assert path.read_bytes() == again.read_bytes(), path


@pytest.mark.slow
def test_a_second_run_gives_the_same_files(everything):
    before = {path: path.read_bytes() for path in files(everything / "out1")}
    for verb, options in (("check", ()), ("agree", ("--exclude-group", "b"))):
        command(verb, everything, "--out", everything / "out1", "--jobs", 1, "--quiet", *options)
    assert {path: path.read_bytes() for path in files(everything / "out1")} == before


def test_charts(everything):
    charts = sorted(p.name for p in (everything / "out1/agree/charts").iterdir())
    between = [f"{name}-between-raters.svg" for name in ("dice", "distance")]
    sizes = [f"sizes-by-{what}-{label}.svg" for what in ("case", "rater") for label in ("gland", "tumour")]
    others = ["agreement-curve.svg", "dendrogram.svg", "detection-curve.svg"]
    assert charts == [*others, *between, "kappa-by-group.svg", *sizes]

"""The numbers of ``agree``, by hand and against the functions that make them."""

from __future__ import annotations

import json

import numpy as np
import pytest

import manytruths as mt
from data_folder import data
from manytruths.analyses.agree.tables import BEYOND_CHANCE, NO_POOLED, OF_MARKS, OF_NUMBERS
from study_folders import command, disc, files, pixels, run, table, value, volume, write_nifti, write_png, write_study

STATISTICS = BEYOND_CHANCE | OF_MARKS

ROWS = {
    "same": ("1100000000", "1100000000"),
    "half": ("1100000000", "1000000000"),
    "one_empty": ("1100000000", "0000000000"),
    "apart": ("1100000000", "0011000000"),
    "nobody": ("0000000000", "0000000000"),
}
"""Two raters, ten pixels."""

KAPPA = {"same": 1.0, "half": 8 / 13, "one_empty": 0.0, "apart": -0.25}
"""Cohen's. Half: observed 0.9, by chance 0.2·0.1 + 0.8·0.9 = 0.74. Apart: observed 0.6, by chance 0.04 + 0.64."""

FLEISS = {"same": 1.0, "half": 1 - 0.1 / (2 * 0.15 * 0.85), "one_empty": 1 - 0.2 / 0.18, "apart": -0.25}
"""Disagreement observed over that by chance, 2p(1 − p) with p the share marked by both together."""


def write_rows(folder, rows):
    for case, masks in rows.items():
        for rater, mask in zip("ABCDEF", masks, strict=False):
            write_png(folder / f"masks/{rater}/{case}.png", np.array([[int(c) for c in mask]], np.uint8))
    return f"{folder}/masks/{{rater}}/{{case}}.png"


def agreed(capsys, folder, *arguments):
    done = run(capsys, "agree", *arguments, "--out", folder / "out", "--jobs", 1, "--quiet")
    assert (done.status, done.out, done.err) == (0, "", "")
    return table(folder / "out/agree/agreement.csv")


def test_case_values_are_those_of_the_functions(tmp_path, capsys):
    rows = agreed(capsys, tmp_path, write_study(tmp_path))
    for y, case in enumerate(("p1", "p2")):
        tally = mt.tally({r: disc(x=x, y=y) for x, r in enumerate("ABC")})
        for name, statistic in STATISTICS.items():
            assert value(rows, name, "case", case=case) == statistic(tally)
    pairs = table(tmp_path / "out/agree/pairs.csv")
    for name, statistic in (("dice", mt.dice), ("cohen_kappa", mt.cohen_kappa), ("iou", mt.iou)):
        wanted = statistic(mt.tally([disc(y=1), disc(x=2, y=1)]))
        found = value(pairs, name, "case", case="p2", rater_a="A", rater_b="C", relation="between")
        assert found == pytest.approx(wanted, abs=1e-15)


def test_pooled_values_are_those_of_the_sum(tmp_path, capsys):
    rows = agreed(capsys, tmp_path, write_study(tmp_path))
    whole = mt.pool([mt.tally({r: disc(x=x, y=y) for x, r in enumerate("ABC")}) for y in range(2)])
    for name, statistic in STATISTICS.items():
        if name not in NO_POOLED:
            assert value(rows, name, "pooled") == statistic(whole)


def test_labels_one_by_one_and_together(tmp_path, capsys):
    masks = {r: np.where(disc(x=x, radius=3), 2, disc(x=x)).astype(np.uint8) for x, r in enumerate("AB")}
    for rater, mask in masks.items():
        write_png(tmp_path / f"masks/{rater}/p1.png", mask)
    template = f"{tmp_path}/masks/{{rater}}/{{case}}.png"
    rows = agreed(capsys, tmp_path, template, "--labels", "1=gland,2=tumour")
    both = mt.tally(masks)
    united = {row["statistic"] for row in rows if row["scope"] == "case" and not row["label"]}
    assert set(OF_NUMBERS) | {"fleiss_kappa", "krippendorff_alpha"} <= united
    assert "dice" not in united
    for name in united & set(STATISTICS | OF_NUMBERS):
        assert value(rows, name, "case", case="p1") == (STATISTICS | OF_NUMBERS)[name](both)
    for label, number in (("gland", 1), ("tumour", 2)):
        only = mt.tally({r: m == number for r, m in masks.items()})
        for name, statistic in STATISTICS.items():
            assert value(rows, name, "case", case="p1", label=label) == pytest.approx(statistic(only), abs=1e-15)
    confusions = table(tmp_path / "out/agree/confusions.csv")
    a, b = masks.values()
    wanted = int(((a == 1) & (b == 2)).sum() + ((a == 2) & (b == 1)).sum())
    assert value(confusions, "same_place", "pooled", label_a="gland", label_b="tumour") == wanted


def test_kappas_by_hand(tmp_path, capsys):
    rows = agreed(capsys, tmp_path, write_rows(tmp_path, ROWS))
    for case, wanted in KAPPA.items():
        assert value(rows, "cohen_kappa", "case", case=case) == pytest.approx(wanted, abs=1e-12)
        assert value(rows, "fleiss_kappa", "case", case=case) == pytest.approx(FLEISS[case], abs=1e-12)
    assert np.isnan(value(rows, "cohen_kappa", "case", case="nobody"))


def test_conditions_by_hand(tmp_path, capsys):
    rows = agreed(capsys, tmp_path, write_rows(tmp_path, ROWS))
    for name in ("nothing_marked", "condition_1", "condition_2"):
        assert value(rows, name, "pooled") == 1
    for name, by_case in (("cohen_kappa", KAPPA), ("fleiss_kappa", FLEISS)):
        mean = {k: np.mean([v for case, v in by_case.items() if case not in k]) for k in (("one_empty",), (), TWO)}
        assert value(rows, name, "mean") == pytest.approx(mean[()])
        assert value(rows, f"{name}_without_condition_1", "mean") == pytest.approx(mean["one_empty",])
        assert value(rows, f"{name}_without_conditions_1_2", "mean") == pytest.approx(mean[TWO])
        rest = [by_case["same"], by_case["half"]]
        assert value(rows, f"{name}_without_conditions_1_2", "std") == pytest.approx(np.std(rest, ddof=1))
    [mean] = [r for r in rows if r["statistic"] == "cohen_kappa" and r["scope"] == "mean"]
    assert (mean["n"], mean["n_undefined"]) == ("4", "1")


TWO = ("one_empty", "apart")


def test_means_are_over_subjects(tmp_path, capsys):
    template = write_rows(tmp_path, {k: ROWS[k] for k in ("same", "half", "apart")})
    (tmp_path / "cases.csv").write_text("case,subject,kind\nsame,s1,x\nhalf,s1,y\napart,s2,y\n")
    rows = agreed(capsys, tmp_path, template, "--cases", tmp_path / "cases.csv")
    by_subject = {"s1": (1 + 8 / 13) / 2, "s2": -0.25}
    for subject, wanted in by_subject.items():
        assert value(rows, "cohen_kappa", "subject", case=subject) == pytest.approx(wanted)
    both = list(by_subject.values())
    assert value(rows, "cohen_kappa", "mean") == pytest.approx(np.mean(both))
    assert value(rows, "cohen_kappa", "std") == pytest.approx(np.std(both, ddof=1))
    assert value(rows, "cohen_kappa", "mean", group="x") == 1
    assert np.isnan(value(rows, "cohen_kappa", "std", group="x"))
    assert value(rows, "cohen_kappa", "mean", group="y") == pytest.approx((8 / 13 - 0.25) / 2)
    groups = {r["case"]: r["group"] for r in rows if r["scope"] == "case"}
    assert groups == {"same": "x", "half": "y", "apart": "y"}
    pooled = mt.pool([mt.tally([[[int(c) for c in m]] for m in ROWS[k]]) for k in ("half", "apart")])
    assert value(rows, "cohen_kappa", "group", group="y") == pytest.approx(mt.cohen_kappa(pooled))


def test_groups_left_out(tmp_path, capsys):
    template = write_rows(tmp_path, {k: ROWS[k] for k in ("same", "half", "apart")})
    (tmp_path / "cases.csv").write_text("case,kind\nsame,x\nhalf,y\napart,z\n")
    options = ("--cases", tmp_path / "cases.csv")
    rows = agreed(capsys, tmp_path, template, *options, "--exclude-group", "x, z")
    assert value(rows, "cohen_kappa", "mean", group="without x, z") == pytest.approx(8 / 13)
    rows = agreed(capsys, tmp_path, template, *options, "--exclude-group", "z")
    assert value(rows, "cohen_kappa", "mean", group="without z") == pytest.approx((1 + 8 / 13) / 2)
    done = run(capsys, "agree", template, *options, "--exclude-group", "w", "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 2
    assert "no group 'w'" in done.line
    assert set(done.line.rpartition(" are ")[2].split(", ")) == {"x", "y", "z"}


def test_subjects_are_what_is_resampled(tmp_path, capsys):
    """Every subject photographed twice, both alike: no interval gets narrower by it."""
    found = []
    for copies in (1, 2):
        folder = tmp_path / str(copies)
        lines = ["case,subject"]
        for subject in range(12):
            offset = np.random.default_rng(subject).uniform(0, 5)
            for copy in range(copies):
                case = f"c{subject:02}{'ab'[copy]}"
                lines.append(f"{case},s{subject:02}")
                for rater in range(3):
                    write_png(folder / f"masks/{rater}/{case}.png", disc(x=offset * rater / 2))
        (folder / "cases.csv").write_text("\n".join([*lines, ""]))
        template = f"{folder}/masks/{{rater}}/{{case}}.png"
        rows = agreed(capsys, folder, template, "--cases", folder / "cases.csv")
        found.append([r for r in rows if r["statistic"] == "fleiss_kappa" and r["scope"] in ("mean", "std", "pooled")])
    for one, two in zip(*found, strict=True):
        assert one["scope"] == two["scope"]
        for key in ("value", "low", "high"):
            assert (one[key] == "") == (two[key] == "")
            if one[key]:
                assert float(one[key]) == pytest.approx(float(two[key]), abs=1e-12)
    assert {r["n"] for r in found[1] if r["scope"] == "mean"} == {"12"}
    assert all(r["low"] for r in found[1] if r["scope"] == "mean")
    assert {r["code"] for r in found[1] if r["scope"] == "pooled"} == {"few_effective_subjects"}


def test_few_subjects_have_no_interval_and_the_file_says_why(tmp_path, capsys):
    rows = agreed(capsys, tmp_path, write_study(tmp_path))
    for scope in ("mean", "pooled"):
        [row] = [r for r in rows if r["statistic"] == "fleiss_kappa" and r["scope"] == scope]
        assert row["low"] == row["high"] == ""
        assert "at least 10" in row["reason"]


def test_absent_raters_change_nothing_where_they_are_absent(tmp_path, capsys):
    write_rows(tmp_path / "with", {"p1": ROWS["half"], "p2": (*ROWS["same"], ROWS["half"][1])})
    rows = agreed(capsys, tmp_path, f"{tmp_path}/with/masks/{{rater}}/{{case}}.png")
    assert value(rows, "cohen_kappa", "case", case="p1") == pytest.approx(KAPPA["half"])
    assert value(rows, "fleiss_kappa", "case", case="p1") == pytest.approx(FLEISS["half"])
    pairs = table(tmp_path / "out/agree/pairs.csv")
    of_c = {"rater_a": "A", "rater_b": "C", "relation": "between"}
    assert np.isnan(value(pairs, "dice", "case", case="p1", **of_c))
    assert value(pairs, "dice", "pooled", **of_c) == pytest.approx(2 / 3)


def test_a_rater_in_two_sessions(tmp_path, capsys):
    for rater, session, radius in (("A", "1", 6), ("A", "2", 5), ("B", "1", 4)):
        write_png(tmp_path / f"masks/{rater}/{session}/p1.png", disc(radius=radius))
    rows = agreed(capsys, tmp_path, f"{tmp_path}/masks/{{rater}}/{{session}}/{{case}}.png")
    assert value(rows, "fleiss_kappa", "case", case="p1") == mt.fleiss_kappa(mt.tally([disc(radius=6), disc(radius=4)]))
    pairs = table(tmp_path / "out/agree/pairs.csv")
    within = value(pairs, "dice", "pooled", rater_a="A@1", rater_b="A@2", relation="within")
    assert within == pytest.approx(mt.dice(mt.tally([disc(radius=6), disc(radius=5)])))
    assert {r["relation"] for r in pairs} == {"within", "between"}


def test_exchangeable_raters_have_no_tables_of_their_own(tmp_path, capsys):
    agreed(capsys, tmp_path, write_study(tmp_path), "--raters", "exchangeable")
    names = {p.name for p in files(tmp_path / "out")}
    assert not names & {"raters.csv", "pairs.csv", "dendrogram.svg", "dice-between-raters.svg"}


def test_heatmaps_of_volumes(tmp_path, capsys):
    for x, rater in enumerate("ABC"):
        write_nifti(tmp_path / f"masks/{rater}/p1.nii.gz", volume(x=2 * x))
    agreed(capsys, tmp_path, f"{tmp_path}/masks/{{rater}}/{{case}}.nii.gz")
    from manytruths.io import read_mask

    heat = read_mask(tmp_path / "out/agree/heatmaps/p1.tif").array
    assert (heat == sum(volume(x=2 * x) for x in range(3))).all()
    assert pixels(tmp_path / "out/agree/heatmaps/p1.png").ndim == 3


def test_ranking_heatmaps(tmp_path, capsys):
    template = write_study(tmp_path, cases=("p1",))
    for rater, rank in (("A", 1), ("B", 1), ("C", 2)):
        write_png(tmp_path / f"ranks/{rater}/p1.png", disc() * np.uint8(rank))
    rows = agreed(capsys, tmp_path, template, "--ranks", f"{tmp_path}/ranks/{{rater}}/{{case}}.png")
    heat = pixels(tmp_path / "out/agree/heatmaps/ranking/p1.tif")
    assert heat.max() == pytest.approx((23 + 23 + 18) / 3)
    assert value(rows, "ranking_heatmap_score", "case", case="p1") == pytest.approx(1)


@pytest.mark.parametrize("kind", ["empty", "full", "one pixel"])
@pytest.mark.parametrize("region", ["whole", "union", "modified_background"])
def test_nothing_to_compare(kind, region, tmp_path, capsys):
    for rater in "ABC":
        for case in ("p1", "p2"):
            array = np.full((1, 1) if kind == "one pixel" else (9, 9), kind != "empty", np.uint8)
            write_png(tmp_path / f"masks/{rater}/{case}.png", array)
    rows = agreed(capsys, tmp_path, f"{tmp_path}/masks/{{rater}}/{{case}}.png", "--region", region)
    for row in rows:
        assert row["reason"] or not np.isnan(float(row["value"]))
    assert np.isnan(value(rows, "fleiss_kappa", "case", case="p1"))


@pytest.fixture(scope="module")
def fissure(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fissure")
    template = f"{data('fissure')}/raters/{{rater}}/{{case}}.png"
    done = command("agree", template, "--foreground", "any", "--out", folder, "--no-pictures", "--quiet")
    assert (done.status, done.err) == (0, "")
    return folder / "agree", json.loads(data("fissure", "published.json").read_text())


def test_fissure_table_6(fissure):
    folder, published = fissure
    rows = table(folder / "raters.csv")
    names = ["cohen_kappa" if c == "kappa" else c for c in published["table6_columns"]]
    found = {r: [round(value(rows, n, "pooled", rater=r), 4) for n in names] for r in published["table6"]}
    assert found == published["table6"]


def test_fissure_outliers_and_bound(fissure):
    folder, published = fissure
    rows, printed = table(folder / "raters.csv"), published["mean_f1_difference"]
    outliers = [r["rater"] for r in rows if r["statistic"] == "outlier" and float(r["value"]) == 1]
    assert outliers == list(printed["outliers"])
    for rater, wanted in printed["outliers"].items():
        assert round(value(rows, "mean_difference", "pooled", rater=rater), 4) == wanted
    assert round(value(rows, "mean_difference", "mean", rater=""), 4) == printed["mean"]
    assert round(value(rows, "mean_difference", "std", rater=""), 4) == printed["std"]
    agreement = table(folder / "agreement.csv")
    assert round(value(agreement, "smyth_bound", "pooled"), 4) == published["smyth_lower_error_bound"]

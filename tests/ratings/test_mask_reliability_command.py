"""``reliability`` and ``plan`` of masks, from files."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest

import manytruths as mt
from manytruths import simulate_study
from manytruths.cli import status
from manytruths.io import write_map


@pytest.fixture(scope="module")
def masks(tmp_path_factory):
    """Twelve phantoms by five raters, one of them absent now and then."""
    folder = tmp_path_factory.mktemp("masks")
    for case in simulate_study(cases=12, size=96, seed=3):
        for (rater, session), marking in case.readings.items():
            if session == "1":
                write_map(folder / rater / f"{case.name}.png", marking.mask.astype(np.uint8))
    return str(folder / "{rater}" / "{case}.png")


def rows(path):
    with path.open(encoding="utf-8") as lines:
        return list(csv.DictReader(lines))


def of(table, statistic, scope="pooled", **fields):
    wanted = {"statistic": statistic, "scope": scope, "group": "", **fields}
    return float(next(r["value"] for r in table if all(r[k] == v for k, v in wanted.items())))


def test_items_and_lesions_of_a_study(masks, tmp_path, capsys):
    assert status(["reliability", masks, "--out", str(tmp_path), "--region", "union", "--jobs", "1"]) == 0
    said = capsys.readouterr().out
    assert "lesion" in said
    assert "found alone" in said
    folder = tmp_path / "reliability"
    assert {p.name for p in folder.iterdir()} == {
        "mask_reliability.csv",
        "detection.csv",
        "lesions.csv",
        "summary.json",
        "run.json",
    }
    whole = mt.pool(mt.Study.open(masks).tally(region="union"))
    table = rows(folder / "mask_reliability.csv")
    assert of(table, "fleiss_kappa", rater="") == pytest.approx(mt.fleiss_kappa(whole))
    assert of(table, "sigma", rater="") == pytest.approx(mt.percent_agreement(whole))
    found = rows(folder / "detection.csv")
    study = mt.Study.open(masks)
    by_case = {c.name: mt.lesion_ratings({k.name: v for k, v in c.read().masks.items()}) for c in study}
    assert of(found, "lesions", rater="") == sum(len(one.ratings) for one in by_case.values())
    summary = json.loads((folder / "summary.json").read_text())
    assert summary["of"] == "masks"


@pytest.mark.slow
def test_confidence_of_each_rater_lowers_sigma(masks, tmp_path):
    for name, more in (("sure", ()), ("unsure", ("--confidence", "A=0.9,B=0.9,C=0.9,D=0.5,E=0.9"))):
        assert status(["reliability", masks, "--out", str(tmp_path / name), "--quiet", *more]) == 0
    sure, unsure = (of(rows(tmp_path / n / "reliability" / "mask_reliability.csv"), "sigma", rater="")
                    for n in ("sure", "unsure"))  # fmt: skip
    assert 0 < unsure < sure


def test_a_plan_from_masks(masks, tmp_path, capsys):
    assert status(["plan", "--pilot", masks, "--out", str(tmp_path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the ranges are about the pixels that any rater marked" in said
    assert "of the cases" not in said
    # an empty mask where others agree: no claim, as in the report
    assert "nothing is said about more raters, since some masks may be lost" in said
    assert {row["code"] for row in rows(tmp_path / "plan" / "claims.csv")} == {"masks_doubtful"}
    table = rows(tmp_path / "plan" / "plan.csv")
    wanted = mt.plan_from_pilot(mt.Study.open(masks).tally()).panels[4].accuracy
    five = next(r for r in table if r["statistic"] == "majority_accuracy" and r["raters"] == "5")
    assert (float(five["low"]), float(five["high"])) == pytest.approx((wanted.low, wanted.high))


@pytest.mark.parametrize("wrong", ["nowhere/{rater}/{case}.png", "nowhere/{case}.png"])
def test_masks_that_are_not_there(wrong, tmp_path, capsys):
    assert status(["reliability", wrong, "--out", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "reliability").exists()


def test_confidence_that_is_no_number(masks, tmp_path, capsys):
    assert status(["reliability", masks, "--confidence", "A=much", "--out", str(tmp_path)]) == 2
    assert "name=number" in capsys.readouterr().err

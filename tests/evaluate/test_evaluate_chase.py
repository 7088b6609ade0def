"""``evaluate`` on CHASE_DB1: the second rater as an algorithm gives what the raters' own tables say, digit by digit."""

from __future__ import annotations

import json

import pytest

from data_folder import data
from study_folders import table

pytestmark = pytest.mark.slow

SHARED = ("dice", "iou", "cohen_kappa", "volume_difference")
LESIONS = ("lesion_sensitivity", "lesion_precision", "lesion_f1", "lesion_pq", "lesion_sq", "lesion_rq")
JUDGED = (*SHARED, "sensitivity", "specificity", "ppv", *LESIONS)
CHOSEN = ["01L", "01R", "07L", "11R", "14R"]
"""Whose distances are measured as well."""


def open_study(folder, verb, *options):
    from manytruths.cli import status

    home = data("chasedb1")
    line = [verb, home / "raters/{rater}/{case}.png", "--roi", home / "roi/{case}.png", "--out", folder, "--quiet",
            "--no-pictures", *options]  # fmt: skip
    assert status([str(part) for part in line]) == 0
    return folder / verb


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chase")
    copy = ("--predictions", data("chasedb1") / "raters/2ndHO/{case}.png", "--no-distances")
    return open_study(folder, "agree"), open_study(folder, "evaluate", *copy)


def by(rows, *keys):
    return {tuple(r[k] for k in keys): r for r in rows}


def test_against_the_first_rater(tables):
    """Cases, mean, standard deviation and interval over all 28: as ``agree`` writes of the two raters."""
    agree, evaluate = tables
    keys = ("scope", "case", "statistic")
    pairs = by(table(agree / "pairs.csv"), *keys)
    scores = by([r for r in table(evaluate / "scores.csv") if r["against"] == "1stHO"], *keys)
    shown = ("value", "low", "high", "n", "n_undefined", "reason", "region")
    checked = [key for key in pairs if key[2] in SHARED and key[0] != "pooled"]
    assert len(checked) == len(SHARED) * (28 + 2)
    for key in checked:
        assert {k: scores[key][k] for k in shown} == {k: pairs[key][k] for k in shown}


def test_the_raters_own_table(tables):
    """Also what is not the same both ways round."""
    _, evaluate = tables
    human = [r for r in table(evaluate / "human.csv") if (r["rater"], r["against"]) == ("2ndHO", "1stHO")]
    scores = [r for r in table(evaluate / "scores.csv") if r["against"] == "1stHO"]
    keys = ("scope", "case", "statistic")
    own, ours = by(human, *keys), by(scores, *keys)
    assert set(own) == set(ours)
    assert {key[2] for key in own} == set(JUDGED)
    for key, row in own.items():
        assert [row[k] for k in ("value", "low", "high", "n")] == [ours[key][k] for k in ("value", "low", "high", "n")]
    back = by([r for r in table(evaluate / "human.csv") if (r["rater"], r["against"]) == ("1stHO", "2ndHO")], *keys)
    assert back["mean", "", "sensitivity"]["value"] != own["mean", "", "sensitivity"]["value"]
    assert back["mean", "", "dice"]["value"] == own["mean", "", "dice"]["value"]


def test_it_is_said_that_it_is_a_copy(tables):
    _, evaluate = tables
    notes = json.loads((evaluate / "summary.json").read_text())["notes"]
    assert any("prediction is identical to rater 2ndHO in 28 of 28 cases" in note for note in notes)
    assert not [note for note in notes if "rater 1stHO" in note]
    assert any("two raters" in note for note in notes)
    rows = by(table(evaluate / "scores.csv"), "scope", "against", "statistic")
    assert float(rows["mean", "2ndHO", "dice"]["value"]) == 1


def test_only_the_field_of_view_counts(tables):
    _, evaluate = tables
    rows = [r for r in table(evaluate / "scores.csv") if r["scope"] == "case" and r["statistic"] == "dice"]
    assert {r["region"] for r in rows} == {"mask"}
    assert all(0 < int(r["n"]) < 960 * 999 for r in rows)


@pytest.mark.slow
def test_distances(tmp_path):
    """Of a few cases: a copy of rater 2 is as far from rater 1 as rater 2 is."""
    home = data("chasedb1")
    for case in CHOSEN:
        for rater in ("1stHO", "2ndHO"):
            target = tmp_path / "few" / rater / f"{case}.png"
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(home / "raters" / rater / f"{case}.png")
    from manytruths.cli import status

    line = ["evaluate", tmp_path / "few/{rater}/{case}.png", "--predictions", tmp_path / "few/2ndHO/{case}.png",
            "--roi", home / "roi/{case}.png", "--out", tmp_path, "--quiet", "--no-pictures"]  # fmt: skip
    assert status([str(part) for part in line]) == 0
    keys = ("scope", "case", "statistic")
    scores = [r for r in table(tmp_path / "evaluate/scores.csv") if r["against"] == "1stHO"]
    human = [r for r in table(tmp_path / "evaluate/human.csv") if (r["rater"], r["against"]) == ("2ndHO", "1stHO")]
    own, ours = by(human, *keys), by(scores, *keys)
    for name in ("hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice"):
        for case in CHOSEN:
            assert ours["case", case, name]["value"] == own["case", case, name]["value"]
            assert float(ours["case", case, name]["value"]) > 0
    copies = by([r for r in table(tmp_path / "evaluate/scores.csv") if r["against"] == "2ndHO"], *keys)
    assert float(copies["mean", "", "hausdorff"]["value"]) == 0
    assert float(copies["mean", "", "surface_dice"]["value"]) == 1

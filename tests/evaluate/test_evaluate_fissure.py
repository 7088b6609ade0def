"""``evaluate`` on the fissure, as a user would type it: Tables 7 and 8 of Lampert and colleagues."""

from __future__ import annotations

import json

import pytest

from data_folder import data
from study_folders import table, value

pytestmark = pytest.mark.slow

METHODS = "vote:any,vote:0.5,vote:0.75,excl:0.5,staple,simple,lsml"
DETECTORS = ("2D-GWLC", "Gauss", "C-S", "Top-Hat")
NAMES = {
    "any": ("gt_any", "vote:any"),
    "0.5": ("gt_05", "vote:0.5"),
    "0.75": ("gt_075", "vote:0.75"),
    "staple": ("gt_staple", "staple"),
    "lsml": ("gt_lsml", "lsml"),
    "simple": ("simple",),
    "excl_05": ("gt_excl_05", "excl:0.5"),
}
"""The paper's ground truths: the authors' own map where they published it, and ours."""


@pytest.fixture(scope="module")
def published():
    return json.loads(data("fissure", "published.json").read_text())


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory):
    from manytruths.cli import status

    home, folder = data("fissure"), tmp_path_factory.mktemp("fissure")
    for path in (home / "published").glob("gt_*.png"):
        (folder / "given" / path.stem).mkdir(parents=True)
        (folder / "given" / path.stem / "fissure.png").symlink_to(path)
    line = [
        "evaluate", home / "raters/{rater}/{case}.png", "--predictions", home / "predictions/{algorithm}/{case}.png",
        "--probability", "--limits", "0,255", "--skew", "0.1,0.5", "--training",
        home / "training/{algorithm}/{case}.png",
        "--reference", folder / "given/{reference}/{case}.png", "--consensus", METHODS, "--prior", "marked",
        "--no-pictures", "--quiet", "--out", folder,
    ]  # fmt: skip
    assert status([str(part) for part in line]) == 0
    return folder / "evaluate"


def order_under(evaluated, truth):
    """The detectors by rank."""
    rows = [r for r in table(evaluated / "rankings.csv") if (r["against"], r["metric"]) == (truth, "pbar_area")]
    assert sorted(int(r["rank"]) for r in rows) == [1, 2, 3, 4], truth
    return [r["algorithm"] for r in sorted(rows, key=lambda r: int(r["rank"]))]


@pytest.mark.parametrize("detector", DETECTORS)
def test_table_7(evaluated, published, detector):
    """Over all pixels, the training area of 2D-GWLC too."""
    rows = table(evaluated / "correlations.csv")
    for name, wanted in zip(published["table7_columns"], published["table7"][detector], strict=True):
        found = value(rows, name, "pooled", algorithm=detector, region="whole")
        assert round(found, 4) == wanted
        assert value(rows, name, "case", case="fissure", algorithm=detector) == found, "there is one case"
    outside = [r for r in rows if r["algorithm"] == detector and r["region"] == "without the excluded area"]
    assert bool(outside) == (detector == "2D-GWLC")


@pytest.mark.parametrize("ranking", ["ranking1", "ranking2", "ranking3"])
def test_table_8(evaluated, published, ranking):
    wanted = published["table8"][ranking]
    for name in wanted["ground_truths"]:
        for truth in NAMES.get(name, (name,)):
            if name == "excl_05":
                # the one entry that does not come out: printed under ranking 1, the authors' own map gives ranking 2
                # (which SIMPLE, all but equal to it by their own words, gives too)
                assert order_under(evaluated, truth) == published["table8"]["ranking2"]["order"]
            else:
                assert order_under(evaluated, truth) == wanted["order"], truth


def test_distinct_rankings_and_who_gives_each(evaluated, published):
    rows = [r for r in table(evaluated / "orders.csv") if r["metric"] == "pbar_area"]
    found = {tuple(r["order"].split(" > ")): set(r["truths"].split("; ")) for r in rows}
    raters = {tuple(t["order"]): {g for g in t["ground_truths"] if g.startswith("A")} for t in
              published["table8"].values()}  # fmt: skip
    assert {order: {t for t in truths if t.startswith("A")} for order, truths in found.items()} == raters
    assert sum(len(truths) for truths in found.values()) == 13 + 6 + 7
    assert not [t for truths in found.values() for t in truths if t.startswith("votes")]


@pytest.mark.parametrize("name", ["any", "0.5", "0.75", "staple", "excl_05"])
def test_our_maps_are_theirs(evaluated, name):
    """So every area under them is the same, bit for bit."""
    rows = table(evaluated / "scores.csv")
    for detector in DETECTORS:
        for area in ("pbar_area", "pr_area", "roc_area"):
            theirs, ours = (value(rows, area, "pooled", algorithm=detector, against=t) for t in NAMES[name])
            assert theirs == ours


def test_the_loose_and_the_strict_truth_are_no_bounds(evaluated):
    """2D-GWLC under A1 and A4 lies below what anybody marked."""
    rows = table(evaluated / "scores.csv")
    loose = value(rows, "pbar_area", "pooled", algorithm="2D-GWLC", against="vote:any")
    below = [a for a in [f"A{i}" for i in range(1, 14)]
             if value(rows, "pbar_area", "pooled", algorithm="2D-GWLC", against=a) < loose]  # fmt: skip
    assert below == ["A1", "A4"]


def test_levels_of_votes_are_curves_too(evaluated):
    rows = table(evaluated / "scores.csv")
    levels = {r["against"] for r in rows if r["against"].startswith("votes")}
    assert levels == {f"votes>={k}" for k in range(1, 14)}
    for truth, level in (("vote:any", 1), ("vote:0.5", 7), ("vote:0.75", 10)):
        one, other = (
            value(rows, "pbar_area", "pooled", algorithm="C-S", against=t) for t in (truth, f"votes>={level}")
        )
        assert one == pytest.approx(other, abs=1e-12)


def test_the_training_area_counts_for_nobody_else(evaluated):
    """Fewer items for 2D-GWLC, all for the others."""
    rows = table(evaluated / "scores.csv")
    items = {r["algorithm"]: int(r["n"]) for r in rows
             if (r["scope"], r["against"], r["statistic"]) == ("pooled", "vote:0.5", "pbar_area")}  # fmt: skip
    assert {items[d] for d in DETECTORS[1:]} == {907 * 1426}
    assert 0 < items["2D-GWLC"] < 907 * 1426

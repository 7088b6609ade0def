"""The numbers of ``fuse``, counted by hand on small masks."""

from __future__ import annotations

import json

import numpy as np
import pytest

import manytruths as mt
from manytruths import GroupClassifier, case_complexity, pool, staple
from study_folders import disc, pixels, run, table, value, write_png

# ten items a case
FIRST = {"A": [1, 1, 1, 1, 0, 0, 0, 0, 0, 0], "B": [1, 1, 1, 0, 0, 0, 0, 0, 0, 0], "C": [1, 1, 0, 0, 1, 0, 0, 0, 0, 0]}
SECOND = {"A": [1, 0, 0, 0, 0, 0, 0, 0, 0, 0], "B": [1, 1, 0, 0, 0, 0, 0, 0, 0, 0], "C": [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]}
TINY = {"p1": FIRST, "p2": SECOND}
VOTES = {"p1": [1, 1, 1, 0, 0, 0, 0, 0, 0, 0], "p2": [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]}


def write_rows(folder, study=TINY, name="masks"):
    for case, by_rater in study.items():
        for rater, row in by_rater.items():
            write_png(folder / name / rater / f"{case}.png", np.array([row], np.uint8))
    return folder / name / "{rater}/{case}.png"


def fused(capsys, template, out, methods, *options):
    line = ["fuse", template, "--out", out, "--consensus", methods, "--no-pictures", "--jobs", 1]
    done = run(capsys, *line, *options)
    assert (done.status, done.err) == (0, "")
    return out / "fuse"


@pytest.fixture
def tiny(capsys, tmp_path):
    return fused(capsys, write_rows(tmp_path), tmp_path / "out", "vote:0.5,vote:any,vote:all,staple")


def rates(mask, truth):
    """IoU, sensitivity, specificity: Yang's equations 13 to 15."""
    mask, truth = np.array(mask, bool), np.array(truth, bool)
    a, b, c, d = (mask & truth).sum(), (mask & ~truth).sum(), (~mask & truth).sum(), (~mask & ~truth).sum()
    return a / (a + b + c), a / (a + c), d / (b + d)


def test_consensus_masks(tiny):
    for case, wanted in VOTES.items():
        assert pixels(tiny / f"consensus/vote-0.5/{case}.png").tolist() == [wanted]
    assert pixels(tiny / "consensus/vote-any/p1.png").tolist() == [[1, 1, 1, 1, 1, 0, 0, 0, 0, 0]]
    assert pixels(tiny / "consensus/vote-all/p1.png").tolist() == [[1, 1, 0, 0, 0, 0, 0, 0, 0, 0]]
    share = np.array([[3, 3, 2, 1, 1, 0, 0, 0, 0, 0]]) / 3
    assert (pixels(tiny / "probability/vote-0.5/p1.tif") == share.astype(np.float32)).all()


@pytest.mark.parametrize("rater", "ABC")
def test_raters_against_the_vote(tiny, rater):
    rows = table(tiny / "performance.csv")
    names, against = ("iou", "sensitivity", "specificity"), {"method": "vote:0.5", "rater": rater}
    by_case = {case: rates(TINY[case][rater], VOTES[case]) for case in TINY}
    both = [TINY["p1"][rater] + TINY["p2"][rater], VOTES["p1"] + VOTES["p2"]]
    for k, name in enumerate(names):
        each = [by_case[case][k] for case in TINY]
        for case, wanted in zip(TINY, each, strict=True):
            assert value(rows, name, "case", case=case, **against) == pytest.approx(wanted, abs=1e-15)
        assert value(rows, name, "mean", **against) == pytest.approx(np.mean(each), abs=1e-15)
        assert value(rows, name, "std", **against) == pytest.approx(np.std(each, ddof=1), abs=1e-15)
        assert value(rows, name, "pooled", **against) == pytest.approx(rates(*both)[k], abs=1e-15)


def test_numbers_written_out(tiny):
    """A of the first case has 4 items, 3 of them in the vote of 3: IoU 3/4, sensitivity 1, specificity 6/7."""
    rows, here = table(tiny / "performance.csv"), {"case": "p1", "method": "vote:0.5", "rater": "A"}
    assert value(rows, "iou", "case", **here) == 0.75
    assert value(rows, "sensitivity", "case", **here) == 1
    assert value(rows, "specificity", "case", **here) == pytest.approx(6 / 7)
    assert value(rows, "dice", "case", **here) == pytest.approx(6 / 7)
    # pooled: 4 of 5 marked items are right, 5 are true, 14 of 15 others are left
    pooled = {"method": "vote:0.5", "rater": "A"}
    assert value(rows, "iou", "pooled", **pooled) == pytest.approx(4 / 6)
    assert value(rows, "sensitivity", "pooled", **pooled) == pytest.approx(4 / 5)
    assert value(rows, "specificity", "pooled", **pooled) == pytest.approx(14 / 15)


@pytest.mark.parametrize("case", TINY)
def test_gordons_measures(tiny, case):
    rows = table(tiny / "performance.csv")
    weight = pixels(tiny / f"probability/staple/{case}.tif")[0].astype(float)
    for rater, row in TINY[case].items():
        marked = np.array(row, bool)
        p = weight[marked].sum() / weight.sum()
        q = (1 - weight)[~marked].sum() / (1 - weight).sum()
        accuracy = (weight[marked].sum() + (1 - weight)[~marked].sum()) / 10
        here = {"case": case, "method": "staple", "rater": rater}
        assert value(rows, "accuracy", "case", **here) == pytest.approx(accuracy, abs=1e-6)
        assert value(rows, "gordon_f", "case", **here) == pytest.approx(2 * p * q / (p + q), abs=1e-6)
        assert value(rows, "balanced_accuracy", "case", **here) == pytest.approx((p + q) / 2, abs=1e-6)


def test_methods_against_each_other(tiny):
    """0.5 and any: 3 and 5 items, 3 of them shared; 2 and 6, 2 shared."""
    rows, both = table(tiny / "differences.csv"), {"method_a": "vote:0.5", "method_b": "vote:any"}
    assert value(rows, "dice", "case", case="p1", **both) == 6 / 8
    assert value(rows, "iou", "case", case="p1", **both) == 3 / 5
    assert value(rows, "changed", "case", case="p1", **both) == 2 / 10
    assert value(rows, "volume_difference", "case", case="p1", **both) == 2 / 4
    assert value(rows, "dice", "mean", **both) == pytest.approx((6 / 8 + 4 / 8) / 2)
    assert value(rows, "dice", "pooled", **both) == pytest.approx(10 / 16)
    assert value(rows, "changed", "pooled", **both) == pytest.approx(6 / 20)


def test_how_far_a_method_moves_with_the_region(capsys, tmp_path):
    """Whole image against a background of the size of the union."""
    masks = {r: disc(size=48, x=x, radius=size) for r, x, size in (("A", 0, 6), ("B", 4, 4), ("C", 8, 2))}
    for rater, mask in masks.items():
        write_png(tmp_path / "masks" / rater / "p1.png", mask)
    out = fused(capsys, tmp_path / "masks/{rater}/{case}.png", tmp_path / "out", "vote:0.5,staple")
    rows = table(out / "differences.csv")
    t = mt.tally(masks)
    one, other = (mt.paint(staple(s).hard, masks, s) for s in (t, t.restrict("modified_background")))
    assert (one != other).any()
    same = {"case": "p1", "method_a": "staple", "method_b": "staple on the modified background"}
    assert value(rows, "changed", "case", **same) == pytest.approx((one != other).mean(), abs=1e-15)
    assert value(rows, "dice", "case", **same) == pytest.approx(2 * (one & other).sum() / (one.sum() + other.sum()))
    votes = {"case": "p1", "method_a": "vote:0.5", "method_b": "vote:0.5 on the modified background"}
    assert value(rows, "changed", "case", **votes) == 0


def test_complexity(capsys, tmp_path):
    study = {
        f"p{i}": {r: disc(x=x, radius=7 - i % 3 * x / 2) for r, x in (("A", 0), ("B", 1), ("C", i / 2))}
        for i in range(10)
    }
    for case, by_rater in study.items():
        for rater, mask in by_rater.items():
            write_png(tmp_path / "masks" / rater / f"{case}.png", mask)
    out = fused(capsys, tmp_path / "masks/{rater}/{case}.png", tmp_path / "out", "vote:0.5")
    rows, found = table(out / "complexity.csv"), {c: case_complexity(mt.tally(m)) for c, m in study.items()}
    for case, wanted in found.items():
        for name in ("entropy", "std", "mean", "esm", "ssm"):
            cells = [r for r in rows if (r["scope"], r["case"], r["statistic"]) == ("case", case, name)]
            assert float(cells[0]["value"]) == pytest.approx(getattr(wanted, name), abs=1e-15)
            assert int(cells[0]["n"]) == wanted.items
    groups = GroupClassifier.from_json((out / "complexity-groups.json").read_text())
    assert {r["case"]: r["class"] for r in rows if r["scope"] == "case"} == {
        case: groups.classify(wanted) for case, wanted in found.items()
    }


def test_pooled_rates(capsys, tmp_path):
    """STAPLE of the summed tables, painted case by case."""
    study = {
        case: {r: disc(x=x + i, radius=6 - i) for i, (r, x) in enumerate({"A": 0, "B": 1, "C": 3}.items())}
        for case, i in (("p1", 0), ("p2", 1), ("p3", 2))
    }
    study["p2"]["B"] = disc(x=5, radius=4)
    for case, by_rater in study.items():
        for rater, mask in by_rater.items():
            write_png(tmp_path / "masks" / rater / f"{case}.png", mask)
    (tmp_path / "masks/C/p3.png").unlink()
    study["p3"]["C"] = None
    out = fused(
        capsys, tmp_path / "masks/{rater}/{case}.png", tmp_path / "out", "staple,vote:0.5", "--rates", "pooled",
        "--prior", "estimated",
    )  # fmt: skip
    tables = {case: mt.tally(masks) for case, masks in study.items()}
    whole = staple(pool(tables), "estimated")
    cut = staple(pool([t.restrict("modified_background") for t in tables.values()]), "estimated")
    rows = table(out / "differences.csv")
    for case, masks in study.items():
        here = {r: m for r, m in masks.items() if m is not None}
        hard, other = (mt.paint(found.hard, here, found.tally, fill=0).astype(bool) for found in (whole, cut))
        chance = mt.paint(whole.probability, here, whole.tally)
        assert (pixels(out / f"consensus/staple/{case}.png") == hard).all()
        assert (pixels(out / f"probability/staple/{case}.tif") == chance.astype(np.float32)).all()
        same = {"case": case, "method_a": "staple", "method_b": "staple on the modified background"}
        assert value(rows, "changed", "case", **same) == pytest.approx((hard != other).mean(), abs=1e-15)
    case_by_case = fused(capsys, tmp_path / "masks/{rater}/{case}.png", tmp_path / "each", "staple")
    assert (pixels(case_by_case / "probability/staple/p1.tif") != pixels(out / "probability/staple/p1.tif")).any()


def test_pooled_rates_keep_the_values_of_masks(capsys, tmp_path):
    """Also where one case is empty and one is all marked."""
    for rater, x in (("A", 0), ("B", 1), ("C", 2)):
        for case, mask in (("p1", disc(x=x)), ("p2", disc() * 0), ("p3", disc() * 0 + 1)):
            write_png(tmp_path / "masks" / rater / f"{case}.png", mask * 255)
    names = "vote:0.5,staple,simple,plurality"
    for rate in ("pooled", "case"):
        out = fused(capsys, tmp_path / "masks/{rater}/{case}.png", tmp_path / rate, names, "--rates", rate)
        for method in names.replace(":", "-").split(","):
            for case, wanted in (("p1", {0, 255}), ("p2", {0}), ("p3", {255})):
                assert set(pixels(out / f"consensus/{method}/{case}.png").ravel().tolist()) == wanted


def test_a_rater_with_the_name_of_a_method(capsys, tmp_path):
    study = {case: dict(zip(("A", "staple", "C"), m.values(), strict=True)) for case, m in TINY.items()}
    one = fused(capsys, write_rows(tmp_path), tmp_path / "one", "vote:0.5,staple")
    two = fused(capsys, write_rows(tmp_path, study, "other"), tmp_path / "two", "vote:0.5,staple")
    for name in ("performance", "differences"):
        rows, again = table(one / f"{name}.csv"), table(two / f"{name}.csv")
        own = {tuple(r.values()) for r in rows}
        assert {tuple("B" if (k, v) == ("rater", "staple") else v for k, v in r.items()) for r in again} == own


def test_staple_options_arrive(capsys, tmp_path):
    template = write_rows(tmp_path)
    t = mt.tally({r: np.array([row]) for r, row in FIRST.items()})
    masks = {r: np.array([row]) for r, row in FIRST.items()}
    for options, named in (
        (("--prior", "0.3"), {"prior": 0.3}),
        (("--prior", "marked"), {"prior": "marked"}),
        (("--unanimous", "exclude"), {"unanimous": "exclude"}),
        (("--map-prior", "5,1.5"), {"map_prior": (5, 1.5)}),
    ):
        out = fused(capsys, template, tmp_path / "out", "staple", *options)
        wanted = mt.paint(staple(t, **named).probability, masks, t)
        assert (pixels(out / "probability/staple/p1.tif") == wanted.astype(np.float32)).all(), options


def test_settings_in_the_summary(tiny):
    summary = json.loads((tiny / "summary.json").read_text())
    assert summary["methods"] == ["vote:0.5", "vote:any", "vote:all", "staple"]
    assert summary["region"] == "whole"

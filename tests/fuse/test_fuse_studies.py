"""Kinds of studies: sessions, absent raters, a region, slots, labels, structures in files of their own, volumes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

import manytruths as mt
from data_folder import data
from manytruths import case_complexity
from study_folders import disc, files, pixels, run, table, untidy, value, volume, write_nifti, write_png

SHIFTS = {"A": 0, "B": 1, "C": 3}


def fused(capsys, template, out, methods, *options):
    line = ["fuse", template, "--out", out, "--consensus", methods, "--jobs", 1]
    done = run(capsys, *line, *options)
    assert (done.status, done.err) == (0, "")
    assert not untidy(out)
    for path in files(out):
        if path.suffix == ".tif":
            assert np.isfinite(pixels(path)).all()
    return out / "fuse"


def two_labels(x, first=1, second=2):
    return np.where(disc(x=x, y=-3, radius=3), second, disc(x=x) * first).astype(np.uint8)


def write_labels(folder, first=1, second=2, cases=("p1", "p2")):
    for rater, x in SHIFTS.items():
        for i, case in enumerate(cases):
            write_png(folder / "masks" / rater / f"{case}.png", two_labels(x + i, first, second))
    return folder / "masks/{rater}/{case}.png"


def test_the_second_reading_has_no_vote(capsys, tmp_path):
    for rater, x in SHIFTS.items():
        write_png(tmp_path / f"once/{rater}/p1.png", disc(x=x))
        write_png(tmp_path / f"twice/{rater}/1/p1.png", disc(x=x))
    write_png(tmp_path / "twice/A/2/p1.png", disc(x=-7))
    names = "vote:0.5,vote:any,staple,simple,plurality,lsml,excl:0.5"
    once = fused(capsys, tmp_path / "once/{rater}/{case}.png", tmp_path / "o1", names, "--no-pictures")
    twice = fused(capsys, tmp_path / "twice/{rater}/{session}/{case}.png", tmp_path / "o2", names, "--no-pictures")
    for kind in ("consensus", "probability"):
        for path in files(once / kind):
            assert path.read_bytes() == (twice / path.relative_to(once)).read_bytes(), path
    for name in ("performance", "differences", "complexity", "convergence"):
        assert table(once / f"{name}.csv") == table(twice / f"{name}.csv"), name


def test_an_absent_rater(capsys, tmp_path):
    for rater, x in SHIFTS.items():
        for case in ("p1", "p2"):
            write_png(tmp_path / rater / f"{case}.png", disc(x=x))
    (tmp_path / "C/p2.png").unlink()
    out = fused(capsys, tmp_path / "{rater}/{case}.png", tmp_path / "out", "vote:0.5,staple,lsml")
    assert (pixels(out / "consensus/vote-0.5/p2.png") == (disc() | disc(x=1))).all()
    rows = table(out / "performance.csv")
    gone = [r for r in rows if (r["case"], r["rater"]) == ("p2", "C")]
    assert gone
    assert all(r["value"] == "nan" and r["reason"] for r in gone)
    means = [r for r in rows if (r["scope"], r["rater"], r["statistic"], r["method"]) == ("mean", "C", "iou", "staple")]
    assert [(r["n"], r["n_undefined"]) for r in means] == [("1", "1")]


def test_only_the_region_is_decided(capsys, tmp_path):
    """Outside of it there is background, whatever was marked; every number is that of the inside."""
    roi = np.zeros((24, 24), np.uint8)
    roi[:, :13] = 1
    for rater, x in SHIFTS.items():
        mask = disc(x=x)
        mask[:, 21:] = 2  # a label that nobody gave inside
        write_png(tmp_path / f"masks/{rater}/p1.png", mask)
        write_png(tmp_path / f"cut/{rater}/p1.png", disc(x=x)[:, :13].copy())
    write_png(tmp_path / "roi/p1.png", roi)
    names = "vote:0.5,vote:any,staple,simple,plurality,lsml,staple_map"
    region = ("--roi", tmp_path / "roi/{case}.png")
    out = fused(capsys, tmp_path / "masks/{rater}/{case}.png", tmp_path / "o1", names, *region)
    cut = fused(capsys, tmp_path / "cut/{rater}/{case}.png", tmp_path / "o2", names)
    for method in names.replace(":", "-").split(","):
        hard, soft = (pixels(out / f"{k}/{method}/p1{s}") for k, s in (("consensus", ".png"), ("probability", ".tif")))
        assert not hard[:, 13:].any()
        assert not soft[:, 13:].any()
        assert (hard[:, :13] == pixels(cut / f"consensus/{method}/p1.png")).all()
        assert (soft[:, :13] == pixels(cut / f"probability/{method}/p1.tif")).all()
    rows, wanted = table(out / "performance.csv"), table(cut / "performance.csv")
    assert {r["region"] for r in rows} == {"mask"}
    assert [{**r, "region": ""} for r in rows] == [{**r, "region": ""} for r in wanted]
    inside = case_complexity(mt.tally({r: disc(x=x)[:, :13] for r, x in SHIFTS.items()}))
    assert value(table(out / "complexity.csv"), "entropy", "case", case="p1", **{"class": ""}) == inside.entropy


@pytest.mark.parametrize("region", ["union", "modified_background"])
def test_numbers_are_those_of_the_region_named(region, capsys, tmp_path):
    masks = {r: disc(x=x) for r, x in SHIFTS.items()}
    for rater, mask in masks.items():
        write_png(tmp_path / rater / "p1.png", mask)
    out = fused(capsys, tmp_path / "{rater}/{case}.png", tmp_path / "out", "vote:0.5,staple", "--region", region)
    rows = table(out / "performance.csv")
    assert {r["region"] for r in rows} == {region}
    t = mt.tally(masks, region=region)
    truth = np.asarray(mt.vote(t).hard)
    left = t.counts[~truth] @ (t.patterns[~truth][:, 2] == 0)
    assert value(rows, "specificity", "case", case="p1", method="vote:0.5", rater="C") == left / t.counts[~truth].sum()


def test_slots(capsys, tmp_path):
    for case in ("p1", "p2"):
        for slot, x in enumerate(SHIFTS.values()):
            write_png(tmp_path / f"{slot}/{case}.png", disc(x=x))
    template, slots = tmp_path / "{rater}/{case}.png", ("--raters", "exchangeable")
    out = fused(capsys, template, tmp_path / "out", "vote:0.5,staple,simple,lsml", *slots)
    rows = table(out / "performance.csv")
    assert {r["rater"] for r in rows} == {""}
    vote = sum(disc(x=x) for x in SHIFTS.values()) >= 2
    each = [(vote & (disc(x=x) > 0)).sum() / (vote | (disc(x=x) > 0)).sum() for x in SHIFTS.values()]
    found = value(rows, "iou", "case", case="p1", method="vote:0.5", rater="")
    assert found == pytest.approx(np.mean(each), abs=1e-15)
    for options in (("--rates", "pooled"), ("--consensus", "excl:0.5")):
        assert run(capsys, "fuse", template, "--out", tmp_path / "no", *slots, *options).status == 2


def test_several_labels(capsys, tmp_path):
    names = "vote:0.5,simple,staple,plurality"
    out = fused(capsys, write_labels(tmp_path), tmp_path / "out", names)
    masks = {r: two_labels(x) for r, x in SHIFTS.items()}
    t = mt.tally(masks)
    for method, found in (("staple", mt.staple(t)), ("plurality", mt.plurality(t))):
        assert (pixels(out / f"consensus/{method}/p1.png") == mt.paint(found.values, masks, t)).all()
        top = mt.paint(np.asarray(found.probability).max(axis=1), masks, t)
        assert (pixels(out / f"probability/{method}/p1.tif") == top.astype(np.float32)).all()
    vote = pixels(out / "consensus/vote-0.5/p1.png")
    votes = {label: sum(m == label for m in masks.values()) for label in (0, 1, 2)}
    enough = {label: 2 * n >= len(masks) for label, n in votes.items()}
    assert (vote[enough[2] & ~enough[1]] == 2).all()
    assert (vote[enough[1] & (votes[1] >= votes[2])] == 1).all()
    assert (vote[~enough[1] & ~enough[2]] == 0).all()
    rows = [r for r in table(out / "convergence.csv") if (r["case"], r["method"]) == ("p1", "vote:0.5")]
    assert int(rows[0]["gaps"]) == np.sum(~enough[0] & ~enough[1] & ~enough[2])
    assert int(rows[0]["tied"]) == np.sum(enough[1] & enough[2] & (votes[1] == votes[2]))
    rows = table(out / "differences.csv")
    for a, b in (("vote:0.5", "staple"), ("staple", "plurality")):
        one, other = (pixels(out / f"consensus/{method.replace(':', '-')}/p1.png") for method in (a, b))
        changed = value(rows, "changed", "case", case="p1", method_a=a, method_b=b)
        assert changed == pytest.approx((one != other).mean(), abs=1e-15)
        dices = [2 * ((one == x) & (other == x)).sum() / ((one == x).sum() + (other == x).sum()) for x in (1, 2)]
        same = {"case": "p1", "method_a": a, "method_b": b}
        assert value(rows, "dice", "case", label="macro mean", **same) == pytest.approx(np.mean(dices), abs=1e-12)


@pytest.mark.parametrize("options", [(), ("--labels", "2=gland,3=tumour")], ids=["found", "declared"])
def test_labels_that_do_not_start_at_one(options, capsys, tmp_path):
    out = fused(capsys, write_labels(tmp_path, 2, 3), tmp_path / "out", "vote:0.5,simple,staple,plurality", *options)
    assert set(np.unique(pixels(out / "consensus/plurality/p1.png"))) == {0, 2, 3}
    assert set(np.unique(pixels(out / "consensus/vote-0.5/p1.png"))) == {0, 2, 3}


def test_pooled_rates_of_several_labels(capsys, tmp_path):
    """A case that lacks a label is painted by the table of all."""
    template = write_labels(tmp_path)
    for rater, x in SHIFTS.items():
        write_png(tmp_path / f"masks/{rater}/p2.png", disc(x=x, y=1) * 2)
    out = fused(capsys, template, tmp_path / "out", "staple,plurality", "--rates", "pooled")
    masks = [{r: two_labels(x) for r, x in SHIFTS.items()}, {r: disc(x=x, y=1) * 2 for r, x in SHIFTS.items()}]
    whole = mt.staple(mt.pool([mt.tally(m, labels=[0, 1, 2]) for m in masks]))
    for case, own in zip(("p1", "p2"), masks, strict=True):
        assert (pixels(out / f"consensus/staple/{case}.png") == mt.paint(whole.values, own, whole.tally)).all()


def _mean_dice(masks):
    return np.mean([2 * (a & b).sum() / (a.sum() + b.sum()) for a, b in combinations(masks, 2)])


def test_a_case_without_background(capsys, tmp_path):
    """Everybody gave every item a mark: complexity is that of each label, and maps are made all the same."""
    template = write_labels(tmp_path)
    for rater, x in SHIFTS.items():
        write_png(tmp_path / f"masks/{rater}/p2.png", disc(x=x) + 1)
    out = fused(capsys, template, tmp_path / "out", "staple,plurality,vote:0.5")
    rows = [r for r in table(out / "complexity.csv") if (r["scope"], r["case"]) == ("case", "p2")]
    by_label = [_mean_dice([disc(x=x) == mark for x in SHIFTS.values()]) for mark in (0, 1)]
    overlaps = [r for r in rows if r["statistic"] == "dice"]
    assert [(float(r["value"]), r["label"]) for r in overlaps] == [(pytest.approx(np.mean(by_label)), "macro mean")]
    rows = [r for r in rows if r["statistic"] != "dice"]
    assert {r["code"] for r in rows if not r["label"]} == {"several_labels"}
    assert all(float(r["value"]) >= 0 for r in rows if r["label"])
    assert set(np.unique(pixels(out / "consensus/plurality/p2.png"))) == {1, 2}


def test_structures_in_files_of_their_own(capsys, tmp_path):
    for rater, x in SHIFTS.items():
        write_png(tmp_path / f"{rater}/p1_liver.png", disc(x=x) * 255)
        write_png(tmp_path / f"{rater}/p1_tumour.png", disc(x=x, radius=2) * 255)
    out = fused(capsys, tmp_path / "{rater}/{case}_{label}.png", tmp_path / "out", "plurality,staple,vote:0.5")
    found = pixels(out / "consensus/plurality/p1.png")
    wanted = np.where(sum(disc(x=x, radius=2) for x in SHIFTS.values()) >= 2, 2, 0)
    assert set(np.unique(found)) == {0, 1, 2}
    assert (found[wanted == 2] == 2).all()


def test_not_rated(capsys, tmp_path):
    """Who did not rate an item does not vote on it; what nobody rated is background."""
    masks = {r: disc(x=x) for r, x in SHIFTS.items()}
    for mask in masks.values():
        mask[:, :3] = 9
    masks["A"][:, 3:12] = 9
    for rater, mask in masks.items():
        write_png(tmp_path / rater / "p1.png", mask)
    names = "vote:0.5,staple,simple,lsml,plurality"
    out = fused(capsys, tmp_path / "{rater}/{case}.png", tmp_path / "out", names, "--void", "9")
    for method in names.replace(":", "-").split(","):
        assert not pixels(out / f"consensus/{method}/p1.png")[:, :3].any()
    two = (masks["B"] | masks["C"])[:, 3:12]
    assert (pixels(out / "consensus/vote-0.5/p1.png")[:, 3:12] == two).all()


def test_volumes(capsys, tmp_path):
    import nibabel

    for rater, x in SHIFTS.items():
        write_nifti(tmp_path / rater / "p1.nii.gz", volume(x=x))
    out = fused(capsys, tmp_path / "{rater}/{case}.nii.gz", tmp_path / "out", "vote:0.5,staple,lsml,lsmlp")
    masks = {r: volume(x=x) for r, x in SHIFTS.items()}
    wanted = mt.paint(mt.staple(mt.tally(masks)).probability, masks)
    found = np.asarray(nibabel.load(out / "probability/staple/p1.nii.gz").dataobj)
    assert (found == wanted.astype(np.float32)).all()
    assert pixels(out / "pictures/staple/p1.png").shape[2] == 3


def test_smoothing(capsys, tmp_path):
    """STAPLE becomes the form that smooths; the summary and the folder say so."""
    for rater, x in SHIFTS.items():
        write_png(
            tmp_path / rater / "p1.png", disc(x=x) ^ (np.indices((24, 24)).sum(axis=0) % 11 == x).astype(np.uint8)
        )
    out = fused(capsys, tmp_path / "{rater}/{case}.png", tmp_path / "out", "staple,vote:0.5", "--smoothing", "0.8")
    masks = {r: pixels(tmp_path / r / "p1.png") for r in SHIFTS}
    wanted = mt.staple_map(masks, smoothing=0.8)
    assert (pixels(out / "probability/staple_map/p1.tif") == wanted.probability.astype(np.float32)).all()


@pytest.mark.slow
def test_real_retinas(capsys, tmp_path):
    root = data("chasedb1")
    for rater in ("1stHO", "2ndHO"):
        (tmp_path / rater).mkdir()
        for case in ("01L", "02R"):
            (tmp_path / rater / f"{case}.png").symlink_to(root / f"raters/{rater}/{case}.png")
    options = ["--roi", root / "roi/{case}.png", "--images", root / "images/{case}.jpg"]
    out = fused(capsys, tmp_path / "{rater}/{case}.png", tmp_path / "out", "vote:0.5,vote:all,staple", *options)
    for case in ("01L", "02R"):
        inside = pixels(root / f"roi/{case}.png") > 0
        one, two = (pixels(root / f"raters/{r}/{case}.png") > 0 for r in ("1stHO", "2ndHO"))
        assert ((pixels(out / f"consensus/vote-0.5/{case}.png") > 0) == ((one | two) & inside)).all()
        assert ((pixels(out / f"consensus/vote-all/{case}.png") > 0) == (one & two & inside)).all()


@pytest.mark.slow
def test_a_real_volume(capsys, tmp_path):
    import nibabel

    template = data("volume") / "{case}_{rater}.nii.gz"
    out = fused(capsys, template, tmp_path / "out", "vote:0.5,staple")
    masks = [nibabel.load(data("volume", f"seg_{i}.nii.gz")) for i in (1, 2, 3)]
    found = nibabel.load(out / "consensus/vote-0.5/seg.nii.gz")
    assert np.allclose(found.affine, masks[0].affine)
    wanted = sum((np.asarray(m.dataobj) > 0).astype(int) for m in masks) >= 2
    assert ((np.asarray(found.dataobj) > 0) == wanted).all()


def test_real_nodules(capsys, tmp_path):
    with np.load(data("lidc", "lidc_4reader_masks.npz")) as source:
        some = {name: source[name] for name in list(source)[:6]}
    np.savez(tmp_path / "lidc.npz", **some)
    slots = ("--raters", "exchangeable")
    out = fused(capsys, tmp_path / "lidc.npz/{case}[{rater}]", tmp_path / "out", "vote:0.5,staple,simple", *slots)
    assert {r["rater"] for r in table(out / "performance.csv")} == {""}
    for name, masks in some.items():
        assert (np.load(out / f"consensus/vote-0.5/{name}.npy") == (masks.sum(axis=0) >= 2)).all()

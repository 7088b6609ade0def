"""What ``fuse`` makes of input that means little: a defined result, the reason in it and in what is printed."""

from __future__ import annotations

import numpy as np
import pytest

from study_folders import disc, files, pixels, run, table, untidy, write_png

EMPTY = disc() * 0
FULL = EMPTY + 1
NAMES = "vote:0.5,excl:0.5,staple,simple,plurality,lsml,lsmlp"
FOLDERS = NAMES.replace(":", "-").split(",")
SHIFTED = {"A": disc(), "B": disc(x=1), "C": disc(x=2)}


def fused(capsys, folder, study, *options, methods=NAMES):
    """The results, twice the same (the second time from the ledger); convergence by case and method; the output."""
    for case, by_rater in study.items():
        for rater, mask in by_rater.items():
            write_png(folder / "masks" / rater / f"{case}.png", np.asarray(mask, np.uint8))
    line = ["fuse", folder / "masks/{rater}/{case}.png", "--out", folder / "out", "--consensus", methods, "--jobs", 1]
    done = run(capsys, *line, *options)
    assert (done.status, done.err) == (0, "")
    before = {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in files(folder / "out/fuse/cases")}
    again = run(capsys, *line, *options)
    assert (again.status, again.out) == (0, done.out)
    assert {p: (p.read_bytes(), p.stat().st_mtime_ns) for p in files(folder / "out/fuse/cases")} == before
    assert not untidy(folder / "out")
    for path in files(folder / "out"):
        if path.suffix == ".tif":
            assert np.isfinite(pixels(path)).all(), path
    for name in ("performance", "differences", "complexity"):
        for row in table(folder / f"out/fuse/{name}.csv"):
            assert row["value"] != "nan" or row["reason"] not in ("", "undefined"), row
    ends = {(r["case"], r["method"]): (r["ended"], r["note"]) for r in table(folder / "out/fuse/convergence.csv")}
    return folder / "out/fuse", ends, " ".join(done.out.split())


def test_no_overlap_at_all(capsys, tmp_path):
    apart = {"A": disc(x=-7, radius=3), "B": disc(radius=3), "C": disc(x=7, radius=4)}
    out, ends, printed = fused(capsys, tmp_path, {"p1": apart})
    for method in NAMES.split(","):
        assert "no item was marked by two raters" in ends["p1", method][1], method
    assert "no item was marked by two raters" in printed
    assert (pixels(out / "consensus/staple/p1.png") == apart["C"]).all()
    assert not pixels(out / "consensus/vote-0.5/p1.png").any()
    rows = table(out / "complexity.csv")
    reasons = {r["statistic"]: (r["value"], r["reason"]) for r in rows if r["scope"] == "case"}
    assert reasons.pop("dice") == ("0.0", "")
    assert set(reasons.values()) == {("nan", "no item was marked by two raters")}


@pytest.mark.parametrize("methods", [NAMES, "vote:0.5"])
def test_all_raters_empty(methods, capsys, tmp_path):
    out, ends, printed = fused(capsys, tmp_path, {"p1": dict.fromkeys("ABC", EMPTY)}, methods=methods)
    for method in methods.split(","):
        ended, note = ends["p1", method]
        assert "nobody marked anything" in note or (method, ended) == ("staple", "nothing marked")
        assert not pixels(out / f"consensus/{method.replace(':', '-')}/p1.png").any()
        # a level set has flat priors, and so is never sure
        most = 0.5 if method.startswith("lsml") else 0
        assert pixels(out / f"probability/{method.replace(':', '-')}/p1.tif").max() <= most
    assert "nobody marked anything" in printed


def test_one_empty_case_among_others(capsys, tmp_path):
    study = {"p1": dict.fromkeys("ABC", EMPTY), "p2": SHIFTED, "p3": {r: m * 1 for r, m in SHIFTED.items()}}
    out, _, printed = fused(capsys, tmp_path, study)
    assert "nobody marked anything (p1)" in printed
    rows = table(out / "performance.csv")
    nothing = [r for r in rows if (r["case"], r["method"], r["statistic"]) == ("p1", "staple", "iou")]
    assert {r["reason"] for r in nothing} == {"both marked nothing"}


def test_one_rater_left(capsys, tmp_path):
    alone = ["--exclude", "A=p2", "--exclude", "B=p2"]
    out, ends, printed = fused(capsys, tmp_path, {"p1": SHIFTED, "p2": SHIFTED}, *alone)
    for method in NAMES.split(","):
        assert "only one rater" in ends["p2", method][1], method
        assert "only one rater" not in ends["p1", method][1], method
        assert (pixels(out / f"consensus/{method.replace(':', '-')}/p2.png") == disc(x=2)).all(), method
    assert "only one rater: the consensus is their mask (p2)" in printed
    rows = [r for r in table(out / "complexity.csv") if r["case"] == "p2"]
    assert {r["reason"] for r in rows if r["statistic"] != "dice"} == {"fewer than two raters"}
    assert [r["value"] for r in rows if r["statistic"] == "dice"] == ["nan"]


def test_simple_leaves_one(capsys, tmp_path):
    _, ends, printed = fused(capsys, tmp_path, {"p1": {**SHIFTED, "D": disc(x=-5, radius=3)}}, methods="simple:0.5")
    assert ends["p1", "simple:0.5"][1] == "only B is left: the consensus is their mask"
    assert "only B is left" in printed


@pytest.mark.parametrize(("mask", "words"), [(EMPTY, "B marked nothing"), (FULL, "B marked everything")])
def test_a_constant_rater(mask, words, capsys, tmp_path):
    _, ends, printed = fused(capsys, tmp_path, {"p1": {**SHIFTED, "B": mask}})
    for method in NAMES.split(","):
        assert words in ends["p1", method][1], method
    # that a mask is empty, check tells
    assert (words in printed) == (words == "B marked everything")


def test_everything_marked(capsys, tmp_path):
    out, ends, _ = fused(capsys, tmp_path, {"p1": dict.fromkeys("ABC", FULL), "p2": SHIFTED})
    assert ends["p1", "staple"][0] == "everything marked"
    for folder in FOLDERS:
        assert pixels(out / f"consensus/{folder}/p1.png").all(), folder


def test_a_label_of_one_rater_only(capsys, tmp_path):
    two = np.where(disc(y=-3, radius=2), 2, disc())
    methods = "vote:0.5,staple,simple,plurality"
    _, ends, printed = fused(capsys, tmp_path, {"p1": {**SHIFTED, "A": two}}, methods=methods)
    for method in methods.split(","):
        assert "label 2 was given by A only" in ends["p1", method][1], method
    assert "label 2 was given by A only" in printed


def test_no_convergence(capsys, tmp_path):
    """Raters who throw coins: EM crawls, and stops after 1,000 steps."""
    coins = np.random.default_rng(5)
    study = {"p1": dict(zip("ABC", (coins.random((3, 6, 6)) < 0.5).astype(np.uint8), strict=True))}
    _, ends, printed = fused(capsys, tmp_path, study, methods="vote:0.5,staple")
    ended, note = ends["p1", "staple"]
    assert ended == "stopped"
    assert "not converged: after 1000 iterations" in note
    assert "staple: not converged: after 1000 iterations" in printed
    assert "ended:" not in printed


def test_a_level_set_that_vanishes(capsys, tmp_path):
    _, ends, printed = fused(capsys, tmp_path, {"p1": SHIFTED}, "--length-penalty", "500", methods="lsml")
    assert ends["p1", "lsml"][0] in ("vanished", "stopped", "no contour", "converged")
    assert (ends["p1", "lsml"][0] == "vanished") <= ("lsml: the contour vanished; take a smaller" in printed)


def test_a_single_pixel(capsys, tmp_path):
    fused(capsys, tmp_path, {"p1": {r: [[1]] for r in "ABC"}, "p2": {"A": [[1]], "B": [[0]], "C": [[0]]}})


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--consensus", "stapel"], "did you mean 'staple'"),
        (["--consensus", "vot:0.5"], "did you mean 'vote:0.5'"),
        (["--consensus", "vote:0.5,vote:0.5"], "different methods"),
        (["--consensus", "staple,staple_map", "--smoothing", "0.5"], "different methods"),
        (["--consensus", ""], "one or more"),
        (["--consensus", "vote:2"], "a share above 0 and up to 1; got 2.0"),
        (["--consensus", "vote:half"], "'any', 'all', or a share"),
        (["--consensus", "plurality:3"], "takes nothing after a colon"),
        (["--consensus", "staple:3"], "staple:3: after the colon stands 'itk'"),
        (["--consensus", "lsml,vote:0.5", "--rates", "pooled"], "lsml works case by case"),
        (["--prior", "prevelance"], "prior is 'prevalence'"),
        (["--prior", "1.5"], "above 0 and below 1"),
        (["--prior", "nan"], "above 0 and below 1"),
        (["--map-prior", "a"], "--map-prior wants numbers"),
        (["--map-prior", "1,2,3"], "map_prior is (a, b)"),
        (["--map-prior", "0.5,2"], "each at least 1"),
        (["--smoothing", "-1"], "smoothing must be at least 0"),
        (["--smoothing", "nan"], "smoothing must be at least 0"),
        (
            ["--consensus", "vote:1.5"],
            "manytruths: vote:1.5: threshold must be 'any', 'all', or a share above 0 and up to 1",
        ),
        (["--consensus", "simple:0"], "simple:0: alpha must be above 0"),
        (["--consensus", "lsml:-1"], "lsml:-1: length_penalty must be at least 0"),
        (["--consensus", "average"], "methods are vote:any, vote:all, vote:0.5, excl:0.5, staple"),
        (["--consensus", "simple", "--simple-alpha", "0"], "alpha must be above 0"),
        (["--consensus", "lsml", "--length-penalty", "-1"], "at least 0 and finite; got -1.0"),
        (["--seed", "-1"], "seed must be at least 0"),
        (["--jobs", "0"], "jobs"),
    ],
)
def test_wrong_calls(options, words, capsys, tmp_path):
    for rater, mask in SHIFTED.items():
        write_png(tmp_path / rater / "p1.png", mask)
    done = run(capsys, "fuse", tmp_path / "{rater}/{case}.png", "--out", tmp_path / "out", *options)
    assert done.status == 2
    assert words in done.line
    assert not files(tmp_path / "out")


def test_a_damaged_mask(capsys, tmp_path):
    for rater, mask in SHIFTED.items():
        write_png(tmp_path / rater / "p1.png", mask)
    (tmp_path / "B/p1.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    done = run(capsys, "fuse", tmp_path / "{rater}/{case}.png", "--out", tmp_path / "out")
    assert done.status == 1
    assert "B/p1.png" in done.line

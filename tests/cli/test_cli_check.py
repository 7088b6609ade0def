"""``check`` lists everything at once."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

from study_folders import command, disc, files, pixels, run, table, write_npy, write_png, write_study

CASES = [f"p{i:02}" for i in range(1, 13)]


def spoil(folder, suffix=".png"):
    """Ten errors, each of another kind, in ten cases; two warnings in two others."""
    template = write_study(folder, cases=CASES)
    masks, roi = folder / "masks", folder / "roi"
    for case in CASES:
        write_png(roi / f"{case}.png", disc(radius=11))
    write_png(masks / "B/p01.png", disc(30))
    whole = (masks / "B/p02.png").read_bytes()
    (masks / "B/p02.png").write_bytes(whole[:50])
    (masks / "C/p03.png").write_text("not a picture")
    (masks / "A/p04.png").write_bytes(b"")
    write_png(masks / "B/p05.png", np.stack([disc()] * 3, axis=-1))
    write_png(masks / "B/p06.png", disc() * 9)
    write_png(folder / "noisy.jpg", disc() * 255)
    Image.open(folder / "noisy.jpg").save(masks / "C/p07.png")
    write_png(roi / "p08.png", disc() * 0)
    (roi / "p09.png").unlink()
    write_png(roi / "p10.png", disc(12))
    (masks / "B/p11.png").unlink()
    write_png(masks / "C/p12.png", disc() * 0)
    return [template, "--roi", f"{roi}/{{case}}.png", "--labels", "1=lesion"]


WANTED = {
    ("error", "grid", "p01", "B"): "30×30 instead of 24×24",
    ("error", "file", "p02", "B"): "cut short",
    ("error", "file", "p03", "C"): "is not a PNG",
    ("error", "file", "p04", "A"): "0 bytes",
    ("error", "file", "p05", "B"): "RGB",
    ("error", "label", "p06", "B"): "value 9",
    ("error", "label", "p07", "C"): "JPEG",
    ("error", "roi", "p08", ""): "is empty",
    ("error", "roi", "p09", ""): "no such file",
    ("error", "roi", "p10", ""): "12×12 instead of 24×24",
    ("warning", "gap", "p11", "B"): "absent, not as empty",
    ("warning", "missing_marks", "p12", "C"): "marked nothing",
}


@pytest.mark.parametrize("jobs", [1, 2])
def test_ten_problems_at_once(jobs, tmp_path):
    done = command("check", *spoil(tmp_path), "--out", tmp_path / "out", "--jobs", jobs)
    assert (done.status, done.err) == (1, "")
    rows = table(tmp_path / "out/check/problems.csv")
    found = {(r["severity"], r["kind"], r["case"], r["rater"]): r["message"] for r in rows}
    assert found.keys() == WANTED.keys()
    assert len(rows) == len(found)
    lines = done.out.splitlines()
    for key, text in WANTED.items():
        assert text in found[key]
        # the terminal names the cases of one suspicion together
        shown = found[key].replace("case p12: ", "in case p12, ") if key[1] == "missing_marks" else found[key]
        assert f"{key[0]} {shown}" in lines
    assert "10 errors, 2 warnings" in lines
    assert [r["severity"] for r in rows] == ["error"] * 10 + ["warning"] * 2


def test_coverage_of_a_spoilt_study(tmp_path, capsys):
    run(capsys, "check", *spoil(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    rows = table(tmp_path / "out/check/coverage.csv")
    present = {(r["case"], r["rater"]): float(r["value"]) for r in rows if r["statistic"] == "present"}
    assert set(present) == {(case, rater) for case in CASES for rater in "ABC"}
    assert [key for key, there in present.items() if not there] == [("p11", "B")]
    marked = {(r["case"], r["rater"]): float(r["value"]) for r in rows if r["statistic"] == "marked"}
    assert marked["p12", "C"] == 0
    assert marked["p01", "A"] == disc().sum() == marked["p09", "A"]
    unreadable = {("p01", "B"), ("p02", "B"), ("p03", "C"), ("p04", "A"), ("p05", "B"), ("p11", "B")}
    assert not unreadable & marked.keys()
    summary = json.loads((tmp_path / "out/check/summary.json").read_text())
    assert (summary["errors"], summary["warnings"], summary["schema_version"]) == (10, 2, 1)
    assert summary["problems"][0]["case"] == "p01"


def test_two_raters_of_one_case_are_both_told(tmp_path, capsys):
    template = write_study(tmp_path)
    for rater in "AC":
        write_png(tmp_path / f"masks/{rater}/p2.png", disc() * 4)
    run(capsys, "check", template, "--labels", "1=x", "--out", tmp_path / "out", "--jobs", 1)
    rows = table(tmp_path / "out/check/problems.csv")
    assert [(r["case"], r["rater"]) for r in rows] == [("p2", "A"), ("p2", "C")]


def test_warnings_alone_are_no_failure(tmp_path, capsys):
    template = write_study(tmp_path, cases=("p1", "p2", "p3"))
    (tmp_path / "masks/C/p1.png").unlink()
    write_png(tmp_path / "masks/B/p2.png", disc() * 0)
    write_png(tmp_path / "images/p1.png", disc(30))
    write_png(tmp_path / "images/p2.png", disc())
    (tmp_path / "raters.csv").write_text("rater,expertise\nA,10\nZ,3\n")
    (tmp_path / "cases.csv").write_text("case,histology\np1,a\np2,b\np3,\n")
    images, raters, cases = f"{tmp_path}/images/{{case}}.png", tmp_path / "raters.csv", tmp_path / "cases.csv"
    options = ("--images", images, "--raters", raters, "--cases", cases, "--out", tmp_path / "out", "--jobs", 1)
    done = run(capsys, "check", template, *options)
    assert (done.status, done.err) == (0, "")
    rows = table(tmp_path / "out/check/problems.csv")
    assert {(r["severity"], r["kind"], r["case"], r["rater"]) for r in rows} == {
        ("warning", "gap", "p1", "C"),
        ("warning", "missing_marks", "p2", "B"),
        ("warning", "image", "p1", ""),
        ("warning", "image", "", ""),
        ("warning", "raters", "", "Z"),
        ("warning", "raters", "", ""),
        ("warning", "cases", "", ""),
    }
    assert "0 errors, 7 warnings" in done.out
    assert run(capsys, "agree", template, *options).status == 0


def test_nothing_to_say(tmp_path, capsys):
    done = run(capsys, "check", write_study(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (0, "")
    assert "0 errors, 0 warnings" in done.out
    assert [p.name for p in files(tmp_path / "out")] == [
        "claims.csv",
        "coverage.csv",
        "grids.csv",
        "problems.csv",
        "summary.json",
    ]
    assert (tmp_path / "out/check/problems.csv").read_text() == "severity,kind,case,rater,message\n"
    assert (tmp_path / "out/check/grids.csv").read_text() == "case,what,rater,how,detail\n"


def test_subjects_alone_need_no_groups(tmp_path, capsys):
    (tmp_path / "cases.csv").write_text("case,subject\np1,s1\np2,s1\n")
    options = ("--cases", tmp_path / "cases.csv", "--out", tmp_path / "out", "--jobs", 1)
    assert "0 warnings" in run(capsys, "check", write_study(tmp_path), *options).out


def test_an_image_that_a_wildcard_does_not_find_is_a_warning(tmp_path, capsys):
    template = write_study(tmp_path)
    write_png(tmp_path / "images/p1.png", disc())
    options = ("--images", f"{tmp_path}/images/{{case}}.*", "--out", tmp_path / "out", "--jobs", 1)
    done = run(capsys, "check", template, *options)
    assert done.status == 0
    assert "there is no such file as" in done.out
    assert "p2.*" in done.out
    write_png(tmp_path / "images/p1.tif", disc())
    assert "p1.png and" in run(capsys, "check", template, *options).line


def test_ranks_and_their_mistakes(tmp_path, capsys):
    template = write_study(tmp_path)
    for rater in "ABC":
        for case in ("p1", "p2"):
            write_png(tmp_path / f"ranks/{rater}/{case}.png", disc() * 2)
    options = ("--ranks", f"{tmp_path}/ranks/{{rater}}/{{case}}.png", "--out", tmp_path / "out", "--jobs", 1)
    assert run(capsys, "check", template, *options).status == 0
    (tmp_path / "ranks/A/p2.png").unlink()
    done = run(capsys, "check", template, *options)
    assert (done.status, "warning case p2: rater A has no rank map" in done.out) == (0, True)
    write_png(tmp_path / "ranks/B/p1.png", disc(30))
    (tmp_path / "ranks/C/p2.png").write_text("x")
    done = run(capsys, "check", template, *options)
    assert done.status == 1
    assert "case p1, rank map of rater B: " in done.out
    assert "30×30 instead of 24×24" in done.out
    assert "case p2, rank map of rater C: " in done.out
    assert "case p1, rank map of rater B" in run(capsys, "agree", template, *options).line


def test_a_rank_out_of_range(tmp_path, capsys):
    template = write_study(tmp_path)
    for rater in "ABC":
        write_png(tmp_path / f"ranks/{rater}/p1.png", disc() * 20)
    options = ("--ranks", f"{tmp_path}/ranks/{{rater}}/{{case}}.png", "--out", tmp_path / "out", "--jobs", 1)
    line = run(capsys, "agree", template, *options).line
    assert "case p1, rank maps: rank 20" in line


def test_numbered_objects_are_not_taken_for_a_jpeg(tmp_path, capsys):
    objects = np.zeros((160, 160), np.uint8)
    objects.flat[:240] = np.arange(240)
    for rater in "AB":
        write_npy(tmp_path / rater / "p1.npy", objects)
    template = f"{tmp_path}/{{rater}}/{{case}}.npy"
    done = run(capsys, "agree", template, "--foreground", "any", "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (0, "")


def problems(capsys, folder, *options):
    """What ``check`` says of a study with predictions, and ``evaluate`` of the same."""
    given = (f"{folder}/masks/{{rater}}/{{case}}.png", "--predictions", f"{folder}/pred/{{algorithm}}/{{case}}.png")
    common = (*options, "--out", folder / "out", "--jobs", 1)
    checked = run(capsys, "check", *given, *common)
    rows = table(folder / "out/check/problems.csv")
    refused = run(capsys, "evaluate", *given, *common, "--no-pictures")
    assert checked.status == refused.status
    return [(r["severity"], r["kind"], r["case"], r["rater"], r["message"]) for r in rows], refused


def predict(folder, cases=("p1", "p2"), times=1):
    for name in ("unet", "vnet"):
        for case in cases:
            write_png(folder / f"pred/{name}/{case}.png", disc() * times)


@pytest.mark.parametrize("options", [(), ("--region", "union"), ("--roi", "roi")])
def test_predictions_that_mark_with_other_values(options, tmp_path, capsys):
    """Each is told, and the first of them as ``evaluate`` tells it."""
    write_study(tmp_path)
    for path in files(tmp_path / "masks"):
        write_png(path, pixels(path) * 255)
    predict(tmp_path)
    for case in ("p1", "p2"):
        write_png(tmp_path / f"roi/{case}.png", disc(y=9, radius=2))
    chosen = ("--roi", f"{tmp_path}/roi/{{case}}.png") if options and options[0] == "--roi" else options
    rows, refused = problems(capsys, tmp_path, *chosen)
    found = [row for row in rows if row[0] == "error"]
    assert [row[:4] for row in found] == [("error", "prediction", c, a) for c in ("p1", "p2") for a in ("unet", "vnet")]
    assert found[0][4].startswith("case p1: unet marks with 1, the raters with 255; ")
    assert refused.line == f"manytruths: {found[0][4]} (manytruths check lists all problems)"
    rows, _ = problems(capsys, tmp_path, *chosen, "--foreground", "any")
    assert {row[1] for row in rows} <= {"empty"}


def test_predictions_and_references_that_are_no_masks(tmp_path, capsys):
    write_study(tmp_path)
    predict(tmp_path)
    grey = np.arange(24 * 24).reshape(24, 24) % 99
    write_png(tmp_path / "pred/vnet/p2.png", grey.astype(np.uint8))
    found, refused = problems(capsys, tmp_path)
    assert [row[:4] for row in found] == [("error", "prediction", "p2", "vnet")]
    assert "it is no mask" in found[0][4]
    assert refused.line.startswith(f"manytruths: {found[0][4]}")
    predict(tmp_path)
    write_png(tmp_path / "gold/p1.png", grey.astype(np.uint8))
    found, refused = problems(capsys, tmp_path, "--reference", f"{tmp_path}/gold/{{case}}.png")
    assert found[0][:4] == ("error", "reference", "p1", "reference")
    assert refused.line.startswith(f"manytruths: {found[0][4]}")


def test_a_class_that_no_rater_gives(tmp_path, capsys):
    write_study(tmp_path)
    predict(tmp_path)
    two = disc()
    two[:12] *= 2
    write_png(tmp_path / "pred/unet/p2.png", two)
    found, refused = problems(capsys, tmp_path)
    assert [row[:4] for row in found] == [("error", "prediction", "p2", "unet")]
    assert refused.line.startswith(f"manytruths: {found[0][4]}")
    assert problems(capsys, tmp_path, "--labels", "1=a,2=b")[0] == [], "declared, it may be what no rater found"


def test_one_algorithm_that_cannot_be_read_hides_no_other(tmp_path, capsys):
    write_study(tmp_path)
    predict(tmp_path, times=3)
    write_png(tmp_path / "pred/unet/p1.png", disc(30))
    found, _ = problems(capsys, tmp_path)
    assert [row[2:4] for row in found] == [("p1", "unet"), ("p1", "vnet"), ("p2", "unet"), ("p2", "vnet")]


def test_predictions_of_cases_that_nobody_marked(tmp_path, capsys):
    write_study(tmp_path, cases=("04R", "04L", "p7"))
    predict(tmp_path, ("04L", "04R_pred", "P07", "other"))
    found, _ = problems(capsys, tmp_path)
    told = {row[4] for row in found if "nobody marked" in row[4]}
    assert told == {
        "prediction of a case that nobody marked, not used: 04R_pred: did you mean 04R?",
        "prediction of a case that nobody marked, not used: P07: did you mean p7?",
        "predictions of 1 case that nobody marked are not used: other",
    }
    assert {row[0] for row in found} == {"warning"}
    for path in files(tmp_path / "pred"):
        path.unlink()
    predict(tmp_path, ("04R_pred", "other"))
    found, refused = problems(capsys, tmp_path)
    assert [row[:2] for row in found] == [("error", "prediction")]
    assert "no prediction of any case of the study (04R_pred: did you mean 04R?, other)" in found[0][4]
    assert "name the cases as the masks do" in refused.line


def test_only_what_check_can_say_points_to_it(tmp_path, capsys):
    write_study(tmp_path)
    predict(tmp_path)
    (tmp_path / "grades.csv").write_text("case,algorithm,grade\np1,unet,9\n")
    given = (f"{tmp_path}/masks/{{rater}}/{{case}}.png", "--predictions", f"{tmp_path}/pred/{{algorithm}}/{{case}}.png")
    done = run(capsys, "evaluate", *given, "--grades", tmp_path / "grades.csv", "--out", tmp_path / "out", "--jobs", 1)
    assert "manytruths check" not in done.line
    (tmp_path / "masks/B/p1.png").write_text("x")
    done = run(capsys, "evaluate", *given, "--out", tmp_path / "out", "--jobs", 1)
    assert done.line.endswith("(manytruths check lists all problems)")


@pytest.mark.parametrize("option", [("--raters", "exchangable"), ("--spacing", "1"), ("--out", "FILE")])
def test_a_wrong_option_does_not_point_to_check(option, tmp_path, capsys):
    write_study(tmp_path)
    (tmp_path / "file").write_text("")
    given = [tmp_path / "file" if word == "FILE" else word for word in option]
    out = () if option[0] == "--out" else ("--out", tmp_path / "out")
    done = run(capsys, "agree", f"{tmp_path}/masks/{{rater}}/{{case}}.png", *given, *out, "--jobs", 1)
    assert done.status == 1
    assert "manytruths check" not in done.line


def test_an_image_in_place_of_a_mask_is_said_to_look_like_one(tmp_path, capsys):
    write_study(tmp_path)
    write_png(tmp_path / "masks/A/p1.png", np.arange(576).reshape(24, 24).astype(np.uint8))
    write_png(tmp_path / "masks/B/p1.png", np.full((24, 24), 7, np.uint8))
    done = run(capsys, "agree", f"{tmp_path}/masks/{{rater}}/{{case}}.png", "--out", tmp_path / "out", "--jobs", 1)
    assert "rater A: the masks together hold more than 255 distinct values, as images do; give the path" in done.line


def test_a_prediction_without_a_name_is_called_prediction_once(tmp_path, capsys):
    write_study(tmp_path)
    for case in ("p1", "p2"):
        write_png(tmp_path / f"pred/{case}.png", np.arange(576).reshape(24, 24).astype(np.uint16))
    given = (f"{tmp_path}/masks/{{rater}}/{{case}}.png", "--predictions", f"{tmp_path}/pred/{{case}}.png")
    done = run(capsys, "evaluate", *given, "--out", tmp_path / "out", "--jobs", 1)
    assert done.line.startswith("manytruths: case p1: prediction: the masks together hold")
    assert "give --probability" in done.line

"""Calls that are wrong, and calls that are odd: status 2, one line, or the right thing done."""

from __future__ import annotations

import os
import subprocess

import pytest

from study_folders import MANYTRUTHS, command, disc, files, run, table, untidy, write_png, write_study

WRONG = [
    ("--nope",),
    ("--jobs", "0"),
    ("--jobs", "-2"),
    ("--jobs", "x"),
    ("--labels", "x=y"),
    ("--labels", ""),
    ("--labels", "1=a,1=b"),
    ("--labels", "1=a,2=a"),
    ("--labels", "1="),
    ("--labels", "1=background"),
    ("--spacing", "x,y"),
    ("--spacing", "0,0"),
    ("--spacing", "nan,1"),
    ("--spacing", "inf,1"),
    ("--spacing=-1,1",),
    ("--kappa-scale", "nobody"),
    ("--foreground", "some"),
    ("--region", "middle"),
    ("--overlap", "larger"),
    ("--window", "4"),
    ("--window", "0"),
    ("--seed", "-1"),
    ("--void", "x"),
    ("--exclude-group", "nobody"),
    ("another",),
]


@pytest.mark.parametrize("wrong", WRONG, ids=" ".join)
def test_a_wrong_call_of_agree(wrong, tmp_path, capsys):
    jobs = () if "--jobs" in wrong else ("--jobs", "1")
    done = run(capsys, "agree", write_study(tmp_path), *wrong, "--out", tmp_path / "out", *jobs)
    assert done.status == 2
    assert done.err
    assert "Traceback" not in done.err
    assert not [p for p in files(tmp_path / "out") if p.parent.name != "heatmaps"]
    assert not untidy(tmp_path / "out")


@pytest.mark.parametrize(
    "wrong", [("nope",), ("check", "--jobs", "0"), ("check", "--kappa-scale", "fleiss"), ("--nope",)]
)
def test_other_wrong_calls(wrong, tmp_path, capsys):
    done = run(capsys, *wrong, *((write_study(tmp_path), "--out", tmp_path / "out") if wrong[0] == "check" else ()))
    assert done.status == 2
    assert done.err
    assert not files(tmp_path / "out")


def test_the_statuses_reach_the_shell(tmp_path):
    template = write_study(tmp_path)
    assert command("agree", template, "--nope").status == 2
    assert command("nope").status == 2
    assert command("check", template + "x", "--out", tmp_path / "out").status == 1
    assert command("check", template, "--out", tmp_path / "out").status == 0
    assert command("--version").status == 0
    assert "agree" in command("--help").out


@pytest.mark.parametrize("verb", ["check", "agree"])
def test_quiet(verb, tmp_path):
    done = command(verb, write_study(tmp_path), "--out", tmp_path / "out", "--quiet")
    assert (done.status, done.out, done.err) == (0, "", "")
    assert files(tmp_path / "out")


def test_out_is_a_file(tmp_path, capsys):
    (tmp_path / "out").write_text("mine")
    for verb in ("agree", "check"):
        done = run(capsys, verb, write_study(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
        assert done.status == 1
        assert done.line == f"manytruths: {tmp_path / 'out'}: is a file, not a folder; choose another folder"
    assert (tmp_path / "out").read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_out_is_read_only(tmp_path, capsys):
    (tmp_path / "out").mkdir(mode=0o500)
    done = run(capsys, "agree", write_study(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 1
    assert done.line.endswith("Permission denied; choose a folder that can be written to")


def test_a_folder_stands_where_a_table_goes(tmp_path, capsys):
    (tmp_path / "out/agree/agreement.csv").mkdir(parents=True)
    done = run(capsys, "agree", write_study(tmp_path), "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 1
    assert "agreement.csv: cannot be written" in done.line
    assert not untidy(tmp_path / "out")


@pytest.mark.slow
def test_the_template_is_relative_to_where_one_stands(tmp_path):
    write_study(tmp_path)
    assert command("agree", "masks/{rater}/{case}.png", "--quiet", cwd=tmp_path).status == 0
    assert (tmp_path / "manytruths-out/agree/summary.json").is_file()
    assert command("agree", cwd=tmp_path).line.startswith("manytruths: . is a folder without a study.toml")


def test_a_reader_that_goes_away(tmp_path):
    template = write_study(tmp_path)
    line = f"{MANYTRUTHS} agree '{template}' --out {tmp_path}/out | head -c 1"
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert (tmp_path / "out/agree/summary.json").is_file()


def test_without_pictures(tmp_path, capsys):
    done = run(capsys, "agree", write_study(tmp_path), "--no-pictures", "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 0
    assert {p.suffix for p in files(tmp_path / "out")} == {".csv", ".json"}


def test_images_go_into_heatmaps_and_features(tmp_path, capsys):
    template = write_study(tmp_path)
    for case in ("p1", "p2"):
        write_png(tmp_path / f"images/{case}.png", disc(y=2) * 90 + 30)
    options = ("--images", f"{tmp_path}/images/{{case}}.png", "--out", tmp_path / "out", "--jobs", 1)
    assert run(capsys, "agree", template, *options).status == 0
    rows = table(tmp_path / "out/agree/features.csv")
    assert {(r["case"], r["feature"]) for r in rows} == {
        (c, f) for c in ("p1", "p2") for f in ("intensity", "contrast")
    }


@pytest.mark.parametrize("problem", ["missing", "another size", "not a picture"])
def test_an_image_that_cannot_be_used_is_a_note(problem, tmp_path, capsys):
    template = write_study(tmp_path, cases=("p1",))
    image = tmp_path / "images/p1.png"
    write_png(image, disc(30))
    if problem == "missing":
        image.unlink()
    elif problem == "not a picture":
        image.write_text("x")
    options = ("--images", f"{tmp_path}/images/{{case}}.png", "--out", tmp_path / "out", "--jobs", 1)
    done = run(capsys, "agree", template, *options)
    assert done.status == 0
    missing = "heatmaps are without images: no file is where"
    assert (missing if problem == "missing" else "case p1: heatmap without its image") in done.out
    assert (tmp_path / "out/agree/heatmaps/p1.png").is_file()
    for _ in range(2):  # the second takes the case from the first
        done = run(capsys, "fuse", template, *options)
        assert done.status == 0
        missing = "pictures are without images: no file is where"
        assert (missing if problem == "missing" else "case p1: pictures without its image") in done.out


def test_names_are_printed_as_they_are(tmp_path, capsys):
    template = write_study(tmp_path, raters=["[red]A", "B;b", "C, c"], cases=["[bold]p1", 'p"2'])
    (tmp_path / "cases.csv").write_text('case,kind\n[bold]p1,[/x]\n"p""2","y, z"\n')
    options = ("--cases", tmp_path / "cases.csv", "--out", tmp_path / "[out]", "--jobs", 1)
    for verb, names in (("check", ["[red]A", "B;b"]), ("agree", ["[red]A", "[bold]p1", "[/x]", "y, z", 'p"2'])):
        done = run(capsys, verb, template, *options)
        assert (done.status, done.err) == (0, "")
        assert [name for name in names if name not in done.out] == []
    rows = table(tmp_path / "[out]/agree/agreement.csv")
    assert {(r["case"], r["group"]) for r in rows if r["scope"] == "case"} == {("[bold]p1", "[/x]"), ('p"2', "y, z")}
    raters = table(tmp_path / "[out]/agree/raters.csv")
    assert {r["rater"] for r in raters} == {"", "[red]A", "B;b", "C, c"}


@pytest.mark.parametrize("template", ["x" * 300, "x" * 300 + "/{rater}/{case}.png", "{case}/{rater}.png"])
def test_names_that_are_too_long(template, tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for rater in "AB":
        write_png(tmp_path / ("c" * 255) / f"{rater}.png", disc())
    done = run(capsys, "agree", template, "--out", tmp_path / "out", "--jobs", 1)
    assert done.status in (0, 1)
    assert done.status == 0 or done.line
    assert not untidy(tmp_path / "out")


@pytest.mark.slow
def test_many_raters(tmp_path, capsys):
    raters = [f"R{i}" for i in range(40)]
    done = run(capsys, "agree", write_study(tmp_path, raters, ["p1"]), "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (0, "")
    pairs = table(tmp_path / "out/agree/pairs.csv")
    assert len({(r["rater_a"], r["rater_b"]) for r in pairs}) == 40 * 39 // 2


def test_one_case_only(tmp_path, capsys):
    done = run(capsys, "agree", write_study(tmp_path, cases=["p1"]), "--out", tmp_path / "out", "--jobs", 4)
    assert (done.status, done.err) == (0, "")
    assert "1 case, 1 subject" in done.out


def test_what_an_earlier_run_wrote_goes_and_nothing_else(tmp_path, capsys):
    template, out = write_study(tmp_path), tmp_path / "out/agree"
    run(capsys, "agree", template, "--out", tmp_path / "out", "--jobs", 1)
    (out / "mine.txt").write_text("keep")
    (out / "heatmaps/mine.png").write_text("keep")
    run(capsys, "agree", template, "--out", tmp_path / "out", "--jobs", 1, "--no-pictures", "--raters", "exchangeable")
    left = {str(p.relative_to(out)) for p in files(out)}
    tables = {"agreement.csv", "claims.csv", "curve.csv", "flow.csv", "size_agreement.csv", "sizes.csv", "summary.json"}
    tables |= {"detection.csv", "detection_curve.csv", "lesions.csv"}
    assert left == {*tables, "mine.txt", "heatmaps/mine.png"}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--window", "4"), "--window must be an odd number"),
        (("--agreement-window=2",), "--agreement-window must be an odd number"),
        (("--exclude-rater", "Z"), "--exclude-rater: there is no rater 'Z'"),
    ],
)
def test_a_wrong_option_is_named_as_it_was_typed(options, words, tmp_path, capsys):
    done = run(capsys, "agree", write_study(tmp_path), *options, "--out", tmp_path / "out", "--jobs", 1)
    assert done.line.startswith(f"manytruths: {words}")

"""Bad input for ``evaluate``: one line that says who, what and what to do; status 1 (input) or 2 (call); nothing left.

What can be judged all the same is judged, and what to know about it is said.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image

from study_folders import (
    command,
    disc,
    files,
    run,
    table,
    untidy,
    value,
    volume,
    write_nifti,
    write_npy,
    write_png,
)

CASES = ("p1", "p2", "p3")
EMPTY = disc() * 0
RAMP = (np.arange(576) % 200).reshape(24, 24).astype(np.uint8)
GREY = ("--probability", "--skew", "0.1,0.5")

Build = Callable[[Path], list[object] | None]
MISTAKES: dict[str, tuple[Build, int, tuple[str, ...]]] = {}
"""What was done wrong, the status, and what the message must say."""


def mistake(*said: str, status: int = 1) -> Callable[[Build], Build]:
    def register(build: Build) -> Build:
        MISTAKES[build.__name__] = build, status, said
        return build

    return register


def write_study(folder: Path) -> None:
    """Three raters; two algorithms, x and y."""
    for y, case in enumerate(CASES):
        for x, rater in enumerate("ABC"):
            write_png(folder / f"masks/{rater}/{case}.png", disc(x=x, y=y, radius=6 + x / 2))
        for x, name in enumerate("xy"):
            write_png(folder / f"pred/{name}/{case}.png", disc(x=x + 1, y=y + 1, radius=5))


def started(capsys, folder, *options):
    """The command line in this process: an exception that is not ours would be raised here."""
    line = ["evaluate", folder / "masks/{rater}/{case}.png"]
    if "--predictions" not in options:
        line += ["--predictions", folder / "pred/{algorithm}/{case}.png"]
    return run(capsys, *line, "--out", folder / "out", "--jobs", 1, *options)


def judged(capsys, folder, *options):
    """What is printed, in one line, and the tables."""
    done = started(capsys, folder, *options)
    assert (done.status, done.err) == (0, "")
    out = folder / "out/evaluate"
    assert not untidy(out)
    for path in out.glob("*.csv"):
        for row in table(path):
            assert row.get("value") != "nan" or row["reason"] not in ("", "undefined"), row
    json.loads((out / "summary.json").read_text(), parse_constant=lambda name: pytest.fail(f"{name} is no JSON"))
    return " ".join(done.out.split()), {path.stem: table(path) for path in out.glob("*.csv")}


# -- predictions that cannot be used -------------------------------------------------------------


@mistake("case p2", "prediction of x", "30×30 instead of 24×24", "resample")
def another_size(folder):
    write_png(folder / "pred/x/p2.png", disc(size=30))


@mistake("case p2", "prediction of x", "30×30 instead of 24×24", "resample")
def another_size_grey(folder):
    write_png(folder / "pred/x/p2.png", disc(size=30) * 100)
    return [*GREY]


@mistake("case p2", "prediction of x", "RGB", "one channel")
def colours(folder):
    write_png(folder / "pred/x/p2.png", np.dstack([disc() * 255, EMPTY, EMPTY]))


@mistake("case p2", "prediction of x", "in colour", "save it as grey")
def colours_grey(folder):
    write_png(folder / "pred/x/p2.png", np.dstack([disc() * 255, EMPTY, EMPTY]))
    return [*GREY]


@mistake("case p2", "prediction of x", "cut short", "copy it again")
def truncated(folder):
    path = folder / "pred/x/p2.png"
    path.write_bytes(path.read_bytes()[:60])


@mistake("case p2", "prediction of x", "cut short", "copy it again")
def truncated_grey(folder):
    truncated(folder)
    return [*GREY]


@mistake("case p2", "prediction of x", "0 bytes")
def no_bytes(folder):
    (folder / "pred/x/p2.png").write_bytes(b"")


@mistake("case p2", "prediction of x holds", "no mask", "--probability", "--threshold", "--labels")
def grey_as_mask(folder):
    write_png(folder / "pred/x/p2.png", RAMP)


@mistake("case p2", "x marks 2", "every rater marks 1 alone", "--labels", "--foreground any", "--probability")
def few_levels_as_mask(folder):
    write_png(folder / "pred/x/p2.png", disc() * 1 + disc(radius=3) + disc(radius=2))


@mistake("case p2", "prediction of x", "0.5", "if it is a probability map, give --probability")
def shares_as_mask(folder):
    for case in CASES:
        for name in "xy":
            write_npy(folder / f"shares/{name}/{case}.npy", disc() * 1.0)
    write_npy(folder / "shares/x/p2.npy", disc() * 0.5)
    return ["--predictions", folder / "shares/{algorithm}/{case}.npy"]


@mistake("case p1", "x marks with 1", "the raters with 255", "--foreground any")
def other_value(folder):
    for rater in "ABC":
        for case in CASES:
            write_png(folder / f"masks/{rater}/{case}.png", disc() * 255)


@mistake("case p1", "each rater marks with one value, but not the same", "--foreground any")
def other_value_of_a_rater(folder):
    for case in CASES:
        write_png(folder / f"masks/B/{case}.png", disc() * 255)


@mistake("case p2", "prediction of x", "100 at (7, 9) (109 in all)", "not between 0 and 50", "declare other limits")
def outside_the_limits(folder):
    write_png(folder / "pred/x/p2.png", disc() * 100)
    return [*GREY, "--limits", "0,50"]


@mistake("case p1", "prediction of x", "nan at (3, 3) (1 in all)", "not finite")
def not_a_number(folder):
    for case in CASES:
        for name in "xy":
            write_npy(folder / f"shares/{name}/{case}.npy", disc() * 0.5)
    broken = disc() * 0.5
    broken[3, 3] = np.nan
    write_npy(folder / "shares/x/p1.npy", broken)
    return ["--predictions", folder / "shares/{algorithm}/{case}.npy", *GREY, "--limits", "0,1"]


@mistake("case p1", "prediction of x", "inf at (3, 3) (1 in all)", "not finite")
def infinite(folder):
    options = not_a_number(folder)
    broken = disc() * 0.5
    broken[3, 3] = np.inf
    write_npy(folder / "shares/x/p1.npy", broken)
    return options[:-2]


@mistake("has no prediction of any case", "name the cases as the masks do")
def other_names_of_cases(folder):
    for path in files(folder / "pred"):
        path.rename(path.with_name(f"case_{path.name}"))


@mistake("matches nothing", "correct the path")
def no_predictions_at_all(folder):
    return ["--predictions", folder / "nets/{algorithm}/{case}.png"]


@mistake("has no {case}", "replace the case's name in the path by {case}")
def no_case_in_the_template(folder):
    return ["--predictions", folder / "pred/{algorithm}.png"]


@mistake("has {rater}", "it may have {case}, {subject}, {algorithm}")
def raters_as_predictions(folder):
    return ["--predictions", folder / "masks/{rater}/{case}.png"]


@mistake("has {session}", "not allowed there")
def session_of_a_prediction(folder):
    return ["--predictions", folder / "{session}/x/{case}.png"]


@mistake("has {label}", "not allowed there")
def structures_of_predictions_only(folder):
    return ["--predictions", folder / "pred/{label}/{case}.png"]


@mistake("s1/p1.png", "s2/p1.png", "both of case p1", "remove one")
def two_predictions_of_a_case(folder):
    for subject in ("s1", "s2"):
        write_png(folder / f"nets/x/{subject}/p1.png", disc())
    return ["--predictions", folder / "nets/{algorithm}/{subject}/{case}.png"]


# -- truths, areas, names ------------------------------------------------------------------------


@mistake("'staple'", "like a method", "rename it, or leave out the method")
def rater_like_a_method(folder):
    (folder / "masks/A").rename(folder / "masks/staple")


@mistake("a reference is called 'A' like a rater", "rename")
def reference_like_a_rater(folder):
    write_png(folder / "given/A/p1.png", disc())
    return ["--reference", folder / "given/{reference}/{case}.png"]


@mistake("'vote:0.5'", "like a method")
def reference_like_a_method(folder):
    write_png(folder / "given/vote:0.5/p1.png", disc())
    return ["--reference", folder / "given/{reference}/{case}.png"]


@mistake("case p1", "reference gold", "30×30 instead of 24×24", "resample")
def reference_of_another_size(folder):
    write_png(folder / "given/gold/p1.png", disc(size=30))
    return ["--reference", folder / "given/{reference}/{case}.png"]


@mistake("case p1", "reference gold holds", "no mask", "cut it")
def grey_reference(folder):
    write_png(folder / "given/gold/p1.png", RAMP)
    return ["--reference", folder / "given/{reference}/{case}.png"]


@mistake("exclude", "an area of 'z'", "predictions are of x, y")
def area_of_an_unknown_algorithm(folder):
    write_png(folder / "seen/z/p1.png", disc())
    return ["--training", folder / "seen/{algorithm}/{case}.png"]


@mistake("case p1", "area to exclude for x", "30×30 instead of 24×24")
def area_of_another_size(folder):
    write_png(folder / "seen/x/p1.png", disc(size=30))
    return ["--training", folder / "seen/{algorithm}/{case}.png"]


# -- wrong calls ---------------------------------------------------------------------------------


@mistake("no method 'average'", "vote:0.5", "staple", status=2)
def unknown_truth(folder):
    return ["--consensus", "average"]


@mistake("consensus is one or more different methods", status=2)
def truth_twice(folder):
    return ["--consensus", "staple,staple"]


@mistake("--threshold is for probability maps", "--probability", status=2)
def threshold_of_masks(folder):
    return ["--threshold", "0.5"]


@mistake("--skew is for probability maps", status=2)
def skew_of_masks(folder):
    return ["--skew", "0.1,0.5"]


@mistake("--limits is for probability maps", status=2)
def limits_of_masks(folder):
    return ["--limits", "0,255"]


@mistake("threshold is a number", "nan", status=2)
def threshold_nan(folder):
    return [*GREY, "--threshold", "nan"]


@mistake("--skew wants two numbers", "'0.1'", status=2)
def one_skew(folder):
    return ["--probability", "--skew", "0.1"]


@mistake("--skew wants two numbers, the smaller first", status=2)
def skew_upside_down(folder):
    return ["--probability", "--skew", "0.5,0.1"]


@mistake("skew is a range of prevalences within 0 to 1", "0.5,1.5", status=2)
def skew_above_one(folder):
    return ["--probability", "--skew", "0.5,1.5"]


@mistake("--limits wants two numbers, the smaller first", status=2)
def limits_upside_down(folder):
    return [*GREY, "--limits", "1,0"]


@mistake("--limits wants two numbers", "'a,b'", status=2)
def limits_in_letters(folder):
    return [*GREY, "--limits", "a,b"]


@mistake("tolerance is a distance, 0 or more", "-1", status=2)
def negative_tolerance(folder):
    return ["--tolerance=-1"]


@mistake("tolerance is a distance", "nan", status=2)
def tolerance_nan(folder):
    return ["--tolerance", "nan"]


@mistake("parameter --training specified multiple times", status=2)
def two_templates_of_areas(folder):
    return ["--training", folder / "a/{algorithm}/{case}.png", "--training", folder / "b/{algorithm}/{case}.png"]


@mistake("modified_background", "--roi", status=2)
def less_background(folder):
    return ["--region", "modified_background"]


@mistake("no rater marked anything in any case", "correct the masks, or give a range, as --skew 0.1,0.5")
def nobody_marked_anything(folder):
    for rater in "ABC":
        for case in CASES:
            write_png(folder / f"masks/{rater}/{case}.png", EMPTY)
    return ["--probability"]


@mistake("values such as 1.5 at (3, 4) (2 in all) are not between 0 and 1, as declared")
def beyond_the_limits_declared(folder):
    p = 0.5 * disc().astype(np.float32)
    p[3, 4] = p[5, 6] = 1.5
    write_npy(folder / "pred/net/p1.npy", p)
    return ["--predictions", folder / "pred/{algorithm}/{case}.npy", "--probability", "--limits", "0,1"]


@mistake("every rater marked the same share", "--skew 0.1,0.5", status=2)
def no_range_of_prevalences(folder):
    for rater in "ABC":
        for case in CASES:
            write_png(folder / f"masks/{rater}/{case}.png", disc())
    return ["--probability"]


@mistake("a prior is", "7", status=2)
def prior_above_one(folder):
    return ["--prior", "7"]


@pytest.mark.parametrize("name", MISTAKES)
def test_one_line_and_nothing_written(name, capsys, tmp_path):
    build, status, said = MISTAKES[name]
    write_study(tmp_path)
    done = started(capsys, tmp_path, *(build(tmp_path) or ()))
    assert (done.status, done.out) == (status, "")
    for words in said:
        assert words in done.line, done.line
    assert not (tmp_path / "out").exists() or not files(tmp_path / "out")


@pytest.mark.parametrize("name", ["another_size", "truncated_grey", "unknown_truth", "outside_the_limits"])
def test_the_same_from_several_processes(name, tmp_path):
    build, status, said = MISTAKES[name]
    write_study(tmp_path)
    options = build(tmp_path) or []
    done = command(
        "evaluate", tmp_path / "masks/{rater}/{case}.png", "--predictions", tmp_path / "pred/{algorithm}/{case}.png",
        "--out", tmp_path / "out", "--jobs", 2, *options,
    )  # fmt: skip
    assert done.status == status
    assert all(words in done.line for words in said)


def test_no_predictions_asked_for(capsys, tmp_path):
    write_study(tmp_path)
    done = run(capsys, "evaluate", tmp_path / "masks/{rater}/{case}.png", "--out", tmp_path / "out")
    assert done.status == 2
    assert "evaluate needs predictions" in done.line


def test_what_an_earlier_run_left_stays_when_one_fails(capsys, tmp_path):
    write_study(tmp_path)
    assert started(capsys, tmp_path).status == 0
    before = {p: p.read_bytes() for p in files(tmp_path / "out")}
    (tmp_path / "pred/y/p3.png").write_bytes(b"")
    assert started(capsys, tmp_path).status == 1
    assert {p: p.read_bytes() for p in files(tmp_path / "out")} == before


def test_other_grids_of_volumes(capsys, tmp_path):
    """A prediction that was written without its place in space, or in another place."""
    for case in ("p1", "p2"):
        for x, rater in enumerate("AB"):
            write_nifti(tmp_path / f"m/{rater}/{case}.nii.gz", volume(x=x))
        write_nifti(tmp_path / f"there/{case}.nii.gz", volume(), origin=5.5 if case == "p2" else 0)
        write_npy(tmp_path / f"nowhere/{case}.npy", volume())
    for place, words in (("there/{case}.nii.gz", "origin is 5.5 mm away"), ("nowhere/{case}.npy", "no position")):
        for more in ((), GREY):
            line = ["evaluate", tmp_path / "m/{rater}/{case}.nii.gz", "--predictions", tmp_path / place, *more]
            done = run(capsys, *line, "--out", tmp_path / "out", "--jobs", 1)
            assert done.status == 1
            assert words in done.line
            assert not (tmp_path / "out").exists()


# -- what is judged all the same -----------------------------------------------------------------


@pytest.mark.parametrize("more", [(), GREY], ids=["masks", "grey"])
def test_missing_predictions_are_counted(more, capsys, tmp_path):
    write_study(tmp_path)
    (tmp_path / "pred/x/p2.png").unlink()
    area = "pbar_area" if more else "dice"
    said, worst = judged(capsys, tmp_path, *more)
    assert "x has no prediction of 1 of 3 cases (p2): they get the worst score" in said
    said, left = judged(capsys, tmp_path, *more, "--missing", "exclude")
    assert "x has no prediction of 1 of 3 cases (p2): means and rankings exclude these cases" in said
    for found, n in ((worst, "3"), (left, "2")):
        rows = [r for r in found["scores"] if (r["scope"], r["against"], r["statistic"]) == ("mean", "A", area)]
        assert {r["algorithm"]: r["n"] for r in rows} == {"x": n, "y": n}
    lower, higher = (value(t["scores"], area, "mean", algorithm="x", against="A") for t in (worst, left))
    assert lower == pytest.approx(higher * 2 / 3)
    if more:
        # all cases together: there x detects nothing in p2, or p2 counts for nobody
        pooled = [value(t["scores"], area, "pooled", algorithm="x", against="A") for t in (worst, left)]
        assert pooled[0] < pooled[1]


def test_skipping_a_hard_case_does_not_pay(capsys, tmp_path):
    """In no metric is the mean of an algorithm better when its worst prediction is missing."""
    write_study(tmp_path)
    write_png(tmp_path / "pred/x/p2.png", disc(x=9, y=9, radius=2))
    _, whole = judged(capsys, tmp_path, "--tolerance", 1)
    (tmp_path / "pred/x/p2.png").unlink()
    _, skipped = judged(capsys, tmp_path, "--tolerance", 1)
    for metric in {r["statistic"] for r in whole["scores"]} - {
        "inner_outer_ratio",
        "dice_failed_cases",
        "dice_failures",
        "dice_without_failures",
    }:
        for truth in ("A", "B", "C", "staple", "mean of raters") if metric != "extended_dice" else ("all raters",):
            rows = [r for t in (whole, skipped) for r in t["scores"] if r["scope"] == "mean"
                    if (r["algorithm"], r["against"], r["statistic"]) == ("x", truth, metric)]  # fmt: skip
            if not rows:
                continue
            before, after = (float(r["value"]) for r in rows)
            # SQ is of matched lesions, so that its mean is over the cases with a match, and those without prediction
            unmatched = [r for r in skipped["scores"] if r["scope"] == "case" and r["code"] == "no_lesion_matched"
                         if (r["algorithm"], r["against"], r["statistic"]) == ("x", truth, metric)]  # fmt: skip
            assert metric == "lesion_sq" or not unmatched
            assert int(rows[1]["n"]) == 3 - len(unmatched), (metric, truth)
            if metric in ("hausdorff", "hausdorff_95", "mean_surface_distance", "volume_difference"):
                assert after >= before - 1e-12, (metric, truth)
            # a kappa below 0 is worse than an empty mask's, which is 0
            elif metric != "cohen_kappa" and before == before:
                assert after <= before + 1e-12, (metric, truth)


def test_lesions_that_match_nothing_do_not_pay(capsys, tmp_path):
    """The mean SQ leaves such a case out, and rises; neither PQ nor a ranking by SQ does."""
    write_study(tmp_path)
    for case in ("p1", "p2", "p3"):
        write_png(tmp_path / f"pred/x/{case}.png", disc(x=2 if case == "p2" else 1, y=1))
    _, whole = judged(capsys, tmp_path)
    write_png(tmp_path / "pred/x/p2.png", disc(x=-9, y=-9, radius=2))
    _, elsewhere = judged(capsys, tmp_path)

    def mean(tables, metric):
        return value(tables["scores"], metric, "mean", algorithm="x", against="A")

    def ranked(tables):
        return value(tables["rankings"], "lesion_sq", "mean", algorithm="x", against="A")

    assert mean(elsewhere, "lesion_sq") > mean(whole, "lesion_sq")
    assert mean(elsewhere, "lesion_pq") < mean(whole, "lesion_pq")
    assert ranked(elsewhere) < ranked(whole)


def test_a_prediction_of_nothing_counts_as_the_worst(capsys, tmp_path):
    """Also where a rater marked nothing, too, so that some distances are undefined for another reason."""
    write_study(tmp_path)
    write_png(tmp_path / "pred/x/p2.png", EMPTY)
    write_png(tmp_path / "masks/B/p2.png", EMPTY)
    said, found = judged(capsys, tmp_path)
    assert "x marks nothing in 1 case (p2)" in said
    assert "B has nothing marked in 1 case (p2)" in said
    for metric in ("hausdorff", "hausdorff_95", "mean_surface_distance", "surface_dice"):
        rows = {(r["scope"], r["case"], r["against"]): r for r in found["scores"]
                if (r["algorithm"], r["statistic"]) == ("x", metric)}  # fmt: skip
        assert rows["case", "p2", "A"]["reason"] == "one of the two marked nothing"
        assert rows["case", "p2", "B"]["reason"] == "both marked nothing"
        for truth, n in (("A", "3"), ("B", "2"), ("mean of raters", "3")):
            assert rows["mean", "", truth]["n"] == n, metric
        own = [float(rows["case", case, "A"]["value"]) for case in ("p1", "p3")]
        worst = 0 if metric == "surface_dice" else np.hypot(*EMPTY.shape)
        assert float(rows["mean", "", "A"]["value"]) == pytest.approx((sum(own) + worst) / 3)


def test_absent_raters_judge_nobody(capsys, tmp_path):
    """A prediction that is missing where a rater is absent, too, costs nothing under that rater."""
    write_study(tmp_path)
    (tmp_path / "pred/x/p2.png").unlink()
    (tmp_path / "masks/B/p2.png").unlink()
    for more, metric in (((), "dice"), ((), "hausdorff"), (GREY, "pbar_area")):
        _, found = judged(capsys, tmp_path, *more)
        rows = {(r["scope"], r["case"], r["algorithm"], r["against"]): r for r in found["scores"]
                if r["statistic"] == metric}  # fmt: skip
        assert rows["mean", "", "x", "B"]["n"] == rows["mean", "", "y", "B"]["n"] == "2"
        assert rows["mean", "", "x", "A"]["n"] == "3"
        assert rows["case", "p2", "x", "A"]["reason"] == "no prediction"
        assert rows["case", "p2", "x", "B"]["reason"] not in ("", "no prediction")


def test_a_constant_mask(capsys, tmp_path):
    write_study(tmp_path)
    write_png(tmp_path / "pred/x/p2.png", EMPTY + 1)
    said, found = judged(capsys, tmp_path)
    assert "x marks everything in 1 case (p2)" in said
    assert value(found["scores"], "sensitivity", "case", case="p2", algorithm="x", against="A") == 1
    assert value(found["scores"], "specificity", "case", case="p2", algorithm="x", against="A") == 0


def test_a_constant_response(capsys, tmp_path):
    write_study(tmp_path)
    for case in CASES:
        write_png(tmp_path / f"pred/x/{case}.png", EMPTY + 7)
    said, found = judged(capsys, tmp_path, *GREY)
    assert "x: the response is 7 everywhere, so that no threshold separates anything (p1, p2, p3)" in said
    assert value(found["scores"], "roc_area", "pooled", algorithm="x", against="A") == 0.5
    rows = [r for r in found["correlations"] if (r["scope"], r["algorithm"], r["statistic"]) == ("pooled", "x", "cco")]
    assert rows[0]["value"] == "nan"


def test_a_copy_of_a_rater(capsys, tmp_path):
    write_study(tmp_path)
    for y, case in enumerate(CASES):
        write_png(tmp_path / f"pred/x/{case}.png", disc(x=1, y=y, radius=6.5))
    said, _ = judged(capsys, tmp_path)
    assert (
        "x is identical to rater B in 3 of 3 cases (p1, p2, p3): if it was made from them, its scores are too good"
        in said
    )
    assert "identical to rater A" not in said


def test_empty_masks_of_exchangeable_raters_are_nobodys(capsys, tmp_path):
    """Printed before: "A has nothing marked in 2 cases", though A is somebody else in the next case."""
    write_study(tmp_path)
    for rater, case in zip("AB", CASES, strict=False):
        write_png(tmp_path / f"masks/{rater}/{case}.png", EMPTY)
    said, _ = judged(capsys, tmp_path, "--raters", "exchangeable")
    assert "raters have nothing marked in 2 cases (p1, p2)" in said
    assert "A has" not in said
    assert "B has" not in said


def test_no_positives_in_a_truth(capsys, tmp_path):
    write_study(tmp_path)
    for case in CASES[:2]:
        write_png(tmp_path / f"masks/A/{case}.png", EMPTY)
    said, found = judged(capsys, tmp_path)
    assert "A has nothing marked in 2 cases (p1, p2)" in said
    row = next(r for r in found["scores"] if (r["scope"], r["against"], r["statistic"]) == ("mean", "A", "sensitivity"))
    assert (row["n"], row["n_undefined"]) == ("1", "2")
    said, found = judged(capsys, tmp_path, *GREY)
    assert "A has nothing marked: areas are undefined, left out of means, and counted (p1, p2)" in said
    row = next(r for r in found["scores"] if (r["scope"], r["against"], r["statistic"]) == ("mean", "A", "pbar_area"))
    assert (row["n"], row["n_undefined"]) == ("1", "2")


@pytest.mark.parametrize("more", [(), GREY], ids=["masks", "grey"])
def test_nobody_marked_anything(more, capsys, tmp_path):
    write_study(tmp_path)
    for rater in "ABC":
        for case in CASES:
            write_png(tmp_path / f"masks/{rater}/{case}.png", EMPTY)
    said, found = judged(capsys, tmp_path, *more)
    assert "nothing marked" in said
    if not more:
        assert value(found["scores"], "dice", "mean", algorithm="x", against="A") == 0
        sensitivity = [r for r in found["scores"] if r["statistic"] == "sensitivity" and r["scope"] == "mean"]
        assert {r["value"] for r in sensitivity} == {"nan"}


@pytest.mark.parametrize("more", [(), GREY], ids=["masks", "grey"])
def test_an_area_that_covers_everything(more, capsys, tmp_path):
    """Not judged there, which is neither good nor bad."""
    write_study(tmp_path)
    write_png(tmp_path / "seen/x/p2.png", EMPTY + 1)
    said, found = judged(capsys, tmp_path, *more, "--training", tmp_path / "seen/{algorithm}/{case}.png")
    assert "everything that counts is excluded" in said
    assert "(p2)" in said
    metric = "pbar_area" if more else "dice"
    rows = {(r["scope"], r["case"], r["algorithm"]): r for r in found["scores"]
            if (r["against"], r["statistic"]) == ("A", metric)}  # fmt: skip
    assert rows["case", "p2", "x"]["value"] == "nan"
    assert (rows["mean", "", "x"]["n"], rows["mean", "", "y"]["n"]) == ("2", "3")
    both = [float(rows["case", case, "x"]["value"]) for case in ("p1", "p3")]
    assert float(rows["mean", "", "x"]["value"]) == pytest.approx(np.mean(both))


@pytest.mark.parametrize("more", [(), GREY], ids=["masks", "grey"])
def test_an_area_of_everybody(more, capsys, tmp_path):
    """Without {algorithm} it is left out for all."""
    write_study(tmp_path)
    for case in CASES:
        write_png(tmp_path / f"seen/{case}.png", disc(x=-8, y=-8, radius=5))
    _, found = judged(capsys, tmp_path, *more, "--training", tmp_path / "seen/{case}.png")
    assert {r["algorithm"] for r in found["scores"]} == {"x", "y"}
    if more:
        pooled = [r for r in found["scores"] if (r["scope"], r["against"]) == ("pooled", "A")]
        assert {int(r["n"]) for r in pooled} == {3 * (576 - int(disc(x=-8, y=-8, radius=5).sum()))}


def test_a_truth_that_is_not_there_for_every_case(capsys, tmp_path):
    write_study(tmp_path)
    for case in CASES[1:]:
        write_png(tmp_path / f"given/gold/{case}.png", disc(x=1) * 255)
    given = ("--reference", tmp_path / "given/{reference}/{case}.png")
    _, found = judged(capsys, tmp_path, *given)
    row = next(r for r in found["scores"] if (r["scope"], r["against"], r["statistic"]) == ("mean", "gold", "dice"))
    assert (row["n"], row["n_undefined"]) == ("2", "1")
    _, found = judged(capsys, tmp_path, *given, *GREY)
    row = next(r for r in found["scores"] if (r["scope"], r["against"], r["statistic"]) == ("mean", "gold", "roc_area"))
    assert (row["n"], row["n_undefined"]) == ("2", "1")


@pytest.mark.parametrize("more", [(), GREY], ids=["masks", "grey"])
def test_an_algorithm_called_like_a_rater(more, capsys, tmp_path):
    write_study(tmp_path)
    metric = "pbar_area" if more else "dice"
    _, before = judged(capsys, tmp_path, *more)
    (tmp_path / "pred/x").rename(tmp_path / "pred/A")
    _, after = judged(capsys, tmp_path, *more)
    for truth in ("A", "B", "staple"):
        one = value(before["scores"], metric, "mean", algorithm="x", against=truth)
        assert value(after["scores"], metric, "mean", algorithm="A", against=truth) == one
    assert before.get("human") == after.get("human")


@pytest.mark.parametrize("more", [(), GREY], ids=["masks", "grey"])
def test_odd_names(more, capsys, tmp_path):
    """Blanks, brackets, tags, quotes, umlauts: as they are in tables and print, harmless in pictures and file names."""
    write_study(tmp_path)
    odd = ["[red]<script>alert(1)<", 'Müller & Söhne, "v2"; 50%', "[bold] *.. 'q'"]
    (tmp_path / "pred/x").rename(tmp_path / "pred" / odd[0])
    (tmp_path / "pred/y").rename(tmp_path / "pred" / odd[1])
    (tmp_path / "masks/A").rename(tmp_path / "masks" / odd[2])
    for path in [*files(tmp_path / "pred"), *files(tmp_path / "masks")]:
        path.rename(path.with_name(path.name.replace("p1", "<i>ü [1]")))
    said, found = judged(capsys, tmp_path, *more)
    assert {r["algorithm"] for r in found["scores"]} == set(odd[:2])
    assert odd[2] in {r["against"] for r in found["scores"]}
    assert "<i>ü [1]" in {r["case"] for r in found["scores"]}
    assert "[red]<script>" in said
    drawn = [p for p in files(tmp_path / "out") if p.suffix == ".svg"]
    assert drawn
    for path in drawn:
        picture = ElementTree.parse(path)
        assert not [e for e in picture.iter() if e.tag.endswith("script")]
        assert path.resolve().is_relative_to((tmp_path / "out").resolve())


def test_one_algorithm_is_not_ranked(capsys, tmp_path):
    write_study(tmp_path)
    for more in ((), GREY):
        _, found = judged(capsys, tmp_path, *more, "--predictions", tmp_path / "pred/x/{case}.png")
        assert found["rankings"] == []
        assert "orders" not in found
        assert {r["algorithm"] for r in found["scores"]} == {"prediction"}


def test_the_same_prediction_twice(capsys, tmp_path):
    write_study(tmp_path)
    for case in CASES:
        (tmp_path / f"pred/y/{case}.png").write_bytes((tmp_path / f"pred/x/{case}.png").read_bytes())
    said, found = judged(capsys, tmp_path)
    assert "By Dice, x and y are equal under each of the 5 standards used" in said
    assert {r["rank"] for r in found["rankings"]} == {"1"}
    assert {r["order"] for r in found["orders"]} == {"x = y"}


def test_masks_with_a_palette(capsys, tmp_path):
    """Their indices are labels all the same."""
    write_study(tmp_path)
    _, before = judged(capsys, tmp_path)
    for case in CASES:
        path = tmp_path / f"pred/x/{case}.png"
        with Image.open(path) as image:
            indexed = image.convert("P")
        indexed.putpalette([0, 0, 0, 255, 0, 0])
        indexed.save(path)
    _, after = judged(capsys, tmp_path)
    assert after["scores"] == before["scores"]


@pytest.mark.parametrize("region", ["whole", "union"])
def test_a_case_without_marks_beside_others(region, capsys, tmp_path):
    """Where nobody marked anything a union is empty: undefined, not the worst."""
    write_study(tmp_path)
    for rater in "ABC":
        write_png(tmp_path / f"masks/{rater}/p2.png", EMPTY)
    _, found = judged(capsys, tmp_path, "--region", region)
    row = next(r for r in found["scores"] if (r["scope"], r["against"], r["statistic"]) == ("mean", "A", "dice"))
    assert row["n"] == ("3" if region == "whole" else "2")


def test_every_method_as_truth(capsys, tmp_path):
    write_study(tmp_path)
    names = "vote:any,vote:all,vote:0.5,excl:0.5,staple,staple_map,simple,plurality,lsml,lsmlp"
    for more in ((), GREY):
        _, found = judged(capsys, tmp_path, *more, "--consensus", names)
        assert set(names.split(",")) <= {r["against"] for r in found["scores"]}
        assert set(names.split(",")) <= {r["against"] for r in found["rankings"]}


def test_two_raters_and_an_absent_one(capsys, tmp_path):
    """A case with one rater left has no pair, and no consensus of the others."""
    write_study(tmp_path)
    for path in files(tmp_path / "masks/C"):
        path.unlink()
    (tmp_path / "masks/C").rmdir()
    (tmp_path / "masks/B/p2.png").unlink()
    for more in ((), GREY):
        said, found = judged(capsys, tmp_path, *more)
        assert {r["case"] for r in found["scores"] if r["scope"] == "case"} == set(CASES)
        assert ("2 raters are too few to say whether an algorithm agrees with them" in said) == (not more)


def test_default_prevalences_are_those_of_the_region(capsys, tmp_path):
    """With --roi, P̄ averages over the prevalences inside of it."""
    write_study(tmp_path)
    for case in CASES:
        write_png(tmp_path / f"roi/{case}.png", disc(x=1, y=1, radius=10))
    skews = {}
    for name, more in (("whole", ()), ("roi", ("--roi", tmp_path / "roi/{case}.png"))):
        judged(capsys, tmp_path, "--probability", *more)
        skews[name] = json.loads((tmp_path / "out/evaluate/summary.json").read_text())["skew"]
    inside, shares = disc(x=1, y=1, radius=10) > 0, []
    for y, _ in enumerate(CASES):
        shares += [(disc(x=x, y=y, radius=6 + x / 2)[inside] > 0).mean() for x in range(3)]
    wanted = np.mean(shares) + np.array([-3, 3]) * np.std(shares, ddof=1)
    assert skews["roi"] == pytest.approx(np.clip(wanted, 0, 1).tolist())
    assert skews["whole"][1] < skews["roi"][1]


def test_check_says_what_is_missing(capsys, tmp_path):
    write_study(tmp_path)
    (tmp_path / "pred/x/p2.png").unlink()
    write_png(tmp_path / "given/gold/p1.png", disc(size=30))
    line = ["check", tmp_path / "masks/{rater}/{case}.png", "--reference", tmp_path / "given/{reference}/{case}.png"]
    more = ("--predictions", tmp_path / "pred/{algorithm}/{case}.png", "--out", tmp_path / "out")
    done = run(capsys, *line, *more)
    assert done.status == 1
    rows = [(r["severity"], r["kind"], r["case"]) for r in table(tmp_path / "out/check/problems.csv")]
    assert ("warning", "prediction", "p2") in rows
    assert ("error", "reference", "p1") in rows
    assert [row for row in rows if row[1] == "reference"][1:] == [("warning", "reference", c) for c in ("p2", "p3")]

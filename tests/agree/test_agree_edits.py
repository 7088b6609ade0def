"""Edits of another's read: apart from agreement and consensus, and reported by what was changed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from study_folders import disc, run, table, value, write_nifti, write_png, write_study

CASES = ("p1", "p2", "p3", "p4")
STATISTICS = ("added", "removed", "edited_volume", "edited_share", "dice")


def write_register(folder, parents, raters, cases=CASES, statuses=None):
    """``{(case, rater): parent}``; everybody else started from nothing."""
    said = statuses or {}
    rows = [
        f"{case},{rater},{said.get((case, rater), 'done')},{parents.get((case, rater), '')}"
        for case in cases
        for rater in raters
    ]
    (folder / "reads.csv").write_text("\n".join(["case,rater,status,based_on", *rows, ""]), encoding="utf-8")
    return folder / "reads.csv"


def write_chain(folder, spacing="0.5, 0.5"):
    """A model's masks, corrected by A and then by B in p1 and p2; C, D and E worked alone."""
    write_study(folder, ("model", *"ABCDE"), CASES)
    for case in CASES:
        write_png(folder / f"masks/model/{case}.png", disc(radius=5))
        write_png(folder / f"masks/A/{case}.png", disc(radius=6))
        write_png(folder / f"masks/B/{case}.png", disc(x=1, radius=6))
    parents = {(case, rater): parent for case in ("p1", "p2") for rater, parent in (("A", "model"), ("B", "A"))}
    write_register(folder, parents, ("model", *"ABCDE"))
    toml = f'masks = "masks/{{rater}}/{{case}}.png"\nreads = "reads.csv"\nspacing = [{spacing}]\ncases = "cases.csv"\n'
    (folder / "study.toml").write_text(toml)
    (folder / "cases.csv").write_text("case,subject,kind\np1,s1,a\np2,s1,b\np3,s2,a\np4,s3,b\n")
    return folder


def done(capsys, *arguments):
    found = run(capsys, *arguments)
    assert found.status == 0, found.err
    return found


def unwrapped(text):
    return " ".join(text.split())


def test_added_removed_volume_share_and_dice_by_hand(tmp_path, capsys):
    folder = write_chain(tmp_path)
    done(capsys, "agree", folder, "--out", tmp_path / "out", "--quiet", "--no-pictures")
    rows = table(tmp_path / "out/agree/edits.csv")
    assert {row["statistic"] for row in rows} == set(STATISTICS)
    assert {row["scope"] for row in rows} == {"case", "subject", "mean", "std", "pooled"}
    masks = {"model": disc(radius=5), "A": disc(radius=6), "B": disc(x=1, radius=6)}
    for child, parent, step in (("A", "model", "1"), ("B", "A", "2")):
        new, old = masks[child] > 0, masks[parent] > 0
        added, removed = (new & ~old).sum(), (old & ~new).sum()
        who = {"rater": child, "based_on": parent, "step": step}
        wanted = (
            added,
            removed,
            (added + removed) / 4,
            (added + removed) / old.sum(),
            2 * (new & old).sum() / (new.sum() + old.sum()),
        )
        for name, number in zip(STATISTICS, wanted, strict=True):
            for case, group in (("p1", "a"), ("p2", "b")):
                assert value(rows, name, "case", case=case, group=group, **who) == pytest.approx(number)
            assert value(rows, name, "subject", case="s1", **who) == pytest.approx(number)
            assert value(rows, name, "mean", **who) == pytest.approx(number)
            sums = 2 if name in ("added", "removed", "edited_volume") else 1
            assert value(rows, name, "pooled", **who) == pytest.approx(sums * number)
        assert added + removed > 0


def test_it_is_printed_and_in_the_summary(tmp_path, capsys):
    folder = write_chain(tmp_path)
    text = unwrapped(done(capsys, "agree", folder, "--out", tmp_path / "out", "--no-pictures").out)
    assert "4 reads are edits of another and left out of agreement: edits.csv" in text
    assert "edited, mm²" in text
    assert "model → A 1 2" in text
    assert "A → B 2 2" in text
    summary = json.loads((tmp_path / "out/agree/summary.json").read_text())
    assert len(summary["tables"]["edits"]) == len(table(tmp_path / "out/agree/edits.csv"))
    assert "4 reads are edits of another and left out of agreement: edits.csv" in summary["notes"]


@pytest.mark.parametrize(
    ("verb", "names"), [("agree", ("agreement", "pairs", "raters")), ("fuse", ("performance", "complexity"))]
)
def test_tables_are_those_of_a_study_without_these_masks(tmp_path, capsys, verb, names):
    one, other = write_chain(tmp_path / "one"), write_chain(tmp_path / "other")
    for case, rater in (("p1", "A"), ("p2", "A"), ("p1", "B"), ("p2", "B")):
        (other / f"masks/{rater}/{case}.png").unlink()
    (other / "study.toml").write_text((other / "study.toml").read_text().replace('reads = "reads.csv"\n', ""))
    for folder in (one, other):
        done(capsys, verb, folder, "--out", folder / "out", "--quiet", "--no-pictures")
    for name in names:
        assert (one / f"out/{verb}/{name}.csv").read_bytes() == (other / f"out/{verb}/{name}.csv").read_bytes()
    assert not (other / "out/agree/edits.csv").exists()


def test_kept_edits_count_and_are_reported_all_the_same(tmp_path, capsys):
    folder = write_chain(tmp_path)
    apart = done(capsys, "agree", folder, "--out", tmp_path / "apart", "--no-pictures")
    kept = done(capsys, "agree", folder, "--out", tmp_path / "kept", "--no-pictures", "--edited", "keep")
    assert "left out of agreement" in unwrapped(apart.out)
    assert "4 reads are edits of another and counted all the same (--edited keep)" in unwrapped(kept.out)
    edits = [(tmp_path / f"{name}/agree/edits.csv").read_bytes() for name in ("apart", "kept")]
    assert edits[0] == edits[1]
    kappas = [
        value(table(tmp_path / f"{name}/agree/agreement.csv"), "fleiss_kappa", "pooled") for name in ("apart", "kept")
    ]
    assert kappas[0] != kappas[1]
    done(capsys, "agree", f"{folder}/masks/{{rater}}/{{case}}.png", "--spacing", "0.5,0.5", "--cases",
         folder / "cases.csv", "--out", tmp_path / "plain", "--quiet", "--no-pictures")  # fmt: skip
    names = ("agreement", "pairs")
    for name in names:
        assert (tmp_path / f"kept/agree/{name}.csv").read_bytes() == (tmp_path / f"plain/agree/{name}.csv").read_bytes()


def test_labels_that_were_changed(tmp_path, capsys):
    two = disc(radius=6) + disc(radius=3)
    for rater in "ABC":
        write_png(tmp_path / f"masks/{rater}/p1.png", np.where(disc(radius=2), 1, two) if rater == "B" else two)
    reads = write_register(tmp_path, {("p1", "B"): "A"}, "ABC", ("p1",))
    done(
        capsys,
        "agree",
        f"{tmp_path}/masks/{{rater}}/{{case}}.png",
        "--reads",
        reads,
        "--out",
        tmp_path / "out",
        "--quiet",
    )
    rows = table(tmp_path / "out/agree/edits.csv")
    who = {"rater": "B", "based_on": "A", "step": "1"}
    inner = float(disc(radius=2).sum())
    assert [value(rows, name, "pooled", **who) for name in ("added", "removed", "changed")] == [0, 0, inner]
    assert value(rows, "edited_volume", "pooled", **who) == inner
    assert value(rows, "edited_share", "pooled", **who) == inner / disc(radius=6).sum()
    assert value(rows, "dice", "pooled", **who) == 1


def test_nothing_to_start_from_has_no_share(tmp_path, capsys):
    template = write_study(tmp_path, "ABCD")
    write_png(tmp_path / "masks/A/p1.png", disc() * 0)
    (tmp_path / "masks/A/p2.png").unlink()
    parents = {("p1", "B"): "A", ("p2", "B"): "A"}
    reads = write_register(tmp_path, parents, "ABCD", ("p1", "p2"), {("p1", "A"): "empty", ("p2", "A"): "unfinished"})
    done(capsys, "agree", template, "--reads", reads, "--out", tmp_path / "out", "--quiet")
    rows = {
        (row["case"], row["statistic"]): row
        for row in table(tmp_path / "out/agree/edits.csv")
        if row["scope"] == "case"
    }
    assert rows["p1", "edited_share"]["reason"] == "what it started from marks nothing"
    assert float(rows["p1", "added"]["value"]) == disc().sum()
    assert {rows["p2", name]["reason"] for name in STATISTICS} == {"what it started from was not kept"}


def test_voxels_have_a_volume(tmp_path, capsys):
    for rater, depth in (("A", 2), ("B", 3), ("C", 2)):
        solid = np.zeros((8, 8, 5), np.uint8)
        solid[2:6, 2:6, :depth] = 1
        write_nifti(tmp_path / f"masks/{rater}/p1.nii", solid, spacing=(0.5, 0.5, 3))
    reads = write_register(tmp_path, {("p1", "B"): "A"}, "ABC", ("p1",))
    template = f"{tmp_path}/masks/{{rater}}/{{case}}.nii"
    text = done(capsys, "agree", template, "--reads", reads, "--out", tmp_path / "out", "--no-pictures").out
    rows = table(tmp_path / "out/agree/edits.csv")
    assert value(rows, "edited_volume", "pooled", rater="B", based_on="A", step="1") == 16 * 0.75
    assert "edited, mm³" in text
    assert "1 read is an edit of another and left out" in unwrapped(text)


@pytest.mark.parametrize("jobs", [1, 2])
def test_anonymous_raters_have_edits_too(tmp_path, capsys, jobs):
    template = write_study(tmp_path, "ABCD")
    reads = write_register(tmp_path, {("p1", "B"): "A"}, "ABCD", ("p1", "p2"))
    done(capsys, "agree", template, "--reads", reads, "--raters", "exchangeable", "--out", tmp_path / "out",
         "--quiet", "--jobs", jobs)  # fmt: skip
    assert value(table(tmp_path / "out/agree/edits.csv"), "dice", "pooled", rater="B", based_on="A", step="1") < 1


# -- other verbs -----------------------------------------------------------------------------------


def test_check_says_status_and_parent_and_why_somebody_does_not_count(tmp_path, capsys):
    template = write_study(tmp_path, "ABCDE")
    (tmp_path / "masks/D/p1.png").unlink()
    (tmp_path / "masks/C/p2.png").unlink()
    statuses = {("p1", "D"): "unread", ("p1", "E"): "unfinished", ("p2", "C"): "empty", ("p2", "A"): "empty"}
    reads = write_register(tmp_path, {("p1", "B"): "A"}, "ABCDE", ("p1", "p2"), statuses)
    write_png(tmp_path / "masks/D/p2.png", disc() * 0)
    text = unwrapped(done(capsys, "check", template, "--reads", reads, "--out", tmp_path / "out").out)
    rows = [r for r in table(tmp_path / "out/check/coverage.csv") if r["statistic"] == "present"]
    found = {(r["case"], r["rater"]): (r["value"], r["status"], r["based_on"]) for r in rows}
    assert found["p1", "A"] == ("1.0", "done", "")
    assert found["p1", "B"] == ("0.0", "done", "A")
    assert found["p1", "D"] == ("0.0", "unread", "")
    assert found["p1", "E"] == ("0.0", "unfinished", "")
    assert found["p2", "C"] == ("1.0", "empty", "")
    for said in (
        "rater B edited the mask of A in case p1",
        "rater D has not read case p1",
        "rater E has not finished case p1",
        "rater A marks something in case p2, but is empty in",
        "rater D marks nothing that is counted in case p2, but is done in",
    ):
        assert said in text
    assert "rater C marks nothing that is counted" not in text


def test_check_lists_every_problem_of_the_register_and_of_edits(tmp_path, capsys):
    template = write_study(tmp_path, "ABCD")
    write_png(tmp_path / "masks/B/p1.png", disc(size=30))
    reads = write_register(
        tmp_path, {("p1", "B"): "A", ("p2", "C"): "D", ("p2", "D"): "C", ("p2", "A"): "Z"}, "ABCD", ("p1", "p2")
    )
    found = run(capsys, "check", template, "--reads", reads, "--out", tmp_path / "out")
    assert found.status == 1
    errors = [r["message"] for r in table(tmp_path / "out/check/problems.csv") if r["severity"] == "error"]
    assert len(errors) == 3
    for said in ("reads are based on each other: C → D → C", "based on 'Z'", "edit of A by B: "):
        assert any(said in one for one in errors), (said, errors)
    stopped = run(capsys, "agree", template, "--reads", reads, "--out", tmp_path / "out")
    assert stopped.status == 1
    assert stopped.line


def test_the_report_says_what_is_left_out_and_keeps_codes(tmp_path, capsys):
    folder = write_chain(tmp_path)
    (folder / "masks/C/p3.png").unlink()
    parents = {(case, rater): parent for case in ("p1", "p2") for rater, parent in (("A", "model"), ("B", "A"))}
    write_register(folder, parents, ("model", *"ABCDE"), statuses={("p3", "C"): "empty"})
    text = unwrapped(done(capsys, "report", folder, "--to", tmp_path / "out").out)
    assert (
        "Four readings started from another rater's mask, and are left out; what was changed is in agree/edits.csv."
        in text
    )
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert page.count("Four readings started from another") == 1
    assert "Edited volume" in page
    assert (tmp_path / "out/report_files/agree/edits.csv").exists()
    assert "masks/B/p1.png" in page
    assert "an empty mask of the size" not in page
    done(capsys, "report", folder, "--to", tmp_path / "coded", "--codes", "--quiet")
    edits = table(tmp_path / "coded/report_files/agree/edits.csv")
    assert edits
    assert not {row["rater"] for row in edits} & {"model", *"ABCDE"}


@pytest.mark.slow
def test_fuse_evaluate_and_reliability_take_the_study_as_it_is(tmp_path, capsys):
    folder = write_chain(tmp_path)
    (folder / "masks/C/p1.png").unlink()
    parents = {("p1", "A"): "model", ("p1", "B"): "A"}
    write_register(folder, parents, ("model", *"ABCDE"), statuses={("p1", "C"): "empty"})
    for case in CASES:
        write_png(folder / f"net/{case}.png", disc())
    predictions = ("--predictions", f"{folder}/{{algorithm}}/{{case}}.png")
    for verb, options in (("fuse", ()), ("evaluate", predictions), ("reliability", ())):
        done(capsys, verb, folder, "--out", tmp_path / "out", "--quiet", *options)
    scores = [
        r
        for r in table(tmp_path / "out/evaluate/scores.csv")
        if r["scope"] == "case" and r["case"] == "p1" and r["statistic"] == "dice"
    ]
    assert {r["against"] for r in scores if r["algorithm"] == "net" and not r["reason"]} >= {"model", "C", "D", "E"}
    assert not [r for r in scores if r["against"] in "AB" and not r["reason"]]
    assert next(r for r in scores if r["against"] == "C" and r["algorithm"] == "net")["value"] == "0.0"


def test_a_case_that_all_left_empty_can_be_fused(tmp_path, capsys):
    template = write_study(tmp_path)
    write_png(tmp_path / "images/p3.jpg", np.zeros((24, 24, 3), np.uint8))
    cases = ("p1", "p2", "p3")
    reads = write_register(tmp_path, {}, "ABC", cases, {("p3", rater): "empty" for rater in "ABC"})
    options = ("--reads", reads, "--images", f"{tmp_path}/images/{{case}}.jpg", "--out", tmp_path / "out")
    for verb in ("check", "agree", "fuse"):
        done(capsys, verb, template, *options, "--quiet")
    assert (tmp_path / "out/fuse/consensus/staple/p3.png").exists()


# -- without a register ----------------------------------------------------------------------------


@pytest.mark.slow
def test_pairs_that_are_nearly_the_same_are_flagged_and_the_way_to_say_so_is_named(tmp_path, capsys):
    template = write_study(tmp_path, "ABCD", CASES)
    for case in CASES:
        copy = disc(radius=8)
        write_png(tmp_path / f"masks/A/{case}.png", copy)
        copy[12, 12] = 0
        write_png(tmp_path / f"masks/B/{case}.png", copy)
    text = unwrapped(done(capsys, "agree", template, "--out", tmp_path / "out").out)
    told = "Raters A and B gave the same label to 99.5% of the pixels where either of them gave another label than the "
    told += "most frequent one (background): is one a copy or an edit? If so, say it under based_on in reads.csv"
    assert told in text
    claims = [row for row in table(tmp_path / "out/agree/claims.csv") if row["claim"] == "raters.copies"]
    assert [(row["about"], row["made"]) for row in claims] == [("A and B", "yes")]
    assert value(table(tmp_path / "out/agree/raters.csv"), "possible_copies", "pooled", rater="") == 1
    report = unwrapped(done(capsys, "report", template, "--to", tmp_path / "out").out)
    page = (tmp_path / "out/report.html").read_text(encoding="utf-8")
    assert "based_on in reads.csv" in page, report
    reads = write_register(tmp_path, {(case, "B"): "A" for case in CASES}, "ABCD")
    told = unwrapped(done(capsys, "agree", template, "--reads", reads, "--out", tmp_path / "out").out)
    assert "is one a copy or an edit?" not in told
    kept = unwrapped(
        done(capsys, "agree", template, "--reads", reads, "--edited", "keep", "--out", tmp_path / "out").out
    )
    assert "is one a copy or an edit?" not in kept

"""Every table says which of its numbers come of a resampled mask, and a note what was moved exactly."""

import csv
import json

import numpy as np
import pytest

from study_folders import command, files, run, table, volume, write_nifti

CASES, SPACING = ("p1", "p2", "p3", "p4"), (0.7, 0.8, 2.0)
RATERS = {"A": 0, "B": 1, "C": 2, "D": 3}
SORTED = {"p1": ("s1", "left"), "p2": ("s2", "right"), "p3": ("s2", "left"), "p4": ("s2", "left")}
"""Subject and side of each case; rater B's mask of p2 is the one that is resampled."""


def two_labels(x, y):
    return volume(x=x, y=y) + volume(x=x - 3, y=y, radius=3)


def seen_by(rater, case):
    return two_labels(RATERS[rater], CASES.index(case))


def study_of(folder, off):
    """Two labels, images, predictions, grey ones, grades, and reads of which D's are edits of A's."""
    rng = np.random.default_rng(3)
    for y, case in enumerate(CASES):
        for rater in RATERS:
            there = off if (rater, case) == ("B", "p2") else 0
            write_nifti(folder / "masks" / rater / f"{case}.nii.gz", seen_by(rater, case), SPACING, there)
        image = rng.normal(size=(24, 24, 5)).astype(np.float32)
        write_nifti(folder / "images" / f"{case}.nii.gz", image, SPACING)
        # both mark a corner that no rater did
        for name, x in (("net", 0), ("tree", 2)):
            marked = two_labels(x, y)
            marked[:4, :4] = 1
            write_nifti(folder / "nets" / name / f"{case}.nii.gz", marked, SPACING)
            grey = np.clip((marked > 0) * 0.6 + 0.2 * rng.random((24, 24, 5)), 0, 1).astype(np.float32)
            write_nifti(folder / "grey" / name / f"{case}.nii.gz", grey, SPACING)
    sheets = {
        "cases.csv": [("case", "subject", "site"), *((case, *told) for case, told in SORTED.items())],
        "reads.csv": [
            ("case", "rater", "status", "based_on"),
            *((c, r, "done", "A" * (r == "D")) for c in CASES for r in RATERS),
        ],
        "grades.csv": [
            ("case", "algorithm", "grade"),
            *((c, a, 2 + (a == "net") + (i > 1)) for i, c in enumerate(CASES) for a in ("net", "tree")),
        ],
    }
    for name, rows in sheets.items():
        with open(folder / name, "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream).writerows(rows)
    (folder / "study.toml").write_text(
        'masks = "masks/{rater}/{case}.nii.gz"\nimages = "images/{case}.nii.gz"\ncases = "cases.csv"\n'
        'reads = "reads.csv"\nresample = "nearest"\nlabels = { 1 = "gland", 2 = "tumour" }\n'
    )
    return folder / "study.toml"


FEW = ("--resamples", 20)
CALLS = {
    "agree": ("agree", ()),
    "fuse": ("fuse", ()),
    "evaluate": ("evaluate", ("--predictions", "nets", "--intensity-curves", "--grades", "grades.csv")),
    "grey": (
        "evaluate",
        (
            "--predictions",
            "grey",
            "--probability",
            "--foreground",
            "any",
            "--threshold",
            0.5,
            "--skew",
            "0.1,0.5",
        ),
    ),
    "reliability": ("reliability", ()),
    "report": ("report", ("--predictions", "nets", *FEW)),
    "plan": ("plan", FEW),
}
WRITTEN = {
    "agree": {"agreement", "curve", "pairs", "raters", "confusions", "regions", "features", "edits"},
    "fuse": {"performance", "differences", "complexity", "convergence"},
    "evaluate": {
        "scores", "rankings", "human", "beside_raters", "interchangeability", "differences", "second_look", "frames",
        "grading", "grading_roc", "grades", "cases", "by_truth", "orders",
    },
    "grey": {
        "scores", "rankings", "human", "beside_raters", "interchangeability", "differences", "curves", "correlations",
        "cases", "by_truth", "orders",
    },
    "reliability": {"mask_reliability", "detection", "lesions"},
    "report": {"agreement", "convergence", "by_truth", "rankings", "pairs", "tau", "plan"},
    "plan": {"plan"},
}  # fmt: skip


def told(folder, capsys, call):
    """The tables of a call, by folder and name."""
    verb, options = CALLS[call]
    given = [f"{folder}/{o}/{{algorithm}}/{{case}}.nii.gz" if o in ("nets", "grey") else o for o in options]
    given = [folder / o if o == "grades.csv" else o for o in given]
    out = folder / "out" / call
    where = ("--to", out / "page.html") if verb == "report" else ("--out", out)
    study = ("--pilot", folder / "study.toml") if verb == "plan" else (folder / "study.toml", "--jobs", 1)
    done = run(capsys, verb, *study, *given, *where)
    assert (done.status, done.err) == (0, "")
    return [path for path in files(out) if path.suffix == ".csv"]


def depends(row):
    """Whether a row rests on case p2: itself, its subject, the right side, or all cases together."""
    if row.get("scope") == "subject":
        return row["case"] == "s2"
    if row.get("case"):
        return row["case"] == "p2"
    return row.get("group", "") != "left"


@pytest.mark.slow
@pytest.mark.parametrize("call", CALLS)
def test_every_table_is_marked_where_a_mask_was_resampled_and_nowhere_else(tmp_path, capsys, call):
    study_of(tmp_path / "off", 0.3 * SPACING[0])
    study_of(tmp_path / "on", 0)
    marked, plain = told(tmp_path / "off", capsys, call), told(tmp_path / "on", capsys, call)
    assert {path.stem for path in marked} >= WRITTEN[call]
    assert [path.name for path in marked] == [path.name for path in plain]
    for path in marked:
        rows = table(path) if path.stem != "claims" else []
        assert rows or path.stem == "claims", path
        for row in rows:
            found = row["resampled"] == "yes" if "resampled" in row else row["region"].endswith("(resampled)")
            assert found == depends(row), (path, row)
    for path in (path for path in plain if path.stem != "claims"):
        assert "resampled" not in path.read_text(encoding="utf-8").replace("resampled_rank", ""), path


@pytest.mark.slow
def test_a_ranking_of_marked_scores_is_marked(tmp_path, capsys):
    for name, off in (("off", 0.2), ("on", 0.0)):
        study_of(tmp_path / name, off)
        told(tmp_path / name, capsys, "evaluate")
        scores, out = tmp_path / name / "out/evaluate/evaluate/scores.csv", tmp_path / name / "ranked"
        done = run(capsys, "rank", scores, "--out", out, "--metric", "dice", *FEW)
        assert (done.status, done.err) == (0, "")
        wanted = {"(resampled)"} if off else {""}
        for each in ("rankings", "pairs", "tau"):
            assert {row["region"] for row in table(out / "rank" / f"{each}.csv")} == wanted
        notes = json.loads((out / "rank/leaderboard.json").read_text())["notes"]
        assert any("for 1 of 4 cases masks were resampled (p2)" in note for note in notes) == bool(off)


def test_check_and_export_mark_what_they_count(tmp_path, capsys):
    for name, off in (("off", 0.2), ("on", 0.0)):
        study = study_of(tmp_path / name, off)
        out = tmp_path / name / "out"
        assert run(capsys, "check", study, "--out", out, "--jobs", 1).status == 0
        assert run(capsys, "export", "nnunet", study, "--to", out, "--jobs", 1).status == 0
        rows = table(out / "check/coverage.csv")
        found = {(r["case"], r["rater"], r["statistic"]) for r in rows if r["region"]}
        assert found == ({("p2", "B", "marked")} if off else set())
        (cases,) = [path for path in files(out) if path.name == "cases.csv"]
        assert [row.get("resampled") for row in table(cases)] == (["", "yes", "", ""] if off else [None] * 4)


def flipped(path, array):
    """The first axis backwards."""
    import nibabel

    affine = np.diag([-SPACING[0], *SPACING[1:], 1.0])
    affine[0, 3] = SPACING[0] * (len(array) - 1)
    nibabel.save(nibabel.Nifti1Image(np.ascontiguousarray(array[::-1]), affine), path)


def saved_otherwise(folder):
    """B flipped for two cases, C cropped for all, A off by half of what is accepted for one; a prediction cropped."""
    study = study_of(folder, 0)
    for case in CASES:
        masks = folder / "masks"
        write_nifti(masks / f"C/{case}.nii.gz", seen_by("C", case)[2:], SPACING, 2 * SPACING[0])
        if case in ("p1", "p2"):
            flipped(masks / f"B/{case}.nii.gz", seen_by("B", case))
    write_nifti(folder / "masks/A/p3.nii.gz", seen_by("A", "p3"), SPACING, 0.0005 * SPACING[0])
    write_nifti(folder / "nets/net/p1.nii.gz", two_labels(0, 0)[3:], SPACING, 3 * SPACING[0])
    return study


EXACT = (
    "2 reoriented, {} padded with 0, 1 less than 0.1% of a voxel off and taken as they are; every value is as it was"
)


@pytest.mark.parametrize("verb", ["agree", "fuse", "evaluate", "reliability"])
def test_what_was_moved_exactly_is_noted(tmp_path, capsys, verb):
    study = saved_otherwise(tmp_path)
    options = ["--out", tmp_path / "out", "--jobs", 1]
    if verb == "evaluate":
        options += ["--predictions", f"{tmp_path}/nets/{{algorithm}}/{{case}}.nii.gz"]
    done = run(capsys, verb, study, *options)
    assert (done.status, done.err) == (0, "")
    # the prediction is counted where it is judged
    note = (
        f"files on other grids: {EXACT.format(5)}" if verb == "evaluate" else f"masks on other grids: {EXACT.format(4)}"
    )
    assert note in " ".join(done.out.split())
    notes = json.loads((tmp_path / f"out/{verb}/summary.json").read_text())["notes"]
    assert [n for n in notes if "other grids" in n] == [f"{note} (check lists them in grids.csv)"]
    assert not [path for path in files(tmp_path / "out") if path.suffix == ".csv" and "resampled" in path.read_text()]


def test_nothing_is_noted_where_nothing_was_moved(tmp_path, capsys):
    study = study_of(tmp_path, 0)
    done = run(capsys, "agree", study, "--out", tmp_path / "out", "--jobs", 1)
    assert "other grids" not in done.out
    assert "other grids" not in (tmp_path / "out/agree/summary.json").read_text()


@pytest.mark.slow
def test_the_report_tells_it_once(tmp_path):
    study = saved_otherwise(tmp_path)
    (tmp_path / "nets/net/p1.nii.gz").unlink()
    write_nifti(tmp_path / "nets/net/p1.nii.gz", two_labels(0, 0), SPACING)
    given = ("--predictions", f"{tmp_path}/nets/{{algorithm}}/{{case}}.nii.gz", "--jobs", 1, *FEW)
    assert command("report", study, *given, "--to", tmp_path / "page.html").status == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert page.count("asks on other grids") == 1
    assert f"Masks on other grids: {EXACT.format(4)}" in page

"""Studies whose files lie on other grids: what is counted, what is written where, and what is said about it."""

import json
import re

import nibabel
import nrrd
import numpy as np
import pytest

import manytruths as mt
from manytruths.io import Location
from manytruths.io.images import _LPS
from manytruths.study import grids
from study_folders import files, run, table, volume, write_png

AFFINE = np.diag([0.7, 0.8, 2.0, 1.0])
AFFINE[:3, 3] = [-10, 5, 3]


def shifted(*by):
    change = np.eye(4)
    change[:3, 3] = by
    return AFFINE @ change


def flipped(array, affine=AFFINE):
    """The first axis backwards: LPS where RAS was."""
    change = np.diag([-1.0, 1, 1, 1])
    change[0, 3] = array.shape[0] - 1
    return np.ascontiguousarray(array[::-1]), affine @ change


def turned(array):
    """Axes 1 and 2 exchanged, the last one backwards."""
    change = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, -1, array.shape[2] - 1], [0, 0, 0, 1.0]])
    return np.ascontiguousarray(array.transpose(1, 0, 2)[:, :, ::-1]), AFFINE @ change


def nifti(path, array, affine=AFFINE, *, codes=True):
    path.parent.mkdir(parents=True, exist_ok=True)
    image = nibabel.Nifti1Image(array, affine)
    if not codes:
        image.set_sform(None, 0)
        image.set_qform(None, 0)
        image.header.set_zooms([0.7, 0.8, 2.0])
    nibabel.save(image, path)


def seen_by(rater, case):
    return volume(x="ABC".index(rater), y=int(case[1]))


def alike(folder, raters="ABC", cases=("p1", "p2")):
    for rater in raters:
        for case in cases:
            nifti(folder / "masks" / rater / f"{case}.nii.gz", seen_by(rater, case))
    return f"{folder}/masks/{{rater}}/{{case}}.nii.gz"


def images(folder, cases=("p1", "p2"), affine=AFFINE, shape=(24, 24, 5)):
    for number, case in enumerate(cases):
        image = np.random.default_rng(number).normal(size=shape).astype(np.float32)
        nifti(folder / "images" / f"{case}.nii.gz", image, affine)
    return f"{folder}/images/{{case}}.nii.gz"


def otherwise(folder):
    """The same study, saved otherwise: B flipped, or turned; C cropped."""
    template = alike(folder)
    nifti(folder / "masks/B/p1.nii.gz", *flipped(seen_by("B", "p1")))
    nifti(folder / "masks/B/p2.nii.gz", *turned(seen_by("B", "p2")))
    nifti(folder / "masks/C/p1.nii.gz", seen_by("C", "p1")[2:, 3:-1], shifted(2, 3, 0))
    return template


def test_masks_saved_otherwise_give_the_same_tables(tmp_path):
    plain, other = mt.Study.open(alike(tmp_path / "plain")), mt.Study.open(otherwise(tmp_path / "other"))
    assert other.tally() == plain.tally()
    reading = other["p1"].read()
    assert {str(c): done.how for c, done in reading.aligned.items()} == {"B": "reoriented", "C": "padded"}
    for column, mask in plain["p1"].read().masks.items():
        np.testing.assert_array_equal(reading.masks[column], mask)
    assert plain["p1"].read().aligned == {}


@pytest.mark.parametrize("verb", ["agree", "fuse"])
def test_the_command_line_writes_the_same(tmp_path, capsys, verb):
    for name, write in (("plain", alike), ("other", otherwise)):
        out = ("--out", tmp_path / "out" / name, "--jobs", 1)
        done = run(capsys, verb, write(tmp_path / name), "--images", images(tmp_path / name), *out)
        assert (done.status, done.err) == (0, "")
    plain, other = tmp_path / "out/plain", tmp_path / "out/other"
    written = [p.relative_to(plain) for p in files(plain) if "cases" not in p.parts]  # those bear times
    assert written == [p.relative_to(other) for p in files(other) if "cases" not in p.parts]
    assert len(written) > 8
    for path in written:
        if path.name != "summary.json":
            assert (plain / path).read_bytes() == (other / path).read_bytes(), path
    ours, theirs = (json.loads(next(home.rglob("summary.json")).read_text()) for home in (plain, other))
    moved = [note for note in theirs.pop("notes") if note not in ours["notes"]]
    assert [note.partition(";")[0] for note in moved] == ["masks on other grids: 2 reoriented, 1 padded with 0"]
    del ours["notes"]
    assert ours == theirs


def test_maps_lie_on_the_image(tmp_path, capsys):
    """Also where the first rater's mask is cropped, and turned."""
    template = alike(tmp_path)
    for case in ("p1", "p2"):
        nifti(tmp_path / "masks/A" / f"{case}.nii.gz", *flipped(seen_by("A", case)[1:-2], shifted(1, 0, 0)))
    place = images(tmp_path)
    done = run(
        capsys, "fuse", template, "--images", place, "--out", tmp_path / "out", "--jobs", 1, "--consensus", "vote:0.5"
    )
    assert (done.status, done.err) == (0, "")
    image = nibabel.load(tmp_path / "images/p1.nii.gz")
    for kind in ("consensus", "probability"):
        found = nibabel.load(tmp_path / f"out/fuse/{kind}/vote-0.5/p1.nii.gz")
        np.testing.assert_array_equal(found.affine, image.affine)
        assert found.shape == image.shape
    votes = sum(seen_by(r, "p1").astype(int) for r in "ABC")
    hard = np.asarray(nibabel.load(tmp_path / "out/fuse/consensus/vote-0.5/p1.nii.gz").dataobj)
    np.testing.assert_array_equal(hard, votes >= 2)
    run(capsys, "agree", template, "--images", place, "--out", tmp_path / "out", "--jobs", 1)
    from PIL import Image

    with Image.open(tmp_path / "out/agree/heatmaps/p1.tif") as pages:
        heat = np.stack([np.asarray(pages) for n in range(pages.n_frames) if pages.seek(n) is None])
    np.testing.assert_array_equal(heat, votes)


def test_two_cropped_masks_are_counted_in_the_box_around_both(tmp_path):
    full = {r: seen_by(r, "p1") for r in "AB"}
    nifti(tmp_path / "A/p1.nii.gz", full["A"][5:20, 4:], shifted(5, 4, 0))
    nifti(tmp_path / "B/p1.nii.gz", *flipped(full["B"][3:19, 6:22], shifted(3, 6, 0)))
    reading = mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}.nii.gz")["p1"].read()
    assert reading.grid.shape == (17, 20, 5)
    np.testing.assert_allclose(np.array(reading.grid.affine), shifted(3, 4, 0), atol=1e-5)
    for column, mask in reading.masks.items():
        np.testing.assert_array_equal(mask, full[str(column)][3:20, 4:])
    assert reading.aligned[mt.Column("A")].detail.startswith("padded by 2+0 × 0+0 × 0+0")


def test_nrrd_beside_nifti(tmp_path):
    """Left-posterior-superior against right-anterior-superior."""
    a, b = seen_by("A", "p1"), seen_by("B", "p1")
    nifti(tmp_path / "A/p1.nii", a)
    lps = _LPS @ AFFINE
    header = {"space": "left-posterior-superior", "space directions": lps[:3, :3].T, "space origin": lps[:3, 3]}
    (tmp_path / "B").mkdir()
    nrrd.write(str(tmp_path / "B/p1.nrrd"), b, header)
    study = mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}.*")
    unit = study["p1"].read().grid.item_size
    assert study["p1"].tally() == mt.tally({"A": a, "B": b}, unit=unit)
    assert study["p1"].read().aligned[mt.Column("B")].how == "jitter"  # NIfTI rounds to 32 bits
    del header["space"]
    header["space dimension"] = 3
    nrrd.write(str(tmp_path / "B/p1.nrrd"), b, header)
    with pytest.raises(mt.GridError, match=r"rater B: the mask has .*unlike rater A's; resample one of them, or list"):
        study.tally()


def test_what_only_guesses_is_refused(tmp_path):
    nifti(tmp_path / "A/p1.nii", volume())
    nifti(tmp_path / "B/p1.nii", volume(), codes=False)
    study = mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}.nii", resample="nearest")
    with pytest.raises(mt.GridError, match="rater B: the mask has affine") as told:
        study.tally()
    assert "--resample" not in str(told.value)


def test_a_mask_larger_than_the_image(tmp_path):
    template, place = alike(tmp_path, cases=("p1",)), images(tmp_path, ("p1",))
    larger = np.pad(seen_by("B", "p1"), 3)
    nifti(tmp_path / "masks/B/p1.nii.gz", larger, shifted(-3, -3, -3))
    study = mt.Study.open(template, images=place)
    np.testing.assert_array_equal(study["p1"].read().masks[mt.Column("B")], seen_by("B", "p1"))
    assert study["p1"].read().aligned[mt.Column("B")].how == "cropped"
    assert mt.Study.open(template)["p1"].read().grid.shape == larger.shape
    larger[0, 0, :2] = 1
    nifti(tmp_path / "masks/B/p1.nii.gz", larger, shifted(-3, -3, -3))
    marked = np.count_nonzero(larger)
    said = (
        f"case p1, rater B: the mask has 2 of {marked} voxels that are not 0 outside of the wanted grid (the image's)"
    )
    with pytest.raises(mt.GridError, match=re.escape(said)):
        study["p1"].read()


def test_an_image_on_another_lattice_keeps_nobody_from_counting(tmp_path, capsys):
    template, place = alike(tmp_path), images(tmp_path, affine=np.diag([1.4, 1.6, 2, 1]), shape=(12, 12, 5))
    study = mt.Study.open(template, images=place)
    assert study.tally() == mt.Study.open(template).tally()
    done = run(capsys, "check", template, "--images", place, "--out", tmp_path / "out", "--jobs", 1)
    assert done.status == 0
    told = [row for row in table(tmp_path / "out/check/problems.csv") if row["kind"] == "image"]
    assert [row["severity"] for row in told] == ["warning"] * 2
    assert "spacing 1.4×1.6×2 mm instead of 0.69999999×0.80000001×2 mm, unlike the masks" in told[0]["message"]
    on_image = mt.Study.open(template, images=place, resample="nearest")["p1"].read()
    assert on_image.grid.shape == (12, 12, 5)
    assert {done.how for done in on_image.aligned.values()} == {"resampled"}


def beside(folder):
    """Everything that may lie beside masks, each saved in another way."""
    template = alike(folder, cases=("p1",))
    nifti(folder / "roi/p1.nii", *flipped(np.ones((24, 24, 5), np.uint8)))
    nifti(folder / "known/p1.nii", *turned(seen_by("A", "p1")))
    nifti(folder / "net/p1.nii", seen_by("B", "p1")[:, 2:], shifted(0, 2, 0))
    nifti(folder / "grey/p1.nii", *flipped(seen_by("B", "p1").astype(np.float32) / 2))
    nifti(folder / "ranks/A/p1.nii", *turned(seen_by("A", "p1") * 3))
    nifti(folder / "seen/p1.nii", *flipped(volume(radius=2)))
    more = {k: f"{folder}/{v}/{{case}}.nii" for k, v in (("roi", "roi"), ("reference", "known"), ("training", "seen"))}
    return template, more | {"ranks": f"{folder}/ranks/{{rater}}/{{case}}.nii"}


def test_what_lies_beside_the_masks_is_aligned_too(tmp_path, capsys):
    template, more = beside(tmp_path)
    case = mt.Study.open(template, predictions=f"{tmp_path}/net/{{case}}.nii", **more)["p1"]
    grid = case.read().grid
    (judged,), (given,) = case.predictions, case.references
    np.testing.assert_array_equal(case.prediction(judged, grid), seen_by("B", "p1"))
    np.testing.assert_array_equal(case.reference(given, grid), seen_by("A", "p1"))
    np.testing.assert_array_equal(case.rank_map(mt.Column("A"), grid), seen_by("A", "p1") * 3)
    np.testing.assert_array_equal(case.training_area(judged, grid), volume(radius=2) != 0)
    assert case.region(grid).all()
    grey = mt.Study.open(template, predictions=f"{tmp_path}/grey/{{case}}.nii", probability=True)["p1"]
    np.testing.assert_array_equal(grey.response(*grey.predictions, grid), seen_by("B", "p1") / np.float32(2))
    options = [part for name, value in more.items() if name != "training" for part in (f"--{name}", value)]
    options += ["--training", more["training"], "--predictions", f"{tmp_path}/net/{{case}}.nii"]
    done = run(capsys, "check", template, *options, "--out", tmp_path / "out", "--jobs", 1)
    assert (done.status, done.err) == (0, "")
    rows = [(r["what"], r["rater"], r["how"]) for r in table(tmp_path / "out/check/grids.csv")]
    assert rows == [
        ("ranks", "A", "reoriented"), ("roi", "", "reoriented"), ("prediction", "prediction", "padded"),
        ("reference", "reference", "reoriented"), ("training", "prediction", "reoriented"),
    ]  # fmt: skip
    assert "files on other grids: 4 reoriented, 1 padded (grids.csv)" in done.out


def test_grey_predictions_are_padded_only_where_0_is_the_least(tmp_path):
    template = alike(tmp_path, cases=("p1",))
    for name, low in (("chance", 0.0), ("distance", -1.0)):
        values = np.full((24, 22, 5), 0.25, np.float32)
        values[0, 0, 0] = low
        nifti(tmp_path / name / "p1.nii", values, shifted(0, 2, 0))
    chance, distance = (
        mt.Study.open(template, predictions=f"{tmp_path}/{name}/{{case}}.nii", probability=True)["p1"]
        for name in ("chance", "distance")
    )
    grid = chance.read().grid
    assert not chance.response(*chance.predictions, grid)[:, :2].any()
    with pytest.raises(mt.GridError, match="values below 0; write it for the whole image"):
        distance.response(*distance.predictions, grid)


def test_structures_in_cropped_files_of_their_own(tmp_path):
    """As Slicer saves segments: each in a box of its own."""
    large, small = volume(), volume(radius=3)
    nifti(tmp_path / "A/p1/gland.nii", large[4:20], shifted(4, 0, 0))
    nifti(tmp_path / "A/p1/tumour.nii", *flipped(small[8:16, 8:16], shifted(8, 8, 0)))
    for label, whole in (("gland", large), ("tumour", small)):
        nifti(tmp_path / "B/p1" / f"{label}.nii", whole)
    study = mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}/{{label}}.nii")
    cut = large + small
    named = {1: "gland", 2: "tumour"}
    unit = study["p1"].read().grid.item_size
    assert study["p1"].tally() == mt.tally({"A": cut, "B": cut}, labels=named, unit=unit)
    done = study["p1"].read().aligned[mt.Column("A")]
    assert done.how == "reoriented"
    assert done.detail.startswith("gland: padded by")
    assert study["p1"].mask(mt.Column("A")).grid.shape == (16, 24, 5)


def off(folder):
    """Rater B's mask of p2 a third of a voxel off."""
    template = alike(folder, cases=("p1", "p2", "p3"))
    nifti(folder / "masks/B/p2.nii.gz", seen_by("B", "p2"), shifted(0.3, 0, 0))
    return template


def test_another_lattice_is_refused_with_an_offer(tmp_path, capsys):
    template = off(tmp_path)
    for verb in ("agree", "fuse", "check"):
        done = run(capsys, verb, template, "--out", tmp_path / "out", "--jobs", 1)
        assert done.status == 1
    (row,) = table(tmp_path / "out/check/problems.csv")
    assert (row["severity"], row["kind"], row["case"], row["rater"]) == ("error", "grid", "p2", "B")
    assert "resample one of them (--resample nearest does it), or list p2 under [exclude]" in row["message"]


def test_check_tells_of_what_is_resampled(tmp_path, capsys):
    options = ("--resample", "nearest", "--out", tmp_path / "out", "--jobs", 1)
    done = run(capsys, "check", off(tmp_path), *options)
    assert (done.status, done.err) == (0, "")
    (problem,), (moved,) = (table(tmp_path / f"out/check/{name}.csv") for name in ("problems", "grids"))
    assert (problem["severity"], problem["kind"], problem["case"], problem["rater"]) == ("warning", "grid", "p2", "B")
    assert (moved["case"], moved["what"], moved["rater"], moved["how"]) == ("p2", "mask", "B", "resampled")
    assert "files on other grids: 1 resampled" in done.out
    assert json.loads((tmp_path / "out/check/summary.json").read_text())["grids"] == {"resampled": 1}


def grouped(folder):
    (folder / "cases.csv").write_text("case,subject,site\np1,s1,left\np2,s2,right\np3,s2,left\n")
    return ("--cases", folder / "cases.csv")


TABLES = {
    "agree": ["agreement", "curve", "pairs", "raters", "regions"],
    "fuse": ["performance", "differences", "complexity"],
    "evaluate": ["scores", "rankings", "human", "beside_raters", "interchangeability"],
    "reliability": ["mask_reliability", "detection", "lesions"],
}


@pytest.mark.parametrize("verb", TABLES)
def test_every_table_says_what_was_resampled(tmp_path, capsys, verb):
    options = ["--resample", "nearest", "--out", tmp_path / "out", "--jobs", 1]
    if verb == "evaluate":
        for case in ("p1", "p2", "p3"):
            for name, rater in (("net", "C"), ("tree", "A")):
                nifti(tmp_path / name / f"{case}.nii.gz", seen_by(rater, case))
        options += ["--predictions", f"{tmp_path}/{{algorithm}}/{{case}}.nii.gz"]
    done = run(capsys, verb, off(tmp_path), *grouped(tmp_path), *options)
    assert (done.status, done.err) == (0, "")
    assert "resampled by nearest neighbour" in " ".join(done.out.split())
    told = json.loads((tmp_path / f"out/{verb}/summary.json").read_text())
    assert any("resampled by nearest neighbour" in note for note in told["notes"])
    for name in TABLES[verb]:
        rows = table(tmp_path / f"out/{verb}/{name}.csv")
        assert rows
        for row in rows:
            # p2 is that of the right side, and of the second subject
            whole = row["case"] in ("", "p2", "s2") and row["group"] != "left"
            assert row["region"].endswith(" (resampled)") == whole, row
        assert [r["region"] for r in rows] == [r["region"] for r in told["tables"][name]]


def test_predictions_that_are_resampled_mark_evaluations_alone(tmp_path, capsys):
    template = alike(tmp_path)
    for case, by in (("p1", 0), ("p2", 0.3)):
        nifti(tmp_path / "net" / f"{case}.nii.gz", seen_by("C", case), shifted(by, 0, 0))
        nifti(tmp_path / "tree" / f"{case}.nii.gz", seen_by("A", case))
    study, predictions = tmp_path / "study.toml", f"{tmp_path}/{{algorithm}}/{{case}}.nii.gz"
    study.write_text(f"masks = '{template}'\npredictions = '{predictions}'\nresample = 'nearest'\n")
    for command in ("evaluate", "agree"):
        assert run(capsys, command, study, "--out", tmp_path / "out", "--jobs", 1).status == 0
    rows = table(tmp_path / "out/evaluate/scores.csv")
    assert {r["case"] for r in rows if r["region"] == "whole"} == {"p1"}
    assert {r["case"] for r in rows if r["region"] == "whole (resampled)"} == {"", "p2"}
    assert {r["region"] for r in table(tmp_path / "out/agree/agreement.csv")} == {"whole", "modified_background"}
    done = run(capsys, "rank", tmp_path / "out/evaluate/scores.csv", "--out", tmp_path / "out", "--metric", "dice")
    assert done.status == 0
    assert {r["metric"] for r in table(tmp_path / "out/rank/rankings.csv")} <= {"", "dice"}  # not one a region


def test_exact_alignment_is_not_marked(tmp_path, capsys):
    options = ("--resample", "nearest", "--out", tmp_path / "out", "--jobs", 1)
    done = run(capsys, "agree", otherwise(tmp_path), *options)
    assert done.status == 0
    assert "resampled by" not in done.out
    assert {row["region"] for row in table(tmp_path / "out/agree/agreement.csv")} == {"whole", "modified_background"}


def test_the_report_says_so(tmp_path):
    mt.report(mt.Study.open(off(tmp_path), resample="nearest"), to=tmp_path / "report.html")
    assert "resampled by nearest neighbour" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_no_header_is_looked_at_twice_where_none_says_where_it_lies(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(grids, "probe", lambda place: asked.append(place) or mt.io.probe(place))
    for rater in "AB":
        write_png(tmp_path / rater / "p1.png", volume()[:, :, 0])
    nifti(tmp_path / "images/p1.nii", volume())
    mt.Study.open(f"{tmp_path}/{{rater}}/{{case}}.png", images=f"{tmp_path}/images/{{case}}.nii").tally()
    assert asked == []
    assert grids.find_target(mt.Study.open(alike(tmp_path))["p1"]) is not None
    assert {type(place) for place in asked} == {Location}
    assert len(asked) == 3


def test_masks_too_far_apart(tmp_path, capsys):
    nifti(tmp_path / "A/p1.nii", volume())
    nifti(tmp_path / "B/p1.nii", volume(), shifted(20000, 20000, 20000))
    template = f"{tmp_path}/{{rater}}/{{case}}.nii"
    said = run(capsys, "agree", template, "--out", tmp_path / "out", "--jobs", 1)
    assert said.status == 1
    assert "case p1: the masks lie so far apart" in said.line
    assert run(capsys, "check", template, "--out", tmp_path / "out", "--jobs", 1).status == 1


def test_an_export_says_so_and_lies_on_the_image(tmp_path, capsys):
    template, place = off(tmp_path), images(tmp_path, ("p1", "p2", "p3"))
    options = ("--images", place, "--resample", "nearest", "--to", tmp_path / "out", "--jobs", 1)
    done = run(capsys, "export", "nnunet", template, *options)
    assert (done.status, done.err) == (0, "")
    assert "masks of p2 were resampled by nearest neighbour" in " ".join(done.out.split())
    (labels, *_) = [p for p in files(tmp_path / "out") if p.parent.name == "labelsTr"]
    np.testing.assert_array_equal(nibabel.load(labels).affine, nibabel.load(tmp_path / "images/p1.nii.gz").affine)

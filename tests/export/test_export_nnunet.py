"""Data sets for nnU-Net: what is in every file, in every mode."""

from __future__ import annotations

import numpy as np
import pytest
from export_studies import (
    SHAPE,
    alpha,
    colour,
    random_masks,
    read_json,
    template,
    to_nnunet,
    write_case,
    write_cases,
    write_volumes,
)

import manytruths as mt
from study_folders import disc, files, pixels, run, table, write_npy, write_nrrd, write_png


def naive_settled(masks, ignore):
    """Pixel by pixel: what all say, or the number to ignore."""
    out = np.empty(SHAPE, int)
    for at in np.ndindex(*SHAPE):
        said = {int(mask[at]) for mask in masks.values()}
        out[at] = said.pop() if len(said) == 1 else ignore
    return out


@pytest.mark.parametrize("labels", [2, 4])
def test_disputed_pixels_are_ignored(labels, capsys, tmp_path):
    study = write_cases(tmp_path, labels=labels)
    out = to_nnunet(capsys, tmp_path, "--disputed", "ignore")
    for case, masks in study.items():
        expected = naive_settled(masks, labels)
        assert 0 < (expected == labels).sum() < expected.size
        assert (pixels(out / f"labelsTr/{case}.png") == expected).all()
        assert (pixels(out / f"imagesTr/{case}_0000.png") == pixels(tmp_path / f"images/{case}.png")).all()
    made = read_json(out / "dataset.json")
    assert made["labels"] == {"background": 0} | {str(n): n for n in range(1, labels)} | {"ignore": labels}
    assert (made["numTraining"], made["file_ending"], made["channel_names"]) == (4, ".png", {"0": "image"})
    shares = {row["case"]: float(row["disputed"]) for row in table(out / "cases.csv")}
    assert shares == {case: (naive_settled(masks, 9) == 9).mean() for case, masks in study.items()}


@pytest.mark.parametrize("method", ["staple", "vote:0.5", "simple", "lsml", "excl:0.5"])
def test_the_reference_is_that_of_fuse(method, capsys, tmp_path):
    for n, x in enumerate((0, 2, 4), start=1):
        write_case(tmp_path, f"p{n}", {"A": disc(x=x), "B": disc(x=x + 1, radius=8), "C": disc(x=x + 2)})
    out = to_nnunet(capsys, tmp_path, "--consensus", method)
    line = [
        "fuse",
        template(tmp_path)[0],
        "--consensus",
        method,
        "--out",
        tmp_path / "out",
        "--no-pictures",
        "--jobs",
        1,
    ]
    assert run(capsys, *line).status == 0
    for path in files(out / "labelsTr"):
        fused = pixels(tmp_path / "out/fuse/consensus" / method.replace(":", "-") / path.name)
        assert fused.any()
        assert (pixels(path) == fused).all()
    assert "ignore" not in read_json(out / "dataset.json")["labels"]


@pytest.mark.parametrize("method", ["staple", "plurality"])
def test_the_reference_of_several_labels_is_that_of_fuse(method, capsys, tmp_path):
    for case in ("p1", "p2"):
        masks = random_masks(int(case[1]), labels=3)
        write_case(tmp_path, case, {rater: np.array([0, 50, 200], np.uint8)[mask] for rater, mask in masks.items()})
    out = to_nnunet(capsys, tmp_path, "--consensus", method, "--labels", "50=gland,200=tumour")
    line = [
        "fuse",
        template(tmp_path)[0],
        "--consensus",
        method,
        "--out",
        tmp_path / "out",
        "--no-pictures",
        "--jobs",
        1,
    ]
    assert run(capsys, *line, "--labels", "50=gland,200=tumour").status == 0
    for case in ("p1", "p2"):
        fused = pixels(tmp_path / f"out/fuse/consensus/{method}/{case}.png")
        assert set(np.unique(fused)) == {0, 50, 200}
        assert (np.array([0, 50, 200])[pixels(out / f"labelsTr/{case}.png")] == fused).all()
    assert read_json(out / "dataset.json")["labels"] == {"background": 0, "gland": 1, "tumour": 2}
    assert [tuple(row.values()) for row in table(out / "labels.csv")] == [
        ("0", "0", "background"), ("1", "50", "gland"), ("2", "200", "tumour"),
    ]  # fmt: skip


def test_a_replica_for_every_rater_who_is_present(capsys, tmp_path):
    study = write_cases(tmp_path, cases=3)
    (tmp_path / "masks/B/p2.png").unlink()
    del study["p2"]["B"]
    out = to_nnunet(capsys, tmp_path, "--disputed", "replicate", "--folds", 3)
    expected = {f"{case}__{rater}": mask for case, masks in study.items() for rater, mask in masks.items()}
    assert {path.stem: path for path in files(out / "labelsTr")}.keys() == expected.keys()
    for name, mask in expected.items():
        assert (pixels(out / f"labelsTr/{name}.png") == mask).all()
        assert (pixels(out / f"imagesTr/{name}_0000.png") == pixels(tmp_path / f"images/{name[:2]}.png")).all()
    assert read_json(out / "dataset.json")["numTraining"] == len(expected) == 8
    for split in read_json(out / "splits_final.json"):
        assert sorted(split["train"] + split["val"]) == sorted(expected)
        assert len({name[:2] for name in split["val"]}) == 1
        assert not {name[:2] for name in split["val"]} & {name[:2] for name in split["train"]}


def test_subjects_are_never_in_two_parts_of_a_split(capsys, tmp_path):
    write_cases(tmp_path, cases=7)
    subjects = {f"p{n}": f"s{n // 2}" for n in range(1, 8)}
    rows = "\n".join(f"{case},{subject}" for case, subject in subjects.items())
    (tmp_path / "cases.csv").write_text(f"case,subject\n{rows}\n")
    out = to_nnunet(capsys, tmp_path, "--cases", tmp_path / "cases.csv", "--folds", 3)
    splits = read_json(out / "splits_final.json")
    assert len(splits) == 3
    assert sorted(name for split in splits for name in split["val"]) == sorted(subjects)
    for split in splits:
        parts = [{subjects[name] for name in split[part]} for part in ("train", "val")]
        assert not parts[0] & parts[1]
    fold = {row["name"]: int(row["fold"]) for row in table(out / "cases.csv")}
    assert all(name in splits[fold[name]]["val"] for name in fold)


@pytest.mark.slow
def test_the_same_files_whatever_the_number_of_jobs_and_runs(capsys, tmp_path):
    write_volumes(tmp_path, cases=4)
    written = []
    for jobs, to in ((1, "one"), (3, "three"), (3, "three")):
        line = ["export", "nnunet", *template(tmp_path, ".nii.gz"), "--to", tmp_path / to, "--jobs", jobs]
        assert run(capsys, *line).status == 0
        written.append({p.relative_to(tmp_path / to): p.read_bytes() for p in files(tmp_path / to)})
    assert written[0] == written[1] == written[2]
    assert len(written[0]) == 2 * 4 + 5


def test_volumes_keep_their_place(capsys, tmp_path):
    import nibabel
    import SimpleITK

    write_volumes(tmp_path)
    out = to_nnunet(capsys, tmp_path, "--channel", "CT", ending=".nii.gz")
    made = read_json(out / "dataset.json")
    assert (made["file_ending"], made["overwrite_image_reader_writer"]) == (".nii.gz", "SimpleITKIO")
    assert made["channel_names"] == {"0": "CT"}
    for n in (1, 2, 3):
        before = nibabel.load(tmp_path / f"images/p{n}.nii.gz")
        image, label = (nibabel.load(out / name) for name in (f"imagesTr/p{n}_0000.nii.gz", f"labelsTr/p{n}.nii.gz"))
        assert np.allclose(image.affine, before.affine)
        assert np.allclose(label.affine, before.affine)
        assert (np.asarray(image.dataobj) == np.asarray(before.dataobj)).all()
        itk = [SimpleITK.ReadImage(str(out / name)) for name in (f"imagesTr/p{n}_0000.nii.gz", f"labelsTr/p{n}.nii.gz")]
        assert itk[0].GetOrigin() == itk[1].GetOrigin()
        assert itk[0].GetDirection() == itk[1].GetDirection()


def test_oblique_axes_are_not_for_itk(capsys, tmp_path):
    import nibabel

    sheared = np.eye(4)
    sheared[0, 1] = 0.3
    for n in (1, 2):
        for name in (f"images/p{n}", f"masks/A/p{n}", f"masks/B/p{n}"):
            path = tmp_path / f"{name}.nii.gz"
            path.parent.mkdir(parents=True, exist_ok=True)
            nibabel.save(nibabel.Nifti1Image(np.eye(6, dtype=np.uint8)[..., None].repeat(4, 2), sheared), path)
    out = to_nnunet(capsys, tmp_path, ending=".nii.gz")
    assert read_json(out / "dataset.json")["overwrite_image_reader_writer"] == "NibabelIO"


def test_nrrd_becomes_nifti(capsys, tmp_path):
    import nibabel

    for name in ("images/p1", "masks/A/p1", "masks/B/p1", "images/p2", "masks/A/p2", "masks/B/p2"):
        write_nrrd(tmp_path / f"{name}.nrrd", np.arange(60, dtype=np.int16).reshape(3, 4, 5) % 2, origin=3)
    out = to_nnunet(capsys, tmp_path, ending=".nrrd")
    image = nibabel.load(out / "imagesTr/p1_0000.nii.gz")
    assert image.affine[0].tolist() == [-1, 0, 0, -3]
    assert (np.asarray(image.dataobj) == np.arange(60).reshape(3, 4, 5) % 2).all()


def test_colour_is_three_channels_without_alpha(capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    write_png(tmp_path / "images/p1.png", colour())
    alpha(tmp_path / "images/p2.png", colour())
    out = to_nnunet(capsys, tmp_path)
    assert read_json(out / "dataset.json")["channel_names"] == {"0": "R", "1": "G", "2": "B"}
    for case in ("p1", "p2"):
        assert (pixels(out / f"imagesTr/{case}_0000.png") == colour()).all()


@pytest.mark.parametrize(
    ("kind", "ending"),
    [(np.uint16, ".png"), (np.int32, ".png"), (np.int16, ".tif"), (np.float64, ".tif"), (bool, ".png")],
)
def test_values_of_images_are_kept(kind, ending, capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    image = (np.arange(480).reshape(SHAPE) * 100).astype(kind)
    image = image - 7 if ending == ".tif" else image
    for case in ("p1", "p2"):
        write_npy(tmp_path / f"arrays/{case}.npy", image)
    out = to_nnunet(capsys, tmp_path, images="arrays/{case}.npy")
    assert read_json(out / "dataset.json")["file_ending"] == ending
    assert (pixels(out / f"imagesTr/p1_0000{ending}") == image).all()
    assert pixels(out / f"labelsTr/p1{ending}").dtype == np.uint8


def test_jpeg_becomes_png(capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    for case in ("p1", "p2"):
        write_png(tmp_path / f"photos/{case}.jpg", colour())
    out = to_nnunet(capsys, tmp_path, images="photos/{case}.jpg")
    assert (pixels(out / "imagesTr/p1_0000.png") == pixels(tmp_path / "photos/p1.jpg")).all()


def test_names_are_mapped_and_recorded(capsys, tmp_path):
    for case in ("Müller links", "P1", "p1"):
        write_case(tmp_path, case, random_masks(1))
    out = to_nnunet(capsys, tmp_path)
    rows = {row["case"]: row["name"] for row in table(out / "cases.csv")}
    assert set(rows) == {"Müller links", "P1", "p1"}
    assert {path.stem for path in files(out / "labelsTr")} == set(rows.values())
    assert all(name.isascii() and " " not in name for name in rows.values())
    assert any("were changed" in note for note in read_json(out / "summary.json")["notes"])


def test_what_is_not_rated_is_ignored_and_not_background(capsys, tmp_path):
    masks = random_masks(1)
    masks["A"][0, :3] = masks["B"][0, :2] = masks["C"][0, :1] = 9
    for case in ("p1", "p2"):
        write_case(tmp_path, case, masks)
    out = to_nnunet(capsys, tmp_path, "--void", 9)
    label = pixels(out / "labelsTr/p1.png")
    assert label[0, 0] == 2
    assert (label == 2).sum() == 1
    assert read_json(out / "dataset.json")["labels"] == {"background": 0, "1": 1, "ignore": 2}
    assert float(table(out / "cases.csv")[0]["not_rated"]) == 1 / 480


def test_outside_of_the_region_nothing_is_learnt(capsys, tmp_path):
    inside = np.zeros(SHAPE, np.uint8)
    inside[4:12] = 1
    study = write_cases(tmp_path, cases=2)
    for case, masks in study.items():
        # outside, a value that is no label
        write_png(tmp_path / f"masks/A/{case}.png", np.where(inside, masks["A"], 77).astype(np.uint8))
        write_png(tmp_path / f"roi/{case}.png", inside)
    roi = ["--roi", tmp_path / "roi/{case}.png"]
    out = to_nnunet(capsys, tmp_path, *roi)
    line = ["fuse", template(tmp_path)[0], *roi, "--consensus", "staple", "--out", tmp_path / "out", "--no-pictures"]
    assert run(capsys, *line, "--jobs", 1).status == 0
    for case in study:
        label, fused = (
            pixels(path) for path in (out / f"labelsTr/{case}.png", tmp_path / f"out/fuse/consensus/staple/{case}.png")
        )
        assert ((label == 2) == (inside == 0)).all()
        assert (label[4:12] == fused[4:12]).all()


def test_labels_are_united_where_that_is_asked_for(capsys, tmp_path):
    study = write_cases(tmp_path, labels=4, cases=2)
    out = to_nnunet(capsys, tmp_path, "--foreground", "any", "--disputed", "ignore")
    united = {case: {r: (m != 0).astype(int) for r, m in masks.items()} for case, masks in study.items()}
    assert (pixels(out / "labelsTr/p1.png") == naive_settled(united["p1"], 2)).all()
    assert read_json(out / "dataset.json")["labels"] == {"background": 0, "any": 1, "ignore": 2}


def test_first_sessions_count(capsys, tmp_path):
    for case in ("p1", "p2"):
        write_case(tmp_path, case, random_masks(1))
        for rater, mask in random_masks(1).items():
            write_png(tmp_path / f"twice/{rater}/1/{case}.png", mask)
        write_png(tmp_path / f"twice/A/2/{case}.png", 1 - random_masks(1)["A"])
    twice = [f"{tmp_path}/twice/{{rater}}/{{session}}/{{case}}.png", *template(tmp_path)[1:]]
    once = to_nnunet(capsys, tmp_path, "--disputed", "ignore")
    line = ["export", "nnunet", *twice, "--disputed", "ignore", "--to", tmp_path / "other", "--jobs", 1]
    assert run(capsys, *line).status == 0
    for path in files(once / "labelsTr"):
        assert path.read_bytes() == (tmp_path / "other" / path.relative_to(tmp_path / "raw")).read_bytes()


def test_another_run_replaces_what_the_first_wrote(capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    out = to_nnunet(capsys, tmp_path, "--disputed", "replicate")
    (out / "imagesTs").mkdir()
    write_png(out / "imagesTs/own.png", colour())
    assert len(files(out / "labelsTr")) == 6
    assert to_nnunet(capsys, tmp_path) == out
    assert [path.name for path in files(out / "labelsTr")] == ["p1.png", "p2.png"]
    assert (out / "imagesTs/own.png").is_file()


def test_one_subject_cannot_be_split(capsys, tmp_path):
    write_cases(tmp_path, cases=1)
    out = to_nnunet(capsys, tmp_path)
    assert not (out / "splits_final.json").exists()
    assert any("one subject" in note for note in read_json(out / "summary.json")["notes"])


def test_notes_say_what_cannot_be_learnt(capsys, tmp_path):
    write_case(tmp_path, "p1", {"A": disc(x=-7, radius=3), "B": disc(x=7, radius=3)})
    write_case(tmp_path, "p2", {"A": disc() * 0})
    line = ["export", "nnunet", *template(tmp_path), "--disputed", "ignore", "--to", tmp_path / "raw", "--jobs", 1]
    done = run(capsys, *line)
    assert done.status == 0
    assert "label 1 occurs in no training label" in done.out
    assert "only one rater marked p2" in done.out


def test_from_python(tmp_path):
    study = write_cases(tmp_path, cases=2)
    masks, _, images = template(tmp_path)
    done = mt.export(mt.Study.open(masks, images=images), "nnunet", to=tmp_path / "raw", id=7, name="Seven")
    assert done.folder == tmp_path / "raw/Dataset007_Seven"
    expected = np.mean([[naive_settled(m, 9) == 9] for m in study.values()])
    assert done.summary()["disputed_share"] == pytest.approx(expected)
    assert all((done.folder / path).is_file() for path in done.files)

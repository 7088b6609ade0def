"""What cannot be exported: all of it is told at once, and nothing is written."""

from __future__ import annotations

import numpy as np
import pytest
from export_studies import SHAPE, colour, random_masks, template, to_nnunet, write_case, write_cases, write_volumes

from study_folders import disc, files, run, volume, write_nifti, write_npy, write_png

TARGETS = ("nnunet", "monai")


def refused(capsys, folder, target, *options, ending=".png", images="", status=1):
    """What is said; nothing may be there afterwards that was not there before."""
    before = {path: path.read_bytes() for path in files(folder)}
    line = ["export", target, *template(folder, ending, images), "--to", folder / "to", "--jobs", 1]
    done = run(capsys, *line, *options)
    assert (done.status, done.out) == (status, "")
    assert {path: path.read_bytes() for path in files(folder)} == before
    return done.err


@pytest.mark.parametrize("target", TARGETS)
def test_all_problems_are_told_in_one_go(target, capsys, tmp_path):
    write_cases(tmp_path, cases=6)
    (tmp_path / "images/p1.png").unlink()
    write_png(tmp_path / "images/p2.png", np.zeros((24, 21), np.uint8))
    (tmp_path / "images/p3.png").write_bytes(b"nothing")
    write_png(tmp_path / "images/p4.png", colour())
    write_png(tmp_path / "masks/B/p5.png", np.zeros((9, 9), np.uint8))
    (tmp_path / "masks/C/p6.png").write_bytes(b"")
    said = refused(capsys, tmp_path, target).splitlines()
    assert said[0] == "manytruths: 6 problems, so that nothing was written:"
    for case, what in (
        ("p1", "there is no such file"),
        ("p2", "size 24×21 instead of 24×20"),
        ("p3", "is not a PNG picture"),
        ("p4", "3 channels"),
        ("p5", "size 9×9 instead of 24×20"),
        ("p6", "is empty (0 bytes)"),
    ):
        assert [what in line for line in said if f"case {case}" in line] == [True], case


@pytest.mark.parametrize("target", TARGETS)
def test_a_study_without_images(target, capsys, tmp_path):
    write_cases(tmp_path)
    done = run(capsys, "export", target, template(tmp_path)[0], "--to", tmp_path / "to")
    assert done.status == 2
    assert "--images" in done.line
    assert not (tmp_path / "to").exists()


def test_another_place_in_space(capsys, tmp_path):
    write_volumes(tmp_path)
    write_nifti(tmp_path / "images/p1.nii.gz", volume(x=1), (0.5, 0.7, 2), origin=40)
    write_nifti(tmp_path / "images/p2.nii.gz", volume(x=1), (0.5, 0.7, 3), origin=2)
    said = refused(capsys, tmp_path, "nnunet", ending=".nii.gz")
    assert "case p1" in said
    assert "voxels that are not 0 outside of the wanted grid (the image's); correct the affine" in said
    assert "mm instead of 0.5×0.69999999×2 mm" in said


def test_volumes_with_flat_masks(capsys, tmp_path):
    write_cases(tmp_path)
    for n in range(1, 5):
        write_npy(tmp_path / f"arrays/p{n}.npy", np.zeros((*SHAPE, 4), np.int16))
    said = refused(capsys, tmp_path, "nnunet", images="arrays/{case}.npy")
    assert said.count("size 24×20×4 instead of 24×20") == 4


def test_flat_images_among_volumes(capsys, tmp_path):
    for case, shape in (("p1", (6, 6)), ("p2", (6, 6, 3))):
        for name in (f"images/{case}", f"masks/A/{case}", f"masks/B/{case}"):
            write_npy(tmp_path / f"{name}.npy", np.zeros(shape, np.int16) + 1)
    assert "case p2: its image has 3 axes, that of p1 2" in refused(capsys, tmp_path, "nnunet", ending=".npy")


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300])
def test_values_that_are_not_finite(value, capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    for n in (1, 2):
        image = np.zeros(SHAPE)
        image[0, :n] = value
        write_npy(tmp_path / f"arrays/p{n}.npy", image)
    said = refused(capsys, tmp_path, "monai", images="arrays/{case}.npy")
    assert "holds 1 values that are not finite" in said
    assert "holds 2 values that are not finite" in said


def test_whole_numbers_that_no_format_holds(capsys, tmp_path):
    write_cases(tmp_path, cases=2)
    for n in (1, 2):
        write_npy(tmp_path / f"arrays/p{n}.npy", np.full(SHAPE, 2**31 + n, np.uint32))
    said = refused(capsys, tmp_path, "nnunet", images="arrays/{case}.npy")
    assert said.count("save them in 32 bits with sign") == 2


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--id", 0], "from 1 to 999"),
        (["--id", 1000], "from 1 to 999"),
        (["--name", "a/b"], "--name is made of"),
        (["--name", ""], "--name is made of"),
        (["--folds", 9], "there are 4 subjects"),
        (["--folds", 1], "at least 2"),
        (["--consensus", "stapel"], "did you mean 'staple'"),
        (["--consensus", "staple,vote:0.5"], "one method"),
        (["--seed", -1], "at least 0"),
    ],
)
def test_wrong_calls(options, said, capsys, tmp_path):
    write_cases(tmp_path)
    assert said in refused(capsys, tmp_path, "nnunet", *options, status=2)


def test_labels_that_were_not_declared(capsys, tmp_path):
    write_cases(tmp_path, labels=3)
    said = refused(capsys, tmp_path, "nnunet", "--labels", "1=gland")
    assert said.count("found the value 2") == 4 * 3


def test_one_value_a_rater_but_not_the_same(capsys, tmp_path):
    write_case(tmp_path, "p1", {"A": disc(), "B": disc() * 255})
    assert "each rater marks with one value" in refused(capsys, tmp_path, "nnunet")


def test_a_folder_of_something_else(capsys, tmp_path):
    write_cases(tmp_path)
    (tmp_path / "to/Dataset501_Manytruths/imagesTr").mkdir(parents=True)
    write_png(tmp_path / "to/Dataset501_Manytruths/imagesTr/mine_0000.png", colour())
    assert "holds something that is not an export to nnunet" in refused(capsys, tmp_path, "nnunet")
    assert "holds something that is not an export to monai" in refused(capsys, tmp_path, "monai")


def test_an_export_to_another_target_stays(capsys, tmp_path):
    write_cases(tmp_path)
    out = to_nnunet(capsys, tmp_path)
    line = ["export", "monai", *template(tmp_path), "--to", out, "--jobs", 1]
    assert "is not an export to monai" in run(capsys, *line).line
    assert len(files(out / "labelsTr")) == 4


def test_a_file_in_place_of_the_folder(capsys, tmp_path):
    write_cases(tmp_path)
    (tmp_path / "to").write_text("mine")
    assert "is not a folder" in refused(capsys, tmp_path, "monai")
    assert "is a file, not a folder" in refused(capsys, tmp_path, "nnunet")


def test_a_number_that_is_taken(capsys, tmp_path):
    write_cases(tmp_path)
    to_nnunet(capsys, tmp_path, "--name", "One")
    line = ["export", "nnunet", *template(tmp_path), "--to", tmp_path / "raw", "--name", "Two", "--jobs", 1]
    assert "Dataset501_One has that number already" in run(capsys, *line).line
    assert run(capsys, *line, "--id", 502).status == 0


def test_a_run_that_fails_leaves_the_one_before(capsys, tmp_path):
    write_cases(tmp_path)
    out = to_nnunet(capsys, tmp_path)
    before = {path: path.read_bytes() for path in files(out)}
    (tmp_path / "images/p3.png").unlink()
    line = ["export", "nnunet", *template(tmp_path), "--to", tmp_path / "raw", "--jobs", 1]
    assert run(capsys, *line).status == 1
    assert {path: path.read_bytes() for path in files(tmp_path / "raw")} == before


@pytest.mark.parametrize("target", TARGETS)
def test_no_jobs(target, capsys, tmp_path):
    write_cases(tmp_path)
    done = run(capsys, "export", target, *template(tmp_path), "--to", tmp_path / "to", "--jobs", 0)
    assert done.status == 2
    assert "--jobs must be at least 1" in done.line


def test_one_rater_is_nobody_to_agree_with(capsys, tmp_path):
    write_case(tmp_path, "p1", random_masks(1, raters="A"))
    assert "only one rater" in refused(capsys, tmp_path, "nnunet")


def test_strange_rows_of_cases_are_told_with_the_rest(capsys, tmp_path):
    write_cases(tmp_path)
    (tmp_path / "images/p1.png").unlink()
    (tmp_path / "cases.csv").write_text("case,subject\np9,s1\n")
    said = refused(capsys, tmp_path, "nnunet", "--cases", tmp_path / "cases.csv")
    assert "3 problems" in said
    assert "p9" in said

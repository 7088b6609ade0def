"""nnU-Net's own check of what was exported, on simulated and real studies."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from export_studies import colour, random_masks, read_json, to_nnunet, write_case, write_cases, write_volumes

from data_folder import data
from study_folders import pixels, run, write_nifti, write_npy, write_png

CHECK = """
import sys
from nnunetv2.experiment_planning.verify_dataset_integrity import verify_dataset_integrity
verify_dataset_integrity(sys.argv[1], 1)
"""


def verified(folder: Path) -> tuple[bool, str]:
    """Whether nnU-Net finds nothing to object to, and what it says; in a process of its own, as it talks and forks."""
    pytest.importorskip("nnunetv2")
    places = {name: str(folder.parent) for name in ("nnUNet_raw", "nnUNet_preprocessed", "nnUNet_results")}
    done = subprocess.run(
        [sys.executable, "-c", CHECK, str(folder)], env=os.environ | places, capture_output=True, text=True, check=False
    )
    said = done.stdout + done.stderr
    return done.returncode == 0 and "verify_dataset_integrity Done" in said and "Error" not in said, said


@pytest.mark.slow
@pytest.mark.parametrize("disputed", ["consensus", "ignore", "replicate"])
def test_pictures_pass(disputed, capsys, tmp_path):
    for n in range(1, 4):
        write_case(tmp_path, f"p {n}", random_masks(n, labels=3), image=colour())
    (tmp_path / "masks/B/p 2.png").unlink()
    out = to_nnunet(capsys, tmp_path, "--disputed", disputed, "--labels", "1=background 2,2=ignore")
    fine, said = verified(out)
    assert fine, said


@pytest.mark.slow
def test_volumes_pass(capsys, tmp_path):
    write_volumes(tmp_path)
    fine, said = verified(to_nnunet(capsys, tmp_path, "--disputed", "ignore", ending=".nii.gz"))
    assert fine, said
    assert "SimpleITKIO" in said
    assert "Warning" not in said


@pytest.mark.slow
def test_flat_nifti_files_pass(capsys, tmp_path):
    for n in (1, 2):
        for folder in ("images", "masks/A", "masks/B"):
            write_nifti(tmp_path / folder / f"p{n}.nii.gz", random_masks(n)["A"], (0.5, 0.5, 1))
    fine, said = verified(to_nnunet(capsys, tmp_path, ending=".nii.gz"))
    assert fine, said


@pytest.mark.slow
def test_fractions_pass(capsys, tmp_path):
    for case, masks in write_cases(tmp_path, cases=2).items():
        write_npy(tmp_path / f"arrays/{case}.npy", masks["A"] / 3)
    fine, said = verified(to_nnunet(capsys, tmp_path, images="arrays/{case}.npy"))
    assert fine, said


@pytest.mark.slow
def test_the_check_can_fail(capsys, tmp_path):
    write_cases(tmp_path)
    out = to_nnunet(capsys, tmp_path)
    write_png(out / "labelsTr/p1.png", pixels(out / "labelsTr/p1.png") + 5)
    fine, said = verified(out)
    assert not fine
    assert "Unexpected labels" in said


@pytest.mark.slow
def test_retinas_pass(capsys, tmp_path):
    home = data("chasedb1")
    line = ["export", "nnunet", f"{home}/raters/{{rater}}/{{case}}.png", "--images", f"{home}/images/{{case}}.jpg"]
    line += ["--roi", f"{home}/roi/{{case}}.png", "--disputed", "ignore", "--to", tmp_path, "--foreground", "any"]
    done = run(capsys, *line, "--jobs", 2)
    assert (done.status, done.err) == (0, "")
    out = tmp_path / "Dataset501_Manytruths"
    assert read_json(out / "dataset.json")["numTraining"] == 28
    case = next((home / "images").iterdir()).stem
    first, second = (pixels(path) != 0 for path in sorted((home / "raters").glob(f"*/{case}.png")))
    inside = pixels(home / f"roi/{case}.png") != 0
    expected = np.where(inside & (first == second), first, 2)
    assert (pixels(out / f"labelsTr/{case}.png") == expected).all()
    fine, said = verified(out)
    assert fine, said

"""BIDS derivatives of several raters, read."""

from __future__ import annotations

import json
import pickle
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from manytruths import InputError
from manytruths.exchange.bids import read_bids
from manytruths.exchange.readings import ImportOptions, Reading, combine_readings
from segmentations import AFFINE, IMAGE, moved, nifti


def box(*planes: int, kind: str = "u1", value: int = 1) -> np.ndarray:
    """Some planes of the image."""
    voxels = np.zeros(IMAGE.shape, kind)
    voxels[list(planes)] = value
    return voxels


def by_name(reads: list[Reading]) -> dict[tuple[str, str], Reading]:
    return {(read.case, read.rater): read for read in reads}


def test_raters_structures_visits_and_subjects(tmp_path: Path) -> None:
    root = tmp_path / "derivatives" / "manual"
    anat = root / "sub-01" / "ses-2" / "anat"
    for rater, plane in (("rater1", 3), ("rater2", 4)):
        nifti(anat / f"sub-01_ses-2_label-lesion_desc-{rater}_mask.nii.gz", box(plane))
        nifti(anat / f"sub-01_ses-2_label-oedema_desc-{rater}_mask.nii", box(plane, 7, kind="f8"))
        nifti(root / "sub-02" / "anat" / f"sub-02_run-1_label-lesion_desc-{rater}_mask.nii.gz", box(1, value=255))
    found = by_name(read_bids(tmp_path))
    assert set(found) == {(case, f"rater{k}") for case in ("sub-01_ses-2", "sub-02_run-1") for k in (1, 2)}
    read = found["sub-01_ses-2", "rater2"]
    assert (read.subject, read.session, read.status, read.tool) == ("01", "", "done", "BIDS")
    assert read.grid.difference(IMAGE) == ""
    masks = read.structures()
    assert set(masks) == {"lesion", "oedema"}
    assert np.array_equal(masks["lesion"], box(4) == 1)
    assert np.array_equal(masks["oedema"], box(4, 7) == 1)
    assert found["sub-02_run-1", "rater1"].structures()["lesion"].sum() == 56
    assert combine_readings(found.values()).structures == ("lesion", "oedema")


def test_labels_have_the_names_of_the_nearest_table(tmp_path: Path) -> None:
    voxels = box(2) + box(5, value=3)
    for rater in ("A", "B"):
        nifti(tmp_path / "sub-01" / "anat" / f"sub-01_desc-{rater}_dseg.nii.gz", voxels)
    (tmp_path / "dataset_description.json").write_text("{}")
    (tmp_path / "dseg.tsv").write_text("index\tname\tcolor\n0\tbackground\t\n1\tLäsion\t#fff\n3\tÖdem\t#000\n")
    (tmp_path / "sub-01" / "anat" / "sub-01_desc-B_dseg.tsv").write_text("name\tindex\nrim\t3\nempty\t4\n")
    found = by_name(read_bids(tmp_path))
    first, other = found["sub-01", "A"], found["sub-01", "B"]
    assert {name: int(mask.sum()) for name, mask in first.structures().items()} == {"Läsion": 56, "Ödem": 56}
    assert np.array_equal(first.structures()["Ödem"], voxels == 3)
    assert {name: int(mask.sum()) for name, mask in other.structures().items()} == {"rim": 56, "empty": 0}
    assert (dict(first.left_out), dict(other.left_out)) == ({}, {"unnamed-values": 1})


def test_without_a_table_labels_are_numbers(tmp_path: Path) -> None:
    nifti(tmp_path / "sub-01" / "anat" / "sub-01_desc-A_dseg.nii.gz", box(2) + box(5, value=3))
    [read] = read_bids(tmp_path)
    assert list(read.structures()) == ["1", "3"]


def test_a_mask_of_zeros_is_empty(tmp_path: Path) -> None:
    path = nifti(tmp_path / "sub-01" / "anat" / "sub-01_label-lesion_desc-A_mask.nii.gz", box())
    [read] = read_bids(path)
    assert (read.status, read.marks) == ("empty", ())
    [read] = read_bids(path, ImportOptions(blank="unread"))
    assert read.status == "unread"
    nifti(tmp_path / "sub-01" / "anat" / "sub-01_label-oedema_desc-A_mask.nii.gz", box(3))
    [read] = read_bids(tmp_path)
    assert read.status == "done"
    assert {name: int(mask.sum()) for name, mask in read.structures().items()} == {"lesion": 0, "oedema": 56}


def test_the_rater_may_be_another_entity_a_field_or_the_folder(tmp_path: Path) -> None:
    anat = tmp_path / "reader-7" / "sub-01" / "anat"
    nifti(anat / "sub-01_rec-B_desc-x_mask.nii.gz", box(3))
    (anat / "sub-01_rec-B_desc-x_mask.json").write_text('{"Annotator": "Dr. Who", "Type": "Lesion", "Manual": true}')
    [read] = read_bids(tmp_path, ImportOptions(rater_field="rec"))
    assert (read.rater, read.case) == ("B", "sub-01")
    [read] = read_bids(tmp_path, ImportOptions(rater_field="Annotator"))
    assert (read.rater, read.case) == ("Dr. Who", "sub-01_rec-B")
    [read] = read_bids(tmp_path)
    assert (read.rater, read.case, read.marks[0].label) == ("x", "sub-01_rec-B", "Lesion")
    assert read.marks[0].attributes == {"Annotator": "Dr. Who", "Manual": "True"}
    with pytest.raises(InputError, match="neither its name nor its sidecar"):
        read_bids(tmp_path, ImportOptions(rater_field="acq"))
    nifti(tmp_path / "reader-8" / "sub-01" / "anat" / "sub-01_mask.nii.gz", box(3))
    [read] = read_bids(tmp_path / "reader-8")
    assert (read.rater, read.marks[0].label) == ("reader-8", "mask")


def test_the_image_of_the_raw_dataset_where_only_one_can_be_meant(tmp_path: Path) -> None:
    mask = tmp_path / "derivatives" / "manual" / "sub-01" / "anat" / "sub-01_label-lesion_desc-A_mask.nii.gz"
    nifti(mask, box(3))
    anat = tmp_path / "sub-01" / "anat"
    flair = nifti(anat / "sub-01_FLAIR.nii.gz", box(1, kind="i2", value=77))
    nifti(anat / "sub-01_T2w.nii.gz", box(1, kind="i2"), moved(AFFINE, (1, 0, 0)))
    nifti(anat / "sub-01_acq-low_FLAIR.nii.gz", box(1, kind="i2"))
    [read] = read_bids(mask)
    assert read.picture is not None
    assert read.picture.path == flair
    t1 = nifti(anat / "sub-01_T1w.nii.gz", box(1, kind="i2"))
    [read] = read_bids(mask)
    assert read.picture is None
    mask.with_name(mask.name.replace(".nii.gz", ".json")).write_text(
        '{"Sources": ["bids:raw:sub-01/anat/sub-01_T1w.nii.gz"]}'
    )
    [read] = read_bids(mask)
    assert read.picture is not None
    assert read.picture.path == t1


def test_a_mask_made_of_another_raters_is_based_on_it(tmp_path: Path) -> None:
    anat = tmp_path / "sub-01" / "anat"
    for rater in ("model", "A", "B"):
        nifti(anat / f"sub-01_label-lesion_desc-{rater}_mask.nii.gz", box(3))
    sources = ["bids::sub-01/anat/sub-01_label-lesion_desc-model_mask.nii.gz", "bids:raw:sub-01/anat/sub-01_T1w.nii.gz"]
    (anat / "sub-01_label-lesion_desc-A_mask.json").write_text(json.dumps({"Sources": sources}))
    brain = ["bids::sub-01/anat/sub-01_desc-brain_mask.nii.gz"]
    (anat / "sub-01_label-lesion_desc-B_mask.json").write_text(json.dumps({"Sources": brain}))
    found = {read.rater: read.based_on for read in read_bids(tmp_path)}
    assert found == {"model": "", "A": "model", "B": ""}


def test_probabilities_are_counted_beside_masks_and_refused_alone(tmp_path: Path) -> None:
    anat = tmp_path / "sub-01" / "anat"
    nifti(anat / "sub-01_label-lesion_desc-A_mask.nii.gz", box(3))
    nifti(anat / "sub-01_label-lesion_desc-A_probseg.nii.gz", box(3, kind="f4") / 3)
    [read] = read_bids(tmp_path)
    assert dict(read.left_out) == {"probseg": 1}
    nifti(anat / "sub-01_label-lesion_desc-B_probseg.nii.gz", box(3, kind="f4") / 3)
    with pytest.raises(InputError, match="holds probabilities, and B has no mask of sub-01; threshold it"):
        read_bids(tmp_path)


def test_a_template_says_more_than_names(tmp_path: Path) -> None:
    nifti(tmp_path / "ana" / "sub-01_desc-final_mask.nii.gz", box(3))
    [read] = read_bids([f"{tmp_path}/{{rater}}/{{case}}_desc-final_mask.nii.gz"])
    assert (read.rater, read.case) == ("ana", "sub-01")


def test_scaled_values_and_pages(tmp_path: Path) -> None:
    import nibabel

    image = nibabel.Nifti1Image(box(3, kind="i2", value=2)[..., None], np.array(AFFINE))
    image.header.set_slope_inter(0.5, 0)
    path = tmp_path / "sub-01_desc-A_dseg.nii.gz"
    nibabel.save(image, path)
    stored = nibabel.load(path)
    [read] = read_bids(path)
    value = int(np.unique(stored.get_fdata())[-1])
    assert list(read.structures()) == [str(value)]
    assert np.array_equal(read.structures()[str(value)], stored.get_fdata()[..., 0] == value)


def test_many_large_masks_are_not_held(tmp_path: Path) -> None:
    voxels = np.zeros((256, 256, 60), np.float32)
    voxels[50:200, 50:200, 20:40] = 1
    first = nifti(tmp_path / "sub-0_desc-A_mask.nii.gz", voxels)
    for number in range(1, 6):
        (tmp_path / f"sub-{number}_desc-A_mask.nii.gz").write_bytes(first.read_bytes())
    tracemalloc.start()
    reads = read_bids(tmp_path)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 0.05 * voxels.nbytes
    assert peak < 2 * voxels.nbytes
    again = pickle.loads(pickle.dumps(reads))
    assert {int(read.structures()["mask"].sum()) for read in again} == {150 * 150 * 20}

"""``manytruths import dicomseg`` with the series: its images are in the study, or it is said why not."""

import numpy as np
import pydicom
import pytest
import SimpleITK

import manytruths as mt
from dicom_files import COLUMNS, ROWS, SLICES, image, images, masks, segmentation
from manytruths.cli import status
from manytruths.io import read_image

PATIENTS = ("p01", "p02")


@pytest.fixture
def folders(tmp_path):
    """Two patients, two raters; images are of soft tissue, brighter where something is marked."""
    random = np.random.default_rng(5)
    (tmp_path / "segs").mkdir()
    for patient in PATIENTS:
        home = tmp_path / "series" / patient
        home.mkdir(parents=True)
        for k in range(SLICES):
            plane = random.normal(1024 + 40, 20, (ROWS, COLUMNS)).clip(0, 4095) + 300.0 * masks()[k, ..., 0]
            made = image(k, patient=patient, RescaleIntercept=-1024, PixelData=plane.astype("<u2").tobytes())
            made.save_as(home / f"{(5 * k) % SLICES}.dcm", enforce_file_format=True)
        for k, rater in enumerate(("Doe^Jane", "Roe^Rick")):
            found = segmentation(images(home), masks(k))
            found.ContentCreatorName = rater
            found.save_as(tmp_path / "segs" / f"{patient}_{k}.dcm")
    return tmp_path


def imported(home):
    return status(
        ["import", "dicomseg", str(home / "segs"), str(home / "series"), "--to", str(home / "study"), "--jobs", "1"]
    )


def test_the_images_of_the_series_are_in_the_study(folders, capsys):
    assert imported(folders) == 0, capsys.readouterr().err
    assert sorted(p.name for p in (folders / "study" / "images").iterdir()) == ["p01.nii.gz", "p02.nii.gz"]
    for case in mt.Study.open(folders / "study"):
        reader = SimpleITK.ImageSeriesReader()
        reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folders / "series" / case.name)))
        expected = SimpleITK.GetArrayFromImage(reader.Execute()).transpose(2, 1, 0)
        np.testing.assert_array_equal(case.picture(), expected)
        assert not read_image(case.image).grid.difference(case.read().grid)


def test_images_that_cannot_be_decoded_do_not_keep_masks_out(folders, capsys):
    path = folders / "series" / "p02" / "0.dcm"
    one = pydicom.dcmread(path)
    one.PixelData = one.PixelData[:100]
    one.save_as(path)
    assert imported(folders) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "case p02: its images could not be read" in said
    assert "so that the study has none" in said
    assert [path.name for path in (folders / "study" / "images").iterdir()] == ["p01.nii.gz"]
    study = mt.Study.open(folders / "study")
    assert [len(case.read().masks) for case in study] == [2, 2]
    assert [case.read().picture[0] is not None for case in study] == [True, False]


def test_a_study_may_have_no_image_at_all(folders, capsys):
    for path in (folders / "series").rglob("*.dcm"):
        one = pydicom.dcmread(path)
        del one.PixelData
        one.save_as(path)
    assert imported(folders) == 0
    assert "so that the study has none; likewise 1 more" in " ".join(capsys.readouterr().out.split())
    assert not (folders / "study" / "images").exists()
    assert "images" not in (folders / "study" / "study.toml").read_text()
    assert len(mt.Study.open(folders / "study")) == 2

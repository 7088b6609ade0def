"""A thousand damaged DICOM segmentations and slices: read and drawn, or refused in one line."""

from __future__ import annotations

import random

import numpy as np
import pydicom
import pytest

from dicom_files import images, masks, segmentation, series_folder
from manytruths import ManytruthsError
from manytruths.exchange.dicom.segmentations import read_dicom_seg
from mutations import mutated

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("default")]

NONSENSE = ["", "nan", "1e308", "-1", "99999999999", "x", "é"]


def tried(paths) -> bool:
    """Whether it could be read."""
    said = ""
    try:
        for read in read_dicom_seg(paths):
            read.structures()
    except ManytruthsError as error:
        said = str(error)
    assert "\n" not in said
    return not said


@pytest.fixture(scope="module")
def ct(tmp_path_factory):
    return series_folder(tmp_path_factory.mktemp("dicom") / "ct")


@pytest.fixture(scope="module")
def files(ct, tmp_path_factory):
    """One of each kind."""
    folder = tmp_path_factory.mktemp("segs")
    numbers = masks(segments=1)[..., 0]
    made = {
        "bits": segmentation(images(ct), masks()),
        "implicit": segmentation(images(ct), masks(), transfer_syntax_uid="1.2.840.10008.1.2"),
        "runs": segmentation(images(ct), numbers, ["a"], kind="LABELMAP", transfer_syntax_uid="1.2.840.10008.1.2.5"),
        "jpeg": segmentation(images(ct), numbers, ["a"], kind="LABELMAP", transfer_syntax_uid="1.2.840.10008.1.2.4.80"),
    }
    for name, dataset in made.items():
        dataset.save_as(folder / name)
    return {name: (folder / name).read_bytes() for name in made}


def test_bytes_that_changed(files, tmp_path):
    path, read = tmp_path / "a.dcm", 0
    for seed in range(1000):
        data = files[sorted(files)[seed % len(files)]]
        path.write_bytes(mutated(data, seed))
        read += tried(path)
    assert 0 < read < 1000


def test_elements_that_changed(files, tmp_path):
    path, read = tmp_path / "a.dcm", 0
    for seed in range(150):
        chance = random.Random(seed)
        path.write_bytes(files["bits"])
        dataset = pydicom.dcmread(path)
        for _ in range(chance.randint(1, 3)):
            spoil(dataset, chance)
        try:
            dataset.save_as(path)
        except Exception:  # pydicom does not write everything
            continue
        read += tried(path)
    assert read


def spoil(dataset, chance):
    """An element, at any depth, is gone, emptied, or something else."""
    elements = [element for element in dataset.iterall() if element.VR not in ("OB", "OW")]
    element = chance.choice(elements)
    how = chance.randrange(3)
    if element.VR == "SQ":
        element.value = [] if how == 0 else list(element.value)[:-1] if how == 1 else list(element.value) * 2
    elif element.VR in ("US", "UL"):
        element.value = chance.choice([0, 1, 255, 65535])
    else:
        element._value = chance.choice(NONSENSE)


def test_slices_that_changed(ct, files, tmp_path):
    slices = {path.name: path.read_bytes() for path in ct.iterdir()}
    folder = tmp_path / "all"
    folder.mkdir()
    (folder / "seg.dcm").write_bytes(files["bits"])
    for name, data in slices.items():
        (folder / name).write_bytes(data)
    for seed in range(100):
        name = sorted(slices)[seed % len(slices)]
        (folder / name).write_bytes(mutated(slices[name], seed))
        tried(folder)
        (folder / name).write_bytes(slices[name])
    (read,) = read_dicom_seg(folder)
    np.testing.assert_array_equal(read.structures()["tumour"], masks()[..., 0].astype(bool).transpose(2, 1, 0))

"""The adjudicated reference standard in the formats of annotation tools, read back pixel by pixel."""

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from decision_logs import adjudicate, disputes_of, three_readers, write_study
from dicom_files import images, masks, segmentation, series_folder
from manytruths.exchange.bids import read_bids
from manytruths.exchange.coco import read_coco
from manytruths.exchange.cvat import read_cvat
from manytruths.exchange.dicom.segmentations import read_dicom_seg
from manytruths.exchange.labelstudio import read_labelstudio
from manytruths.exchange.readings import ImportOptions
from manytruths.exchange.slicer import read_slicer
from manytruths.io import write_map
from manytruths.study.disputes import choose

FLAT = {"cvat": read_cvat, "labelstudio": read_labelstudio, "coco": read_coco}
SOLID = {"slicer": read_slicer, "bids": read_bids}


def kind(dispute):
    return "not_evaluable" if dispute.found_by == ("clara",) else "intersection" if dispute.kind == "border" else "none"


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    folder = tmp_path_factory.mktemp("flat")
    for case in ("p1", "p2"):
        (folder / "images").mkdir(exist_ok=True)
        Image.new("L", (80, 64), 90).save(folder / "images" / f"{case}.png")
    template = write_study(folder / "m", three_readers())
    study = mt.Study.open(
        template, images=f"{folder}/images/{{case}}.png", labels={0: "none", 1: "lesion"}, decisions=str(folder / "log")
    )
    adjudicate(folder / "log", study, kind)
    return study


@pytest.mark.parametrize("tool", FLAT)
def test_flat_images(flat, tmp_path, tool):
    result = mt.export(flat, tool, to=tmp_path / "out", consensus="adjudicated")
    ending = ".xml" if tool == "cvat" else ".json"
    path = next(tmp_path / "out" / file for file in result.files if file.suffix == ending)
    options = ImportOptions()
    readings = FLAT[tool](path, options) if tool != "labelstudio" else FLAT[tool](path)
    back = {reading.image.rpartition("/")[2].removesuffix(".png"): reading for reading in readings}
    for name, mask in mt.adjudicated(flat).masks.items():
        drawn = back[name].structures()["lesion"]
        # what is not evaluable is not marked
        assert np.array_equal(drawn, np.ma.filled(mask, 0) == 1)
        assert drawn.any()


@pytest.fixture(scope="module")
def ct(tmp_path_factory):
    return series_folder(tmp_path_factory.mktemp("dicom") / "ct")


@pytest.fixture(scope="module")
def solid(tmp_path_factory, ct):
    """Masks on the grid of a DICOM series."""
    folder = tmp_path_factory.mktemp("solid")
    segmentation(images(ct), masks()).save_as(folder / "a.dcm")
    grid = read_dicom_seg([folder / "a.dcm", ct])[0].grid
    rows, columns, slices = grid.shape
    one = np.zeros(grid.shape, np.uint8)
    one[: rows // 2, : columns // 2, : max(1, slices // 2)] = 1
    other = np.zeros(grid.shape, np.uint8)
    other[: rows // 2, : columns // 2] = 1
    third = one.copy()
    third[rows - 2 :, columns - 2 :, slices - 1 :] = 1
    for rater, mask in {"anna": one, "ben": other, "clara": third}.items():
        (folder / "m" / rater).mkdir(parents=True)
        write_map(folder / "m" / rater / "p01.nii.gz", mask, grid)
    study = mt.Study.open(
        f"{folder}/m/{{rater}}/{{case}}.nii.gz", labels={0: "none", 1: "lesion"}, decisions=str(folder / "log")
    )
    adjudicate(folder / "log", study, lambda d: "union")
    expected = np.zeros(grid.shape, bool)
    for dispute in disputes_of(study)["p01"].disputes:
        expected[tuple(slice(*part) for part in dispute.box)] |= choose(dispute, "union") == 1
    return study, expected


@pytest.mark.parametrize("tool", SOLID)
def test_volumes(solid, tmp_path, tool):
    study, expected = solid
    mt.export(study, tool, to=tmp_path / "out", consensus="adjudicated")
    path = tmp_path / "out" if tool == "bids" else next((tmp_path / "out").rglob("*.seg.nrrd"))
    (back,) = SOLID[tool](path)
    assert np.array_equal(back.structures()["lesion"], expected)
    assert expected.any()


@pytest.mark.filterwarnings("default")
def test_dicom_segmentations(solid, ct, tmp_path):
    study, expected = solid
    mt.export(study, "dicomseg", to=tmp_path / "out", consensus="adjudicated", series=ct)
    path = next((tmp_path / "out").rglob("*.dcm"))
    (back,) = read_dicom_seg([path, ct])
    assert np.array_equal(back.structures()["lesion"], expected)


@pytest.mark.parametrize("tool", ["cvat", "nnunet"])
def test_what_is_not_settled_is_said(flat, tmp_path, tool):
    """An export of part of the work looks like one of all of it."""
    notes = mt.export(flat, tool, to=tmp_path / "all", consensus="adjudicated").notes
    assert [note for note in notes if "adjudicated" in note] == [
        "adjudicated: 1 lesion is not evaluable, with the value 255 (p1)"
    ]
    some = mt.Study.open(flat.options.masks, images=flat.options.images, labels={0: "none", 1: "lesion"},
                         decisions=str(tmp_path / "log"))  # fmt: skip
    adjudicate(tmp_path / "log", some, lambda d: kind(d) if d.kind == "border" else None)
    (note,) = (n for n in mt.export(some, tool, to=tmp_path / "some", consensus="adjudicated").notes if "settled" in n)
    assert note == "adjudicated: 2 disputes are not settled (2 not decided): vote:0.5 stands there (p1)"
    assert not any("adjudicated" in n for n in mt.export(some, tool, to=tmp_path / "vote", consensus="vote:0.5").notes)


def test_training_sets_ignore_what_is_not_evaluable(flat, tmp_path):
    mt.export(flat, "nnunet", to=tmp_path / "out", consensus="adjudicated")
    labels = {path.name.split(".")[0]: path for path in (tmp_path / "out").rglob("labelsTr/*")}
    written = {name: np.asarray(Image.open(path)) for name, path in labels.items()}
    mask = mt.adjudicated(flat).masks["p1"]
    found = next(array for name, array in written.items() if "p1" in name)
    assert np.array_equal(found == 2, np.ma.getmaskarray(mask))
    assert np.array_equal(found == 1, np.ma.filled(mask, 0) == 1)

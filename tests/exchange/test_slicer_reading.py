"""Segmentations of 3D Slicer, read."""

from __future__ import annotations

import pickle
import shutil
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
import slicerio

from manytruths.exchange.readings import ImportOptions
from manytruths.exchange.slicer import read_slicer
from segmentations import AFFINE, IMAGE, geometry, moved, seg_nrrd, segment

REAL = Path(slicerio.__file__).parent / "data"


def blank(*shape: int) -> np.ndarray:
    return np.zeros(shape or IMAGE.shape, np.uint8)


@pytest.mark.parametrize("name", ["Segmentation.seg.nrrd", "SegmentationOverlapping.seg.nrrd"])
def test_files_that_slicer_saved(name: str) -> None:
    [read] = read_slicer(REAL / name)
    theirs = slicerio.read_segmentation(str(REAL / name))
    found = read.structures()
    assert list(found) == [one["name"] for one in theirs["segments"]]
    for one in theirs["segments"]:
        voxels = theirs["voxels"] if theirs["voxels"].ndim == 3 else theirs["voxels"][one["layer"]]
        assert np.array_equal(found[one["name"]], voxels == one["labelValue"])
        assert found[one["name"]].any()
    lps = np.diag([-1, -1, 1, 1]) @ np.array(read.grid.affine)
    assert np.allclose(lps, theirs["ijkToLPS"], atol=1e-9)
    assert (read.tool, read.rater, read.status, dict(read.left_out)) == ("3D Slicer", "data", "done", {})
    assert {mark.attributes["status"] for mark in read.marks} == {"inprogress"}
    assert "SCT^113197003^Rib" in read.marks[0].attributes["tags"]


def test_segments_that_overlap_lie_in_layers_and_share_labels(tmp_path: Path) -> None:
    voxels = blank(2, *IMAGE.shape)
    voxels[0, 1:5, 2:6, 1:4] = 1
    voxels[0, 6:8, 2:6, 1:4] = 2
    voxels[1, 3:7, 3:8, 2:6] = 1
    keys = segment(0, "Läsion 腫瘍", 1, 0) | segment(1, "Ödem", 2, 0) | segment(2, "rim", 1, 1)
    [read] = read_slicer(seg_nrrd(tmp_path / "A" / "p01.seg.nrrd", voxels, keys))
    found = read.structures()
    assert list(found) == ["Läsion 腫瘍", "Ödem", "rim"]
    assert np.array_equal(found["Läsion 腫瘍"], voxels[0] == 1)
    assert np.array_equal(found["Ödem"], voxels[0] == 2)
    assert np.array_equal(found["rim"], voxels[1] == 1)
    assert (found["rim"] & found["Läsion 腫瘍"]).any()
    assert (read.rater, read.image, read.case) == ("A", "p01.seg.nrrd", "")


@pytest.mark.parametrize("first", [(0, 0, 0), (-3, 2, 5)])
def test_a_cropped_box_goes_back_onto_the_grid_of_its_image(tmp_path: Path, first: tuple[int, int, int]) -> None:
    corner = (2, 1, 3)
    box = blank(4, 5, 3)
    box[1:, :3, 1:] = 1
    keys = segment(0, "lesion", 1, 0) | {
        "Segmentation_ConversionParameters": geometry(first=first),
        "Segmentation_ReferenceImageExtentOffset": " ".join(str(c + f) for c, f in zip(corner, first, strict=True)),
    }
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", box, keys, moved(AFFINE, corner)))
    assert read.grid.difference(IMAGE) == ""
    whole = np.zeros(IMAGE.shape, bool)
    whole[2:6, 1:6, 3:6] = box == 1
    assert np.array_equal(read.structures()["lesion"], whole)


@pytest.mark.parametrize("where", ["outside", "other lattice", "unknown"])
def test_a_box_that_does_not_fit_its_image_stays_as_it_is(tmp_path: Path, where: str) -> None:
    corner = (6, 1, 3) if where == "outside" else (2, 1, 3)
    affine = moved(AFFINE, corner)
    if where == "other lattice":
        affine[:3, 0] /= 2
    box = blank(4, 5, 3)
    box[1:, :3, 1:] = 1
    told = {} if where == "unknown" else {"Segmentation_ConversionParameters": geometry()}
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", box, segment(0, "lesion", 1, 0) | told, affine))
    assert read.grid.shape == (4, 5, 3)
    assert np.allclose(read.grid.affine, affine)
    assert np.array_equal(read.structures()["lesion"], box == 1)


def test_a_box_whose_empty_rim_leaves_the_image_is_cut(tmp_path: Path) -> None:
    box = blank(12, 12, 12)
    box[4:6, 4:6, 4:6] = 1
    keys = segment(0, "lesion", 1, 0) | {"Segmentation_ConversionParameters": geometry()}
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", box, keys, moved(AFFINE, (-2, -2, -2))))
    whole = np.zeros(IMAGE.shape, bool)
    whole[2:4, 2:4, 2:4] = True
    assert np.array_equal(read.structures()["lesion"], whole)


@pytest.mark.parametrize("layers", [1, 3])
def test_old_files_have_no_labels_and_a_layer_for_every_segment(tmp_path: Path, layers: int) -> None:
    voxels = blank(layers, *IMAGE.shape) if layers > 1 else blank()
    parts = voxels if layers > 1 else voxels[None]
    keys: dict[str, str] = {}
    for number in range(layers):
        parts[number, number : number + 3] = 255
        keys |= segment(number, f"s{number}")
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", voxels, keys))
    for number, mask in enumerate(read.structures().values()):
        assert np.array_equal(mask, parts[number] != 0)


@pytest.mark.parametrize("kind", ["u1", "i2", "u2", "f4", "f8", "i4"])
@pytest.mark.parametrize("encoding", ["gzip", "raw"])
@pytest.mark.parametrize("space", ["left-posterior-superior", "right-anterior-superior", "LAS"])
def test_types_encodings_and_spaces(tmp_path: Path, kind: str, encoding: str, space: str) -> None:
    voxels = blank().astype(kind)
    voxels[1:5, 2:6, 1:4] = 3
    path = tmp_path / "p01.seg.nrrd"
    seg_nrrd(path, voxels, segment(0, "lesion", 3, 0), space=space, encoding=encoding)
    [read] = read_slicer(path)
    assert read.grid.difference(IMAGE) == ""
    assert np.array_equal(read.structures()["lesion"], voxels == 3)


def test_a_volume_of_labels_has_numbers_for_names(tmp_path: Path) -> None:
    voxels = blank()
    voxels[0], voxels[5] = 2, 7
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", voxels, {}))
    assert {name: int(mask.sum()) for name, mask in read.structures().items()} == {"2": 56, "7": 56}


def test_labels_of_no_segment_are_counted(tmp_path: Path) -> None:
    voxels = blank()
    voxels[0], voxels[5], voxels[7] = 1, 7, 9
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", voxels, segment(0, "lesion", 1, 0)))
    assert dict(read.left_out) == {"unnamed-values": 2}


def test_nothing_marked_is_empty_and_a_lone_voxel_is_no_grid(tmp_path: Path) -> None:
    told = {"Segmentation_ConversionParameters": geometry()}
    none = seg_nrrd(tmp_path / "none.seg.nrrd", blank(1, 1, 1), told, np.eye(4))
    some = seg_nrrd(tmp_path / "some.seg.nrrd", blank(), segment(0, "lesion", 1, 0) | told)
    for read in read_slicer([none, some]):
        assert (read.status, read.marks, read.grid.shape) == ("empty", (), IMAGE.shape)
    assert {read.status for read in read_slicer(tmp_path, ImportOptions(blank="unread"))} == {"unread"}


def test_a_segment_without_voxels_is_known_by_name(tmp_path: Path) -> None:
    voxels = blank()
    voxels[3] = 1
    keys = segment(0, "lesion", 1, 0) | segment(1, "oedema", 2, 0)
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", voxels, keys))
    assert {name: int(mask.sum()) for name, mask in read.structures().items()} == {"lesion": 56, "oedema": 0}


def test_raters_and_cases_of_templates_folders_and_names(tmp_path: Path) -> None:
    voxels = blank()
    voxels[3] = 1
    for rater in ("A", "B"):
        for case in ("p01", "p02"):
            seg_nrrd(tmp_path / "segs" / rater / f"{case}.seg.nrrd", voxels, segment(0, "lesion", 1, 0))
    named = {(read.rater, read.case) for read in read_slicer([f"{tmp_path}/segs/{{rater}}/{{case}}.seg.nrrd"])}
    assert named == {(rater, case) for rater in "AB" for case in ("p01", "p02")}
    found = {(read.rater, read.image) for read in read_slicer(tmp_path / "segs")}
    assert found == {(rater, f"{case}.seg.nrrd") for rater in "AB" for case in ("p01", "p02")}
    [read] = read_slicer([f"Dr. Who={tmp_path}/segs/A/p01.seg.nrrd"])
    assert read.rater == "Dr. Who"


def test_a_rank_is_a_tag(tmp_path: Path) -> None:
    voxels = blank()
    voxels[3] = 1
    keys = segment(0, "lesion", 1, 0, Tags="Segmentation.Status:completed|severity:2|")
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", voxels, keys), ImportOptions(rank="severity"))
    assert (read.marks[0].rank, read.marks[0].attributes["status"]) == (2, "completed")


def test_reads_travel_to_other_processes(tmp_path: Path) -> None:
    voxels = blank()
    voxels[3] = 1
    [read] = read_slicer(seg_nrrd(tmp_path / "p01.seg.nrrd", voxels, segment(0, "lesion", 1, 0)))
    again = pickle.loads(pickle.dumps(read))
    assert np.array_equal(again.structures()["lesion"], voxels == 1)


def test_many_large_files_are_not_held(tmp_path: Path) -> None:
    voxels = np.zeros((256, 256, 60), np.uint8)
    voxels[50:200, 50:200, 20:40] = 1
    voxels[60:70, 60:70, 20:40] = 2
    first = seg_nrrd(tmp_path / "p00.seg.nrrd", voxels, segment(0, "lesion", 1, 0) | segment(1, "core", 2, 0))
    for number in range(1, 12):
        shutil.copy(first, tmp_path / f"p{number:02}.seg.nrrd")
    tracemalloc.start()
    reads = read_slicer(tmp_path)
    held, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(reads) == 12
    assert held < 0.1 * voxels.nbytes
    assert peak < 9 * voxels.nbytes
    assert {int(read.structures()["core"].sum()) for read in reads} == {2000}

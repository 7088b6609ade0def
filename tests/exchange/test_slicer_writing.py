"""Segmentations of 3D Slicer, written and read back, here and by others."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import SimpleITK as sitk
import slicerio
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from manytruths import CallError, Grid, LabelError
from manytruths.exchange.slicer import read_slicer, write_slicer
from segmentations import IMAGE, read_of

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C", "Z")), min_size=1, max_size=8)


def boxes(**places: tuple[int, int]) -> dict[str, np.ndarray]:
    """Slabs of the image, by name: from one plane to another."""
    masks = {name: np.zeros(IMAGE.shape, bool) for name in places}
    for name, (first, last) in places.items():
        masks[name][first:last, 1:6, 2:5] = True
    return masks


@given(
    st.dictionaries(NAMES, arrays.arrays(bool, (3, 4, 2)), max_size=5),
    st.lists(st.integers(-9, 9), min_size=3, max_size=3),
    st.sampled_from(["done", "unfinished"]),
    st.sampled_from([None, 1, 7]),
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read(
    tmp_path: Path, masks: dict[str, np.ndarray], origin: list[int], status: str, rank: int | None
) -> None:
    affine = np.array(IMAGE.affine)
    affine[:3, 3] = np.array(origin) / 7
    grid = Grid((3, 4, 2), affine=tuple(map(tuple, affine.tolist())))
    marked = any(mask.any() for mask in masks.values())
    read = read_of(
        masks, grid, {} if rank is None else dict.fromkeys(masks, rank), status=status if marked else "empty",
        case="p 01", session="2", subject="Ü", based_on="B",
    )  # fmt: skip
    write_slicer(tmp_path / "x.seg.nrrd", read)
    [back] = read_slicer(tmp_path / "x.seg.nrrd")
    for field in ("rater", "case", "session", "subject", "based_on", "status"):
        assert getattr(back, field) == getattr(read, field), field
    assert back.grid.difference(grid) == ""
    found = back.structures()
    assert list(found) == (list(masks) if marked else [])
    assert all(np.array_equal(found[name], masks[name]) for name in found)
    assert {mark.rank for mark in back.marks} <= {rank}


@pytest.mark.parametrize(
    ("places", "layers"),
    [
        ({"a": (0, 3), "b": (3, 6), "c": (6, 9)}, 1),
        ({"a": (0, 3), "d": (6, 9), "b": (2, 5), "c": (4, 7)}, 2),
        ({"a": (0, 4), "b": (2, 6), "c": (3, 8)}, 3),
    ],
)
def test_others_read_the_same(tmp_path: Path, places: dict[str, tuple[int, int]], layers: int) -> None:
    masks = boxes(**places)
    path = tmp_path / "x.seg.nrrd"
    write_slicer(path, read_of(masks))
    image = sitk.ReadImage(str(path))
    assert (image.GetSize(), image.GetNumberOfComponentsPerPixel()) == (IMAGE.shape, layers)
    index = (3, 5, 2)
    expected = np.diag([-1, -1, 1, 1]) @ np.array(IMAGE.affine) @ [*index, 1]
    assert np.allclose(image.TransformIndexToPhysicalPoint(index), expected[:3])
    planes = sitk.GetArrayFromImage(image).reshape(*IMAGE.shape[::-1], layers)
    theirs = slicerio.read_segmentation(str(path))
    for number, (name, mask) in enumerate(masks.items()):
        told = {key: image.GetMetaData(f"Segment{number}_{key}") for key in ("Name", "LabelValue", "Layer")}
        assert told["Name"] == theirs["segments"][number]["name"] == name
        plane = planes[..., int(told["Layer"])]
        assert np.array_equal(plane.transpose(2, 1, 0) == int(told["LabelValue"]), mask)
        voxels = theirs["voxels"] if layers == 1 else theirs["voxels"][theirs["segments"][number]["layer"]]
        assert np.array_equal(voxels == theirs["segments"][number]["labelValue"], mask)
    assert len({tuple(one["color"]) for one in theirs["segments"]}) == len(masks)


def test_names_of_any_script_reach_simpleitk(tmp_path: Path) -> None:
    write_slicer(tmp_path / "x.seg.nrrd", read_of({"Läsion 腫瘍": boxes(a=(1, 4))["a"]}))
    image = sitk.ReadImage(str(tmp_path / "x.seg.nrrd"))
    assert image.GetMetaData("Segment0_Name") == "Läsion 腫瘍"


def test_one_structure_of_two_ranks_is_two_segments(tmp_path: Path) -> None:
    masks = boxes(a=(1, 3), b=(5, 8))
    one, other = (
        read_of({"lesion": masks["a"]}, ranks={"lesion": 1}),
        read_of({"lesion": masks["b"]}, ranks={"lesion": 2}),
    )
    write_slicer(tmp_path / "x.seg.nrrd", read_of({}, marks=one.marks + other.marks))
    [back] = read_slicer(tmp_path / "x.seg.nrrd")
    assert [(mark.label, mark.rank) for mark in back.marks] == [("lesion", 1), ("lesion", 2)]
    assert np.array_equal(back.structures()["lesion"], masks["a"] | masks["b"])


def test_more_segments_than_a_byte_holds(tmp_path: Path) -> None:
    masks = {f"s{number}": np.zeros((300, 2, 2), bool) for number in range(300)}
    for number, mask in enumerate(masks.values()):
        mask[number] = True
    write_slicer(tmp_path / "x.seg.nrrd", read_of(masks, Grid((300, 2, 2), spacing=(1.0, 2.0, 3.0))))
    [back] = read_slicer(tmp_path / "x.seg.nrrd")
    assert all(np.array_equal(mask, masks[name]) for name, mask in back.structures().items())
    assert back.grid.spacing == (1.0, 2.0, 3.0)


def test_what_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CallError, match="holds volumes"):
        write_slicer(tmp_path / "x.seg.nrrd", read_of({}, Grid((4, 4))))
    with pytest.raises(LabelError, match="rename it"):
        write_slicer(tmp_path / "x.seg.nrrd", read_of({"a\nSegment0_Name:=b": boxes(a=(1, 3))["a"]}))
    assert list(tmp_path.iterdir()) == []

"""BIDS files that are damaged, that lie, or that mean harm: one line each."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from manytruths import InputError
from manytruths.exchange.bids import read_bids
from segmentations import AFFINE, IMAGE, moved, nifti


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    voxels = np.zeros(IMAGE.shape, np.uint8)
    voxels[3] = 1
    return nifti(tmp_path / "sub-01" / "anat" / "sub-01_label-lesion_desc-A_mask.nii.gz", voxels)


def drawn(path: Path) -> None:
    for read in read_bids(path):
        read.structures()


def refused(path: Path, about: Path | None = None) -> str:
    with pytest.raises(InputError) as error:
        drawn(path)
    text = str(error.value)
    assert str(about or path) in text
    assert text.count(str(path)) <= 1
    assert "\n" not in text
    return text


def changed(path: Path, *changes: tuple[int, str, object]) -> None:
    """Other numbers in the header."""
    data = bytearray(gzip.decompress(path.read_bytes()))
    for place, kind, value in changes:
        struct.pack_into(f"<{kind}", data, place, value)
    path.write_bytes(gzip.compress(bytes(data)))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ((42, "h", 30000), "too early"),
        ((42, "h", -5), "its size is"),
        ((42, "h", 0), "its size is"),
        ((46, "h", 6), "more voxels than its header says"),
        ((70, "h", 1792), "one number a voxel"),
        ((70, "h", 9999), "is damaged"),
        ((80, "f", float("nan")), "spacing"),
        ((108, "f", float("nan")), "is damaged"),
        ((108, "f", 1e30), "start at byte"),
        ((112, "f", 0.3), "are not labels"),
        ((280, "f", float("inf")), "not finite"),
    ],
)
def test_headers_that_lie(honest: Path, change: tuple[int, str, object], said: str) -> None:
    changed(honest, change)
    assert said in refused(honest)


def test_sizes_that_no_memory_holds(honest: Path) -> None:
    changed(honest, *((place, "h", 30000) for place in (42, 44, 46)))
    assert "more than" in refused(honest)
    changed(honest, (42, "h", 16000), (44, "h", 16000), (46, "h", 1), (70, "h", 64), (72, "h", 64))
    tracemalloc.start()
    refused(honest)
    assert tracemalloc.get_traced_memory()[1] < 1 << 27
    tracemalloc.stop()


def test_a_bomb_and_an_endless_extension_take_little_memory(honest: Path) -> None:
    data = gzip.decompress(honest.read_bytes())
    zeros = gzip.compress(bytes(1 << 26)) * 4
    tracemalloc.start()
    honest.write_bytes(gzip.compress(data) + zeros)
    assert "more voxels" in refused(honest)
    head = bytearray(data[:348]) + struct.pack("<4bii", 1, 0, 0, 0, (1 << 31) - 16, 6)
    struct.pack_into("<f", head, 108, 1e6)
    honest.write_bytes(gzip.compress(bytes(head)) + zeros)
    refused(honest)
    assert tracemalloc.get_traced_memory()[1] < 1 << 26
    tracemalloc.stop()


def test_files_that_end_too_early(honest: Path) -> None:
    data = honest.read_bytes()
    for size in (0, 1, 9, 60, len(data) - 30, len(data) - 2):
        honest.write_bytes(data[:size])
        refused(honest)


def test_values_that_are_no_mask(honest: Path) -> None:
    voxels = np.zeros(IMAGE.shape, np.float32)
    voxels[1], voxels[2] = 1, 2
    assert "holds the labels 1, 2; call it …_dseg.nii.gz" in refused(nifti(honest, voxels))
    for value in (0.5, np.nan, -1, np.inf):
        voxels[2] = value
        assert "are not labels" in refused(nifti(honest, voxels))


@pytest.mark.parametrize(
    "name", ["sub-.._mask.nii.gz", "lesion_mask.nii.gz", "sub-01_sub-02_mask.nii.gz", "sub-01_desc-._mask.nii.gz",
             "sub-_mask.nii.gz", "sub-01_a_b_mask.nii.gz", "sub-01_desc-a b_mask.nii.gz"],
)  # fmt: skip
def test_names_that_are_none_of_bids(honest: Path, name: str) -> None:
    path = honest.with_name(name)
    path.write_bytes(honest.read_bytes())
    assert "is not a BIDS name" in refused(path)


@pytest.mark.parametrize(
    "text", ["", "{", "[1]", '{"a": ' * 2000, "\x00", '{"manytruths": 3, "Type": 4, "Sources": {}}']
)
def test_sidecars_that_are_none(honest: Path, text: str) -> None:
    path = honest.with_name(honest.name.replace(".nii.gz", ".json"))
    path.write_text(text)
    if "Sources" in text:
        drawn(honest)
    else:
        refused(honest, path)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "no columns index and name"),
        (b"index,name\n1,a\n", "no columns index and name"),
        (b"index\tname\nx\ta\n", "line 2: is damaged"),
        (b"index\tname\n1\ta\n1\tb\n", "line 3: names the label 1 twice"),
        (b"index\tname\n1\t\xff\n", "is damaged"),
        (b"index\tname\n1\n", ""),
        (b"index\tname\n" + b"1" * (1 << 20), "more than 1 MB"),
        (b"index\tname\n" + b"9" * 9999 + b"\ta\n", "line 2: is damaged"),
    ],
)
def test_tables_that_are_none(honest: Path, text: bytes, said: str) -> None:
    path = honest.with_name("sub-01_desc-A_dseg.nii.gz")
    honest.rename(path)
    table = path.with_name("sub-01_desc-A_dseg.tsv")
    table.write_bytes(text)
    if not said:
        [read] = read_bids(path)
        assert [mark.label for mark in read.marks] == ["1"]
    else:
        assert said in refused(path, table)


def test_files_of_one_read_that_do_not_fit_together(honest: Path) -> None:
    voxels = np.ones(IMAGE.shape, np.uint8)
    other = nifti(honest.with_name("sub-01_label-oedema_desc-A_mask.nii.gz"), voxels, moved(AFFINE, (1, 0, 0)))
    assert "put both on one grid" in refused(honest.parent, other)
    other.unlink()
    again = nifti(honest.with_name("sub-01_label-lesion_desc-A_mask.nii"), voxels)
    assert "marks 'lesion', which" in refused(honest.parent, again.parent)

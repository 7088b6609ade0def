"""Segmentations that are damaged, that lie, or that mean harm: one line each."""

from __future__ import annotations

import gzip
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from manytruths import InputError, ManytruthsError
from manytruths.exchange.slicer import read_slicer
from segmentations import IMAGE, layered, seg_nrrd, segment


@pytest.fixture
def honest(tmp_path: Path) -> Path:
    return layered(tmp_path / "A" / "p01.seg.nrrd")


def drawn(path: Path) -> None:
    for read in read_slicer(path):
        read.structures()


def refused(path: Path) -> str:
    with pytest.raises(InputError) as error:
        drawn(path)
    text = str(error.value)
    assert text.startswith(f"{path}: ")
    assert text.count(str(path)) == 1
    assert "\n" not in text
    return text


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (b"NRRD0004", b"PK\x03\x04data", "not an NRRD file"),
        (b"sizes: 2 9 8 7", b"sizes: 2 900000 800000 700000", "more than the largest volume"),
        (b"sizes: 2 9 8 7", b"sizes: 2 9 8 99999999999999999999", "is not a volume"),
        (b"sizes: 2 9 8 7", b"sizes: 2 0 8 7", "is not a volume"),
        (b"sizes: 2 9 8 7", b"sizes: -2 9 8 7", "is not a volume"),
        (b"sizes: 2 9 8 7", b"sizes: 2 9 8", "has 3 axes"),
        (b"sizes: 2 9 8 7", b"sizes: 2 9 8 6", "more voxels than its header says"),
        (b"sizes: 2 9 8 7", b"sizes: 2 9 8 8", "too early"),
        (b"sizes: 2 9 8 7\n", b"", "without sizes"),
        (b"kinds: list", b"kinds: domain", "does not hold layers"),
        (b"type: unsigned char", b"type: block", "of type 'block'"),
        (b"type: unsigned char", b"type: short", "order of bytes"),
        (b"encoding: gzip", b"encoding: bzip2", "stored as bzip2"),
        (b"encoding: gzip", b"encoding: gzip\ndata file: ../../secret.raw", "in another file"),
        (b"encoding: gzip", b"encoding: gzip\nbyte skip: 99999999", "bytes to skip"),
        (b"Segment0_Layer:=0", b"Segment0_Layer:=2", "segment 0: is in layer 2"),
        (b"Segment0_Layer:=0", b"Segment0_Layer:=x", "segment 0: is damaged"),
        (b"Segment1_LabelValue:=2", b"Segment1_LabelValue:=1", "which another one has"),
        (b"Segment1_LabelValue:=2\n", b"", "segment 1: has no label in layer 0"),
        (b"Segment1_LabelValue:=2", b"Segment1_LabelValue:=0", "segment 1: has the label 0"),
        (b";0;8;0;7;0;6;", b";0;8;0;7;", "16 and 6 numbers"),
        (b";0;8;0;7;0;6;", b";0;8;0;7;0;nan;", "16 and 6 numbers"),
        (b";0;8;0;7;0;6;", b";0;8e9;0;7e9;0;6;", "voxels; save it"),
        (b"space origin: (", b"space origin: (nan,", "is damaged"),
        (b"none (-0.5,", b"none (nan,", "not finite"),
        (b"none (-0.5,0.0,0.0)", b"none (0,0,0)", "not positive"),
        (b"kinds:", b"Segmentation_Extent:=0 1 0 1 0 1\nkinds:", "before 2017"),
    ],
)
def test_headers_that_lie(honest: Path, old: bytes, new: bytes, said: str) -> None:
    data = honest.read_bytes()
    assert old in data
    honest.write_bytes(data.replace(old, new, 1))
    assert said in refused(honest)


def test_files_that_end_too_early(honest: Path) -> None:
    data = honest.read_bytes()
    for size in (0, 3, 40, data.index(b"\n\n"), len(data) - 300, len(data) - 9, len(data) - 2):
        honest.write_bytes(data[:size])
        refused(honest)


def test_a_changed_voxel_fails_the_checksum(honest: Path) -> None:
    data = bytearray(honest.read_bytes())
    data[-5] ^= 1
    honest.write_bytes(bytes(data))
    refused(honest)


def test_floats_between_labels_are_refused(tmp_path: Path) -> None:
    voxels = np.full(IMAGE.shape, 0.5, np.float32)
    assert "are not labels" in refused(seg_nrrd(tmp_path / "p.seg.nrrd", voxels, segment(0, "a", 1, 0)))
    voxels[:] = np.nan
    assert "are not labels" in refused(seg_nrrd(tmp_path / "p.seg.nrrd", voxels, segment(0, "a", 1, 0)))
    huge = np.full(IMAGE.shape, 70000, np.int32)
    assert "holds the label 70000" in refused(seg_nrrd(tmp_path / "p.seg.nrrd", huge, segment(0, "a", 1, 0)))


@pytest.mark.slow
def test_a_bomb_and_an_endless_header_take_little_memory(tmp_path: Path) -> None:
    lie = seg_nrrd(tmp_path / "lie.seg.nrrd", np.ones((2, 2, 2), np.uint8), segment(0, "a", 1, 0))
    head = lie.read_bytes().partition(b"\n\n")[0]
    zeros = gzip.compress(bytes(1 << 26)) * 8
    lie.write_bytes(head + b"\n\n" + zeros)
    big = tmp_path / "big.seg.nrrd"
    big.write_bytes(head.replace(b"sizes: 2 2 2", b"sizes: 1024 1024 513") + b"\n\n" + zeros)
    endless = tmp_path / "endless.seg.nrrd"
    endless.write_bytes(b"NRRD0004\n" + b"x" * (1 << 26))
    tracemalloc.start()
    assert "more voxels than its header says" in refused(lie)
    assert "more than the largest volume" in refused(big)
    assert "does not end" in refused(endless)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1 << 26


def test_a_file_that_changes_or_goes_before_it_is_drawn(honest: Path) -> None:
    [read] = read_slicer(honest)
    honest.write_bytes(honest.read_bytes()[:-40])
    with pytest.raises(ManytruthsError):
        read.structures()
    honest.unlink()
    with pytest.raises(ManytruthsError, match="cannot be opened"):
        read.structures()

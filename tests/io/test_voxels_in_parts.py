"""Volumes that are read in parts, which a compressed file is unpacked for."""

from __future__ import annotations

import numpy as np
import pytest

from manytruths.core.errors import FormatError
from manytruths.io import Location
from manytruths.io.nifti import open_voxels
from study_folders import write_nifti


def test_parts_are_those_of_the_whole(tmp_path):
    array = np.random.default_rng(0).integers(0, 9, (7, 8, 9)).astype(np.int16)
    path = tmp_path / "p1.nii.gz"
    write_nifti(path, array)
    voxels = open_voxels(Location(path), tmp_path / "unpacked")
    assert (voxels[2:5, :, 3] == array[2:5, :, 3]).all()


@pytest.mark.parametrize(
    "harm", [lambda data: data[: len(data) // 2], lambda data: data[:200] + bytes(50) + data[250:]]
)
def test_a_file_that_cannot_be_unpacked_is_damaged(harm, tmp_path):
    path = tmp_path / "p1.nii.gz"
    write_nifti(path, np.random.default_rng(0).integers(0, 99, (20, 20, 20)).astype(np.uint8))
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(FormatError, match="damaged or cut short"):
        open_voxels(Location(path), tmp_path / "unpacked")
    assert not (tmp_path / "unpacked").exists()

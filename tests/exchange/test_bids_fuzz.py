"""BIDS files with faults: whatever is changed, they are read or refused."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from manytruths import ManytruthsError
from manytruths.exchange.bids import read_bids
from mutations import mutated
from segmentations import IMAGE, nifti


def outcome(path: Path) -> str:
    """What is said of a dataset; nothing where it can be read and drawn."""
    try:
        for read in read_bids(path):
            read.structures()
    except ManytruthsError as error:
        return str(error)
    return ""


@pytest.mark.slow
def test_bids_files_with_faults(tmp_path: Path) -> None:
    """In the packed volume, in the volume before it is packed, in its header, in the sidecar and in the table."""
    voxels = np.zeros(IMAGE.shape, np.int16)
    voxels[2:4], voxels[5] = 1, 3
    volume = nifti(tmp_path / "sub-01" / "anat" / "sub-01_desc-A_dseg.nii.gz", voxels)
    sidecar, table = (volume.with_name(f"sub-01_desc-A_dseg.{ending}") for ending in ("json", "tsv"))
    told = {"Annotator": "A", "Sources": ["bids::a_mask.nii.gz"], "manytruths": {"Rank": "1", "Case": "p1"}}
    sidecar.write_text(json.dumps(told))
    table.write_text("index\tname\n1\tlesion\n3\toedema\n")
    honest = {path: path.read_bytes() for path in (volume, sidecar, table)}
    plain = gzip.decompress(honest[volume])
    said: list[str] = []
    for seed in range(1500):
        head = plain[:352]
        path, data = (
            (volume, mutated(honest[volume], seed)),
            (volume, gzip.compress(mutated(plain, seed), 1)),
            (volume, gzip.compress(mutated(head, seed)[:352].ljust(352, b"\0") + plain[352:], 1)),
            (sidecar, mutated(honest[sidecar], seed)),
            (table, mutated(honest[table], seed)),
        )[seed % 5]
        path.write_bytes(data)
        said.append(outcome(tmp_path))
        path.write_bytes(honest[path])
    assert not [line for line in said if "\n" in line]
    assert 100 < said.count("") < 1400

"""Segmentations with faults: whatever is changed, they are read or refused."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from manytruths import ManytruthsError
from manytruths.exchange.slicer import read_slicer
from mutations import mutated
from segmentations import layered


def outcome(path: Path) -> str:
    """What is said of a file; nothing where it can be read and drawn."""
    try:
        for read in read_slicer(path):
            read.structures()
    except ManytruthsError as error:
        return str(error)
    return ""


@pytest.mark.slow
def test_slicer_files_with_faults(tmp_path: Path) -> None:
    """In all of the file, packed or not, and in the header alone."""
    path = layered(tmp_path / "A" / "x.seg.nrrd")
    packed = path.read_bytes()
    head, _, data = packed.partition(b"\n\n")
    plain = head.replace(b"encoding: gzip", b"encoding: raw") + b"\n\n" + gzip.decompress(data)
    said: list[str] = []
    for seed in range(1500):
        kinds = (mutated(packed, seed), mutated(plain, seed), mutated(head, seed) + b"\n\n" + data)
        path.write_bytes(kinds[seed % 3])
        said.append(outcome(path))
    assert not [line for line in said if "\n" in line]
    assert 100 < said.count("") < 1400

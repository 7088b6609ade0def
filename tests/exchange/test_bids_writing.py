"""BIDS derivatives, written and read back, here and by others."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import nibabel
import numpy as np
import pytest
from bidsschematools import rules, schema
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

import manytruths
from manytruths import CallError, Grid, StudyError
from manytruths.exchange.bids import read_bids, write_bids
from segmentations import IMAGE, read_of

NAMES = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), min_size=1, max_size=6).filter(str.strip)
SMALL = Grid((3, 4, 2), affine=IMAGE.affine)


def files_of(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@cache
def known() -> list[str]:
    whole = schema.load_schema()
    return [rule["regex"] for rule in rules.regexify_filename_rules(whole.rules.files.deriv.imaging, whole, level=1)]


def valid(name: str) -> bool:
    """Whether the schema of BIDS knows the name among derivatives."""
    return any(re.fullmatch(rule, name) for rule in known())


@st.composite
def studies(draw: st.DrawFn) -> list[object]:
    reads = []
    for case in draw(st.lists(NAMES, min_size=1, max_size=3, unique=True)):
        for rater in draw(st.lists(NAMES, min_size=1, max_size=2, unique=True)):
            masks = draw(st.dictionaries(NAMES, arrays.arrays(bool, SMALL.shape), max_size=3))
            marked = any(mask.any() for mask in masks.values())
            status = draw(st.sampled_from(["done", "unfinished"])) if marked else "empty"
            rank = {name: draw(st.sampled_from([1, 2])) for name in masks if draw(st.booleans())}
            subject = draw(st.sampled_from(["", "x", case]))
            reads.append(read_of(masks, SMALL, rank, case=case, rater=rater, status=status, subject=subject))
    return reads


@given(studies())
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_is_written_is_read(tmp_path_factory: pytest.TempPathFactory, reads: list) -> None:
    folder = tmp_path_factory.mktemp("bids")
    write_bids(folder, iter(reads))
    back = {(read.case, read.rater): read for read in read_bids(folder)}
    assert set(back) == {(read.case, read.rater) for read in reads}
    for read in reads:
        found = back[read.case, read.rater]
        assert found.status == read.status
        assert found.subject == read.subject or not read.subject
        assert found.grid.difference(SMALL) == ""
        if read.status == "empty":
            assert found.marks == ()
            continue
        assert {(mark.label, mark.rank) for mark in found.marks} == {(mark.label, mark.rank) for mark in read.marks}
        masks, expected = found.structures(), read.structures()
        assert all(np.array_equal(masks[name], expected[name]) for name in expected)


def test_names_are_those_of_bids_and_nibabel_reads_them(tmp_path: Path) -> None:
    first, other = np.zeros(IMAGE.shape, bool), np.zeros(IMAGE.shape, bool)
    first[2:5], other[4:7] = True, True
    reads = [
        read_of({"lesion": first, "Ödem (T2)": other}, case="sub-01_ses-2_run-1", subject="01", rater="consensus"),
        read_of({"lesion": first}, case="p-7 left", subject="p-7", rater="consensus"),
        read_of({"lesion": other}, case="p-7 right", subject="p-7", rater="consensus"),
        read_of({}, case="p-8", rater="consensus", status="empty"),
        read_of({}, case="p-9", rater="consensus", status="unread"),
    ]
    write_bids(tmp_path, reads)
    assert [name for name in files_of(tmp_path) if name.endswith(".gz")] == [
        "sub-01/ses-2/anat/sub-01_ses-2_run-1_label-OdemT2_desc-consensus_mask.nii.gz",
        "sub-01/ses-2/anat/sub-01_ses-2_run-1_label-lesion_desc-consensus_mask.nii.gz",
        "sub-p7/anat/sub-p7_acq-p7left_label-lesion_desc-consensus_mask.nii.gz",
        "sub-p7/anat/sub-p7_acq-p7right_label-lesion_desc-consensus_mask.nii.gz",
        "sub-p8/anat/sub-p8_desc-consensus_mask.nii.gz",
    ]
    assert all(valid(name) for name in files_of(tmp_path) if name != "dataset_description.json")
    assert not valid("sub-01/anat/sub-01_desc-consensus_label-lesion_mask.nii.gz")
    image = nibabel.load(tmp_path / "sub-p7/anat/sub-p7_acq-p7right_label-lesion_desc-consensus_mask.nii.gz")
    assert np.array_equal(np.asanyarray(image.dataobj), other.astype(np.uint8))
    assert image.get_data_dtype() == np.uint8
    assert np.allclose(image.affine, IMAGE.affine)
    told = json.loads((tmp_path / "dataset_description.json").read_text())
    assert told["DatasetType"] == "derivative"
    assert told["GeneratedBy"] == [{"Name": "manytruths", "Version": manytruths.__version__}]
    sidecar = tmp_path / "sub-01/ses-2/anat/sub-01_ses-2_run-1_label-OdemT2_desc-consensus_mask.json"
    assert json.loads(sidecar.read_text())["manytruths"]["Structure"] == "Ödem (T2)"


def test_without_sidecars_the_names_still_say_most(tmp_path: Path) -> None:
    mask = np.ones(IMAGE.shape, bool)
    write_bids(tmp_path, [read_of({"lesion": mask}, case="sub-01_ses-2", rater="A")])
    for path in tmp_path.rglob("sub-*.json"):
        path.unlink()
    [read] = read_bids(tmp_path)
    assert (read.case, read.subject, read.rater, list(read.structures())) == ("sub-01_ses-2", "01", "A", ["lesion"])


def test_names_that_become_the_same_stay_apart(tmp_path: Path) -> None:
    masks = {name: np.zeros(IMAGE.shape, bool) for name in ("a-b", "ab", "AB", "腫瘍", "!")}
    for plane, mask in enumerate(masks.values()):
        mask[plane] = True
    reads = [
        read_of(masks, case=case, rater=rater) for case in ("c.1", "c1", "sub-c1") for rater in ("r 1", "r1", "腫")
    ]
    write_bids(tmp_path, reads)
    names = [name.lower() for name in files_of(tmp_path)]
    assert len(set(names)) == len(names) == 1 + 2 * 5 * 9
    back = read_bids(tmp_path)
    assert {(read.case, read.rater) for read in back} == {(read.case, read.rater) for read in reads}
    for read in back:
        assert all(np.array_equal(mask, masks[name]) for name, mask in read.structures().items())


def test_sessions_of_a_rater_and_what_a_read_started_from(tmp_path: Path) -> None:
    read = read_of({"lesion": np.ones(IMAGE.shape, bool)}, case="p1", session="1")
    write_bids(tmp_path, [read, replace(read, session="2", based_on="A/1")])
    assert {(one.session, one.based_on) for one in read_bids(tmp_path)} == {("1", ""), ("2", "A/1")}
    with pytest.raises(StudyError, match="two reads of case p1"):
        write_bids(tmp_path, [read, read])


def test_another_dataset_is_left_alone(tmp_path: Path) -> None:
    description = tmp_path / "dataset_description.json"
    for text in ('{"Name": "raw"}', '{"GeneratedBy": [{"Name": "fMRIPrep"}]}', "no json", "[]"):
        description.write_text(text)
        with pytest.raises(CallError, match="another dataset"):
            write_bids(tmp_path, [read_of({}, status="empty")])
        assert files_of(tmp_path) == ["dataset_description.json"]
        assert description.read_text() == text

"""``manytruths import`` and ``manytruths export TOOL``, whole: what a tool wrote becomes a study, and comes back."""

import csv

import numpy as np
import pytest

import manytruths as mt
from dicom_files import images, masks, segmentation, series_folder
from exchange_reads import bits, read, square
from manytruths import Grid
from manytruths.cli import status
from manytruths.exchange import (
    Mark,
    Reading,
    Whole,
    read_bids,
    read_coco,
    read_cvat,
    read_dicom_seg,
    read_labelstudio,
    read_slicer,
    write_bids,
    write_coco,
    write_cvat,
    write_labelme,
    write_labelstudio,
    write_slicer,
)
from study_folders import write_study

RATERS = ("anna", "ben", "Zoë")


def plane_reads():
    rng = np.random.default_rng(3)
    found = []
    for case in ("p01", "p02", "p3 ü"):
        for k, rater in enumerate(RATERS):
            if (case, rater) == ("p02", "Zoë"):
                continue
            marks = [square(3 + k, 4, 9.25), bits(rng.random((5, 6)) < 0.7, "Ödem", top=12, left=15 + k)]
            found.append(read(f"{case}.png", rater, [] if (case, rater) == ("p01", "ben") else marks, (25, 31)))
    return found


AFFINE = ((-0.7, 0, 0, 12), (0, -0.7, 0, 5), (0, 0, 2.5, -30), (0, 0, 0, 1))


def volume_reads():
    rng = np.random.default_rng(4)
    grid = Grid((9, 10, 6), None, AFFINE)
    found = []
    for case in ("sub-01", "sub-02"):
        common = rng.random(grid.shape) < 0.4
        for rater in ("anna", "ben", "eva"):
            own = common ^ (rng.random(grid.shape) < 0.1)
            marks = (Mark("nodule", Whole(own)), Mark("cyst", Whole(own & (rng.random(grid.shape) < 0.4))))
            found.append(Reading(case, rater, grid, marks, subject=case[4:]))
    return found


def write_all(tool, home, reads):
    """The files of a tool, and what to type behind ``import TOOL``."""
    if tool == "cvat":
        return [str(path) for path in write_cvat(home, reads)]
    if tool == "labelstudio":
        write_labelstudio(home / "tasks.json", reads, kind="annotations")
        return [str(home / "tasks.json")]
    if tool == "coco":
        write_coco(home / "all.json", reads)
        return [str(home / "all.json")]
    if tool == "labelme":
        write_labelme(home, reads)
        return [f"{home}/{{rater}}/{{case}}.json"]
    if tool == "slicer":
        for one in reads:
            write_slicer(home / one.rater / f"{one.image}.seg.nrrd", one)
        return [f"{home}/{{rater}}/{{case}}.seg.nrrd"]
    write_bids(home, reads)
    return [str(home)]


def drawn(study):
    """By case and rater: the mask, as a study reads it."""
    return {(c.name, k.name): np.asarray(m) for c in study for k, m in c.read().masks.items()}


def wanted(reads, names):
    from manytruths.shape.regions import combine_labels

    found = {}
    for one in reads:
        parts = one.structures()
        stack = [parts.get(name, np.zeros(one.grid.shape, bool)) for name in names]
        case = one.case or one.image.removesuffix(".png")
        found[case, one.rater] = combine_labels(stack, range(1, len(names) + 1))
    return found


@pytest.mark.parametrize("tool", ["cvat", "labelstudio", "coco", "labelme", "slicer", "bids"])
def test_every_tool_becomes_the_same_study(tool, tmp_path, capsys):
    reads = volume_reads() if tool in ("slicer", "bids") else plane_reads()
    home = tmp_path / "exports"
    home.mkdir()
    paths = write_all(tool, home, reads)
    to = tmp_path / "study"
    assert status(["import", tool, *paths, "--to", str(to), "--jobs", "1"]) == 0, capsys.readouterr().err
    assert "next: manytruths report" in capsys.readouterr().out
    study = mt.Study.open(to)
    names = tuple(sorted({mark.label for one in reads for mark in one.marks}))
    found, expected = drawn(study), wanted(reads, names)
    assert found.keys() == expected.keys()
    for key, mask in expected.items():
        assert (found[key] == mask).all(), key
    with (to / "reads.csv").open(encoding="utf-8", newline="") as file:
        rows = {(row["case"], row["rater"]): row["status"] for row in csv.DictReader(file)}
    if len(reads[0].grid.shape) == 2:
        assert rows["p01", "ben"] == "empty"
        assert rows["p02", "Zoë"] == "unread"
    else:
        assert set(rows.values()) == {"done"}


def test_dicom_becomes_a_study_and_comes_back(tmp_path, capsys):
    ct = series_folder(tmp_path / "ct")
    for k, rater in enumerate(("Doe^Jane", "Roe^Rick")):
        (tmp_path / "segs").mkdir(exist_ok=True)
        made = segmentation(images(ct), masks(k))
        made.ContentCreatorName = rater
        made.save_as(tmp_path / "segs" / f"{k}.dcm")
    to = tmp_path / "study"
    arguments = ["import", "dicomseg", str(tmp_path / "segs"), str(ct), "--to", str(to), "--jobs", "1"]
    assert status(arguments) == 0, capsys.readouterr().err
    study = mt.Study.open(to)
    expected = read_dicom_seg([tmp_path / "segs", ct])
    assert sorted(study.rater_names) == sorted({one.rater for one in expected})
    assert {c.read().grid.shape for c in study} == {expected[0].grid.shape}
    out = tmp_path / "back"
    call = ["export", "dicomseg", str(to), "--series", str(ct), "--to", str(out), "--consensus", "plurality"]
    assert status([*call, "--jobs", "1"]) == 0, capsys.readouterr().err
    (back,) = read_dicom_seg([*out.glob("*.dcm"), ct])
    check_consensus(study, {next(iter(study)).name: back}, "plurality")


def check_consensus(study, by_case, method):
    """What came back is the consensus, and where raters disagree."""
    tables = study.tally()
    for case in study:
        table = tables[case.name]
        codes = case.paint(mt.consensus(table, method).values, table)
        structures = by_case[case.name].structures()
        stack = np.stack([*case.read().masks.values()])
        assert (structures.pop("disputed") == (stack.min(axis=0) != stack.max(axis=0))).all()
        for value, name in zip(table.labels.values[1:], table.labels.names[1:], strict=True):
            inside = structures.pop(name, np.zeros(case.read().grid.shape, bool))
            assert (inside == (codes == value)).all(), (case.name, name)
        assert not structures


BACK = {
    "cvat": lambda home: read_cvat(home / "annotations.xml"),
    "labelstudio": lambda home: read_labelstudio(home / "predictions.json"),
    "coco": lambda home: read_coco(home / "annotations.json"),
    "slicer": lambda home: read_slicer(sorted(home.glob("*.seg.nrrd"))),
    "bids": lambda home: read_bids(home),
}


@pytest.mark.parametrize("tool", BACK)
def test_the_consensus_goes_back_into_the_tool(tool, tmp_path, capsys):
    reads = volume_reads() if tool in ("slicer", "bids") else plane_reads()
    (tmp_path / "e").mkdir()
    first = "slicer" if tool == "bids" else tool
    paths = write_all(first, tmp_path / "e", reads)
    to, out = tmp_path / "study", tmp_path / "back"
    assert status(["import", first, *paths, "--to", str(to), "--jobs", "1", "-q"]) == 0
    call = ["export", tool, str(to), "--to", str(out), "--consensus", "plurality", "--jobs", "1"]
    assert status(call) == 0, capsys.readouterr().err
    assert f"written to {out}" in capsys.readouterr().out
    study = mt.Study.open(to)
    back = {one.case or one.image.removesuffix(".png"): one for one in BACK[tool](out)}
    assert len(back) == len(study)
    by_case = {
        name: back.get(name) or next(v for k, v in back.items() if name.replace("-", "") in k.replace("-", ""))
        for name in (c.name for c in study)
    }
    check_consensus(study, by_case, "plurality")
    assert status(call) == 0, "a second export takes the place of the first"


def test_without_what_is_disputed(tmp_path):
    (tmp_path / "e").mkdir()
    paths = write_all("cvat", tmp_path / "e", plane_reads())
    assert status(["import", "cvat", *paths, "--to", str(tmp_path / "s"), "-q"]) == 0
    assert status(["export", "cvat", str(tmp_path / "s"), "--to", str(tmp_path / "o"), "--no-mark-disputed", "-q"]) == 0
    labels = {mark.label for one in read_cvat(tmp_path / "o" / "annotations.xml") for mark in one.marks}
    assert labels == {"lesion", "Ödem"}


@pytest.mark.parametrize(
    ("call", "code", "told"),
    [
        (["import", "cvat", "--to", "s"], 2, "no files given"),
        (["import", "cvat", "none.xml", "--to", "s"], 1, "none.xml: there is no such file"),
        (["import", "paint", "a.xml", "--to", "s"], 2, "paint"),
        (["import", "cvat", "a.xml"], 2, "--to"),
        (["import", "coco", "a.json", "--to", "s", "--rename-label", "lesion"], 2, "--rename-label wants OLD=NEW"),
        (["import", "coco", "a.json", "--to", "s", "--widen", "-1"], 2, "--widen must be a number of pixels"),
        (["import", "coco", "a.json", "--to", "s", "--images", "images/x.png"], 1, "{case}"),
        (["export", "dicomseg", "s"], 2, "--series"),
    ],
)
def test_wrong_calls(call, code, told, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert status(call) == code
    assert told in capsys.readouterr().err
    assert not (tmp_path / "s").exists()


def test_volumes_do_not_go_into_tools_of_images(tmp_path, capsys):
    (tmp_path / "e").mkdir()
    paths = write_all("slicer", tmp_path / "e", volume_reads())
    assert status(["import", "slicer", *paths, "--to", str(tmp_path / "s"), "-q"]) == 0
    assert status(["export", "coco", str(tmp_path / "s"), "--to", str(tmp_path / "o")]) == 1
    assert (
        "the study is of volumes, which coco does not take; export to slicer, dicomseg, bids" in capsys.readouterr().err
    )
    assert not (tmp_path / "o").exists()


def test_a_study_without_a_register_goes_into_a_tool(tmp_path):
    template = write_study(tmp_path / "plain")
    assert status(["export", "coco", template, "--to", str(tmp_path / "o"), "-q"]) == 0
    assert {one.image for one in read_coco(tmp_path / "o" / "annotations.json")} == {"p1.png", "p2.png"}

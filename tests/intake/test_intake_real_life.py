"""Exports as people have them: packed, named by the tool, with images elsewhere."""

import json
import zipfile

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from exchange_reads import read, square
from manytruths import FormatError, StudyError
from manytruths.cli import status
from manytruths.exchange import (
    combine_readings,
    read_coco,
    read_cvat,
    read_labelstudio,
    write_coco,
    write_cvat,
    write_labelstudio,
)

SQUARE = [2, 2, 8, 2, 8, 8, 2, 8]


def coco(**annotation):
    return {
        "images": [{"id": 0, "file_name": "p01.png", "width": 30, "height": 20}],
        "categories": [{"id": 1, "name": "lesion"}],
        "annotations": [{"id": 1, "image_id": 0, "category_id": 1, "segmentation": [SQUARE], **annotation}],
    }


@pytest.mark.parametrize(
    "annotation",
    [{}, {"image_id": "0", "category_id": "1"}, {"segmentation": SQUARE}],
    ids=["plain", "numbers as texts", "one ring without brackets"],
)
def test_coco_as_several_tools_write_it(annotation, tmp_path):
    (tmp_path / "a.json").write_text(json.dumps(coco(**annotation)))
    (found,) = read_coco(tmp_path / "a.json")
    assert found.structures()["lesion"].sum() == 36


def test_coco_in_the_archive_that_cvat_makes(tmp_path):
    path = tmp_path / "task_lesions anna_annotations_2025_07_31_09_54_02_coco 1.0.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("annotations/instances_default.json", json.dumps(coco()))
    (found,) = read_coco(path)
    assert found.rater == "lesions anna"
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("annotations/instances_train.json", json.dumps(coco()))
    with pytest.raises(FormatError, match=r"holds 2 files that end in \.json"):
        read_coco(path)


def test_raters_are_called_as_their_folders_where_all_files_are_called_the_same(tmp_path):
    for rater in ("anna", "ben"):
        path = tmp_path / rater / "annotations" / "instances_default.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(coco()))
    assert [one.rater for one in read_coco(tmp_path)] == ["anna", "ben"]


def test_an_export_of_ours_is_read_as_a_folder(tmp_path):
    write_coco(tmp_path / "annotations.json", [read(marks=[square(2, 2, 5)])])
    (tmp_path / "summary.json").write_text("{}")
    assert len(read_coco(tmp_path)) == 1


def test_the_digits_that_label_studio_puts_before_names(tmp_path):
    images = ["/data/upload/1/3f2a91c0-p01.png", "/data/upload/1/00aa11bb-p02.png", "11112222-p02.png"]
    write_labelstudio(tmp_path / "t.json", [read(name, marks=[square(2, 2, 5)]) for name in images], kind="annotations")
    cases = combine_readings(read_labelstudio(tmp_path / "t.json")).cases
    assert sorted(cases) == ["00aa11bb-p02", "11112222-p02", "p01"]


def test_an_image_that_is_called_differently_in_two_files():
    reads = [read("p01.png", "anna", [square(2, 2, 5)]), read("p01_png.rf.3f2a.jpg", "ben", [square(2, 2, 5)])]
    assert len(combine_readings(reads).cases) == 2
    assert combine_readings(reads, rename_case={"p01_png.rf.3f2a": "p01"}).cases == ("p01",)
    with pytest.raises(StudyError, match="there is no case 'p1' to rename; did you mean 'p01'"):
        combine_readings(reads, rename_case={"p1": "p01"})


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Two exports, and images in a folder of their own."""
    monkeypatch.chdir(tmp_path)
    for k, rater in enumerate(("anna", "ben")):
        write_cvat(f"{rater}.xml", [read(f"{case}.png", rater, [square(2 + k, 2, 6)]) for case in ("p01", "p02")])
    (tmp_path / "pictures").mkdir()
    for case in ("p01", "p02"):
        Image.fromarray(np.zeros((20, 30), np.uint8)).save(f"pictures/{case}.png")
    return tmp_path


CALL = ["import", "cvat", "anna.xml", "ben.xml", "--to", "study"]


def test_images_that_stay_where_they_are(folder):
    assert status([*CALL, "--images", "pictures/{case}.png", "-q"]) == 0
    assert [case.picture().shape for case in mt.Study.open("study")] == [(20, 30)] * 2


def test_images_that_are_not_there(folder, capsys):
    assert status([*CALL, "--images", "pictures/{case}.jpg"]) == 1
    assert "{case}.jpg" in capsys.readouterr().err
    assert status([*CALL, "--images", "pictures/{case}1.png"]) == 1
    assert "finds p0, and cases are called p01, p02" in capsys.readouterr().err
    assert not (folder / "study").exists()


def test_the_import_says_what_to_know(folder, capsys):
    write_cvat("clara.xml", [read("P1.png", "clara", [square(2, 2, 6)])])
    call = ["import", "cvat", "anna.xml", "ben.xml", "clara.xml", "--to", "study"]
    assert status(call) == 0
    said = capsys.readouterr().out
    assert "1 of 3 cases are in the files of one rater alone (P1)" in said
    assert 'no image came along; say where they are, as --images "FOLDER/{case}.png"' in said
    assert status([*call, "--rename-case", "P1=p01", "--replace"]) == 0
    assert "2 cases, 3 raters" in capsys.readouterr().out


def started_from_a_model():
    """Two who corrected what a model had drawn, and two who drew by themselves."""
    task = {"id": 1, "data": {"image": "/data/upload/1/3f2a91c0-p01.png", "width": 30, "height": 20}}

    def result(x):
        value = {"points": [[x, 10], [x + 30, 10], [x + 30, 60], [x, 60]], "polygonlabels": ["lesion"]}
        size = {"original_width": 30, "original_height": 20, "image_rotation": 0}
        return [{"type": "polygonlabels", "from_name": "l", "to_name": "i", "id": f"r{x}", "value": value, **size}]

    own = [{"id": k, "completed_by": k, "result": result(10 + k)} for k in (1, 2)]
    corrected = {"id": 3, "completed_by": 3, "result": result(16), "parent_prediction": 77}
    again = {"id": 4, "completed_by": 4, "result": result(18), "parent_annotation": 3}
    model = {"id": 77, "model_version": "unet, v2", "result": result(20)}
    return [{**task, "annotations": [*own, corrected, again], "predictions": [model]}]


def test_models_that_raters_started_from_are_no_raters(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.json").write_text(json.dumps(started_from_a_model()))
    call = ["import", "labelstudio", "t.json", "--to", "study", "--rename-rater", "1=anna,2=ben,3=eva,4=zoe"]
    assert status([*call, "--rename-rater", "unet, v2=unet"]) == 0, capsys.readouterr().err
    said = capsys.readouterr().out
    assert "models that readings started from are not raters: unet ([exclude] in study.toml)" in said
    assert (
        "readings edited from another rater's are excluded from agreement and consensus: eva in p01, zoe in p01" in said
    )
    study = mt.Study.open("study")
    assert study.rater_names == ("anna", "ben")
    assert {str(c): str(edit.parent) for c, edit in study["p01"].edits.items()} == {"eva": "unet", "zoe": "eva"}
    assert status(["agree", "study", "--no-pictures"]) == 0, capsys.readouterr().err
    assert (tmp_path / "manytruths-out" / "agree" / "edits.csv").is_file()


def test_images_are_called_as_the_tool_calls_them_on_the_way_back(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for k, rater in enumerate(("anna", "ben")):
        write_cvat(f"{rater}.xml", [read("ward 3/p01.png", rater, [square(2 + k, 2, 6)])])
    assert status([*CALL, "-q"]) == 0
    assert status(["export", "cvat", "study", "--to", "back", "-q"]) == 0
    assert [one.image for one in read_cvat("back/annotations.xml")] == ["ward 3/p01.png"]


def test_a_mask_that_was_changed_after_the_import(folder, capsys):
    assert status([*CALL, "-q"]) == 0
    assert status(["check", "study"]) == 0
    assert "is not the one that" not in capsys.readouterr().out
    Image.fromarray(np.eye(20, 30, dtype=np.uint8)).save("study/masks/anna/p01.png")
    assert status(["check", "study"]) == 0
    assert "the mask of rater anna in case p01 is not the one that study/reads.csv knows" in capsys.readouterr().out

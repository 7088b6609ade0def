"""``mt.export``: arguments are looked at first, and the result shows what was written."""

from __future__ import annotations

import pytest
from export_studies import template, write_cases

import manytruths as mt


@pytest.fixture
def study(tmp_path):
    write_cases(tmp_path, cases=2)
    masks, _, images = template(tmp_path)
    return mt.Study.open(masks, images=images)


@pytest.mark.parametrize(
    ("format", "wrong"),
    [
        ("nnunet", {"consensus": "vote:0.5,staple"}),
        ("nnunet", {"id": 1000}),
        ("nnunet", {"name": "a b"}),
        ("nnunet", {"folds": 1}),
        ("nnunet", {"link": True}),
        ("monai", {"id": 7}),
        ("coco", {"consensus": "stapel"}),
        ("coco", {"folds": 3}),
        ("coco", {"series": "ct"}),
        ("dicomseg", {}),
        ("paint", {}),
    ],
)
def test_wrong_arguments_are_refused_before_the_study_is_opened(tmp_path, format, wrong):
    with pytest.raises(mt.CallError):
        mt.export("nowhere/{rater}/{case}.png", format, to=tmp_path / "out", **wrong)
    assert not (tmp_path / "out").exists()


def test_the_result_of_a_training_set(study, tmp_path):
    done = mt.export(study, "monai", to=tmp_path / "out", disputed="replicate")
    assert list(done.tables) == ["cases", "labels"]
    assert len(done.tables["cases"]) == sum(len(case.masks) for case in study)
    assert done.tables["labels"].to_frame()["name"].tolist()[0] == "background"
    assert repr(done) == f"<Export: 2 cases for monai in {tmp_path / 'out'}; tables: cases, labels>"
    assert all((done.folder / path).is_file() for path in done.files)
    with pytest.raises(mt.CallError, match="written when it is made"):
        done.write("elsewhere")


def test_the_result_of_a_tool(study, tmp_path):
    done = mt.export(study, "coco", to=tmp_path / "out", consensus="vote:0.5", mark_disputed=False)
    assert [str(path) for path in done.files] == ["annotations.json"]
    assert done.summary()["structures"] == ["1"]
    assert done.summary()["reference"] == "vote:0.5"

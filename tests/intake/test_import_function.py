"""``mt.import_study``: arguments are looked at first, and the result shows what was made."""

from __future__ import annotations

import pytest

import manytruths as mt
from exchange_reads import read, square


def readings():
    return [read("p01.png", rater, [square(1, 1, 3)]) for rater in ("anna", "ben")]


@pytest.mark.parametrize(
    "wrong",
    [
        {"overlap": "none"},
        {"rule": "edge"},
        {"blank": "no"},
        {"unfinished": True},
        {"widen": 0},
        {"widen": 2000},
        {"images": "images/p01.png"},
        {"images": "nowhere/{case}.png"},
        {"paths": ["a.xml"]},
        {"tool": "paint"},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_wrong_arguments_leave_the_folder_alone(tmp_path, wrong):
    mt.import_study(readings(), to=tmp_path / "study")
    before = {path: path.read_bytes() for path in sorted((tmp_path / "study").rglob("*")) if path.is_file()}
    with pytest.raises(mt.ManytruthsError):
        mt.import_study(**{"tool": readings(), "to": tmp_path / "study", "replace": True, **wrong})
    assert {path: path.read_bytes() for path in sorted((tmp_path / "study").rglob("*")) if path.is_file()} == before
    assert [path.name for path in tmp_path.iterdir()] == ["study"]


def test_the_result(tmp_path):
    imported = mt.import_study(readings(), to=tmp_path / "study", rename_rater={"ben": "Ben"})
    assert imported.folder == tmp_path / "study"
    assert imported.statuses == {"done": 2}
    assert imported.study().rater_names == ("Ben", "anna")
    assert list(imported.tables) == ["reads", "images"]
    assert imported.tables["reads"].to_frame()["rater"].tolist() == ["Ben", "anna"]
    assert repr(imported) == ("<ImportedStudy: 1 case, 2 raters (Ben, anna): 2 reads, 2 done; tables: reads, images>")
    assert "reads (2 rows)" in imported._repr_html_()
    assert imported.summary()["structures"] == ["lesion"]
    with pytest.raises(mt.CallError, match="written when it is made"):
        imported.write("elsewhere")

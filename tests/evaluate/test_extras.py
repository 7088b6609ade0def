"""What ``evaluate`` makes beyond scores: what it says of thin rims, and of a grading sheet without images."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.analyses.evaluate.second_look import CaseLook, tabulate_places
from study_folders import disc, write_png, write_study


@pytest.mark.parametrize("side", [None, 0.1, 3.0])
def test_thin_rims_of_what_raters_marked_are_counted(side):
    """Two pixels wide around the raters' object, or as thin but by itself; three pixels wide is no rim."""
    drawn = np.zeros((60, 80), bool)
    drawn[10:30, 10:30] = drawn[10:30, 50:70] = True
    rim, thick, own = np.zeros((3, 60, 80), bool)
    rim[8:10, 10:30] = True
    thick[10:30, 70:73] = True
    own[45:47, 10:30] = True
    seen = dict.fromkeys("ab", drawn | rim | thick | own)
    spacing = None if side is None else (side, side)
    places = mt.second_look(seen, {"A": drawn}, spacing=spacing)
    assert len(places.places) == 3
    study = mt.Study.from_arrays({"p1": {"A": drawn, "B": drawn}})
    found = tabulate_places(study, {"p1": CaseLook(places, side or 1.0)})
    assert [(r.rank, r.place.adjoins, r.place.box) for r in found.ranked] == [
        (1, False, ((45, 47), (10, 30))), (2, True, ((10, 30), (70, 73)))
    ]  # fmt: skip
    assert found.notes == ("1 rim, thin and beside what raters marked, is left out of the second look",)


def sheet_notes(folder, *, images):
    masks = write_study(folder)
    for name in ("unet", "vnet"):
        for case in ("p1", "p2"):
            write_png(folder / f"pred/{name}/{case}.png", disc())
    study = mt.Study.open(masks, predictions=f"{folder}/pred/{{algorithm}}/{{case}}.png", images=images)
    found = mt.evaluate(study, out=folder / "out", consensus="vote:0.5", grading_sheet=True)
    assert (folder / "out/evaluate/grading/sheet.csv").is_file()
    return [note for note in found.notes if "grading sheet" in note]


def test_a_grading_sheet_without_images_says_so(tmp_path):
    wanted = ["there are no images: the grading sheet shows outlines on grey; give --images"]
    assert sheet_notes(tmp_path, images=None) == wanted


def test_a_grading_sheet_with_some_images_says_how_many_it_has_not(tmp_path):
    for case in ("p1", "p2"):
        write_png(tmp_path / f"images/{case}.png", disc() * 90)
    images = f"{tmp_path}/images/{{case}}.png"
    assert sheet_notes(tmp_path, images=images) == []
    write_png(tmp_path / "images/p2.png", disc(30))
    assert sheet_notes(tmp_path, images=images)[0].startswith("1 of 2 cases on the grading sheet has no image")


def test_a_grading_sheet_needs_a_folder(tmp_path):
    masks = write_study(tmp_path)
    write_png(tmp_path / "pred/p1.png", disc())
    with pytest.raises(mt.CallError, match="say where with out="):
        mt.evaluate(masks, predictions=f"{tmp_path}/pred/{{case}}.png", grading_sheet=True)

"""Sizes of what raters marked: units, labels, sessions, borders, empty masks, means, and what is switched off."""

from __future__ import annotations

import csv
import math

import numpy as np
import pytest

import manytruths as mt
from manytruths.core.undefined import code, code_of
from manytruths.shape.grid import Grid
from study_folders import run, write_study


def box(shape, *slices):
    mask = np.zeros(shape, np.uint8)
    mask[slices] = 1
    return mask


@pytest.fixture(scope="module")
def plane():
    """Two cases of one subject, one of another; B marks nothing in p3, A read p1 twice."""
    shape = (20, 24)
    a, b = box(shape, slice(2, 8), slice(3, 13)), box(shape, slice(2, 8), slice(3, 12))
    a[15, 20] = 1
    cases = {
        "p1": {("A", "1"): a, ("A", "2"): b, "B": b},
        "p2": {("A", "1"): box(shape, slice(0, 4), slice(5, 9)), "B": b},
        "p3": {("A", "1"): a, "B": np.zeros(shape, np.uint8)},
    }
    return mt.sizes(mt.Study.from_arrays(cases, subjects={"p1": "s1", "p2": "s1", "p3": "s2"}, spacing=(0.5, 2.0)))


def value(result, statistic, case, rater, session="", label="", unit=None):
    rows = [
        row
        for row in result.tables["sizes"].all(statistic, "case")
        if (row.case, row["rater"], row["session"], row.label) == (case, rater, session, label)
    ]
    (row,) = rows
    assert unit is None or row["unit"] == unit
    return row.value


def test_areas_axes_and_positions_are_in_mm(plane):
    table = plane.tables["sizes"]
    assert table.extra == ("rater", "session", "unit")
    assert value(plane, "area", "p1", "A", "1", unit="mm²") == 61
    assert value(plane, "area", "p1", "A", "2", unit="mm²") == 54
    assert value(plane, "lesions", "p1", "A", "1", unit="") == 2
    lesion = mt.diameters(box((20, 24), slice(2, 8), slice(3, 13)), (0.5, 2.0))[0]
    assert value(plane, "long_axis", "p1", "A", "1", unit="mm") == lesion.long_axis
    assert value(plane, "short_axis", "p1", "A", "1", unit="mm") == lesion.short_axis
    assert value(plane, "sum_long_axes", "p1", "A", "1", unit="mm") == lesion.long_axis + 2.0
    assert value(plane, "centroid_0", "p1", "B", unit="mm") == 4.5 * 0.5
    assert value(plane, "centroid_1", "p1", "B", unit="mm") == 7 * 2.0
    assert "diameter_3d" not in {row.statistic for row in table.rows}


def test_empty_masks_have_no_axes_but_a_size(plane):
    empty = {s: value(plane, s, "p3", "B") for s in ("area", "lesions", "sum_long_axes", "cut_by_border")}
    assert set(empty.values()) == {0.0}
    for statistic in ("long_axis", "short_axis", "centroid_0"):
        assert code(value(plane, statistic, "p3", "B")) == "rater_marked_nothing"


def test_marks_at_the_border_are_flagged(plane):
    assert value(plane, "cut_by_border", "p2", "A", "1") == 1
    assert value(plane, "cut_by_border", "p2", "B") == 0


def test_means_are_over_subjects_by_rater_and_session(plane):
    row = plane.tables["sizes"].find("area", "mean", rater="B", session="", unit="mm²")
    assert (row.value, row.n, row.n_undefined) == (27.0, 2, 0)
    again = plane.tables["sizes"].find("area", "mean", rater="A", session="2", unit="mm²")
    assert (again.value, again.n, again.n_undefined) == (54.0, 1, 1)
    axes = plane.tables["sizes"].find("long_axis", "mean", rater="B", session="", unit="mm")
    assert (axes.n, axes.n_undefined) == (1, 1)


def test_agree_writes_the_same_table(plane, tmp_path):
    result = mt.agree(plane.study, pictures=False, out=tmp_path)
    assert list(map(str, result.tables["sizes"].records())) == list(map(str, plane.tables["sizes"].records()))
    with (tmp_path / "agree/sizes.csv").open(encoding="utf-8") as file:
        assert next(csv.reader(file))[5:8] == ["rater", "session", "unit"]
    without = mt.agree(plane.study, pictures=False, measure="none")
    assert "sizes" not in without.tables
    assert "sizes" in mt.agree(plane.study, pictures=False, measure="lesions, sizes").tables
    with pytest.raises(mt.CallError, match="any of sizes, distances, lesions; got size"):
        mt.agree(plane.study, measure="size")


def test_volumes_are_in_ml_and_slices_across_the_coarsest_axis():
    mask = box((12, 12, 6), slice(2, 7), slice(3, 6), slice(1, 4))
    study = mt.Study.from_arrays({"p": {"A": mask, "B": mask}}, spacing=(1.0, 1.0, 5.0))
    result = mt.sizes(study)
    assert value(result, "volume", "p", "A", unit="ml") == pytest.approx(45 * 5 / 1000)
    assert value(result, "long_axis", "p", "A") == pytest.approx(mt.diameters(mask[:, :, 1])[0].long_axis)
    (lesion,) = mt.diameters(mask, (1, 1, 5))
    assert value(result, "diameter_3d", "p", "A", unit="mm") == lesion.diameter_3d
    assert value(result, "centroid_2", "p", "A", unit="mm") == 10.0
    assert value(result, "cut_by_border", "p", "A") == 0


def test_positions_in_the_patient():
    from manytruths.measures.sizes import measure_mark

    affine = ((-2.0, 0, 0, 100.0), (0, 2.0, 0, -50.0), (0, 0, 4.0, 7.0), (0, 0, 0, 1))
    found = measure_mark(box((8, 8, 8), slice(1, 4), slice(2, 3), slice(5, 6)) > 0, Grid((8, 8, 8), affine=affine))
    assert found.centroid == (96.0, -46.0, 27.0)
    assert found.size == pytest.approx(3 * 16 / 1000)


def test_without_spacing_sizes_are_in_pixels_and_are_not_mixed_with_mm():
    mask = box((10, 10), slice(2, 6), slice(2, 6))
    study = mt.Study.from_arrays(
        {case: {"A": mask, "B": mask} for case in ("p1", "p2", "p3")}, spacing={"p1": (1.0, 1.0), "p2": (2.0, 2.0)}
    )
    result = mt.sizes(study)
    assert value(result, "area", "p1", "A", unit="mm²") == 16
    assert value(result, "area", "p2", "A", unit="mm²") == 64
    assert value(result, "area", "p3", "A", unit="pixels") == 16
    assert value(result, "long_axis", "p3", "A", unit="pixels") == 5
    assert value(result, "lesions", "p3", "A", unit="") == 1
    means = {
        row["unit"]: (row.value, row.n) for row in result.tables["sizes"].all("area", "mean") if row["rater"] == "A"
    }
    assert means == {"mm²": (40.0, 2), "pixels": (16.0, 1)}
    assert [code_of(note) for note in result.notes] == ["mixed_size_units"]


def test_labels_are_measured_one_by_one():
    mask = box((12, 12), slice(2, 6), slice(2, 6))
    mask[7:9, 2:11] = 2
    only = box((12, 12), slice(2, 6), slice(2, 6))
    study = mt.Study.from_arrays({"p1": {"A": mask, "B": only}, "p2": {"A": only, "B": only}}, labels={1: "g", 2: "t"})
    result = mt.sizes(study)
    assert value(result, "area", "p1", "A", label="t") == 18
    assert value(result, "area", "p1", "B", label="t") == 0
    assert value(result, "area", "p2", "B", label="t") == 0
    united = mt.sizes(mt.Study.from_arrays({"p1": {"A": mask, "B": only}}, foreground="any"))
    assert value(united, "area", "p1", "A") == 34
    assert value(united, "lesions", "p1", "A") == 2


def test_what_was_not_rated_or_lies_outside_is_not_measured(tmp_path):
    mask = box((12, 12), slice(2, 6), slice(2, 6))
    mask[9:11] = 9
    study = mt.Study.from_arrays({"p1": {"A": mask, "B": mask}}, void=9)
    assert value(mt.sizes(study), "area", "p1", "A") == 16
    hidden = np.ma.array(box((12, 12), slice(2, 6), slice(2, 6)), mask=np.arange(144).reshape(12, 12) >= 48)
    study = mt.Study.from_arrays({"p1": {"A": hidden, "B": hidden}})
    assert value(mt.sizes(study), "area", "p1", "A") == 8


def test_a_region_of_interest_cuts_marks(tmp_path):
    from PIL import Image

    template = write_study(tmp_path, raters="AB", cases=("p1",))
    size = np.asarray(Image.open(tmp_path / "masks/A/p1.png")).shape
    roi = np.zeros(size, np.uint8)
    roi[: size[0] // 2] = 255
    (tmp_path / "roi").mkdir()
    Image.fromarray(roi).save(tmp_path / "roi/p1.png")
    whole = mt.sizes(mt.Study.open(template))
    part = mt.sizes(mt.Study.open(template, roi=f"{tmp_path}/roi/{{case}}.png"))
    assert 0 < value(part, "area", "p1", "A") < value(whole, "area", "p1", "A")
    assert (value(whole, "cut_by_border", "p1", "A"), value(part, "cut_by_border", "p1", "A")) == (0, 1)
    assert {row.region for row in part.tables["sizes"].rows} == {"mask"}


def test_exchangeable_raters_have_sizes_but_no_means():
    mask = box((12, 12), slice(2, 6), slice(2, 6))
    study = mt.Study.from_arrays({"p1": [mask, mask], "p2": [mask, mask]}, raters="exchangeable")
    # over all cases there is only the number of those whose marks touch the border
    rows = mt.sizes(study).tables["sizes"].rows
    assert {(row.scope, row.statistic) for row in rows if row.scope != "case"} == {("pooled", "cut_by_border")}


def test_masks_of_one_axis_have_no_sizes():
    study = mt.Study.from_arrays({"p1": {"A": [0, 1, 1], "B": [0, 0, 1]}})
    assert "sizes" not in mt.sizes(study).tables
    assert "sizes" not in mt.agree(study, pictures=False).tables


def test_speckle_is_counted_but_not_measured(monkeypatch):
    import manytruths.measures.sizes as sizes

    monkeypatch.setattr(sizes, "MOST_COMPONENTS", 10)
    mask = np.zeros((12, 12), np.uint8)
    mask[::2, ::2] = 1
    result = mt.sizes(mt.Study.from_arrays({"p1": {"A": mask, "B": mask}}))
    assert value(result, "lesions", "p1", "A") == 36
    assert value(result, "area", "p1", "A") == 36
    assert code(value(result, "long_axis", "p1", "A")) == "too_many_components"
    assert math.isnan(value(result, "sum_long_axes", "p1", "A"))


def test_the_command_line_has_the_option(tmp_path, capsys):
    template = write_study(tmp_path)
    every = ("--no-pictures", "--jobs", 1, "--out", tmp_path / "out")
    assert run(capsys, "agree", template, "--measure", "none", *every).status == 0
    assert not (tmp_path / "out/agree/sizes.csv").exists()
    assert run(capsys, "agree", template, *every).status == 0
    assert (tmp_path / "out/agree/sizes.csv").exists()
    done = run(capsys, "agree", template, "--measure", "sises", *every)
    assert done.status == 2
    assert "any of sizes, distances, lesions" in done.line


@pytest.mark.parametrize("study", [np.eye(5), {}, None])
@pytest.mark.parametrize("function", [mt.sizes, mt.agree])
def test_what_is_no_study_is_refused_in_one_line(function, study):
    with pytest.raises(mt.CallError, match="study must be a Study, a template such as") as found:
        function(study)
    assert type(study).__name__ in str(found.value)
    with pytest.raises(mt.CallError, match="masks must be a template"):
        mt.Study.open(study)

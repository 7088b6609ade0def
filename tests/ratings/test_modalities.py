"""The command ``mrmc``: tables of ratings by reader, case and modality."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from data_folder import data
from study_folders import run, table


def test_van_dyke_on_the_command_line(tmp_path, capsys):
    path = data("ratings", "VanDyke.csv")
    done = run(capsys, "mrmc", path, "--modality", "treatment", "--out", tmp_path)
    assert done.status == 0, done.err
    assert "other readers and cases      4.46    1   15.26   0.0517" in done.out
    rows = {(r["population"], r["statistic"], r["rater"]): r for r in table(tmp_path / "mrmc/mrmc.csv")}
    difference = rows["readers and cases", "roc_area_difference", ""]
    found = [f"{float(difference[name]):.4f}" for name in ("value", "low", "high")]
    assert found == ["-0.0438", "-0.0880", "0.0004"]
    assert f"{float(rows['cases', 'roc_area_difference_p_value', '5']['value']):.8f}" == "0.02300099"
    delong = mt.compare_modalities(path, covariance="delong").comparison
    assert f"{delong.both.p_value:.8f}" == "0.05123303"


def write(path, lines, header="case,reader,treatment,rating,truth"):
    path.write_text("\n".join([header, *lines]))
    return path


def lines(cases=12, truth=True):
    rng = np.random.default_rng(0)
    return [
        f"c{k},r{j},m{i},{rng.integers(1, 6)}" + (f",{'ill' if k % 2 else 'healthy'}" if truth else "")
        for k in range(cases) for j in range(3) for i in range(2)
    ]  # fmt: skip


def test_the_chart_has_every_reader_the_means_and_the_differences(tmp_path):
    result = mt.compare_modalities(data("ratings", "VanDyke.csv"), modality="treatment", out=tmp_path)
    chart, found = result.charts["readers"], result.comparison
    assert (tmp_path / "mrmc/charts/readers.svg").read_text(encoding="utf-8") == chart
    for j, reader in enumerate(found.readers):
        assert f"{reader}: 1 {found.values[0, j]:.3f}, 2 {found.values[1, j]:.3f}" in chart
    both = found.both.differences[0]
    words = f"other readers and cases: {both.value:.3f} ({both.low:.3f} to {both.high:.3f})".replace("-", "−")
    assert words in chart
    mt.compare_modalities(data("ratings", "VanDyke.csv"), modality="treatment", out=tmp_path, pictures=False)
    assert not (tmp_path / "mrmc/charts").exists()


def test_incomplete_cases_are_left_out_and_means_are_compared_without_a_reference(tmp_path):
    path = write(tmp_path / "t.csv", [*lines(14)[:-1], "c13,r2,m1,NA,ill"])
    result = mt.compare_modalities(path, positive="ill")
    assert result.comparison.cases == 13
    assert result.notes == ("1 case without a rating by every reader with every modality left out",)
    assert (result.settings.positive, result.comparison.metric) == ("ill", "roc_area")
    other = mt.compare_modalities(path, positive="healthy").comparison
    assert other.values == pytest.approx(1 - result.comparison.values)
    means = mt.compare_modalities(write(tmp_path / "m.csv", lines(12, truth=False), "case,reader,treatment,rating"))
    assert means.comparison.metric == "mean"
    where = {"population": "cases", "modality_a": "m0", "modality_b": "m1", "rater": ""}
    row = means.tables["mrmc"].find("mean_difference", "mean", **where)
    assert row.value == pytest.approx(means.comparison.values.mean(axis=1) @ [1, -1])


def test_subjects_with_several_cases_are_left_out_together(tmp_path):
    header = "case,reader,treatment,rating,truth,patient"
    path = write(tmp_path / "t.csv", [f"{line},p{int(line[1 : line.index(',')]) // 2}" for line in lines(24)], header)
    assert mt.compare_modalities(path).comparison.subjects == 12
    with pytest.raises(mt.CallError, match="takes every case as a subject"):
        mt.compare_modalities(path, covariance="delong")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (["c1,r1,m1,3,0", "c1,r1,m1,4,0", "c1,r1,m2,4,0"], "the same modality, reader and case are in line 2"),
        (["c1,r1,m1,three,0", "c1,r1,m2,4,0"], "rating 'three' is not a number"),
        (["c1,r1,m1,3,0", "c1,r1,m2,4,1"], "the reference of case c1 is '1' here and '0' above"),
        (["c1,r1,m1,3,0", ",r1,m2,4,1"], "the case is empty"),
        (["c1,r1,m1,3,0"], "has one modality"),
        (["c1,r1,m1,3,0", "c2,r1,m2,3,1"], "no case has a rating by every reader"),
        (["c1,r1,m1,3,0", "c1,r1,m2,3,0"], "need a reference of two values"),
    ],
)
def test_tables_that_cannot_be_used(tmp_path, content, words, capsys):
    path = write(tmp_path / "t.csv", content)
    with pytest.raises((mt.FormatError, mt.InputError), match=words):
        mt.compare_modalities(path)
    assert run(capsys, "mrmc", path, "--out", tmp_path / "out").status == 1
    assert not (tmp_path / "out").exists()


def test_a_table_without_the_columns(tmp_path):
    path = write(tmp_path / "t.csv", ["c1,r1,3"], "case,reader,rating")
    with pytest.raises(mt.FormatError, match=r"has no column 'modality' or 'treatment' .* name it with --modality COL"):
        mt.compare_modalities(path)
    full = write(tmp_path / "m.csv", lines(12, truth=False), "case,reader,treatment,rating")
    with pytest.raises(mt.CallError, match="is of a reference, but the table has none"):
        mt.compare_modalities(full, positive="1")


@pytest.mark.parametrize("option", ["--modality", "--reference-column"])
def test_an_absent_column_names_the_option_that_asked_for_it(option, tmp_path, capsys):
    path = write(tmp_path / "t.csv", lines(12, truth=False), "case,reader,treatment,rating")
    done = run(capsys, "mrmc", path, option, "nosuch", "--out", tmp_path / "out")
    assert done.status == 2
    assert f"has no column 'nosuch' but case, reader, treatment, rating; correct {option}" in " ".join(done.err.split())
    assert "--columns" not in done.err

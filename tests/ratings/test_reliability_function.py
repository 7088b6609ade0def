"""``mt.reliability`` as a function: the numbers and files of the command, from ratings, tables and masks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import manytruths as mt
from manytruths.cli import status

RATINGS = {"A": ["ill", "well", "ill", "ill"] * 3, "B": ["ill", "well", "ill", "well"] * 3, "C": ["ill"] * 12}


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def without_run(folder: Path) -> dict[str, bytes]:
    return {name: content for name, content in files(folder).items() if not name.endswith("run.json")}


@pytest.fixture
def table(tmp_path):
    rows = [f"c{i},{rater},{label},0.8" for rater, labels in RATINGS.items() for i, label in enumerate(labels)]
    path = tmp_path / "ratings.csv"
    path.write_text("case,rater,label,confidence\n" + "\n".join(rows))
    return path


@pytest.fixture
def masks(tmp_path):
    random = np.random.default_rng(0)
    for rater in "AB":
        for case in ("p1", "p2"):
            path = tmp_path / "masks" / rater / f"{case}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, (random.random((12, 12)) < 0.4).astype(np.uint8))
    return f"{tmp_path}/masks/{{rater}}/{{case}}.npy"


def test_a_table_gives_the_files_of_the_command(tmp_path, table):
    assert status(["reliability", str(table), "--out", str(tmp_path / "a"), "--quiet"]) == 0
    result = mt.reliability(table, out=tmp_path / "b")
    assert without_run(tmp_path / "a") == without_run(tmp_path / "b")
    result.write(tmp_path / "c")
    assert without_run(tmp_path / "b") == without_run(tmp_path / "c")
    assert list(result.tables) == ["reliability", "raters", "majorities", "confidence"]
    assert "roc-space" not in result.charts
    assert repr(result).startswith("<Reliability: 3 raters, 12 cases; tables: reliability, raters")
    assert "<svg" in result._repr_html_()


def test_masks_give_the_files_of_the_command(tmp_path, masks):
    options = ["--region", "union", "--lesion-min-size", "2", "--quiet"]
    assert status(["reliability", masks, *options, "--out", str(tmp_path / "a")]) == 0
    study = mt.Study.open(masks, region="union")
    result = mt.reliability(study, lesion_min_size=2, out=tmp_path / "b")
    assert without_run(tmp_path / "a") == without_run(tmp_path / "b")
    assert list(result.tables) == ["mask_reliability", "detection", "lesions"]
    assert repr(result).startswith("<MaskReliability: 2 raters, 2 cases, 3 lesions; ")
    assert mt.reliability(masks).tables["lesions"].to_frame().shape[0] > 0


def test_ratings_that_are_read_already_give_the_same_numbers(table):
    read, given = mt.reliability(table), mt.reliability(mt.read_ratings(table))
    assert read.tables["raters"].to_frame().equals(given.tables["raters"].to_frame())
    assert mt.reliability(mt.Ratings.of(RATINGS), level=0.5).headline["sigma"].level == 0.5


def test_arguments_that_do_not_apply_are_refused(table, masks):
    ratings = mt.Ratings.of(RATINGS)
    for data, options, text in (
        (masks, {"columns": {"case": "image"}}, "--columns is for a table of ratings"),
        (masks, {"partial": "linear"}, "--partial is for a table of ratings"),
        (masks, {"confidence": "sure.csv"}, "for masks, confidence must be one number"),
        (table, {"lesion_min_size": 3}, "--lesion-min-size is for masks"),
        (table, {"confidence": 0.8}, "for a table of ratings, confidence must be the path"),
        (ratings, {"cut": 3}, "--cut is for files"),
        (ratings, {"confidence": "sure.csv"}, "--confidence is for files"),
        (ratings, {"positive": "dead"}, "not a label"),
    ):
        with pytest.raises(mt.CallError, match=text):
            mt.reliability(data, **options)


def test_intervals_have_the_level_that_was_asked_for(tmp_path):
    """Abilities of the Rasch model: 1.645 standard errors on each side at 90%, 1.960 at 95%."""
    random, lines, reach = np.random.default_rng(0), ["case,rater,label"], {}
    for case, true in enumerate(random.integers(0, 2, 40)):
        for name, right in {"A": 0.9, "B": 0.8, "C": 0.7, "D": 0.85}.items():
            lines.append(f"c{case},{name},{true if random.random() < right else 1 - true}")
    (tmp_path / "ratings.csv").write_text("\n".join(lines))
    for level in (0.9, 0.95):
        rows = mt.reliability(tmp_path / "ratings.csv", level=level).tables["raters"].rows
        (row,) = (row for row in rows if row.statistic == "ability" and row["rater"] == "B")
        reach[level] = row.high - row.value
    assert reach[0.9] / reach[0.95] == pytest.approx(1.6448536 / 1.9599640)

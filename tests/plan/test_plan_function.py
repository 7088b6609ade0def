"""``mt.plan`` as a function: the numbers and files of the command."""

from __future__ import annotations

import numpy as np
import pytest

import manytruths as mt
from manytruths.cli import status


def without_run(folder):
    paths = [path for path in folder.rglob("*") if path.is_file() and path.name != "run.json"]
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


def test_the_files_of_the_command(tmp_path):
    options = [
        "--wanted",
        "0.95",
        "--rater-accuracy",
        "0.8,0.9",
        "--correlation",
        "0.2",
        "--kappa",
        "0.6",
        "--prevalence",
        "0.3",
        "--kappa-width",
        "0.2",
    ]
    assert status(["plan", *options, "--out", str(tmp_path / "a"), "--quiet"]) == 0
    result = mt.plan(
        wanted=0.95, rater_accuracy=[0.8, 0.9], correlation=0.2, kappa=0.6, prevalence=0.3, kappa_width=0.2,
        out=tmp_path / "b",
    )  # fmt: skip
    assert without_run(tmp_path / "a") == without_run(tmp_path / "b")
    assert result.tables["plan"].to_frame()["topic"].unique().tolist() == ["majority", "kappa"]
    assert repr(result) == "<Plan: 2 questions (majority, kappa); tables: plan>"
    assert {"majority", "kappa-cases"} <= set(result.charts)
    assert "beta" in result._repr_html_().lower()


def test_a_pilot_is_ratings_or_a_study(tmp_path):
    random = np.random.default_rng(1)
    ratings = mt.Ratings.of(random.integers(0, 2, (30, 3)), reference=random.integers(0, 2, 30))
    assert mt.plan(pilot=ratings, resamples=20, gain=0.2).table.find("best_raters", topic="pilot").value == 1
    masks = {f"p{i}": {rater: random.integers(0, 2, (6, 6)) for rater in "ABC"} for i in range(3)}
    study = mt.Study.from_arrays(masks)
    assert [topic.name for topic in mt.plan(pilot=study, resamples=20).topics] == ["pilot"]


def test_arguments_that_do_not_apply_are_refused():
    ratings = mt.Ratings.of([[0, 1], [1, 1]])
    for options, text in (
        ({}, "no question given"),
        ({"cut": 3, "kappa": 0.5}, "--cut is for reading a pilot"),
        ({"pilot": ratings, "reference_column": "truth"}, "--reference-column is for reading a table"),
        ({"agreement": 0.8, "cost_rater": 3}, "--cost-rater needs --pilot"),
        ({"rater_accuracy": 0.8, "n_labels": 1}, "n_labels must be at least 2"),
        ({"rater_accuracy": 0.8, "max_raters": 100}, "max_raters must be from 3"),
    ):
        with pytest.raises(mt.CallError, match=text):
            mt.plan(**options)


def test_predictions_that_are_not_used_may_be_broken_or_nowhere(tmp_path):
    random = np.random.default_rng(0)
    for rater in "ABC":
        for case in range(3):
            path = tmp_path / "masks" / rater / f"p{case}.npy"
            path.parent.mkdir(parents=True, exist_ok=True)
            np.save(path, (random.random((20, 20)) < 0.4).astype(np.uint8))
    (tmp_path / "predictions/net").mkdir(parents=True)
    for case in range(3):
        (tmp_path / f"predictions/net/p{case}.npy").write_bytes(b"broken")
    for folder in ("predictions", "nowhere"):
        (tmp_path / "study.toml").write_text(
            f'masks = "masks/{{rater}}/{{case}}.npy"\npredictions = "{folder}/{{algorithm}}/{{case}}.npy"\n'
        )
        assert len(mt.plan(pilot=tmp_path / "study.toml", max_raters=3).table)
        assert all(map(len, mt.reliability(tmp_path / "study.toml").tables.values()))
    with pytest.raises(mt.StudyError, match="matches nothing"):
        mt.evaluate(tmp_path / "study.toml")
    assert ["matches nothing" in p.message for p in mt.check(tmp_path / "study.toml").errors] == [True]

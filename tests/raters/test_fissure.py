"""Lampert's fissure study, to every digit that was printed."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from data_folder import data
from manytruths import (
    Tally,
    cluster_raters,
    image_feature_correlations,
    rater_dependence,
    rater_differences,
    rater_performance,
    rater_tendency,
    staple,
    vote,
)
from manytruths.core.undefined import code

RATERS = [f"A{i}" for i in range(1, 14)]


def picture(*parts: str) -> np.ndarray:
    return np.asarray(Image.open(data("fissure", *parts)))


@pytest.fixture(scope="module")
def masks() -> dict[str, np.ndarray]:
    return {name: picture("raters", name, "fissure.png") > 0 for name in RATERS}


@pytest.fixture(scope="module")
def table(masks: dict[str, np.ndarray]) -> Tally:
    return mt.tally(masks)


@pytest.fixture(scope="module")
def published() -> dict[str, Any]:
    return json.loads(data("fissure", "published.json").read_text())


@pytest.mark.parametrize("rater", RATERS)
def test_table_6(rater: str, table: Tally, published: dict[str, Any]) -> None:
    found = rater_performance(table)
    i = found.raters.index(rater)
    row = [found.sensitivity[i], found.specificity[i], found.ppv[i], found.npv[i], found.cohen_kappa[i]]
    assert published["table6_columns"] == ["sensitivity", "specificity", "ppv", "npv", "kappa"]
    assert [round(float(v), 4) for v in row] == published["table6"][rater]


def test_outliers_and_mean_differences(table: Tally, published: dict[str, Any]) -> None:
    found, printed = rater_differences(table), published["mean_f1_difference"]
    assert found.outliers == tuple(printed["outliers"]) == ("A1", "A4", "A11")
    assert (round(found.mean, 4), round(found.std, 4)) == (printed["mean"], printed["std"])
    each = dict(zip(found.raters, found.mean_difference, strict=True))
    assert {name: round(float(each[name]), 4) for name in found.outliers} == printed["outliers"]
    assert found.threshold == found.mean + found.std


def test_table_5(masks: dict[str, np.ndarray], published: dict[str, Any]) -> None:
    agreement = np.sum(list(masks.values()), axis=0)
    found, printed = (
        image_feature_correlations(agreement, picture("images", "fissure.png")),
        published["table5_feature_correlation"],
    )
    assert round(found["intensity"].r, 4) == printed["intensity"]
    # the authors' L* came from MATLAB's colour profile, in whole numbers
    assert found["contrast"].r == pytest.approx(printed["contrast"], abs=0.002)
    assert round(found["contrast"].p, 4) == round(found["intensity"].p, 4) == 0
    assert list(found) == ["intensity", "red", "green", "blue", "contrast"]


@pytest.mark.parametrize(("threshold", "name"), [(0.5, "gt_05"), (0.75, "gt_075"), ("any", "gt_any")])
def test_votes_are_the_authors(threshold: float | str, name: str, masks: Any, table: Tally) -> None:
    found = mt.paint(vote(table, threshold).hard, masks, table)
    assert (found == (picture("published", f"{name}.png") > 0)).all()


def test_vote_without_outliers_is_the_authors(masks: Any, table: Tally) -> None:
    kept = table.without(*rater_differences(table).outliers)
    found = mt.paint(vote(kept).hard, {n: m for n, m in masks.items() if n not in ("A1", "A4", "A11")}, kept)
    assert (found == (picture("published", "gt_excl_05.png") > 0)).all()


def test_staple_is_the_authors(masks: Any, table: Tally) -> None:
    truth = picture("published", "gt_staple.png") > 0
    assert (mt.paint(staple(table, "marked").hard, masks, table) == truth).all()
    assert (mt.paint(staple(table).hard, masks, table) != truth).sum() == 8146


def test_outliers_stand_outside_the_cluster(table: Tally) -> None:
    tree = cluster_raters(table)
    assert tree.order[0] == "A1"
    assert set(tree.order[-2:]) == {"A4", "A11"}
    assert sorted(tree.order) == sorted(tree.raters) == sorted(RATERS)
    assert tree.apart == ()
    assert tree.linkage[-1, 0] == RATERS.index("A1")


def test_raters_are_dependent_and_nobody_copied(table: Tally) -> None:
    found = rater_dependence(table)
    assert 0.1 < found.mean_correlation < 0.2
    assert code(found.effective_raters) == "no_reference_for_dependence"
    assert found.copies == ()
    assert found.fit is not None
    assert found.fit.convergence == "converged"


def test_tendencies(table: Tally, masks: Any) -> None:
    areas = np.array([masks[name].sum() for name in RATERS], float)
    found = rater_tendency(table)
    assert found.relative_area == pytest.approx(12 * areas / (areas.sum() - areas))
    assert RATERS[int(found.relative_area.argmax())] == "A13"
    assert [RATERS[i] for i in np.argsort(found.misses)[-3:]] == ["A11", "A4", "A1"]


def test_a_rater_should_not_be_graded_against_himself(table: Tally) -> None:
    with_him, without = rater_performance(table), rater_performance(table, "others")
    assert (without.sensitivity < with_him.sensitivity).all()
    assert (without.cohen_kappa < with_him.cohen_kappa).all()
    # of 13 raters, 7 and himself among them is 6 of the other 12
    assert without.ppv == pytest.approx(with_him.ppv, abs=1e-15)

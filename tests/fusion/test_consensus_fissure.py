"""The ground truths that Lampert and colleagues published, pixel by pixel."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import manytruths as mt
from data_folder import data
from manytruths import Tally, consensus, rater_differences, simple

OUTLIERS = {"A1", "A4", "A11"}
Stack = dict[str, np.ndarray]


def picture(*parts: str) -> np.ndarray:
    return np.asarray(Image.open(data("fissure", *parts))) > 0


@pytest.fixture(scope="module")
def masks() -> Stack:
    return {f"A{i}": picture("raters", f"A{i}", "fissure.png") for i in range(1, 14)}


@pytest.fixture(scope="module")
def table(masks: Stack) -> Tally:
    return mt.tally(masks)


@pytest.mark.parametrize(
    ("method", "options", "file"),
    [
        ("vote:0.5", {}, "gt_05"),
        ("vote:0.75", {}, "gt_075"),
        ("vote:any", {}, "gt_any"),
        ("excl:0.5", {}, "gt_excl_05"),
        ("staple", {"prior": "marked"}, "gt_staple"),
    ],
)
def test_published_truths(method: str, options: dict[str, str], file: str, masks: Stack, table: Tally) -> None:
    found = consensus(table, method, **options)
    assert int((mt.paint(found.hard, masks) != picture("published", f"{file}.png")).sum()) == 0


def test_outliers_are_those_of_the_raters_room(table: Tally) -> None:
    assert set(consensus(table, "excl:0.5").excluded) == OUTLIERS == set(rater_differences(table).outliers)  # type: ignore[attr-defined]


@pytest.mark.parametrize("score", ["dice", "iou"])
def test_simple_drops_the_outliers(score: str, masks: Stack, table: Tally) -> None:
    found = simple(table, 1.5, score)  # type: ignore[arg-type]
    assert set(found.dropped) == OUTLIERS
    assert found.convergence == "converged"
    if score == "dice":
        same = mt.paint(found.hard, masks) == picture("published", "gt_excl_05.png")
        assert round(100 * float(same.mean()), 2) == 99.84

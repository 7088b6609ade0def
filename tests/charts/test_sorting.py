"""Masks in the order of their scores."""

from __future__ import annotations

import numpy as np
import pytest

from manytruths import CallError
from manytruths.charts import rater_colours, sorted_masks
from manytruths.charts.canvas import blank_page
from manytruths.charts.overlays import MOST_SORTED

MASKS = {"A": np.eye(40, dtype=bool), "B": np.ones((40, 40), bool), "C": np.zeros((40, 40), bool)}


def is_near(shown: np.ndarray, colour) -> np.ndarray:
    """Which of the colours shown is a rater's, laid over the image."""
    return np.abs(shown.astype(int) - (0.35 * 32 + 0.65 * np.array(colour))).max(axis=-1) < 4


def columns_of(picture, colour) -> np.ndarray:
    """Where along the width a rater's colour is seen."""
    return np.flatnonzero(is_near(np.asarray(picture), colour).any(axis=0))


def test_the_best_comes_first():
    colour = dict(zip(MASKS, rater_colours(3), strict=True))["B"]
    scores = {"A": 0.9, "B": 0.5, "C": 0.7}
    last = columns_of(sorted_masks(None, MASKS, {"accuracy": scores}), colour)
    first = columns_of(sorted_masks(None, MASKS, {"accuracy": scores | {"B": 1.0}}), colour)
    assert first.max() < last.min()


def test_what_has_no_score_is_left_out():
    colour = dict(zip(MASKS, rater_colours(3), strict=True))["B"]
    picture = sorted_masks(None, MASKS, {"f": {"A": 0.9, "B": np.nan, "C": 0.1}, "pv": {"A": 0.1}}, title="p01")
    assert not len(columns_of(picture, colour))
    assert picture.size > blank_page(10, 10).size


def test_volumes_show_the_slice_with_most_marks():
    volume = np.zeros((12, 40, 40), bool)
    volume[7] = True
    colour = rater_colours(1)[0]
    assert len(columns_of(sorted_masks(None, {"A": volume}, {"accuracy": {"A": 1.0}}), colour)) > 100


def test_nothing_to_draw():
    with pytest.raises(CallError, match="empty"):
        sorted_masks(None, {}, {"accuracy": {}})


def test_of_many_the_best_and_the_worst_are_shown():
    masks = {f"r{i:03d}": MASKS["B"] for i in range(60)}
    colours = dict(zip(masks, rater_colours(60), strict=True))
    scores = {name: 1 - i / 100 for i, name in enumerate(masks)}
    picture, of_some = (
        sorted_masks(None, dict(list(masks.items())[:n]), {"accuracy": scores}) for n in (60, MOST_SORTED)
    )
    assert picture.width == of_some.width
    half = MOST_SORTED // 2
    seen = np.array([colour for _, colour in picture.convert("RGB").getcolors(picture.width * picture.height)])
    shown = [name for name in masks if is_near(seen, colours[name]).any()]
    assert set(shown) >= {*list(masks)[:half], *list(masks)[-half:]}

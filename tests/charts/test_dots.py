"""Rows of dots with whiskers: what is drawn says what was given."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest

from manytruths import CallError
from manytruths.charts.bars import dot_chart

NAN = float("nan")
ROWS = {
    "majority vote": {"unet": (0.80, 0.75, 0.85), "deeplab": (0.70, NAN, NAN)},
    "consensus & <individuals>": {"unet": (0.90, 0.85, 0.95), "deeplab": (NAN, NAN, NAN)},
}
SVG = "{http://www.w3.org/2000/svg}"


def test_one_dot_a_defined_value_in_the_order_of_the_values():
    drawn = ElementTree.fromstring(dot_chart(ROWS, "Dice", "Strategies"))
    dots = {c.find(f"{SVG}title").text: float(c.get("cx")) for c in drawn.iter(f"{SVG}circle") if len(c)}
    assert set(dots) == {
        "majority vote, unet: 0.800", "majority vote, deeplab: 0.700", "consensus & <individuals>, unet: 0.900",
    }  # fmt: skip
    left, middle, right = (dots[k] for k in sorted(dots, key=lambda told: told[-5:]))
    assert middle - left == pytest.approx(right - middle, abs=0.02)


def test_names_numbers_and_a_dash_are_there():
    words = [t.text for t in ElementTree.fromstring(dot_chart(ROWS, "Dice", "Strategies")).iter(f"{SVG}text")]
    assert {"Strategies", "Dice", "majority vote", "consensus & <individuals>", "unet", "deeplab", "0.800", "–"} <= set(
        words
    )


def test_one_series_needs_no_legend():
    words = re.sub("<title>[^<]*</title>", "", dot_chart({"a": {"only": (1.0, 0.5, 1.5)}}, "x", "title"))
    assert ">only<" not in words


def test_nothing_to_draw():
    with pytest.raises(CallError, match="rows is empty"):
        dot_chart({}, "x", "title")

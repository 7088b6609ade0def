"""Several numbers of each group beside each other."""

from __future__ import annotations

import math
from xml.etree import ElementTree

import pytest

from manytruths import CallError
from manytruths.charts.bars import grouped_bars

GROUPS = {
    "Negative": {"kappa": (0.4, 0.2, 0.6), "score": 0.7, "IoU": [0.2, 0.5, 0.9]},
    "CIN3 <b>": {"kappa": (0.7, math.nan, math.nan), "IoU": [math.nan, 0.8]},
}


def parts(svg: str, name: str):
    return [e for e in ElementTree.fromstring(svg).iter() if e.tag.endswith(f"}}{name}")]


def test_bars_whiskers_and_points_are_drawn():
    svg = grouped_bars(GROUPS, "mean", "Groups")
    told = [e[0].text for e in parts(svg, "rect") if len(e)]
    assert told == ["Negative, kappa: 0.40", "Negative, score: 0.70", "CIN3 <b>, kappa: 0.70"]
    assert len(parts(svg, "path")) == 1
    assert len(parts(svg, "circle")) == 4
    words = [e.text for e in parts(svg, "text")]
    assert {"kappa", "score", "IoU", "0.40", "0.70", "CIN3 <b>"} <= set(words)


def test_points_have_no_line_through_them():
    """Which would look like a whisker."""
    bars, points = ({"a": {"x": one}} for one in (0.5, [0.2, 0.5, 0.9]))
    lines = [len(parts(grouped_bars(groups, "mean", "Groups"), "line")) for groups in (bars, points)]
    assert lines[0] == lines[1]


def test_a_bar_is_as_long_as_its_number():
    svg = grouped_bars({"a": {"x": 0.25, "y": 0.5}}, "mean", "Groups")
    short, long = (float(e.attrib["width"]) for e in parts(svg, "rect") if len(e))
    assert long == pytest.approx(2 * short, rel=0.01)


def test_undefined_numbers_are_dashes():
    svg = grouped_bars({"a": {"x": math.nan, "y": -0.1}}, "mean", "Groups")
    words = [e.text for e in parts(svg, "text")]
    assert "–" in words
    assert "−0.10" in words


def test_nothing_to_draw_is_refused():
    with pytest.raises(CallError, match="empty"):
        grouped_bars({"a": {}}, "mean", "Groups")

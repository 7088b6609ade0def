"""Charts of sizes: what is drawn says what was given."""

from __future__ import annotations

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from manytruths import CallError
from manytruths.charts import bland_altman_chart, size_strips, slope_chart, svg
from manytruths.charts.sizes import LogAxis

SVG = "{http://www.w3.org/2000/svg}"
NAN = math.nan
ENDS = (0, 0, 0)
LABELS = {"xlabel": "mean, ml", "ylabel": "a − b, ml", "title": "Volume"}


def read(chart):
    return ElementTree.fromstring(chart)


def words(chart):
    return [t.text for t in read(chart).iter(f"{SVG}text")]


def test_bland_altman_lines_lie_at_their_values():
    chart = bland_altman_chart(
        [1, 2, 3], [-1, 0, 1], bias=(0, -0.5, 0.5), lower=(-2, -3, -1), upper=(2, 1, 3), names=["p1", "p<2>", "p3"],
        **LABELS,
    )  # fmt: skip
    drawn = read(chart)
    dashed = sorted(float(n.get("y1")) for n in drawn.iter(f"{SVG}line") if n.get("stroke-dasharray"))
    assert dashed[1] - dashed[0] == pytest.approx(dashed[2] - dashed[1], abs=0.02)
    points = {c.find(f"{SVG}title").text: float(c.get("cy")) for c in drawn.iter(f"{SVG}circle")}
    assert set(points) == {"p1", "p<2>", "p3"}
    assert points["p<2>"] == pytest.approx(dashed[1], abs=0.02)
    bands = [r for r in drawn.iter(f"{SVG}rect") if len(r)]
    assert [r.find(f"{SVG}title").text for r in bands] == [
        "lower limit: −2, interval −3 to −1", "upper limit: 2, interval 1 to 3", "bias: 0, interval −0.5 to 0.5",
    ]  # fmt: skip
    assert {"bias", "lower limit", "upper limit", "−2", "Volume", "mean, ml"} <= set(words(chart))


def discs(chart):
    return [(round(float(c.get("cx")), 1), round(float(c.get("cy")), 1)) for c in read(chart).iter(f"{SVG}circle")]


def test_many_points_are_one_element_at_the_same_places(monkeypatch):
    rng = np.random.default_rng(0)
    x, y = rng.random((2, 40))
    points = {"bias": ENDS, "lower": ENDS, "upper": ENDS, "groups": ["ann", "ben"] * 20, **LABELS}
    strips = {"ann": x.tolist(), "ben": [*y[1:].tolist(), NAN]}
    drawn = [discs(bland_altman_chart(x, y, **points)), discs(size_strips(strips, "ml", "Volume"))]
    assert [len(each) for each in drawn] == [40, 79]
    monkeypatch.setattr(svg, "MANY_DOTS", 30)
    many = [bland_altman_chart(x, y, **points), size_strips(strips, "ml", "Volume")]
    for chart, places in zip(many, drawn, strict=True):
        assert discs(chart) == []
        paths = [p.get("d") for p in read(chart).iter(f"{SVG}path") if p.get("stroke-linecap") == "round"]
        assert len(paths) == 2
        found = [tuple(map(float, at)) for path in paths for at in re.findall(r"M([\d.]+) ([\d.]+)h0", path)]
        np.testing.assert_allclose(sorted(found), sorted(set(places)), atol=0.11)


def test_ratios_are_drawn_on_a_log_scale():
    chart = bland_altman_chart(
        [1, 10, 100], [0.5, 1, 2], lower=(0.5, NAN, NAN), upper=(2, NAN, NAN), log=True, groups=["ann", "ben", "ann"],
        **LABELS,
    )  # fmt: skip
    points = [(float(c.get("cx")), float(c.get("cy"))) for c in read(chart).iter(f"{SVG}circle")]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert (x1 - x0, y1 - y0) == (pytest.approx(x2 - x1, abs=0.02), pytest.approx(y2 - y1, abs=0.02))
    assert {"ann", "ben", "× 0.5", "× 2"} <= set(words(chart))
    assert not [r for r in read(chart).iter(f"{SVG}rect") if len(r)]  # no band without an interval


def test_ticks_of_ratios():
    for low, high, some in ((0.9, 1.1, "1.00"), (0.4, 2.5, "1"), (0.5, 300, "100"), (1e-3, 1e6, "1,000")):
        ticks = LogAxis(math.log10(low), math.log10(high), 0, 400).ticks
        assert some in [tick for _, tick in ticks]
        assert 3 <= len(ticks) <= 12
        assert all(low * 0.999 <= value <= high * 1.001 for value, _ in ticks)


def test_strips_count_what_they_do_not_draw():
    chart = size_strips(
        {"ann": [1.0, 4.0, 0.0], "ben": [2.0, NAN, 8.0]}, "ml", "Volume", log=True, names=["a", "b", "c"]
    )
    assert {"n = 2, 1 of size 0", "n = 2, 1 missing", "median 2.5", "median 5"} <= set(words(chart))
    assert "ann, b: 4" in chart
    linear = size_strips({"ann": [1.0, 4.0, 0.0]}, "ml", "Volume")
    assert {"n = 3", "median 1"} <= set(words(linear))
    assert "median 2,715" in words(size_strips({"ann": [2715.0]}, "ml", "Volume"))
    assert "median –" in words(size_strips({"ann": [NAN]}, "ml", "Volume"))


def test_slopes_break_at_gaps():
    chart = slope_chart(
        {"p1": [1, 2, 3], "p2": [2, NAN, 4], "p3": [0, 1, 2]}, ["a", "b", "c"], "ml", "Volume", log=True
    )
    lines = {n.find(f"{SVG}title").text: n.get("points").split() for n in read(chart).iter(f"{SVG}polyline")}
    assert {name: len(points) for name, points in lines.items()} == {"p1: a 1, b 2, c 3": 3, "p3: a 0, b 1, c 2": 2}
    assert chart.count("<circle") == 7


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: bland_altman_chart([1], [1, 2], lower=(0, 0, 0), upper=(0, 0, 0), **LABELS),
            "one of each for a point",
        ),
        (lambda: bland_altman_chart([1], [1], lower=ENDS, upper=ENDS, names=[], **LABELS), "names has 0"),
        (lambda: size_strips({}, "x", "t"), "sizes is empty"),
        (lambda: slope_chart({}, ["a", "b"], "x", "t"), "one case or more"),
        (lambda: slope_chart({"p": [1]}, ["a", "b"], "x", "t"), "every case needs 2 sizes"),
    ],
)
def test_wrong_calls(call, words):
    with pytest.raises(CallError, match=words):
        call()

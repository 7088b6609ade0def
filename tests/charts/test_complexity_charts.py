"""The plane and the histograms: valid XML that holds every number, and no text over another."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_charts import SVG, assert_tidy, read, words

from manytruths import CallError
from manytruths.charts.complexity import GROUP_COLOURS, SHAPES, complexity_plane, histograms


def scattered(count: int, seed: int = 0) -> tuple[dict[str, tuple[float, float]], dict[str, str]]:
    random = np.random.default_rng(seed)
    points = {f"case {n:03d}": (float(e), float(m)) for n, (e, m) in enumerate(random.random((count, 2)))}
    return points, {case: "ABC"[n % 3] for n, case in enumerate(points)}


def marks(chart: str) -> list[str]:
    return [path.get("fill", "") for path in read(chart).iter(f"{SVG}path")]


@pytest.mark.parametrize("count", [1, 3, 40, 900])
def test_plane(count: int) -> None:
    points, groups = scattered(count)
    chart = complexity_plane(points, groups, "Where cases lie")
    root = read(chart)
    assert_tidy(root)
    assert len(marks(chart)) == count + min(count, 3), "a mark a case, and one a group in the legend"
    assert all(f"{case}: entropy" in words(root) for case in points)
    assert "A: low mean" in words(root)
    assert "entropy inside the union" in words(root)


def test_plane_puts_cases_where_they_lie() -> None:
    root = read(complexity_plane({"low": (0.0, 0.0), "high": (1.0, 1.0)}))
    first, second, *_ = [path.get("transform", "") for path in root.iter(f"{SVG}path")]
    assert first.startswith("translate(78.00 374.00)")
    assert second.startswith("translate(538.00 44.00)")


def test_plane_names_the_extreme_cases() -> None:
    points = {f"m{n}": (0.5 + n / 1000, 0.7) for n in range(20)} | {"far down": (0.5, 0.1), "far right": (1.4, 0.7)}
    shown = [element.text for element in read(complexity_plane(points)).iter(f"{SVG}text")]
    assert "far down" in shown
    assert "far right" in shown
    assert sum(str(text).startswith("m") and str(text)[1:].isdigit() for text in shown) <= 4
    assert "far down" not in [element.text for element in read(complexity_plane(points, named=0)).iter(f"{SVG}text")]


def test_groups_differ_in_colour_and_shape() -> None:
    assert len(set(SHAPES.values())) == 3
    chart = complexity_plane({"a": (0.2, 0.4), "b": (0.2, 0.9), "d": (0.8, 0.7)}, {"a": "A", "b": "B", "d": "D"})
    assert {GROUP_COLOURS[group] for group in "ABD"} <= set(marks(chart))


def test_plane_counts_what_has_no_place() -> None:
    points = {"x": (0.5, 0.5), "no": (math.nan, math.nan), "nor": (0.4, math.nan)}
    root = read(complexity_plane(points, {"x": "B"}))
    assert "2 undefined" in words(root)
    assert "1 case" in words(root)
    assert_tidy(root)
    assert_tidy(read(complexity_plane({}, {})))
    assert_tidy(read(complexity_plane({"A & <b>": (3.2, 1.0)}, {}, "<title>")))


def test_histograms() -> None:
    random = np.random.default_rng(0)
    tasks = {"cervix & <boundary>": random.gamma(3, 0.3, 200), "acetowhite": [*random.gamma(3, 0.6, 150), math.nan, 40]}
    root = read(histograms(tasks, "ESM", "Which task is harder?"))
    assert_tidy(root)
    told = words(root)
    assert all(word in told for word in ("ESM", "Which task", "acetowhite", "n = 200", "n = 151, 1 undef.", " above "))
    assert f"mean {np.mean(tasks['cervix & <boundary>']):.2f}" in told


def test_bars_of_a_histogram_add_up() -> None:
    """Both tasks' bars have the same area, as heights are shares of the task's own cases."""
    root = read(histograms({"few": [0.5] * 3 + [1.5], "many": [0.5] * 60 + [1.5] * 20}, "x", "t", bins=4))
    bars = list(root.iter(f"{SVG}rect"))[1:]
    heights = [float(bar.get("height", "0")) for bar in bars]
    assert heights == pytest.approx([92, 92 / 3, 92, 92 / 3], abs=0.1)


@pytest.mark.parametrize("values", [[], [math.nan], [0.0], [1.0, 1.0], [-2.0, 3.0], [1e-9], [1e9, 1.0]])
def test_histograms_of_few(values: list[float]) -> None:
    root = read(histograms({"task": values, "other": []}, "ESM", "t"))
    assert_tidy(root)
    assert f"n = {sum(map(math.isfinite, values))}" in words(root)


def test_histograms_of_nothing() -> None:
    with pytest.raises(CallError, match="empty"):
        histograms({}, "ESM", "t")

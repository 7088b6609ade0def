"""Charts: valid XML that holds every name and number, and no text over another."""

from __future__ import annotations

import itertools
import math
import pickle
from xml.etree import ElementTree

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage

from manytruths import CallError
from manytruths.charts import Chart, bars, curve, dendrogram, matrix, strip
from manytruths.charts.svg import LETTER, Axis, format_number, shorten

SVG = "{http://www.w3.org/2000/svg}"
NAMES = [f"rater no. {n:02d}" for n in range(12)] + ["A & <B> with a long name"]


def read(chart: str) -> ElementTree.Element:
    root = ElementTree.fromstring(chart)
    assert root.tag == f"{SVG}svg"
    assert root.get("role") == "img"
    assert root.find(f"{SVG}title") is not None
    assert root.get("viewBox")
    assert "nan" not in chart.replace("Hainan", "")
    return root


def words(root: ElementTree.Element) -> str:
    return "\n".join("".join(element.itertext()) for element in root.iter())


def boxes(root: ElementTree.Element) -> list[tuple[float, float, float, float]]:
    """Left, top, right, bottom of every level text, on the generous side."""
    found = []
    for element in root.iter(f"{SVG}text"):
        if element.get("transform"):
            continue
        shown = (element.text or "") + "".join(child.tail or "" for child in element)
        x, y, size = (float(element.get(key, "0")) for key in ("x", "y", "font-size"))
        wide = len(shown) * size * LETTER
        left = x - {"start": 0, "middle": 0.5, "end": 1}[element.get("text-anchor", "start")] * wide
        found.append((left, y - 0.75 * size, left + wide, y + 0.2 * size))
    return found


def assert_tidy(root: ElementTree.Element) -> None:
    """No level text lies over another or outside the paper."""
    _, _, wide, high = (float(part) for part in root.get("viewBox", "").split())
    found = boxes(root)
    for left, top, right, bottom in found:
        assert left >= 0
        assert top >= 0
        assert right <= wide
        assert bottom <= high
    for one, two in itertools.combinations(found, 2):
        apart = one[2] <= two[0] or two[2] <= one[0] or one[3] <= two[1] or two[3] <= one[1]
        assert apart, (one, two)


def tree(count: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return np.asarray(linkage(np.random.default_rng(0).random((count, 3)), "ward"))


def test_dendrogram_of_thirteen() -> None:
    groups = ["senior", "junior", "student"] * 4 + ["senior"]
    root = read(dendrogram(tree(13), NAMES, groups=groups, cut=0.7, marked=[NAMES[3]]))
    assert all(name in words(root) for name in [*NAMES, *groups, "outlier", "1 − F1", "cut 0.70"])
    assert_tidy(root)
    assert sum(e.get("font-weight") == "bold" for e in root.iter(f"{SVG}text")) == 2, "the title and the outlier"


def test_dendrogram_joins_what_the_table_joins() -> None:
    joins = np.array([[0, 2, 0.2, 2], [1, 3, 1.0, 3]])
    root = read(dendrogram(joins, ["A", "B", "C"]))
    y = {e.text: float(e.get("y", "0")) for e in root.iter(f"{SVG}text") if e.text in ("A", "B", "C")}
    assert abs(y["A"] - y["C"]) < abs(y["A"] - y["B"]) + abs(y["B"] - y["C"])
    assert y["B"] in (min(y.values()), max(y.values()))
    assert len(list(root.iter(f"{SVG}path"))) == 2


def test_dendrogram_of_few() -> None:
    assert "only" in words(read(dendrogram(np.zeros((0, 4)), ["only"])))
    assert_tidy(read(dendrogram([[0, 1, 0.0, 2]], ["A", "B"])))
    with pytest.raises(CallError, match="n − 1 joins"):
        dendrogram(tree(4), ["A", "B"])


def test_dendrogram_of_a_deep_chain() -> None:
    count = 3000
    chain = [[0 if n == 0 else count + n - 1, n + 1, n + 1.0, n + 2] for n in range(count - 1)]
    assert "rater 2999" in dendrogram(chain, [f"rater {n}" for n in range(count)])


def test_matrix_of_thirteen() -> None:
    values = np.random.default_rng(0).uniform(-1, 1, (13, 13))
    values[2, 5] = np.nan
    root = read(matrix(values, NAMES, "kappa", low=-1))
    assert all(name in words(root) for name in NAMES)
    shown = words(root).split("\n")
    assert format_number(values[4, 7]) in shown
    assert shown.count("–") == 1
    assert f"{NAMES[2]}, {NAMES[5]}: undefined" in shown
    assert_tidy(root)


@pytest.mark.parametrize("count", [1, 2, 47])
def test_matrix_of_few_and_many(count: int) -> None:
    root = read(matrix(np.eye(count), [f"r{n}" for n in range(count)], "a title that is longer than one cell is wide"))
    assert_tidy(root)
    with pytest.raises(CallError, match="one row and one column"):
        matrix(np.eye(count + 1), ["x"] * count, "")
    with pytest.raises(CallError, match="smaller"):
        matrix(np.eye(1), ["x"], "", low=1, high=1)


def test_curve_has_gaps() -> None:
    root = read(curve([1, 2, 3, 4, 5], [0.1, 0.2, math.nan, 0.4, 0.5], "raters", "agreement", "Curve"))
    lines = list(root.iter(f"{SVG}polyline"))
    assert [len(line.get("points", "").split()) for line in lines] == [2, 2]
    assert all(word in words(root) for word in ("raters", "agreement", "Curve"))
    assert_tidy(root)


def test_curve_with_a_band_and_edges() -> None:
    x = np.linspace(0, 1, 200)
    root = read(curve(x, x**2, "x", "y", "t", low=x**2 - 0.1, high=x**2 + 0.1, ylim=(-0.2, 1.2)))
    assert len(list(root.iter(f"{SVG}polygon"))) == 1
    for y in ([], [math.nan], [0.0], [5.0], [-3.0], [1e-9], [4e12]):
        assert_tidy(read(curve(range(len(y)), y, "x", "y", "t")))
    with pytest.raises(CallError, match="pairs"):
        curve([1, 2], [1], "x", "y", "t")


def test_bars() -> None:
    groups = {name: (0.5 + n / 40, 0.4, 0.9) for n, name in enumerate(NAMES)}
    root = read(bars({**groups, "undefined": math.nan, "below": -0.25}, "kappa", "Raters"))
    assert all(name in words(root) for name in [*NAMES, "−0.25", "–", "0.55"])
    assert len(list(root.iter(f"{SVG}path"))) == len(NAMES), "a whisker for each interval"
    assert_tidy(root)
    assert_tidy(read(bars({"x": math.nan}, "kappa", "t")))
    with pytest.raises(CallError, match="empty"):
        bars({}, "kappa", "t")


def test_strip() -> None:
    levels = [(-math.inf, "poor"), (0, "slight"), (0.2, "fair"), (0.4, "moderate"), (0.6, "substantial")]
    levels += [(0.8, "almost perfect")]
    random = np.random.default_rng(0)
    groups = {name: random.uniform(-0.3, 1, 9).tolist() for name in NAMES}
    root = read(strip({**groups, "some": [0.5, math.nan], "none": []}, "kappa", "by group", levels=levels))
    assert all(word in words(root) for word in [*NAMES, "substantial", "perfect", "n = 1, 1 undef.", "n = 0"])
    assert len(list(root.iter(f"{SVG}circle"))) == 9 * len(NAMES) + 1
    assert_tidy(root)
    with pytest.raises(CallError, match="empty"):
        strip({}, "kappa", "t")


def test_odd_signs_stay_valid() -> None:
    root = read(bars({'a"<\x00\x1b&\ufffe': 1.0}, "<x>", "\x07 & title"))
    assert 'a"<&' in words(root)


def test_numbers_for_people() -> None:
    assert format_number(-0.004) == "0.00"
    assert format_number(-0.12) == "−0.12"
    assert format_number(math.inf) == "–"
    assert shorten("twelve chars") == "twelve chars"
    assert shorten("a name far too long") == "a name far to…"
    assert [text for _, text in Axis.over([0.03, 0.97], 0, 1).ticks] == ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]


def test_a_chart_is_svg_text_that_a_notebook_shows(tmp_path):
    chart = bars({"A": 1.0}, "x", "Bars")
    assert isinstance(chart, str)
    assert isinstance(chart, Chart)
    assert chart._repr_svg_() == chart._repr_html_() == chart
    chart.save(tmp_path / "bars.svg")
    assert (tmp_path / "bars.svg").read_text(encoding="utf-8") == chart
    assert pickle.loads(pickle.dumps(chart)) == chart

"""Lines in one chart: valid XML, every name there, no text over another, and lines where they belong."""

from __future__ import annotations

import math

import numpy as np
import pytest
from test_charts import SVG, assert_tidy, read, words

from manytruths import CallError
from manytruths.charts.curves import LEFT, SIDE, distinct_names, frame_chart, line_chart, line_styles
from manytruths.charts.overlays import LIGHT, closeup, contour_slices

TOP = 44.0
LONG = "nnunet_3d_fullres_ensemble_fold{}_postprocessed_best"


def roc(shift: float, count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    x = np.linspace(0, 1, count)
    return x, x ** (1 / (1 + shift))


def routes(chart: str) -> list[list[tuple[float, float]]]:
    drawn = [line.get("points", "").split() for line in read(chart).iter(f"{SVG}polyline")]
    return [[(float(x), float(y)) for x, y in (p.split(",") for p in points)] for points in drawn]


@pytest.mark.parametrize("count", [1, 2, 6, 20, 45])
def test_few_and_many(count: int) -> None:
    names = ["dice", "A & <B>", *(LONG.format(i) for i in range(count))][:count]
    curves = {name: roc(i) for i, name in enumerate(names)}
    chart = line_chart(curves, "fall-out", "sensitivity", "ROC", notes=dict.fromkeys(names, "0.94 (0.90–0.97)"))
    root = read(chart)
    assert_tidy(root)
    assert all(name in words(root) for name in names), "long ones under the pointer"
    assert len(routes(chart)) == count
    assert words(root).count("0.94 (0.90–0.97)") >= count


def test_lines_can_be_told_apart() -> None:
    for colours in (7, 6, 3):
        chosen = line_styles(
            colours * 4, ["#000000", "#111111", "#222222", "#333333", "#444444", "#555555", "#666666"][:colours]
        )
        assert len({(s.colour, s.dashes) for s in chosen}) == colours * 4
    chart = line_chart({str(i): roc(i) for i in range(28)}, "x", "y", "")
    kinds = [(e.get("stroke"), e.get("stroke-dasharray")) for e in read(chart).iter(f"{SVG}polyline")]
    assert len(set(kinds)) == 28


def test_names_that_differ_late_are_shown_where_they_do() -> None:
    shown = distinct_names([LONG.format(i) for i in range(12)])
    assert len(set(shown.values())) == 12
    assert all(len(text) <= 30 for text in shown.values())
    assert distinct_names(["short"]) == {"short": "short"}


def test_lines_lie_where_they_belong() -> None:
    (route,) = routes(line_chart({"a": ([0, 0.5, 1], [0, 0.25, 1])}, "x", "y", ""))
    assert route == [(LEFT, TOP + SIDE), (LEFT + SIDE / 2, TOP + 0.75 * SIDE), (LEFT + SIDE, TOP)]
    (route,) = routes(line_chart({"a": ([0, 0.5, 1], [0, 0.25, 1])}, "x", "y", "", step=True))
    assert route == [
        (LEFT, TOP + SIDE), (LEFT + SIDE / 2, TOP + SIDE), (LEFT + SIDE / 2, TOP + 0.75 * SIDE),
        (LEFT + SIDE, TOP + 0.75 * SIDE), (LEFT + SIDE, TOP),
    ]  # fmt: skip
    (route,) = routes(line_chart({"a": ([0, 10], [0, 50])}, "x", "y", ""))
    assert route[-1] == (LEFT + SIDE, TOP), "axes grow with what lies beyond"


def test_gaps_bands_and_points() -> None:
    curve = np.arange(6) / 5, [0.1, 0.2, math.nan, 0.4, 0.5, 0.6]
    band = np.array([0.0, 0.1, math.nan, 0.3, 0.4, 0.5]), np.array([0.2, 0.3, math.nan, 0.5, 0.6, 0.7])
    points = {"A": (0.2, 0.8), "B": (0.21, 0.8), "C": (0.22, 0.8), "D": (0.2, 0.81), "gone": (math.nan, 0.5)}
    chart = line_chart({"a": curve}, "x", "y", "", bands={"a": band}, points=points, diagonal=True)
    root = read(chart)
    assert [len(route) for route in routes(chart)] == [2, 3]
    assert len(list(root.iter(f"{SVG}polygon"))) == 2
    assert len(list(root.iter(f"{SVG}circle"))) == 4
    assert_tidy(root)
    empty = read(line_chart({"a": ([math.nan], [math.nan]), "b": roc(1)}, "x", "y", ""))
    assert len(list(empty.iter(f"{SVG}path"))) == 1, "crossed out in the legend"
    lone = read(line_chart({"a": ([0.5], [0.5])}, "x", "y", ""))
    assert len(list(lone.iter(f"{SVG}circle"))) == 1


def test_calls_that_are_none() -> None:
    with pytest.raises(CallError, match="empty"):
        line_chart({}, "x", "y", "")
    with pytest.raises(CallError, match="go in pairs"):
        line_chart({"a": ([0, 1], [0])}, "x", "y", "")
    with pytest.raises(CallError, match="go in pairs"):
        line_chart({"a": ([0, 1], [0, 1])}, "x", "y", "", bands={"a": ([0], [0])})
    with pytest.raises(CallError, match="one value a frame"):
        frame_chart(["f1", "f2"], {"A": [1, 2]}, {}, [1], "")


@pytest.mark.parametrize("count", [3, 6, 40])
def test_frames(count: int) -> None:
    rng = np.random.default_rng(0)
    raters = {f"cardiologist {i}": rng.normal(100, 5, count) for i in range(5)}
    algorithms = {"a": rng.normal(100, 9, count), LONG.format(1): np.full(count, math.nan)}
    mean = np.mean(list(raters.values()), axis=0)
    chart = frame_chart([f"p03_f{i}" for i in range(count)], raters, algorithms, mean, "p03", notes={"a": "rms 4.2"})
    root = read(chart)
    assert_tidy(root)
    assert all(name in words(root) for name in [*raters, "a", "rms 4.2", "algorithms", "p03_f0"])
    assert len(routes(chart)) == 5 + 1 + 2, "an undefined curve is not drawn; the mean is in both panels"
    left, right = (route for route in routes(chart) if route[0][1] == routes(chart)[0][0][1])
    assert [y for _, y in left] == [y for _, y in right], "the mean lies at the same heights in both"


def test_outlines_of_a_volume_are_on_the_same_slices() -> None:
    volume = np.zeros((30, 40, 16), bool)
    volume[5:20, 5:20, 2:14] = True
    other = np.zeros_like(volume)
    other[10, 10, 3] = True
    pictures = [
        contour_slices(None, {"outline": m}, where=volume, title="X", colours=[(230, 159, 0)]) for m in (volume, other)
    ]
    assert pictures[0].size == pictures[1].size
    painted = [(np.array(p) == (230, 159, 0)).all(axis=-1).sum() for p in pictures]
    assert painted[0] > painted[1] > 0
    with pytest.raises(CallError, match="masks is empty"):
        contour_slices(None, {})


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_a_closeup_shows_the_image_bare_too(kind: type) -> None:
    mask = np.zeros((300, 400), bool)
    mask[100:110, 200:230] = True
    image = np.random.default_rng(0).integers(0, 200, (300, 400)).astype(kind)
    paint = (255, 64, 160)
    shown = np.array(
        closeup(
            image,
            {"the place": mask, "A": ~mask & False},
            ((100, 110), (200, 230)),
            (105, 215),
            colours=[paint, (0, 0, 255)],
        )
    )
    pink = (shown == paint).all(axis=-1)
    assert pink.any()
    assert not (shown == (0, 0, 255)).all(axis=-1).any(), "who marked nothing here is left out, of the legend too"
    assert not pink[:, : shown.shape[1] // 3].any()


@pytest.mark.parametrize("image", [None, np.full((300, 400), 255, np.uint8), np.full((300, 400, 3), 90, np.uint8)])
def test_a_closeup_has_dashes_and_a_scale_bar(image: np.ndarray | None) -> None:
    place, wide = np.zeros((2, 300, 400), bool)
    place[100:110, 200:230] = True
    wide[90:120, 190:240] = True
    box = ((100, 110), (200, 230))
    parts = {"the place": place}
    bare, dashed = (
        np.array(closeup(image, parts, box, (105, 215), dashed=by, spacing=(0.5, 0.5))) for by in ({}, {"unet": wide})
    )
    light = [(picture == LIGHT).all(axis=-1) for picture in (bare, dashed)]
    # 93 pixels of 0.5 mm are shown 5 times as large; a bar of 10 mm is 20 of them
    shown = slice(None, 465 + 14 if image is None else 2 * 465 + 6 + 14)
    bar = light[0][:, shown].sum(axis=1)
    assert bar[bar > 0].tolist() == [100] * 4
    np.testing.assert_array_equal(*(where[:, shown] for where in light))
    dash = 0 if image is not None and image.flat[0] > 127 else 255
    more = [(picture == dash).all(axis=-1)[:, shown].sum() for picture in (bare, dashed)]
    assert more[1] - more[0] == pytest.approx(150 + 250, rel=0.05), "half of the outline"


def test_faint_curves() -> None:
    curves = {"unet": roc(3), **{f"rater {i}": roc(i / 9) for i in range(13)}, "vnet": roc(2)}
    faint = [name for name in curves if name.startswith("rater")]
    chart = line_chart(curves, "x", "y", "", faint=faint, faint_name="raters", notes={"unet": "0.9", "rater 3": "0.7"})
    root = read(chart)
    assert_tidy(root)
    drawn = [(e.get("stroke"), e.get("stroke-width")) for e in root.iter(f"{SVG}polyline")]
    assert len(drawn) == 15
    assert len(set(drawn[:13])) == 1, "behind the others, all alike"
    assert len({colour for colour, _ in drawn[13:]} | {drawn[0][0]}) == 3
    assert "raters (13)" in words(root)
    assert "0.7" not in words(root).replace("0.75", ""), "together they have no note"
    assert [f"rater {i}" in words(root) for i in range(13)] == [True] * 13, "under the pointer"
    few = read(line_chart({k: curves[k] for k in ("unet", *faint[:3])}, "x", "y", "", faint=faint))
    assert "(3)" not in words(few), "three or fewer are named"
    assert "rater 2" in ["".join(e.itertext()) for e in few.iter(f"{SVG}text")]
    plain = line_chart({"unet": roc(3), "vnet": roc(2)}, "x", "y", "")
    assert [e.get("stroke") for e in read(plain).iter(f"{SVG}polyline")] == [c for c, _ in drawn[13:]], "as without"

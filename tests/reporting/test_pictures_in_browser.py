"""Pictures that people take away: charts as SVG and PNG, and what the viewer shows."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from browser import PHONE, Opened, opened
from PIL import Image

import manytruths as mt
from study_folders import disc

pytestmark = pytest.mark.slow


def saved(page: Any, act: Any, folder: Path) -> Path:
    """The file that an action saves."""
    with page.expect_download() as caught:
        act()
    path = folder / caught.value.suggested_filename
    caught.value.save_as(path)
    return path


def colours_of(picture: Image.Image) -> dict[tuple[int, ...], int]:
    pixels = np.asarray(picture.convert("RGB")).reshape(-1, 3)
    found, counts = np.unique(pixels, axis=0, return_counts=True)
    return {tuple(int(part) for part in colour): int(count) for colour, count in zip(found, counts, strict=True)}


def rgb(colour: str) -> tuple[int, ...]:
    return tuple(int(colour[k : k + 2], 16) for k in (1, 3, 5))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_chart_is_saved_as_svg_and_png(scheme, browser, report, tmp_path):
    with opened(browser, report.path, color_scheme=scheme) as shown:
        page = shown.page
        charts = page.locator("figure.chart").all()
        assert len(charts) > 8
        for chart in charts:
            buttons = chart.locator("button.picture")
            assert [button.inner_text() for button in buttons.all()] == ["SVG", "PNG"]
            name = chart.get_attribute("id").removeprefix("chart-")
            svg = saved(page, buttons.nth(0).click, tmp_path)
            png = saved(page, buttons.nth(1).click, tmp_path)
            assert (svg.name, png.name) == (f"{name}.svg", f"{name}.png")
            check_svg(svg)
            width, height = (float(part) for part in ElementTree.parse(svg).getroot().attrib["viewBox"].split()[2:])
            with Image.open(png) as picture:
                assert picture.size == (round(2 * width), round(2 * height))
                colours = colours_of(picture)
            assert max(colours, key=colours.get) == (255, 255, 255), "white paper, whatever the screen is"
            assert len(colours) > 10
        assert shown.clean()


def check_svg(path: Path) -> None:
    root = ElementTree.parse(path).getroot()
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    text = path.read_text(encoding="utf-8")
    assert not re.search(r"(?:href|src)=|url\((?!#)|@import|<script|<style|class=|tabindex|data-case|var\(", text)
    assert set(re.findall(r"https?://[^\s\"'<]+", text)) == {"http://www.w3.org/2000/svg"}
    assert root.attrib["font-family"]


def test_a_saved_chart_has_the_colours_of_the_raters(browser, report, tmp_path):
    colours = report.findings.colours
    with opened(browser, report.path) as shown:
        found: dict[tuple[int, ...], int] = {}
        for button in shown.page.locator('button.picture[data-kind="png"]').all():
            with Image.open(saved(shown.page, button.click, tmp_path)) as picture:
                found |= colours_of(picture)
        assert {rgb(colour) for name, colour in colours.items() if name in "ABCDE"} <= set(found)


@pytest.fixture
def viewer(home: Opened) -> Any:
    home.page.locator('#table-cases tr[data-case="p02"]').click()
    home.viewer.loaded("p02")
    return home.viewer


def view_of(viewer: Any, act: Any, folder: Path) -> tuple[Path, Image.Image]:
    path = saved(viewer.page, act, folder)
    with Image.open(path) as picture:
        return path, picture.convert("RGB")


def test_the_viewer_saves_what_it_shows(viewer, report, tmp_path):
    page, state = viewer.page, viewer.state
    path, picture = view_of(viewer, page.locator("#viewer-save").click, tmp_path)
    assert path.name == "p02.png"
    place, canvas = state["place"], page.locator("#viewer-stage").bounding_box()
    across = min(canvas["width"], 96 * place["zoom"])
    assert picture.width == pytest.approx(2 * max(across, 320), abs=2)
    assert picture.height > 2 * across, "the legend stands below a square picture"
    colours = colours_of(picture)
    for rater in state["visible"]:
        assert colours.get(rgb(report.findings.colours[rater]), 0) > 100, rater
    legend = colours_of(picture.crop((0, int(2 * across), picture.width, picture.height)))
    assert {rgb(report.findings.colours[rater]) for rater in state["visible"]} <= set(legend)
    _, by_key = view_of(viewer, lambda: page.keyboard.press("s"), tmp_path)
    assert by_key.tobytes() == picture.tobytes()


def test_what_is_saved_follows_what_is_chosen(viewer, tmp_path):
    page, seen = viewer.page, set()

    def save() -> Image.Image:
        _, picture = view_of(viewer, lambda: page.keyboard.press("s"), tmp_path)
        seen.add(picture.tobytes())
        return picture

    save()
    for layer in ("votes", "staple", "accepted"):
        viewer.layer(layer)
        save()
    page.locator("#viewer-stage").focus()
    viewer.press("1")
    save()
    viewer.press("+")
    assert save().size[0] > 640
    assert len(seen) == 6


def test_outlines_are_twice_as_fine_and_not_enlarged(viewer, tmp_path):
    """An enlarged picture has equal pixels in every block of two by two."""
    _, picture = view_of(viewer, lambda: viewer.page.keyboard.press("s"), tmp_path)
    pixels = np.asarray(picture)[: picture.width]
    even = pixels[: len(pixels) // 2 * 2, : pixels.shape[1] // 2 * 2]
    assert (even[::2, ::2] != even[1::2, 1::2]).any(axis=2).mean() > 0.01


@pytest.mark.parametrize(("spacing", "unit"), [((0.5, 0.5), "mm"), (None, "pixels")])
def test_the_scale_bar_has_the_length_that_it_says(spacing, unit, browser, tmp_path):
    masks = {"p1": {r: disc(100, x=x, radius=30) for x, r in enumerate("AB")}}
    study = mt.Study.from_arrays(masks, spacing=spacing)
    made = mt.report(study, to=tmp_path / "report.html", codes=True, resamples=20)
    name = next(iter(made.findings.study)).name
    with opened(browser, made.path, hash=f"#case={name}") as shown:
        state = shown.viewer.loaded(name)
        shown.viewer.layer("none")
        path, picture = view_of(shown.viewer, lambda: shown.page.keyboard.press("s"), tmp_path)
        assert path.name == f"{name}.png"
        assert "p1" not in path.name, "a report with codes saves codes"
        zoom = state["place"]["zoom"]
        most = 25 * (0.5 if spacing else 1)
        length = max(times for times in (1, 2, 5, 10, 20, 50) if times <= most)
        pixels = np.asarray(picture)
        row = pixels[round(2 * (100 * zoom - 14))]
        bar = np.flatnonzero((row == 255).all(axis=1)[: round(60 * zoom)])
        wanted = 2 * length / (0.5 if spacing else 1) * zoom
        assert abs((bar.max() - bar.min() + 1) - wanted) <= 2, (unit, length)
        assert shown.clean()


def test_it_is_saved_on_a_phone(browser, report, tmp_path):
    with opened(browser, report.path, viewport=PHONE, hash="#case=p02") as shown:
        shown.viewer.loaded("p02")
        _, picture = view_of(shown.viewer, shown.page.locator("#viewer-save").click, tmp_path)
        assert 640 <= picture.width <= 2 * PHONE["width"]
        assert shown.clean()

"""Pictures that people take away: charts as SVG and PNG, and what the viewer shows."""

from __future__ import annotations

import base64
import io
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from PIL import Image
from scipy.ndimage import distance_transform_edt

import manytruths as mt
from browser import PHONE, Opened, opened
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
    path, picture = view_of(viewer, page.locator("#viewer-save-png").click, tmp_path)
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


SVG = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"


def rendered(browser: Any, svg: Path, size: tuple[int, int]) -> Image.Image:
    """A file as it opens by itself, with two pixels for each of its own."""
    window = {"width": -(-size[0] // 2), "height": -(-size[1] // 2)}
    with opened(browser, svg, viewport=window, device_scale_factor=2) as shown:
        assert shown.asked[0].startswith("file:")
        assert all(url.startswith("data:") for url in shown.asked[1:])
        assert shown.said == []
        return Image.open(io.BytesIO(shown.page.screenshot())).convert("RGB").crop((0, 0, *size))


NEAR = 4
"""Pixels of the pictures, two of the page's own: so far from what is drawn, edges are smoothed or rounded."""
LEVELS = 2
"""Of 255, where a half-transparent layer is laid over the image: each of two roundings may differ by one."""


def stripped(svg: Path, *unwanted: str) -> Path:
    """A copy without what is drawn above the image: of some tags, except the paper, what clips and what is hatched."""
    tree = ElementTree.parse(svg)
    for parent in tree.iter():
        for node in [node for node in parent if node.tag in {f"{SVG}{tag}" for tag in unwanted}]:
            is_ground = node.attrib.get("x") == "0" or node.attrib.get("fill", "").startswith("url(")
            if parent.tag != f"{SVG}clipPath" and not (is_ground and node.tag == f"{SVG}rect"):
                parent.remove(node)
    path = svg.with_name(f"without-{'-'.join(unwanted)}.svg")
    tree.write(path, encoding="utf-8", xml_declaration=True)
    return path


def array_of(picture: Image.Image) -> np.ndarray:
    return np.asarray(picture, dtype=int)


def apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    return np.abs(one - other).max(axis=2)


def outlines_of(svg: Path) -> dict[tuple[float, float], set[str]]:
    """Points on the outlines, in pixels of the pictures, and the colours of the raters whose outlines run there."""
    points: dict[tuple[float, float], set[str]] = {}
    for group in ElementTree.parse(svg).iter(f"{SVG}g"):
        found = re.fullmatch(r"translate\((\S+) (\S+)\) scale\((\S+)\)", group.attrib.get("transform", ""))
        for node in group.findall(f"{SVG}path") if found else ():
            left, top, scale = map(float, found.groups())
            if node.attrib["stroke"] != "#000000":
                for x, y, way in edges_of(node.attrib["d"], 1):
                    for part in (0.25, 0.5, 0.75):
                        at = (x + part * (way == "right"), y + part * (way == "down"))
                        place = (2 * (left + scale * at[0]), 2 * (top + scale * at[1]))
                        points.setdefault(place, set()).add(node.attrib["stroke"])
    return points


def assert_same_picture(browser: Any, svg: Path, png: Image.Image) -> None:
    """Equal but for the edges of lines and letters, and with every outline in both."""
    drawing, saved_as = array_of(rendered(browser, svg, png.size)), array_of(png)
    images = array_of(rendered(browser, stripped(svg, "path", "text", "rect"), png.size))
    far = distance_transform_edt(apart(drawing, images) == 0) > NEAR
    assert far.mean() > 0.5, "most of it is image and paper"
    assert apart(drawing, saved_as)[far].max() <= LEVELS
    # labels and the scale bar lie above the outlines
    lines = array_of(rendered(browser, stripped(svg, "text", "rect"), png.size))
    free = distance_transform_edt(apart(drawing, lines) == 0) > NEAR
    window = next(ElementTree.parse(svg).iter(f"{SVG}clipPath")).find(f"{SVG}rect").attrib
    across, down = (2 * float(window[side]) - NEAR for side in ("width", "height"))
    points = {at: set(c) for at, c in outlines_of(svg).items() if NEAR < at[0] < across and NEAR < at[1] < down}
    points = {at: colours for at, colours in points.items() if free[int(at[1]), int(at[0])]}
    assert len(points) > 200
    for picture in (drawing, saved_as):
        coloured = {
            colour: distance_transform_edt(apart(picture, np.array(rgb(colour))) > LEVELS)
            for colour in set().union(*points.values())
        }
        missing = {
            at: colours
            for at, colours in points.items()
            if min(coloured[colour][int(at[1]), int(at[0])] for colour in colours) > NEAR
        }
        assert missing == {}


@pytest.mark.parametrize("layer", ["none", "votes", "staple", "accepted"])
@pytest.mark.parametrize("zoom", [0, 2])
def test_the_svg_shows_what_the_png_shows(layer, zoom, viewer, browser, tmp_path):
    viewer.layer(layer)
    viewer.page.locator("#viewer-stage").focus()
    viewer.press("l", *"+" * zoom)
    _, png = view_of(viewer, lambda: viewer.page.keyboard.press("s"), tmp_path)
    svg = saved(viewer.page, viewer.page.locator("#viewer-save-svg").click, tmp_path)
    assert svg.name == "p02.svg"
    assert_same_picture(browser, svg, png)
    moved = png.transform(png.size, Image.Transform.AFFINE, (1, 0, 6, 0, 1, 0))
    with pytest.raises(AssertionError):
        assert_same_picture(browser, svg, moved)
    text = svg.read_text(encoding="utf-8")
    assert not re.search(r"<script|<style|<foreignObject|@import|url\((?!#)|rgb\(", text)
    found = set(re.findall(r"(?:https?|file|blob):[^\s\"'<]+", text))
    assert found == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    # as many pixels as the image has, and of an enlarged one those that are seen
    image = embedded(next(ElementTree.parse(svg).iter(f"{SVG}image")))
    assert (image.shape[:2] == (96, 96)) == (zoom == 0)
    assert image.shape[0] <= 96
    said = [node.text for node in ElementTree.parse(svg).iter(f"{SVG}text")]
    assert {"p02", "A", "B, reading 1", "D"} <= set(said)
    assert any(re.fullmatch(r"\d+ (mm|pixels?)", words) for words in said)
    assert any(re.fullmatch(r"\d+: \d of 5", words) for words in said)


def test_the_svg_has_a_key(viewer, tmp_path):
    by_key = saved(viewer.page, lambda: viewer.page.keyboard.press("v"), tmp_path).read_bytes()
    assert by_key == saved(viewer.page, viewer.page.locator("#viewer-save-svg").click, tmp_path).read_bytes()


def test_reference_standards_can_be_told_apart(viewer, tmp_path):
    """Each has a tint and dots of its own: in the list, on the picture, in its legend."""
    page = viewer.page
    page.get_by_role("button", name="None raters", exact=True).click()
    page.get_by_role("button", name="All reference standards", exact=True).click()
    shown = {who["name"]: who["colour"] for who in viewer.at(0, 0)["marks"] if who["role"] == "reference"}
    assert {"vote:0.5", "staple"} <= set(shown)
    samples = page.locator("#viewer-panel input[data-column] + .viewer-swatch")
    lines = samples.evaluate_all("all => all.map(one => getComputedStyle(one, '::before').background)")
    assert len(set(lines[-len(shown) :])) == len(shown) == len(set(shown.values()))
    svg = saved(page, page.locator("#viewer-save-svg").click, tmp_path)
    dashes: dict[str, set[str]] = {}
    for path in ElementTree.parse(svg).iter(f"{SVG}path"):
        dashes.setdefault(path.attrib["stroke"], set()).add(path.attrib.get("stroke-dasharray", ""))
    own = [frozenset(dashes[colour]) for colour in shown.values()]
    assert all(own)
    assert len(set(own)) == len(own)


def borders(mask: np.ndarray) -> set[tuple[int, int, str]]:
    """Where an outline runs: unit edges between marked and unmarked pixels, by their upper left end."""
    beside = {(int(x) + 1, int(y), "down") for y, x in np.argwhere(mask[:, 1:] != mask[:, :-1])}
    return beside | {(int(x), int(y) + 1, "right") for y, x in np.argwhere(mask[1:] != mask[:-1])}


def edges_of(d: str, aspect: float) -> set[tuple[int, int, str]]:
    """The unit edges that a path runs along."""
    edges: set[tuple[int, int, str]] = set()
    x = y = 0
    for kind, numbers in re.findall(r"([MHVZ])([^MHVZ]*)", d):
        if kind == "Z":
            continue
        values = [float(part) for part in numbers.split()]
        to_x = x if kind == "V" else values[0]
        to_y = y if kind == "H" else values[-1] / aspect
        assert (to_x, to_y) == (int(to_x), int(to_y)), "along borders of pixels"
        if kind == "H":
            edges |= {(at, int(y), "right") for at in range(int(min(x, to_x)), int(max(x, to_x)))}
        elif kind == "V":
            edges |= {(int(x), at, "down") for at in range(int(min(y, to_y)), int(max(y, to_y)))}
        x, y = int(to_x), int(to_y)
    return edges


def embedded(node: ElementTree.Element) -> np.ndarray:
    return np.asarray(Image.open(io.BytesIO(base64.b64decode(node.attrib[LINK].partition(",")[2]))))


@pytest.mark.parametrize("spacing", [None, (1.0, 0.5)])
def test_outlines_run_along_the_borders_of_pixels(spacing, browser, tmp_path):
    names = ["A", '<b>&"C"</b>']
    random = np.random.default_rng(3)
    masks = {name: (disc(40, x=3 * at, radius=11) ^ (random.random((40, 40)) < 0.01)) for at, name in enumerate(names)}
    study = mt.Study.from_arrays({"p1": masks}, spacing=spacing)
    made = mt.report(study, to=tmp_path / "report.html", resamples=20)
    with opened(browser, made.path, hash="#case=p1") as shown:
        shown.viewer.loaded("p1")
        shown.viewer.layer("votes")
        svg = ElementTree.parse(saved(shown.page, lambda: shown.page.keyboard.press("v"), tmp_path))
        paths = [node for node in svg.iter(f"{SVG}path") if "H" in node.attrib["d"]]
        for name in names:
            mine = [node for node in paths if node.attrib["stroke"] == made.findings.colours[name].lower()]
            drawn = set().union(*(edges_of(node.attrib["d"], 2 if spacing else 1) for node in mine))
            assert drawn == borders(masks[name].astype(bool)), name
        [heat] = [embedded(node) for node in svg.iter(f"{SVG}image")]
        assert heat.shape[:2] == (40, 40)
        assert ((heat[..., 3] > 0) == (masks[names[0]] | masks[names[1]]).astype(bool)).all()
        assert names[1] in [node.text for node in svg.iter(f"{SVG}text")]
        shown.page.locator("#viewer-stage").focus()
        shown.viewer.press(*"++++")
        near = ElementTree.parse(saved(shown.page, lambda: shown.page.keyboard.press("v"), tmp_path))
        assert all(embedded(node).shape[1] < 30 for node in near.iter(f"{SVG}image")), "nothing beside the window"
        assert shown.clean()


def test_it_is_saved_on_a_phone(browser, report, tmp_path):
    with opened(browser, report.path, viewport=PHONE, hash="#case=p02") as shown:
        shown.viewer.loaded("p02")
        _, picture = view_of(shown.viewer, shown.page.locator("#viewer-save-png").click, tmp_path)
        assert 640 <= picture.width <= 2 * PHONE["width"]
        assert shown.clean()

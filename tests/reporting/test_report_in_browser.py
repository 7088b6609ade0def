"""The real page in a browser: alone on a disk, light and dark, on paper, on a phone, by keyboard, without scripts."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect

import manytruths as mt
from browser import LAPTOP, PHONE, opened
from manytruths.charts import svg
from manytruths.reporting.sections import computation
from study_folders import disc, write_png

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_opens_in_silence_from_a_mail(scheme, browser, report, tmp_path):
    """The page alone, in a folder of its own."""
    alone = shutil.copy(report.path, tmp_path / "attachment (1).html")
    with opened(browser, Path(alone), color_scheme=scheme) as shown:
        page = shown.page
        expect(page.locator("h1")).to_have_text("5 raters, 12 cases: how far do they agree?")
        assert page.locator("main > section").count() == 10
        for section in page.locator("main > section").all():
            section.scroll_into_view_if_needed()
        shown.page.locator('#table-cases tr[data-case="p01"]').click()
        shown.viewer.loaded("p01")
        shown.viewer.close()
        light = brightness(page, "document.body")
        assert (light > 0.8) if scheme == "light" else (light < 0.2)
        assert len(shown.asked) == 1 + len([url for url in shown.asked if url.startswith(("data:", "blob:"))])
        assert shown.clean()


def brightness(page: Any, element: str, what: str = "backgroundColor") -> float:
    """Of a colour, 0 to 1; what has none shows white paper."""
    colour = page.evaluate(f"getComputedStyle({element}).{what}")
    if colour == "rgba(0, 0, 0, 0)":
        return 1
    return float(np.mean([float(part) for part in re.findall(r"[\d.]+", colour)[:3]])) / 255


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_and_ground_are_far_apart(scheme, browser, report):
    """Contrast of all visible text by WCAG: 4.5, or 3 where it is large."""
    with opened(browser, report.path, color_scheme=scheme) as shown:
        weak = shown.page.evaluate(CONTRAST)
        assert weak == []


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const ground = (element) => {
    for (let at = element; at; at = at.parentElement) {
      const colour = rgba(getComputedStyle(at).backgroundColor);
      if (colour[3] > 250) return colour;
    }
    return [255, 255, 255, 255];
  };
  const weak = new Set();
  const walker = document.createTreeWalker(document.querySelector(".column"), NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || element.closest("svg, script") || !element.checkVisibility()) continue;
    const style = getComputedStyle(element);
    const [one, other] = [light(rgba(style.color)), light(ground(element))];
    const contrast = (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
    const large = parseFloat(style.fontSize) >= 24 || (parseFloat(style.fontSize) >= 18.6 && style.fontWeight >= 700);
    if (contrast < (large ? 3 : 4.5)) weak.add(`${element.className} ${element.localName} ${contrast.toFixed(2)}`);
  }
  return [...weak];
}"""


def test_the_theme_is_changed_by_hand(home):
    button = home.page.locator("button.theme")
    seen = []
    for _ in range(3):
        button.click()
        seen.append((button.inner_text(), brightness(home.page, "document.body") > 0.5))
    assert seen == [("Theme: light", True), ("Theme: dark", False), ("Theme: auto", True)]


def test_the_contents_lead_to_every_section(home):
    links = home.page.locator("nav.contents ol a")
    assert links.count() == home.page.locator("main > section").count()
    for link in links.all():
        link.click()
        expect(home.page.locator(link.get_attribute("href"))).to_be_in_viewport()
        expect(link).to_have_attribute("aria-current", "true")


def test_on_paper(browser, report):
    """Navigation and buttons go, tables are whole."""
    with opened(browser, report.path) as shown:
        page = shown.page
        page.emulate_media(media="print")
        expect(page.locator("nav.contents")).to_be_hidden()
        assert [one.inner_text() for one in page.locator("button:visible").all() if one.inner_text() in TOOLS] == []
        for table in page.locator("table[data-name]").all():
            if not table.is_visible():
                continue  # inside what is closed
            lines = table.locator("tbody tr")
            hidden = lines.evaluate_all("all => all.slice(0, 60).filter(one => !one.checkVisibility()).length")
            assert hidden == 0, table.get_attribute("data-name")
        assert brightness(page, "document.body") > 0.9
        pages = len(re.findall(rb"/Type\s*/Page\b", page.pdf(format="A4")))
        assert 4 < pages < 60
        assert shown.clean()


TOOLS = {"Copy", "CSV", "Theme: auto", "Show fewer lines", "Copy methods text", "Copy results text"}


@pytest.mark.parametrize("chosen", [False, True], ids=["of the system", "chosen"])
def test_in_the_dark_paper_stays_white(chosen, browser, report):
    with opened(browser, report.path, color_scheme="dark") as shown:
        page = shown.page
        for _ in range(2 * chosen):
            page.locator("button.theme").click()
        page.emulate_media(media="print", color_scheme="dark")
        for element in ("document.documentElement", "document.body", "document.querySelector('main table')"):
            assert brightness(page, element) > 0.9
        assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") != "dark"
        for element in (".lead p", "main td", "figure svg text", "figcaption"):
            assert brightness(page, f"document.querySelector('{element}')", "color") < 0.5
        assert brightness(page, "document.querySelector('figure svg text')", "fill") < 0.5


@pytest.mark.parametrize("size", [PHONE, {"width": 768, "height": 1024}, LAPTOP, {"width": 2200, "height": 1200}])
def test_nothing_is_wider_than_the_window(size, browser, report):
    with opened(browser, report.path, viewport=size) as shown:
        shown.page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
        assert shown.clean()


@pytest.mark.parametrize("size", [PHONE, LAPTOP])
def test_a_chart_that_is_wider_than_the_window_says_so(size, browser, report):
    """It is not made so small that its words cannot be read."""
    with opened(browser, report.path, viewport=size) as shown:
        seen = shown.page.locator("figure.chart").evaluate_all(
            """all => all.map(figure => {
                const box = figure.querySelector(".scroll"), svg = figure.querySelector("svg");
                const share = svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
                const words = [...svg.querySelectorAll("text")].map(one => parseFloat(getComputedStyle(one).fontSize));
                const hint = getComputedStyle(figure.querySelector(".tools"), "::before").content;
                return [box.scrollWidth > box.clientWidth + 1, hint.includes("sideways"), share * Math.min(...words)];
            })"""
        )
        assert all(wide == told for wide, told, _ in seen)
        assert any(wide for wide, *_ in seen) == (size == PHONE)
        assert min(pixels for *_, pixels in seen) > 8.5
        assert shown.clean()


def test_on_a_phone_the_contents_unfold(browser, report):
    with opened(browser, report.path, viewport=PHONE) as shown:
        page = shown.page
        expect(page.locator("nav.contents ol")).to_be_hidden()
        page.locator("button.menu").click()
        expect(page.locator("nav.contents ol")).to_be_visible()
        page.locator("nav.contents ol a[href='#cases']").click()
        expect(page.locator("nav.contents ol")).to_be_hidden()
        expect(page.locator("#cases h2")).to_be_in_viewport()


def test_by_keyboard_alone(home):
    """The first stop skips to the content; every control can be reached and shows that it was."""
    page = home.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    expect(page.locator(".skip")).to_be_in_viewport()
    reached = set()
    for _ in range(1200):
        page.keyboard.press("Tab")
        where, outlined = page.evaluate(
            """() => { const on = document.activeElement, style = getComputedStyle(on);
                const lined = [style.outlineStyle, style.boxShadow, style.stroke].some((one) => one !== "none");
                const where = `${on.localName}.${on.className.baseVal ?? on.className}`;
                return [where, on.matches(":focus-visible") && lined];
            }"""
        )
        if where.startswith("body") or where == "a.skip":
            break
        assert outlined, where
        reached.add(where)
    else:
        pytest.fail("the focus does not come round")
    kinds = {
        "a.",
        "button.sort",
        "button.quiet copy",
        "button.quiet csv",
        "button.open",
        "input.filter",
        "select.group",
    }
    assert kinds <= reached
    assert any(where.startswith("summary") for where in reached)


def test_the_skip_link_skips(home):
    home.page.keyboard.press("Tab")
    home.page.keyboard.press("Enter")
    assert home.page.evaluate("document.activeElement.id") == "page-main"


def test_without_scripts_words_and_tables_are_there(browser, report):
    with opened(browser, report.path, java_script_enabled=False) as shown:
        page = shown.page
        assert page.locator("main > section").count() == 10
        expect(page.locator("#in-short .lead")).to_contain_text("Five raters read twelve cases")
        for table in page.locator("table[data-name]:visible").all():
            assert table.locator("tbody tr").count() == table.locator("tbody tr:visible").count()
        assert page.locator("button:visible").count() == page.locator("button.open:visible, .thumbnails button").count()


def test_charts_are_drawn_in_both_themes(home):
    assert home.page.locator("figure.chart svg:visible").count() >= 8
    for figure in home.page.locator("figure.chart svg").all():
        box = figure.bounding_box()
        assert box is None or (box["width"] > 100 and box["height"] > 40)


# --- names


WICKED = (
    "<script>window.broken=1</script>",
    '"><img src=x onerror=window.broken=1>',
    "a&b &amp; <b>c</b>",
    "{{ 7 * 7 }} ${window.broken=1}",
    "🫀 heart",
    "حالة ١",
    "x' onfocus='window.broken=1' autofocus '",
    "</script><!--<script>",
)


@pytest.fixture(scope="module")
def wicked(tmp_path_factory):
    raters = WICKED[:4]
    cases = {name: {rater: disc(24, x, y % 4) for x, rater in enumerate(raters)} for y, name in enumerate(WICKED)}
    groups = {name: WICKED[number % 3] for number, name in enumerate(WICKED)}
    study = mt.Study.from_arrays(cases, groups=groups)
    folder = tmp_path_factory.mktemp("wicked")
    return mt.report(study, to=folder / "report.html", title=WICKED[0] + WICKED[1], resamples=50)


def test_names_are_shown_as_text_and_nothing_runs(browser, wicked):
    with opened(browser, wicked.path) as shown:
        page = shown.page
        expect(page.locator("h1")).to_have_text(WICKED[0] + WICKED[1])
        assert sorted(shown.table("cases").lines()) == sorted(WICKED)
        for name in WICKED:
            page.locator("#table-cases tbody button.open").get_by_text(name, exact=True).click()
            shown.viewer.loaded(name)
            expect(page.locator("#viewer-title")).to_have_text(name)
            shown.viewer.point_at(12, 12)
            for rater in WICKED[:4]:
                assert rater in page.locator("#viewer-panel").inner_text()
            shown.viewer.close()
        groups = shown.table("cases").tool("group").locator("option").all_inner_texts()
        assert set(groups[1:]) == set(WICKED[:3])
        shown.table("cases").tool("filter").fill("onerror")
        page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        assert page.locator("img[onerror], [onfocus], main script").count() == 0
        assert shown.clean()


@pytest.mark.slow
@pytest.mark.parametrize("name", WICKED)
def test_a_case_with_any_name_has_an_address(name, browser, wicked):
    with opened(browser, wicked.path) as shown:
        page = shown.page
        page.locator("#table-cases tbody button.open").get_by_text(name, exact=True).click()
        shown.viewer.loaded(name)
        address = page.url
        page.goto("about:blank")
        page.goto(address)
        shown.viewer.loaded(name)
        assert shown.clean()


def test_names_of_files_are_shown_as_text(browser, tmp_path):
    """Raters, cases, algorithms and groups as a file system may have them."""
    names = [name for name in WICKED if "/" not in name]
    for number, case in enumerate((*names, "p1", "p2")):
        for x, rater in enumerate(names[:3]):
            write_png(tmp_path / "masks" / rater / f"{case}.png", disc(24, x, number % 4))
        for x, algorithm in enumerate(names[:2]):
            write_png(tmp_path / "predictions" / algorithm / f"{case}.png", disc(24, 2 - x, number % 3))
    study = mt.Study.open(
        f"{tmp_path}/masks/{{rater}}/{{case}}.png", predictions=f"{tmp_path}/predictions/{{algorithm}}/{{case}}.png"
    )
    made = mt.report(study, to=tmp_path / "report.html", resamples=50)
    with opened(browser, made.path) as shown:
        page = shown.page
        page.locator("details").evaluate_all("all => all.forEach(one => one.open = true)")
        page.locator("#table-cases tbody button.open").get_by_text(names[0], exact=True).click()
        shown.viewer.loaded(names[0])
        for algorithm in names[:2]:
            assert algorithm in page.locator("#viewer-panel").inner_text()
            assert algorithm in page.locator("#algorithms").inner_text()
        assert shown.clean()


# --- more cases than the page holds


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    cases = {f"p{n:02}": {r: disc(24, x, n % 7 - 3) for x, r in enumerate("ABC")} for n in range(34)}
    return mt.report(mt.Study.from_arrays(cases), to=tmp_path_factory.mktemp("many") / "page.html", resamples=50)


def test_more_cases_lie_beside_the_page(browser, many):
    assert len(list((many.folder / "cases").glob("*.js"))) == 34
    assert 'id="case-0"' not in many.path.read_text()
    with opened(browser, many.path, hash="#case=p31") as shown:
        shown.viewer.loaded("p31")
        assert [url for url in shown.asked if url.endswith("page_files/cases/31.js")]
        shown.viewer.point_at(12, 12)
        assert "of 3 raters marked it" in shown.viewer.told
        for _ in range(3):
            shown.viewer.press("ArrowRight")
        shown.viewer.wait(lambda state: state["loaded"])
        assert shown.clean()


@pytest.mark.slow
@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_hundreds_of_cases_can_be_searched_and_sorted(browser, tmp_path, monkeypatch, size):
    """Files are listed beside the page, and points of charts are few elements, so that the page stays light."""
    monkeypatch.setattr(computation, "MOST_FILES", 1000)
    monkeypatch.setattr(svg, "MANY_DOTS", 500)
    for n in range(600):
        for x, rater in enumerate("AB"):
            write_png(tmp_path / f"{rater}/p{n:03}.png", disc(24, x, n % 7 - 3) * 255)
    made = mt.report(str(tmp_path / "{rater}/{case}.png"), to=tmp_path / "out/page.html", resamples=50)
    assert len((made.folder / "files.csv").read_text().splitlines()) == 1201
    text = made.path.read_text()
    assert "1,200 files were read" in text
    assert len(text) < 600 * 3500
    assert text.count("<circle") < 3000
    with opened(browser, made.path, viewport=size) as shown:
        table = shown.table("cases")
        assert len(table.lines()) == 600
        table.tool("filter").fill("p31")
        assert sorted(table.lines()) == [f"p31{i}" for i in range(10)]
        table.tool("filter").fill("")
        shown.page.locator("#table-cases thead button").first.click()
        assert table.lines()[:3] == ["p000", "p001", "p002"]
        shown.page.locator('#table-cases tr[data-case="p002"] button.open').click()
        shown.viewer.loaded("p002")
        assert shown.clean()


def test_a_page_without_its_folder_says_so(browser, many, tmp_path):
    alone = Path(shutil.copy(many.path, tmp_path / "page.html"))
    with opened(browser, alone, hash="#case=p31") as shown:
        message = shown.page.locator("#viewer-message")
        expect(message).to_contain_text("page_files")
        expect(message).to_contain_text("not found")
        shown.page.keyboard.press("ArrowLeft")
        expect(message).to_contain_text("not found")
        shown.viewer.close()
        assert len(shown.table("cases").lines()) == 34
        shown.table("cases").tool("filter").fill("p31")
        assert shown.table("cases").lines() == ["p31"]
        shown.page.locator('#table-cases tr[data-case="p31"]').click()
        expect(message).to_contain_text("not found")
        assert [said for said in shown.said if "ERR_FILE_NOT_FOUND" not in said] == []

"""The viewer of the real page in a browser: opening cases, outlines, maps, pixels, keys, slices, labels."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import expect
from report_studies import ODD

import manytruths as mt
from browser import LAPTOP, PHONE, Opened, opened
from study_folders import command, disc, pixels, write_nifti, write_png

pytestmark = pytest.mark.slow


@pytest.fixture
def viewer(home: Opened) -> Any:
    """With case p02 open."""
    home.page.locator('#table-cases tr[data-case="p02"]').click()
    home.viewer.loaded("p02")
    return home.viewer


def study_of(report: Any) -> Path:
    return report.path.parent / "study"


WAYS = {
    "line": '#table-cases tr[data-case="p03"] td:nth-child(4)',
    "name in a table": '#table-cases button[data-case="p03"]',
    "thumbnail": '.thumbnails li[data-name="p03"] button',
    "point of a chart": '#chart-fuse-complexity svg [data-case="p03"]',
}


@pytest.mark.parametrize("way", list(WAYS))
def test_a_case_opens_by(way, home):
    page = home.page
    for more in page.locator("#cases .more").all():
        more.click()
    page.locator(WAYS[way]).first.click()
    home.viewer.loaded("p03")
    expect(page.locator("#viewer-title")).to_have_text("p03")
    assert page.url.endswith("#case=p03")


def test_a_case_opens_by_a_sentence(home):
    button = home.page.locator("#in-short a[data-case]").first
    name = button.get_attribute("data-case")
    button.click()
    home.viewer.loaded(name)
    home.viewer.close()
    assert button.evaluate("button => button === document.activeElement"), "the focus goes back"
    assert "#case" not in home.page.url


def test_a_point_of_a_chart_opens_by_key(home):
    point = home.page.locator("#chart-fuse-complexity svg [data-case]").first
    name = point.get_attribute("data-case")
    point.focus()
    home.page.keyboard.press("Enter")
    home.viewer.loaded(name)


def test_a_case_opens_by_address(browser, report):
    with opened(browser, report.path, hash="#case=p05") as shown:
        shown.viewer.loaded("p05")
        shown.page.evaluate("location.hash = '#case=p06'")
        shown.viewer.loaded("p06")
        assert shown.clean()


def test_an_address_of_nothing_opens_nothing(browser, report):
    for wrong in ("#case=nobody", "#case=%E0%A4%A", "#case=", "#cases"):
        with opened(browser, report.path, hash=wrong) as shown:
            assert not shown.viewer.state["open"]
            assert shown.clean()


def test_raters_are_switched_on_and_off(viewer):
    page, before = viewer.page, viewer.pixels()
    names = viewer.state["visible"]
    assert names == ["A", "B", "C", "D", "E"], "first readings alone"
    page.locator('#viewer-panel input[data-column="D"]').uncheck()
    page.mouse.move(5, 5)
    assert "D" not in viewer.state["visible"]
    without = viewer.pixels()
    assert without != before
    page.get_by_role("button", name="None raters", exact=True).click()
    page.mouse.move(5, 5)
    assert not set(viewer.state["visible"]) & set("ABCDE")
    assert viewer.pixels() not in (before, without)
    page.get_by_role("button", name="All raters", exact=True).click()
    page.mouse.move(5, 5)
    viewer.wait(lambda state: state["highlight"] is None)
    assert viewer.state["visible"] == ["A", "B", "B", "C", "D", "E"], "the second reading, too"
    page.locator('#viewer-panel input[data-column="B"][data-session="2"]').uncheck()
    page.mouse.move(5, 5)
    viewer.wait(lambda state: state["highlight"] is None)
    assert viewer.state["visible"] == names
    assert viewer.pixels() == before


def test_an_algorithm_is_switched_on_and_stays_so(viewer):
    before = viewer.pixels()
    viewer.page.locator('#viewer-panel input[data-column="net"]').check()
    assert "net" in viewer.state["visible"]
    assert viewer.pixels() != before
    viewer.press("n")
    viewer.wait(lambda state: state["loaded"] and state["name"] != "p02")
    assert "net" in viewer.state["visible"]


def test_every_map_can_be_laid_over(viewer):
    names = viewer.page.locator('input[name="viewer-layer"]').evaluate_all("all => all.map(one => one.value)")
    assert {"none", "votes", "ranking", "staple", "vote:0.5", "accepted"} <= set(names)
    seen = set()
    for name in names:
        viewer.layer(name)
        assert viewer.state["layer"] == name
        assert (name == "none") == (viewer.page.locator("#viewer-legend").inner_text() == "")
        seen.add(viewer.pixels())
    assert len(seen) == len(names)


def test_the_threshold_moves_by_key(viewer):
    viewer.layer("staple")
    slider = viewer.page.locator("#viewer-threshold")
    slider.focus()
    before = viewer.pixels()
    viewer.press("ArrowRight", "ArrowRight")
    assert viewer.state["threshold"] == pytest.approx(0.52)
    expect(viewer.page.locator("#viewer-threshold-line output")).to_have_text("0.52")
    assert viewer.state["name"] == "p02", "the key belongs to the slider"
    viewer.press("End")
    assert viewer.state["threshold"] == 1
    assert viewer.pixels() != before
    viewer.layer("votes")
    expect(viewer.page.locator("#viewer-threshold-line")).to_be_hidden()


def test_the_opacity_changes_the_picture(viewer):
    viewer.layer("votes")
    before = viewer.pixels()
    viewer.page.locator("#viewer-opacity").focus()
    viewer.press("Home")
    assert viewer.state["opacity"] == 0
    assert viewer.pixels() != before


@pytest.fixture(scope="module")
def fused(report, tmp_path_factory):
    """The maps as ``fuse`` writes them."""
    out = tmp_path_factory.mktemp("fused")
    assert command("fuse", study_of(report), "--out", out, "--no-pictures", "--quiet").status == 0
    return out / "fuse"


def test_pixels_are_read_as_they_are_in_the_files(viewer, report, fused):
    folder = study_of(report)
    masks = {r: pixels(p) for r in "ABCDE" if (p := folder / f"masks/{r}/1/p02.png").is_file()}
    net = pixels(folder / "predictions/net/p02.png")
    staple = pixels(fused / "probability/staple/p02.tif")
    votes = sum((m > 0).astype(int) for m in masks.values())
    everywhere = [np.argwhere(votes == count) for count in np.unique(votes)]
    places = [found[len(found) * share // 3] for found in everywhere for share in range(3)]
    for row, column in places:
        viewer.point_at(int(column), int(row))
        told = viewer.told
        assert f"{votes[row, column]} of {len(masks)} raters marked it" in told
        assert re.search(rf"x {column}\s+y {row}\b", told), told
        read = viewer.at(int(column), int(row))
        marks = {(m["role"], m["name"]): m["marked"] for m in read["marks"]}
        for rater, mask in masks.items():
            name = "B, reading 1" if rater == "B" else rater
            assert marks["rater", name] == bool(mask[row, column])
        assert marks["algorithm", "net"] == bool(net[row, column])
        layers = {layer["name"]: layer["value"] for layer in read["layers"]}
        assert layers["votes"] == votes[row, column]
        assert layers["staple"] == pytest.approx(float(staple[row, column]), rel=1e-5)
        assert layers["accepted"] == {0: 0, len(masks): 2}.get(votes[row, column], 1)


def test_the_raters_that_are_counted_are_those_that_are_named(viewer, report):
    """A second reading is not counted, and is named in a line of its own."""
    first, second = (pixels(study_of(report) / f"masks/B/{session}/p02.png") > 0 for session in "12")
    for row, column in (
        np.argwhere(first & ~second)[0],
        np.argwhere(second & ~first)[0],
        np.argwhere(first & second)[0],
    ):
        viewer.point_at(int(column), int(row))
        counted, again = viewer.page.locator("#viewer-readout .readout-lines p").all()[:2]
        named = counted.locator(".readout-marked .readout-name").all_inner_texts()
        assert counted.inner_text().startswith(f"{len(named)} of 5 raters marked it")
        assert ("B, reading 1" in named) == bool(first[row, column])
        assert "B, reading 2" not in counted.inner_text()
        told = f"Second readings{'marked' if second[row, column] else 'not'}: B"
        assert "".join(again.inner_text().split("\n")) == told


def test_a_second_reading_is_spoken_apart(viewer, report):
    both = np.argwhere(np.all([pixels(study_of(report) / f"masks/B/{session}/p02.png") for session in "12"], axis=0))
    row, column = both[len(both) // 2]
    viewer.point_at(int(column), int(row))
    viewer.page.mouse.down()
    viewer.page.mouse.up()
    spoken = viewer.page.locator("#viewer-announce")
    expect(spoken).to_contain_text("marked by")
    counted, _, again = spoken.inner_text().partition("and again by ")
    assert "B, reading 1" in counted
    assert "B, reading 2" not in counted
    assert again.startswith("B, reading 2;")


@pytest.mark.parametrize("size", [{"width": 1280, "height": 900}, {"width": 1366, "height": 850}, PHONE])
def test_the_read_out_is_never_cut_and_moves_nothing(size, browser, report):
    """At every pixel that stands for another pattern of marks, and after the window has changed its size."""
    with opened(browser, report.path, hash="#case=p02", viewport={**size, "width": size["width"] + 200}) as shown:
        viewer, box, canvas = shown.viewer, shown.page.locator("#viewer-readout"), shown.page.locator("#viewer-stage")
        viewer.loaded("p02")
        shown.page.set_viewport_size(size)
        viewer.settle()
        where = set()
        for step in range(6, 90, 6):
            viewer.point_at(step, step)
            assert "raters marked it" in viewer.told
            assert box.evaluate("one => one.scrollHeight <= one.clientHeight")
            where.add(tuple(canvas.bounding_box().values()))
        assert len(where) == 1


def test_every_pixel_is_the_one_of_the_files(viewer, report):
    """All of them, by looking each up."""
    size = 96
    read = viewer.page.evaluate(
        f"""() => Array.from({{length: {size * size}}}, (_, i) =>
            manytruthsViewer.at(i % {size}, Math.floor(i / {size})).marks
                .filter(mark => mark.rater === "A").map(mark => mark.marked ? 1 : 0)[0])"""
    )
    wanted = pixels(study_of(report) / "masks/A/1/p02.png")
    assert np.array_equal(np.reshape(read, (size, size)), wanted)


def test_nothing_is_read_beside_the_picture(viewer):
    for place in ((-1, 0), (0, -1), (96, 0), (0, 96), (0, 0, 1)):
        assert viewer.at(*place) is None
    viewer.point_at(10, 10)
    assert "raters marked it" in viewer.told
    viewer.point_at(-3, 10)
    assert "raters marked it" not in viewer.told


def test_a_pixel_is_read_by_key_and_spoken(viewer):
    viewer.press("r")
    middle = viewer.state["cursor"]
    assert middle is not None
    viewer.press("Shift+ArrowRight", "Shift+ArrowDown")
    assert viewer.state["cursor"] == {"x": middle["x"] + 1, "y": middle["y"] + 1}
    expect(viewer.page.locator("#viewer-announce")).to_contain_text(f"x {middle['x'] + 1}, y {middle['y'] + 1}")
    assert re.search(rf"x {middle['x'] + 1}\s+y {middle['y'] + 1}\b", viewer.told)


def test_keys_go_through_the_cases_as_the_table_has_them(home):
    table = home.table("cases")
    order = table.lines()
    table.root.locator("tr[data-case]").first.click()
    viewer = home.viewer
    viewer.loaded(order[0])
    expect(home.page.locator("#viewer-previous")).to_be_disabled()
    for key, place in (("ArrowRight", 1), ("n", 2), ("ArrowLeft", 1), ("p", 0), ("p", 0)):
        viewer.press(key)
        viewer.loaded(order[place])
    expect(home.page.locator("#viewer-about")).to_contain_text(f"1 of {len(order)}")
    viewer.close()
    home.page.locator('.group[data-table="cases"]').select_option(index=1)
    fewer = table.lines()
    assert 0 < len(fewer) < len(order)
    table.root.locator("tbody tr[data-case]:not([hidden])").first.click()
    viewer.loaded(fewer[0])
    expect(home.page.locator("#viewer-about")).to_contain_text(f"1 of {len(fewer)}")


def test_digits_space_zoom_and_help(viewer):
    page, before, first = viewer.page, viewer.pixels(), viewer.state
    viewer.press("1")
    assert viewer.state["visible"] == first["visible"][1:]
    viewer.press("1")
    assert viewer.pixels() == before
    page.keyboard.down(" ")
    assert viewer.state["bare"]
    assert viewer.pixels() != before
    page.keyboard.up(" ")
    assert not viewer.state["bare"]
    viewer.press("+")
    assert viewer.state["place"]["zoom"] > first["place"]["zoom"]
    viewer.press("-", "-")
    assert viewer.state["place"]["zoom"] < first["place"]["zoom"]
    viewer.press("0")
    assert viewer.state["place"] == first["place"]
    viewer.press("?")
    expect(page.locator("#viewer-keys")).to_be_visible()
    viewer.press("Escape")
    expect(page.locator("#viewer-keys")).to_be_hidden()
    assert viewer.state["open"]
    viewer.close()


def test_the_wheel_zooms_where_it_points_and_dragging_moves(viewer):
    viewer.point_at(30, 40)
    viewer.page.mouse.wheel(0, -300)
    viewer.wait(lambda state: not state["fitted"])
    grown = viewer.state["place"]
    viewer.point_at(30, 40)
    assert re.search(r"x 30\s+y 40\b", viewer.told)
    viewer.page.mouse.down()
    viewer.page.mouse.move(500, 300, steps=4)
    viewer.page.mouse.up()
    moved = viewer.state["place"]
    assert moved["zoom"] == grown["zoom"]
    assert (moved["left"], moved["top"]) != (grown["left"], grown["top"])


def test_the_focus_stays_inside_and_goes_back(home):
    button = home.page.locator('#table-cases button[data-case="p02"]')
    button.focus()
    home.page.keyboard.press("Enter")
    home.viewer.loaded("p02")
    for _ in range(40):
        home.page.keyboard.press("Tab")
        inside = "() => document.activeElement === document.body || !!document.activeElement.closest('#viewer')"
        assert home.page.evaluate(inside)
    home.viewer.close()
    assert button.evaluate("button => button === document.activeElement")


def test_all_controls_have_names(viewer):
    nameless = viewer.page.locator("#viewer :is(button, input, select, canvas)").evaluate_all(
        """all => all.filter(one => !(one.ariaLabel || one.labels?.length || one.textContent.trim() || one.title))
            .map(one => one.outerHTML)"""
    )
    assert nameless == []


def test_quick_keys_end_at_the_last_case(viewer):
    """A case that is overtaken while it loads must not come back."""
    for _ in range(30):
        viewer.page.keyboard.press("ArrowRight")
    last = viewer.page.evaluate("[...document.querySelectorAll('#table-cases tbody tr')].at(-1).dataset.case")
    viewer.loaded(last)
    viewer.page.wait_for_timeout(200)
    assert viewer.state["name"] == last
    for _ in range(5):
        viewer.page.keyboard.press("Escape")
        viewer.page.keyboard.press("ArrowLeft")
    assert not viewer.state["open"]


def test_on_a_phone_nothing_is_wider_than_the_screen(browser, report):
    with opened(browser, report.path, hash="#case=p02", viewport=PHONE, has_touch=True, is_mobile=True) as shown:
        shown.viewer.loaded("p02")
        assert shown.page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        assert shown.page.evaluate("document.getElementById('viewer').scrollWidth") <= PHONE["width"]
        canvas = shown.page.locator("#viewer-stage").bounding_box()
        assert canvas["width"] > 300
        assert canvas["height"] > 250
        shown.page.touchscreen.tap(canvas["x"] + canvas["width"] / 2, canvas["y"] + canvas["height"] / 2)
        assert "raters marked it" in shown.viewer.told
        expect(shown.page.locator("#viewer-close")).to_be_in_viewport()
        assert shown.clean()


# --- volumes, labels, odd cases


@pytest.fixture(scope="module")
def volumes(tmp_path_factory):
    """A case that is different along every axis, its image, and one in which nobody marked anything."""
    folder = tmp_path_factory.mktemp("volumes")
    rng = np.random.default_rng(1)
    for x, rater in enumerate("ABC"):
        mask = np.zeros((20, 16, 12), np.uint8)
        mask[4 + x : 14, 3 : 9 + x, 3:9] = 1
        mask[6, 5, 3 + x] = 0
        write_nifti(folder / f"masks/{rater}/v1.nii.gz", mask, spacing=(1, 1, 2.5))
        write_nifti(folder / f"masks/{rater}/v2.nii.gz", mask * 0, spacing=(1, 1, 2.5))
    for case in ("v1", "v2"):
        image = rng.integers(0, 1000, (20, 16, 12)).astype(np.int16)
        write_nifti(folder / f"images/{case}.nii.gz", image, spacing=(1, 1, 2.5))
    study = mt.Study.open(f"{folder}/masks/{{rater}}/{{case}}.nii.gz", images=f"{folder}/images/{{case}}.nii.gz")
    return mt.report(study, to=folder / "report.html", resamples=50)


def test_slices_of_a_volume_are_read_in_the_files_indices(browser, volumes):
    masks = {r: read_nifti(volumes.path.parent / f"masks/{r}/v1.nii.gz") for r in "ABC"}
    votes = sum(m.astype(int) for m in masks.values())
    with opened(browser, volumes.path, hash="#case=v1") as shown:
        viewer, page = shown.viewer, shown.page
        viewer.loaded("v1")
        expect(page.locator("#viewer-slices")).to_be_visible()
        assert viewer.state["slices"] < 12, "slices far from what is marked are left out"
        seen = set()
        for key in ("ArrowUp", "ArrowDown", "PageDown", "PageDown"):
            viewer.press(key)
            page.wait_for_timeout(150)
            for column, row in ((5, 5), (10, 8), (12, 11)):
                viewer.point_at(column, row, aspect=1)
                read = viewer.at(column, row, viewer.state["slice"])
                place = tuple(read["place"])
                assert re.search(r"i {}\s+j {}\s+k {}\b".format(*place), viewer.told), (place, viewer.told)
                assert f"{votes[place]} of 3 raters marked it" in viewer.told, (place, viewer.told)
                marks = {mark["name"]: mark["marked"] for mark in read["marks"] if mark["role"] == "rater"}
                assert marks == {rater: bool(mask[place]) for rater, mask in masks.items()}
                seen.add(place)
        assert len({place[2] for place in seen}) >= 3
        assert len({int(votes[place]) for place in seen}) >= 2
        assert shown.clean()


def read_nifti(path):
    import nibabel

    return np.asarray(nibabel.load(path).dataobj)


def test_what_is_read_follows_the_slices_under_a_resting_pointer(browser, volumes):
    with opened(browser, volumes.path, hash="#case=v1") as shown:
        viewer = shown.viewer
        viewer.loaded("v1")
        viewer.point_at(10, 8)
        before = viewer.told
        viewer.press("ArrowDown")
        expect(shown.page.locator("#viewer-readout")).not_to_have_text(before)
        assert "raters marked it" in viewer.told
        viewer.press("ArrowRight")
        viewer.loaded("v2")
        assert "raters marked it" not in viewer.told
        assert shown.clean()


def test_the_slider_turns_slices(browser, volumes):
    with opened(browser, volumes.path, hash="#case=v1") as shown:
        viewer = shown.viewer
        first = viewer.loaded("v1")["slice"]
        before = viewer.pixels()
        shown.page.locator("#viewer-slice").focus()
        viewer.press("ArrowRight")
        viewer.wait(lambda state: state["slice"] != first)
        viewer.page.wait_for_timeout(100)
        assert viewer.pixels() != before
        expect(shown.page.locator("#viewer-slices label")).to_have_text(re.compile(r"slice \d+ of 12"))
        assert shown.clean()


def test_a_case_in_which_nobody_marked_anything_opens(browser, volumes):
    with opened(browser, volumes.path, hash="#case=v2") as shown:
        assert shown.viewer.loaded("v2")["slices"] == 12
        shown.viewer.point_at(5, 5)
        assert "0 of 3 raters marked it" in shown.viewer.told
        for name in shown.page.locator('input[name="viewer-layer"]').evaluate_all("all => all.map(one => one.value)"):
            shown.viewer.layer(name)
        assert shown.clean()


@pytest.fixture(scope="module")
def labelled(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    for case in range(3):
        for x, rater in enumerate("ABC"):
            mask = np.where(disc(40, x, case, 4), 2, disc(40, x, case, 10))
            write_png(folder / f"masks/{rater}/p{case}.png", mask.astype(np.uint8))
    study = mt.Study.open(f"{folder}/masks/{{rater}}/{{case}}.png", labels={1: "gland", 2: "tumour"})
    return mt.report(study, to=folder / "report.html", resamples=50)


def test_outlines_of_one_label(browser, labelled):
    with opened(browser, labelled.path, hash="#case=p1") as shown:
        viewer, page = shown.viewer, shown.page
        viewer.loaded("p1")
        pictures = set()
        for label in ("", "gland", "tumour"):
            page.locator("#viewer-label").select_option(label)
            assert viewer.state["label"] == label
            pictures.add(viewer.pixels())
        assert len(pictures) == 3
        viewer.point_at(20, 20)
        assert "A (tumour)" in viewer.told
        layers = {layer["name"]: layer["value"] for layer in viewer.at(20, 20)["layers"]}
        assert layers["votes tumour"] == 3
        assert layers["votes gland"] == 0
        assert shown.clean()


def test_without_images_a_map_is_shown_at_once(browser, labelled):
    with opened(browser, labelled.path, hash="#case=p1") as shown:
        shown.viewer.loaded("p1")
        assert shown.viewer.state["layer"] == "disputes"


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["forty_raters", "long_names", "one_pixel", "all_masks_full", "names_that_mean_something"]
)
@pytest.mark.parametrize("size", [LAPTOP, PHONE], ids=["laptop", "phone"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_cases_of_odd_studies_open(name, size, browser, odd_reports):
    made = odd_reports(name)
    with opened(browser, made.path, viewport=size) as shown:
        page, viewer = shown.page, shown.viewer
        for case in list(made.findings.study)[:10]:
            page.evaluate("name => { location.hash = `#case=${encodeURIComponent(name)}`; }", case.name)
            viewer.loaded(case.name)
            row, column = np.argwhere(np.ones(case.read().grid.shape))[0]
            viewer.point_at(int(column), int(row))
            assert f"of {len(case.masks)} raters marked it" in viewer.told
            assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
            assert page.evaluate("document.getElementById('viewer').scrollWidth") <= size["width"]
            canvas = page.locator("#viewer-stage").bounding_box()
            assert min(canvas["width"], canvas["height"]) > 200
            expect(page.locator("#viewer-close")).to_be_in_viewport()
        viewer.close()
        assert shown.clean()


@pytest.fixture(scope="module")
def odd_reports(tmp_path_factory):
    """Each made when first asked for."""

    @cache
    def made(name: str) -> Any:
        study = mt.Study.from_arrays(ODD[name]())
        return mt.report(study, to=tmp_path_factory.mktemp(name) / "r.html", resamples=40)

    return made


def test_outlines_of_the_fortieth_rater_are_drawn(browser, odd_reports):
    """Columns are kept as bits, 32 a word."""
    with opened(browser, odd_reports("forty_raters").path, hash="#case=p0") as shown:
        viewer, page = shown.viewer, shown.page
        viewer.loaded("p0")
        viewer.layer("none")
        page.get_by_role("button", name="None raters", exact=True).click()
        page.mouse.move(5, 5)
        empty, pictures = viewer.pixels(), set()
        for rater in ("rater 00", "rater 31", "rater 32", "rater 39"):
            page.locator(f'#viewer-panel input[data-column="{rater}"]').check()
            page.mouse.move(5, 5)
            viewer.wait(lambda state: state["highlight"] is None)
            pictures.add(viewer.pixels())
            page.locator(f'#viewer-panel input[data-column="{rater}"]').uncheck()
        assert len(pictures) == 4
        assert empty not in pictures
        assert shown.clean()


def test_lesions_are_numbered_and_lead_to_their_place(viewer):
    """Off at first; a key or the list switches them on, and they stay on in the next case."""
    page = viewer.page
    assert (viewer.state["lesions"], viewer.state["marks"]) == (False, [])
    before = viewer.pixels()
    state = viewer.press("l")
    lines = page.locator("#viewer-panel .viewer-lesion")
    assert len(state["marks"]) == lines.count() > 0
    assert viewer.pixels() != before
    expect(page.locator("#viewer-lesions")).to_be_checked()
    lines.last.click()
    zoomed = viewer.wait(lambda now: not now["fitted"])
    assert zoomed["place"]["zoom"] > state["place"]["zoom"]
    expect(lines.last).to_contain_text(zoomed["marks"][-1])
    viewer.press("n")
    assert viewer.wait(lambda now: now["loaded"] and now["name"] != "p02")["lesions"]
    viewer.press("l")
    assert viewer.state["marks"] == []


def test_one_object_a_case_has_no_list_of_lesions(browser, labelled):
    with opened(browser, labelled.path, hash="#case=p1") as shown:
        shown.viewer.loaded("p1")
        assert shown.page.locator("#viewer-lesions").count() == 0
        assert shown.viewer.press("l")["marks"] == []

"""Large cases on the page: the tables of the commands, an overview, and disputed places at full resolution."""

from __future__ import annotations

import base64
import json
import zlib

import numpy as np
import pytest
import zarr
from PIL import Image
from playwright.sync_api import expect

import manytruths as mt
from browser import LAPTOP, PHONE, opened
from manytruths.core import tiles
from manytruths.core.blocks import Blocks
from manytruths.io import files
from manytruths.reporting import large_view
from manytruths.reporting.large_view import disputed_windows

SHAPE = (420, 360)
RATERS = "ABCD"


def masks():
    """A disc that all drew alike but for its rim, and a spot that only two saw."""
    y, x = np.indices(SHAPE)
    made = {}
    for number, rater in enumerate(RATERS):
        mask = np.hypot(y - 130, x - 150) < 60 + 3 * number
        if number < 2:
            mask |= np.hypot(y - 350, x - 300) < 12
        made[rater] = mask.astype(np.uint8)
    return made


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    root = tmp_path_factory.mktemp("large")
    drawn = masks()
    for rater, mask in drawn.items():
        (root / "png" / rater).mkdir(parents=True)
        Image.fromarray(mask).save(root / f"png/{rater}/slide.png")
        zarr.create_array(root / f"zarr/{rater}/slide.zarr", data=mask, chunks=(64, 80))
    for name, source in {"net": "B", "old": "D"}.items():
        moved = np.roll(drawn[source], 5, axis=0)
        zarr.create_array(root / f"pred/{name}/slide.zarr", data=moved, chunks=(100, 90))
        (root / f"pred-png/{name}").mkdir(parents=True)
        Image.fromarray(moved).save(root / f"pred-png/{name}/slide.png")
    (root / "images").mkdir()
    colours = np.random.default_rng(0).integers(60, 200, (*SHAPE, 3)).astype(np.uint8)
    Image.fromarray(colours).save(root / "images/slide.png")
    return root


@pytest.fixture
def large(monkeypatch):
    """From here on, everything is large, and an overview has at most 140 rows."""

    def shrink():
        monkeypatch.setattr(files, "LARGE", 1000)
        monkeypatch.setattr(tiles, "TILE_BYTES", 1 << 14)
        monkeypatch.setattr(large_view, "OVERVIEW", 140)
        monkeypatch.setattr(large_view, "WINDOW", 96)

    return shrink


def open_large(root):
    given = {"images": str(root / "images/{case}.png"), "predictions": str(root / "pred/{algorithm}/{case}.zarr")}
    return mt.Study.open(str(root / "zarr/{rater}/{case}.zarr"), **given)


def lines(table):
    return [str(row) for row in table.rows]


def unpack(map, shape):
    items = np.frombuffer(zlib.decompress(base64.b64decode(map["data"])), f"<{map['type']}").reshape(shape)
    return np.bitwise_xor.accumulate(items, axis=0)


@pytest.mark.slow
def test_the_report_has_the_tables_of_the_commands(study, large, tmp_path):
    large()
    opened_study = open_large(study)
    report = mt.report(opened_study, to=tmp_path / "report.html")
    agreed = mt.agree(opened_study)
    fused = mt.fuse(opened_study)
    judged = mt.evaluate(opened_study)
    compared = 0
    for command, result in {"agree": agreed, "fuse": fused, "evaluate": judged}.items():
        for name, table in result.tables.items():
            if hasattr(table, "rows"):
                assert lines(report.tables[f"{command}/{name}"]) == lines(table), (command, name)
                compared += len(table.rows)
    assert compared > 500


def test_the_data_of_the_viewer(study, large, tmp_path):
    large()
    report = mt.report(open_large(study), to=tmp_path / "report.html")
    view = report.findings.views["slide"]
    data, drawn = json.loads(view.inside), masks()
    assert view.large
    assert view.places == len(data["parts"]) > 1
    assert data["step"] == 3
    shape = data["shape"][1:]
    assert shape == [140, 120]
    votes = sum(mask.astype(int) for mask in drawn.values())
    blocks = votes.reshape(140, 3, 120, 3)
    disputed = ((blocks > 0) & (blocks < 4)).mean(axis=(1, 3))
    found = {
        layer["name"]: np.array(layer["values"])[unpack(data["maps"][layer["map"]], shape)] for layer in data["layers"]
    }
    np.testing.assert_allclose(found["disputed share"], disputed, atol=0.5 / 255 + 1e-6)
    np.testing.assert_allclose(found["mean votes"], blocks.mean(axis=(1, 3)), atol=2 / 255 + 1e-6)
    for part in data["parts"]:
        row, column, rows, columns = part["box"]
        assert part["step"] == 1
        assert part["shape"] == [1, rows, columns]
        codes = unpack(part["maps"][0], (rows, columns))
        patterns = unpack(part["patterns"], (len(part["columns"]), -1))
        for place, who in enumerate(part["columns"]):
            if who["role"] == "rater":
                exact = drawn[who["name"]][row : row + rows, column : column + columns]
                np.testing.assert_array_equal(patterns[place][codes], exact)
        assert part["places"] == [{"axis": 0, "start": row, "step": 1}, {"axis": 1, "start": column, "step": 1}]
        share = ((votes > 0) & (votes < 4))[row : row + rows, column : column + columns].mean()
        assert part["about"][0] == f"{share:.1%} disputed"
    boxes = [part["box"] for part in data["parts"]]
    assert any(r <= 350 <= r + h and c <= 300 <= c + w for r, c, h, w in boxes), "the spot that two saw is shown"
    text = report.path.read_text()
    assert "slide is too large to be shown at once: the viewer shows an overview and up to" in text


def test_windows_hold_what_is_disputed_most_first():
    rng = np.random.default_rng(2)
    blocks = Blocks((3000, 2500), 10)
    for _ in range(30):
        r, c = rng.integers(0, 2900), rng.integers(0, 2400)
        blocks.put((slice(r, r + 80), slice(c, c + 60)), 1)
    windows = disputed_windows(blocks, 10, (3000, 2500))
    assert len(windows) == large_view.PLACES
    assert windows[0].disputed == max(window.disputed for window in windows)
    # no window of all has more
    sums = np.lib.stride_tricks.sliding_window_view(blocks.values, (102, 102)).sum(axis=(2, 3))
    assert windows[0].disputed == sums.max()
    assert disputed_windows(Blocks((300, 200), 10), 10, (300, 200)) == []


@pytest.mark.parametrize("method", ["vote:0.5,staple", pytest.param("plurality,lesions:0.5", marks=pytest.mark.slow)])
def test_numbers_do_not_depend_on_how_masks_are_read(study, large, tmp_path, method):
    png = mt.Study.open(
        str(study / "png/{rater}/{case}.png"), predictions=str(study / "pred-png/{algorithm}/{case}.png"),
        images=str(study / "images/{case}.png"),
    )  # fmt: skip
    whole = mt.report(png, to=tmp_path / "whole.html", consensus=method)
    large()
    found = mt.report(open_large(study), to=tmp_path / "tiles.html", consensus=method)
    assert set(whole.tables) == set(found.tables)
    # sums by tile differ by rounding from those of one piece
    wanted, sums = (
        {row.statistic + str(row.extra): float(row.value) for row in each.tables["agree/features"].rows}
        for each in (whole, found)
    )
    assert sums == pytest.approx(wanted, rel=0, abs=1e-12, nan_ok=True)
    for name in set(found.tables) - {"agree/features"}:
        assert lines(found.tables[name]) == lines(whole.tables[name]), name


@pytest.mark.slow
@pytest.mark.parametrize("size", [LAPTOP, PHONE])
def test_places_in_the_browser(browser, study, large, tmp_path, size):
    large()
    report = mt.report(open_large(study), to=tmp_path / "report.html")
    parts = json.loads(report.findings.views["slide"].inside)["parts"]
    with opened(browser, report.path, hash="#case=slide", viewport=size) as shown:
        page, viewer = shown.page, shown.viewer
        state = viewer.loaded("slide")
        assert (state["part"], state["layer"], state["visible"]) == (0, "disputed share", [])
        assert page.locator("[name=viewer-place]").count() == len(parts) + 1
        expect(page.locator("#viewer-panel .viewer-note").last).to_contain_text(
            "shown at full resolution: the one with most"
        )
        overview = viewer.pixels()
        page.locator("[name=viewer-place][value='1']").check()
        state = viewer.wait(lambda now: now["part"] == 1 and now["loaded"])
        assert (state["layer"], state["visible"]) == ("none", list(RATERS))
        expect(page.locator("#viewer-title")).to_have_text("slide, place 1")
        assert viewer.pixels() != overview
        row, column, _, _ = parts[0]["box"]
        drawn = masks()
        for x, y in ((0, 0), (40, 50), (90, 20)):
            read = viewer.at(x, y)
            assert read["place"] == [row + y, column + x]
            marked = {mark["name"]: mark["marked"] for mark in read["marks"] if mark["role"] == "rater"}
            assert marked == {rater: bool(mask[row + y, column + x]) for rater, mask in drawn.items()}
        # who works with the keyboard stays in the list
        page.locator("[name=viewer-place]:checked").focus()
        viewer.press("ArrowDown")
        viewer.wait(lambda now: now["part"] == 2 and now["loaded"])
        assert page.evaluate("document.activeElement.value") == "2"
        page.locator("#viewer-stage").focus()
        viewer.press("ArrowUp", "ArrowUp")
        viewer.wait(lambda now: now["part"] == 0 and now["loaded"])
        assert viewer.pixels() == overview
        # a tap on a frame leads to its place
        row, column, rows, columns = parts[1]["box"]
        viewer.point_at((column + columns // 2) // 3, (row + rows // 2) // 3)
        page.mouse.down()
        page.mouse.up()
        viewer.wait(lambda now: now["part"] == 2 and now["loaded"])
        viewer.close()
        assert shown.clean()

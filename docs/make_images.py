"""Make the pictures of README and pages, and the tables of the page on learning: ``python docs/make_images.py``."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import adjudication_pictures
import learning_pages
import numpy as np
import paper_pages
import progress_pictures
from PIL import Image

import manytruths as mt
from manytruths.charts import contour_overlay, heat_overlay
from manytruths.cli import status

CASE, SIZE = "p08", 512
SHOWN = "p08"
POINTED_AT = 61, 91
"""The case in the viewer, and the column and row of a pixel that some raters marked."""
WINDOW = slice(40, 480), slice(40, 430)
"""Rows and columns of the image that hold the lesions."""
GAP = 28
CHARTS = {
    "agree": ("dendrogram", "kappa-by-group"),
    "evaluate": ("human-dice",),
    "rank": ("truths",),
    "plan": ("majority", "nomogram-agreement"),
}
"""By verb, those that are shown."""
PANEL = "--rater-accuracy 0.85 --wanted 0.95 --correlation 0.3"
NOMOGRAM = "--agreement 0.8 --n-raters 3 --reported-accuracy 0.95"


def overview() -> Image.Image:
    """One case three ways: everybody's outline, how many marked each pixel, and how severe they found it."""
    case = mt.simulate_study(size=SIZE)[CASE]
    first = {rater: marking for (rater, session), marking in case.readings.items() if session == "1"}
    masks = {rater: marking.mask.astype(np.uint8) for rater, marking in first.items()}
    ranks = {rater: marking.ranks for rater, marking in first.items()}
    common = mt.paint(mt.common_heatmap(mt.tally(masks)), masks)[WINDOW]
    ranking = mt.paint(mt.ranking_heatmap(mt.tally(ranks)), ranks)[WINDOW]
    image, outlines = case.image[WINDOW], {rater: mask[WINDOW] for rater, mask in masks.items()}
    severe = {"title": "How severe they found it", "caption": "mean rank value"}
    return side_by_side(
        [
            contour_overlay(image, outlines, title="What each rater drew"),
            heat_overlay(image, common, most=len(masks), title="How many marked it", caption="raters"),
            heat_overlay(image, ranking, most=23, discrete=False, **severe),
        ]
    )


def side_by_side(pictures: list[Image.Image]) -> Image.Image:
    """Pictures in a row, on white."""
    width = sum(p.width for p in pictures) + GAP * (len(pictures) - 1)
    sheet = Image.new("RGB", (width, max(p.height for p in pictures)), "white")
    left = 0
    for picture in pictures:
        sheet.paste(picture.convert("RGB"), (left, 0))
        left += picture.width + GAP
    return sheet


def analyse(folder: Path) -> None:
    """The demo, and its algorithms ranked; two plans, of which the second must not remove what the first wrote."""
    ranked = ("rank", str(folder / "evaluate" / "scores.csv"), "--metric", "dice")
    run(folder, "demo")
    run(folder, *ranked)
    for call in (PANEL, NOMOGRAM):
        run(folder / call, "plan", *call.split())
        shutil.copytree(folder / call / "plan", folder / "plan", dirs_exist_ok=True)


def run(folder: Path, *call: str) -> None:
    """A verb, into a folder."""
    if status([*call, "--out", str(folder), "--quiet"]):
        raise SystemExit(f"manytruths {call[0]} failed")


def screens(page: Path, folder: Path) -> None:
    """The first screen of a report, and a case in its viewer, as Chromium shows them."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        # the page lets no foreign script run, not even one that waits
        tab = browser.new_page(viewport={"width": 1366, "height": 850}, bypass_csp=True)
        tab.goto(page.as_uri())
        tab.screenshot(path=folder / "report.png")
        tab.goto(f"{page.as_uri()}#case={SHOWN}")
        tab.reload()
        tab.wait_for_function("manytruthsViewer.state().loaded")
        # so high that all controls are seen
        tab.set_viewport_size({"width": 1366, "height": 1090})
        tab.check('input[name="viewer-layer"][value="votes"]')
        tab.wait_for_function("manytruthsViewer.state().fitted")
        place, stage = tab.evaluate("manytruthsViewer.state().place"), tab.locator("#viewer-stage").bounding_box()
        column, row = (at + 0.5 for at in POINTED_AT)
        zoom = place["zoom"]
        tab.mouse.move(stage["x"] + place["left"] + column * zoom, stage["y"] + place["top"] + row * zoom)
        tab.screenshot(path=folder / "report-viewer.png")
        picture = Image.open(folder / "report-viewer.png").convert("RGB")
        picture = picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE)
        picture.save(folder / "report-viewer.png", optimize=True)
        browser.close()


def learning(folder: Path) -> None:
    """What the page on learning shows."""
    learning_pages.write_tables()
    learning_pages.echo_strip().quantize(256, dither=Image.Dither.NONE).save(folder / "echo.png", optimize=True)
    for study in learning_pages.STUDIES:
        chart = learning_pages.extended_dice_chart(study)
        (folder / f"extended-dice-{study}.svg").write_text(chart, encoding="utf-8")


def main() -> None:
    """Write everything beside this file."""
    folder = Path(__file__).parent / "images"
    folder.mkdir(exist_ok=True)
    learning(folder)
    paper_pages.main([])
    adjudication_pictures.adjudication_screens(folder)
    progress_pictures.progress_screens(folder)
    picture = overview()
    picture.save(folder / "overview.png", optimize=True)
    with tempfile.TemporaryDirectory() as made:
        analyse(Path(made))
        for verb, names in CHARTS.items():
            for name in names:
                shutil.copyfile(Path(made) / verb / "charts" / f"{name}.svg", folder / f"{name}.svg")
        screens(Path(made) / "report.html", folder)


if __name__ == "__main__":
    main()

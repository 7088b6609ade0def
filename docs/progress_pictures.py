"""Pictures of the pages about a study that runs: a simulated study in which rater A comes to draw larger."""

from __future__ import annotations

import csv
import shutil
import tempfile
from datetime import date, timedelta
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import binary_dilation

import manytruths as mt

CASES, SIZE = 60, 192
START, TODAY = date(2026, 1, 5), "2026-04-24"
LARGER = "A"
BEHIND = {"D": 6, "E": 10}
"""The last cases that raters have not read yet."""
SHOWN = 1000
"""Pixels across a picture."""
CURATOR, OWN = {"width": 1180, "height": 1640}, {"width": 1180, "height": 1560}


def running_study(folder: Path) -> Path:
    """Four cases a week; from the fourth week on A's outlines grow by a pixel every two weeks."""
    rows = []
    for number, case in enumerate(mt.simulate_study(cases=CASES, size=SIZE)):
        (folder / "images").mkdir(parents=True, exist_ok=True)
        Image.fromarray(case.image).save(folder / "images" / f"{case.name}.png")
        first = {rater: marking for (rater, session), marking in case.readings.items() if session == "1"}
        for order, (rater, marking) in enumerate(first.items()):
            row = {"case": case.name, "rater": rater, "status": "unread", "started": "", "seconds": ""}
            if number < CASES - BEHIND.get(rater, 0):
                mask, steps = marking.mask > 0, max(0, number // 8 - 1)
                if rater == LARGER and steps:
                    mask = binary_dilation(mask, iterations=steps)
                path = folder / "masks" / rater / f"{case.name}.png"
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(mask.astype(np.uint8)).save(path)
                day = START + timedelta(days=7 * (number // 4) + number % 4)
                seconds = 60 + int(np.sqrt(mask.sum())) + 15 * order
                row |= {"status": "done", "started": f"{day}T{9 + order:02}:00:00", "seconds": seconds}
            rows.append(row)
    with open(folder / "reads.csv", "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, ("case", "rater", "status", "started", "seconds"))
        writer.writeheader()
        writer.writerows(rows)
    lines = ('masks = "masks/{rater}/{case}.png"', 'images = "images/{case}.png"', 'reads = "reads.csv"')
    (folder / "study.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def progress_screens(to: Path) -> None:
    """The first screens of the page for who runs the study, and of rater A's."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as made, sync_playwright() as play:
        result = mt.progress(running_study(Path(made) / "study"), today=TODAY)
        pages = {
            # of pale grounds, and of thin coloured lines
            "progress": (mt.progress_page(result, to=made).path, CURATOR, Image.Quantize.MAXCOVERAGE),
            "progress-rater": (mt.progress_page(result, to=made, rater=LARGER).path, OWN, Image.Quantize.FASTOCTREE),
        }
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox", "--disable-gpu"])
        for name, (page, size, colours) in pages.items():
            tab = browser.new_page(viewport=size)
            tab.goto(page.as_uri())
            tab.screenshot(path=to / f"{name}.png")
            screen = Image.open(to / f"{name}.png").convert("RGB")
            picture = screen.resize((SHOWN, round(SHOWN * screen.height / screen.width)), Image.Resampling.LANCZOS)
            picture = picture.quantize(256, colours, dither=Image.Dither.NONE)
            picture.save(to / f"{name}.png", optimize=True)
        browser.close()

"""Pictures of the page where disputes are settled, for the page about it: a simulated study and a simulated CT."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Any

import nibabel
import numpy as np
from PIL import Image
from scipy import ndimage

import manytruths as mt

SIZE = {"width": 1280, "height": 800}
SHOWN = 853, 533
"""Pixels of a picture; the screens are taken finer."""
ARGUMENTS = ["--no-sandbox", "--disable-gpu"]
PLAIN: dict[str, Any] = {"controls": 0, "repeats": 0, "double": 0, "quiet": True}


def flat_study(folder: Path) -> mt.Study:
    """Three cases of the simulated study, first readings alone."""
    for case in list(mt.simulate_study(size=512))[6:9]:
        (folder / "images").mkdir(parents=True, exist_ok=True)
        Image.fromarray(case.image).save(folder / "images" / f"{case.name}.png")
        for (rater, session), marking in case.readings.items():
            path = folder / "masks" / rater / f"{case.name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            if session == "1":
                Image.fromarray(marking.mask.astype(np.uint8)).save(path)
    return mt.Study.open(f"{folder}/masks/{{rater}}/{{case}}.png", images=f"{folder}/images/{{case}}.png")


def volume_study(folder: Path) -> mt.Study:
    """A nodule in a lung, outlined by four raters, one of whom took the vessel for a part of it."""
    random = np.random.default_rng(2)
    x, y, z = np.mgrid[:160, :160, :48].astype(float)
    grain = ndimage.gaussian_filter(random.normal(size=x.shape), (2.2, 2.2, 1.2))
    image = -860 + 50 * grain / grain.std() + random.normal(0, 18, x.shape)
    vessel = np.zeros(x.shape, bool)
    for slope, height, width in ((0.6, 24.0, 3.2), (-0.9, 18.0, 2.4), (0.15, 30.0, 2.8)):
        line = 82 + slope * (x - 80) + 6 * np.sin(x / 17 + height)
        vessel |= (y - line) ** 2 + (2 * (z - height)) ** 2 <= width**2
    away = np.sqrt((x - 80) ** 2 + (y - 82) ** 2 + (2 * (z - 24)) ** 2)
    turned = np.arctan2(y - 82, x - 80)
    nodule = away - 15 - 2.2 * np.sin(3 * turned) - 1.5 * np.cos(5 * turned + z / 5)
    soft = ndimage.gaussian_filter(np.maximum(nodule <= 0, vessel).astype(float), (0.9, 0.9, 0.6))
    image = image + soft * (30 - image) * 0.97
    turn = np.diag([-0.8, -0.8, 1.6, 1.0])

    def save(path: Path, array: np.ndarray) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        nibabel.save(nibabel.Nifti1Image(array, turn), path)

    save(folder / "images" / "scan.nii.gz", image.astype(np.int16))
    near = (away <= 30) & vessel
    drawn = {"A": nodule <= 1, "B": nodule <= -3.5, "C": (nodule <= 0.5) | near, "D": nodule <= 4}
    for rater, mask in drawn.items():
        save(folder / "masks" / rater / "scan.nii.gz", mask.astype(np.uint8))
    return mt.Study.open(f"{folder}/masks/{{rater}}/{{case}}.nii.gz", images=f"{folder}/images/{{case}}.nii.gz")


class Screen:
    """A page in the browser, and its pictures."""

    def __init__(self, browser: Any, page: Path, folder: Path, scheme: str) -> None:
        self.folder = folder
        context = browser.new_context(viewport=SIZE, color_scheme=scheme, device_scale_factor=2)
        self.tab = context.new_page()
        self.tab.goto(page.resolve().as_uri())
        self.press("Enter")
        self.until("look")

    @property
    def state(self) -> dict[str, Any]:
        return self.tab.evaluate("manytruthsAdjudication.state()")

    def until(self, *steps: str) -> None:
        while self.state["step"] not in steps:
            self.tab.wait_for_timeout(20)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.tab.keyboard.press(key)

    def save(self, name: str) -> None:
        """With few colours, which screens have, so that files stay small."""
        self.tab.mouse.move(640, 2)
        # what is said goes by itself
        quiet = "() => !document.querySelector('.message') && document.querySelector('.saved.faded, .saved:empty')"
        self.tab.wait_for_function(quiet)
        self.tab.wait_for_timeout(500)
        path = self.folder / f"{name}.png"
        self.tab.screenshot(path=path)
        picture = Image.open(path).convert("RGB")
        picture = picture.resize(SHOWN, Image.Resampling.LANCZOS)
        picture.quantize(256, Image.Quantize.FASTOCTREE, dither=Image.Dither.NONE).save(path, optimize=True)


def adjudication_screens(folder: Path) -> None:
    """The first look, outlines, drawing and a volume, as Chromium shows them."""
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as made, sync_playwright() as play:
        flat, volume = Path(made) / "demo", Path(made) / "chest"
        for place, study, practice in ((flat, flat_study(flat), 1), (volume, volume_study(volume), 0)):
            mt.adjudicate(
                study, adjudicator="Ada", log=place / "log", html=place / "page.html", practice=practice, **PLAIN
            )
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=ARGUMENTS)
        screen = Screen(browser, flat / "page.html", folder, "light")
        screen.press("l")
        screen.until("outlines")
        screen.press("u", "Enter")
        screen.until("look")
        screen.save("adjudicate-look")
        screen.press("l")
        screen.until("outlines")
        screen.save("adjudicate-outlines")
        screen.press(screen.state["letters"][-1], "p")
        screen.save("adjudicate-draw")
        screen = Screen(browser, volume / "page.html", folder, "dark")
        screen.press("w", "l")
        screen.until("outlines")
        screen.save("adjudicate-volume")
        browser.close()


if __name__ == "__main__":
    adjudication_screens(Path(__file__).parent / "images")

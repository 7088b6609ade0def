"""The report of 300 cases: how long it takes, how much memory, how soon a browser shows it."""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import manytruths as mt

from .measuring import Result, at_most, command, cost
from .phantoms import smooth

CASES, SIZE = 300, 1024
BROWSER = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]


def reports() -> Iterator[Result]:
    """``report`` against ``agree`` and ``fuse``, all three with their pictures; then the page in Chromium."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        _study(root)
        common = ["--images", str(root / "images/{case}.png"), "--jobs", "2", "--quiet"]
        masks = str(root / "masks/{rater}/{case}.png")

        def verb(name: str, *more: str) -> list[str]:
            return [sys.executable, "-m", "manytruths", name, masks, *common, *more]

        peers = [_timed(verb(name, "--out", str(root / "out"))) for name in ("agree", "fuse")]
        page = root / "report.html"
        taken = cost(verb("report", "--to", str(page)))
        ours = taken.wall
        _check(root)
        times = f"{ours:.1f} s; agree {peers[0]:.1f} s, fuse {peers[1]:.1f} s"
        job = f"report, {CASES} cases × 5 × {SIZE}² with images, 2 jobs"
        yield at_most(job, "agree + fuse", ours / sum(peers), 1.5, times)
        yield at_most("  its memory, all processes together", "", taken.memory, 1000, unit="MB")
        yield at_most("  the page", "", page.stat().st_size / 1e6, 10, unit="MB")
        shown, first = opened(page, "c007")
        yield at_most("  opens in Chromium, all shown", "", shown, 2, unit="s")
        yield at_most("  a case opens full size in its viewer", "", first, 1, unit="s")


def _study(root: Path) -> None:
    from PIL import Image
    from scipy.ndimage import gaussian_filter

    rng = np.random.default_rng(0)
    ground = gaussian_filter(rng.standard_normal((SIZE, SIZE)).astype(np.float32), 2)
    ground = 110 + 30 * ground / ground.std()
    for folder in ("images", *(f"masks/{rater}" for rater in "ABCDE")):
        (root / folder).mkdir(parents=True)
    for case in range(CASES):
        masks = smooth(5, SIZE, seed=case)
        for rater, mask in zip("ABCDE", masks, strict=True):
            Image.fromarray(mask * 255).save(root / f"masks/{rater}/c{case:03d}.png")
        image = np.roll(ground, 17 * case, axis=(0, 1)) + 40.0 * masks[0]
        shown = Image.fromarray(np.clip(image, 0, 255).astype(np.uint8))
        shown.save(root / f"images/c{case:03d}.png", compress_level=1)


def _timed(arguments: list[str]) -> float:
    start = time.perf_counter()
    command(arguments)
    return time.perf_counter() - start


def _check(root: Path) -> None:
    """One case's kappa in the table beside the page is that of its masks."""
    lines = (root / "report_files/agree/agreement.csv").read_text().splitlines()
    row = next(line.split(",") for line in lines if line.startswith("case,c007,") and ",fleiss_kappa," in line)
    assert float(row[6]) == mt.fleiss_kappa(mt.tally(smooth(5, SIZE, seed=7))), "the report has another kappa"


def opened(page: Path, case: str) -> tuple[float, float]:
    """Seconds until the whole page is laid out and painted, and until a case is shown."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=shutil.which("chromium"), args=BROWSER)
        # the page lets no foreign script run, not even one that waits
        tab = browser.new_page(viewport={"width": 1366, "height": 850}, bypass_csp=True)
        start = time.perf_counter()
        tab.goto(page.as_uri())
        tab.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        laid_out = time.perf_counter() - start
        start = time.perf_counter()
        tab.evaluate(f"location.hash = 'case={case}'")
        tab.wait_for_selector("#viewer[open] #viewer-stage")
        tab.wait_for_function("window.manytruthsViewer && manytruthsViewer.state().loaded")
        shown = time.perf_counter() - start
        browser.close()
    return laid_out, shown


JOBS = {"reports": reports}

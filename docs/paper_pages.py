"""Figures of the pages on papers, from a run of the commands on each page: ``python docs/paper_pages.py [PAGE …]``."""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from PIL import Image

from manytruths.cli import status

HERE = Path(__file__).parent
IMAGES = HERE / "images" / "papers"
DATA = Path(os.environ.get("MANYTRUTHS_DATA") or HERE.parents[1] / "shared" / "data")
NEEDS = {"lampert": "fissure"}
"""Pages whose commands read a data set, by its folder in the data folder."""
CASE = "p08"
FIGURES = {
    "yang": {
        "common.png": f"yang/agree/heatmaps/{CASE}.png",
        "ranking.png": f"yang/agree/heatmaps/ranking/{CASE}.png",
        "kappa-by-group.svg": "yang/agree/charts/kappa-by-group.svg",
        "iou.svg": "yang/fuse/charts/iou-staple.svg",
    },
    "gordon": {
        "staple.png": f"gordon/fuse/pictures/staple/{CASE}.png",
        "complexity.svg": "gordon/fuse/charts/complexity.svg",
        "esm.svg": "gordon/fuse/charts/esm.svg",
        "sorted.png": f"gordon/fuse/sorted/staple/{CASE}.png",
    },
    "lampert": {
        "agreement.svg": "lampert/agree/charts/agreement-curve.svg",
        "dendrogram.svg": "lampert/agree/charts/dendrogram.svg",
        "levels.svg": "lampert/evaluate/charts/levels-C-S.svg",
        "truths.svg": "lampert/evaluate/charts/truths-2D-GWLC.svg",
    },
    "cabitza": {
        "needed.svg": "cabitza/panel/plan/charts/needed.svg",
        "band.svg": "cabitza/panel/plan/charts/band.svg",
        "roc.svg": "cabitza/reliability/charts/roc-space.svg",
        "confidence.svg": "cabitza/reliability/charts/confidence.svg",
        "nomogram.svg": "cabitza/nomogram/plan/charts/nomogram-rho.svg",
    },
    "zeng": {
        "dice.svg": "zeng/agree/charts/dice-between-raters.svg",
        "frames.svg": "zeng/evaluate/charts/frames-{test}.svg",
    },
}
"""By page: the name of a figure, and the file of the run that it is."""


def blocks(page: str) -> Iterator[tuple[str, str]]:
    """The kind and the text of the blocks on a page: console, python, text."""
    text = (HERE / "papers" / f"{page}.md").read_text(encoding="utf-8")
    yield from re.findall(r"```(console|python|text)\n(.*?)```", text, re.DOTALL)


def run_page(page: str, folder: Path) -> None:
    """Run commands and programs of a page in a folder; what a program prints is what the page says."""
    if page in NEEDS:
        (folder / NEEDS[page]).symlink_to(DATA / NEEDS[page])
    printed = ""
    with contextlib.chdir(folder):
        for kind, text in blocks(page):
            if kind == "text":
                assert printed == text, f"{page} prints {printed!r}"
            elif kind == "python":
                with contextlib.redirect_stdout(io.StringIO()) as out:
                    exec(compile(text, f"{page}.md", "exec"), {})
                printed = out.getvalue()
            for line in text.replace("\\\n", "").splitlines() if kind == "console" else ():
                words = shlex.split(line.removeprefix("$ "))
                if words[0] != "manytruths" or status([*words[1:], "--quiet"]):
                    raise RuntimeError(f"{page}: {line} failed")


def file_of(page: str, figure: str, folder: Path) -> Path:
    """The file of a run that is shown; of sequences the first that was predicted."""
    path = FIGURES[page][figure]
    if "{test}" in path:
        tested = min(p.name for p in (folder / "zeng/train/predictions/unet-majority-0").iterdir())
        path = path.format(test=tested.partition("-")[0])
    return folder / path


def take_figures(page: str, folder: Path) -> None:
    """Copy the figures of a run beside the pages; pictures with few colours are small."""
    for figure in FIGURES[page]:
        found, to = file_of(page, figure, folder), IMAGES / f"{page}-{figure}"
        if found.suffix == ".png":
            colours = Image.open(found).convert("RGB").quantize(256, dither=Image.Dither.NONE)
            colours.save(to, optimize=True)
        else:
            shutil.copyfile(found, to)


def main(pages: Sequence[str]) -> None:
    """Run pages, and take over their figures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for page in pages or list(FIGURES):
        with tempfile.TemporaryDirectory() as folder:
            run_page(page, Path(folder))
            take_figures(page, Path(folder))


if __name__ == "__main__":
    main(sys.argv[1:])

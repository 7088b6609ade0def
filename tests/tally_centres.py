"""Three simulated centres, written as folders of masks, and the same masks in one folder."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import manytruths as mt
from study_folders import disc, write_png

CENTRES = ("north", "south", "west")
SIZE = 32


def draw(rng: np.random.Generator, where: np.ndarray, labels: int, noise: int) -> np.ndarray:
    """A rater's mask: a disc near the true one, a smaller disc of the second label beside it, and single pixels."""
    x, y, radius = where + rng.normal(0, (0.8, 0.8, 0.5))
    mask = disc(SIZE, x, y, radius)
    if labels > 1:
        mask = mask + 2 * disc(SIZE, x - 9, y, 3) * (mask == 0)
    at = rng.integers(0, SIZE, noise), rng.integers(0, SIZE, noise)
    mask[at] = mask[at] == 0
    return mask.astype(np.uint8)


def write_centres(root: Path, *, cases: int = 4, labels: int = 1, noise: int = 4) -> None:
    """Masks, predictions, references, regions of interest and training areas: ``root/centre`` and ``root/all``.

    Rater cleo did not read the second case of a centre, ben read the first two twice, and vnet has no prediction of the
    last case.
    """
    rng = np.random.default_rng(7)
    for centre in CENTRES:
        folder = root / centre
        for k in range(cases):
            case, where = f"{centre}-{k}.png", rng.normal((0, 0, 6), (2, 2, 1))
            for rater in ("anna", "ben", "cleo"):
                for session in ("1", "2") if rater == "ben" and k < 2 else ("1",):
                    if (rater, k) != ("cleo", 1):
                        write_png(folder / "masks" / rater / session / case, draw(rng, where, labels, noise))
            for algorithm in ("unet", "vnet"):
                if (algorithm, k) != ("vnet", cases - 1):
                    write_png(folder / "predictions" / algorithm / case, draw(rng, where, labels, 0))
            write_png(folder / "references" / case, draw(rng, where, labels, 0))
            write_png(folder / "roi" / case, disc(SIZE, radius=13))
            area = np.zeros((SIZE, SIZE), np.uint8)
            area[:, : SIZE // 2] = 1
            write_png(folder / "training" / "unet" / case, area)
        shutil.copytree(folder, root / "all", dirs_exist_ok=True)


def open_folder(folder: Path, **options: Any) -> mt.Study:
    """The study of a folder, with predictions and references; other templates where they are asked for."""
    for name in ("roi", "training"):
        if options.get(name) is True:
            options[name] = str(folder / name / ("unet/{case}.png" if name == "training" else "{case}.png"))
    if "training" in options:
        options["training"] = str(folder / "training" / "{algorithm}" / "{case}.png")
    return mt.Study.open(
        str(folder / "masks" / "{rater}" / "{session}" / "{case}.png"),
        **{
            "predictions": str(folder / "predictions" / "{algorithm}" / "{case}.png"),
            "reference": str(folder / "references" / "{case}.png"),
        } | options,
    )  # fmt: skip


def share(root: Path, studies: Mapping[str, mt.Study], **options: Any) -> list[Path]:
    """The tally files of some studies."""
    paths = [root / f"{name}.tally" for name in studies]
    for path, study in zip(paths, studies.values(), strict=True):
        mt.share_tallies(study, path, **options)
    return paths


def tables_of(result: Any, folder: Path, leave_out: Sequence[str] = ()) -> dict[str, bytes]:
    """The CSV files that a result writes, by name."""
    result.write(folder, pictures=False)
    found = (folder / result.command).glob("*.csv")
    return {path.name: path.read_bytes() for path in found if path.name not in leave_out}

"""Studies to export: images and masks in several formats, and the verb run on them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from study_folders import run, untidy, volume, write_nifti, write_png

SHAPE = (24, 20)


def random_masks(seed: int, raters: Iterable[str] = "ABC", labels: int = 2) -> dict[str, np.ndarray]:
    """Masks that agree in most pixels."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, labels, SHAPE)
    return {rater: _changed(truth, draw, labels) for rater in raters}


def _changed(truth: np.ndarray, draw: np.random.Generator, labels: int) -> np.ndarray:
    return np.where(draw.random(SHAPE) < 0.2, draw.integers(0, labels, SHAPE), truth).astype(np.uint8)


def write_case(folder: Path, case: str, masks: dict[str, np.ndarray], image: np.ndarray | None = None) -> None:
    """PNG files of one case."""
    some = next(iter(masks.values()))
    write_png(folder / "images" / f"{case}.png", image if image is not None else (some * 40 + 20).astype(np.uint8))
    for rater, mask in masks.items():
        write_png(folder / "masks" / rater / f"{case}.png", mask)


def write_cases(folder: Path, cases: int = 4, **options: Any) -> dict[str, dict[str, np.ndarray]]:
    """Cases p1, p2, …, all marked by everybody."""
    study = {f"p{n}": random_masks(n, **options) for n in range(1, cases + 1)}
    for case, masks in study.items():
        write_case(folder, case, masks)
    return study


def write_volumes(folder: Path, cases: int = 3, raters: str = "AB", spacing: tuple[float, ...] = (0.5, 0.7, 2)) -> None:
    """NIfTI volumes: discs that move."""
    for n in range(1, cases + 1):
        write_nifti(folder / f"images/p{n}.nii.gz", volume(x=n).astype(np.int16) * 100 - 50, spacing, origin=n)
        for x, rater in enumerate(raters):
            write_nifti(folder / f"masks/{rater}/p{n}.nii.gz", volume(x=n + x), spacing, origin=n)


def template(folder: Path, ending: str = ".png", images: str = "") -> list[str]:
    """What to call the verb with."""
    images = images or f"images/{{case}}{ending}"
    return [f"{folder}/masks/{{rater}}/{{case}}{ending}", "--images", f"{folder}/{images}"]


def to_nnunet(capsys: Any, folder: Path, *options: object, ending: str = ".png", images: str = "") -> Path:
    """The data set, written without a complaint."""
    line = ["export", "nnunet", *template(folder, ending, images), "--to", folder / "raw", "--jobs", 1, "--quiet"]
    done = run(capsys, *line, *options)
    assert (done.status, done.err, done.out) == (0, "", "")
    found = [path for path in (folder / "raw").iterdir() if not path.name.startswith(".")]
    assert len(found) == 1
    assert not untidy(found[0])
    return found[0]


def to_monai(capsys: Any, folder: Path, *options: object, ending: str = ".png", images: str = "") -> Path:
    """The folder of the data list, likewise."""
    line = ["export", "monai", *template(folder, ending, images), "--to", folder / "list", "--jobs", 1, "--quiet"]
    done = run(capsys, *line, *options)
    assert (done.status, done.err, done.out) == (0, "", "")
    assert not untidy(folder / "list")
    return folder / "list"


def read_json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def colour(size: tuple[int, int] = SHAPE) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 255, (*size, 3)).astype(np.uint8)


def alpha(path: Path, array: np.ndarray) -> None:
    """An RGB picture with an alpha channel."""
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.dstack([array, np.full(array.shape[:2], 99, np.uint8)]), "RGBA").save(path)

"""Studies of real masks in memory: CHASE_DB1, LIDC, the fissure, the crowd and the demo."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

import manytruths as mt
from manytruths.shape import rasterise_polygon

Masks = dict[str, dict[Any, np.ndarray]]
"""``{case: {rater: mask}}``."""


def chase(folder: Path) -> Masks:
    """28 retinal photographs, two raters."""
    return _files(folder / "chasedb1" / "raters")


def fissure(folder: Path) -> Masks:
    """One aerial image, 13 raters."""
    return _files(folder / "fissure" / "raters")


def _files(folder: Path) -> Masks:
    masks: Masks = defaultdict(dict)
    for path in sorted(folder.glob("*/*.png")):
        masks[path.stem][path.parent.name] = (np.asarray(Image.open(path)) != 0).astype(np.uint8)
    return dict(masks)


def lidc(folder: Path) -> Masks:
    """897 lung nodules, four slots of radiologists."""
    with np.load(folder / "lidc" / "lidc_4reader_masks.npz") as source:
        stacks = {name: source[name] for name in source}
    return {name: {f"slot {i}": (m != 0).astype(np.uint8) for i, m in enumerate(s, 1)} for name, s in stacks.items()}


def crowd(folder: Path) -> Masks:
    """47 objects, 41 to 47 workers each."""

    def rows(name: str) -> list[dict[str, str]]:
        with (folder / "crowd" / name).open(newline="") as file:
            return list(csv.DictReader(file))

    sizes = {r["filename"]: (int(r["height"]), int(r["width"])) for r in rows("image_sizes.csv")}
    files = {r["id"]: r["filename"] for r in rows("image.csv")}
    shapes = {r["id"]: sizes[files[r["image_id"]]] for r in rows("object.csv")}
    masks: Masks = defaultdict(dict)
    for row in rows("bounding_box.csv"):
        x, y = (json.loads(row[k].replace("None", "null")) for k in ("x_locs", "y_locs"))
        if None not in x + y:
            points = np.stack([x, y], axis=1).astype(float)
            masks[row["object_id"]][row["worker_id"]] = draw(points, shapes[row["object_id"]])
    return dict(masks)


def draw(points: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """A polygon of (x, y) corners as a mask."""
    return np.asarray(rasterise_polygon([points], shape)).astype(np.uint8)


def demo(seed: int = 0) -> Masks:
    """The study of the demo, in memory: five raters, 24 cases, one of whom reads twice."""
    return {case: {who: mask.copy() for who, mask in by_rater.items()} for case, by_rater in _simulated(seed).items()}


@cache
def _simulated(seed: int) -> Masks:
    return {
        case.name: {who: m.mask.astype(np.uint8) for who, m in case.readings.items()}
        for case in mt.simulate_study(seed=seed)
    }

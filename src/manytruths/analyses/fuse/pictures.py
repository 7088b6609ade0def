"""The pictures of ``fuse``: each probability over the image, and the raters' masks sorted by how they do against it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...io import write_picture
from ...study.case import Reading

Array = NDArray[Any]

FAINT = 0.05
"""Probabilities below it do not colour a picture: those of background are never quite 0."""


def draw_probability(path: Path, reading: Reading, method: str, chance: Array) -> None:
    """A probability in colours over the image."""
    from ...charts import heat_overlay, montage

    image, _ = reading.picture
    options: dict[str, Any] = {"most": 1.0, "discrete": False, "title": reading.case.name, "subtitle": method}
    options["caption"] = "probability"
    chance = np.where(chance < FAINT, 0, chance)
    if chance.ndim == 3:
        write_picture(path, montage(image, chance, spacing=reading.grid.spacing, **options))
    else:
        write_picture(path, heat_overlay(image, chance, **options))


def draw_sorted(path: Path, reading: Reading, method: str, soft: Iterable[tuple[str, str, str, float]]) -> None:
    """Gordon's Fig. 7: the raters' masks from the best to the worst, by each of his measures."""
    from ...charts import sorted_masks

    scores: dict[str, dict[str, float]] = {}
    for of, rater, measure, value in soft:
        if of == method:
            scores.setdefault(measure.replace("_", " "), {})[rater] = float(value)
    masks: dict[str, Array] = {}
    for column in sorted(reading.masks, key=lambda c: c.order):
        masks.setdefault(column.name, reading.masks[column])
    scores = scores or {"accuracy, which is undefined here": {}}
    titles = {"title": reading.case.name, "subtitle": f"raters against {method}, the best first"}
    drawn = sorted_masks(reading.picture[0], masks, scores, spacing=reading.grid.spacing, **titles)
    write_picture(path, drawn)

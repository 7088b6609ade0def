"""Every rater's mask, sorted by how well it does: one row a measure, the best first (Gordon's Fig. 7)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from .colours import rater_colours
from .framing import frame
from .lettering import INK, fit, font, pen, sheet
from .scaling import Scale, background
from .slices import best_slice

if TYPE_CHECKING:
    from PIL import Image

SIDE = 220
"""Pixels along the longest side of a panel, about."""


def sorted_masks(
    image: NDArray[Any] | None,
    masks: Mapping[str, NDArray[Any]],
    scores: Mapping[str, Mapping[str, float]],
    *,
    title: str | None = None,
    subtitle: str | None = None,
    spacing: tuple[float, ...] | None = None,
) -> Image.Image:
    """Masks over the image in grey, in a row for each measure of ``scores``, from the best to the worst.

    Raters whose score is undefined are left out of a row. Of volumes the slice is shown that most voxels are marked in.
    """
    if not masks or not scores:
        raise CallError("masks and scores are wanted; one of them is empty")
    flat, ground = _flat(image, masks, spacing)
    shape = next(iter(flat.values())).shape
    scale = Scale.of(shape, SIDE, SIDE)
    colours = dict(zip(masks, rater_colours(len(masks)), strict=True))
    panels = {name: _panel(background(ground, shape, scale), scale.most(m), colours[name]) for name, m in flat.items()}
    return frame(_rows(panels, scores), sheet(1, 1), title, subtitle, edge=False)


def _flat(
    image: NDArray[Any] | None, masks: Mapping[str, NDArray[Any]], spacing: tuple[float, ...] | None
) -> tuple[dict[str, NDArray[np.bool_]], NDArray[Any] | None]:
    arrays = {name: np.asarray(mask) != 0 for name, mask in masks.items()}
    if next(iter(arrays.values())).ndim == 2:
        return arrays, image
    axis, index = best_slice(np.sum(list(arrays.values()), axis=0), spacing=spacing)
    return {n: m.take(index, axis) for n, m in arrays.items()}, None if image is None else np.take(image, index, axis)


def _panel(picture: NDArray[np.uint8], mask: NDArray[np.bool_], colour: tuple[int, int, int]) -> NDArray[np.uint8]:
    painted = picture.astype(np.float64)
    painted[mask] = 0.35 * painted[mask] + 0.65 * np.array(colour)
    return painted.astype(np.uint8)


def _rows(panels: Mapping[str, NDArray[np.uint8]], scores: Mapping[str, Mapping[str, float]]) -> NDArray[np.uint8]:
    from PIL import Image

    high, wide = next(iter(panels.values())).shape[:2]
    size, gap = 15, 10
    line = round(1.7 * size)
    paper = sheet(len(panels) * (wide + gap) - gap, len(scores) * (high + 2 * line + gap) - gap)
    draw = pen(paper)
    for row, (measure, by_rater) in enumerate(scores.items()):
        top = row * (high + 2 * line + gap)
        draw.text((0, top + line // 2), f"by {measure}", INK, font(size + 1), anchor="lm")
        known = {r: v for r, v in by_rater.items() if r in panels and not np.isnan(v)}
        for place, rater in enumerate(sorted(known, key=lambda r: (-known[r], r))):
            x = place * (wide + gap)
            words = fit(f"{rater}  {known[rater]:.3f}", size, wide)
            draw.text((x, top + line + line // 2), words, INK, font(size), anchor="lm")
            paper.paste(Image.fromarray(panels[rater]), (x, top + 2 * line))
    return np.array(paper)

"""Volumes: which slices to look at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError
from .framing import frame
from .lettering import INK, font, pen, sheet
from .overlay import check_heat, heat_bar, heat_panel
from .scaling import LONGEST, SHORTEST, Scale, size_text

if TYPE_CHECKING:
    from PIL import Image

COLUMNS, MOST = 3, 6


def best_slice(heat: NDArray[Any], axis: int | None = None, spacing: Sequence[float] | None = None) -> tuple[int, int]:
    """The axis to cut a volume along, and the slice with the most marked voxels.

    Without an axis it is the one sampled most coarsely: by the spacing where that is known, then the one with the
    fewest slices; the last where that leaves a choice.

    >>> volume = np.zeros((8, 8, 4))
    >>> volume[2:5, 2:5, 1] = 1
    >>> best_slice(volume)
    (2, 1)
    """
    heat = np.asarray(heat)
    if heat.ndim != 3 or not heat.size:
        raise CallError(f"heat is {size_text(heat.shape) or 'a number'}; a volume has three axes and some voxels")
    if axis is None:
        coarse = [0.0] * 3 if spacing is None else [round(float(step), 6) for step in spacing]
        axis = max(range(3), key=lambda a: (coarse[a], -heat.shape[a], a))
    return axis % 3, int(_marked(heat, axis).argmax())


def montage(
    image: NDArray[Any] | None,
    heat: NDArray[Any],
    *,
    most: float,
    axis: int | None = None,
    spacing: Sequence[float] | None = None,
    title: str | None = None,
    subtitle: str | None = None,
    discrete: bool = True,
    caption: str = "raters",
    opacity: float = 0.85,
) -> Image.Image:
    """Up to six slices of a volume, with equal shares of the marked voxels between them; see :func:`heat_overlay`.

    Each is shown with the first of the remaining axes down and the second to the right.
    """
    heat = check_heat(heat, most, dimensions=3)
    if image is not None and np.shape(image)[:3] != heat.shape:
        raise GridError(f"the image is {size_text(np.shape(image))} but heat is {size_text(heat.shape)}")
    axis, best = best_slice(heat, axis, spacing)
    chosen = _spread(_marked(heat, axis), best)
    side = np.take(heat, best, axis).shape
    columns = min(COLUMNS, len(chosen))
    scale = Scale.of(side, LONGEST // columns, SHORTEST * 2 // (columns + 1))
    panels = []
    for index in chosen:
        ground = None if image is None else np.take(image, index, axis)
        panels.append(heat_panel(ground, np.take(heat, index, axis), most, discrete, opacity, scale))
    picture = _tile(panels, [f"slice {index + 1}" for index in chosen], columns)
    return frame(picture, heat_bar(picture, most, discrete, caption), title, subtitle, edge=False)


def _marked(heat: NDArray[Any], axis: int) -> NDArray[np.intp]:
    """Marked voxels by slice."""
    return np.asarray((np.moveaxis(heat, axis, 0) > 0).sum(axis=(1, 2)))


def _spread(marked: NDArray[np.intp], best: int) -> list[int]:
    """Slices between which lie equal shares of what is marked: the first and the last often hold a few voxels only."""
    held = np.flatnonzero(marked)
    if len(held) <= MOST:
        return [int(index) for index in held] or [best]
    share = (np.cumsum(marked) - marked / 2) / marked.sum()
    picks = {int(np.abs(share - (k + 0.5) / MOST).argmin()) for k in range(MOST)}
    return sorted(picks)


def _tile(panels: Sequence[NDArray[np.uint8]], labels: Sequence[str], columns: int) -> NDArray[np.uint8]:
    """Panels side by side, each under its label."""
    from PIL import Image

    high, wide = panels[0].shape[:2]
    size = int(np.clip(columns * wide / 55, 13, 24))
    gap, line = size // 2, round(1.6 * size)
    rows = -(-len(panels) // columns)
    paper = sheet(columns * (wide + gap) - gap, rows * (high + line + gap) - gap)
    draw = pen(paper)
    for index, (panel, label) in enumerate(zip(panels, labels, strict=True)):
        x, y = index % columns * (wide + gap), index // columns * (high + line + gap)
        draw.text((x + gap, y + line // 2), label, INK, font(size), anchor="lm")
        paper.paste(Image.fromarray(panel), (x, y + line))
    return np.array(paper)

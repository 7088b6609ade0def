"""Outlines on slices of volumes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError
from .overlay import contour_overlay
from .scaling import size_text
from .slices import best_slice

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[Any]
Colour = tuple[int, int, int]

SLICES, COLUMNS, GAP = 6, 3, 6


def contour_slices(
    image: Array | None,
    masks: Mapping[str, Array],
    *,
    where: Array | None = None,
    spacing: Sequence[float] | None = None,
    title: str | None = None,
    subtitle: str | None = None,
    colours: Sequence[Colour] | None = None,
) -> Image.Image:
    """Outlines over an image; of a volume, over up to six slices from left to right, then down.

    ``where`` (by default all masks together) says which slices: equal shares of it lie between them. Give the same
    for several pictures of a case, and they show the same slices.
    """
    arrays = checked(image, masks)
    if next(iter(arrays.values())).ndim == 2:
        return contour_overlay(image, arrays, title=title, subtitle=subtitle, colours=colours)
    held = np.sum(list(arrays.values()), axis=0) if where is None else np.asarray(where)
    axis, best = best_slice(held, spacing=spacing)
    chosen = _chosen(held, axis) or [best]
    told = f"slice{'s' if len(chosen) > 1 else ''} " + ", ".join(str(i + 1) for i in chosen)
    flat = {name: mosaic([np.take(mask, i, axis) for i in chosen], False) for name, mask in arrays.items()}
    ground = None if image is None else mosaic([np.take(image, i, axis) for i in chosen], _white(image))
    subtitle = f"{subtitle}; {told}" if subtitle else told
    return contour_overlay(ground, flat, title=title, subtitle=subtitle, colours=colours)


def checked(image: Array | None, masks: Mapping[str, Array]) -> dict[str, NDArray[np.bool_]]:
    """Marked or not; one shape, and the image's too."""
    if not masks:
        raise CallError("masks is empty; give one mask or more")
    arrays = {name: np.ma.filled(mask, 0) != 0 for name, mask in masks.items()}
    shape = next(iter(arrays.values())).shape
    if len(shape) not in (2, 3):
        raise CallError(f"masks are {size_text(shape)}; pictures and volumes have two or three axes")
    others = [(name, mask.shape) for name, mask in arrays.items()]
    others += [] if image is None else [("the image", image.shape[: len(shape)])]
    for name, other in others:
        if other != shape:
            raise GridError(f"{name} is {size_text(other)}, other masks {size_text(shape)}; resample one of them")
    return arrays


def _chosen(held: Array, axis: int) -> list[int]:
    """Slices between which lie equal shares of what is marked."""
    marked = (np.moveaxis(held, axis, 0) > 0).sum(axis=(1, 2))
    where = np.flatnonzero(marked)
    if len(where) <= SLICES:
        return [int(i) for i in where]
    share = (np.cumsum(marked) - marked / 2) / marked.sum()
    return sorted({int(np.abs(share - (k + 0.5) / SLICES).argmin()) for k in range(SLICES)})


def mosaic(panels: Sequence[Array], fill: Any) -> Array:
    """Panels of one size in rows of three, with a gap between them."""
    high, wide = panels[0].shape[:2]
    columns, rows = min(COLUMNS, len(panels)), -(-len(panels) // COLUMNS)
    shape = rows * (high + GAP) - GAP, columns * (wide + GAP) - GAP, *panels[0].shape[2:]
    paper = np.full(shape, fill, panels[0].dtype)
    for index, panel in enumerate(panels):
        row, column = index // columns * (high + GAP), index % columns * (wide + GAP)
        paper[row : row + high, column : column + wide] = panel
    return paper


def _white(image: Array) -> Any:
    """What is drawn as white, or nearly."""
    return 255 if image.dtype == np.uint8 else np.nanmax(image)

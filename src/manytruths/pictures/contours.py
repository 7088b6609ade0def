"""Outlines on slices of volumes, and close-ups of a place beside the bare image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import CallError, GridError
from .overlay import contour_overlay
from .scaling import size_text
from .slices import best_slice

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[Any]
Colour = tuple[int, int, int]

SLICES, COLUMNS, GAP = 6, 3, 6
LARGE = 420
"""Pixels along the longest side of a close-up, at least."""
AROUND = 24
"""Pixels of the image around a place, at least."""


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
    arrays = _checked(image, masks)
    if next(iter(arrays.values())).ndim == 2:
        return contour_overlay(image, arrays, title=title, subtitle=subtitle, colours=colours)
    held = np.sum(list(arrays.values()), axis=0) if where is None else np.asarray(where)
    axis, best = best_slice(held, spacing=spacing)
    chosen = _chosen(held, axis) or [best]
    told = f"slice{'s' if len(chosen) > 1 else ''} " + ", ".join(str(i + 1) for i in chosen)
    flat = {name: _mosaic([np.take(mask, i, axis) for i in chosen], False) for name, mask in arrays.items()}
    ground = None if image is None else _mosaic([np.take(image, i, axis) for i in chosen], _white(image))
    subtitle = f"{subtitle}; {told}" if subtitle else told
    return contour_overlay(ground, flat, title=title, subtitle=subtitle, colours=colours)


def closeup(
    image: Array | None,
    masks: Mapping[str, Array],
    box: Sequence[tuple[int, int]],
    point: Sequence[int],
    *,
    spacing: Sequence[float] | None = None,
    title: str | None = None,
    subtitle: str | None = None,
    colours: Sequence[Colour] | None = None,
) -> Image.Image:
    """The image around a place, bare at the left and with outlines at the right; of a volume, the slice at ``point``.

    ``box`` holds, along each axis, the first item of the place and the one after its last. Who marked nothing within
    the picture is left out.
    """
    arrays = _checked(image, masks)
    ends = list(box)
    if len(ends) == 3:
        axis = best_slice(next(iter(arrays.values())), spacing=spacing)[0]
        arrays = {name: np.asarray(np.take(mask, point[axis], axis)) for name, mask in arrays.items()}
        image = None if image is None else np.take(image, point[axis], axis)
        subtitle = f"{subtitle or ''}; slice {point[axis] + 1}".removeprefix("; ")
        del ends[axis]
    crop = _around(ends, next(iter(arrays.values())).shape)
    names = [name for name, mask in arrays.items() if mask[crop].any()] or list(arrays)[:1]
    paints = None if colours is None else [c for c, n in zip(colours, arrays, strict=True) if n in names]
    grow = max(1, -(-LARGE // max(arrays[names[0]][crop].shape)))
    shown = {name: _grown(arrays[name][crop], grow) for name in names}
    if image is not None:
        bare = _grown(image[crop], grow)
        shown = {name: _mosaic([np.zeros_like(mask), mask], False) for name, mask in shown.items()}
        image = _mosaic([bare, bare], _white(bare))
    return contour_overlay(image, shown, title=title, subtitle=subtitle, colours=paints)


def _checked(image: Array | None, masks: Mapping[str, Array]) -> dict[str, NDArray[np.bool_]]:
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


def _mosaic(panels: Sequence[Array], fill: Any) -> Array:
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


def _grown(array: Array, times: int) -> Array:
    return array.repeat(times, axis=0).repeat(times, axis=1)


def _around(box: Sequence[tuple[int, int]], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The same reach to all sides of the middle of a box."""
    reach = round(0.75 * max(stop - start for start, stop in box)) + AROUND
    middles = [(start + stop) // 2 for start, stop in box]
    return tuple(slice(max(0, m - reach), min(n, m + reach + 1)) for m, n in zip(middles, shape, strict=True))

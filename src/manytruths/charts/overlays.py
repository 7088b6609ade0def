"""Heatmaps, outlines and masks over an image; of a volume, over the slices that show most."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError
from .canvas import (
    INK,
    LONGEST,
    SHORTEST,
    Scale,
    background,
    blank_page,
    count_bar,
    drawing_on,
    fit_text,
    font,
    frame_picture,
    legend,
    letter_size,
    size_text,
    value_bar,
)
from .colours import colour_map, count_colours, rater_colours

if TYPE_CHECKING:
    from PIL import Image

Array = NDArray[Any]
Picture = NDArray[np.uint8]
Colour = tuple[int, int, int]
SLICES, COLUMNS = 6, 3
"""Most slices in a picture, and most beside each other."""
GAP = 6
SORTED_SIDE = 220
"""Pixels along the longest side of a panel, about."""


# -- heatmaps -----------------------------------------------------------------------------------------


def heat_overlay(
    image: NDArray[Any] | None,
    heat: NDArray[Any],
    *,
    most: float,
    title: str | None = None,
    subtitle: str | None = None,
    discrete: bool = True,
    caption: str = "raters",
    opacity: float = 0.85,
) -> Image.Image:
    """A heatmap over the image in grey, with a colour bar.

    Parameters
    ----------
    image
        Grey or colour, 8-bit, 16-bit or real; None for a plain dark ground.
    heat
        Rows by columns; 0 (or nan: not rated) lets the image through.
    most
        What the brightest colour stands for: the number of raters, or the largest value.
    discrete
        One colour a number (how many raters marked a pixel) instead of a gradient (a ranking heatmap).
    caption
        What the numbers of the colour bar are, such as ``"raters who marked it"``.

    Large images are made smaller, and a pixel of the picture shows the highest heat beneath it: nothing thin is lost,
    though it may look thicker than it is.
    """
    heat = check_heat(heat, most, dimensions=2)
    picture = heat_panel(image, heat, most, discrete, opacity, Scale.of(heat.shape))
    return frame_picture(picture, heat_bar(picture, most, discrete, caption), title, subtitle)


def check_heat(heat: NDArray[Any], most: float, dimensions: int) -> NDArray[Any]:
    """Heat that can be drawn, nan as 0."""
    heat = np.asarray(heat)
    if heat.ndim != dimensions:
        other = "montage" if heat.ndim == 3 else "heat_overlay"
        raise CallError(f"heat has {heat.ndim} axes, not {dimensions}; use {other}, or take a slice")
    if heat.dtype.kind == "f":
        heat = np.nan_to_num(heat, posinf=np.inf, neginf=-np.inf)
    low, high = (heat.min(), heat.max()) if heat.size else (0, 0)
    if most <= 0 or low < 0 or high > most:
        raise CallError(f"heat goes from {low} to {high}, but most is {most}; heat lies between 0 and most")
    return heat


def heat_panel(
    image: NDArray[Any] | None, heat: NDArray[Any], most: float, discrete: bool, opacity: float, scale: Scale
) -> Picture:
    """The picture alone, without anything around it."""
    ground = background(image, heat.shape, scale)
    heat = scale.most(heat)
    marked = heat > 0
    values = heat[marked]
    paint = (
        count_colours(int(most))[np.maximum(np.rint(values).astype(int), 1) - 1]
        if discrete
        else colour_map(values / most)
    )
    ground[marked] = np.rint(ground[marked] * (1 - opacity) + paint * opacity)
    return ground


def heat_bar(picture: Picture, most: float, discrete: bool, caption: str) -> Image.Image:
    """The colour bar that belongs to a picture."""
    em, room = letter_size(picture), picture.shape[0]
    return count_bar(int(most), caption, em, room) if discrete else value_bar(most, caption, em, room)


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
    chosen = _spread_slices(_marked_by_slice(heat, axis), best)
    side = np.take(heat, best, axis).shape
    columns = min(COLUMNS, len(chosen))
    scale = Scale.of(side, LONGEST // columns, SHORTEST * 2 // (columns + 1))
    panels = []
    for index in chosen:
        ground = None if image is None else np.take(image, index, axis)
        panels.append(heat_panel(ground, np.take(heat, index, axis), most, discrete, opacity, scale))
    picture = _tile_panels(panels, [f"slice {index + 1}" for index in chosen], columns)
    return frame_picture(picture, heat_bar(picture, most, discrete, caption), title, subtitle, edge=False)


def _tile_panels(panels: Sequence[NDArray[np.uint8]], labels: Sequence[str], columns: int) -> NDArray[np.uint8]:
    """Panels side by side, each under its label."""
    from PIL import Image

    high, wide = panels[0].shape[:2]
    size = int(np.clip(columns * wide / 55, 13, 24))
    gap, line = size // 2, round(1.6 * size)
    rows = -(-len(panels) // columns)
    paper = blank_page(columns * (wide + gap) - gap, rows * (high + line + gap) - gap)
    draw = drawing_on(paper)
    for index, (panel, label) in enumerate(zip(panels, labels, strict=True)):
        x, y = index % columns * (wide + gap), index // columns * (high + line + gap)
        draw.text((x + gap, y + line // 2), label, INK, font(size), anchor="lm")
        paper.paste(Image.fromarray(panel), (x, y + line))
    return np.array(paper)


# -- slices of volumes --------------------------------------------------------------------------------


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
    return axis % 3, int(_marked_by_slice(heat, axis).argmax())


def _marked_by_slice(heat: NDArray[Any], axis: int) -> NDArray[np.intp]:
    """Marked voxels by slice."""
    return np.asarray((np.moveaxis(heat, axis, 0) > 0).sum(axis=(1, 2)))


def _spread_slices(marked: NDArray[np.intp], best: int) -> list[int]:
    """Slices with equal shares of the marked voxels between them: the first and last often hold only a few voxels."""
    held = np.flatnonzero(marked)
    if len(held) <= SLICES:
        return [int(index) for index in held] or [best]
    share = (np.cumsum(marked) - marked / 2) / marked.sum()
    picks = {int(np.abs(share - (k + 0.5) / SLICES).argmin()) for k in range(SLICES)}
    return sorted(picks)


# -- outlines -----------------------------------------------------------------------------------------


def contour_overlay(
    image: NDArray[Any] | None,
    masks: Mapping[str, NDArray[Any]],
    *,
    title: str | None = None,
    subtitle: str | None = None,
    colours: Sequence[tuple[int, int, int]] | None = None,
) -> Image.Image:
    """Every rater's outline in a colour of its own over the image in grey.

    Where several outlines run along each other, their colours take turns like the dashes of a line.
    """
    if not masks:
        raise CallError("masks is empty; give one mask or more")
    arrays = {name: np.asarray(mask) != 0 for name, mask in masks.items()}
    first, shape = next((name, mask.shape) for name, mask in arrays.items())
    for name, mask in arrays.items():
        if mask.ndim != 2 or mask.shape != shape:
            raise GridError(f"{name}'s mask is {size_text(mask.shape)} but {first}'s is {size_text(shape)}")
    scale = Scale.of(shape)
    picture = background(image, shape, scale)
    chosen = list(colours) if colours else rater_colours(len(arrays))
    _paint_outlines(picture, [_outline(scale.most(mask)) for mask in arrays.values()], chosen)
    return frame_picture(picture, legend(list(arrays), chosen, letter_size(picture), picture.shape[0]), title, subtitle)


def _outline(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The outer two pixels of a mask."""
    from scipy.ndimage import binary_erosion

    return np.asarray(mask & ~binary_erosion(mask, iterations=2))


def _paint_outlines(
    picture: Picture, outlines: Sequence[NDArray[np.bool_]], colours: Sequence[tuple[int, int, int]]
) -> None:
    """Paint outlines; where several share a pixel, diagonal stripes alternate their colours."""
    stripe = np.add.outer(np.arange(picture.shape[0]), np.arange(picture.shape[1])) // 8
    turn = stripe % np.maximum(np.sum(outlines, axis=0, dtype=np.int16), 1)
    for outline, paint in zip(outlines, colours, strict=True):
        picture[outline & (turn == 0)] = paint
        turn -= outline


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
    arrays = check_masks(image, masks)
    if next(iter(arrays.values())).ndim == 2:
        return contour_overlay(image, arrays, title=title, subtitle=subtitle, colours=colours)
    held = np.sum(list(arrays.values()), axis=0) if where is None else np.asarray(where)
    axis, best = best_slice(held, spacing=spacing)
    chosen = _spread_slices(_marked_by_slice(held, axis), best)
    shown = f"slice{'s' if len(chosen) > 1 else ''} " + ", ".join(str(i + 1) for i in chosen)
    flat = {name: mosaic([np.take(mask, i, axis) for i in chosen], False) for name, mask in arrays.items()}
    ground = None if image is None else mosaic([np.take(image, i, axis) for i in chosen], _white_value(image))
    subtitle = f"{subtitle}; {shown}" if subtitle else shown
    return contour_overlay(ground, flat, title=title, subtitle=subtitle, colours=colours)


def check_masks(image: Array | None, masks: Mapping[str, Array]) -> dict[str, NDArray[np.bool_]]:
    """Masks as booleans; all must have one shape, which is the image's too."""
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


def _white_value(image: Array) -> Any:
    """The value that is drawn as white, or nearly."""
    return 255 if image.dtype == np.uint8 else np.nanmax(image)


# -- masks sorted by a score --------------------------------------------------------------------------


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

    Raters whose score is undefined are left out of a row. Of a volume, the slice with the most marked voxels is shown.
    """
    if not masks or not scores:
        raise CallError("masks or scores is empty; give one mask and one measure or more")
    flat, ground = _flatten(image, masks, spacing)
    shape = next(iter(flat.values())).shape
    scale = Scale.of(shape, SORTED_SIDE, SORTED_SIDE)
    colours = dict(zip(masks, rater_colours(len(masks)), strict=True))
    panels = {
        name: _tinted_panel(background(ground, shape, scale), scale.most(m), colours[name]) for name, m in flat.items()
    }
    return frame_picture(_sorted_rows(panels, scores), blank_page(1, 1), title, subtitle, edge=False)


def _flatten(
    image: NDArray[Any] | None, masks: Mapping[str, NDArray[Any]], spacing: tuple[float, ...] | None
) -> tuple[dict[str, NDArray[np.bool_]], NDArray[Any] | None]:
    arrays = {name: np.asarray(mask) != 0 for name, mask in masks.items()}
    if next(iter(arrays.values())).ndim == 2:
        return arrays, image
    axis, index = best_slice(np.sum(list(arrays.values()), axis=0), spacing=spacing)
    return {n: m.take(index, axis) for n, m in arrays.items()}, None if image is None else np.take(image, index, axis)


def _tinted_panel(
    picture: NDArray[np.uint8], mask: NDArray[np.bool_], colour: tuple[int, int, int]
) -> NDArray[np.uint8]:
    painted = picture.astype(np.float64)
    painted[mask] = 0.35 * painted[mask] + 0.65 * np.array(colour)
    return painted.astype(np.uint8)


def _sorted_rows(
    panels: Mapping[str, NDArray[np.uint8]], scores: Mapping[str, Mapping[str, float]]
) -> NDArray[np.uint8]:
    from PIL import Image

    high, wide = next(iter(panels.values())).shape[:2]
    size, gap = 15, 10
    line = round(1.7 * size)
    paper = blank_page(len(panels) * (wide + gap) - gap, len(scores) * (high + 2 * line + gap) - gap)
    draw = drawing_on(paper)
    for row, (measure, by_rater) in enumerate(scores.items()):
        top = row * (high + 2 * line + gap)
        draw.text((0, top + line // 2), f"by {measure}", INK, font(size + 1), anchor="lm")
        known = {r: v for r, v in by_rater.items() if r in panels and not np.isnan(v)}
        for place, rater in enumerate(sorted(known, key=lambda r: (-known[r], r))):
            x = place * (wide + gap)
            words = fit_text(f"{rater}  {known[rater]:.3f}", size, wide)
            draw.text((x, top + line + line // 2), words, INK, font(size), anchor="lm")
            paper.paste(Image.fromarray(panels[rater]), (x, top + 2 * line))
    return np.array(paper)

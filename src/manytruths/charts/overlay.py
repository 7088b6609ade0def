"""Heatmaps and outlines over an image."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError
from .colours import colour, rater_colours, steps
from .framing import count_bar, frame, legend, letter_size, value_bar
from .scaling import Scale, background, size_text

if TYPE_CHECKING:
    from PIL import Image

Picture = NDArray[np.uint8]


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
    return frame(picture, heat_bar(picture, most, discrete, caption), title, subtitle)


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
    paint = steps(int(most))[np.maximum(np.rint(values).astype(int), 1) - 1] if discrete else colour(values / most)
    ground[marked] = np.rint(ground[marked] * (1 - opacity) + paint * opacity)
    return ground


def heat_bar(picture: Picture, most: float, discrete: bool, caption: str) -> Image.Image:
    """The colour bar that belongs to a picture."""
    em, room = letter_size(picture), picture.shape[0]
    return count_bar(int(most), caption, em, room) if discrete else value_bar(most, caption, em, room)


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
    _take_turns(picture, [_outline(scale.most(mask)) for mask in arrays.values()], chosen)
    return frame(picture, legend(list(arrays), chosen, letter_size(picture), picture.shape[0]), title, subtitle)


def _outline(mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """The outer two pixels of a mask."""
    from scipy.ndimage import binary_erosion

    return np.asarray(mask & ~binary_erosion(mask, iterations=2))


def _take_turns(
    picture: Picture, outlines: Sequence[NDArray[np.bool_]], colours: Sequence[tuple[int, int, int]]
) -> None:
    """Paint outlines; at pixels of several, diagonal stripes decide whose turn it is."""
    stripe = np.add.outer(np.arange(picture.shape[0]), np.arange(picture.shape[1])) // 8
    turn = stripe % np.maximum(np.sum(outlines, axis=0, dtype=np.int16), 1)
    for outline, paint in zip(outlines, colours, strict=True):
        picture[outline & (turn == 0)] = paint
        turn -= outline

"""Close-ups of a place: the image bare, and beside it with outlines and a scale bar."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from .canvas import Scale, background
from .colours import rater_colours
from .overlays import Array, Colour, best_slice, check_masks, contour_overlay, mosaic

if TYPE_CHECKING:
    from PIL import Image

Flags = NDArray[np.bool_]
Box = Sequence[tuple[int, int]]

LARGE = 420
"""Pixels along the longest side of a close-up, at least."""
AROUND = 24
"""Pixels of the image around a place, at least."""
LIGHT: Colour = (245, 245, 245)
"""Colour of scale bars, which have a dark rim."""
GREY: Colour = (150, 150, 150)
"""Stands in the legend for dashes, which are light on dark pixels and dark on light ones."""
DASH = 6
"""Pixels of the picture that a dash is long, and the gap after it."""
BAR, MARGIN, RIM = 4, 12, 2
"""Pixels of the picture: how thick a scale bar is, how far from the edge, and how wide what is dark around it."""


def closeup(
    image: Array | None,
    masks: Mapping[str, Array],
    box: Box,
    point: Sequence[int],
    *,
    dashed: Mapping[str, Array] | None = None,
    dashed_name: str = "algorithms",
    spacing: Sequence[float] | None = None,
    title: str | None = None,
    subtitle: str | None = None,
    colours: Sequence[Colour] | None = None,
) -> Image.Image:
    """The image around a place, bare at the left and with outlines at the right; of a volume, the slice at ``point``.

    Parameters
    ----------
    masks
        Outlined in colour; a rater who marked nothing within the picture is left out.
    box
        Along each axis, the first item of the place and the one after its last.
    dashed, dashed_name
        Masks whose outlines are thin dashes without colour, and what they are called together in the legend.
    spacing
        The size of an item along each axis, in mm; the scale bar is in pixels where it is not known.
    """
    arrays = check_masks(image, masks)
    first = next(iter(arrays.values()))
    others = [*check_masks(None, {"other masks": first, **(dashed or {})}).values()][1:]
    view = _View.of(box, point, first, spacing)
    cut = {name: view(mask) for name, mask in arrays.items()}
    names = [name for name, mask in cut.items() if mask.any()] or list(cut)[:1]
    paints = dict(zip(cut, colours or rater_colours(len(cut)), strict=True))
    bare = _grey(view, image, cut[names[0]].shape)
    ground, bar = bare.copy(), view.bar()
    dashes = _dashes([view(mask) for mask in others], bare.shape)
    ground[dashes] = np.where(bare[dashes] < 128, 255, 0)
    ground[bar.rim] = 0
    # dashes are in the picture already: an empty mask stands for them in the legend
    added = ({dashed_name: np.zeros_like(dashes)} if dashes.any() else {}) | {bar.name: bar.mask}
    marks = {name: cut[name] for name in names} | added
    if image is not None:
        ground = mosaic([bare, ground], 255)
        marks = {name: mosaic([np.zeros_like(mask), mask], False) for name, mask in marks.items()}
    paints |= {dashed_name: GREY, bar.name: LIGHT}
    if view.plane is not None:
        subtitle = f"{subtitle or ''}; slice {view.plane + 1}".removeprefix("; ")
    return contour_overlay(ground, marks, title=title, subtitle=subtitle, colours=[paints[name] for name in marks])


def _grey(view: _View, image: Array | None, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """The image behind everything, in bytes."""
    return background(None if image is None else view(image), shape, Scale(1, 1))[..., 0]


@dataclass(frozen=True)
class _Bar:
    """A scale bar, what it is called, and what is dark around it."""

    name: str
    mask: Flags
    rim: Flags


@dataclass(frozen=True)
class _View:
    """What of an array is shown, and how large."""

    axis: int
    plane: int | None
    """Which slice of a volume."""
    crop: tuple[slice, ...]
    grow: int
    side: float | None
    """The width of an item in mm."""

    @classmethod
    def of(cls, box: Box, point: Sequence[int], mask: Array, spacing: Sequence[float] | None) -> _View:
        ends, shape, sides = list(box), list(mask.shape), list(spacing or ())
        axis, chosen = -1, None
        if len(shape) == 3:
            axis = best_slice(mask, spacing=spacing)[0]
            chosen = int(point[axis])
            for each in (ends, shape, sides):
                del each[axis : axis + 1]
        crop = _around(ends, shape)
        longest = max(part.stop - part.start for part in crop)
        return cls(axis, chosen, crop, max(1, -(-LARGE // longest)), sides[1] if sides else None)

    def __call__(self, array: Array) -> Array:
        flat = array if self.plane is None else np.take(array, self.plane, self.axis)
        return flat[self.crop].repeat(self.grow, axis=0).repeat(self.grow, axis=1)

    def bar(self) -> _Bar:
        """About a quarter of the width: 1, 2 or 5 times a power of ten, at the lower left."""
        high, wide = (self.grow * (part.stop - part.start) for part in self.crop)
        item = self.side or 1.0
        length = _round(wide / self.grow * item / 4)
        long = max(1, round(length / item * self.grow))
        mask, rim = np.zeros((2, high, wide), bool)
        y, x = max(high - MARGIN - BAR, 0), min(MARGIN, max(wide - long, 0))
        rim[max(y - RIM, 0) : y + BAR + RIM, max(x - RIM, 0) : x + long + RIM] = True
        mask[y : y + BAR, x : x + long] = True
        unit = "mm" if self.side else "pixel" if length == 1 else "pixels"
        return _Bar(f"bar: {length:g} {unit}", mask, rim)


def _round(length: float) -> float:
    """The largest of 1, 2 and 5 times a power of ten that is not longer.

    >>> [_round(x) for x in (0.3, 1.0, 4.9, 61.0)]
    [0.2, 1.0, 2.0, 50.0]
    """
    power = 10.0 ** math.floor(math.log10(length))
    return round(max(n for n in (1, 2, 5) if n * power <= length * (1 + 1e-9)) * power, 12)


def _around(box: Box, shape: Sequence[int]) -> tuple[slice, ...]:
    """The same reach to all sides of the middle of a box."""
    reach = round(0.75 * max(stop - start for start, stop in box)) + AROUND
    middles = [(start + stop) // 2 for start, stop in box]
    return tuple(slice(max(0, m - reach), min(n, m + reach + 1)) for m, n in zip(middles, shape, strict=True))


def _dashes(masks: Sequence[Flags], shape: tuple[int, ...]) -> Flags:
    """Every other piece of all outlines."""
    from scipy.ndimage import binary_erosion

    outline = np.zeros(shape, bool)
    for mask in masks:
        # a mask that goes on beyond the picture has no outline at its edge
        outline |= mask & ~binary_erosion(mask, border_value=1)
    stripe = np.add.outer(np.arange(outline.shape[0]), np.arange(outline.shape[1])) // DASH % 2 == 0
    return np.asarray(outline & stripe)

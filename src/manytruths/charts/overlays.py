"""Heatmaps, outlines and masks over an image; of a volume, over the slices that show most; close-ups of a place."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError
from ..shape.grid import slice_axis
from . import canvas
from .canvas import INK, LONGEST, SHORTEST, Scale, background
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
MOST_SORTED = 24
"""Masks in a row of sorted ones: of more raters, half of them the best and half the worst."""


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
    return canvas.frame_picture(picture, heat_bar(picture, most, discrete, caption), title, subtitle)


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
    ground = canvas.background(image, heat.shape, scale)
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
    em, room = canvas.letter_size(picture), picture.shape[0]
    return canvas.count_bar(int(most), caption, em, room) if discrete else canvas.value_bar(most, caption, em, room)


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
        raise GridError(f"the image is {canvas.size_text(np.shape(image))} but heat is {canvas.size_text(heat.shape)}")
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
    return canvas.frame_picture(picture, heat_bar(picture, most, discrete, caption), title, subtitle, edge=False)


def _tile_panels(panels: Sequence[NDArray[np.uint8]], labels: Sequence[str], columns: int) -> NDArray[np.uint8]:
    """Panels side by side, each under its label."""
    from PIL import Image

    high, wide = panels[0].shape[:2]
    size = int(np.clip(columns * wide / 55, 13, 24))
    gap, line = size // 2, round(1.6 * size)
    rows = -(-len(panels) // columns)
    paper = canvas.blank_page(columns * (wide + gap) - gap, rows * (high + line + gap) - gap)
    draw = canvas.drawing_on(paper)
    for index, (panel, label) in enumerate(zip(panels, labels, strict=True)):
        x, y = index % columns * (wide + gap), index // columns * (high + line + gap)
        draw.text((x + gap, y + line // 2), label, INK, canvas.font(size), anchor="lm")
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
        raise CallError(
            f"heat is {canvas.size_text(heat.shape) or 'a number'}; a volume has three axes and some voxels"
        )
    if axis is None:
        axis = slice_axis(heat.shape, spacing)
        assert axis is not None
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
    coloured: bool = False,
) -> Image.Image:
    """Every rater's outline in a colour of its own over the image in grey, or ``coloured`` as it is.

    Where several outlines run along each other, their colours take turns like the dashes of a line.
    """
    if not masks:
        raise CallError("masks is empty; give one mask or more")
    arrays = {name: np.asarray(mask) != 0 for name, mask in masks.items()}
    first, shape = next((name, mask.shape) for name, mask in arrays.items())
    for name, mask in arrays.items():
        if mask.ndim != 2 or mask.shape != shape:
            raise GridError(
                f"{name}'s mask is {canvas.size_text(mask.shape)} but {first}'s is {canvas.size_text(shape)}"
            )
    chosen = list(colours) if colours else rater_colours(len(arrays))
    picture = outline_panel(image, list(arrays.values()), chosen, Scale.of(shape), coloured=coloured)
    return canvas.frame_picture(
        picture, canvas.legend(list(arrays), chosen, canvas.letter_size(picture), picture.shape[0]), title, subtitle
    )


def outline_panel(
    image: NDArray[Any] | None,
    masks: Sequence[NDArray[np.bool_]],
    colours: Sequence[Colour],
    scale: Scale,
    *,
    coloured: bool = False,
) -> Picture:
    """The picture alone, without anything around it: outlines over the image in grey, or ``coloured`` as it is."""
    picture = canvas.background(image, masks[0].shape, scale, coloured=coloured)
    _paint_outlines(picture, [_outline(scale.most(mask)) for mask in masks], colours)
    return picture


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
    ground = None
    if image is not None:
        white = 255 if image.dtype == np.uint8 else np.nanmax(image)
        ground = mosaic([np.take(image, i, axis) for i in chosen], white)
    subtitle = f"{subtitle}; {shown}" if subtitle else shown
    return contour_overlay(ground, flat, title=title, subtitle=subtitle, colours=colours)


def check_masks(image: Array | None, masks: Mapping[str, Array]) -> dict[str, NDArray[np.bool_]]:
    """Masks as booleans; all must have one shape, which is the image's too."""
    if not masks:
        raise CallError("masks is empty; give one mask or more")
    arrays = {name: np.ma.filled(mask, 0) != 0 for name, mask in masks.items()}
    shape = next(iter(arrays.values())).shape
    if len(shape) not in (2, 3):
        raise CallError(f"masks are {canvas.size_text(shape)}; pictures and volumes have two or three axes")
    others = [(name, mask.shape) for name, mask in arrays.items()]
    others += [] if image is None else [("the image", image.shape[: len(shape)])]
    for name, other in others:
        if other != shape:
            raise GridError(
                f"{name} is {canvas.size_text(other)}, other masks {canvas.size_text(shape)}; resample one of them"
            )
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

    Raters whose score is undefined are left out of a row; of many, the best and the worst are shown. Of a volume, the
    slice with the most marked voxels is shown.
    """
    if not masks or not scores:
        raise CallError("masks or scores is empty; give one mask and one measure or more")
    flat, ground = _flatten(image, masks, spacing)
    shape = next(iter(flat.values())).shape
    scale = Scale.of(shape, SORTED_SIDE, SORTED_SIDE)
    colours = dict(zip(masks, rater_colours(len(masks)), strict=True))
    rows = {measure: _best_and_worst(by_rater, flat) for measure, by_rater in scores.items()}
    picture = canvas.background(ground, shape, scale)
    panels = {
        name: _tinted_panel(picture, scale.most(flat[name]), colours[name])
        for name in dict.fromkeys(rater for row in rows.values() for rater in row)
    }
    high, wide = picture.shape[:2]
    drawn = _sorted_rows(panels, rows, scores, (min(len(masks), MOST_SORTED), high, wide))
    return canvas.frame_picture(drawn, canvas.blank_page(1, 1), title, subtitle, edge=False)


def _best_and_worst(by_rater: Mapping[str, float], masks: Collection[str]) -> list[str]:
    """Those with a score, from the best to the worst; of more than can be told apart, some of the first and last."""
    known = {r: v for r, v in by_rater.items() if r in masks and not np.isnan(v)}
    order = sorted(known, key=lambda r: (-known[r], r))
    half = MOST_SORTED // 2
    return order if len(order) <= MOST_SORTED else order[:half] + order[-half:]


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
    panels: Mapping[str, NDArray[np.uint8]],
    rows: Mapping[str, Sequence[str]],
    scores: Mapping[str, Mapping[str, float]],
    shape: tuple[int, int, int],
) -> NDArray[np.uint8]:
    """``shape`` is the number of panels in a row, and the size of each."""
    from PIL import Image

    across, high, wide = shape
    size, gap = 15, 10
    line = round(1.7 * size)
    paper = canvas.blank_page(across * (wide + gap) - gap, len(rows) * (high + 2 * line + gap) - gap)
    draw = canvas.drawing_on(paper)
    for row, (measure, raters) in enumerate(rows.items()):
        top, some = row * (high + 2 * line + gap), len(raters) < len(scores[measure]) and len(raters) == MOST_SORTED
        words = f"by {measure}: {len(raters) // 2} best and {len(raters) // 2} worst" if some else f"by {measure}"
        draw.text((0, top + line // 2), words, INK, canvas.font(size + 1), anchor="lm")
        for place, rater in enumerate(raters):
            x = place * (wide + gap)
            words = canvas.fit_text(f"{rater}  {scores[measure][rater]:.3f}", size, wide)
            draw.text((x, top + line + line // 2), words, INK, canvas.font(size), anchor="lm")
            paper.paste(Image.fromarray(panels[rater]), (x, top + 2 * line))
    return np.array(paper)


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
    coloured: bool = False,
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
    coloured
        Show an image of several channels in its colours instead of grey.
    """
    arrays = check_masks(image, masks)
    first = next(iter(arrays.values()))
    others = [*check_masks(None, {"other masks": first, **(dashed or {})}).values()][1:]
    view = _View.of(box, point, first, spacing)
    cut = {name: view(mask) for name, mask in arrays.items()}
    names = [name for name, mask in cut.items() if mask.any()] or list(cut)[:1]
    paints = dict(zip(cut, colours or rater_colours(len(cut)), strict=True))
    bare = background(None if image is None else view(image), cut[names[0]].shape, Scale(1, 1), coloured=coloured)
    ground, bar = bare.copy(), view.bar()
    dashes = _dashes([view(mask) for mask in others], bare.shape[:2])
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
    chosen = [paints[name] for name in marks]
    return contour_overlay(ground, marks, title=title, subtitle=subtitle, colours=chosen, coloured=True)


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

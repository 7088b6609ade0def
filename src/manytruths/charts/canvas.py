"""Pictures of pixels: their scale, the image behind them, letters, and what stands around them.

Arrays of any size become pictures of a size that can be viewed, by whole factors. Text is in the font that comes
with Pillow.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError
from .colours import colour_map, count_colours

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

LONGEST, SHORTEST = 1600, 400
"""Largest and smallest number of pixels along the longest side of a picture."""
NEUTRAL = 32
"""The grey where there is no image."""
LUMA = np.array([0.299, 0.587, 0.114])
INK, PALE_INK = (28, 28, 32), (105, 105, 115)
EDGE = (190, 190, 196)
SPELT = {"–": "-", "—": "-", "−": "-", "×": "x", "≥": ">=", "≤": "<=", "κ": "kappa", "²": "2", "’": "'", "→": "->"}
"""Characters that the font lacks, in letters that it has."""


# -- scale --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """Whole factors, so that no value is invented between two pixels."""

    shrink: int
    grow: int

    @classmethod
    def of(cls, shape: tuple[int, ...], longest: int = LONGEST, shortest: int = SHORTEST) -> Scale:
        """The scale at which an array's longest side lies between the two."""
        side = max(shape)
        if min(shape) == 0:
            raise CallError(f"nothing to draw: the array is {size_text(shape)}")
        return cls(shrink=-(-side // longest), grow=max(1, -(-shortest // side)))

    def most(self, array: NDArray[Any]) -> NDArray[Any]:
        """Each block's largest value, so that a thin vessel stays visible in a small picture."""
        for axis in (0, 1) if self.shrink > 1 else ():
            array = np.maximum.reduceat(array, self._starts(array, axis), axis=axis)
        return self._repeat(array)

    def mean(self, array: NDArray[Any]) -> NDArray[Any]:
        """Each block's mean."""
        for axis in (0, 1) if self.shrink > 1 else ():
            starts = self._starts(array, axis)
            widths = np.diff(np.append(starts, array.shape[axis]))
            sums = np.add.reduceat(array, starts, axis=axis, dtype=np.float64)
            array = sums / widths.reshape([-1 if a == axis else 1 for a in range(array.ndim)])
        return self._repeat(array)

    def _starts(self, array: NDArray[Any], axis: int) -> NDArray[np.intp]:
        return np.arange(0, array.shape[axis], self.shrink)

    def _repeat(self, array: NDArray[Any]) -> NDArray[Any]:
        return array.repeat(self.grow, axis=0).repeat(self.grow, axis=1) if self.grow > 1 else array


def background(
    image: NDArray[Any] | None, shape: tuple[int, ...], scale: Scale, *, coloured: bool = False
) -> NDArray[np.uint8]:
    """An image in grey, or ``coloured`` where it has colours, at the picture's scale, as red, green and blue.

    Bytes stay as they are; 16-bit and real-valued images are stretched over the middle 99% of their values.
    """
    if image is None:
        grey = scale.most(np.full(shape, NEUTRAL, np.uint8))
    else:
        image = np.asarray(image)
        if image.shape[:2] != shape:
            raise GridError(f"the image is {size_text(image.shape[:2])} but what lies over it is {size_text(shape)}")
        if coloured and image.ndim == 3 and image.shape[2] >= 3:
            return as_bytes(scale.mean(image[..., :3]), image.dtype)
        grey = as_bytes(_one_channel(scale.mean(image)), image.dtype)
    return np.repeat(grey[..., None], 3, axis=2)


def _one_channel(image: NDArray[Any]) -> NDArray[Any]:
    if image.ndim == 2:
        return image
    return np.asarray(image[..., :3] @ LUMA if image.shape[2] >= 3 else image[..., 0])


def as_bytes(values: NDArray[Any], kind: np.dtype[Any], ends: tuple[float, float] | None = None) -> NDArray[np.uint8]:
    """Values as bytes; other types than bytes are stretched between ``ends``, by default their middle 99%."""
    if values.dtype == np.uint8:
        return values
    if kind.kind == "b":
        values = values * 255.0
    elif kind != np.uint8:
        low, high = ends or central_range(values)
        # a constant image cannot be stretched; it becomes middle grey
        values = np.nan_to_num((values - low) / (high - low) if high > low else np.full(values.shape, 0.5)) * 255
    rounded: NDArray[np.uint8] = np.clip(np.rint(values), 0, 255).astype(np.uint8)
    return rounded


def central_range(values: NDArray[Any]) -> tuple[float, float]:
    """The range of the middle 99% of values."""
    finite = values[np.isfinite(values)]
    low, high = np.percentile(finite, (0.5, 99.5)) if finite.size else (0.0, 0.0)
    return float(low), float(high)


def size_text(shape: tuple[int, ...]) -> str:
    """``512×512``."""
    return "×".join(str(side) for side in shape)


# -- letters ------------------------------------------------------------------------------------------


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """The bundled font at a size in pixels."""
    from PIL import ImageFont

    loaded = ImageFont.load_default(size=size)
    assert isinstance(loaded, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return loaded


@cache
def printable(text: str) -> str:
    """The text with every character that the font lacks replaced: ``José ≥ 3`` becomes ``Jose >= 3``."""
    text = " ".join(text.split())
    return "".join(letter if _known(letter) else _spell(letter) for letter in text)


def _spell(letter: str) -> str:
    if letter in SPELT:
        return SPELT[letter]
    plain = "".join(part for part in unicodedata.normalize("NFKD", letter) if not unicodedata.combining(part))
    return plain if plain and all(map(_known, plain)) else "?"


@cache
def _known(letter: str) -> bool:
    if letter == " ":
        return True
    missing = font(20).getmask("\uffff")
    return bytes(font(20).getmask(letter)) != bytes(missing)


def text_width(text: str, size: int) -> int:
    """Width of a text in pixels."""
    return int(font(size).getlength(printable(text))) + 1


def fit_text(text: str, size: int, room: int) -> str:
    """The text, cut short with an ellipsis where it is too long."""
    text = printable(text)
    if text_width(text, size) <= room:
        return text
    while text and text_width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def wrap_text(text: str, size: int, room: int) -> list[str]:
    """Lines that fit into the room; a word that is too long is cut."""
    lines: list[str] = []
    for word in printable(text).split():
        if lines and text_width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(fit_text(word, size, room))
    return lines


# -- frame, colour bars and legends -------------------------------------------------------------------


def blank_page(wide: int, high: int) -> Image.Image:
    """White paper."""
    from PIL import Image

    return Image.new("RGB", (max(1, wide), max(1, high)), (255, 255, 255))


def drawing_on(paper: Image.Image) -> ImageDraw.ImageDraw:
    """The drawing tool of a picture."""
    from PIL import ImageDraw

    return ImageDraw.Draw(paper)


def letter_size(picture: NDArray[Any]) -> int:
    """Size of letters, which grows with the picture so that they can be read when it is shown smaller."""
    return int(np.clip(max(picture.shape[:2]) / 52, 14, 26))


def frame_picture(
    picture: NDArray[np.uint8], side: Image.Image, title: str | None, subtitle: str | None, edge: bool = True
) -> Image.Image:
    """The picture on white paper, its title above and its colour bar or legend at the right."""
    from PIL import Image

    em = letter_size(picture)
    high, wide = picture.shape[:2]
    lines = [(t, s, ink) for t, s, ink in ((title, round(1.25 * em), INK), (subtitle, em, PALE_INK)) if t]
    room = max([wide + em + side.width] + [min(24 * em, text_width(text, size)) for text, size, _ in lines])
    top = em + sum(round(1.5 * size) for _, size, _ in lines)
    paper = blank_page(room + 2 * em, top + max(high, side.height) + em)
    draw, y = drawing_on(paper), round(0.75 * em)
    for text, size, ink in lines:
        draw.text((em, y), fit_text(text, size, room), ink, font(size))
        y += round(1.5 * size)
    paper.paste(Image.fromarray(picture), (em, top))
    if edge:
        draw.rectangle((em - 1, top - 1, em + wide, top + high), outline=EDGE)
    paper.paste(side, (2 * em + wide, top))
    return paper


def count_bar(most: int, caption: str, em: int, room: int) -> Image.Image:
    """One block a number, 1 at the bottom."""
    block = int(np.clip((room - 4 * em) / most, 6, 2 * em))
    every = -(-round(1.1 * em) // block)
    labels = {n: str(n) for n in range(1, most + 1) if n in (1, most) or (n % every == 0 and every < n <= most - every)}
    paint = np.repeat(count_colours(most)[::-1], block, axis=0)
    return _bar(paint, [(block * (most - n) + block // 2, text) for n, text in labels.items()], caption, em)


def value_bar(most: float, caption: str, em: int, room: int) -> Image.Image:
    """A gradient from 0 to the largest value."""
    high = int(np.clip(room - 4 * em, 6 * em, 20 * em))
    paint = colour_map(np.linspace(1, 0, high))
    return _bar(paint, [(round((1 - s) * (high - 1)), f"{s * most:.3g}") for s in (0, 0.5, 1)], caption, em)


def _bar(paint: NDArray[np.uint8], ticks: Sequence[tuple[int, str]], caption: str, em: int) -> Image.Image:
    from PIL import Image

    lines = wrap_text(caption, em, 7 * em)
    top, thick = round(1.3 * em) * len(lines) + em, round(1.4 * em)
    wide = max([text_width(line, em) for line in lines] + [thick + em + text_width(text, em) for _, text in ticks])
    paper = blank_page(wide, top + len(paint) + em)
    draw = drawing_on(paper)
    for number, line in enumerate(lines):
        draw.text((0, round(1.3 * em) * number), line, INK, font(em))
    paper.paste(Image.fromarray(np.repeat(paint[:, None], thick, axis=1)), (0, top))
    for y, text in ticks:
        draw.line((thick, top + y, thick + em // 3, top + y), fill=PALE_INK, width=max(1, em // 13))
        draw.text((thick + em // 2, top + y), text, INK, font(em), anchor="lm")
    return paper


def legend(names: Sequence[str], colours: Sequence[tuple[int, int, int]], em: int, room: int) -> Image.Image:
    """A patch of colour and a name for each, in as many columns as the height asks for."""
    line = round(1.6 * em)
    rows = max(1, min(len(names), max(12, room // line)))
    texts = [fit_text(name, em, 9 * em) for name in names]
    column = 2 * em + max((text_width(text, em) for text in texts), default=0) + em
    paper = blank_page(column * -(-len(names) // rows), line * rows)
    draw = drawing_on(paper)
    for index, (text, paint) in enumerate(zip(texts, colours, strict=True)):
        x, y = column * (index // rows), line * (index % rows)
        draw.rounded_rectangle((x, y + em // 4, x + round(1.3 * em), y + em), radius=em // 5, fill=paint, outline=EDGE)
        draw.text((x + 2 * em - em // 4, y + round(0.62 * em)), printable(text), INK, font(em), anchor="lm")
    return paper

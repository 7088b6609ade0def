"""Text on pictures, in the font that comes with Pillow."""

from __future__ import annotations

import unicodedata
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL import Image, ImageDraw, ImageFont

INK, PALE_INK = (28, 28, 32), (105, 105, 115)

SPELT = {"–": "-", "—": "-", "−": "-", "×": "x", "≥": ">=", "≤": "<=", "κ": "kappa", "²": "2", "’": "'", "→": "->"}
"""Signs the font lacks, in letters that it has."""


@cache
def font(size: int) -> ImageFont.FreeTypeFont:
    """The bundled font at a size in pixels."""
    from PIL import ImageFont

    found = ImageFont.load_default(size=size)
    assert isinstance(found, ImageFont.FreeTypeFont), "Pillow was built without FreeType"
    return found


@cache
def printable(text: str) -> str:
    """The text with every sign the font lacks spelt otherwise: ``José ≥ 3`` becomes ``Jose >= 3``."""
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


def width(text: str, size: int) -> int:
    """Pixels a text takes."""
    return int(font(size).getlength(printable(text))) + 1


def fit(text: str, size: int, room: int) -> str:
    """The text, cut short with an ellipsis where it is too long."""
    text = printable(text)
    if width(text, size) <= room:
        return text
    while text and width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def wrap(text: str, size: int, room: int) -> list[str]:
    """Lines that fit into the room; a word that is too long is cut."""
    lines: list[str] = []
    for word in printable(text).split():
        if lines and width(f"{lines[-1]} {word}", size) <= room:
            lines[-1] += f" {word}"
        else:
            lines.append(fit(word, size, room))
    return lines


def sheet(wide: int, high: int) -> Image.Image:
    """White paper."""
    from PIL import Image

    return Image.new("RGB", (max(1, wide), max(1, high)), (255, 255, 255))


def pen(paper: Image.Image) -> ImageDraw.ImageDraw:
    """Something to draw with."""
    from PIL import ImageDraw

    return ImageDraw.Draw(paper)

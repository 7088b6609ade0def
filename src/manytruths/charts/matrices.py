"""A square of numbers: every rater against every other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import CallError
from .colours import colour, hexadecimal, is_light
from .svg import LETTER, PALE_INK, clean, document, figure, line, name, room, tag, text

SLANT = 55
READABLE = 27
"""Cells narrower than this many units hold no number, only a colour."""


def matrix(
    values: ArrayLike, names: Sequence[str], title: str, *, low: float = 0.0, high: float = 1.0, digits: int = 2
) -> str:
    """Numbers of all pairs as SVG, coloured from ``low`` to ``high``; undefined ones (nan) are struck out in grey."""
    table = np.asarray(values, float)
    if table.shape != (len(names), len(names)) or not len(names):
        raise CallError(f"values are {table.shape} for {len(names)} names; one row and one column a name")
    if not low < high:
        raise CallError(f"low is {low} and high {high}; low must be the smaller")
    cell = float(np.clip(620 / len(names), 14, 46))
    left = 24 + room(names)
    top = 52 + room(names) * np.sin(np.radians(SLANT))
    overhang = room(names[-1:]) * np.cos(np.radians(SLANT))
    wide = left + cell * len(names)
    paints = colour((table - low) / (high - low))
    parts = _headings(names, left, top, cell)
    for row, column in np.ndindex(table.shape):
        x, y, value = left + cell * column, top + cell * row, float(table[row, column])
        hover = f"{names[row]}, {names[column]}: {figure(value, digits + 1) if np.isfinite(value) else 'undefined'}"
        parts += _cell(x, y, cell, value, paints[row, column], figure(value, digits), hover)
    bottom = top + cell * len(names)
    parts += _scale(left, bottom + 18, min(220.0, cell * len(names)), low, high)
    return document(max(wide + max(24.0, overhang), 260.0), bottom + 58, title, parts)


def _headings(names: Sequence[str], left: float, top: float, cell: float) -> list[str]:
    parts = []
    size = min(12.0, cell * 0.7)
    for index, words in enumerate(names):
        middle = cell * (index + 0.5)
        parts.append(name(left - 10, top + middle + 4, words, size=size, text_anchor="end"))
        x, y = left + middle + 3, top - 8
        parts.append(name(x, y, words, size=size, transform=f"rotate(-{SLANT} {x:.2f} {y:.2f})"))
    return parts


def _cell(x: float, y: float, cell: float, value: float, paint: object, words: str, hover: str) -> list[str]:
    fill = hexadecimal(paint) if np.isfinite(value) else "#ececef"
    size = {"width": cell - 1, "height": cell - 1}
    parts = [tag("rect", tag("title", clean(hover)), x=x, y=y, fill=fill, **size)]
    if not np.isfinite(value):
        parts.append(line(x + 3, y + cell - 4, x + cell - 4, y + 3, "#c4c4cc"))
    if cell >= READABLE:
        # As large as the cell allows, since tables with a minus or a third digit are wider.
        letters = min(13.0, (cell - 5) / (len(words) * LETTER))
        ink = PALE_INK if not np.isfinite(value) else "#000000" if is_light(paint) else "#ffffff"
        middle, base = x + (cell - 1) / 2, y + cell / 2 + letters * 0.34
        parts.append(text(middle, base, words, size=letters, fill=ink, text_anchor="middle"))
    return parts


def _scale(x: float, y: float, wide: float, low: float, high: float) -> list[str]:
    count = 40
    paints = [hexadecimal(c) for c in colour(np.linspace(0, 1, count))]
    patch = {"width": wide / count + 0.5, "height": 9.0, "shape_rendering": "crispEdges"}
    parts = [tag("rect", x=x + wide * n / count, y=y, fill=paint, **patch) for n, paint in enumerate(paints)]
    ends = ((x, low, "start"), (x + wide, high, "end"))
    return parts + [text(at, y + 24, f"{end:g}", size=11, fill=PALE_INK, text_anchor=side) for at, end, side in ends]

"""Values with intervals, a row each, several series in a row, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..core.errors import CallError
from .charts import TOP, WIDE, whisker
from .colours import hexadecimal, rater_colours
from .svg import INK, RULE, Axis, bottom_axis, clean, document, figure, line, name, room, tag, text

APART = 13.0
DISC = 4.5
LEGEND = 24.0
LONGEST = 28
"""Letters of a row's name; a strategy's is a few words."""

Value = tuple[float, float, float]
"""A value and the ends of its interval; nan where they are not known."""


def dotted(rows: Mapping[str, Mapping[str, Value]], xlabel: str, title: str, *, digits: int = 3) -> str:
    """``{row: {series: (value, low, high)}}``: a dot and a whisker each, its number at the right."""
    series = list(dict.fromkeys(one for by in rows.values() for one in by))
    if not series:
        raise CallError("rows is empty; give one row and one series or more")
    paints = dict(zip(series, map(hexadecimal, rater_colours(len(series))), strict=True))
    left, high = 24 + room(rows, longest=LONGEST), APART * (len(series) + 1)
    top = TOP + LEGEND * (len(series) > 1)
    bottom = top + high * len(rows)
    axis = Axis.over([n for by in rows.values() for v in by.values() for n in v], left, left + WIDE)
    parts = bottom_axis(axis, top, bottom, xlabel)
    for place, (row, by) in enumerate(rows.items()):
        begin = top + high * place
        parts += [line(20, begin, left + WIDE, begin, RULE)] if place else []
        parts.append(name(left - 12, begin + high / 2 + 4, row, longest=LONGEST, text_anchor="end"))
        for k, (one, value) in enumerate(by.items()):
            parts += _dot(axis, begin + APART * (k + 1), value, f"{row}, {one}", paints[one], left + WIDE + 12, digits)
    parts += _legend(paints, left) if len(series) > 1 else []
    return document(left + WIDE + 70, bottom + 52, title, parts)


def _dot(axis: Axis, y: float, value: Value, told: str, paint: str, right: float, digits: int) -> list[str]:
    middle, low, high = value
    if not math.isfinite(middle):
        return [text(right, y + 4, "–", size=11)]
    number = figure(middle, digits)
    dot = tag("circle", tag("title", clean(f"{told}: {number}")), cx=axis(middle), cy=y, r=DISC, fill=paint, stroke=INK)
    return [*whisker(axis, y, low, high), dot, text(right, y + 4, number, size=11)]


def _legend(paints: Mapping[str, str], left: float) -> list[str]:
    parts, x = [], left
    for one, paint in paints.items():
        parts.append(tag("circle", cx=x + 6, cy=TOP, r=DISC, fill=paint, stroke=INK))
        parts.append(name(x + 18, TOP + 4, one))
        x += 40 + room([one])
    return parts

"""Several numbers of each group beside each other: bars with whiskers, and points where a number has no mean."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from ..core.errors import CallError
from .charts import TOP, WIDE, whisker
from .rocs import COLOURS
from .svg import LETTER, PALE_INK, RULE, Axis, bottom_axis, clean, document, figure, line, name, rect, room, tag, text

ROW, GAP = 20.0, 16.0

Bar = float | tuple[float, float, float]
Entry = Bar | list[float]
"""A value, ``(value, low, high)``, or a list of points."""


def grouped_bars(groups: Mapping[str, Mapping[str, Entry]], xlabel: str, title: str, *, digits: int = 2) -> str:
    """For each group a bar and its number for each series, with whiskers where ``(value, low, high)`` is given.

    A list is drawn as one point a value, without a number. Series have the same colour and place in every group; one
    that a group lacks leaves its place empty, and nan draws a dash.
    """
    series = list(dict.fromkeys(key for own in groups.values() for key in own))
    if not series:
        raise CallError("groups is empty; give one group with one value or more")
    paints = {key: COLOURS[i % len(COLOURS)] for i, key in enumerate(series)}
    keys, legend = _legend(paints, WIDE)
    left, top = 28 + room(groups), TOP + 22.0 * keys
    high = ROW * len(series)
    bottom = top + (high + GAP) * len(groups)
    axis = Axis.over([0.0, 1.0, *_numbers(groups)], left, left + WIDE)
    parts = [*legend, *bottom_axis(axis, top, bottom, xlabel)]
    for i, (group, own) in enumerate(groups.items()):
        start = top + (high + GAP) * i
        parts += [line(20, start, left + WIDE, start, RULE)] if i else []
        parts.append(name(left - 12, start + (high + GAP) / 2 + 4, group, text_anchor="end"))
        for k, key in enumerate(series):
            y = start + GAP / 2 + ROW * (k + 0.5)
            parts += _entry(own[key], f"{group}, {key}", axis, y, paints[key], digits) if key in own else []
    parts.append(line(axis(0), top, axis(0), bottom, PALE_INK))
    return document(left + WIDE + 30 + 7 * (digits + 3), bottom + 52, title, parts)


def _numbers(groups: Mapping[str, Mapping[str, Entry]]) -> list[float]:
    entries = [entry for own in groups.values() for entry in own.values()]
    return [float(n) for e in entries for n in ([e] if isinstance(e, float | int) else e)]


def _entry(entry: Entry, told: str, axis: Axis, y: float, paint: str, digits: int) -> list[str]:
    if isinstance(entry, list):
        return _points(entry, told, axis, y, paint, digits)
    value, low, high = entry if isinstance(entry, tuple) else (entry, math.nan, math.nan)
    parts = []
    if math.isfinite(value):
        start, end = sorted((axis(0), axis(value)))
        size = {"width": max(end - start, 0.5), "height": ROW - 6}
        hover = tag("title", clean(f"{told}: {figure(value, digits)}"))
        parts.append(tag("rect", hover, x=start, y=y - ROW / 2 + 3, fill=paint, fill_opacity=0.75, **size))
    parts += whisker(axis, y, low, high)
    return [*parts, text(axis.end + 10, y + 4, figure(value, digits), size=11)]


def _points(values: Sequence[float], told: str, axis: Axis, y: float, paint: str, digits: int) -> list[str]:
    known = [v for v in values if math.isfinite(v)]
    return [
        tag("circle", tag("title", clean(f"{told}: {figure(v, digits)}")), cx=axis(v), cy=y, r=4.0, fill=paint,
            fill_opacity=0.75, stroke="#ffffff", stroke_width=0.8)
        for v in known
    ]  # fmt: skip


def _legend(paints: Mapping[str, str], wide: float) -> tuple[int, list[str]]:
    """Lines that it takes, and its parts, from left to right below the title."""
    parts, x, row = [], 16.0, 0
    for words, paint in paints.items():
        span = 18 + len(words) * 12 * LETTER + 18
        if x > 16 and x + span > wide + 100:
            x, row = 16.0, row + 1
        y = TOP + 8 + 22.0 * row
        parts += [rect(x, y - 10, 12, 12, paint, rx=2, fill_opacity=0.75), text(x + 18, y, words, fill=PALE_INK)]
        x += span
    return row + 1, parts

"""Algorithms beside the human range, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..errors import CallError
from .charts import ROW, TOP, WIDE, whisker
from .planes import DIAMOND
from .svg import BLUE, INK, PALE_INK, Axis, bottom_axis, clean, document, figure, line, name, rect, room, tag, text

BAND, DOT = "#e6ecd9", "#6b7f3a"


def beside_range(
    values: Mapping[str, tuple[float, float, float]],
    raters: Mapping[str, float],
    xlabel: str,
    title: str,
    *,
    verdicts: Mapping[str, str] | None = None,
    digits: int = 2,
) -> str:
    """A row for each algorithm, ``(value, low, high)`` with whiskers, over the band that the raters span.

    The raters' own values are dots in a row below; ``verdicts`` stand at the right.
    """
    if not values:
        raise CallError("values is empty; give one algorithm or more")
    human = {key: value for key, value in raters.items() if math.isfinite(value)}
    left, bottom = 28 + room([*values, "raters"]), TOP + ROW * (len(values) + 1) + 8.0
    numbers = [n for value in values.values() for n in value] + list(human.values())
    axis = Axis.over(numbers, left, left + WIDE)
    parts = []
    if human:
        start, end = axis(min(human.values())), axis(max(human.values()))
        parts.append(rect(start, TOP, max(end - start, 1.5), bottom - TOP, BAND))
    parts += bottom_axis(axis, TOP, bottom, xlabel)
    for row, (key, (value, low, high)) in enumerate(values.items()):
        y = TOP + ROW * (row + 0.5) + 2
        parts.append(name(left - 12, y + 4, key, text_anchor="end"))
        parts += whisker(axis, y, low, high)
        if math.isfinite(value):
            parts.append(
                tag("path", d=DIAMOND, fill=BLUE, transform=f"translate({axis(value):.2f} {y:.2f}) scale(1.3)")
            )
        said = (verdicts or {}).get(key, "")
        parts.append(text(left + WIDE + 12, y + 4, f"{figure(value, digits)}  {said}".rstrip()))
    parts += _raters(human, axis, left, bottom - ROW / 2 - 4)
    return document(left + WIDE + 190, bottom + 52, title, parts)


def _raters(human: Mapping[str, float], axis: Axis, left: float, y: float) -> list[str]:
    parts = [line(left, y - 16, left + WIDE, y - 16, PALE_INK), text(left - 12, y + 4, "raters", text_anchor="end")]
    for key, value in human.items():
        dot = tag(
            "circle",
            tag("title", clean(f"{key}: {value:.3f}")),
            cx=axis(value),
            cy=y,
            r=4.5,
            fill=DOT,
            stroke="#ffffff",
        )
        parts.append(dot)
    shown = f"{figure(min(human.values()))}–{figure(max(human.values()))}" if human else "–"
    return [*parts, text(left + WIDE + 12, y + 4, shown, fill=INK)]

"""Algorithms beside the raters, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping

from ..core.errors import CallError
from .charts import TOP, WIDE, whisker
from .colours import hexadecimal, rater_colours
from .svg import INK, PALE_INK, RULE, Axis, bottom_axis, document, figure, line, name, room, tag, text

ROW, GAP = 20.0, 14.0
DISC = 4.5

Difference = tuple[float, float, float]
"""A value and the ends of its interval; nan where they are not known."""


def beside_raters(
    differences: Mapping[str, Mapping[str, Difference]],
    xlabel: str,
    title: str,
    *,
    verdicts: Mapping[str, str] | None = None,
    digits: int = 2,
) -> str:
    """For each algorithm a row for each rater: how far it is better (right of 0) or worse than he is.

    ``{algorithm: {rater: (value, low, high)}}``; ``verdicts`` stand at the right of each algorithm.
    """
    if not differences or not any(differences.values()):
        raise CallError("differences is empty; give one algorithm and one rater or more")
    raters = list(dict.fromkeys(rater for by in differences.values() for rater in by))
    paints = dict(zip(raters, map(hexadecimal, rater_colours(len(raters))), strict=True))
    first, second = 20 + room(differences), 16 + room(raters)
    left, high = first + second, sum(ROW * len(by) + GAP for by in differences.values())
    bottom = TOP + high
    axis = Axis.over([0.0, *(n for by in differences.values() for d in by.values() for n in d)], left, left + WIDE)
    parts = [*bottom_axis(axis, TOP, bottom, xlabel), line(axis(0), TOP, axis(0), bottom, INK, stroke_width=1.5)]
    y = TOP + GAP / 2
    for algorithm, by in differences.items():
        middle = y + ROW * len(by) / 2
        parts.append(name(first - 10, middle + 4, algorithm, text_anchor="end", font_weight="bold"))
        parts.append(text(left + WIDE + 12, middle + 4, (verdicts or {}).get(algorithm, "")))
        for rater, (value, low, top) in by.items():
            y += ROW
            parts.append(name(left - 10, y - ROW / 2 + 4, rater, size=11, fill=PALE_INK, text_anchor="end"))
            parts += whisker(axis, y - ROW / 2, low, top)
            if math.isfinite(value):
                told = tag("title", f"{figure(value, digits)}")
                dot = {"cx": axis(value), "cy": y - ROW / 2, "r": DISC, "fill": paints[rater], "stroke": INK}
                parts.append(tag("circle", told, **dot))
        y += GAP
        parts.append(line(20, y - GAP / 2, left + WIDE, y - GAP / 2, RULE))
    return document(left + WIDE + 230, bottom + 52, title, parts)

"""Charts of what panels of raters reach, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import CallError
from .charts import TOP
from .rocs import ROW, Drawn, Stroke, legend, levels, shaded, strokes, traced
from .svg import ALARM, INK, LETTER, Axis, bottom_axis, document, figure, left_axis, line, tag, text

LEFT, WIDE, TALL = 78.0, 430.0, 320.0

Curve = tuple[ArrayLike, ArrayLike]


@dataclass(frozen=True)
class Odd(Axis):
    """Odd numbers, every second or fourth of them where there are many."""

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """1, 3, 5, …"""
        step = 2 * math.ceil((self.high - 1) / 16)
        return [(float(k), str(k)) for k in range(1, int(self.high) + 1, step)]


@dataclass(frozen=True)
class Ratios(Axis):
    """Equal ratios at equal distances, ticks where they are given."""

    marks: tuple[int, ...] = ()

    def __call__(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Those of the marks that lie on the axis."""
        return [(float(m), f"{m:,}") for m in self.marks if self.low <= m <= self.high]


def panel_chart(
    curves: Mapping[str, Curve],
    title: str,
    *,
    ylabel: str = "accuracy of the majority",
    bands: Mapping[str, Curve] | None = None,
    wanted: float | None = None,
    chosen: tuple[int, float] | None = None,
    ordered: bool = False,
) -> str:
    """What panels of 1, 2, … raters reach (Fig. 3): lines by name.

    Parameters
    ----------
    bands
        ``{name: (low, high)}`` around a line.
    wanted
        A level that is to be reached.
    chosen
        The panel that was chosen and what it reaches: a mark, with its number.
    ordered
        Whether the lines are levels of one thing, so that colours run from dark to light.
    """
    drawn = _drawn(curves, bands or {})
    most = max(float(x.max()) for x, *_ in drawn.values())
    heights = np.concatenate([v[np.isfinite(v)] for _, *rest in drawn.values() for v in rest if v is not None])
    across = Odd(1, max(most, 3), LEFT + 8, LEFT + WIDE - 8)
    up = Axis.over([*heights.tolist(), *([] if wanted is None else [wanted])], TOP + TALL, TOP)
    parts = bottom_axis(across, TOP, TOP + TALL, "raters") + left_axis(up, LEFT, LEFT + WIDE, ylabel)
    styles = dict(zip(drawn, (levels if ordered else strokes)(len(drawn)), strict=True))
    for key, one in drawn.items():
        parts += shaded(one, across, up, styles[key].colour)
    for key, one in drawn.items():
        parts += traced(key, one, across, up, styles[key]) + _dots(one, across, up, styles[key])
    if wanted is not None:
        parts += _level(up(wanted), f"wanted: {figure(wanted, 3).rstrip('0')}")
    if chosen is not None:
        who = f"{chosen[0]} rater{'s' * (chosen[0] > 1)}"
        parts += _choice(across(chosen[0]), up(chosen[1]), f"{who}: {figure(chosen[1], 3)}")
    return _with_legend(parts, styles, title)


def _drawn(curves: Mapping[str, Curve], bands: Mapping[str, Curve]) -> dict[str, Drawn]:
    if not curves:
        raise CallError("curves is empty; give one or more")
    found = {}
    for key, (x, y) in curves.items():
        edges = [np.asarray(edge, np.float64) for edge in bands[key]] if key in bands else [None, None]
        found[key] = (np.asarray(x, np.float64), np.asarray(y, np.float64), edges[0], edges[1])
    return found


def _dots(one: Drawn, across: Axis, up: Axis, stroke: Stroke) -> list[str]:
    if len(one[0]) > 40:
        return []
    places = [(x, y) for x, y in zip(one[0].tolist(), one[1].tolist(), strict=True) if math.isfinite(y)]
    return [tag("circle", cx=across(x), cy=up(y), r=3.0, fill=stroke.colour, stroke="#ffffff") for x, y in places]


def _level(y: float, words: str) -> list[str]:
    label = haloed(LEFT + WIDE - 6, y + 15, words, anchor="end", size=11.5)
    return [line(LEFT, y, LEFT + WIDE, y, INK, stroke_width=1.2), label]


def _choice(x: float, y: float, words: str) -> list[str]:
    # below the line on its right, above it on its left, where a rising curve leaves room
    right = x + 12 + len(words) * 12 * LETTER < LEFT + WIDE
    return [
        line(x, y, x, TOP + TALL, ALARM, stroke_width=1.4, stroke_dasharray="2.5 3"),
        ring(x, y, 6.0),
        haloed(
            x + 12 if right else x - 6,
            y + 24 if right or y < TOP + 24 else y - 12,
            words,
            anchor="start" if right else "end",
            bold=True,
        ),
    ]


def ring(x: float, y: float, radius: float = 4.5) -> str:
    """Where a way passes."""
    return tag("circle", cx=x, cy=y, r=radius, fill="#ffffff", stroke=ALARM, stroke_width=2.2)


def haloed(
    x: float, y: float, words: str, *, size: float = 12, fill: str = INK, anchor: str = "start", bold: bool = False
) -> str:
    """Words that stay legible on lines."""
    weight = "bold" if bold else None
    return text(
        x, y, words, size=size, fill=fill, text_anchor=anchor, font_weight=weight, stroke="#ffffff", stroke_width=3,
        paint_order="stroke",
    )  # fmt: skip


def _with_legend(parts: list[str], styles: Mapping[str, Stroke], title: str) -> str:
    if len(styles) == 1:
        return document(LEFT + WIDE + 28, TOP + TALL + 52, title, parts)
    wide, told = legend(list(styles), styles, LEFT + WIDE + 22, TOP + 8, {})
    bottom = max(TOP + TALL + 52, TOP + ROW * len(styles) + 24)
    return document(LEFT + WIDE + 22 + wide + 16, bottom, title, parts + told)


def ratio_chart(
    curves: Mapping[str, Curve],
    xlabel: str,
    ylabel: str,
    title: str,
    *,
    marks: Sequence[int] = (1, 3, 5, 9, 15, 31, 61, 121, 251, 501, 1001),
    chosen: tuple[float, float] | None = None,
    words: str = "",
) -> str:
    """Counts on a scale of equal ratios: raters needed against their accuracy (Fig. 1), in steps."""
    drawn = _drawn(curves, {})
    heights = np.concatenate([y[np.isfinite(y)] for _, y, *_ in drawn.values()] + [np.array([1.0])])
    across = Axis.over(np.concatenate([x for x, *_ in drawn.values()]).tolist(), LEFT, LEFT + WIDE)
    up = Ratios(float(heights.min()), float(heights.max()) * 1.15, TOP + TALL, TOP, marks=tuple(marks))
    parts = bottom_axis(across, TOP, TOP + TALL, xlabel) + left_axis(up, LEFT, LEFT + WIDE, ylabel)
    styles = dict(zip(drawn, strokes(len(drawn)), strict=True))
    for key, one in drawn.items():
        parts += traced(key, one, across, up, styles[key], step=True)
    if chosen is not None and up.low <= chosen[1] <= up.high:
        x, y = across(chosen[0]), up(chosen[1])
        corner = f"M{x:.2f} {TOP + TALL:.2f}V{y:.2f}H{LEFT:.2f}"
        parts.append(tag("path", d=corner, fill="none", stroke=ALARM, stroke_width=1.4, stroke_dasharray="2.5 3"))
        beside = (x + 6, y - 12) if y > TOP + 16 else (x + 12, y + 5)
        parts += [ring(x, y, 6.0), haloed(*beside, words, bold=True)]
    return _with_legend(parts, styles, title)

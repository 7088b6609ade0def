"""Panels of raters: what a majority of 1, 3, 5, … raters reaches, and nomograms, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import CallError
from . import curves as lines
from . import svg
from .curves import ROW, Curve, Drawn, LineStyle
from .svg import ALARM, BLUE, HALO, INK, LETTER, PALE_INK, TOP, Axis

LEFT, WIDE, TALL = 78.0, 430.0, 320.0
SIDE, GAP, HEAD = 300.0, 34.0, 32.0
"""The sides of the two squares, what lies between, and what above for their names."""
PALE = "#9aa5b1"


@dataclass(frozen=True)
class Odd(Axis):
    """An axis of odd numbers; every second or fourth of them where there are many."""

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """1, 3, 5, …"""
        step = 2 * math.ceil((self.high - 1) / 16)
        return [(float(k), str(k)) for k in range(1, int(self.high) + 1, step)]


@dataclass(frozen=True)
class Ratios(Axis):
    """A logarithmic axis with given ticks."""

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
    drawn = lines.as_drawn(curves, bands)
    most = max(float(x.max()) for x, *_ in drawn.values())
    heights = np.concatenate([v[np.isfinite(v)] for _, *rest in drawn.values() for v in rest if v is not None])
    across = Odd(1, max(most, 3), LEFT + 8, LEFT + WIDE - 8)
    up = Axis.over([*heights.tolist(), *([] if wanted is None else [wanted])], TOP + TALL, TOP)
    parts = svg.bottom_axis(across, TOP, TOP + TALL, "raters") + svg.left_axis(up, LEFT, LEFT + WIDE, ylabel)
    styles = dict(zip(drawn, (lines.ordered_line_styles if ordered else lines.line_styles)(len(drawn)), strict=True))
    for key, values in drawn.items():
        parts += lines.draw_band(values, across, up, styles[key].colour)
    for key, values in drawn.items():
        parts += lines.draw_line(key, values, across, up, styles[key]) + _dots(values, across, up, styles[key])
    if wanted is not None:
        words = f"wanted: {svg.format_number(wanted, 3).rstrip('0')}"
        parts.append(svg.line(LEFT, up(wanted), LEFT + WIDE, up(wanted), INK, stroke_width=1.2))
        parts.append(haloed(LEFT + WIDE - 6, up(wanted) + 15, words, anchor="end", size=11.5))
    if chosen is not None:
        who = f"{chosen[0]} rater{'s' * (chosen[0] > 1)}"
        parts += _choice(across(chosen[0]), up(chosen[1]), f"{who}: {svg.format_number(chosen[1], 3)}")
    return _with_legend(parts, styles, title)


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
    drawn = lines.as_drawn(curves)
    heights = np.concatenate([y[np.isfinite(y)] for _, y, *_ in drawn.values()] + [np.array([1.0])])
    across = Axis.over(np.concatenate([x for x, *_ in drawn.values()]).tolist(), LEFT, LEFT + WIDE)
    up = Ratios(float(heights.min()), float(heights.max()) * 1.15, TOP + TALL, TOP, marks=tuple(marks))
    parts = svg.bottom_axis(across, TOP, TOP + TALL, xlabel) + svg.left_axis(up, LEFT, LEFT + WIDE, ylabel)
    styles = dict(zip(drawn, lines.line_styles(len(drawn)), strict=True))
    for key, values in drawn.items():
        parts += lines.draw_line(key, values, across, up, styles[key], step=True)
    if chosen is not None and up.low <= chosen[1] <= up.high:
        x, y = across(chosen[0]), up(chosen[1])
        corner = f"M{x:.2f} {TOP + TALL:.2f}V{y:.2f}H{LEFT:.2f}"
        parts.append(svg.tag("path", d=corner, fill="none", stroke=ALARM, stroke_width=1.4, stroke_dasharray="2.5 3"))
        beside = (x + 6, y - 12) if y > TOP + 16 else (x + 12, y + 5)
        parts += [ring(x, y, 6.0), haloed(*beside, words, bold=True)]
    return _with_legend(parts, styles, title)


def _dots(curve: Drawn, across: Axis, up: Axis, style: LineStyle) -> list[str]:
    if len(curve[0]) > 40:
        return []
    places = [(x, y) for x, y in zip(curve[0].tolist(), curve[1].tolist(), strict=True) if math.isfinite(y)]
    return [svg.tag("circle", cx=across(x), cy=up(y), r=3.0, fill=style.colour, stroke="#ffffff") for x, y in places]


def _choice(x: float, y: float, words: str) -> list[str]:
    # below the line on its right, above it on its left, where a rising curve leaves room
    right = x + 12 + len(words) * 12 * LETTER < LEFT + WIDE
    beside, anchor = (x + 12, "start") if right else (x - 6, "end")
    label = haloed(beside, y + 24 if right or y < TOP + 24 else y - 12, words, anchor=anchor, bold=True)
    down = svg.line(x, y, x, TOP + TALL, ALARM, stroke_width=1.4, stroke_dasharray="2.5 3")
    return [down, ring(x, y, 6.0), label]


def _with_legend(parts: list[str], styles: Mapping[str, LineStyle], title: str) -> str:
    if len(styles) == 1:
        return svg.document(LEFT + WIDE + 28, TOP + TALL + 52, title, parts)
    wide, entries = lines.legend(list(styles), styles, LEFT + WIDE + 22, TOP + 8, {})
    bottom = max(TOP + TALL + 52, TOP + ROW * len(styles) + 24)
    return svg.document(LEFT + WIDE + 22 + wide + 16, bottom, title, parts + entries)


# -- nomograms ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Way:
    """A way through a nomogram: from what was measured, over the truth's accuracy, to the actual accuracy."""

    measured: float
    truth: float
    actual: float
    independent: float
    low: float
    high: float


def nomogram_chart(
    panels: Mapping[int, Curve],
    reported: Sequence[float],
    xlabel: str,
    title: str,
    *,
    raters: int,
    x: float | None = None,
    way: Way | None = None,
) -> str:
    """Two squares that share the accuracy of the truth, upwards (Figs. 4 and 9).

    Left, a line for each number of raters, from ``xlabel`` to the truth's accuracy; right, a line for each reported
    accuracy, from there to the actual one. The way of a user's own values is drawn with arrows.

    Parameters
    ----------
    panels
        ``{raters: (measured, truth accuracy)}``; that of ``raters`` stands out.
    reported
        Accuracies to draw lines for; ``x``, the user's own, stands out.
    """
    if raters not in panels:
        raise CallError(f"there is no line for {raters} raters; there are {', '.join(map(str, panels))}")
    second = LEFT + SIDE + GAP
    top, bottom = TOP + HEAD, TOP + HEAD + SIDE
    up = Axis(0.5, 1.0, bottom, top)
    across = Axis.over(np.concatenate([np.asarray(m, float) for m, _ in panels.values()]).tolist(), LEFT, LEFT + SIDE)
    actual = Axis(0.4, 1.0, second, second + SIDE)
    parts = [
        svg.text(LEFT, TOP + 8, "majority of how many raters", size=11.5, fill=PALE_INK),
        svg.text(second, TOP + 8, "accuracy reported on that truth", size=11.5, fill=PALE_INK),
        *svg.bottom_axis(across, top, bottom, xlabel),
        *svg.left_axis(up, LEFT, LEFT + SIDE, "accuracy of the truth"),
        *svg.bottom_axis(actual, top, bottom, "actual accuracy of the algorithm"),
        *(svg.line(second, up(v), second + SIDE, up(v)) for v, _ in up.ticks),
    ]
    for count, curve in panels.items():
        parts += _panel(curve, across, up, str(count), bold=count == raters)
    # a line beside the user's own would only hide its name
    for value in sorted(([] if x is None else [x]) + [r for r in reported if x is None or abs(r - x) > 0.045]):
        parts += _report(value, actual, up, bold=value == x)
    if way is not None:
        parts += _way(way, across, actual, up)
    return svg.document(second + SIDE + 56, bottom + 92, title, parts)


def _panel(curve: Curve, across: Axis, up: Axis, words: str, bold: bool) -> list[str]:
    x, y = (np.asarray(values, np.float64) for values in curve)
    parts = lines.draw_line(f"{words} raters", (x, y, None, None), across, up, _stroke(bold))
    # names stand on a diagonal, where the lines lie apart
    at = int(np.abs((x - across.low) / (across.high - across.low) - (1 - (y - 0.5) / 0.5)).argmin())
    fill = BLUE if bold else PALE_INK
    return [*parts, haloed(across(x[at]), up(y[at]) + 4, words, size=11, fill=fill, anchor="middle", bold=bold)]


def _stroke(bold: bool) -> LineStyle:
    return LineStyle(BLUE, None, 2.6) if bold else LineStyle(PALE, None, 1.2)


def _report(value: float, actual: Axis, up: Axis, bold: bool) -> list[str]:
    """The line x g; that of the user beside x g + (1 − x) (1 − g), dashed."""
    g = np.linspace(0.5, 1, 51)
    shown = value * g >= actual.low
    parts = lines.draw_line(f"{value:g}", ((value * g)[shown], g[shown], None, None), actual, up, _stroke(bold))
    if bold:
        other = value * g + (1 - value) * (1 - g)
        parts += lines.draw_line("independent errors", (other, g, None, None), actual, up, LineStyle(BLUE, "6 4", 1.6))
    fill = BLUE if bold else PALE_INK
    return [
        *parts,
        haloed(actual(value) + 2, up(1.0) - 5, f"{value:g}", size=11, fill=fill, anchor="middle", bold=bold),
    ]


def _way(way: Way, across: Axis, actual: Axis, up: Axis) -> list[str]:
    start, y, bottom = across(way.measured), up(way.truth), up(0.5)
    known, between = math.isfinite(way.actual), actual.start - GAP / 2
    end = actual(way.actual) if known else between
    # above the line, unless that is the top
    beside = y - 7 if way.truth < 0.97 else y + 16
    route = f"M{start:.2f} {bottom:.2f}V{y:.2f}H{end:.2f}" + (f"V{bottom - 3:.2f}" if known else "")
    return [
        svg.tag("path", d=route, fill="none", stroke=ALARM, stroke_width=2.0),
        *_arrow(start, (y + bottom) / 2, up=True),
        ring(start, y),
        haloed(start, bottom + 52, svg.format_number(way.measured, 3), fill=ALARM, anchor="middle", bold=True),
        haloed(between, beside, svg.format_number(way.truth, 3), fill=ALARM, anchor="middle", bold=True),
        *(_result(way, actual, end, y, bottom) if known else []),
    ]


def _result(way: Way, actual: Axis, end: float, y: float, bottom: float) -> list[str]:
    """The number where the way ends, and below it what else is possible."""
    low, high, other = (actual(max(value, actual.low)) for value in (way.low, way.high, way.independent))
    ends = f"M{low:.2f} {bottom + 62:.2f}v8m0 -4H{high:.2f}m0 -4v8"
    low_text, high_text, other_text = (svg.format_number(value, 3) for value in (way.low, way.high, way.independent))
    words = f"from {low_text} to {high_text}; with independent errors {other_text}"
    return [
        *_arrow(end, bottom, up=False),
        ring(end, y),
        haloed(end, bottom + 52, svg.format_number(way.actual, 3), fill=ALARM, anchor="middle", bold=True),
        svg.tag("path", d=ends, fill="none", stroke=ALARM, stroke_width=1.5),
        svg.tag("circle", cx=other, cy=bottom + 66, r=3.2, fill=ALARM),
        svg.text((actual.start + actual.end) / 2, bottom + 84, words, size=11, fill=INK, text_anchor="middle"),
    ]


def _arrow(x: float, y: float, *, up: bool) -> list[str]:
    way = -1 if up else 1
    return [
        svg.tag("path", d=f"M{x - 5:.2f} {y - 9 * way:.2f}L{x:.2f} {y:.2f}L{x + 5:.2f} {y - 9 * way:.2f}Z", fill=ALARM)
    ]


# -- marks --------------------------------------------------------------------------------------------


def ring(x: float, y: float, radius: float = 4.5) -> str:
    """The mark of a point on the way."""
    return svg.tag("circle", cx=x, cy=y, r=radius, fill="#ffffff", stroke=ALARM, stroke_width=2.2)


def haloed(
    x: float, y: float, words: str, *, size: float = 12, fill: str = INK, anchor: str = "start", bold: bool = False
) -> str:
    """Words that can be read on lines."""
    weight = "bold" if bold else None
    return svg.text(x, y, words, size=size, fill=fill, text_anchor=anchor, font_weight=weight, **HALO)

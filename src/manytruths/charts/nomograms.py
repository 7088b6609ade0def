"""Nomograms, with the way of somebody's own numbers drawn through them, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ..core.errors import CallError
from .charts import TOP
from .panel_charts import LEFT, Curve, haloed, ring
from .rocs import Stroke, traced
from .svg import ALARM, BLUE, INK, PALE_INK, Axis, bottom_axis, document, figure, left_axis, line, tag, text

SIDE, GAP, HEAD = 300.0, 34.0, 32.0
"""The sides of the two squares, what lies between, and what above for their names."""
PALE = "#9aa5b1"


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
        text(LEFT, TOP + 8, "majority of how many raters", size=11.5, fill=PALE_INK),
        text(second, TOP + 8, "accuracy reported on that truth", size=11.5, fill=PALE_INK),
        *bottom_axis(across, top, bottom, xlabel),
        *left_axis(up, LEFT, LEFT + SIDE, "accuracy of the truth"),
        *bottom_axis(actual, top, bottom, "actual accuracy of the algorithm"),
        *(line(second, up(v), second + SIDE, up(v)) for v, _ in up.ticks),
    ]
    for count, curve in panels.items():
        parts += _panel(curve, across, up, str(count), bold=count == raters)
    # a line beside the user's own would only hide its name
    for value in sorted(([] if x is None else [x]) + [r for r in reported if x is None or abs(r - x) > 0.045]):
        parts += _report(value, actual, up, bold=value == x)
    if way is not None:
        parts += _way(way, across, actual, up)
    return document(second + SIDE + 56, bottom + 92, title, parts)


def _panel(curve: Curve, across: Axis, up: Axis, words: str, bold: bool) -> list[str]:
    x, y = (np.asarray(values, np.float64) for values in curve)
    parts = traced(f"{words} raters", (x, y, None, None), across, up, _stroke(bold))
    # names stand on a diagonal, where the lines lie apart
    at = int(np.abs((x - across.low) / (across.high - across.low) - (1 - (y - 0.5) / 0.5)).argmin())
    fill = BLUE if bold else PALE_INK
    return [*parts, haloed(across(x[at]), up(y[at]) + 4, words, size=11, fill=fill, anchor="middle", bold=bold)]


def _stroke(bold: bool) -> Stroke:
    return Stroke(BLUE, None, 2.6) if bold else Stroke(PALE, None, 1.2)


def _report(value: float, actual: Axis, up: Axis, bold: bool) -> list[str]:
    """The line x g; that of the user beside x g + (1 − x) (1 − g), dashed."""
    g = np.linspace(0.5, 1, 51)
    seen = value * g >= actual.low
    parts = traced(f"{value:g}", ((value * g)[seen], g[seen], None, None), actual, up, _stroke(bold))
    if bold:
        other = value * g + (1 - value) * (1 - g)
        parts += traced("independent errors", (other, g, None, None), actual, up, Stroke(BLUE, "6 4", 1.6))
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
        tag("path", d=route, fill="none", stroke=ALARM, stroke_width=2.0),
        *_arrow(start, (y + bottom) / 2, up=True),
        ring(start, y),
        haloed(start, bottom + 52, figure(way.measured, 3), fill=ALARM, anchor="middle", bold=True),
        haloed(between, beside, figure(way.truth, 3), fill=ALARM, anchor="middle", bold=True),
        *(_result(way, actual, end, y, bottom) if known else []),
    ]


def _result(way: Way, actual: Axis, end: float, y: float, bottom: float) -> list[str]:
    """The number where the way ends, and below it what else is possible."""
    low, high, other = (actual(max(value, actual.low)) for value in (way.low, way.high, way.independent))
    ends = f"M{low:.2f} {bottom + 62:.2f}v8m0 -4H{high:.2f}m0 -4v8"
    told = f"from {figure(way.low, 3)} to {figure(way.high, 3)}; with independent errors {figure(way.independent, 3)}"
    return [
        *_arrow(end, bottom, up=False),
        ring(end, y),
        haloed(end, bottom + 52, figure(way.actual, 3), fill=ALARM, anchor="middle", bold=True),
        tag("path", d=ends, fill="none", stroke=ALARM, stroke_width=1.5),
        tag("circle", cx=other, cy=bottom + 66, r=3.2, fill=ALARM),
        text((actual.start + actual.end) / 2, bottom + 84, told, size=11, fill=INK, text_anchor="middle"),
    ]


def _arrow(x: float, y: float, *, up: bool) -> list[str]:
    way = -1 if up else 1
    return [tag("path", d=f"M{x - 5:.2f} {y - 9 * way:.2f}L{x:.2f} {y:.2f}L{x + 5:.2f} {y - 9 * way:.2f}Z", fill=ALARM)]

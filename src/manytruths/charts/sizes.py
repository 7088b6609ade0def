"""Sizes by rater: Bland–Altman plots, dot strips, and slope charts, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import CallError
from . import svg
from .colours import PAPER_COLOURS
from .svg import BLUE, INK, PALE_INK, TOP, WIDE, Axis

LEFT, HIGH = 84.0, 320.0
BANDS = ("#c04a00", "#0072b2", "#c04a00")
"""Colours of lower limit, bias and upper limit."""
STRIP = 44.0
WORDS = 108.0
"""Width of the words beside the limits."""
Ends = tuple[float, float, float]
"""A value and the ends of its interval; nan where they are not known."""


class LogAxis(Axis):
    """An axis of values above 0, in equal steps of ratios."""

    def __call__(self, value: float) -> float:
        return super().__call__(math.log10(value))

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """1, 2 and 5 times powers of ten, or finer where the values span less than a factor of two or so."""
        low, high = 10**self.low, 10**self.high
        if high / low < 4:
            plain = Axis(low, high, self.start, self.end)
            return [(value, words) for value, words in plain.ticks if low <= value <= high]
        powers = range(math.floor(self.low), math.ceil(self.high) + 1)
        spread = self.high - self.low
        factors = (1, 1.5, 2, 3, 5, 7) if spread < 1.1 else (1, 2, 5) if spread < 3 else (1,)
        values = [factor * 10.0**power for power in powers for factor in factors]
        return [(v, f"{v:,.12g}") for v in values if self.low - 1e-9 <= math.log10(v) <= self.high + 1e-9]


def _axis(values: Sequence[float], start: float, end: float, log: bool) -> Axis:
    if not log:
        return Axis.over(values, start, end)
    finite = [math.log10(v) for v in values if math.isfinite(v) and v > 0] or [0.0, 1.0]
    low, high = min(finite), max(finite)
    room = max(0.04 * (high - low), 0.02)
    return LogAxis(low - room, high + room, start, end)


def bland_altman_chart(
    means: ArrayLike,
    differences: ArrayLike,
    *,
    lower: Ends,
    upper: Ends,
    xlabel: str,
    ylabel: str,
    title: str,
    bias: Ends | None = None,
    log: bool = False,
    names: Sequence[str] | None = None,
    groups: Sequence[str] | None = None,
    colours: Mapping[str, str] | None = None,
) -> str:
    """Differences against means, with bias and limits of agreement as lines and their intervals as bands.

    Parameters
    ----------
    means, differences
        One point for each pair of sizes; ratios instead of differences with ``log``, which draws both axes in steps of
        ratios.
    lower, upper, bias
        A value and the ends of its interval each.
    names
        What shows under the pointer at each point.
    groups
        The rater of each point, for colours and a legend.
    colours
        ``#rrggbb`` of raters; those that are not named have colours for paper.
    """
    x, y = (np.asarray(values, np.float64) for values in (means, differences))
    if x.shape != y.shape or x.ndim != 1:
        raise CallError(f"means have shape {x.shape} and differences {y.shape}; one of each for a point")
    for label, given in (("names", names), ("groups", groups)):
        if given is not None and len(given) != len(x):
            raise CallError(f"{label} has {len(given)} entries for {len(x)} points; give one for each")
    kinds = list(dict.fromkeys(groups or ()))
    paints = {kind: PAPER_COLOURS[i % len(PAPER_COLOURS)] for i, kind in enumerate(kinds)}
    paints |= {kind: colours[kind] for kind in kinds if colours is not None and kind in colours}
    keys, legend = svg.legend_rows(
        [(svg.shorten(kind), paint) for kind, paint in paints.items()], LEFT, TOP + 8, WIDE, fill_opacity=0.75
    )
    top = TOP + 22.0 * keys
    lines = [(lower, BANDS[0], "lower limit"), (upper, BANDS[2], "upper limit")]
    lines += [(bias, BANDS[1], "ratio" if log else "bias")] if bias is not None else []
    middle = 1.0 if log else 0.0
    shown = [*y.tolist(), middle, *(v for ends, _, _ in lines for v in ends)]
    across, up = _axis(x.tolist(), LEFT, LEFT + WIDE, log), _axis(shown, top + HIGH, top, log)
    parts = [*legend, *svg.bottom_axis(across, top, top + HIGH, xlabel)]
    parts += svg.left_axis(up, LEFT, LEFT + WIDE, ylabel)
    parts.append(svg.line(LEFT, up(middle), LEFT + WIDE, up(middle), "#9a9aa2", stroke_width=1))
    for ends, paint, words in lines:
        parts += _band(ends, paint, words, up)
    parts += _line_words(lines, up, log, top)
    many: dict[str, list[tuple[float, float]]] = {}
    for i, (a, b) in enumerate(zip(x.tolist(), y.tolist(), strict=True)):
        if not (math.isfinite(a) and math.isfinite(b)):
            continue
        paint = paints[groups[i]] if groups is not None else INK
        if len(x) > svg.MANY_DOTS:
            many.setdefault(paint, []).append((across(a), up(b)))
            continue
        own = [svg.tooltip(names[i])] if names is not None else []
        style = {"r": 3.6, "fill": paint, "fill_opacity": 0.6, "stroke": "#ffffff", "stroke_width": 0.6}
        parts.append(svg.tag("circle", *own, cx=across(a), cy=up(b), **style))
    parts += [svg.dots(places, 3.6, paint, 0.6) for paint, places in many.items()]
    return svg.document(LEFT + WIDE + WORDS + 16, top + HIGH + 52, title, parts)


def _band(ends: Ends, paint: str, words: str, up: Axis) -> list[str]:
    value, low, high = ends
    parts = []
    if math.isfinite(low) and math.isfinite(high):
        bottom, roof = up(low), up(high)
        hover = svg.tooltip(f"{words}: {_short(value)}, interval {_short(low)} to {_short(high)}")
        size = {"width": WIDE, "height": max(bottom - roof, 0.5), "fill_opacity": 0.13}
        parts.append(svg.tag("rect", hover, x=LEFT, y=roof, fill=paint, **size))
    if math.isfinite(value):
        parts.append(svg.line(LEFT, up(value), LEFT + WIDE, up(value), paint, stroke_width=1.6, stroke_dasharray="7 4"))
    return parts


def _line_words(lines: Sequence[tuple[Ends, str, str]], up: Axis, log: bool, top: float) -> list[str]:
    """Names and values of the lines at the right, moved apart where they would overlap."""
    entries = sorted((up(ends[0]), words, ends[0], paint) for ends, paint, words in lines if math.isfinite(ends[0]))
    parts, below = [], top - 20.0
    for y, words, value, paint in entries:
        below = max(y, below + 30)
        parts.append(svg.text(LEFT + WIDE + 8, below - 2, words, size=11, fill=paint))
        sign = "× " if log else ""
        parts.append(svg.text(LEFT + WIDE + 8, below + 11, f"{sign}{_short(value)}", size=11))
    return parts


def _short(value: float) -> str:
    return (f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}").replace("-", "−")


def size_strips(
    sizes: Mapping[str, Sequence[float]],
    xlabel: str,
    title: str,
    *,
    log: bool = False,
    names: Sequence[str] | None = None,
) -> str:
    """A point for each size, a row for each rater, a bar at the median.

    With ``log`` the axis is in steps of ratios; sizes of 0 are then counted at the right, as are missing ones.
    """
    if not sizes:
        raise CallError("sizes is empty; give one list of sizes or more")
    left, bottom = 28 + svg.names_width(sizes), TOP + STRIP * len(sizes)
    everything = [float(v) for values in sizes.values() for v in values]
    axis = _axis(everything if log else [0.0, *everything], left, left + WIDE, log)
    parts = svg.bottom_axis(axis, TOP, bottom, xlabel)
    for row, (rater, values) in enumerate(sizes.items()):
        y = TOP + STRIP * (row + 0.5)
        parts.append(svg.name(left - 12, y + 4, rater, text_anchor="end"))
        parts += _strip(rater, [float(v) for v in values], axis, y, log, names)
        drawn = [v for v in values if math.isfinite(v) and (v > 0 or not log)]
        zero = sum(v == 0 for v in values) if log else 0
        missing = sum(math.isnan(v) for v in values)
        words = [f"n = {len(drawn)}"]
        words += [f"{count} {what}" for count, what in ((zero, "of size 0"), (missing, "missing")) if count]
        median = _short(float(np.median(drawn))) if drawn else "–"
        parts.append(svg.text(left + WIDE + 10, y - 2, f"median {median}", size=11))
        parts.append(svg.text(left + WIDE + 10, y + 12, ", ".join(words), size=11, fill=PALE_INK))
    return svg.document(left + WIDE + 172, bottom + 52, title, parts)


def _strip(
    rater: str, values: Sequence[float], axis: Axis, y: float, log: bool, names: Sequence[str] | None
) -> list[str]:
    drawn = [(v, i) for i, v in enumerate(values) if math.isfinite(v) and (v > 0 or not log)]
    # neighbours go up and down in turn, so that equal values do not hide each other
    lifts, many = (-10, 4, -3, 10, 0), len(drawn) > svg.MANY_DOTS
    places = [(axis(v), y + lifts[place % 5]) for place, (v, _) in enumerate(sorted(drawn))]
    parts = [svg.dots(places, 3.6, BLUE, 0.6)] if many else []
    for place, (v, i) in enumerate([] if many else sorted(drawn)):
        hover = svg.tooltip(f"{rater}{f', {names[i]}' if names is not None else ''}: {_short(v)}")
        style = {"r": 3.6, "fill": BLUE, "fill_opacity": 0.6, "stroke": "#ffffff", "stroke_width": 0.6}
        parts.append(svg.tag("circle", hover, cx=axis(v), cy=places[place][1], **style))
    if drawn:
        middle = axis(float(np.median([v for v, _ in drawn])))
        parts.append(svg.line(middle, y - 17, middle, y + 17, INK, stroke_width=2.5))
    return parts


def slope_chart(
    cases: Mapping[str, Sequence[float]], raters: Sequence[str], ylabel: str, title: str, *, log: bool = False
) -> str:
    """A line for each case over the raters: level where they agree, crossing where they order cases differently.

    Gaps, and sizes of 0 with ``log``, interrupt a line.
    """
    if not cases or len(raters) < 2:
        raise CallError("a slope chart needs one case or more and two raters or more")
    if any(len(values) != len(raters) for values in cases.values()):
        raise CallError(f"every case needs {len(raters)} sizes, one for each rater; nan where one is missing")
    everything = [float(v) for values in cases.values() for v in values]
    up = _axis(everything if log else [0.0, *everything], TOP + HIGH, TOP + 8, log)
    step = WIDE / (len(raters) - 1)
    places = [LEFT + 12 + step * j for j in range(len(raters))]
    parts = svg.left_axis(up, LEFT, places[-1] + 12, ylabel)
    parts += [svg.line(x, TOP + 8, x, TOP + HIGH, "#9a9aa2", stroke_width=1) for x in places]
    longest = max(4, int(step / (12 * svg.LETTER)))
    for x, rater in zip(places, raters, strict=True):
        parts.append(svg.name(x, TOP + HIGH + 18, rater, longest=min(longest, 14), text_anchor="middle"))
    faint = float(np.clip(24 / len(cases), 0.18, 0.75))
    for case, values in cases.items():
        sizes = ", ".join(f"{r} {_short(v)}" for r, v in zip(raters, values, strict=True) if math.isfinite(v))
        parts += _slope(f"{case}: {sizes}", values, places, up, log, faint)
    return svg.document(places[-1] + 40, TOP + HIGH + 40, title, parts)


def _slope(
    words: str, values: Sequence[float], places: Sequence[float], up: Axis, log: bool, faint: float
) -> list[str]:
    hover, parts, run = svg.tooltip(words), [], list[str]()
    for x, v in [*zip(places, values, strict=True), (0.0, math.nan)]:
        if math.isfinite(v) and (v > 0 or not log):
            run.append(f"{x:.2f},{up(v):.2f}")
            parts.append(svg.tag("circle", cx=x, cy=up(v), r=2.4, fill=BLUE, fill_opacity=min(1.0, faint + 0.2)))
            continue
        if len(run) > 1:
            style = {"stroke": BLUE, "stroke_width": 1.4, "stroke_opacity": faint, "stroke_linejoin": "round"}
            parts.append(svg.tag("polyline", hover, points=" ".join(run), fill="none", **style))
        run = []
    return parts

"""Numbers over the days of a study, as SVG: a line with intervals, and a small panel for each rater."""

from __future__ import annotations

import datetime
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from . import svg
from .sizes import LogAxis
from .svg import ALARM, BLUE, HALO, INK, LETTER, PALE_INK, RULE, TOP, WIDE, Axis

LEFT, HIGH = 78.0, 250.0
PANEL_WIDE, PANEL_HIGH, PANEL_HEAD, PANEL_FOOT, PANEL_GAP = 182.0, 104.0, 24.0, 22.0, 36.0
PANELS_ACROSS, PANEL_LEFT = 3, 62.0
EDGE = 0.03
"""Room at both ends of the days, as a share of them."""
TICKS_DAYS = (1, 2, 7, 14)
FACTORS = (1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 100.0, 1e3, 1e4, 1e6)
TICKS_MONTHS = (1, 2, 3, 6, 12)
MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
"""As English writes them, whatever the language of the machine."""
Values = NDArray[np.float64]


@dataclass(frozen=True)
class DayAxis(Axis):
    """Days, counted as :meth:`datetime.date.toordinal` counts them."""

    most: int = 6
    """Largest number of ticks."""

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Days, Mondays or first days of a month, as many as there is room for."""
        first, last = math.ceil(self.low), math.floor(self.high)
        for step in TICKS_DAYS:
            # the day 1 of the calendar was a Monday
            days = [day for day in range(first, last + 1) if (day - 1) % step == 0]
            if 0 < len(days) <= self.most:
                return [(float(day), _day_words(day)) for day in days]
        months = _month_starts(first, last)
        for step in TICKS_MONTHS:
            starts = [day for day in months if (day.month - 1) % step == 0]
            if 0 < len(starts) <= self.most:
                return [
                    (float(day.toordinal()), f"{day:%b %Y}" if step > 1 else f"{day.day} {day:%b}") for day in starts
                ]
        years = [day for day in months if day.month == 1]
        every = max(1, math.ceil(len(years) / self.most))
        return [(float(day.toordinal()), str(day.year)) for day in years if day.year % every == 0]


def _day_words(day: float) -> str:
    date = datetime.date.fromordinal(int(day))
    return f"{date.day} {_month(date)}"


def _month(date: datetime.date) -> str:
    return MONTHS[date.month - 1]


def _month_starts(first: int, last: int) -> list[datetime.date]:
    begin, end = datetime.date.fromordinal(first), datetime.date.fromordinal(last)
    months = range(12 * begin.year + begin.month - 1, 12 * end.year + end.month)
    starts = [datetime.date(month // 12, month % 12 + 1, 1) for month in months]
    return [day for day in starts if begin <= day <= end]


def _across(times: Sequence[float], start: float, end: float, dated: bool, most: int) -> Axis:
    """The axis of days, or of the number of cases."""
    if not dated:
        return Axis.over([0.0, *times], start, end, 1.0)
    low, high = min(times), max(times)
    room = max(EDGE * (high - low), 0.5)
    return DayAxis(low - room, high + room, start, end, 0.0, most)


def time_chart(
    times: ArrayLike,
    values: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    ylabel: str,
    title: str,
    dated: bool = True,
    xlabel: str = "",
    wanted: float | None = None,
) -> str:
    """A number as it stood over time, with its interval as a band.

    Parameters
    ----------
    times : array-like
        Days (:meth:`datetime.date.toordinal`) or, where ``dated`` is false, how many cases there were.
    values, low, high : array-like
        The number and the ends of its interval at each time; nan where they are not known.
    ylabel : str
        What the number is.
    title : str
        Above the chart.
    dated : bool
        Whether times are days.
    xlabel : str
        What times are.
    wanted : float, optional
        The half width that the interval shall have: drawn as a bracket around the last value.

    Returns
    -------
    str
        The chart as SVG.

    Examples
    --------
    >>> from manytruths.charts import time_chart
    >>> chart = time_chart([5, 10], [0.8, 0.82], [0.7, 0.76], [0.9, 0.88], ylabel="Dice", title="So far", dated=False)
    >>> "Dice" in chart
    True
    """
    xs, ys, lows, highs = (np.atleast_1d(np.asarray(each, np.float64)) for each in (times, values, low, high))
    if not len(xs) or xs.ndim != 1 or any(each.shape != xs.shape for each in (ys, lows, highs)):
        raise CallError(f"times have shape {xs.shape} and values {ys.shape}; one value and interval for each time")
    bottom = TOP + HIGH
    across = _across(xs.tolist(), LEFT, LEFT + WIDE, dated, 7)
    last = next((float(y) for y in ys[::-1] if np.isfinite(y)), math.nan)
    ends = [last - wanted, last + wanted] if wanted is not None and math.isfinite(last) else []
    up = Axis.over([*np.concatenate([ys, lows, highs]).tolist(), *ends], bottom, TOP)
    parts = svg.bottom_axis(across, TOP, bottom, xlabel) + svg.left_axis(up, LEFT, LEFT + WIDE, ylabel)
    for run in _stretches(np.isfinite(ys) & np.isfinite(lows) & np.isfinite(highs)):
        there = [f"{across(xs[i]):.2f},{up(lows[i]):.2f}" for i in run]
        back = [f"{across(xs[i]):.2f},{up(highs[i]):.2f}" for i in run[::-1]]
        parts.append(svg.tag("polygon", points=" ".join(there + back), fill=BLUE, fill_opacity=0.16))
    for run in _stretches(np.isfinite(ys)):
        points = " ".join(f"{across(xs[i]):.2f},{up(ys[i]):.2f}" for i in run)
        parts.append(svg.tag("polyline", points=points, fill="none", stroke=BLUE, stroke_width=2.2))
    for x, y, least, most in zip(xs.tolist(), ys.tolist(), lows.tolist(), highs.tolist(), strict=True):
        if not math.isfinite(y):
            continue
        interval = math.isfinite(least) and math.isfinite(most)
        if interval:
            parts.append(svg.line(across(x), up(least), across(x), up(most), BLUE, stroke_width=1.2))
        when = _day_words(x) if dated else f"{x:g} cases"
        numbers = f"{y:.3f} ({least:.3f} to {most:.3f})" if interval else f"{y:.3f}"
        dot = {"cx": across(x), "cy": up(y), "r": 3.6, "fill": BLUE, "stroke": "#ffffff"}
        parts.append(svg.tag("circle", svg.tooltip(f"{when}: {numbers}"), **dot))
    if ends:
        x = LEFT + WIDE + 12
        bracket = f"M{x - 4:.2f} {up(ends[0]):.2f}h8M{x:.2f} {up(ends[0]):.2f}V{up(ends[1]):.2f}m-4 0h8"
        parts.append(svg.tag("path", svg.tooltip(f"wanted: ± {wanted:g}"), d=bracket, fill="none", stroke=INK))
        parts.append(svg.text(x + 8, up(last) + 4, "wanted", size=11, fill=PALE_INK))
    return svg.document(LEFT + WIDE + (70 if ends else 28), bottom + 52, title, parts)


def _stretches(good: NDArray[np.bool_]) -> list[list[int]]:
    """Stretches without a gap."""
    where = np.flatnonzero(good)
    runs = np.split(where, np.flatnonzero(np.diff(where) > 1) + 1)
    return [run.tolist() for run in runs if len(run)]


@dataclass(frozen=True)
class TimeSeries:
    """What a rater's readings were over time.

    Attributes
    ----------
    times : tuple of float
        Days, or the number of the reading.
    values : tuple of float
        One number for each reading; nan where it is not known.
    since : float or None
        A time to mark by a line.
    words : str
        What stands beside the line.
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    since: float | None = None
    words: str = ""


MOST_PANELS = 24
PALE_BLUE = "#56b4e9"
MANY_DOTS = 100
MANY_VALUES = 20
"""From so many values on, the axis leaves out those that lie far from all others."""
SMOOTH = 0.3
"""Share of a rater's readings that are averaged for a point of the line."""


def rater_panels(
    series: Mapping[str, TimeSeries],
    *,
    ylabel: str,
    title: str,
    dated: bool = True,
    xlabel: str = "",
    middle: float | None = None,
    ratio: bool = False,
) -> str:
    """A small panel for each rater over the same axes: a dot for each reading, and their running median as a line.

    Parameters
    ----------
    series : mapping of str to TimeSeries
        The readings of each rater. Of more than 24 raters the first 24 are drawn.
    ylabel : str
        What the numbers are.
    title : str
        Above the chart.
    dated : bool
        Whether times are days.
    xlabel : str
        What times are.
    middle : float, optional
        A value to draw a line at, such as 1 for ratios.
    ratio : bool
        Whether values are ratios, so that 2 is as far from 1 as 0.5.

    Returns
    -------
    str
        The chart as SVG.

    Examples
    --------
    >>> from manytruths.charts import TimeSeries, rater_panels
    >>> drawn = {"anna": TimeSeries((1, 2), (0.9, 1.1)), "ben": TimeSeries((1, 2), (1.4, 1.6), since=2, words="later")}
    >>> chart = rater_panels(drawn, ylabel="size ratio", title="Sizes", dated=False, ratio=True)
    >>> "anna" in chart and "ben" in chart
    True
    """
    if not series:
        raise CallError("series is empty; give the readings of one rater or more")
    for rater, one in series.items():
        if len(one.times) != len(one.values):
            raise CallError(f"{rater} has {len(one.times)} times and {len(one.values)} values; they go in pairs")
    left_out, shown = max(0, len(series) - MOST_PANELS), dict(list(series.items())[:MOST_PANELS])
    low, high = _limits([v for one in shown.values() for v in one.values], middle, ratio)
    times = [t for one in shown.values() for t in one.times] or [0.0]
    columns = min(PANELS_ACROSS, len(shown))
    parts = [svg.text(16, TOP + 6, ylabel, size=11.5, fill=PALE_INK)]
    step = PANEL_HEAD + PANEL_HIGH + PANEL_FOOT
    for number, (rater, one) in enumerate(shown.items()):
        left = PANEL_LEFT + (PANEL_WIDE + PANEL_GAP) * (number % columns)
        top = TOP + 12 + step * (number // columns) + PANEL_HEAD
        across = _across(times, left, left + PANEL_WIDE, dated, 4)
        up = RatioAxis(low, high, top + PANEL_HIGH, top) if ratio else Axis.over([low, high], top + PANEL_HIGH, top)
        parts += _panel(rater, one, across, up, middle, named=number % columns == 0, ratio=ratio)
    bottom = TOP + 12 + step * -(-len(shown) // columns)
    beyond = any(_beyond(v, up, ratio) for one in shown.values() for v in one.values)
    remarks = [xlabel, "triangles lie beyond the axis" * beyond]
    remarks.append(f"{left_out} more raters are not drawn" * bool(left_out))
    words = "; ".join(filter(None, remarks))
    parts.append(svg.text(PANEL_LEFT, bottom + 14, words, size=11.5, fill=PALE_INK))
    wide = PANEL_LEFT + (PANEL_WIDE + PANEL_GAP) * columns
    return svg.document(max(wide, PANEL_LEFT + len(words) * 11.5 * LETTER + 16), bottom + 28, title, parts)


def _limits(values: Sequence[float], middle: float | None, ratio: bool) -> tuple[float, float]:
    """Ends of the axis (of ratios, in powers of ten): a few broken masks do not make all others a line."""
    known = np.array([v for v in values if math.isfinite(v) and (v > 0 or not ratio)], np.float64)
    known = np.log10(known) if ratio else known
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 0.0 if ratio else 1.0)
    if len(known) >= MANY_VALUES:
        first, last = (float(each) for each in np.percentile(known, (5, 95)))
        low, high = max(low, first - (last - first)), min(high, last + (last - first))
    if ratio:
        reach = 1.06 * max(-low, high, math.log10(FACTORS[0]))
        return -reach, reach
    return (low, high) if middle is None else (min(low, middle), max(high, middle))


def _beyond(value: float, up: Axis, ratio: bool) -> bool:
    if not math.isfinite(value) or (ratio and value <= 0):
        return False
    place = math.log10(value) if ratio else value
    return not up.low <= place <= up.high


class RatioAxis(LogAxis):
    """Ratios around 1: a tick there, one above and its inverse below."""

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Such as 0.67, 1 and 1.5."""
        factor = max(f for f in FACTORS if math.log10(f) <= self.high)
        return [(value, f"{value:.3g}") for value in (1 / factor, 1.0, factor)]


def _panel(
    rater: str, one: TimeSeries, across: Axis, up: Axis, middle: float | None, *, named: bool, ratio: bool
) -> list[str]:  # fmt: skip
    left, right, top, bottom = across.start, across.end, up.end, up.start
    parts = [svg.name(left, top - 8, rater, longest=26, font_weight="bold")]
    for value, words in _thinned(up.ticks):
        parts.append(svg.line(left, up(value), right, up(value)))
        if named:
            parts.append(svg.text(left - 8, up(value) + 4, words, size=10.5, fill=PALE_INK, text_anchor="end"))
    for time, words in _thinned(across.ticks):
        parts.append(svg.text(across(time), bottom + 14, words, size=10, fill=PALE_INK, text_anchor="middle"))
    parts.append(svg.line(left, bottom, right, bottom, RULE))
    if middle is not None:
        parts.append(svg.line(left, up(middle), right, up(middle), PALE_INK, stroke_dasharray="4 3"))
    good = [(t, v) for t, v in zip(one.times, one.values, strict=True) if math.isfinite(v) and (v > 0 or not ratio)]
    good.sort()
    inside = [(across(t), up(v)) for t, v in good if not _beyond(v, up, ratio)]
    parts.append(svg.dots(inside, 2.0, PALE_BLUE, 0.8 if len(inside) < MANY_DOTS else 0.5) if inside else "")
    for t, v in good:
        if _beyond(v, up, ratio):
            edge, way = (top, -1) if up(v) < top else (bottom, 1)
            route = f"M{across(t) - 3.5:.1f} {edge - 5 * way:.1f}h7l-3.5 {5 * way}z"
            parts.append(svg.tag("path", svg.tooltip(f"{v:.3g}"), d=route, fill=PALE_BLUE))
    if len(good) >= 5:
        line = [(t, min(max(up(v), top), bottom)) for t, v in running_median(good)]
        points = " ".join(f"{across(t):.1f},{y:.1f}" for t, y in line)
        style = {"fill": "none", "stroke_width": 2.2, "stroke_linejoin": "round"}
        parts.append(svg.tag("polyline", svg.tooltip(f"{rater}: running median"), points=points, stroke=INK, **style))
    if not good:
        parts.append(svg.text((left + right) / 2, (top + bottom) / 2 + 4, "nothing to compare yet", size=11,
                              fill=PALE_INK, text_anchor="middle"))  # fmt: skip
    if one.since is not None:
        x = across(one.since)
        parts.append(svg.line(x, top, x, bottom, ALARM, stroke_width=1.8))
        late = x > (left + right) / 2
        anchor, at = ("end", x - 4) if late else ("start", x + 4)
        parts.append(svg.text(at, top + 10, one.words, size=10.5, fill=ALARM, text_anchor=anchor, **HALO))
    return parts


def _thinned(ticks: Sequence[tuple[float, str]], most: int = 5) -> Sequence[tuple[float, str]]:
    """Every second tick where there are too many for a small panel, and so on."""
    return ticks[:: max(1, -(-len(ticks) // most))]


def running_median(readings: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """The median of a window of readings that moves along, at the middle of their times.

    >>> running_median([(1, 1), (2, 1), (3, 1), (4, 3), (5, 3), (6, 3)])[-1]
    (5.0, 3.0)
    """
    wide = max(3, round(SMOOTH * len(readings)))
    starts = range(len(readings) - wide + 1)
    windows = [np.asarray(readings[start : start + wide], np.float64) for start in starts]
    medians = [(float(np.median(w[:, 0])), float(np.median(w[:, 1]))) for w in windows]
    return [medians[0], *(b for a, b in pairwise(medians) if b != a)]

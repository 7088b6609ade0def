"""Charts with a row for each group: bars, strips of points, and values with intervals, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from ..core.errors import CallError
from . import svg
from .colours import PAPER_COLOURS, hexadecimal, rater_colours
from .svg import INK, LETTER, PALE_INK, RULE, TOP, WIDE, Axis

BAR_ROW = 30
GROUP_ROW, GROUP_GAP = 20.0, 16.0
RATER_ROW, RATER_GAP = 20.0, 14.0
APART = 13.0
DISC = 4.5
LEGEND_HEIGHT = 24.0
LONGEST_ROW_NAME = 28
"""Letters of a row's name; a strategy's is a few words."""
Value = tuple[float, float, float]
"""A value and the ends of its interval; nan where they are not known."""
Bar = float | tuple[float, float, float]
Entry = Bar | list[float]
"""A value, ``(value, low, high)``, or a list of points."""


def bars(
    groups: Mapping[str, tuple[float, float, float] | float],
    xlabel: str,
    title: str,
    *,
    digits: int = 2,
    low: float | None = None,
    high: float | None = None,
) -> str:
    """A bar and its number for each group, with whiskers where ``(value, low, high)`` is given; nan draws a dash."""
    if not groups:
        raise CallError("groups is empty; give one value or more")
    whole = {key: value if isinstance(value, tuple) else (value, math.nan, math.nan) for key, value in groups.items()}
    left, bottom = 28 + svg.names_width(whole), TOP + BAR_ROW * len(whole) + 4.0
    ends = [end for end in (0.0, low, high) if end is not None]
    axis = Axis.over([*ends, *(number for value in whole.values() for number in value)], left, left + WIDE)
    parts = svg.bottom_axis(axis, TOP, bottom, xlabel)
    paper = left + WIDE + 28 + digits * 7 + 30
    for row, (key, (value, least, largest)) in enumerate(whole.items()):
        y = TOP + BAR_ROW * (row + 0.5) + 2
        parts.append(svg.name(left - 12, y + 4, key, text_anchor="end"))
        if math.isfinite(value):
            start, end = sorted((axis(0), axis(value)))
            parts.append(svg.rect(start, y - 9, max(end - start, 0.5), 18, "#74add1"))
        parts += svg.whisker(axis, y, least, largest)
        parts.append(svg.text(left + WIDE + 10, y + 4, svg.format_number(value, digits)))
    parts.append(svg.line(axis(0), TOP, axis(0), bottom, PALE_INK))
    return svg.document(paper, bottom + 52, title, parts)


def strip(
    groups: Mapping[str, Sequence[float]],
    xlabel: str,
    title: str,
    *,
    levels: Sequence[tuple[float, str]] = (),
    digits: int = 2,
) -> str:
    """A point for each value, a row for each group, a bar at the median, over the bands of a scale.

    A level ``(threshold, name)`` reaches from its threshold to the next; the first may start at ``-inf``. Values that
    are nan are counted at the right.
    """
    if not groups:
        raise CallError("groups is empty; give one list of values or more")
    high = 44.0
    top = TOP + (34.0 if levels else 0.0)
    left, bottom = 28 + svg.names_width(groups), top + high * len(groups)
    values = [float(v) for numbers in groups.values() for v in numbers]
    axis = Axis.over([*values, 0.0, 1.0], left, left + WIDE)
    parts = _bands(sorted(levels), axis, top, bottom) + svg.bottom_axis(axis, top, bottom, xlabel)
    paints = [hexadecimal(paint) for paint in rater_colours(len(groups))]
    for row, (key, numbers) in enumerate(groups.items()):
        y = top + high * (row + 0.5)
        parts.append(svg.name(left - 12, y + 4, key, text_anchor="end"))
        parts += _strip_points([float(v) for v in numbers], axis, y, paints[row], left + WIDE + 10, digits)
    return svg.document(left + WIDE + 132, bottom + 52, title, parts)


def _bands(levels: Sequence[tuple[float, str]], axis: Axis, top: float, bottom: float) -> list[str]:
    """Shaded stretches with their names above, on two lines where a name has two words."""
    parts = []
    ends = [*(threshold for threshold, _ in levels[1:]), math.inf]
    for number, ((start, words), end) in enumerate(zip(levels, ends, strict=False)):
        x, stop = axis(max(start, axis.low)), axis(min(end, axis.high))
        if stop <= x:
            continue
        parts.append(svg.rect(x, top, stop - x, bottom - top, "#f0f3f6" if number % 2 else "#e2e8ee"))
        lines = words.split(" ", 1)
        size = min(10.5, (stop - x - 2) / (max(1, *map(len, lines)) * LETTER))
        if size >= 7.5:
            lift = top - 6 - 12 * (len(lines) - 1)
            parts += [
                svg.text((x + stop) / 2, lift + 12 * i, part, size=size, fill=PALE_INK, text_anchor="middle")
                for i, part in enumerate(lines)
            ]
    return parts


def _strip_points(numbers: Sequence[float], axis: Axis, y: float, paint: str, right: float, digits: int) -> list[str]:
    defined = sorted(v for v in numbers if math.isfinite(v))
    # Neighbours go up and down in turn, so that equal values do not hide each other.
    lifts = [(-10, 4, -3, 10, 0)[index % 5] for index in range(len(defined))]
    parts = [
        svg.tag(
            "circle", cx=axis(v), cy=y + lift, r=4, fill=paint, fill_opacity=0.85, stroke="#45454d", stroke_width=0.6
        )
        for v, lift in zip(defined, lifts, strict=True)
    ]
    median = float(np.median(defined)) if defined else math.nan
    if defined:
        parts.append(svg.line(axis(median), y - 17, axis(median), y + 17, INK, stroke_width=2.5))
    undefined = len(numbers) - len(defined)
    parts.append(svg.text(right, y - 2, f"median {svg.format_number(median, digits)}", size=11))
    count = f"n = {len(defined)}" + (f", {undefined} undef." if undefined else "")
    return [*parts, svg.text(right, y + 12, count, size=11, fill=PALE_INK)]


def grouped_bars(groups: Mapping[str, Mapping[str, Entry]], xlabel: str, title: str, *, digits: int = 2) -> str:
    """For each group a bar and its number for each series, with whiskers where ``(value, low, high)`` is given.

    A list is drawn as one point a value, without a number. Series have the same colour and place in every group; one
    that a group lacks leaves its place empty, and nan draws a dash.
    """
    series = list(dict.fromkeys(key for entries in groups.values() for key in entries))
    if not series:
        raise CallError("groups is empty; give one group with one value or more")
    paints = {key: PAPER_COLOURS[i % len(PAPER_COLOURS)] for i, key in enumerate(series)}
    keys, legend = svg.legend_rows(paints.items(), 16.0, TOP + 8, WIDE + 84, fill_opacity=0.75)
    left, top = 28 + svg.names_width(groups), TOP + 22.0 * keys
    high = GROUP_ROW * len(series)
    bottom = top + (high + GROUP_GAP) * len(groups)
    axis = Axis.over([0.0, 1.0, *_numbers(groups)], left, left + WIDE)
    parts = [*legend, *svg.bottom_axis(axis, top, bottom, xlabel)]
    for i, (group, entries) in enumerate(groups.items()):
        start = top + (high + GROUP_GAP) * i
        parts += [svg.line(20, start, left + WIDE, start, RULE)] if i else []
        parts.append(svg.name(left - 12, start + (high + GROUP_GAP) / 2 + 4, group, text_anchor="end"))
        for k, key in enumerate(series):
            y = start + GROUP_GAP / 2 + GROUP_ROW * (k + 0.5)
            parts += _entry(entries[key], f"{group}, {key}", axis, y, paints[key], digits) if key in entries else []
    parts.append(svg.line(axis(0), top, axis(0), bottom, PALE_INK))
    return svg.document(left + WIDE + 30 + 7 * (digits + 3), bottom + 52, title, parts)


def _numbers(groups: Mapping[str, Mapping[str, Entry]]) -> list[float]:
    entries = [entry for by_series in groups.values() for entry in by_series.values()]
    return [float(n) for e in entries for n in ([e] if isinstance(e, float | int) else e)]


def _entry(entry: Entry, label: str, axis: Axis, y: float, paint: str, digits: int) -> list[str]:
    if isinstance(entry, list):
        return _entry_points(entry, label, axis, y, paint, digits)
    value, low, high = entry if isinstance(entry, tuple) else (entry, math.nan, math.nan)
    parts = []
    if math.isfinite(value):
        start, end = sorted((axis(0), axis(value)))
        size = {"width": max(end - start, 0.5), "height": GROUP_ROW - 6}
        hover = svg.tooltip(f"{label}: {svg.format_number(value, digits)}")
        parts.append(svg.tag("rect", hover, x=start, y=y - GROUP_ROW / 2 + 3, fill=paint, fill_opacity=0.75, **size))
    parts += svg.whisker(axis, y, low, high)
    return [*parts, svg.text(axis.end + 10, y + 4, svg.format_number(value, digits), size=11)]


def _entry_points(values: Sequence[float], label: str, axis: Axis, y: float, paint: str, digits: int) -> list[str]:
    known = [v for v in values if math.isfinite(v)]
    style = {"r": 4.0, "fill": paint, "fill_opacity": 0.75, "stroke": "#ffffff", "stroke_width": 0.8}
    hovers = [svg.tooltip(f"{label}: {svg.format_number(v, digits)}") for v in known]
    return [svg.tag("circle", hover, cx=axis(v), cy=y, **style) for v, hover in zip(known, hovers, strict=True)]


def dot_chart(rows: Mapping[str, Mapping[str, Value]], xlabel: str, title: str, *, digits: int = 3) -> str:
    """``{row: {series: (value, low, high)}}``: a dot and a whisker each, its number at the right."""
    series = list(dict.fromkeys(key for by in rows.values() for key in by))
    if not series:
        raise CallError("rows is empty; give one row and one series or more")
    paints = dict(zip(series, map(hexadecimal, rater_colours(len(series))), strict=True))
    left, high = 24 + svg.names_width(rows, longest=LONGEST_ROW_NAME), APART * (len(series) + 1)
    top = TOP + LEGEND_HEIGHT * (len(series) > 1)
    bottom = top + high * len(rows)
    axis = Axis.over([n for by in rows.values() for v in by.values() for n in v], left, left + WIDE)
    parts = svg.bottom_axis(axis, top, bottom, xlabel)
    for place, (row, by) in enumerate(rows.items()):
        begin = top + high * place
        parts += [svg.line(20, begin, left + WIDE, begin, RULE)] if place else []
        parts.append(svg.name(left - 12, begin + high / 2 + 4, row, longest=LONGEST_ROW_NAME, text_anchor="end"))
        for k, (key, value) in enumerate(by.items()):
            parts += _dot(axis, begin + APART * (k + 1), value, f"{row}, {key}", paints[key], left + WIDE + 12, digits)
    parts += _dot_legend(paints, left) if len(series) > 1 else []
    return svg.document(left + WIDE + 70, bottom + 52, title, parts)


def _dot(axis: Axis, y: float, value: Value, label: str, paint: str, right: float, digits: int) -> list[str]:
    middle, low, high = value
    if not math.isfinite(middle):
        return [svg.text(right, y + 4, "–", size=11)]
    number = svg.format_number(middle, digits)
    dot = svg.tag(
        "circle",
        svg.tooltip(f"{label}: {number}"),
        cx=axis(middle),
        cy=y,
        r=DISC,
        fill=paint,
        stroke=INK,
    )
    return [*svg.whisker(axis, y, low, high), dot, svg.text(right, y + 4, number, size=11)]


def _dot_legend(paints: Mapping[str, str], left: float) -> list[str]:
    parts, x = [], left
    for words, paint in paints.items():
        parts.append(svg.tag("circle", cx=x + 6, cy=TOP, r=DISC, fill=paint, stroke=INK))
        parts.append(svg.name(x + 18, TOP + 4, words))
        x += 40 + svg.names_width([words])
    return parts


def rater_difference_chart(
    differences: Mapping[str, Mapping[str, Value]],
    xlabel: str,
    title: str,
    *,
    verdicts: Mapping[str, str] | None = None,
    digits: int = 2,
) -> str:
    """For each algorithm a row for each rater: how much it is better (right of 0) or worse than the rater.

    ``{algorithm: {rater: (value, low, high)}}``; ``verdicts`` stand at the right of each algorithm.
    """
    if not differences or not any(differences.values()):
        raise CallError("differences is empty; give one algorithm and one rater or more")
    raters = list(dict.fromkeys(rater for by in differences.values() for rater in by))
    paints = dict(zip(raters, map(hexadecimal, rater_colours(len(raters))), strict=True))
    first, second = 20 + svg.names_width(differences), 16 + svg.names_width(raters)
    left, high = first + second, sum(RATER_ROW * len(by) + RATER_GAP for by in differences.values())
    bottom = TOP + high
    axis = Axis.over([0.0, *(n for by in differences.values() for d in by.values() for n in d)], left, left + WIDE)
    parts = [
        *svg.bottom_axis(axis, TOP, bottom, xlabel),
        svg.line(axis(0), TOP, axis(0), bottom, INK, stroke_width=1.5),
    ]
    y = TOP + RATER_GAP / 2
    for algorithm, by in differences.items():
        middle = y + RATER_ROW * len(by) / 2
        parts.append(svg.name(first - 10, middle + 4, algorithm, text_anchor="end", font_weight="bold"))
        parts.append(svg.text(left + WIDE + 12, middle + 4, (verdicts or {}).get(algorithm, "")))
        for rater, (value, low, top) in by.items():
            y += RATER_ROW
            parts.append(svg.name(left - 10, y - RATER_ROW / 2 + 4, rater, size=11, fill=PALE_INK, text_anchor="end"))
            parts += svg.whisker(axis, y - RATER_ROW / 2, low, top)
            if math.isfinite(value):
                hover = svg.tooltip(svg.format_number(value, digits))
                dot = {"cx": axis(value), "cy": y - RATER_ROW / 2, "r": DISC, "fill": paints[rater], "stroke": INK}
                parts.append(svg.tag("circle", hover, **dot))
        y += RATER_GAP
        parts.append(svg.line(20, y - RATER_GAP / 2, left + WIDE, y - RATER_GAP / 2, RULE))
    return svg.document(left + WIDE + 230, bottom + 52, title, parts)

"""Groups and modalities that are compared: numbers with intervals row by row, and slopes of readers, as SVG.

Names stand above their row, so that a chart is narrow enough for a telephone or a column of a journal.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..core.errors import CallError
from . import svg
from .colours import PAPER_COLOURS
from .svg import INK, PALE_INK, RULE, TOP, Axis

NARROW, MARGIN = 388.0, 20.0
ROW = 36.0
"""Height of a row: its name and its dot."""
SLOPES = 250.0
MEAN = "mean"
DISC = 5.0
LONGEST = 40
"""Letters of a row's name."""
PAINTS = tuple(paint for paint in PAPER_COLOURS if paint != INK)
"""Of readers; means are black."""
Value = tuple[float, float, float]
"""A value and the ends of its interval; nan where they are not known."""


@dataclass(frozen=True)
class DotRow:
    """A number with its interval.

    Attributes
    ----------
    name : str
        What stands above the row.
    value : tuple of float
        The number and the ends of its interval; nan where they are not known.
    colour : str
        ``#rrggbb`` of the dot.
    hollow : bool
        Whether the dot is a ring, as for agreement between two groups.
    """

    name: str
    value: Value
    colour: str = INK
    hollow: bool = False


def group_chart(
    groups: Mapping[str, Value],
    between: Mapping[tuple[str, str], Value],
    differences: Mapping[tuple[str, str], Value],
    *,
    xlabel: str,
    title: str,
    digits: int = 2,
) -> str:
    """Numbers of groups with intervals, and below them the differences of two groups with theirs.

    Parameters
    ----------
    groups : mapping
        ``(value, low, high)`` of each group; for raters, of agreement within it.
    between : mapping
        The same between two groups of raters, drawn as rings; empty for groups of cases.
    differences : mapping
        The first group's number minus the second's.
    xlabel : str
        What the numbers are.
    title : str
        Above the chart.
    digits : int
        Decimals of the numbers; differences have one more.
    """
    if not groups:
        raise CallError("groups is empty; give one value or more")
    paints = {group: PAPER_COLOURS[i % len(PAPER_COLOURS)] for i, group in enumerate(groups)}
    within = "within " if between else ""
    rows = [DotRow(f"{within}{group}", value, paints[group]) for group, value in groups.items()]
    rows += [DotRow(f"between {a} and {b}", value, PALE_INK, hollow=True) for (a, b), value in between.items()]
    parts, bottom = dot_rows(rows, TOP, xlabel, digits=digits)
    if differences:
        apart = [DotRow(f"{a} − {b}", value) for (a, b), value in differences.items()]
        more, bottom = dot_rows(apart, bottom + 8, f"difference of {xlabel}", digits=digits + 1, zero=True)
        parts += more
    return svg.document(NARROW + 2 * MARGIN, bottom, title, parts)


def reader_slopes(
    readers: Mapping[str, Sequence[float]],
    modalities: Sequence[str],
    means: Sequence[Value],
    differences: Mapping[str, Value],
    of_readers: Mapping[str, Value] | None = None,
    *,
    ylabel: str,
    xlabel: str,
    title: str,
) -> str:
    """A line for each reader over the modalities, their mean in black, and below them differences with intervals.

    Parameters
    ----------
    readers : mapping
        One number for each modality, by reader.
    modalities : sequence of str
        Names of the modalities, in the order of the numbers.
    means : sequence of tuple
        ``(value, low, high)`` of the mean over readers for each modality.
    differences : mapping
        ``(value, low, high)`` by name, such as of two modalities.
    of_readers : mapping, optional
        Differences of two modalities by reader.
    ylabel : str
        What the numbers are.
    xlabel : str
        What the differences are.
    title : str
        Above the chart.
    """
    if not readers or len(modalities) < 2:
        raise CallError("a chart of readers needs one reader or more and two modalities or more")
    if len(means) != len(modalities) or any(len(values) != len(modalities) for values in readers.values()):
        raise CallError(f"every reader and the means need {len(modalities)} numbers, one for each modality")
    names = svg.names_width([*readers, MEAN], 11)
    left, right, top, floor = 76.0, NARROW + MARGIN - names + 4, TOP + 4.0, TOP + SLOPES
    ends = [float(v) for values in readers.values() for v in values] + [v for mean in means for v in mean]
    up = Axis.over(ends, floor, top)
    places = [left + 14 + (right - left - 28) * j / (len(modalities) - 1) for j in range(len(modalities))]
    parts = svg.left_axis(up, left, right, ylabel)
    step = (right - left) / (len(modalities) - 1)
    longest = max(4, int(step / (12 * svg.LETTER)))
    for x, modality in zip(places, modalities, strict=True):
        parts.append(svg.line(x, top, x, floor, "#9a9aa2", stroke_width=1))
        parts.append(svg.name(x, floor + 18, modality, longest=min(longest, 16), text_anchor="middle"))
    paints = {reader: PAINTS[i % len(PAINTS)] for i, reader in enumerate(readers)}
    for reader, values in readers.items():
        parts += _slope(reader, [float(v) for v in values], modalities, places, up, paints[reader])
    parts += _mean_slope(means, modalities, places, up)
    named = {reader: (float(values[-1]), paints[reader]) for reader, values in readers.items()}
    parts += _names_at_ends([*named.items(), (MEAN, (means[-1][0], INK))], up, places[-1] + 12, top, floor)
    bottom = floor + 34
    if differences:
        rows = [DotRow(words, value) for words, value in differences.items()]
        rows += [DotRow(reader, value, paints.get(reader, INK)) for reader, value in (of_readers or {}).items()]
        more, bottom = dot_rows(rows, bottom, xlabel, digits=3, zero=True)
        parts += more
    return svg.document(NARROW + 2 * MARGIN, bottom, title, parts)


def dot_rows(
    rows: Sequence[DotRow], top: float, xlabel: str, *, digits: int = 2, zero: bool = False
) -> tuple[list[str], float]:
    """A panel of numbers with intervals, and where it ends; with ``zero`` a line at 0."""
    ends = [end for row in rows for end in row.value if math.isfinite(end)]
    if zero:
        # a line at 0 does not lie at the border
        low, high = min(ends, default=0.0), max(ends, default=0.0)
        room = 0.05 * max(high, -low)
        ends += [min(low, -room), max(high, room)]
    axis = Axis.over(ends, MARGIN, MARGIN + NARROW)
    bottom = top + ROW * len(rows) + 4
    parts = svg.bottom_axis(axis, top, bottom, xlabel)
    if zero:
        parts.append(svg.line(axis(0), top, axis(0), bottom, PALE_INK, stroke_width=1.4))
    for number, row in enumerate(rows):
        y = top + ROW * (number + 0.5) + 8
        parts += [svg.line(MARGIN, top + ROW * number, MARGIN + NARROW, top + ROW * number, RULE)] if number else []
        words = _write(row.value, digits)
        room = int((NARROW - len(words) * 11 * svg.LETTER) / (12 * svg.LETTER))
        longest = min(LONGEST, max(6, room))
        parts.append(svg.name(MARGIN + 2, y - 11, row.name, longest=longest, **svg.HALO))
        look = {"size": 11, "fill": PALE_INK, "text_anchor": "end", **svg.HALO}
        parts.append(svg.text(MARGIN + NARROW - 2, y - 11, words, **look))
        parts += _dot(row, axis, y, words)
    return parts, bottom + 48


def _dot(row: DotRow, axis: Axis, y: float, words: str) -> list[str]:
    value, low, high = row.value
    parts = []
    if math.isfinite(low) and math.isfinite(high):
        route = f"M{axis(low):.2f} {y - 4:.2f}v8m0 -4H{axis(high):.2f}m0 -4v8"
        parts.append(svg.tag("path", d=route, fill="none", stroke=row.colour, stroke_width=1.6))
    if math.isfinite(value):
        look = {"fill": "#ffffff" if row.hollow else row.colour, "stroke": row.colour, "stroke_width": 1.8}
        parts.append(svg.tag("circle", svg.tooltip(f"{row.name}: {words}"), cx=axis(value), cy=y, r=DISC, **look))
    return parts


def _write(value: Value, digits: int) -> str:
    """``0.91 (0.88 to 0.93)``."""
    number, low, high = value
    if not (math.isfinite(low) and math.isfinite(high)):
        return svg.format_number(number, digits)
    return (
        f"{svg.format_number(number, digits)} ({svg.format_number(low, digits)} to {svg.format_number(high, digits)})"
    )


def _slope(
    reader: str, values: Sequence[float], modalities: Sequence[str], places: Sequence[float], up: Axis, paint: str
) -> list[str]:
    known = [(x, v) for x, v in zip(places, values, strict=True) if math.isfinite(v)]
    numbers = ", ".join(f"{m} {svg.format_number(v, 3)}" for m, v in zip(modalities, values, strict=True))
    route = " ".join(f"{x:.2f},{up(v):.2f}" for x, v in known)
    look = {"fill": "none", "stroke": paint, "stroke_width": 1.6, "stroke_opacity": 0.75, "stroke_linejoin": "round"}
    line = svg.tag("polyline", svg.tooltip(f"{reader}: {numbers}"), points=route, **look)
    return [line, *(svg.tag("circle", cx=x, cy=up(v), r=3.2, fill=paint) for x, v in known)]


def _mean_slope(means: Sequence[Value], modalities: Sequence[str], places: Sequence[float], up: Axis) -> list[str]:
    """The mean over readers, with its interval at each modality."""
    parts = []
    known = [(x, mean[0]) for x, mean in zip(places, means, strict=True) if math.isfinite(mean[0])]
    route = " ".join(f"{x:.2f},{up(v):.2f}" for x, v in known)
    parts.append(svg.tag("polyline", points=route, fill="none", stroke=INK, stroke_width=3))
    for x, modality, (value, low, high) in zip(places, modalities, means, strict=True):
        if math.isfinite(low) and math.isfinite(high):
            path = f"M{x - 6:.2f} {up(low):.2f}h12m-6 0V{up(high):.2f}m-6 0h12"
            parts.append(svg.tag("path", d=path, fill="none", stroke=INK, stroke_width=1.6))
        if math.isfinite(value):
            words = svg.tooltip(f"mean, {modality}: {_write((value, low, high), 3)}")
            look = {"fill": INK, "stroke": "#ffffff", "stroke_width": 1.2}
            parts.append(svg.tag("rect", words, x=x - 5, y=up(value) - 5, width=10, height=10, **look))
    return parts


def _names_at_ends(
    named: Sequence[tuple[str, tuple[float, str]]], up: Axis, x: float, top: float, floor: float
) -> list[str]:
    """Names at the right end of each line, in its colour, moved apart where they would overlap."""
    order = sorted((up(value), words, paint) for words, (value, paint) in named if math.isfinite(value))
    gap = min(13.0, (floor - top) / max(1, len(order)))
    levels: list[float] = []
    for y, _, _ in order:
        levels.append(max(y, levels[-1] + gap if levels else top))
    for k in range(len(levels) - 1, -1, -1):
        levels[k] = min(levels[k], floor - gap * (len(levels) - 1 - k))
    bold = {INK: "bold"}
    return [
        svg.name(x, y + 4, words, size=min(11.0, gap), fill=paint, font_weight=bold.get(paint))
        for (_, words, paint), y in zip(order, levels, strict=True)
    ]

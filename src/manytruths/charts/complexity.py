"""How complex cases are: the plane of entropy and mean, and histograms of tasks, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError
from . import svg
from .colours import OKABE_ITO, hexadecimal, rater_colours
from .svg import INK, PALE_INK, TOP, WIDE, Axis, Place, Side

LEFT, HIGH, PANEL = 78.0, 330.0, 92.0
GREY = "#8a8a92"
_ORANGE, _SKY, _GREEN, _YELLOW, _BLUE, _RED, _PINK = (hexadecimal(paint) for paint in OKABE_ITO)
GROUP_COLOURS = {"A": _RED, "B": _BLUE, "C": _ORANGE, "D": _GREEN, "E": _PINK, "F": _SKY, "G": _YELLOW}
GROUP_NAMES = {"A": "low mean", "B": "high mean", "C": "middle mean"}
"""Groups of cases by what was measured: the mean of STAPLE's probability at their centre."""
TRIANGLE, DISC, SQUARE, DIAMOND = (
    "M-4.8 3.4h9.6l-4.8 -8.6z",
    "M-4.2 0a4.2 4.2 0 1 0 8.4 0a4.2 4.2 0 1 0 -8.4 0z",
    "M-3.8 -3.8h7.6v7.6h-7.6z",
    "M0 -5.2l5.2 5.2l-5.2 5.2l-5.2 -5.2z",
)
SHAPES = {"A": TRIANGLE, "B": DISC, "C": SQUARE}
"""Shapes tell the groups apart without colour."""
SIDES: tuple[Side, ...] = ((9, 4, 0), (-9, 4, 1), (0, -10, 0.5), (0, 18, 0.5))
"""Where the name of a point may be."""
COMPASS = ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (-1, -1), (-1, 1), (1, 1))


def complexity_plane(
    points: Mapping[str, Place], groups: Mapping[str, str] | None = None, title: str = "", *, named: int = 6
) -> str:
    """A point for each case at its (entropy, mean), coloured and shaped by its group.

    The ``named`` cases that lie farthest out carry their names where there is room; all show them under the pointer.
    Cases whose place is nan are counted at the right.
    """
    placed = {case: place for case, place in points.items() if all(map(math.isfinite, place))}
    members = {case: (groups or {}).get(case, "") for case in placed}
    bottom = TOP + HIGH
    across = Axis.over([0.0, 1.0, *(entropy for entropy, _ in placed.values())], LEFT, LEFT + WIDE)
    up = Axis(0.0, 1.0, bottom, TOP)
    at = {case: (across(entropy), up(mean)) for case, (entropy, mean) in placed.items()}
    size = float(np.clip(12 / math.sqrt(len(at) + 1), 0.7, 1))
    parts = svg.bottom_axis(across, TOP, bottom, "entropy inside the union")
    parts += svg.left_axis(up, LEFT, LEFT + WIDE, "mean inside the union")
    parts += [
        _mark(at[case], members[case], size, _title(case, placed[case], members[case]), case=case) for case in placed
    ]
    parts += svg.point_names(at, _extremes(placed, named), SIDES, (LEFT, TOP, LEFT + WIDE, TOP + HIGH))
    parts += _legend(list(members.values()), len(points) - len(placed), LEFT + WIDE + 22)
    return svg.document(LEFT + WIDE + 156, bottom + 52, title, parts)


def _title(case: str, place: Place, group: str) -> str:
    entropy, mean = map(svg.format_number, place)
    return svg.tooltip(f"{case}: entropy {entropy}, mean {mean}" + (f", group {group}" if group else ""))


def _mark(at: Place, group: str, size: float, *content: str, case: str | None = None) -> str:
    """The mark of a case; a page may open the case that it names."""
    return svg.tag(
        "path",
        *content,
        d=SHAPES.get(group, DIAMOND if group else DISC),
        transform=f"translate({at[0]:.2f} {at[1]:.2f}) scale({size:.2f})",
        fill=GROUP_COLOURS.get(group, GREY),
        fill_opacity=0.75,
        stroke="#ffffff",
        stroke_width=0.8,
        data_case=None if case is None else svg.clean(case, escaped=False),
    )


def _extremes(placed: Mapping[str, Place], count: int) -> list[str]:
    """The cases farthest out in eight directions of the plane, each once."""
    if not placed:
        return []
    cases, where = list(placed), np.array(list(placed.values()), float)
    spread = where.std(axis=0)
    scaled = (where - where.mean(axis=0)) / np.where(spread > 0, spread, 1)
    farthest = [cases[int(np.argmax(scaled @ np.array(way)))] for way in COMPASS]
    return list(dict.fromkeys(farthest))[:count]


def _legend(members: Sequence[str], undefined: int, x: float) -> list[str]:
    parts, y = [], TOP + 12.0
    for group in sorted(set(members), key=lambda letter: (not letter, letter)):
        words = f"{group}: {GROUP_NAMES[group]}" if group in GROUP_NAMES else group or "cases"
        count = members.count(group)
        parts += [_mark((x + 5, y), group, 1), svg.text(x + 18, y + 4, svg.shorten(words, 16))]
        parts.append(svg.text(x + 18, y + 19, f"{count} case{'' if count == 1 else 's'}", size=11, fill=PALE_INK))
        y += 42
    return [*parts, svg.text(x, y + 4, f"{undefined} undefined", size=11, fill=PALE_INK)] if undefined else parts


def histograms(
    tasks: Mapping[str, Sequence[float]],
    xlabel: str,
    title: str,
    *,
    bins: int = 40,
    digits: int = 2,
    unit: str = "cases",
) -> str:
    """A histogram for each task, one below the other on the same axes, with a line at its mean.

    Heights are shares of the task's own cases, or of what ``unit`` names. The axis ends about where the highest
    hundredth of all values begins; those beyond stand in the last bar, and are counted at the right, as are values that
    are nan.
    """
    if not tasks:
        raise CallError("tasks is empty; give one list of values or more")
    values = {task: np.array([v for v in numbers if math.isfinite(v)], float) for task, numbers in tasks.items()}
    every = np.concatenate(list(values.values()))
    high = float(np.quantile(every, 0.99)) if len(every) else 1.0
    axis = Axis.over([0.0, float(every.min(initial=0)), high], LEFT, LEFT + WIDE)
    edges = np.linspace(axis.low, axis.high, bins + 1)
    shares = {task: _shares(numbers, edges) for task, numbers in values.items()}
    tallest = max(float(heights.max(initial=0)) for heights in shares.values()) or 1.0
    bottom = TOP + (PANEL + 24) * len(tasks)
    parts = svg.bottom_axis(axis, TOP, bottom, xlabel)
    for row, (task, paint) in enumerate(zip(tasks, rater_colours(len(tasks)), strict=True)):
        ground = TOP + (PANEL + 24) * (row + 1)
        up = Axis(0.0, tallest, ground, ground - PANEL)
        parts += _shares_axis(up, unit) + _columns(shares[task], edges, axis, up, hexadecimal(paint))
        parts += _summary(task, values[task], len(tasks[task]) - len(values[task]), axis, ground, digits)
    return svg.document(LEFT + WIDE + 140, bottom + 52, title, parts)


def _shares(values: NDArray[np.float64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    counts, _ = np.histogram(np.minimum(values, edges[-1]), edges)
    return counts / max(1, len(values))


def _shares_axis(up: Axis, unit: str) -> list[str]:
    """The highest round share, and whose share it is."""
    value, _ = up.ticks[-1]
    y = up(value)
    parts = [
        svg.line(LEFT, y, LEFT + WIDE, y),
        svg.text(LEFT - 8, y + 4, f"{100 * value:.3g}%", size=11, text_anchor="end"),
    ]
    return [*parts, svg.text(LEFT - 8, y + 18, f"of {unit}", size=11, fill=PALE_INK, text_anchor="end")]


def _columns(shares: NDArray[np.float64], edges: NDArray[np.float64], across: Axis, up: Axis, paint: str) -> list[str]:
    sides = [across(edge) for edge in edges.tolist()]
    parts = [
        svg.rect(left + 0.5, up(share), right - left - 1, up.start - up(share), paint)
        for share, left, right in zip(shares.tolist(), sides[:-1], sides[1:], strict=True)
        if share
    ]
    return [*parts, svg.line(across.start, up.start, across.end, up.start, PALE_INK)]


def _summary(
    task: str, values: NDArray[np.float64], undefined: int, axis: Axis, ground: float, digits: int
) -> list[str]:
    """Name, number of cases and mean of a task at the right, and a line at the mean."""
    right, mean = axis.end + 12, float(values.mean()) if len(values) else math.nan
    beyond = int((values > axis.high).sum())
    lines = [
        f"mean {svg.format_number(mean, digits)}",
        f"n = {len(values)}" + (f", {undefined} undef." if undefined else ""),
    ]
    lines += [f"{beyond} above {axis.ticks[-1][1]}"] if beyond else []
    top = ground - 16 * len(lines) - 6
    parts = [svg.name(right, top, task, font_weight="bold")]
    for i, words in enumerate(lines, start=1):
        parts.append(svg.text(right, top + 16 * i, words, size=11, fill=PALE_INK if i > 1 else INK))
    x = axis(min(mean, axis.high)) if len(values) else 0
    return [*parts, svg.line(x, ground - PANEL - 8, x, ground, INK, stroke_width=2)] if len(values) else parts

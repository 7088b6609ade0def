"""Curves, bars and strips of points, as SVG."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import CallError
from .colours import hexadecimal, rater_colours
from .svg import (
    BLUE,
    INK,
    LETTER,
    PALE_INK,
    Axis,
    bottom_axis,
    document,
    figure,
    left_axis,
    line,
    name,
    rect,
    room,
    tag,
    text,
)

WIDE, ROW, TOP = 460, 30, 44


def curve(
    x: ArrayLike,
    y: ArrayLike,
    xlabel: str,
    ylabel: str,
    title: str,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    ylim: tuple[float, float] | None = None,
) -> str:
    """One line through points; nan leaves a gap. ``low`` and ``high`` add a shaded band."""
    xs, ys = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(y, float))
    band = [ys if edge is None else np.asarray(edge, float) for edge in (low, high)]
    if xs.ndim != 1 or any(values.shape != xs.shape for values in (ys, *band)):
        raise CallError(f"x has shape {xs.shape} and y {ys.shape}; they go in pairs, and so do low and high")
    left, bottom = 78.0, TOP + 280.0
    whole = float(bool(np.isfinite(xs).all() and (xs % 1 == 0).all()))
    across = Axis.over(xs.tolist(), left, left + WIDE, whole)
    up = Axis(*ylim, bottom, TOP) if ylim else Axis.over(np.concatenate([ys, *band]).tolist(), bottom, TOP)
    parts = bottom_axis(across, TOP, bottom, xlabel) + left_axis(up, left, left + WIDE, ylabel)
    for run in _runs(np.isfinite(xs) & np.isfinite(ys) & np.isfinite(band[0]) & np.isfinite(band[1])):
        points = [f"{across(xs[i]):.2f},{up(ys[i]):.2f}" for i in run]
        if low is not None or high is not None:
            edge = [f"{across(xs[i]):.2f},{up(band[0][i]):.2f}" for i in run]
            back = [f"{across(xs[i]):.2f},{up(band[1][i]):.2f}" for i in reversed(run)]
            parts.append(tag("polygon", points=" ".join(edge + back), fill=BLUE, fill_opacity=0.16))
        parts.append(tag("polyline", points=" ".join(points), fill="none", stroke=BLUE, stroke_width=2.2))
        parts += _dots(points) if len(xs) <= 40 else []
    return document(left + WIDE + 28, bottom + 52, title, parts)


def _runs(good: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> list[list[int]]:
    """Stretches without a gap."""
    runs: list[list[int]] = []
    for index in np.flatnonzero(good).tolist():
        if runs and runs[-1][-1] == index - 1:
            runs[-1].append(index)
        else:
            runs.append([index])
    return runs


def _dots(points: Sequence[str]) -> list[str]:
    places = [point.split(",") for point in points]
    return [tag("circle", cx=x, cy=y, r=3.2, fill=BLUE, stroke="#ffffff") for x, y in places]


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
    left, bottom = 28 + room(whole), TOP + ROW * len(whole) + 4.0
    ends = [end for end in (0.0, low, high) if end is not None]
    axis = Axis.over([*ends, *(number for value in whole.values() for number in value)], left, left + WIDE)
    parts = bottom_axis(axis, TOP, bottom, xlabel)
    paper = left + WIDE + 28 + digits * 7 + 30
    for row, (key, (value, least, largest)) in enumerate(whole.items()):
        y = TOP + ROW * (row + 0.5) + 2
        parts.append(name(left - 12, y + 4, key, text_anchor="end"))
        if math.isfinite(value):
            start, end = sorted((axis(0), axis(value)))
            parts.append(rect(start, y - 9, max(end - start, 0.5), 18, "#74add1"))
        parts += whisker(axis, y, least, largest)
        parts.append(text(left + WIDE + 10, y + 4, figure(value, digits)))
    parts.append(line(axis(0), TOP, axis(0), bottom, PALE_INK))
    return document(paper, bottom + 52, title, parts)


def whisker(axis: Axis, y: float, low: float, high: float) -> list[str]:
    """An interval; nothing where it is not known."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return []
    route = f"M{axis(low):.2f} {y - 5:.2f}v10m0 -5H{axis(high):.2f}m0 -5v10"
    return [tag("path", d=route, fill="none", stroke=INK, stroke_width=1.5)]


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
    left, bottom = 28 + room(groups), top + high * len(groups)
    values = [float(v) for numbers in groups.values() for v in numbers]
    axis = Axis.over([*values, 0.0, 1.0], left, left + WIDE)
    parts = _bands(sorted(levels), axis, top, bottom) + bottom_axis(axis, top, bottom, xlabel)
    paints = [hexadecimal(paint) for paint in rater_colours(len(groups))]
    for row, (key, numbers) in enumerate(groups.items()):
        y = top + high * (row + 0.5)
        parts.append(name(left - 12, y + 4, key, text_anchor="end"))
        parts += _points([float(v) for v in numbers], axis, y, paints[row], left + WIDE + 10, digits)
    return document(left + WIDE + 132, bottom + 52, title, parts)


def _bands(levels: Sequence[tuple[float, str]], axis: Axis, top: float, bottom: float) -> list[str]:
    """Shaded stretches with their names above, on two lines where a name has two words."""
    parts = []
    ends = [*(threshold for threshold, _ in levels[1:]), math.inf]
    for number, ((start, words), end) in enumerate(zip(levels, ends, strict=False)):
        x, stop = axis(max(start, axis.low)), axis(min(end, axis.high))
        if stop <= x:
            continue
        parts.append(rect(x, top, stop - x, bottom - top, "#f0f3f6" if number % 2 else "#e2e8ee"))
        lines = words.split(" ", 1)
        size = min(10.5, (stop - x - 2) / (max(1, *map(len, lines)) * LETTER))
        if size >= 7.5:
            lift = top - 6 - 12 * (len(lines) - 1)
            parts += [
                text((x + stop) / 2, lift + 12 * i, part, size=size, fill=PALE_INK, text_anchor="middle")
                for i, part in enumerate(lines)
            ]
    return parts


def _points(numbers: Sequence[float], axis: Axis, y: float, paint: str, right: float, digits: int) -> list[str]:
    defined = sorted(v for v in numbers if math.isfinite(v))
    # Neighbours go up and down in turn, so that equal values do not hide each other.
    lifts = [(-10, 4, -3, 10, 0)[index % 5] for index in range(len(defined))]
    parts = [
        tag("circle", cx=axis(v), cy=y + lift, r=4, fill=paint, fill_opacity=0.85, stroke="#45454d", stroke_width=0.6)
        for v, lift in zip(defined, lifts, strict=True)
    ]
    median = float(np.median(defined)) if defined else math.nan
    if defined:
        parts.append(line(axis(median), y - 17, axis(median), y + 17, INK, stroke_width=2.5))
    undefined = len(numbers) - len(defined)
    parts.append(text(right, y - 2, f"median {figure(median, digits)}", size=11))
    count = f"n = {len(defined)}" + (f", {undefined} undef." if undefined else "")
    return [*parts, text(right, y + 12, count, size=11, fill=PALE_INK)]

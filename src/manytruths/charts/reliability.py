"""Raters and their confidence, as SVG: in ROC space, how sure each is, and how often the sure are wrong.

After Figs. 7 and 8 of Cabitza F et al. Appl Sci 2020;10:4014. doi:10.3390/app10114014
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from .colours import hexadecimal, rater_colours
from .svg import (
    ALARM,
    HALO,
    INK,
    LETTER,
    PALE_INK,
    RULE,
    TOP,
    Axis,
    Place,
    Side,
    bottom_axis,
    clean,
    document,
    format_number,
    free_sides,
    left_axis,
    line,
    name,
    names_width,
    rect,
    shorten,
    tag,
    text,
)

LEFT, SIDE, ROW = 78.0, 400.0, 20.0
RIDGE, WIDE, INSET = 46.0, 420.0, 84.0
SIDES: tuple[Side, ...] = (
    (9, 4, 0.0), (-9, 4, 1.0), (0, -11, 0.5), (0, 19, 0.5), (9, -6, 0.0), (-9, -6, 1.0), (9, 15, 0.0), (-9, 15, 1.0),
)  # fmt: skip
"""Where the name of a point may be."""
RIGHT, WRONG = "#74add1", "#e08a3c"


def roc_space(points: Mapping[str, tuple[float, float]], title: str, *, positive: str = "") -> str:
    """Every rater at their (1 − specificity, sensitivity), with the line of guessing; a legend has the numbers.

    Where all stand in the upper left half or quarter of the square, that is drawn large, and a small square shows
    where it lies. Points are named where there is room; raters whose place is nan are in the legend alone.
    """
    if not points:
        raise CallError("points is empty; give one rater or more")
    of = f" ({shorten(positive, 24)})" if positive else ""
    known = {key: (x, y) for key, (x, y) in points.items() if math.isfinite(x) and math.isfinite(y)}
    part = _part(list(known.values()))
    across, up = Axis(0.0, part, LEFT, LEFT + SIDE), Axis(1.0 - part, 1.0, TOP + SIDE, TOP)
    parts = bottom_axis(across, TOP, TOP + SIDE, "1 − specificity")
    parts += left_axis(up, LEFT, LEFT + SIDE, f"sensitivity{of}")
    if part > 0.5:
        ends = across(1 - part), up(1 - part), across(part), up(part)
        parts.append(line(*ends, ALARM, stroke_width=1.2, stroke_dasharray="5 4"))
    paints = dict(zip(points, map(hexadecimal, rater_colours(len(points))), strict=True))
    for key, (x, y) in known.items():
        hover = f"{key}: sensitivity {format_number(y)}, specificity {format_number(1 - x)}"
        parts.append(_disc(across(x), up(y), paints[key], hover))
    parts += _point_names({key: (across(x), up(y)) for key, (x, y) in known.items()})
    wide, low, entries = _roc_legend(points, list(paints.values()), LEFT + SIDE + 26)
    parts += entries + (_whole_square(LEFT + SIDE + 26, low + 10, part) if part < 1 else [])
    bottom = max(TOP + SIDE + 52, low + 12 + (INSET + 24 if part < 1 else 0))
    return document(LEFT + SIDE + 26 + wide + 16, bottom, title, parts)


def _part(places: Sequence[tuple[float, float]]) -> float:
    """The side of the smallest of three squares in the upper left that holds all points, not at its far edges."""
    reach = max((max(x, 1 - y) for x, y in places), default=1.0)
    return next((side for side in (0.25, 0.5) if reach <= 0.96 * side), 1.0)


def _whole_square(x: float, y: float, part: float) -> list[str]:
    """Which part of the square is drawn large."""
    style = {"fill": "none", "stroke": PALE_INK, "width": INSET, "height": INSET}
    return [
        rect(x, y, INSET * part, INSET * part, "#d9e6f2"),
        tag("rect", x=x, y=y, **style),
        line(x, y + INSET, x + INSET, y, ALARM, stroke_width=1.2, stroke_dasharray="5 4"),
        text(x, y + INSET + 14, "part that is shown", size=11, fill=PALE_INK),
    ]


def _disc(x: float, y: float, paint: str, words: str) -> str:
    style = {"fill": paint, "fill_opacity": 0.9, "stroke": INK, "stroke_width": 1}
    return tag("circle", tag("title", clean(words)), cx=float(x), cy=float(y), r=5.0, **style)


def _point_names(at: Mapping[str, Place]) -> list[str]:
    """Names at the first side that is free; none where all are taken, as the legend has them."""
    widths = {key: len(shorten(key)) * 11 * LETTER for key in at}
    parts = []
    for key, (dx, dy, share) in free_sides(at, widths, SIDES, (LEFT, TOP - 4, LEFT + SIDE, TOP + SIDE), 6).items():
        anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[share]
        parts.append(text(at[key][0] + dx, at[key][1] + dy, shorten(key), size=11, text_anchor=anchor, **HALO))
    return parts


def _roc_legend(
    points: Mapping[str, tuple[float, float]], paints: Sequence[str], x: float
) -> tuple[float, float, list[str]]:
    """A disc, the name, sensitivity and specificity of every rater; and how wide and how far down it goes."""
    column = x + 18 + max(names_width(points), 36) + 14
    heads = ((column, "sens."), (column + 44, "spec."))
    parts = [text(at, TOP + 8, words, size=11, fill=PALE_INK) for at, words in heads]
    for row, ((key, (false, hit)), paint) in enumerate(zip(points.items(), paints, strict=True), start=1):
        y = TOP + 8 + ROW * row
        parts += [_disc(x + 5, y - 4, paint, key), name(x + 18, y, key)]
        parts += [text(column, y, format_number(hit)), text(column + 44, y, format_number(1 - false))]
    y = TOP + 8 + ROW * (len(points) + 1) + 6
    parts.append(line(x - 2, y - 4, x + 13, y - 4, ALARM, stroke_width=1.2, stroke_dasharray="5 4"))
    return column + 80 - x, y, [*parts, text(x + 18, y, "guessing", fill=PALE_INK)]


def confidence_ridges(
    counts: Mapping[str, ArrayLike], levels: Sequence[str], title: str, *, means: Mapping[str, float] | None = None
) -> str:
    """How often each rater chose each level of confidence: a row of columns a rater, and all of them at the top.

    Heights are shares of a rater's own ratings, on one scale for everybody.
    """
    rows = {key: np.asarray(values, np.float64) for key, values in counts.items()}
    if not rows or any(values.shape != (len(levels),) for values in rows.values()):
        raise CallError(f"counts are one number for each of {len(levels)} levels, for one rater or more")
    whole = np.sum(list(rows.values()), axis=0)
    shares = {key: values / max(1.0, values.sum()) for key, values in {"": whole, **rows}.items()}
    tallest = max(float(values.max(initial=0)) for values in shares.values()) or 1.0
    left = 28 + max(names_width(rows), names_width(["all raters"]))
    step, paints = WIDE / len(levels), [hexadecimal(p) for p in rater_colours(len(rows))]
    parts = []
    for row, ((key, values), paint) in enumerate(zip(shares.items(), [INK, *paints], strict=True)):
        ground = TOP + RIDGE * (row + 1) + (14 if row else 0)
        parts += _ridge(values, left, ground, step, tallest, paint, key or "all raters", levels)
        weight = None if key else "bold"
        parts.append(name(left - 12, ground - 6, key or "all raters", text_anchor="end", font_weight=weight))
        n = int((whole if not key else rows[key]).sum())
        parts += _ridge_notes(left + WIDE + 12, ground, (means or {}).get(key, math.nan), n)
    bottom = TOP + RIDGE * len(shares) + 14
    slant = max(map(len, levels)) * 11 * LETTER > step - 4
    for k, words in enumerate(levels):
        parts.append(_tick(left + step * (k + 0.5), bottom + 16, words, slant))
    drop = 36 + (names_width(levels, 11) * 0.6 if slant else 0)
    parts.append(text(left + WIDE / 2, bottom + drop, "confidence", fill=PALE_INK, text_anchor="middle"))
    return document(left + WIDE + 116, bottom + drop + 16, title, parts)


def _ridge(
    values: NDArray[np.float64], left: float, ground: float, step: float, tallest: float, paint: str, who: str,
    levels: Sequence[str],
) -> list[str]:  # fmt: skip
    parts = [line(left, ground, left + WIDE, ground, RULE)]
    for k, share in enumerate(values.tolist()):
        if not share:
            continue
        high = share / tallest * (RIDGE - 16)
        hover = tag("title", clean(f"{who}: {share:.1%} at {levels[k]}"))
        shape = {"x": left + step * k + 2, "y": ground - high, "width": step - 4, "height": high}
        parts.append(tag("rect", hover, fill=paint, fill_opacity=0.85, **shape))
        if step > 34:
            middle = left + step * (k + 0.5)
            parts.append(text(middle, ground - high - 3, f"{share:.0%}", size=9.5, fill=PALE_INK, text_anchor="middle"))
    return parts


def _ridge_notes(x: float, ground: float, mean: float, n: int) -> list[str]:
    shown = [text(x, ground - 16, f"mean {format_number(mean)}", size=11)] if math.isfinite(mean) else []
    return [*shown, text(x, ground - 3, f"n = {n}", size=11, fill=PALE_INK)]


def _tick(x: float, y: float, words: str, slant: bool) -> str:
    if slant:
        turned = f"rotate(-35 {x:.2f} {y:.2f})"
        return text(x, y, words, size=11, fill=PALE_INK, text_anchor="end", transform=turned)
    return text(x, y, words, size=11, fill=PALE_INK, text_anchor="middle")


def confidence_errors(
    levels: Sequence[str], judged: ArrayLike, wrong: ArrayLike, title: str, *, truth: str = "the reference"
) -> str:
    """The share of wrong ratings at each level of confidence, above how many there are, right and wrong."""
    asked, errors = np.asarray(judged, np.float64), np.asarray(wrong, np.float64)
    if asked.shape != (len(levels),) or errors.shape != asked.shape or not len(levels):
        raise CallError(f"judged and wrong are one number for each of {len(levels)} levels")
    share = np.divide(errors, asked, out=np.full(len(asked), np.nan), where=asked > 0)
    step, middle, bottom = WIDE / len(levels), TOP + 190.0, TOP + 340.0
    up = Axis.over([0.0, min(1.0, 1.1 * float(np.nanmax(share, initial=0.05)))], middle, TOP + 6)
    below = Axis(0.0, max(1.0, float(asked.max())), bottom, middle + 40)
    right = LEFT + WIDE
    parts = [*left_axis(up, LEFT, right, "share wrong"), line(LEFT, bottom, right, bottom)]
    turned = f"rotate(-90 {LEFT - 46:.0f} {(middle + bottom) / 2 + 14:.0f})"
    height = (middle + bottom) / 2 + 14
    parts.append(text(LEFT - 46, height, "ratings", fill=PALE_INK, text_anchor="middle", transform=turned))
    total = errors.sum() / asked.sum() if asked.sum() else math.nan
    if math.isfinite(total):
        parts.append(line(LEFT, up(total), right, up(total), ALARM, stroke_width=1.2, stroke_dasharray="5 4"))
        parts.append(text(right + 8, up(total) + 4, f"all {total:.1%}", size=11, fill=ALARM))
    parts += _error_columns(levels, asked, errors, share, step, up, below)
    slant = max(map(len, levels)) * 11 * LETTER > step - 4
    parts += [_tick(LEFT + step * (k + 0.5), bottom + 16, words, slant) for k, words in enumerate(levels)]
    drop = 36 + (names_width(levels, 11) * 0.6 if slant else 0)
    parts.append(text(LEFT + WIDE / 2, bottom + drop, "confidence", fill=PALE_INK, text_anchor="middle"))
    parts += _error_legend(right + 8, middle + 44, truth)
    return document(right + 128, bottom + drop + 16, title, parts)


def _error_columns(
    levels: Sequence[str], asked: NDArray[np.float64], errors: NDArray[np.float64], share: NDArray[np.float64],
    step: float, up: Axis, below: Axis,
) -> list[str]:  # fmt: skip
    parts: list[str] = []
    dots: list[tuple[float, float] | None] = []
    for k, words in enumerate(levels):
        x, wide = LEFT + step * (k + 0.5), min(46.0, step - 8)
        hover = tag("title", clean(f"confidence {words}: {errors[k]:.0f} wrong of {asked[k]:.0f}"))
        good = asked[k] - errors[k]
        parts.append(rect(x - wide / 2, below(good), wide, below(0) - below(good), RIGHT))
        parts.append(rect(x - wide / 2, below(asked[k]), wide, below(good) - below(asked[k]), WRONG))
        parts.append(text(x, below(asked[k]) - 4, f"{asked[k]:.0f}", size=10, fill=PALE_INK, text_anchor="middle"))
        dots.append((x, up(float(share[k]))) if math.isfinite(share[k]) else None)
        if math.isfinite(share[k]):
            y = up(float(share[k]))
            parts.append(tag("circle", hover, cx=x, cy=y, r=4.5, fill=WRONG, stroke=INK))
            parts.append(text(x, y - 9, f"{share[k]:.1%}", size=11, text_anchor="middle", **HALO))
    return _connecting_lines(dots) + parts


def _connecting_lines(dots: Sequence[tuple[float, float] | None]) -> list[str]:
    """Lines between neighbours; none across a level without ratings."""
    ends = [(a, b) for a, b in pairwise(dots) if a is not None and b is not None]
    return [line(*a, *b, WRONG, stroke_width=1.6) for a, b in ends]


def _error_legend(x: float, y: float, truth: str) -> list[str]:
    parts = []
    for row, (paint, words) in enumerate(((RIGHT, "right"), (WRONG, "wrong"))):
        parts += [rect(x, y + 18 * row - 9, 10, 10, paint), text(x + 16, y + 18 * row, words, size=11)]
    lines = ["by", *truth.split(" of ", 1)] if " of " in truth else [f"by {truth}"]
    lines = [f"by {truth}"] if len(lines) == 1 else [f"by {lines[1]}", f"of {lines[2]}"]
    return parts + [text(x, y + 42 + 14 * i, words, size=11, fill=PALE_INK) for i, words in enumerate(lines)]

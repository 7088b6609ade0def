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
from . import svg
from .colours import hexadecimal, rater_colours
from .svg import ALARM, HALO, INK, LETTER, PALE_INK, RULE, TOP, Axis, Side

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
    of = f" ({svg.shorten(positive, 24)})" if positive else ""
    known = {key: (x, y) for key, (x, y) in points.items() if math.isfinite(x) and math.isfinite(y)}
    part = _part(list(known.values()))
    across, up = Axis(0.0, part, LEFT, LEFT + SIDE), Axis(1.0 - part, 1.0, TOP + SIDE, TOP)
    parts = svg.bottom_axis(across, TOP, TOP + SIDE, "1 − specificity")
    parts += svg.left_axis(up, LEFT, LEFT + SIDE, f"sensitivity{of}")
    if part > 0.5:
        ends = across(1 - part), up(1 - part), across(part), up(part)
        parts.append(svg.line(*ends, ALARM, stroke_width=1.2, stroke_dasharray="5 4"))
    paints = dict(zip(points, map(hexadecimal, rater_colours(len(points))), strict=True))
    for key, (x, y) in known.items():
        hover = f"{key}: sensitivity {svg.format_number(y)}, specificity {svg.format_number(1 - x)}"
        parts.append(_disc(across(x), up(y), paints[key], hover))
    at = {key: (across(x), up(y)) for key, (x, y) in known.items()}
    parts += svg.point_names(at, list(at), SIDES, (LEFT, TOP - 4, LEFT + SIDE, TOP + SIDE), 6)
    wide, low, entries = _roc_legend(points, list(paints.values()), LEFT + SIDE + 26)
    parts += entries + (_whole_square(LEFT + SIDE + 26, low + 10, part) if part < 1 else [])
    bottom = max(TOP + SIDE + 52, low + 12 + (INSET + 24 if part < 1 else 0))
    return svg.document(LEFT + SIDE + 26 + wide + 16, bottom, title, parts)


def _part(places: Sequence[tuple[float, float]]) -> float:
    """The side of the smallest of three squares in the upper left that holds all points, not at its far edges."""
    reach = max((max(x, 1 - y) for x, y in places), default=1.0)
    return next((side for side in (0.25, 0.5) if reach <= 0.96 * side), 1.0)


def _whole_square(x: float, y: float, part: float) -> list[str]:
    """Which part of the square is drawn large."""
    style = {"fill": "none", "stroke": PALE_INK, "width": INSET, "height": INSET}
    return [
        svg.rect(x, y, INSET * part, INSET * part, "#d9e6f2"),
        svg.tag("rect", x=x, y=y, **style),
        svg.line(x, y + INSET, x + INSET, y, ALARM, stroke_width=1.2, stroke_dasharray="5 4"),
        svg.text(x, y + INSET + 14, "part that is shown", size=11, fill=PALE_INK),
    ]


def _disc(x: float, y: float, paint: str, words: str) -> str:
    style = {"fill": paint, "fill_opacity": 0.9, "stroke": INK, "stroke_width": 1}
    return svg.tag("circle", svg.tooltip(words), cx=float(x), cy=float(y), r=5.0, **style)


def _roc_legend(
    points: Mapping[str, tuple[float, float]], paints: Sequence[str], x: float
) -> tuple[float, float, list[str]]:
    """A disc, the name, sensitivity and specificity of every rater; and how wide and how far down it goes."""
    column = x + 18 + max(svg.names_width(points), 36) + 14
    heads = ((column, "sens."), (column + 44, "spec."))
    parts = [svg.text(at, TOP + 8, words, size=11, fill=PALE_INK) for at, words in heads]
    for row, ((key, (false, hit)), paint) in enumerate(zip(points.items(), paints, strict=True), start=1):
        y = TOP + 8 + ROW * row
        parts += [_disc(x + 5, y - 4, paint, key), svg.name(x + 18, y, key)]
        parts += [svg.text(column, y, svg.format_number(hit)), svg.text(column + 44, y, svg.format_number(1 - false))]
    y = TOP + 8 + ROW * (len(points) + 1) + 6
    parts.append(svg.line(x - 2, y - 4, x + 13, y - 4, ALARM, stroke_width=1.2, stroke_dasharray="5 4"))
    return column + 80 - x, y, [*parts, svg.text(x + 18, y, "guessing", fill=PALE_INK)]


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
    left = 28 + max(svg.names_width(rows), svg.names_width(["all raters"]))
    step, paints = WIDE / len(levels), [hexadecimal(p) for p in rater_colours(len(rows))]
    parts = []
    for row, ((key, values), paint) in enumerate(zip(shares.items(), [INK, *paints], strict=True)):
        ground = TOP + RIDGE * (row + 1) + (14 if row else 0)
        parts += _ridge(values, left, ground, step, tallest, paint, key or "all raters", levels)
        weight = None if key else "bold"
        parts.append(svg.name(left - 12, ground - 6, key or "all raters", text_anchor="end", font_weight=weight))
        n = int((whole if not key else rows[key]).sum())
        parts += _ridge_notes(left + WIDE + 12, ground, (means or {}).get(key, math.nan), n)
    bottom = TOP + RIDGE * len(shares) + 14
    drop, axis = _confidence_axis(levels, left, bottom)
    return svg.document(left + WIDE + 116, bottom + drop + 16, title, parts + axis)


def _ridge(
    values: NDArray[np.float64], left: float, ground: float, step: float, tallest: float, paint: str, who: str,
    levels: Sequence[str],
) -> list[str]:  # fmt: skip
    parts = [svg.line(left, ground, left + WIDE, ground, RULE)]
    for k, share in enumerate(values.tolist()):
        if not share:
            continue
        high = share / tallest * (RIDGE - 16)
        hover = svg.tooltip(f"{who}: {share:.1%} at {levels[k]}")
        shape = {"x": left + step * k + 2, "y": ground - high, "width": step - 4, "height": high}
        parts.append(svg.tag("rect", hover, fill=paint, fill_opacity=0.85, **shape))
        if step > 34:
            middle = left + step * (k + 0.5)
            parts.append(
                svg.text(middle, ground - high - 3, f"{share:.0%}", size=9.5, fill=PALE_INK, text_anchor="middle")
            )
    return parts


def _ridge_notes(x: float, ground: float, mean: float, n: int) -> list[str]:
    shown = [svg.text(x, ground - 16, f"mean {svg.format_number(mean)}", size=11)] if math.isfinite(mean) else []
    return [*shown, svg.text(x, ground - 3, f"n = {n}", size=11, fill=PALE_INK)]


def _confidence_axis(levels: Sequence[str], left: float, bottom: float) -> tuple[float, list[str]]:
    """The levels below their columns, slanted where they are long, and how far down they reach."""
    step, parts = WIDE / len(levels), []
    slant = max(map(len, levels)) * 11 * LETTER > step - 4
    for k, words in enumerate(levels):
        x, y = left + step * (k + 0.5), bottom + 16
        turned = f"rotate(-35 {x:.2f} {y:.2f})" if slant else None
        anchor = "end" if slant else "middle"
        parts.append(svg.text(x, y, words, size=11, fill=PALE_INK, text_anchor=anchor, transform=turned))
    drop = 36 + (svg.names_width(levels, 11) * 0.6 if slant else 0)
    parts.append(svg.text(left + WIDE / 2, bottom + drop, "confidence", fill=PALE_INK, text_anchor="middle"))
    return drop, parts


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
    parts = [*svg.left_axis(up, LEFT, right, "share wrong"), svg.line(LEFT, bottom, right, bottom)]
    turned = f"rotate(-90 {LEFT - 46:.0f} {(middle + bottom) / 2 + 14:.0f})"
    height = (middle + bottom) / 2 + 14
    parts.append(svg.text(LEFT - 46, height, "ratings", fill=PALE_INK, text_anchor="middle", transform=turned))
    total = errors.sum() / asked.sum() if asked.sum() else math.nan
    if math.isfinite(total):
        parts.append(svg.line(LEFT, up(total), right, up(total), ALARM, stroke_width=1.2, stroke_dasharray="5 4"))
        parts.append(svg.text(right + 8, up(total) + 4, f"all {total:.1%}", size=11, fill=ALARM))
    parts += _error_columns(levels, asked, errors, share, step, up, below)
    drop, axis = _confidence_axis(levels, LEFT, bottom)
    parts += axis + _error_legend(right + 8, middle + 44, truth)
    return svg.document(right + 128, bottom + drop + 16, title, parts)


def _error_columns(
    levels: Sequence[str], asked: NDArray[np.float64], errors: NDArray[np.float64], share: NDArray[np.float64],
    step: float, up: Axis, below: Axis,
) -> list[str]:  # fmt: skip
    parts: list[str] = []
    dots: list[tuple[float, float] | None] = []
    for k, words in enumerate(levels):
        x, wide = LEFT + step * (k + 0.5), min(46.0, step - 8)
        hover = svg.tooltip(f"confidence {words}: {errors[k]:.0f} wrong of {asked[k]:.0f}")
        good = asked[k] - errors[k]
        parts.append(svg.rect(x - wide / 2, below(good), wide, below(0) - below(good), RIGHT))
        parts.append(svg.rect(x - wide / 2, below(asked[k]), wide, below(good) - below(asked[k]), WRONG))
        parts.append(svg.text(x, below(asked[k]) - 4, f"{asked[k]:.0f}", size=10, fill=PALE_INK, text_anchor="middle"))
        dots.append((x, up(float(share[k]))) if math.isfinite(share[k]) else None)
        if math.isfinite(share[k]):
            y = up(float(share[k]))
            parts.append(svg.tag("circle", hover, cx=x, cy=y, r=4.5, fill=WRONG, stroke=INK))
            parts.append(svg.text(x, y - 9, f"{share[k]:.1%}", size=11, text_anchor="middle", **HALO))
    return _connecting_lines(dots) + parts


def _connecting_lines(dots: Sequence[tuple[float, float] | None]) -> list[str]:
    """Lines between neighbours; none across a level without ratings."""
    ends = [(a, b) for a, b in pairwise(dots) if a is not None and b is not None]
    return [svg.line(*a, *b, WRONG, stroke_width=1.6) for a, b in ends]


def _error_legend(x: float, y: float, truth: str) -> list[str]:
    parts = []
    for row, (paint, words) in enumerate(((RIGHT, "right"), (WRONG, "wrong"))):
        parts += [svg.rect(x, y + 18 * row - 9, 10, 10, paint), svg.text(x + 16, y + 18 * row, words, size=11)]
    what, of, whom = truth.partition(" of ")
    lines = [f"by {what}", f"of {whom}"] if of else [f"by {truth}"]
    return parts + [svg.text(x, y + 42 + 14 * i, words, size=11, fill=PALE_INK) for i, words in enumerate(lines)]

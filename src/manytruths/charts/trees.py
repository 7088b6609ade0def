"""The dendrogram: who draws like whom."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from .colours import hexadecimal, rater_colours
from .svg import ALARM, INK, LETTER, PALE_INK, Axis, bottom_axis, document, line, name, rect, room, shorten, tag, text

ROW, TOP, TREE = 24, 48, 460


def dendrogram(
    linkage: ArrayLike,
    names: Sequence[str],
    *,
    groups: Sequence[str] | None = None,
    cut: float | None = None,
    marked: Collection[str] = (),
    axis_label: str = "1 − F1",
    title: str = "Who draws like whom",
) -> str:
    """A tree of raters as SVG: the further right two branches join, the less their raters agree.

    Parameters
    ----------
    linkage
        As SciPy's ``linkage`` returns it: n − 1 rows of two joined clusters, their distance, and a size.
    groups
        A property of each rater, in the order of ``names``, such as expertise: a coloured square and a legend.
    cut
        A distance to draw a dashed line at.
    marked
        Names to stress: the outliers.
    """
    joins = np.asarray(linkage, float).reshape(-1, 4)
    if len(joins) != len(names) - 1 or (groups is not None and len(groups) != len(names)):
        raise CallError(f"{len(joins)} joins, {len(names)} names; n raters have n − 1 joins and n groups, if any")
    order = _leaves(joins, len(names))
    # Bold letters are a tenth wider.
    left = 16 + 1.1 * room(names) + 26 + (18 if groups is not None else 0)
    bottom = TOP + ROW * len(names)
    reach = [0.0, *joins[:, 2]] + ([cut] if cut is not None else [])
    axis = Axis.over(reach, left, left + TREE)
    parts = bottom_axis(axis, TOP, bottom, axis_label)
    parts += _branches(joins, order, axis)
    if cut is not None:
        parts.append(line(axis(cut), TOP - 4, axis(cut), bottom, ALARM, stroke_dasharray="5 4", stroke_width=1.5))
        parts.append(text(axis(cut), TOP - 8, f"cut {cut:.2f}", size=11, fill=ALARM, text_anchor="middle"))
    colours = _group_colours(groups or [])
    for row, leaf in enumerate(order):
        square = colours[groups[leaf]] if groups is not None else None
        parts += _leaf(names[leaf], TOP + ROW * row + ROW / 2, left, square, names[leaf] in marked)
    entries = [*((shorten(g), c) for g, c in colours.items()), *([("outlier", "")] if marked else [])]
    rows, key = _legend(entries, left, bottom + 62, TREE)
    return document(left + TREE + 28, bottom + 52 + 22 * rows, title, parts + key)


def _leaves(joins: NDArray[np.float64], count: int) -> list[int]:
    """Leaves from top to bottom, such that no branches cross."""
    stack, order = [2 * count - 2], []
    while stack:
        node = stack.pop()
        if node < count:
            order.append(node)
        else:
            stack += [int(joins[node - count, 1]), int(joins[node - count, 0])]
    return order


def _branches(joins: NDArray[np.float64], order: Sequence[int], axis: Axis) -> list[str]:
    place = {leaf: (TOP + ROW * row + ROW / 2, 0.0) for row, leaf in enumerate(order)}
    parts = []
    for step, (one, two, distance, _) in enumerate(joins):
        (y1, d1), (y2, d2) = place[int(one)], place[int(two)]
        place[len(order) + step] = ((y1 + y2) / 2, float(distance))
        route = f"M{axis(d1):.2f} {y1:.2f}H{axis(distance):.2f}V{y2:.2f}H{axis(d2):.2f}"
        parts.append(tag("path", d=route, fill="none", stroke="#45454d", stroke_width=1.6, stroke_linejoin="round"))
    return parts


def _leaf(words: str, y: float, left: float, square: str | None, stressed: bool) -> list[str]:
    end = left - 10 - (18 if square else 0)
    weight = "bold" if stressed else None
    parts = [name(end - 16, y + 4, words, text_anchor="end", font_weight=weight, fill=ALARM if stressed else INK)]
    if stressed:
        parts.append(_triangle(end - 6, y))
    if square:
        parts.append(rect(left - 22, y - 6, 12, 12, square, rx=2))
    return parts


def _triangle(x: float, y: float) -> str:
    return tag("path", d=f"M{x:.2f} {y - 5:.2f}l5 9h-10z", fill=ALARM)


def _group_colours(groups: Sequence[str]) -> dict[str, str]:
    kinds = list(dict.fromkeys(groups))
    return {kind: hexadecimal(c) for kind, c in zip(kinds, rater_colours(len(kinds)), strict=True)}


def _legend(entries: Sequence[tuple[str, str]], left: float, y: float, wide: float) -> tuple[int, list[str]]:
    """Entries from left to right, on as many lines as they need."""
    parts, x, row = [], left, 0
    for words, paint in entries:
        span = 18 + len(words) * 12 * LETTER + 18
        if x > left and x + span > left + wide:
            x, row = left, row + 1
        level = y + 22 * row
        parts.append(rect(x, level - 10, 12, 12, paint, rx=2) if paint else _triangle(x + 6, level - 4))
        parts.append(text(x + 18, level, words, fill=PALE_INK))
        x += span
    return (row + 1 if entries else 0), parts

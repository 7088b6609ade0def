"""Every rater against every other: the matrix of a statistic, and the dendrogram of who draws like whom, as SVG."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from . import svg
from .colours import colour_map, hexadecimal, is_light, rater_colours
from .svg import ALARM, INK, LETTER, PALE_INK, Axis

SLANT = 55
READABLE = 27
"""Cells narrower than this many units hold no number, only a colour."""
LEAF, TREE_TOP, TREE = 24, 48, 460
MANY = 60
"""More raters than this make a matrix without names and numbers, and a tree of narrow leaves."""
NARROW_LEAF, SMALL_LETTERS = 11, 9


def matrix(
    values: ArrayLike, names: Sequence[str], title: str, *, low: float = 0.0, high: float = 1.0, digits: int = 2
) -> str:
    """The numbers of all pairs, coloured from ``low`` to ``high``; undefined ones (nan) are struck out in grey."""
    table = np.asarray(values, float)
    if table.shape != (len(names), len(names)) or not len(names):
        raise CallError(f"values are {table.shape} for {len(names)} names; one row and one column a name")
    if not low < high:
        raise CallError(f"low is {low} and high {high}; low must be the smaller")
    if len(names) > MANY:
        return _picture_of(table, title, low, high)
    cell = float(np.clip(620 / len(names), 14, 46))
    left = 24 + svg.names_width(names)
    top = 52 + svg.names_width(names) * np.sin(np.radians(SLANT))
    overhang = svg.names_width(names[-1:]) * np.cos(np.radians(SLANT))
    wide = left + cell * len(names)
    paints = colour_map((table - low) / (high - low))
    parts = _headings(names, left, top, cell)
    for row, column in np.ndindex(table.shape):
        x, y, value = left + cell * column, top + cell * row, float(table[row, column])
        exact = svg.format_number(value, digits + 1) if np.isfinite(value) else "undefined"
        hover = f"{names[row]}, {names[column]}: {exact}"
        parts += _cell(x, y, cell, value, paints[row, column], svg.format_number(value, digits), hover)
    bottom = top + cell * len(names)
    parts += _scale(left, bottom + 18, min(220.0, cell * len(names)), low, high)
    return svg.document(max(wide + max(24.0, overhang), 260.0), bottom + 58, title, parts)


def _picture_of(table: NDArray[np.float64], title: str, low: float, high: float) -> str:
    """The matrix of many raters: a pixel a pair, enlarged."""
    from base64 import b64encode
    from io import BytesIO

    from PIL import Image

    paints = colour_map((table - low) / (high - low))
    paints[~np.isfinite(table)] = UNDEFINED
    content = BytesIO()
    Image.fromarray(paints).save(content, "PNG", optimize=True)
    side, left, top = 620.0, 24.0, 72.0
    link = f"data:image/png;base64,{b64encode(content.getvalue()).decode()}"
    words = f"{len(table)} raters, in the same order from left to right and from top to bottom; grey: not comparable"
    parts = [
        svg.text(left, top - 14, words, size=11, fill=PALE_INK),
        svg.tag("image", href=link, x=left, y=top, width=side, height=side, style="image-rendering: pixelated"),
        *_scale(left, top + side + 18, 220.0, low, high),
    ]
    return svg.document(left + side + 24, top + side + 58, title, parts)


UNDEFINED = (0xEC, 0xEC, 0xEF)


def _headings(names: Sequence[str], left: float, top: float, cell: float) -> list[str]:
    parts = []
    size = min(12.0, cell * 0.7)
    for index, words in enumerate(names):
        middle = cell * (index + 0.5)
        parts.append(svg.name(left - 10, top + middle + 4, words, size=size, text_anchor="end"))
        x, y = left + middle + 3, top - 8
        parts.append(svg.name(x, y, words, size=size, transform=f"rotate(-{SLANT} {x:.2f} {y:.2f})"))
    return parts


def _cell(x: float, y: float, cell: float, value: float, paint: object, words: str, hover: str) -> list[str]:
    fill = hexadecimal(paint) if np.isfinite(value) else "#ececef"
    size = {"width": cell - 1, "height": cell - 1}
    parts = [svg.tag("rect", svg.tooltip(hover), x=x, y=y, fill=fill, **size)]
    if not np.isfinite(value):
        parts.append(svg.line(x + 3, y + cell - 4, x + cell - 4, y + 3, "#c4c4cc"))
    if cell >= READABLE:
        # As large as the cell allows, since tables with a minus or a third digit are wider.
        letters = min(13.0, (cell - 5) / (len(words) * LETTER))
        ink = PALE_INK if not np.isfinite(value) else "#000000" if is_light(paint) else "#ffffff"
        middle, base = x + (cell - 1) / 2, y + cell / 2 + letters * 0.34
        parts.append(svg.text(middle, base, words, size=letters, fill=ink, text_anchor="middle"))
    return parts


def _scale(x: float, y: float, wide: float, low: float, high: float) -> list[str]:
    count = 40
    paints = [hexadecimal(c) for c in colour_map(np.linspace(0, 1, count))]
    patch = {"width": wide / count + 0.5, "height": 9.0, "shape_rendering": "crispEdges"}
    parts = [svg.tag("rect", x=x + wide * n / count, y=y, fill=paint, **patch) for n, paint in enumerate(paints)]
    ends = ((x, low, "start"), (x + wide, high, "end"))
    return parts + [
        svg.text(at, y + 24, f"{end:g}", size=11, fill=PALE_INK, text_anchor=side) for at, end, side in ends
    ]


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
    left = 16 + 1.1 * svg.names_width(names) + 26 + (18 if groups is not None else 0)
    leaf = LEAF if len(names) <= MANY else NARROW_LEAF
    bottom = TREE_TOP + leaf * len(names)
    reach = [0.0, *joins[:, 2]] + ([cut] if cut is not None else [])
    axis = Axis.over(reach, left, left + TREE)
    parts = svg.bottom_axis(axis, TREE_TOP, bottom, axis_label)
    parts += _branches(joins, order, axis, leaf)
    if cut is not None:
        parts.append(
            svg.line(axis(cut), TREE_TOP - 4, axis(cut), bottom, ALARM, stroke_dasharray="5 4", stroke_width=1.5)
        )
        parts.append(svg.text(axis(cut), TREE_TOP - 8, f"cut {cut:.2f}", size=11, fill=ALARM, text_anchor="middle"))
    colours = _group_colours(groups or [])
    for row, who in enumerate(order):
        square = colours[groups[who]] if groups is not None else None
        parts += _leaf(names[who], TREE_TOP + leaf * (row + 0.5), left, square, names[who] in marked, leaf)
    entries = [*((svg.shorten(g), c) for g, c in colours.items()), *([("outlier", "")] if marked else [])]
    rows, key = svg.legend_rows(entries, left, bottom + 62, TREE)
    return svg.document(left + TREE + 28, bottom + 52 + 22 * rows, title, parts + key)


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


def _branches(joins: NDArray[np.float64], order: Sequence[int], axis: Axis, leaf: float) -> list[str]:
    place = {who: (TREE_TOP + leaf * (row + 0.5), 0.0) for row, who in enumerate(order)}
    parts = []
    for step, (first, second, distance, _) in enumerate(joins):
        (y1, d1), (y2, d2) = place[int(first)], place[int(second)]
        place[len(order) + step] = ((y1 + y2) / 2, float(distance))
        route = f"M{axis(d1):.2f} {y1:.2f}H{axis(distance):.2f}V{y2:.2f}H{axis(d2):.2f}"
        parts.append(svg.tag("path", d=route, fill="none", stroke="#45454d", stroke_width=1.6, stroke_linejoin="round"))
    return parts


def _leaf(words: str, y: float, left: float, square: str | None, stressed: bool, leaf: float) -> list[str]:
    end = left - 10 - (18 if square else 0)
    size, side = (12, 12) if leaf >= LEAF else (SMALL_LETTERS, NARROW_LEAF - 2)
    style = {"font_weight": "bold" if stressed else None, "fill": ALARM if stressed else INK}
    parts = [svg.name(end - 16, y + size / 3, words, size=size, text_anchor="end", **style)]  # type: ignore[arg-type]
    if stressed:
        parts.append(svg.triangle(end - 6, y))
    if square:
        parts.append(svg.rect(left - 22, y - side / 2, side, side, square, rx=2))
    return parts


def _group_colours(groups: Sequence[str]) -> dict[str, str]:
    kinds = list(dict.fromkeys(groups))
    return {kind: hexadecimal(c) for kind, c in zip(kinds, rater_colours(len(kinds)), strict=True)}

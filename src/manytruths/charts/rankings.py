"""Rankings as SVG: sets of ranks, who beats whom, shares of ranks, and ranks under every reference standard.

Algorithms come in the order in which they are drawn, the best first.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike

from ..core.errors import CallError
from . import svg
from .colours import colour_map, hexadecimal, is_light
from .svg import BLUE, INK, LETTER, PALE_INK, RULE

ROW, TOP, SLANT, READABLE = 26.0, 44.0, 55, 24
WEAK = "#eeeef1"
MOST_TICKS = 25
LONGEST = 26
"""Letters of a name: versions of one network differ at the end."""
Square = tuple[str, str, str, str]
"""Fill, text under the pointer, words (or none) and their colour."""


def rank_whiskers(
    ranks: Mapping[str, tuple[float, float, float]], title: str, *, groups: Sequence[tuple[int, int]] = (),
    every: str = "",
) -> str:  # fmt: skip
    """A dot at each algorithm's rank with whiskers from low to high, nan drawing none.

    ``groups`` are stretches of rows (first and last) of whom none is significantly better than another: bars at the
    right join them. ``every`` says under which metrics and reference standards at once, where there are several.
    """
    if not ranks:
        raise CallError("ranks is empty; give one algorithm or more")
    left, count = 28 + svg.names_width(ranks, longest=LONGEST), len(ranks)
    wide = float(np.clip(count * 30, 180, 560))
    bottom = TOP + ROW * count
    lanes = _lanes(groups)
    right = left + wide + 20
    parts = _rank_axis(count, left + 12, left + wide - 12, TOP, bottom)
    for row, (key, (rank, low, high)) in enumerate(ranks.items()):
        y = TOP + ROW * (row + 0.5)
        x, start, end = (_at(value, count, left + 12, left + wide - 12) for value in (rank, low, high))
        parts.append(_name(left - 12, y + 4, key, text_anchor="end"))
        if math.isfinite(start) and math.isfinite(end):
            route = f"M{start:.2f} {y - 5:.2f}v10m0 -5H{end:.2f}m0 -5v10"
            parts.append(svg.tag("path", d=route, fill="none", stroke=INK, stroke_width=1.5))
        known = f" ({low:.0f}–{high:.0f})" if math.isfinite(start) and math.isfinite(end) else ""
        hover = svg.tooltip(f"{key}: {svg.format_number(rank, 0)}{known}")
        parts.append(svg.tag("circle", hover, cx=x, cy=y, r=5.0, fill=BLUE, stroke="#ffffff"))
    for (first, last), lane in zip(groups, lanes, strict=True):
        x = right + 9 * lane
        ends = TOP + ROW * first + 5, TOP + ROW * (last + 1) - 5
        parts.append(svg.line(x, ends[0], x, ends[1], PALE_INK, stroke_width=3, stroke_linecap="round"))
    captions = (
        ["whiskers: simultaneous confidence sets"] if any(np.isfinite(r[1:]).all() for r in ranks.values()) else []
    )
    bars = "bars at the right join algorithms that cannot be told apart"
    several = ["bars at the right join algorithms of which none is", f"significantly better than another{every}"]
    captions += (several if every else [bars]) if groups else []
    parts += _captions(captions, bottom + 58)
    paper = max(right + 9 * (max(lanes, default=0) + 1) + 16, _wide(captions))
    return svg.document(paper, bottom + (58 + 16 * len(captions) if captions else 52), title, parts)


def _captions(lines: Sequence[str], top: float) -> list[str]:
    return [svg.text(16, top + 16 * i, words, size=11, fill=PALE_INK) for i, words in enumerate(lines)]


def _wide(lines: Sequence[str]) -> float:
    """Paper that is wide enough for lines of small letters."""
    return 32 + max(map(len, lines), default=0) * 11 * LETTER


def _name(x: float, y: float, words: str, **attributes: object) -> str:
    """A name; where its middle is left out, the whole of it shows under the pointer."""
    short = words if len(words) <= LONGEST else f"{words[: LONGEST // 2 - 1]}…{words[-LONGEST // 2 :]}"
    whole = [svg.tooltip(words)] if short != words else []
    look = {"font_size": 12, "fill": INK} | attributes
    return svg.tag("text", *whole, svg.clean(short), x=float(x), y=float(y), **look)


def _lanes(groups: Sequence[tuple[int, int]]) -> list[int]:
    """For each bar, the first lane in which it touches no other."""
    ends: list[int] = []
    lanes = []
    for first, last in groups:
        lane = next((i for i, end in enumerate(ends) if end < first), len(ends))
        ends[lane : lane + 1] = [last]
        lanes.append(lane)
    return lanes


def _at(rank: float, count: int, start: float, end: float) -> float:
    return start + (rank - 1) / max(count - 1, 1) * (end - start)


def _rank_axis(count: int, start: float, end: float, top: float, bottom: float) -> list[str]:
    every = 1 if count <= MOST_TICKS else 5 * math.ceil(count / MOST_TICKS / 5)
    ticks = [rank for rank in range(1, count + 1) if rank == 1 or rank % every == 0]
    parts = [svg.line(_at(r, count, start, end), top, _at(r, count, start, end), bottom) for r in ticks]
    parts += [
        svg.text(_at(r, count, start, end), bottom + 16, str(r), size=11, fill=PALE_INK, text_anchor="middle")
        for r in ticks
    ]
    return [*parts, svg.text((start + end) / 2, bottom + 36, "rank", fill=PALE_INK, text_anchor="middle")]


def significance_map(
    p: ArrayLike, names: Sequence[str], title: str, *, alpha: float = 0.05, every: str = ""
) -> str:  # fmt: skip
    """A filled square where the row is significantly better than the column: p of all ordered pairs, adjusted.

    ``every`` says under which metrics and reference standards at once: p is then the largest of theirs.
    """
    table = np.asarray(p, float)
    if table.shape != (len(names), len(names)) or not len(names):
        raise CallError(f"p is {table.shape} for {len(names)} names; one row and one column a name")
    cell = float(np.clip(620 / len(names), 14, 40))

    def square(row: int, column: int) -> Square | None:
        if row == column:
            return None
        value = float(table[row, column])
        verb = "is significantly better than" if value < alpha else "is not significantly better than"
        hover = f"{names[row]} {verb} {names[column]}{every}: {'largest ' if every else ''}p = {value:.3g}"
        fill, ink = (BLUE, "#ffffff") if value < alpha else (WEAK, PALE_INK)
        readable = cell >= READABLE and (value < alpha or cell >= 34)
        return fill, hover, _short(value, alpha) if readable else "", ink

    left, right, bottom, parts = _squares(names, names, cell, square)
    better = f"the row is better than the column (adjusted p < {alpha:g})"
    lines = [better, f"{every.strip()}; numbers are the largest p"] if every else [f"{better}; numbers are p"]
    label = [svg.text(left + 18, bottom + 24 + 16 * i, line, size=11, fill=PALE_INK) for i, line in enumerate(lines)]
    parts += [svg.rect(left, bottom + 14, 12, 12, BLUE), *label]
    wide = left + 24 + max(map(len, lines)) * 11 * LETTER
    return svg.document(max(right, wide), bottom + 26 + 16 * len(lines), title, parts)


def _squares(
    rows: Sequence[str], columns: Sequence[str], cell: float, square: Callable[[int, int], Square | None]
) -> tuple[float, float, float, list[str]]:
    """A square for each row and column, with names at the left and above; its left, right and bottom, and its parts."""
    left = 24 + svg.names_width(rows, longest=LONGEST)
    top = 52 + svg.names_width(columns, longest=LONGEST) * math.sin(math.radians(SLANT))
    size = min(12.0, cell * 0.7)
    parts = [
        _name(left - 10, top + cell * (i + 0.5) + 4, words, font_size=size, text_anchor="end")
        for i, words in enumerate(rows)
    ]
    for i, words in enumerate(columns):
        x, y = left + cell * (i + 0.5) + 3, top - 8
        parts.append(_name(x, y, words, font_size=size, transform=f"rotate(-{SLANT} {x:.2f} {y:.2f})"))
    for row, column in np.ndindex(len(rows), len(columns)):
        if (look := square(row, column)) is None:
            continue
        fill, hover, words, ink = look
        x, y, side = left + cell * column, top + cell * row, {"width": cell - 1, "height": cell - 1}
        parts.append(svg.tag("rect", svg.tooltip(hover), x=x, y=y, fill=fill, **side))
        if words:
            letters = min(12.0, (cell - 5) / (max(len(words), 2) * LETTER))
            middle, base = x + (cell - 1) / 2, y + cell / 2 + letters * 0.34
            parts.append(svg.text(middle, base, words, size=letters, fill=ink, text_anchor="middle"))
    overhang = svg.names_width(columns[-1:], longest=LONGEST) * math.cos(math.radians(SLANT))
    return left, left + cell * len(columns) + max(24.0, overhang), top + cell * len(rows), parts


def _short(p: float, alpha: float) -> str:
    """p in a few letters: ``<.001``, ``.004``, ``.03``, ``1.00``; a third digit where two would hide p < alpha."""
    if p < 0.001:
        return "<.001"
    close = (round(p, 2) < alpha) != (p < alpha)
    return f"{p:.{3 if p < 0.0095 or close else 2}f}".removeprefix("0")


def rank_blobs(shares: ArrayLike, names: Sequence[str], title: str, *, ranks: Sequence[float] = ()) -> str:
    """How often each algorithm (row) had each rank (column) in resamples, as areas; a cross marks its rank in all."""
    table = np.asarray(shares, float)
    count = len(names)
    if table.shape != (count, count) or not count:
        raise CallError(f"shares are {table.shape} for {count} names; one row and one column each")
    cell = float(np.clip(620 / count, 18, 34))
    left, top = 28 + svg.names_width(names, longest=LONGEST), TOP
    bottom, wide = top + cell * count, cell * count
    parts = _rank_axis(count, left + cell / 2, left + wide - cell / 2, top, bottom)
    for row, key in enumerate(names):
        y = top + cell * (row + 0.5)
        parts.append(svg.line(left, y, left + wide, y, RULE))
        parts.append(_name(left - 12, y + 4, key, font_size=min(12.0, cell * 0.7), text_anchor="end"))
        for place in np.flatnonzero(np.nan_to_num(table[row]) > 0):
            x, share = left + cell * (int(place) + 0.5), float(table[row, place])
            hover = svg.tooltip(f"{key}: rank {place + 1} in {_share(share)} of resamples")
            radius = max(1.2, math.sqrt(share) * (cell / 2 - 0.5))
            parts.append(svg.tag("circle", hover, cx=x, cy=y, r=radius, fill=BLUE, fill_opacity=0.75))
    for row, rank in enumerate(ranks):
        across, y = left + cell * (rank - 0.5), top + cell * (row + 0.5)
        parts.append(svg.tag("path", d=f"M{across - 4:.2f} {y - 4:.2f}l8 8m0 -8l-8 8", stroke=INK, stroke_width=1.6))
    words = "area: share of resamples, ties in equal parts" + ("; cross: rank in all data" if len(ranks) else "")
    parts += _captions([words], bottom + 58)
    return svg.document(max(left + wide + 24, _wide([words])), bottom + 74, title, parts)


def _share(share: float) -> str:
    """A percentage; what happened in some resamples is neither 0% nor 100%."""
    return "< 1%" if share < 0.005 else "> 99%" if 0.995 <= share < 1 else f"{share:.0%}"


def rank_table(ranks: ArrayLike, names: Sequence[str], references: Sequence[str], title: str) -> str:
    """The rank of each algorithm (row) under each reference standard (column); the first lightest, nan struck out."""
    table = np.asarray(ranks, float)
    if table.shape != (len(names), len(references)) or not table.size:
        raise CallError(
            f"ranks are {table.shape} for {len(names)} names and {len(references)} references; one row a name"
        )
    cell = float(np.clip(620 / max(table.shape), 16, 34))
    paints = colour_map(1 - (table - 1) / max(len(names) - 1, 1))

    def square(row: int, column: int) -> Square:
        paint, rank = paints[row, column], svg.format_number(float(table[row, column]), 0)
        hover = f"{names[row]} under {references[column]}: {rank}"
        return hexadecimal(paint), hover, rank, "#000000" if is_light(paint) else "#ffffff"

    _, right, bottom, parts = _squares(names, references, cell, square)
    return svg.document(max(right, 260.0), bottom + 20, title, parts)

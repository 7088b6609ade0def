"""Charts as SVG: the class that charts are, the elements they are made of, axes, legends and labels."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

INK, PALE_INK, RULE, ALARM, BLUE = "#1c1c20", "#63636c", "#dcdce0", "#c04a00", "#0072b2"
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
LETTER = 0.58
"""Width of a letter as a share of its size, on the generous side: the font is the browser's."""
LONGEST_NAME = 14
WIDE, TOP = 460, 44
"""Width of a plot, and where it begins below the title."""
HALO: dict[str, Any] = {"stroke": "#ffffff", "stroke_width": 3, "paint_order": "stroke"}
"""Makes words legible on lines."""

Place = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, top, right and bottom."""
Side = tuple[float, float, float]
"""Where a label may be: its offset from the point by x and y, and the share of its width that lies left of there."""


class Chart(str):
    """A chart as SVG text, which notebooks show as a picture.

    >>> chart = Chart('<svg xmlns="http://www.w3.org/2000/svg"/>')
    >>> chart.startswith("<svg")
    True
    """

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return str(self)

    def save(self, path: Path | str) -> None:
        """Write the chart to an ``.svg`` file.

        Parameters
        ----------
        path : Path or str
            The file; one that exists is overwritten.
        """
        Path(path).write_text(self, encoding="utf-8")


def tag(name: str, *content: str, **attributes: object) -> str:
    """One element. Attributes are escaped, content is not; ``_`` stands for ``-``, and None leaves one out."""
    given = ((key.strip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    start = f"<{name}" + "".join(f' {key}="{escape(_number(value))}"' for key, value in given)
    return f"{start}>{''.join(content)}</{name}>" if content else f"{start}/>"


def tooltip(words: str) -> str:
    """Words that show under the pointer; the first content of an element."""
    return tag("title", clean(words))


def _number(value: object) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def text(x: float, y: float, words: str, *, size: float = 12, fill: str = INK, **attributes: object) -> str:
    """Words whose baseline starts at a point."""
    return tag("text", clean(words), x=float(x), y=float(y), font_size=size, fill=fill, **attributes)


def name(
    x: float,
    y: float,
    words: str,
    *,
    size: float = 12,
    fill: str = INK,
    longest: int = LONGEST_NAME,
    **attributes: object,
) -> str:
    """A name, shortened where it is long; then the whole of it shows under the pointer."""
    short = shorten(words, longest)
    whole = [tooltip(words)] if short != words else []
    return tag("text", *whole, clean(short), x=float(x), y=float(y), font_size=size, fill=fill, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = RULE, **attributes: object) -> str:
    """A straight line."""
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), stroke=stroke, **attributes)


def rect(x: float, y: float, width: float, height: float, fill: str, **attributes: object) -> str:
    """A filled rectangle."""
    size = {"width": float(width), "height": float(height)}
    return tag("rect", x=float(x), y=float(y), fill=fill, **size, **attributes)


MANY_DOTS = 2000
"""So many discs of a chart are one element, without words under the pointer: each of its own would be megabytes."""


def dots(places: Iterable[tuple[float, float]], radius: float, paint: str, opacity: float) -> str:
    """Discs as one element; those at one place are drawn once."""
    ends = "".join(dict.fromkeys(f"M{x:.1f} {y:.1f}h0" for x, y in places))
    style = {"stroke_width": 2 * radius, "stroke_linecap": "round", "stroke_opacity": opacity}
    return tag("path", d=ends, fill="none", stroke=paint, **style)


def document(width: float, height: float, title: str, parts: Iterable[str]) -> Chart:
    """A whole chart on white paper, its title above the parts (which start 36 below the top)."""
    letter = 15 * LETTER * 1.1
    width = max(width, min(560.0, 32 + letter * len(title)))
    head = text(16, 24, shorten(title, int((width - 32) / letter)), size=15, font_weight="bold") if title else ""
    svg = tag(
        "svg",
        tooltip(title or "chart"),
        rect(0, 0, width, height, "#ffffff"),
        head,
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_number(float(width))} {_number(float(height))}",
        width=round(width),
        height=round(height),
        role="img",
        aria_label=clean(title or "chart", escaped=False),
        font_family=FONT,
    )
    return Chart(svg)


def clean(words: str, *, escaped: bool = True) -> str:
    """Text without characters that XML forbids."""
    legal = "".join(
        char for char in words if char >= " " and not (0xD800 <= ord(char) <= 0xDFFF or char in "\ufffe\uffff")
    )
    return escape(legal, quote=False) if escaped else legal


def shorten(words: str, longest: int = LONGEST_NAME) -> str:
    """At most ``longest`` letters, the last one an ellipsis where some are left out."""
    return words if len(words) <= longest else words[: max(1, longest - 1)].rstrip() + "…"


def names_width(names: Iterable[str], size: float = 12, longest: int = LONGEST_NAME) -> float:
    """Width of the longest of the names, as drawn."""
    return max((len(shorten(words, longest)) for words in names), default=0) * size * LETTER


def format_number(value: float, digits: int = 2) -> str:
    """A number with a true minus sign; a dash where it is undefined."""
    if not math.isfinite(value):
        return "–"
    written = f"{value:.{digits}f}"
    return written.replace("-", "−") if float(written) else written.replace("-", "")


@dataclass(frozen=True)
class Axis:
    """Values from ``low`` to ``high`` at places from ``start`` to ``end``."""

    low: float
    high: float
    start: float
    end: float
    least: float = 0.0
    """Smallest step between two ticks; 1 for whole numbers."""

    def __call__(self, value: float) -> float:
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)

    @classmethod
    def over(cls, values: Sequence[float], start: float, end: float, least: float = 0.0) -> Axis:
        """Round ends around the values."""
        finite = [float(v) for v in values if math.isfinite(v)] or [0.0, 1.0]
        low, high = min(finite), max(finite)
        if low == high:
            low, high = min(low, 0.0), max(high, 0.0) if high else 1.0
        step = max(_step(low, high), least)
        return cls(math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step, start, end, least)

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Round values along the axis, and how they are written."""
        step = max(_step(self.low, self.high), self.least)
        first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
        if not 1e-4 < step < 1e6:
            return [(n * step, f"{n * step:.3g}") for n in range(first, last + 1)]
        digits = max(0, -math.floor(math.log10(step) + 1e-9)) if step < 1 else 0
        return [(n * step, format_number(n * step, digits)) for n in range(first, last + 1)]


def _step(low: float, high: float, count: int = 5) -> float:
    """1, 2 or 5 times a power of ten, so that about ``count`` steps span the range."""
    rough = (high - low) / count
    power = 10 ** math.floor(math.log10(rough))
    return float(power * min((1, 2, 5, 10), key=lambda factor: abs(math.log(rough / (power * factor)))))


def bottom_axis(axis: Axis, top: float, bottom: float, label: str) -> list[str]:
    """Rules, ticks and a label below."""
    parts = [line(axis(v), top, axis(v), bottom) for v, _ in axis.ticks]
    parts += [
        text(axis(v), bottom + 16, words, size=11, fill=PALE_INK, text_anchor="middle") for v, words in axis.ticks
    ]
    middle = (axis.start + axis.end) / 2
    return [*parts, text(middle, bottom + 36, label, fill=PALE_INK, text_anchor="middle")]


def left_axis(axis: Axis, left: float, right: float, label: str) -> list[str]:
    """Rules and ticks, and the label along the axis."""
    parts = [line(left, axis(v), right, axis(v)) for v, _ in axis.ticks]
    parts += [text(left - 8, axis(v) + 4, words, size=11, fill=PALE_INK, text_anchor="end") for v, words in axis.ticks]
    middle = (axis.start + axis.end) / 2
    turned = f"rotate(-90 {_number(left - 46)} {_number(middle)})"
    return [*parts, text(left - 46, middle, label, fill=PALE_INK, text_anchor="middle", transform=turned)]


def whisker(axis: Axis, y: float, low: float, high: float) -> list[str]:
    """An interval; nothing where it is not known."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return []
    route = f"M{axis(low):.2f} {y - 5:.2f}v10m0 -5H{axis(high):.2f}m0 -5v10"
    return [tag("path", d=route, fill="none", stroke=INK, stroke_width=1.5)]


def triangle(x: float, y: float) -> str:
    """The mark of an outlier."""
    return tag("path", d=f"M{x:.2f} {y - 5:.2f}l5 9h-10z", fill=ALARM)


def legend_rows(
    entries: Iterable[tuple[str, str]], left: float, y: float, wide: float, **look: object
) -> tuple[int, list[str]]:
    """Squares of colour with names, from left to right on as many lines as they need; a triangle without a colour."""
    parts, x, row, count = [], left, 0, 0
    for words, paint in entries:
        span = 18 + len(words) * 12 * LETTER + 18
        if x > left and x + span > left + wide:
            x, row = left, row + 1
        level = y + 22 * row
        parts.append(rect(x, level - 10, 12, 12, paint, rx=2, **look) if paint else triangle(x + 6, level - 4))
        parts.append(text(x + 18, level, words, fill=PALE_INK))
        x, count = x + span, count + 1
    return (row + 1 if count else 0), parts


def free_sides(
    points: Mapping[str, Place], widths: Mapping[str, float], sides: Sequence[Side], limits: Box, radius: float = 5
) -> dict[str, Side]:
    """For each label of a width, the first side of its point where it covers no point and no other label."""
    taken = [(x - radius, y - radius, x + radius, y + radius) for x, y in points.values()]
    free = {}
    for key, wide in widths.items():
        for side in sides:
            left, low = points[key][0] + side[0] - side[2] * wide, points[key][1] + side[1]
            box = (left, low - 9, left + wide, low + 3)
            if _contains(limits, box) and not any(_overlap(box, other) for other in taken):
                taken.append(box)
                free[key] = side
                break
    return free


def point_names(
    points: Mapping[str, Place], chosen: Sequence[str], sides: Sequence[Side], limits: Box, radius: float = 5
) -> list[str]:
    """Names beside their points, at the first side that is free; none where all are taken."""
    widths = {key: len(shorten(key)) * 11 * LETTER for key in chosen}
    parts = []
    for key, (dx, dy, share) in free_sides(points, widths, sides, limits, radius).items():
        x, y = points[key]
        anchor = {0: "start", 0.5: "middle", 1: "end"}[share]
        parts.append(name(x + dx, y + dy, key, size=11, text_anchor=anchor, **HALO))
    return parts


def _contains(outer: Box, box: Box) -> bool:
    return box[0] >= outer[0] and box[1] >= outer[1] and box[2] <= outer[2] and box[3] <= outer[3]


def _overlap(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]

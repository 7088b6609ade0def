"""The little of SVG that the charts need."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

INK, PALE_INK, RULE, ALARM, BLUE = "#1c1c20", "#63636c", "#dcdce0", "#c04a00", "#0072b2"
FONT = "Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
LETTER = 0.58
"""Width of a letter as a share of its size, on the generous side: the font is the browser's."""
LONGEST_NAME = 14


def tag(name: str, *content: str, **attributes: object) -> str:
    """One element. Attributes are escaped, content is not; ``_`` stands for ``-``, and None leaves one out."""
    given = ((key.strip("_").replace("_", "-"), value) for key, value in attributes.items() if value is not None)
    start = f"<{name}" + "".join(f' {key}="{escape(_number(value))}"' for key, value in given)
    return f"{start}>{''.join(content)}</{name}>" if content else f"{start}/>"


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
    whole = [tag("title", clean(words))] if short != words else []
    return tag("text", *whole, clean(short), x=float(x), y=float(y), font_size=size, fill=fill, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, stroke: str = RULE, **attributes: object) -> str:
    """A straight line."""
    return tag("line", x1=float(x1), y1=float(y1), x2=float(x2), y2=float(y2), stroke=stroke, **attributes)


def rect(x: float, y: float, width: float, height: float, fill: str, **attributes: object) -> str:
    """A filled rectangle."""
    size = {"width": float(width), "height": float(height)}
    return tag("rect", x=float(x), y=float(y), fill=fill, **size, **attributes)


def document(width: float, height: float, title: str, parts: Iterable[str]) -> str:
    """A whole chart on white paper, its title above the parts (which start 36 below the top)."""
    letter = 15 * LETTER * 1.1
    width = max(width, min(560.0, 32 + letter * len(title)))
    head = text(16, 24, shorten(title, int((width - 32) / letter)), size=15, font_weight="bold") if title else ""
    return tag(
        "svg",
        tag("title", clean(title or "chart")),
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


def clean(words: str, *, escaped: bool = True) -> str:
    """Text without signs that XML forbids."""
    legal = "".join(
        sign for sign in words if sign >= " " and not (0xD800 <= ord(sign) <= 0xDFFF or sign in "\ufffe\uffff")
    )
    return escape(legal, quote=False) if escaped else legal


def shorten(words: str, longest: int = LONGEST_NAME) -> str:
    """At most so many letters, the last an ellipsis where some are left out."""
    return words if len(words) <= longest else words[: max(1, longest - 1)].rstrip() + "…"


def room(names: Iterable[str], size: float = 12, longest: int = LONGEST_NAME) -> float:
    """Width of the longest of the names, as drawn."""
    return max((len(shorten(words, longest)) for words in names), default=0) * size * LETTER


def figure(value: float, digits: int = 2) -> str:
    """A number for people: a real minus sign, and a dash where it is undefined."""
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
    """Between two ticks; 1 for numbers that are whole."""

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
        return [(n * step, figure(n * step, digits)) for n in range(first, last + 1)]


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

"""Several lines in one chart: ROC and precision-recall curves, as SVG.

Every line differs from its neighbours in colour and in dashes, so that up to 28 can be told apart, and six or seven
without colour too.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from .charts import TOP
from .colours import colour, hexadecimal
from .svg import INK, LETTER, PALE_INK, Axis, bottom_axis, clean, document, left_axis, line, shorten, tag, text

LEFT, SIDE, ROW = 78.0, 400.0, 20.0
LONGEST = 30
"""Letters of a name in the legend."""

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#1c1c20", "#e69f00", "#56b4e9")
"""Okabe and Ito's, without the yellow that is lost on white paper."""
DASHES = (None, "8 4", "2.5 3", "10 3 2.5 3")

NAMED = 3
"""So many faint curves have their names in the legend; more are one entry."""

Values = NDArray[np.float64]
Box = tuple[float, float, float, float]
Limits = tuple[float, float]


@dataclass(frozen=True)
class Stroke:
    """How a line is drawn."""

    colour: str
    dashes: str | None = None
    width: float = 2.0


FAINT = Stroke("#b9b9c0", None, 1.0)
"""Of curves that are only there to be compared with."""


def strokes(count: int, colours: Sequence[str] = COLOURS) -> list[Stroke]:
    """A colour and dashes for each line; 7 colours and 4 kinds of dashes meet anew in each of the first 28."""
    turn = math.lcm(len(colours), len(DASHES))
    return [Stroke(colours[i % len(colours)], DASHES[(i + i // turn) % len(DASHES)]) for i in range(count)]


def levels(count: int) -> list[Stroke]:
    """Colours from dark to light, short of the yellow that is lost on white paper."""
    return [Stroke(hexadecimal(c)) for c in colour(np.linspace(0, 0.85, count)).tolist()]


def lines(
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    xlabel: str,
    ylabel: str,
    title: str,
    *,
    step: bool = False,
    bands: Mapping[str, tuple[ArrayLike, ArrayLike]] | None = None,
    points: Mapping[str, tuple[float, float]] | None = None,
    notes: Mapping[str, str] | None = None,
    diagonal: bool = False,
    ordered: bool = False,
    faint: Collection[str] = (),
    faint_name: str = "raters",
    xlim: Limits = (0.0, 1.0),
    ylim: Limits = (0.0, 1.0),
) -> str:
    """Lines by name over the same axes, with a legend at the right.

    Parameters
    ----------
    curves
        ``{name: (x, y)}``; nan leaves a gap. A curve without any point stays in the legend, crossed out.
    step
        Whether a value holds until the next point, instead of straight pieces.
    bands
        ``{name: (low, high)}`` at the x of that curve: a shaded band.
    points
        ``{name: (x, y)}``: marks of their own, such as raters, named where there is room.
    notes
        ``{name: text}`` after a curve's name in the legend, such as its area.
    diagonal
        A pale line from corner to corner: what chance gives.
    ordered
        Whether the curves are levels of one thing: colours then run from dark to light instead of differing.
    faint, faint_name
        Curves drawn thin and grey behind the others, and, of more than three, their one name in the legend. Names
        that are no curve's do not matter.
    xlim, ylim
        What the axes show at least; they grow with what lies beyond.
    """
    if not curves:
        raise CallError("curves is empty; give one or more")
    drawn = {key: _pair(key, xy, bands) for key, xy in curves.items()}
    marks = {key: (float(x), float(y)) for key, (x, y) in (points or {}).items() if np.isfinite([x, y]).all()}
    across, up = _axes(drawn, marks, xlim, ylim)
    parts = bottom_axis(across, TOP, TOP + SIDE, xlabel) + left_axis(up, LEFT, LEFT + SIDE, ylabel)
    if diagonal:
        ends = across(across.low), up(up.low), across(across.high), up(up.high)
        parts.append(line(*ends, "#b4b4bb", stroke_width=1.2))
    pale = [key for key in drawn if key in faint]
    strong = [key for key in drawn if key not in faint]
    chosen = dict(zip(strong, (levels if ordered else strokes)(len(strong)), strict=True)) | dict.fromkeys(pale, FAINT)
    for key in (*pale, *strong):
        parts += shaded(drawn[key], across, up, chosen[key].colour, step)
    for key in (*pale, *strong):
        parts += traced(key, drawn[key], across, up, chosen[key], step)
    parts += _marks({key: (across(x), up(y)) for key, (x, y) in marks.items()})
    listed = list(drawn) if len(pale) <= NAMED else [*strong, f"{faint_name} ({len(pale)})"]
    chosen.setdefault(listed[-1], FAINT)
    told_of = {key: words for key, words in (notes or {}).items() if key in listed}
    wide, told = legend(listed, chosen, LEFT + SIDE + 22, TOP + 8, told_of, _empty(drawn))
    bottom = max(TOP + SIDE + 52, TOP + ROW * len(listed) + 24)
    return document(LEFT + SIDE + 22 + wide + 16, bottom, title, parts + told)


Drawn = tuple[Values, Values, Values | None, Values | None]
"""x, y, and the lower and upper edge of a band."""


def _pair(key: str, xy: tuple[ArrayLike, ArrayLike], bands: Mapping[str, tuple[ArrayLike, ArrayLike]] | None) -> Drawn:
    x, y = (np.atleast_1d(np.asarray(values, np.float64)) for values in xy)
    low, high = (np.asarray(edge, np.float64) for edge in (bands or {}).get(key, (y, y)))
    if x.ndim != 1 or any(values.shape != x.shape for values in (y, low, high)):
        raise CallError(f"{key}: x has shape {x.shape} and y {y.shape}; they go in pairs, and so does a band")
    return (x, y, low, high) if key in (bands or {}) else (x, y, None, None)


def _empty(drawn: Mapping[str, Drawn]) -> set[str]:
    return {key for key, (x, y, *_) in drawn.items() if not (np.isfinite(x) & np.isfinite(y)).any()}


def _axes(
    drawn: Mapping[str, Drawn], marks: Mapping[str, tuple[float, float]], xlim: Limits, ylim: Limits
) -> tuple[Axis, Axis]:
    xs = np.concatenate([xlim, *(x for x, *_ in drawn.values()), [x for x, _ in marks.values()]])
    ys = np.concatenate([ylim, *(v for _, *rest in drawn.values() for v in rest if v is not None),
                         [y for _, y in marks.values()]])  # fmt: skip
    return Axis.over(xs.tolist(), LEFT, LEFT + SIDE), Axis.over(ys.tolist(), TOP + SIDE, TOP)


def traced(key: str, curve: Drawn, across: Axis, up: Axis, stroke: Stroke, step: bool = False) -> list[str]:
    """A line through the points of a curve, in pieces where it has gaps."""
    x, y, *_ = curve
    style = {"stroke": stroke.colour, "stroke_width": stroke.width, "stroke_dasharray": stroke.dashes}
    parts = []
    for run in _runs(np.isfinite(x) & np.isfinite(y)):
        route = _places(x[run], y[run], across, up, step)
        if len(route) == 1:
            at = route[0].split(",")
            parts.append(tag("circle", _told(key), cx=at[0], cy=at[1], r=3, fill=stroke.colour))
        else:
            shape = {"points": " ".join(route), "fill": "none", "stroke_linejoin": "round"}
            parts.append(tag("polyline", _told(key), **shape, **style))
    return parts


def shaded(curve: Drawn, across: Axis, up: Axis, colour: str, step: bool = False) -> list[str]:
    """The band of a curve."""
    x, _, low, high = curve
    if low is None or high is None:
        return []
    parts = []
    for run in _runs(np.isfinite(x) & np.isfinite(low) & np.isfinite(high)):
        there, back = (_places(x[run], edge[run], across, up, step) for edge in (low, high))
        parts.append(tag("polygon", points=" ".join(there + back[::-1]), fill=colour, fill_opacity=0.13))
    return parts


def _runs(good: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Stretches without a gap."""
    where = np.flatnonzero(good)
    return [run for run in np.split(where, np.flatnonzero(np.diff(where) > 1) + 1) if len(run)]


def _places(x: Values, y: Values, across: Axis, up: Axis, step: bool) -> list[str]:
    """Points on the paper; those that fall together are one."""
    if step:
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    found = [f"{across(a):.2f},{up(b):.2f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return [place for i, place in enumerate(found) if i == 0 or place != found[i - 1]]


def _told(words: str) -> str:
    return tag("title", clean(words))


def legend(
    names: Sequence[str], chosen: Mapping[str, Stroke], x: float, y: float, notes: Mapping[str, str],
    empty: set[str] | frozenset[str] = frozenset(),
) -> tuple[float, list[str]]:  # fmt: skip
    """A piece of each line and its name, one below the other, notes in a column; and how wide it is."""
    shown = distinct(names)
    column = x + 40 + max(len(words) for words in shown.values()) * 12 * LETTER + 12
    parts = []
    for row, key in enumerate(names):
        level, stroke = y + ROW * row, chosen[key]
        style = {"stroke_width": stroke.width, "stroke_dasharray": stroke.dashes}
        parts.append(line(x, level - 4, x + 32, level - 4, stroke.colour, **style))
        if key in empty:
            parts.append(tag("path", d=f"M{x + 11:.2f} {level - 9:.2f}l10 10m0 -10l-10 10", stroke=INK))
        whole = [_told(key)] if shown[key] != key else []
        parts.append(tag("text", *whole, clean(shown[key]), x=x + 40, y=level, font_size=12, fill=INK))
        if notes.get(key):
            parts.append(text(column, level, notes[key], size=11, fill=PALE_INK))
    longest = max((len(words) for words in notes.values()), default=0) * 11 * LETTER
    return column - x + longest, parts


def middle(words: str, longest: int = LONGEST) -> str:
    """At most so many letters, left out in the middle: names of algorithms often differ at their end.

    >>> middle("nnunet_3d_fullres_fold0_postprocessed_best", 20)
    'nnunet_3d_fu…ed_best'
    """
    if len(words) <= longest:
        return words
    tail = 2 * longest // 5 - 1
    return f"{words[: longest - tail - 1].rstrip()}…{words[-tail:].lstrip()}"


def distinct(names: Sequence[str], longest: int = LONGEST) -> dict[str, str]:
    """Every name in at most so many letters; those that would look the same show where they begin to differ.

    >>> distinct(["a_long_name_of_fold1_of_five", "a_long_name_of_fold2_of_five", "b"], 16)
    {'a_long_name_of_fold1_of_five': '…_of_fold1_of_f…', 'a_long_name_of_fold2_of_five': '…_of_fold2_of_f…', 'b': 'b'}
    """
    shown = {key: middle(key, longest) for key in names}
    for words in set(shown.values()):
        same = [key for key in names if shown[key] == words]
        if len(same) > 1:
            # first and last in the alphabet share what all of them share
            pairs = zip(min(same), max(same), strict=False)
            start = max(0, next((i for i, (a, b) in enumerate(pairs) if a != b), 0) - longest // 2)
            shown |= {key: ("…" if start else "") + shorten(key[start:], longest - 1) for key in same}
    return shown


def _marks(at: Mapping[str, tuple[float, float]]) -> list[str]:
    """Discs with their names at the first of four sides that is free; under the pointer where none is."""
    style = {"fill": "#ffffff", "stroke": INK, "stroke_width": 1.6}
    parts = [tag("circle", _told(key), cx=x, cy=y, r=4.0, **style) for key, (x, y) in at.items()]
    taken: list[Box] = [(x - 5, y - 5, x + 5, y + 5) for x, y in at.values()]
    for key, (x, y) in at.items():
        words = middle(key, 16)
        wide = len(words) * 11 * LETTER
        for left, low in ((x + 8, y + 4), (x - 8 - wide, y + 4), (x - wide / 2, y - 9), (x - wide / 2, y + 17)):
            box = left, low - 9, left + wide, low + 3
            if _inside(box) and not any(_meet(box, other) for other in taken):
                taken.append(box)
                parts.append(text(left, low, words, size=11, stroke="#ffffff", stroke_width=3, paint_order="stroke"))
                break
    return parts


def _inside(box: Box) -> bool:
    return box[0] >= LEFT and box[1] >= TOP and box[2] <= LEFT + SIDE and box[3] <= TOP + SIDE


def _meet(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]

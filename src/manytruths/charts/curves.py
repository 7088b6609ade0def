"""Lines: one curve with its band, several in one chart such as ROC curves, and intensity along frames, as SVG.

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
from . import svg
from .colours import PAPER_COLOURS, colour_map, hexadecimal
from .svg import BLUE, HALO, INK, LETTER, PALE_INK, TOP, WIDE, Axis, Place, Side

LEFT, SIDE, ROW = 78.0, 400.0, 20.0
PANEL_WIDE, PANEL_HIGH = 320.0, 280.0
LONGEST = 30
"""Most letters of a name in the legend."""
DASHES = (None, "8 4", "2.5 3", "10 3 2.5 3")
SIDES: tuple[Side, ...] = ((8, 4, 0), (-8, 4, 1), (0, -9, 0.5), (0, 17, 0.5))
"""Where the name of a point may be."""
NAMED = 3
"""Most faint curves with their own names in the legend; more become one entry."""
Values = NDArray[np.float64]
Limits = tuple[float, float]
Curve = tuple[ArrayLike, ArrayLike]
"""x and y, or the lower and the upper edge of a band."""
Drawn = tuple[Values, Values, Values | None, Values | None]
"""x, y, and the lower and upper edge of a band."""


@dataclass(frozen=True)
class LineStyle:
    """Colour, dashes and width of a line."""

    colour: str
    dashes: str | None = None
    width: float = 2.0


FAINT = LineStyle("#b9b9c0", None, 1.0)
"""Style of curves that are only there for comparison."""


def line_styles(count: int, colours: Sequence[str] = PAPER_COLOURS) -> list[LineStyle]:
    """A colour and dashes for each line; 7 colours and 4 kinds of dashes meet anew in each of the first 28."""
    turn = math.lcm(len(colours), len(DASHES))
    return [LineStyle(colours[i % len(colours)], DASHES[(i + i // turn) % len(DASHES)]) for i in range(count)]


def ordered_line_styles(count: int) -> list[LineStyle]:
    """Colours from dark to light, short of the yellow that is lost on white paper."""
    return [LineStyle(hexadecimal(c)) for c in colour_map(np.linspace(0, 0.85, count)).tolist()]


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
    parts = svg.bottom_axis(across, TOP, bottom, xlabel) + svg.left_axis(up, left, left + WIDE, ylabel)
    for run in _runs(np.isfinite(xs) & np.isfinite(ys) & np.isfinite(band[0]) & np.isfinite(band[1])):
        points = [f"{across(xs[i]):.2f},{up(ys[i]):.2f}" for i in run]
        if low is not None or high is not None:
            edge = [f"{across(xs[i]):.2f},{up(band[0][i]):.2f}" for i in run]
            back = [f"{across(xs[i]):.2f},{up(band[1][i]):.2f}" for i in run[::-1]]
            parts.append(svg.tag("polygon", points=" ".join(edge + back), fill=BLUE, fill_opacity=0.16))
        parts.append(svg.tag("polyline", points=" ".join(points), fill="none", stroke=BLUE, stroke_width=2.2))
        places = [point.split(",") for point in points] if len(xs) <= 40 else []
        parts += [svg.tag("circle", cx=x, cy=y, r=3.2, fill=BLUE, stroke="#ffffff") for x, y in places]
    return svg.document(left + WIDE + 28, bottom + 52, title, parts)


def line_chart(
    curves: Mapping[str, Curve],
    xlabel: str,
    ylabel: str,
    title: str,
    *,
    step: bool = False,
    bands: Mapping[str, Curve] | None = None,
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
    drawn = as_drawn(curves, bands)
    marks = {key: (float(x), float(y)) for key, (x, y) in (points or {}).items() if np.isfinite([x, y]).all()}
    heights = [values for _, *rest in drawn.values() for values in rest if values is not None]
    xs = np.concatenate([xlim, *(x for x, *_ in drawn.values()), [x for x, _ in marks.values()]])
    ys = np.concatenate([ylim, *heights, [y for _, y in marks.values()]])
    across, up = Axis.over(xs.tolist(), LEFT, LEFT + SIDE), Axis.over(ys.tolist(), TOP + SIDE, TOP)
    parts = svg.bottom_axis(across, TOP, TOP + SIDE, xlabel) + svg.left_axis(up, LEFT, LEFT + SIDE, ylabel)
    if diagonal:
        ends = across(across.low), up(up.low), across(across.high), up(up.high)
        parts.append(svg.line(*ends, "#b4b4bb", stroke_width=1.2))
    pale = [key for key in drawn if key in faint]
    strong = [key for key in drawn if key not in faint]
    chosen = dict(
        zip(strong, (ordered_line_styles if ordered else line_styles)(len(strong)), strict=True)
    ) | dict.fromkeys(pale, FAINT)
    for key in (*pale, *strong):
        parts += draw_band(drawn[key], across, up, chosen[key].colour, step)
    for key in (*pale, *strong):
        parts += draw_line(key, drawn[key], across, up, chosen[key], step)
    parts += _marks({key: (across(x), up(y)) for key, (x, y) in marks.items()})
    listed = list(drawn) if len(pale) <= NAMED else [*strong, f"{faint_name} ({len(pale)})"]
    chosen.setdefault(listed[-1], FAINT)
    shown_notes = {key: words for key, words in (notes or {}).items() if key in listed}
    empty = {key for key, (x, y, *_) in drawn.items() if not (np.isfinite(x) & np.isfinite(y)).any()}
    wide, entries = legend(listed, chosen, LEFT + SIDE + 22, TOP + 8, shown_notes, empty)
    bottom = max(TOP + SIDE + 52, TOP + ROW * len(listed) + 24)
    return svg.document(LEFT + SIDE + 22 + wide + 16, bottom, title, parts + entries)


def as_drawn(curves: Mapping[str, Curve], bands: Mapping[str, Curve] | None = None) -> dict[str, Drawn]:
    """Curves and their bands as arrays; one curve or more, all values of a curve in pairs."""
    if not curves:
        raise CallError("curves is empty; give one or more")
    drawn: dict[str, Drawn] = {}
    for key, xy in curves.items():
        x, y = (np.atleast_1d(np.asarray(values, np.float64)) for values in xy)
        low, high = (np.asarray(edge, np.float64) for edge in (bands or {}).get(key, (y, y)))
        if x.ndim != 1 or any(values.shape != x.shape for values in (y, low, high)):
            raise CallError(f"{key}: x has shape {x.shape} and y {y.shape}; they go in pairs, and so does a band")
        drawn[key] = (x, y, low, high) if key in (bands or {}) else (x, y, None, None)
    return drawn


def _marks(at: Mapping[str, Place]) -> list[str]:
    """Discs with their names at the first of four sides that is free; where none is, only under the pointer."""
    style = {"fill": "#ffffff", "stroke": INK, "stroke_width": 1.6}
    parts = [svg.tag("circle", svg.tooltip(key), cx=x, cy=y, r=4.0, **style) for key, (x, y) in at.items()]
    words = {key: shorten_middle(key, 16) for key in at}
    widths = {key: len(short) * 11 * LETTER for key, short in words.items()}
    for key, (dx, dy, share) in svg.free_sides(at, widths, SIDES, (LEFT, TOP, LEFT + SIDE, TOP + SIDE)).items():
        x, y = at[key]
        parts.append(svg.text(x + dx - share * widths[key], y + dy, words[key], size=11, **HALO))
    return parts


class FrameAxis(Axis):
    """An axis of frames, with whole numbers only."""

    @property
    def ticks(self) -> list[tuple[float, str]]:
        """Ticks at whole numbers."""
        return [(value, str(round(value))) for value, _ in super().ticks if value == round(value)]


def frame_chart(
    frames: Sequence[str],
    raters: Mapping[str, Sequence[float]],
    algorithms: Mapping[str, Sequence[float]],
    mean: Sequence[float],
    title: str,
    *,
    notes: Mapping[str, str] | None = None,
    ylabel: str = "mean intensity inside the mask",
) -> str:
    """Two panels over the same axes; the raters' mean is the thick line in both.

    ``frames`` names the cases in order; everybody has one value for each, nan where there is none. ``notes`` stand
    after names in the legend, such as an algorithm's distance to the mean.
    """
    every = [*raters.values(), *algorithms.values(), mean]
    if not frames or any(len(values) != len(frames) for values in every):
        raise CallError(f"{len(frames)} frames, and values of {sorted(set(map(len, every)))}; one value a frame")
    parts, left = [], LEFT
    bottom = TOP + 22 + PANEL_HIGH
    up = Axis.over(np.concatenate([np.asarray(v, float) for v in every]).tolist(), bottom, TOP + 22)
    label = f"frame, from {shorten_middle(frames[0], 14)} to {shorten_middle(frames[-1], 14)}"
    for heading, curves in (("raters", raters), ("algorithms", algorithms)):
        across = FrameAxis(1.0, float(max(len(frames), 2)), left, left + PANEL_WIDE)
        parts += svg.bottom_axis(across, TOP + 22, bottom, label) + svg.left_axis(up, left, left + PANEL_WIDE, ylabel)
        parts.append(svg.text(left, TOP + 10, heading, font_weight="bold"))
        chosen = dict(zip(curves, line_styles(len(curves), [c for c in PAPER_COLOURS if c != INK]), strict=True))
        whole = {"mean of raters": mean, **curves}
        chosen["mean of raters"] = LineStyle(INK, None, 4.0)
        for key, values in whole.items():
            drawn = np.arange(1.0, len(frames) + 1), np.asarray(values, np.float64), None, None
            parts += draw_line(key, drawn, across, up, chosen[key])
        wide, key_parts = legend(list(whole), chosen, left + PANEL_WIDE + 22, TOP + 34, notes or {})
        parts += key_parts
        left += PANEL_WIDE + 22 + wide + 24 + LEFT
    rows = 1 + max(len(raters), len(algorithms))
    return svg.document(left - LEFT, max(bottom + 52, TOP + 40 + ROW * rows), title, parts)


# -- lines and legends --------------------------------------------------------------------------------


def draw_line(key: str, curve: Drawn, across: Axis, up: Axis, stroke: LineStyle, step: bool = False) -> list[str]:
    """A line through the points of a curve, in pieces where it has gaps."""
    x, y, *_ = curve
    style = {"stroke": stroke.colour, "stroke_width": stroke.width, "stroke_dasharray": stroke.dashes}
    parts = []
    for run in _runs(np.isfinite(x) & np.isfinite(y)):
        route = _places(x[run], y[run], across, up, step)
        if len(route) == 1:
            at = route[0].split(",")
            parts.append(svg.tag("circle", svg.tooltip(key), cx=at[0], cy=at[1], r=3, fill=stroke.colour))
        else:
            shape = {"points": " ".join(route), "fill": "none", "stroke_linejoin": "round"}
            parts.append(svg.tag("polyline", svg.tooltip(key), **shape, **style))
    return parts


def draw_band(curve: Drawn, across: Axis, up: Axis, colour: str, step: bool = False) -> list[str]:
    """The band of a curve."""
    x, _, low, high = curve
    if low is None or high is None:
        return []
    parts = []
    for run in _runs(np.isfinite(x) & np.isfinite(low) & np.isfinite(high)):
        there, back = (_places(x[run], edge[run], across, up, step) for edge in (low, high))
        parts.append(svg.tag("polygon", points=" ".join(there + back[::-1]), fill=colour, fill_opacity=0.13))
    return parts


def _runs(good: NDArray[np.bool_]) -> list[NDArray[np.intp]]:
    """Stretches without a gap."""
    where = np.flatnonzero(good)
    return [run for run in np.split(where, np.flatnonzero(np.diff(where) > 1) + 1) if len(run)]


def _places(x: Values, y: Values, across: Axis, up: Axis, step: bool) -> list[str]:
    """Points on the paper; neighbours at the same place become one."""
    if step:
        x, y = np.repeat(x, 2)[1:], np.repeat(y, 2)[:-1]
    places = [f"{across(a):.2f},{up(b):.2f}" for a, b in zip(x.tolist(), y.tolist(), strict=True)]
    return [place for i, place in enumerate(places) if i == 0 or place != places[i - 1]]


def legend(
    names: Sequence[str], chosen: Mapping[str, LineStyle], x: float, y: float, notes: Mapping[str, str],
    empty: set[str] | frozenset[str] = frozenset(),
) -> tuple[float, list[str]]:  # fmt: skip
    """A piece of each line and its name, one below the other, notes in a column; and how wide it is."""
    shown = distinct_names(names)
    column = x + 40 + max(len(words) for words in shown.values()) * 12 * LETTER + 12
    parts = []
    for row, key in enumerate(names):
        level, stroke = y + ROW * row, chosen[key]
        style = {"stroke_width": stroke.width, "stroke_dasharray": stroke.dashes}
        parts.append(svg.line(x, level - 4, x + 32, level - 4, stroke.colour, **style))
        if key in empty:
            parts.append(svg.tag("path", d=f"M{x + 11:.2f} {level - 9:.2f}l10 10m0 -10l-10 10", stroke=INK))
        whole = [svg.tooltip(key)] if shown[key] != key else []
        parts.append(svg.tag("text", *whole, svg.clean(shown[key]), x=x + 40, y=level, font_size=12, fill=INK))
        if notes.get(key):
            parts.append(svg.text(column, level, notes[key], size=11, fill=PALE_INK))
    longest = max((len(words) for words in notes.values()), default=0) * 11 * LETTER
    return column - x + longest, parts


def shorten_middle(words: str, longest: int = LONGEST) -> str:
    """At most ``longest`` letters, the rest left out in the middle: names of algorithms often differ at their end.

    >>> shorten_middle("nnunet_3d_fullres_fold0_postprocessed_best", 20)
    'nnunet_3d_fu…ed_best'
    """
    if len(words) <= longest:
        return words
    tail = 2 * longest // 5 - 1
    return f"{words[: longest - tail - 1].rstrip()}…{words[-tail:].lstrip()}"


def distinct_names(names: Sequence[str], longest: int = LONGEST) -> dict[str, str]:
    """Every name in at most ``longest`` letters; names that would look the same show where they begin to differ.

    >>> distinct_names(["a_long_name_of_fold1_of_five", "a_long_name_of_fold2_of_five", "b"], 16)
    {'a_long_name_of_fold1_of_five': '…_of_fold1_of_f…', 'a_long_name_of_fold2_of_five': '…_of_fold2_of_f…', 'b': 'b'}
    """
    shown = {key: shorten_middle(key, longest) for key in names}
    for words in set(shown.values()):
        same = [key for key in names if shown[key] == words]
        if len(same) > 1:
            # first and last in the alphabet share what all of them have in common
            pairs = zip(min(same), max(same), strict=False)
            start = max(0, next((i for i, (a, b) in enumerate(pairs) if a != b), 0) - longest // 2)
            shown |= {key: ("…" if start else "") + svg.shorten(key[start:], longest - 1) for key in same}
    return shown

"""Who read what: a grid of cases and raters, and how far each rater is, as SVG.

Every status has a shape as well as a colour, so that the grid can be read without colours.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..core.errors import CallError
from . import svg
from .svg import ALARM, BLUE, INK, LETTER, PALE_INK

CellStatus = Literal[
    "done", "empty", "edit", "other_session", "not_evaluable", "excluded", "unfinished", "late", "unread", "missing",
    "not_asked",
]  # fmt: skip
"""Marked; read and left without a mark; an edit of another's mask; of a session that does not count; read, but nothing
can be said; left out; begun; overdue; not opened; not there, and nobody knows whether it was asked for; not asked
for."""

READABLE_CASES = 40
"""With more cases the cells are fine, and the cases go over several rows of the grid."""
FINE_ROW, FINE_CELL, ACROSS = 11.0, 6.0, 100
"""Height and width of a fine cell, and cases beside each other."""
NAMED_CELLS, DRAWN_CELLS = 2000, 60_000
"""So many cells have words under the pointer, and so many are drawn at all."""
SLANT, SLANTED = 55.0, 11.0
"""Angle and letters of the names of cases above the grid."""
BAR, BAR_WIDE = 24.0, 380.0
MARGIN, GROUND = 24.0, "#f0f3f6"


@dataclass(frozen=True)
class Box:
    """Where a cell is, and how large."""

    left: float
    top: float
    wide: float
    high: float

    def at(self, x: float, y: float) -> str:
        """A place in shares of the cell."""
        return f"{self.left + x * self.wide:.1f} {self.top + y * self.high:.1f}"

    def shape(self, *points: tuple[float, float]) -> str:
        """A closed line through places of the cell."""
        return f"M{'L'.join(self.at(x, y) for x, y in points)}Z"


@dataclass(frozen=True)
class Look:
    """How a status is drawn."""

    words: str
    colour: str
    route: Callable[[Box], str]
    line: float = 0.0
    """Width of its line, as a share of the cell; 0 for a filled shape."""


def _full(box: Box) -> str:
    return box.shape((0, 0), (1, 0), (1, 1), (0, 1))


def _frame(box: Box) -> str:
    return box.shape((0.1, 0.1), (0.9, 0.1), (0.9, 0.9), (0.1, 0.9))


def _corner(box: Box) -> str:
    return box.shape((0, 1), (1, 0), (1, 1))


def _half(box: Box) -> str:
    return box.shape((0, 0.5), (1, 0.5), (1, 1), (0, 1))


def _diamond(box: Box) -> str:
    return box.shape((0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5))


def _cross(box: Box) -> str:
    return f"M{box.at(0.12, 0.12)}L{box.at(0.88, 0.88)}M{box.at(0.88, 0.12)}L{box.at(0.12, 0.88)}"


def _slash(box: Box) -> str:
    return f"{_frame(box)}M{box.at(0.1, 0.9)}L{box.at(0.9, 0.1)}"


def _core(box: Box) -> str:
    return box.shape((0.22, 0.22), (0.78, 0.22), (0.78, 0.78), (0.22, 0.78))


def _dash(box: Box) -> str:
    return f"M{box.at(0.25, 0.5)}L{box.at(0.75, 0.5)}"


def _dot(box: Box) -> str:
    return box.shape((0.38, 0.38), (0.62, 0.38), (0.62, 0.62), (0.38, 0.62))


LOOKS: dict[str, Look] = {
    "done": Look("done", BLUE, _full),
    "empty": Look("read, nothing marked", BLUE, _frame, 0.16),
    "edit": Look("edit of another's mask", "#56b4e9", _corner),
    "other_session": Look("session that does not count", "#56b4e9", _core),
    "not_evaluable": Look("not evaluable", PALE_INK, _cross, 0.16),
    "excluded": Look("left out", PALE_INK, _slash, 0.1),
    "unfinished": Look("begun", "#cc79a7", _half),
    "late": Look("late", ALARM, _diamond),
    "unread": Look("not read yet", PALE_INK, _dot),
    "missing": Look("no mask", PALE_INK, _dash, 0.12),
    "not_asked": Look("not asked for", "", _dot),
}
"""By status, in the order of the legend. The cell of what nobody asked for stays bare."""


def coverage_grid(
    statuses: Mapping[str, Sequence[CellStatus | str]],
    cases: Sequence[str],
    title: str,
    *,
    notes: Mapping[tuple[str, str], str] | None = None,
) -> str:
    """Every rater's status of every case: a row for each rater, a column for each case.

    Cases of a large study go over several rows of the grid, a hundred beside each other. Beyond sixty thousand cells
    there is a bar for each rater instead.

    Parameters
    ----------
    statuses : mapping of str to sequence of str
        By rater, one status for each case: ``done``, ``empty``, ``edit``, ``other_session``, ``not_evaluable``,
        ``excluded``, ``unfinished``, ``late``, ``unread``, ``missing`` or ``not_asked``.
    cases : sequence of str
        Names of the cases.
    title : str
        Above the chart.
    notes : mapping, optional
        By rater and case, what else to say under the pointer.

    Returns
    -------
    str
        The chart as SVG.

    Examples
    --------
    >>> from manytruths.charts import coverage_grid
    >>> chart = coverage_grid({"anna": ["done", "late"], "ben": ["empty", "unread"]}, ["p1", "p2"], "Who read what")
    >>> "anna, p2: late" in chart
    True
    """
    _check(statuses, cases)
    if len(cases) * len(statuses) > DRAWN_CELLS:
        return coverage_bars({rater: Counter(here) for rater, here in statuses.items()}, title)
    grid = _Grid.of(list(statuses), cases)
    parts, hovers, routes = list[str](), list[str](), dict[str, list[str]]()
    for first, here, base in grid.strips():
        parts += grid.heads(first, here, base)
        parts.append(svg.rect(grid.left - 2, base - 2, grid.cell * len(here) + 2, grid.row * len(statuses) + 2, GROUND))
        for number, (rater, states) in enumerate(statuses.items()):
            y = base + grid.row * number
            middle = y + grid.row / 2 + grid.letters * 0.3
            parts.append(svg.name(grid.left - 10, middle, rater, size=grid.letters, text_anchor="end"))
            for column, case in enumerate(here):
                status = states[first + column]
                box = Box(grid.left + grid.cell * column, y, grid.cell - grid.gap, grid.row - grid.gap)
                routes.setdefault(status, []).append(LOOKS[status].route(box))
                if len(cases) * len(statuses) <= NAMED_CELLS:
                    hovers.append(_hover(box, rater, case, status, (notes or {}).get((rater, case), "")))
    drawn = [_paint(LOOKS[status], "".join(routes[status]), grid.cell) for status in LOOKS if status in routes]
    wide = max(grid.left + grid.cell * grid.across + 24, 440.0)
    shown = [status for status in LOOKS if status in routes]
    rows, legend = _legend(shown, grid.bottom + 18, wide - 48, _swatch)
    told = _tell({rater: Counter(here) for rater, here in statuses.items()})
    return svg.document(wide, grid.bottom + 18 + 22 * rows, title, [told, *parts, *drawn, *hovers, *legend])


@dataclass(frozen=True)
class _Grid:
    """Where cells lie."""

    raters: Sequence[str]
    cases: Sequence[str]
    fine: bool
    cell: float
    row: float
    left: float
    across: int

    @classmethod
    def of(cls, raters: Sequence[str], cases: Sequence[str]) -> _Grid:
        fine = len(cases) > READABLE_CASES
        cell = float(np.clip(560 / len(cases), *((FINE_CELL, 12) if fine else (13, 24))))
        left = 24 + svg.names_width(raters, 10 if fine else 12)
        row = max(FINE_ROW, cell) if fine else cell
        return cls(raters, cases, fine, cell, row, left, min(len(cases), ACROSS))

    @property
    def letters(self) -> float:
        return 10.0 if self.fine else 12.0

    @property
    def gap(self) -> float:
        return 1.0 if self.fine else 2.0

    @property
    def lift(self) -> float:
        """Height of the names above the cells."""
        turned = svg.names_width(self.cases, SLANTED) * math.sin(math.radians(SLANT))
        return 16.0 if self.fine else turned + 6

    @property
    def step(self) -> float:
        """From one strip of cases to the next."""
        return self.lift + self.row * len(self.raters) + 14

    @property
    def bottom(self) -> float:
        return 36 + self.step * math.ceil(len(self.cases) / self.across)

    def strips(self) -> Iterator[tuple[int, Sequence[str], float]]:
        """The place of the first case, the cases beside each other, and where their cells start."""
        for number, first in enumerate(range(0, len(self.cases), self.across)):
            yield first, self.cases[first : first + self.across], 36 + self.step * number + self.lift

    def heads(self, first: int, cases: Sequence[str], base: float) -> Iterator[str]:
        """The names of cases above their columns; of many, the numbers and names of the first and the last."""
        if not self.fine:
            for column, name in enumerate(cases):
                x, y = self.left + self.cell * (column + 0.5) + 1, base - 6
                yield svg.name(x, y, name, size=SLANTED, transform=f"rotate(-{SLANT:g} {x:.2f} {y:.2f})")
            return
        ends = f"cases {first + 1:,} to {first + len(cases):,}: " if len(cases) > 1 else f"case {first + 1:,}: "
        room = max(360.0, self.cell * len(cases)) / (10 * LETTER) - len(ends) - 4
        names = dict.fromkeys((cases[0], cases[-1]))
        words = ends + " to ".join(svg.shorten(name, max(8, int(room / 2))) for name in names)
        yield svg.text(self.left, base - 7, words, size=10, fill=PALE_INK)


def _tell(counts: Mapping[str, Mapping[str, int]]) -> str:
    """The chart in words, for who hears it."""
    lines = []
    for rater, here in counts.items():
        shown = [f"{here[status]:,} {look.words}" for status, look in LOOKS.items() if here.get(status)]
        lines.append(f"{rater}: {', '.join(shown)}")
    return svg.tag("desc", svg.clean("; ".join(lines)))


def _check(statuses: Mapping[str, Sequence[str]], cases: Sequence[str]) -> None:
    if not statuses or not cases:
        raise CallError("statuses or cases is empty; give one rater and one case or more")
    for rater, here in statuses.items():
        if len(here) != len(cases):
            raise CallError(f"{rater} has {len(here)} statuses for {len(cases)} cases; one for each case")
        if unknown := set(here) - set(LOOKS):
            raise CallError(f"{rater}: status {min(unknown)!r} is not known; statuses are {', '.join(LOOKS)}")


def _paint(look: Look, route: str, cell: float) -> str:
    """Cells of a status as one element; nothing where they stay bare."""
    if not look.colour:
        return ""
    if look.line:
        line = {"stroke": look.colour, "stroke_width": max(1.0, look.line * cell)}
        return svg.tag("path", d=route, fill="none", **line)
    return svg.tag("path", d=route, fill=look.colour)


def _swatch(look: Look, box: Box) -> str:
    return _paint(look, look.route(box), box.wide)


def _hover(box: Box, rater: str, case: str, status: str, note: str) -> str:
    """A cell that nobody sees, with words under the pointer."""
    words = f"{rater}, {case}: {LOOKS[status].words}" + f", {note}" * bool(note)
    size = {"x": box.left, "y": box.top, "width": box.wide, "height": box.high}
    return svg.tag("rect", svg.tooltip(words), fill="#ffffff", fill_opacity=0, **size)


def _legend(shown: Sequence[str], y: float, wide: float, draw: Callable[[Look, Box], str]) -> tuple[int, list[str]]:
    """How each status looks and what it is called; and how many rows that takes."""
    parts, x, row = list[str](), MARGIN, 0
    for look in (LOOKS[status] for status in shown):
        span = 20 + len(look.words) * 12 * LETTER + 14
        if x > MARGIN and x + span > MARGIN + wide:
            x, row = MARGIN, row + 1
        level = y + 22 * row
        parts += [svg.rect(x, level - 11, 13, 13, GROUND), draw(look, Box(x, level - 11, 13, 13))]
        parts.append(svg.text(x + 20, level, look.words, fill=PALE_INK))
        x += span
    return row + 1, parts


def coverage_bars(counts: Mapping[str, Mapping[str, int]], title: str) -> str:
    """How far each rater is: a bar whose pieces are statuses, and how many of the cases were read.

    Parameters
    ----------
    counts : mapping of str to mapping
        By rater, the number of cases of each status, as in :func:`coverage_grid`.
    title : str
        Above the chart.

    Returns
    -------
    str
        The chart as SVG.

    Examples
    --------
    >>> from manytruths.charts.coverage import coverage_bars
    >>> "3 of 5" in coverage_bars({"anna": {"done": 3, "unread": 2}}, "How far")
    True
    """
    if not counts:
        raise CallError("counts is empty; give one rater or more")
    if unknown := {status for here in counts.values() for status in here} - set(LOOKS):
        raise CallError(f"status {min(unknown)!r} is not known; statuses are {', '.join(LOOKS)}")
    left, parts = 24 + svg.names_width(counts), list[str]()
    for number, (rater, here) in enumerate(counts.items()):
        y, x, whole = 44 + BAR * number, left, max(1, sum(here.values()))
        parts.append(svg.name(left - 10, y + 13, rater, text_anchor="end"))
        parts.append(svg.rect(left, y, BAR_WIDE, BAR - 7, GROUND))
        for status, look in LOOKS.items():
            if not (count := here.get(status, 0)):
                continue
            wide = BAR_WIDE * count / whole
            hover = svg.tooltip(f"{rater}: {count:,} {look.words}")
            parts.append(_piece(look, Box(x, y, wide, BAR - 7), hover))
            x += wide
        read, asked = sum(here.get(status, 0) for status in READ), sum(here.values()) - here.get("not_asked", 0)
        parts.append(svg.text(left + BAR_WIDE + 10, y + 13, f"{read:,} of {asked:,}", fill=INK))
    bottom = 44 + BAR * len(counts) + 14
    shown = [status for status in LOOKS if any(here.get(status) for here in counts.values())]
    rows, legend = _legend(shown, bottom, left + BAR_WIDE + 56, _piece)
    return svg.document(left + BAR_WIDE + 104, bottom + 22 * rows, title, [_tell(counts), *parts, *legend])


READ = ("done", "empty", "edit", "other_session", "not_evaluable", "excluded")
"""Statuses of cases that the rater is done with."""


def _piece(look: Look, box: Box, *content: str) -> str:
    """A piece of a bar: filled, hollow where the shape of the status is a line, bare where nobody asked."""
    size = {"x": box.left, "y": box.top, "width": box.wide, "height": box.high}
    if not look.colour:
        return svg.tag("rect", *content, fill="#ffffff", fill_opacity=0, **size)
    if look.line:
        inner = {"x": box.left + 1, "y": box.top + 1, "width": max(box.wide - 2, 0.5), "height": box.high - 2}
        return svg.tag("rect", *content, fill="#ffffff", stroke=look.colour, stroke_width=2, **inner)
    faint = 0.35 if look.route is _dot else None
    return svg.tag("rect", *content, fill=look.colour, fill_opacity=faint, **size)

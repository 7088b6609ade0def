"""The shapes of a CVAT export, one by one: what each is called, where it lies, and what was said of it.

CVAT counts as we do: the first pixel reaches from 0 to 1 in x and y. Rotations are degrees about the centre, from x to
y. A mask is run lengths inside a frame, row by row, the first run outside.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, InputError, LabelError
from ...shape.grid import Grid
from ..opening import Element
from ..outlines import Bitmap, Ellipse, Line, Polygon, box, few_enough, finite
from ..reads import Choices, Mark, Mask, Outline, Window
from ..run_lengths import filled

UNSAID = "", "__undefined__"
"""What CVAT writes where nobody chose a value."""
LARGEST_WHOLE = 1 << 31
PIECE = 1 << 16
"""Signs of run lengths that are taken apart at once."""


@dataclass(frozen=True, eq=False)
class Runs:
    """Run lengths inside a frame, which become pixels only when they are drawn."""

    top: int
    left: int
    height: int
    width: int
    lengths: NDArray[np.int32]

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        inside = filled(self.lengths, self.height * self.width).reshape(self.height, self.width)
        return Bitmap(self.top, self.left, inside).pixels(shape)


def mark_of(shape: Element, grid: Grid, choices: Choices) -> Mark | None:
    """A shape as a mark; None where it is no area."""
    draw = _AREAS.get(shape.name)
    if draw is None and shape.name == "polyline" and choices.widen is not None:
        draw = _line
    if draw is None:
        return None
    rank, attributes = _said(shape, choices.rank)
    return Mark(_label(shape), draw(shape, grid, choices), _whole(shape, "z_order", "0"), rank, attributes)


def cost_of(mark: Mark) -> int:
    """About how many bytes a mark takes in memory."""
    outline, cost = mark.outline, 900
    if isinstance(outline, Polygon):
        cost += sum(ring.nbytes for ring in outline.rings)
    elif isinstance(outline, Line):
        cost += outline.points.nbytes
    elif isinstance(outline, Runs):
        cost += outline.lengths.nbytes
    return cost + sum(200 + 4 * (len(name) + len(value)) for name, value in mark.attributes.items())


# -- what was said -----------------------------------------------------------------------------------


def _label(shape: Element) -> str:
    label = shape.get("label")
    if not label.strip():
        raise LabelError("has no label; give it one in CVAT")
    return label


def _said(shape: Element, ranked: str) -> tuple[int | None, dict[str, str]]:
    """The rank, and everything else."""
    rank, said = None, dict[str, str]()
    if shape.get("occluded", "0") == "1":
        said["occluded"] = "1"
    if group := _whole(shape, "group_id", "0"):
        said["group_id"] = str(group)
    for child in shape.all("attribute"):
        name = child.get("name")
        if name.strip().casefold() != ranked.strip().casefold():
            said[name] = child.text
        elif child.text.strip() not in UNSAID:
            if rank is not None:
                raise InputError(f"has two attributes {ranked!r}; keep one of them")
            rank = _rank(child.text.strip(), name)
    return rank, said


def _rank(text: str, name: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text) > 0):
        raise InputError(
            f"its attribute {name!r} is {text[:40]!r}; a rank is a whole number from 1 on: correct it in CVAT, or say "
            "which attribute holds ranks with --rank"
        )
    return int(text)


def _whole(shape: Element, name: str, default: str | None = None) -> int:
    text = shape.get(name, default)
    try:
        number = int(text)
    except ValueError:
        number = LARGEST_WHOLE
    if abs(number) >= LARGEST_WHOLE:
        raise FormatError(f"its {name} is {text[:40]!r}, which is no whole number; export it again")
    return number


# -- where it lies -----------------------------------------------------------------------------------


def _number(shape: Element, name: str, default: str | None = None) -> float:
    text = shape.get(name, default)
    try:
        return float(text)
    except ValueError:
        raise FormatError(f"its {name} is {text[:40]!r}, which is no number; export it again") from None


def _points(shape: Element) -> NDArray[np.float64]:
    text = shape.get("points")
    few_enough(text.count(";") + 1)
    odd = next((pair for pair in text.split(";") if pair.count(",") != 1), None)
    if odd is not None:
        raise FormatError(f"one of its points is {odd[:40]!r}, not x,y; export it again")
    try:
        numbers = list(map(float, text.replace(";", ",").split(",")))
    except ValueError as error:
        raise FormatError(f"one of its points is no number ({str(error)[:80]}); export it again") from None
    return np.array(numbers, np.float64).reshape(-1, 2)


def _polygon(shape: Element, grid: Grid, choices: Choices) -> Outline:
    points = _points(shape)
    if len(points) < 3:
        raise InputError(f"has {len(points)} points; an area needs three at least: draw it again, or delete it")
    return Polygon.of([points], choices.rule)


def _box(shape: Element, grid: Grid, choices: Choices) -> Outline:
    left, top, right, bottom = (_number(shape, name) for name in ("xtl", "ytl", "xbr", "ybr"))
    drawn = box(left, top, right - left, bottom - top, _number(shape, "rotation", "0"))
    return Polygon(drawn.rings, choices.rule)


def _ellipse(shape: Element, grid: Grid, choices: Choices) -> Outline:
    x, y, half_width, half_height = (_number(shape, name) for name in ("cx", "cy", "rx", "ry"))
    return Ellipse(x, y, half_width, half_height, _number(shape, "rotation", "0"))


def _line(shape: Element, grid: Grid, choices: Choices) -> Outline:
    assert choices.widen is not None
    finite(choices.widen)
    return Line.of(_points(shape), choices.widen)


def _mask(shape: Element, grid: Grid, choices: Choices) -> Outline:
    top, left, height, width = (_whole(shape, name) for name in ("top", "left", "height", "width"))
    if not (1 <= height <= grid.shape[0] and 1 <= width <= grid.shape[1]):
        raise FormatError(
            f"its frame has {width} × {height} pixels and the image {grid.shape[1]} × {grid.shape[0]}; export it again"
        )
    text, size = shape.get("rle"), height * width
    lengths = _lengths(text, size) if text.count(",") <= size else np.zeros(0, np.int32)
    if (total := int(lengths.sum(dtype=np.int64))) != size:
        raise FormatError(f"its run lengths hold {total or 'more'} pixels, and its frame {size}; export it again")
    return Runs(top, left, height, width, lengths)


def _lengths(text: str, size: int) -> NDArray[np.int32]:
    """Run lengths piece by piece: as a list of words they would take twenty times as much memory."""
    pieces, start = [], 0
    while start <= len(text):
        end = text.find(",", start + PIECE)
        end = len(text) if end < 0 else end
        pieces.append(_runs(text[start:end], size))
        start = end + 1
    return np.concatenate(pieces)


def _runs(text: str, size: int) -> NDArray[np.int32]:
    try:
        runs = list(map(int, text.split(",")))
    except ValueError:
        raise FormatError("its run lengths are no whole numbers; export it again") from None
    if min(runs) < 0 or max(runs) > size:
        raise FormatError(f"it has a run of {min(min(runs), 0) or max(runs)} pixels; export it again")
    return np.array(runs, np.int32)


_AREAS: dict[str, Callable[[Element, Grid, Choices], Outline]] = {
    "polygon": _polygon,
    "box": _box,
    "ellipse": _ellipse,
    "mask": _mask,
}

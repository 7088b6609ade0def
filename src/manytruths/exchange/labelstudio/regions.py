"""The regions of a Label Studio annotation: where each lies, what it is called, and what was said of it.

Places are in percent of the image. A rectangle is turned about its upper left corner, an ellipse about its centre,
both in degrees from x to y. Results of one region share its id: its shape, its labels, and choices, numbers, ratings
or texts that were given for it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated

import msgspec
import numpy as np

from ...core.errors import FormatError, GridError
from ...io import Grid
from ..documents import LONGEST_NOTE, NOTHING, anything, decoded, given, points_of, ranked, text_of
from ..opening import about, image_grid
from ..outlines import Ellipse, Line, Polygon, box, finite
from ..reads import Choices, Mark, Outline
from ..outlines import WholeRuns
from ..run_lengths import brush_runs

Byte = Annotated[int, msgspec.Meta(ge=0, le=255)]
LONGEST_BRUSH = 1 << 27
SAID = {
    "choices": "choices", "number": "number", "rating": "rating", "textarea": "text", "taxonomy": "taxonomy",
    "datetime": "datetime",
}  # fmt: skip
"""What is said of a region, and the field that it stands in."""
NO_SHAPES = {*SAID, "relation", "pairwise", "ranker"}
LEFT_OUT = {"keypoint": "points", "vector": "polyline"}


class Result(msgspec.Struct):
    type: str
    id: int | str | None = None
    from_name: str = ""
    value: msgspec.Raw = NOTHING
    original_width: float | None = None
    original_height: float | None = None
    image_rotation: float | None = None
    item_index: int | None = None
    score: float | None = None

    def __post_init__(self) -> None:
        self.type = self.type.lower()


class Value(msgspec.Struct):
    """What a shape may have; each has some of it."""

    x: float | None = None
    y: float | None = None
    width: float | None = None
    height: float | None = None
    radiusX: float | None = None
    radiusY: float | None = None
    rotation: float | None = None
    points: msgspec.Raw = NOTHING
    closed: bool | None = None
    rle: msgspec.Raw = NOTHING
    labels: msgspec.Raw = NOTHING
    polygonlabels: msgspec.Raw = NOTHING
    brushlabels: msgspec.Raw = NOTHING
    rectanglelabels: msgspec.Raw = NOTHING
    ellipselabels: msgspec.Raw = NOTHING

    def names(self) -> list[str]:
        """The labels, whatever tag gave them."""
        fields = (self.labels, self.polygonlabels, self.brushlabels, self.rectanglelabels, self.ellipselabels)
        return [name for field in fields if given(field) for name in decoded(field, list[str], LONGEST_NOTE)]

    def kind(self) -> str:
        """What it is by what it has, where the tool does not say."""
        if given(self.rle):
            return "brush"
        if given(self.points):
            return "polygon"
        return "ellipse" if self.radiusX is not None else "rectangle" if self.width is not None else "labels"

    def numbers(self, *names: str) -> list[float]:
        """Numbers that must be there."""
        found = [getattr(self, name) for name in names]
        if None in found:
            raise FormatError(f"has no {names[found.index(None)]}; export it again")
        return found


def grid_of(results: Iterable[Result]) -> Grid | None:
    """The size of the image, as the results have it; None where none of them does."""
    grid: Grid | None = None
    for k, one in enumerate(results):
        if one.original_width is None or one.original_height is None:
            continue
        with about(f"region {k if one.id is None else one.id}"):
            own = image_grid(one.original_width, one.original_height)
            if grid is not None and own.shape != grid.shape:
                sizes = " and ".join(" × ".join(map(str, reversed(shape))) for shape in (grid.shape, own.shape))
                raise GridError(f"its image has {sizes} pixels; draw again on one of them")
            grid = own
    return grid


def marks_of(results: Sequence[Result], grid: Grid, choices: Choices) -> tuple[tuple[Mark, ...], dict[str, int]]:
    """The marks, and what is no area, by kind."""
    marks, left_out = list[Mark](), Counter[str]()
    groups = dict[object, list[Result]]()
    for k, one in enumerate(results):
        groups.setdefault((k,) if one.id is None else one.id, []).append(one)
    for number, (name, group) in enumerate(groups.items()):
        with about(f"region {number if isinstance(name, tuple) else name}"):
            found, kind = _region(group, grid, choices)
            marks += found
            if kind:
                left_out[kind] += 1
    return tuple(marks), dict(left_out)


def _region(group: list[Result], grid: Grid, choices: Choices) -> tuple[list[Mark], str]:
    """The marks of one region, one a label; or the kind that is no area."""
    shapes = [one for one in group if one.type not in NO_SHAPES]
    if not shapes:
        return [], ""
    first = next((one for one in shapes if one.type != "labels"), shapes[0])
    _upright(first)
    kind = first.type.removesuffix("labels")
    value = decoded(first.value, Value, LONGEST_BRUSH) if kind in ("", *_AREAS) and given(first.value) else Value()
    kind = kind or value.kind()
    outline = _outline(kind, value, grid, choices)
    if outline is None:
        return [], "polyline" if kind == "polygon" else LEFT_OUT.get(kind, kind)
    others = [decoded(one.value, Value, LONGEST_BRUSH) for one in shapes if one is not first and given(one.value)]
    names = dict.fromkeys(name for one in (value, *others) for name in one.names())
    rank, notes = ranked(_said(group), choices.rank)
    return [Mark(name, outline, 0, rank, notes) for name in names or [first.from_name or kind]], ""


def _upright(result: Result) -> None:
    if result.image_rotation and result.image_rotation % 360:
        raise FormatError(
            f"was drawn while the image was turned by {result.image_rotation:g} degrees; turn it back in Label Studio, "
            "and export it again"
        )
    if result.item_index:
        raise FormatError("lies on a further page of its task; make a task of every image")


def _said(group: list[Result]) -> dict[str, str]:
    """What was said of a region, by the name of the question."""
    notes = dict[str, str]()
    for one in group:
        if one.type in SAID and given(one.value):
            value = anything(one.value)
            notes[one.from_name or one.type] = text_of(value.get(SAID[one.type]) if isinstance(value, dict) else value)
        elif one.score is not None:
            notes["score"] = text_of(one.score)
    return notes


# -- outlines ----------------------------------------------------------------------------------------


def _outline(kind: str, value: Value, grid: Grid, choices: Choices) -> Outline | None:
    if kind == "polygon" and value.closed is False:
        return None if choices.widen is None else Line.of(_pixels(value, grid), choices.widen)
    draw = _AREAS.get(kind)
    return None if draw is None else draw(value, grid, choices)


def _pixels(value: Value, grid: Grid) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return in_pixels(points_of(value.points), grid)


def in_pixels(
    points: np.ndarray[tuple[int, ...], np.dtype[np.float64]], grid: Grid
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """(points, 2) in percent, as pixels."""
    with np.errstate(over="ignore"):  # what is too far is refused with the outline
        return np.asarray(points * np.array(grid.shape[::-1], np.float64) / 100)


def _polygon(value: Value, grid: Grid, choices: Choices) -> Outline:
    return Polygon.of([_pixels(value, grid)], choices.rule)


def _rectangle(value: Value, grid: Grid, choices: Choices) -> Outline:
    x, y, width, height = value.numbers("x", "y", "width", "height")
    (x, y), (width, height) = in_pixels(np.array([(x, y), (width, height)]), grid).tolist()
    return Polygon.of(box(x, y, width, height, value.rotation or 0, about="corner").rings, choices.rule)


def _ellipse(value: Value, grid: Grid, choices: Choices) -> Outline:
    x, y, half_width, half_height = value.numbers("x", "y", "radiusX", "radiusY")
    (x, y), (half_width, half_height) = in_pixels(np.array([(x, y), (half_width, half_height)]), grid).tolist()
    finite(value.rotation or 0)
    return Ellipse(x, y, half_width, half_height, value.rotation or 0)


def _brush(value: Value, grid: Grid, choices: Choices) -> Outline:
    if not given(value.rle):
        raise FormatError("is a brush without run lengths; submit it in Label Studio, and export it again")
    data = bytes(decoded(value.rle, list[Byte], LONGEST_BRUSH))
    return WholeRuns.of(brush_runs(data, grid.shape[0] * grid.shape[1]), grid.shape)


_AREAS: dict[str, Callable[[Value, Grid, Choices], Outline]] = {
    "polygon": _polygon,
    "rectangle": _rectangle,
    "ellipse": _ellipse,
    "brush": _brush,
}

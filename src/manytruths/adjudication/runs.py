"""Runs of one box in another: what is stored by the box of a dispute is shown, and drawn, in a block of the image."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.boxed_runs import Box, cut_rows, overlay, unite
from ..core.errors import CallError
from ..core.runs import LabelRuns

MOST_RUNS = 200_000
"""Of one drawing; more is refused."""


def shape_of(box: Box) -> tuple[int, ...]:
    """Pixels of a box along each axis."""
    return tuple(stop - start for start, stop in box)


def clip_runs(runs: LabelRuns, box: Box, view: Box) -> LabelRuns:
    """Runs in a box as runs in another one; what lies outside of it is left out."""
    shape = shape_of(view)
    if not len(runs):
        return LabelRuns(shape, runs.starts, runs.stops, runs.values)
    places = list(np.unravel_index(runs.starts, runs.shape))
    inside = np.ones(len(runs), bool)
    for axis, ((low, _), (start, stop)) in enumerate(zip(box, view, strict=True)):
        places[axis] = places[axis] + (low - start)
        if axis < len(box) - 1:
            inside &= (places[axis] >= 0) & (places[axis] < stop - start)
    first = np.maximum(places[-1], 0)
    last = np.minimum(places[-1] + runs.lengths, shape[-1])
    inside &= last > first
    rows = np.zeros(len(runs), np.int64)
    for axis in range(len(box) - 1):
        rows = rows * shape[axis] + places[axis]
    starts, stops = rows * shape[-1] + first, rows * shape[-1] + last
    return LabelRuns(shape, starts[inside], stops[inside], runs.values[inside])


def paint_drawing(drawn: Any, shape: Sequence[int], allowed: Sequence[int]) -> LabelRuns:
    """What a page has drawn in a block, as runs; later values over earlier ones. What is no drawing is refused.

    >>> paint_drawing([[1, [1, 2]]], (2, 3), (1,))[...].tolist()
    [[0, 1, 1], [0, 0, 0]]
    """
    size, layers = math.prod(shape), []
    if not isinstance(drawn, list) or sum(len(part[1]) for part in drawn if _is_part(part)) > 2 * MOST_RUNS:
        raise CallError(f"runs must be a list of at most {MOST_RUNS:,} runs")
    for part in drawn:
        if not _is_part(part):
            raise CallError("runs are written as [[value, [start, length, …]], …]")
        value, flat = part
        if value not in allowed:
            raise CallError(f"runs have the value {value}, which is no label of the study")
        try:
            pairs = np.array(flat, dtype=np.int64).reshape(-1, 2)
        except (ValueError, TypeError, OverflowError):
            raise CallError("runs must be pairs of whole numbers") from None
        starts, lengths = pairs[:, 0], pairs[:, 1]
        if (starts < 0).any() or (lengths < 1).any() or (starts > size).any() or (lengths > size).any():
            raise CallError("runs must lie inside of the block")
        if (starts + lengths > size).any() or int(lengths.sum()) > size:
            raise CallError("runs must lie inside of the block")
        ones = np.ones(len(starts), np.bool_)
        union = unite([cut_rows(LabelRuns(tuple(shape), starts, starts + lengths, ones))])
        kind = np.min_scalar_type(value)
        layers.append(LabelRuns(union.shape, union.starts, union.stops, np.full(len(union), value, kind)))
    return overlay(layers, tuple(shape))


def _is_part(part: Any) -> bool:
    if not (isinstance(part, list) and len(part) == 2 and isinstance(part[1], list)):
        return False
    whole = isinstance(part[0], int) and not isinstance(part[0], bool)
    return whole and all(type(number) is int for number in part[1])


def crop_drawing(painted: LabelRuns, view: Box, box: Box | None = None) -> tuple[Box, LabelRuns]:
    """The box of a dispute and of what was drawn, and the drawing in it; both in pixels of the masks.

    Without a dispute, the box of what was drawn, which must be something.
    """
    bounds = list(box or ())
    if len(painted):
        *lead, column = np.unravel_index(painted.starts, painted.shape)
        firsts, lasts = [*lead, column], [*lead, column + painted.lengths - 1]
        bounds = [(start + int(a.min()), start + int(b.max()) + 1)
                  for (start, _), a, b in zip(view, firsts, lasts, strict=True)]  # fmt: skip
        if box is not None:
            bounds = [(min(a, c), max(b, d)) for (a, b), (c, d) in zip(bounds, box, strict=True)]
    whole = tuple(bounds)
    return whole, clip_runs(painted, view, whole)

"""Runs of boxes: moved within an image, united, laid over each other, and as lists that logs and pages hold."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .errors import CallError
from .runs import LabelRuns, divide_runs, expand

Box = tuple[tuple[int, int], ...]
"""(start, stop) along each axis."""
AT_ONCE = 64
"""Layers that are laid over each other at a time."""


def crop_runs(runs: LabelRuns, box: Sequence[tuple[int, int]]) -> LabelRuns:
    """Runs in the coordinates of a box that holds all of them."""
    return move_runs(runs, tuple(-start for start, _ in box), tuple(stop - start for start, stop in box))


def move_runs(runs: LabelRuns, by: Sequence[int], shape: tuple[int, ...]) -> LabelRuns:
    """Runs moved within or into an array of another shape, which must hold all of them."""
    places = [at + step for at, step in zip(np.unravel_index(runs.starts, runs.shape), by, strict=True)]
    starts = np.zeros(len(runs), np.int64)
    for place, n in zip(places, shape, strict=True):
        starts = starts * n + place
    return LabelRuns(shape, starts, starts + runs.lengths, runs.values)


def place_runs(runs: LabelRuns, box: Box, into: Box) -> LabelRuns:
    """Runs of a box in the coordinates of one around it; of the whole image where that starts at 0."""
    by = tuple(start - first for (start, _), (first, _) in zip(box, into, strict=True))
    return move_runs(runs, by, tuple(stop - start for start, stop in into))


def is_inside(box: Box, shape: Sequence[int]) -> bool:
    """Whether a box lies in an array of a shape.

    >>> is_inside(((0, 3), (2, 4)), (3, 4)), is_inside(((0, 3), (2, 5)), (3, 4)), is_inside(((0, 3),), (3, 4))
    (True, False, False)
    """
    return len(box) == len(shape) and all(start >= 0 and stop <= n for (start, stop), n in zip(box, shape, strict=True))


def unite(parts: Sequence[LabelRuns]) -> LabelRuns:
    """What any of several arrays marks, as runs of True."""
    shape = parts[0].shape
    starts = np.concatenate([part.starts for part in parts])
    stops = np.concatenate([part.stops for part in parts])
    order = np.argsort(starts, kind="stable")
    starts, stops = starts[order], stops[order]
    if not len(starts):
        return LabelRuns(shape, starts, stops, np.empty(0, np.bool_))
    reach = np.maximum.accumulate(stops)
    first = np.concatenate([[True], starts[1:] > reach[:-1]])
    # touching runs of two rows stay two
    first[1:] |= (starts[1:] == reach[:-1]) & (starts[1:] % shape[-1] == 0)
    last = np.concatenate([first[1:], [True]])
    return LabelRuns(shape, starts[first], reach[last], np.ones(int(first.sum()), np.bool_))


def without(runs: LabelRuns, gone: LabelRuns) -> LabelRuns:
    """The parts of runs that lie in no run of another array."""
    if not len(gone) or not len(runs):
        return runs
    starts, stops, (own, other) = divide_runs(
        [runs, LabelRuns(gone.shape, gone.starts, gone.stops, np.ones(len(gone), bool))]
    )
    keep = (own != 0) & ~other
    return LabelRuns(runs.shape, starts[keep], stops[keep], own[keep]).join()


def overlay(layers: Sequence[LabelRuns], shape: tuple[int, ...]) -> LabelRuns:
    """Later layers over earlier ones."""
    below = LabelRuns(shape, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.uint8))
    for at in range(0, len(layers), AT_ONCE):
        starts, stops, each = divide_runs([below, *layers[at : at + AT_ONCE]])
        top = np.zeros(len(starts), np.int64)
        for values in each:
            top = np.where(values != 0, values, top)
        below = LabelRuns(shape, starts, stops, top.astype(np.min_scalar_type(int(top.max(initial=0))))).join()
    return below


# -- as lists ---------------------------------------------------------------------------------------


def runs_to_list(runs: LabelRuns) -> list[int]:
    """[start, length, start, length, …]"""
    return [int(number) for number in np.stack([runs.starts, runs.lengths], axis=1).ravel()]


def runs_to_pairs(runs: LabelRuns) -> list[list[Any]]:
    """[[value, [start, length, …]], …]"""
    return [[int(value), runs_to_list(runs.select(runs.values == value))] for value in np.unique(runs.values)]


def runs_from_pairs(pairs: Iterable[tuple[int, Iterable[int]]], box: Box) -> LabelRuns:
    """Runs of a box as a log holds them; refused where they leave it or meet each other."""
    shape = tuple(stop - start for start, stop in box)
    parts = [(int(value), np.array(list(flat), np.int64).reshape(-1, 2)) for value, flat in pairs]
    if any(value <= 0 for value, _ in parts):
        raise CallError("values of drawn pixels are labels but background, above 0")
    starts = np.concatenate([np.empty(0, np.int64), *(each[:, 0] for _, each in parts)])
    lengths = np.concatenate([np.empty(0, np.int64), *(each[:, 1] for _, each in parts)])
    top = max((value for value, _ in parts), default=1)
    kind = np.min_scalar_type(top)
    values = np.concatenate([np.empty(0, kind), *(np.full(len(each), value, kind) for value, each in parts)])
    order = np.argsort(starts, kind="stable")
    starts, stops, values = starts[order], (starts + lengths)[order], values[order]
    if len(starts) and (
        (lengths < 1).any() or starts[0] < 0 or stops[-1] > math.prod(shape) or (stops[:-1] > starts[1:]).any()
    ):
        raise CallError("runs of drawn pixels leave their box, or meet each other")
    return cut_rows(LabelRuns(shape, starts, stops, values)).join()


def runs_of_list(flat: Iterable[int], box: Box) -> LabelRuns:
    """Runs of True from [start, length, …] in a box."""
    return runs_from_pairs([(1, flat)], box).marks()


def cut_rows(runs: LabelRuns) -> LabelRuns:
    """Runs that end with their row."""
    width = runs.shape[-1]
    first, last = runs.starts // width, (runs.stops - 1) // width
    counts = np.maximum(last - first + 1, 0)
    own, row = np.repeat(np.arange(len(runs)), counts), expand(first, counts)
    starts, stops = np.maximum(runs.starts[own], row * width), np.minimum(runs.stops[own], (row + 1) * width)
    return LabelRuns(runs.shape, starts, stops, runs.values[own])

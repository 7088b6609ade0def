"""Outputs that are probabilities: one map, a map for each label, or the share of samples that mark a pixel."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.columns import Column
from ..core.errors import InputError, few
from ..core.labels import Labels
from ..core.tiles import is_lazy
from ..io import Location, Mask, read_probability
from ..shape.grid import Grid, times
from .case import Case
from .mask_values import about, find_strange, refuse_strange
from .samples import averages_samples, read_samples

Array = NDArray[Any]
Limits = tuple[float, float] | None

ADDS_UP = 0.01
"""How far the probabilities of all labels may be from adding up to 1; maps of 8 bits are rounded."""


@dataclass(frozen=True, eq=False)
class Output:
    """What an algorithm says of a case in numbers."""

    response: Array
    """Of all labels together: a probability or another response, the higher the more certain."""
    by_label: Mapping[int, Array] | None = None
    """The probability of each label by its value, where there is more than one map."""


def read_output(case: Case, column: Column, grid: Grid | None) -> Output:
    """The probability maps of one algorithm, checked, on a grid."""
    if averages_samples(case):
        return average_samples(list(read_samples(case, column, grid).values()), case.labels)
    source, what = case.predictions[column], f"case {case.name}, {case.describe_prediction(column)}"
    with about(what):
        if isinstance(source, Mapping) and "" not in source:
            return _unite(_read_named(case, source, grid), case.labels)
        source = source[""] if isinstance(source, Mapping) else source
        stack = _read(case, source)
        if len(stack.array.shape) > len(stack.grid.shape):
            raise InputError(f"{source} is in colour; a probability map has one number a pixel: save it as grey")
        channels = _channels(stack.array, grid, case.labels)
        if channels is not None:
            refuse_strange(stack.array, case.options.limits)
            return _unite(_name_channels(case.labels, channels, case.options.limits), case.labels)
        if len(stack.grid.shape) > 3:
            raise InputError(f"{source} is an array of {times(stack.grid.shape)}; {_advise_on_channels(case.labels)}")
        return Output(case.place_response(stack, source, grid))


def _read(case: Case, source: Any) -> Mask:
    if not isinstance(source, Location):
        return Mask(source, Grid(np.shape(source)), "array")
    picture = read_probability(source)
    return Mask(picture.array, picture.grid, picture.format)


def average_samples(masks: Sequence[Array], labels: Labels | None) -> Output:
    """The share of the samples that mark a pixel, and that give it each label."""
    values = sorted(set().union(*(np.unique(mask).tolist() for mask in masks)) - {0})
    known = [] if labels is None else [labels.values[code] for code in labels.marks]
    marked = np.mean([mask != 0 for mask in masks], axis=0)
    each = {value: np.mean([mask == value for mask in masks], axis=0) for value in dict.fromkeys([*known, *values])}
    return Output(marked, each if len(each) > 1 else None)


# -- several labels ----------------------------------------------------------------------------------


def _read_named(case: Case, source: Mapping[str, Any], grid: Grid | None) -> dict[int, Array]:
    """A file for each label."""
    labels = case.labels
    if labels is None:
        raise InputError(f"there are maps of {few(list(source), 4)}; declare the labels (--labels 1=NAME,2=NAME)")
    values = {labels.names[code]: labels.values[code] for code in labels.marks}
    others = [name for name in source if name not in labels.names]
    if others:
        raise InputError(f"there is a map of {others[0]!r}; labels are {', '.join(values)}: rename the file")
    gone = [name for name in values if name not in source]
    if gone:
        raise InputError(
            f"there is no map of label {', '.join(gone)}; write a map of 0 where it is nowhere, or leave the label out"
        )
    maps = {}
    for name, part in source.items():
        with about(f"label {name}"):
            placed = case.place_response(_read(case, part), part, grid)
            if is_lazy(placed):
                raise InputError(
                    f"{part} is too large to be read at once, as maps of several labels are; crop the case"
                )
            maps[labels.values[labels.names.index(name)]] = _to_probability(placed, case.options.limits)
    return maps


def _channels(array: Array, grid: Grid | None, labels: Labels | None) -> Array | None:
    """The array with its channels first, where it has one axis more than the masks and one channel a label."""
    shape = tuple(array.shape)
    if grid is None or is_lazy(array) or len(shape) != len(grid.shape) + 1:
        return None
    wanted = _numbers_of_channels(labels)
    if shape[1:] == grid.shape and shape[0] in wanted:
        return np.asarray(array)
    if shape[:-1] == grid.shape and shape[-1] in wanted:
        return np.moveaxis(np.asarray(array), -1, 0)
    if shape[1:] == grid.shape or shape[:-1] == grid.shape:
        raise InputError(
            f"an array of {times(shape)} has as many channels as fit no labels; {_advise_on_channels(labels)}"
        )
    return None


def _numbers_of_channels(labels: Labels | None) -> tuple[int, ...]:
    """Without declared labels, background and what is marked are the only channels that need no names."""
    return (2,) if labels is None else (len(labels.marks), len(labels.marks) + (labels.background is not None))


def _advise_on_channels(labels: Labels | None) -> str:
    if labels is None:
        return "save one map, or two channels (background first), or declare the labels (--labels 1=NAME,2=NAME)"
    names = [labels.names[code] for code in labels.marks]
    first = ", or with the background before them" if labels.background is not None else ""
    return f"save {len(names)} channels ({', '.join(names)}), first or last axis{first}"


def _name_channels(labels: Labels | None, channels: Array, limits: Limits) -> dict[int, Array]:
    """Channels by the value of their label, in the order of the values; background has 0."""
    values = [0, 1] if labels is None else [labels.values[code] for code in labels.marks]
    if len(values) < len(channels):
        values = [0, *values]
    return {value: _to_probability(channel, limits) for value, channel in zip(values, channels, strict=True)}


def _unite(maps: dict[int, Array], labels: Labels | None) -> Output:
    """The maps of the labels and what they say of all of them together; refused where they do not add up."""
    total = np.sum([np.asarray(array, np.float64) for array in maps.values()], axis=0)
    ground = maps.get(0) if labels is None or labels.background is not None else None
    exact = ground is not None or (labels is not None and labels.background is None)
    wrong = (np.abs(total - 1) if exact else total - 1) > ADDS_UP
    if wrong.any():
        _raise_sum(total, wrong, exact)
    marks = {value: array for value, array in maps.items() if value or ground is None}
    response = np.clip(total if ground is None else 1 - np.asarray(ground, np.float64), 0, 1)
    return Output(response, marks if len(marks) > 1 else None)


def _raise_sum(total: Array, wrong: Array, exact: bool) -> None:
    where = np.unravel_index(int(np.argmax(np.where(wrong, np.abs(total - 1), -1))), total.shape)
    at, much = ", ".join(map(str, where)), float(total[where])
    wanted = "to 1" if exact else "to at most 1"
    hint = "" if exact else "; labels exclude each other, as in the masks: write maps that do, or evaluate each alone"
    raise InputError(
        f"the probabilities of the labels do not add up {wanted} in {int(wrong.sum()):,} of {total.size:,} pixels; "
        f"they are {much:.4g} at ({at}){hint}"
    )


# -- values ------------------------------------------------------------------------------------------


def why_no_probability(values: Array, limits: Limits) -> str:
    """Why values are responses without a scale, and no probabilities; empty where they are probabilities.

    >>> why_no_probability(np.array([0.5, 3.0]), None), why_no_probability(np.array([0, 255], np.uint8), (0, 255))
    ('1 of 2 values are not between 0 and 1, such as 3 at (1)', '')
    """
    if limits is not None or values.dtype.kind == "b":
        return ""
    if values.dtype.kind in "ui":
        most = np.iinfo(values.dtype).max
        return f"whole numbers have no scale; say which, as in --limits 0,{most if most < 1 << 16 else 100}"
    found = find_strange(values, 0.0, 1.0)
    if found is None:
        return ""
    return f"{found.count:,} of {math.prod(values.shape):,} values are not between 0 and 1, such as {found.first}"


def scale_to_probability(values: Array, limits: Limits) -> Array:
    """Values as shares of the range that is declared for them; as they are where none is."""
    known = np.asarray(values, np.float64)
    return known if limits is None else (known - limits[0]) / (limits[1] - limits[0])


def _to_probability(array: Array, limits: Limits) -> Array:
    if why := why_no_probability(array, limits):
        raise InputError(f"{why}; maps of labels are probabilities: apply a softmax, or give --limits")
    return scale_to_probability(array, limits)

"""What a user hands to ``tally`` and ``paint``, made into columns and arrays of one shape."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .coding import HIDDEN
from .columns import Column, Role
from .errors import CallError, GridError

Array = NDArray[Any]
MaskInput = ArrayLike | None
Masks = Mapping[Any, MaskInput] | Sequence[MaskInput] | Array
"""Masks by rater (``{"A": mask}``, ``{("A", "2"): mask}``), in a list, or stacked along the first axis."""


@dataclass(frozen=True)
class Inputs:
    """Columns with their arrays; an absent one (None) is VOID everywhere."""

    columns: tuple[Column, ...]
    arrays: tuple[Array | None, ...]

    @property
    def present(self) -> list[int]:
        return [i for i, a in enumerate(self.arrays) if a is not None]

    @property
    def shape(self) -> tuple[int, ...]:
        return next(a.shape for a in self.arrays if a is not None)


def gather(masks: Masks, raters: object, predictions: object, references: object) -> Inputs:
    """Columns in the order given: raters, algorithms, references; one shape, or an error that says who differs."""
    pairs = [*_named(masks, raters), *_by_name(predictions, "algorithm"), *_by_name(references, "reference")]
    columns, arrays = tuple(c for c, _ in pairs), tuple(_array(c, a) for c, a in pairs)
    inputs = Inputs(columns, arrays)
    if not inputs.present:
        raise CallError("there is no mask: every column is absent")
    _same_shape(inputs)
    return inputs


def _named(masks: Masks, raters: object) -> list[tuple[Column, MaskInput]]:
    if isinstance(masks, Mapping):
        if raters is not None and raters != "exchangeable":
            raise CallError("masks given by name already say who the raters are; leave raters= out")
        return [(_column(key, "rater"), mask) for key, mask in masks.items()]
    if isinstance(raters, str) and raters != "exchangeable":
        raise CallError(f"raters= is a list of names, or 'exchangeable'; got {raters!r}")
    if not isinstance(masks, Iterable) or getattr(masks, "ndim", 1) == 0:
        raise CallError(f"masks come as a list, a stack or {{rater: mask}}; got {masks!r}")
    stack = list(masks)
    names = list(raters) if isinstance(raters, Iterable) and raters != "exchangeable" else range(1, len(stack) + 1)
    if len(names) != len(stack):
        raise CallError(f"raters= names {len(names)} but there are {len(stack)} masks")
    return [(_column(name, "rater"), mask) for name, mask in zip(names, stack, strict=True)]


def _by_name(masks: object, role: Role) -> list[tuple[Column, MaskInput]]:
    if masks is None:
        return []
    if not isinstance(masks, Mapping):
        raise CallError(f"{role}s come by name, {{'name': mask}}; got {type(masks).__name__}")
    return [(_column(key, role), mask) for key, mask in masks.items()]


def _column(key: object, role: Role) -> Column:
    if isinstance(key, Column):
        return key
    if isinstance(key, tuple) and len(key) == 2:
        return Column(str(key[0]), role, str(key[1]))
    return Column(str(key), role)


def _array(column: Column, mask: MaskInput) -> Array | None:
    if mask is None:
        return None
    try:
        array = mask if isinstance(mask, np.ndarray) else np.asarray(mask)
    except ValueError:
        raise GridError(f"{column}: a mask is an array; got rows that differ in length") from None
    if array.ndim == 0:
        raise CallError(f"{column}: a mask is an array of at least one dimension; got {mask!r}")
    return array


def _same_shape(inputs: Inputs) -> None:
    first = inputs.present[0]
    for i in inputs.present:
        array = inputs.arrays[i]
        assert array is not None
        if array.shape != inputs.shape:
            raise GridError(
                f"{inputs.columns[i]}'s mask is {size(array.shape)} but {inputs.columns[first]}'s is "
                f"{size(inputs.shape)}; resample one of them to the other's grid"
            )


def filled(array: Array | None) -> Array:
    """Masked items of a masked array as a value that no label has."""
    assert array is not None
    if not isinstance(array, np.ma.MaskedArray):
        return array
    hidden, data = np.ma.getmaskarray(array), np.ma.getdata(array)
    if not hidden.any() or data.dtype.kind not in "biuf":
        return data
    # fractions and nan must stay what they are, to be refused
    return np.where(hidden, HIDDEN, data.astype(np.float64 if data.dtype.kind == "f" else np.int64))


def size(shape: Sequence[int]) -> str:
    """``512×512``."""
    return "×".join(map(str, shape))

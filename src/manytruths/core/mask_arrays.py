"""Masks as the arrays that :func:`tally` and :func:`paint` walk through.

:func:`gather_inputs` makes columns and arrays of one shape of what a user gives, :func:`flat_blocks` cuts them into
pieces that fit the cache, and a :class:`Coder` turns their values into codes of labels.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .columns import Column, Role
from .errors import CallError, GridError, LabelError
from .labels import MAX_LABELS, VOID, Labels
from .tiles import Band, LazyArray, Where, is_lazy, known_value, load, tile_slices, unstack

Array = NDArray[Any]
MaskInput = ArrayLike | LazyArray | None
Masks = Mapping[Any, MaskInput] | Sequence[MaskInput] | Array | LazyArray
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


def gather_inputs(
    masks: Masks, raters: object, predictions: object, references: object, *, lazy: bool = False
) -> Inputs:
    """Columns in the order given: raters, algorithms, references; their arrays must have one shape.

    Arrays that are not in memory are read whole, unless ``lazy`` leaves them as they are, for :func:`read_tiles`.
    """
    pairs = [*_name_masks(masks, raters), *_by_name(predictions, "algorithm"), *_by_name(references, "reference")]
    columns, arrays = tuple(c for c, _ in pairs), tuple(_array(c, a, lazy) for c, a in pairs)
    inputs = Inputs(columns, arrays)
    if not inputs.present:
        raise CallError("there is no mask: every column is absent")
    _check_shapes(inputs)
    return inputs


def _name_masks(masks: Masks, raters: object) -> list[tuple[Column, MaskInput]]:
    if isinstance(masks, Mapping):
        if raters is not None and raters != "exchangeable":
            raise CallError("masks given by name already name the raters; leave raters= out")
        return [(_column(key, "rater"), mask) for key, mask in masks.items()]
    if isinstance(raters, str) and raters != "exchangeable":
        raise CallError(f"raters= is a list of names, or 'exchangeable'; got {raters!r}")
    if not (is_lazy(masks) or isinstance(masks, Iterable)) or getattr(masks, "ndim", 1) == 0:
        raise CallError(f"masks come as a list, a stack or {{rater: mask}}; got {masks!r}")
    stack: list[MaskInput] = list(unstack(masks)) if is_lazy(masks) else list(cast(Sequence[MaskInput], masks))
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


def _array(column: Column, mask: MaskInput, lazy: bool) -> Array | None:
    if mask is None:
        return None
    if is_lazy(mask) and mask.shape:
        return cast(Array, mask) if lazy else load(mask)
    try:
        array = mask if isinstance(mask, np.ndarray) else np.asarray(mask)
    except ValueError:
        raise GridError(f"{column}: a mask is an array; got rows that differ in length") from None
    if array.ndim == 0:
        raise CallError(f"{column}: a mask is an array of at least one dimension; got {mask!r}")
    return array


def _check_shapes(inputs: Inputs) -> None:
    first = inputs.present[0]
    for i in inputs.present:
        array = inputs.arrays[i]
        assert array is not None
        if array.shape != inputs.shape:
            raise GridError(
                f"{inputs.columns[i]}'s mask is {format_shape(array.shape)} but {inputs.columns[first]}'s is "
                f"{format_shape(inputs.shape)}; resample one of them to the other's grid"
            )


def fill_masked(array: Array | None) -> Array:
    """The array with the masked items of a masked array as a value that no label has."""
    assert array is not None
    if not isinstance(array, np.ma.MaskedArray):
        return array
    hidden, data = np.ma.getmaskarray(array), np.ma.getdata(array)
    if not hidden.any() or data.dtype.kind not in "biuf":
        return data
    # fractions and nan must stay what they are, to be refused
    return np.where(hidden, HIDDEN, data.astype(np.float64 if data.dtype.kind == "f" else np.int64))


def format_shape(shape: Sequence[int]) -> str:
    """``512×512``."""
    return "×".join(map(str, shape))


BLOCK = 1 << 20
"""Items a block: what is made of it stays in the cache, and the overhead of a block is small beside it."""


def region_mask(region: ArrayLike | LazyArray, shape: tuple[int, ...], *, lazy: bool = False) -> NDArray[np.bool_]:
    """A region as a mask; GridError where its shape is not that of the masks."""
    mask = cast(Array, region) if lazy and is_lazy(region) else np.asarray(region).astype(bool)
    if mask.shape != shape:
        raise GridError(f"the region is {format_shape(mask.shape)} but the masks are {format_shape(shape)}")
    return mask


@dataclass(frozen=True)
class Tile:
    """The same part of every array, in memory; one item that stands for all where it is constant in each of them."""

    where: Where | None
    """None stands for everything."""
    arrays: list[Array]
    items: int
    """How many items it stands for."""

    @property
    def is_constant(self) -> bool:
        """Whether nothing was decoded."""
        return self.arrays[0].ndim == 0


def read_tiles(arrays: Sequence[Array | LazyArray], out: object = None, band: Band | None = None) -> Iterator[Tile]:
    """Arrays of one shape tile by tile; as a single tile, without a copy, where all of them are in memory.

    ``out`` is what will be written by tile, so that its chunks are respected; ``band`` names the tiles to read.
    """
    if out is None and band is None and not any(is_lazy(array) for array in arrays):
        yield Tile(None, [fill_masked(load(array)) for array in arrays], math.prod(arrays[0].shape))
        return
    for where in tile_slices(arrays, out) if band is None else band:
        shape = tuple(part.stop - part.start for part in where)
        known = [known_value(array, where) for array in arrays]
        dtypes = [np.dtype(array.dtype) for array in arrays]
        if None not in known:
            constant = [np.array(value, dtype) for value, dtype in zip(known, dtypes, strict=True)]
            yield Tile(where, constant, math.prod(shape))
            continue
        parts = [
            fill_masked(load(array, where)) if value is None else np.full(shape, value, dtype)
            for array, value, dtype in zip(arrays, known, dtypes, strict=True)
        ]
        yield Tile(where, parts, math.prod(shape))


def flat_blocks(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """The same items of every array as 1-D pieces of at most :data:`BLOCK`.

    Pieces are views where all arrays share an order in memory, else small copies, so that memory-mapped
    and strided arrays are never copied whole.
    """
    if all(a.flags.f_contiguous for a in arrays):
        arrays = [a.T for a in arrays]
    if all(a.flags.c_contiguous for a in arrays):
        flat = [a.reshape(-1) for a in arrays]
        for start in range(0, flat[0].size, BLOCK):
            yield [a[start : start + BLOCK] for a in flat]
    else:
        yield from _slab_blocks(arrays)


def _slab_blocks(arrays: Sequence[Array]) -> Iterator[list[Array]]:
    """Slices along the first axis, thin enough to be copied one at a time."""
    length = arrays[0].shape[0]
    inner = arrays[0][0].size if length else 0
    if inner > BLOCK:
        for i in range(length):
            yield from flat_blocks([a[i] for a in arrays])
    elif inner:
        step = max(1, BLOCK // inner)
        for i in range(0, length, step):
            yield [np.ascontiguousarray(a[i : i + step]).reshape(-1) for a in arrays]


def run_starts(block: Sequence[Array]) -> NDArray[np.intp]:
    """Where a new run begins: the first item, and every item at which any array changes its value.

    Masks are made of long runs of equal patterns, so that what follows has thousands of runs to look at,
    not millions of items, and the cost of a pass is two cheap comparisons a byte.
    """
    length = len(block[0])
    changed = np.empty(length, bool)
    changed[0] = True
    np.not_equal(block[0][1:], block[0][:-1], out=changed[1:])
    differs = np.empty(length - 1, bool)
    for array in block[1:]:
        np.not_equal(array[1:], array[:-1], out=differs)
        np.logical_or(changed[1:], differs, out=changed[1:])
    return np.flatnonzero(changed)


HIDDEN = int(np.iinfo(np.int64).min)
"""What stands in for the masked items of a masked array; no label can be that."""

_BYTES = (np.uint8, np.bool_)


class Coder:
    """Turns values into byte codes; learns the labels as they occur, or accepts only those declared.

    With ``foreground`` every value but 0 is code 1, however many there are: objects may be numbered by the thousand.
    """

    def __init__(self, names: Sequence[str], labels: Labels | None, void: int | None, foreground: bool = False) -> None:
        labels = _unite_labels(labels) if foreground else labels
        self.names, self.declared, self.foreground = names, labels, foreground
        self.void = {HIDDEN} if void is None else {HIDDEN, void}
        self.codes: dict[int, int] = {v: c for c, v in enumerate(labels.values)} if labels else {}
        self.first: dict[int, str] = {}
        """Whose mask showed each learnt value first."""

    def copy(self) -> Coder:
        """One that learns on its own."""
        other = Coder(self.names, self.declared, None, self.foreground)
        other.void, other.codes, other.first = self.void, dict(self.codes), dict(self.first)
        return other

    def adopt(self, rows: NDArray[np.uint8], learnt: Coder) -> NDArray[np.uint8]:
        """Codes of another coder as those of this one, which learns what the other has learnt."""
        if not learnt.first:
            return rows
        table = np.arange(256, dtype=np.uint8)
        for value, name in learnt.first.items():
            table[learnt.codes[value]] = self._code(name, value)
        return np.asarray(table[rows])

    def encode(self, values: Sequence[Array]) -> NDArray[np.uint8]:
        """(columns, runs) codes of one block."""
        out = np.empty((len(values), len(values[0])), np.uint8)
        for row, (name, column) in enumerate(zip(self.names, values, strict=True)):
            out[row] = self._bytes(name, column) if column.dtype in _BYTES else self._wide(name, column)
        return out

    def _bytes(self, name: str, column: Array) -> Array:
        """Bytes go through a table of 256, unless there are but two values."""
        column = column.view(np.uint8)
        if not len(column):
            return column
        low, high = int(column.min()), int(column.max())
        above = column == high
        if high - low <= 1 or (above | (column == low)).all():
            first, second = self._code(name, low), self._code(name, high)
            if (first, second) == (low, high):
                return column
            codes = above.view(np.uint8) * np.uint8((second - first) % 256)
            return np.asarray(codes + np.uint8(first))
        table = np.zeros(256, np.uint8)
        present = np.zeros(256, bool)
        present[column] = True
        for value in np.flatnonzero(present).tolist():
            table[value] = self._code(name, value)
        return table[column]

    def _wide(self, name: str, column: Array) -> Array:
        if column.dtype.kind not in "iuf":
            raise LabelError(f"{name}: a mask holds integers; got an array of {column.dtype}")
        if column.dtype.kind == "f" and not (np.isfinite(column) & (np.floor(column) == column)).all():
            self._raise_bad_values(name, column)
        values, where = np.unique(column, return_inverse=True)
        if any(v < 0 and v not in self.void for v in values[:3].tolist()):
            self._raise_bad_values(name, column)
        return np.array([self._code(name, int(v)) for v in values], np.uint8)[where]

    def _code(self, name: str, value: int) -> int:
        if value in self.void:
            return VOID
        if self.foreground:
            return int(value != 0)
        code = self.codes.get(value)
        if code is not None:
            return code
        if self.declared is not None:
            raise LabelError(
                f"{name}: found the value {value}, which is not among the labels declared "
                f"({', '.join(self.declared.describe())}); declare it, or unite all labels with foreground='any'"
            )
        if len(self.codes) >= MAX_LABELS:
            raise LabelError(
                f"{name}: the masks together hold more than {MAX_LABELS} distinct values, as images do; "
                "give the path of the masks, or unite all values above 0 with foreground='any'"
            )
        self.codes[value] = code = len(self.codes)
        self.first[value] = name
        return code

    def _raise_bad_values(self, name: str, column: Array) -> None:
        fine = np.isfinite(column) & (np.floor(column) == column) & (column >= 0)
        bad = column[~(fine | np.isin(column, list(self.void)))]
        some = ", ".join(f"{v:g}" for v in np.unique(bad)[:5])
        raise LabelError(
            f"{name}: labels are non-negative integers, but the mask holds {some}; "
            "if that means 'not rated', give it as void=, or give a masked array"
        )

    def labels(self) -> Labels:
        """The labels declared, or those that occurred; a lone label gets a background beside it."""
        if self.declared is not None:
            return self.declared
        met = set(self.codes)
        return Labels(tuple(sorted(met | {0} if len(met - {0}) <= 1 else met)))

    def table(self, labels: Labels) -> NDArray[np.uint8]:
        """From the codes given while learning to positions in the final label set."""
        table = np.full(256, VOID, np.uint8)
        for value, code in self.codes.items():
            table[code] = labels.values.index(value)
        return table


def _unite_labels(labels: Labels | None) -> Labels:
    """Background and the rest; a lone label keeps its name."""
    marks = [labels.names[code] for code in labels.marks] if labels else []
    lone = len(marks) == 1 and not marks[0].isdecimal()
    return Labels((0, 1), ("background", marks[0] if lone else "any"))

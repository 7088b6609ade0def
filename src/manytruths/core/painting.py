"""Maps: one value per pattern of a tally, painted back to the pixels block by block."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import CallError, InputError
from .labels import VOID
from .mask_arrays import Coder, Masks, fill_masked, flat_blocks, gather_inputs, run_starts
from .tallies import find_rows
from .tally import Tally


class PatternValues(np.ndarray[Any, Any]):
    """An array with one value a pattern of ``tally``, ready to be painted.

    Whatever is computed of it item by item (``1 - values``, ``values > 0.9``) stays so; a part of it does not.
    """

    tally: Tally | None

    def __new__(cls, values: ArrayLike, tally: Tally | None) -> PatternValues:
        self = np.asarray(values).view(cls)
        self.tally = tally
        return self

    def __array_finalize__(self, source: NDArray[Any] | None) -> None:
        whole = source is not None and source.shape == self.shape
        self.tally = getattr(source, "tally", None) if whole else None

    def __reduce__(self) -> tuple[Any, ...]:
        return PatternValues, (np.asarray(self), self.tally)

    def __repr__(self) -> str:
        return repr(np.asarray(self))


def paint(
    values: ArrayLike,
    masks: Masks,
    tally: Tally | None = None,
    *,
    raters: object = None,
    void: int | None = None,
    fill: float | None = None,
    foreground: str | None = None,
) -> NDArray[Any]:
    """The map whose every item shows the value of its pattern.

    Parameters
    ----------
    values
        One value a pattern of ``tally``, in its order.
    masks, raters, void, foreground
        As given to :func:`manytruths.tally`. Columns of ``tally`` that are not among the masks are absent.
    tally
        A table over the same columns; a pooled one will do for any of its cases. Values that come from a
        consensus or a heatmap know theirs.
    fill
        What to paint where a pattern is not in the table (outside its region); by default that is an error.

    >>> import manytruths as mt
    >>> masks = {"A": [[1, 1, 0]], "B": [[1, 0, 0]]}
    >>> t = mt.tally(masks)
    >>> paint(t.marked, masks, t)
    array([[2, 1, 0]])
    >>> paint(mt.vote(t).hard, masks)
    array([[ True,  True, False]])
    """
    tally = tally or getattr(values, "tally", None)
    if tally is None:
        raise CallError("these values do not know their table; give the tally whose patterns they belong to")
    table = np.asarray(values)
    if table.shape != (len(tally.counts),):
        raise CallError(f"paint wants one value a pattern, {len(tally.counts)} in all; got shape {table.shape}")
    if foreground and tally.labels.values != (0, 1):
        raise CallError("foreground='any' goes with a table that was counted so; this one has other labels")
    inputs = gather_inputs(masks, raters, None, None)
    where = [tally.position(inputs.columns[i]) for i in inputs.present]
    arrays = [fill_masked(inputs.arrays[i]) for i in inputs.present]
    coder = Coder([str(inputs.columns[i]) for i in inputs.present], tally.labels, void, foreground == "any")
    order: Literal["C", "F"] = "F" if all(a.flags.f_contiguous for a in arrays) else "C"
    if fill is not None:
        table = table.astype(np.result_type(table, np.min_scalar_type(fill)))
    out = np.empty(inputs.shape, table.dtype, order)
    for *block, target in flat_blocks([*arrays, out]):
        starts = run_starts(block)
        rows = np.full((len(starts), len(tally.columns)), VOID, np.uint8)
        rows[:, where] = coder.encode([a[starts] for a in block]).T
        target[:] = np.repeat(_looked_up(table, find_rows(tally, rows), fill), np.diff(starts, append=len(target)))
    return out


def _looked_up(table: NDArray[Any], found: NDArray[np.intp], fill: float | None) -> NDArray[Any]:
    if not (found < 0).any():
        return np.asarray(table[found])
    if fill is None:
        raise InputError("the masks show a pattern that the table does not have; give fill= to paint it all the same")
    return np.where(found < 0, fill, table[found] if len(table) else fill)

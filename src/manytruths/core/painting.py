"""Maps: one value per pattern of a tally, painted back to the pixels block by block."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .errors import CallError, InputError
from .labels import VOID
from .mask_arrays import Coder, Masks, fill_masked, flat_blocks, gather_inputs, run_starts
from .tally import Tally, find_rows


class PatternValues(np.ndarray[Any, Any]):
    """An array with one value per pattern of a tally, ready for :func:`paint`.

    Whatever is computed of it element by element (``1 - values``, ``values > 0.9``) stays one; a part of it does not.

    Parameters
    ----------
    values : array_like
        One value per pattern.
    tally : Tally or None
        The table whose patterns they belong to.
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
    """Make the map whose every pixel shows the value of its pattern.

    Parameters
    ----------
    values : array_like
        One value per pattern of ``tally``, in its order.
    masks : dict, sequence or numpy.ndarray
        As given to :func:`tally`. Columns of ``tally`` that are not among the masks are absent.
    tally : Tally, optional
        A table over the same columns; a pooled one will do for any of its cases. Values that come from a
        consensus or a heatmap know theirs.
    raters : sequence of str, optional
        As given to :func:`tally`.
    void : int, optional
        As given to :func:`tally`.
    fill : float, optional
        What to paint where a pattern is not in the table (outside its region); by default that is an error.
    foreground : "any", optional
        As given to :func:`tally`.

    Returns
    -------
    numpy.ndarray
        The map, of the masks' shape.

    Examples
    --------
    >>> import manytruths as mt
    >>> masks = {"A": [[1, 1, 0]], "B": [[1, 0, 0]]}
    >>> t = mt.tally(masks)
    >>> mt.paint(t.marked, masks, t)
    array([[2, 1, 0]])
    >>> mt.paint(mt.vote(t).hard, masks)
    array([[ True,  True, False]])
    """
    tally = tally or getattr(values, "tally", None)
    if tally is None:
        raise CallError("these values do not know their tally; give tally=, whose patterns they belong to")
    table = np.asarray(values)
    if table.shape != (len(tally.counts),):
        raise CallError(f"values needs one value per pattern, {len(tally.counts)} in all; got shape {table.shape}")
    if foreground and tally.labels.values != (0, 1):
        raise CallError("foreground='any' needs a tally that was counted so; this one has other labels")
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
        target[:] = np.repeat(_look_up(table, find_rows(tally, rows), fill), np.diff(starts, append=len(target)))
    return out


def _look_up(table: NDArray[Any], rows: NDArray[np.intp], fill: float | None) -> NDArray[Any]:
    if not (rows < 0).any():
        return np.asarray(table[rows])
    if fill is None:
        raise InputError("the masks show a pattern that the tally does not have; give fill= to paint such pixels")
    return np.where(rows < 0, fill, table[rows] if len(table) else fill)

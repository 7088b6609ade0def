"""Maps: one value per pattern of a tally, painted back to the pixels block by block."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .columns import Column
from .errors import CallError, InputError
from .labels import VOID
from .mask_arrays import Coder, Masks, flat_blocks, gather_inputs, read_tiles, run_starts
from .runs import LabelRuns, divide_runs
from .tally import Tally, find_rows
from .tiles import Band, Where


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
    out: Any = None,
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
    out : array, optional
        Where to paint: anything of the masks' shape that takes values by slices, such as a Zarr array or a memory map.
        It is written tile by tile, so that neither the masks nor the map have to fit into memory.

    Returns
    -------
    numpy.ndarray
        The map, of the masks' shape; ``out`` where it is given.

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
    options = {"raters": raters, "void": void, "foreground": foreground, "fill": fill}
    painted = paint_tiles([values], masks, tally, out=out, **options)  # type: ignore[arg-type]
    if out is not None:
        _check_out(out, masks, raters)
        for where, (tile,) in painted:
            out[where] = tile
        return out  # type: ignore[no-any-return]
    array = None
    for where, (tile,) in painted:
        if where is None:
            return tile
        if array is None:
            array = np.empty(gather_inputs(masks, raters, None, None, lazy=True).shape, tile.dtype)
        array[where] = tile
    return (
        np.empty(gather_inputs(masks, raters, None, None, lazy=True).shape, np.asarray(values).dtype)
        if array is None
        else array
    )


def _check_out(out: Any, masks: Masks, raters: object) -> None:
    shape = gather_inputs(masks, raters, None, None, lazy=True).shape
    if tuple(getattr(out, "shape", ())) != shape or not hasattr(out, "__setitem__"):
        got = getattr(out, "shape", type(out).__name__)
        raise CallError(f"out needs to be an array of the masks' shape, {shape}, that can be written to; got {got}")


def paint_tiles(
    values: Sequence[ArrayLike],
    masks: Masks,
    tally: Tally,
    *,
    raters: object = None,
    void: int | None = None,
    fill: float | None = None,
    foreground: str | None = None,
    out: object = None,
    band: Band | None = None,
) -> Iterator[tuple[Where | None, list[NDArray[Any]]]]:
    """Several maps at once, tile by tile: where a tile lies, and its part of each map.

    Everything is one tile, at None, where all masks are in memory and ``out``, whose chunks tiles follow, is not given.
    A tile that is one value in every mask comes as one value a map. ``band`` names the tiles that are wanted.
    """
    tables = [np.asarray(table) for table in values]
    for table in tables:
        if table.shape != (len(tally.counts),):
            raise CallError(f"values needs one value per pattern, {len(tally.counts)} in all; got shape {table.shape}")
    if foreground and tally.labels.values != (0, 1):
        raise CallError("foreground='any' needs a tally that was counted so; this one has other labels")
    if fill is not None:
        tables = [table.astype(np.result_type(table, np.min_scalar_type(fill))) for table in tables]
    inputs = gather_inputs(masks, raters, None, None, lazy=True)
    columns = [tally.position(inputs.columns[i]) for i in inputs.present]
    coder = Coder([str(inputs.columns[i]) for i in inputs.present], tally.labels, void, foreground == "any")

    def rows_of(block: Sequence[NDArray[Any]]) -> NDArray[np.intp]:
        rows = np.full((len(block[0]), len(tally.columns)), VOID, np.uint8)
        rows[:, columns] = coder.encode(block).T
        return find_rows(tally, rows)

    for tile in read_tiles([array for array in inputs.arrays if array is not None], out, band):
        if tile.is_constant:
            row = rows_of([value.reshape(1) for value in tile.arrays])
            yield tile.where, [_look_up(table, row, fill)[0] for table in tables]
            continue
        order: Literal["C", "F"] = "F" if all(a.flags.f_contiguous for a in tile.arrays) else "C"
        maps = [np.empty(tile.arrays[0].shape, table.dtype, order) for table in tables]
        for pieces in flat_blocks([*tile.arrays, *maps]):
            block, targets = pieces[: len(tile.arrays)], pieces[len(tile.arrays) :]
            starts = run_starts(block)
            lengths, rows = np.diff(starts, append=len(block[0])), rows_of([a[starts] for a in block])
            for table, target in zip(tables, targets, strict=True):
                target[:] = np.repeat(_look_up(table, rows, fill), lengths)
        yield tile.where, maps


def paint_runs(
    values: ArrayLike,
    masks: Mapping[Column, LabelRuns],
    tally: Tally,
    *,
    void: int | None = None,
    fill: float | None = None,
    foreground: str | None = None,
) -> LabelRuns:
    """The map of :func:`paint` as its runs, from those of the masks: no pixel is made."""
    table, columns = np.asarray(values), [tally.position(column) for column in masks]
    coder = Coder([str(column) for column in masks], tally.labels, void, foreground == "any")
    starts, stops, held = divide_runs(list(masks.values()))
    # what nobody marked comes last
    held = [np.append(own, np.zeros(1, own.dtype)) for own in held]
    rows = np.full((len(starts) + 1, len(tally.columns)), VOID, np.uint8)
    rows[:, columns] = coder.encode(held).T
    painted = _look_up(table, find_rows(tally, rows), fill)
    shape = next(iter(masks.values())).shape
    marked = LabelRuns(shape, starts, stops, painted[:-1])
    rest = marked.complement(painted[-1]) if painted[-1] != 0 else None
    return marked.select(marked.values != 0).join(rest)


def _look_up(table: NDArray[Any], rows: NDArray[np.intp], fill: float | None) -> NDArray[Any]:
    if not (rows < 0).any():
        return np.asarray(table[rows])
    if fill is None:
        raise InputError("the masks show a pattern that the tally does not have; give fill= to paint such pixels")
    return np.where(rows < 0, fill, table[rows] if len(table) else fill)

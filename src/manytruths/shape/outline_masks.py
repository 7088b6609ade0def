"""A mask that is made of outlines, on an image too large to be drawn: runs of its rows, and tiles where asked for."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError
from ..core.runs import MOST_RUNS, LabelRuns, distinct, join_runs
from ..core.tiles import Where
from .polygons import Places, Points, Rule, check_ring, fill_runs, polygon_runs

TILE = 1024
"""Side of the tiles that are drawn."""
LARGEST_SIDE = 1 << 30
"""Pixels: positions in the image must fit into 64 bits."""


class OutlineMask:
    """A mask of polygons that is never drawn as a whole.

    It can stand wherever a mask is read by tile: in :func:`tally`, which counts the runs of its rows, and in
    :func:`paint`. Its pixels are those of :func:`rasterise_polygon`, bit for bit.

    Parameters
    ----------
    polygons : sequence of sequence of array_like
        Each polygon is a list of rings, and each ring (points, 2) of x and y, closed by itself. A polygon holds the
        pixels whose centres lie inside of an odd number of its rings: holes are further rings, and of a ring that
        crosses itself, what is enclosed twice is outside. What lies beyond the image is cut off.
    shape : tuple of int
        Height and width of the image.
    values : sequence of int, optional
        The label of each polygon; by default 1. Polygons of one label are united. Where labels overlap, the one that
        marks fewer pixels keeps them; of equal ones, the larger number. A polygon of label 0 cuts out of larger ones.
    rule : {"centre", "inclusive"}
        As in :func:`rasterise_polygon`.

    Attributes
    ----------
    shape : tuple of int
        Height and width.
    dtype : numpy.dtype
        The smallest that holds the labels.

    Examples
    --------
    >>> import manytruths as mt
    >>> square = [[(10, 10), (60_000, 10), (60_000, 50_010), (10, 50_010)]]
    >>> hole = [(1000, 1000), (2000, 1000), (2000, 2000), (1000, 2000)]
    >>> a = mt.OutlineMask([square], (100_000, 100_000))
    >>> b = mt.OutlineMask([[*square, hole]], (100_000, 100_000))
    >>> print(mt.tally({"A": a, "B": b}).to_csv().partition("\\n")[2])
    A,B,count
    0,0,7000500000
    1,0,1000000
    1,1,2998500000
    >>> b[998:1002, 998:1002]
    array([[1, 1, 1, 1],
           [1, 1, 1, 1],
           [1, 1, 0, 0],
           [1, 1, 0, 0]], dtype=uint8)
    """

    def __init__(
        self,
        polygons: Sequence[Sequence[ArrayLike]],
        shape: tuple[int, int],
        values: Sequence[int] | None = None,
        rule: Rule = "centre",
    ) -> None:
        if len(shape) != 2 or not all(1 <= side <= LARGEST_SIDE for side in shape):
            raise CallError(f"shape is the height and width of an image; got {shape}")
        if rule not in ("centre", "inclusive"):
            raise CallError(f"rule of outlines that are not drawn is 'centre' or 'inclusive'; got {rule!r}")
        values = [1] * len(polygons) if values is None else list(values)
        if len(values) != len(polygons) or any(value != int(value) or value < 0 for value in values):
            raise CallError(f"values= needs a label, 0 or more, for each of {len(polygons)} polygons; got {values[:5]}")
        self.shape: tuple[int, int] = int(shape[0]), int(shape[1])
        self.polygons = [[check_ring(ring, k) for k, ring in enumerate(polygon)] for polygon in polygons]
        self.values, self.rule = values, rule
        self.dtype: np.dtype[Any] = np.dtype(np.min_scalar_type(max(values, default=1)))

    def __repr__(self) -> str:
        return f"OutlineMask({len(self.polygons)} polygons, {self.shape[0]}×{self.shape[1]}, {self.dtype})"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_runs"}

    @property
    def chunks(self) -> tuple[int, int]:
        """What it is best read by: small tiles, of which most lie within one outline or outside of all."""
        return min(TILE, self.shape[0]), min(TILE, self.shape[1])

    @property
    def outside(self) -> int:
        """Number of polygons that reach beyond the image."""
        return count_outside(self.polygons, self.shape)

    def label_runs(self) -> LabelRuns:
        """Find the runs of marked pixels.

        Returns
        -------
        LabelRuns
            In array order; none goes on in the next row.
        """
        return self._runs

    @cached_property
    def _runs(self) -> LabelRuns:
        layers: list[tuple[int, Places, Places]] = []
        for value in sorted(set(self.values)):
            own = [polygon for polygon, label in zip(self.polygons, self.values, strict=True) if label == value]
            layers.append((value, *polygon_runs(own, self.shape, self.rule)))
        if sum(len(starts) for _, starts, _ in layers) > MOST_RUNS:
            raise CallError(f"outlines have more than {MOST_RUNS} runs of pixels; simplify them, or crop the image")
        layers.sort(key=lambda layer: -int((layer[2] - layer[1]).sum()))
        starts, stops, values = _overlay(layers)
        marked = values != 0
        return LabelRuns(
            self.shape,
            *join_runs(starts[marked], stops[marked], values[marked].astype(self.dtype), self.shape[1]),
        )

    def known_value(self, where: Where) -> float | None:
        """The one value that a tile holds, where no outline goes through it.

        Parameters
        ----------
        where : tuple of slice
            The tile.

        Returns
        -------
        float or None
            The value; None where there are several.
        """
        size = tuple(part.stop - part.start for part in where)
        starts, stops, values = self._clip(where)
        if not len(starts):
            return 0
        full = int((stops - starts).sum()) == size[0] * size[1] and (values == values[0]).all()
        return int(values[0]) if full else None

    def __getitem__(self, where: Any) -> NDArray[Any]:
        """A part of the mask, drawn; slices alone."""
        parts = where if isinstance(where, tuple) else (where,)
        parts = tuple(slice(None) if part is ... else part for part in parts) + (slice(None),) * (2 - len(parts))
        if len(parts) != 2 or not all(isinstance(part, slice) and part.step in (None, 1) for part in parts):
            raise CallError(f"a mask of outlines is read by slices of two axes, without steps; got {where!r}")
        spans = [range(*part.indices(side)) for part, side in zip(parts, self.shape, strict=True)]
        out = np.zeros([len(span) for span in spans], self.dtype)
        if out.size:
            starts, stops, values = self._clip(tuple(slice(span.start, span.stop) for span in spans))
            fill_runs(out.reshape(-1), starts, stops, values)
        return out

    def _clip(self, where: Where) -> tuple[Places, Places, NDArray[Any]]:
        """Runs of a tile, as positions in it."""
        (rows, columns), runs, width = where, self._runs, self.shape[1]
        near = slice(*np.searchsorted(runs.starts, [rows.start * width, rows.stop * width]).tolist())
        row = runs.starts[near] // width
        starts, stops = (
            np.clip(ends[near] - row * width, columns.start, columns.stop) for ends in (runs.starts, runs.stops)
        )
        inside = stops > starts
        before = (row[inside] - rows.start) * (columns.stop - columns.start) - columns.start
        return before + starts[inside], before + stops[inside], runs.values[near][inside]


def count_outside(polygons: Sequence[Sequence[Points]], shape: tuple[int, int]) -> int:
    """How many polygons reach beyond an image."""
    corner = np.array([shape[1], shape[0]])
    return sum(any(bool(((ring < 0) | (ring > corner)).any()) for ring in polygon) for polygon in polygons)


def _overlay(layers: Sequence[tuple[int, Places, Places]]) -> tuple[Places, Places, Places]:
    """Runs of several labels, of which later ones lie on top, as runs that do not overlap."""
    if len(layers) == 1:
        value, starts, stops = layers[0]
        return starts, stops, np.full(len(starts), value)
    ends = distinct(np.empty(0, np.int64), *(part for _, *parts in layers for part in parts))
    values = np.zeros(max(0, len(ends) - 1), np.int64)
    for value, starts, stops in layers:
        inside = np.zeros(len(ends), np.int8)
        inside[np.searchsorted(ends, starts)] += 1
        inside[np.searchsorted(ends, stops)] -= 1
        values[np.cumsum(inside, dtype=np.int8)[:-1] > 0] = value
    return ends[:-1], ends[1:], values

"""How a volume is shown: which axes are slices, rows and columns, and which of them are turned round."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .grid import Grid, slice_axis

Array = NDArray[Any]

LETTERS = (("L", "R"), ("P", "A"), ("I", "S"))
"""Letters of the low and the high end of each axis of space."""


@dataclass(frozen=True)
class Display:
    """Which axes of the file are shown as slices, rows and columns, and which of them are flipped."""

    axes: tuple[int, ...]
    flipped: tuple[bool, ...]
    spacing: tuple[float, ...] | None = None
    letters: tuple[str, str, str, str] | None = None
    """Letters at the left, right, top and bottom."""

    @classmethod
    def of(cls, grid: Grid) -> Display:
        """In radiological orientation where the file gives the orientation; else as stored."""
        if len(grid.shape) == 2:
            return cls((0, 1), (False, False), grid.spacing)
        across = slice_axis(grid.shape, grid.spacing)
        assert across is not None
        rows, columns = (axis for axis in range(3) if axis != across)
        if grid.affine is not None and grid.oriented:
            matrix = np.array(grid.affine)[:3, :3]
            space = [int(np.abs(matrix[:, axis]).argmax()) for axis in range(3)]
            if len(set(space)) == 3:
                return cls._in_patient(grid, matrix, space, across, rows, columns)
        return cls((across, rows, columns), (False,) * 3, _along(grid.spacing, across, rows, columns))

    @classmethod
    def _in_patient(
        cls, grid: Grid, matrix: Array, space: Sequence[int], across: int, rows: int, columns: int
    ) -> Display:
        """The patient's right at the left, anterior or head at the top; in sagittal views, anterior at the left."""
        if space[rows] < space[columns]:
            rows, columns = columns, rows  # columns run along the axis nearer to x
        rising = [matrix[space[axis], axis] > 0 for axis in range(3)]
        # the high end of each axis comes first: right, anterior, head
        flipped = (not rising[across], bool(rising[rows]), bool(rising[columns]))
        sides = LETTERS[space[columns]][::-1] + LETTERS[space[rows]][::-1]
        return cls((across, rows, columns), flipped, _along(grid.spacing, across, rows, columns), sides)

    def orient(self, array: Array) -> Array:
        """An array (and its channels, if any) as slices, rows, columns."""
        more = tuple(range(len(self.axes), array.ndim))
        turned = array.transpose(*self.axes, *more)
        turned = turned[tuple(slice(None, None, -1) if back else slice(None) for back in self.flipped)]
        return turned if len(self.axes) == 3 else turned[None]

    @property
    def aspect(self) -> float:
        """Height of a pixel over its width."""
        return 1.0 if self.spacing is None else self.spacing[-2] / self.spacing[-1]

    def places(self, shape: tuple[int, ...], first: int, step: int) -> list[dict[str, int]]:
        """For slices (of volumes), rows and columns: the axis of the file, the index it starts at, and the step."""
        places = []
        ranges = ((first, 1), (0, step), (0, step))[-len(self.axes) :]
        for axis, back, (start, by) in zip(self.axes, self.flipped, ranges, strict=True):
            start, by = (shape[axis] - 1 - start, -by) if back else (start, by)
            places.append({"axis": axis, "start": start, "step": by})
        return places


def _along(spacing: tuple[float, ...] | None, *axes: int) -> tuple[float, ...] | None:
    return None if spacing is None else tuple(spacing[axis] for axis in axes)

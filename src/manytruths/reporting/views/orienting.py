"""How a volume is turned for looking at it: slices first, then rows, then columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...charts import best_slice
from ...io import Grid

Array = NDArray[Any]

LETTERS = (("L", "R"), ("P", "A"), ("I", "S"))
"""Of the low and the high end of each axis of space."""


@dataclass(frozen=True)
class Display:
    """Which axes of the file are shown as slices, rows and columns, and which of them backwards."""

    axes: tuple[int, ...]
    flipped: tuple[bool, ...]
    spacing: tuple[float, ...] | None = None
    letters: tuple[str, str, str, str] | None = None
    """At the left, right, top and bottom."""

    @classmethod
    def of(cls, grid: Grid) -> Display:
        """As radiologists look at it where the file says how it lies in the patient; else as it is stored."""
        if len(grid.shape) == 2:
            return cls((0, 1), (False, False), grid.spacing)
        across, _ = best_slice(np.zeros(grid.shape, bool), spacing=grid.spacing)
        rows, columns = (axis for axis in range(3) if axis != across)
        if grid.affine is None or not grid.oriented:
            return cls((across, rows, columns), (False,) * 3, _along(grid.spacing, across, rows, columns))
        return cls._in_patient(grid, across, rows, columns)

    @classmethod
    def _in_patient(cls, grid: Grid, across: int, rows: int, columns: int) -> Display:
        """The patient's right at the left, front or head at the top; from the side, the front at the left."""
        matrix = np.array(grid.affine)[:3, :3]
        space = [int(np.abs(matrix[:, axis]).argmax()) for axis in range(3)]
        if len(set(space)) < 3:
            return cls((across, rows, columns), (False,) * 3, _along(grid.spacing, across, rows, columns))
        if space[rows] < space[columns]:
            rows, columns = columns, rows  # left to right is nearer to x than up and down is
        rising = [matrix[space[axis], axis] > 0 for axis in range(3)]
        # of all three directions the high end comes first: right, front, head
        flipped = (not rising[across], bool(rising[rows]), bool(rising[columns]))
        sides = LETTERS[space[columns]][::-1] + LETTERS[space[rows]][::-1]
        return cls((across, rows, columns), flipped, _along(grid.spacing, across, rows, columns), sides)

    def orient(self, array: Array) -> Array:
        """An array (and its channels, should there be any) as slices, rows, columns."""
        more = tuple(range(len(self.axes), array.ndim))
        turned = array.transpose(*self.axes, *more)
        turned = turned[tuple(slice(None, None, -1) if back else slice(None) for back in self.flipped)]
        return turned if len(self.axes) == 3 else turned[None]

    @property
    def aspect(self) -> float:
        """Height of a pixel over its width."""
        return 1.0 if self.spacing is None else self.spacing[-2] / self.spacing[-1]

    def places(self, shape: tuple[int, ...], first: int, step: int) -> list[dict[str, int]]:
        """For slices (of volumes), rows and columns: the file's axis, where it starts there, and its steps."""
        steps = (1, step, step)[-len(self.axes) :]
        starts = (first, 0, 0)[-len(self.axes) :]
        axes = []
        for axis, back, by, start in zip(self.axes, self.flipped, steps, starts, strict=True):
            axes.append(
                {"axis": axis, "start": shape[axis] - 1 - start if back else start, "step": -by if back else by}
            )
        return axes


def _along(spacing: tuple[float, ...] | None, *axes: int) -> tuple[float, ...] | None:
    return None if spacing is None else tuple(spacing[axis] for axis in axes)

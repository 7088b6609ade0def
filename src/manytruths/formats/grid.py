"""The raster a mask lies on: its size, and where that is known its place in the patient."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..errors import GridError

TOLERANCE = 1e-3
"""How far, in voxels, the corners of two grids may lie apart and still be the same."""

_UNITS = {2: "mm²", 3: "mm³"}


@dataclass(frozen=True)
class Grid:
    """Size, spacing in mm and affine (index to mm, right-anterior-superior) of a mask.

    >>> Grid((512, 500)).difference(Grid((512, 512)))
    'size 512×500 instead of 512×512'
    >>> Grid((4, 4, 2), spacing=(0.5, 0.5, 3.0)).item_size
    (0.75, 'mm³')
    """

    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None = None
    affine: tuple[tuple[float, ...], ...] | None = None
    oriented: bool = field(default=True, compare=False)
    """Whether the affine says how it lies in the patient; some files have one that only says how large a voxel is."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "shape", tuple(int(n) for n in self.shape))
        if self.affine is not None:
            self._check_affine(tuple(tuple(float(x) for x in row) for row in self.affine))
        if self.spacing is not None:
            object.__setattr__(self, "spacing", self._checked_spacing(tuple(float(s) for s in self.spacing)))

    def _check_affine(self, affine: tuple[tuple[float, ...], ...]) -> None:
        object.__setattr__(self, "affine", affine)
        if not all(math.isfinite(x) for row in affine for x in row):
            raise GridError(f"affine {affine} holds values that are not finite; repair the header")
        if any(len(row) <= len(self.shape) or len(row) != len(affine[0]) for row in affine):
            raise GridError(
                f"affine {affine} does not fit {len(self.shape)} axes; give one column an axis and the origin"
            )
        columns = np.linalg.norm(np.array(affine)[:-1, : len(self.shape)], axis=0)
        spacing = self._checked_spacing(tuple(columns.tolist()))
        if self.spacing is None:
            object.__setattr__(self, "spacing", spacing)

    def _checked_spacing(self, spacing: tuple[float, ...]) -> tuple[float, ...]:
        if len(spacing) != len(self.shape):
            raise GridError(f"spacing {_times(spacing)} does not fit {len(self.shape)} axes; give one number an axis")
        if not all(math.isfinite(s) and s > 0 for s in spacing):
            raise GridError(f"spacing {_times(spacing)} is not positive and finite; repair the header")
        return spacing

    @property
    def item_size(self) -> tuple[float, str] | None:
        """Area or volume of one pixel or voxel with its unit; None where the spacing is not known."""
        if self.spacing is None or len(self.shape) not in _UNITS:
            return None
        return math.prod(self.spacing), _UNITS[len(self.shape)]

    def difference(self, other: Grid) -> str:
        """What this grid has instead of the other's; empty where both are the same."""
        if self.shape != other.shape:
            return f"size {_times(self.shape)} instead of {_times(other.shape)}"
        if self._knows != other._knows:
            return f"{self._knows} instead of {other._knows}"
        if self.spacing is None or other.spacing is None or self._close(self._corners(), other):
            return ""
        return self._spacing_difference(other) or self._direction_difference(other) or self._origin_difference(other)

    @property
    def _knows(self) -> str:
        if self.affine is not None:
            return "a position in space (an affine)"
        return "no position or spacing" if self.spacing is None else "a spacing without a position"

    def _matrix(self) -> NDArray[np.float64]:
        if self.affine is not None:
            return np.array(self.affine, dtype=np.float64)
        return np.diag([*(self.spacing or ()), 1.0])

    def _corners(self) -> NDArray[np.float64]:
        matrix = self._matrix()
        ends = [(0, n - 1) for n in self.shape] + [(0,)] * (matrix.shape[1] - 1 - len(self.shape))
        corners = np.array(list(itertools.product(*ends)), dtype=np.float64)
        positions: NDArray[np.float64] = corners @ matrix[:-1, :-1].T + matrix[:-1, -1]
        return positions

    def _close(self, positions: NDArray[np.float64], other: Grid) -> bool:
        expected = other._corners()
        if positions.shape != expected.shape:
            return False
        apart = np.linalg.norm(positions - expected, axis=1).max()
        return bool(apart <= TOLERANCE * min((*(self.spacing or ()), *(other.spacing or ()))))

    def _spacing_difference(self, other: Grid) -> str:
        mine, wanted = self.spacing or (), other.spacing or ()
        off = [abs(a - b) * (n - 1) > TOLERANCE * b for a, b, n in zip(mine, wanted, self.shape, strict=True)]
        return f"spacing {_times(mine)} mm instead of {_times(wanted)} mm" if any(off) else ""

    def _direction_difference(self, other: Grid) -> str:
        axes = len(self.shape)
        mine, wanted = self._matrix()[:-1, :axes], other._matrix()[:-1, :axes]
        if mine.shape != wanted.shape:
            return f"a space of {mine.shape[0]} dimensions instead of {wanted.shape[0]}"
        reach = np.array(self.shape) - 1
        same = np.linalg.norm(mine - wanted, axis=0) * reach <= TOLERANCE * np.array(other.spacing)
        opposite = np.linalg.norm(mine + wanted, axis=0) * reach <= TOLERANCE * np.array(other.spacing)
        if same.all():
            return ""
        if (same | opposite).all():
            flipped = " and ".join(str(axis + 1) for axis in np.flatnonzero(~same))
            return f"affine: axis {flipped} flipped"
        return "affine: axes oriented otherwise"

    def _origin_difference(self, other: Grid) -> str:
        apart = np.linalg.norm(self._matrix()[:-1, -1] - other._matrix()[:-1, -1])
        return f"affine: the origin is {apart:.3g} mm away"


def _times(numbers: tuple[float, ...]) -> str:
    return "×".join(f"{x:.8g}" for x in numbers)

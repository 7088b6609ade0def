"""The voxel grid of a mask: its size and, where known, its spacing and position in the patient."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, GridError

TOLERANCE = 1e-3
"""How far apart, in voxels, the corners of two equal grids may lie."""

MAX_ITEMS = 2**30
"""The most pixels or voxels of a grid; a header that promises more is taken for a mistake or an attack."""

_UNITS = {2: "mm²", 3: "mm³"}

BORDER = 0.1
"""The largest part of an axis that may be missing where a border was cut off."""


@dataclass(frozen=True)
class Grid:
    """The pixel or voxel grid of a mask or image: size, spacing and affine.

    Parameters
    ----------
    shape : tuple of int
        Size along each axis.
    spacing : tuple of float, optional
        Size of a pixel or voxel in mm along each axis; taken from the affine where that is given.
    affine : nested tuple of float, optional
        Matrix from index to position in mm, right-anterior-superior.
    oriented : bool
        Whether the affine says how the grid lies in the patient.

    Examples
    --------
    >>> Grid((512, 500)).difference(Grid((512, 512)))
    'size 512×500 instead of 512×512'
    >>> Grid((4, 4, 2), spacing=(0.5, 0.5, 3.0)).item_size
    (0.75, 'mm³')
    """

    shape: tuple[int, ...]
    spacing: tuple[float, ...] | None = None
    affine: tuple[tuple[float, ...], ...] | None = None
    oriented: bool = field(default=True, compare=False)
    """Whether the affine says how the grid lies in the patient; some files have one that only gives the voxel size."""

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
            raise GridError(f"spacing {times(spacing)} does not fit {len(self.shape)} axes; give one number an axis")
        if not all(math.isfinite(s) and s > 0 for s in spacing):
            raise GridError(f"spacing {times(spacing)} is not positive and finite; repair the header")
        return spacing

    @property
    def item_size(self) -> tuple[float, str] | None:
        """Area or volume of one pixel or voxel with its unit; None where the spacing is not known."""
        if self.spacing is None or len(self.shape) not in _UNITS:
            return None
        return math.prod(self.spacing), _UNITS[len(self.shape)]

    def difference(self, other: Grid) -> str:
        """How this grid differs from another, in words; empty where both are the same."""
        if self.shape != other.shape:
            return f"size {times(self.shape)} instead of {times(other.shape)}"
        if self._knows != other._knows:
            return f"{self._knows} instead of {other._knows}"
        if self.spacing is None or other.spacing is None or self.apart(other) <= TOLERANCE:
            return ""
        return self._spacing_difference(other) or self._direction_difference(other) or self._origin_difference(other)

    def guess_difference(self, other: Grid) -> Literal["", "border", "axes", "resolution"]:
        """Where sizes differ: whether a border is missing, axes are swapped, or the resolution is another.

        With known spacings, a border is what remains where they are the same; otherwise, a small difference is one.

        >>> Grid((254, 254)).guess_difference(Grid((256, 256))), Grid((128, 128)).guess_difference(Grid((256, 256)))
        ('border', 'resolution')
        """
        if self.shape == other.shape or len(self.shape) != len(other.shape):
            return ""
        if sorted(self.shape) == sorted(other.shape):
            return "axes"
        if self.spacing is not None and other.spacing is not None:
            return "border" if np.allclose(self.spacing, other.spacing, rtol=TOLERANCE) else "resolution"
        near = all(abs(n - m) <= BORDER * max(n, m) for n, m in zip(self.shape, other.shape, strict=True))
        return "border" if near else "resolution"

    @property
    def _knows(self) -> str:
        if self.affine is not None:
            return "a position in space (an affine)"
        return "no position or spacing" if self.spacing is None else "a spacing without a position"

    @property
    def placed(self) -> bool:
        """Whether it is a volume with a known position in the patient."""
        return self.affine is not None and self.oriented and len(self.shape) == 3 and np.shape(self.affine) == (4, 4)

    def apart(self, other: Grid) -> float:
        """The largest distance between corners of two grids of one size, in voxels (by the smallest side)."""
        if self.spacing is None or other.spacing is None:
            return 0.0
        mine, wanted = self._corners(), other._corners()
        if mine.shape != wanted.shape:
            return math.inf
        return longest(mine - wanted) / min(*self.spacing, *other.spacing)

    def matrix(self) -> NDArray[np.float64]:
        """The affine, or one that only scales, by the spacing."""
        if self.affine is not None:
            return np.array(self.affine, dtype=np.float64)
        return np.diag([*(self.spacing or ()), 1.0])

    def _corners(self) -> NDArray[np.float64]:
        matrix = self.matrix()
        ends = [(0, n - 1) for n in self.shape] + [(0,)] * (matrix.shape[1] - 1 - len(self.shape))
        corners = np.array(list(itertools.product(*ends)), dtype=np.float64)
        positions: NDArray[np.float64] = corners @ matrix[:-1, :-1].T + matrix[:-1, -1]
        return positions

    def _spacing_difference(self, other: Grid) -> str:
        mine, wanted = self.spacing or (), other.spacing or ()
        off = [abs(a - b) * (n - 1) > TOLERANCE * b for a, b, n in zip(mine, wanted, self.shape, strict=True)]
        return f"spacing {times(mine)} mm instead of {times(wanted)} mm" if any(off) else ""

    def _direction_difference(self, other: Grid) -> str:
        axes = len(self.shape)
        mine, wanted = self.matrix()[:-1, :axes], other.matrix()[:-1, :axes]
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
        apart = longest((self.matrix() - other.matrix())[None, :-1, -1])
        return f"affine: the origin is {apart:.3g} mm away"


def longest(vectors: NDArray[np.float64]) -> float:
    """The length of the longest of some vectors; infinite where a header is invalid."""
    with np.errstate(over="ignore"):
        return float(np.linalg.norm(vectors, axis=1).max())


def times(numbers: Sequence[float]) -> str:
    """``2×2×5``."""
    return "×".join(f"{x:.8g}" for x in numbers)


def as_spacing(spacing: object, axes: int) -> tuple[float, ...]:
    """Numbers from a sequence of them.

    >>> as_spacing([0.5, 2], 2)
    (0.5, 2.0)
    """
    try:
        return tuple(float(side) for side in spacing)  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise CallError(f"spacing must be {axes} positive numbers, one for each axis; got {spacing!r}") from None


def slice_axis(shape: Sequence[int], spacing: Sequence[float] | None = None) -> int | None:
    """The axis across which the slices of a volume lie; None of an image of two axes.

    By the spacing where that is known: the one that is sampled otherwise than the two others, or else most coarsely.
    Then the one with the fewest slices; the last where that leaves a choice.

    >>> slice_axis((512, 512, 40)), slice_axis((40, 512, 512)), slice_axis((512, 40, 512), (0.7, 0.7, 5.0))
    (2, 0, 2)
    >>> slice_axis((512, 512, 600), (0.7, 0.7, 0.6))
    2
    """
    if len(shape) != 3:
        return None
    coarse = [0.0] * 3 if spacing is None else [round(float(step), 6) for step in spacing]
    # pixels of a slice are square, and thin slices may lie closer than they are wide
    alone = [axis for axis in range(3) if coarse.count(coarse[axis]) == 1]
    if len(alone) == 1:
        return alone[0]
    return max(range(3), key=lambda axis: (coarse[axis], -shape[axis], axis))

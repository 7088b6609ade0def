"""The size of what one rater marked in one case: area or volume, lesions, their diameters, and where it lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.undefined import Undefined
from ..shape.diameters import MOST_COMPONENTS, MaskAxes, measure_axes
from ..shape.grid import Grid

MM3_PER_ML = 1000.0

LENGTHS = ("long_axis", "short_axis", "sum_long_axes", "diameter_3d")
"""Statistics in mm, or pixels."""


@dataclass(frozen=True)
class SizeUnits:
    """In what the sizes of a case are given, and how large a pixel is in it."""

    axes: int
    size: str
    length: str
    pixel: float
    """Size of one pixel or voxel."""

    @classmethod
    def of(cls, grid: Grid) -> SizeUnits:
        """mm² and ml where the spacing is known, else pixels or voxels.

        >>> SizeUnits.of(Grid((4, 4), spacing=(0.5, 0.5)))
        SizeUnits(axes=2, size='mm²', length='mm', pixel=0.25)
        >>> SizeUnits.of(Grid((4, 4, 2))).size
        'voxels'
        """
        axes = len(grid.shape)
        if grid.spacing is None:
            name = "pixels" if axes == 2 else "voxels"
            return cls(axes, name, name, 1.0)
        pixel = math.prod(grid.spacing)
        return cls(axes, "mm²", "mm", pixel) if axes == 2 else cls(axes, "ml", "mm", pixel / MM3_PER_ML)

    def of_statistic(self, statistic: str) -> str:
        """The unit of a statistic; counts and flags have none."""
        if statistic in ("area", "volume"):
            return self.size
        return self.length if statistic in LENGTHS or statistic.startswith("centroid_") else ""


@dataclass(frozen=True)
class MarkSize:
    """The size of one mark: all that a rater marked of one label in one case.

    Attributes
    ----------
    pixels, lesions : int
        Number of pixels or voxels, and of connected components.
    size : float
        Area or volume.
    long_axis, short_axis : float
        Of the lesion with the longest long axis.
    sum_long_axes : float
        Over all lesions; 0 where nothing is marked.
    diameter_3d : float
        Largest diameter in space of a lesion.
    centroid : tuple of float
        In mm in the patient where the grid says so, in mm from the first pixel where it has a spacing, else in pixels.
    cut : bool
        Whether the mark touches the border of the image or of the region of interest, so that it may go on beyond.
    """

    pixels: int
    lesions: int
    size: float
    long_axis: float
    short_axis: float
    sum_long_axes: float
    diameter_3d: float
    centroid: tuple[float, ...]
    cut: bool

    @classmethod
    def nothing(cls, axes: int) -> MarkSize:
        """The size of an empty mask."""
        gap = Undefined("rater_marked_nothing")
        return cls(0, 0, 0.0, gap, gap, 0.0, gap, (gap,) * axes, cut=False)

    def statistics(self) -> dict[str, float]:
        """Its numbers as tables have them."""
        axes = len(self.centroid)
        numbers = {"area" if axes == 2 else "volume": self.size, "lesions": float(self.lesions)}
        numbers |= {name: getattr(self, name) for name in LENGTHS if axes == 3 or name != "diameter_3d"}
        numbers |= {f"centroid_{axis}": at for axis, at in enumerate(self.centroid)}
        return numbers | {"cut_by_border": float(self.cut)}


def measure_mark(marks: NDArray[np.bool_], grid: Grid, *, cut: bool = False) -> MarkSize:
    """The size of a mark on a grid of two or three axes; ``cut`` where it is known to go on beyond what counts."""
    return size_of(measure_axes(marks, grid.spacing), grid, cut=cut)


def size_of(axes: MaskAxes, grid: Grid, *, cut: bool = False) -> MarkSize:
    """The size of a mark whose components were found."""
    units = SizeUnits.of(grid)
    if not axes.count:
        return MarkSize.nothing(units.axes)
    pixels, where = int(axes.pixels.sum()), _position(axes.centroid, grid)
    cut = cut or axes.touches_border
    if axes.count > MOST_COMPONENTS:
        gap = Undefined("too_many_components")
        return MarkSize(pixels, axes.count, pixels * units.pixel, gap, gap, gap, gap, where, cut=cut)
    long_axes = axes.long_axes
    (largest,) = axes.find_axes(np.array([_first_largest(long_axes, axes.pixels)]))
    space = axes.largest_diameter if axes.volume else Undefined("image_of_two_axes")
    return MarkSize(
        pixels, axes.count, pixels * units.pixel, largest.long_axis, largest.short_axis, float(long_axes.sum()), space,
        where, cut=cut,
    )  # fmt: skip


def _first_largest(long_axes: NDArray[np.float64], pixels: NDArray[np.int64]) -> int:
    """The lesion with the longest long axis; of several, the one with the most pixels."""
    near = np.flatnonzero(long_axes >= long_axes.max() * (1 - 1e-12))
    return int(near[pixels[near].argmax()])


def _position(index: Sequence[float], grid: Grid) -> tuple[float, ...]:
    """A position in mm, in the patient where the affine says so, else from the first pixel; or in pixels."""
    if grid.placed:
        matrix: NDArray[Any] = grid.matrix()
        return tuple((matrix[:3, :3] @ np.array(index) + matrix[:3, 3]).tolist())
    sides = grid.spacing or (1.0,) * len(grid.shape)
    return tuple(float(at * side) for at, side in zip(index, sides, strict=True))

"""The size of what one rater marked in one case: area or volume, lesions, their diameters, and where it lies."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core.runs import LabelRuns
from ..core.undefined import Undefined
from ..shape.diameters import MOST_COMPONENTS, MaskAxes, measure_axes, measure_images
from ..shape.grid import Grid

MM3_PER_ML = 1000.0
Mark = NDArray[np.bool_] | LabelRuns
"""Where something is marked, in memory or as runs."""

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
    counted: bool = False
    """Whether pixels were counted and nothing else is known of marks."""

    @classmethod
    def of(cls, grid: Grid) -> SizeUnits:
        """mm² and ml where the spacing is known, else pixels or voxels.

        >>> SizeUnits.of(Grid((4, 4), spacing=(0.5, 0.5)))
        SizeUnits(axes=2, size='mm²', length='mm', pixel=0.25, counted=False)
        >>> SizeUnits.of(Grid((4, 4, 2))).size
        'voxels'
        """
        axes = len(grid.shape)
        if grid.spacing is None:
            name = "pixels" if axes == 2 else "voxels"
            return cls(axes, name, name, 1.0)
        pixel = math.prod(grid.spacing)
        return cls(axes, "mm²", "mm", pixel) if axes == 2 else cls(axes, "ml", "mm", pixel / MM3_PER_ML)

    def nothing(self) -> MarkSize:
        """The size of an empty mask."""
        return CountedMark.of(0, self) if self.counted else MarkSize.nothing(self.axes)

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


class CountedMark(MarkSize):
    """The size of a mark of which nothing but its pixels is known, as from a tally file."""

    @classmethod
    def of(cls, pixels: int, units: SizeUnits) -> CountedMark:
        """The size of so many pixels."""
        gap = math.nan
        return cls(pixels, 0, pixels * units.pixel, gap, gap, gap, gap, (gap,) * units.axes, cut=False)

    def statistics(self) -> dict[str, float]:
        """Its area or volume."""
        return {"area" if len(self.centroid) == 2 else "volume": self.size}


def measure_mark(marks: Mark, grid: Grid, *, cut: bool = False) -> MarkSize:
    """The size of a mark on a grid of two or three axes; ``cut`` where it is known to go on beyond what counts."""
    return measure_marks([marks], grid, [cut])[0]


def measure_marks(marks: Sequence[Mark], grid: Grid, cut: Sequence[bool] | None = None) -> list[MarkSize]:
    """The sizes of several marks on one grid; those of images in memory are measured together, which is faster."""
    cuts = cut or [False] * len(marks)
    if len(grid.shape) == 3 or any(isinstance(mark, LabelRuns) for mark in marks):
        return [_sizes_of(measure_axes(m, grid.spacing), grid, [c])[0] for m, c in zip(marks, cuts, strict=True)]
    return _sizes_of(measure_images(marks, grid.spacing), grid, cuts)


def _sizes_of(axes: MaskAxes, grid: Grid, cuts: Sequence[bool]) -> list[MarkSize]:
    """The sizes of one volume, or of several images."""
    images = np.zeros(axes.count, np.int64) if axes.volume else axes.images
    counts = np.bincount(images, minlength=len(cuts)).tolist()
    components = {k: np.flatnonzero(images == k) for k, count in enumerate(counts) if count}
    measured = [k for k, count in enumerate(counts) if 0 < count <= MOST_COMPONENTS]
    largest = {k: components[k][_first_largest(axes, components[k])] for k in measured}
    found = dict(zip(measured, axes.find_axes(np.array([largest[k] for k in measured], np.int64)), strict=True))
    units, result = SizeUnits.of(grid), list[MarkSize]()
    for k, cut in enumerate(cuts):
        if k not in components:
            result.append(MarkSize.nothing(units.axes))
            continue
        own = components[k]
        pixels = axes.pixels[own]
        total, gap = int(pixels.sum()), Undefined("too_many_components")
        long_axis, short_axis, sum_long_axes, space = (gap,) * 4 if k not in found else (
            found[k].long_axis, found[k].short_axis, float(axes.long_axes[own].sum()),
            axes.largest_diameter if axes.volume else Undefined("image_of_two_axes"),
        )  # fmt: skip
        where = _position((pixels @ axes.centroids[own] / total).tolist(), grid)
        result.append(MarkSize(
            total, counts[k], total * units.pixel, long_axis, short_axis, sum_long_axes, space, where,
            cut=cut or bool(axes.at_border[own].any()),
        ))  # fmt: skip
    return result


def _first_largest(axes: MaskAxes, own: NDArray[np.int64]) -> int:
    """Of some lesions, the position of the one with the longest long axis; of several, the one with the most pixels."""
    long_axes = axes.long_axes[own]
    near = np.flatnonzero(long_axes >= long_axes.max() * (1 - 1e-12))
    return int(near[axes.pixels[own][near].argmax()])


def _position(index: Sequence[float], grid: Grid) -> tuple[float, ...]:
    """A position in mm, in the patient where the affine says so, else from the first pixel; or in pixels."""
    if grid.placed:
        matrix: NDArray[Any] = grid.matrix()
        return tuple((matrix[:3, :3] @ np.array(index) + matrix[:3, 3]).tolist())
    sides = grid.spacing or (1.0,) * len(grid.shape)
    return tuple(float(at * side) for at, side in zip(index, sides, strict=True))

"""The connected regions of a heatmap in order of score: where to take the biopsy.

Yang F et al. Assessing inter-annotator agreement for medical image segmentation. IEEE Access 2023;11:21300–21312.
doi:10.1109/ACCESS.2023.3249759
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError


@dataclass(frozen=True)
class Region:
    """One connected region of a heatmap."""

    rank: int
    """1 for the region of the highest score."""
    peak: float
    """Its largest value."""
    mean: float
    """Its mean value."""
    area: int
    """How many items it has."""
    centroid: tuple[float, ...]
    """The mean position of its items."""
    site: tuple[int, ...]
    """Of the items that hold the peak, the one nearest to the centroid."""


def regions(heat: ArrayLike, spacing: Sequence[float] | None = None) -> list[Region]:
    """The connected regions of ``heat > 0``, diagonal neighbours included, in any number of dimensions.

    In order of their peak, then mean, then area; those equal in all three as they come in the array.
    ``spacing`` is the size of an item along each axis, for what is nearest to the centroid.

    >>> [(r.rank, r.peak, r.area, r.site) for r in regions([[1, 0, 3, 1], [0, 0, 2, 0]])]
    [(1, 3.0, 3, (0, 2)), (2, 1.0, 1, (0, 0))]
    """
    from scipy import ndimage

    values = np.asarray(heat, np.float64)
    if values.ndim == 0:
        raise CallError(f"a heatmap is an array of at least one dimension; got {heat!r}")
    size = np.ones(values.ndim) if spacing is None else np.asarray(spacing, np.float64)
    if size.shape != (values.ndim,):
        raise CallError(f"spacing has one size an axis, {values.ndim} in all; got {spacing!r}")
    parts, _ = ndimage.label(values > 0, ndimage.generate_binary_structure(values.ndim, values.ndim))
    boxes = ndimage.find_objects(parts)
    found = [_region(parts[box] == i, values[box], box, size) for i, box in enumerate(boxes, start=1)]
    found.sort(key=lambda r: (-r.peak, -r.mean, -r.area))
    return [Region(rank, r.peak, r.mean, r.area, r.centroid, r.site) for rank, r in enumerate(found, start=1)]


def _region(
    inside: NDArray[np.bool_], values: NDArray[np.float64], box: tuple[slice, ...], spacing: NDArray[np.float64]
) -> Region:
    """One region, from the smallest box around it."""
    items, corner = np.argwhere(inside), np.array([edge.start for edge in box])
    held: NDArray[Any] = values[inside]
    centroid = items.mean(axis=0)
    plateau = items[held == held.max()]
    nearest = plateau[np.argmin((((plateau - centroid) * spacing) ** 2).sum(axis=1))]
    return Region(
        rank=0,
        peak=float(held.max()),
        mean=float(held.mean()),
        area=len(items),
        centroid=tuple(map(float, centroid + corner)),
        site=tuple(map(int, nearest + corner)),
    )

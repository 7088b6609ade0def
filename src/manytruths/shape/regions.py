"""Regions: connected ones of a heatmap in order of score, and overlapping ones of a rater as one mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError


@dataclass(frozen=True)
class Region:
    """One connected region of a heatmap.

    Attributes
    ----------
    rank : int
        1 for the region with the highest score.
    peak : float
        Its largest value.
    mean : float
        Its mean value.
    area : int
        Number of pixels.
    centroid : tuple of float
        Mean position of its pixels.
    site : tuple of int
        Of the pixels that hold the peak, the one nearest to the centroid: where to take a biopsy.
    """

    rank: int
    peak: float
    mean: float
    area: int
    centroid: tuple[float, ...]
    site: tuple[int, ...]


def find_regions(heat: ArrayLike, spacing: Sequence[float] | None = None) -> list[Region]:
    """Find the connected regions of a heatmap and order them by score.

    A region is a connected part of ``heat > 0``, diagonal neighbours included, in any number of dimensions.

    Parameters
    ----------
    heat : array_like
        A painted heatmap.
    spacing : sequence of float, optional
        Size of a pixel along each axis, to find the pixel nearest to the centroid.

    Returns
    -------
    list of Region
        In order of their peak, then mean, then area; those equal in all three as they come in the array.

    References
    ----------
    Yang F et al. Assessing inter-annotator agreement for medical image segmentation. IEEE Access 2023;11:21300–21312.
    doi:10.1109/ACCESS.2023.3249759

    Examples
    --------
    >>> import manytruths as mt
    >>> [(r.rank, r.peak, r.area, r.site) for r in mt.find_regions([[1, 0, 3, 1], [0, 0, 2, 0]])]
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
    described = [_describe_region(parts[box] == i, values[box], box, size) for i, box in enumerate(boxes, start=1)]
    described.sort(key=lambda r: (-r.peak, -r.mean, -r.area))
    return [Region(rank, r.peak, r.mean, r.area, r.centroid, r.site) for rank, r in enumerate(described, start=1)]


def _describe_region(
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


def combine_labels(masks: Sequence[ArrayLike], labels: Sequence[int]) -> NDArray[Any]:
    """One label map of overlapping regions: where they overlap, the smaller keeps the pixels.

    A calcified nodule drawn inside a clustered nodule belongs to both outlines, but a label map has one label per
    pixel. Of regions equal in size, the one given later keeps the pixels. Labels are positive, one per mask, and may
    repeat.

    >>> combine_labels([[1, 1, 1, 1, 0], [0, 1, 1, 0, 0]], labels=[1, 2])
    array([1, 2, 2, 1, 0], dtype=uint8)
    """
    regions = _check_masks(masks)
    if len(labels) != len(regions) or any(int(label) != label or label < 1 for label in labels):
        raise CallError(f"labels= needs a positive whole number for each of {len(regions)} masks; got {list(labels)}")
    out = np.zeros(regions[0].shape, np.min_scalar_type(max(labels)))
    for i in sorted(range(len(regions)), key=lambda i: -int(regions[i].sum())):
        out[regions[i]] = labels[i]
    return out


def _check_masks(masks: Sequence[ArrayLike]) -> list[NDArray[np.bool_]]:
    if not len(masks):
        raise CallError("masks is empty: there is no mask to combine")
    regions = [np.asarray(mask).astype(bool) for mask in masks]
    shapes = {region.shape for region in regions}
    if len(shapes) > 1:
        sizes = ", ".join("×".join(map(str, shape)) for shape in sorted(shapes))
        raise GridError(f"the masks of one rater differ in size: {sizes}; draw them all on the grid of the image")
    return regions

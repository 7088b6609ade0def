"""Regions: connected ones of a heatmap in order of score, and overlapping ones of a rater as one mask."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError
from ..core.runs import LabelRuns, read_runs
from ..core.tiles import LazyArray, is_lazy
from .components import number_runs


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


def find_regions(heat: ArrayLike | LazyArray, spacing: Sequence[float] | None = None) -> list[Region]:
    """Find the connected regions of a heatmap and order them by score.

    A region is a connected part of ``heat > 0``, diagonal neighbours included, in any number of dimensions.

    Parameters
    ----------
    heat : array_like
        A painted heatmap. One on disk, such as a Zarr array, is read tile by tile.
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
    values = heat if is_lazy(heat) else np.asarray(heat)
    axes = len(values.shape)
    if not axes:
        raise CallError(f"a heatmap is an array of at least one dimension; got {heat!r}")
    size = np.ones(axes) if spacing is None else np.asarray(spacing, np.float64)
    if size.shape != (axes,):
        raise CallError(f"spacing has one size an axis, {axes} in all; got {spacing!r}")
    runs = read_runs(values)
    described = _describe_regions(runs.select(runs.values > 0), size)
    described.sort(key=lambda r: (-r.peak, -r.mean, -r.area))
    return [Region(rank, r.peak, r.mean, r.area, r.centroid, r.site) for rank, r in enumerate(described, start=1)]


def _describe_regions(runs: LabelRuns, spacing: NDArray[np.float64]) -> list[Region]:
    """The regions of what has a value above 0, in array order."""
    marks = number_runs(runs.marks())
    count, lengths, heat = marks.count, runs.lengths, runs.values.astype(np.float64)
    owner = marks.owner[np.searchsorted(marks.starts, runs.starts, side="right") - 1]
    area, peak = np.bincount(owner, lengths, count), np.zeros(count)
    np.maximum.at(peak, owner, heat)
    mean = np.bincount(owner, heat * lengths, count) / area
    first = np.stack(np.unravel_index(runs.starts, runs.shape), axis=1)
    corner = np.full((count, len(runs.shape)), np.iinfo(np.int64).max)
    np.minimum.at(corner, owner, first)
    first = first - corner[owner]
    sums = [np.bincount(owner, at * lengths, count) for at in first.T[:-1]]
    sums.append(np.bincount(owner, (2 * first[:, -1] + lengths - 1) * lengths // 2, count))
    centroid = np.stack(sums, axis=1) / area[:, None]
    site = _nearest_to(centroid, first, lengths, owner, np.flatnonzero(heat == peak[owner]), spacing)
    return [
        Region(0, float(p), float(m), int(a), tuple(map(float, c)), tuple(map(int, s)))
        for p, m, a, c, s in zip(peak, mean, area, centroid + corner, site + corner, strict=True)
    ]


def _nearest_to(
    centroid: NDArray[np.float64], first: NDArray[np.int64], lengths: NDArray[np.int64], owner: NDArray[np.int64],
    plateau: NDArray[np.int64], spacing: NDArray[np.float64],
) -> NDArray[np.int64]:  # fmt: skip
    """Of some runs of each region, the pixel that is nearest to its centroid; of several, the first."""
    own = np.repeat(owner[plateau], 2)
    pixels = np.repeat(first[plateau], 2, axis=0)
    # in a row, it is one of the two beside the centroid, or an end
    beside = np.floor(centroid[own, -1]).astype(np.int64)
    beside[1::2] += 1
    pixels[:, -1] = np.clip(beside, pixels[:, -1], pixels[:, -1] + np.repeat(lengths[plateau], 2) - 1)
    away = (((pixels - centroid[own]) * spacing) ** 2).sum(axis=1)
    order = np.lexsort((away, own))
    return pixels[order[np.searchsorted(own[order], np.arange(len(centroid)))]]


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

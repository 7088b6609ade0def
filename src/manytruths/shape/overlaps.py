"""Overlapping regions of one rater, made one mask.

A calcified nodule drawn inside a clustered nodule belongs to both outlines. A label map has one label an item,
so either the smaller is cut out of the larger, or all are united into one foreground.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError


def smaller_out_of_larger(masks: Sequence[ArrayLike], labels: Sequence[int]) -> NDArray[Any]:
    """One label map of overlapping regions: where they overlap, the smaller keeps the items.

    Of regions equal in size, the one given later. Labels are positive, one a mask, and may repeat.

    >>> smaller_out_of_larger([[1, 1, 1, 1, 0], [0, 1, 1, 0, 0]], labels=[1, 2])
    array([1, 2, 2, 1, 0], dtype=uint8)
    """
    regions = _same_shape(masks)
    if len(labels) != len(regions) or any(int(label) != label or label < 1 for label in labels):
        raise CallError(f"labels= wants a positive whole number for each of {len(regions)} masks; got {list(labels)}")
    out = np.zeros(regions[0].shape, np.min_scalar_type(max(labels)))
    for i in sorted(range(len(regions)), key=lambda i: -int(regions[i].sum())):
        out[regions[i]] = labels[i]
    return out


def united(masks: Sequence[ArrayLike]) -> NDArray[np.bool_]:
    """One foreground of all regions.

    >>> united([[1, 1, 0, 0], [0, 1, 1, 0]])
    array([ True,  True,  True, False])
    """
    return np.asarray(np.logical_or.reduce(_same_shape(masks)))


def _same_shape(masks: Sequence[ArrayLike]) -> list[NDArray[np.bool_]]:
    if not len(masks):
        raise CallError("there is no mask to put together")
    regions = [np.asarray(mask).astype(bool) for mask in masks]
    shapes = {region.shape for region in regions}
    if len(shapes) > 1:
        sizes = ", ".join("×".join(map(str, shape)) for shape in sorted(shapes))
        raise GridError(f"the masks of one rater differ in size: {sizes}; draw them all on the grid of the image")
    return regions

"""Connected components of a mask, found in the smallest box around its marks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Box = tuple[slice, ...]


@dataclass(frozen=True, eq=False)
class Components:
    """The components of one mask, numbered from 1 in array order.

    Attributes
    ----------
    numbers : ndarray of int32
        Number of the component at each pixel of ``box``; 0 outside all.
    box : tuple of slice
        Smallest box around all marks; empty slices where nothing is marked.
    count : int
        Number of components.
    """

    numbers: NDArray[np.int32]
    box: Box
    count: int

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        """Number of pixels of each component."""
        return np.bincount(self.numbers.reshape(-1), minlength=self.count + 1)[1:]

    @cached_property
    def boxes(self) -> list[Box]:
        """Smallest box around each component, in coordinates of the whole mask."""
        from scipy import ndimage

        return [
            tuple(
                slice(edge.start + whole.start, edge.stop + whole.start)
                for edge, whole in zip(box, self.box, strict=True)
            )
            for box in ndimage.find_objects(self.numbers)
        ]


def find_components(mask: NDArray[Any], connectivity: int | None = None) -> Components:
    """The connected components of what is not 0 in a mask.

    ``connectivity`` is the largest number of axes in which neighbours may differ, as in SciPy: 1 joins pixels that
    share a side, and the number of axes (the default) also those that share a corner.

    >>> found = find_components(np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [1, 0, 0, 0]]))
    >>> found.count, found.sizes.tolist(), found.boxes[1]
    (2, [2, 1], (slice(3, 4, None), slice(0, 1, None)))
    """
    from scipy import ndimage

    marks = np.asarray(mask) != 0
    box = _marked_box(marks)
    structure = ndimage.generate_binary_structure(marks.ndim, connectivity or marks.ndim)
    numbers, count = ndimage.label(marks[box], structure)
    return Components(numbers, box, count)


def _marked_box(marks: NDArray[np.bool_]) -> Box:
    edges = []
    for axis in range(marks.ndim):
        along = np.flatnonzero(marks.any(axis=tuple(a for a in range(marks.ndim) if a != axis)))
        edges.append(slice(int(along[0]), int(along[-1]) + 1) if along.size else slice(0, 0))
    return tuple(edges)

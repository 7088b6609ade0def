"""The distance of each cell of one surface to the nearest cell of another: exact, by whichever search is quickest.

- A tree of points, where the surfaces are small or fill little of the box around them.
- Otherwise columns: the steps to the nearest cell along the first axis are found for the whole box by two sweeps;
  then, for each cell, columns further and further off are tried until none can be nearer (the separable distance
  transform of Saito and Toriwaki, only where it is asked for, and only as far as it has to go).
- What lies further off than columns are tried goes to the tree, or, if that is much, to a distance transform.

Saito T, Toriwaki J. New algorithms for Euclidean distance transformation of an n-dimensional digitized picture with
applications. Pattern Recognit 1994;27:1551–1565. doi:10.1016/0031-3203(94)90133-3
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

Values = NDArray[np.float64]
Cells = NDArray[np.int32]

FEW = 5_000
"""A tree is quicker for fewer cells than this."""
SPARSE = 150
"""A tree is quicker where the box has more than this many places a cell."""
CROWDED = 80
"""A distance transform is quicker than a tree for far cells where the box has fewer than this many places a cell."""
MOST_PLACES = 1 << 28
"""Of a box in which columns are swept, one byte each; a distance transform takes an eighth of it, and one for each of
many sets of cells an eighth of that. Larger boxes are left to trees."""
REACH = {2: 128.0, 3: 18.0}
"""How many columns off to look, by the number of axes."""
NONE = 254
"""That many steps, or no cell in the column at all."""


def squared_distances(of: Cells, to: Cells, spacing: Values, tree: Callable[[], Any]) -> Values:
    """The squared distance of each cell to the nearest of the others; ``tree`` gives the tree of those."""
    if len(of) < FEW:
        return _by_tree(of, to, spacing, tree())
    low = np.minimum(of.min(axis=0), to.min(axis=0))
    shape = np.maximum(of.max(axis=0), to.max(axis=0)) - low + 1
    volume = float(np.prod(shape, dtype=np.float64))
    if volume > min(SPARSE * len(of), MOST_PLACES):
        return _by_tree(of, to, spacing, tree())
    distances = _by_columns(of - low, to - low, shape.tolist(), spacing)
    far = np.flatnonzero(np.isinf(distances))
    if volume < min(CROWDED * len(far), MOST_PLACES // 8):
        distances[far] = _by_transform(of[far] - low, to - low, shape.tolist(), spacing)
    elif len(far):
        distances[far] = _by_tree(of[far], to, spacing, tree())
    return distances


def _by_tree(of: Cells, to: Cells, spacing: Values, tree: Any) -> Values:
    _, nearest = tree.query(of * spacing)
    return _squares(of - to[nearest], spacing)


def _by_transform(of: Cells, to: Cells, shape: Sequence[int], spacing: Values) -> Values:
    from scipy import ndimage

    free = np.ones(shape, bool)
    free[tuple(to.T)] = False
    nearest = ndimage.distance_transform_edt(free, spacing, return_distances=False, return_indices=True)
    return _squares(of - nearest[(slice(None), *of.T)].T, spacing)


MANY = 20
"""Fewer sets of cells are compared two by two."""
CLOSE = 10
"""A transform for each of many sets is quicker than trees where the box has fewer than this many places a cell."""


@dataclass(frozen=True)
class NearestMaps:
    """Many sets of cells in one box, each of which is compared with all others."""

    cells: Sequence[NDArray[np.intp]]
    """Their places in the box, flat."""
    shape: tuple[int, ...]
    spacing: Values

    @classmethod
    def over(cls, cells: Sequence[Cells], spacing: Values) -> NearestMaps | None:
        """Of sets that are not empty; None where they are few, or too far apart."""
        if len(cells) < MANY:
            return None
        low = np.min([each.min(axis=0) for each in cells], axis=0)
        shape = np.max([each.max(axis=0) for each in cells], axis=0) - low + 1
        if np.prod(shape, dtype=np.float64) > min(CLOSE * sum(map(len, cells)), MOST_PLACES // 64):
            return None
        size = tuple(shape.tolist())
        return cls([_flat(each - low, size) for each in cells], size, spacing)

    @property
    def whole(self) -> bool:
        """Whether squared distances are whole numbers."""
        return bool((self.spacing == 1).all())

    def squared_distances(self, to: int) -> list[NDArray[Any]]:
        """The squared distances of the cells of each set to the nearest of one of them; small integers where whole."""
        from scipy import ndimage

        free = np.ones(self.shape, bool)
        free.reshape(-1)[self.cells[to]] = False
        nearest = ndimage.distance_transform_edt(free, self.spacing, return_distances=False, return_indices=True)
        own = np.ogrid[tuple(slice(n) for n in self.shape)]
        # in the order of _squares
        first, *others = (((at - near) * s) ** 2 for at, near, s in zip(own, nearest, self.spacing, strict=True))
        squares = first + sum(others)
        if self.whole:
            squares = squares.astype(np.min_scalar_type(int(squares.max())))
        return [squares.reshape(-1).take(of) for of in self.cells]


def _squares(steps: NDArray[Any], spacing: Values) -> Values:
    # in the order in which columns add up, so that equal steps give equal numbers whoever found them
    squares = (steps * spacing) ** 2
    return np.asarray(squares[:, 0] + squares[:, 1:].sum(axis=1))


# -- columns -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Ring:
    """Columns that are equally far off: how far, squared, and where the flat array starts as seen from there."""

    square: float
    starts: list[int]


def _by_columns(of: Cells, to: Cells, shape: Sequence[int], spacing: Values) -> Values:
    """Squared distances, infinite where they are larger than the reach."""
    reach = min(REACH[len(shape)] * float(np.exp(np.log(spacing[1:]).mean())), (NONE - 1) * float(spacing[0]))
    near = np.flatnonzero(_squares(_outside(of, to), spacing) <= reach**2)
    distances = np.full(len(of), np.inf)
    if not len(near):
        return distances
    pad = [min(int(reach / s), n - 1) for s, n in zip(spacing[1:], shape[1:], strict=True)]
    # what is over the edge of a row or plane is the margin of the one before or after it
    padded = [shape[0], *(n + p for n, p in zip(shape[1:], pad, strict=True))]
    margin = int(_flat(np.array([[0, *pad]]), padded)[0])
    rings = _rings(pad, padded, spacing[1:], reach, margin)
    steps = np.full(margin + int(np.prod(padded)) + margin, NONE, np.uint8)
    _sweep(steps[margin : len(steps) - margin].reshape(padded), _flat(to, padded))
    squares = np.append((np.arange(NONE) * spacing[0]) ** 2, np.inf)
    distances[near] = _search(steps, _flat(of[near], padded), rings, squares, reach)
    return distances


def _outside(of: Cells, to: Cells) -> Cells:
    """How many steps each cell is outside of the box around the others."""
    low, high = to.min(axis=0), to.max(axis=0)
    return np.asarray(np.maximum(np.maximum(low - of, of - high), 0), np.int32)


def _flat(cells: NDArray[Any], shape: Sequence[int]) -> NDArray[np.intp]:
    place = cells[:, 0].astype(np.intp)
    for axis in range(1, len(shape)):
        place *= shape[axis]
        place += cells[:, axis]
    return place


def _rings(pad: Sequence[int], padded: Sequence[int], spacing: Values, reach: float, margin: int) -> list[_Ring]:
    """The columns in reach, nearest first."""
    offsets = np.stack(np.meshgrid(*(np.arange(-p, p + 1) for p in pad), indexing="ij"), axis=-1).reshape(-1, len(pad))
    squares = ((offsets * spacing) ** 2).sum(axis=1)
    order = np.argsort(squares, kind="stable")
    order = order[squares[order] <= reach**2]
    starts = margin + _flat(offsets[order], padded[1:])
    distinct, first = np.unique(squares[order], return_index=True)
    groups = np.split(starts, first[1:])
    return [_Ring(float(r), group.tolist()) for r, group in zip(distinct, groups, strict=True)]


def _sweep(steps: NDArray[np.uint8], cells: NDArray[np.intp]) -> None:
    """Down and up the first axis: the steps from each place to the nearest cell in its column."""
    steps.reshape(-1)[cells] = 0
    one_more = np.empty_like(steps[0])
    for planes in (steps, steps[::-1]):
        for before, here in pairwise(planes):
            np.minimum(before, NONE - 1, out=one_more)
            np.add(one_more, 1, out=one_more)
            np.minimum(here, one_more, out=here)


def _search(
    steps: NDArray[np.uint8], place: NDArray[np.intp], rings: Sequence[_Ring], squares: Values, reach: float
) -> Values:
    """The least square over all rings; a place is done when the next ring is no nearer than its best."""
    distances = np.full(len(place), np.inf)
    who, best = np.arange(len(place)), np.full(len(place), np.inf)
    for ring in rings:
        left = best > ring.square
        if np.count_nonzero(left) < 0.9 * len(left):
            distances[who[~left]] = best[~left]
            who, place, best = who[left], place[left], best[left]
        if not len(who):
            return distances
        nearest = steps[ring.starts[0] :].take(place)
        for start in ring.starts[1:]:
            np.minimum(nearest, steps[start:].take(place), out=nearest)
        np.minimum(best, squares[nearest] + ring.square, out=best)
    done = best <= reach**2
    distances[who[done]] = best[done]
    return distances

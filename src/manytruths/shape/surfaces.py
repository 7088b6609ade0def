"""How far the outlines of two masks are apart: Hausdorff, 95% Hausdorff, mean surface distance, surface Dice.

What counts as the surface of a mask ::

    elements    in every cell of 2×2 (2×2×2) neighbouring pixels of which some are marked and some are not: an element
                at the cell's centre, as large as the marching-cubes surface in it (as Google DeepMind's
                surface-distance has it)
    pixels      every marked pixel with an unmarked one at one of its sides: an element of size 1 at its centre
                (as MedPy and MONAI have it)

Whatever lies outside of the image is not marked. Distances are in the units of the spacing (mm), without one in pixels.

Nikolov S et al. Clinically applicable segmentation of head and neck anatomy for radiotherapy. J Med Internet Res
2021;23:e26151. doi:10.2196/26151
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError, LabelError
from .surface_elements import element_sizes
from .surface_search import Cells, Values, squared_distances
from .surface_summaries import DirectedDistances, SurfaceDistances, summed, undefined

Definition = Literal["elements", "pixels"]

NOTHING = "both_empty"
ONE_NOTHING = "one_empty"


@dataclass(frozen=True, eq=False)
class Surface:
    """The surface of one mask: made once by :func:`surface`, compared with many."""

    cells: Cells
    """(n, axes): the pixel of each element; with the definition "elements", the last pixel of its cell."""
    sizes: Values
    """The length or area of each element."""
    spacing: tuple[float, ...]
    """The sides of a pixel."""
    shape: tuple[int, ...]
    """The size of the mask."""
    definition: Definition = "elements"

    def __repr__(self) -> str:
        return f"<Surface of a {_size(self.shape)} mask: {len(self.cells):,} {self.definition}>"

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def points(self) -> Values:
        """(n, axes): where the elements are, the centre of the first pixel being 0."""
        middle = 0.5 if self.definition == "elements" else 0.0
        return np.asarray((self.cells - middle) * self.spacing, np.float64)

    @property
    def sides(self) -> Values:
        """The spacing in units of its first: equal sides are exactly 1."""
        return np.array(self.spacing) / self.spacing[0]

    @cached_property
    def tree(self) -> Any:
        """A search tree of the elements, in units of the first side."""
        from scipy.spatial import cKDTree

        return cKDTree(self.cells * self.sides, leafsize=32, compact_nodes=False, balanced_tree=False)


def surface(mask: ArrayLike, spacing: Sequence[float] | None = None, *, definition: Definition = "elements") -> Surface:
    """The surface of a mask of two or three axes, marked where it is not 0.

    >>> found = surface([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> len(found), float(found.sizes.sum().round(6))
    (4, 2.828427)
    """
    if definition not in get_args(Definition):
        raise CallError(f"a surface is of {' or '.join(get_args(Definition))}; got definition={definition!r}")
    values = _whole_numbers(mask)
    sides = _sides(spacing, values.ndim)
    low, part = _cut_out(values)
    if definition == "pixels":
        at = np.flatnonzero(_border(part))
        sizes, grid = np.ones(len(at)), [n - 2 for n in part.shape]
    else:
        codes = _codes(part)
        # one less, and codes without a surface are the two largest
        at = np.flatnonzero(codes - np.uint8(1) < 2**2**values.ndim - 2)
        sizes, grid = element_sizes(sides)[codes.reshape(-1)[at]], list(codes.shape)
    cells = np.stack(np.unravel_index(at, grid)).astype(np.int32).T
    return Surface(cells + low, sizes, sides, values.shape, definition)


def surface_distances(
    a: ArrayLike | Surface,
    b: ArrayLike | Surface,
    spacing: Sequence[float] | None = None,
    *,
    definition: Definition | None = None,
) -> SurfaceDistances:
    """The distances between two surfaces, given as masks or, made before, as surfaces.

    A surface brings its spacing and definition along; two masks have the spacing given, by default 1 pixel, and the
    definition given, by default "elements".

    >>> surface_distances([[1, 1, 0, 0, 0]], [[1, 1, 1, 1, 0]])
    <SurfaceDistances: Hausdorff 2, 95% 2, mean 0.353553>
    """
    known = next((x for x in (a, b) if isinstance(x, Surface)), None)
    if known is not None:
        spacing = known.spacing if spacing is None else spacing
        definition = definition or known.definition
    first, second = (
        x if isinstance(x, Surface) else surface(x, spacing, definition=definition or "elements") for x in (a, b)
    )
    _comparable(first, second)
    if not len(first) or not len(second):
        nothing = undefined(ONE_NOTHING if len(first) or len(second) else NOTHING)
        return SurfaceDistances(nothing, nothing)
    return SurfaceDistances(_directed(first, second), _directed(second, first))


def hausdorff(
    a: ArrayLike | Surface,
    b: ArrayLike | Surface,
    spacing: Sequence[float] | None = None,
    *,
    percent: float = 100,
    definition: Definition | None = None,
) -> float:
    """Hausdorff's distance of two masks' surfaces; with ``percent=95`` the 95% Hausdorff distance.

    >>> hausdorff([[1, 1, 0, 0, 0]], [[1, 1, 1, 1, 0]], spacing=(1, 0.5))
    1.0
    """
    return surface_distances(a, b, spacing, definition=definition).hausdorff(percent)


def mean_surface_distance(
    a: ArrayLike | Surface,
    b: ArrayLike | Surface,
    spacing: Sequence[float] | None = None,
    *,
    definition: Definition | None = None,
) -> float:
    """The mean distance over both masks' surfaces together.

    >>> mean_surface_distance([[1, 1, 0, 0, 0]], [[1, 1, 0, 0, 0]])
    0.0
    """
    return surface_distances(a, b, spacing, definition=definition).mean()


def surface_dice(
    a: ArrayLike | Surface,
    b: ArrayLike | Surface,
    tolerance: float,
    spacing: Sequence[float] | None = None,
    *,
    definition: Definition | None = None,
) -> float:
    """The share of both masks' surfaces that is within a tolerance of the other.

    >>> surface_dice([[1, 1, 0, 0, 0]], [[1, 1, 1, 1, 0]], tolerance=2)
    1.0
    """
    return surface_distances(a, b, spacing, definition=definition).dice(tolerance)


def _directed(of: Surface, to: Surface) -> DirectedDistances:
    squares = squared_distances(of.cells, to.cells, of.sides, lambda: to.tree)
    found = summed(squares, of.sizes)
    return DirectedDistances(np.sqrt(found.distances) * of.spacing[0], found.sizes)


def _comparable(a: Surface, b: Surface) -> None:
    if a.shape != b.shape:
        raise GridError(
            f"one mask is {_size(a.shape)} and the other {_size(b.shape)}; resample one of them to the other's grid"
        )
    if a.spacing != b.spacing:
        raise GridError(f"one surface has the spacing {a.spacing}, the other {b.spacing}; give both masks the same")
    if a.definition != b.definition:
        raise CallError(f"one surface is of {a.definition}, the other of {b.definition}; give both the same definition")


# -- from a mask to its elements ---------------------------------------------------------------


def _whole_numbers(mask: ArrayLike) -> NDArray[Any]:
    values = np.asarray(np.ma.filled(mask, 0))  # hidden items are not marked
    if values.ndim not in (2, 3):
        raise CallError(f"a surface is of a mask with 2 or 3 axes; got an array with {values.ndim}, {values.shape}")
    whole = values.dtype.kind in "biu"
    if not whole and not (values.dtype.kind == "f" and (np.isfinite(values) & (np.floor(values) == values)).all()):
        raise LabelError(
            f"a mask holds booleans or whole numbers, marked where not 0; got an array of {values.dtype}: "
            "compare probabilities with a threshold first"
        )
    return values


def _size(shape: Sequence[int]) -> str:
    return "×".join(map(str, shape))


def _sides(spacing: Sequence[float] | None, ndim: int) -> tuple[float, ...]:
    sides = np.ones(ndim) if spacing is None else np.asarray(spacing, np.float64)
    if sides.shape != (ndim,) or not (np.isfinite(sides).all() and (sides > 0).all()):
        raise CallError(f"spacing has one positive size an axis, {ndim} in all; got {spacing!r}")
    return tuple(sides.tolist())


def _cut_out(values: NDArray[Any]) -> tuple[Cells, NDArray[np.uint8]]:
    """The box around what is marked, as 0 and 1 with a margin of 0, and where it begins."""
    low = np.zeros(values.ndim, np.int32)
    # the axes that lie furthest apart in memory first: cutting along them leaves long runs to look at
    for axis in np.argsort(values.strides)[::-1]:
        others = tuple(i for i in range(values.ndim) if i != axis)
        used = np.flatnonzero(values.any(axis=others))
        low[axis], end = (used[0], used[-1] + 1) if len(used) else (0, 0)
        values = values[(slice(None),) * int(axis) + (slice(low[axis], end),)]
    part = np.zeros([n + 2 for n in values.shape], np.uint8)
    part[(slice(1, -1),) * values.ndim] = values != 0
    return low, part


def _codes(part: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The code of each cell, see :mod:`surface_elements`: bits double along the last axis, then the one before."""
    codes = part
    for axis in range(part.ndim)[::-1]:
        bits = 2 ** (part.ndim - 1 - axis)
        ahead = (slice(None),) * axis
        codes = codes[(*ahead, slice(None, -1))] << bits | codes[(*ahead, slice(1, None))]
    return codes


def _border(part: NDArray[np.uint8]) -> NDArray[np.bool_]:
    """Whether each item within the margin is marked, and one of its neighbours is not."""
    inner = (slice(1, -1),) * part.ndim
    all_around = part[inner].copy()
    for axis in range(part.ndim):
        for side in (slice(None, -2), slice(2, None)):
            all_around &= part[(*inner[:axis], side, *inner[axis + 1 :])]
    return np.asarray(part[inner] != all_around)

"""Surfaces of masks, and the distances between two of them: Hausdorff, 95% Hausdorff, mean, surface Dice.

What counts as the surface of a mask ::

    elements    in every cell of 2×2 (2×2×2) neighbouring pixels of which some are marked and some are not: an element
                at the cell's centre, as large as the marching-cubes surface in it (as Google DeepMind's
                surface-distance has it)
    pixels      every marked pixel with an unmarked one at one of its sides: an element of size 1 at its centre
                (as MedPy and MONAI have it)

Whatever lies outside of the image is not marked. Distances are in the units of the spacing (mm), without one in pixels.
With d the distance of an element of one surface to the nearest element of the other, and s its size ::

    percentile p    the smallest distance at which Σ s of the elements so near reaches p% of Σ s
    Hausdorff       the larger of the two directions' largest distances; of their percentiles, the robust one (HD95)
    mean            Σ s d / Σ s over the elements of both surfaces together (ASSD)
    surface Dice    Σ s of the elements of both surfaces that are within a tolerance / Σ s of all of them
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, islice, pairwise, product
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError, LabelError
from ..core.runs import LabelRuns, expand, read_runs
from ..core.tiles import LazyArray, is_lazy
from ..core.undefined import Undefined
from .surface_elements import element_sizes
from .surface_search import Cells, NearestMaps, Values, squared_distances

Definition = Literal["elements", "pixels"]

NOTHING = "both_empty"
ONE_NOTHING = "one_empty"


@dataclass(frozen=True, eq=False)
class Surface:
    """The surface of one mask: made once by :func:`extract_surface`, compared with many.

    Attributes
    ----------
    cells : numpy.ndarray
        (n, axes): the pixel of each element; with the definition "elements", the last pixel of its cell.
    sizes : numpy.ndarray
        Length or area of each element.
    spacing : tuple of float
        Sides of a pixel.
    shape : tuple of int
        Shape of the mask.
    definition : {"elements", "pixels"}
        What counts as the surface.
    """

    cells: Cells
    sizes: Values
    spacing: tuple[float, ...]
    shape: tuple[int, ...]
    definition: Definition = "elements"

    def __repr__(self) -> str:
        return f"<Surface of a {_format_shape(self.shape)} mask: {len(self.cells):,} {self.definition}>"

    def __len__(self) -> int:
        return len(self.cells)

    @property
    def points(self) -> Values:
        """(n, axes): positions of the elements, the centre of the first pixel being 0."""
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


def extract_surface(
    mask: ArrayLike | LazyArray, spacing: Sequence[float] | None = None, *, definition: Definition = "elements"
) -> Surface:
    """Extract the surface of a mask of two or three axes, marked where it is not 0.

    Parameters
    ----------
    mask : array_like
        The mask. One on disk, such as a Zarr array, is read tile by tile.
    spacing : sequence of float, optional
        Size of a pixel along each axis; by default 1.
    definition : {"elements", "pixels"}
        ``"elements"``: cells of neighbouring pixels through which the surface runs, as large as the marching-cubes
        surface in them. ``"pixels"``: marked pixels beside unmarked ones, all of size 1.

    Returns
    -------
    Surface
        The elements of the surface.

    References
    ----------
    Lorensen WE, Cline HE. Marching cubes: a high resolution 3D surface construction algorithm. SIGGRAPH Comput Graph
    1987;21:163–169. doi:10.1145/37402.37422

    Examples
    --------
    >>> import manytruths as mt
    >>> surface = mt.extract_surface([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    >>> len(surface), float(surface.sizes.sum().round(6))
    (4, 2.828427)
    """
    if definition not in get_args(Definition):
        raise CallError(f"a surface is of {' or '.join(get_args(Definition))}; got definition={definition!r}")
    if is_lazy(mask):
        return _extract_from_runs(read_runs(mask).marks(), spacing, definition)
    values = _check_mask(mask)  # type: ignore[arg-type]  # any other array
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
    """Compute the distances between the surfaces of two masks.

    Parameters
    ----------
    a, b : array_like or Surface
        Masks, or surfaces made before. A surface brings its spacing and definition along.
    spacing : sequence of float, optional
        Size of a pixel along each axis; by default 1.
    definition : {"elements", "pixels"}, optional
        What counts as the surface, see :func:`extract_surface`; by default ``"elements"``.

    Returns
    -------
    SurfaceDistances
        The distances in both directions, from which every number follows.

    References
    ----------
    Nikolov S et al. Clinically applicable segmentation of head and neck anatomy for radiotherapy. J Med Internet Res
    2021;23:e26151. doi:10.2196/26151

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.surface_distances([[1, 1, 0, 0, 0]], [[1, 1, 1, 1, 0]])
    <SurfaceDistances: Hausdorff 2, 95% 2, mean 0.353553>
    """
    known = next((x for x in (a, b) if isinstance(x, Surface)), None)
    if known is not None:
        spacing = known.spacing if spacing is None else spacing
        definition = definition or known.definition
    first, second = (
        x if isinstance(x, Surface) else extract_surface(x, spacing, definition=definition or "elements")
        for x in (a, b)
    )
    _check_comparable(first, second)
    if not len(first) or not len(second):
        nothing = no_distances(ONE_NOTHING if len(first) or len(second) else NOTHING)
        return SurfaceDistances(nothing, nothing)
    return SurfaceDistances(_directed(first, second), _directed(second, first))


def hausdorff(
    a: ArrayLike | Surface,
    b: ArrayLike | Surface,
    spacing: Sequence[float] | None = None,
    *,
    percentile: float = 100,
    definition: Definition | None = None,
) -> float:
    """Hausdorff distance between the surfaces of two masks.

    Parameters
    ----------
    a, b : array_like or Surface
        Masks, or surfaces made before.
    spacing : sequence of float, optional
        Size of a pixel along each axis; by default 1.
    percentile : float
        100 for the largest distance, 95 for the 95% Hausdorff distance.
    definition : {"elements", "pixels"}, optional
        What counts as the surface, see :func:`extract_surface`.

    Returns
    -------
    float
        The distance, or :class:`Undefined` where one of the masks, or both, are empty.

    References
    ----------
    Huttenlocher DP, Klanderman GA, Rucklidge WJ. Comparing images using the Hausdorff distance. IEEE Trans Pattern Anal
    Mach Intell 1993;15:850–863. doi:10.1109/34.232073

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.hausdorff([[1, 1, 0, 0, 0]], [[1, 1, 1, 1, 0]], spacing=(1, 0.5))
    1.0
    """
    return surface_distances(a, b, spacing, definition=definition).hausdorff(percentile)


def mean_surface_distance(
    a: ArrayLike | Surface,
    b: ArrayLike | Surface,
    spacing: Sequence[float] | None = None,
    *,
    definition: Definition | None = None,
) -> float:
    """Mean distance over the surfaces of two masks together (ASSD).

    Parameters
    ----------
    a, b : array_like or Surface
        Masks, or surfaces made before.
    spacing : sequence of float, optional
        Size of a pixel along each axis; by default 1.
    definition : {"elements", "pixels"}, optional
        What counts as the surface, see :func:`extract_surface`.

    Returns
    -------
    float
        The mean distance, or :class:`Undefined` where one of the masks, or both, are empty.

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.mean_surface_distance([[1, 1, 0, 0, 0]], [[1, 1, 0, 0, 0]])
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
    """Surface Dice: the share of two masks' surfaces that lies within a tolerance of the other.

    Parameters
    ----------
    a, b : array_like or Surface
        Masks, or surfaces made before.
    tolerance : float
        Distance up to which surfaces count as equal, in the units of the spacing; see :func:`rater_tolerance`.
    spacing : sequence of float, optional
        Size of a pixel along each axis; by default 1.
    definition : {"elements", "pixels"}, optional
        What counts as the surface, see :func:`extract_surface`.

    Returns
    -------
    float
        The share, or :class:`Undefined` where one of the masks, or both, are empty.

    References
    ----------
    Nikolov S et al. Clinically applicable segmentation of head and neck anatomy for radiotherapy. J Med Internet Res
    2021;23:e26151. doi:10.2196/26151

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.surface_dice([[1, 1, 0, 0, 0]], [[1, 1, 1, 1, 0]], tolerance=2)
    1.0
    """
    return surface_distances(a, b, spacing, definition=definition).dice(tolerance)


def _directed(of: Surface, to: Surface) -> DirectedDistances:
    squares = squared_distances(of.cells, to.cells, of.sides, lambda: to.tree)
    return _in_units(sum_by_distance(squares, of.sizes), of)


def _sum_each(squares: Sequence[NDArray[Any]], sizes: Sequence[Values], whole: bool) -> Iterator[DirectedDistances]:
    """Elements of several surfaces put together by distance, which is quick where squares are ``whole`` and small."""
    for each, size in zip(squares, sizes, strict=True):
        if whole and each.max() <= 4 * len(each):
            sums = np.bincount(each, size).astype(np.float64, copy=False)
            there = np.flatnonzero(sums)
            yield DirectedDistances(there.astype(np.float64), sums[there])
        else:
            yield sum_by_distance(each.astype(np.float64, copy=False), size)


def _in_units(squared: DirectedDistances, of: Surface) -> DirectedDistances:
    return DirectedDistances(np.sqrt(squared.distances) * of.spacing[0], squared.sizes)


def _check_comparable(a: Surface, b: Surface) -> None:
    if a.shape != b.shape:
        raise GridError(
            f"a is {_format_shape(a.shape)} and b is {_format_shape(b.shape)}; resample one of them to the other's grid"
        )
    if a.spacing != b.spacing:
        raise GridError(f"one surface has the spacing {a.spacing}, the other {b.spacing}; give both masks the same")
    if a.definition != b.definition:
        raise CallError(f"one surface is of {a.definition}, the other of {b.definition}; give both the same definition")


# -- from a mask to its elements ---------------------------------------------------------------


def _check_mask(mask: ArrayLike) -> NDArray[Any]:
    values = np.asarray(np.ma.filled(mask, 0))  # hidden items are not marked
    _check_axes(values.shape)
    whole = values.dtype.kind in "biu"
    if not whole and not (values.dtype.kind == "f" and (np.isfinite(values) & (np.floor(values) == values)).all()):
        raise LabelError(
            f"a mask holds booleans or whole numbers, marked where not 0; got an array of {values.dtype}: "
            "compare probabilities with a threshold first"
        )
    return values


def _check_axes(shape: tuple[int, ...]) -> None:
    if len(shape) not in (2, 3):
        raise CallError(f"a surface is of a mask with 2 or 3 axes; got an array with {len(shape)}, {shape}")


def _format_shape(shape: Sequence[int]) -> str:
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


# -- from runs to the elements -----------------------------------------------------------------


def _extract_from_runs(marks: LabelRuns, spacing: Sequence[float] | None, definition: Definition) -> Surface:
    """The same elements in the same order, from the runs of a mask that is not in memory."""
    _check_axes(marks.shape)
    axes = len(marks.shape)
    sides = _sides(spacing, axes)
    found = [(np.empty((0, axes), np.int32), np.empty(0))]
    for runs, first, last in _bands(marks):
        if definition == "pixels":
            found.append(_border_of_runs(runs, marks.shape, first, last))
        else:
            found.append(_elements_of_runs(runs, marks.shape, first, last, element_sizes(sides)))
    cells, sizes = (np.concatenate(part) for part in zip(*found, strict=True))
    return Surface(cells, sizes, sides, marks.shape, definition)


@dataclass(frozen=True, eq=False)
class _Lines:
    """Runs by their line, the other axes being one; lines and columns have a margin, so that neighbours never wrap."""

    lines: NDArray[np.int64]
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]


AT_ONCE = 1 << 20
"""Runs whose neighbours are looked at together."""


def _bands(marks: LabelRuns) -> Iterator[tuple[_Lines, int, int]]:
    """Runs of some planes (of an image, rows) and the planes beside, and for which planes they tell all elements."""
    plane = int(np.prod(marks.shape[1:]))
    edges = np.unique([0, *(marks.starts[AT_ONCE::AT_ONCE] // plane).tolist(), marks.shape[0] + 1])
    for first, last in pairwise(edges.tolist()):
        low, high = np.searchsorted(marks.starts, [(first - 1) * plane, (last + 1) * plane]).tolist()
        if low < high:
            row, starts = np.divmod(marks.starts[low:high], marks.shape[-1])
            lines = np.zeros(len(row), np.int64)
            for at, n in zip(np.unravel_index(row, marks.shape[:-1]), marks.shape[:-1], strict=True):
                lines = lines * (n + 2) + at + 1
            yield _Lines(lines, starts, starts + marks.stops[low:high] - marks.starts[low:high]), first, last


def _sweep(
    toggles: Sequence[tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], int]], width: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where bits change along lines: flat places, the bits left of each, those right of it, and how far these reach.

    Each toggle is a line, where its bit begins and where it ends, and the bit.
    """
    keys = np.concatenate([line * width + at for line, *ends, _ in toggles for at in ends])
    bits = np.concatenate([np.full(2 * len(line), bit, np.int16) for line, _, _, bit in toggles])
    order = np.argsort(keys, kind="stable")
    keys, states = keys[order], np.bitwise_xor.accumulate(bits[order]) if len(bits) else bits
    last = np.flatnonzero(np.diff(keys, append=-1) != 0)
    places, right = keys[last], states[last].astype(np.int64)
    return places, np.append(0, right[:-1]), right, np.diff(places, append=places[-1:])


def _elements_of_runs(
    runs: _Lines, shape: tuple[int, ...], first: int, last: int, sizes_by_code: Values
) -> tuple[Cells, Values]:
    """Cells at the corner of pixels: the code changes only where a run of one of the lines around it ends."""
    steps = _line_steps(shape)
    lines = 2 ** (len(shape) - 1)
    # bit k is the line whose code bits are 2k and 2k + 1; the last line is the one that the cell is named after
    toggles = [(runs.lines + move, runs.starts, runs.stops, 1 << k) for k, move in enumerate(_moves(steps))]
    places, left, right, reach = _sweep(toggles, shape[-1] + 2)
    table = _code_of_lines(lines)
    full = (1 << lines) - 1
    at_end = np.flatnonzero(left != right)
    along = np.flatnonzero((right != 0) & (right != full) & (reach > 1))
    more = reach[along] - 1
    where = np.concatenate([places[at_end], expand(places[along] + 1, more)])
    codes = np.concatenate([
        table[left[at_end]] << 1 | table[right[at_end]], np.repeat(table[right[along]] * 3, more)
    ])  # fmt: skip
    order = np.argsort(where, kind="stable")
    return _within(where[order], sizes_by_code[codes[order]], shape, first, last)


def _line_steps(shape: tuple[int, ...]) -> list[int]:
    """By how much the number of a line grows along each axis but the last."""
    return [int(np.prod([n + 2 for n in shape[axis + 1 : -1]])) for axis in range(len(shape) - 1)]


def _moves(steps: Sequence[int]) -> list[int]:
    """From a line to the lines of cells that it lies in, from its last place in a cell to the first."""
    return [sum(a * b for a, b in zip(each, steps, strict=True)) for each in product((0, 1), repeat=len(steps))]


def _code_of_lines(lines: int) -> NDArray[np.int64]:
    """Of bits of lines, the code of a cell in which their pixels at the end are marked."""
    states = np.arange(1 << lines)
    return np.asarray(np.sum([(states >> k & 1) << 2 * k for k in range(lines)], axis=0))


def _border_of_runs(runs: _Lines, shape: tuple[int, ...], first: int, last: int) -> tuple[Cells, Values]:
    """Marked pixels beside an unmarked one: all of a run but what has marked pixels at all sides."""
    long = runs.stops - runs.starts > 2
    toggles = [
        (runs.lines, runs.starts, runs.stops, 1),
        (runs.lines[long], runs.starts[long] + 1, runs.stops[long] - 1, 2),
    ]
    beside = [sign * step for step in _line_steps(shape) for sign in (-1, 1)]
    toggles += [(runs.lines + move, runs.starts, runs.stops, 4 << k) for k, move in enumerate(beside)]
    places, _, right, reach = _sweep(toggles, shape[-1] + 2)
    chosen = np.flatnonzero((right & 1 == 1) & (right != (4 << len(beside)) - 1))
    where = expand(places[chosen], reach[chosen])
    return _within(where, np.ones(len(where)), shape, first, last)


def _within(
    where: NDArray[np.int64], sizes: Values, shape: tuple[int, ...], first: int, last: int
) -> tuple[Cells, Values]:
    """Cells of places on lines, of the planes asked for."""
    line, column = np.divmod(where, shape[-1] + 2)
    padded = [n + 2 for n in shape[:-1]]
    cells = np.stack([*(at - 1 for at in np.unravel_index(line, padded)), column], axis=1).astype(np.int32)
    here = (cells[:, 0] >= first) & (cells[:, 0] < last)
    return cells[here], sizes[here]


ROUNDING = 1e-9
"""A distance that exceeds a tolerance by no more than this share is rounding (3 × 0.1 > 0.3) and within it."""
TIE = 1e-12
"""The same of a sum of sizes and the share that it should reach, and of two distances that are one."""


@dataclass(frozen=True, eq=False)
class DirectedDistances:
    """From the elements of one surface to the other: distinct distances in rising order, with the size at each."""

    distances: Values
    sizes: Values
    undefined: str = ""
    """Why there are none, where there are none."""

    @property
    def size(self) -> float:
        """Length or area of the surface."""
        return float(self.sizes.sum())

    def mean(self) -> float:
        """Mean distance, weighted by size."""
        if self.undefined:
            return Undefined(self.undefined)
        return float(self.distances @ self.sizes / self.size)

    def percentile(self, percentile: float) -> float:
        """The smallest distance within which that percentage of the surface lies."""
        if not 0 <= percentile <= 100:
            raise CallError(f"a percentile is from 0 to 100; got {percentile!r}")
        if self.undefined:
            return Undefined(self.undefined)
        if percentile == 100:
            return float(self.distances[-1])
        reached = np.cumsum(self.sizes)
        return float(self.distances[np.searchsorted(reached, percentile / 100 * reached[-1] * (1 - TIE))])

    def within(self, tolerance: float) -> float:
        """Share of the surface that is no further off than the tolerance."""
        near = self.size_within(tolerance)
        return Undefined(self.undefined) if self.undefined else near / self.size

    def size_within(self, tolerance: float) -> float:
        """Size of the surface that is no further off than the tolerance."""
        if not tolerance >= 0:
            raise CallError(f"a tolerance is a distance, 0 or larger; got {tolerance!r}")
        count = np.searchsorted(self.distances, tolerance * (1 + ROUNDING), side="right")
        return float(self.sizes[:count].sum())


@dataclass(frozen=True, eq=False)
class SurfaceDistances:
    """The distances between the surfaces of two masks, in both directions.

    Small: masks are no longer needed. Every number is :class:`Undefined` where one of the two masks, or both, are
    empty.

    Attributes
    ----------
    a_to_b : DirectedDistances
        Distances from the elements of the first surface to the second.
    b_to_a : DirectedDistances
        Distances from the elements of the second surface to the first.
    """

    a_to_b: DirectedDistances
    b_to_a: DirectedDistances

    def __repr__(self) -> str:
        if self.undefined:
            return f"<SurfaceDistances: {Undefined(self.undefined).reason}>"
        figures = f"Hausdorff {self.hausdorff():.6g}, 95% {self.hausdorff(95):.6g}, mean {self.mean():.6g}"
        return f"<SurfaceDistances: {figures}>"

    @property
    def undefined(self) -> str:
        """Code of the reason why there are no distances; empty where there are."""
        return self.a_to_b.undefined

    def hausdorff(self, percentile: float = 100) -> float:
        """The larger of the two directions' percentiles: the Hausdorff distance, or with 95 the 95% Hausdorff distance.

        MedPy takes the 95% of both directions together, and it and MONAI interpolate: theirs can differ from this one.
        """
        both = [self.a_to_b.percentile(percentile), self.b_to_a.percentile(percentile)]
        return max(both) if not self.undefined else both[0]

    def mean(self) -> float:
        """Mean distance over both surfaces together."""
        if self.undefined:
            return Undefined(self.undefined)
        both = (self.a_to_b, self.b_to_a)
        return float(sum(way.distances @ way.sizes for way in both) / sum(way.size for way in both))

    def dice(self, tolerance: float) -> float:
        """Share of both surfaces together that is within the tolerance of the other."""
        near = self.a_to_b.size_within(tolerance) + self.b_to_a.size_within(tolerance)
        return Undefined(self.undefined) if self.undefined else near / (self.a_to_b.size + self.b_to_a.size)


def rater_tolerance(distances: Iterable[SurfaceDistances], percentile: float = 95) -> float:
    """Tolerance that raters need among themselves: a percentile of all distances between their surfaces.

    Pooled over the pairs given and both directions, weighted by size; pairs in which one rater marked nothing have no
    distances, and do not count.

    Parameters
    ----------
    distances : iterable of SurfaceDistances
        One per pair of raters.
    percentile : float
        Which percentile, from 0 to 100.

    Returns
    -------
    float
        The tolerance, or :class:`Undefined` where no pair has distances.

    References
    ----------
    Nikolov S et al. Clinically applicable segmentation of head and neck anatomy for radiotherapy. J Med Internet Res
    2021;23:e26151. doi:10.2196/26151

    Examples
    --------
    >>> import manytruths as mt
    >>> mt.rater_tolerance([mt.surface_distances([[1, 1, 0, 0, 0]], [[1, 1, 1, 1, 0]])])
    2.0
    """
    parts = [part for pair in distances if not pair.undefined for part in (pair.a_to_b, pair.b_to_a)]
    if not parts:
        return no_distances("no_two_surfaces").percentile(percentile)
    lengths, sizes = (np.concatenate([getattr(part, name) for part in parts]) for name in ("distances", "sizes"))
    return sum_by_distance(lengths, sizes).percentile(percentile)


def sum_by_distance(distances: Values, sizes: Values) -> DirectedDistances:
    """Elements put together by distance; distances that differ by rounding are one."""
    distinct = np.unique(distances)
    distinct = distinct[np.append(True, np.diff(distinct) > TIE * distinct[1:])]
    where = np.searchsorted(distinct, distances, side="right") - 1
    return DirectedDistances(distinct, np.asarray(np.bincount(where, sizes), np.float64))


class AllDistances:
    """The distances between every two of many surfaces on one grid, packed into a few arrays.

    Where the surfaces lie close together, one distance transform per surface serves all that are compared with it.

    Parameters
    ----------
    surfaces : sequence of Surface
        Those to compare; ``distances[i, j]`` are the distances of two of them.
    """

    def __init__(self, surfaces: Sequence[Surface]) -> None:
        for surface in surfaces[1:]:
            _check_comparable(surfaces[0], surface)
        there = [i for i, surface in enumerate(surfaces) if len(surface)]
        self._slot = {i: slot for slot, i in enumerate(there)}
        distinct, places, sizes, lengths = [np.empty(0)], list[NDArray[Any]](), [np.empty(0)], [0]
        sides = _all_directed([surfaces[i] for i in there])
        while some := list(islice(sides, len(there))):  # a few at a time, as sorting all of them takes much memory
            each, where = np.unique(np.concatenate([side.distances for side in some]), return_inverse=True)
            distinct.append(each)
            places.append(where.astype(np.uint16 if len(each) <= 2**16 else np.uint32))
            sizes.append(np.concatenate([side.sizes for side in some]))
            lengths += [len(side.sizes) for side in some]
        self._known = np.unique(np.concatenate(distinct))
        small = np.uint16 if len(self._known) <= 2**16 else np.uint32
        among = [np.searchsorted(self._known, each).astype(small) for each in distinct[1:]]
        self._places = np.concatenate([np.empty(0, small), *(at[part] for at, part in zip(among, places, strict=True))])
        self._sizes, self._ends = np.concatenate(sizes), np.cumsum(lengths)

    def __getitem__(self, pair: tuple[int, int]) -> SurfaceDistances:
        i, j = (self._slot.get(place) for place in pair)
        if i is None or j is None:
            nothing = no_distances(NOTHING if i is None and j is None else ONE_NOTHING)
            return SurfaceDistances(nothing, nothing)
        return SurfaceDistances(self._side(i, j), self._side(j, i))

    def _side(self, of: int, to: int) -> DirectedDistances:
        part = self._part(of, to)
        return DirectedDistances(self._known[self._places[part]], self._sizes[part])

    def _part(self, of: int, to: int) -> slice:
        number = to * len(self._slot) + of
        return slice(*self._ends[number : number + 2].tolist())

    def medians(self) -> list[float]:
        """The median distance of every two surfaces that are there, as :func:`rater_tolerance` has it."""
        found = []
        for pair in combinations(range(len(self._slot)), 2):
            one, other = self._part(*pair), self._part(*reversed(pair))
            places = np.concatenate([self._places[one], self._places[other]])
            sizes, order = np.concatenate([self._sizes[one], self._sizes[other]]), np.argsort(places, kind="stable")
            reached = np.cumsum(sizes[order])
            found.append(places[order[np.searchsorted(reached, reached[-1] / 2 * (1 - TIE))]])
        medians: list[float] = self._known[found].tolist()
        return medians


def _all_directed(surfaces: Sequence[Surface]) -> Iterator[DirectedDistances]:
    """From each surface to the first, from each to the second, and so on."""
    maps = NearestMaps.over([surface.cells for surface in surfaces], surfaces[0].sides) if surfaces else None
    for place, to in enumerate(surfaces):
        if maps is None:
            yield from (_directed(of, to) for of in surfaces)
        else:
            found = _sum_each(maps.squared_distances(place), [of.sizes for of in surfaces], maps.whole)
            yield from (_in_units(each, of) for each, of in zip(found, surfaces, strict=True))


def no_distances(code: str) -> DirectedDistances:
    """No distances, by the code given."""
    return DirectedDistances(np.empty(0), np.empty(0), code)

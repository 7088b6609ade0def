"""A second look: places that several algorithms marked and few raters.

An algorithm that finds what most raters did not mark may be wrong, or the raters may have missed something. Where
several algorithms agree, the second is worth a look; shown to the raters again, such places improve the reference
standard itself.

A pixel belongs to a place where at least ``algorithms`` of the algorithms, and at least half of those judged there,
marked it, and at most a share ``raters`` of the raters who rated it. Places are connected, diagonals included.

Places are found from runs in which nobody's mark changes, so that masks may be read by tile.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 5.1. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError
from ..core.mask_arrays import HIDDEN
from ..core.runs import Integers, LabelRuns, divide_runs, expand, read_runs
from ..core.tiles import LazyArray, is_lazy
from ..core.undefined import Undefined
from ..shape.components import number_runs

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Box = tuple[slice, ...]

UNKNOWN_SIZE = "pixel_size_unknown"
DRAWN = 1 << 22
"""The distances of all pixels of a place are computed at once where it lies in a box of so many pixels."""


@dataclass(frozen=True)
class SecondLookPlace:
    """One connected place that several algorithms marked and few raters."""

    most: int
    """The largest number of algorithms that marked the same pixel of it."""
    area: int
    """How many pixels it has."""
    size: float
    """In mm² or mm³; undefined where the size of a pixel is not known."""
    box: tuple[tuple[int, int], ...]
    """Along each axis, the first pixel and the one after the last."""
    point: tuple[int, ...]
    """The pixel that lies deepest inside it; of several, the one nearest to its centre."""
    depth: float
    """How far that pixel is from the edge, in mm where the size of a pixel is known, else in pixels."""
    adjoins: bool
    """Whether it touches what more raters marked: then it is a rim of their object, not an object of its own."""
    algorithms: Mapping[str, float]
    """Which algorithms marked some of it, and what share of it."""
    raters: Mapping[str, float]
    """Which raters marked some of it, and what share of it."""

    @property
    def order(self) -> tuple[bool, int, int]:
        """What stands by itself before rims of what raters marked; then by the number of algorithms, then by area."""
        return self.adjoins, -self.most, -self.area


@dataclass(frozen=True)
class SecondLook:
    """The places of one case."""

    places: tuple[SecondLookPlace, ...]
    """The strongest first."""
    specks: int
    """How many places were left out because they are too small."""
    note: str = ""
    """Why there is none, where there cannot be one."""


def second_look(
    predictions: Mapping[str, Array | LazyArray],
    masks: Mapping[str, Array | LazyArray],
    *,
    algorithms: int = 2,
    raters: float = 0.25,
    least: int = 5,
    spacing: Sequence[float] | None = None,
    inside: ArrayLike | LazyArray | None = None,
) -> SecondLook:
    """Find the places of a case that deserve a second look, in any number of dimensions.

    Parameters
    ----------
    predictions, masks : mapping of str to array
        By algorithm and by rater: marked where not 0. Where a masked array is masked, it is not judged or not rated.
        Arrays on disk are read by tile.
    algorithms : int
        At least so many algorithms marked a place; and half of them, where that is more.
    raters : float
        At most this share of the raters who rated it marked it.
    least : int
        Places with fewer pixels are specks, which are only counted.
    spacing : sequence of float, optional
        The size of a pixel along each axis, in mm.
    inside : array_like, optional
        The region that counts.

    Returns
    -------
    SecondLook
        The places, the strongest first.

    References
    ----------
    Lampert TA, Stumpf A, Gançarski P. IEEE Trans Image Process 2016;25:2557–2572, 5.1. doi:10.1109/TIP.2016.2544703

    Examples
    --------
    >>> predictions = {"unet": np.ones((8, 6)), "vnet": np.ones((8, 6))}
    >>> marked = {"A": np.zeros((8, 6)), "B": np.zeros((8, 6))}
    >>> marked["A"][:, :3] = 1
    >>> [(p.most, p.area, p.box, p.point, p.adjoins) for p in second_look(predictions, marked).places]
    [(2, 24, ((0, 8), (3, 6)), (3, 4), True)]
    """
    places, _ = find_places(
        predictions, masks, algorithms=algorithms, raters=raters, least=least, spacing=spacing, inside=inside
    )
    return places


def find_places(
    predictions: Mapping[str, Array | LazyArray],
    masks: Mapping[str, Array | LazyArray],
    *,
    algorithms: int = 2,
    raters: float = 0.25,
    least: int = 5,
    spacing: Sequence[float] | None = None,
    inside: ArrayLike | LazyArray | None = None,
) -> tuple[SecondLook, list[LabelRuns]]:
    """The places of :func:`second_look`, and the runs of each."""
    _check(predictions, masks, algorithms, raters, spacing, inside)
    if len(predictions) < algorithms:
        there = f"there {'is' if len(predictions) == 1 else 'are'} {len(predictions)}"
        note = f"a second look needs {algorithms} algorithms that predicted the case; {there}"
        return SecondLook((), 0, note), []
    votes = _Votes.of(predictions, masks, inside)
    more = votes.runs(_exceeds(votes.marked, votes.rated, raters))
    wanted = (votes.fired >= algorithms) & (2 * votes.fired >= votes.judged) & (votes.rated > 0) & votes.inside
    wanted &= ~_exceeds(votes.marked, votes.rated, raters)
    found: list[tuple[SecondLookPlace, LabelRuns]] = []
    parts = votes.parts(wanted)
    for piece in parts:
        runs = votes.runs(piece)
        if runs.items >= least:
            found.append((_describe(votes, piece, runs, more, spacing), runs))
    found.sort(key=lambda each: each[0].order)
    return SecondLook(tuple(place for place, _ in found), len(parts) - len(found)), [runs for _, runs in found]


@dataclass(frozen=True, eq=False)
class _Votes:
    """Pieces of rows in which nobody's mark changes, and who marked each."""

    shape: tuple[int, ...]
    starts: Integers
    stops: Integers
    by_algorithm: Mapping[str, Flags]
    by_rater: Mapping[str, Flags]
    fired: NDArray[np.int64]
    """How many algorithms marked a piece, of how many that are judged there."""
    judged: NDArray[np.int64]
    marked: NDArray[np.int64]
    """How many raters marked it, of how many who rated it."""
    rated: NDArray[np.int64]
    inside: Flags
    """Whether it counts."""

    @classmethod
    def of(
        cls,
        predictions: Mapping[str, Array | LazyArray],
        masks: Mapping[str, Array | LazyArray],
        inside: ArrayLike | LazyArray | None,
    ) -> _Votes:
        """Of arrays, in memory or not."""
        arrays: list[Any] = [*predictions.values(), *masks.values()]
        arrays += [] if inside is None else [inside if is_lazy(inside) else np.asarray(inside) != 0]
        starts, stops, values = divide_runs([read_runs(_plain(array)) for array in arrays])
        marks, seen = [(v != 0) & (v != HIDDEN) for v in values], [v != HIDDEN for v in values]
        nobody, n = np.zeros(len(starts), np.int64), len(predictions)

        def count(flags: list[Flags]) -> Integers:
            return sum((each.astype(np.int64) for each in flags), nobody)

        whose = slice(n, n + len(masks))
        return cls(
            arrays[0].shape, starts, stops, dict(zip(predictions, marks, strict=False)),
            dict(zip(masks, marks[n:], strict=False)),
            count(marks[:n]), count(seen[:n]), count(marks[whose]), count(seen[whose]),
            np.ones(len(starts), bool) if inside is None else marks[-1],
        )  # fmt: skip

    def runs(self, pieces: NDArray[Any]) -> LabelRuns:
        """Some of the pieces, by their numbers or by flags."""
        starts = self.starts[pieces]
        return LabelRuns(self.shape, starts, self.stops[pieces], np.ones(len(starts), np.bool_))

    def parts(self, wanted: Flags) -> list[Integers]:
        """The numbers of the pieces of each connected part of what is wanted."""
        pieces = np.flatnonzero(wanted)
        if not len(pieces):
            return []
        joined = self.runs(pieces).join()
        owner = number_runs(joined).owner[np.searchsorted(joined.starts, self.starts[pieces], side="right") - 1]
        return np.split(pieces[np.argsort(owner, kind="stable")], np.cumsum(np.bincount(owner))[:-1])


def _describe(
    votes: _Votes, pieces: Integers, runs: LabelRuns, more: LabelRuns, spacing: Sequence[float] | None
) -> SecondLookPlace:
    point, depth = _deepest(runs, spacing)
    return SecondLookPlace(
        most=int(votes.fired[pieces].max()),
        area=runs.items,
        size=runs.items * math.prod(spacing) if spacing else Undefined(UNKNOWN_SIZE),
        box=tuple((edge.start, edge.stop) for edge in _box(runs)),
        point=point,
        depth=depth,
        adjoins=_touches(runs, more),
        algorithms=_shares(votes.by_algorithm, pieces, runs),
        raters=_shares(votes.by_rater, pieces, runs),
    )


def _plain(array: Any) -> Any:
    """An array whose rows runs can be read from."""
    return array if is_lazy(array) else np.ma.asanyarray(array)


def _shape(array: Any) -> tuple[int, ...]:
    return tuple(array.shape) if is_lazy(array) else np.shape(array)


def _exceeds(marked: NDArray[np.int64], rated: NDArray[np.int64], share: float) -> Flags:
    """Whether more than a share of those who rated a pixel marked it; 0.1 × 10 is meant to be 1."""
    return np.asarray(marked > share * rated + 1e-9)


def _places(runs: LabelRuns) -> tuple[Integers, ...]:
    """Where runs begin, axis by axis."""
    return tuple(np.unravel_index(runs.starts, runs.shape))


def _box(runs: LabelRuns) -> Box:
    *lead, column = _places(runs)
    sides = [slice(int(at.min()), int(at.max()) + 1) for at in lead]
    return (*sides, slice(int(column.min()), int((column + runs.lengths).max())))


def _deepest(runs: LabelRuns, spacing: Sequence[float] | None) -> tuple[tuple[int, ...], float]:
    """The pixel farthest from the edge and its distance; of several, the one nearest to the centre."""
    box = _box(runs)
    corner, sides = (
        np.array([edge.start for edge in box]),
        np.ones(len(box)) if spacing is None else np.asarray(spacing),
    )
    small = math.prod(edge.stop - edge.start for edge in box) <= DRAWN
    deep, depth = _deep_pixels(runs[box], spacing) if small else _search_deep(runs, sides)
    deep = deep + corner if small else deep
    apart = (deep - _centre(runs)) * sides
    return tuple(deep[(apart**2).sum(axis=1).argmin()].tolist()), depth


def _centre(runs: LabelRuns) -> NDArray[np.float64]:
    """The mean place of all pixels, from sums of whole numbers."""
    *lead, column = _places(runs)
    lengths = runs.lengths
    sums = [int((at * lengths).sum()) for at in lead]
    sums.append(int((column * lengths + lengths * (lengths - 1) // 2).sum()))
    return np.array(sums) / runs.items


def _deep_pixels(pixels: Flags, spacing: Sequence[float] | None) -> tuple[NDArray[np.int64], float]:
    """All pixels that are as far from the edge as any, and how far."""
    from scipy import ndimage

    far = ndimage.distance_transform_edt(np.pad(pixels, 1), sampling=spacing)
    return np.argwhere(far == far.max()) - 1, float(far.max())


def _search_deep(runs: LabelRuns, sides: NDArray[np.float64]) -> tuple[NDArray[np.int64], float]:
    """The same of a place in a large box: blocks that cannot hold such a pixel are left out, the others divided.

    The nearest pixel outside shares a side with one inside: those are searched.
    """
    from scipy.spatial import KDTree

    edge = _outline(runs)
    tree, box = KDTree(edge * sides), _box(runs)
    step = 1 << (max(edge.stop - edge.start for edge in box) - 1).bit_length()
    blocks = np.array([[edge.start for edge in box]])
    best = 0.0
    while step > 1:
        step //= 2
        blocks = (blocks[:, None] + step * np.array(list(product((0, 1), repeat=len(box))))).reshape(-1, len(box))
        # a pixel in the middle, where it is inside, gives a distance that is reached; no other is farther than that
        # and the way to it
        middle = blocks + (step - 1) // 2
        far = tree.query(middle * sides)[0]
        best = max(best, float(far[_contains(runs, middle)].max(initial=0.0)))
        reach = float(np.sqrt((((step - (step - 1) // 2 - 1) * sides) ** 2).sum()))
        blocks = blocks[far + reach >= best * (1 - 1e-12)]
    blocks = blocks[_contains(runs, blocks)]
    nearest = edge[tree.query(blocks * sides)[1]]
    far = np.sqrt((((blocks - nearest) * sides) ** 2).sum(axis=1))
    deep = blocks[far == far.max()]
    return deep[np.lexsort(deep.T[::-1])], float(far.max())


def _contains(runs: LabelRuns, places: NDArray[np.int64]) -> Flags:
    """Whether places lie in runs."""
    inside: Flags = np.all((places >= 0) & (places < runs.shape), axis=1)
    flat = np.ravel_multi_index(tuple(np.where(inside[:, None], places, 0).T), runs.shape)
    run = np.searchsorted(runs.starts, flat, side="right") - 1
    return np.asarray(inside & (run >= 0) & (flat < runs.stops[run]))


def _outline(runs: LabelRuns) -> NDArray[np.int64]:
    """The pixels outside that share a side with a pixel of the runs; beyond the border of the image, too."""
    shape = tuple(n + 2 for n in runs.shape)
    place = np.stack(_places(runs)) + 1
    starts = np.ravel_multi_index(tuple(place), shape)
    own = LabelRuns(shape, starts, starts + runs.lengths, runs.values).join()
    rest, parts = own.complement(), [own.starts - 1, own.stops]
    for stride in (math.prod(shape[axis + 1 :]) for axis in range(len(shape) - 1)):
        for step in (-stride, stride):
            moved = LabelRuns(shape, own.starts + step, own.stops + step, own.values).intersect(rest)
            parts.append(expand(moved.starts, moved.lengths))
    return np.stack(np.unravel_index(np.unique(np.concatenate(parts)), shape), axis=1) - 1


def _touches(runs: LabelRuns, other: LabelRuns) -> bool:
    """Whether any pixel of the runs has a neighbour in other runs, at a corner too."""
    width, rows = runs.shape[-1], runs.shape[:-1]
    *lead, column = _places(runs)
    first, last = np.maximum(column - 1, 0), np.minimum(column + runs.lengths + 1, width)
    for offset in product((-1, 0, 1), repeat=len(rows)):
        moved = [at + step for at, step in zip(lead, offset, strict=True)]
        inside = np.ones(len(column), bool)
        for at, n in zip(moved, rows, strict=True):
            inside &= (at >= 0) & (at < n)
        row = np.ravel_multi_index(moved, rows, mode="clip") if rows else 0
        low = np.searchsorted(other.stops, row * width + first, side="right")
        high = np.searchsorted(other.starts, row * width + last, side="left")
        if np.any((high > low) & inside):
            return True
    return False


def _shares(marks: Mapping[str, Flags], pieces: Integers, runs: LabelRuns) -> dict[str, float]:
    """Who marked some of a place, the largest share first."""
    lengths = runs.lengths
    shares = {name: int(lengths[own[pieces]].sum()) / runs.items for name, own in marks.items()}
    return {name: share for name, share in sorted(shares.items(), key=lambda item: -item[1]) if share}


def _check(
    predictions: Mapping[str, Array | LazyArray],
    masks: Mapping[str, Array | LazyArray],
    algorithms: int,
    raters: float,
    spacing: Sequence[float] | None,
    inside: ArrayLike | LazyArray | None,
) -> None:
    if algorithms < 1 or not 0 <= raters < 1:
        raise CallError(f"algorithms must be at least 1 and raters a share below 1; got {algorithms!r} and {raters!r}")
    if not masks:
        raise CallError("masks is empty; give those of the raters")
    shapes = {_shape(a) for a in (*predictions.values(), *masks.values())}
    shapes |= set() if inside is None else {_shape(inside)}
    if len(shapes) > 1:
        raise GridError(f"masks and predictions have one size; got {', '.join(map(str, sorted(shapes)))}")
    if spacing is not None and len(spacing) != len(next(iter(shapes))):
        raise CallError(f"spacing has one size an axis, {len(next(iter(shapes)))} in all; got {spacing!r}")

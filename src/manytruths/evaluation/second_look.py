"""A second look: places that several algorithms marked and few raters.

An algorithm that finds what most raters did not mark may be wrong, or the raters may have missed something. Where
several algorithms agree, the second is worth a look; shown to the raters again, such places improve the reference
standard itself.

A pixel belongs to a place where at least ``algorithms`` of the algorithms, and at least half of those judged there,
marked it, and at most a share ``raters`` of the raters who rated it. Places are connected, diagonals included.

Lampert TA, Stumpf A, Gançarski P. An empirical study into annotator agreement, ground truth estimation, and
algorithm evaluation. IEEE Trans Image Process 2016;25:2557–2572, 5.1. doi:10.1109/TIP.2016.2544703
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError, GridError
from ..core.undefined import Undefined

Array = NDArray[Any]
Flags = NDArray[np.bool_]
Box = tuple[slice, ...]

UNKNOWN_SIZE = "pixel_size_unknown"


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
    predictions: Mapping[str, Array],
    masks: Mapping[str, Array],
    *,
    algorithms: int = 2,
    raters: float = 0.25,
    least: int = 5,
    spacing: Sequence[float] | None = None,
    inside: ArrayLike | None = None,
) -> SecondLook:
    """Find the places of a case that deserve a second look, in any number of dimensions.

    Parameters
    ----------
    predictions, masks : mapping of str to array
        By algorithm and by rater: marked where not 0. Where a masked array is masked, it is not judged or not rated.
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
    _check(predictions, masks, algorithms, raters, spacing, inside)
    if len(predictions) < algorithms:
        return SecondLook((), 0, f"a second look needs {algorithms} algorithms that predicted the case; "
                                 f"there {'is' if len(predictions) == 1 else 'are'} {len(predictions)}")  # fmt: skip
    from scipy import ndimage

    candidates = candidate_pixels(predictions, masks, algorithms=algorithms, raters=raters, inside=inside)
    parts, _ = ndimage.label(candidates, _all_around(candidates.ndim))
    boxes = ndimage.find_objects(parts)
    areas = np.bincount(parts.ravel(), minlength=len(boxes) + 1)[1:].tolist()
    fired, more = _votes(predictions)[0], _exceeds(*_votes(masks), raters)

    def describe(pixels: Flags, box: Box, area: int) -> SecondLookPlace:
        point, depth = _deepest(pixels, spacing)
        return SecondLookPlace(
            most=int(fired[box][pixels].max()),
            area=area,
            size=area * math.prod(spacing) if spacing else Undefined(UNKNOWN_SIZE),
            box=tuple((edge.start, edge.stop) for edge in box),
            point=tuple(p + edge.start for p, edge in zip(point, box, strict=True)),
            depth=depth,
            adjoins=_adjoins(pixels, box, more),
            algorithms=_shares(predictions, pixels, box),
            raters=_shares(masks, pixels, box),
        )

    numbered = enumerate(zip(boxes, areas, strict=True), start=1)
    places = [describe(parts[box] == number, box, area) for number, (box, area) in numbered if area >= least]
    return SecondLook(tuple(sorted(places, key=lambda place: place.order)), len(boxes) - len(places))


def candidate_pixels(
    predictions: Mapping[str, Array],
    masks: Mapping[str, Array],
    *,
    algorithms: int = 2,
    raters: float = 0.25,
    inside: ArrayLike | None = None,
) -> Flags:
    """Where at least so many algorithms, and half of those judged, marked and at most this share of raters."""
    fired, judged = _votes(predictions)
    marked, rated = _votes(masks)
    few = (rated > 0) & ~_exceeds(marked, rated, raters)
    wanted = (fired >= algorithms) & (2 * fired >= judged) & few
    return np.asarray(wanted if inside is None else wanted & (np.asarray(inside) != 0))


def place_pixels(wanted: Flags, place: SecondLookPlace) -> Flags:
    """The pixels of one place, from the map of :func:`candidate_pixels`, within the place's box."""
    from scipy import ndimage

    box = tuple(slice(*ends) for ends in place.box)
    parts, _ = ndimage.label(wanted[box], _all_around(wanted.ndim))
    here = tuple(p - start for p, (start, _) in zip(place.point, place.box, strict=True))
    return np.asarray(parts == parts[here])


def _votes(arrays: Mapping[str, Array]) -> tuple[NDArray[np.int16], NDArray[np.int16]]:
    """How many marked each pixel, and how many could."""
    shape = next(iter(arrays.values())).shape
    marked, judged = np.zeros((2, *shape), np.int16)
    for array in arrays.values():
        marked += _marks(array)
        judged += ~np.ma.getmaskarray(array) if np.ma.isMaskedArray(array) else np.int16(1)
    return marked, judged


def _marks(array: Array) -> Flags:
    return np.asarray(np.ma.filled(array, 0) != 0)


def _all_around(axes: int) -> Flags:
    return np.ones((3,) * axes, bool)


def _exceeds(marked: NDArray[np.int16], rated: NDArray[np.int16], share: float) -> Flags:
    """Whether more than a share of those who rated a pixel marked it; 0.1 × 10 is meant to be 1."""
    return np.asarray(marked > share * rated + 1e-9)


def _deepest(pixels: Flags, spacing: Sequence[float] | None) -> tuple[tuple[int, ...], float]:
    """The pixel farthest from the edge and its distance; of several, the one nearest to the centre."""
    from scipy import ndimage

    far = ndimage.distance_transform_edt(np.pad(pixels, 1), sampling=spacing)
    deep = np.argwhere(far == far.max()) - 1
    apart = (deep - np.argwhere(pixels).mean(axis=0)) * (1.0 if spacing is None else np.asarray(spacing))
    return tuple(deep[(apart**2).sum(axis=1).argmin()].tolist()), float(far.max())


def _adjoins(pixels: Flags, box: Box, more: Flags) -> bool:
    """Whether a neighbour of a place was marked by more raters than a place may have."""
    from scipy import ndimage

    wide = tuple(slice(max(0, e.start - 1), e.stop + 1) for e in box)
    near = more[wide]
    pads = [(e.start - w.start, n - (e.stop - w.start)) for e, w, n in zip(box, wide, near.shape, strict=True)]
    return bool(near[ndimage.binary_dilation(np.pad(pixels, pads), _all_around(pixels.ndim))].any())


def _shares(arrays: Mapping[str, Array], pixels: Flags, box: Box) -> dict[str, float]:
    """Who marked some of a place, the largest share first."""
    shares = {name: float(_marks(array[box])[pixels].mean()) for name, array in arrays.items()}
    return {name: share for name, share in sorted(shares.items(), key=lambda item: -item[1]) if share}


def _check(
    predictions: Mapping[str, Array], masks: Mapping[str, Array], algorithms: int, raters: float,
    spacing: Sequence[float] | None, inside: ArrayLike | None,
) -> None:  # fmt: skip
    if algorithms < 1 or not 0 <= raters < 1:
        raise CallError(f"algorithms must be at least 1 and raters a share below 1; got {algorithms!r} and {raters!r}")
    if not masks:
        raise CallError("masks is empty; give those of the raters")
    shapes = {np.shape(a) for a in (*predictions.values(), *masks.values())}
    shapes |= set() if inside is None else {np.shape(inside)}
    if len(shapes) > 1:
        raise GridError(f"masks and predictions have one size; got {', '.join(map(str, sorted(shapes)))}")
    if spacing is not None and len(spacing) != len(next(iter(shapes))):
        raise CallError(f"spacing has one size an axis, {len(next(iter(shapes)))} in all; got {spacing!r}")

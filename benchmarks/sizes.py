"""RECIST axes of many lesions against brute force over the points of their borders."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from manytruths.shape.diameters import measure_axes

from .measuring import Result, at_least, side_by_side

Mask = NDArray[np.bool_]
Floats = NDArray[np.float64]
SPACING = (3.0, 0.8, 0.8)
CONNECTED = np.ones((3, 3, 3))


def lesions(shape: tuple[int, int, int] = (128, 256, 256), count: int = 250) -> Mask:
    """Ellipsoids with ragged borders, apart from each other."""
    rng, mask = np.random.default_rng(0), np.zeros(shape, np.bool_)
    centres = [(z, y, x) for z in range(7, 128, 14) for y in range(22, 236, 43) for x in range(22, 250, 43)]
    for centre in centres[:count]:
        radii = rng.uniform((3, 8, 8), (6, 20, 20))
        reach = tuple(slice(max(0, c - 21), min(n, c + 22)) for c, n in zip(centre, shape, strict=True))
        z, y, x = np.ogrid[reach]
        steps = (
            ((z - centre[0]) / radii[0]) ** 2 + ((y - centre[1]) / radii[1]) ** 2 + ((x - centre[2]) / radii[2]) ** 2
        )
        mask[reach] |= steps < 1 + 0.1 * np.sin(y / 2) * np.sin(x / 3)
    return mask


def by_us(mask: Mask) -> Floats:
    found = measure_axes(mask, SPACING)
    axes = found.find_axes(np.arange(found.count))
    return np.array([(each.long_axis, each.short_axis) for each in axes])


def by_brute_force(mask: Mask) -> Floats:
    """Lesion by lesion in its box, slice by slice, piece by piece: all pairs of points of the border."""
    numbers, count = ndimage.label(mask, CONNECTED)
    result = np.zeros((count, 2))
    for k, box in enumerate(ndimage.find_objects(numbers)):
        own = numbers[box] == k + 1
        found = [_axes(piece) for plane in own for piece in _pieces(plane)]
        longest = max(length for length, _, _ in found)
        kept = [(piece, pairs) for length, piece, pairs in found if length >= longest * (1 - 1e-12)]
        short = max(_perpendicular(piece, *pair) for piece, pairs in kept for pair in pairs)
        result[k] = math.sqrt(longest), short
    return result


def _pieces(plane: Mask) -> Iterator[Mask]:
    numbers, count = ndimage.label(plane, np.ones((3, 3)))
    yield from (np.pad(numbers == k + 1, 1) for k in range(count))


def _border(piece: Mask) -> Floats:
    """Midpoints between marked and other pixels, in mm."""
    down, along = np.argwhere(piece[1:] != piece[:-1]), np.argwhere(piece[:, 1:] != piece[:, :-1])
    return np.concatenate([down + np.array([0.5, 0]), along + np.array([0, 0.5])]) * SPACING[1:]


def _axes(piece: Mask) -> tuple[float, Mask, list[tuple[Floats, Floats]]]:
    points = _border(piece)
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    pairs = np.argwhere(np.triu(squares >= squares.max() * (1 - 1e-12)))
    return float(squares.max()), piece, [(points[a], points[b]) for a, b in pairs]


def _perpendicular(piece: Mask, a: Floats, b: Floats) -> float:
    """All lines through points of the border against all sides of the outline."""
    from skimage.measure import find_contours

    unit = (b - a) / math.dist(a, b)
    outlines = [line * SPACING[1:] for line in find_contours(piece.astype(float), 0.5, fully_connected="high")]
    sides = np.concatenate([np.stack([line[:-1], line[1:]], axis=1) for line in outlines])
    along, across = sides @ unit, sides @ np.array([-unit[1], unit[0]])
    order = np.argsort(along, axis=1)
    along, across = np.take_along_axis(along, order, 1), np.take_along_axis(across, order, 1)
    t = along.reshape(-1)[:, None]
    met = (t >= along[:, 0] - 1e-9) & (t <= along[:, 1] + 1e-9)
    span = np.maximum(along[:, 1] - along[:, 0], 1e-12)
    height = across[:, 0] + (across[:, 1] - across[:, 0]) * np.clip((t - along[:, 0]) / span, 0, 1)
    ends = [height, np.where(span > 1e-9, height, across[:, 0]), np.where(span > 1e-9, height, across[:, 1])]
    upper = np.max([np.where(met, each, -np.inf).max(axis=1) for each in ends], axis=0)
    lower = np.min([np.where(met, each, np.inf).min(axis=1) for each in ends], axis=0)
    return float((upper - lower).max())


def recist_axes() -> Iterator[Result]:
    mask = lesions()
    ours, brute = by_us(mask), by_brute_force(mask)
    assert len(ours) == 250, "there are other lesions"
    assert np.allclose(ours, brute, rtol=1e-9, atol=0), "axes differ from those of brute force"
    quick, slow = side_by_side(lambda: by_us(mask), lambda: by_brute_force(mask), 3)
    times = f"{quick * 1e3:.0f} ms, brute force {slow:.2f} s"
    yield at_least("RECIST axes of 250 lesions, 128 × 256²", "brute force over border points", slow / quick, 50, times)


JOBS: dict[str, Callable[[], Iterator[Result]]] = {"recist_axes": recist_axes}

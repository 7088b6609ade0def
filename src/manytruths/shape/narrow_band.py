"""A contour held as the zero level of a function φ, and moved in a narrow band around it.

φ is positive inside; near the contour it is the distance to it. To lower E = −Σ_inside r + λ L, with L the length of
the contour (in space, its area), a step does ::

    φ ← φ + τ h(φ) s        s = (r + λκ) / max(λ, 1), cut to [−1, 1]        κ = ∇·(∇φ / |∇φ|)
    φ ← φ − ϱ φ/√(φ² + 1) (|∇φ| − 1)

h is 1 at the contour and falls as a cosine to 0 at a distance of 1.5: what is further off does not move. Cutting s
keeps its sign, and so the places where the contour rests. The second line, upwind, keeps φ a distance. The band reaches
two items beyond what moves; outside of it φ is 3 or −3, and stays so. Differences across the border of the domain are
0: the contour ends there at no cost. Lengths are in sides of an item, in units that make its volume 1.

Osher S, Sethian JA. J Comput Phys 1988;79:12–49. doi:10.1016/0021-9991(88)90002-2. Sussman M, Smereka P, Osher S. J
Comput Phys 1994;114:146–159. doi:10.1006/jcph.1994.1155. Chan TF, Vese LA. IEEE Trans Image Process 2001;10:266–277.
doi:10.1109/83.902291
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import CallError

Values = NDArray[np.float64]
Flags = NDArray[np.bool_]
Items = NDArray[np.intp]

REACH = 1.5
"""How far from the contour φ still moves."""
FAR = 3.0
"""|φ| outside of the band."""
MARGIN = 2
"""Items of the band beyond what moves: one for slopes, one for curvature."""
PULL = 0.3
"""ϱ: how fast φ becomes a distance again; from ½ on it would oscillate."""
FLAT = 1e-12
"""A slope below this has no direction."""


def item_sides(spacing: Sequence[float] | None, ndim: int) -> Values:
    """The sides of an item in units that make its volume 1.

    >>> item_sides((4, 1), 2)
    array([2. , 0.5])
    """
    sides = np.ones(ndim) if spacing is None else np.asarray(spacing, np.float64)
    if sides.shape != (ndim,) or not (np.isfinite(sides).all() and (sides > 0).all()):
        raise CallError(f"spacing has one positive size an axis, {ndim} in all; got {spacing!r}")
    return np.asarray(sides / np.exp(np.log(sides).mean()))


def outline_length(mask: ArrayLike, domain: ArrayLike, spacing: Sequence[float] | None = None) -> float:
    """L = Σ |∇ mask|, by forward differences inside the domain: what :meth:`Contour.length` measures in its band.

    >>> outline_length([[0, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 0]], np.ones((3, 4)))
    5.414213562373095
    """
    inside, counted = np.asarray(mask, bool), np.asarray(domain, bool)
    squares = np.zeros(inside.shape)
    for axis, side in enumerate(item_sides(spacing, inside.ndim)):
        here, after = _pairs(inside.ndim, axis)
        squares[here] += ((inside[here] != inside[after]) & counted[here] & counted[after]) / side**2
    return float(np.sqrt(squares).sum())


def _pairs(ndim: int, axis: int) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """All items but the last along an axis, and all but the first."""
    whole = (slice(None),) * axis
    rest = (slice(None),) * (ndim - axis - 1)
    return (*whole, slice(None, -1), *rest), (*whole, slice(1, None), *rest)


class Contour:
    """φ over a domain of any shape and number of dimensions, and the band around its zero level.

    >>> wanted = np.zeros((9, 9), bool)
    >>> wanted[2:7, 1:8] = True
    >>> start = np.zeros((9, 9), bool)
    >>> start[4, 4] = True
    >>> contour = Contour(start, np.ones((9, 9), bool))
    >>> for _ in range(40):
    ...     contour.follow()
    ...     contour.step(np.where(wanted.ravel()[contour.band], 5.0, -5.0), penalty=1.0)
    >>> bool((contour.hard == wanted).all())
    True
    """

    def __init__(self, start: ArrayLike, domain: ArrayLike, spacing: Sequence[float] | None = None) -> None:
        mask, counted = np.asarray(start, bool), np.asarray(domain, bool)
        self.sides = item_sides(spacing, mask.ndim)
        self.shape, self._padded = mask.shape, tuple(n + 2 for n in mask.shape)
        self._jumps = [int(np.prod(self._padded[axis + 1 :])) for axis in range(mask.ndim)]
        self._time = float(self.sides.min() ** 2 / (2 * mask.ndim))
        self._domain = np.pad(counted, 1).ravel()
        self._phi = np.pad(_distance(mask & counted, self.sides), 1, constant_values=-FAR).ravel()
        self._slot = np.full(self._phi.size, -1, np.intp)
        self._enter(np.flatnonzero(self._domain & (np.abs(self._phi) < FAR)))
        self.follow()

    @property
    def phi(self) -> Values:
        """φ as a map."""
        return self._map(self._phi).copy()

    @property
    def hard(self) -> Flags:
        """What lies inside."""
        return self._map((self._phi > 0) & self._domain)

    @property
    def band(self) -> Items:
        """The items that may change now: their positions in the flattened map."""
        each = np.unravel_index(self._band, self._padded)
        return np.ravel_multi_index([position - 1 for position in each], self.shape)

    def length(self) -> float:
        """L of what lies inside."""
        slopes = self._slopes((self._phi[self._band] > 0).astype(np.float64))
        return float(_size(slopes).sum())

    def step(self, pressure: Values, penalty: float) -> None:
        """Move by r (``pressure``, of every item of the band) and λ (``penalty``)."""
        phi = self._phi[self._band]
        speed = np.clip((pressure + penalty * self._curvature(phi)) / max(penalty, 1.0), -1, 1)
        moving = 0.5 + 0.5 * np.cos(np.pi * np.minimum(np.abs(phi) / REACH, 1))
        self._phi[self._band] = np.clip(self._pulled(phi + self._time * moving * speed), -FAR, FAR)

    def follow(self) -> None:
        """Lay the band around the contour where it is now; what leaves it becomes 3 or −3."""
        phi, old = self._phi[self._band], self._band
        crossed = [phi * phi[near] <= 0 for near in (*self._after, *self._before)]
        layer = old[np.logical_or.reduce([np.abs(phi) < REACH, *crossed])]
        held = np.zeros(self._phi.size, bool)
        held[layer] = True
        for _ in range(MARGIN):
            beside = np.concatenate([layer + jump for step in self._jumps for jump in (step, -step)])
            layer = beside[self._domain[beside] & ~held[beside]]
            held[layer] = True
        gone = old[~held[old]]
        self._phi[gone] = np.where(self._phi[gone] > 0, FAR, -FAR)
        self._enter(np.flatnonzero(held))

    def _enter(self, band: Items) -> None:
        """Find the neighbours of each item of the band: itself, where there is none."""
        self._band, own = band, np.arange(len(band))
        self._slot[band] = own
        after = [self._slot[band + jump] for jump in self._jumps]
        before = [self._slot[band - jump] for jump in self._jumps]
        self._slot[band] = -1
        self._after = [np.where(slot < 0, own, slot) for slot in after]
        self._before = [np.where(slot < 0, own, slot) for slot in before]
        self._flow = [np.where(slot < 0, len(band), slot) for slot in before]

    def _slopes(self, values: Values) -> list[Values]:
        return [(values.take(after) - values) / side for after, side in zip(self._after, self.sides, strict=True)]

    def _curvature(self, phi: Values) -> Values:
        """κ: negative where the inside bulges."""
        slopes = self._slopes(phi)
        steep = np.maximum(_size(slopes), FLAT)
        total = np.zeros_like(phi)
        for slope, before, side in zip(slopes, self._flow, self.sides, strict=True):
            flow = np.append(slope / steep, 0.0)
            total += (flow[:-1] - flow.take(before)) / side
        return total

    def _pulled(self, phi: Values) -> Values:
        """φ nearer to a distance; slopes are taken on the side of the contour."""
        sign = np.where(phi > 0, 1.0, -1.0)
        height, squares = np.abs(phi), np.zeros_like(phi)
        for after, before, side in zip(self._after, self._before, self.sides, strict=True):
            lower = np.minimum(sign * phi.take(after), sign * phi.take(before))
            squares += (np.maximum(height - lower, 0) / side) ** 2
        return np.asarray(phi - PULL * self.sides.min() * phi / np.sqrt(phi**2 + 1) * (np.sqrt(squares) - 1))

    def _map(self, flat: NDArray[Any]) -> NDArray[Any]:
        return flat.reshape(self._padded)[(slice(1, -1),) * len(self.shape)]


def _size(slopes: list[Values]) -> Values:
    return np.asarray(np.sqrt(np.add.reduce([slope * slope for slope in slopes])))


def _distance(mask: Flags, sides: Values) -> Values:
    """The distance to the border of a mask, which runs between items; positive inside."""
    from scipy import ndimage

    if mask.all() or not mask.any():
        return np.where(mask, FAR, -FAR)
    half = sides.min() / 2
    inner, outer = (ndimage.distance_transform_edt(part, sides) for part in (mask, ~mask))
    return np.asarray(np.clip(np.where(mask, inner - half, half - outer), -FAR, FAR))

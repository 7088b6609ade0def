"""Masks that fit each other only when one is turned: saved in another orientation, rather than another opinion."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import permutations, product

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import GridError

UNLIKE, ALIKE = 0.3, 0.5
"""Dice below which two masks do not fit, and from which they do."""
SAME_SIZE = 0.8
"""The smaller of two sizes over the larger, from which they may be the same thing."""

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Turn:
    """How a mask is turned to fit another, and the Dice before and after."""

    order: tuple[int, ...]
    """Which axis takes the place of each."""
    flipped: tuple[int, ...]
    """Axes that run backwards then."""
    before: float
    after: float

    def __str__(self) -> str:
        swapped = [str(axis + 1) for axis, other in enumerate(self.order) if axis != other]
        changes = [f"axes {' and '.join(swapped)} are swapped"] if swapped else []
        if self.flipped:
            axes = " and ".join(str(axis + 1) for axis in self.flipped)
            changes.append(f"axis {axes} is flipped" if len(self.flipped) == 1 else f"axes {axes} are flipped")
        return " and ".join(changes)


def find_turn(mask: ArrayLike, other: ArrayLike) -> Turn | None:
    """How ``mask`` must be turned to fit ``other``; None where it fits as it is, or no turn makes it fit.

    Flips of every axis and swaps of axes of the same length are tried, where both masks are of about the same size.

    >>> a = np.zeros((8, 8), bool)
    >>> a[1:3, 1:4] = True
    >>> print(find_turn(a[::-1], a))
    axis 1 is flipped
    """
    a, b = np.asarray(mask) != 0, np.asarray(other) != 0
    if a.shape != b.shape:
        raise GridError(f"mask has shape {a.shape}, but other has {b.shape}")
    sizes = int(np.count_nonzero(a)), int(np.count_nonzero(b))
    if not min(sizes) or min(sizes) < SAME_SIZE * max(sizes):
        return None
    before = _dice(a, b, sum(sizes))
    if before >= UNLIKE:
        return None
    best = max((Turn(*way, before, _dice(_apply(a, *way), b, sum(sizes))) for way in _ways(a.shape)), key=_after)
    return best if best.after >= ALIKE else None


def _after(turn: Turn) -> tuple[float, int]:
    """The best fit, by the fewest changes."""
    return turn.after, -len(turn.flipped) - sum(axis != other for axis, other in enumerate(turn.order))


def _ways(shape: tuple[int, ...]) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    for order in permutations(range(len(shape))):
        if tuple(shape[axis] for axis in order) == shape:
            for back in product((False, True), repeat=len(shape)):
                yield order, tuple(axis for axis, flip in enumerate(back) if flip)


def _apply(mask: Mask, order: tuple[int, ...], flipped: tuple[int, ...]) -> Mask:
    return np.flip(mask.transpose(order), flipped)


def _dice(a: Mask, b: Mask, size: int) -> float:
    return float(2 * np.count_nonzero(a & b) / size)

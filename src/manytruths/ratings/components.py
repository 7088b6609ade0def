"""The connected components of what any rater marked, and each rater's part of every one."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .ratings import MISSING, Values

Flags = NDArray[np.bool_]
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Components:
    """One row a component, in the order in which they are met in the array."""

    sizes: Whole
    places: Values
    """(components, axes) mean positions."""
    codes: NDArray[np.int16]
    """(components, raters): 1 found, 0 missed, −1 where the rater rated nothing of it."""
    dice: Values
    """The mean over every two who found it; nan where there are no two."""
    blobs: Whole
    """(components, raters) pieces."""
    specks: int
    """Components that were too small, and left out."""


def components(
    marked: Flags, rated: Flags | None, connectivity: int, least: int = 1, overlap: float | None = None
) -> Components:
    """Of (raters, …) markings; ``rated`` likewise, or None where everybody rated everything."""
    from scipy import ndimage

    box = _box(np.asarray(marked.any(axis=0)))
    inside = marked[(slice(None), *box)]
    structure = ndimage.generate_binary_structure(inside.ndim - 1, connectivity)
    parts, count = ndimage.label(inside.any(axis=0), structure)
    where = np.flatnonzero(parts)
    owner = parts.reshape(-1)[where] - 1
    own = inside.reshape(len(inside), -1)[:, where]
    seen = None if rated is None else rated[(slice(None), *box)].reshape(len(inside), -1)[:, where]
    sizes = np.bincount(owner, minlength=count)
    drawn = _counts(owner, own, count)
    looked = np.repeat(sizes[None], len(own), axis=0) if seen is None else _counts(owner, seen, count)
    codes = _codes(drawn, looked, overlap)
    blobs = np.stack([_pieces(m, ndimage.label(m, structure), parts, count) for m in inside], axis=1)
    keep = sizes >= least
    return Components(
        sizes[keep],
        _places(where, owner, parts.shape, sizes, [edge.start for edge in box])[keep],
        codes.T[keep],
        _dice(owner, own, seen, drawn, codes == 1)[keep],
        blobs[keep],
        int((~keep).sum()),
    )


def _box(union: Flags) -> tuple[slice, ...]:
    """The smallest box around what is marked: most images are mostly empty."""
    axes = range(union.ndim)
    lines = [np.flatnonzero(union.any(axis=tuple(a for a in axes if a != axis))) for axis in axes]
    return tuple(slice(int(line[0]), int(line[-1]) + 1) if len(line) else slice(0, 0) for line in lines)


def _counts(owner: NDArray[Any], flags: Flags, count: int) -> Whole:
    """(raters, components) items."""
    return np.stack([np.bincount(owner[row], minlength=count) for row in flags])


def _codes(drawn: Whole, looked: Whole, overlap: float | None) -> NDArray[np.int16]:
    share = np.divide(drawn, looked, out=np.zeros(drawn.shape), where=looked > 0)
    found = drawn > 0 if overlap is None else share >= overlap
    return np.where(looked > 0, found, MISSING).astype(np.int16)


def _pieces(mask: Flags, labelled: tuple[NDArray[Any], int], parts: NDArray[Any], count: int) -> Whole:
    """How many pieces of one rater lie in each component: a piece lies in one of them."""
    pieces, found = labelled
    home = np.zeros(found + 1, np.intp)
    home[pieces[mask]] = parts[mask]
    return np.bincount(home[1:], minlength=count + 1)[1:]


def _places(
    where: NDArray[np.intp], owner: NDArray[Any], shape: tuple[int, ...], sizes: Whole, corner: list[int]
) -> Values:
    """Mean positions."""
    along = np.unravel_index(where, shape)
    sums = [np.bincount(owner, position, len(sizes)) for position in along]
    return np.stack(sums, axis=1) / sizes[:, None] + corner


def _dice(owner: NDArray[Any], own: Flags, seen: Flags | None, drawn: Whole, found: Flags) -> Values:
    """The mean over every two raters who found a component of their Dice within it, on what both rated."""
    total, pairs = np.zeros(drawn.shape[1]), np.zeros(drawn.shape[1], np.int64)
    for i, j in combinations(range(len(own)), 2):
        both = np.bincount(owner[own[i] & own[j]], minlength=len(total))
        if seen is None:
            either = drawn[i] + drawn[j]
        else:
            either = _counts(owner, np.stack([own[i] & seen[j], own[j] & seen[i]]), len(total)).sum(axis=0)
        met = found[i] & found[j] & (either > 0)
        total[met] += 2 * both[met] / either[met]
        pairs += met
    return np.asarray(np.divide(total, pairs, out=np.full(len(total), np.nan), where=pairs > 0))

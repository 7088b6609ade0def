"""Masks as bits, 64 pixels in a word: neighbours of pixels, overlaps after a mask is moved; and masks as few bytes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Words = NDArray[np.uint64]

_ONE = np.uint64(1)
_LAST = np.uint64(63)
_ROWS = 255
"""Rows of marks that can be added up in a byte."""


def _pack(masks: Sequence[Mask]) -> Words:
    """64 pixels of the last axis in a word, the first in its lowest bit; (masks, ...)."""
    shape = masks[0].shape
    bits = np.zeros((len(masks), *shape[:-1], 8 * math.ceil(shape[-1] / 64)), np.uint8)
    for packed, mask in zip(bits, masks, strict=True):
        packed[..., : math.ceil(shape[-1] / 8)] = np.packbits(mask, axis=-1, bitorder="little")
    return bits.view("<u8").astype(np.uint64, copy=False)


def _bounds(words: Words) -> tuple[slice, ...]:
    """Where along each axis any mask of a stack marks anything."""
    used = np.bitwise_or.reduce(words, axis=0) != 0
    bounds = []
    for axis in range(used.ndim):
        places = np.flatnonzero(used.any(axis=tuple(k for k in range(used.ndim) if k != axis)))
        bounds.append(slice(int(places[0]), int(places[-1]) + 1) if len(places) else slice(0, 0))
    return tuple(bounds)


def _beside(words: Words) -> tuple[Words, Words]:
    """For every pixel, its neighbours before and after along the last axis."""
    before, after = words << _ONE, words >> _ONE
    before[..., 1:] |= words[..., :-1] >> _LAST
    after[..., :-1] |= words[..., 1:] << _LAST
    return before, after


def _moved(words: Words, axis: int) -> tuple[Words, Words]:
    """The same along another axis."""
    before, after = np.zeros_like(words), np.zeros_like(words)
    first = (slice(None),) * axis
    before[(*first, slice(1, None))] = words[(*first, slice(None, -1))]
    after[(*first, slice(None, -1))] = words[(*first, slice(1, None))]
    return before, after


def neighbours(words: Words) -> Words:
    """Pixels with a marked neighbour, diagonal ones too; of a stack of masks, each by itself."""
    before, after = _beside(words)
    beside = before | after
    whole = beside | words
    for axis in range(1, words.ndim - 1):
        before, after = _moved(whole, axis)
        beside |= before
        beside |= after
        whole = whole | before | after
    return beside


def between(words: Words) -> Words:
    """Pixels between marked ones along every axis; of a stack of masks, each by itself."""
    before, after = _beside(words)
    around = before & after
    for axis in range(1, words.ndim - 1):
        before, after = _moved(words, axis)
        around &= before
        around &= after
    return around


@dataclass(frozen=True, eq=False)
class PackedMasks:
    """Masks of one case in memory order, as bits."""

    masks: Sequence[Mask]
    whole: Words
    words: Words
    """Cut to where any of the masks marks anything."""
    bounds: tuple[slice, ...]
    """Where these lie along each axis; along the last one in words."""
    backwards: bool
    """Whether the memory order is that of the axes from the last to the first."""

    @classmethod
    def of(cls, masks: Sequence[Any]) -> PackedMasks | None:
        """None where some are no arrays, or of another memory order than others."""
        if not all(isinstance(mask, np.ndarray) for mask in masks):
            return None
        backwards = not all(mask.flags.c_contiguous for mask in masks)
        ordered = [mask.T if backwards else mask for mask in masks]
        if not all(mask.flags.c_contiguous for mask in ordered):
            return None
        whole = _pack(ordered)
        bounds = _bounds(whole)
        return cls(ordered, whole, whole[(slice(None), *bounds)], bounds, backwards)

    def profiles(self) -> list[Floats]:
        """Marked pixels at each place along each axis, (masks, length)."""
        counts = np.bitwise_count(self.words).sum(axis=-1, dtype=np.int64)
        found, lead = [], range(1, counts.ndim)
        for axis, bounds in zip(lead, self.bounds, strict=False):
            profiles = np.zeros((len(self.masks), self.masks[0].shape[axis - 1]))
            profiles[:, bounds] = counts.sum(axis=tuple(k for k in lead if k != axis))
            found.append(profiles)
        found.append(np.stack([_add_rows(mask[self.bounds[:-1][:1]]) for mask in self.masks]))
        return found[::-1] if self.backwards else found

    def shifted_overlaps(self, i: int, others: Sequence[int], offset: Sequence[int]) -> list[int]:
        """Pixels that a mask marks together with each of others after it is moved by whole pixels."""
        *lead, last = offset[::-1] if self.backwards else offset
        mine, theirs = windows(self.words.shape[1:-1], lead)
        moved = _move_bits(self.words[i][mine], last)
        both = self.words[list(others)][(slice(None), *theirs)] & moved
        counts: list[int] = np.bitwise_count(both).sum(axis=tuple(range(1, both.ndim)), dtype=np.int64).tolist()
        return counts


def _add_rows(mask: Mask) -> Floats:
    """How often each place of the last axis is marked: in bytes, which are added many at a time."""
    rows = mask.reshape(-1, mask.shape[-1]).view(np.uint8)
    total = np.zeros(mask.shape[-1])
    for start in range(0, len(rows), _ROWS):
        total += np.add.reduce(rows[start : start + _ROWS], axis=0, dtype=np.uint8)
    return total


def _move_bits(words: Words, step: int) -> Words:
    """Marks moved along the last axis; what leaves the words is lost."""
    whole, rest = divmod(step, 64)
    moved = _move_words(words, whole)
    if not rest:
        return moved
    return (moved << np.uint64(rest)) | (_move_words(words, whole + 1) >> np.uint64(64 - rest))


def _move_words(words: Words, step: int) -> Words:
    moved = np.zeros_like(words)
    (mine,), (theirs,) = windows(words.shape[-1:], [step])
    moved[..., theirs] = words[..., mine]
    return moved


def windows(shape: Sequence[int], offset: Sequence[int]) -> tuple[tuple[slice, ...], tuple[slice, ...]]:
    """What stays in the image when a mask is moved, and where it lies then."""
    pairs = [(min(abs(d), n), d > 0, n) for d, n in zip(offset, shape, strict=True)]
    mine = tuple(slice(0, n - d) if up else slice(d, n) for d, up, n in pairs)
    theirs = tuple(slice(d, n) if up else slice(0, n - d) for d, up, n in pairs)
    return mine, theirs


# -- a mask as few bytes -----------------------------------------------------------------------------

_FEW = 1 / 16
"""Changes between marked and unmarked, over pixels, up to which their distances take fewer bytes than bits."""


def compress_mask(mask: Mask) -> bytes:
    """A mask as a few bytes: lengths of its runs, each less that of the row before it, or its bits.

    >>> mask = np.eye(100, dtype=bool)
    >>> len(compress_mask(mask)) < 20, bool((decompress_mask(compress_mask(mask), mask.shape) == mask).all())
    (True, True)
    """
    flat = mask.ravel()
    ends = np.flatnonzero(flat[1:] != flat[:-1]) + 1
    if flat[:1].any():
        ends = np.concatenate([[0], ends])
    if len(ends) > _FEW * flat.size:
        return b"." + zlib.compress(np.packbits(flat).tobytes(), 1)
    steps = np.diff(ends, prepend=0)
    # of smooth outlines these are about 0
    steps[2:] -= steps[:-2].copy()
    kind = np.min_scalar_type(-1 - int(abs(steps).max(initial=0)))
    return kind.char.encode() + zlib.compress(steps.astype(kind).tobytes(), 1)


def decompress_mask(packed: bytes, shape: Sequence[int]) -> Mask:
    """The mask that :func:`compress_mask` was given."""
    kind, content = packed[:1], zlib.decompress(packed[1:])
    size = math.prod(shape)
    if kind == b".":
        return np.unpackbits(np.frombuffer(content, np.uint8), count=size).astype(bool).reshape(shape)
    steps = np.frombuffer(content, kind.decode()).astype(np.int64)
    for start in (0, 1):
        steps[start::2] = steps[start::2].cumsum()
    changes = np.zeros(size, bool)
    changes[steps.cumsum()] = True
    return np.asarray(np.logical_xor.accumulate(changes).reshape(shape))

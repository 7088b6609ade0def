"""Run lengths, as tools write masks: COCO's, packed or not, and CVAT's."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import FormatError

Lengths = NDArray[np.int64]


def filled(lengths: ArrayLike, size: int) -> NDArray[np.bool_]:
    """(size) pixels: so many out, so many in, and so on; they must be just as many as there are."""
    runs = np.asarray(lengths)
    if runs.ndim != 1 or (runs.size and runs.dtype.kind not in "iu"):
        raise FormatError("its run lengths are no whole numbers; export it again")
    runs = runs.astype(np.int64)
    if (runs < 0).any() or (runs > size).any() or int(runs.sum()) != size:
        raise FormatError(f"its run lengths hold {int(runs.sum())} pixels, and the mask has {size}; export it again")
    values = np.arange(len(runs)) % 2 == 1
    return np.repeat(values, runs)


def lengths_of(flat: ArrayLike) -> list[int]:
    """The other way; the first run is out, and may be of length 0."""
    inside = np.asarray(flat, bool).ravel()
    if not inside.size:
        return [0]
    turns = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    ends = np.concatenate([[0] if inside[0] else np.zeros(0, np.int64), turns, [inside.size]])
    return [int(length) for length in np.diff(ends, prepend=0)]


def unpacked(text: str | bytes, most: int) -> Lengths:
    """COCO's compressed counts: 5 bits a sign, low ones first, from the third on the difference to two before."""
    data = text.encode("ascii", "strict") if isinstance(text, str) else text
    signs = np.frombuffer(data, np.uint8).astype(np.int64) - 48
    if signs.size and (signs.min() < 0 or signs.max() > 63):
        raise FormatError("its packed run lengths hold signs that are none; export it again")
    if signs.size and signs[-1] & 32:
        raise FormatError("its packed run lengths end too early; export it again")
    last = np.flatnonzero((signs & 32) == 0)
    first = np.concatenate([[0], last[:-1] + 1]) if len(last) else last
    if len(last) and int((last - first).max()) > 6:
        raise FormatError("its packed run lengths hold a number that is too long; export it again")
    numbers = np.zeros(len(last), np.int64)
    for k in range(int((last - first).max()) + 1 if len(last) else 0):
        here = first + k <= last
        numbers[here] |= (signs[(first + k)[here]] & 31) << (5 * k)
    negative = (signs[last] & 16) != 0 if len(last) else np.zeros(0, bool)
    numbers[negative] -= 1 << (5 * (last - first + 1)[negative])
    if len(numbers) > 2:
        odd, even = numbers[1::2], numbers[2::2]
        numbers[1::2], numbers[2::2] = np.cumsum(odd), np.cumsum(even)
    if (np.abs(numbers) > most).any():
        raise FormatError("its run lengths are longer than the image; export it again")
    return numbers


def packed(lengths: Sequence[int]) -> str:
    """The other way."""
    signs: list[int] = []
    for k, length in enumerate(lengths):
        number = int(length) - int(lengths[k - 2]) if k > 2 else int(length)
        more = True
        while more:
            low, number = number & 31, number >> 5
            more = number != (-1 if low & 16 else 0)
            signs.append((low | 32 if more else low) + 48)
    return bytes(signs).decode("ascii")

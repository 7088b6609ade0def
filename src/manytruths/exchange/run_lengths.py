"""Run lengths, as tools store masks: those of COCO (plain or compressed), of CVAT, and of Label Studio's brush.

Label Studio's brush encodes red, green, blue and alpha bit by bit: 32 bits for the number of values, 5 for the bits of
a value (less one), 4 × 4 for the bits of a length (less one); then, until all values are there, a bit that says
whether one value is repeated, 2 bits that choose among the four sizes, the length (less one), and the value or values.
A pixel is marked where its alpha is not 0.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..core.errors import FormatError
from .readings import Mask

Lengths = NDArray[np.int64]
SIZES = (3, 4, 8, 16)
"""Bits of a length, as Label Studio itself writes them."""
FULL = 255
HEADER = 32 + 5 + 4 * 4
PADDING = b"\0" * 8


def fill_runs(lengths: ArrayLike, size: int) -> NDArray[np.bool_]:
    """(size) pixels: so many out, so many in, and so on; they must be just as many as there are."""
    runs = np.asarray(lengths)
    if runs.ndim != 1 or (runs.size and runs.dtype.kind not in "iu"):
        raise FormatError("its run lengths are not whole numbers; export it again")
    runs = runs.astype(np.int64)
    if (runs < 0).any() or (runs > size).any() or int(runs.sum()) != size:
        raise FormatError(f"its run lengths hold {int(runs.sum())} pixels, and the mask has {size}; export it again")
    values = np.arange(len(runs)) % 2 == 1
    return np.repeat(values, runs)


def encode_runs(flat: ArrayLike) -> list[int]:
    """The other way; the first run is out, and may be of length 0."""
    inside = np.asarray(flat, bool).ravel()
    if not inside.size:
        return [0]
    turns = np.flatnonzero(inside[1:] != inside[:-1]) + 1
    ends = np.concatenate([[0] if inside[0] else np.zeros(0, np.int64), turns, [inside.size]])
    return [int(length) for length in np.diff(ends, prepend=0)]


def decode_counts(text: str | bytes, most: int) -> Lengths:
    """COCO's compressed counts: 5 bits a sign, low ones first, from the third on the difference to two before."""
    data = text.encode("ascii", "strict") if isinstance(text, str) else text
    signs = np.frombuffer(data, np.uint8).astype(np.int64) - 48
    if signs.size and (signs.min() < 0 or signs.max() > 63):
        raise FormatError("its packed run lengths hold invalid characters; export it again")
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


def encode_counts(lengths: Sequence[int]) -> str:
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


def decode_brush(data: bytes, size: int) -> NDArray[np.int64]:
    """Run lengths of the pixels, row by row, the first run outside."""
    if 8 * len(data) < HEADER:
        raise FormatError("its run lengths end too early; export it again")
    bits = int.from_bytes((data[:7] + PADDING)[:7]) >> (56 - HEADER)
    number, word, sizes = bits >> 21, (bits >> 16 & 31) + 1, [(bits >> shift & 15) + 1 for shift in (12, 8, 4, 0)]
    if number != 4 * size:
        raise FormatError(f"its run lengths hold {number // 4} pixels, and the image has {size}; export it again")
    edges = [0, *_edges(data, number, word, sizes), size]
    return np.asarray(np.diff(edges), np.int64)


def _edges(data: bytes, number: int, word: int, sizes: list[int]) -> list[int]:
    """Where marked pixels start and end, in turns."""
    edges, place, at, total = [0, 0], 0, HEADER, 8 * len(data)
    padded = data + PADDING
    while place < number:
        bits = int.from_bytes(padded[at >> 3 : (at >> 3) + 8]) << (at & 7)
        length_bits = sizes[bits >> 61 & 3]
        length = (bits >> (61 - length_bits) & ((1 << length_bits) - 1)) + 1
        repeated, at = bits >> 63 & 1, at + 3 + length_bits
        after = at + (word if repeated else word * length)
        if place + length > number or after > total:
            raise FormatError("its run lengths are longer than the image, or end too early; export it again")
        if repeated:
            _add(edges, place // 4, (place + length) // 4, _value(padded, at, word))
        else:
            _add_each(edges, place, padded, at, word, length)
        place, at = place + length, after
    return edges[2:] if edges[1] == 0 else edges


def _value(data: bytes, at: int, word: int) -> int:
    bits = int.from_bytes(data[at >> 3 : (at >> 3) + 8])
    return bits >> (64 - word - (at & 7)) & ((1 << word) - 1)


def _add(edges: list[int], start: int, stop: int, value: int) -> None:
    """Mark these pixels, where any; they may go on from the last ones."""
    if not value or start == stop:
        return
    if edges[-1] == start:
        edges[-1] = stop
    else:
        edges += (start, stop)


def _add_each(edges: list[int], place: int, data: bytes, at: int, word: int, length: int) -> None:
    """Values one by one; only every fourth is alpha."""
    for k in range((3 - place) % 4, length, 4):
        pixel = (place + k) // 4
        _add(edges, pixel, pixel + 1, _value(data, at + k * word, word))


def encode_brush(inside: Mask) -> bytes:
    """The other way: white where marked, transparent black elsewhere."""
    bits, longest = [f"{4 * inside.size:032b}{7:05b}", *(f"{size - 1:04b}" for size in SIZES)], 1 << SIZES[-1]
    for k, length in enumerate(encode_runs(inside)):
        whole, rest = divmod(4 * length, longest)
        bits += [_token(longest, FULL * (k % 2))] * whole + ([_token(rest, FULL * (k % 2))] if rest else [])
    text = "".join(bits)
    text += "0" * (-len(text) % 8)
    return int(text, 2).to_bytes(len(text) // 8)


def _token(length: int, value: int) -> str:
    chosen = next(k for k, size in enumerate(SIZES) if length <= 1 << size)
    return f"1{chosen:02b}{length - 1:0{SIZES[chosen]}b}{value:08b}"

"""TIFF files by hand: depths, orders of bits and palettes that no library writes."""

from __future__ import annotations

import struct
import zlib

import numpy as np

REVERSED = bytes(int(f"{byte:08b}"[::-1], 2) for byte in range(256))


def tiff(
    array: np.ndarray, bits: int, photometric: int = 1, *, fill_order: int = 1, deflate=False, palette=None
) -> bytes:
    """One strip of grey (0 is white: ``photometric`` 0), or an index of a palette of (3, n) colours, 3."""
    planes = np.unpackbits(array.astype(">u4")[..., None].view(np.uint8), axis=2)[..., 32 - bits :]
    data = b"".join(np.packbits(row.ravel()).tobytes() for row in planes)
    data = zlib.compress(data) if deflate else data
    data = data.translate(REVERSED) if fill_order == 2 else data
    colours = b"" if palette is None else np.asarray(palette, ">u2").tobytes()
    tags = [
        (256, array.shape[1]), (257, array.shape[0]), (258, bits), (259, 8 if deflate else 1), (262, photometric),
        (266, fill_order), (273, 0), (277, 1), (278, array.shape[0]), (279, len(data)), (339, 1),
        *([] if palette is None else [(320, 0)]),
    ]  # fmt: skip
    at = 8 + 2 + 12 * len(tags) + 4
    out = struct.pack(">2sHIH", b"MM", 42, 8, len(tags))
    for tag, value in sorted(tags):
        if tag == 320:
            out += struct.pack(">HHII", tag, 3, len(colours) // 2, at)
        else:
            out += struct.pack(">HHII", tag, 4, 1, at + len(colours) if tag == 273 else value)
    return out + bytes(4) + colours + data

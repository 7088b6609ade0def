"""PNG files by hand: depths, palettes, interlacing and faults that no library writes."""

from __future__ import annotations

import struct
import zlib

import numpy as np

START = b"\x89PNG\r\n\x1a\n"
END = b"\0\0\0\0IEND\xaeB`\x82"
PASSES = ((0, 0, 8, 8), (4, 0, 8, 8), (0, 4, 4, 8), (2, 0, 4, 4), (0, 2, 2, 4), (1, 0, 2, 2), (0, 1, 1, 2))


def chunk(kind: bytes, data: bytes) -> bytes:
    """Length, kind, data, check sum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def rows_of(array: np.ndarray, bits: int) -> bytes:
    """Samples of 1 to 16 bits, row by row, with filter 0 in front of each."""
    if bits == 16:
        return b"".join(b"\0" + row.astype(">u2").tobytes() for row in array)
    planes = np.unpackbits(array.astype(np.uint8)[..., None], axis=2)[..., 8 - bits :]
    return b"".join(b"\0" + np.packbits(row.ravel()).tobytes() for row in planes)


def header(shape: tuple[int, ...], bits: int = 8, colours: int = 0, interlaced: bool = False) -> bytes:
    return chunk(b"IHDR", struct.pack(">IIBBBBB", shape[1], shape[0], bits, colours, 0, 0, interlaced))


def png(array: np.ndarray, bits: int = 8, *, palette=None, interlaced=False, before=b"", pieces=1) -> bytes:
    """Grey, or an index of a palette of (n, 3) colours; the stream in so many chunks."""
    passes = PASSES if interlaced else ((0, 0, 1, 1),)
    rows = b"".join(rows_of(part, bits) for x, y, dx, dy in passes if (part := array[y::dy, x::dx]).size)
    stream = zlib.compress(rows)
    step = -(-len(stream) // pieces)
    pixels = b"".join(chunk(b"IDAT", stream[at : at + step]) for at in range(0, len(stream), step))
    colours = b"" if palette is None else chunk(b"PLTE", np.asarray(palette, np.uint8).tobytes())
    start = header(array.shape, bits, 0 if palette is None else 3, interlaced)
    return START + start + colours + before + pixels + END

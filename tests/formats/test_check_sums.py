"""A single changed bit is found wherever the format has a check sum: refused, or the same pixels."""

import random
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from manytruths.errors import FormatError
from manytruths.formats import read_image, read_mask
from png_files import END, START, chunk, header, png, rows_of

CHANCE = np.random.default_rng(15)
FLAT = (CHANCE.random((23, 19)) < 0.3).astype(np.uint8)
INVERTED = np.repeat(np.arange(255, -1, -1, dtype=np.uint8)[:, None], 3, axis=1)


def by_pillow(path, array=FLAT * 255):
    Image.fromarray(array).save(path)


def by_hand(bits, values=None, **more):
    array = FLAT.astype(np.uint16) * (values or (1 << bits) - 1)
    return lambda path: path.write_bytes(png(array, bits, **more))


MAKERS = {
    "pillow.png": by_pillow,
    "wide.png": lambda path: by_pillow(path, FLAT.astype(np.uint16) * 40000),
    "one bit.png": by_hand(1),
    "four bits.png": by_hand(4, 7),
    "interlaced.png": by_hand(8, interlaced=True),
    "palette.png": by_hand(8, 2, palette=INVERTED, before=chunk(b"tRNS", b"\0\1\2")),
    "pieces.png": by_hand(16, 65535, pieces=9),
    "chunks.png": by_hand(8, before=chunk(b"sBIT", b"\1") + chunk(b"gAMA", b"\0\0\xb1\x8f")),
}


def outcome(path, wanted):
    """``refused``, ``same`` or ``other``."""
    try:
        found = read_mask(path).array
    except FormatError:
        return "refused"
    return "same" if found.shape == wanted.shape and (found == wanted).all() else "other"


@pytest.mark.parametrize("name", MAKERS)
def test_no_flipped_bit_gives_other_pixels(tmp_path, name):
    path = tmp_path / name
    MAKERS[name](path)
    data, wanted = path.read_bytes(), np.array(read_mask(path).array)
    for bit in random.Random(name).sample(range(8 * len(data)), 400):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        assert outcome(path, wanted) != "other", f"bit {bit % 8} of byte {bit // 8}"


def test_the_words_for_a_check_sum(tmp_path):
    data = bytearray(png(FLAT))
    data[60] ^= 4
    (tmp_path / "m.png").write_bytes(data)
    said = r"m\.png: is damaged or cut short \(the check sum of chunk 'IDAT' at byte 33 does not hold\); export or copy"
    for call in (read_mask, read_image):
        with pytest.raises(FormatError, match=said):
            call(tmp_path / "m.png")


@pytest.mark.parametrize("size", [64, 300, 1024])
@pytest.mark.parametrize("pieces", [1, 7])
def test_the_check_sum_behind_the_pixels(tmp_path, size, pieces):
    """The stream has one of its own, Adler's, which a decoder that stops at the last pixel does not see."""
    array = (np.random.default_rng(size).random((size, size)) < 0.3).astype(np.uint8)
    stream = bytearray(zlib.compress(rows_of(array, 8)))
    stream[-1] ^= 1
    step = len(stream) // pieces - 1
    pixels = b"".join(chunk(b"IDAT", stream[at : at + step]) for at in range(0, len(stream), step))
    (tmp_path / "m.png").write_bytes(START + header(array.shape) + pixels + END)
    assert outcome(tmp_path / "m.png", array) == "refused"


LONG = rows_of(FLAT, 8)
FAULTS = {
    "its pixels end after 200 of 460 bytes": header(FLAT.shape) + chunk(b"IDAT", zlib.compress(LONG[:200])) + END,
    "its pixels end after 440 of 460 bytes": header(FLAT.shape) + chunk(b"IDAT", zlib.compress(LONG[:440])) + END,
    "it ends without its last chunk": header(FLAT.shape) + chunk(b"IDAT", zlib.compress(LONG)),
    "it has no pixels": header(FLAT.shape) + END,
    "its header is not where it belongs": chunk(b"IDAT", zlib.compress(LONG)) + header(FLAT.shape) + END,
    "it has a chunk 'ABCD'": header(FLAT.shape) + chunk(b"ABCD", b"1") + chunk(b"IDAT", zlib.compress(LONG)) + END,
    "bytes where its chunks reach to byte": header(FLAT.shape) + struct.pack(">I", 2**31 - 1) + b"IDAT",
}


@pytest.mark.parametrize("said", FAULTS)
def test_faults_with_right_check_sums(tmp_path, said):
    (tmp_path / "m.png").write_bytes(START + FAULTS[said])
    with pytest.raises(FormatError, match=f"is damaged or cut short .*{said}"):
        read_mask(tmp_path / "m.png")


@pytest.mark.parametrize("rows", [0, 3, 22])
def test_an_interlaced_stream_that_ends_early(tmp_path, rows):
    whole = png(FLAT, interlaced=True)
    stream = zlib.decompress(whole[41:-16])
    short = chunk(b"IDAT", zlib.compress(stream[: len(stream) - 1 - 20 * rows]))
    (tmp_path / "m.png").write_bytes(whole[:33] + short + END)
    assert outcome(tmp_path / "m.png", FLAT) == "refused"


def test_the_value_that_marks_what_was_not_decoded_is_a_value_like_others(tmp_path):
    everywhere = np.full((23, 19), 165, np.uint8)
    for array in (everywhere, everywhere // 165):
        (tmp_path / "m.png").write_bytes(png(array, 8))
        assert outcome(tmp_path / "m.png", array) == "same"
    (tmp_path / "m.png").write_bytes(png(everywhere // 165, 1))
    assert outcome(tmp_path / "m.png", everywhere // 165) == "same"


def test_bytes_behind_the_end_and_in_many_pieces_are_nothing_wrong(tmp_path):
    (tmp_path / "m.png").write_bytes(png(FLAT, pieces=40) + b"written by a camera")
    assert outcome(tmp_path / "m.png", FLAT) == "same"

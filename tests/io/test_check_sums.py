"""A single changed bit is found wherever the format has a check sum: refused, or the same pixels."""

import gzip
import random
import struct
import zlib

import nibabel as nib
import nrrd
import numpy as np
import pytest
import tifffile
from PIL import Image

from manytruths import FormatError, ManytruthsError
from manytruths.io import read_image, read_mask, write_map
from png_files import END, START, chunk, header, png, rows_of

CHANCE = np.random.default_rng(15)
FLAT = (CHANCE.random((23, 19)) < 0.3).astype(np.uint8)
VOLUME = (CHANCE.random((5, 6, 17)) < 0.3).astype(np.uint8)
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
    "m.nii.gz": lambda path: nib.save(nib.Nifti1Image(VOLUME, np.eye(4)), path),
    "two.nii.gz": lambda path: nib.save(nib.Nifti2Image(VOLUME, np.eye(4)), path),
    "packed.npz": lambda path: np.savez_compressed(path, m=FLAT),
    "stored.npz": lambda path: np.savez(path, m=FLAT),
    "chunks.png": by_hand(8, before=chunk(b"sBIT", b"\1") + chunk(b"gAMA", b"\0\0\xb1\x8f")),
}


def outcome(path, wanted):
    """``refused``, ``same`` or ``other``."""
    try:
        found = read_mask(path).array
    except ManytruthsError:
        return "refused"
    return "same" if found.shape == wanted.shape and (found == wanted).all() else "other"


def flipped(path, seed, first=0, last=None):
    """The file with one bit changed, 150 times, and what it was read as."""
    data, wanted = path.read_bytes(), np.array(read_mask(path).array)
    for bit in random.Random(seed).sample(range(8 * first, 8 * (last or len(data))), 150):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        path.write_bytes(changed)
        yield outcome(path, wanted), bit // 8, bytes(changed)
    path.write_bytes(data)


@pytest.mark.parametrize("name", MAKERS)
def test_no_flipped_bit_gives_other_pixels(tmp_path, name):
    MAKERS[name](tmp_path / name)
    assert "other" not in {found for found, _, _ in flipped(tmp_path / name, name)}


@pytest.mark.parametrize("encoding", ["gzip", "bzip2"])
@pytest.mark.parametrize("skip", ["", "byte skip: 3\n"])
def test_packed_nrrd(tmp_path, encoding, skip, capfd):
    """Its header is text without a check sum; what is packed behind it has one."""
    path = tmp_path / "m.nrrd"
    nrrd.write(str(path), np.concatenate([np.zeros(3, np.uint8), VOLUME.T.ravel()]), {"encoding": encoding})
    packed = path.read_bytes().partition(b"\n\n")[2]
    kind = f"type: uint8\ndimension: 3\nsizes: 5 6 17\nencoding: {encoding}\n{skip}"
    if not skip:
        nrrd.write(str(path), VOLUME, {"encoding": encoding})
        packed = path.read_bytes().partition(b"\n\n")[2]
    head = f"NRRD0004\n{kind}\n".encode()
    path.write_bytes(head + packed)
    np.testing.assert_array_equal(read_mask(path).array, VOLUME)
    assert "other" not in {found for found, _, _ in flipped(path, encoding, len(head))}
    assert capfd.readouterr() == ("", "")


TIFFS = {
    "ours": lambda path: write_map(path, FLAT),
    "strips": lambda path: tifffile.imwrite(path, FLAT, rowsperstrip=8, compression="zlib"),
    "tiles": lambda path: tifffile.imwrite(path, FLAT, tile=(16, 16), compression="zlib"),
    "wide": lambda path: tifffile.imwrite(path, FLAT.astype(np.uint16), compression="zlib", predictor=True),
    "64 bits": lambda path: tifffile.imwrite(path, FLAT.astype(np.uint64), compression="zlib"),
    "two bytes an offset": lambda path: tifffile.imwrite(path, FLAT, compression="zlib", bigtiff=True, byteorder=">"),
}


def is_sound(stream):
    try:
        return bool(zlib.decompress(stream))
    except zlib.error:
        return False


@pytest.mark.parametrize("name", TIFFS)
def test_deflated_tiff(tmp_path, name, capfd):
    """Adler's sum is weak on small masks: what zlib itself takes for sound (1 flip of 1,500) is not ours to refuse."""
    path = tmp_path / "m.tif"
    TIFFS[name](path)
    with tifffile.TiffFile(path) as file:
        pieces = list(zip(file.pages[0].dataoffsets, file.pages[0].databytecounts, strict=True))
    first, last = min(at for at, _ in pieces), max(at + length for at, length in pieces)
    for found, at, changed in flipped(path, name, first, last):
        if found == "other":
            start, length = next(piece for piece in pieces if piece[0] <= at < sum(piece))
            assert is_sound(changed[start : start + length]), f"byte {at}"
    assert capfd.readouterr() == ("", "")


def test_the_words_for_a_deflated_tiff(tmp_path):
    write_map(tmp_path / "m.tif", FLAT)
    data = (tmp_path / "m.tif").read_bytes()
    stream = zlib.compress(FLAT.tobytes())
    at = data.index(stream[-4:])
    (tmp_path / "m.tif").write_bytes(data[:at] + bytes(4) + data[at + 4 :])
    with pytest.raises(
        FormatError, match=r"m\.tif: is damaged or cut short \(.*incorrect data check\); export or copy"
    ):
        read_mask(tmp_path / "m.tif")


def test_a_strip_that_unpacks_to_much_more_than_its_pixels(tmp_path):
    path, bomb = tmp_path / "m.tif", zlib.compress(bytes(1 << 26), 9)
    tifffile.imwrite(path, np.zeros((64, 2048), np.uint8))
    with tifffile.TiffFile(path) as file:
        at = file.pages[0].dataoffsets[0]
        tags = {tag.code: tag.valueoffset for tag in file.pages[0].tags}
    data = bytearray(path.read_bytes()[:at] + bomb)
    data[tags[279] : tags[279] + 4] = struct.pack("<I", len(bomb))
    data[tags[259] : tags[259] + 2] = struct.pack("<H", 8)
    path.write_bytes(data)
    with pytest.raises(FormatError, match=f"deflated pixels at byte {at} are cut, or go on after the last one"):
        read_mask(path)


def test_an_archive_with_something_behind_the_array(tmp_path):
    """The check sum of an entry is at its end, wherever the array ends."""
    np.savez(tmp_path / "m.npz", m=np.zeros((700, 700), np.uint8))
    data = bytearray((tmp_path / "m.npz").read_bytes())
    data[300_000] = 1
    (tmp_path / "m.npz").write_bytes(data)
    with pytest.raises(FormatError, match="Bad CRC-32"):
        read_mask(tmp_path / "m.npz")


@pytest.mark.parametrize(
    ("data", "said"), [(VOLUME.T.tobytes() + b"x", "more than 510"), (b"short", "5 bytes of data")]
)
def test_packed_nrrd_of_another_length(tmp_path, data, said):
    head = b"NRRD0004\ntype: uint8\ndimension: 3\nsizes: 5 6 17\nencoding: gzip\n\n"
    (tmp_path / "m.nrrd").write_bytes(head + gzip.compress(data))
    with pytest.raises(FormatError, match=said):
        read_mask(tmp_path / "m.nrrd")


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

"""Masks are what is stored, whatever it is shown as: the same at every depth. Images are shown the right way."""

import io
import struct

import numpy as np
import pytest
import SimpleITK as sitk
import tifffile
from PIL import Image

import manytruths as mt
from manytruths import FormatError
from manytruths.io import read_image, read_mask
from manytruths.io.images import read_probability
from png_files import chunk, png
from tiff_files import tiff

WHITE_IS_ZERO, BLACK_IS_ZERO, PALETTE = 0, 1, 3
DEPTHS = [(1, 1), (2, 1), (4, 1), (8, 1), (16, 1), (32, 1), (1, 2), (2, 2), (4, 2), (8, 2)]
"""Bits, and in which order they stand."""


def values(bits, shape=(23, 19)):
    chance = np.random.default_rng(bits)
    found = chance.integers(0, 1 << bits, shape, dtype=np.uint64)
    found[0, :2] = 0, (1 << bits) - 1
    return found.astype(np.uint8 if bits <= 8 else f"u{bits // 8}")


def full(array, bits):
    """What a depth is shown as: grey of less than a byte over 0 to 255."""
    return array * np.uint8(255 // ((1 << bits) - 1)) if bits < 8 else array


def check_tiff(path, stored):
    np.testing.assert_array_equal(tifffile.imread(path), stored)
    np.testing.assert_array_equal(read_mask(path).array, stored)


@pytest.mark.parametrize("deflate", [False, True])
@pytest.mark.parametrize("photometric", [WHITE_IS_ZERO, BLACK_IS_ZERO])
@pytest.mark.parametrize(("bits", "fill_order"), DEPTHS)
def test_tiff_of_every_depth(tmp_path, bits, photometric, fill_order, deflate):
    path, stored = tmp_path / "m.tif", values(bits)
    path.write_bytes(tiff(stored, bits, photometric, fill_order=fill_order, deflate=deflate))
    check_tiff(path, stored)
    shown = full(stored, bits)
    np.testing.assert_array_equal(read_image(path).array, shown if photometric == BLACK_IS_ZERO else ~shown)
    np.testing.assert_array_equal(read_probability(path).array, shown)


@pytest.mark.parametrize("fill_order", [1, 2])
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_tiff_palettes_of_every_depth(tmp_path, bits, fill_order):
    """White, then ever darker: the colours say the opposite of the indices."""
    path, stored = tmp_path / "m.tif", values(bits)
    colours = np.tile(np.linspace(65535, 0, 1 << bits), (3, 1))
    path.write_bytes(tiff(stored, bits, PALETTE, fill_order=fill_order, palette=colours))
    check_tiff(path, stored)


@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("photometric", ["miniswhite", "minisblack"])
@pytest.mark.parametrize(
    ("compression", "predictor"), [(None, False), ("zlib", True), ("lzw", True), ("packbits", False)]
)
@pytest.mark.parametrize("kind", ["bool", "u1", "i1", "u2", "i2", "u4", "i4", "u8", "f4"])
def test_tiff_of_every_type(tmp_path, kind, compression, predictor, photometric, order):
    stored = (values(8) % 3 == 1).astype(kind) if kind == "bool" else (values(8) % 100).astype(kind)
    predictor = compression in ("zlib", "lzw") and kind not in ("bool", "u8")
    path = tmp_path / "m.tif"
    more = {"photometric": photometric, "compression": compression, "byteorder": order}
    tifffile.imwrite(path, stored, predictor=predictor, **more)
    check_tiff(path, stored)
    tifffile.imwrite(tmp_path / "tiles.tif", stored, tile=(16, 16), **more)
    check_tiff(tmp_path / "tiles.tif", stored)


@pytest.mark.parametrize("compression", ["group3", "group4", "tiff_ccitt", "tiff_deflate"])
@pytest.mark.parametrize("photometric", [WHITE_IS_ZERO, BLACK_IS_ZERO])
def test_fax(tmp_path, compression, photometric):
    path = tmp_path / "m.tif"
    Image.fromarray(values(1) > 0).save(path, compression=compression, tiffinfo={262: photometric})
    check_tiff(path, tifffile.imread(path))


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.int8, np.uint64])
def test_pages_that_differ_in_what_is_white(tmp_path, kind):
    stored = (np.stack([values(8), values(8).T[:19].T, values(8)[::-1]]) % 5).astype(kind)
    with tifffile.TiffWriter(tmp_path / "m.tif") as file:
        for page, photometric in zip(stored, ["minisblack", "miniswhite", "minisblack"], strict=True):
            file.write(page, photometric=photometric)
    np.testing.assert_array_equal(read_mask(tmp_path / "m.tif").array, stored)
    shown = read_image(tmp_path / "m.tif").array
    np.testing.assert_array_equal(shown[[0, 2]], stored[[0, 2]])
    np.testing.assert_array_equal(shown[1], ~stored[1])


def test_labels_above_two_billion(tmp_path):
    stored = np.array([[0, 2**32 - 1], [2**31, 7]], np.uint32)
    tifffile.imwrite(tmp_path / "m.tif", stored)
    np.testing.assert_array_equal(read_mask(tmp_path / "m.tif").array, stored)


def test_grey_of_12_bits_and_fractions_are_shown_the_right_way(tmp_path):
    stored = np.array([[0.25, 0.5], [0.5, 1]], np.float32)
    tifffile.imwrite(tmp_path / "m.tif", stored, photometric="miniswhite")
    np.testing.assert_allclose(read_image(tmp_path / "m.tif").array, 1.25 - stored)
    np.testing.assert_array_equal(read_probability(tmp_path / "m.tif").array, stored)
    (tmp_path / "m.tif").write_bytes(tiff(np.array([[0, 4095], [1, 7]]), 12, WHITE_IS_ZERO))
    assert read_mask(tmp_path / "m.tif").array.tolist() == [[0, 4095], [1, 7]]
    assert read_image(tmp_path / "m.tif").array.tolist() == [[4095, 0], [4094, 4088]]


def test_a_second_channel_is_not_passed_over(tmp_path):
    two = np.stack([values(8), values(8)], axis=2)
    tifffile.imwrite(tmp_path / "m.tif", two, photometric="minisblack", extrasamples=["unspecified"])
    with pytest.raises(FormatError, match=r"m\.tif: has 2 channels, but a mask has one; save one of them"):
        read_mask(tmp_path / "m.tif")


def test_raters_whose_files_are_shown_otherwise_agree(tmp_path):
    stored = (values(8) % 4 == 1).astype(np.uint8)
    for rater, photometric in {"A": "minisblack", "B": "miniswhite", "C": "minisblack"}.items():
        (tmp_path / rater).mkdir()
        tifffile.imwrite(tmp_path / rater / "p1.tif", stored if rater != "C" else stored > 0, photometric=photometric)
    table = mt.pool(mt.Study.open(str(tmp_path / "{rater}/{case}.tif")).tally())
    assert mt.fleiss_kappa(table) == 1


def test_grey_predictions_are_what_is_stored(tmp_path):
    mask, response = (values(8) % 4 == 1).astype(np.uint8), values(8)
    for name in ("A", "B"):
        (tmp_path / name).mkdir()
        tifffile.imwrite(tmp_path / name / "p1.tif", mask)
    (tmp_path / "net").mkdir()
    tifffile.imwrite(tmp_path / "net" / "p1.tif", response, photometric="miniswhite")
    study = mt.Study.open(
        str(tmp_path / "{rater}/{case}.tif"), predictions=str(tmp_path / "net/{case}.tif"), probability=True,
        exclude={"net": ["p1"]},
    )  # fmt: skip
    (column,) = study.algorithms
    np.testing.assert_array_equal(study["p1"].response(column, None), response)


TRANSPARENT, SIGNIFICANT = chunk(b"tRNS", b"\0\0"), chunk(b"sBIT", b"\1")


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("before", [b"", TRANSPARENT, SIGNIFICANT, chunk(b"gAMA", b"\0\0\xb1\x8f")])
@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
def test_grey_png(tmp_path, bits, before, interlaced):
    path, stored = tmp_path / "m.png", values(bits)
    path.write_bytes(png(stored, bits, before=before, interlaced=interlaced))
    np.testing.assert_array_equal(read_mask(path).array, stored)
    if bits >= 8 and before not in (TRANSPARENT, SIGNIFICANT):  # what is only shown, SimpleITK applies
        np.testing.assert_array_equal(sitk.GetArrayFromImage(sitk.ReadImage(str(path))), stored)


@pytest.mark.parametrize("interlaced", [False, True])
@pytest.mark.parametrize("transparent", [b"", chunk(b"tRNS", b"\0\x80")])
@pytest.mark.parametrize("bits", [1, 2, 4, 8])
def test_png_palettes(tmp_path, bits, transparent, interlaced):
    """From white to black, as of grey that was inverted."""
    path, stored = tmp_path / "m.png", values(bits)
    colours = np.tile(np.linspace(255, 0, 1 << bits).astype(np.uint8)[:, None], (1, 3))
    path.write_bytes(png(stored, bits, palette=colours, before=transparent, interlaced=interlaced))
    np.testing.assert_array_equal(read_mask(path).array, stored)
    np.testing.assert_array_equal(read_image(path).array, colours[stored])


def bmp(array, bits, palette, *, top_first=False):
    """A BMP without compression; rows end at multiples of 4 bytes."""
    rows = (
        np.unpackbits(array[..., None], axis=2)[..., 8 - bits :]
        if bits < 8
        else np.unpackbits(array[..., None], axis=2)
    )
    lines = [np.packbits(row.ravel()).tobytes() for row in (rows if top_first else rows[::-1])]
    data = b"".join(line + bytes(-len(line) % 4) for line in lines)
    colours = b"".join(bytes((b, g, r, 0)) for r, g, b in palette)
    height, width = array.shape
    at = 54 + len(colours)
    head = struct.pack("<2sIHHI", b"BM", at + len(data), 0, 0, at)
    size = width, -height if top_first else height
    return head + struct.pack("<IiiHHIIiiII", 40, *size, 1, bits, 0, len(data), 0, 0, len(palette), 0) + colours + data


def greys(count, kind):
    ramp = [round(255 * n / (count - 1)) for n in range(count)]
    shades = {"ramp": ramp, "inverted": ramp[::-1], "own": list(range(count))}[kind]
    return [(shade, shade, shade) for shade in shades]


@pytest.mark.parametrize("top_first", [False, True])
@pytest.mark.parametrize("kind", ["ramp", "inverted", "own"])
@pytest.mark.parametrize("bits", [1, 4, 8])
def test_bmp_palettes(tmp_path, bits, kind, top_first):
    path, stored = tmp_path / "m.bmp", values(bits)
    path.write_bytes(bmp(stored, bits, greys(1 << bits, kind), top_first=top_first))
    if (bits, kind) == (4, "own"):
        with pytest.raises(FormatError, match="is a BMP of 4 bits with a palette of few greys; save it as PNG"):
            read_mask(path)
    else:
        np.testing.assert_array_equal(read_mask(path).array, stored)


@pytest.mark.parametrize("bits", [4, 8])
@pytest.mark.parametrize("kind", ["ramp", "inverted"])
def test_bmp_with_two_greys_at_more_than_one_bit(tmp_path, bits, kind):
    """Pillow takes it for one bit a pixel, and gives other pixels."""
    path, stored = tmp_path / "m.bmp", values(1)
    path.write_bytes(bmp(stored, bits, greys(2, kind)))
    if kind == "inverted":
        np.testing.assert_array_equal(read_mask(path).array, stored)
        return
    for call in (read_mask, read_image):
        with pytest.raises(FormatError, match=f"is a BMP of {bits} bits with a palette of few greys"):
            call(path)


@pytest.mark.parametrize("more", [{}, {"transparency": 0}, {"transparency": 1}, {"interlace": 1}])
@pytest.mark.parametrize("kind", ["ramp", "inverted", "own"])
@pytest.mark.parametrize("count", [2, 4, 16, 256])
def test_gif_palettes(tmp_path, count, kind, more):
    stored = values(8) % count if count < 256 else values(8)
    image = Image.frombytes("P", stored.shape[::-1], stored.tobytes())
    image.putpalette([shade for grey in greys(count, kind) for shade in grey])
    stream = io.BytesIO()
    image.save(stream, "GIF", optimize=False, **{"interlace": 0, **more})
    (tmp_path / "m.gif").write_bytes(stream.getvalue())
    np.testing.assert_array_equal(read_mask(tmp_path / "m.gif").array, stored)

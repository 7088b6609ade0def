"""Reading masks and images of every family, written by the libraries that own the formats."""

import io
import struct
import threading
import zlib

import nibabel as nib
import nrrd
import numpy as np
import pytest
import tifffile
from PIL import Image

from manytruths import FormatError, GridError, LabelError
from manytruths.io import Location, looks_compressed, probe, read_image, read_mask
from manytruths.shape.grid import MAX_ITEMS

FLAT = np.arange(35, dtype=np.uint8).reshape(5, 7) % 4
VOLUME = (np.arange(4 * 5 * 6, dtype=np.uint8).reshape(4, 5, 6)) % 3
AFFINE = np.array([[-0.7, 0, 0, 12.5], [0, 0.7, 0, -40], [0, 0, 2.5, 7], [0, 0, 0, 1.0]])


def palette(array):
    image = Image.fromarray(array).convert("P")
    image = Image.frombytes("P", image.size, array.tobytes())
    image.putpalette([value for n in range(256) for value in (255 - n, n * 7 % 256, 3)])
    return image


def check(path, array, kind, dtype):
    mask = read_mask(path)
    assert (mask.format, mask.array.dtype, mask.grid.shape) == (kind, dtype, array.shape)
    np.testing.assert_array_equal(mask.array, array)
    assert probe(path) == mask.grid
    return mask


@pytest.mark.parametrize("suffix", ["png", "bmp", "gif", "tif", "tiff"])
def test_grey_pictures(tmp_path, suffix):
    Image.fromarray(FLAT).save(tmp_path / f"m.{suffix}")
    check(tmp_path / f"m.{suffix}", FLAT, {"tif": "tiff"}.get(suffix, suffix), np.uint8)


@pytest.mark.parametrize("suffix", ["png", "gif", "tif", "bmp"])
def test_palette_pictures_give_indices_as_masks_and_colours_as_images(tmp_path, suffix):
    palette(FLAT).save(tmp_path / f"m.{suffix}")
    check(tmp_path / f"m.{suffix}", FLAT, {"tif": "tiff"}.get(suffix, suffix), np.uint8)
    image = read_image(tmp_path / f"m.{suffix}")
    assert image.array.shape == (5, 7, 3)
    assert image.grid.shape == (5, 7)
    assert image.array[0, 1].tolist() == [254, 7, 3]


@pytest.mark.parametrize("suffix", ["png", "tif", "bmp"])
def test_two_valued_pictures_are_0_and_1(tmp_path, suffix):
    Image.fromarray(FLAT > 1).save(tmp_path / f"m.{suffix}")
    check(tmp_path / f"m.{suffix}", FLAT > 1, {"tif": "tiff"}.get(suffix, suffix), np.uint8)
    assert read_image(tmp_path / f"m.{suffix}").array.max() == 255


@pytest.mark.parametrize("suffix", ["png", "tif"])
def test_sixteen_bits(tmp_path, suffix):
    wide = FLAT.astype(np.uint16) * 20000
    Image.fromarray(wide).save(tmp_path / f"m.{suffix}")
    check(tmp_path / f"m.{suffix}", wide, {"tif": "tiff"}.get(suffix, suffix), np.uint16)
    assert read_image(tmp_path / f"m.{suffix}").array.dtype == np.uint16


def png_of(array, bits):
    """A grey PNG of 1, 2 or 4 bits, by hand: Pillow does not write them."""

    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    shifts = np.arange(8 - bits, -1, -bits)
    per_byte = 8 // bits
    padded = np.pad(array, ((0, 0), (0, -array.shape[1] % per_byte))).reshape(len(array), -1, per_byte)
    rows = (padded << shifts).sum(axis=2).astype(np.uint8)
    header = struct.pack(">IIBBBBB", array.shape[1], array.shape[0], bits, 0, 0, 0, 0)
    body = zlib.compress(b"".join(b"\0" + row.tobytes() for row in rows))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


@pytest.mark.parametrize("bits", [1, 2, 4])
def test_grey_of_few_bits_keeps_its_labels(tmp_path, bits):
    array = FLAT % (1 << bits)
    (tmp_path / "m.png").write_bytes(png_of(array, bits))
    check(tmp_path / "m.png", array, "png", np.uint8)


def test_a_picture_with_alpha_is_no_mask(tmp_path):
    Image.fromarray(np.zeros((5, 7, 4), np.uint8)).save(tmp_path / "m.png")
    with pytest.raises(FormatError, match=r"is an RGBA picture, not a mask: .* 4 channels; save one channel"):
        read_mask(tmp_path / "m.png")


@pytest.mark.parametrize("mode", ["RGB", "LA", "CMYK"])
def test_colour_is_no_mask(tmp_path, mode):
    path = tmp_path / {"CMYK": "m.tif"}.get(mode, "m.png")
    Image.new(mode, (4, 3)).save(path)
    with pytest.raises(FormatError, match=f"is an {mode} picture"):
        read_mask(path)
    assert read_image(path).array.shape == ((3, 4) if mode == "LA" else (3, 4, 3))


def test_alpha_is_dropped(tmp_path):
    Image.fromarray(np.full((3, 4, 4), (9, 8, 7, 0), np.uint8)).save(tmp_path / "i.png")
    assert read_image(tmp_path / "i.png").array[0, 0].tolist() == [9, 8, 7]


@pytest.mark.parametrize("name", ["m.jpg", "m.jpeg", "m.png"])
def test_jpeg_is_known_by_its_content(tmp_path, name):
    mask = np.zeros((64, 64), np.uint8)
    mask[20:40, 13:50] = 255
    Image.fromarray(mask).save(tmp_path / name, format="JPEG", quality=75)
    found = read_mask(tmp_path / name)
    assert found.format == "jpeg"
    assert looks_compressed(found.array)
    assert not looks_compressed(mask)


@pytest.mark.parametrize("quality", [20, 50, 90])
def test_looks_compressed(quality):
    yy, xx = np.mgrid[:200, :200]
    disc = (((yy - 90) ** 2 + (xx - 110) ** 2) < 60**2) * np.uint8(255)
    stream = io.BytesIO()
    Image.fromarray(disc).save(stream, format="JPEG", quality=quality)
    assert looks_compressed(np.asarray(Image.open(stream)))
    assert looks_compressed(np.asarray(Image.open(stream)) / 255)


@pytest.mark.parametrize(
    "values",
    [[0], [0, 255], [0, 1], [0, 1, 2, 3, 4, 5, 255], list(range(256)), [0.0, 1.0], [0, 1000], []],
)
def test_ordinary_masks_do_not_look_compressed(values):
    assert not looks_compressed(np.array(values))


def test_pages_are_a_volume(tmp_path):
    tifffile.imwrite(tmp_path / "v.tif", VOLUME, photometric="minisblack")
    check(tmp_path / "v.tif", VOLUME, "tiff", np.uint8)
    np.testing.assert_array_equal(read_mask(f"{tmp_path}/v.tif[2]").array, VOLUME[2])


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64, np.int8, np.int16, np.float32, np.float64, np.uint16])
@pytest.mark.parametrize("big", [False, True])
def test_tiff_of_every_type(tmp_path, dtype, big):
    tifffile.imwrite(tmp_path / "m.tif", FLAT.astype(dtype), bigtiff=big, compression="zlib")
    np.testing.assert_array_equal(read_mask(tmp_path / "m.tif").array, FLAT)
    assert probe(tmp_path / "m.tif").shape == FLAT.shape


def test_reduced_pages_are_passed_over_and_odd_ones_refused(tmp_path):
    with tifffile.TiffWriter(tmp_path / "m.tif") as file:
        file.write(FLAT)
        file.write(FLAT[::2, ::2], subfiletype=1)
    check(tmp_path / "m.tif", FLAT, "tiff", np.uint8)
    with tifffile.TiffWriter(tmp_path / "odd.tif") as file:
        file.write(FLAT)
        file.write(FLAT[::2, ::2])
    with pytest.raises(FormatError, match="pages differ in size"):
        read_mask(tmp_path / "odd.tif")


def test_animations_are_refused(tmp_path):
    frames = [Image.fromarray(FLAT * n) for n in (1, 20, 40)]
    frames[0].save(tmp_path / "m.gif", save_all=True, append_images=frames[1:])
    with pytest.raises(FormatError, match="animation of 3 frames"):
        read_mask(tmp_path / "m.gif")


@pytest.mark.parametrize("dtype", ["?", "u1", "<i8", ">u2", "f4", ">f8", "f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_arrays(tmp_path, dtype, order):
    array = np.asarray(VOLUME > 0, dtype=dtype, order=order)
    np.save(tmp_path / "m.npy", array)
    np.savez_compressed(tmp_path / "m.npz", array)
    for path in (tmp_path / "m.npy", tmp_path / "m.npz"):
        mask = read_mask(path)
        np.testing.assert_array_equal(mask.array, VOLUME > 0)
        assert mask.array.dtype.isnative
        assert mask.array.dtype == {"?": "u1", "u1": "u1", "<i8": "i8", ">u2": "u2"}.get(dtype, "u1")
        assert probe(path).shape == VOLUME.shape


def test_booleans_of_pillow_are_0_and_1(tmp_path):
    Image.fromarray(FLAT > 1).save(tmp_path / "m.png")
    np.save(tmp_path / "m.npy", np.asarray(Image.open(tmp_path / "m.png")))
    check(tmp_path / "m.npy", FLAT > 1, "npy", np.uint8)


def test_plain_arrays_are_mapped(tmp_path):
    np.save(tmp_path / "m.npy", FLAT)
    assert isinstance(read_mask(tmp_path / "m.npy").array, np.memmap)


def test_members_and_indices(tmp_path):
    np.savez(tmp_path / "m.npz", a=VOLUME, b=FLAT)
    np.testing.assert_array_equal(read_mask(f"{tmp_path}/m.npz/b").array, FLAT)
    for index in range(4):
        mask = read_mask(Location(tmp_path / "m.npz", "a", index))
        np.testing.assert_array_equal(mask.array, VOLUME[index])
        assert probe(f"{tmp_path}/m.npz/a[{index}]") == mask.grid
    with pytest.raises(FormatError, match="holds 2 arrays"):
        read_mask(tmp_path / "m.npz")
    with pytest.raises(FormatError, match="no array 'c' but 2 others, such as a, b"):
        read_mask(f"{tmp_path}/m.npz/c")
    with pytest.raises(FormatError, match="no index 4 in an array of 4×5×6"):
        read_mask(f"{tmp_path}/m.npz/a[4]")


def test_a_changed_archive_is_read_again(tmp_path):
    for factor in (1, 2):
        np.savez(tmp_path / "m.npz", a=FLAT * factor, **{f"x{n}": FLAT for n in range(factor)})
        np.testing.assert_array_equal(read_mask(f"{tmp_path}/m.npz/a").array, FLAT * factor)


def test_colour_arrays_are_images(tmp_path):
    np.save(tmp_path / "i.npy", np.zeros((5, 7, 4), np.uint8))
    assert read_image(tmp_path / "i.npy").array.shape == (5, 7, 3)
    assert read_image(tmp_path / "i.npy").grid.shape == (5, 7)
    np.save(tmp_path / "v.npy", np.full((5, 7, 9), np.nan))
    assert np.isnan(read_image(tmp_path / "v.npy").array).all()


@pytest.mark.parametrize("array", [np.array([{}]), np.array(["a"]), np.zeros((2, 2), complex)])
def test_arrays_of_other_things(tmp_path, array):
    np.save(tmp_path / "m.npy", array, allow_pickle=True)
    with pytest.raises(FormatError, match="not integers, booleans or floats"):
        read_mask(tmp_path / "m.npy")


@pytest.mark.parametrize("shape", [(7,), (2, 3, 4, 5), ()])
def test_too_few_or_many_axes(tmp_path, shape):
    np.save(tmp_path / "m.npy", np.zeros(shape))
    for call in (read_mask, read_image, probe):
        with pytest.raises(FormatError):
            call(tmp_path / "m.npy")


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.5, -1.0, 1e30])
def test_values_that_are_no_labels(tmp_path, bad):
    array = FLAT.astype(float)
    array[2, 3] = bad
    np.save(tmp_path / "m.npy", array)
    nib.save(nib.Nifti1Image(array[..., None], None), tmp_path / "m.nii.gz")
    for name in ("m.npy", "m.nii.gz"):
        with pytest.raises(
            LabelError, match=f"{name}: 1 values are not labels, such as {f'{bad:.6g}'.replace('+', '.')}"
        ):
            read_mask(tmp_path / name)


def test_negative_integers_are_no_labels(tmp_path):
    np.save(tmp_path / "m.npy", FLAT.astype(np.int16) - 1)
    with pytest.raises(LabelError, match="such as -1; "):
        read_mask(tmp_path / "m.npy")


def test_large_whole_floats(tmp_path):
    np.save(tmp_path / "m.npy", FLAT * 300.0)
    assert read_mask(tmp_path / "m.npy").array.dtype == np.uint16


@pytest.mark.parametrize("kind", [nib.Nifti1Image, nib.Nifti2Image])
@pytest.mark.parametrize("name", ["m.nii", "m.nii.gz"])
@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8"])
def test_nifti(tmp_path, kind, name, dtype):
    nib.save(kind(VOLUME.astype(dtype), AFFINE), tmp_path / name)
    mask = check(tmp_path / name, VOLUME, "nifti", np.int16 if dtype == "i2" else np.uint8)
    assert mask.array.flags.f_contiguous
    np.testing.assert_allclose(mask.grid.affine, AFFINE, rtol=1e-6)
    assert mask.grid.item_size == (pytest.approx(0.7 * 0.7 * 2.5), "mm³")


def test_nifti_scaling_applies(tmp_path):
    image = nib.Nifti1Image(VOLUME.astype(np.uint8), AFFINE)
    image.header.set_slope_inter(2, 1)
    nib.save(image, tmp_path / "m.nii")
    raw = bytearray((tmp_path / "m.nii").read_bytes())
    raw[112:120] = struct.pack("<ff", 2, 1)
    (tmp_path / "m.nii").write_bytes(raw)
    stored = np.frombuffer(bytes(raw[352:]), np.uint8).reshape(VOLUME.shape, order="F")
    np.testing.assert_array_equal(read_mask(tmp_path / "m.nii").array, stored * 2 + 1)


def test_nifti_axes(tmp_path):
    nib.save(nib.Nifti1Image(VOLUME[..., None], AFFINE), tmp_path / "one.nii")
    check(tmp_path / "one.nii", VOLUME, "nifti", np.uint8)
    nib.save(nib.Nifti1Image(FLAT[..., None], AFFINE), tmp_path / "slice.nii")
    check(tmp_path / "slice.nii", FLAT[..., None], "nifti", np.uint8)
    nib.save(nib.Nifti1Image(np.stack([VOLUME] * 2, -1), AFFINE), tmp_path / "two.nii")
    with pytest.raises(FormatError, match="has 4 axes"):
        read_mask(tmp_path / "two.nii")


def test_nifti_units_become_mm(tmp_path):
    image = nib.Nifti1Image(VOLUME, np.diag([500.0, 500, 500, 1]))
    image.header.set_xyzt_units("micron")
    nib.save(image, tmp_path / "m.nii")
    assert read_mask(tmp_path / "m.nii").grid.spacing == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("bad", [0.0, np.nan, np.inf])
def test_nifti_spacing_that_is_none(tmp_path, bad):
    nib.save(nib.Nifti1Image(VOLUME, AFFINE), tmp_path / "m.nii")
    raw = bytearray((tmp_path / "m.nii").read_bytes())
    raw[80:84] = struct.pack("<f", bad)
    (tmp_path / "m.nii").write_bytes(raw)
    for call in (read_mask, probe):
        with pytest.raises(GridError, match=r"m\.nii: spacing"):
            call(tmp_path / "m.nii")


LPS = {
    "space": "left-posterior-superior",
    "space directions": (np.diag([-1, -1, 1]) @ AFFINE[:3, :3]).T,
    "space origin": np.diag([-1, -1, 1]) @ AFFINE[:3, 3],
}


@pytest.mark.parametrize("encoding", ["gzip", "raw", "bzip2", "ascii"])
def test_nrrd_and_nifti_of_one_volume_have_one_grid(tmp_path, encoding):
    nrrd.write(str(tmp_path / "m.nrrd"), VOLUME, LPS | {"encoding": encoding})
    nib.save(nib.Nifti1Image(VOLUME, AFFINE), tmp_path / "m.nii")
    mask = check(tmp_path / "m.nrrd", VOLUME, "nrrd", np.uint8)
    assert mask.grid.difference(read_mask(tmp_path / "m.nii").grid) == ""
    shifted = LPS | {"space origin": LPS["space origin"] + (3.0, 0, 0)}
    nrrd.write(str(tmp_path / "s.nrrd"), VOLUME, shifted)
    assert probe(tmp_path / "s.nrrd").difference(mask.grid) == "affine: the origin is 3 mm away"


def test_nrrd_spacing(tmp_path):
    nrrd.write(str(tmp_path / "m.nrrd"), FLAT, {"spacings": [0.5, 0.25]})
    assert read_mask(tmp_path / "m.nrrd").grid.item_size == (0.125, "mm²")
    for bad in (0.0, np.nan):
        nrrd.write(str(tmp_path / "bad.nrrd"), FLAT, {"spacings": [bad, 0.25]})
        with pytest.raises(GridError, match=r"bad\.nrrd: spacing"):
            read_mask(tmp_path / "bad.nrrd")
    nrrd.write(str(tmp_path / "four.seg.nrrd"), np.zeros((2, 3, 4, 5), np.uint8))
    with pytest.raises(FormatError, match="has 4 axes"):
        read_mask(tmp_path / "four.seg.nrrd")


def test_many_threads_read_at_once(tmp_path):
    before = Image.MAX_IMAGE_PIXELS
    Image.fromarray(np.tile(FLAT, (40, 40))).save(tmp_path / "m.png")
    results = []
    threads = [threading.Thread(target=lambda: results.append(read_mask(tmp_path / "m.png"))) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 16
    assert before == Image.MAX_IMAGE_PIXELS


@pytest.mark.slow
def test_more_pixels_than_pillow_likes(tmp_path):
    # 20,000 × 20,000 is beyond Pillow's own limit and within ours.
    Image.new("1", (20_000, 20_000)).save(tmp_path / "m.png")
    assert probe(tmp_path / "m.png").shape == (20_000, 20_000)
    assert not read_mask(tmp_path / "m.png").array.any()
    assert MAX_ITEMS > 20_000**2

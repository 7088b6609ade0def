"""The images of DICOM series beside their masks: voxels and geometry are SimpleITK's, or it is said why not."""

import io
import pickle
import tracemalloc
from contextlib import suppress
from pathlib import Path

import numpy as np
import pydicom
import pytest
import SimpleITK
from PIL import Image
from pydicom.pixels import get_decoder
from test_dicom_seg import hd_enhanced

from dicom_files import COLUMNS, ROWS, SLICES, image, images, masks, segmentation, series_folder
from manytruths import InputError
from manytruths.exchange import read_dicom_seg
from manytruths.exchange.readings import NoPicture
from manytruths.io import probe, read_image
from mutations import mutated

RLE, JPEG_LS, JPEG_2000 = "1.2.840.10008.1.2.5", "1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.90"
JPEG_LOSSLESS = "1.2.840.10008.1.2.4.70"
INVERTED = {"PhotometricInterpretation": "MONOCHROME1"}
SIGNED, UNSIGNED = {"PixelRepresentation": 1}, {"PixelRepresentation": 0}


def noise(low, high, seed=0, slices=SLICES):
    return np.random.default_rng(seed).integers(low, high, (slices, ROWS, COLUMNS))


def stored(values):
    return {"PixelData": values.astype("<i8").astype("<u2").tobytes()}


def series(folder: Path, values, **more) -> Path:
    folder.mkdir()
    for k, plane in enumerate(values):
        own = {name: value[k] if isinstance(value, list) else value for name, value in more.items()}
        image(k, **(stored(plane) | own)).save_as(folder / f"{(7 * k) % 13:03}.dcm", enforce_file_format=True)
    return folder


def picture_of(folder: Path, tmp_path: Path):
    """The picture that a read of the series has, sent to another process and back."""
    path = tmp_path / "segs" / "a.dcm"
    path.parent.mkdir(exist_ok=True)
    segmentation(images(folder), masks()).save_as(path)
    (read,) = read_dicom_seg([path, folder])
    return read, pickle.loads(pickle.dumps(read.picture))


def written(folder: Path, tmp_path: Path):
    read, picture = picture_of(folder, tmp_path)
    assert picture.suffix == ".nii.gz"
    picture.write(tmp_path / "out" / "p01.nii.gz")
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["p01.nii.gz"]
    return read, tmp_path / "out" / "p01.nii.gz"


def by_simpleitk(folder: Path) -> SimpleITK.Image:
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    return reader.Execute()


def check_as_simpleitk(folder: Path, tmp_path: Path, near: float = 0.0) -> np.ndarray:
    read, path = written(folder, tmp_path)
    there, here = by_simpleitk(folder), SimpleITK.ReadImage(str(path))
    expected = SimpleITK.GetArrayFromImage(there)
    assert np.abs(SimpleITK.GetArrayFromImage(here).astype(float) - expected).max() <= near
    assert here.GetSize() == there.GetSize()
    for what in ("GetSpacing", "GetOrigin", "GetDirection"):
        np.testing.assert_allclose(getattr(here, what)(), getattr(there, what)(), atol=2e-5)
    assert not probe(path).difference(read.grid)
    seen = read_image(path)
    assert seen.array.shape == read.grid.shape
    return seen.array


# -- values -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("low", "high", "more", "kind", "near"),
    [
        (0, 4096, {"RescaleIntercept": -1024, "BitsStored": 12, "HighBit": 11}, "int16", 0),
        (-1024, 3000, SIGNED, "int16", 0),
        (-2048, 2048, SIGNED | {"BitsStored": 12, "HighBit": 11}, "int16", 0),
        (0, 65536, UNSIGNED, "uint16", 0),
        (0, 65536, {"RescaleIntercept": -1024}, "int32", 0),
        (0, 200, {"BitsStored": 8, "HighBit": 7}, "uint8", 0),
        (0, 4096, {"RescaleSlope": 2.25, "RescaleIntercept": -7.5, "BitsStored": 12, "HighBit": 11}, "float32", 1e-3),
        (0, 4096, INVERTED | {"BitsStored": 12, "HighBit": 11}, "int16", 0),
        (0, 4096, INVERTED | {"RescaleIntercept": -1024, "BitsStored": 12, "HighBit": 11}, "int16", 0),
    ],
)
def test_voxels_are_those_of_simpleitk(low, high, more, kind, near, tmp_path):
    folder = series(tmp_path / "ct", noise(low, high), **more)
    assert check_as_simpleitk(folder, tmp_path, near).dtype == kind


def test_each_slice_has_its_own_scale(tmp_path):
    """As in PET, where slices are stored each by their largest value."""
    values, slopes = noise(0, 32767), [0.25 + k / 8 for k in range(SLICES)]
    folder = series(tmp_path / "pet", values, RescaleSlope=slopes, RescaleIntercept=0.0)
    made = check_as_simpleitk(folder, tmp_path, 1e-3)
    np.testing.assert_array_equal(made, (values * np.array(slopes)[:, None, None]).transpose(2, 1, 0))


def test_bits_above_those_that_count_are_not_looked_at(tmp_path):
    values = noise(-2048, 2048)
    spoilt = (values & 0x0FFF) | 0x5000
    folder = series(tmp_path / "ct", spoilt, BitsStored=12, HighBit=11, **SIGNED)
    _, path = written(folder, tmp_path)
    np.testing.assert_array_equal(read_image(path).array, values.transpose(2, 1, 0))


def test_values_with_a_sign_are_turned_round_too(tmp_path):
    """SimpleITK does not read these."""
    values = noise(-2048, 2048)
    folder = series(tmp_path / "ct", values, RescaleSlope=2, BitsStored=12, HighBit=11, **INVERTED, **SIGNED)
    _, path = written(folder, tmp_path)
    np.testing.assert_array_equal(read_image(path).array, 2 * (-1 - values).transpose(2, 1, 0))


def as_jpeg_2000(plane):
    packed = io.BytesIO()
    Image.fromarray(plane).save(packed, "JPEG2000", no_jp2=True, irreversible=False)
    return packed.getvalue()


def compressed(path: Path, syntax: str) -> None:
    one = pydicom.dcmread(path)
    if syntax == JPEG_2000:
        one.PixelData = pydicom.encaps.encapsulate([as_jpeg_2000(one.pixel_array)])
        one["PixelData"].VR, one["PixelData"].is_undefined_length = "OB", True
        one.file_meta.TransferSyntaxUID = syntax
    else:
        one.compress(syntax, generate_instance_uid=False)
    one.save_as(path)


@pytest.mark.parametrize(
    ("syntax", "sign", "low", "high"),
    [
        (RLE, SIGNED, -1000, 2000),
        (RLE, UNSIGNED, 0, 4096),
        (JPEG_LS, SIGNED, -1000, 2000),
        (JPEG_LS, UNSIGNED, 0, 4096),
        (JPEG_2000, UNSIGNED, 0, 4096),
    ],
)
def test_packed_slices(syntax, sign, low, high, tmp_path):
    values = noise(low, high)
    folder = series(tmp_path / "ct", values, RescaleIntercept=-24, **sign)
    for path in folder.iterdir():
        compressed(path, syntax)
    made = check_as_simpleitk(folder, tmp_path)
    np.testing.assert_array_equal(made, values.transpose(2, 1, 0) - 24)


@pytest.mark.parametrize("packed", [False, True])
def test_an_enhanced_image_whose_frames_are_out_of_order(packed, tmp_path):
    """Each frame has its own scale; slices are read as SimpleITK reads the series of single slices."""
    values = noise(0, 4096)
    single = series(tmp_path / "ct", values)
    order = [(5 * k) % SLICES for k in range(SLICES)]
    many = hd_enhanced([images(single)[k] for k in order])
    for k, frame in zip(order, many.PerFrameFunctionalGroupsSequence, strict=True):
        own = pydicom.Dataset()
        own.RescaleSlope, own.RescaleIntercept, own.RescaleType = 1 + k, -k, "US"
        frame.PixelValueTransformationSequence = [own]
    if packed:
        many.compress(RLE, generate_instance_uid=False)
    (tmp_path / "many").mkdir()
    many.save_as(tmp_path / "many" / "all.dcm", enforce_file_format=True)
    segmentation([many], masks()[order]).save_as(tmp_path / "seg.dcm")
    (read,) = read_dicom_seg([tmp_path / "seg.dcm", tmp_path / "many"])
    read.picture.write(tmp_path / "p01.nii.gz")
    plain = SimpleITK.GetArrayFromImage(by_simpleitk(single))
    step = np.arange(SLICES)[:, None, None]
    made = read_image(tmp_path / "p01.nii.gz")
    np.testing.assert_array_equal(made.array, (plain.astype(int) * (1 + step) - step).transpose(2, 1, 0))
    assert made.array.dtype == "int32"
    assert not made.grid.difference(read.grid)


# -- flat images ------------------------------------------------------------------------------------------


def flat(tmp_path, name="photo", **more):
    """What a read of an image without a place has as its picture."""
    made = image(0, series=name)
    for gone in ("ImagePositionPatient", "ImageOrientationPatient", "FrameOfReferenceUID", "SliceThickness"):
        delattr(made, gone)
    del made.PositionReferenceIndicator
    made.SOPClassUID = made.file_meta.MediaStorageSOPClassUID = pydicom.uid.SecondaryCaptureImageStorage
    segmentation([made], masks()[5:6], omit_empty_frames=False).save_as(tmp_path / "seg.dcm")
    for key, value in more.items():
        setattr(made, key, value)
    (tmp_path / name).mkdir()
    made.save_as(tmp_path / name / "0.dcm", enforce_file_format=True)
    (read,) = read_dicom_seg([tmp_path / "seg.dcm", tmp_path / name])
    assert read.grid.shape == (ROWS, COLUMNS)
    return read.picture


@pytest.mark.parametrize("photometric", ["MONOCHROME2", "MONOCHROME1"])
def test_a_flat_image_is_a_tiff_that_looks_as_it_did(photometric, tmp_path):
    (values,) = noise(0, 4096, slices=1)
    more = {"BitsStored": 12, "HighBit": 11, "PhotometricInterpretation": photometric}
    picture = flat(tmp_path, **more, **stored(values))
    picture.write(tmp_path / f"p{picture.suffix}")
    expected = values if photometric == "MONOCHROME2" else 4095 - values
    np.testing.assert_array_equal(read_image(tmp_path / "p.tif").array, expected)
    with Image.open(tmp_path / "p.tif") as seen:
        assert seen.mode == "I;16"


@pytest.mark.parametrize("planar", [0, 1])
def test_a_flat_image_in_colour(planar, tmp_path):
    colours = np.random.default_rng(1).integers(0, 256, (ROWS, COLUMNS, 3)).astype(np.uint8)
    data = (colours.transpose(2, 0, 1) if planar else colours).tobytes()
    picture = flat(tmp_path, **(IN_COLOUR | {"PlanarConfiguration": planar}), PixelData=data)
    picture.write(tmp_path / "p.tif")
    np.testing.assert_array_equal(read_image(tmp_path / "p.tif").array, colours)


def test_a_flat_image_of_another_size_is_none(tmp_path):
    picture = flat(tmp_path, Rows=ROWS - 1)
    with pytest.raises(NoPicture, match="40 × 31 pixels, and what was drawn on it has others"):
        picture.write(tmp_path / "p.tif")


# -- what cannot be decoded -------------------------------------------------------------------------------


IN_COLOUR = {
    "SamplesPerPixel": 3, "PhotometricInterpretation": "RGB", "PlanarConfiguration": 0,
    "BitsAllocated": 8, "BitsStored": 8, "HighBit": 7,
}  # fmt: skip


def spoilt(one, what):
    if what == "colour":
        for name, value in (IN_COLOUR | {"PixelData": bytes(3 * ROWS * COLUMNS)}).items():
            setattr(one, name, value)
    elif what == "decoder":
        # JPEG's own start, with a size, as a scanner packs without loss
        start = b"\xff\xc3\x00\x0b\x10" + ROWS.to_bytes(2, "big") + COLUMNS.to_bytes(2, "big") + b"\x01\x01\x11\x00"
        one.PixelData = pydicom.encaps.encapsulate([b"\xff\xd8" + start + b"\xff\xd9"])
        one["PixelData"].VR, one["PixelData"].is_undefined_length = "OB", True
        one.file_meta.TransferSyntaxUID = JPEG_LOSSLESS
    elif what == "short":
        one.PixelData = one.PixelData[:-600]
    elif what == "none":
        del one.PixelData
    elif what == "scale":
        one.RescaleSlope = 0
    elif what == "bits":
        one.BitsStored = 17


@pytest.mark.parametrize(
    ("what", "said"),
    [
        ("colour", r"is in colour \(RGB\)"),
        ("decoder", "no decoder of its frames is installed"),
        ("short", "cut short"),
        ("none", "has no pixels"),
        ("scale", "rescaled by 0"),
        ("bits", "17 of 16 bits"),
    ],
)
def test_what_cannot_be_decoded_leaves_nothing(what, said, tmp_path):
    folder = series_folder(tmp_path / "ct")
    if what == "decoder" and get_decoder(JPEG_LOSSLESS).is_available:
        pytest.skip("there is one here")
    _, picture = picture_of(folder, tmp_path)
    path = folder / "007.dcm"
    one = pydicom.dcmread(path)
    spoilt(one, what)
    one.save_as(path)
    with pytest.raises(NoPicture, match=said) as caught:
        picture.write(tmp_path / "out" / "p01.nii.gz")
    assert str(caught.value).startswith(f"{path}: ")
    assert "\n" not in str(caught.value)
    assert not [*(tmp_path / "out").glob("*")]


def test_a_series_that_went_away_is_none(tmp_path):
    folder = series_folder(tmp_path / "ct")
    _, picture = picture_of(folder, tmp_path)
    (folder / "007.dcm").unlink()
    with pytest.raises(NoPicture, match="No such file"):
        picture.write(tmp_path / "p01.nii.gz")


def test_a_file_that_cannot_be_written_is_an_error(tmp_path):
    """It is not the fault of the images."""
    _, picture = picture_of(series_folder(tmp_path / "ct"), tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="is a file, not a folder") as caught:
        picture.write(tmp_path / "file" / "p01.nii.gz")
    assert not isinstance(caught.value, NoPicture)


@pytest.mark.slow
def test_damaged_images_are_none_or_a_picture(tmp_path):
    """Two hundred times another slice is broken at another place."""
    folder = series_folder(tmp_path / "ct")
    _, picture = picture_of(folder, tmp_path)
    compressed(folder / "007.dcm", RLE)
    whole = {path: path.read_bytes() for path in folder.iterdir()}
    for seed in range(200):
        path = sorted(whole)[seed % len(whole)]
        path.write_bytes(mutated(whole[path], seed))
        with suppress(NoPicture):
            picture.write(tmp_path / "p01.nii.gz")
        path.write_bytes(whole[path])


@pytest.mark.slow
def test_a_stack_is_never_whole_in_memory(tmp_path):
    sides = {"Rows": 256, "Columns": 256}
    plane = np.random.default_rng(0).integers(0, 4096, (256, 256)).astype("<u2").tobytes()
    folder = tmp_path / "ct"
    folder.mkdir()
    for k in range(200):
        image(k, PixelData=plane, **sides).save_as(folder / f"{k}.dcm", enforce_file_format=True)
    segmentation([image(0, PixelData=plane, **sides)], np.ones((1, 256, 256), np.uint8), ["a"]).save_as(
        tmp_path / "seg.dcm"
    )
    (read,) = read_dicom_seg([tmp_path / "seg.dcm", folder])
    tracemalloc.start()
    read.picture.write(tmp_path / "p01.nii.gz")
    assert tracemalloc.get_traced_memory()[1] < 8 << 20  # the stack is 26 MB
    tracemalloc.stop()
    assert probe(tmp_path / "p01.nii.gz").shape == (256, 256, 200)


def test_without_its_series_there_is_no_picture(tmp_path):
    folder = series_folder(tmp_path / "ct")
    segmentation(images(folder), masks()).save_as(tmp_path / "seg.dcm")
    assert read_dicom_seg(tmp_path / "seg.dcm")[0].picture is None

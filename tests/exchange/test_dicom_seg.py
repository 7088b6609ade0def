"""DICOM segmentations: on the whole stack of their series, pixel by pixel as highdicom and pydicom read them."""

from __future__ import annotations

import io
import pickle
import shutil
import warnings
import zlib

import highdicom as hd
import numpy as np
import pydicom
import pytest
from PIL import Image

from dicom_files import COLUMNS, OBLIQUE, ROWS, SLICES, SPACING, STEP, image, images, masks, segmentation, series_folder
from manytruths import FormatError, GridError
from manytruths.exchange.dicom.pixels import decode_rle
from manytruths.exchange.dicom.segmentations import person_name, read_dicom_seg
from manytruths.exchange.readings import combine_readings
from manytruths.shape.alignment import align

pytestmark = pytest.mark.filterwarnings("default")
"""highdicom and pydicom warn of their own; what the readers do is looked at in test_nothing_is_said."""


@pytest.fixture
def ct(tmp_path):
    return series_folder(tmp_path / "ct")


def saved(path, dataset):
    path.parent.mkdir(parents=True, exist_ok=True)
    dataset.save_as(path)
    return path


def volume(pixels, segment):
    return pixels[..., segment].astype(bool).transpose(2, 1, 0)


# -- the stack ----------------------------------------------------------------------------------------


def test_frames_lie_on_the_whole_stack_of_the_series(ct, tmp_path):
    pixels = masks()
    saved(tmp_path / "seg.dcm", segmentation(images(ct), pixels))
    (read,) = read_dicom_seg(tmp_path)
    assert (read.rater, read.image, read.subject, read.status) == ("Jane Doe", "p01", "p01", "done")
    assert (read.tool, read.case, read.session) == ("DICOM SEG", "", "")
    assert read.grid.shape == (COLUMNS, ROWS, SLICES)
    found = read.structures()
    assert list(found) == ["tumour", "cyst"]
    for number, name in enumerate(found):
        np.testing.assert_array_equal(found[name], volume(pixels, number))
    assert read.marks[0].attributes == {
        "algorithm": "MANUAL", "category": "Morphologically Abnormal Structure", "type": "Neoplasm",
    }  # fmt: skip


@pytest.mark.parametrize("orientation", [OBLIQUE, (1, 0, 0, 0, 1, 0), (0, 1, 0, 0, 0, -1), (-1, 0, 0, 0, 1, 0)])
def test_voxels_lie_where_simpleitk_puts_them(tmp_path, orientation):
    import SimpleITK

    folder = series_folder(tmp_path / "ct", orientation=orientation)
    saved(tmp_path / "seg.dcm", segmentation(images(folder), masks()))
    (read,) = read_dicom_seg(tmp_path)
    reader = SimpleITK.ImageSeriesReader()
    reader.SetFileNames(reader.GetGDCMSeriesFileNames(str(folder)))
    peer = reader.Execute()
    assert peer.GetSize() == read.grid.shape
    affine = np.array(read.grid.affine)
    for voxel in [(0, 0, 0), (COLUMNS - 1, 0, 0), (0, ROWS - 1, 0), (3, 5, SLICES - 1)]:
        there = np.array(peer.TransformIndexToPhysicalPoint(voxel)) * [-1, -1, 1]
        np.testing.assert_allclose((affine @ [*voxel, 1])[:3], there, atol=1e-6)
    np.testing.assert_allclose(read.grid.spacing, (SPACING[1], SPACING[0], STEP))
    # and the slice that the segmentation is on is the one of that image
    level = np.flatnonzero(read.structures()["tumour"].any(axis=(0, 1)))
    values = SimpleITK.GetArrayFromImage(peer)[level, 0, 0] - 100
    assert values.tolist() == [3, 4, 5, 6, 7]


def test_without_its_series_it_spans_its_own_frames_and_pads_exactly(ct, tmp_path):
    pixels = masks()
    pixels[5] = 0  # a gap in the middle
    path = saved(tmp_path / "seg" / "a.dcm", segmentation(images(ct), pixels))
    (alone,) = read_dicom_seg(path)
    (whole,) = read_dicom_seg([path, ct])
    assert alone.tool == "DICOM SEG, without its series"
    assert alone.grid.shape == (COLUMNS, ROWS, 6)
    padded = align(alone.structures()["cyst"], alone.grid, whole.grid)
    assert padded.done.how == "padded"
    np.testing.assert_array_equal(padded.array, whole.structures()["cyst"])


def test_frames_that_are_far_apart_are_one_volume_by_their_common_step(ct, tmp_path):
    pixels = masks(segments=1)[..., 0] * 0
    pixels[[1, 7, 10], 3, 4] = 1
    made = segmentation(images(ct), pixels, ["tumour"])
    (read,) = read_dicom_seg(saved(tmp_path / "a.dcm", made))
    assert np.flatnonzero(read.structures()["tumour"].any(axis=(0, 1))).tolist() == [0, 6, 9]
    del made.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0].SpacingBetweenSlices
    (read,) = read_dicom_seg(saved(tmp_path / "a.dcm", made))
    assert np.flatnonzero(read.structures()["tumour"].any(axis=(0, 1))).tolist() == [0, 2, 3]  # for all that it knows


def test_a_series_of_several_times_is_one_stack(ct, tmp_path):
    saved(tmp_path / "seg.dcm", segmentation(images(ct), masks()))
    for k in range(SLICES):
        again = image(k, SOPInstanceUID=pydicom.uid.generate_uid())
        again.file_meta.MediaStorageSOPInstanceUID = again.SOPInstanceUID
        again.save_as(ct / f"later{k}.dcm", enforce_file_format=True)
    (read,) = read_dicom_seg(tmp_path)
    assert read.grid.shape == (COLUMNS, ROWS, SLICES)


def test_an_image_of_many_frames_is_a_series(ct, tmp_path):
    slices = images(ct)
    shuffled = [slices[(5 * k) % SLICES] for k in range(SLICES)]
    many = hd_enhanced(shuffled)
    pixels = masks()
    made = segmentation([many], pixels[[(5 * k) % SLICES for k in range(SLICES)]])
    folder = tmp_path / "many"
    folder.mkdir()
    many.save_as(folder / "image.dcm", enforce_file_format=True)
    saved(folder / "seg.dcm", made)
    (read,) = read_dicom_seg(folder)
    assert read.tool == "DICOM SEG"
    np.testing.assert_array_equal(read.structures()["tumour"], volume(pixels, 0))


def test_a_file_that_is_there_twice_is_one_slice(ct, tmp_path):
    made = segmentation(images(ct), masks())
    for frame in made.PerFrameFunctionalGroupsSequence:
        frame.pop("PlanePositionSequence", None)
    saved(tmp_path / "seg.dcm", made)
    shutil.copytree(ct, tmp_path / "copy")
    (read,) = read_dicom_seg(tmp_path)
    np.testing.assert_array_equal(read.structures()["tumour"], volume(masks(), 0))


def hd_enhanced(slices):
    """An enhanced CT of slices, by hand."""
    made = image(0, series="enhanced")
    made.file_meta.MediaStorageSOPClassUID = made.SOPClassUID = pydicom.uid.EnhancedCTImageStorage
    for name in ("ImagePositionPatient", "ImageOrientationPatient", "PixelSpacing", "SliceThickness"):
        delattr(made, name)
    made.NumberOfFrames = len(slices)
    made.PixelData = b"".join(one.PixelData for one in slices)
    shared, measures, way = pydicom.Dataset(), pydicom.Dataset(), pydicom.Dataset()
    measures.PixelSpacing, measures.SliceThickness = list(SPACING), 2.0
    way.ImageOrientationPatient = list(OBLIQUE)
    shared.PixelMeasuresSequence, shared.PlaneOrientationSequence = [measures], [way]
    made.SharedFunctionalGroupsSequence = [shared]
    frames = []
    for k, one in enumerate(slices):
        frame, position, content = pydicom.Dataset(), pydicom.Dataset(), pydicom.Dataset()
        position.ImagePositionPatient = one.ImagePositionPatient
        content.DimensionIndexValues = [k + 1]
        frame.PlanePositionSequence, frame.FrameContentSequence = [position], [content]
        frames.append(frame)
    made.PerFrameFunctionalGroupsSequence = frames
    return made


def test_a_segmentation_on_another_lattice_keeps_its_own(ct, tmp_path):
    made = segmentation(images(ct), masks())
    places = {id(f.PlanePositionSequence[0]): f.PlanePositionSequence[0] for f in made.PerFrameFunctionalGroupsSequence}
    for place in places.values():
        place.ImagePositionPatient = [float(place.ImagePositionPatient[0]) + 0.2, *place.ImagePositionPatient[1:]]
    saved(tmp_path / "seg.dcm", made)
    (read,) = read_dicom_seg(tmp_path)
    assert read.tool == "DICOM SEG, on a grid of its own"
    assert read.grid.shape[2] == 6


def test_frames_without_places_have_those_of_their_images(ct, tmp_path):
    pixels = masks()
    made = segmentation(images(ct), pixels)
    for frame in made.PerFrameFunctionalGroupsSequence:
        del frame.PlanePositionSequence
    saved(tmp_path / "seg.dcm", made)
    (read,) = read_dicom_seg(tmp_path)
    np.testing.assert_array_equal(read.structures()["cyst"], volume(pixels, 1))
    with pytest.raises(GridError, match="name the series"):
        read_dicom_seg(tmp_path / "seg.dcm")


def test_an_image_without_a_place_is_flat(tmp_path):
    def photograph():
        made = image(0)
        for name in ("ImagePositionPatient", "ImageOrientationPatient", "FrameOfReferenceUID", "SliceThickness"):
            delattr(made, name)
        del made.PositionReferenceIndicator
        made.SOPClassUID = made.file_meta.MediaStorageSOPClassUID = pydicom.uid.SecondaryCaptureImageStorage
        return made

    pixels = masks()[5:6]
    made = segmentation([photograph()], pixels, omit_empty_frames=False)
    (read,) = read_dicom_seg(saved(tmp_path / "seg.dcm", made))
    assert read.grid.shape == (ROWS, COLUMNS)
    assert read.grid.spacing == SPACING
    np.testing.assert_array_equal(read.structures()["tumour"], pixels[0, :, :, 0].astype(bool))


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda folder: (folder / f"{(7 * 4) % 13:03}.dcm").unlink(), "slices are missing: 5 mm between"),
        (lambda folder: resaved(folder, 4, lift=0.3), "irregular distances: 2.8 mm"),
        (lambda folder: resaved(folder, 4, orientation=(1, 0, 0, 0, 1, 0)), "several orientations"),
        (lambda folder: resaved(folder, 4, PixelSpacing=[0.7, 0.5]), "several spacings"),
        (lambda folder: resaved(folder, 4, Rows=16), "40 × 16"),
        (lambda folder: resaved(folder, 4, beside=0.4), "straight above"),
    ],
)
def test_series_that_are_no_stack_are_refused(ct, tmp_path, spoil, said):
    saved(tmp_path / "seg.dcm", segmentation(images(ct), masks()))
    spoil(ct)
    with pytest.raises(GridError, match=said) as refused:
        read_dicom_seg(tmp_path)
    assert str(refused.value).startswith(f"{ct}: its series: ")
    assert "\n" not in str(refused.value)


def resaved(folder, k, lift=0.0, beside=0.0, **more):
    made = image(k, **more)
    across, down = np.array(OBLIQUE).reshape(2, 3)
    place = np.array(made.ImagePositionPatient, float) + lift * np.cross(across, down) + beside * across
    made.ImagePositionPatient = [float(f"{x:.10g}") for x in place]
    made.save_as(folder / f"{(7 * k) % 13:03}.dcm", enforce_file_format=True)


def test_a_tenth_of_a_per_cent_is_regular(ct, tmp_path):
    saved(tmp_path / "seg.dcm", segmentation(images(ct), masks()))
    resaved(ct, 4, lift=0.0009 * STEP)
    assert read_dicom_seg(tmp_path)[0].tool == "DICOM SEG"
    resaved(ct, 4, lift=0.002 * STEP)
    with pytest.raises(GridError, match="irregular"):
        read_dicom_seg(tmp_path)


# -- kinds of pixels ----------------------------------------------------------------------------------


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2", "1.2.840.10008.1.2.1"])
def test_bits_are_those_of_pydicom_also_where_frames_end_within_a_byte(tmp_path, syntax):
    slices = [image(k, Rows=7, Columns=9) for k in range(SLICES)]
    pixels = (np.random.default_rng(1).random((SLICES, 7, 9, 3)) < 0.5).astype(np.uint8)
    made = segmentation(slices, pixels, "abc", transfer_syntax_uid=syntax)
    path = saved(tmp_path / "seg.dcm", made)
    (read,) = read_dicom_seg(path)
    for number, mark in enumerate(read.marks):
        np.testing.assert_array_equal(read.structures()[mark.label], volume(pixels, number))
    raw = pydicom.dcmread(path)
    for number, frame in read.marks[0].outline.pixels_of.decode(range(raw.NumberOfFrames)):
        np.testing.assert_array_equal(frame, raw.pixel_array[number])


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.1", "1.2.840.10008.1.2.5", "1.2.840.10008.1.2.4.80"])
@pytest.mark.parametrize("kind", ["LABELMAP", "FRACTIONAL"])
def test_label_maps_and_fractions_of_two_values(ct, tmp_path, kind, syntax):
    numbers = masks(segments=1)[..., 0] + 2 * (masks(3, 1)[..., 0] & ~masks(segments=1)[..., 0] & 1)
    saved(tmp_path / "seg.dcm", segmentation(images(ct), numbers, kind=kind, transfer_syntax_uid=syntax))
    (read,) = read_dicom_seg(tmp_path)
    found = read.structures()
    assert list(found) == ["tumour", "cyst"]
    np.testing.assert_array_equal(found["tumour"], (numbers == 1).transpose(2, 1, 0))
    np.testing.assert_array_equal(found["cyst"], (numbers == 2).transpose(2, 1, 0))


def jpeg_2000(frame):
    stream = io.BytesIO()
    Image.fromarray(frame).save(stream, "JPEG2000", no_jp2=True, irreversible=False)
    return stream.getvalue()


def deflated(frame):
    packing = zlib.compressobj(wbits=-15)
    return packing.compress(frame.tobytes()) + packing.flush()


@pytest.mark.parametrize(
    ("syntax", "packed"), [("1.2.840.10008.1.2.4.90", jpeg_2000), ("1.2.840.10008.1.2.8.1", deflated)]
)
def test_frames_packed_by_others(ct, tmp_path, syntax, packed):
    numbers = masks(segments=1)[..., 0]
    made = segmentation(images(ct), numbers, ["tumour"], kind="LABELMAP")
    frames = np.asarray(made.pixel_array)
    made.file_meta.TransferSyntaxUID = pydicom.uid.JPEGLSLossless
    made.PixelData = pydicom.encaps.encapsulate([packed(frame) for frame in frames])
    made["PixelData"].VR, made["PixelData"].is_undefined_length = "OB", True
    path = saved(tmp_path / "seg.dcm", made)
    # a syntax that pydicom does not write
    path.write_bytes(path.read_bytes().replace(pydicom.uid.JPEGLSLossless.encode(), syntax.encode().ljust(22, b"\0")))
    (read,) = read_dicom_seg(tmp_path)
    np.testing.assert_array_equal(read.structures()["tumour"], (numbers == 1).transpose(2, 1, 0))


def test_many_labels_take_two_bytes(ct, tmp_path):
    numbers = np.zeros((SLICES, ROWS, COLUMNS), np.uint16)
    numbers[2, 5, 6:306:1] = 0
    numbers[2:10].flat[:300] = np.arange(1, 301)
    labels = [f"s{n}" for n in range(1, 301)]
    for syntax in ("1.2.840.10008.1.2.1", "1.2.840.10008.1.2.5"):
        saved(
            tmp_path / "seg.dcm", segmentation(images(ct), numbers, labels, kind="LABELMAP", transfer_syntax_uid=syntax)
        )
        (read,) = read_dicom_seg(tmp_path)
        for number in (1, 255, 256, 300):
            np.testing.assert_array_equal(
                read.structures()[f"s{number}"], (numbers == number).transpose(2, 1, 0), err_msg=syntax
            )


def test_run_lengths_are_pydicoms():
    from pydicom.pixels.encoders import RLELosslessEncoder

    random = np.random.default_rng(0)
    for dtype in (np.uint8, np.uint16):
        array = np.repeat(random.integers(0, np.iinfo(dtype).max, 300), random.integers(1, 400, 300))[:8000].astype(
            dtype
        )
        packed = next(
            RLELosslessEncoder.iter_encode(
                array.reshape(80, 100), rows=80, columns=100, samples_per_pixel=1, bits_allocated=8 * array.itemsize,
                bits_stored=8 * array.itemsize, pixel_representation=0, photometric_interpretation="MONOCHROME2",
                number_of_frames=1,
            )
        )  # fmt: skip
        assert decode_rle(packed, array.nbytes, array.itemsize) == array.tobytes()


def test_fractions_are_refused(ct, tmp_path):
    made = segmentation(images(ct), np.random.default_rng(0).random((SLICES, ROWS, COLUMNS, 2)), kind="FRACTIONAL")
    path = saved(tmp_path / "seg.dcm", made)
    with pytest.raises(FormatError, match=r"holds fractions, not only 0 and 255; export it as a binary"):
        read_dicom_seg(path)


# -- who, and what ------------------------------------------------------------------------------------


def test_raters_are_named_by_the_path_the_creator_the_operator_the_series_or_the_file(ct, tmp_path):
    made = segmentation(images(ct), masks())
    path = saved(tmp_path / "reader_b.dcm", made)
    assert read_dicom_seg(f"Bob={path}")[0].rater == "Bob"
    assert read_dicom_seg(str(tmp_path / "reader_{rater}.dcm"))[0].rater == "b"
    assert read_dicom_seg(path)[0].rater == "Jane Doe"
    made.ContentCreatorName = ""
    made.OperatorsName = ["Roe^Richard", "Doe^Jane"]
    assert read_dicom_seg(saved(path, made))[0].rater == "Richard Roe"
    made.OperatorsName, made.SeriesDescription = None, "second look"
    assert read_dicom_seg(saved(path, made))[0].rater == "second look"
    del made.SeriesDescription
    assert read_dicom_seg(saved(path, made))[0].rater == "reader_b"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("Doe^Jane", "Jane Doe"),
        ("Doe^Jane^M.^Dr.^Jr.", "Jane M. Doe Jr."),
        ("rater_1", "rater_1"),
        ("Yamada^Tarou=山田^太郎=やまだ^たろう", "Tarou Yamada"),
        ("=山田^太郎", "太郎 山田"),
        ("^^^^", ""),
        ("", ""),
        (None, ""),
    ],
)
def test_people_are_called_as_one_says_it(written, said):
    assert person_name(written) == said
    assert person_name(None if written is None else pydicom.valuerep.PersonName(written)) == said


@pytest.mark.parametrize("charset", ["ISO_IR 100", "ISO_IR 192"])
def test_names_in_other_alphabets(ct, tmp_path, charset):
    made = segmentation(images(ct), masks(), rater="Müller^Jörg")
    made.SpecificCharacterSet = charset
    made.SegmentSequence[0].SegmentLabel = "Ödem"
    read = read_dicom_seg(saved(tmp_path / "a.dcm", made))[0]
    assert (read.rater, read.marks[0].label) == ("Jörg Müller", "Ödem")


def test_cases_are_patients_and_more_where_a_patient_has_several_series(tmp_path):
    for patient, series in [("p.1", "a"), ("p.1", "b"), ("p/2", "a")]:
        folder = tmp_path / f"{patient}{series}".replace("/", "-")
        series_folder(folder, patient=patient, series=series, SeriesNumber=3 if series == "a" else 4)
        for rater in ("A^", "B^"):
            saved(folder / f"{rater}.dcm", segmentation(images_of(folder), masks(), rater=rater))
    reads = read_dicom_seg(tmp_path)
    assert sorted((read.image, read.rater) for read in reads) == [
        (name, rater) for name in ("p_1_20260131_3", "p_1_20260131_4", "p_2") for rater in "AB"
    ]
    assert {read.subject for read in reads} == {"p.1", "p/2"}
    assert combine_readings(reads).cases == ("p_1_20260131_3", "p_1_20260131_4", "p_2")


def images_of(folder):
    return sorted((pydicom.dcmread(path) for path in folder.glob("0*.dcm")), key=lambda one: float(one.InstanceNumber))


def test_the_template_names_case_and_session(ct, tmp_path):
    saved(tmp_path / "segs" / "k7" / "ann_2.dcm", segmentation(images(ct), masks()))
    (read,) = read_dicom_seg([str(tmp_path / "segs" / "{case}" / "{rater}_{session}.dcm"), ct])
    assert (read.case, read.rater, read.session, read.tool) == ("k7", "ann", "2", "DICOM SEG")


def test_empty_is_not_unread(ct, tmp_path):
    made = segmentation(images(ct), masks() * 0, omit_empty_frames=False)
    (read,) = read_dicom_seg(saved(tmp_path / "a.dcm", made))
    assert read.status == "empty"
    assert not any(mask.any() for mask in read.structures().values())


def test_a_segment_without_frames_is_known_but_empty(ct, tmp_path):
    pixels = masks()
    pixels[..., 1] = 0
    (read,) = read_dicom_seg(saved(tmp_path / "a.dcm", segmentation(images(ct), pixels)))
    assert read.status == "done"
    assert {name: bool(mask.any()) for name, mask in read.structures().items()} == {"tumour": True, "cyst": False}


def test_reads_travel_to_other_processes(ct, tmp_path):
    saved(tmp_path / "seg.dcm", segmentation(images(ct), masks()))
    (read,) = read_dicom_seg(tmp_path)
    copy = pickle.loads(pickle.dumps(read))
    np.testing.assert_array_equal(copy.structures()["tumour"], read.structures()["tumour"])


def test_highdicom_reads_the_same(ct, tmp_path):
    path = saved(tmp_path / "seg.dcm", segmentation(images(ct), masks(7)))
    (read,) = read_dicom_seg(tmp_path)
    peer = hd.seg.segread(path).get_pixels_by_source_instance([one.SOPInstanceUID for one in images(ct)])
    for number, name in enumerate(("tumour", "cyst")):
        np.testing.assert_array_equal(read.structures()[name], volume(peer, number))


@pytest.mark.filterwarnings("error")
def test_nothing_is_said(ct, tmp_path, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made = segmentation(images(ct), masks())
        made.add_new((0x0011, 0x0010), "LO", "SOMEBODY")
        made.add_new((0x0011, 0x1001), "UN", b"\1\2\3")
        made.ContentCreatorName = "no caret, and " + "much too long " * 9
        saved(tmp_path / "seg.dcm", made)
    read_dicom_seg(tmp_path / "seg.dcm")[0].structures()
    assert capfd.readouterr() == ("", "")

"""DICOM segmentations as they are written: read back equal here, by highdicom, by pydicom and by SimpleITK."""

from __future__ import annotations

from dataclasses import replace
from importlib.metadata import version

import highdicom as hd
import numpy as np
import pydicom
import pytest
import SimpleITK
from hypothesis import given, settings
from hypothesis import strategies as st

from dicom_files import COLUMNS, ROWS, SLICES, image, images, masks, segmentation, series_folder, uid
from manytruths import Grid, GridError, InputError, LabelError
from manytruths.exchange.dicom.segmentations import read_dicom_seg
from manytruths.exchange.dicom.writing import find_series, write_dicom_seg
from manytruths.exchange.outlines import Whole
from manytruths.exchange.readings import Mark, Reading

pytestmark = pytest.mark.filterwarnings("default")


@pytest.fixture(scope="module")
def ct(tmp_path_factory):
    return series_folder(tmp_path_factory.mktemp("dicom") / "ct")


@pytest.fixture(scope="module")
def grid(ct, tmp_path_factory):
    path = tmp_path_factory.mktemp("seg") / "a.dcm"
    segmentation(images(ct), masks()).save_as(path)
    return read_dicom_seg([path, ct])[0].grid


def read_of(grid, masks, rater="Ann", **more):
    """By (name, rank): a mask."""
    marks = tuple(Mark(name, Whole(mask), k, rank) for k, ((name, rank), mask) in enumerate(masks.items()))
    return Reading("p01", rater, grid, marks, **more)


def blobs(seed, count=2):
    pixels = masks(seed, count).astype(bool)
    return {(f"part {k}", None): pixels[..., k].transpose(2, 1, 0) for k in range(count)}


def image_of(frame):
    return frame.DerivationImageSequence[0].SourceImageSequence[0].ReferencedSOPInstanceUID


def itk_image(path):
    return SimpleITK.ReadImage(str(path))


def test_four_readers_read_the_same(ct, grid, tmp_path):
    parts = blobs(0)
    path = tmp_path / "seg.dcm"
    write_dicom_seg(path, read_of(grid, parts), ct)
    (back,) = read_dicom_seg([path, ct])
    made = hd.seg.segread(path)
    sources = [one.SOPInstanceUID for one in images(ct)]
    peer = made.get_pixels_by_source_instance(sources)
    raw = pydicom.dcmread(path)
    order = [
        (frame.SegmentIdentificationSequence[0].ReferencedSegmentNumber - 1, sources.index(image_of(frame)))
        for frame in raw.PerFrameFunctionalGroupsSequence
    ]
    frames, itk = np.zeros((2, 2, SLICES, ROWS, COLUMNS), bool)
    for at, one, other in zip(order, raw.pixel_array, SimpleITK.GetArrayFromImage(itk_image(path)), strict=True):
        frames[at], itk[at] = one, other
    for number, (name, _) in enumerate(parts):
        wanted = parts[name, None]
        np.testing.assert_array_equal(back.structures()[name], wanted)
        np.testing.assert_array_equal(peer[..., number].transpose(2, 1, 0), wanted)
        np.testing.assert_array_equal(frames[number].transpose(2, 1, 0), wanted)
        np.testing.assert_array_equal(itk[number].transpose(2, 1, 0), wanted)
    assert raw.ReferencedSeriesSequence[0].SeriesInstanceUID == uid("series", "p01", "ct")
    assert [str(s.SegmentAlgorithmType) for s in raw.SegmentSequence] == ["MANUAL", "MANUAL"]
    assert str(raw.PatientName) == "Müller^Jörg"
    (alone,) = read_dicom_seg(path)
    assert not alone.grid.difference(grid)  # the whole stack, also without the series


names = st.text(
    st.characters(codec="utf-8", categories=["L", "N"], include_characters=" -_.()"), min_size=1, max_size=16
)
names = names.map(str.strip).filter(bool).filter(str.isprintable)


@settings(max_examples=25)
@given(st.data())
def test_what_is_written_is_read_back(ct, grid, tmp_path_factory, data):
    random = np.random.default_rng(data.draw(st.integers(0, 2**32 - 1)))
    keys = data.draw(st.lists(st.tuples(names, st.none() | st.integers(1, 9)), min_size=1, max_size=4, unique=True))
    share = data.draw(st.sampled_from([0.0, 0.01, 0.4, 1.0]))
    parts = {key: random.random(grid.shape) < share for key in keys}
    status = "empty" if not any(m.any() for m in parts.values()) else data.draw(st.sampled_from(["done", "unfinished"]))
    started = data.draw(st.sampled_from(["2026-01-31T09:30:15", "2025-12-01T00:00:00"]))
    read = read_of(grid, parts, data.draw(names), status=status, started=started)
    path = tmp_path_factory.mktemp("seg") / "a.dcm"
    write_dicom_seg(path, read, ct)
    (back,) = read_dicom_seg([path, ct])
    assert (back.rater, back.status, back.started, back.grid) == (read.rater, status, started, grid)
    assert [(mark.label, mark.rank) for mark in back.marks] == keys
    for mark in back.marks:
        whole = np.zeros(grid.shape, bool)
        window, inside = mark.outline.pixels(grid.shape)
        whole[window] = inside
        np.testing.assert_array_equal(whole, parts[mark.label, mark.rank])


def test_a_consensus_is_the_work_of_an_algorithm(ct, grid, tmp_path):
    write_dicom_seg(tmp_path / "a.dcm", read_of(grid, blobs(0), "staple", tool="manytruths"), ct)
    segment = pydicom.dcmread(tmp_path / "a.dcm").SegmentSequence[0]
    assert segment.SegmentAlgorithmType == "AUTOMATIC"
    assert segment.SegmentAlgorithmName == "manytruths"
    algorithm = segment.SegmentationAlgorithmIdentificationSequence[0]
    assert (algorithm.AlgorithmName, algorithm.AlgorithmVersion) == ("manytruths", version("manytruths"))
    (back,) = read_dicom_seg(tmp_path / "a.dcm")
    assert back.marks[0].attributes["algorithm"] == "AUTOMATIC"


def test_nothing_marked_is_written_and_read_as_empty(ct, grid, tmp_path):
    write_dicom_seg(tmp_path / "a.dcm", read_of(grid, {}, status="empty"), ct)
    (back,) = read_dicom_seg(tmp_path / "a.dcm")
    assert (back.status, back.marks) == ("empty", ())
    write_dicom_seg(tmp_path / "a.dcm", read_of(grid, {}, status="empty"), ct, structures=["lesion"])
    (back,) = read_dicom_seg(tmp_path / "a.dcm")
    assert (back.status, [mark.label for mark in back.marks]) == ("empty", ["lesion"])


def test_the_same_masks_have_the_same_uids(ct, grid, tmp_path):
    made = []
    for name, seed in [("a", 0), ("b", 0), ("c", 1)]:
        write_dicom_seg(tmp_path / name, read_of(grid, blobs(seed)), ct)
        made.append(pydicom.dcmread(tmp_path / name).SOPInstanceUID)
    assert made[0] == made[1] != made[2]


def test_masks_on_a_turned_and_cropped_grid_are_put_onto_the_series(ct, grid, tmp_path):
    parts = blobs(0)
    affine = np.array(grid.affine)
    affine[:3, 3] += affine[:3, 0] * (COLUMNS - 1) + affine[:3, 2] * 2
    affine[:3, 0] *= -1
    turned = Grid((COLUMNS, ROWS, SLICES - 2), affine=affine.tolist())
    moved = {key: mask[::-1, :, 2:] for key, mask in parts.items()}
    write_dicom_seg(tmp_path / "a.dcm", read_of(turned, moved), ct)
    (back,) = read_dicom_seg([tmp_path / "a.dcm", ct])
    for name, _ in parts:
        np.testing.assert_array_equal(back.structures()[name], parts[name, None])


def test_of_several_series_that_of_the_subject_is_taken(grid, tmp_path):
    for patient in ("p01", "p02"):
        series_folder(tmp_path / "all" / patient, patient=patient)
    sources = find_series(tmp_path / "all")
    read = read_of(grid, blobs(0))
    for patient in ("p01", "p02"):
        write_dicom_seg(tmp_path / "a.dcm", replace(read, subject=patient), sources)
        assert pydicom.dcmread(tmp_path / "a.dcm").PatientID == patient
    with pytest.raises(InputError, match="2 series fit the masks of p01"):
        write_dicom_seg(tmp_path / "b.dcm", read, sources)
    assert not (tmp_path / "b.dcm").exists()


def test_an_image_of_many_frames_takes_its_frames_in_its_order(ct, grid, tmp_path):
    from test_dicom_seg import hd_enhanced

    slices = images(ct)
    many = hd_enhanced([slices[(5 * k) % SLICES] for k in range(SLICES)])
    (tmp_path / "many").mkdir()
    many.save_as(tmp_path / "many" / "i.dcm", enforce_file_format=True)
    parts = blobs(2)
    write_dicom_seg(tmp_path / "many" / "a.dcm", read_of(grid, parts), tmp_path / "many")
    (back,) = read_dicom_seg(tmp_path / "many")
    assert back.tool == "DICOM SEG"
    for name, _ in parts:
        np.testing.assert_array_equal(back.structures()[name], parts[name, None])


def test_an_image_without_a_place(tmp_path):
    made = image(0)
    for name in (
        "ImagePositionPatient",
        "ImageOrientationPatient",
        "FrameOfReferenceUID",
        "PositionReferenceIndicator",
    ):
        delattr(made, name)
    made.SOPClassUID = made.file_meta.MediaStorageSOPClassUID = pydicom.uid.SecondaryCaptureImageStorage
    made.save_as(tmp_path / "i.dcm", enforce_file_format=True)
    mask = np.random.default_rng(0).random((ROWS, COLUMNS)) < 0.5
    flat = Reading(
        "p01", "Ann", Grid((ROWS, COLUMNS)), (Mark("spot", Whole(mask)), Mark("edge", Whole(mask ^ mask[::-1])))
    )
    write_dicom_seg(tmp_path / "a.dcm", flat, tmp_path / "i.dcm")
    (back,) = read_dicom_seg(tmp_path / "a.dcm")
    np.testing.assert_array_equal(back.structures()["spot"], mask)
    np.testing.assert_array_equal(back.structures()["edge"], mask ^ mask[::-1])


@pytest.mark.parametrize(
    ("change", "error", "said"),
    [
        ({"status": "unread"}, InputError, "has not read"),
        ({"rater": "a^b"}, LabelError, "holds \\^"),
        ({"rater": "x" * 64}, LabelError, "up to 63 characters"),
        ({"marks": (Mark("a\\b", Whole(np.zeros((COLUMNS, ROWS, SLICES), bool))),)}, LabelError, "without"),
        ({"grid": Grid((COLUMNS, ROWS, SLICES), affine=np.eye(4).tolist())}, GridError, "no series that lies where"),
    ],
)
def test_what_cannot_be_written_is_refused(ct, grid, tmp_path, change, error, said):
    with pytest.raises(error, match=said) as refused:
        write_dicom_seg(tmp_path / "a.dcm", replace(read_of(grid, blobs(0)), **change), ct)
    assert "\n" not in str(refused.value)
    assert not list(tmp_path.iterdir())


def test_a_folder_without_images_is_refused(grid, tmp_path):
    (tmp_path / "notes.txt").write_text("nothing here")
    with pytest.raises(InputError, match="holds no DICOM images"):
        write_dicom_seg(tmp_path / "a.dcm", read_of(grid, blobs(0)), tmp_path)

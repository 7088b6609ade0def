"""DICOM files that are damaged or lie: one line each, within bounds of memory."""

from __future__ import annotations

import struct
import tracemalloc
import zlib

import numpy as np
import pydicom
import pytest

from dicom_files import image, images, masks, segmentation, series_folder
from manytruths import FormatError, InputError
from manytruths.exchange.dicom import header as dicom_header
from manytruths.exchange.dicom.segmentations import read_dicom_seg

pytestmark = pytest.mark.filterwarnings("default")
MOST = 1 << 30


@pytest.fixture(scope="module")
def ct(tmp_path_factory):
    return series_folder(tmp_path_factory.mktemp("dicom") / "ct")


@pytest.fixture
def made(ct):
    return segmentation(images(ct), masks())


def drawn(path):
    return [read.structures() for read in read_dicom_seg(path)]


def refused(path, said, kind=InputError):
    """The one line, and no more memory than allowed."""
    tracemalloc.start()
    try:
        with pytest.raises(kind, match=said) as error:
            drawn(path)
        assert tracemalloc.get_traced_memory()[1] < MOST
    finally:
        tracemalloc.stop()
    text = str(error.value)
    assert text.startswith(str(path)), text
    assert text.count(str(path)) == 1
    assert "\n" not in text
    return text


def change_frames(made, count):
    made.NumberOfFrames = count


def unnamed_segment(made):
    made.PerFrameFunctionalGroupsSequence[3].SegmentIdentificationSequence[0].ReferencedSegmentNumber = 9


def no_segment(made):
    del made.PerFrameFunctionalGroupsSequence[3].SegmentIdentificationSequence


def twice(made):
    made.SegmentSequence[1].SegmentNumber = 1


def drop(*names):
    def spoil(made):
        for name in names:
            delattr(made, name)

    return spoil


def put(**values):
    def spoil(made):
        for name, value in values.items():
            setattr(made, name, value)

    return spoil


def far_away(made):
    made.PerFrameFunctionalGroupsSequence[0].PlanePositionSequence[0].ImagePositionPatient = [0, 0, 9e8]


def tiny_steps(made):
    made.SharedFunctionalGroupsSequence[0].PixelMeasuresSequence[0].SpacingBetweenSlices = 1e-12


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (drop("PixelData"), "has no pixels"),
        (put(NumberOfFrames=11), "has 11 frames by its header and says of 10"),
        (put(NumberOfFrames=-1), "-1"),
        (put(NumberOfFrames=0), "has 0 frames"),
        (drop("PerFrameFunctionalGroupsSequence"), "has 10 frames by its header and says of 0"),
        (drop("SegmentSequence"), "describes no segments"),
        (twice, "two segments of number 1"),
        (unnamed_segment, "frame 4 is of segment 9, which is not described"),
        (no_segment, "frame 4 does not say of which segment"),
        (put(Rows=33), "holds 1600 bytes of pixels where 10 frames of 40 × 33 take 1650"),
        (put(Rows=65535, Columns=65535), "65535 × 65535 pixels by its header"),
        (put(Rows=16384, Columns=16384), "holds 1600 bytes of pixels"),
        (put(Rows=0), "40 × 0 pixels"),
        (drop("Rows"), "Rows is None"),
        (put(BitsAllocated=32), "32 bits a pixel"),
        (put(SamplesPerPixel=3), "3 × 1 bits"),
        (put(SegmentationType="FRACTIONAL"), "MaximumFractionalValue is None"),
        (put(DimensionOrganizationType="TILED_FULL"), "holds tiles of a slide"),
        (put(SOPClassUID="1.2.840.10008.5.1.4.1.1.66.5"), "by surfaces"),
        (put(PixelData=b"\0" * 100), "holds 100 bytes"),
        (far_away, "straight above|irregular|stack of"),
    ],
)
def test_headers_that_lie(made, tmp_path, spoil, said):
    spoil(made)
    made.save_as(tmp_path / "a.dcm")
    refused(tmp_path / "a.dcm", said)


def test_a_step_of_nothing_is_not_believed(made, tmp_path):
    tiny_steps(made)
    made.save_as(tmp_path / "a.dcm")
    refused(tmp_path / "a.dcm", "a stack of|cannot|damaged")


@pytest.mark.slow
def test_a_file_that_is_cut_short(made, tmp_path):
    made.save_as(tmp_path / "whole.dcm")
    data = (tmp_path / "whole.dcm").read_bytes()
    path = tmp_path / "a.dcm"
    for length in [*range(140, len(data), 97), len(data) - 1]:
        path.write_bytes(data[:length])
        refused(path, ".")


def test_what_is_no_dicom_file_is_skipped_in_a_folder_and_refused_by_name(made, tmp_path):
    made.save_as(tmp_path / "a.dcm")
    for name, data in {"notes.txt": b"hello", "empty.dcm": b"", "x.dcm": b"\0" * 132}.items():
        (tmp_path / name).write_bytes(data)
    assert len(read_dicom_seg(tmp_path)) == 1
    assert len(read_dicom_seg(f"Ann={tmp_path}")) == 1
    for name in ("notes.txt", "empty.dcm", "x.dcm"):
        refused(tmp_path / name, "is not a DICOM file")
    with pytest.raises(InputError, match="no such file"):
        read_dicom_seg(tmp_path / "gone.dcm")


def test_a_series_without_a_segmentation(ct):
    refused(ct, "holds no DICOM segmentation")


@pytest.mark.parametrize("syntax", ["1.2.840.10008.1.2.4.50", "1.2.840.10008.1.2.5", "1.2.3.4"])
def test_unknown_packing(made, tmp_path, syntax):
    made.save_as(tmp_path / "a.dcm")
    data = (tmp_path / "a.dcm").read_bytes()
    old = b"\x02\0\x10\0UI" + struct.pack("<H", 20) + b"1.2.840.10008.1.2.1\0"
    new = (
        b"\x02\0\x10\0UI"
        + struct.pack("<H", len(syntax) + len(syntax) % 2)
        + syntax.encode()
        + b"\0" * (len(syntax) % 2)
    )
    assert old in data
    (tmp_path / "a.dcm").write_bytes(data.replace(old, new))
    refused(tmp_path / "a.dcm", "compressed by an unsupported method")


def test_big_endian_is_refused(made, tmp_path):
    made.save_as(tmp_path / "a.dcm")
    data = (tmp_path / "a.dcm").read_bytes()
    (tmp_path / "a.dcm").write_bytes(data.replace(b"1.2.840.10008.1.2.1\0", b"1.2.840.10008.1.2.2\0", 1))
    refused(tmp_path / "a.dcm", "retired big endian")


def deflated(made, path, bomb=0):
    """The file as one deflated stream, perhaps with so many bytes of nothing in it."""
    made.save_as(path)
    data = path.read_bytes()
    old = b"\x02\0\x10\0UI\x14\x001.2.840.10008.1.2.1\0"
    new = b"\x02\0\x10\0UI\x16\x001.2.840.10008.1.2.1.99"
    at = data.index(old)
    length = struct.unpack("<I", data[140:144])[0]
    start = 144 + length
    packing = zlib.compressobj(1, wbits=-15)
    packed = packing.compress(data[start:])
    for _ in range(bomb >> 20):
        packed += packing.compress(b"\0" * (1 << 20))
    meta = data[:140] + struct.pack("<I", length + 2) + data[144:at] + new + data[at + len(old) : start]
    path.write_bytes(meta + packed + packing.flush())
    return path


@pytest.mark.slow
def test_a_deflated_file_is_read_and_a_bomb_is_not(made, tmp_path):
    (read,) = read_dicom_seg(deflated(made, tmp_path / "a.dcm"))
    np.testing.assert_array_equal(read.structures()["tumour"], masks()[3:9, ..., 0].astype(bool).transpose(2, 1, 0))
    path = deflated(made, tmp_path / "bomb.dcm", 300 << 20)
    assert path.stat().st_size < 4 << 20
    refused(path, "inflates to more than 256 MB")


@pytest.mark.slow
def test_a_header_of_a_million_items(made, tmp_path):
    made.save_as(tmp_path / "a.dcm")
    data = (tmp_path / "a.dcm").read_bytes()
    start = 144 + struct.unpack("<I", data[140:144])[0]
    for length in (0xFFFFFFFF, 8 * 1_000_000):
        items = b"\xfe\xff\x00\xe0\0\0\0\0" * 1_000_000
        end = b"\xfe\xff\xdd\xe0\0\0\0\0" if length == 0xFFFFFFFF else b""
        sequence = b"\x08\0\x15\x11SQ\0\0" + struct.pack("<I", length) + items + end
        (tmp_path / "a.dcm").write_bytes(data[:start] + sequence + data[start:])
        refused(tmp_path / "a.dcm", "holds too many items", FormatError)


def test_frames_without_end(made, tmp_path, monkeypatch):
    monkeypatch.setattr(dicom_header, "MOST_FRAMES", 9)
    made.save_as(tmp_path / "a.dcm")
    refused(tmp_path / "a.dcm", "has more than 9 frames")
    monkeypatch.setattr(dicom_header, "MOST_FRAMES", 10)
    refused(tmp_path / "a.dcm", "has more than 10 frames")
    monkeypatch.setattr(dicom_header, "MOST_FRAMES", 11)
    assert len(read_dicom_seg(tmp_path / "a.dcm")) == 1
    monkeypatch.setattr(dicom_header, "LARGEST_ITEM", 100)
    refused(tmp_path / "a.dcm", "its header is too long")


def test_a_header_of_a_gigabyte_is_not_read(made, tmp_path, monkeypatch):
    monkeypatch.setattr(dicom_header.BoundedFile.__init__, "__defaults__", (1 << 16, 1000))
    made.add_new((0x0008, 0x1115), "SQ", [])
    made.ContentCreatorName = "a" * (1 << 17)
    made.save_as(tmp_path / "a.dcm")
    refused(tmp_path / "a.dcm", "its header is too long")


def test_nesting_without_end(made, tmp_path):
    made.save_as(tmp_path / "a.dcm")
    data = (tmp_path / "a.dcm").read_bytes()
    start = 144 + struct.unpack("<I", data[140:144])[0]
    deep = (b"\x08\0\x15\x11SQ\0\0\xff\xff\xff\xff" + b"\xfe\xff\x00\xe0\xff\xff\xff\xff") * 20_000
    (tmp_path / "a.dcm").write_bytes(data[:start] + deep + data[start:])
    refused(tmp_path / "a.dcm", "nested too deeply")


def test_packed_frames_that_lie(ct, tmp_path):
    numbers = masks(segments=1)[..., 0]
    for syntax, said in {
        "1.2.840.10008.1.2.5": "cut short|parts|damaged",
        "1.2.840.10008.1.2.4.80": "not JPEG-LS|pixels, not|damaged",
    }.items():
        made = segmentation(images(ct), numbers, ["a"], kind="LABELMAP", transfer_syntax_uid=syntax)
        path = tmp_path / "a.dcm"
        made.Rows = 4096
        made.save_as(path)
        refused(path, said)
        made.Rows = 32
        made.PixelData = pydicom.encaps.encapsulate([b"\xff\xd8\xff\xd9"] * made.NumberOfFrames)
        made.save_as(path)
        refused(path, said)
        made.PixelData = pydicom.encaps.encapsulate([b"\0" * 64])
        made.save_as(path)
        refused(path, ".")


def test_a_jpeg_that_is_larger_than_it_says(ct, tmp_path):
    made = segmentation(
        images(ct), masks(segments=1)[..., 0], ["a"], kind="LABELMAP", transfer_syntax_uid="1.2.840.10008.1.2.4.80"
    )
    frames = list(pydicom.encaps.generate_frames(made.PixelData, number_of_frames=made.NumberOfFrames))
    at = frames[0].index(b"\xff\xf7") + 5
    frames[0] = frames[0][:at] + struct.pack(">HH", 65000, 65000) + frames[0][at + 4 :]
    made.PixelData = pydicom.encaps.encapsulate(frames)
    made.save_as(tmp_path / "a.dcm")
    refused(tmp_path / "a.dcm", "a frame is 65000 × 65000 pixels, not 40 × 32")


def test_a_file_that_is_gone_when_it_is_drawn(made, tmp_path):
    made.save_as(tmp_path / "a.dcm")
    (read,) = read_dicom_seg(tmp_path / "a.dcm")
    (tmp_path / "a.dcm").unlink()
    with pytest.raises(FormatError, match=r"a\.dcm: cannot be read"):
        read.structures()


def test_a_damaged_slice_of_the_series_is_refused(made, tmp_path):
    made.save_as(tmp_path / "a.dcm")
    spoiled = image(3)
    spoiled.PixelSpacing = [0.0, 1.0]
    spoiled.save_as(tmp_path / "i.dcm", enforce_file_format=True)
    with pytest.raises(FormatError, match=r"i\.dcm: its PixelSpacing is \[0.0, 1.0\]"):
        read_dicom_seg(tmp_path)

"""Pixels of DICOM files, decoded frame by frame when they are needed: of segmentations, and of images.

Memory is bounded by what the header says and the file holds: sizes inside compressed frames are compared with the
header before they are decompressed.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError
from ...io.documents import PIECE
from ...io.files import import_extra
from ..readings import Mask, Window
from .geometry import first_item, whole_number
from .header import EXPLICIT, IMPLICIT, BoundedFile, PixelData, dicom_errors, open_dataset, read_header

RUN_LENGTHS = "1.2.840.10008.1.2.5"
DEFLATED_FRAMES = "1.2.840.10008.1.2.8.1"
JPEG_LS, JPEG_2000 = "1.2.840.10008.1.2.4.80", "1.2.840.10008.1.2.4.90"
_LS = (JPEG_LS, "1.2.840.10008.1.2.4.81")
_WAVELETS = (JPEG_2000, *(f"1.2.840.10008.1.2.4.{kind}" for kind in (91, 201, 202, 203)))
_STARTS = (*range(0xFFC0, 0xFFC4), *range(0xFFC5, 0xFFC8), *range(0xFFC9, 0xFFCC), *range(0xFFCD, 0xFFD0))
"""Markers of JPEG behind which the size of a frame stands."""
_PACKED = (RUN_LENGTHS, DEFLATED_FRAMES, JPEG_LS, JPEG_2000)
LARGEST_PACKED = 1 << 30
"""Bytes of packed frames that are gone through."""
LARGEST_FRAME = 1 << 26
"""Pixels of one: twice the largest mammograms."""
_INVERTED = "MONOCHROME1"
_SCALE = "PixelValueTransformationSequence"
_TAGS = (
    "Rows", "Columns", "NumberOfFrames", "SamplesPerPixel", "PlanarConfiguration", "PhotometricInterpretation",
    "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation", "RescaleSlope", "RescaleIntercept",
    "SharedFunctionalGroupsSequence",
)  # fmt: skip


@dataclass(frozen=True)
class Pixels:
    """All frames of a file, where they lie."""

    data: PixelData
    rows: int
    columns: int
    frames: int
    bits: int

    @property
    def size(self) -> int:
        """Pixels of a frame."""
        return self.rows * self.columns

    def check(self) -> None:
        """Whether there are as many bytes as the header says."""
        syntax, length = self.data.syntax, self.data.length
        if syntax in (IMPLICIT, EXPLICIT):
            wanted = -(-self.size * self.frames * self.bits // 8)
            if length is None or min(length, self.data.available) < wanted:
                there = self.data.available if length is None else min(length, self.data.available)
                raise FormatError(
                    f"holds {there} bytes of pixels where {self.frames} frames of {self.columns} × {self.rows} take "
                    f"{wanted}: it is cut short, or its header is wrong; copy or export it again"
                )
        elif syntax not in ((DEFLATED_FRAMES,) if self.bits == 1 else _PACKED):
            raise FormatError(f"its frames are compressed by an unsupported method ({syntax}); save it uncompressed")
        elif length is not None:
            raise FormatError("its frames are packed, but not one by one; export it again")

    def decode(self, wanted: Iterable[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        """(rows, columns) of these frames, by number, as they come."""
        numbers = sorted(set(wanted))
        if not numbers:
            return
        with dicom_errors(self.data.path), open_dataset(self.data.path) as (stream, _):
            read = self._read_encapsulated if self.data.length is None else self._read_native
            yield from read(stream, numbers)

    def _read_native(self, stream: IO[bytes], numbers: list[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        for number in numbers:
            start = number * self.size * self.bits
            stop = start + self.size * self.bits
            stream.seek(self.data.start + start // 8)
            data = stream.read(-(-stop // 8) - start // 8)
            yield number, self._to_frame(data, start % 8)

    def _to_frame(self, data: bytes, skipped: int = 0) -> NDArray[Any]:
        """The pixels in so many bytes, perhaps from a bit on."""
        if len(data) * 8 < self.size * self.bits + skipped:
            raise FormatError("a frame is cut short; export or copy it again")
        raw = np.frombuffer(data, np.uint8)
        if self.bits == 1:
            flat: NDArray[Any] = np.unpackbits(raw, count=skipped + self.size, bitorder="little")[skipped:]
        else:
            flat = np.frombuffer(data, "<u2" if self.bits == 16 else np.uint8, self.size)
        return flat.reshape(self.rows, self.columns)

    def _read_encapsulated(self, stream: IO[bytes], numbers: list[int]) -> Iterator[tuple[int, NDArray[Any]]]:
        encaps = import_extra("pydicom.encaps", "dicom", self.data.path)
        stream.seek(self.data.start)
        bounded = BoundedFile(stream, 2 * LARGEST_PACKED, 2**62)
        wanted = set(numbers)
        for number, data in enumerate(encaps.generate_frames(bounded, number_of_frames=self.frames)):
            if number in wanted:
                yield number, self._decompress(data)
            if number >= numbers[-1]:
                return
        raise FormatError(f"has no frame {numbers[-1] + 1}, though its header says so; export it again")

    def _decompress(self, data: bytes) -> NDArray[Any]:
        syntax, wanted = self.data.syntax, -(-self.size * self.bits // 8)
        if syntax == DEFLATED_FRAMES:
            return self._to_frame(zlib.decompressobj(-zlib.MAX_WBITS).decompress(data, wanted + 1))
        if syntax == RUN_LENGTHS:
            return self._to_frame(decode_rle(data, wanted, self.bits // 8))
        # they decide how much memory unpacking takes
        if syntax in _WAVELETS:
            rows, columns, colours = _jpeg_2000(data)
        else:
            starts, name = ((0xFFF7,), "JPEG-LS") if syntax in _LS else (_STARTS, "JPEG")
            rows, columns, colours = _jpeg(data, starts, name)
        if (rows, columns) != (self.rows, self.columns):
            raise FormatError(f"a frame is {columns} × {rows} pixels, not {self.columns} × {self.rows}")
        wanted = self._options()["samples_per_pixel"]
        if colours != wanted:
            raise FormatError(f"a frame has {colours} colours, expected {wanted}; export it again")
        encaps = import_extra("pydicom.encaps", "dicom", self.data.path)
        return self._decode_by_pydicom(encaps.encapsulate([data], has_bot=False), syntax)

    def _decode_by_pydicom(self, data: bytes, syntax: str) -> NDArray[Any]:
        pixels = import_extra("pydicom.pixels", "dicom", self.data.path)
        decoder = pixels.get_decoder(syntax)
        if not decoder.is_available:
            raise FormatError("no decoder of its frames is installed; save it as explicit little endian")
        options = self._options()
        array, _ = decoder.as_array(data, **options)
        colours = () if options["samples_per_pixel"] == 1 else (options["samples_per_pixel"],)
        return np.asarray(array).reshape(self.rows, self.columns, *colours)

    def _options(self) -> dict[str, Any]:
        """What pydicom has to know of a frame."""
        return {
            "rows": self.rows, "columns": self.columns, "number_of_frames": 1, "samples_per_pixel": 1,
            "bits_allocated": self.bits, "bits_stored": self.bits, "pixel_representation": 0,
            "photometric_interpretation": "MONOCHROME2", "pixel_keyword": "PixelData",
        }  # fmt: skip


def decode_rle(data: bytes, wanted: int, planes: int) -> bytes:
    """DICOM's run lengths: one plane for each byte of a pixel, the highest first; never more than is wanted."""
    count, *starts = struct.unpack("<16I", data[:64])
    if count != planes:
        raise FormatError(f"a frame is packed in {count} parts, expected {planes}; export it again")
    pixels = np.zeros((wanted // planes, planes), np.uint8)
    ends = [*starts[1:planes], len(data)]
    for plane, (start, end) in enumerate(zip(starts[:planes], ends, strict=True)):
        pixels[:, planes - 1 - plane] = np.frombuffer(_decode_packbits(data[start:end], len(pixels)), np.uint8)
    return pixels.tobytes()


def _decode_packbits(data: bytes, wanted: int) -> bytes:
    pixels, here = bytearray(), 0
    while len(pixels) < wanted and here + 1 < len(data):
        sign = data[here]
        if sign < 128:
            pixels += data[here + 1 : here + 2 + sign]
            here += 2 + sign
        else:
            pixels += data[here + 1 : here + 2] * (257 - sign if sign > 128 else 0)
            here += 2 if sign > 128 else 1
    if len(pixels) < wanted:
        raise FormatError("a frame is cut short; export or copy it again")
    return bytes(pixels[:wanted])


def _jpeg_2000(data: bytes) -> tuple[int, int, int]:
    """Rows, columns and colours, as a packed frame has them."""
    if data[:4] != b"\xff\x4f\xff\x51":
        raise FormatError("a frame is not JPEG 2000; export it again")
    right, bottom, left, top = struct.unpack(">4I", data[8:24])
    return bottom - top, right - left, struct.unpack(">H", data[40:42])[0]


def _jpeg(data: bytes, starts: tuple[int, ...], name: str) -> tuple[int, int, int]:
    here, length = 2, 2
    while data[:2] == b"\xff\xd8" and here + 4 <= len(data) and length >= 2:
        marker, length = struct.unpack(">HH", data[here : here + 4])
        if marker in starts:
            rows, columns, colours = struct.unpack(">HHB", data[here + 5 : here + 10])
            return rows, columns, colours
        here += 2 + length
    raise FormatError(f"a frame is not {name}; export it again")


@dataclass(frozen=True, eq=False)
class SegmentFrames:
    """One segment: some frames of a file, each at its place on the grid."""

    pixels_of: Pixels
    numbers: NDArray[np.int64]
    """Of the frames that hold it."""
    places: NDArray[np.int64]
    """(frames, 3): the voxel of the first pixel of each; empty for an image."""
    value: int = 0
    """What pixels of it are; 0 where all that are not 0 are."""

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        if not len(self.numbers):
            return tuple(slice(0, 0) for _ in shape), np.zeros((0,) * len(shape), bool)
        if len(shape) == 2:
            return (slice(0, shape[0]), slice(0, shape[1])), self._draw(np.zeros(len(self.numbers), int), 1)[0]
        left, top, low = (int(n) for n in self.places.min(axis=0))
        high = int(self.places[:, 2].max()) + 1
        inside = self._draw(self.places[:, 2] - low, high - low)
        own = self.pixels_of
        window = slice(left, left + own.columns), slice(top, top + own.rows), slice(low, high)
        return window, inside.transpose(2, 1, 0)

    def _draw(self, levels: NDArray[np.int64], height: int) -> Mask:
        own = self.pixels_of
        inside = np.zeros((height, own.rows, own.columns), bool)
        at: dict[int, list[int]] = {}
        for number, level in zip(self.numbers.tolist(), levels.tolist(), strict=True):
            at.setdefault(number, []).append(level)
        for number, frame in own.decode(at):
            for level in at[number]:
                inside[level] |= (frame == self.value) if self.value else (frame != 0)
        return inside


def any_marked(pixels: Pixels) -> bool:
    """Whether a pixel of any frame is not 0."""
    return any(bool(values.any()) for values in _read_values(pixels))


def is_binary(pixels: Pixels, largest: int) -> bool:
    """Whether all pixels are 0 or the largest."""
    return all(bool(((values == 0) | (values == largest)).all()) for values in _read_values(pixels))


def _read_values(pixels: Pixels) -> Iterator[NDArray[Any]]:
    """All of them, some at a time; bits by the eight."""
    if pixels.data.length is None:
        yield from (frame for _, frame in pixels.decode(range(pixels.frames)))
        return
    left = -(-pixels.size * pixels.frames * pixels.bits // 8)
    with dicom_errors(pixels.data.path), open_dataset(pixels.data.path) as (stream, _):
        stream.seek(pixels.data.start)
        while left > 0 and (piece := stream.read(min(left, PIECE))):
            left -= len(piece)
            yield np.frombuffer(piece, "<u2" if pixels.bits == 16 else np.uint8)


# -- images ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Scale:
    """From what is stored to what it stands for."""

    slope: float = 1.0
    intercept: float = 0.0

    @property
    def whole(self) -> bool:
        """Whether whole numbers stay whole."""
        return self.slope.is_integer() and self.intercept.is_integer()

    def of(self, values: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
        """Values that stand for something, of a type that holds them."""
        if self == Scale():
            return values.astype(kind, copy=False)
        return (values.astype(np.float64) * self.slope + self.intercept).astype(kind)


@dataclass(frozen=True)
class ImagePixels(Pixels):
    """Frames of grey values, or of colours."""

    stored: int = 16
    """Bits of a value that count."""
    high: int = 15
    """The highest of them."""
    signed: bool = False
    colours: int = 1
    planar: int = 0
    photometric: str = "MONOCHROME2"
    scales: tuple[Scale, ...] = (Scale(),)
    """One for each frame, or one for all."""

    def values(self, frame: int, pixels: NDArray[Any], kind: np.dtype[Any]) -> NDArray[Any]:
        """What the pixels of a frame stand for, in a type that holds it; more is brighter."""
        if self.photometric == _INVERTED:
            pixels = np.asarray(sum(self.ends) - pixels.astype(np.int64))
        return self.scales[frame if len(self.scales) > 1 else 0].of(pixels, kind)

    @property
    def ends(self) -> tuple[int, int]:
        """The least and the largest value that can be stored."""
        return (-(1 << self.stored - 1), (1 << self.stored - 1) - 1) if self.signed else (0, (1 << self.stored) - 1)

    @property
    def size(self) -> int:
        return self.rows * self.columns * self.colours

    def check(self) -> None:
        if self.bits not in (8, 16, 32) or not 1 <= self.stored <= self.high + 1 <= self.bits:
            raise FormatError(f"{self.stored} of {self.bits} bits a pixel are not known here")
        if self.rows * self.columns > LARGEST_FRAME:
            raise FormatError(f"a frame of {self.columns} × {self.rows} pixels is too large to be shown")
        if self.data.syntax in (IMPLICIT, EXPLICIT):
            super().check()
        elif self.data.length is not None:
            raise FormatError("its frames are packed, but not one by one")

    def _to_frame(self, data: bytes, skipped: int = 0) -> NDArray[Any]:
        width = self.bits // 8
        if len(data) < self.size * width:
            raise FormatError("a frame is cut short; copy it again")
        if self.colours > 1:
            return self._decode_by_pydicom(data[: self.size * width], EXPLICIT)
        # what lies above the bits that count may be an overlay; the sign is the highest of them
        moved = np.frombuffer(data, f"<u{width}", self.size) << (self.bits - 1 - self.high)
        values = moved.view(f"<i{width}") if self.signed else moved
        return (values >> (self.bits - self.stored)).reshape(self.rows, self.columns)

    def _options(self) -> dict[str, Any]:
        return super()._options() | {
            "bits_stored": self.stored,
            "pixel_representation": int(self.signed),
            "samples_per_pixel": self.colours,
            "photometric_interpretation": self.photometric,
            **({"planar_configuration": self.planar} if self.colours > 1 else {}),
        }


def read_image_pixels(path: Path) -> ImagePixels:
    """By the header of a file."""
    header = read_header(path, _TAGS, (_SCALE,), _frame_scale)
    dataset, data = header.dataset, header.pixels
    if data is None:
        raise FormatError("has no pixels, or pixels that are not whole numbers")
    rows, columns, bits = (whole_number(dataset, name) for name in ("Rows", "Columns", "BitsAllocated"))
    frames, stored = (int(dataset.get(name) or n) for name, n in (("NumberOfFrames", 1), ("BitsStored", bits)))
    if frames != max(1, len(header.frames)):
        raise FormatError(f"does not say of its {frames} frames where they lie")
    defaults = {"HighBit": stored - 1, "PixelRepresentation": 0, "SamplesPerPixel": 1, "PlanarConfiguration": 0}
    high, signed, colours, planar = (
        int(default if (value := dataset.get(name)) is None else value) for name, default in defaults.items()
    )
    common = _frame_scale(first_item(dataset, "SharedFunctionalGroupsSequence")) or _scale_of(dataset)
    pixels = ImagePixels(
        data, rows, columns, frames, bits, stored, high, bool(signed), colours, planar,
        str(dataset.get("PhotometricInterpretation") or "MONOCHROME2"),
        tuple(own or common for own in header.frames) or (common,),
    )  # fmt: skip
    pixels.check()
    return pixels


def _frame_scale(groups: Any) -> Scale | None:
    """As one frame has it, or all together."""
    transform = first_item(groups, _SCALE)
    return None if transform is None else _scale_of(transform)


def _scale_of(dataset: Any) -> Scale:
    values = [dataset.get(name) for name in ("RescaleSlope", "RescaleIntercept")]
    slope, intercept = (
        n if value is None or value == "" else float(value) for value, n in zip(values, (1.0, 0.0), strict=True)
    )
    if not (math.isfinite(slope) and math.isfinite(intercept) and slope):
        raise FormatError(f"its values are to be rescaled by {slope:g} and {intercept:g}")
    return Scale(slope, intercept)

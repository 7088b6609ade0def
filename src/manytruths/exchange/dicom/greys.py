"""The values of DICOM images, frame by frame: Hounsfield units, activities, or whatever they stand for."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError
from .frames import Pixels
from .opening import EXPLICIT, IMPLICIT, header
from .planes import first, whole

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
class Greys(Pixels):
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

    def _frame(self, data: bytes, skipped: int = 0) -> NDArray[Any]:
        width = self.bits // 8
        if len(data) < self.size * width:
            raise FormatError("a frame is cut short; copy it again")
        if self.colours > 1:
            return self._by_pydicom(data[: self.size * width], EXPLICIT)
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


def greys_of(path: Path) -> Greys:
    """By the header of a file."""
    told = header(path, _TAGS, (_SCALE,), _scale)
    dataset, pixels = told.dataset, told.pixels
    if pixels is None:
        raise FormatError("has no pixels, or other ones than whole numbers")
    rows, columns, bits = (whole(dataset.get(name), name) for name in ("Rows", "Columns", "BitsAllocated"))
    frames, stored = (int(dataset.get(name) or n) for name, n in (("NumberOfFrames", 1), ("BitsStored", bits)))
    if frames != max(1, len(told.frames)):
        raise FormatError(f"does not say of its {frames} frames where they lie")
    high, signed, colours, planar = (
        int(n if (found := dataset.get(name)) is None else found)
        for name, n in (
            ("HighBit", stored - 1),
            ("PixelRepresentation", 0),
            ("SamplesPerPixel", 1),
            ("PlanarConfiguration", 0),
        )
    )
    common = _scale(first(dataset, "SharedFunctionalGroupsSequence")) or _scaled(dataset)
    made = Greys(
        pixels, rows, columns, frames, bits, stored, high, bool(signed), colours, planar,
        str(dataset.get("PhotometricInterpretation") or "MONOCHROME2"),
        tuple(own or common for own in told.frames) or (common,),
    )  # fmt: skip
    made.check()
    return made


def _scale(groups: Any) -> Scale | None:
    """As one frame has it, or all together."""
    found = first(groups, _SCALE)
    return None if found is None else _scaled(found)


def _scaled(dataset: Any) -> Scale:
    told = [dataset.get(name) for name in ("RescaleSlope", "RescaleIntercept")]
    slope, intercept = (n if one is None or one == "" else float(one) for one, n in zip(told, (1.0, 0.0), strict=True))
    if not (math.isfinite(slope) and math.isfinite(intercept) and slope):
        raise FormatError(f"its values are to be rescaled by {slope:g} and {intercept:g}")
    return Scale(slope, intercept)

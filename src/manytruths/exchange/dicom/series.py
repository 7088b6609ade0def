"""DICOM series that masks were drawn on, written as one file: a stack as NIfTI on its own grid, a flat image as TIFF.

Pixels are rescaled: stored values times RescaleSlope plus RescaleIntercept. Where low values are white (MONOCHROME1),
stored values are inverted first, as SimpleITK does, so that the picture looks as the raters saw it.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, ManytruthsError
from ...io import atomic, write_map, write_picture
from ...io.files import import_extra
from ...shape.grid import Grid
from ..readings import NoPicture
from .geometry import Planes, Stack, join_planes, planes_of, stack_planes
from .header import Header, dicom_errors
from .pixels import ImagePixels, read_image_pixels

_KINDS = tuple(np.dtype(kind) for kind in ("u1", "i2", "u2", "i4"))
_HEADER = 352
"""Bytes before the voxels."""
_FAST = 1
"""How hard to pack: voxels of scanners are noise, on which more is lost time."""


@dataclass(eq=False)
class Series:
    """The images of one series, as far as they were found."""

    where: Path
    patient: str = ""
    number: str = ""
    frame_of_reference: str = ""
    """The UID of its coordinate system in the patient."""
    images: list[str] = field(default_factory=list)
    """By their SOP instance UIDs, once for each plane."""
    paths: list[Path] = field(default_factory=list)
    """Likewise."""
    planes: list[Planes] = field(default_factory=list)
    _known: set[str] = field(default_factory=set)
    _stack: Stack | None = None

    def add(self, path: Path, header: Header) -> None:
        dataset = header.dataset
        image = str(dataset.get("SOPInstanceUID") or path)
        if image in self._known:
            return  # a copy
        self._known.add(image)
        planes = planes_of(dataset, header.frames)
        self.patient = self.patient or str(dataset.get("PatientID") or "")
        self.frame_of_reference = self.frame_of_reference or str(dataset.get("FrameOfReferenceUID") or "")
        self.number = self.number or str(dataset.get("SeriesNumber") or "")
        self.images += [image] * len(planes.positions)
        self.paths += [path] * len(planes.positions)
        self.planes.append(planes)

    def picture(self, grid: Grid, order: Iterable[int]) -> SeriesPicture:
        """These planes, from the first slice to the last."""
        starts: dict[Path, int] = {}
        for k, path in enumerate(self.paths):
            starts.setdefault(path, k)
        return SeriesPicture(self.where, grid, tuple((self.paths[k], k - starts[self.paths[k]]) for k in order))

    def stack(self) -> Stack | None:
        """All of them as a volume; none where they have no place in the patient."""
        if self._stack is None:
            with dicom_errors(f"{self.where}: its series"):
                joined = join_planes(self.planes)
                self._stack = stack_planes(joined) if joined.placed else None
        return self._stack


@dataclass(frozen=True)
class SeriesPicture:
    """A series, or one of its images."""

    where: Path
    grid: Grid
    planes: tuple[tuple[Path, int], ...]
    """Files, and which of their frames: from the first slice to the last, or the one of a flat image."""

    def __str__(self) -> str:
        return str(self.where)

    @property
    def suffix(self) -> str:
        return ".nii.gz" if len(self.grid.shape) == 3 else ".tif"

    def write(self, to: Path) -> None:
        """Decode plane by plane; a stack is never whole in memory."""
        files = self._files()
        if len(self.grid.shape) == 3:
            self._write_stack(to, files)
        else:
            self._write_flat(to, files)

    def _files(self) -> dict[Path, ImagePixels]:
        files = {}
        for path in dict.fromkeys(path for path, _ in self.planes):
            with _image_errors(path):
                files[path] = read_image_pixels(path)
                self._check(files[path])
        return files

    def _check(self, greys: ImagePixels) -> None:
        flat = len(self.grid.shape) == 2
        there = (greys.rows, greys.columns)
        if there != (self.grid.shape if flat else self.grid.shape[1::-1]):
            raise FormatError(f"its image has {there[1]} × {there[0]} pixels, and what was drawn on it has others")
        grey = greys.colours == 1 and greys.photometric.startswith("MONOCHROME")
        if not grey and not (flat and greys.colours == 3 and greys.bits == 8):
            raise FormatError(f"is in colour ({greys.photometric})")

    def _write_flat(self, to: Path, files: dict[Path, ImagePixels]) -> None:
        ((path, number),) = self.planes
        with _image_errors(path):
            ((_, values),) = files[path].decode([number])
        if values.ndim == 3:
            from PIL import Image

            return write_picture(to, Image.fromarray(values))
        return write_map(to, files[path].values(number, values, _kind(files.values())), Grid(self.grid.shape))

    def _write_stack(self, to: Path, files: dict[Path, ImagePixels]) -> None:
        kind = _kind(files.values())
        columns, rows, _ = self.grid.shape
        with atomic(to) as temporary, tempfile.TemporaryFile(dir=to.parent) as voxels:
            # frames come as they lie in their files, which need not be from slice to slice
            for level, values in self._decode_slices(files, kind):
                voxels.seek(level * rows * columns * kind.itemsize)
                voxels.write(values.tobytes())
            voxels.seek(0)
            with open(temporary, "wb") as plain, gzip.GzipFile("", "wb", _FAST, plain, mtime=0) as packed:
                packed.write(self._header(kind, to))
                shutil.copyfileobj(voxels, packed, 1 << 20)

    def _decode_slices(self, files: dict[Path, ImagePixels], kind: np.dtype[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Slices, by number, of values that stand for something."""
        levels: dict[Path, dict[int, int]] = {}
        for level, (path, number) in enumerate(self.planes):
            levels.setdefault(path, {})[number] = level
        for path, own in levels.items():
            with _image_errors(path):
                for number, values in files[path].decode(own):
                    yield own[number], files[path].values(number, values, kind)

    def _header(self, kind: np.dtype[Any], to: Path) -> bytes:
        """What stands before the voxels: the same as in the masks, so that both lie on one grid."""
        nibabel = import_extra("nibabel", "medical", to)
        image = nibabel.Nifti1Image(np.broadcast_to(kind.type(0), self.grid.shape), np.array(self.grid.affine))
        image.header.set_xyzt_units("mm")
        image.header.set_slope_inter(1, 0)
        image.header.set_data_offset(_HEADER)
        return bytes(image.header.binaryblock).ljust(_HEADER, b"\0")


@contextmanager
def _image_errors(path: Path) -> Iterator[None]:
    """Images that cannot be read do not keep their masks from being read."""
    try:
        with dicom_errors(path):
            yield
    except ManytruthsError as error:
        raise NoPicture(str(error)) from None


def _kind(files: Iterable[ImagePixels]) -> np.dtype[Any]:
    """The smallest type that holds whatever may be stored, once it is rescaled."""
    ends = {(greys.ends, scale) for greys in files for scale in greys.scales}
    if not all(scale.whole for _, scale in ends):
        return np.dtype(np.float32)
    values = [end * scale.slope + scale.intercept for both, scale in ends for end in both]
    held = [k for k in _KINDS if np.iinfo(k).min <= min(values) and max(values) <= np.iinfo(k).max]
    return held[0] if held else np.dtype(np.float32)

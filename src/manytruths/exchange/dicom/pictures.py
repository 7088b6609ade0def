"""The images that masks were drawn on, as one file: a stack as NIfTI on its very grid, a flat image as TIFF.

Values are what they stand for: stored ones times RescaleSlope, plus RescaleIntercept. Where low ones are white
(MONOCHROME1), stored values are turned round first, so that a picture looks as raters saw it: as in SimpleITK.
"""

from __future__ import annotations

import gzip
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, ManytruthsError
from ...io import atomic, write_map, write_picture
from ...io.files import import_extra
from ...shape.grid import Grid
from ..reads import NoPicture
from .greys import Greys, greys_of
from .opening import decoding

_KINDS = tuple(np.dtype(kind) for kind in ("u1", "i2", "u2", "i4"))
_HEADER = 352
"""Bytes before the voxels."""
_FAST = 1
"""How hard to pack: voxels of scanners are noise, on which more is lost time."""


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

    def _files(self) -> dict[Path, Greys]:
        found = {}
        for path in dict.fromkeys(path for path, _ in self.planes):
            with _undecoded(path):
                found[path] = greys_of(path)
                self._check(found[path])
        return found

    def _check(self, greys: Greys) -> None:
        flat = len(self.grid.shape) == 2
        there = (greys.rows, greys.columns)
        if there != (self.grid.shape if flat else self.grid.shape[1::-1]):
            raise FormatError(f"its image has {there[1]} × {there[0]} pixels, and what was drawn on it has others")
        grey = greys.colours == 1 and greys.photometric.startswith("MONOCHROME")
        if not grey and not (flat and greys.colours == 3 and greys.bits == 8):
            raise FormatError(f"is in colour ({greys.photometric})")

    def _write_flat(self, to: Path, files: dict[Path, Greys]) -> None:
        ((path, number),) = self.planes
        with _undecoded(path):
            ((_, values),) = files[path].decoded([number])
        if values.ndim == 3:
            from PIL import Image

            return write_picture(to, Image.fromarray(values))
        return write_map(to, files[path].values(number, values, _kind(files.values())), Grid(self.grid.shape))

    def _write_stack(self, to: Path, files: dict[Path, Greys]) -> None:
        kind = _kind(files.values())
        columns, rows, _ = self.grid.shape
        with atomic(to) as temporary, tempfile.TemporaryFile(dir=to.parent) as voxels:
            # frames come as they lie in their files, which need not be from slice to slice
            for level, values in self._decoded(files, kind):
                voxels.seek(level * rows * columns * kind.itemsize)
                voxels.write(values.tobytes())
            voxels.seek(0)
            with open(temporary, "wb") as plain, gzip.GzipFile("", "wb", _FAST, plain, mtime=0) as packed:
                packed.write(self._header(kind, to))
                shutil.copyfileobj(voxels, packed, 1 << 20)

    def _decoded(self, files: dict[Path, Greys], kind: np.dtype[Any]) -> Iterator[tuple[int, NDArray[Any]]]:
        """Slices, by number, of values that stand for something."""
        levels: dict[Path, dict[int, int]] = {}
        for level, (path, number) in enumerate(self.planes):
            levels.setdefault(path, {})[number] = level
        for path, own in levels.items():
            with _undecoded(path):
                for number, values in files[path].decoded(own):
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
def _undecoded(path: Path) -> Iterator[None]:
    """Images that cannot be read do not keep their masks from being read."""
    try:
        with decoding(path):
            yield
    except ManytruthsError as error:
        raise NoPicture(str(error)) from None


def _kind(files: Iterable[Greys]) -> np.dtype[Any]:
    """The smallest type that holds whatever may be stored, once it is rescaled."""
    ends = {(greys.ends, scale) for greys in files for scale in greys.scales}
    if not all(scale.whole for _, scale in ends):
        return np.dtype(np.float32)
    values = [end * scale.slope + scale.intercept for both, scale in ends for end in both]
    held = [k for k in _KINDS if np.iinfo(k).min <= min(values) and max(values) <= np.iinfo(k).max]
    return held[0] if held else np.dtype(np.float32)

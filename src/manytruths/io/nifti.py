"""NIfTI-1 and NIfTI-2, compressed or not; headers are read by nibabel."""

from __future__ import annotations

import gzip
import io
import logging
import math
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from shutil import copyfileobj
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError, GridError
from ..shape.grid import MAX_ITEMS, Grid
from .files import Content, Location, Use, check_bytes, check_shape, first_bytes, import_extra, make_grid, raise_damaged
from .writing import atomic

_GZIP = b"\x1f\x8b"
_LONGEST = 1 << 22
"""Most bytes of a header with its extensions."""
_MM = {"micron": 1e-3, "meter": 1e3}

_log = logging.getLogger("manytruths.io.nifti")
_log.propagate = False
_log.addHandler(logging.NullHandler())


def probe(location: Location) -> Grid:
    with _open_stream(location) as stream:
        return _grid(_header(stream, location), location)


def read(location: Location, use: Use) -> Content:
    with _open_stream(location) as stream:
        header = _header(stream, location)
        grid = _grid(header, location)
        if not _is_compressed(location):
            items = int(np.prod(header.get_data_shape(), dtype=np.int64))
            check_bytes(location, int(header.get_data_offset()) + items * int(header.get_data_dtype().itemsize))
        array = _apply_scale(header.raw_data_from_fileobj(stream), header)
        _drain(stream, location)
    return Content(array.reshape(grid.shape, order="F"), grid, "nifti")


def read_layout(location: Location) -> tuple[Any, Grid, bool]:
    """The header, the grid, and whether the file is compressed, to read the voxels a few slices at a time."""
    with _open_stream(location) as stream:
        # an extension may say that it is as long as it likes
        header = _header(io.BytesIO(stream.read(_LONGEST)), location)
        return header, _grid(header, location), _is_compressed(location)


def _is_compressed(location: Location) -> bool:
    return first_bytes(location.path).startswith(_GZIP)


@contextmanager
def _open_stream(location: Location) -> Iterator[IO[bytes]]:
    import_extra("nibabel", "medical", location)
    with open(location.path, "rb") as plain:
        unpacked: Any = gzip.GzipFile(fileobj=plain) if _is_compressed(location) else plain
        with unpacked as stream:
            yield stream


def _drain(stream: IO[bytes], location: Location) -> None:
    """Read a compressed file to its end, where its check sum is."""
    more = 0
    while _is_compressed(location) and (piece := stream.read(1 << 20)):
        more += len(piece)
        if more > MAX_ITEMS:
            raise_damaged(location, f"more than {MAX_ITEMS} bytes after its voxels")


def _header(stream: IO[bytes], location: Location) -> Any:
    nibabel = import_extra("nibabel", "medical", location)
    start = stream.read(4)
    stream.seek(0)
    sizes = {int.from_bytes(start, "little"), int.from_bytes(start, "big")}
    if not sizes & {348, 540}:
        raise FormatError(f"{location}: is not a NIfTI file: it starts with {start!r}; export it again")
    kind = nibabel.Nifti1Header if 348 in sizes else nibabel.Nifti2Header
    header = kind.from_fileobj(stream, check=False)
    if bytes(header["magic"].item())[:2] != b"n+":
        raise FormatError(f"{location}: is half of an .hdr and .img pair; save it as one .nii file")
    axes = int(header["dim"][0])
    if not 1 <= axes <= 7:
        raise FormatError(f"{location}: has {axes} axes by its header, but 2 or 3 are needed; export it again")
    # before nibabel repairs them: it would put 1 mm in place of 0
    spacing = header["pixdim"][1 : 1 + min(3, axes)]
    if not (np.isfinite(spacing) & (spacing != 0)).all():
        shown = "×".join(f"{s:.6g}" for s in spacing)
        raise GridError(f"{location}: spacing {shown} mm in its header; write the true spacing into pixdim")
    header.check_fix(logger=_log, error_level=40)
    return header


def _grid(header: Any, location: Location) -> Grid:
    shape = check_shape(location, header.get_data_shape())
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if len(shape) > 3:
        raise FormatError(f"{location}: has {len(shape)} axes ({'×'.join(map(str, shape))}); save one volume a file")
    if header.get_data_dtype().kind not in "buif":
        raise FormatError(
            f"{location}: holds {header.get_data_dtype()}, but one number a voxel is needed; save integers or floats"
        )
    affine = np.array(header.get_best_affine(), dtype=np.float64)
    affine[:3] *= _MM.get(header.get_xyzt_units()[0], 1.0)
    grid = make_grid(location, shape, affine=affine.tolist())
    # without either code, nibabel's affine is a guess
    return replace(grid, oriented=bool(header["qform_code"] or header["sform_code"]))


def _apply_scale(array: NDArray[Any], header: Any) -> NDArray[Any]:
    slope, intercept = header.get_slope_inter()
    if slope is None or (slope == 1 and not intercept):
        return array
    return array * np.float64(slope) + np.float64(intercept or 0)


@dataclass(frozen=True, eq=False)
class Voxels:
    """The voxels of a file on disk; slices are read, and scaled, when they are asked for."""

    stored: NDArray[Any]
    slope: float
    intercept: float

    @property
    def shape(self) -> tuple[int, ...]:
        return self.stored.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.stored.dtype if self._plain else np.dtype(np.float64)

    @property
    def chunks(self) -> tuple[int, ...]:
        """Slices across the last axis, as they lie in the file."""
        return (*self.shape[:-1], 1)

    @property
    def _plain(self) -> bool:
        return self.slope == 1 and not self.intercept

    def __getitem__(self, where: Any) -> NDArray[Any]:
        part = np.asarray(self.stored[where])
        part = part.astype(part.dtype.newbyteorder("="), copy=False)
        if self._plain:
            return part
        scaled = part * np.float64(self.slope) + np.float64(self.intercept)
        whole = self.slope.is_integer() and self.intercept.is_integer() and part.dtype.kind in "iu"
        return np.rint(scaled).astype(np.int64) if whole else scaled


def open_voxels(location: Location, scratch: Path) -> Voxels:
    """The voxels of a volume, to be read in parts; a compressed file is unpacked to ``scratch`` once.

    Memory does not depend on the size of the file.
    """
    try:
        return _open_voxels(location, scratch)
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise_damaged(location, str(error), error)


def _open_voxels(location: Location, scratch: Path) -> Voxels:
    header, grid, packed = read_layout(location)
    shape, kind = header.get_data_shape(), header.get_data_dtype()
    start, path = int(header.get_data_offset()), location.path
    wanted = start + math.prod(shape) * kind.itemsize
    if packed:
        if not scratch.is_file() or scratch.stat().st_size != wanted:
            with atomic(scratch) as temporary, open(temporary, "wb") as out, _open_stream(location) as stream:
                copyfileobj(stream, _Limited(out, wanted), 1 << 20)
        path = scratch
    if path.stat().st_size < wanted:
        raise_damaged(location, f"{path.stat().st_size} bytes where its header says {wanted}")
    stored = np.memmap(path, kind, "r", start, tuple(shape), "F").reshape(grid.shape, order="F")
    slope, intercept = header.get_slope_inter()
    return Voxels(stored, float(1 if slope is None else slope), float(intercept or 0))


class _Limited:
    """A file of which no more is written than was promised."""

    def __init__(self, stream: IO[bytes], most: int) -> None:
        self._stream, self._left = stream, most

    def write(self, data: bytes) -> int:
        kept = data[: self._left]
        self._left -= len(kept)
        self._stream.write(kept)
        return len(data)

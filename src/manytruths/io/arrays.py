"""NumPy files: an ``.npy`` is memory-mapped; an ``.npz`` is an archive of arrays."""

from __future__ import annotations

import os
import zipfile
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..shape.grid import Grid
from .files import Content, Location, Use, check_bytes, check_shape, first_bytes, make_grid, raise_damaged

_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


@dataclass(frozen=True)
class _Header:
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    end: int
    """Bytes from the start of the header to the end of the data."""


def probe(location: Location) -> Grid:
    if _is_archive(location):
        archive = _archive(location.path)
        with archive.open(_entry(location, archive)) as stream:
            return make_grid(location, _header(stream, location).shape)
    with open(location.path, "rb") as stream:
        header = _header(stream, location)
    check_bytes(location, header.end)
    return make_grid(location, header.shape)


def read(location: Location, use: Use) -> Content:
    if _is_archive(location):
        array, kind = _read_member(location), "npz"
    else:
        probe(location)
        array, kind = np.load(location.path, mmap_mode="r", allow_pickle=False), "npy"
    # uint8 with a last axis of 3 or 4 is colour by convention
    if use != "mask" and array.ndim == 3 and array.shape[2] in (3, 4) and array.dtype == np.uint8:
        return Content(array[..., :3], make_grid(location, array.shape[:2]), kind, "RGB")
    return Content(array, make_grid(location, array.shape), kind)


def array_names(path: Path) -> tuple[str, ...]:
    """Names of the arrays in an ``.npz``."""
    return _names_in(_archive(path))


def _archive(path: Path) -> zipfile.ZipFile:
    stat = path.stat()
    return _open_archive(path, os.getpid(), stat.st_mtime_ns, stat.st_size)


# Thousands of arrays in one archive: its directory is parsed once. Processes must not share the open file.
@lru_cache(maxsize=1)
def _open_archive(path: Path, *_: int) -> zipfile.ZipFile:
    return zipfile.ZipFile(path)


def _names_in(archive: zipfile.ZipFile) -> tuple[str, ...]:
    return tuple(sorted(name.removesuffix(".npy") for name in archive.namelist() if name.endswith(".npy")))


def _is_archive(location: Location) -> bool:
    return location.member is not None or location.path.suffix.lower() == ".npz"


def _read_member(location: Location) -> NDArray[Any]:
    stat = location.path.stat()
    return _decompress(Location(location.path, location.member), stat.st_mtime_ns, stat.st_size)


# The raters of a case are often one array, read one after the other: it is decompressed once.
@lru_cache(maxsize=1)
def _decompress(location: Location, *_: int) -> NDArray[Any]:
    archive = _archive(location.path)
    entry = _entry(location, archive)
    with archive.open(entry) as stream:
        header = _header(stream, location)
    if entry.file_size < header.end:
        raise_damaged(location, f"{entry.file_size} bytes where its header says {header.end}")
    with archive.open(entry) as stream:
        array: NDArray[Any] = npy.read_array(stream, allow_pickle=False)
        while stream.read(1 << 20):  # the check sum is verified at the end of the entry
            pass
    array.flags.writeable = False
    return array


def _entry(location: Location, archive: zipfile.ZipFile) -> zipfile.ZipInfo:
    name = location.member
    if name is None:
        names = _names_in(archive)
        if len(names) != 1:
            raise FormatError(
                f"{location}: holds {len(names)} arrays ({', '.join(names[:5])}); name one, as in {location}/NAME"
            )
        name = names[0]
    try:
        return archive.getinfo(f"{name}.npy")
    except KeyError:
        names = _names_in(archive)
        raise FormatError(
            f"{location}: the archive has no array {name!r} but {len(names)} others, such as {', '.join(names[:5])}"
        ) from None


def _header(stream: IO[bytes], location: Location) -> _Header:
    try:
        version = npy.read_magic(stream)
    except ValueError as error:
        start = first_bytes(location.path)
        if start.startswith((npy.MAGIC_PREFIX, b"PK")):
            raise_damaged(location, "no NumPy header", error)
        raise FormatError(f"{location}: is not a NumPy array: it starts with {start!r}; save it again") from error
    if version not in _HEADERS:
        raise FormatError(f"{location}: is a NumPy file of version {version}; save a plain array of numbers")
    shape, _, dtype = _HEADERS[version](stream)
    if dtype.kind not in "buif":
        raise FormatError(f"{location}: holds {dtype}, not integers, booleans or floats; save it as one of these")
    check_shape(location, shape)
    return _Header(shape, dtype, stream.tell() + int(np.prod(shape, dtype=np.int64)) * dtype.itemsize)

"""NRRD, by pynrrd; positions are converted to the right-anterior-superior space of NIfTI."""

from __future__ import annotations

import bz2
import gzip
import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError
from ..shape.grid import MAX_ITEMS, Grid
from .files import (
    Content,
    Location,
    Use,
    check_shape,
    first_bytes,
    import_extra,
    make_grid,
    open_data_file,
    raise_damaged,
)

_FLIPS = {
    "right-anterior-superior": (1, 1, 1), "ras": (1, 1, 1),
    "left-anterior-superior": (-1, 1, 1), "las": (-1, 1, 1),
    "left-posterior-superior": (-1, -1, 1), "lps": (-1, -1, 1),
}  # fmt: skip
_MM = {"um": 1e-3, "µm": 1e-3, "microns": 1e-3, "micron": 1e-3, "cm": 10.0, "m": 1e3}

_TEXTS = ("ascii", "text", "txt")
_COMPRESSED: dict[str, Callable[[IO[bytes]], Any]] = {
    "gzip": lambda source: gzip.GzipFile(fileobj=source), "gz": lambda source: gzip.GzipFile(fileobj=source),
    "bzip2": bz2.BZ2File, "bz2": bz2.BZ2File,
}  # fmt: skip
_LETTERS = 40
"""Most characters of a number, with the space after it."""
_SLACK = 1 << 16


def probe(location: Location) -> Grid:
    with open(location.path, "rb") as stream:
        return _grid(_header(stream, location), location)


def read(location: Location, use: Use) -> Content:
    with open(location.path, "rb") as stream:
        header = _header(stream, location)
        grid = _grid(header, location)
        return Content(_read_data(stream, header, grid, location), grid, "nrrd")


def _header(stream: IO[bytes], location: Location) -> Any:
    nrrd = import_extra("nrrd", "medical", location)
    start = first_bytes(location.path)
    if not start.startswith(b"NRRD"[: len(start)]):
        raise FormatError(f"{location}: is not an NRRD file: it starts with {start!r}; export it again")
    header = nrrd.read_header(stream)
    missing = [field for field in ("dimension", "type", "encoding", "sizes") if field not in header]
    if missing:
        raise FormatError(f"{location}: its header ends without {', '.join(missing)}; export or copy it again")
    return header


def _read_data(stream: IO[bytes], header: Any, grid: Grid, location: Location) -> NDArray[Any]:
    dtype, sizes = _dtype(header, location), [int(n) for n in header["sizes"]]
    wanted = int(np.prod(grid.shape, dtype=np.int64)) * dtype.itemsize
    with _source(stream, header, location) as source:
        lines, skip = int(_field(header, "line skip", 0)), int(_field(header, "byte skip", 0))
        if lines < 0 or skip < -1:
            raise_damaged(location, f"line skip: {lines}" if lines < 0 else f"byte skip: {skip}")
        for _ in range(lines):
            if not source.readline():
                raise_damaged(location, f"it ends before {lines} lines are skipped")
        encoding = str(header["encoding"]).lower()
        if encoding in _TEXTS:
            array = _read_text(source, skip, dtype, wanted // dtype.itemsize, location)
        elif encoding == "raw":
            array = np.frombuffer(_read_raw(source, skip, wanted, location), dtype)
        elif encoding in _COMPRESSED:
            array = np.frombuffer(_read_compressed(_COMPRESSED[encoding](source), skip, wanted, location), dtype)
        else:
            raise FormatError(f"{location}: its encoding {encoding!r} cannot be read; save it as raw or gzip")
    return array.reshape(sizes[::-1]).T


def _field(header: Any, name: str, otherwise: Any) -> Any:
    return header.get(name.replace(" ", ""), header.get(name, otherwise))


def _dtype(header: Any, location: Location) -> np.dtype[Any]:
    """The type that pynrrd derives from ``type`` and ``endian``, found by reading one item."""
    nrrd = import_extra("nrrd", "medical", location)
    if header["dimension"] != len(header["sizes"]):
        raise_damaged(location, f"dimension {header['dimension']}, but {len(header['sizes'])} sizes")
    fields = {key: header[key] for key in ("type", "endian", "dimension") if key in header}
    # numbers written as text have no byte order
    encoding, item = ("ascii", b"0") if str(header["encoding"]).lower() in _TEXTS else ("raw", bytes(8))
    single = {**fields, "encoding": encoding, "sizes": np.ones(len(header["sizes"]), np.int64)}
    array: NDArray[Any] = nrrd.read_data(single, io.BytesIO(item))
    return array.dtype


def data_files(location: Location) -> list[str]:
    """The names of files beside the header that hold its data."""
    with open(location.path, "rb") as stream:
        name = _field(_header(stream, location), "data file", None)
    return [] if name is None else [str(name)]


@contextmanager
def _source(stream: IO[bytes], header: Any, location: Location) -> Iterator[IO[bytes]]:
    """Where the numbers are: after the header, or in one file beside it."""
    name = _field(header, "data file", None)
    if name is None:
        yield stream
        return
    name = str(name)
    if name.split()[:1] == ["LIST"] or "%" in name:
        raise FormatError(f"{location}: its data are in several files ({name}); save it as one .nrrd file")
    with open_data_file(location, name) as beside:
        yield beside


def _read_raw(source: IO[bytes], skip: int, wanted: int, location: Location) -> bytes:
    here, end = source.tell(), source.seek(0, io.SEEK_END)
    start = end - wanted if skip == -1 else here + skip
    if start < 0 or end - start != wanted:
        raise_damaged(location, f"{end - start} bytes of data where its header says {wanted}")
    source.seek(start)
    return source.read(wanted)


def _read_compressed(stream: IO[bytes], skip: int, wanted: int, location: Location) -> bytes:
    """Exactly the wanted bytes; the compressed file is read to its end, where its check sum is."""
    with stream:
        if skip > 0:
            stream.seek(skip)
        data = stream.read(wanted)
        more = 0
        while piece := stream.read(1 << 20):
            more += len(piece)
            data = (data + piece)[-wanted:] if skip == -1 else data
            if more > (MAX_ITEMS if skip == -1 else 0):
                raise_damaged(location, f"more than {wanted} bytes of data, which its header says")
    if len(data) < wanted:
        raise_damaged(location, f"{len(data)} bytes of data where its header says {wanted}")
    return data


def _read_text(source: IO[bytes], skip: int, dtype: Any, items: int, location: Location) -> NDArray[Any]:
    source.seek(max(skip, 0), io.SEEK_CUR)
    text = source.read(_LETTERS * items + _SLACK)
    words = text.split()
    if len(words) != items or source.read(1):
        raise_damaged(location, f"{len(words)} numbers or more where its header says {items}")
    return np.array(words).astype(dtype)


def _grid(header: Any, location: Location) -> Grid:
    shape = check_shape(location, header["sizes"])
    if len(shape) > 3:
        raise FormatError(
            f"{location}: has {len(shape)} axes ({'×'.join(map(str, shape))}); save one volume a file, "
            "from Slicer as a labelmap in one layer"
        )
    if "space directions" in header:
        grid = make_grid(location, shape, affine=affine_of(header).tolist())
        # without the name of the space or an origin, orientation and position are a guess
        known = str(header.get("space", "")).lower() in _FLIPS and "space origin" in header
        return replace(grid, oriented=known)
    spacing = header.get("spacings")
    return make_grid(location, shape, None if spacing is None else tuple(spacing))


def affine_of(header: Any) -> NDArray[np.float64]:
    """Directions as columns and the origin, in mm, of a header with one direction an axis."""
    directions = np.atleast_2d(np.asarray(header["space directions"], dtype=np.float64)).T
    origin = np.asarray(header.get("space origin", np.zeros(len(directions))), dtype=np.float64)
    affine = np.eye(len(directions) + 1, directions.shape[1] + 1)
    affine[-1] = [0.0] * directions.shape[1] + [1.0]
    affine[:-1, :-1], affine[:-1, -1] = directions, origin
    flips = _FLIPS.get(str(header.get("space", "")).lower(), ())
    for axis, flip in enumerate(flips[: len(directions)]):
        affine[axis] *= flip
    units = header.get("space units") or [""]
    affine[:-1] *= _MM.get(str(units[0]).lower(), 1.0)
    return affine

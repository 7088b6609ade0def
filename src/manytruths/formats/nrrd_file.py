"""NRRD through pynrrd; positions are turned into the right-anterior-superior space of NIfTI."""

from __future__ import annotations

import gzip
import io
from dataclasses import replace
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FormatError
from .grid import Grid
from .location import Location
from .opening import Content, check_shape, grid_of, needs, start_of

_FLIPS = {
    "right-anterior-superior": (1, 1, 1), "ras": (1, 1, 1),
    "left-anterior-superior": (-1, 1, 1), "las": (-1, 1, 1),
    "left-posterior-superior": (-1, -1, 1), "lps": (-1, -1, 1),
}  # fmt: skip
_MM = {"um": 1e-3, "µm": 1e-3, "microns": 1e-3, "micron": 1e-3, "cm": 10.0, "m": 1e3}


def probe(location: Location) -> Grid:
    with open(location.path, "rb") as stream:
        return _grid(_header(stream, location), location)


def read(location: Location, as_picture: bool) -> Content:
    with open(location.path, "rb") as stream:
        header = _header(stream, location)
        grid = _grid(header, location)
        return Content(_data(stream, header, grid, location), grid, "nrrd")


def _header(stream: IO[bytes], location: Location) -> Any:
    nrrd = needs("nrrd", "medical", location)
    start = start_of(location.path)
    if not start.startswith(b"NRRD"[: len(start)]):
        raise FormatError(f"{location}: is not an NRRD file: it starts with {start!r}; export it again")
    header = nrrd.read_header(stream)
    missing = [field for field in ("dimension", "type", "encoding", "sizes") if field not in header]
    if missing:
        raise FormatError(f"{location}: its header ends without {', '.join(missing)}; export or copy it again")
    return header


def _data(stream: IO[bytes], header: Any, grid: Grid, location: Location) -> NDArray[Any]:
    nrrd = needs("nrrd", "medical", location)
    plain = not {"datafile", "data file", "byteskip", "byte skip", "lineskip", "line skip"} & set(header)
    if plain and header["encoding"] in ("gzip", "gz"):
        # pynrrd stops before the checksum at the end of the packed data; here a cut or changed file fails.
        stream = io.BytesIO(_unpacked(stream, 8 * int(np.prod(grid.shape, dtype=np.int64))))
        header = {**header, "encoding": "raw"}
    array: NDArray[Any] = nrrd.read_data(header, stream, str(location.path))
    return array


def _unpacked(stream: IO[bytes], most: int) -> bytes:
    with gzip.GzipFile(fileobj=stream) as unpacked:
        data = unpacked.read(most)
        while unpacked.read(1 << 20):
            pass
    return data


def _grid(header: Any, location: Location) -> Grid:
    shape = check_shape(location, header["sizes"])
    if len(shape) > 3:
        raise FormatError(
            f"{location}: has {len(shape)} axes ({'×'.join(map(str, shape))}); save one volume a file, "
            "from Slicer as a labelmap in one layer"
        )
    if "space directions" in header:
        grid = grid_of(location, shape, affine=affine_of(header).tolist())
        # without the name of the space or an origin, which way and where is a guess
        known = str(header.get("space", "")).lower() in _FLIPS and "space origin" in header
        return replace(grid, oriented=known)
    spacing = header.get("spacings")
    return grid_of(location, shape, None if spacing is None else tuple(spacing))


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

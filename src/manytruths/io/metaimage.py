"""MetaImage: ``.mha``, and ``.mhd`` with its data in ``.raw`` or ``.zraw`` files beside it.

The header is lines of ``Name = value``, of which ``ElementDataFile`` is the last. Positions are left-posterior-superior
in the file, as ITK takes them, and right-anterior-superior in grids. Row i of ``TransformMatrix`` is the direction of
axis i. Lengths in other units (``DistanceUnits``) become mm. Reference: the MetaIO documentation of ITK, https://docs.itk.org/en/latest/learn/metaio.html
"""

from __future__ import annotations

import io
import math
import re
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError, GridError
from ..shape.grid import MAX_ITEMS, Grid
from .files import Content, Location, Use, check_shape, first_bytes, make_grid, open_data_file, raise_damaged

LONGEST_HEADER = 1 << 20
"""Bytes of a header, with the names of its data files."""
_SIZES = {
    "MET_CHAR": "i1", "MET_UCHAR": "u1", "MET_SHORT": "i2", "MET_USHORT": "u2", "MET_INT": "i4", "MET_UINT": "u4",
    "MET_LONG": "i4", "MET_ULONG": "u4", "MET_LONG_LONG": "i8", "MET_ULONG_LONG": "u8",
    "MET_FLOAT": "f4", "MET_DOUBLE": "f8",
}  # fmt: skip
_NAMES = {"u1": "MET_UCHAR", "u2": "MET_USHORT", "i4": "MET_INT", "f4": "MET_FLOAT"}
_OFFSETS, _MATRICES = ("offset", "position", "origin"), ("transformmatrix", "orientation", "rotation")
_MM = {"um": 1e-3, "cm": 10.0}
_LETTERS, _SLACK = 40, 1 << 16
"""Most characters of a number that is written as text, and of all spaces around numbers."""
_PIECE = 1 << 20
_FLAT = 1e-9
"""Volume that the unit vectors of directions span, below which they depend on each other."""
_NUMBERED = re.compile(r"[^%]*%0?\d?d[^%]*")
LPS = (-1.0, -1.0, 1.0)
"""From right-anterior-superior to left-posterior-superior, and back."""


@dataclass(frozen=True)
class _Header:
    """What stands before the pixels."""

    fields: Mapping[str, str]
    """By names in lower case."""
    names: tuple[str, ...]
    """Lines after the last field: the data files of a LIST."""
    start: int
    """The first byte after the last field."""


def probe(location: Location) -> Grid:
    """The grid, from the header alone."""
    header = _read_header(location)
    return _grid(header, location)


def read(location: Location, use: Use) -> Content:
    """The pixels with their grid; three channels of bytes are a colour picture."""
    header = _read_header(location)
    grid = _grid(header, location)
    dtype, channels = _dtype(header, location), _channels(header, use, location)
    shape = (*_sizes(header, location)[::-1], *((channels,) if channels > 1 else ()))
    flat = _read_data(header, dtype, math.prod(shape), location)
    array = flat.reshape(shape)
    axes = len(shape) - (channels > 1)
    array = array.transpose(*range(axes - 1, -1, -1), *range(axes, len(shape)))
    array = array.reshape(*grid.shape, *array.shape[axes:])
    return Content(array, grid, "metaimage", "RGB" if channels > 1 else "")


# -- the header ---------------------------------------------------------------------------------------


def _read_header(location: Location) -> _Header:
    with open(location.path, "rb") as stream:
        text = stream.read(LONGEST_HEADER)
    fields: dict[str, str] = {}
    start = 0
    while start < len(text):
        end = text.find(b"\n", start)
        line = text[start : len(text) if end < 0 else end]
        name, equals, value = line.decode("utf-8", "surrogateescape").partition("=")
        if not equals or (not fields and name.strip().lower() not in ("objecttype", "ndims", "comment")):
            if not fields:
                begins = first_bytes(location.path)
                raise FormatError(f"{location}: is not a MetaImage: it starts with {begins!r}; export it again")
            raise_damaged(location, f"its header has the line {line[:40]!r}")
        start = len(text) if end < 0 else end + 1
        fields[name.strip().lower()] = value.strip()
        if name.strip().lower() == "elementdatafile":
            return _checked_header(_Header(fields, _listed(text, start, fields), start), location)
    raise FormatError(f"{location}: its header ends without ElementDataFile; export or copy it again")


def _listed(text: bytes, start: int, fields: Mapping[str, str]) -> tuple[str, ...]:
    if fields["elementdatafile"].split()[:1] != ["LIST"]:
        return ()
    lines = text[start:].decode("utf-8", "surrogateescape").splitlines()
    return tuple(line.strip() for line in lines if line.strip())


def _checked_header(header: _Header, location: Location) -> _Header:
    fields = header.fields
    missing = [name for name in ("NDims", "DimSize", "ElementType") if name.lower() not in fields]
    if missing:
        raise FormatError(f"{location}: its header ends without {', '.join(missing)}; export or copy it again")
    if fields.get("objecttype", "Image") != "Image":
        raise FormatError(f"{location}: holds an object of type {fields['objecttype'][:40]!r}, not an image; save one")
    return header


def _sizes(header: _Header, location: Location) -> tuple[int, ...]:
    axes, sizes = _whole(header, "NDims", location), header.fields["dimsize"].split()
    if len(sizes) != axes or not all(re.fullmatch(r"[-+]?\d{1,18}", size) for size in sizes):
        raise_damaged(location, f"NDims = {axes}, but DimSize = {header.fields['dimsize'][:60]}")
    return check_shape(location, [int(size) for size in sizes])


def _whole(header: _Header, name: str, location: Location, otherwise: int = 0) -> int:
    text = header.fields.get(name.lower(), str(otherwise))
    if not re.fullmatch(r"[-+]?\d{1,18}", text):
        raise_damaged(location, f"{name} = {text[:40]}")
    return int(text)


def _is_true(header: _Header, name: str, otherwise: bool) -> bool:
    text = header.fields.get(name.lower(), "")
    return text[:1].lower() in ("t", "y", "1") if text else otherwise


def _dtype(header: _Header, location: Location) -> np.dtype[Any]:
    name = header.fields["elementtype"]
    kind = _SIZES.get(name.upper())
    if kind is None:
        raise FormatError(f"{location}: its ElementType is {name[:40]}; save one number a voxel, such as MET_UCHAR")
    big = _is_true(header, "BinaryDataByteOrderMSB", _is_true(header, "ElementByteOrderMSB", False))
    return np.dtype(kind).newbyteorder(">" if big else "<")


def _channels(header: _Header, use: Use, location: Location) -> int:
    channels = _whole(header, "ElementNumberOfChannels", location, 1)
    if channels == 1 or (channels == 3 and use == "picture" and header.fields["elementtype"] == "MET_UCHAR"):
        return channels
    what = "grey or RGB of 8 bits is" if use == "picture" else "one number a voxel is"
    raise FormatError(f"{location}: has {channels} channels of {header.fields['elementtype']}, but {what} needed")


def _numbers(header: _Header, names: tuple[str, ...], count: int, location: Location) -> NDArray[np.float64] | None:
    """The numbers of the first of these fields that is there."""
    name = next((name for name in names if name in header.fields), None)
    if name is None:
        return None
    words = header.fields[name].split()
    try:
        numbers = np.array([float(word) for word in words])
    except ValueError:
        numbers = np.array([])
    if len(numbers) != count:
        raise_damaged(location, f"{name} = {header.fields[name][:60]}, where {count} numbers are needed")
    return numbers


def _grid(header: _Header, location: Location) -> Grid:
    sizes = _sizes(header, location)
    axes = len(sizes)
    shape = sizes
    while len(shape) > 3 and shape[-1] == 1:
        shape = shape[:-1]
    if not 2 <= len(shape) <= 3:
        text = "×".join(map(str, shape))
        raise FormatError(f"{location}: has {len(shape)} axes ({text}); save one image or volume a file")
    spacing = _numbers(header, ("elementspacing", "elementsize"), axes, location)
    offset, matrix = _numbers(header, _OFFSETS, axes, location), _numbers(header, _MATRICES, axes**2, location)
    unit = _MM.get(header.fields.get("distanceunits", "").lower(), 1.0)
    if spacing is not None:
        spacing = spacing[: len(shape)] * unit
        make_grid(location, shape, tuple(spacing.tolist()))
    if offset is None and matrix is None:
        return make_grid(location, shape, None if spacing is None else tuple(spacing.tolist()))
    affine = np.eye(len(shape) + 1)
    directions = np.eye(axes) if matrix is None else matrix.reshape(axes, axes).T
    affine[:-1, :-1] = directions[: len(shape), : len(shape)] * (np.ones(len(shape)) if spacing is None else spacing)
    affine[:-1, -1] = 0.0 if offset is None else offset[: len(shape)] * unit
    affine[:-1] *= np.array(LPS[: len(shape)])[:, None]
    grid = make_grid(location, shape, affine=(affine + 0.0).tolist())
    directions = affine[:-1, :-1] / np.linalg.norm(affine[:-1, :-1], axis=0)
    if not abs(np.linalg.det(directions)) > _FLAT:
        raise GridError(f"{location}: its TransformMatrix has directions that depend on each other; repair the header")
    # without both of them, orientation and position are a guess
    return replace(grid, oriented=offset is not None and matrix is not None)


# -- the pixels ---------------------------------------------------------------------------------------


def _read_data(header: _Header, dtype: np.dtype[Any], items: int, location: Location) -> NDArray[Any]:
    if items > 4 * MAX_ITEMS:
        raise FormatError(f"{location}: holds {items} numbers, more than {4 * MAX_ITEMS}; split it into tiles")
    names = _data_files(header, location)
    if names is None:
        with open(location.path, "rb") as stream:
            return _decode(stream, header.start, header, dtype, items, location)
    parts = []
    for name in names:
        with open_data_file(location, name) as stream:
            parts.append(_decode(stream, 0, header, dtype, items // len(names), location))
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def data_files(location: Location) -> list[str]:
    """The names of files beside the header that hold its data."""
    return _data_files(_read_header(location), location) or []


def _data_files(header: _Header, location: Location) -> list[str] | None:
    """The files that hold the pixels, in their order; None where the header's own file does."""
    name = header.fields["elementdatafile"]
    words = name.split()
    if not words:
        raise_damaged(location, "ElementDataFile is empty")
    if name.upper() == "LOCAL":
        return None
    sizes = _sizes(header, location)
    if words[0] == "LIST":
        held = re.fullmatch(r"(\d)D?", words[1]) if len(words) > 1 else None
        axes = int(held[1]) if held else len(sizes) - 1
        _check_count(len(header.names), math.prod(sizes[axes:]), location)
        return list(header.names)
    if "%" not in name:
        return [name]
    if not _NUMBERED.fullmatch(words[0]) or not all(re.fullmatch(r"-?\d{1,9}", word) for word in words[1:4]):
        raise_damaged(location, f"ElementDataFile = {name[:60]}")
    first, last, step = (*map(int, words[1:4]), *(1, sizes[-1], 1)[len(words) - 1 :])[:3]
    last = first + sizes[-1] - 1 if len(words) == 2 else last
    numbers = range(first, last + 1, step) if step > 0 else range(0)
    _check_count(len(numbers), sizes[-1], location)
    return [words[0] % number for number in numbers]


def _check_count(files: int, wanted: int, location: Location) -> None:
    if files != wanted:
        raise_damaged(location, f"{files} data files where its header says {wanted}")


def _decode(
    stream: IO[bytes], start: int, header: _Header, dtype: np.dtype[Any], items: int, location: Location
) -> NDArray[Any]:
    """So many numbers of one file, from ``start`` on unless the header says otherwise."""
    skip, wanted = _whole(header, "HeaderSize", location), items * dtype.itemsize
    end = stream.seek(0, io.SEEK_END)
    if skip < -1 or skip > end:
        raise_damaged(location, f"HeaderSize = {skip} in a file of {end} bytes")
    packed = _is_true(header, "CompressedData", False)
    start = end - wanted if skip == -1 and not packed else max(skip, start)
    stream.seek(max(start, 0))
    if not _is_true(header, "BinaryData", True):
        return _read_text(stream, dtype, items, location)
    if packed:
        size = _whole(header, "CompressedDataSize", location)
        if not 0 <= size <= end - start:
            raise_damaged(location, f"CompressedDataSize = {size} where {end - start} bytes are left")
        return np.frombuffer(_inflate(stream, wanted, location), dtype)
    if start < 0 or end - start != wanted:
        raise_damaged(location, f"{end - start} bytes of data where its header says {wanted}")
    return np.frombuffer(stream.read(wanted), dtype)


def _inflate(stream: IO[bytes], wanted: int, location: Location) -> bytes:
    """Exactly the wanted bytes of a zlib or gzip stream, read to its end, where its check sum is."""
    unpacking = zlib.decompressobj(zlib.MAX_WBITS | 32)
    parts, left = list[bytes](), wanted + 1
    while not unpacking.eof and (piece := unpacking.unconsumed_tail or stream.read(_PIECE)):
        parts.append(unpacking.decompress(piece, left))
        left -= len(parts[-1])
        if left == 0:
            raise_damaged(location, f"more than {wanted} bytes of data, which its header says")
    if left != 1 or not unpacking.eof:
        raise_damaged(location, f"{wanted + 1 - left} bytes of data where its header says {wanted}")
    return b"".join(parts)


def _read_text(stream: IO[bytes], dtype: np.dtype[Any], items: int, location: Location) -> NDArray[Any]:
    words = stream.read(_LETTERS * items + _SLACK).split()
    if len(words) != items or stream.read(1):
        raise_damaged(location, f"{len(words)} numbers or more where its header says {items}")
    return np.array(words).astype(dtype.newbyteorder("="))


# -- writing ------------------------------------------------------------------------------------------


def write(path: Path, array: NDArray[Any], grid: Grid) -> None:
    """Write an array of 8, 16 or 32 bits as one compressed file, as ITK writes it."""
    kind = np.dtype(array.dtype).str[1:]
    packed = zlib.compress(array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes("F"))
    lines = [
        "ObjectType = Image",
        f"NDims = {array.ndim}",
        "BinaryData = True",
        "BinaryDataByteOrderMSB = False",
        "CompressedData = True",
        f"CompressedDataSize = {len(packed)}",
        *_geometry_lines(grid),
        f"DimSize = {' '.join(map(str, array.shape))}",
        f"ElementType = {_NAMES[kind]}",
        "ElementDataFile = LOCAL",
    ]
    with open(path, "wb") as stream:
        stream.write(("\n".join(lines) + "\n").encode("ascii"))
        stream.write(packed)


def _geometry_lines(grid: Grid) -> Iterator[str]:
    axes = len(grid.shape)
    if grid.affine is None or np.shape(grid.affine) != (axes + 1, axes + 1):
        if grid.spacing is not None:
            yield f"ElementSpacing = {_words(grid.spacing)}"
        return
    affine = np.array(grid.affine)
    affine[:-1] *= np.array(LPS[:axes])[:, None]
    spacing = np.linalg.norm(affine[:-1, :-1], axis=0)
    yield f"TransformMatrix = {_words((affine[:-1, :-1] / spacing).T.ravel())}"
    yield f"Offset = {_words(affine[:-1, -1])}"
    yield f"ElementSpacing = {_words(spacing)}"


def _words(numbers: Any) -> str:
    # 0.0 takes away the minus of a zero
    return " ".join(repr(float(number) + 0.0) for number in numbers)

"""The header of a ``.seg.nrrd``: its segments, its grid, and the grid of the image that it was drawn on."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.errors import FormatError, GridError
from ...io.files import import_extra
from ...io.nrrd import affine_of
from ...shape.grid import Grid
from ..volumes import LARGEST_VOLUME, Volume

LONGEST_HEADER = 1 << 22
"""Bytes; the terminology of a hundred segments takes a hundredth of it."""
MOST_SEGMENTS = 1 << 12
GEOMETRY = "Reference image geometry"
"""What Slicer calls the image's grid among its conversion parameters."""
CLOSE = 1e-3
"""How far, in voxels, two lattices may lie apart and still be one."""

_KEY = re.compile(r"Segment(\d+)_(\w+)")
_TYPES = {
    "u1": ("unsigned char", "uchar", "uint8", "uint8_t"),
    "i1": ("signed char", "int8", "int8_t"),
    "i2": ("short", "short int", "signed short", "signed short int", "int16", "int16_t"),
    "u2": ("unsigned short", "ushort", "unsigned short int", "uint16", "uint16_t"),
    "i4": ("int", "signed int", "int32", "int32_t"),
    "u4": ("unsigned int", "uint", "uint32", "uint32_t"),
    "i8": ("long long", "longlong", "long long int", "signed long long", "int64", "int64_t"),
    "u8": ("unsigned long long", "ulonglong", "uint64", "uint64_t"),
    "f4": ("float",),
    "f8": ("double",),
}
_ELSEWHERE = ("data file", "datafile", "line skip", "lineskip", "byte skip", "byteskip")


@dataclass(frozen=True, eq=False)
class Header:
    """What stands before the voxels."""

    volume: Volume
    grid: Grid
    """Of the voxels that are stored, which often are a box of the image."""
    keys: Mapping[str, str]
    """Whatever Slicer, or anybody, added: ``Segment0_Name`` and so on."""
    segments: tuple[Mapping[str, str], ...]
    """Of every segment its own: ``Name``, ``ID``, ``LabelValue``, …"""


def header_of(path: Path) -> Header:
    """The header alone; no voxel is read."""
    lines, start = _lines(path)
    keys = dict(_key(line) for line in lines if ":=" in line and not line.startswith("#"))
    # pynrrd would drop whatever is not ASCII
    plain = [line for line in lines if ":=" not in line]
    fields = import_extra("nrrd", "medical", path).read_header(plain)
    volume = _volume(path, fields, start)
    return Header(volume, _grid(fields, volume), keys, _segments(keys))


def _lines(path: Path) -> tuple[list[str], int]:
    """The lines of the header, and where the voxels start."""
    with open(path, "rb") as stream:
        data = stream.read(LONGEST_HEADER)
    if not data.startswith(b"NRRD"):
        raise FormatError(f"is not an NRRD file: it starts with {data[:12]!r}; export it from Slicer again")
    end = re.search(rb"\r?\n\r?\n", data)
    if end is None:
        raise FormatError("its header does not end; export or copy it again")
    raw = data[: end.start()]
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return [line.rstrip("\r") for line in text.split("\n")], end.end()


def _key(line: str) -> tuple[str, str]:
    name, _, value = line.partition(":=")
    return name.strip(), re.sub(r"\\(.)", lambda m: {"n": "\n"}.get(m[1], m[1]), value)


# -- voxels ------------------------------------------------------------------------------------------


def _volume(path: Path, fields: Any, start: int) -> Volume:
    missing = [field for field in ("dimension", "type", "encoding", "sizes") if field not in fields]
    if missing:
        raise FormatError(f"its header ends without {', '.join(missing)}; export or copy it again")
    if any(field in fields for field in _ELSEWHERE):
        raise FormatError("its voxels lie in another file, or behind bytes to skip; save it as one .seg.nrrd")
    sizes = [int(size) for size in fields["sizes"]]
    if len(sizes) not in (3, 4) or fields["dimension"] != len(sizes):
        raise FormatError(f"has {len(sizes)} axes, wanted are 3, or 4 with the layers first; export it from Slicer")
    packed = str(fields["encoding"]).lower()
    if packed not in ("raw", "gzip", "gz"):
        raise FormatError(f"its voxels are stored as {packed}, wanted is gzip or raw; save it from Slicer again")
    layers = sizes[0] if len(sizes) == 4 else 1
    if len(sizes) == 4 and not _layers_first(fields):
        raise FormatError("its first axis are no layers (kinds: list domain domain domain); export it from Slicer")
    return Volume(path, tuple(sizes[-3:]), _type(fields), layers, before=start, packed=packed != "raw")


def _layers_first(fields: Any) -> bool:
    kinds = [str(kind).lower() for kind in fields.get("kinds", [])]
    if len(kinds) == 4:
        return kinds[0] in ("list", "vector", "none", "???") and not set(kinds[1:]) & {"list", "vector", "time"}
    directions = fields.get("space directions")
    return directions is not None and bool(np.isnan(np.asarray(directions, np.float64)[0]).all())


def _type(fields: Any) -> str:
    name = " ".join(str(fields["type"]).lower().split())
    kind = next((kind for kind, names in _TYPES.items() if name in names), None)
    if kind is None:
        raise FormatError(f"its voxels are of type {name!r}; save it from Slicer as a binary labelmap")
    order = str(fields.get("endian", "little")).lower()
    if order not in ("little", "big") or ("endian" not in fields and kind[1] != "1"):
        raise FormatError("its header does not say the order of bytes (endian: little); export it again")
    return {"little": "<", "big": ">"}[order] + kind if kind[1] != "1" else "|" + kind


def _grid(fields: Any, volume: Volume) -> Grid:
    if "space directions" in fields:
        directions = np.atleast_2d(np.asarray(fields["space directions"], np.float64))[-3:]
        if directions.shape != (3, 3):
            raise GridError("its space directions are not three of three numbers; export it from Slicer")
        return Grid(volume.shape, affine=affine_of({**fields, "space directions": directions}).tolist())
    spacing = fields.get("spacings")
    return Grid(volume.shape, None if spacing is None else tuple(float(s) for s in spacing)[-3:])


# -- segments ----------------------------------------------------------------------------------------


def _segments(keys: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
    found: dict[int, dict[str, str]] = {}
    for name, value in keys.items():
        match = _KEY.fullmatch(name)
        if match and len(match[1]) < 8:
            found.setdefault(int(match[1]), {})[match[2]] = value
    if len(found) > MOST_SEGMENTS:
        raise FormatError(f"names {len(found)} segments, more than {MOST_SEGMENTS}; export it in parts")
    return tuple({"Number": str(number), **found[number]} for number in sorted(found))


def tags_of(text: str) -> dict[str, str]:
    """Slicer's tags: ``name:value|name:value|``."""
    pairs = (tag.partition(":") for tag in text.split("|") if tag)
    return {name: value for name, _, value in pairs}


# -- the image that was drawn on ---------------------------------------------------------------------


def reference_of(keys: Mapping[str, str]) -> Grid | None:
    """The grid of the image, where the file tells it: 16 numbers from index to mm (RAS), and 6 of where it ends."""
    told = keys.get("Segmentation_ConversionParameters", "")
    parts = (parameter.split("|") for parameter in told.split("&"))
    text = next((part[1] for part in parts if len(part) > 1 and part[0].strip() == GEOMETRY), "").strip()
    if not text.strip(";"):
        return None
    numbers = [float(number) for number in text.strip(";").split(";")]
    if len(numbers) != 22 or not all(map(math.isfinite, numbers)):
        raise GridError(f"its {GEOMETRY.lower()} are not 16 and 6 numbers; save it from Slicer again")
    first, last = np.array(numbers[16::2]), np.array(numbers[17::2])
    size = last - first + 1
    if (size < 1).any():
        return None
    if (size % 1).any() or float(np.prod(size)) > LARGEST_VOLUME:
        shown = "×".join(f"{n:.8g}" for n in size)
        raise GridError(f"its {GEOMETRY.lower()} has {shown} voxels; save it from Slicer again")
    affine = np.array(numbers[:16]).reshape(4, 4)
    affine[:3, 3] += affine[:3, :3] @ first
    rows = tuple(tuple(row) for row in affine.tolist())
    return Grid(tuple(int(n) for n in size), affine=rows)


def corner_in(grid: Grid, reference: Grid) -> tuple[int, ...] | None:
    """Where a grid starts on another of the same lattice, in voxels; None where the lattices differ."""
    if grid.affine is None or reference.affine is None:
        return None
    own, other = np.array(grid.affine), np.array(reference.affine)
    if abs(np.linalg.det(other[:3, :3])) < 1e-12 * math.prod(reference.spacing or (1,)):
        return None
    moved = np.linalg.solve(other, own)
    place = np.rint(moved[:3, 3])
    reach = np.array(grid.shape)
    turned = np.abs(moved[:3, :3] - np.eye(3)) @ reach
    if not (turned + np.abs(moved[:3, 3] - place) <= CLOSE).all():
        return None
    return tuple(int(n) for n in _whole(place))


def _whole(place: NDArray[np.float64]) -> NDArray[np.int64]:
    return np.clip(place, -(2**40), 2**40).astype(np.int64)

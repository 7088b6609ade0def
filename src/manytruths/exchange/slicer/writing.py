"""Write a read as a segmentation that 3D Slicer opens."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

from ...core.errors import CallError, LabelError
from ...io import atomic
from ...shape.grid import Grid
from ..reads import Mark, Mask, Read
from .file import GEOMETRY, tags_of
from .reading import OWN, STATUS

Key = tuple[str, int | None]
"""A segment: the name of a structure, and a rank."""

PALETTE = (
    (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167),
    (153, 153, 153), (136, 34, 85), (68, 170, 153), (153, 153, 51), (51, 34, 136),
)  # fmt: skip
"""Colours that those who see red and green alike can tell apart (Okabe and Ito, and Tol after them)."""

_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])
_PIECE = 1 << 24


def write_slicer(path: Path | str, read: Read) -> None:
    """One ``.seg.nrrd``: a segment for every structure and rank, in as few layers as their overlaps need."""
    path = Path(path)
    if len(read.grid.shape) != 3:
        raise CallError(f"{path}: a .seg.nrrd holds volumes, and {read.image} is an image; write it in another format")
    segments = _segments(read)
    layers = _layers(segments)
    header = _header(read, segments, layers)
    with atomic(path) as temporary, open(temporary, "wb") as stream:
        stream.write(header)
        _voxels(stream, list(segments.values()), layers, read.grid.shape)


def _segments(read: Read) -> dict[Key, Mask]:
    found: dict[Key, Mask] = {}
    for mark in read.marks:
        if not mark.label.isprintable() or mark.label != mark.label.strip() or not mark.label:
            raise LabelError(f"a structure is called {mark.label!r}, which Slicer cannot show; rename it")
        window, inside = mark.outline.pixels(read.grid.shape)
        whole = found.setdefault((mark.label, mark.rank), np.zeros(read.grid.shape, bool))
        whole[window] |= inside
    return found


# -- layers ------------------------------------------------------------------------------------------


def _layers(segments: Mapping[Key, Mask]) -> list[int]:
    """A layer for every segment, so that none hides another; first those that have the least choice left."""
    overlaps = _overlaps(list(segments.values()))
    layers = [-1] * len(segments)
    for _ in layers:
        taken = [{layers[other] for other in overlaps[one] if layers[other] >= 0} for one in range(len(layers))]
        left = [one for one, layer in enumerate(layers) if layer < 0]
        hardest = max(left, key=lambda one: (len(taken[one]), len(overlaps[one]), -one))
        layers[hardest] = next(layer for layer in range(len(layers)) if layer not in taken[hardest])
    return layers


def _overlaps(masks: list[Mask]) -> list[set[int]]:
    boxes = [_box(mask) for mask in masks]
    found: list[set[int]] = [set() for _ in masks]
    for one in range(len(masks)):
        for other in range(one):
            shared = tuple(
                slice(max(a.start, b.start), min(a.stop, b.stop)) for a, b in zip(boxes[one], boxes[other], strict=True)
            )
            if all(part.start < part.stop for part in shared) and (masks[one][shared] & masks[other][shared]).any():
                found[one].add(other)
                found[other].add(one)
    return found


def _box(mask: Mask) -> tuple[slice, ...]:
    axes = range(mask.ndim)
    lines = [mask.any(axis=tuple(other for other in axes if other != axis)) for axis in axes]
    ends = [np.flatnonzero(line) for line in lines]
    return tuple(slice(int(e[0]), int(e[-1]) + 1) if e.size else slice(0, 0) for e in ends)


# -- the file ----------------------------------------------------------------------------------------


def _header(read: Read, segments: Mapping[Key, Mask], layers: list[int]) -> bytes:
    depth = max(layers, default=0) + 1
    axes = [] if depth == 1 else [depth]
    affine = _LPS @ _matrix(read.grid)
    directions = [_vector(column) for column in affine[:3, :3].T]
    lines = [
        "NRRD0004",
        f"type: {'unsigned char' if len(segments) < 256 else 'unsigned short'}",
        f"dimension: {3 + len(axes)}",
        "space: left-posterior-superior",
        f"sizes: {' '.join(map(str, [*axes, *read.grid.shape]))}",
        f"space directions: {' '.join([*['none' for _ in axes], *directions])}",
        f"kinds: {' '.join([*['list' for _ in axes], 'domain', 'domain', 'domain'])}",
        *(["endian: little"] if len(segments) > 255 else []),
        "encoding: gzip",
        f"space origin: {_vector(affine[:3, 3])}",
        *(f"{key}:={_escaped(value)}" for key, value in _keys(read, segments, layers).items()),
    ]
    return ("\n".join(lines) + "\n\n").encode("utf-8", "surrogateescape")


def _keys(read: Read, segments: Mapping[Key, Mask], layers: list[int]) -> dict[str, str]:
    marks = {(mark.label, mark.rank): mark for mark in reversed(read.marks)}
    extent = " ".join(f"0 {size - 1}" for size in read.grid.shape)
    keys: dict[str, str] = {}
    for number, key in enumerate(segments):
        fields = {
            "ID": f"Segment_{number + 1}",
            "Name": key[0],
            "NameAutoGenerated": "0",
            "Color": _colour(marks[key], number),
            "ColorAutoGenerated": "0",
            "LabelValue": str(number + 1),
            "Layer": str(layers[number]),
            "Extent": extent,
            "Tags": _tags(marks[key], read),
        }
        keys |= {f"Segment{number}_{name}": value for name, value in fields.items()}
    return keys | _whole_keys(read)


def _whole_keys(read: Read) -> dict[str, str]:
    matrix = ";".join(repr(float(number)) for number in _matrix(read.grid).ravel())
    extent = ";".join(f"0;{size - 1}" for size in read.grid.shape)
    own = {name: getattr(read, name) for name in ("rater", "case", "session", "subject", "status", "based_on")}
    return {
        "Segmentation_ContainedRepresentationNames": "Binary labelmap|",
        "Segmentation_ConversionParameters": f"{GEOMETRY}|{matrix};{extent};|The grid of the image.&",
        "Segmentation_MasterRepresentation": "Binary labelmap",
        "Segmentation_ReferenceImageExtentOffset": "0 0 0",
        **{OWN + name: value for name, value in own.items() if value},
    }


def _tags(mark: Mark, read: Read) -> str:
    """What the segment had, and how far it is, and its rank."""
    tags = tags_of(mark.attributes.get("tags", ""))
    tags.setdefault(STATUS, "inprogress" if read.status == "unfinished" else "completed")
    if mark.rank is not None:
        tags["rank"] = str(mark.rank)
    return "".join(f"{name}:{value}|" for name, value in tags.items())


def _colour(mark: Mark, number: int) -> str:
    """The tool's own where it is one, and otherwise the next of the palette."""
    try:
        own = [float(part) for part in mark.attributes.get("color", "").split()]
    except ValueError:
        own = []
    if len(own) == 3 and all(0 <= part <= 1 for part in own):
        return " ".join(f"{part:.6g}" for part in own)
    return " ".join(f"{part / 255:.6g}" for part in PALETTE[number % len(PALETTE)])


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\r", " ").replace("\n", "\\n")


def _vector(numbers: Iterable[float]) -> str:
    return f"({','.join(repr(float(number) + 0.0) for number in numbers)})"


def _matrix(grid: Grid) -> NDArray[np.float64]:
    if grid.affine is not None:
        return np.array(grid.affine)
    return np.diag([*(grid.spacing or (1.0, 1.0, 1.0)), 1.0])


def _voxels(stream: BinaryIO, masks: list[Mask], layers: list[int], shape: tuple[int, ...]) -> None:
    """Packed a few slices at a time, layers fastest."""
    depth = max(layers, default=0) + 1
    kind = np.dtype("u1" if len(masks) < 256 else "<u2")
    packer = zlib.compressobj(6, zlib.DEFLATED, 31)
    at_once = max(1, _PIECE // (kind.itemsize * depth * shape[0] * shape[1]))
    for first in range(0, shape[2], at_once):
        part = slice(first, min(first + at_once, shape[2]))
        slab = np.zeros((depth, shape[0], shape[1], part.stop - part.start), kind, order="F")
        for value, (mask, layer) in enumerate(zip(masks, layers, strict=True), 1):
            slab[layer][mask[..., part]] = value
        stream.write(packer.compress(slab.tobytes("F")))
    stream.write(packer.flush())

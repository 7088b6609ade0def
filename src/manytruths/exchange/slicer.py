"""Segmentations of 3D Slicer, ``.seg.nrrd``: names, layers, and the box of the image that Slicer stored.

The fields are those of Slicer's class vtkMRMLSegmentationStorageNode.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, FormatError, GridError, LabelError
from ..io import atomic
from ..io.documents import error_context
from ..io.files import import_extra
from ..io.nrrd import affine_of
from ..shape.grid import Grid
from .documents import Source, find_sources
from .outlines import marked_window
from .readings import ImportOptions, Mark, Mask, Outline, Reading, SegmentKey, Window, parse_rank_or_none, parse_status
from .volumes import LARGEST_VOLUME, Volume, VolumeContents, file_errors, scan_volume

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
TOOL = "3D Slicer"
OWN = "manytruths_"
"""Before the keys in which a file written here says whose it is; Slicer leaves such keys alone."""
STATUS = "Segmentation.Status"
"""Slicer's tag of how far a segment is: kept, but no status of the read, as Slicer sets it by itself."""
_OWN_KEYS = ("rater", "case", "session", "subject", "status", "based_on")
PALETTE = (
    (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178), (213, 94, 0), (204, 121, 167),
    (153, 153, 153), (136, 34, 85), (68, 170, 153), (153, 153, 51), (51, 34, 136),
)  # fmt: skip
"""Colours that those who see red and green alike can tell apart (Okabe and Ito, and Tol after them)."""
_LPS = np.diag([-1.0, -1.0, 1.0, 1.0])
_PIECE = 1 << 24


# -- reading ------------------------------------------------------------------------------------------


def read_slicer(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read segmentations of 3D Slicer: one reading for every ``.seg.nrrd`` file.

    Rater and case are those of the template; without one, the rater is the folder and the case the file. A structure
    has the name of its segment, or its number where the file names no segments. Where the file holds the grid of the
    image, and the stored box is a part of it, the reading lies on that grid, otherwise on that of the box. All stored
    voxels count, whatever extent a segment declares. A file without any marked voxel is ``empty``. Labels that belong
    to no segment are counted as ``unnamed-values``.

    Parameters
    ----------
    paths : sequence of str or Path
        Files ``.seg.nrrd``, folders of them, ``RATER=PATH``, or templates such as ``segs/{rater}/{case}.seg.nrrd``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every file.
    """
    return [_read(source, options or ImportOptions()) for source in find_sources(paths, (".seg.nrrd",))]


def _read(source: Source, options: ImportOptions) -> Reading:
    with file_errors(source.path):
        header = read_slicer_header(source.path)
        if "Segmentation_Extent" in header.keys:  # the first form of such files, whose layers are the last axis
            raise FormatError("is in the form that Slicer wrote before 2017; open it in a newer Slicer and save it")
        contents = scan_volume(header.volume)
        grid, corner = _place_on_grid(header, contents)
        marks, strange = _marks(header, contents, corner, options)
    fields = {name: source.fields.get(name) or header.keys.get(OWN + name, "") for name in _OWN_KEYS}
    return Reading(
        image=source.path.name,
        rater=source.rater(fields["rater"] or source.path.resolve().parent.name),
        grid=grid,
        marks=marks if contents.box is not None else (),
        session=fields["session"],
        status=parse_status(fields["status"], contents.box is None, options),
        based_on=fields["based_on"],
        tool=TOOL,
        subject=fields["subject"],
        case=fields["case"],
        left_out={"unnamed-values": strange} if strange else {},
        source=str(source.path),
    )


def _place_on_grid(header: Header, contents: VolumeContents) -> tuple[Grid, tuple[int, ...]]:
    """The grid of the image where it is known and holds everything that was marked, and the box's corner on it."""
    here = (0,) * len(header.grid.shape)
    reference = reference_of(header.keys)
    if reference is None:
        return header.grid, here
    if contents.box is None:
        # Slicer stores an empty segmentation as a single voxel, anywhere
        return reference, here
    corner = corner_in(header.grid, reference)
    if corner is None or not _inside(contents.box, corner, reference.shape):
        return header.grid, here
    return reference, corner


def _inside(box: Window, corner: tuple[int, ...], shape: tuple[int, ...]) -> bool:
    return all(part.start + c >= 0 and part.stop + c <= n for part, c, n in zip(box, corner, shape, strict=True))


def _marks(
    header: Header, contents: VolumeContents, corner: tuple[int, ...], options: ImportOptions
) -> tuple[tuple[Mark, ...], int]:
    """The marks of all segments, and the number of labels that belong to no segment."""
    labels = [(layer, value) for layer, values in enumerate(contents.values) for value in values]
    if not header.segments:
        return tuple(Mark(str(value), contents.outline(value, layer, corner)) for layer, value in labels), 0
    marks: list[Mark] = []
    owned: set[tuple[int, int | None]] = set()
    for number, fields in enumerate(header.segments):
        with error_context(f"segment {fields['Number']}"):
            layer, value = _place(fields, number, header)
            _check_unique(owned, layer, value)
            marks.append(_mark(fields, contents.outline(value, layer, corner), options))
    return tuple(marks), sum((layer, value) not in owned and (layer, None) not in owned for layer, value in labels)


def _check_unique(owned: set[tuple[int, int | None]], layer: int, value: int | None) -> None:
    """Refuse two segments that are the same voxels; without a label, a segment is all that its layer holds."""
    whole = value is None and any(other == layer for other, _ in owned)
    if whole or (layer, value) in owned or (layer, None) in owned:
        what = "no label" if value is None else f"label {value}"
        raise FormatError(f"has {what} in layer {layer}, which another one has; save it from Slicer again")
    owned.add((layer, value))


def _place(fields: Mapping[str, str], number: int, header: Header) -> tuple[int, int | None]:
    """The layer and the label; before there were shared layers, every segment had one of its own and no label."""
    layer = int(fields["Layer"]) if "Layer" in fields else number if header.volume.layers > 1 else 0
    value = int(fields["LabelValue"]) if "LabelValue" in fields else None
    if not 0 <= layer < header.volume.layers:
        raise FormatError(f"is in layer {layer}, and there are {header.volume.layers}; save it from Slicer again")
    if value is not None and value < 1:
        raise FormatError(f"has the label {value}, expected 1 or more; save it from Slicer again")
    return layer, value


def _mark(fields: Mapping[str, str], outline: Outline, options: ImportOptions) -> Mark:
    tags = tags_of(fields.get("Tags", ""))
    fields_kept = {name.lower(): fields.get(name) for name in ("ID", "Color", "Tags")} | {"status": tags.get(STATUS)}
    label = fields.get("Name") or fields.get("ID") or f"Segment_{fields['Number']}"
    attributes = {name: value for name, value in fields_kept.items() if value}
    return Mark(label, outline, rank=parse_rank_or_none(tags.get(options.rank)), attributes=attributes)


# -- the header of a file -----------------------------------------------------------------------------


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


def read_slicer_header(path: Path) -> Header:
    """The header alone; no voxel is read."""
    lines, start = _lines(path)
    keys = dict(_key(line) for line in lines if ":=" in line and not line.startswith("#"))
    # pynrrd would drop whatever is not ASCII
    plain = [line for line in lines if ":=" not in line]
    fields = import_extra("nrrd", "medical", path).read_header(plain)
    volume = _volume(path, fields, start)
    return Header(volume, _grid(fields, volume), keys, _segment_fields(keys))


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


def _volume(path: Path, fields: Any, start: int) -> Volume:
    missing = [field for field in ("dimension", "type", "encoding", "sizes") if field not in fields]
    if missing:
        raise FormatError(f"its header ends without {', '.join(missing)}; export or copy it again")
    if any(field in fields for field in _ELSEWHERE):
        raise FormatError("its voxels lie in another file, or behind bytes to skip; save it as one .seg.nrrd")
    sizes = [int(size) for size in fields["sizes"]]
    if len(sizes) not in (3, 4) or fields["dimension"] != len(sizes):
        raise FormatError(f"has {len(sizes)} axes, expected 3, or 4 with the layers first; export it from Slicer")
    packed = str(fields["encoding"]).lower()
    if packed not in ("raw", "gzip", "gz"):
        raise FormatError(f"its voxels are stored as {packed}, expected gzip or raw; save it from Slicer again")
    layers = sizes[0] if len(sizes) == 4 else 1
    if len(sizes) == 4 and not _layers_first(fields):
        raise FormatError("its first axis does not hold layers (kinds: list domain domain domain); save it in Slicer")
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


def _segment_fields(keys: Mapping[str, str]) -> tuple[Mapping[str, str], ...]:
    segments: dict[int, dict[str, str]] = {}
    for name, value in keys.items():
        match = _KEY.fullmatch(name)
        if match and len(match[1]) < 8:
            segments.setdefault(int(match[1]), {})[match[2]] = value
    if len(segments) > MOST_SEGMENTS:
        raise FormatError(f"names {len(segments)} segments, more than {MOST_SEGMENTS}; export it in parts")
    return tuple({"Number": str(number), **segments[number]} for number in sorted(segments))


def tags_of(text: str) -> dict[str, str]:
    """Slicer's tags: ``name:value|name:value|``."""
    pairs = (tag.partition(":") for tag in text.split("|") if tag)
    return {name: value for name, _, value in pairs}


# -- the grid of the image ----------------------------------------------------------------------------


def reference_of(keys: Mapping[str, str]) -> Grid | None:
    """The grid of the image, where the file tells it: 16 numbers from index to mm (RAS), and 6 of where it ends."""
    parameters = keys.get("Segmentation_ConversionParameters", "")
    parts = (parameter.split("|") for parameter in parameters.split("&"))
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
    return tuple(int(n) for n in np.clip(place, -(2**40), 2**40))


# -- writing ------------------------------------------------------------------------------------------


def write_slicer(path: Path | str, read: Reading) -> None:
    """Write a reading as a segmentation that 3D Slicer opens.

    There is a segment for every structure and rank, in as few layers as their overlaps need.

    Parameters
    ----------
    path : str or Path
        The file ``….seg.nrrd``.
    read : Reading
        A reading of a volume.
    """
    path = Path(path)
    if len(read.grid.shape) != 3:
        raise CallError(f"{path}: a .seg.nrrd holds volumes, and {read.image} is an image; write it in another format")
    for mark in read.marks:
        if not mark.label.isprintable() or mark.label != mark.label.strip() or not mark.label:
            raise LabelError(f"a structure is called {mark.label!r}, which Slicer cannot show; rename it")
    segments = read.segments()
    layers = _layers(segments)
    header = _header(read, segments, layers)
    with atomic(path) as temporary, open(temporary, "wb") as stream:
        stream.write(header)
        _voxels(stream, list(segments.values()), layers, read.grid.shape)


def _layers(segments: Mapping[SegmentKey, Mask]) -> list[int]:
    """A layer for every segment, so that none hides another; first those that have the least choice left."""
    overlaps = _overlaps(list(segments.values()))
    layers = [-1] * len(segments)
    for _ in layers:
        taken = [{layers[other] for other in overlaps[segment] if layers[other] >= 0} for segment in range(len(layers))]
        left = [segment for segment, layer in enumerate(layers) if layer < 0]
        hardest = max(left, key=lambda segment: (len(taken[segment]), len(overlaps[segment]), -segment))
        layers[hardest] = next(layer for layer in range(len(layers)) if layer not in taken[hardest])
    return layers


def _overlaps(masks: list[Mask]) -> list[set[int]]:
    boxes = [marked_window(mask) for mask in masks]
    overlaps: list[set[int]] = [set() for _ in masks]
    for segment in range(len(masks)):
        for other in range(segment):
            shared = tuple(
                slice(max(a.start, b.start), min(a.stop, b.stop))
                for a, b in zip(boxes[segment], boxes[other], strict=True)
            )
            if all(part.start < part.stop for part in shared) and (masks[segment][shared] & masks[other][shared]).any():
                overlaps[segment].add(other)
                overlaps[other].add(segment)
    return overlaps


def _header(read: Reading, segments: Mapping[SegmentKey, Mask], layers: list[int]) -> bytes:
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
    ]
    for key, value in _keys(read, segments, layers).items():
        escaped = value.replace("\\", "\\\\").replace("\r", " ").replace("\n", "\\n")
        lines.append(f"{key}:={escaped}")
    return ("\n".join(lines) + "\n\n").encode("utf-8", "surrogateescape")


def _keys(read: Reading, segments: Mapping[SegmentKey, Mask], layers: list[int]) -> dict[str, str]:
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


def _whole_keys(read: Reading) -> dict[str, str]:
    matrix = ";".join(repr(float(number)) for number in _matrix(read.grid).ravel())
    extent = ";".join(f"0;{size - 1}" for size in read.grid.shape)
    own = {name: getattr(read, name) for name in _OWN_KEYS}
    return {
        "Segmentation_ContainedRepresentationNames": "Binary labelmap|",
        "Segmentation_ConversionParameters": f"{GEOMETRY}|{matrix};{extent};|The grid of the image.&",
        "Segmentation_MasterRepresentation": "Binary labelmap",
        "Segmentation_ReferenceImageExtentOffset": "0 0 0",
        **{OWN + name: value for name, value in own.items() if value},
    }


def _tags(mark: Mark, read: Reading) -> str:
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


def _vector(numbers: Iterable[float]) -> str:
    return f"({','.join(repr(float(number) + 0.0) for number in numbers)})"


def _matrix(grid: Grid) -> NDArray[np.float64]:
    return np.eye(4) if grid.spacing is None else grid.matrix()


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

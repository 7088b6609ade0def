"""ImageJ's regions of interest: ``.roi`` files, and ``.zip`` sets of them as its ROI Manager saves them.

The first pixel reaches from 0 to 1. Numbers are big-endian. A header of 64 bytes says the type and the box; integer
coordinates count from the corner of the box, coordinates of fractions of a pixel from that of the image. Which pixels
belong to a polygon is decided as ImageJ does: those whose centre is inside by the even-odd rule; centres on left edges
are out, those on right edges in. An oval holds the centres inside or on the ellipse in its box, without rounding.
Reference: the decoder of ImageJ, https://imagej.net/ij/developer/source/ij/io/RoiDecoder.java.html
"""

from __future__ import annotations

import math
import re
import struct
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..core.errors import FormatError, InputError
from ..io.documents import error_context, read_members
from ..shape.polygons import Points, check_point_count
from .documents import Source, find_sources
from .image_sizes import find_image
from .outlines import Ellipse, Line, Polygon, box, check_finite, window_around, window_size
from .readings import ImportOptions, Mark, Mask, Outline, Reading, Window, parse_status

TOOL = "ImageJ"
UNNAMED = "roi"
"""The label of regions that have no name, or one made of their coordinates."""
LARGEST_ROI, MOST_ROIS = 1 << 24, 1 << 17
"""Bytes of one region, and regions of one set."""
POLYGON, RECT, OVAL, LINE, FREELINE, POLYLINE, NONE, FREEHAND, TRACED, ANGLE, POINT = range(11)
TEXT, PICTURE = 1, 4
"""Subtypes of rectangles that are no areas."""
SPLINE, SUBPIXEL = 1, 128
_HEADER = struct.Struct(">4shBxhhhhH4f2xi8x2h2xhii")
_NAMES = struct.Struct(">4x5i")
_LEAST = -5000
"""Smaller coordinates are larger ones than 16 bits with sign can hold, as ImageJ reads them."""
_DEFAULT = re.compile(r"(\d{4,6}-){1,3}\d{4,6}(-\d+)?")
"""Names that ImageJ makes of slices and coordinates."""
_AGAIN = re.compile(r"(.+)-\d+")
"""What the ROI Manager makes of a name that there is already."""
_MOVE, _TO, _CLOSE = 0, 1, 4


@dataclass(frozen=True)
class Oval(Outline):
    """The ellipse in a box of whole pixels; centres on it are inside."""

    left: int
    top: int
    width: int
    height: int

    def __post_init__(self) -> None:
        check_finite(self.left, self.top, self.width, self.height)
        if min(self.width, self.height) < 1:
            raise InputError(f"an oval of {self.width} × {self.height} pixels; draw it again")

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        low = np.array([self.left, self.top], np.float64)
        window = window_around(low, low + np.array([self.width, self.height]), shape)
        inside = np.zeros(window_size(window), bool)
        for k, row in enumerate(range(window[0].start, window[0].stop)):
            # twice the distances to the centre are whole numbers
            down = 2 * (row - self.top) + 1 - self.height
            across = math.isqrt(self.width**2 * (self.height**2 - down**2) // self.height**2)
            first = self.left + -(-(self.width - 1 - across) // 2)
            last = self.left + (self.width - 1 + across) // 2
            inside[k, max(0, first - window[1].start) : max(0, last + 1 - window[1].start)] = True
        return window, inside


@dataclass(frozen=True, eq=False)
class Region:
    """One region of interest."""

    name: str
    outline: Outline | None
    kind: str
    """What it is called where it is no area and left out."""
    position: tuple[int, ...]
    """On a stack: slice, and channel, slice and frame; 0 where it belongs to all."""
    group: int


def read_imagej(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read regions of interest of ImageJ: one reading for every set, or for every file that is in none.

    The image is called as the file, and the rater is the one of the template, or the folder of the file; ``.roi`` files
    of one rater and case (``{rater}/{case}/{label}.roi``) are one reading. The name of a region is its structure; names
    that ImageJ makes of coordinates are ``roi``, or ``group 2`` in a group. The size of the image comes from the image
    beside the file, from ``options.pictures``, or from ``options.image_size``.

    Parameters
    ----------
    paths : sequence of str or Path
        Files ``.roi`` or ``.zip``, folders of them, ``RATER=PATH``, or templates such as ``{rater}/{case}.zip``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every rater and image.
    """
    options = options or ImportOptions()
    groups: dict[tuple[str, str, str], list[Source]] = {}
    for source in find_sources(paths, (".roi", ".zip")):
        fields = source.fields
        key = source.rater(source.path.resolve().parent.name), _image_name(source), fields.get("session", "")
        groups.setdefault(key, []).append(source)
    return [_read(sources, rater, image, options) for (rater, image, _), sources in groups.items()]


def _image_name(source: Source) -> str:
    return source.fields.get("case") or source.path.stem


def _read(sources: Sequence[Source], rater: str, image: str, options: ImportOptions) -> Reading:
    first = sources[0]
    with error_context(first.path):
        grid, picture = find_image(first, image, options)
    regions: list[Region] = []
    for source in sources:
        with error_context(source.path):
            regions += _regions(source.path, options)
            if len(regions) > MOST_ROIS:
                raise FormatError(f"holds more than {MOST_ROIS} regions; save them in parts")
            _check_one_slice(regions)
    left_out = Counter(region.kind for region in regions if region.outline is None)
    names = {region.name for region in regions}
    marks = tuple(
        Mark(_label(region, names), region.outline, k) for k, region in enumerate(regions) if region.outline is not None
    )
    fields = first.fields
    return Reading(
        image, rater, grid, marks, fields.get("session", ""), parse_status("", not regions, options), tool=TOOL,
        subject=fields.get("subject", ""), case=fields.get("case", ""), picture=picture, left_out=dict(left_out),
        source=str(first.path),
    )  # fmt: skip


def _regions(path: Path, options: ImportOptions) -> Iterator[Region]:
    with open(path, "rb") as stream:
        start = stream.read(4)
    if start == b"Iout":
        members: Iterator[tuple[str, bytes]] = iter([(path.name, _whole_file(path))])
    elif start[:2] == b"PK":
        members = read_members(path, ".roi", LARGEST_ROI, MOST_ROIS)
    else:
        raise FormatError(f"is not a region of ImageJ or a set of them: it starts with {start!r}; save it again")
    for name, data in members:
        with error_context(f"region {name}"):
            yield _region(data, Path(name).stem, options)


def _whole_file(path: Path) -> bytes:
    if path.stat().st_size > LARGEST_ROI:
        raise FormatError(f"has {path.stat().st_size >> 20} MB, more than {LARGEST_ROI >> 20}; save it again")
    return path.read_bytes()


def _check_one_slice(regions: Sequence[Region]) -> None:
    places = {region.position for region in regions if any(region.position)}
    if len(places) > 1:
        raise FormatError("its regions lie on several slices of a stack; save those of one slice")


def _label(region: Region, names: set[str]) -> str:
    """The name, without the number that the ROI Manager adds to the second of a name."""
    if not region.name or _DEFAULT.fullmatch(region.name):
        return f"group {region.group}" if region.group else UNNAMED
    again = _AGAIN.fullmatch(region.name)
    return again[1] if again and again[1] in names else region.name


# -- one region ---------------------------------------------------------------------------------------


def _region(data: bytes, name: str, options: ImportOptions) -> Region:
    if len(data) < 64 or not data.startswith(b"Iout"):
        raise FormatError(f"is not a region of ImageJ: it starts with {data[:12]!r}; save it again")
    _, version, kind, top, left, bottom, right, count, *numbers = _HEADER.unpack(data[:64])
    floats, (size, subtype, flags, rounded, position, second) = numbers[:4], numbers[4:]
    own, place, group = _second_header(data, second)
    left, top = (n + 65536 if n < _LEAST else n for n in (left, top))
    right, bottom = (n + 65536 if n < _LEAST or n <= min(low, 0) else n for n, low in ((right, left), (bottom, top)))
    if flags & SPLINE and version >= 218 and kind in (POLYGON, FREEHAND, TRACED, POLYLINE):
        raise FormatError("is a curve through its points (a spline); turn it into a polygon (Interpolate) and save it")
    outline, what = None, ""
    if size > 0:
        outline = _composite(data, kind, size, options)
    elif kind == RECT and subtype in (TEXT, PICTURE):
        what = "text" if subtype == TEXT else "image"
    elif kind in (RECT, OVAL):
        exact = bool(flags & SUBPIXEL) and version >= 223
        if kind == RECT and rounded > 0:
            raise FormatError("is a rectangle with round corners; turn it into a polygon and save it")
        outline = _box(kind, floats if exact else (left, top, right - left, bottom - top), exact, options)
    elif kind in (POLYGON, FREEHAND, TRACED):
        outline = Polygon.of([_points(data, count, left, top, flags, version)], options.rule)
    elif kind in (LINE, FREELINE, POLYLINE, ANGLE):
        what = "polyline"
        if options.widen is not None:
            points = floats if kind == LINE else _points(data, count, left, top, flags, version)
            outline = Line.of(np.reshape(points, (-1, 2)), options.widen)
    elif kind in (POINT, NONE):
        what = "points" if kind == POINT else "nothing"
    else:
        raise FormatError(f"is of type {kind}, which ImageJ does not have; save it again")
    return Region(own or name, outline, what, (position, *place), group)


def _second_header(data: bytes, start: int) -> tuple[str, tuple[int, int, int], int]:
    """The name, the place on a hyperstack and the group; nothing of it in older files."""
    if not 64 <= start <= len(data) - 52:
        return "", (0, 0, 0), 0
    channel, depth, frame, at, length = _NAMES.unpack(data[start : start + 24])
    group = data[start + 30]
    name = ""
    if at > 0 and length > 0:
        if at + 2 * length > len(data):
            raise FormatError("its name reaches beyond its end; save or copy it again")
        name = data[at : at + 2 * length].decode("utf-16-be", "replace").strip("\0 ")
    return name, (channel, depth, frame), group


def _points(data: bytes, count: int, left: int, top: int, flags: int, version: int) -> Points:
    """(points, 2) of x and y; all x come first."""
    if count == 0:  # of more than 65,535 points elsewhere
        (count,) = struct.unpack(">i", data[18:22])
    check_point_count(count)
    exact = bool(flags & SUBPIXEL) and version >= 222
    if count < 1 or len(data) < 64 + count * (12 if exact else 4):
        raise FormatError(f"has {len(data)} bytes, too few for {count} points; save or copy it again")
    if exact:
        fractions = np.frombuffer(data, ">f4", 2 * count, 64 + 4 * count)
        return fractions.reshape(2, count).T.astype(np.float64)
    whole = np.frombuffer(data, ">u2", 2 * count, 64)
    return whole.reshape(2, count).T + np.array([left, top], np.float64)


def _box(kind: int, sides: Sequence[float], exact: bool, options: ImportOptions) -> Outline:
    x, y, width, height = sides
    check_finite(*sides)
    if kind == RECT:
        return box(x, y, width, height, rule=options.rule)
    if exact and any(side != int(side) for side in sides):
        return Ellipse(x + width / 2, y + height / 2, width / 2, height / 2)
    return Oval(*map(int, sides))


def _composite(data: bytes, kind: int, size: int, options: ImportOptions) -> Outline:
    """The rings of a path of moves and lines, each closed."""
    if kind != RECT:
        raise FormatError(f"is a composite region of type {kind}, expected {RECT}; save it again")
    if len(data) < 64 + 4 * size:
        raise FormatError(f"has {len(data)} bytes, too few for a path of {size} numbers; save or copy it again")
    path = np.frombuffer(data, ">f4", size, 64).astype(np.float64)
    check_point_count(size // 3)
    rings, at = list[list[tuple[float, float]]](), 0
    while at < size:
        step = path[at]
        if step == _CLOSE:
            at += 1
            continue
        if step not in (_MOVE, _TO) or at + 3 > size or (step == _TO and not rings):
            what = "curves" if step in (2, 3) else "a damaged path"
            raise FormatError(f"is a composite region with {what}; turn it into polygons and save it again")
        if step == _MOVE:
            rings.append([])
        rings[-1].append((float(path[at + 1]), float(path[at + 2])))
        at += 3
    areas = [ring for ring in rings if len(ring) > 2]  # fewer points hold no area
    if not areas:
        raise FormatError("is a composite region without an area; save it again")
    return Polygon.of(areas, options.rule)

"""QuPath's GeoJSON: one file for each image, with polygons in pixels of the full image.

The first pixel reaches from 0 to 1. The files hold no size of the image. Ellipses and rectangles are polygons in them;
a polygon's further rings are holes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from ..core.errors import FormatError
from ..io.documents import decode, decode_any, error_context, is_given
from ..io.geojson import (
    LINES,
    Feature,
    Geometry,
    Properties,
    Ring,
    check_planes,
    check_ring_points,
    class_of,
    kind_of,
    plane_of,
    polygons_of,
    read_features,
)
from .documents import Source, find_sources
from .image_sizes import find_image
from .json_fields import notes_of, split_rank, text_of
from .outlines import Line, Polygon, UnitedOutline
from .readings import ImportOptions, Mark, Outline, Reading, parse_status

TOOL = "QuPath"


def read_qupath(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read GeoJSON files of QuPath: one reading for every file.

    The image is called as the file, and the rater is the one of the template, or the folder of the file. The class of
    an object is its structure. The size of the image comes from the image beside the file, from ``options.pictures``,
    or from ``options.image_size``.

    Parameters
    ----------
    paths : sequence of str or Path
        Files ``.geojson`` or ``.json``, also in a ``.zip``, folders of them, ``RATER=PATH``, or templates such as
        ``{rater}/{case}.geojson``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every file.
    """
    endings = (".geojson", ".json", ".geojson.zip")
    return [_read(source, options or ImportOptions()) for source in find_sources(paths, endings)]


def _read(source: Source, options: ImportOptions) -> Reading:
    features, _ = read_features(source.path)
    name = _image_name(source.path.name)
    with error_context(source.path):
        grid, picture = find_image(source, name, options)
        marks, left_out = _marks(features, options)
    fields = source.fields
    return Reading(
        name, source.rater(source.path.resolve().parent.name), grid, marks, fields.get("session", ""),
        parse_status("", not marks and not left_out, options), tool=TOOL, subject=fields.get("subject", ""),
        case=fields.get("case", ""), picture=picture, left_out=left_out, source=str(source.path),
    )  # fmt: skip


def _image_name(name: str) -> str:
    """The name of the file without the endings of GeoJSON.

    >>> _image_name("p01.geojson"), _image_name("p01.tif.geojson.zip")
    ('p01', 'p01.tif')
    """
    for ending in (".zip", ".geojson", ".json"):
        if name.lower().endswith(ending) and len(name) > len(ending):
            name = name[: -len(ending)]
    return name


def _marks(features: Sequence[Feature], options: ImportOptions) -> tuple[tuple[Mark, ...], dict[str, int]]:
    marks, left_out, planes = list[Mark](), Counter[str](), set[tuple[int, int]]()
    for k, feature in enumerate(features):
        geometry, properties = feature.geometry, feature.properties or Properties()
        if geometry is None:  # the image itself, or a core of an array that is missing
            continue
        with error_context(f"object {k} ({geometry.type})"):
            planes.add(plane_of(geometry))
            check_planes(planes)
            label = class_of(properties)
            outline = _outline(geometry, options)
            if outline is None:
                left_out[kind_of(geometry.type)] += 1
                continue
            rank, notes = split_rank(_notes(properties, options), options.rank)
            marks.append(Mark(label, outline, k, rank, notes))
    return tuple(marks), dict(left_out)


def _notes(properties: Properties, options: ImportOptions) -> dict[str, str]:
    """What is said of an object; of its measurements, the rank alone."""
    notes = notes_of(properties.metadata)
    if is_given(properties.measurements):
        notes |= {name: text for name, text in _measurements(properties) if name == options.rank}
    notes |= {"name": properties.name} if properties.name else {}
    notes |= {"type": kind} if (kind := properties.objectType or properties.object_type) else {}
    return notes | ({"locked": "true"} if properties.isLocked else {})


def _measurements(properties: Properties) -> Iterator[tuple[str, str]]:
    """Names and values: an object in newer files, a list of pairs in older ones."""
    measured = decode_any(properties.measurements)
    if isinstance(measured, dict):
        yield from ((name, text_of(value)) for name, value in measured.items())
    elif isinstance(measured, list):
        pairs = (item for item in measured if isinstance(item, dict))
        yield from ((text_of(item.get("name")), text_of(item.get("value"))) for item in pairs)


def _outline(geometry: Geometry, options: ImportOptions) -> Outline | None:
    if geometry.type in LINES and options.widen is not None and is_given(geometry.coordinates):
        several = geometry.type == "MultiLineString"
        lines = decode(geometry.coordinates, list[Ring]) if several else [decode(geometry.coordinates, Ring)]
        check_ring_points(lines)
        return _joined([Line.of(line, options.widen) for line in lines])
    parts = polygons_of(geometry)
    return None if parts is None else _joined([Polygon.of(rings, options.rule) for rings in parts])


def _joined(parts: Sequence[Outline]) -> Outline:
    if not parts:
        raise FormatError("has no points; draw it again, or delete it")
    return parts[0] if len(parts) == 1 else UnitedOutline(tuple(parts))

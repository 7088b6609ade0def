"""QuPath's GeoJSON: one file for each image, with polygons in pixels of the full image.

The first pixel reaches from 0 to 1. The files hold no size of the image. Ellipses and rectangles are polygons in them;
a polygon's further rings are holes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..core.errors import FormatError, LabelError
from ..io.documents import NOTHING, decode, decode_any, error_context, is_given, read_json
from ..shape.polygons import MOST_POINTS, check_point_count
from .documents import Source, find_sources
from .image_sizes import find_image
from .json_fields import notes_of, split_rank, text_of
from .outlines import Line, Polygon, UnitedOutline
from .readings import ImportOptions, Mark, Outline, Reading, parse_status

TOOL = "QuPath"
UNCLASSIFIED = "unclassified"
"""The label of objects without a class."""
POINTS, LINES = ("Point", "MultiPoint"), ("LineString", "MultiLineString")
MOST_MARKS = 1 << 17
"""Objects of one image; each is drawn by itself."""
Ring = list[tuple[float, float]]


class Geometry(msgspec.Struct):
    type: str = ""
    coordinates: msgspec.Raw = NOTHING
    plane: msgspec.Raw = NOTHING


class Properties(msgspec.Struct):
    classification: msgspec.Raw = NOTHING
    objectType: str | None = None
    object_type: str | None = None
    name: str | None = None
    isLocked: bool | None = None
    metadata: msgspec.Raw = NOTHING
    measurements: msgspec.Raw = NOTHING


class Feature(msgspec.Struct):
    geometry: Geometry | None = None
    properties: Properties | None = None
    type: str = ""


class Document(Feature):
    """A collection of features, or one of them alone."""

    features: list[Feature] | None = None


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
    document: Any = read_json(source.path, Document | list[Feature])  # type: ignore[arg-type]
    name = _image_name(source.path.name)
    with error_context(source.path):
        features = document if isinstance(document, list) else _features(document)
        if len(features) > MOST_MARKS:
            raise FormatError(f"holds {len(features)} objects, more than {MOST_MARKS}; export annotations alone")
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


def _features(document: Document) -> list[Feature]:
    if document.type == "FeatureCollection" or (not document.type and document.features is not None):
        return document.features or []
    if document.type == "Feature":
        return [document]
    raise FormatError(
        f"is GeoJSON of type {document.type[:40]!r}, expected a FeatureCollection; export it from QuPath as GeoJSON"
    )


def _marks(features: Sequence[Feature], options: ImportOptions) -> tuple[tuple[Mark, ...], dict[str, int]]:
    marks, left_out, planes = list[Mark](), Counter[str](), set[tuple[int, int]]()
    for k, feature in enumerate(features):
        geometry, properties = feature.geometry, feature.properties or Properties()
        if geometry is None:  # the image itself, or a core of an array that is missing
            continue
        with error_context(f"object {k} ({geometry.type})"):
            planes.add(_plane(geometry))
            if len(planes) > 1:
                raise FormatError("objects lie on several planes of a stack; export those of one plane")
            label = _label(properties)
            outline = _outline(geometry, options)
            if outline is None:
                left_out[_kind(geometry.type)] += 1
                continue
            rank, notes = split_rank(_notes(properties, options), options.rank)
            marks.append(Mark(label, outline, k, rank, notes))
    return tuple(marks), dict(left_out)


def _plane(geometry: Geometry) -> tuple[int, int]:
    plane = decode_any(geometry.plane) if is_given(geometry.plane) else {}
    if not isinstance(plane, dict):
        raise FormatError("its plane is not an object with z and t; export it again")
    z, t = (plane.get(axis, 0) for axis in "zt")
    if not isinstance(z, int) or not isinstance(t, int):
        raise FormatError("its plane has z or t that are not whole numbers; export it again")
    return z, t


def _label(properties: Properties) -> str:
    """The class of an object; of a class that is derived from another, both."""
    known = decode_any(properties.classification) if is_given(properties.classification) else None
    if isinstance(known, dict):
        names = known.get("names")
        known = known.get("name") or (": ".join(map(str, names)) if isinstance(names, list) else None)
    if known is not None and not isinstance(known, str):
        raise LabelError("its class is not a name; classify it again")
    return (known or "").strip() or UNCLASSIFIED


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


def _kind(name: str) -> str:
    return "points" if name in POINTS else "polyline" if name in LINES else name.lower()[:40] or "unknown"


def _outline(geometry: Geometry, options: ImportOptions) -> Outline | None:
    if not is_given(geometry.coordinates):
        if geometry.type == "GeometryCollection":
            return None
        raise FormatError("has no coordinates; draw it again, or delete it")
    if geometry.type == "Polygon":
        return _polygon(decode(geometry.coordinates, list[Ring]), options)
    if geometry.type == "MultiPolygon":
        parts = decode(geometry.coordinates, list[list[Ring]])
        _check_count(ring for part in parts for ring in part)
        return _joined([_polygon(part, options) for part in parts])
    if geometry.type in LINES and options.widen is not None:
        several = geometry.type == "MultiLineString"
        lines = decode(geometry.coordinates, list[Ring]) if several else [decode(geometry.coordinates, Ring)]
        _check_count(lines)
        return _joined([Line.of(line, options.widen) for line in lines])
    if geometry.type in (*POINTS, *LINES):
        return None
    raise FormatError(f"is of type {geometry.type[:40]!r}, which QuPath does not draw; export it again")


def _polygon(rings: list[Ring], options: ImportOptions) -> Polygon:
    if not rings:
        raise FormatError("has no points; draw it again, or delete it")
    _check_count(rings)
    return Polygon.of(rings, options.rule)


def _joined(parts: Sequence[Outline]) -> Outline:
    if not parts:
        raise FormatError("has no points; draw it again, or delete it")
    return parts[0] if len(parts) == 1 else UnitedOutline(tuple(parts))


def _check_count(rings: Any) -> None:
    points = 0
    for ring in rings:
        points += len(ring)
        if points > MOST_POINTS:
            check_point_count(points)

"""GeoJSON as QuPath writes it: a list of objects with classes, in pixels of the full image."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ..core.errors import FormatError, LabelError
from ..shape.polygons import MOST_POINTS, Points, check_point_count
from .documents import NOTHING, decode, decode_any, error_context, is_given, read_json
from .writing import atomic

UNCLASSIFIED = "unclassified"
"""The class of objects that have none."""
POINTS, LINES = ("Point", "MultiPoint"), ("LineString", "MultiLineString")
MOST_MARKS = 1 << 17
"""Objects of one image."""
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


class ImageFields(msgspec.Struct):
    """What files that manytruths writes say about the image: its size in pixels, and the size of a pixel in mm."""

    height: int
    width: int
    spacing: tuple[float, float] | None = None


class Document(Feature):
    """A collection of features, or one of them alone."""

    features: list[Feature] | None = None
    manytruths: ImageFields | None = None


def read_features(path: Path) -> tuple[list[Feature], ImageFields | None]:
    """The objects of a file, and what it says about its image."""
    document: Any = read_json(path, Document | list[Feature])  # type: ignore[arg-type]
    with error_context(path):
        features = document if isinstance(document, list) else _features(document)
        if len(features) > MOST_MARKS:
            raise FormatError(f"holds {len(features)} objects, more than {MOST_MARKS}; export annotations alone")
        return features, None if isinstance(document, list) else document.manytruths


def _features(document: Document) -> list[Feature]:
    if document.type == "FeatureCollection" or (not document.type and document.features is not None):
        return document.features or []
    if document.type == "Feature":
        return [document]
    raise FormatError(
        f"is GeoJSON of type {document.type[:40]!r}, expected a FeatureCollection; export it from QuPath as GeoJSON"
    )


def plane_of(geometry: Geometry) -> tuple[int, int]:
    """The slice and time point of a stack that an object lies on."""
    plane = decode_any(geometry.plane) if is_given(geometry.plane) else {}
    if not isinstance(plane, dict):
        raise FormatError("its plane is not an object with z and t; export it again")
    z, t = (plane.get(axis, 0) for axis in "zt")
    if not isinstance(z, int) or not isinstance(t, int):
        raise FormatError("its plane has z or t that are not whole numbers; export it again")
    return z, t


def check_planes(planes: set[tuple[int, int]]) -> None:
    """Refuse objects on several planes of a stack."""
    if len(planes) > 1:
        raise FormatError("objects lie on several planes of a stack; export those of one plane")


def class_of(properties: Properties) -> str:
    """The class of an object; of a class that is derived from another, both."""
    known = decode_any(properties.classification) if is_given(properties.classification) else None
    if isinstance(known, dict):
        names = known.get("names")
        known = known.get("name") or (": ".join(map(str, names)) if isinstance(names, list) else None)
    if known is not None and not isinstance(known, str):
        raise LabelError("its class is not a name; classify it again")
    return (known or "").strip() or UNCLASSIFIED


def kind_of(name: str) -> str:
    """What a shape that is not an area is called."""
    return "points" if name in POINTS else "polyline" if name in LINES else name.lower()[:40] or "unknown"


def polygons_of(geometry: Geometry) -> list[list[Ring]] | None:
    """The polygons of an object, each with its rings; None where it is not an area."""
    if not is_given(geometry.coordinates):
        if geometry.type == "GeometryCollection":
            return None
        raise FormatError("has no coordinates; draw it again, or delete it")
    if geometry.type == "Polygon":
        parts = [decode(geometry.coordinates, list[Ring])]
    elif geometry.type == "MultiPolygon":
        parts = decode(geometry.coordinates, list[list[Ring]])
        check_ring_points(ring for part in parts for ring in part)
    elif geometry.type in (*POINTS, *LINES):
        return None
    else:
        raise FormatError(f"is of type {geometry.type[:40]!r}, which QuPath does not draw; export it again")
    if not parts or not all(parts):
        raise FormatError("has no points; draw it again, or delete it")
    for part in parts:
        check_ring_points(part)
    return parts


def check_ring_points(rings: Iterable[Ring]) -> None:
    """Refuse an object of too many points."""
    points = 0
    for ring in rings:
        points += len(ring)
        if points > MOST_POINTS:
            check_point_count(points)


def write_geojson(path: Path, objects: Sequence[tuple[str, Sequence[Sequence[Points]]]], image: ImageFields) -> None:
    """Write objects, each a class and its polygons, with the size of their image."""
    features = [
        {
            "type": "Feature",
            "geometry": {"type": "MultiPolygon", "coordinates": [[_closed(ring) for ring in part] for part in parts]},
            "properties": {"objectType": "annotation", "classification": {"name": name}},
        }
        for name, parts in objects
    ]
    document = {"type": "FeatureCollection", "manytruths": image, "features": features}
    with atomic(path) as temporary:
        temporary.write_bytes(msgspec.json.encode(document))


def _closed(ring: Points) -> list[list[float]]:
    """As GeoJSON wants it: the first point once more at the end."""
    points: list[list[float]] = ring.tolist()
    return points if points[0] == points[-1] else [*points, points[0]]

"""Outlines as masks: QuPath's GeoJSON and the XML of ASAP, on the image that they were drawn on.

The first pixel reaches from 0 to 1 in both. Small images are drawn; on large ones the mask stays a list of polygons,
which knows the runs of its rows.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..core.columns import compose_name
from ..core.errors import FormatError, InputError, LabelError, few
from ..shape.grid import Grid
from ..shape.outline_masks import OutlineMask
from ..shape.polygons import Points, check_point_count, check_ring
from . import files
from .documents import Element, error_context, read_elements
from .files import OUTLINES, Content, Location, Use, check_regular_file, make_grid, suffix_of
from .geojson import (
    MOST_MARKS,
    UNCLASSIFIED,
    ImageFields,
    Properties,
    check_planes,
    class_of,
    kind_of,
    plane_of,
    polygons_of,
    read_features,
)

COLUMNS_FIRST = (".nii", ".nii.gz", ".nrrd", ".mha", ".mhd")
"""Formats whose first axis runs along a row, and whose images are volumes as a rule."""
AREAS = ("polygon", "spline", "rectangle")
"""Kinds of annotations in ASAP that enclose an area; of splines the points are joined by straight lines."""
MOST_OF_FILE = 1 << 22
"""Points of one file."""


@dataclass(frozen=True, eq=False)
class Drawing:
    """What a file of outlines holds."""

    polygons: list[list[Points]]
    """Each a list of rings."""
    classes: list[str]
    """Of each polygon."""
    left_out: Mapping[str, int] = field(default_factory=dict)
    """How many shapes are not areas, by kind."""
    image: ImageFields | None = None
    """What the file says about its image."""

    def __post_init__(self) -> None:
        points = sum(len(ring) for polygon in self.polygons for ring in polygon)
        if points > MOST_OF_FILE:
            raise FormatError(f"holds {points} points, more than {MOST_OF_FILE}; export it in parts, or simplify it")


def is_outline_file(location: object) -> bool:
    """Whether a source is a file of outlines."""
    return isinstance(location, Location) and suffix_of(location.path.name) in OUTLINES


def read_drawing(path: Path) -> Drawing:
    """Read a file of outlines."""
    return _read_asap(path) if suffix_of(path.name) == ".xml" else _read_geojson(path)


def list_classes(path: Path) -> set[str]:
    """The classes of the areas in a file; coordinates are not looked at."""
    with error_context(path):
        if suffix_of(path.name) == ".xml":
            return {_group(element) for element in _annotations(path) if _is_area(element)}
        areas = [f for f in read_features(path)[0] if f.geometry and f.geometry.type in ("Polygon", "MultiPolygon")]
        return {compose_name(class_of(feature.properties or Properties())) for feature in areas}


# -- GeoJSON ------------------------------------------------------------------------------------------


def _read_geojson(path: Path) -> Drawing:
    features, image = read_features(path)
    polygons, classes, left_out, planes = list[list[Points]](), list[str](), Counter[str](), set[tuple[int, int]]()
    with error_context(path):
        for k, feature in enumerate(features):
            if feature.geometry is None:
                continue
            with error_context(f"object {k} ({feature.geometry.type})"):
                planes.add(plane_of(feature.geometry))
                check_planes(planes)
                parts = polygons_of(feature.geometry)
                if parts is None:
                    left_out[kind_of(feature.geometry.type)] += 1
                    continue
                name = compose_name(class_of(feature.properties or Properties()))
                polygons += [[check_ring(ring, i) for i, ring in enumerate(part)] for part in parts]
                classes += [name] * len(parts)
        return Drawing(polygons, classes, left_out, image)


# -- ASAP ---------------------------------------------------------------------------------------------


def _read_asap(path: Path) -> Drawing:
    polygons, classes, left_out = list[list[Points]](), list[str](), Counter[str]()
    with error_context(path):
        for k, element in enumerate(_annotations(path)):
            with error_context(f"annotation {k} ({element.get('Name', '')[:40]!r})"):
                if not _is_area(element):
                    kind = element.get("Type").strip().lower()[:40]
                    left_out["points" if kind in ("dot", "pointset") else kind] += 1
                    continue
                polygons.append([check_ring(_coordinates(element))])
                classes.append(_group(element))
        return Drawing(polygons, classes, left_out)


def _annotations(path: Path) -> Iterator[Element]:
    check_regular_file(path)
    with open(path, "rb") as stream:
        for k, element in enumerate(read_elements(stream, {"Annotation"}, "ASAP_Annotations", depth=3)):
            if k >= MOST_MARKS:
                raise FormatError(f"holds more than {MOST_MARKS} annotations; export it in parts")
            yield element


def _is_area(element: Element) -> bool:
    return element.get("Type", "Polygon").strip().casefold() in AREAS


def _group(element: Element) -> str:
    name = element.get("PartOfGroup", "None").strip()
    return UNCLASSIFIED if name in ("", "None") else compose_name(name)


def _coordinates(element: Element) -> Points:
    """(points, 2) in the order that their numbers say."""
    inside = element.find("Coordinates")
    found = [] if inside is None else inside.all("Coordinate")
    check_point_count(len(found))
    points = np.empty((len(found), 2))
    for k, one in enumerate(found):
        place = int(one.get("Order", str(k)))
        if not 0 <= place < len(found):
            raise FormatError(f"a coordinate has the order {place}, and there are {len(found)}; export it again")
        points[place] = [float(one.get(axis).replace(",", ".")) for axis in "XY"]
    if len({one.get("Order", str(k)) for k, one in enumerate(found)}) < len(found):
        raise FormatError("two coordinates have the same order; export it again")
    return points


# -- as masks -----------------------------------------------------------------------------------------


def probe(location: Location) -> Grid:
    canvas = location.canvas or files.Canvas()
    if canvas.size is not None:
        return make_grid(location, canvas.size)
    if canvas.image is not None:
        return flat_grid(canvas.image)
    image = read_features(location.path)[1] if suffix_of(location.path.name) == ".geojson" else None
    if image is None:
        raise InputError(
            f"{location}: holds outlines, but not the size of their image; say where images are "
            '(--images "FOLDER/{case}.svs"), or how large they all are (--image-size 1024x768)'
        )
    return make_grid(location, (image.height, image.width), image.spacing)


def flat_grid(image: Location) -> Grid:
    """The grid of an image that outlines were drawn on, from its header."""
    from .images import probe as probe_image

    grid = probe_image(image)
    if len(grid.shape) != 2 or suffix_of(image.path.name) in COLUMNS_FIRST:
        raise FormatError(
            f"its image {image} is a volume or a stack, but outlines need an image of two axes; save one slice as "
            "PNG or TIFF"
        )
    return grid


def read(location: Location, use: Use) -> Content:
    if use != "mask":
        raise FormatError(f"{location}: holds outlines, not an image; give it as masks")
    grid = probe(location)
    mask: Any = outline_mask(location, grid)
    small = math.prod(grid.shape) < files.LARGE
    return Content(mask[...] if small else mask, grid, "asap" if suffix_of(location.path.name) == ".xml" else "geojson")


def outline_mask(location: Location, grid: Grid) -> OutlineMask:
    """The mask of a file, with the labels of its classes."""
    drawing = read_drawing(location.path)
    return OutlineMask(drawing.polygons, (grid.shape[0], grid.shape[1]), _values(location, drawing.classes))


def _values(location: Location, classes: list[str]) -> list[int]:
    """The value of each class, by the labels of the study; without any, 1."""
    labels = location.canvas.labels if location.canvas else None
    if labels is None:
        return [1] * len(classes)
    known = dict(labels)
    marks = [value for value in known.values() if value]
    if len(marks) == 1:
        known.setdefault(UNCLASSIFIED, marks[0])
    unknown = [name for name in dict.fromkeys(classes) if name not in known]
    if unknown:
        raise LabelError(
            f"{location}: has outlines of class {few([repr(name) for name in unknown], 3)}, and labels are "
            f"{few([name for name, _ in labels], 6)}; rename or delete them in the tool, or declare them (--labels)"
        )
    return [known[name] for name in classes]

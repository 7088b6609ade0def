"""LabelMe's files: a folder a rater, a JSON file an image."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from ...core.errors import CallError
from ...io import safe_name
from ..documents import flat_shape, single_rings, whole_of, write_document
from ..outlines import Polygon
from ..reads import Mark, Mask, Read

VERSION = "5.5.0"
"""The version of LabelMe whose masks these are."""


def write_labelme(path: Path | str, reads: Iterable[Read], *, exact: bool = False, rank: str = "rank") -> None:
    """``path/rater/image.json`` for every read; beside them, LabelMe looks for the image.

    Polygons of one ring stay polygons where they hold the same pixels by their centres; everything else becomes a
    mask. ``exact`` writes masks alone.
    """
    found = [read for read in reads if read.status != "unread"]
    places = [_place(Path(path), read) for read in found]
    twice = next((place for k, place in enumerate(places) if place in places[:k]), None)
    if twice is not None:
        raise CallError(f"{twice}: two reads would be written there; name their images or raters apart")
    for place, read in zip(places, found, strict=True):
        write_document(place, _document(read, exact, rank))


def _place(folder: Path, read: Read) -> Path:
    stem = PurePosixPath(read.image.replace("\\", "/")).stem
    name = f"{stem}_{read.session}" if read.session else stem
    return folder / safe_name(read.rater) / f"{safe_name(name)}.json"


def _document(read: Read, exact: bool, rank: str) -> dict[str, Any]:
    height, width = flat_shape(read.grid.shape, read.image, "LabelMe")
    told = {
        "rater": read.rater,
        "status": read.status,
        "session": read.session,
        "based_on": read.based_on,
        "tool": read.tool,
        "started": read.started,
        "seconds": read.seconds,
    }
    shapes = [_shape(mark, (height, width), exact, rank) for mark in read.marks]
    return {
        "version": VERSION,
        "flags": {},
        "shapes": [shape for shape in shapes if shape is not None],
        "imagePath": PurePosixPath(read.image.replace("\\", "/")).name,
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
        "read": {name: value for name, value in told.items() if value not in ("", None)},
    }


def _shape(mark: Mark, size: tuple[int, int], exact: bool, rank: str) -> dict[str, Any] | None:
    """A shape; None where there is no pixel, which no mask can be."""
    inside = whole_of(mark.outline, size)
    drawn = (None if exact else _polygon(mark, inside)) or _mask(inside)
    if drawn is None:
        return None
    notes = {name: text for name, text in mark.attributes.items() if name not in ("group_id", "description")}
    group = mark.attributes.get("group_id", "")
    return {
        "label": mark.label,
        "group_id": int(group) if group.isascii() and group.isdigit() else None,
        "description": mark.attributes.get("description", ""),
        "flags": {},
        **drawn,
        **({"attributes": notes} if notes else {}),
        **({rank: mark.rank} if mark.rank is not None else {}),
    }


def _polygon(mark: Mark, inside: Mask) -> dict[str, Any] | None:
    parts = single_rings(mark.outline)
    if not parts or len(parts) != 1:
        return None
    again = Polygon(parts[0].rings)
    if parts[0].rule != again.rule and not (whole_of(again, inside.shape) == inside).all():
        return None
    return {"shape_type": "polygon", "points": again.rings[0].tolist(), "mask": None}


def _mask(inside: Mask) -> dict[str, Any] | None:
    from PIL import Image

    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    if not len(rows):
        return None
    top, bottom, left, right = (int(k) for k in (rows[0], rows[-1], columns[0], columns[-1]))
    packed = io.BytesIO()
    Image.fromarray(inside[top : bottom + 1, left : right + 1].astype(np.uint8)).save(packed, "PNG")
    return {
        "shape_type": "mask",
        "points": [[left, top], [right, bottom]],
        "mask": base64.b64encode(packed.getvalue()).decode("ascii"),
    }

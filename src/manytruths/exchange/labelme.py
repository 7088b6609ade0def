"""LabelMe: one JSON file for each image, with shapes in pixels; the folder says whose it is.

The first pixel reaches from 0 to 1. A mask is a PNG picture of its own, from one pixel to another, both included.
"""

from __future__ import annotations

import base64
import io
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..core.errors import CallError, FormatError, InputError, LabelError
from ..io import probe, safe_name
from ..io.documents import LONGEST, NOTHING, decode, decode_any, error_context, is_given, read_json
from ..io.files import quiet
from ..io.pillow import open_png
from ..shape.grid import Grid
from .documents import Source, find_sources, image_grid
from .json_fields import (
    ReadingFields,
    flat_shape,
    full_mask,
    notes_of,
    picture_beside,
    points_of,
    reading_fields,
    single_rings,
    split_rank,
    text_of,
    write_document,
)
from .outlines import Bitmap, Ellipse, Line, Polygon, check_finite, marked_window
from .readings import ImportOptions, Mark, Mask, Outline, Reading, Status, Stored, Window

TOOL = "LabelMe"
PNG, SIZE_AT, COLOURS_AT = b"\x89PNG\r\n\x1a\n", 16, 25
_COLOURED = {2: "RGB", 4: "LA", 6: "RGBA"}
"""Unpacked, these take several times the memory of the largest mask."""
LINES, POINTS = ("line", "linestrip"), ("point", "points")
AREAS = ("polygon", "rectangle", "oriented_rectangle", "circle")
VERSION = "5.5.0"
"""The version of LabelMe whose masks these are."""


class Shape(msgspec.Struct):
    label: str
    points: msgspec.Raw = NOTHING
    shape_type: str | None = None
    mask: msgspec.Raw = NOTHING
    group_id: msgspec.Raw = NOTHING
    description: str | None = None
    flags: msgspec.Raw = NOTHING
    attributes: msgspec.Raw = NOTHING
    rank: msgspec.Raw = NOTHING


class Document(msgspec.Struct):
    imagePath: str
    shapes: list[Shape] | None = None
    imageHeight: float | None = None
    imageWidth: float | None = None
    flags: msgspec.Raw = NOTHING
    read: ReadingFields | None = None


@dataclass(frozen=True, eq=False)
class Packed:
    """A mask as a PNG picture, unpacked when it is drawn: packed, no mask takes more memory than its file."""

    top: int
    left: int
    png: bytes

    def pixels(self, shape: tuple[int, ...]) -> tuple[Window, Mask]:
        return Bitmap(self.top, self.left, _decode_png(self.png)).pixels(shape)


def read_labelme(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read LabelMe's files: one reading for every file.

    The rater is the one of the template, or the folder of the file.

    Parameters
    ----------
    paths : sequence of str or Path
        JSON files, folders of them, ``RATER=PATH``, or templates such as ``{rater}/{case}.json``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every file.
    """
    return [_read(source, options or ImportOptions()) for source in find_sources(paths, (".json",))]


def _read(source: Source, options: ImportOptions) -> Reading:
    document: Any = read_json(source.path, _kind(options.rank))
    fields: ReadingFields = document.read or ReadingFields()
    with error_context(source.path):
        # the path is as the disk of whoever drew had it
        image = PureWindowsPath(document.imagePath).name
        picture = picture_beside(source.path.parent, document.imagePath)
        grid = _grid(document, picture)
        marks, left_out = _marks(document.shapes or [], grid, options)
        flagged: Status | None = "unfinished" if notes_of(document.flags).get("unfinished") == "true" else None
    outcome: Status = "done" if marks or left_out else "empty"
    place = source.fields
    return Reading(
        image, source.rater(fields.rater or source.path.resolve().parent.name), grid, marks,
        place.get("session", fields.session), fields.status or flagged or outcome,
        fields.based_on, fields.tool or TOOL, fields.started, fields.seconds, place.get("subject", ""),
        place.get("case", ""), picture, left_out, str(source.path),
    )  # fmt: skip


def _kind(rank: str) -> Any:
    """The kind of the file, with the field that holds ranks where the caller chose one."""
    if rank == "rank" or rank in Shape.__struct_fields__:
        return Document
    own = msgspec.defstruct("Ranked", [("rank", msgspec.Raw, NOTHING)], bases=(Shape,), rename={"rank": rank})
    return msgspec.defstruct("Document", [("shapes", list[own] | None, None)], bases=(Document,))  # type: ignore[valid-type]


def _grid(document: Document, picture: Stored | None) -> Grid:
    if document.imageWidth is not None and document.imageHeight is not None:
        return image_grid(document.imageWidth, document.imageHeight)
    if picture is None:
        raise FormatError("has no size of its image; put the image beside it, or save it again with a newer LabelMe")
    height, width = probe(picture.path).shape[:2]
    return image_grid(width, height)


def _marks(shapes: Sequence[Shape], grid: Grid, options: ImportOptions) -> tuple[tuple[Mark, ...], dict[str, int]]:
    marks, left_out = list[Mark](), Counter[str]()
    for k, shape in enumerate(shapes):
        kind = shape.shape_type or "polygon"
        with error_context(f"shape {k} ({shape.label!r}, {kind})"):
            if not shape.label.strip():
                raise LabelError("has no label; give it one in LabelMe")
            outline = _outline(shape, kind, grid, options)
            if outline is None:
                left_out["polyline" if kind in LINES else "points" if kind in POINTS else kind] += 1
            else:
                rank, notes = split_rank(_notes(shape, options.rank), options.rank)
                marks.append(Mark(shape.label, outline, 0, rank, notes))
    return tuple(marks), dict(left_out)


def _notes(shape: Shape, rank: str) -> dict[str, str]:
    notes = {name: text for name, text in notes_of(shape.flags).items() if text != "false"} | notes_of(shape.attributes)
    if is_given(shape.rank):
        notes[rank] = text_of(decode_any(shape.rank))
    if is_given(shape.group_id):
        notes["group_id"] = text_of(decode_any(shape.group_id))
    return notes | ({"description": shape.description} if shape.description else {})


def _outline(shape: Shape, kind: str, grid: Grid, options: ImportOptions) -> Outline | None:
    if kind == "mask":
        return _mask(shape, grid)
    if kind in LINES:
        return None if options.widen is None else Line.of(points_of(shape.points), options.widen)
    if kind not in AREAS:
        return None
    points = points_of(shape.points)
    if kind == "circle":
        _check_two_points(points)
        (x, y), radius = points[0].tolist(), float(np.hypot(*(points[1] - points[0])))
        return Ellipse(x, y, radius, radius)
    if kind == "rectangle" and len(points) != 4:
        _check_two_points(points)
        (left, top), (right, bottom) = points
        points = np.array([(left, top), (right, top), (right, bottom), (left, bottom)])
    return Polygon.of([points], options.rule)


def _check_two_points(points: NDArray[np.float64]) -> None:
    if len(points) != 2:
        raise InputError(f"has {len(points)} points, expected two; draw it again")
    check_finite(*points.ravel().tolist())


def _mask(shape: Shape, grid: Grid) -> Outline:
    points = points_of(shape.points)
    _check_two_points(points)
    (left, top), (right, bottom) = np.trunc(points).astype(int).tolist()
    size = bottom + 1 - top, right + 1 - left
    if not (1 <= size[0] <= grid.shape[0] and 1 <= size[1] <= grid.shape[1]):
        raise FormatError(f"its mask has {size[1]} × {size[0]} pixels, and the image {grid.shape[1]} × {grid.shape[0]}")
    if not is_given(shape.mask):
        raise FormatError("has no mask; draw it again, or delete it")
    png = base64.b64decode(decode(shape.mask, str, 8 * LONGEST), validate=True)
    size_in_png = int.from_bytes(png[SIZE_AT + 4 : SIZE_AT + 8]), int.from_bytes(png[SIZE_AT : SIZE_AT + 4])
    if not png.startswith(PNG) or size_in_png != size:
        raise FormatError(f"its mask is not a PNG of {size[1]} × {size[0]} pixels, as its points say; draw it again")
    if png[COLOURS_AT - 1] > 8:
        raise FormatError(f"its mask has {png[COLOURS_AT - 1]} bits a pixel, expected 8 at most; draw it again")
    if (mode := _COLOURED.get(png[COLOURS_AT])) is not None:
        raise FormatError(f"its mask is an {mode} picture, expected grey; draw it again")
    _decode_png(png)
    return Packed(top, left, png)


def _decode_png(png: bytes) -> Mask:
    try:
        with quiet, open_png(png) as image:
            mode, values = image.mode, np.asarray(image)
    except Exception as error:  # libraries raise what they like on bad bytes
        raise FormatError(f"its mask is damaged ({' '.join(str(error).split())[:80]}); draw it again") from None
    if values.ndim != 2:
        raise FormatError(f"its mask is an {mode} picture, expected grey; draw it again")
    return np.asarray(values != 0)


# -- writing ------------------------------------------------------------------------------------------


def write_labelme(path: Path | str, reads: Iterable[Reading], *, exact: bool = False, rank: str = "rank") -> None:
    """Write readings as LabelMe's files ``path/rater/image.json``; LabelMe looks for the image beside them.

    Polygons of one ring stay polygons where their pixels stay the same; everything else becomes a mask.

    Parameters
    ----------
    path : str or Path
        Folder for the files.
    reads : iterable of Reading
        What to write.
    exact : bool
        Whether to write masks for everything.
    rank : str
        The field that holds the severity rank.
    """
    written = [read for read in reads if read.status != "unread"]
    places = [_place(Path(path), read) for read in written]
    twice = next((place for k, place in enumerate(places) if place in places[:k]), None)
    if twice is not None:
        raise CallError(f"{twice}: two reads would be written there; name their images or raters apart")
    for place, read in zip(places, written, strict=True):
        write_document(place, _document(read, exact, rank))


def _place(folder: Path, read: Reading) -> Path:
    stem = PurePosixPath(read.image.replace("\\", "/")).stem
    name = f"{stem}_{read.session}" if read.session else stem
    return folder / safe_name(read.rater) / f"{safe_name(name)}.json"


def _document(read: Reading, exact: bool, rank: str) -> dict[str, Any]:
    height, width = flat_shape(read.grid.shape, read.image, "LabelMe")
    shapes = [_shape(mark, (height, width), exact, rank) for mark in read.marks]
    return {
        "version": VERSION,
        "flags": {},
        "shapes": [shape for shape in shapes if shape is not None],
        "imagePath": PurePosixPath(read.image.replace("\\", "/")).name,
        "imageData": None,
        "imageHeight": height,
        "imageWidth": width,
        "read": reading_fields(read, "rater"),
    }


def _shape(mark: Mark, size: tuple[int, int], exact: bool, rank: str) -> dict[str, Any] | None:
    """A shape; None where there is no pixel, which no mask can be."""
    inside = full_mask(mark.outline, size)
    drawn = (None if exact else _polygon_fields(mark, inside)) or _mask_fields(inside)
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


def _polygon_fields(mark: Mark, inside: Mask) -> dict[str, Any] | None:
    parts = single_rings(mark.outline)
    if not parts or len(parts) != 1:
        return None
    again = Polygon(parts[0].rings)
    if parts[0].rule != again.rule and not (full_mask(again, inside.shape) == inside).all():
        return None
    return {"shape_type": "polygon", "points": again.rings[0].tolist(), "mask": None}


def _mask_fields(inside: Mask) -> dict[str, Any] | None:
    from PIL import Image

    rows, columns = marked_window(inside)
    if rows.start == rows.stop:
        return None
    packed = io.BytesIO()
    Image.fromarray(inside[rows, columns].astype(np.uint8)).save(packed, "PNG")
    points = [[columns.start, rows.start], [columns.stop - 1, rows.stop - 1]]
    return {"shape_type": "mask", "points": points, "mask": base64.b64encode(packed.getvalue()).decode("ascii")}

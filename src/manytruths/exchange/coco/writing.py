"""COCO files, as pycocotools and most tools open them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...core.columns import natural_key
from ...core.errors import GridError
from ...shape.polygons import Rule
from ..documents import flat_shape, score_of, single_rings, whole_of, write_document
from ..outlines import Polygon
from ..reads import Mark, Mask, Outline, Read
from ..run_lengths import lengths_of, packed


def write_coco(
    path: Path | str,
    reads: Iterable[Read],
    *,
    rule: Rule = "centre",
    exact: bool = False,
    rank: str = "rank",
) -> None:
    """One file of all that was marked.

    Polygons of one ring stay polygons where whoever fills them by ``rule`` gets the same pixels; everything else
    becomes compressed run lengths. With several raters every annotation has a field ``annotator``, and every image a
    list ``reads`` of who looked at it, so that nothing found is not the same as not looked at.

    Parameters
    ----------
    rule
        How polygons will be filled: ``"coco"`` for pycocotools.
    exact
        Run lengths for everything.
    rank
        The attribute that holds a severity rank.
    """
    found = [read for read in reads if read.status != "unread" or read.marks]
    images = _images(found)
    labels = sorted({mark.label for read in found for mark in read.marks}, key=natural_key)
    numbers = {label: k for k, label in enumerate(labels, 1)}
    places = {image["file_name"]: image["id"] for image in images}
    several = len({read.rater for read in found}) > 1
    annotations = [
        {
            "id": k,
            "image_id": places[read.image],
            **_annotation(mark, read, numbers, rule, exact, rank),
            **_whose(read, several),
        }
        for k, (read, mark) in enumerate(((read, mark) for read in found for mark in read.marks), 1)
    ]
    categories = [{"id": number, "name": label, "supercategory": ""} for label, number in numbers.items()]
    write_document(
        path, {"info": {}, "licenses": [], "images": images, "annotations": annotations, "categories": categories}
    )


def _images(reads: Sequence[Read]) -> list[dict[str, Any]]:
    grouped = dict[str, list[Read]]()
    for read in reads:
        grouped.setdefault(read.image, []).append(read)
    return [{"id": k, **_image(own)} for k, own in enumerate(grouped.values(), 1)]


def _image(reads: Sequence[Read]) -> dict[str, Any]:
    first = reads[0]
    height, width = flat_shape(first.grid.shape, first.image, "COCO")
    for read in reads:
        if read.grid.shape != first.grid.shape:
            raise GridError(
                f"{first.image}: {read.rater}'s grid is {read.grid.shape}, and {first.rater}'s {first.grid.shape}"
            )
    return {"file_name": first.image, "width": width, "height": height, "reads": [_told(read) for read in reads]}


def _told(read: Read) -> dict[str, Any]:
    said = {
        "annotator": read.rater,
        "status": read.status,
        "session": read.session,
        "based_on": read.based_on,
        "tool": read.tool,
        "started": read.started,
        "seconds": read.seconds,
    }
    return {name: value for name, value in said.items() if value not in ("", None)}


def _whose(read: Read, several: bool) -> dict[str, str]:
    return ({"annotator": read.rater} if several else {}) | ({"session": read.session} if read.session else {})


def _annotation(mark: Mark, read: Read, numbers: dict[str, int], rule: Rule, exact: bool, rank: str) -> dict[str, Any]:
    shape = flat_shape(read.grid.shape, read.image, "COCO")
    inside = whole_of(mark.outline, shape)
    rings = None if exact else _rings(mark.outline, inside, rule)
    made: dict[str, Any] = {
        "category_id": numbers[mark.label],
        "segmentation": rings or {"size": list(shape), "counts": packed(lengths_of(inside.T))},
        "area": int(inside.sum()),
        "bbox": _box(inside),
        "iscrowd": int(mark.attributes.get("iscrowd", "0") == "1"),
    }
    score = score_of(mark.attributes)
    notes: dict[str, Any] = {name: text for name, text in mark.attributes.items() if name not in ("iscrowd", *score)}
    if mark.rank is not None:
        notes[rank] = mark.rank
    return made | score | ({"attributes": notes} if notes else {})


def _rings(outline: Outline, inside: Mask, rule: Rule) -> list[list[float]] | None:
    """The rings as COCO has them, where they hold the same pixels when they are read."""
    parts = single_rings(outline)
    if not parts:
        return None
    for part in parts:
        again = Polygon(part.rings, rule)
        if part.rule != rule and not (whole_of(again, inside.shape) == whole_of(part, inside.shape)).all():
            return None
    return [part.rings[0].ravel().tolist() for part in parts]


def _box(inside: Mask) -> list[int]:
    """x, y, width and height."""
    rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
    if not len(rows):
        return [0, 0, 0, 0]
    top, left = int(rows[0]), int(columns[0])
    return [left, top, int(columns[-1]) + 1 - left, int(rows[-1]) + 1 - top]

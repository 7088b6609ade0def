"""COCO files.

COCO files: images, categories and annotations, whose areas are polygons or run lengths along columns.

COCO knows no raters. A file is one rater's, unless its annotations name one each. Its polygons have no holes: every
ring of an annotation is a part of it.

COCO files, as pycocotools and most tools open them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from ..core.columns import natural_key
from ..core.errors import CallError, FormatError, GridError
from ..shape.grid import Grid
from ..shape.polygons import Rule
from .documents import about, image_grid, json_of
from .json_fields import (
    NOTHING,
    decoded,
    flat_shape,
    given,
    notes_of,
    person_of,
    picture_beside,
    ranked,
    rings_of,
    score_of,
    single_rings,
    text_of,
    whole_of,
    write_document,
)
from .outlines import Polygon, United, WholeRuns
from .readings import ImportOptions, Mark, Mask, Outline, Reading, Status
from .run_lengths import lengths_of, packed, unpacked
from .sources import Source, sources

TOOL = "COCO"
MOST_ANNOTATIONS = 300_000
"""Of a file; each takes a kilobyte of memory and more."""
RATERS = (
    "annotator", "annotator_id", "annotator_name", "rater", "worker", "worker_id", "created_by", "user"
)  # fmt: skip
"""Fields that name the rater, where every annotation has one of them."""
QUOTES = "'\""


class Told(msgspec.Struct, rename={"rater": "annotator"}):
    """What manytruths adds to an image: who looked at it."""

    rater: str = ""
    status: Status = "done"
    session: str = ""
    based_on: str = ""
    tool: str = ""
    started: str = ""
    seconds: float | None = None


class Image(msgspec.Struct):
    id: int | str
    file_name: str
    width: float
    height: float
    reads: list[Told] | None = None


class Category(msgspec.Struct):
    id: int | str
    name: str


class Annotation(msgspec.Struct):
    image_id: int | str
    category_id: int | str
    id: int | str | None = None
    segmentation: msgspec.Raw = NOTHING
    bbox: msgspec.Raw = NOTHING
    keypoints: msgspec.Raw = NOTHING
    iscrowd: msgspec.Raw = NOTHING
    score: msgspec.Raw = NOTHING
    attributes: msgspec.Raw = NOTHING
    session: str | None = None


class Document(msgspec.Struct):
    images: list[Image]
    annotations: list[Annotation]
    categories: list[Category]


class RunLengths(msgspec.Struct):
    size: tuple[int, int]
    counts: msgspec.Raw


def read_coco(paths: Sequence[Path | str] | Path | str, choices: ImportOptions | None = None) -> list[Reading]:
    """Every rater's look at every image of COCO files.

    Structures are matched by the names of the categories, whatever their numbers. Polygons are filled by
    ``choices.rule``; pycocotools fills them by ``"coco"``.
    """
    several = [paths] if isinstance(paths, Path | str) else paths
    return [read for source in sources(several, (".json",)) for read in _reads(source, choices or ImportOptions())]


def _reads(source: Source, choices: ImportOptions) -> list[Reading]:
    document = _document(source.path, choices)
    with about(source.path):
        _as_text(document)
        images = _by_number(document.images, "image")
        names = {number: one.name for number, one in _by_number(document.categories, "category").items()}
        _fitting(document.annotations, images, names)
        field, owner = _rater_field(document.annotations, source, choices), _owner(document, source)
        found = dict[int | str, dict[tuple[str, str], list[Annotation]]]()
        for one in document.annotations:
            key = _rater_of(one, field) if field else owner, one.session or ""
            found.setdefault(one.image_id, {}).setdefault(key, []).append(one)
        return [
            read
            for image in document.images
            for read in _of_image(image, found.get(image.id, {}), names, source, choices, "" if field else owner)
        ]


def _document(path: Path, choices: ImportOptions) -> Document:
    with about(path):
        with open(path, "rb") as stream:
            start = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if start == b"[":
            raise FormatError(
                "is a list, as COCO's results are (and Label Studio's exports: import labelstudio); wanted is a file "
                "with images, categories and annotations"
            )
    document: Any = json_of(path, _kind(choices.rater_field))
    if max(len(document.annotations), len(document.images)) > MOST_ANNOTATIONS:
        raise FormatError(f"{path}: has more than {MOST_ANNOTATIONS} annotations or images; split it")
    return cast(Document, document)


def _kind(chosen: str | None) -> Any:
    """The kind of the file, with every field that may name the rater."""
    if chosen in Annotation.__struct_fields__:
        raise CallError(f"the field {chosen!r} is COCO's own, and names no rater; name another (--rater-field)")
    fields = {_field(name): name for name in (*RATERS, chosen) if name is not None}
    raws = [(field, msgspec.Raw, NOTHING) for field in fields]
    own = msgspec.defstruct("Named", raws, bases=(Annotation,), rename=fields)
    return msgspec.defstruct("Document", [("annotations", list[own])], bases=(Document,))  # type: ignore[valid-type]


def _field(name: str) -> str:
    return f"rater_{RATERS.index(name)}" if name in RATERS else "rater_chosen"


def _as_text(document: Document) -> None:
    """Numbers as texts: some tools write them so in one place, and not in the other."""
    for image in document.images:
        image.id = str(image.id)
    for category in document.categories:
        category.id = str(category.id)
    for annotation in document.annotations:
        annotation.image_id, annotation.category_id = str(annotation.image_id), str(annotation.category_id)


def _by_number(items: Iterable[Any], what: str) -> dict[int | str, Any]:
    found = dict[int | str, Any]()
    for one in items:
        if one.id in found:
            raise FormatError(f"two of its {what} entries have the id {one.id}; number them apart")
        found[one.id] = one
    return found


def _fitting(annotations: list[Annotation], images: dict[int | str, Any], names: dict[int | str, str]) -> None:
    seen = set[int | str]()
    for k, one in enumerate(annotations):
        if one.id is not None and one.id in seen:
            raise FormatError(f"two of its annotations have the id {one.id!r}; number them apart")
        if one.id is not None:
            seen.add(one.id)
        for what, number, there in (("image", one.image_id, images), ("category", one.category_id, names)):
            if number not in there:
                raise FormatError(
                    f"annotation {one.id if one.id is not None else k} is of {what} {number}, which is not in the "
                    "file; export it again"
                )


# -- raters ------------------------------------------------------------------------------------------


def _rater_field(annotations: list[Annotation], source: Source, choices: ImportOptions) -> str:
    """The field that names the rater; empty where the file is one rater's."""
    if choices.rater_field is not None:
        return _field(choices.rater_field)
    if "rater" in source.fields:
        return ""
    for name in RATERS:
        having = sum(given(getattr(one, _field(name))) for one in annotations)
        if having and having == len(annotations):
            return _field(name)
        if having:
            raise FormatError(
                f"{having} of {len(annotations)} annotations have the field {name!r}; name the rater of the file "
                f"(RATER={source.path.name}), or the field that every annotation has (--rater-field)"
            )
    return ""


def _owner(document: Document, source: Source) -> str:
    """Whose the file is, where its annotations do not say."""
    said = {one.rater for image in document.images for one in image.reads or []}
    return source.rater(said.pop() if len(said) == 1 else "")


def _rater_of(one: Annotation, field: str) -> str:
    name = person_of(getattr(one, field))
    if not name:
        raise FormatError(f"annotation {one.id!r} does not say whose it is; name the field that does (--rater-field)")
    return name


def _of_image(
    image: Image,
    found: dict[tuple[str, str], list[Annotation]],
    names: dict[int | str, str],
    source: Source,
    choices: ImportOptions,
    owner: str,
) -> list[Reading]:
    """The reads of an image: of those who marked something, and of those who are said to have looked."""
    with about(f"image {image.file_name!r}"):
        grid = image_grid(image.width, image.height)
        told = {(source.fields.get("rater") or one.rater or owner, one.session): one for one in image.reads or []}
        if owner and not told and not found:
            told = {(owner, ""): Told(status=choices.blank)}
        picture = picture_beside(source.path.parent, image.file_name)
        made = []
        for (rater, session), said in {**{key: Told() for key in found}, **told}.items():
            own = found.get((rater, session), [])
            marks, left_out = _marks(own, names, grid, choices)
            read = Reading(
                image.file_name, rater, grid, marks, session or source.fields.get("session", ""), said.status,
                said.based_on, said.tool or TOOL, said.started, said.seconds, source.fields.get("subject", ""),
                source.fields.get("case", ""), picture, left_out, str(source.path),
            )  # fmt: skip
            made.append(read)
        return made


# -- marks -------------------------------------------------------------------------------------------


def _marks(
    annotations: list[Annotation], names: dict[int | str, str], grid: Grid, choices: ImportOptions
) -> tuple[tuple[Mark, ...], dict[str, int]]:
    marks, left_out = list[Mark](), dict[str, int]()
    for k, one in enumerate(annotations):
        with about(f"annotation {one.id if one.id is not None else k}"):
            outline = outline_of(one.segmentation, grid, choices)
            if outline is not None:
                rank, notes = ranked(_notes(one), choices.rank)
                marks.append(Mark(names[one.category_id], outline, 0, rank, notes))
            elif _boxed(one):
                left_out["bbox"] = left_out.get("bbox", 0) + 1
            if given(one.keypoints) and any(decoded(one.keypoints, list[float])):
                left_out["keypoints"] = left_out.get("keypoints", 0) + 1
    return tuple(marks), left_out


def _notes(one: Annotation) -> dict[str, str]:
    notes = notes_of(one.attributes)
    if given(one.score):
        notes["score"] = text_of(decoded(one.score, float))
    if given(one.iscrowd) and decoded(one.iscrowd, int):
        notes["iscrowd"] = "1"
    return notes


def _boxed(one: Annotation) -> bool:
    """Whether there is a box that holds something: a box alone says not which of its pixels are meant."""
    return given(one.bbox) and all(side > 0 for side in decoded(one.bbox, list[float])[2:])


def outline_of(raw: msgspec.Raw, grid: Grid, choices: ImportOptions) -> Outline | None:
    """What a segmentation says; None where it says nothing."""
    if not given(raw):
        return None
    if bytes(memoryview(raw)[:1]) == b"{":
        return _runs(decoded(raw, RunLengths), grid)
    rings = rings_of(raw)
    parts = tuple(Polygon.of([ring], choices.rule) for ring in rings)
    return None if not parts else parts[0] if len(parts) == 1 else United(parts)


def _runs(found: RunLengths, grid: Grid) -> WholeRuns:
    height, width = grid.shape
    if found.size != (height, width):
        raise FormatError(
            f"its run lengths are of an image of {found.size[1]} × {found.size[0]} pixels, and this one has "
            f"{width} × {height}; export it again"
        )
    if bytes(memoryview(found.counts)[:1]) == b"[":
        return WholeRuns.of(decoded(found.counts, list[int]), grid.shape, by_column=True)
    packed = _plain(decoded(found.counts, str))
    return WholeRuns.of(unpacked(packed, height * width), grid.shape, by_column=True)


def _plain(counts: str) -> str:
    """Without what Python puts around bytes, where a script wrote those as text."""
    if len(counts) > 2 and counts[0] == "b" and counts[1] in QUOTES and counts[-1] == counts[1]:
        return counts[2:-1].replace("\\\\", "\\")
    return counts


def write_coco(
    path: Path | str,
    reads: Iterable[Reading],
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


def _images(reads: Sequence[Reading]) -> list[dict[str, Any]]:
    grouped = dict[str, list[Reading]]()
    for read in reads:
        grouped.setdefault(read.image, []).append(read)
    return [{"id": k, **_image(own)} for k, own in enumerate(grouped.values(), 1)]


def _image(reads: Sequence[Reading]) -> dict[str, Any]:
    first = reads[0]
    height, width = flat_shape(first.grid.shape, first.image, "COCO")
    for read in reads:
        if read.grid.shape != first.grid.shape:
            raise GridError(
                f"{first.image}: {read.rater}'s grid is {read.grid.shape}, and {first.rater}'s {first.grid.shape}"
            )
    return {"file_name": first.image, "width": width, "height": height, "reads": [_told(read) for read in reads]}


def _told(read: Reading) -> dict[str, Any]:
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


def _whose(read: Reading, several: bool) -> dict[str, str]:
    return ({"annotator": read.rater} if several else {}) | ({"session": read.session} if read.session else {})


def _annotation(
    mark: Mark, read: Reading, numbers: dict[str, int], rule: Rule, exact: bool, rank: str
) -> dict[str, Any]:
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

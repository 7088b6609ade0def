"""COCO files: images, categories and annotations, whose areas are polygons or run lengths along columns.

COCO has no raters. A file is one rater's, unless its annotations name one each. Its polygons have no holes: every ring
of an annotation is a part of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec

from ..core.columns import natural_key
from ..core.errors import CallError, FormatError, GridError
from ..io.documents import NOTHING, decode, error_context, is_given, read_json
from ..shape.grid import Grid
from ..shape.polygons import Rule
from .documents import Source, find_sources, image_grid
from .json_fields import (
    ReadingFields,
    flat_shape,
    full_mask,
    notes_of,
    person_of,
    picture_beside,
    reading_fields,
    rings_of,
    score_of,
    single_rings,
    split_rank,
    text_of,
    write_document,
)
from .outlines import Polygon, RunLengthMask, UnitedOutline, marked_window
from .readings import ImportOptions, Mark, Mask, Outline, Reading
from .run_lengths import decode_counts, encode_counts, encode_runs

TOOL = "COCO"
MOST_ANNOTATIONS = 300_000
"""Of a file; each takes a kilobyte of memory and more."""
RATERS = ("annotator", "annotator_id", "annotator_name", "rater", "worker", "worker_id", "created_by", "user")
"""Fields that name the rater, where every annotation has one of them."""
QUOTES = "'\""


class ImageReading(ReadingFields, rename={"rater": "annotator"}):
    """What manytruths adds to an image: who looked at it."""

    rater: str = ""  # here, since only fields of the class itself are renamed


class Image(msgspec.Struct):
    id: int | str
    file_name: str
    width: float
    height: float
    reads: list[ImageReading] | None = None


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


def read_coco(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read COCO files: one reading for every rater and image.

    Structures are matched by the names of the categories, whatever their numbers. Polygons are filled by
    ``options.rule``; pycocotools fills them by ``"coco"``.

    Parameters
    ----------
    paths : sequence of str or Path
        JSON files with images, categories and annotations, folders of them, ``RATER=PATH``, or templates such as
        ``exports/{rater}.json``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every rater and image.
    """
    return [read for source in find_sources(paths, (".json",)) for read in _reads(source, options or ImportOptions())]


def _reads(source: Source, options: ImportOptions) -> list[Reading]:
    document = _document(source.path, options)
    with error_context(source.path):
        _as_text(document)
        images = _by_id(document.images, "image")
        names = {number: annotation.name for number, annotation in _by_id(document.categories, "category").items()}
        _check_references(document.annotations, images, names)
        field = _rater_field(document.annotations, source, options)
        # whose the file is, where its annotations do not say
        raters = {reading.rater for image in document.images for reading in image.reads or []}
        owner = source.rater(raters.pop() if len(raters) == 1 else "")
        grouped = dict[int | str, dict[tuple[str, str], list[Annotation]]]()
        for annotation in document.annotations:
            key = _rater_of(annotation, field) if field else owner, annotation.session or ""
            grouped.setdefault(annotation.image_id, {}).setdefault(key, []).append(annotation)
        return [
            read
            for image in document.images
            for read in _of_image(image, grouped.get(image.id, {}), names, source, options, "" if field else owner)
        ]


def _document(path: Path, options: ImportOptions) -> Document:
    with error_context(path):
        with open(path, "rb") as stream:
            start = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
        if start == b"[":
            raise FormatError(
                "is a list, as COCO's results are (and Label Studio's exports: import labelstudio); expected a file "
                "with images, categories and annotations"
            )
    document: Any = read_json(path, _kind(options.rater_field))
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


def _by_id(items: Iterable[Any], what: str) -> dict[int | str, Any]:
    numbered = dict[int | str, Any]()
    for item in items:
        if item.id in numbered:
            raise FormatError(f"two of its {what} entries have the id {item.id}; number them apart")
        numbered[item.id] = item
    return numbered


def _check_references(annotations: list[Annotation], images: dict[int | str, Any], names: dict[int | str, str]) -> None:
    numbers = set[int | str]()
    for k, annotation in enumerate(annotations):
        if annotation.id is not None and annotation.id in numbers:
            raise FormatError(f"two of its annotations have the id {annotation.id!r}; number them apart")
        if annotation.id is not None:
            numbers.add(annotation.id)
        which = k if annotation.id is None else annotation.id
        if annotation.image_id not in images:
            what = f"image {annotation.image_id}"
        elif annotation.category_id not in names:
            what = f"category {annotation.category_id}"
        else:
            continue
        raise FormatError(f"annotation {which} is of {what}, which is not in the file; export it again")


# -- raters ------------------------------------------------------------------------------------------


def _rater_field(annotations: list[Annotation], source: Source, options: ImportOptions) -> str:
    """The field that names the rater; empty where the file is one rater's."""
    if options.rater_field is not None:
        return _field(options.rater_field)
    if "rater" in source.fields:
        return ""
    for name in RATERS:
        having = sum(is_given(getattr(annotation, _field(name))) for annotation in annotations)
        if having and having == len(annotations):
            return _field(name)
        if having:
            raise FormatError(
                f"{having} of {len(annotations)} annotations have the field {name!r}; name the rater of the file "
                f"(RATER={source.path.name}), or the field that every annotation has (--rater-field)"
            )
    return ""


def _rater_of(annotation: Annotation, field: str) -> str:
    name = person_of(getattr(annotation, field))
    if not name:
        raise FormatError(f"annotation {annotation.id!r} names no rater; name the field that does (--rater-field)")
    return name


def _of_image(
    image: Image,
    grouped: dict[tuple[str, str], list[Annotation]],
    names: dict[int | str, str],
    source: Source,
    options: ImportOptions,
    owner: str,
) -> list[Reading]:
    """The readings of an image: of raters who marked something, and of those listed in its ``reads``."""
    with error_context(f"image {image.file_name!r}"):
        grid = image_grid(image.width, image.height)
        known = {
            (source.fields.get("rater") or entry.rater or owner, entry.session): entry for entry in image.reads or []
        }
        if owner and not known and not grouped:
            known = {(owner, ""): ImageReading(status=options.blank)}
        picture = picture_beside(source.path.parent, image.file_name)
        place, readings = source.fields, []
        for (rater, session), fields in {**{key: ImageReading() for key in grouped}, **known}.items():
            marks, left_out = _marks(grouped.get((rater, session), []), names, grid, options)
            readings.append(Reading(
                image.file_name, rater, grid, marks, session or place.get("session", ""), fields.status or "done",
                fields.based_on, fields.tool or TOOL, fields.started, fields.seconds, place.get("subject", ""),
                place.get("case", ""), picture, left_out, str(source.path),
            ))  # fmt: skip
        return readings


# -- marks -------------------------------------------------------------------------------------------


def _marks(
    annotations: list[Annotation], names: dict[int | str, str], grid: Grid, options: ImportOptions
) -> tuple[tuple[Mark, ...], dict[str, int]]:
    marks, left_out = list[Mark](), Counter[str]()
    for k, annotation in enumerate(annotations):
        with error_context(f"annotation {annotation.id if annotation.id is not None else k}"):
            outline = outline_of(annotation.segmentation, grid, options)
            if outline is not None:
                rank, notes = split_rank(_notes(annotation), options.rank)
                marks.append(Mark(names[annotation.category_id], outline, 0, rank, notes))
            # a box alone does not say which of its pixels are meant
            elif is_given(annotation.bbox) and all(side > 0 for side in decode(annotation.bbox, list[float])[2:]):
                left_out["bbox"] += 1
            if is_given(annotation.keypoints) and any(decode(annotation.keypoints, list[float])):
                left_out["keypoints"] += 1
    return tuple(marks), dict(left_out)


def _notes(annotation: Annotation) -> dict[str, str]:
    notes = notes_of(annotation.attributes)
    if is_given(annotation.score):
        notes["score"] = text_of(decode(annotation.score, float))
    if is_given(annotation.iscrowd) and decode(annotation.iscrowd, int):
        notes["iscrowd"] = "1"
    return notes


def outline_of(raw: msgspec.Raw, grid: Grid, options: ImportOptions) -> Outline | None:
    """What a segmentation says; None where it says nothing."""
    if not is_given(raw):
        return None
    if bytes(memoryview(raw)[:1]) == b"{":
        return _runs(decode(raw, RunLengths), grid)
    parts = tuple(Polygon.of([ring], options.rule) for ring in rings_of(raw))
    return None if not parts else parts[0] if len(parts) == 1 else UnitedOutline(parts)


def _runs(runs: RunLengths, grid: Grid) -> RunLengthMask:
    height, width = grid.shape
    if runs.size != (height, width):
        raise FormatError(
            f"its run lengths are of an image of {runs.size[1]} × {runs.size[0]} pixels, and this one has "
            f"{width} × {height}; export it again"
        )
    if bytes(memoryview(runs.counts)[:1]) == b"[":
        return RunLengthMask.of(decode(runs.counts, list[int]), grid.shape, by_column=True)
    packed = _strip_bytes_literal(decode(runs.counts, str))
    return RunLengthMask.of(decode_counts(packed, height * width), grid.shape, by_column=True)


def _strip_bytes_literal(counts: str) -> str:
    """Without what Python puts around bytes, where a script wrote those as text."""
    if len(counts) > 2 and counts[0] == "b" and counts[1] in QUOTES and counts[-1] == counts[1]:
        return counts[2:-1].replace("\\\\", "\\")
    return counts


# -- writing ------------------------------------------------------------------------------------------


def write_coco(
    path: Path | str,
    reads: Iterable[Reading],
    *,
    rule: Rule = "centre",
    exact: bool = False,
    rank: str = "rank",
) -> None:
    """Write readings as one COCO file.

    Polygons of one ring stay polygons where filling them by ``rule`` gives the same pixels; everything else becomes
    compressed run lengths. With several raters every annotation has a field ``annotator``, and every image a list
    ``reads`` of who looked at it, so that an empty reading differs from a missing one.

    Parameters
    ----------
    path : str or Path
        The JSON file.
    reads : iterable of Reading
        What to write.
    rule : {"centre", "inclusive", "coco"}
        How polygons will be filled: ``"coco"`` for pycocotools.
    exact : bool
        Whether to write run lengths for everything.
    rank : str
        The attribute that holds the severity rank.
    """
    kept = [read for read in reads if read.status != "unread" or read.marks]
    grouped = dict[str, list[Reading]]()
    for read in kept:
        grouped.setdefault(read.image, []).append(read)
    images = [{"id": k, **_image(own)} for k, own in enumerate(grouped.values(), 1)]
    labels = sorted({mark.label for read in kept for mark in read.marks}, key=natural_key)
    numbers = {label: k for k, label in enumerate(labels, 1)}
    places = {image["file_name"]: image["id"] for image in images}
    several = len({read.rater for read in kept}) > 1
    annotations = [
        {
            "id": k,
            "image_id": places[read.image],
            **_annotation(mark, read, numbers, rule, exact, rank),
            **({"annotator": read.rater} if several else {}),
            **({"session": read.session} if read.session else {}),
        }
        for k, (read, mark) in enumerate(((read, mark) for read in kept for mark in read.marks), 1)
    ]
    categories = [{"id": number, "name": label, "supercategory": ""} for label, number in numbers.items()]
    document = {"info": {}, "licenses": [], "images": images, "annotations": annotations, "categories": categories}
    write_document(path, document)


def _image(reads: Sequence[Reading]) -> dict[str, Any]:
    first = reads[0]
    height, width = flat_shape(first.grid.shape, first.image, "COCO")
    for read in reads:
        if read.grid.shape != first.grid.shape:
            raise GridError(
                f"{first.image}: {read.rater}'s grid is {read.grid.shape}, and {first.rater}'s {first.grid.shape}"
            )
    who = [reading_fields(read, "annotator") for read in reads]
    return {"file_name": first.image, "width": width, "height": height, "reads": who}


def _annotation(
    mark: Mark, read: Reading, numbers: dict[str, int], rule: Rule, exact: bool, rank: str
) -> dict[str, Any]:
    shape = flat_shape(read.grid.shape, read.image, "COCO")
    inside = full_mask(mark.outline, shape)
    rows, columns = marked_window(inside)
    rings = None if exact else _rings(mark.outline, inside, rule)
    fields: dict[str, Any] = {
        "category_id": numbers[mark.label],
        "segmentation": rings or {"size": list(shape), "counts": encode_counts(encode_runs(inside.T))},
        "area": int(inside.sum()),
        "bbox": [columns.start, rows.start, columns.stop - columns.start, rows.stop - rows.start],
        "iscrowd": int(mark.attributes.get("iscrowd", "0") == "1"),
    }
    score = score_of(mark.attributes)
    notes: dict[str, Any] = {name: text for name, text in mark.attributes.items() if name not in ("iscrowd", *score)}
    if mark.rank is not None:
        notes[rank] = mark.rank
    return fields | score | ({"attributes": notes} if notes else {})


def _rings(outline: Outline, inside: Mask, rule: Rule) -> list[list[float]] | None:
    """The rings as COCO has them, where they hold the same pixels when they are read."""
    parts = single_rings(outline)
    if not parts:
        return None
    for part in parts:
        again = Polygon(part.rings, rule)
        if part.rule != rule and not (full_mask(again, inside.shape) == full_mask(part, inside.shape)).all():
            return None
    return [part.rings[0].ravel().tolist() for part in parts]

"""Label Studio's JSON: tasks, each with an image and the annotations of everybody who worked on it.

Several annotations of a task are those of several raters. Cancelled ones, and drafts that were never submitted, are
unfinished. Predictions are read where an annotation started from one, or where the file holds nothing else. The short
form (JSON-MIN) has one object for each annotation, with the task's data and the values of each tag.

Coordinates are percentages of the image. A rectangle is rotated about its upper left corner, an ellipse about its
centre, both in degrees from x to y. Results of one region share its id: its shape, its labels, and choices, numbers,
ratings or texts that were given for it.

Tasks are written with predictions, which Label Studio shows to raters, or with annotations.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, Literal
from urllib.parse import unquote, urlsplit
from xml.sax.saxutils import quoteattr

import msgspec
import numpy as np

from ..core.columns import natural_key
from ..core.errors import CallError, FormatError, GridError, InputError
from ..io import probe
from ..io.documents import LONGEST_NOTE, NOTHING, decode, decode_any, error_context, is_given, read_json
from ..io.files import SUFFIXES
from ..shape.grid import Grid
from ..shape.polygons import Points
from .documents import Source, find_sources, image_grid
from .json_fields import (
    flat_shape,
    full_mask,
    person_of,
    picture_beside,
    points_of,
    score_of,
    single_rings,
    split_rank,
    text_of,
    write_document,
)
from .outlines import Ellipse, Line, Polygon, RunLengthMask, box
from .readings import ImportOptions, Mark, Mask, Outline, Reading, Stored
from .run_lengths import decode_brush, encode_brush

Byte = Annotated[int, msgspec.Meta(ge=0, le=255)]
LONGEST_BRUSH = 1 << 27
SAID = {
    "choices": "choices", "number": "number", "rating": "rating", "textarea": "text", "taxonomy": "taxonomy",
    "datetime": "datetime",
}  # fmt: skip
"""What is said of a region, and the field that it stands in."""
NO_SHAPES = {*SAID, "relation", "pairwise", "ranker"}
AREAS = ("polygon", "rectangle", "ellipse", "brush")
LEFT_OUT = {"keypoint": "points", "vector": "polyline"}
MOST_SHORT_FIELDS = 1 << 21
TIMES = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")
TOOL = "Label Studio"
MOST_FIELDS = 1 << 14
"""Of a task's data."""
PICTURES = (*SUFFIXES, ".webp")
UPLOADED = re.compile("^[0-9a-f]{8}-(?=.)")


# -- what the file holds ------------------------------------------------------------------------------


class Result(msgspec.Struct):
    type: str
    id: int | str | None = None
    from_name: str = ""
    value: msgspec.Raw = NOTHING
    original_width: float | None = None
    original_height: float | None = None
    image_rotation: float | None = None
    item_index: int | None = None
    score: float | None = None

    def __post_init__(self) -> None:
        self.type = self.type.lower()


class Value(msgspec.Struct):
    """What a shape may have; each has some of it."""

    x: float | None = None
    y: float | None = None
    width: float | None = None
    height: float | None = None
    radiusX: float | None = None
    radiusY: float | None = None
    rotation: float | None = None
    points: msgspec.Raw = NOTHING
    closed: bool | None = None
    rle: msgspec.Raw = NOTHING
    labels: msgspec.Raw = NOTHING
    polygonlabels: msgspec.Raw = NOTHING
    brushlabels: msgspec.Raw = NOTHING
    rectanglelabels: msgspec.Raw = NOTHING
    ellipselabels: msgspec.Raw = NOTHING

    def names(self) -> list[str]:
        """The labels, whatever tag gave them."""
        fields = (self.labels, self.polygonlabels, self.brushlabels, self.rectanglelabels, self.ellipselabels)
        return [name for field in fields if is_given(field) for name in decode(field, list[str], LONGEST_NOTE)]

    def kind(self) -> str:
        """What it is by what it has, where the tool does not say."""
        if is_given(self.rle):
            return "brush"
        if is_given(self.points):
            return "polygon"
        return "ellipse" if self.radiusX is not None else "rectangle" if self.width is not None else "labels"

    def numbers(self, *names: str) -> list[float]:
        """Numbers that must be there."""
        values = [getattr(self, name) for name in names]
        if None in values:
            raise FormatError(f"has no {names[values.index(None)]}; export it again")
        return values


class Prediction(msgspec.Struct):
    id: int | str | None = None
    model_version: str | None = None
    result: list[Result] | None = None
    created_at: str | None = None


class Annotation(msgspec.Struct):
    id: int | str | None = None
    result: list[Result] | None = None
    completed_by: msgspec.Raw = NOTHING
    was_cancelled: bool | None = None
    skipped: bool | None = None
    ground_truth: bool | None = None
    created_at: str | None = None
    lead_time: float | None = None
    prediction: msgspec.Raw = NOTHING
    parent_prediction: int | str | None = None
    parent_annotation: int | str | None = None


class Draft(msgspec.Struct):
    result: list[Result] | None = None
    user: msgspec.Raw = NOTHING
    annotation: msgspec.Raw = NOTHING
    created_at: str | None = None
    lead_time: float | None = None


class Task(msgspec.Struct, rename={"owner": "annotator"}):
    id: int | str | None = None
    data: msgspec.Raw = NOTHING
    annotations: list[Annotation] | None = None
    completions: list[Annotation] | None = None
    predictions: msgspec.Raw = NOTHING
    drafts: msgspec.Raw = NOTHING
    owner: msgspec.Raw = NOTHING
    annotation_id: msgspec.Raw = NOTHING

    def is_short(self) -> bool:
        """Whether it is an annotation in itself, in the short form, and no task."""
        return not is_given(self.data) and (is_given(self.owner) or is_given(self.annotation_id))

    def submitted(self) -> list[Annotation]:
        return self.annotations or self.completions or []

    def predicted(self) -> list[Prediction]:
        """Predictions themselves; some exports have their numbers only."""
        embedded = [decode(entry.prediction, Prediction) for entry in self.submitted() if _object(entry.prediction)]
        whole = decode(self.predictions, list[Prediction], len(self.predictions)) if _objects(self.predictions) else []
        every = {(entry.id, entry.model_version): entry for entry in (*embedded, *whole) if entry.result is not None}
        return list(every.values())

    def drafted(self) -> list[Draft]:
        """Drafts of annotations that were never submitted."""
        drafts = decode(self.drafts, list[Draft], len(self.drafts)) if _objects(self.drafts) else []
        return [draft for draft in drafts if not is_given(draft.annotation)]


def _object(raw: msgspec.Raw) -> bool:
    return bytes(memoryview(raw)[:1]) == b"{"


def _objects(raw: msgspec.Raw) -> bool:
    return bytes(memoryview(raw)[:64]).translate(None, b" \t\r\n").startswith(b"[{")


# -- files --------------------------------------------------------------------------------------------


def read_labelstudio(paths: Sequence[Path | str] | Path | str, options: ImportOptions | None = None) -> list[Reading]:
    """Read exports of Label Studio (JSON or JSON-MIN): one reading for every annotation.

    Label Studio writes the size of an image with the marks on it. Of an image without marks the picture itself must say
    it: it is looked for beside the file, or in ``options.images``.

    Parameters
    ----------
    paths : sequence of str or Path
        JSON files, folders of them, ``RATER=PATH``, or templates such as ``exports/{rater}.json``.
    options : ImportOptions, optional
        What the files leave open.

    Returns
    -------
    list of Reading
        One for every rater and image.
    """
    return [read for source in find_sources(paths, (".json",)) for read in _reads(source, options or ImportOptions())]


def _reads(source: Source, options: ImportOptions) -> list[Reading]:
    tasks = _read_tasks(source.path)
    only_predictions = not any(task.submitted() or task.drafted() for task in tasks)
    with error_context(source.path):
        people = _names_of_people(tasks)
        readings = []
        for k, task in enumerate(tasks):
            with error_context(f"task {k if task.id is None else task.id}"):
                place = _Place(source, options, options.images or source.path.parent, people)
                readings += _of_task(task, place, only_predictions)
        return _strip_upload_prefixes(readings)


def _strip_upload_prefixes(reads: list[Reading]) -> list[Reading]:
    """Cases called as images were before Label Studio put eight digits before their names, where they stay apart."""
    plain = {read.image: UPLOADED.sub("", PurePosixPath(read.image).stem) for read in reads}
    often = Counter(plain.values())
    return [
        replace(read, case=plain[read.image])
        if not read.case and often[plain[read.image]] == 1 and plain[read.image] != PurePosixPath(read.image).stem
        else read
        for read in reads
    ]


def _read_tasks(path: Path) -> list[Task]:
    with error_context(path), open(path, "rb") as stream:
        single = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    tasks = [read_json(path, Task)] if single else read_json(path, list[Task])
    if tasks and all(task.is_short() for task in tasks):
        return _read_short_tasks(path)
    return tasks


def _names_of_people(tasks: Sequence[Task]) -> dict[str, str]:
    """By number, the names of people; some annotations have both, others the number alone."""
    names = dict[str, str]()
    for task in tasks:
        for annotation in task.submitted():
            if _object(annotation.completed_by):
                number = text_of(decode(annotation.completed_by, dict[str, object], 1 << 20).get("id"))
                names[number] = person_of(annotation.completed_by)
    return names


# -- tasks --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """What the reads of a task have in common, and where they come from."""

    source: Source
    options: ImportOptions
    folder: Path
    people: dict[str, str]

    def rater(self, raw: msgspec.Raw) -> str:
        name = person_of(raw)
        return self.source.rater(self.people.get(name, name))


def _of_task(task: Task, place: _Place, only_predictions: bool) -> list[Reading]:
    annotations, predictions, drafts = task.submitted(), task.predicted(), task.drafted()
    parents = {entry.parent_prediction for entry in annotations} | {
        decode(entry.prediction, Prediction).id for entry in annotations if _object(entry.prediction)
    }
    predictions = [entry for entry in predictions if only_predictions or (entry.id is not None and entry.id in parents)]
    if not (annotations or predictions or drafts):
        return []
    fields = _fields(task.data)
    image = _image(fields)
    picture = picture_beside(place.folder, image)
    entries: list[Annotation | Prediction | Draft] = [*annotations, *predictions, *drafts]
    grid = grid_of(result for entry in entries for result in entry.result or []) or _size(fields, picture, image)
    source = place.source
    blank = Reading(
        image, "", grid, tool=TOOL, subject=source.fields.get("subject", ""), case=source.fields.get("case", ""),
        session=source.fields.get("session", ""), picture=picture, source=str(source.path),
    )  # fmt: skip
    models = {entry.id: _model(entry) for entry in predictions}
    reads = [_read_annotation(entry, annotations, models, blank, place) for entry in annotations]
    reads += [_read_prediction(entry, blank, place.options) for entry in predictions]
    busy = {read.rater for read in reads}
    drafted = [_read_draft(entry, blank, place) for entry in drafts]
    return reads + [read for read in drafted if read.rater not in busy]


def _read_annotation(
    annotation: Annotation, others: list[Annotation], models: dict[int | str | None, str], blank: Reading, place: _Place
) -> Reading:
    with error_context(f"annotation {annotation.id}" if annotation.id is not None else "an annotation"):
        read = _with_results(blank, annotation.result or [], place.options)
        if annotation.was_cancelled or annotation.skipped:
            read = replace(read, status="unfinished")
        if annotation.ground_truth:
            true = {"ground_truth": "true"}
            read = replace(read, marks=tuple(replace(m, attributes={**m.attributes, **true}) for m in read.marks))
        rater = place.rater(annotation.completed_by)
        parent = _parent(annotation, rater, others, models, place)
        return replace(
            read, rater=rater, based_on=parent, started=annotation.created_at or "", seconds=annotation.lead_time
        )


def _read_prediction(prediction: Prediction, blank: Reading, options: ImportOptions) -> Reading:
    with error_context(f"prediction {prediction.id}" if prediction.id is not None else "a prediction"):
        read = _with_results(blank, prediction.result or [], options)
        return replace(read, rater=_model(prediction), started=prediction.created_at or "", automatic=True)


def _read_draft(draft: Draft, blank: Reading, place: _Place) -> Reading:
    """A draft may hold half a stroke; then it is unfinished without marks."""
    try:
        read = _with_results(blank, draft.result or [], place.options)
    except InputError:
        read = blank
    rater, started = place.rater(draft.user), draft.created_at or ""
    return replace(read, rater=rater, status="unfinished", started=started, seconds=draft.lead_time)


def _with_results(blank: Reading, results: Sequence[Result], options: ImportOptions) -> Reading:
    marks, left_out = marks_of(results, blank.grid, options)
    return replace(blank, marks=marks, left_out=left_out, status="done" if marks or left_out else "empty")


def _model(prediction: Prediction) -> str:
    return (prediction.model_version or "").strip() or "model"


def _parent(
    annotation: Annotation, rater: str, others: list[Annotation], models: dict[int | str | None, str], place: _Place
) -> str:
    """Whose marks an annotation started from."""
    inside = decode(annotation.prediction, Prediction).id if _object(annotation.prediction) else None
    number = annotation.parent_prediction if annotation.parent_prediction is not None else inside
    if number is not None:
        return models.get(number, f"prediction {number}")
    if annotation.parent_annotation is None:
        return ""
    parent = next((other for other in others if other.id == annotation.parent_annotation), None)
    if parent is None:
        return f"annotation {annotation.parent_annotation}"
    name = place.rater(parent.completed_by)
    own = sorted((o.created_at or "", k) for k, o in enumerate(others) if place.rater(o.completed_by) == name)
    session = own.index((parent.created_at or "", others.index(parent))) + 1
    # a rater's earlier reading is a session of theirs, numbered when readings are combined
    return f"{name}/{session}" if name == rater or len(own) > 1 else name


# -- images -------------------------------------------------------------------------------------------


def _fields(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    if not _object(raw):
        raise FormatError("has no data; export it as JSON with its data")
    if bytes(raw).count(b":") > MOST_FIELDS:
        raise FormatError("has too much data; keep the image alone")
    return decode(raw, dict[str, msgspec.Raw], len(raw))


def _image(fields: dict[str, msgspec.Raw]) -> str:
    """What the image is called: the only value that looks like one, or that under ``image``."""
    texts = {key: decode(raw, str, len(raw)) for key, raw in fields.items() if bytes(memoryview(raw)[:1]) == b'"'}
    likely = [key for key, text in texts.items() if _name(text).lower().endswith(PICTURES)]
    named: list[str] = [key for key in ("image", "img") if key in texts]
    chosen = likely if len(likely) == 1 else named or (list(texts) if len(texts) == 1 else [])
    if not chosen:
        raise FormatError(
            f"its data ({', '.join(sorted(fields)[:6])}) does not say which one is the image; call it 'image'"
        )
    name = _name(texts[chosen[0]])
    if not name or texts[chosen[0]].startswith("data:"):
        raise FormatError("its image has no name, but stands in the file itself; import it into Label Studio by a path")
    return name


def _name(text: str) -> str:
    """The path of an image: behind ``?d=`` for local files, without the server and what it was asked for otherwise."""
    if "?d=" in text:
        return unquote(text.split("?d=", 1)[1].split("&")[0])
    try:
        parts = urlsplit(text)
    except ValueError:
        return text
    if parts.scheme in ("http", "https", "s3", "gs", "azure-blob"):
        return unquote(parts.path).lstrip("/")
    return unquote(parts.path).lstrip("/") if text.startswith("/data/") else text


def _size(fields: dict[str, msgspec.Raw], picture: Stored | None, image: str) -> Grid:
    """Of an image that nothing was marked on."""
    if is_given(fields.get("width", NOTHING)) and is_given(fields.get("height", NOTHING)):
        return image_grid(decode(fields["width"], float), decode(fields["height"], float))
    if picture is not None:
        height, width = probe(picture.path).shape[:2]
        return image_grid(width, height)
    raise FormatError(
        f"nobody marked anything on {PurePosixPath(image).name}, so that its size is not in the file; put the image "
        "beside the file, or name the folder of the images (--images)"
    )


# -- regions ------------------------------------------------------------------------------------------


def grid_of(results: Iterable[Result]) -> Grid | None:
    """The size of the image, as the results have it; None where none of them does."""
    grid: Grid | None = None
    for k, result in enumerate(results):
        if result.original_width is None or result.original_height is None:
            continue
        with error_context(f"region {k if result.id is None else result.id}"):
            own = image_grid(result.original_width, result.original_height)
            if grid is not None and own.shape != grid.shape:
                sizes = " and ".join(" × ".join(map(str, reversed(shape))) for shape in (grid.shape, own.shape))
                raise GridError(f"its image has {sizes} pixels; draw again on one of them")
            grid = own
    return grid


def marks_of(results: Sequence[Result], grid: Grid, options: ImportOptions) -> tuple[tuple[Mark, ...], dict[str, int]]:
    """The marks, and what is no area, by kind."""
    marks, left_out = list[Mark](), Counter[str]()
    groups = dict[object, list[Result]]()
    for k, result in enumerate(results):
        groups.setdefault((k,) if result.id is None else result.id, []).append(result)
    for number, (name, group) in enumerate(groups.items()):
        with error_context(f"region {number if isinstance(name, tuple) else name}"):
            region_marks, kind = _region(group, grid, options)
            marks += region_marks
            if kind:
                left_out[kind] += 1
    return tuple(marks), dict(left_out)


def _region(group: list[Result], grid: Grid, options: ImportOptions) -> tuple[list[Mark], str]:
    """The marks of one region, one a label; or the kind that is no area."""
    shapes = [result for result in group if result.type not in NO_SHAPES]
    if not shapes:
        return [], ""
    first = next((result for result in shapes if result.type != "labels"), shapes[0])
    _check_upright(first)
    kind = first.type.removesuffix("labels")
    value = decode(first.value, Value, LONGEST_BRUSH) if kind in ("", *AREAS) and is_given(first.value) else Value()
    kind = kind or value.kind()
    outline = _outline(kind, value, grid, options)
    if outline is None:
        return [], "polyline" if kind == "polygon" else LEFT_OUT.get(kind, kind)
    others = [result.value for result in shapes if result is not first and is_given(result.value)]
    values = [value, *(decode(raw, Value, LONGEST_BRUSH) for raw in others)]
    names = dict.fromkeys(name for each in values for name in each.names())
    rank, notes = split_rank(_region_notes(group), options.rank)
    return [Mark(name, outline, 0, rank, notes) for name in names or [first.from_name or kind]], ""


def _check_upright(result: Result) -> None:
    if result.image_rotation and result.image_rotation % 360:
        raise FormatError(
            f"was drawn while the image was turned by {result.image_rotation:g} degrees; turn it back in Label Studio, "
            "and export it again"
        )
    if result.item_index:
        raise FormatError("lies on a further page of its task; make a task of every image")


def _region_notes(group: list[Result]) -> dict[str, str]:
    """What was said of a region, by the name of the question."""
    notes = dict[str, str]()
    for result in group:
        if result.type in SAID and is_given(result.value):
            value = decode_any(result.value)
            value = value.get(SAID[result.type]) if isinstance(value, dict) else value
            notes[result.from_name or result.type] = text_of(value)
        elif result.score is not None:
            notes["score"] = text_of(result.score)
    return notes


# -- outlines -----------------------------------------------------------------------------------------


def _outline(kind: str, value: Value, grid: Grid, options: ImportOptions) -> Outline | None:
    if kind == "rectangle":
        x, y, width, height = _place_and_size(value, grid, "width", "height")
        return box(x, y, width, height, value.rotation or 0, about="corner", rule=options.rule)
    if kind == "ellipse":
        x, y, half_width, half_height = _place_and_size(value, grid, "radiusX", "radiusY")
        return Ellipse(x, y, half_width, half_height, value.rotation or 0)
    if kind == "brush":
        if not is_given(value.rle):
            raise FormatError("is a brush without run lengths; submit it in Label Studio, and export it again")
        data = bytes(decode(value.rle, list[Byte], LONGEST_BRUSH))
        return RunLengthMask.of(decode_brush(data, grid.shape[0] * grid.shape[1]), grid.shape)
    if kind != "polygon" or (value.closed is False and options.widen is None):
        return None
    points = in_pixels(points_of(value.points), grid)
    if value.closed is False:
        return Line.of(points, options.widen or 0)
    return Polygon.of([points], options.rule)


def in_pixels(points: Points, grid: Grid) -> Points:
    """(points, 2) in percent, as pixels."""
    with np.errstate(over="ignore"):  # what is too far is refused with the outline
        return np.asarray(points * np.array(grid.shape[::-1], np.float64) / 100)


def _place_and_size(value: Value, grid: Grid, width: str, height: str) -> list[float]:
    """Four numbers in pixels: x, y and two sides."""
    numbers = np.array(value.numbers("x", "y", width, height))
    return in_pixels(numbers.reshape(2, 2), grid).ravel().tolist()


# -- the short form, JSON-MIN -------------------------------------------------------------------------


class Sized(msgspec.Struct):
    original_width: float
    original_height: float


def _read_short_tasks(path: Path) -> list[Task]:
    """Tasks with annotations; those of one task are put together again."""
    with error_context(path):
        content = path.read_bytes()
        if content.count(b":") > MOST_SHORT_FIELDS:
            raise FormatError(f"holds more than {MOST_SHORT_FIELDS} fields; export it as JSON, in parts")
    data, annotations = dict[int | str, msgspec.Raw](), dict[int | str, list[Annotation]]()
    for k, item in enumerate(read_json(path, list[dict[str, msgspec.Raw]], content)):
        with error_context(f"{path}: annotation {k}"):
            number = decode(item["id"], int | str) if "id" in item else f"annotation {k}"  # type: ignore[arg-type]
            # what is text, and not written by Label Studio itself, is the task's data
            texts = {key: raw for key, raw in item.items() if key not in TIMES and bytes(memoryview(raw)[:1]) == b'"'}
            fields = msgspec.Raw(msgspec.json.encode(texts))
            data.setdefault(number, fields)
            annotations.setdefault(number, []).append(_short_annotation(item))
    return [Task(id=number, data=data[number], annotations=own) for number, own in annotations.items()]


def _short_annotation(item: dict[str, msgspec.Raw]) -> Annotation:
    created, lead = item.get("created_at", NOTHING), item.get("lead_time", NOTHING)
    return Annotation(
        result=[result for name, raw in item.items() for result in _results(name, raw)],
        completed_by=item.get("annotator", NOTHING),
        created_at=decode(created, str) if is_given(created) else None,
        lead_time=decode(lead, float) if is_given(lead) else None,
    )


def _results(name: str, raw: msgspec.Raw) -> list[Result]:
    """The values of a tag that lie on an image."""
    if not _objects(raw):
        return []
    results = []
    for value in decode(raw, list[msgspec.Raw], len(raw)):
        if b'"original_width"' in bytes(value):
            size = decode(value, Sized, len(value))
            results.append(Result("labels", None, name, value, size.original_width, size.original_height))
    return results


IMAGE, BRUSH, POLYGON = "image", "brush", "polygon"
"""What the tags of the labelling configuration are called."""
UNSAID = "score", "ground_truth"
"""Attributes that Label Studio has fields of their own for."""


def write_labelstudio(
    path: Path | str,
    reads: Iterable[Reading],
    kind: Literal["predictions", "annotations"] = "predictions",
    *,
    exact: bool = False,
    rank: str = "rank",
) -> None:
    """Write readings as tasks that Label Studio imports, one task for each image.

    Polygons of one ring stay polygons where Label Studio's percentages hold the same pixels; everything else becomes a
    brush. The project must have the tags of :func:`labelstudio_configuration`.

    Parameters
    ----------
    path : str or Path
        The JSON file.
    reads : iterable of Reading
        What to write.
    kind : {"predictions", "annotations"}
        As predictions, whose ``model_version`` is the rater, or as annotations, which Label Studio takes where it knows
        the raters' e-mail addresses. Unfinished readings are left out of predictions.
    exact : bool
        Whether to write brushes for everything.
    rank : str
        The name of the number that holds the severity rank.
    """
    if kind not in ("predictions", "annotations"):
        raise CallError(f"kind must be 'predictions' or 'annotations'; got {kind!r}")
    tasks = dict[str, list[Reading]]()
    for read in reads:
        tasks.setdefault(read.image, []).append(read)
    writer = _Writer(kind, exact, rank)
    write_document(path, [writer.task(k, image, own) for k, (image, own) in enumerate(tasks.items(), 1)])


def write_labelstudio_tasks(path: Path | str, tasks: Iterable[tuple[str, Mapping[str, object]]]) -> None:
    """Write tasks that nobody has annotated yet, in the order in which they are to be done.

    Label Studio shows what is in the data of a task as columns, by which tasks are filtered and sorted. It takes no
    assignments with tasks: whom they are for is such a column.

    Parameters
    ----------
    path : str or Path
        The JSON file.
    tasks : iterable of (str, mapping)
        The image of each task, as Label Studio finds it, and what else its data hold.
    """
    document = [{"id": k, "data": {IMAGE: image, **data}} for k, (image, data) in enumerate(tasks, start=1)]
    write_document(path, document)


def labelstudio_configuration(reads: Iterable[Reading], rank: str = "rank") -> str:
    """The labelling configuration of a project that takes the tasks of these reads."""
    marks = [mark for read in reads for mark in read.marks]
    labels = sorted({mark.label for mark in marks}, key=natural_key)
    inside = "".join(f"<Label value={quoteattr(label)}/>" for label in labels)
    tags = (("BrushLabels", BRUSH), ("PolygonLabels", POLYGON))
    controls = "".join(f'<{tag} name="{name}" toName="{IMAGE}">{inside}</{tag}>' for tag, name in tags)
    controls_of = {"Number": {rank} if any(mark.rank is not None for mark in marks) else set[str]()}
    controls_of["TextArea"] = {name for mark in marks for name in mark.attributes if name not in UNSAID}
    controls += "".join(
        f'<{tag} name={quoteattr(name)} toName="{IMAGE}" perRegion="true"/>'
        for tag, names in controls_of.items()
        for name in sorted(names)
    )
    return f'<View><Image name="{IMAGE}" value="${IMAGE}"/>{controls}</View>\n'


class _Writer:
    def __init__(self, kind: str, exact: bool, rank: str) -> None:
        self.kind, self.exact, self.rank = kind, exact, rank
        self.annotations = 0

    def task(self, number: int, image: str, reads: Sequence[Reading]) -> dict[str, Any]:
        height, width = flat_shape(reads[0].grid.shape, image, "Label Studio")
        wanted = ("done", "empty") if self.kind == "predictions" else ("done", "empty", "unfinished")
        reads = [read for read in reads if read.status in wanted]
        if self.kind == "predictions":
            entries = [{"model_version": read.rater, "result": self._results(read)} for read in reads]
        else:
            entries = self._annotations(reads)
        # the size is in the data, too: results have it, and an image without any has none
        return {"id": number, "data": {IMAGE: image, "width": width, "height": height}, self.kind: entries}

    def _annotations(self, reads: Sequence[Reading]) -> list[dict[str, Any]]:
        numbers = {}
        for read in reads:
            self.annotations += 1
            numbers[read.rater] = numbers[f"{read.rater}/{read.session}"] = self.annotations
        return [self._annotation(read, numbers) for read in reads]

    def _annotation(self, read: Reading, numbers: dict[str, int]) -> dict[str, Any]:
        true = bool(read.marks) and all(mark.attributes.get("ground_truth") == "true" for mark in read.marks)
        return {
            "id": numbers[f"{read.rater}/{read.session}"],
            "completed_by": {"email": read.rater},
            "result": self._results(read),
            "was_cancelled": read.status == "unfinished",
            "ground_truth": true,
            **({"created_at": read.started} if read.started else {}),
            **({"lead_time": read.seconds} if read.seconds is not None else {}),
            **({"parent_annotation": numbers[read.based_on]} if read.based_on in numbers else {}),
        }

    def _results(self, read: Reading) -> list[dict[str, Any]]:
        return [result for k, mark in enumerate(read.marks) for result in self._region(k, mark, read.grid)]

    def _region(self, number: int, mark: Mark, grid: Grid) -> list[dict[str, Any]]:
        """The shape, and what was said of it, tied by the id."""
        height, width = flat_shape(grid.shape, mark.label, "Label Studio")
        common = {"id": f"region-{number}", "to_name": IMAGE, "image_rotation": 0}
        common |= {"original_width": width, "original_height": height}
        score = score_of(mark.attributes)
        notes: list[dict[str, Any]] = [
            {**common, "type": "textarea", "from_name": name, "value": {"text": [text]}}
            for name, text in mark.attributes.items()
            if name not in (*score, "ground_truth")
        ]
        if mark.rank is not None:
            notes.append({**common, "type": "number", "from_name": self.rank, "value": {"number": mark.rank}})
        return [{**common, **self._shape(mark, grid), **score}, *notes]

    def _shape(self, mark: Mark, grid: Grid) -> dict[str, Any]:
        inside = full_mask(mark.outline, grid.shape)
        points = None if self.exact else _percentages(mark.outline, inside, grid)
        if points is not None:
            value: dict[str, Any] = {"points": points, "closed": True, "polygonlabels": [mark.label]}
            return {"type": "polygonlabels", "from_name": POLYGON, "value": value}
        value = {"format": "rle", "rle": list(encode_brush(inside)), "brushlabels": [mark.label]}
        return {"type": "brushlabels", "from_name": BRUSH, "value": value}


def _percentages(outline: Outline, inside: Mask, grid: Grid) -> list[list[float]] | None:
    """The points of a polygon in percent, where those hold the same pixels when they are read."""
    parts = single_rings(outline)
    if not parts or len(parts) != 1:
        return None
    percent = parts[0].rings[0] * 100 / np.array(grid.shape[::-1], np.float64)
    again = Polygon((in_pixels(percent, grid),))
    return percent.tolist() if (full_mask(again, grid.shape) == inside).all() else None

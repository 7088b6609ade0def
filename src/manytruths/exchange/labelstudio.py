"""Label Studio's JSON.

The regions of a Label Studio annotation: where each lies, what it is called, and what was said of it.

Places are in percent of the image. A rectangle is turned about its upper left corner, an ellipse about its centre,
both in degrees from x to y. Results of one region share its id: its shape, its labels, and choices, numbers, ratings
or texts that were given for it.

Label Studio's short JSON (JSON-MIN): an object an annotation, with the data and the values of each tag in it.

Label Studio's JSON: tasks, each with an image and the annotations of everybody who worked on it.

Several annotations of a task are several raters'. Cancelled ones, and drafts that were never submitted, are
unfinished. Predictions are read where an annotation started from one, or where the file holds nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Annotated, Any, TypeVar
from urllib.parse import unquote, urlsplit

import msgspec
import numpy as np

from ..core.errors import FormatError, GridError, InputError
from ..io import probe
from ..io.files import SUFFIXES
from ..shape.grid import Grid
from .documents import about, image_grid, json_of
from .json_fields import (
    LONGEST_NOTE,
    NOTHING,
    anything,
    decoded,
    given,
    person_of,
    picture_beside,
    points_of,
    ranked,
    text_of,
)
from .outlines import Ellipse, Line, Polygon, WholeRuns, box, finite
from .readings import ImportOptions, Mark, Outline, Reading, Stored
from .run_lengths import brush_runs
from .sources import Source, sources

Byte = Annotated[int, msgspec.Meta(ge=0, le=255)]
LONGEST_BRUSH = 1 << 27
SAID = {
    "choices": "choices", "number": "number", "rating": "rating", "textarea": "text", "taxonomy": "taxonomy",
    "datetime": "datetime",
}  # fmt: skip
"""What is said of a region, and the field that it stands in."""
NO_SHAPES = {*SAID, "relation", "pairwise", "ranker"}
LEFT_OUT = {"keypoint": "points", "vector": "polyline"}


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
        return [name for field in fields if given(field) for name in decoded(field, list[str], LONGEST_NOTE)]

    def kind(self) -> str:
        """What it is by what it has, where the tool does not say."""
        if given(self.rle):
            return "brush"
        if given(self.points):
            return "polygon"
        return "ellipse" if self.radiusX is not None else "rectangle" if self.width is not None else "labels"

    def numbers(self, *names: str) -> list[float]:
        """Numbers that must be there."""
        found = [getattr(self, name) for name in names]
        if None in found:
            raise FormatError(f"has no {names[found.index(None)]}; export it again")
        return found


def grid_of(results: Iterable[Result]) -> Grid | None:
    """The size of the image, as the results have it; None where none of them does."""
    grid: Grid | None = None
    for k, one in enumerate(results):
        if one.original_width is None or one.original_height is None:
            continue
        with about(f"region {k if one.id is None else one.id}"):
            own = image_grid(one.original_width, one.original_height)
            if grid is not None and own.shape != grid.shape:
                sizes = " and ".join(" × ".join(map(str, reversed(shape))) for shape in (grid.shape, own.shape))
                raise GridError(f"its image has {sizes} pixels; draw again on one of them")
            grid = own
    return grid


def marks_of(results: Sequence[Result], grid: Grid, choices: ImportOptions) -> tuple[tuple[Mark, ...], dict[str, int]]:
    """The marks, and what is no area, by kind."""
    marks, left_out = list[Mark](), Counter[str]()
    groups = dict[object, list[Result]]()
    for k, one in enumerate(results):
        groups.setdefault((k,) if one.id is None else one.id, []).append(one)
    for number, (name, group) in enumerate(groups.items()):
        with about(f"region {number if isinstance(name, tuple) else name}"):
            found, kind = _region(group, grid, choices)
            marks += found
            if kind:
                left_out[kind] += 1
    return tuple(marks), dict(left_out)


def _region(group: list[Result], grid: Grid, choices: ImportOptions) -> tuple[list[Mark], str]:
    """The marks of one region, one a label; or the kind that is no area."""
    shapes = [one for one in group if one.type not in NO_SHAPES]
    if not shapes:
        return [], ""
    first = next((one for one in shapes if one.type != "labels"), shapes[0])
    _upright(first)
    kind = first.type.removesuffix("labels")
    value = decoded(first.value, Value, LONGEST_BRUSH) if kind in ("", *_AREAS) and given(first.value) else Value()
    kind = kind or value.kind()
    outline = _outline(kind, value, grid, choices)
    if outline is None:
        return [], "polyline" if kind == "polygon" else LEFT_OUT.get(kind, kind)
    others = [decoded(one.value, Value, LONGEST_BRUSH) for one in shapes if one is not first and given(one.value)]
    names = dict.fromkeys(name for one in (value, *others) for name in one.names())
    rank, notes = ranked(_said(group), choices.rank)
    return [Mark(name, outline, 0, rank, notes) for name in names or [first.from_name or kind]], ""


def _upright(result: Result) -> None:
    if result.image_rotation and result.image_rotation % 360:
        raise FormatError(
            f"was drawn while the image was turned by {result.image_rotation:g} degrees; turn it back in Label Studio, "
            "and export it again"
        )
    if result.item_index:
        raise FormatError("lies on a further page of its task; make a task of every image")


def _said(group: list[Result]) -> dict[str, str]:
    """What was said of a region, by the name of the question."""
    notes = dict[str, str]()
    for one in group:
        if one.type in SAID and given(one.value):
            value = anything(one.value)
            notes[one.from_name or one.type] = text_of(value.get(SAID[one.type]) if isinstance(value, dict) else value)
        elif one.score is not None:
            notes["score"] = text_of(one.score)
    return notes


# -- outlines ----------------------------------------------------------------------------------------


def _outline(kind: str, value: Value, grid: Grid, choices: ImportOptions) -> Outline | None:
    if kind == "polygon" and value.closed is False:
        return None if choices.widen is None else Line.of(_pixels(value, grid), choices.widen)
    draw = _AREAS.get(kind)
    return None if draw is None else draw(value, grid, choices)


def _pixels(value: Value, grid: Grid) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    return in_pixels(points_of(value.points), grid)


def in_pixels(
    points: np.ndarray[tuple[int, ...], np.dtype[np.float64]], grid: Grid
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """(points, 2) in percent, as pixels."""
    with np.errstate(over="ignore"):  # what is too far is refused with the outline
        return np.asarray(points * np.array(grid.shape[::-1], np.float64) / 100)


def _polygon(value: Value, grid: Grid, choices: ImportOptions) -> Outline:
    return Polygon.of([_pixels(value, grid)], choices.rule)


def _rectangle(value: Value, grid: Grid, choices: ImportOptions) -> Outline:
    x, y, width, height = value.numbers("x", "y", "width", "height")
    (x, y), (width, height) = in_pixels(np.array([(x, y), (width, height)]), grid).tolist()
    return Polygon.of(box(x, y, width, height, value.rotation or 0, about="corner").rings, choices.rule)


def _ellipse(value: Value, grid: Grid, choices: ImportOptions) -> Outline:
    x, y, half_width, half_height = value.numbers("x", "y", "radiusX", "radiusY")
    (x, y), (half_width, half_height) = in_pixels(np.array([(x, y), (half_width, half_height)]), grid).tolist()
    finite(value.rotation or 0)
    return Ellipse(x, y, half_width, half_height, value.rotation or 0)


def _brush(value: Value, grid: Grid, choices: ImportOptions) -> Outline:
    if not given(value.rle):
        raise FormatError("is a brush without run lengths; submit it in Label Studio, and export it again")
    data = bytes(decoded(value.rle, list[Byte], LONGEST_BRUSH))
    return WholeRuns.of(brush_runs(data, grid.shape[0] * grid.shape[1]), grid.shape)


_AREAS: dict[str, Callable[[Value, Grid, ImportOptions], Outline]] = {
    "polygon": _polygon,
    "rectangle": _rectangle,
    "ellipse": _ellipse,
    "brush": _brush,
}


T = TypeVar("T")

MOST_SHORT_FIELDS = 1 << 21
TIMES = ("id", "annotator", "annotation_id", "created_at", "updated_at", "lead_time", "agreement")


class Sized(msgspec.Struct):
    original_width: float
    original_height: float


def is_short(data: msgspec.Raw, owner: msgspec.Raw, annotation_id: msgspec.Raw) -> bool:
    """Whether an object is an annotation in itself, and no task."""
    return not given(data) and (given(owner) or given(annotation_id))


def tasks_of(path: Path, task: type[T], annotation: type[Any]) -> list[T]:
    """The same as tasks with annotations; those of one task are one again."""
    with about(path):
        data = path.read_bytes()
        if data.count(b":") > MOST_SHORT_FIELDS:
            raise FormatError(f"holds more than {MOST_SHORT_FIELDS} fields; export it as JSON, in parts")
    found = dict[object, Any]()
    for k, item in enumerate(json_of(path, list[dict[str, msgspec.Raw]], data)):
        with about(f"{path}: annotation {k}"):
            number = decoded(item["id"], int | str) if "id" in item else f"annotation {k}"  # type: ignore[arg-type]
            own: Any = found.setdefault(number, task(id=number, data=_data(item), annotations=[]))  # type: ignore[call-arg]
            own.annotations.append(_annotation(item, annotation))
    return list(found.values())


def _data(item: dict[str, msgspec.Raw]) -> msgspec.Raw:
    """The fields that are no values of tags."""
    kept = {key: raw for key, raw in item.items() if key not in TIMES and bytes(memoryview(raw)[:1]) == b'"'}
    return msgspec.Raw(msgspec.json.encode(kept))


def _annotation(item: dict[str, msgspec.Raw], kind: type[Any]) -> Any:
    made = kind(result=[one for name, raw in item.items() for one in _results(name, raw)])
    made.completed_by = item.get("annotator", NOTHING)
    made.created_at = decoded(item["created_at"], str) if given(item.get("created_at", NOTHING)) else None
    made.lead_time = decoded(item["lead_time"], float) if given(item.get("lead_time", NOTHING)) else None
    return made


def _results(name: str, raw: msgspec.Raw) -> list[Result]:
    """The values of a tag that lie on an image."""
    if not bytes(memoryview(raw)[:64]).translate(None, b" \t\r\n").startswith(b"[{"):
        return []
    found = []
    for value in decoded(raw, list[msgspec.Raw], len(raw)):
        if b'"original_width"' in bytes(value):
            size = decoded(value, Sized, len(value))
            found.append(Result("labels", None, name, value, size.original_width, size.original_height))
    return found


TOOL = "Label Studio"
MOST_FIELDS = 1 << 14
"""Of a task's data."""
PICTURES = (*SUFFIXES, ".webp")
UPLOADED = re.compile("^[0-9a-f]{8}-(?=.)")


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

    def submitted(self) -> list[Annotation]:
        return self.annotations or self.completions or []

    def predicted(self) -> list[Prediction]:
        """Predictions themselves; some exports have their numbers only."""
        embedded = [decoded(one.prediction, Prediction) for one in self.submitted() if _object(one.prediction)]
        whole = decoded(self.predictions, list[Prediction], len(self.predictions)) if _objects(self.predictions) else []
        return list(
            {(one.id, one.model_version): one for one in (*embedded, *whole) if one.result is not None}.values()
        )

    def drafted(self) -> list[Draft]:
        """Drafts of annotations that were never submitted."""
        found = decoded(self.drafts, list[Draft], len(self.drafts)) if _objects(self.drafts) else []
        return [draft for draft in found if not given(draft.annotation)]


def _object(raw: msgspec.Raw) -> bool:
    return bytes(memoryview(raw)[:1]) == b"{"


def _objects(raw: msgspec.Raw) -> bool:
    return bytes(memoryview(raw)[:64]).translate(None, b" \t\r\n").startswith(b"[{")


def read_labelstudio(paths: Sequence[Path | str] | Path | str, choices: ImportOptions | None = None) -> list[Reading]:
    """Every rater's look at every image of Label Studio's exports (JSON, or JSON-MIN).

    Label Studio writes the size of an image with what was marked on it, so that of an image without marks the picture
    itself must say it: it is looked for beside the file, or in ``choices.images``.
    """
    several = [paths] if isinstance(paths, Path | str) else paths
    return [read for source in sources(several, (".json",)) for read in _reads(source, choices or ImportOptions())]


def _reads(source: Source, choices: ImportOptions) -> list[Reading]:
    tasks = _tasks(source.path)
    only_predictions = not any(task.submitted() or task.drafted() for task in tasks)
    with about(source.path):
        people = _people(tasks)
        found = []
        for k, task in enumerate(tasks):
            with about(f"task {k if task.id is None else task.id}"):
                place = _Place(source, choices, choices.images or source.path.parent, people)
                found += _of_task(task, place, only_predictions)
        return _without_prefixes(found)


def _without_prefixes(reads: list[Reading]) -> list[Reading]:
    """Cases called as images were before Label Studio put eight digits before their names, where they stay apart."""
    plain = {read.image: UPLOADED.sub("", PurePosixPath(read.image).stem) for read in reads}
    often = Counter(plain.values())
    return [
        replace(read, case=plain[read.image])
        if not read.case and often[plain[read.image]] == 1 and plain[read.image] != PurePosixPath(read.image).stem
        else read
        for read in reads
    ]


def _tasks(path: Path) -> list[Task]:
    with about(path), open(path, "rb") as stream:
        single = stream.read(4096).lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    tasks = [json_of(path, Task)] if single else json_of(path, list[Task])
    if tasks and all(is_short(task.data, task.owner, task.annotation_id) for task in tasks):
        return tasks_of(path, Task, Annotation)
    return tasks


def _people(tasks: Sequence[Task]) -> dict[str, str]:
    """By number, the names of people; some annotations have both, others the number alone."""
    found = dict[str, str]()
    for task in tasks:
        for one in task.submitted():
            if _object(one.completed_by):
                number = text_of(decoded(one.completed_by, dict[str, object], 1 << 20).get("id"))
                found[number] = person_of(one.completed_by)
    return found


# -- tasks -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Place:
    """What the reads of a task have in common, and where they come from."""

    source: Source
    choices: ImportOptions
    folder: Path
    people: dict[str, str]

    def rater(self, raw: msgspec.Raw) -> str:
        said = person_of(raw)
        return self.source.rater(self.people.get(said, said))


def _of_task(task: Task, place: _Place, only_predictions: bool) -> list[Reading]:
    annotations, predictions, drafts = task.submitted(), task.predicted(), task.drafted()
    parents = {one.parent_prediction for one in annotations} | {
        decoded(one.prediction, Prediction).id for one in annotations if _object(one.prediction)
    }
    predictions = [one for one in predictions if only_predictions or (one.id is not None and one.id in parents)]
    if not (annotations or predictions or drafts):
        return []
    fields = _fields(task.data)
    image = _image(fields)
    picture = picture_beside(place.folder, image)
    everything = [one.result or [] for one in annotations] + [one.result or [] for one in predictions]
    everything += [one.result or [] for one in drafts]
    grid = grid_of(result for results in everything for result in results) or _size(fields, picture, image)
    source = place.source
    blank = Reading(
        image, "", grid, tool=TOOL, subject=source.fields.get("subject", ""), case=source.fields.get("case", ""),
        session=source.fields.get("session", ""), picture=picture, source=str(source.path),
    )  # fmt: skip
    models = {one.id: _model(one) for one in predictions}
    reads = [_annotated(one, annotations, models, blank, place) for one in annotations]
    reads += [_predicted(one, blank, place.choices) for one in predictions]
    busy = {read.rater for read in reads}
    drafted = [_drafted(one, blank, place) for one in drafts]
    return reads + [read for read in drafted if read.rater not in busy]


def _annotated(
    one: Annotation, others: list[Annotation], models: dict[int | str | None, str], blank: Reading, place: _Place
) -> Reading:
    with about(f"annotation {one.id}" if one.id is not None else "an annotation"):
        read = _with(blank, one.result or [], place.choices)
        if one.was_cancelled or one.skipped:
            read = replace(read, status="unfinished")
        if one.ground_truth:
            read = replace(read, marks=tuple(_true(mark) for mark in read.marks))
        rater = place.rater(one.completed_by)
        parent = _parent(one, rater, others, models, place)
        return replace(read, rater=rater, based_on=parent, started=one.created_at or "", seconds=one.lead_time)


def _true(mark: Mark) -> Mark:
    return replace(mark, attributes={**mark.attributes, "ground_truth": "true"})


def _predicted(one: Prediction, blank: Reading, choices: ImportOptions) -> Reading:
    with about(f"prediction {one.id}" if one.id is not None else "a prediction"):
        read = _with(blank, one.result or [], choices)
        return replace(read, rater=_model(one), started=one.created_at or "", automatic=True)


def _drafted(one: Draft, blank: Reading, place: _Place) -> Reading:
    """A draft may hold half a stroke; then it is unfinished without marks."""
    try:
        read = _with(blank, one.result or [], place.choices)
    except InputError:
        read = blank
    return replace(
        read, rater=place.rater(one.user), status="unfinished", started=one.created_at or "", seconds=one.lead_time
    )


def _with(blank: Reading, results: Sequence[Result], choices: ImportOptions) -> Reading:
    marks, left_out = marks_of(results, blank.grid, choices)
    return replace(blank, marks=marks, left_out=left_out, status="done" if marks or left_out else "empty")


def _model(one: Prediction) -> str:
    return (one.model_version or "").strip() or "model"


def _parent(
    one: Annotation, rater: str, others: list[Annotation], models: dict[int | str | None, str], place: _Place
) -> str:
    """Whose marks an annotation started from."""
    inside = decoded(one.prediction, Prediction).id if _object(one.prediction) else None
    number = one.parent_prediction if one.parent_prediction is not None else inside
    if number is not None:
        return models.get(number, f"prediction {number}")
    if one.parent_annotation is None:
        return ""
    parent = next((other for other in others if other.id == one.parent_annotation), None)
    if parent is None:
        return f"annotation {one.parent_annotation}"
    name = place.rater(parent.completed_by)
    own = sorted((o.created_at or "", k) for k, o in enumerate(others) if place.rater(o.completed_by) == name)
    session = own.index((parent.created_at or "", others.index(parent))) + 1
    # somebody's earlier reading is a session of his, numbered as they are gathered
    return f"{name}/{session}" if name == rater or len(own) > 1 else name


# -- images ------------------------------------------------------------------------------------------


def _fields(raw: msgspec.Raw) -> dict[str, msgspec.Raw]:
    if not _object(raw):
        raise FormatError("has no data; export it as JSON with its data")
    if bytes(raw).count(b":") > MOST_FIELDS:
        raise FormatError("has too much data; keep the image alone")
    return decoded(raw, dict[str, msgspec.Raw], len(raw))


def _image(fields: dict[str, msgspec.Raw]) -> str:
    """What the image is called: the only value that looks like one, or that under ``image``."""
    texts = {key: decoded(raw, str, len(raw)) for key, raw in fields.items() if bytes(memoryview(raw)[:1]) == b'"'}
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
    if given(fields.get("width", NOTHING)) and given(fields.get("height", NOTHING)):
        return image_grid(decoded(fields["width"], float), decoded(fields["height"], float))
    if picture is not None:
        height, width = probe(picture.path).shape[:2]
        return image_grid(width, height)
    raise FormatError(
        f"nobody marked anything on {PurePosixPath(image).name}, so that its size is not in the file; put the image "
        "beside the file, or name the folder of the images (--images)"
    )

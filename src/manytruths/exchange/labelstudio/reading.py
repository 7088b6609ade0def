"""Label Studio's JSON: tasks, each with an image and the annotations of everybody who worked on it.

Several annotations of a task are several raters'. Cancelled ones, and drafts that were never submitted, are
unfinished. Predictions are read where an annotation started from one, or where the file holds nothing else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from urllib.parse import unquote, urlsplit

import msgspec

from ...core.errors import FormatError, InputError
from ...io import probe
from ...io.files import SUFFIXES
from ...shape.grid import Grid
from ..documents import NOTHING, decoded, given, person_of, picture_beside, text_of
from ..opening import about, image_grid, json_of
from ..reads import Choices, Mark, Read, Stored
from ..sources import Source, sources
from .minimal import is_short, tasks_of
from .regions import Result, grid_of, marks_of

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


def read_labelstudio(paths: Sequence[Path | str] | Path | str, choices: Choices | None = None) -> list[Read]:
    """Every rater's look at every image of Label Studio's exports (JSON, or JSON-MIN).

    Label Studio writes the size of an image with what was marked on it, so that of an image without marks the picture
    itself must say it: it is looked for beside the file, or in ``choices.images``.
    """
    several = [paths] if isinstance(paths, Path | str) else paths
    return [read for source in sources(several, (".json",)) for read in _reads(source, choices or Choices())]


def _reads(source: Source, choices: Choices) -> list[Read]:
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


def _without_prefixes(reads: list[Read]) -> list[Read]:
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
    choices: Choices
    folder: Path
    people: dict[str, str]

    def rater(self, raw: msgspec.Raw) -> str:
        said = person_of(raw)
        return self.source.rater(self.people.get(said, said))


def _of_task(task: Task, place: _Place, only_predictions: bool) -> list[Read]:
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
    blank = Read(
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
    one: Annotation, others: list[Annotation], models: dict[int | str | None, str], blank: Read, place: _Place
) -> Read:
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


def _predicted(one: Prediction, blank: Read, choices: Choices) -> Read:
    with about(f"prediction {one.id}" if one.id is not None else "a prediction"):
        read = _with(blank, one.result or [], choices)
        return replace(read, rater=_model(one), started=one.created_at or "", automatic=True)


def _drafted(one: Draft, blank: Read, place: _Place) -> Read:
    """A draft may hold half a stroke; then it is unfinished without marks."""
    try:
        read = _with(blank, one.result or [], place.choices)
    except InputError:
        read = blank
    return replace(
        read, rater=place.rater(one.user), status="unfinished", started=one.created_at or "", seconds=one.lead_time
    )


def _with(blank: Read, results: Sequence[Result], choices: Choices) -> Read:
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

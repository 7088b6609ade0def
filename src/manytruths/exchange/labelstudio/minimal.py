"""Label Studio's short JSON (JSON-MIN): an object an annotation, with the data and the values of each tag in it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec

from ...core.errors import FormatError
from ..documents import NOTHING, decoded, given
from ..opening import about, json_of
from .regions import Result

T = TypeVar("T")

MOST_FIELDS = 1 << 21
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
        if data.count(b":") > MOST_FIELDS:
            raise FormatError(f"holds more than {MOST_FIELDS} fields; export it as JSON, in parts")
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

"""Fields that the JSON formats share: points, notes, ranks, people, and the pictures beside a file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..core.errors import FormatError, InputError
from ..io import atomic
from ..io.documents import LONGEST_NOTE, decode, decode_any, is_given
from ..shape.polygons import MOST_POINTS, check_point_count
from .outlines import Polygon
from .readings import Mask, Outline, Reading, Status, Stored, parse_rank

PERSON = ("email", "username", "name", "id")


def points_of(raw: msgspec.Raw) -> NDArray[np.float64]:
    """(points, 2) of a list of x and y."""
    if not is_given(raw):
        raise FormatError("has no points; draw it again, or delete it")
    points = decode(raw, list[tuple[float, float]])
    check_point_count(len(points))
    return np.array(points, np.float64).reshape(len(points), 2)


def rings_of(raw: msgspec.Raw) -> list[NDArray[np.float64]]:
    """Rings of a list of lists x, y, x, y, …, or of one such list."""
    single = bytes(memoryview(raw)[:99]).translate(None, b" \t\r\n")[1:2] not in (b"[", b"]")
    flat = [decode(raw, list[float])] if single else decode(raw, list[list[float]])
    if sum(map(len, flat)) > 2 * MOST_POINTS:
        check_point_count(sum(map(len, flat)) // 2)
    odd = next((k for k, ring in enumerate(flat) if len(ring) % 2), None)
    if odd is not None:
        raise FormatError(f"ring {odd} has {len(flat[odd])} numbers, not pairs of x and y; export it again")
    return [np.array(ring, np.float64).reshape(-1, 2) for ring in flat]


def notes_of(raw: msgspec.Raw) -> dict[str, str]:
    """What was said of a thing, by name, all of it as text."""
    if not is_given(raw):
        return {}
    return {name: text_of(value) for name, value in decode(raw, dict[str, Any], LONGEST_NOTE).items()}


def text_of(value: Any) -> str:
    """A value as it would be written by hand."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1 << 53:
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and len(value) == 1:
        return text_of(value[0])
    return "" if value is None else msgspec.json.encode(value).decode()


def person_of(raw: msgspec.Raw) -> str:
    """Whose it is: a name, a number, or an object with one of both; empty where it is not said."""
    value: Any = decode_any(raw) if is_given(raw) else None
    if not isinstance(value, dict):
        return text_of(value).strip()
    return next((text_of(value[key]).strip() for key in PERSON if value.get(key) not in (None, "")), "")


def split_rank(notes: Mapping[str, str], name: str) -> tuple[int | None, dict[str, str]]:
    """The rank that stands under a name, and everything else."""
    rank, rest = None, dict[str, str]()
    for key, text in notes.items():
        if key.strip().casefold() != name.strip().casefold():
            rest[key] = text
        elif text.strip():
            rank = parse_rank(text.strip(), key)
    return rank, rest


def score_of(notes: Mapping[str, str]) -> dict[str, float]:
    """The score, where there is one that is a number, as a field to write."""
    try:
        score = float(notes["score"])
    except (KeyError, ValueError):
        return {}
    return {"score": score} if math.isfinite(score) else {}


def picture_beside(folder: Path, name: str) -> Stored | None:
    """The picture of that name inside a folder, or in its ``images``; never one outside of it."""
    if not name or "\0" in name:
        return None
    plain = PurePosixPath(name.replace("\\", "/"))
    for place in (plain, PurePosixPath("images") / plain.name, PurePosixPath(plain.name)):
        try:
            path = (folder / place).resolve()
            if path.is_relative_to(folder.resolve()) and path.is_file():
                return Stored(folder / place)
        except (OSError, ValueError):
            continue
    return None


def full_mask(outline: Outline, shape: tuple[int, ...]) -> Mask:
    """The outline on the whole image."""
    window, inside = outline.pixels(shape)
    whole = np.zeros(shape, bool)
    whole[window] = inside
    return whole


def single_rings(outline: Outline) -> list[Polygon] | None:
    """The polygons of one ring each that an outline is made of; None where it is anything else."""
    parts = getattr(outline, "parts", (outline,))
    return [*parts] if parts and all(isinstance(part, Polygon) and len(part.rings) == 1 for part in parts) else None


def flat_shape(shape: tuple[int, ...], image: str, tool: str) -> tuple[int, int]:
    """Height and width of an image; volumes have other formats."""
    if len(shape) != 2:
        raise InputError(f"{image}: has {len(shape)} axes, and {tool} takes two; export it as .seg.nrrd or NIfTI")
    return shape[0], shape[1]


class ReadingFields(msgspec.Struct):
    """What manytruths adds to the files of tools that do not say it: who read an image, and how far."""

    rater: str = ""
    status: Status | None = None
    session: str = ""
    based_on: str = ""
    tool: str = ""
    started: str = ""
    seconds: float | None = None


def reading_fields(read: Reading, rater: str) -> dict[str, Any]:
    """The same of a reading, as a file holds it; ``rater`` is the name of the field that holds the rater."""
    names = ("status", "session", "based_on", "tool", "started", "seconds")
    fields = {rater: read.rater, **{name: getattr(read, name) for name in names}}
    return {name: value for name, value in fields.items() if value not in ("", None)}


def write_document(path: Path | str, value: object) -> None:
    """A JSON file, whole or not at all; without line ends, which would make masks several times as long."""
    with atomic(path) as temporary:
        temporary.write_bytes(msgspec.json.encode(value))

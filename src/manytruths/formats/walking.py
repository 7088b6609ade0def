"""Go down a template folder by folder, looking only into those that can match."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..errors import StudyError
from .pattern import Segment

_MOST_COMPARED = 1000

Complain = Callable[[StudyError], None]
"""What is done with a problem that does not keep the other files from being found: raise it, or keep it."""


@dataclass(frozen=True)
class Place:
    """A file or folder on the way, and what the placeholders passed so far stand for."""

    path: Path
    fields: dict[str, str]


def step(place: Place, segment: Segment, last: bool, complain: Complain) -> list[Place]:
    """The places that one more segment leads to: folders, or files where it is the last."""
    literal = _literal(place, segment)
    if literal is not None:
        return [Place(literal, place.fields)] if _fits(literal, last, complain) else []
    return [
        Place(place.path / name, fields)
        for name in _names(place.path)
        if segment.is_hidden or not name.startswith(".")
        for fields in segment.readings(name, place.fields)
        if _fits(place.path / name, last, complain)
    ]


def _literal(place: Place, segment: Segment) -> Path | None:
    """The one path that the segment can mean, if it leaves nothing open."""
    if segment.is_known(place.fields):
        return place.path / segment.fill(place.fields)
    # A folder may have a star in its name.
    if not segment.fields and os.path.lexists(place.path / segment.text):
        return place.path / segment.text
    return None


def _fits(path: Path, last: bool, complain: Complain) -> bool:
    # os.path says no where pathlib raises: on folders that may not be entered.
    if not last:
        return os.path.isdir(path)
    if os.path.isdir(path):
        problem = f"{path}: is a folder where the template wants a file; move it away or correct the template"
        complain(StudyError(problem))
        return False
    # a link that leads nowhere is there, and reading it says what is wrong
    return os.path.lexists(path)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise StudyError(f"{folder}: cannot be listed: {error.strerror}; check its rights") from error


def explain_nothing(places: list[Place], segment: Segment) -> str:
    """Why a segment leads nowhere from these folders."""
    literal = _literal(places[0], segment)
    if literal is not None:
        others = f", nor is one in {len(places) - 1} other folders" if len(places) > 1 else ""
        return f"there is no {str(literal)!r}{others}; correct the path"
    filled = [(place, names) for place in places if (names := _visible(place.path))]
    if not filled:
        return f"{places[0].path} is an empty folder; correct the path"
    place, names = filled[0]
    near = difflib.get_close_matches(segment.text, names[:_MOST_COMPARED], 3, 0)
    return f"{place.path} holds {len(names)} names, none like {segment.text!r}; nearest: {', '.join(near)}"


def _visible(folder: Path) -> list[str]:
    return [name for name in _names(folder) if not name.startswith(".")]

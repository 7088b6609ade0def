"""Go down a template folder by folder, looking only into those that can match."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import StudyError, find_name_fault, one_line
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
        return [Place(literal, place.fields)] if _fits(literal, last, complain, listed=False) else []
    return [
        Place(place.path / name, fields)
        for name in _listed(place.path, complain)
        if segment.is_hidden or not name.startswith(".")
        for fields in readings(place, segment, name, complain)
        if _fits(place.path / name, last, complain, listed=True)
    ]


def _listed(folder: Path, complain: Complain) -> list[str]:
    """What is in a folder; nothing, with a complaint, where it cannot be listed, or not be entered."""
    try:
        names = _names(folder)
        # a folder that may be read and not be entered has names, and nothing behind them
        if names:
            os.lstat(folder / names[0])
    except StudyError as error:
        complain(error)
        return []
    except PermissionError as error:
        complain(StudyError(f"{folder}: cannot be entered: {error.strerror}; check its rights"))
        return []
    except OSError:
        pass  # it vanished meanwhile: said of each file
    return names


def readings(place: Place, segment: Segment, name: str, complain: Complain) -> list[dict[str, str]]:
    """All ways to read a name; none, with a complaint, where it is no text."""
    try:
        found = segment.readings(name, place.fields)
    except StudyError as error:
        # the template's fault, and not of this name alone
        raise StudyError(f"{place.path / name}: {error}") from None
    fault = find_name_fault(name) if found else ""
    if fault:
        # as it would be typed: bytes that are no text cannot be written
        complain(StudyError(one_line(f"{place.path / name}: its name {fault}; rename it")))
        return []
    return found


def _literal(place: Place, segment: Segment) -> Path | None:
    """The one path that the segment can mean, if it leaves nothing open."""
    if segment.is_known(place.fields):
        return place.path / segment.fill(place.fields)
    # A folder may have a star in its name.
    if not segment.fields and os.path.lexists(place.path / segment.text):
        return place.path / segment.text
    return None


def _fits(path: Path, last: bool, complain: Complain, *, listed: bool) -> bool:
    """Whether there is what the template wants; ``listed`` where its name was just met."""
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as error:
        return _fits_all_the_same(path, last, complain, listed, error)
    if last and is_folder:
        problem = f"{path}: is a folder where the template wants a file; move it away or correct the template"
        complain(StudyError(problem))
    return is_folder != last


def _fits_all_the_same(path: Path, last: bool, complain: Complain, listed: bool, error: OSError) -> bool:
    """Whether what cannot be looked at counts: a file does, since reading it says what is wrong."""
    there = os.path.lexists(path)
    if last and there:
        return True
    nowhere = isinstance(error, FileNotFoundError | NotADirectoryError)
    if not nowhere or there:
        what = "is a link that leads nowhere" if there and nowhere else f"cannot be reached: {error.strerror}"
        complain(
            StudyError(
                f"{path}: {what}; {'mend or remove it' if there and nowhere else 'check the path and its rights'}"
            )
        )
    elif listed:
        complain(StudyError(f"{path}: vanished while files were looked for; let nobody change them, and run it again"))
    return False


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

"""Paths with placeholders: which files there are, and what their names say."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core.errors import StudyError, find_name_fault, raise_error
from .arrays import members
from .location import SUFFIXES, Location
from .opening import check_file, guarded
from .pattern import Segment
from .reading import first_axis
from .walking import Complain, Place, explain_nothing, readings, step

_INDEX = re.compile(r"(?P<rest>.+)\[(?:\{(?P<field>\w+)\}|(?P<number>\d+))\]", re.DOTALL)
_ARCHIVE = re.compile(r"(?P<path>.*?\.npz)/(?P<member>.+)", re.DOTALL)

LONGEST = 4096
"""Signs of a template."""


@dataclass(frozen=True)
class Found:
    """A file, array or index that a template matches, and what its placeholders stand for there."""

    location: Location
    fields: dict[str, str]


class Template:
    """A path with placeholders.

    ``masks/{rater}/{case}.png`` names files, ``masks.npz/{case}`` arrays of an archive,
    ``masks/{case}.npy[{rater}]`` indices along the first axis of an array. ``*`` stands for anything within a
    name, and a final ``.*`` for any ending that can be read.

    >>> template = Template("masks/{rater}/{case}.png", require=("rater", "case"))
    >>> template.fields
    ('rater', 'case')
    >>> print(template.fill(rater="A", case="p01"))
    masks/A/p01.png
    """

    def __init__(self, text: str | Path, require: Sequence[str] = ()) -> None:
        self.text = str(text)
        _check_text(self.text)
        rest = self.text
        index = _INDEX.fullmatch(rest)
        self._index_field = index["field"] if index else None
        self._index = int(index["number"]) if index and index["number"] else None
        rest = index["rest"] if index else rest
        archive = _ARCHIVE.fullmatch(rest)
        self._member = Segment.of(archive["member"]) if archive else None
        path = archive["path"] if archive else rest
        self._root = Path("/") if path.startswith("/") else Path()
        parts = [part for part in path.split("/") if part not in ("", ".")]
        self._segments = tuple(Segment.of(part, part is parts[-1]) for part in parts)
        self.fields = self._all_fields()
        self._check(require)

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def find(self, complain: Complain = raise_error) -> list[Found]:
        """Everything that matches, in natural order (p2 before p10).

        ``complain`` gets every folder where a file should be, every name that reads in two ways and every second file
        for the same thing; they are raised by default, and left out otherwise.
        """
        met: list[StudyError] = []
        try:
            found = self._find(met.append)
        except StudyError as error:
            raise (met or [error])[0] from None
        for problem in met:
            complain(problem)
        if met and not found:
            raise met[0]
        return found

    def _find(self, complain: Complain) -> list[Found]:
        places = self._walk({}, complain)
        readings: dict[Location, list[dict[str, str]]] = {}
        for location, fields in self._inside(places, complain):
            known = readings.setdefault(location, [])
            if fields not in known:
                known.append(fields)
        found = [
            Found(location, fields[0])
            for location, fields in readings.items()
            if self._one_reading(location, fields, complain)
        ]
        found.sort(key=lambda one: (_natural(str(one.location)), str(one.location)))
        return self._without_doubles(found, complain)

    def fill(self, **fields: str) -> Location:
        """Where the mask or image with these fields is; only a wildcard needs to look at the disk."""
        missing = [name for name in self.fields if name not in fields]
        if missing:
            wanted = " and ".join(f"{{{name}}}" for name in missing)
            raise StudyError(f"template {self.text!r} needs {wanted}, not known here; take it out of the template")
        for name in self.fields:
            _check_value(name, fields[name])
        index = self._index if self._index_field is None else _as_index(self._index_field, fields)
        member = None if self._member is None else self._member.fill(fields)
        return Location(self._path(fields), member, index)

    def _all_fields(self) -> tuple[str, ...]:
        segments = [*self._segments, *([self._member] if self._member else [])]
        names = [name for segment in segments for name in segment.fields]
        if self._index_field is not None:
            names += Segment.of(f"{{{self._index_field}}}").fields
        return tuple(dict.fromkeys(names))

    def _check(self, require: Iterable[str]) -> None:
        missing = [name for name in require if name not in self.fields]
        if not self._segments:
            raise StudyError(f"template {self.text!r} names no file; write a path such as masks/{{rater}}/{{case}}.png")
        if missing:
            wanted = " and no ".join(f"{{{name}}}" for name in missing)
            raise StudyError(
                f"template {self.text!r} has no {wanted}; put it where the name stands in the path, "
                "as in masks/{rater}/{case}.png"
            )
        if self._member is not None and self._member.has_wildcard:
            raise StudyError(f"template {self.text!r} has a * inside an archive; name the arrays by placeholders")

    def _walk(self, known: Mapping[str, str], complain: Complain = raise_error) -> list[Place]:
        places = [Place(self._root, dict(known))]
        for number, segment in enumerate(self._segments):
            last = number == len(self._segments) - 1
            reached = [new for place in places for new in step(place, segment, last, complain)]
            if not reached:
                raise StudyError(f"template {self.text!r} matches nothing: {explain_nothing(places, segment)}")
            places = reached
        return places

    def _inside(self, places: list[Place], complain: Complain) -> Iterable[tuple[Location, dict[str, str]]]:
        inside = [pair for place in places for pair in self._arrays(place, complain)]
        if not inside:
            shown = members(places[0].path)[:3]
            raise StudyError(
                f"template {self.text!r} matches nothing: {places[0].path} holds no array like "
                f"{self._member.text if self._member else ''!r}, but {', '.join(shown) or 'none at all'}"
            )
        indexed = [pair for location, fields in inside for pair in self._indices(location, fields)]
        if not indexed:
            raise StudyError(
                f"template {self.text!r} matches nothing: no index equals the other {{{self._index_field}}}"
            )
        return indexed

    def _arrays(self, place: Place, complain: Complain) -> list[tuple[Location, dict[str, str]]]:
        if self._member is None:
            return [(Location(place.path), place.fields)]
        archive = Location(place.path)
        with guarded(archive):
            check_file(archive)
            names = members(place.path)
        return [
            (Location(place.path, name), fields)
            for name in names
            for fields in readings(place, self._member, name, complain)
        ]

    def _indices(self, location: Location, fields: dict[str, str]) -> list[tuple[Location, dict[str, str]]]:
        at = location.path, location.member
        if self._index_field is None:
            return [(Location(*at, self._index), fields)]
        wanted = fields.get(self._index_field)
        return [
            (Location(*at, number), fields | {self._index_field: str(number)})
            for number in range(first_axis(location))
            if wanted in (None, str(number))
        ]

    def _one_reading(self, location: Location, readings: list[dict[str, str]], complain: Complain) -> bool:
        if len(readings) > 1:
            first, second = (", ".join(f"{k} {v!r}" for k, v in reading.items()) for reading in readings[:2])
            problem = (
                f"{location}: template {self.text!r} reads it as {first} or as {second}; "
                "separate the placeholders by a sign that is in no name, or by folders"
            )
            complain(StudyError(problem))
        return len(readings) == 1

    def _without_doubles(self, found: list[Found], complain: Complain) -> list[Found]:
        seen: dict[tuple[tuple[str, str], ...], Found] = {}
        for one in found:
            first = seen.setdefault(tuple(sorted(one.fields.items())), one)
            if first is not one:
                problem = (
                    f"template {self.text!r} takes {first.location} and {one.location} for the same thing; "
                    "remove one, or write the ending instead of *"
                )
                complain(StudyError(problem))
        return list(seen.values())

    def _path(self, fields: Mapping[str, str]) -> Path:
        *folders, name = self._segments
        if all(segment.is_known(fields) for segment in self._segments):
            return self._root.joinpath(*(segment.fill(fields) for segment in self._segments))
        if name.ends_in_suffix and all(segment.is_known(fields) for segment in folders):
            stem = self._root.joinpath(*(segment.fill(fields) for segment in folders), name.fill(fields)[:-1])
            paths = [stem.with_name(stem.name + suffix) for suffix in SUFFIXES]
            paths = [path for path in paths if os.path.isfile(path)]
        else:
            paths = []
        paths = paths or list(dict.fromkeys(place.path for place in self._walk(fields)))
        if len(paths) > 1:
            raise StudyError(
                f"template {self.text!r} takes {paths[0]} and {paths[1]} for the same thing; "
                "remove one, or write the ending instead of *"
            )
        return paths[0]


def _check_text(text: str) -> None:
    if len(text) > LONGEST:
        raise StudyError(f"template {text[:60]!r}… has {len(text):,} signs, more than any path; correct it")
    if fault := find_name_fault(text):
        raise StudyError(f"template {text!r} {fault}; rename the folder, or correct the template")


def _check_value(name: str, value: str) -> None:
    if not value or "/" in value or "\0" in value or value in (".", ".."):
        raise StudyError(f"{name} {value!r} cannot stand in a path; give it a name without slashes")


def _as_index(name: str, fields: Mapping[str, str]) -> int:
    if not (fields[name].isascii() and fields[name].isdigit()):
        raise StudyError(f"{name} {fields[name]!r} is no index of an array; in brackets stands 0, 1, 2, …")
    return int(fields[name])


def _natural(text: str) -> list[str | int]:
    return [int(part) if number % 2 else part for number, part in enumerate(re.split(r"(\d+)", text))]

"""Paths with placeholders: which files there are, and what their names say.

A template is split at its slashes into segments of text, placeholders and wildcards. Folders are visited segment by
segment, only where they can match; a name that can be read in several ways is refused.
"""

from __future__ import annotations

import difflib
import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from ..core.errors import StudyError, find_name_fault, one_line, raise_error
from .arrays import array_names
from .files import SLIDES, SUFFIXES, Location, check_file, format_errors
from .images import first_axis_length
from .zarr_store import is_store, member_names

FIELDS = ("rater", "case", "subject", "label", "session", "algorithm", "reference", "sample")
"""Placeholders that a template may hold."""
LONGEST = 4096
"""Characters of a template."""
MOST_TOKENS = 8
"""Most stars, or placeholders, between two slashes."""
MOST_STATES = 10_000
"""Most steps to read one name."""
_MOST_COMPARED = 1000
_TOKENS = re.compile(r"(?P<brace>\{\{|\}\})|\{(?P<field>[^{}]*)\}|(?P<star>\*)|(?P<text>[^{}*]+)|(?P<stray>[{}])")
_INDEX = re.compile(r"(?P<rest>.+)\[(?:\{(?P<field>\w+)\}|(?P<number>\d+))\]", re.DOTALL)
_ARCHIVE = re.compile(r"(?P<path>.*?\.(?:npz|zarr))/(?P<member>.+)", re.DOTALL)
Complain = Callable[[StudyError], None]
"""Takes a problem that does not keep the other files from being found: raises it, or collects it."""


@dataclass(frozen=True)
class TemplateMatch:
    """A file, array or index that a template matches, and the values of the placeholders."""

    location: Location
    fields: dict[str, str]


class Template:
    """A path with placeholders.

    ``masks/{rater}/{case}.png`` names files, ``masks.npz/{case}`` arrays of an archive,
    ``slides/{case}.zarr/labels/{rater}`` those of a Zarr store,
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
        if len(self.text) > LONGEST:
            shown = f"template {self.text[:60]!r}… has {len(self.text):,} characters"
            raise StudyError(f"{shown}, more than any path; correct it")
        if fault := find_name_fault(self.text):
            raise StudyError(f"template {self.text!r} {fault}; rename the folder, or correct the template")
        index = _INDEX.fullmatch(self.text)
        self._index_field = index["field"] if index else None
        self._index = int(index["number"]) if index and index["number"] else None
        rest = index["rest"] if index else self.text
        archive = _ARCHIVE.fullmatch(rest)
        self._member = Segment.of(archive["member"]) if archive else None
        path = archive["path"] if archive else rest
        self._root = Path("/") if path.startswith("/") else Path()
        parts = [part for part in path.split("/") if part not in ("", ".")]
        self._segments = tuple(Segment.of(part, part is parts[-1]) for part in parts)
        segments = [*self._segments, *([self._member] if self._member else [])]
        segments += [Segment.of(f"{{{self._index_field}}}")] if self._index_field is not None else []
        self.fields = tuple(dict.fromkeys(name for segment in segments for name in segment.fields))
        self._check(require)

    def __repr__(self) -> str:
        return f"Template({self.text!r})"

    def find(self, complain: Complain = raise_error) -> list[TemplateMatch]:
        """Everything that matches, in natural order (p2 before p10).

        ``complain`` gets every folder where a file should be, every name that can be read in two ways and every second
        file for the same thing. By default they are raised; otherwise they are left out.
        """
        problems: list[StudyError] = []
        try:
            matches = self._find(problems.append)
        except StudyError as error:
            raise (problems or [error])[0] from None
        for problem in problems:
            complain(problem)
        if problems and not matches:
            raise problems[0]
        return matches

    def _find(self, complain: Complain) -> list[TemplateMatch]:
        places = self._walk({}, complain)
        readings: dict[Location, list[dict[str, str]]] = {}
        for location, fields in self._inside(places, complain):
            known = readings.setdefault(location, [])
            if fields not in known:
                known.append(fields)
        matches = [
            TemplateMatch(location, fields[0])
            for location, fields in readings.items()
            if self._one_reading(location, fields, complain)
        ]
        matches.sort(key=lambda match: (_natural(str(match.location)), str(match.location)))
        return self._without_doubles(matches, complain)

    def fill(self, **fields: str) -> Location:
        """Where the mask or image with these fields is; only a wildcard needs to look at the disk."""
        missing = [name for name in self.fields if name not in fields]
        if missing:
            wanted = " and ".join(f"{{{name}}}" for name in missing)
            raise StudyError(f"template {self.text!r} needs {wanted}, not known here; take it out of the template")
        for name in self.fields:
            if fields[name] in ("", ".", "..") or set(fields[name]) & {"/", "\0"}:
                raise StudyError(f"{name} {fields[name]!r} cannot stand in a path; give it a name without slashes")
        index = self._index if self._index_field is None else _as_index(self._index_field, fields)
        member = None if self._member is None else self._member.fill(fields)
        return Location(self._path(fields), member, index)

    def _check(self, require: Iterable[str]) -> None:
        missing = [name for name in require if name not in self.fields]
        if not self._segments:
            raise StudyError(f"template {self.text!r} names no file; write a path such as masks/{{rater}}/{{case}}.png")
        if missing:
            wanted, signs = (word.join(f"{{{name}}}" for name in missing) for word in (" and no ", " and "))
            owners = " and ".join(f"the {name}'s" for name in missing)
            raise StudyError(
                f"template {self.text!r} has no {wanted}; replace {owners} name in the path by {signs}, "
                "as in masks/{rater}/{case}.png"
            )
        if self._member is not None and self._member.has_wildcard:
            raise StudyError(f"template {self.text!r} has a * inside an archive; name the arrays by placeholders")

    def _walk(self, known: Mapping[str, str], complain: Complain = raise_error) -> list[Place]:
        places = [Place(self._root, dict(known))]
        for number, segment in enumerate(self._segments):
            last = number == len(self._segments) - 1
            reached = [new for place in places for new in _step(place, segment, last, complain)]
            if not reached:
                raise StudyError(f"template {self.text!r} matches nothing: {_explain_nothing(places, segment)}")
            places = reached
        return places

    def _inside(self, places: list[Place], complain: Complain) -> Iterable[tuple[Location, dict[str, str]]]:
        inside = [pair for place in places for pair in self._arrays(place, complain)]
        if not inside:
            shown = _names_inside(places[0].path)[:3]
            raise StudyError(
                f"template {self.text!r} matches nothing: {places[0].path} holds no array like "
                f"{self._member.text if self._member else ''!r}, but {', '.join(shown) or 'none at all'}"
            )
        indexed = [pair for location, fields in inside for pair in self._indices(location, fields)]
        if not indexed:
            raise StudyError(f"template {self.text!r} matches nothing: no index is the other {{{self._index_field}}}")
        return indexed

    def _arrays(self, place: Place, complain: Complain) -> list[tuple[Location, dict[str, str]]]:
        if self._member is None:
            return [(Location(place.path), place.fields)]
        archive = Location(place.path)
        with format_errors(archive):
            check_file(archive)
            names = _names_inside(place.path)
        return [
            (Location(place.path, name), fields)
            for name in names
            for fields in _read_name(place, self._member, name, complain)
        ]

    def _indices(self, location: Location, fields: dict[str, str]) -> list[tuple[Location, dict[str, str]]]:
        at = location.path, location.member
        if self._index_field is None:
            return [(Location(*at, self._index), fields)]
        wanted = fields.get(self._index_field)
        return [
            (Location(*at, number), fields | {self._index_field: str(number)})
            for number in range(first_axis_length(location))
            if wanted in (None, str(number))
        ]

    def _one_reading(self, location: Location, readings: list[dict[str, str]], complain: Complain) -> bool:
        if len(readings) > 1:
            first, second = (", ".join(f"{k} {v!r}" for k, v in reading.items()) for reading in readings[:2])
            complain(StudyError(
                f"{location}: template {self.text!r} reads it as {first} or as {second}; "
                "separate the placeholders by a character that is in no name, or by folders"
            ))  # fmt: skip
        return len(readings) == 1

    def _without_doubles(self, matches: list[TemplateMatch], complain: Complain) -> list[TemplateMatch]:
        by_fields: dict[tuple[tuple[str, str], ...], TemplateMatch] = {}
        for match in matches:
            first = by_fields.setdefault(tuple(sorted(match.fields.items())), match)
            if first is not match:
                complain(self._same_thing(first.location, match.location))
        return list(by_fields.values())

    def _same_thing(self, first: object, second: object) -> StudyError:
        both = f"template {self.text!r} takes {first} and {second} for the same thing"
        return StudyError(f"{both}; remove one, or write the ending instead of *")

    def _path(self, fields: Mapping[str, str]) -> Path:
        *folders, name = self._segments
        if all(segment.is_known(fields) for segment in self._segments):
            return self._root.joinpath(*(segment.fill(fields) for segment in self._segments))
        if name.ends_in_suffix and all(segment.is_known(fields) for segment in folders):
            stem = self._root.joinpath(*(segment.fill(fields) for segment in folders), name.fill(fields)[:-1])
            paths = [stem.with_name(stem.name + suffix) for suffix in (*SUFFIXES, *SLIDES)]
            paths = [path for path in paths if os.path.isfile(path) or is_store(path)]
        else:
            paths = []
        paths = paths or list(dict.fromkeys(place.path for place in self._walk(fields)))
        if len(paths) > 1:
            raise self._same_thing(paths[0], paths[1])
        return paths[0]


def _names_inside(path: Path) -> tuple[str, ...]:
    """The arrays of an archive, or the arrays and images of a Zarr store."""
    return member_names(path) if is_store(path) else array_names(path)


def _as_index(name: str, fields: Mapping[str, str]) -> int:
    if not (fields[name].isascii() and fields[name].isdigit()):
        raise StudyError(f"{name} {fields[name]!r} is not an index of an array; write 0, 1, 2, … in the brackets")
    return int(fields[name])


def _natural(text: str) -> list[str | int]:
    return [int(part) if number % 2 else part for number, part in enumerate(re.split(r"(\d+)", text))]


# -- one segment --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Token:
    kind: Literal["text", "field", "star", "suffix"]
    text: str


@dataclass(frozen=True)
class Segment:
    """What stands between two slashes of a template.

    >>> segment = Segment.of("{rater}_{case}.png")
    >>> list(segment.readings("a_b_c.png", {}))
    [{'rater': 'a', 'case': 'b_c'}, {'rater': 'a_b', 'case': 'c'}]
    """

    text: str
    tokens: tuple[Token, ...]

    @classmethod
    def of(cls, text: str, last: bool = True) -> Segment:
        tokens = [_token(match, text) for match in _TOKENS.finditer(text)]
        for kind, what in (("star", "*"), ("field", "placeholders")):
            count = sum(token.kind == kind for token in tokens)
            if count > MOST_TOKENS:
                shown = text if len(text) <= 60 else f"{text[:60]}…"
                raise StudyError(
                    f"template part {shown!r} has {count} {what}; at most {MOST_TOKENS} between two slashes"
                )
        # a final .* stands for the endings that can be read, so that p1.nii.gz has one reading
        if last and [t.kind for t in tokens[-2:]] == ["text", "star"] and tokens[-2].text.endswith("."):
            tokens[-1] = Token("suffix", "*")
        return cls(text, tuple(tokens))

    @property
    def fields(self) -> tuple[str, ...]:
        return tuple(token.text for token in self.tokens if token.kind == "field")

    @property
    def has_wildcard(self) -> bool:
        return any(token.kind in ("star", "suffix") for token in self.tokens)

    @property
    def ends_in_suffix(self) -> bool:
        """Whether the only wildcard is a final ``.*``."""
        return [t.kind for t in self.tokens if t.kind in ("star", "suffix")] == ["suffix"]

    def is_known(self, fields: Mapping[str, str]) -> bool:
        """Whether the name follows from the fields alone."""
        return not self.has_wildcard and all(name in fields for name in self.fields)

    def fill(self, fields: Mapping[str, str]) -> str:
        """The name that these fields give; wildcards are left out."""
        return "".join(
            fields[token.text] if token.kind == "field" else token.text
            for token in self.tokens
            if token.kind in ("text", "field")
        )

    def readings(self, name: str, known: Mapping[str, str]) -> list[dict[str, str]]:
        """Every distinct way to read the name that agrees with what is known."""
        readings = dict.fromkeys(tuple(reading.items()) for reading in _Reader(self, name).readings(dict(known)))
        return [dict(reading) for reading in readings]


def _token(match: re.Match[str], text: str) -> Token:
    if match["stray"]:
        raise StudyError(f"template part {text!r} has a lone {match['stray']!r}; write {{{{ or }}}} for the character")
    if (name := match["field"]) is not None:
        if name not in FIELDS:
            near = difflib.get_close_matches(name, FIELDS, 1, 0.5)
            hint = f"; did you mean {{{near[0]}}}?" if near else ""
            known = " ".join(f"{{{field}}}" for field in FIELDS)
            raise StudyError(f"placeholder {{{name}}} is not known; a template may hold {known}{hint}")
        return Token("field", name)
    if match["star"]:
        return Token("star", "*")
    return Token("text", match["brace"][0] if match["brace"] else match["text"])


class _Reader:
    """All ways to read a name, each once: with many stars there would be billions."""

    def __init__(self, segment: Segment, name: str) -> None:
        self.segment, self.tokens, self.name = segment, segment.tokens, name
        self.visited: set[tuple[int, int, tuple[str, ...]]] = set()

    def readings(self, known: dict[str, str]) -> Iterator[dict[str, str]]:
        # what is still to be read, the first on top: the token, where in the name, and what is known by then
        todo = [(0, 0, known)]
        while todo:
            at, start, known = todo.pop()
            state = (at, start, tuple(known.values()))
            if state in self.visited:
                continue
            self.visited.add(state)
            if len(self.visited) > MOST_STATES:
                raise StudyError(
                    f"its name can be read in too many ways by {self.segment.text!r}; use fewer * and placeholders "
                    "between two slashes, or separate them by characters that are in no name"
                )
            if at < len(self.tokens):
                todo += reversed(list(self._next(at, start, known)))
            elif start == len(self.name):
                yield known

    def _next(self, at: int, start: int, known: dict[str, str]) -> Iterator[tuple[int, int, dict[str, str]]]:
        token = self.tokens[at]
        fixed = token.text if token.kind == "text" else known.get(token.text) if token.kind == "field" else None
        if fixed is not None:
            if self.name.startswith(fixed, start):
                yield at + 1, start + len(fixed), known
        elif token.kind == "suffix":
            if f".{self.name[start:].lower()}" in (*SUFFIXES, *SLIDES):
                yield at + 1, len(self.name), known
        elif token.kind == "star":
            yield at + 1, start, known
            if start < len(self.name):
                yield at, start + 1, known
        else:
            for end in self._ends(at, start):
                yield at + 1, end, known | {token.text: self.name[start:end]}

    def _ends(self, at: int, start: int) -> Iterator[int]:
        """Where a placeholder can end: anywhere, or where the text after it begins."""
        rest = self.tokens[at + 1 :]
        if not rest:
            yield from [len(self.name)] if start < len(self.name) else []
            return
        after = rest[0].text if rest[0].kind == "text" else ""
        for end in range(start + 1, len(self.name) + 1):
            if self.name.startswith(after, end):
                yield end


# -- visiting folders ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Place:
    """A file or folder on the way, and the values of the placeholders so far."""

    path: Path
    fields: dict[str, str]


def _step(place: Place, segment: Segment, last: bool, complain: Complain) -> list[Place]:
    """The places that one more segment leads to: folders, or files where it is the last."""
    literal = _literal(place, segment)
    if literal is not None:
        return [Place(literal, place.fields)] if _fits(literal, last, complain, listed=False) else []
    return [
        Place(place.path / name, fields)
        for name in _list_folder(place.path, complain)
        if segment.text.startswith(".") or not name.startswith(".")
        for fields in _read_name(place, segment, name, complain)
        if _fits(place.path / name, last, complain, listed=True)
    ]


def _list_folder(folder: Path, complain: Complain) -> list[str]:
    """The names in a folder; none, and a problem, where it cannot be listed or entered."""
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
        pass  # it vanished meanwhile: reported for each file
    return names


def _read_name(place: Place, segment: Segment, name: str, complain: Complain) -> list[dict[str, str]]:
    """All ways to read a name; none, and a problem, where the name is no valid text."""
    try:
        readings = segment.readings(name, place.fields)
    except StudyError as error:
        # a fault of the template, not of this name alone
        raise StudyError(f"{place.path / name}: {error}") from None
    fault = find_name_fault(name) if readings else ""
    if fault:
        # as it would be typed: bytes that are no text cannot be written
        complain(StudyError(one_line(f"{place.path / name}: its name {fault}; rename it")))
        return []
    return readings


def _literal(place: Place, segment: Segment) -> Path | None:
    """The one path that the segment can mean, if it leaves nothing open."""
    if segment.is_known(place.fields):
        return place.path / segment.fill(place.fields)
    # A folder may have a star in its name.
    if not segment.fields and os.path.lexists(place.path / segment.text):
        return place.path / segment.text
    return None


def _fits(path: Path, last: bool, complain: Complain, *, listed: bool) -> bool:
    """Whether the template's file or folder exists; ``listed`` if its name was just found in its folder."""
    try:
        is_folder = stat.S_ISDIR(os.stat(path).st_mode)
    except OSError as error:
        return _fits_unreadable(path, last, complain, listed, error)
    if last and is_folder and is_store(path):
        return True
    if last and is_folder:
        what = "is a folder where the template wants a file"
        complain(StudyError(f"{path}: {what}; move it away or correct the template"))
    return is_folder != last


def _fits_unreadable(path: Path, last: bool, complain: Complain, listed: bool, error: OSError) -> bool:
    """Whether a path that cannot be inspected counts: a file does, since reading it reports the error."""
    there = os.path.lexists(path)
    if last and there:
        return True
    nowhere = isinstance(error, FileNotFoundError | NotADirectoryError)
    if there and nowhere:
        complain(StudyError(f"{path}: is a link that leads nowhere; repair or remove it"))
    elif not nowhere:
        complain(StudyError(f"{path}: cannot be reached: {error.strerror}; check the path and its rights"))
    elif listed:
        complain(StudyError(f"{path}: vanished while files were searched; run it again when nothing changes them"))
    return False


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError as error:
        raise StudyError(f"{folder}: cannot be listed: {error.strerror}; check its rights") from error


def _explain_nothing(places: list[Place], segment: Segment) -> str:
    """Why a segment leads nowhere from these folders."""
    literal = _literal(places[0], segment)
    if literal is not None:
        others = f", nor is one in {len(places) - 1} other folders" if len(places) > 1 else ""
        return f"there is no {str(literal)!r}{others}; correct the path"
    for place in places:
        if names := [name for name in _names(place.path) if not name.startswith(".")]:
            near = difflib.get_close_matches(segment.text, names[:_MOST_COMPARED], 3, 0)
            deeper = all((place.path / name).is_dir() for name in near) and "." in segment.text
            hint = f"; is a folder missing before {segment.text}?" if deeper else ""
            what = "folder" if deeper else "name"
            return f"{place.path} contains nothing like {segment.text!r}; nearest {what}s: {', '.join(near)}{hint}"
    return f"{places[0].path} is an empty folder; correct the path"

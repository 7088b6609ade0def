"""Open JSON, XML and ZIP files of unknown origin within bounds of memory: nothing is expanded or fetched that an export
does not need. Users name files by paths, ``RATER=PATH``, folders, or templates with ``{rater}``.
"""

from __future__ import annotations

import codecs
import math
import os
import re
import shutil
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, Protocol, TypeVar
from xml.parsers import expat

import msgspec

from ..core.errors import NOT_TEXT, CallError, FormatError, InputError, ManytruthsError, find_name_fault, one_line
from ..io import Template
from ..io.files import check_regular_file
from ..io.results import SUMMARY
from ..shape.grid import Grid

if TYPE_CHECKING:
    from .readings import Stored


T = TypeVar("T")
LARGEST_TEXT = 1 << 27
"""Bytes of a JSON file: as objects it takes several times as much memory."""
MOST_OBJECTS = 1 << 20
"""Of a JSON file: each takes some hundred bytes of memory, however short it is."""
LARGEST_XML = 1 << 30
"""Bytes of an XML file, which is read piece by piece."""
LARGEST_ELEMENT = 1 << 26
"""Bytes of one image in it, with all that stands on it."""
MOST_ELEMENTS = 1 << 19
"""Of one image."""
LARGEST_WORDS = 1 << 20
"""Signs of text in one element."""
LARGEST_SIDE = 1 << 16
LARGEST_IMAGE = 1 << 28
"""Pixels of an image that outlines are drawn on."""
LARGEST_LIST = 1 << 24
"""Bytes of an archive's list of what it holds: some 200,000 files."""
END = (1 << 16) + 64
"""Bytes at the end of an archive among which that list is described."""
PIECE = 1 << 20


class Stream(Protocol):
    """Whatever bytes can be read from, some at a time."""

    def read(self, size: int = -1, /) -> bytes: ...


@contextmanager
def error_context(where: object) -> Iterator[None]:
    """Errors that say first where; whatever a library raises on bad bytes is one of ours."""
    try:
        yield
    except ManytruthsError as error:
        raise type(error)(f"{where}: {error}") from None
    except MemoryError:
        raise FormatError(f"{where}: does not fit into memory; split it") from None
    except (OSError, zipfile.BadZipFile) as error:
        reason = getattr(error, "strerror", None) or error
        raise FormatError(f"{where}: cannot be read: {reason}; check the path, or export it again") from None
    except RecursionError:
        raise FormatError(f"{where}: is nested too deeply; export it again") from None
    except (
        msgspec.MsgspecError,
        expat.ExpatError,
        zlib.error,
        EOFError,
        LookupError,  # also encodings that nobody knows
        OverflowError,
        RuntimeError,  # archives with a password
        TypeError,
        ValueError,
    ) as error:
        short = " ".join(str(error).split())[:160]
        raise FormatError(
            f"{where}: is damaged, or not a file of this tool ({short}); export it again, or name its tool"
        ) from None


def read_json(path: Path, kind: type[T], data: bytes | None = None) -> T:
    """A JSON file as objects of a kind."""
    if data is None:
        check_regular_file(path)
    with error_context(path):
        data = _read_bytes(path) if data is None else data
        if not data.strip():
            raise FormatError("is empty; export it again")
        if data.count(b"{") > MOST_OBJECTS:
            raise FormatError(f"holds more than {MOST_OBJECTS} objects; export it in parts")
        return msgspec.json.decode(data, type=kind, strict=False)


def _read_bytes(path: Path) -> bytes:
    if zipfile.is_zipfile(path):
        return _read_archived(path)
    size = path.stat().st_size
    if size > LARGEST_TEXT:
        raise FormatError(f"has {size >> 20} MB, more than {LARGEST_TEXT >> 20}; export it in parts")
    return path.read_bytes().removeprefix(codecs.BOM_UTF8)


def _read_archived(path: Path) -> bytes:
    """The one JSON file of an archive."""
    with _open_archive(path) as archive:
        endings = (".json", ".geojson")
        inside = [member for member in archive.infolist() if member.filename.lower().endswith(endings)]
        if len(inside) != 1:
            raise FormatError(f"holds {len(inside)} files that end in .json, expected one; unpack it and name the file")
        _check_compression(inside[0])
        with archive.open(inside[0]) as member:
            return _Bounded(member, LARGEST_TEXT).read()


class Element:
    """One element of an XML file, once it has ended: its name, attributes, text and what stands in it."""

    __slots__ = ("attributes", "children", "name", "text")

    def __init__(self, name: str, attributes: dict[str, str]) -> None:
        self.name, self.attributes = name, attributes
        self.text = ""
        self.children: list[Element] = []

    def get(self, name: str, default: str | None = None) -> str:
        """An attribute; one that must be there is an error where it is not."""
        value = self.attributes.get(name, default)
        if value is None:
            raise FormatError(f"<{self.name}> has no {name!r}")
        return value

    def all(self, name: str) -> list[Element]:
        """What stands in it under a name."""
        return [child for child in self.children if child.name == name]

    def find(self, path: str) -> Element | None:
        """The first one down a path, as ``task/owner/username``."""
        here: Element | None = self
        for name in path.split("/"):
            here = next(iter(here.all(name)), None) if here is not None else None
        return here

    def text_at(self, path: str) -> str:
        """The text of the first one down a path; empty where there is none."""
        element = self.find(path)
        return "" if element is None else element.text.strip()


def read_elements(stream: Stream, wanted: set[str], root: str) -> Iterator[Element]:
    """The elements of these names right under the root, one after the other.

    A document that defines entities or names a document type is refused: exports have none, attacks do.
    """
    parser = expat.ParserCreate()
    builder = _Builder(wanted, root, parser)
    parser.buffer_text = True
    parser.SetParamEntityParsing(expat.XML_PARAM_ENTITY_PARSING_NEVER)
    parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
    parser.CharacterDataHandler = builder.characters
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = _refuse_declarations
    total = 0
    while piece := stream.read(PIECE):
        total += len(piece)
        if total > LARGEST_XML:
            raise FormatError(f"is larger than {LARGEST_XML >> 20} MB; export it in parts")
        parser.Parse(piece)
        if total - builder.since > LARGEST_ELEMENT:
            raise FormatError(f"holds an element of more than {LARGEST_ELEMENT >> 20} MB; export it in parts")
        yield from builder.taken()
    parser.Parse(b"", True)
    yield from builder.taken()


def _refuse_declarations(*_: Any) -> None:
    raise FormatError("it declares a document type or entities, which exports do not have; export it again")


class _Builder:
    """Keeps what is wanted, and nothing else."""

    def __init__(self, wanted: set[str], root: str, parser: expat.XMLParserType) -> None:
        self.wanted, self.root, self.parser = wanted, root, parser
        self.depth, self.open, self.done = 0, list[Element](), list[Element]()
        self.since, self.kept = 0, 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.kept += 1
        if self.depth <= 2:  # an element under the root begins
            self.since, self.kept = self.parser.CurrentByteIndex, 0
        if self.kept > MOST_ELEMENTS:
            raise FormatError(f"holds an element with more than {MOST_ELEMENTS} others in it; export it in parts")
        if self.depth == 1 and name != self.root:
            raise FormatError(f"starts with <{name}>, not <{self.root}>: it is another kind of file")
        if self.depth > 64:
            raise FormatError("is nested too deeply; export it again")
        if self.open or (self.depth == 2 and name in self.wanted):
            self.open.append(Element(name, attributes))

    def characters(self, text: str) -> None:
        if self.open:
            self.open[-1].text += text
            if len(self.open[-1].text) > LARGEST_WORDS:
                raise FormatError(f"holds a text of more than {LARGEST_WORDS >> 20} MB; export it again")

    def end(self, name: str) -> None:
        self.depth -= 1
        if self.open:
            ended = self.open.pop()
            (self.open[-1].children if self.open else self.done).append(ended)

    def taken(self) -> list[Element]:
        done, self.done = self.done, []
        return done


@contextmanager
def open_archive_or_file(path: Path, name: str) -> Iterator[tuple[Stream, zipfile.ZipFile | None]]:
    """The file itself, or the one of that name inside an archive, at any depth."""
    if not zipfile.is_zipfile(path):
        with open(path, "rb") as stream:
            yield stream, None
        return
    with _open_archive(path) as archive:
        inside = [member for member in archive.infolist() if PurePosixPath(member.filename).name == name]
        if len(inside) != 1:
            raise FormatError(f"holds {len(inside)} files called {name}, expected one; unpack it and name the file")
        _check_compression(inside[0])
        with archive.open(inside[0]) as member:
            yield _Bounded(member, LARGEST_XML), archive


def read_members(path: Path, ending: str, largest: int, most: int) -> Iterator[tuple[str, bytes]]:
    """The files of an archive that end so, by name, each within bounds."""
    with _open_archive(path) as archive:
        inside = [member for member in archive.infolist() if member.filename.lower().endswith(ending)]
        if not inside:
            raise FormatError(f"holds no file that ends in {ending}; export it again")
        if len(inside) > most:
            raise FormatError(f"holds {len(inside)} files that end in {ending}, more than {most}; export it in parts")
        left = LARGEST_TEXT
        for member in inside:
            _check_compression(member)
            with archive.open(member) as stream:
                data = _Bounded(stream, min(largest, left)).read()
            left -= len(data)
            yield PurePosixPath(member.filename).name, data


def _open_archive(path: Path) -> zipfile.ZipFile:
    """An archive, once it is sure that the list of what it holds fits into memory, where it takes ten times as much."""
    with open(path, "rb") as stream:
        stream.seek(max(0, path.stat().st_size - END))
        end = stream.read(END)
        at = end.rfind(b"PK\x05\x06")
        listed = int.from_bytes(end[at + 12 : at + 16], "little")
        if end[max(0, at - 20) : at].startswith(b"PK\x06\x07"):
            # of large archives another record says it
            stream.seek(int.from_bytes(end[at - 12 : at - 4], "little"))
            listed = int.from_bytes(stream.read(48)[40:48], "little")
    if listed > LARGEST_LIST:
        raise FormatError(f"lists what it holds in {listed >> 20} MB; unpack it and name the file")
    return zipfile.ZipFile(path)


def _check_compression(member: zipfile.ZipInfo) -> None:
    """Other methods unpack without a bound, a whole block at a time."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError("is compressed by an unsupported method; unpack it, or export it again")


class _Bounded:
    """A stream that ends in an error where it does not end in time: what an archive says of its sizes may be a lie."""

    def __init__(self, stream: Stream, most: int) -> None:
        self.stream, self.left = stream, most

    def read(self, size: int = -1, /) -> bytes:
        data = self.stream.read(self.left + 1 if size < 0 else min(size, self.left + 1))
        self.left -= len(data)
        if self.left < 0:
            raise FormatError("unpacks to more than an export can hold; export it again")
        return data


def copy_picture(stored: Stored, to: Path) -> None:
    """The bytes of a picture, from the disk or out of an archive."""
    with error_context(stored):
        if stored.member is None:
            with open(stored.path, "rb") as stream, open(to, "wb") as target:
                shutil.copyfileobj(stream, target, PIECE)
            return
        with zipfile.ZipFile(stored.path) as archive, archive.open(stored.member) as packed, open(to, "wb") as target:
            _check_compression(archive.getinfo(stored.member))
            shutil.copyfileobj(_Bounded(packed, LARGEST_XML), target, PIECE)


def image_grid(width: Any, height: Any) -> Grid:
    """The grid of an image of that size, as a file has it; sizes that lie are refused before anything is drawn."""
    try:
        sides = [int(float(side)) for side in (height, width)]
        if [float(side) for side in (height, width)] != sides:
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"the size of the image is {width!r} × {height!r}; export it again with sizes") from None
    if not all(1 <= side <= LARGEST_SIDE for side in sides) or math.prod(sides) > LARGEST_IMAGE:
        raise InputError(
            f"the size of the image is {sides[1]} × {sides[0]}, so it cannot be imported: "
            f"a side may have 1 to {LARGEST_SIDE} pixels"
        )
    return Grid((sides[0], sides[1]))


ALIKE = re.compile(r"_?annotations(\.coco)?|results?|instances_\w+|export|default|train|valid?|test", re.IGNORECASE)
"""What exports, and the folders in them, are called whoever they are of."""
CVAT = re.compile(r"(?:task|project|job)_(?P<own>.+?)_(?:annotations|dataset)_\d{4}_\d\d_\d\d_\d\d_\d\d_\d\d_.*")
"""As CVAT calls what it exports."""


@dataclass(frozen=True)
class Source:
    """A file, and what its place says of it."""

    path: Path
    fields: Mapping[str, str] = field(default_factory=dict)
    """``rater``, ``case``, ``session``, ``subject``: as far as they were given."""

    def rater(self, otherwise: str = "") -> str:
        """Whose it is: as given, else as the file says, else as it is called."""
        return self.fields.get("rater") or otherwise or rater_from_path(self.path)


def rater_from_path(path: Path) -> str:
    """What a file is called, or its folder where every export is called the same.

    >>> rater_from_path(Path("exports/anna/annotations.xml"))
    'anna'
    >>> rater_from_path(Path("task_lesions anna_annotations_2025_07_31_09_54_02_cvat for images 1.1.zip"))
    'lesions anna'
    """
    usual = CVAT.fullmatch(path.name)
    names = [usual["own"] if usual else path.name.split(".")[0] or path.stem]
    names += [parent.name for parent in path.resolve().parents if parent.name]
    return next((name for name in names if not ALIKE.fullmatch(name)), names[0])


def find_sources(paths: Sequence[Path | str] | Path | str, endings: Iterable[str]) -> list[Source]:
    """Every file that the paths stand for; of folders, those that end so."""
    paths = [paths] if isinstance(paths, Path | str) else paths
    if not paths:
        raise CallError("no files given; name the files to read")
    sources = [source for path in paths for source in _expand_path(str(path), tuple(endings))]
    for source in sources:
        if find_name_fault(str(source.path)) == NOT_TEXT:
            raise FormatError(one_line(f"{source.path}: its name {NOT_TEXT}; rename it"))
        check_regular_file(source.path)
    for path, often in Counter(source.path for source in sources).items():
        if often > 1:
            raise CallError(f"{path}: is named twice; name every file once")
    return sources


def _expand_path(text: str, endings: tuple[str, ...]) -> list[Source]:
    path, owner = Path(text), {}
    if not path.exists() and "=" in text:
        name, _, rest = text.partition("=")
        path, owner = Path(rest), {"rater": name}
    if not path.exists() and "{" in str(path):
        return [Source(match.location.path, {**owner, **match.fields}) for match in Template(str(path)).find()]
    if path.is_dir():
        return [Source(match, owner) for match in _list_folder(path, endings)]
    if not path.exists():
        raise FormatError(f"{text}: there is no such file; correct the path")
    return [Source(path, owner)]


def _refuse_unlisted(error: OSError) -> None:
    """Refuse folders that cannot be listed, instead of silently skipping their files."""
    raise FormatError(f"{error.filename}: cannot be listed: {error.strerror}; check its rights") from None


def _list_folder(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    # an export of ours has a summary beside what the tool opens
    named = (
        Path(home, name)
        for home, _, names in os.walk(folder, onerror=_refuse_unlisted)
        for name in names
        if name.lower().endswith(endings) and name != SUMMARY
    )
    files = sorted(path for path in named if path.is_file())
    if not files:
        raise FormatError(f"{folder}: holds no file that ends in {' or '.join(endings)}; correct the path")
    return files

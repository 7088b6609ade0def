"""Open JSON, XML and ZIP files of unknown origin within bounds of memory: nothing is expanded or fetched that an export
does not need.
"""

from __future__ import annotations

import codecs
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Any, Protocol, TypeVar, cast
from xml.parsers import expat

import msgspec

from ..core.errors import FormatError, ManytruthsError
from .files import check_regular_file

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
LONGEST = 1 << 24
"""Bytes of one outline as text; as numbers it takes some twenty times as much memory, until it is an array."""
LONGEST_NOTE = 1 << 20
"""Bytes of everything that was said of one thing."""
NOTHING = msgspec.Raw(b"")
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
    with open_archive(path) as archive:
        endings = (".json", ".geojson")
        inside = [member for member in archive.infolist() if member.filename.lower().endswith(endings)]
        if len(inside) != 1:
            raise FormatError(f"holds {len(inside)} files that end in .json, expected one; unpack it and name the file")
        check_compression(inside[0])
        with archive.open(inside[0]) as member:
            return Bounded(member, LARGEST_TEXT).read()


def decode(raw: msgspec.Raw, kind: type[T], most: int = LONGEST) -> T:
    """A part of a file, once it is sure that it is not too long."""
    if len(raw) > most:
        raise FormatError(f"is {len(raw) >> 20} MB of text, more than {most >> 20}; simplify it, or export it again")
    return msgspec.json.decode(raw, type=kind, strict=False)


def is_given(raw: msgspec.Raw) -> bool:
    """Whether a field is there, and not null."""
    return len(raw) > 0 and bytes(memoryview(raw)[:4]) != b"null"


def decode_any(raw: msgspec.Raw) -> Any:
    """A short part of a file, whatever it is."""
    return decode(raw, cast(type[Any], Any), LONGEST_NOTE)


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


def read_elements(stream: Stream, wanted: set[str], root: str, depth: int = 2) -> Iterator[Element]:
    """The elements of these names right under the root, one after the other; or deeper, each at the same depth.

    A document that defines entities or names a document type is refused: exports have none, attacks do.
    """
    parser = expat.ParserCreate()
    builder = _Builder(wanted, root, parser, depth)
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

    def __init__(self, wanted: set[str], root: str, parser: expat.XMLParserType, at: int) -> None:
        self.wanted, self.root, self.parser, self.at = wanted, root, parser, at
        self.depth, self.open, self.done = 0, list[Element](), list[Element]()
        self.since, self.kept = 0, 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        self.kept += 1
        if self.depth <= self.at:  # an element of the kind that is wanted begins
            self.since, self.kept = self.parser.CurrentByteIndex, 0
        if self.kept > MOST_ELEMENTS:
            raise FormatError(f"holds an element with more than {MOST_ELEMENTS} others in it; export it in parts")
        if self.depth == 1 and name != self.root:
            raise FormatError(f"starts with <{name}>, not <{self.root}>: it is another kind of file")
        if self.depth > 64:
            raise FormatError("is nested too deeply; export it again")
        if self.open or (self.depth == self.at and name in self.wanted):
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
    with open_archive(path) as archive:
        inside = [member for member in archive.infolist() if PurePosixPath(member.filename).name == name]
        if len(inside) != 1:
            raise FormatError(f"holds {len(inside)} files called {name}, expected one; unpack it and name the file")
        check_compression(inside[0])
        with archive.open(inside[0]) as member:
            yield Bounded(member, LARGEST_XML), archive


def read_members(path: Path, ending: str, largest: int, most: int) -> Iterator[tuple[str, bytes]]:
    """The files of an archive that end so, by name, each within bounds."""
    with open_archive(path) as archive:
        inside = [member for member in archive.infolist() if member.filename.lower().endswith(ending)]
        if not inside:
            raise FormatError(f"holds no file that ends in {ending}; export it again")
        if len(inside) > most:
            raise FormatError(f"holds {len(inside)} files that end in {ending}, more than {most}; export it in parts")
        left = LARGEST_TEXT
        for member in inside:
            check_compression(member)
            with archive.open(member) as stream:
                data = Bounded(stream, min(largest, left)).read()
            left -= len(data)
            yield PurePosixPath(member.filename).name, data


def open_archive(path: Path) -> zipfile.ZipFile:
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


def check_compression(member: zipfile.ZipInfo) -> None:
    """Other methods unpack without a bound, a whole block at a time."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise FormatError("is compressed by an unsupported method; unpack it, or export it again")


class Bounded:
    """A stream that ends in an error where it does not end in time: what an archive says of its sizes may be a lie."""

    def __init__(self, stream: Stream, most: int) -> None:
        self.stream, self.left = stream, most

    def read(self, size: int = -1, /) -> bytes:
        data = self.stream.read(self.left + 1 if size < 0 else min(size, self.left + 1))
        self.left -= len(data)
        if self.left < 0:
            raise FormatError("unpacks to more than an export can hold; export it again")
        return data

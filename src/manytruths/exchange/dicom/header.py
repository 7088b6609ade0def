"""Read headers of DICOM files within bounds of memory; pixels are located, not read."""

from __future__ import annotations

import io
import struct
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, NoReturn

from ...core.errors import FormatError, ManytruthsError
from ...io.documents import PIECE, error_context
from ...io.files import import_extra, quiet

LARGEST_HEADER = 1 << 24
"""Bytes of a header that are looked at, without its frames."""
MOST_ITEMS = 100_000
"""Items of its sequences: each becomes an object, however short it is in the file."""
MOST_FRAMES = 1 << 18
LARGEST_ITEM, MOST_INSIDE = 1 << 20, 10_000
"""Bytes that a header says of a frame, and items in them."""
LARGEST_INFLATED = 1 << 28
"""Bytes of a file that is deflated as a whole, once it is inflated."""
IMPLICIT, EXPLICIT = "1.2.840.10008.1.2", "1.2.840.10008.1.2.1"
DEFLATED, BIG_ENDIAN = "1.2.840.10008.1.2.1.99", "1.2.840.10008.1.2.2"

_PREAMBLE = 132
_MOST_META = 99
_LONG = (b"OB", b"OW", b"UN", b"SQ", b"UT", b"UC", b"UR", b"OD", b"OF", b"OL", b"OV", b"SV", b"UV")
_ITEM, _END = b"\xfe\xff\x00\xe0", b"\xfe\xff\xdd\xe0"
_CLASS, _FRAMES, _PIXELS = 0x00080016, 0x52009230, 0x7FE00010
_UNDEFINED = 0xFFFFFFFF


@contextmanager
def dicom_errors(where: object) -> Iterator[None]:
    """Whatever pydicom raises on bad bytes is one of our errors, and says where; its warnings are dropped."""
    with error_context(where), quiet:
        try:
            yield
        except (ManytruthsError, MemoryError, RecursionError):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                raise
            short = " ".join(str(error).split())[:160] or type(error).__name__
            raise FormatError(f"is damaged or cut short ({short}); export or copy it again") from None


def is_dicom(path: Path) -> bool:
    """Whether it starts as DICOM files do."""
    with error_context(path), open(path, "rb") as stream:
        return stream.read(_PREAMBLE)[128:] == b"DICM"


@dataclass(frozen=True)
class PixelData:
    """Where the pixels of a file lie."""

    path: Path
    syntax: str
    """The transfer syntax, as a UID."""
    start: int
    """The first byte of the value, in the inflated file where it is deflated."""
    length: int | None
    """Bytes, as the file says; none where frames are packed one by one."""
    available: int
    """Bytes that there are until the file ends."""


class BoundedFile:
    """A file that never returns more bytes than it holds, nor more than a valid header needs."""

    def __init__(self, stream: IO[bytes], most: int = LARGEST_HEADER, items: int = MOST_ITEMS) -> None:
        self.stream, self.left, self.items, self.refused = stream, most, items, ""
        here = stream.tell()
        self.size = stream.seek(0, io.SEEK_END)
        stream.seek(here)

    def read(self, size: int | None = -1, /) -> bytes:
        room = max(0, self.size - self.stream.tell())
        wanted = room if size is None or size < 0 else min(size, room)
        self.left -= wanted
        if self.left < 0:
            self.refuse("its header is too long; export it again")
        data = self.stream.read(wanted)
        self.items -= data.count(_ITEM)
        if self.items < 0:
            self.refuse("its header holds too many items; export it again")
        return data

    def refuse(self, why: str) -> NoReturn:
        # kept, for pydicom takes some errors for the end of the file
        self.refused = why
        raise FormatError(why)

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        return self.stream.seek(offset, whence)

    def tell(self) -> int:
        return self.stream.tell()


@contextmanager
def open_dataset(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """The file at the start of its data, and its transfer syntax; a deflated file is inflated within bounds."""
    with open(path, "rb") as stream:
        syntax = _read_syntax(stream)
        if syntax == BIG_ENDIAN:
            raise FormatError("is written in the retired big endian syntax; convert it to explicit little endian")
        if syntax != DEFLATED:
            yield stream, syntax
            return
        data = _inflate(stream)
    yield io.BytesIO(data), EXPLICIT


def _read_syntax(stream: IO[bytes]) -> str:
    """As the meta information says, behind which the stream stands then."""
    stream.seek(_PREAMBLE)
    syntax = ""
    for _ in range(_MOST_META):
        start = stream.read(8)
        group, element, kind, length = struct.unpack("<HH2sH", start) if len(start) == 8 else (0, 0, b"", 0)
        if group != 2:
            stream.seek(-len(start), io.SEEK_CUR)
            return syntax or _guess_syntax(stream)
        if kind in _LONG:
            length = struct.unpack("<I", stream.read(4))[0]
        if element == 0x10:
            syntax = stream.read(min(length, 64)).rstrip(b"\0 ").decode("ascii", "replace")
        else:
            stream.seek(length, io.SEEK_CUR)
    raise FormatError("its meta information does not end; export it again")


def _guess_syntax(stream: IO[bytes]) -> str:
    here = stream.tell()
    kind = stream.read(6)[4:]
    stream.seek(here)
    return EXPLICIT if kind.isalpha() and kind.isupper() else IMPLICIT


def _inflate(stream: IO[bytes]) -> bytes:
    unpacking, parts, total = zlib.decompressobj(-zlib.MAX_WBITS), list[bytes](), 0
    while not unpacking.eof and (piece := unpacking.unconsumed_tail or stream.read(PIECE)):
        parts.append(unpacking.decompress(piece, PIECE))
        total += len(parts[-1])
        if total > LARGEST_INFLATED:
            raise FormatError(f"inflates to more than {LARGEST_INFLATED >> 20} MB; save it without deflating")
    return b"".join(parts)


@dataclass(frozen=True, eq=False)
class Header:
    """What a file says before its pixels."""

    dataset: Any
    pixels: PixelData | None
    frames: tuple[Any, ...]
    """What it says of each frame, as far as that was asked for."""


def read_header(
    path: Path,
    tags: Sequence[str],
    groups: Sequence[str],
    frame: Callable[[Any], Any],
    limits: tuple[int, ...] = (),
) -> Header:
    """The elements of these names; and of each frame what ``frame`` makes of its groups of attributes.

    Frames go by one at a time: files may have tens of thousands. ``limits`` are the most bytes and items, where they
    are others than usual.
    """
    with open_dataset(path) as (stream, syntax):
        bounded = BoundedFile(stream, *limits)
        try:
            return _HeaderParser(bounded, path, syntax, tags, groups).parse(frame)
        finally:
            if bounded.refused:
                raise FormatError(bounded.refused)


def read_sop_class(path: Path) -> str:
    """What kind of file it is, by the UID of its class; nothing behind that is read."""
    with open_dataset(path) as (stream, syntax):
        bounded = BoundedFile(stream, 1 << 16)
        reading = import_extra("pydicom.filereader", "dicom", path)
        dataset = reading.read_dataset(
            bounded, syntax == IMPLICIT, True, stop_when=lambda tag, *_: tag > _CLASS, specific_tags=[_CLASS]
        )
        return str(dataset.get("SOPClassUID", ""))


class _HeaderParser:
    """Goes through a header, and stops at its frames and at its pixels."""

    def __init__(
        self, stream: BoundedFile, path: Path, syntax: str, tags: Sequence[str], groups: Sequence[str]
    ) -> None:
        self.stream, self.path, self.syntax = stream, path, syntax
        self.tags, self.groups = _tag_numbers(tags, path), _tag_numbers(groups, path)
        self.stopped: tuple[int, int, int] | None = None
        """The tag, where its value starts, and how long it is."""

    def read(self, stream: BoundedFile, tags: list[Any], inside: bool = False) -> Any:
        reading = import_extra("pydicom.filereader", "dicom", self.path)
        stop = None if inside else self.stop
        return reading.read_dataset(
            stream, self.syntax == IMPLICIT, True, stop_when=stop, specific_tags=tags, at_top_level=not inside
        )

    def stop(self, tag: int, _: str | None, length: int) -> bool:
        if tag == _FRAMES or 0x7FE00008 <= tag <= _PIXELS:
            self.stopped = int(tag), self.stream.tell(), length
        return self.stopped is not None

    def parse(self, frame: Callable[[Any], Any]) -> Header:
        dataset = self.read(self.stream, self.tags)
        frames: tuple[Any, ...] = ()
        if self.stopped and self.stopped[0] == _FRAMES:
            (_, start, length), self.stopped = self.stopped, None
            self.stream.seek(start)
            frames = tuple(frame(item) for item in self.items(length))
            dataset.update(self.read(self.stream, self.tags))
        return Header(dataset, self.pixels(), frames)

    def pixels(self) -> PixelData | None:
        if self.stopped is None or self.stopped[0] != _PIXELS:
            return None
        _, start, length = self.stopped
        available = max(0, self.stream.size - start)
        return PixelData(self.path, self.syntax, start, None if length == _UNDEFINED else length, available)

    def items(self, length: int) -> Iterator[Any]:
        """Of a sequence whose value starts here, each within bounds of its own."""
        stream, end = self.stream, self.stream.tell() + length
        before = stream.left, stream.items
        for _ in range(MOST_FRAMES):
            stream.left, stream.items = LARGEST_ITEM, MOST_INSIDE
            if length != _UNDEFINED and stream.tell() >= end:
                break
            start = stream.read(8)
            if len(start) < 8:
                raise FormatError("is cut short within its frames; copy it again")
            tag, size = struct.unpack("<4sI", start)
            if tag == _END:
                break
            if tag != _ITEM:
                raise FormatError("does not list its frames as it should; export it again")
            inside = stream if size == _UNDEFINED else BoundedFile(io.BytesIO(stream.read(size)))
            yield self.read(inside, self.groups, inside=True)
        else:
            raise FormatError(f"has more than {MOST_FRAMES} frames; export it in parts")
        stream.left, stream.items = before


def _tag_numbers(tags: Sequence[str], path: Path) -> list[Any]:
    tag = import_extra("pydicom.tag", "dicom", path).Tag
    return [tag(name) for name in tags]
